"""The numbers of README.md, docs/speed.md and experiments/README.md: how fast, and how good."""

from collections.abc import Callable

NUMBERS: dict[str, Callable[[], str]] = {}
