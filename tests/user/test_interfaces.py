"""What others rely on: names to import, commands, flags, and what a job prints and leaves, on ranks."""

import json
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from runs import ROOT, SCRIPTS

from minitrpo.__main__ import COMMANDS, main
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.run_folder.folder import RunFolder, sha256

FLAGS = {
    *("--algorithm", "--env", "--total-steps", "--steps-per-update", "--max-kl", "--adapt", "--margin", "--pool"),
    *("--requests", "--learner", "--seed", "--out", "--resume", "--preset"),
}
CHOICES = {"--adapt": "{none,steps,kl,both,noise}", "--pool": "{dynamic,static}", "--learner": "{root,sharded}"}
SOURCED = ("--max-kl", "--adapt", "--margin", "--pool", "--discount", "--cg-iterations", "--fisher-fraction")
BARE = {
    "--resume",
    "--config",
    "--seeds",
    "--trace",
    "--log",
    "--oversubscribe",
    "--progress",
    "--stuck-after",
    "--preset",
}
COLUMNS = {
    *("iteration", "env_steps", "episodes", "mean_return", "mean_length", "steps_per_update", "max_kl", "kl"),
    *("surrogate_gain", "line_search_steps", "collect_s", "wait_s", "gather_s", "update_s", "iteration_s", "ranks"),
}
FILES = {"config.json", "metrics.csv", "checkpoint.npz", "checkpoint_before.npz", "learning_curve.png"}


def test_names_to_import():
    """And `import minitrpo` alone loads nothing; neither does anything of it begin MPI."""
    code = """
import sys, minitrpo
assert not {"numpy", "gymnasium", "matplotlib", "mpi4py"} & sys.modules.keys()
from minitrpo import AlgorithmFailed, BadInput, EpisodeFailed, Evaluation, Run, TrainedPolicy, evaluate, load, train
from minitrpo.checks import check, hint, hunt, mine, names, target
assert {"evaluate", "load", "train"} <= set(dir(minitrpo))
assert not {"mpi4py.MPI", "matplotlib"} & sys.modules.keys()
assert not hasattr(minitrpo, "trian")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_command_answers_help(capsys):
    assert COMMANDS.keys() >= {"train", "check", "new", "evaluate", "plot", "watch", "replay", "doctor", "grade"}
    for words in ([], *([name] for name in COMMANDS)):
        assert main([*words, "--help"]) == 0
        assert capsys.readouterr().out.startswith("usage: ")


def flags(text):
    """Return what a help page says of each flag."""
    parts = [part.split(None, 1) for part in text.split("\n  --")[1:]]
    return {f"--{flag.rstrip(',')}": " ".join(said.split()) for flag, said in parts}


def test_help_explains_each_flag_with_its_default_and_its_source(capsys):
    for name in ALGORITHMS:
        assert main(["train", "--algorithm", name, "--help"]) == 0
        found = flags(capsys.readouterr().out)
        bare = {flag for flag, said in found.items() if "(default: " not in said}
        assert bare <= BARE, name
        assert min(len(said) for said in found.values()) > 15, "a sentence, not a name alone"
        if name == "trpo":
            assert found.keys() >= FLAGS
            assert all(found[flag].startswith(choices) for flag, choices in CHOICES.items())
            assert all("source: " in found[flag] for flag in SOURCED)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A job of two ranks: what it printed, and the run's folder."""
    folder = tmp_path_factory.mktemp("job") / "run"
    words = ["--env", "Pendulum-v1", "--preset", "episodes", "--steps-per-update", "200", "--total-steps", "1000"]
    command = ["mpiexec", "-n", "2", sys.executable, str(SCRIPTS / "train.py"), *words, "--trace", "--oversubscribe"]
    done = subprocess.run([*command, "--out", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout, folder


@pytest.mark.mpi
def test_the_last_line_is_the_hash_of_theta(job):
    text, folder = job
    with np.load(folder / "checkpoint.npz", allow_pickle=False) as arrays:
        assert text.splitlines()[-1] == f"theta sha256: {sha256(arrays['theta'])}"
        assert all(np.isfinite(arrays[name]).all() for name in arrays.files if name != "adaptive")
    assert re.fullmatch("[0-9a-f]{64}", text.split()[-1])


@pytest.mark.mpi
def test_the_files_of_a_run_folder_and_the_columns_of_its_log(job):
    _, folder = job
    assert {path.name for path in folder.iterdir()} == FILES | {"trace.json"}
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    run = RunFolder(folder)
    assert set(run.header) >= COLUMNS
    assert set(run.columns()["ranks"]) == {2}
    assert run.read_config()["provenance"]["command"].startswith("mpiexec -n 2 python ")


@pytest.mark.mpi
def test_a_trace_shows_what_every_rank_did_when(job):
    events = json.loads((job[1] / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    for rank in (0, 1):
        mine = {event["name"] for event in spans if event["tid"] == rank}
        assert {"collect", "wait", "gather"} <= mine
        assert ("update" in mine) == (rank == 0)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans)


def test_importing_brings_nothing_unasked():
    every = "[import_module(m.name) for m in pkgutil.walk_packages(minitrpo.__path__, 'minitrpo.') if not own(m.name)]"
    steps = {
        "import minitrpo": "numpy scipy gymnasium mujoco mpi4py matplotlib",
        "import minitrpo.trpo, minitrpo.critics, minitrpo.adaptive": "gymnasium mujoco mpi4py matplotlib",
        every: "mpi4py matplotlib imageio IPython ipywidgets jupyter pygame",
    }
    code = [
        "import pkgutil, re, sys",
        "from importlib import import_module",
        "own = re.compile('course|checks|__').search",
    ]
    for step, unwanted in steps.items():
        code += [step, f"print([name for name in {unwanted.split()} if name in sys.modules])"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split("\n"), done.stderr) == (["[]", "[]", "[]", ""], "")


def test_the_version_is_that_of_the_project(capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"minitrpo {project['version']}\n"
