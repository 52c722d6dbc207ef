"""Lecture 03: right answers in other styles, and wrong ones."""

import math

import numpy as np


def conjugate_gradient_by_recurrence(product, b, iterations=10, tolerance=1e-10):
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


def conjugate_gradient_without_a_break(product, b, iterations=10, tolerance=1e-10):
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


def energy_in_place(product, b, x):
    e = x * product(x)
    e *= 0.5
    e -= b * x
    return np.sum(e)


RIGHT = {
    "conjugate_gradient": r"""
        conjugacy_itself: squared / curvature => residual @ direction / curvature && new_squared / squared => \
            -(residual @ a_direction) / curvature
        b_of_length_1: residual = b.copy() => size = np.linalg.norm(b) or 1.0\n    residual = b / size && \
            direction = b.copy() => direction = residual.copy() && (x, residual) => (size * x, size * residual)
        lists_and_nothing_in_place: x += alpha * direction => x = x + alpha * direction && \
            residual -= alpha * a_direction => residual = residual - alpha * a_direction && (x, residual) => [x, \
            residual]
        exact_sums: new_squared = residual @ residual => new_squared = math.fsum(residual * residual)
    """,
    "energy": r"""
        one_product: return np.dot(x, 0.5 * product(x) - b)
        half_of_two_terms: return (x @ product(x) - 2 * (x @ b)) / 2
        an_array_of_no_dimension: return np.array(np.sum(0.5 * x * product(x)) - np.sum(b * x))
        einsum: return np.einsum("i,i->", x, 0.5 * product(x)) - np.einsum("i,i->", b, x)
        residual: return -0.5 * np.dot(x, b - product(x) + b)
        mean_of_two_slopes: return 0.5 * ((product(x) - b + -b) * x).sum()
        exact_sums: return math.fsum(xi * (0.5 * mi - bi) for xi, mi, bi in zip(x, product(x), b, strict=True))
    """,
}

WRONG = {
    "conjugate_gradient": r"""
        writes_into_b: residual = b.copy() => residual = b
        follows_negative_curvature: not curvature > 0.0 => not abs(curvature) > 0.0
        nan_is_followed: not curvature > 0.0 => curvature <= 0.0
        at_most_ten: range(iterations) => range(min(iterations, 10))
        at_least_one: range(iterations) => range(max(iterations, 1))
        tolerance_by_default_1e_8: -10 => -08
        tolerance_tested_after_the_step: if squared <= stop => if squared <= stop and np.any(x)
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

EQUAL = {
    "conjugate_gradient": r"""
        half_of_a_tolerance_for_rounding: 1e-10 => 5e-11
        nothing_changes_any_more: <= stop:\n            break => <= stop:\n            continue
    """
}
