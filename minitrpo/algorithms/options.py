"""Settings that explain and check themselves: a dataclass field with its meaning, its source and its limits."""

import math
import operator
from dataclasses import field, fields
from typing import Any

from minitrpo.errors import BadInput


def option(
    default: Any,
    text: str,
    source: str = "",
    choices: tuple[str, ...] = (),
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """Return a dataclass field for one setting: an int, float or str, by the type of its default.

    text, source: what --help says of it. choices: the only texts allowed. Limits: value > above, >= least, <= most.
    """
    limits = {"above": above, "least": least, "most": most}
    return field(default=default, metadata={"help": text, "source": source, "choices": choices, **limits})


def flag(name: str) -> str:
    """Return the command-line spelling of a setting."""
    return "--" + name.replace("_", "-")


def whole(value: Any) -> int:
    """Return an integer written as 5000, 5_000 or 5e3; ValueError for what is none."""
    try:
        return int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = float(value)
    if not number.is_integer():
        raise ValueError(value)
    return int(number)


whole.__name__ = "integer"  # argparse names the type in its message


def as_setting(default: Any, value: Any) -> Any:
    """Return a value, typed or from Python, as a setting with this default has it; what cannot be one as it is.

    True is yes where a text is asked for, and a tuple has commas.
    """
    if isinstance(default, str):
        value = ("no", "yes")[value] if isinstance(value, bool) else value
        value = ",".join(map(str, value)) if isinstance(value, tuple | list) else value
        return str(value) if isinstance(value, int | float) else value
    try:
        return value if isinstance(value, bool) else whole(value) if isinstance(default, int) else float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def check_options(settings: Any) -> None:
    """Raise BadInput at the first setting outside its limits, then whatever the settings' own `check` raises."""
    for f in fields(settings):
        value: Any
        value, limits = getattr(settings, f.name), f.metadata
        if type(value) is not type(f.default) and not (isinstance(f.default, float) and type(value) is int):
            raise BadInput(f"{flag(f.name)} must be {a_kind(f.default)}, not {value!r}")
        if limits["choices"] and value not in limits["choices"]:
            raise BadInput(f"{flag(f.name)} must be one of {', '.join(limits['choices'])}, not {value!r}")
        if isinstance(value, int | float) and not _allowed(value, limits):
            raise BadInput(f"{flag(f.name)} must {_stated(limits, value)}, not {value}")
    if hasattr(settings, "check"):
        settings.check()


def a_kind(default: Any) -> str:
    """Return what kind of value an option with this default takes."""
    return {int: "an integer", float: "a number", str: "a text"}.get(type(default), f"a {type(default).__name__}")


def _allowed(value: float, limits: Any) -> bool:
    return (
        -math.inf < value < math.inf
        and (limits["above"] is None or value > limits["above"])
        and (limits["least"] is None or value >= limits["least"])
        and (limits["most"] is None or value <= limits["most"])
    )


def _stated(limits: Any, value: float) -> str:
    """Return what the limits allow that a value broke, in words."""
    above, least, most = limits["above"], limits["least"], limits["most"]
    if not -math.inf < value < math.inf:  # an integer may be too large for math.isfinite
        return "be a finite number"
    if most is not None:
        low = f"({above:g}" if above is not None else f"[{least:g}" if least is not None else "(-inf"
        return f"lie in {low}, {most:g}]"
    if above is not None:
        return "be positive" if above == 0 else f"be above {above:g}"
    return f"be {least:g} or more"
