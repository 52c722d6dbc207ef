"""What a run leaves behind: files that load, numbers that add up, pictures that are pictures."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest
from runs import run, train
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.algorithms.trpo import TRPO
from minitrpo.errors import BadInput
from minitrpo.parallel.timing import PHASES
from minitrpo.reports import video
from minitrpo.reports.video import Player, _draw
from minitrpo.run_folder.columns import FIRST, LAST, SECONDS
from minitrpo.run_folder.folder import RunFolder, let_go, sha256
from minitrpo.run_folder.metrics_log import LOG, Checksum
from minitrpo.training.settings import chosen

COLUMNS = (*FIRST, "gain", "reason", *LAST)  # of metrics.csv, for an algorithm that adds a number and a text
ROW = dict.fromkeys(FIRST, 1)  # numbers in the columns that every run has

PROMISED = {
    *("iteration", "env_steps", "episodes", "mean_return", "mean_length", "steps_per_update", "max_kl", "kl"),
    *("surrogate_gain", "line_search_steps", "collect_s", "wait_s", "gather_s", "update_s", "iteration_s", "ranks"),
}


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG")


def test_files_and_last_line(tmp_path):
    outcome = train(
        tmp_path / "run",
        "--preset",
        "episodes",
        "--env",
        "CartPole-v1",
        "--total-steps",
        2000,
        "--steps-per-update",
        500,
        ranks=2,
    )
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"config.json", "metrics.csv", "checkpoint.npz", "checkpoint_before.npz", "learning_curve.png"}
    assert is_png(tmp_path / "run" / "learning_curve.png")
    with np.load(tmp_path / "run" / "checkpoint.npz", allow_pickle=False) as arrays:
        assert outcome.sha256 == sha256(arrays["theta"])
        assert all(np.isfinite(arrays[name]).all() for name in arrays.files if name != "adaptive")


def test_config_says_what_made_the_run(cartpole_run):
    config = json.loads((cartpole_run / "config.json").read_text())
    choice = chosen(config["settings"])
    assert choice.flat() == config["settings"]
    assert (choice.common.algorithm, choice.common.env, choice.common.steps_per_update) == ("trpo", "CartPole-v1", 1000)
    assert config["provenance"]["ranks"] == 1
    assert {"command", "date", "cores", "machine", "python", "versions"} <= config["provenance"].keys()


def test_metrics_add_up(cartpole_run):
    columns = RunFolder(cartpole_run).columns()
    assert RunFolder(cartpole_run).header == [*FIRST, *TRPO.columns, *LAST]
    assert {*FIRST, *TRPO.columns, *LAST} >= PROMISED
    assert [name for name in (*FIRST, *TRPO.columns, *LAST) if name not in columns] == ["line_search"]  # words
    assert np.array_equal(columns["iteration"], np.arange(1, len(columns["iteration"]) + 1))
    # CartPole pays 1 a step and every episode is played to its end: steps, lengths and returns are one number
    steps = np.diff(columns["env_steps"], prepend=0)
    np.testing.assert_allclose(columns["episodes"] * columns["mean_length"], steps)
    np.testing.assert_allclose(columns["mean_return"], columns["mean_length"])
    assert columns["env_steps"][-2] < 6000 <= columns["env_steps"][-1]
    assert (columns["kl"] <= columns["max_kl"]).all()
    assert SECONDS == ("collect_s", "wait_s", "gather_s", "update_s", "iteration_s")
    phases = sum(columns[f"{phase}_s"] for phase in PHASES)
    assert (phases <= columns["iteration_s"] + 1e-9).all()
    assert np.isclose(columns["iteration_s"].sum(), columns["time_s"][-1])


def test_trace_shows_every_rank(tmp_path):
    train(
        tmp_path / "run",
        "--preset",
        "episodes",
        "--env",
        "CartPole-v1",
        "--total-steps",
        1000,
        "--steps-per-update",
        500,
        "--trace",
        ranks=3,
    )
    events = json.loads((tmp_path / "run" / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    for rank in range(3):
        mine = {event["name"] for event in spans if event["tid"] == rank}
        assert {"collect", "wait", "gather"} <= mine
        assert ("update" in mine) == (rank == 0)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans)


def test_idle_ranks_are_mentioned(tmp_path):
    job = ("--preset", "episodes", "--env", "Pendulum-v1", "--total-steps", 800, "--steps-per-update", 400)
    outcome = train(tmp_path / "episodes", *job, ranks=3)
    assert "2 episode(s) of about 200 steps for 3 ranks: 1 rank(s) have nothing to do" in outcome.out
    assert "--requests segments" in outcome.out
    assert "nothing to do" not in train(tmp_path / "segments", *job, "--requests", "segments", ranks=3).out


def test_segments_of_a_fixed_length_are_counted_as_stepped(tmp_path):
    train(
        tmp_path / "run", "--preset", "episodes", "--env", "Pendulum-v1", "--requests", "segments", "--num-envs", 4,
        "--total-steps", 1200, "--steps-per-update", 300, ranks=2,
    )  # fmt: skip
    columns = RunFolder(tmp_path / "run").columns()
    assert columns["env_steps"].tolist() == [300, 600, 900, 1200]
    # an episode is 200 steps and a segment 75: the first ends in the third update, all four slots at once
    assert columns["episodes"].tolist() == [0, 0, 4, 0]
    assert np.isnan(columns["mean_return"][[0, 1, 3]]).all()
    assert "nan" not in (tmp_path / "run" / "metrics.csv").read_text()


def test_a_log_with_empty_cells_is_gone_on_with_and_one_without_steps_is_not(tmp_path):
    words = ("--preset", "episodes", "--env", "Pendulum-v1", "--requests", "segments", "--num-envs", 4)
    train(tmp_path / "run", *words, "--total-steps", 600, "--steps-per-update", 300)
    log = tmp_path / "run" / "metrics.csv"
    assert [row["mean_return"] for row in RunFolder(tmp_path / "run").rows()] == ["", ""]
    before = log.read_text()
    log.write_text(before.replace("\n2,600,", "\n2,,"))
    assert "is damaged" in run("train.py", "--resume", tmp_path / "run").err
    log.write_text(before)
    assert run("train.py", "--resume", tmp_path / "run", "--total-steps", 1200).code == 0
    assert RunFolder(tmp_path / "run").columns()["episodes"].tolist() == [0, 0, 4, 0]


def test_a_run_in_which_no_episode_ended_says_so(tmp_path):
    segments = ("--requests", "segments", "--num-envs", 2, "--total-steps", 300, "--steps-per-update", 100)
    outcome = train(tmp_path / "run", "--preset", "episodes", "--env", "Pendulum-v1", *segments, new=True)
    assert "no episode ended" in outcome.out
    assert outcome.err == ""
    assert is_png(tmp_path / "run" / "learning_curve.png")
    assert np.isnan(RunFolder(tmp_path / "run").columns()["mean_return"]).all()


def test_default_folders_are_numbered_and_never_reused(tmp_path):
    for number in (1, 2):
        outcome = run(
            "train.py",
            "--preset",
            "episodes",
            "--env",
            "CartPole-v1",
            "--total-steps",
            200,
            "--steps-per-update",
            200,
            cwd=tmp_path,
        )
        assert outcome.code == 0, outcome.err
        assert (tmp_path / "runs" / f"CartPole-v1-seed0-{number:02d}" / "metrics.csv").exists()


def test_checkpoint_is_whole_at_any_instant(tmp_path):
    """Kill a writer again and again: what is on disk always loads, and is one of the states written."""
    program = (
        "import sys, numpy as np; from pathlib import Path; from minitrpo.run_folder.folder import RunFolder\n"
        "folder, k = RunFolder(Path(sys.argv[1])), 0; (folder.path / 'metrics.csv').touch()\n"
        "while True:\n"
        "    k += 1; folder.save_checkpoint({'theta': np.full(200_000, float(k)), 'k': np.array([k])})\n"
    )
    for round_ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
        while not (tmp_path / "checkpoint.npz").exists():
            time.sleep(0.01)
            assert writer.poll() is None
        time.sleep(0.05 + 0.013 * round_)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        arrays = RunFolder(tmp_path).load_checkpoint()
        assert (arrays["theta"] == arrays["k"][0]).all()


def new_folder(path):
    return RunFolder.create(str(path), "CartPole-v1", 0, COLUMNS)


def test_rows_after_the_checkpoint_are_forgotten(tmp_path):
    folder = new_folder(tmp_path / "run")
    for iteration in range(1, 6):
        folder.append({**ROW, "iteration": iteration})
    folder.forget_after(3)
    assert [row["iteration"] for row in folder.rows()] == ["1", "2", "3"]
    folder.append({**ROW, "iteration": 4})
    assert [row["iteration"] for row in folder.rows()] == ["1", "2", "3", "4"]
    with (tmp_path / "run" / "metrics.csv").open() as file:
        assert next(csv.reader(file)) == list(COLUMNS)
    folder.forget_after(0)
    assert folder.rows() == []
    assert folder.header == list(COLUMNS)


def test_a_row_is_written_in_the_order_of_the_header_whoever_opened_the_folder(tmp_path):
    new_folder(tmp_path / "run").append({**ROW, "reason": "accepted", "gain": 0.5, "iteration": 1})
    again = RunFolder(tmp_path / "run")
    assert again.header == list(COLUMNS)
    again.append({**ROW, "gain": 0.25, "iteration": 2, "reason": "KL too large, and so on"})
    assert [(row["iteration"], row["gain"], row["reason"]) for row in again.rows()] == [
        ("1", "0.5", "accepted"),
        ("2", "0.25", "KL too large, and so on"),
    ]
    with pytest.raises(ValueError, match="nonsense"):
        again.append({**ROW, "iteration": 3, "nonsense": 1})


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=4), cut=st.integers(0, 4))
def test_a_checkpoint_has_the_checksum_of_the_log_as_it_stands(words, cut):
    with tempfile.TemporaryDirectory() as place:
        folder = new_folder(Path(place) / "run")
        for half in (words[:cut], words[cut:]):  # the rows of two processes
            for word in half:
                folder.append({**ROW, "iteration": 1, "reason": word})
            folder.save_checkpoint({"theta": np.zeros(1)})
            lines = (folder.path / "metrics.csv").read_text("utf-8").splitlines()
            assert np.array_equal(folder.load_checkpoint()[LOG], Checksum(*lines).value())
            folder = RunFolder(folder.path)


def test_columns_are_the_numbers_one_entry_per_update(tmp_path):
    folder = new_folder(tmp_path / "run")
    row = dict.fromkeys(COLUMNS, 0.0)
    for iteration, mean_return in ((1, float("nan")), (2, -3.5), (3, 1e-9)):
        folder.append(row | {"iteration": iteration, "mean_return": mean_return, "gain": 0.1, "reason": "accepted"})
    columns = folder.columns()
    assert [row["mean_return"] for row in folder.rows()] == ["", "-3.5", "1e-09"], "an empty cell, as pandas reads it"
    assert list(columns) == [name for name in COLUMNS if name != "reason"]  # a column of words
    assert {column.shape for column in columns.values()} == {(3,)}
    assert np.array_equal(columns["mean_return"], [np.nan, -3.5, 1e-9], equal_nan=True)
    assert columns["gain"].tolist() == [0.1, 0.1, 0.1]


def test_a_log_in_which_nan_was_written_is_read_and_gone_on_with_too(tmp_path):
    words = ("--preset", "episodes", "--env", "Pendulum-v1", "--requests", "segments", "--num-envs", 4)
    train(tmp_path / "run", *words, "--total-steps", 600, "--steps-per-update", 300)
    folder, log = RunFolder(tmp_path / "run"), tmp_path / "run" / "metrics.csv"
    known = folder.load_checkpoint()
    log.write_text(re.sub(r",0,,,", ",0,nan,nan,", log.read_text()))
    assert log.read_text().count("nan") == 4
    folder.save_checkpoint({name: a for name, a in known.items() if name not in ("run_log", "run_checksum")})
    assert np.isnan(folder.columns()["mean_return"]).all()
    assert run("train.py", "--resume", tmp_path / "run", "--total-steps", 1200).code == 0
    assert [row["mean_return"] for row in folder.rows()][:2] == ["nan", "nan"]
    assert folder.columns()["episodes"].tolist() == [0, 0, 4, 0]


def test_a_new_folder_has_a_header_and_no_rows(tmp_path):
    folder = new_folder(tmp_path / "run")
    assert (folder.header, folder.rows()) == (list(COLUMNS), [])
    assert all(len(column) == 0 for column in folder.columns().values())


def test_create_refuses_a_folder_with_something_in_it(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(BadInput, match="not empty"):
        new_folder(tmp_path)


def test_create_takes_an_empty_folder_and_refuses_a_file(tmp_path):
    (tmp_path / "empty").mkdir()
    assert new_folder(tmp_path / "empty").path == tmp_path / "empty"
    (tmp_path / "file").write_text("precious")
    with pytest.raises(BadInput, match="is no folder: choose another name"):
        new_folder(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("missing", ["config.json", "metrics.csv"])
def test_open_asks_for_the_files_of_a_run(missing, tmp_path):
    for name in ("config.json", "metrics.csv", "checkpoint.npz"):
        (tmp_path / name).write_text("")
    assert RunFolder.open(str(tmp_path)).path == tmp_path
    (tmp_path / missing).unlink()
    with pytest.raises(BadInput, match=f"holds no {missing}"):
        RunFolder.open(str(tmp_path))


def test_open_asks_for_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "file"):
        with pytest.raises(BadInput, match=f"there is no folder .*{name}; give the folder of a run"):
            RunFolder.open(str(tmp_path / name))


def test_watch_writes_a_film(cartpole_run):
    outcome = run("watch.py", cartpole_run, "--frames", 20, "--pictures", 4)
    assert outcome.code == 0, outcome.err
    assert is_png(cartpole_run / "filmstrip.png")
    film = (cartpole_run / "video.mp4").read_bytes()
    assert film[4:8] == b"ftyp"
    assert len(film) > 1000
    steps = int(re.search(r"(\d+) steps", outcome.out)[1])
    rate, seconds = (imageio.immeta(cartpole_run / "video.mp4")[key] for key in ("fps", "duration"))
    every = -(-steps // 20)
    assert rate == pytest.approx(max(1, 50 / every), rel=0.01)  # CartPole's own is 50 pictures a second
    assert seconds == pytest.approx((1 + -(-steps // every)) / rate, rel=0.2)


def test_a_filmstrip_begins_at_the_first_step_and_ends_at_the_last(cartpole_run, monkeypatch):
    kept = []
    monkeypatch.setattr(video, "filmstrip", lambda path, images, captions: kept.extend(captions))
    monkeypatch.setattr(video, "_write", lambda *_: None)
    steps = video.film(RunFolder(cartpole_run), 0, 30, 9, 4).steps
    assert [kept[0], kept[-1]] == ["0.00 s", f"{0.02 * steps:.2f} s"]
    assert len(kept) == 4


def test_watch_draws_mujoco_or_says_the_cure(tmp_path):
    train(
        tmp_path / "run", "--preset", "episodes", "--env", "Reacher-v5", "--total-steps", 500, "--steps-per-update", 500
    )
    outcome = run("watch.py", tmp_path / "run", "--frames", 3, "--pictures", 2)
    if outcome.code == 0:
        assert is_png(tmp_path / "run" / "filmstrip.png")
    else:
        assert outcome.code == 2
        assert "MUJOCO_GL=egl" in outcome.err


@pytest.mark.parametrize(
    "picture", [None, "a string", np.zeros((9, 9)), np.zeros((9, 9, 3)), np.zeros((1, 1, 3), np.uint8)]
)
def test_what_is_no_picture_is_refused(picture, cartpole_run, monkeypatch):
    player = Player(RunFolder(cartpole_run), render_mode="rgb_array")
    monkeypatch.setattr(player.env, "render", lambda: picture, raising=False)
    with pytest.raises(BadInput, match="render\\(\\) of CartPole-v1 returned"):
        _draw(player)


def test_a_folder_of_a_run_that_ended_before_it_began_is_free(tmp_path):
    """Between metrics.csv and config.json: neither --resume nor --out took such a folder."""
    with let_go():
        folder = RunFolder.create(str(tmp_path / "run"), "CartPole-v1", 0, ("iteration", "kl"))
    (folder.path / "config.json.tmp").write_text("{")
    with let_go():
        RunFolder.create(str(folder.path), "CartPole-v1", 0, ("iteration", "kl"))
    (folder.path / "metrics.csv").write_text("iteration,kl\n1,0.01\n")
    with pytest.raises(BadInput, match="is not empty"):
        RunFolder.create(str(folder.path), "CartPole-v1", 0, ("iteration", "kl"))
