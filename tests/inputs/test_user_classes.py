"""What a user brings: names, modules and classes that are no environment or algorithm, and what its methods return.

What can be seen before the run is BadInput, in one line, and nothing is written; what shows later is AlgorithmFailed.
"""

import dataclasses
import json

import numpy as np
import pytest
from refusals import one_line, unchanged
from runs import forked

import minitrpo
from minitrpo import AlgorithmFailed, BadInput, load
from minitrpo.algorithms import Algorithm, Plan, Purpose, option
from minitrpo.algorithms.actor_critic import A3C
from minitrpo.algorithms.registry import ALGORITHMS, find
from minitrpo.algorithms.user_classes import accepted

# --- names and modules

NAMES = ("", " ", "x", "CartPole-v1\n", ":CartPole-v1", "os:", "os:Nothing", "..x:Foo-v0", ".:Foo", "a:b:c", "x" * 9000,
         "json:dumps", "no_such_module:Env", "no.such.module:Env", "Größe-v0", "numpy:ndarray")  # fmt: skip
ENVS = (*NAMES, "CartPole-v99", "CartPole-v0.5", "Taxi-v3", "CartPole-v1,Pendulum-v1", "failing_envs:TupleActions-v0",
        "failing_envs:DictObservations-v0", "failing_envs:Nothing-v0")  # fmt: skip
MODULES = {
    "syntax": "def f(:\n", "indent": "  x = 1\n x = 2", "leaves": "import sys\nsys.exit(3)", "empty": "",
    "raises": "raise RuntimeError('two\\nlines')", "imports": "import nothing_of_that_name", "zero": "1 / 0",
    "binary": "\0", "recursive": "def f(): f()\nf()",
}  # fmt: skip


@pytest.mark.parametrize(("flag", "names"), [("--env", ENVS), ("--algorithm", NAMES)])
@pytest.mark.slow
def test_a_name_that_is_none_or_a_module_that_cannot_be_imported_is_refused_by_its_name(flag, names, tmp_path):
    for module, text in MODULES.items():
        (tmp_path / f"wrong_{module}.py").write_text(text)
    with unchanged(tmp_path):
        for name in (*names, *(f"wrong_{module}:Thing" for module in MODULES)):
            done = forked("train", f"{flag}={name}", cwd=tmp_path)
            one_line(done, name.split(":")[-1 if "failing" in name else 0].strip()[:20])


# --- classes


@dataclasses.dataclass(frozen=True)
class Rate:
    rate: float = option(0.1, "how far", above=0)


class Good(Algorithm):
    """As little as an algorithm can be."""

    Settings, columns = Rate, ("rows",)

    def __init__(self, settings, context):
        self.theta = context.policy.initialise(context.generator(Purpose.POLICY))

    def plan(self):
        return Plan(self.theta)

    def prepare(self, plan, fragment):
        return {"rewards": fragment.rewards}

    def learn(self, batch, rng):
        return {"rows": len(batch["rewards"])}

    def state(self):
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]


def but(**changes):
    """Return Good with other attributes; one that is None is not there."""
    attributes = {**{name: value for name, value in vars(Good).items() if "_abc" not in name}, **changes}
    return type("Mine", (Algorithm,), {name: value for name, value in attributes.items() if value is not None})


def setting(default, name="rate"):
    """Return Good with settings of one field."""
    return but(Settings=dataclasses.make_dataclass("Theirs", [(name, object, default)], frozen=True))


def of_a3c(**changes):
    return type("Mine", (A3C,), changes)


def trained(algorithm, out, env="CartPole-v1", **settings):
    small = {"total_steps": 60, "steps_per_update": 30, "hidden": "4", "progress": "none"} | settings
    return minitrpo.train(env, algorithm=algorithm, out=out, **small)


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr("minitrpo.python_api.draw", lambda context: "")  # takes a second


def test_the_least_that_an_algorithm_can_be(tmp_path):
    good = (Good, but(columns=(), learn=lambda self, batch, rng: {}), but(chart=("rows",)), type("Child", (Good,), {}))
    good += (but(learn=lambda self, *_: {"rows": "many"}), but(sharded_with=("episodes",)))
    for number, algorithm in enumerate(good):
        assert len(trained(algorithm, tmp_path / str(number), rate=2).rows()) == 2


METHODS = ("__init__", "plan", "prepare", "learn", "state", "restore")
CLASSES = [
    *((json.dumps, "inherits"), (json, "inherits"), (Good.__new__(Good), "inherits"), (Algorithm, "has no method")),
    *((type("Mine", (), dict(vars(Good))), "inherits"), (but(Settings=None), "Settings")),
    *((but(Settings=Good), "Settings"), (but(Settings=Rate()), "Settings"), (setting(0.1), "rate")),
    *((setting(dataclasses.field(default=0.1, metadata={"help": ""})), "rate"), (setting(dataclasses.field()), "rate")),
    *(
        (setting(option((6, 4), "")), "rate"),
        (setting(option(True, "")), "rate"),
        (setting(option(0, ""), "seed"), "seed"),
    ),
    *((setting(option(0, ""), "resume"), "resume"), (but(columns=None), "columns"), (but(columns="rows"), "columns")),
    *((but(columns=["rows"]), "columns"), (but(columns=("two words",)), "columns"), (but(columns=(1,)), "columns")),
    *((but(columns=("mean_return",)), "mean_return"), (but(columns=("rows", "rows")), "rows")),
    *((but(chart=("rows", "kl")), "chart"), (but(second_chart=("kl",)), "chart"), (but(actions=()), "actions")),
    *((but(actions=("Box", "Tuple")), "actions"), (but(presets={"a": {}}), "presets")),
    *((but(learn=lambda self, batch: {}), "learn"), (but(plan=lambda self, steps: None), "plan")),
    *((but(__init__=lambda self: None), "__init__"), (but(state={"theta": 1}), "state")),
    *((but(sharded_with="episodes"), "sharded_with"), (but(sharded_with=("pages",)), "sharded_with")),
    *((but(assist=lambda self, plan, rng: None), "assist.*learn"), (but(assists_with=("episodes",)), "sharded_with")),
    (but(digest=lambda self, plan, fragment: {}), "digest.*prepare"),
    *((but(**{name: None}), name) for name in METHODS),
    (but(__init__=lambda self, settings, context: 1 / 0), "ZeroDivisionError.*test_user_classes.py, line"),
    (but(__init__=lambda self, settings, context: context.generator("start")), "policy, critic"),
    *((of_a3c(worker_state=lambda self: {}), "restore_worker"), (of_a3c(pulled=("x",)), "pulled")),
    *((of_a3c(transports=("post",)), "transports"), (of_a3c(transports=()), "transports")),
]


def test_what_is_no_algorithm_is_refused_by_what_is_wrong_with_it(tmp_path):
    for number, (candidate, word) in enumerate(CLASSES):
        with pytest.raises(BadInput, match=word) as refused:
            trained(candidate, tmp_path / "run")
        assert "\n" not in str(refused.value), number
        assert not list(tmp_path.iterdir()), number


# --- what methods return


def then(method, change):
    """Return Good with a method whose result is changed: by a function of the algorithm and of the result."""
    good = getattr(Good, method)
    if method in ("plan", "state"):
        return but(**{method: lambda self: change(self, good(self))})
    return but(**{method: lambda self, one, two: change(self, good(self, one, two))})


def but_with(**arrays):
    return lambda a, result: result | arrays


def theta(value):
    return lambda a, result: setattr(a, "theta", value(a.theta)) or result


EARLY = {
    "plan": [lambda a, _: a.theta, lambda a, _: Plan(list(a.theta)), lambda a, _: Plan(a.theta, 0),
             lambda a, _: Plan(np.nan * a.theta), lambda a, _: Plan(a.theta[1:]), lambda a, _: Plan(a.theta, 2.5),
             lambda a, _: Plan(a.theta, None, [1]), lambda a, _: Plan(a.theta, None, {"x": [None]}),
             lambda a, _: Plan(a.theta, 10**12 + 1), lambda a, _: Plan(a.theta, episodes=0)],
    "state": [lambda *_: None, lambda *_: {}, but_with(a=[None]), but_with(**{"two words": np.zeros(2)}),
              but_with(run_x=np.zeros(2)), but_with(file=np.zeros(2)), but_with(a="text")],
}  # fmt: skip
LATE = {
    "prepare": [lambda *_: None, but_with(x=np.zeros(3)), but_with(x=3.0), but_with(x=[[1.0], [1.0, 2.0]]),
               lambda *_: {3: np.zeros(1)}],
    "learn": [lambda *_: None, lambda *_: {"norm": 1.0}, but_with(rows=np.zeros(2)), but_with(rows="two\nlines"),
              but_with(rows="a\0b"), theta(lambda old: np.nan * old), theta(lambda old: old[1:]),
              theta(lambda old: old.astype(np.float32)), theta(lambda old: None),
              lambda *_: np.linalg.inv(np.zeros((2, 2)))],
}  # fmt: skip


@pytest.mark.parametrize("method", [*EARLY, *LATE])
def test_what_a_method_returns_is_looked_at_and_named(method, tmp_path):
    for number, change in enumerate((EARLY | LATE)[method]):
        out = tmp_path / str(number)
        with pytest.raises(BadInput if method in EARLY else AlgorithmFailed, match=f"{method}|state") as failed:
            trained(then(method, change), out)
        assert "\n" not in str(failed.value), number
        assert out.exists() == (method in LATE), number


class Late(Good):
    """Plans with a theta that lacks a number as soon as it has learned."""

    learned = False

    def learn(self, batch, rng):
        self.learned = True
        return super().learn(batch, rng)

    def plan(self):
        return Plan(self.theta[self.learned :])


def test_a_users_class_is_checked_in_every_update_and_one_of_the_package_stays_as_it_is(tmp_path):
    with pytest.raises(AlgorithmFailed, match="plan"):
        trained(Late, tmp_path / "run")
    for name in ALGORITHMS:
        assert accepted(name, find(name), set()) is find(name)
    theirs = accepted("mine:Late", Late, set())
    assert (theirs.__name__, theirs.__module__, issubclass(theirs, Late)) == ("Late", Late.__module__, True)


def test_what_other_methods_return_is_looked_at_and_named(tmp_path):
    for number, answer in enumerate((None, ({"theta": None}, {}), ({3: np.zeros(2)}, {}), ({}, {"norm": 1.0}))):
        wrong = of_a3c(gradient=lambda self, *_, answer=answer: answer)
        with pytest.raises(AlgorithmFailed, match="gradient"):
            trained(wrong, tmp_path / str(number), transport="events")
    for own in (None, {"odd": np.array([{}], object)}):
        wrong = of_a3c(worker_state=lambda self, own=own: own, restore_worker=lambda self, arrays: None)
        with pytest.raises(BadInput, match="worker_state"):
            trained(wrong, tmp_path / f"memory {own}", transport="events")


def test_a_bad_input_that_is_raised_at_work_is_the_algorithms_with_file_and_line(tmp_path):
    with pytest.raises(AlgorithmFailed, match=r"nowhere.*test_user_classes.py, line \d+"):
        trained(then("learn", lambda *_: load("/nowhere")), tmp_path / "run")
