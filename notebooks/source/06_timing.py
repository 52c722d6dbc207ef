# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 06 Where does the time go?
#
# **TRPO shall be faster. Which part of it do we speed up?**
#
# <!-- loop -->
#
# In 2016 the answer was easy. Kevin Frans put a stopwatch on his program: of the seconds that an update took on the
# task Reacher, 93 % went into collecting experience and 7 % into learning from it. So he parallelised the collecting.
# Before you copy a decision, measure. This lecture builds the instruments.
#
# | in this notebook | in the package | in Frans & Hafner 2016 |
# |---|---|---|
# | `timed` | `minitrpo/parallel/timing.py` | - |
# | `seconds_per_phase` | `minitrpo/course/trace.py` | section 4: "the biggest bottleneck"; the first figure of Frans's post |
# | `busy_fraction` | `minitrpo/course/trace.py` | - |
# | `read_chrome_trace` | `minitrpo/course/trace.py`; `train.py --trace` writes | - |
#
# *90 minutes in class with the exercises, under two minutes to run. You need: lecture 05b (what one update of TRPO does).
# Close other programs: they would be in the numbers.*

# %%
import cProfile
import csv
import json
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PHASE_COLORS,
    RED,
    budget,
    compare,
    one_process,
    recorded,
    reveal,
)
from minitrpo.course.classroom import say_if_busy, show_claims, train
from minitrpo.experience.environments import describe, make
from minitrpo.parallel.launcher import cores
from minitrpo.course.trace import read_chrome_trace
from minitrpo.parallel.timing import Span

plt.rcParams["legend.fontsize"] = 9
author = json.loads(recorded("author_2016.json").read_text())["speedup"]  # Frans's logs of Reacher, 1 to 8 threads
about = json.loads(recorded("06_timing.json").read_text())
there, made = about["median_seconds"], about["provenance"]  # {run: {phase: seconds of an update}}
RECORDED = f"recorded on {made['usable_cores']} cores ({made['machine'].split(', ')[-1]})"
print(f"{cores()} cores here. Beside your measurements stand others, {RECORDED}, {made['date'][:10]}")
loads = f"{made['load_before'][0]:.1f} before it and {made['load_after'][0]:.1f} after"
print("conditions:", made.get("conditions", f"load average {loads}, of {made['usable_cores']} cores"))

# %% [markdown]
# Times differ from machine to machine, and on one machine from minute to minute. So what you measure of an iteration is
# shown beside what was **recorded** (`recorded/06_timing.py` made it). The machine may not have been idle then: the
# *load average* above is how many processes wanted a core, on average over a minute, afterwards the measurement's own,
# too. Its seconds are upper limits. Where the two disagree about an *order* or a *ratio*, ask what is different about
# your machine, and what else it was doing. `say_if_busy()` warns you if that is a lot.
#
# ## One iteration, taken apart
#
# Lecture 05b trained policies with `mpi_scripts/train.py`. Its loop has two halves. A **worker** collects: it plays
# episodes with the current policy until it has about as many steps as were asked for. A **learner** turns them into a
# better policy, by an algorithm that it holds, here TRPO. Here are the two as objects, for Reacher (a two-jointed arm;
# an episode is 50 steps) and the 20,000 steps per update of Frans's post. `one_process` means: one of each, and nobody
# to share the work with.

# %%
STEPS = budget(20_000, 1_000)
learner, worker = one_process(env="Reacher-v5", steps_per_update=STEPS, physics="gymnasium")

# %% [markdown]
# A stopwatch is two looks at a clock, and a difference. We do the whole iteration twice and keep the second: the first
# one also pays for things that happen only once (memory is claimed, caches are filled). Such a **warm-up** is thrown
# away in every serious measurement.
#
# Frans's numbers per update: 17.9 s collecting, 1.4 s learning, on one process. What fraction goes into collecting on
# *your* machine, with the same number of steps? Type it in per cent.

# %% prediction="yes"
guess_fraction = 85  # of an iteration that is collecting, per cent

# %%
say_if_busy()
for _ in range(2):
    plan, request = learner.plan()
    worker.collector.refill()  # with requests for episodes; lecture 07
    begun = time.perf_counter()
    gathered = worker.collect(plan, request, checkpoint=False)
    between = time.perf_counter()
    learner.learn(gathered)  # moves the policy, and fits the critic
    collect_s, update_s = between - begun, time.perf_counter() - between


def collecting(bill):
    """Return the fraction of {phase: seconds} that is collecting."""
    return bill["collect"] / sum(bill.values())


def show_fraction():
    print(f"{gathered.steps:,} steps: {collect_s:.2f} s collecting, {update_s:.2f} s learning")
    compare("fraction of collecting", guess_fraction, 100 * collect_s / (collect_s + update_s), "%")
    print(f"{RECORDED}: {100 * collecting(there['Reacher']):.0f} %")


reveal(guess_fraction, show_fraction)

# %% [markdown]
# If the fraction differs from his, the section "2016 and today" asks why. First the instrument: with a third and a
# fourth phase, a cell like the one above is more stopwatch than program.
#
# ## A stopwatch that stays out of the way
#
# Which clock? Python has several. Watch three of them through 0.2 seconds of waiting and then some work:

# %%
for clock in (time.time, time.perf_counter, time.process_time):
    readings = [clock()]
    time.sleep(0.2)
    readings.append(clock())
    sum(range(1_000_000))
    readings.append(clock())
    print(f"{clock.__name__:13} waiting {readings[1] - readings[0]:.3f} s, working {readings[2] - readings[1]:.3f} s")

# %% [markdown]
# `process_time` counts what the processor does for us, and sees no waiting. But waiting is what parallel programs are
# bad at, so we want it on the bill. `time` is the time of day: fine here, and wrong on the day the machine sets its
# clock. **`perf_counter`** only goes forward. Its zero means nothing; only differences do.
#
# What should the stopwatch look like in a program? Like this:
#
# ```python
# with timed(spans.append, "collect"):
#     episodes = collector.collect(request)
# ```
#
# Python does something when a `with` block begins and something when it ends, *however* it ends. What it does is said
# by a **context manager**. The short way to write one is a function with one `yield`, under the decorator
# `@contextmanager`: what stands before the `yield` happens at the beginning, the block runs at the `yield`, the rest
# happens at the end. If the block fails, the error comes out of the `yield`, so what must happen in any case stands
# behind `finally`:
#
# ```python
# @contextmanager
# def visit(door):
#     door.open()
#     try:
#         yield
#     finally:
#         door.close()
# ```
#
# Our stopwatch makes a **span** of every phase: the tuple (name, start, duration). It hands the span to `record`, any
# function of one argument; the `append` of a list will do.
#
# ### Exercise 1: `timed`

# %% exercise="timed"

# %% [markdown]
# Stuck? `hint("timed", 1)`, then `2`, then `3`. As always the notebook runs on whatever happens: `mine.timed` is your
# function once its check has passed, and the package's until then.
#
# ## What a step costs
#
# Frans's post says that every step pays for the environment *and* for the policy. We measure both as his code did it:
# one environment, one observation at a time. And a third thing: what the stopwatch itself costs.

# %%
spec, env = describe("Reacher-v5"), make("Reacher-v5")
policy, theta, rng = learner.algorithm.policy, learner.algorithm.theta, np.random.default_rng(0)
steps, stopwatch = [], mine.timed
for step in range(budget(3000, 500)):
    if step % 50 == 0:
        observation, _ = env.reset(seed=step)
    with stopwatch(steps.append, "policy"):
        dist_params = policy.distribution(theta, observation[None])
        action = policy.sample(dist_params, policy.draw_noise(rng, 1))
    with stopwatch(steps.append, "environment"):
        observation, *_ = env.step(spec.stretched(action)[0])
    with stopwatch(steps.append, "stopwatch"), stopwatch([].append, "nothing"):  # one that is timed by another
        pass

micro = {
    name: 1e6 * np.median([lasts for phase, _, lasts in steps if phase == name])
    for name in ("policy", "environment", "stopwatch")
}
for name, microseconds in micro.items():
    print(f"{name:12} {microseconds:7.2f} microseconds a step")
print(f"2016: {1e6 * author['rollout_s'][0] / 20_000:.0f} microseconds a step for policy and environment together")
print(f"Reacher runs {1e6 * env.unwrapped.dt / micro['environment']:.0f} times faster than the real arm would")

# %% [markdown]
# Medians, because a machine that also does other things adds a few very long steps. The line "stopwatch" is the price of
# one, of which it sees a small part itself: round a *phase* it is free, round a *step* it can be noticed, round a
# multiplication it would be nearly all.
#
# The policy's part can be shared. So a worker plays up to 16 episodes **in lockstep**: one step in each of them, then the
# next in each. One matrix product then gives the actions for 16 observations.
#
# ## A run that writes down its spans
#
# The package's training loop is full of these stopwatches; its option `--trace` writes every span to a file. From a
# notebook, `train(ranks, options)` starts it, the same program as `mpi_scripts/train.py`, and returns the folder that
# the run leaves. Four words that you will need before lecture 07 explains them:
#
# - **`mpiexec -n 4 python program.py`** starts one program as four processes. They share no memory, and talk by messages.
# - **Ranks** are these processes, numbered from 0. Rank 0 gives the orders: it says what to play, and learns.
# - **The pool** is where all ranks draw the episodes of an iteration from: who is free takes the next one.
# - **`--oversubscribe`** lets more ranks work than there are cores, by turns. Without it the ranks that have no core of
#   their own leave the work to the others.
#
# `--preset episodes` stands for whole episodes and a root that learns alone, as in this lecture; without it `train`
# would do what learns soonest (lecture 08 says why).

# %%
ONE = ("--preset", "episodes", "--steps-per-update", STEPS, "--total-steps", budget(3, 2) * STEPS, "--trace")
run = train(1, "--env", "Reacher-v5", "--physics", "gymnasium", *ONE)
[spans] = read_chrome_trace(run.path / "trace.json")


def show_spans():
    for name, begins, lasts in spans[:12]:
        print(f"{name:11} begins at {begins:8.5f} s, lasts {lasts:8.5f} s")


reveal(guess_fraction, show_spans)

# %% [markdown]
# | phase | what happens in it |
# |---|---|
# | broadcast | rank 0 sends the policy to all ranks |
# | collect | every rank plays episodes, and prepares what is to travel: its steps, and the mean and variance of each episode's observations, for the filter |
# | wait | who is done waits for the others |
# | gather | what was prepared goes to rank 0, which puts it in the order of the episodes' numbers |
# | update | rank 0 learns, a new policy first and then the critic: the next four rows are parts of it |
# | advantages | in `update`: values, advantages |
# | exchange | in `update`: samples go to other ranks, if those learn, too (lecture 08); here nothing |
# | policy | in `update`: gradient, conjugate gradient, line search |
# | critic | in `update`: fitting the value function |
# | checkpoint | rank 0 writes the log, and saves everything |
# | idle | ranks other than 0 wait for the next broadcast |
#
# Now add up the durations by name, as a hasty person would:

# %%
hasty = defaultdict(float)
for name, _, lasts in spans:
    hasty[name] += lasts
whole = max(begins + lasts for _, begins, lasts in spans)
print(f"all phases together: {sum(hasty.values()):.2f} s. The whole run: {whole:.2f} s")

# %% [markdown]
# More seconds than there were! Policy and critic are in the sum twice, as themselves and as parts of `update`. As a
# fraction of *that*, collecting comes out too small. Each instant should count once: for the **innermost** span it lies
# in. `update` then keeps what none of its parts took.
#
# The list helps: a span is recorded when it ends, so all that happened inside a span stands *before* it. Spans on one
# rank never overlap by half, since `with` blocks do not.
#
# ### Exercise 2: `seconds_per_phase`

# %% exercise="seconds_per_phase"

# %%
own = mine.seconds_per_phase(spans)


def show_own():
    for name in sorted(own, key=own.get, reverse=True):
        print(f"{name:11} {own[name]:8.4f} s  {100 * own[name] / whole:5.1f} %")
    print(f"{'unmeasured':11} {whole - sum(own.values()):8.4f} s")


reveal(guess_fraction, show_own)

# %% [markdown]
# The last line is a check on the instrument: what no stopwatch saw. If it were large, the table would be about the
# wrong program.
#
# ## 2016 and today
#
# Three suspects for a change since 2016: the processor, the physics, the learner. Frans's learner had less to do: his
# value function was a linear regression (`--critic linear` here). So we run the same task with both critics and with our
# two ways to do physics, and HalfCheetah for comparison.
#
# `--physics auto` steps all episodes that are in lockstep with *one* call into MuJoCo; `--physics gymnasium`, as above,
# takes a Python call for each. The option touches nothing but collecting. By which **factor** does it make the whole
# iteration on Reacher faster?

# %% prediction="yes"
guess_factor = 1.5  # old seconds over new seconds

# %%
say_if_busy()
RUNS = {
    "Reacher": ("Reacher-v5", "gymnasium", "mlp"),
    "Reacher, batched physics": ("Reacher-v5", "auto", "mlp"),
    "Reacher, linear critic": ("Reacher-v5", "gymnasium", "linear"),
    "HalfCheetah": ("HalfCheetah-v5", "gymnasium", "mlp"),
    "HalfCheetah, batched physics": ("HalfCheetah-v5", "auto", "mlp"),
}
RUNS = {label: RUNS[label] for label in budget(list(RUNS), list(RUNS)[:2])}


def per_update(run):
    """Return {phase: mean seconds per update} of a run on one rank, without the first update, which warms up."""
    [spans] = read_chrome_trace(run.path / "trace.json")
    broadcasts = [begins for name, begins, _ in spans if name == "broadcast"]  # the first span of each update
    later = [span for span in spans if span[1] >= broadcasts[1]]
    updates = len(broadcasts) - 1
    return {name: seconds / updates for name, seconds in mine.seconds_per_phase(later).items()}


runs = {
    label: train(1, "--env", name, "--physics", physics, "--critic", critic, *ONE)
    for label, (name, physics, critic) in RUNS.items()
}
bills = {label: per_update(one) for label, one in runs.items()}

# %% tags=["hide-input"] jupyter={"source_hidden": true}
PARTS = {name: PHASE_COLORS[name] for name in ("collect", "policy", "critic")} | {"all the rest": GREY}
rollout_s, learn_s = (np.array(author[name]) for name in ("rollout_s", "learn_s"))  # medians, 1 to 8 threads


def parts(bill):
    named = [bill[name] for name in list(PARTS)[:3]]
    return [*named, sum(bill.values()) - sum(named)]


def draw_bills():
    figure, axes = plt.subplots(1, 3, figsize=(13, 0.62 * len(bills) + 2.2), sharey=True, width_ratios=(1, 1.3, 1.3))
    left, close, right = axes
    longest = 1.25 * max(sum(bill.values()) for bill in (*bills.values(), *(there[label] for label in bills)))
    rows = [(0.0, 0.7, 1.0, [(rollout_s[0], BLUE), (learn_s[0], PHASE_COLORS["update"])])]
    for i, (label, bill) in enumerate(bills.items(), 1):
        rows.append((i - 0.2, 0.36, 1.0, list(zip(parts(bill), PARTS.values()))))
        rows.append((i + 0.2, 0.36, 0.45, list(zip(parts(there[label]), PARTS.values()))))
    for place, height, alpha, bar in rows:
        edges = np.cumsum([0, *(seconds for seconds, _ in bar)])
        for axis, unit in ((left, 1), (close, 1), (right, 100 / edges[-1])):
            for edge, (seconds, color) in zip(edges, bar):
                axis.barh(place, seconds * unit, height, left=edge * unit, color=color, alpha=alpha)
        near = edges[-1] < longest
        axis, shift = (close, 0.01 * longest) if near else (left, 0.2)
        axis.text(edges[-1] + shift, place, f"{edges[-1]:.2f} s", va="center", fontsize=9)
    left.set_yticks(range(len(bills) + 1), ["Frans 2016: Reacher", *bills])
    left.invert_yaxis()
    left.set(xlabel=f"seconds per update, all\n(20,000 steps; upper bars: {STEPS:,})", xlim=(0, 25))
    close.set(xlabel=f"the same, 0 to {longest:.1f} s", xlim=(0, longest))
    right.set(xlabel="per cent of the iteration", xlim=(0, 100))
    swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in (*PARTS.values(), PHASE_COLORS["update"])]
    figure.legend(swatches, [*PARTS, "learner of 2016 (not split)"], loc="upper center", ncols=5)
    figure.suptitle(f"upper bar: here; lower, paler bar: {RECORDED}", y=0.9, fontsize=10)
    plt.tight_layout(rect=(0, 0, 1, 0.92))
    plt.show()


# %%
def show_factor():
    before, after = (sum(bills[label].values()) for label in list(bills)[:2])
    compare("the iteration gets faster by the factor", guess_factor, before / after)
    factor, (low, high) = about["batched_physics"].values()
    print(f"{RECORDED}: {factor:.2f} ({about['rounds']} runs of each, 95 %: {low:.2f} to {high:.2f})")
    thetas = [one.load_checkpoint()["theta"] for one in list(runs.values())[:2]]
    print("the two runs learned the same policy, to the last bit:", np.array_equal(*thetas))
    draw_bills()


reveal(guess_factor, show_factor)

# %% [markdown]
# The left picture says *how much* all of it has shrunk since 2016; the middle one is the same with a ruler for today's
# bars; the right one says *what is left to gain*. The bar of 2016 is a median of 185 updates on one process, from the
# timings that Frans published with his code.
#
# <details><summary>After your guess: what it means</summary>
#
# - An optimisation must not change the result; batched physics did not here, as the two equal policies show.
# - It makes the iteration faster by less than it makes *collecting* faster: the rest of the bar stays as it is.
# - With the linear critic of 2016 most of the critic's block is gone, and collecting is a larger part of what is left.
# - Nowhere in the recorded bars is collecting as large a part as in 2016: it has become cheaper by a larger factor than
#   the learner has. Where collecting is cheap, "parallelise the collecting" is no longer the whole answer.
#
# </details>
#
# ## Amdahl's law: how much can it bring?
#
# Call the time on one rank 1. Say a fraction, *serial*, of it is **not** shared: here everything but the collecting.
# $p$ ranks divide the rest of the time by $p$ at best. So the **speed-up**, old time over new time, is at most
#
# $$S(p) = \frac{1}{\text{serial} + (1 - \text{serial}) / p} \;\le\; \frac{1}{\text{serial}}.$$
#
# Gene Amdahl pointed it out in 1967. For the numbers of 2016, the serial fraction is 0.073: no number of ranks makes the
# iteration more than 13.7 times faster. What is the limit for *your* Reacher bar, with Gymnasium's physics?

# %% prediction="yes"
guess_limit = 4  # the largest possible speed-up, times


# %%
def amdahl(serial, ranks):
    """Return the best speed-up if this fraction of the time stays as it is, and the rest is divided among the ranks."""
    return 1 / (serial + (1 - serial) / ranks)


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_limits():
    many = np.geomspace(1, 64, 100)
    _, axis = plt.subplots(figsize=(10.5, 4.2))
    in_2016 = rollout_s + learn_s
    curves = [("Frans 2016: Reacher", learn_s[0] / in_2016[0], ORANGE, "-")]
    for (label, bill), color in zip(list(bills.items())[:3], (BLUE, GREEN, RED)):  # of Reacher
        curves += [(label, 1 - collecting(bill), color, "-")]
        curves += [(f"{label}, recorded", 1 - collecting(there[label]), color, ":")]
    for label, serial, color, style in curves:
        axis.plot(many, amdahl(serial, many), style, color=color, label=f"{label}: at most {1 / serial:.1f}")
    measured = in_2016[0] / in_2016
    axis.plot(range(1, 6), measured[:5], "o", color=ORANGE, label="Frans 2016, measured")
    axis.plot(range(6, 9), measured[5:], "o", mfc="white", color=ORANGE, label="the same, more threads than 5 cores")
    axis.set_xscale("log", base=2)
    axis.set(xlabel="ranks p", ylabel="speed-up of an iteration", ylim=(0, 13))
    axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    axis.grid(alpha=0.3)
    plt.tight_layout()
    plt.show()


# %%
def show_limit():
    compare("the largest possible speed-up on Reacher", guess_limit, 1 / (1 - collecting(bills["Reacher"])))
    print(f"{RECORDED}: {1 / (1 - collecting(there['Reacher'])):.2f}")
    print("Frans's iterations, 1 to 8 threads:", np.round(author["iteration_speedup"], 2))
    draw_limits()


reveal(guess_limit, show_limit)

# %% [markdown]
# The dots are Frans's own measurements. With every thread they fall further behind his curve, and they never quite reach
# 3. Amdahl's law is a ceiling, not a forecast; lecture 08 is about the gap.
#
# Collecting on $p$ ranks takes less time than the rest as soon as $p > (1 - \text{serial}) / \text{serial}$: from 13
# ranks on in 2016. From there on, per cent for per cent, a faster *learner* brings more than further ranks. Drag both
# sliders (they need a running kernel; the curves above are the static twin, with the learner as it is).


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def iteration(p=8, faster=1.0):
    bill = bills["Reacher"]
    bars = {"now": (bill["collect"], sum(bill.values()) - bill["collect"])}
    bars["then"] = (bill["collect"] / p, bars["now"][1] / faster)
    _, axis = plt.subplots(figsize=(8, 1.9))
    for label, (collect, rest) in bars.items():
        axis.barh(label, collect, color=BLUE)
        axis.barh(label, rest, left=collect, color=GREY)
        text = f"{sum(bars['now']) / (collect + rest):.1f} times, {100 * rest / (collect + rest):.0f} % of it not collecting"
        axis.text(collect + rest, label, f" {text}", va="center", fontsize=9)
    axis.set(xlabel="seconds per update: blue collecting, grey the rest", xlim=(0, 1.7 * sum(bars["now"])))
    axis.invert_yaxis()
    plt.tight_layout()
    plt.show()


def show_sliders():
    faster = ipywidgets.FloatSlider(min=1, max=10, step=0.5, value=1, description="learner x")
    ipywidgets.interact(iteration, p=ipywidgets.IntSlider(min=1, max=64, value=8, description="ranks"), faster=faster)


reveal(guess_limit, show_sliders)

# %% [markdown]
# ## Who waits for whom?
#
# A speed-up below the ceiling may mean that somebody waits. To see who, measure on every rank the fraction of time in
# which it does useful work. For a set of phases and a window of time: in which fraction of the window is *at least one*
# of the phases running? Phases may lie in each other, so adding up durations fails once more, and a span that sticks
# out of the window counts with the part inside. What you want is the length of a **union of intervals**.
#
# ### Exercise 3: `busy_fraction`

# %% exercise="busy_fraction"

# %% [markdown]
# Now several ranks. They draw their episodes from the pool; then rank 0 learns, and the others have nothing to do. With
# **two** ranks, what fraction of an iteration does the *last* rank spend collecting?

# %% prediction="yes"
guess_busy = 70  # of an iteration in which rank 1 of 2 collects, per cent

# %%
say_if_busy()
counts = budget((1, 2, 4), (1, 2))
JOB = ("--env", "Reacher-v5", "--physics", "gymnasium", "--oversubscribe", *ONE)  # all work, on however few cores
traces = {n: read_chrome_trace(train(n, *JOB).path / "trace.json") for n in counts}


def last_iteration(trace):
    """Return when the last update's iteration begins and ends, on rank 0's clock."""
    begin = [begins for name, begins, _ in trace[0] if name == "broadcast"][-1]
    return begin, max(begins + lasts for _, begins, lasts in trace[0])


def at_work(trace):
    """Return the fractions of the last iteration in which rank 0 works, and in which the others do, on average."""
    working = {"broadcast", "collect", "gather", "update", "checkpoint"}
    ranks = [mine.busy_fraction(rank, working, *last_iteration(trace)) for rank in trace]
    return ranks[0], np.mean(ranks[1:])


# %% tags=["hide-input"] jupyter={"source_hidden": true}
order = ("collect", "wait", "gather", "update", "policy", "critic", "idle")  # later ones are drawn over earlier ones
phases = {name: PHASE_COLORS[name] for name in order}
recorded_traces = {n: [[] for _ in range(n)] for n in counts}
with recorded("06_ranks.csv").open() as file:
    for row in csv.DictReader(file):
        if int(row["ranks"]) in counts:
            span = (row["phase"], float(row["begins_s"]), float(row["lasts_s"]))
            recorded_traces[int(row["ranks"])][int(row["rank"])].append(span)


def gantt(axis, trace, owned, where):
    begin, end = last_iteration(trace)
    for rank, spans_of_rank in enumerate(trace):
        for name, color in phases.items():
            bars = [(begins - begin, lasts) for phase, begins, lasts in spans_of_rank if phase == name]
            axis.broken_barh(bars, (rank - 0.42, 0.84), color=color, linewidth=0)
    crowded = f": OVERSUBSCRIBED, {owned} cores" if len(trace) > owned else ""
    axis.set_facecolor("#FFF3CD" if crowded else "white")
    axis.set(xlim=(0, 1.02 * (end - begin)), ylim=(len(trace) - 0.5, -0.5), yticks=range(len(trace)), ylabel="rank")
    axis.set_title(f"{len(trace)} rank{'s' * (len(trace) > 1)}, {where}{crowded}", fontsize=10)


def draw_ranks():
    size = (12, 0.42 * sum(counts) + 0.75 * len(counts) + 0.7)
    figure, axes = plt.subplots(len(counts), 2, figsize=size, height_ratios=counts, sharex="col", squeeze=False)
    for n, (left, right) in zip(counts, axes):
        gantt(left, traces[n], cores(), "here")
        gantt(right, recorded_traces[n], made["usable_cores"], "recorded")
    for axis, source in zip(axes[-1], (traces, recorded_traces)):
        begin, end = last_iteration(source[1])
        axis.set(xlabel="seconds since the iteration began", xlim=(0, 1.05 * (end - begin)))
    swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in phases.values()]
    figure.legend(swatches, phases, loc="upper center", ncols=len(phases))
    plt.tight_layout(rect=(0, 0, 1, 0.94))
    plt.show()


# %%
def show_busy():
    busy = mine.busy_fraction(traces[2][-1], {"collect"}, *last_iteration(traces[2]))
    compare("with 2 ranks the last one is collecting", guess_busy, 100 * busy, "% of the time")
    print(f"{RECORDED}: {100 * about['ranks']['2']['last_rank_collects']:.0f} %")
    for n in counts[1:]:
        first, others = at_work(traces[n])
        then = about["ranks"][str(n)]
        print(f"{n} ranks: rank 0 works {100 * first:.0f} % of the time, the others {100 * others:.0f} %", end="; ")
        print(f"recorded {100 * then['root_works']:.0f} % and {100 * then['others_work']:.0f} %")
    draw_ranks()


reveal(guess_busy, show_busy)

# %% [markdown]
# A picture of all ranks over time is called a **Gantt chart**: a row is a rank, time runs to the right. This one is the
# diagram "single vs multiple actors" of Frans's post, drawn by a real run. (Light green is what is left of the update
# beside policy and critic.) Compare one rank with two: which colours get shorter?
#
# <details><summary>After your guess: what it means</summary>
#
# Blue gets shorter as ranks join, as long as there are cores for them. The greens and the critic have no reason to (a
# single iteration is noisy): rank 0 alone does them, and all others are idle meanwhile. Charts on yellow have more
# ranks than cores: ranks that share a core take turns, and the wall clock shows all of them "collecting" all the time;
# only `process_time` would tell. They say nothing about a machine with more cores.
#
# </details>
#
# The file `trace.json` of a run can be explored with the mouse at ui.perfetto.dev.
#
# ## Inside the update
#
# Phases are chosen by hand. A **profiler** needs no choice: it watches every call of every function, and says how often
# each was called and how long it took *itself*, without the functions it called (the same thought as in your
# `seconds_per_phase`). Python brings one along. We let our learner learn from the episodes above once more:

# %%
watch = []
for _ in range(budget(5, 1)):  # by turns, so that both see the machine in the same state
    profiler = cProfile.Profile()
    with mine.timed(watch.append, "watched"), profiler:
        learner.learn(gathered)
    with mine.timed(watch.append, "unwatched"):
        learner.learn(gathered)
for which in ("watched", "unwatched"):
    seconds = [lasts for name, _, lasts in watch if name == which]
    print(f"{which:9} update: median {np.median(seconds):.3f} s, {min(seconds):.3f} to {max(seconds):.3f} s")

# %% tags=["hide-input"] jupyter={"source_hidden": true}
found = pstats.Stats(profiler).stats  # {(file, line, name): (_, calls, own seconds, seconds with callees, callers)}
rows = sorted(((cost[2], cost[1], function) for function, cost in found.items()), reverse=True)[:10]
figure, axis = plt.subplots(figsize=(9, 4.2))
for seconds, calls, (file, line, name) in rows:
    label = f"{name}, {Path(file).name}" if line else name.removeprefix("<").removesuffix(">")
    axis.barh(label, seconds, color=BLUE)
    axis.text(seconds, label, f" {calls:,} calls", va="center", color=GREY, fontsize=9)
axis.invert_yaxis()
axis.margins(x=0.2)
axis.set(xlabel="own seconds in one update")
plt.tight_layout()
plt.show()

# %% [markdown]
# How to read it: what lies in `perceptron.py` is the network and its two derivatives, on behalf of the policy
# (`product`, and a few of the calls of `activations` and `transposed_product`) or of the critic (the hundreds of other
# calls of these two, minibatch after minibatch); `tracer.py` is autograd, which records operations and
# plays them back. Operators such as `@` and numpy's entry-by-entry functions such as `tanh` are not seen: their time is
# booked on the function in which they stand. And a profiler is a thumb on the scales: every call pays
# for being watched. Few large calls hardly feel it (do the ranges of "watched" and "unwatched" overlap?); many small
# ones do: try a recursive Fibonacci function. Use it to find *where*, and a stopwatch to find *how long*.
#
# ## Bug hunt
#
# A `busy_fraction` as you may find it in a tool that draws traces. It cuts, it sorts, it walks, and it is right for
# phases that follow each other. `hunt` tells the symptom; find the line, mend it in the cell, run it again.


# %%
def suspect(spans, names, begin, end):
    inside = [(max(at, begin), min(at + lasts, end)) for phase, at, lasts in spans if phase in names]
    total, seen_until = 0.0, begin
    for first, last in sorted(inside):
        if last <= first:
            continue
        total += max(0.0, last - max(first, seen_until))
        seen_until = last
    return total / (end - begin)


_ = hunt("busy_fraction", suspect)

# %% [markdown] solution="only"
# **The bug**: `seen_until = last` compares with the last span only. A short span inside a long one pulls the mark back,
# and what follows is counted again: fractions above 1. It must be `seen_until = max(seen_until, last)`. Issue 11026 of
# the browser Servo suspects the same thought in the code that removes idle time from its traces: each span is compared
# with the last one, which goes wrong once a phase encompasses others. No test with phases in a row can find it.

# %% [markdown]
# ## What you have built so far
#
# To the update of lecture 05b you have added its instruments: a stopwatch for any phase, a bill on which every instant
# counts once, and the fraction of its time in which a rank works. With them you know which part of *your* iteration is
# the largest, and, by Amdahl's law, what sharing it could bring at most. **Next**: lecture 07 shares the collecting among
# ranks, and lecture 08 measures what that brings.
#
# ## Quiz
#
# **1.** Collecting is 75 % of an iteration. You make it infinitely fast. How many times faster is the iteration?
#
# <details><summary>Answer</summary>
#
# 4 times: a quarter of the time is left. "Infinitely" forgets the rest of the bar; "75 % faster" takes a part of the time
# for a ratio of speeds.
#
# </details>
#
# **2.** Batched physics makes collecting faster. Does the limit of Amdahl's law, $1 / \text{serial}$, rise or sink?
#
# <details><summary>Answer</summary>
#
# It sinks: the learner's seconds are the same, and a larger part of a shorter iteration. Every run gets faster, and yet
# there is *less* to gain from ranks. The tempting answer, "faster, so a higher limit", mixes up seconds and ratios.
#
# </details>
#
# **3.** A colleague measures his parallel program with `process_time` and finds that no rank ever waits. What do you say?
#
# <details><summary>Answer</summary>
#
# That his clock stands still while a process waits. Unless the ranks wait by asking all the time ("spinning", lecture
# 08): then it runs, and waiting looks like work. Either way it cannot show waiting.
#
# </details>
#
# **4.** You add up all durations in a trace, nested ones too, and divide. Which phases' fractions come out too small?
#
# <details><summary>Answer</summary>
#
# All but that of `update`, since the sum is too large. The time of the parts of `update` is in it twice, under their
# own names and under `update`, so that *learning* as a whole looks too large. It would be wrong to think that the
# error cancels.
#
# </details>
#
# **5.** Eight ranks on 2 cores all show blue bars, "collect", for 90 % of an iteration. Are eight cores' worth of work done?
#
# <details><summary>Answer</summary>
#
# No: at most two ranks run at any instant. A span on the wall clock says that a phase has begun and not yet ended, and not
# that a core worked on it.
#
# </details>
#
# ## Appendix: what was claimed in 2016
#
# - *Frans & Hafner 2016*: collecting is the biggest bottleneck "by a magnitude". By their own numbers it was, 17.9 s
#   against 1.4 s (one run, no interval): 93 %. What your machine says today is in the first picture. With the paper's own
#   settings it is 78 % on the machine of B1, below: most of an update, and no longer by a magnitude.
# - *The same paper*: additional cores are better used for actors than for the learner, since the learner has to wait
#   for all the data anyway. The advice follows from their 93 %. The reason given for it does not support it: waiting is
#   mutual, as your Gantt chart shows. Where the serial fraction is large, Amdahl's law sends you to the learner.
# - *Frans's post*: with 5 threads collecting still takes the majority. Yes: 5.1 s against 1.4 s, 78 %. It also foresaw
#   that the learner would be next.
# - *The Berkeley lecture on parallel RL*: MuJoCo runs up to 10,000 times faster than the real world. Not here: your machine
#   printed a factor of hundreds for Reacher, one core, through Python. T1, below, has HalfCheetah, whose step is longer: a
#   thousand on two cores. "Up to" needs a slower world (a longer step of the real clock), no Python between two steps, or
#   more cores.
# - With care: Reacher-v1 of 2016 is not quite Reacher-v5, and the two learners do not do the same work. Compare shapes,
#   not milliseconds.
# - OpenAI baselines times the phases of its TRPO with a `timed` like yours, without `finally` and on rank 0 only: a
#   phase that fails is not reported, and who waits cannot be seen.

# %%
show_claims("B1", "T1")
