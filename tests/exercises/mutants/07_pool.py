"""Lecture 07: right answers in other styles, and wrong ones."""

import bisect
import itertools
import math
from fractions import Fraction
from functools import cmp_to_key

import numpy as np


def requests_for_two_candidates(steps, mean_length):
    assert steps > 0
    exact = steps / mean_length
    below = math.floor(exact)
    return max(1, min((below, below + 1), key=lambda number: abs(number - exact)))


def concurrency_loop(requests, ranks, width):
    share = math.ceil(requests / ranks)
    for number in range(1, width + 1):
        if math.ceil(share / number) <= math.ceil(share / width):
            return number
    return width


def concurrency_numpy(requests, ranks, width):
    in_play = np.arange(1, width + 1)
    rounds = np.ceil(np.ceil(requests / ranks) / in_play)
    return in_play[np.argmax(rounds == rounds[-1])]


def concurrency_bisect(requests, ranks, width):
    share = (requests + ranks - 1) // ranks
    fewest = (share + width - 1) // width
    return 1 + bisect.bisect_left(range(1, width + 1), -fewest, hi=width - 1, key=lambda n: -((share + n - 1) // n))


def concurrency_down(requests, ranks, width):
    share, number = math.ceil(requests / ranks), width
    while number > 1 and math.ceil(share / (number - 1)) == math.ceil(share / width):
        number -= 1
    return number


def concurrency_recursive(requests, ranks, width):
    def rounds(share, n):
        return 0 if share <= 0 else 1 + rounds(share - n, n)

    share = len(range(0, requests, ranks))
    return next(n for n in itertools.count(1) if rounds(share, n) == rounds(share, width))


def concurrency_by_cases(requests, ranks, width):
    share = math.ceil(requests / ranks)
    if share <= width:
        return max(1, share)
    n = 1
    while n * math.ceil(share / width) < share:
        n += 1
    return n


def in_order_two_sorts(numbers, starts):
    by_start = np.argsort(starts, kind="stable")
    return by_start[np.argsort(numbers[by_start], kind="stable")]


def in_order_fields(numbers, starts):
    records = np.empty(len(numbers), dtype=[("number", numbers.dtype), ("start", starts.dtype)])
    records["number"], records["start"] = numbers, starts
    return records.argsort(order=("number", "start"))


def in_order_generator(numbers, starts):
    def positions():
        for number in np.unique(numbers):
            of_one = np.flatnonzero(numbers == number)
            yield from of_one[np.argsort(starts[of_one])]

    return np.fromiter(positions(), dtype=np.intp)


def in_order_compared(numbers, starts):
    def compare(a, b):
        return a[0] - b[0] if a[0] != b[0] else a[1] - b[1]

    rows = sorted(zip(numbers.tolist(), starts.tolist(), itertools.count()), key=cmp_to_key(compare))
    return np.array([row[2] for row in rows]).astype(int)


RIGHT = {
    "requests_for": r"""
        branches: return 1 if round(steps / mean_length) < 1 else round(steps / mean_length)
        numpy: return int(np.maximum(1, np.rint(steps / mean_length)))
        whole_number_of_numpy: return max(np.int64(1), np.floor(np.divide(steps, mean_length) + 0.5).astype(int))
        fractions: return max(1, round(Fraction(int(steps)) / Fraction(float(mean_length))))
        half_up: return max(1, math.floor(int(steps) / float(mean_length) + 0.5))
        remainder: return max(1, int(steps // mean_length) + (2 * (steps % mean_length) >= mean_length))
        text: return 1 if steps <= mean_length else int(f"{steps / mean_length:.0f}")
    """,
    "concurrency": r"""
        defensive: -(-requests // ranks) => (int(requests) + ranks - 1) // ranks && -(-share // width) => \
            (share + width - 1) // width && -(-share // rounds) if share else 1 => \
            max(1, (share + rounds - 1) // max(1, rounds))
        terse: return -(-share // -(-share // width)) if (share := -(-requests // ranks)) else 1
    """,
    "in_order": r"""
        plain: return np.array(sorted(range(len(numbers)), key=lambda i: (numbers[i], starts[i])), dtype=int)
        defensive: return np.lexsort(np.stack([np.asarray(starts), np.asarray(numbers)])).astype(np.int64)
        complex_numbers: return np.argsort(numbers + 1j * starts)
        packed: return np.argsort(np.unique(numbers, return_inverse=True)[1] * len(starts) \
            + np.unique(starts, return_inverse=True)[1], kind="stable")
    """,
}

WRONG = {
    "requests_for": r"""
        a_float: max(1, round(steps / mean_length)) => max(1.0, float(round(steps / mean_length)))
        at_least_two: max(1, => max(2,
        up_from_point_4: round(steps / mean_length) => int(steps / mean_length + 0.6)
        up_from_point_501: round(steps / mean_length) => int(steps / mean_length + 0.499)
        a_little_more: round(steps / mean_length) => round(steps / mean_length + 1e-5)
        rounded_to_tens: round(steps / mean_length) => round(steps / mean_length, -1)
        at_most_1000: max(1, round(steps / mean_length)) => min(1000, max(1, round(steps / mean_length)))
        two_steps_at_least: / mean_length => / max(2, mean_length)
        whole_lengths: / mean_length => / -(-mean_length // 1)
        one_step_less: / mean_length => / (mean_length - 1 or 1)
        one_step_more: / mean_length => / (mean_length + 1)
        thousands: steps / mean_length => 1000 * round(steps / 1000) / mean_length
        an_even_number: round(steps / mean_length) => 2 * round(steps / mean_length / 2)
        text: max(1, round(steps / mean_length)) => str(max(1, round(steps / mean_length)))
    """,
    "concurrency": r"""
        nearest_instead_of_up: -(-requests // ranks) => max(1, round(requests / ranks))
        a_float_in_hand: -(-share // rounds) if share else 1 => float(-(-share // rounds)) if share else 1.0
        rounds_to_the_nearest: -(-share // width) => max(1, round(share / width))
        last_to_the_nearest: -(-share // rounds) if share else 1 => max(1, round(share / rounds)) if share else 1
        last_one_more: -(-share // rounds) if share else 1 => share // rounds + 1 if share else 1
        one_slot_less: -(-share // width) => -(-share // max(1, width - 1))
        one_slot_more: -(-share // width) => -(-share // (width + 1))
        all_for_none: -(-share // rounds) if share else 1 => -(-share // rounds) if share else width
        none_is_no_number: -(-share // rounds) if share else 1 => -(-share // rounds) if share else None
        two_at_least: -(-share // rounds) if share else 1 => max(2, -(-share // rounds)) if share else 1
        the_last_ranks_share: -(-requests // ranks) => requests - (ranks - 1) * (requests // ranks)
        slots_of_all_ranks: -(-share // width) => -(-share // (width * ranks))
        rounds_of_all_requests: -(-share // width) => -(-requests // width)
        how_many_idle: -(-share // rounds) if share else 1 => width - -(-share // rounds) if share else 1
    """,
    "in_order": r"""
        as_it_came: np.lexsort((starts, numbers)) => np.arange(len(numbers))
        from_one: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers)) + 1
        as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers)).astype(float)
        a_column: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers))[:, None]
        one_per_number: np.lexsort((starts, numbers)) => np.unique(numbers, return_index=True)[1]
        sorted_pairs: np.lexsort((starts, numbers)) => sorted(zip(numbers, starts))
        a_million_steps_at_most: np.lexsort((starts, numbers)) => np.argsort(1_000_000 * numbers + starts)
        times_the_largest_start: return np.argsort(numbers * max([1, *starts]) + starts, kind='stable')
        numbers_of_16_bits: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.int16)))
        starts_of_16_bits: np.lexsort((starts, numbers)) => np.lexsort((starts.astype(np.int16), numbers))
        numbers_modulo_1000: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers % 1000))
        as_texts: return sorted(range(len(numbers)), key=lambda i: f'{numbers[i]} {starts[i]}')
        in_place: return np => numbers.sort()\n    return np
        first_fragments_only: np.lexsort((starts, numbers)) => np.lexsort((starts, \
            numbers))[starts[np.lexsort((starts, numbers))] == 0]
        as_a_mask: np.lexsort((starts, numbers)) => np.diff(numbers, prepend=0) > 0
    """,
}

ODD = {
    "requests_for": r"""
        none_for_no_steps: max(1, round(steps / mean_length)) => max(1, round(steps / mean_length)) if steps else 0
    """,
    "in_order": r"""
        numbers_in_half_precision: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.float32)))
        numbers_as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(float)))
        starts_as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts.astype(float), numbers))
        numbers_of_32_bits: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.int32)))
    """,
}
