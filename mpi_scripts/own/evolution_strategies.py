"""Evolution strategies (Salimans et al. 2017): every episode has a theta of its own, and what travels is its return.

1. episode n plays theta + sigma eps_n, eps_n from its key, mirrored in every other .... Perturbed.initial_state
2. its number and its return go to the root: 16 bytes .................................. ES.prepare
3. theta <- theta + step / (N sigma) sum_n rank_n eps_n, each eps_n drawn once more .... ES.learn
"""

from dataclasses import dataclass, replace

import numpy as np

from minitrpo.algorithms import Acting, Algorithm, EpisodeKey, Plan, Preset, Purpose, option
from minitrpo.optimisers import adam, initial_state
from minitrpo.perceptron import count_parameters, initialise_mlp, perceptron, unflatten


@dataclass(frozen=True)
class Settings:
    population: int = option(64, "episodes per update, in mirrored pairs", "Salimans et al. 2017", least=2, most=10_000)
    sigma: float = option(0.1, "deviation of a perturbation", "Salimans et al. 2017: 0.02", above=0)
    step_size: float = option(0.05, "Adam's step size", above=0)


class Perturbed(Acting):
    discrete = True  # the best action of finitely many; an episode's state is the theta that plays it

    def __init__(self, policy, sigma):
        self.sizes, self.sigma, self.state_size = policy.sizes, sigma, count_parameters(policy.sizes)

    def initialise(self, rng):
        return initialise_mlp(rng, self.sizes, last_gain=0.01)

    def eps(self, key):
        return (1 - 2 * (key.number % 2)) * replace(key, number=key.number // 2).once().standard_normal(self.state_size)

    def initial_state(self, theta, key):
        return theta + self.sigma * self.eps(key)

    def act_function(self, theta, state):
        def act(x, noise, used):
            for i, (weights, biases) in enumerate(unflatten(state, self.sizes)):  # a network for every environment
                x = np.einsum("hi,hio->ho", np.tanh(x) if i else x, weights) + biases
            return np.argmax(x, axis=1)

        return act

    def distribution(self, theta, observations):
        return perceptron(theta, self.sizes, observations)


class ES(Algorithm):
    Settings, columns = Settings, ("best", "step_norm")
    presets = {"default": Preset("a small network", {"filter": "none", "hidden": "16", "total_steps": 200_000})}
    make_policy = staticmethod(lambda settings, policy: Perturbed(policy, settings.sigma))

    def __init__(self, settings, context):
        self.settings, self.seed, self.policy, self.iteration = settings, context.seed, context.policy, 0
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.adam = initial_state("adam", len(self.theta))

    def plan(self):
        return Plan(self.theta, episodes=self.settings.population)

    def prepare(self, plan, fragment):
        return {"numbers": fragment.numbers, "returns": fragment.returns}

    def learn(self, batch, rng):
        self.iteration, returns, N = self.iteration + 1, batch["returns"], len(batch["returns"])
        ranks = np.argsort(np.argsort(returns, kind="stable")) / (N - 1) - 0.5
        eps = [self.policy.eps(EpisodeKey(self.seed, self.iteration, n)) for n in batch["numbers"].tolist()]
        self.adam, step = adam(self.adam, ranks @ np.array(eps) / (N * self.settings.sigma), self.settings.step_size)
        self.theta = self.theta + step
        return {"best": returns.max(), "step_norm": np.linalg.norm(step)}

    def state(self):
        return {"theta": self.theta, "iteration": np.array([self.iteration]), **self.adam}

    def restore(self, arrays):
        self.theta, self.iteration = arrays["theta"], int(arrays["iteration"][0])
        self.adam = {name: arrays[name] for name in self.adam}
