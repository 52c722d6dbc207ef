"""Wrong answers to the exercises of lecture 08, and right ones written in another style."""

import math

import numpy as np


def named(name, function):
    function.__name__ = name
    return function


def fractions(formula, least=2):
    """Return a Karp-Flatt fraction with this formula that refuses fewer ranks than `least`."""

    def karp_flatt(speedup, ranks):
        if np.any(np.asarray(ranks) < least):
            raise ValueError("too few ranks")
        return formula(speedup, ranks)

    return karp_flatt


def bootstrap(
    statistic=lambda draws: np.median(draws, axis=1),
    draw=lambda rng, data, resamples: rng.choice(data, (resamples, len(data))),
    levels=lambda confidence: ((1 - confidence) / 2, (1 + confidence) / 2),
    result=lambda low, high, data: (low, high),
    least=2,
    seeded=True,
):
    """Return a bootstrap with one thing changed."""

    def interval(samples, confidence=0.95, resamples=2000, seed=0):
        data = np.asarray(samples, dtype=float)
        if len(data) < least:
            raise ValueError("too few")
        rng = np.random.default_rng(seed if seeded else None)
        low, high = np.quantile(statistic(draw(rng, data, resamples)), levels(confidence))
        return result(low, high, data)

    return interval


def percentiles_of_the_data(samples, confidence=0.95, resamples=2000, seed=0):
    """Where single measurements lie, not where their median lies."""
    if len(samples) < 2:
        raise ValueError("too few")
    return tuple(np.quantile(samples, [(1 - confidence) / 2, (1 + confidence) / 2]))


def two_standard_deviations(samples, confidence=0.95, resamples=2000, seed=0):
    if len(samples) < 2:
        raise ValueError("too few")
    middle, width = np.median(samples), 1.96 * np.std(samples)
    return middle - width, middle + width


def two_standard_errors_of_the_mean(samples, confidence=0.95, resamples=2000, seed=0):
    if len(samples) < 2:
        raise ValueError("too few")
    middle, width = np.mean(samples), 1.96 * np.std(samples, ddof=1) / np.sqrt(len(samples))
    return middle - width, middle + width


def smallest_and_largest(samples, confidence=0.95, resamples=2000, seed=0):
    if len(samples) < 2:
        raise ValueError("too few")
    return min(samples), max(samples)


def sorts_the_measurements_in_place(samples, confidence=0.95, resamples=2000, seed=0):
    if len(samples) < 2:
        raise ValueError("too few")
    samples.sort()
    return bootstrap()(samples, confidence, resamples, seed)


WRONG = {
    "amdahl": [
        named("gustafsons_law", lambda serial_fraction, ranks: serial_fraction + (1 - serial_fraction) * ranks),
        named(
            "fraction_of_the_parallel_part",
            lambda serial_fraction, ranks: 1 / (1 - serial_fraction + serial_fraction / ranks),
        ),
        named("time_and_not_speed", lambda serial_fraction, ranks: serial_fraction + (1 - serial_fraction) / ranks),
        named("forgets_the_serial_part", lambda serial_fraction, ranks: ranks / (1 - serial_fraction)),
        named("parallel_part_not_shortened", lambda serial_fraction, ranks: 1 / (serial_fraction + 1 / ranks)),
        named(
            "whole_ranks_only", lambda serial_fraction, ranks: 1 // (serial_fraction + (1 - serial_fraction) / ranks)
        ),
        named(
            "average_of_the_speeds",
            lambda serial_fraction, ranks: 1 / (1 / (serial_fraction + (1 - serial_fraction) * ranks)),
        ),
        named("limit_for_many_ranks", lambda serial_fraction, ranks: 1 / serial_fraction + 0 * ranks),
        named(
            "one_rank_too_few",
            lambda serial_fraction, ranks: 1 / (serial_fraction + (1 - serial_fraction) / (ranks + 1)),
        ),
        named(
            "fraction_in_percent",
            lambda serial_fraction, ranks: 100 / (serial_fraction + (100 - serial_fraction) / ranks),
        ),
        named("first_rank_of_an_array", lambda s, ranks: 1 / (s + (1 - s) / float(np.ravel(ranks)[0]))),
    ],
    "gustafson": [
        named("amdahls_law", lambda serial_fraction, ranks: 1 / (serial_fraction + (1 - serial_fraction) / ranks)),
        named("fractions_swapped", lambda serial_fraction, ranks: (1 - serial_fraction) + serial_fraction * ranks),
        named("forgets_the_serial_part", lambda serial_fraction, ranks: (1 - serial_fraction) * ranks),
        named("loses_the_serial_fraction_of_every_rank", lambda serial_fraction, ranks: ranks - serial_fraction),
        named("ideal", lambda serial_fraction, ranks: ranks + 0 * serial_fraction),
        named("parallel_part_divided", lambda serial_fraction, ranks: serial_fraction + (1 - serial_fraction) / ranks),
        named("sign_of_the_loss", lambda serial_fraction, ranks: ranks + serial_fraction * (ranks - 1)),
        named("efficiency", lambda serial_fraction, ranks: serial_fraction / ranks + 1 - serial_fraction),
        named(
            "fraction_as_measured_on_one_rank",
            lambda serial_fraction, ranks: ranks / (serial_fraction * ranks + 1 - serial_fraction),
        ),
    ],
    "karp_flatt": [
        named("forgets_what_ranks_explain", fractions(lambda speedup, ranks: 1 / speedup / (1 - 1 / ranks))),
        named("not_normalised", fractions(lambda speedup, ranks: 1 / speedup - 1 / ranks)),
        named("lost_efficiency", fractions(lambda speedup, ranks: 1 - speedup / ranks)),
        named("sign_of_the_denominator", fractions(lambda speedup, ranks: (1 / speedup - 1 / ranks) / (1 / ranks - 1))),
        named("ratio_without_the_speedup", fractions(lambda speedup, ranks: (ranks - speedup) / (ranks - 1))),
        named("denominator_of_ranks", fractions(lambda speedup, ranks: (1 / speedup - 1 / ranks) / (1 - ranks))),
        named(
            "never_negative",
            fractions(lambda speedup, ranks: np.maximum((1 / speedup - 1 / ranks) / (1 - 1 / ranks), 0.0)),
        ),
        named(
            "never_above_one",
            fractions(lambda speedup, ranks: np.minimum((1 / speedup - 1 / ranks) / (1 - 1 / ranks), 1.0)),
        ),
        named("size_without_sign", fractions(lambda speedup, ranks: abs((1 / speedup - 1 / ranks) / (1 - 1 / ranks)))),
        named("times_the_ranks", fractions(lambda speedup, ranks: (ranks - speedup) / (ranks - 1) * ranks / speedup)),
        named(
            "one_rank_is_all_serial",
            lambda speedup, ranks: (
                (1 / speedup - 1 / ranks) / (1 - 1 / ranks) if np.all(np.asarray(ranks) > 1) else 0.0
            ),
        ),
        named(
            "refuses_only_if_all_are_one_rank",
            lambda speedup, ranks: (
                fractions(lambda s, p: (1 / s - 1 / p) / (1 - 1 / p), 0)(speedup, ranks)
                if np.any(np.asarray(ranks) > 1)
                else fractions(None)(speedup, ranks)
            ),
        ),
        named("in_percent", fractions(lambda speedup, ranks: 100 * (1 / speedup - 1 / ranks) / (1 - 1 / ranks))),
    ],
    "interval": [
        named("medians_along_the_wrong_axis", bootstrap(statistic=lambda draws: np.median(draws, axis=0))),
        named("of_the_mean", bootstrap(statistic=lambda draws: np.mean(draws, axis=1))),
        percentiles_of_the_data,
        two_standard_deviations,
        two_standard_errors_of_the_mean,
        smallest_and_largest,
        sorts_the_measurements_in_place,
        named(
            "without_replacement",
            bootstrap(draw=lambda rng, data, resamples: np.stack([rng.permutation(data) for _ in range(resamples)])),
        ),
        named(
            "draws_of_half_the_size",
            bootstrap(draw=lambda rng, data, resamples: rng.choice(data, (resamples, (len(data) + 1) // 2))),
        ),
        named(
            "draws_as_long_as_there_are_resamples",
            bootstrap(draw=lambda rng, data, resamples: rng.choice(data, (200, resamples))),
        ),
        named("all_of_it_at_both_ends", bootstrap(levels=lambda confidence: (1 - confidence, confidence))),
        named("always_95_percent", bootstrap(levels=lambda confidence: (0.025, 0.975))),
        named("only_below", bootstrap(levels=lambda confidence: (0.0, confidence))),
        named("high_before_low", bootstrap(result=lambda low, high, data: (high, low))),
        named(
            "median_and_half_width",
            bootstrap(result=lambda low, high, data: (np.median(data), (high - low) / 2)),
        ),
        named(
            "reflected_at_the_median",
            bootstrap(result=lambda low, high, data: (2 * np.median(data) - high, 2 * np.median(data) - low)),
        ),
        named("one_measurement_is_certain", bootstrap(least=1)),
        named("two_measurements_are_too_few", bootstrap(least=3)),
        named("another_answer_every_time", bootstrap(seeded=False)),
        named(
            "one_seed_for_all",
            lambda samples, confidence=0.95, resamples=2000, seed=0: bootstrap()(samples, confidence, resamples, 0),
        ),
        named(
            "resamples_ignored",
            lambda samples, confidence=0.95, resamples=2000, seed=0: bootstrap()(samples, confidence, 2000, seed),
        ),
        named(
            "ninety_percent_by_default",
            lambda samples, confidence=0.9, resamples=2000, seed=0: bootstrap()(samples, confidence, resamples, seed),
        ),
        named(
            "ratio_to_the_median",
            bootstrap(result=lambda low, high, data: (low / np.median(data), high / np.median(data))),
        ),
    ],
}


def by_hand(samples, confidence=0.95, resamples=2000, seed=0):
    """The bootstrap with lists and loops, and another way to interpolate."""
    import random

    values = [float(x) for x in samples]
    n = len(values)
    if n <= 1:
        raise ValueError("at least two")
    source = random.Random(seed)
    medians = []
    for _ in range(resamples):
        drawn = sorted(source.choices(values, k=n))
        medians.append((drawn[(n - 1) // 2] + drawn[n // 2]) / 2)
    medians.sort()
    tail = (1 - confidence) / 2
    return medians[math.floor(tail * (resamples - 1))], medians[math.ceil((1 - tail) * (resamples - 1))]


def fraction_by_cases(speedup, ranks):
    s, p = np.asarray(speedup, float), np.asarray(ranks, float)
    if (p < 2).any():
        raise ValueError("at least two ranks")
    return (p - s) / (s * (p - 1))


RIGHT = {
    "amdahl": lambda serial_fraction, ranks: np.asarray(ranks) / (1 + serial_fraction * (np.asarray(ranks) - 1)),
    "gustafson": lambda serial_fraction, ranks: ranks - serial_fraction * (ranks - 1),
    "karp_flatt": fraction_by_cases,
    "interval": by_hand,
}
