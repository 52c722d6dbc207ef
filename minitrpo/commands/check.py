"""Try whether an algorithm keeps its promises: equal bits on any number of ranks, and an exact resume."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from minitrpo.algorithms.options import whole
from minitrpo.commands.cli import command
from minitrpo.commands.command_line import RootParser, choice_of
from minitrpo.commands.doctor import Finding
from minitrpo.commands.look_inside import look_inside
from minitrpo.errors import BadInput
from minitrpo.experience.determinism import looked_at
from minitrpo.experience.environments import describe
from minitrpo.run_folder.checkpoint import CHECKPOINTS
from minitrpo.run_folder.columns import TIMINGS
from minitrpo.run_folder.folder import RunFolder, sha256
from minitrpo.supervision.hang_detector import STUCK_AFTER
from minitrpo.supervision.jobs import JobFailed, mpiexec
from minitrpo.supervision.launch import guarded
from minitrpo.supervision.signals import REFUSED
from minitrpo.training.settings import Choice

EPILOG = """Trains for a few updates on one rank, again, on two ranks, with a shared update where the algorithm has one,
and once more from the checkpoint before the last. All must end with the same numbers, in theta and in the log."""
RULES = (
    "keyed random numbers alone, nothing of the rank or the clock, sums in the rows' order: see algorithms/algorithm.py"
)
DECIDED = (
    *("--algorithm", "--env", "--total-steps", "--checkpoint-every", "--record-every", "--transport", "--learner"),
    *("--out", "--resume", "--config", "--seeds", "--trace", "--oversubscribe", "--progress"),
)
SAYS = {
    "again": "the same numbers a second time",
    "2 ranks": "the same numbers on two ranks",
    "sharded": "the same numbers on two ranks that share the update",
    "resumed": "the same numbers from the checkpoint before the last",
}
Lasting = tuple[str, list[dict[str, str]]]


@command("check")
def main(name: str, words: list[str]) -> int:
    """Print a line for each promise, kept or broken; exit code 1 if one is broken."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.usage = "%(prog)s [-h] [--env ID] [--updates N] ALGORITHM [-- FURTHER ARGUMENTS OF TRAIN]"
    parser.add_argument("algorithm", help="module:Class of your own, or a name of the family")
    parser.add_argument("--env", default="CartPole-v1", metavar="ID", help="what to train on (default: CartPole-v1)")
    parser.add_argument("--updates", type=whole, default=2, metavar="N", help="at least 2, the default")
    place = words.index("--") if "--" in words else len(words)
    args, more = parser.parse_args(words[:place]), words[place + 1 :]
    if args.updates < 2:
        raise BadInput(f"--updates must be 2 or more, not {args.updates}: the checkpoint before the last is resumed")
    for word in more:
        if word.partition("=")[0] in DECIDED:
            raise BadInput(f"{word} after --: check decides that itself, or has its own option for it")
    job = ["--algorithm", args.algorithm, "--env", args.env, *more]
    choice = choice_of(job)
    job += ["--checkpoint-every", "1", "--record-every", "1"]
    job += ["--total-steps", str(args.updates * choice.common.steps_per_update)]
    job += ["--transport", "events"] if choice.asynchronous else []
    choice, well = choice_of(job), True
    describe(choice.common.env)  # BadInput, before anything is tried
    for finding in findings(choice, job):
        print(finding, flush=True)
        well &= finding.well
    return 0 if well else 1


def findings(choice: Choice, job: list[str]) -> Iterator[Finding]:
    """Yield a finding for each promise; those after one that is broken are left out where they would say nothing."""
    with guarded(STUCK_AFTER, "--stuck-after"):
        repeats, seen = looked_at(choice.common.env)
    yield Finding("environment", repeats, seen, "take random numbers from self.np_random alone, begin anew in reset")
    with guarded(STUCK_AFTER, "--stuck-after"):
        draws, lost = look_inside(choice)
    yield Finding("random", not draws, draws or "draws no random numbers that nobody keyed", "take those of rng")
    with tempfile.TemporaryDirectory(prefix="minitrpo-check-") as folder:
        place = Path(folder)
        first = attempt("trains", lambda: trained(1, place / "first", job))
        if isinstance(first, Finding):
            yield first
            return
        yield Finding("trains", True, f"{len(first[1])} updates on one rank, theta sha256 {first[0][:16]}")
        for name, trial in trials(choice, job, place):
            outcome = attempt(name, trial)
            if not isinstance(outcome, Finding):
                same, why = outcome == first, lost if name == "resumed" and lost else RULES
                outcome = Finding(name, same, SAYS[name] if same else f"not {SAYS[name]}", why)
            yield outcome
            if name == "again" and not outcome.well:
                return


def trials(choice: Choice, job: list[str], place: Path) -> Iterator[tuple[str, Callable[[], Lasting]]]:
    """Yield what is to end as the first run did, by name."""
    yield "again", lambda: trained(1, place / "again", job)
    yield "2 ranks", lambda: trained(2, place / "two", job)
    algorithm = choice.algorithm
    if not choice.asynchronous and algorithm.can_share() and choice.common.requests in algorithm.assists_with:
        yield "sharded", lambda: trained(2, place / "shared", [*job, "--learner", "sharded"])
    yield "resumed", lambda: resumed(place / "first", place / "resumed", job)


def attempt(name: str, trial: Callable[[], Lasting]) -> Lasting | Finding:
    """Return what a trial ended with, or the finding that it failed."""
    try:
        return trial()
    except JobFailed as error:
        first, *more = str(error).splitlines()
        if name == "trains" and error.code == REFUSED:  # what check was told
            raise BadInput(more[0].partition(": ")[2]) from error
        more = [line for line in more if not line.startswith(("  to play that", "  once the cause"))]  # it is gone
        return Finding(name, False, first, "\n      ".join(more))


def trained(ranks: int, folder: Path, job: list[str]) -> Lasting:
    """Return what lasts of a run on so many ranks."""
    mpiexec(ranks, "train", "--out", folder, "--progress", "none", "--oversubscribe", *job, timeout=600)
    return lasting(folder)


def resumed(first: Path, folder: Path, job: list[str]) -> Lasting:
    """Return what lasts of a run that goes on, on two ranks, from where the first was one update before its end."""
    shutil.copytree(first, folder)
    newest, before = (folder / name for name in CHECKPOINTS)
    before.replace(newest)
    named = job[: job.index("--env") + 2]  # whose modules may lie in this folder
    mpiexec(2, "train", "--resume", folder, *named, "--progress", "none", "--oversubscribe", timeout=600)
    return lasting(folder)


def lasting(folder: Path) -> Lasting:
    """Return the hash of theta and the log without its seconds."""
    run = RunFolder(folder)
    rows = [{name: text for name, text in row.items() if name not in TIMINGS} for row in run.rows()]
    return sha256(run.load_checkpoint()["theta"]), rows
