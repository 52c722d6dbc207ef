"""Checks of lecture 11b: the targets of Sarsa and of n-step Q."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.kinds import ENDS, masks
from minitrpo.course.checks.framework.register import exercise


@exercise(
    "minitrpo.algorithms.q_learning:sarsa_targets",
    r"""
        ? From row i of next_q you need the entry of column next_actions[i]: one number per row.
        ? numpy takes pairs: next_q[rows, columns] with rows = np.arange(len(next_q)).
        ? r + discount * (1 - terminated) * that.
        * taken => * next_q.max(axis=1) :: takes the largest Q, as one-step Q does :: take that of the action done
        * (1.0 - terminated) => :: adds Q where the task terminated, too :: have the reward alone there
        discount * => :: discounts nothing :: discount Q
        rewards + => :: leaves the reward out :: add it
        rewards + discount * (1.0 - terminated) * taken => (1.0 - terminated) * (rewards + discount * taken) \
            :: leaves the reward out where the task terminated :: add it there, too
        next_actions] => next_actions[0]] :: takes the first row's action in every row :: take each row's own
        next_actions] => np.roll(next_actions, 1)] :: takes the action of the row before :: take each row's own
        np.arange(len(next_q)), => :, :: takes all those columns of every row, a square :: take one entry of each row
        * taken => * next_actions :: has the number of the action for its Q :: look its Q up in next_q
    """,
    lecture="11b",
)
def _sarsa_targets() -> Iterator[Case]:
    r, q = np.array([1.0, 2.0, 3.0]), np.array([[4.0, 8.0], [2.0, -6.0], [1.0, 3.0]])
    for kind, terminated, actions in (
        ("one transition", [0], [0]),
        ("the action of the largest Q", [0], [1]),
        ("terminated", [1], [1]),
        ("three transitions", [0, 0, 0], [0, 1, 0]),
        ("three, one of them terminated", [0, 1, 0], [0, 1, 0]),
        ("as many transitions as actions", [0, 0], [1, 1]),
        ("as many transitions as actions", [0, 0], [1, 0]),
    ):
        n = len(actions)
        yield case(kind, r[:n], np.array(terminated, bool), q[:n], np.array(actions), 0.5)
    rng = np.random.default_rng(0)
    for n, columns, scale in product((2, 5, 200), (2, 3, 18), (1.0, 1e-9, 1e9)):
        some, then = scale * rng.standard_normal((n, columns)), rng.integers(0, columns, n)
        over, discount = rng.random(n) < 0.2, float(rng.choice([0.9, 1.0]))
        yield case("random transitions", scale * rng.standard_normal(n), over, some, then, discount)
    whole = r.astype(int), r > 2, q + 0.5, np.array([0, 1, 0])
    yield remark(case("rewards that are whole numbers", *whole, 0.5))
    nothing = np.zeros(0), np.zeros(0, bool), np.zeros((0, 3)), np.zeros(0, np.int64)
    yield remark(case("no transitions at all", *nothing, 0.9))


@exercise(
    "minitrpo.algorithms.q_learning:n_step_q_targets",
    r"""
        ? It is lecture 11a's bootstrapped_returns, with something else in place of V.
        ? What stands behind a cut is the largest entry of that fragment's row of final_q: final_q.max(axis=1).
        ? rewards[last] are the last rewards of all fragments, as many as final_q has rows; then discounted_sums.
        final_q.max(axis=1) => np.max(final_q) :: takes the largest Q of all fragments :: take that of each row
        final_q.max(axis=1) => final_q.mean(axis=1) :: takes the mean Q of the actions :: take the largest
        final_q.max( => final_q.argmax( :: has the number of the best action for its Q :: have the largest Q itself
        (1.0 - terminated[last]) => 0.0 :: has nothing behind a fragment that was cut :: have the largest Q there
        (1.0 - terminated[last]) => 1.0 :: adds Q where the task terminated, too :: have nothing after that
        += discount * ( => += ( :: does not discount Q :: discount it, as it lies one step behind the last reward
        return => return discount * :: discounts the reward of the step itself, too :: count that in full
        discounted_sums(rewards, discount, last) => rewards :: adds no later rewards :: walk back through each fragment
        discount, last) => discount, terminated | (np.arange(len(last)) == len(last) - 1)) \
            :: walks on over a cut :: end a fragment where `last` says so
    """,
    lecture="11b",
)
def _n_step_q_targets() -> Iterator[Case]:
    r, q = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 4.0]), np.array([[4.0, 8.0], [2.0, -6.0], [1.0, 3.0]])
    for kind, ends in ENDS.items():
        yield case(kind, r[: len(ends)], *masks(ends), q[: len(ends) - ends.count(".")], 0.5)
    yield case("rewards that are whole numbers", np.array([1, 2, 3, 4]), *masks(".c.c"), q[1:], 0.5)
    yield case("all Q negative", r[:3], *masks(".cc"), -q[::2], 0.9)
    rng = np.random.default_rng(0)
    for size, columns, scale in product((2, 7, 40, 300), (2, 5), (1e-9, 1.0, 1e9)):
        ends = "".join(rng.choice(list(".....tc"), size - 1)) + str(rng.choice(["t", "c"]))
        best = scale * rng.standard_normal((size - ends.count("."), columns))
        discount = float(rng.choice([0.9, 1.0]))
        yield case("random fragments", scale * rng.standard_normal(size), *masks(ends), best, discount)
    yield case("a long fragment", rng.standard_normal(300), *masks("." * 299 + "c"), np.ones((1, 2)), 1.0)
    yield remark(case("no steps at all", np.zeros(0), *masks(""), np.zeros((0, 2)), 0.9))
