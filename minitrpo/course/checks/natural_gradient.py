"""Checks of lecture 02: distance between policies, and the Fisher matrix as a product."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Candidate, Case, case, megabytes, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.policy_gradient import POLICIES, steps, without_log_std
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short
from minitrpo.natural_gradient import fisher_vector_product as right_product
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy

# Pieces of the package's source, for the tables of known mistakes.
LOGS, DAMPED, FEW = "log_std - old_log_std", "damping * v", "observations"
SWAP = "old_mean, old_log_std, mean, log_std = mean, log_std, old_mean, old_log_std; apart ="
MEANS = "0.5 * apart**2 * np.exp(-2 * old_log_std)"
ALL = f"{LOGS} + 0.5 * square * np.exp(-2 * log_std) - 0.5"


def distance(kind: str, *arguments: Any) -> Case:
    """Return a case in which each state's KL counts by its own size, and a right 0 may be a rounding error away."""
    return case(kind, *arguments, each=True, atol=1e-12)


GAUSSIAN_KL_SLIPS = {
    "That is the KL the other way round: the old policy comes first.": ("apart =", SWAP),
    "One number for each state is wanted: sum over the joints, axis 1.": ("np.sum(", "(", ", axis=1", ""),
    "That is the mean over the joints; their distances add up.": ("np.sum(", "np.mean("),
    "It sums over the states: axis 1 is the joints.": ("axis=1", "axis=0"),
    "It sums over everything: one number for each state is wanted.": (", axis=1", ""),
    "One number for each state is wanted, not their mean.": ("np.sum(", "np.mean(np.sum(", "axis=1)", "axis=1))"),
    "The shift of the mean is divided by the new variance, not by the old.": (
        "apart * apart",
        "apart * apart * np.exp(2 * log_std - 2 * old_log_std)",
    ),
    "It divides by the old variance, not by the new.": ("(2 * old_log", "(2 * log", "(-2 * log", "(-2 * old_log"),
    "The variance is exp(2 log_std); exp(log_std) is the deviation.": ("(2 *", "(1 *", "(-2 *", "(-1 *"),
    "The shift of the mean is squared.": ("apart * apart", "np.abs(apart)"),
    "Variance and shift are halved, and so is the 1 that is taken off.": ("0.5 * square", "square", "- 0.5", "- 1"),
    "1/2 is taken off for every joint, not once.": (" - 0.5, axis=1)", ", axis=1) - 0.5"),
    "The 1/2 at the end is missing: the KL of a policy with itself is 0.": (" - 0.5,", ","),
    "The logarithm of the spreads is upside down: new over old.": (LOGS, "old_log_std - log_std"),
    "The logarithm is of the deviations, or half that of the variances.": (LOGS, f"2 * ({LOGS})"),
    "The spreads differ, too: the means are half of it.": (ALL, MEANS),
    "That is the quadratic model, good for small steps only.": (ALL, f"({LOGS}) ** 2 + {MEANS}"),
    "Something small is added to the variance.": ("* np.exp(-2 * log_std)", "/ (np.exp(2 * log_std) + 1e-8)"),
}


@exercise(
    "gaussian_kl",
    "minitrpo.policies:gaussian_kl",
    hints=(
        "Each joint on its own first: log(new std / old std) + (old variance + squared shift of the mean) / (2 new "
        "variance) - 1/2.",
        "The inputs are logarithms of std: log(new std / old std) is a difference, and the variance is exp(2 log_std).",
        "All four arrays are (N, A). Joints are independent, so their distances add up: sum over axis 1.",
    ),
    mistakes=edits("minitrpo.policies:gaussian_kl", GAUSSIAN_KL_SLIPS),
)
def gaussian_kl_cases() -> Iterator[Case]:
    """Yield distances by hand, of many shapes, and of very near, very far, very narrow and very wide policies."""
    zero, one, two = np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), np.log(2.0))
    yield distance("a policy and itself", one, zero, one, zero)
    yield distance("means 3 apart", zero, zero, 3 * one, zero)
    yield distance("wide policies 3 apart", zero, two, 3 * one, two)
    yield distance("from std 1 to std 2", zero, zero, zero, two)
    yield distance("from std 2 to std 1", zero, two, zero, zero)
    yield distance("two joints", np.zeros((1, 2)), np.array([[0.0, 0.5]]), np.array([[1.0, 2.0]]), np.ones((1, 2)))
    rng = np.random.default_rng(0)
    for shape in ((2, 1), (5, 1), (1, 6), (3, 3), (7, 2)):
        yield distance("numbers at random", *rng.standard_normal((4, *shape)))
    yield distance("integer arrays", *rng.integers(-2, 3, (4, 3, 2)))
    for small in (1e-2, 1e-4, 1e-5):
        old = rng.standard_normal((2, 3, 2))
        yield distance("policies very near each other", *old, *(old + small * rng.standard_normal((2, 3, 2))))
    for log_std in (-25.0, -12.0, -3.0, 3.0, 12.0, 25.0):
        spread, far = np.full((3, 1), log_std), np.array([[0.0], [1.0], [-20.0]]) * np.exp(log_std)
        yield distance("extreme spreads", np.zeros((3, 1)), spread, far, spread + 0.3)
    yield distance("spreads far apart", zero, zero - 8.0, zero, zero + 8.0)
    yield distance("spreads far apart", zero, zero + 8.0, zero, zero - 8.0)
    yield distance("means far from 0", 1e6 + zero, zero, 1e6 + one, zero)
    rows = np.array([[1e-3], [1.0], [1e5]])
    yield distance("states that differ in level", 0 * rows, 0 * rows, rows, 0 * rows)
    yield distance("a state that is nan", 0 * rows, 0 * rows, np.array([[1.0], [np.nan], [2.0]]), 0 * rows)
    yield distance("5,000 states", *rng.standard_normal((4, 5_000, 3)))
    whole, other = rng.integers(-2, 3, (2, 3, 2)), rng.standard_normal((2, 3, 2))
    yield distance("whole numbers for the old policy", *whole, *other)
    yield distance("whole numbers for the new policy", *other, *whole)


CATEGORICAL_KL_SLIPS = {
    "That is the KL the other way round: the old policy comes first.": ("old_log, log =", "log, old_log ="),
    "Its sign is turned: a KL is never negative.": ("(old_log - log)", "(log - old_log)"),
    "One number for each state is wanted: sum over the actions, axis 1.": ("np.sum(", "(", ", axis=1", ""),
    "That is the mean over the actions; their sum is wanted.": ("np.sum(", "np.mean("),
    "It sums over the states: axis 1 is the actions.": ("axis=1", "axis=0"),
    "One number for each state is wanted, not their mean.": ("np.sum(", "np.mean(np.sum(", "axis=1)", "axis=1))"),
    "Logits are no log probabilities yet: they lack log_softmax.": ("(old_log - log)", "(old_logits - logits)"),
    "That is the cross entropy: the old policy's own entropy comes off.": ("(old_log - log)", "(-log)"),
    "Each action counts by its old probability; here all count alike.": ("np.exp(old_log) * ", ""),
    "Each action counts by its old probability, not by its logit.": ("np.exp(old_log) *", "old_logits *"),
    "The softmax is over the actions, axis 1.": ("(old_logits)", "(old_logits.T).T", "(logits)", "(logits.T).T"),
    "Something small is added under the logarithm.": (
        "(old_log - log)",
        "np.log((np.exp(old_log) + 1e-8) / (np.exp(log) + 1e-8))",
    ),
    "Probabilities round to 0: stay with logarithms.": ("(old_log - log)", "np.log(np.exp(old_log) / np.exp(log))"),
}


@exercise(
    "categorical_kl",
    "minitrpo.policies:categorical_kl",
    hints=(
        "KL = sum over actions of p_old * (log p_old - log p_new).",
        "Logits are no log probabilities yet: log_softmax turns them into some, and np.exp turns those into "
        "probabilities.",
    ),
    mistakes=edits("minitrpo.policies:categorical_kl", CATEGORICAL_KL_SLIPS),
)
def categorical_kl_cases() -> Iterator[Case]:
    """Yield distances by hand, of many shapes, and where probabilities round to 0 and 1."""
    three_to_one, even = np.array([[0.0, np.log(3.0)]]), np.zeros((1, 2))
    yield distance("a coin of 1/4 to 3/4 and an even one", three_to_one, even)
    yield distance("an even coin and one of 1/4 to 3/4", even, three_to_one)
    yield distance("a policy and itself", three_to_one, three_to_one)
    rng = np.random.default_rng(1)
    for shape in ((2, 2), (1, 3), (5, 3), (3, 3), (4, 7), (2, 1)):
        old, new = 2.0 * rng.standard_normal((2, *shape))
        yield distance("logits at random", old, new)
        shift = 5.0 * rng.standard_normal((2, shape[0], 1))
        yield distance("logits plus a number", old + shift[0], new + shift[1])
    yield distance("integer logits", *rng.integers(-3, 4, (2, 4, 3)))
    for small in (1e-2, 1e-4, 1e-5):
        old = rng.standard_normal((3, 4))
        yield distance("policies very near each other", old, old + small * rng.standard_normal((3, 4)))
    for far in (20.0, 40.0, 800.0, 1e5):
        for column in range(3):
            sure = far * (np.arange(3) == column)[None]
            yield distance("a certain and an even policy", sure, np.zeros((1, 3)))
            yield distance("an even and a certain policy", np.zeros((1, 3)), sure)
            yield distance("two certain policies that disagree", sure, np.roll(sure, 1, axis=1))
    high = np.array([[1e4, 1e4 + 1], [0.0, 1.0], [-1e4, 2 - 1e4]])
    yield case("states whose logits differ in level", high, np.sqrt(2) * high[::-1] + 0.3 * np.arange(2), atol=1e-6)
    yield distance("a state that is nan", np.array([[0.0, 1.0], [np.nan, 0.0]]), np.zeros((2, 2)))
    yield distance("5,000 states", *rng.standard_normal((2, 5_000, 4)))
    whole, other = rng.integers(-3, 4, (4, 3)), rng.standard_normal((4, 3))
    yield distance("whole logits of the old policy", whole, other)
    yield distance("whole logits of the new policy", other, whole)


FISHER_VECTOR_PRODUCT_SLIPS = {
    "The damping is missing: damping * v is added.": (" + damping * v", ""),
    "That is the sum over the states; F is their mean.": (" / len(observations)", ""),
    "F is a mean over the states, not over the parameters.": ("/ len(observations)", "/ len(theta)"),
    "The damping was divided by the number of states, too.": (DAMPED, "damping * v / len(observations)"),
    "It was divided by the number of states twice.": ("/ len(observations)", "/ len(observations) ** 2"),
    "The damping is added along v, damping * v, not as a number.": (DAMPED, "damping"),
    "The damping was added along theta, not along v.": (DAMPED, "damping * theta"),
    "The damping multiplies F; it is added to it.": (" + damping * v", " * (1 + damping)"),
    "F v has the wrong sign.": ("summed(v) /", "-summed(v) /"),
    "F v is 0: where both policies move the KL is 0. The old one stands still.": ("kl(old, new)", "kl(new, new)"),
    "F is the mean over the states, not that of the mean state.": ("old =", f"{FEW} = {FEW}.mean(axis=0)[None]; old ="),
    "One of the states is left out.": ("old =", f"{FEW} = {FEW}[:-1]; old ="),
    "h takes all states to one number: their sum, not the first.": (
        "np.sum(policy.kl(old, new))",
        "policy.kl(old, new)[0]",
    ),
    "J'J v leaves out the Hessian of the KL.": ("policy.kl(old, new)", "0.5 * new * new"),
    "The v is scaled to length 1 on the way.": ("summed(v)", "summed(v) / (np.linalg.norm(v) + 1e-12)"),
    "F is taken at v: it belongs to theta.": ("(theta)\n    # 2.", "\n    # 2.", "summed(v)", "summed(v)(v)"),
}


@exercise(
    "fisher_vector_product",
    "minitrpo.natural_gradient:fisher_vector_product",
    hints=(
        "make_ggnvp(f, h)(theta) is a function of v. Here f takes theta to the distribution parameters of all states, "
        "and h takes those to one number.",
        "The old policy stands still: compute its distribution parameters once, outside of f and h. policy.kl gives "
        "one KL a state; h may return their sum.",
        "F is the mean over the states: divide what comes of the sum by their number. Then add damping * v.",
    ),
    mistakes=edits("minitrpo.natural_gradient:fisher_vector_product", FISHER_VECTOR_PRODUCT_SLIPS)
    | {
        "The last entries of theta, log std, are left out.": lambda p, t, o, d: (
            lambda v: without_log_std(p, right_product(p, t, o, d)(without_log_std(p, v)))
        )
    },
)
def fisher_vector_product_cases() -> Iterator[Case]:
    """Yield products by hand, with both kinds of policies, many states, any damping and any length of v."""
    line, at, two = GaussianPolicy(1, 1, ()), np.array([0.7, -0.2, 0.0]), np.array([[1.0], [3.0]])
    axes = tuple(np.eye(3))
    yield products("no damping", line, at, two, 0.0, *axes)
    yield products("a spread of 2", line, np.array([0.7, -0.2, np.log(2.0)]), two, 0.0, *axes)
    yield products("damping 0.5", line, at, two, 0.5, *axes)
    yield products("a damping that is an integer", line, at, two, 2, *axes)
    yield products("integer observations", line, at, np.array([[1], [2]]), 0.1, *axes)
    rng = np.random.default_rng(3)
    for seed, policy in enumerate((*POLICIES, CategoricalPolicy(2, 1, (3,)))):
        for n, damping in ((1, 0.0), (2, 0.1), (6, 2.0), (9, 1e-3)):
            theta, observations, _ = steps(policy, 10 * seed + n, n)
            v = rng.standard_normal((2, len(theta)))
            yield products(
                f"{n} states and a {type(policy).__name__}", policy, theta, observations, damping, *(a := v[0], v[1], a)
            )
    theta, observations, _ = steps(POLICIES[2], 1, 5)
    v = rng.standard_normal(len(theta))
    yield products("a zero v", POLICIES[2], theta, observations, 0.1, 0 * v)
    yield products("long and short v", POLICIES[2], theta, observations, 0.1, 1e6 * v, 1e-6 * v)
    for damping in (1e-9, 1e9):
        yield products("tiny and huge damping", POLICIES[2], theta, observations, damping, v)
    for log_std in (-6.0, 6.0):
        yield products("extreme spreads", line, np.array([0.7, -0.2, log_std]), two, 0.1, *axes)
    sure = np.concatenate([0.1 * np.arange(6.0), [0.0, 12.0, 0.0]])
    yield products(
        "an almost certain policy", CategoricalPolicy(2, 3, ()), sure, observations[:, :2], 0.0, np.arange(9.0)
    )
    for n in (500, 4097):
        yield products(f"{n:,} states", line, at, np.linspace(0.0, 4.0, n)[:, None], 0.3, axes[0] - 2 * axes[1])
    yield products("a state that comes three times", line, at, np.array([[1.0], [3.0], [3.0], [3.0]]), 0.1, *axes)
    yield tried("many parameters", memory, shown="what one product takes in memory")


def products(kind: str, policy: Policy, theta: Array, observations: Array, damping: float, *vectors: Array) -> Case:
    """Return a case that builds the product once and asks it for several vectors, one after the other."""

    def run(f: Candidate) -> Any:
        product = f(policy, theta.copy(), observations.copy(), damping)
        need(product is not None, "it returned None: is there a return statement?")
        need(callable(product), "it should return a function v -> (F + damping I) v, not its value")
        results: dict[str, Any] = {}
        for v in vectors:
            given = v.copy()
            again = " again" * sum(v is other for other in vectors[: len(results)])
            results[f"(F + damping I) v for v = {short(v)}{again}"] = product(given)
            need(np.array_equal(v, given), "the product changed the v that it was given: work on a copy")
        return results

    shown = f"{short(policy)}, theta = {short(theta)}, observations = {short(observations)}, damping = {damping:g}"
    return tried(kind, run, rtol=1e-6, atol=1e-15, shown=shown)


def memory(f: Candidate) -> None:
    """Compare the memory of a product with that of the whole matrix."""
    policy = GaussianPolicy(60, 6, ())
    theta, observations, _ = steps(policy, 0, 3)
    most, whole = megabytes(lambda: f(policy, theta, observations, 0.1)(theta)), 8e-6 * len(theta) ** 2
    text = f"with {len(theta)} parameters one product took {most:.1f} MB, and all of F is {whole:.1f} MB"
    need(most < whole / 2, f"{text}: the point is never to write F down")
