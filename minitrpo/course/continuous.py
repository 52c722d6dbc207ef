"""Lecture 12: continuous training leaves a table of steps, a row a step and a column a simulator, to be cut up."""

import numpy as np

from minitrpo.policies import Array


def cuts(ended: Array) -> Array:
    """Return the fragments of T steps of N simulators, a row (simulator, first step, step after the last) of each.

    ended (T, N): whether the simulator's episode ended with this step; the next step then belongs to the next episode.
    A fragment is an unbroken run of steps of one episode. Simulator by simulator, each in the order of its steps;
    together they hold every step once. Integers, (number of fragments, 3); without any step (0, 3).
    """
    # 1. a fragment stops behind every end, and behind the last step that there is
    stops = ended.copy()
    stops[-1:] = True
    # 2. simulator by simulator
    simulators, last = np.nonzero(stops.T)
    # 3. it begins where the one before it stopped; the first of a simulator begins at step 0
    first = np.where(np.diff(simulators, prepend=-1) == 0, np.roll(last + 1, 1), 0)
    return np.stack([simulators, first, last + 1], axis=1)
