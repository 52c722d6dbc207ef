"""Wrong answers to the exercises of lecture 07, and right ones written in another style."""

import os
import random
import time

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


def loses_the_remainder(rank, ranks, num_envs):
    share = num_envs // ranks
    return range(rank * share, (rank + 1) * share)


def the_last_takes_the_remainder(rank, ranks, num_envs):
    share = num_envs // ranks
    return range(rank * share, num_envs if rank == ranks - 1 else (rank + 1) * share)


def blocks_rounded_up(rank, ranks, num_envs):
    """16 slots for 5 ranks in fours: the fifth rank has none."""
    share = -(-num_envs // ranks)
    return range(min(rank * share, num_envs), min((rank + 1) * share, num_envs))


def blocks_past_the_end(rank, ranks, num_envs):
    share = -(-num_envs // ranks)
    return range(rank * share, (rank + 1) * share)


def like_dealing_cards(rank, ranks, num_envs):
    """A fair share, but gathered rank by rank the slots are out of order."""
    return range(rank, num_envs, ranks)


def both_ends_included(rank, ranks, num_envs):
    return range(rank * num_envs // ranks, min((rank + 1) * num_envs // ranks + 1, num_envs))


def counts_from_one(rank, ranks, num_envs):
    return range(rank * num_envs // ranks + 1, (rank + 1) * num_envs // ranks + 1)


def everything_for_everyone(rank, ranks, num_envs):
    """What every rank does that believes to be alone."""
    return range(num_envs)


def how_many_not_which(rank, ranks, num_envs):
    return (rank + 1) * num_envs // ranks - rank * num_envs // ranks


def equal_only_if_it_divides(rank, ranks, num_envs):
    """Rank 0 gets what is left over, all of it."""
    share, rest = divmod(num_envs, ranks)
    first = 0 if rank == 0 else rest + rank * share
    return range(first, rest + (rank + 1) * share)


def rank_zero_last(rank, ranks, num_envs):
    return range((ranks - 1 - rank) * num_envs // ranks, (ranks - rank) * num_envs // ranks)


def just_added_up(seed, iteration, number):
    return seed + iteration + number


def thousands_per_iteration(seed, iteration, number):
    return (seed + 1000 * iteration + number) % 2**31


def digits_run_together(seed, iteration, number):
    """1, 1, 1 and 11, 1, ... look alike."""
    return int(f"{seed}{iteration}{number}") % 2**31


def seed_and_number_alone(seed, iteration, number):
    """Every iteration starts in the same states."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


def the_run_seed(seed, iteration, number):
    """All episodes of a run start alike."""
    return int(np.random.SeedSequence([seed]).generate_state(1)[0] >> 1)


def any_run_alike(seed, iteration, number):
    return int(np.random.SeedSequence([iteration, number]).generate_state(1)[0] >> 1)


def mixed_from_the_sum(seed, iteration, number):
    return int(np.random.SeedSequence(seed + iteration + number).generate_state(1)[0] >> 1)


def mixed_from_the_product(seed, iteration, number):
    return int(np.random.SeedSequence((seed + 1) * (iteration + 1) * (number + 1)).generate_state(1)[0] >> 1)


def next_of_the_global_stream(seed, iteration, number):
    """Who draws first gets the first."""
    return int(np.random.randint(2**31))  # noqa: NPY002


def fresh_entropy(seed, iteration, number):
    return int(np.random.default_rng().integers(2**31))


def python_random(seed, iteration, number):
    return random.randrange(2**31)


def from_the_clock(seed, iteration, number):
    return (int(time.time()) * 31 + seed * 7919 + iteration * 104729 + number * 1299709) % 2**31


def from_the_process(seed, iteration, number):
    key = [seed, iteration, number, os.getpid()]
    return int(np.random.SeedSequence(key).generate_state(1)[0] >> 1)


def from_the_rank(seed, iteration, number):
    rank = int(os.environ.get("PMI_RANK", 0))
    return int(np.random.SeedSequence([seed + 10_000 * rank, iteration, number]).generate_state(1)[0] >> 1)


def salted_hash_of_a_text(seed, iteration, number):
    """Python salts the hash of a text anew in every process."""
    return hash(f"{seed} {iteration} {number}") % 2**31


def sorted_key(seed, iteration, number):
    return int(np.random.SeedSequence(sorted([seed, iteration, number])).generate_state(1)[0] >> 1)


def thirty_two_bits(seed, iteration, number):
    return int(np.random.SeedSequence([seed, iteration, number]).generate_state(1)[0])


def an_unsigned_numpy_integer(seed, iteration, number):
    return np.random.SeedSequence([seed, iteration, number]).generate_state(1)[0] >> 1


def ten_bits(seed, iteration, number):
    return int(np.random.SeedSequence([seed, iteration, number]).generate_state(1)[0]) % 1000


def one_iteration_for_ever():
    """A cache that the first iteration fills."""
    seeds = {}

    def cached_by_number(seed, iteration, number):
        key = (seed, number)
        if key not in seeds:
            seeds[key] = int(np.random.SeedSequence([seed, iteration, number]).generate_state(1)[0] >> 1)
        return seeds[key]

    return cached_by_number


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
    "slots_of": [
        loses_the_remainder,
        the_last_takes_the_remainder,
        blocks_rounded_up,
        blocks_past_the_end,
        like_dealing_cards,
        both_ends_included,
        counts_from_one,
        everything_for_everyone,
        how_many_not_which,
        equal_only_if_it_divides,
        rank_zero_last,
    ],
    "reset_seed": [
        thousands_per_iteration,
        just_added_up,
        digits_run_together,
        seed_and_number_alone,
        the_run_seed,
        any_run_alike,
        mixed_from_the_sum,
        mixed_from_the_product,
        next_of_the_global_stream,
        fresh_entropy,
        python_random,
        from_the_clock,
        from_the_process,
        from_the_rank,
        salted_hash_of_a_text,
        sorted_key,
        thirty_two_bits,
        an_unsigned_numpy_integer,
        ten_bits,
        one_iteration_for_ever(),
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


def larger_shares_first(rank, ranks, num_envs):
    share, rest = divmod(num_envs, ranks)
    first = rank * share + min(rank, rest)
    return list(range(first, first + share + (rank < rest)))


def from_a_generator(seed, iteration, number):
    return int(np.random.default_rng([7, number, iteration, seed]).integers(2**31))


def nearest(steps, mean_length):
    return int(np.clip(np.rint(steps / mean_length), 1, None))


RIGHT = {
    "requests_for": nearest,
    "concurrency": by_trial,
    "slots_of": larger_shares_first,
    "reset_seed": from_a_generator,
    "in_order": lambda numbers, starts: sorted(range(len(numbers)), key=lambda i: (numbers[i], starts[i])),
}
