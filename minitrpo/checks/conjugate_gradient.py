"""Checks of lecture 03: conjugate gradient."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.checks.differential import Candidate, Case, case, need, tried
from minitrpo.checks.register import exercise
from minitrpo.checks.words import short
from minitrpo.conjugate_gradient import conjugate_gradient as right_solver
from minitrpo.policies import Array


@dataclass(frozen=True)
class Product:
    """v -> A v."""

    a: Array

    def __call__(self, v: Array) -> Array:
        return np.asarray(self.a @ v)

    def __repr__(self) -> str:
        return f"v -> A v with A = {short(self.a)}"


def spd(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return a random symmetric positive definite matrix (n, n) with this condition number."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray((q * np.geomspace(1.0, condition, n)) @ q.T)


@exercise(
    "energy",
    "minitrpo.conjugate_gradient:energy",
    hints=(
        "A x = b where the gradient of the energy, A x - b, is 0.",
        "Half of x'Ax, less b'x; A is only there as a product.",
    ),
    mistakes={
        "The half before x'Ax is missing.": lambda product, b, x: x @ product(x) - b @ x,
        "b'x is taken off, not added.": lambda product, b, x: 0.5 * x @ product(x) + b @ x,
        "The half belongs to x'Ax alone.": lambda product, b, x: 0.5 * (x @ product(x) - b @ x),
        "That is the gradient, A x - b; the energy is one number.": lambda product, b, x: product(x) - b,
        "That is half the squared residual, smallest at the same x but another number.": lambda product, b, x: (
            0.5 * np.sum((product(x) - b) ** 2)
        ),
        "That is x'Ab where x'Ax belongs.": lambda product, b, x: 0.5 * x @ product(b) - b @ x,
        "Its sign is turned: the energy is smallest at the solution.": lambda product, b, x: (
            b @ x - 0.5 * x @ product(x)
        ),
        "b'x is missing.": lambda product, b, x: 0.5 * x @ product(x),
        "That is the mean over the entries, not their sum.": lambda product, b, x: np.mean(x * (0.5 * product(x) - b)),
    },
)
def energy_cases() -> Iterator[Case]:
    """Yield energies by hand, at 0, of one number and of many, tiny and huge."""
    a = Product(np.array([[2.0, 1.0], [1.0, 3.0]]))
    yield case("two equations", a, np.array([1.0, 2.0]), np.ones(2))
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


def loop(
    alpha: Any = lambda squared, d, ad, r: squared / (d @ ad),
    beta: Any = lambda new, old: new / old,
    enough: Any = lambda squared, b, tolerance: squared <= tolerance * (b @ b),
    extra: int = 0,
    uphill: Any = lambda curvature: curvature > 0,
) -> Candidate:
    """Return conjugate gradient with one thing changed."""

    def solver(product: Any, b: Array, iterations: int = 10, tolerance: float = 1e-10) -> tuple[Array, Array]:
        x, r, d = np.zeros_like(b), b, b
        for _ in range(iterations + extra):
            if enough(r @ r, b, tolerance):
                break
            ad = product(d)
            if not uphill(d @ ad):
                break
            a = alpha(r @ r, d, ad, r)
            x, after = x + a * d, r - a * ad
            r, d = after, after + beta(after @ after, r @ r) * d
        return x, r

    return solver


def ending(results: Any) -> Candidate:
    """Return the right solver with other results: results(x, residual, b)."""
    return lambda product, b, *rest, **named: results(*right_solver(product, b, *rest, **named), b)


def twice_the_price(product: Any, b: Array, *rest: Any, **named: Any) -> tuple[Array, Array]:
    """Return the right answer, and ask for the residual b - A x after each step anew."""

    def doubled(v: Array) -> Any:
        product(v)
        return product(v)

    return right_solver(doubled, b, *rest, **named)


@exercise(
    "conjugate_gradient",
    "minitrpo.conjugate_gradient:conjugate_gradient",
    hints=(
        "Start at x = 0: there the residual b - A x is b itself, and so is the first direction.",
        "alpha makes the new residual orthogonal to the direction: alpha = r'r / d'Ad.",
        "The next direction is the new residual plus beta times the old direction, beta = new r'r / old r'r.",
    ),
    mistakes={
        "Two results are wanted, x and the residual.": ending(lambda x, residual, b: x),
        "The residual has the wrong sign: it is b - A x.": ending(lambda x, residual, b: (x, -residual)),
        "x and the residual have changed places.": ending(lambda x, residual, b: (residual, x)),
        "The second result is the residual that is left, not b.": ending(lambda x, residual, b: (x, b)),
        "The second result is the residual itself, not its length.": ending(lambda x, r, b: (x, np.linalg.norm(r))),
        "The second result is the residual, not its square.": ending(lambda x, residual, b: (x, residual @ residual)),
        "beta is upside down: the new r'r over the old.": loop(beta=lambda new, old: old / new if new > 0 else 0.0),
        "That is steepest descent: the old direction has no part in the new one.": loop(beta=lambda new, old: 0.0),
        "beta is the ratio of the squared lengths, r'r.": loop(beta=lambda new, old: np.sqrt(new / old)),
        "alpha is r'r / d'Ad, with the residual above.": loop(alpha=lambda s, d, ad, r: (d @ d) / (d @ ad)),
        "alpha is r'r / d'Ad, with A between the directions.": loop(alpha=lambda s, d, ad, r: s / (d @ d)),
        "alpha is r'r / d'Ad, with the direction below.": loop(alpha=lambda s, d, ad, r: s / (r @ ad)),
        "The tolerance is relative to |b|^2.": loop(enough=lambda s, b, tolerance: s <= tolerance),
        "The tolerance is for the squared residual.": loop(enough=lambda s, b, tolerance: s <= tolerance**2 * (b @ b)),
        "It goes on when the residual is small enough.": loop(enough=lambda s, b, tolerance: False),
        "It follows a direction of negative curvature, where the energy has no minimum.": loop(
            uphill=lambda curvature: curvature != 0
        ),
        "By default it does 10 iterations.": lambda p, b, iterations=20, *a, **k: right_solver(
            p, b, iterations, *a, **k
        ),
        "The residual costs no product of its own: it is known from A d.": twice_the_price,
        "It does one iteration too many.": loop(extra=1),
        "It does one iteration too few.": loop(extra=-1),
        "It never does more iterations than there are equations; with rounding more may help.": (
            lambda p, b, iterations=10, *a, **k: right_solver(p, b, min(iterations, len(b)), *a, **k)
        ),
    },
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
    yield tried("rounding that asks for more iterations than equations", hard, shown="40 equations, condition 1e7")
    steep = np.geomspace(1.0, 40.0, 3000)
    yield solved("3,000 equations", Diagonal(steep), rng.standard_normal(3000), 12)


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

    more = "".join(f", {x:g}" for x in rest) + "".join(f", {name} = {x}" for name, x in named.items())
    size = float(np.abs(b).max())
    return tried(kind, run, rtol=1e-6, atol=off * size, shown=f"{product!r}, b = {short(b)}{more}")


def hard(f: Candidate) -> Any:
    """Return the solution of an ill-conditioned system after many iterations."""
    a = spd(np.random.default_rng(4), 40, 1e7)
    x, residual = f(Product(a), np.ones(40), 400, 1e-24)
    off = float(np.linalg.norm(a @ x - np.ones(40)))
    need(off < 1e-5, f"after 400 iterations A x - b has length {off:.2g}: it stopped too soon")
    return residual * 0.0
