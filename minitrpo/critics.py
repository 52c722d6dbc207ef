"""Value functions V(s): none, ridge regression on simple features, and a perceptron fitted with Adam.

A critic predicts with its previous fit and is fitted afterwards; the other order would explain each return by
itself and leave no advantage. Its numbers are a dict of arrays, so that it can be checkpointed as it is.
Observations are (N, D), times since the episode began (N,), targets (N,).
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.block_sums import SERIAL, Reduction, blocks
from minitrpo.optimisers import adam, initial_state
from minitrpo.perceptron import (
    Array,
    Linearisation,
    Sizes,
    activations,
    count_parameters,
    initialise_mlp,
    layer_sizes,
    unflatten,
)
from minitrpo.policies import Policy

PARTS = 4  # of a minibatch, computed at once or by several ranks;
ROWS = 128  # of a part: where all had twice as many there are twice the parts, and so on
State = dict[str, Array]


class Critic:
    """What a critic has; by itself it is none, V(s) = 0: advantages are what was received from a step on."""

    def initialise(self, rng: np.random.Generator) -> State:
        """Return the numbers before the first fit."""
        return {}

    def predict(self, state: State, observations: Array, times: Array, reduction: Reduction = SERIAL) -> Array:
        """Return V(s), (N,); ranks may share the rows, and each then reads those of its own."""
        return np.zeros(len(times))

    def fit(self, state: State, samples: State, rng: np.random.Generator, reduction: Reduction = SERIAL) -> State:
        """Return the numbers after a fit to value targets.

        Args:
            state: the numbers before it, which stay as they are.
            samples: has `observations` (N, D), `timesteps` since the episode began (N,), and `targets` (N,).
            rng: the random numbers of this fit.
            reduction: how ranks share the work; all of them have all samples.

        """
        return state


@dataclass(frozen=True)
class LinearCritic(Critic):
    """V(s) = c . [o, o^2, t/100, (t/100)^2, 1], fitted by ridge regression; 0 before the first fit.

    Source: Duan et al. 2016; Frans's code of 2016 (ridge 2.0).
    """

    observation_size: int
    ridge: float = 2.0

    @property
    def size(self) -> int:
        """Return the number of features."""
        return 2 * self.observation_size + 3

    def initialise(self, rng: np.random.Generator) -> State:
        return {"coefficients": np.zeros(self.size)}

    def features(self, observations: Array, times: Array) -> Array:
        """Return the features (N, size); observations are clipped to +-10 as squares would explode."""
        o = np.clip(observations, -10.0, 10.0)
        t = times.reshape(-1, 1) / 100.0
        return np.concatenate([o, o**2, t, t**2, np.ones_like(t)], axis=1)

    def predict(self, state: State, observations: Array, times: Array, reduction: Reduction = SERIAL) -> Array:
        # quick enough for every rank to do all of it
        return np.asarray(self.features(observations, times) @ state["coefficients"])

    def fit(self, state: State, samples: State, rng: np.random.Generator, reduction: Reduction = SERIAL) -> State:
        """Return the coefficients c that solve (Phi'Phi + ridge I) c = Phi' targets."""
        observations, times, targets = samples["observations"], samples["timesteps"], samples["targets"]
        cut = blocks(len(targets))
        own = cut[reduction.share(len(cut))]
        parts = [self.normal_sums(observations[rows], times[rows], targets[rows]) for rows in own]
        shape = (-1, self.size, self.size + 1)
        return self.solve(reduction.sum(np.array(parts, dtype=np.float64).reshape(shape), len(cut)))

    def normal_sums(self, observations: Array, times: Array, targets: Array) -> Array:
        """Return Phi' [Phi, targets], (size, size + 1): what is to be added up over all rows, and no more."""
        phi = self.features(observations, times)
        return np.asarray(phi.T @ np.column_stack([phi, targets]))

    def solve(self, sums: Array) -> State:
        """Return the coefficients c of the added `normal_sums`."""
        normal = sums[:, :-1] + self.ridge * np.eye(len(sums))
        return {"coefficients": np.linalg.solve(normal, sums[:, -1])}


@dataclass(frozen=True)
class MLPCritic(Critic):
    """V(s) = shift + scale * mlp(o), fitted by minibatch Adam on standardised targets.

    shift and scale are a running mean and deviation of the targets, so that returns of -10 and of 9000 are learned at
    one step size. They remember about `memory` steps: those of a few hundred jump from fit to fit, and V with them.
    The fit that follows at once brings V back; correcting the last layer instead (PopArt, van Hasselt et al. 2016) was
    tried and undone: Adam needs hundreds of steps for a large correction.
    """

    observation_size: int
    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 10
    minibatch: int = 256
    step_size: float = 2e-3
    memory: float = 5_000.0  # steps

    @property
    def parts(self) -> int:
        """Return into how many equal parts a minibatch is cut: as many ranks can share its gradient."""
        return PARTS * max(1, self.minibatch // (PARTS * ROWS))

    @property
    def sizes(self) -> Sizes:
        """Return the (inputs, outputs) of every layer."""
        return layer_sizes(self.observation_size, self.hidden, 1)

    def initialise(self, rng: np.random.Generator) -> State:
        n = count_parameters(self.sizes)
        return {
            "phi": initialise_mlp(rng, self.sizes, last_gain=0.01).astype(np.float32),
            **initial_state("adam", n, np.float32),
            "shift": np.zeros(1),
            "scale": np.ones(1),
        }

    def predict(self, state: State, observations: Array, times: Array, reduction: Reduction = SERIAL) -> Array:
        phi, cut = state["phi"], blocks(len(observations))
        layers, own = unflatten(phi, self.sizes), cut[reduction.share(len(cut))]
        outputs = [activations(layers, observations[rows].astype(phi.dtype))[-1][:, 0] for rows in own]
        sizes = [rows.stop - rows.start for rows in cut]
        values = reduction.all_gather(np.concatenate([np.zeros(0, phi.dtype), *outputs]), sizes)
        return np.asarray(state["shift"] + state["scale"] * values)

    def fit(self, state: State, samples: State, rng: np.random.Generator, reduction: Reduction = SERIAL) -> State:
        """Return the state after `epochs` passes over shuffled minibatches of the mean squared error.

        Minibatches have one size, a multiple of `parts`: the last one of a pass is filled up with rows of its first.
        """
        observations, targets = samples["observations"], samples["targets"]
        state = {name: array.copy() for name, array in state.items()}
        trust = 1 - np.exp(-len(targets) / self.memory) if state["updates"][0] > 0 else 1.0
        apart, before = float(targets.mean()) - state["shift"], state["scale"] ** 2
        state["shift"] += trust * apart
        deviation = np.sqrt((1 - trust) * before + trust * (float(targets.var()) + (1 - trust) * apart**2))
        state["scale"] = np.where(deviation > 1e-12 * np.abs(state["shift"]), deviation, 1e-4)  # else all are equal
        inputs = observations.astype(np.float32, copy=False)
        standardised = ((targets - state["shift"]) / state["scale"]).astype(np.float32)
        part = -(-min(self.minibatch, len(targets)) // self.parts)  # rows
        count = -(-len(targets) // (self.parts * part))
        for _ in range(self.epochs):
            order = np.resize(rng.permutation(len(targets)), (count, self.parts, part))
            for rows in order:
                gradient = self._gradient(state["phi"], inputs, standardised, rows, reduction)
                moments, step = adam(state, gradient, self.step_size)
                state.update(moments)
                state["phi"] -= step
        return state

    def _gradient(self, phi: Array, inputs: Array, targets: Array, rows: Array, reduction: Reduction) -> Array:
        """Return the gradient of the mean squared error over rows (parts, n): the sum of its parts'."""
        own = rows[reduction.share(len(rows))]
        few = inputs.take(own, axis=0)  # three times as quick as inputs[own]
        return reduction.sum(squared_error_gradients(phi, self.sizes, few, targets[own], rows.size), len(rows))


def make_critic(kind: str, policy: Policy, epochs: int, minibatch: int, step_size: float) -> Critic:
    """Return a critic of what a policy observes.

    Args:
        kind: "none", "linear" or "mlp".
        policy: the policy; the perceptron is as wide as its network.
        epochs: passes of the perceptron's fit over the samples.
        minibatch: samples in each step of that fit.
        step_size: Adam's, of that fit.

    """
    if kind == "none":
        return Critic()
    if kind == "linear":
        return LinearCritic(policy.observation_size)
    return MLPCritic(policy.observation_size, policy.hidden, epochs, minibatch, step_size)


def squared_error_gradients(phi: Array, sizes: Sizes, inputs: Array, targets: Array, rows: int) -> Array:
    """Return gradients in phi of 1/2 sum (mlp(inputs) - targets)^2 / rows, (B, P): inputs (B, n, D), targets (B, n).

    Without a tape, and for B parts at once: at this size tapes, and Python, cost more than the sums.
    """
    at = Linearisation(phi, sizes, inputs)
    error = at.outputs
    error[..., 0] -= targets
    error /= rows
    return at.transposed_product(error)
