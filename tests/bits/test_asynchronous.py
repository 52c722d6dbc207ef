"""The asynchronous driver: to the bit with an event queue; over real transports nothing is lost and nothing hangs."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest
from runs import SCRIPTS, lasting, run, train
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

import minitrpo
from minitrpo.algorithms.asynchronous import AsynchronousSettings
from minitrpo.algorithms.options import option
from minitrpo.contract import defect
from minitrpo.run_folder.folder import RunFolder

ONE = ("--envs-per-worker", 1)
JOB = ("--algorithm", "a3c", "--env", "CartPole-v1", *ONE, "--t-max", 5, "--steps-per-update", 200, "--hidden", "8",
       "--anneal-steps", 200_000)  # fmt: skip
EVENTS = (*JOB, "--transport", "events", "--workers", 3)


def go_on(folder, *arguments, ranks=0):
    outcome = run("train.py", "--resume", folder, "--progress", "none", *arguments, ranks=ranks)
    assert outcome.code == 0, outcome.out + outcome.err
    return outcome


@pytest.mark.parametrize("more", [(), ("--max-lead", 1, "--delay-jitter", 3.0, "--envs-per-worker", 2)])
def test_events_give_the_same_bits_on_any_ranks_and_across_a_resume(more, tmp_path):
    alone = train(tmp_path / "alone", *EVENTS, *more, "--total-steps", 1000)
    assert train(tmp_path / "on2", *EVENTS, *more, "--total-steps", 1000, ranks=2).sha256 == alone.sha256
    train(tmp_path / "half", *EVENTS, *more, "--total-steps", 400)
    assert go_on(tmp_path / "half", "--total-steps", 1000).sha256 == alone.sha256
    assert lasting(tmp_path / "half") == lasting(tmp_path / "alone")
    rows = RunFolder(tmp_path / "alone").columns()
    assert rows["staleness_max"].max() >= 1


def test_equal_workers_are_as_stale_as_there_are_others(tmp_path):
    train(tmp_path / "run", *EVENTS, "--delay-jitter", 0, "--total-steps", 600)
    rows = RunFolder(tmp_path / "run").columns()
    assert rows["staleness_mean"].tolist()[1:] == [2.0] * (len(rows["iteration"]) - 1)
    assert rows["staleness_max"].tolist() == [2.0] * len(rows["iteration"])


def test_one_rank_needs_no_server(tmp_path):
    hashes = {
        transport: train(tmp_path / transport, *JOB, "--workers", 1, "--transport", transport, "--total-steps", 600)
        for transport in ("window", "server", "events", "auto")
    }
    assert len({outcome.sha256 for outcome in hashes.values()}) == 1


def check_books(folder, t_max=5):
    """Every gradient is of t_max steps: what was applied and refused is what was stepped."""
    rows = RunFolder(folder).columns()
    under_way = rows["env_steps"] - t_max * np.cumsum(rows["applied"] + rows["refused"])
    assert under_way[-1] == 0
    assert np.all(np.abs(under_way) <= 2 * t_max), "in shared memory a row may see a push of another worker half done"
    assert np.all(np.diff(rows["env_steps"]) >= 200)
    assert rows["iteration"].tolist() == list(range(1, len(rows["iteration"]) + 1))
    checkpoint = RunFolder(folder).load_checkpoint()
    assert checkpoint["run_report"][:, 0].sum() == rows["env_steps"][-1]
    assert checkpoint["run_filter"][0] == rows["env_steps"][-1], "the filter has seen every step"
    assert checkpoint["run_tally_applied"].sum() == rows["applied"].sum()
    counted = min(checkpoint["run_tally_increments"][0], checkpoint["optimiser_updates"][0])
    assert rows["applied"].sum() - counted == rows["lost"].sum(), "what Adam did not count was lost"
    assert rows["lost"].sum() <= 0.05 * rows["applied"].sum()
    return rows


@pytest.mark.parametrize("transport", ["window", "server"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_real_transports_count_every_gradient_and_go_on_after_an_end(transport, ranks, tmp_path):
    train(tmp_path / "run", *JOB, "--transport", transport, "--total-steps", 2000, ranks=ranks)
    before = check_books(tmp_path / "run")
    assert before["refused"].sum() == 0
    go_on(tmp_path / "run", "--total-steps", 3000, ranks=5 - ranks)  # on another number of ranks
    rows = check_books(tmp_path / "run")
    assert rows["env_steps"][-1] >= 3000
    assert rows["env_steps"][: len(before["env_steps"])].tolist() == before["env_steps"].tolist()


@pytest.mark.parametrize("transport", ["window", "server", "events"])
def test_old_gradients_are_refused_and_counted(transport, tmp_path):
    job = (*JOB, "--transport", transport, "--workers", 2, "--max-staleness", 0, "--total-steps", 2000)
    train(tmp_path / "run", *job, ranks=3 if transport != "events" else 0)
    rows = check_books(tmp_path / "run")
    assert rows["staleness_max"].max() == 0
    assert rows["refused"].sum() > 0


def test_a_killed_run_goes_on(tmp_path):
    """At any instant there is a checkpoint that can be gone on from; what it counts, the log has."""
    out = tmp_path / "run"
    path = os.pathsep.join([str(sys.executable).rpartition("/")[0], os.environ["PATH"]])
    words = ["mpiexec", "-n", "2", sys.executable, str(SCRIPTS / "train.py"), "--out", str(out), "--progress", "none"]
    job = subprocess.Popen(
        [*words, *map(str, JOB), "--total-steps", "1000000", "--transport", "server"],
        env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not ((out / "checkpoint.npz").exists() and RunFolder(out).rows()[3:]):
        time.sleep(0.1)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    time.sleep(2.0)  # the ranks notice
    steps = int(RunFolder(out).load_checkpoint()["run_counters"][1])
    go_on(out, "--total-steps", steps + 400, ranks=3)
    rows = check_books(out)
    assert rows["env_steps"][-1] >= steps + 400


@pytest.mark.parametrize(("ranks", "transport"), [(0, "events"), (3, "window"), (3, "server")])
@pytest.mark.parametrize(
    ("mode", "cause"), [("raise", "the arm fell off"), ("stuck", "is stuck: no environment step for 2 s")]
)
def test_a_failing_environment_ends_the_job_with_one_message(mode, cause, ranks, transport, tmp_path):
    env = f"failing_envs:Failing-{mode}-v0"
    outcome = run(
        "train.py", "--algorithm", "a3c", "--env", env, "--out", tmp_path / "run", "--progress", "none",
        "--total-steps", 100_000, "--stuck-after", 2, "--transport", transport, ranks=ranks, timeout=60,
    )  # fmt: skip
    assert outcome.code != 0
    said = re.findall(r"^minitrpo: rank (\d+) (.*)$", outcome.err, re.MULTILINE)
    assert len(said) == 1, outcome.err
    assert cause in said[0][1]
    seeds = [int(seed) for seed in re.findall(r"reset seed (\d+)", said[0][1])]
    assert len(seeds) == 1
    assert seeds[0] % 7 == 3, "the episode named is the one that failed"
    assert f"--resume {tmp_path / 'run'}" in outcome.err
    assert ("to play that episode in one process: " in outcome.err) == (transport == "events")
    if mode == "raise":
        episode, iteration = re.search(r"episode (\d+) of iteration (\d+)", said[0][1]).groups()
        again = run("replay.py", tmp_path / "run", episode, "--iteration", iteration)
        if transport == "events":  # plays what failed again, to the bit
            assert again.code == 1
            assert f"episode {episode} of iteration {iteration}" in again.err
        else:
            assert again.code == 2
            assert "failure.txt" in again.err


def test_what_cannot_be_is_refused_in_one_line(tmp_path):
    for words in (("--transport", "pigeons"), ("--workers", 0), ("--t-max", 0), ("--record-every", 3)):
        outcome = run("train.py", *JOB, "--out", tmp_path / "run", *words)
        assert outcome.code == 2, words
        assert len(outcome.err.strip().splitlines()) == 1
        assert words[0] in outcome.err
    assert not (tmp_path / "run").exists()


def test_a_run_can_be_watched_and_a_changed_checkpoint_is_refused(tmp_path):
    train(tmp_path / "run", *EVENTS, "--total-steps", 200, new=True)
    place = tmp_path / "run" / "checkpoint.npz"
    arrays = dict(np.load(place))
    assert (tmp_path / "run" / "learning_curve.png").exists()
    arrays["optimiser_moment"] = arrays["optimiser_moment"][1:]
    np.savez(place, **arrays)
    outcome = run("train.py", "--resume", tmp_path / "run", "--total-steps", 400)
    assert outcome.code == 2
    assert "its checksum differs" in outcome.err


# --- what an asynchronous algorithm is


@dataclass(frozen=True)
class Settings(AsynchronousSettings):
    step_size: float = option(0.1, "how far", above=0)


class Fine:
    Settings = Settings
    columns = ("size",)

    def __init__(self, settings, context): ...
    def state(self): ...
    def gradient(self, shared, fragment, now, rng): ...
    def apply(self, shared, gradient, now): ...


def test_what_an_asynchronous_algorithm_must_have():
    assert defect(Fine, set()) == ""

    def changed(**attributes):
        return defect(type("Changed", (Fine,), attributes), set())

    assert "gradient(self, shared)" in changed(gradient=lambda self, shared: None).replace("lambda", "")
    assert "AsynchronousSettings" in changed(Settings=Plain)
    assert "pulled" in changed(pulled=["theta"])
    assert "pulled" in changed(pulled=("phi",))
    assert "transports" in changed(transports=("pigeons",))
    assert "worker_state" in changed(worker_state=lambda self: {})
    assert "state" in changed(state=None)


@dataclass(frozen=True)
class Plain:
    step_size: float = option(0.1, "how far", above=0)


REPLAY = '''
from dataclasses import dataclass
import numpy as np
from minitrpo.algorithms import Purpose, option
from minitrpo.algorithms.asynchronous import AsynchronousSettings

@dataclass(frozen=True)
class Settings(AsynchronousSettings):
    full: int = option(20, "steps before the first gradient")

class Remembers:
    """Pushes sums over a memory of its own; refuses every fifth; acts on something else than theta."""
    Settings, columns, pulled, transports = Settings, ("seen",), ("theta", "other"), ("events", "server")
    def __init__(self, settings, context):
        self.s, self.context, self.policy = settings, context, context.policy
        self.rewards = np.zeros(0)
    def state(self):
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        return {"theta": theta, "other": np.zeros(2), "calls": np.zeros(1, np.int64)}
    def acting(self, shared, now):
        return shared["theta"] + shared["other"][0]
    def gradient(self, shared, fragment, now, rng):
        self.rewards = np.append(self.rewards, fragment.rewards * rng.random())
        said = {"seen": float(len(self.rewards))}
        if len(self.rewards) < self.s.full:
            return {}, {"seen": float("nan")}
        return {"sum": self.rewards[-50:].sum(keepdims=True)}, said
    def apply(self, shared, gradient, now):
        shared["calls"] += 1
        if shared["calls"][0] % 5 == 0:
            return False
        shared["theta"] += 1e-6 * gradient["sum"] + 1e-9 * now.staleness + 1e-9 * self.context.workers
        shared["other"][0] += 1e-6
    def worker_state(self):
        return {"rewards": self.rewards}
    def restore_worker(self, arrays):
        self.rewards = arrays["rewards"]
'''


def test_a_users_own_with_a_state(tmp_path):
    (tmp_path / "mine.py").write_text(REPLAY)
    job = ("--algorithm", "mine:Remembers", "--env", "Pendulum-v1", "--steps-per-update", 100, "--hidden", "4")
    events = (*job, "--transport", "events")
    alone = train("alone", *events, "--total-steps", 900, cwd=tmp_path)
    train("half", *events, "--total-steps", 300, cwd=tmp_path)
    more = ("--resume", "half", *job[:2], "--total-steps", 900, "--progress", "none")
    resumed = run("train.py", *more, cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert resumed.sha256 == alone.sha256
    assert lasting(tmp_path / "half") == lasting(tmp_path / "alone")
    rows = RunFolder(tmp_path / "alone").columns()
    assert 0 < rows["refused"].sum() < rows["applied"].sum()
    assert 5 * (rows["applied"] + rows["refused"]).sum() == 900 - 2 * 15, "two workers filled their buffers"
    train("real", *job, "--total-steps", 300, ranks=3, cwd=tmp_path)  # auto: the first that it can do, the server
    outcome = run("train.py", *job, "--transport", "window", cwd=tmp_path)
    assert outcome.code == 2
    assert "works over events, server" in outcome.err


SPOILT = {  # an edit of the algorithm above, and what is said
    "acts on nothing": ('return shared["theta"] + shared["other"][0]', "return None", "acting() returned None"),
    "a number as a name": ('return {"sum": self', "return {3: self", "gradient() returned 3"),
    "a word for a column": (
        'said = {"seen": float(len(self.rewards))}',
        'said = {"seen": "many"}',
        "column seen = 'many'",
    ),
    "steps too far": ('shared["theta"] += 1e-6 *', 'shared["theta"] += 1e308 *', "theta is not finite in update"),
    "takes theta away": (
        'shared["calls"] += 1\n',
        'shared["calls"] += 1\n        del shared["theta"]; return\n',
        "in place",
    ),
    "another theta": (
        'shared["calls"] += 1\n',
        'shared["calls"] += 1\n        shared["theta"] = 1.0; return\n',
        "in place",
    ),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_what_an_asynchronous_algorithm_spoils_later_is_named(spoilt, tmp_path):
    old, new, said = SPOILT[spoilt]
    assert REPLAY.count(old) == 1
    (tmp_path / "mine.py").write_text(REPLAY.replace(old, new))
    job = ("--algorithm", "mine:Remembers", "--env", "Pendulum-v1", "--steps-per-update", 100, "--hidden", "4")
    for transport, ranks in (("events", 1), ("server", 2)):
        words = (*job, "--transport", transport, "--total-steps", 900, "--out", transport, "--progress", "none")
        outcome = run("train.py", *words, ranks=ranks, cwd=tmp_path)
        assert outcome.code == 1
        assert said in outcome.err, outcome.err
        assert "Traceback" not in outcome.err


def test_an_episode_of_a_later_update_is_played_again_from_the_beginning(tmp_path):
    """Seed 5 fails in its ninth update, long after its only checkpoint."""
    few = ("--workers", 2, "--envs-per-worker", 1, "--hidden", 4, "--steps-per-update", 100, "--checkpoint-every", 1000)
    words = ("--algorithm", "a3c", "--env", "failing_envs:Failing-raise-v0", "--transport", "events", "--seed", 5)
    outcome = run("train.py", *words, *few, "--total-steps", 5_000, "--out", tmp_path / "run", "--progress", "none")
    episode, iteration = map(int, re.search(r"episode (\d+) of iteration (\d+)", outcome.err).groups())
    assert iteration > 3
    again = run("replay.py", tmp_path / "run", episode, "--iteration", iteration)
    assert f"episode {episode} of iteration {iteration}" in again.err
    early = run("replay.py", tmp_path / "run", episode, "--iteration", iteration - 1)
    assert "did not fail" in early.out


@pytest.mark.parametrize(("workers", "envs"), [(3, 2), (2, 3), (4, 1)])
def test_no_two_workers_ever_play_the_same_episode(workers, envs, monkeypatch, tmp_path):
    seeds, reset = [], CartPoleEnv.reset

    def noted(self, *, seed=None, options=None):
        seeds.append(seed)
        return reset(self, seed=seed, options=options)

    monkeypatch.setattr(CartPoleEnv, "reset", noted)
    settings = {"t_max": 5, "steps_per_update": 200, "hidden": "8", "transport": "events", "total_steps": 1000}
    settings |= {"env": "CartPole-v1", "algorithm": "a3c", "workers": workers, "envs_per_worker": envs}
    minitrpo.train(**settings, out=tmp_path / "run")
    played = seeds[-30:]  # the first were tried before the run: which episode does not repeat itself
    assert len(set(played)) == len(played)
