"""Exercises that are MPI programs: right programs of any style pass, and wrong ones are refused with an explanation.

A start of mpiexec costs more than any of these programs. So the right ones of an exercise, which all come to their end,
run one after the other in one start, and are judged by the same functions as alone. A wrong one has a start of its own.
"""

import ast
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from minitrpo.course.checks import check, hint, hunt, mine, names, target
from minitrpo.course.checks.framework import register
from minitrpo.course.checks.framework.programs import BY_LUCK, fault, same, unshared
from minitrpo.course.checks.framework.register import ProgramExercise, find
from minitrpo.course.mpi import run, run_mpi

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


def together(case, programs):
    """Yield (value of the variable, calls and messages) of rank 0 for each of several programs, run in one start.

    Each is run by a line of its own, to which its MPI calls are recorded.
    """
    [variable] = case.expected
    codes = [ast.unparse(without_data(program, case.data)) for program in programs]
    lines = [f"exec(codes[{number}], modules[{number}])" for number in range(len(codes))]
    driver = ["modules = [{**data, '__name__': '__main__'} for _ in codes]", *lines]
    driver += ["found = [module.get(variable) for module in modules]"]
    data = {"data": case.data, "codes": codes, "variable": variable}
    result = run_mpi("\n".join(driver), case.ranks, timeout=60, data=data, names=["found"])
    assert result.ok, result.explanation
    assert [note.text for note in result.notes if note.kind in BY_LUCK] == []
    for line, value in enumerate(result.values[0]["found"], start=2):
        messages = [message for message in result.messages if message.send.line == line]
        yield value, SimpleNamespace(messages=messages, calls=[call for call in result.calls if call.line == line])


def without_data(program, data):
    """Return a program as a tree without its first assignments to the names of the data, as run_mpi leaves them out."""
    tree, missing = ast.parse(program), set(data)
    for statement in list(tree.body):
        names = {target.id for target in getattr(statement, "targets", ()) if isinstance(target, ast.Name)}
        if names & missing:
            tree.body.remove(statement)
            missing -= names
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_programs_pass(name):
    exercise = find(name)
    programs = {what: program for kind, what, program in answers(name) if kind == "right"}
    for case in exercise.cases():
        results = together(case, list(programs.values()))
        [expected] = case.expected.values()
        for (value, exchanged), what in zip(results, programs, strict=True):
            assert same(expected, value), f"{what}: {value}, not {expected}, for {case}"
            assert unshared(case, exchanged, exercise.by_messages) is None, what


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "program"), of("wrong"))
def test_wrong_programs_are_refused_with_an_explanation(name, kind, program, monkeypatch):
    """The known mistakes are named; of the others the sentence of the check says more than that they are wrong."""
    monkeypatch.setattr(run, "CERTAIN_S", 0.5)  # a deadlock stays one: waiting for longer is for the student's patience
    exercise = find(name)
    for case in exercise.cases():
        if said := fault(case, program, exercise.by_messages):
            what, symptom = said
            assert str(case.ranks) in what
            assert len(symptom) > 25, said
            assert (symptom in case.mistakes) == (kind == "wrong known"), said
            return
    pytest.fail("this program was taken for right")


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_program_among_others_is_found(name):
    """Running programs in one start forgives nothing that a start of its own would not."""
    wrong = next(program for kind, _, program in answers(name) if kind == "wrong known")
    right = target(name)
    for case in find(name).cases():
        [expected] = case.expected.values()
        first, second, third = (value for value, _ in together(case, [right, wrong, right]))
        assert same(expected, first)
        assert same(expected, third)
        if not same(expected, second):
            return
    pytest.fail("the wrong program was taken for right")


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


def test_gaps_that_are_left_are_not_attempted_and_anything_else_is_refused(monkeypatch):
    monkeypatch.setattr(run, "CERTAIN_S", 0.5)
    for name in PROGRAMS:
        with pytest.raises(NotImplementedError):
            check(name, GAP.sub(r"\1...\n", target(name)))
    for useless in (None, print, 3, "", "total = 3"):
        with pytest.raises(AssertionError):
            check("ring", useless)


def test_a_hunt_shows_where_a_program_goes_wrong_but_not_why(capsys, monkeypatch):
    wrong = next(program for kind, _, program in answers("ring") if kind == "wrong known")
    ring = find("ring")
    monkeypatch.setitem(register._exercises, "ring", replace(ring, cases=lambda: iter([*ring.cases()][:1])))
    assert not hunt("ring", wrong)
    said = capsys.readouterr().out
    assert "expected" in said
    assert not any(symptom in said for case in find("ring").cases() for symptom in case.mistakes)
    assert hunt("ring", target("ring"))
