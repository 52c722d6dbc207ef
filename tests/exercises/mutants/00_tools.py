"""Lecture 00: right answers in other styles, and wrong ones."""

import itertools
import math

import autograd.numpy as np
import numpy
import scipy.optimize
from autograd import value_and_grad


def degrees_by_map(radians):
    if np.ndim(radians) == 0:
        return math.degrees(radians)
    return np.array([degrees_by_map(part) for part in radians])


def degrees_with_a_copy(radians):
    result = np.array(radians, dtype=float)
    result *= 180
    result /= np.pi
    return result


def weighted_sum_by_a_loop(rows, weights):
    total = np.zeros(rows.shape[1])
    for row, weight in zip(rows, weights, strict=True):
        total += weight * row
    return total


def weighted_sum_column_by_column(rows, weights):
    return np.array([(rows[:, k] * weights).sum() for k in range(rows.shape[1])])


def weighted_sum_with_python_numbers(rows, weights):
    return np.array([math.fsum(w * x for w, x in zip(weights, column, strict=True)) for column in rows.T])


def play_episode_for_ever_until_it_returns(env, policy, seed):
    state, _info = env.reset(seed=seed)
    received = []
    while True:
        result = env.step(policy(state))
        state = result[0]
        received.append(result[1])
        if result[2] or result[3]:
            env.close()
            return np.array(received), result[2], result[3]


def play_episode_counted(env, policy, seed):
    observation = env.reset(seed=seed)[0]
    rewards = np.array([])
    for _ in itertools.count():
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        rewards = np.append(rewards, reward)
        if terminated | truncated:
            break
    return rewards, terminated, truncated


def play_episode_next_action_early(env, policy, seed):
    observation, _ = env.reset(seed=seed)
    action, rewards, done = policy(observation), [], False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(action)
        rewards += [reward]
        done = terminated or truncated
        action = policy(observation)
    return np.asarray(rewards), terminated, truncated


def play_episode_recursive(env, policy, seed):
    def rest(observation):
        after, reward, terminated, truncated, _ = env.step(policy(observation))
        if terminated or truncated:
            return [reward], terminated, truncated
        rewards, terminated, truncated = rest(after)
        return [reward, *rewards], terminated, truncated

    rewards, terminated, truncated = rest(env.reset(seed=seed)[0])
    return np.array(rewards), terminated, truncated


def play_episode_a_generator(env, policy, seed):
    def steps():
        observation, ended = env.reset(seed=seed)[0], False
        while not ended:
            observation, reward, *how, _ = env.step(policy(observation))
            ended = any(how)
            yield reward, how

    played = list(steps())
    return np.array([reward for reward, _ in played]), *played[-1][1]


def loss_and_slope_by_autograd(w, x, y):
    return value_and_grad(lambda w: (np.tanh(w * x) - y) ** 2 + w**2 / 2)(float(w))


def loss_and_slope_node_by_node(w, x, y):
    u = w * x
    v = math.tanh(u)
    error = v - y
    square, penalty = error**2, 0.5 * w * w
    d_square = d_penalty = 1.0
    d_error = d_square * 2 * error
    d_v = d_error
    d_u = d_v * (1 - v * v)
    d_w = d_u * x
    d_w += d_penalty * w
    return square + penalty, d_w


def loss_and_slope_forward_mode(w, x, y):
    u, du = w * x, x
    v, dv = np.tanh(u), du * (1 - np.tanh(u) ** 2)
    return [(v - y) ** 2 + w * w / 2, 2 * (v - y) * dv + w]


def finite_difference_rows_of_the_identity(f, theta, h=1e-5):
    return np.array([(f(theta + row) - f(theta - row)) / (2 * h) for row in h * np.eye(len(theta))])


def finite_difference_two_copies(f, theta, h=1e-5):
    result = []
    for i in range(theta.size):
        above, below = theta.copy(), theta.copy()
        above[i] += h
        below[i] -= h
        result.append((f(above) - f(below)) / (above[i] - below[i]))
    return np.array(result)


def finite_difference_moved_and_restored(f, theta, h=1e-5):
    at, result = theta.copy(), np.zeros_like(theta)
    for k, here in enumerate(theta):
        at[k] = here + h
        result[k] = f(at)
        at[k] = here - h
        result[k] -= f(at)
        at[k] = here
    return result / (2 * h)


def finite_difference_two_lists(f, theta, h=1e-5):
    moves = [h * (np.arange(len(theta)) == k) for k in range(len(theta))]
    above = np.array([f(theta + move) for move in moves])
    below = np.array([f(theta - move) for move in moves])
    return (above - below) / h / 2


def finite_difference_mean_of_both_sides(f, theta, h=1e-5):
    forward = scipy.optimize.approx_fprime(theta, f, h)
    backward = scipy.optimize.approx_fprime(theta, f, -h)
    return (forward + backward) / 2


RIGHT = {
    "degrees": r"""
        the_library: return np.degrees(radians)
        the_library_by_another_name: return np.rad2deg(radians)
        divided_first: radians * 180 / np.pi => radians / np.pi * 180
        a_factor: radians * 180 / np.pi => 57.29577951308232 * radians
        turns: radians * 180 / np.pi => 360 * (radians / (2 * np.pi))
        by_the_inverse: radians * 180 / np.pi => radians / np.radians(1.0)
        an_array_always: radians * 180 / np.pi => np.asarray(radians) * 180 / math.pi
        by_an_arc: radians * 180 / np.pi => radians * 45 / math.atan(1)
    """,
    "weighted_sum": r"""
        a_product: return weights @ rows
        the_other_product: return rows.T @ weights
        dot: return np.dot(weights, rows)
        einsum: return np.einsum("n,np->p", weights, rows)
        tensordot: return numpy.tensordot(weights, rows, axes=1)
        reshaped: weights[:, None] => weights.reshape(-1, 1)
        newaxis: weights[:, None] => weights[:, np.newaxis]
        transposed: np.sum(column * rows, axis=0) => (weights * rows.T).sum(axis=1)
        a_weighted_mean: np.sum(column * rows, axis=0) => np.mean(column * rows, axis=0) * len(rows) if len(rows) else \
            np.zeros(rows.shape[1])
    """,
    "play_episode": r"""
        one_flag: while not (terminated or truncated): => while not max(terminated, truncated):
        two_conditions: while not (terminated or truncated): => while not terminated and not truncated:
        floats: rewards.append(reward) => rewards.append(float(reward))
        python_truths: return (np.array(rewards), terminated, truncated) => return np.array(rewards), \
            bool(terminated), bool(truncated)
        a_list_of_three: return (np.array(rewards), terminated, truncated) => return [np.array(rewards), terminated, \
            truncated]
    """,
    "loss_and_slope": r"""
        cosh: slope_v * (1 - v ** 2) => slope_v / np.cosh(u) ** 2
        one_expression: return (np.tanh(w * x) - y) ** 2 + w * w / 2, \
            2 * (np.tanh(w * x) - y) * (1 - np.tanh(w * x) ** 2) * x + w
        factors: slope_v * (1 - v ** 2) => slope_v * (1 - v) * (1 + v)
        from_the_math_library: v = np.tanh(u) => v = math.tanh(u)
        an_array_of_two: return (loss, slope_u * x + w) => return tuple(np.array([loss, slope_u * x + w]))
        python_floats: return (loss, slope_u * x + w) => return float(loss), float(w + x * slope_u)
    """,
    "finite_difference": r"""
        a_step_of_the_identity: move = np.zeros(len(theta)) => move = h * np.eye(len(theta))[k] && move[k] = h => pass
        like_theta: move = np.zeros(len(theta)) => move = 0.0 * theta
        halves: (f(theta + move) - f(theta - move)) / (2 * h) => f(theta + move) / (2 * h) - f(theta - move) / (2 * h)
    """,
}

WRONG = {
    "degrees": r"""
        radians_as_they_are: radians * 180 / np.pi => radians
        to_radians: radians * 180 / np.pi => np.radians(radians)
        gradians: * 180 => * 200
        pi_is_three: / np.pi => / 3
        minutes: * 180 => * 180 * 60
        rounded: radians * 180 / np.pi => np.round(radians * 180 / np.pi, 3)
        within_a_turn: radians * 180 / np.pi => np.mod(radians * 180 / np.pi, 360)
        never_negative: radians * 180 / np.pi => np.abs(radians * 180 / np.pi)
        a_list: radians * 180 / np.pi => np.atleast_1d(radians * 180 / np.pi)
        flat: radians * 180 / np.pi => np.squeeze(np.ravel(radians * 180 / np.pi))
        half_precision: radians * 180 / np.pi => np.float32(radians * 180 / np.pi)
        the_other_way_round: radians * 180 / np.pi => -radians * 180 / np.pi
    """,
    "weighted_sum": r"""
        by_columns: weights[:, None] => np.resize(weights, rows.shape[1])
        mean_over_rows: np.sum(column * rows, axis=0) => np.mean(column * rows, axis=0)
        over_the_other_axis: axis=0 => axis=1
        one_number: np.sum(column * rows, axis=0) => np.sum(column * rows)
        weights_normalised: column * rows => column / np.abs(column).sum() * rows
        weights_without_sign: column * rows => np.abs(column) * rows
        positive_weights_alone: column * rows => np.maximum(column, 0) * rows
        no_weights: column * rows => rows
        squares: column * rows => column**2 * rows
        weights_less_their_mean: column * rows => (column - column.mean()) * rows
        a_row: axis=0 => axis=0, keepdims=True
        all_but_the_last_row: np.sum(column * rows, axis=0) => np.sum((column * rows)[:-1], axis=0)
        backwards: column * rows => column[::-1] * rows
        running_sums: np.sum(column * rows, axis=0) => np.cumsum(column * rows, axis=0)
        written_into_rows: np.sum(column * rows, axis=0) => np.multiply(column, rows, out=rows).sum(axis=0)
        every_weight_times_every_row: column * rows => column.sum() * rows
        rounded: np.sum(column * rows, axis=0) => np.round(np.sum(column * rows, axis=0), 4)
        a_list: np.asarray(np.sum(column * rows, axis=0)) => np.sum(column * rows, axis=0).tolist()
    """,
    "play_episode": r"""
        until_terminated: (terminated or truncated) => terminated
        until_truncated: (terminated or truncated) => truncated
        until_both: (terminated or truncated) => (terminated and truncated)
        the_first_observation_for_ever: observation, reward, terminated, truncated, _ = env => \
            _, reward, terminated, truncated, _ = env
        seed_ignored: env.reset(seed=seed) => env.reset()
        seed_of_zero: env.reset(seed=seed) => env.reset(seed=0)
        without_the_last_reward: rewards.append(reward) => rewards += [reward] * (not (terminated or truncated))
        without_the_first_reward: (np.array(rewards), => (np.array(rewards[1:]),
        the_return: (np.array(rewards), => (np.sum(rewards),
        the_number_of_steps: (np.array(rewards), => (len(rewards),
        cumulated: (np.array(rewards), => (np.cumsum(rewards),
        a_list: (np.array(rewards), => (rewards,
        only_one_done: terminated, truncated) => terminated or truncated, False)
        ends_swapped: np.array(rewards), terminated, truncated => np.array(rewards), truncated, terminated
        ends_forgotten: np.array(rewards), terminated, truncated => np.array(rewards)
        one_end_forgotten: np.array(rewards), terminated, truncated => np.array(rewards), terminated
        never_both: np.array(rewards), terminated, truncated => \
            np.array(rewards), terminated, truncated and not terminated
        truncated_is_the_rest: np.array(rewards), terminated, truncated => np.array(rewards), terminated, not terminated
        at_most_100_steps: (terminated or truncated) => (terminated or truncated) and len(rewards) < 100
        two_steps_at_once: rewards.append(reward) => rewards.append(reward); \
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
        rewards_as_signs: rewards.append(reward) => rewards.append(np.sign(reward))
        always_the_action_0: policy(observation) => 0 * policy(observation)
        always_the_action_1: policy(observation) => 1
        the_reset_has_a_reward: observation, _information = env.reset(seed=seed) => observation, _ = \
            env.reset(seed=seed); rewards.append(0.0)
    """,
    "loss_and_slope": r"""
        without_the_penalty: slope_u * x + w => slope_u * x
        twice_the_penalty: slope_u * x + w => slope_u * x + 2 * w
        penalty_not_differentiated: slope_u * x + w => slope_u * x + w**2 / 2
        without_the_input: slope_u * x + w => slope_u + w
        with_respect_to_x: slope_u * x + w => slope_u * w
        without_tanh: slope_v * (1 - v ** 2) => slope_v
        tanh_of_u_squared: slope_v * (1 - v ** 2) => slope_v * (1 - u**2)
        wrong_sign_of_tanh: slope_v * (1 - v ** 2) => slope_v * (v**2 - 1)
        sigmoid: slope_v * (1 - v ** 2) => slope_v * v * (1 - v)
        half_the_square: 2 * (v - y) => (v - y)
        error_turned: 2 * (v - y) => 2 * (y - v)
        loss_is_not_squared: (v - y) ** 2 => (v - y)
        loss_is_absolute: (v - y) ** 2 => abs(v - y)
        loss_without_penalty: + w ** 2 / 2 => + 0 * w
        loss_with_a_whole_penalty: + w ** 2 / 2 => + w**2
        a_straight_line: v = np.tanh(u) => v = u
        swapped: return (loss, slope_u * x + w) => return slope_u * x + w, loss
        slope_alone: return (loss, slope_u * x + w) => return slope_u * x + w
        downhill: return (loss, slope_u * x + w) => return loss, -(slope_u * x + w)
        forward_difference: return (loss, slope_u * x + w) => return loss, (right(w + 1e-3, x, y)[0] - loss) / 1e-3
        rounded: return (loss, slope_u * x + w) => return round(float(loss), 4), round(float(slope_u * x + w), 4)
    """,
    "finite_difference": r"""
        forward: return gradient => return np.array([(f(theta + h * e) - f(theta)) / h for e in np.eye(len(theta))])
        backward: return gradient => return np.array([(f(theta) - f(theta - h * e)) / h for e in np.eye(len(theta))])
        twice: / (2 * h) => / h
        half: / (2 * h) => / (4 * h)
        not_divided: / (2 * h) => / 1.0
        downhill: f(theta + move) - f(theta - move) => f(theta - move) - f(theta + move)
        all_entries_at_once: move[k] = h => move[:] = h
        first_entry_only: move[k] = h => move[0] = h
        entries_pile_up: move = np.zeros(len(theta)) => move = np.zeros(len(theta)) if k == 0 else move
        fixed_step: move[k] = h => move[k] = 1e-5
        step_ignored: (2 * h) => 2e-5 && = h => = 1e-5
        half_a_step: move[k] = h => move[k] = h / 2
        relative_step: move[k] = h => move[k] = h * max(1.0, abs(theta[k]))
        theta_moved_in_place: gradient[k] = (f(theta + move) - f(theta - move)) / (2 * h) => theta[k] += h; up = \
            f(theta); theta[k] -= 2 * h; gradient[k] = (up - f(theta)) / (2 * h)
        last_entry_missing: range(len(theta)) => range(len(theta) - 1)
        first_entry_missing: range(len(theta)) => range(1, len(theta))
        whole_numbers: gradient = np.zeros(len(theta)) => gradient = np.zeros(len(theta), int)
        a_sum: return gradient => return gradient.sum()
        a_length: return gradient => return np.linalg.norm(gradient)
        a_list: return gradient => return gradient.tolist()
        a_column: return gradient => return gradient[:, None]
        absolute: return gradient => return np.abs(gradient)
        the_values: (f(theta + move) - f(theta - move)) / (2 * h) => f(theta + move)
    """,
}

EQUAL = {
    "finite_difference": r"""
        twice_a_step_that_is_small: h: float=1e-05 => h: float=2e-05
        half_of_a_step_that_is_small: h: float=1e-05 => h: float=5e-06
        every_entry_is_written: gradient = np.zeros => gradient = np.ones
    """
}
