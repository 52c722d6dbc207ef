"""The benchmarks: what they compare is the same work, their statistics are right, and what was recorded is whole.

That the tables of the pages are what was recorded, by these statistics, is a rule of tests/tools/lint.py.
"""

import numpy as np
import pytest

from benchmarks import report, scaling
from benchmarks.record import RESULTS
from benchmarks.scaling import Experiment


def test_every_experiment_is_compared_with_one_rank_of_the_same(monkeypatch):
    monkeypatch.setattr(scaling, "cores", lambda: 4)
    planned = scaling.experiments(["A", "B"], ["root", "sharded"], ["dynamic"], [8, 2])
    assert {(e.ranks, e.separate) for e in planned} == {(1, False), (2, False), (8, False), (4, True)}
    assert len(planned) == len(set(planned)) == len({e.name for e in planned}) == 2 * (2 * 3 + 1)
    assert all(e.alone in planned and (e.alone == e) == (e.ranks == 1) for e in planned)
    times = np.outer(np.ones(3), [4.0, 1.0, 1.0, 2.0, 8.0])
    row = scaling.line(Experiment("A", "root", "dynamic", 2), times, 2 * times)
    assert (row["speedup"], row["collect_speedup"], row["efficiency"]) == (2.0, 2.0, 1.0)


@pytest.mark.slow
def test_every_picture_is_drawn_from_what_was_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(report.plt.Figure, "savefig", lambda figure, path, **_: (tmp_path / path.name).touch())
    report.draw()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in RESULTS.glob("*.png")}
    assert {f"{name}.json" for name in report.results()} >= {path.name for path in RESULTS.glob("*.json")}
