"""Checks of lecture 10: gradients added up, gradients that come late, and who has to wait for whom."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.parallel_policy_gradient import gradient_sums, moments
from minitrpo.algorithms.parallel_policy_gradient import pooled_gradient as right_gradient
from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import value_words
from minitrpo.course.parallel_sgd.problem import delayed_descent as right_descent
from minitrpo.course.parallel_sgd.problem import stability_bound as right_bound
from minitrpo.parallel.parameter_server import LEFT, NO_LIMIT
from minitrpo.parallel.parameter_server import may_go_on as right_rule
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy


def pooled(of_all: Any) -> Candidate:
    """Return a pooled gradient: of_all(u, v, n, sum of weights) of all workers together."""

    def gradient(sums: Array, about: Array) -> Any:
        u, v = np.split(sums.sum(axis=0), 2)
        return of_all(u, v, *about.sum(axis=0)[:2])

    return gradient


def worker_by_worker(combine: Any) -> Candidate:
    """Return what combine(u, v, n, w) makes of columns: a row per worker that has steps."""

    def gradient(sums: Array, about: Array) -> Any:
        busy = about[:, 0] > 0
        u, v = np.split(sums[busy], 2, axis=1)
        return combine(u, v, about[busy, :1], about[busy, 1:2])

    return gradient


@exercise(
    "pooled_gradient",
    "minitrpo.algorithms.parallel_policy_gradient:pooled_gradient",
    hints=(
        "Everything here is a sum over steps, so the sum over the workers' rows is the sum over all steps.",
        "After sums.sum(axis=0) the first half is u, the second v; the first two columns of about are n and sum w.",
        "b is one number for everybody: all the weights divided by all the steps. Then (u - b v) / n, divided once.",
    ),
    mistakes={
        "That is the mean of the workers' own mean gradients: it depends on who has how many steps.": worker_by_worker(
            lambda u, v, n, w: np.mean((u - w.sum() / n.sum() * v) / n, axis=0)
        ),
        "That is the mean of the workers' own gradients, each with its own baseline.": worker_by_worker(
            lambda u, v, n, w: np.mean((u - w / n * v) / n, axis=0)
        ),
        "Each worker has a baseline of its own here: there is one for all steps.": worker_by_worker(
            lambda u, v, n, w: np.sum(u - w / n * v, axis=0) / n.sum()
        ),
        "The baseline is the mean of the workers' means; it should be the mean over all steps.": worker_by_worker(
            lambda u, v, n, w: np.sum(u - np.mean(w / n) * v, axis=0) / n.sum()
        ),
        "The rows are averaged: they are sums already, to be added up.": lambda sums, about: right_gradient(
            sums / len(sums), about
        ),
        "There is no baseline in it.": pooled(lambda u, v, n, w: u / n),
        "It divides by one less than the number of steps: not here.": pooled(
            lambda u, v, n, w: (u - w / n * v) / max(n - 1, 1)
        ),
        "The baseline is added: it should be taken off.": pooled(lambda u, v, n, w: (u + w / n * v) / n),
        "The baseline is the sum of the weights, not their mean.": pooled(lambda u, v, n, w: (u - w * v) / n),
        "That is the sum over all steps; the mean is wanted.": pooled(lambda u, v, n, w: u - w / n * v),
        "Only the part of the baseline is divided by n.": pooled(lambda u, v, n, w: u - w / n * v / n),
        "It is divided by the number of workers, too, or instead.": lambda sums, about: (
            right_gradient(sums, about) * about[:, 0].sum() / len(about)
        ),
        "The baseline is taken off as a number, without the scores it belongs to.": pooled(
            lambda u, v, n, w: (u - w / n) / n
        ),
        "u and v have changed places.": pooled(lambda u, v, n, w: (v - w / n * u) / n),
        "Only the first worker's row is in it.": lambda sums, about: right_gradient(sums[:1], about[:1]),
        "A worker counts as often as it has steps, although its row is a sum already.": lambda sums, about: (
            right_gradient(sums * about[:, :1], about)
        ),
    },
)
def pooled_gradient_cases() -> Iterator[Case]:
    """Yield sums by hand, and of real policies whose steps are dealt out in many ways."""
    two = [[6.0, 2.0], [4.0, -1.0]]
    yield by_hand("one worker", two[:1], [2], [3.0])
    yield by_hand("two workers of one step", [[6.0, 2.0], [-1.0, -1.0]], [1, 1], [3.0, 1.0])  # u = w v: one step each
    yield by_hand("unequal shares", two, [3, 1], [3.0, 1.0])
    yield by_hand("unequal shares", [[6.0, 9.0, 2.0, 0.5], [4.0, -2.0, 1.0, 3.0]], [9, 1], [18.0, 7.0])
    yield by_hand("a worker without steps", [*two, [0.0, 0.0]], [3, 1, 0], [3.0, 1.0, 0.0])
    yield by_hand("sums that are integers", [[7, 2], [4, -1]], [3, 2], [4, 5])
    yield by_hand("weights whose sum is 0", two, [3, 1], [3.0, -3.0])
    yield by_hand("workers with equal rows", [two[0], two[1], two[0]], [3, 1, 3], [3.0, 1.0, 3.0])
    yield by_hand("workers with equal sums", [two[0], two[0]], [3, 1], [3.0, 1.0])
    yield by_hand("workers with equal moments", two, [3, 3], [2.0, 2.0])
    yield by_hand("scores whose sum is 0", [[6.0, 1.0], [4.0, -1.0]], [3, 1], [3.0, 1.0])
    rng = np.random.default_rng(0)
    for policy, workers, steps in (
        (CategoricalPolicy(3, 2, (4,)), 4, 40),
        (GaussianPolicy(3, 2, (4,)), 3, 25),
        (GaussianPolicy(2, 1, ()), 7, 300),
        (CategoricalPolicy(4, 3, ()), 2, 9),
        (CategoricalPolicy(4, 2, (8,)), 64, 3000),
    ):
        for kind, weights in (
            ("weights of both signs", rng.standard_normal(steps)),
            ("large positive weights", 100 + rng.standard_normal(steps)),
            ("whole-numbered weights", rng.integers(-3, 9, steps).astype(float)),
            ("tiny weights", 1e-9 * rng.standard_normal(steps)),
            ("huge weights", 1e9 * rng.standard_normal(steps)),
        ):
            sums, numbers = dealt(policy, weights, workers, rng)
            yield case(kind, sums, numbers, atol=1e-12 * float(np.abs(weights).max()))
    for workers in (1, 5):
        sums, numbers = dealt(CategoricalPolicy(3, 2, (4,)), np.full(20, 7.0), workers, rng)
        yield case("equal weights, which leave nothing to learn", sums, numbers, atol=1e-9)
    sums, numbers = dealt(CategoricalPolicy(3, 2, (4,)), np.array([5.0]), 1, rng)
    yield case("a single step, which is its own baseline", sums, numbers, atol=1e-9)


def by_hand(kind: str, sums: Any, steps: list[int], totals: Any) -> Case:
    """Return a case whose input can be read; the last three moments are there, and of no use."""
    about = np.column_stack([steps, totals, *([x] * len(steps) for x in (5, -2, 9))])
    shown = f"sums = {sums}, about has n = {steps} and sum w = {totals}"
    return case(kind, np.array(sums), about, shown=shown)


def dealt(policy: Any, weights: Array, workers: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return everybody's sums and moments; some workers have many of the steps, some perhaps none."""
    theta = policy.initialise(rng)
    theta = theta + 0.5 * rng.standard_normal(len(theta))
    states = rng.standard_normal((len(weights), policy.observation_size))
    actions = policy.sample(policy.distribution(theta, states), policy.draw_noise(rng, len(weights)))
    owner = np.minimum(rng.geometric(0.4, len(weights)) - 1, workers - 1)
    own = [owner == worker for worker in range(workers)]
    sums = [gradient_sums(policy, theta, states[i], actions[i], weights[i]) for i in own]
    return np.array(sums), np.array([moments(weights[i], weights[i] + 1) for i in own])


def descend(update: Any, first: int = 0, limit: float = 1e100, extra: int = 0) -> Candidate:
    """Return a delayed descent whose next x is update(xs so far, rate, delay)."""

    def path(rate: float, delay: int, updates: int) -> Array:
        x = [1.0] * (delay + 1)
        for _ in range(updates + extra):
            x.append(update(x, rate, delay))
            if abs(x[-1]) > limit:
                break
        return np.array(x[delay + first :])

    return path


@exercise(
    "delayed_descent",
    "minitrpo.course.parallel_sgd.problem:delayed_descent",
    hints=(
        "Keep a list that begins with delay + 1 ones: the last of them is x_0.",
        "The newest x is x[-1]; the one the gradient was computed from, `delay` updates earlier, is x[-1 - delay].",
        "Append x[-1] - rate * x[-1 - delay], `updates` times; stop after an abs(x) > 1e100; drop what is before x_0.",
    ),
    mistakes={
        "It subtracts the gradient from the old x: the step is taken from the newest.": descend(
            lambda x, rate, delay: x[-1 - delay] - rate * x[-1 - delay]
        ),
        "The gradient is of the newest x: nothing is late.": descend(lambda x, rate, delay: x[-1] - rate * x[-1]),
        "The gradient is one update younger than it should be.": descend(
            lambda x, rate, delay: x[-1] - rate * x[-max(delay, 1)]
        ),
        "The gradient is one update older than it should be.": descend(
            lambda x, rate, delay: x[-1] - rate * ([1.0, *x])[-2 - delay]
        ),
        "It climbs: the gradient is added.": descend(lambda x, rate, delay: x[-1] + rate * x[-1 - delay]),
        "x_0 is missing.": descend(lambda x, rate, delay: x[-1] - rate * x[-1 - delay], first=1),
        "The ones from before the start are in it.": lambda rate, delay, updates: np.concatenate(
            [np.ones(delay), right_descent(rate, delay, updates)]
        ),
        "There is one update too many.": descend(lambda x, rate, delay: x[-1] - rate * x[-1 - delay], extra=1),
        "Before the start x is 1: here it seems to be 0, so that the first updates do nothing.": descend(
            lambda x, rate, delay: x[-1] - rate * (x[-1 - delay] if len(x) > 2 * delay else 0.0)
        ),
        "It is rounded: small numbers are numbers, too.": lambda rate, delay, updates: np.round(
            right_descent(rate, delay, updates), 12
        ),
        "It does not break off: x goes on beyond 1e100.": descend(
            lambda x, rate, delay: x[-1] - rate * x[-1 - delay], limit=np.inf
        ),
    },
)
def delayed_descent_cases() -> Iterator[Case]:
    """Yield paths that die down, swing, grow and break off."""
    for kind, rate, delay, updates in (
        ("no delay", 0.5, 0, 3),
        ("a delay of 1", 0.5, 1, 4),
        ("a delay of 2", 0.25, 2, 5),
        ("no updates", 0.5, 2, 0),
        ("one update", 0.5, 3, 1),
        ("fewer updates than the delay", 0.5, 6, 3),
        ("as many updates as the delay", 0.5, 4, 4),
        ("rates that are integers", 1, 1, 12),
        ("rates that are integers", 2, 0, 7),
        ("a rate of 0", 0.0, 3, 6),
        ("a rate that grows at once", 2.5, 0, 30),
        ("a negative rate", -0.1, 2, 30),
        ("a tiny rate", 1e-9, 3, 8),
        ("a path down to 1e-20", 0.99, 0, 10),
    ):
        yield case(kind, rate, delay, updates, each=True)
    for delay, rate in product((0, 1, 2, 3, 5, 8), (0.05, 0.15, 0.3, 0.7, 1.3)):
        yield case("many rates and delays", rate, delay, 60, rtol=1e-7)
    for delay in (0, 1, 4, 8):
        yield case("paths of 3,000 updates", 0.9 * right_bound(delay), delay, 3000, atol=1e-9)
    for delay, rate in ((0, 5.0), (3, 5.0), (8, 0.5), (1, -2.0), (2, 1e60)):
        yield case("paths that break off", rate, delay, 10_000, rtol=1e-6)
    yield case("a path that breaks off at its last update", 1e60, 1, 3)
    yield case("an x of 1e100, which is not beyond it", -1e100, 0, 5)
    yield case("an x of -1e100, which is not beyond it", 1e100, 0, 5)
    yield case("a first update beyond 1e100", 1e200, 2, 5)
    for given in ((1, 1, 12), (2, 0, 7), (0, 2, 3), (1, 3, 0), (np.int64(1), 2, 9)):
        shown = "rate = {}, delay = {}, updates = {}".format(*given)
        yield tried("a whole rate", partial(floats, given=given), shown=shown)


def floats(f: Candidate, given: tuple[Any, ...]) -> Any:
    """Return a path, if it is one of floats."""
    path = f(*given)
    whole = isinstance(path, np.ndarray) and path.dtype.kind != "f"
    need(not whole, f"it returned {value_words(path)}, and no floats")
    return path


@exercise(
    "stability_bound",
    "minitrpo.course.parallel_sgd.problem:stability_bound",
    hints=(
        "On the border z = cos(phi) + i sin(phi). What must phi be, so that the rate is a real, positive number?",
        "The direction of the right-hand side is delay * phi + phi / 2 - 90 degrees: make it 0, and solve for phi.",
        "phi = 180 degrees / (2 delay + 1); the rate is 2 sin(phi / 2). numpy's sine wants radians: pi is 180 degrees.",
    ),
    mistakes={
        "The sine was given degrees; numpy's wants radians.": lambda d: float(2 * np.sin(90 / (2 * d + 1))),
        "phi itself is under the sine; half of it belongs there.": lambda d: float(2 * np.sin(np.pi / (2 * d + 1))),
        "The 2 in front is missing.": lambda d: float(np.sin(np.pi / (2 * (2 * d + 1)))),
        "It is right without delay, and then falls like 1 / (delay + 1): try it in delayed_descent.": lambda d: (
            2 / (d + 1)
        ),
        "It falls like 1 / (2 delay + 1): try it in delayed_descent.": lambda d: 2 / (2 * d + 1),
        "That is the angle: right for long delays only.": lambda d: np.pi / (2 * d + 1),
        "That is the bound for a delay that is one longer.": lambda d: right_bound(d + 1),
        "That is the bound for a delay that is one shorter.": lambda d: right_bound(d - 1) if d else 2.0,
        "2 delay + 1 became delay + 1.": lambda d: float(2 * np.sin(np.pi / (2 * (d + 1)))),
        "2 delay + 1 became 2 delay + 2.": lambda d: float(2 * np.sin(np.pi / (4 * (d + 1)))),
        "That is the cosine.": lambda d: float(2 * np.cos(np.pi / (2 * (2 * d + 1)))),
        "It is rounded.": lambda d: round(right_bound(d), 3),
    },
)
def stability_bound_cases() -> Iterator[Case]:
    """Yield delays from none to a thousand."""
    for delay in (0, 1, 2, 3, 4):
        yield case("short delays", delay, rtol=1e-12)
    for delay in (5, 7, 8, 12, 15, 31):
        yield case("the staleness of 6 to 32 workers", delay, rtol=1e-12)
    for delay in (64, 100, 333, 1000):
        yield case("long delays", delay, rtol=1e-12)
    yield case("a numpy integer", np.int64(6), rtol=1e-12)


@exercise(
    "may_go_on",
    "minitrpo.parallel.parameter_server:may_go_on",
    hints=(
        "Who is the slowest? The one with the smallest clock; it may be the worker itself.",
        "Compare the worker's clock with the smallest: a lead of exactly max_lead is allowed.",
    ),
    mistakes={
        # Yes or no is soon guessed right by a wrong rule: so these sentences hold whatever the rule was.
        "A lead of exactly max_lead is allowed.": lambda c, w, s: bool(c[w] - c.min() < s),
        "It is further ahead of the slowest than max_lead: it has to wait.": lambda c, w, s: True,
        "It is not too far ahead of the slowest, and may go on, whatever the others do.": lambda c, w, s: bool(
            np.abs(c - c[w]).max() <= s
        ),
        "It is the wrong way round.": lambda c, w, s: not right_rule(c, w, s),
    },
)
def may_go_on_cases() -> Iterator[Case]:
    """Yield clocks of one to eight workers, at the border and away from it, and of workers that have left."""
    for kind, clocks, worker, lead in (
        ("all at the start", [0, 0, 0], 1, 0),
        ("ahead by as much as is allowed", [3, 1, 2], 0, 2),
        ("ahead by one too many", [4, 1, 2], 0, 2),
        ("a barrier", [1, 0], 0, 0),
        ("a barrier", [1, 1], 0, 0),
        ("the slowest itself", [5, 0, 5], 1, 0),
        ("a worker in between", [9, 3, 4], 2, 1),
        ("alone", [7], 0, 0),
        ("no limit", [10**8, 0], 0, NO_LIMIT),
        ("one that has left", [LEFT, 4, 4], 1, 0),
        ("one that has left", [LEFT, 5, 4], 1, 0),
        ("the others have left", [LEFT, 5, LEFT], 1, 1),
        ("long runs", [10**6, 10**6 - 3, 10**6], 0, 3),
        ("long runs", [10**6 + 1, 10**6 - 3, 10**6], 0, 3),
    ):
        yield case(kind, np.array(clocks), worker, lead)
    for three in product(range(4), repeat=3):
        for worker, lead in ((0, 0), (1, 1), (2, 2)):
            yield case("all clocks of three workers up to 3", np.array(three), worker, lead)
    rng = np.random.default_rng(0)
    for _ in range(60):
        workers = int(rng.integers(2, 9))
        some = np.where(rng.random(workers) < 0.15, LEFT, rng.integers(0, 7, workers))
        still = np.flatnonzero(some < LEFT)
        if len(still):
            yield case("up to eight workers", some, int(rng.choice(still)), int(rng.integers(0, 5)))
    for place, lead in product((0, 150, 299), (2, 3)):
        late = np.where(np.arange(300) == place, 997, 1000)
        yield case("300 workers, of which one is late", late, 77, lead)
