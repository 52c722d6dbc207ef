"""Where a run begins, the same on every rank: its settings, environment, folder and checkpoint; and its algorithm."""

from dataclasses import dataclass, replace
from typing import Any

from minitrpo.algorithms.interface import Context
from minitrpo.errors import BadInput
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.filters import ObservationFilter
from minitrpo.parallel.comm import Comm, SerialComm
from minitrpo.parallel.timing import Timeline
from minitrpo.perceptron import count_parameters
from minitrpo.policies import Array, Policy
from minitrpo.runs.actor import unfinished_slots
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.settings import Choice, Settings

MOST_PARAMETERS = 100_000_000
NO_CLIP = 1e100  # environments may not return more


@dataclass(frozen=True)
class RunContext:
    """Where a run begins; `checkpoint` is {} for a new one. Only the root writes."""

    choice: Choice
    spec: EnvironmentSpec
    folder: RunFolder
    checkpoint: dict[str, Array]
    notes: tuple[str, ...] = ()  # what is to be said before the first update

    @property
    def settings(self) -> Settings:
        """Return what every run can be told."""
        return self.choice.common


def make_policy(choice: Choice, spec: EnvironmentSpec) -> Policy:
    """Return the policy that acts in a run: the algorithm's own if it makes one, else the house's.

    BadInput if it is too large for any memory, or if the algorithm cannot act in this environment.
    """
    s = choice.common
    policy = spec.policy(s.hidden_sizes, s.initial_log_std)
    size = count_parameters(policy.sizes)
    if size > MOST_PARAMETERS:
        raise BadInput(f"--hidden {s.hidden} makes {size:,} parameters of {spec.id}; at most {MOST_PARAMETERS:,}")
    own = getattr(choice.algorithm, "make_policy", None)
    return own(choice.own, policy) if own else policy


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
    timeline = timeline or Timeline(SerialComm(), keep=False)
    policy, comm = make_policy(choice, spec), comm or SerialComm()
    context = Context(policy, s.seed, s.steps_per_update, comm, timeline, worker=worker, workers=workers)
    context = replace(context, total_steps=s.total_steps, first_states=s.first_states, slots=unfinished_slots(s))
    return choice.algorithm(choice.own, context), context


def fresh_algorithm(context: RunContext) -> Any:
    """Return an algorithm as a run begins with it, which shares its update with nobody."""
    return make_algorithm(context.choice, context.spec)[0]
