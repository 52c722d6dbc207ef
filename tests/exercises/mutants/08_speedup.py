"""Lecture 08: right answers in other styles, and wrong ones."""

import math
import random

import numpy as np


def interval_by_hand(samples, confidence=0.95, resamples=2000, seed=0):
    values, source, medians = [float(x) for x in samples], random.Random(seed), []
    n = len(values)
    if n <= 1:
        raise ValueError("at least two")
    for _ in range(resamples):
        drawn = sorted(source.choices(values, k=n))
        medians.append((drawn[(n - 1) // 2] + drawn[n // 2]) / 2)
    medians.sort()
    tail = (1 - confidence) / 2
    return medians[math.floor(tail * (resamples - 1))], medians[math.ceil((1 - tail) * (resamples - 1))]


def interval_one_after_the_other(samples, confidence=0.95, resamples=2000, seed=0):
    if len(samples) < 2:
        raise ValueError("too few")
    state = np.random.RandomState(seed)
    medians = [np.median(state.choice(samples, len(samples))) for _ in range(resamples)]
    tail = 100 * (1 - confidence) / 2
    return np.percentile(medians, [tail, 100 - tail])


RIGHT = {
    "amdahl": r"""
        another_fraction: return np.asarray(ranks) / (1 + serial_fraction * (np.asarray(ranks) - 1))
        what_is_saved: return 1.0 / (1.0 - (1.0 - serial_fraction) * (1.0 - 1.0 / ranks))
        ratio_of_times: return 1.0 / (serial_fraction + np.divide(1 - serial_fraction, ranks))
        list_of_an_array: return np.array([right(serial_fraction, one) for one in ranks]) if np.ndim(ranks) else \
            float(right(serial_fraction, ranks))
        library: return np.reciprocal(np.add(serial_fraction, np.divide(np.subtract(1.0, serial_fraction), ranks)))
        defensive: ranks) => np.asarray(ranks, dtype=float))
        as_the_input: return (1 / (float(serial_fraction) + (1 - serial_fraction) * np.array(ranks, float) ** -1))[()]
        entry_by_entry: return np.vectorize(lambda p: p / (serial_fraction * p + 1 - serial_fraction), \
            otypes=[float])(ranks)
    """,
    "karp_flatt": r"""
        floats: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => \
            (ranks - np.asarray(speedup, float)) / (speedup * np.subtract(ranks, 1.0))
        ratio_of_times: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => (ranks / speedup - 1) / (ranks - 1)
        smallest: np.any(np.asarray(ranks) <= 1) => np.min(ranks) < 2
        entry_by_entry: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => np.vectorize(lambda s, p: (1 / s - 1 / p) * p / \
            (p - 1), otypes=[float])(speedup, ranks)
        library: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => \
            np.divide(np.subtract(np.divide(ranks, speedup), 1.0), np.subtract(ranks, 1.0))
        what_was_saved: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => \
            1.0 - (1.0 - 1.0 / np.asarray(speedup)) / (1.0 - 1.0 / np.array(ranks, dtype=float))
        error_of_its_own: ValueError( => type("TooFew", (ValueError,), {})(
        float_of_numbers: return (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => \
            return np.array((1 / speedup - 1 / ranks) / (1 - 1 / ranks), dtype=float)[()]
    """,
    "interval": r"""
        generator: np.median(draws, axis=1) => np.fromiter(map(np.median, draws), float)
        terse: (resamples, measured.size) => (measured.size, resamples) && axis=1 => axis=0 && return (float(low), \
            float(high)) => return [low, high]
    """,
}

WRONG = {
    "amdahl": r"""
        whole_ranks_only: return 1 / => return 1 //
        first_rank_of_an_array: / ranks) => / float(np.ravel(ranks)[0]))
        a_fraction_of_0_is_none: return => serial_fraction = serial_fraction or 1e-6\n    return
        a_very_small_number_under_it: serial_fraction + (1 - serial_fraction) / ranks => 1e-12 + serial_fraction + (1 \
            - serial_fraction) / ranks
        rounded: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => np.round(1 / (serial_fraction + (1 - \
            serial_fraction) / ranks), 3)
        at_most_100: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => np.minimum(1 / (serial_fraction + (1 - \
            serial_fraction) / ranks), 100.0)
        a_list: return => return np.ndim(ranks) and [amdahl(serial_fraction, p) for p in ranks] or
        mean_of_the_ranks: / ranks => / np.mean(ranks)
        largest_of_the_ranks: / ranks => / np.max(ranks)
        a_flat_array: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => 1 / (serial_fraction + (1 - \
            serial_fraction) / ranks) if np.ndim(ranks) < 2 else np.ravel(1 / (serial_fraction + (1 - \
            serial_fraction) / ranks))
        one_rank_less: / ranks => / np.maximum(ranks - 1, 1)
        the_lesser_of_two_bounds: return np.minimum(ranks, 1 / np.maximum(serial_fraction, 1e-300))
        logarithm_of_ranks: / ranks => / (1 + np.log2(ranks))
        nothing_for_a_serial_job: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => 1 / (serial_fraction + (1 \
            - serial_fraction) / ranks) if serial_fraction < 1 else 0 * ranks
        a_cost_per_rank: serial_fraction + (1 - serial_fraction) / ranks => serial_fraction + (1 - serial_fraction) / \
            ranks + 1e-6 * (ranks - 1)
    """,
    "karp_flatt": r"""
        sign_of_the_denominator: (1 - 1 / ranks) => (1 / ranks - 1)
        one_rank_is_all_serial: raise ValueError('the Karp-Flatt serial fraction needs at least 2 ranks') => return 0.0
        within_0_and_1: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => np.clip((1 / speedup - 1 / ranks) / (1 - 1 / \
            ranks), 0, 1)
        nan_for_one_rank: raise ValueError('the Karp-Flatt serial fraction needs at least 2 ranks' => return \
            np.full(np.shape(ranks), np.nan
        a_list: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => list(np.ravel((1 / speedup - 1 / ranks) / (1 - 1 / \
            ranks))) if np.ndim(ranks) else (1 / speedup - 1 / ranks) / (1 - 1 / ranks)
        rounded: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => np.round((1 / speedup - 1 / ranks) / (1 - 1 / ranks), 6)
        parallel_fraction: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => 1 - (1 / speedup - 1 / ranks) / (1 - 1 / \
            ranks)
        divided_by_the_speedup: (1 - 1 / ranks) => (1 - 1 / speedup + 1e-300)
        whole_division: 1 / speedup => 1 // speedup
        a_small_number_under_it: (1 - 1 / ranks) => (1 - 1 / ranks + 1e-8)
        small_is_0: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => np.where(np.abs((1 / speedup - 1 / ranks) / (1 - 1 \
            / ranks)) < 1e-6, 0.0, (1 / speedup - 1 / ranks) / (1 - 1 / ranks))
        a_flat_array: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => (1 / speedup - 1 / ranks) / (1 - 1 / ranks) if \
            np.ndim(ranks) < 2 else np.ravel((1 / speedup - 1 / ranks) / (1 - 1 / ranks))
    """,
    "interval": r"""
        two_standard_deviations: draws = => return np.median(measured) - 1.96 * np.std(measured), np.median(measured) \
            + 1.96 * np.std(measured)\n    draws =
        sorts_the_measurements_in_place: draws = => measured.sort()\n    draws =
        whole_per_cents: [(1 - confidence) / 2, (1 + confidence) / 2] => np.round([50 - 50 * confidence, 50 + 50 * \
            confidence]) / 100
        high_before_low: low), float(high => high), float(low
        median_and_half_width: float(low), float(high) => float(np.median(measured)), float(high - low) / 2
        another_answer_every_time: default_rng(seed) => default_rng()
        one_seed_for_all: default_rng(seed) => default_rng(0)
        resamples_ignored: (resamples, measured.size) => (2000, measured.size)
        ratio_to_the_median: (low), float(high) => (low / np.median(measured)), float(high / np.median(measured))
        one_more_in_a_draw: (resamples, measured.size)) => (resamples, measured.size + 1))
        one_less_in_a_draw: (resamples, measured.size)) => (resamples, measured.size - 1))
        ten_in_a_draw: (resamples, measured.size)) => (resamples, 10))
        a_thousand_draws_always: (resamples, measured.size)) => (1000, measured.size))
        lower_level_only_halved: [(1 - confidence) / 2, (1 + confidence) / 2] => [(1 - confidence) / 2, confidence]
        upper_side_only: [(1 - confidence) / 2, (1 + confidence) / 2] => [1 - confidence, 1.0]
        ninety_nine_always: [(1 - confidence) / 2, (1 + confidence) / 2] => [0.005, 0.995]
        a_quarter_at_each_end: / 2, (1 + confidence) / 2 => / 4, 1 - (1 - confidence) / 4
        normal_approximation: float(low), float(high => np.median(measured) - 1.96 * medians.std(), \
            np.median(measured) + 1.96 * medians.std(
        trimmed_mean: np.median(draws, axis=1) => np.sort(draws, axis=1)[:, 1:-1].mean(axis=1) if measured.size > 2 \
            else draws.mean(axis=1)
        middle_of_the_range: np.median(draws, axis=1) => (draws.min(axis=1) + draws.max(axis=1)) / 2
        rounded: float(low), float(high)) => round(float(low), 3), round(float(high), 3))
        never_negative: float(low) => max(0.0, float(low)), max(0.0 && high)) => high)))
        single_precision: dtype=float => dtype=np.float16
        whole_numbers: dtype=float => dtype=int
        nan_for_too_few: raise ValueError => return np.nan, np.nan #
        three_are_needed: measured.size < 2 => measured.size < 3 && raise ValueError => return 0.0, 0.0 #
        no_seed_by_default: =0) => =None)
        with_the_median: (high => (np.median(measured)), float(high
        width: (float(low), float(high)) => float(high - low)
        about_the_median: float(low), float(high) => float(low - np.median(measured)), float(high - np.median(measured))
        widened_a_little: (float(low), float => (0.9 * float(low), 1.1 * float
    """,
}

EQUAL = {
    "interval": r"""
        one_more_draw_by_default: 2000 => 2001
    """
}
