"""Try whether an algorithm keeps its promises: equal bits on any number of ranks, and an exact resume."""

import pickle
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser, choice_of
from minitrpo.commands.doctor import Finding, environment
from minitrpo.contract import check_beginning
from minitrpo.errors import BadInput, JobFailed, describe_error, place_of
from minitrpo.experience.environments import describe
from minitrpo.experience.vector_env import closed_environments
from minitrpo.run_folder.checkpoint import CHECKPOINTS
from minitrpo.run_folder.folder import RunFolder, sha256
from minitrpo.run_folder.metrics_log import TIMINGS
from minitrpo.supervision.exit_codes import REFUSED, command
from minitrpo.supervision.jobs import mpiexec
from minitrpo.supervision.watchdog import STUCK_AFTER, guarded
from minitrpo.training.context import RunContext, make_algorithm
from minitrpo.training.settings import Choice
from minitrpo.training.synchronous import alone

EPILOG = """Trains for a few updates on one rank, again, on two ranks, with a shared update where the algorithm has one,
and once more from the checkpoint before the last. All must end with the same numbers, in theta and in the log."""
RULES = (
    "keyed random numbers alone, nothing of the rank or the clock, sums in the rows' order: see algorithms/algorithm.py"
)
DECIDED = ("--algorithm", "--env", "--total-steps", "--out", "--resume", "--seeds")
End = tuple[str, Any]  # of a run: the hash of theta, and what its log says


class Trial(NamedTuple):
    """A run that must end as the first did: on how many ranks, what is the same, and the cure if it is not."""

    name: str
    ranks: int
    says: str
    cure: str = RULES
    words: tuple[str, ...] = ()


TRIALS = (
    Trial("trains", 1, "a run on one rank"),
    Trial("again", 1, "the same numbers a second time"),
    Trial("2 ranks", 2, "the same numbers on two ranks"),
    Trial("sharded", 2, "the same numbers on two ranks that share the update", words=("--learner", "sharded")),
    Trial(
        "resumed",
        2,
        "the same numbers from the checkpoint before the last",
        "state() must return all that an update changes, and restore() take it over",
    ),
)

# In this process: on a second rank another object would digest what is played
HERE = (*TRIALS[:2], Trial("digest", 2, "the same numbers where another object digests"), TRIALS[-1]._replace(ranks=1))


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
    job = ["--algorithm", args.algorithm, "--env", args.env, *more, "--checkpoint-every", "1", "--record-every", "1"]
    choice = choice_of(job)
    job += ["--total-steps", str(args.updates * choice.common.steps_per_update)]
    job += ["--transport", "events"] if choice.asynchronous else []
    choice, well = choice_of(job), True
    with tempfile.TemporaryDirectory(prefix="minitrpo-check-") as folder:
        for finding in findings(choice, partial(run, Path(folder), job)):
            print(finding, flush=True)
            well &= finding.well
    return 0 if well else 1


def findings(choice: Choice, run: Callable[[Trial], End], trials: tuple[Trial, ...] = TRIALS) -> Iterator[Finding]:
    """Yield a finding for each promise; those after one that is broken are left out where they would say nothing.

    run: trains as a trial says. BadInput if nothing can be trained with these settings.
    """
    spec = describe(choice.common.env)
    try:
        check_beginning(make_algorithm(choice, spec)[0])
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        yield Finding("begins", False, describe_error(error), "see algorithms/algorithm.py")
        return
    yield (seen := environment(spec.id))
    before = global_states()
    with guarded(STUCK_AFTER), closed_environments(), suppress(Exception, SystemExit):  # the trials show what fails
        run_here(choice, [], trials[0])
    drawn = [whose for whose, state in global_states().items() if state != before[whose] and seen.well]
    said = f"draws global random numbers of {drawn[0]}" if drawn else "draws no random numbers that nobody keyed"
    yield Finding("random", not drawn, said, "take those of rng")
    shares = not choice.asynchronous and choice.algorithm.can_share()
    shares = shares and choice.common.requests in choice.algorithm.assists_with
    first = None
    for trial in (trial for trial in trials if shares or trial.name != "sharded"):
        try:
            end = run(trial)
        except JobFailed as error:
            said, *more = str(error).splitlines()
            if first is None and error.code == REFUSED:  # what check was told
                raise BadInput(more[0].partition(": ")[2]) from error
            gone = ("  to play that", "  once the cause")  # what needs the run folder
            more = [line for line in more if not line.startswith(gone)]
            finding = Finding(trial.name, False, said, "\n      ".join(more))
        except (Exception, SystemExit) as error:  # of the algorithm, in this process
            finding = Finding(trial.name, False, describe_error(error), f"see {place_of(error)}")
        else:
            first = first or end
            same = end == first
            finding = Finding(trial.name, same, trial.says if same else f"not {trial.says}", trial.cure)
        yield finding
        if not finding.well and trial in trials[:2]:
            return
        if not seen.well:
            yield Finding("again", False, "cannot be tried where the environment differs", "try --env CartPole-v1")
            return


def run(place: Path, job: list[str], trial: Trial) -> End:
    """Return how a trial ends that is started as a command, in a folder of its own in `place`."""
    folder = place / trial.name.replace(" ", "_")
    words = ["--out", folder, *job, *trial.words]
    if trial.name == "resumed":
        shutil.copytree(place / "trains", folder)
        newest, before = (folder / name for name in CHECKPOINTS)
        before.replace(newest)
        words = ["--resume", folder, *job[: job.index("--env") + 2]]  # their modules may lie in this folder
    mpiexec(trial.ranks, "train", *words, "--progress", "none", "--oversubscribe", timeout=600)
    made = RunFolder(folder)
    rows = [{name: text for name, text in row.items() if name not in TIMINGS} for row in made.rows()]
    return sha256(made.load_checkpoint()["theta"]), rows


def run_here(choice: Choice, states: list[Arrays], trial: Trial) -> End:
    """Return how a trial ends in this process; `states`: of the first trial after each update, for the one resumed."""
    spec, trains = describe(choice.common.env), not states
    context = RunContext(choice, spec, RunFolder(Path()), states[-2] if trial.name == "resumed" else {})
    learner, rank = alone(context, make_algorithm(choice, spec)[0])
    rank.collector.restore(context.checkpoint, learner.iteration + 1)
    if trial.ranks > 1:
        rank = replace(rank, algorithm=make_algorithm(choice, spec)[0])
    row, kept = {}, [learner.state()]
    while not learner.finished:
        plan, request = learner.plan()
        rank.collector.refill()
        gathered = rank.collect(plan, request, checkpoint=True)
        learner.learn(gathered)
        row = learner.row()
        kept.append(deepcopy(learner.state() | gathered.unfinished))
    states += kept if trains else []
    return sha256(learner.state()["theta"]), str(row)


def global_states() -> dict[str, bytes]:
    """Return the states of numpy's and Python's global random numbers, to be compared."""
    numpys = np.random.get_state(legacy=False)  # noqa: NPY002 - looked at, not drawn from
    return {"numpy": pickle.dumps(numpys), "Python": pickle.dumps(random.getstate())}
