"""Checks of lectures 13a and 13b: updates that are due, and a Q whose best action is read off."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.register import exercise


@exercise(
    "minitrpo.experience.replay_buffer:updates_due",
    r"""
        ? Only steps after the warm-up count: steps - warm_up of them, or none.
        ? int(x) rounds a positive x down. Round the whole product, not the number of steps.
        ? max(0, owed - done), where owed = int(ratio * max(0, steps - warm_up)).
        max(0, steps - warm_up) => steps :: counts the steps of the warm-up, too :: count those after it
        max(0, steps - warm_up) => steps * (steps > warm_up) :: counts the warm-up in once it is over :: leave it out
        owed - done => owed :: makes the updates again that were made already :: take `done` off
        max(0, owed - done) => owed - done :: is negative where more were made than are owed :: be 0 there
        int(ratio => round(ratio :: is rounded to the nearest whole number :: be rounded down
        int(ratio => -int(-ratio && warm_up)) => warm_up) // 1) :: is rounded up :: be rounded down
        ratio * max(0, steps - warm_up) => max(0, steps - warm_up) / ratio :: divides by the ratio :: multiply by it
        max(0, steps - warm_up)) => steps) - warm_up :: takes the warm-up off the updates :: take it off the steps
        ratio * max => int(ratio) * max :: rounds the ratio down :: round what all steps are worth
    """,
    lecture="13a",
)
def _updates_due() -> Iterator[Case]:
    yield case("a ratio of 1", 30, 10, 1.0, 0)
    yield case("during the warm-up", 7, 10, 1.0, 0)
    yield case("a ratio below 1", 33, 10, 0.25, 3)
    yield case("a ratio above 1", 30, 10, 4.0, 60)
    yield case("more were made than are owed", 30, 10, 0.5, 14)
    for steps in range(100, 113):
        yield case("step by step", steps, 100, 0.25, (steps - 100) // 8)
    for ratio, done in product((0.0625, 0.3, 0.7, 1.5, 2.3, 64.0), (0, 1, 5)):
        yield case("ratios of all sizes", 1017, 1000, ratio, done)
    yield case("a long run", 33_554_435, 0, 1.0, 33_554_400)
    for steps, ratio in ((9_999, 0.0005), (9_996, 0.001), (9_999, 0.1)):
        yield case("just below a whole number", steps, 0, ratio, 0)
    yield remark(case("billions of updates", 2**27, 0, 32.0, 2**32 - 5))


@exercise(
    "minitrpo.algorithms.off_policy.naf:naf_q",
    r"""
        ? z_j is the sum over i of lower[..., i, j] * (u - mu)[..., i]: the first index of lower is summed over.
        ? np.einsum("...ij,...i->...j", lower, u - mu) does that for any number of axes in front.
        ? Then value - 0.5 * np.sum(z * z, axis=-1).
        ...ij,...i->...j => ...ij,...j->...i :: takes L(u - mu) :: sum over the first index of `lower`: L'(u - mu)
        0.5 *  =>  :: takes z'z whole :: take half of it
        np.sum(z * z, axis=-1) => np.sqrt($) :: takes the length of z, a cone :: take its square
        z * z => (u - mu) * z :: takes L for the matrix M :: take L L'
        ...ij,...i->...j => ...ii,...i->...i :: uses the diagonal of L alone :: use all of it
        np.einsum('...ij,...i->...j', lower, u - mu) => u - mu :: leaves L out :: multiply by it
        u - mu => u :: leaves mu out, so that the top lies at 0 :: have its top at mu
        np.sum => np.mean :: averages the squares :: add them up
        z * z, axis=-1) => z, axis=-1) ** 2 :: squares the sum :: sum the squares
    """,
    lecture="13b",
)
def _naf_q() -> Iterator[Case]:
    yield case("one torque", np.array([1.0]), np.array([[0.5]]), np.array([[[2.0]]]), np.array([[1.0]]))
    two = np.array([[[2.0, 0.0], [1.0, 3.0]]])
    for u in ([1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]):
        yield case("two torques", np.array([4.0]), np.zeros((1, 2)), two, np.array([u]))
    rng = np.random.default_rng(0)
    for front, actions in product(((5,), (2, 3), (3, 3)), (1, 2, 3, 7)):
        yield case("many states and torques", *parabola(rng, front, actions))
    value, mu, lower, u = parabola(rng, (8,), 2)
    for size in (1e-6, 1e6):
        yield case("flat and steep parabolas", size**2 * value, mu, size * lower, u)
    yield case("some actions that are the best", value, mu, lower, np.where(np.arange(8)[:, None] % 3, u, mu))
    yield case("actions far beyond the best", value, mu, lower, 10 * u)
    yield remark(case("actions very close to the best", value, mu, 1e7 * lower, mu + 1e-7 * u))
    whole = np.array([4]), np.array([[1, 0]]), np.array([[[2, 0], [1, 2]]]), np.array([[0, 1]])
    yield remark(case("whole numbers", *whole))


def parabola(rng: np.random.Generator, front: tuple[int, ...], actions: int) -> list[Any]:
    """Return V, mu, L and actions as a network puts them out."""
    lower = np.tril(rng.standard_normal((*front, actions, actions)), -1)
    i = np.arange(actions)
    lower[..., i, i] = np.exp(0.5 * rng.standard_normal((*front, actions)))
    mu, u = (rng.uniform(-1, 1, (*front, actions)) for _ in range(2))
    return [rng.standard_normal(front), mu, lower, u]


@exercise(
    "minitrpo.algorithms.off_policy.naf:naf_targets",
    r"""
        ? 1.0 - terminated is 0 where the task ended, 1 elsewhere: a mask to multiply with.
        ? Only the rewards are scaled: V(s') comes from a network that has learned scaled rewards.
        ? reward_scale * rewards + discounts * (1.0 - terminated) * next_value, all of it entry by entry.
        * (1.0 - terminated) =>  :: counts V where the task ended, too :: count nothing after the reward there
        discounts * =>  :: leaves the discount out :: multiply V by it
        reward_scale * =>  :: does not scale the reward :: multiply it by reward_scale
        discounts * => reward_scale * discounts * :: scales V, too :: scale the reward alone: V has learned scaled ones
        (reward_scale * => (discounts * reward_scale * :: discounts the reward, too :: discount V alone
        (reward_scale * => ((1.0 - terminated) * reward_scale * :: loses the last reward where the task ended :: keep it
        discounts * => discounts[0] * :: takes the first step's discount for all :: take each step's own
    """,
    lecture="13b",
)
def _naf_targets() -> Iterator[Case]:
    for end, kind in ((0.0, "a step that goes on"), (1.0, "a step that terminated")):
        for reward, value, scale in ((2.0, 10.0, 1.0), (2.0, 10.0, 0.1), (-2.0, -10.0, 0.1)):
            given = (np.array([x]) for x in (reward, 0.5, end, value))
            yield case(kind, *given, scale)
    mask, several = np.array([False, True, False, True]), np.array([0.9, 0.81, 0.729, 0.9])
    rewards, values = np.array([1.0, 2.0, 3.0, -4.0]), np.array([10.0, 20.0, -30.0, 40.0])
    yield case("termination as True", rewards, several, mask, values, 0.5)
    yield case("rewards of 0", rewards * (rewards > 2), several, mask, values, 0.5)
    rng = np.random.default_rng(0)
    for size, scale in ((1.0, 1.0), (1.0, 0.1), (1.0, 30.0), (1e-9, 0.1), (1e9, 0.1)):
        ends, discounts = (rng.random(50) < 0.3).astype(float), 0.98 ** rng.integers(1, 9, 50)
        gained, following = -5 * size * rng.random(50), 30 * size * rng.standard_normal(50)
        yield case("minibatches", gained, discounts, ends, following, scale, each=True, atol=1e-12 * size)
    table = (x.reshape(5, 10) for x in (gained, discounts, ends, following))
    yield remark(case("a table of steps", *table, 0.1))
    yield remark(case("whole numbers", rewards.astype(int), np.ones(4, int), mask, values.astype(int), 0.5))
