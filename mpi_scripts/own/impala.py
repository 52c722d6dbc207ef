"""IMPALA with V-trace (Espeholt et al. 2018): workers send samples, the learner corrects for how old they are.

1. a worker plays t_max steps with the mu it pulled, and sends them with log mu(a|s) ... gradient
2. rho_t = min(rho, pi / mu), c_t = min(c, pi / mu); v_t by recursion from the end ..... v_trace
3. up rho_t (r_t + gamma v_{t+1} - V(s_t)) grad log pi, and V towards v_t .............. apply
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.advantages import next_values
from minitrpo.algorithms import AsynchronousAlgorithm, AsynchronousSettings, Preset, Purpose, option
from minitrpo.algorithms.actor_critic import ActorCritic
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER, descend
from minitrpo.optimisers import adam, clipped_norm, initial_state
from minitrpo.perceptron import Linearisation
from minitrpo.policy_gradient import LogProbability


@dataclass(frozen=True)
class Settings(AsynchronousSettings):
    discount: float = option(0.99, "discount per step (gamma)", "Espeholt et al. 2018", above=0, most=1)
    entropy_weight: float = option(0.01, "weight of the entropy, per nat", "Espeholt et al. 2018", least=0)
    value_weight: float = option(0.5, "weight of the value function's error", "Espeholt et al. 2018", above=0)
    largest_weight: float = option(1.0, "rho and c: ratios are cut here", "Espeholt et al. 2018", above=0)
    max_gradient_norm: float = option(1.0, "largest norm of a gradient", above=0)
    step_size: float = option(3e-3, "Adam's step size", above=0)


def v_trace(ratios, rewards, values, after, last, discount, largest):
    """Return the targets v_t and the policy's weights, (N,) each; after: V(s_{t+1}), 0 where the task ended. Eq. 1."""
    rho = np.minimum(ratios, largest)
    delta, apart, total = rho * (rewards + discount * after - values), np.zeros(len(values)), 0.0
    for t in reversed(range(len(values))):
        total = apart[t] = delta[t] + (0.0 if last[t] else discount * rho[t] * total)
    following = np.where(last, after, np.append((values + apart)[1:], 0.0))
    return values + apart, rho * (rewards + discount * following - values)


class Impala(AsynchronousAlgorithm):
    Settings, columns, chart = Settings, ("value_loss", "entropy", "mean_weight"), ("entropy",)
    presets = {"default": Preset("short pieces", {"t_max": 20, "envs_per_worker": 8, "total_steps": 200_000})}

    def __init__(self, settings, context):
        self.settings, self.context, self.model = settings, context, context.policy

    @staticmethod
    def make_policy(settings, policy):
        return ActorCritic(policy)

    def state(self):
        theta = self.model.initialise(self.context.generator(Purpose.POLICY))
        return {"theta": theta, "optimiser": initial_state("adam", len(theta))}

    def gradient(self, shared, fragment, now, rng):  # samples travel, not gradients
        f, actor = fragment, self.model.split(shared["theta"])[0]
        names = ("observations", "actions", "rewards", "final_observations", "last")
        samples = {name: getattr(f, name) for name in names}
        behaviour = LogProbability(self.model.policy, actor, f.observations, f.actions).log_prob
        return samples | {"terminated": f.terminated_steps, "behaviour": behaviour}, dict.fromkeys(self.columns, np.nan)

    def apply(self, shared, gradient, now):
        s, g, (actor, critic) = self.settings, gradient, self.model.split(shared["theta"])
        at = LogProbability(self.model.policy, actor, g["observations"], g["actions"])
        value, n = Linearisation(critic, self.model.value_sizes, g["observations"]), len(g["rewards"])
        values, final = value.outputs[:, 0], self.model.values(shared["theta"], g["final_observations"])
        ratios, after = np.exp(at.log_prob - g["behaviour"]), next_values(values, final, g["last"], g["terminated"])
        targets, weights = v_trace(ratios, g["rewards"], values, after, g["last"], s.discount, s.largest_weight)
        ascent = at.weighted_gradient(weights / n, s.entropy_weight / n)
        descent = value.transposed_product((s.value_weight * (values - targets) / n)[:, None])
        parts = [clipped_norm(part, s.max_gradient_norm) for part in (-ascent, descent)]
        descend(shared, np.concatenate(parts), adam, s.step_size, OPTIMISER)
        loss = float(np.mean((values - targets) ** 2) / 2)
        return {"value_loss": loss, "entropy": float(np.mean(at.entropy)), "mean_weight": float(np.mean(ratios))}
