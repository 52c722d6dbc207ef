"""Checks of lecture 12: the clip and its slope, the epochs of an update, fragments of many simulators."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from minitrpo.course.checks.framework.differential import Candidate, Case, case, need, remark
from minitrpo.course.checks.framework.kinds import steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.optimisers import initial_state
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


@exercise(
    "minitrpo.algorithms.batch_ppo:clipped_objective",
    r"""
        ? Two products per step: the ratio times A, and the clipped ratio times A. Then the smaller of the two.
        ? np.clip holds an array between two numbers, np.minimum takes the smaller of two arrays, entry by entry.
        ? Multiply first, compare then: for a negative A the smaller product belongs to the larger ratio.
        return np.minimum(ratio, np.clip(ratio, 1 - clip, 1 + clip)) * advantages :: takes the smaller ratio, then \
            multiplies by A :: multiply both ratios by A, then take the smaller product
        np.minimum => np.maximum :: takes the larger of the two products :: take the smaller
        return np.clip(ratio, 1 - clip, 1 + clip) * advantages :: clips everywhere :: take ratio A where that is smaller
        return ratio * advantages :: clips nothing :: take the clipped ratio times A where that is smaller
        1 - clip, 1 + clip => None, 1 + clip :: clips from above alone :: hold the ratio above 1 - clip, too
        1 - clip => 1 / (1 + clip) :: clips to 1 / (1 + clip) from below :: clip to 1 - clip
        return right(ratio, np.abs(advantages), clip) :: loses the sign of A :: keep it
    """,
    lecture="12",
)
def _clipped_objective() -> Iterator[Case]:
    yield from ratios()


@exercise(
    "minitrpo.algorithms.batch_ppo:objective_slope",
    r"""
        ? Where the first of the two products is the smaller one, the slope is that of ratio A; where the clipped one \
            is, it does not depend on theta: slope 0.
        ? The slope is wanted in log pi, and ratio = exp(log pi - log pi_old): so d ratio / d log pi = ratio.
        ? It is 0 for A > 0 with ratio > 1 + clip, and for A < 0 with ratio < 1 - clip; everywhere else ratio A.
        return slope => return slope / ratio :: is the slope in the ratio :: be that in log pi, ratio times as large
        return np.where(np.abs(ratio - 1) > clip, 0, ratio * advantages) :: is 0 in all four corners :: be 0 in two
        return np.where((ratio - 1) * np.sign(advantages) < -clip, 0, ratio * advantages) :: is 0 in the two corners \
            where the policy went the wrong way :: be 0 in the other two
        return ratio * advantages :: is ratio A in all four corners :: be 0 in two, where the policy went far enough
        return np.where((advantages > 0) & (ratio > 1 + clip), 0, ratio * advantages) :: pushes a bad action that is \
            rarer by the clip already :: leave it alone
        return np.where(ratio > 1 + clip, 0, ratio * advantages) :: goes by the ratio alone :: ask for the sign of A
        return np.clip(ratio, 1 - clip, 1 + clip) * advantages :: is the clipped ratio times A :: be 0 where that counts
        return clipped_objective(ratio, advantages, clip) :: is the objective :: be its slope
        return np.where((ratio - 1) * np.sign(advantages) >= clip, 0, ratio * advantages) :: is 0 on the border itself \
            :: be ratio A there
    """,
    lecture="12",
)
def _objective_slope() -> Iterator[Case]:
    yield from ratios()
    for sign, border, clip in ((1.0, 1.25, 0.25), (-1.0, 0.75, 0.25), (1.0, 1.5, 0.5), (-1.0, 0.5, 0.5)):
        near = border * (1 + np.array([-1e-9, 0.0, 1e-9]))
        yield case("below, on and above the border", near, np.full(3, 3.0 * sign), clip, each=True)


def ratios() -> Iterator[Case]:
    """Yield ratios, advantages and a clip: what both functions get."""
    for clip, ratio, advantage in product((0.2, 0.1), (1.3, 0.7), (2.0, -2.0)):
        yield case("the four corners", np.array([ratio]), np.array([advantage]), clip)
    for ratio, advantage in product((1.1, 0.9, 1.0), (2.0, -2.0, 0.0)):
        yield case("ratios within the clip", np.array([ratio]), np.array([advantage]), 0.2)
    rng = np.random.default_rng(0)
    for clip, n in product((0.05, 0.2, 0.5, 0.9, np.inf), (2, 7, 64)):
        some, advantages = np.exp(0.5 * rng.standard_normal(n)), rng.standard_normal(n)
        yield case("ratios and advantages at random", some, advantages, clip, each=True)
    some, signs = np.tile([1e-9, 1e-3, 1e3, 1e9], 2), np.repeat([1.0, -1.0], 4)
    for size in (1e-9, 1.0, 1e9):
        yield case("ratios and advantages of every size", some, size * signs, 0.2, each=True)
    corners = np.array([1.3, 0.7, 1.3, 0.7])
    yield remark(case("whole numbers as advantages", corners, np.array([3, 1, -2, -4]), 0.2))


@exercise(
    "minitrpo.course.climb:climb",
    r"""
        ? Two loops, one in the other. Ask of each line: once in all, once an epoch, or once a minibatch? Only the old \
            log probabilities are taken once in all, only the shuffle once an epoch.
        ? np.resize(order, (count, size)) cuts an order into rows of `size`, and begins again where it ends; count \
            is N \
            / size, rounded up: -(-N // size).
        ? now = LogProbability(policy, theta, observations[rows], actions[rows]) has now.log_prob, and \
            now.weighted_gradient(w) for weights w of these rows: here the slopes, divided by their number.
        for _ in range(epochs): => $\n        old_log_prob = LogProbability(policy, theta, observations, \
            actions).log_prob :: takes log pi_old anew in every epoch :: take it once, of the policy that played
        - old_log_prob[rows] => - now.log_prob :: climbs as if every ratio were 1 :: divide today's probabilities \
            by those of the policy that played, taken once in all, and give this ratio to objective_slope
        np.exp => 1 / np.exp :: has the ratio upside down :: divide today's probability by the old one
        order = np.resize => order = order if _ else np.resize :: has one order for all epochs :: shuffle in each
        rng.permutation(len(advantages)) => np.arange(len(advantages)) :: shuffles nothing :: shuffle in each epoch
        -(-len(advantages) // size) => len(advantages) // size :: drops a short last minibatch :: fill it up
        in order: => in np.split(order.ravel()[:len(advantages)], range(size, len(advantages), size)): \
            && clip) / size => clip) / len(rows) :: has a shorter last minibatch :: fill it up
        for rows in order: => for rows in order[:1]: :: uses the first minibatch of an epoch alone :: use all of them
        for _ in range(epochs): => $\n        start = theta && theta, observations[rows] => start, observations[rows] \
            :: takes every gradient where the epoch began :: take it where the last step led
        memory, step = adam( => _, step = adam( :: loses Adam's memory between steps :: hand it on
        order = np.resize => memory = given\n        $ && = batch => = batch\n    given = memory :: begins every epoch \
            with the memory that was given :: hand Adam's memory on
        theta + step => theta + step_size * gradient :: steps along the gradient itself :: let Adam choose the step
        clip) / size => clip) :: takes the sum over the minibatch :: take its mean
        clip) / size => clip) / len(advantages) :: divides by all steps of the batch :: divide by the minibatch's
    """,
    lecture="12",
)
def _climb() -> Iterator[Case]:
    gaussian, buttons = GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 3, (4,))
    for policy in (gaussian, buttons):
        yield climbed("one epoch of one minibatch", policy, 6, epochs=1, size=6)
        yield climbed("a second epoch", policy, 6, epochs=2, size=6)
        yield climbed("two minibatches", policy, 8, epochs=1, size=4)
        yield climbed("a last minibatch that is too short", policy, 11, epochs=2, size=4)
        yield climbed("steps that reach the clip", policy, 32, 6, 8, clip=0.1, far=0.05)
        yield climbed("no clip", policy, 32, 4, 8, clip=np.inf, far=0.05)
    yield climbed("a hundred steps, and settings by default", gaussian, 100, 10, 64, far=0.001, given=False)


def climbed(
    kind: str, policy: Policy, n: int, epochs: int, size: int, clip: float = 0.2, far: float = 0.01, given: bool = True
) -> Case:
    """Return a case that compares theta after a climb by steps of size `far`, and after a second with its memory.

    The memory itself is not compared: an answer with gradients of a loss has one of the other sign.
    """
    begin, *played = steps(policy, n, n)
    batch = (*played, 0.3 + np.random.default_rng(n).standard_normal(n))

    def run(f: Candidate) -> dict[str, Array]:
        theta, memory, rng, found = begin, initial_state("adam", len(begin)), np.random.default_rng(n), {}
        for which in ("theta", "theta of a second climb, with the memory of the first"):
            result = f(policy, theta, memory, batch, clip, rng, *((epochs, size, far) if given else ()))
            need(isinstance(result, tuple | list) and len(result) == 2, "it does not return theta and Adam's memory")
            found[which], memory = theta, memory = result
        return found

    shown = f"N = {n}, clip = {clip:g}, epochs = {epochs}, size = {size}, step_size = {far:g}"
    return Case(kind, run, 1e-7, 1e-12, shown=shown)


@exercise(
    "minitrpo.course.continuous:cuts",
    r"""
        ? Take one simulator: np.flatnonzero of its column gives the steps with which episodes ended. A fragment stops \
            one step behind.
        ? The last fragment stops behind the last step, whether an episode ended there or not; but never twice.
        ? Each fragment begins where the one before it stopped, the first at step 0: stops = [3, 8] gives the rows \
            (n, 0, 3) and (n, 3, 8).
        stops[-1:] = True => pass :: loses the steps behind a simulator's last end :: make a fragment of them, too
        ended.copy() => np.vstack([ended, ended[:1]]) && last + 1] => np.minimum(last + 1, len(ended))] :: has an \
            empty fragment where an episode ends with the last step of all :: have none
        first, last + 1] => first, last] :: gives the last step third :: give the step after it, as in a slice
        first, last + 1] => first, last + 1 - first] :: gives the length third :: give the step after the last
        first, last => np.maximum(first - 1, 0), last :: begins fragments a step too early :: begin them behind the end
        ended.copy() => np.vstack([ended[1:], ended[:1]]) :: cuts before the step that ends an episode :: cut behind it
        rows = right(ended)\n    return rows[np.argsort(rows[:, 2], kind='stable')] :: is in order of the ends in time \
            :: go simulator by simulator
    """,
    lecture="12",
)
def _cuts() -> Iterator[Case]:
    yield case("an end in the middle", np.array([[False], [True], [False]]))
    yield case("no end", np.zeros((3, 1), bool))
    yield case("an end at the last step", np.array([[False], [False], [True]]))
    yield case("two simulators", np.array([[False, True], [True, False], [False, False]]))
    rng = np.random.default_rng(0)
    for shape, often in product(((1, 3), (4, 3), (3, 4), (7, 1), (5, 5), (8, 256), (512, 1)), (0.1, 0.4, 0.9)):
        yield case("ends at random", rng.random(shape) < often)
    yield case("no steps", np.zeros((0, 2), bool))
