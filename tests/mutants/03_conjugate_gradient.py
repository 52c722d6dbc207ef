"""Wrong answers to the exercises of lecture 03, and right ones written in another style."""

import numpy as np


def solver(
    beta=lambda new, old: new / old,
    alpha=lambda squared, direction, product, residual: squared / (direction @ product),
    copy=True,
    stop=lambda squared, b, tolerance: tolerance * (b @ b),
    guard=True,
    negative=False,
    extra=0,
    residual_sign=-1,
    returns=lambda x, r, b: (x, r),
    default=10,
    start=None,
):
    """Return a conjugate gradient with one thing changed."""

    def conjugate_gradient(product, b, iterations=default, tolerance=1e-10):
        x = np.zeros_like(b) if start is None else start(b)
        r = b.copy() if copy else b
        d = r.copy()
        squared = r @ r
        limit = stop(squared, b, tolerance)
        for _ in range(iterations + extra):
            if squared <= limit:
                break
            z = product(d)
            if guard and not (abs(d @ z) if negative else d @ z) > 0:
                break
            a = alpha(squared, d, z, r)
            x += a * d
            r += residual_sign * a * z
            new = r @ r
            d = r + beta(new, squared) * d
            squared = new
        return returns(x, r, b)

    return conjugate_gradient


def named(name, function):
    function.__name__ = name
    return function


def restarts_every_step(product, b, iterations=10, tolerance=1e-10):
    """Steepest descent: beta is always 0."""
    return solver(beta=lambda new, old: 0.0)(product, b, iterations, tolerance)


def direction_without_residual(product, b, iterations=10, tolerance=1e-10):
    """The next direction is scaled, not renewed."""
    x, r, d = np.zeros_like(b), b.copy(), b.copy()
    squared = r @ r
    limit = tolerance * squared
    for _ in range(iterations):
        if squared <= limit:
            break
        z = product(d)
        if not d @ z > 0:
            break
        a = squared / (d @ z)
        x, r = x + a * d, r - a * z
        d = d * (r @ r) / squared
        squared = r @ r
    return x, r


def product_twice(product, b, iterations=10, tolerance=1e-10):
    """Right numbers, twice the price: the residual is computed afresh with a second product."""
    x, r, d = np.zeros_like(b), b.copy(), b.copy()
    squared = r @ r
    limit = tolerance * squared
    for _ in range(iterations):
        if squared <= limit:
            break
        z = product(d)
        if not d @ z > 0:
            break
        x = x + squared / (d @ z) * d
        r = b - product(x)
        d = r + (r @ r) / squared * d
        squared = r @ r
    return x, r


def norm_for_squared_norm(product, b, iterations=10, tolerance=1e-10):
    """alpha and beta with |r| where r'r belongs."""
    x, r, d = np.zeros_like(b), b.copy(), b.copy()
    length = np.sqrt(r @ r)
    limit = tolerance * length
    for _ in range(iterations):
        if length <= limit:
            break
        z = product(d)
        if not d @ z > 0:
            break
        a = length / (d @ z)
        x, r = x + a * d, r - a * z
        new = np.sqrt(r @ r)
        d = r + new / length * d
        length = new
    return x, r


WRONG = {
    "conjugate_gradient": [
        named("beta_upside_down", solver(beta=lambda new, old: old / new if new > 0 else 0.0)),
        restarts_every_step,
        direction_without_residual,
        product_twice,
        norm_for_squared_norm,
        named("writes_into_b", solver(copy=False)),
        named("absolute_tolerance", solver(stop=lambda squared, b, tolerance: tolerance)),
        named("tolerance_on_the_norm", solver(stop=lambda squared, b, tolerance: tolerance**2 * (b @ b))),
        named("never_stops_early", solver(stop=lambda squared, b, tolerance: -1.0, guard=True)),
        named("one_iteration_too_many", solver(extra=1)),
        named("one_iteration_short", solver(extra=-1)),
        named("residual_with_the_wrong_sign", solver(returns=lambda x, r, b: (x, -r))),
        named("returns_x_alone", solver(returns=lambda x, r, b: x)),
        named("returns_b_instead_of_residual", solver(returns=lambda x, r, b: (x, b.copy()))),
        named("follows_negative_curvature", solver(negative=True)),
        named("alpha_forgets_the_residual", solver(alpha=lambda s, d, z, r: (d @ d) / (d @ z))),
        named("twenty_by_default", solver(default=20)),
        named("starts_at_b", solver(start=lambda b: b.copy())),
    ],
    "energy": [
        named("without_the_half", lambda product, b, x: float(x @ product(x) - b @ x)),
        named("plus_b", lambda product, b, x: float(0.5 * x @ product(x) + b @ x)),
        named("half_of_everything", lambda product, b, x: float(0.5 * (x @ product(x) - b @ x))),
        named("squared_residual", lambda product, b, x: float(0.5 * np.sum((product(x) - b) ** 2))),
        named("the_gradient", lambda product, b, x: product(x) - b),
        named("product_of_b", lambda product, b, x: float(0.5 * x @ product(b) - b @ x)),
    ],
}


def by_recurrence(product, b, iterations=10, tolerance=1e-10):
    """Conjugate gradient in the style of a textbook, with lists."""
    xs, rs, ds = [0.0 * b], [b + 0.0], [b + 0.0]
    while len(xs) <= iterations and np.dot(rs[-1], rs[-1]) > tolerance * np.dot(b, b):
        ad = product(ds[-1])
        curvature = np.dot(ds[-1], ad)
        if curvature <= 0:
            break
        a = np.dot(rs[-1], rs[-1]) / curvature
        xs.append(xs[-1] + a * ds[-1])
        rs.append(rs[-1] - a * ad)
        ds.append(rs[-1] + np.dot(rs[-1], rs[-1]) / np.dot(rs[-2], rs[-2]) * ds[-1])
    return xs[-1], rs[-1]


RIGHT = {
    "conjugate_gradient": by_recurrence,
    "energy": lambda product, b, x: np.dot(x, 0.5 * product(x) - b),
}
