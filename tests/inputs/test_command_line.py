"""Command lines: what is outside its limits, or makes no sense, is one line with the flag's name and exit code 2.

Nothing is written before, every rank hears the same, and Python hears it as BadInput. A cure that a line prints works
when it is typed. A setting that can do nothing is said.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from refusals import CARTPOLE, SMALL, one_line, unchanged
from runs import ROOT, SCRIPTS, TOYS, forked, lasting

import minitrpo
import minitrpo.experience.linear_quadratic
from minitrpo import BadInput, Run, load
from minitrpo.__main__ import COMMANDS, main
from minitrpo.algorithms.options import ELSEWHERE, check_options, flag
from minitrpo.algorithms.registry import ALGORITHMS, find
from minitrpo.commands import train
from minitrpo.commands.command_line import parse
from minitrpo.experience.environments import describe
from minitrpo.training.run_context import make_algorithm
from minitrpo.training.settings import MAY_CHANGE, Settings, chosen

OWNERS = {f.name: name for name in reversed(ALGORITHMS) for f in fields(find(name).Settings)}  # who has a setting


def said_by(work):
    """Return the line with which something is refused, "" if it is not."""
    try:
        work()
    except BadInput as error:
        return str(error) if "\n" not in str(error) else "two lines"
    return ""


def refusal(settings_class, **values):
    """Return the line with which these settings are refused, "" if they are allowed."""
    return said_by(lambda: check_options(settings_class(**values)))


def refused(*words):
    """Return the line with which a command line is refused where it is read, "" if it makes sense."""
    return said_by(lambda: parse([*map(str, words)]))


# --- what a setting may be

# Names of settings, texts that are refused, texts that are allowed: of every algorithm's
LIMITS = [
    ("discount fisher_fraction critic_step_size target_rate", "0 1.1 -1", "1 1e-9"),
    ("gae_lambda", "-0.1 1.1", "0 1"),
    ("max_kl local_kl step_size", "0 -1 1001", "1 1e-9"),
    ("adapt_kl_by adapt_max_kl adapt_min_kl clip control_cost filter_clip gradient_clip huber", "0 -1", "0.02"),
    ("least_std max_gradient_norm outlier prior_strength replay_ratio reward_scale value_weight", "0 -1", "1e-9 1"),
    ("margin cg_damping delay_jitter entropy entropy_weight first_sigma final_sigma", "-1e-9", "0 1"),
    ("total_steps steps_per_update record_every eval_episodes adapt_window adapt_steps_by batch", "0 -1", "1"),
    ("cg_iterations critic_epochs critic_minibatch epochs exploration_steps fetch horizon", "0 -1", "1"),
    ("imitation_rounds minibatch n_step replay_size target_every t_max warm_up adapt_min_steps", "0 -1", "1"),
    ("adapt_max_steps", "0 -1", "1000"),
    ("renew_first_states first_states eval_every anneal_steps cost_network max_staleness max_lead", "-1", "0"),
    ("samples", "1", "2"),
    ("seed", f"-1 {2**63} x nan inf 1e400 0.5 0x10 1,000 ² True 1e-3 10**3 {'9' * 5000}", f"0 {2**63 - 1} 5e3 5_0"),
    ("envs_per_rank num_envs workers", "0 1025", "1 1024"),
    ("learners", "-1 1025", "0 1024"),
    ("envs_per_worker", "0 65", "1 64"),
    ("initial_log_std", "-21 6", "-20 5"),
    ("total_steps eval_every anneal_steps", "1e16", "1e15"),
    ("steps_per_update", "1e10", "1e9"),
    ("filter_clip cg_damping", "1e7 nan inf 1e400 0,5 True 1/2", "1e6"),
    ("hidden", "0 64, ,64 64,,64 -1 64;64 6.4 ² 1e3 100000 x", "1 64,64 99999 8,9,10"),
    ("checkpoint_every", "0 x -1 1.5 s -3s 1e3 1m 01 1s2 0.1234567s nans infs", "1 20 30s 0.5s 0s"),
    ("final_epsilons", "x 1.5 -0.1 0.1: 0.1:0 nan 0.1,,0.2", "0 1 0.1:0.4,0.01:0.6"),
    ("state_cost", "x -1,1 0,0 nan,1", ""),
    ("stuck_after", "x nan inf 0 -1", "0.5 1e9"),
    ("pool", "x Dynamic", "static"),
]


def test_every_setting_is_refused_by_its_name_beyond_its_limits_and_allowed_at_them():
    for names, outside, inside in LIMITS:
        for name in names.split():
            who = ("--algorithm", OWNERS[name]) if name in OWNERS else ()
            for text in ("x", *outside.split()):
                assert flag(name) in refused(*who, f"{flag(name)}={text}"), (name, text)
            for text in inside.split():
                assert not refused(*who, f"{flag(name)}={text}"), (name, text)
    said = refused("--adapt-min-steps", 5, "--adapt-max-steps", 0)
    assert "--adapt-max-steps must" in said, "limits come before relations"


def test_every_setting_has_limits_in_that_table_or_choices_and_its_default_is_allowed():
    named = {name for names, _, _ in LIMITS for name in names.split()} | {"algorithm", "env", "core"}
    wrong = {int: (3.0, math.nan, math.inf, None, "1", True), float: (math.nan, -math.inf, None, "1", True, [0.5])}
    for name in ALGORITHMS:
        for cls in (Settings, find(name).Settings):
            assert not refusal(cls)
            for f in fields(cls):
                choices = f.metadata["choices"]
                assert f.metadata["help"]
                assert choices or f.name in named, f"{f.name} is not in LIMITS"
                others = ("x", f.default.upper(), f" {f.default}") if choices else ()
                for value in (*wrong.get(type(f.default), (3, None, ["a"])), *others):
                    assert flag(f.name) in refusal(cls, **{f.name: value}), (f.name, value)
        values = {f.name: (f.metadata["choices"] or (f.default,))[-1] for f in fields(find(name).Settings)}
        words = [word for key, value in values.items() for word in (flag(key), str(value))]
        assert asked("--algorithm", name, *words).items() >= {"algorithm": name, **values}.items()
    assert refusal(Settings, filter_clip=1) == ""  # an integer is a number
    assert {asked("--seed", text)["seed"] for text in ("5000", "5_000", "5e3", "5000.0")} == {5000}


def asked(*words):
    """Return all settings by name that a command line asks for."""
    return parse(list(words)).choice.flat()


def test_presets_make_sense_on_every_environment_that_they_name_and_what_is_typed_beats_them():
    plain = {**vars(Settings()), **vars(find("trpo").Settings())}
    assert asked("--preset", "episodes") == plain
    assert {"default", "episodes", "paper", "plain", "tuned"} == {"default", *find("trpo").presets}
    for name in ALGORITHMS:
        for preset, of_it in find(name).presets.items():
            assert of_it.text
            for env, values in (of_it.by_env | {"Pusher-v5": {}}).items():
                assert env in gymnasium.registry
                words = ("--algorithm", name, "--env", env, "--preset", preset)
                chosen = asked(*words)
                assert (of_it.values | values).items() <= chosen.items()
                assert asked(*words, "--initial-log-std", "1.5")["initial_log_std"] == 1.5
                assert preset != "default" or asked(*words[:4]) == chosen


# --- whole command lines

LINES = {
    "--steps 5": "--steps", "--clip 0.1": "--clip", "--total 5": "--total", "CartPole-v1": "CartPole-v1",
    "--env": "--env", "--env --seed": "--env", "--trace=yes": "--trace", "--discount 1.5": "--discount",
    "--preset best": "--preset", "--progress loud": "--progress", "--adapt-min-kl 0.1": "--adapt-min-kl",
    "--adapt-min-steps 9000 --adapt-max-steps 10": "--adapt-max-steps", "--resume a --out b": "--out",
    "--env CartPole-v1 --hidden 99999,99999": "--hidden", "--config a --resume b": "--config",
    "--config a --preset paper": "--config", "--seeds 0-2 --resume b": "--seeds", "--seeds 0-2 --seed 1": "--seeds",
    "--out=": "--out", "--out file/run": "--out", "--out file": "--out", "--out taken": "taken",
    "--out seeds --seeds 0-1": "seeds/seed1", f"--out {'x' * 300}": "--out", "--resume=": "--resume",
    "--resume nowhere": "nowhere", "--resume file": "file", "--resume taken": "config.json",
    f"--resume {'x' * 300}": "xxx", "--config nowhere.json": "nowhere.json", "--config file": "file",
    "--config list.json": "list.json", "--env CartPole-v99": "CartPole-v99", "--algorithm trop": "--algorithm",
    "--algorithm naf --env CartPole-v1": "naf", "--algorithm a3c --record-every 2": "--record-every",
    "--algorithm a3c --learner sharded": "root",
    "--algorithm dqn --learner sharded --requests episodes": "segments",
    "--algorithm guided-policy-search --state-cost 1,2 --cost-network 3": "--cost-network",
    "--algorithm guided-policy-search --env Pendulum-v1 --requests segments": "--requests",
}  # fmt: skip
OTHERS = (
    "watch; watch nowhere; watch file; watch a b; watch taken; watch RUN --seed -1; watch RUN --steps 0; "
    "watch RUN --frames 1e9; watch RUN --pictures nan; watch RUN --episode 3; replay; replay RUN; replay nowhere 0; "
    "replay taken 0; replay RUN -1; replay RUN x; replay RUN 1e9; replay RUN 0 --iteration 0; "
    "replay RUN 0 --iteration 1e9; replay RUN 0 1; speedup x; speedup --ranks 0; speedup --ranks 2,4; "
    "speedup --ranks 1,,2; speedup --ranks 1,1000000000; speedup --updates inf; speedup --rounds 0; "
    "speedup --warm-up -1; speedup --env Reachr-v5; speedup --out taken; speedup -- --out=x; speedup -- --steps 5; "
    "speedup -- --max-kl nan; entry taken; figures QQ; grade nowhere"
)


@pytest.fixture
def here(tmp_path):
    """Return a folder to type in, with some things that are in the way."""
    for folder in ("taken", "seeds/seed1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "thesis.txt").write_text("precious")
    (tmp_path / "file").write_text("")
    (tmp_path / "list.json").write_text('{"format": 5, "settings": []}')
    return tmp_path


@pytest.fixture(scope="module")
def a_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert forked("train", *SMALL, "--out", folder, cwd=folder.parent).code == 0
    return folder


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:40])
def test_a_command_line_that_makes_no_sense_is_one_line(line, here):
    with unchanged(here):
        one_line(forked("train", *line.split(), cwd=here), LINES[line])


def test_so_it_is_with_the_other_commands(here, a_run):
    for line in OTHERS.split("; "):
        name, *words = line.split()
        with unchanged(here, a_run):
            one_line(forked(name, *(a_run if word == "RUN" else word for word in words), cwd=here))


def test_an_unknown_command_is_one_line_that_names_those_there_are(capfd):
    for words in (["fly"], ["Train"], [""], ["-x"], []):
        assert main(words) == 2
        said = capfd.readouterr().err
        assert said.count("\n") == 1
        assert all(name in said for name in COMMANDS)


def test_the_help_explains_every_setting_with_its_default(capfd):
    for name in ("trpo", "naf", "minitrpo.course.reinforce:Reinforce"):
        assert train.main(["--algorithm", name, "--help"]) == 0
        text = " ".join(capfd.readouterr().out.split())
        preset = find(name).presets["default"].values
        for f in (*fields(Settings), *fields(find(name).Settings)):
            default = preset.get(f.name, f.default)
            source = f"; source: {f.metadata['source']}" * bool(f.metadata["source"] and default == f.default)
            assert f"{flag(f.name)} " in text
            assert f"(default: {default}{source})" in text, f.name


# --- two ranks

PROGRAM = """
import json, sys
import minitrpo
from mpi4py import MPI
for given in json.loads(sys.argv[1]):
    said = "nothing"
    try:
        minitrpo.train(**given, progress="none")
    except minitrpo.BadInput as error:
        said = str(error)
    heard = MPI.COMM_WORLD.gather(said)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(heard), flush=True)
"""


def mpiexec(*words, cwd):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TOYS)])}
    line = ["mpiexec", *map(str, words)]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.mpi
def test_two_ranks_hear_the_same(here, a_run):
    """One job, many bad inputs: every rank refuses each with the same words, and none waits for another."""
    (here / "program.py").write_text(PROGRAM)
    (here / "cut").mkdir()
    for each in a_run.iterdir():
        (here / "cut" / each.name).write_bytes(each.read_bytes()[: -40 if each.suffix == ".csv" else None])
    cases = [{"max_kl": -1}, {"colour": "red"}, {"env": "Reachr-v5"}, {"env": "no_such:Env"}]
    cases += [{"algorithm": "trop"}, {"algorithm": "json:dumps"}, {"algorithm": "naf", "env": "CartPole-v1"}]
    cases += [{"env": "failing_envs:TupleActions-v0"}, {"requests": "segments", "num_envs": 1}, {"out": "taken"}]
    cases += [{"out": "file/run"}, {"resume": "nowhere"}, {"resume": "cut"}, {"resume": str(a_run), "seed": 3}]
    cases += [{"resume": str(a_run), "total_steps": 1}, {"hidden": "99999,99999", "env": "CartPole-v1"}]
    with unchanged(here):
        done = mpiexec("-n", 2, sys.executable, "program.py", json.dumps(cases), cwd=here)
    assert done.returncode == 0, done
    heard = [json.loads(line) for line in done.stdout.splitlines()]
    for case, (first, second) in zip(cases, heard, strict=True):
        assert first == second != "nothing", (case, first, second)
        assert "\n" not in first, case


@pytest.mark.mpi
def test_of_two_ranks_one_speaks(here):
    """Also where a launcher starts them with different command lines: the result would be nobody's."""
    train_py = [sys.executable, str(SCRIPTS / "train.py")]
    two = f"{shlex.join(train_py)} --help; {shlex.join(train_py)} --steps 5"
    one, other = (("-n", 1, *train_py, *SMALL, "--out", "run", "--seed", seed) for seed in (0, 7))
    with unchanged(here):
        done = mpiexec("-n", 2, "sh", "-c", two, cwd=here)
        assert (done.returncode, done.stdout.count("usage:")) == (2, 1), done
        assert (done.stderr.count("\n"), "--steps" in done.stderr) == (1, True), done
        done = mpiexec(*one, ":", *other, cwd=here)
        assert (done.returncode, done.stderr.count("\n"), "rank 1" in done.stderr) == (2, 1, True), done


# --- a resumed run

ANOTHER = {"--preset": "paper", "--seed": 3, "--env": "Pendulum-v1", "--max-kl": 0.5, "--algorithm": "a3c",
           "--steps": 5, "--total-steps": 20, "--requests": "segments", "--learner": "x"}  # fmt: skip
AGAIN = {"total_steps": 121, "pool": "static", "envs_per_rank": 3, "physics": "gymnasium", "learner": "sharded",
         "checkpoint_every": "20"}  # fmt: skip


def test_a_resumed_run_keeps_every_setting_that_decides_its_numbers(a_run, tmp_path):
    with unchanged(a_run):
        for name, value in ANOTHER.items():
            one_line(forked("train", "--resume", a_run, name, value, cwd=tmp_path), name)
    recorded = chosen(json.loads((a_run / "config.json").read_text())["settings"])
    words = ("--resume", str(a_run))
    assert asked(*words, "--seed", "0", "--critic", "linear") == recorded.flat(), "the same may be said again"
    assert set(AGAIN) == set(MAY_CHANGE)
    for name, value in AGAIN.items():
        assert asked(*words, flag(name), str(value)) == recorded.flat() | {name: value}


# --- cures

CURES = [  # what is typed; where the refusal has a cure; behind what it is typed
    ("--algorithm trop --env CartPole-v1", r"did you mean ([\w-]+)", "--algorithm"),
    ("--algorithm PPO --env CartPole-v1", r"did you mean ([\w-]+)", "--algorithm"),
    ("--env Cartpole", r"did you mean ([\w-]+)", "--env"),
    ("--env Pendulum-v9", r"did you mean ([\w-]+)", "--env"),
    ("--algorithm naf --env CartPole-v1", r"try --algorithm ([\w-]+)", "--algorithm"),
    ("--algorithm dqn --env Pendulum-v1", r"try --algorithm ([\w-]+)", "--algorithm"),
    ("--hidden 64,x --env CartPole-v1", r"such as ([\d,]+\d)", "--hidden"),
    ("--checkpoint-every 0 --env CartPole-v1", r"such as (\w+)", "--checkpoint-every"),
    ("--algorithm a3c --learner sharded --env CartPole-v1", r"use --learner (\w+)", "--learner"),
]


def test_a_name_of_another_library_leads_to_ours_and_one_that_is_only_alike_to_none():
    for ours, theirs in ELSEWHERE.items():
        for name in theirs.split():
            said = refused("--algorithm", OWNERS.get(ours, "trpo"), f"--{name}", 1)
            (cure,) = re.findall(r"did you mean --([\w-]+)", said)
            assert name in ELSEWHERE[cure.replace("-", "_")].split(), said
    assert [name for name in ("render", "max_episode_steps", "device") if "mean" in refused(f"--{name}", 1)] == []


@pytest.mark.slow
def test_a_cure_that_is_printed_is_accepted_when_it_is_typed(tmp_path):
    for typed, cure, behind in CURES:
        words = ("train", "--total-steps", 20, "--steps-per-update", 20, "--progress", "none", *typed.split())
        done = forked(*words, cwd=tmp_path)
        one_line(done)
        again = forked(*words, behind, re.search(cure, done.err)[1], "--out", f"{typed}{cure}"[:99], cwd=tmp_path)
        assert again.code == 0, str(again)


def unfit(env, name="trpo"):
    """Return what is said of an environment that an algorithm cannot be trained on, "" if it can."""
    choice = parse(["--algorithm", name, "--env", env, "--first-states", "2"]).choice
    return said_by(lambda: make_algorithm(choice, describe(env)))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_takes_just_the_actions_that_it_says_and_those_who_can_are_named(name):
    """The truth: what its own policy and its beginning do with either kind."""
    for kind, env in (("Box", "Pendulum-v1"), ("Discrete", "CartPole-v1")):
        said = unfit(env, name)
        assert (not said) == (kind in find(name).actions)
        able = said.partition("try --algorithm ")[2].partition(";")[0].split(", ")
        assert not said or not any(unfit(env, other) for other in able)
        assert all(hasattr(gymnasium.wrappers, cure) for cure in re.findall(r"gymnasium\.wrappers\.(\w+)", said))


# --- settings that can do nothing

IDLE = [  # a run; what nothing listens to in it; what does something there
    ("--preset episodes --critic linear --steps-per-update 100",
     "--margin 0.2 --adapt-window 3 --adapt-steps-by 7 --adapt-min-steps 5 --adapt-max-steps 7000 --adapt-kl-by 0.1 "
     "--adapt-min-kl 0.002 --adapt-max-kl 0.5 --critic-epochs 3 --critic-minibatch 9 --critic-step-size 0.1 "
     "--num-envs 4 --initial-log-std 1 --renew-first-states 2 --eval-episodes 3",
     "--max-kl 0.02 --discount 0.9 --gae-lambda 0.5 --cg-damping 1 --filter-clip 0.5 --first-states 2"),
    ("--requests segments --adapt steps --adapt-window 1 --filter none --steps-per-update 100",
     "--adapt-kl-by 0.1 --adapt-min-kl 0.002 --adapt-max-kl 0.5 --pool static --envs-per-rank 3 --filter-clip 5",
     "--margin 2 --adapt-steps-by 50 --adapt-max-steps 2000 --critic-epochs 3 --critic-minibatch 20 --num-envs 3"),
    ("--algorithm policy-gradient --critic none --steps-per-update 100",
     "--gae-lambda 0.5 --critic-epochs 3 --critic-minibatch 9 --critic-step-size 0.1", "--step-size 0.5"),
    ("--algorithm a3c --transport events --anneal none",
     "--anneal-steps 300 --requests segments --pool static --envs-per-rank 3 --num-envs 3 --first-states 2 "
     "--renew-first-states 1", "--workers 3 --t-max 3 --delay-jitter 0.9"),
    ("--algorithm a3c --transport server", "--workers 3 --delay-jitter 0.5", ""),
    ("--algorithm gorila --transport events --warm-up 50 --batch 8", "--replay-ratio 2 --fetch 3", "--batch 9"),
    ("--algorithm naf --env Pendulum-v1 --steps-per-update 100", "--initial-log-std 1", "--first-sigma 1"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("words", "idle", "heeded"), IDLE, ids=range(len(IDLE)))
def test_a_setting_that_does_nothing_is_said_and_no_other(words, idle, heeded, tmp_path):
    ends = {}
    for name, more in (("as it is", ""), ("idle", idle), ("heeded", heeded)):
        line = (*CARTPOLE, "--total-steps", 400, *words.split(), *more.split(), "--out", name)
        done = forked("train", *line, cwd=tmp_path)
        assert done.code == 0, str(done)
        noted = re.findall(r"note: (--[\w-]+) has no effect", done.out)
        assert sorted(noted) == sorted(re.findall("--[a-z-]+", more) if name == "idle" else []), str(done)
        rows, arrays = lasting(tmp_path / name)
        ends[name] = rows, {key: value for key, value in arrays.items() if key != "run_settings"}
    if heeded:  # with the server no two runs are alike
        assert ends["idle"] == ends["as it is"] != ends["heeded"]


# --- from Python


def test_so_it_is_from_python_with_names_as_python_has_them(a_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outs = ({"out": ""},)
    numbers = ({"max_kl": False}, {"total_steps": False}, {"seed": True}, {"seeds": "0-1"}, {"stuck_after": 3})
    for wrong in (*numbers, *outs):
        with pytest.raises(BadInput, match=min(wrong).replace("_", "[-_]")):
            minitrpo.train("CartPole-v1", **{"total_steps": 100, "progress": "none", **wrong})
    policy = load(a_run)
    assert policy(np.zeros((0, 4))).shape == (0,)
    for observation in (np.full(4, np.nan), "abc", [[1, 2], [3]], None):
        with pytest.raises(BadInput, match="observation"):
            policy(observation)
    for nobody in (tmp_path / "nowhere", "nowhere", ""):
        with pytest.raises(BadInput):
            Run(nobody).rows()
    assert Run(str(a_run)) == Run(a_run)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("minitrpo.python_api.draw", lambda context: "")  # takes a second
    done = minitrpo.train("CartPole-v1", total_steps=60, steps_per_update=60, trace=True, out="a", progress="none")
    assert (done.path / "trace.json").exists()
