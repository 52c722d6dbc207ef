"""Lecture 08: right answers in other styles, and wrong ones, most of them as edits of the package."""

import math

import numpy as np


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


def int_generator(samples, confidence=0.95, resamples=2000, seed=0):
    samples = np.array(samples, dtype=float)
    if len(samples) <= 1:
        raise ValueError("one measurement has no spread")

    def medians():
        state = np.random.RandomState(seed)
        for _ in range(resamples):
            yield np.median(samples[state.randint(len(samples), size=len(samples))])

    found = np.fromiter(medians(), dtype=float, count=resamples)
    return np.quantile(found, (1 - confidence) / 2), np.quantile(found, (1 + confidence) / 2)


def int_multinomial(samples, confidence=0.95, resamples=2000, seed=0):
    ordered = np.sort(samples)
    n = len(ordered)
    if n < 2:
        raise ValueError
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples).cumsum(axis=1)
    lower = ordered[np.argmax(counts > (n - 1) // 2, axis=1)]
    upper = ordered[np.argmax(counts > n // 2, axis=1)]
    low, high = np.quantile(0.5 * (lower + upper), (0.5 - confidence / 2, 0.5 + confidence / 2))
    return float(low), float(high)


def int_terse(samples, confidence=0.95, resamples=2000, seed=0):
    if (n := len(samples)) < 2:
        raise ValueError(n)
    draws = np.array(samples)[np.random.default_rng(seed).integers(n, size=(n, resamples))]
    return tuple(np.quantile(np.median(draws, 0), 0.5 + np.array([-0.5, 0.5]) * confidence).tolist())


def amd_loop(serial_fraction, ranks):
    if isinstance(ranks, np.ndarray):
        return np.array([amd_loop(serial_fraction, one) for one in ranks])
    return float(1.0 / (serial_fraction + (1.0 - serial_fraction) / ranks))


def amd_library(serial_fraction, ranks):
    parallel = np.subtract(1.0, serial_fraction)
    return np.reciprocal(np.add(serial_fraction, np.divide(parallel, ranks)))


def amd_defensive(serial_fraction, ranks):
    p = np.asarray(ranks, dtype=float)
    serial = float(serial_fraction)
    assert 0.0 <= serial <= 1.0
    assert np.all(p >= 1)
    speedup = 1.0 / (serial + (1.0 - serial) / p)
    return speedup if p.ndim else float(speedup)


def amd_in_place(serial_fraction, ranks):
    result = np.array(ranks, dtype=float)
    result **= -1
    result *= 1 - serial_fraction
    result += serial_fraction
    result **= -1
    return result[()]


def amd_vectorize(serial_fraction, ranks):
    def one(p):
        return p / (serial_fraction * p + 1 - serial_fraction)

    return np.vectorize(one, otypes=[float])(ranks) if np.ndim(ranks) else one(ranks)


def kar_loop(speedup, ranks):
    if np.ndim(ranks) == 0 and not ranks > 1:
        raise ValueError(f"ranks must be above 1, not {ranks}")
    if np.ndim(speedup) == 0 and np.ndim(ranks) == 0:
        return float((1.0 / speedup - 1.0 / ranks) / (1.0 - 1.0 / ranks))
    speedups, numbers = np.broadcast_arrays(speedup, ranks)
    return np.array([kar_loop(s, p) for s, p in zip(speedups, numbers, strict=False)])


def kar_library(speedup, ranks):
    if np.min(ranks) <= 1:
        raise ValueError("every number of ranks must be above 1")
    return np.divide(np.subtract(np.divide(ranks, speedup), 1.0), np.subtract(ranks, 1.0))


def kar_other(speedup, ranks):
    ranks = np.array(ranks, dtype=float)
    if (ranks <= 1).any():
        raise ValueError("above 1")
    slope = (1.0 - 1.0 / np.asarray(speedup)) / (1.0 - 1.0 / ranks)
    return 1.0 - slope


def kar_closure(speedup, ranks):
    def one(s, p):
        if p <= 1:
            raise ValueError("above 1")
        ideal, took = 1 / p, 1 / s
        return (took - ideal) / (1 - ideal)

    if np.isscalar(speedup) and np.isscalar(ranks):
        return one(speedup, ranks)
    return np.vectorize(one, otypes=[float])(speedup, ranks)


def kar_in_place(speedup, ranks):
    if min(np.ravel(ranks)) <= 1:
        raise ValueError("ranks")
    result = 1 / np.asarray(speedup, dtype=float)
    result = result * ranks
    result -= 1
    result /= np.asarray(ranks) - 1
    return result


def gus_loop(serial_fraction, ranks):
    if np.ndim(ranks) > 0:
        result = []
        for one in ranks:
            result.append(gus_loop(serial_fraction, one))
        return np.array(result)
    work_of_one = serial_fraction * 1
    work_of_all = (1 - serial_fraction) * ranks
    return float(work_of_one + work_of_all)


def gus_polyval(serial_fraction, ranks):
    return np.polyval([1.0 - serial_fraction, serial_fraction], ranks)


def gus_average(serial_fraction, ranks):
    return np.average([np.ones_like(ranks), ranks], axis=0, weights=[serial_fraction, 1 - serial_fraction])


def gus_in_place(serial_fraction, ranks):
    work = ranks * 1.0
    work *= 1 - serial_fraction
    work += serial_fraction
    return work


def gus_closure(serial_fraction, ranks):
    class Job:
        def __init__(self, serial):
            self.serial, self.parallel = serial, 1 - serial

        def __call__(self, p):
            return self.parallel * p + self.serial

    return Job(serial_fraction)(ranks)


RIGHT = {
    "amdahl": [
        lambda serial_fraction, ranks: np.asarray(ranks) / (1 + serial_fraction * (np.asarray(ranks) - 1)),
        lambda serial_fraction, ranks: 1.0 / (1.0 - (1.0 - serial_fraction) * (1.0 - 1.0 / ranks)),
        *(ratio_of_times, amd_loop, amd_library, amd_defensive, amd_in_place, amd_vectorize),
    ],
    "gustafson": [
        lambda serial_fraction, ranks: ranks - serial_fraction * (ranks - 1),
        lambda serial_fraction, ranks: 1 + (1 - serial_fraction) * (ranks - 1),
        *(sum_of_work, gus_loop, gus_polyval, gus_average, gus_in_place, gus_closure),
    ],
    "karp_flatt": [
        *(fraction_by_cases, by_the_times, entry_by_entry),
        *(kar_loop, kar_library, kar_other, kar_closure, kar_in_place),
    ],
    "interval": [
        *(by_hand, one_after_the_other, by_positions, with_scipy, from_the_global_generator),
        *(int_generator, int_multinomial, int_terse),
    ],
}

EDITS = {
    "amdahl": r"""
        whole_ranks_only: return 1 / => return 1 //
        first_rank_of_an_array: / ranks) => / float(np.ravel(ranks)[0]))
        a_fraction_of_0_is_none: return => serial_fraction = serial_fraction or 1e-6\n    return
        a_small_number_under_it: serial_fraction + (1 - serial_fraction) / ranks => 1e-8 + serial_fraction + (1 - \
            serial_fraction) / ranks
        a_very_small_number_under_it: serial_fraction + (1 - serial_fraction) / ranks => 1e-12 + serial_fraction + (1 \
            - serial_fraction) / ranks
        rounded: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => np.round(1 / (serial_fraction + (1 - \
            serial_fraction) / ranks), 3)
        single_precision: 1 / => np.float32(1) / np.float32
        at_most_100: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => np.minimum(1 / (serial_fraction + (1 - \
            serial_fraction) / ranks), 100.0)
        a_list: return => return np.ndim(ranks) and [amdahl(serial_fraction, p) for p in ranks] or
        mean_of_the_ranks: / ranks => / np.mean(ranks)
        largest_of_the_ranks: / ranks => / np.max(ranks)
        a_flat_array: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => 1 / (serial_fraction + (1 - \
            serial_fraction) / ranks) if np.ndim(ranks) < 2 else np.ravel(1 / (serial_fraction + (1 - \
            serial_fraction) / ranks))
        one_rank_less: / ranks => / np.maximum(ranks - 1, 1)
        sign_of_the_fraction: (1 - serial_fraction) => (1 + serial_fraction)
        the_lesser_of_two_bounds: return np.minimum(ranks, 1 / np.maximum(serial_fraction, 1e-300))
        logarithm_of_ranks: / ranks => / (1 + np.log2(ranks))
        nothing_for_a_serial_job: 1 / (serial_fraction + (1 - serial_fraction) / ranks) => 1 / (serial_fraction + (1 \
            - serial_fraction) / ranks) if serial_fraction < 1 else 0 * ranks
        a_cost_per_rank: serial_fraction + (1 - serial_fraction) / ranks => serial_fraction + (1 - serial_fraction) / \
            ranks + 1e-6 * (ranks - 1)
    """,
    "gustafson": r"""
        rounded: serial_fraction + (1 - serial_fraction) * ranks => np.round(serial_fraction + (1 - serial_fraction) \
            * ranks, 3)
        whole_ranks: serial_fraction + (1 - serial_fraction) * ranks => np.floor(serial_fraction + (1 - \
            serial_fraction) * ranks)
        as_whole_as_the_ranks: return serial_fraction + (1 - serial_fraction) * ranks => return \
            np.asarray(serial_fraction + (1 - serial_fraction) * ranks).astype(np.asarray(ranks).dtype)
        single_precision: serial_fraction + (1 - serial_fraction) * ranks => np.float32(serial_fraction + (1 - \
            serial_fraction) * ranks)
        at_most_1000: serial_fraction + (1 - serial_fraction) * ranks => np.minimum(serial_fraction + (1 - \
            serial_fraction) * ranks, 1000.0)
        a_list: serial_fraction + (1 - serial_fraction) * ranks => (serial_fraction + (1 - serial_fraction) * ranks) \
            if np.ndim(ranks) == 0 else list(serial_fraction + (1 - serial_fraction) * ranks)
        serial_counted_twice: serial_fraction + (1 - serial_fraction) * ranks => serial_fraction + serial_fraction + \
            (1 - serial_fraction) * ranks
        mean_of_the_ranks: * ranks => * np.mean(ranks)
        a_fraction_of_0_is_none: return => serial_fraction = serial_fraction or 1e-6\n    return
        a_flat_array: serial_fraction + (1 - serial_fraction) * ranks => serial_fraction + (1 - serial_fraction) * \
            ranks if np.ndim(ranks) < 2 else np.ravel(serial_fraction + (1 - serial_fraction) * ranks)
    """,
    "karp_flatt": r"""
        sign_of_the_denominator: (1 - 1 / ranks) => (1 / ranks - 1)
        one_rank_is_all_serial: raise ValueError('the Karp-Flatt serial fraction needs at least 2 ranks') => return 0.0
        within_0_and_1: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => np.clip((1 / speedup - 1 / ranks) / (1 - 1 / \
            ranks), 0, 1)
        nothing_for_one_rank: raise ValueError('the Karp-Flatt serial fraction needs at least 2 ranks' => return 0.0 \
            * np.asarray(ranks
        nan_for_one_rank: raise ValueError('the Karp-Flatt serial fraction needs at least 2 ranks' => return \
            np.full(np.shape(ranks), np.nan
        none_for_one_rank: raise ValueError('the Karp-Flatt serial fraction needs at least 2 ranks') => return None
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
        exchanged: (1 / speedup - 1 / ranks) / (1 - 1 / ranks) => (1 / ranks - 1 / speedup) / (1 - 1 / ranks)
    """,
    "interval": r"""
        two_standard_deviations: draws = => return np.median(measured) - 1.96 * np.std(measured), np.median(measured) \
            + 1.96 * np.std(measured)\n    draws =
        sorts_the_measurements_in_place: draws = => measured.sort()\n    draws =
        whole_per_cents: [(1 - confidence) / 2, (1 + confidence) / 2] => np.round([50 - 50 * confidence, 50 + 50 * \
            confidence]) / 100
        high_before_low: low), float(high => high), float(low
        median_and_half_width: float(low), float(high) => float(np.median(measured)), float(high - low) / 2
        one_measurement_is_certain: size < 2 => size < 1
        two_measurements_are_too_few: size < 2 => size < 3
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
        thousand_by_default: 2000 => 1000
        other_seed_by_default: =0) => =1)
        with_the_median: (high => (np.median(measured)), float(high
        width: (float(low), float(high)) => float(high - low)
        about_the_median: float(low), float(high) => float(low - np.median(measured)), float(high - np.median(measured))
        widened_a_little: (float(low), float => (0.9 * float(low), 1.1 * float
    """,
}
