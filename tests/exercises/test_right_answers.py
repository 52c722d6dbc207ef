"""What a check accepts must serve: every right answer, pasted into its lecture, lets all later cells run."""

from pathlib import Path

import pytest
from test_checks import RIGHT
from test_notebooks import ROOT, SOURCES, build, check_cells

from minitrpo.course.checks import target


def rights(name):
    """Return how many right answers an exercise has."""
    return sum(other == name for other, _ in RIGHT)


def pasted(source, number):
    """Return the solution with the right answers of this number in place of the package's, unmarked for nbval."""
    notebook, mutants = build.solution(source), next(Path(__file__).parent.glob(f"mutants/{source.stem[:2]}_*.py"))
    for cell in notebook.cells:
        if "exercise" in cell.metadata:
            name = cell.metadata["exercise"]
            cell.source = (
                "import importlib.util as _u\n"
                f"_s = _u.spec_from_file_location('mutants', {str(mutants)!r})\n"
                "_m = _u.module_from_spec(_s)\n"
                "_s.loader.exec_module(_m)\n"
                f"_r = _m.RIGHT[{name!r}]\n"
                "_r = _r if isinstance(_r, list | tuple) else [_r]\n"
                f"{target(name).__name__} = _r[{number} % len(_r)]"
            )
    return notebook


ROUNDS = range(max(rights(name) for name, _ in RIGHT))


@pytest.mark.thorough
@pytest.mark.parametrize("number", ROUNDS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_right_answer_lets_all_later_cells_run(source, number, monkeypatch):
    exercises = check_cells(build.solution(source)).values()
    if number and all(rights(name) <= number for name in exercises):
        pytest.skip("all right answers of this lecture have been tried")
    monkeypatch.setenv("MINITRPO_BUDGET", "quick")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    build.execute(pasted(source, number))
