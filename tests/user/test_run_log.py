"""The run log of both loops: when a checkpoint is due, what a row says, and the seconds of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from minitrpo.course.classroom import one_process
from minitrpo.experience.collectors import Request
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.timing import PHASES, Timeline
from minitrpo.run_folder.columns import FIRST, LAST
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.context import RunContext
from minitrpo.training.run_log import Row, RunLog
from minitrpo.training.settings import chosen

SILENT = SimpleNamespace(update=lambda row: None, note=lambda text: None, close=lambda: None)


class Clock(Timeline):
    """A timeline whose time is set."""

    def __init__(self):
        super().__init__(SerialComm(), keep=False)
        self.time = 0.0

    def now(self):
        return self.time


@pytest.fixture
def make_log(tmp_path):
    """Make the log of a run with these settings, of which no step has been taken, and its clock."""

    def make(**settings):
        folder = RunFolder.create(str(tmp_path / "run"), "CartPole-v1", 0, (*FIRST, *LAST))
        context, clock = RunContext(chosen({"env": "CartPole-v1", **settings}), None, folder, {}), Clock()
        return RunLog(context, clock, lambda done: SILENT, 1, []), clock

    return make


def theta():
    return {"theta": np.zeros(2)}


@pytest.mark.parametrize("every", [1, 3, 20])
@pytest.mark.parametrize("record_every", [1, 2])
def test_a_checkpoint_is_due_after_so_many_updates(every, record_every, make_log):
    log, _ = make_log(checkpoint_every=str(every), record_every=record_every)
    due = [i for i in range(1, 121) if log.due(i)]
    wanted = {-(-i // record_every) * record_every for i in range(every, 121, every)}  # with the next row
    assert due == sorted(i for i in wanted if i <= 120)


def test_a_checkpoint_is_due_so_many_seconds_after_the_last(make_log):
    log, clock = make_log(checkpoint_every="2.5s")

    def due(iteration, now):
        clock.time = now
        return log.due(iteration)

    assert [due(1, now) for now in (0.0, 2.4, 2.5, 9.0)] == [False, False, True, True]
    clock.time = 4.0
    log.save(theta())
    assert [due(2, now) for now in (4.1, 6.4, 6.5)] == [False, False, True]


def test_by_default_small_updates_do_not_write_a_checkpoint_each(make_log):
    """An own algorithm with a replay buffer in its state wrote all of it sixteen times a second."""
    log, clock, written = *make_log(), []
    for number in range(1, 161):
        clock.time = number / 16
        if log.due(number):
            log.save(theta())
            written.append(number)
    assert written == [16 * second for second in range(1, 11)]


@pytest.mark.parametrize("every", ["20", "1000s"])
def test_the_last_segments_are_saved_whenever_they_come(every, make_log):
    """The unfinished episodes are asked for before the root has learned; of whole episodes there are none."""
    learner, _ = one_process(env="CartPole-v1", requests="segments", num_envs=4, total_steps=100)
    learner.env_steps = 79
    last = [learner.is_last(Request(7, amount, np.zeros(0), None)) for amount in (5, 6)]
    assert last == [False, True]
    log, _ = make_log(checkpoint_every=every)
    assert [log.due(7, last=each) for each in last] == last


def test_a_new_run_has_a_checkpoint_before_its_first_update(make_log):
    log, _ = make_log(checkpoint_every="1000s")
    log.begin(theta)
    assert log._folder.load_checkpoint()["theta"].shape == (2,)


@pytest.mark.parametrize("waiting", [False, True])
def test_the_seconds_of_a_row_are_those_of_its_iteration(waiting, make_log):
    log, clock = make_log()
    rows = []
    for _ in range(2):
        for seconds, phase in enumerate(PHASES, start=1):
            with clock.span(phase):
                clock.time += seconds
        clock.time += 7
        log.stop_clock(rest_is_waiting=waiting)
        log.write({"iteration": 1, "env_steps": 10, "episodes": 0, "steps_per_update": 10})
        rows.append(log._folder.rows()[-1])
    for number, row in enumerate(rows, start=1):
        spent = {phase: float(row[f"{phase}_s"]) for phase in PHASES}
        assert spent == {"collect": 1, "wait": 7 if waiting else 2, "gather": 3, "update": 4}
        assert (float(row["iteration_s"]), float(row["time_s"])) == (17, 17 * number)


def test_a_row_counts_the_episodes_of_its_updates_together_and_averages_the_columns():
    row = Row()
    row.add(np.array([1.0, 2.0]), np.array([10, 20]), {"loss": 1.0, "word": "a"})
    row.add(np.array([6.0]), np.array([60]), {"loss": 3.0, "word": "b"})
    assert row.take() == {"episodes": 3, "mean_return": 3.0, "mean_length": 30.0, "loss": 2.0, "word": "b"}
    row.add(np.zeros(0), np.zeros(0), {"loss": 5.0})
    again = row.take()
    assert (again["episodes"], again["loss"], np.isnan(again["mean_return"])) == (0, 5.0, True)
