"""What a finding proposes to type: one option with a value that differs from the run's in the direction that helps."""

import math
from dataclasses import dataclass, fields
from typing import Any

from minitrpo.algorithms.options import discount_option, flag, step_size_option
from minitrpo.errors import BadInput
from minitrpo.training.settings import Choice, Settings, chosen, presets

FACTOR = 3.0  # by which a value changes whose default is no cure
# Options that a class of a user's may take from us
SHARED = {discount_option().metadata["help"], step_size_option().metadata["help"]}


@dataclass(frozen=True)
class Cure:
    """An option with another value."""

    name: str
    value: Any

    def __str__(self) -> str:
        return f"{flag(self.name)} {f'{self.value:.12g}' if isinstance(self.value, float) else self.value}"


def cure_of(choice: Choice, entries: tuple[str, ...], accused: str = "", wanted: Any = None) -> Cure | None:
    """Return the first of some proposed changes that a run allows.

    Args:
        choice: the settings of the run.
        entries: changes as in findings.toml, the best first: "larger NAME", "smaller NAME" or "NAME = VALUE".
        accused: a setting that was found far from its default, whatever it means.
        wanted: a value that is tried before the default.

    Returns:
        An option of the run's classes that has an effect, with a value that its limits allow and that lies on the
        stated side of the run's own; None if no entry has one.

    """
    for entry in entries:
        name, equals, text = entry.partition(" = ")
        direction, name = ("", name) if equals else entry.split()
        now: Any = choice.flat().get(name)
        if name not in {*meanings(choice), accused} or name in choice.without_effect():
            continue
        for value in [type(now)(text)] if equals else values_to_try(choice, name, direction, wanted):
            if lies(value, direction, now) and allowed(choice, name, value):
                return Cure(name, value)
    return None


def values_to_try(choice: Choice, name: str, direction: str, wanted: Any) -> list[Any]:
    """Return values of a setting, the best first: what is wanted, the default, and a step from the run's own."""
    now, default = choice.flat()[name], tuned(choice)[0][name]
    return [wanted, default] if isinstance(now, str) else [wanted, default, step_from(choice, name, direction)]


def step_from(choice: Choice, name: str, direction: str) -> Any:
    """Return a number on one side of the run's own, within the limits of the option as far as they reach.

    By one unit where the number may be negative, as a logarithm may; by the distance from 1 for a fraction near 1, such
    as the discount; else by a factor.
    """
    now, limits, larger = choice.flat()[name], metadata_of(choice, name), direction == "larger"
    lowest = limits["at least"] if limits["above"] is None else limits["above"]
    lowest, highest = (-math.inf if lowest is None else lowest), limits["at most"]
    highest = math.inf if highest is None else highest
    if lowest < 0:
        value = now + (1.0 if larger else -1.0)
    elif now > 0.5 and highest == 1:
        value = 1 - float(f"{(1 - now) * (1 / FACTOR if larger else FACTOR):.2g}")
        value = round(value, 12) if value > lowest else now / FACTOR
    else:
        first = 0.01 if isinstance(now, float) else 1
        value = (now or first / FACTOR) * FACTOR if larger else now / FACTOR
    value = min(max(value, lowest), highest)
    return float(f"{value:.12g}" if value > 0.5 else f"{value:.2g}") if isinstance(now, float) else math.ceil(value)


def lies(value: Any, direction: str, now: Any) -> bool:
    """Return whether a value differs from the present one, on the stated side if the two are numbers."""
    if value is None or value == now:
        return False
    numbers = isinstance(value, int | float) and isinstance(now, int | float)
    return not (direction and numbers) or (value > now) == (direction == "larger")


def allowed(choice: Choice, name: str, value: Any) -> bool:
    """Return whether a run with this value, and else the same settings, can begin as far as its settings say."""
    if name == "requests" and value not in tuned(choice)[1][name]:  # the algorithm may play whole episodes only
        return False
    try:
        chosen(choice.flat() | {name: value}, choice.algorithm)
    except BadInput:
        return False
    return True


def tuned(choice: Choice) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the default settings of a member in its environment, and the values of each in all its presets."""
    values = {f.name: f.default for kind in (Settings, choice.algorithm.Settings) for f in fields(kind)}
    known, named = {name: [value] for name, value in values.items()}, presets(choice.algorithm)
    for settings in (part for preset in named.values() for part in (preset.values, *preset.by_env.values())):
        for name, value in settings.items():
            known[name].append(value)
    return values | named["default"].settings(choice.common.env), known


def meanings(choice: Choice) -> set[str]:
    """Return the settings of which the package knows what they mean.

    A user's class may call an option as ours, and mean something else. Ours are those of our classes, and those that
    were made by `discount_option` or `step_size_option`.
    """
    names = {f.name for f in fields(Settings)}
    for f in fields(choice.algorithm.Settings):
        owners = [kind for kind in choice.algorithm.Settings.__mro__ if f.name in vars(kind).get("__annotations__", {})]
        ours = bool(owners) and owners[0].__module__.partition(".")[0] == "minitrpo"
        if ours or f.metadata["help"] in SHARED:
            names.add(f.name)
    return names


def metadata_of(choice: Choice, name: str) -> dict[str, Any]:
    """Return what the option of a setting says of it: its text and its limits."""
    return {f.name: dict(f.metadata) for kind in (Settings, choice.algorithm.Settings) for f in fields(kind)}[name]
