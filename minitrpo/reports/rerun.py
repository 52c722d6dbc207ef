"""Play an episode of a run again in one process, with the numbers it had or would have had: for finding a failure."""

from threadpoolctl import threadpool_limits

from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import Timeline
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.asynchronous import make_queue
from minitrpo.training.context import RunContext, check_arrays, load, make_algorithm
from minitrpo.training.gather import Request
from minitrpo.training.synchronous import alone
from minitrpo.training.workers import ITERATION, env_steps


def replay(folder: RunFolder, episode: int, iteration: int | None = None) -> str:
    """Return how an episode ends; raises what it raised in the run.

    iteration: in which it is, by default the first after the checkpoint; updates that lie between are taken again,
    which gives the same policy to the bit.
    """
    choice, checkpoint = load(folder)
    spec = describe(choice.common.env)
    context = RunContext(choice, spec, folder, checkpoint)
    if choice.asynchronous:
        with threadpool_limits(1):
            return _replay_events(context, episode, iteration)
    algorithm = make_algorithm(choice, spec)[0]
    check_arrays(checkpoint, algorithm, spec, choice)
    learner, rank = alone(context, algorithm)
    collector = rank.collector
    first = learner.iteration + 1
    iteration = first if iteration is None else iteration
    if iteration < first:
        raise BadInput(f"--iteration {iteration} lies before the checkpoint, which is of iteration {learner.iteration}")
    with threadpool_limits(1):
        collector.restore(checkpoint, first)
        plan, request = learner.plan()
        while request.iteration < iteration:
            if learner.finished:
                raise BadInput(f"--iteration {iteration} lies behind the run's last, which is {learner.iteration}")
            collector.refill()
            learner.learn(rank.collect(plan, request, checkpoint=False))
            plan, request = learner.plan()
        fragments = collector.rerun(request, episode)
    return _story(fragments, episode, request)


def _replay_events(context: RunContext, episode: int, iteration: int | None) -> str:
    """Play the event queue again from the checkpoint to the end of an iteration; raises what it raised in the run."""
    choice = context.choice
    if choice.own.transport != "events":
        raise BadInput(
            f"{context.folder.path}: {choice.common.algorithm} was asynchronous in real time, and nobody kept the "
            "parameters with which an episode was played; its reset seed stands in failure.txt"
        )
    queue, _, _ = make_queue(context, Timeline(Comm(), keep=False))
    shared = queue.server.shared
    first = int(shared[ITERATION][0])
    iteration = first if iteration is None else iteration
    if iteration < first:
        raise BadInput(f"--iteration {iteration} lies before the checkpoint, which is of iteration {first - 1}")
    while int(shared[ITERATION][0]) <= iteration:
        due = env_steps(shared) + choice.common.steps_per_update
        while env_steps(shared) < due:
            queue.play()
        shared[ITERATION][0] += 1
    return f"iteration {iteration} was played again, and episode {episode} did not fail"


def _story(fragments: list[Fragments], episode: int, request: Request) -> str:
    here = [fragment for fragment in fragments if fragment.numbers[0] == episode]
    if not here:
        raise BadInput(f"iteration {request.iteration} has no episode {episode}; its failure message names one")
    last = here[-1]
    end = "terminated" if last.terminated[0] else "hit its time limit" if last.truncated[0] else "is not over yet"
    return (
        f"episode {episode} of iteration {request.iteration}: {last.starts[0] + last.lengths[0]} steps, "
        f"return {last.returns[0]:.6g}, {end}"
    )
