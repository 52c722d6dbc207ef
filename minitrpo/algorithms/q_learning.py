"""Lecture 11b: one-step Q, Sarsa and n-step Q: many actors, no replay buffer, gradients travel.

Targets use theta-, an older copy of theta: what is aimed at stands still for a while.

With a barrier:

    1. every actor steps epsilon-greedily .............. algorithms/q_learning.py: epsilon_greedy
    2. y = r + gamma max Q(s', .; theta-), or n steps .. algorithms/q_learning.py: one_step_q, n_step_q
       or Q(s', a') of the a' it takes next (Sarsa) .... algorithms/q_learning.py: sarsa_one_step
    3. sum of grad 1/2 (Q(s, a; theta) - y)^2 . algorithms/q_learning.py: QMember.fragment_gradient
    4. add everybody's sums, one step of theta ......... algorithms/q_learning.py: NStepQ.learn
    5. theta- = theta every I steps of all actors ...... algorithms/q_learning.py: NStepQ.learn

Every actor turns what it has just seen into a gradient; all gradients are summed, and one step is taken. theta- is
renewed, and exploration wanes, with the steps of all actors together.

Without one each worker, until the work is over (parallel/parameter_server.py: work_through),

    1. pulls theta and theta- .......................... parallel/parameter_server.py: ParameterServer.pull
    2. steps epsilon-greedily, t_max times ............. algorithms/q_learning.py: epsilon_greedy
    3. y by theta-, gradient of 1/2 (Q(s, a) - y)^2 algorithms/q_learning.py: QMember.fragment_gradient
    4. pushes the gradient ............................. parallel/parameter_server.py: ParameterServer.push
    5. a step of the shared optimiser .................. algorithms/asynchronous_algorithm.py: descend
    6. theta- = theta every I steps of all workers ..... algorithms/q_learning.py: AsynchronousNStepQ.apply

Source: Mnih et al. 2016, algorithms 1, S1 and S2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import (
    Algorithm,
    AnnealingSettings,
    Arrays,
    Context,
    Member,
    Plan,
    Preset,
    refuse_other_network,
    remaining,
)
from minitrpo.algorithms.asynchronous_algorithm import (
    OPTIMISER,
    AsynchronousAlgorithm,
    AsynchronousSettings,
    Moment,
    Pushed,
    descend,
)
from minitrpo.algorithms.options import discount_option, option
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import EpisodeKey, Purpose
from minitrpo.experience.replay_buffer import transitions
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.parallel.comm import Nested
from minitrpo.perceptron import (
    Linearisation,
    Sizes,
    activations,
    in_single_precision,
    initialise_mlp,
    perceptron,
    unflatten,
)
from minitrpo.policies import ActFunction, Array, Perceptron, Policy
from minitrpo.returns import discounted_sums

# --- the formulas


def one_step_q_targets(rewards: Array, terminated: Array, next_q: Array, discount: float | Array) -> Array:
    """Return y = r + discount (1 - terminated) max_a Q(s', a), shape of `rewards`; next_q: one axis more, the actions.

    Source: Watkins 1989; Mnih et al. 2015.
    """
    return np.asarray(rewards + discount * (1.0 - terminated) * next_q.max(axis=-1))


def sarsa_targets(rewards: Array, terminated: Array, next_q: Array, next_actions: Array, discount: float) -> Array:
    """Return y = r + discount (1 - terminated) Q(s', a'), (N,), with the action a' (N,) that was really taken in s'.

    next_q: Q(s', .), (N, actions). Source: Rummery & Niranjan 1994.
    """
    # 1. of each row the Q of the action that was taken
    taken = next_q[np.arange(len(next_q)), next_actions]
    # 2. it counts where the task goes on
    return np.asarray(rewards + discount * (1.0 - terminated) * taken)


def n_step_q_targets(rewards: Array, last: Array, terminated: Array, final_q: Array, discount: float) -> Array:
    """Return y_t = r_t + discount r_{t+1} + ... + discount^n max_a Q(s_{t+n}, a), (N,), to the end of the fragment.

    final_q: Q of the observation after each fragment, (E, A); it counts where the fragment was merely cut. The first
    step of a fragment looks furthest ahead, the last one a single step. Source: Mnih et al. 2016, algorithm S2.
    """
    # 1. a copy of the rewards, in floats: what follows changes it
    rewards = rewards.astype(float)
    # 2. what comes after a fragment's last step: nothing where the task terminated, the largest Q where it was cut
    rewards[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1)
    # 3. lecture 01's discounted_sums walks back through every fragment
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


def q_gradient_sums(
    theta: Array, target: Array, sizes: Sizes, rows: dict[str, Array], weights: Array, huber: float
) -> tuple[Array, Array]:
    """Return for B batches of transitions the sums of gradients (B, P), and of loss and Q, (B, 2).

    loss(Q(s, a; theta) - y), y = r + discount (1 - terminated) max_a' Q(s', a'; theta-); r, discount and s' may be of
    several steps: see `multi_step`. weights (B, M) are 1, or 0 for rows that do not count. Source: Mnih et al. 2015.
    """
    next_q = activations(unflatten(target, sizes), rows["next_observations"])[-1]
    y = one_step_q_targets(rows["rewards"], rows["terminated"], next_q, rows["discounts"])
    gradients, error = td_gradient(theta, sizes, rows["observations"], rows["actions"], y, weights, huber)
    sums = [(weights * td_loss(error, huber)).sum(axis=-1), (weights * (y + error)).sum(axis=-1)]
    return gradients, np.stack(sums, axis=-1)


# --- the same for a fragment: its targets (M,), and for which of its steps they are, a mask (N,) with M of them

QFunction = Callable[[Array], Array]  # observations (N, D) -> Q (N, A)
Targets = Callable[[QFunction, Fragments, float], tuple[Array, Array]]


def n_step_q(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets that look ahead to the fragment's end, for all its steps."""
    masks, final_q = (fragment.last, fragment.terminated_steps), q(fragment.final_observations)
    return n_step_q_targets(fragment.rewards, *masks, final_q, discount), np.ones(fragment.steps, bool)


def one_step_q(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets that look one step ahead, for all steps."""
    rows = transitions(fragment)
    next_q = q(rows["next_observations"])
    y = one_step_q_targets(fragment.rewards, rows["terminated"], next_q, discount)
    return y, np.ones(fragment.steps, bool)


def sarsa_one_step(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets with the action taken next; the last step of a fragment that was merely cut has none yet."""
    rows = transitions(fragment)
    next_q, next_actions = q(rows["next_observations"]), np.append(fragment.actions[1:], 0)
    y = sarsa_targets(fragment.rewards, rows["terminated"], next_q, next_actions, discount)
    known = ~fragment.last | rows["terminated"]
    return y[known], known


# --- who acts


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
    """Settings of every epsilon-greedy method."""

    exploration_steps: int = option(
        20_000, "steps in which epsilon falls from 1 to its final value", "Mnih et al. 2016: 4 million", least=1
    )
    final_epsilons: str = option(
        "0.02", "final epsilon, or several, one of them for each episode, with weights: 0.1:0.4,0.01:0.3,0.5:0.3"
    )

    def check(self) -> None:
        parsed(self.final_epsilons)


@dataclass(frozen=True)
class EpsilonGreedy(Perceptron):
    """Mostly the action of the largest Q, sometimes any.

    theta is the network's parameters and, last, how much of the exploration is left, falling from 1 to 0: epsilon =
    final + (1 - final) * left. `final` is drawn once for each episode, so that the actors of one moment explore
    differently (Mnih et al. 2016, section 5.1).
    dist_params are Q(s, .), (N, A); actions are integers; noise is (N, 2): coin and dice; state: the episode's number.
    """

    final_epsilons: tuple[float, ...] = (0.05,)
    probabilities: tuple[float, ...] = (1.0,)
    noise_size: int = 2
    discrete, state_size = True, 1  # a number that is uniform in [0, 1): how greedy the episode becomes

    def initialise(self, rng: np.random.Generator) -> Array:
        return np.append(initialise_mlp(rng, self.sizes, last_gain=0.01), 1.0)

    def initial_state(self, theta: Array, key: EpisodeKey) -> Array:
        return key.once().random(1)

    def draw_noise(self, rng: np.random.Generator, steps: int) -> Array:
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
        q = in_single_precision(self.split(theta)[0], self.sizes)

        def act(observations: Array, noise: Array, used: int) -> Array:
            return epsilon_greedy(q(observations, used), self.epsilons(theta, state[:, 0]), noise[:, 0], noise[:, 1])

        return act

    def distribution(self, theta: Array, observations: Array) -> Array:
        return perceptron(self.split(theta)[0], self.sizes, observations)


def epsilon_greedy_policy(settings: Any, policy: Policy) -> EpsilonGreedy:
    """Return the epsilon-greedy policy with the default policy's shapes."""
    epsilons, probabilities = parsed(settings.final_epsilons)
    shape = (policy.observation_size, policy.action_size, policy.hidden)
    return EpsilonGreedy(*shape, tuple(epsilons.tolist()), tuple(probabilities.tolist()))


# --- the members, with a barrier


@dataclass(frozen=True)
class QSettings(AnnealingSettings, ExplorationSettings):
    """Settings of the methods without a replay buffer."""

    discount: float = discount_option()
    optimiser: str = option("adam", "optimiser", "Mnih et al. 2016: rmsprop", ("adam", "rmsprop"))
    huber: float = option(1e6, "errors count linearly beyond this", above=0)
    gradient_clip: float = option(1e6, "largest norm of a gradient", above=0)
    target_every: int = option(
        1_000, "steps of all actors between two updates of theta-", "Mnih et al. 2016: 40,000 on Atari", least=1
    )


def mean_gradient(gradient: Array, sums: Array, longest: float) -> Array:
    """Return the gradient per step learned from, not longer than `longest`."""
    return clipped_norm(gradient / max(sums[2], 1.0), longest)


def metrics(gradient: Array, sums: Array, theta: Array) -> dict[str, float]:
    """Return the columns of the log."""
    loss, q = (sums[:2] / sums[2]).tolist() if sums[2] else (np.nan, np.nan)
    return {"td_loss": loss, "mean_q": q, "gradient_norm": float(np.linalg.norm(gradient)), "exploration": theta[-1]}


class DeepQ(Member):
    """Who acts, and the gradient of 1/2 (Q - y)^2, of the members that learn from a replay buffer."""

    actions = ("Discrete",)
    make_policy = staticmethod(epsilon_greedy_policy)
    settings: Any
    policy: Any

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls.gradient_sums is DeepQ.gradient_sums:
            refuse_other_network(policy, EpsilonGreedy, ("sizes", "distribution", "split"))

    def gradient_sums(self, network: Array, target: Array, rows: Arrays, weights: Array) -> tuple[Array, Array]:
        return q_gradient_sums(network, target, self.policy.sizes, rows, weights, self.settings.huber)


class QMember(Member):
    """What these methods have in common, whichever loop plays them; they differ in their targets."""

    columns = ("td_loss", "gradient_norm", "mean_q", "exploration")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    actions = ("Discrete",)
    targets: ClassVar[Any]  # one of Targets
    make_policy = staticmethod(epsilon_greedy_policy)

    def __init__(self, settings: QSettings, context: Context) -> None:
        self.settings, self.context, self.step_size = settings, context, settings.step_size_in(context)
        self.policy: EpsilonGreedy = context.policy

    def state(self) -> Nested:
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        optimiser = initial_state(self.settings.optimiser, len(theta))
        return {"theta": theta, "target": theta.copy(), "optimiser": optimiser}

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls.fragment_gradient is QMember.fragment_gradient:
            refuse_other_network(policy, EpsilonGreedy, ("sizes", "distribution", "split"))

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
    """n-step Q-learning of one run: Q, its older copy, and the update from the gradients of all ranks."""

    Settings = QSettings
    targets = staticmethod(n_step_q)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"},
            {"CartPole-v1": {"total_steps": 500_000, "anneal": "step-size"}},
        )
    }

    def __init__(self, settings: QSettings, context: Context) -> None:
        super().__init__(settings, context)
        fresh = super().state()
        self.theta, self.target, self.optimiser, self.steps = fresh["theta"], fresh["target"], fresh["optimiser"], 0

    def plan(self) -> Plan:
        return Plan(self.theta, arrays={"target": self.target})

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        g, sums = self.fragment_gradient(plan.theta, plan.arrays["target"], fragment)
        return {"gradients": g[None], "sums": sums[None]}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
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
        steps = np.array([self.steps])
        return {"theta": self.theta, "target": self.target, "optimiser": self.optimiser, "steps": steps}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.target, self.optimiser = arrays["theta"], arrays["target"], arrays["optimiser"]
        self.steps = int(arrays["steps"][0])


class OneStepQ(NStepQ):
    """One-step Q-learning of one run."""

    targets = staticmethod(one_step_q)


class OneStepSarsa(NStepQ):
    """One-step Sarsa of one run."""

    targets = staticmethod(sarsa_one_step)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 16 environments; one-step targets spread slowly",
            {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"}
            | {"final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000}},
        )
    }


# --- without a barrier


@dataclass(frozen=True)
class AsynchronousQSettings(QSettings, AsynchronousSettings):
    """Settings of the asynchronous forms."""


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
        return super().state() | {"renewed": np.zeros(1, np.int64)}

    def gradient(self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator) -> Pushed:
        g, sums = self.fragment_gradient(shared["theta"], shared["target"], fragment)
        g = mean_gradient(g, sums, self.settings.gradient_clip)
        return {"gradient": g}, metrics(g, sums, shared["theta"])

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        s, theta = self.settings, shared["theta"]
        descend(shared, gradient["gradient"], OPTIMISERS[s.optimiser], self.step_size(now.env_steps), OPTIMISER)
        if self.context.holds_last:
            theta[-1] = remaining(now.env_steps, s.exploration_steps)
        if now.env_steps // s.target_every > shared["renewed"][0] // s.target_every:
            shared["target"][:], shared["renewed"][:] = theta, now.env_steps


class AsynchronousOneStepQ(AsynchronousNStepQ):
    """One-step Q-learning without a barrier."""

    targets = staticmethod(one_step_q)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments; one-step targets spread slowly",
            {"t_max": 16, "envs_per_worker": 8, "final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000, "anneal": "step-size", "step_size": 3e-3}},
        )
    }


class AsynchronousSarsa(AsynchronousNStepQ):
    """One-step Sarsa without a barrier."""

    targets = staticmethod(sarsa_one_step)
    presets: ClassVar[dict[str, Preset]] = {
        "default": Preset(
            "an update every 16 steps of 8 environments; one-step targets spread slowly",
            {"t_max": 16, "envs_per_worker": 8, "final_epsilons": "0.05"},
            {"CartPole-v1": {"total_steps": 1_200_000}},  # both found on seeds 100 and 101
        )
    }
