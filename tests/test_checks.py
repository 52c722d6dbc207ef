"""Checks have teeth: the package's own function and another right answer pass, nothing passes, wrong answers do not."""

import importlib.util
import inspect
from pathlib import Path

import pytest

from minitrpo.checks import check, hint, hunt, mine, names, target

MUTANTS = Path(__file__).parent / "mutants"


def load(path):
    spec = importlib.util.spec_from_file_location(f"mutants_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# WRONG: exercise -> list of functions, each a plausible wrong answer. RIGHT: exercise -> another right answer.
FILES = [load(path) for path in sorted(MUTANTS.glob("[0-9]*.py"))]
WRONG = [(name, f) for module in FILES for name, some in module.WRONG.items() for f in some]
RIGHT = {name: f for module in FILES for name, f in module.RIGHT.items()}
# RIGHT_TOO: exercise -> a list of more of them.
RIGHT_TOO = [(name, f) for m in FILES for name, some in getattr(m, "RIGHT_TOO", {}).items() for f in some]


@pytest.fixture(autouse=True)
def nothing_solved_yet():
    yield
    vars(mine).clear()


@pytest.mark.parametrize("name", names())
def test_the_package_passes(name, capsys):
    check(name, target(name))
    assert capsys.readouterr().out.startswith(f"{name}: right")


@pytest.mark.parametrize("name", names())
def test_another_right_answer_passes(name):
    assert RIGHT[name] is not target(name)
    check(name, RIGHT[name])


@pytest.mark.parametrize(("name", "right"), RIGHT_TOO, ids=[f"{name}-{f.__name__}" for name, f in RIGHT_TOO])
def test_more_right_answers_pass(name, right):
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


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=[f"{name}-{f.__name__}" for name, f in WRONG])
def test_a_wrong_answer_is_refused_with_its_symptom(name, wrong):
    with pytest.raises(AssertionError) as refused:
        check(name, wrong)
    message = str(refused.value)
    assert len(message) > 25, "a symptom, not a word"
    assert "raised" not in message, f"{message}: a plausible wrong answer runs; its check should say what is wrong"


@pytest.mark.parametrize("name", names())
def test_every_exercise_has_hints_wrong_answers_and_a_docstring(name, capsys):
    assert sum(1 for other, _ in WRONG if other == name) >= 3
    assert inspect.getdoc(target(name))
    hint(name)
    assert "hint 1 of" in capsys.readouterr().out
    hint(name, 99)
    assert "has hints 1 to" in capsys.readouterr().out


def test_a_passed_check_swaps_the_students_function_in():
    name = names()[0]
    own = RIGHT[name]
    assert getattr(mine, name) is not own
    check(name, own)
    assert getattr(mine, name) is own


def test_a_hunt_prints_the_symptom_and_swaps_nothing_in(capsys):
    name, wrong = WRONG[0]
    assert not hunt(name, wrong)
    assert "the bug is still there" in capsys.readouterr().out
    assert hunt(name, target(name))
    assert getattr(mine, name) is target(name)


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(KeyError, match=names()[0]):
        check("no such exercise", print)


def test_an_error_in_the_students_code_is_located():
    def energy(product, b, x):
        return product(x).nonsense

    with pytest.raises(
        AssertionError, match=r"raised AttributeError: .* \(at your line \d+: return product\(x\).nonsense\)"
    ):
        check("energy", energy)


def test_an_error_is_located_in_a_folder_with_the_packages_name(tmp_path):
    path = tmp_path / "minitrpo" / "my_energy.py"
    path.parent.mkdir()
    path.write_text("def energy(product, b, x):\n    return product(x).nonsense\n")
    with pytest.raises(AssertionError, match=r"\(at your line 2: return product\(x\).nonsense\)"):
        check("energy", load(path).energy)
