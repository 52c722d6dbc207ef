"""What an algorithm is: a class with plain methods, which the loops in `runs` call and know nothing else about.

    Settings        a dataclass of `option`s: what it can be told beside what every run can be told
    columns         the names of what `learn` adds to metrics.csv; optional: `chart`, one or two of them to draw (else
                    the first), and `chart_label`, their unit; `presets`, a dict of Preset by name
    __init__        (settings, context): made alike on every rank
    plan()          on the root: what to collect next -> Plan
    digest(plan, fragment)    on the rank that played it, for each fragment by itself: what travels to the root -> a
                    dict of arrays, each with a row for every step, or one row
    learn(batch, rng)         on the root: the same dict with everybody's rows, in episode order -> a dict of `columns`
    make_policy(settings, policy)    a static method, if the house's Gaussian or categorical `policy` is not what acts:
                    returns another with its noise_size, draw_noise, initialise, act_function, distribution and mode;
                    BadInput if the algorithm cannot act in this kind of environment
    fit(found)                on the root, while the new policy is being played already: what the next rollout does not
                    need, such as a critic; theta must stay
    assist(plan, rng)         on all other ranks while the root learns, with --learner sharded; only if it can share.
                    May return a dict of arrays, which the root's `fit` gets: found[rank]
                    `assists_with`, if it can with one kind of --requests only: ("segments",)
    state(), restore(arrays)  a dict of arrays from which a run goes on, to the bit; `theta` is among them

Three rules make the same bits on any number of ranks: random numbers only from `context.generator` and `rng`; nothing
that depends on the rank or the clock; sums in the order in which rows arrive, which is that of the episodes.

An asynchronous algorithm has `gradient` and `apply` instead of plan, digest and learn: see `asynchronous`.
"""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, is_dataclass
from dataclasses import fields as fields_of
from typing import Any, ClassVar, Protocol

import numpy as np

from minitrpo.algorithms.asynchronous import TRANSPORTS, AsynchronousSettings, is_asynchronous
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.comm import Comm, SerialComm
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array, Policy

Arrays = dict[str, Array]


@dataclass(frozen=True)
class Plan:
    """What to collect next: episodes of the policy `theta`, about `steps` steps of them (None: as the run was told).

    arrays: what `digest` needs beside theta; every rank gets them. episodes: how many whole ones, instead of `steps`.
    """

    theta: Array
    steps: int | None = None
    arrays: Arrays = field(default_factory=dict)
    episodes: int | None = None


@dataclass(frozen=True)
class Design:
    """Where a member of the family stands: when it learns, how ranks keep step, what travels, who learns, from what."""

    when: str  # batch | every n steps
    sync: str  # barrier | asynchronous
    travels: str  # samples | gradients
    learns: str  # root | all ranks | server or shared memory
    data: str  # on-policy | replay
    source: str


@dataclass(frozen=True)
class Preset:
    """A named choice of settings: what it is for, its values, and what it adds for single environments."""

    text: str
    values: dict[str, Any] = field(default_factory=dict)
    by_env: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What a run gives an algorithm, the same on every rank but for `comm`'s rank."""

    policy: Policy
    seed: int
    steps_per_update: int
    comm: Comm = field(default_factory=SerialComm)  # the ranks that share the update: this one alone by default
    timeline: Timeline = field(default_factory=lambda: Timeline(SerialComm(), keep=False))
    notes: list[str] = field(default_factory=list)
    first_states: int = 0  # episode n begins as n % first_states does; 0: each in a state of its own
    total_steps: int = 0  # after which the run will end, for schedules; 0: not known
    worker: int = 0  # which of the workers an asynchronous algorithm is, of how many
    workers: int = 1
    slots: int = 0  # with --requests segments: environments of the whole job; episode n is played in slot n % slots

    def generator(self, purpose: Purpose) -> np.random.Generator:
        """Return the random numbers that an algorithm may begin with, keyed by the run's seed and what they are for."""
        return generator(self.seed, 0, 0, purpose)

    def span(self, name: str) -> AbstractContextManager[None]:
        """Time the body of a `with` under this name, for the trace."""
        return self.timeline.span(name)

    def note(self, text: str) -> None:
        """Say something about this update that must not be missed."""
        self.notes.append(text)


class Algorithm(Protocol):
    """What the loops ask of an algorithm."""

    Settings: ClassVar[Any]
    columns: ClassVar[tuple[str, ...]]

    def __init__(self, settings: Any, context: Context) -> None: ...
    def plan(self) -> Plan: ...
    def digest(self, plan: Plan, fragment: Episodes) -> Arrays: ...
    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]: ...
    def state(self) -> Arrays: ...
    def restore(self, arrays: Arrays) -> None: ...


METHODS = {
    "__init__": ("self", "settings", "context"),
    "plan": ("self",),
    "digest": ("self", "plan", "fragment"),
    "learn": ("self", "batch", "rng"),
    "state": ("self",),
    "restore": ("self", "arrays"),
}
MAY_HAVE = {"assist": ("self", "plan", "rng"), "fit": ("self", "found"), "make_policy": ("settings", "policy")}
ASYNCHRONOUS_METHODS = {
    "__init__": ("self", "settings", "context"),
    "state": ("self",),
    "gradient": ("self", "shared", "fragment", "now", "rng"),
    "apply": ("self", "shared", "gradient", "now"),
}
ASYNCHRONOUS_MAY_HAVE = {
    "acting": ("self", "shared", "now"),
    "memory": ("self",),
    "remember": ("self", "arrays"),
    "make_policy": ("settings", "policy"),
}


def defect(candidate: Any, taken: set[str]) -> str:
    """Return why something cannot be an algorithm, in words that follow its name; "" if it can.

    taken: settings and columns that every run has, which an algorithm cannot have, too.
    """
    if not inspect.isclass(candidate):
        return f"is a {type(candidate).__name__}, not a class"
    methods, may_have = METHODS, MAY_HAVE
    if is_asynchronous(candidate):
        methods, may_have = ASYNCHRONOUS_METHODS, ASYNCHRONOUS_MAY_HAVE
    for name, parameters in {**methods, **may_have}.items():
        method = getattr(candidate, name, None)
        if method is None and name in may_have:
            continue
        if not callable(method) or method is getattr(object, name, None):  # object's own __init__ takes nothing
            return f"has no method {name}({', '.join(parameters)})"
        if not _takes(method, len(parameters)):
            return f"has {name}{inspect.signature(method)}; it must take ({', '.join(parameters)})"
    return (
        _defect_of_settings(getattr(candidate, "Settings", None), taken)
        or _defect_of_columns(candidate, taken)
        or (_defect_of_asynchronous(candidate) if is_asynchronous(candidate) else "")
    )


def _defect_of_asynchronous(candidate: Any) -> str:
    if not issubclass(candidate.Settings, AsynchronousSettings):
        return "has gradient and apply, but its Settings do not inherit AsynchronousSettings"
    if hasattr(candidate, "memory") != hasattr(candidate, "remember"):
        return "has only one of memory() and remember(arrays)"
    pulled, transports = getattr(candidate, "pulled", ("theta",)), getattr(candidate, "transports", TRANSPORTS)
    if not isinstance(pulled, tuple) or "theta" not in pulled:
        return f"has pulled = {pulled!r}; it must be a tuple of names of shared arrays, theta among them"
    if not isinstance(transports, tuple) or not transports or not set(transports) <= set(TRANSPORTS):
        return f"has transports = {transports!r}; it must be a tuple of some of {', '.join(TRANSPORTS)}"
    return ""


def _takes(method: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(method).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _defect_of_settings(settings: Any, taken: set[str]) -> str:
    if not (inspect.isclass(settings) and is_dataclass(settings)):
        return "has no dataclass called Settings; write `Settings = Settings` inside the class"
    for f in fields_of(settings):
        if not {"help", "choices", "above"} <= set(f.metadata) or type(f.default) not in (int, float, str):
            return f"has Settings.{f.name}, which is not made by option(default, text), default an int, float or str"
        if f.name in taken:
            return f"has Settings.{f.name}, but every run has a setting of that name: choose another"
    return ""


def _defect_of_columns(candidate: Any, taken: set[str]) -> str:
    columns = getattr(candidate, "columns", None)
    if not isinstance(columns, tuple) or not all(isinstance(c, str) and c.isidentifier() for c in columns):
        return f'has columns = {columns!r}; it must be a tuple of names, such as ("gradient_norm",)'
    double = [c for c in columns if c in taken or columns.count(c) > 1]
    if double:
        return f"has a column {double[0]}, which metrics.csv has already: choose another name"
    presets = getattr(candidate, "presets", {})
    if not isinstance(presets, dict) or not all(isinstance(preset, Preset) for preset in presets.values()):
        return "has presets that are no dict of Preset(text, values)"
    if not set(getattr(candidate, "chart", ())) <= set(columns):
        return f"has chart = {candidate.chart!r}; only names of `columns` can be drawn"
    return ""
