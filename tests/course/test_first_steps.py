"""The programs of lecture 07a run in a terminal as their first lines say, on two ranks, and learn what they promise."""

import re

import pytest
from runs import ROOT

from minitrpo.supervision.mpiexec import mpiexec

pytestmark = pytest.mark.mpi
STEPS = sorted((ROOT / "mpi_scripts" / "first_steps").glob("*.py"))


@pytest.mark.parametrize("path", STEPS, ids=[path.stem for path in STEPS])
def test_a_first_step_runs_on_two_ranks(path):
    said = mpiexec(2, str(path), timeout=60)
    assert said.strip()
    if path.stem.startswith("reinforce"):  # which printed the mean returns of four iterations
        returns = [float(number) for number in re.findall(r"mean return ([\d.]+)", said)]
        assert returns[-1] > 2 * returns[0]


def test_the_table_of_first_steps_names_each_of_them():
    page = (ROOT / "mpi_scripts" / "first_steps" / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+\.py)` \|", page, re.MULTILINE)  # not linked: the web pages show no answers
    assert sorted(listed) == [path.name for path in STEPS]
