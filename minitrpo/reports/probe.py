"""What an environment does, seen by playing it: episodes of a run's policy, and the same moments with other actions.

Episodes of one seed repeat themselves. So a moment can be reached again, and something else be done there: what then
differs is what the action did. None of these episodes begins as one in training did.
"""

import time
from dataclasses import dataclass

import numpy as np

from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.randomness import Purpose, evaluation_seed
from minitrpo.experience.repeatability import repeats
from minitrpo.experience.rollouts import ROWS, Fragments, Rollouts, concatenate, make_vector_env
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.policies import Array
from minitrpo.reports.trained import TrainedPolicy

MOMENTS, AHEAD = 12, 5  # how many are reached twice and more; steps that are looked at from there on
SIZES = (0.0, 0.4, 0.8)  # of the actions that are tried there, as a part of their bounds
BEHIND = -1.0  # one more, on the other side
LONGEST = 300  # steps of an episode of random actions


@dataclass(frozen=True)
class Answers:
    """What an environment answers to other actions in the same moment; None: it does not repeat itself."""

    late: int | None  # steps from an action to the first observation that it changes; 0: the next; AHEAD: none; None: ?
    dearer: float  # in which part of the moments a larger action has the larger reward at once; NaN: it has no size
    saturated: float  # in which part two sizes of an action have the same effects, and others have not; NaN: unknown
    deaf: bool  # whether rewards and ends were the same, whatever was done
    ends: float  # steps after which random actions end the task, median; infinite: they do not


@dataclass(frozen=True)
class Played:
    """Episodes that a run's policy played, drawing its actions as in training, and what else was tried."""

    spec: EnvironmentSpec
    fragments: Fragments
    answers: Answers | None
    step_s: float  # seconds of a step of the environment


def play(run: TrainedPolicy, episodes: int, seed: int) -> Played:
    """Return `episodes` episodes of a policy, and what the environment answers; EpisodeFailed if it fails."""
    spec = run.spec
    envs = make_vector_env(spec, min(ROWS, episodes))
    rollouts = Rollouts(spec, run.policy, envs, seed, purpose=Purpose.EVALUATION)
    numbers = iter(range(episodes))
    fragments = rollouts.play(run.theta, run.observation_filter, 0, lambda: next(numbers, None), ROWS)
    envs.close()
    whole = concatenate(sorted(fragments, key=lambda fragment: int(fragment.numbers[0])))
    alone, step_s = VectorEnv(spec, 1), np.inf
    for number in range(3):  # the first makes the environment
        began = time.perf_counter()
        steps = len(followed(alone, seed + number, spec.random_actions(np.random.default_rng(number), 50))[0])
        step_s = min(step_s, (time.perf_counter() - began) / steps)
    answers = asked(alone, whole) if repeats(spec, AHEAD * 10) else None
    alone.close()
    return Played(spec, whole, answers, step_s)


def followed(envs: VectorEnv, seed: int, actions: Array) -> tuple[Array, Array, bool]:
    """Return the observations (t, D) and rewards (t,) after these actions from a reset, and whether the task ended."""
    envs.reset(0, evaluation_seed(seed, 0, 0))
    seen, got, over, one = [], [], False, np.array([0])
    for action in actions:
        observations, rewards, terminated, truncated = envs.step(one, action[None])
        seen.append(observations[0])
        got.append(rewards[0])
        over = bool(terminated[0])
        if over or truncated[0]:
            break
    return np.array(seen), np.array(got), over


def asked(envs: VectorEnv, played: Fragments) -> Answers:
    """Return what the environment answers to other actions in the same moments."""
    spec, rng = envs.spec, np.random.default_rng(0)
    longest = int(min(np.median(played.lengths), 50))
    lags, dearer, saturated = [], [], []
    for moment in range(MOMENTS):
        before = int(rng.integers(longest))
        actions = spec.random_actions(np.random.default_rng(moment), before + 1 + AHEAD)
        kinds = range(min(spec.action_size, 3)) if spec.discrete else (*SIZES, BEHIND)
        way = np.sign(actions[before])  # of continuous ones
        tried = []
        for kind in kinds:
            actions[before] = kind if spec.discrete else kind * way
            tried.append(followed(envs, moment, actions))
        common = min(len(rewards) for _, rewards, _ in tried)
        if common < before + 1 or len(tried) < 2:
            continue  # the episode ended before that, or there is nothing else to do
        apart = [np.any(seen[before:common] != tried[0][0][before:common], axis=1) for seen, _, _ in tried[1:]]
        changed = np.flatnonzero(np.any(apart, axis=0))
        if len(changed) or common == before + 1 + AHEAD:  # an episode that ends sooner does not show what comes later
            lags.append(int(changed[0]) if len(changed) else AHEAD)
        if not spec.discrete:
            sizes = [rewards[before] for _, rewards, _ in tried[: len(SIZES)]]
            dearer.append(bool(np.all(np.diff(sizes) > 0)))
            saturated.append(same(tried[1], tried[2]) and len(changed) > 0)
    whole = "int" in spec.action_dtype  # they are rounded, so two sizes may be one action
    return Answers(
        min(lags) if lags else None,
        float(np.mean(dearer)) if dearer else float("nan"),
        float(np.mean(saturated)) if saturated and not whole else float("nan"),
        *is_deaf(envs, played),
    )


def same(one: tuple[Array, Array, bool], other: tuple[Array, Array, bool]) -> bool:
    """Return whether two ways to go on had the same observations and rewards."""
    return np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def is_deaf(envs: VectorEnv, played: Fragments) -> tuple[bool, float]:
    """Return whether rewards do not depend on what is done: episodes of one seed, of random and of constant actions.

    Nor may their ends, or else rewards must be as often below 0 as above. The policy's own rewards must be of the same
    kind: where they are all the same, or noise. Second: after how many steps random actions end the task.
    """
    spec, same, ends = envs.spec, True, []
    for seed in range(3):
        ways = [spec.random_actions(np.random.default_rng(each), LONGEST) for each in (seed, seed + 10)]
        ways += [np.repeat(ways[0][:1], LONGEST, axis=0), np.repeat(ways[1][:1] * 0, LONGEST, axis=0)]
        first, *others = (followed(envs, seed, actions) for actions in ways)
        ends += [len(rewards) if over else np.inf for _, rewards, over in (first, others[0])]
        for _, rewards, _ in others:
            common = min(len(rewards), len(first[1]))
            same &= np.array_equal(rewards[:common], first[1][:common])
            same &= len(rewards) == len(first[1]) or is_noise(played.rewards)
    constant = np.ptp(played.rewards) == 0.0 and np.ptp(played.lengths) == 0
    return bool(same and (constant or is_noise(played.rewards))), float(np.median(ends))


def is_noise(rewards: Array) -> bool:
    """Return whether rewards differ, and their mean is 0 as far as one can see."""
    return bool(0.0 < abs(rewards.mean()) < 3 * rewards.std() / np.sqrt(len(rewards)))
