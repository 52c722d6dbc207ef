"""TRPO in one file: the same bits on any number of ranks, and it learns; that it is short, tests/tools/lint.py says."""

import re

import pytest
from runs import run


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize(("words", "good"), [((), 195), (("--env", "Reacher-v5", "--total-steps", 20_000), -18)])
def test_the_page_has_the_same_bits_on_any_number_of_ranks_and_learns(words, good):
    alone, two, three = (run("trpo_in_one_file.py", "--total-steps", 40_000, *words, ranks=p) for p in (1, 2, 3))
    assert alone.code == 0, str(alone)
    assert alone.out == two.out == three.out
    assert re.search("theta sha256: [0-9a-f]{64}\n$", alone.out)
    assert max(map(float, re.findall(r"mean return +(\S+),", alone.out))) > good
