"""Inputs and results of a check in a few words."""

from types import FunctionType
from typing import Any

import numpy as np

from minitrpo.policies import CategoricalPolicy, GaussianPolicy

MOST = 400  # letters of a line
ROUNDING = 1e-13  # of a number: a few roundings of double precision


def short(value: Any) -> str:
    """Return an input in a few words."""
    if isinstance(value, np.ndarray):
        return array_words(value)
    if isinstance(value, GaussianPolicy | CategoricalPolicy):
        return f"{type(value).__name__}({value.observation_size}, {value.action_size}, {value.hidden})"
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return number(value)
    if isinstance(value, list | tuple):
        brackets = "()" if isinstance(value, tuple) else "[]"
        inside = ", ".join(short(x) for x in value[:8])
        more = f", ... ({len(value):,} entries)" if len(value) > 8 else ""
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"{brackets[0]}{inside}{more}{comma}{brackets[1]}"
    if isinstance(value, FunctionType):
        return "a function"
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def value_words(value: Any) -> str:
    """Return a result in a few words, with its type where that may be what is wrong."""
    if isinstance(value, list):
        return f"the list {short(value)}"
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, dict):  # results by name
        return "; ".join(f"{name}: {value_words(part)}" for name, part in list(value.items())[:4])
    return short(value)


def number(value: Any, digits: int = 6) -> str:
    """Return a number with `digits` digits; whole ones as they are; a nearly whole one so that the difference shows.

    What differs from a whole number by rounding alone is shown as whole.
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return f"{value}"
    text = f"{float(value) + 0.0:.{digits}g}"  # without the sign of a 0
    nearly = text.lstrip("-").isdigit() and abs(float(text) - float(value)) > ROUNDING * abs(float(value))
    return repr(float(value)) if nearly and digits >= 6 and 1 <= abs(value) < 1e6 else text


def array_words(value: Any) -> str:
    """Return a short array in full, of a long one its shape and beginning; of a mask, where it is true."""
    if value.dtype.kind == "b" and value.ndim == 1 and value.size:
        places = np.flatnonzero(value)
        shown = ", ".join(map(str, places[:6])) + (", ..." if len(places) > 6 else "")
        return f"true at [{shown}] of {len(value):,}"
    if value.dtype.kind not in "iufb":
        return f"an array of {value.dtype}"
    if value.ndim == 0:
        return number(value[()])
    if value.size <= 8:
        return str(np.array2string(value, separator=", ", formatter={"all": number})).replace("\n", "")
    begin = ", ".join(number(x, 4) for x in value.ravel()[:3])
    shape = f"{len(value):,} numbers" if value.ndim == 1 else f"shape {value.shape}"
    return f"[{begin}, ...], {shape}"


def first_difference(right: Any, given: Any, off: Any) -> tuple[str, str, str]:
    """Return what is expected and what came of arrays of one shape, with enough digits, and where the first one is."""
    where = tuple(np.argwhere(off)[0])
    a, b = right[where], given[where]
    digits = next((d for d in (6, 9, 12, 17) if number(a, d) != number(b, d)), 17)
    if right.ndim == 0:
        return number(a, digits), number(b, digits), ""
    place = f"first at {[int(i) for i in where]}; {int(off.sum()):,} of {right.size:,} entries are wrong"
    if right.size > 8 or digits > 6:
        return number(a, digits), number(b, digits), place
    return array_words(right), array_words(given), place if right.size > 1 else ""


def shortened(line: str) -> str:
    """Return a line of a message: errors and results may be of any length."""
    return line if len(line) <= MOST else f"{line[:MOST]} ..."
