"""Checks have teeth: the package's own function and other right answers pass, nothing passes, wrong answers do not."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from answers import MISFITS, ODD, RIGHT, WRONG, load

from minitrpo.course.checks import check, hint, hunt, mine, names, target
from minitrpo.course.checks.framework import differential, register
from minitrpo.course.checks.framework.differential import Wrong
from minitrpo.course.checks.framework.mistakes import edited, rows
from minitrpo.course.checks.framework.register import Exercise, examine, exercise, find, program_exercise

FUNCTIONS = [name for name in names() if isinstance(find(name), Exercise)]  # programs: test_programs.py
exercises = pytest.mark.parametrize("name", FUNCTIONS)


@pytest.fixture(autouse=True)
def nothing_solved_yet():
    yield
    vars(mine).clear()


def of(name, answers):
    """Return {what: answer} of an exercise."""
    return {f.__name__: f for other, f in answers if other == name}


def refusal(name, candidate):
    """Return what is said of an answer; nothing if it is taken for right."""
    try:
        examine(name, candidate)
    except AssertionError as wrong:
        return str(wrong)
    return ""


def without_symptoms(monkeypatch):
    """Leave out the search for a known mistake, which decides nothing but the words."""
    monkeypatch.setattr(differential, "known", lambda *given: "")


def test_a_second_exercise_of_a_name_is_refused_and_the_first_stays():
    """Of another solution, of the same one in another check, and of a program that is called like a function."""
    before = find("gae")
    for second in (
        exercise("minitrpo.elsewhere:gae", "", lecture="99"),
        exercise(before.target, before.table, lecture=before.lecture),
        program_exercise("first_steps/gae.py", "", lecture="99"),
    ):
        with pytest.raises(ValueError, match=re.escape(before.target)):
            second(lambda: iter(()))
    assert find("gae") is before
    again = exercise(before.target, before.table, lecture=before.lecture, points=before.points)
    again(before.cases)  # a module that is loaded again replaces its own
    assert find("gae") == before


def test_no_two_exercises_of_the_course_have_one_name():
    """Each call of `exercise` or `program_exercise` in the files of checks is a name of its own."""
    calls = [
        call
        for file in Path(register.__file__).parents[1].glob("*.py")
        for call in re.findall(r"^@?(?:program_)?exercise\($", file.read_text(), re.MULTILINE)
    ]
    assert len(calls) == len(names()) > 50


@exercises
def test_the_package_passes(name, capsys):
    check(name, target(name))
    assert capsys.readouterr().out.startswith(f"{name}: right. From here on the notebook uses your function.")


@pytest.mark.slow
@exercises
def test_other_right_answers_pass(name):
    right = of(name, RIGHT)
    assert target(name) not in right.values()
    assert {what: said for what, f in right.items() if (said := refusal(name, f))} == {}


@exercises
def test_wrong_answers_are_refused_with_a_symptom(name, monkeypatch):
    """A plausible wrong answer runs: its check should say what is wrong, not that it raised something."""
    without_symptoms(monkeypatch)
    said = {what: refusal(name, f) for what, f in of(name, WRONG).items()}
    bad = {what: x for what, x in said.items() if len(x) <= 25 or "Error: " in x}
    assert bad == {}


@exercises
def test_what_the_text_does_not_ask_for_is_remarked_on(name, monkeypatch):
    without_symptoms(monkeypatch)
    said = {what: refusal(name, f) or examine(name, f) for what, f in of(name, ODD).items()}
    assert [what for what, x in said.items() if "Remark: " not in x] == []


@pytest.mark.slow
@exercises
def test_known_mistakes_are_told_their_own_symptoms(name):
    known = {symptom: edited(find(name).target, change) for change, symptom in rows(find(name).table)}
    assert find(name).mistakes().keys() == known.keys()
    for symptom, mistake in known.items():
        with pytest.raises(Wrong) as refused:
            examine(name, mistake)
        assert str(refused.value).endswith(symptom)
        assert symptom not in refused.value.what, "a bug hunt shows where, not why"
        assert str(refused.value).count("\n") < 6


def test_rows_of_answers_fit_the_package():
    """Who renames a local variable of a solution finds the rows that name it here, and renames it there."""
    assert MISFITS == []


@exercises
def test_what_is_no_answer_is_not_taken_for_one(name, monkeypatch):
    without_symptoms(monkeypatch)

    def stub(*arguments, **named):
        raise NotImplementedError("exercise")

    with pytest.raises(NotImplementedError):
        check(name, stub)
    for useless in (lambda *a, **k: None, lambda *a, **k: 0.0, lambda *a, **k: a[0] if a else None):
        with pytest.raises(AssertionError):
            check(name, useless)


@exercises
def test_one_buffer_for_all_results_is_refused(name, monkeypatch):
    """Every result in the memory of the one before of its shape: right, as long as nobody calls twice."""
    without_symptoms(monkeypatch)
    memory, again = {}, []

    def saving(*arguments, **named):
        result = target(name)(*arguments, **named)
        if not isinstance(result, np.ndarray) or not result.ndim:
            return result
        again.append((result.shape, result.dtype) in memory and bool(result.size))
        memory.setdefault((result.shape, result.dtype), np.empty_like(result))[...] = result
        return memory[result.shape, result.dtype]

    assert refusal(name, saving) or not any(again)


def test_every_exercise_has_hints_answers_and_a_docstring(capsys):
    for name in FUNCTIONS:
        for answers in (RIGHT, WRONG):
            called = [f.__name__ for other, f in answers if other == name]
            assert len(set(called)) == len(called) >= 1, f"{name}: no right or no wrong answer, or two of one name"
        assert inspect.getdoc(target(name))
        hint(name)
        assert "hint 1 of" in capsys.readouterr().out
        hint(name, 99)
        assert "has hints 1 to" in capsys.readouterr().out


def test_a_passed_check_swaps_the_students_function_in():
    name, own = RIGHT[0]
    assert getattr(mine, name) is not own
    check(name, own)
    assert getattr(mine, name) is own


def test_a_hunt_prints_where_but_not_why_and_swaps_nothing_in(capsys):
    name, right = RIGHT[0]
    symptom, mistake = next(iter(find(name).mistakes().items()))
    assert not hunt(name, mistake)
    printed = capsys.readouterr().out
    assert "the bug is still there." in printed
    assert "expected" in printed
    assert symptom not in printed
    check(name, right)
    assert hunt(name, target(name))
    assert "the bug is gone" in capsys.readouterr().out
    assert getattr(mine, name) is right


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(KeyError, match="gaussian_log_prob"):
        check("gauss_log_prob", print)
    with pytest.raises(KeyError, match=r"names\(\)"):
        check("xyzzy", print)


def test_a_hint_takes_a_function_for_its_name_and_answers_a_typo_in_one_line(capsys):
    def said(*typed):
        hint(*typed)
        return capsys.readouterr().out

    assert said(target("energy"), 2) == said("energy", 2) != said("energy")
    for typo in ("energi", "enegry"):
        assert (said(typo).count("\n"), "energy" in said(typo)) == (1, True)
    for nothing in ("xyzzy", 3):
        assert (said(nothing).count("\n"), "names()" in said(nothing)) == (1, True)


def test_an_error_in_the_students_code_is_located_and_shown_with_its_input():
    def energy(product, b, x):
        return product(x).nonsense

    text = r"(?s)b = \[1, 2\], x = \[1, 1\].*0.5.*AttributeError: .*\(at your line \d+: return product\(x\).nonsense\)"
    with pytest.raises(AssertionError, match=text):
        check("energy", energy)


def test_an_error_is_located_in_a_folder_with_the_packages_name(tmp_path):
    path = tmp_path / "minitrpo" / "my_energy.py"
    path.parent.mkdir()
    path.write_text("def energy(product, b, x):\n    return product(x).nonsense\n")
    with pytest.raises(AssertionError, match=r"\(at your line 2: return product\(x\).nonsense\)"):
        check("energy", load(path).energy)


def test_a_wrong_answer_in_a_notebook_is_offered_the_next_hint_until_all_are_read(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(register, "in_jupyter", lambda: True)
    monkeypatch.setattr(register, "box", lambda name, title, text, color: shown.append(text))
    monkeypatch.setattr(register, "_hints_read", {})
    total = len(find("gae").hints)
    for number in range(1, total + 1):
        check("gae", lambda *arguments: 0.0)
        assert f'hint("gae", {number})' in shown[-1]
        hint("gae", number)
    check("gae", lambda *arguments: 0.0)
    assert 'hint("gae"' not in shown[-1]
    assert capsys.readouterr().out.count("hint ") == total
