"""Wrong answers to the exercises of lecture 01, and right ones written in another style."""

import autograd.numpy as np
import numpy
from autograd import grad, jacobian
from scipy import signal, stats

LOG_2PI = np.log(2 * np.pi)


def named(name, function):
    function.__name__ = name
    return function


# ---- gaussian_log_prob


def log_density(z, log_std):
    """One entry of the action at a time: (N, A)."""
    return -0.5 * z**2 - log_std - 0.5 * LOG_2PI


def standardised(mean, log_std, actions):
    return (actions - mean) / np.exp(log_std)


def not_summed_over_the_action(mean, log_std, actions):
    return log_density(standardised(mean, log_std, actions), log_std)


def mean_over_the_action(mean, log_std, actions):
    return np.mean(log_density(standardised(mean, log_std, actions), log_std), axis=1)


def sum_over_the_batch(mean, log_std, actions):
    return np.sum(log_density(standardised(mean, log_std, actions), log_std), axis=0)


def sum_over_everything(mean, log_std, actions):
    return np.sum(log_density(standardised(mean, log_std, actions), log_std))


def first_entry_of_the_action(mean, log_std, actions):
    return log_density(standardised(mean, log_std, actions), log_std)[:, 0]


def exp_of_log_std_as_variance(mean, log_std, actions):
    z = (actions - mean) / np.exp(log_std / 2)
    return np.sum(log_density(z, log_std / 2), axis=1)


def log_std_as_std(mean, log_std, actions):
    z = (actions - mean) / log_std
    return np.sum(-0.5 * z**2 - np.log(np.abs(log_std)) - 0.5 * LOG_2PI, axis=1)


def forgets_log_std(mean, log_std, actions):
    return np.sum(log_density(standardised(mean, log_std, actions), 0.0), axis=1)


def adds_log_std(mean, log_std, actions):
    return np.sum(log_density(standardised(mean, log_std, actions), -log_std), axis=1)


def forgets_the_constant(mean, log_std, actions):
    return np.sum(-0.5 * standardised(mean, log_std, actions) ** 2 - log_std, axis=1)


def the_constant_once_per_action(mean, log_std, actions):
    return np.sum(-0.5 * standardised(mean, log_std, actions) ** 2 - log_std, axis=1) - 0.5 * LOG_2PI


def forgets_the_square(mean, log_std, actions):
    return np.sum(-0.5 * np.abs(standardised(mean, log_std, actions)) - log_std - 0.5 * LOG_2PI, axis=1)


def forgets_the_half(mean, log_std, actions):
    return np.sum(-(standardised(mean, log_std, actions) ** 2) - log_std - 0.5 * LOG_2PI, axis=1)


def the_density(mean, log_std, actions):
    return np.exp(np.sum(log_density(standardised(mean, log_std, actions), log_std), axis=1))


def log_of_the_density(mean, log_std, actions):
    """Right until the density rounds to 0."""
    z = standardised(mean, log_std, actions)
    return np.log(np.prod(np.exp(-0.5 * z**2) / np.exp(log_std) / np.sqrt(2 * np.pi), axis=1))


def with_a_floor_under_the_density(mean, log_std, actions):
    """The usual "cure" of the above, log(p + 1e-8): finite, and wrong."""
    z = standardised(mean, log_std, actions)
    return np.log(np.prod(np.exp(-0.5 * z**2) / np.exp(log_std) / np.sqrt(2 * np.pi), axis=1) + 1e-8)


def one_spread_for_all_steps(mean, log_std, actions):
    """Takes log_std from the first row: right only while it is the same in every state."""
    return np.sum(log_density((actions - mean) / np.exp(log_std[0]), log_std[0]), axis=1)


def clips_log_std(mean, log_std, actions):
    narrow = np.clip(log_std, -0.5, 0.5)
    return np.sum(log_density(standardised(mean, narrow, actions), narrow), axis=1)


# ---- score


def log_pi(policy, theta, observation, action):
    return policy.log_prob(policy.distribution(theta, observation[None]), np.array([action]))[0]


def slope_of_the_probability(policy, theta, observation, action):
    """Not of its logarithm."""
    return grad(lambda t: np.exp(log_pi(policy, t, observation, action)))(theta)


def downhill(policy, theta, observation, action):
    return grad(lambda t: -log_pi(policy, t, observation, action))(theta)


def of_the_most_probable_action(policy, theta, observation, action):
    mode = policy.mode(policy.distribution(theta, observation[None]))[0]
    return grad(lambda t: log_pi(policy, t, observation, mode))(theta)


def leaves_log_std_out(policy, theta, observation, action):
    """As baselines' issue 262 once found: the spread was not in the list of variables."""
    slope = grad(lambda t: log_pi(policy, t, observation, action))(theta)
    if not hasattr(policy, "initial_log_std"):
        return slope
    return np.concatenate([slope[: -policy.action_size], np.zeros(policy.action_size)])


def raw_output(policy, theta, observation, action):
    """The slope of what the network says about the action, before it is made a distribution."""

    def output(t):
        row = policy.distribution(t, observation[None])[0]
        return row[action] if np.ndim(action) == 0 else np.sum(row[: policy.action_size])

    return grad(output)(theta)


def of_unit_length(policy, theta, observation, action):
    slope = grad(lambda t: log_pi(policy, t, observation, action))(theta)
    return slope / (np.linalg.norm(slope) + 1e-8)


def squared_error(policy, theta, observation, action):
    """The slope of a regression onto the action: forgets to divide by the variance, and the spread."""

    def negative_error(t):
        row = policy.distribution(t, observation[None])[0]
        if np.ndim(action) == 0:
            return log_pi(policy, t, observation, action)
        return -0.5 * np.sum((row[: policy.action_size] - action) ** 2)

    return grad(negative_error)(theta)


def coarse_finite_differences(policy, theta, observation, action):
    h = 1e-2
    base = log_pi(policy, theta, observation, action)
    return np.array([(log_pi(policy, theta + h * e, observation, action) - base) / h for e in np.eye(len(theta))])


def with_respect_to_the_observation(policy, theta, observation, action):
    return grad(lambda o: log_pi(policy, theta, o, action))(observation)


def of_a_perturbed_policy(policy, theta, observation, action):
    """Takes the slope half a step too far."""
    return grad(lambda t: log_pi(policy, t, observation, action))(theta + 1e-3)


# ---- discounted_sums


def episodes(last):
    start = 0
    for stop in np.flatnonzero(last) + 1:
        yield slice(start, stop)
        start = stop


def total_return_everywhere(x, discount, last):
    """The whole episode's return at every step."""
    y = np.zeros(len(x))
    for steps in episodes(last):
        y[steps] = np.sum(x[steps] * discount ** np.arange(len(x[steps])))
    return y


def leaks_over_borders(x, discount, last):
    """Never starts afresh."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = x[t] + discount * total
        y[t] = total
    return y


def forgets_the_last_reward(x, discount, last):
    """The sum is reset to 0 at a last step, instead of to its reward."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = 0.0 if last[t] else x[t] + discount * total
        y[t] = total
    return y


def discounts_from_the_start(x, discount, last):
    """Discounts by the time since the episode began, not since t."""
    y = np.zeros(len(x))
    for steps in episodes(last):
        weighted = x[steps] * discount ** np.arange(len(x[steps]))
        y[steps] = np.cumsum(weighted[::-1])[::-1]
    return y


def one_step_off_the_border(x, discount, last):
    """Starts afresh one step early, as stable-baselines' issue 385 found in a GAE."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        next_is_last = t + 1 < len(x) and last[t + 1]
        total = x[t] if next_is_last else x[t] + discount * total
        y[t] = total
    return y


def stops_after_the_border(x, discount, last):
    """Starts afresh after the first step of the next episode: one reward leaks."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = x[t] + discount * total
        y[t] = total
        if t > 0 and last[t - 1]:
            total = x[t]
    return y


def of_the_past(x, discount, last):
    """Sums up what came before."""
    y, total = np.zeros(len(x)), 0.0
    for t in range(len(x)):
        total = x[t] + discount * total
        y[t] = total
        if last[t]:
            total = 0.0
    return y


def without_the_reward_of_now(x, discount, last):
    """Starts with the next reward."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = 0.0 if last[t] else total
        y[t] = total
        total = x[t] + discount * total
    return y


def discounts_the_reward_of_now(x, discount, last):
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = discount * (x[t] + (0.0 if last[t] else total))
        y[t] = total
    return y


def undiscounted(x, discount, last):
    y = np.zeros(len(x))
    for steps in episodes(last):
        y[steps] = np.cumsum(x[steps][::-1])[::-1]
    return y


def writes_into_the_rewards(x, discount, last):
    for t in reversed(range(len(x) - 1)):
        if not last[t]:
            x[t] += discount * x[t + 1]
    return x


def a_weighted_mean(x, discount, last):
    """Exponential smoothing: weights that add up to 1."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = x[t] if last[t] else (1 - discount) * x[t] + discount * total
        y[t] = total
    return y


def minus_their_mean(x, discount, last):
    """A baseline nobody asked for."""
    y = with_arrays(x, discount, last)
    return y - y.mean()


def the_end_is_only_the_first(x, discount, last):
    """Handles one border and takes the rest as one episode."""
    first = int(np.argmax(last)) + 1
    no_border = np.zeros(len(x) - first, bool)
    return np.concatenate(
        [leaks_over_borders(x[:first], discount, no_border), leaks_over_borders(x[first:], discount, 0)]
    )


def a_list(x, discount, last):
    """Right numbers that cannot be averaged or indexed."""
    return with_arrays(x, discount, last).tolist()


def a_reward_of_0_is_an_end(x, discount, last):
    """Takes the end of an episode from the rewards, as in the game of Pong."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = x[t] if last[t] or x[t] == 0 else x[t] + discount * total
        y[t] = total
    return y


# ---- policy_gradient


def log_probs(policy, theta, observations, actions):
    return policy.log_prob(policy.distribution(theta, observations), actions)


def by(weigh):
    """Return a policy gradient: the slope of weigh(log probabilities, advantages)."""

    def policy_gradient(policy, theta, observations, actions, advantages):
        return grad(lambda t: weigh(log_probs(policy, t, observations, actions), advantages))(theta)

    return policy_gradient


def log_std_is_not_learned(policy, theta, observations, actions, advantages):
    slope = by(lambda p, a: np.mean(p * a))(policy, theta, observations, actions, advantages)
    if not hasattr(policy, "initial_log_std"):
        return slope
    return np.concatenate([slope[: -policy.action_size], np.zeros(policy.action_size)])


def of_the_modes(policy, theta, observations, actions, advantages):
    """The actions the policy likes best, not those it took."""
    best = policy.mode(policy.distribution(theta, observations))
    return by(lambda p, a: np.mean(p * a))(policy, theta, observations, best, advantages)


def averages_over_parameters(policy, theta, observations, actions, advantages):
    return by(lambda p, a: np.sum(p * a) / len(theta))(policy, theta, observations, actions, advantages)


def without_a_gradient(policy, theta, observations, actions, advantages):
    """The old policy in place of the new: the number is right, and nothing depends on theta any more."""
    frozen = log_probs(policy, theta, observations, actions)
    return grad(lambda t: np.mean(frozen * advantages) + 0.0 * np.sum(t))(theta)


WRONG = {
    "gaussian_log_prob": [
        not_summed_over_the_action,
        mean_over_the_action,
        sum_over_the_batch,
        sum_over_everything,
        first_entry_of_the_action,
        exp_of_log_std_as_variance,
        log_std_as_std,
        forgets_log_std,
        adds_log_std,
        forgets_the_constant,
        the_constant_once_per_action,
        forgets_the_square,
        forgets_the_half,
        the_density,
        log_of_the_density,
        with_a_floor_under_the_density,
        one_spread_for_all_steps,
        clips_log_std,
    ],
    "score": [
        slope_of_the_probability,
        downhill,
        of_the_most_probable_action,
        leaves_log_std_out,
        raw_output,
        of_unit_length,
        squared_error,
        coarse_finite_differences,
        with_respect_to_the_observation,
        of_a_perturbed_policy,
    ],
    "discounted_sums": [
        total_return_everywhere,
        leaks_over_borders,
        forgets_the_last_reward,
        discounts_from_the_start,
        one_step_off_the_border,
        stops_after_the_border,
        of_the_past,
        without_the_reward_of_now,
        discounts_the_reward_of_now,
        undiscounted,
        writes_into_the_rewards,
        a_weighted_mean,
        minus_their_mean,
        the_end_is_only_the_first,
        a_reward_of_0_is_an_end,
        a_list,
    ],
    "policy_gradient": [
        named("a_column_times_a_row", by(lambda p, a: np.mean(p * a[:, None]))),
        named("sum_over_steps", by(lambda p, a: np.sum(p * a))),
        named("downhill_as_a_loss", by(lambda p, a: -np.mean(p * a))),
        named("ignores_the_advantages", by(lambda p, a: np.mean(p))),
        named("probability_without_log", by(lambda p, a: np.mean(np.exp(p) * a))),
        named("ratio_to_a_uniform_policy", by(lambda p, a: np.mean(np.exp(p) / 0.5 * a))),
        named("standardises_on_the_sly", by(lambda p, a: np.mean(p * (a - a.mean()) / (a.std() + 1e-8)))),
        named("divides_by_the_variance", by(lambda p, a: np.mean(p * (a - a.mean()) / (a.var() + 1e-8)))),
        named("subtracts_the_mean_on_the_sly", by(lambda p, a: np.mean(p * (a - a.mean())))),
        named("learns_from_success_only", by(lambda p, a: np.mean(p * np.maximum(a, 0)))),
        named("signs_of_the_advantages", by(lambda p, a: np.mean(p * np.sign(a)))),
        named("sizes_of_the_advantages", by(lambda p, a: np.mean(p * np.abs(a)))),
        named("one_less_in_the_denominator", by(lambda p, a: np.sum(p * a) / max(1, len(a) - 1))),
        named("weighted_mean", by(lambda p, a: np.sum(p * a) / (np.abs(np.sum(a)) + 1e-8))),
        named("the_last_step_is_lost", by(lambda p, a: np.sum(p[:-1] * a[:-1]) / len(a))),
        named("advantages_in_reverse", by(lambda p, a: np.mean(p * a[::-1]))),
        named("clips_large_advantages", by(lambda p, a: np.mean(p * np.clip(a, -10, 10)))),
        named("adds_an_entropy_bonus", by(lambda p, a: np.mean(p * a) - 0.01 * np.mean(p * np.exp(p)))),
        named("first_advantage_for_all", by(lambda p, a: np.mean(p) * a[0])),
        log_std_is_not_learned,
        of_the_modes,
        averages_over_parameters,
        without_a_gradient,
    ],
}


# ---- right answers in another style


def one_density_at_a_time(mean, log_std, actions):
    """The textbook's formula for the multivariate normal, step by step."""
    result = numpy.zeros(len(actions))
    for t, (m, s, a) in enumerate(zip(mean, numpy.exp(log_std), actions, strict=True)):
        precision = numpy.diag(1 / s**2)
        _, log_determinant = numpy.linalg.slogdet(2 * numpy.pi * numpy.diag(s**2))
        result[t] = -0.5 * (a - m) @ precision @ (a - m) - 0.5 * log_determinant
    return result


def central_differences(policy, theta, observation, action):
    """No autograd at all."""
    h, slope = 1e-5, []
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i] += h
        down[i] -= h
        slope.append((log_pi(policy, up, observation, action) - log_pi(policy, down, observation, action)) / (2 * h))
    return numpy.array(slope)


def with_arrays(x, discount, last):
    """One small matrix of discounts per episode."""
    parts = np.split(x, np.flatnonzero(last) + 1)
    result = []
    for part in parts:
        k = np.arange(len(part))
        powers = np.where(k[None] >= k[:, None], float(discount) ** np.maximum(k[None] - k[:, None], 0), 0.0)
        result.append(powers @ part)
    return np.concatenate(result)


def through_scipy(mean, log_std, actions):
    """Somebody else's density."""
    return stats.norm.logpdf(actions, loc=mean, scale=numpy.exp(log_std)).sum(axis=1)


def terms_apart(mean, log_std, actions):
    """Three sums, the constant once for all entries."""
    distance = ((actions - mean) ** 2 / np.exp(2 * log_std)).sum(axis=1)
    return -0.5 * (distance + 2 * log_std.sum(axis=1) + mean.shape[1] * np.log(2 * np.pi))


def entry_by_entry(mean, log_std, actions):
    """A loop over the columns."""
    total = 0.0
    for m, s, a in zip(mean.T, log_std.T, actions.T, strict=True):
        total = total - (a - m) ** 2 / (2 * np.exp(s) ** 2) - s - np.log(np.sqrt(2 * np.pi))
    return total


def through_the_jacobian(policy, theta, observation, action):
    """A Jacobian of one row, and a reshaped observation."""

    def log_probs_of_one(parameters):
        return policy.log_prob(policy.distribution(parameters, observation.reshape(1, -1)), np.asarray([action]))

    return jacobian(log_probs_of_one)(theta)[0]


def value_of_a_sum(policy, theta, observation, action):
    """The sum over the one row, with the gradient as a list of numbers."""
    rows, taken = np.stack([observation]), np.stack([action])
    return np.array(list(grad(lambda t: np.sum(policy.log_prob(policy.distribution(t, rows), taken)))(theta)))


def forward_then_reverse(x, discount, last):
    """From the front: find each end first."""
    y = np.array(x, dtype=float)
    for t in range(len(x) - 2, -1, -1):
        if not last[t]:
            y[t] = x[t] + discount * y[t + 1]
    return y


def with_a_mask(x, discount, last):
    """The classic line, with a number for the mask."""
    y = np.zeros(len(x))
    later = 0.0
    for t in range(len(x))[::-1]:
        later = x[t] + discount * later * (1 - int(last[t]))
        y[t] = later
    return y


def with_a_filter(x, discount, last):
    """scipy's filter on each episode, backwards."""
    ends = np.flatnonzero(last) + 1
    parts = np.split(numpy.asarray(x, float), ends[:-1])
    return numpy.concatenate([signal.lfilter([1.0], [1.0, -float(discount)], part[::-1])[::-1] for part in parts])


def with_a_dot_product(policy, theta, observations, actions, advantages):
    """A dot product of weights and log probabilities."""
    weights = advantages / len(advantages)
    return grad(lambda t: np.dot(weights, log_probs(policy, t, observations, actions)))(theta)


def minus_the_slope_of_the_loss(policy, theta, observations, actions, advantages):
    """As a loss, turned round at the end."""

    def loss(parameters):
        chosen = policy.log_prob(policy.distribution(parameters, observations), actions)
        return -np.sum(chosen * advantages) / advantages.shape[0]

    return -grad(loss)(theta)


def with_probabilities_of_the_start(policy, theta, observations, actions, advantages):
    """As the slope of importance weights at the old policy, where all of them are 1."""
    before = log_probs(policy, theta, observations, actions)
    return grad(lambda t: np.mean(np.exp(log_probs(policy, t, observations, actions) - before) * advantages))(theta)


def from_all_scores(policy, theta, observations, actions, advantages):
    """Every score, then their weighted mean: slow, and right."""
    scores = jacobian(lambda t: log_probs(policy, t, observations, actions))(theta)
    return advantages @ scores / len(advantages)


def score_by_score(policy, theta, observations, actions, advantages):
    """A loop over the steps."""
    total = np.zeros_like(theta)
    for s, a, advantage in zip(observations, actions, advantages, strict=True):
        total = total + advantage * grad(lambda t, s=s, a=a: log_pi(policy, t, s, a))(theta)
    return total / len(actions)


RIGHT = {
    "gaussian_log_prob": [one_density_at_a_time, through_scipy, terms_apart, entry_by_entry],
    "score": [central_differences, through_the_jacobian, value_of_a_sum],
    "discounted_sums": [with_arrays, forward_then_reverse, with_a_mask, with_a_filter],
    "policy_gradient": [
        with_a_dot_product,
        minus_the_slope_of_the_loss,
        with_probabilities_of_the_start,
        score_by_score,
        from_all_scores,
    ],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    "gaussian_log_prob": {
        "distance_clipped_at_30": (
            "z = (actions - mean) * np.exp(-log_std)",
            "z = np.clip((actions - mean) * np.exp(-log_std), -30, 30)",
        ),
        "distance_clipped_at_1e6": (
            "z = (actions - mean) * np.exp(-log_std)",
            "z = np.clip((actions - mean) * np.exp(-log_std), -1e6, 1e6)",
        ),
        "log_std_at_least_minus_20": ("z = (", "log_std = np.maximum(log_std, -20.0); z = ("),
        "log_std_at_most_2": ("z = (", "log_std = np.minimum(log_std, 2.0); z = ("),
        "log_std_within_20": ("z = (", "log_std = np.clip(log_std, -20.0, 20.0); z = ("),
        "never_below_minus_100": ("return np.sum(", "return np.maximum(-100.0, np.sum(", "axis=1)", "axis=1))"),
        "never_below_minus_745": ("return np.sum(", "return np.maximum(-745.0, np.sum(", "axis=1)", "axis=1))"),
        "never_below_minus_1e8": ("return np.sum(", "return np.maximum(-1e8, np.sum(", "axis=1)", "axis=1))"),
        "in_bits": ("axis=1)", "axis=1) / np.log(2)"),
        "pi_to_four_digits": ("np.log(2 * np.pi)", "np.log(2 * 3.1416)"),
        "constant_to_three_digits": ("0.5 * np.log(2 * np.pi)", "0.919"),
        "a_column": ("axis=1)", "axis=1, keepdims=True)"),
        "nan_is_skipped": ("np.sum(", "numpy.nansum("),
        "nan_becomes_0": ("return np.sum(", "return numpy.nan_to_num(np.sum(", "axis=1)", "axis=1))"),
        "rounded": ("return np.sum(", "return numpy.round(np.sum(", "axis=1)", "axis=1), 6)"),
        "single_precision": ("return np.sum(", "return numpy.float32(np.sum(", "axis=1)", "axis=1))"),
        "whole_numbers": (
            "z = (actions - mean) * np.exp(-log_std)",
            "z = ((actions - mean) * np.exp(-log_std)).astype(actions.dtype)",
        ),
        "first_mean_for_all": ("(actions - mean)", "(actions - mean[:1])"),
        "first_action_for_all": ("(actions - mean)", "(actions[:1] - mean)"),
        "spread_of_the_first_entry": ("z = (", "log_std = log_std[:, :1] + 0.0 * log_std; z = ("),
        "mean_spread": ("z = (", "log_std = np.mean(log_std) + 0.0 * log_std; z = ("),
        "small_number_in_the_spread": ("np.exp(-log_std)", "1.0 / (np.exp(log_std) + 1e-8)"),
        "small_number_in_the_variance": ("np.exp(-log_std)", "1.0 / np.sqrt(np.exp(2 * log_std) + 1e-12)"),
        "spread_at_least_1e_6": ("np.exp(-log_std)", "1.0 / np.maximum(np.exp(log_std), 1e-6)"),
        "squashed_by_tanh": ("axis=1)", "axis=1) - np.sum(np.log(1 - np.tanh(actions) ** 2 + 1e-6), axis=1)"),
        "action_relative_to_0": ("(actions - mean)", "actions"),
        "spread_negative": ("np.exp(-log_std)", "np.exp(log_std)"),
        "first_1000_actions": ("return np.sum(", "return np.sum(", "axis=1)", "axis=1)[:1000]"),
        "a_list": ("return np.sum(", "return list(np.sum(", "axis=1)", "axis=1))"),
        "means_expanded": (
            "z = (actions - mean) * np.exp(-log_std)",
            "z = np.sqrt(np.abs(actions**2 - 2 * actions * mean + mean**2)) * np.exp(-log_std)",
        ),
    },
    "score": {
        "floor_under_the_probability": (
            "[0]\n",
            "[0]\n        \n",
            "return policy.log_prob(",
            "return np.log(1e-8 + np.exp(policy.log_prob(",
            "np.array([action]))[0]",
            "np.array([action]))[0]))",
        ),
        "floor_of_1e_12": (
            "return policy.log_prob(",
            "return np.log(1e-12 + np.exp(policy.log_prob(",
            "np.array([action]))[0]",
            "np.array([action]))[0]))",
        ),
        "never_below_minus_20": (
            "return policy.log_prob(",
            "return np.maximum(-20.0, policy.log_prob(",
            "np.array([action]))[0]",
            "np.array([action]))[0])",
        ),
        "never_below_minus_100": (
            "return policy.log_prob(",
            "return np.maximum(-100.0, policy.log_prob(",
            "np.array([action]))[0]",
            "np.array([action]))[0])",
        ),
        "slopes_within_10": ("np.asarray(grad(log_prob)(theta))", "np.clip(grad(log_prob)(theta), -10, 10)"),
        "slopes_within_1000": ("np.asarray(grad(log_prob)(theta))", "np.clip(grad(log_prob)(theta), -1e3, 1e3)"),
        "small_slopes_are_0": (
            "np.asarray(grad(log_prob)(theta))",
            "grad(log_prob)(theta) * (np.abs(grad(log_prob)(theta)) > 1e-3)",
        ),
        "single_precision_and_rounded": ("np.asarray(grad(log_prob)(theta))", "np.round(grad(log_prob)(theta), 4)"),
        "weight_decay": ("(theta))", "(theta)) - 1e-3 * theta"),
        "per_parameter": ("(theta))", "(theta)) / len(theta)"),
        "a_row": ("(theta))", "(theta))[None]"),
        "whole_numbers_of_the_action": ("np.array([action])", "np.array([action]).astype(int)"),
        "mean_over_entries": ("[0]\n", "[0] / np.size(action)\n"),
        "a_little_off_theta": ("(theta))", "(theta + 1e-4))"),
        "twice": ("(theta))", "(theta)) * 2"),
        "value_and_slope": (
            "return np.asarray(grad(log_prob)(theta))",
            "return log_prob(theta), np.asarray(grad(log_prob)(theta))",
        ),
        "function": ("grad(log_prob)(theta)", "grad(log_prob)"),
        "a_list": ("np.asarray(", "list("),
        "moves_theta": ("return np.asarray(grad", "theta += 1e-9\n    return np.asarray(grad"),
        "log_of_two": ("return policy.log_prob(", "return np.log(2.0) * policy.log_prob("),
        "first_action_always": ("np.array([action])", "0 * np.array([action])"),
        "other_action": ("np.array([action])", "np.array([action]) * (action != 1)"),
        "natural": ("(theta))", "(theta)) * np.where(np.arange(len(theta)) < len(theta) - 1, 1.0, 0.5)"),
        "observation_of_length_1": ("observation[None]", "observation[None] / np.linalg.norm(observation)"),
    },
    "discounted_sums": {
        "a_zero_ends_it": ("if is_last else", "if is_last or value == 0.0 else"),
        "a_negative_reward_ends_it": ("if is_last else", "if is_last or value < 0.0 else"),
        "as_whole_as_the_rewards": ("np.array(backwards[::-1])", "np.array(backwards[::-1], dtype=x.dtype)"),
        "single_precision": ("np.array(backwards[::-1])", "np.array(backwards[::-1], dtype=np.float32)"),
        "not_turned_round": ("np.array(backwards[::-1])", "np.array(backwards)"),
        "discount_below_1": ("for value", "discount = min(discount, 0.999)\n    for value"),
        "discount_of_0_is_1": ("for value", "discount = discount or 1.0\n    for value"),
        "rounded": ("np.array(backwards[::-1])", "np.round(backwards[::-1], 6)"),
        "nan_becomes_0": ("np.array(backwards[::-1])", "np.nan_to_num(backwards[::-1])"),
        "a_column": ("np.array(backwards[::-1])", "np.array(backwards[::-1])[:, None]"),
        "a_tuple": ("np.array(backwards[::-1])", "tuple(backwards[::-1])"),
        "sums_within_1e6": ("np.array(backwards[::-1])", "np.clip(backwards[::-1], -1e6, 1e6)"),
        "small_sums_are_0": (
            "np.array(backwards[::-1])",
            "np.where(np.abs(backwards[::-1]) < 1e-8, 0.0, backwards[::-1])",
        ),
        "one_long_episode_is_cut": ("if is_last else", "if is_last or len(backwards) % 1000 == 999 else"),
        "first_border_only": ("if is_last else", "if is_last and not backwards else"),
        "borders_forwards": ("last[::-1].tolist()", "last.tolist()"),
        "rewards_forwards": ("x[::-1].tolist()", "x.tolist()"),
        "discounted_twice": ("discount * total", "discount * discount * total"),
        "sign_of_the_rest": ("value + discount", "value - discount"),
        "only_the_next_reward": ("total = value", "total, before = value, total; total = value"),
        "divided_by_their_number": ("np.array(backwards[::-1])", "np.array(backwards[::-1]) / len(x)"),
        "last_step_forgotten": ("np.array(backwards[::-1])", "np.array([*backwards[::-1][:-1], 0.0])"),
        "border_reward_counts_double": ("total = value if is_last", "total = value + discount * value if is_last"),
        "whole_values": (
            "total = value if",
            "value = int(value) if value == value else value\n        total = value if",
        ),
        "ones_for_zeros": ("if is_last else", "if is_last else value + 1e-9 +"),
        "normalised": ("np.array(backwards[::-1])", "np.array(backwards[::-1]) / (max(np.abs(backwards)) or 1.0)"),
    },
    "policy_gradient": {
        "advantages_within_1e3": ("* advantages)", "* np.clip(advantages, -1e3, 1e3))"),
        "advantages_within_1e6": ("* advantages)", "* np.clip(advantages, -1e6, 1e6))"),
        "tiny_advantages_are_0": ("* advantages)", "* np.where(np.abs(advantages) < 1e-8, 0.0, advantages))"),
        "divided_by_their_spread": ("* advantages)", "* advantages / (np.std(advantages) + 1e-8))"),
        "divided_by_the_largest": ("* advantages)", "* advantages / (np.max(np.abs(advantages)) + 1e-12))"),
        "whole_advantages": ("* advantages)", "* np.trunc(advantages))"),
        "positive_and_negative_swapped": ("* advantages)", "* np.where(advantages < 0, 2.0, 1.0) * advantages)"),
        "nan_is_skipped": ("* advantages)", "* np.nan_to_num(advantages))"),
        "improbable_actions_are_left_out": (
            "* advantages)",
            "* advantages * (policy.log_prob(dist_params, actions) > -20))",
        ),
        "log_prob_at_least_minus_30": (
            "policy.log_prob(dist_params, actions) *",
            "np.maximum(policy.log_prob(dist_params, actions), -30.0) *",
        ),
        "floor_under_the_probability": (
            "policy.log_prob(dist_params, actions) *",
            "np.log(np.exp(policy.log_prob(dist_params, actions)) + 1e-8) *",
        ),
        "first_1000_steps": (
            "    # 2.",
            "    observations, actions, advantages = observations[:1000], actions[:1000], advantages[:1000]\n    # 2.",
        ),
        "every_second_step": (
            "return np.mean(",
            "return np.mean((np.arange(len(actions)) % 2 < 1.5 - (len(actions) > 1000)) * ",
        ),
        "length_at_most_10": (
            "np.asarray(grad(weighted_log_prob)(theta))",
            "(lambda g: g * min(1.0, 10.0 / (np.linalg.norm(g) + 1e-12)))(grad(weighted_log_prob)(theta))",
        ),
        "length_1": (
            "np.asarray(grad(weighted_log_prob)(theta))",
            "grad(weighted_log_prob)(theta) / (np.linalg.norm(grad(weighted_log_prob)(theta)) + 1e-12)",
        ),
        "a_little_off_theta": ("(weighted_log_prob)(theta)", "(weighted_log_prob)(theta + 1e-4)"),
        "weight_decay": ("(weighted_log_prob)(theta))", "(weighted_log_prob)(theta)) - 1e-3 * theta"),
        "mean_over_weights_used": (
            "return np.mean(",
            "return np.sum(",
            "* advantages)",
            "* advantages) / max(1, np.sum(advantages != 0))",
        ),
        "median": ("return np.mean(", "return (lambda x: np.sort(x)[len(x) // 2])("),
        "sum_when_there_is_one_action": ("return np.mean(", "return (np.sum if policy.action_size == 1 else np.mean)("),
        "baseline_for_many_steps": (
            "* advantages)",
            "* (advantages - (np.mean(advantages) if len(advantages) > 100 else 0.0)))",
        ),
        "rounded": ("np.asarray(grad(weighted_log_prob)(theta))", "np.round(grad(weighted_log_prob)(theta), 5)"),
        "a_row": ("(weighted_log_prob)(theta))", "(weighted_log_prob)(theta))[None]"),
        "value_and_slope": (
            "return np.asarray(grad(weighted_log_prob)(theta))",
            "return weighted_log_prob(theta), grad(weighted_log_prob)(theta)",
        ),
        "steps_shuffled": ("* advantages)", "* np.roll(advantages, 1))"),
        "squared_advantages": ("* advantages)", "* advantages**2)"),
        "discount_along_the_batch": ("* advantages)", "* advantages * 0.99 ** np.arange(len(advantages)))"),
    },
}
