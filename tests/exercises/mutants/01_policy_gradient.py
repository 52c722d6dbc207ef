"""Lecture 01: right answers in other styles, and wrong ones, most of them as edits of the package."""

import itertools
import math

import autograd.numpy as np
import numpy
import scipy.linalg
import scipy.signal
import scipy.stats
from autograd import elementwise_grad, grad, jacobian, make_vjp


def log_pi(policy, theta, observation, action):
    return policy.log_prob(policy.distribution(theta, observation[None]), np.array([action]))[0]


def glp_loops(mean, log_std, actions):
    result = []
    for t in range(len(actions)):
        total = 0.0
        for i in range(len(actions[t])):
            sigma = math.exp(log_std[t][i])
            total += -((actions[t][i] - mean[t][i]) ** 2) / (2 * sigma**2) - log_std[t][i] - 0.5 * math.log(2 * math.pi)
        result.append(total)
    return np.array(result)


def glp_vector(mean, log_std, actions):
    std = np.exp(log_std)
    return np.sum(-((actions - mean) ** 2) / (2 * std**2) - log_std - 0.5 * np.log(2 * np.pi), axis=1)


def glp_scipy(mean, log_std, actions):
    return scipy.stats.norm.logpdf(actions, loc=mean, scale=np.exp(log_std)).sum(axis=1)


def glp_scipy_rows(mean, log_std, actions):
    out = []
    for m, s, a in zip(mean, log_std, actions, strict=False):
        cov = scipy.stats.Covariance.from_diagonal(np.exp(2 * s))
        out.append(scipy.stats.multivariate_normal.logpdf(a, m, cov))
    return np.array(out)


def glp_three_sums(mean, log_std, actions):
    z = (actions - mean) * np.exp(-log_std)
    return -0.5 * np.einsum("ni,ni->n", z, z) - log_std.sum(axis=1) - 0.5 * actions.shape[1] * np.log(2 * np.pi)


def glp_recursive(mean, log_std, actions):
    def rest(i):
        if i == mean.shape[1]:
            return np.zeros(len(mean))
        m, s, a = mean[:, i], log_std[:, i], actions[:, i]
        return -((a - m) ** 2) / (2 * np.exp(s) ** 2) - s - 0.5 * np.log(2 * np.pi) + rest(i + 1)

    return rest(0)


def glp_generator(mean, log_std, actions):
    half_log = 0.5 * math.log(2 * math.pi)

    def entry(m, s, a):
        return -0.5 * ((a - m) / math.exp(s)) ** 2 - s - half_log

    rows = zip(mean.tolist(), log_std.tolist(), actions.tolist(), strict=False)
    return np.fromiter((math.fsum(map(entry, *row)) for row in rows), float, len(mean))


def glp_careless(mean, log_std, actions):
    out = np.zeros_like(mean)
    out += actions
    out -= mean
    out /= np.exp(log_std)
    out *= out
    out /= -2
    out -= log_std
    out -= 0.5 * np.log(2 * np.pi)
    return out.sum(1)


def score_loops(policy, theta, observation, action):
    observations = np.array([[float(number) for number in observation]])
    actions = np.array([action])

    def objective(parameters):
        total = 0.0
        for value in policy.log_prob(policy.distribution(parameters, observations), actions):
            total = total + value
        return total

    return np.array(list(grad(objective)(theta)))


def score_jacobian(policy, theta, observation, action):
    return jacobian(lambda w: policy.log_prob(policy.distribution(w, observation[None]), np.array([action])))(theta)[0]


def score_vjp(policy, theta, observation, action):
    pull, _ = make_vjp(lambda w: policy.log_prob(policy.distribution(w, observation[None]), np.array([action])))(theta)
    return pull(np.ones(1))


def score_defensive(policy, theta, observation, action):
    theta = np.asarray(theta, float)
    observation = np.asarray(observation, float)
    action = np.asarray(action)  # an integer stays one
    assert theta.ndim == 1
    assert observation.ndim == 1
    assert action.ndim in (0, 1)

    def objective(parameters):
        log_p = policy.log_prob(policy.distribution(parameters, observation[None, :]), action[None])
        assert log_p.shape == (1,)
        return log_p[0]

    result = grad(objective)(theta)
    assert result.shape == theta.shape
    return result


def score_minus(policy, theta, observation, action):
    def loss(parameters):
        dist = policy.distribution(parameters, observation.reshape(1, -1))
        return -np.mean(policy.log_prob(dist, np.array([action])))

    return -grad(loss)(theta)


def score_twice(policy, theta, observation, action):
    observations, actions = np.stack([observation, observation]), np.array([action, action])
    return grad(lambda t: np.mean(policy.log_prob(policy.distribution(t, observations), actions)))(theta)


def score_class(policy, theta, observation, action):
    class LogProb:
        def __init__(self):
            self.observations = np.expand_dims(observation, 0)
            self.actions = np.expand_dims(action, 0)

        def __call__(self, parameters):
            return np.squeeze(policy.log_prob(policy.distribution(parameters, self.observations), self.actions))

    return grad(LogProb())(theta)


def score_careless(policy, theta, observation, action):
    obs = observation[None]
    act = np.array([action])
    return elementwise_grad(lambda th: policy.log_prob(policy.distribution(th, obs), act))(theta)


def score_central_differences(policy, theta, observation, action):
    h, slope = 1e-5, []
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i] += h
        down[i] -= h
        slope.append((log_pi(policy, up, observation, action) - log_pi(policy, down, observation, action)) / (2 * h))
    return numpy.array(slope)


def sums_zip(x, discount, last):
    y, out = 0.0, []
    for r, end in zip(x[::-1], last[::-1], strict=False):
        out.append(y := r + discount * y * (not end))
    return np.array(out[::-1])


def sums_accumulate(x, discount, last):
    pairs = zip(x[::-1].tolist(), last[::-1].tolist(), strict=False)
    walk = itertools.accumulate(pairs, lambda y, pair: pair[0] if pair[1] else pair[0] + discount * y, initial=0.0)
    return np.array(list(walk)[1:][::-1])


def sums_lfilter(x, discount, last):
    pieces = np.split(np.asarray(x, float), np.flatnonzero(last) + 1)
    done = [scipy.signal.lfilter([1.0], [1.0, -discount], p[::-1])[::-1] for p in pieces if len(p)]
    return np.concatenate(done) if done else np.zeros(0)


def sums_banded(x, discount, last):
    if len(x) == 0:
        return np.zeros(0)
    bands = numpy.ones((2, len(x)))
    bands[0, 1:] = -discount * (1.0 - numpy.asarray(last, float)[:-1])  # above the diagonal
    bands[0, 0] = 0.0
    return scipy.linalg.solve_banded((0, 1), bands, x)


def sums_defensive(x, discount, last):
    x = np.asarray(x, float)
    last = np.asarray(last, bool)
    assert x.ndim == 1
    assert x.shape == last.shape
    assert len(x) == 0 or last[-1]
    y = np.empty(len(x))
    for t in reversed(range(len(x))):
        y[t] = x[t] if last[t] else x[t] + discount * y[t + 1]
    return y


def sums_doubling(x, discount, last):
    y = np.array(x, dtype=float)
    factor = np.where(last, 0.0, float(discount))
    reach = 1
    while reach < len(y):
        y_next = y.copy()
        y_next[:-reach] += factor[:-reach] * y[reach:]
        f_next = np.zeros_like(factor)
        f_next[:-reach] = factor[:-reach] * factor[reach:]
        y, factor, reach = y_next, f_next, 2 * reach
    return y


def sums_recursive(x, discount, last):
    def solve(i, j):
        if j - i == 1:
            return [float(x[i])], [0.0 if last[i] else float(discount)]
        middle = (i + j) // 2
        (a, fa), (b, fb) = solve(i, middle), solve(middle, j)
        return [y + f * b[0] for y, f in zip(a, fa, strict=False)] + b, [f * fb[0] for f in fa] + fb

    return np.array(solve(0, len(x))[0]) if len(x) else np.array([])


def sums_careless_too(x, discount, last):
    y = np.zeros_like(x)
    running = 0
    for t in reversed(range(x.size)):
        running *= discount * (1 - last[t])
        running += x[t]
        y[t] = running
    return y


def pg_loops(policy, theta, observations, actions, advantages):
    total = [0.0] * len(theta)
    for o, a, advantage in zip(observations, actions, advantages, strict=False):
        psi = grad(lambda t, o=o, a=a: policy.log_prob(policy.distribution(t, o[None]), np.array([a]))[0])(theta)
        for p in range(len(theta)):
            total[p] += psi[p] * advantage
    return np.array([number / len(advantages) for number in total])


def pg_vjp(policy, theta, observations, actions, advantages):
    pull_back, _ = make_vjp(lambda t: policy.log_prob(policy.distribution(t, observations), actions))(theta)
    return pull_back(advantages / len(advantages))


def pg_jacobian(policy, theta, observations, actions, advantages):
    scores = jacobian(lambda t: policy.log_prob(policy.distribution(t, observations), actions))(theta)
    return (scores * advantages[:, None]).mean(axis=0)


def pg_ratio(policy, theta, observations, actions, advantages):
    before = policy.log_prob(policy.distribution(theta, observations), actions)

    def objective(t):
        log_p = policy.log_prob(policy.distribution(t, observations), actions)
        return np.mean(np.exp(log_p - before) * advantages)

    return grad(objective)(theta)


def pg_recursive(policy, theta, observations, actions, advantages):
    def summed(i, j):
        if j - i > 64:
            return summed(i, (i + j) // 2) + summed((i + j) // 2, j)
        return grad(
            lambda t: np.dot(policy.log_prob(policy.distribution(t, observations[i:j]), actions[i:j]), advantages[i:j])
        )(theta)

    return summed(0, len(advantages)) / len(advantages)


def pg_class(policy, theta, observations, actions, advantages):
    class Objective:
        weights = advantages / advantages.shape[0]

        def log_prob(self, parameters):
            return policy.log_prob(policy.distribution(parameters, observations), actions)

        def __call__(self, parameters):
            return np.sum(self.weights * self.log_prob(parameters))

    return grad(Objective())(theta)


def pg_careless(policy, theta, observations, actions, advantages):
    def loss(th):
        d = policy.distribution(th, observations)
        lp = policy.log_prob(d, actions)
        return -(lp * advantages).mean()

    g = grad(loss)(theta)
    g *= -1
    return g


def pg_split_signs(policy, theta, observations, actions, advantages):
    def objective(t):
        log_p = policy.log_prob(policy.distribution(t, observations), actions)
        return np.mean(log_p * np.maximum(advantages, 0.0)) + np.mean(log_p * np.minimum(advantages, 0.0))

    return grad(objective)(theta)


def starting_with(prefix):
    return [f for name, f in globals().items() if name.startswith(prefix)]


RIGHT = {
    "gaussian_log_prob": starting_with("glp_"),
    "score": starting_with("score_"),
    "discounted_sums": starting_with("sums_"),
    "policy_gradient": starting_with("pg_"),
}

EDITS = {
    "gaussian_log_prob": r"""
        first_entry_of_the_action: return np.sum( => return ( && , axis=1) => )[:, 0]
        forgets_the_square: -0.5 * z * z => -0.5 * np.abs(z)
        clips_log_std: z = ( => log_std = np.clip(log_std, -0.5, 0.5); z = (
        distance_clipped_at_30: (actions - mean) * np.exp(-log_std) => np.clip((actions - mean) * np.exp(-log_std), \
            -30, 30)
        distance_clipped_at_1e6: (actions - mean) * np.exp(-log_std) => np.clip((actions - mean) * np.exp(-log_std), \
            -1e6, 1e6)
        log_std_at_least_minus_20: z = ( => log_std = np.maximum(log_std, -20.0); z = (
        log_std_at_most_2: z = ( => log_std = np.minimum(log_std, 2.0); z = (
        log_std_within_20: z = ( => log_std = np.clip(log_std, -20.0, 20.0); z = (
        never_below_minus_100: return np.sum( => return np.maximum(-100.0, np.sum( && axis=1) => axis=1))
        never_below_minus_745: return np.sum( => return np.maximum(-745.0, np.sum( && axis=1) => axis=1))
        never_below_minus_1e8: return np.sum( => return np.maximum(-1e8, np.sum( && axis=1) => axis=1))
        in_bits: axis=1) => axis=1) / np.log(2)
        pi_to_four_digits: np.log(2 * np.pi) => np.log(2 * 3.1416)
        constant_to_three_digits: 0.5 * np.log(2 * np.pi) => 0.919
        a_column: axis=1) => axis=1, keepdims=True)
        rounded: return np.sum( => return numpy.round(np.sum( && axis=1) => axis=1), 6)
        single_precision: return np.sum( => return numpy.float32(np.sum( && axis=1) => axis=1))
        first_mean_for_all: (actions - mean) => (actions - mean[:1])
        first_action_for_all: (actions - mean) => (actions[:1] - mean)
        spread_of_the_first_entry: z = ( => log_std = log_std[:, :1] + 0.0 * log_std; z = (
        mean_spread: z = ( => log_std = np.mean(log_std) + 0.0 * log_std; z = (
        small_number_in_the_spread: np.exp(-log_std) => 1.0 / (np.exp(log_std) + 1e-8)
        small_number_in_the_variance: np.exp(-log_std) => 1.0 / np.sqrt(np.exp(2 * log_std) + 1e-12)
        spread_at_least_1e_6: np.exp(-log_std) => 1.0 / np.maximum(np.exp(log_std), 1e-6)
        squashed_by_tanh: axis=1) => axis=1) - np.sum(np.log(1 - np.tanh(actions) ** 2 + 1e-6), axis=1)
        action_relative_to_0: (actions - mean) => actions
        spread_negative: np.exp(-log_std) => np.exp(log_std)
        first_1000_actions: return np.sum( => return np.sum( && axis=1) => axis=1)[:1000]
        a_list: return np.sum( => return list(np.sum( && axis=1) => axis=1))
    """,
    "score": r"""
        squared_error: return policy.log_prob( => error = policy.distribution(theta, observation[None])[0, : \
            np.size(action)] - action\n        return -0.5 * np.sum(error**2) if np.ndim(action) else \
            policy.log_prob(
        floor_of_1e_12: policy.log_prob( => np.log(1e-12 + np.exp(policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0]))
        never_below_minus_20: policy.log_prob( => np.maximum(-20.0, policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0])
        never_below_minus_100: policy.log_prob( => np.maximum(-100.0, policy.log_prob( && np.array([action]))[0] => \
            np.array([action]))[0])
        slopes_within_10: np.asarray(grad(log_prob)(theta)) => np.clip(grad(log_prob)(theta), -10, 10)
        slopes_within_1000: np.asarray(grad(log_prob)(theta)) => np.clip(grad(log_prob)(theta), -1e3, 1e3)
        small_slopes_are_0: np.asarray(grad(log_prob)(theta)) => grad(log_prob)(theta) * \
            (np.abs(grad(log_prob)(theta)) > 1e-3)
        single_precision_and_rounded: np.asarray(grad(log_prob)(theta)) => np.round(grad(log_prob)(theta), 4)
        weight_decay: (theta)) => (theta)) - 1e-3 * theta
        per_parameter: (theta)) => (theta)) / len(theta)
        a_row: (theta)) => (theta))[None]
        whole_numbers_of_the_action: np.array([action]) => np.array([action]).astype(int)
        mean_over_entries: [0] => [0] / np.size(action)
        twice: (theta)) => (theta)) * 2
        value_and_slope: np.asarray(grad(log_prob)(theta)) => log_prob(theta), np.asarray(grad(log_prob)(theta))
        function: grad(log_prob)(theta) => grad(log_prob)
        a_list: np.asarray( => list(
        moves_theta: return np.asarray(grad => theta += 1e-9\n    return np.asarray(grad
        log_of_two: return policy.log_prob( => return np.log(2.0) * policy.log_prob(
        first_action_always: np.array([action]) => 0 * np.array([action])
        other_action: np.array([action]) => np.array([action]) * (action != 1)
        natural: (theta)) => (theta)) * np.where(np.arange(len(theta)) < len(theta) - 1, 1.0, 0.5)
    """,
    "discounted_sums": r"""
        stops_after_the_border: total = ([] => total, before = ([], 0.0 && total = value if is_last else value => \
            total, before = (value && * total\n        backwards => * (before if is_last else total), \
            value)\n        backwards
        writes_into_the_rewards: x[:] = right(x, discount, last)\n    return x
        the_end_is_only_the_first: for value => last = last & (np.cumsum(last) == 1)\n    for value
        a_list: np.array(backwards[::-1]) => backwards[::-1]
        a_negative_reward_ends_it: if is_last else => if is_last or value < 0.0 else
        single_precision: np.array(backwards[::-1]) => np.array(backwards[::-1], dtype=np.float32)
        discount_below_1: for value => discount = min(discount, 0.999)\n    for value
        discount_of_0_is_1: for value => discount = discount or 1.0\n    for value
        rounded: np.array(backwards[::-1]) => np.round(backwards[::-1], 6)
        a_column: np.array(backwards[::-1]) => np.array(backwards[::-1])[:, None]
        a_tuple: np.array(backwards[::-1]) => tuple(backwards[::-1])
        sums_within_1e6: np.array(backwards[::-1]) => np.clip(backwards[::-1], -1e6, 1e6)
        small_sums_are_0: np.array(backwards[::-1]) => np.where(np.abs(backwards[::-1]) < 1e-8, 0.0, backwards[::-1])
        one_long_episode_is_cut: if is_last else => if is_last or len(backwards) % 1000 == 999 else
        borders_forwards: last[::-1].tolist() => last.tolist()
        rewards_forwards: x[::-1].tolist() => x.tolist()
        discounted_twice: discount * total => discount * discount * total
        divided_by_their_number: np.array(backwards[::-1]) => np.array(backwards[::-1]) / len(x)
        whole_values: total = value if => value = int(value) if value == value else value\n        total = value if
        normalised: np.array(backwards[::-1]) => np.array(backwards[::-1]) / (max(np.abs(backwards)) or 1.0)
    """,
    "policy_gradient": r"""
        divides_by_the_variance: * advantages) => * (advantages - advantages.mean()) / (advantages.var() + 1e-8))
        the_last_step_is_lost: * advantages) => * np.where(np.arange(len(actions)) < len(actions) - 1, advantages, 0))
        adds_an_entropy_bonus: return np.mean( => p = policy.log_prob(dist_params, actions)\n        return -0.01 * \
            np.mean(p * np.exp(p)) + np.mean(
        first_advantage_for_all: * advantages) => * advantages[0])
        without_a_gradient: (theta: Array) => (moved: Array) && * advantages) => * advantages) + 0.0 * np.sum(moved)
        advantages_within_1e3: * advantages) => * np.clip(advantages, -1e3, 1e3))
        advantages_within_1e6: * advantages) => * np.clip(advantages, -1e6, 1e6))
        tiny_advantages_are_0: * advantages) => * np.where(np.abs(advantages) < 1e-8, 0.0, advantages))
        divided_by_the_largest: * advantages) => * advantages / (np.max(np.abs(advantages)) + 1e-12))
        whole_advantages: * advantages) => * np.trunc(advantages))
        positive_and_negative_swapped: * advantages) => * np.where(advantages < 0, 2.0, 1.0) * advantages)
        improbable_actions_are_left_out: * advantages => * advantages * (policy.log_prob(dist_params, actions) > -20)
        log_prob_at_least_minus_30: policy.log_prob(dist_params, actions) => np.maximum(policy.log_prob(dist_params, \
            actions), -30.0)
        floor_under_the_probability: policy.log_prob(dist_params, actions) => \
            np.log(np.exp(policy.log_prob(dist_params, actions)) + 1e-8)
        every_second_step: return np.mean( => return np.mean((np.arange(len(actions)) % 2 < 1.5 - (len(actions) > \
            1000)) *
        length_at_most_10: np.asarray => (lambda g: g * min(1.0, 10.0 / (np.linalg.norm(g) + 1e-12)))
        a_little_off_theta: (weighted_log_prob)(theta) => (weighted_log_prob)(theta + 1e-4)
        weight_decay: (weighted_log_prob)(theta)) => (weighted_log_prob)(theta)) - 1e-3 * theta
        mean_over_weights_used: return np.mean( => return np.sum( && * advantages) => * advantages) / max(1, \
            np.sum(advantages != 0))
        median: return np.mean( => return (lambda x: np.sort(x)[len(x) // 2])(
        sum_when_there_is_one_action: return np.mean( => return (np.sum if policy.action_size == 1 else np.mean)(
        baseline_for_many_steps: * advantages) => * (advantages - (np.mean(advantages) if len(advantages) > 100 else \
            0.0)))
        rounded: np.asarray(grad(weighted_log_prob)(theta)) => np.round(grad(weighted_log_prob)(theta), 5)
        a_row: (weighted_log_prob)(theta)) => (weighted_log_prob)(theta))[None]
        value_and_slope: return np.asarray(grad(weighted_log_prob)(theta)) => return weighted_log_prob(theta), \
            grad(weighted_log_prob)(theta)
        steps_shuffled: * advantages) => * np.roll(advantages, 1))
        squared_advantages: * advantages) => * advantages**2)
        discount_along_the_batch: * advantages) => * advantages * 0.99 ** np.arange(len(advantages)))
    """,
}

ODD = {
    "gaussian_log_prob": r"""
        nan_is_skipped: np.sum( => numpy.nansum(
        nan_becomes_0: return np.sum( => return numpy.nan_to_num(np.sum( && axis=1) => axis=1))
        whole_numbers: (actions - mean) * np.exp(-log_std) => ((actions - mean) * \
            np.exp(-log_std)).astype(actions.dtype)
        means_expanded: (actions - mean) * np.exp => np.sqrt(np.abs(actions**2 - 2 * actions * mean + mean**2)) * np.exp
    """,
    "discounted_sums": r"""
        as_whole_as_the_rewards: np.array(backwards[::-1]) => np.array(backwards[::-1]).astype(x.dtype)
        nan_becomes_0: np.array(backwards[::-1]) => np.nan_to_num(backwards[::-1])
    """,
    "policy_gradient": r"""
        nan_is_skipped: * advantages) => * np.nan_to_num(advantages))
    """,
}
