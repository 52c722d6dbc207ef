"""Wrong answers to the exercises of lecture 07, and right ones written in another style."""

import math

import numpy as np


def floor_and_at_least_one(steps, mean_length):
    """Python 2's division: 1,999 steps of 1,000 make one episode."""
    return max(1, int(steps / mean_length))


def division_of_python_2(steps, mean_length):
    """As in the code of 2016: no episodes at all when one is longer than the batch."""
    return int(steps // mean_length)


def rounded_but_none_at_all(steps, mean_length):
    return round(steps / mean_length)


def enough_for_all_steps(steps, mean_length):
    return int(np.ceil(steps / mean_length))


def one_more_to_be_safe(steps, mean_length):
    return int(steps // mean_length) + 1


def a_float(steps, mean_length):
    return max(1.0, np.round(steps / mean_length))


def rounds_the_length_first(steps, mean_length):
    return max(1, round(steps / round(mean_length)))


def at_least_two(steps, mean_length):
    return max(2, round(steps / mean_length))


def upside_down(steps, mean_length):
    return max(1, round(mean_length / steps))


def takes_all_its_slots(requests, ranks, width):
    return width


def takes_what_there_is(requests, ranks, width):
    """The share of a rank that is alone: the first to come empties the pool."""
    return max(1, min(width, requests))


def its_whole_share(requests, ranks, width):
    return max(1, -(-requests // ranks))


def fills_the_first_round(requests, ranks, width):
    """16 and then 4, for 10 and 10: the last round leaves slots idle while it costs as much."""
    return max(1, min(-(-requests // ranks), width))


def share_rounded_down(requests, ranks, width):
    share = max(1, requests // ranks)
    rounds = -(-share // width)
    return -(-share // rounds)


def rounds_rounded_down(requests, ranks, width):
    share = max(1, -(-requests // ranks))
    rounds = max(1, share // width)
    return min(width, -(-share // rounds))


def last_division_rounded_down(requests, ranks, width):
    share = max(1, -(-requests // ranks))
    return max(1, share // -(-share // width))


def one_round_too_many(requests, ranks, width):
    share = max(1, -(-requests // ranks))
    return -(-share // (share // width + 1))


def nearest_instead_of_up(requests, ranks, width):
    share = max(1, round(requests / ranks))
    rounds = max(1, -(-share // width))
    return -(-share // rounds)


def a_float_in_hand(requests, ranks, width):
    share = np.ceil(requests / ranks)
    rounds = max(1.0, np.ceil(share / width))
    return max(1.0, np.ceil(share / rounds))


def one_at_a_time(requests, ranks, width):
    return 1


def none_when_there_are_none(requests, ranks, width):
    share = -(-requests // ranks)
    rounds = max(1, -(-share // width))
    return -(-share // rounds)


def by_number_alone(numbers, starts):
    return np.argsort(numbers, kind="stable")


def by_start_first(numbers, starts):
    return np.lexsort((numbers, starts))


def as_it_came(numbers, starts):
    return np.arange(len(numbers))


def numbers_not_positions(numbers, starts):
    return np.sort(numbers)


def where_each_goes(numbers, starts):
    return np.argsort(np.lexsort((starts, numbers)))


def descending(numbers, starts):
    return np.lexsort((starts, numbers))[::-1]


def latest_start_first(numbers, starts):
    return np.lexsort((-starts, numbers))


def a_thousand_steps_at_most(numbers, starts):
    return np.argsort(1000 * numbers + starts, kind="stable")


def start_as_a_fraction(numbers, starts):
    """A float has 53 bits, and starts may pass a million."""
    return np.argsort(numbers + 1e-6 * starts, kind="stable")


def number_then_start_unstable(numbers, starts):
    """Sorted twice, in the wrong order of the two."""
    order = np.argsort(numbers, kind="stable")
    return order[np.argsort(starts[order], kind="stable")]


def from_one(numbers, starts):
    return np.lexsort((starts, numbers)) + 1


def second_sort_not_carried(numbers, starts):
    """Positions among the sorted, used as positions among the given."""
    first = np.argsort(starts, kind="stable")
    return np.argsort(numbers[first], kind="stable")


WRONG = {
    "requests_for": [
        floor_and_at_least_one,
        division_of_python_2,
        rounded_but_none_at_all,
        enough_for_all_steps,
        one_more_to_be_safe,
        a_float,
        rounds_the_length_first,
        at_least_two,
        upside_down,
    ],
    "concurrency": [
        takes_all_its_slots,
        takes_what_there_is,
        its_whole_share,
        fills_the_first_round,
        share_rounded_down,
        rounds_rounded_down,
        last_division_rounded_down,
        one_round_too_many,
        nearest_instead_of_up,
        a_float_in_hand,
        one_at_a_time,
        none_when_there_are_none,
    ],
    "in_order": [
        by_number_alone,
        by_start_first,
        as_it_came,
        numbers_not_positions,
        where_each_goes,
        descending,
        latest_start_first,
        a_thousand_steps_at_most,
        start_as_a_fraction,
        number_then_start_unstable,
        from_one,
        second_sort_not_carried,
    ],
}


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

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
ROUND, BOTH = "round(steps / mean_length)", "max(1, round(steps / mean_length))"
SHARE, ROUNDS = "-(-requests // ranks)", "-(-share // width)"
LAST, SORTED = "-(-share // rounds) if share else 1", "np.lexsort((starts, numbers))"
EDITS = {
    "requests_for": {
        "down_to_the_next": (ROUND, "int(steps // mean_length)"),
        "up_to_the_next": (ROUND, "-int(-steps // mean_length)"),
        "up_from_point_4": (ROUND, "int(steps / mean_length + 0.6)"),
        "up_from_point_501": (ROUND, "int(steps / mean_length + 0.499)"),
        "a_little_more": (ROUND, "round(steps / mean_length + 1e-5)"),
        "as_a_float": (BOTH, "float(max(1, round(steps / mean_length)))"),
        "rounded_to_tens": (ROUND, "round(steps / mean_length, -1)"),
        "rounded_to_tenths": (ROUND, "round(steps / mean_length, 1)"),
        "at_most_1000": (BOTH, "min(1000, max(1, round(steps / mean_length)))"),
        "two_steps_at_least": ("/ mean_length", "/ max(2, mean_length)"),
        "whole_lengths": ("/ mean_length", "/ -(-mean_length // 1)"),
        "one_step_less": ("/ mean_length", "/ (mean_length - 1 or 1)"),
        "one_step_more": ("/ mean_length", "/ (mean_length + 1)"),
        "none_for_no_steps": (BOTH, "max(1, round(steps / mean_length)) if steps else 0"),
        "none_below_half_an_episode": (BOTH, ROUND),
        "one_more_for_the_rest": (ROUND, "int(steps // mean_length + (steps % mean_length > 0))"),
        "thousands": ("steps / mean_length", "1000 * round(steps / 1000) / mean_length"),
        "an_even_number": (ROUND, "2 * round(steps / mean_length / 2)"),
        "text": (BOTH, "str(max(1, round(steps / mean_length)))"),
        "max_where_min": (BOTH, "min(1, round(steps / mean_length))"),
    },
    "concurrency": {
        "share_to_the_nearest": (SHARE, "round(requests / ranks)"),
        "share_down": (SHARE, "requests // ranks"),
        "share_one_more": (SHARE, "requests // ranks + 1"),
        "rounds_to_the_nearest": (ROUNDS, "max(1, round(share / width))"),
        "rounds_down": (ROUNDS, "max(1, share // width)"),
        "rounds_one_more": (ROUNDS, "share // width + 1"),
        "last_to_the_nearest": (LAST, "max(1, round(share / rounds)) if share else 1"),
        "last_one_more": (LAST, "share // rounds + 1 if share else 1"),
        "last_down": (LAST, "share // rounds if share else 1"),
        "ranks_forgotten": (SHARE, "requests"),
        "one_round": (ROUNDS, "1"),
        "one_slot_less": (ROUNDS, "-(-share // max(1, width - 1))"),
        "one_slot_more": (ROUNDS, "-(-share // (width + 1))"),
        "as_many_as_fit": (LAST, "min(share, width) if share else 1"),
        "none_for_none": (LAST, "-(-share // rounds) if share else 0"),
        "all_for_none": (LAST, "-(-share // rounds) if share else width"),
        "none_is_no_number": (LAST, "-(-share // rounds) if share else None"),
        "a_float": (LAST, "-(-share // rounds) / 1 if share else 1"),
        "two_at_least": (LAST, "max(2, -(-share // rounds)) if share else 1"),
        "the_last_ranks_share": (SHARE, "requests - (ranks - 1) * (requests // ranks)"),
        "slots_of_all_ranks": (ROUNDS, "-(-share // (width * ranks))"),
        "rounds_of_all_requests": (ROUNDS, "-(-requests // width)"),
        "how_many_rounds": (LAST, "rounds or 1"),
        "how_many_idle": (LAST, "width - -(-share // rounds) if share else 1"),
    },
    "in_order": {
        "by_start": (SORTED, "np.argsort(starts, kind='stable')"),
        "as_floats": (SORTED, f"{SORTED}.astype(float)"),
        "a_column": (SORTED, f"{SORTED}[:, None]"),
        "one_per_number": (SORTED, "np.unique(numbers, return_index=True)[1]"),
        "sorted_pairs": (SORTED, "sorted(zip(numbers, starts))"),
        "numbers_in_half_precision": (SORTED, "np.lexsort((starts, numbers.astype(np.float32)))"),
        "numbers_as_floats": (SORTED, "np.lexsort((starts, numbers.astype(float)))"),
        "starts_as_floats": (SORTED, "np.lexsort((starts.astype(float), numbers))"),
        "a_million_steps_at_most": (SORTED, "np.argsort(1_000_000 * numbers + starts)"),
        "times_the_largest_start": (SORTED, "np.argsort(numbers * max([1, *starts]) + starts, kind='stable')"),
        "numbers_of_16_bits": (SORTED, "np.lexsort((starts, numbers.astype(np.int16)))"),
        "numbers_of_32_bits": (SORTED, "np.lexsort((starts, numbers.astype(np.int32)))"),
        "starts_of_16_bits": (SORTED, "np.lexsort((starts.astype(np.int16), numbers))"),
        "numbers_modulo_1000": (SORTED, "np.lexsort((starts, numbers % 1000))"),
        "as_texts": (SORTED, "sorted(range(len(numbers)), key=lambda i: f'{numbers[i]} {starts[i]}')"),
        "texts_of_numbers": (SORTED, "np.array(sorted(range(len(numbers)), key=lambda i: str(numbers[i])), int)"),
        "in_place": ("return np", "numbers.sort()\n    return np"),
        "where_each_goes": (SORTED, f"np.argsort({SORTED})"),
        "backwards": (SORTED, f"{SORTED}[::-1]"),
        "both_negative": (SORTED, "np.lexsort((-starts, -numbers))[::-1][::-1]"),
        "first_fragments_only": (SORTED, f"{SORTED}[starts[{SORTED}] == 0]"),
        "the_sorted_numbers": (SORTED, f"numbers[{SORTED}]"),
        "as_a_mask": (SORTED, "np.diff(numbers, prepend=0) > 0"),
    },
}
