"""Lecture 09a: the rule of adaptation against its statement, for returns of any sign, whenever it is interrupted."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState, adapt, clip, improved, turn
from minitrpo.algorithms.trpo_settings import TRPOSettings, one_way

QUICK = settings(max_examples=50)
RETURNS = st.floats(-1e6, 1e6)
MARGINS = st.sampled_from([0.0, 0.05, 0.1, 1.0])
CONFIG = AdaptiveConfig(window=3)


def play(state, returns, config=CONFIG):
    """Return the state after every update and the decisions that fell."""
    states, decisions = [], []
    for value in returns:
        state, decision = adapt(state, value, config)
        states.append(state)
        decisions.append(decision)
    return states, decisions


def directions(decisions):
    return [d.improved for d in decisions if d and d.improved is not None]


@given(RETURNS, RETURNS, MARGINS)
@QUICK
def test_improved_is_its_statement_for_any_signs(recent, before, margin):
    assert improved(recent, before, margin) is (recent >= before + margin * abs(before))
    assert improved(before + margin * abs(before), before, margin), "the limit itself counts"


def test_the_authors_first_rule_went_wrong_below_zero():
    """`if recent < last * 1.1: stuck` takes a fall from -100 to -105 for an improvement, as -105 > -110."""
    for last, recent, authors in ((-100.0, -105.0, True), (100.0, 105.0, False)):
        assert (recent >= last * 1.1) is authors
        assert not improved(recent, last, 0.1)


@given(st.lists(RETURNS, min_size=1, max_size=25), st.integers(1, 6), MARGINS)
@QUICK
def test_every_window_is_compared_with_the_one_before_and_nothing_else_decides(returns, window, margin):
    config = replace(CONFIG, window=window, margin=margin)
    states, decisions = play(AdaptiveState(5000, 0.005), returns, config)
    there, before = (5000, 0.005), None
    for update, (state, decision) in enumerate(zip(states, decisions, strict=True), 1):
        assert (decision is not None) is (update % window == 0)
        assert len(state.returns) == update % window
        if decision:
            recent = sum(returns[update - window : update])
            threshold = None if before is None else before + margin * abs(before)
            assert decision.recent == state.before == pytest.approx(recent)
            assert (decision.before, decision.threshold) == (before, threshold)
            assert decision.improved is (None if before is None else decision.recent >= threshold)
            there = there if before is None else turn(*there, decision.improved, config)
            assert (decision.steps_per_update, decision.max_kl) == there
            before = decision.recent
        assert (state.steps_per_update, state.max_kl) == there


@given(
    start=st.tuples(st.integers(1, 50_000), st.integers(1, 400)),
    turns=st.lists(st.booleans(), min_size=1, max_size=60),
    mode=st.sampled_from(["none", "steps", "kl", "both"]),
)
@QUICK
def test_better_means_fewer_steps_and_a_larger_kl_within_their_limits_and_without_a_jump(start, turns, mode):
    """Inside the limits they stay inside; a start outside may only move towards them, one step at a time."""
    config = AdaptiveConfig(mode=mode)
    steps, kl = start[0], start[1] * 1e-4
    for better in turns:
        new_steps, new_kl = turn(steps, kl, better, config)
        assert isinstance(new_steps, int)
        for moves, old, new, by, (low, high) in (
            (mode in ("steps", "both"), steps, new_steps, -300 if better else 300, config.steps_limits),
            (mode in ("kl", "both"), kl, new_kl, 0.0005 if better else -0.0005, config.kl_limits),
        ):
            expected = min(max(old + by, min(low, old)), max(high, old)) if moves else old
            assert new == pytest.approx(expected, abs=1e-12)
            assert clip(old, old + by, (low, high)) == min(max(old + by, min(low, old)), max(high, old))
            assert min(low, old) - 1e-12 <= new <= max(high, old) + 1e-12
        steps, kl = new_steps, new_kl


@given(
    steps=st.integers(100, 30_000),
    kl=st.integers(1, 400).map(lambda n: round(n * 1e-4, 12)),
    mode=st.sampled_from(["none", "steps", "kl", "both"]),
)
@QUICK
def test_what_can_only_move_one_way_is_noted_with_the_way(steps, kl, mode):
    """The truth: after a decision towards the limits, the reverse decision does not lead back."""
    chosen = TRPOSettings(adapt=mode, max_kl=kl)
    notes, config = one_way(chosen, steps), chosen.rule
    there = {way: turn(steps, kl, way, config) for way in (True, False)}
    back = {way: turn(*there[way], not way, config) for way in (True, False)}
    expected = []
    for name, start, index, limits in (
        ("--steps-per-update", steps, 0, config.steps_limits),
        ("--max-kl", kl, 1, config.kl_limits),
    ):
        if limits[0] <= start <= limits[1]:
            continue
        for way in (True, False):
            lower = there[way][index] < start
            if there[way][index] != start:
                assert back[way][index] == there[way][index] or limits[0] <= there[way][index] <= limits[1]
                expected.append((name, "lets it fall" if lower else "lets it rise"))
    assert [(note.split()[1], note[note.index("lets it") :][:12]) for note in notes] == expected


def test_a_cure_that_the_note_names_lets_a_setting_move_both_ways():
    chosen = TRPOSettings(adapt="both", max_kl=0.12)
    notes = one_way(chosen, 512)
    assert len(notes) == 2
    typed = {flag: float(value) for note in notes for flag, value in re.findall(r"(--adapt[\w-]+) ([\d.]+) lets", note)}
    cured = {flag[2:].replace("-", "_"): value for flag, value in typed.items()}
    assert one_way(replace(chosen, **cured), 512) == []


def test_the_text_of_a_decision_names_its_numbers():
    _, decisions = play(AdaptiveState(5000, 0.005), np.repeat([-100, -90, -95], 3))
    first, better, worse = (str(d) for d in decisions if d)
    assert "-300" in first
    assert all(text in better for text in ("-270", ">=", "-285", "-300", "4700", "0.0055"))
    assert all(text in worse for text in ("-285", "<", "-256.5", "-270", "5000", "0.005"))


def test_the_rule_by_itself_is_the_one_that_train_applies():
    assert TRPOSettings(adapt="both").rule == AdaptiveConfig()
    assert TRPOSettings().rule.mode == "none"
