"""Lecture 11b: one-step Q, Sarsa and n-step Q: many actors, no replay buffer, gradients travel.

The three methods differ in the target y, towards which Q(s, a; theta) moves. Targets use theta-, an older copy of
theta, so that they stand still for some time:

    one-step Q   y_t = r_t + gamma max_a Q(s_{t+1}, a; theta-)                      Mnih et al. 2016, algorithm 1
    Sarsa        y_t = r_t + gamma Q(s_{t+1}, a_{t+1}; theta-)                      the same, section 4
    n-step Q     y_t = r_t + gamma r_{t+1} + ... + gamma^n max_a Q(s_{t+n}, a; theta-)           algorithm S2

Each method exists with a barrier and without. With a barrier (`SynchronousQ`):

    1. every actor steps epsilon-greedily .............. algorithms/q_learning.py: epsilon_greedy
    2. y by theta- ..................................... algorithms/q_learning.py: one_step_q, one_step_sarsa, n_step_q
    3. sum of grad 1/2 (Q(s, a; theta) - y)^2 .......... algorithms/q_learning.py: QMember.fragment_gradient
    4. add all actors' sums, one step of theta ......... algorithms/q_learning.py: SynchronousQ.learn
    5. theta- = theta every I steps of all actors ...... algorithms/q_learning.py: SynchronousQ.learn

Without a barrier (`AsynchronousQ`) each worker repeats, until the run is over (parallel/parameter_server.py:
work_through):

    1. pulls theta and theta- .......................... parallel/parameter_server.py: ParameterServer.pull
    2. steps epsilon-greedily, t_max times ............. algorithms/q_learning.py: epsilon_greedy
    3. y by theta-, gradient of 1/2 (Q(s, a) - y)^2 .... algorithms/q_learning.py: QMember.fragment_gradient
    4. pushes the gradient ............................. parallel/parameter_server.py: ParameterServer.push
    5. a step of the shared optimiser .................. algorithms/asynchronous_algorithm.py: descend
    6. theta- = theta every I steps of all workers ..... algorithms/q_learning.py: AsynchronousQ.apply

In both forms exploration decreases with the steps of all actors together.

Source: Mnih et al. 2016, algorithms 1, S1 and S2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.advantages import discounted_sums
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

# --- the targets of the three methods


def one_step_q_targets(rewards: Array, terminated: Array, next_q: Array, discount: float | Array) -> Array:
    """Return y = r + discount (1 - terminated) max_a Q(s', a) of every step.

    Args:
        rewards: r, of any shape.
        terminated: whether the task ended with the step, of the same shape.
        next_q: Q(s', .), with one more axis, the actions.
        discount: gamma, one number or one for every step.

    Returns:
        The targets, of the shape of `rewards`.

    Source: Watkins 1989; Mnih et al. 2015.

    """
    return np.asarray(rewards + discount * (1.0 - terminated) * next_q.max(axis=-1))


def sarsa_targets(rewards: Array, terminated: Array, next_q: Array, next_actions: Array, discount: float) -> Array:
    """Return y = r + discount (1 - terminated) Q(s', a') of every step; a' is the action that was taken in s'.

    Args:
        rewards: r, (N,).
        terminated: whether the task ended with the step, (N,).
        next_q: Q(s', .), (N, actions).
        next_actions: a', (N,) integers.
        discount: gamma.

    Returns:
        The targets, (N,).

    Source: Rummery & Niranjan 1994.

    """
    # 1. of each row the Q of the action that was taken
    taken = next_q[np.arange(len(next_q)), next_actions]
    # 2. it counts where the task goes on
    return np.asarray(rewards + discount * (1.0 - terminated) * taken)


def n_step_q_targets(rewards: Array, last: Array, terminated: Array, final_q: Array, discount: float) -> Array:
    """Return y_t = r_t + discount r_{t+1} + ... + discount^n max_a Q(s_{t+n}, a), to the end of the fragment.

    The first step of a fragment looks furthest ahead, the last one a single step.

    Args:
        rewards: r, (N,), one fragment after the other.
        last: whether a step is the last one of its fragment, (N,).
        terminated: whether the task ended with the step, (N,).
        final_q: Q of the observation after each fragment, (E, A); it counts where the fragment was merely cut.
        discount: gamma.

    Returns:
        The targets, (N,).

    Source: Mnih et al. 2016, algorithm S2.

    """
    # 1. a copy of the rewards, in floats: what follows changes it
    rewards = rewards.astype(float)
    # 2. what comes after a fragment's last step: nothing where the task terminated, the largest Q where it was cut
    rewards[last] += discount * (1.0 - terminated[last]) * final_q.max(axis=1)
    # 3. lecture 01's discounted_sums walks back through every fragment
    return discounted_sums(rewards, discount, last)


# The same three for a fragment. Each takes Q at theta-, the fragment and gamma. It returns the targets (M,), and a mask
# (N,) that is true for the M steps of the fragment that have one.
QFunction = Callable[[Array], Array]  # observations (N, D) -> Q (N, A)
Targets = Callable[[QFunction, Fragments, float], tuple[Array, Array]]


def one_step_q(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets of one-step Q, which all steps have; see `Targets`."""
    rows = transitions(fragment)
    next_q = q(rows["next_observations"])
    y = one_step_q_targets(fragment.rewards, rows["terminated"], next_q, discount)
    return y, np.ones(fragment.steps, bool)


def one_step_sarsa(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets of Sarsa; the last step of a fragment that was cut has none, for want of a next action."""
    rows = transitions(fragment)
    next_q, next_actions = q(rows["next_observations"]), np.append(fragment.actions[1:], 0)
    y = sarsa_targets(fragment.rewards, rows["terminated"], next_q, next_actions, discount)
    has_target = ~fragment.last | rows["terminated"]
    return y[has_target], has_target


def n_step_q(q: QFunction, fragment: Fragments, discount: float) -> tuple[Array, Array]:
    """Return the targets of n-step Q, which all steps have; see `Targets`."""
    final_q = q(fragment.final_observations)
    y = n_step_q_targets(fragment.rewards, fragment.last, fragment.terminated_steps, final_q, discount)
    return y, np.ones(fragment.steps, bool)


# --- the gradient of the loss


def td_loss(error: Array, huber: float) -> Array:
    """Return 1/2 error^2, and beyond +-huber the straight line that goes on from there, elementwise."""
    clipped = np.clip(error, -huber, huber)
    return np.asarray(clipped * error - 0.5 * clipped * clipped)


def td_gradient(
    theta: Array, sizes: Sizes, observations: Array, actions: Array, targets: Array, weights: Array, huber: float
) -> tuple[Array, Array]:
    """Return the gradient in theta of sum_i weight_i loss(Q(s_i, a_i) - y_i), in which y is constant, and the errors.

    Args:
        theta: the network's parameters, (P,).
        sizes: the (inputs, outputs) of its layers.
        observations: (N, D), or (B, N, D) for B batches at once; all that follows then has the axis B, too.
        actions: (N,) integers.
        targets: y, (N,).
        weights: (N,).
        huber: where the loss becomes a straight line; see `td_loss`.

    Returns:
        The gradient (P,) and the errors Q - y, (N,).

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
    """Return sums over transitions of a replay buffer: of the gradients of loss(Q(s, a; theta) - y), of loss and of Q.

    y = r + discount (1 - terminated) max_a' Q(s', a'; theta-); r, discount and s' may be of several steps: see
    `multi_step`.

    Args:
        theta: the network's parameters, (P,).
        target: those of its older copy, theta-, (P,).
        sizes: the (inputs, outputs) of its layers.
        rows: B batches of M transitions, as `ReplayBuffer.take` returns them.
        weights: (B, M), 1, or 0 for rows that do not count.
        huber: where the loss becomes a straight line; see `td_loss`.

    Returns:
        The sums of gradients (B, P), and those of loss and Q, (B, 2).

    Source: Mnih et al. 2015.

    """
    next_q = activations(unflatten(target, sizes), rows["next_observations"])[-1]
    y = one_step_q_targets(rows["rewards"], rows["terminated"], next_q, rows["discounts"])
    gradients, error = td_gradient(theta, sizes, rows["observations"], rows["actions"], y, weights, huber)
    sums = [(weights * td_loss(error, huber)).sum(axis=-1), (weights * (y + error)).sum(axis=-1)]
    return gradients, np.stack(sums, axis=-1)


# --- who acts


def epsilon_greedy(q: Array, epsilon: Array, coin: Array, dice: Array) -> Array:
    """Return actions: any of them where coin < epsilon, the one of the largest q elsewhere.

    Args:
        q: (N, A).
        epsilon: the probability of a random action, (N,).
        coin: uniform in [0, 1), (N,); it decides whether the action is random.
        dice: uniform in [0, 1), (N,); it decides which random action.

    Returns:
        The actions, (N,) integers.

    """
    anything = (dice * q.shape[1]).astype(np.int64)
    return np.where(coin < epsilon, anything, np.argmax(q, axis=1))


def parsed(final_epsilons: str) -> tuple[Array, Array]:
    """Return the epsilons and their probabilities that a text such as "0.1:0.4,0.01:0.6" or "0.05" says.

    Args:
        final_epsilons: epsilons with commas between them, or epsilon:weight if they are not equally likely.

    Returns:
        The epsilons (E,) and the probability of each, (E,).

    Raises:
        BadInput: if the epsilons are no probabilities, or a weight is not positive.

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


# --- what the methods have in common


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
    """Return the gradient per step learned from, not longer than `longest`.

    Args:
        gradient: a sum of gradients, (P,).
        sums: those of `QMember.fragment_gradient`, (4,), over the same fragments.
        longest: its largest norm.

    Returns:
        The mean gradient, (P,).

    """
    return clipped_norm(gradient / max(sums[2], 1.0), longest)


def metrics(gradient: Array, sums: Array, theta: Array) -> dict[str, float]:
    """Return the columns of the log, from what `mean_gradient` returned and took, and theta, (P,)."""
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
    """What these methods have in common, with a barrier and without; each has its own way of making `targets`."""

    columns = ("td_loss", "gradient_norm", "mean_q", "exploration")
    chart, chart_label = ("td_loss",), "loss (return^2)"
    actions = ("Discrete",)
    targets: ClassVar[Any]  # one of `Targets`
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
        """Return the gradient of a fragment's loss, and the sums that the log needs.

        Args:
            theta: the network's parameters and what is left of the exploration, (P + 1,).
            target: theta-, their older copy.
            fragment: the steps to learn from.

        Returns:
            The gradient (P + 1,), of which the last entry, that of the exploration, is 0. The sums (4,) of the losses
            and of Q, the number of steps learned from, and the number of steps taken.

        """
        policy, s = self.policy, self.settings
        y, has_target = self.targets(lambda seen: policy.distribution(target, seen), fragment, s.discount)
        observations, actions, ones = fragment.observations[has_target], fragment.actions[has_target], np.ones(len(y))
        g, error = td_gradient(policy.split(theta)[0], policy.sizes, observations, actions, y, ones, s.huber)
        sums = [td_loss(error, s.huber).sum(), (y + error).sum(), len(y), fragment.steps]
        return np.append(g, 0.0), np.array(sums)


# --- with a barrier, and without


class SynchronousQ(QMember, Algorithm):
    """A run with a barrier: Q, its older copy, and the update from the gradients of all ranks."""

    Settings = QSettings

    def __init__(self, settings: QSettings, context: Context) -> None:
        super().__init__(settings, context)
        start = super().state()
        self.theta, self.target, self.optimiser, self.steps = start["theta"], start["target"], start["optimiser"], 0

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


@dataclass(frozen=True)
class AsynchronousQSettings(QSettings, AsynchronousSettings):
    """Settings of the asynchronous forms."""


class AsynchronousQ(QMember, AsynchronousAlgorithm):
    """A run without a barrier: gradients of what a worker pulled are applied as they come."""

    Settings = AsynchronousQSettings
    pulled = ("theta", "target")

    def state(self) -> Nested:
        return super().state() | {"renewed": np.zeros(1, np.int64)}

    def gradient(self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator) -> Pushed:
        g, sums = self.fragment_gradient(shared["theta"], shared["target"], fragment)
        g = mean_gradient(g, sums, self.settings.gradient_clip)
        return {"gradient": g}, metrics(g, sums, shared["theta"])

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        s, theta = self.settings, shared["theta"]
        descend(shared, gradient["gradient"], OPTIMISERS[s.optimiser], self.step_size(now.env_steps), OPTIMISER)
        theta[-1] = remaining(now.env_steps, s.exploration_steps)
        if now.env_steps // s.target_every > shared["renewed"][0] // s.target_every:
            shared["target"][:], shared["renewed"][:] = theta, now.env_steps


# --- the six members: each is one of the two classes above with a way of making targets and a preset


def member(
    name: str, form: type[QMember], targets: Targets, text: str, values: dict[str, Any], on_cartpole: dict[str, Any]
) -> Any:
    """Return the class of a member.

    Args:
        name: the name of the class.
        form: `SynchronousQ` or `AsynchronousQ`, from which it inherits.
        targets: how it makes the targets of a fragment.
        text: what its preset is for.
        values: the settings of the preset.
        on_cartpole: those that it adds on CartPole-v1.

    Returns:
        A class that inherits from `form` and differs from it in `targets` and `presets`.

    """
    preset = Preset(text, values, {"CartPole-v1": on_cartpole})
    return type(name, (form,), {"targets": staticmethod(targets), "presets": {"default": preset}})


RANKS = "an update every 16 steps of 16 environments"
SEGMENTS = {"requests": "segments", "steps_per_update": 256, "record_every": 10, "checkpoint_every": "30s"}
WORKERS = "an update every 16 steps of 8 environments"
T_MAX = {"t_max": 16, "envs_per_worker": 8}
SLOW, GREEDY = "; one-step targets spread slowly", {"final_epsilons": "0.05"}  # a final epsilon of 0.05, not 0.02
SHORT = {"total_steps": 500_000, "anneal": "step-size"}
LONG = {"total_steps": 1_200_000}  # and the step size of asynchronous one-step Q: found on seeds 100 and 101
LONG_FALLING = {**LONG, "anneal": "step-size", "step_size": 3e-3}

NStepQ = member("NStepQ", SynchronousQ, n_step_q, RANKS, SEGMENTS, SHORT)
OneStepQ = member("OneStepQ", SynchronousQ, one_step_q, RANKS, SEGMENTS, SHORT)
OneStepSarsa = member("OneStepSarsa", SynchronousQ, one_step_sarsa, RANKS + SLOW, SEGMENTS | GREEDY, LONG)
AsynchronousNStepQ = member("AsynchronousNStepQ", AsynchronousQ, n_step_q, WORKERS, T_MAX, SHORT)
AsynchronousOneStepQ = member(
    "AsynchronousOneStepQ", AsynchronousQ, one_step_q, WORKERS + SLOW, T_MAX | GREEDY, LONG_FALLING
)
AsynchronousSarsa = member("AsynchronousSarsa", AsynchronousQ, one_step_sarsa, WORKERS + SLOW, T_MAX | GREEDY, LONG)
