"""Settings from Python as words of a command line, which are read and checked in one place."""

from typing import Any

from minitrpo.algorithms.options import flag

SWITCHES = ("trace", "oversubscribe")  # words without a value


def flags(words: dict[str, Any]) -> list[str]:
    """Return settings as a command line has them: True is yes, a tuple has commas, None is left out."""
    switched = [flag(name) for name in SWITCHES if words.get(name) is True]
    left = {n: v for n, v in words.items() if v is not None and not (n in SWITCHES and isinstance(v, bool))}
    return switched + [f"{flag(name)}={text_of(value)}" for name, value in left.items()]


def text_of(value: Any) -> str:
    """Return a setting as a command line has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
