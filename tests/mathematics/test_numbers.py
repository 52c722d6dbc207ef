"""Numbers of any size change nothing but the size of a result; what makes no sense has a defined value or error."""

import numpy as np
import pytest

from minitrpo.advantages import discounted_sums, explained_variance, gae, n_step_returns, next_values, standardise
from minitrpo.conjugate_gradient import conjugate_gradient, energy
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.experience.observation_filter import ObservationFilter, moments
from minitrpo.line_search import step_scale
from minitrpo.policies import GaussianPolicy, gaussian_kl

RNG = np.random.default_rng
ROWS, TIMES = RNG(0).standard_normal((20, 3)), np.arange(20.0)
X, V = RNG(1).standard_normal((2, 20))
LAST, ENDED = np.arange(20) % 7 == 6, np.arange(20) == 13
LAST[-1] = True
AFTER = next_values(V, V[LAST], LAST, ENDED)
MATRIX = np.cov(RNG(2).standard_normal((20, 40))) + np.eye(20)
LINEAR, CRITIC = LinearCritic(3), MLPCritic(3, (4,), epochs=2, minibatch=8)
FILTER = ObservationFilter.identity(3)


def product(v):
    return MATRIX @ v


def predicted(critic, targets):
    samples = {"observations": ROWS, "timesteps": TIMES, "targets": targets}
    return critic.predict(critic.fit(critic.initialise(RNG(0)), samples, RNG(0)), ROWS, TIMES)


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


# --- what makes no sense: (call, what it gives), or an error

NAN, NONE, NOTHING = np.full(3, np.nan), np.zeros(0), np.zeros(0, bool)
GAUSS = GaussianPolicy(3, 2, (4,))
THETA, THREE = GAUSS.initialise(RNG(0)), np.ones(3, bool)
TABLE = {
    "sums of nothing": (lambda: discounted_sums(NONE, 0.9, NOTHING), NONE),
    "sums of NaN": (lambda: discounted_sums(NAN, 0.9, THREE), NAN),
    "sums, NaN stays in its episode": (lambda: discounted_sums(np.array([np.nan, 1.0]), 0.9, np.ones(2, bool))[1], 1.0),
    "gae of nothing": (lambda: gae(NONE, NONE, NONE, NOTHING, 0.9, 0.9)[0], NONE),
    "next values of nothing": (lambda: next_values(NONE, NONE, NOTHING, NOTHING), NONE),
    "steps of nothing": (lambda: n_step_returns(NONE, NONE, NOTHING, 0.9, 3), NONE),
    "standardise equals": (lambda: standardise(np.full(5, 7.0)), np.zeros(5)),
    "standardise NaN": (lambda: standardise(NAN), NAN),
    "variance of equals": (lambda: explained_variance(np.zeros(3), np.ones(3)), np.nan),
    "variance of NaN": (lambda: explained_variance(NAN, np.arange(3.0)), np.nan),
    "predict nothing": (lambda: LINEAR.predict(LINEAR.initialise(RNG(0)), np.zeros((0, 3)), NONE), NONE),
    "mlp predicts nothing": (lambda: CRITIC.predict(CRITIC.initialise(RNG(0)), np.zeros((0, 3)), NONE), NONE),
    "fit zeros": (lambda: predicted(LINEAR, np.zeros(20)), np.zeros(20)),
    "fit equals": (lambda: np.isfinite(predicted(CRITIC, np.full(20, 7.0))).all(), True),
    "policy of nothing": (lambda: GAUSS.distribution(THETA, np.zeros((0, 3))), np.zeros((0, 4))),
    "kl to itself": (lambda: gaussian_kl(*[np.zeros((2, 3))] * 4), np.zeros(2)),
    "cg, product NaN": (lambda: conjugate_gradient(lambda v: v * np.nan, np.ones(3))[0], np.zeros(3)),
    "cg of NaN": (lambda: conjugate_gradient(lambda v: v, NAN)[0], np.zeros(3)),
    "filter of nothing": (lambda: FILTER.merged(np.zeros((0, 3))).to_vector(), FILTER.to_vector()),
    "filter of infinity": (lambda: FILTER(np.full((1, 3), np.inf)), np.full((1, 3), 10.0)),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_makes_no_sense_has_a_value(name):
    call, expected = TABLE[name]
    np.testing.assert_array_equal(call(), expected)


def test_what_does_not_fit_together_is_an_error():
    ones = np.ones(3)
    for call in (
        lambda: discounted_sums(ones, 0.9, THREE[:1]),
        lambda: gae(ones, ones[:2], ones, THREE, 0.9, 0.9),
        lambda: next_values(ones, ones[:2], THREE, ~THREE),
        lambda: LINEAR.predict(LINEAR.initialise(RNG(0)), np.ones((2, 4)), ones[:2]),
        lambda: CRITIC.predict(CRITIC.initialise(RNG(0)), np.ones((2, 4)), ones[:2]),
        lambda: GAUSS.distribution(THETA[:-3], ROWS),
        lambda: FILTER(np.ones((2, 4))),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - numpy's words
            call()
