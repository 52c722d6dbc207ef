"""What a run leaves behind: when it is written, files that load, numbers that add up, films that are films."""

import re
import shlex
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import gymnasium
import imageio.v3 as imageio
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from runs import run, train

from minitrpo.algorithms.trpo import TRPO
from minitrpo.commands import watch
from minitrpo.course import classroom, demo
from minitrpo.errors import BadInput
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import PHASES, Timeline
from minitrpo.run_folder.folder import RunFolder, release_locks
from minitrpo.run_folder.metrics_csv import FIRST, LAST, Record, row_of
from minitrpo.training.collect import Gathered
from minitrpo.training.job import recorded_settings
from minitrpo.training.root import Root
from minitrpo.training.run_context import RunContext
from minitrpo.training.run_log import RunLog
from minitrpo.training.settings import LATER, chosen

COLUMNS = (*FIRST, "gain", "reason", *LAST)  # of metrics.csv, for an algorithm that adds a number and a text
ROW = dict.fromkeys(FIRST, 1)  # numbers in the columns that every run has


def new_folder(path):
    return RunFolder.create(str(path), "CartPole-v1", 0, COLUMNS)


# --- of a run


def test_metrics_add_up(cartpole_run):
    columns = RunFolder(cartpole_run).columns()
    names = [*FIRST, *TRPO.columns, *LAST]
    assert RunFolder(cartpole_run).header == names
    assert [name for name in names if name not in columns] == ["line_search"]  # words
    assert np.array_equal(columns["iteration"], np.arange(1, len(columns["iteration"]) + 1))
    # CartPole pays 1 a step and every episode is played to its end: steps, lengths and returns are one number
    steps = np.diff(columns["env_steps"], prepend=0)
    np.testing.assert_allclose(columns["episodes"] * columns["mean_length"], steps)
    np.testing.assert_allclose(columns["mean_return"], columns["mean_length"])
    assert columns["env_steps"][-2] < 6000 <= columns["env_steps"][-1]
    assert (columns["kl"] <= columns["max_kl"]).all()
    phases = sum(columns[f"{phase}_s"] for phase in PHASES)
    assert (phases <= columns["iteration_s"] + 1e-9).all()
    assert np.isclose(columns["iteration_s"].sum(), columns["time_s"][-1])


def test_segments_are_counted_as_stepped_and_a_log_with_empty_cells_is_gone_on_with(tmp_path):
    words = ("--env", "Pendulum-v1", "--requests", "segments", "--num-envs", 4, "--steps-per-update", 300)
    done = train(tmp_path / "run", *words, "--total-steps", 600, "--checkpoint-every", 1000)
    assert "no episode ended" in done.out
    folder, log = RunFolder(tmp_path / "run"), tmp_path / "run" / "metrics.csv"
    assert [row["mean_return"] for row in folder.rows()] == ["", ""]
    before = log.read_text()
    log.write_text(before.replace("\n2,600,", "\n2,,"))
    assert run("train.py", "--resume", folder.path).code == 2
    log.write_text(before)
    assert run("train.py", "--resume", folder.path, "--total-steps", 1200).code == 0
    columns = folder.columns()
    assert columns["env_steps"].tolist() == [300, 600, 900, 1200]
    assert folder.load_checkpoint()["run_counters"].tolist() == [4, 1200], "the last update is always saved"
    # an episode is 200 steps and a segment 75: the first ends in the third update, all four slots at once
    assert columns["episodes"].tolist() == [0, 0, 4, 0]
    assert np.isnan(columns["mean_return"]).tolist() == [True, True, False, True]
    log.write_text(re.sub(r",0,,,", ",0,nan,nan,", log.read_text()))  # as versions before wrote it
    assert np.isnan(folder.columns()["mean_return"]).tolist() == [True, True, False, True]


# --- the log


def test_rows_stand_in_the_order_of_the_header_and_those_after_the_checkpoint_are_forgotten(tmp_path):
    folder = new_folder(tmp_path / "run")
    values = ((1, float("nan")), (2, -3.5), (3, 1e-9), (4, 0.0))
    for iteration, returned in values:
        row = {**ROW, "reason": "too large, and so on", "gain": 0.1, "iteration": iteration, "mean_return": returned}
        RunFolder(folder.path).append(row)  # whoever opened it
    with pytest.raises(ValueError, match="nonsense"):
        folder.append({**ROW, "nonsense": 1})
    folder.forget_after(3)
    assert folder.header == list(COLUMNS)
    assert [row["mean_return"] for row in folder.rows()] == ["", "-3.5", "1e-09"], "an empty cell, as pandas reads it"
    assert {row["reason"] for row in folder.rows()} == {"too large, and so on"}
    columns = folder.columns()
    assert list(columns) == [name for name in COLUMNS if name != "reason"], "a column of words is none of numbers"
    assert columns["gain"].tolist() == [0.1, 0.1, 0.1]
    folder.append({**ROW, "iteration": 4})
    assert columns["iteration"].tolist() == [1, 2, 3]
    assert folder.columns()["iteration"].tolist() == [1, 2, 3, 4]
    folder.append({**ROW, "iteration": 5, "reason": 'ä\x85, "o"\u2028'})
    with (folder.path / "metrics.csv").open("a") as file:
        file.write("6,1")
    assert len(folder.rows()) == 5, "a row that is cut short is none"
    folder.forget_after(5)
    assert folder.rows()[-1]["reason"] == 'ä\x85, "o"\u2028'


# --- when it is written


def new_log(path, **settings):
    """Return the log of a run with these settings, of which no step has been taken, and its clock, which is set."""
    folder = RunFolder.create(str(path), "CartPole-v1", 0, (*FIRST, *LAST))
    silent = SimpleNamespace(update=lambda row: None, note=lambda text: None, close=lambda: None)
    context = RunContext(chosen({"env": "CartPole-v1", **settings}), None, folder, {})
    clock = Timeline(Comm(), keep=False)
    clock.time, clock.now = 0.0, lambda: clock.time
    return RunLog(context, clock, lambda done: silent, 1, []), clock


@pytest.mark.parametrize(
    ("every", "record_every", "due"),
    [("1", 1, range(1, 14)), ("3", 1, (3, 6, 9, 12)), ("3", 2, (4, 6, 10, 12)), ("3s", 1, (6, 12)), ("3s", 4, (8,))],
)
def test_a_checkpoint_is_due_after_so_many_updates_or_seconds_with_the_next_row(every, record_every, due, tmp_path):
    """An update takes half a second. The one before is kept."""
    log, clock = new_log(tmp_path / "run", checkpoint_every=every, record_every=record_every)
    log.begin(lambda: {"theta": np.zeros(1)})
    saved = [0]
    for number in range(1, 14):
        clock.time = number / 2
        if log.due(number):
            log.save({"theta": np.full(1, number)})
            saved.append(number)
    assert saved == [0, *due]
    assert np.load(tmp_path / "run" / "checkpoint_before.npz")["theta"] == saved[-2]


@pytest.mark.parametrize("waiting", [False, True])
def test_the_seconds_of_a_row_are_those_of_its_iteration(waiting, tmp_path):
    log, clock = new_log(tmp_path / "run")
    for number in (1, 2):
        for seconds, phase in enumerate(PHASES, start=1):
            with clock.span(phase):
                clock.time += seconds
        clock.time += 7
        log.write(Record(1, 10, 10, episodes=0, returns=0.0, lengths=0.0, columns={}), waiting)
        row = RunFolder(tmp_path / "run").rows()[-1]
        spent = {phase: float(row[f"{phase}_s"]) for phase in PHASES}
        assert spent == {"collect": 1, "wait": 7 if waiting else 2, "gather": 3, "update": 4}
        assert (float(row["iteration_s"]), float(row["time_s"])) == (17, 17 * number)


def test_a_row_counts_the_episodes_of_its_updates_together_and_averages_the_columns():
    said = [{"loss": 1.0, "word": "a"}, {"loss": 3.0, "word": "b"}, {"loss": 5.0, "word": "c"}]
    algorithm = SimpleNamespace(columns=("loss", "word"), state=lambda: {"theta": np.zeros(1)})
    algorithm.learn = lambda batch, rng: said.pop(0)
    choice = chosen({"env": "CartPole-v1", "filter": "none", "record_every": 2, "total_steps": 10**6})
    root = Root(RunContext(choice, SimpleNamespace(max_episode_steps=500, observation_size=4), None, {}), algorithm)
    header = [*FIRST, "loss", "word"]

    def learn(lengths, returns, ended):
        arrays = {"lengths": np.array(lengths), "returns": np.array(returns), "terminated": np.array(ended)}
        arrays |= {"starts": np.zeros(len(lengths), int), "truncated": np.zeros(len(lengths), bool)}
        root.learn(Gathered({}, arrays | {"mean": np.zeros((len(lengths), 4))}))

    learn([10, 20, 4], [1.0, 2.0, 100.0], [True, True, False])
    assert not root.row_due
    learn([60], [6.0], [True])
    assert root.row_due
    row = row_of(root.row(), header)
    assert row == {
        "iteration": 2,
        "env_steps": 94,
        "time_s": 0.0,
        "episodes": 3,
        "mean_return": 3.0,
        "mean_length": 30.0,
        "steps_per_update": 5000,
        "loss": 2.0,
        "word": "b",
    }
    learn([5], [7.0], [False])
    again = row_of(root.row(), header)
    assert (again["episodes"], again["loss"], np.isnan(again["mean_return"])) == (0, 5.0, True)


# --- a folder of version 0.3.0

FINGERPRINTS = {  # the first bytes of those that 0.3.0 made of these algorithms' defaults on CartPole-v1
    "trpo": "0ec53b83d52002fd",
    "policy-gradient": "c4a63ac2ac9f1994",
    "batch-ppo": "296baa1fb61f5262",
    "actor-critic": "07cf72cb86cf1686",
    "a2c": "49dcb55ed6431fb6",
    "n-step-q": "0e18dabd7a001fa2",
    "async-n-step-q": "0ba6475846aa51b4",
    "dqn": "5208190a73f0d681",
    "naf": "2cd4c994d84aad9b",
    "gorila": "4cd34f8e7cce8f98",
    "a3c": "d1f423b73087a787",
}


@pytest.mark.parametrize("algorithm", FINGERPRINTS)
def test_a_checkpoint_of_0_3_0_still_fits(algorithm, tmp_path):
    choice = chosen({"algorithm": algorithm, "env": "CartPole-v1"})
    assert choice.fingerprint().tobytes()[:8].hex() == FINGERPRINTS[algorithm]
    folder = RunFolder.create(str(tmp_path / "run"), "CartPole-v1", 0, choice.columns)
    earlier = {name: value for name, value in choice.flat().items() if name not in LATER}
    folder.write_config(earlier | choice.algorithm.removed, {})
    assert recorded_settings(folder) == choice
    for name in choice.algorithm.removed:
        folder.write_config(earlier | {name: "another"}, {})
        with pytest.raises(BadInput, match=name):
            recorded_settings(folder)


# --- the folder


def test_a_new_run_takes_a_folder_that_is_empty_or_of_a_run_that_never_began(tmp_path):
    for name in ("empty", "begun", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "begun" / "metrics.csv").write_text("iteration,kl\n")
    (tmp_path / "begun" / "config.json.tmp").write_text("{")
    for name in ("empty", "begun", "new"):
        with release_locks():
            assert new_folder(tmp_path / name).path == tmp_path / name
    (tmp_path / "begun" / "metrics.csv").write_text("iteration,kl\n1,0.01\n")
    (tmp_path / "full" / "x").write_text("precious")
    shutil.copytree(tmp_path / "full", tmp_path / "fu ll")
    for name in ("begun", "full", "full/x", "fu ll"):
        with pytest.raises(BadInput, match=name) as refused:
            new_folder(tmp_path / name)
    assert shlex.split(str(refused.value))[-1] == str(tmp_path / "fu ll"), "it may be copied"
    assert (tmp_path / "full" / "x").read_text() == "precious"
    names = [RunFolder.create(None, "a.b:Ant-v5", 7, COLUMNS, tmp_path).path for _ in range(2)]
    assert [path.relative_to(tmp_path) for path in names] == [Path(f"runs/Ant-v5-seed7-0{n}") for n in (1, 2)]


# --- films


def test_watch_films_episodes_one_after_the_other_for_so_many_seconds(cartpole_run, monkeypatch):
    outcome = run("watch.py", cartpole_run, "--seconds", 4, "--steps", 10, "--pictures", 11)
    assert outcome.code == 0, outcome.err
    assert imageio.imread(cartpole_run / "filmstrip.png").shape[1] == 8 * 240, "eight in a row, and three below"
    rate, seconds = (imageio.immeta(cartpole_run / "video.mp4")[key] for key in ("fps", "duration"))
    assert (rate, seconds) == (25, pytest.approx(4, abs=0.1))  # CartPole's own 50 pictures a second are halved
    assert int(re.search(r"(\d+) episode", outcome.out)[1]) >= 100 // 6 - 1
    kept = []
    monkeypatch.setattr(watch, "_write_filmstrip", lambda path, images, captions: kept.extend(captions))
    monkeypatch.setattr(watch, "_write_video", lambda path, images, rate: kept.append(len(images)))
    assert watch.film(RunFolder(cartpole_run), 0, 8, 1, 4, 4) == [(6, 6.0)], "what is in the film"
    assert kept == [4, "0.00 s", "0.04 s", "0.08 s", "0.12 s"]


class Counted(CartPoleEnv):
    """Counts what is done with all of its kind."""

    done: ClassVar = Counter()

    def __init__(self, **options):
        self.done["made"] += 1
        super().__init__(**options)

    def reset(self, **options):
        self.done["reset"] += 1
        return super().reset(**options)

    def close(self):
        self.done["closed"] += 1
        super().close()


@pytest.mark.parametrize(
    "films",
    [
        lambda run: watch.film(run, seed=0, limit=6, seconds=1, frames=12, pictures=2),
        lambda run: classroom.show_film(run, steps=6),
        lambda run: demo.filmed(run, seconds=1),
        lambda run: classroom.play("CartPole-v1", 50),
    ],
    ids=["watch", "lecture", "demo", "episodes of a lecture"],
)
def test_every_environment_of_a_film_is_closed_and_reset_once_an_episode(films, cartpole_run, monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "CartPole-v1", replace(gymnasium.spec("CartPole-v1"), entry_point=Counted))
    played, play = [], watch.Player.play
    monkeypatch.setattr(watch.Player, "play", lambda *arguments: played.append(1) or play(*arguments))
    Counted.done.clear()
    films(RunFolder(cartpole_run))
    assert Counted.done["made"] == Counted.done["closed"] > 0
    assert not played or Counted.done["reset"] == len(played)


def test_what_is_no_picture_is_refused(cartpole_run, monkeypatch):
    image = np.random.default_rng(0).integers(0, 256, (8, 10, 3), np.uint8)
    player = watch.Player(RunFolder(cartpole_run), render_mode="rgb_array")
    monkeypatch.setattr(player.env, "render", lambda: image, raising=False)
    np.testing.assert_array_equal(watch._draw(player, 0), image)
    wrong = (None, "a", [], [image], image[..., 0], image / 255, np.moveaxis(image, 2, 0), np.zeros((9, 9, 2)))
    for picture in (*wrong, np.array([None])):
        monkeypatch.setattr(player.env, "render", lambda picture=picture: picture, raising=False)
        with pytest.raises(BadInput, match="render\\(\\) of CartPole-v1"):
            watch._draw(player, 0)
