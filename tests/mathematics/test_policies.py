"""The policies: formulas against scipy, samples against their distribution, and bits of a row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from threadpoolctl import threadpool_limits

from minitrpo.perceptron import count_parameters
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, log_softmax

SHAPES = [(1, 1, 1, ()), (7, 3, 2, (5,)), (40, 11, 6, (8, 4))]  # steps, observation size, action size, hidden
BELOW_ONE = np.nextafter(1.0, 0.0)  # the largest number that Generator.random can return
KINDS = [GaussianPolicy, CategoricalPolicy]


def rng_of(*key):
    return np.random.default_rng(key)


def random_theta(policy, rng, scale=0.5):
    theta = policy.initialise(rng)
    return theta + scale * rng.standard_normal(len(theta))


def case(kind, shape, seed=0):
    """Return a policy, a theta far from its initial one, observations, distribution parameters and actions."""
    n, d, a, hidden = shape
    rng, policy = rng_of(seed, n, d, a), kind(d, a, hidden)
    theta, observations = random_theta(policy, rng), rng.standard_normal((n, d))
    dist_params = policy.distribution(theta, observations)
    return policy, theta, observations, dist_params, policy.sample(dist_params, policy.draw_noise(rng, n))


def old_and_new(kind, shape, seed=0):
    """Return a policy and the distribution parameters of two thetas in the same states."""
    policy, _, observations, old, _ = case(kind, shape, seed)
    return policy, old, policy.distribution(random_theta(policy, rng_of(seed, 99)), observations)


@pytest.mark.parametrize("shape", SHAPES)
def test_log_prob_and_entropy_are_scipys(shape):
    policy, _, _, dist_params, actions = case(GaussianPolicy, shape)
    mean, std = dist_params[:, : shape[2]], np.exp(dist_params[:, shape[2] :])
    expected = stats.norm.logpdf(actions, mean, std).sum(1)
    np.testing.assert_allclose(policy.log_prob(dist_params, actions), expected, rtol=1e-12)
    expected = stats.norm.entropy(mean, std).sum(1)
    np.testing.assert_allclose(policy.entropy(dist_params), expected, rtol=1e-12, atol=1e-12)
    policy, _, _, dist_params, actions = case(CategoricalPolicy, shape)
    log_p = special.log_softmax(dist_params, axis=1)
    expected = log_p[range(len(dist_params)), actions]
    np.testing.assert_allclose(policy.log_prob(dist_params, actions), expected, atol=1e-12)
    np.testing.assert_allclose(policy.entropy(dist_params), stats.entropy(np.exp(log_p), axis=1), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_kl_is_the_mean_log_ratio_under_the_old_policy(shape):
    """Of Gaussians E[log N(x; m0, s0) - log N(x; m1, s1)], by quadrature that is exact for squares."""
    policy, old, new = old_and_new(GaussianPolicy, shape)
    (m0, s0), (m1, s1) = ((rows[:, : shape[2]], np.exp(rows[:, shape[2] :])) for rows in (old, new))
    noise, weights = np.polynomial.hermite_e.hermegauss(3)
    at = [stats.norm.logpdf(m0 + s0 * z, m0, s0) - stats.norm.logpdf(m0 + s0 * z, m1, s1) for z in noise]
    expected = np.tensordot(weights / weights.sum(), at, 1).sum(axis=1)
    np.testing.assert_allclose(policy.kl(old, new), expected, rtol=1e-10, atol=1e-10)
    policy, old, new = old_and_new(CategoricalPolicy, shape)
    p, q = (np.exp(special.log_softmax(dist_params, axis=1)) for dist_params in (old, new))
    np.testing.assert_allclose(policy.kl(old, new), stats.entropy(p, q, axis=1), atol=1e-12)


LOGITS = st.sampled_from([0.0, 1.0, -1.0, 700.0, -700.0, 800.0, -800.0, 1e6, -1e6, 1e300])


@given(st.lists(st.lists(LOGITS, min_size=3, max_size=3), min_size=1, max_size=4))
@settings(max_examples=40)
def test_log_softmax_is_scipys_whatever_the_size_of_the_logits(logits):
    """Nothing overflows, and a row does not depend on the rows beside it."""
    logits = np.array(logits)
    found = log_softmax(logits)
    np.testing.assert_allclose(found, special.log_softmax(logits, axis=1), rtol=1e-12, atol=1e-12)
    for row, alone in zip(found, logits, strict=True):
        assert np.array_equal(row, log_softmax(alone[None])[0])


def test_gaussian_samples_and_their_mode_are_those_of_a_normal_distribution():
    policy, n = GaussianPolicy(1, 2), 5000
    dist_params = np.tile([1.0, -2.0, np.log(0.5), np.log(3.0)], (n, 1))
    noise = policy.draw_noise(rng_of(1), n)
    actions = policy.sample(dist_params, noise)
    np.testing.assert_allclose(actions, [1.0, -2.0] + noise * [0.5, 3.0], rtol=1e-12, atol=1e-12)
    assert np.array_equal(policy.mode(dist_params), np.tile([1.0, -2.0], (n, 1)))
    assert all(stats.kstest(noise[:, i], stats.norm.cdf).pvalue > 1e-3 for i in range(2))


@given(logits=st.lists(st.floats(-3, 3), min_size=1, max_size=6), u=st.floats(0, 1, exclude_max=True))
@settings(max_examples=40)
def test_categorical_sample_inverts_the_cumulative_distribution(logits, u):
    policy, dist_params = CategoricalPolicy(1, len(logits)), np.array([logits])
    action = policy.sample(dist_params, np.array([[u]]))[0]
    below = np.concatenate([[0.0], np.cumsum(np.exp(special.log_softmax(logits)))])
    assert below[action] - 1e-12 <= u <= below[action + 1] + 1e-12
    assert logits[policy.mode(dist_params)[0]] == max(logits)


IMPOSSIBLE = [(-1e4, 0, -1e4), (1e300, 0, -1e300), (-800, -800, 0), (5, 5, -1e5), (*[0] * 10, -1e4), [0] * 10]


@pytest.mark.parametrize("logits", IMPOSSIBLE)
def test_categorical_never_samples_the_impossible(logits):
    """Noise 0 and just below 1 must not fall on an action of probability 0, nor beyond the last, by rounding."""
    policy, dist_params = CategoricalPolicy(1, len(logits)), np.array([logits], dtype=float)
    for u in (0.0, 0.5, BELOW_ONE):
        action = policy.sample(dist_params, np.array([[u]]))
        assert np.issubdtype(action.dtype, np.integer)
        assert 0 <= action[0] < len(logits)
        assert np.exp(policy.log_prob(dist_params, action))[0] > 0
    assert np.all(np.isfinite(policy.entropy(dist_params)))


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_one_stream_however_it_is_cut(kind):
    policy = kind(1, 3)
    whole, rng = policy.draw_noise(rng_of(4), 10), rng_of(4)
    assert whole.shape == (10, policy.noise_size)
    assert np.array_equal(whole, np.concatenate([policy.draw_noise(rng, 3), policy.draw_noise(rng, 7)]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_policy_is_a_function_of_its_generator_and_treats_all_states_alike(kind):
    policy = kind(6, 3)
    theta, again, other = (policy.initialise(rng_of(seed)) for seed in (9, 9, 2))
    assert np.array_equal(theta, again)
    assert not np.array_equal(theta, other)
    assert len(theta) == count_parameters(policy.sizes) + (3 if kind is GaussianPolicy else 0)
    dist_params = policy.distribution(theta, rng_of(10).standard_normal((50, 6)))
    assert np.max(np.abs(dist_params)) < 0.2


def test_gaussian_initial_log_std_is_the_end_of_theta():
    policy = GaussianPolicy(3, 2, (4,), initial_log_std=-0.7)
    theta = policy.initialise(rng_of(11))
    assert np.all(theta[-2:] == -0.7)
    theta[-2:] = 1.0, 2.0
    dist_params = policy.distribution(theta, np.ones((5, 3)))
    assert np.array_equal(dist_params[:, 2:], np.tile([1.0, 2.0], (5, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_act_function_samples_the_distribution_of_single_precision_to_the_bit(kind):
    policy, theta, observations, dist_params, _ = case(kind, SHAPES[2])
    noise = policy.draw_noise(rng_of(3), len(observations))
    fours = [observations[i : i + 4].astype(np.float32) for i in range(0, len(observations), 4)]  # as it does
    single = np.concatenate([policy.distribution(theta.astype(np.float32), rows) for rows in fours])
    assert single.dtype == np.float32
    exact = single.astype(np.float64)
    if kind is GaussianPolicy:
        exact[:, policy.action_size :] = dist_params[:, policy.action_size :]  # the spread is no sum
        np.testing.assert_allclose(exact, dist_params, rtol=1e-5, atol=1e-5)
    act, expected = policy.act_function(theta), policy.sample(exact, noise)
    assert act(observations, noise, len(observations)).dtype == (np.float64 if kind is GaussianPolicy else np.int64)
    for used in range(1, len(observations) + 1):
        assert np.array_equal(act(observations, noise, used)[:used], expected[:used])


def bits_differ(kind, width, sizes, of_rows):
    """Return the sizes for which `of_rows` of a row depends on its place or its mates in a matrix of `width` rows."""
    differ = []
    for observation_size, action_size, hidden in sizes:
        rng, policy = rng_of(13, width), kind(observation_size, action_size, hidden)
        theta, mine = random_theta(policy, rng), rng.standard_normal(observation_size)
        seen = set()
        for place in range(width):
            matrix = rng.choice([0.0, 1.0, 30.0]) * rng.standard_normal((width, observation_size))
            matrix[place] = mine
            seen.add(of_rows(policy, theta, matrix)[place].tobytes())
        if len(seen) > 1:
            differ.append((observation_size, action_size, hidden))
    return differ


def acted(policy, theta, matrix):
    """Return what the act function makes of every row, with the same noise."""
    return policy.act_function(theta)(matrix, np.full((len(matrix), policy.noise_size), 0.5), len(matrix))


SIZES = [(d, a, hidden) for d in (1, 4, 17, 105) for a in (1, 2, 3, 6, 17) for hidden in ((64, 64), ())]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 8, 16, 32])
@pytest.mark.parametrize("of_rows", [lambda policy, *at: policy.distribution(*at), acted], ids=["double", "acted"])
def test_a_row_has_the_same_bits_in_any_company(kind, width, of_rows):
    with threadpool_limits(1):  # as training does
        assert bits_differ(kind, width, SIZES, of_rows) == []
