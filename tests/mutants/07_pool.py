"""Wrong answers to the exercises of lecture 07, and right ones written in another style."""

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


RIGHT = {
    "requests_for": nearest,
    "concurrency": by_trial,
    "in_order": lambda numbers, starts: sorted(range(len(numbers)), key=lambda i: (numbers[i], starts[i])),
}
