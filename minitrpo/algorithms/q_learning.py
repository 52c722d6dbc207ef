"""Lecture 11: learning Q(s, a) from what many actors have just seen, without a memory: one-step Q, Sarsa, n-step Q.

Every actor turns its fragment of t_max steps into a gradient; the gradients travel and are summed. Targets use theta-,
an older copy of theta, renewed every so many steps of all actors together (Mnih et al. 2016, algorithms 1 and 2).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.epsilon_greedy import EpsilonGreedy, epsilon_greedy_policy, parsed
from minitrpo.algorithms.interface import Arrays, Context, Plan, Preset
from minitrpo.algorithms.options import option
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.replay import transitions
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.perceptron import Linearisation, Sizes
from minitrpo.policies import Array, Policy
from minitrpo.returns import discounted_sums

# --- the formulas


def one_step_q_targets(rewards: Array, terminated: Array, next_q: Array, discount: float) -> Array:
    """Return y = r + discount (1 - terminated) max_a Q(s', a), shape of `rewards`; next_q: one axis more, the actions.

    Source: Watkins 1989; Mnih et al. 2015.
    """
    return np.asarray(rewards + discount * (1.0 - terminated) * next_q.max(axis=-1))


def sarsa_targets(rewards: Array, terminated: Array, next_q: Array, next_actions: Array, discount: float) -> Array:
    """Return y = r + discount (1 - terminated) Q(s', a'), (N,), with the action a' (N,) that was really taken in s'.

    Source: Rummery & Niranjan 1994.
    """
    return np.asarray(rewards + discount * (1.0 - terminated) * next_q[np.arange(len(next_q)), next_actions])


def n_step_q_targets(rewards: Array, last: Array, terminated: Array, final_q: Array, discount: float) -> Array:
    """Return y_t = r_t + discount r_{t+1} + ... + discount^n max_a Q(s_{t+n}, a), (N,), to the end of the fragment.

    final_q: Q of the observation after each fragment, (E, A); it counts where the fragment was merely cut. The first
    step of a fragment looks furthest ahead, the last one a single step. Source: Mnih et al. 2016, algorithm S2.
    """
    rewards = rewards.astype(float)
    rewards[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1)
    return discounted_sums(rewards, discount, last)


def td_loss(error: Array, huber: float) -> Array:
    """Return 1/2 error^2, and beyond +-huber the straight line that goes on from there, elementwise."""
    clipped = np.clip(error, -huber, huber)
    return np.asarray(clipped * error - 0.5 * clipped * clipped)


def td_gradient(
    theta: Array, sizes: Sizes, observations: Array, actions: Array, targets: Array, weights: Array, huber: float
) -> tuple[Array, Array]:
    """Return the gradient in theta of sum_i weight_i loss(Q(s_i, a_i) - y_i), (P,), and the errors (N,); y is constant.

    For B batches at once: (B, P) and (B, N), from observations (B, N, D), the others (B, N).
    """
    at = Linearisation(theta, sizes, observations)
    chosen = actions[..., None]
    error = np.take_along_axis(at.outputs, chosen, axis=-1)[..., 0] - targets
    slope = np.zeros_like(at.outputs)
    np.put_along_axis(slope, chosen, (weights * np.clip(error, -huber, huber))[..., None], axis=-1)
    return at.transposed_product(slope), error


# --- the algorithms


@dataclass(frozen=True)
class QSettings:
    """What the methods without a memory can be told."""

    discount: float = option(0.99, "discount per step (gamma)", above=0, most=1)
    step_size: float = option(1e-3, "the optimiser's step size", above=0, most=10)
    optimiser: str = option("adam", "what makes a step of a gradient", "Mnih et al. 2016: rmsprop", ("adam", "rmsprop"))
    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    gradient_clip: float = option(10.0, "a longer gradient is shortened to this length", above=0)
    target_every: int = option(
        1_000,
        "steps of all actors together after which theta- is renewed",
        "Mnih et al. 2016: 40,000 on Atari",
        least=1,
    )
    exploration_steps: int = option(
        20_000, "steps in which epsilon falls from 1 to its final value", "Mnih et al. 2016: 4 million", least=1
    )
    final_epsilons: str = option(
        "0.02", "final epsilon, or several, one of them for each episode, with weights: 0.1:0.4,0.01:0.3,0.5:0.3"
    )

    def check(self) -> None:
        """Raise BadInput for epsilons that are none."""
        parsed(self.final_epsilons)


class NStepQ:
    """n-step Q-learning of one run: Q, its older copy, and the update from everybody's gradients."""

    Settings = QSettings
    columns = ("td_loss", "gradient_norm", "mean_q", "exploration")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 5 steps of 16 environments",
            {"requests": "segments", "steps_per_update": 80, "filter": "none", "checkpoint_every": "30s"},
        ),
    }

    def __init__(self, settings: QSettings, context: Context) -> None:
        self.settings, self.context = settings, context
        self.policy = cast(EpsilonGreedy, context.policy)
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.target = self.theta[:-1].copy()
        self.memory = initial_state(settings.optimiser, len(self.target))
        self.steps = 0

    @staticmethod
    def make_policy(settings: QSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def plan(self) -> Plan:
        """Return the network that acts, and the older one for the targets."""
        return Plan(self.theta, arrays={"target": self.target})

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the sums over a fragment that travel: gradient, loss, Q, and over how many steps they are."""
        return {name: array[None] for name, array in self.gradient(plan.theta, plan.arrays["target"], fragment).items()}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step along everybody's gradients."""
        return self.apply({name: rows.sum(axis=0) for name, rows in batch.items()})

    def gradient(self, theta: Array, target: Array, fragment: Episodes) -> Arrays:
        """Return the gradient of the fragment's loss, (P,), and its sums; theta- is `target`."""
        y, known = self.targets(target, fragment)
        observations, actions = fragment.observations[known], fragment.actions[known]
        ones = np.ones(len(y))
        g, error = td_gradient(theta[:-1], self.policy.sizes, observations, actions, y, ones, self.settings.huber)
        sums = [td_loss(error, self.settings.huber).sum(), (y + error).sum(), len(y), fragment.steps]
        return {"gradients": g, "sums": np.array(sums)}

    def apply(self, total: Arrays) -> dict[str, Any]:
        """Take one step along a sum of gradients, renew theta- if it is due; return the columns."""
        s, (loss, q, learned, taken) = self.settings, total["sums"].tolist()
        g = total["gradients"] / max(learned, 1.0)
        self.memory, step = OPTIMISERS[s.optimiser](self.memory, clipped_norm(g, s.gradient_clip), s.step_size)
        before, self.steps = self.steps, self.steps + int(taken)
        left = max(0.0, 1.0 - self.steps / s.exploration_steps)
        self.theta = np.append(self.theta[:-1] - step, left)
        if self.steps // s.target_every > before // s.target_every:
            self.target = self.theta[:-1].copy()
        means = {"td_loss": loss / max(learned, 1.0), "mean_q": q / max(learned, 1.0)}
        return {**means, "gradient_norm": float(np.linalg.norm(g)), "exploration": left}

    def targets(self, target: Array, fragment: Episodes) -> tuple[Array, Array]:
        """Return the targets (M,) and for which of the fragment's steps they are, a mask (N,) with M of them."""
        final_q = self.policy.distribution(np.append(target, 0.0), fragment.final_observations)
        masks = fragment.last, fragment.terminated_steps
        y = n_step_q_targets(fragment.rewards, *masks, final_q, self.settings.discount)
        return y, np.ones(fragment.steps, bool)

    def state(self) -> Arrays:
        """Return Q, its older copy, the optimiser's memory and the count of steps."""
        own = {"theta": self.theta, "target": self.target, "steps": np.array([self.steps])}
        return own | {f"optimiser_{name}": array for name, array in self.memory.items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        if arrays["target"].shape != self.target.shape or not np.all(np.isfinite(arrays["target"])):
            raise ValueError("target is not finite, or of another shape")
        self.theta, self.target, self.steps = arrays["theta"], arrays["target"], int(arrays["steps"][0])
        self.memory = {name: arrays[f"optimiser_{name}"] for name in self.memory}


class OneStepQ(NStepQ):
    """One-step Q-learning: each target looks one step ahead."""

    def targets(self, target: Array, fragment: Episodes) -> tuple[Array, Array]:
        """Return the targets (N,), for all steps."""
        rows = transitions(fragment)
        next_q = self.policy.distribution(np.append(target, 0.0), rows["next_observations"])
        y = one_step_q_targets(fragment.rewards, rows["terminated"], next_q, self.settings.discount)
        return y, np.ones(fragment.steps, bool)


class Sarsa(NStepQ):
    """One-step Sarsa: the target takes the action that was really taken next.

    The last step of a fragment that was merely cut has no next action yet, and is left out.
    """

    def targets(self, target: Array, fragment: Episodes) -> tuple[Array, Array]:
        """Return the targets (M,), for the steps whose next action is known or does not matter."""
        rows = transitions(fragment)
        next_q = self.policy.distribution(np.append(target, 0.0), rows["next_observations"])
        next_actions = np.append(fragment.actions[1:], 0)
        y = sarsa_targets(fragment.rewards, rows["terminated"], next_q, next_actions, self.settings.discount)
        known = ~fragment.last | rows["terminated"]
        return y[known], known
