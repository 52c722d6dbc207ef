"""A refusal names the cure: what was meant, who can do it, and how an environment becomes one that fits."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from runs import ROOT, run

from minitrpo.algorithms import registry
from minitrpo.algorithms.algorithm import KINDS
from minitrpo.commands.command_line import parse
from minitrpo.commands.look_inside import attributes, plain
from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.training.context import check_actions, make_algorithm
from minitrpo.training.notes import of_images, without_effect
from minitrpo.training.settings import Settings


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *(("ppo", "batch-ppo"), ("PPO", "batch-ppo"), ("gps", "guided-policy-search"), ("DQN", "dqn")),
        *(
            ("reinforce", ""),
            ("trop", "trpo"),
            ("batch_ppo", "batch-ppo"),
            ("nstepq", "n-step-q"),
            ("gorilla", "gorila"),
        ),
        *(("policy", "policy-gradient"), ("x", ""), ("", "")),
    ],
)
def test_an_algorithm_that_was_meant_is_named(typed, meant):
    with pytest.raises(BadInput) as refused:
        registry.find(typed)
    said = str(refused.value)
    assert said.startswith(f"unknown --algorithm {typed!r}: ")
    first = said.partition("did you mean ")[2].partition("? There is trpo")[0]
    assert meant in first.split(" or ") if meant else not first


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("Cartpole", "CartPole-v1"), ("HalfCheeta-v5", "HalfCheetah-v5"), ("Reacher-v9", "Reacher-v5"),
     ("lunarlander-v2", "LunarLander-v3")],
)  # fmt: skip
def test_an_environment_that_was_meant_is_named_in_its_newest_version_alone(typed, meant):
    with pytest.raises(BadInput) as refused:
        describe(typed)
    said = str(refused.value)
    assert said.count("Did you mean") == 1
    assert meant in said.partition("Did you mean ")[2].rstrip("?").split(", ")
    assert "-v0" not in said


@pytest.mark.parametrize("name", registry.ALGORITHMS)
def test_an_algorithm_takes_just_the_actions_that_it_says(name):
    """The truth: what its own policy and its beginning do with either kind."""
    for kind, env in zip(KINDS, ("Pendulum-v1", "CartPole-v1"), strict=True):
        choice, spec = parse(["--algorithm", name, "--env", env, "--first-states", "2"]).choice(), describe(env)
        try:
            policy = spec.policy((4,))
            choice.algorithm.make_policy(choice.own, policy)
            able = True
        except BadInput:
            able = False
        assert able == (kind in choice.algorithm.actions)
        if able:
            make_algorithm(choice, spec)
        else:
            with pytest.raises(BadInput, match=f"{name} takes .* actions, and {env} has {kind}"):
                make_algorithm(choice, spec)


def test_who_can_is_named_and_first_those_that_learn_alike():
    def refused(name, env):
        with pytest.raises(BadInput) as error:
            check_actions(parse(["--algorithm", name, "--env", env]).choice(), describe(env))
        return str(error.value)

    assert "takes Box actions, and CartPole-v1 has Discrete(2): try --algorithm dqn, " in refused("naf", "CartPole-v1")
    said = refused("dqn", "Pendulum-v1")
    assert "takes Discrete actions, and Pendulum-v1 has Box(1): try --algorithm naf, " in said
    assert "gymnasium.wrappers.DiscretizeAction" in said
    assert hasattr(gymnasium.wrappers, "DiscretizeAction")


def test_the_help_says_which_actions(tmp_path):
    done = run("train.py", "--algorithm", "naf", "--help", cwd=tmp_path)
    text = " ".join(done.out.split())
    assert "the algorithm naf: for environments with Box actions" in text
    assert text.endswith(registry.actions_of_all())
    box, discrete = set(registry.taking("Box")), set(registry.taking("Discrete"))
    assert box | discrete == set(registry.ALGORITHMS)
    assert {"naf"} <= box - discrete
    assert {"dqn", "sarsa"} <= discrete - box
    length = text.partition("--total-steps N stop after")[2].partition("--steps-per-update")[0]
    assert "what falls over the run (--anneal" in length


def test_the_familys_page_says_which_actions():
    assert registry.actions_of_all() in " ".join((ROOT / "docs" / "family.md").read_text().split())


def test_a_class_that_takes_no_actions_is_refused():
    from minitrpo.contract import defect

    good = registry.find("trpo")
    for wrong in ((), ("box",), ("Box", "Tuple")):
        assert "has actions = " in defect(type("Mine", (good,), {"actions": wrong}), set())
    assert not defect(type("Mine", (good,), {"actions": ("Box",)}), set())


@pytest.mark.parametrize(
    ("env", "cure"),
    [("Blackjack-v1", "FlattenObservation"), ("FrozenLake-v1", "FlattenObservation"),
     ("failing_envs:TupleActions-v0", "TransformAction")],
)  # fmt: skip
def test_a_space_that_does_not_fit_comes_with_its_cure(env, cure, monkeypatch):
    from runs import TOYS

    monkeypatch.syspath_prepend(str(TOYS))
    with pytest.raises(BadInput, match=f"wrap it in gymnasium.wrappers.{cure}"):
        describe(env)
    assert hasattr(gymnasium.wrappers, cure)


@pytest.mark.parametrize(("shape", "said"), [((84, 84, 3), True), ((2, 2), False), ((2_000,), False)])
def test_pictures_are_said_to_be_taken_as_numbers(shape, said):
    spec = dataclasses.replace(describe("CartPole-v1"), observation_shape=shape, observation_size=int(np.prod(shape)))
    notes = of_images(spec, Settings(hidden="32,64"))
    assert bool(notes) == said
    if said:
        assert "21,168 separate inputs: 677,376 weights in its first layer" in notes[0]


# --- what `check` compares


class Holder:
    def __init__(self, **values):
        vars(self).update(values)


@pytest.mark.parametrize(
    ("before", "back"),
    [
        ([1.0, 2.0], list(np.array([1.0, 2.0]))),
        ((3, {"a": 0.5}), (np.int64(3), {"a": np.float64(0.5)})),
        (2.5, np.array(2.5)),
        (np.arange(3.0), np.arange(3.0)),
    ],
)
def test_a_number_of_numpys_is_the_number(before, back):
    assert attributes(Holder(fitness=before)) == attributes(Holder(fitness=back))


@pytest.mark.parametrize(("one", "other"), [([1.0], [1.5]), ([1.0], [1.0, 1.0]), (np.arange(3.0), np.arange(1.0, 4.0))])
def test_other_numbers_are_others(one, other):
    assert attributes(Holder(fitness=one)) != attributes(Holder(fitness=other))
    assert type(plain([np.float32(1.5)])[0]) is float


@pytest.mark.parametrize(("chosen_filter", "said"), [("running", 0), ("none", 1)])
def test_a_clip_of_no_filter_has_no_effect(chosen_filter, said):
    words = ["--env", "CartPole-v1", "--filter", chosen_filter, "--filter-clip", "5"]
    choice, spec = parse(words).choice(), describe("CartPole-v1")
    notes = without_effect({"filter_clip": 5.0}, choice, spec, 1)
    assert len([note for note in notes if "--filter-clip has no effect" in note]) == said
