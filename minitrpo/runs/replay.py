"""Play an episode of a run again in one process, with the numbers it had or would have had: for finding a failure."""

from threadpoolctl import threadpool_limits

from minitrpo.errors import BadInput
from minitrpo.experience.collectors import Request
from minitrpo.experience.environments import describe
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.status import RankStatus
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.timing import Timeline
from minitrpo.runs.actor import make_collector
from minitrpo.runs.asynchronous import make_queue
from minitrpo.runs.barrier import Worker
from minitrpo.runs.checkpoints import check_arrays, load
from minitrpo.runs.context import RunContext, make_algorithm
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.learner import Learner
from minitrpo.runs.workers import ITERATION, env_steps


def replay(folder: RunFolder, episode: int, iteration: int | None = None, status: RankStatus | None = None) -> str:
    """Return how an episode ends; raises what it raised in the run.

    iteration: in which it is, by default the first after the checkpoint; updates that lie between are taken again,
    which gives the same policy to the bit. status: what a watchdog reads.
    """
    choice, checkpoint = load(folder)
    if choice.asynchronous:
        with threadpool_limits(1):
            return _replay_events(
                RunContext(choice, describe(choice.common.env, status), folder, checkpoint), episode, iteration, status
            )
    spec = describe(choice.common.env, status)
    algorithm, given = make_algorithm(choice, spec)
    check_arrays(checkpoint, algorithm, spec, choice)
    collector = make_collector(choice.common, spec, given.policy, SerialComm(), status)
    learner = Learner(choice.common, spec, algorithm, collector)
    learner.restore(checkpoint)
    first = learner.iteration + 1
    iteration = first if iteration is None else iteration
    if iteration < first:
        raise BadInput(f"--iteration {iteration} lies before the checkpoint, which is of iteration {learner.iteration}")
    worker = Worker(SerialComm(), collector, algorithm, Timeline(SerialComm(), keep=False))
    with threadpool_limits(1):
        collector.restore(checkpoint, first)
        plan, request = learner.plan()
        while request.iteration < iteration:
            if learner.finished:
                raise BadInput(f"--iteration {iteration} lies behind the run's last, which is {learner.iteration}")
            collector.refill()
            gathered = worker.collect(plan, request, checkpoint=False).gathered
            assert gathered is not None
            learner.learn(gathered)
            learner.complete([])
            plan, request = learner.plan()
        fragments = collector.replay(request, episode)
    return _story(fragments, episode, request)


def _replay_events(context: RunContext, episode: int, iteration: int | None, status: RankStatus | None) -> str:
    """Play the event queue again from the checkpoint to the end of an iteration; raises what it raised in the run."""
    choice = context.choice
    if choice.own.transport != "events":
        raise BadInput(
            f"{context.folder.path}: {choice.common.algorithm} was asynchronous in real time, and nobody kept the "
            "parameters with which an episode was played; its reset seed stands in failure.txt"
        )
    queue, _, _ = make_queue(context, Timeline(SerialComm(), keep=False), status)
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


def _story(fragments: Episodes, episode: int, request: Request) -> str:
    here = fragments.numbers == episode
    if not here.any():
        raise BadInput(f"iteration {request.iteration} has no episode {episode}; its failure message names one")
    i = int(here.nonzero()[0][-1])
    end = "terminated" if fragments.terminated[i] else "hit its time limit"
    if not fragments.ended[i]:
        end = "is not over yet"
    return (
        f"episode {episode} of iteration {request.iteration}: {fragments.starts[i] + fragments.lengths[i]} steps, "
        f"return {fragments.returns[i]:.6g}, {end}"
    )
