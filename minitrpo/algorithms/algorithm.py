"""The interface of an algorithm: a class whose methods the loops in `training` call.

`Algorithm` has a barrier: plan, prepare, learn. `AsynchronousAlgorithm` has no barrier: gradient, apply. A class
inherits from one of the two; methods and attributes that it leaves out have a default here.

Three rules give the same bits on any number of ranks: draw random numbers only from `context.generator` and `rng`; do
not use the rank or the clock; take sums in the order of the rows, which is that of the episodes.
`python -m minitrpo check mine:Class` tests them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.options import option, step_size_option
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.comm import Comm, Nested
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array, Policy, inherits

Arrays = dict[str, Array]
KINDS = ("Box", "Discrete")  # of actions: numbers, choices


@dataclass(frozen=True)
class Plan:
    """What to collect next: episodes of the policy `theta`, about `steps` steps (None: --steps-per-update).

    arrays: what `prepare` needs apart from theta. episodes: a number of whole episodes, instead of `steps`. Every rank
    receives the same plan.
    """

    theta: Array
    steps: int | None = None
    arrays: Arrays = field(default_factory=dict)
    episodes: int | None = None


@dataclass(frozen=True)
class Preset:
    """A named choice of settings: what it is for, its values, and what it adds for single environments."""

    text: str
    values: dict[str, Any] = field(default_factory=dict)
    by_env: dict[str, dict[str, Any]] = field(default_factory=dict)

    def settings(self, env: str) -> dict[str, Any]:
        """Return the values of the preset for one environment.

        Args:
            env: as `--env` has it. An environment of this package, module:ID, is known by its ID alone.

        Returns:
            `values`, and what `by_env` adds to them or changes.

        """
        module, _, name = env.rpartition(":")
        known_as = name if module.startswith("minitrpo.") else env
        return self.values | self.by_env.get(known_as, {})


@dataclass(frozen=True)
class Context:
    """What a run gives an algorithm, the same on every rank except for `comm`'s rank."""

    policy: Any  # what `make_policy` returned
    seed: int
    steps_per_update: int
    comm: Comm = field(default_factory=Comm)  # the ranks that share the update: this one alone by default
    timeline: Timeline = field(default_factory=lambda: Timeline(Comm(), keep=False))
    notes: list[str] = field(default_factory=list)
    first_states: int = 0  # episode n begins as n % first_states does; 0: each in a state of its own
    worker: int = 0  # which of the workers an asynchronous algorithm is, of how many
    workers: int = 1
    slots: int = 0  # with --requests segments: environments of the whole job; episode n is played in slot n % slots
    scheduled: list[int] = field(default_factory=list)  # of schedules that end with the run: after how many steps
    # The bounds (A,) of continuous actions, to which -1 to 1 of a policy is stretched before it is clipped; a fragment
    # has them as the policy chose them
    action_low: Array = field(default_factory=lambda: np.zeros(0))
    action_high: Array = field(default_factory=lambda: np.zeros(0))
    _total_steps: int = 0  # after which the run will end; 0: not known; see `schedule`

    def generator(self, purpose: Purpose | str) -> np.random.Generator:
        """Return the random numbers that an algorithm may begin with, keyed by the run's seed and what they are for.

        purpose: the name of a `Purpose` will do, as in "policy"; ValueError for another.
        """
        if isinstance(purpose, str) and purpose.upper() not in Purpose.__members__:
            raise ValueError(f"no purpose {purpose!r}: {', '.join(Purpose.__members__).lower()} are there")
        return generator(self.seed, 0, 0, Purpose[purpose.upper()] if isinstance(purpose, str) else purpose)

    def schedule(self, over: int = 0) -> Callable[[int], float]:
        """Return a function of the environment steps that falls linearly from 1 to 0 over `over` of them, or the run.

        Call it in `__init__`. A run with a schedule as long as the run itself cannot be given more steps later.
        """
        total = self._total_steps
        if over == 0:
            self.scheduled.append(total)
        elif over < total:
            self.note(f"note: a schedule ends after {over} of {total} steps; its value is constant afterwards")
        return partial(remaining, horizon=over or total)

    def span(self, name: str) -> AbstractContextManager[None]:
        """Time the body of a `with` under this name, for the trace."""
        return self.timeline.span(name)

    def note(self, text: str) -> None:
        """Say something about this update that must not be missed."""
        self.notes.append(text)


def remaining(steps: int, horizon: int) -> float:
    """Return what is left of a schedule that falls linearly from 1 to 0 over `horizon` steps; 1 without a horizon."""
    return max(0.0, 1 - steps / horizon) if horizon > 0 else 1.0


@dataclass(frozen=True)
class AnnealingSettings:
    """Settings of algorithms whose step size may fall."""

    step_size: float = step_size_option()
    anneal: str = option(
        "none", "what falls linearly to 0 over the run", "Mnih et al. 2016: step-size", ("step-size", "none")
    )
    anneal_steps: int = option(
        0,
        "length of the schedule in environment steps; 0: --total-steps",
        least=0,
        most=10**15,
        only={"anneal": ("step-size", "clip", "both")},
        finding="",
    )

    def step_size_in(self, context: Context) -> Callable[[int], float]:
        """Return the step size as a function of the environment steps taken."""
        if self.anneal == "none":
            return lambda steps: self.step_size
        left = context.schedule(self.anneal_steps)
        return lambda steps: self.step_size * left(steps)


def refuse_other_network(policy: Any, kind: type, names: tuple[str, ...]) -> None:
    """Raise BadInput unless a policy's network is the one that a gradient written by hand is of.

    Args:
        policy: what `make_policy` returned.
        kind: the package's policy whose network the gradient knows.
        names: the methods of `kind` that a policy must not replace.

    """
    if not inherits(type(policy), kind, names):
        raise BadInput(
            f"make_policy returned a {type(policy).__name__}, but this algorithm's gradient is written by hand for the "
            f"network of {kind.__name__}, with its {' and '.join(names)}; inherit from an algorithm that takes the "
            "gradient of any policy: docs/own-algorithm.md names them"
        )


class Member(ABC):
    """What both kinds of algorithms have."""

    loop: ClassVar[str]  # the module of `training` that plays it
    # A dataclass of `option`s. Its method check(), if it has one, raises BadInput if values contradict each other
    Settings: ClassVar[Any]
    # The settings of every run that it does not heed: {name: why, in words that follow "has no effect"}
    ignores: ClassVar[dict[str, str]] = {}
    # Settings that it had in 0.3.0, each with the only value with which such a run can still be read and continued
    removed: ClassVar[dict[str, Any]] = {}
    columns: ClassVar[tuple[str, ...]]  # what it adds to metrics.csv
    chart: ClassVar[tuple[str, ...] | None] = None  # one or two columns to draw; None: the first
    chart_label: ClassVar[str] = ""  # their unit
    second_chart: ClassVar[tuple[str, ...]] = ()  # one or two more, of another unit
    second_label: ClassVar[str] = ""
    presets: ClassVar[dict[str, Preset]] = {}
    actions: ClassVar[tuple[str, ...]] = KINDS  # of Gymnasium's spaces that it can choose from

    @abstractmethod
    def __init__(self, settings: Any, context: Context) -> None:
        """Create the algorithm, in the same way on every rank."""

    @staticmethod
    def make_policy(settings: Any, policy: Policy) -> Any:
        """Return the policy that acts, by default the Gaussian or categorical `policy`; see `policies.Policy`.

        BadInput if the algorithm cannot act in this kind of environment.
        """
        return policy

    @classmethod  # noqa: B027 - by default every policy is right
    def check_policy(cls, policy: Any) -> None:
        """Raise BadInput if this class would train the policy by the gradient of another network.

        A class whose gradient is written by hand for one network overrides this; see `refuse_other_network`.
        """

    @abstractmethod
    def state(self) -> Nested:
        """Return all that the next update depends on, as arrays or dicts of arrays; `theta` is among them."""

    @classmethod
    def defects(cls) -> Iterable[str]:
        """Return why a class of this kind cannot run, in words that follow its name; see `user_classes`."""
        return ()


class Algorithm(Member):
    """An algorithm with a barrier: all ranks collect, then the root learns, or all ranks learn together."""

    loop = "synchronous"
    # With which --requests `learn` can run on all ranks together, which is what --learner sharded asks for
    sharded_with: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def plan(self) -> Plan:
        """Return what to collect next; on the root."""

    @abstractmethod
    def prepare(self, plan: Plan, fragment: Fragments) -> Arrays:
        """Return what travels to the root: arrays with one row per step of the fragment, or with one row.

        Runs on the rank that played the fragment; observations are filtered, as the policy saw them.
        """

    @abstractmethod
    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Learn from the rows of all ranks; on the root, or with --learner sharded on all ranks at the same time.

        Where all ranks learn, `context.comm` has more than one of them. Only the root has rows, and broadcasts what the
        others take for their part. Afterwards `state` is the same on all ranks.

        Args:
            batch: on the root the rows of all ranks by name, in episode order; {} on the others.
            rng: the random numbers of this update, the same on every rank.

        Returns:
            The `columns`; those of the root are written.

        """

    @abstractmethod
    def restore(self, arrays: Nested) -> None:
        """Restore what `state` returned."""
