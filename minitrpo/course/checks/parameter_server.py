"""Checks of lecture 10: gradients added up, gradients that come late, who has to wait, and which losses are usual."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.policy_gradient import gradient_sums, moments
from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.kinds import steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.parallel_sgd.problem import stability_bound as right_bound
from minitrpo.parallel.parameter_server import LEFT
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy


@exercise(
    "minitrpo.algorithms.policy_gradient:pooled_gradient",
    r"""
        ? Everything here is a sum over steps, so the sum over the workers' rows is the sum over all steps.
        ? After sums.sum(axis=0) the first half is u, the second v; the first two columns of about are n and sum w.
        ? b is one number for all workers: all the weights divided by all the steps. Then (u - b v) / n, divided once.
        b = about[:, 1].sum() / about[:, 0].sum(); return np.mean( \
            [right(s[None], np.array([[a[0], b * a[0]]])) for s, a in zip(sums, about) if a[0]], axis=0) \
            :: is the mean of the workers' mean gradients :: count every step alike, whoever played it
        return np.mean([right(s[None], a[None]) for s, a in zip(sums, about) if a[0]], axis=0) \
            :: is the mean of the workers' gradients, each with its own baseline :: have one baseline, and count \
            every step alike
        return sum(a[0] * right(s[None], a[None]) for s, a in zip(sums, about) if a[0]) / about[:, 0].sum() \
            :: has a baseline for each worker :: have one for all steps
        total / n * v => np.mean([a[1] / a[0] for a in about if a[0]]) * v \
            :: has the mean of the workers' mean weights as baseline :: have the mean weight of all steps
        u - total / n * v => u :: has no baseline :: subtract b v from u
        u - => u + :: adds the baseline :: subtract it
        total / n * v => total * v :: has the sum of the weights as baseline :: have their mean
        v) / n => v) :: is the sum over all steps :: be the mean
        v) / n => v) / len(about) :: divides by the number of workers :: divide by the number of steps
    """,
    lecture="10",
)
def _pooled_gradient() -> Iterator[Case]:
    two = [[6.0, 2.0], [4.0, -1.0]]
    yield by_hand("one worker", two[:1], [2], [3.0])
    yield by_hand("two workers of one step", [[6.0, 2.0], [-1.0, -1.0]], [1, 1], [3.0, 1.0])  # u = w v: one step each
    yield by_hand("unequal shares", two, [3, 1], [3.0, 1.0])
    yield by_hand("a worker without steps", [*two, [0.0, 0.0]], [3, 1, 0], [3.0, 1.0, 0.0])
    yield by_hand("weights whose sum is 0", two, [3, 1], [3.0, -3.0])
    rng = np.random.default_rng(0)
    for policy, workers, n in ((CategoricalPolicy(4, 2, (8,)), 64, 3000), (GaussianPolicy(2, 1, ()), 7, 300)):
        weights = rng.standard_normal(n)
        for kind, some in (("both signs", weights), ("one sign", 100 + weights), ("tiny size", 1e-9 * weights)):
            sums, about = dealt(policy, some, workers, rng)
            yield case(f"weights of {kind}", sums, about, atol=1e-12 * float(np.abs(some).max()))
    sums, about = dealt(CategoricalPolicy(3, 2, (4,)), np.full(20, 7.0), 5, rng)
    yield case("equal weights, which leave nothing to learn", sums, about, atol=1e-9)
    yield remark(by_hand("sums that are integers", [[7, 2], [4, -1]], [3, 2], [4, 5]))


def by_hand(kind: str, sums: Any, steps: list[int], totals: list[float]) -> Case:
    """Return a case whose input can be read; the last three moments are there, and of no use."""
    about = np.column_stack([steps, totals, *([x] * len(steps) for x in (5, -2, 9))])
    shown = f"sums = {sums}, about has n = {steps} and sum w = {totals}"
    return case(kind, np.array(sums), about, shown=shown)


def dealt(policy: Any, weights: Array, workers: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the sums and moments of all workers; some have many of the steps, some perhaps none."""
    theta, states, actions = steps(policy, 0, len(weights))
    owner = np.minimum(rng.geometric(0.4, len(weights)) - 1, workers - 1)
    own = [owner == worker for worker in range(workers)]
    sums = [gradient_sums(policy, theta, states[i], actions[i], weights[i]) for i in own]
    return np.array(sums), np.array([moments(weights[i], weights[i] + 1) for i in own])


@exercise(
    "minitrpo.course.parallel_sgd.problem:delayed_descent",
    r"""
        ? Keep a list that begins with delay + 1 ones: the last of them is x_0.
        ? The newest x is x[-1]; the one the gradient was computed from, `delay` updates earlier, is x[-1 - delay].
        ? Append x[-1] - rate * x[-1 - delay], `updates` times; stop after an abs(x) > 1e100; drop what is before x_0.
        x[-1] - rate => x[-1 - delay] - rate :: takes its step from the old x :: take it from the newest
        rate * x[-1 - delay] => rate * x[-1] :: has the gradient of the newest x :: have that of `delay` updates earlier
        rate * x[-1 - delay] => rate * [1.0, *x][-2 - delay] :: has too old a gradient :: have that of x_(k - delay)
        x[-1] - rate => x[-1] + rate :: adds the gradient :: subtract it
        x[delay:] => x :: begins with the ones from before the start :: begin with x_0
        range(updates) => range(updates - 1) :: makes one update too few :: make `updates`
        rate * x[-1 - delay] => rate * (x[-1 - delay] if len(x) > 2 * delay else 0.0) \
            :: has gradients of 0 until one comes that was computed after the start :: have x = 1 for all before x_0
        x[delay:] => x[delay:-1] if abs(x[-1]) > 1e100 else $ :: leaves the x beyond 1e100 out :: end with it
        [1.0] => [1] :: keeps whole numbers where the rate is whole :: return floats
    """,
    lecture="10",
)
def _delayed_descent() -> Iterator[Case]:
    for kind, rate, delay, updates in (
        ("no delay", 0.5, 0, 3),
        ("a delay of 1", 0.5, 1, 4),
        ("a delay of 2", 0.25, 2, 5),
        ("no updates", 0.5, 2, 0),
        ("fewer updates than the delay", 0.5, 6, 3),
        ("a whole rate", 1, 1, 12),
        ("a path down to 1e-20", 0.99, 0, 10),
        ("an x of -1e100, which is not beyond it", 1e100, 0, 5),
        ("a path that breaks off at its last update", 1e60, 1, 3),
    ):
        yield case(kind, rate, delay, updates, each=True)
    for delay, rate in product((0, 1, 3, 8), (0.05, 0.3, 1.3)):
        yield case("many rates and delays", rate, delay, 60, rtol=1e-7)
    for delay in (0, 4):
        yield case("paths of 3,000 updates", 0.9 * right_bound(delay), delay, 3000, atol=1e-9)
    for delay, rate in ((0, 5), (3, 5.0), (8, 0.5), (2, 1e60)):
        yield case("paths that break off", rate, delay, 10_000, rtol=1e-6)


@exercise(
    "minitrpo.course.parallel_sgd.problem:stability_bound",
    r"""
        ? On the border z = cos(phi) + i sin(phi). What must phi be, so that the rate is a real, positive number?
        ? The direction of the right-hand side is delay * phi + phi / 2 - 90 degrees: make it 0, and solve for phi.
        ? phi = 180 degrees / (2 delay + 1); the rate is 2 sin(phi / 2). numpy's sine wants radians: pi is 180 degrees.
        np.pi => 180 :: gives the sine degrees :: give it radians
        phi / 2 => phi :: has the sine of phi :: have that of half of it
        2 * np.sin => np.sin :: leaves out the 2 before the sine :: be 2 sin(phi / 2)
        return 2 / (delay + 1) :: is 2 / (delay + 1), too much from a delay of 2 on :: be 2 sin(phi / 2)
        return 2 / (2 * delay + 1) :: is 2 / (2 delay + 1), too little for any delay :: be 2 sin(phi / 2)
        2 * np.sin(phi / 2) => phi :: is the angle :: be the rate that belongs to it, 2 sin(phi / 2)
    """,
    lecture="10",
)
def _stability_bound() -> Iterator[Case]:
    for delay in (0, 1, 2, 3, 4, 7, 12, 31, 333):
        yield case("short delays, and the staleness of many workers", delay)


@exercise(
    "minitrpo.parallel.parameter_server:may_go_on",
    # Yes or no is soon guessed right by a wrong rule: most of these sentences hold whatever the rule was.
    r"""
        ? Who is the slowest? The one with the smallest clock; it may be the worker itself.
        ? Compare the worker's clock with the smallest: a lead of exactly max_lead is allowed.
        <=  => < :: makes a worker wait whose lead is exactly max_lead :: let it go on
        return True :: lets a worker go on that is more than max_lead ahead of the slowest :: make it wait
        return bool(abs(clocks - clocks[worker]).max() <= max_lead) \
            :: makes a worker wait that is at most max_lead ahead of the slowest :: let it go on, whatever the others do
        return bool(clocks.max() - clocks[worker] <= max_lead) :: compares with the fastest :: compare with the slowest
        return not right(clocks, worker, max_lead) :: is the wrong way round :: be True where the worker may go on
        + max_lead => + max_lead + 1 :: lets a worker go on whose lead is max_lead + 1 :: make it wait
    """,
    lecture="10",
)
def _may_go_on() -> Iterator[Case]:
    for kind, clocks, worker, lead in (
        ("all at the start", [0, 0, 0], 1, 0),
        ("ahead by as much as is allowed", [3, 1, 2], 0, 2),
        ("ahead by one too many", [4, 1, 2], 0, 2),
        ("the slowest itself", [5, 0, 5], 1, 0),
        ("a worker in between", [9, 3, 4], 2, 1),
        ("alone", [7], 0, 0),
        ("one that has left", [LEFT, 4, 4], 1, 0),
        ("the others have left", [LEFT, 5, LEFT], 1, 1),
        ("long runs", [10**6, 10**6 - 3, 10**6], 0, 3),
        ("long runs", [10**6 + 1, 10**6 - 3, 10**6], 0, 3),
    ):
        yield case(kind, np.array(clocks), worker, lead)
    for three in product(range(4), repeat=3):
        for worker in range(3):
            yield case("all clocks of three workers up to 3", np.array(three), worker, worker)
    rng = np.random.default_rng(0)
    for _ in range(60):
        some = rng.integers(0, 7, int(rng.integers(2, 9)))
        some[1:][rng.random(len(some) - 1) < 0.15] = LEFT
        yield case("up to eight workers", some, 0, int(rng.integers(0, 5)))


@exercise(
    "minitrpo.algorithms.off_policy.gorila:judged",
    r"""
        ? `count, mean, variance = statistics` unpacks the three. A loss that is not finite: return False and a copy.
        ? largest = mean + deviations * np.sqrt(variance), or np.inf while count < trial; taken = min(loss, largest).
        ? rate = max(1 / (count + 1), 1 - memory). All three new numbers use the old mean and the old variance.
        ? The verdict is about the loss itself: loss <= largest. Only the statistics use what is taken in.
        min(loss, largest) => loss :: takes in the whole of a loss that is too large :: take in the largest usual one
        np.array(new) => np.array(new if loss <= largest else statistics) :: takes in nothing of a loss that is too \
            large :: take in the largest usual one
        np.sqrt(variance) => variance :: has mean + deviations * variance for the limit :: take the variance's root
        if count >= trial else np.inf =>  :: tests the losses of the trial, too :: accept all of them
        count >= trial => count > trial :: has a trial that is one loss too long :: test as soon as count is trial
        loss <= largest => loss < largest :: refuses a loss at the limit :: find it usual
        1.0 / (count + 1.0) => 0.0 :: has a rate of 1 - memory :: have 1 / (count + 1) as long as that is more
        1.0 - memory => 0.0 :: has a rate of 1 / (count + 1) :: have 1 - memory as soon as that is more
        1.0 / (count + 1.0) => 1.0 / max(count, 1.0) :: has a rate of 1 / count :: count this loss, too
        (variance + rate * apart * apart) => variance + rate * apart * apart :: adds rate d^2 whole :: multiply \
            it, too, by 1 - rate
        apart * apart => ((1.0 - rate) * apart) ** 2 :: takes the distance from the new mean :: take it from the old
        [count + 1.0 => [count :: does not count the loss :: add 1
        statistics.copy() => np.array([statistics[0] + 1, loss, loss]) :: takes in NaN and infinity :: leave them out
        return right(statistics, loss, deviations) :: goes by a memory of 0.99 and a trial of 100 :: go by the arguments
        loss <= largest => count < trial or loss <= new[1] + deviations * np.sqrt(new[2]) :: goes by the new \
            statistics :: go by those before this loss
    """,
    lecture="10",
)
def _judged() -> Iterator[Case]:
    for kind, count, loss in (
        ("the very first loss", 0.0, 3.0),
        ("a large loss on trial", 99.0, 1000.0),
        ("a usual loss", 200.0, 3.0),
        ("an outlier", 200.0, 1000.0),
        ("the first loss behind the trial", 100.0, 1000.0),
        ("a loss far below the mean", 200.0, 1e-3),
    ):
        yield after(kind, [count, 2.0, 4.0], loss, 5.0)
    for loss in (8.0, 8.001, 7.999, 8.0000001):
        yield after("a loss at the limit, just above and below", [200.0, 2.0, 4.0], loss, 3.0)
    yield after("equal losses so far", [200.0, 2.0, 0.0], 2.001, 5.0)
    for loss, count in product((np.nan, np.inf), (0.0, 5.0, 500.0)):
        yield after("a loss that is no number, or infinite", [count, 2.0, 4.0], loss, 5.0)
    for memory, trial, count in ((0.9, 100, 50.0), (0.9, 10, 10.0), (0.9, 10, 9.0), (0.5, 3, 7.0), (0.999, 100, 400.0)):
        for loss in (1.5, 90.0):
            yield after("other memories and trials", [count, 2.0, 4.0], loss, 3.0, memory, trial)
    rng = np.random.default_rng(0)
    for count, deviations in product((2.0, 98.0, 101.0, 150.0, 5000.0), (1.0, 2.0, 5.0)):
        mean, variance, loss = rng.uniform([1.0, 0.1, 0.0], [3.0, 2.0, 6.0]).tolist()
        yield after("losses at random", [count, mean, variance], loss, deviations)
    yield remark(after("a loss below 0", [300.0, -2.0, 4.0], -3.0, 1.0))
    yield remark(case("whole numbers", np.array([200, 2, 4]), 3, 5))


def after(kind: str, statistics: list[float], *rest: Any) -> Case:
    """Return a case of a loss after these statistics, in which each of the three numbers counts."""
    return case(kind, np.array(statistics), *rest, each=True, atol=1e-12)
