"""Checks of lecture 01: the policy gradient."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Candidate, Case, case
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.policy_gradient import policy_gradient as right_gradient
from minitrpo.policy_gradient import score as right_score

# Pieces of the package's source, for the tables of known mistakes: {symptom: (old, new, old, new, ...)}.
HALF, A, LOG = "0.5 * np.log(2 * np.pi)", "advantages)", "policy.log_prob("
PRODUCT = ("np.sum(", "np.log(np.prod(np.exp(", ", axis=1)", "), axis=1))")
BACK, APPEND, SUMS = "x[::-1].tolist(), last[::-1].tolist()", "backwards.append(total)", "np.array(backwards[::-1])"
TOTAL = "value if is_last else value + discount * total"
UNIT, S = "return (lambda g: g / np.linalg.norm(g))(", "observation"


GAUSSIAN_LOG_PROB_SLIPS = {
    "One number for each action is wanted: sum over axis 1.": ("np.sum(", "(", ", axis=1", ""),
    "That is the mean over the entries of an action, not their sum.": ("np.sum(", "np.mean("),
    "It sums over the batch: axis 1 is the entries of one action.": ("axis=1", "axis=0"),
    "It sums over everything: one number for each action is wanted.": (", axis=1", ""),
    "That is the density. Its logarithm is wanted.": ("np.sum(", "np.exp(np.sum(", "axis=1)", "axis=1))"),
    "- log(2 pi) / 2 is missing, once for each entry.": (f" - {HALF}", ""),
    "- log(2 pi) / 2 belongs to each entry, not once to all.": (f" - {HALF}, axis=1)", f", axis=1) - {HALF}"),
    "- log std is missing: a wide density is a low one.": (" - log_std -", " -"),
    "log std has the wrong sign.": ("- log_std -", "+ log_std -"),
    "exp(log_std) is the standard deviation, not the variance.": ("z =", "log_std = log_std / 2; z ="),
    "log_std is the logarithm of the standard deviation.": ("z =", "log_std = np.log(np.abs(log_std)); z ="),
    "The distance from the mean is squared, and halved.": ("-0.5 * z", "-z"),
    "Each row has a log_std of its own, not the first one's.": ("z =", "log_std = log_std[:1] + 0 * log_std; z ="),
    "Far out the density rounds to 0: work with logarithms.": PRODUCT,
    "Something small is added under the logarithm.": (*PRODUCT[:3], "), axis=1) + 1e-8)"),
}


@exercise(
    "gaussian_log_prob",
    "minitrpo.policies:gaussian_log_prob",
    hints=(
        "For one number: log N(a; m, s^2) = -(a - m)^2 / (2 s^2) - log s - log(2 pi) / 2, with log s given.",
        "The entries of one action are drawn independently: their probabilities multiply, so their logarithms add up.",
        "Work on whole arrays (N, A) and sum over the second axis at the end.",
    ),
    mistakes=edits("minitrpo.policies:gaussian_log_prob", GAUSSIAN_LOG_PROB_SLIPS),
)
def gaussian_log_prob_cases() -> Iterator[Case]:
    """Yield densities by hand, of many shapes, far out, very narrow and very wide."""
    zero, one, two = np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), np.log(2.0))
    yield case("an action at the mean", zero, zero, zero)
    yield case("two standard deviations off", one, two, np.full((1, 1), 5.0))
    yield case("an action of two entries", np.array([[1.0, -1.0]]), np.array([[0.0, 0.5]]), np.array([[2.0, 1.0]]))
    rng = np.random.default_rng(0)
    for n, a in ((2, 1), (3, 2), (5, 1), (1, 4), (3, 3), (6, 2)):
        yield near("numbers at random", *rng.standard_normal((3, n, a)))
    yield near("integer arrays", *rng.integers(-3, 4, (3, 4, 2)))
    yield near("a spread of its own for each row", zero.repeat(4, 0), np.arange(-2.0, 2.0)[:, None], one.repeat(4, 0))
    for far in (6.0, 50.0, -1e4, 1e9):
        yield near("improbable actions", np.zeros((2, 2)), np.zeros((2, 2)), np.array([[far, 1.0], [0.5, -far]]))
    for log_std in (-25.0, -12.0, -3.0, 3.0, 12.0, 25.0):
        off = np.array([[0.0], [0.7], [-3.0]]) * np.exp(log_std)
        yield near("extreme spreads", np.zeros((3, 1)), np.full((3, 1), log_std), off)
    yield near("large means", *(1e6 + rng.standard_normal((4, 2)), np.zeros((4, 2)), np.full((4, 2), 1e6)))
    yield near("tiny numbers", *1e-9 * rng.standard_normal((3, 4, 2)))
    yield near("5,000 actions", *rng.standard_normal((3, 5_000, 3)))
    yield near("whole means", np.array([[1, -2], [0, 3]]), np.full((2, 2), 0.3), np.array([[0.5, 1.25], [-0.75, 3.5]]))
    yield near("whole actions", np.array([[0.5], [1.25]]), np.full((2, 1), -0.4), np.array([[1], [-2]]))
    yield near("an action that is nan", np.zeros((2, 1)), np.zeros((2, 1)), np.array([[np.nan], [1.0]]))


def near(kind: str, *arguments: Any) -> Case:
    """Return a case in which each entry counts by its own size."""
    return case(kind, *arguments, each=True, atol=1e-9)


def without_log_std(policy: Policy, gradient: Array) -> Array:
    """Return a gradient as if log_std were not part of theta."""
    kept = np.arange(len(gradient)) < len(gradient) - policy.action_size * isinstance(policy, GaussianPolicy)
    return np.asarray(gradient * kept)


SCORE_SLIPS = {
    "That is the slope of the probability, not of its logarithm.": (LOG, f"np.exp({LOG}", "[0]\n", ")[0]\n"),
    "Something small is added under the logarithm.": (LOG, f"np.log(1e-8 + np.exp({LOG}", "[0]\n", "[0]))\n"),
    "It goes downhill: the slope has the wrong sign.": ("np.asarray(grad", "-np.asarray(grad"),
    "That is the slope in the observation, not in theta.": ("b(theta: A", "b(observation: A", "(theta))", f"({S}))"),
    "It has length 1; a score has a length of its own.": ("return np.asarray(", UNIT),
}


@exercise(
    "score",
    "minitrpo.policy_gradient:score",
    hints=(
        "Write a function of theta alone that returns one number, log pi(a|s); autograd's `grad` turns it into the "
        "slope.",
        "policy.distribution wants a table of observations (N, D) and policy.log_prob a table of actions: here N = 1.",
        "observation[None] has shape (1, D), np.array([action]) one row; take entry [0] of what log_prob returns.",
    ),
    mistakes=edits("minitrpo.policy_gradient:score", SCORE_SLIPS)
    | {
        "That is the score of the most probable action, not of the one that was taken.": lambda p, t, s, a: right_score(
            p, t, s, p.mode(p.distribution(t, s[None]))[0]
        ),
        "The last entries of theta, log std, are left out.": lambda p, *a: without_log_std(p, right_score(p, *a)),
    },
)
def score_cases() -> Iterator[Case]:
    """Yield slopes by hand, of both kinds of policies, of improbable actions, and where all of them are 0."""
    line, coin = GaussianPolicy(1, 1, ()), CategoricalPolicy(1, 2, ())
    at, fair = np.array([0.5, 0.0, np.log(2.0)]), np.zeros(4)
    yield slope("mean w s + b", line, at, np.array([2.0]), np.array([5.0]))
    yield slope("a fair coin", coin, fair, np.array([3.0]), np.int64(1))
    yield slope("the other side of the coin", coin, fair, np.array([3.0]), np.int64(0))
    yield slope("an action that is a Python integer", coin, np.array([0.1, -0.3, 0.2, 0.5]), np.array([3.0]), 1)
    yield slope("integer observations", line, at, np.array([2]), np.array([1.0]))
    for seed, policy in enumerate(POLICIES):
        theta, states, actions = steps(policy, seed, 3)
        for s, a in zip(states, actions, strict=True):
            yield slope("states and actions at random", policy, theta, s, a)
    for away in (8.0, -50.0, 300.0):
        yield slope("improbable actions", line, at, np.array([2.0]), np.array([1.0 + away]))
    for column in range(3):
        biases = np.where(np.arange(3) == column, 30.0, 0.0)
        for action in range(3):
            sure = np.concatenate([0.1 * np.arange(6.0), biases])
            yield slope("a policy that is almost certain", CategoricalPolicy(2, 3, ()), sure, np.ones(2), action)
    for log_std in (-4.0, 4.0):
        wide = np.array([0.5, 0.0, log_std])
        yield slope("extreme spreads", line, wide, np.array([2.0]), np.array([1.0 + np.exp(log_std)]))
    yield slope("large observations", coin, np.array([0.01, -0.02, 0.0, 0.1]), np.array([50.0]), 0)
    only = CategoricalPolicy(2, 1, (3,))
    yield slope("a single action, which is certain", only, steps(only, 9, 1)[0], np.ones(2), 0)


def slope(kind: str, *arguments: Any) -> Case:
    """Return a case that finite differences pass, too."""
    return case(kind, *arguments, rtol=1e-6, atol=1e-7)


POLICIES: tuple[Policy, ...] = (
    GaussianPolicy(3, 2, (4,)),
    GaussianPolicy(2, 1, ()),
    CategoricalPolicy(3, 4, (5,)),
    CategoricalPolicy(4, 2, (16,)),
    GaussianPolicy(2, 3, (6, 5)),
)


def steps(policy: Policy, seed: int, n: int) -> tuple[Array, Array, Array]:
    """Return theta away from its start, states (n, D) and actions that the policy drew in them."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    theta = theta + 0.5 * rng.standard_normal(len(theta))
    states = rng.standard_normal((n, policy.observation_size))
    return theta, states, policy.sample(policy.distribution(theta, states), policy.draw_noise(rng, n))


def episode_by_episode(of_one: Any) -> Candidate:
    """Return sums that are computed for each episode on its own: of_one(x, discounts of its steps)."""

    def sums(x: Array, discount: float, last: Array) -> Array:
        parts = np.split(x.astype(float), np.flatnonzero(last)[:-1] + 1)
        return np.concatenate([of_one(part, float(discount) ** np.arange(len(part))) for part in parts])

    return sums


DISCOUNTED_SUMS_SLIPS = {
    "A border leaks: after a `last` step nothing of the next episode may count.": ("value if is_last else ", ""),
    "The sum is reset to 0 at a last step: that step's own reward is lost.": ("= value if", "= 0.0 if"),
    "It starts afresh one step too early.": ("last[::-1].tolist()", "[False, *last[::-1][:-1].tolist()]"),
    "It starts with x_t itself, not with the next reward.": (APPEND, "backwards.append(total - value)"),
    "y_t begins with x_t itself, undiscounted.": (TOTAL, "discount * (value + total * (not is_last))"),
    "That is the undiscounted sum.": ("discount * total", "total"),
    "It adds up the past, not what comes from t on.": (BACK, "x.tolist(), [True, *last.tolist()[:-1]]", "[::-1]", ""),
    "That is a weighted mean: x_t counts whole.": ("else value +", "else (1 - discount) * value +"),
    "A reward of 0 is no end of an episode.": ("if is_last", "if is_last or value == 0"),
    "They are cut to whole numbers: an array like integer rewards cannot hold them.": (SUMS, f"{SUMS}.astype(x.dtype)"),
    "Their mean is taken off, which nobody asked for.": (SUMS, f"{SUMS} - np.mean(backwards)"),
}


@exercise(
    "discounted_sums",
    "minitrpo.returns:discounted_sums",
    hints=(
        "Work backwards: y_t needs y_{t+1}.",
        "At a step where `last` is true there is no y_{t+1} of the same episode: y_t = x_t.",
    ),
    mistakes=edits("minitrpo.returns:discounted_sums", DISCOUNTED_SUMS_SLIPS)
    | {
        "That is the whole episode's return at every step.": episode_by_episode(
            lambda x, powers: np.full(len(x), np.sum(x * powers))
        ),
        "It discounts by the time since the episode began, not since step t.": episode_by_episode(
            lambda x, powers: np.cumsum((x * powers)[::-1])[::-1]
        ),
        "It divides by powers of the discount, which may be 0.": episode_by_episode(
            lambda x, powers: np.cumsum((x * powers)[::-1])[::-1] / powers
        ),
    },
)
def discounted_sums_cases() -> Iterator[Case]:
    """Yield episodes by hand and at random, short and long, whole numbers, zeros, every size of number."""
    x = np.array([1.0, 2.0, 4.0])
    yield case("one episode", x, 0.5, mask(3))
    yield case("two episodes", x, 0.5, mask(2, 1))
    yield case("a single step", x[:1], 0.9, mask(1))
    yield case("integer rewards", np.array([1, 2, 4, 3]), 0.5, mask(3, 1))
    yield case("a reward of 0 inside", np.array([1.0, 0.0, 4.0, 0.0, 2.0]), 0.5, mask(3, 2))
    yield case("episodes of one step", x, 0.7, mask(1, 1, 1))
    rng = np.random.default_rng(0)
    for lengths in ((4, 1, 7), (2, 2, 30), (5, 5), (3, 4), (1, 6)):
        for discount in (0.0, 0.3, 0.99, 1.0, 0, 1):
            rewards = rng.standard_normal(sum(lengths)) - 0.5
            yield case("rewards of both signs", rewards, discount, mask(*lengths))
    for discount in (0.5, 0.9, 0.99, 0.9999):
        yield case("an episode of 3,000 steps", rng.standard_normal(3000), discount, mask(3000))
    yield case("3,000 integer rewards", np.ones(3000, int), 0.99, mask(200, 1, 999, 1800))
    positive = rng.random(40) + 0.1
    for scale in (1e-9, 1e9):
        yield case("very small and very large rewards", scale * positive, 0.9, mask(7, 33), each=True)
    uneven = np.concatenate([1e-9 * positive[:20], 1e9 * positive[20:]])
    yield case("a tiny episode before a huge one", uneven, 0.9, mask(20, 20), each=True)
    yield case("a tiny episode after a huge one", uneven[::-1].copy(), 0.9, mask(20, 20), each=True)
    yield case("a reward that is nan", np.array([1.0, 2.0, np.nan]), 0.5, mask(3))
    yield case("no steps", np.zeros(0), 0.9, np.zeros(0, bool))


def mask(*lengths: int) -> Array:
    """Return the mask of last steps of episodes of these lengths."""
    last = np.zeros(sum(lengths), bool)
    last[np.cumsum(lengths) - 1] = True
    return last


POLICY_GRADIENT_SLIPS = {
    "That is the sum over the steps; the mean is wanted.": ("np.mean(", "np.sum("),
    "It goes downhill: a loss has the opposite sign.": ("np.mean(", "-np.mean("),
    "Each step's score belongs with its own advantage, not with every one.": (A, "advantages[:, None])"),
    "The advantages play no part in it.": (A, "1.0)"),
    "The advantages are standardised on the way.": (A, "(advantages - advantages.mean()) / (advantages.std() + 1e-8))"),
    "The mean of the advantages is taken off on the way.": (A, "(advantages - advantages.mean()))"),
    "Only the successes count: negative advantages push, too.": (A, "np.maximum(advantages, 0))"),
    "The advantages lost their sign.": (A, "np.abs(advantages))"),
    "Only the signs of the advantages count.": (A, "np.sign(advantages))"),
    "It divides by N - 1 instead of N.": (A, "advantages * len(actions) / max(len(actions) - 1, 1))"),
    "The advantages are in reverse order.": (A, "advantages[::-1])"),
    "It divides by the sum of the advantages.": (A, "advantages * len(actions) / np.abs(advantages.sum()))"),
    "Large advantages are clipped.": (A, "np.clip(advantages, -10, 10))"),
    "That is the slope of the probability: take its logarithm.": (LOG, f"np.exp({LOG}", "actions) *", "actions)) *"),
}


@exercise(
    "policy_gradient",
    "minitrpo.policy_gradient:policy_gradient",
    hints=(
        "The mean of scores times advantages is the gradient of one number: of the mean of log pi(a|s) * A.",
        "Write that number as a function of theta, with policy.distribution and policy.log_prob, for all N steps at "
        "once; then `grad`.",
        "log_prob and advantages both have shape (N,); multiply them step by step, take np.mean, give it to grad.",
    ),
    mistakes=edits("minitrpo.policy_gradient:policy_gradient", POLICY_GRADIENT_SLIPS)
    | {
        "The last entries of theta, log std, are left out.": lambda p, *a: without_log_std(p, right_gradient(p, *a)),
        "Those are the most probable actions' scores, not those of the actions taken.": lambda p, t, s, a, advantages: (
            right_gradient(p, t, s, p.mode(p.distribution(t, s)), advantages)
        ),
    },
)
def policy_gradient_cases() -> Iterator[Case]:
    """Yield gradients by hand, and many weightings of the same steps."""
    line, at = GaussianPolicy(1, 1, ()), np.array([0.5, 0.0, np.log(2.0)])
    states, actions = np.array([[2.0], [0.0]]), np.array([[5.0], [-2.0]])
    yield slope("one step with score (2, 1, 3)", line, at, states[:1], actions[:1], np.array([10.0]))
    two = "two steps with scores (2, 1, 3) and (0, -0.5, 0)"
    yield slope(two, line, at, states, actions, np.array([1.0, -2.0]))
    yield slope("integer advantages", line, at, states, actions, np.array([3, -2]))
    yield slope("integer observations", line, at, np.array([[2], [1]]), actions, np.array([1.0, 0.5]))
    rng = np.random.default_rng(3)
    for seed, policy in enumerate(POLICIES):
        n = (7, 3, 5, 1, 12)[seed]
        at, states, actions = steps(policy, seed, n)
        a = rng.standard_normal(n)
        for kind, advantages in (
            ("advantages of both signs", a),
            ("large positive advantages", a + 100.0),
            ("advantages with mean 0", a - a.mean()),
            ("equal advantages", np.full(n, -3.0)),
            ("an advantage at the first step only", np.where(np.arange(n) == 0, 2.0, 0.0)),
            ("an advantage at the last step only", np.where(np.arange(n) == n - 1, 2.0, 0.0)),
            ("advantages of 0", np.zeros(n)),
            ("huge advantages", 1e9 * a),
        ):
            yield slope(kind, policy, at, states, actions, advantages)
        yield case("tiny advantages", policy, at, states, actions, 1e-9 * a, rtol=1e-6, atol=1e-15)
        yield slope("an advantage that is nan", policy, at, states, actions, np.where(np.arange(n) == 0, np.nan, a))
    sure = np.concatenate([0.1 * np.arange(6.0), [30.0, 0.0, 0.0]])
    three, surely = CategoricalPolicy(2, 3, ()), np.array([0, 1, 2, 0])
    yield slope("improbable actions", three, sure, rng.standard_normal((4, 2)), surely, np.array([1.0, -1.0, 2.0, 1.0]))
    line_at = np.array([0.3, 0.1, -2.0])
    yield slope("actions far out", line, line_at, states[:2, :1], np.array([[40.0], [-9.0]]), np.array([1.0, 2.0]))
    policy = POLICIES[3]
    yield slope("1,100 steps", policy, *steps(policy, 8, 1100), rng.standard_normal(1100) + 1.0)
    twice = np.array([0, 1, 1, 1])
    yield slope("a step that comes three times", line, line_at, states[twice], actions[twice], np.array([2.0, 1, 1, 1]))
