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

from dataclasses import astuple, dataclass, replace

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


@dataclass(frozen=True)
class NoiseConfig:
    """The constants of the rule."""

    noise: float = 0.95  # which part of a step may be noise
    held: float = 0.3  # which part of its signal a step leaves to the next batch: 0.7 of the way to the best point
    floor: float = 0.1  # the signal's part of a step is taken to be at least this, for the KL
    trust: float = 0.5  # in a new measurement, against those before
    rate: float = 0.15  # by how much log max-KL changes in an update of `size` steps, at most
    size: int = 2048
    down: float = 1 / 16  # one measurement multiplies steps/update by at least this,
    up: float = 2.0  # and by at most this
    steps_limits: tuple[int, int] = (2_000, 20_000)
    kl_limits: tuple[float, float] = (0.001, 0.1)  # nats


@dataclass(frozen=True)
class NoiseState:
    """The rule's state: what it has chosen, and running means of what halves of batches said."""

    steps_per_update: int
    max_kl: float
    noise: float = 0.0  # tr(F^-1 Sigma), of a single step
    signal: float = 0.0  # G'F^-1 G


@dataclass(frozen=True)
class Seen:
    """A batch of `steps` steps measures the step before it: g_next's (kept), g's (promised), and the KL."""

    kept: float
    promised: float
    kl: float
    steps: int

    @property
    def spread(self) -> float:
        """Return the standard deviation of what is kept: sqrt(s'Sigma s / N), about sqrt(2 KL / N).

        Sigma is about F, because advantages are standardised, and s'F s is 2 KL.
        """
        return float(np.sqrt(2 * self.kl / self.steps))


def turn_steps(state: NoiseState, measured: Measured | None, config: NoiseConfig) -> NoiseState:
    """Return the state with as many steps/update as make `config.noise` of a step noise, after what is measured."""
    if measured is None or not (measured.both > 0.0 and np.isfinite([measured.noise, measured.both]).all()):
        return state
    trust = config.trust if state.noise > 0.0 else 1.0
    noise = (1 - trust) * state.noise + trust * measured.steps * measured.noise
    signal = (1 - trust) * state.signal + trust * (measured.both - measured.noise)
    wanted = noise / signal * (1 - config.noise) / config.noise if signal > 0.0 else np.inf
    old = state.steps_per_update
    # a start below the limits is raised at once: so few steps measure next to nothing
    most = max(config.up * old, config.steps_limits[0])
    steps = within(within(wanted, config.steps_limits), (config.down * old, most))
    return replace(state, noise=noise, signal=signal, steps_per_update=round(steps))


def turn_kl(state: NoiseState, seen: Seen, config: NoiseConfig) -> NoiseState:
    """Return the new state: max-KL grows if the next batch keeps more than `config.held` of the signal, else shrinks.

    It changes by what chance does not explain, and less for a smaller batch. Without a step before, it stays.
    """
    known = seen.promised > 0.0 and seen.spread > 0.0
    if not (known and np.isfinite([seen.kept, seen.promised, seen.spread]).all()):
        return state
    both = state.signal + state.noise / seen.steps
    share = max(state.signal / both if both > 0.0 else 0.0, config.floor)
    surprise = within((seen.kept - config.held * share * seen.promised) / seen.spread, (-1.0, 1.0))
    rate = config.rate * min(float(np.sqrt(seen.steps / config.size)), 2.0)
    old = state.max_kl
    wanted = within(old * float(np.exp(rate * surprise)), config.kl_limits)
    return replace(state, max_kl=within(wanted, (old / 2, old * 2)))


def within(value: float, limits: tuple[float, float]) -> float:
    """Return the value, moved into the limits."""
    return float(min(max(value, limits[0]), limits[1]))


class StepNoise:
    """The noise of one run's steps: what is remembered of a step until the next batch says how much of it was noise."""

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
            self.rule = turn_kl(turn_steps(self.rule, measured, NoiseConfig()), seen, NoiseConfig())
        self._updates, self._step = self._updates + 1, step
        self._promised, self._kl = float(gradient @ step), kl
        return {
            "noise": measured.fraction if measured is not None else float("nan"),
            "agreement": seen.kept / seen.promised if seen.promised > 0.0 else float("nan"),
        }

    def state(self) -> dict[str, Array]:
        """Return the arrays from which it goes on."""
        numbers = (self._updates, self._promised, self._kl, *astuple(self.rule))
        return {"numbers": np.array(numbers, dtype=np.float64), "step": self._step}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from what `state` returned."""
        updates, self._promised, self._kl, steps, *rest = arrays["numbers"].tolist()
        self._updates, self._step = int(updates), arrays["step"]
        self.rule = NoiseState(int(steps), *rest)
