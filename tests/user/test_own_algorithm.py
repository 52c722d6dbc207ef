"""A user's own algorithm in one file gets what every member of the family gets, or is refused in one line."""

import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from runs import ROOT, SCRIPTS, lasting, run, train

from minitrpo.run_folder.folder import RunFolder

OWN = SCRIPTS / "own"
SAMPLES, GRADIENTS = "reinforce:Reinforce", "reinforce_gradients:Reinforce"
TASKS = {"discrete": ("CartPole-v1", "episodes"), "continuous": ("Pendulum-v1", "segments")}
MORE = ("--total-steps", 4000, "--progress", "none")
STEPS = ("--steps-per-update", 800, "--total-steps", 4000)


@pytest.fixture
def folder(tmp_path):
    """A folder of a user's, who has copied the two examples there."""
    for file in OWN.glob("*.py"):
        shutil.copy(file, tmp_path)
    return tmp_path


def test_the_examples_are_short():
    for file in OWN.glob("reinforce*.py"):
        assert len(file.read_text().splitlines()) <= 60


@pytest.mark.parametrize(
    ("algorithm", "task"),
    [
        (SAMPLES, "discrete"),
        (GRADIENTS, "continuous"),
        pytest.param(SAMPLES, "continuous", marks=pytest.mark.slow),
        pytest.param(GRADIENTS, "discrete", marks=pytest.mark.slow),
    ],
)
def test_the_same_bits_on_any_number_of_ranks_and_across_a_resume(algorithm, task, folder):
    env, requests = TASKS[task]
    job = ("--algorithm", algorithm, "--env", env, "--requests", requests, *STEPS)
    alone = train("alone", *job, cwd=folder)
    for ranks in (1, 2, 3):
        assert train(f"on{ranks}", *job, ranks=ranks, cwd=folder).sha256 == alone.sha256
        assert lasting(folder / f"on{ranks}") == lasting(folder / "alone")
    train("half", *job, "--total-steps", 1500, ranks=3, cwd=folder)
    resumed = run("train.py", "--resume", "half", "--algorithm", algorithm, *MORE, ranks=2, cwd=folder)
    assert resumed.sha256 == alone.sha256
    assert lasting(folder / "half") == lasting(folder / "alone")


def test_products_of_matrices_in_a_digest_do_not_depend_on_the_ranks(tmp_path):
    """BLAS rounds a row by how many stand beside it: a digest sees a fragment by itself, however many a rank played."""
    old = "discounted_sums(fragment.rewards, self.settings.discount, fragment.last)"
    new = f"{old} - fragment.observations @ np.linspace(0.1, 0.2, fragment.observations.shape[1])"
    assert GOOD.count(old) == 1
    (tmp_path / "reinforce.py").write_text(GOOD.replace(old, new))
    job = ("--algorithm", SAMPLES, "--env", "CartPole-v1", "--total-steps", 6000, "--steps-per-update", 1000)
    hashes = {train(f"on{ranks}", *job, ranks=ranks, cwd=tmp_path).sha256 for ranks in (1, 2, 3)}
    assert len(hashes) == 1


def test_a_killed_run_goes_on_to_the_same_bits(folder):
    job = ("--algorithm", GRADIENTS, "--env", "CartPole-v1", "--total-steps", 30000, "--checkpoint-every", "3")
    whole = train("whole", *job, cwd=folder)
    command = [sys.executable, str(SCRIPTS / "train.py"), *map(str, job), "--out", "killed", "--progress", "none"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = folder / "killed" / "metrics.csv"
    while not metrics.exists() or len(metrics.read_text().splitlines()) < 6:
        time.sleep(0.005)
        assert process.poll() is None, "the run was over before it could be killed"
    process.kill()
    process.wait()
    assert run("train.py", "--resume", "killed", *job[:2], "--progress", "none", cwd=folder).sha256 == whole.sha256
    assert lasting(folder / "killed") == lasting(folder / "whole")


def test_gradients_and_samples_take_the_same_first_step(folder):
    """What travels differs, the mathematics does not: after an update theta agrees but for rounding."""
    thetas = []
    for algorithm in (SAMPLES, GRADIENTS):
        name = algorithm.partition(":")[0]
        job = ("--algorithm", algorithm, "--env", "Pendulum-v1", "--steps-per-update", 2000, "--total-steps", 2000)
        train(name, *job, ranks=2, cwd=folder)
        thetas.append(RunFolder(folder / name).load_checkpoint()["theta"])
    np.testing.assert_allclose(thetas[0], thetas[1], rtol=0, atol=1e-7)


def test_it_learns(folder):
    job = ("--algorithm", SAMPLES, "--env", "CartPole-v1", "--total-steps", 60000)
    train("run", *job, ranks=2, cwd=folder)
    returns = RunFolder(folder / "run").columns()["mean_return"]
    assert returns[0] < 60
    assert returns[-5:].mean() > 150  # 300 to 500 on the seeds tried


def test_it_has_a_help_of_its_own_columns_a_picture_and_a_video(folder):
    text = " ".join(run("train.py", "--algorithm", SAMPLES, "--help", cwd=folder).out.split())
    assert "--step-size" in text
    assert "--max-kl" not in text
    assert "--steps-per-update N environment steps wanted before each update (default: 2000)" in text  # its own default
    train("run", "--algorithm", SAMPLES, "--env", "CartPole-v1", "--total-steps", 4000, cwd=folder, new=True)
    assert "gradient_norm" in RunFolder(folder / "run").columns()
    assert (folder / "run" / "learning_curve.png").stat().st_size > 10_000
    watched = run("watch.py", "run", "--algorithm", SAMPLES, "--steps", 20, "--frames", 5, cwd=folder)
    assert watched.code == 0, watched.err
    replayed = run("replay.py", "run", 0, "--algorithm", SAMPLES, cwd=folder)
    assert "episode 0 of iteration" in replayed.out, replayed.err


def test_make_copies_the_example(tmp_path):
    """As a student starts: make own-algorithm NAME=mine, in a copy of what make needs."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(OWN, tmp_path / "mpi_scripts" / "own")
    make = ["make", "own-algorithm", "NAME=mine"]
    done = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--algorithm mine:Reinforce" in done.stdout
    assert (tmp_path / "mine.py").read_text() == (OWN / "reinforce.py").read_text()
    (tmp_path / "mine.py").write_text("# my work\n")
    again = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "mine.py exists" in again.stdout + again.stderr
    assert (tmp_path / "mine.py").read_text() == "# my work\n"


GOOD = (OWN / "reinforce.py").read_text()
# An edit of the good file, and what is said of it; None: the file as it is
EDITS = {
    "a method is missing": ("    def plan(self)", "    def plam(self)", "has no method plan(self)"),
    "a wrong signature": ("learn(self, batch, rng)", "learn(self, batch)", "it must take (self, batch, rng)"),
    "a setting without limits": (
        'option(0.99, "discount per step (gamma)", above=0, most=1)',
        "0.99",
        "Settings.discount, which is not made by option",
    ),
    "a setting that every run has": ("    discount: float", "    seed: int", "every run has a setting of that name"),
    "no settings": ("    Settings = Settings\n", "", "has no dataclass called Settings"),
    "columns are no tuple": ('("gradient_norm",)', '"gradient_norm"', "must be a tuple of names"),
    "a column that is there": ('("gradient_norm",)', '("mean_return",)', "which metrics.csv has already"),
    "a syntax error": ("(Algorithm):", "(Algorithm)", "cannot import reinforce: SyntaxError"),
    "an import that fails": ("import numpy as np", "import numpyy as np", "No module named 'numpyy'"),
    "a constructor that raises": ("context.policy\n", "context.polizy\n", "cannot begin: AttributeError"),
    "a plan that is a list": ("Plan(self.theta)", "Plan(list(self.theta))", "it must be an array of numbers"),
    "a plan of no steps": ("Plan(self.theta)", "Plan(self.theta, 0)", "must be an integer from 1"),
    "a state of objects": (
        'return {"theta": self.theta}',
        'return {"theta": self.theta, "a": [None]}',
        "array of numbers",
    ),
    "a preset that is none": (
        '{"default": Preset("many small updates", {"steps_per_update": 2_000})}',
        '{"a": {}}',
        "Preset",
    ),
    "a plan of another kind": ("return Plan(self.theta)", "return self.theta", "plan() returned ndarray"),
    "a state without theta": ('return {"theta": self.theta}', "return {}", "with theta among them"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_no_algorithm_is_refused_in_one_line(edit, tmp_path):
    old, new, expected = EDITS[edit]
    assert GOOD.count(old) == 1
    (tmp_path / "reinforce.py").write_text(GOOD.replace(old, new))
    outcome = run("train.py", "--algorithm", SAMPLES, "--env", "CartPole-v1", "--out", "run", cwd=tmp_path)
    assert outcome.code == 2
    assert expected in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--algorithm", "nosuch:Thing"), "cannot import nosuch"),
        (("--algorithm", "nosuch"), "unknown --algorithm 'nosuch'"),
        (("--algorithm", "json:dumps"), "is a function, not a class"),
        (("--algorithm", "reinforce:Other"), "has no Other"),
        (("--algorithm", SAMPLES, "--step-size", "0"), "--step-size must be positive, not 0"),
        (("--algorithm", SAMPLES, "--discount", "nan"), "--discount must be a finite number"),
        (("--algorithm", SAMPLES, "--max-kl", "0.1"), "unrecognized arguments: --max-kl"),
        (("--algorithm", SAMPLES, "--preset", "paper"), "invalid choice: 'paper'"),
        (("--algorithm", SAMPLES, "--learner", "sharded"), "has no assist()"),
    ],
)
def test_bad_requests_are_refused_before_any_work(options, expected, folder):
    outcome = run("train.py", "--env", "CartPole-v1", *options, "--out", "run", ranks=2, cwd=folder)
    assert outcome.code == 2
    assert expected in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (folder / "run").exists()


# What shows only when work has begun: exit code 1, and the reason in one line
LATE = {
    "an equation without a solution": (
        "/ (norm + 1e-8)\n",
        "/ (norm + 1e-8)\n        np.linalg.inv(np.zeros((2, 2)))\n",
        "learn() failed in update 1 (Singular matrix). Mean observations were up to ",
    ),
    "a theta that is not finite": ("self.theta = self.theta +", "self.theta = np.nan * self.theta +", "is not finite"),
    "a theta of another shape": (
        "/ (norm + 1e-8)\n",
        "/ (norm + 1e-8)\n        self.theta = self.theta[1:]\n",
        "theta is float64 of shape (4609,), not float64 of shape (4610,), after learn()",
    ),
    "no theta any more": (
        "/ (norm + 1e-8)\n",
        "/ (norm + 1e-8)\n        self.theta = None\n",
        "theta is object of shape ()",
    ),
    "a column that is an array": ('{"gradient_norm": norm}', '{"gradient_norm": g}', "holds one number or word"),
    "a digest with wrong rows": ('"returns": returns}', '"returns": returns[1:]}', "one row for each step"),
    "other columns": ('{"gradient_norm": norm}', '{"norm": norm}', "must return a dict of its columns"),
    "a digest that is None": (
        '        return {"observations',
        '        {"observations',
        "dict of arrays, not NoneType",
    ),
    "a digest of ragged lists": (
        '"returns": returns}',
        '"returns": [[1.0], [1.0, 2.0]]}',
        "must be an array of numbers",
    ),
    "a digest with a number as a name": ('"returns": returns}', '"returns": returns, 3: returns}', "an array called 3"),
    "a digest with a name of the run's own": (
        '"returns": returns}',
        '"returns": returns, "found_x": returns}',
        "'found_x'",
    ),
    "a digest that is no array": ('"returns": returns}', '"returns": 3.0}', "must be an array of numbers"),
}


@pytest.mark.parametrize("edit", LATE)
def test_what_goes_wrong_later_is_named(edit, tmp_path):
    old, new, expected = LATE[edit]
    assert GOOD.count(old) == 1
    (tmp_path / "reinforce.py").write_text(GOOD.replace(old, new))
    outcome = run("train.py", "--algorithm", SAMPLES, "--env", "CartPole-v1", "--out", "run", ranks=2, cwd=tmp_path)
    assert outcome.code == 1
    assert expected in outcome.err
    assert "Traceback" not in outcome.err


def test_a_run_cannot_be_resumed_with_another_algorithm(folder):
    train("run", "--algorithm", SAMPLES, "--env", "CartPole-v1", "--total-steps", 2000, cwd=folder)
    outcome = run("train.py", "--resume", "run", "--algorithm", GRADIENTS, cwd=folder)
    assert outcome.code == 2
    assert "--algorithm reinforce_gradients:Reinforce differs from the reinforce:Reinforce" in outcome.err
    (folder / "reinforce.py").rename(folder / "elsewhere.py")
    lost = run("train.py", "--resume", "run", "--algorithm", SAMPLES, cwd=folder, ranks=2)
    assert lost.code == 2
    assert "cannot import reinforce" in lost.err
