"""Lecture 11b: the cliff (Sutton & Barto, example 6.6), learning on it, and the way of the largest Q.

A place is 12 y + x on a grid of 12 x 4; from the lower left to the lower right corner every step costs 1. Between the
two the lower edge is a cliff: who steps there pays 100 and is back at the start. Actions: up, right, down, left.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.policies import Array

START, GOAL, PLACES, ACTIONS = 0, 11, 48, 4
LONGEST = 40  # places of a way
SHARE = 0.2  # of the way to y that Q moves

Targets = Callable[[Array, bool, Array, int], Array]


def move(place: int, action: int) -> tuple[int, float, bool]:
    """Return the next place, the reward, and whether the goal is reached."""
    x = min(max(place % 12 + (0, 1, 0, -1)[action], 0), 11)
    y = min(max(place // 12 + (1, 0, -1, 0)[action], 0), 3)
    if y == 0 and 0 < x < 11:
        return START, -100.0, False
    return 12 * y + x, -1.0, 12 * y + x == GOAL


def way_of(q: Array) -> Array:
    """Return the places on the way of the largest Q (48, 4), at most 40 of them: the last is the goal, or none is."""
    way = [START]
    while way[-1] != GOAL and len(way) < LONGEST:
        way.append(move(way[-1], int(q[way[-1]].argmax()))[0])
    return np.array(way)


def walk_the_cliff(targets: Targets, seed: int, steps: int, epsilon: float = 0.1, n: int = 1) -> tuple[Array, Array]:
    """Learn Q from n steps at a time, epsilon-greedily; return the table (48, 4) and the returns of all episodes.

    targets(rewards of the steps, over, Q(s', .), a') -> y of each step, where s' is behind the last of them and a' what
    is done there next. Q moves a fifth of the way to y.
    """
    rng, q, returns, total = np.random.default_rng(seed), np.zeros((PLACES, ACTIONS)), [], 0.0

    def choose(place: int) -> int:  # tiny random numbers decide between equal Q
        anything = rng.random() < epsilon
        return int(rng.random() * ACTIONS) if anything else int(np.argmax(q[place] + 1e-9 * rng.random(ACTIONS)))

    place, action = START, 0
    while steps > 0:
        fragment: list[tuple[int, int, float]] = []
        over = False
        while len(fragment) < n and not over:
            after, reward, over = move(place, action)
            then = choose(after)
            fragment.append((place, action, reward))
            place, action = (START, choose(START)) if over else (after, then)
        places, actions, rewards = map(np.array, zip(*fragment, strict=True))
        for at, y in zip(zip(places, actions, strict=True), targets(rewards, over, q[after], then), strict=True):
            q[at] += SHARE * (y - q[at])
        steps, total = steps - len(rewards), total + rewards.sum()
        if over:
            returns.append(total)
            total = 0.0
    return q, np.array(returns)
