"""The policy gradient on many ranks: what is pooled is what one process would compute, to the bit; and it learns."""

import numpy as np
import pytest
from runs import lasting, run, train
from runs import forked
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.policy_gradient import (
    PolicyGradient,
    PolicyGradientSettings,
    explained,
    gradient_sums,
    moments,
    pooled_gradient,
)
from minitrpo.algorithms.samples import advantages_of, fragments_of, samples_of
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.errors import BadInput
from minitrpo.experience.fragments import Fragments, concatenate
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient
from minitrpo.returns import explained_variance
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.settings import chosen

QUICK = settings(max_examples=20, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
POLICIES = st.sampled_from([GaussianPolicy(3, 2, (5,)), CategoricalPolicy(3, 4, (6, 4))])
CRITICS = ("none", "linear", "mlp")


def played(policy, seed, lengths, segments=False):
    """Return one fragment after another, of these lengths; the last of an episode terminates or is truncated."""
    rng, n, e = np.random.default_rng(seed), sum(lengths), len(lengths)
    observations, theta = rng.standard_normal((n, 3)), policy.initialise(rng)
    terminated = rng.random(e) < 0.5
    return Fragments(
        observations=observations,
        actions=policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, n)),
        rewards=rng.standard_normal(n),
        final_observations=rng.standard_normal((e, 3)),
        numbers=np.arange(e),
        lengths=np.array(lengths),
        starts=rng.integers(0, 20, e) if segments else np.zeros(e, np.int64),
        terminated=terminated,
        truncated=~terminated & (rng.random(e) < 0.5),
        returns=rng.standard_normal(e),
    )


LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


# --- the formulas


@given(POLICIES, SEEDS, LENGTHS)
@QUICK
def test_pooled_sums_are_the_gradient_of_everything_with_its_mean_as_baseline(policy, seed, lengths):
    rng, episodes = np.random.default_rng(seed), played(policy, seed, lengths)
    theta, weights = policy.initialise(rng) + 0.3, 5 + rng.standard_normal(sum(lengths))
    o, a = episodes.observations, episodes.actions
    rows = [gradient_sums(policy, theta, o[s], a[s], weights[s]) for s in episodes.slices()]
    about = np.array([moments(weights[s], weights[s]) for s in episodes.slices()])
    expected = policy_gradient(policy, theta, o, a, weights - weights.mean())
    np.testing.assert_allclose(pooled_gradient(np.array(rows), about), expected, rtol=1e-9, atol=1e-12)


@given(POLICIES, SEEDS, LENGTHS, st.integers(2, 4))
@QUICK
def test_unequal_shares_make_no_difference_but_means_of_means_do(policy, seed, lengths, ranks):
    """Sums over any partition agree; averaging the ranks' own means, a frequent mistake, does not."""
    rng, episodes = np.random.default_rng(seed), played(policy, seed, lengths)
    theta, n = policy.initialise(rng) + 0.3, sum(lengths)
    weights, owner = rng.standard_normal(n), np.repeat(rng.integers(0, ranks, len(lengths)), lengths)
    o, a = episodes.observations, episodes.actions
    shares = [owner == rank for rank in range(ranks) if np.any(owner == rank)]
    sums = np.array([gradient_sums(policy, theta, o[s], a[s], weights[s]) for s in shares])
    about = np.array([moments(weights[s], weights[s]) for s in shares])
    whole = pooled_gradient(gradient_sums(policy, theta, o, a, weights)[None], moments(weights, weights)[None])
    np.testing.assert_allclose(pooled_gradient(sums, about), whole, atol=1e-12)
    if len({int(s.sum()) for s in shares}) > 1:
        naive = np.mean([pooled_gradient(u[None], m[None]) for u, m in zip(sums, about, strict=True)], axis=0)
        assert not np.allclose(naive, whole, atol=1e-9)


@given(POLICIES, SEEDS, LENGTHS, st.floats(-100, 100))
@QUICK
def test_equal_weights_leave_nothing_to_learn(policy, seed, lengths, weight):
    episodes = played(policy, seed, lengths)
    theta, weights = policy.initialise(np.random.default_rng(seed)), np.full(sum(lengths), weight)
    sums = gradient_sums(policy, theta, episodes.observations, episodes.actions, weights)
    np.testing.assert_allclose(pooled_gradient(sums[None], moments(weights, weights)[None]), 0, atol=1e-9)


@given(POLICIES, SEEDS, LENGTHS, st.floats(-50, 50))
@QUICK
def test_a_constant_added_to_all_rewards_to_go_changes_nothing(policy, seed, lengths, constant):
    rng, episodes = np.random.default_rng(seed), played(policy, seed, lengths)
    theta, weights = policy.initialise(rng), rng.standard_normal(sum(lengths))
    o, a = episodes.observations, episodes.actions
    g, moved = (
        pooled_gradient(gradient_sums(policy, theta, o, a, w)[None], moments(w, w)[None])
        for w in (weights, weights + constant)
    )
    np.testing.assert_allclose(moved, g, atol=1e-10)


@given(SEEDS, st.integers(2, 50), st.floats(0.1, 100))
@QUICK
def test_explained_is_the_explained_variance(seed, n, scale):
    rng = np.random.default_rng(seed)
    targets = scale * rng.standard_normal(n)
    values = targets + rng.standard_normal(n)
    expected = explained_variance(values, targets)
    assert explained(moments(targets - values, targets)) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert np.isnan(explained(moments(np.ones(n), np.full(n, 3.0))))


# --- the critic


@given(SEEDS, LENGTHS)
@QUICK
def test_summed_normal_equations_are_least_squares_on_everything(seed, lengths):
    episodes = played(GaussianPolicy(3, 2, ()), seed, lengths)
    critic, targets = LinearCritic(3), np.random.default_rng(seed).standard_normal(sum(lengths))
    o, t = episodes.observations, episodes.timesteps
    sums = [critic.normal_sums(o[s], t[s], targets[s]) for s in episodes.slices()]
    phi = np.concatenate([critic.features(o, t), np.sqrt(critic.ridge) * np.eye(9)])
    expected = np.linalg.lstsq(phi, np.append(targets, np.zeros(9)), rcond=None)[0]
    np.testing.assert_allclose(critic.solve(np.sum(sums, axis=0))["coefficients"], expected, rtol=1e-6, atol=1e-8)


class Quadratic:
    """V(s) = s_0^2, whatever was fitted."""

    def predict(self, state, observations, times, reduction=None):
        return observations[:, 0] ** 2


@given(SEEDS, LENGTHS, st.sampled_from([0.5, 0.99, 1.0]))
@QUICK
def test_lambda_1_is_monte_carlo_less_v_and_lambda_0_the_one_step_error(seed, lengths, discount):
    episodes = played(GaussianPolicy(3, 2, ()), seed, lengths)
    for i, fragment in enumerate(episodes.fragments()):
        samples = samples_of(fragment)
        v = fragment.observations[:, 0] ** 2
        after = 0.0 if episodes.terminated[i] else float(fragment.final_observations[0, 0] ** 2)
        total, to_go = after, []
        for reward in fragment.rewards[::-1]:
            total = reward + discount * total
            to_go.insert(0, total)
        one_step = fragment.rewards + discount * np.append(v[1:], after) - v
        monte_carlo, online = (advantages_of(Quadratic(), {}, samples, discount, lam) for lam in (1.0, 0.0))
        np.testing.assert_allclose(monte_carlo["advantages"], np.array(to_go) - v, atol=1e-9)
        np.testing.assert_allclose(monte_carlo["targets"], to_go, atol=1e-9)
        np.testing.assert_allclose(online["advantages"], one_step, atol=1e-9)


@given(SEEDS, LENGTHS)
@QUICK
def test_samples_come_apart_as_they_were_put_together(seed, lengths):
    episodes = played(GaussianPolicy(3, 2, ()), seed, lengths, segments=True)
    parts = [samples_of(fragment) for fragment in episodes.fragments()]
    again = fragments_of(samples_of(episodes))
    assert len(again) == len(parts) == len(lengths)
    for one, other in zip(again, parts, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)


# --- the class


def made(policy, critic, travels, **values):
    own = PolicyGradientSettings(critic=critic, travels=travels, critic_epochs=2, critic_minibatch=16, **values)
    return PolicyGradient(own, Context(policy, seed=1, steps_per_update=50))


def updated(algorithm, batches):
    """Feed an algorithm several batches of fragments, each digested by itself, as the driver does."""
    rows = []
    for k, episodes in enumerate(batches):
        parts = [algorithm.digest(algorithm.plan(), fragment) for fragment in episodes.fragments()]
        batch = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        rows.append(algorithm.learn(batch, np.random.default_rng(k)))
    return rows


@pytest.mark.parametrize("critic", CRITICS)
@pytest.mark.parametrize("policy", [GaussianPolicy(3, 2, (5,)), CategoricalPolicy(3, 4, (6, 4))])
def test_gradients_travel_to_the_bits_that_samples_do(policy, critic):
    batches = [played(policy, seed, [5, 1, 12, 7, 30], segments=seed == 2) for seed in range(3)]
    algorithms = [made(policy, critic, travels) for travels in ("samples", "gradients")]
    rows = [updated(algorithm, batches) for algorithm in algorithms]
    np.testing.assert_array_equal(*[[list(row.values()) for row in each] for each in rows])
    states = [algorithm.state() for algorithm in algorithms]
    assert states[0].keys() == states[1].keys()
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("critic", CRITICS)
def test_the_first_update_is_the_textbooks(critic):
    """Against a plain reference: advantages of all steps by the critic's first state, autograd, one step of SGD."""
    policy = GaussianPolicy(3, 2, (5,))
    algorithm, episodes = made(policy, critic, "gradients", optimiser="sgd", step_size=0.5), played(policy, 4, [9, 20])
    theta, samples = algorithm.theta, samples_of(episodes)
    gae_lambda = 1.0 if critic == "none" else algorithm.settings.gae_lambda
    weights = advantages_of(algorithm.critic, algorithm.critic_state, samples, 0.99, gae_lambda)["advantages"]
    g = policy_gradient(policy, theta, episodes.observations, episodes.actions, weights - weights.mean())
    updated(algorithm, [episodes])
    np.testing.assert_allclose(algorithm.theta, theta + 0.5 * g, atol=1e-10)


@pytest.mark.parametrize("critic", ["linear", "mlp"])
def test_the_critic_predicts_with_its_last_fit_and_is_fitted_afterwards(critic):
    """Fit first, and targets explain themselves: no advantage would be left."""
    algorithm = made(CategoricalPolicy(3, 4, (6, 4)), critic, "samples")
    episodes = played(algorithm.policy, 3, [40, 60])
    for _ in range(3):
        before = algorithm.critic_state
        row = updated(algorithm, [episodes])[0]
        samples = advantages_of(algorithm.critic, before, samples_of(episodes), 0.99, algorithm.settings.gae_lambda)
        assert row["explained_variance"] == pytest.approx(explained_variance(samples["values"], samples["targets"]))
        assert any(not np.array_equal(before[name], algorithm.critic_state[name]) for name in before)


@pytest.mark.parametrize("critic", CRITICS)
def test_what_is_saved_is_enough_to_go_on(critic):
    policy = GaussianPolicy(3, 2, (5,))
    batches = [played(policy, seed, [20, 11]) for seed in range(4)]
    old, new = made(policy, critic, "samples"), made(policy, critic, "samples")
    updated(old, batches[:2])
    new.restore({name: array.copy() for name, array in old.state().items()})
    rows = [updated(algorithm, batches[2:]) for algorithm in (old, new)]
    np.testing.assert_array_equal(*[[list(row.values()) for row in each] for each in rows])
    assert all(np.array_equal(old.state()[name], new.state()[name]) for name in old.state())


@pytest.mark.parametrize(
    "values",
    [{"travels": "sums"}, {"critic": "mean"}, {"optimiser": "newton"}, {"step_size": 0.0}, {"discount": 1.5},
     {"gae_lambda": -0.1}, {"critic_epochs": 0}, {"critic_minibatch": 0}, {"critic_step_size": 2.0}],
)  # fmt: skip
def test_settings_that_make_no_sense(values):
    with pytest.raises(BadInput, match="--" + next(iter(values)).replace("_", "-")):
        chosen({"algorithm": "policy-gradient", **values})


BAD_WORDS = ("--travels=sums", "--critic=", "--step-size=-1", "--optimiser=newton", "--critic-epochs=0",
                "--max-kl=0.1", "--clip=0.2")  # fmt: skip


@pytest.mark.parametrize("word", BAD_WORDS)
def test_a_command_line_that_makes_no_sense(word, tmp_path):
    done = forked("train", "--algorithm", "policy-gradient", word, cwd=tmp_path)
    said = done.err.splitlines()
    assert (done.code, len(said)) == (2, 1), done
    assert word.partition("=")[0] in said[0]
    assert not any(tmp_path.iterdir())


# --- whole runs


NAME = ("--algorithm", "policy-gradient", "--hidden", 16)
STEPS = ("--steps-per-update", 600, "--total-steps", 2400)
SEGMENTS = ("--requests", "segments")
QUICK_ONES = {"mlp": ("--env", "CartPole-v1")}
SLOW = {
    "none": ("--env", "CartPole-v1", *SEGMENTS),
    "linear": ("--env", "Pendulum-v1", *SEGMENTS),
    "linear, episodes": ("--env", "CartPole-v1"),
    "mlp, segments": ("--env", "Pendulum-v1", *SEGMENTS),
}


@pytest.mark.parametrize("case", [*QUICK_ONES, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)])
def test_the_same_bits_on_any_ranks_whatever_travels_and_across_a_resume(case, tmp_path):
    job = (*NAME, "--critic", case.partition(",")[0], *(QUICK_ONES | SLOW)[case], *STEPS)
    alone = train(tmp_path / "alone", *job)
    for ranks, travels, learner in ((1, "gradients", "root"), (2, "samples", "sharded"), (3, "gradients", "root")):
        name = tmp_path / f"{travels}-{learner}-{ranks}"
        assert train(name, *job, "--travels", travels, "--learner", learner, ranks=ranks).sha256 == alone.sha256
        assert lasting(name)[0] == lasting(tmp_path / "alone")[0]
    half = tmp_path / "half"
    train(half, *job, "--total-steps", 1000, "--learner", "sharded", ranks=3)
    resumed = run("train.py", "--resume", half, "--total-steps", 2400, "--progress", "none", ranks=2)
    assert resumed.sha256 == alone.sha256, resumed.err
    assert lasting(half) == lasting(tmp_path / "alone")


@pytest.mark.parametrize("critic", ["linear", "mlp"])
def test_it_learns(critic, tmp_path):
    job = ("--algorithm", "policy-gradient", "--critic", critic, "--env", "CartPole-v1", "--total-steps", 40_000)
    train(tmp_path / "run", *job, "--travels", "gradients", ranks=2)
    returns = RunFolder(tmp_path / "run").columns()["mean_return"]
    assert returns[0] < 60
    assert np.max(returns) > 300  # 500 on all seeds tried


def test_a_critic_makes_advantages_smaller():
    """What a critic is for: the same steps, advantages_of by a fitted critic, leave less to be explained by luck."""
    policy, rng = GaussianPolicy(3, 2, ()), np.random.default_rng(0)
    episodes = played(policy, 5, [40] * 20)
    episodes.rewards[:] = episodes.observations[:, 0] + 0.1 * rng.standard_normal(episodes.steps)
    critic, samples = MLPCritic(3, (16,), epochs=30), samples_of(concatenate([episodes]))
    fresh = critic.initialise(rng)
    before = advantages_of(critic, fresh, samples, 0.5, 1.0)
    state = critic.fit(fresh, samples["observations"], samples["timesteps"], before["targets"], rng)
    after = advantages_of(critic, state, samples, 0.5, 1.0)
    assert after["advantages"].std() < 0.8 * before["advantages"].std()
