"""Value functions V(s): ridge regression on simple features, and a perceptron fitted with Adam.

A critic predicts with its previous fit and is fitted afterwards; the other order would explain each return by
itself and leave no advantage. Its numbers are a dict of arrays, so that it can be checkpointed as it is.
Observations are (N, D), times since the episode began (N,), targets (N,).
"""

from dataclasses import dataclass

import numpy as np

from minitrpo.policies import Array, Layers, count_parameters, initialise_mlp, layer_sizes, unflatten

State = dict[str, Array]


@dataclass(frozen=True)
class LinearCritic:
    """V(s) = c . [o, o^2, t/100, (t/100)^2, 1], fitted by ridge regression; 0 before the first fit.

    Source: Duan et al. 2016; Frans's code of 2016 (ridge 2.0).
    """

    observation_size: int
    ridge: float = 2.0

    def initialise(self, rng: np.random.Generator) -> State:
        """Return coefficients of 0."""
        return {"coefficients": np.zeros(2 * self.observation_size + 3)}

    def features(self, observations: Array, times: Array) -> Array:
        """Return the features (N, 2D + 3); observations are clipped to +-10 as squares would explode."""
        o = np.clip(observations, -10.0, 10.0)
        t = times.reshape(-1, 1) / 100.0
        return np.concatenate([o, o**2, t, t**2, np.ones_like(t)], axis=1)

    def predict(self, state: State, observations: Array, times: Array) -> Array:
        """Return V(s), shape (N,)."""
        return np.asarray(self.features(observations, times) @ state["coefficients"])

    def fit(self, state: State, observations: Array, times: Array, targets: Array, rng: np.random.Generator) -> State:
        """Return the coefficients c that solve (Phi'Phi + ridge I) c = Phi' targets."""
        phi = self.features(observations, times)
        normal = phi.T @ phi + self.ridge * np.eye(phi.shape[1])
        return {"coefficients": np.linalg.solve(normal, phi.T @ targets)}


@dataclass(frozen=True)
class MLPCritic:
    """V(s) = shift + scale * mlp(o), fitted by minibatch Adam on standardised targets.

    shift and scale are those of the last targets, so that returns of -10 and of 9000 are learned at one step size.
    V jumps when they move, and the fit that follows at once brings it back; correcting the last layer instead
    (PopArt, van Hasselt et al. 2016) was tried and undone: Adam needs hundreds of steps for a large correction.
    """

    observation_size: int
    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 10
    minibatch: int = 128
    step_size: float = 1e-3

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Return the (inputs, outputs) of every layer."""
        return layer_sizes(self.observation_size, self.hidden, 1)

    def initialise(self, rng: np.random.Generator) -> State:
        """Return fresh parameters, Adam's moments and the identity scale."""
        n = count_parameters(self.sizes)
        return {
            "phi": initialise_mlp(rng, self.sizes, last_gain=0.01),
            "moment": np.zeros(n),
            "square": np.zeros(n),
            "updates": np.zeros(1),
            "shift": np.zeros(1),
            "scale": np.ones(1),
        }

    def predict(self, state: State, observations: Array, times: Array) -> Array:
        """Return V(s), shape (N,)."""
        outputs = forward(unflatten(state["phi"], self.sizes), observations)[-1]
        return np.asarray(state["shift"] + state["scale"] * outputs[:, 0])

    def fit(self, state: State, observations: Array, times: Array, targets: Array, rng: np.random.Generator) -> State:
        """Return the state after `epochs` passes over shuffled minibatches of the mean squared error."""
        state = {name: array.copy() for name, array in state.items()}
        state["shift"][:], state["scale"][:] = targets.mean(), max(float(targets.std()), 1e-4)
        standardised = (targets - state["shift"]) / state["scale"]
        for _ in range(self.epochs):
            order = rng.permutation(len(targets))
            for start in range(0, len(order), self.minibatch):
                rows = order[start : start + self.minibatch]
                gradient = squared_error_gradient(state["phi"], self.sizes, observations[rows], standardised[rows])
                adam(state, gradient, self.step_size)
        return state


Critic = LinearCritic | MLPCritic


def forward(layers: Layers, inputs: Array) -> list[Array]:
    """Return the inputs and the activations of every layer of a tanh perceptron, the linear output last."""
    activations = [inputs]
    for weights, biases in layers[:-1]:
        z = activations[-1] @ weights
        z += biases
        activations.append(np.tanh(z, out=z))
    weights, biases = layers[-1]
    activations.append(activations[-1] @ weights + biases)
    return activations


def squared_error_gradient(phi: Array, sizes: list[tuple[int, int]], inputs: Array, targets: Array) -> Array:
    """Return the gradient in phi of 1/2 mean (mlp(inputs) - targets)^2, by hand: a tape costs more than the sums."""
    layers = unflatten(phi, sizes)
    activations = forward(layers, inputs)
    gradient = np.empty_like(phi)
    delta = (activations[-1] - targets[:, None]) / len(targets)  # error at the output of the layer
    for i in reversed(range(len(layers))):
        weights_gradient, biases_gradient = unflatten(gradient, sizes)[i]  # views into gradient
        np.matmul(activations[i].T, delta, out=weights_gradient)
        np.sum(delta, axis=0, out=biases_gradient)
        if i > 0:
            delta = (delta @ layers[i][0].T) * (1.0 - activations[i] ** 2)
    return gradient


def adam(state: State, gradient: Array, step_size: float, b1: float = 0.9, b2: float = 0.999) -> None:
    """Move state["phi"] against the gradient in place, with state's moments (Kingma & Ba 2015, algorithm 1)."""
    state["updates"] += 1
    k = state["updates"][0]
    m, v = state["moment"], state["square"]
    m += (1 - b1) * (gradient - m)
    v += (1 - b2) * (gradient**2 - v)
    state["phi"] -= step_size * np.sqrt(1 - b2**k) / (1 - b1**k) * m / (np.sqrt(v) + 1e-8)
