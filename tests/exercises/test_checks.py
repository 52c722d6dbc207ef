"""Checks have teeth: the package's own function and other right answers pass, nothing passes, wrong answers do not."""

import copy
import importlib.util
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

from minitrpo.course.checks import check, hint, hunt, mine, names, target
from minitrpo.course.checks.differential import Wrong
from minitrpo.course.checks.register import examine, find

MUTANTS = Path(__file__).parent / "mutants"


def load(path):
    spec = importlib.util.spec_from_file_location(f"mutants_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edited(name, what, texts):
    """Return the package's function with texts in its source changed, in their last place: old, new, old, new, ..."""
    source = inspect.getsource(target(name))
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        before, found, after = source.rpartition(old)
        assert found, f"{name}, {what}: {old!r} is not in the source"
        source = before + new + after
    there = copy.copy(vars(sys.modules[target(name).__module__]))
    exec(compile(source, f"{name}, {what}", "exec"), there)
    function = there[target(name).__name__]
    function.__name__ = what
    return function


def all_of(right):
    return right if isinstance(right, list | tuple) else [right]


# WRONG: exercise -> list of functions, each a plausible wrong answer. EDITS: exercise -> what -> texts for `edited`.
# RIGHT: exercise -> another right answer, or several.
FILES = [load(path) for path in sorted(MUTANTS.glob("[0-9]*.py"))]
WRONG = [(name, f) for module in FILES for name, some in module.WRONG.items() for f in some]
WRONG += [
    (name, edited(name, what, texts))
    for module in FILES
    for name, some in getattr(module, "EDITS", {}).items()
    for what, texts in some.items()
]
RIGHT = [(name, f) for module in FILES for name, some in module.RIGHT.items() for f in all_of(some)]
MISTAKES = [(name, symptom) for name in names() for symptom in find(name).mistakes]


@pytest.fixture(autouse=True)
def nothing_solved_yet():
    yield
    vars(mine).clear()


@pytest.mark.parametrize("name", names())
def test_the_package_passes(name, capsys):
    check(name, target(name))
    assert capsys.readouterr().out.startswith(f"{name}: right. From here on the notebook uses your function.")


@pytest.mark.parametrize(("name", "right"), RIGHT, ids=[f"{name}-{f.__name__}" for name, f in RIGHT])
def test_another_right_answer_passes(name, right):
    assert right is not target(name)
    check(name, right)


@pytest.mark.parametrize("name", names())
def test_a_stub_was_not_attempted(name):
    def stub(*arguments, **named):
        raise NotImplementedError("exercise")

    with pytest.raises(NotImplementedError):
        check(name, stub)


@pytest.mark.parametrize("name", names())
def test_nothing_useful_is_refused(name):
    for useless in (lambda *a, **k: None, lambda *a, **k: 0.0, lambda *a, **k: a[0] if a else None):
        with pytest.raises(AssertionError):
            check(name, useless)


@pytest.mark.parametrize("name", names())
def test_one_buffer_for_all_results_is_refused(name):
    """Every result in the memory of the one before of its shape: right, as long as nobody calls twice."""
    memory, again = {}, []

    def saving(*arguments, **named):
        result = target(name)(*arguments, **named)
        if not isinstance(result, np.ndarray) or not result.ndim:
            return result
        again.append((result.shape, result.dtype) in memory and bool(result.size))
        memory.setdefault((result.shape, result.dtype), np.empty_like(result))[...] = result
        return memory[result.shape, result.dtype]

    try:
        check(name, saving)
    except AssertionError:
        return
    assert not any(again)


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=[f"{name}-{f.__name__}" for name, f in WRONG])
def test_a_wrong_answer_is_refused_with_its_symptom(name, wrong):
    with pytest.raises(AssertionError) as refused:
        check(name, wrong)
    message = str(refused.value)
    assert len(message) > 25, "a symptom, not a word"
    assert "raised" not in message, f"{message}: a plausible wrong answer runs; its check should say what is wrong"
    assert not message.startswith(name), "the box, or the line above, says the name"


@pytest.mark.parametrize(("name", "symptom"), MISTAKES, ids=[f"{name}-{symptom[:40]}" for name, symptom in MISTAKES])
def test_a_known_mistake_is_told_its_own_symptom(name, symptom):
    with pytest.raises(Wrong) as refused:
        examine(name, find(name).mistakes[symptom])
    assert str(refused.value).endswith(symptom)
    assert symptom not in refused.value.what, "a bug hunt shows where, not why"


@pytest.mark.parametrize("name", names())
def test_every_exercise_has_hints_wrong_answers_and_a_docstring(name, capsys):
    assert sum(1 for other, _ in WRONG if other == name) >= 3
    assert any(other == name for other, _ in RIGHT)
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
    name, wrong = WRONG[0]
    assert not hunt(name, wrong)
    printed = capsys.readouterr().out
    assert "the bug is still there. For " in printed
    assert "expected" in printed
    assert not any(symptom in printed for symptom in find(name).mistakes)
    check(name, RIGHT[0][1])
    assert hunt(name, target(name))
    assert "the bug is gone" in capsys.readouterr().out
    assert getattr(mine, name) is RIGHT[0][1]


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(KeyError, match=names()[0]):
        check("no such exercise", print)


def test_an_error_in_the_students_code_is_located_and_shown_with_its_input():
    def energy(product, b, x):
        return product(x).nonsense

    text = r"b = \[1, 2\], x = \[1, 1\]\): expected 0.5, it raised AttributeError: .* "
    with pytest.raises(AssertionError, match=text + r"\(at your line \d+: return product\(x\).nonsense\)"):
        check("energy", energy)


def test_an_error_is_located_in_a_folder_with_the_packages_name(tmp_path):
    path = tmp_path / "minitrpo" / "my_energy.py"
    path.parent.mkdir()
    path.write_text("def energy(product, b, x):\n    return product(x).nonsense\n")
    with pytest.raises(AssertionError, match=r"\(at your line 2: return product\(x\).nonsense\)"):
        check("energy", load(path).energy)
