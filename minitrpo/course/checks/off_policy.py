"""Checks of lecture 13: updates that are due, losses that are far from usual, and a Q whose best action is read off."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.off_policy.gorila import judged as right_judgement
from minitrpo.algorithms.off_policy.naf import naf_q as right_q
from minitrpo.algorithms.off_policy.naf import naf_targets as right_targets
from minitrpo.course.checks.differential import Candidate, Case, case
from minitrpo.course.checks.register import exercise
from minitrpo.experience.replay_buffer import updates_due as right_number
from minitrpo.policies import Array


@exercise(
    "updates_due",
    "minitrpo.experience.replay_buffer:updates_due",
    hints=(
        "Only steps behind the warm-up count: steps - warm_up of them, or none.",
        "int(x) rounds a positive x down. Round the whole product, not the number of steps.",
        "max(0, owed - done), where owed = int(ratio * max(0, steps - warm_up)).",
    ),
    mistakes={
        "The warm-up is forgotten: its steps are worth no updates.": lambda s, w, r, d: max(0, int(r * s) - d),
        "The warm-up only delays: once it is over, its steps count here, too.": lambda s, w, r, d: (
            max(0, int(r * s) - d) if s > w else 0
        ),
        "The updates that were made already are due again.": lambda s, w, r, d: right_number(s, w, r, 0),
        "It is negative where more updates were made than are owed: nothing is due then.": lambda s, w, r, d: (
            int(r * max(0, s - w)) - d
        ),
        "It is rounded to the nearest whole number, not down.": lambda s, w, r, d: max(0, round(r * max(0, s - w)) - d),
        "It is rounded up, not down.": lambda s, w, r, d: max(0, int(np.ceil(r * max(0, s - w))) - d),
        "The ratio is updates per step, so it multiplies.": lambda s, w, r, d: max(0, int(max(0, s - w) / r) - d),
        "The updates made are multiplied by the ratio, too.": lambda s, w, r, d: max(0, int(r * (max(0, s - w) - d))),
        "It says at most 1: all updates that are due are wanted.": lambda s, w, r, d: min(1, right_number(s, w, r, d)),
        "There is always one at least, due or not.": lambda s, w, r, d: max(1, right_number(s, w, r, d)),
        "The warm-up is counted in updates here; it is a number of steps.": lambda s, w, r, d: max(
            0, int(r * s) - w - d
        ),
        "It is one too many.": lambda s, w, r, d: right_number(s, w, r, d) + 1,
        "The ratio itself is rounded down: below 1 nothing is ever due.": lambda s, w, r, d: max(
            0, int(r) * max(0, s - w) - d
        ),
    },
)
def updates_due_cases() -> Iterator[Case]:
    """Yield runs before, at and behind the end of their warm-up, behind with their updates, and ahead."""
    yield case("a ratio of 1", 30, 10, 1.0, 0)
    yield case("a ratio of 1", 30, 10, 1.0, 12)
    yield case("during the warm-up", 7, 10, 1.0, 0)
    yield case("the last step of the warm-up", 10, 10, 1.0, 0)
    yield case("the first step behind the warm-up", 11, 10, 1.0, 0)
    yield case("a ratio below 1", 30, 10, 0.25, 0)
    yield case("a ratio below 1", 33, 10, 0.25, 3)
    yield case("a ratio below 1", 20, 10, 0.3, 0)
    yield case("a ratio above 1", 30, 10, 4.0, 60)
    yield case("no update is due yet", 13, 10, 0.25, 0)
    yield case("all are made", 30, 10, 0.5, 10)
    yield case("more were made than are owed", 30, 10, 0.5, 14)
    yield case("updates made during the warm-up", 5, 10, 0.5, 2)
    yield case("a whole-numbered ratio", 30, 10, 2, 5)
    yield case("no warm-up", 9, 0, 0.5, 1)
    yield case("no steps", 0, 0, 0.5, 0)
    for steps in range(100, 113):
        yield case("step by step", steps, 100, 0.25, (steps - 100) // 8)
    for ratio, done in product((0.0625, 0.3, 0.7, 1.5, 2.3, 64.0), (0, 1, 5)):
        yield case("ratios of all sizes", 1017, 1000, ratio, done)
    for steps, ratio in ((9_999, 0.0005), (10_000, 0.0625), (9_996, 0.001), (2**24 + 1, 1.0), (2**27, 32.0)):
        yield case("products just below a whole number, and large ones", steps, 0, ratio, 1)
    for done in (24_700, 24_750, 24_751, 30_000):
        yield case("long runs", 100_000, 1000, 0.25, done)
    yield case("ten million steps", 10_000_003, 1000, 0.5, 4_999_000)
    yield case("numpy integers", np.int64(1064), np.int64(1000), 0.25, np.int64(2))


def judging(
    largest: Any = lambda mean, variance, k: mean + k * np.sqrt(variance),
    taken: Any = min,
    rate: Any = lambda count, memory: max(1 / (count + 1), 1 - memory),
    variance: Any = lambda old, rate, apart: (1 - rate) * (old + rate * apart**2),
    counted: float = 1.0,
    first: float = 0.0,
    border: Any = np.less_equal,
) -> Candidate:
    """Return a judgement with one of its parts exchanged; first: how many losses too many are on trial."""

    def judgement(statistics: Array, loss: float, deviations: float, memory: float = 0.99, trial: int = 100) -> Any:
        if not np.isfinite(loss):
            return False, statistics.copy()
        count, mean, old = statistics.tolist()
        limit = largest(mean, old, deviations) if count >= trial + first else np.inf
        seen = taken(loss, limit)
        a = rate(count, memory)
        new = [count + counted, mean + a * (seen - mean), variance(old, a, seen - mean)]
        return bool(border(loss, limit)), np.array(new)

    return judgement


def nothing_taken(statistics: Array, loss: float, *rest: Any) -> Any:
    """Return a judgement that takes in nothing of a refused loss."""
    verdict, new = right_judgement(statistics, loss, *rest)
    return verdict, new if verdict else statistics.copy()


def spoilt_by_nan(statistics: Array, loss: float, *rest: Any) -> Any:
    """Return a judgement that takes in numbers that are none."""
    if np.isfinite(loss):
        return right_judgement(statistics, loss, *rest)
    return False, np.array([statistics[0] + 1, loss, loss])


def judged_by_the_new(statistics: Array, loss: float, deviations: float, *rest: Any, **named: Any) -> Any:
    """Return a judgement by the statistics that have the loss in them already."""
    _, new = right_judgement(statistics, loss, deviations, *rest, **named)
    on_trial = statistics[0] < named.get("trial", rest[1] if len(rest) > 1 else 100)
    return bool(np.isfinite(loss) and (on_trial or loss <= new[1] + deviations * np.sqrt(new[2]))), new


@exercise(
    "judged",
    "minitrpo.algorithms.off_policy.gorila:judged",
    hints=(
        "`count, mean, variance = statistics` unpacks the three. A loss that is not finite: return False and a copy.",
        "largest = mean + deviations * np.sqrt(variance), or np.inf while count < trial; taken = min(loss, largest).",
        "rate = max(1 / (count + 1), 1 - memory). All three new numbers use the old mean and the old variance.",
        "The verdict is about the loss itself: loss <= largest. Only the statistics use what is taken in.",
    ),
    mistakes={
        "It takes in the whole loss, also of one that is refused: the next outlier will seem usual.": judging(
            taken=lambda loss, limit: loss
        ),
        "It takes in nothing of a refused loss: should losses rise for good, it refuses for ever.": nothing_taken,
        "The limit is mean + deviations * variance; the standard deviation is its square root.": judging(
            largest=lambda mean, variance, k: mean + k * variance
        ),
        "The limit is deviations * standard deviation: the mean is missing.": judging(
            largest=lambda mean, variance, k: k * np.sqrt(variance)
        ),
        "The limit is a multiple of the mean; the spread does not matter here.": judging(
            largest=lambda mean, variance, k: k * mean
        ),
        "It refuses everything on trial: the first losses are usual, whatever they are.": lambda s, loss, *rest: (
            bool(right_judgement(s, loss, *rest)[0] and s[0] >= (rest[2] if len(rest) > 2 else 100)),
            right_judgement(s, loss, *rest)[1],
        ),
        "There is no trial: the first losses are judged, too.": judging(first=-(10**12)),
        "The trial is one loss too long: with count = trial it is over.": judging(first=1),
        "A loss that is exactly at the limit is usual.": judging(border=np.less),
        "It is the wrong way round.": lambda s, loss, *rest: (
            bool(not right_judgement(s, loss, *rest)[0]),
            right_judgement(s, loss, *rest)[1],
        ),
        "The first losses count as little as later ones: the rate is 1 / (count + 1), as long as that is more.": (
            judging(rate=lambda count, memory: 1 - memory)
        ),
        "The rate falls for ever: it should not fall below 1 - memory.": judging(
            rate=lambda count, memory: 1 / (count + 1)
        ),
        "The rate is the smaller of the two; the larger is wanted.": judging(
            rate=lambda count, memory: min(1 / (count + 1), 1 - memory)
        ),
        "The rate is 1 / count; this loss is number count + 1.": judging(
            rate=lambda count, memory: max(1 / max(count, 1), 1 - memory)
        ),
        "The new share is 1 - memory, not memory.": judging(rate=lambda count, memory: max(1 / (count + 1), memory)),
        "The new variance does not shrink by 1 - rate.": judging(
            variance=lambda old, rate, apart: old + rate * apart**2
        ),
        "In the new variance the squared distance has lost its factor 1 - rate.": judging(
            variance=lambda old, rate, apart: (1 - rate) * old + rate * apart**2
        ),
        "In the new variance the squared distance has lost its factor, the rate.": judging(
            variance=lambda old, rate, apart: (1 - rate) * (old + apart**2)
        ),
        "The variance takes in the distance, not its square.": judging(
            variance=lambda old, rate, apart: (1 - rate) * (old + rate * abs(apart))
        ),
        "The distance for the variance is from the new mean; it is from the old one.": judging(
            variance=lambda old, rate, apart: (1 - rate) * (old + rate * ((1 - rate) * apart) ** 2)
        ),
        "The variance never changes.": judging(variance=lambda old, rate, apart: old),
        "The third number is a variance, not a standard deviation.": judging(
            variance=lambda old, rate, apart: np.sqrt((1 - rate) * (old + rate * apart**2))
        ),
        "The count does not grow.": judging(counted=0.0),
        "A loss that is no number, or infinite, must leave the statistics as they are.": spoilt_by_nan,
        "memory and trial are arguments: 0.99 and 100 are what they are if nothing is said.": lambda s, x, k, *rest: (
            right_judgement(s, x, k)
        ),
        "memory is an argument: 0.99 is only what it is if nothing is said.": lambda s, x, k, memory=0.99, trial=100: (
            right_judgement(s, x, k, 0.99, trial)
        ),
        "trial is an argument: 100 is only what it is if nothing is said.": lambda s, x, k, memory=0.99, trial=100: (
            right_judgement(s, x, k, memory, 100)
        ),
        "The verdict asks the new mean and variance; those before this loss decide.": judged_by_the_new,
        "It is rounded: small numbers are numbers, too.": lambda s, x, *rest, **named: (
            right_judgement(s, x, *rest, **named)[0],
            np.round(right_judgement(s, x, *rest, **named)[1], 6),
        ),
        "Where all losses were equal so far, any larger one is unusual: the spread has no floor.": judging(
            largest=lambda mean, variance, k: mean + k * np.sqrt(max(variance, 1e-6))
        ),
    },
)
def judged_cases() -> Iterator[Case]:
    """Yield first losses, usual ones, outliers, the border, and statistics of all sizes."""
    yield judge("the very first loss", [0.0, 0.0, 0.0], 3.0, 5.0)
    yield judge("the second loss", [1.0, 3.0, 0.0], 5.0, 5.0)
    yield judge("losses on trial", [50.0, 2.0, 4.0], 3.0, 5.0)
    yield judge("a large loss on trial", [99.0, 2.0, 4.0], 1000.0, 5.0)
    yield judge("a usual loss", [200.0, 2.0, 4.0], 3.0, 5.0)
    yield judge("an outlier", [200.0, 2.0, 4.0], 1000.0, 5.0)
    yield judge("the first loss behind the trial", [100.0, 2.0, 4.0], 1000.0, 5.0)
    yield judge("a loss at the limit", [200.0, 2.0, 4.0], 8.0, 3.0)
    for loss in (8.001, 7.999, 8.0000001, 7.9999999):
        where, shown = "above" if loss > 8 else "below", f"statistics = [200, 2, 4], loss = {loss}, deviations = 3"
        yield judge(f"a loss just {where} the limit", [200.0, 2.0, 4.0], loss, 3.0, shown=shown)
    yield judge("a loss far below the mean", [200.0, 20.0, 4.0], 0.5, 3.0)
    yield judge("a loss of 0", [300.0, 2.0, 4.0], 0.0, 3.0)
    for count, mean, loss in ((300.0, -2.0, -3.0), (300.0, -10.0, -3.0), (3.0, -2.0, -30.0)):
        yield judge("a loss below 0", [count, mean, 4.0], loss, 1.0)
    yield judge("a huge loss on trial", [3.0, 2.0, 4.0], 1e60, 1.0)
    yield judge("a memory of 0", [300.0, 2.0, 4.0], 3.0, 5.0, 0.0)
    yield judge("no deviation is allowed", [200.0, 2.0, 4.0], 2.5, 0.0)
    yield judge("equal losses so far", [200.0, 2.0, 0.0], 2.0, 5.0)
    yield judge("equal losses so far", [200.0, 2.0, 0.0], 2.001, 5.0)
    for loss, count in product((np.nan, np.inf, -np.inf), (0.0, 5.0, 500.0)):
        yield judge("a loss that is no number, or infinite", [count, 2.0, 4.0], loss, 5.0)
    for memory, trial, count in ((0.9, 100, 50.0), (0.9, 10, 10.0), (0.9, 10, 9.0), (0.5, 3, 7.0), (0.999, 100, 400.0)):
        for loss in (1.5, 90.0):
            yield judge("other memories and trials", [count, 2.0, 4.0], loss, 3.0, memory, trial)
    yield judge("a trial of none", [0.0, 0.0, 0.0], 3.0, 5.0, 0.99, 0)
    yield judge("by name", [20.0, 2.0, 4.0], 30.0, 3.0, memory=0.8, trial=20)
    for loss, deviations in ((3, 5), (50, 2)):
        yield judge("whole numbers", [200, 2, 4], loss, deviations)
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 10, 98, 99, 100, 101, 150, 5000, 2**24):
        for _ in range(6):
            mean, variance = float(rng.uniform(1, 3)), float(rng.uniform(0.1, 2))
            loss = float(mean * np.exp(1.2 * rng.standard_normal()))
            yield judge("losses at random", [float(count), mean, variance], loss, float(rng.choice([1.0, 2.0, 5.0])))
    for size in (1e-9, 1e9):
        for loss in (0.5, 3.0, 100.0):
            yield judge("very small and very large losses", [300.0, 2 * size, 4 * size**2], loss * size, 5.0)


def judge(kind: str, statistics: Any, *rest: Any, **named: Any) -> Case:
    """Return a case: each of the three numbers counts."""
    return case(kind, np.array(statistics), *rest, each=True, rtol=1e-9, **named)


def parabola(z: Any = None, of: Any = lambda value, squares: value - 0.5 * squares) -> Candidate:
    """Return Q = of(V, z'z), with a z(lower, u - mu) that is not lower'(u - mu)."""

    def q(value: Array, mu: Array, lower: Array, u: Array) -> Any:
        apart = u - mu
        vector = np.einsum("...ij,...i->...j", lower, apart) if z is None else z(lower, apart)
        return of(value, np.sum(vector * vector, axis=-1))

    return q


@exercise(
    "naf_q",
    "minitrpo.algorithms.off_policy.naf:naf_q",
    hints=(
        "z_j is the sum over i of lower[..., i, j] * (u - mu)[..., i]: the first index of lower is summed over.",
        'np.einsum("...ij,...i->...j", lower, u - mu) does that for any number of axes in front.',
        "Then value - 0.5 * np.sum(z * z, axis=-1).",
    ),
    mistakes={
        "It is L(u - mu), not L'(u - mu): the first index of lower is summed over.": parabola(
            lambda lower, d: np.einsum("...ij,...j->...i", lower, d)
        ),
        "The factor 1/2 is missing.": parabola(of=lambda value, squares: value - squares),
        "The parabola opens upwards: what differs from mu is worth less, not more.": parabola(
            of=lambda value, squares: value + 0.5 * squares
        ),
        "That is the advantage; V is missing.": parabola(of=lambda value, squares: -0.5 * squares),
        "It takes the square root: a cone, not a parabola.": parabola(
            of=lambda value, squares: value - 0.5 * np.sqrt(squares)
        ),
        "lower itself is taken for the matrix: it is lower times its transpose.": lambda value, mu, lower, u: (
            value - 0.5 * np.einsum("...i,...ij,...j->...", u - mu, lower, u - mu)
        ),
        "Only the diagonal of lower is used.": parabola(lambda lower, d: np.einsum("...ii,...i->...i", lower, d)),
        "lower has no effect.": parabola(lambda lower, d: d),
        "mu is added to the action, not taken off.": lambda value, mu, lower, u: right_q(value, -mu, lower, u),
        "mu is missing: the top lies at 0.": lambda value, mu, lower, u: right_q(value, np.zeros_like(mu), lower, u),
        "The squares are averaged over the actions' numbers, not added up.": lambda value, mu, lower, u: (
            value - 0.5 * np.mean(np.einsum("...ij,...i->...j", lower, u - mu) ** 2, axis=-1)
        ),
        "It is the sum squared, not the sum of the squares.": lambda value, mu, lower, u: (
            value - 0.5 * np.sum(np.einsum("...ij,...i->...j", lower, u - mu), axis=-1) ** 2
        ),
        "It multiplies by L twice, once by each: L L'(u - mu), squared.": parabola(
            lambda lower, d: np.einsum("...ij,...kj,...k->...i", lower, lower, d)
        ),
        "That is V: the action has no effect.": lambda value, mu, lower, u: np.asarray(value) * 1.0,
    },
)
def naf_q_cases() -> Iterator[Case]:
    """Yield parabolas over one to seven torques, by hand and at random, for one state and for many."""
    one = np.array([1.0]), np.array([[0.5]]), np.array([[[2.0]]])
    yield case("one torque", *one, np.array([[1.0]]))
    yield case("the best action itself", *one, np.array([[0.5]]))
    two = np.array([[[2.0, 0.0], [1.0, 3.0]]])
    for u in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]):
        yield case("two torques", np.array([4.0]), np.zeros((1, 2)), two, np.array([u]))
    yield case("a single state, without axes in front", np.array(4.0), np.array([0.5, -0.5]), two[0], np.ones(2))
    whole = np.array([[[2, 0], [1, 2]]])
    yield case("whole numbers", np.array([4]), np.array([[1, 0]]), whole, np.array([[0, 1]]))
    rng = np.random.default_rng(0)
    for front in ((5,), (1,), (2, 3), (0,), (2, 2, 2), ()):
        for actions in (1, 2, 3, 7):
            yield random_parabola("many states and torques", rng, front, actions)
    for actions in (2, 3):
        yield random_parabola("as many states as torques", rng, (actions,), actions)
        yield random_parabola("as many states as torques", rng, (actions, actions), actions)
        for size in (1e-6, 1e6):
            yield random_parabola("flat and steep parabolas", rng, (6,), actions, size)
    yield random_parabola("a minibatch of 500", rng, (4, 125), 2)
    value, mu, lower, u = random_parabola("", rng, (8,), 2).arguments
    u[[0, 3]] = mu[[0, 3]]
    flat = lower.copy()
    flat[..., 1, 1] = 0.0
    yield case("a ridge: a direction without curvature", value, mu, flat, u)
    yield case("some actions that are the best", value, mu, lower, u)
    yield case("actions far beyond the best", value, mu, lower, 10 * u)
    yield case("actions very close to the best", value, mu, 1e7 * lower, mu + 1e-7 * u)
    value, mu, lower, u = (x.astype(np.float32) for x in random_parabola("", rng, (20,), 3).arguments)
    yield case("numbers of single precision", value, mu, lower, u, rtol=1e-5)
    spread = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9)), axis=-1)
    same = [np.broadcast_to(x, (9, 9, *x.shape)) for x in (np.array(2.0), np.array([0.3, -0.4]), two[0])]
    yield case("all actions of one state", *same, spread)


def random_parabola(kind: str, rng: np.random.Generator, front: tuple[int, ...], actions: int, size: float = 1) -> Case:
    """Return a case of parabolas as a network puts them out; size: of their matrices."""
    lower = np.tril(rng.standard_normal((*front, actions, actions)), -1)
    i = np.arange(actions)
    lower[..., i, i] = np.exp(0.5 * rng.standard_normal((*front, actions)))
    mu, u = (rng.uniform(-1, 1, (*front, actions)) for _ in range(2))
    return case(kind, size * size * rng.standard_normal(front), mu, size * lower, u, rtol=1e-9)


@exercise(
    "naf_targets",
    "minitrpo.algorithms.off_policy.naf:naf_targets",
    hints=(
        "1.0 - terminated is 0 where the task ended, 1 elsewhere: a mask to multiply with.",
        "Only the rewards are scaled: V(s') comes from a network that has learned scaled rewards.",
        "reward_scale * rewards + discounts * (1.0 - terminated) * next_value, all of it entry by entry.",
    ),
    mistakes={
        "The mask is missing: where the task ended nothing follows.": lambda r, g, end, v, c: c * r + g * v,
        "The mask is the wrong way round: it counts V where the task ended.": lambda r, g, end, v, c: (
            c * r + g * end * v
        ),
        "The discount is missing.": lambda r, g, end, v, c: c * r + (1.0 - end) * v,
        "The reward is not scaled.": lambda r, g, end, v, c: r + g * (1.0 - end) * v,
        "V is scaled, too: it has learned scaled rewards, and is scaled already.": lambda r, g, end, v, c: (
            c * (r + g * (1.0 - end) * v)
        ),
        "Discount and mask are added to V; they multiply it.": lambda r, g, end, v, c: c * r + (g * (1.0 - end) + v),
        "The reward is discounted: it comes at once.": lambda r, g, end, v, c: g * (c * r + (1.0 - end) * v),
        "Where the task ended the last reward is lost.": lambda r, g, end, v, c: (1.0 - end) * (c * r + g * v),
        "V is taken off: what follows is added.": lambda r, g, end, v, c: c * r - g * (1.0 - end) * v,
        "It divides by the scale.": lambda r, g, end, v, c: r / c + g * (1.0 - end) * v,
        "It scales V instead of the reward.": lambda r, g, end, v, c: r + c * g * (1.0 - end) * v,
        "That is the reward alone: what follows is missing.": lambda r, g, end, v, c: c * r + 0.0 * v,
        "All steps get the first one's discount: each has its own.": lambda r, g, end, v, c: right_targets(
            r, np.ravel(g)[0] + 0.0 * np.asarray(g), end, v, c
        ),
        "A negative V is cut off at 0: Pendulum's are all negative.": lambda r, g, end, v, c: right_targets(
            r, g, end, np.maximum(v, 0.0), c
        ),
    },
)
def naf_targets_cases() -> Iterator[Case]:
    """Yield steps that terminated and that did not, one by one and in minibatches."""
    never, ended = np.zeros(1), np.ones(1)
    for end, kind in ((never, "a step that goes on"), (ended, "a step that terminated")):
        yield case(kind, np.array([2.0]), np.array([0.5]), end, np.array([10.0]), 1.0)
        yield case(kind, np.array([2.0]), np.array([0.5]), end, np.array([10.0]), 0.1)
        yield case(kind, np.array([-2.0]), np.array([0.5]), end, np.array([-10.0]), 0.1)
    mask = np.array([False, True, False, True])
    rewards, values = np.array([1.0, 2.0, 3.0, -4.0]), np.array([10.0, 20.0, -30.0, 40.0])
    several = np.array([0.9, 0.81, 0.729, 0.9])
    for kind_of in (bool, float, np.float32, int):
        yield case("termination as True, as 1 and as 1.0", rewards, several, mask.astype(kind_of), values, 0.5)
    yield case("discounts of several steps", rewards, several, np.zeros(4), values, 0.1)
    whole = rewards.astype(int), np.ones(4, int), mask, values.astype(int)
    yield case("whole numbers", *whole, 1)
    yield case("whole numbers", *whole, 0.5)
    yield case("rewards of 0", rewards * (rewards > 2), several, mask, values, 0.5)
    yield case("no discount at all", rewards, np.zeros(4), mask, values, 2.0)
    yield case("no steps", *(np.zeros(0) for _ in range(4)), 0.1)
    rng = np.random.default_rng(0)
    for shape in ((7,), (4, 5), (1, 1), (3, 3), (2, 128)):
        for scale in (1.0, 0.1, 30.0):
            ends = (rng.random(shape) < 0.3).astype(float)
            discounts = 0.98 ** rng.integers(1, 9, shape)
            paid, following = -5 * rng.random(shape), 30 * rng.standard_normal(shape)
            yield case("minibatches of shards", paid, discounts, ends, following, scale, each=True, atol=1e-12)
    for size in (1e-9, 1e9):
        yield case("very small and very large values", size * paid, discounts, ends, size * following, 0.1)
    half = (x.astype(np.float32) for x in (paid, discounts, ends, following))
    yield case("numbers of single precision", *half, 0.1, rtol=1e-5)
