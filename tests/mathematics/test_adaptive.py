"""Lecture 09: the rule of adaptation against its statement, for returns of any sign."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState, Decision, adapt, clip, improved, turn
from minitrpo.algorithms.trpo import TRPOSettings

QUICK = settings(max_examples=100, deadline=None)
RETURNS = st.floats(-1e6, 1e6)
MARGINS = st.sampled_from([0.0, 0.05, 0.1, 1.0])
MODES = ("none", "steps", "kl", "both")
CONFIG = AdaptiveConfig(window=3)


def play(state, returns, config=CONFIG):
    """Return the state after every update and the decisions that fell."""
    states, decisions = [], []
    for value in returns:
        state, decision = adapt(state, value, config)
        states.append(state)
        decisions.append(decision)
    return states, decisions


def windows(levels, window=3):
    """Return mean returns whose windows have the given levels."""
    return [level for level in levels for _ in range(window)]


def directions(decisions):
    return [d.improved for d in decisions if d and d.improved is not None]


# --- the comparison


@given(RETURNS, RETURNS, MARGINS)
@QUICK
def test_improved_is_its_statement(recent, before, margin):
    assert improved(recent, before, margin) is (recent >= before + margin * abs(before))


@pytest.mark.parametrize(
    ("recent", "before", "margin", "expected"),
    [
        (110, 100, 0.1, True),  # positive: the limit itself counts
        (109, 100, 0.1, False),
        (-90, -100, 0.1, True),  # negative: better means closer to 0
        (-91, -100, 0.1, False),
        (-110, -100, 0.1, False),  # worse by a tenth is not better by a tenth
        (1, -1, 0.1, True),  # over zero
        (-1, 1, 0.1, False),
        (0, 0, 0.1, True),
        (-0.001, 0, 0.1, False),
        (0.001, 0, 0.1, True),
        (100, 100, 0.0, True),  # margin 0: not worse is enough
        (-100, -100, 0.0, True),
    ],
)
def test_improved_by_hand(recent, before, margin, expected):
    assert improved(recent, before, margin) is expected


def test_the_authors_first_rule_went_wrong_below_zero():
    """`if recent < last * 1.1: stuck` takes a fall from -100 to -105 for an improvement, as -105 > -110."""
    last, recent = -100.0, -105.0
    authors_stuck = recent < last * 1.1
    assert not authors_stuck
    assert not improved(recent, last, 0.1)
    last, recent = 100.0, 105.0  # above zero the two agree
    assert recent < last * 1.1
    assert not improved(recent, last, 0.1)


@given(RETURNS, RETURNS, MARGINS)
@QUICK
def test_better_than_an_improvement_is_an_improvement(recent, before, margin):
    assume(improved(recent, before, margin))
    assert improved(recent + 1.0, before, margin)
    assert improved(recent, before, 0.0)


# --- the controller


@given(st.lists(RETURNS, min_size=6, max_size=12), st.integers(-10, 10), MARGINS)
@QUICK
def test_the_unit_of_the_returns_does_not_matter(returns, exponent, margin):
    """Powers of two, so that rounding cannot turn a tie."""
    config = replace(CONFIG, margin=margin)
    _, plain = play(AdaptiveState(5000, 0.005), returns, config)
    _, scaled = play(AdaptiveState(5000, 0.005), [value * 2.0**exponent for value in returns], config)
    assert directions(plain) == directions(scaled)


@given(st.lists(RETURNS, min_size=1, max_size=25), st.integers(1, 6))
@QUICK
def test_decisions_fall_at_the_end_of_every_window_but_the_first_compares_nothing(returns, window):
    states, decisions = play(AdaptiveState(5000, 0.005), returns, replace(CONFIG, window=window))
    for update, (state, decision) in enumerate(zip(states, decisions, strict=True), 1):
        assert (decision is not None) is (update % window == 0)
        assert len(state.returns) == update % window
        if update == window:
            assert decision.improved is None
        if update < 2 * window:
            assert (state.steps_per_update, state.max_kl) == (5000, 0.005)
        if decision:
            assert decision.recent == pytest.approx(sum(returns[update - window : update]))
            assert state.before == decision.recent


@given(st.lists(RETURNS, min_size=2, max_size=10), MARGINS)
@QUICK
def test_decisions_compare_neighbouring_windows(levels, margin):
    config = replace(CONFIG, window=1, margin=margin)
    _, decisions = play(AdaptiveState(5000, 0.005), levels, config)
    for decision, before, recent in zip(decisions[1:], levels, levels[1:], strict=False):
        assert (decision.before, decision.recent) == (before, recent)
        assert decision.threshold == before + margin * abs(before)
        assert decision.improved is improved(recent, before, margin)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("better", "sign"), [(True, 1), (False, -1)])
def test_a_mode_turns_its_settings_and_no_others(mode, better, sign):
    steps, kl = turn(5000, 0.005, better, AdaptiveConfig(mode=mode))
    assert steps == 5000 - sign * 300 * (mode in ("steps", "both"))
    assert kl == pytest.approx(0.005 + sign * 0.0005 * (mode in ("kl", "both")), abs=1e-12)
    assert isinstance(steps, int)


@pytest.mark.parametrize("mode", MODES)
def test_decisions_report_the_settings_after_them(mode):
    states, decisions = play(AdaptiveState(5000, 0.005), windows([1, 2, 1]), replace(CONFIG, mode=mode))
    for state, decision in zip(states, decisions, strict=True):
        if decision:
            assert (decision.steps_per_update, decision.max_kl) == (state.steps_per_update, state.max_kl)
    assert directions(decisions) == [True, False]


@given(
    start=st.tuples(st.integers(1, 50_000), st.integers(1, 400)),
    turns=st.lists(st.booleans(), min_size=1, max_size=60),
    mode=st.sampled_from(MODES),
)
@QUICK
def test_settings_stay_within_their_limits_and_never_jump(start, turns, mode):
    """Inside the limits they stay inside; a start outside may only move towards them, one step at a time."""
    config = AdaptiveConfig(mode=mode)
    steps, kl = start[0], start[1] * 1e-4
    for better in turns:
        new_steps, new_kl = turn(steps, kl, better, config)
        assert abs(new_steps - steps) <= 300
        assert abs(new_kl - kl) <= 0.0005 + 1e-12
        for old, new, (low, high) in ((steps, new_steps, config.steps_limits), (kl, new_kl, config.kl_limits)):
            assert min(low, old) - 1e-12 <= new <= max(high, old) + 1e-12
        steps, kl = new_steps, new_kl


@pytest.mark.parametrize(
    ("old", "new", "clipped"),
    [(5, 6, 6), (9, 12, 10), (2, -1, 1), (20, 19, 19), (20, 21, 20), (0, -1, 0), (0, 1, 1), (-5, -3, -3)],
)
def test_clip_by_hand(old, new, clipped):
    assert clip(old, new, (1, 10)) == clipped


@given(st.integers(1900, 19_100), st.integers(25, 85), st.lists(st.booleans(), max_size=3))
@QUICK
def test_up_and_down_again_is_where_it_was(steps, tenths, turns):
    kl = tenths / 10_000
    there = (steps, kl)
    for better in [*turns, *(not t for t in reversed(turns))]:
        there = turn(*there, better, AdaptiveConfig())
    assert there == (steps, kl)


def test_improving_means_fewer_steps_and_a_larger_kl_stuck_the_reverse():
    states, decisions = play(AdaptiveState(5000, 0.005), windows([-100, -90, -80, -80, -200, 0]))
    assert directions(decisions) == [True, True, False, False, True]
    assert [s.steps_per_update for s in states[2::3]] == [5000, 4700, 4400, 4700, 5000, 4700]
    assert [s.max_kl for s in states[2::3]] == pytest.approx([0.005, 0.0055, 0.006, 0.0055, 0.005, 0.0055])


def test_margin_0_calls_a_plateau_improving_and_a_margin_does_not():
    plateau = windows([10, 10, 10])
    assert directions(play(AdaptiveState(5000, 0.005), plateau, replace(CONFIG, margin=0.0))[1]) == [True, True]
    assert directions(play(AdaptiveState(5000, 0.005), plateau, CONFIG)[1]) == [False, False]


def test_adapt_is_pure():
    state = AdaptiveState(5000, 0.005, (1.0, 2.0), 3.0)
    assert adapt(state, 4.0, CONFIG) == adapt(state, 4.0, CONFIG)
    assert state == AdaptiveState(5000, 0.005, (1.0, 2.0), 3.0)


def test_it_can_be_interrupted_anywhere():
    """AdaptiveState is all there is: a controller made of its numbers goes on as if nothing had happened."""
    returns = np.random.default_rng(0).standard_normal(20)
    states, decisions = play(AdaptiveState(5000, 0.005), returns)
    for update, s in enumerate(states[:-1]):
        copy = AdaptiveState(s.steps_per_update, s.max_kl, tuple(s.returns), s.before)
        assert play(copy, returns[update + 1 :]) == (states[update + 1 :], decisions[update + 1 :])


def test_the_text_of_a_decision_names_its_numbers():
    _, decisions = play(AdaptiveState(5000, 0.005), windows([-100, -90, -95]))
    first, better, worse = (str(d) for d in decisions if d)
    assert "-300" in first
    assert "nothing to compare" in first
    assert all(text in better for text in ("improved", "-270", ">=", "-285", "before: -300", "4700", "0.0055"))
    assert all(text in worse for text in ("stuck", "-285", "<", "-256.5", "before: -270", "5000", "0.005"))
    assert str(Decision(True, 1.0, 2.0, 1.05, 4700, 0.0055)).startswith("adapt: improved, 2 >= 1.05 (before: 1)")


def test_the_rule_by_itself_is_the_one_that_train_applies():
    assert TRPOSettings(adapt="both").rule == AdaptiveConfig()
    assert TRPOSettings().rule.mode == "none"
