"""Guided policy search: its formulas against oracles, whole runs against Riccati, ranks and resumes to the bit."""

import gymnasium
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from runs import lasting, run, train

from minitrpo.algorithms.algorithm import Context, Plan
from minitrpo.algorithms.guided_policy_search.cost_network import CostNetwork
from minitrpo.algorithms.guided_policy_search.guided_policy_search import GuidedPolicySearch
from minitrpo.algorithms.guided_policy_search.imitation import Targets, imitate, imitated_std, loss
from minitrpo.algorithms.guided_policy_search.local_policies import FACTORS, Samples, cost_of, improved, new_factor
from minitrpo.algorithms.guided_policy_search.settings import GuidedPolicySearchSettings
from minitrpo.block_sums import BLOCK
from minitrpo.course import linear_quadratic as puck
from minitrpo.course.linear_quadratic import STEPS, LinearQuadratic, best_return
from minitrpo.errors import BadInput
from minitrpo.experience.fragments import Fragments
from minitrpo.experience.randomness import first_state_seed
from minitrpo.perceptron import count_parameters, initialise_mlp, layer_sizes, mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.run_folder.folder import RunFolder

GPS = ("--algorithm", "guided-policy-search")
PUCK = "minitrpo.course.linear_quadratic:LinearQuadratic-v0"
SMALL = (*GPS, "--env", PUCK, "--first-states", 3, "--samples", 5, "--total-steps", 2250, "--hidden", "8")
NETWORK = (*SMALL, "--cost-network", 2)
POLE = (*GPS, "--env", "InvertedPendulum-v5", "--total-steps", 2000, "--hidden", "8", "--samples", 4)


# --- imitation


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


def test_the_loss_is_the_formula():
    to, sizes = targets(7, 3, 2, 0), layer_sizes(3, (4,), 2)
    w = initialise_mlp(np.random.default_rng(1), sizes, 1.0)
    expected = 0.0
    for x, u, P in zip(to.x, to.u, to.P, strict=True):
        r = mlp(w, sizes, x[None])[0] - u
        expected += 0.5 * r @ P @ r / 7
    assert loss(w, sizes, to) == pytest.approx(expected, rel=1e-12)


def test_it_never_gets_worse_and_imitates_a_network():
    sizes = layer_sizes(3, (8,), 2)
    rng = np.random.default_rng(2)
    to = targets(500, 3, 2, 2)
    to = Targets(to.x, mlp(initialise_mlp(rng, sizes, 1.0), sizes, to.x), to.P)
    w = initialise_mlp(rng, sizes, 0.01)
    losses = [loss(w, sizes, to)]
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


# --- how far a local controller may go


@given(st.floats(0.2, 5.0), st.floats(0.01, 10.0), st.floats(-10.0, 10.0))
def test_the_factor_grows_with_what_was_kept_of_a_promise(factor, promised, kept):
    new = new_factor(factor, promised, kept)
    assert FACTORS[0] <= new <= FACTORS[1]
    assert new <= new_factor(factor, promised, kept + 1.0) * (1 + 1e-12)
    assert new <= max(factor * 5 * (1 + 1e-9), FACTORS[0])


@pytest.mark.parametrize(("kept", "times"), [(1.0, 5.0), (0.9, 5.0), (0.75, 2.0), (0.5, 1.0), (0.0, 0.5), (-1.0, 0.25)])
def test_the_factor_is_where_the_model_of_the_cost_is_lowest(kept, times):
    """-s + (1 - kept) s^2 is lowest at s = 1 / (2 (1 - kept))."""
    assert new_factor(1.0, 1.0, kept) == pytest.approx(np.clip(times, *FACTORS))
    assert new_factor(2.0, 1.0, kept) == pytest.approx(np.clip(2 * times, *FACTORS))


def test_a_promise_of_nothing_shortens_the_way():
    assert new_factor(5.0, -0.1, 0.5) == pytest.approx(0.5)


# --- the cost as a network


def bowl(Z):
    """A distance: no one quadratic is near it everywhere."""
    return np.sqrt(0.01 + np.sum(Z**2, axis=1))


def fitted_bowl(rounds=40):
    Z = np.random.default_rng(0).uniform(-1, 1, (600, 2)) * [1.0, 10.0]  # of two units
    return CostNetwork.fresh(2, np.random.default_rng(1)).fitted(Z, bowl(Z / [1.0, 10.0]), rounds)


def test_a_network_that_saw_nothing_says_the_same_of_everything():
    network = fitted_bowl(rounds=0)
    assert len(set(network.value(np.random.default_rng(2).standard_normal((9, 2))))) == 1


def test_the_network_learns_the_cost_where_episodes_were():
    network, Z = fitted_bowl(), np.random.default_rng(3).uniform(-0.9, 0.9, (200, 2))
    assert np.sqrt(np.mean((network.value(Z * [1, 10]) - bowl(Z)) ** 2)) < 0.1 * np.std(bowl(Z))


def test_an_expansion_has_the_networks_value_gradient_and_where_it_is_convex_its_second_derivatives():
    network, h = fitted_bowl(), 1e-4
    Z = np.array([[0.05, 0.3], [0.5, -4.0], [-0.8, 6.0], [0.0, 0.0]])
    at = network.expansion(Z)

    def quadratic(j, z):
        return 0.5 * z @ at.C[j] @ z + at.c[j] @ z + at.e[j]

    steps = np.array([[h, 0.0], [0.0, 10 * h]])
    convex = 0
    for j, z in enumerate(Z):
        assert quadratic(j, z) == pytest.approx(network.value(z[None])[0], rel=1e-10)
        H = np.empty((2, 2))
        for a, one in enumerate(steps):
            slope = [f(z + one) - f(z - one) for f in (lambda z: network.value(z[None])[0], lambda z: quadratic(j, z))]  # noqa: B023
            assert slope[1] == pytest.approx(slope[0], rel=1e-4, abs=1e-9)
            for b, other in enumerate(steps):
                corners = [network.value((z + one * p + other * q)[None])[0] * p * q for p in (1, -1) for q in (1, -1)]
                H[a, b] = sum(corners) / (4 * steps[a, a] * steps[b, b])
        assert np.linalg.eigvalsh(at.C[j])[0] >= -1e-12
        if np.linalg.eigvalsh(H)[0] > 0:
            convex += 1
            np.testing.assert_allclose(at.C[j], H, rtol=0.02, atol=0.02 * np.abs(H).max())
    assert convex >= 1


def test_a_cost_is_learned_in_whatever_units_and_around_whatever_point_its_states_are_told():
    z = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    far = z * [1.0, 10.0] + [3.0, -70.0]
    plain, moved = (CostNetwork.fresh(2, np.random.default_rng(1)).fitted(Z, bowl(z), 10) for Z in (z, far))
    np.testing.assert_allclose(moved.value(far), plain.value(z), rtol=0.05)  # of ten solutions by CG


def test_near_its_target_the_cost_bends_more_than_far_from_it():
    near, far = fitted_bowl().expansion(np.array([[0.0, 0.0], [0.7, 0.0]])).C[:, 0, 0]
    assert near > 3 * far  # of the bowl itself: 10 and 0.03


# --- one condition

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


# --- the algorithm


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
    flags = {name: np.zeros(1, bool) for name in ("terminated", "truncated")}
    whole = {name: np.zeros(1, int) for name in ("numbers", "starts")}
    fragment = Fragments(
        observations=rng.standard_normal((6, 4)),
        actions=rng.standard_normal((6, 2)),
        rewards=rng.standard_normal(6),
        final_observations=rng.standard_normal((1, 4)),
        lengths=np.array([6]),
        returns=np.zeros(1),
        **flags,
        **whole,
    )
    row = make(horizon=horizon).digest(Plan(np.zeros(0)), fragment)
    assert {name: a.shape for name, a in row.items()} == {
        "X": (1, horizon + 1, 4), "U": (1, horizon, 2), "rewards": (1, horizon), "alive": (1, horizon)}  # fmt: skip
    assert row["alive"].sum() == steps
    states = np.concatenate([fragment.observations, fragment.final_observations])
    np.testing.assert_array_equal(row["X"][0, : steps + 1], states[: steps + 1])
    np.testing.assert_array_equal(row["U"][0, :steps], fragment.actions[:steps])
    np.testing.assert_array_equal(row["rewards"][0, :steps], fragment.rewards[:steps])


def test_a_new_first_state_owes_nothing_and_an_old_one_does():
    algorithm = make(first_states=2)
    algorithm._meet(np.array([[1.0] * 4, [2.0] * 4]))
    algorithm.conditions_state |= {"promised": np.ones(2), "cost": np.ones(2)}
    algorithm._meet(np.array([[1.0] * 4, [3.0] * 4]))
    for name in ("promised", "cost"):
        np.testing.assert_array_equal(algorithm.conditions_state[name], [1.0, np.nan])


@pytest.mark.parametrize(
    ("words", "options"),
    [("--first-states 0", {"first_states": 0}), ("--state-cost 1,2: an observation has 4", {"state_cost": "1,2"})],
)
def test_what_cannot_begin(words, options):
    with pytest.raises(BadInput, match=words):
        make(**options)


@pytest.mark.parametrize("state_cost", ["0,1,0,0.5", "1,0,0,0"])
def test_some_weights_may_be_zero(state_cost):
    GuidedPolicySearchSettings(state_cost=state_cost).check()


def test_discrete_actions_are_refused():
    with pytest.raises(BadInput, match="continuous"):
        GuidedPolicySearch.make_policy(GuidedPolicySearchSettings(), CategoricalPolicy(4, 2))


BAD = {
    "discrete": (("--env", "CartPole-v1"), "takes Box actions"),
    "segments": (("--requests", "segments"), "whole episodes"),
    "no first states": (("--first-states", 0), "--first-states"),
    "one sample": (("--samples", 1), "--samples"),
    "no number": (("--state-cost", "1,x"), "--state-cost"),
    "negative": (("--state-cost", "1,-1,1,1"), "--state-cost"),
    "all zero": (("--state-cost", "0,0,0,0"), "--state-cost"),
    "infinite": (("--state-cost", "1,inf,1,1"), "--state-cost"),
    "too few": (("--state-cost", "1,2"), "4 numbers"),
    "two costs": (("--state-cost", "1,1,1,1", "--cost-network", 2), "--cost-network"),
    "free control": (("--control-cost", 0), "--control-cost"),
    "horizon": (("--horizon", 0), "--horizon"),
    "limit": (("--local-kl", 0), "--local-kl"),
    "std": (("--least-std", 0), "--least-std"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case, tmp_path):
    words, said = BAD[case]
    done = run("train.py", *SMALL, *words, "--out", tmp_path / "run")
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert said in done.err
    assert not (tmp_path / "run").exists()


# --- whole runs


def test_within_2_percent_of_riccati(tmp_path):
    """From first states that are the same in every update, so that what is best is one number."""
    same = ("--renew-first-states", 0)
    train(tmp_path / "run", *GPS, "--env", PUCK, "--total-steps", 9600, *same, ranks=2)
    env = gymnasium.make(PUCK)
    best = np.mean([best_return(env.reset(seed=first_state_seed(0, 6, j, 4))[0]) for j in range(4)])
    returns = RunFolder(tmp_path / "run").columns()["mean_return"]
    assert returns[0] < 5 * best
    assert best * 1.02 < returns[-1] <= best * 0.999  # noise costs something


def over_best(run):
    """Return the cost of a run's mean actions from 200 first states that it has not seen, in parts of the least."""
    algorithm_policy, theta = GaussianPolicy(4, 2, (64, 64)), RunFolder(run).load_checkpoint()["theta"]
    x = np.random.default_rng(99).uniform(-1, 1, (200, 4))  # drawn as the environment draws them
    least, paid = np.array([-best_return(each) for each in x]), np.zeros(len(x))
    for _ in range(STEPS):
        u = algorithm_policy.mode(algorithm_policy.distribution(theta, x))
        paid += np.sum((x @ puck.Q) * x, axis=1) + np.sum((u @ puck.R) * u, axis=1)
        x = x @ puck.A.T + u @ puck.B.T
    return paid / least


def test_it_works_from_first_states_that_it_has_not_trained_on(tmp_path):
    """As the presets have it; from two first states that stay, the same steps teach nothing of others."""
    job = (*GPS, "--env", PUCK, "--total-steps", 9600, "--first-states", 2, "--samples", 16)
    train(tmp_path / "new", *job)
    train(tmp_path / "same", *job, "--renew-first-states", 0)
    assert np.mean(over_best(tmp_path / "new") < 1.1) > 0.9
    assert np.mean(over_best(tmp_path / "same") < 1.1) < 0.85


@pytest.mark.parametrize(
    "job", [SMALL, NETWORK, pytest.param(POLE, marks=pytest.mark.slow)], ids=["puck", "network", "pole"]
)
def test_the_same_bits_on_any_number_of_ranks_whoever_owns_a_condition(job, tmp_path):
    alone = train(tmp_path / "alone", *job)
    for ranks, learner in ((2, "root"), (1, "sharded"), (2, "sharded"), (3, "sharded")):
        out = tmp_path / f"{ranks}{learner}"
        assert train(out, *job, "--learner", learner, ranks=ranks).sha256 == alone.sha256, (ranks, learner)
        assert lasting(out) == lasting(tmp_path / "alone")


def test_a_run_stops_before_it_goes_beyond_its_steps_and_equals_the_whole_when_resumed_on_other_ranks(tmp_path):
    whole = train(tmp_path / "whole", *NETWORK)
    half = train(tmp_path / "half", *NETWORK, "--total-steps", 2200, ranks=3)
    assert RunFolder(tmp_path / "half").columns()["env_steps"][-1] == 1500  # an update has 750
    same = run("train.py", "--resume", tmp_path / "half", "--progress", "none")
    assert same.sha256 == half.sha256 != whole.sha256
    resumed = run("train.py", "--resume", tmp_path / "half", "--total-steps", 2250, "--progress", "none", ranks=2)
    assert resumed.sha256 == whole.sha256
    assert lasting(tmp_path / "half") == lasting(tmp_path / "whole")


@pytest.mark.slow
def test_the_pole_stands(tmp_path):
    train(tmp_path / "run", *GPS, "--env", "InvertedPendulum-v5", "--total-steps", 100_000, ranks=2)
    returns = RunFolder(tmp_path / "run").columns()["mean_return"]
    assert returns[0] < 50
    assert returns[-1] > 900
