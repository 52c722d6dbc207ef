"""The scaling experiment: turns that no drift favours, timed runs that leave nothing behind, honest comparisons."""

import os
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import TOYS

from minitrpo.commands.command_line import parse
from minitrpo.course.speedup.experiment import by_turns, compared, timed_run
from minitrpo.course.speedup.statistics import karp_flatt, speedup_interval
from minitrpo.run_folder.columns import SECONDS
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import JobFailed, flags

QUICK = settings(max_examples=50, deadline=None)


def test_turns_by_hand():
    assert list(by_turns(3, [1, 2, 4])) == [(1, 1), (1, 2), (1, 4), (2, 4), (2, 2), (2, 1), (3, 1), (3, 2), (3, 4)]


@given(st.integers(1, 4), st.integers(1, 5))
@QUICK
def test_after_an_even_number_of_rounds_a_drift_has_hit_all_alike(pairs, keys):
    places = Counter()
    for place, (_, key) in enumerate(by_turns(2 * pairs, range(keys))):
        places[key] += place
    assert len(set(places.values())) == 1


def test_one_rank_is_compared_with_nothing():
    alone = np.array([2.0, 2.1, 1.9])
    expected = {"speedup": 1.0, "speedup_interval": (1.0, 1.0), "efficiency": 1.0, "karp_flatt": None}
    assert compared(alone, alone, 1) == expected


def test_several_ranks_are_compared_with_one():
    alone, together = np.array([4.0, 4.1, 3.9, 4.0]), np.array([1.6, 1.5, 1.7, 1.6, 1.6])
    found = compared(alone, together, 4)
    assert found["speedup"] == 2.5
    assert found["efficiency"] == 0.625
    assert found["karp_flatt"] == karp_flatt(2.5, 4)
    assert found["speedup_interval"] == speedup_interval(alone, together)


def test_flags_are_what_the_command_line_reads():
    settings = {"env": "CartPole-v1", "max_kl": 0.125, "steps_per_update": 400, "critic": "linear", "hidden": "8,8"}
    assert flags({"max_kl": 0.125}) == ["--max-kl", "0.125"]
    assert parse(flags(settings)).given == settings


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_timed_run_gives_steps_and_seconds_of_every_update(ranks, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    job = {"env": "Pendulum-v1", "requests": "segments", "num_envs": 4, "steps_per_update": 200, "total_steps": 600}
    columns = timed_run(ranks, flags(job))
    assert list(columns) == ["steps", *SECONDS]
    assert columns["steps"].tolist() == [200, 200, 200]
    parts = sum(columns[name] for name in SECONDS if name != "iteration_s")
    assert (parts > 0).all()
    assert (parts <= columns["iteration_s"] + 1e-9).all()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_run_that_failed_stays_for_the_commands_that_are_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TOYS), os.environ.get("PYTHONPATH", "")]))
    words = flags({"env": "failing_envs:Failing-raise-v0", "total_steps": 50_000})
    with pytest.raises(JobFailed) as failed:
        timed_run(1, words)
    (path,) = re.findall(r"train --resume (\S+)", str(failed.value))
    assert RunFolder(Path(path)).read_config()["settings"]["env"] == "failing_envs:Failing-raise-v0"
    (folder,) = tmp_path.glob("minitrpo-*")
    shutil.rmtree(folder)
    with pytest.raises(JobFailed):
        timed_run(1, flags({"max_kl": -1}))
    assert not list(tmp_path.iterdir()), "what never began leaves nothing"
