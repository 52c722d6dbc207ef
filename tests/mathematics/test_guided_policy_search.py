"""Guided policy search: its formulas against oracles, and whole runs against Riccati."""

from functools import cache

import gymnasium
import numpy as np
import pytest
import scipy.optimize
from autograd import grad, hessian
from fragments import fragment
from runs import forked, train

from minitrpo.algorithms.algorithm import Context, Plan
from minitrpo.algorithms.guided_policy_search.guided_policy_search import (
    FACTORS,
    GuidedPolicySearch,
    GuidedPolicySearchSettings,
    Samples,
    cost_of,
    improved,
    new_factor,
)
from minitrpo.algorithms.guided_policy_search.imitation import Targets, imitate, imitated_std, loss
from minitrpo.algorithms.guided_policy_search.local_models import HIDDEN, CostNetwork
from minitrpo.block_sums import BLOCK
from minitrpo.errors import BadInput
from minitrpo.experience.linear_quadratic import STEPS, LinearQuadratic, best_return
from minitrpo.experience.randomness import first_state_seed
from minitrpo.perceptron import count_parameters, initialise_mlp, layer_sizes, mlp
from minitrpo.policies import GaussianPolicy
from minitrpo.run_folder.folder import RunFolder

PUCK = "minitrpo.experience.linear_quadratic:LinearQuadratic-v0"
JOB = ("--algorithm", "guided-policy-search", "--env", PUCK)


def targets(R, n, m, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((R, m, m))
    P = root @ root.swapaxes(1, 2) + 0.5 * np.eye(m)
    return Targets(rng.standard_normal((R, n)), rng.standard_normal((R, m)), P)


@pytest.mark.parametrize(("R", "n", "m"), [(30, 3, 1), (40, 2, 2), (BLOCK + 50, 4, 3)])
def test_for_a_linear_policy_one_step_is_weighted_least_squares(R, n, m):
    to, sizes = targets(R, n, m, R), layer_sizes(n, (), m)
    w, found = imitate(np.zeros(count_parameters(sizes)), sizes, to, rounds=1, iterations=200, damping=1e-12)
    # the normal equations of sum_i (W'x_i + b - u_i)' P_i (W'x_i + b - u_i), for all entries of (W, b) at once
    x = np.column_stack([to.x, np.ones(R)])
    normal = np.einsum("ri,rjk,rl->ijlk", x, to.P, x).reshape((n + 1) * m, (n + 1) * m)
    exact = np.linalg.solve(normal, np.einsum("ri,rjk,rk->ij", x, to.P, to.u).ravel())
    np.testing.assert_allclose(w, exact, atol=1e-4)
    assert found == pytest.approx(loss(exact, sizes, to), rel=1e-6)


def test_it_never_gets_worse_by_the_formula_of_its_loss_and_imitates_a_network():
    sizes = layer_sizes(3, (8,), 2)
    rng = np.random.default_rng(2)
    to = targets(500, 3, 2, 2)
    to = Targets(to.x, mlp(initialise_mlp(rng, sizes, 1.0), sizes, to.x), to.P)
    w = initialise_mlp(rng, sizes, 0.01)
    apart = mlp(w, sizes, to.x) - to.u
    losses = [loss(w, sizes, to)]
    assert losses[0] == pytest.approx(np.mean([0.5 * r @ P @ r for r, P in zip(apart, to.P, strict=True)]), rel=1e-12)
    for _ in range(8):
        w, after = imitate(w, sizes, to, rounds=5)
        assert after <= losses[-1]
        assert after == loss(w, sizes, to)
        losses.append(after)
    assert losses[-1] < 1e-3 * losses[0]


@pytest.mark.parametrize("m", [1, 3])
def test_the_noise_is_the_one_nearest_to_the_controllers(m):
    P = targets(20, 1, m, m).P

    def divergence(log_std):
        return np.mean(np.einsum("rii,i->r", P, np.exp(2 * log_std))) - 2 * np.sum(log_std)

    found = scipy.optimize.minimize(divergence, np.zeros(m), tol=1e-12)
    np.testing.assert_allclose(np.log(imitated_std(P)), found.x, atol=1e-5)


@pytest.mark.parametrize(("kept", "times"), [(1.0, 5.0), (0.9, 5.0), (0.75, 2.0), (0.5, 1.0), (0.0, 0.5), (-1.0, 0.25)])
def test_the_factor_is_where_the_model_of_the_cost_is_lowest(kept, times):
    """-s + (1 - kept) s^2 is lowest at s = 1 / (2 (1 - kept)); a promise of nothing shortens the way."""
    assert new_factor(1.0, 1.0, kept) == pytest.approx(np.clip(times, *FACTORS))
    assert new_factor(2.0, 1.0, kept) == pytest.approx(np.clip(2 * times, *FACTORS))
    assert new_factor(5.0, -0.1, 0.5) == pytest.approx(0.5)


def bowl(Z):
    """A distance: no one quadratic is near it everywhere."""
    return np.sqrt(0.01 + np.sum(Z**2, axis=1))


@cache
def fitted_bowl(rounds=20):
    Z = np.random.default_rng(0).uniform(-1, 1, (400, 2)) * [1.0, 10.0]  # of two units
    return CostNetwork.fresh(2, np.random.default_rng(1)).fitted(Z, bowl(Z / [1.0, 10.0]), rounds)


def test_the_network_learns_the_cost_where_episodes_were_and_says_the_same_of_everything_before():
    Z = np.random.default_rng(3).uniform(-0.9, 0.9, (200, 2))
    assert len(set(fitted_bowl(0).value(Z))) == 1
    assert np.sqrt(np.mean((fitted_bowl().value(Z * [1, 10]) - bowl(Z)) ** 2)) < 0.1 * np.std(bowl(Z))


def test_an_expansion_has_the_networks_value_gradient_and_the_convex_part_of_its_second_derivatives():
    network, sizes = fitted_bowl(), layer_sizes(2, HIDDEN, 1)

    def value(z):
        out = mlp(network.w, sizes, ((z - network.units[0, :2]) / network.units[1, :2])[None])[0, 0]
        return network.units[0, 2] + network.units[1, 2] * out

    Z = np.array([[0.05, 0.3], [0.5, -4.0], [-0.8, 6.0], [0.0, 0.0], [0.7, 0.0]])
    at, convex, units = network.expansion(Z), 0, np.array([1.0, 10.0])
    for z, C, c, e in zip(Z, at.C, at.c, at.e, strict=True):
        assert 0.5 * z @ C @ z + c @ z + e == pytest.approx(value(z), rel=1e-10)
        np.testing.assert_allclose(units * (C @ z + c), units * grad(value)(z), rtol=1e-6, atol=1e-8)
        H, C = (np.outer(units, units) * matrix for matrix in (hessian(value)(z), C))
        assert np.linalg.eigvalsh(C)[0] >= -1e-12
        if np.linalg.eigvalsh(H)[0] > 0:
            convex += 1
            np.testing.assert_allclose(C, H, rtol=0.02, atol=0.02 * np.abs(H).max())
    assert 0 < convex < len(Z)
    assert at.C[3, 0, 0] > 3 * at.C[4, 0, 0]  # of the bowl itself: 10 and 0.03


LINEAR = GaussianPolicy(4, 2, ())


def rollouts(theta, N, seed):
    """Return the Samples of N episodes of the puck from one first state."""
    rng = np.random.default_rng(seed)
    env, X, U, rewards = LinearQuadratic(), np.empty((N, STEPS + 1, 4)), np.empty((N, STEPS, 2)), np.empty((N, STEPS))
    for i in range(N):
        X[i, 0] = env.reset(seed=7)[0]
        for t in range(STEPS):
            U[i, t] = LINEAR.sample(LINEAR.distribution(theta, X[i, t][None]), rng.standard_normal((1, 2)))[0]
            X[i, t + 1], rewards[i, t] = env.step(U[i, t])[:2]
    return Samples(X, U, rewards, np.ones((N, STEPS), bool))


@pytest.mark.parametrize("state_cost", ["", "1,1,0.1,0.1"])
def test_with_a_generous_limit_a_condition_finds_the_best_controller_at_once(state_cost):
    """Whether the cost is told or estimated from the rewards."""
    options = GuidedPolicySearchSettings(local_kl=8.0, state_cost=state_cost, control_cost=0.1)
    theta = np.concatenate([np.zeros(10), np.log([0.5, 0.5])])
    samples = rollouts(theta, 40, 0)
    memory = {"factor": 1.0, "eta": 1.0, "promised": np.nan, "cost": np.nan}
    found = improved(LINEAR, theta, samples, options, memory)
    best = -best_return(samples.X[0, 0])
    assert found["expected_cost"][0] * STEPS == pytest.approx(best, rel=0.02)
    assert found["cost"][0] * STEPS == pytest.approx(-samples.rewards.sum(axis=1).mean())
    assert found["promised"][0] == pytest.approx(
        found["cost"][0] - found["expected_cost"][0], rel=0.3
    )  # of 40 random walks
    assert found["x"].shape == (40 * STEPS, 4)


def test_a_condition_goes_as_far_as_most_of_its_episodes():
    alive = np.arange(10) < np.array([2, 4, 6, 8])[:, None]
    assert Samples(np.zeros((4, 11, 1)), np.zeros((4, 10, 1)), np.zeros((4, 10)), alive).horizon == 6
    one_lasts = np.arange(10) < np.array([1, 9])[:, None]
    assert Samples(np.zeros((2, 11, 1)), np.zeros((2, 10, 1)), np.zeros((2, 10)), one_lasts).horizon == 1


def test_a_network_is_expanded_where_the_episodes_that_still_went_on_were():
    rng, network = np.random.default_rng(5), fitted_bowl()
    alive = np.array([[True, True, True, True], [True, True, True, False], [True, True, False, False]])
    samples = Samples(rng.uniform(-1, 1, (3, 5, 1)), rng.uniform(-1, 1, (3, 4, 1)), rng.standard_normal((3, 4)), alive)
    cost, sampled = cost_of(samples, GuidedPolicySearchSettings(), network)
    Z = np.concatenate([samples.X[:, :-1], samples.U], axis=2)
    np.testing.assert_allclose(
        cost.C, network.expansion(np.array([Z[alive[:, t], t].mean(axis=0) for t in range(4)])).C
    )
    assert sampled == pytest.approx(-samples.rewards[alive].mean())


def make(policy=LINEAR, first_states=2, **options):
    return GuidedPolicySearch(
        GuidedPolicySearchSettings(**options), Context(policy, 0, 1000, first_states=first_states)
    )


def test_the_plan_is_every_condition_so_many_times():
    plan = make(samples=5).plan()
    assert (plan.episodes, plan.steps) == (10, 1000)


@pytest.mark.parametrize(("horizon", "steps"), [(6, 6), (9, 6), (4, 4)])
def test_a_digest_is_one_row_whatever_an_episodes_length(horizon, steps):
    rng = np.random.default_rng(0)
    episode = fragment(
        rng.standard_normal((6, 4)), rng.standard_normal((6, 2)), rng.standard_normal(6), rng.standard_normal(4)
    )
    row = make(horizon=horizon).prepare(Plan(np.zeros(0)), episode)
    assert {name: a.shape for name, a in row.items()} == {
        "X": (1, horizon + 1, 4), "U": (1, horizon, 2), "rewards": (1, horizon), "alive": (1, horizon)}  # fmt: skip
    assert row["alive"].sum() == steps
    states = np.concatenate([episode.observations, episode.final_observations])
    np.testing.assert_array_equal(row["X"][0, : steps + 1], states[: steps + 1])
    np.testing.assert_array_equal(row["U"][0, :steps], episode.actions[:steps])
    np.testing.assert_array_equal(row["rewards"][0, :steps], episode.rewards[:steps])


def test_a_new_first_state_owes_nothing_and_an_old_one_does():
    algorithm = make(first_states=2)
    algorithm._forget(np.array([[1.0] * 4, [2.0] * 4]))
    algorithm.promises |= {"promised": np.ones(2), "cost": np.ones(2)}
    algorithm._forget(np.array([[1.0] * 4, [3.0] * 4]))
    for name in ("promised", "cost"):
        np.testing.assert_array_equal(algorithm.promises[name], [1.0, np.nan])


def test_what_cannot_begin_is_refused(tmp_path):
    for bad in ("1,x", "1,-1,1,1", "0,0,0,0", "1,inf,1,1"):
        with pytest.raises(BadInput, match="--state-cost"):
            GuidedPolicySearchSettings(state_cost=bad).check()
    GuidedPolicySearchSettings(state_cost="0,1,0,0.5").check()
    with pytest.raises(BadInput, match="--cost-network"):
        GuidedPolicySearchSettings(state_cost="1,1,1,1", cost_network=2).check()
    with pytest.raises(BadInput, match="--state-cost"):  # an observation has 4 numbers
        make(state_cost="1,2")
    with pytest.raises(BadInput, match="--first-states"):
        make(first_states=0)
    done = forked("train", *JOB, "--requests", "segments", "--out", "run", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert "--requests segments" in done.err


@pytest.mark.slow
def test_within_2_percent_of_riccati_and_never_beyond_its_steps(tmp_path):
    """From first states that are the same in every update, so that what is best is one number."""
    train(tmp_path / "run", *JOB, "--total-steps", 9700, "--renew-first-states", 0)
    env, columns = gymnasium.make(PUCK), RunFolder(tmp_path / "run").columns()
    best = np.mean([best_return(env.reset(seed=first_state_seed(0, 6, j, 4))[0]) for j in range(4)])
    returns = columns["mean_return"]
    assert columns["env_steps"][-1] == 9600  # an update has 1,600
    assert returns[0] < 5 * best
    assert best * 1.02 < returns[-1] <= best * 0.999  # noise costs something


@pytest.mark.parametrize("room", ["experience", "course"])
def test_the_puck_has_its_preset_and_its_dynamics_under_both_names(room):
    """`course` is where it was; a module of a user's that has an environment of this name has no part in it."""
    env = f"minitrpo.{room}.linear_quadratic:LinearQuadratic-v0"
    assert type(gymnasium.make(env).unwrapped) is LinearQuadratic
    preset = GuidedPolicySearch.presets["default"]
    assert preset.settings(env)["horizon"] == STEPS
    assert "horizon" not in preset.settings("mine:LinearQuadratic-v0")
