"""Exercises that are MPI programs: right programs of any style pass, and wrong ones are refused with an explanation."""

import re
import textwrap
from pathlib import Path

import pytest

from minitrpo.course.checks import check, hint, hunt, mine, names, target
from minitrpo.course.checks.programs import fault
from minitrpo.course.checks.register import ProgramExercise, examine, find

pytestmark = pytest.mark.mpi
PROGRAMS = [name for name in names() if isinstance(find(name), ProgramExercise)]
GAP = re.compile(r"^( *)# \d+\. .*\n(?: *\S.*\n)*", re.MULTILINE)  # a step of a solution, with its lines


@pytest.fixture(autouse=True)
def nothing_solved_yet():
    yield
    vars(mine).clear()


def answers(name):
    """Yield (kind, what, program) of a file of answers. Lines around --- fill the two gaps of the solution."""
    text = (Path(__file__).parent / "programs" / f"{name}.txt").read_text("utf-8")
    for block in text.split("=== ")[1:]:
        head, _, program = block.partition("\n")
        kind, _, what = head.partition(": ")
        if "\n---\n" in program:
            program = filled(name, program.split("---\n"))
        yield kind, what, program


def filled(name, parts):
    """Return the solution of an exercise with other lines in its gaps."""
    lines = iter(parts)
    return GAP.sub(lambda found: textwrap.indent(next(lines), found[1]), target(name))


def of(kind):
    """Return parameters, one for each answer of a kind."""
    found = [(name, kind_, what, program) for name in PROGRAMS for kind_, what, program in answers(name)]
    return [
        pytest.param(name, kind_, program, id=f"{name}-{what}")
        for name, kind_, what, program in found
        if kind_.startswith(kind)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "program"), of("right"))
def test_right_programs_pass(name, kind, program):
    assert "Checked: " in examine(name, program)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "program"), of("wrong"))
def test_wrong_programs_are_refused_with_an_explanation(name, kind, program):
    """The known mistakes are named; of the others the sentence of the check says more than that they are wrong."""
    exercise = find(name)
    for case in exercise.cases():
        if said := fault(case, program, exercise.by_messages):
            what, symptom = said
            assert str(case.ranks) in what
            assert len(symptom) > 25, said
            assert (symptom in case.mistakes) == (kind == "wrong known"), said
            return
    pytest.fail("this program was taken for right")


def test_there_are_enough_answers():
    for name in PROGRAMS:
        kinds = [kind.split()[0] for kind, _, _ in answers(name)]
        assert kinds.count("right") >= 8
        assert kinds.count("wrong") >= 6


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_solution_passes_and_has_hints(name, capsys):
    check(name, target(name))
    hint(name)
    said = capsys.readouterr().out
    assert said.startswith(f"{name}: right.")
    assert "hint 1 of" in said
    assert getattr(mine, name) == target(name)


def test_gaps_that_are_left_are_not_attempted_and_anything_else_is_refused():
    for name in PROGRAMS:
        with pytest.raises(NotImplementedError):
            check(name, GAP.sub(r"\1...\n", target(name)))
    for useless in (None, print, 3, "", "total = 3"):
        with pytest.raises(AssertionError):
            check("ring", useless)


def test_a_hunt_shows_where_a_program_goes_wrong_but_not_why(capsys):
    wrong = next(program for kind, _, program in answers("ring") if kind == "wrong known")
    assert not hunt("ring", wrong)
    said = capsys.readouterr().out
    assert "expected" in said
    assert not any(symptom in said for case in find("ring").cases() for symptom in case.mistakes)
    assert hunt("ring", target("ring"))
