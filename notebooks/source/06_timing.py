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
# **TRPO should be faster. Which part of it should we speed up?**
#
# <!-- loop -->
#
# In 2016 Kevin Frans put a stopwatch on his program. Of the seconds that an update took on the task Reacher, 93 % went into
# collecting experience and 7 % into learning from it. So he parallelised the collecting. Before you copy a decision, measure.
# This lecture builds the instruments.
#
# | in this notebook | in the package | in Frans & Hafner 2016 |
# |---|---|---|
# | `timed` | `minitrpo/parallel/timing.py` | - |
# | `seconds_per_phase` | `minitrpo/course/trace.py` | section 4: "the biggest bottleneck"; the first figure of Frans's post |
# | `busy_fraction` | `minitrpo/course/trace.py` | - |
# | `read_chrome_trace` | `minitrpo/course/trace.py`; `train.py --trace` writes | - |
#
# *90 minutes in class with the exercises, under two minutes to run. You need: lecture 05b. Close other programs, because they
# would be in the numbers.*

# %%
import csv
import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PHASE_COLORS, RED
from minitrpo.course.classroom import budget, compare, one_process, recorded, reveal, say_if_busy, train
from minitrpo.parallel.this_process import cores
from minitrpo.course.trace import read_chrome_trace
from minitrpo.parallel.timing import Span

plt.rcParams["legend.fontsize"] = 9
author = json.loads(recorded("author_2016.json").read_text())["speedup"]  # Frans's logs of Reacher, 1 to 8 threads
about = json.loads(recorded("origins.json").read_text())["06_ranks"]
there = about["median_seconds"]  # {run: {phase: seconds of an update}}
RECORDED = f"recorded on {about['usable_cores']} cores"
print(f"{cores()} cores here. Other measurements, for comparison: {RECORDED}, {about['machine']}, {about['date'][:10]}")

# %% [markdown]
# *You should know*: times differ from machine to machine, so each of your measurements is printed next to a recorded one. Where
# the two disagree about an *order* or a *ratio*, ask what is different about your machine.
#
# ## One iteration, taken apart
#
# The loop of lecture 05b has two halves. A **worker** collects: it plays episodes with the current policy. A **learner** turns
# them into a better policy. Here are the two as objects, for Reacher (a two-jointed arm; an episode has 50 steps) and the
# 20,000 steps per update of Frans's post. `one_process` makes one of each.

# %%
STEPS = budget(20_000, 1_000)
learner, worker = one_process(env="Reacher-v5", steps_per_update=STEPS, physics="gymnasium")

# %% [markdown]
# We do the whole iteration twice and keep the second. The first includes costs that occur only once, such as claiming memory.
# Such a **warm-up** is discarded in every serious measurement.
#
# Frans measured 17.9 s collecting and 1.4 s learning. What percentage goes into collecting on *your* machine?

# %% prediction="yes"
guess_fraction = 85  # of an iteration that is collecting, per cent

# %%
say_if_busy()
for _ in range(2):
    plan, request = learner.plan()
    worker.collector.refill()  # with requests for episodes; lecture 07b
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
    print(f"{RECORDED}: {100 * collecting(there['Reacher']):.0f} %; Frans 2016: 93 %")


reveal(guess_fraction, show_fraction)

# %% [markdown]
# The cell above is more stopwatch than program. With more phases it would be unreadable. So we need a better stopwatch.
#
# ## A stopwatch that stays out of the way
#
# First, which clock? Here are three, over 0.2 seconds of waiting and then some work:

# %%
for clock in (time.time, time.perf_counter, time.process_time):
    readings = [clock()]
    time.sleep(0.2)
    readings.append(clock())
    sum(range(1_000_000))
    readings.append(clock())
    print(f"{clock.__name__:13} waiting {readings[1] - readings[0]:.3f} s, working {readings[2] - readings[1]:.3f} s")

# %% [markdown]
# `process_time` counts what the processor does for us and sees no waiting. Waiting is what slows parallel programs, so we must
# see it. `time` is the time of day, and it is wrong when the machine sets its clock. **`perf_counter`** only goes forward.
#
# This is how the stopwatch should look in a program:
#
# ```python
# with timed(spans.append, "collect"):
#     episodes = collector.collect(request)
# ```
#
# A **context manager** says what happens when a `with` block begins and when it ends, *however* it ends. The short way to
# write one is a function with one `yield` under the decorator `@contextmanager`. The block runs at the `yield`. If the block
# fails, the error comes out of the `yield`, so anything that must happen in any case stands behind `finally`:
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
# Our stopwatch makes a **span** of every phase: the tuple (name, start, duration). It hands the span to `record`, a function of
# one argument such as the `append` of a list.
#
# ### Exercise 1: `timed`

# %% exercise="timed"

# %% [markdown]
# Stuck? `hint("timed", 1)`, then `2`, then `3`. `mine.timed` is your function once its check has passed, and the package's
# until then.
#
# ## A run that writes down its spans
#
# The package's training loop is full of these stopwatches, and its option `--trace` writes every span to a file. From a
# notebook, `train(ranks, options)` starts a run and returns its folder. You need four words before lecture 07a explains them:
#
# - **`mpiexec -n 4 python program.py`** starts one program as four processes. They share no memory and exchange messages.
# - **Ranks** are these processes, numbered from 0. Rank 0 says what to play, and learns.
# - **The pool** holds the episodes of an iteration. A rank that is free takes the next one.
# - **`--oversubscribe`** lets more ranks work than there are cores (**oversubscribed**).

# %%
ONE = ("--preset", "episodes", "--steps-per-update", STEPS, "--total-steps", budget(3, 2) * STEPS, "--trace")
run = train(1, "--env", "Reacher-v5", "--physics", "gymnasium", *ONE)
[spans] = read_chrome_trace(run.path / "trace.json")


def show_spans():
    for name, begins, lasts in spans[:12]:
        print(f"{name:11} begins at {begins:8.5f} s, lasts {lasts:8.5f} s")


show_spans()

# %% [markdown]
# | phase | what happens in it |
# |---|---|
# | broadcast | rank 0 sends the policy to all ranks |
# | collect | every rank plays episodes |
# | wait | a rank that has finished waits for the others |
# | gather | the episodes go to rank 0 |
# | update | rank 0 learns: advantages, policy and critic are parts of it |
# | policy | in `update`: gradient, conjugate gradient, line search |
# | critic | in `update`: fitting the value function |
# | checkpoint | rank 0 writes the log and saves everything |
# | idle | the other ranks wait for the next broadcast |
#
# Now we add up the durations by name:

# %%
hasty = defaultdict(float)
for name, _, lasts in spans:
    hasty[name] += lasts
whole = max(begins + lasts for _, begins, lasts in spans)
print(f"all phases together: {sum(hasty.values()):.2f} s. The whole run: {whole:.2f} s")

# %% [markdown]
# The sum exceeds the whole run. Policy and critic are in it twice, as themselves and as parts of `update`. Each instant should
# count once: for the **innermost** span that contains it. `update` then keeps what none of its parts took.
#
# A span is recorded when it ends, so all that happened inside a span stands *before* it in the list. Spans on one rank are
# nested or disjoint, because `with` blocks are.
#
# ### Exercise 2: `seconds_per_phase`

# %% exercise="seconds_per_phase"

# %%
own = mine.seconds_per_phase(spans)


def show_own():
    for name in sorted(own, key=own.get, reverse=True):
        print(f"{name:11} {own[name]:8.4f} s  {100 * own[name] / whole:5.1f} %")
    print(f"{'unmeasured':11} {whole - sum(own.values()):8.4f} s")


show_own()

# %% [markdown]
# The last line checks the instrument: it is the time that no stopwatch saw.
#
# ## 2016 and today
#
# Three things have changed since 2016: the processor, the physics engine, and the learner. Frans's value function was a linear
# regression (`--critic linear` here). So we run Reacher with both critics and with two ways to do physics.
#
# A worker plays up to 16 episodes **in lockstep**: one step in each, then the next in each. One matrix product then gives 16
# actions. `--physics gymnasium`, as above, steps each episode by a Python call of its own. `--physics auto` steps all of them
# in *one* call into MuJoCo. By which **factor** does that make the whole iteration faster?

# %% prediction="yes"
guess_factor = 1.5  # old seconds over new seconds

# %%
say_if_busy()  # three runs of a few seconds each
RUNS = {
    "Reacher": ("Reacher-v5", "gymnasium", "mlp"),
    "Reacher, batched physics": ("Reacher-v5", "auto", "mlp"),
    "Reacher, linear critic": ("Reacher-v5", "gymnasium", "linear"),
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
    figure, axes = plt.subplots(1, 2, figsize=(11, 0.8 * len(bills) + 2), sharey=True)
    rows = [(label, parts(bill), PARTS.values()) for label, bill in bills.items()]
    rows.append(("Frans 2016", [rollout_s[0], learn_s[0]], [BLUE, PHASE_COLORS["update"]]))
    longest = max(sum(bill.values()) for bill in bills.values())
    for place, (_, seconds, colors) in enumerate(rows):
        whole_s, begin = sum(seconds), 0.0
        too_long = whole_s > 2 * longest
        for part, color in zip(seconds, colors):
            axes[0].barh(place, 0.0 if too_long else part, 0.7, left=0.0 if too_long else begin, color=color)
            axes[1].barh(place, 100 * part / whole_s, 0.7, left=100 * begin / whole_s, color=color)
            begin += part
        text = f" {whole_s:.1f} s" + (" (not drawn: too long)" if too_long else "")
        axes[0].text(0.0 if too_long else whole_s, place, text, va="center")
    axes[0].set_yticks(range(len(rows)), [label for label, *_ in rows])
    axes[0].invert_yaxis()
    axes[0].set(xlabel=f"seconds per update of {STEPS:,} steps", xlim=(0, 1.2 * longest), title="how long")
    axes[1].set(xlabel="per cent of the iteration", xlim=(0, 100), title="what takes it")
    swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in (*PARTS.values(), PHASE_COLORS["update"])]
    figure.legend(swatches, [*PARTS, "learner of 2016 (not split)"], loc="upper center", ncols=5, frameon=False)
    plt.tight_layout(rect=(0, 0, 1, 0.93))
    plt.show()


# %%
def show_factor():
    before, after = (sum(bills[label].values()) for label in list(bills)[:2])
    compare("the iteration gets faster by the factor", guess_factor, before / after)
    factor, (low, high) = about["batched_physics"].values()
    print(f"{RECORDED}: {factor:.2f} ({about['rounds']} runs of each, 95 %: {low:.2f} to {high:.2f})")
    thetas = [one.load_checkpoint()["theta"] for one in list(runs.values())[:2]]
    print("the two runs learned the same policy, to the last bit:", np.array_equal(*thetas))
    for label, bill in bills.items():
        print(
            f"{label}: {100 * collecting(bill):.0f} % collecting, {100 * bill['critic'] / sum(bill.values()):.0f} % critic"
        )
    print(f"Frans 2016: {100 * rollout_s[0] / (rollout_s[0] + learn_s[0]):.0f} % collecting")
    draw_bills()


reveal(guess_factor, show_factor)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# - An optimisation must not change the result. Batched physics did not, if the two policies are equal to the last bit.
# - The iteration gets faster by less than *collecting* does, because the rest of the bar stays as it is.
# - A linear regression is cheaper to fit than a network, so with the linear critic the critic's part shrinks, and collecting takes
#   a larger part of the iteration. The printed percentages say how much on your machine.
# - Compare your first percentage with the 93 % of 2016. On the machine of the recorded run it is 75 %: the smaller it is, the less
#   "parallelise the collecting" is the whole answer.
#
# <small>The bar of 2016 is a median of 185 updates on one process, from the logs that Frans published.</small>
#
# </details>
#
# ## Amdahl's law: how much can it bring?
#
# Call the time on one rank 1. Suppose a fraction, *serial*, of it is **not** shared; here that is everything except the
# collecting. $p$ ranks divide the rest of the time by $p$ at best. So the **speed-up**, old time over new time, is at most
#
# $$S(p) = \frac{1}{\text{serial} + (1 - \text{serial}) / p} \;\le\; \frac{1}{\text{serial}}.$$
#
# This is Amdahl's law (1967). The **serial fraction** of 2016 is 0.073, so no number of ranks makes that iteration more than 13.7
# times faster. What is the limit for *your* Reacher bar, with Gymnasium's physics?

# %% prediction="yes"
guess_limit = 4  # the largest possible speed-up, times


# %%
def amdahl(serial, ranks):
    """Return the best speed-up if this fraction of the time stays as it is, and the rest is divided among the ranks."""
    return 1 / (serial + (1 - serial) / ranks)


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_limits():
    many = np.geomspace(1, 64, 100)
    _, axis = plt.subplots(figsize=(9, 4.2), layout="tight")
    in_2016 = rollout_s + learn_s
    curves = [("Frans 2016", learn_s[0] / in_2016[0], ORANGE)]
    curves += [(label, 1 - collecting(bill), color) for (label, bill), color in zip(bills.items(), (BLUE, GREEN, RED))]
    place = 0.0
    for label, serial, color in sorted(curves, key=lambda curve: -curve[1]):  # from the lowest up
        axis.plot(many, amdahl(serial, many), color=color)
        place = max(amdahl(serial, 64), place + 0.8)  # no label on another
        axis.text(64, place, f" {label}: at most {1 / serial:.1f}", color=color, va="center", fontsize=10)
    measured = in_2016[0] / in_2016
    axis.plot(range(1, 9), measured, "o", color=ORANGE)
    line = {"arrowstyle": "-", "color": ORANGE}
    axis.annotate("Frans 2016, measured", (8, measured[-1]), (10, 0.8), color=ORANGE, arrowprops=line)
    axis.set_xscale("log", base=2)
    axis.set(xlabel="ranks p", ylabel="speed-up of an iteration", ylim=(0, 13), xlim=(0.95, 64))
    axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.3)
    plt.show()


# %%
def show_limit():
    compare("the largest possible speed-up on Reacher", guess_limit, 1 / (1 - collecting(bills["Reacher"])))
    print(f"{RECORDED}: {1 / (1 - collecting(there['Reacher'])):.2f}")

    draw_limits()


reveal(guess_limit, show_limit)

# %% [markdown]
# The dots are Frans's measurements. They fall further below his curve with every thread. Amdahl's law is an upper bound;
# lecture 08 is about the gap. Drag both sliders (they need a running kernel). From which number of ranks on does a faster
# *learner* bring more than further ranks?


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
# A speed-up below the bound may mean that a rank waits. To see which, measure on every rank the fraction of time in which it
# does useful work. Given a set of phases and a window of time, in which fraction of the window is *at least one* of the
# phases running? Phases may be nested, so adding up durations fails again, and a span that sticks out of the window counts
# with the part inside. The answer is the length of a **union of intervals**.
#
# ### Exercise 3: `busy_fraction`

# %% exercise="busy_fraction"

# %% [markdown]
# Now several ranks draw their episodes from the pool. Then rank 0 learns, and the others are idle. With **two** ranks, what
# percentage of an iteration does the *last* rank spend collecting?

# %% prediction="yes"
guess_busy = 70  # of an iteration in which rank 1 of 2 collects, per cent

# %%
say_if_busy()  # three runs; up to twenty seconds
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
    crowded = f": oversubscribed, {owned} cores" if len(trace) > owned else ""
    axis.set_facecolor("#FFF3CD" if crowded else "white")
    axis.set(xlim=(0, 1.02 * (end - begin)), ylim=(len(trace) - 0.5, -0.5), yticks=range(len(trace)), ylabel="rank")
    axis.set_title(f"{len(trace)} rank{'s' * (len(trace) > 1)}, {where}{crowded}", fontsize=10)


def draw_ranks():
    size = (12, 0.42 * sum(counts) + 0.75 * len(counts) + 0.7)
    figure, axes = plt.subplots(len(counts), 2, figsize=size, height_ratios=counts, sharex="col", squeeze=False)
    for n, (left, right) in zip(counts, axes):
        gantt(left, traces[n], cores(), "here")
        gantt(right, recorded_traces[n], about["usable_cores"], "recorded")
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
    print(f"{RECORDED}: {100 * about['at_work']['2']['last_rank_collects']:.0f} %")
    for n in counts[1:]:
        first, others = at_work(traces[n])
        then = about["at_work"][str(n)]
        print(f"{n} ranks: rank 0 works {100 * first:.0f} % of the time, the others {100 * others:.0f} %", end="; ")
        print(f"recorded {100 * then['root_works']:.0f} % and {100 * then['others_work']:.0f} %")
    draw_ranks()


reveal(guess_busy, show_busy)

# %% [markdown]
# A picture of all ranks over time is called a **Gantt chart**: each row is a rank, and time runs to the right. (Light green is
# the rest of the update.) Compare one rank with two: which colours get shorter?
#
# <details><summary>After your guess: what it means</summary>
#
# Blue should get shorter with more ranks, as long as there are cores for them. The greens and the critic stay, because rank 0
# does them alone while all others are idle. On a yellow chart ranks share cores and take turns; the wall clock shows all of them
# "collecting" all the time, so it says nothing about a machine with more cores.
#
# </details>
#
# ## Bug hunt
#
# This `busy_fraction` is right for phases that follow each other. `hunt` shows the symptom. Find the line, fix it in the cell,
# and run the cell again.


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
# **The bug**: `seen_until = last` compares with the last span only. A short span inside a long one pulls the mark back, and
# what follows is counted again, so fractions exceed 1. It must be `seen_until = max(seen_until, last)`. No test with phases in
# a row can find it. Issue 11026 of the browser Servo describes the same mistake in its traces.

# %% [markdown]
# ## Quiz
#
# **1.** Batched physics makes collecting faster. Does the limit of Amdahl's law, $1 / \text{serial}$, rise or fall?
#
# <details><summary>Answer</summary>
#
# It falls: the learner's seconds are the same, and they are a larger part of a shorter iteration. Every run gets faster, and
# yet ranks can gain *less*. The tempting answer, "faster, so a higher limit", confuses seconds and ratios.
#
# </details>
#
# **2.** A colleague measures a parallel program with `process_time` and finds that no rank ever waits. What do you say?
#
# <details><summary>Answer</summary>
#
# The clock `process_time` stands still while a process waits, so it cannot show waiting. (If ranks wait by asking all the
# time, lecture 08, the clock runs, and waiting looks like work.)
#
# </details>
#
# **3.** Eight ranks on 2 cores all show blue bars, "collect", for 90 % of an iteration. Are eight cores' worth of work done?
#
# <details><summary>Answer</summary>
#
# No: at most two ranks run at any instant. A span on the wall clock says that a phase has begun and not yet ended. It does not
# say that a core worked on it.
#
# </details>
#
# ## Summary
#
# - A stopwatch is a context manager around a phase; it uses a clock that sees waiting.
# - On a bill of nested phases, each instant counts once, for the innermost phase.
# - Collecting took 93 % of an update in 2016. In our recorded run it takes 75 %.
# - Amdahl's law bounds what sharing a part can bring: at most 1 over the serial fraction.
#
# ## Open questions
#
# 1. Plot the fraction of collecting against the steps per update (1,000 to 20,000) on your machine, with both critics.
#    Explain in three sentences how it depends on the steps and on the critic, and what follows for Amdahl's limit.
# 2. A **profiler** watches every call of every function. Run Python's `cProfile` on `learner.learn(gathered)` and plot the ten
#    functions with the most time of their own. Explain in three sentences what they do, and why the profile overrates small
#    functions.
#
# **Next**: lecture 07a introduces MPI, and lecture 07b shares the collecting among ranks.
