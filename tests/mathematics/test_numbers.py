"""Numbers of any size change nothing but the size of a result; what makes no sense has a defined value or error."""

from functools import partial

import numpy as np
import pytest
from fragments import empty

from minitrpo.adaptive import improved
from minitrpo.block_sums import blocks
from minitrpo.conjugate_gradient import conjugate_gradient, energy
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.experience.fragments import concatenate, in_order, rows_of
from minitrpo.experience.observation_filter import ObservationFilter, moments
from minitrpo.line_search import backtracking, step_scale
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, categorical_kl, gaussian_kl, log_softmax
from minitrpo.returns import discounted_sums, explained_variance, gae, n_step_returns, next_values, standardise

RNG = np.random.default_rng
ROWS, TIMES = RNG(0).standard_normal((20, 3)), np.arange(20.0)
X, V = RNG(1).standard_normal((2, 20))
LAST, ENDED = np.arange(20) % 7 == 6, np.arange(20) == 13
LAST[-1] = True
AFTER = next_values(V, V[LAST], LAST, ENDED)
ROOT = RNG(2).standard_normal((20, 20))
MATRIX = ROOT @ ROOT.T + np.eye(20)
LINEAR, CRITIC = LinearCritic(3), MLPCritic(3, (4,), epochs=2, minibatch=8)
FILTER = ObservationFilter.identity(3)


def product(v):
    return MATRIX @ v


def predicted(critic, targets):
    return critic.predict(critic.fit(critic.initialise(RNG(0)), ROWS, TIMES, targets, RNG(0)), ROWS, TIMES)


# name: (f, its degree): f(s x) = s^degree f(x), to the bit where s is a power of two, as that changes no rounding
HOMOGENEOUS = {
    "next values": (lambda s: next_values(s * V, s * V[LAST], LAST, ENDED), 1),
    "discounted sums": (lambda s: discounted_sums(s * X, 0.9, LAST), 1),
    "n-step returns": (lambda s: n_step_returns(s * X, s * AFTER, LAST, 0.9, 3), 1),
    "advantages": (lambda s: gae(s * X, s * V, s * AFTER, LAST, 0.9, 0.8)[0], 1),
    "explained variance": (lambda s: explained_variance(s * V, s * X), 0),
    "conjugate gradient": (lambda s: np.array(conjugate_gradient(product, s * X, 7)), 1),
    "energy": (lambda s: energy(product, s * X, s * V), 2),
    "step scale": (lambda s: step_scale(0.01, 3.0 / s**2), 1),
    "ridge regression": (lambda s: predicted(LINEAR, s * X), 1),
    "perceptron critic": (lambda s: predicted(CRITIC, max(s, 1.0) * X) / max(s, 1.0) * s, 1),  # scales of 1e-4 or more
    "mean": (lambda s: moments(s * ROWS)[0], 1),
    "squared deviations": (lambda s: moments(s * ROWS)[1], 2),
    "filter": (lambda s: FILTER.merged(max(s, 2**-9) * ROWS)(max(s, 2**-9) * ROWS), 0),  # deviations of 1e-6 or more
}


@pytest.mark.parametrize("exponent", [-300, -30, 30, 300])
@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_a_change_of_units_changes_nothing_else_to_the_bit(name, exponent):
    f, degree = HOMOGENEOUS[name]
    scale = 2.0**exponent
    expected = scale**degree * f(1.0)
    assert np.isfinite(expected).all()
    assert np.any(expected != 0)
    np.testing.assert_array_equal(f(scale), expected)


@pytest.mark.parametrize("policy", [GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 2, (4,))])
def test_a_policy_is_finite_wherever_it_is_asked(policy):
    for seed, size in ((0, 1.0), (1, 1e3), (2, 1e6)):
        rng = RNG(seed)
        thetas = 20 * rng.uniform(-1, 1, (2, len(policy.initialise(rng))))
        old, new = (policy.distribution(theta, size * ROWS) for theta in thetas)
        actions, kl = policy.sample(old, policy.draw_noise(rng, 20)), policy.kl(old, new)
        for result in (policy.log_prob(old, actions), policy.log_prob(new, actions), policy.entropy(old), kl):
            assert result.shape == (20,)
            assert np.isfinite(result).all()
        assert (kl >= -1e-12).all()
        assert kl.max() > 0


def test_logits_of_any_size_are_probabilities():
    logits, others = 1e300 * RNG(0).uniform(-1, 1, (2, 50, 4))
    with np.errstate(over="ignore"):
        assert (log_softmax(logits) <= 0).all()
        np.testing.assert_allclose(np.exp(log_softmax(logits)).sum(axis=1), 1.0)
        assert not np.isnan(categorical_kl(logits, others)).any()
    assert log_softmax(np.array([[0.0, -np.inf]])).tolist() == [[0.0, -np.inf]]


def test_episodes_have_one_order():
    rng = RNG(0)
    for n in range(8):
        numbers, starts, sizes = rng.integers(0, 5, (3, n))
        order = in_order(numbers, starts)
        assert order.tolist() == sorted(range(n), key=lambda i: (numbers[i], starts[i]))
        stops = np.cumsum(sizes)
        rows = [row for i in order for row in range(stops[i] - sizes[i], stops[i])]
        assert rows_of(order, sizes).tolist() == rows


# --- what makes no sense: (call, what it gives), or an error

NAN, NONE, NOTHING = np.full(3, np.nan), np.zeros(0), np.zeros(0, bool)
GAUSS = GaussianPolicy(3, 2, (4,))
THETA, ONE, THREE = GAUSS.initialise(RNG(0)), np.ones(1, bool), np.ones(3, bool)
SEARCH = partial(backtracking, lambda _: (1, 0), np.ones(3))
NO_EPISODES = concatenate([empty(3, 2, False)] * 2).sorted()
TABLE = {
    "sums of nothing": (lambda: discounted_sums(NONE, 0.9, NOTHING), NONE),
    "sums of NaN": (lambda: discounted_sums(NAN, 0.9, THREE), NAN),
    "sums, NaN stays in its episode": (lambda: discounted_sums(np.array([np.nan, 1.0]), 0.9, np.ones(2, bool))[1], 1.0),
    "gae of nothing": (lambda: gae(NONE, NONE, NONE, NOTHING, 0.9, 0.9)[0], NONE),
    "next values of nothing": (lambda: next_values(NONE, NONE, NOTHING, NOTHING), NONE),
    "steps of nothing": (lambda: n_step_returns(NONE, NONE, NOTHING, 0.9, 3), NONE),
    "standardise equals": (lambda: standardise(np.full(5, 7.0)), np.zeros(5)),
    "standardise one": (lambda: standardise(np.ones(1)), np.zeros(1)),
    "standardise NaN": (lambda: standardise(NAN), NAN),
    "variance of equals": (lambda: explained_variance(np.zeros(3), np.ones(3)), np.nan),
    "variance of nothing": (lambda: explained_variance(np.ones(1), np.zeros(1)), np.nan),
    "variance of NaN": (lambda: explained_variance(NAN, np.arange(3.0)), np.nan),
    "predict nothing": (lambda: LINEAR.predict(LINEAR.initialise(RNG(0)), np.zeros((0, 3)), NONE), NONE),
    "mlp predicts nothing": (lambda: CRITIC.predict(CRITIC.initialise(RNG(0)), np.zeros((0, 3)), NONE), NONE),
    "fit zeros": (lambda: predicted(LINEAR, np.zeros(20)), np.zeros(20)),
    "fit equals": (lambda: np.isfinite(predicted(CRITIC, np.full(20, 7.0))).all(), True),
    "policy of nothing": (lambda: GAUSS.distribution(THETA, np.zeros((0, 3))), np.zeros((0, 4))),
    "choice of nothing": (lambda: CategoricalPolicy(3, 2, ()).sample(np.zeros((0, 2)), np.zeros((0, 1))), NONE),
    "kl to itself": (lambda: gaussian_kl(*[np.zeros((2, 3))] * 4), np.zeros(2)),
    "cg of zero": (lambda: conjugate_gradient(lambda v: v, np.zeros(3))[0], np.zeros(3)),
    "cg of nothing": (lambda: conjugate_gradient(lambda v: v, NONE)[0], NONE),
    "cg, product NaN": (lambda: conjugate_gradient(lambda v: v * np.nan, np.ones(3))[0], np.zeros(3)),
    "cg of NaN": (lambda: conjugate_gradient(lambda v: v, NAN)[0], np.zeros(3)),
    "scales": (lambda: [step_scale(0.01, bad) for bad in (0.0, -1.0, np.nan, -np.inf)], np.zeros(4)),
    "scale to nowhere": (lambda: step_scale(0.0, 1.0), 0.0),
    "search, no trials": (lambda: SEARCH(np.ones(3), 1, 1, max_trials=0).theta, np.ones(3)),
    "improved by NaN": (lambda: improved(np.nan, 1.0, 0.05) or improved(1.0, np.nan, 0.05), False),
    "filter of nothing": (lambda: FILTER.merged(np.zeros((0, 3))).to_vector(), FILTER.to_vector()),
    "filter, no rows": (lambda: FILTER(np.zeros((0, 3))), np.zeros((0, 3))),
    "filter of infinity": (lambda: FILTER(np.full((1, 3), np.inf)), np.full((1, 3), 10.0)),
    "no episodes": (lambda: NO_EPISODES.observations, np.zeros((0, 3))),
    "no episode ends": (lambda: empty(3, 2, True).last, NONE),
    "no time passes": (lambda: empty(3, 2, True).timesteps, NONE),
    "blocks of nothing": (lambda: blocks(0), []),
}
ERRORS = {
    "sums, short mask": lambda: discounted_sums(np.ones(3), 0.9, ONE),
    "gae, short values": lambda: gae(np.ones(3), np.ones(2), np.ones(3), THREE, 0.9, 0.9),
    "next values, too few": lambda: next_values(np.ones(3), np.ones(2), THREE, ~THREE),
    "0 steps": lambda: n_step_returns(np.ones(3), np.ones(3), THREE, 0.9, 0),
    "variance of shapes": lambda: explained_variance(np.ones(2), np.arange(3.0)),
    "predict another size": lambda: LINEAR.predict(LINEAR.initialise(RNG(0)), np.ones((2, 4)), np.ones(2)),
    "mlp, another size": lambda: CRITIC.predict(CRITIC.initialise(RNG(0)), np.ones((2, 4)), np.ones(2)),
    "policy, another size": lambda: GAUSS.distribution(THETA, np.ones((2, 4))),
    "policy, short theta": lambda: GAUSS.distribution(THETA[:-3], ROWS),
    "search, shapes": lambda: SEARCH(np.ones(2), 1, 1),
    "filter, another size": lambda: FILTER(np.ones((2, 4))),
    "no parts": lambda: concatenate([]),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_makes_no_sense_has_a_value(name):
    call, expected = TABLE[name]
    np.testing.assert_array_equal(call(), expected)


@pytest.mark.parametrize("name", ERRORS)
def test_what_has_no_value_is_an_error(name):
    with pytest.raises(ValueError):  # noqa: PT011 - numpy's words for shapes
        ERRORS[name]()
