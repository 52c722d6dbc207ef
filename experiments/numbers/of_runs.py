"""The numbers of the other pages of docs/: what runs of minitrpo did."""

from collections.abc import Callable

NUMBERS: dict[str, Callable[[], str]] = {}
