"""Checks of lecture 03: conjugate gradient."""

from collections.abc import Callable

import numpy as np

from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import close
from minitrpo.checks.register import examined as exercise
from minitrpo.policies import Array

SOLVE = "minitrpo.conjugate_gradient:conjugate_gradient"
ENERGY = "minitrpo.conjugate_gradient:energy"


def spd(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return a random symmetric positive definite matrix (n, n) with this condition number."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (q * np.geomspace(1.0, condition, n)) @ q.T


def counted(a: Array) -> tuple[Callable[[Array], Array], list[Array]]:
    """Return the product with `a` and the list of vectors it was asked for."""
    asked: list[Array] = []

    def product(v: Array) -> Array:
        asked.append(v.copy())
        return a @ v

    return product, asked


@exercise(
    "energy",
    ENERGY,
    "A x = b where the gradient of the energy, A x - b, is 0.",
    "Half of x'Ax, less b'x; A is only there as a product.",
)
def energy(candidate: Candidate) -> None:
    """Check E(x) = 1/2 x'Ax - b'x."""
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    close(candidate(lambda v: a @ v, np.array([1.0, 2.0]), np.zeros(2)), 0.0, "The energy at x = 0 should be 0")
    by_hand = 0.5 * 7.0 - 3.0
    close(
        candidate(lambda v: a @ v, np.array([1.0, 2.0]), np.ones(2)),
        by_hand,
        "For A = [[2, 1], [1, 3]], b = (1, 2), x = (1, 1) the energy is 1/2 * 7 - 3 = 0.5",
    )
    rng = np.random.default_rng(0)
    for n in (1, 3, 8):
        a, b, x = spd(rng, n, 10.0), rng.standard_normal(n), rng.standard_normal(n)
        solution = np.linalg.solve(a, b)
        gap = 0.5 * (x - solution) @ a @ (x - solution)
        value = candidate(lambda v, a=a: a @ v, b, x) - candidate(lambda v, a=a: a @ v, b, solution)
        close(value, gap, "The energy above its minimum should be half the squared A-distance to the solution", 1e-6)


@exercise(
    "conjugate_gradient",
    SOLVE,
    "Start at x = 0: there the residual b - A x is b itself, and so is the first direction.",
    "alpha makes the new residual orthogonal to the direction: alpha = r'r / d'Ad.",
    "The next direction is the new residual plus beta times the old direction, beta = new r'r / old r'r.",
)
def conjugate_gradient(candidate: Candidate) -> None:
    """Check the solver: a case by hand, dense systems, early stops, what it asks for and what it leaves behind."""
    _one_step_by_hand(candidate)
    _dense_systems(candidate)
    _fewer_iterations(candidate)
    _stops(candidate)


def _one_step_by_hand(candidate: Candidate) -> None:
    a, b = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0])
    result = candidate(lambda v: a @ v, b, 1)
    assert isinstance(result, tuple), "it should return two things, x and the residual"
    assert len(result) == 2, "it should return two things, x and the residual"
    x, residual = result
    close(
        x,
        np.array([2 / 3, 2 / 3]),
        "One step for A = diag(2, 1), b = (1, 1) ends at x = (2/3, 2/3): alpha = r'r / d'Ad",
    )
    close(residual, np.array([-1 / 3, 1 / 3]), "After that step the residual b - A x is (-1/3, 1/3)")


def _dense_systems(candidate: Candidate) -> None:
    rng = np.random.default_rng(1)
    for n, condition in ((1, 1.0), (2, 5.0), (7, 100.0), (20, 30.0)):
        a, b = spd(rng, n, condition), rng.standard_normal(n)
        product, asked = counted(a)
        x, residual = candidate(product, b, 3 * n, 1e-24)
        close(x, np.linalg.solve(a, b), f"x does not solve a system of {n} equations in {3 * n} iterations", 1e-6)
        error = np.abs(residual - (b - a @ x)).max()
        assert error < 1e-8, "the residual it returns is not b - A x"
        assert len(asked) <= 2 * n + 3, (
            f"{n} equations took {len(asked)} products: are the directions conjugate? "
            "Conjugate gradient needs about one product an equation, and stops when the residual is small"
        )


def _fewer_iterations(candidate: Candidate) -> None:
    """After k steps x minimises the energy over span(b, Ab, ..., A^(k-1) b): the property that names the method."""
    rng = np.random.default_rng(2)
    a, b = spd(rng, 12, 50.0), rng.standard_normal(12)
    for k in (1, 2, 3, 5):
        product, asked = counted(a)
        x, _ = candidate(product, b, k, 0.0)
        assert len(asked) == k, f"{k} iterations should ask for {k} products, not {len(asked)}"
        basis = np.linalg.qr(np.stack([np.linalg.matrix_power(a, i) @ b for i in range(k)], axis=1))[0]
        best = basis @ np.linalg.solve(basis.T @ a @ basis, basis.T @ b)
        close(x, best, f"After {k} iterations x is not the best point in the space of the first {k} directions", 1e-6)
    again, _ = candidate(lambda v: a @ v, b)
    ten, _ = candidate(lambda v: a @ v, b, 10)
    close(again, ten, "Without a number of iterations it should take 10")


def _stops(candidate: Candidate) -> None:
    x, residual = candidate(lambda v: 2.0 * v, np.zeros(3), 10)
    close(x, np.zeros(3), "For b = 0 the answer is x = 0, without a division by 0")
    close(residual, np.zeros(3), "For b = 0 the residual is 0")
    product, asked = counted(np.eye(5))
    candidate(product, np.ones(5), 10)
    assert len(asked) == 1, f"For A = I one product is enough, it took {len(asked)}: stop when the residual is small"
    rng = np.random.default_rng(3)
    a, b = spd(rng, 30, 1000.0), rng.standard_normal(30)
    product, asked = counted(a)
    x, residual = candidate(product, b, 200, 1e-2)
    assert residual @ residual <= 1e-2 * (b @ b), "it stops before |residual|^2 <= tolerance * |b|^2"
    _, residual = candidate(lambda v: a @ v, b, len(asked) - 1, 0.0)
    assert residual @ residual > 1e-2 * (b @ b), (
        "it goes on although |residual|^2 <= tolerance * |b|^2 has been reached"
    )
    small, _ = candidate(lambda v: a @ v, 1e-9 * b, 200, 1e-20)
    full, _ = candidate(lambda v: a @ v, b, 200, 1e-20)
    close(
        small,
        1e-9 * full,
        "A small b should be solved as well as a large one: the tolerance is relative to |b|^2",
        1e-4,
    )
    x, _ = candidate(lambda v: -v, np.ones(3), 10)
    close(x, np.zeros(3), "A direction without positive curvature (d'Ad <= 0) must be refused, not followed")
