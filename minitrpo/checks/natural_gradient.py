"""Checks of lecture 02: distance between policies, and the Fisher matrix as a product."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from autograd import hessian

from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import close
from minitrpo.checks.register import examined as exercise
from minitrpo.natural_gradient import mean_kl
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy, gaussian_log_prob

Product = Callable[[Array], Array]


def near(actual: Any, expected: Any, symptom: str, tolerance: float = 1e-8) -> None:
    """As `close`, but a right 0 may be a rounding error away, and a short answer is shown."""
    close(actual, expected, symptom, np.inf)
    got, want = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    allowed = tolerance * max(1.0, float(np.max(np.abs(want), initial=0.0)))
    error = float(np.max(np.abs(got - want), initial=0.0))
    shown = f"yours: {', '.join(f'{x:.4g}' for x in got.ravel())}; " if got.size <= 4 else ""
    assert error <= allowed, f"{symptom} ({shown}off by {error:.1e})"


@exercise(
    "gaussian_kl",
    "minitrpo.policies:gaussian_kl",
    "Each joint on its own first: log(new std / old std) + (old variance + squared shift of the mean) / (2 new "
    "variance) - 1/2.",
    "The inputs are logarithms of std: log(new std / old std) is a difference, and the variance is exp(2 log_std).",
    "All four arrays are (N, A). Joints are independent, so their distances add up: sum over axis 1.",
)
def gaussian_kl(candidate: Candidate) -> None:
    """Check KL(old || new) of diagonal Gaussians: by hand, its direction, and against quadrature."""
    zero, one = np.zeros((3, 2)), np.ones((3, 2))
    symptom = "The KL of a policy with itself is 0, one number for each state"
    near(candidate(one, zero, one, zero), np.zeros(3), symptom)
    _gaussian_by_hand(candidate)
    narrow = np.full((2, 1), -12.0)
    near(
        candidate(np.array([[0.0], [1e-5]]), narrow, np.zeros((2, 1)), narrow),
        [0.0, 0.5e-10 * np.exp(24.0)],
        "For very narrow policies (std exp(-12)) it is off: is something added to the variance?",
    )
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (5, 1), (1, 6), (3, 3), (7, 2)):
        means, stds = rng.standard_normal((2, *shape)), 0.7 * rng.standard_normal((2, *shape))
        arguments = (means[0], stds[0], means[1], stds[1])
        symptom = f"For arrays of shape {shape} it is not the mean of log old - log new under old"
        near(candidate(*arguments), by_quadrature(*arguments), symptom)


def _gaussian_by_hand(candidate: Candidate) -> None:
    zero, two = np.zeros((1, 1)), np.full((1, 1), np.log(2.0))
    near(
        candidate(zero, zero, np.array([[3.0]]), zero),
        [4.5],
        "Between N(0, 1) and N(3, 1) the KL is 3^2 / 2 = 4.5",
        1e-6,
    )
    near(
        candidate(zero, two, np.array([[3.0]]), two),
        [4.5 / 4],
        "With both std 2 instead of 1 a shift of the mean by 3 counts a quarter, 4.5 / 4: distance is measured in std",
        1e-6,
    )
    wider = "From old std 1 to new std 2 the KL is log 2 + 1/8 - 1/2 = 0.318; the other way round it is 0.807"
    near(candidate(zero, zero, zero, two), [np.log(2.0) + 0.125 - 0.5], wider, 1e-6)
    narrower = "From old std 2 to new std 1 the KL is -log 2 + 2 - 1/2 = 0.807; the other way round it is 0.318"
    near(candidate(zero, two, zero, zero), [-np.log(2.0) + 2.0 - 0.5], narrower, 1e-6)
    pair = np.array([[1.0, 2.0]])
    near(
        candidate(0 * pair, 0 * pair, pair, 0 * pair),
        [2.5],
        "Two joints of std 1, moved by 1 and by 2, are 1/2 + 4/2 = 2.5 apart: the distances of joints add up",
        1e-6,
    )


def by_quadrature(old_mean: Array, old_log_std: Array, mean: Array, log_std: Array) -> Array:
    """Return E_old[log old - log new] by Gauss-Hermite quadrature, exact because the log ratio is quadratic."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    total = np.zeros(len(mean))
    for joint in range(mean.shape[1]):
        m0, s0, m1, s1 = (x[:, joint : joint + 1] for x in (old_mean, old_log_std, mean, log_std))
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            actions = m0 + np.exp(s0) * node
            total += weight * (gaussian_log_prob(m0, s0, actions) - gaussian_log_prob(m1, s1, actions))
    return total


@exercise(
    "categorical_kl",
    "minitrpo.policies:categorical_kl",
    "KL = sum over actions of p_old * (log p_old - log p_new).",
    "Logits are no log probabilities yet: log_softmax turns them into some, and np.exp turns those into probabilities.",
)
def categorical_kl(candidate: Candidate) -> None:
    """Check KL(old || new) of softmax distributions: by hand, against the definition, and far from the middle."""
    same = np.array([[0.3, -1.0, 2.0], [5.0, 5.0, 5.0]])
    near(candidate(same, same), np.zeros(2), "The KL of a policy with itself is 0, one number for each state")
    three_to_one, even = np.array([[0.0, np.log(3.0)]]), np.zeros((1, 2))
    near(
        candidate(three_to_one, even),
        [0.25 * np.log(0.5) + 0.75 * np.log(1.5)],
        "From probabilities (1/4, 3/4) to (1/2, 1/2) the KL is 0.131; the other way round it is 0.144",
    )
    near(
        candidate(even, three_to_one),
        [0.5 * np.log(2.0) + 0.5 * np.log(2.0 / 3.0)],
        "From probabilities (1/2, 1/2) to (1/4, 3/4) the KL is 0.144; the other way round it is 0.131",
    )
    rng = np.random.default_rng(1)
    for shape in ((1, 2), (5, 3), (3, 3), (4, 7), (2, 1)):
        old, new = 2.0 * rng.standard_normal((2, *shape))
        p, q = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (old, new))
        by_definition = np.sum(p * np.log(p / q), axis=1)
        symptom = f"For logits of shape {shape} it is not the sum of p log(p / q) over the actions"
        near(candidate(old, new), by_definition, symptom)
        shifts = rng.standard_normal((2, shape[0], 1))
        symptom = "Adding one number to all logits of a state leaves its probabilities as they are, so the KL too"
        near(candidate(old + shifts[0], new + shifts[1]), by_definition, symptom)
    _far_logits(candidate)


def _far_logits(candidate: Candidate) -> None:
    certain, even = np.array([[0.0, -800.0]]), np.zeros((1, 2))
    symptom = "With logits 800 apart, as a policy that has made up its mind has them, "
    near(candidate(certain, even), [np.log(2.0)], symptom + "the KL to an even policy is log 2")
    near(candidate(even, certain), [400.0 - np.log(2.0)], symptom + "the KL from an even policy is 400 - log 2")
    near(candidate(certain + 900.0, even - 900.0), [np.log(2.0)], "Logits of 900 and -900 are fine as well")


@exercise(
    "fisher_vector_product",
    "minitrpo.natural_gradient:fisher_vector_product",
    "make_ggnvp(f, h)(theta) is a function of v. Here f takes theta to the distribution parameters of all states, and "
    "h takes those to one number.",
    "The old policy stands still: compute its distribution parameters once, outside of f and h. policy.kl gives one KL "
    "a state; h may return their sum.",
    "F is the mean over the states: divide what comes of the sum by their number. Then add damping * v.",
)
def fisher_vector_product(candidate: Candidate) -> None:
    """Check v -> (F + damping I) v: by hand, against dense Hessians of the KL, for many states, as a linear map."""
    _fisher_by_hand(candidate)
    _dense_hessians(candidate)
    _many_states(candidate)
    _linear_map(candidate)
    _thrifty(candidate)


def multiply(candidate: Candidate, policy: Policy, theta: Array, observations: Array, damping: float) -> Product:
    """Return the candidate's product; it must be a function, leave v alone and return P numbers."""
    product = candidate(policy, theta, observations, damping)
    assert product is not None, "it returned None: is there a return statement?"
    assert callable(product), "it should return a function v -> (F + damping I) v, not its value"

    def guarded(v: Array) -> Array:
        kept = v.copy()
        result: Array = product(v)
        assert np.array_equal(v, kept), "the product changed the v that it was given: work on a copy"
        assert np.shape(result) == v.shape, f"F v has shape {np.shape(result)}, it should be that of v, {v.shape}"
        return result

    return guarded


def _fisher_by_hand(candidate: Candidate) -> None:
    """The mean is w s + b and log_std 0 in states s = 1 and s = 3, so F = [[5, 2, 0], [2, 1, 0], [0, 0, 2]]."""
    policy, theta, observations = GaussianPolicy(1, 1, ()), np.array([0.7, -0.2, 0.0]), np.array([[1.0], [3.0]])
    product = multiply(candidate, policy, theta, observations, 0.0)
    case = "For the mean w s + b with std 1 in the states s = 1 and s = 3, without damping, "
    result = product(np.array([1.0, 0.0, 0.0]))
    assert np.any(result), (
        case + "F v came out as zero. A KL in which both policies move with theta is 0 everywhere: the old one stands"
    )
    near(result, [5.0, 2.0, 0.0], case + "F (1, 0, 0) is the mean of (s^2, s, 0), which is (5, 2, 0)", 1e-6)
    near(product(np.array([0.0, 1.0, 0.0])), [2.0, 1.0, 0.0], case + "F (0, 1, 0) is (2, 1, 0)", 1e-6)
    along = case + "F (0, 0, 1), along log_std, is (0, 0, 2)"
    near(product(np.array([0.0, 0.0, 1.0])), [0.0, 0.0, 2.0], along, 1e-6)
    wide = multiply(candidate, policy, np.array([0.7, -0.2, np.log(2.0)]), observations, 0.0)
    symptom = "With std 2 the same step of the mean is a quarter as far: F (1, 0, 0) is (5/4, 2/4, 0)"
    near(wide(np.array([1.0, 0.0, 0.0])), [1.25, 0.5, 0.0], symptom, 1e-6)
    damped = multiply(candidate, policy, theta, observations, 0.5)
    symptom = "With damping 0.5, (F + 0.5 I) (1, 0, 0) is (5.5, 2, 0)"
    near(damped(np.array([1.0, 0.0, 0.0])), [5.5, 2.0, 0.0], symptom, 1e-6)


def _dense_hessians(candidate: Candidate) -> None:
    cases: list[tuple[Policy, int]] = [
        (GaussianPolicy(3, 2, (4,)), 5),
        (GaussianPolicy(2, 1, ()), 1),
        (CategoricalPolicy(2, 3, (3,)), 7),
        (CategoricalPolicy(4, 2, ()), 2),
    ]
    for policy, n in cases:
        theta, observations = case_of(policy, n)
        old = policy.distribution(theta, observations)

        def kl(new: Array, policy: Policy = policy, observations: Array = observations, old: Array = old) -> Array:
            return mean_kl(policy, old, policy.distribution(new, observations))

        dense = hessian(kl)(theta)
        v = np.random.default_rng(3).standard_normal(len(theta))
        for damping in (0.0, 0.1, 2.0):
            symptom = f"{type(policy).__name__}, {n} states, damping {damping}: F v is not the Hessian of the mean KL "
            expected = dense @ v + damping * v
            near(multiply(candidate, policy, theta, observations, damping)(v), expected, symptom + "times v", 1e-6)


def case_of(policy: Policy, n: int) -> tuple[Array, Array]:
    """Return theta (P,), away from its initial values, and observations (n, D)."""
    rng = np.random.default_rng(n)
    theta = policy.initialise(rng)
    return theta + 0.4 * rng.standard_normal(len(theta)), rng.standard_normal((n, policy.observation_size))


def _many_states(candidate: Candidate) -> None:
    """Long batches whose states grow, so that none of them can be left out."""
    policy, theta = GaussianPolicy(1, 1, ()), np.array([0.3, 0.1, -0.5])
    v = np.array([1.0, -2.0, 0.5])
    for n in (2, 500, 4097):
        s = np.linspace(0.0, 4.0, n)
        both = np.exp(1.0) * np.array([[np.mean(s**2), np.mean(s)], [np.mean(s), 1.0]])
        expected = np.concatenate([both @ v[:2], [2.0 * v[2]]]) + 0.3 * v
        symptom = f"{n:,} states, damping 0.3: F is the mean over all states, each counts once, and damping counts once"
        near(multiply(candidate, policy, theta, s[:, None], 0.3)(v), expected, symptom, 1e-6)


def _linear_map(candidate: Candidate) -> None:
    policy = CategoricalPolicy(3, 3, (4,))
    theta, observations = case_of(policy, 6)
    product = multiply(candidate, policy, theta, observations, 0.1)
    u, v = np.random.default_rng(4).standard_normal((2, len(theta)))
    first = product(u)
    kept = np.array(first)
    near(product(np.zeros_like(u)), np.zeros_like(u), "(F + damping I) 0 should be 0")
    near(product(1e3 * v), 1e3 * product(v), "A thousand times v should give a thousand times F v", 1e-6)
    near(product(u), kept, "The same v should give the same F v, whatever was asked in between")
    near(first, kept, "A later product changed the array that an earlier one returned")
    assert abs(u @ product(v) - v @ product(u)) < 1e-6 * abs(u @ product(u)), "F should be symmetric: u'Fv = v'Fu"
    again = multiply(candidate, policy, theta, np.concatenate([observations, observations]), 0.1)
    near(again(u), kept, "A batch given twice should leave the mean F as it is", 1e-6)


def _thrifty(candidate: Candidate) -> None:
    policy = GaussianPolicy(60, 6, ())
    theta, observations = case_of(policy, 3)
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    try:
        multiply(candidate, policy, theta, observations, 0.1)(theta)
        most = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
    whole = 8 * len(theta) ** 2
    assert most < whole / 2, (
        f"with {len(theta):,} parameters one product took {most / 1e6:.1f} MB of memory, and all of F is "
        f"{whole / 1e6:.1f} MB: the point is never to write F down"
    )


@exercise(
    "every_kth",
    "minitrpo.natural_gradient:every_kth",
    "Which row numbers do you keep? 0, then one about every 1 / fraction rows, to the end of the batch.",
    "1 / fraction need not be whole: for 0.7 of 10 rows keep 0, 1, 2, 4, 5, 7, 8. Make the positions as floats, "
    "then cut them to integers.",
)
def every_kth(candidate: Candidate) -> None:
    """Check that about `fraction` of the rows are kept, evenly spread over the whole batch, in order."""
    rows = np.column_stack([np.arange(10.0), -np.arange(10.0)])
    near(candidate(rows, 1.0), rows, "With fraction 1.0 all rows should be kept, in order")
    near(candidate(rows, 0.1), rows[:1], "A tenth of 10 rows is the first row")
    for n, fraction in (
        (10, 0.5),
        (100, 0.1),
        (95, 0.1),
        (100, 0.25),
        (50, 0.3),
        (100, 0.7),
        (333, 0.4),
        (64, 0.9),
        (4001, 0.01),
        (20, 0.65),
        (100, 0.07),
        (50, 0.28),
    ):
        _spread(candidate, n, fraction)
    few = candidate(rows[:3], 0.1)
    near(few, rows[:1], "A tenth of 3 rows should still be one row, the first")


def _spread(candidate: Candidate, n: int, fraction: float) -> None:
    rows = np.column_stack([np.arange(float(n)), np.full(n, 7.0)])
    found = candidate(rows, fraction)
    assert found is not None, "it returned None: is there a return statement?"
    assert np.ndim(found) == 2, f"it returned an array of {np.ndim(found)} dimensions; rows of (N, D) are (n, D)"
    assert found.shape[1] == 2, f"a row had 2 numbers and has {found.shape[1]} now: keep rows whole"
    asked = f"asked for {fraction} of {n} rows"
    assert abs(len(found) - fraction * n) <= 1.0 + 1e-9, f"{asked} it returned {len(found)}"
    assert np.all(np.isin(found[:, 0], rows[:, 0])), f"{asked} it returned rows that are not in the batch"
    assert np.all(found[:, 1] == 7.0), f"{asked} it returned rows that are not in the batch"
    assert found[0, 0] == 0, f"{asked} it left out the first row"
    gaps = np.diff(found[:, 0])
    assert np.all(gaps > 0), f"{asked} its rows are out of order, or one came twice"
    tail = n - found[-1, 0]
    assert tail <= gaps.max() + 1, f"{asked} it kept none of the last {tail - 1:.0f}: spread them over the whole batch"
    assert gaps.max() - gaps.min() <= 1, (
        f"{asked} its rows lie {gaps.min():.0f} to {gaps.max():.0f} apart: spread them evenly"
    )
    near(candidate(rows, fraction), found, f"{asked} twice it returned different rows: no random numbers, please")
