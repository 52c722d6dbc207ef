"""Epsilon-greedy: who acts in value-based methods. Mostly the action of the largest Q, sometimes any.

How greedy an episode becomes is drawn once for each episode, so that the actors of one moment explore differently
(Mnih et al. 2016, section 5.1). All random numbers come from the episode's own generator.
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms.options import option
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import EpisodeKey
from minitrpo.perceptron import Sizes, in_single_precision, initialise_mlp, layer_sizes, perceptron
from minitrpo.policies import ActFunction, Acting, Array, Policy


def epsilon_greedy(q: Array, epsilon: Array, coin: Array, dice: Array) -> Array:
    """Return actions (N,): any of them where coin < epsilon, the one of the largest q elsewhere.

    q: (N, A). epsilon, coin, dice: (N,); coin and dice are uniform in [0, 1).
    """
    anything = (dice * q.shape[1]).astype(np.int64)
    return np.where(coin < epsilon, anything, np.argmax(q, axis=1))


def parsed(final_epsilons: str) -> tuple[Array, Array]:
    """Return the epsilons and their probabilities that a text such as "0.1:0.4,0.01:0.6" or "0.05" says.

    BadInput if they are no probabilities.
    """
    pairs = [part.partition(":") for part in final_epsilons.split(",")]
    try:
        epsilons = np.array([float(epsilon) for epsilon, _, _ in pairs])
        weights = np.array([float(weight) if colon else 1.0 for _, colon, weight in pairs])
    except ValueError:
        epsilons, weights = np.array([np.nan]), np.ones(1)
    if not (np.all((epsilons >= 0) & (epsilons <= 1)) and np.all((weights > 0) & (weights < 1e9))):
        raise BadInput(
            "--final-epsilons must be probabilities with commas, each with its weight if they are not equally likely, "
            f"such as 0.05 or 0.1:0.4,0.01:0.3,0.5:0.3, not {final_epsilons!r}"
        )
    return epsilons, weights / weights.sum()


@dataclass(frozen=True)
class ExplorationSettings:
    """What every epsilon-greedy method can be told."""

    exploration_steps: int = option(
        20_000, "steps in which epsilon falls from 1 to its final value", "Mnih et al. 2016: 4 million", least=1
    )
    final_epsilons: str = option(
        "0.02", "final epsilon, or several, one of them for each episode, with weights: 0.1:0.4,0.01:0.3,0.5:0.3"
    )

    def check(self) -> None:
        """Raise BadInput for epsilons that are none."""
        parsed(self.final_epsilons)


@dataclass(frozen=True)
class EpsilonGreedy(Acting):
    """The policy of a Q network: theta is the network's parameters and, last, how much of the exploration is left.

    epsilon = final + (1 - final) * left, left falling from 1 to 0; `final` is drawn once for each episode.
    dist_params are Q(s, .), (N, A); actions are integers; noise is (N, 2): coin and dice; state: the episode's number.
    """

    observation_size: int
    action_size: int
    hidden: tuple[int, ...]
    final_epsilons: tuple[float, ...] = (0.05,)
    probabilities: tuple[float, ...] = (1.0,)
    noise_size: int = 2
    discrete, state_size = True, 1

    @property
    def sizes(self) -> Sizes:
        """Return the (inputs, outputs) of every layer."""
        return layer_sizes(self.observation_size, self.hidden, self.action_size)

    def initialise(self, rng: np.random.Generator) -> Array:
        """Return a fresh theta (P + 1,): all Q small, all exploration left."""
        return np.append(initialise_mlp(rng, self.sizes, last_gain=0.01), 1.0)

    def initial_state(self, theta: Array, key: EpisodeKey) -> Array:
        """Return a number (1,) that is uniform in [0, 1): how greedy the episode becomes."""
        return key.once().random(1)

    def draw_noise(self, rng: np.random.Generator, steps: int) -> Array:
        """Return coin and dice (steps, 2)."""
        return rng.random((steps, 2))

    def epsilons(self, theta: Array, numbers: Array) -> Array:
        """Return the epsilon (N,) of episodes with these numbers (N,), uniform in [0, 1)."""
        which = np.searchsorted(np.cumsum(self.probabilities)[:-1], numbers, side="right")
        final = np.array(self.final_epsilons)[which]
        return np.asarray(final + (1.0 - final) * self.split(theta)[1])

    def split(self, theta: Array) -> tuple[Array, float]:
        """Return the network's parameters, as a view, and how much of the exploration is left."""
        return theta[:-1], float(theta[-1])

    def act_function(self, theta: Array, state: Array) -> ActFunction:
        """Return the function (observations, noise, rows in use) -> actions that collecting calls at every tick."""
        q = in_single_precision(self.split(theta)[0], self.sizes)

        def act(observations: Array, noise: Array, used: int) -> Array:
            return epsilon_greedy(q(observations, used), self.epsilons(theta, state[:, 0]), noise[:, 0], noise[:, 1])

        return act

    def distribution(self, theta: Array, observations: Array) -> Array:
        """Return Q(s, .), shape (N, A), for `observations` (N, D)."""
        return perceptron(self.split(theta)[0], self.sizes, observations)


def epsilon_greedy_policy(final_epsilons: str, policy: Policy) -> EpsilonGreedy:
    """Return the epsilon-greedy policy with the house's shapes; BadInput if actions cannot be counted."""
    if not policy.discrete:
        raise BadInput(
            "the largest Q must be looked for among finitely many actions, and these are continuous: "
            "choose an --algorithm that takes Box actions, see --help, or an --env with Discrete ones"
        )
    epsilons, probabilities = parsed(final_epsilons)
    shape = (policy.observation_size, policy.action_size, policy.hidden)
    return EpsilonGreedy(*shape, tuple(epsilons.tolist()), tuple(probabilities.tolist()))
