"""Where a run begins, the same on every rank: settings, environment, folder, checkpoint; and what is made of them."""

from dataclasses import dataclass, replace
from typing import Any

import gymnasium

from minitrpo.algorithms import registry
from minitrpo.algorithms.algorithm import Arrays, Context, Plan
from minitrpo.contract import OWN
from minitrpo.errors import BadInput
from minitrpo.experience.collectors import Collector, EpisodeCollector, SegmentCollector
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.evaluation import Evaluator
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, make_vector_env
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.cores import cores
from minitrpo.parallel.episode_pool import DynamicPool, StaticPool, slots_of
from minitrpo.parallel.timing import Timeline
from minitrpo.perceptron import count_parameters
from minitrpo.policies import Policy
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.settings import Choice, Settings

SETTINGS = OWN + "settings"  # the fingerprint of the settings that a checkpoint was made with
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

    @property
    def settings(self) -> Settings:
        """Return what every run can be told."""
        return self.choice.common

    @property
    def iteration(self) -> int:
        """Return how many updates have been made."""
        return counted(self.checkpoint)[0]

    @property
    def env_steps(self) -> int:
        """Return how many environment steps have been taken."""
        return counted(self.checkpoint)[1]


def counted(checkpoint: Arrays) -> tuple[int, int]:
    """Return updates and environment steps of a checkpoint, 0 and 0 if there is none."""
    iteration, steps = checkpoint[OWN + "counters"].tolist() if checkpoint else (0, 0)
    return iteration, steps


def meets_too_often(settings: Settings) -> bool:
    """Return whether one rank is sooner alone: so little is played between two updates that meeting takes longer."""
    known = gymnasium.registry.get(settings.env)
    return settings.steps_per_update <= FEW and known is not None and str(known.entry_point).startswith(LIGHT)


def working_ranks(context: RunContext, comm: Comm, oversubscribe: bool) -> Comm | None:
    """Return the ranks that work, the root among them; None on those that leave the work to the others; collective.

    Ranks beyond the cores of their machine would only disturb the others, and so would all but one where an update is
    a matter of microseconds. Who plays changes no bit; with `oversubscribe` all work.
    """
    if not oversubscribe and meets_too_often(context.settings):
        root = comm.split(int(comm.rank > 0))
        return root if comm.rank == 0 else None
    return comm.split_per_node(comm.size if oversubscribe else cores())


def make_policy(choice: Choice, spec: EnvironmentSpec) -> Policy:
    """Return the policy that acts in a run: the algorithm's own if it makes one, else the house's.

    BadInput if it is too large for any memory, or if the algorithm cannot act in this environment.
    """
    s = choice.common
    check_actions(choice, spec)
    policy = spec.policy(s.hidden_sizes, s.initial_log_std)
    size = count_parameters(policy.sizes)
    if size > MOST_PARAMETERS:
        raise BadInput(f"--hidden {s.hidden} makes {size:,} parameters of {spec.id}; at most {MOST_PARAMETERS:,}")
    return choice.algorithm.make_policy(choice.own, policy)


def check_actions(choice: Choice, spec: EnvironmentSpec) -> None:
    """Raise BadInput, with who can, where an algorithm cannot choose from actions of this kind."""
    kind, algorithm = "Discrete" if spec.discrete else "Box", choice.algorithm
    if kind not in algorithm.actions:
        cure = "" if spec.discrete else "; or wrap the environment in gymnasium.wrappers.DiscretizeAction"
        raise BadInput(
            f"--algorithm {choice.common.algorithm} takes {' or '.join(algorithm.actions)} actions, and {spec.id} has "
            f"{kind}({spec.action_size}): try --algorithm {', '.join(registry.taking(kind))}{cure}"
        )


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
    holds_last: bool = True,
) -> tuple[Any, Context]:
    """Return a fresh algorithm and what it was given; `comm`: the ranks that share its update, this one by default.

    worker: which of the workers of an asynchronous algorithm it is. holds_last: see Context.
    """
    s = choice.common
    timeline = timeline or Timeline(Comm(), keep=False)
    policy, comm = make_policy(choice, spec), comm or Comm()
    context = Context(policy, s.seed, s.steps_per_update, comm, timeline, worker=worker, workers=workers)
    context = replace(context, _total_steps=s.total_steps, first_states=s.first_states, slots=unfinished_slots(s))
    context = replace(context, holds_last=holds_last, action_low=spec.low, action_high=spec.high)
    return choice.algorithm(choice.own, context), context


def first_mean_length(spec: EnvironmentSpec) -> float:
    """Return how long an episode is taken to be before one has ended."""
    return float(spec.max_episode_steps or UNKNOWN_LENGTH)


def make_collector(settings: Settings, spec: EnvironmentSpec, policy: Policy, comm: Comm) -> Collector:
    """Return this rank's collector, of the kind that the settings ask for; BadInput if a rank would have nothing."""
    num_envs = settings.num_envs if settings.segments else settings.envs_per_rank
    check_ranks(settings, comm.size)
    envs = make_vector_env(spec, num_envs, settings.physics)
    first = settings.first_states, settings.renew_first_states
    rollouts = Rollouts(spec, policy, envs, settings.seed, *first)
    if settings.segments:
        return SegmentCollector(rollouts, slots_of(comm.rank, comm.size, num_envs), num_envs)
    pool = DynamicPool(comm) if settings.pool == "dynamic" else StaticPool(comm)
    return EpisodeCollector(rollouts, pool, comm)


def make_evaluator(choice: Choice, spec: EnvironmentSpec, comm: Comm) -> Evaluator | None:
    """Return this rank's part of evaluating while it trains; None if that was not asked for."""
    s = choice.common
    return Evaluator(spec, make_policy(choice, spec), s.seed, comm, s.physics) if s.eval_every else None


def check_ranks(settings: Settings, ranks: int) -> None:
    """Raise BadInput where ranks would never get a request."""
    if settings.segments and settings.num_envs < ranks:
        raise BadInput(
            f"--num-envs {settings.num_envs} environments for {ranks} ranks: choose --num-envs {ranks} or more"
        )


def check_requests(settings: Settings, plan: Plan) -> None:
    """Raise BadInput where an algorithm counts on whole episodes and gets segments."""
    if settings.segments and plan.episodes is not None:
        raise BadInput(f"--requests segments: {settings.algorithm} needs whole episodes; use --requests episodes")


def unfinished_slots(settings: Settings) -> int:
    """Return how many environments of the whole job are within an episode between two updates."""
    return settings.num_envs if settings.segments else 0
