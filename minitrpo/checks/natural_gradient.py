"""Checks of lecture 02: distance between policies, and the Fisher matrix as a product."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from autograd.differential_operators import make_ggnvp

from minitrpo.checks.differential import Candidate, Case, case, megabytes, need, tried
from minitrpo.checks.policy_gradient import POLICIES, steps, without_log_std
from minitrpo.checks.register import exercise
from minitrpo.checks.words import short
from minitrpo.natural_gradient import fisher_vector_product as right_product
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy, log_softmax
from minitrpo.policies import categorical_kl as right_categorical
from minitrpo.policies import gaussian_kl as right_gaussian


def distance(kind: str, *arguments: Any) -> Case:
    """Return a case in which each state's KL counts by its own size, and a right 0 may be a rounding error away."""
    return case(kind, *arguments, each=True, atol=1e-12)


def joints(m0: Array, s0: Array, m1: Array, s1: Array) -> Any:
    """Return the KL joint by joint, (N, A), not yet summed."""
    return s1 - s0 + 0.5 * (np.exp(2 * s0) + (m0 - m1) ** 2) * np.exp(-2 * s1) - 0.5


@exercise(
    "gaussian_kl",
    "minitrpo.policies:gaussian_kl",
    hints=(
        "Each joint on its own first: log(new std / old std) + (old variance + squared shift of the mean) / (2 new "
        "variance) - 1/2.",
        "The inputs are logarithms of std: log(new std / old std) is a difference, and the variance is exp(2 log_std).",
        "All four arrays are (N, A). Joints are independent, so their distances add up: sum over axis 1.",
    ),
    mistakes={
        "That is the KL the other way round: the old policy comes first.": lambda a, b, c, d: right_gaussian(
            c, d, a, b
        ),
        "One number for each state is wanted: sum over the joints, axis 1.": joints,
        "That is the mean over the joints; their distances add up.": lambda *a: joints(*a).mean(axis=1),
        "It sums over the states: axis 1 is the joints.": lambda *a: joints(*a).sum(axis=0),
        "It sums over everything: one number for each state is wanted.": lambda *a: joints(*a).sum(),
        "It divides by the old variance; distance is measured in the new one.": lambda a, b, c, d: (
            d - b + 0.5 * (np.exp(2 * d) + (a - c) ** 2) * np.exp(-2 * b) - 0.5
        ).sum(axis=1),
        "The variance is exp(2 log_std); exp(log_std) is the standard deviation.": lambda a, b, c, d: (
            d - b + 0.5 * (np.exp(b) + (a - c) ** 2) * np.exp(-d) - 0.5
        ).sum(axis=1),
        "The shift of the mean is squared.": lambda a, b, c, d: joints(np.sqrt(np.abs(a - c)), b, 0 * c, d).sum(axis=1),
        "1/2 is taken off for every joint, not once.": lambda *a: (joints(*a) + 0.5).sum(axis=1) - 0.5,
        "The 1/2 at the end is missing: the KL of a policy with itself is 0.": lambda *a: (joints(*a) + 0.5).sum(
            axis=1
        ),
        "The logarithm of the spreads is upside down: new over old.": lambda a, b, c, d: (
            joints(a, b, c, d) - 2 * (d - b)
        ).sum(axis=1),
        "The logarithm is of the standard deviations, or half that of the variances.": lambda a, b, c, d: (
            joints(a, b, c, d) + d - b
        ).sum(axis=1),
        "The spreads differ, too: the means are half of it.": lambda a, b, c, d: joints(a, d, c, d).sum(axis=1),
        "That is the quadratic model, good for small steps only.": lambda a, b, c, d: (
            0.5 * (a - c) ** 2 * np.exp(-2 * b) + (d - b) ** 2
        ).sum(axis=1),
        "Something small is added to the variance: narrow policies feel it.": lambda a, b, c, d: (
            d - b + 0.5 * (np.exp(2 * b) + (a - c) ** 2) / (np.exp(2 * d) + 1e-8) - 0.5
        ).sum(axis=1),
    },
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
    yield distance(
        "a state that is nan", np.zeros((3, 1)), np.zeros((3, 1)), np.array([[1.0], [np.nan], [2.0]]), one * 0
    )
    yield distance("3,000 states", *rng.standard_normal((4, 3000, 3)))


def weighted(old: Array, new: Array) -> Any:
    """Return p log(p / q) action by action, (N, A), not yet summed."""
    return np.exp(log_softmax(old)) * (log_softmax(old) - log_softmax(new))


def plain_softmax(logits: Array) -> Array:
    """Return probabilities as the formula has them, which overflows."""
    return np.asarray(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))


@exercise(
    "categorical_kl",
    "minitrpo.policies:categorical_kl",
    hints=(
        "KL = sum over actions of p_old * (log p_old - log p_new).",
        "Logits are no log probabilities yet: log_softmax turns them into some, and np.exp turns those into "
        "probabilities.",
    ),
    mistakes={
        "That is the KL the other way round: the old policy comes first.": lambda old, new: right_categorical(new, old),
        "Its sign is turned: a KL is never negative.": lambda old, new: -right_categorical(old, new),
        "One number for each state is wanted: sum over the actions, axis 1.": weighted,
        "That is the mean over the actions; their sum is wanted.": lambda old, new: weighted(old, new).mean(axis=1),
        "It sums over the states: axis 1 is the actions.": lambda old, new: weighted(old, new).sum(axis=0),
        "One number for each state is wanted, not their mean.": lambda old, new: weighted(old, new).sum(axis=1).mean(),
        "Logits are no log probabilities yet: they lack log_softmax.": lambda old, new: (
            np.exp(log_softmax(old)) * (old - new)
        ).sum(axis=1),
        "That is the cross entropy: the old policy's own entropy comes off.": lambda old, new: (
            -np.sum(np.exp(log_softmax(old)) * log_softmax(new), axis=1)
        ),
        "Each action counts by its old probability; here all count alike.": lambda old, new: (
            log_softmax(old) - log_softmax(new)
        ).sum(axis=1),
        "Something small is added under the logarithm: it hides improbable actions.": lambda old, new: (
            plain_softmax(old) * np.log((plain_softmax(old) + 1e-8) / (plain_softmax(new) + 1e-8))
        ).sum(axis=1),
        "Probabilities round to 0 and exponentials overflow: stay with logarithms, as log_softmax does.": (
            lambda old, new: (plain_softmax(old) * np.log(plain_softmax(old) / plain_softmax(new))).sum(axis=1)
        ),
    },
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
    yield case("states whose logits differ in level", high, np.sqrt(2) * high[::-1] + 0.3 * np.arange(2), atol=1e-9)
    yield distance("a state that is nan", np.array([[0.0, 1.0], [np.nan, 0.0]]), np.zeros((2, 2)))
    yield distance("3,000 states", *rng.standard_normal((2, 3000, 4)))


def summed(policy: Policy, theta: Array, observations: Array, of_kl: Any) -> Any:
    """Return a generalised Gauss-Newton product whose inner function is of_kl(old, new)."""
    old = policy.distribution(theta, observations)
    return make_ggnvp(lambda t: policy.distribution(t, observations), lambda new: of_kl(old, new))(theta)


def altered(of_product: Any) -> Candidate:
    """Return a Fisher-vector product with one thing changed: of_product(F v, v, damping, N, policy, theta)."""

    def product(policy: Policy, theta: Array, observations: Array, damping: float) -> Callable[[Array], Any]:
        undamped = right_product(policy, theta, observations, 0.0)
        return lambda v: of_product(undamped(v), v, damping, len(observations), policy, theta)

    return product


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
    mistakes={
        "The damping is missing: damping * v is added.": altered(lambda fv, v, d, n, p, t: fv),
        "That is the sum over the states; F is their mean.": altered(lambda fv, v, d, n, p, t: n * fv + d * v),
        "The damping was divided by the number of states, too.": altered(lambda fv, v, d, n, p, t: fv + d * v / n),
        "It was divided by the number of states twice.": altered(lambda fv, v, d, n, p, t: fv / n + d * v),
        "The damping is added along v, damping * v, not as a number.": altered(lambda fv, v, d, n, p, t: fv + d),
        "The damping was added along theta, not along v.": altered(lambda fv, v, d, n, p, t: fv + d * t),
        "The damping multiplies F; it is added to it.": altered(lambda fv, v, d, n, p, t: (1 + d) * fv),
        "F v has the wrong sign.": altered(lambda fv, v, d, n, p, t: -fv + d * v),
        "F v is 0: where both policies move with theta the KL is 0 everywhere. The old one stands still.": altered(
            lambda fv, v, d, n, p, t: d * v
        ),
        "The last entries of theta, log std, are left out.": altered(
            lambda fv, v, d, n, p, t: without_log_std(p, fv) + d * v
        ),
        "F is taken at the mean state: it is the mean over the states.": lambda p, t, o, d: right_product(
            p, t, o.mean(axis=0, keepdims=True), d
        ),
        "One of the states is left out.": lambda p, t, o, d: right_product(p, t, o[:-1], d),
        "J'J v leaves out the Hessian of the KL, which weighs the outputs.": lambda p, t, o, d: (
            lambda v: summed(p, t, o, lambda old, new: 0.5 * (new * new).sum())(v) / len(o) + d * v
        ),
        "The v is scaled to length 1 on the way.": altered(
            lambda fv, v, d, n, p, t: fv / (np.linalg.norm(v) + 1e-12) + d * v
        ),
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
