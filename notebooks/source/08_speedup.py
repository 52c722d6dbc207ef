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
# # 08 Speed-up
#
# **Is it really faster, and how would you know?**
#
# <!-- loop -->
#
# Lecture 07b shared the episodes among ranks. This lecture measures how much faster that is, in a way that a sceptical reader can
# check, and asks what limits it. At its end you measure your own machine in a terminal, and your own TRPO on two ranks.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `interval` | `minitrpo/course/speedup/statistics.py` | "multiple trials", section 6 |
# | `amdahl` | `minitrpo/course/speedup/statistics.py` | "diminishing returns", section 6 |
# | `karp_flatt` | `minitrpo/course/speedup/statistics.py` | "hardware limitations", section 6: a guess, here tested |
# | `measure` | `minitrpo/course/speedup/command.py`, for the long version | figure 2 |
#
# *90 minutes in class with the exercises, about two minutes to run. You need medians and lectures 06, 07a and 07b. Close your
# other programs, because they would be in the numbers.*

# %%
# %load_ext minitrpo.course.mpi
import csv
import json

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import ArrayLike

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PHASE_COLORS, PURPLE, RED
from minitrpo.course.classroom import budget, compare, recorded, reveal, say_if_busy, train
from minitrpo.course.core import your_core
from minitrpo.course.mpi import run_mpi
from minitrpo.course.speedup.command import by_round, summary
from minitrpo.course.speedup.statistics import Number, efficiency, median_interval_of_rounds, speedup
from minitrpo.course.speedup.statistics import speedup_interval_of_rounds
from minitrpo.parallel.this_process import cores
from minitrpo.course.trace import read_chrome_trace, seconds_per_phase
from minitrpo.run_folder.folder import sha256

plt.rcParams["legend.fontsize"] = 9
RANKS = (1, 2)
STEPS = budget(10_000, 2_000)
UPDATES = budget(4, 3)

author = json.loads(recorded("author_2016.json").read_text())["speedup"]
made = json.loads(recorded("origins.json").read_text())["08_speedup"]
with recorded("08_speedup.csv").open() as file:
    rows = [row | {name: float(row[name]) for name in row if name != "what"} for row in csv.DictReader(file)]
table = [row | {"rollout_s": row["collect_s"] + row["wait_s"]} for row in rows if row["what"] == "20,000 steps"]
our_ranks = np.array(sorted({int(row["ranks"]) for row in table}))
our_cores = made["usable_cores"]
RECORDED = f"recorded on {our_cores} cores"


def recorded_rounds(ranks, phase="iteration_s"):
    """Return the recorded measurements of a phase, 20,000 steps of Reacher on these ranks: an array for each round."""
    some = [row for row in table if row["ranks"] == ranks]
    return by_round(some, np.array([row[phase] for row in some]))


def recorded_seconds(ranks, phase="iteration_s"):
    """Return the same, all rounds together."""
    return np.concatenate(recorded_rounds(ranks, phase))


print(f"{cores()} cores here; runs on {RANKS} ranks, {STEPS:,} steps per update")
print(f"{RECORDED}, {made['machine']}, {made['date'][:10]}: {len(table)} updates on {our_ranks.tolist()} ranks")

# %% [markdown]
# ## Speed-up and efficiency
#
# Let $T_p$ be the seconds that one update takes on $p$ ranks. The **speed-up** is $S = T_1 / T_p$. The **efficiency** is
# $S / p$. $S = p$ is called ideal.
#
# We take the task of Frans & Hafner's figure 2: Reacher, 20,000 steps per update in the recorded runs and half of it in yours, so
# that no cell takes long. The preset `paper` takes over
# some of their settings: the KL limit, the damping, Monte Carlo advantages and a linear critic. It is not their program. Their
# policy has ReLU units, ours has tanh; they compute the Fisher matrix from all states and take the full step, we take a
# fifth of the states (`--fisher-fraction 0.2`) and search along the step. The first update of a run is left out (warm-up). How
# many times faster is an update on 2 ranks than on 1?

# %% prediction="yes"
guess_two = 1.8  # speed-up of the whole update on 2 ranks

# %%
PHASES = ("collect_s", "wait_s", "gather_s", "update_s")


def measure(ranks, steps, *more):
    """Return the seconds of every update but the first, phase by phase, and the theta at the end."""
    job = ("--preset", "paper", "--fisher-fraction", 0.2, "--steps-per-update", steps, "--total-steps", steps * UPDATES)
    run = train(ranks, *job, *more)
    took = {phase: column[1:] for phase, column in run.columns().items() if phase.endswith("_s")}
    took["rollout_s"] = took["collect_s"] + took["wait_s"]  # until the last rank has finished
    return took, run.load_checkpoint()["theta"]


def one_round(order):
    return {ranks: measure(ranks, STEPS) for ranks in order}


def round_speedup(one):
    return speedup(one[1][0]["iteration_s"], one[2][0]["iteration_s"])


say_if_busy()
rounds = [one_round(RANKS)]


def show_two():
    compare("speed-up on 2 ranks, one run each", guess_two, round_speedup(rounds[0]))


reveal(guess_two, show_two)

# %% [markdown]
# For example, if an update takes 0.6 s on one rank and 0.4 s on two, then the speed-up is 0.6 / 0.4 = 1.5, and the efficiency is
# 1.5 / 2 = 0.75: two ranks do the work of one and a half.
#
# Your number came from one run on each number of ranks. We measure again, in another order. If the machine slowly gets busier, and
# if 1 rank always came first, the second run of each round would look slower than it is. Rounds that visit all cases in turn, and
# begin with another case each time, are called **interleaved**.

# %%
for order in budget((RANKS[::-1], RANKS), (RANKS[::-1],)):
    rounds.append(one_round(order))  # some fifteen seconds
paper_thetas = [theta for one in rounds for _, theta in one.values()]
print("all runs ended with the same theta:", all(np.array_equal(paper_thetas[0], theta) for theta in paper_thetas))


def show_rounds():
    print("speed-up on 2 ranks, round by round:", ", ".join(f"{round_speedup(one):.3f}" for one in rounds))


show_rounds()

# %% [markdown]
# All runs ended with bitwise the same `theta`, so every run did the same work. What is *the* time of an update, then? One
# hiccup of the operating system doubles the mean, and the smallest time gets smaller with every further measurement. We
# report the **median**, together with how sure we are of it.
#
# How different could the median of another nine measurements be? The **bootstrap interval** imitates them. Draw nine numbers *from
# the nine we have*, with replacement, and take their median. Do this 2,000 times. The interval holds the middle 95 % of these
# medians. A small example: from the measurements 3, 4 and 8 there are 27 equally probable draws of three. Their median is 3
# in 7 of them, 4 in 13, and 8 in 7. That is 26 %, 48 % and 26 %. An interval of 95 % leaves out 2.5 % of the medians at each end,
# which is less than 26 %, so it reaches from 3 to 8. In numpy the ends are `np.quantile(medians, 0.025)` and
# `np.quantile(medians, 0.975)`.
#
# ### Exercise 1: `interval`
#
# *Ten minutes.*

# %% exercise="interval"

# %% [markdown]
# The figure shows every update as a dot, the median as a line, and your interval. Your interval assumes that the measurements
# are independent. The updates of one run are not: whatever slows this run down slows all of its updates. (In the recorded runs
# on one rank, 73 % of the variance of the updates is that of the runs' means. Only the rest lies between updates of one run.) An interval that takes all updates as independent is then too narrow, so
# the intervals of the speed-ups below are **over rounds**: each round gives one speed-up, and Student's interval (lecture 05c)
# of their logarithms says how much these few speed-ups differ. `speedup_interval_of_rounds` computes it.
#
# A speed-up can be that of collecting alone or that of the whole update, so always say which. Points with more ranks than
# cores are **oversubscribed** and lie on grey; they say nothing about a larger machine.


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def seconds_by_round(ranks, phase="iteration_s"):
    """Return the measurements of a phase on these ranks, an array for each round."""
    return [one[ranks][0][phase] for one in rounds]


def seconds(ranks, phase="iteration_s"):
    """Return the same, all rounds together."""
    return np.concatenate(seconds_by_round(ranks, phase))


def mark_crowded(axis, first, last, owned, name="ranks"):
    """Put what has more ranks than cores on grey."""
    if last > owned:
        label = f"more {name} than {owned} cores"
        axis.axvspan(max(first, owned + 0.25), last + 0.5, color=GREY, alpha=0.2, zorder=0, label=label)


def draw_rounds():
    _, axis = plt.subplots(figsize=(7.5, 3.8))
    for place, ranks in enumerate(RANKS):
        for number, one in enumerate(rounds):
            y = one[ranks][0]["iteration_s"]
            label = None if place else f"round {number + 1}"
            axis.plot(
                np.full(len(y), place + 0.1 * (number - 1)), y, "o", color=(ORANGE, GREEN, PURPLE)[number], label=label
            )
        middle, (low, high) = np.median(seconds(ranks)), mine.interval(seconds(ranks))
        axis.fill_between([place - 0.3, place + 0.3], low, high, color=BLUE, alpha=0.2)
        axis.hlines(middle, place - 0.3, place + 0.3, color=BLUE, label=None if place else "median, your interval")
    crowded = [place for place, ranks in enumerate(RANKS) if ranks > cores()]
    if crowded:
        label = f"more ranks than {cores()} cores"
        axis.axvspan(crowded[0] - 0.5, crowded[-1] + 0.5, color=GREY, alpha=0.2, zorder=0, label=label)
    axis.set(xticks=range(len(RANKS)), xticklabels=RANKS, xlabel="ranks", ylabel="seconds per update, here")
    axis.set_ylim(0, 1.1 * max(seconds(ranks).max() for ranks in RANKS))
    axis.legend(loc="lower left")
    axis.grid(alpha=0.3, axis="y")
    plt.show()


# %%
def one_line(name, ranks, serial_s, parallel_s, owned):
    low, high = speedup_interval_of_rounds(serial_s, parallel_s)
    s = speedup(np.concatenate(serial_s), np.concatenate(parallel_s))
    note = " (oversubscribed)" if ranks > owned else ""
    print(
        f"{name}, {ranks} ranks: {s:.2f} (95 %: {low:.2f} to {high:.2f}), efficiency {efficiency(s, ranks):.2f}{note}"
    )


def show_speedups():
    draw_rounds()
    for phase, name in (("rollout_s", "collecting alone"), ("iteration_s", "the whole update")):
        for ranks in RANKS[1:]:
            one_line(name, ranks, seconds_by_round(1, phase), seconds_by_round(ranks, phase), cores())
            one_line("  recorded", ranks, recorded_rounds(1, phase), recorded_rounds(ranks, phase), our_cores)
    print(f"each interval is over {len(rounds)} rounds here and over {len(recorded_rounds(1))} in the recorded runs")


show_speedups()

# %% [markdown]
# If an interval contains 1, you have not shown that it is faster, and you have not shown either that it is as fast: more rounds
# would narrow the interval. The speed-ups of collecting and of the whole update differ, because ranks share the collecting, but
# only rank 0 learns.
#
# ## The part that does not get faster: Amdahl's law
#
# Lecture 06 had Amdahl's law. Let *serial* be the fraction of the time on one rank that stays with one rank: here, the time of
# the learner. $p$ ranks divide the rest. An example: collecting takes 8 s and learning 2 s, so the serial fraction is 0.2. On 4 ranks an
# update takes $8 / 4 + 2 = 4$ s, and the speed-up is $10 / 4 = 2.5$. However many ranks there are, it stays below $10 / 2 = 5$.
# The job is the same on any number of ranks; this is called **strong scaling**.
#
# ### Exercise 2: `amdahl`
#
# *Four minutes.*

# %% exercise="amdahl"

# %% [markdown]
# For Frans & Hafner in 2016, collecting took 17.93 s and learning 1.41 s: a **serial fraction** of 0.073, and at most a speed-up of
# 13.7. Both have become faster since, but not by the same factor. What is *our* limit, with infinitely many ranks?

# %% prediction="yes"
guess_limit = 8  # the largest possible speed-up


# %%
def serial_fraction(seconds_of):
    return np.median(seconds_of(1, "update_s")) / np.median(seconds_of(1, "iteration_s"))


fraction, our_fraction = serial_fraction(seconds), serial_fraction(recorded_seconds)


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_speedups():
    _, axes = plt.subplots(1, 2, figsize=(11, 5.6))
    cases = (
        (RANKS, seconds, seconds_by_round, fraction, cores(), "here"),
        (our_ranks, recorded_seconds, recorded_rounds, our_fraction, our_cores, "recorded"),
    )
    for axis, (numbers, seconds_of, rounds_of, serial, owned, where) in zip(axes, cases):
        top = max(8, owned, numbers[-1])
        many = np.linspace(1, owned, 100), np.linspace(owned, top, 100)
        bound = f"at most, by Amdahl's law (serial fraction {serial:.2f})"
        for some, style, label in zip(many, ("-", ":"), (bound, "the same, predicted for more cores")):
            axis.plot(some, some, style, color=GREY)
            axis.plot(some, mine.amdahl(serial, some), style, color=ORANGE, label=label)
        axis.text(4.4, 3.9, "ideal", color=GREY)
        for phase, color, name, dodge in (
            ("rollout_s", BLUE, "collecting", -0.04),
            ("iteration_s", PURPLE, "the whole update", 0.04),
        ):
            s = np.array([speedup(seconds_of(1, phase), seconds_of(n, phase)) for n in numbers])
            several = [speedup_interval_of_rounds(rounds_of(1, phase), rounds_of(n, phase)) for n in numbers[1:]]
            ends = [(1, 1), *several]
            bars, place = np.abs(np.transpose(ends) - s), np.add(numbers, dodge)
            axis.errorbar(place, s, bars, fmt="o", capsize=5, color=color, label=f"measured: {name}")
        mark_crowded(axis, 1, numbers[-1], owned)
        title = f"{where}: measured on {owned} core{'s' * (owned > 1)}, dotted: predicted"
        axis.set(xlabel="ranks", ylabel="speed-up", xticks=[2**k for k in range(top.bit_length())], title=title)
        axis.set_ylim(0, 0.75 * top)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=9)  # below: it would hide a line
        axis.grid(alpha=0.3)
    plt.tight_layout()
    plt.show()


# %%
def show_limit():
    collect, learn = np.median(seconds(1, "rollout_s")), np.median(seconds(1, "update_s"))
    print(f"on one rank: collecting {collect:.3f} s, learning {learn:.3f} s, serial fraction {fraction:.2f}")
    compare("the most that any number of ranks can give", guess_limit, mine.amdahl(fraction, 1e9))
    print(f"{RECORDED}: serial fraction {our_fraction:.2f}, at most {mine.amdahl(our_fraction, 1e9):.2f}")
    print(
        f"measured are 1 to {our_cores} ranks; what the dotted lines say of more cores is a prediction, not a measurement"
    )
    draw_speedups()


reveal(guess_limit, show_limit)

# %% [markdown]
# Amdahl's law is a bound: it ignores waiting and gathering. Read the recorded figure with care. It was measured on
# a machine with few cores (its title says how many). The points on grey have more ranks than cores, so they say nothing about
# a machine that has the cores. The dotted lines are what Amdahl's law predicts for such a machine.
#
# ## More ranks than cores
#
# On 2 cores eight ranks take turns. Many MPI calls wait by asking "is it there yet?" as fast as they can. That is called
# **spinning**. It saves microseconds when there is a free core, and it takes the learner's core when there is none. Below,
# rank 0 computes while 7 others wait for it, once asleep (the package's `comm.barrier` asks, sleeps for a moment, and asks
# again) and once in MPI's own `Barrier`, which spins. How many times
# as long does rank 0 need when the others spin?

# %% prediction="yes"
guess_spinning = 1.5  # seconds of rank 0 when 7 others spin, over those when they sleep

# %% mpi="-n 2 --name waiting_program"
import time

from mpi4py import MPI

from minitrpo.parallel.comm import connect

count = 1_000_000
comm = connect()
seconds = []
for wait in (comm.barrier, MPI.COMM_WORLD.Barrier):
    comm.barrier()
    start = time.perf_counter()
    if comm.rank == 0:
        sum(range(count))  # rank 0 works ...
    wait()  # ... and the others wait for it
    seconds.append(time.perf_counter() - start)
if comm.rank == 0:
    print(f"the others asleep: {seconds[0]:.3f} s; the others spin: {seconds[1]:.3f} s")

# %% [markdown]
# This was one rank that waits. Now seven of them wait, and rank 0 has more to do.

# %%
say_if_busy()
result = run_mpi(
    waiting_program, budget(8, 4), data={"count": budget(40_000_000, 4_000_000)}, names=["seconds"], timeout=60
)
asleep, spinning = result.values[0]["seconds"]


def show_spinning():
    print(f"{budget(8, 4)} ranks on {cores()} cores. The others asleep: {asleep:.2f} s; spinning: {spinning:.2f} s")
    compare("slow-down of rank 0 by ranks that spin", guess_spinning, spinning / asleep, "times")
    waited = np.genfromtxt(recorded("08_spinning.csv"), delimiter=",", names=True)
    eight, two = (speedup(*(waited[how][waited["ranks"] == n] for how in ("spinning_s", "asleep_s"))) for n in (8, 2))
    print(f"{RECORDED}: {eight:.2f} times with 8 ranks, {two:.2f} times with 2")


reveal(guess_spinning, show_spinning)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With a core for every rank the factor is about 1 (the recorded runs with 2 ranks on 2 cores show it). So the problem stays
# hidden until the program runs on a machine with fewer cores than ranks. If your machine has a core for each of the ranks
# above, your factor is near 1, too. Let waiting ranks sleep, and mark every oversubscribed point in a figure.
#
# </details>
#
# ## What limits the speed-up? The Karp-Flatt fraction
#
# Karp and Flatt (1990) turned Amdahl's law around. You have measured $S$ on $p$ ranks. Which serial fraction would explain exactly
# this speed-up? Solve $S = 1 / (\text{serial} + (1 - \text{serial}) / p)$ for it. For example, a speed-up of 1.6 on 2 ranks is that
# of a serial fraction of 0.25, because $1 / (0.25 + 0.75 / 2) = 1.6$. The fractions for 2, 3, 4, ... ranks are a diagnosis:
#
# - If the **Karp-Flatt fraction** stays the same, a serial part is the limit.
# - If it grows with $p$, something gets worse with every rank, such as messages, queueing, or missing cores.
#
# ### Exercise 3: `karp_flatt`
#
# *Five minutes.*

# %% exercise="karp_flatt"

# %% [markdown]
# Now the figure of 2016. It shows the seconds for 20,000 steps of Reacher against the number of threads (processes, in fact). Left
# are the medians of the author's logs, right our recorded runs.

# %%
threads = np.array(author["threads"])
rollout, learning = np.array(author["rollout_s"]), np.array(author["learn_s"])  # s, 20,000 steps of Reacher-v1
ours = np.array([np.median(recorded_seconds(ranks, "rollout_s")) for ranks in our_ranks])
our_learning = np.array([np.median(recorded_seconds(ranks, "update_s")) for ranks in our_ranks])


def bars(middles, ends):
    """Return the error bars of matplotlib for intervals, (2, n)."""
    return np.abs(np.transpose(ends) - middles)


our_bars = {
    phase: bars(middles, [median_interval_of_rounds(recorded_rounds(ranks, phase)) for ranks in our_ranks])
    for phase, middles in (("rollout_s", ours), ("update_s", our_learning))
}
his_series = mine.karp_flatt(rollout[0] / rollout[1:], threads[1:])
our_series = mine.karp_flatt(ours[0] / ours[1:], our_ranks[1:])
base = recorded_rounds(1, "rollout_s")
our_gains = [speedup_interval_of_rounds(base, recorded_rounds(ranks, "rollout_s")) for ranks in our_ranks[1:]]
our_fractions = [mine.karp_flatt(np.array(ends), ranks) for ends, ranks in zip(our_gains, our_ranks[1:])]
print("Karp-Flatt fraction of collecting, author, 2 to 8 threads:", his_series.round(3))
print(f"ours, {our_ranks[1:].tolist()} ranks on {our_cores} cores:", our_series.round(3))

# %% tags=["hide-input"] jupyter={"source_hidden": true}
_, axes = plt.subplot_mosaic("ab;cc", figsize=(10, 7))
axes["a"].plot(threads, rollout, "o-", color=BLUE, label="collecting 20,000 steps")
axes["a"].plot(threads, learning, "s-", color=GREEN, label="learning")
mark_crowded(axes["a"], 5, 8, 5, "threads")
axes["a"].set(xlabel="threads", title="Frans & Hafner 2016, Reacher-v1")
looks = (
    ("rollout_s", ours, BLUE, "o-", "collecting 20,000 steps"),
    ("update_s", our_learning, GREEN, "s-", "learning"),
)
for phase, middles, color, style, label in looks:
    axes["b"].errorbar(our_ranks, middles, our_bars[phase], fmt=style, capsize=4, color=color, label=label)
mark_crowded(axes["b"], 1, our_ranks[-1], our_cores)
axes["b"].set(xlabel="ranks", title="ours, Reacher-v5, recorded")
for axis in (axes["a"], axes["b"]):
    axis.set(ylabel="median seconds per update", ylim=(0, None), xlim=(0.5, 8.5))
for numbers, series, owned, color, label in (
    (threads[1:], his_series, 5, BLUE, "author: a CPU said to have 5 cores"),
    (our_ranks[1:], our_series, our_cores, ORANGE, f"ours: {our_cores} cores"),
):
    axes["c"].plot(numbers, series, "-", color=color, label=label)
    axes["c"].plot(numbers[numbers <= owned], series[numbers <= owned], "o", color=color)
    axes["c"].plot(numbers[numbers > owned], series[numbers > owned], "o", color=color, mfc="white")
axes["c"].errorbar(
    our_ranks[1:], our_series, bars(our_series, our_fractions), fmt="none", capsize=4, color=ORANGE, label="95 %, ours"
)
axes["c"].axhline(0, color=GREY, linewidth=1)
axes["c"].set(xlabel="threads or ranks (hollow: more than cores)", ylabel="Karp-Flatt fraction of collecting")
for axis in axes.values():
    axis.grid(alpha=0.3)
    axis.legend()
plt.tight_layout()
plt.show()

# %% [markdown]
# <small>Author: kvfrans/parallel-trpo, `results/speedup`, one run of 185 to 542 updates each. Ours: `python -m minitrpo
# speedup`.</small>
#
# "These diminishing returns most likely stem from hardware limitations", says the paper. Frans's Karp-Flatt fraction rises from 3
# threads on, so a serial part alone does *not* explain his figure. What does? A machine with too few cores would make the
# fraction rise, and a cost that grows with every thread would, too. Eight numbers cannot separate the two. An explanation
# needs a measurement about which the explanations disagree: for example, the same runs on a machine with more cores.
#
# ## A job that grows with the ranks
#
# So far the job was fixed: strong scaling. But a thousand cores are bought for bigger jobs (Gustafson 1988). In **weak scaling**
# every rank gets the *same* work, and the job grows with the ranks. Now the ideal is that an update takes as long on $p$ ranks as
# on one, so that $p$ times as many steps are done per second. We give each rank the same number of steps.

# %%
largest, per_rank = RANKS[-1], STEPS // RANKS[-1]
say_if_busy()
weak = {ranks: measure(ranks, per_rank * ranks)[0] for ranks in RANKS[:-1]}
weak[largest] = {phase: seconds(largest, phase) for phase in (*PHASES, "iteration_s")}
rates = np.array([ranks * speedup(weak[1]["iteration_s"], weak[ranks]["iteration_s"]) for ranks in RANKS])
then = summary([row for row in rows if row["what"] == "5,000 steps a rank"], weak=True)  # a line per number of ranks
then_fraction = then[0]["median_update_s"] / then[0]["median_iteration_s"]
low, high = then[1]["speedup_interval"]
print(f"work per second on 2 ranks, relative to 1: {rates[1]:.2f} here (one run each)", end="; ")
print(f"{then[1]['speedup']:.2f} (95 %: {low:.2f} to {high:.2f}), {RECORDED}")


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_weak():
    _, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), layout="tight")
    recorded_ranks = [line["ranks"] for line in then]
    bottom = np.zeros(len(then))
    for phase in PHASES:
        heights = np.array([line[f"median_{phase}"] for line in then])
        left.bar(recorded_ranks, heights, bottom=bottom, color=PHASE_COLORS[phase[:-2]], label=phase[:-2])
        bottom += heights
    left.set(title=f"recorded, 5,000 steps a rank, {our_cores} cores", ylabel="median seconds per update, rank 0")
    many = np.linspace(1, recorded_ranks[-1], 50)
    right.plot(many, many, "--", color=GREY)
    right.text(many[-1], many[-1], " ideal", color=GREY, va="center")
    right.plot(many, mine.amdahl(then_fraction, many), color=ORANGE)
    right.text(many[-1], mine.amdahl(then_fraction, many[-1]), " Amdahl", color=ORANGE, va="center")
    right.plot(RANKS, rates, "o", color=BLUE, markersize=8, label="here")
    gains = np.array([line["speedup"] for line in then])
    around = bars(gains[1:], [line["speedup_interval"] for line in then[1:]])
    right.errorbar(
        recorded_ranks[1:], gains[1:], around, fmt="s", mfc="none", capsize=5, color=RED, label="recorded, 95 %"
    )
    right.set(ylabel="steps per second, relative to 1 rank", ylim=(0, None), xlim=(0.5, recorded_ranks[-1] + 0.9))
    for axis in (left, right):
        mark_crowded(axis, 1, recorded_ranks[-1], our_cores)
        axis.set(xlabel="ranks", xticks=recorded_ranks)
        axis.legend(loc="upper left")
    plt.show()


draw_weak()

# %% [markdown]
# With $p$ times the steps the learner needs almost $p$ times as long (green), because one rank learns while the others sleep.
# So here the larger job does not help: the gain is no larger than Amdahl's law allows for the fixed job. Weak scaling helps if
# the serial part does *not* grow with the job. Look at the white part only: on grey the ranks share cores.
#
# ## Actors, or learners?
#
# The paper concludes that more cores are best spent on actors. What if the ranks learn, too? With `--learner sharded`, one
# rank steps the policy while the other fits the critic. With more ranks, several share the sums over the batch.
# The `allreduce` of lecture 07a would add in an order that depends on the number of ranks. So each rank sends the parts of a
# sum, block by block, and all ranks add the parts in one fixed order: the bits are equal on any number of ranks. `train.py` shares
# the update by default.

# %%
say_if_busy()
job = ("--preset", "episodes", "--steps-per-update", STEPS, "--total-steps", 3 * STEPS, "--trace")
schemes = {"rank 0 learns alone": (), "both learn": ("--learner", "sharded")}
schemes = {title: train(2, *job, *options) for title, options in schemes.items()}
traces = {title: read_chrome_trace(run.path / "trace.json") for title, run in schemes.items()}

# %% tags=["hide-input"] jupyter={"source_hidden": true}
colors = {name: PHASE_COLORS[name] for name in ("collect", "wait", "policy", "critic", "idle")}


def draw_schemes():
    figure, axes = plt.subplots(len(schemes), 1, figsize=(10, 3.8), sharex=True)
    for axis, (title, trace) in zip(axes, traces.items()):
        starts = [begins for name, begins, _ in trace[0] if name == "broadcast"]
        begin = starts[min(2, len(starts) - 1)]  # of the third update
        for rank, spans in enumerate(trace):
            for name, color in colors.items():
                bars = [(begins - begin, lasts) for phase, begins, lasts in spans if phase == name]
                axis.broken_barh(bars, (rank - 0.42, 0.84), color=color, linewidth=0)
        axis.set(title=title, ylim=(1.5, -0.5), yticks=(0, 1), ylabel="rank")
    length = schemes["rank 0 learns alone"].columns()["iteration_s"][-1]
    axes[-1].set(xlim=(0, 1.5 * length), xlabel="seconds since the third update began (white: all else)")
    swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors.values()]
    figure.legend(swatches, colors, loc="upper center", ncols=len(colors))
    plt.tight_layout(rect=(0, 0, 1, 0.94))
    plt.show()


# %%
def then_line(scheme):
    """Return a recorded speed-up over one rank as text."""
    both = ("root learns", 1), (scheme, 2)
    some = [[row for row in rows if (row["what"], row["ranks"]) == one] for one in both]
    took = [by_round(each, np.array([row["iteration_s"] for row in each])) for each in some]
    low, high = speedup_interval_of_rounds(*took)
    return f"{speedup(*map(np.concatenate, took)):.2f} ({low:.2f} to {high:.2f})"


print("theta sha256:", *(sha256(run.load_checkpoint()["theta"])[:12] for run in schemes.values()))
alone_s, both_s = (run.columns()["iteration_s"][1:] for run in schemes.values())
print(f"here, with two updates of each: an update is {speedup(alone_s, both_s):.2f} times as fast if both learn")
print(f"{RECORDED}, speed-up on 2 ranks: {then_line('root learns')} if rank 0 learns", end=", ")
print(f"{then_line('both learn')} if both learn")
for name, collecting_s, learning_s in (
    ("Frans & Hafner, 2016", rollout[0], learning[0]),
    ("the recorded run", ours[0], our_learning[0]),
):
    bounds = [(collecting_s / p + learning_s) / (collecting_s / p + learning_s / p) for p in (2, 8)]
    print(f"{name}: sharing the learner gains at most {bounds[0]:.2f} times on 2 ranks, {bounds[1]:.2f} on 8")
draw_schemes()

# %% [markdown]
# The policy is bitwise the same, because only the place of the computation changed. The paper's conclusion was right when
# collecting cost thirteen times as much as learning. It stops being right when collecting gets cheaper or when there are more ranks.
#
# ## In a terminal: your own machine
#
# Until now the notebook started all runs. A parallel program is started in a terminal, so open one (in JupyterLab: File, New,
# Terminal), go to the folder of the project, and type the first command. It is the command that this course is about.
#
# ```sh
# ./run mpiexec -n 8 python mpi_scripts/train.py
# ```
#
# It trains Reacher on 8 ranks. (`./run` makes the project's Python the first one that is found. If you have activated its
# environment, leave `./run` away.) Read its second line. On a machine with 2 cores it says: *note: 8 ranks, 2 core(s): 6 rank(s)
# stay idle, because the others are faster alone*. You know both reasons: with more ranks than cores, ranks take turns on the
# cores, and every exchange waits for ranks whose turn has not come. So the ranks beyond the cores sleep until the run ends. The
# results are the same, because the policy does not depend on the number of ranks. `--oversubscribe` makes all ranks work.
#
# What does the command do without options? It differs in two points from the runs above. It asks for *segments* instead of whole
# episodes (lecture 07b), so that no rank waits for the longest episode. And all ranks that work share the update, so that the learner
# is no serial part of one rank. How many times as fast is such an update on 2 ranks as on 1?

# %% prediction="yes"
guess_typed = 1.8  # speed-up of the whole update on 2 ranks, with the default settings

# %% [markdown]
# Now measure it on 1, 2, ... ranks, up to the cores of your machine. In the terminal type
#
# ```sh
# ./run mpiexec -n 1 python mpi_scripts/train.py --steps-per-update 10000 --total-steps 30000 --trace --out runs/one
# ./run mpiexec -n 2 python mpi_scripts/train.py --steps-per-update 10000 --total-steps 30000 --trace --out runs/two
# ```
#
# and so on. Each run folder has `metrics.csv`, in which the column `iteration_s` is the time of an update, and `trace.json`, which
# you can drop onto [ui.perfetto.dev](https://ui.perfetto.dev). The last lines of the runs, `theta sha256: ...`, are equal. The
# next cell starts the same commands from the notebook.

# %%
TYPED = ("--steps-per-update", STEPS, "--total-steps", 3 * STEPS, "--trace")
own_ranks = sorted({1, 2, *(2**k for k in range(4) if 2**k <= cores())})
say_if_busy()
typed = {ranks: train(ranks, *TYPED, "--oversubscribe") for ranks in own_ranks}
typed_s = {ranks: run.columns()["iteration_s"][1:] for ranks, run in typed.items()}
own = {ranks: speedup(typed_s[1], typed_s[ranks]) for ranks in own_ranks}
print("measured:", ", ".join(f"{ranks} rank(s)" for ranks in own_ranks))


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def scheme_curve(scheme):
    """Return ranks, speed-ups over rank 0 alone, and their intervals, of the recorded runs of a scheme."""
    alone = [row for row in rows if (row["what"], row["ranks"]) == ("root learns", 1)]
    base = by_round(alone, np.array([row["iteration_s"] for row in alone]))
    numbers = sorted({int(row["ranks"]) for row in rows if row["what"] == scheme and row["ranks"] > 1})
    curve = []
    for number in numbers:
        some = [row for row in rows if (row["what"], row["ranks"]) == (scheme, number)]
        several = by_round(some, np.array([row["iteration_s"] for row in some]))
        curve.append(
            (speedup(np.concatenate(base), np.concatenate(several)), speedup_interval_of_rounds(base, several))
        )
    return np.array(numbers), np.array([s for s, _ in curve]), [ends for _, ends in curve]


def draw_typed():
    compare("speed-up on 2 ranks, as typed", guess_typed, own[2])
    for ranks, run in typed.items():
        text = f"{np.median(typed_s[ranks]):.3f} s per update, speed-up {own[ranks]:.2f}"
        theta = sha256(run.load_checkpoint()["theta"])[:12]
        print(f"{ranks} rank(s): {text}, efficiency {own[ranks] / ranks:.2f}, theta {theta}")
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), width_ratios=(3, 2), layout="constrained")
    trace = read_chrome_trace(typed[own_ranks[-1]].path / "trace.json")
    starts = [begins for name, begins, _ in trace[0] if name == "broadcast"]
    begin, end = starts[-2], starts[-1]
    shown = {name: PHASE_COLORS[name] for name in ("collect", "wait", "gather", "policy", "critic", "idle")}
    for rank, spans in enumerate(trace):
        for name, color in shown.items():
            places = [(begins - begin, lasts) for phase, begins, lasts in spans if phase == name]
            left.broken_barh(places, (rank - 0.42, 0.84), color=color, linewidth=0, label=None if rank else name)
    left.set(xlim=(0, end - begin), ylim=(len(trace) - 0.5, -0.5), yticks=range(len(trace)), ylabel="rank")
    left.set(xlabel="seconds of one update (white: all else)", title=f"your machine: an update on {len(trace)} ranks")
    left.legend(loc="upper center", ncols=6, bbox_to_anchor=(0.5, -0.18), frameon=False)
    many = np.linspace(1, max(own_ranks[-1], our_ranks[-1]), 50)
    right.plot(many, many, "--", color=GREY, label="ideal")
    right.plot(own_ranks, list(own.values()), "o-", color=PURPLE, label="yours, as typed")
    for scheme, mark, color in (("root learns", "s", GREEN), ("both learn", "^", RED)):
        numbers, gains_then, ends = scheme_curve(scheme)
        right.errorbar(
            numbers,
            gains_then,
            bars(gains_then, ends),
            fmt=mark,
            mfc="none",
            capsize=4,
            color=color,
            label=f"{RECORDED}: {scheme}",
        )
    mark_crowded(right, 1, own_ranks[-1], cores())
    right.set(xlabel="ranks", ylabel="speed-up of an update", xlim=(0.8, own_ranks[-1] + 0.7), xticks=own_ranks)
    right.set(ylim=(0, own_ranks[-1] + 0.5), title="your speed-up, and the recorded one")
    right.legend(loc="lower right", fontsize=8)
    plt.show()
    for rank, spans in enumerate(trace):
        parts = seconds_per_phase([span for span in spans if begin <= span[1] < end])
        longest = sorted(parts.items(), key=lambda item: -item[1])[:4]
        print(f"rank {rank}:", ", ".join(f"{name} {1e3 * took:.0f} ms" for name, took in longest))


reveal(guess_typed, draw_typed)

# %% [markdown]
# Explain both pictures to your neighbour. In the left one, find the time in which a rank waits or idles, and the parts that
# do not become shorter with more ranks. In the right one, compute the Karp-Flatt fraction of your largest number of ranks.
# If your speed-up is smaller than the recorded one, ask in this order: did other programs run? Do two of your "cores" share one
# physical core? Does the processor run more slowly when all of its cores work?
#
# ## Your own TRPO, in parallel
#
# In lecture 05b your own functions trained in one process. They run on several ranks in the same way. In the terminal, with the
# notebooks in the folder `my` (`make lab` puts them there):
#
# ```sh
# ./run minitrpo core my
# ./run mpiexec -n 2 python mpi_scripts/train.py --core my
# ```
#
# The first command collects the functions of your saved notebooks that pass their checks into the file `my/core.py`. The second
# command trains with them, and a note at the beginning of the run says which functions are yours. The next cell does both, and measures the
# speed-up of *your* program. (Your functions are mostly the taught ones, which differentiate by autograd, so an update takes longer
# than with the formulas by hand.)

# %%
folder = your_core(".")
with_core = ("--core", folder) if folder else ("--derivatives", "autograd")
job = ("--steps-per-update", budget(10_000, 1_000), "--total-steps", budget(30_000, 3_000), *with_core)
say_if_busy()
yours = {ranks: train(ranks, *job, "--oversubscribe") for ranks in (1, 2)}
print("theta sha256:", *(sha256(run.load_checkpoint()["theta"])[:12] for run in yours.values()))
print("mean return:", *yours[2].columns()["mean_return"].round(1))
yours_s = {ranks: run.columns()["iteration_s"][1:] for ranks, run in yours.items()}
print(f"speed-up of {'your' if folder else 'the taught'} TRPO on 2 ranks: {speedup(yours_s[1], yours_s[2]):.2f}")

# %% [markdown]
# The policy is again the same on one rank and on two, bit for bit, as long as your functions are deterministic. If the speed-up is
# smaller than that of the package, look at its serial part: in this run, which fraction of an update is `update_s`?
#
# ## What one must report
#
# 1. **What** was timed, in seconds and not only as a ratio.
# 2. The **base case**: ours is the same program on one rank.
# 3. The **median** of how many updates from how many interleaved runs, and an **interval** over the runs.
# 4. The **machine**, its cores, what else ran on it, and which points were oversubscribed.
# 5. Strong or weak scaling, and the serial fraction that bounds it.
#
# `./run minitrpo speedup --ranks 1,2,4` writes such a report for your machine.
#
# ## Bug hunt
#
# A colleague's bootstrap gives wonderfully narrow intervals, and every speed-up is "highly significant". Low comes before high,
# and the median is inside. One line is wrong.


# %%
def suspect(samples: ArrayLike, confidence: float = 0.95, resamples: int = 2000, seed: int = 0):
    t = np.array(samples, dtype=float)
    if len(t) < 2:
        raise ValueError("too few measurements")
    rng = np.random.default_rng(seed)
    again = t[rng.integers(0, len(t), (resamples, len(t)))]
    middles = np.median(again, axis=0)
    tail = (1 - confidence) / 2
    return float(np.quantile(middles, tail)), float(np.quantile(middles, 1 - tail))


_ = hunt("interval", suspect)

# %% [markdown] solution="only"
# **The bug**: `axis=0` takes the median *down* the columns, over 2,000 draws of one number, instead of along each row, over one
# imitated experiment. The result measures how sure you would be after 2,000 measurements. It should be `axis=1`.

# %% [markdown]
# ## Quiz
#
# **1.** A paper reports a speed-up of 7.5 on 8 ranks. Its one-rank program is an older, slower version. So?
#
# <details><summary>Answer</summary>
#
# The ratio says nothing without the seconds. Against the best one-rank program it may be 3. A slow base case improves every
# speed-up.
#
# </details>
#
# **2.** The Karp-Flatt fraction is 0.10, 0.10 and 0.11 on 2, 4 and 8 ranks. Buy faster messages, or work on the serial part?
#
# <details><summary>Answer</summary>
#
# The serial part: a fraction that stays the same is what a serial part looks like. Messages that cost more with every rank would
# make it grow.
#
# </details>
#
# **3.** "On my laptop 8 ranks are slower than 2, so the program does not scale." What do you ask?
#
# <details><summary>Answer</summary>
#
# How many cores does it have, and how do the ranks wait? On 2 cores eight ranks are oversubscribed, and spinning alone can slow
# the learner down several times. Such a point says nothing about 8 cores.
#
# </details>
#
# ## Summary
#
# - A speed-up is a ratio of medians with an interval over interleaved runs that did the same work; speed-up divided by ranks is the
#   efficiency.
# - The serial fraction bounds it. For us that is the learner, so the learner is worth sharing.
# - Strong scaling keeps the job fixed, weak scaling keeps the work of each rank fixed.
# - A Karp-Flatt fraction that grows with the ranks means that something gets worse with every rank.
# - Two cores give less than 2: the learner is serial (Amdahl), ranks wait for the slowest, and messages take time. More ranks than
#   cores only take turns, and ranks that spin take the learner's core.
# - Ranks beyond the cores do nothing by default, and measurements with them say nothing about a larger machine.
#
# ## Open questions
#
# 1. Simulate nine measurements with a true median of 1 s (log-normal, standard deviation 0.05), 400 times, and count how often
#    `interval` contains 1. Plot that coverage against 3, 5, 9 and 20 measurements. Explain in three sentences how many
#    measurements you would report an interval for.
# 2. Measure the speed-up of the whole update on your machine with 1,000, 5,000 and 20,000 steps per update, on 1 rank and on as
#    many ranks as you have cores. Plot it with intervals and Amdahl's bound. Explain in three sentences what limits it.
#
# **Next**: how many steps does an update need in the first place?
