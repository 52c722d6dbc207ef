"""Fragments made by hand, and a chain of states whose Q* is known: what tests of value-based methods share."""

from dataclasses import fields
from itertools import pairwise

import numpy as np

from minitrpo.experience.rollouts import Fragments, concatenate
from minitrpo.training.collect import in_order, rows_of

STATES, GAMMA = 5, 0.9
PER_STEP = ("observations", "actions", "rewards")  # the fields with a row per step; all others have one per fragment


def fragment(observations, actions, rewards, final, number=0, start=0, terminated=False, truncated=False):
    """Return one fragment from arrays."""
    return Fragments(
        observations=np.asarray(observations, float),
        actions=np.asarray(actions),
        rewards=np.asarray(rewards, float),
        final_observations=np.asarray(final, float)[None],
        numbers=np.array([number]),
        lengths=np.array([len(rewards)]),
        starts=np.array([start]),
        terminated=np.array([terminated]),
        truncated=np.array([truncated]),
        returns=np.array([float(np.sum(rewards))]),
    )


def slices(f):
    """Return the rows of each fragment."""
    return [slice(a, b) for a, b in pairwise([0, *np.cumsum(f.lengths).tolist()])]


def in_turn(f, order=None):
    """Return the same fragments in this order, by default by (number, start)."""
    order = in_order(f.numbers, f.starts) if order is None else order
    rows = rows_of(order, f.lengths)
    return Fragments(**{x.name: getattr(f, x.name)[rows if x.name in PER_STEP else order] for x in fields(f)})


def apart(f):
    """Return every fragment by itself."""
    return [in_turn(f, [i]) for i in range(len(f.lengths))]


def random_fragments(rng, lengths, size=3, actions=4):
    """Return fragments of these lengths with random contents, one in three terminated, one in three truncated."""
    parts = []
    for number, n in enumerate(lengths):
        end = rng.integers(3)
        chosen = rng.integers(actions, size=n) if actions else rng.uniform(-1, 1, (n, 2))
        data = rng.normal(size=(n, size)), chosen, rng.normal(size=n), rng.normal(size=size)
        parts.append(fragment(*data, number=number, terminated=end == 1, truncated=end == 2))
    return concatenate(parts)


def chain_step(state, action):
    """Return (next state, reward, terminated): left or right among 5 states; beyond the right end lies 1."""
    if action == 1 and state == STATES - 1:
        return state, 1.0, True
    return min(max(state + 2 * action - 1, 0), STATES - 1), 0.0, False


def chain_transitions():
    """Return each of the chain's transitions as a fragment of one step, states one-hot."""
    eye, parts = np.eye(STATES), []
    for number, (state, action) in enumerate(np.ndindex(STATES, 2)):
        after, reward, terminated = chain_step(state, action)
        parts.append(fragment(eye[[state]], [action], [reward], eye[after], number=number, terminated=terminated))
    return parts


def chain_q():
    """Return Q* (5, 2) of the chain, by value iteration."""
    q = np.zeros((STATES, 2))
    for _ in range(1000):
        for state, action in np.ndindex(STATES, 2):
            after, reward, terminated = chain_step(state, action)
            q[state, action] = reward + GAMMA * (not terminated) * q[after].max()
    return q


def empty(observation_size, action_size, discrete):
    """Return Fragments without a step, with the dtypes of full ones."""
    integers, none = np.zeros(0, np.int64), np.zeros(0)
    return Fragments(
        observations=np.zeros((0, observation_size)),
        actions=integers if discrete else np.zeros((0, action_size)),
        rewards=none,
        final_observations=np.zeros((0, observation_size)),
        numbers=integers,
        lengths=integers,
        starts=integers,
        terminated=np.zeros(0, bool),
        truncated=np.zeros(0, bool),
        returns=none,
        policy_states=np.zeros((0, 0)),
    )


def own_samples(policy, n=40, seed=0, spread=0.3):
    """Return a theta that is not fresh, n observations, the policy's own actions there, and normal numbers (n,)."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    theta = theta + spread * rng.standard_normal(len(theta))
    observations = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, n))
    return theta, observations, actions, rng.standard_normal(n)
