"""What an algorithm is: each way to be none has its own words, and a good one is found by name or as module:Class."""

import inspect
import json
from dataclasses import dataclass, field

import numpy as np
import pytest

from minitrpo import contract
from minitrpo.algorithms import registry
from minitrpo.algorithms.algorithm import Algorithm, Context
from minitrpo.algorithms.options import option
from minitrpo.algorithms.trpo import TRPO
from minitrpo.contract import OPTIONAL, REQUIRED, defect
from minitrpo.errors import BadInput
from minitrpo.experience.modules import trust
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.policies import GaussianPolicy
from minitrpo.run_folder.columns import FIRST, LAST
from minitrpo.training.settings import TAKEN, Settings, algorithm_of, chosen

TAKEN_HERE = {"seed", "mean_return"}


class Good:
    """As little as an algorithm can be."""

    @dataclass(frozen=True)
    class Settings:
        step_size: float = option(0.1, "how far", above=0)
        rounds: int = option(3, "how often", least=1)
        kind: str = option("a", "which", "", ("a", "b"))

    columns = ("gradient_norm", "loss")
    chart = ("loss",)

    def __init__(self, settings, context): ...
    def plan(self): ...
    def digest(self, plan, fragment): ...
    def learn(self, batch, rng): ...
    def state(self): ...
    def restore(self, arrays): ...


def but(**changes):
    """Return Good with other attributes; one that is None is not there."""
    attributes = {**vars(Good), **changes}
    return type("Good", (), {name: value for name, value in attributes.items() if value is not None})


@dataclass(frozen=True)
class PlainDefault:
    step_size: float = 0.1


@dataclass(frozen=True)
class OtherField:
    step_size: float = field(default=0.1, metadata={"help": "no limits"})


@dataclass(frozen=True)
class NoDefault:
    step_size: float


@dataclass(frozen=True)
class Pair:
    sizes: tuple[int, ...] = option((64, 64), "no int, float or str")


@dataclass(frozen=True)
class Flag:
    fast: bool = option(True, "no int, float or str either")


@dataclass(frozen=True)
class Theirs:
    seed: int = option(0, "every run has one", least=0)


class NoDataclass:
    step_size = 0.1


NO_OPTION = "which is not made by option(default, text), default an int, float or str"
NO_DATACLASS = "has no dataclass called Settings; write `Settings = Settings` inside the class"
DEFECTS = {
    "a function": (json.dumps, "is a function, not a class"),
    "a module": (json, "is a module, not a class"),
    "an object": (Good(None, None), "is a Good, not a class"),
    "no settings": (but(Settings=None), NO_DATACLASS),
    "settings of a plain class": (but(Settings=NoDataclass), NO_DATACLASS),
    "settings that are an object": (but(Settings=Theirs()), NO_DATACLASS),
    "a plain default": (but(Settings=PlainDefault), f"has Settings.step_size, {NO_OPTION}"),
    "another field": (but(Settings=OtherField), f"has Settings.step_size, {NO_OPTION}"),
    "no default": (but(Settings=NoDefault), f"has Settings.step_size, {NO_OPTION}"),
    "a tuple": (but(Settings=Pair), f"has Settings.sizes, {NO_OPTION}"),
    "a flag": (but(Settings=Flag), f"has Settings.fast, {NO_OPTION}"),
    "a setting that is taken": (
        but(Settings=Theirs),
        "has Settings.seed, but every run has a setting of that name: choose another",
    ),
    "no columns": (but(columns=None), "has columns = None; it must be a tuple of names"),
    "one name": (but(columns="kl"), "has columns = 'kl'; it must be a tuple of names"),
    "a list": (but(columns=["kl"]), "has columns = ['kl']; it must be a tuple of names"),
    "no names": (but(columns=("kl", "two words")), "it must be a tuple of names"),
    "numbers": (but(columns=(1, 2)), "it must be a tuple of names"),
    "a column that is taken": (
        but(columns=("kl", "mean_return"), chart=()),
        "has a column mean_return, which metrics.csv has already",
    ),
    "a column twice": (but(columns=("loss", "loss")), "has a column loss, which metrics.csv has already"),
    "a chart of something else": (but(chart=("loss", "kl")), "has chart = ('loss', 'kl'); only names of `columns`"),
    "a second one of it": (but(second_chart=("kl",)), "has second_chart = ('kl',); only names of `columns`"),
    "a method with a parameter too few": (
        but(learn=lambda self, batch: {}),
        "has learn(self, batch); it must take (self, batch, rng)",
    ),
    "a method with a parameter too many": (
        but(plan=lambda self, steps: None),
        "has plan(self, steps); it must take (self)",
    ),
    "a constructor that takes nothing": (
        but(__init__=lambda self: None),
        "has __init__(self); it must take (self, settings, context)",
    ),
    "no constructor": (but(__init__=None), "has no method __init__(self, settings, context)"),
    "a method that is none": (but(state={"theta": 1}), "has no method state(self)"),
    "help with a wrong signature": (
        but(assist=lambda self, plan: None),
        "has assist(self, plan); it must take (self, plan, rng)",
    ),
    "help that is none": (but(assist=3), "has no method assist(self, plan, rng)"),
}


def test_what_an_algorithm_is():
    assert defect(Good, TAKEN_HERE) == ""
    assert defect(TRPO, TAKEN) == ""
    assert defect(but(chart=None), TAKEN_HERE) == ""
    assert defect(but(columns=(), chart=None), TAKEN_HERE) == ""
    assert defect(but(assist=lambda self, plan, rng: None), TAKEN_HERE) == ""
    assert defect(but(digest=lambda self, plan, episodes, scale=2.0: {}), TAKEN_HERE) == ""
    assert defect(but(learn=lambda self, *arguments: {}), TAKEN_HERE) == ""
    assert defect(type("Child", (Good,), {}), TAKEN_HERE) == ""  # inherited is as good


@pytest.mark.parametrize("case", DEFECTS)
def test_what_is_no_algorithm_has_words_of_its_own(case):
    found, words = DEFECTS[case]
    said = defect(found, TAKEN_HERE)
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize("name", REQUIRED[Algorithm])
def test_every_method_is_asked_for(name):
    wanted = ", ".join(inspect.signature(getattr(Algorithm, name)).parameters)
    assert defect(but(**{name: None}), TAKEN_HERE) == f"has no method {name}({wanted})"


@pytest.mark.parametrize("base", REQUIRED)
def test_every_method_of_a_base_class_is_required_or_optional(base):
    methods = {name for name, value in inspect.getmembers(base, callable) if name in dir(base) and name[0] != "_"}
    methods -= {"Settings", "can_share"}
    assert {"__init__", *methods} == {*REQUIRED[base], *OPTIONAL[base]}
    assert not set(REQUIRED[base]) & set(OPTIONAL[base])
    for name in REQUIRED[base]:
        assert "raise NotImplementedError" in inspect.getsource(getattr(base, name))


def test_who_need_not_inherit_gets_the_defaults_of_the_base_class():
    found = contract.accepted("mine:Good", Good, TAKEN_HERE)
    assert issubclass(found, (Good, Algorithm))
    assert (found.__name__, found.__module__, found.chart) == ("Good", Good.__module__, ("loss",))
    assert (found.presets, found.can_share(), found.make_policy(None, 3)) == ({}, False, 3)


def test_what_every_run_has_is_taken():
    assert {*FIRST, *LAST, "seed", "total_steps", "checkpoint_every", "out", "resume", "help", "preset"} <= TAKEN
    assert set(Settings.__dataclass_fields__) <= TAKEN
    assert not TAKEN & set(TRPO.columns)


# --- the registry


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, where a user's modules lie; names are per test, as imports are remembered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def refused(name):
    trust(name)  # as what was typed is
    with pytest.raises(BadInput) as failure:
        algorithm_of(name)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_every_name_stands_for_an_algorithm():
    assert registry.DEFAULT in registry.ALGORITHMS
    for name in registry.ALGORITHMS:
        found = algorithm_of(name)
        assert f"{found.__module__}:{found.__qualname__}" == registry.ALGORITHMS[name]
        assert chosen({"algorithm": name}).algorithm is found


GOOD = """
from dataclasses import dataclass
from minitrpo.algorithms import option
@dataclass(frozen=True)
class Settings:
    step_size: float = option(0.1, "how far", above=0)
class Mine:
    Settings, columns = Settings, ()
    def __init__(self, settings, context): ...
    def plan(self): ...
    def digest(self, plan, fragment): ...
    def learn(self, batch, rng): ...
    def state(self): ...
    def restore(self, arrays): ...
"""


def test_a_users_own_is_found_beside_the_command(folder):
    (folder / "own_found.py").write_text(GOOD)
    trust("own_found:Mine")
    assert algorithm_of("own_found:Mine").__name__ == "Mine"
    assert chosen({"algorithm": "own_found:Mine", "step_size": 0.5}).own.step_size == 0.5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nosuch", "unknown --algorithm 'nosuch': there is trpo"),
        ("", "unknown --algorithm ''"),
        ("json:", "unknown --algorithm 'json:'"),
        (":Mine", "unknown --algorithm ':Mine'"),
        ("nosuch:Mine", "cannot import nosuch: ModuleNotFoundError: No module named 'nosuch'; python looks in "),
        ("json:Mine", "the module json ("),
        ("sys:Mine", "the module sys (built in) has no Mine"),
        ("json:dumps", "dumps is a function, not a class; see minitrpo/algorithms/algorithm.py"),
        ("json:JSONDecoder", "JSONDecoder has"),
    ],
)
def test_what_is_not_found_or_no_algorithm_is_refused_with_its_name(name, words):
    said = refused(name)
    assert words in said
    assert name in said


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("own_syntax", "class Mine\n", "SyntaxError: "),
        ("own_raises", "raise KeyError('a\\nb')\n", "KeyError: "),
        ("own_zero", "1 / 0\n", "ZeroDivisionError: division by zero"),
        ("own_missing", "import numpyy\n", "ModuleNotFoundError: No module named 'numpyy'"),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(module, text, words, folder):
    (folder / f"{module}.py").write_text(text)
    said = refused(f"{module}:Mine")
    assert f"--algorithm {module}:Mine: cannot import {module}: {words}" in said
    assert str(folder) in said


# --- what an algorithm is given


def test_the_context_keys_its_random_numbers_by_the_seed_and_the_purpose():
    context = Context(GaussianPolicy(3, 2, ()), seed=7, steps_per_update=100)
    drawn = [context.generator(purpose).random() for purpose in (Purpose.POLICY, Purpose.CRITIC, Purpose.POLICY)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert drawn[0] == generator(7, 0, 0, Purpose.POLICY).random()
    assert (context.comm.rank, context.comm.size) == (0, 1)
    context.note("something happened")
    with context.span("policy"):
        pass
    assert context.notes == ["something happened"]
    assert context.timeline.take()["policy"] > 0
    assert Context(context.policy, 7, 100).notes == []  # every run has its own


def test_what_trpo_saves_is_enough_to_go_on():
    """state() and restore(), through a file, for each critic and with the adaptive rule half-way through a window."""
    rng = np.random.default_rng(0)
    for critic in ("mlp", "linear"):
        choice = chosen({"critic": critic, "adapt": "both", "adapt_window": 3, "critic_epochs": 1})
        old, new = (TRPO(choice.own, Context(GaussianPolicy(3, 2, (4,)), seed, 50)) for seed in (1, 2))
        for _ in range(5):
            old.learn(batch_of(old, rng), np.random.default_rng(1))
        new.restore({name: array.copy() for name, array in old.state().items()})
        assert new.adaptive == old.adaptive
        assert len(new.adaptive.returns) == 2
        batch = batch_of(old, rng)
        rows = [algorithm.learn(batch, np.random.default_rng(1)) for algorithm in (old, new)]
        assert repr(rows[0]) == repr(rows[1])  # NaN is not NaN
        assert set(rows[0]) == set(TRPO.columns)
        states = [algorithm.state() for algorithm in (old, new)]
        assert states[0].keys() == states[1].keys()
        assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


def batch_of(algorithm, rng, n=60):
    """Return samples of six episodes of ten steps."""
    theta, policy = algorithm.theta, algorithm.policy
    observations, last = rng.standard_normal((n, 3)), np.arange(n) % 10 == 9
    return {
        "observations": observations,
        "actions": policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, n)),
        "rewards": rng.standard_normal(n),
        "timesteps": np.arange(n) % 10.0,
        "last": last,
        "terminated": last,
        "final_observations": rng.standard_normal((6, 3)),
        "final_timesteps": np.full(6, 10.0),
        "ended": np.ones(6, bool),
        "returns": rng.standard_normal(6),
    }
