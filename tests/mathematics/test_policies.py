"""The policies: formulas against scipy, samples against their distribution, layout and gradients of theta."""

import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from threadpoolctl import threadpool_limits

from minitrpo.perceptron import count_parameters
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, categorical_kl, log_softmax

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


# --- formulas against scipy


@pytest.mark.parametrize("shape", SHAPES)
def test_gaussian_log_prob_and_entropy_are_scipys(shape):
    policy, _, _, dist_params, actions = case(GaussianPolicy, shape)
    mean, std = dist_params[:, : shape[2]], np.exp(dist_params[:, shape[2] :])
    np.testing.assert_allclose(
        policy.log_prob(dist_params, actions), stats.norm.logpdf(actions, mean, std).sum(1), rtol=1e-12
    )
    np.testing.assert_allclose(
        policy.entropy(dist_params), stats.norm.entropy(mean, std).sum(1), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_categorical_log_prob_and_entropy_are_scipys(shape):
    policy, _, _, dist_params, actions = case(CategoricalPolicy, shape)
    log_p = special.log_softmax(dist_params, axis=1)
    np.testing.assert_allclose(
        policy.log_prob(dist_params, actions), log_p[range(len(dist_params)), actions], atol=1e-12
    )
    np.testing.assert_allclose(policy.entropy(dist_params), stats.entropy(np.exp(log_p), axis=1), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_gaussian_kl_is_that_of_full_covariances(shape):
    """The textbook formula with matrices: 1/2 (tr(S1^-1 S0) + d'S1^-1 d - k + log det S1 / det S0)."""
    policy, old, new = old_and_new(GaussianPolicy, shape)
    a = shape[2]
    for kl, row0, row1 in zip(policy.kl(old, new), old, new, strict=True):
        s0, s1 = (np.diag(np.exp(2 * row[a:])) for row in (row0, row1))
        d, inverse = row1[:a] - row0[:a], np.linalg.inv(s1)
        logs = np.linalg.slogdet(s1)[1] - np.linalg.slogdet(s0)[1]
        assert kl == pytest.approx(0.5 * (np.trace(inverse @ s0) + d @ inverse @ d - a + logs), abs=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_categorical_kl_is_the_sum_over_actions(shape):
    policy, old, new = old_and_new(CategoricalPolicy, shape)
    p, q = (np.exp(special.log_softmax(dist_params, axis=1)) for dist_params in (old, new))
    np.testing.assert_allclose(policy.kl(old, new), stats.entropy(p, q, axis=1), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_kl_is_the_mean_log_ratio_under_the_old_policy(kind):
    """Monte Carlo, within 4 standard errors; the same samples must reject the KL of the other order."""
    policy, old, new = old_and_new(kind, (3, 4, 3, (5,)))
    draws, wrong_order_rejected = 40_000, []
    for row0, row1 in zip(old, new, strict=True):
        rows0, rows1 = np.tile(row0, (draws, 1)), np.tile(row1, (draws, 1))
        actions = policy.sample(rows0, policy.draw_noise(rng_of(5), draws))
        log_ratio = policy.log_prob(rows0, actions) - policy.log_prob(rows1, actions)
        error = 4 * log_ratio.std() / np.sqrt(draws)
        assert abs(log_ratio.mean() - policy.kl(row0[None], row1[None])[0]) < error
        wrong_order_rejected.append(abs(log_ratio.mean() - policy.kl(row1[None], row0[None])[0]) > error)
    assert any(wrong_order_rejected)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_kl_is_not_negative_and_flat_at_zero(kind, seed):
    policy, old, new = old_and_new(kind, (4, 3, 3, (5,)), seed)
    assert np.all(policy.kl(old, new) >= 0)
    np.testing.assert_allclose(policy.kl(old, old), 0, atol=1e-14)
    slope = grad(lambda dist_params: policy.kl(old, dist_params).sum())(old.copy())
    np.testing.assert_allclose(slope, 0, atol=1e-13)


LOGITS = st.sampled_from([0.0, 1.0, -1.0, 700.0, -700.0, 800.0, -800.0, 1e6, -1e6, 1e300])


@given(st.lists(st.lists(LOGITS, min_size=3, max_size=3), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_log_softmax_is_scipys_whatever_the_size_of_the_logits(logits):
    """Nothing overflows, and a row does not depend on the rows beside it."""
    logits = np.array(logits)
    found = log_softmax(logits)
    np.testing.assert_allclose(found, special.log_softmax(logits, axis=1), rtol=1e-12, atol=1e-12)
    for row, alone in zip(found, logits, strict=True):
        assert np.array_equal(row, log_softmax(alone[None])[0])


def test_a_row_is_shifted_by_its_own_largest_logit():
    """The largest of all rows, or the smallest of each, would leave exp nothing but 0 or infinity."""
    logits = np.array([[5000.0, 5001.0, 0.0], [-5001.0, -5000.0, -9999.0], [0.0, 1.0, -5000.0]])
    two = np.log(1 + np.e)  # the third is too unlikely to count
    np.testing.assert_allclose(log_softmax(logits)[:, :2], np.tile([-two, 1 - two], (3, 1)), rtol=1e-12)
    np.testing.assert_allclose(log_softmax(logits)[:, 2], [-5001 - two + 1, -4998 - two, -5000 - two], rtol=1e-12)
    assert np.array_equal(categorical_kl(logits, logits), np.zeros(3))
    np.testing.assert_allclose(grad(lambda x: log_softmax(x)[:, 0].sum())(logits)[:, 0], np.e / (1 + np.e), rtol=1e-12)


# --- samples


def test_gaussian_samples_are_normal():
    policy, n = GaussianPolicy(1, 2), 20_000
    dist_params = np.tile([1.0, -2.0, np.log(0.5), np.log(3.0)], (n, 1))
    actions = policy.sample(dist_params, policy.draw_noise(rng_of(1), n))
    assert stats.kstest(actions[:, 0], stats.norm(1.0, 0.5).cdf).pvalue > 1e-3
    assert stats.kstest(actions[:, 1], stats.norm(-2.0, 3.0).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(actions.T)[0, 1]) < 4 / np.sqrt(n)


def test_categorical_samples_have_the_right_frequencies():
    policy, n, logits = CategoricalPolicy(1, 4), 20_000, np.array([0.3, -1.0, 2.0, 0.0])
    actions = policy.sample(np.tile(logits, (n, 1)), policy.draw_noise(rng_of(2), n))
    expected = n * np.exp(special.log_softmax(logits))
    assert stats.chisquare(np.bincount(actions, minlength=4), expected).pvalue > 1e-3


@given(logits=st.lists(st.floats(-3, 3), min_size=1, max_size=6), u=st.floats(0, 1, exclude_max=True))
@settings(max_examples=60, deadline=None)
def test_categorical_sample_inverts_the_cumulative_distribution(logits, u):
    policy, dist_params = CategoricalPolicy(1, len(logits)), np.array([logits])
    action = policy.sample(dist_params, np.array([[u]]))[0]
    below = np.concatenate([[0.0], np.cumsum(np.exp(special.log_softmax(logits)))])
    assert below[action] - 1e-12 <= u <= below[action + 1] + 1e-12


@pytest.mark.parametrize("logits", [(0, 0, 0), (-1e4, 0, -1e4), (1e300, 0, -1e300), (-800, -800, 0), (5, 5, -1e5)])
def test_categorical_never_samples_the_impossible(logits):
    """Noise 0 and just below 1 must not fall on an action of probability 0, whatever the size of the logits."""
    policy, dist_params = CategoricalPolicy(1, 3), np.array([logits], dtype=float)
    for u in (0.0, 0.5, BELOW_ONE):
        action = policy.sample(dist_params, np.array([[u]]))
        assert np.issubdtype(action.dtype, np.integer)
        assert 0 <= action[0] < 3
        assert np.exp(policy.log_prob(dist_params, action))[0] > 0
    assert np.all(np.isfinite(policy.entropy(dist_params)))


def test_categorical_never_samples_beyond_the_last_action():
    policy, dist_params = CategoricalPolicy(1, 10), np.zeros((1, 10))  # ten times 0.1 sums to the number below 1
    assert policy.sample(dist_params, np.array([[BELOW_ONE]])) == 9


def test_categorical_never_samples_the_impossible_by_rounding():
    policy, dist_params = CategoricalPolicy(1, 11), np.array([[0.0] * 10 + [-1e4]])
    action = policy.sample(dist_params, np.array([[BELOW_ONE]]))
    assert np.exp(policy.log_prob(dist_params, action))[0] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_mode_is_the_most_probable_action(kind):
    policy, _, _, dist_params, _ = case(kind, SHAPES[1])
    best, rng = policy.log_prob(dist_params, policy.mode(dist_params)), rng_of(3)
    for _ in range(20):
        other = policy.sample(dist_params, policy.draw_noise(rng, len(dist_params)))
        assert np.all(policy.log_prob(dist_params, other) <= best + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_one_stream_however_it_is_cut(kind):
    policy = kind(1, 3)
    whole = policy.draw_noise(rng_of(4), 10)
    rng = rng_of(4)
    assert whole.shape == (10, policy.noise_size)
    assert np.array_equal(whole, np.concatenate([policy.draw_noise(rng, 3), policy.draw_noise(rng, 7)]))


# --- theta: layout, initial values, gradients


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_policy_treats_all_states_alike(kind):
    policy = kind(6, 3)
    theta = policy.initialise(rng_of(9))
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
def test_initialise_is_a_function_of_its_generator(kind):
    policy = kind(4, 3)
    first, again, other = (policy.initialise(rng_of(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_modified(kind):
    policy, theta, observations, dist_params, actions = case(kind, SHAPES[1])
    arrays = [theta, observations, dist_params, actions]
    before = [array.copy() for array in arrays]
    policy.distribution(theta, observations)
    policy.log_prob(dist_params, actions)
    policy.kl(dist_params, dist_params)
    policy.entropy(dist_params)
    policy.mode(dist_params)
    policy.sample(dist_params, policy.draw_noise(rng_of(1), len(dist_params)))
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_of_log_prob_is_the_finite_difference(kind, shape):
    policy, theta, observations, _, actions = case(kind, shape)
    weights = rng_of(12).standard_normal(len(observations))  # so that no step may be forgotten

    def total(theta):
        return (policy.log_prob(policy.distribution(theta, observations), actions) * weights).sum()

    h, eye = 1e-5, np.eye(len(theta))
    slopes = [(total(theta + h * e) - total(theta - h * e)) / (2 * h) for e in eye]
    np.testing.assert_allclose(grad(total)(theta), slopes, rtol=1e-5, atol=1e-6)


# --- bits


@pytest.mark.parametrize("kind", KINDS)
def test_an_act_function_samples_the_distribution_of_single_precision_to_the_bit(kind):
    policy, theta, observations, dist_params, _ = case(kind, SHAPES[2])
    noise = policy.draw_noise(rng_of(3), len(observations))
    single = np.concatenate(
        [  # four rows at a time, as it does
            policy.distribution(theta.astype(np.float32), observations[i : i + 4].astype(np.float32))
            for i in range(0, len(observations), 4)
        ]
    )
    assert single.dtype == np.float32
    exact = single.astype(np.float64)
    if kind is GaussianPolicy:
        exact[:, policy.action_size :] = dist_params[:, policy.action_size :]  # the spread is no sum
    act, expected = policy.act_function(theta), policy.sample(exact, noise)
    for used in range(1, len(observations) + 1):
        assert np.array_equal(act(observations, noise, used)[:used], expected[:used])


@pytest.mark.parametrize("shape", SHAPES)
def test_actions_of_single_precision_are_those_of_double_to_five_digits(shape):
    policy, theta, observations, dist_params, _ = case(GaussianPolicy, shape)
    noise = policy.draw_noise(rng_of(3), len(observations))
    actions = policy.act_function(theta)(observations, noise, len(observations))
    assert actions.dtype == np.float64
    np.testing.assert_allclose(actions, policy.sample(dist_params, noise), rtol=1e-5, atol=1e-5)


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
