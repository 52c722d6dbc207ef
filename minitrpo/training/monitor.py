"""The root's view of an asynchronous run: rows, checkpoints, and when it is over, all of it from the shared arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import COUNTED
from minitrpo.contract import OWN
from minitrpo.errors import infinite_theta
from minitrpo.experience.observation_filter import merged
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.parameter_server import TALLY, Tally, staleness_of
from minitrpo.run_folder.folder import GRADIENTS
from minitrpo.supervision.program import asked_to_stop
from minitrpo.training.context import UNKNOWN_LENGTH, RunContext, make_evaluator
from minitrpo.training.run_log import RunLog
from minitrpo.training.workers import ITERATION, OVER, REPORT, SEEN, Of, env_steps


class Monitor:
    """Looks at the shared arrays after every gradient, and writes a row when enough steps were taken."""

    def __init__(
        self, context: RunContext, shared: Arrays, log: RunLog, ranks: int, extra: Callable[[], Arrays] | None = None
    ) -> None:
        """Take the shared arrays, as they are at the start. extra: what else a checkpoint is to hold.

        Without it workers go on while the root evaluates, and its seconds count.
        """
        self.log, self.shared, self._ranks, self._extra = log, shared, ranks, extra or dict
        self._evaluator = make_evaluator(context.choice, context.spec, Comm())
        self._evaluating = log.timeline.span if extra is None and ranks > 1 else log.timeline.outside
        self._settings, self._columns = context.settings, context.choice.algorithm.columns
        self.iteration = int(shared[ITERATION][0]) - 1
        self._length = float(context.spec.max_episode_steps or UNKNOWN_LENGTH)
        if context.checkpoint:
            self._length = float(context.checkpoint[OWN + "mean_length"][0])
        self._before = self._totals()
        self._theta_shape = shared["theta"].shape
        log.begin(self.state)
        shared[OVER][0] = env_steps(shared) >= self._settings.total_steps

    @property
    def over(self) -> bool:
        """Return whether the run has taken all its steps."""
        return bool(self.shared[OVER][0])

    def look(self) -> None:
        """Record a row if it is due; of the last one only say that the run is over, as others still have gradients."""
        if self.over or env_steps(self.shared) - self._before["report"][Of.STEPS] < self._settings.steps_per_update:
            return
        self.shared[OVER][0] = env_steps(self.shared) >= self._settings.total_steps
        if not self.over:
            self._record()
            if self.log.due(self.iteration):
                self._save()
            if asked_to_stop():
                self.shared[OVER][0] = True

    def close(self) -> None:
        """Record the last row, when all gradients have come, and save it."""
        if env_steps(self.shared) > self._before["report"][Of.STEPS]:
            self._record()
            self._save()

    def state(self) -> Arrays:
        """Return what a checkpoint holds: the shared arrays, those by which other commands find theirs, and `extra`."""
        return {
            **self.shared,
            OWN + "filter": merged(self.shared[SEEN]).to_vector(),
            OWN + "counters": np.array([self.iteration, int(self._before["report"][Of.STEPS])]),
            OWN + "mean_length": np.array([self._length]),
            **self._extra(),
        }

    def _totals(self) -> Arrays:
        """Return all that is counted, summed over the workers; they go on: read until two readings agree."""
        before = self._counted()
        for _ in range(100):
            now = self._counted()
            if all(np.array_equal(now[name], before[name], equal_nan=True) for name in now):
                break
            before = now
        return before

    def _counted(self) -> Arrays:
        tally = Tally(self.shared)
        counts = np.array([tally.version, tally.refused.sum(), tally.lost(self.shared.get(COUNTED))])
        report, histogram = self.shared[REPORT].sum(axis=0), tally.histogram.sum(axis=0)
        return {"report": report, "counts": counts, "histogram": histogram}

    def _record(self) -> None:
        theta, totals = self.shared["theta"], self._totals()
        since = {name: totals[name] - self._before[name] for name in totals}
        if theta.shape != self._theta_shape or not np.all(np.isfinite(theta)):
            raise infinite_theta(f"in update {self.iteration + 1}")  # of several servers it is this one's share
        self._before, self.iteration = totals, self.iteration + 1
        self.shared[ITERATION][0] = self.iteration + 1
        steps = int(totals["report"][Of.STEPS])
        row = self._row(since, steps) | self._evaluation(steps, int(since["report"][Of.STEPS]))
        self.log.write(row, rest_is_waiting=self._ranks > 1)

    def _save(self) -> None:
        """Write a checkpoint, of which all of theta is tested: other servers may have a share of it."""
        state = self.state()
        if not np.all(np.isfinite(state["theta"])):
            raise infinite_theta(f"in update {self.iteration}")
        self.log.save(state)

    def _evaluation(self, steps: int, of_row: int) -> dict[str, Any]:
        """Return what a row says of its evaluation: its return if one was due, played by this rank; else nothing."""
        every = self._settings.eval_every
        if self._evaluator is None:
            return {}
        if steps // every == (steps - of_row) // every:
            return {"eval_return": ""}
        theta, frozen = self.state()["theta"].copy(), merged(self.shared[SEEN])
        with self._evaluating("evaluate"):
            returns = self._evaluator.returns(theta, frozen, self.iteration, self._settings.eval_episodes)
        return {"eval_return": float(np.mean(returns))}

    def _row(self, since: Arrays, steps: int) -> dict[str, Any]:
        report = since["report"]
        episodes, nothing = int(report[Of.EPISODES]), float("nan")
        if episodes:
            self._length = float(report[Of.LENGTHS]) / episodes
        sums, numbers = report[Of.COLUMNS :: 2].tolist(), report[Of.COLUMNS + 1 :: 2].tolist()
        means = [total / number if number else nothing for total, number in zip(sums, numbers, strict=True)]
        return {
            "iteration": self.iteration,
            "env_steps": steps,
            "episodes": episodes,
            "mean_return": float(report[Of.RETURNS]) / episodes if episodes else nothing,
            "mean_length": self._length if episodes else nothing,
            "steps_per_update": self._settings.steps_per_update,
            **dict(zip(GRADIENTS, [*since["counts"].tolist(), *staleness_of(since["histogram"])], strict=True)),
            **dict(zip(self._columns, means, strict=True)),
        }


def restored(shared: Arrays, checkpoint: Arrays, exactly: bool) -> None:
    """Put a checkpoint into fresh shared arrays, in place.

    exactly: every worker's own counts; else the number of workers may be another, and worker 0 gets what all had, so
    that nothing is lost, while the clocks begin together.
    """
    for name, array in shared.items():
        saved = checkpoint[name]
        if exactly or not name.startswith(OWN) or name in (ITERATION, TALLY + "increments"):
            array[...] = saved
        elif name == SEEN:
            array[0] = merged(saved).to_vector()
        elif name not in (TALLY + "clocks", OVER):
            array[0] = saved.sum(axis=0)
