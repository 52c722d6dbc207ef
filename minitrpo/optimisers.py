"""Optimisers: from a gradient to a step, as pure functions (state, gradient, step_size) -> (new state, step).

Descent subtracts the step, ascent adds it: `theta - step`, `theta + step`. A state is a dict of arrays, {} where there
is nothing to remember, so that it can be checkpointed and sent as it is; `initial_state` makes the first one. An
optimiser changes none of its arguments, and returns new arrays. A step has the shape and the dtype of the gradient.
"""

import math
from collections.abc import Callable

import numpy as np

from minitrpo.perceptron import Array

State = dict[str, Array]
Optimiser = Callable[..., tuple[State, Array]]  # (state, gradient, step_size) -> (new state, step)


def sgd(state: State, gradient: Array, step_size: float) -> tuple[State, Array]:
    """Return {} and the step step_size * g, (P,)."""
    return {}, step_size * gradient


def momentum(state: State, gradient: Array, step_size: float, b: float = 0.9) -> tuple[State, Array]:
    """Return v <- b v + g and the step step_size * v, (P,). Source: Polyak 1964."""
    velocity = b * state["velocity"] + gradient
    return {"velocity": velocity}, step_size * velocity


def adagrad(state: State, gradient: Array, step_size: float, epsilon: float = 1e-8) -> tuple[State, Array]:
    """Return s <- s + g^2 and the step step_size * g / (sqrt(s) + epsilon), (P,). Source: Duchi et al. 2011."""
    square = state["square"] + gradient * gradient
    return {"square": square}, step_size * gradient / (np.sqrt(square) + epsilon)


def rmsprop(
    state: State, gradient: Array, step_size: float, decay: float = 0.99, epsilon: float = 0.1
) -> tuple[State, Array]:
    """Return s <- decay s + (1 - decay) g^2 and the step step_size * g / sqrt(s + epsilon), (P,).

    Source: Tieleman & Hinton 2012, without momentum, and with epsilon under the root as Mnih et al. 2016, equation 6.
    """
    square = decay * state["square"] + (1 - decay) * gradient * gradient
    return {"square": square}, step_size * gradient / np.sqrt(square + epsilon)


def rmsprop_centred(
    state: State, gradient: Array, step_size: float, decay: float = 0.95, epsilon: float = 0.01
) -> tuple[State, Array]:
    """Return m <- decay m + (1 - decay) g, s alike of g^2, and the step step_size * g / sqrt(s - m^2 + epsilon), (P,).

    s - m^2, the variance of g, is at least 0, whatever rounding makes of it. Source: Graves 2013, equations 38 to 41;
    decay and epsilon from Mnih et al. 2015, extended data table 1.
    """
    mean = decay * state["mean"] + (1 - decay) * gradient
    square = decay * state["square"] + (1 - decay) * gradient * gradient
    step = step_size * gradient / np.sqrt(np.maximum(square - mean * mean, 0) + epsilon)
    return {"mean": mean, "square": square}, step


def adam(
    state: State, gradient: Array, step_size: float, b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8
) -> tuple[State, Array]:
    """Return m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2, and the step rate * m / (sqrt(s) + epsilon), (P,).

    rate = step_size * sqrt(1 - b2^k) / (1 - b1^k) in step k. Source: Kingma & Ba 2015, the form that ends section 2;
    there, and in TensorFlow 1, epsilon is added to the root as it is, in PyTorch to the corrected one.
    """
    # 1. the two running means; the new arrays are then changed in place, for speed
    moment = b1 * state["moment"]
    moment += (1 - b1) * gradient
    square = b2 * state["square"]
    square += (1 - b2) * (gradient * gradient)
    # 2. the step, corrected for the zeros with which the means began
    updates = state["updates"] + 1
    k = float(updates[0])
    step = np.sqrt(square)
    step += epsilon
    np.divide(moment, step, out=step)
    step *= step_size * math.sqrt(1 - b2**k) / (1 - b1**k)
    return {"moment": moment, "square": square, "updates": updates}, step


RULES: dict[str, tuple[Optimiser, tuple[str, ...]]] = {  # by name: the function, and the arrays that it remembers
    "sgd": (sgd, ()),
    "momentum": (momentum, ("velocity",)),
    "adagrad": (adagrad, ("square",)),
    "rmsprop": (rmsprop, ("square",)),
    "rmsprop-centred": (rmsprop_centred, ("mean", "square")),
    "adam": (adam, ("moment", "square", "updates")),
}
OPTIMISERS = {name: function for name, (function, _) in RULES.items()}


def initial_state(name: str, size: int, dtype: type = np.float64) -> State:
    """Return the state of an optimiser before its first step.

    Args:
        name: of the optimiser, a key of `OPTIMISERS`.
        size: P, how many numbers it is to step.
        dtype: of its arrays.

    Returns:
        Zeros (P,) by name; of `updates`, the number of steps so far, (1,) in double precision.

    """
    _, memory = RULES[name]
    state: State = {part: np.zeros(size, dtype) for part in memory}
    return state | {"updates": np.zeros(1)} if "updates" in state else state


def clipped_norm(gradient: Array, largest: float) -> Array:
    """Return the gradient, shortened to the length `largest` if it is longer. Source: Pascanu et al. 2013."""
    length = math.sqrt(float(gradient @ gradient))
    return gradient * (largest / length) if length > largest else gradient
