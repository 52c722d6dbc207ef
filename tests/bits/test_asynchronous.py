"""Without a barrier: over real transports every gradient is counted, nothing is lost, and a failure ends all ranks.

The bits of the event queue are those of test_conformance.py.
"""

import re

import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from on_ranks import on_ranks, settings, train_one_by_one
from runs import TOYS, lasting, run

from minitrpo.run_folder.folder import RunFolder

A3C = ("--algorithm a3c --env CartPole-v1 --envs-per-worker 1 --t-max 5 --steps-per-update 200 --hidden 8 "
       "--anneal-steps 200000 --checkpoint-every 1 ")  # fmt: skip
EVENTS = A3C + "--transport events --workers 3 "
SMALL = "--hidden 8 --warm-up 20 --batch 8 --replay-size 400 --steps-per-update 200 --total-steps 1200 "
GORILA, NAF = "--algorithm gorila --env CartPole-v1 " + SMALL, "--algorithm async-naf --env Pendulum-v1 " + SMALL
REAL = {  # on 3 ranks; some are gone on with by 2
    "window": A3C + "--transport window --total-steps 2000 --eval-every 500 --eval-episodes 3 ",
    "server": A3C + "--transport server --total-steps 2000 --eval-every 500 --eval-episodes 3 ",
    "old ones, window": A3C + "--transport window --total-steps 2000 --max-staleness 0 ",
    "old ones, server": A3C + "--transport server --total-steps 2000 --max-staleness 0 ",
    "gorila": GORILA + "--transport window ",
    "gorila, server": GORILA + "--transport server ",
    "gorila, a learner": GORILA + "--learners 1 --transport window ",
    "naf": NAF,
    "naf, a server, a learner": NAF + "--transport server --learners 1 ",
    "impala": "--algorithm impala:Impala --env CartPole-v1 --hidden 8 --steps-per-update 800 --total-steps 4000 "
              "--transport server ",
    "a memory": "--algorithm worker_memory:Remembers --env Pendulum-v1 --hidden 4 --steps-per-update 100 "
                "--total-steps 300 ",
}  # fmt: skip


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Train on 3 ranks; 2 go on, 500 steps further, with some. Return the folder, and the columns of before."""
    folder = tmp_path_factory.mktemp("real")
    on_ranks(3, [{**settings(line), "out": folder / name} for name, line in REAL.items()], folder)
    before = {name: RunFolder(folder / name).columns() for name in REAL}
    more = []
    for name in ("window", "server", "gorila", "naf", "old ones, server"):
        more.append({"resume": folder / name, "total_steps": int(before[name]["env_steps"][-1]) + 500})
    on_ranks(2, more, folder)
    return folder, before


def train_here(folder, line, **more):
    train_one_by_one([{**settings(line), "out": folder, **more}])
    return RunFolder(folder).columns()


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
    counted = min(checkpoint["run_tally_increments"][0], checkpoint["optimiser.updates"][0])
    assert rows["applied"].sum() - counted == rows["lost"].sum(), "what Adam did not count was lost"
    return rows


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("name", ["window", "server"])
def test_every_gradient_is_counted_and_a_run_goes_on_on_another_number_of_ranks(name, real):
    folder, before = real
    rows, old = check_books(folder / name), before[name]["env_steps"]
    assert rows["refused"].sum() == 0
    assert rows["env_steps"][-1] >= old[-1] + 500
    assert rows["env_steps"][: len(old)].tolist() == old.tolist()
    passed = np.diff(old // 500, prepend=0) > 0
    assert (np.isfinite(before[name]["eval_return"]) == passed).all(), "evaluated in every row that passes 500 steps"


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("name", ["old ones, window", "old ones, server"])
def test_old_gradients_are_refused_and_counted(name, real):
    rows = check_books(real[0] / name)
    assert rows["staleness_max"].max() == 0
    assert rows["refused"].sum() > 0


@pytest.mark.slow
@pytest.mark.mpi
def test_ranks_with_roles_end_together_and_count_everything(real):
    folder, columns = real
    for name in (name for name in REAL if name.startswith(("gorila", "naf"))):
        assert columns[name]["env_steps"][-1] >= 1200, name
        assert columns[name]["applied"].sum() > 0, name
        assert np.isfinite(RunFolder(folder / name).load_checkpoint()["theta"]).all(), name


@pytest.mark.slow
@pytest.mark.mpi
def test_what_only_a_learner_or_a_worker_knows_is_reported(real):
    for name in ("value_loss", "entropy", "mean_weight"):  # known to who applies
        assert np.isfinite(real[1]["impala"][name]).all()
    assert real[1]["a memory"]["seen"][-1] > 20


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("transport", ["server", "window"])
def test_an_environment_that_fails_ends_all_ranks_with_one_message(transport, tmp_path):
    words = ("--algorithm", "a3c", "--env", "failing_envs:Failing-raise-v0", "--transport", transport, "--hidden", 4)
    quiet = ("--progress", "none", "--oversubscribe", "--out", tmp_path / "run")
    outcome = run("train.py", *words, "--total-steps", 100_000, *quiet, ranks=3)
    assert outcome.code != 0
    told = [line for line in outcome.err.splitlines() if line.startswith("minitrpo: ")]
    assert len(told) == 1, outcome.err
    assert re.search(r"episode \d+ of iteration \d+ ", told[0])
    assert "Traceback" not in outcome.err


# --- in the order of an event queue


def test_equal_workers_are_as_stale_as_there_are_others(tmp_path):
    rows = train_here(tmp_path / "run", EVENTS + "--delay-jitter 0 --total-steps 600")
    assert rows["staleness_mean"].tolist()[1:] == [2.0] * (len(rows["iteration"]) - 1)
    assert rows["staleness_max"].tolist() == [2.0] * len(rows["iteration"])
    train_here(tmp_path / "fresh", EVENTS + "--max-staleness 0 --total-steps 600")
    rows = check_books(tmp_path / "fresh")
    assert rows["staleness_max"].max() == 0
    assert rows["refused"].sum() > 0


def test_one_rank_needs_no_server(tmp_path):
    transports = ("window", "server", "events", "auto")
    for transport in transports:
        train_here(tmp_path / transport, A3C + "--workers 1 --total-steps 600", transport=transport)
    assert len({lasting(tmp_path / transport)[1]["theta"] for transport in transports}) == 1


@pytest.mark.parametrize(("workers", "envs"), [(3, 2), (4, 1)])
def test_no_two_workers_ever_play_the_same_episode(workers, envs, monkeypatch, tmp_path):
    seeds, reset = [], CartPoleEnv.reset

    def noted(self, *, seed=None, options=None):
        seeds.append(seed)
        return reset(self, seed=seed, options=options)

    monkeypatch.setattr(CartPoleEnv, "reset", noted)
    train_here(tmp_path / "run", EVENTS + "--total-steps 1000", workers=workers, envs_per_worker=envs)
    played = seeds[-30:]  # the first were tried before the run: which episode does not repeat itself
    assert len(set(played)) == len(played)


def test_an_episode_of_a_later_update_is_played_again_from_the_beginning(tmp_path):
    """Seed 5 fails in its ninth update, long after its only checkpoint."""
    few = ("--workers", 2, "--envs-per-worker", 1, "--hidden", 4, "--steps-per-update", 100, "--checkpoint-every", 1000)
    words = ("--algorithm", "a3c", "--env", "failing_envs:Failing-raise-v0", "--transport", "events", "--seed", 5)
    outcome = run("train.py", *words, *few, "--total-steps", 5_000, "--out", tmp_path / "run", "--progress", "none")
    episode, iteration = map(int, re.search(r"episode (\d+) of iteration (\d+)", outcome.err).groups())
    assert iteration > 3
    typed = (tmp_path / "run", episode, "--env", words[3], "--iteration")
    assert f"episode {episode} of iteration {iteration}" in run("replay.py", *typed, iteration).err
    assert run("replay.py", *typed, iteration - 1).code == 0, "it did not fail then"


# --- what an algorithm does to what is shared

MEMORY = (TOYS / "worker_memory.py").read_text()
SPOILT = {  # an edit of an algorithm, and what is named
    "acts on nothing": ('return shared["theta"] + shared["other"][0]', "return None", "acting"),
    "a word for a column": ('said = {"seen": float(len(self.rewards))}', 'said = {"seen": "many"}', "seen"),
    "steps too far": ('shared["theta"] += 1e-6 *', 'shared["theta"] += 1e308 *', "theta"),
    "takes theta away": ('["calls"] += 1\n', '["calls"] += 1\n        del shared["theta"]; return\n', "apply"),
    "another theta": ('["calls"] += 1\n', '["calls"] += 1\n        shared["theta"] = 1.0; return\n', "apply"),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_what_an_algorithm_spoils_later_is_named(spoilt, tmp_path):
    old, new, named = SPOILT[spoilt]
    assert MEMORY.count(old) == 1
    (tmp_path / "mine.py").write_text(MEMORY.replace(old, new))
    job = ("--algorithm", "mine:Remembers", "--env", "Pendulum-v1", "--steps-per-update", 100, "--hidden", "4")
    words = (*job, "--transport", "events", "--total-steps", 900, "--out", "run", "--progress", "none")
    outcome = run("train.py", *words, cwd=tmp_path)
    assert outcome.code == 1
    assert named in outcome.err, outcome.err
    assert "Traceback" not in outcome.err
