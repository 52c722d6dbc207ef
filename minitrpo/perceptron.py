"""The network: a tanh perceptron on one flat vector, and its two derivatives.

autograd can find these derivatives itself, through `mlp`. It needs a new array for each sum, and the network takes most
of an update's time. `Linearisation` has J'u and J v by hand, where J is the Jacobian of the outputs in theta.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import autograd.numpy as np
import numpy
from autograd.tracer import isbox

Array = numpy.ndarray[Any, numpy.dtype[Any]]
Sizes = list[tuple[int, int]]
Layers = list[tuple[Array, Array]]
FEW = 4  # rows of a product in which any row has the same bits: `doctor` looks whether that holds here


def layer_sizes(inputs: int, hidden: tuple[int, ...], outputs: int) -> Sizes:
    """Return the (inputs, outputs) of every layer of a perceptron."""
    widths = (inputs, *hidden, outputs)
    return list(pairwise(widths))


def count_parameters(sizes: Sizes) -> int:
    """Return how many numbers the layers of these sizes hold."""
    return sum(rows * columns + columns for rows, columns in sizes)


def unflatten(theta: Array, sizes: Sizes) -> Layers:
    """Cut `theta` (..., P) into the weights (..., inputs, outputs) and biases (..., outputs) of each layer."""
    layers, start = [], 0
    for rows, columns in sizes:
        middle = start + rows * columns
        stop = middle + columns
        weights = theta[..., start:middle].reshape(*theta.shape[:-1], rows, columns)
        layers.append((weights, theta[..., middle:stop]))
        start = stop
    return layers


def orthogonal(rng: numpy.random.Generator, rows: int, columns: int, gain: float) -> Array:
    """Return a random (rows, columns) matrix with orthonormal rows or columns, times `gain` (Saxe et al. 2014)."""
    a = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = numpy.linalg.qr(a)
    q *= numpy.sign(numpy.diag(r))
    return gain * (q if rows >= columns else q.T)


def initialise_mlp(rng: numpy.random.Generator, sizes: Sizes, last_gain: float) -> Array:
    """Return flat initial parameters: orthogonal weights (gain sqrt 2, `last_gain` in the last layer), biases 0."""
    gains = [numpy.sqrt(2.0)] * (len(sizes) - 1) + [last_gain]
    parts = []
    for (rows, columns), gain in zip(sizes, gains, strict=True):
        parts += [orthogonal(rng, rows, columns, gain).ravel(), numpy.zeros(columns)]
    return numpy.concatenate(parts)


def mlp(theta: Array, sizes: Sizes, inputs: Array) -> Array:
    """Return the outputs (N, K) for `inputs` (N, D), as a formula; the last layer is linear."""
    *hidden, (weights, biases) = unflatten(theta, sizes)
    for w, b in hidden:
        inputs = np.tanh(np.dot(inputs, w) + b)
    return np.dot(inputs, weights) + biases


def activations(layers: Layers, inputs: Array) -> list[Array]:
    """Return the inputs and what every layer makes of them, (N, width) each, the linear outputs last."""
    values = [inputs]
    for weights, biases in layers:
        z = values[-1] @ weights
        z += biases
        if len(values) < len(layers):
            numpy.tanh(z, out=z)
        values.append(z)
    return values


def in_single_precision(theta: Array, sizes: Sizes) -> Callable[[Array, int], Array]:
    """Return the function (inputs (N, D), how many of their rows matter) -> outputs (N, K) that acting asks at a tick.

    Numbers are in double outside and in single inside, which on a tick's few rows takes 0.4 of the time. Products are
    of FEW rows each: of 16 rows in single precision OpenBLAS rounds twelve otherwise than the rest.
    """
    layers = unflatten(theta.astype(numpy.float32), sizes)

    def outputs(inputs: Array, used: int) -> Array:
        pieces = numpy.zeros((-(-used // FEW), FEW, inputs.shape[1]), numpy.float32)
        pieces.reshape(-1, inputs.shape[1])[:used] = inputs[:used]
        result = numpy.zeros((len(inputs), sizes[-1][1]))
        result[:used] = activations(layers, pieces)[-1].reshape(-1, result.shape[1])[:used]
        return result

    return outputs


class Linearisation:
    """The perceptron's derivatives at `theta` and `inputs`: everything that J'u and J v have in common, once."""

    def __init__(self, theta: Array, sizes: Sizes, inputs: Array) -> None:
        self.sizes, self.layers = sizes, unflatten(theta, sizes)
        *self.values, self.outputs = activations(self.layers, inputs)
        self.slopes = [1.0 - a * a for a in self.values[1:]]  # of tanh

    def transposed_product(self, u: Array) -> Array:
        """Return J'u, (P,), for u (N, K): back-propagation. For B batches at once: (B, P) for u (B, N, K).

        In the precision of the network, whatever that of u is.
        """
        stop, u = count_parameters(self.sizes), u.astype(self.outputs.dtype, copy=False)
        result = numpy.empty((*u.shape[:-2], stop), u.dtype)
        for i in reversed(range(len(self.sizes))):
            rows, columns = self.sizes[i]
            middle, start = stop - columns, stop - columns - rows * columns
            weights = result[..., start:middle].reshape(*u.shape[:-2], rows, columns)  # a view
            numpy.matmul(self.values[i].swapaxes(-1, -2), u, out=weights)
            numpy.add.reduce(u, axis=-2, out=result[..., middle:stop])  # np.sum takes half as long again
            if i > 0:
                w = self.layers[i][0]
                # the same; for one column BLAS takes four times as long as einsum, and u * w.T half as long again
                u = numpy.einsum("...i,oi->...o", u, w) if columns == 1 else u @ w.T
                u *= self.slopes[i - 1]
            stop = start
        return result

    def input_product(self, u: Array) -> Array:
        """Return the derivative of sum(u * outputs) in the inputs, (..., N, D), for u (..., N, K)."""
        for (weights, _), slopes in zip(self.layers[:0:-1], self.slopes[::-1], strict=True):
            u = (u @ weights.T) * slopes
        return u @ self.layers[0][0].T

    def product(self, v: Array) -> Array:
        """Return J v, (N, K), for v (P,): how the outputs move with theta, layer by layer."""
        (weights, biases), *others = unflatten(v, self.sizes)
        moved = self.values[0] @ weights  # the inputs themselves do not move
        moved += biases
        for i, (weights, biases) in enumerate(others, start=1):
            moved *= self.slopes[i - 1]
            moved = moved @ self.layers[i][0]
            moved += self.values[i] @ weights
            moved += biases
        return moved


def perceptron(theta: Array, sizes: Sizes, inputs: Array) -> Array:
    """Return what `mlp` returns, for arrays in the quicker way; what autograd follows goes through `mlp`."""
    if isbox(theta) or isbox(inputs):
        return mlp(theta, sizes, inputs)
    return activations(unflatten(theta, sizes), inputs)[-1]
