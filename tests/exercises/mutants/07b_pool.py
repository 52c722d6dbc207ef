"""Lecture 07b: right answers in other styles, and wrong ones."""

import bisect
import functools
import heapq
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


def play_requests_walrus(counter, requests, play):
    mine = []
    while (n := counter.next()) < requests:
        episode = play(n)
        mine += [(n, episode)]
    return mine


def play_requests_iter(counter, requests, play):
    def draw():
        number = counter.next()
        return number if number < requests else None

    return [(number, play(number)) for number in iter(draw, None)]


def play_requests_generator(counter, requests, play):
    def mine():
        for number in iter(counter.next, -1):
            if number >= requests:
                return
            yield number, play(number)

    return list(mine())


def play_requests_recursive(counter, requests, play):
    number = counter.next()
    if number >= requests:
        return []
    here = (number, play(number))
    return [here, *play_requests_recursive(counter, requests, play)]


def play_requests_dict(counter, requests, play):
    episodes = {}
    number = counter.next()
    while number in range(requests):
        episodes[number] = play(number)
        number = counter.next()
    return list(episodes.items())


def play_requests_for(counter, requests, play):
    pairs = []
    for _ in range(requests):
        number = counter.next()
        if not number < requests:
            break
        pairs.append([number, play(number)])
    return tuple(pairs)


def play_requests_zip(counter, requests, play):
    numbers, episodes = [], []
    left = True
    while left:
        number = counter.next()
        left = number < requests
        if left:
            numbers.append(number)
            episodes.append(play(number))
    return list(zip(numbers, episodes, strict=True))


def play_requests_takewhile(counter, requests, play):
    draws = (counter.next() for _ in itertools.count())
    return [(n, play(n)) for n in itertools.takewhile(lambda n: n < requests, draws)]


def gather_in_order_sorted(comm, played):
    everything = comm.gather(played, root=0)
    if comm.rank != 0:
        return None
    pairs = functools.reduce(operator.add, everything)
    return [episode for number, episode in sorted(pairs, key=lambda pair: pair[0])]


def gather_in_order_dict(comm, played):
    parts = comm.gather(dict(played))
    if comm.Get_rank() != 0:
        return None
    episodes = {}
    for part in parts:
        episodes.update(part)
    return [episodes[number] for number in sorted(episodes)]


def gather_in_order_places(comm, played):
    parts = comm.gather(played)
    if comm.rank:
        return []
    result = [None] * sum(len(part) for part in parts)
    for part in parts:
        for number, episode in part:
            result[number] = episode
    return result


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


def gather_in_order_heap(comm, played):
    parts = comm.gather(sorted(played, key=lambda pair: pair[0]))
    if comm.rank != 0:
        return []
    return [episode for _, episode in heapq.merge(*parts, key=lambda pair: pair[0])]


def gather_in_order_argsort(comm, played):
    numbers, episodes = comm.gather([n for n, _ in played]), comm.gather([e for _, e in played])
    comm.barrier()
    if numbers is None:
        return []
    order = np.argsort(np.concatenate(numbers))
    together = [e for part in episodes for e in part]
    return [together[i] for i in order]


def gather_in_order_insertion(comm, played):
    result, keys = [], []
    for part in comm.gather(played) or []:
        for number, episode in part:
            place = bisect.bisect(keys, number)
            keys.insert(place, number)
            result.insert(place, episode)
    return result


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

    rows = sorted(zip(numbers.tolist(), starts.tolist(), itertools.count()), key=functools.cmp_to_key(compare))
    return np.array([row[2] for row in rows]).astype(int)


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
        numbers_alone: return [pair[1] for => return [pair[0] for
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
