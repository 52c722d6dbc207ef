"""Several runs: one for each seed, one with the settings of another, and all of them in one picture."""

import json

import pytest
from runs import lasting, run, train

from minitrpo.commands.plot import compare, groups, labels
from minitrpo.errors import BadInput
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.job import seeds_of

JOB = ("--env", "CartPole-v1", "--steps-per-update", 300, "--hidden", "8", "--total-steps", 600)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Runs of two settings: two seeds of one, one of the other."""
    folder = tmp_path_factory.mktemp("compared")
    train(folder / "small", *JOB, "--seeds", "3-4")
    train(folder / "large", *JOB, "--seed", 3, "--max-kl", 0.2)
    return folder


def test_each_seed_has_the_run_that_it_would_have_alone(trained, tmp_path):
    for seed in (3, 4):
        train(tmp_path / str(seed), *JOB, "--seed", seed)
        assert lasting(trained / "small" / f"seed{seed}") == lasting(tmp_path / str(seed))


def test_seeds_are_a_range_or_a_list():
    texts = ("0-4", "7", "0,3,7", "5-5")
    assert [[*seeds_of(text)] for text in texts] == [[0, 1, 2, 3, 4], [7], [0, 3, 7], [5]]
    assert len(seeds_of("0-999")) == 1000
    for text in ("1-0", "1,1", "0-1000", "all"):  # what else does not go together: tests/inputs/test_command_line.py
        done = run("train.py", "--seeds", text)
        assert (done.code, done.out, done.err.count("\n"), "--seeds" in done.err) == (2, "", 1, True)


def test_a_config_is_taken_over_but_for_what_is_given(trained, tmp_path):
    train(tmp_path / "again", "--config", trained / "large" / "config.json")
    assert lasting(tmp_path / "again") == lasting(trained / "large")
    train(tmp_path / "other", "--config", trained / "large", "--seed", 4, "--max-kl", 0.03)
    settings = [RunFolder(f).read_config()["settings"] for f in (tmp_path / "other", trained / "small" / "seed4")]
    assert settings[0] == settings[1] | {"max_kl": 0.03}


def test_a_config_names_its_algorithm(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"settings": {"algorithm": "a2c", "env": "CartPole-v1"}}))
    train(tmp_path / "run", "--config", tmp_path / "c.json", "--total-steps", 200, "--entropy-weight", 0.5)
    settings = RunFolder(tmp_path / "run").read_config()["settings"]
    assert (settings["algorithm"], settings["entropy_weight"]) == ("a2c", 0.5)


@pytest.mark.slow
def test_the_command_writes_a_picture_and_says_where(trained, tmp_path):
    done = run("plot", trained / "small", trained / "large", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "comparison.png\n", "")
    assert (tmp_path / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert run("plot", trained, cwd=tmp_path).out == "comparison_2.png\n", "nothing is overwritten unasked"
    refused = run("plot", trained / "large", "--out", "all.txt", cwd=tmp_path)
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_a_line_for_each_setting_and_a_band_for_its_seeds(trained):
    runs = [RunFolder(trained / name) for name in ("small/seed3", "small/seed4", "large")]
    grouped = groups(runs)
    assert [len(members) for _, members in grouped] == [2, 1]
    assert labels(grouped) == ["trpo, max kl 0.01", "trpo, max kl 0.2"]
    figure = compare(runs)
    assert figure._repr_png_().startswith(b"\x89PNG"), "a notebook shows it"
    left, right = figure.axes
    assert (len(left.collections), len(right.collections)) == (1, 1)
    columns = runs[2].columns()
    assert left.lines[-1].get_xdata().tolist() == columns["env_steps"].tolist()
    assert right.lines[-1].get_xdata().tolist() == columns["time_s"].tolist()
    with pytest.raises(BadInput, match="seed"):
        compare([*runs, runs[0]])
