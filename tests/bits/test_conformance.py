"""Contract 1: with one seed the same bits on any number of ranks, with either pool, across an interruption.

Every member of the family, and every way to collect and to learn, is a row of a table. `lasting` is compared, which is
metrics.csv without seconds, and all arrays of the checkpoint; so one bit in one row of one update is noticed.
"""

import dataclasses
import os
import shutil
from contextlib import contextmanager, nullcontext

import pytest
from on_ranks import OWN, on_ranks, settings, train_one_by_one
from runs import lasting, run

from minitrpo.algorithms.algorithm import Context, Plan
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.course.trace import read_chrome_trace
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.metrics_csv import EVALUATION

CART, PENDULUM, HALF = "--env CartPole-v1 --hidden 8 ", "--env Pendulum-v1 --hidden 8 ", "--checkpoint-every 3 "
EPISODES = "--preset episodes --steps-per-update 200 --total-steps 1200 " + HALF
SEGMENTS = "--requests segments --num-envs 5 "
POOLED = "--algorithm policy-gradient --steps-per-update 300 --total-steps 1800 " + HALF
PPO = "--algorithm batch-ppo --epochs 2 --num-envs 4 --steps-per-update 200 --total-steps 1200 " + HALF
ONLINE = "--num-envs 4 --steps-per-update 20 --total-steps 400 --record-every 5 --checkpoint-every 10 "
Q = CART + "--num-envs 6 --steps-per-update 48 --total-steps 720 --target-every 200 --checkpoint-every 8 "
REPLAY = "--num-envs 9 --warm-up 100 --replay-size 300 --batch 20 --record-every 1 --checkpoint-every 6 "
EVENTS = "--transport events --steps-per-update 100 --total-steps 600 " + HALF
ROLES = "--workers 4 --learners 2 --warm-up 20 --batch 8 --replay-size 100 "
PUCK = "--env minitrpo.course.linear_quadratic:LinearQuadratic-v0 --hidden 8 "
OWN_STEPS = "--steps-per-update 100 --total-steps 600 " + HALF
EVALUATED = "--eval-every 300 --eval-episodes 3 "
SHARDED, ROOT = "--learner sharded", "--learner root"

JOBS = {  # a job, what is said beside it on 2 ranks, and what on 3 ranks that go on with it
    # equal episodes; unequal ones, whose number nobody knows before the first update; environments that are cut
    "trpo": ("--env Reacher-v5 --hidden 8 " + EPISODES, "--pool static --envs-per-rank 5", SHARDED),
    "adapt both": (CART + EPISODES + "--adapt both --adapt-window 2", SHARDED, "--pool static"),
    "segments": ("--env Hopper-v5 --hidden 8 --num-envs 8 --steps-per-update 304 --total-steps 1800 --adapt kl "
                 "--adapt-window 2 " + HALF, SHARDED + " --physics gymnasium", ROOT),
    "paper": (PENDULUM + "--preset paper --steps-per-update 400 --total-steps 2400 --adapt steps --adapt-window 1 "
              + HALF, SHARDED, ROOT),
    "adapt noise": (CART + "--preset episodes --steps-per-update 400 --total-steps 8000 --adapt noise "
                    "--checkpoint-every 2", ROOT, SHARDED),
    "together": ("--algorithm together:Trust --env Reacher-v5 --hidden 8 --preset episodes --adapt noise "
                 "--steps-per-update 4000 --total-steps 8000 --checkpoint-every 1", SHARDED, SHARDED),
    "together, adapt": (CART + EPISODES + "--algorithm together:Trust --adapt both --adapt-window 2", SHARDED, SHARDED),
    "together, ppo": ("--algorithm together:PPO " + PPO.partition("batch-ppo ")[2] + CART, SHARDED, SHARDED),
    "together, samples": ("--algorithm together:Gradient " + POOLED.partition("gradient ")[2] + CART
                          + "--critic linear --travels samples", SHARDED, SHARDED),
    "together, gradients": ("--algorithm together:Gradient " + POOLED.partition("gradient ")[2] + CART
                            + "--critic mlp --travels gradients", SHARDED, SHARDED),
    "together, guided": ("--algorithm together:Guided --first-states 3 --samples 2 --cost-network 2 "
                         "--total-steps 1200 --checkpoint-every 2 " + PUCK, SHARDED, SHARDED),
    "as typed": (PENDULUM + "--steps-per-update 320 --total-steps 1920 " + HALF, "", ""),
    "cartpole": (CART + EPISODES, SHARDED, ""),
    "first states": (PENDULUM + "--preset episodes --critic linear --first-states 2 --renew-first-states 2 --filter "
                     "none --steps-per-update 800 --total-steps 3200 --checkpoint-every 2", "", SHARDED),
    # Episodes outlast three updates here: an interruption finds those of first states that have been renewed since
    "first states, segments": (PENDULUM + SEGMENTS + "--critic linear --first-states 2 --renew-first-states 2 "
                               "--steps-per-update 300 --total-steps 3000 " + HALF, "", ROOT),
    "evaluated": (CART + EPISODES + EVALUATED, "", SHARDED),
    "evaluated segments": (CART + EPISODES + SEGMENTS + EVALUATED + "--record-every 2", SHARDED, ROOT),
    # samples travel, or sums of gradients
    "no critic": (POOLED + CART + SEGMENTS + "--critic none --travels samples", SHARDED, ROOT),
    "linear critic": (POOLED + PENDULUM + SEGMENTS + "--critic linear --travels gradients", ROOT, SHARDED),
    "mlp critic": (POOLED + CART + "--critic mlp --travels gradients", SHARDED, ROOT),
    "mlp critic, segments": (POOLED + PENDULUM + SEGMENTS + "--critic mlp --travels samples", ROOT, SHARDED),
    "batch-ppo": (PPO + CART, SHARDED, ROOT),
    "batch-ppo, episodes": (PPO + PENDULUM + "--requests episodes", ROOT, SHARDED),
    "a2c": ("--algorithm a2c " + ONLINE + CART, "", ""),
    "actor-critic": ("--algorithm actor-critic " + ONLINE + PENDULUM, "", ""),
    "n-step-q": ("--algorithm n-step-q " + Q + EVALUATED, "", ""),
    "one-step-q": ("--algorithm one-step-q " + Q, "", ""),
    "sarsa": ("--algorithm sarsa --final-epsilons 0.1:0.4,0.01:0.3,0.5:0.3 " + Q, "", ""),
    # a memory that one rank holds, or all of them
    "dqn": ("--algorithm dqn --replay-ratio 0.3 --target-every 20 --steps-per-update 36 --total-steps 432 " + REPLAY
            + CART + EVALUATED, SHARDED, ROOT),
    "naf": ("--algorithm naf --replay-ratio 0.5 --steps-per-update 18 --total-steps 216 " + REPLAY + PENDULUM,
            ROOT, SHARDED),
    "guided policy search": ("--algorithm guided-policy-search --first-states 3 --samples 2 --cost-network 2 "
                             "--total-steps 1200 --checkpoint-every 2 " + PUCK, SHARDED, ROOT),
    "guided policy search, a horizon": ("--algorithm guided-policy-search --first-states 2 --samples 2 --horizon 20 "
                                        "--total-steps 2400 --checkpoint-every 2 " + PENDULUM, ROOT, SHARDED),
    # no barrier, in the order of an event queue
    "a3c": ("--algorithm a3c --workers 3 --envs-per-worker 2 --max-lead 1 --delay-jitter 3.0 " + EVENTS + CART
            + EVALUATED, "", ""),
    "async-n-step-q": ("--algorithm async-n-step-q --workers 3 " + EVENTS + CART, "", ""),
    "async-one-step-q": ("--algorithm async-one-step-q --workers 2 " + EVENTS + CART, "", ""),
    "async-sarsa": ("--algorithm async-sarsa --workers 2 " + EVENTS + CART, "", ""),
    "async-naf": ("--algorithm async-naf " + ROLES + EVENTS + PENDULUM, "", ""),
    "gorila": ("--algorithm gorila --workers 3 --warm-up 20 --batch 8 --replay-size 100 " + EVENTS + CART, "", ""),
    "gorila with learners": ("--algorithm gorila " + ROLES + EVENTS + CART, "", ""),
    # a user's own
    "reinforce": ("--algorithm minitrpo.course.reinforce:Reinforce " + OWN_STEPS + CART, "--pool static", ""),
    "reinforce, gradients": ("--algorithm reinforce_gradients:Reinforce " + OWN_STEPS + SEGMENTS + PENDULUM, "", ""),
    "evolution strategies": ("--algorithm evolution_strategies:ES --population 8 --total-steps 1200 " + HALF + CART,
                             "", ""),
    "sac": ("--algorithm sac:SAC --steps-per-update 32 --total-steps 192 --warm-up 60 --batch 16 --record-every 1 "
            + HALF + PENDULUM, SHARDED, ROOT),
    "impala": ("--algorithm impala:Impala --workers 2 " + EVENTS + CART, "", ""),
    "a worker's memory": ("--algorithm worker_memory:Remembers --workers 2 " + EVENTS + PENDULUM, "", ""),
    "recurrent": ("--algorithm recurrent:Remembers --filter none " + OWN_STEPS + CART, "", ""),
    "recurrent, segments": ("--algorithm recurrent:Remembers --filter none " + OWN_STEPS + SEGMENTS + CART, "", ""),
    "tells": ("--algorithm shared_objects:Tells " + OWN_STEPS + CART, "", ""),
    "tells, steps": ("--algorithm shared_objects:Tells --plan-steps 150 " + OWN_STEPS + SEGMENTS + CART, "", ""),
    "tells, episodes": ("--algorithm shared_objects:Tells --plan-episodes 4 " + OWN_STEPS + CART, "", ""),
}  # fmt: skip
EIGHT = ("trpo", "together", "adapt both", "segments", "mlp critic", "dqn", "a3c")
TREE = CART + "--preset episodes --critic-epochs 1 --steps-per-update 42000 --total-steps 42000"  # of many sums
LIGHT = "--algorithm a2c --steps-per-update 80 --total-steps 400 " + CART
TRACED = "--env Reacher-v5 --hidden 8 --preset episodes --steps-per-update 500 --total-steps 1000 --learner sharded "


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Train all rows: `alone` in this process, `two` on 2 ranks, `three` by 3 ranks that go on with what 2 had begun.

    What they find is what a kill in the second half leaves: a checkpoint of the first half, and a log that knows more.
    """
    folder = tmp_path_factory.mktemp("conformance")
    jobs = {name: tuple(map(settings, row)) for name, row in JOBS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(OWN)
        train_one_by_one([{**job, "out": folder / name / "alone"} for name, (job, _, _) in jobs.items()])
    begun = [{**job, **more, "out": folder / name / "two"} for name, (job, more, _) in jobs.items()]
    light = {**settings(LIGHT), "trace": True}
    begun += [{**light, "out": folder / "light" / who, "oversubscribe": who == "all"} for who in ("all", "one")]
    on_ranks(2, begun, folder)
    gone_on = []
    for name, (job, _, more) in jobs.items():
        left = shutil.copytree(folder / name / "two", folder / name / "three")
        (left / "checkpoint_before.npz").replace(left / "checkpoint.npz")
        assert 0 < updates(left) < updates(folder / name / "two"), f"{name}: not interrupted half way"
        typed = {key: value for key, value in job.items() if key in ("env", "algorithm") and ":" in value}
        gone_on.append({"resume": left, **typed, **more})
    traced = {**settings(TRACED), "trace": True}
    gone_on += [{**traced, "critic": critic, "out": folder / "traced" / critic} for critic in ("mlp", "linear")]
    on_ranks(3, gone_on, folder)
    return folder


def updates(folder):
    return int(RunFolder(folder).load_checkpoint()["run_counters"][0])


def spans(folder):
    """Return for each rank the names of what it spent time on."""
    return [{name for name, _, _ in of_rank} for of_rank in read_chrome_trace(folder / "trace.json")]


@pytest.mark.mpi
@pytest.mark.parametrize("name", JOBS)
def test_the_same_bits_on_1_2_and_3_ranks_and_across_an_interruption(name, runs):
    alone = lasting(runs / name / "alone")
    assert lasting(runs / name / "two") == alone, f"2 ranks {JOBS[name][1]}"
    assert lasting(runs / name / "three") == alone, f"interrupted, and gone on with by 3 ranks {JOBS[name][2]}"


@pytest.mark.slow
@pytest.mark.mpi
def test_the_same_bits_on_8_ranks(tmp_path):
    jobs = {name: JOBS[name][:2] for name in EIGHT} | {"tree": (TREE, SHARDED)}
    train_one_by_one([{**settings(job), "out": tmp_path / name / "alone"} for name, (job, _) in jobs.items()])
    words = {name: settings(job) | settings(more) for name, (job, more) in jobs.items()}
    on_ranks(8, [{**words[name], "out": tmp_path / name / "eight"} for name in jobs], tmp_path)
    for name in jobs:
        assert lasting(tmp_path / name / "eight") == lasting(tmp_path / name / "alone"), name


def test_every_member_of_the_family_is_in_the_table():
    assert {settings(line).get("algorithm", "trpo") for line, _, _ in JOBS.values()} >= ALGORITHMS.keys()


# --- what else may be said of a job


def with_words(name, words, folder):
    """Return what a job leaves with other words beside it, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(OWN)
        train_one_by_one([settings(JOBS[name][0]) | settings(words) | {"out": folder / words}])
    return lasting(folder / words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, SHARDED) for name in ("trpo", "no critic", "batch-ppo", "dqn", "naf", "guided policy search", "sac")),
        *(("trpo", words) for words in ("--pool static", "--physics gymnasium", "--envs-per-rank 3", EVALUATED)),
        *((name, EVALUATED) for name in ("sarsa", "recurrent, segments", "async-sarsa")),
        *((name, "--travels samples") for name in ("linear critic", "mlp critic")),
        ("no critic", "--travels gradients"),
        ("segments", "--physics gymnasium"),
    ],
)
@pytest.mark.slow
@pytest.mark.mpi
def test_what_changes_no_bit(name, words, runs, tmp_path):
    (rows, arrays), (expected, whole) = with_words(name, words, tmp_path), lasting(runs / name / "alone")
    assert arrays["theta"] == whole["theta"]
    for row in (*rows, *expected):
        for column in EVALUATION:
            row.pop(column, None)
    assert rows == expected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *(
            ("trpo", "--seed 1"),
            ("a3c", "--seed 1"),
            ("first states", "--first-states 0"),
            ("segments", "--filter none"),
        ),
        *((name, "--renew-first-states 0") for name in ("first states", "first states, segments")),
    ],
)
@pytest.mark.mpi
def test_what_changes_all_bits(name, words, runs, tmp_path):
    """Else equal bits would mean little."""
    assert with_words(name, words, tmp_path)[1]["theta"] != lasting(runs / name / "alone")[1]["theta"]


@pytest.mark.parametrize("name", ["adapt both", "segments"])
@pytest.mark.mpi
def test_a_finished_run_that_gets_more_steps_is_the_longer_one(name, runs, tmp_path):
    short, total = with_words(name, "--total-steps 500", tmp_path), settings(JOBS[name][0])["total_steps"]
    run = tmp_path / "--total-steps 500"
    train_one_by_one([{"resume": run}])
    assert lasting(run) == short, "it has taken its steps already"
    train_one_by_one([{"resume": run, "total_steps": total}])
    assert lasting(run) == lasting(runs / name / "alone")


# --- what algorithms are given, and who does what


@pytest.mark.mpi
def test_a_policy_with_a_state_goes_on_with_it_where_its_episode_was_cut(runs):
    for name, cut in (("recurrent", False), ("recurrent, segments", True)):
        columns = RunFolder(runs / name / "three").columns()
        assert (columns["wrong"] == 0).all(), "actions follow from the states in which their fragments began"
        assert (columns["went_on"].sum() > 10) == cut
        assert ("unfinished_states" in RunFolder(runs / name / "three").load_checkpoint()) == cut


@pytest.mark.mpi
def test_a_filter_that_is_none_stays_as_it_is(runs):
    for name, count in (("paper", 2400), ("first states", 0)):
        assert RunFolder(runs / name / "three").load_checkpoint()["run_filter"][0] == count


@pytest.mark.parametrize(("name", "scale"), [("tells", 0.25), ("tells, steps", 1.0), ("tells, episodes", 0.5)])
@pytest.mark.mpi
def test_every_field_of_plan_and_context_is_the_same_on_all_ranks(name, scale, runs):
    for where in ("alone", "two", "three"):
        columns = RunFolder(runs / name / where).columns()
        assert (columns["distinct"] == 1).all(), "some fragments were prepared with another plan or context"
        assert (columns["fields"] == len(dataclasses.fields(Plan)) + len(dataclasses.fields(Context)) - 4).all()
        assert (columns["scale"] == scale).all(), "CartPole pays 1 a step"


@pytest.mark.parametrize("name", [name for name in JOBS if name.startswith("together")])
@pytest.mark.mpi
def test_all_ranks_that_learn_together_have_the_same_state_after_every_update(name, runs):
    for where in ("two", "three"):
        assert (RunFolder(runs / name / where).columns()["states"] == 1).all()


@pytest.mark.mpi
def test_ranks_share_the_update_with_the_sharded_learner(runs):
    """A perceptron has a rank of its own, which fits it while the others take the step; a linear critic needs none."""
    for critic, learns in (("mlp", [{"policy"}, {"policy"}, {"critic"}]), ("linear", [{"policy", "critic"}] * 3)):
        assert [did & {"policy", "critic"} for did in spans(runs / "traced" / critic)] == learns


@pytest.mark.mpi
def test_few_and_light_steps_are_played_by_one_rank_unless_told_otherwise(runs):
    assert lasting(runs / "light" / "one") == lasting(runs / "light" / "all")
    assert ["collect" in did for did in spans(runs / "light" / "one")] == [True, False]
    assert ["collect" in did for did in spans(runs / "light" / "all")] == [True, True]


@contextmanager
def one_core():
    """Let what is started in the body of a `with`, mpiexec and its ranks, have one core."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        yield
    finally:
        os.sched_setaffinity(0, cores)


FEW = "--requests segments --num-envs 2 --total-steps 400 --progress none --out run " + CART
AT_WORK = {  # on 3 ranks, with environments for 2: what is typed, and whether one core is there; whether it can run
    "too little to meet for": ("--algorithm a2c --steps-per-update 80", False, True),
    "one core": ("--steps-per-update 200", True, True),
    "all are to work": ("--steps-per-update 200 --oversubscribe", True, False),
    "all are to meet": ("--algorithm a2c --steps-per-update 80 --oversubscribe", False, False),
}


@pytest.mark.mpi
@pytest.mark.parametrize("name", AT_WORK)
def test_only_ranks_that_work_need_an_environment(name, tmp_path):
    words, crowded, runs = AT_WORK[name]
    with one_core() if crowded else nullcontext():
        done = run("train.py", *FEW.split(), *words.split(), ranks=3, cwd=tmp_path)
    assert done.code == (0 if runs else 2), done.out + done.err
    assert "2 rank(s) stay idle" in done.out or not runs
    assert ("--num-envs" in done.err, (tmp_path / "run").exists()) == (not runs, runs)


@pytest.mark.slow
@pytest.mark.mpi
def test_ranks_without_a_core_leave_the_work_to_the_others(runs, tmp_path):
    crowded = {"oversubscribe": False, "trace": True}
    jobs = [{**settings(JOBS[name][0]), **crowded, "out": tmp_path / name} for name in ("trpo", "segments")]
    with one_core():
        on_ranks(3, jobs, tmp_path)
    for name in ("trpo", "segments"):
        assert lasting(tmp_path / name) == lasting(runs / name / "alone")
        assert ["collect" in did for did in spans(tmp_path / name)] == [True, False, False]
