"""Lecture 11b: one-step Q, Sarsa and n-step Q as algorithms: many actors, no replay buffer, gradients travel.

With a barrier:

    1. every actor steps epsilon-greedily .............. algorithms/q_learning/epsilon_greedy.py: epsilon_greedy
    2. y = r + gamma max Q(s', .; theta-), or n steps .. algorithms/q_learning/targets.py: one_step_q, n_step_q
       or Q(s', a') of the a' it takes next (Sarsa) .... algorithms/q_learning/targets.py: sarsa_one_step
    3. sum of grad 1/2 (Q(s, a; theta) - y)^2 . algorithms/q_learning/n_step_q.py: QMember.fragment_gradient
    4. add everybody's sums, one step of theta ......... algorithms/q_learning/n_step_q.py: NStepQ.learn
    5. theta- = theta every I steps of all actors ...... algorithms/q_learning/n_step_q.py: NStepQ.learn

Every actor turns what it has just seen into a gradient; all gradients are summed, and one step is taken. theta- is
renewed, and exploration wanes, with the steps of all actors together.

Without one each worker, until the work is over (parallel/parameter_server.py: work_through),

    1. pulls theta and theta- .......................... parallel/parameter_server.py: ParameterServer.pull
    2. steps epsilon-greedily, t_max times ............. algorithms/q_learning/epsilon_greedy.py: epsilon_greedy
    3. y by theta-, gradient of 1/2 (Q(s, a) - y)^2 algorithms/q_learning/n_step_q.py: QMember.fragment_gradient
    4. pushes the gradient ............................. parallel/parameter_server.py: ParameterServer.push
    5. a step of the shared optimiser .................. algorithms/asynchronous_algorithm.py: descend
    6. theta- = theta every I steps of all workers ..... algorithms/q_learning/n_step_q.py: AsynchronousNStepQ.apply

Source: Mnih et al. 2016, algorithms 1, S1 and S2.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, AnnealingSettings, Arrays, Context, Member, Plan, Preset, remaining
from minitrpo.algorithms.asynchronous_algorithm import (
    OPTIMISER,
    AsynchronousAlgorithm,
    AsynchronousSettings,
    Moment,
    descend,
)
from minitrpo.algorithms.options import option
from minitrpo.algorithms.q_learning.epsilon_greedy import EpsilonGreedy, ExplorationSettings, epsilon_greedy_policy
from minitrpo.algorithms.q_learning.targets import n_step_q, one_step_q, sarsa_one_step, td_gradient, td_loss
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, clipped_norm, in_place, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array, Policy


@dataclass(frozen=True)
class QSettings(AnnealingSettings, ExplorationSettings):
    """What the methods without a replay buffer can be told."""

    discount: float = option(0.99, "discount per step (gamma)", above=0, most=1)
    optimiser: str = option("adam", "what makes a step of a gradient", "Mnih et al. 2016: rmsprop", ("adam", "rmsprop"))
    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    gradient_clip: float = option(1e6, "a longer gradient is shortened to this length", above=0)
    target_every: int = option(
        1_000,
        "steps of all actors together after which theta- is renewed",
        "Mnih et al. 2016: 40,000 on Atari",
        least=1,
    )


def mean_gradient(gradient: Array, sums: Array, longest: float) -> Array:
    """Return the gradient per step learned from, not longer than `longest`."""
    return clipped_norm(gradient / max(sums[2], 1.0), longest)


def metrics(gradient: Array, sums: Array, theta: Array) -> dict[str, float]:
    """Return the columns of the log."""
    loss, q = (sums[:2] / sums[2]).tolist() if sums[2] else (np.nan, np.nan)
    return {"td_loss": loss, "mean_q": q, "gradient_norm": float(np.linalg.norm(gradient)), "exploration": theta[-1]}


class QMember(Member):
    """What these methods have in common, whichever loop plays them; they differ in their targets."""

    columns = ("td_loss", "gradient_norm", "mean_q", "exploration")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    actions = ("Discrete",)
    targets: ClassVar[Any]  # one of `targets.Targets`

    def __init__(self, settings: QSettings, context: Context) -> None:
        self.settings, self.context, self.step_size = settings, context, settings.step_size_in(context)
        self.policy = cast(EpsilonGreedy, context.policy)

    @staticmethod
    def make_policy(settings: QSettings, policy: Policy) -> Any:
        """Return the epsilon-greedy policy; BadInput for continuous actions."""
        return epsilon_greedy_policy(settings.final_epsilons, policy)

    def state(self) -> Nested:
        """Return Q, its older copy and the optimiser's arrays before the first step."""
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        optimiser = initial_state(self.settings.optimiser, len(theta))
        return {"theta": theta, "target": theta.copy(), "optimiser": optimiser}

    def fragment_gradient(self, theta: Array, target: Array, fragment: Fragments) -> tuple[Array, Array]:
        """Return the gradient of a fragment's loss, (P + 1,), that in the exploration left being 0; and of what it is.

        The sums (4,) are those of loss and Q, and how many steps were learned from and taken. theta- is `target`.
        """
        policy, s = self.policy, self.settings
        y, known = self.targets(lambda observations: policy.distribution(target, observations), fragment, s.discount)
        observations, actions, ones = fragment.observations[known], fragment.actions[known], np.ones(len(y))
        g, error = td_gradient(policy.split(theta)[0], policy.sizes, observations, actions, y, ones, s.huber)
        sums = [td_loss(error, s.huber).sum(), (y + error).sum(), len(y), fragment.steps]
        return np.append(g, 0.0), np.array(sums)


class NStepQ(QMember, Algorithm):
    """n-step Q-learning of one run: Q, its older copy, and the update from everybody's gradients."""

    Settings = QSettings
    targets = staticmethod(n_step_q)
    theta: Array
    target: Array
    optimiser: Arrays
    steps: int
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"},
            {"CartPole-v1": {"total_steps": 500_000, "anneal": "step-size"}},
        )
    }

    def __init__(self, settings: QSettings, context: Context) -> None:
        super().__init__(settings, context)
        self.restore({**super().state(), "steps": np.zeros(1, np.int64)})

    def plan(self) -> Plan:
        """Return the network that acts, and the older one for the targets."""
        return Plan(self.theta, arrays={"target": self.target})

    def digest(self, plan: Plan, fragment: Fragments) -> Arrays:
        """Return the sums over a fragment that travel: the gradient, and loss, Q, steps learned from, steps taken."""
        g, sums = self.fragment_gradient(plan.theta, plan.arrays["target"], fragment)
        return {"gradients": g[None], "sums": sums[None]}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one step along everybody's gradients, and renew theta- if it is due."""
        s, sums = self.settings, batch["sums"].sum(axis=0)
        g = mean_gradient(batch["gradients"].sum(axis=0), sums, s.gradient_clip)
        self.optimiser, step = OPTIMISERS[s.optimiser](self.optimiser, g, self.step_size(self.steps))
        before, self.steps = self.steps, self.steps + int(sums[-1])
        self.theta = self.theta - step
        self.theta[-1] = remaining(self.steps, s.exploration_steps)
        if self.steps // s.target_every > before // s.target_every:
            self.target = self.theta.copy()
        return metrics(g, sums, self.theta)

    def state(self) -> Nested:
        """Return Q, its older copy, the optimiser's arrays and the count of steps."""
        steps = np.array([self.steps])
        return {"theta": self.theta, "target": self.target, "optimiser": self.optimiser, "steps": steps}

    def restore(self, arrays: Nested) -> None:
        """Take over what `state` returned."""
        self.theta, self.target, self.optimiser = (arrays[name] for name in ("theta", "target", "optimiser"))
        self.steps = int(arrays["steps"][0])


class OneStepQ(NStepQ):
    """One-step Q-learning of one run."""

    targets = staticmethod(one_step_q)


class OneStepSarsa(NStepQ):
    """One-step Sarsa of one run."""

    targets = staticmethod(sarsa_one_step)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments; one step ahead, news travels slowly",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"}
            | {"final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000}},
        )
    }


# --- without a barrier


@dataclass(frozen=True)
class AsynchronousQSettings(QSettings, AsynchronousSettings):
    """What the asynchronous forms can be told."""


class AsynchronousNStepQ(QMember, AsynchronousAlgorithm):
    """n-step Q-learning without a barrier: gradients of what a worker pulled are applied as they come."""

    Settings = AsynchronousQSettings
    targets = staticmethod(n_step_q)
    pulled = ("theta", "target")
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments",
            {"t_max": 16, "envs_per_worker": 8},
            {"CartPole-v1": {"total_steps": 500_000, "anneal": "step-size"}},
        )
    }

    def state(self) -> Nested:
        """Return what all workers share: Q, its older copy and of when it is, the optimiser's arrays."""
        return super().state() | {"renewed": np.zeros(1, np.int64)}

    def gradient(
        self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Return the mean gradient at the pulled theta."""
        g, sums = self.fragment_gradient(shared["theta"], shared["target"], fragment)
        g = mean_gradient(g, sums, self.settings.gradient_clip)
        return {"gradient": g}, metrics(g, sums, shared["theta"])

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Take one step, and renew theta- if it is due by the steps of all workers."""
        s, theta = self.settings, shared["theta"]
        descend(shared, gradient["gradient"], in_place(s.optimiser), self.step_size(now.env_steps), OPTIMISER)
        if self.context.holds_last:
            theta[-1] = remaining(now.env_steps, s.exploration_steps)
        if now.env_steps // s.target_every > shared["renewed"][0] // s.target_every:
            shared["target"][:], shared["renewed"][:] = theta, now.env_steps


class AsynchronousOneStepQ(AsynchronousNStepQ):
    """One-step Q-learning without a barrier."""

    targets = staticmethod(one_step_q)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments; one step ahead, news travels slowly",
            {"t_max": 16, "envs_per_worker": 8, "final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000, "anneal": "step-size", "step_size": 3e-3}},
        )
    }


class AsynchronousSarsa(AsynchronousNStepQ):
    """One-step Sarsa without a barrier."""

    targets = staticmethod(sarsa_one_step)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments; one step ahead, news travels slowly",
            {"t_max": 16, "envs_per_worker": 8, "final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000}},  # both found on seeds 100 and 101
        )
    }
