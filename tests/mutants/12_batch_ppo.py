"""Wrong answers to the exercises of lecture 12, mostly edits of the right source, and right ones in other styles."""

from itertools import pairwise

import numpy as np

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


# ---- values_after

CHOICE = '{"zero": np.zeros_like(final_values), "next": first_values}.get(reading, final_values)'


def done_is_done(reading, values, final_values, first_values, last, terminated):
    """One flag for both ends, as before 2020."""
    after = np.append(values[1:], 0.0)
    after[last] = final_values if reading == "literal" else 0.0
    return after


def values_fragment_by_fragment(reading, values, final_values, first_values, last, terminated):
    after, start = np.zeros(len(values)), 0
    for k, stop in enumerate(np.flatnonzero(last)):
        after[start:stop] = values[start + 1 : stop + 1]
        if reading == "literal":
            after[stop] = final_values[k]
        elif terminated[stop] or reading == "zero":
            after[stop] = 0
        else:
            after[stop] = first_values[k] if reading == "next" else final_values[k]
        start = stop + 1
    return after


def values_by_where(reading, values, final_values, first_values, last, terminated):
    which = np.maximum(np.cumsum(last) - 1, 0)
    behind = (first_values if reading == "next" else final_values)[which].astype(float)
    over = {"zero": last, "final": terminated, "next": terminated, "literal": np.zeros_like(last)}[reading]
    return np.where(over, 0.0, np.where(last, behind, np.roll(values, -1)))


def values_by_match(reading, values, final_values, first_values, last, terminated):
    after = np.concatenate([values[1:], values[:1]]).astype(float)
    match reading:
        case "zero":
            after[last] = 0.0
        case "final":
            after[last] = final_values
            after[terminated] = 0.0
        case "next":
            after[last] = np.where(terminated[last], 0.0, first_values)
        case "literal":
            after[last] = final_values
    return after


VALUES = {
    "always_final": ((CHOICE, "final_values"), ('if reading != "literal":', "if True:")),
    "always_zero": ((CHOICE, "0.0"),),
    "next_is_final": (('"next": first_values', '"next": final_values'),),
    "next_survives_the_end": (('if reading != "literal":', 'if reading not in ("literal", "next"):'),),
    "zero_survives_a_cut": (('"zero": np.zeros_like(final_values), ', ""),),
    "literal_dies": (('if reading != "literal":', "if True:"),),
    "nothing_dies": (('if reading != "literal":', "if False:"),),
    "final_is_literal": (('if reading != "literal":', 'if reading not in ("literal", "final"):'),),
    "literal_asks_the_next": (('"next": first_values', '"next": first_values, "literal": first_values'),),
    "leaks": (("after[last] = " + CHOICE, "pass"),),
    "leaks_but_at_the_end": (("after[last] = " + CHOICE, f"after[-1] = np.ravel({CHOICE})[-1]"),),
    "one_place_to_the_right": (("np.append(values[1:], 0.0)", "np.append(0.0, values[:-1])"),),
    "own_values": (("np.append(values[1:], 0.0)", "values.astype(float)"),),
    "fragments_in_reverse": ((CHOICE, f"({CHOICE})[::-1]"),),
    "the_first_fragments": ((CHOICE, f"({CHOICE})[0]"),),
    "the_last_fragments": ((CHOICE, f"({CHOICE})[-1]"),),
    "the_mean_of_them": ((CHOICE, f"np.mean({CHOICE})"),),
    "whole_numbers": (("np.append(values[1:], 0.0)", "np.append(values[1:], 0.0).astype(int)"),),
    "cut_is_death_in_next": (("if reading", 'if reading == "next":\n        after[last] = 0.0\n    if reading'),),
    "zero_only_at_the_end_of_all": (
        (CHOICE, CHOICE.replace("np.zeros_like(final_values)", "np.append(final_values[:-1], 0.0)")),
    ),
    "one_step_early": (("after[terminated] = 0.0", "after[:-1][terminated[1:]] = 0.0"),),
    "everything_behind_dies": (("after[terminated] = 0.0", "after[np.cumsum(terminated) > 0] = 0.0"),),
    "spoils_the_values": (("np.append(values[1:], 0.0)", "values\n    after[:-1] = values[1:]"),),
}


WRONG = {
    "clipped_objective": [by_the_sign_alone],
    "objective_slope": [by_finite_differences_of_the_ratio],
    "cuts": [an_empty_one_at_the_end],
    "values_after": [done_is_done],
}

# the right source with something changed: {exercise: {what: (old text, new text, ...)}}
EDITS = {
    name: {what: tuple(text for change in changes for text in change) for what, changes in edits.items()}
    for name, edits in (
        ("clipped_objective", OBJECTIVE),
        ("objective_slope", SLOPE),
        ("cuts", CUTS),
        ("values_after", VALUES),
    )
}

RIGHT = {
    "clipped_objective": [clip_by_sign, objective_in_a_loop, min_over_rows],
    "objective_slope": [slope_in_a_loop, slope_where_the_minimum_is, slope_by_masks],
    "cuts": [cuts_by_simulator, cuts_step_by_step, cuts_by_splitting],
    "values_after": [values_fragment_by_fragment, values_by_where, values_by_match],
}
