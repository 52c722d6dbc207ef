"""Lecture 07: right answers in other styles, and wrong ones, most of them as edits of the package."""

import math

import numpy as np


def by_trial(requests, ranks, width):
    """The smallest number in play that needs no more rounds than all slots would."""
    share = (requests + ranks - 1) // ranks

    def rounds(concurrency):
        return len(range(0, share, concurrency))

    fewest = width
    while fewest > 1 and rounds(fewest - 1) == rounds(width):
        fewest -= 1
    return fewest


def nearest(steps, mean_length):
    return int(np.clip(np.rint(steps / mean_length), 1, None))


def half_up(steps, mean_length):
    return int(steps / mean_length + 0.5) or 1


def between_two(steps, mean_length):
    low = int(steps // mean_length)
    return np.int64(max(1, low + (steps - low * mean_length > 0.5 * mean_length)))


def as_whole_numbers_of_all_ranks(requests, ranks, width):
    rounds = math.ceil(requests / (ranks * width))
    return math.ceil(requests / (ranks * rounds)) if requests else 1


def in_numpy(requests, ranks, width):
    share = np.ceil(requests / ranks)
    return max(1, int(np.ceil(share / max(1, np.ceil(share / width)))))


def sorted_twice(numbers, starts):
    by_start = np.argsort(starts, kind="stable")
    return by_start[np.argsort(numbers[by_start], kind="stable")]


def as_records(numbers, starts):
    return np.argsort(np.rec.fromarrays([numbers, starts], names="number,start"), order=("number", "start"))


def of_triples(numbers, starts):
    return [i for _, _, i in sorted(zip(numbers.tolist(), starts.tolist(), range(len(starts)), strict=True))]


RIGHT = {
    "requests_for": [nearest, half_up, between_two],
    "concurrency": [by_trial, as_whole_numbers_of_all_ranks, in_numpy],
    "in_order": [
        lambda numbers, starts: sorted(range(len(numbers)), key=lambda i: (numbers[i], starts[i])),
        sorted_twice,
        as_records,
        of_triples,
    ],
}

EDITS = {
    "requests_for": r"""
        division_of_python_2: max(1, round(steps / mean_length)) => int(steps // mean_length)
        one_more_to_be_safe: max(1, round(steps / mean_length)) => int(steps // mean_length) + 1
        a_float: max(1, round(steps / mean_length)) => max(1.0, float(round(steps / mean_length)))
        at_least_two: max(1, => max(2,
        up_from_point_4: round(steps / mean_length) => int(steps / mean_length + 0.6)
        up_from_point_501: round(steps / mean_length) => int(steps / mean_length + 0.499)
        a_little_more: round(steps / mean_length) => round(steps / mean_length + 1e-5)
        as_a_float: max(1, round(steps / mean_length)) => float(max(1, round(steps / mean_length)))
        rounded_to_tens: round(steps / mean_length) => round(steps / mean_length, -1)
        rounded_to_tenths: round(steps / mean_length) => round(steps / mean_length, 1)
        at_most_1000: max(1, round(steps / mean_length)) => min(1000, max(1, round(steps / mean_length)))
        two_steps_at_least: / mean_length => / max(2, mean_length)
        whole_lengths: / mean_length => / -(-mean_length // 1)
        one_step_less: / mean_length => / (mean_length - 1 or 1)
        one_step_more: / mean_length => / (mean_length + 1)
        none_for_no_steps: max(1, round(steps / mean_length)) => max(1, round(steps / mean_length)) if steps else 0
        thousands: steps / mean_length => 1000 * round(steps / 1000) / mean_length
        an_even_number: round(steps / mean_length) => 2 * round(steps / mean_length / 2)
        text: max(1, round(steps / mean_length)) => str(max(1, round(steps / mean_length)))
    """,
    "concurrency": r"""
        one_round_too_many: rounds = -(-share // width) => rounds = share // width + 1
        nearest_instead_of_up: -(-requests // ranks) => max(1, round(requests / ranks))
        a_float_in_hand: -(-share // rounds) if share else 1 => float(-(-share // rounds)) if share else 1.0
        share_to_the_nearest: -(-requests // ranks) => round(requests / ranks)
        rounds_to_the_nearest: -(-share // width) => max(1, round(share / width))
        rounds_one_more: -(-share // width) => share // width + 1
        last_to_the_nearest: -(-share // rounds) if share else 1 => max(1, round(share / rounds)) if share else 1
        last_one_more: -(-share // rounds) if share else 1 => share // rounds + 1 if share else 1
        one_slot_less: -(-share // width) => -(-share // max(1, width - 1))
        one_slot_more: -(-share // width) => -(-share // (width + 1))
        all_for_none: -(-share // rounds) if share else 1 => -(-share // rounds) if share else width
        none_is_no_number: -(-share // rounds) if share else 1 => -(-share // rounds) if share else None
        a_float: -(-share // rounds) if share else 1 => -(-share // rounds) / 1 if share else 1
        two_at_least: -(-share // rounds) if share else 1 => max(2, -(-share // rounds)) if share else 1
        the_last_ranks_share: -(-requests // ranks) => requests - (ranks - 1) * (requests // ranks)
        slots_of_all_ranks: -(-share // width) => -(-share // (width * ranks))
        rounds_of_all_requests: -(-share // width) => -(-requests // width)
        how_many_rounds: -(-share // rounds) if share else 1 => rounds or 1
        how_many_idle: -(-share // rounds) if share else 1 => width - -(-share // rounds) if share else 1
    """,
    "in_order": r"""
        as_it_came: np.lexsort((starts, numbers)) => np.arange(len(numbers))
        from_one: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers)) + 1
        second_sort_not_carried: return np.argsort(numbers[np.argsort(starts, kind="stable")], kind="stable")
        by_start: np.lexsort((starts, numbers)) => np.argsort(starts, kind='stable')
        as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers)).astype(float)
        a_column: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers))[:, None]
        one_per_number: np.lexsort((starts, numbers)) => np.unique(numbers, return_index=True)[1]
        sorted_pairs: np.lexsort((starts, numbers)) => sorted(zip(numbers, starts))
        numbers_in_half_precision: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.float32)))
        numbers_as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(float)))
        starts_as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts.astype(float), numbers))
        a_million_steps_at_most: np.lexsort((starts, numbers)) => np.argsort(1_000_000 * numbers + starts)
        times_the_largest_start: return np.argsort(numbers * max([1, *starts]) + starts, kind='stable')
        numbers_of_16_bits: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.int16)))
        numbers_of_32_bits: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.int32)))
        starts_of_16_bits: np.lexsort((starts, numbers)) => np.lexsort((starts.astype(np.int16), numbers))
        numbers_modulo_1000: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers % 1000))
        as_texts: return sorted(range(len(numbers)), key=lambda i: f'{numbers[i]} {starts[i]}')
        in_place: return np => numbers.sort()\n    return np
        first_fragments_only: np.lexsort((starts, numbers)) => np.lexsort((starts, \
            numbers))[starts[np.lexsort((starts, numbers))] == 0]
        as_a_mask: np.lexsort((starts, numbers)) => np.diff(numbers, prepend=0) > 0
    """,
}
