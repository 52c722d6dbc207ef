"""Presets: what a command line without many words asks for."""

from dataclasses import fields

import gymnasium
import pytest

from minitrpo.critics import MLPCritic
from minitrpo.runs.command_line import parse
from minitrpo.runs.settings import PRESETS, TUNED, Settings

NAMES = {f.name for f in fields(Settings)}


@pytest.mark.parametrize("env", TUNED)
def test_the_tuned_preset_knows_the_environment(env):
    settings = parse(["--env", env, "--preset", "tuned"]).settings()
    assert env in gymnasium.registry
    for name, value in {**PRESETS["tuned"], **TUNED[env]}.items():
        assert getattr(settings, name) == value
    assert parse(["--env", env]).settings() == Settings(env=env)  # not unless it is asked for


def test_a_word_on_the_command_line_beats_the_preset():
    words = ["--env", "HalfCheetah-v5", "--preset", "tuned", "--max-kl", "0.3", "--requests", "episodes"]
    settings = parse(words).settings()
    assert (settings.max_kl, settings.requests, settings.steps_per_update) == (0.3, "episodes", 2048)


def test_an_environment_without_a_tuning_of_its_own_gets_what_all_get():
    assert parse(["--env", "Reacher-v5", "--preset", "tuned"]).settings() == Settings("Reacher-v5", **PRESETS["tuned"])


def test_presets_name_settings_and_make_sense():
    for preset in (*PRESETS.values(), *TUNED.values()):
        assert preset.keys() <= NAMES
        Settings(**preset).check()


def test_a_critic_by_itself_is_the_one_that_train_fits():
    settings, critic = Settings(), MLPCritic(1)
    ours = (critic.hidden, critic.epochs, critic.minibatch, critic.step_size)
    assert ours == (
        settings.hidden_sizes, settings.critic_epochs, settings.critic_minibatch, settings.critic_step_size,
    )  # fmt: skip
