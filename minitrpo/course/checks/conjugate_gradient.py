"""Checks of lecture 03: conjugate gradient."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Candidate, Case, case, need, remark
from minitrpo.course.checks.framework.kinds import Product, spd
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short
from minitrpo.policies import Array


@exercise(
    "minitrpo.conjugate_gradient:energy",
    r"""
        ? A x = b where the gradient of the energy, A x - b, is 0.
        ? Half of x'Ax, minus b'x; A is only there as a product.
        product(x) => product @ x :: multiplies by `product` as by a matrix :: call this function: product(x) is A x
        product(x) => (product * x) :: multiplies `product` by a vector :: call this function: product(x) is A x
        0.5 *  =>  :: takes x'Ax whole :: take half of it
        - b @ x => + b @ x :: adds b'x :: subtract it
        - b @ x => - 0.5 * b @ x :: halves b'x, too :: halve x'Ax alone
        0.5 * x @ product(x) - b @ x => 0.5 * np.sum((product(x) - b) ** 2) :: is half the squared residual \
            :: be 1/2 x'Ax - b'x
        0.5 * x @ product(x) - b @ x => -(0.5 * x @ product(x) - b @ x) :: has its sign turned \
            :: be smallest at the solution
        - b @ x =>  :: leaves b'x out :: subtract it
    """,
    lecture="03",
)
def _energy() -> Iterator[Case]:
    a, b = Product(np.array([[2.0, 1.0], [1.0, 3.0]])), np.array([1.0, 2.0])
    yield case("two equations", a, b, np.ones(2))
    shown = "product = v -> v itself, b = [1, 2], x = [3, 1]"
    yield case("A = I", lambda v: v, b, np.array([3.0, 1.0]), shown=shown)
    yield case("x = 0", a, b, np.zeros(2))
    yield case("b = 0", a, np.zeros(2), np.array([1.0, -2.0]))
    rng = np.random.default_rng(0)
    for n in (1, 3, 300):
        matrix, b, x = spd(rng, n, 10.0), rng.standard_normal(n), rng.standard_normal(n)
        for of_b, of_x in ((1.0, 1.0), (1e9, 1.0), (1e-9, 1e-9), (1e9, 1e9)):
            yield case("numbers of any size", Product(matrix), of_b * b, of_x * x)
        yield case("the solution", Product(matrix), b, np.linalg.solve(matrix, b))
    for curvature in (0.0, -1.0):
        yield case("no positive curvature", Product(np.full(2, curvature)), np.ones(2), np.array([3.0, 1.0]))
    yield remark(case("whole numbers", Product(np.array([[2, 1], [1, 3]])), np.array([1, 2]), np.array([1, 2])))
    yield remark(case("an x that is nan", a, np.ones(2), np.array([np.nan, 1.0])))


@exercise(
    "minitrpo.conjugate_gradient:conjugate_gradient",
    r"""
        ? Start at x = 0: there the residual b - A x is b itself, and so is the first direction.
        ? alpha makes the new residual orthogonal to the direction: alpha = r'r / d'Ad.
        ? The next direction is the new residual plus beta times the old direction, beta = new r'r / old r'r.
        product(direction) => product @ direction :: multiplies by `product` as by a matrix \
            :: call this function: product(direction) is A times the direction
        np.zeros_like(b) => b.copy() :: starts at x = b :: start at x = 0
        new_squared / squared => (squared / new_squared if new_squared > 0 else 0.0) :: has beta upside down \
            :: divide the new r'r by the old
        new_squared / squared => 0.0 :: is steepest descent :: add beta times the old direction to the new residual
        squared / curvature => direction @ direction / curvature :: has d'd over d'Ad for alpha :: have r'r above
        / curvature => / (direction @ direction) :: divides r'r by d'd :: divide by d'Ad, with A between the directions
        tolerance * squared => tolerance :: compares with the tolerance itself :: compare with tolerance * |b|^2
        tolerance * squared => tolerance**2 * squared :: squares the tolerance :: compare |r|^2 with tolerance * |b|^2
        squared <= stop => False :: goes on when the residual is small enough :: stop at |r|^2 <= tolerance * |b|^2
        not curvature > 0.0 => curvature == 0.0 :: follows a direction of negative curvature :: stop before it
        residual -= alpha * a_direction => residual = b - product(x) :: asks for two products a step :: find it from A d
        range(iterations) => range(iterations + 1) :: does one iteration too many :: do `iterations` at most
        range(iterations) => range(min(iterations, len(b))) :: stops after as many iterations as there are equations \
            :: go on, as rounding may need more
    """,
    lecture="03",
)
def _conjugate_gradient() -> Iterator[Case]:
    by_hand = np.diag([2.0, 1.0])
    for k in (1, 2, 0):
        yield solved(f"two equations and {k} iterations", by_hand, np.ones(2), k)
    rng = np.random.default_rng(2)
    a, b = spd(rng, 12, 50.0), rng.standard_normal(12)
    for k in (1, 3, 9):
        yield solved("iterations that are cut short", a, b, k, 0.0)
    yield solved("the default number of iterations", a, b)
    yield solved("the default tolerance", spd(rng, 12, 3.0), b, iterations=200)
    for n, condition in ((2, 5.0), (7, 100.0), (20, 30.0)):
        yield solved("more iterations than are needed", spd(rng, n, condition), rng.standard_normal(n), 3 * n, off=1e-6)
    yield remark(solved("one step that solves it and a tolerance of 0", 2 * np.eye(5), np.ones(5), 10, 0.0))
    for rest in ((10,), (10, 0.0)):
        yield solved("b = 0", by_hand, np.zeros(2), *rest)
    for tolerance in (0.25, 0.2499999, 0.2500001, 1.0, 0.999):  # after a step |r|^2 is a quarter of |b|^2, to the bit
        yield solved("a residual at the tolerance", np.diag([1.0, 3.0, 1.0, 3.0]), np.ones(4), 10, tolerance)
    wide, c = spd(rng, 30, 30.0), rng.standard_normal(30)
    for tolerance, scale in product((0.5, 1e-2, 1e-4), (1.0, 1e-9, 1e9)):
        yield solved("a tolerance that stops it, and a tiny and a huge b", wide, scale * c, 200, tolerance)
        yield solved("a tiny and a huge A", scale * wide, c, 200, tolerance)
    for curvature in (-1.0, 0.0, -1e-9, np.nan):
        yield solved("no positive curvature", curvature * np.eye(3), np.ones(3), 10)
    yield solved("negative curvature after a step", np.diag([1.0, -0.5]), np.array([1.0, 0.5]), 10)
    yield Case("rounding that asks for more iterations than equations", hard, shown="40 equations, condition 1e7")
    yield solved("3,000 equations", np.geomspace(1.0, 40.0, 3000), rng.standard_normal(3000), 12)


def solved(kind: str, a: Array, b: Array, *rest: Any, off: float = 1e-9, **named: Any) -> Case:
    """Return a case that compares x, the residual (off by so much of b at most) and the number of products."""

    def run(f: Candidate) -> Any:
        product = Product(a)
        result = f(product, b.copy(), *rest, **named)
        return {"(x, residual)": result, "the number of products that it asked for": product.asked}

    given = dict(zip(("iterations", "tolerance"), rest, strict=False)) | named
    more = "".join(f", {name} = {x:g}" for name, x in given.items())
    shown = f"product = {Product(a)!r}, b = {short(b)}{more}"
    return Case(kind, run, rtol=1e-6, atol=off * float(np.abs(b).max()), shown=shown)


def hard(f: Candidate) -> Any:
    """Return the solution of an ill-conditioned system after many iterations."""
    a = spd(np.random.default_rng(4), 40, 1e7)
    x, residual = f(Product(a), np.ones(40), 400, 1e-24)
    off = float(np.linalg.norm(a @ x - np.ones(40)))
    need(off < 1e-5, f"after 400 iterations A x - b has length {off:.2g}: it stopped too soon")
    return residual * 0.0
