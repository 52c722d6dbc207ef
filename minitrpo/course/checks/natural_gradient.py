"""Checks of lecture 02: distance between policies, and the Fisher matrix as a product."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Candidate, Case, case, megabytes, need, remark
from minitrpo.course.checks.framework.kinds import POLICIES, near, steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short, value_words
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


@exercise(
    "minitrpo.policies:gaussian_kl",
    r"""
        ? For each joint: log(new std / old std) + (old variance + squared shift of the mean) / (2 new variance) - 1/2.
        ? The inputs are logarithms of std: log(new std / old std) is a difference, and the variance is exp(2 log_std).
        ? All four arrays are (N, A). Joints are independent, so their distances add up: sum over axis 1.
        return right(mean, log_std, old_mean, old_log_std) :: computes KL(new || old) :: compute KL(old || new), an \
            average over actions of the old policy
        np.sum( => np.mean( :: takes the mean over the entries of an action :: take their sum
        (2 * old_log => (2 * log && (-2 * log => (-2 * old_log :: divides by the old variance :: divide by the new
        (2 * => (1 * && (-2 * => (-1 * :: takes the standard deviation, exp(log_std), for the variance :: take its \
            square, exp(2 log_std)
        (2 * => (4 * && (-2 * => (-4 * :: takes the variance, exp(2 log_std), for sigma and squares it again \
            :: square exp(log_std) once
        return np.sum(np.log(log_std / old_log_std) + (old_log_std**2 + (mean - old_mean) ** 2) / (2 * log_std**2) \
            - 0.5, axis=1) :: takes log_std for sigma :: take exp(log_std)
        return np.sum(log_std - old_log_std + (old_log_std**2 + (mean - old_mean) ** 2) / (2 * log_std**2) - 0.5, \
            axis=1) :: takes log_std for sigma in the squares :: take exp(log_std)
        apart * apart => np.abs(apart) :: does not square the shift of the mean :: square it
        0.5 * square => square :: does not halve variance and shift :: halve them
        - 0.5, axis=1) => , axis=1) - 0.5 :: takes 1/2 off once :: take it off for every joint
        - 0.5, => , :: takes no 1/2 off at the end :: be 0 for a policy and itself
        log_std - old_log_std => 2 * ($) :: has the logarithm of the variances :: halve it
        * np.exp(-2 * log_std) => / (np.exp(2 * log_std) + 1e-8) :: adds something small to the variance :: add nothing
    """,
    lecture="02",
)
def _gaussian_kl() -> Iterator[Case]:
    zero, one, two = np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), np.log(2.0))
    yield near("a policy and itself", one, zero, one, zero)
    yield near("means 3 apart", zero, zero, 3 * one, zero)
    yield near("from std 1 to std 2", zero, zero, zero, two)
    yield near("from std 2 to std 1", zero, two, zero, zero)
    rng = np.random.default_rng(0)
    for shape in ((1, 2), (2, 1), (7, 2)):
        yield near("numbers at random", *rng.standard_normal((4, *shape)).round(2))
    for apart in (1e-5, 1e5):
        yield near("policies very near each other, and far apart", zero, zero, apart * one, zero)
    for log_std in (-25.0, -12.0, 12.0, 25.0):
        yield near("extreme spreads", zero, log_std * one, np.exp(log_std) * one, log_std * one + 0.3)
    yield remark(near("whole numbers", *rng.integers(-2, 3, (4, 3, 2))))
    yield remark(near("a state that is nan", zero, zero, np.nan * zero, zero))


@exercise(
    "minitrpo.policies:categorical_kl",
    r"""
        ? KL = sum over actions of p_old * (log p_old - log p_new).
        ? Logits are not log probabilities yet. log_softmax turns them into log probabilities, and np.exp turns \
            these into probabilities.
        return right(logits, old_logits) :: computes KL(new || old) :: compute KL(old || new), an average over \
            actions of the old policy
        np.sum( => np.mean( :: divides the weighted sum by the number of actions :: take the sum, because its \
            weights add up to 1 already
        np.sum(np.exp(old_log) * => np.mean(1.0 * :: takes the plain mean over the actions \
            :: multiply each difference by its old probability, and add up
        (old_log - log) => (old_logits - logits) :: takes the difference of the logits for that of the log \
            probabilities :: apply log_softmax to both
        (log_softmax(old_logits), log_softmax(logits)) => (old_logits, logits) :: uses logits as if they were log \
            probabilities :: apply log_softmax to both
        (old_log - log) => (-log) :: is the cross entropy :: also subtract the entropy of the old policy
        np.exp(old_log) * =>  :: gives all actions the same weight :: multiply each difference by its old probability
        np.exp(old_log) * => np.exp(old_logits) * :: weighs each action by exp(logit) :: divide those by their sum
        np.exp(old_log) * => np.exp(log) * :: weighs each action by its new probability :: weigh it by its old
        (old_log - log) => np.log((np.exp(old_log) + 1e-8) / (np.exp(log) + 1e-8)) \
            :: adds something small under the logarithm :: add nothing
        (old_log - log) => np.log(np.exp(old_log) / np.exp(log)) \
            :: divides probabilities, which round to 0 :: subtract their logarithms
    """,
    lecture="02",
)
def _categorical_kl() -> Iterator[Case]:
    three_to_one, even = np.array([[0.0, np.log(3.0)]]), np.zeros((1, 2))
    yield near("a coin of 1/4 to 3/4 and an even one", three_to_one, even)
    yield near("an even coin and one of 1/4 to 3/4", even, three_to_one)
    yield near("a policy and itself", three_to_one, three_to_one)
    rng = np.random.default_rng(1)
    for shape in ((2, 2), (1, 3), (4, 7)):
        yield near("logits at random", *rng.standard_normal((2, *shape)).round(2))
    yield near("policies very near each other", three_to_one, three_to_one + np.array([[0.0, 1e-4]]))
    for far in (20.0, 40.0, 800.0, 1e5):
        for sure in far * np.eye(3)[:, None]:
            yield near("a certain and an even policy", sure, 0 * sure)
            yield near("an even and a certain policy", 0 * sure, sure)
    high = np.array([[1e4, 1e4 + 1], [0.0, 1.0], [-1e4, 2 - 1e4]])
    yield case("states whose logits differ in level", high, high[::-1] + 0.3 * np.arange(2), atol=1e-6)
    yield remark(near("a state that is nan", np.array([[0.0, 1.0], [np.nan, 0.0]]), np.zeros((2, 2))))


@exercise(
    "minitrpo.natural_gradient:fisher_vector_product",
    r"""
        ? make_ggnvp(f, h)(theta) is a function of v. f takes theta to distribution parameters, h takes those to a \
            number.
        ? The old policy is constant: compute its distribution parameters once, outside of f and h. h may return the \
            sum of policy.kl.
        ? F is the mean over the states: divide the product that belongs to the sum by the number of states. Then add \
            damping * v.
        + damping * v =>  :: leaves out the damping :: add damping * v
        damping * v => damping :: adds the damping as a number :: add damping * v
        damping * v => damping * v / len(observations) :: divides the damping by the number of states :: add damping * v
        + damping * v => * (1 + damping) :: multiplies F by the damping :: add damping * v
        / len(observations) =>  :: adds up the states :: take their mean
        / len(observations) => / observations.size :: divides by all numbers of the states :: divide by their rows
        kl(old, new) => kl(new, new) :: has F v = 0, as where both policies move :: keep the old policy as it was
        np.sum(policy.kl(old, new)) => policy.kl(old, new)[0] :: looks at the KL of the first state alone :: add up \
            the KL of all states
        old = => observations = observations.mean(axis=0)[None]; old = :: computes F at the mean of the states :: \
            compute the mean of F over the states
        summed(v) => summed(v) / (np.linalg.norm(v) + 1e-12) :: scales v to length 1 :: take it as it is
    """,
    lecture="02",
)
def _fisher_vector_product() -> Iterator[Case]:
    line, at, two = GaussianPolicy(1, 1, ()), np.array([0.7, -0.2, 0.0]), np.array([[1.0], [3.0]])
    axes = tuple(np.eye(3))
    for damping in (0.0, 0.5):
        yield products(f"damping {damping}", line, at, two, damping, *axes)
    for log_std in (np.log(2.0), -6.0, 6.0):
        yield products("other spreads", line, np.array([0.7, -0.2, log_std]), two, 0.1, *axes)
    rng = np.random.default_rng(3)
    for policy in POLICIES:
        for n, damping in ((1, 0.0), (6, 2.0)):
            theta, observations, _ = steps(policy, n, n)
            v, w = rng.standard_normal((2, len(theta)))
            yield products(f"states of a {type(policy).__name__}", policy, theta, observations, damping, v, w, v)
    yield products("zero, long and short v", policy, theta, observations, 0.1, 0 * v, 1e6 * v, 1e-6 * v)
    still = np.array([0.0, 0.0, 1.0, 1.0])  # the biases of both actions
    yield products("a v that leaves the policy as it is", CategoricalPolicy(1, 2, ()), np.zeros(4), two, 1e-9, still)
    many = np.linspace(0.0, 4.0, 4097)[:, None]
    yield products("200 states", line, at, many[:200], 0.3, axes[0] - 2 * axes[1])
    yield remark(products("4,097 states", line, at, many, 0.3, axes[0] - 2 * axes[1]))
    yield Case("many parameters", memory, shown="what one product takes in memory")


def products(kind: str, policy: Policy, theta: Array, observations: Array, damping: float, *vectors: Array) -> Case:
    """Return a case that builds the product once and asks it for several vectors, one after the other."""

    def run(f: Candidate) -> Any:
        product, given = f(policy, theta.copy(), observations.copy(), damping), [v.copy() for v in vectors]
        need(
            callable(product), f"it should return a function v -> (F + damping I) v; it returned {value_words(product)}"
        )
        results = tuple(product(v) for v in given)
        need(np.array_equal(vectors, given), "the product changed the v that it was given: work on a copy")
        return results

    shown = f"{short(policy)}, theta = {short(theta)}, observations = {short(observations)}, damping = {damping:g}, v ="
    return Case(kind, run, rtol=1e-6, atol=1e-15, shown=f"{shown} {'; '.join(map(short, vectors))}")


def memory(f: Candidate) -> None:
    """Compare the memory of a product with that of the whole matrix."""
    policy = GaussianPolicy(60, 6, ())
    theta, observations, _ = steps(policy, 0, 3)
    most, whole = megabytes(lambda: f(policy, theta, observations, 0.1)(theta)), 8e-6 * len(theta) ** 2
    text = f"with {len(theta)} parameters one product took {most:.1f} MB, and all of F is {whole:.1f} MB"
    need(most < whole / 2, f"{text}: the point is never to write F down")
