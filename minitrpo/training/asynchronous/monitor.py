"""The root of the loop without a barrier: rows, checkpoints, and when the run is over, from the shared arrays."""

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import COUNTED
from minitrpo.errors import infinite_theta
from minitrpo.experience.observation_filter import merged
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.parameter_server import Tally
from minitrpo.run_folder.metrics_csv import Gradients
from minitrpo.supervision.program import asked_to_stop
from minitrpo.training.asynchronous.transports import Transport
from minitrpo.training.asynchronous.workers import ITERATION, OVER, REPORT, SEEN, Of, env_steps
from minitrpo.training.root import Bookkeeping
from minitrpo.training.run_context import RunContext, make_evaluator
from minitrpo.training.run_log import RunLog


class Monitor(Bookkeeping):
    """Looks at the shared arrays after every gradient, and ends a row when enough steps were taken."""

    def __init__(self, context: RunContext, shared: Arrays, log: RunLog, transport: Transport) -> None:
        """Take the shared arrays as they are at the start, and begin the log."""
        super().__init__(context)
        self.log, self.shared, self._transport = log, shared, transport
        self._columns = context.choice.algorithm.columns
        self._evaluator = make_evaluator(context.choice, context.spec, Comm())
        self._theta_shape = shared["theta"].shape
        self._before = self._totals()
        self.env_steps = self.row_began = int(self._before["report"][Of.STEPS])
        log.begin(self.state)
        shared[OVER][0] = self.finished

    def look(self) -> None:
        """End a row if it is due; of the last one only say that the run is over, as others still have gradients."""
        steps = env_steps(self.shared)
        if self.shared[OVER][0] or steps - self.row_began < self.settings.steps_per_update:
            return
        if steps >= self.settings.total_steps:
            self.shared[OVER][0] = True
            return
        self._end_row()
        if self.log.due(self.iteration):
            self._save()
        if asked_to_stop():
            self.shared[OVER][0] = True

    def close(self) -> None:
        """End the last row, when all gradients have come, and save it."""
        if env_steps(self.shared) > self.row_began:
            self._end_row()
            self._save()

    def state(self) -> Arrays:
        """Return what a checkpoint holds: the shared arrays, with a theta that no worker changes any more."""
        theta = self.shared["theta"].copy()
        return {**self.shared, "theta": theta, **self.kept(merged(self.shared[SEEN])), **self._transport.state()}

    def _end_row(self) -> None:
        """Count what has come since the row before, evaluate if that is due, and write the row."""
        # 1. what has come
        totals = self._totals()
        since = {name: totals[name] - self._before[name] for name in totals}
        self._before = totals
        self._check(self.shared["theta"], self.iteration + 1)
        self.iteration += 1
        self.env_steps = int(totals["report"][Of.STEPS])
        self.shared[ITERATION][0] = self.iteration + 1
        # 2. an evaluation, by this rank
        if self.evaluation_due:
            self.evaluated = self._evaluate()
        # 3. the row
        report = since["report"]
        episodes, lengths = int(report[Of.EPISODES]), float(report[Of.LENGTHS])
        if episodes:
            self.mean_length = lengths / episodes
        sums, numbers = report[Of.COLUMNS :: 2].tolist(), report[Of.COLUMNS + 1 :: 2].tolist()
        applied, refused, lost = since["counts"].tolist()
        pairs = zip(self._columns, sums, numbers, strict=True)
        record = self.end_row(
            steps_per_update=self.settings.steps_per_update,
            episodes=episodes,
            returns=float(report[Of.RETURNS]),
            lengths=lengths,
            columns={name: total / number if number else float("nan") for name, total, number in pairs},
            gradients=Gradients(applied, refused, lost, since["histogram"]),
        )
        self.log.write(record, rest_is_waiting=self._transport.others_go_on)

    def _save(self) -> None:
        state = self.state()
        self._check(state["theta"], self.iteration)
        self.log.save(state)

    def _check(self, theta: np.ndarray, iteration: int) -> None:
        """Raise AlgorithmFailed unless all of theta is finite, and of the shape that it had."""
        if theta.shape != self._theta_shape or not np.all(np.isfinite(theta)):
            raise infinite_theta(f"in update {iteration}")

    def _evaluate(self) -> float:
        """Return the mean return of new episodes; where the other ranks go on meanwhile, its seconds count."""
        assert self._evaluator is not None
        theta, frozen = self.shared["theta"].copy(), merged(self.shared[SEEN])
        timeline = self.log.timeline
        with (timeline.span if self._transport.others_go_on else timeline.outside)("evaluate"):
            returns = self._evaluator.returns(theta, frozen, self.iteration, self.settings.eval_episodes)
        return float(np.mean(returns))

    def _totals(self) -> Arrays:
        """Return all that is counted, summed over the workers; they go on, so read until two readings agree."""
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
        return {"report": self.shared[REPORT].sum(axis=0), "counts": counts, "histogram": tally.histogram.sum(axis=0)}
