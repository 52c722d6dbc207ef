"""The public functions on finite numbers give finite numbers; what makes no sense has a defined value or error."""

import numpy as np
import pytest
from fragments import empty
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState, adapt, clip, improved
from minitrpo.block_sums import blocks
from minitrpo.conjugate_gradient import conjugate_gradient, energy
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.experience.fragments import concatenate, in_order, rows_of
from minitrpo.experience.observation_filter import ObservationFilter, moments
from minitrpo.line_search import backtracking, step_scale
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, categorical_kl, gaussian_kl, log_softmax
from minitrpo.returns import discounted_sums, explained_variance, gae, n_step_returns, next_values, standardise

quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
LARGE, FAIR = 1e100, 1e6
RNG = np.random.default_rng
NAN, NONE = np.full(3, np.nan), np.zeros(0)


def vector(n, most=LARGE):
    return arrays(np.float64, n, elements=st.floats(-most, most))


lengths = st.integers(1, 20)


@st.composite
def steps(draw, most=LARGE):
    """Rewards, values, last, terminated of a few fragments."""
    n = draw(lengths)
    last, ended = (draw(arrays(bool, n)) for _ in range(2))
    last[-1] = True
    return draw(vector(n, most)), draw(vector(n, most)), last, last & ended


@quick
@given(steps(), st.floats(0, 1), st.floats(0, 1), st.integers(1, 30))
def test_returns_are_finite(given_, discount, gae_lambda, n):
    rewards, values, last, terminated = given_
    after = next_values(values, values[last], last, terminated)
    for result in (
        discounted_sums(rewards, discount, last),
        *gae(rewards, values, after, last, discount, gae_lambda),
        n_step_returns(rewards, after, last, discount, n),
        standardise(rewards),
    ):
        assert result.shape == rewards.shape
        assert np.isfinite(result).all()
    assert explained_variance(values, rewards) <= 1 or np.isnan(explained_variance(values, rewards))


@quick
@given(st.data(), lengths)
def test_a_linear_critic_is_finite(data, n):
    critic = LinearCritic(3)
    observations, targets = data.draw(vector((n, 3))), data.draw(vector(n))
    state = critic.fit(critic.initialise(RNG(0)), observations, np.arange(n) * 1.0, targets, RNG(0))
    assert np.isfinite(critic.predict(state, observations, np.arange(n) * 1.0)).all()


@quick
@given(st.data(), lengths)
def test_a_perceptron_critic_is_finite(data, n):
    critic = MLPCritic(3, (4,), epochs=2, minibatch=4)
    observations, targets = data.draw(vector((n, 3), FAIR)), data.draw(vector(n))
    state = critic.fit(critic.initialise(RNG(0)), observations, np.zeros(n), targets, RNG(0))
    assert np.isfinite(critic.predict(state, observations, np.zeros(n))).all()


@quick
@given(st.data(), lengths, st.sampled_from([GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 2, (4,))]))
def test_a_policy_is_finite(data, n, policy):
    theta = data.draw(vector(len(policy.initialise(RNG(0))), 20))
    observations, other = data.draw(vector((n, 3), FAIR)), data.draw(vector(len(theta), 20))
    old, new = (policy.distribution(t, observations) for t in (theta, other))
    actions = policy.sample(old, policy.draw_noise(RNG(0), n))
    for result in (
        policy.log_prob(old, actions),
        policy.entropy(old),
        policy.kl(old, new),
        policy.log_prob(new, actions),
    ):
        assert result.shape == (n,)
        assert np.isfinite(result).all()
    assert (policy.kl(old, new) >= -1e-6 * (1 + np.abs(old).max() + np.abs(new).max())).all()
    assert np.isfinite(policy.mode(old)).all()


@quick
@given(st.data(), st.integers(1, 6))
def test_logits_of_any_size(data, n):
    logits, others = data.draw(vector((n, 4), 1e300)), data.draw(vector((n, 4), 1e300))
    with np.errstate(over="ignore"):
        assert (log_softmax(logits) <= 0).all()
        assert not np.isnan(categorical_kl(logits, others)).any()


@quick
@given(st.data(), st.integers(1, 8), st.integers(0, 20))
def test_conjugate_gradient_is_finite(data, n, iterations):
    root, b = data.draw(vector((n, n), 1e3)), data.draw(vector(n))
    matrix = root @ root.T + np.eye(n)
    x, residual = conjugate_gradient(lambda v: matrix @ v, b, iterations)
    assert np.isfinite(x).all()
    assert np.isfinite(residual).all()
    assert np.isfinite(energy(lambda v: matrix @ v, b, x)) or np.abs(b).max() > 1e90


@quick
@given(st.floats(0, 1e3), st.floats(-LARGE, LARGE))
def test_a_scale_is_finite(max_kl, curvature):
    assert np.isfinite(step_scale(max_kl, curvature)) or 0 < curvature < 1e-300


@quick
@given(st.data(), st.integers(1, 8), st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_a_line_search_ends_where_it_began_or_somewhere_finite(data, n, gain, kl):
    theta, step = data.draw(vector(n)), data.draw(vector(n))
    with np.errstate(all="ignore"):
        search = backtracking(lambda _: (gain, kl), theta, step, 1.0, 0.01)
    assert np.isfinite(search.theta).all()
    assert search.accepted or search.theta is theta
    assert np.isfinite([search.gain, search.kl]).all()


@quick
@given(
    st.lists(st.floats(-LARGE, LARGE), max_size=40), st.sampled_from(["none", "steps", "kl", "both"]), st.floats(0, 10)
)
def test_the_adaptive_rule_keeps_its_limits(returns, mode, margin):
    config = AdaptiveConfig(mode, margin, window=3)
    state = AdaptiveState(5_000, 0.01)
    for value in returns:
        state, _ = adapt(state, value, config)
        assert 1_000 <= state.steps_per_update <= 20_000
        assert 0.001 <= state.max_kl <= 0.02


@quick
@given(st.data(), st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_a_filter_is_finite(data, counts):
    seen = ObservationFilter.identity(2)
    for n in counts:
        observations = data.draw(vector((n, 2)))
        seen = seen.merged(observations)
        assert np.isfinite(seen.to_vector()).all()
        assert (np.abs(seen(observations)) <= seen.clip).all()
        again = ObservationFilter.from_vector(seen.to_vector())
        assert np.array_equal(again(observations), seen(observations))


@quick
@given(st.data(), st.integers(0, 10))
def test_episodes_have_one_order(data, n):
    numbers, starts, sizes = (data.draw(arrays(np.int64, n, elements=st.integers(0, 5))) for _ in range(3))
    order = in_order(numbers, starts)
    assert sorted(order.tolist()) == list(range(n))
    assert sorted(rows_of(order, sizes).tolist()) == list(range(sizes.sum()))


@quick
@given(st.integers(0, 10**6), st.integers(1, 10**5))
def test_blocks_cover_all_rows(rows, size):
    cut = blocks(rows, size)
    assert sum(block.stop - block.start for block in cut) == rows
    assert all(0 < block.stop - block.start <= size for block in cut)


# --- what makes no sense: (call, what it gives), an exception's class, or a value to find

LINEAR, CRITIC = LinearCritic(3), MLPCritic(3, (4,))
GAUSS, CHOICE = GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 2, (4,))
THETA, ROWS, ONE = GAUSS.initialise(RNG(0)), np.ones((5, 3)), np.ones(1, bool)
A_FILTER = ObservationFilter.identity(3)
TABLE = {
    "sums of nothing": (lambda: discounted_sums(NONE, 0.9, np.zeros(0, bool)), NONE),
    "sums, short mask": (lambda: discounted_sums(np.ones(3), 0.9, ONE), ValueError),
    "sums of NaN": (lambda: discounted_sums(NAN, 0.9, np.ones(3, bool)), NAN),
    "sums, NaN stays in its episode": (lambda: discounted_sums(np.array([np.nan, 1.0]), 0.9, np.ones(2, bool))[1], 1.0),
    "gae of nothing": (lambda: gae(NONE, NONE, NONE, np.zeros(0, bool), 0.9, 0.9)[0], NONE),
    "gae, short values": (lambda: gae(np.ones(3), np.ones(2), np.ones(3), np.ones(3, bool), 0.9, 0.9), ValueError),
    "next values of nothing": (lambda: next_values(NONE, NONE, np.zeros(0, bool), np.zeros(0, bool)), NONE),
    "next values, too few": (
        lambda: next_values(np.ones(3), np.ones(2), np.ones(3, bool), np.zeros(3, bool)),
        ValueError,
    ),
    "next values, short mask": (lambda: next_values(np.ones(3), np.ones(1), ONE, ONE), IndexError),
    "0 steps": (lambda: n_step_returns(np.ones(3), np.ones(3), np.ones(3, bool), 0.9, 0), ValueError),
    "-1 steps": (lambda: n_step_returns(np.ones(3), np.ones(3), np.ones(3, bool), 0.9, -1), ValueError),
    "steps of nothing": (lambda: n_step_returns(NONE, NONE, np.zeros(0, bool), 0.9, 3), NONE),
    "standardise nothing": (lambda: standardise(NONE), RuntimeWarning),
    "standardise equals": (lambda: standardise(np.full(5, 7.0)), np.zeros(5)),
    "standardise one": (lambda: standardise(np.ones(1)), np.zeros(1)),
    "standardise NaN": (lambda: standardise(NAN), NAN),
    "variance of equals": (lambda: explained_variance(np.zeros(3), np.ones(3)), np.nan),
    "variance of nothing": (lambda: explained_variance(np.ones(1), np.zeros(1)), np.nan),
    "variance of zeros": (lambda: explained_variance(np.zeros(3), np.zeros(3)), np.nan),
    "variance of NaN": (lambda: explained_variance(NAN, np.arange(3.0)), np.nan),
    "variance of shapes": (lambda: explained_variance(np.ones(2), np.arange(3.0)), ValueError),
    "predict nothing": (lambda: LINEAR.predict(LINEAR.initialise(RNG(0)), np.zeros((0, 3)), NONE), NONE),
    "predict another size": (
        lambda: LINEAR.predict(LINEAR.initialise(RNG(0)), np.ones((2, 4)), np.ones(2)),
        ValueError,
    ),
    "predict NaN": (lambda: LINEAR.predict({"coefficients": np.ones(9)}, ROWS * np.nan, np.ones(5))[0], np.nan),
    "mlp predicts nothing": (lambda: CRITIC.predict(CRITIC.initialise(RNG(0)), np.zeros((0, 3)), NONE), NONE),
    "mlp, another size": (lambda: CRITIC.predict(CRITIC.initialise(RNG(0)), np.ones((2, 4)), np.ones(2)), ValueError),
    "fit nothing": (
        lambda: LINEAR.fit(LINEAR.initialise(RNG(0)), np.zeros((0, 3)), NONE, NONE, RNG(0)),
        (IndexError, RuntimeWarning),
    ),
    "mlp fits nothing": (
        lambda: CRITIC.fit(CRITIC.initialise(RNG(0)), np.zeros((0, 3)), NONE, NONE, RNG(0)),
        (IndexError, RuntimeWarning),
    ),
    "fit equals": (
        lambda: LINEAR.fit(LINEAR.initialise(RNG(0)), ROWS, np.ones(5), np.zeros(5), RNG(0))["coefficients"],
        np.zeros(9),
    ),
    "policy of nothing": (lambda: GAUSS.distribution(THETA, np.zeros((0, 3))), np.zeros((0, 4))),
    "policy, another size": (lambda: GAUSS.distribution(THETA, np.ones((2, 4))), ValueError),
    "policy, short theta": (lambda: GAUSS.distribution(THETA[:-3], ROWS), ValueError),
    "choice of nothing": (lambda: CHOICE.sample(np.zeros((0, 2)), np.zeros((0, 1))), np.zeros(0)),
    "choice that is none": (lambda: CHOICE.log_prob(np.zeros((1, 2)), np.array([2])), IndexError),
    "kl to itself": (lambda: gaussian_kl(*[np.zeros((2, 3))] * 4), np.zeros(2)),
    "kl of infinite logits": (lambda: log_softmax(np.array([[0.0, -np.inf]]))[0, 1], -np.inf),
    "cg of zero": (lambda: conjugate_gradient(lambda v: v, np.zeros(3))[0], np.zeros(3)),
    "cg of nothing": (lambda: conjugate_gradient(lambda v: v, NONE)[0], NONE),
    "cg, no iterations": (lambda: conjugate_gradient(lambda v: v, np.ones(3), 0)[0], np.zeros(3)),
    "cg, no curvature": (lambda: conjugate_gradient(lambda v: 0 * v, np.ones(3))[0], np.zeros(3)),
    "cg, negative": (lambda: conjugate_gradient(lambda v: -v, np.ones(3))[0], np.zeros(3)),
    "cg, product NaN": (lambda: conjugate_gradient(lambda v: v * np.nan, np.ones(3))[0], np.zeros(3)),
    "cg of NaN": (lambda: conjugate_gradient(lambda v: v, NAN)[0], np.zeros(3)),
    "scale of 0": (lambda: step_scale(0.01, 0.0), 0.0),
    "scale of NaN": (lambda: step_scale(0.01, np.nan), 0.0),
    "scale of minus": (lambda: step_scale(0.01, -1.0), 0.0),
    "scale to nowhere": (lambda: step_scale(0.0, 1.0), 0.0),
    "search, zero step": (lambda: backtracking(lambda _: (1, 0), np.ones(3), np.zeros(3), 0, 1).theta, np.ones(3)),
    "search, NaN step": (lambda: backtracking(lambda _: (1, 0), np.ones(3), NAN, 1, 1).theta, np.ones(3)),
    "search, no trials": (
        lambda: backtracking(lambda _: (1, 0), np.ones(3), np.ones(3), 1, 1, max_trials=0).theta,
        np.ones(3),
    ),
    "search, shapes": (lambda: backtracking(lambda _: (1, 0), np.ones(3), np.ones(2), 1, 1), ValueError),
    "improved by NaN": (lambda: improved(np.nan, 1.0, 0.05), False),
    "improved on NaN": (lambda: improved(1.0, np.nan, 0.05), False),
    "clip keeps an outsider": (lambda: clip(50, 60, (100, 200)), 60),
    "filter of nothing": (lambda: A_FILTER.merged(np.zeros((0, 3))).to_vector(), A_FILTER.to_vector()),
    "filter, another size": (lambda: A_FILTER(np.ones((2, 4))), ValueError),
    "filter, no rows": (lambda: A_FILTER(np.zeros((0, 3))), np.zeros((0, 3))),
    "filter of equals": (lambda: A_FILTER.merged(ROWS)(ROWS), np.zeros((5, 3))),
    "filter of infinity": (lambda: A_FILTER(np.full((1, 3), np.inf)), np.full((1, 3), 10.0)),
    "moments of nothing": (lambda: moments(np.zeros((0, 3))), RuntimeWarning),
    "no episodes": (lambda: concatenate([empty(3, 2, False)] * 2).sorted().observations, np.zeros((0, 3))),
    "no episode ends": (lambda: empty(3, 2, True).last, np.zeros(0)),
    "no time passes": (lambda: empty(3, 2, True).timesteps, NONE),
    "no parts": (lambda: concatenate([]), ValueError),
    "blocks of nothing": (lambda: len(blocks(0)), 0),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_makes_no_sense_is_defined(name):
    call, expected = TABLE[name]
    if isinstance(expected, type | tuple):
        with pytest.raises(expected):
            call()
    else:
        np.testing.assert_array_equal(call(), expected)
