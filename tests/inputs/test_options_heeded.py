"""Every option of a run changes what the run leaves, or a note says that it has no effect, or it is refused."""

from dataclasses import fields

import pytest
from runs import forked, lasting

from minitrpo.algorithms.options import flag
from minitrpo.algorithms.registry import find
from minitrpo.commands.command_line import parse
from minitrpo.training.settings import MAY_CHANGE, Settings

SMALL = "--hidden 4 --progress none --checkpoint-every 1 "
RULE = "--adapt both --adapt-window 1 --adapt-min-steps 40 --adapt-steps-by 20 --critic-minibatch 32 --critic-epochs 2 "
STATES = "--cg-iterations 3 --first-states 2 "
BASES = {  # in which all that can have an effect has one
    "episodes": "--algorithm trpo --env CartPole-v1 --preset episodes --steps-per-update 80 --total-steps 960 "
    "--eval-every 160 " + RULE + STATES,
    "asynchronous": "--algorithm a3c --env CartPole-v1 --transport events --steps-per-update 80 --total-steps 320 "
    "--anneal step-size --eval-every 160 ",
}
NO_BITS = {*MAY_CHANGE} - {"total_steps"}  # by contract: who plays, learns and writes when
OTHERS = {  # another value, where it is not another choice, or twice as much
    "hidden": "5", "initial_log_std": -1.0, "filter_clip": 0.5, "first_states": 3, "renew_first_states": 1,
    "eval_every": 240, "eval_episodes": 2, "seed": 7, "num_envs": 3, "steps_per_update": 100, "total_steps": 480,
    "discount": 0.5, "gae_lambda": 0.5, "fisher_fraction": 0.5, "critic_minibatch": 16, "anneal_steps": 160,
    "adapt_min_steps": 75, "adapt_max_steps": 70, "adapt_min_kl": 0.0099, "adapt_max_kl": 0.0101,
    "max_gradient_norm": 0.01, "max_staleness": 0, "max_lead": 0, "delay_jitter": 5.0, "margin": 5.0,
    "value_weight": 0.3,
}  # fmt: skip


def left_by(words, folder):
    """Return a finished run, and what it leaves without its settings; None if it was refused."""
    folder.mkdir()
    done = forked("train", *words, "--out", "run", cwd=folder)
    if done.code == 2:
        return done, None
    assert done.code == 0, str(done)
    rows, arrays = lasting(folder / "run")
    return done, (rows, {name: array for name, array in arrays.items() if name != "run_settings"})


def others(option, words):
    """Return values of an option that are not those of a command line."""
    if option.name in OTHERS:
        return [OTHERS[option.name]]
    if option.metadata["choices"]:
        now = parse(words).choice.flat()[option.name]  # a preset may have chosen another than the default
        return [choice for choice in option.metadata["choices"] if choice != now]
    return [option.default * 2 or 1]


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
def test_an_option_changes_the_run_or_that_is_said(base, tmp_path):
    words = (SMALL + BASES[base]).split()
    algorithm = find(words[words.index("--algorithm") + 1])
    _, expected = left_by(words, tmp_path / "base")
    silent = []
    for option in (*fields(Settings), *fields(algorithm.Settings)):
        if option.name in NO_BITS or option.name in ("algorithm", "env"):
            continue
        for value in others(option, words):
            done, found = left_by([*words, flag(option.name), str(value)], tmp_path / f"{option.name} {value}")
            noted = f"note: {flag(option.name)} has no effect" in done.out
            if found is not None and noted != (found == expected):
                silent.append((option.name, value, "noted" if noted else "not noted"))
    assert silent == []
