"""Lecture 07b: right answers in other styles, and wrong ones."""

import functools
import itertools
import operator

import numpy as np


def play_requests_forever(counter, requests, play):
    result = []
    while True:
        n = counter.next()
        if n >= requests:
            return result
        result.append((n, play(n)))


def play_requests_iter(counter, requests, play):
    def draw():
        number = counter.next()
        return number if number < requests else None

    return [(number, play(number)) for number in iter(draw, None)]


def play_requests_for(counter, requests, play):
    pairs = []
    for _ in range(requests):
        number = counter.next()
        if not number < requests:
            break
        pairs.append([number, play(number)])
    return tuple(pairs)


def play_requests_takewhile(counter, requests, play):
    draws = (counter.next() for _ in itertools.count())
    return [(n, play(n)) for n in itertools.takewhile(lambda n: n < requests, draws)]


def gather_in_order_sorted(comm, played):
    everything = comm.gather(played, root=0)
    if comm.rank != 0:
        return None
    pairs = functools.reduce(operator.add, everything)
    return [episode for number, episode in sorted(pairs, key=lambda pair: pair[0])]


def gather_in_order_reduce(comm, played):
    pairs = comm.reduce(list(played))
    return [] if pairs is None else [e for _, e in sorted(pairs, key=operator.itemgetter(0))]


def gather_in_order_allgather(comm, played):
    parts = comm.allgather(played)
    order = sorted(itertools.chain(*parts), key=operator.itemgetter(0))
    return [e for _, e in order] if comm.rank == 0 else []


def gather_in_order_messages(comm, played):
    if comm.rank > 0:
        comm.send(played, dest=0)
        return []
    pairs = list(played)
    for rank in range(1, comm.size):
        pairs.extend(comm.recv(source=rank))
    return [episode for _, episode in sorted(pairs, key=lambda pair: pair[0])]


def in_order_two_sorts(numbers, starts):
    by_start = np.argsort(starts, kind="stable")
    return by_start[np.argsort(numbers[by_start], kind="stable")]


def in_order_fields(numbers, starts):
    records = np.empty(len(numbers), dtype=[("number", numbers.dtype), ("start", starts.dtype)])
    records["number"], records["start"] = numbers, starts
    return records.argsort(order=("number", "start"))


RIGHT = {
    "in_order": r"""
        plain: return np.array(sorted(range(len(numbers)), key=lambda i: (numbers[i], starts[i])), dtype=int)
        defensive: return np.lexsort(np.stack([np.asarray(starts), np.asarray(numbers)])).astype(np.int64)
        complex_numbers: return np.argsort(numbers + 1j * starts)
        packed: return np.argsort(np.unique(numbers, return_inverse=True)[1] * len(starts) \
            + np.unique(starts, return_inverse=True)[1], kind="stable")
    """
}

WRONG = {
    "play_requests": r"""
        skips_number_0: while number < requests => number = number or counter.next()\n    while number < requests
        one_less: number < requests => number < requests - 1
        counts_its_episodes: while number < requests => while len(played) < requests
        every_other: number = counter.next()\n    return => number = counter.next() and counter.next()\n    return
        one_dict: return {n: play(n) for n in iter(counter.next, requests)}
        nothing: return played => return None
        a_generator: return ((n, play(n)) for n in iter(counter.next, requests))
        its_place_as_the_number: played.append((number, play(number))) => played.append((len(played), play(number)))
        stops_at_an_empty_episode: played.append((number, play(number))) => \
            played.append((number, play(number)))\n        if not played[-1][1]:\n            break
        batches_of_two: played.append((number, play(number))) => played += [(n, play(n)) \
            for n in (number, counter.next()) if n < requests]
        numbers_alone: played.append((number, play(number))) => play(number)\n        played.append(number)
        plays_twice: played.append((number, play(number))) => play(number)\n        played.append((number, \
            play(number)))
    """,
    "gather_in_order": r"""
        a_dict: return [pair[1] for pair in pairs] => return dict(pairs)
        sorted_by_episode: key=lambda pair: pair[0] => key=lambda pair: str(pair[1])
        without_the_last: for part in parts => for part in parts[:-1] or parts
        a_list_of_lists: return [pair[1] for pair in pairs] => return [[e for _, e in part] for part in parts]
        two_ranks_only: for part in parts => for part in parts[:2]
        sends_without_receiving: parts = comm.gather(played) => parts = [played] if comm.rank else \
            [comm.recv(source=r) for r in range(1, comm.size)] + [played]
        round_robin: pairs.sort(key=lambda pair: pair[0]) => pairs = [part[i] for i in range(max(map(len, parts))) \
            for part in parts if i < len(part)]
        without_repeated_gather: parts = comm.gather(played) => if comm.rank == 0:\n        comm.barrier()\n    $
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
    "in_order": r"""
        numbers_in_half_precision: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.float32)))
        numbers_as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(float)))
        starts_as_floats: np.lexsort((starts, numbers)) => np.lexsort((starts.astype(float), numbers))
        numbers_of_32_bits: np.lexsort((starts, numbers)) => np.lexsort((starts, numbers.astype(np.int32)))
    """
}

EQUAL = {
    "gather_in_order": r"""
        no_rank_is_below_0: != 0 => > 0
    """
}
