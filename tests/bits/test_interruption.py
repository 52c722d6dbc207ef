"""A run whose rank is killed between two checkpoints goes on to the bits of one that was not, and who works may change.

Interruptions of every member of the family are rows of test_conformance.py.
"""

import itertools
from dataclasses import replace

import pytest
from runs import fails, lasting, run, train

from minitrpo.errors import BadInput
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.context import check_ranks, meets_too_often
from minitrpo.training.settings import Settings

# Small jobs of 45 updates in an environment that kills its rank: what they are told, in which update they are to be
# killed, the keys of the episodes that must be well, and of those of which one is to kill. 2 episodes of 25 steps per
# update; or segments of 10 steps of 2 slots, where step 20 of the ninth episode is step 220
SHORT = ("--preset", "episodes", "--env", "failing_envs:Failing-short-kill-v0")
SEGMENTS = ("--requests", "segments", "--num-envs", 2, "--adapt", "kl", "--adapt-window", 4)
KILLED = {
    "episodes": (
        (*SHORT, "--steps-per-update", 50, "--total-steps", 2250),
        23,
        [(iteration, number) for iteration in range(1, 23) for number in range(2)],
        [(23, number) for number in range(2)],
    ),
    "segments": (
        (*SHORT, "--steps-per-update", 20, "--total-steps", 900, *SEGMENTS),
        22,
        [(0, number) for number in range(16)],
        [(0, number) for number in (16, 17)],
    ),
}


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("name", "every", "saved", "ranks"),
    [
        ("episodes", "20", 20, 0),
        ("segments", "20", 20, 0),
        pytest.param("episodes", "1000s", 0, 0, marks=pytest.mark.slow),
        pytest.param("segments", "1", None, 2, marks=pytest.mark.slow),
    ],
)
def test_a_run_killed_between_two_checkpoints_resumes_to_the_same_bits(
    name, every, saved, ranks, tmp_path, monkeypatch
):
    """saved: of which update the last checkpoint is; None: of the last row.

    The update before the last may be lost, too: it is written while the ranks play on, and are killed.
    """
    words, update, well, killing = KILLED[name]
    seeds = (seed for seed in itertools.count() if not any(fails(seed, *key) for key in well))
    words = (*words, "--seed", next(seed for seed in seeds if any(fails(seed, *key) for key in killing)))
    out, options = tmp_path / "run", ("--checkpoint-every", every, "--progress", "none", "--oversubscribe")
    killed = run("train.py", *words, *options, "--out", out, ranks=ranks)
    assert killed.code != 0
    iterations = [int(row["iteration"]) for row in RunFolder(out).rows()]
    assert iterations == list(range(1, len(iterations) + 1))
    assert update - 2 <= len(iterations) < update
    assert RunFolder(out).load_checkpoint()["run_counters"][0] in ([0, *iterations] if saved is None else [saved])
    with (out / "metrics.csv").open("a") as file:
        file.write("99,torn")  # what a kill in the middle of a row would leave
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    resumed = run("train.py", "--resume", out, "--env", SHORT[-1], "--progress", "none")
    assert resumed.code == 0, resumed.err
    train(tmp_path / "whole", *words)
    assert lasting(out) == lasting(tmp_path / "whole")


@pytest.mark.parametrize(
    ("env", "steps", "too_often"),
    [
        ("CartPole-v1", 128, True),
        ("CartPole-v1", 129, False),
        ("Reacher-v5", 80, False),
        ("CartPoleOfMyOwn", 80, False),
    ],
)
def test_only_few_and_light_steps_are_played_by_one_rank(env, steps, too_often):
    assert meets_too_often(replace(Settings(), env=env, steps_per_update=steps)) is too_often


def test_a_job_of_segments_needs_a_slot_for_every_rank():
    with pytest.raises(BadInput, match="--num-envs"):
        check_ranks(Settings(requests="segments", num_envs=2), 3)
    check_ranks(Settings(requests="segments", num_envs=3), 3)
    check_ranks(Settings(requests="episodes", num_envs=2), 3)
