"""The whole family on its reference tasks: every member as typed, five seeds each, and on held-out seeds.

Steps to a goal are read off fresh episodes: every so often twenty of the mean action are played, from which nothing is
learned, and the goal is reached when their mean is at least the goal's. The final return is that of a hundred fresh
episodes after the run. Goals are the same for all members on one task. A member with a barrier has one rank, as it
learns the same, to the bit, on any number. Seconds do not count: other programs may run at the same time.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import EngFormatter

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, train
from experiments.pictures import axes_of, possible
from experiments.returns import last_episodes
from experiments.tables import Run, aligned, curve
from experiments.tables import markdown as table
from minitrpo import evaluate
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.course.statistics import iqm, mean_interval

CARTPOLE, PENDULUM, REACHER = "CartPole-v1", "Pendulum-v1", "Reacher-v5"
PUCK = "minitrpo.course.linear_quadratic:LinearQuadratic-v0"
INVERTED, HOPPER, CHEETAH = "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5"
GOAL = {CARTPOLE: 475.0, PENDULUM: -250.0, REACHER: -8.0, INVERTED: 900.0, HOPPER: 1000.0, CHEETAH: 1000.0}
EVERY = {CARTPOLE: 5_000, PENDULUM: 5_000, HOPPER: 50_000, CHEETAH: 50_000}  # elsewhere 10,000
ONE_STEP = ("one-step-q", "sarsa", "n-step-q")
ASYNCHRONOUS = tuple(f"async-{name}" for name in ONE_STEP)
ON_POLICY = (CARTPOLE, PENDULUM, REACHER, HOPPER, CHEETAH)
TASKS: dict[str, tuple[str, ...]] = dict.fromkeys(ALGORITHMS, (CARTPOLE,)) | {
    "trpo": (CARTPOLE, PENDULUM, REACHER),
    **dict.fromkeys(("a2c", "a3c", "batch-ppo"), ON_POLICY),
    **dict.fromkeys(("naf", "async-naf"), (PENDULUM,)),
    "guided-policy-search": (INVERTED, REACHER, PUCK),
}
LONG = {*((name, CARTPOLE) for name in (*ONE_STEP, *ASYNCHRONOUS)), ("a2c", PENDULUM), ("a3c", PENDULUM)}
TRPO_STEPS = {CARTPOLE: 150_000, PENDULUM: 500_000, REACHER: 500_000}  # the others know how long they need
HELD_OUT = 8_000  # seeds from here on were drawn when all settings stood
NOT_HELD_OUT = {("a2c", REACHER), ("a3c", REACHER), ("a3c", PENDULUM), ("batch-ppo", REACHER)}
NOT_HELD_OUT |= {("async-one-step-q", CARTPOLE), ("async-sarsa", CARTPOLE)}
# rl-baselines3-zoo, benchmark.md (2022, MuJoCo's tasks in version 3): the mean return of one tuned agent each, played
# without noise in its actions, and the steps of its training
TUNED = {
    ("ppo", CARTPOLE): (500.0, 100_000),
    ("ppo", PENDULUM): (-172.2, 100_000),
    ("ppo", HOPPER): (2410.0, 1_000_000),
    ("ppo", CHEETAH): (5819.0, 1_000_000),
    ("a2c", CARTPOLE): (500.0, 500_000),
    ("a2c", PENDULUM): (-163.0, 1_000_000),
    ("a2c", HOPPER): (733.5, 1_000_000),
    ("a2c", CHEETAH): (3041.0, 1_000_000),
}
COUNTERPARTS = {"batch-ppo": "ppo", **dict.fromkeys(("a2c", "actor-critic", "a3c", "policy-gradient"), "a2c")}


def arm(name: str, env: str) -> Arm:
    """Return a member as typed on a task; fresh episodes are rare in a long run, or most of it would be these."""
    steps = f"--total-steps {TRPO_STEPS[env]} " if name == "trpo" else ""
    every = EVERY.get(env, 10_000) * (4 if (name, env) in LONG else 1)
    words = f"--algorithm {name} {steps}--eval-every {every} --eval-episodes 20"
    return Arm(name, env, words, 1 if ALGORITHMS[name].sync == "barrier" else 2)


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Train as typed, and return how long it took and how well it does."""
    out, theta = train(job, ranks, folder)
    columns = out.columns()
    seen = np.isfinite(columns["eval_return"])
    reached = columns["env_steps"][seen][columns["eval_return"][seen] >= GOAL.get(job.arm.env, np.inf)]
    row = {"theta": theta, "total_steps": columns["env_steps"][-1], "final": evaluate(out.path, episodes=100).mean}
    return row | {"steps_to_goal": reached[0] if len(reached) else None}, {"curves": last_episodes(columns)}


# --- tables


def rows(runs: Runs) -> list[tuple[str, str, list[Run]]]:
    """Return (member, task, its runs) in the order of the registry."""
    return [(name, env, runs[name, env]) for name in ALGORITHMS for env in TASKS[name] if (name, env) in runs]


def ends(some: list[Run]) -> str:
    """Return the mean of what the runs return in the end, and their range."""
    values = [run["final"] for run in some]
    form = ",.1f" if abs(values[0]) < 20 else ",.0f"
    if len(some) == 1:
        return f"{values[0]:{form}}, one run"
    return f"{np.mean(values):{form}}, range {min(values):{form}} to {max(values):{form}}"


def report(experiment: Experiment, runs: Runs) -> str:
    """Return a row for each member and task: what was reached, when, and what the runs return in the end."""
    cells = []
    for name, env, some in rows(runs):
        steps = [run["steps_to_goal"] for run in some if run["steps_to_goal"] != ""]
        goal = (f"{GOAL[env]:g}", f"{len(steps)} of {len(some)}") if env in GOAL else ("-", "-")
        median = f"{np.median(steps):,.0f}" if steps else "-"
        cells.append((f"`{name}`", env.rpartition(":")[2], *goal, median, ends(some)))
    return table(("member", "task", "goal", "reached by", "after steps, median", "return in the end"), cells)


def members() -> str:
    """Return a row for each member: its place among the designs, and what its first task returns in the end."""
    cells, runs = [], EXPERIMENT.runs()
    for name, each in ((name, ALGORITHMS[name]) for name in ALGORITHMS):
        env = TASKS[name][0]
        end = f"{env.partition('-')[0]} {ends(runs[name, env])}"
        cells.append((f"`{name}`", each.when, each.sync, each.travels, each.learns, each.data, each.source, end))
    header = ("member", "an update after", "ranks", "what travels", "who learns", "from which data", "source")
    return table((*header, "return in the end, mean of 5 seeds"), cells)


def tuned_table() -> str:
    """Return the table of members and stable-baselines3's tuned counterparts, and by how much ours fall short."""
    header = ("member", "task", "steps", "mean return, 95 % interval (Student, 5 seeds)")
    header += ("counterpart", "its steps", "its return", "falls short by")
    cells = []
    for name, env, some in rows(EXPERIMENT.runs()):
        other = COUNTERPARTS.get(name, "")
        if (other, env) in TUNED:
            (theirs, steps), ours = TUNED[other, env], possible(mean_interval([run["final"] for run in some]), env)
            short = theirs - ours.middle
            text = "-" if short <= 0 else f"{short:,.0f}{', within' * (ours.high >= theirs)}"
            size = f"{some[0]['total_steps']:,.0f}"
            cells.append((name, env, size, f"{ours:,.0f}", other, f"{steps:,}", f"{theirs:,.0f}", text))
    return table(header, cells)


# --- picture

# A hue for each group, a shade for each member, the same in every panel
GROUPS = {
    "Policy gradients": {"trpo": "#0072B2", "batch-ppo": "#45A9E0", "policy-gradient": "#14315C"},
    "Actor-critics": {"a2c": "#E69F00", "a3c": "#A65200", "actor-critic": "#C9B400"},
    "Q-learning, all in step": {"n-step-q": "#009E73", "one-step-q": "#8CC63F", "sarsa": "#00513F"},
    "Q-learning, asynchronous": {"async-n-step-q": "#CC79A7", "async-one-step-q": "#6A3D9A", "async-sarsa": "#A98BD0"},
    "Replay": {"dqn": "#D55E00", "gorila": "#8B1E1E"},
}
ELSEWHERE = {"naf": "#E8536B", "async-naf": "#00A6A6", "guided-policy-search": "#333333"}  # continuous actions alone
COLORS = {name: color for group in (*GROUPS.values(), ELSEWHERE) for name, color in group.items()}


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the members' learning curves, group by group on CartPole, and all on two other tasks; the others in grey.

    A line is the interquartile mean over seeds of the return of the last 100 episodes, a band the range.
    """
    panels = {f"{group}: CartPole": (CARTPOLE, tuple(members)) for group, members in GROUPS.items()}
    panels |= {env: (env, tuple(name for name in COLORS if env in TASKS[name])) for env in (PENDULUM, REACHER)}
    for title, axis in axes_of(figure, list(panels), across=4).items():
        env, names = panels[title]
        for name in (*(n for n in COLORS if n not in names), *names):
            if some := runs.get((name, env)):
                grid, each = aligned(list(map(curve, some)), partial(np.geomspace, num=200))
                style = {"color": COLORS[name], "linewidth": 2, "zorder": 3, "label": name}
                axis.plot(grid, iqm(each, axis=0), **(style if name in names else {"color": "#D0D0D0", "linewidth": 1}))
                if name in names:
                    axis.fill_between(grid, each.min(axis=0), each.max(axis=0), color=COLORS[name], alpha=0.13)
        axis.set(xscale="log", xlabel="environment steps", ylabel="return", xlim=(3_000, None), title=title)
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.legend(frameon=False, fontsize=8)


ARMS = tuple(arm(name, env) for name in ALGORITHMS for env in TASKS[name])
SHARED: dict[str, Any] = {"measure": measure, "draw": draw, "data": "family", "quick": Size(1, {CARTPOLE: 20_000})}
EXPERIMENT = Experiment(
    name="family", title="every member as typed on its tasks", arms=ARMS, full=Size(5), report=report, **SHARED
)
HELD = Experiment(
    name="held_out",
    title="the same on held-out seeds",
    arms=tuple(a for a in ARMS if a[:2] not in NOT_HELD_OUT and a.env not in (HOPPER, CHEETAH)),
    full=Size(1, other={("a2c", PENDULUM): 3}, first=HELD_OUT),
    report=report,
    **SHARED,
)
