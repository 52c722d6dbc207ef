"""Checks of lecture 11b: the targets of Sarsa and of n-step Q."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.q_learning import sarsa_targets as right_targets
from minitrpo.course.checks.actor_critic import masks
from minitrpo.course.checks.differential import Candidate, Case, case
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.policies import Array

# --- sarsa_targets


def target_of(rule: Any) -> Candidate:
    """Return targets rule(r, not terminated, Q(s', .), Q(s', a'), discount)."""

    def targets(rewards: Array, terminated: Array, next_q: Array, next_actions: Array, discount: float) -> Any:
        taken = next_q[np.arange(len(next_q)), next_actions]
        return rule(rewards, 1.0 - terminated, next_q, taken, discount)

    return targets


@exercise(
    "sarsa_targets",
    "minitrpo.algorithms.q_learning:sarsa_targets",
    hints=(
        "From row i of next_q you need the entry of column next_actions[i]: one number per row.",
        "numpy takes pairs: next_q[rows, columns] with rows = np.arange(len(next_q)).",
        "r + discount * (1 - terminated) * that.",
    ),
    mistakes={
        "That is one-step Q's target: Sarsa takes the action that was really done.": target_of(
            lambda r, on, q, taken, d: r + d * on * q.max(axis=1)
        ),
        "It bootstraps where the task terminated: nothing comes after that.": target_of(
            lambda r, on, q, taken, d: r + d * taken
        ),
        "It is the wrong way round: Q counts where the task goes on.": target_of(
            lambda r, on, q, taken, d: r + d * (1 - on) * taken
        ),
        "Nothing is discounted.": target_of(lambda r, on, q, taken, d: r + on * taken),
        "The reward is discounted, too.": target_of(lambda r, on, q, taken, d: d * (r + on * taken)),
        "The reward is missing.": target_of(lambda r, on, q, taken, d: d * on * taken),
        "Where the task terminated the reward is missing: it was paid.": target_of(
            lambda r, on, q, taken, d: on * (r + d * taken)
        ),
        "That is the mean over the actions.": target_of(lambda r, on, q, taken, d: r + d * on * q.mean(axis=1)),
        "That is the smallest Q.": target_of(lambda r, on, q, taken, d: r + d * on * q.min(axis=1)),
        "Every row gets the Q of the first row's action.": lambda r, t, q, a, d: right_targets(
            r, t, q, np.repeat(a[:1], len(a)), d
        ),
        "The actions are those of the step before: they were shifted once too often.": lambda r, t, q, a, d: (
            right_targets(r, t, q, np.roll(a, 1), d)
        ),
        "It gives a square: next_q[:, next_actions] takes those columns of every row.": lambda r, t, q, a, d: (
            r + d * (1.0 - t) * q[:, a]
        ),
        "Q is subtracted.": target_of(lambda r, on, q, taken, d: r - d * on * taken),
    },
)
def sarsa_targets_cases() -> Iterator[Case]:
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
        ("all terminated", [1.0, 2.0, 3.0], [1, 1, 1], q, [0, 1, 0], 0.5),
        ("a discount of 0", [1.0, 2.0, 3.0], [0, 0, 1], q, [0, 1, 0], 0.0),
        ("a discount of 1", [1.0, 2.0, 3.0], [0, 0, 1], q, [0, 1, 0], 1.0),
        ("rewards of 0", [0.0, 0.0, 0.0], [0, 0, 1], q, [1, 1, 1], 0.9),
        ("all Q negative", [1.0, 2.0], [0, 0], [[-4.0, -8.0], [-1.0, -2.0]], [1, 0], 0.9),
        ("equal Q", [1.0, 2.0], [0, 0], [[4.0, 4.0], [4.0, 4.0]], [1, 0], 0.9),
        ("a single action", [1.0, 2.0], [0, 1], [[4.0], [8.0]], [0, 0], 0.9),
    ):
        over = np.array(terminated, bool)
        yield case(kind, np.array(rewards), over, np.array(next_q), np.array(actions), discount)
    yield case(
        "huge Q behind a terminated task", np.ones(1), np.ones(1, bool), np.full((1, 2), 1e300), np.array([1]), 0.9
    )
    whole, some = np.array([1, 2, 3]), np.array([[4.5, 8.0], [2.0, -6.25], [1.0, 3.0]])
    yield case("rewards that are whole numbers", whole, whole > 2, some, np.array([0, 1, 0]), 0.5)
    rng = np.random.default_rng(0)
    for n, columns, scale in product((2, 5, 60, 2000), (2, 3, 18), (1.0, 1e-9, 1e9)):
        kind = {1.0: "random transitions", 1e-9: "tiny numbers", 1e9: "huge numbers"}[scale]
        some, then = scale * rng.standard_normal((n, columns)), rng.integers(0, columns, n)
        over = rng.random(n) < 0.2
        yield case(kind, scale * rng.standard_normal(n), over, some, then, float(rng.uniform(0.8, 1)))
    many = rng.standard_normal((3, 100))
    yield case("a hundred actions", np.ones(3), np.zeros(3, bool), many, np.array([0, 70, 99]), 0.9)
    yield case("no transitions at all", np.zeros(0), np.zeros(0, bool), np.zeros((0, 3)), np.zeros(0, np.int64), 0.9)


# --- n_step_q_targets

TARGET = "minitrpo.algorithms.q_learning:n_step_q_targets"
ON, BEST, WALK = "(1.0 - terminated[last])", "final_q.max(axis=1)", "discounted_sums(rewards, discount, last)"
SLIPS: dict[str, tuple[str, ...]] = {
    "The max is over all fragments; each has a row of its own: the max over axis 1.": (BEST, "np.max(final_q)"),
    "The max is over the actions, axis 1, not over the fragments.": (
        BEST, "np.resize(final_q.max(axis=0), len(final_q))",
    ),
    "That is the mean over the actions: the best one is wanted.": (BEST, "final_q.mean(axis=1)"),
    "That is the smallest Q: the largest is wanted.": (BEST, "final_q.min(axis=1)"),
    "That is the Q of the first action: the largest is wanted.": (BEST, "final_q[:, 0]"),
    "Where a fragment was cut, its future is missing: the largest Q comes after it.": (ON, "0.0"),
    "It bootstraps where the task terminated, too: nothing comes after that.": (ON, "1.0"),
    "It is the wrong way round: Q counts where a fragment was cut, not where the task terminated.": (
        ON, "1.0 * terminated[last]",
    ),
    "Q is not discounted: it lies one step behind the last reward.": ("+= discount * (", "+= ("),
    "Q replaces the last reward: it comes after it.": (
        "rewards[last] += discount", "rewards[last] = rewards[last] * terminated[last] + discount",
    ),
    "Q is subtracted.": ("+= discount", "-= discount"),
    "The final Q come in the wrong order.": (BEST, "final_q.max(axis=1)[::-1]"),
    "Nothing is discounted.": ("+= discount * (", "+= (", WALK, "discounted_sums(rewards, 1.0, last)"),
    "The reward of the step itself is discounted: it counts in full.": (WALK, f"discount * {WALK}"),
    "Only the last step of a fragment knows of Q, and none of later rewards: walk back.": (WALK, "rewards"),
    "It walks on over a cut: a fragment ends where `last` says so, not only where the task terminated.": (
        WALK, "discounted_sums(rewards, discount, terminated | (np.arange(len(last)) == len(last) - 1))",
    ),
    "The returns are rounded to whole numbers: compute in floats.": (WALK, f"np.trunc({WALK})"),
}  # fmt: skip


def bootstrapped_everywhere(r: Array, last: Array, terminated: Array, final_q: Array, discount: float) -> Array:
    """Return one-step targets of all steps, as if each had the fragment's final Q behind it."""
    best = np.repeat(final_q.max(axis=1), np.diff(np.flatnonzero(last), prepend=-1))
    return r + discount * np.where(terminated, 0.0, best)


@exercise(
    "n_step_q_targets",
    TARGET,
    hints=(
        "It is lecture 11a's bootstrapped_returns, with something else in place of V.",
        "What stands behind a cut is the largest entry of that fragment's row of final_q: final_q.max(axis=1).",
        "rewards[last] are the last rewards of all fragments, as many as final_q has rows; then discounted_sums.",
    ),
    mistakes=edits(TARGET, SLIPS)
    | {"Every step is bootstrapped at once: only the last of a fragment has Q behind it.": bootstrapped_everywhere},
)
def n_step_q_targets_cases() -> Iterator[Case]:
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
        ("fragments of one step", [1.0, 2.0, 3.0], "ctc", q, 0.5),
        ("fragments of different lengths", [1.0, 1.0, 2.0, 3.0, 5.0, 8.0], "c..t.c", q, 0.9),
        ("whole numbers", np.array([1, 2, 3, 4]), ".c.c", np.array([[3, 7], [5, 2]]), 0.5),
        ("a discount of 0", [1.0, 2.0, 3.0, 4.0], ".c.t", q[:2], 0.0),
        ("a discount of 1", [1.0, 2.0, 3.0, 4.0], ".c.c", q[:2], 1.0),
        ("rewards of 0", np.zeros(5), "..c.c", q[:2], 0.9),
        ("all Q negative", [1.0, 2.0, 3.0], ".cc", [[-4.0, -8.0], [-2.0, -1.0]], 0.9),
        ("equal Q", [1.0, 2.0, 3.0], ".cc", [[4.0, 4.0], [4.0, 4.0]], 0.9),
        ("a single action", [1.0, 2.0, 3.0], ".cc", [[4.0], [-8.0]], 0.9),
        ("as many fragments as actions", [1.0, 2.0], "cc", [[1.0, 5.0], [2.0, 3.0]], 0.5),
        ("huge Q behind a terminated task", [1.0, 2.0, 3.0, 4.0], ".t.c", [[1e300, 1e300], [5.0, 6.0]], 0.9),
    ):
        yield case(kind, np.array(rewards), *masks(ends), np.array(final_q), discount)
    rng = np.random.default_rng(0)
    for size, columns, scale in product((2, 7, 40, 300), (2, 5), (1e-9, 1.0, 1e9)):
        ends = "".join(rng.choice(list(".....tc"), size - 1)) + str(rng.choice(["t", "c"]))
        final_q = scale * rng.standard_normal((size - ends.count("."), columns))
        kind = {1e-9: "tiny numbers", 1.0: "random fragments", 1e9: "huge numbers"}[scale]
        yield case(kind, scale * rng.standard_normal(size), *masks(ends), final_q, float(rng.uniform(0.8, 1)))
    yield case("a fragment of 3,000 steps", rng.standard_normal(3000), *masks("." * 2999 + "c"), np.ones((1, 2)), 1.0)
    yield case(
        "a huge Q behind 200 steps", rng.standard_normal(200), *masks("." * 199 + "c"), np.array([[1e12, 0.0]]), 0.9,
        each=True,
    )  # fmt: skip
    yield case("no steps at all", np.zeros(0), *masks(""), np.zeros((0, 2)), 0.9)
