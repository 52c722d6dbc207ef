"""Every number that a page states in a sentence, by name: a page has it between <!-- =NAME --> and <!-- = -->."""

from collections.abc import Callable

from experiments.numbers import of_claims, of_runs, of_speed

NUMBERS: dict[str, Callable[[], str]] = of_speed.NUMBERS | of_runs.NUMBERS | of_claims.NUMBERS
