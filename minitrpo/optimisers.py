"""Optimisers: from a gradient to a step, as pure functions (state, gradient, step_size) -> (new state, step).

Descent subtracts the step, ascent adds it: `theta - step`, `theta + step`. A state is a dict of arrays, {} where there
is nothing to remember, so that it can be checkpointed and sent as it is; `initial_state` makes the first one.
A step has the dtype of the gradient, and an optimiser leaves its arguments alone. With in_place=True it changes the
state's own arrays where they lie, which is what many workers that share them want (`asynchronous_algorithm.descend`).
"""

import math
from collections.abc import Callable
from functools import partial, wraps

import numpy as np

from minitrpo.perceptron import Array

State = dict[str, Array]
Rule = Callable[..., Array]  # (state, gradient, step_size) -> step; it changes the state's arrays in place
Optimiser = Callable[..., tuple[State, Array]]  # (state, gradient, step_size) -> (new state, step)

OPTIMISERS: dict[str, Optimiser] = {}
MEMORY: dict[str, tuple[str, ...]] = {}  # of each: the arrays that it remembers


def optimiser(name: str, *memory: str) -> Callable[[Rule], Optimiser]:
    """Make an optimiser of a rule; its state has these arrays, which it copies unless told to work in place."""

    def of(rule: Rule) -> Optimiser:
        @wraps(rule)
        def make_step(
            state: State, gradient: Array, step_size: float, *, in_place: bool = False, **constants: float
        ) -> tuple[State, Array]:
            own = state if in_place else {part: state[part].copy() for part in memory}
            return own, rule(own, gradient, step_size, **constants)

        OPTIMISERS[name], MEMORY[name] = make_step, memory
        return make_step

    return of


@optimiser("sgd")
def sgd(state: State, gradient: Array, step_size: float) -> Array:
    """Return step_size * g, (P,)."""
    return step_size * gradient


@optimiser("momentum", "velocity")
def momentum(state: State, gradient: Array, step_size: float, b: float = 0.9) -> Array:
    """Return v <- b v + g and the step step_size * v, (P,). Source: Polyak 1964."""
    velocity = state["velocity"]
    velocity *= b
    velocity += gradient
    return step_size * velocity


@optimiser("adagrad", "square")
def adagrad(state: State, gradient: Array, step_size: float, epsilon: float = 1e-8) -> Array:
    """Return s <- s + g^2 and the step step_size * g / (sqrt(s) + epsilon), (P,). Source: Duchi et al. 2011."""
    square = state["square"]
    square += gradient * gradient
    return step_size * gradient / (np.sqrt(square) + epsilon)


@optimiser("rmsprop", "square")
def rmsprop(state: State, gradient: Array, step_size: float, decay: float = 0.99, epsilon: float = 0.1) -> Array:
    """Return s <- decay s + (1 - decay) g^2 and the step step_size * g / sqrt(s + epsilon), (P,).

    Source: Tieleman & Hinton 2012, without momentum, and with epsilon under the root as Mnih et al. 2016, equation 6.
    """
    square = state["square"]
    square *= decay
    square += (1 - decay) * gradient * gradient
    return step_size * gradient / np.sqrt(square + epsilon)


@optimiser("rmsprop-centred", "mean", "square")
def rmsprop_centred(
    state: State, gradient: Array, step_size: float, decay: float = 0.95, epsilon: float = 0.01
) -> Array:
    """Return m <- decay m + (1 - decay) g, s alike of g^2, and the step step_size * g / sqrt(s - m^2 + epsilon), (P,).

    s - m^2, the variance of g, is at least 0, whatever rounding makes of it. Source: Graves 2013, equations 38 to 41;
    decay and epsilon from Mnih et al. 2015, extended data table 1.
    """
    mean, square = state["mean"], state["square"]
    mean *= decay
    mean += (1 - decay) * gradient
    square *= decay
    square += (1 - decay) * gradient * gradient
    return step_size * gradient / np.sqrt(np.maximum(square - mean * mean, 0) + epsilon)


@optimiser("adam", "moment", "square", "updates")
def adam(
    state: State, gradient: Array, step_size: float, b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8
) -> Array:
    """Return m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2, and the step rate * m / (sqrt(s) + epsilon), (P,).

    rate = step_size * sqrt(1 - b2^k) / (1 - b1^k) in step k. Source: Kingma & Ba 2015, the form that ends section 2;
    there, and in TensorFlow 1, epsilon is added to the root as it is, in PyTorch to the corrected one.
    """
    moment, square = state["moment"], state["square"]
    state["updates"] += 1
    k = float(state["updates"][0])
    moment *= b1
    moment += (1 - b1) * gradient
    square *= b2
    square += (1 - b2) * (gradient * gradient)
    step = np.sqrt(square)
    step += epsilon
    np.divide(moment, step, out=step)
    step *= step_size * math.sqrt(1 - b2**k) / (1 - b1**k)
    return step


def in_place(name: str) -> Optimiser:
    """Return an optimiser, by its name, that changes the arrays of its state where they lie."""
    return partial(OPTIMISERS[name], in_place=True)


def initial_state(name: str, size: int, dtype: type = np.float64) -> State:
    """Return the state of an optimiser, by its name, before the first of its steps on `size` numbers."""
    state: State = {part: np.zeros(size, dtype) for part in MEMORY[name]}
    return state | {"updates": np.zeros(1)} if "updates" in state else state


def clipped_norm(gradient: Array, largest: float) -> Array:
    """Return the gradient, shortened to the length `largest` if it is longer. Source: Pascanu et al. 2013."""
    length = math.sqrt(float(gradient @ gradient))
    return gradient * (largest / length) if length > largest else gradient
