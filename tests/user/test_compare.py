"""Several runs: one for each seed, the settings of another one, and all of them in one picture."""

import json

import numpy as np
import pytest
from runs import SCRIPTS, lasting, run, train
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minitrpo.commands.seeds import seeds_of
from minitrpo.errors import BadInput
from minitrpo.reports.compare import band, compare, curve, groups, labels, over_episodes
from minitrpo.run_folder.folder import RunFolder

JOB = ("--env", "CartPole-v1", "--steps-per-update", 300, "--hidden", "8", "--total-steps", 900)


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
    together = run("train.py", *JOB, "--seeds", "3,4", "--out", "two", "--oversubscribe", cwd=tmp_path, ranks=2)
    assert together.out.count("theta sha256") == 2
    assert lasting(tmp_path / "two" / "seed4") == lasting(tmp_path / "4")


@pytest.mark.parametrize(("text", "seeds"), [("0-4", [0, 1, 2, 3, 4]), ("7", [7]), ("0,3,7", [0, 3, 7]), ("5-5", [5])])
def test_seeds_are_a_range_or_a_list(text, seeds):
    assert seeds_of(text) == seeds


def test_a_config_is_taken_over_but_for_what_is_given(trained, tmp_path):
    config = trained / "large" / "config.json"
    train(tmp_path / "again", "--config", config)
    assert lasting(tmp_path / "again") == lasting(trained / "large")
    train(tmp_path / "other", "--config", trained / "large", "--seed", 4, "--max-kl", 0.02)
    settings = [RunFolder(f).read_config()["settings"] for f in (tmp_path / "other", trained / "small" / "seed4")]
    assert settings[0] | {"max_kl": 0} == settings[1] | {"max_kl": 0}
    assert settings[0]["max_kl"] == 0.02


def test_a_config_names_its_algorithm(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"settings": {"algorithm": "a2c", "env": "CartPole-v1"}}))
    job = ("--config", "c.json", "--total-steps", 200, "--out", "run")
    done = run("train.py", *job, "--entropy-weight", 0.5, cwd=tmp_path)
    assert done.code == 0, done.err
    settings = RunFolder(tmp_path / "run").read_config()["settings"]
    assert (settings["algorithm"], settings["entropy_weight"]) == ("a2c", 0.5)
    refused = run("train.py", *job, "--max-kl", 0.5, cwd=tmp_path)
    assert (refused.code, "unrecognized arguments: --max-kl 0.5" in refused.err) == (2, True)


BAD = {
    "no file": (("--config", "nowhere"), "cannot read nowhere"),
    "no settings": (("--config", "empty.json"), "does not hold the settings of a run"),
    "a preset, too": (("--config", "RUN", "--preset", "paper"), "--config and --preset each choose all settings"),
    "of an old run": (("--config", "RUN", "--resume", "RUN"), "--config is for a new run"),
    "seeds of an old run": (("--seeds", "0-1", "--resume", "RUN"), "--seeds makes new runs"),
    "seeds and a seed": (("--seeds", "0-1", "--seed", "3"), "leave out --seed"),
    "no seeds": (("--seeds", "1-0"), "--seeds must be 1 to 1000 different ones"),
    "a seed twice": (("--seeds", "1,1"), "--seeds must be 1 to 1000 different ones"),
    "too many seeds": (("--seeds", "0-1000"), "--seeds must be 1 to 1000 different ones"),
    "a word": (("--seeds", "all"), "--seeds must be 1 to 1000 different ones"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line_before_any_work(what, trained, tmp_path):
    words, says = BAD[what]
    (tmp_path / "empty.json").write_text("{}")
    words = [str(trained / "large") if word == "RUN" else word for word in words]
    done = run("train.py", *words, cwd=tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert says in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["empty.json"]


# --- the picture


def test_the_command_writes_a_picture_and_says_where(trained, tmp_path):
    done = run("plot", trained / "small", trained / "large", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "comparison.png\n", "")
    assert (tmp_path / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    assert run("plot", trained / "small", cwd=tmp_path).out == "comparison_2.png\n", "nothing is overwritten unasked"
    assert run("plot", trained, "--out", "all.svg", cwd=tmp_path).out == "all.svg\n", "all runs in a folder"
    assert "trpo, max kl 0.2" in (tmp_path / "all.svg").read_text(), "text is drawn as text"
    refused = run("plot", trained / "large", "--out", "all.txt", cwd=tmp_path)
    assert (refused.code, "must end in .png" in refused.err) == (2, True)


def runs_in(trained):
    return [RunFolder(path) for path in (trained / "small" / "seed3", trained / "small" / "seed4", trained / "large")]


def test_a_line_for_each_setting_and_a_band_for_its_seeds(trained):
    runs = runs_in(trained)
    grouped = groups(runs)
    assert [len(members) for _, members in grouped] == [2, 1]
    assert labels(grouped) == ["trpo, max kl 0.02", "trpo, max kl 0.2"]
    left, right = compare(runs).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == [
        "trpo, max kl 0.02 (2 seeds)",
        "trpo, max kl 0.2",
    ]
    assert (len(left.collections), len(right.collections)) == (1, 1)
    columns = runs[2].columns()
    assert left.lines[-1].get_xdata().tolist() == columns["env_steps"].tolist()
    assert right.lines[-1].get_xdata().tolist() == columns["time_s"].tolist()
    with pytest.raises(BadInput, match="are runs of one seed and setting"):
        compare([*runs, runs[0]])


def test_the_band_is_students_interval_where_all_seeds_are():
    rng = np.random.default_rng(0)
    curves = [(np.sort(rng.uniform(0, 100, 30)), rng.normal(size=30)) for _ in range(4)]
    x, mean, half = band(curves)
    assert (x[0], x[-1]) == (max(c[0][0] for c in curves), min(c[0][-1] for c in curves))
    y = np.array([np.interp(x[77], *one) for one in curves])
    low, high = stats.t.interval(0.95, 3, y.mean(), stats.sem(y))
    assert (mean[77] - half[77], mean[77] + half[77]) == pytest.approx((low, high))


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(-100, 100)), min_size=1, max_size=30))
def test_a_return_is_the_mean_over_the_last_episodes(rows):
    """Against a list with every episode in it; a row is taken whole."""
    episodes, means = np.array([n for n, _ in rows]), np.array([mean if n else np.nan for n, mean in rows])
    for i, found in enumerate(over_episodes(means, episodes)):
        begin = i
        while begin > 0 and episodes[begin : i + 1].sum() < 100:
            begin -= 1
        everyone = [means[j] for j in range(begin, i + 1) for _ in range(episodes[j])]
        assert found == pytest.approx(np.mean(everyone), abs=1e-6) if everyone else np.isnan(found)


def test_evaluations_are_drawn_where_all_runs_have_some():
    columns = {"env_steps": np.arange(3.0), "time_s": np.arange(3.0), "mean_return": np.ones(3), "episodes": np.ones(3)}
    columns["eval_return"] = np.array([np.nan, 5.0, np.nan])
    assert [part.tolist() for part in curve(columns, True)] == [[1.0], [1.0], [5.0]]
    assert curve(columns, False)[2].tolist() == [1.0, 1.0, 1.0]


# --- an algorithm of one's own


def test_new_writes_the_example_that_the_course_shows(tmp_path):
    done = run("new", "mine", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "--algorithm mine:Reinforce" in done.out
    example = (SCRIPTS / "own" / "reinforce.py").read_text()
    assert (tmp_path / "mine.py").read_text() == example.replace("reinforce:Reinforce", "mine:Reinforce")
    job = ("--algorithm", "mine:Reinforce", "--env", "CartPole-v1", "--total-steps", 600, "--steps-per-update", 300)
    assert run("train.py", *job, "--out", "run", cwd=tmp_path, new=True).code == 0
    for name, says in (("mine", "exists"), ("numpy", "is the name of a package"), ("3x", "cannot be the name")):
        refused = run("new", name, cwd=tmp_path)
        assert (refused.code, says in refused.err) == (2, True)
