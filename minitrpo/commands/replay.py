"""Play a failed episode of a run again, in one process and with the same random numbers."""

import traceback

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import run_parser, trusted
from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.experience.environments import describe
from minitrpo.experience.vector_env import closed_environments
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.this_process import one_blas_thread
from minitrpo.parallel.timing import Timeline
from minitrpo.reports.trained_policy import load
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.program import command
from minitrpo.supervision.watchdog import guarded
from minitrpo.training.asynchronous.loop import make_team
from minitrpo.training.asynchronous.transports import Events
from minitrpo.training.asynchronous.workers import ITERATION, env_steps
from minitrpo.training.root import Root
from minitrpo.training.run_context import RunContext, check_arrays
from minitrpo.training.synchronous import make_rank


@command("replay")
def main(name: str, words: list[str]) -> int:
    """Replay the episode and say how it ended; exit code 1 if it fails again."""
    parser = run_parser(name, __doc__)
    parser.add_argument("episode", type=whole, help="episode number from the error message")
    parser.add_argument(
        "--iteration", type=whole, metavar="N", help="that of the failure (default: the first after the checkpoint)"
    )
    args = parser.parse_args(words)
    try:
        with guarded(args.stuck_after), one_blas_thread(), closed_environments():
            folder = trusted(RunFolder.open(args.run), vars(args))
            choice, checkpoint = load(folder)
            context = RunContext(choice, describe(choice.common.env), folder, checkpoint)
            play = replay_events if choice.asynchronous else replay
            print(play(context, args.episode, args.iteration))
    except EpisodeFailed as error:
        traceback.print_exception(error)
        return 1
    return 0


def replay(context: RunContext, episode: int, iteration: int | None) -> str:
    """Return how an episode ends; raises what it raised in the run.

    iteration: the one that has the episode, by default the first after the checkpoint. The updates before it are
    repeated and give the same policy to the bit.
    """
    rank, _ = make_rank(context, Comm(), Timeline(Comm(), keep=False))
    check_arrays(context.checkpoint, rank.algorithm, context.spec, context.choice)
    learner = Root(context, rank.algorithm)
    first = learner.iteration + 1
    iteration = after_checkpoint(iteration, first)
    rank.collector.restore(context.checkpoint, first)
    plan, request = learner.plan()
    while request.iteration < iteration:
        if learner.finished:
            raise BadInput(f"--iteration {iteration} is after the last of the run, which is {learner.iteration}")
        rank.collector.refill()
        learner.learn(rank.collect(plan, request, checkpoint=False))
        plan, request = learner.plan()
    played = [each for each in rank.collector.rerun(request, episode) if each.numbers[0] == episode]
    if not played:
        raise BadInput(f"iteration {iteration} has no episode {episode}; its failure message names one")
    last = played[-1]
    end = "terminated" if last.terminated[0] else "hit its time limit" if last.truncated[0] else "is not over yet"
    steps = last.starts[0] + last.lengths[0]
    return f"episode {episode} of iteration {iteration}: {steps} steps, return {last.returns[0]:.6g}, {end}"


def replay_events(context: RunContext, episode: int, iteration: int | None) -> str:
    """Play the event queue again from the checkpoint to the end of an iteration; raises what it raised in the run."""
    choice = context.choice
    if choice.algorithm_settings.transport != "events":
        raise BadInput(
            f"{context.folder.path}: {choice.common.algorithm} was asynchronous in real time, so the parameters that "
            "played an episode were not kept; failure.txt contains the reset seed of the episode"
        )
    transport = Events(context, Comm())
    shared = make_team(context, transport, Timeline(Comm(), keep=False)).shared
    iteration = after_checkpoint(iteration, int(shared[ITERATION][0]))
    while int(shared[ITERATION][0]) <= iteration:
        due = env_steps(shared) + choice.common.steps_per_update
        while env_steps(shared) < due:
            transport.queue.play()
        shared[ITERATION][0] += 1
    return f"iteration {iteration} was played again, and episode {episode} did not fail"


def after_checkpoint(iteration: int | None, first: int) -> int:
    """Return the iteration to play, by default the first after the checkpoint; BadInput for one before it."""
    if iteration is not None and iteration < first:
        raise BadInput(f"--iteration {iteration} is before the checkpoint, which is from iteration {first - 1}")
    return first if iteration is None else iteration
