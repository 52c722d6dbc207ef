"""A run's picture says what it shows: which run, a mean over episodes, and only what happened."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

from minitrpo.commands.plot import band, curve
from minitrpo.reports import plots
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.metrics_csv import EVALUATION, FIRST, LAST

COLUMNS = (*FIRST, *EVALUATION, "kl", "max_kl", *LAST)
NOT_YET = float("nan")


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Return how to draw a run of so many rows, with these columns changed row by row: it gives the figure."""
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))

    def draw(rows, chart=("kl", "max_kl"), second=(), **changes):
        folder = RunFolder.create(str(tmp_path / str(len(figures))), "Pendulum-v1", 3, COLUMNS)
        folder.write_config({"algorithm": "batch-ppo", "env": "a.b:Pendulum-v1", "seed": 3}, {"ranks": 8})
        for i in range(rows):
            row = dict.fromkeys(COLUMNS, 0.1) | {"iteration": i + 1, "env_steps": 100 * (i + 1), "time_s": i + 1.0}
            row |= {"episodes": 2, "mean_return": -10.0 + i, "eval_return": NOT_YET, "ranks": 2}
            row |= {"max_kl": 0.01, "kl": 0.001 * (i + 1)}
            folder.append(row | {name: values[i] for name, values in changes.items()})
        plots.learning_curve(folder, (chart, "KL (nats)"), (second, "a part"))
        return figures[-1]

    return draw


def words_of(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(-50, 50)), min_size=1, max_size=30), st.integers(1, 100))
def test_bold_lines_are_the_mean_of_the_last_episodes(rows, window):
    """An oracle with every episode written out: those of a row all have its mean."""
    episodes = np.array([count for count, _ in rows])
    means = np.array([mean if count else np.nan for count, mean in rows], float)
    each = []
    for (count, mean), found in zip(rows, plots.mean_of_last(means, episodes, window), strict=True):
        each += [mean] * count
        assert np.isnan(found) if not each else found == pytest.approx(np.mean(each[-window:]), abs=1e-6)


def test_the_last_value_is_that_of_the_last_tenth_of_the_episodes_and_stands_there(drawn):
    windows = [plots.window_of(np.array([n])) for n in (0, 99, 200, 1000, 10**6)]
    assert windows == [10, 10, 20, 100, 100]
    figure = drawn(3, mean_return=[-50.0, -40.0, -30.0], episodes=[20, 20, 20])
    assert words_of(figure) == ["-30", "-30"], "not the mean of three rows, -40"


def test_rows_without_an_end_are_passed_over_and_evaluations_marked(drawn):
    returns = [NOT_YET, 1.0, NOT_YET, NOT_YET, 4.0, NOT_YET]
    axis = drawn(6, mean_return=returns, episodes=np.isfinite(returns).astype(int)).axes[0]
    each, bold = axis.lines
    assert (each.get_xdata().tolist(), each.get_ydata().tolist()) == ([0.2, 0.5], [1.0, 4.0])
    assert (bold.get_xdata().tolist(), bold.get_ydata().tolist()) == ([0.2, 0.5], [1.0, 2.5])
    *_, marks = drawn(3, eval_return=[NOT_YET, 5.0, 7.0]).axes[0].lines
    assert marks.get_ydata().tolist() == [5.0, 7.0]


def test_there_are_panels_only_of_what_happens(drawn):
    def panels(*arguments, **changes):
        return [axis.get_ylabel() for axis in drawn(*arguments, **changes).axes[3:]]

    assert panels(4, ()) == panels(0, (), mean_return=[]) == panels(1, (), mean_return=[NOT_YET], episodes=[0]) == []
    assert panels(4) == ["KL (nats)"]
    assert panels(4, steps_per_update=[100, 100, 200, 300]) == ["KL (nats)", "steps per update"]
    assert panels(4, second=("collect_s",)) == ["KL (nats)", "a part"]
    assert panels(2, ("kl",), kl=[NOT_YET] * 2) == [], "nothing is known of it yet"


def test_many_rows_are_smoothed_and_what_is_wide_has_a_logarithmic_axis(drawn):
    each, bold = drawn(60, ("kl",), kl=np.arange(60.0) % 2).axes[3].lines
    assert len(each.get_ydata()) == 60
    assert bold.get_ydata()[9:] == pytest.approx(0.5)
    assert drawn(40, ("kl",), kl=np.geomspace(1e-4, 1, 40)).axes[3].get_yscale() == "log"


def test_the_band_is_students_interval_where_all_seeds_are():
    rng = np.random.default_rng(0)
    curves = [(np.sort(rng.uniform(0, 100, 30)), rng.normal(size=30)) for _ in range(4)]
    x, mean, half = band(curves)
    assert (x[0], x[-1]) == (max(c[0][0] for c in curves), min(c[0][-1] for c in curves))
    y = np.array([np.interp(x[77], *one) for one in curves])
    low, high = stats.t.interval(0.95, 3, y.mean(), stats.sem(y))
    assert (mean[77] - half[77], mean[77] + half[77]) == pytest.approx((low, high))


def test_evaluations_are_drawn_where_all_runs_have_some():
    columns = {"env_steps": np.arange(3.0), "time_s": np.arange(3.0), "mean_return": np.ones(3), "episodes": np.ones(3)}
    columns["eval_return"] = np.array([np.nan, 5.0, np.nan])
    assert [part.tolist() for part in curve(columns, True)] == [[1.0], [1.0], [5.0]]
    assert curve(columns, False)[2].tolist() == [1.0, 1.0, 1.0]
