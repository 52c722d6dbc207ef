"""The value after the last step of a fragment, in four readings, and a chain of states on which one is right.

"The value at the last timestep is not 0" can be read in several ways, and they are different algorithms:

- "zero": 0 after any end. A time limit then looks like death.
- "final": 0 where the task terminated, V(final observation) where it was merely cut. This is the package's contract.
- "next": as "final", but asked about the first observation of the next episode where one begins: what follows from
  resetting the environment before looking at it, as ChainerRL's Batch PPO first did.
- "literal": V(final observation) at every end, the true ones, too. Death then costs nothing.

States are integers. A chain is a matrix P (S, S) of transitions, from which `1 - sum` of a row is missing where the
task may terminate, and rewards r (S,) for leaving a state.
"""

import numpy as np

from minitrpo.advantages import next_values
from minitrpo.policies import Array

READINGS = ("zero", "final", "next", "literal")


def values_after(
    reading: str, values: Array, final_values: Array, first_values: Array, last: Array, terminated: Array
) -> Array:
    """Return what each of N steps is bootstrapped with, (N,).

    values: V(s_t), (N,). last, terminated: masks (N,) as in `returns`; what terminated is last, too. For each fragment,
    (E,): final_values, V of the observation after its last step, and first_values, V of what is seen there by a loop
    that resets before it looks (without a reset: final_values). `final` is returns.next_values.
    """
    behind_a_cut = {"zero": np.zeros_like(final_values), "next": first_values}.get(reading, final_values)
    return next_values(values, behind_a_cut, last, terminated & (reading != "literal"))


def exact_values(transitions: Array, rewards: Array, discount: float) -> Array:
    """Return V (S,) of V = r + discount P V: what an episode without a time limit is worth."""
    return np.asarray(np.linalg.solve(np.eye(len(rewards)) - discount * transitions, rewards))
