"""Edits of one token of a solution are wrong answers: a check refuses each that changes what the function does."""

import ast

import pytest
from answers import rows_of
from mutation import edited, edits

from minitrpo.course.checks.framework import differential
from minitrpo.course.checks.framework.mistakes import compiled, edited_source, source_of
from minitrpo.course.checks.framework.register import Exercise, examine, exercises

FUNCTIONS = [name for name, exercise in exercises().items() if isinstance(exercise, Exercise)]


def answers(name):
    """Return {what an answer says, as a tree: (its source, the edited line)} of all edits of one token."""
    source = source_of(exercises()[name].target)
    found = {}
    for edit in edits(source, more=True):
        text = edited(source, edit)
        try:
            compile(text, name, "exec")
        except SyntaxError:
            continue
        found.setdefault(tree(text), (text, f"{edit[2]} -> {edit[3]}: {text.splitlines()[edit[0] - 1].strip()}"))
    found.pop(tree(source), None)
    return found


def tree(source):
    return ast.dump(ast.parse(source))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_edit_is_refused_but_those_that_are_known_to_change_nothing(name, monkeypatch):
    """EQUAL of a lecture's file has the edits that are right answers, too: a row that says why, and the edit."""
    monkeypatch.setattr(differential, "known", lambda *given: "")
    monkeypatch.setattr(differential, "LONGEST", 2.0)
    target = exercises()[name].target
    equal = {tree(edited_source(target, change)) for _, change in rows_of(name, "EQUAL")}
    accepted = dict[str, str]()
    for what, (text, line) in answers(name).items():
        try:
            examine(name, compiled(target, text))
            accepted[what] = line
        except AssertionError:
            pass
    assert [line for what, line in accepted.items() if what not in equal] == [], "a check accepts a wrong answer"
    assert len(equal & accepted.keys()) == len(equal), "a row of EQUAL is no edit of one token, or is refused"


def test_there_are_edits_of_most_exercises():
    numbers = {name: len(answers(name)) for name in FUNCTIONS}
    assert sum(numbers.values()) > 700
    assert [name for name, number in numbers.items() if number == 0] == ["in_order"]
