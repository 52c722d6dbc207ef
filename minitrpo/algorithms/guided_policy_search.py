"""Lecture 14: guided policy search, in its mirror-descent form, parallel over first states.

Of every first state (a condition) there are several episodes of the policy. An update

    1. fits linear dynamics to them, step by step, and a quadratic cost             local_models
    2. raises or lowers the condition's KL limit, by what the last update promised and what came of it
    3. finds the linear controller of least cost within that KL of the policy       lqr, local_policies
    4. moves the policy towards the controllers of all conditions                   imitation

It takes few episodes and asks for more than the other algorithms: the environment must begin in the same state again
when it is told so (what it draws later from that seed, its noise, is then the same, too, and the fits cannot tell it
from its dynamics), its state must be what it shows, and its reward must say everywhere what is better; where it does
not, as with a pole that stands or has fallen, `--state-cost` names a cost. Local models see no way around a hill: an
arm that points away from its target may stay so. What the environment clips, they do not know of. Returns are those of
the policy and the reward, from the same few first states; how it does from others, watch.py shows.

Source: "Parallelism in RL" (slides), "parallel GPS"; Montgomery & Levine 2016 (MDGPS).
"""

from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.guided_policy_search_settings import PRESETS, GuidedPolicySearchSettings
from minitrpo.algorithms.imitation import Targets, imitate, imitated_std
from minitrpo.algorithms.interface import Arrays, Context, Design, Plan, Preset
from minitrpo.algorithms.local_policies import Samples, improved
from minitrpo.errors import BadInput
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.policies import Array, GaussianPolicy, Policy


class GuidedPolicySearch:
    """A policy that imitates the local controllers of all first states."""

    Settings = GuidedPolicySearchSettings
    columns = ("cost", "expected_cost", "local_kl_limit", "eta", "local_horizon", "imitation_kl", "std")
    chart, chart_label = ("cost", "expected_cost"), "cost per step"
    design = Design(
        "batch",
        "barrier",
        "samples",
        "root or all",
        "on-policy, local models",
        "Montgomery & Levine 2016",
    )
    presets: ClassVar[dict[str, Preset]] = PRESETS

    def __init__(self, settings: GuidedPolicySearchSettings, context: Context) -> None:
        self.settings, self.policy, self.context = settings, context.policy, context
        self.conditions = context.first_states
        if self.conditions == 0:
            raise BadInput("--first-states 0: guided policy search needs several episodes from each of a few states")
        n = self.policy.observation_size
        if settings.state_cost and len(settings.state_weights) != n:
            raise BadInput(f"--state-cost {settings.state_cost}: an observation has {n} numbers, so it takes {n}")
        self.theta = self.policy.initialise(context.generator(Purpose.POLICY))
        self.memory = {  # of every condition: what its next update begins with, and what the last one promised
            "factor": np.ones(self.conditions),
            "eta": np.ones(self.conditions),
            "promised": np.full(self.conditions, np.nan),
            "cost": np.full(self.conditions, np.nan),
        }

    @staticmethod
    def make_policy(settings: GuidedPolicySearchSettings, policy: Policy) -> Policy:
        """Return the policy as it is, if it is Gaussian."""
        if not isinstance(policy, GaussianPolicy):
            raise BadInput("guided policy search needs continuous actions: a linear controller cannot choose")
        return policy

    def plan(self) -> Plan:
        """Return the policy, and that every condition is to be played so many times."""
        episodes = self.settings.samples * self.conditions
        return Plan(self.theta, episodes * self.settings.horizon, episodes=episodes)

    def digest(self, plan: Plan, fragment: Episodes) -> Arrays:
        """Return the first steps of an episode in one row, as long as the horizon and padded with 0."""
        T, steps = self.settings.horizon, min(self.settings.horizon, fragment.steps)
        states = np.concatenate([fragment.observations, fragment.final_observations])[: steps + 1]
        padded = {"X": (states, T + 1), "U": (fragment.actions[:steps], T), "rewards": (fragment.rewards[:steps], T)}
        row = {name: np.zeros((1, rows, *a.shape[1:])) for name, (a, rows) in padded.items()}
        for name, (a, _) in padded.items():
            row[name][0, : len(a)] = a
        return row | {"alive": np.arange(T)[None] < steps}

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Take one update from everybody's samples."""
        with self.context.span("exchange"):
            self.context.comm.broadcast(batch | self.memory)
        self.theta, found, imitation = self._update(self.theta, batch | self.memory)
        self.memory = {name: found[name] for name in self.memory}
        return {
            "cost": float(np.mean(found["cost"])),
            "expected_cost": float(np.mean(found["expected_cost"])),
            "local_kl_limit": float(np.mean(self.settings.local_kl * found["factor"])),
            "eta": float(np.exp(np.mean(np.log(found["eta"])))),
            "local_horizon": float(np.mean(found["T"])),
            "imitation_kl": imitation,
            "std": float(np.mean(np.exp(self.theta[-self.policy.action_size :]))),
        }

    def assist(self, plan: Plan, rng: np.random.Generator) -> None:
        """Compute this rank's conditions, and its part of the imitation."""
        with self.context.span("idle"):
            given = self.context.comm.broadcast({})
        self._update(plan.theta, given)

    def state(self) -> Arrays:
        """Return the policy, and what is remembered of every condition."""
        return {"theta": self.theta, **self.memory}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `state` returned."""
        memory = {name: arrays[name] for name in self.memory}
        for name, array in memory.items():
            if array.shape != (self.conditions,) or (np.any(array <= 0) and name in ("factor", "eta")):
                raise ValueError(f"{name} of {self.conditions} first states is {array}")
        self.theta, self.memory = arrays["theta"], memory

    def _update(self, theta: Array, given: Arrays) -> tuple[Array, Arrays, float]:
        """Return the new theta, what was found for every condition, and how far the policy stays from the controllers.

        The same on every rank that shares the update: conditions are dealt out, and so are the imitation's rows.
        """
        comm = self.context.comm
        with self.context.span("conditions"):
            own = [self._improved(theta, given, j) for j in range(comm.rank, self.conditions, comm.size)]
        with self.context.span("exchange"):
            parts = comm.gather({f"{found['j'][0]}_{name}": array for found in own for name, array in found.items()})
            everybody = comm.broadcast({name: array for part in parts for name, array in part.items()})
        names = {name.partition("_")[2] for name in everybody}
        # one after the other by their number, whoever computed them
        found = {
            name: np.concatenate([everybody[f"{j}_{name}"] for j in range(self.conditions)]) for name in sorted(names)
        }
        with self.context.span("imitation"):
            theta, imitation = self._imitated(theta, found)
        return theta, found, imitation

    def _improved(self, theta: Array, given: Arrays, j: int) -> Arrays:
        """Return what an update finds for condition j; its episodes are every first_states-th of all."""
        each = slice(j, None, self.conditions)
        samples = Samples(given["X"][each], given["U"][each], given["rewards"][each], given["alive"][each])
        memory = {name: float(given[name][j]) for name in self.memory}
        return {"j": np.array([j]), **improved(self.policy, theta, samples, self.settings, memory)}

    def _imitated(self, theta: Array, found: Arrays) -> tuple[Array, float]:
        """Return theta moved towards the controllers, and the KL that its mean keeps from them, in nats per step."""
        m, S, least = self.policy.action_size, found["S"], self.settings.least_std
        # 1. who is more certain than the policy can be counts no more for it
        P = np.linalg.inv(S + least**2 * np.eye(m))
        unit = float(np.einsum("rii->", P)) / (len(P) * m)  # so that the damping means the same in every update
        to = Targets(found["x"], found["u"], P / unit, ordered_allreduce(self.context.comm))
        # 2. the mean, and the noise
        w, loss = imitate(
            theta[:-m], self.policy.sizes, to, self.settings.imitation_rounds, self.settings.cg_iterations
        )
        std = np.maximum(imitated_std(np.linalg.inv(S)), least)
        return np.concatenate([w, np.log(std)]), loss * unit
