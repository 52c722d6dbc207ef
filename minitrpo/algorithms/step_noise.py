"""What is remembered of a step until the next batch says how much of it was noise, and the rule that goes by it."""

from dataclasses import astuple

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.noise import Measured, NoiseConfig, NoiseState, Seen, due, follow
from minitrpo.policies import Array


class StepNoise:
    """The noise of one run's steps."""

    columns = ("noise", "agreement")

    def __init__(self, steps: int, max_kl: float, size: int) -> None:
        """Begin with these settings; size: of theta."""
        self.rule = NoiseState(steps, max_kl)
        self._updates, self._step, self._promised, self._kl = 0, np.zeros(size), 0.0, 0.0

    @property
    def due(self) -> bool:
        """Return whether the noise of the next update is to be measured."""
        return due(self._updates + 1)

    def add(
        self, gradient: Array, step: Array, kl: float, steps: int, measured: Measured | None, follows: bool
    ) -> dict[str, float]:
        """Take an update: its gradient and step, (P,), the step's KL, and of how many steps; return the columns.

        measured: what halves of the batch say. follows: whether steps/update and max-KL go by it.
        """
        seen = Seen(float(gradient @ self._step), self._promised, self._kl, steps)
        if follows:
            self.rule = follow(self.rule, seen, measured, NoiseConfig())
        self._updates, self._step = self._updates + 1, step
        self._promised, self._kl = float(gradient @ step), kl
        return {
            "noise": measured.fraction if measured is not None else float("nan"),
            "agreement": seen.kept / seen.promised if seen.promised > 0.0 else float("nan"),
        }

    def state(self) -> Arrays:
        """Return the arrays from which it goes on."""
        numbers = (self._updates, self._promised, self._kl, *astuple(self.rule))
        return {"noise": np.array(numbers, dtype=np.float64), "noise_step": self._step}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `state` returned; ValueError if that was of another theta."""
        if arrays["noise_step"].shape != self._step.shape:
            raise ValueError(f"the last step has shape {arrays['noise_step'].shape}, theta {self._step.shape}")
        updates, self._promised, self._kl, steps, *rest = arrays["noise"].tolist()
        self._updates, self._step = int(updates), arrays["noise_step"]
        self.rule = NoiseState(int(steps), *rest)
