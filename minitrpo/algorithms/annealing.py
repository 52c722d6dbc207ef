"""A step size that falls in a line, over the whole run or over a number of steps of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.options import option


@dataclass(frozen=True)
class AnnealingSettings:
    """What everyone can be told whose step size may fall."""

    step_size: float = option(1e-3, "the optimiser's step size", above=0, most=1e3)
    anneal: str = option(
        "none", "what falls linearly to 0 over the run", "Mnih et al. 2016: step-size", ("step-size", "none")
    )
    anneal_steps: int = option(0, "over so many environment steps; 0: --total-steps", least=0, most=10**15)

    def idle(self) -> dict[str, str]:
        """Return the settings that nothing listens to, and why."""
        return {"anneal_steps": "--anneal none"} if self.anneal == "none" else {}

    def step_size_in(self, context: Context) -> Callable[[int], float]:
        """Return the step size after so many environment steps, as a function of them."""
        if self.anneal == "none":
            return lambda steps: self.step_size
        left = context.schedule(self.anneal_steps)
        return lambda steps: self.step_size * left(steps)
