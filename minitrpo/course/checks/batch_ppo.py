"""Checks of lecture 12: the clip and its slope, the epochs of an update, fragments of many simulators."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.batch_ppo import Ascent
from minitrpo.algorithms.batch_ppo import clipped_objective as right_objective
from minitrpo.algorithms.batch_ppo import objective_slope as right_slope
from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.course.continuous import cuts as right_cuts
from minitrpo.optimisers import adam, initial_state
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


def clipped(r: Array, clip: float) -> Array:
    """Return the ratio, clipped."""
    return np.asarray(np.clip(r, 1 - clip, 1 + clip))


def beyond(r: Array, clip: float) -> Array:
    """Return which ratios are beyond the clip."""
    return (r > 1 + clip) | (r < 1 - clip)


@exercise(
    "clipped_objective",
    "minitrpo.algorithms.batch_ppo:clipped_objective",
    hints=(
        "Two products per step: the ratio times A, and the clipped ratio times A. Then the smaller of the two.",
        "np.clip holds an array between two numbers, np.minimum takes the smaller of two arrays, entry by entry.",
        "Multiply first, compare then: for a negative A the smaller product belongs to the larger ratio.",
    ),
    mistakes={
        "The smaller ratio is not the smaller product: multiply by A first, then compare.": lambda r, a, clip: (
            np.minimum(r, clipped(r, clip)) * a
        ),
        "That is the larger of the two products.": lambda r, a, clip: np.maximum(r * a, clipped(r, clip) * a),
        "It takes the clipped product everywhere, and so forgets mistakes that are to be mended.": lambda r, a, clip: (
            clipped(r, clip) * a
        ),
        "Nothing is clipped.": lambda r, a, clip: r * a,
        "A loss has the opposite sign: this is an objective, to be climbed.": lambda r, a, clip: (
            -right_objective(r, a, clip)
        ),
        "It clips the product: the ratio is what is clipped.": lambda r, a, clip: np.minimum(
            r * a, np.clip(r * a, 1 - clip, 1 + clip)
        ),
        "The clip holds from above only.": lambda r, a, clip: np.minimum(r * a, np.minimum(r, 1 + clip) * a),
        "The clip holds from below only.": lambda r, a, clip: np.minimum(r * a, np.maximum(r, 1 - clip) * a),
        "It clips to -clip and clip, and a ratio is near 1.": lambda r, a, clip: np.minimum(
            r * a, np.clip(r, -clip, clip) * a
        ),
        "The lower border is 1 - clip, not 1 / (1 + clip).": lambda r, a, clip: np.minimum(
            r * a, np.clip(r, 1 / (1 + clip), 1 + clip) * a
        ),
        "The advantages lost their sign.": lambda r, a, clip: right_objective(r, np.abs(a), clip),
        "Beyond the clip it is 0: it should stay at its value on the border.": lambda r, a, clip: np.where(
            beyond(r, clip), 0.0, r * a
        ),
        "The ratio is given: it is not a logarithm.": lambda r, a, clip: right_objective(np.exp(r), a, clip),
        "That is the mean over the steps: one number per step is wanted.": lambda r, a, clip: np.mean(
            right_objective(r, a, clip)
        ),
    },
)
def clipped_objective_cases() -> Iterator[Case]:
    """Yield the four corners, the inside, borders, and ratios of every size."""
    yield from steps_of_a_batch()
    for ratio in (0.75, 1.25, 0.5, 1.5):
        for clip in (0.25, 0.5):
            yield case("a ratio on the border", np.array([ratio, ratio]), np.array([2.0, -2.0]), clip)


def objective_at(slope: Any) -> Candidate:
    """Return slopes that are slope(r, a, where r is too large, where it is too small)."""
    return lambda r, a, clip: np.asarray(slope(r, a, r > 1 + clip, r < 1 - clip))


@exercise(
    "objective_slope",
    "minitrpo.algorithms.batch_ppo:objective_slope",
    hints=(
        "Where the first of the two products is the smaller one, the slope is that of ratio A; where the clipped one "
        "is, it does not depend on theta: slope 0.",
        "The slope is wanted in log pi, and ratio = exp(log pi - log pi_old): so d ratio / d log pi = ratio.",
        "It is 0 for A > 0 with ratio > 1 + clip, and for A < 0 with ratio < 1 - clip; everywhere else ratio A.",
    ),
    mistakes={
        "That is the slope in the ratio: in log pi it has another factor.": lambda r, a, clip: np.where(
            right_slope(r, a, clip) == 0, 0.0, a
        ),
        "It leaves all four corners alone: two of them are mistakes to be mended.": objective_at(
            lambda r, a, high, low: np.where(high | low, 0.0, r * a)
        ),
        "It leaves the wrong two corners alone.": objective_at(
            lambda r, a, high, low: np.where((a > 0) & low | (a < 0) & high, 0.0, r * a)
        ),
        "The clip has no effect.": lambda r, a, clip: r * a,
        "A good action that is likelier by the clip already should be left alone.": objective_at(
            lambda r, a, high, low: np.where((a < 0) & low, 0.0, r * a)
        ),
        "A bad action that is rarer by the clip already should be left alone.": objective_at(
            lambda r, a, high, low: np.where((a > 0) & high, 0.0, r * a)
        ),
        "Large ratios are left alone whatever the advantage is.": objective_at(
            lambda r, a, high, low: np.where(high | (a < 0) & low, 0.0, r * a)
        ),
        "Small ratios are left alone whatever the advantage is.": objective_at(
            lambda r, a, high, low: np.where((a > 0) & high | low, 0.0, r * a)
        ),
        "Large ratios are left alone for either sign, and small ones for none.": objective_at(
            lambda r, a, high, low: np.where(high, 0.0, r * a)
        ),
        "It takes the clipped ratio times A: a clipped ratio does not change with theta at all.": lambda r, a, clip: (
            clipped(r, clip) * a
        ),
        "That is the objective, not its slope.": right_objective,
        "Downhill: a loss has the opposite sign.": lambda r, a, clip: -right_slope(r, a, clip),
        "It divides by the number of steps: one slope per step is wanted.": lambda r, a, clip: (
            right_slope(r, a, clip) / len(r)
        ),
        "The advantages lost their sign.": lambda r, a, clip: np.abs(right_slope(r, a, clip)),
        "On the border itself the slope is still ratio A.": lambda r, a, clip: np.where(
            (a > 0) & (r >= 1 + clip) | (a < 0) & (r <= 1 - clip), 0.0, r * a
        ),
    },
)
def objective_slope_cases() -> Iterator[Case]:
    """Yield the four corners, the inside, borders, and ratios of every size."""
    yield from steps_of_a_batch()
    for sign, ratio, clip in ((1.0, 1.25, 0.25), (-1.0, 0.75, 0.25), (1.0, 1.5, 0.5), (-1.0, 0.5, 0.5)):
        near = ratio * (1 + np.array([-1e-12, 0.0, 1e-12]))
        yield case("on, above and below the border", near, np.full(3, 3.0 * sign), clip, each=True)


def steps_of_a_batch() -> Iterator[Case]:
    """Yield ratios, advantages and a clip: what both functions get."""
    for clip, ratio, advantage in product((0.2, 0.1), (1.3, 0.7), (2.0, -2.0)):
        yield case("the four corners", np.array([ratio]), np.array([advantage]), clip)
    for ratio, advantage in product((1.1, 0.9, 1.0), (2.0, -2.0, 0.0)):
        yield case("ratios within the clip", np.array([ratio]), np.array([advantage]), 0.2)
    four, signs = np.array([1.3, 0.7, 1.3, 0.7]), np.array([2.0, 2.0, -2.0, -2.0])
    yield case("all corners at once", four, signs, 0.2)
    yield case("integer advantages", four, np.array([3, 1, -2, -4]), 0.2)
    yield case("advantages of 0", four, np.zeros(4), 0.2)
    rng = np.random.default_rng(0)
    for clip in (0.05, 0.1, 0.2, 0.5, 0.9):
        for n in (1, 2, 7, 64):
            ratios, advantages = np.exp(0.5 * rng.standard_normal(n)), rng.standard_normal(n)
            yield case("ratios and advantages at random", ratios, advantages, clip, each=True)
            yield case("advantages that are all positive", ratios, np.abs(advantages), clip, each=True)
            yield case("advantages that are all negative", ratios, -np.abs(advantages), clip, each=True)
    ratios, advantages = np.exp(0.5 * rng.standard_normal(9)), rng.standard_normal(9)
    yield case("a clip beyond 1", ratios * 2, advantages, 1.5, each=True)
    yield case("a clip that no ratio reaches", ratios, advantages, 1e6, each=True)
    yield case("no clip, which is one of inf", ratios, np.where(np.arange(9) == 4, 0.0, advantages), np.inf, each=True)
    yield case("whole ratios", np.array([1, 2, 0, 3]), np.array([0.5, 1.25, -0.5, -0.75]), 0.2, each=True)
    wide = np.array([1e-9, 1e-3, 1e3, 1e9, 1e-9, 1e-3, 1e3, 1e9])
    both = np.repeat([1.0, -1.0], 4)
    for size in (1e-9, 1.0, 1e9):
        yield case("ratios and advantages of every size", wide, size * both, 0.2, each=True)
    ratios, advantages = np.exp(0.3 * rng.standard_normal(20_000)), rng.standard_normal(20_000)
    yield case("20,000 steps", ratios, advantages, 0.2, each=True)
    half = ratios.astype(np.float32), advantages.astype(np.float32)
    yield case("numbers of single precision", *(x[:64] for x in half), 0.5, rtol=1e-5)


CLIMB = "minitrpo.course.climb:climb"
OLD, ORDER = "LogProbability(policy, theta, observations, actions).log_prob", "for _ in range(epochs):"
SHUFFLED = "np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size))"
DRAWN = "rng.permutation(len(advantages))"
ROWS, STEP = "for rows in order:", "theta = theta + step"
RATIO, MEAN = "now.log_prob - old_log_prob[rows]", "advantages[rows], clip) / size"
CLIMB_SLIPS = {
    "log pi_old is taken anew in every epoch: it belongs to the policy that played.": (
        ORDER, f"{ORDER}\n        old_log_prob = {OLD}"),
    "log pi_old is taken anew for every minibatch, so that every ratio is 1.": (RATIO, "now.log_prob - now.log_prob"),
    "The ratio is upside down: pi_theta / pi_old.": (RATIO, "old_log_prob[rows] - now.log_prob"),
    "That is the logarithm of the ratio.": (f"np.exp({RATIO})", RATIO),
    "All epochs have one and the same order: shuffle in each.": (
        DRAWN, "dealt", ORDER, f"dealt = {DRAWN}\n    {ORDER}"),
    "Nothing is shuffled.": (DRAWN, "np.arange(len(advantages))"),
    "Rows are drawn with replacement: in an epoch each comes once.": (
        DRAWN, "rng.integers(len(advantages), size=len(advantages))"),
    "The rows behind the last full minibatch are dropped.": (
        SHUFFLED, "rng.permutation(len(advantages))[: len(advantages) // size * size].reshape(-1, size)"),
    "The last minibatch is shorter: it is to be filled up with the first rows of the order.": (
        SHUFFLED, f"np.split({DRAWN}, np.arange(size, len(advantages), size))",
        MEAN, MEAN.replace("size", "len(rows)")),
    "Minibatches overlap: each begins where the one before ended.": (
        SHUFFLED, "np.stack([np.roll(p, -i)[:size] for p in [rng.permutation(len(advantages))]"
        " for i in range(0, len(p), max(size // 2, 1))])"),
    "Only the first minibatch of each epoch is used.": (ROWS, "for rows in order[:1]:"),
    "There is one epoch only.": (ORDER, "for _ in range(min(epochs, 1)):"),
    "There is one epoch too many.": (ORDER, "for _ in range(epochs + 1):"),
    "Gradients of an epoch are averaged for one step: each minibatch takes a step of its own.": (
        ORDER, f"{ORDER}\n        start, found = theta, []",
        "memory, step = adam(memory, gradient, step_size)", "found.append(gradient)",
        STEP, "pass\n        memory, step = adam(memory, np.mean(found, axis=0), step_size)\n"
        "        theta = start + step"),
    "Every minibatch's gradient is taken where the epoch began, not where the last step led.": (
        ORDER, f"{ORDER}\n        start = theta", "LogProbability(policy, theta, observations[rows], actions[rows])",
        "LogProbability(policy, start, observations[rows], actions[rows])"),
    "Adam's memory is lost between steps.": ("memory, step = adam(", "_, step = adam("),
    "Adam begins again in every epoch: its memory is to be kept.": (
        ORDER, f"given = memory\n    {ORDER}\n        memory = given"),
    "Downhill: this is an objective, to be climbed.": (STEP, "theta = theta - step"),
    "The gradient itself is the step: Adam has no say.": (STEP, "theta = theta + step_size * gradient"),
    "That is the sum over the minibatch: its mean is wanted.": (MEAN, "advantages[rows], clip)"),
    "It divides by all steps of the batch, not by those of the minibatch.": (
        MEAN, "advantages[rows], clip) / len(advantages)"),
    "Nothing is clipped.": (MEAN, "advantages[rows], np.inf) / size"),
    "The advantages are not those of the minibatch's rows.": (MEAN, "advantages[: len(rows)], clip) / size"),
    "log pi_old is not that of the minibatch's rows.": (RATIO, "now.log_prob - old_log_prob[: len(rows)]"),
    "The advantages are standardised again: they are to be taken as they are.": (
        ORDER, "advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)\n    " + ORDER),
}  # fmt: skip


@exercise(
    "climb",
    CLIMB,
    hints=(
        "Two loops, one in the other. Ask of each line: once in all, once an epoch, or once a minibatch? Only the old "
        "log probabilities are taken once in all, only the shuffle once an epoch.",
        "np.resize(order, (count, size)) cuts an order into rows of `size`, and begins again where it ends; count is N "
        "/ size, rounded up: -(-N // size).",
        "now = LogProbability(policy, theta, observations[rows], actions[rows]) has now.log_prob, and "
        "now.weighted_gradient(w) for weights w of these rows: here the slopes, divided by their number.",
    ),
    mistakes=edits(CLIMB, CLIMB_SLIPS),
)
def climb_cases() -> Iterator[Case]:
    """Yield one minibatch and many, with a rest and without, both kinds of policies; and the package's own update."""
    gaussian, buttons = GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 3, (4,))
    for policy in (gaussian, buttons):
        yield climb_case("one epoch of one minibatch", policy, 6, epochs=1, size=6)
        yield climb_case("a second epoch", policy, 6, epochs=2, size=6)
        yield climb_case("two minibatches", policy, 8, epochs=1, size=4)
        yield climb_case("three epochs of four minibatches", policy, 16, epochs=3, size=4)
        yield climb_case("a last minibatch that is too short", policy, 11, epochs=2, size=4)
        yield climb_case("a rest of one step", policy, 9, epochs=2, size=4)
        yield climb_case("minibatches of one step", policy, 5, epochs=2, size=1)
        yield climb_case("steps that reach the clip", policy, 32, epochs=6, size=8, step_size=0.05)
        yield climb_case("no clip", policy, 32, np.inf, epochs=4, size=8, step_size=0.05)
        yield climb_case("a narrow clip", policy, 32, 0.02, epochs=4, size=8, step_size=0.02)
        yield climb_case("no epoch", policy, 6, epochs=0, size=3)
    for number in range(6):
        size = (4, 5, 16, 20, 64, 100)[number]
        yield climb_case("as many steps as a batch has", gaussian, 100, epochs=3, size=size, seed=number)
    yield tried("beside the package's own update", beside_the_package, 1e-6)


def climb_case(
    kind: str, policy: Policy, n: int, clip: float = 0.2, epochs: int = 10, size: int = 64, step_size: float = 0.01,
    seed: int = 0,
) -> Case:  # fmt: skip
    """Return a case of n steps that the policy has played at random, with an Adam that has a past."""
    theta, memory, batch = played(policy, n, seed)
    shown = f"N = {n}, clip = {clip:g}, epochs = {epochs}, size = {size}, step_size = {step_size:g}"
    arguments = (policy, theta, memory, batch, clip, np.random.default_rng(seed), epochs, size, step_size)
    return Case(kind, arguments, {}, 1e-7, 1e-12, shown=shown)


def played(policy: Policy, n: int, seed: int) -> tuple[Array, dict[str, Array], tuple[Array, Array, Array]]:
    """Return theta, the memory of an Adam that has taken a few steps, and a batch of n steps."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng) + 0.3 * rng.standard_normal(len(policy.initialise(rng)))
    memory = initial_state("adam", len(theta))
    for _ in range(3):
        memory, _ = adam(memory, 0.1 * rng.standard_normal(len(theta)), 0.01)
    observations = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, n))
    return theta, memory, (observations, actions, 0.3 + rng.standard_normal(n))


def beside_the_package(candidate: Candidate) -> Any:
    """Return the theta of a climb, which has to be that of the package's own update without its further details."""
    policy = GaussianPolicy(4, 2, (8,))
    theta, _, batch = played(policy, 150, 7)
    ascent = Ascent(4, 32, 0.2, 0.01, max_gradient_norm=np.inf, standardise="none")
    samples = dict(zip(("observations", "actions", "advantages"), batch, strict=True))
    ours, _, _ = ascent.climb(policy, theta, initial_state("adam", len(theta)), samples, np.random.default_rng(7))
    memory, rng = initial_state("adam", len(theta)), np.random.default_rng(7)
    found, _ = candidate(policy, theta, memory, batch, 0.2, rng, 4, 32, 0.01)
    # the package's Adam adds 1e-5 to its roots, not 1e-8
    need(np.abs(found - ours).max() < 0.05 * np.abs(ours - theta).max(), "it ends far from the package's own update")
    return found


def rebuilt(rows: Any) -> Candidate:
    """Return fragments that are rows(simulator, first, stop, T, N) of each right one; those that are None are lost."""

    def fragments(ended: Array) -> Array:
        found = (rows(*row, *ended.shape) for row in right_cuts(ended).tolist())
        return np.array([row for row in found if row is not None], dtype=int).reshape(-1, 3)

    return fragments


def with_empty_ones(ended: Array) -> Array:
    """Return fragments with an empty one behind every end at the last step."""
    rows = right_cuts(ended)
    empty = [[n, len(ended), len(ended)] for n in np.flatnonzero(ended[-1])]
    rows = np.concatenate([rows, np.array(empty, dtype=int).reshape(-1, 3)])
    return np.asarray(rows[np.lexsort((rows[:, 1], rows[:, 0]))])


@exercise(
    "cuts",
    "minitrpo.course.continuous:cuts",
    hints=(
        "Take one simulator: np.flatnonzero of its column gives the steps with which episodes ended. A fragment stops "
        "one step behind.",
        "The last fragment stops behind the last step, whether an episode ended there or not; but never twice.",
        "Each fragment begins where the one before it stopped, the first at step 0: stops = [3, 8] gives the rows "
        "(n, 0, 3) and (n, 3, 8).",
    ),
    mistakes={
        "The steps behind a simulator's last end are lost: their episode goes on, and they are a fragment, too.": (
            lambda ended: np.array([r for r in right_cuts(ended).tolist() if ended[r[2] - 1, r[0]]], int).reshape(-1, 3)
        ),
        "There is an empty fragment where an episode ends with the very last step.": with_empty_ones,
        "The third number is the step after the last, as in a slice, not the last step.": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first, stop - 1)
        ),
        "The third number is where the fragment stops, not how long it is.": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first, stop - first)
        ),
        "The ends are ignored: an episode's border is a border.": lambda ended: np.array(
            [(n, 0, len(ended)) for n in range(ended.shape[1])]
        ),
        "Time and simulator are exchanged: ended has a row per step and a column per simulator.": lambda ended: (
            right_cuts(ended.T)
        ),
        "A fragment begins one step too early: the step with which an episode ended belongs to the one before.": (
            rebuilt(lambda n, first, stop, steps, simulators: (n, max(first - 1, 0), stop))
        ),
        "It is cut before the step with which the episode ended, not behind it.": lambda ended: right_cuts(
            np.concatenate([ended[1:], np.zeros_like(ended[:1])])
        ),
        "Steps are counted through all simulators: each has its own steps 0, 1, 2, ...": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first + n * steps, stop + n * steps)
        ),
        "The order is that of the ends in time; simulator by simulator is wanted.": lambda ended: right_cuts(ended)[
            np.argsort(right_cuts(ended)[:, 2], kind="stable")
        ],
        "The columns are in another order: simulator, first step, step after the last.": lambda ended: right_cuts(
            ended
        )[:, [1, 2, 0]],
        "Fragments of a single step are lost.": rebuilt(
            lambda n, first, stop, steps, simulators: (n, first, stop) if stop - first > 1 else None
        ),
    },
)
def cuts_cases() -> Iterator[Case]:
    """Yield ends by hand and at random, many simulators and long segments."""
    three = np.array([[False], [True], [False]])
    yield case("an end in the middle", three)
    yield case("no end", np.zeros((3, 1), bool))
    yield case("an end at the last step", np.array([[False], [False], [True]]))
    yield case("an end at the first step", np.array([[True], [False], [False]]))
    yield case("ends at every step", np.ones((3, 1), bool))
    yield case("two ends in a row", np.array([[False], [True], [True], [False]]))
    yield case("two simulators", np.array([[False, True], [True, False], [False, False]]))
    yield case("two simulators, one without an end", np.array([[False, False], [True, False], [False, False]]))
    yield case("two simulators that end together", np.array([[False, False], [False, False], [True, True]]))
    yield case("a single step", np.array([[True, False, True]]))
    yield case("as many steps as simulators", np.eye(3, dtype=bool))
    rng = np.random.default_rng(0)
    for steps, simulators in ((4, 3), (3, 4), (7, 1), (1, 7), (5, 5), (12, 2)):
        for often in (0.1, 0.4, 0.9):
            yield case("ends at random", rng.random((steps, simulators)) < often)
    at_200 = np.arange(1, 2049)[:, None] % 200 == 0
    yield case("2,048 steps of one simulator", at_200)
    yield case("128 steps of 16 simulators", rng.random((128, 16)) < 0.03)
    yield case("8 steps of 256 simulators", rng.random((8, 256)) < 0.05)
    for steps, simulators in ((0, 1), (0, 3), (3, 0), (0, 0)):
        yield case("no steps, or no simulators", np.zeros((steps, simulators), bool))
