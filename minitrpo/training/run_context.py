"""Where a run begins, the same on every rank: settings, environment, folder, checkpoint; and what is made of them."""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from minitrpo.algorithms import registry
from minitrpo.algorithms.algorithm import Algorithm, Arrays, Context, Member
from minitrpo.algorithms.user_classes import RUN_PREFIX, UNFINISHED
from minitrpo.errors import BadInput, describe_error
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.evaluation import Evaluator
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import ROWS, Rollouts, make_vector_env
from minitrpo.parallel.comm import Comm, Nested, flat, nested
from minitrpo.parallel.episode_pool import DynamicPool, StaticPool, slots_of
from minitrpo.parallel.this_process import cores
from minitrpo.parallel.timing import Timeline
from minitrpo.perceptron import count_parameters
from minitrpo.policies import Policy
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.collect import Collector, EpisodeCollector, SegmentCollector
from minitrpo.training.settings import Choice, Settings

SETTINGS = RUN_PREFIX + "settings"  # the fingerprint of the settings that a checkpoint was made with
MOST_PARAMETERS = 100_000_000
NO_CLIP = 1e100  # environments may not return more
LIGHT = ("gymnasium.envs.classic_control", "gymnasium.envs.toy_text")  # a step takes a few microseconds
FEW = 128  # such steps: to play them takes less time than it takes ranks to meet
UNKNOWN_LENGTH = 1_000.0  # steps, assumed of an episode before one has been seen and where there is no time limit


@dataclass(frozen=True)
class RunContext:
    """Where a run begins; `checkpoint` is {} for a new one. Only the root writes."""

    choice: Choice
    spec: EnvironmentSpec
    folder: RunFolder
    checkpoint: Arrays
    notes: tuple[str, ...] = ()  # what is to be said before the first update
    working: Comm | None = None  # the ranks that play and learn; None on a rank that stays idle

    @property
    def settings(self) -> Settings:
        """Return the settings that every run has."""
        return self.choice.common


def counted(checkpoint: Arrays) -> tuple[int, int]:
    """Return updates and environment steps of a checkpoint, 0 and 0 if there is none."""
    iteration, steps = checkpoint[RUN_PREFIX + "counters"].tolist() if checkpoint else (0, 0)
    return iteration, steps


def meets_too_often(settings: Settings) -> bool:
    """Return whether one rank is sooner alone: so little is played between two updates that meeting takes longer."""
    known = gymnasium.registry.get(settings.env)
    return settings.steps_per_update <= FEW and known is not None and str(known.entry_point).startswith(LIGHT)


def working_ranks(settings: Settings, comm: Comm, oversubscribe: bool) -> tuple[Comm | None, int]:
    """Return the ranks that work, the root among them, and how many they are; collective.

    Ranks beyond the cores of their machine would only disturb the others, and so would all but one where an update is
    a matter of microseconds. Who plays changes no bit.

    Args:
        settings: those of the root count.
        comm: all ranks.
        oversubscribe: all ranks work; the root's word counts.

    Returns:
        The working ranks, None on a rank that leaves the work to the others; and their number, on every rank.

    """
    # the root decides, because the options of the ranks are compared only later
    alone, everybody = comm.broadcast((meets_too_often(settings), oversubscribe))
    if alone and not everybody:
        root = comm.split(int(comm.rank > 0))
        return (root if comm.rank == 0 else None), 1
    working = comm.split_per_node(comm.size if everybody else cores())
    return working, int(comm.broadcast(working.size if comm.rank == 0 and working is not None else 0))


def first_notes(context: RunContext, ranks: int, working: int) -> list[str]:
    """Return the notes before the first update; working: how many of the ranks work."""
    notes, spec = [], context.spec
    if working < ranks:
        few = f"{context.settings.steps_per_update} short steps between two updates"
        reason = few if meets_too_often(context.settings) else f"{working} core(s)"
        notes.append(
            f"note: {ranks} ranks, {reason}: {ranks - working} rank(s) stay idle, because "
            "the others are faster alone; --oversubscribe makes all of them work"
        )
    if spec.max_episode_steps is None and not context.settings.segments:
        notes.append(
            f"note: {spec.id} has no time limit, so an episode may never end; --requests segments does not wait for one"
        )
    return notes


def make_policy(choice: Choice, spec: EnvironmentSpec) -> Policy:
    """Return the policy that acts in a run: the algorithm's own if it makes one, else the default.

    BadInput if it is too large for any memory, or if the algorithm cannot act in this environment.
    """
    s, algorithm, kind = choice.common, choice.algorithm, spec.kind
    if kind not in algorithm.actions:
        cure = "" if spec.discrete else "; or wrap the environment in gymnasium.wrappers.DiscretizeAction"
        raise BadInput(
            f"--algorithm {s.algorithm} needs {' or '.join(algorithm.actions)} actions, and {spec.id} has "
            f"{kind}({spec.action_size}): try --algorithm {', '.join(registry.taking(kind))}{cure}"
        )
    policy = spec.policy(s.hidden_sizes, s.initial_log_std)
    size = count_parameters(policy.sizes)
    if size > MOST_PARAMETERS:
        raise BadInput(f"--hidden {s.hidden} makes {size:,} parameters of {spec.id}; at most {MOST_PARAMETERS:,}")
    policy = algorithm.make_policy(choice.algorithm_settings, policy)
    algorithm.check_policy(policy)
    return policy


def fresh_filter(settings: Settings, spec: EnvironmentSpec) -> ObservationFilter:
    """Return the observation filter with which a run begins; one that is not to run leaves observations as they are."""
    clip = settings.filter_clip if settings.filter == "running" else NO_CLIP
    return ObservationFilter.identity(spec.observation_size, clip)


def make_algorithm(
    choice: Choice,
    spec: EnvironmentSpec,
    comm: Comm | None = None,
    timeline: Timeline | None = None,
    worker: int = 0,
    workers: int = 1,
) -> tuple[Any, Context]:
    """Return a fresh algorithm and what it was given; `comm`: the ranks that share its update, this one by default.

    worker: which of the workers of an asynchronous algorithm it is.
    """
    s = choice.common
    context = Context(
        policy=make_policy(choice, spec),
        seed=s.seed,
        steps_per_update=s.steps_per_update,
        comm=comm or Comm(),
        timeline=timeline or Timeline(Comm(), keep=False),
        first_states=s.first_states,
        worker=worker,
        workers=workers,
        slots=s.num_envs if s.segments else 0,
        action_low=spec.low,
        action_high=spec.high,
        _total_steps=s.total_steps,
    )
    return choice.algorithm(choice.algorithm_settings, context), context


def make_collector(settings: Settings, spec: EnvironmentSpec, policy: Policy, comm: Comm) -> Collector:
    """Return this rank's collector, of the kind that the settings ask for."""
    num_envs = settings.num_envs if settings.segments else settings.envs_per_rank
    envs = make_vector_env(spec, num_envs, settings.physics)
    rollouts = Rollouts(spec, policy, envs, settings.seed, settings.first_states, settings.renew_first_states)
    if settings.segments:
        return SegmentCollector(rollouts, slots_of(comm.rank, comm.size, num_envs), num_envs)
    pool = DynamicPool(comm) if settings.pool == "dynamic" else StaticPool(comm)
    return EpisodeCollector(rollouts, pool, comm)


def make_evaluator(choice: Choice, spec: EnvironmentSpec, comm: Comm) -> Evaluator | None:
    """Return this rank's part of evaluating while it trains; None if that was not asked for."""
    s = choice.common
    if not s.eval_every:
        return None
    envs = make_vector_env(spec, min(ROWS, choice.copies(comm.size)), s.physics)
    return Evaluator(envs, make_policy(choice, spec), s.seed, comm)


def check_ranks(settings: Settings, ranks: int) -> None:
    """Raise BadInput where ranks would never get a request; ranks: those that work."""
    if settings.segments and settings.num_envs < ranks:
        raise BadInput(f"--num-envs {settings.num_envs} is too few for {ranks} ranks: choose --num-envs {ranks}")


# --- the checkpoint of a run
# That its bits are as the run wrote them: see `RunFolder.checkpoint`. Here is what that cannot know.


def check_settings(choice: Choice, checkpoint: Arrays, folder: RunFolder) -> None:
    """Raise BadInput unless the checkpoint was made with these settings."""
    if not np.array_equal(checkpoint.get(SETTINGS, ()), choice.fingerprint()):
        raise BadInput(
            f"{folder.path}: config.json is not the one with which checkpoint.npz was made: one of the two was edited, "
            "or is another run's, or another version's; put the right one back"
        )


def state_in(checkpoint: Arrays) -> Nested:
    """Return what the algorithm's `state` returned when a checkpoint was written."""
    return nested({name: array for name, array in checkpoint.items() if not name.startswith((RUN_PREFIX, UNFINISHED))})


def check_arrays(checkpoint: Arrays, algorithm: Member, spec: EnvironmentSpec, choice: Choice) -> None:
    """Raise BadInput unless a fresh algorithm can take over the checkpoint, in this environment."""
    fresh, synchronous = flat(algorithm.state()), isinstance(algorithm, Algorithm)
    of_algorithm = {name: array for name, array in checkpoint.items() if not name.startswith((RUN_PREFIX, UNFINISHED))}
    fixed = {"theta": fresh["theta"]} if synchronous else fresh  # what else an algorithm keeps may grow
    fixed = fixed | {RUN_PREFIX + "filter": np.zeros(2 + 2 * spec.observation_size)}
    odd = min(of_algorithm.keys() ^ fresh.keys(), default="")
    odd = odd or next((name for name, like in fixed.items() if kind(checkpoint[name]) != kind(like)), "")
    try:
        if not odd and isinstance(algorithm, Algorithm):
            algorithm.restore(state_in(checkpoint))
    except Exception as error:
        odd = describe_error(error)
    if odd:
        raise BadInput(
            f"the checkpoint does not fit {choice.common.algorithm} in {choice.common.env} ({odd}): it belongs to "
            "another run or environment, or to an earlier version of them"
        )


def kind(array: Any) -> tuple[Any, ...]:
    """Return the shape and the dtype of what is an array, or becomes one."""
    return np.shape(array), np.asarray(array).dtype
