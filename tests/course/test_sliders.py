"""What every slider of the course draws, read from its figure at five settings, is what the text beside it says."""

import re
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from runs import ROOT

from minitrpo.reports.plots import BLUE

sys.path.insert(0, str(ROOT / "notebooks" / "site"))
from frames import SOURCES, what_it_needs

matplotlib.use("agg")


def over(name, *values, **others):
    return [{name: value, **others} for value in values]


def of(axis, label):
    """Return the line of an axis whose label begins so, as x and y."""
    return next(line for line in axis.lines if line.get_label().startswith(label)).get_data()


def room_below(axis):  # that the ellipse promises, as a part of what there is
    return axis.lines[0].get_ydata().min() / axis.collections[-1].get_paths()[0].vertices[:, 1].min()


def best_lambda(left, right):  # for means of 1, 10, 100, 1000
    return [line.get_xdata()[0] for line in right.lines if line.get_marker() == "*"]


def fades(path, roots):
    x, labels = np.abs(path.lines[0].get_ydata()), roots.get_legend_handles_labels()[1]
    assert ("stays or grows" in labels) == (x[-13:].max() > x[:13].max()), "both pictures say the same"
    return labels == ["fades"]


def corridor(left, right):  # sent home?, is Q right?
    learned = left.lines[1].get_ydata()
    return of(left, "greedy")[0].size > 0, bool(np.allclose(learned, left.lines[0].get_ydata()))


def truth_minus_prediction(left, right):
    true = [line.get_ydata().sum() for line in right.lines if line.get_color() == BLUE]
    return np.mean(true) - of(right, "predicted")[1].sum()


def grows(values):
    return bool(np.all(np.diff(values) > 0))


def in_title(pattern):
    return lambda axis, *_: float(re.search(pattern, axis.get_title())[1])


BILL = {"bills": {"Reacher": {"collect": 12.0, "update": 1.0}}}
CLIPS = [{"ratio": r, "advantage": a} for r, a in ((1.3, 1), (0.7, -1), (1.3, -1), (0.7, 1), (1.2, 1))]
CASES = [  # lecture, function, settings, what is read of the figure's axes, and what the text says of the five
    ("02", "show_region", over("log_max_kl", -2, -1, -0.5, -0.25, 0), room_below, lambda r: r[0] < 1.05 and grows(r)),
    ("03", "show_valley", over("ratio", 1, 2, 5, 10, 30), lambda a: len(of(a, "steepest")[0]) - 1,
     lambda steps: steps[0] == 1 and grows(steps)),
    ("04", "show_limit", over("log_max_kl", -4, -3, -2, 0, 1), lambda kl, gain: len(kl.get_legend().get_texts()) - 3,
     lambda trials: trials[:3] == [1, 1, 1] and min(trials[3:]) > 1),
    ("05a", "draw_lambdas", over("quality", 0, 0.25, 0.5, 0.75, 1), best_lambda,
     lambda best: np.all(np.diff(best, axis=0) <= 0) and np.all(np.diff(best, axis=1) >= 0)),
    ("06", "iteration", over("p", 1, 8, 12, 13, 64), lambda axis: float(axis.texts[1].get_text().split()[2]),
     lambda rest: grows(rest[:3]) and grows(rest[3:]) and rest[2] == 50),
    ("07b", "show_pool", [*over("ranks", 4, 16, pool="static"), *over("ranks", 4, 16, 32, pool="dynamic")],
     in_title(r"(\d+) % waiting"), lambda wait: wait[0] > wait[2] and wait[1] > wait[3] and grows(wait[2:])),
    ("10", "show_delayed", [{"delay": d, "rate": r} for d, r in ((0, 1.9), (0, 2.05), (1, 0.97), (2, 0.61), (4, 0.36))],
     fades, lambda found: found == [True, False, True, True, False]),
    ("11a", "look", [{"known": k, "simulators": s} for k, s in ((0, 16), (0.5, 16), (0.9, 16), (0, 256), (1, 16))],
     lambda left, right: of(right, "both")[0][of(right, "both")[1].argmin()], lambda n: n == [16, 8, 1, 16, 1]),
    ("12", "draw_clip", CLIPS, lambda objective, slope, kl: (slope.get_title(), kl.lines[1].get_ydata()[0]),
     lambda f: [word for word, _ in f] == ["left alone"] * 2 + ["pushed"] * 3 and abs(f[-1][1] - 0.02) < 0.003),
    ("13a", "draw_corridor", [{"n": n, "walks_on": w} for n, w in ((1, 0.5), (3, 0.5), (3, 0.8), (3, 0.9), (3, 1))],
     corridor, lambda f: f == [(False, True), (True, False), (True, False), (False, False), (False, True)]),
    ("13b", "draw_tops",
     [{"centre": c, "width": w} for c, w in ((-0.5, 0.1), (0.4, 0.1), (0.5, 0.1), (0, 1), (0.5, 1))],
     lambda axis: abs(of(axis, "its top")[0][0]), lambda top: np.allclose(top[:3], 0.4) and max(top[3:]) < 0.1),
    ("14", "draw_plan", over("limit", 0.001, 0.01, 0.1, 1, 10, first_state=1), truth_minus_prediction, grows),
    ("15", "picture", over("shared", 0, 0.5, 0.8, 0.9, 1),
     lambda left, right: max(left.containers, key=lambda bars: bars[3].get_height()).get_label(),
     lambda first: first == ["rank 0 alone"] * 4 + ["waiting"]),
]  # fmt: skip


@pytest.mark.parametrize(("number", "function", "settings", "read", "said"), CASES, ids=[case[1] for case in CASES])
def test_a_slider_shows_what_is_said_of_it(number, function, settings, read, said, monkeypatch):
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    source = next(SOURCES.glob(f"{number}_*.py"))
    draw, found = what_it_needs(source, {function}, **(BILL if number == "06" else {}))[function], []
    for setting in settings:
        plt.close("all")
        draw(**setting)
        found.append(read(*plt.gcf().axes))
    assert said(found), found


def test_every_slider_of_the_course_is_in_the_table():
    texts = [(path.name.split("_")[0], path.read_text("utf-8")) for path in SOURCES.glob("[0-9]*.py")]
    there = {(number, name) for number, text in texts for name in re.findall(r"interact\(\s*(\w+)", text)}
    assert there == {case[:2] for case in CASES}
