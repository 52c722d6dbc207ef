"""Lecture 03: solve A x = b with products A v alone."""

from collections.abc import Callable

import numpy as np

from minitrpo.policies import Array


def energy(product: Callable[[Array], Array], b: Array, x: Array) -> float:
    """Return 1/2 x'Ax - b'x, the number that is smallest where A x = b.

    product: v -> A v. With A = F and b = g, -energy is what a step x gains to first order, minus its KL.
    """
    return float(0.5 * x @ product(x) - b @ x)


def conjugate_gradient(
    product: Callable[[Array], Array], b: Array, iterations: int = 10, tolerance: float = 1e-10
) -> tuple[Array, Array]:
    """Return (x, residual b - A x), both (P,), after at most `iterations` steps of conjugate gradient from x = 0.

    product: v -> A v with A symmetric positive definite; asked for once a step. Stops early when |residual|^2 <=
    tolerance * |b|^2, and before a step along a direction d whose curvature d'Ad is not positive (nan is not).
    Since A x = b - residual, x'A x costs no further product. Source: Hestenes & Stiefel 1952.
    """
    # 1. start at x = 0: the residual is b, and so is the first direction
    x = np.zeros_like(b)
    residual = b.copy()
    direction = b.copy()
    squared = residual @ residual
    stop = tolerance * squared
    for _ in range(iterations):
        # 2. stop when b has been explained, or when the direction has no positive curvature left
        if squared <= stop:
            break
        a_direction = product(direction)
        curvature = direction @ a_direction
        if not curvature > 0.0:
            break
        # 3. go to the minimum along the direction
        alpha = squared / curvature
        x += alpha * direction
        residual -= alpha * a_direction
        # 4. the next direction is the residual made conjugate to all the directions before
        new_squared = residual @ residual
        direction = residual + (new_squared / squared) * direction
        squared = new_squared
    return x, residual
