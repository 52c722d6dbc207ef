"""Lecture 14: guided policy search, in its mirror-descent form, parallel over first states.

The policy plays several episodes from every first state (a condition). An update

    1. plays several episodes of each condition . experience/rollouts.py: Rollouts.play
    2. fits linear dynamics, step by step ....... algorithms/guided_policy_search/local_models.py: fit_dynamics
    3. and a cost that is quadratic near them ... algorithms/guided_policy_search/guided_policy_search.py: cost_of
    4. sets the KL limit after the last result .. algorithms/guided_policy_search/guided_policy_search.py: new_factor
    5. finds the best linear controller within it algorithms/guided_policy_search/lqr.py: kl_limited
    6. moves the policy towards all controllers . algorithms/guided_policy_search/imitation.py: imitate

The presets take new conditions in every update (`--renew-first-states 1`), so that the policy does not fit a few first
states only, and `mean_return` measures first states that are new to the policy. Step 4 then has nothing to compare: the
limit stays as set. It changes only if conditions stay for several updates. The cost is fitted to the rewards: a convex
quadratic for each condition, or one network for all (`--cost-network`) where the quadratic is too coarse, as on
Reacher. The papers know their cost; a user who knows it gives `--state-cost`.

The algorithm needs few episodes, but three properties of the environment. A seed must reproduce the first state (the
noise drawn later from that seed is then the same, too, and the fits take it for dynamics). The observation must be the
state. The reward must say everywhere what is better; if it does not, as with a pole that stands or has fallen,
`--state-cost` gives a cost. Local models find no way around a hill: an arm that points away from its target may stay
so. They also do not model how the environment clips actions.

Source: "Parallelism in RL" (slides), "parallel GPS"; Montgomery & Levine 2016 (MDGPS).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Plan, Preset, refuse_other_network
from minitrpo.algorithms.guided_policy_search.imitation import Targets, imitate, imitated_std
from minitrpo.algorithms.guided_policy_search.local_models import (
    CostNetwork,
    fit_cost,
    fit_dynamics,
    linearise,
    weighted_cost,
)
from minitrpo.algorithms.guided_policy_search.lqr import Controller, Cost, expected_costs, forward, kl_limited
from minitrpo.algorithms.options import option
from minitrpo.algorithms.samples import SharedUpdate
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import Purpose
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array, GaussianPolicy, Policy

EPISODES = ("X", "U", "rewards", "alive")  # the arrays that travel, which `Samples` takes
FACTORS = (0.5, 5.0)  # between which the factor on a condition's KL limit stays

# --- one first state: samples in, a better linear controller out


@dataclass(frozen=True)
class Samples:
    """N episodes from one first state: states X (N, T + 1, n), controls U (N, T, m), rewards and `alive` (N, T)."""

    X: Array
    U: Array
    rewards: Array
    alive: Array  # whether the episode still went on when it came to that step

    @property
    def horizon(self) -> int:
        """Return for how many steps half of the episodes, and two at least, go on."""
        return int(np.sum(self.alive.sum(axis=0) >= max(2, len(self.alive) / 2)))

    def steps(self) -> tuple[Array, Array]:
        """Return z = [x; u] of all steps taken, (R, n + m), and their costs, minus the rewards, (R,)."""
        Z = np.concatenate([self.X[:, :-1], self.U], axis=2)
        return Z[self.alive], -self.rewards[self.alive]

    def until(self, T: int) -> "Samples":
        """Return their first T steps."""
        return Samples(self.X[:, : T + 1], self.U[:, :T], self.rewards[:, :T], self.alive[:, :T])


def new_factor(factor: float, promised: float, kept: float) -> float:
    """Return the factor on a KL limit after an update, from the gain that it predicted and the actual one.

    With s in units of the old factor, the cost is modelled as -promised s + (promised - kept) s^2, and its minimum lies
    at promised / (2 (promised - kept)).

    Args:
        factor: the factor so far.
        promised: by how much the update predicted to lower the cost, per step.
        kept: by how much it lowered the cost.

    Returns:
        The new factor, between a tenth and five times the old one, and within FACTORS.

    Source: Montgomery & Levine 2016; a tenth and five times are Finn's gps.

    """
    missed = max(promised - kept, 1e-4 * abs(promised), 1e-12)
    return float(np.clip(factor * np.clip(promised / (2 * missed), 0.1, 5.0), *FACTORS))


def improved(
    policy: Policy,
    theta: Array,
    samples: Samples,
    settings: Any,
    previous: dict[str, float],
    network: CostNetwork | None = None,
) -> Arrays:
    """Return the controller of one condition, along its samples, and what its next update needs to know.

    Args:
        policy: the policy that played.
        theta: its parameters, (P,).
        samples: the episodes of the condition.
        settings: those of guided policy search.
        previous: factor, eta, promised and cost of the update before (NaN in the first of a condition).
        network: the cost, if it was fitted for all conditions.

    Returns:
        New values of these four, T and expected_cost, (1,) each, and what `along` returns.

    """
    # 1. local models of the dynamics, the policy and the cost
    T = samples.horizon
    some = samples.until(T)
    X, U, alive = some.X[:, :-1], some.U, some.alive
    dynamics = fit_dynamics(some.X, U, alive, settings.prior_strength)
    means = policy.mode(policy.distribution(theta, X.reshape(-1, X.shape[2]))).reshape(U.shape)
    pbar = linearise(X, means, np.exp(theta[-policy.action_size :]), alive, settings.prior_strength)
    cost, sampled = cost_of(some, settings, network)
    # 2. the KL limit, from the gain that the last update predicted and its actual gain
    factor, kept = previous["factor"], previous["cost"] - sampled
    if np.isfinite(kept + previous["promised"]):
        factor = new_factor(factor, previous["promised"], kept)
    # 3. the controller of least cost within that distance of the policy
    mu0, Sigma0 = X[:, 0].mean(axis=0), np.cov(X[:, 0].T, bias=True)
    limit = factor * settings.local_kl * T
    with np.errstate(over="ignore", invalid="ignore"):  # models that explode: the policy stays
        best = kl_limited(dynamics, cost, pbar, mu0, Sigma0, limit, previous["eta"])
        before = np.mean(expected_costs(cost, forward(dynamics, pbar, mu0, Sigma0)))
        expected = np.mean(expected_costs(cost, best.at))
    # 4. its predicted gain, and its actions in the states of the samples
    numbers = {"factor": factor, "eta": best.eta, "promised": before - expected, "cost": sampled, "T": float(T)}
    numbers["expected_cost"] = float(expected)
    return {name: np.array([number]) for name, number in numbers.items()} | along(best.p, X, alive)


def cost_of(samples: Samples, settings: Any, network: CostNetwork | None = None) -> tuple[Cost, float]:
    """Return the cost that the settings name, or else the one estimated from the rewards.

    Args:
        samples: the episodes of one condition.
        settings: state_cost and control_cost are used.
        network: the cost, if it was fitted for all conditions.

    Returns:
        The cost of every step, and the samples' mean cost per step.

    """
    (_, T, m), alive = samples.U.shape, samples.alive
    Z, costs = samples.steps()
    if settings.state_cost:
        cost = weighted_cost(T, settings.state_weights, settings.control_cost, m)
        return cost, float(np.mean(0.5 * np.einsum("ri,ij,rj->r", Z, cost.C[0], Z)))
    if network is not None:
        where = np.concatenate([samples.X[:, :-1], samples.U], axis=2) * alive[:, :, None]
        return network.expansion(where.sum(axis=0) / alive.sum(axis=0)[:, None]), float(np.mean(costs))
    C, c, e = fit_cost(Z, costs)
    return Cost(np.tile(C, (T, 1, 1)), np.tile(c, (T, 1)), np.full(T, e)), float(np.mean(costs))


def along(p: Controller, X: Array, alive: Array) -> Arrays:
    """Return what a controller would do at all steps that were taken.

    Args:
        p: the controller, of T steps.
        X: the states, (N, T, n).
        alive: which of the steps were taken, (N, T), R in all.

    Returns:
        x (R, n), the controller's mean controls u there (R, m) and its noise S (R, m, m).

    """
    u = np.einsum("tij,ntj->nti", p.K, X) + p.k
    S = np.broadcast_to(p.S, (*alive.shape, *p.S.shape[1:]))
    return {"x": X[alive], "u": u[alive], "S": S[alive]}


# --- the algorithm


@dataclass(frozen=True)
class GuidedPolicySearchSettings:
    """Settings of guided policy search."""

    samples: int = option(8, "episodes from every first state per update", "Finn's gps: 5", least=2, most=10_000)
    horizon: int = option(
        100,
        "largest number of steps that a local controller plans; later steps of an episode are not used",
        least=1,
        most=10_000,
    )
    local_kl: float = option(
        1.0,
        "how far a local controller may be from the policy, nats per step, before the limit adapts",
        "Finn's gps: 1",
        above=0,
        most=1e3,
    )
    prior_strength: float = option(
        1.0, "weight of the pooled prior of a local model, in samples", "", above=0, most=1e6
    )
    state_cost: str = option(
        "", "cost of a state: weights of its squared numbers, with commas; nothing: estimated from the rewards"
    )
    cost_network: int = option(
        0,
        "Gauss-Newton steps per update of a network that is fitted to all rewards and is the cost; 0: a convex "
        "quadratic for each first state",
        least=0,
        most=10_000,
    )
    control_cost: float = option(
        0.1, "with --state-cost: weight of the squared actions", above=0, most=1e6, only={"state_cost": True}
    )
    imitation_rounds: int = option(10, "Gauss-Newton steps of the policy per update", least=1)
    cg_iterations: int = option(30, "conjugate-gradient iterations per Gauss-Newton step", least=1)
    least_std: float = option(
        0.05, "smallest deviation of the policy's noise; without noise no model can be fitted", above=0, most=100
    )

    def check(self) -> None:
        if self.state_cost:
            if self.cost_network:
                raise BadInput(f"--state-cost {self.state_cost} is the cost: leave out --cost-network, which fits one")
            try:
                weights = self.state_weights
            except ValueError:
                weights = np.array([-1.0])
            if not (np.all(np.isfinite(weights)) and np.all(weights >= 0) and np.any(weights > 0)):
                raise BadInput(f"--state-cost must be weights of 0 or more, such as 1,10,0.1, not {self.state_cost!r}")

    @property
    def state_weights(self) -> Array:
        """Return the weights of the squared numbers of a state."""
        return np.array([float(weight) for weight in self.state_cost.split(",")])


PRESETS = {
    "default": Preset(
        "four initial states, new ones in every update, so that returns come from new states; "
        "observations as they are: a filter that moves would move the policy between two updates; by environment: "
        "32 first states and a network for the cost of Reacher-v5, a cost for InvertedPendulum-v5",
        {"first_states": 4, "renew_first_states": 1, "filter": "none", "initial_log_std": -1.0, "total_steps": 200_000},
        {
            # its reward is 1 as long as the pole stands: nothing to fit a cost to
            "InvertedPendulum-v5": {"state_cost": "1,10,0.1,0.1", "control_cost": 0.1},
            "Reacher-v5": {"first_states": 32, "samples": 3, "horizon": 50, "cost_network": 5, "total_steps": 96_000},
            "LinearQuadratic-v0": {"horizon": 50, "total_steps": 16_000},
        },
    )
}


class GuidedPolicySearch(Algorithm):
    """A policy that imitates the local controllers of all first states."""

    Settings, actions = GuidedPolicySearchSettings, ("Box",)
    ignores: ClassVar = {
        "steps_per_update": "on guided policy search: --samples is the number of episodes of an update"
    }
    columns = ("cost", "expected_cost", "local_kl_limit", "eta", "local_horizon", "imitation_kl", "std")
    chart, chart_label = ("cost", "expected_cost"), "cost per step"
    presets = PRESETS
    sharded_with = ("episodes", "segments")

    def __init__(self, settings: GuidedPolicySearchSettings, context: Context) -> None:
        self.settings, self.policy, self.context = settings, context.policy, context
        self.conditions = context.first_states
        if self.conditions == 0:
            raise BadInput("--first-states 0: guided policy search needs several episodes from each of a few states")
        n = self.policy.observation_size
        if settings.state_cost and len(settings.state_weights) != n:
            raise BadInput(f"--state-cost {settings.state_cost}: an observation has {n} numbers, so it takes {n}")
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.update = SharedUpdate(context)
        self.promises = {  # of each condition: the start of its next update, and the last predicted gain
            "factor": np.ones(self.conditions),
            "eta": np.ones(self.conditions),
            "promised": np.full(self.conditions, np.nan),
            "cost": np.full(self.conditions, np.nan),
        }
        self.began = np.full((self.conditions, n), np.nan)  # the first state of each condition in the last update
        rng = context.generator(Purpose.CRITIC)
        self.network = CostNetwork.fresh(n + self.policy.action_size, rng) if settings.cost_network else None

    @classmethod
    def check_policy(cls, policy: Any) -> None:
        if cls._imitated is GuidedPolicySearch._imitated:
            refuse_other_network(policy, GaussianPolicy, ("sizes", "distribution"))

    def plan(self) -> Plan:
        episodes = self.settings.samples * self.conditions
        return Plan(self.theta, episodes * self.settings.horizon, episodes=episodes)

    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        # an episode's first steps in one row, as long as the horizon and padded with 0
        T, states = self.settings.horizon, np.concatenate([fragment.observations, fragment.final_observations])
        steps = {"X": padded(states, T + 1), "U": padded(fragment.actions, T), "rewards": padded(fragment.rewards, T)}
        return {**steps, "alive": np.arange(T)[None] < fragment.steps}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        batch = self.update.broadcast(batch)
        self._forget(batch["X"][: self.conditions, 0])
        self._fit_cost(batch)
        updates = self._improve(self.theta, batch)
        with self.context.span("imitation"):
            self.theta, imitation_kl = self._imitated(self.theta, updates)
        self.promises = {name: updates[name] for name in self.promises}
        return {
            "cost": float(np.mean(updates["cost"])),
            "expected_cost": float(np.mean(updates["expected_cost"])),
            "local_kl_limit": float(np.mean(self.settings.local_kl * updates["factor"])),
            "eta": float(np.exp(np.mean(np.log(updates["eta"])))),
            "local_horizon": float(np.mean(updates["T"])),
            "imitation_kl": imitation_kl,
            "std": float(np.mean(np.exp(self.theta[-self.policy.action_size :]))),
        }

    def state(self) -> Nested:
        network = {} if self.network is None else {"cost_network": vars(self.network)}
        return {"theta": self.theta, "began": self.began, "promises": self.promises, **network}

    def restore(self, arrays: Nested) -> None:
        self.theta, self.began, self.promises = arrays["theta"], arrays["began"], arrays["promises"]
        if self.network is not None:
            self.network = CostNetwork(**arrays["cost_network"])

    def _forget(self, began: Array) -> None:
        """Forget the predictions for conditions that have changed since the last update.

        Args:
            began: the first state of each condition, (conditions, n).

        """
        new = np.any(began != self.began, axis=1)
        for name in ("promised", "cost"):
            self.promises[name] = np.where(new, np.nan, self.promises[name])
        self.began = began.copy()

    def _fit_cost(self, batch: Arrays) -> None:
        """Fit the cost network, if there is one, to the rewards of all episodes; the ranks share the work."""
        if self.network is not None:
            with self.context.span("cost"):
                episodes = Samples(*(batch[name] for name in EPISODES))
                self.network = self.network.fitted(*episodes.steps(), self.settings.cost_network, self.update.sums)

    def _improve(self, theta: Array, batch: Arrays) -> Arrays:
        """Return what `improved` returns for all conditions, in the order of their numbers; each rank computes some.

        Args:
            theta: the policy that played.
            batch: all episodes; those of condition j are the j-th of every `conditions`.

        Returns:
            The same arrays on every rank, one condition after the other.

        """
        comm = self.update.comm
        with self.context.span("conditions"):
            mine = {}
            for j in range(comm.rank, self.conditions, comm.size):
                samples = Samples(*(batch[name][j :: self.conditions] for name in EPISODES))
                previous = {name: float(array[j]) for name, array in self.promises.items()}
                mine[str(j)] = improved(self.policy, theta, samples, self.settings, previous, self.network)
        with self.context.span("exchange"):
            parts = comm.gather(mine)
            of_all: dict[str, Arrays] = comm.broadcast({j: arrays for part in parts for j, arrays in part.items()})
        return {name: np.concatenate([of_all[str(j)][name] for j in range(self.conditions)]) for name in of_all["0"]}

    def _imitated(self, theta: Array, updates: Arrays) -> tuple[Array, float]:
        """Return theta moved towards the controllers, and the KL that its mean keeps from them, in nats per step.

        Args:
            theta: the policy so far.
            updates: x, u and S of all conditions, as `along` returns them.

        """
        m, S, least = self.policy.action_size, updates["S"], self.settings.least_std
        # 1. a controller that is more certain than the policy can be has no more weight than the policy would have
        P = np.linalg.inv(S + least**2 * np.eye(m))
        unit = float(np.einsum("rii->", P)) / (len(P) * m)  # so that the damping means the same in every update
        to = Targets(updates["x"], updates["u"], P / unit, self.update.sums)
        # 2. the mean, and the noise
        w, loss = imitate(
            theta[:-m], self.policy.sizes, to, self.settings.imitation_rounds, self.settings.cg_iterations
        )
        std = np.maximum(imitated_std(np.linalg.inv(S)), least)
        return np.concatenate([w, np.log(std)]), loss * unit


def padded(rows: Array, count: int) -> Array:
    """Return the first of these rows, (1, count, ...), and zeros where there are fewer."""
    rows = rows[:count]
    return np.pad(rows, [(0, count - len(rows)), *[(0, 0)] * (rows.ndim - 1)])[None]
