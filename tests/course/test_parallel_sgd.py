"""Parallel SGD: the exact stability bound, equality with plain descent, what staleness costs, and the command."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import SCRIPTS, run

from minitrpo.course.parallel_sgd.descent import play
from minitrpo.course.parallel_sgd.problem import (
    MODES,
    SGDSettings,
    delayed_descent,
    is_stable,
    linear_quadratic_values,
    make_regression,
    slice_of,
    stability_bound,
)

SMALL = SGDSettings(rows=60, features=3, workers=3, batch=0, epochs=20, records=10)


@pytest.mark.parametrize(("delay", "bound"), [(0, 2.0), (1, 1.0), (2, 0.618), (4, 0.347), (8, 0.185)])
def test_the_stability_bound_of_delayed_descent(delay, bound):
    assert stability_bound(delay) == pytest.approx(bound, abs=5e-4)
    roots = np.roots([1.0, -1.0, *np.zeros(delay - 1), stability_bound(delay)] if delay else [1.0, 1.0])
    assert np.abs(roots).max() == pytest.approx(1.0, abs=1e-9), "the oracle: a root on the unit circle, none outside"
    assert is_stable(0.98 * stability_bound(delay), delay)
    assert not is_stable(1.02 * stability_bound(delay), delay)


def test_without_delay_it_is_gradient_descent():
    np.testing.assert_allclose(delayed_descent(0.3, 0, 5), 0.7 ** np.arange(6))
    assert len(delayed_descent(5.0, 3, 10_000)) < 2_000, "it breaks off before it overflows"


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_equal_workers_diverge_at_the_bound_of_their_staleness(factor):
    """W workers of one speed are W - 1 updates old: the same code, on a curvature that is known, obeys the formula."""
    s = replace(SMALL, mode="asynchronous", workers=4, rows=64, features=1, delay_jitter=0.0, epochs=150)
    problem = make_regression(s)
    design = np.column_stack([problem.inputs, np.ones(s.rows)])
    own = [design[16 * w : 16 * w + 16] for w in range(4)]  # slices differ in their curvature
    largest = max(np.linalg.eigvalsh(x.T @ x / 16).max() for x in own)
    smallest = min(np.linalg.eigvalsh(x.T @ x / 16).max() for x in own)
    bound = stability_bound(3)
    if factor < 1:
        trace = play(replace(s, step_size=0.9 * bound / largest / 1.5))
        assert trace.loss[-1] < trace.loss[0]
    else:
        trace = play(replace(s, step_size=1.1 * bound / smallest * 1.5))
        assert not trace.loss[-1] < 1e6
    assert np.flatnonzero(trace.histogram)[-1] == 3


def descended(s, updates):
    problem = make_regression(s)
    theta = problem.initial(s.seed)
    for _ in range(updates):
        theta = theta - s.step_size * problem.gradient(theta, slice(None))
    return problem.loss(theta)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 7), st.integers(0, 50), st.sampled_from(["least-squares", "perceptron"]))
def test_synchronous_is_plain_descent_whatever_the_slices(workers, seed, problem):
    s = replace(SMALL, workers=workers, seed=seed, problem=problem, mode="synchronous")
    trace = play(s)
    assert trace.updates[-1] == 20
    assert trace.loss[-1] == pytest.approx(descended(s, 20), rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_one_worker_is_plain_descent_in_every_mode(mode):
    s = replace(SMALL, workers=1, mode=mode)
    trace = play(s)
    assert trace.loss[-1] == pytest.approx(descended(s, 20), rel=1e-9)
    assert np.flatnonzero(trace.histogram).tolist() == [0]


def test_the_same_numbers_every_time_and_the_bound_keeps_staleness_small():
    s = replace(SMALL, batch=8, workers=6, rows=600, slowest=20.0, epochs=4)
    runs = {mode: [play(replace(s, mode=mode, max_lead=1)) for _ in range(2)] for mode in MODES}
    for first, second in runs.values():
        assert first.loss.tolist() == second.loss.tolist()
        assert first.seconds.tolist() == second.seconds.tolist()
    oldest = {mode: int(np.flatnonzero(both[0].histogram)[-1]) for mode, both in runs.items()}
    assert oldest["synchronous"] == 0
    assert oldest["bounded"] <= 2 * 5 + 1  # nobody can push more than twice before the slowest pushes
    assert oldest["asynchronous"] > 20, "the slow one comes with old gradients"
    seconds = {mode: both[0].seconds[-1] for mode, both in runs.items()}
    assert seconds["asynchronous"] < seconds["bounded"] < seconds["synchronous"] * 1.05


def test_old_gradients_are_refused():
    s = replace(SMALL, mode="asynchronous", batch=8, workers=6, max_staleness=2)
    trace = play(s)
    assert trace.refused > 0
    assert np.flatnonzero(trace.histogram)[-1] <= 2


def test_every_sample_has_one_worker():
    for workers in (1, 3, 7):
        assert [i for w in range(workers) for i in slice_of(w, workers, 23)] == list(range(23))


def test_the_value_function_solves_its_bellman_equation():
    rng = np.random.default_rng(0)
    states = rng.standard_normal((20, 3))
    a = np.eye(3) + 0.5 * np.eye(3, k=1)

    def after(actions):  # V(s) = max_u -(s's + u'u) + V(As + u)
        return -np.sum(states**2, axis=1) - np.sum(actions**2, axis=1) + linear_quadratic_values(states @ a.T + actions)

    def gradient(actions, h=1e-3):
        e = np.eye(3) * h
        return np.stack([(after(actions + e[i]) - after(actions - e[i])) / (2 * h) for i in range(3)], axis=1)

    start, e = np.zeros((20, 3)), np.eye(3)
    at_0 = gradient(start)
    hessian = np.stack([gradient(start + e[i]) - at_0 for i in range(3)], axis=2)  # exact: the value is quadratic
    actions = -np.linalg.solve(hessian, at_0[..., None])[..., 0]
    np.testing.assert_allclose(after(actions), linear_quadratic_values(states), rtol=1e-6)


QUICK = ("--rows", 256, "--features", 3, "--epochs", 8, "--records", 5)


@pytest.mark.parametrize("ranks", [0, 2, 3])
def test_the_command_compares_all_modes(ranks, tmp_path):
    out = tmp_path / "sgd"
    outcome = run("parallel_sgd.py", *QUICK, "--out", out, ranks=ranks)
    assert outcome.code == 0, outcome.err
    rows = list(csv.DictReader((out / "loss.csv").open()))
    assert list(dict.fromkeys(row["mode"] for row in rows)) == list(MODES)
    for mode in MODES:
        losses = [float(row["loss"]) for row in rows if row["mode"] == mode]
        assert losses[-1] < losses[0]
        assert float([row for row in rows if row["mode"] == mode][-1]["samples"]) >= 8 * 256
    ages = list(csv.DictReader((out / "staleness.csv").open()))
    assert [int(row["staleness"]) for row in ages if row["mode"] == "synchronous"] == [0]
    made = json.loads((out / "sgd.json").read_text())
    assert made["provenance"]["ranks"] == max(ranks, 1)
    assert made["seconds"] == ("real" if ranks else "drawn")
    assert (out / "sgd.png").stat().st_size > 10_000


def test_bad_input_is_one_line(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for words, about in (
        (("--mode", "psychic"), "--mode"),
        (("--step-size", -1), "--step-size"),
        (("--workers", 10, "--rows", 5), "--workers"),
        (("--epochs", "nan"), "--epochs"),
        (("--out", tmp_path / "full"), "not empty"),
        (("--out", ""), "--out"),
    ):
        outcome = run("parallel_sgd.py", *words, cwd=tmp_path)
        assert outcome.code == 2, words
        assert about in outcome.err
        assert len(outcome.err.strip().splitlines()) == 1
    outcome = run("parallel_sgd.py", "--workers", 3, "--out", tmp_path / "new", ranks=2)
    assert outcome.code == 2
    assert len(outcome.err.strip().splitlines()) == 1
    assert (SCRIPTS / "parallel_sgd.py").exists()


def test_a_step_size_at_which_the_loss_is_not_finite_is_said(tmp_path):
    outcome = run("parallel_sgd.py", "--step-size", 1e6, "--mode", "synchronous", "--out", tmp_path / "sgd")
    assert outcome.code == 1
    assert "--step-size 1e+06 is too large" in outcome.err
    assert "Traceback" not in outcome.err
