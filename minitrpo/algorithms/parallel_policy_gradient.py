"""Lecture 10: the policy gradient on many ranks, with samples travelling, or with gradients travelling.

    1. play episodes of pi_theta, on all ranks .......... experience/rollouts.py: Rollouts.play, Rollouts.advance
    2. psi_t = grad log pi(a_t|s_t), weights w_t = A_t .. algorithms/parallel_policy_gradient.py: gradient_sums
    3. u = sum w psi, v = sum psi, by fragment .......... algorithms/parallel_policy_gradient.py: PolicyGradient.sums_of
    4. add the rows, in episode order ................... parallel/allreduce.py: OrderedAllreduce.sum
    5. g = (u - b v) / n, b the mean weight ............. algorithms/parallel_policy_gradient.py: pooled_gradient
    6. a step along g, then fit the critic .............. algorithms/parallel_policy_gradient.py: PolicyGradient.learn

Step 3 runs either on the ranks that played (they send gradients) or after all samples have been collected (they send
samples). Both forms add the same rows, so they agree to the bit, however the episodes are distributed. The baseline is
known only after all ranks have played; that is no obstacle, because the gradient is linear in the baseline.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan, Preset
from minitrpo.algorithms.options import discount_option, option, step_size_option
from minitrpo.algorithms.samples import SharedUpdate, advantages_of, samples_of
from minitrpo.block_sums import ordered_sum, tree_sum
from minitrpo.critics import LinearCritic, make_critic
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import LogProbability

PER_FRAGMENT = ("final_observations", "final_timesteps")  # of the samples; all others have a row per step
MOMENTS = 5  # numbers about the weights and the critic's targets that travel with a gradient


def gradient_sums(policy: Policy, theta: Array, observations: Array, actions: Array, weights: Array) -> Array:
    """Return u = sum_t w_t psi_t and v = sum_t psi_t, (2P,), psi_t = grad log pi(a_t|s_t): sums, never means."""
    at = LogProbability(policy, theta, observations, actions)
    return np.concatenate([at.weighted_gradient(weights), at.weighted_gradient(np.ones_like(weights))])


def moments(weights: Array, targets: Array) -> Array:
    """Return n, sum w, sum w^2, sum y, sum y^2, (MOMENTS,), of a fragment's weights and value targets."""
    return np.array([len(weights), weights.sum(), weights @ weights, targets.sum(), targets @ targets])


def pooled_gradient(sums: Array, about: Array) -> Array:
    """Return the policy gradient (P,) of all workers' steps, with the mean weight of all steps as its baseline.

    sums: (W, 2P), a row per worker: u = sum_t w_t psi_t, then v = sum_t psi_t, over the worker's own steps.
    about: (W, 5), a row per worker: n, sum w, and three more that are not needed here. n may be 0 for some.
    """
    # 1. Add up the rows: u, v, n and sum w of all steps.
    # 2. The gradient is (u - b v) / n, with the baseline b = sum w / n.
    u, v = np.split(ordered_sum(sums), 2)
    n, total = ordered_sum(about)[:2]
    return np.asarray((u - total / n * v) / n)


def explained(about: Array) -> float:
    """Return 1 - Var(w) / Var(y): with a critic, w = y - V(s), how much of the targets its last fit explains."""
    n, w, w2, y, y2 = about.tolist()
    spread = y2 / n - (y / n) ** 2
    return 1 - (w2 / n - (w / n) ** 2) / spread if spread > 1e-12 * y2 / n else float("nan")


def fragments_of(samples: Arrays) -> list[Arrays]:
    """Return samples fragment by fragment: the shapes in which the ranks that played them saw them."""
    stops = (np.flatnonzero(samples["last"]) + 1).tolist()
    return [
        {name: a[i : i + 1] if name in PER_FRAGMENT else a[start:stop] for name, a in samples.items()}
        for i, (start, stop) in enumerate(zip([0, *stops], stops, strict=False))
    ]


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
        0.97, "lambda of the advantages, with a critic; 1 is Monte-Carlo", "Schulman et al. 2016", least=0, most=1
    )
    optimiser: str = option("adam", "optimiser", "", tuple(OPTIMISERS))
    step_size: float = step_size_option(0.01, "the optimiser's step size for the policy")
    critic_epochs: int = option(
        10, "passes over the batch per fit of the mlp critic", "rl-zoo and others: 5 to 20", least=1
    )
    critic_minibatch: int = option(
        256, "steps per minibatch of the mlp critic, a multiple of 4 or the next one", "rl-zoo: 128", least=1
    )
    critic_step_size: float = option(2e-3, "Adam's step size for the mlp critic", "rl-zoo: 1e-3", above=0, most=1)

    def idle(self) -> dict[str, str]:
        of_mlp = () if self.critic == "mlp" else ("critic_epochs", "critic_minibatch", "critic_step_size")
        return dict.fromkeys(of_mlp + (("gae_lambda",) if self.critic == "none" else ()), f"--critic {self.critic}")


class PolicyGradient(Algorithm):
    """Policy and critic of one run; the ranks that played a fragment, or others, compute its share of the update."""

    Settings = PolicyGradientSettings
    columns = ("gradient_norm", "explained_variance")
    sharded_with = ("episodes", "segments")
    presets: ClassVar = {"default": Preset("many small updates", {"steps_per_update": 2_000, "initial_log_std": -0.5})}

    def __init__(self, settings: PolicyGradientSettings, context: Context) -> None:
        self.settings, self.policy, self.context = settings, context.policy, context
        of_fit = (settings.critic_epochs, settings.critic_minibatch, settings.critic_step_size)
        self.critic = make_critic(settings.critic, context.policy, *of_fit)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.optimiser_state = initial_state(settings.optimiser, len(self.theta))
        self.critic_state = self.critic.initialise(context.generator(Purpose.CRITIC))
        k = self.critic.size if isinstance(self.critic, LinearCritic) else 0
        self._sizes = np.cumsum([2 * len(self.theta), MOMENTS, k * (k + 1)]).tolist()  # of a row of sums
        self.update = SharedUpdate(context)

    def plan(self) -> Plan:
        return Plan(self.theta, arrays=self.critic_state)  # where gradients are computed, advantages are, too

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        samples = samples_of(fragment)
        if self.settings.travels == "samples":
            return samples
        samples |= self._advantages(samples, plan.arrays)
        minibatches_need = ("observations", "timesteps", "targets") if self.settings.critic == "mlp" else ()
        return {"sums": self.sums_of(plan.theta, samples)[None]} | {name: samples[name] for name in minibatches_need}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        # 1. rank 0 broadcasts the samples with their advantages, or the sum of what the ranks have computed of theirs
        if self.context.comm.rank == 0:
            batch = self._to_broadcast(batch)
        batch = self.update.broadcast(batch)
        # 2. a step of the policy, then the critic's fit: the other order would leave no advantage
        sums, about, equations = self._total(batch)
        gradient = pooled_gradient(sums[None], about[None])  # one row: the workers' are in it
        make_step, step_size = OPTIMISERS[self.settings.optimiser], self.settings.step_size
        self.optimiser_state, step = make_step(self.optimiser_state, gradient, step_size)
        self.theta = self.theta + step
        self.critic_state = self._fit(self.critic_state, batch, equations, rng)
        return {"gradient_norm": float(np.linalg.norm(gradient)), "explained_variance": explained(about)}

    def _to_broadcast(self, batch: Arrays) -> Arrays:
        """Return what all ranks take of the gathered rows."""
        if self.settings.travels == "gradients":
            return batch | {"sums": tree_sum(batch["sums"])}
        parts = [self._advantages(fragment, self.critic_state) for fragment in fragments_of(batch)]
        return batch | {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _advantages(self, samples: Arrays, critic_state: Arrays) -> Arrays:
        """Return advantages and value targets (n,) of a fragment, by the critic's last fit."""
        gae_lambda = 1.0 if self.settings.critic == "none" else self.settings.gae_lambda
        return advantages_of(self.critic, critic_state, samples, self.settings.discount, gae_lambda)

    def sums_of(self, theta: Array, samples: Arrays) -> Array:
        """Return all that an update needs of a fragment, in one vector: gradients, moments, normal equations."""
        observations, weights, targets = (samples[name] for name in ("observations", "advantages", "targets"))
        parts = [gradient_sums(self.policy, theta, observations, samples["actions"], weights)]
        parts.append(moments(weights, targets))
        if isinstance(self.critic, LinearCritic):
            parts.append(self.critic.normal_sums(observations, samples["timesteps"], targets).ravel())
        return np.concatenate(parts)

    def _total(self, batch: Arrays) -> list[Array]:
        """Return the sums over all fragments: gradients, moments, normal equations; the ranks share the work."""
        if self.settings.travels == "samples":
            every, reduction = fragments_of(batch), self.update.sums
            rows = [self.sums_of(self.theta, fragment) for fragment in every[reduction.own(len(every))]]
            total = reduction.sum(np.array(rows).reshape(len(rows), self._sizes[-1]), len(every))  # some have none
        else:
            total = batch["sums"]
        return np.split(total, self._sizes[:-1])

    def _fit(self, state: Arrays, batch: Arrays, equations: Array, rng: np.random.Generator) -> Arrays:
        """Return the critic's new state; the ranks share the work."""
        if self.settings.critic == "none":
            return state
        if isinstance(self.critic, LinearCritic):
            return self.critic.solve(equations.reshape(self.critic.size, -1))
        return self.critic.fit(state, batch, rng, self.update.sums)

    def state(self) -> Nested:
        return {"theta": self.theta, "optimiser": self.optimiser_state, "critic": self.critic_state}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.optimiser_state, self.critic_state = arrays["theta"], arrays["optimiser"], arrays["critic"]
