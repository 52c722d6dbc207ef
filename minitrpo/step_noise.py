"""How much of a step is noise, measured on halves of its batch and on the next batch; and a rule that uses it.

The gradient g of N steps is the true one, G, plus noise of covariance Sigma / N. TRPO steps along s ~ F^-1 g, and

    E[g'F^-1 g] = G'F^-1 G + tr(F^-1 Sigma) / N :

The predicted gain contains both terms, and only the first is real on fresh steps. Two halves a and b of the batch
separate them. With g = (g_a + g_b) / 2 and d = (g_a - g_b) / 2, the true gradient cancels in d, and d has as much noise
as g, so E[d'F^-1 d] = tr(F^-1 Sigma) / N. The rest, g'F^-1 g - d'F^-1 d = g_a'F^-1 g_b, is the agreement between one
half's step and the other half. The ratio is the gradient noise scale in the metric of the policy instead of theta's.
The next batch shows, at no extra cost, how much of the predicted gain g's remains after the step: g_next's / g's. The
rest was noise, or the step was so long that the gradient turned along it.
Sources: McCandlish et al. 2018, "An empirical model of large-batch training", for the noise scale; Hilton, Cobbe,
Schulman 2022, "Batch size-invariance for policy optimization", for step sizes that follow the batch.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.policies import Array, Policy
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient


@dataclass(frozen=True)
class Measured:
    """What halves of a batch of `steps` steps say: d'F^-1 d, and g'F^-1 g, which has the noise and the signal."""

    noise: float
    both: float
    steps: int

    @property
    def fraction(self) -> float:
        """Return which part of the step's predicted gain is noise: about 1 if the halves have nothing in common.

        By chance above 1; NaN without a gradient.
        """
        return self.noise / self.both if self.both > 0.0 else float("nan")


def due(update: int) -> bool:
    """Return whether the noise is measured in this update, from 1: in 1, 2, 4, 8, and in every sixteenth.

    A measurement costs as much as a step without its line search. In every sixteenth update that is little.
    """
    return update % 16 == 0 or update in (1, 2, 4, 8)


def measure_noise(
    policy: Policy, theta: Array, batch: Batch, g: Array, step: Array, iterations: int, damping: float, fraction: float
) -> Measured:
    """Return how much of a step is noise; it costs a gradient and a solution of F y = d.

    Half a is the first half of the batch's rows, in their order, half b the rest; their advantages stay as they are.
    g: the batch's gradient at theta, (P,). step: any multiple of F^-1 g, (P,); of zeros: no gain is predicted, and
    `both` is 0. F is damped; iterations (of conjugate gradient), damping and fraction (of states): as the step's were.
    """
    # 1. half the difference of the gradients of the first and of the second half
    rows = len(batch.advantages)
    signs = np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    d = surrogate_gradient(policy, theta, replace(batch, advantages=signs * batch.advantages))
    # 2. d'F^-1 d
    product = damped_fisher(policy, theta, batch, damping, fraction)
    noise = float(d @ conjugate_gradient(product, d, iterations)[0])
    # 3. g'F^-1 g = (g's)^2 / s'F s, whatever the length of the step
    curvature = float(step @ product(step))
    return Measured(noise, float(g @ step) ** 2 / curvature if curvature > 0.0 else 0.0, rows)


# --- the rule: steps/update and max-KL that follow what is measured

LARGEST_NOISE = 0.95  # which part of a step may be noise
HELD = 0.3  # which part of its signal a step leaves to the next batch: 0.7 of the way to the best point
FLOOR = 0.1  # the signal's part of a step is taken to be at least this, for the KL
TRUST = 0.5  # in a new measurement, against those before
RATE = 0.15  # by how much log max-KL changes in an update of SIZE steps, at most
SIZE = 2048
DOWN, UP = 1 / 16, 2.0  # one measurement multiplies steps/update by at least and at most this
STEPS_LIMITS = (2_000, 20_000)
KL_LIMITS = (0.001, 0.1)  # nats


def within(value: float, limits: tuple[float, float]) -> float:
    """Return the value, moved into the limits."""
    return float(min(max(value, limits[0]), limits[1]))


def deviation_of_kept(kl: float, steps: int) -> float:
    """Return the standard deviation of what a batch of `steps` steps says is kept of a step of this KL, in nats.

    It is sqrt(s'Sigma s / N), about sqrt(2 KL / N): Sigma is about F, because advantages are standardised, and s'F s is
    2 KL.
    """
    return float(np.sqrt(2 * kl / steps))


@dataclass
class StepNoise:
    """The noise of one run's steps: what is remembered of a step until the next batch says how much of it was noise.

    Attributes:
        steps_per_update: what the rule has chosen.
        max_kl: what the rule has chosen, in nats.
        step: of the last update, (P,).
        promised: the gain that was predicted of it, g's.
        kl: its KL, in nats.
        updates: how many there were.
        noise: the running mean of tr(F^-1 Sigma), of a single step.
        signal: the running mean of G'F^-1 G.

    """

    columns: ClassVar = ("noise", "agreement")
    # in the order in which a checkpoint has them
    numbers: ClassVar = ("updates", "promised", "kl", "steps_per_update", "max_kl", "noise", "signal")

    steps_per_update: int
    max_kl: float
    step: Array
    promised: float = 0.0
    kl: float = 0.0
    updates: int = 0
    noise: float = 0.0
    signal: float = 0.0

    @property
    def due(self) -> bool:
        """Return whether the noise of the next update is to be measured."""
        return due(self.updates + 1)

    def add(
        self, *, gradient: Array, step: Array, kl: float, steps: int, measured: Measured | None, follows: bool
    ) -> dict[str, float]:
        """Take an update.

        Args:
            gradient: of its batch, (P,).
            step: that it made, (P,).
            kl: of the step, in nats.
            steps: of the batch.
            measured: what halves of the batch say; None if nothing was measured.
            follows: whether steps/update and max-KL follow what is measured.

        Returns:
            The `columns`.

        """
        # 1. what this batch says is left of the step before
        kept = float(gradient @ self.step)
        agreement = kept / self.promised if self.promised > 0.0 else float("nan")
        # 2. the rule
        if follows:
            self.turn_steps(measured)
            self.turn_kl(kept, steps)
        # 3. the new step, about which the next batch will say something
        self.step, self.promised, self.kl = step, float(gradient @ step), kl
        self.updates += 1
        return {"noise": measured.fraction if measured is not None else float("nan"), "agreement": agreement}

    def turn_steps(self, measured: Measured | None) -> None:
        """Choose as many steps/update as make LARGEST_NOISE of a step noise, after what halves of a batch say."""
        if measured is None or not (measured.both > 0.0 and np.isfinite([measured.noise, measured.both]).all()):
            return
        trust = TRUST if self.noise > 0.0 else 1.0
        self.noise = (1 - trust) * self.noise + trust * measured.steps * measured.noise
        self.signal = (1 - trust) * self.signal + trust * (measured.both - measured.noise)
        wanted = self.noise / self.signal * (1 - LARGEST_NOISE) / LARGEST_NOISE if self.signal > 0.0 else np.inf
        old = self.steps_per_update
        # a start below the limits is raised at once: so few steps measure next to nothing
        most = max(UP * old, STEPS_LIMITS[0])
        self.steps_per_update = round(within(within(wanted, STEPS_LIMITS), (DOWN * old, most)))

    def turn_kl(self, kept: float, steps: int) -> None:
        """Raise max-KL if the next batch keeps more than HELD of the signal of the last step, lower it if less.

        It changes by what chance does not explain, and less for a smaller batch. Without a step before, it stays.

        Args:
            kept: g_next's, which was promised to be `promised`.
            steps: of the next batch.

        """
        deviation = deviation_of_kept(self.kl, steps)
        known = self.promised > 0.0 and deviation > 0.0
        if not (known and np.isfinite([kept, self.promised, deviation]).all()):
            return
        both = self.signal + self.noise / steps
        share = max(self.signal / both if both > 0.0 else 0.0, FLOOR)
        surprise = within((kept - HELD * share * self.promised) / deviation, (-1.0, 1.0))
        rate = RATE * min(float(np.sqrt(steps / SIZE)), 2.0)
        wanted = within(self.max_kl * float(np.exp(rate * surprise)), KL_LIMITS)
        self.max_kl = within(wanted, (self.max_kl / 2, self.max_kl * 2))

    def state(self) -> dict[str, Array]:
        """Return the arrays from which it goes on."""
        return {"numbers": np.array([getattr(self, name) for name in self.numbers], np.float64), "step": self.step}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from what `state` returned."""
        self.step = arrays["step"]
        for name, number in zip(self.numbers, arrays["numbers"].tolist(), strict=True):
            setattr(self, name, type(getattr(self, name))(number))
