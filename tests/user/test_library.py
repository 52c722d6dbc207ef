"""From Python: train, load and evaluate do in the caller's process what the commands do, and leave it as it was."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv
from gymnasium.wrappers import TimeLimit
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from runs import ROOT, TOYS, lasting, run, train

import minitrpo
import minitrpo.course.classroom  # one thread
from minitrpo import BadInput, EpisodeFailed, Run, evaluate, load
from minitrpo.course.reinforce import Reinforce
from minitrpo.experience import rollouts, trust

SMALL = {"steps_per_update": 300, "hidden": "8", "progress": "none"}
SAME = ("--steps-per-update", 300, "--hidden", "8")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))


def test_it_is_the_run_of_the_command(tmp_path):
    own = minitrpo.train("CartPole-v1", total_steps=900, seed=3, out="own", **SMALL)
    train(tmp_path / "theirs", "--env", "CartPole-v1", "--total-steps", 900, "--seed", 3, *SAME)
    assert own == Run(tmp_path / "own")
    assert lasting(own.path) == lasting(tmp_path / "theirs")
    assert (own.path / "learning_curve.png").exists()
    assert evaluate("theirs", 5).returns.tolist() == evaluate(own, 5).returns.tolist()
    assert run("evaluate", "theirs", "--episodes", 5, cwd=tmp_path).out == f"{evaluate(own, 5)}\n"


def test_it_goes_on_in_the_same_process_and_rows_are_numbers():
    evaluations = {"eval_every": 600, "eval_episodes": 2}
    whole = minitrpo.train("CartPole-v1", total_steps=900, out="whole", **evaluations, **SMALL)
    half = minitrpo.train("CartPole-v1", total_steps=300, out="half", **evaluations, **SMALL)
    assert minitrpo.train(resume=half, total_steps=900, progress="none") == half
    assert lasting(half.path) == lasting(whole.path)
    assert minitrpo.train(resume=str(half.path), progress="none") == half, "nothing is left to do"
    rows = half.rows()
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    assert {type(rows[-1][name]) for name in ("env_steps", "episodes")} == {int}
    assert [np.isfinite(row["eval_return"]) for row in rows] == [False, True, False]
    assert rows[0]["line_search"] == "accepted"
    assert half.columns()["env_steps"].tolist() == [row["env_steps"] for row in rows]


# --- environments and algorithms as objects


class Heavy(CartPoleEnv):
    def __init__(self, **options):
        super().__init__(**options)
        self.gravity = 20.0


def limited(steps=50, env=PendulumEnv):
    return TimeLimit(env(), steps)


@pytest.mark.parametrize("env", [limited, Heavy, PendulumEnv])
def test_an_environment_may_be_a_class_or_what_makes_one(env, monkeypatch):
    monkeypatch.setattr(rollouts, "MOST_STEPS", 70)  # of an episode without an end, which is left
    own = minitrpo.train(env, total_steps=600, **SMALL)
    size = load(own).spec.observation_size
    assert [evaluate(own, n).returns.shape for n in (1, 2)] == [(1,), (2,)]
    assert load(own)(np.zeros((5, size))).shape[0] == 5
    trust.GIVEN.clear()  # as in another process, which cannot import a lambda
    own = minitrpo.train(lambda: env(), total_steps=300, **SMALL)
    expected = evaluate(own, 1).returns.tolist()
    trust.GIVEN.clear()
    with pytest.raises(BadInput):
        load(own)
    assert evaluate(own, 1, env=lambda: env()).returns.tolist() == expected


@pytest.mark.slow
def test_a_notebook_keeps_one_picture_of_a_curve_that_was_drawn_again_and_again():
    job = "import minitrpo; _ = minitrpo.train('CartPole-v1', total_steps=900, hidden='8', progress='plot')"
    notebook = new_notebook(cells=[new_code_cell(job)])
    NotebookClient(notebook, timeout=100).execute()
    told, picture = notebook.cells[0].outputs
    assert "image/png" in picture.data, told


def test_what_is_handed_over_stands_for_a_name_in_that_call_alone(cartpole_run):
    def short():
        return limited(5, CartPoleEnv)

    before = evaluate(cartpole_run, 3).returns.tolist()
    assert evaluate(cartpole_run, 3, env=short).returns.tolist() == [5, 5, 5]
    for call, wrong in ((load, {"env": PendulumEnv}), (evaluate, {"episodes": 0}), (evaluate, {"episodes": 10**9})):
        with pytest.raises(BadInput):
            call(cartpole_run, **wrong)
    assert evaluate(cartpole_run, 3).returns.tolist() == before
    runs = [minitrpo.train(lambda n=n: limited(n, CartPoleEnv), total_steps=300, **SMALL) for n in (5, 6)]
    assert [evaluate(each, 1).mean for each in runs] == [5, 6], "two functions of one name are two environments"
    first = minitrpo.train("CartPole-v1", total_steps=300, **SMALL)
    minitrpo.train(resume=first, total_steps=600, env=short, progress="none")
    again = minitrpo.train("CartPole-v1", total_steps=300, **SMALL).columns()["mean_return"][0]
    assert first.columns()["mean_return"][-1] < again == first.columns()["mean_return"][0]


def test_an_algorithm_may_be_a_class_and_knows_the_bounds_of_actions():
    class Bounded(Reinforce):
        def __init__(self, settings, context):
            super().__init__(settings, context)
            assert (context.action_low, context.action_high) == (-2.0, 2.0)

    own = minitrpo.train("Pendulum-v1", algorithm=Bounded, total_steps=600, step_size=2.0, **SMALL)
    assert own.settings["step_size"] == 2.0
    again = minitrpo.train(resume=own, algorithm=Bounded, total_steps=900, progress="none")
    assert again.rows()[-1]["env_steps"] >= 900


# --- what goes wrong is an exception


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"env": "CartPol-v1"}, "CartPol-v1"),
        ({"env": gymnasium.make("CartPole-v1")}, "made already"),
        ({"env": dict}, "gymnasium.Env"),
        ({"env": gymnasium.make_vec("CartPole-v1", 2)}, "num_envs=2"),
        ({"env": lambda: gymnasium.make_vec("CartPole-v1", 2)}, "--num-envs 2"),
        ({"pace": 3}, "--pace"),
        ({"progress": "plot"}, "progress"),
        ({"max_lk": 0.1}, "--max-kl"),
        ({"gamma": 0.9}, "--discount"),
        ({"resume": "RUN", "out": "new"}, "out"),
        ({"resume": "RUN", "env": "Reacher-v5"}, "CartPole-v1"),
        ({"out": "RUN"}, "not empty"),
    ],
)
def test_what_makes_no_sense_is_a_value_error(settings, named, cartpole_run, tmp_path):
    settings = {name: cartpole_run if value == "RUN" else value for name, value in settings.items()}
    with pytest.raises(ValueError, match=named) as caught:
        minitrpo.train(**{"progress": "none", **settings})
    assert caught.type is BadInput
    assert list(tmp_path.iterdir()) == []


def test_a_failing_episode_is_named_and_its_run_can_go_on(monkeypatch):
    with pytest.raises(EpisodeFailed, match="the arm fell off") as caught:
        minitrpo.train("failing_envs:Failing-raise-v0", total_steps=40_000, out="run", **SMALL)
    assert isinstance(caught.value.__cause__.__cause__, RuntimeError), "the environment's own traceback is kept"
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    assert minitrpo.train(resume="run", total_steps=600, progress="none").rows()


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
    streams = [sys.stdout, sys.stderr, *(os.fstat(n).st_ino for n in (0, 1, 2)), len(os.listdir("/proc/self/fd"))]
    cells = matplotlib.get_backend(), pyplot.get_fignums(), os._exit, os.getcwd(), dict(os.environ), signal.getitimer(0)
    return handlers, threads, streams, cells, threading.active_count(), np.geterr()

settings = {"steps_per_update": 300, "hidden": "8", "progress": "none"}
pyplot.figure()
minitrpo.train("CartPole-v1", total_steps=300, out="run", **settings).plot()  # what is loaded stays
before = state()
run = minitrpo.train(resume="run", total_steps=600, progress="none")
for bad in ({"out": "run"}, {"resume": "run", "seed": 9}, {"env": "failing_envs:Failing-raise-v0"}):
    try:
        minitrpo.train(**{"total_steps": 40_000, "progress": "none", **bad})
        raise SystemExit("no exception")
    except (ValueError, RuntimeError):
        pass
minitrpo.evaluate(run, 3), minitrpo.load(run)([0, 0, 0, 0]), run.plot().savefig("picture.png")
assert state() == before, (state(), before)
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


@pytest.mark.slow
def test_the_process_is_left_as_it_was():
    done = python("-c", LEFT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr


ON_RANKS = """
import os, sys
from minitrpo import BadInput, evaluate, load, train
from minitrpo.parallel.this_process import launched_rank
settings = {"progress": "none", "oversubscribe": True}
try:
    train("CartPole-v1", max_kl=-1, **settings)
except BadInput:  # on all ranks alike
    pass
run = train("CartPole-v1", total_steps=600, steps_per_update=300, hidden=(8,), out=sys.argv[1], **settings)
run = train(resume=run, total_steps=900, **settings)
found = evaluate(run, 11)
said = [found.returns.tolist(), found.mean, found.interval, load(run)([0.1, 0, 0, 0]), len(run.rows())]
open(f"{sys.argv[1]}-{launched_rank()}", "w").write(str(said))
"""


@pytest.mark.mpi
@pytest.mark.slow
def test_under_mpiexec_all_ranks_share_the_work_and_get_the_same_numbers(tmp_path):
    (tmp_path / "mine.py").write_text(ON_RANKS)
    for ranks in (0, 3):
        done = python("mine.py", f"on{ranks}", ranks=ranks)
        assert (done.returncode, done.stderr) == (0, "")
    said = [path.read_text() for path in tmp_path.glob("on*-*")]
    assert (len(set(said)), len(said)) == (1, 4)
    assert lasting(tmp_path / "on0") == lasting(tmp_path / "on3")


@pytest.mark.mpi
def test_a_failure_of_one_rank_ends_all(tmp_path):
    job = '"failing_envs:Failing-raise-v0", total_steps=40_000, progress="none", oversubscribe=True, pool="static"'
    (tmp_path / "mine.py").write_text(f"from minitrpo import train\ntrain({job})\n")
    done = python("mine.py", ranks=2)
    assert done.returncode != 0
    assert "failing_envs:Failing-raise-v0 failed in episode" in done.stderr
