"""How much of a step is noise, against explicit covariances; the rule that goes by it, in worlds that are known."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from fragments import own_samples
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient, score
from minitrpo.step_noise import (
    HELD,
    KL_LIMITS,
    LARGEST_NOISE,
    STEPS_LIMITS,
    Measured,
    StepNoise,
    deviation_of_kept,
    due,
    measure_noise,
)
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient, trpo_step

QUICK = settings(max_examples=60)
NO_STEP = np.zeros(1)
DAMPING = 0.1


def case(policy, n=40, seed=0):
    """Return theta and a batch with random advantages."""
    theta, *arrays = own_samples(policy, n, seed)
    return theta, Batch(*arrays)


def dense(policy, theta, batch):
    """Return F + damping I, whole."""
    product = damped_fisher(policy, theta, batch, DAMPING, 1.0)
    return np.stack([product(v) for v in np.eye(len(theta))])


def followed(rule, measured, kept, steps):
    """Return the rule's numbers after an update."""
    rule = replace(rule)
    rule.turn_steps(measured)
    rule.turn_kl(kept, steps)
    return numbers(rule)


def numbers(rule):
    return {name: getattr(rule, name) for name in StepNoise.numbers}


def measured(policy, theta, batch, step=None):
    """Return what is measured of the natural step, or of another."""
    g = surrogate_gradient(policy, theta, batch)
    step = np.linalg.solve(dense(policy, theta, batch), g) if step is None else step
    return measure_noise(policy, theta, batch, g, step, len(theta), DAMPING, 1.0)


@pytest.mark.parametrize("policy", [GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,))])
@pytest.mark.parametrize("n", [40, 1300, 2600])  # one block of the gradient's sums, two, three
def test_it_is_its_statement_with_a_dense_matrix(policy, n):
    """d'F^-1 d and g'F^-1 g from the gradients of two halves, each by itself; d'F^-1 d + g_a'F^-1 g_b = g'F^-1 g."""
    theta, batch = case(policy, n)
    half = n // 2
    g_a, g_b = (
        policy_gradient(policy, theta, batch.observations[rows], batch.actions[rows], batch.advantages[rows])
        for rows in (slice(0, half), slice(half, n))
    )
    inverse = np.linalg.inv(dense(policy, theta, batch))
    g, d = (g_a + g_b) / 2, (g_a - g_b) / 2
    found = measured(policy, theta, batch)
    assert found.noise == pytest.approx(d @ inverse @ d, rel=2e-3)
    assert found.both == pytest.approx(g @ inverse @ g, rel=2e-3)
    assert found.both - found.noise == pytest.approx(g_a @ inverse @ g_b, abs=4e-3 * found.both)
    assert found.fraction == pytest.approx(found.noise / found.both)
    step = 50 * np.linalg.solve(dense(policy, theta, batch), g)
    assert measured(policy, theta, batch, step).both == pytest.approx(found.both, rel=1e-3), "whatever its length"
    assert found.steps == n


def test_its_mean_is_the_trace_of_the_covariance_and_the_signal():
    """Exactly: each half sees two states once, and all 81 ways to draw the four actions are weighted."""
    policy, rng = CategoricalPolicy(3, 3, ()), np.random.default_rng(1)
    theta = 0.5 * rng.standard_normal(policy.initialise(rng).size)
    states, worth, place = rng.standard_normal((2, 3)), rng.standard_normal((2, 3)) + 0.5, np.array([0, 1, 0, 1])
    logits = policy.distribution(theta, states)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gradients = np.array([[worth[s, a] * score(policy, theta, states[s], a) for a in range(3)] for s in range(2)])
    means = np.einsum("sa,sap->sp", p, gradients)
    g, sigma = means.mean(0), np.einsum("sa,sap,saq->pq", p, gradients, gradients) / 2 - means.T @ means / 2
    inverse = np.linalg.inv(dense(policy, theta, Batch(states[place], np.zeros(4, int), np.zeros(4))))
    noise = signal = 0.0
    for drawn in np.ndindex(3, 3, 3, 3):
        found = measured(policy, theta, Batch(states[place], np.array(drawn), worth[place, drawn]))
        noise += np.prod(p[place, drawn]) * found.noise
        signal += np.prod(p[place, drawn]) * (found.both - found.noise)
    assert (noise, signal) == pytest.approx((np.trace(inverse @ sigma) / 4, g @ inverse @ g), rel=5e-3)


def test_halves_that_agree_have_no_noise_and_opposite_ones_nothing_else():
    policy = GaussianPolicy(3, 2, (4,))
    theta, batch = case(policy)
    twice = Batch(*(np.concatenate([x, x]) for x in (batch.observations, batch.actions, batch.advantages)))
    assert measured(policy, theta, twice).fraction == pytest.approx(0.0, abs=1e-6)
    signs = np.repeat([1.0, -1.0], len(batch.advantages))
    opposite = replace(twice, advantages=signs * twice.advantages)
    rest = measured(policy, theta, opposite, step=np.zeros(len(theta)))
    assert rest.noise > rest.both == 0.0
    assert np.isnan(rest.fraction)


def test_what_is_kept_of_a_step_spreads_as_it_is_said_to():
    """Of advantages that are nothing but noise, g_next's has the variance s'F s / N, which is about 2 KL / N."""
    policy = GaussianPolicy(3, 2, (4,))
    theta, batch = case(policy, 400)
    new, report = trpo_step(policy, theta, batch, 1e-6, cg_damping=1e-4, cg_iterations=50)
    s, fisher = new - theta, dense(policy, theta, batch) - DAMPING * np.eye(len(theta))
    assert deviation_of_kept(report.search.kl, 200) == pytest.approx(np.sqrt(s @ fisher @ s / 200), rel=0.05)


def test_it_is_measured_soon_and_then_in_every_sixteenth_update():
    assert [update for update in range(1, 50) if due(update)] == [1, 2, 4, 8, 16, 32, 48]


FRACTIONS = st.floats(0.0, 2.0)


@given(st.integers(1, 10**6), st.floats(1e-6, 10.0), FRACTIONS, st.floats(-2.0, 2.0), st.floats(1e-6, 1.0))
@QUICK
def test_it_moves_towards_its_limits_from_outside_and_stays_within(steps, max_kl, noise, kept, kl):
    rule = StepNoise(steps, max_kl, NO_STEP, promised=1.0, kl=kl)
    new = followed(rule, Measured(noise, 1.0, steps), kept, steps)
    for old, now, (low, high) in ((steps, new["steps_per_update"], STEPS_LIMITS), (max_kl, new["max_kl"], KL_LIMITS)):
        assert min(old, low) <= now <= max(old, high)
        assert (low <= now <= high) or (now > old if old < low else now < old)


def test_without_a_step_before_or_a_measurement_or_what_is_finite_nothing_moves():
    first = StepNoise(5_000, 0.01, NO_STEP, noise=3.0, signal=0.1)
    assert followed(first, None, 0.0, 5_000) == numbers(first)
    assert followed(first, Measured(0.1, 0.0, 5_000), 0.0, 5_000) == numbers(first)
    for bad in (np.nan, np.inf, -np.inf):
        for kept, promised, kl in ((bad, 1.0, 0.01), (0.5, bad, 0.01), (0.5, 1.0, np.nan)):
            rule = replace(first, promised=promised, kl=kl)
            for of_halves in (Measured(bad, 1.0, 5_000), Measured(0.5, np.nan, 5_000)):
                assert repr(followed(rule, of_halves, kept, 5_000)) == repr(numbers(rule))  # NaN is not NaN


@pytest.mark.parametrize("start", [2_000, 6_000, 20_000, 205, 60_000])
def test_steps_end_where_noise_is_the_part_that_is_wanted(start):
    """A world with trace 300 in which 6,000 steps make as much of a step noise as the rule asks for."""
    signal = 300 / 6_000 * (1 - LARGEST_NOISE) / LARGEST_NOISE
    rule = StepNoise(start, 0.01, NO_STEP)
    for _ in range(12):
        n = rule.steps_per_update
        rule.turn_steps(Measured(300 / n, 300 / n + signal, n))
    assert rule.steps_per_update == pytest.approx(6_000, rel=0.01)


@pytest.mark.parametrize("start", [0.001, 0.01, 0.1])
def test_the_kl_ends_where_a_step_leaves_its_part_of_the_signal(start):
    """A quadratic world: after a step of length sqrt(2 KL) the gradient has turned by as much as its curvature says."""
    rng, trace, signal, curvature, n = np.random.default_rng(0), 300.0, 0.05, 0.5, 4_000
    rule, chosen = StepNoise(n, start, NO_STEP, noise=trace, signal=signal), []
    both = signal + trace / n
    # where curvature * 2 KL is what the step does not leave of G's
    wanted = ((1 - HELD) * signal / np.sqrt(2 * both) / curvature) ** 2
    for _ in range(200):
        kl = rule.max_kl
        true, promised = signal * np.sqrt(2 * kl / both), np.sqrt(2 * kl * both)
        kept = true - 2 * curvature * kl + np.sqrt(2 * kl / n) * rng.standard_normal()
        rule.promised, rule.kl = promised, kl
        rule.turn_kl(kept, n)
        chosen.append(rule.max_kl)
    assert np.exp(np.mean(np.log(chosen[50:]))) == pytest.approx(wanted, rel=0.3)


def test_a_small_batch_moves_the_kl_less():
    rule = StepNoise(2_000, 0.01, NO_STEP, promised=1.0, kl=0.01, noise=300.0, signal=0.05)
    moved = [abs(np.log(followed(rule, None, 1.0, n)["max_kl"] / 0.01)) for n in (200, 2_000, 8_000)]
    assert all(small < large for small, large in pairwise(moved))


def test_its_columns_are_those_of_the_batch_before_and_it_can_be_interrupted():
    policy = GaussianPolicy(3, 2, (4,))
    whole = StepNoise(60, 0.01, np.zeros(policy.initialise(np.random.default_rng(0)).size))
    theta, last = case(policy)[0], None
    for update in range(1, 6):
        batch = case(policy, 60, update)[1]
        new, report = trpo_step(policy, theta, batch, 0.01)
        found = measured(policy, theta, batch) if whole.due else None
        again = StepNoise(1, 1.0, np.zeros(len(theta)))
        again.restore({name: array.copy() for name, array in whole.state().items()})
        taken = {"gradient": report.gradient, "step": new - theta, "kl": report.search.kl, "steps": 60}
        columns = [noise.add(**taken, measured=found, follows=True) for noise in (whole, again)]
        assert repr(columns[0]) == repr(columns[1])  # NaN is not NaN
        assert numbers(whole) == numbers(again)
        if last is not None:
            assert columns[0]["agreement"] == pytest.approx(report.gradient @ last[0] / last[1])
        assert np.isfinite(columns[0]["noise"]) == (found is not None)
        theta, last = new, (new - theta, report.gradient @ (new - theta))
    assert (whole.steps_per_update, whole.max_kl) != (60, 0.01)
