"""Wrong answers to the exercises of lecture 12, mostly edits of the right source, and right ones in other styles."""

from itertools import pairwise

import autograd.numpy as anp
import numpy as np
from autograd import grad

from minitrpo.algorithms.batch_ppo import minibatches, objective_slope
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import adam
from minitrpo.policy_gradient import policy_gradient

# ---- clipped_objective

LEFT, RIGHT_SIDE = "ratio * advantages, ", "np.clip(ratio, 1 - clip, 1 + clip) * advantages"
WHOLE = f"np.minimum({LEFT}{RIGHT_SIDE})"

OBJECTIVE = {
    "minimum_before_the_product": ((WHOLE, "np.minimum(ratio, np.clip(ratio, 1 - clip, 1 + clip)) * advantages"),),
    "larger_product": (("np.minimum", "np.maximum"),),
    "clipped_everywhere": ((WHOLE, RIGHT_SIDE),),
    "never_clipped": ((WHOLE, "ratio * advantages"),),
    "a_loss": (("np.minimum", "-np.minimum"),),
    "clips_the_product": ((RIGHT_SIDE, "np.clip(ratio * advantages, 1 - clip, 1 + clip)"),),
    "from_above_only": (("np.clip(ratio, 1 - clip, 1 + clip)", "np.minimum(ratio, 1 + clip)"),),
    "from_below_only": (("np.clip(ratio, 1 - clip, 1 + clip)", "np.maximum(ratio, 1 - clip)"),),
    "around_0": (("1 - clip, 1 + clip", "-clip, clip"),),
    "one_over": (("1 - clip", "1 / (1 + clip)"),),
    "absolute_advantages": (("advantages)", "np.abs(advantages))"), (LEFT, "ratio * np.abs(advantages), ")),
    "zero_beyond": ((WHOLE, "np.where(np.abs(ratio - 1) > clip, 0, ratio * advantages)"),),
    "of_a_logarithm": ((WHOLE, WHOLE.replace("ratio", "np.exp(ratio)")),),
    "their_mean": (("np.minimum", "np.mean(np.minimum"), ("* advantages)", "* advantages))")),
    "half_the_clip": (("1 - clip, 1 + clip", "1 - clip / 2, 1 + clip / 2"),),
    "clip_of_a_fifth": (("1 - clip, 1 + clip", "0.8, 1.2"),),
    "log_ratio_capped": ((WHOLE, WHOLE.replace("ratio", "np.clip(ratio, 1e-6, 1e6)")),),
    "rounded": ((WHOLE, f"np.round({WHOLE}, 6)"),),
    "whole_numbers": ((WHOLE, f"{WHOLE}.astype(advantages.dtype)"),),
    "standardises_first": (
        ("return ", "advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)\n    return "),
    ),
    "sign_of_the_advantage_only": ((WHOLE, WHOLE.replace("advantages", "np.sign(advantages)")),),
    "clips_where_all_are_beyond": ((WHOLE, f"({WHOLE} if np.all(np.abs(ratio - 1) > clip) else ratio * advantages)"),),
    "spoils_the_ratio": (
        ("return ", "advantages = advantages * 1.0\n    np.clip(ratio, 1 - clip, 1 + clip, out=ratio)\n    return "),
    ),
    "in_half_precision": ((WHOLE, f"({WHOLE}).astype(np.float32)"),),
}


def by_the_sign_alone(ratio, advantages, clip):
    """The border of a good action is right, that of a bad one is on the wrong side."""
    return np.where(advantages > 0, np.minimum(ratio, 1 + clip), np.minimum(ratio, 1 - clip)) * advantages


def clip_by_sign(ratio, advantages, clip):
    """A useful identity: up to 1 + e for a good action, down to 1 - e for a bad one."""
    border = np.where(advantages > 0, 1 + clip, 1 - clip)
    return np.where((ratio - border) * advantages > 0, border, ratio) * advantages


def objective_in_a_loop(ratio, advantages, clip):
    result = np.zeros(len(ratio))
    for i, (r, a) in enumerate(zip(ratio.tolist(), advantages.tolist(), strict=True)):
        held = max(1 - clip, min(r, 1 + clip))
        result[i] = min(r * a, held * a)
    return result


def min_over_rows(ratio, advantages, clip):
    return np.min([ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages], axis=0)


# ---- objective_slope

TEST = "clipped_objective(ratio, advantages, clip) < slope"
CORNERS = "np.where(advantages > 0, ratio > 1 + clip, ratio < 1 - clip)"

SLOPE = {
    "slope_in_the_ratio": (("slope = ratio * advantages", "slope = advantages * 1.0"),),
    "all_four_corners": ((TEST, "np.abs(ratio - 1) > clip"),),
    "the_wrong_two": ((TEST, "np.where(advantages < 0, ratio > 1 + clip, ratio < 1 - clip)"),),
    "without_a_clip": ((TEST, "np.zeros(len(slope), bool)"),),
    "bad_ones_only": ((TEST, "(advantages < 0) & (ratio < 1 - clip)"),),
    "good_ones_only": ((TEST, "(advantages > 0) & (ratio > 1 + clip)"),),
    "large_ratios_always": ((TEST, "(ratio > 1 + clip) | (advantages < 0) & (ratio < 1 - clip)"),),
    "small_ratios_always": ((TEST, "(ratio < 1 - clip) | (advantages > 0) & (ratio > 1 + clip)"),),
    "large_ratios_only": ((TEST, "ratio > 1 + clip"),),
    "clipped_times_advantage": (("slope = ratio", "slope = np.clip(ratio, 1 - clip, 1 + clip)"),),
    "the_objective": ((" = 0.0", f" = (np.clip(ratio, 1 - clip, 1 + clip) * advantages)[{TEST}]"),),
    "downhill": (("slope = ratio", "slope = -ratio"),),
    "of_the_mean": (("return slope", "return slope / len(slope)"),),
    "absolute": (("return slope", "return np.abs(slope)"),),
    "border_included": ((TEST, "np.where(advantages > 0, ratio >= 1 + clip, ratio <= 1 - clip)"),),
    "upper_border_included": ((TEST, CORNERS.replace("ratio > 1", "ratio >= 1")),),
    "lower_border_included": ((TEST, CORNERS.replace("ratio < 1", "ratio <= 1")),),
    "a_little_slack": ((TEST, CORNERS.replace("1 + clip", "1 + clip + 1e-8")),),
    "tiny_advantages_are_none": ((TEST, f"({TEST}) | (np.abs(advantages) < 1e-6)"),),
    "a_ratio_of_1": (("slope = ratio * advantages", "slope = 1.0 * advantages"),),
    "capped_ratios": (("slope = ratio", "slope = np.minimum(ratio, 20.0)"),),
    "one_over_as_border": ((TEST, CORNERS.replace("1 - clip", "1 / (1 + clip)")),),
    "of_two_means": (("return slope", "return slope - slope.mean()"),),
    "spoils_the_ratio": (
        ("slope = ratio * advantages", "slope = ratio\n    slope *= advantages"),
        (TEST, "np.where(advantages > 0, slope / (advantages + 1e-300) > 1 + clip, slope < advantages * 0)"),
    ),
    "integers_in_integers_out": (
        ("slope = ratio * advantages", "slope = np.zeros_like(advantages)\n    slope[:] = ratio * advantages"),
    ),
}


def by_finite_differences_of_the_ratio(ratio, advantages, clip):
    """The slope in the ratio, not in its logarithm."""

    def objective(r):
        return np.minimum(r * advantages, np.clip(r, 1 - clip, 1 + clip) * advantages)

    return (objective(ratio + 1e-6) - objective(ratio - 1e-6)) / 2e-6


def slope_in_a_loop(ratio, advantages, clip):
    result = []
    for r, a in zip(ratio, advantages, strict=True):
        done = (a > 0 and r > 1 + clip) or (a < 0 and r < 1 - clip)
        result.append(0.0 if done else r * a)
    return np.array(result)


def slope_where_the_minimum_is(ratio, advantages, clip):
    """The slope of the product that is the smaller one; within the clip both are the same."""
    free, held = ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages
    return np.where(free <= held, free, 0.0)


def slope_by_masks(ratio, advantages, clip):
    good, bad = advantages > 0, advantages < 0
    moves = ~((good & (ratio > 1 + clip)) | (bad & (ratio < 1 - clip)))
    return np.multiply(np.multiply(ratio, advantages), moves)


# ---- cuts


def cuts_by_simulator(ended):
    rows = []
    for n, column in enumerate(ended.T):
        stops = [*(np.flatnonzero(column) + 1).tolist()]
        if len(column) > (stops[-1] if stops else 0):
            stops.append(len(column))
        rows += [(n, a, b) for a, b in pairwise([0, *stops])]
    return np.array(rows, dtype=int).reshape(-1, 3)


def cuts_step_by_step(ended):
    steps, simulators = ended.shape
    rows = []
    for n in range(simulators):
        first = 0
        for t in range(steps):
            if ended[t, n] or t == steps - 1:
                rows.append([n, first, t + 1])
                first = t + 1
    return np.asarray(rows, dtype=np.int64).reshape(len(rows), 3)


def cuts_by_splitting(ended):
    steps, simulators = ended.shape
    rows = []
    for n in range(simulators):
        for part in np.split(np.arange(steps), np.flatnonzero(ended[:-1, n]) + 1):
            rows += [(n, part[0], part[-1] + 1)] if len(part) else []
    return np.array(rows, dtype=int).reshape(-1, 3)


CUTS = {
    "loses_what_goes_on": (("stops[-1:] = True", "pass"),),
    "last_instead_of_stop": (("last + 1], axis=1", "last], axis=1"),),
    "lengths": (("last + 1], axis=1", "last + 1 - first], axis=1"),),
    "no_ends": (("stops = ended.copy()", "stops = np.zeros_like(ended)"),),
    "exchanged_axes": (("stops = ended.copy()", "stops = ended.T.copy()"),),
    "begins_at_the_end": (("np.roll(last + 1, 1)", "np.roll(last, 1)"),),
    "begins_one_late": (("np.roll(last + 1, 1)", "np.roll(last + 2, 1)"),),
    "in_order_of_time": (
        ("np.nonzero(stops.T)", "(lambda t, n: (n, t))(*np.nonzero(stops))"),
        ("np.roll(last + 1, 1)", "0 * last"),
    ),
    "first_simulator_only": (("np.nonzero(stops.T)", "np.nonzero(stops.T[:1])"),),
    "leaks_from_the_simulator_before": (("np.where(np.diff(simulators, prepend=-1) == 0, ", "np.where(last >= 0, "),),
    "always_from_0": (("np.roll(last + 1, 1), 0)", "0, 0)"),),
    "columns_in_another_order": (("[simulators, first, last + 1]", "[first, last + 1, simulators]"),),
    "as_columns": (("axis=1", "axis=0"),),
    "as_floats": (("return np.stack", "return 1.0 * np.stack"),),
    "spoils_the_mask": (("ended.copy()", "ended"),),
    "cut_before_the_end": (("stops = ended.copy()", "stops = np.roll(ended, -1, axis=0)"),),
    "counts_through": (
        ("last = np.nonzero(stops.T)", "last = np.nonzero(stops.T)\n    last = last + simulators * len(ended)"),
    ),
    "bytes_only": (("axis=1)", "axis=1).astype(np.uint8)"),),
    "no_single_steps": (
        ("return np.stack", "kept = last + 1 - first > 1\n    return np.stack"),
        ("axis=1)", "axis=1)[kept]"),
    ),
    "ends_in_all_at_once": (("ended.copy()", "np.repeat(ended.any(axis=1, keepdims=True), ended.shape[1], axis=1)"),),
    "first_end_only": (("ended.copy()", "ended & (np.cumsum(ended, axis=0) == 1)"),),
}


def an_empty_one_at_the_end(ended):
    rows = []
    for n in range(ended.shape[1]):
        bounds = [0, *(np.flatnonzero(ended[:, n]) + 1), len(ended)]
        rows += [(n, a, b) for a, b in pairwise(bounds)]
    return np.array(rows)


# ---- climb

ORDER = "order = np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size))"
EPOCH, ROWS, STEP = "for _ in range(epochs):", "for rows in order:", "theta = theta + step"
OLD = "old_log_prob = LogProbability(policy, theta, observations, actions).log_prob"
NOW = "now = LogProbability(policy, theta, observations[rows], actions[rows])"
RATIO, MEAN = "np.exp(now.log_prob - old_log_prob[rows])", "objective_slope(ratio, advantages[rows], clip) / size"
ADAM = "memory, step = adam(memory, gradient, step_size)"

CLIMB = {
    "old_of_each_epoch": ((EPOCH, f"{EPOCH}\n        {OLD}"),),
    "old_of_each_minibatch": ((NOW, f"{OLD}\n            {NOW}"),),
    "old_follows_by_one_step": ((STEP, f"{OLD}\n            {STEP}"),),
    "upside_down": ((RATIO, "np.exp(old_log_prob[rows] - now.log_prob)"),),
    "difference_of_logarithms": ((RATIO, "now.log_prob - old_log_prob[rows]"),),
    "first_order_ratio": ((RATIO, f"1 + np.log({RATIO})"),),
    "one_order_for_all_epochs": (
        (ORDER, "order = dealt"),
        (EPOCH, f"{ORDER.replace('order =', 'dealt =')}\n    {EPOCH}"),
    ),
    "same_seed_in_every_epoch": ((ORDER, f"rng = np.random.default_rng(0)\n        {ORDER}"),),
    "in_order": (("rng.permutation(len(advantages))", "np.arange(len(advantages))"),),
    "a_generator_of_its_own": ((EPOCH, f"rng = np.random.default_rng(0)\n    {EPOCH}"),),
    "with_replacement": (("rng.permutation(len(advantages))", "rng.choice(len(advantages), len(advantages))"),),
    "sorted_minibatches_backwards": ((ROWS, "for rows in order[::-1]:"),),
    "dealt_like_cards": (
        (ORDER, ORDER.replace("(-(-len(advantages) // size), size))", "(size, -(-len(advantages) // size))).T")),
    ),
    "rest_dropped": (
        (ORDER, "order = rng.permutation(len(advantages))[: len(advantages) // size * size].reshape(-1, size)"),
    ),
    "rest_dropped_by_rounding": (("-(-len(advantages) // size)", "len(advantages) // size"),),
    "one_minibatch_too_many": (("-(-len(advantages) // size)", "len(advantages) // size + 1"),),
    "overlap_of_one": (
        (ORDER, "p = rng.permutation(len(advantages))"),
        (ROWS, "for rows in [np.resize(np.roll(p, -i), size) for i in range(0, len(p), max(size - 1, 1))]:"),
    ),
    "short_rest": (
        (ORDER, "p = rng.permutation(len(advantages))"),
        (ROWS, "for rows in [p[i : i + size] for i in range(0, len(p), size)]:"),
        (MEAN, MEAN.replace("size", "len(rows)")),
    ),
    "filled_up_with_the_last_row": (
        (
            ORDER,
            "p = rng.permutation(len(advantages))\n        "
            "order = np.pad(p, (0, -len(p) % size), mode='edge').reshape(-1, size)",
        ),
    ),
    "one_random_minibatch": ((ORDER, "order = [rng.permutation(len(advantages))[:size]]"),),
    "whole_batch": ((ORDER, "order = [rng.permutation(len(advantages))]"),),
    "one_epoch": ((EPOCH, "for _ in range(min(1, epochs)):"),),
    "one_epoch_less": ((EPOCH, "for _ in range(1, epochs):"),),
    "ten_epochs_always": ((EPOCH, "for _ in range(10):"),),
    "averages_instead_of_steps": (
        (STEP, "steps.append(step)\n        theta = theta + np.mean(steps, axis=0)"),
        (ROWS, f"steps = []\n        {ROWS}"),
    ),
    "averages_gradients": (
        (STEP, f"pass\n        {ADAM.replace('gradient', 'np.mean(found, axis=0)')}\n        {STEP}"),
        (ADAM, "found.append(gradient)"),
        (ROWS, f"found = []\n        {ROWS}"),
    ),
    "averages_the_thetas": (
        (STEP, f"{STEP}\n            seen.append(theta)\n        theta = np.mean(seen, axis=0)"),
        (ROWS, f"seen = [theta]\n        {ROWS}"),
    ),
    "gradients_of_the_epochs_begin": ((NOW, NOW.replace("theta", "start")), (EPOCH, f"{EPOCH}\n        start = theta")),
    "gradients_of_the_old_policy": ((NOW, NOW.replace("theta", "start")), (EPOCH, f"start = theta\n    {EPOCH}")),
    "theta_never_moves": ((STEP, "pass"),),
    "last_step_only": ((STEP, "pass\n    theta = theta + step"),),
    "forgets_adam": ((ADAM, ADAM.replace("memory, step", "_, step")),),
    "adam_anew_each_epoch": ((EPOCH, f"given = memory\n    {EPOCH}\n        memory = given"),),
    "downhill": ((STEP, "theta = theta - step"),),
    "plain_gradient": ((STEP, "theta = theta + step_size * gradient"),),
    "sum": ((MEAN, MEAN.replace(" / size", "")),),
    "divided_by_all": ((MEAN, MEAN.replace("size", "len(advantages)")),),
    "no_clip": ((MEAN, MEAN.replace("clip", "np.inf")),),
    "clip_of_a_fifth": ((MEAN, MEAN.replace("clip", "0.2")),),
    "ratio_of_one_in_the_slope": ((MEAN, MEAN.replace("ratio", "np.ones(size)")),),
    "advantages_of_other_rows": ((MEAN, MEAN.replace("[rows]", "[:size]")),),
    "actions_of_other_rows": ((NOW, NOW.replace("actions[rows]", "actions[:size]")),),
    "old_of_other_rows": ((RATIO, RATIO.replace("[rows]", "[:size]")),),
    "standardised_per_minibatch": (
        (
            MEAN,
            "objective_slope(ratio, (advantages[rows] - advantages[rows].mean()) "
            "/ (advantages[rows].std() + 1e-8), clip) / size",
        ),
    ),
    "gradient_cut_to_a_length": (
        (ADAM, f"gradient = gradient * min(1, 0.05 / np.linalg.norm(gradient))\n            {ADAM}"),
    ),
    "pytorchs_epsilon": ((ADAM, ADAM.replace("step_size)", "step_size, epsilon=1e-5)")),),
    "step_size_falls": ((ADAM, ADAM.replace("step_size)", "step_size / (1 + _))")),),
    "objective_instead_of_slope": (
        (MEAN, MEAN.replace("objective_slope", "(lambda r, a, c: np.clip(r, 1 - c, 1 + c) * a)")),
    ),
    "spoils_theta": ((STEP, "theta += step"),),
    "stops_at_a_kl": ((ROWS, f"if epochs > 4 and _ > 3:\n            break\n        {ROWS}"),),
    "single_precision": ((STEP, "theta = (theta + step).astype(np.float32)"),),
}


def minibatches_between_epochs(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    """One long shuffle of all epochs: rows of two epochs meet in a minibatch."""
    observations, actions, advantages = batch
    old = LogProbability(policy, theta, observations, actions).log_prob
    rows_of_all = np.concatenate([rng.permutation(len(advantages)) for _ in range(epochs)] or [np.zeros(0, int)])
    for start in range(0, len(rows_of_all), size):
        rows = rows_of_all[start : start + size]
        now = LogProbability(policy, theta, observations[rows], actions[rows])
        slopes = objective_slope(np.exp(now.log_prob - old[rows]), advantages[rows], clip) / len(rows)
        memory, step = adam(memory, now.weighted_gradient(slopes), step_size)
        theta = theta + step
    return theta, memory


def climb_by_concatenation(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    observations, actions, advantages = batch
    n = len(advantages)
    old = policy.log_prob(policy.distribution(theta, observations), actions)
    for _ in range(epochs):
        order = rng.permutation(n)
        order = np.concatenate([order, order[: -n % size]])
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            now = LogProbability(policy, theta, observations[rows], actions[rows])
            weights = objective_slope(np.exp(now.log_prob - old[rows]), advantages[rows], clip) / len(rows)
            memory, step = adam(memory, now.weighted_gradient(weights), step_size)
            theta = theta + step
    return theta, memory


def climb_by_policy_gradient(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    """Lecture 01's gradient, with slopes in place of advantages."""
    observations, actions, advantages = batch
    old = policy.log_prob(policy.distribution(theta, observations), actions)
    for _ in range(epochs):
        for rows in minibatches(rng, len(advantages), size):
            o, a = observations[rows], actions[rows]
            ratio = np.exp(policy.log_prob(policy.distribution(theta, o), a) - old[rows])
            gradient = policy_gradient(policy, theta, o, a, objective_slope(ratio, advantages[rows], clip))
            memory, step = adam(memory, gradient, step_size)
            theta = theta + step
    return theta, memory


def climb_by_autograd(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
    """The gradient of the clipped objective itself."""
    observations, actions, advantages = batch
    old = policy.log_prob(policy.distribution(theta, observations), actions)

    def objective(theta, rows):
        new = policy.log_prob(policy.distribution(theta, observations[rows]), actions[rows])
        ratio, A = anp.exp(new - old[rows]), advantages[rows]
        held = anp.where(A > 0, anp.minimum(ratio, 1 + clip), anp.maximum(ratio, 1 - clip))
        return anp.mean(held * A)

    for _ in range(epochs):
        for rows in minibatches(rng, len(advantages), size):
            memory, step = adam(memory, grad(objective)(theta, rows), step_size)
            theta = theta + step
    return theta, memory


WRONG = {
    "clipped_objective": [by_the_sign_alone],
    "objective_slope": [by_finite_differences_of_the_ratio],
    "cuts": [an_empty_one_at_the_end],
    "climb": [minibatches_between_epochs],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    name: {what: tuple(text for change in changes for text in change) for what, changes in edits.items()}
    for name, edits in (("clipped_objective", OBJECTIVE), ("objective_slope", SLOPE), ("cuts", CUTS), ("climb", CLIMB))
}

RIGHT = {
    "clipped_objective": [clip_by_sign, objective_in_a_loop, min_over_rows],
    "objective_slope": [slope_in_a_loop, slope_where_the_minimum_is, slope_by_masks],
    "cuts": [cuts_by_simulator, cuts_step_by_step, cuts_by_splitting],
    "climb": [climb_by_concatenation, climb_by_policy_gradient, climb_by_autograd],
}
