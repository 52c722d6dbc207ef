"""From Python: train, load and evaluate do in the caller's process what the commands do, and leave it as it was.

What is compared with them runs in a new process. BLAS has one thread here, by `classroom`, as in all tests that fork.
"""

import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from runs import ROOT, TOYS, lasting, run, train
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv
from gymnasium.wrappers import TimeLimit

import minitrpo
import minitrpo.course.classroom  # one thread
from minitrpo import AlgorithmFailed, BadInput, EpisodeFailed, Run, evaluate, load
from minitrpo.algorithms import Algorithm, Plan, Purpose, option
from minitrpo.experience import given, rollouts
from minitrpo.reports import trained

SMALL = {"steps_per_update": 300, "hidden": "8", "progress": "none"}
SAME = ("--steps-per-update", 300, "--hidden", "8")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))


def test_it_is_the_run_of_the_command(tmp_path):
    own = minitrpo.train("CartPole-v1", total_steps=900, seed=3, out="own", **SMALL)
    train(tmp_path / "theirs", "--env", "CartPole-v1", "--total-steps", 900, "--seed", 3, *SAME, new=True)
    assert own == Run(tmp_path / "own")
    assert lasting(own.path) == lasting(tmp_path / "theirs")
    assert (own.path / "learning_curve.png").exists()


def test_it_goes_on_in_the_same_process():
    whole = minitrpo.train("CartPole-v1", total_steps=1500, out="whole", **SMALL)
    half = minitrpo.train("CartPole-v1", total_steps=600, out="half", **SMALL)
    assert minitrpo.train(resume=half, total_steps=1500, progress="none") == half
    assert lasting(half.path) == lasting(whole.path)
    assert minitrpo.train(resume=str(half.path), progress="none") == half, "nothing is left to do"


def test_rows_are_numbers():
    own = minitrpo.train("CartPole-v1", total_steps=900, eval_every=600, eval_episodes=2, **SMALL)
    rows, columns = own.rows(), own.columns()
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    assert {type(rows[-1][name]) for name in ("env_steps", "episodes")} == {int}
    assert {type(row["eval_return"]) for row in rows} == {float}
    assert np.isnan(rows[0]["eval_return"])
    assert np.isfinite(rows[1]["eval_return"])
    assert rows[0]["line_search"] == "accepted"
    assert columns["env_steps"].tolist() == [row["env_steps"] for row in rows]
    assert own.settings["eval_every"] == 600


# --- environments and algorithms as objects


class Heavy(CartPoleEnv):
    def __init__(self, **options):
        super().__init__(**options)
        self.gravity = 20.0


def limited():
    return TimeLimit(PendulumEnv(), 50)


@pytest.mark.parametrize("env", [limited, lambda: TimeLimit(Heavy(), 20), Heavy])
def test_an_environment_may_be_a_class_or_what_makes_one(env):
    own = minitrpo.train(env, total_steps=600, **SMALL)
    size = load(own).spec.observation_size
    assert [evaluate(own, n).returns.shape for n in (1, 2)] == [(1,), (2,)]
    assert load(own)(np.zeros((5, size))).shape[0] == 5


def test_an_episode_that_never_ends_is_left(monkeypatch):
    monkeypatch.setattr(rollouts, "MOST_STEPS", 70)
    own = minitrpo.train(PendulumEnv, total_steps=300, **SMALL)
    limited_own = minitrpo.train(lambda: TimeLimit(PendulumEnv(), 70), total_steps=300, **SMALL)
    assert evaluate(own, 3).returns.tolist() == evaluate(limited_own, 3).returns.tolist()


def test_two_functions_of_one_name_are_two_environments():
    """And the second does not become the first's."""
    both = [minitrpo.train(lambda n=n: TimeLimit(CartPoleEnv(), n), total_steps=300, **SMALL) for n in (5, 7)]
    assert [evaluate(one, 4).returns.max() for one in both] == [5, 7]
    assert both[0].settings["env"] != both[1].settings["env"]


def test_an_importable_class_is_found_by_the_commands(tmp_path):
    (tmp_path / "worlds.py").write_text("from gymnasium.envs.classic_control import CartPoleEnv\n")
    job = ("--env", "worlds:CartPoleEnv", "--total-steps", 300, *SAME)
    done = run("train.py", *job, "--out", "run", "--progress", "none", cwd=tmp_path, new=True)
    assert done.code == 0, done.err
    refused = run("train.py", "--env", "worlds:Nothing", cwd=tmp_path, new=True)
    assert (refused.code, "unknown environment 'worlds:Nothing'" in refused.err) == (2, True)


def test_what_no_other_process_can_import_is_handed_over_again(tmp_path):
    own = minitrpo.train(lambda: TimeLimit(Heavy(), 20), total_steps=300, **SMALL)
    expected = evaluate(own, 3).returns
    given.GIVEN.clear()
    with pytest.raises(BadInput, match="unknown environment"):
        load(own)
    assert evaluate(own, 3, env=lambda: TimeLimit(Heavy(), 20)).returns.tolist() == expected.tolist()


class Still(Algorithm):
    """Learns nothing."""

    columns = ("rows",)

    class Settings:
        pass

    def __init__(self, settings, context):
        self.bounds = context.action_low, context.action_high
        self.theta = context.policy.initialise(context.generator(Purpose.POLICY))

    def plan(self):
        return Plan(self.theta)

    def digest(self, plan, fragment):
        return {"rewards": fragment.rewards}

    def learn(self, batch, rng):
        return {"rows": len(batch["rewards"])}

    def state(self):
        return {"theta": self.theta, "bounds": np.array(self.bounds)}

    def restore(self, arrays):
        self.theta = arrays["theta"]


import dataclasses  # noqa: E402


@dataclasses.dataclass(frozen=True)
class StillSettings:
    pace: float = option(1.0, "of nothing", above=0)


Still.Settings = StillSettings


def test_an_algorithm_may_be_a_class_and_knows_the_bounds_of_actions():
    own = minitrpo.train("Pendulum-v1", algorithm=Still, total_steps=900, pace=2.0, **SMALL)
    assert own.settings["pace"] == 2.0
    arrays = minitrpo.library.RunFolder(own.path).load_checkpoint()
    assert arrays["bounds"].tolist() == [[-2.0], [2.0]]
    again = minitrpo.train(resume=own, algorithm=Still, total_steps=1200, progress="none")
    assert len(again.rows()) > 3 or again.rows()[-1]["env_steps"] >= 1200


# --- what goes wrong is an exception

BAD = {
    "an unknown environment": ({"env": "CartPol-v1"}, "unknown environment"),
    "an environment that was made": ({"env": gymnasium.make("CartPole-v1")}, "was made already"),
    "what makes no environment": ({"env": dict}, "is no gymnasium.Env"),
    "an unknown setting": ({"pace": 3}, "unrecognized arguments: pace=3; see minitrpo train --help"),
    "a text for a number": ({"total_steps": "many"}, "argument total_steps: invalid integer value"),
    "a limit": ({"max_kl": -1}, r"^max_kl must lie in \(0, 1000\], not -1.0"),
    "no run": ({"resume": "nowhere"}, "there is no folder nowhere"),
    "a new run and an old one": ({"resume": "RUN", "out": "new"}, "give one of the two"),
    "another seed of an old one": ({"resume": "RUN", "seed": 4}, "^seed 4 differs from the 0"),
    "another environment of an old one": ({"resume": "RUN", "env": "Reacher-v5"}, "differs from the 'CartPole-v1'"),
    "a folder in use": ({"out": "RUN"}, "exists and is not empty"),
    "seeds": ({"seeds": "0-4"}, "call train once for each seed"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_makes_no_sense_is_a_value_error(what, cartpole_run, tmp_path):
    settings, says = BAD[what]
    settings = {name: cartpole_run if value == "RUN" else value for name, value in settings.items()}
    with pytest.raises(ValueError, match=says) as caught:
        minitrpo.train(**{"progress": "none", **settings})
    assert caught.type is BadInput
    assert list(tmp_path.iterdir()) == []


def test_a_failing_episode_is_named_and_its_run_can_go_on(monkeypatch):
    with pytest.raises(EpisodeFailed, match="the arm fell off") as caught:
        minitrpo.train("failing_envs:Failing-raise-v0", total_steps=40_000, out="run", **SMALL)
    assert isinstance(caught.value.__cause__.__cause__, RuntimeError), "the environment's own traceback is kept"
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    assert minitrpo.train(resume="run", total_steps=600, progress="none").rows()


def test_an_algorithm_that_fails_is_named():
    with pytest.raises(AlgorithmFailed, match="learn"):
        minitrpo.train("CartPole-v1", algorithm=Wrong, total_steps=900, **SMALL)


class Wrong(Still):
    def learn(self, batch, rng):
        return {}


# --- the caller's process

LEFT = """
import os, signal, sys, threading
import matplotlib
matplotlib.use("svg")
from matplotlib import pyplot
import numpy as np
from threadpoolctl import threadpool_info
import minitrpo

def state():
    handlers = {n: signal.getsignal(n) for n in signal.valid_signals()}
    threads = [each["num_threads"] for each in threadpool_info()]
    streams = [sys.stdout, sys.stderr, *(os.fstat(n).st_ino for n in (0, 1, 2))]
    cells = matplotlib.get_backend(), pyplot.get_fignums(), os._exit, os.getcwd(), dict(os.environ), signal.getitimer(0)
    return handlers, threads, streams, cells, threading.active_count(), np.geterr()

settings = {"steps_per_update": 300, "hidden": "8", "progress": "none"}
minitrpo.train("CartPole-v1", total_steps=300, out="warm", **settings).plot()  # what is loaded stays
before, files = state(), len(os.listdir("/proc/self/fd"))
run = minitrpo.train("CartPole-v1", total_steps=600, out="run", **settings)
run = minitrpo.train(resume=run, total_steps=900, progress="none")
for bad in ({"out": "run"}, {"resume": "run", "seed": 9}, {"env": "failing_envs:Failing-raise-v0"}):
    try:
        minitrpo.train(**{"total_steps": 40_000, "progress": "none", **bad})
    except (ValueError, RuntimeError):
        pass
    else:
        raise SystemExit("no exception")
minitrpo.evaluate(run, 3), minitrpo.load(run)([0, 0, 0, 0]), run.plot().savefig("picture.png")
assert state() == before, (state(), before)
assert len(os.listdir("/proc/self/fd")) == files
assert "mpi4py.MPI" not in sys.modules
try:
    os.waitpid(-1, os.WNOHANG)
    raise SystemExit("a process is left")
except ChildProcessError:
    pass
"""


def python(*words, ranks=0, **extra):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TOYS)]), **extra}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    launcher = ["mpiexec", "-n", str(ranks)] if ranks else []
    command = [*launcher, sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_the_process_is_left_as_it_was():
    done = python("-c", LEFT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr


ON_RANKS = """
import json, sys
from pathlib import Path
from minitrpo import evaluate, load, train
run = train("CartPole-v1", total_steps=600, steps_per_update=300, hidden=(8,), progress="none", oversubscribe=True,
            out=sys.argv[1])
run = train(resume=run, total_steps=900, progress="none", oversubscribe=True)
found = evaluate(run, 11)
Path(f"{sys.argv[1]}-{__import__('minitrpo.parallel.launcher').parallel.launcher.launched_rank()}").write_text(
    json.dumps([found.returns.tolist(), found.mean, found.interval, load(run)([0.1, 0, 0, 0]), len(run.rows())]))
"""


def test_under_mpiexec_all_ranks_share_the_work_and_get_the_same_numbers(tmp_path):
    (tmp_path / "mine.py").write_text(ON_RANKS)
    for ranks in (0, 2, 3):
        done = python("mine.py", f"on{ranks}", ranks=ranks)
        assert (done.returncode, done.stderr) == (0, "")
    said = {path.read_text() for path in tmp_path.glob("on*-*")}
    assert (len(said), len(list(tmp_path.glob("on*-*")))) == (1, 6)
    assert lasting(tmp_path / "on0") == lasting(tmp_path / "on2") == lasting(tmp_path / "on3")


def test_a_failure_of_one_rank_ends_all(tmp_path):
    job = '"failing_envs:Failing-raise-v0", total_steps=40_000, progress="none", oversubscribe=True, pool="static"'
    (tmp_path / "mine.py").write_text(f"from minitrpo import train\ntrain({job})\n")
    done = python("mine.py", ranks=3)
    assert done.returncode != 0
    assert "stopped: failing_envs:Failing-raise-v0 failed in episode" in done.stderr
    (tmp_path / "bad.py").write_text('from minitrpo import train\ntrain("CartPole-v1", max_kl=-1)\n')
    done = python("bad.py", ranks=2)
    assert done.returncode != 0
    assert done.stderr.count("BadInput: max_kl must lie in") == 2


# --- help, types, a notebook


def test_help_shows_the_way_in():
    text = pydoc.plain(pydoc.render_doc(minitrpo))
    for name in ("train(env", "load(run", "evaluate(run", "class Run", "class BadInput"):
        assert name in text, name
    assert "run = train(" in text
    for function in (minitrpo.train, minitrpo.load, minitrpo.evaluate):
        assert function.__doc__


@pytest.mark.slow
def test_a_type_checker_reads_the_types(tmp_path):
    (tmp_path / "user.py").write_text(
        "import minitrpo\nrun = minitrpo.train('CartPole-v1', total_steps=5)\nreveal_type(run)\n"
        "reveal_type(minitrpo.evaluate(run).mean)\nminitrpo.load(3)\n"
    )
    done = python("-m", "mypy", "--strict", "--config-file=", "user.py", MYPYPATH=str(ROOT))
    assert 'Revealed type is "minitrpo.library.Run"' in done.stdout
    assert re.search(r'user.py:4: note: Revealed type is "(builtins\.)?float"', done.stdout)
    assert 'user.py:5: error: Argument 1 to "load" has incompatible type "int"' in done.stdout


@pytest.mark.slow
def test_a_notebook_shows_progress_and_the_picture():
    import nbclient
    import nbformat

    cells = [
        "import minitrpo",
        "run = minitrpo.train('CartPole-v1', total_steps=2000, steps_per_update=500)",
        "run.plot()",
        "run = minitrpo.train(resume=run, total_steps=3000, progress='none')\nlen(run.rows())",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120).execute()
    _, trained, picture, number = (cell.outputs for cell in notebook.cells)
    text = "".join(output.text for output in trained)
    assert {output.name for output in trained} == {"stdout"}
    assert "100%" in text
    assert "run folder runs" in text
    assert "image/png" in picture[0].data
    assert int(number[0].data["text/plain"]) >= 5
    (folder,) = Path("runs").iterdir()
    assert '"command": "a notebook"' in (folder / "config.json").read_text()


def test_a_run_of_the_command_is_one_for_python(cartpole_run):
    assert evaluate(cartpole_run, 5).returns.tolist() == evaluate(Run(cartpole_run), 5).returns.tolist()
    assert run("evaluate", cartpole_run, "--episodes", 5).out == f"{evaluate(cartpole_run, 5)}\n"


def pushed():
    return TimeLimit(CartPoleEnv(), 5)


def test_what_is_handed_over_stands_for_a_name_in_that_call_alone(cartpole_run):
    before = evaluate(cartpole_run, 3).returns.tolist()
    assert evaluate(cartpole_run, 3, env=pushed).returns.tolist() == [5, 5, 5]
    for call in (evaluate, load):
        with pytest.raises(BadInput):
            call(cartpole_run, env=PendulumEnv)
    load(cartpole_run, env=pushed)
    assert evaluate(cartpole_run, 3).returns.tolist() == before
    first = minitrpo.train("CartPole-v1", total_steps=600, out="first", **SMALL)
    minitrpo.train(resume=first, total_steps=900, env=pushed, progress="none")
    again = minitrpo.train("CartPole-v1", total_steps=600, out="again", **SMALL)
    assert again.columns()["mean_return"].tolist() == first.columns()["mean_return"][:2].tolist()
    assert again.columns()["mean_return"].min() > 5


def test_so_many_episodes_and_no_more(cartpole_run, monkeypatch):
    monkeypatch.setattr(trained, "MOST_EPISODES", 2)
    assert len(evaluate(cartpole_run, 2).returns) == 2
    for number in (0, 3):
        with pytest.raises(BadInput, match=r"must lie in \[1, 2\]"):
            evaluate(cartpole_run, number)
