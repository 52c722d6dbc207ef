"""Play an episode of a run again in one process, with the numbers it had or would have had: for finding a failure."""

from threadpoolctl import threadpool_limits

from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.experience.episodes import Episodes
from minitrpo.parallel.ranks import Alone
from minitrpo.runs.collecting import Collector
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.learner import Learner, Plan
from minitrpo.runs.settings import Settings


def replay(folder: RunFolder, episode: int) -> str:
    """Return how an episode of the iteration after the checkpoint ends; raises what it raised in the run."""
    settings = Settings(**folder.read_config()["settings"])
    checkpoint = folder.load_checkpoint()
    spec = describe(settings.env)
    collector = Collector(settings, spec, Alone())
    learner = Learner(settings, spec)
    learner.restore(checkpoint)
    plan = learner.plan()
    with threadpool_limits(1):
        if settings.requests == "segments":
            collector.restore_lanes(checkpoint)
            pieces = collector.collect(plan)
        else:
            pieces = _play_one(collector, plan, episode)
    return _story(pieces, episode, plan)


def _play_one(collector: Collector, plan: Plan, episode: int) -> Episodes:
    if not 0 <= episode < plan.amount:
        following = f"iteration {plan.iteration}, the next after the checkpoint,"
        raise BadInput(f"{following} has episodes 0 to {plan.amount - 1}, not {episode}")
    requests = iter([episode])
    return collector.rollouts.play(
        plan.theta, plan.observation_filter, plan.iteration, lambda: next(requests, None), at_once=1
    )


def _story(pieces: Episodes, episode: int, plan: Plan) -> str:
    here = pieces.numbers == episode
    if not here.any():
        raise BadInput(f"iteration {plan.iteration}, the next after the checkpoint, does not reach episode {episode}")
    i = int(here.nonzero()[0][-1])
    end = "terminated" if pieces.terminated[i] else "hit its time limit" if pieces.truncated[i] else "is not over yet"
    return (
        f"episode {episode} of iteration {plan.iteration}: {pieces.starts[i] + pieces.lengths[i]} steps, "
        f"return {pieces.returns[i]:.6g}, {end}"
    )
