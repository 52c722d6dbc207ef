"""Optimisers: from a gradient to a step, as pure functions (state, gradient) -> (new state, step).

Descent subtracts the step, ascent adds it: `theta - step`, `theta + step`. A state is a dict of arrays, {} where there
is nothing to remember, so that it can be checkpointed and sent as it is; `initial_state` makes the first one.
A step has the dtype of the gradient, and an optimiser leaves its arguments alone.
"""

import math
from collections.abc import Callable

import numpy as np

from minitrpo.perceptron import Array

State = dict[str, Array]
Optimiser = Callable[..., tuple[State, Array]]  # (state, gradient, step_size)


def sgd(state: State, gradient: Array, step_size: float) -> tuple[State, Array]:
    """Return the state as it is and step_size * g, (P,)."""
    return state, step_size * gradient


def momentum(state: State, gradient: Array, step_size: float, b: float = 0.9) -> tuple[State, Array]:
    """Return v <- b v + g and the step step_size * v, (P,). Source: Polyak 1964."""
    velocity = b * state["velocity"] + gradient
    return {"velocity": velocity}, step_size * velocity


def rmsprop(
    state: State, gradient: Array, step_size: float, decay: float = 0.99, epsilon: float = 0.1
) -> tuple[State, Array]:
    """Return s <- decay s + (1 - decay) g^2 and the step step_size * g / sqrt(s + epsilon), (P,).

    Source: Tieleman & Hinton 2012, without momentum, and with epsilon under the root as Mnih et al. 2016, equation 6.
    """
    square = decay * state["square"] + (1 - decay) * gradient * gradient
    return {"square": square}, step_size * gradient / np.sqrt(square + epsilon)


def adam(
    state: State, gradient: Array, step_size: float, b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8
) -> tuple[State, Array]:
    """Return m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2, and the step rate * m / (sqrt(s) + epsilon), (P,).

    rate = step_size * sqrt(1 - b2^k) / (1 - b1^k) in step k. Source: Kingma & Ba 2015, the form that ends section 2.
    """
    k = float(state["updates"][0]) + 1
    moment = b1 * state["moment"]
    moment += (1 - b1) * gradient
    square = b2 * state["square"]
    square += (1 - b2) * (gradient * gradient)
    step = np.sqrt(square)
    step += epsilon
    np.divide(moment, step, out=step)
    step *= step_size * math.sqrt(1 - b2**k) / (1 - b1**k)
    return {"moment": moment, "square": square, "updates": np.array([k])}, step


OPTIMISERS: dict[str, Optimiser] = {"sgd": sgd, "momentum": momentum, "rmsprop": rmsprop, "adam": adam}
MEMORY = {"sgd": (), "momentum": ("velocity",), "rmsprop": ("square",), "adam": ("moment", "square")}


def initial_state(name: str, size: int, dtype: type = np.float64) -> State:
    """Return the state of an optimiser, by its name, before the first of its steps on `size` numbers."""
    state: State = {part: np.zeros(size, dtype) for part in MEMORY[name]}
    return state | {"updates": np.zeros(1)} if name == "adam" else state


def clipped_norm(gradient: Array, largest: float) -> Array:
    """Return the gradient, shortened to the length `largest` if it is longer. Source: Pascanu et al. 2013."""
    length = math.sqrt(float(gradient @ gradient))
    return gradient * (largest / length) if length > largest else gradient
