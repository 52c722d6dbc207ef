"""A setting that can do nothing is said: every setting of every algorithm is changed, and the run compared."""

import functools
from dataclasses import fields

import pytest
from runs import lasting
from runs import forked

from minitrpo.algorithms.options import flag
from minitrpo.algorithms.registry import ALGORITHMS, find
from minitrpo.training.settings import MAY_CHANGE, Settings, chosen

ENVS = {"Box": "Pendulum-v1", "Discrete": "CartPole-v1"}
# Values that bind in so short a run, where half or twice the default does not
BINDING = {
    "huber": 1e-4, "gradient_clip": 1e-4, "max_gradient_norm": 1e-4, "filter_clip": 0.01, "max_staleness": 0,
    "clip": 1e-4, "cg_iterations": 1, "value_weight": 1e-6, "n_step": 2, "replay_ratio": 0.01,
    "anneal": "none", "critic_minibatch": 20, "minibatch": 20,
    "max_lead": 0, "outlier": 1e-9, "hidden": "5", "final_epsilons": "0.9", "exploration_steps": 100,
    "target_every": 250,
    "anneal_steps": 150, "eval_every": 200, "horizon": 7, "least_std": 3.0, "warm_up": 128, "first_states": 1,
    "record_every": 2, "state_cost": "1,2,3", "adapt_window": 1, "replay_size": 100, "cost_network": 2,
}  # fmt: skip
SHORT = {"steps_per_update": 100, "total_steps": 600, "hidden": "4", "checkpoint_every": "1", "record_every": 1}
QUICK = {"warm_up": 50, "batch": 16, "exploration_steps": 600, "transport": "events", "samples": 2}
QUICK |= {"target_every": 5, "n_step": 4}
# What changes neither policy nor log, as its help says: who works where, what is kept, what is looked at
ELSEWHERE = {*MAY_CHANGE, "algorithm", "env", "eval_episodes", "travels", "transport"}


def settings_of(name):
    """Return the names of all settings of an algorithm and a short run of it."""
    algorithm = find(name)
    own = {f.name: f.default for f in fields(algorithm.Settings)}
    preset = algorithm.presets.get("default")
    env = ENVS[algorithm.actions[-1] if len(algorithm.actions) == 1 else "Discrete"]
    values = {**preset.values, **preset.by_env.get(env, {})} if preset else {}
    values |= {**SHORT, **{k: v for k, v in QUICK.items() if k in own}, "env": env}
    if "outlier" in own:  # is not judged by the first losses
        values["total_steps"] = 2_000
    if "samples" in own:  # every update has so many episodes from every first state
        values |= {"first_states": 2, "total_steps": 2_500}
    return chosen({**values, "algorithm": name}).flat(), values


def changed(name, value, field):
    """Return another value for a setting."""
    if BINDING.get(name, value) != value:
        return BINDING[name]
    if field.metadata["choices"]:
        return next(choice for choice in field.metadata["choices"] if choice != value)
    return value + 1 if isinstance(value, int) else value / 2 if value else 0.5


def others(algorithm):
    """Yield (setting, another value) of an algorithm."""
    flat, _ = settings_of(algorithm)
    for f in (*fields(Settings), *fields(find(algorithm).Settings)):
        if f.name not in ELSEWHERE:
            yield f.name, changed(f.name, flat[f.name], f)


def words_of(algorithm, values):
    return [word for name, value in {**values, "algorithm": algorithm}.items() for word in (flag(name), value)]


def played(algorithm, values, folder):
    done = forked("train", *words_of(algorithm, values), "--out", "run", "--progress", "none", cwd=folder, timeout=60)
    if done.code == 2:
        return done.err, [], {}  # refused: that is no silence
    assert done.code == 0, done
    rows, arrays = lasting(folder / "run")
    return done.out, rows, {name: array for name, array in arrays.items() if name != "run_settings"}


@functools.cache
def as_it_is(algorithm, folder):
    folder.mkdir(exist_ok=True)
    return played(algorithm, settings_of(algorithm)[1], folder)


EVERY = 25  # of which one is tried by `make test`
CASES = [
    pytest.param(algorithm, *other, marks=[pytest.mark.slow] * bool((3 + 10 * a + i) % EVERY))
    for a, algorithm in enumerate(ALGORITHMS)
    for i, other in enumerate(others(algorithm))
]


@pytest.mark.parametrize(("algorithm", "setting", "value"), CASES)
def test_a_setting_that_does_nothing_is_said(algorithm, setting, value, tmp_path, tmp_path_factory):
    _, rows, arrays = as_it_is(algorithm, tmp_path_factory.getbasetemp() / f"as-it-is-{algorithm}")
    values = settings_of(algorithm)[1] | {setting: value}
    out, other_rows, other_arrays = played(algorithm, values, tmp_path)
    said = f"note: {flag(setting)} has no effect" in out
    assert said == (rows == other_rows and arrays == other_arrays), out


JOB = ("--env", "CartPole-v1", "--hidden", 4, "--critic", "linear", "--preset", "episodes", "--total-steps", 300)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--fisher-fraction 1e-9", "1e-09 of the 100 states of an update is less than one: one is taken"),
        ("--adapt both --adapt-window 2", "2 waits for 2 times so many, and the run has 3 updates: nothing is"),
        ("--adapt both --adapt-window 1e30", "waits for 2 times so many, and the run has 3 updates: nothing is"),
        ("--eval-every 301", "--eval-every 301 waits for so many, and the run has 300 steps: there is no evaluation"),
        ("--record-every 4", "--record-every 4 waits for so many, and the run has 3 updates: it is one row"),
        ("--first-states 2 --renew-first-states 9", "9 waits for so many, and the run has 3 updates: they stay"),
        ("--steps-per-update 1e3", "1,000 waits for so many, and the run has 300 steps: it is one update"),
        ("--stuck-after 0.01", "--stuck-after 0.01 is as --stuck-after 1: a rank is looked at once a second"),
        ("--max-kl 1e-300", "--max-kl 1e-300 is so little that what it moves is rounded to where it was: nothing is"),
        ("--margin 0.1", "--margin has no effect with --adapt none"),
        ("--initial-log-std 1", "--initial-log-std has no effect with CartPole-v1, whose actions are discrete"),
    ],
)  # fmt: skip
def test_what_waits_for_more_than_the_run_has_is_said(words, said, tmp_path):
    done = forked("train", *JOB, "--steps-per-update", 100, *words.split(), "--out", "run", cwd=tmp_path)
    assert done.code == 0, done
    assert said in done.out, done
    assert done.out.count("note: ") == 1, done


@pytest.mark.parametrize(
    "words", ["--adapt both --adapt-window 1", "--eval-every 300", "--record-every 3", "--fisher-fraction 0.01"]
)
def test_what_is_just_possible_is_not(words, tmp_path):
    done = forked("train", *JOB, "--steps-per-update", 100, *words.split(), "--out", "run", cwd=tmp_path)
    assert (done.code, "note: " in done.out) == (0, False), done


def test_moving_theta_needs_as_many_minibatches(tmp_path):
    words = ("--algorithm", "dqn", "--env", "CartPole-v1", "--total-steps", 600, "--warm-up", 200)
    done = forked("train", *words, "--target-every", 101, "--hidden", 4, "--out", "run", cwd=tmp_path)
    assert "note: --target-every 101 waits for so many, and the run has 100 minibatches: theta- never moves" in done.out
