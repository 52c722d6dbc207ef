"""Soft actor-critic (Haarnoja et al. 2018) on the package's replay buffer: two critics, a policy, a temperature.

1. act a = tanh(mu(s) + std(s) noise), keep (s, a, r, s') in the replay buffer ... TanhGaussian, ReplayLearner.prepare
2. y = r + gamma (min_i Q_i(s', a'; theta-) - alpha log pi(a'|s')), a' drawn now . SAC.gradients
3. both critics down 1/2 (Q_i(s, a) - y)^2 ....................................... SAC.gradients
4. the policy down alpha log pi(a|s) - min_i Q_i(s, a), through a ................ SAC.policy_slopes
5. alpha towards an entropy of minus the number of actions; theta- follows ....... SAC.step
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms import Acting, Preset, option
from minitrpo.algorithms.off_policy.replay_learner import ReplayLearner, ReplaySettings
from minitrpo.optimisers import adam, initial_state
from minitrpo.perceptron import Linearisation, activations, initialise_mlp, layer_sizes, perceptron, unflatten

LOWEST, HIGHEST = -5.0, 2.0  # of log std
PARTS = ("actor", "critic1", "critic2", "log_alpha")  # each with an optimiser of its own


@dataclass(frozen=True)
class Settings(ReplaySettings):
    reward_scale: float = option(1.0, "factor on rewards before learning", above=0)
    alpha: float = option(0.2, "initial temperature", above=0)


def act(outputs, noise):
    """Return actions in (-1, 1), log pi (...), std, and d log pi / d u, u what tanh is taken of."""
    mu, log_std = np.split(outputs, 2, axis=-1)
    std = np.exp(np.clip(log_std, LOWEST, HIGHEST))
    a = np.tanh(mu + std * noise)
    room = 1 - a * a + 1e-6
    log_pi = -0.5 * noise * noise - np.log(std) - 0.5 * np.float32(np.log(2 * np.pi)) - np.log(room)
    return a, log_pi.sum(axis=-1), std, 2 * a * (1 - a * a) / room


class TanhGaussian(Acting):
    def __init__(self, policy):
        self.observation_size, self.hidden = policy.observation_size, policy.hidden
        self.action_size = self.noise_size = policy.action_size
        self.sizes = layer_sizes(self.observation_size, self.hidden, 2 * self.action_size)

    def initialise(self, rng):
        return initialise_mlp(rng, self.sizes, last_gain=0.01)

    def act_function(self, theta):
        layers = unflatten(theta, self.sizes)
        return lambda observations, noise, used: act(activations(layers, observations)[-1], noise)[0]

    def distribution(self, theta, observations):
        return np.tanh(perceptron(theta, self.sizes, observations)[:, : self.action_size])


class SAC(ReplayLearner):
    Settings, columns, chart = Settings, ("critic_loss", "mean_q", "entropy", "alpha"), ("entropy",)
    presets = {"default": Preset("one update per step of 4 environments",
        {"requests": "segments", "num_envs": 4, "steps_per_update": 64, "filter": "none", "total_steps": 30_000}
        | {"replay_ratio": 1.0, "batch": 128, "replay_size": 100_000, "target_rate": 0.005, "record_every": 10}
        | {"target_every": 1, "checkpoint_every": "30s"}, {"Pendulum-v1": {"reward_scale": 0.1}})}  # fmt: skip

    make_policy = staticmethod(lambda settings, policy: TanhGaussian(policy))

    def first_networks(self):
        size, networks = self.policy.action_size, {"adam": {}}
        self.noise_size = 2 * size  # for the next action, and for the present one
        self.q_sizes = layer_sizes(self.policy.observation_size + size, self.policy.hidden, 1)
        theta, rng = self.policy.initialise(self.context.generator("policy")), self.context.generator("critic")
        critics = [initialise_mlp(rng, self.q_sizes, last_gain=1.0) for _ in range(2)]
        for name, start in zip(PARTS, (theta, *critics, [np.log(self.settings.alpha)]), strict=True):
            networks[name] = np.asarray(start, np.float32)
            networks["adam"][name] = initial_state("adam", len(start), np.float32)
        return theta, networks | {f"target{i}": networks[f"critic{i}"] for i in (1, 2)}

    def gradients(self, rows, weights, noise):
        own, alpha, noise = self.networks, np.exp(self.networks["log_alpha"]), noise.astype(np.float32)
        later, now = np.split(noise, 2, axis=-1)
        outputs = activations(unflatten(own["actor"], self.policy.sizes), rows["next_observations"])[-1]
        next_actions, next_log_pi, _, _ = act(outputs, later)
        inputs = np.concatenate([rows["next_observations"], next_actions], axis=-1)
        q = [activations(unflatten(own[f"target{i}"], self.q_sizes), inputs)[-1][..., 0] for i in (1, 2)]
        future = rows["discounts"] * (1 - rows["terminated"]) * (np.minimum(*q) - alpha * next_log_pi)
        y = self.settings.reward_scale * rows["rewards"] + future
        inputs = np.concatenate([rows["observations"], rows["actions"]], axis=-1)
        at = [Linearisation(own[f"critic{i}"], self.q_sizes, inputs) for i in (1, 2)]
        errors = [weights * (q.outputs[..., 0] - y) for q in at]
        critics = [q.transposed_product(error[..., None]) for q, error in zip(at, errors, strict=True)]
        actor, slopes, log_pi, best = self.policy_slopes(rows["observations"], now, alpha)
        of_alpha = -np.sum(weights * (log_pi - self.policy.action_size), axis=-1, keepdims=True)
        parts = [actor.transposed_product(weights[..., None] * slopes), *critics, of_alpha]
        report = (0.5 * errors[0] ** 2, weights * best, -weights * log_pi)
        return np.concatenate(parts, axis=-1), np.stack([each.sum(axis=-1) for each in report], axis=-1)

    def policy_slopes(self, observations, noise, alpha):
        """Return the actor, the slopes of alpha log pi(a|s) - min Q(s, a) in its outputs, log pi and min Q."""
        actor = Linearisation(self.networks["actor"], self.policy.sizes, observations)
        a, log_pi, std, of_u = act(actor.outputs, noise)
        inputs = np.concatenate([observations, a], axis=-1)
        q = [Linearisation(self.networks[f"critic{i}"], self.q_sizes, inputs) for i in (1, 2)]
        of_a = [each.input_product(np.ones_like(each.outputs))[..., observations.shape[-1] :] for each in q]
        smaller = q[0].outputs <= q[1].outputs
        of_u = alpha * of_u - np.where(smaller, *of_a) * (1 - a * a)
        of_log_std = (of_u * std * noise - alpha) * ((std > np.exp(LOWEST)) & (std < np.exp(HIGHEST)))
        best = np.minimum(q[0].outputs, q[1].outputs)[..., 0]
        return actor, np.concatenate([of_u, of_log_std], axis=-1), log_pi, best

    def step(self, gradient):
        own, stops = self.networks, np.cumsum([len(self.networks[name]) for name in PARTS])[:-1]
        for name, g in zip(PARTS, np.split(gradient.astype(np.float32), stops), strict=True):
            own["adam"][name], step = adam(own["adam"][name], g, self.settings.step_size)
            own[name] = own[name] - step
        rate = np.float32(self.settings.target_rate)
        for i in (1, 2):
            own[f"target{i}"] = (1 - rate) * own[f"target{i}"] + rate * own[f"critic{i}"]

    def after_updates(self, report, updates):
        loss, q, entropy = np.broadcast_to(report, 3).tolist()
        self.theta = self.networks["actor"].astype(float)
        alpha = float(np.exp(self.networks["log_alpha"][0]))
        return {"critic_loss": loss, "mean_q": q, "entropy": entropy, "alpha": alpha}
