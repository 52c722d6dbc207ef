"""Lecture 10: the policy gradient on many ranks, with samples travelling, or with gradients travelling.

    1. play episodes of pi_theta, on all ranks .......... experience/rollouts.py: Rollouts.play, Rollouts.advance
    2. psi_t = grad log pi(a_t|s_t), weights w_t = A_t .. algorithms/policy_gradient.py: gradient_sums
    3. u = sum w psi, v = sum psi, by fragment .......... algorithms/policy_gradient.py: PolicyGradient.sums_of
    4. add the rows, in episode order ................... parallel/allreduce.py: OrderedAllreduce.sum
    5. g = (u - b v) / n, b the mean weight ............. algorithms/policy_gradient.py: pooled_gradient
    6. a step along g, then fit the critic .............. algorithms/policy_gradient.py: PolicyGradient.learn

A fragment's part in the update is one row of sums: u and v, five moments of its weights and targets, and with the
linear critic its normal equations. The row is computed either by the rank that played the fragment, which sends it
(`--travels gradients`), or from the samples, after all of them have been collected (`--travels samples`). What travels:

    --critic    --travels samples    --travels gradients
    none        samples              u, v, moments
    linear      samples              u, v, moments, normal equations
    mlp         samples              u, v, moments, and the observations, times and targets for the critic's minibatches

Both forms add the same rows, so they agree to the bit, however the episodes are distributed. The baseline is known only
after all ranks have played; that is no obstacle, because the gradient is linear in the baseline.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan, Preset
from minitrpo.algorithms.options import discount_option, option, step_size_option
from minitrpo.algorithms.shared_update import SharedUpdate, advantages_of, samples_of
from minitrpo.block_sums import ordered_sum, tree_sum
from minitrpo.critics import make_critic
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import LogProbability

PER_FRAGMENT = ("final_observations", "final_timesteps")  # of the samples; all others have a row per step
MOMENTS = 5  # numbers about the weights and the critic's targets that travel with a gradient


def gradient_sums(policy: Policy, theta: Array, observations: Array, actions: Array, weights: Array) -> Array:
    """Return u = sum_t w_t psi_t and v = sum_t psi_t, psi_t = grad log pi(a_t|s_t): sums, never means.

    Args:
        policy: the policy.
        theta: its parameters, (P,).
        observations: (n, D).
        actions: (n, A), or (n,) integers.
        weights: w, (n,).

    Returns:
        u and v, one after the other, (2P,).

    """
    at = LogProbability(policy, theta, observations, actions)
    return np.concatenate([at.weighted_gradient(weights), at.weighted_gradient(np.ones_like(weights))])


def moments(weights: Array, targets: Array) -> Array:
    """Return n, sum w, sum w^2, sum y, sum y^2, (MOMENTS,), of a fragment's weights w (n,) and value targets y (n,)."""
    return np.array([len(weights), weights.sum(), weights @ weights, targets.sum(), targets @ targets])


def pooled_gradient(sums: Array, about: Array) -> Array:
    """Return the policy gradient of all workers' steps, with the mean weight of all steps as its baseline.

    Args:
        sums: (W, 2P), a row per worker: u = sum_t w_t psi_t, then v = sum_t psi_t, over the worker's own steps.
        about: (W, 5), a row per worker: n, sum w, and three more that are not needed here. n may be 0 for some.

    Returns:
        The gradient, (P,).

    """
    # 1. Add up the rows: u, v, n and sum w of all steps.
    # 2. The gradient is (u - b v) / n, with the baseline b = sum w / n.
    u, v = np.split(ordered_sum(sums), 2)
    n, total = ordered_sum(about)[:2]
    return np.asarray((u - total / n * v) / n)


def explained(about: Array) -> float:
    """Return 1 - Var(w) / Var(y): with a critic, w = y - V(s), how much of the targets its last fit explains.

    Args:
        about: the sums of all fragments' `moments`, (MOMENTS,).

    Returns:
        1 if V is perfect, 0 if it is as good as a constant, NaN if the targets are equal up to rounding.

    """
    n, w, w2, y, y2 = about.tolist()
    variance = y2 / n - (y / n) ** 2
    if variance <= 1e-12 * y2 / n:
        return float("nan")
    return 1 - (w2 / n - (w / n) ** 2) / variance


def fragments_of(samples: Arrays) -> list[Arrays]:
    """Return samples fragment by fragment: the shapes in which the ranks that played them saw them.

    Args:
        samples: those of `samples_of`, of n steps and e fragments.

    Returns:
        The samples of each of the e fragments.

    """
    stops = np.flatnonzero(samples["last"]) + 1
    by_fragment: list[Arrays] = [{} for _ in stops]
    for name, array in samples.items():
        parts = np.split(array, len(stops)) if name in PER_FRAGMENT else np.split(array, stops[:-1])
        for fragment, part in zip(by_fragment, parts, strict=True):
            fragment[name] = part
    return by_fragment


@dataclass(frozen=True)
class PolicyGradientSettings:
    """Settings of the policy gradient."""

    travels: str = option(
        "samples", "ranks send samples, or sums of gradients; the bits are the same", "",
        ("samples", "gradients"),
    )  # fmt: skip
    critic: str = option(
        "mlp",
        "value function behind the advantages: none (reward-to-go minus its mean; the value after a cut is 0), "
        "ridge regression by summed normal equations, or a perceptron by pooled minibatch gradients",
        "",
        ("none", "linear", "mlp"),
    )
    discount: float = discount_option("Duan et al. 2016")
    gae_lambda: float = option(
        0.97, "lambda of the advantages, with a critic; 1 is Monte-Carlo", "Schulman et al. 2016", least=0, most=1,
        only={"critic": ("linear", "mlp")},
    )  # fmt: skip
    optimiser: str = option("adam", "optimiser", "", tuple(OPTIMISERS))
    step_size: float = step_size_option(0.01, "the optimiser's step size for the policy")
    critic_epochs: int = option(
        10, "passes over the batch per fit of the mlp critic", "rl-zoo and others: 5 to 20", least=1,
        only={"critic": "mlp"}, finding="critic",
    )  # fmt: skip
    critic_minibatch: int = option(
        256, "steps per minibatch of the mlp critic, a multiple of 4 or the next one", "rl-zoo: 128", least=1,
        only={"critic": "mlp"},
    )  # fmt: skip
    critic_step_size: float = option(
        2e-3, "Adam's step size for the mlp critic", "rl-zoo: 1e-3", above=0, most=1, only={"critic": "mlp"},
        finding="critic",
    )  # fmt: skip


class PolicyGradient(Algorithm):
    """Policy and critic of one run; the ranks that played a fragment, or others, compute its row of sums."""

    Settings = PolicyGradientSettings
    columns = ("gradient_norm", "explained_variance")
    sharded_with = ("episodes", "segments")
    presets: ClassVar = {"default": Preset("many small updates", {"steps_per_update": 2_000, "initial_log_std": -0.5})}

    def __init__(self, settings: PolicyGradientSettings, context: Context) -> None:
        self.settings, self.policy, self.context = settings, context.policy, context
        of_fit = (settings.critic_epochs, settings.critic_minibatch, settings.critic_step_size)
        self.critic: Any = make_critic(settings.critic, context.policy, *of_fit)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.optimiser_state = initial_state(settings.optimiser, len(self.theta))
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        self.update = SharedUpdate(context)
        self.samples_travel = settings.travels == "samples"

    def plan(self) -> Plan:
        return Plan(self.theta, arrays=self.critic_state)  # the rank that computes gradients computes advantages, too

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        samples = samples_of(fragment)
        if self.samples_travel:
            return samples
        samples |= self.advantages(samples, plan.arrays)
        rows = {"sums": self.sums_of(plan.theta, samples)[None]}
        if self.settings.critic == "mlp":
            rows |= {name: samples[name] for name in ("observations", "timesteps", "targets")}
        return rows

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        # 1. rank 0 broadcasts the samples with their advantages, or the sum of what the ranks have computed of theirs
        if self.context.comm.rank == 0:
            if self.samples_travel:  # fragment by fragment, as the ranks that played would compute them
                parts = [self.advantages(fragment, self.critic_state) for fragment in fragments_of(batch)]
                batch = batch | {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            else:
                batch = batch | {"sums": tree_sum(batch["sums"])}
        batch = self.update.broadcast(batch)
        # 2. the sums of all fragments, and a step of the policy along the gradient
        sums, about, equations = self.total(batch)
        gradient = pooled_gradient(sums[None], about[None])  # one row: the workers' are in it
        make_step, step_size = OPTIMISERS[self.settings.optimiser], self.settings.step_size
        self.optimiser_state, step = make_step(self.optimiser_state, gradient, step_size)
        self.theta = self.theta + step
        # 3. only then the critic's fit: the other order would leave no advantage
        self.critic_state = self.fitted(self.critic_state, batch, equations, rng)
        return {"gradient_norm": float(np.linalg.norm(gradient)), "explained_variance": explained(about)}

    def advantages(self, samples: Arrays, critic_state: Arrays) -> Arrays:
        """Return `advantages`, value `targets` and `values` (n,) of a fragment, by the critic's last fit."""
        gae_lambda = 1.0 if self.settings.critic == "none" else self.settings.gae_lambda
        return advantages_of(self.critic, critic_state, samples, self.settings.discount, gae_lambda)

    def sums_of(self, theta: Array, samples: Arrays) -> Array:
        """Return all that an update needs of a fragment, in one row: gradients, moments, normal equations.

        Args:
            theta: the parameters of the policy that played, (P,).
            samples: of the fragment, with advantages and targets.

        Returns:
            2P + MOMENTS numbers, and with the linear critic of k features k (k + 1) more.

        """
        observations, weights, targets = (samples[name] for name in ("observations", "advantages", "targets"))
        row = [gradient_sums(self.policy, theta, observations, samples["actions"], weights), moments(weights, targets)]
        if self.settings.critic == "linear":
            row.append(self.critic.normal_sums(observations, samples["timesteps"], targets).ravel())
        return np.concatenate(row)

    def total(self, batch: Arrays) -> list[Array]:
        """Return the sums over all fragments: gradients (2P,), moments (MOMENTS,), normal equations, flat.

        Args:
            batch: the sums, if the ranks that played have computed them; or the samples of all fragments with their
                advantages, of which each rank computes a share.

        """
        size = 2 * len(self.theta)
        if not self.samples_travel:
            return np.split(batch["sums"], [size, size + MOMENTS])
        fragments, reduction = fragments_of(batch), self.update.sums
        rows = [self.sums_of(self.theta, fragment) for fragment in fragments[reduction.share(len(fragments))]]
        length = size + MOMENTS + (self.critic.size * (self.critic.size + 1) if self.settings.critic == "linear" else 0)
        mine = np.array(rows).reshape(len(rows), length)  # a rank may have no fragment
        return np.split(reduction.sum(mine, len(fragments)), [size, size + MOMENTS])

    def fitted(self, state: Arrays, batch: Arrays, equations: Array, rng: np.random.Generator) -> Arrays:
        """Return the critic's new state; the ranks share the work.

        Args:
            state: the critic's state; without a critic it stays as it is.
            batch: of the mlp critic the observations, times and targets.
            equations: of the linear critic the sum of all normal equations, flat.
            rng: of the mlp critic, where the orders of minibatches come from.

        """
        if self.settings.critic == "linear":
            return dict(self.critic.solve(equations.reshape(self.critic.size, -1)))
        if self.settings.critic == "mlp":
            return dict(self.critic.fit(state, batch, rng, self.update.sums))
        return state

    def state(self) -> Nested:
        return {"theta": self.theta, "optimiser": self.optimiser_state, "critic": self.critic_state}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.optimiser_state, self.critic_state = arrays["theta"], arrays["optimiser"], arrays["critic"]
