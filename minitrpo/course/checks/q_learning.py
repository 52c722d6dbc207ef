"""Checks of lecture 11b: the targets of Sarsa and of n-step Q."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from minitrpo.course.checks.differential import Case, case, remark
from minitrpo.course.checks.kinds import masks
from minitrpo.course.checks.register import exercise


@exercise(
    "minitrpo.algorithms.q_learning:sarsa_targets",
    hints="""
        From row i of next_q you need the entry of column next_actions[i]: one number per row.
        numpy takes pairs: next_q[rows, columns] with rows = np.arange(len(next_q)).
        r + discount * (1 - terminated) * that.
    """,
    mistakes=r"""
        * taken => * next_q.max(axis=1) :: takes the largest Q, as one-step Q does :: take that of the action done
        * (1.0 - terminated) => :: adds Q where the task terminated, too :: have the reward alone there
        (1.0 - terminated) => terminated :: adds Q where the task terminated alone :: add it where the task goes on
        discount * => :: discounts nothing :: discount Q
        rewards + discount * (1.0 - terminated) * taken => discount * (rewards + (1.0 - terminated) * taken) \
            :: discounts the reward, too :: discount Q alone
        rewards + => :: leaves the reward out :: add it
        rewards + discount * (1.0 - terminated) * taken => (1.0 - terminated) * (rewards + discount * taken) \
            :: leaves the reward out where the task terminated :: add it, as it was paid
        * taken => * next_q.mean(axis=1) :: takes the mean Q of the actions :: take that of the action done
        * taken => * next_q.min(axis=1) :: takes the smallest Q :: take that of the action done
        next_actions] => next_actions[0]] :: takes the first row's action in every row :: take each row's own
        next_actions] => np.roll(next_actions, 1)] :: takes the action of the row before :: take each row's own
        np.arange(len(next_q)), => :, :: takes all those columns of every row, a square :: take one entry of each row
        + discount => - discount :: subtracts Q :: add it
        * taken => * next_actions :: has the number of the action for its Q :: look its Q up in next_q
    """,
)
def sarsa_targets() -> Iterator[Case]:
    """Yield single transitions, squares, many actions, and numbers of every size."""
    q = [[4.0, 8.0], [2.0, -6.0], [1.0, 3.0]]
    for kind, rewards, terminated, next_q, actions, discount in (
        ("one transition", [1.0], [0], q[:1], [0], 0.5),
        ("the action of the largest Q", [1.0], [0], q[:1], [1], 0.5),
        ("terminated", [1.0], [1], q[:1], [1], 0.5),
        ("three transitions", [1.0, 2.0, 3.0], [0, 0, 0], q, [0, 1, 0], 0.5),
        ("three, one of them terminated", [1.0, 2.0, 3.0], [0, 1, 0], q, [0, 1, 0], 0.5),
        ("as many transitions as actions", [1.0, 2.0], [0, 0], q[:2], [1, 1], 0.5),
        ("as many transitions as actions", [1.0, 2.0], [0, 0], q[:2], [1, 0], 0.5),
        ("a discount of 1", [1.0, 2.0, 3.0], [0, 0, 1], q, [0, 1, 0], 1.0),
        ("all Q negative", [1.0, 2.0], [0, 0], [[-4.0, -8.0], [-1.0, -2.0]], [1, 0], 0.9),
    ):
        over = np.array(terminated, bool)
        yield case(kind, np.array(rewards), over, np.array(next_q), np.array(actions), discount)
    rng = np.random.default_rng(0)
    for n, columns, scale in product((2, 5, 200), (2, 3, 18), (1.0, 1e-9, 1e9)):
        kind = {1.0: "random transitions", 1e-9: "tiny numbers", 1e9: "huge numbers"}[scale]
        some, then = scale * rng.standard_normal((n, columns)), rng.integers(0, columns, n)
        over = rng.random(n) < 0.2
        yield case(kind, scale * rng.standard_normal(n), over, some, then, float(rng.uniform(0.8, 1)))
    whole, some = np.array([1, 2, 3]), np.array([[4.5, 8.0], [2.0, -6.25], [1.0, 3.0]])
    yield remark(case("rewards that are whole numbers", whole, whole > 2, some, np.array([0, 1, 0]), 0.5))
    nothing = np.zeros(0), np.zeros(0, bool), np.zeros((0, 3)), np.zeros(0, np.int64)
    yield remark(case("no transitions at all", *nothing, 0.9))


@exercise(
    "minitrpo.algorithms.q_learning:n_step_q_targets",
    hints="""
        It is lecture 11a's bootstrapped_returns, with something else in place of V.
        What stands behind a cut is the largest entry of that fragment's row of final_q: final_q.max(axis=1).
        rewards[last] are the last rewards of all fragments, as many as final_q has rows; then discounted_sums.
    """,
    mistakes=r"""
        final_q.max(axis=1) => np.max(final_q) :: takes the largest Q of all fragments :: take that of each row
        final_q.max(axis=1) => np.resize(final_q.max(axis=0), len(final_q)) :: takes the max over the fragments \
            :: take it over the actions, axis 1
        final_q.max(axis=1) => final_q.mean(axis=1) :: takes the mean Q of the actions :: take the largest
        final_q.max(axis=1) => final_q.min(axis=1) :: takes the smallest Q :: take the largest
        final_q.max(axis=1) => final_q[:, 0] :: takes the Q of the first action :: take the largest
        final_q.max( => final_q.argmax( :: has the number of the best action for its Q :: have the largest Q itself
        (1.0 - terminated[last]) => 0.0 :: has nothing behind a fragment that was cut :: have the largest Q there
        (1.0 - terminated[last]) => 1.0 :: adds Q where the task terminated, too :: have nothing after that
        (1.0 - terminated[last]) => terminated[last] :: adds Q where the task terminated alone \
            :: add it where a fragment was cut
        += discount * ( => += ( :: does not discount Q :: discount it, as it lies one step behind the last reward
        rewards[last] += discount => rewards[last] = rewards[last] * terminated[last] + discount \
            :: has Q in place of the last reward :: add it to that
        += discount => -= discount :: subtracts Q :: add it
        final_q.max(axis=1) => final_q.max(axis=1)[::-1] :: takes the rows of final_q from the end \
            :: take them in the order of the fragments
        += discount * ( => += ( && rewards, discount, last => rewards, 1.0, last :: discounts nothing \
            :: discount each step
        return => return discount * :: discounts the reward of the step itself, too :: count that in full
        discounted_sums(rewards, discount, last) => rewards :: adds no later rewards :: walk back through each fragment
        discount, last) => discount, terminated | (np.arange(len(last)) == len(last) - 1)) \
            :: walks on over a cut :: end a fragment where `last` says so
        rewards = rewards.astype(float) => was, rewards = rewards.dtype, rewards.astype(float) \
            && discounted_sums(rewards, discount, last) => discounted_sums(rewards, discount, last).astype(was) \
            :: is cut to whole numbers where the rewards are whole :: be computed in floats
        best = np.repeat(final_q.max(axis=1), np.diff(np.flatnonzero(last), prepend=-1)); \
            return rewards + discount * np.where(terminated, 0.0, best) \
            :: has Q directly behind every step :: have it behind the last one of a fragment
    """,
)
def n_step_q_targets() -> Iterator[Case]:
    """Yield single steps, fragments by hand, and random ones of every size."""
    q = [[4.0, 8.0], [2.0, -6.0], [1.0, 3.0]]
    for kind, rewards, ends, final_q, discount in (
        ("one step, then cut", [1.0], "c", q[:1], 0.5),
        ("one step, then terminated", [1.0], "t", q[:1], 0.5),
        ("three steps, then cut", [1.0, 2.0, 3.0], "..c", q[:1], 0.5),
        ("three steps, then terminated", [1.0, 2.0, 3.0], "..t", q[:1], 0.5),
        ("cut, then terminated", [1.0, 2.0, 3.0, 4.0], ".c.t", q[:2], 0.5),
        ("terminated, then cut", [1.0, 2.0, 3.0, 4.0], ".t.c", q[:2], 0.5),
        ("two fragments, both cut", [1.0, 2.0, 3.0, 4.0], ".c.c", q[1:], 0.5),
        ("fragments of different lengths", [1.0, 1.0, 2.0, 3.0, 5.0, 8.0], "c..t.c", q, 0.9),
        ("rewards that are whole numbers", [1, 2, 3, 4], ".c.c", [[3, 7], [5, 2]], 0.5),
        ("a discount of 1", [1.0, 2.0, 3.0, 4.0], ".c.c", q[:2], 1.0),
        ("all Q negative", [1.0, 2.0, 3.0], ".cc", [[-4.0, -8.0], [-2.0, -1.0]], 0.9),
        ("as many fragments as actions", [1.0, 2.0], "cc", [[1.0, 5.0], [2.0, 3.0]], 0.5),
    ):
        yield case(kind, np.array(rewards), *masks(ends), np.array(final_q), discount)
    rng = np.random.default_rng(0)
    for size, columns, scale in product((2, 7, 40, 300), (2, 5), (1e-9, 1.0, 1e9)):
        ends = "".join(rng.choice(list(".....tc"), size - 1)) + str(rng.choice(["t", "c"]))
        final_q = scale * rng.standard_normal((size - ends.count("."), columns))
        kind = {1e-9: "tiny numbers", 1.0: "random fragments", 1e9: "huge numbers"}[scale]
        yield case(kind, scale * rng.standard_normal(size), *masks(ends), final_q, float(rng.uniform(0.8, 1)))
    yield case("a long fragment", rng.standard_normal(300), *masks("." * 299 + "c"), np.ones((1, 2)), 1.0)
    yield remark(case("no steps at all", np.zeros(0), *masks(""), np.zeros((0, 2)), 0.9))
