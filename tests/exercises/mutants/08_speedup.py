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
        named(
            "whole_per_cents",
            bootstrap(levels=lambda confidence: np.round(100 * np.array([1 - confidence, 1 + confidence]) / 2) / 100),
        ),
        named("always_95_percent", bootstrap(levels=lambda confidence: (0.025, 0.975))),
        named("only_below", bootstrap(levels=lambda confidence: (0.0, confidence))),
        named("high_before_low", bootstrap(result=lambda low, high, data: (high, low))),
        named("median_and_half_width", bootstrap(result=lambda low, high, data: (np.median(data), (high - low) / 2))),
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
            "certain_of_the_measurements_not_of_the_medians",
            lambda samples, confidence=0.95, resamples=2000, seed=0: (
                (min(samples), max(samples))
                if confidence == 1 and len(samples) > 1
                else bootstrap()(samples, confidence, resamples, seed)
            ),
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


def one_after_the_other(samples, confidence=0.95, resamples=2000, seed=0):
    """numpy's old generator, one draw after the other, an array at the end."""
    if len(samples) < 2:
        raise ValueError("too few")
    state = np.random.RandomState(seed)
    medians = [np.median(state.choice(samples, len(samples))) for _ in range(resamples)]
    tail = 100 * (1 - confidence) / 2
    return np.percentile(medians, [tail, 100 - tail])


def by_positions(samples, confidence=0.95, resamples=2000, seed=0):
    """Positions are drawn, and medians picked from sorted rows; the quantile is one of the medians."""
    x = np.sort(np.array(samples, float))
    if x.size in (0, 1):
        raise ValueError(f"{x.size} measurements")
    rows = np.sort(np.random.default_rng([seed, 7]).integers(0, x.size, size=(resamples, x.size)), axis=1)
    medians = (x[rows[:, (x.size - 1) // 2]] + x[rows[:, x.size // 2]]) / 2
    return tuple(np.quantile(medians, [0.5 - confidence / 2, 0.5 + confidence / 2], method="nearest").tolist())


def with_scipy(samples, confidence=0.95, resamples=2000, seed=0):
    """The library's."""
    from scipy.stats import bootstrap

    if len(samples) < 2:
        raise ValueError("too few")
    options = {"n_resamples": resamples, "confidence_level": confidence, "method": "percentile", "vectorized": True}
    found = bootstrap((samples,), np.median, rng=np.random.default_rng(seed), **options).confidence_interval
    return found.low, found.high


def from_the_global_generator(samples, confidence=0.95, resamples=2000, seed=0):
    """Seeds numpy's global generator first."""
    if not len(samples) > 1:
        raise ValueError
    np.random.seed(seed)  # noqa: NPY002
    draws = np.random.choice(samples, size=(len(samples), resamples), replace=True)  # noqa: NPY002
    medians = np.sort(np.median(draws, axis=0))
    cut = int(resamples * (1 - confidence) / 2)
    return medians[cut], medians[resamples - 1 - cut]


def ratio_of_times(serial_fraction, ranks):
    on_one, on_all = 1.0, serial_fraction + np.divide(1 - serial_fraction, ranks)
    return on_one / on_all


def sum_of_work(serial_fraction, ranks):
    parallel = 1 - serial_fraction
    return np.add(serial_fraction, np.multiply(parallel, ranks, dtype=float))


def by_the_times(speedup, ranks):
    if np.min(ranks) < 2:
        raise ValueError("one rank says nothing")
    return (ranks / speedup - 1) / (ranks - 1)


def entry_by_entry(speedup, ranks):
    class TooFew(ValueError):
        pass

    def one(s, p):
        if p == 1 or p < 1:
            raise TooFew(p)
        return (1 / s - 1 / p) * p / (p - 1)

    return np.vectorize(one, otypes=[float])(speedup, ranks)


RIGHT = {
    "amdahl": [
        lambda serial_fraction, ranks: np.asarray(ranks) / (1 + serial_fraction * (np.asarray(ranks) - 1)),
        ratio_of_times,
        lambda serial_fraction, ranks: 1.0 / (1.0 - (1.0 - serial_fraction) * (1.0 - 1.0 / ranks)),
    ],
    "gustafson": [
        lambda serial_fraction, ranks: ranks - serial_fraction * (ranks - 1),
        sum_of_work,
        lambda serial_fraction, ranks: 1 + (1 - serial_fraction) * (ranks - 1),
    ],
    "karp_flatt": [fraction_by_cases, by_the_times, entry_by_entry],
    "interval": [by_hand, one_after_the_other, by_positions, with_scipy, from_the_global_generator],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
ON_P, ON_ONE = "serial_fraction + (1 - serial_fraction) / ranks", "serial_fraction + (1 - serial_fraction) * ranks"
FRACTION, ANY = "(1 / speedup - 1 / ranks) / (1 - 1 / ranks)", "np.any(np.asarray(ranks) <= 1)"
RAISED = 'raise ValueError("the Karp-Flatt serial fraction needs at least 2 ranks")'
LEVELS, ENDS = "[(1 - confidence) / 2, (1 + confidence) / 2]", "return float(low), float(high)"
MEDIANS, SIZE, FEW = "np.median(draws, axis=1)", "(resamples, measured.size))", "measured.size < 2"
EDITS = {
    "amdahl": {
        "a_fraction_of_0_is_none": ("return", "serial_fraction = serial_fraction or 1e-6\n    return"),
        "a_small_number_under_it": (ON_P, f"1e-8 + {ON_P}"),
        "a_very_small_number_under_it": (ON_P, f"1e-12 + {ON_P}"),
        "rounded": (f"1 / ({ON_P})", f"np.round(1 / ({ON_P}), 3)"),
        "single_precision": (f"1 / ({ON_P})", f"np.float32(1) / np.float32({ON_P})"),
        "at_most_100": (f"1 / ({ON_P})", f"np.minimum(1 / ({ON_P}), 100.0)"),
        "a_list": ("return", "return np.ndim(ranks) and [amdahl(serial_fraction, p) for p in ranks] or"),
        "mean_of_the_ranks": ("/ ranks", "/ np.mean(ranks)"),
        "largest_of_the_ranks": ("/ ranks", "/ np.max(ranks)"),
        "a_flat_array": (f"1 / ({ON_P})", f"1 / ({ON_P}) if np.ndim(ranks) < 2 else np.ravel(1 / ({ON_P}))"),
        "whole_division": ("/ ranks", "// ranks"),
        "one_rank_less": ("/ ranks", "/ np.maximum(ranks - 1, 1)"),
        "sign_of_the_fraction": ("(1 - serial_fraction)", "(1 + serial_fraction)"),
        "efficiency": ("return 1", "return 1 / ranks"),
        "the_lesser_of_two_bounds": (f"1 / ({ON_P})", "np.minimum(ranks, 1 / np.maximum(serial_fraction, 1e-300))"),
        "squared": ("/ ranks", "/ ranks**2"),
        "logarithm_of_ranks": ("/ ranks", "/ (1 + np.log2(ranks))"),
        "nothing_for_a_serial_job": (f"1 / ({ON_P})", f"1 / ({ON_P}) if serial_fraction < 1 else 0 * ranks"),
        "a_cost_per_rank": (ON_P, f"{ON_P} + 1e-6 * (ranks - 1)"),
        "gain_in_per_cent": (f"1 / ({ON_P})", f"100 * (1 / ({ON_P}) - 1)"),
    },
    "gustafson": {
        "rounded": (f"return {ON_ONE}", f"return np.round({ON_ONE}, 3)"),
        "whole_ranks": (f"return {ON_ONE}", f"return np.floor({ON_ONE})"),
        "as_whole_as_the_ranks": (f"return {ON_ONE}", f"return np.asarray({ON_ONE}).astype(np.asarray(ranks).dtype)"),
        "single_precision": (f"return {ON_ONE}", f"return np.float32({ON_ONE})"),
        "at_most_1000": (f"return {ON_ONE}", f"return np.minimum({ON_ONE}, 1000.0)"),
        "a_list": (f"return {ON_ONE}", f"return ({ON_ONE}) if np.ndim(ranks) == 0 else list({ON_ONE})"),
        "one_rank_less": ("* ranks", "* (ranks - 1)"),
        "serial_on_all": (ON_ONE, "serial_fraction * ranks + (1 - serial_fraction) * ranks"),
        "serial_counted_twice": (ON_ONE, f"serial_fraction + {ON_ONE}"),
        "mean_of_the_ranks": ("* ranks", "* np.mean(ranks)"),
        "efficiency": (f"return {ON_ONE}", f"return ({ON_ONE}) / ranks"),
        "squared": ("* ranks", "* ranks**2"),
        "sign_of_the_fraction": ("(1 - serial_fraction)", "(1 + serial_fraction)"),
        "only_what_is_more": (f"return {ON_ONE}", f"return {ON_ONE} - 1"),
        "a_fraction_of_0_is_none": ("return", "serial_fraction = serial_fraction or 1e-6\n    return"),
        "a_flat_array": (f"return {ON_ONE}", f"return {ON_ONE} if np.ndim(ranks) < 2 else np.ravel({ON_ONE})"),
        "never_more_than_amdahl": (f"return {ON_ONE}", f"return np.minimum({ON_ONE}, 1 / ({ON_P}))"),
        "per_cent": (ON_ONE, "serial_fraction + (100 - serial_fraction) * ranks"),
    },
    "karp_flatt": {
        "within_0_and_1": (f"return {FRACTION}", f"return np.clip({FRACTION}, 0, 1)"),
        "nothing_for_one_rank": (RAISED, "return 0.0 * np.asarray(ranks)"),
        "nan_for_one_rank": (RAISED, "return np.full(np.shape(ranks), np.nan)"),
        "none_for_one_rank": (RAISED, "return None"),
        "asks_the_first_only": (ANY, "np.ravel(ranks)[0] <= 1"),
        "asks_the_last_only": (ANY, "np.ravel(ranks)[-1] <= 1"),
        "asks_the_largest": (ANY, "np.max(ranks) <= 1"),
        "asks_the_mean": (ANY, "np.mean(ranks) <= 1"),
        "a_list": (f"return {FRACTION}", f"return list(np.ravel({FRACTION})) if np.ndim(ranks) else {FRACTION}"),
        "rounded": (f"return {FRACTION}", f"return np.round({FRACTION}, 6)"),
        "parallel_fraction": (f"return {FRACTION}", f"return 1 - {FRACTION}"),
        "divided_by_the_speedup": ("(1 - 1 / ranks)", "(1 - 1 / speedup + 1e-300)"),
        "multiplied": ("/ (1 - 1 / ranks)", "* (1 - 1 / ranks)"),
        "divided_by_the_ranks": (FRACTION, "(ranks / speedup - 1) / ranks"),
        "whole_division": ("1 / speedup", "1 // speedup"),
        "a_small_number_under_it": ("(1 - 1 / ranks)", "(1 - 1 / ranks + 1e-8)"),
        "small_is_0": (f"return {FRACTION}", f"return np.where(np.abs({FRACTION}) < 1e-6, 0.0, {FRACTION})"),
        "speedups_at_most_ideal": (FRACTION, "(1 / np.minimum(speedup, ranks) - 1 / ranks) / (1 - 1 / ranks)"),
        "speedups_at_least_1": (FRACTION, "(1 / np.maximum(speedup, 1) - 1 / ranks) / (1 - 1 / ranks)"),
        "a_flat_array": (f"return {FRACTION}", f"return {FRACTION} if np.ndim(ranks) < 2 else np.ravel({FRACTION})"),
        "exchanged": (FRACTION, "(1 / ranks - 1 / speedup) / (1 - 1 / ranks)"),
    },
    "interval": {
        "one_more_in_a_draw": (SIZE, "(resamples, measured.size + 1))"),
        "one_less_in_a_draw": (SIZE, "(resamples, measured.size - 1))"),
        "ten_in_a_draw": (SIZE, "(resamples, 10))"),
        "a_thousand_draws_always": (SIZE, "(1000, measured.size))"),
        "one_draw_for_all": (SIZE, "measured.size) * np.ones((resamples, 1))"),
        "levels_as_percentages": (LEVELS, "[(1 - confidence) / 200, (1 + confidence) / 200]"),
        "lower_level_only_halved": (LEVELS, "[(1 - confidence) / 2, confidence]"),
        "upper_side_only": (LEVELS, "[1 - confidence, 1.0]"),
        "ninety_nine_always": (LEVELS, "[0.005, 0.995]"),
        "a_quarter_at_each_end": (LEVELS, "[(1 - confidence) / 4, 1 - (1 - confidence) / 4]"),
        "normal_approximation": (
            ENDS,
            "return np.median(measured) - 1.96 * medians.std(), np.median(measured) + 1.96 * medians.std()",
        ),
        "trimmed_mean": (
            MEDIANS,
            "np.sort(draws, axis=1)[:, 1:-1].mean(axis=1) if measured.size > 2 else draws.mean(axis=1)",
        ),
        "middle_of_the_range": (MEDIANS, "(draws.min(axis=1) + draws.max(axis=1)) / 2"),
        "smallest_of_a_draw": (MEDIANS, "draws.min(axis=1)"),
        "upper_median": (MEDIANS, "np.sort(draws, axis=1)[:, measured.size // 2]"),
        "unsorted_middle": (MEDIANS, "draws[:, measured.size // 2]"),
        "rounded": (ENDS, "return round(float(low), 3), round(float(high), 3)"),
        "never_negative": (ENDS, "return max(0.0, float(low)), max(0.0, float(high))"),
        "single_precision": ("dtype=float", "dtype=np.float16"),
        "whole_numbers": ("dtype=float", "dtype=int"),
        "nan_for_too_few": ("raise ValueError", "return np.nan, np.nan #"),
        "none_is_enough": (FEW, "measured.size < 1"),
        "three_are_needed": (FEW, "measured.size < 3", "raise ValueError", "return 0.0, 0.0 #"),
        "seeded_by_nothing": ("default_rng(seed)", "default_rng()"),
        "seed_0_always": ("default_rng(seed)", "default_rng(0)"),
        "no_seed_by_default": ("seed: int = 0", "seed: int = None"),
        "thousand_by_default": ("resamples: int = 2000", "resamples: int = 1000"),
        "other_seed_by_default": ("seed: int = 0", "seed: int = 1"),
        "with_the_median": (ENDS, "return float(low), float(np.median(measured)), float(high)"),
        "width": (ENDS, "return float(high - low)"),
        "about_the_median": (ENDS, "return float(low - np.median(measured)), float(high - np.median(measured))"),
        "widened_a_little": (ENDS, "return 0.9 * float(low), 1.1 * float(high)"),
        "measurements_shuffled": (
            SIZE,
            "(resamples, measured.size)) * 0 + np.random.default_rng(seed).permutation(measured)",
        ),
    },
}
