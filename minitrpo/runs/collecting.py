"""A rank's part of collecting: what the plan asks for, gathered to the root; unfinished episodes of segments."""

from dataclasses import fields

import numpy as np

from minitrpo.experience.board import Board
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.rollouts import LaneSnapshot, Rollouts
from minitrpo.experience.simulators import simulators
from minitrpo.parallel.pool import DynamicPool, Pool, StaticPool, at_once, lanes_of
from minitrpo.parallel.ranks import Ranks
from minitrpo.policies import Array
from minitrpo.runs.learner import Plan
from minitrpo.runs.settings import Settings


class Collector:
    """A rank's part of collecting: its rollouts and its way to the next request."""

    def __init__(self, settings: Settings, spec: EnvironmentSpec, ranks: Ranks, board: Board | None = None) -> None:
        self.settings, self.ranks = settings, ranks
        policy = spec.policy(settings.hidden_sizes, settings.initial_log_std)
        copies = simulators(spec, settings.lanes, settings.physics)
        self.rollouts = Rollouts(spec, policy, copies, settings.seed, board)
        self.pool: Pool = DynamicPool(ranks) if settings.pool == "dynamic" else StaticPool(ranks)
        self.lanes = lanes_of(ranks.rank, ranks.size, settings.lanes)

    def collect(self, plan: Plan) -> Episodes:
        """Return this rank's share of what the plan asks for."""
        if self.settings.requests == "segments":
            return self.rollouts.advance(
                plan.theta, plan.observation_filter, self.lanes, self.settings.lanes, plan.amount
            )
        hands = at_once(plan.amount, self.ranks.size, self.rollouts.width)
        draw = self.pool.draw_from(plan.amount)
        return self.rollouts.play(plan.theta, plan.observation_filter, plan.iteration, draw, hands)

    def gather(self, mine: Episodes) -> Episodes:
        """Return everybody's episodes in their one order, on the root."""
        arrays = {f.name: self.ranks.gather_rows(getattr(mine, f.name)) for f in fields(Episodes)}
        return Episodes(**arrays).sorted() if self.ranks.rank == 0 else mine

    def lane_arrays(self) -> dict[str, Array]:
        """Return the unfinished episodes of all segments as arrays, for the checkpoint, on the root; collective."""
        if self.settings.requests == "episodes":
            return {}
        snapshots = [s for part in self.ranks.gather_objects(self.rollouts.snapshots()) for s in part]
        if not snapshots:
            return {}
        return {
            "lane_numbers": np.array([s.number for s in snapshots]),
            "lane_lengths": np.array([len(s.actions) for s in snapshots]),
            "lane_actions": np.concatenate([s.actions for s in snapshots]),
            "lane_observations": np.array([s.observation for s in snapshots]),
        }

    def restore_lanes(self, arrays: dict[str, Array]) -> None:
        """Put the unfinished episodes of this rank's lanes back."""
        if "lane_numbers" not in arrays:
            return
        actions = np.split(arrays["lane_actions"], np.cumsum(arrays["lane_lengths"])[:-1])
        self.rollouts.restore(
            [
                LaneSnapshot(int(arrays["lane_numbers"][i]), actions[i], arrays["lane_observations"][i])
                for i in self.lanes
            ]
        )
