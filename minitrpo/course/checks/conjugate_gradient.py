"""Checks of lecture 03: conjugate gradient."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short
from minitrpo.policies import Array


@dataclass(frozen=True)
class Product:
    """v -> A v."""

    a: Array

    def __call__(self, v: Array) -> Array:
        return np.asarray(self.a @ v)

    def __repr__(self) -> str:
        return f"v -> A v with A = {short(self.a)}"


# Pieces of the package's source, for the tables of known mistakes.
END, BETA, RESIDUAL = "x, residual", "(new_squared / squared)", "residual -= alpha * a_direction"
ENERGY = "0.5 * x @ product(x) - b @ x"
FIRST = "    squared = residual @ residual", "    squared = np.linalg.norm(residual)"
LATER = "new_squared = residual @ residual", "new_squared = np.linalg.norm(residual)"


def spd(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return a random symmetric positive definite matrix (n, n) with this condition number."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray((q * np.geomspace(1.0, condition, n)) @ q.T)


ENERGY_SLIPS = {
    "The half before x'Ax is missing.": ("0.5 * ", ""),
    "b'x is taken off, not added.": ("- b @ x", "+ b @ x"),
    "The half belongs to x'Ax alone.": ("- b @ x", "- 0.5 * b @ x"),
    "That is the gradient, A x - b; the energy is one number.": (f"float({ENERGY})", "product(x) - b"),
    "That is half the squared residual, another number.": (ENERGY, "0.5 * np.sum((product(x) - b) ** 2)"),
    "That is x'Ab where x'Ax belongs.": ("product(x)", "product(b)"),
    "Its sign is turned: the energy is smallest at the solution.": (ENERGY, f"-({ENERGY})"),
    "b'x is missing.": (" - b @ x", ""),
    "That is the mean over the entries, not their sum.": ("b @ x)", "b @ x) / len(x)"),
}


@exercise(
    "energy",
    "minitrpo.conjugate_gradient:energy",
    hints=(
        "A x = b where the gradient of the energy, A x - b, is 0.",
        "Half of x'Ax, less b'x; A is only there as a product.",
    ),
    mistakes=edits("minitrpo.conjugate_gradient:energy", ENERGY_SLIPS),
)
def energy_cases() -> Iterator[Case]:
    """Yield energies by hand, at 0, of one number and of many, tiny and huge."""
    a = Product(np.array([[2.0, 1.0], [1.0, 3.0]]))
    yield case("two equations", a, np.array([1.0, 2.0]), np.ones(2))
    given = "product = v -> v itself, b = [1, 2], x = [3, 1]"
    yield case("A = I", lambda v: v, np.array([1.0, 2.0]), np.array([3.0, 1.0]), shown=given)
    yield case("x = 0", a, np.array([1.0, 2.0]), np.zeros(2))
    yield case("b = 0", a, np.zeros(2), np.array([1.0, -2.0]))
    yield case("integers", Product(np.array([[2, 1], [1, 3]])), np.array([1, 2]), np.array([1, 2]))
    rng = np.random.default_rng(0)
    for n in (1, 3, 8, 300):
        matrix, b, x = spd(rng, n, 10.0), rng.standard_normal(n), rng.standard_normal(n)
        for of_b, of_x in ((1.0, 1.0), (1e9, 1.0), (1e-9, 1e-9), (1e9, 1e9)):
            yield case("numbers of any size", Product(matrix), of_b * b, of_x * x)
        solution = np.linalg.solve(matrix, b)
        yield case("the solution", Product(matrix), b, solution)
    yield case("no curvature", Product(np.zeros((2, 2))), np.ones(2), np.array([3.0, 1.0]))
    yield case("negative curvature", Product(-np.eye(2)), np.ones(2), np.array([3.0, 1.0]))
    yield case("an x that is nan", a, np.ones(2), np.array([np.nan, 1.0]))


CONJUGATE_GRADIENT_SLIPS = {
    "Two results are wanted, x and the residual.": (END, "x"),
    "The residual has the wrong sign: it is b - A x.": (END, "x, -residual"),
    "x and the residual have changed places.": (END, "residual, x"),
    "The second result is the residual that is left, not b.": (END, "x, b"),
    "The second result is the residual itself, not its length.": (END, "x, np.linalg.norm(residual)"),
    "The second result is the residual, not its square.": (END, "x, squared"),
    "It starts at x = 0, not at b.": ("np.zeros_like(b)", "b.copy()"),
    "beta is upside down: the new r'r over the old.": (BETA, "squared / new_squared if new_squared > 0 else 0.0"),
    "That is steepest descent: the old direction has no part in the new one.": (BETA, "0.0"),
    "The new direction begins with the new residual.": ("direction = residual + ", "direction = "),
    "beta is the ratio of the squared lengths, r'r.": (BETA, f"np.sqrt({BETA})"),
    "alpha is r'r / d'Ad, with the residual above.": ("squared / curvature", "direction @ direction / curvature"),
    "alpha is r'r / d'Ad, with A between the directions.": ("/ curvature", "/ (direction @ direction)"),
    "r'r is the squared length, not the length.": (*FIRST, *LATER),
    "The tolerance is relative to |b|^2.": ("tolerance * squared", "tolerance"),
    "The tolerance is for the squared residual.": ("tolerance * squared", "tolerance**2 * squared"),
    "It goes on when the residual is small enough.": ("squared <= stop", "False"),
    "It follows a direction of negative curvature.": ("not curvature > 0.0", "curvature == 0.0"),
    "By default it does 10 iterations.": ("iterations: int = 10", "iterations: int = 20"),
    "The residual costs no product of its own: it is known from A d.": (RESIDUAL, "residual = b - product(x)"),
    "It does one iteration too many.": ("range(iterations)", "range(iterations + 1)"),
    "It does one iteration too few.": ("range(iterations)", "range(iterations - 1)"),
    "It never does more iterations than there are equations; with rounding more may help.": (
        "range(iterations)",
        "range(min(iterations, len(b)))",
    ),
}


@exercise(
    "conjugate_gradient",
    "minitrpo.conjugate_gradient:conjugate_gradient",
    hints=(
        "Start at x = 0: there the residual b - A x is b itself, and so is the first direction.",
        "alpha makes the new residual orthogonal to the direction: alpha = r'r / d'Ad.",
        "The next direction is the new residual plus beta times the old direction, beta = new r'r / old r'r.",
    ),
    mistakes=edits("minitrpo.conjugate_gradient:conjugate_gradient", CONJUGATE_GRADIENT_SLIPS),
)
def conjugate_gradient_cases() -> Iterator[Case]:
    """Yield systems by hand and at random, cut short anywhere, stopped by every rule, of any size and scale."""
    by_hand = Product(np.diag([2.0, 1.0]))
    yield solved("two equations", by_hand, np.ones(2), 1)
    yield solved("two equations", by_hand, np.ones(2), 2)
    yield solved("one equation", Product(np.array([[4.0]])), np.array([2.0]), 3)
    yield solved("no iterations", by_hand, np.ones(2), 0)
    rng = np.random.default_rng(2)
    a, b = spd(rng, 12, 50.0), rng.standard_normal(12)
    for k in (1, 2, 3, 5, 9):
        yield solved("iterations that are cut short", Product(a), b, k, 0.0)
    yield solved("the default number of iterations", Product(a), b)
    yield solved("the default tolerance", Product(spd(rng, 12, 3.0)), b, iterations=200)
    for n, condition in ((2, 5.0), (7, 100.0), (20, 30.0)):
        yield solved(
            "more iterations than are needed", Product(spd(rng, n, condition)), rng.standard_normal(n), 3 * n, off=1e-6
        )
    yield solved("one step that solves it", Product(np.eye(5)), np.ones(5), 10)
    yield solved("one step that solves it and a tolerance of 0", Product(2 * np.eye(5)), np.ones(5), 10, 0.0)
    yield solved("b = 0", by_hand, np.zeros(2), 10)
    yield solved("b = 0 and a tolerance of 0", by_hand, np.zeros(2), 10, 0.0)
    quarter = Product(np.diag([1.0, 3.0]))  # after a step |residual|^2 is a quarter of |b|^2, to the bit
    for tolerance in (0.25, 0.2499999, 0.2500001, 1.0, 0.999):
        yield solved("a residual at the tolerance", quarter, np.ones(2), 10, tolerance)
    wide, c = spd(rng, 30, 30.0), rng.standard_normal(30)
    for tolerance in (0.5, 1e-2, 1e-4):
        yield solved("a tolerance that stops it", Product(wide), c, 200, tolerance)
        for scale in (1e-9, 1e9):
            yield solved("a tiny and a huge b", Product(wide), scale * c, 200, tolerance)
            yield solved("a tiny and a huge A", Product(scale * wide), c, 200, tolerance)
    for curvature in (-1.0, 0.0, -1e-9):
        yield solved("no positive curvature", Product(curvature * np.eye(3)), np.ones(3), 10)
    yield solved("negative curvature after a step", Product(np.diag([1.0, -0.5])), np.array([1.0, 0.5]), 10)
    yield solved("a curvature that is nan", Product(np.full((3, 3), np.nan)), np.ones(3), 10)
    yield solved("a curvature that is nan after a step", Strange(), np.array([1.0, 2.0]), 10)
    yield tried("rounding that asks for more iterations than equations", hard, shown="40 equations, condition 1e7")
    steep = np.geomspace(1.0, 40.0, 3000)
    yield solved("3,000 equations", Diagonal(steep), rng.standard_normal(3000), 12)


class Strange:
    """v -> diag(2, 1) v along b = (1, 2), and nan along anything else."""

    def __call__(self, v: Array) -> Array:
        along = abs(2 * v[0] - v[1]) < 1e-9 * abs(v[0])
        return np.array([2.0, 1.0]) * v if along else np.full(2, np.nan)

    def __repr__(self) -> str:
        return "v -> diag(2, 1) v along b, nan off the line of b"


class Diagonal(Product):
    """v -> a v for the diagonal of a matrix too large to write down."""

    def __call__(self, v: Array) -> Array:
        return np.asarray(self.a * v)

    def __repr__(self) -> str:
        return f"v -> A v with A diagonal, {len(self.a):,} entries"


def solved(kind: str, product: Callable[[Array], Array], b: Array, *rest: Any, off: float = 1e-9, **named: Any) -> Case:
    """Return a case that compares x, the residual (off by so much of b at most) and the number of products."""

    def run(f: Candidate) -> Any:
        asked = []

        def counted(v: Array) -> Array:
            asked.append(1)
            return product(v)

        result = f(counted, b.copy(), *rest, **named)
        return {"(x, residual)": result, "products that it asked for": len(asked)}

    given = dict(zip(("iterations", "tolerance"), rest, strict=False)) | named
    more = "".join(f", {name} = {x:g}" for name, x in given.items())
    size = float(np.abs(b).max())
    return tried(kind, run, rtol=1e-6, atol=off * size, shown=f"{product!r}, b = {short(b)}{more}")


def hard(f: Candidate) -> Any:
    """Return the solution of an ill-conditioned system after many iterations."""
    a = spd(np.random.default_rng(4), 40, 1e7)
    x, residual = f(Product(a), np.ones(40), 400, 1e-24)
    off = float(np.linalg.norm(a @ x - np.ones(40)))
    need(off < 1e-5, f"after 400 iterations A x - b has length {off:.2g}: it stopped too soon")
    return residual * 0.0
