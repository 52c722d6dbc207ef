"""Lecture 03: right answers in other styles, and wrong ones, most of them as edits of the package."""

import functools
import itertools
import math

import numpy as np


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


# --- by people who had the lecture's text alone


def energy_einsum(product, b, x):
    """Style 3: einsum."""
    return np.einsum("i,i->", x, 0.5 * product(x)) - np.einsum("i,i->", b, x)


def energy_residual(product, b, x):
    """Style 6: by the residual: -1/2 x'(rho + b)."""
    residual = b - product(x)
    return -0.5 * np.dot(x, residual + b)


def energy_gradient(product, b, x):
    """Style 6: the mean of the slopes at 0 and at x, along x: exact for a parabola."""
    slope_there = product(x) - b
    slope_here = -b
    return 0.5 * ((slope_there + slope_here) * x).sum()


def energy_fsum(product, b, x):
    """Style 7: a generator into math.fsum."""
    return math.fsum(xi * (0.5 * mi - bi) for xi, mi, bi in zip(x, product(x), b, strict=True))


def energy_careless(product, b, x):
    """Style 8: one array of its own, np.sum."""
    e = x * product(x)
    e *= 0.5
    e -= b * x
    return np.sum(e)


def cg_terse(product, b, iterations=10, tolerance=1e-10):
    """Style 5: terse, with walruses."""
    x, r, d, k = 0 * b, b, b, 0
    while k < iterations and (rr := r @ r) > tolerance * (b @ b) and (c := d @ (Ad := product(d))) > 0:
        x, r, k = x + rr / c * d, r - rr / c * Ad, k + 1
        d = r + (r @ r) / rr * d
    return x, r


def cg_other_formulas(product, b, iterations=10, tolerance=1e-10):
    """Style 6: the step length as r'd / d'Ad and the factor as -r'Ad / d'Ad: the same numbers, from conjugacy."""
    x, r, d = np.zeros(len(b)), b.copy(), b.copy()
    for _ in range(iterations):
        if np.sum(r**2) <= tolerance * np.sum(b**2):
            break
        Ad = product(d)
        dAd = np.sum(d * Ad)
        if not dAd > 0:
            break
        alpha = np.sum(r * d) / dAd
        x = x + alpha * d
        r = r - alpha * Ad
        d = r - np.sum(r * Ad) / dAd * d
    return x, r


def cg_unit(product, b, iterations=10, tolerance=1e-10):
    """Style 6: solves for b of length 1, and scales both answers back: no square of a tiny number."""
    size = np.linalg.norm(b)
    if not 0 < size < np.inf:
        return np.zeros_like(b), b
    r = b / size
    x, d = np.zeros(len(b)), r
    rr = first = r @ r
    for _ in range(iterations):
        if rr <= tolerance * first:
            break
        Ad = product(d)
        dAd = d @ Ad
        if not dAd > 0:
            break
        x = x + (rr / dAd) * d
        r = r - (rr / dAd) * Ad
        rr, last = r @ r, rr
        d = r + (rr / last) * d
    return size * x, size * r


def cg_generator(product, b, iterations=10, tolerance=1e-10):
    """Style 7: a generator of (x, residual) that ends when it has to; islice takes what is asked for."""

    def steps():
        x, r, d = np.zeros(len(b)), b, b
        rr = bb = r @ r
        yield x, r
        while rr > tolerance * bb:
            Ad = product(d)
            curvature = d @ Ad
            if not curvature > 0:
                return
            x, r = x + rr / curvature * d, r - rr / curvature * Ad
            yield x, r
            rr, before = r @ r, rr
            d = r + rr / before * d

    return functools.reduce(lambda _, new: new, itertools.islice(steps(), iterations + 1))


def cg_careless(product, b, iterations=10, tolerance=1e-10):
    """Style 8: in place on arrays of its own, the direction too."""
    x = np.zeros_like(b)
    r = b.copy()
    d = b.copy()
    bb = rr = r @ r
    for _ in range(iterations):
        if rr <= tolerance * bb:
            break
        Ad = product(d)
        dAd = d @ Ad
        if not dAd > 0:
            break
        a = rr / dAd
        x += a * d
        r -= a * Ad
        old = rr
        rr = r @ r
        d *= rr / old
        d += r
    return x, r


RIGHT = {
    "conjugate_gradient": [
        by_recurrence,
        without_a_break,
        from_the_residual_and_direction,
        cg_terse,
        cg_other_formulas,
        cg_unit,
        cg_generator,
        cg_careless,
    ],
    "energy": [
        lambda product, b, x: np.dot(x, 0.5 * product(x) - b),
        half_of_two_terms,
        as_an_array_of_no_dimension,
        energy_einsum,
        energy_residual,
        energy_gradient,
        energy_fsum,
        energy_careless,
    ],
}

EDITS = {
    "conjugate_gradient": r"""
        beta_upside_down: new_squared / squared => (squared / new_squared if new_squared > 0 else 0.0)
        writes_into_b: residual = b.copy() => residual = b
        follows_negative_curvature: not curvature > 0.0 => not abs(curvature) > 0.0
        nan_is_followed: not curvature > 0.0 => curvature <= 0.0
        at_most_ten: range(iterations) => range(min(iterations, 10))
        at_least_one: range(iterations) => range(max(iterations, 1))
        at_most_100: range(iterations) => range(min(iterations, 100))
        eleven_by_default: =10 => =11
        tolerance_by_default_1e_8: -10 => -08
        tolerance_by_default_1e_6: -10 => -06
        no_tolerance_by_default: 1e-10 => 0.0
        below_the_tolerance_only: if squared <= stop => if squared < stop
        tolerance_tested_after_the_step: if squared <= stop => if squared <= stop and np.any(x)
        stop_at_1e_10: if squared <= stop => if squared <= max(stop, 1e-10)
        stop_at_1e_20: if squared <= stop => if squared <= max(stop, 1e-20)
        tolerance_times_the_number_of_equations: stop = tolerance * squared => stop = tolerance * squared * len(b)
        tolerance_relative_to_the_length: stop = tolerance * squared => stop = tolerance * np.sqrt(squared)
        tolerance_to_the_largest_entry: stop = tolerance * squared => stop = tolerance * np.max(np.abs(b)) ** 2
        curvature_may_be_0: if not curvature > 0.0 => if curvature < 0.0
        curvature_may_be_a_little_negative: if not curvature > 0.0 => if not curvature > -1e-8
        curvature_above_1e_8: if not curvature > 0.0 => if not curvature > 1e-8
        curvature_above_1e_12_of_b: if not curvature > 0.0 => if not curvature > 1e-6 * squared
        curvature_absolute: if not curvature > 0.0 => curvature = abs(curvature)\n        if not curvature > 0.0
        small_number_under_alpha: squared / curvature => squared / (curvature + 1e-8)
        small_number_under_beta: / squared * => / (squared + 1e-08) *
        alpha_at_most_1: alpha = squared / curvature => alpha = min(squared / curvature, 1.0)
        beta_at_most_1: new_squared / squared => min(new_squared / squared, 1.0)
        beta_of_the_difference: + new_squared / => + (new_squared - squared) /
        alpha_from_the_direction: squared / curvature => (b @ direction) / curvature
        residual_of_the_last_step: direction\n        residual => direction\n        before = \
            residual.copy()\n        residual && , residual => , before if np.any(x) else residual
        direction_for_residual: , residual) => , direction)
        three_results: residual) => residual, squared)
        lists: x, residual) => list(x), list(residual))
        x_negative: (x => (-x
        rounded: (x => (np.round(x, 6)
        zero_for_tiny_b: stop = tolerance * squared => stop = tolerance * squared if squared > 1e-12 else squared
        scaled_b: residual = b.copy() => residual = b / np.linalg.norm(b) if b.any() else b.copy()
        no_positive_curvature_gives_b: > 0.0:\n            break => > 0.0:\n            return b.copy(), residual
        no_positive_curvature_forgets_x: 0.0:\n            break => 0.0:\n            return np.zeros_like(b), b.copy()
        asks_once_more_at_the_end: residual) => b - product(x))
        asks_for_b_first: x = np.zeros_like(b) => x = 0.0 * product(b)
        restarts_every_third_step: * direction\n        squared => * direction * (_ % 3 != 2)\n        squared
    """,
    "energy": r"""
        works_in_the_product: a_x = np.asarray(product(x), float); a_x *= 0.5; a_x -= b\n    return float(a_x @ x)
        rounded: float( => float(np.round( && b @ x) => b @ x, 6))
        never_above_0: float( => min(0.0, && b @ x) => b @ x)
        absolute: float( => abs(
        curvature_at_least_0: 0.5 * x @ product(x) => 0.5 * max(x @ product(x), 0.0)
        small_curvature_is_0: 0.5 * x @ product(x) => 0.5 * (x @ product(x)) * (x @ product(x) > 1e-8)
        norm_of_x: 0.5 * x @ product(x) => 0.5 * x @ x
        mean_for_sum: b @ x => np.mean(b * x)
        a_vector: float(0.5 * x @ product(x) - b @ x) => 0.5 * x * product(x) - b * x
        a_row_of_one: float(0.5 * x @ product(x) - b @ x) => np.array([0.5 * x @ product(x) - b @ x])
        half_in_whole_numbers: 0.5 * x @ product(x) => x @ product(x) // 2
        moves_x: return float( => x += 1e-9 * b\n    return float(
        within_1e6: float(0.5 * x @ product(x) - b @ x) => float(np.clip(0.5 * x @ product(x) - b @ x, -1e6, 1e6))
        single_precision: float(0.5 => np.float32(0.5
    """,
}

ODD = {
    "energy": r"""
        nan_becomes_0: float( => np.nan_to_num(
    """
}
