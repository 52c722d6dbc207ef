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


def works_in_the_product(product, b, x):
    """Changes what the product returned, which for A = I may be x itself."""
    a_x = np.asarray(product(x), dtype=float)
    a_x *= 0.5
    a_x -= b
    return float(a_x @ x)


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
        works_in_the_product,
    ],
}


def by_recurrence(product, b, iterations=10, tolerance=1e-10):
    """Conjugate gradient in the style of a textbook, with lists."""
    xs, rs, ds = [0.0 * b], [b + 0.0], [b + 0.0]
    while len(xs) <= iterations and np.dot(rs[-1], rs[-1]) > tolerance * np.dot(b, b):
        ad = product(ds[-1])
        curvature = np.dot(ds[-1], ad)
        if not curvature > 0:
            break
        a = np.dot(rs[-1], rs[-1]) / curvature
        xs.append(xs[-1] + a * ds[-1])
        rs.append(rs[-1] - a * ad)
        ds.append(rs[-1] + np.dot(rs[-1], rs[-1]) / np.dot(rs[-2], rs[-2]) * ds[-1])
    return xs[-1], rs[-1]


def without_a_break(product, b, iterations=10, tolerance=1e-10):
    """With conditions in the loop's head, and nothing changed in place."""
    x, r, d, k = b * 0.0, b * 1.0, b * 1.0, 0
    rr, enough, downhill = sum(r * r), tolerance * sum(b * b), False
    while k < iterations and rr > enough and not downhill:
        ad = product(d)
        dad = sum(d * ad)
        downhill = not dad > 0
        if not downhill:
            x, r = x + rr / dad * d, r - rr / dad * ad
            before, rr = rr, sum(r * r)
            d = r + rr / before * d
        k += 1
    return x, r


def from_the_residual_and_direction(product, b, iterations=10, tolerance=1e-10):
    """alpha as r'd / d'Ad, beta by the conjugacy itself, as some books have them."""
    x, r = np.zeros(len(b)), np.array(b, dtype=float)
    d = r
    for _ in range(iterations):
        if np.linalg.norm(r) ** 2 <= tolerance * np.linalg.norm(b) ** 2:
            break
        ad = product(d)
        if not np.dot(d, ad) > 0:
            break
        alpha = np.dot(r, d) / np.dot(d, ad)
        x = x + alpha * d
        r = r - alpha * ad
        d = r - np.dot(r, ad) / np.dot(d, ad) * d
    return [x, r]


def half_of_two_terms(product, b, x):
    """Both terms over 2."""
    return (x @ product(x) - 2 * (x @ b)) / 2


def as_an_array_of_no_dimension(product, b, x):
    """A number of numpy's."""
    return np.array(np.sum(0.5 * x * product(x)) - np.sum(b * x))


RIGHT = {
    "conjugate_gradient": [by_recurrence, without_a_break, from_the_residual_and_direction],
    "energy": [lambda product, b, x: np.dot(x, 0.5 * product(x) - b), half_of_two_terms, as_an_array_of_no_dimension],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    "energy": {
        "rounded": ("float(", "float(np.round(", "b @ x)", "b @ x, 6))"),
        "never_above_0": ("float(", "min(0.0, ", "b @ x)", "b @ x)"),
        "absolute": ("float(", "abs("),
        "whole": ("float(", "int("),
        "per_equation": ("b @ x)", "b @ x) / len(b)"),
        "curvature_at_least_0": ("0.5 * x @ product(x)", "0.5 * max(x @ product(x), 0.0)"),
        "small_curvature_is_0": ("0.5 * x @ product(x)", "0.5 * (x @ product(x)) * (x @ product(x) > 1e-8)"),
        "b_x_squared": ("b @ x", "(b @ x) ** 2"),
        "norm_of_x": ("0.5 * x @ product(x)", "0.5 * x @ x"),
        "mean_for_sum": ("b @ x", "np.mean(b * x)"),
        "nan_becomes_0": ("float(", "np.nan_to_num("),
        "a_vector": ("float(0.5 * x @ product(x) - b @ x)", "0.5 * x * product(x) - b * x"),
        "a_row_of_one": ("float(0.5 * x @ product(x) - b @ x)", "np.array([0.5 * x @ product(x) - b @ x])"),
        "half_in_whole_numbers": ("0.5 * x @ product(x)", "x @ product(x) // 2"),
        "moves_x": ("return float(", "x += 1e-9 * b\n    return float("),
        "twice_the_half": ("0.5 *", "0.25 *"),
        "within_1e6": (
            "float(0.5 * x @ product(x) - b @ x)",
            "float(np.clip(0.5 * x @ product(x) - b @ x, -1e6, 1e6))",
        ),
        "single_precision": ("float(0.5", "np.float32(0.5"),
    },
    "conjugate_gradient": {
        "nan_is_followed": ("not curvature > 0.0", "curvature <= 0.0"),
        "at_most_as_many_as_equations": ("range(iterations)", "range(min(iterations, len(b)))"),
        "at_most_ten": ("range(iterations)", "range(min(iterations, 10))"),
        "at_least_one": ("range(iterations)", "range(max(iterations, 1))"),
        "at_most_100": ("range(iterations)", "range(min(iterations, 100))"),
        "eleven_by_default": ("iterations: int = 10", "iterations: int = 11"),
        "tolerance_by_default_1e_8": ("tolerance: float = 1e-10", "tolerance: float = 1e-8"),
        "tolerance_by_default_1e_6": ("tolerance: float = 1e-10", "tolerance: float = 1e-6"),
        "no_tolerance_by_default": ("tolerance: float = 1e-10", "tolerance: float = 0.0"),
        "below_the_tolerance_only": ("if squared <= stop", "if squared < stop"),
        "tolerance_tested_after_the_step": ("if squared <= stop", "if squared <= stop and np.any(x)"),
        "stop_at_1e_10": ("if squared <= stop", "if squared <= max(stop, 1e-10)"),
        "stop_at_1e_20": ("if squared <= stop", "if squared <= max(stop, 1e-20)"),
        "tolerance_times_the_number_of_equations": (
            "stop = tolerance * squared",
            "stop = tolerance * squared * len(b)",
        ),
        "tolerance_relative_to_the_length": ("stop = tolerance * squared", "stop = tolerance * np.sqrt(squared)"),
        "tolerance_to_the_largest_entry": ("stop = tolerance * squared", "stop = tolerance * np.max(np.abs(b)) ** 2"),
        "curvature_may_be_0": ("if not curvature > 0.0", "if curvature < 0.0"),
        "curvature_may_be_a_little_negative": ("if not curvature > 0.0", "if not curvature > -1e-8"),
        "curvature_above_1e_8": ("if not curvature > 0.0", "if not curvature > 1e-8"),
        "curvature_above_1e_12_of_b": ("if not curvature > 0.0", "if not curvature > 1e-6 * squared"),
        "curvature_absolute": ("if not curvature > 0.0", "curvature = abs(curvature)\n        if not curvature > 0.0"),
        "small_number_under_alpha": ("squared / curvature", "squared / (curvature + 1e-8)"),
        "small_number_under_beta": ("(new_squared / squared)", "(new_squared / (squared + 1e-8))"),
        "alpha_at_most_1": ("alpha = squared / curvature", "alpha = min(squared / curvature, 1.0)"),
        "beta_at_most_1": ("(new_squared / squared)", "min(new_squared / squared, 1.0)"),
        "beta_of_the_difference": ("(new_squared / squared)", "((new_squared - squared) / squared)"),
        "alpha_from_the_direction": ("squared / curvature", "(b @ direction) / curvature"),
        "residual_of_the_start": ("return x, residual", "return x, b - 0.0 * residual"),
        "residual_of_the_last_step": (
            "residual -= alpha",
            "before = residual.copy()\n        residual -= alpha",
            "return x, residual",
            "return x, before if np.any(x) else residual",
        ),
        "direction_for_residual": ("return x, residual", "return x, direction"),
        "squared_residual": ("return x, residual", "return x, squared"),
        "three_results": ("return x, residual", "return x, residual, squared"),
        "lists": ("return x, residual", "return list(x), list(residual)"),
        "x_negative": ("return x, residual", "return -x, residual"),
        "rounded": ("return x, residual", "return np.round(x, 6), residual"),
        "zero_for_tiny_b": ("stop = tolerance * squared", "stop = tolerance * squared if squared > 1e-12 else squared"),
        "scaled_b": ("residual = b.copy()", "residual = b / np.linalg.norm(b) if b.any() else b.copy()"),
        "no_positive_curvature_gives_b": (
            "if not curvature > 0.0:\n            break",
            "if not curvature > 0.0:\n            return b.copy(), residual",
        ),
        "no_positive_curvature_forgets_x": (
            "if not curvature > 0.0:\n            break",
            "if not curvature > 0.0:\n            return np.zeros_like(b), b.copy()",
        ),
        "asks_once_more_at_the_end": ("return x, residual", "return x, b - product(x)"),
        "asks_for_b_first": ("x = np.zeros_like(b)", "x = 0.0 * product(b)"),
        "restarts_every_third_step": (
            "direction = residual + (new_squared / squared) * direction",
            "direction = residual + (new_squared / squared) * direction * (_ % 3 != 2)",
        ),
    },
}
