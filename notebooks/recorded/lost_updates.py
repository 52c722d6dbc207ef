"""A3C that loses updates, on purpose, or because it takes its time in writing them; 10_lost.py runs both."""

from dataclasses import dataclass

from minitrpo.algorithms import Purpose, option
from minitrpo.algorithms.actor_critic import A3C, A3CSettings
from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER, Moment, descend
from minitrpo.experience.randomness import generator
from minitrpo.optimisers import OPTIMISERS


@dataclass(frozen=True)
class Settings(A3CSettings):
    """What it can be told beside what A3C can."""

    lost_part: float = option(0.0, "the fraction of updates that is lost", least=0, most=1)


class Losing(A3C):
    """An update that is lost leaves parameters and optimiser as they were; its worker does not know."""

    Settings = Settings

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Step, unless this update is one of those that are lost."""
        if generator(self.context.seed, now.version, 0, Purpose.UPDATE).random() >= self.settings.lost_part:
            super().apply(shared, gradient, now)


class WritingBack(A3C):
    """Adam's new means are computed beside the old ones, and then written over them."""

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Step with an optimiser that leaves its arguments alone."""
        make_step = OPTIMISERS[self.settings.optimiser]
        descend(shared, gradient["gradient"], make_step, self.step_size(now.env_steps), OPTIMISER)
