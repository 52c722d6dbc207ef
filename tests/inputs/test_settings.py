"""What a command line asks for: presets, words that beat them, renamed words, and what may change on a resume."""

from dataclasses import fields

import gymnasium
import pytest

from minitrpo.algorithms.trpo import TRPOSettings
from minitrpo.algorithms.trpo_presets import PRESETS
from minitrpo.commands.command_line import parse, presets
from minitrpo.critics import MLPCritic
from minitrpo.errors import BadInput
from minitrpo.training.settings import MAY_CHANGE, Settings, algorithm_of, chosen

NAMES = {f.name for settings in (Settings, TRPOSettings) for f in fields(settings)}
DEFAULTS = chosen({}).flat()
TUNED = PRESETS["tuned"].by_env


def settings_of(*words):
    """Return all settings by name that a command line asks for."""
    return parse(list(words)).choice().flat()


def refused(*words):
    with pytest.raises(BadInput) as failure:
        parse(list(words))
    assert "\n" not in str(failure.value)
    return str(failure.value)


# --- presets


@pytest.mark.parametrize("env", TUNED)
def test_the_default_preset_knows_the_environment(env):
    assert env in gymnasium.registry
    strong = {**DEFAULTS, "env": env, **PRESETS["default"].values, **TUNED[env]}
    assert settings_of("--env", env) == settings_of("--env", env, "--preset", "tuned") == strong
    assert settings_of("--env", env, "--preset", "episodes") == {**DEFAULTS, "env": env, "overlap": "no"}


def test_a_word_on_the_command_line_beats_the_preset():
    words = ["--env", "HalfCheetah-v5", "--preset", "tuned", "--max-kl", "0.3", "--requests", "episodes"]
    settings = settings_of(*words)
    assert (settings["max_kl"], settings["requests"], settings["steps_per_update"]) == (0.3, "episodes", 2048)


def test_an_environment_without_a_tuning_of_its_own_gets_what_all_get():
    assert "Pusher-v5" not in TUNED
    expected = {**DEFAULTS, "env": "Pusher-v5", **PRESETS["tuned"].values}
    assert settings_of("--env", "Pusher-v5", "--preset", "tuned") == expected


def test_presets_name_settings_and_make_sense():
    assert set(presets(algorithm_of("trpo"))) == {"default", "episodes", "paper", "tuned"}
    for preset in presets(algorithm_of("trpo")).values():
        assert preset.text
        for values in ({}, *preset.by_env.values()):
            assert preset.values.keys() | values.keys() <= NAMES
            chosen({**preset.values, **values})  # checks them


def test_a_critic_by_itself_is_the_one_that_train_fits():
    common, own, critic = Settings(), TRPOSettings(), MLPCritic(1)
    assert (critic.hidden, critic.epochs, critic.minibatch, critic.step_size) == (
        common.hidden_sizes, own.critic_epochs, own.critic_minibatch, own.critic_step_size,
    )  # fmt: skip


# --- words


def test_every_setting_has_an_option():
    for f in (f for settings in (Settings, TRPOSettings) for f in fields(settings)):
        value = (f.metadata["choices"] or (f.default,))[-1]
        assert parse([f"--{f.name.replace('_', '-')}", str(value)]).given == {f.name: value}


@pytest.mark.parametrize("word", ["5000", "5_000", "5e3", "5000.0"])
def test_a_number_of_steps_may_be_written_in_several_ways(word):
    assert settings_of("--total-steps", word)["total_steps"] == 5000


def test_what_only_begins_like_an_option_is_refused_by_its_own_name():
    assert "--lanes-of-mine" in refused("--lanes-of-mine", "5")
    assert "--total" in refused("--total", "5")  # no abbreviations: they would mean something else one day


# --- on a resume


def test_a_resumed_run_is_the_recorded_one():
    recorded = chosen({"env": "CartPole-v1", "max_kl": 0.3, "seed": 5}).flat()
    assert parse(["--resume", "run"]).resumed(recorded).flat() == recorded
    # what is said again may be said
    assert parse(["--resume", "run", "--seed", "5", "--max-kl", "0.3"]).resumed(recorded).flat() == recorded


CHANGES = {
    "total_steps": 7, "pool": "static", "envs_per_rank": 3, "physics": "gymnasium", "learner": "sharded",
    "checkpoint_every": "20", "overlap": "no",
}  # fmt: skip


@pytest.mark.parametrize("name", MAY_CHANGE)
def test_what_does_not_change_the_numbers_may_change(name):
    recorded = chosen({"env": "CartPole-v1", "max_kl": 0.3}).flat()
    words = [f"--{name.replace('_', '-')}", str(CHANGES[name])]
    assert parse(["--resume", "run", *words]).resumed(recorded).flat() == recorded | {name: CHANGES[name]}


@pytest.mark.parametrize(
    "words", [("--seed", "1"), ("--max-kl", "0.2"), ("--env", "Pendulum-v1"), ("--num-envs", "8"), ("--hidden", "8")]
)
def test_nothing_else_may(words):
    recorded = chosen({"env": "CartPole-v1"}).flat()
    with pytest.raises(BadInput, match=r"differs from the .* of the run to resume; only --total-steps, ") as failure:
        parse(["--resume", "run", *words]).resumed(recorded)
    assert " ".join(words) in str(failure.value)
    assert set(CHANGES) == set(MAY_CHANGE)


def test_a_run_of_another_version_is_refused():
    with pytest.raises(BadInput, match="trpo has no setting --lanes"):
        parse(["--resume", "run"]).resumed(DEFAULTS | {"lanes": 16})
    with pytest.raises(BadInput, match="--max-kl must be a number, not None"):
        parse(["--resume", "run"]).resumed(DEFAULTS | {"max_kl": None})


@pytest.mark.parametrize("name", ["a3c", "actor-critic", "n-step-q"])
def test_only_who_is_asked_to_share_must_be_able_to(name):
    assert chosen({"algorithm": name}).common.learner == "root"
    with pytest.raises(BadInput, match="--learner sharded"):
        chosen({"algorithm": name, "learner": "sharded"})
    assert chosen({"algorithm": "trpo", "learner": "sharded"}).common.learner == "sharded"
