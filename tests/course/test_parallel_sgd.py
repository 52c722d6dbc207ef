"""Parallel SGD: the exact stability bound, equality with plain descent, what staleness costs, and the command."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import run

from minitrpo.course.parallel_sgd.descent import play
from minitrpo.course.parallel_sgd.problem import (
    MODES,
    SGDSettings,
    delayed_descent,
    linear_quadratic_values,
    make_regression,
    stability_bound,
)  # fmt: skip

SMALL = SGDSettings(rows=60, features=3, workers=3, batch=0, epochs=20, records=10)


@pytest.mark.parametrize("delay", [0, 1, 2, 8])
def test_delayed_descent_is_stable_up_to_the_rate_at_which_a_root_reaches_the_unit_circle(delay):
    bound = stability_bound(delay)
    roots = np.roots([1.0, -1.0, *np.zeros(delay - 1), bound] if delay else [1.0, bound - 1])
    assert np.abs(roots).max() == pytest.approx(1.0, abs=1e-9)
    for rate, falls in ((0.98 * bound, True), (1.02 * bound, False)):
        x, window = np.abs(delayed_descent(rate, delay, 800 * (2 * delay + 1))), 8 * (2 * delay + 1)
        assert (x[-window:].max() < x[:window].max()) == falls
    np.testing.assert_allclose(delayed_descent(0.3, 0, 5), 0.7 ** np.arange(6))
    assert len(delayed_descent(5.0, 3, 10_000)) < 2_000, "it breaks off before it overflows"


def test_equal_workers_diverge_at_the_bound_of_their_staleness():
    """W workers of one speed are W - 1 updates old: the same code, on a curvature that is known, obeys the formula."""
    s = replace(SMALL, mode="asynchronous", workers=4, rows=64, features=1, delay_jitter=0.0, epochs=150)
    design = np.column_stack([make_regression(s).inputs, np.ones(s.rows)])
    largest = [np.linalg.eigvalsh(own.T @ own / 16).max() for own in design.reshape(4, 16, 2)]  # slices differ
    slow, fast = (play(replace(s, step_size=c * stability_bound(3)))
                  for c in (0.6 / max(largest), 1.65 / min(largest)))  # fmt: skip
    assert slow.loss[-1] < slow.loss[0]
    assert not fast.loss[-1] < 1e6
    assert np.flatnonzero(slow.histogram)[-1] == 3


@settings(max_examples=15)
@given(st.integers(1, 7), st.integers(0, 50), st.sampled_from(["least-squares", "perceptron"]), st.sampled_from(MODES))
def test_synchronous_is_plain_descent_whatever_the_slices_and_one_worker_in_every_mode(workers, seed, problem, mode):
    workers = workers if mode == "synchronous" else 1
    s = replace(SMALL, workers=workers, seed=seed, problem=problem, mode=mode)
    trace, regression = play(s), make_regression(s)
    theta = regression.initial(s.seed)
    for _ in range(20):
        theta = theta - s.step_size * regression.gradient(theta, slice(None))
    assert trace.updates[-1] == 20
    assert trace.loss[-1] == pytest.approx(regression.loss(theta), rel=1e-9)


def test_the_same_numbers_every_time_and_the_bound_keeps_staleness_small():
    s = replace(SMALL, batch=8, workers=6, rows=600, slowest=20.0, epochs=4, max_lead=1)
    one, two = ({mode: play(replace(s, mode=mode)) for mode in MODES} for _ in range(2))
    for mode in MODES:
        np.testing.assert_array_equal([one[mode].loss, one[mode].seconds], [two[mode].loss, two[mode].seconds])
    oldest = {mode: int(np.flatnonzero(trace.histogram)[-1]) for mode, trace in one.items()}
    assert oldest["synchronous"] == 0
    assert oldest["bounded"] <= 2 * 5 + 1  # nobody can push more than twice before the slowest pushes
    assert oldest["asynchronous"] > 20, "the slow one comes with old gradients"
    seconds = {mode: trace.seconds[-1] for mode, trace in one.items()}
    assert seconds["asynchronous"] < seconds["bounded"] < seconds["synchronous"] * 1.05
    refusing = play(replace(SMALL, mode="asynchronous", batch=8, workers=6, max_staleness=2))
    assert refusing.refused > 0
    assert np.flatnonzero(refusing.histogram)[-1] <= 2


def test_the_value_function_solves_its_bellman_equation():
    states, e, h = np.random.default_rng(0).standard_normal((20, 3)), np.eye(3), 1e-3
    a = np.eye(3) + 0.5 * np.eye(3, k=1)

    def after(u):  # V(s) = max_u -(s's + u'u) + V(As + u)
        return -np.sum(states**2, axis=1) - np.sum(u**2, axis=1) + linear_quadratic_values(states @ a.T + u)

    def gradient(u):
        return np.stack([(after(u + h * e[i]) - after(u - h * e[i])) / (2 * h) for i in range(3)], axis=1)

    at_0 = gradient(np.zeros((20, 3)))
    hessian = np.stack([gradient(0 * states + e[i]) - at_0 for i in range(3)], axis=2)  # exact: it is quadratic
    best = -np.linalg.solve(hessian, at_0[..., None])[..., 0]
    np.testing.assert_allclose(after(best), linear_quadratic_values(states), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [0, 3])
def test_the_command_compares_all_modes(ranks, tmp_path):
    small = ("--rows", 256, "--features", 3, "--epochs", 8, "--records", 5)
    outcome = run("parallel_sgd.py", *small, "--out", tmp_path / "sgd", ranks=ranks)
    assert outcome.code == 0, outcome.err
    rows = list(csv.DictReader((tmp_path / "sgd" / "loss.csv").open()))
    for mode in MODES:
        first, *_, last = [row for row in rows if row["mode"] == mode]
        assert float(last["loss"]) < float(first["loss"])
        assert float(last["samples"]) >= 8 * 256
    ages = list(csv.DictReader((tmp_path / "sgd" / "staleness.csv").open()))
    assert [int(row["staleness"]) for row in ages if row["mode"] == "synchronous"] == [0]
    made = json.loads((tmp_path / "sgd" / "sgd.json").read_text())
    assert (made["provenance"]["ranks"], made["seconds"]) == ((3, "real") if ranks else (1, "drawn"))
    assert (tmp_path / "sgd" / "sgd.png").read_bytes().startswith(b"\x89PNG")
    bad = run("parallel_sgd.py", "--workers", 10, "--rows", 5, ranks=0, cwd=tmp_path, new=False)
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert "--workers" in bad.err
