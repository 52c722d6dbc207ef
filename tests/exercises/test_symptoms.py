"""Symptoms are true: no mistake is named that was not made, nothing is off by 0, a refusal is cheap and comes soon."""

from dataclasses import replace

import autograd.numpy as np
import pytest
from autograd import grad

from minitrpo.checks import target
from minitrpo.course.checks.framework import differential
from minitrpo.course.checks.framework.differential import Wrong, megabytes
from minitrpo.course.checks.framework.register import examine, find
from minitrpo.course.checks.framework.words import number
from minitrpo.course.last_step import READINGS, values_after
from minitrpo.optimisers import adam
from minitrpo.policy_gradient import LogProbability


def refusal(name, candidate):
    """Return what is said of a wrong answer."""
    with pytest.raises(Wrong) as refused:
        examine(name, candidate)
    return str(refused.value)


def in_single_precision(name):
    """Return the right answer with half of its digits."""

    def rounded(*arguments, **named):
        found = target(name)(*arguments, **named)
        return tuple(map(np.float32, found)) if isinstance(found, tuple) else np.float32(found)

    return rounded


@pytest.mark.parametrize("name", ["clipped_objective", "gaussians", "stability_bound"])
def test_too_few_digits_are_no_other_mistake(name):
    said = refusal(name, in_single_precision(name))
    assert [symptom for symptom in find(name).mistakes() if symptom in said] == []
    assert "off by" not in said


def test_right_numbers_of_the_wrong_type_are_not_off():
    said = refusal("cuts", lambda *given: target("cuts")(*given).astype(float))
    assert said.endswith("whole numbers are wanted")


def test_a_mistake_that_agrees_only_where_it_is_right_is_not_named():
    # the difference of two floors is rounding nowhere, but equals it on the first case that fails
    def floors(steps, warm_up, ratio, done):
        return max(int(ratio * steps) - int(ratio * warm_up) - done, 0)

    assert "rounded" not in refusal("updates_due", floors)


def test_a_refusal_of_squares_needs_little_memory_and_names_them():
    def square(rewards, terminated, next_q, next_actions, discount):
        return rewards + discount * ~terminated * next_q[:, next_actions]

    said = []
    assert megabytes(lambda: said.append(refusal("sarsa_targets", square))) < 50  # it was 607
    assert "takes all those columns of every row, a square" in said[0]


def test_a_case_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(differential, "LONGEST", 0.3)

    def searching(delay):
        while True:
            delay = -delay

    assert "it was stopped after 0 s" in refusal("stability_bound", searching)


def test_the_search_for_a_symptom_is_stopped_too(monkeypatch):
    monkeypatch.setattr(differential, "LONGEST", 0.3)

    def half_of_it_or_nothing(delay):
        while delay > 1:
            pass
        return 2 * target("stability_bound")(delay)

    assert "expected  2\n  got       4" in refusal("stability_bound", half_of_it_or_nothing)


class Unreadable:
    def __repr__(self):
        raise RuntimeError("no words")


def long_error(*given):
    raise ValueError("y" * 50_000)


def leaving(*given):
    raise SystemExit(3)


@pytest.mark.parametrize("name", ["stability_bound", "next_values"])
def test_whatever_comes_back_there_is_a_sentence(name):
    for answer, said in (
        (lambda *given: "x" * 100_000, "'xxx"),
        (long_error, "ValueError: yyy"),
        (leaving, "SystemExit: 3"),
        (lambda *given: Unreadable(), "Unreadable"),
        (lambda *given: np.array(None), "an array of object"),
    ):
        assert said in (told := refusal(name, answer))
        assert len(told) < 1_000


def test_the_first_wrong_part_of_several_results_is_described():
    def turned(*given):
        advantages, targets = target("gae")(*given)
        return -advantages, targets

    assert "has its sign turned" in refusal("gae", turned)


def test_a_part_that_is_none_is_not_blamed_on_a_return_statement():
    assert "return statement" in refusal("next_values", lambda *given: None)
    assert "return statement" not in refusal("gae", lambda *given: (None, None))


def test_a_step_that_was_not_taken_is_no_step_down():
    said = refusal(
        "trpo_step", lambda policy, theta, *rest: (theta.copy(), target("trpo_step")(policy, theta, *rest)[1])
    )
    assert [symptom for symptom in find("trpo_step").mistakes() if symptom in said] == []


def test_no_steps_have_no_values_after_them():
    nothing, never = np.zeros(0), np.zeros(0, bool)
    assert [values_after(reading, nothing, nothing, nothing, never, never).shape for reading in READINGS] == [(0,)] * 4


def test_the_same_slip_gets_the_same_words_in_every_exercise():
    """A list for a tuple, a list for an array, an array as whole as its input, a function for what it returns."""

    def listed(state, mean_return, config):
        state, decision = target("adapt")(state, mean_return, config)
        return replace(state, returns=list(state.returns)), decision

    assert "but in a list: make a tuple" in refusal("adapt", listed)
    assert "but in a list: return a numpy array" in refusal(
        "in_order", lambda *given: target("in_order")(*given).tolist()
    )
    for name in ("discounted_sums", "next_values"):
        whole = lambda x, *rest, name=name: target(name)(x, *rest).astype(x.dtype)  # noqa: E731
        assert "cuts fractions off" in refusal(name, whole)
    for name in ("energy", "gaussian_kl", "turn"):
        assert "returns a function" in refusal(name, lambda *given, name=name: lambda: target(name)(*given))


def test_what_cannot_be_told_apart_is_not_told_as_one_of_several_mistakes():
    """Without a ratio every ratio is 1, as where log pi_old is taken anew: the words fit both."""

    def without_a_ratio(policy, theta, memory, batch, clip, rng, epochs=10, size=64, step_size=1e-3):
        observations, actions, advantages = batch
        for _ in range(epochs):
            for rows in np.resize(rng.permutation(len(advantages)), (-(-len(advantages) // size), size)):
                now = LogProbability(policy, theta, observations[rows], actions[rows])
                memory, step = adam(memory, now.weighted_gradient(advantages[rows] / size), step_size)
                theta = theta + step
        return theta, memory

    assert "as if every ratio were 1" in refusal("climb", without_a_ratio)


def test_two_errors_of_one_kind_are_not_one_mistake():
    def axis_of_rewards(policy, theta, observation, action):
        return np.sum(observation, axis=3)

    assert "observation[None]" not in refusal("score", axis_of_rewards)
    said = refusal("score", lambda policy, theta, observation, action: grad(
        lambda t: policy.log_prob(policy.distribution(t, observation), np.array([action]))[0])(theta))  # fmt: skip
    assert "a table (1, D)" in said


def test_rounding_is_not_shown_and_what_matters_is():
    shown = [number(x) for x in (99.99999999999999, 48.999999999999986, 3 * (1 - 1e-12), 100.000001, -2.0)]
    assert shown == ["100", "49", "2.999999999997", "100.000001", "-2"]
