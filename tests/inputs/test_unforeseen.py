"""What a reader of the pages alone thought of: files of another kind, words for numbers, a BadInput at work."""

import io
import os
import re
import shutil
import sys
import zipfile

import numpy as np
import pytest
from runs import run
from matplotlib import pyplot as plt

import minitrpo
import minitrpo.course.classroom  # one thread
from minitrpo import AlgorithmFailed, BadInput, Run, evaluate, load
from minitrpo.course.reinforce import Reinforce
from minitrpo.errors import place_of
from minitrpo.experience.environments import describe
from minitrpo.experience.vector_env import alike
from minitrpo.run_folder.folder import RunFolder

SMALL = {"total_steps": 600, "steps_per_update": 300, "hidden": "8"}
FEW = {"total_steps": 600, "steps_per_update": 300, "progress": "none"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("unforeseen") / "run"
    return minitrpo.train("CartPole-v1", out=out, progress="none", **SMALL).path


@pytest.fixture
def copied(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "copy")
    return tmp_path / "copy"


def one_line(*words, cwd=None, code=2):
    outcome = run(*words, cwd=cwd)
    assert (outcome.code, outcome.err.count("\n")) == (code, 1), outcome.err
    return outcome.err


# --- files


@pytest.mark.parametrize("part", range(4))
def test_a_flipped_bit_anywhere_in_a_checkpoint_is_damage_or_changes_nothing(part, copied):
    place = copied / "checkpoint.npz"
    whole, arrays = place.read_bytes(), RunFolder(copied).load_checkpoint()
    (copied / "checkpoint_before.npz").unlink()
    start, rng = whole.find(b"PK\x01\x02"), np.random.default_rng(part)  # of the directory, in which kinds stand
    for at in [*range(start + part, len(whole), 8), *rng.integers(0, start, 200).tolist()]:
        content = bytearray(whole)
        content[at] ^= 1 << int(rng.integers(8))
        place.write_bytes(content)
        try:
            found = RunFolder(copied).load_checkpoint()
        except BadInput as error:
            assert re.search(r"is damaged|is not as the run wrote it", str(error))  # noqa: PT017
        else:
            assert found.keys() == arrays.keys()
            assert all(np.array_equal(found[name], arrays[name], equal_nan=True) for name in arrays)


def test_a_checkpoint_that_unpacks_to_more_than_it_is_is_refused_before_it_does(copied):
    arrays = RunFolder(copied).load_checkpoint()
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    assert all(part.compress_type == zipfile.ZIP_DEFLATED for part in zipfile.ZipFile(content).infolist())
    (copied / "checkpoint.npz").write_bytes(content.getvalue())
    _, note = RunFolder(copied).checkpoint()
    assert "compressed" in note
    assert "going on from checkpoint_before.npz" in note


@pytest.mark.parametrize("text", [b"x", b"iteration,env_steps,time_s\n1,a,b", b"\xff\xfe", b""])
def test_a_log_that_is_none_is_named_in_a_line(text, copied):
    (copied / "metrics.csv").write_bytes(text)
    for command in ("plot", "entry"):
        assert "metrics.csv is damaged: it is not the log of a run" in one_line(command, copied)


def test_a_log_whose_last_row_was_cut_short_is_read(copied):
    log = copied / "metrics.csv"
    whole = log.read_text().splitlines()
    log.write_text("\n".join(whole)[: -len(whole[-1]) + 3])
    assert len(RunFolder(copied).rows()) == len(whole) - 1


def test_a_claim_is_not_made_of_a_log_that_was_edited(copied):
    log = copied / "metrics.csv"
    *others, last = log.read_text().splitlines()
    cells = last.split(",")
    cells[others[0].split(",").index("mean_return")] = "500.0"
    log.write_text("\n".join([*others, ",".join(cells)]) + "\n")
    assert "is not as the run wrote it" in one_line("entry", copied)


@pytest.mark.parametrize("words", [("train", "--config"), ("scaling", "predict", "--inputs")])
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_is_no_file_is_not_waited_for(words, kind, tmp_path):
    place = tmp_path / "pipe" if kind == "pipe" else "/dev/zero"
    if kind == "pipe":
        os.mkfifo(place)
    assert "it is not a file" in one_line(*words, place, cwd=tmp_path)


# --- before any work


def test_all_folders_of_several_seeds_are_looked_at_first(tmp_path):
    (tmp_path / "out" / "seed1").mkdir(parents=True)
    (tmp_path / "out" / "seed1" / "notes.txt").write_text("precious")
    words = ("--env", "CartPole-v1", "--total-steps", 600, "--seeds", "0-1", "--out", "out")
    assert "out/seed1 exists and is not empty" in one_line("train", *words, cwd=tmp_path)
    assert not (tmp_path / "out" / "seed0").exists()


@pytest.mark.parametrize("words", [("--seeds", "0-1"), ("--out", "z"), ("--total-steps=5",), ("--learner", "root")])
def test_check_decides_some_things_itself(words, tmp_path):
    assert f"{words[0]} after --: check decides" in one_line("check", "trpo", "--", *words, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("env", ["Nope-v0", "Taxi-v4"])
def test_check_refuses_what_nobody_can_train_on(env):
    outcome = run("check", "trpo", "--env", env)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("words", [("QQ",), ("S1", "--ranks", -3)])
def test_figures_makes_no_folder_for_what_it_refuses(words, tmp_path):
    one_line("figures.py", *words, "--folder", tmp_path / "f" / "g")
    assert not (tmp_path / "f").exists()


def test_a_page_without_a_place_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "p.md").write_text("\n")
    outcome = run("scaling", "predict", "--page", tmp_path / "p.md")
    assert (outcome.code, outcome.out) == (2, "")
    assert "has no place for it" in outcome.err


def test_nothing_is_written_through_a_link(trained, tmp_path):
    for name in ("mine.py", "picture.png"):
        (tmp_path / name).symlink_to("elsewhere")
    assert "mine.py exists" in one_line("new", "mine", cwd=tmp_path)
    assert "is a link" in one_line("plot", trained, "--out", "picture.png", cwd=tmp_path)
    assert not (tmp_path / "elsewhere").exists()


# --- at work


def own(learn):
    """Return an algorithm whose learn is this."""
    return type("Own", (Reinforce,), {"learn": learn})


@pytest.mark.parametrize("word", ["one\ntwo", "one\rtwo", "a\0b"])
def test_a_column_holds_one_word(word, tmp_path):
    with pytest.raises(AlgorithmFailed, match="a column holds one number or word"):
        minitrpo.train("CartPole-v1", algorithm=own(lambda *_: {"gradient_norm": word}), out=tmp_path / "r", **FEW)


def test_bad_input_that_an_algorithm_raises_is_not_the_users(tmp_path):
    algorithm = own(lambda *_: {"gradient_norm": load("/no/such/run")})
    with pytest.raises(AlgorithmFailed, match=r"BadInput: there is no folder /no/such/run.*, test_unforeseen.py, line"):
        minitrpo.train("CartPole-v1", algorithm=algorithm, out=tmp_path / "r", **FEW)


def test_the_place_of_an_error_is_the_users_line():
    with pytest.raises(ValueError, match="broadcast") as raised:
        np.zeros(3) + np.zeros(4)
    assert place_of(raised.value).startswith("test_unforeseen.py, line ")
    assert place_of(ValueError()) == "nobody knows where"


def test_copies_of_an_environment_have_the_same_spaces():
    one, other = describe("CartPole-v1"), describe("Acrobot-v1")
    assert alike(one, describe("CartPole-v1"))
    assert not alike(one, other)
    assert not alike(describe("Pendulum-v1"), one)


# --- from Python


def test_yes_and_no_may_be_true_and_false(tmp_path):
    small = {**SMALL, "progress": "none"}
    assert minitrpo.train("CartPole-v1", overlap=False, out=tmp_path / "a", **small).settings["overlap"] == "no"
    assert minitrpo.train("CartPole-v1", overlap=True, out=tmp_path / "b", **small).settings["overlap"] == "yes"
    assert not (tmp_path / "a" / "trace.json").exists()
    run_with_trace = minitrpo.train("CartPole-v1", trace=True, oversubscribe=False, out=tmp_path / "c", **small)
    assert (run_with_trace.path / "trace.json").exists()


class OnlyWrites:
    """What some programs put in stdout's place."""

    def write(self, text):
        return len(text)

    def flush(self):
        pass


def test_a_stdout_that_can_only_write_is_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", OnlyWrites())
    run_of_it = minitrpo.train("CartPole-v1", out=tmp_path / "run", **SMALL)
    assert run_of_it.rows()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (lambda: minitrpo.train("CartPole-v1", out="\ud800", **SMALL), "out .* has letters"),
        (lambda: Run(None), "a run is the folder of one"),
        (lambda: Run(3), "a run is the folder of one"),
    ],
)
def test_names_that_are_none(what, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=said):
        what()
    assert not list(tmp_path.iterdir())


def test_settings_that_are_a_list_are_no_settings(tmp_path):
    (tmp_path / "c.json").write_text('{"format": 4, "settings": []}')
    said = one_line("train.py", "--config", "c.json", "--total-steps", 600, cwd=tmp_path)
    assert "does not hold the settings of a run" in said
    assert [path.name for path in tmp_path.iterdir()] == ["c.json"]


def test_no_claim_is_made_of_other_settings_than_the_runs_own(copied):
    config = copied / "config.json"
    config.write_text(config.read_text().replace("CartPole-v1", "Pendulum-v1"))
    assert "is not the one with which checkpoint.npz was made" in one_line("entry", copied)


@pytest.mark.parametrize("task", [("predict", "--out"), ("check", "--recorded", "--out"), ("predict", "--page")])
def test_a_folder_is_no_file_to_write(task, tmp_path):
    assert "is a folder" in one_line("scaling.py", *task, tmp_path)


def test_a_picture_with_four_panels_below_has_room_for_them(tmp_path, recwarn):
    adapted = {"adapt": "both", "adapt_min_steps": 50, "adapt_window": 2, "steps_per_update": 200, "total_steps": 3000}
    done = minitrpo.train("CartPole-v1", out=tmp_path / "run", hidden="8", progress="none", **adapted)
    assert not [each for each in recwarn if "constrained_layout" in str(each.message)]
    wide, high = plt.imread(done.path / "learning_curve.png").shape[1::-1]
    assert wide > 1.9 * high


@pytest.mark.parametrize("settings", [{"max_kl": False}, {"total_steps": False}, {"seed": True}, {"hidden": False}])
def test_a_number_is_neither_true_nor_false(settings, tmp_path):
    with pytest.raises(BadInput, match=min(settings)):
        minitrpo.train("CartPole-v1", out=tmp_path / "a", **{**SMALL, **settings})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("out", ["a\0b", b"e", 5, "", io.StringIO()])
def test_a_folder_has_a_name(out):
    with pytest.raises(BadInput, match="out must be the name of a folder"):
        minitrpo.train("CartPole-v1", out=out, **SMALL)
    with pytest.raises(BadInput, match="run must be the name of a folder"):
        load(out)


def test_a_run_may_be_named_by_text(trained, tmp_path):
    assert Run(str(trained)) == Run(trained)
    assert len(Run(str(trained)).rows()) == 2
    for ask in (Run.rows, Run.columns, lambda nobody: nobody.settings):
        with pytest.raises(BadInput, match="there is no folder"):
            ask(Run(tmp_path / "nope"))


BAD = [{"episodes": each} for each in (2.5, "5", None, True)] + [{"seed": each} for each in ("a", 1.5, None)]


@pytest.mark.parametrize("settings", [*BAD, {"sample": "no"}, {"sample": 1}])
def test_evaluate_takes_whole_numbers(settings, trained):
    with pytest.raises(BadInput, match=min(settings)):
        evaluate(trained, **settings)


@pytest.mark.parametrize("observation", [np.full(4, np.nan), np.zeros(4, complex), "abc", [[1, 2], [3]], None])
def test_a_policy_takes_finite_numbers(observation, trained):
    with pytest.raises(BadInput, match="an observation must be an array of finite numbers"):
        load(trained)(observation)


def test_a_policy_takes_no_rows_and_a_generator(trained):
    policy = load(trained)
    assert policy(np.zeros((0, 4))).shape == (0,)
    with pytest.raises(BadInput, match="rng must be"):
        policy(np.zeros(4), 5)


@pytest.mark.parametrize("stdout", [None, "closed"])
def test_a_process_without_stdout_trains_in_silence(stdout, tmp_path, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed if stdout else None)
    run_of_nobody = minitrpo.train("CartPole-v1", out=tmp_path / "a", **SMALL)
    monkeypatch.undo()
    assert len(run_of_nobody.rows()) == 2


def test_a_folder_that_has_gone_is_named(trained, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(BadInput, match="the folder you are in was deleted"):
        load(trained)
