"""The value after the last step of a fragment, in four readings, and a chain of states on which one is right.

"The value at the last timestep is not 0" can be read in several ways, and they are different algorithms:

- "zero": 0 after any end. A time limit then looks like death.
- "final": 0 where the task terminated, V(final observation) where it was merely cut. The contract of this house.
- "next": as "final", but asked about the first observation of the next episode where one begins: what follows from
  resetting the environment before looking at it, as ChainerRL's Batch PPO first did.
- "literal": V(final observation) at every end, the true ones, too. Death then costs nothing.

States are integers. A chain is a matrix P (S, S) of transitions, from which `1 - sum` of a row is missing where the
task may terminate, and rewards r (S,) for leaving a state.
"""

import numpy as np

from minitrpo.policies import Array

READINGS = ("zero", "final", "next", "literal")


def values_after(
    reading: str, values: Array, final_values: Array, first_values: Array, last: Array, terminated: Array
) -> Array:
    """Return what each of N steps is bootstrapped with, (N,).

    values: V(s_t), (N,). last, terminated: masks (N,) as in `returns`; what terminated is last, too. For each fragment,
    (E,): final_values, V of the observation after its last step, and first_values, V of what is seen there by a loop
    that resets before it looks (where nobody resets: final_values). `final` is returns.next_values.
    """
    # 1. inside a fragment all readings agree: the value of the next step
    after = np.append(values[1:], 0.0)[: len(values)]
    # 2. after its last step they do not
    after[last] = {"zero": np.zeros_like(final_values), "next": first_values}.get(reading, final_values)
    # 3. and what comes after the end of the task
    if reading != "literal":
        after[terminated] = 0.0
    return after


def exact_values(transitions: Array, rewards: Array, discount: float) -> Array:
    """Return V (S,) of V = r + discount P V: what an episode without a time limit is worth."""
    return np.asarray(np.linalg.solve(np.eye(len(rewards)) - discount * transitions, rewards))


def learned_values(
    reading: str, transitions: Array, rewards: Array, discount: float, cut: float, start: Array, end: Array
) -> Array:
    """Return the V (S,) to which TD learning converges under a reading, by one linear system.

    cut: probability that the time limit ends an episode after a step that did not end it. start: distribution (S,) of
    first states. end: row s is the distribution (S,) of the state that a terminated episode is seen in, after s.
    """
    state = np.eye(len(rewards))
    goes_on = transitions.sum(axis=1, keepdims=True)
    # where the value after a step is looked up: V = r + discount (bootstrap V)
    bootstrap = {
        "zero": (1 - cut) * transitions,
        "final": transitions,
        "next": (1 - cut) * transitions + cut * goes_on * start,
        "literal": transitions + (1 - goes_on) * end,
    }[reading]
    return np.asarray(np.linalg.solve(state - discount * bootstrap, rewards))


def temporal_difference(reading: str, steps: dict[str, Array], states: int, discount: float) -> Array:
    """Return the V (S,) at which the mean TD error of every state is 0 on given steps, found by iteration.

    steps: states (N,), rewards (N,), masks last and terminated (N,), and per fragment final_states, first_states (E,).
    """
    values = np.zeros(states)
    visits = np.maximum(np.bincount(steps["states"], minlength=states), 1)
    for _ in range(int(40 / (1 - discount))):  # discount^k < e^-40
        here, final, first = (values[steps[name]] for name in ("states", "final_states", "first_states"))
        after = values_after(reading, here, final, first, steps["last"], steps["terminated"])
        targets = steps["rewards"] + discount * after
        values = np.bincount(steps["states"], weights=targets, minlength=states) / visits
    return values
