"""What the next rollout does not need is learned while it is being played: the same bits, and nothing is lost."""

import pytest
from runs import lasting, run, train

from minitrpo.course.trace import read_chrome_trace
from minitrpo.run_folder.folder import RunFolder

JOBS = {
    "episodes": ("--preset", "episodes", "--env", "Reacher-v5", "--total-steps", 4000, "--steps-per-update", 1000),
    "segments": (
        *("--preset", "episodes", "--env", "Hopper-v5", "--total-steps", 3000, "--steps-per-update", 700),
        *("--requests", "segments", "--num-envs", 6),
    ),
    "adapting": (
        *("--preset", "episodes", "--env", "CartPole-v1", "--total-steps", 5000, "--steps-per-update", 900),
        *("--adapt", "both", "--adapt-window", 2, "--critic", "linear"),
    ),
}
KILLED_IN = 4  # toys/fits.py
QUIET = ("--progress", "none", "--oversubscribe")


@pytest.mark.parametrize("learner", ["root", "sharded"])
@pytest.mark.parametrize("job", JOBS)
def test_the_bits_are_those_of_a_run_that_waits_for_the_fit(job, learner, tmp_path):
    waiting = train(tmp_path / "waiting", *JOBS[job], "--overlap", "no")
    for ranks, overlap in ((1, "yes"), (2, "yes"), (2, "no"), (3, "yes")):
        out = tmp_path / f"{ranks}-{overlap}"
        outcome = train(out, *JOBS[job], "--learner", learner, "--overlap", overlap, ranks=ranks)
        assert outcome.sha256 == waiting.sha256, f"{ranks} ranks, overlap {overlap}"
        assert lasting(out) == lasting(tmp_path / "waiting")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the jobs below leave when nothing kills them."""
    folder, patch = tmp_path_factory.mktemp("uninterrupted"), pytest.MonkeyPatch()
    patch.setenv("TOYS_BEHAVE", "1")
    for job in ("episodes", "segments"):
        train(folder / job, "--algorithm", "fits:Killed", *JOBS[job])
    patch.undo()
    return folder


@pytest.mark.parametrize(("ranks", "learner"), [(1, "root"), (2, "root"), (2, "sharded"), (3, "sharded")])
@pytest.mark.parametrize("job", ["episodes", "segments"])
def test_a_run_killed_in_the_middle_of_a_fit_resumes_to_the_same_bits(
    job, ranks, learner, uninterrupted, tmp_path, monkeypatch
):
    out = tmp_path / "run"
    words = ("--algorithm", "fits:Killed", *JOBS[job], "--learner", learner, "--checkpoint-every", 1, *QUIET)
    assert run("train.py", *words, "--out", out, ranks=ranks).code != 0
    rows = [int(row["iteration"]) for row in RunFolder(out).rows()]
    assert rows == list(range(1, len(rows) + 1))
    assert KILLED_IN - 2 <= len(rows) <= KILLED_IN - 1  # a row is complete when its fit is, and none was lost before
    assert RunFolder(out).load_checkpoint()["run_counters"][0] == len(rows)
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    resumed = run("train.py", "--resume", out, *QUIET, ranks=3)
    assert resumed.code == 0, resumed.err
    assert lasting(out) == lasting(uninterrupted / job)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_fit_that_moves_the_policy_ends_the_run(ranks, tmp_path):
    words = ("--algorithm", "fits:MovesTheta", *JOBS["episodes"], "--oversubscribe", "--out", tmp_path / "run")
    outcome = run("train.py", *words, ranks=ranks)
    assert outcome.code == 1
    assert "fit() changed theta" in outcome.out + outcome.err
    assert "Traceback" not in outcome.out + outcome.err


def overlapping(path, phase, ranks):
    """Return on how many of the root's or the helper's fits another rank was collecting at some time."""
    spans = read_chrome_trace(path)
    collecting = [[(s, s + d) for name, s, d in own if name == "collect"] for own in spans]
    fits = [(rank, s, s + d) for rank, own in enumerate(spans) for name, s, d in own if name == phase]
    return sum(
        any(start < e and end > s for other in range(ranks) if other != rank for s, e in collecting[other])
        for rank, start, end in fits
    )


@pytest.mark.parametrize("learner", ["root", "sharded"])
def test_the_trace_shows_that_ranks_collect_while_the_critic_is_fitted(learner, tmp_path):
    words = (*JOBS["episodes"], "--total-steps", 8000, "--critic-epochs", 40, "--learner", learner, "--trace")
    for overlap in ("yes", "no"):
        train(tmp_path / overlap, *words, "--overlap", overlap, ranks=2)
    assert overlapping(tmp_path / "no" / "trace.json", "critic", 2) == 0
    assert overlapping(tmp_path / "yes" / "trace.json", "critic", 2) >= 2  # of 8, on a machine busy with other work


# --- rows of several updates


def test_a_row_of_several_updates_is_their_mean_and_resumes_exactly(tmp_path):
    words = ("--preset", "episodes", "--env", "CartPole-v1", "--steps-per-update", 300, "--seed", 5)
    one = RunFolder(tmp_path / "one")
    train(one.path, *words, "--total-steps", 2500)
    each = one.columns()
    several = RunFolder(tmp_path / "several")
    train(several.path, *words, "--total-steps", 1500, "--record-every", 3, ranks=2)
    rows = [int(row["iteration"]) for row in several.rows()]
    assert run("train.py", "--resume", several.path, "--total-steps", 2500, "--progress", "none").code == 0
    assert several.load_checkpoint()["theta"].tobytes() == one.load_checkpoint()["theta"].tobytes()
    columns, begin = several.columns(), 0
    assert columns["iteration"][: len(rows)].tolist() == rows
    assert columns["iteration"][-1] == each["iteration"][-1]
    for i, end in enumerate(columns["iteration"].astype(int)):
        of_row = slice(begin, end)
        assert columns["episodes"][i] == each["episodes"][of_row].sum()
        assert columns["kl"][i] == pytest.approx(each["kl"][of_row].mean())
        total = (each["mean_return"] * each["episodes"])[of_row].sum()
        assert columns["mean_return"][i] == pytest.approx(total / columns["episodes"][i])
        begin = end
