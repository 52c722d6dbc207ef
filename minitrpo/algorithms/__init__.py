"""The family: one module a member, its formulas first and then its class; `interface` says what an algorithm is."""

from minitrpo.algorithms.interface import Algorithm, Context, Plan, Preset
from minitrpo.algorithms.options import option
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.randomness import Purpose

__all__ = ["Algorithm", "Context", "Episodes", "Plan", "Preset", "Purpose", "option"]
