"""Checks of lecture 01: the policy gradient."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.kinds import POLICIES, masks, near, steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.policies import CategoricalPolicy, GaussianPolicy

SURE = np.concatenate([0.1 * np.arange(6.0), [40.0, 0.0, 0.0]])  # of a policy with three actions, one almost certain


def slope(kind: str, *arguments: Any) -> Case:
    """Return a case that finite differences pass, too."""
    return case(kind, *arguments, rtol=1e-6, atol=1e-7)


@exercise(
    "minitrpo.policies:gaussian_log_prob",
    r"""
        ? For one number: log N(a; m, s^2) = -(a - m)^2 / (2 s^2) - log s - log(2 pi) / 2, with log s given.
        ? The entries of one action are drawn independently: their probabilities multiply, so their logarithms add up.
        ? Work on whole arrays (N, A) and sum over the second axis at the end.
        np.sum( => np.mean( :: takes the mean over the entries of an action :: sum over them
        return np.log(np.prod(np.exp(-0.5 * ((actions - mean) / np.exp(log_std)) ** 2) / (np.exp(log_std) * \
            np.sqrt(2 * np.pi)), axis=1)) :: is the logarithm of a product, which rounds to 0 for an improbable action \
            :: add up the logarithms of the entries
        return right(mean, log_std, actions) / np.log(10) :: is a logarithm to base 10 :: be the natural one, np.log
        0.5 * np.log( => 0.5 * np.log10( :: takes a logarithm to base 10 :: take the natural one, np.log
        return np.exp(right(mean, log_std, actions)) :: is the density :: be its logarithm
        - 0.5 * np.log(2 * np.pi) =>  :: leaves out log(2 pi) / 2 :: take it off for each entry
        return right(mean, log_std, actions) + (mean.shape[1] - 1) * 0.5 * np.log(2 * np.pi) \
            :: takes log(2 pi) / 2 off once :: take it off for each entry
        - log_std - => - :: leaves log sigma out :: take it off
        return right(mean, log_std / 2, actions) :: takes exp(log_std) for the variance :: take it for sigma
        return right(mean, np.log(np.abs(log_std)), actions) :: takes log_std for sigma :: take exp(log_std)
        return right(mean, log_std[:1] + 0 * log_std, actions) :: has one row's log_std for all :: have each row's own
        -0.5 * z * z => -z * z :: does not halve the squared distance :: halve it
        -0.5 * z * z => -0.5 * z :: does not square the distance from the mean :: square it
    """,
    lecture="01",
)
def _gaussian_log_prob() -> Iterator[Case]:
    zero, one, two = np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), np.log(2.0))
    yield near("an action at the mean", zero, zero, zero)
    yield near("two standard deviations off", one, two, np.full((1, 1), 5.0))
    rng = np.random.default_rng(0)
    for shape in ((1, 2), (2, 1), (6, 2), (5_000, 3)):
        yield near("numbers at random", *rng.standard_normal((3, *shape)).round(2))
    for far in (6.0, 50.0, -1e4, 1e9):
        yield near("improbable actions", np.zeros((2, 2)), np.zeros((2, 2)), np.array([[far, 1.0], [0.5, -far]]))
    for log_std in (-25.0, -12.0, 12.0, 25.0):
        yield near("extreme spreads", zero, log_std * one, 0.7 * np.exp(log_std) * one)
    yield remark(near("whole numbers", *rng.integers(-3, 4, (3, 4, 2))))
    yield remark(near("means far from 0", 1e6 * one, zero, 1e6 * one + 0.3))
    yield remark(near("an action that is nan", zero, zero, np.nan * zero))


@exercise(
    "minitrpo.policy_gradient:score",
    r"""
        ? Write a function of theta alone that returns one number, log pi(a|s); autograd's `grad` makes its slope of it.
        ? policy.distribution wants a table of observations (N, D) and policy.log_prob a table of actions: here N = 1.
        ? observation[None] has shape (1, D), np.array([action]) one row; take entry [0] of what log_prob returns.
        policy.log_prob( => np.exp(policy.log_prob( && [0] => )[0] :: is the slope of pi :: be that of log pi
        observation[None] => observation :: gives policy.distribution one observation (D,) :: give it a table (1, D), \
            which observation[None] is
        observation[None] => [observation] :: gives policy.distribution a list :: give it an array (1, D), \
            which observation[None] is
        return -right(policy, theta, observation, action) :: goes downhill :: be the slope of log pi, not of -log pi
        return np.asarray( => return (lambda g: g / np.linalg.norm(g))( :: has length 1 :: have a length of its own
        kept = np.arange(len(theta)) < len(theta) - policy.action_size * (not policy.discrete); \
            return kept * right(policy, theta, observation, action) \
            :: leaves out the last entries of theta, log std :: count them
    """,
    lecture="01",
)
def _score() -> Iterator[Case]:
    line, coin = GaussianPolicy(1, 1, ()), CategoricalPolicy(1, 2, ())
    at, two, three = np.array([0.5, 0.0, np.log(2.0)]), np.array([2.0]), np.array([3.0])
    yield slope("mean w s + b", line, at, two, np.array([5.0]))
    yield slope("a fair coin", coin, np.zeros(4), three, np.int64(1))
    yield slope("an action that is a Python integer", coin, np.array([0.1, -0.3, 0.2, 0.5]), three, 1)
    for seed, policy in enumerate(POLICIES):
        theta, states, actions = steps(policy, seed, 2)
        for s, a in zip(states, actions, strict=True):
            yield slope("states and actions at random", policy, theta, s, a)
    for away in (8.0, -50.0, 300.0):
        yield slope("improbable actions", line, at, two, np.array([1.0 + away]))
    yield slope("a policy that is almost certain", CategoricalPolicy(2, 3, ()), SURE, np.ones(2), 1)


@exercise(
    "minitrpo.advantages:discounted_sums",
    r"""
        ? Work backwards: y_t needs y_{t+1}.
        ? At a step where `last` is true there is no y_{t+1} of the same episode: y_t = x_t.
        value if is_last else =>  :: lets the next episode count :: start afresh after a `last` step
        = value if => = 0.0 if :: is 0 at a last step :: be that step's own reward there
        last[::-1].tolist() => [False, *last[::-1][:-1].tolist()] :: starts afresh too early :: wait for a `last` step
        discount * total => total :: does not discount :: be x_t + discount * y_{t+1}
        return right(x, discount, last)[::-1] :: has the last step first :: turn the list round at the end
        return np.array( => return np.array(backwards[::-1]).astype(x.dtype); ( :: cuts fractions off, as an array \
            like whole `x` does :: be made of floats
        if is_last => if is_last or value == 0 :: ends an episode at a reward of 0 :: end it at a `last` step
        return np.cumsum(x[::-1])[::-1] :: has neither discount nor episodes :: be x_t + discount * y_{t+1}
        return right(x[::-1], discount, np.r_[True, last[:-1]][::-1])[::-1] :: adds up the past :: add what comes later
        start = np.r_[0, 1 + np.flatnonzero(last)][np.r_[0, np.cumsum(last)[:-1]]]; \
            powers = np.float64(discount) ** (np.arange(len(x)) - start); return right(x * powers, 1.0, last) / powers \
            :: divides by powers of the discount, which may be 0 :: multiply by them
    """,
    lecture="01",
)
def _discounted_sums() -> Iterator[Case]:
    x = np.array([1.0, 2.0, 4.0])
    yield case("one episode", x, 0.5, masks("..t")[0])
    yield case("two episodes", x, 0.5, masks(".tt")[0])
    yield case("whole rewards", np.array([1, 2, 3, 3]), 0.5, masks("..tt")[0])
    yield case("a reward of 0 inside", np.array([1.0, 0.0, 4.0, 0.0, 2.0]), 0.5, masks("..t.t")[0])
    rng = np.random.default_rng(0)
    for scale, discount in product((1.0, 1e-9, 1e9), (0.0, 0.3, 0.99, 1.0)):
        ends = ".t.t..............t"
        yield case("rewards of both signs", scale * rng.standard_normal(len(ends)), discount, masks(ends)[0])
    for discount in (0.5, 0.9999):
        yield case("an episode of 3,000 steps", rng.standard_normal(3000), discount, np.arange(3000) == 2999)
    yield case("no steps", np.zeros(0), 0.9, np.zeros(0, bool))
    yield remark(case("a reward that is nan", np.array([1.0, 2.0, np.nan]), 0.5, masks("..t")[0]))


@exercise(
    "minitrpo.policy_gradient:policy_gradient",
    r"""
        ? The mean of scores times advantages is the gradient of one number: of the mean of log pi(a|s) * A.
        ? Write that number as a function of theta, with policy.distribution and policy.log_prob, for all N steps at \
            once; then `grad`.
        ? log_prob and advantages both have shape (N,); multiply them step by step, take np.mean, give it to grad.
        np.mean( => np.sum( :: is the sum over the steps :: be their mean
        advantages) => 1.0) :: leaves the advantages out :: multiply each step's score by its own
        advantages) => advantages[:, None]) :: has each score times every advantage :: multiply it by its own
        advantages) => (advantages - advantages.mean())) :: takes their mean off the advantages :: take them as they are
        advantages) => (advantages - advantages.mean()) / (advantages.std() + 1e-8)) \
            :: standardises the advantages :: take them as they are
        advantages) => (advantages - advantages.mean()) / advantages.std()) \
            :: standardises the advantages, by a spread that may be 0 :: take them as they are
        advantages) => np.maximum(advantages, 0)) :: counts positive advantages alone :: count negative ones, too
        advantages) => advantages / max(len(actions) - 1, 1) * len(actions)) :: divides by N - 1 :: divide by N
        policy.log_prob( => np.exp(policy.log_prob( && actions) * => actions)) * :: is a slope of pi :: be one of log pi
    """,
    lecture="01",
)
def _policy_gradient() -> Iterator[Case]:
    line, at = GaussianPolicy(1, 1, ()), np.array([0.5, 0.0, np.log(2.0)])
    states, actions = np.array([[2.0], [0.0]]), np.array([[5.0], [-2.0]])
    yield slope("one step with score (2, 1, 3)", line, at, states[:1], actions[:1], np.array([10.0]))
    yield slope("two steps, scores (2, 1, 3) and (0, -0.5, 0)", line, at, states, actions, np.array([1.0, -2.0]))
    rng = np.random.default_rng(3)
    for n, policy in zip((7, 3, 5, 1100, 12), POLICIES, strict=True):
        a, played = rng.standard_normal(n), (policy, *steps(policy, n, n))
        yield slope("advantages of both signs", *played, a)
        yield slope("large positive advantages", *played, a + 100.0)
        yield slope("an advantage at the last step only", *played, 2.0 * (np.arange(n) == n - 1))
        for size in (1e9, 1e-9):
            yield case("huge and tiny advantages", *played, size * a, rtol=1e-6, atol=1e-6 * size)
    sure = CategoricalPolicy(2, 3, ()), SURE, rng.random((4, 2)), np.array([0, 1, 2, 0])
    yield slope("improbable actions", *sure, rng.random(4))
    yield remark(slope("an advantage that is nan", line, at, states, actions, np.array([np.nan, 1.0])))
