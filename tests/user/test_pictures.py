"""A run's picture says what it shows: which run, a mean over episodes, and only what happened; filmstrips are seen."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from minitrpo.reports import plots, video
from minitrpo.reports.filmstrip import BRIGHT, brightened, caption, cropped, filmstrip
from minitrpo.run_folder.columns import FIRST, LAST
from minitrpo.run_folder.folder import RunFolder

COLUMNS = (*FIRST, "kl", "max_kl", *LAST)


def new_run(path, rows, **changes):
    """Return a folder with so many rows; changes: a column's values, row by row."""
    folder = RunFolder.create(str(path), "Pendulum-v1", 3, COLUMNS)
    settings = {"algorithm": "batch-ppo", "env": "a.b:Pendulum-v1", "seed": 3}
    folder.write_config(settings, {"ranks": 8})
    for i in range(rows):
        row = dict.fromkeys(COLUMNS, 0.1) | {"iteration": i + 1, "env_steps": 100 * (i + 1), "time_s": i + 1.0}
        row |= {"episodes": 2, "mean_return": -10.0 + i, "ranks": 2, "max_kl": 0.01, "kl": 0.001 * (i + 1)}
        folder.append(row | {name: values[i] for name, values in changes.items()})
    return folder


@pytest.fixture
def drawn(monkeypatch):
    """Return (how to draw a folder, which gives the figure)."""
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))

    def draw(folder, chart=("kl", "max_kl"), second=()):
        plots.learning_curve(folder, (chart, "KL (nats)"), (second, "a part"))
        return figures[-1]

    return draw


def words_of(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def labels_of(figure):
    return [axis.get_ylabel() for axis in figure.axes]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([], "8 ranks"),
        ([1, 1, 1], "1 rank"),
        ([8, 8, 2], "8, then 2 ranks"),
        ([2, 1, 2], "2, then 1, then 2 ranks"),
        ([1, 2, 3, 4, 5, 6], "1 to 6 ranks"),
    ],
)
def test_the_title_says_algorithm_environment_seed_and_the_ranks_of_the_whole_run(ranks, said, tmp_path, drawn):
    folder = new_run(tmp_path / "run", len(ranks), ranks=ranks)
    assert drawn(folder).get_suptitle() == f"batch-ppo on Pendulum-v1, seed 3, {said}"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-50, 50)), min_size=1, max_size=40), st.integers(1, 30))
def test_the_bold_line_is_the_mean_of_the_last_episodes(rows, window):
    """An oracle with every episode written out: those of a row all have its mean."""
    episodes = np.array([count for count, _ in rows], float)
    means = np.array([mean if count else np.nan for count, mean in rows], float)
    bold = plots.mean_of_last(means, episodes, window)
    each = []
    for found, (count, mean) in zip(bold, rows, strict=True):
        each += [mean] * count
        assert np.isnan(found) if not each else found == pytest.approx(np.mean(each[-window:]), abs=1e-9)


def test_the_window_is_a_tenth_of_the_runs_episodes_at_most_a_hundred():
    assert [plots.window_of(np.array([n])) for n in (0, 7, 199, 200, 999, 1000, 10**6)] == [
        10,
        10,
        10,
        20,
        50,
        100,
        100,
    ]


def test_the_last_value_is_that_of_the_last_episodes_and_stands_there(tmp_path, drawn):
    folder = new_run(tmp_path / "run", 3, mean_return=[-50.0, -40.0, -30.0], episodes=[20, 20, 20])
    figure = drawn(folder)
    assert words_of(figure) == ["-30", "-30"], "not the mean of three rows, -40"
    for axis in figure.axes[:2]:
        assert [text.get_text() for text in axis.get_legend().texts] == ["each row", "mean of the last 10 episodes"]


def test_fresh_episodes_are_marked_where_there_are_any():
    for returns, marks in (([np.nan] * 3, 0), ([np.nan, 5.0, 7.0], 1)):
        axis = Figure().subplots()
        plots._evaluations(axis, np.arange(3.0), np.array(returns))
        assert len(axis.lines) == marks
    assert (axis.lines[0].get_xdata().tolist(), axis.lines[0].get_ydata().tolist()) == ([1.0, 2.0], [5.0, 7.0])


def test_rows_without_an_end_are_passed_over():
    axis = Figure().subplots()
    returns = np.array([np.nan, 1.0, np.nan, np.nan, 4.0, np.nan])
    plots._returns(axis, np.arange(6.0), returns, np.isfinite(returns).astype(float), "steps")
    each, bold = axis.lines
    assert each.get_xdata().tolist() == [1.0, 4.0]
    assert each.get_ydata().tolist() == [1.0, 4.0]
    assert (bold.get_xdata().tolist(), bold.get_ydata().tolist()) == ([1.0, 4.0], [1.0, 2.5])


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_axes_without_data_say_why(rows, tmp_path, drawn):
    nothing = {"mean_return": [float("nan")] * rows, "episodes": [0] * rows}
    figure = drawn(new_run(tmp_path / "run", rows, **nothing))
    assert words_of(figure) == ["no episode has ended yet"] * 2
    assert all(len(axis.get_xticks()) == len(axis.get_yticks()) == 0 for axis in figure.axes[:2])


def test_there_are_panels_only_of_what_happens(tmp_path, drawn):
    plain = drawn(new_run(tmp_path / "plain", 4), chart=())
    assert [label.split()[0] for label in labels_of(plain)] == ["episode", "episode", "seconds"]
    charted = drawn(new_run(tmp_path / "charted", 4))
    assert labels_of(charted)[3:] == ["KL (nats)"]
    assert charted.axes[3].get_legend().texts[1].get_text() == "max kl 0.01", "a limit that stands is a dashed line"
    adapting = drawn(new_run(tmp_path / "adapting", 4, steps_per_update=[100, 100, 200, 300]))
    assert labels_of(adapting)[3:] == ["KL (nats)", "steps wanted per update"]
    both = drawn(new_run(tmp_path / "both", 4), second=("collect_s",))
    assert labels_of(both)[3:] == ["KL (nats)", "a part"]
    unknown = drawn(new_run(tmp_path / "unknown", 2, kl=[float("nan")] * 2), chart=("kl",))
    assert len(unknown.axes) == 3, "nothing is known of it yet"


def test_a_single_value_far_away_is_told_and_the_others_are_seen(tmp_path, drawn):
    kl = [-0.01, *np.linspace(0, 0.01, 38), 1e6]
    figure = drawn(new_run(tmp_path / "run", 40, kl=kl), chart=("kl",))
    low, high = figure.axes[3].get_ylim()
    assert (low, high) == pytest.approx((-0.003, 0.013), abs=0.001)
    assert "1 of 40 values lie outside, one at 1e+06" in words_of(figure)
    near = drawn(new_run(tmp_path / "near", 40, kl=[-0.01, *np.linspace(0, 0.01, 38), 0.03]), chart=("kl",))
    assert near.axes[3].get_ylim()[1] > 0.03
    assert "outside" not in words_of(near)
    many = drawn(new_run(tmp_path / "many", 40, kl=[-10, *np.linspace(0, 10, 38), 60]), chart=("kl",))
    assert many.axes[3].get_ylim()[1] > 60, "ten times the width of the others is far, in whatever units"
    wide = drawn(new_run(tmp_path / "wide", 40, kl=np.geomspace(1e-4, 1, 40)), chart=("kl",))
    assert wide.axes[3].get_yscale() == "log"


def test_many_rows_are_smoothed_and_it_is_said(tmp_path, drawn):
    kl = np.arange(60.0) % 2
    axis = drawn(new_run(tmp_path / "run", 60, kl=kl), chart=("kl",)).axes[3]
    assert [text.get_text() for text in axis.get_legend().texts] == ["kl, mean of 10 rows"]
    each, bold = axis.lines
    assert each.get_ydata().tolist() == kl.tolist()
    assert bold.get_ydata()[9:].tolist() == [0.5] * 51


def test_a_users_own_figures_are_left_alone(tmp_path):
    import matplotlib
    from matplotlib import pyplot as plt

    matplotlib.use("svg")
    mine = plt.figure()
    plots.learning_curve(new_run(tmp_path / "run", 2))
    assert (matplotlib.get_backend(), plt.get_fignums()) == ("svg", [mine.number])
    plt.close(mine)


# --- filmstrips


def test_empty_borders_are_cut_and_what_moves_is_kept():
    images = np.zeros((3, 100, 200, 3), np.uint8)
    images[:, 20:] = 90  # under a black band, as Reacher's
    for i in range(3):
        images[i, 50 + i, 70 + 20 * i] = 255
    cut = cropped(images)
    assert [int((image == 255).all(axis=2).sum()) for image in cut] == [1, 1, 1]
    assert cut.shape[1] < 15
    assert 40 < cut.shape[2] < 60
    assert not (cut == 0).any(), "no black band"
    assert np.array_equal(cropped(images[:, :10]), images[:, :10]), "where there is nothing, nothing is cut"


def test_dark_pictures_become_bright_in_one_curve_and_bright_ones_stay():
    rng = np.random.default_rng(0)
    dark = rng.integers(20, 80, (2, 30, 40, 3)).astype(np.uint8)
    lifted = brightened(dark)
    assert lifted.dtype == np.uint8
    assert lifted.mean() > BRIGHT - 20 > dark.mean()
    order = np.argsort(dark.ravel(), kind="stable")
    assert (np.diff(lifted.ravel()[order].astype(int)) >= 0).all(), "what was darker stays darker"
    assert len(np.unique(lifted)) > 30, "what differed still differs"
    light = 255 - dark
    assert np.array_equal(brightened(light), light)
    assert not brightened(np.zeros((1, 4, 4, 3), np.uint8)).any()
    night = np.full((1, 10, 10, 3), 2, np.uint8)
    night[0, 0] = 200
    assert (brightened(night)[0, 1:] == np.uint8(255 * (2 / 200) ** (1 / 2.5))).all(), "no more than a root of 2.5"


@pytest.mark.parametrize(("env_id", "text"), [("CartPole-v1", "0.20 s"), ("Pendulum-v1", "0.50 s"), (None, "step 10")])
def test_a_picture_says_when_it_was_taken(env_id, text):
    env = gymnasium.make(env_id) if env_id else SimpleNamespace(unwrapped=SimpleNamespace())
    assert caption(10, env) == text


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (8, 8), (11, 8)])
def test_a_filmstrip_is_a_picture_with_at_most_eight_in_a_row(count, columns, tmp_path):
    import imageio.v3 as imageio

    images = [np.full((40, 60, 3), 200, np.uint8) for _ in range(count)]
    for i, image in enumerate(images):
        image[5:35, 2 * i : 2 * i + 9] = 0
    filmstrip(tmp_path / "strip.png", images, [f"{i} s" for i in range(count)])
    height, width = imageio.imread(tmp_path / "strip.png").shape[:2]
    assert width == 240 * columns
    assert height > 100


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"render_fps": 25}, 25.0),
        ({}, 30.0),
        (None, 30.0),
        *(({"render_fps": odd}, 30.0) for odd in (0, -5, 1000, "25")),
    ],
)
def test_a_video_has_thirty_pictures_a_second_where_the_environment_says_nothing_of_use(metadata, expected):
    assert video._pictures_a_second(SimpleNamespace(metadata=metadata)) == expected
