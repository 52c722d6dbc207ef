"""The root's part of a run: what to collect next, and what to learn from what came back."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.adaptive import Decision, Knobs, adapt
from minitrpo.critics import State
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.pool import requests_for
from minitrpo.parallel.ranks import Alone
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.returns import explained_variance, gae, next_values, standardise
from minitrpo.runs.improvement import Improver, Lesson
from minitrpo.runs.settings import Settings
from minitrpo.trpo import Report

UNKNOWN_LENGTH = 1_000  # steps, assumed of an episode before one has been seen and where there is no time limit


@dataclass(frozen=True)
class Plan:
    """What the root broadcasts before an iteration; `amount` is episodes, or steps of every lane's segment."""

    iteration: int  # 1, 2, ...; 0: the run is over
    amount: int
    theta: Array
    observation_filter: ObservationFilter

    def to_vector(self) -> Array:
        """Return the plan as one vector of float64."""
        head = [float(self.iteration), float(self.amount), float(len(self.theta))]
        return np.concatenate([head, self.theta, self.observation_filter.to_vector()])

    @classmethod
    def from_vector(cls, vector: Array) -> "Plan":
        """Return the plan that `to_vector` wrote down."""
        stop = 3 + int(vector[2])
        return cls(int(vector[0]), int(vector[1]), vector[3:stop], ObservationFilter.from_vector(vector[stop:]))


class Learner:
    """theta, critic, filter and controller, and the counters of the run; everything that a checkpoint holds."""

    def __init__(self, settings: Settings, spec: EnvironmentSpec, improver: Improver | None = None) -> None:
        self.settings = settings
        self.improver = improver or Improver(settings, spec, Alone())
        self.policy, self.critic = self.improver.policy, self.improver.critic
        self.theta = self.policy.initialise(generator(settings.seed, 0, 0, Purpose.POLICY))
        self.critic_state: State = self.critic.initialise(generator(settings.seed, 0, 0, Purpose.CRITIC))
        self.filter = ObservationFilter.identity(spec.observation_size, settings.filter_clip)
        self.knobs = Knobs(settings.steps_per_update, settings.max_kl)
        self.mean_length = float(spec.max_episode_steps or UNKNOWN_LENGTH)
        self.iteration = 0
        self.env_steps = 0

    @property
    def finished(self) -> bool:
        """Return whether the run has taken all its steps."""
        return self.env_steps >= self.settings.total_steps

    def plan(self) -> Plan:
        """Return what to collect for the next update."""
        if self.settings.requests == "segments":
            amount = -(-self.knobs.steps_per_update // self.settings.lanes)
        else:
            amount = requests_for(self.knobs.steps_per_update, self.mean_length)
        return Plan(self.iteration + 1, amount, self.theta, self.filter)

    def learn(self, episodes: Episodes, timeline: Timeline) -> tuple[dict[str, Any], Decision | None]:
        """Take one update from sorted episodes; return its row for the log and the controller's decision, if any."""
        self.iteration += 1
        self.env_steps += episodes.steps
        knobs = self.knobs
        with timeline.span("advantages"):
            observations = self.filter(episodes.observations)
            advantages, targets, explained = self._advantages(episodes, observations)
        discrete = episodes.actions.dtype == np.int64
        lesson = Lesson(
            iteration=np.array([self.iteration]),
            max_kl=np.array([knobs.max_kl]),
            theta=self.theta,
            observations=observations,
            actions=episodes.actions[:, 0] if discrete else episodes.actions,
            advantages=advantages,
            times=episodes.times,
            targets=targets,
        )
        self.theta, report = self.improver.lead(lesson, self.critic_state, timeline)
        with timeline.span("filter"):  # while others may still be fitting the critic
            for rows in episodes.slices():  # in episode order, whoever played them
                self.filter = self.filter.merged(episodes.observations[rows])
        self.critic_state = self.improver.fit_critic(lesson, self.critic_state, timeline)
        mean_return, mean_length = self._episode_means(episodes)
        decision = self._adapt(mean_return)
        return self._row(report, episodes, knobs, explained, mean_return, mean_length), decision

    def state(self) -> dict[str, Array]:
        """Return everything a checkpoint needs, as arrays."""
        before = float("nan") if self.knobs.before is None else self.knobs.before
        return {
            "theta": self.theta,
            "filter": self.filter.to_vector(),
            "knobs": np.array([self.knobs.steps_per_update, self.knobs.max_kl, before]),
            "knob_returns": np.array(self.knobs.returns),
            "counters": np.array([self.iteration, self.env_steps]),
            "mean_length": np.array([self.mean_length]),
            **{f"critic_{name}": array for name, array in self.critic_state.items()},
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take the state from a checkpoint's arrays."""
        self.theta = arrays["theta"]
        self.filter = ObservationFilter.from_vector(arrays["filter"])
        steps, max_kl, before = arrays["knobs"].tolist()
        returns = tuple(arrays["knob_returns"].tolist())
        self.knobs = Knobs(int(steps), max_kl, returns, None if np.isnan(before) else before)
        self.iteration, self.env_steps = (int(n) for n in arrays["counters"])
        self.mean_length = float(arrays["mean_length"][0])
        self.critic_state = {name: arrays[f"critic_{name}"] for name in self.critic_state}

    def _advantages(self, episodes: Episodes, observations: Array) -> tuple[Array, Array, float]:
        """Return standardised advantages, value targets (N,), and how much of them the previous fit explains."""
        ends = episodes.starts + episodes.lengths
        values = self.critic.predict(self.critic_state, observations, episodes.times)
        final_observations = self.filter(episodes.final_observations)
        final_values = self.critic.predict(self.critic_state, final_observations, ends.astype(float))
        following = next_values(values, final_values, episodes.last, episodes.terminated_steps)
        s = self.settings
        advantages, targets = gae(episodes.rewards, values, following, episodes.last, s.discount, s.gae_lambda)
        return standardise(advantages), targets, explained_variance(values, targets)

    def _episode_means(self, episodes: Episodes) -> tuple[float, float]:
        """Return mean return and length of the episodes that ended; NaN if none did."""
        ended = episodes.ended
        if not ended.any():
            return float("nan"), float("nan")
        self.mean_length = float(np.mean((episodes.starts + episodes.lengths)[ended]))
        return float(np.mean(episodes.returns[ended])), self.mean_length

    def _adapt(self, mean_return: float) -> Decision | None:
        if self.settings.adapt == "none" or np.isnan(mean_return):
            return None
        self.knobs, decision = adapt(self.knobs, mean_return, self.settings.rule)
        return decision

    def _row(
        self, report: Report, episodes: Episodes, knobs: Knobs, explained: float, mean_return: float, mean_length: float
    ) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "episodes": int(episodes.ended.sum()),
            "mean_return": mean_return,
            "mean_length": mean_length,
            "steps_per_update": knobs.steps_per_update,
            "max_kl": knobs.max_kl,
            "kl": report.kl,
            "surrogate_gain": report.gain,
            "gain_ratio": report.gain_ratio,
            "line_search_steps": report.trials,
            "line_search": report.reason,
            "gradient_norm": report.gradient_norm,
            "entropy": report.entropy,
            "explained_variance": explained,
        }
