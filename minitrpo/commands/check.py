"""Test an algorithm: its policy's derivatives, equal bits on any number of ranks, and an exact resume."""

import io
import pickle
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minitrpo.algorithms.options import whole
from minitrpo.algorithms.user_classes import check_beginning
from minitrpo.commands.check_policy import findings_of_policy
from minitrpo.commands.command_line import RootParser, parse
from minitrpo.commands.doctor import Finding, environment
from minitrpo.commands.train import display
from minitrpo.errors import BadInput, JobFailed, describe_error, place_of
from minitrpo.experience.environments import describe
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.this_process import one_blas_thread
from minitrpo.run_folder.folder import CHECKPOINTS, RunFolder, release_locks, sha256
from minitrpo.run_folder.metrics_csv import TIMINGS
from minitrpo.supervision.mpiexec import mpiexec
from minitrpo.supervision.program import command
from minitrpo.supervision.watchdog import STUCK_AFTER, guarded
from minitrpo.training.job import Job
from minitrpo.training.run_context import make_algorithm
from minitrpo.training.settings import Choice, chosen
from minitrpo.training.start import begin, run_loop

EPILOG = """Trains for a few updates on one rank, again, on two ranks, on two ranks that share the update (if possible),
and from the checkpoint before the last. All runs must end with the same theta and the same log."""
RULES = "use only keyed random numbers, no rank and no clock, and sum in the order of rows: see algorithms/algorithm.py"
DECIDED = ("--algorithm", "--env", "--total-steps", "--out", "--resume", "--seeds")
End = tuple[str, Any]  # of a run: the hash of theta, and what its log says


class Trial(NamedTuple):
    """A run that must end as the first did: what is the same, and the cure if it is not; on how many ranks."""

    name: str
    says: str
    cure: str = RULES
    ranks: int = 1
    words: tuple[str, ...] = ()


TRIALS = (
    Trial("trains", "a run on one rank"),
    Trial("again", "the same numbers a second time"),
    Trial("prepare", "the same numbers if another object prepares what travels"),  # in the place of two ranks
    Trial("2 ranks", "the same numbers on two ranks", ranks=2),
    Trial("sharded", "the same numbers on two ranks that share the update", RULES, 2, ("--learner", "sharded")),
    Trial(
        "resumed",
        "the same numbers from the checkpoint before the last",
        "state() must return everything that an update changes, and restore() must restore it",
    ),
)


@command("check")
def main(name: str, words: list[str]) -> int:
    """Print one line per test; exit code 1 if one fails."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.usage = "%(prog)s [-h] [--env ID] [--updates N] ALGORITHM [-- FURTHER ARGUMENTS OF TRAIN]"
    parser.add_argument("algorithm", help="your own module:Class, or the name of an algorithm")
    parser.add_argument("--env", default="CartPole-v1", metavar="ID", help="environment (default: CartPole-v1)")
    parser.add_argument("--updates", type=whole, default=2, metavar="N", help="at least 2, the default")
    place = words.index("--") if "--" in words else len(words)
    args, more = parser.parse_args(words[:place]), words[place + 1 :]
    for word in more:
        if word.partition("=")[0] in DECIDED:
            raise BadInput(f"{word} after --: check sets this option itself")
    choice = parse(["--algorithm", args.algorithm, "--env", args.env, *more]).choice
    with one_blas_thread():
        return 0 if keeps_promises(choice, args.updates) else 1


def keeps_promises(choice: Choice, updates: int, alone: bool = False) -> bool:
    """Print one line per test of an algorithm, and return whether all pass; alone: use no second rank.

    BadInput if nothing can be trained with these settings.
    """
    if updates < 2:
        raise BadInput(f"--updates must be 2 or more, not {updates}: the checkpoint before the last is resumed")
    values = choice.flat() | {"checkpoint_every": "1", "record_every": 1}
    values |= {"total_steps": updates * choice.common.steps_per_update}
    values |= {"transport": "events"} if choice.asynchronous else {}
    choice, well = chosen(values, choice.algorithm), True
    with tempfile.TemporaryDirectory(prefix="minitrpo-check-") as folder:
        for finding in findings(choice, Path(folder), alone):
            print(finding, flush=True)
            well &= finding.well
    return well


def findings(choice: Choice, place: Path, alone: bool) -> Iterator[Finding]:
    """Yield a finding for each requirement, except where an earlier failure makes the trial meaningless."""
    spec = describe(choice.common.env)
    try:
        algorithm, context = make_algorithm(choice, spec)
        check_beginning(algorithm)
        of_policy = [*findings_of_policy(context.policy)]
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        yield Finding("begins", False, describe_error(error), "see algorithms/algorithm.py")
        return
    yield from of_policy
    if not all(finding.well for finding in of_policy):
        return
    yield (seen := environment(spec.id))
    shares = not choice.asynchronous and choice.common.requests in choice.algorithm.sharded_with
    left_out = {"2 ranks", "sharded"} if alone else {"prepare"} if shares else {"prepare", "sharded"}
    left_out |= {"prepare"} if choice.asynchronous else set()
    before = global_states()
    first: End | None = None
    for trial in (trial for trial in TRIALS if trial.name not in left_out):
        try:
            end = run(choice, place, trial)
        except JobFailed as error:
            said, *more = str(error).splitlines()
            gone = ("  to play that", "  after you have fixed")  # what needs the run folder
            more = [line for line in more if not line.startswith(gone)]
            finding = Finding(trial.name, False, said, "\n      ".join(more))
        except (Exception, SystemExit) as error:  # of the algorithm, in this process
            if first is None and isinstance(error, BadInput):
                raise
            cure = trial.cure if isinstance(error, BadInput) else f"see {place_of(error)}"
            finding = Finding(trial.name, False, describe_error(error), cure)
        else:
            first = first or end
            same = end == first
            finding = Finding(trial.name, same, trial.says if same else f"not {trial.says}", trial.cure)
        if trial is TRIALS[0]:
            drawn = [whose for whose, state in global_states().items() if state != before[whose] and seen.well]
            said = f"draws global random numbers of {drawn[0]}" if drawn else "draws only keyed random numbers"
            yield Finding("random", not drawn, said, "use rng")
        yield finding
        if not finding.well and trial in TRIALS[:2]:
            return
        if not seen.well:
            yield Finding("again", False, "not tested: the environment is not deterministic", "try --env CartPole-v1")
            return


def run(choice: Choice, place: Path, trial: Trial) -> End:
    """Return how a trial ends in a folder of its own in `place`: in this process, or started as a command."""
    folder, s = place / trial.name.replace(" ", "_"), choice.common
    if trial.ranks > 1:
        words = ["--config", place / TRIALS[0].name, "--env", s.env, "--algorithm", s.algorithm, *trial.words]
        words += ["--out", folder, "--progress", "none", "--oversubscribe"]
        mpiexec(trial.ranks, "train", *words, timeout=600)  # names are typed: their modules may lie in this folder
    else:
        job = Job(choice=choice, out=str(folder), progress="none")
        if trial.name == "prepare":
            second = make_algorithm(choice, describe(s.env))[0]  # another object prepares, as on a second rank
            apart = type("Apart", (choice.algorithm,), {"prepare": lambda _, *given: second.prepare(*given)})
            job = replace(job, choice=replace(choice, algorithm=apart))
        if trial.name == "resumed":
            shutil.copytree(place / TRIALS[0].name, folder)
            newest, before = (folder / name for name in CHECKPOINTS)
            before.replace(newest)
            job = replace(job, out=None, resume=str(folder))
        with guarded(STUCK_AFTER), release_locks(), redirect_stdout(io.StringIO()):
            context = begin(job, Comm())
            run_loop(context, job, Comm(), display(context, job, Comm()))
    made = RunFolder(folder)
    rows = [{name: text for name, text in row.items() if name not in TIMINGS} for row in made.rows()]
    return sha256(made.load_checkpoint()["theta"]), rows


def global_states() -> dict[str, bytes]:
    """Return the states of numpy's and Python's global random numbers, to be compared."""
    numpys = np.random.get_state(legacy=False)  # noqa: NPY002 - looked at, not drawn from
    return {"numpy": pickle.dumps(numpys), "Python": pickle.dumps(random.getstate())}
