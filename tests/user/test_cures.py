"""What a finding proposes moves a setting in the direction that helps, is allowed, and differs from the run's own."""

from dataclasses import dataclass, fields

import numpy as np
import pytest

from minitrpo.algorithms import Algorithm, option
from minitrpo.algorithms.options import discount_option
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.errors import BadInput
from minitrpo.reports import findings
from minitrpo.reports.cures import cure_of
from minitrpo.reports.findings import KINDS, Found
from minitrpo.training.settings import Settings, chosen, presets

# On which side of the run's own value a proposal lies: of a kind of finding, whose value is too low or not
HELPS = {
    ("moves", True): {"max_kl": 1, "step_size": 1},
    ("moves", False): {"max_kl": -1, "step_size": -1},
    ("exploration", True): {"initial_log_std": 1, "entropy": 1, "entropy_weight": 1, "max_kl": -1, "step_size": -1},
    ("exploration", False): {"initial_log_std": -1, "entropy": -1, "entropy_weight": -1},
    ("outside", False): {"initial_log_std": -1, "max_kl": -1, "step_size": -1},
    ("refused", False): {"cg_damping": 1, "max_kl": -1},
    ("critic", True): {"critic_step_size": -1, "gae_lambda": 1},
    ("old", False): {"max_staleness": 1, "workers": -1},
    ("writing", False): {"record_every": 1},
}
TEXTS = {("waiting", False): ("requests", "segments"), ("schedule", False): ("anneal_steps", 0)}
LONG = {name: np.array([value] * 2) for name, value in {"mean_length": 100.0, "episodes": 1e3, "ranks": 1.0}.items()}
LONG |= {"env_steps": np.array([1e5, 2e5])}


def runs():
    """Yield the settings of runs: all members in their presets, and TRPO and PPO at the limits of what is proposed."""
    for name in ALGORITHMS:
        known = presets(chosen({"algorithm": name}).algorithm)
        for preset in known.values():
            for env, values in {"Pendulum-v1": {}, **preset.by_env}.items():
                yield chosen({"algorithm": name, "env": env} | preset.values | values)
    for values in ({"max_kl": 1e3}, {"initial_log_std": 5.0}, {"initial_log_std": -20.0}, {"cg_damping": 1e6},
                   {"cg_damping": 0.0}, {"gae_lambda": 1.0}, {"critic_step_size": 1e-300}, {"record_every": 10**9},
                   {"learner": "sharded"}, {"requests": "segments"}):  # fmt: skip
        yield chosen({"env": "Pendulum-v1"} | values)
    for values in ({"entropy": 1e3}, {"step_size": 1e3}, {"step_size": 1e-12}):
        yield chosen({"algorithm": "batch-ppo", "env": "Pendulum-v1"} | values)


def cure(choice, found):
    return cure_of(choice, found.cures, found.setting, found.wanted)


def settings_of(choice):
    return {f.name: f for kind in (Settings, choice.algorithm.Settings) for f in fields(kind)}


@pytest.mark.parametrize(("key", "low"), [*HELPS, *TEXTS])
def test_the_cure_of_a_kind_of_finding_has_its_direction_and_can_be_chosen(key, low):
    proposed = 0
    for choice in runs():
        better = cure(choice, Found(key, "", "", low=low))
        if better is None:
            continue
        proposed += 1
        now = choice.flat()[better.name]
        assert chosen(choice.flat() | {better.name: better.value}).flat()[better.name] == better.value != now
        if (key, low) in TEXTS:
            assert (better.name, better.value) == TEXTS[key, low]
        else:
            assert (better.value - now) * HELPS[key, low][better.name] > 0, (key, low, choice, better)
    assert proposed or key == "schedule"  # no preset has a schedule that ends early


def test_every_kind_that_proposes_a_setting_is_in_the_table_and_each_effect_of_a_limit_has_a_cure():
    with_cures = {
        (key, low) for key, kind in KINDS.items() for low in (True, False) if Found(key, "", "", low=low).cures
    }
    assert with_cures == {*HELPS, *TEXTS}
    for key, kind in KINDS.items():
        for least, most, _ in kind.limits.values() if "{cure}" in kind.change else ():
            assert least <= 0 or not np.isfinite(least) or Found(key, "", "", low=True).cures
            assert not np.isfinite(most) or Found(key, "", "").cures


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_cure_of_a_setting_far_away_moves_it_back_and_the_finding_is_gone(name):
    """Every number of every member, at its limits and far above, below and beyond its default."""
    usual, accused = chosen({"algorithm": name, "env": "Pendulum-v1"}), 0
    for option_name, f in settings_of(usual).items():
        for factor in (1e-6, 1e-3, 0.0, -1.0, 1e3, 1e6) if isinstance(f.default, int | float) else ():
            value = type(f.default)((f.default or 1) * factor)
            try:
                choice = chosen(usual.flat() | {option_name: value})
            except BadInput:
                continue
            for found in findings.in_settings(choice, LONG):
                if found.key == "schedule" or not (better := cure(choice, found)):
                    continue
                accused += 1
                assert better.name == found.setting == option_name
                assert better.value > value if found.low else better.value < value
                cured = chosen(choice.flat() | {better.name: better.value})
                assert found.key not in [other.key for other in findings.in_settings(cured, LONG)]
    assert accused


@pytest.mark.parametrize(("gamma", "length"), [(0.9999, 20.0), (0.9999, 1.0), (0.5, 100.0), (0.999999, 600.0)])
def test_a_discount_that_is_the_default_is_moved_by_the_length_of_episodes(gamma, length):
    @dataclass(frozen=True)
    class Own:
        discount: float = option(gamma, discount_option().metadata["help"], above=0, most=1)

    choice = chosen({}, type("Theirs", (Algorithm,), {"Settings": Own}))
    columns = LONG | {"mean_length": np.array([length] * 2), "episodes": 1e5 / np.array([length] * 2)}
    (found,) = findings.in_settings(choice, columns)
    better = cure(choice, found)
    assert (found.key, better.value > gamma) == ("discount", found.low)
    cured = chosen({"discount": better.value}, choice.algorithm)
    assert not list(findings.in_settings(cured, columns))


def test_an_option_of_a_user_that_is_called_as_ours_is_not_taken_for_it():
    @dataclass(frozen=True)
    class Own:
        anneal: str = option("slowly", "how metal cools")
        discount: float = option(5.0, "per cent off the price")
        max_kl: int = option(3, "kilolitres", least=1, most=4)
        entropy: float = option(0.0, "of the gas")
        adapt: float = option(1.0, "how much")

    theirs = type("Theirs", (Algorithm,), {"Settings": Own})
    assert list(findings.in_settings(chosen({}, theirs), LONG)) == []
    assert list(findings.in_settings(chosen({"entropy": 5.0}, theirs), LONG)) == []
    (found,) = findings.in_settings(chosen({"adapt": 100.0}, theirs), LONG)
    assert (found.key, str(cure(chosen({"adapt": 100.0}, theirs), found))) == ("setting", "--adapt 1")
    assert cure(chosen({}, theirs), Found("moves", "", "", low=True)) is None


@pytest.mark.parametrize(
    ("default", "value", "far"),
    [(-1.0, -0.9, False), (-1.0, 0.0, False), (-1.0, 0.5, False), (-1.0, -1.0, False), (-1.0, -50.0, True),
     (-1.0, 50.0, True), (0.0, -3.0, False), (0.0, 1e9, False), (1.0, 0.5, False), (1.0, 0.01, True),
     (1.0, 50.0, True), (1.0, -50.0, True)],
)  # fmt: skip
def test_far_outside_is_meant_in_size_whatever_the_sign_of_the_default(default, value, far):
    @dataclass(frozen=True)
    class Own:
        bias: float = option(default, "of theirs")

    choice = chosen({"bias": value}, type("Theirs", (Algorithm,), {"Settings": Own}))
    found = list(findings.in_settings(choice, LONG))
    assert [each.key for each in found] == ["setting"] * far
    assert not far or cure(choice, found[0]).value == default
