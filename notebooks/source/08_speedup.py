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
# Lecture 07 shared the episodes out among ranks. Everybody expects that to be faster. This lecture measures it so that
# a colleague who doubts you would have to believe you, finds out what limits it, and then reads the speed-up figure of
# Frans & Hafner 2016 with the author's own numbers.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `interval` | `minitrpo/course/speedup/statistics.py` | "multiple trials", section 6 |
# | `amdahl`, `gustafson` | `minitrpo/course/speedup/statistics.py` | "diminishing returns", section 6 |
# | `karp_flatt` | `minitrpo/course/speedup/statistics.py` | "hardware limitations", section 6: a guess, here put to a test |
# | `measure` | `minitrpo/course/speedup/command.py`, for the long version | figure 2 |
#
# *90 minutes in class with the exercises, a minute and a half to run. You need: medians, lectures 06 and 07. Close your
# other programs: they would be in the numbers.*

# %%
import csv
import json

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import ArrayLike
from scipy.optimize import curve_fit

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PHASE_COLORS, PURPLE, RED
from minitrpo.course.classroom import budget, compare, mpiexec_code, recorded, reveal, say_if_busy, show_claims, train
from minitrpo.course.speedup.statistics import Number, efficiency, speedup, speedup_interval
from minitrpo.parallel.launcher import cores
from minitrpo.course.trace import read_chrome_trace
from minitrpo.run_folder.folder import sha256

plt.rcParams["legend.fontsize"] = 9
RANKS = budget((1, 2, 4), (1, 2))
STEPS = budget(20_000, 2_000)
UPDATES = budget(4, 3)
print(f"{cores()} cores here; runs on {RANKS} ranks, {STEPS:,} steps per update")

# %% [markdown]
# Every measurement of yours is shown beside a recorded one (`recorded/08_speedup.py`), from 2 cores that may not have
# been quite idle: its seconds are upper limits. (A load average cannot tell: it counts the measurement itself, too.)
# `say_if_busy()` warns you when yours cannot be trusted. Points with more ranks than cores are **oversubscribed** and lie
# on grey: they prove nothing.

# %%
author = json.loads(recorded("author_2016.json").read_text())["speedup"]
about = {
    "speedup": json.loads(recorded("08_speedup.json").read_text()),
    "weak": json.loads(recorded("08_weak.json").read_text()),
    "learners": json.loads(recorded("08_learners.json").read_text()),
    "spinning": json.loads(recorded("08_spinning.json").read_text()),
}
with recorded("08_speedup.csv").open() as file:
    table = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
table = [row | {"rollout_s": row["collect_s"] + row["wait_s"]} for row in table]
our_ranks = np.array(sorted({int(row["ranks"]) for row in table}))
made = about["speedup"]["provenance"]
our_cores = made["usable_cores"]
RECORDED = f"recorded on {our_cores} cores ({made['machine'].split(', ')[-1]})"


def recorded_seconds(ranks, phase="iteration_s"):
    """Return the recorded measurements of a phase, 20,000 steps of Reacher on these ranks."""
    return np.array([row[phase] for row in table if row["ranks"] == ranks])


print(f"{RECORDED}, {made['date'][:10]}: {len(table)} updates on {our_ranks.tolist()} ranks")
for name, record in about.items():
    before, after = (record["provenance"][when][0] for when in ("load_before", "load_after"))
    print(
        f"{name:9}", record["provenance"].get("conditions", f"load average {before:.1f} before, {after:.1f} after it")
    )

# %% [markdown]
# ## One number, and what is wrong with it
#
# Let $T_p$ be the seconds that one update takes on $p$ ranks. The **speed-up** is $S = T_1 / T_p$; the **efficiency**
# is $S / p$, the fraction of the hired cores that you got something for. $S = p$ is called ideal.
#
# We take the task of Frans & Hafner's figure 2: Reacher, 20,000 steps per update, learning as they did (`--preset
# paper`). The first update of a run is left out: it pays for memory, caches and imports (a **warm-up**). How many times
# faster is an update on 2 ranks than on 1? **Type a prediction.**

# %% prediction="yes"
guess_two = 1.8  # speed-up of the whole update on 2 ranks

# %%
PHASES = ("collect_s", "wait_s", "gather_s", "update_s")


def measure(ranks, steps, *more):
    """Return the seconds of every update but the first, phase by phase, and the theta at the end."""
    run = train(ranks, "--preset", "paper", "--steps-per-update", steps, "--total-steps", steps * UPDATES, *more)
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
# One run each. Would you bet on the second digit? Measure again, and change the order: if the machine slowly gets
# warmer or busier, going always from 1 to 4 would charge that to the 4. Rounds that visit all cases, to and fro, are
# called **interleaved**.

# %%
for order in budget((RANKS[::-1], RANKS), (RANKS[::-1],)):
    rounds.append(one_round(order))
paper_thetas = [theta for one in rounds for _, theta in one.values()]
print("all runs ended with the same theta:", all(np.array_equal(paper_thetas[0], theta) for theta in paper_thetas))


def show_rounds():
    print("speed-up on 2 ranks, round by round:", ", ".join(f"{round_speedup(one):.3f}" for one in rounds))


reveal(guess_two, show_rounds)

# %% [markdown]
# The same `theta`, to the bit: every run did the same work. So where the rounds differ in seconds, that is the machine's
# doing. What is *the* time of an update, then?
#
# - Not the mean: one hiccup of the operating system can double it.
# - Not the smallest: it tells of the luckiest moment, and the more often you measure the smaller it gets.
# - The **median**: half of the updates took longer. It is what we report, together with how sure we are of it.
#
# ## How sure? Ask the data
#
# Another nine measurements would have given another median. How different could it be? We cannot run the experiment a
# thousand times, but we can imitate it: draw nine numbers *from the nine we have*, with replacement, so that some come
# twice and some not at all. Take the median. Do this 2,000 times. The range that holds the middle 95 % of these medians
# is the **bootstrap interval** (Efron 1979), which lecture 05b found too narrow for the mean of five numbers; now it is a
# median of nine. It knows nothing about bell curves, which suits seconds: they have a long tail on one side.
#
# ### Exercise 1: `interval`

# %% exercise="interval"

# %% [markdown]
# Below, every update as a dot, the median as a line, and your interval. A speed-up divides two medians, and both wobble.
# So *its* interval draws anew for both: `speedup_interval`. And one more question has to be answered before a speed-up
# means anything: the speed-up **of what**?


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def seconds(ranks, phase="iteration_s"):
    """Return all measurements of a phase on these ranks, from all rounds."""
    return np.concatenate([one[ranks][0][phase] for one in rounds])


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
        axis.hlines(middle, place - 0.3, place + 0.3, color=BLUE, label=None if place else "median, 95 % interval")
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
    low, high = speedup_interval(serial_s, parallel_s)
    s = speedup(serial_s, parallel_s)
    note = " (oversubscribed)" if ranks > owned else ""
    print(
        f"{name}, {ranks} ranks: {s:.2f} (95 %: {low:.2f} to {high:.2f}), efficiency {efficiency(s, ranks):.2f}{note}"
    )


def show_speedups():
    draw_rounds()
    for phase, name in (("rollout_s", "collecting alone"), ("iteration_s", "the whole update")):
        for ranks in RANKS[1:]:
            one_line(name, ranks, seconds(1, phase), seconds(ranks, phase), cores())
            one_line("  recorded", ranks, recorded_seconds(1, phase), recorded_seconds(ranks, phase), our_cores)


reveal(guess_two, show_speedups)

# %% [markdown]
# If an interval contains 1, you have not shown that it is faster at all. Three warnings: updates of one run resemble
# each other more than updates of different runs, so nine from three runs are worth less than nine from nine; two
# intervals that overlap may still belong to different medians; and an interval covers the noise you had, not the noise
# of another machine.
#
# And does "95 %" mean 95 %? Try it where the truth is known: nine measurements, true median 1 second, 400 times.

# %%
worlds = np.exp(0.05 * np.random.default_rng(0).standard_normal((budget(400, 100), 9)))  # true median 1 s
for draws in budget((1000, 2000), (300,)):
    ends = np.array([mine.interval(world, resamples=draws) for world in worlds])
    covered = np.mean((ends[:, 0] <= 1) & (ends[:, 1] >= 1))
    print(f"{draws:,} draws from nine measurements: the true median is inside in {covered:.0%} of {len(worlds)} trials")

# %% [markdown]
# It does, with enough draws; from 400 trials the percentage is known to about 2. With very many draws the interval ends
# at the second smallest and the second largest of the nine, which hold the true median between them with probability
# $1 - 2 \cdot 10 / 512 = 0.96$ (nine tosses of a coin, neither side up less than twice). Report how many measurements an
# interval stands for.
#
# Collecting alone and the whole update differ, and that is not noise: ranks share the collecting, but only rank 0 learns.
#
# ## The part that does not get faster
#
# Lecture 06 had Amdahl's law. Call the time on one rank 1, and let *serial* be the fraction of it that stays with one rank
# whatever you do: for us, the learner's. $p$ ranks divide the rest. What can be gained at most?
#
# ### Exercise 2: `amdahl`

# %% exercise="amdahl"

# %% [markdown]
# For Frans & Hafner in 2016, collecting took 17.93 s and learning 1.41 s: a serial fraction of 0.073. So with any number
# of cores they could become 13.7 times faster at most. Since then both have become cheaper, though not by the same factor.
# What is *our* limit, with infinitely many ranks?

# %% prediction="yes"
guess_limit = 8  # the largest possible speed-up


# %%
def serial_fraction(seconds_of):
    return np.median(seconds_of(1, "update_s")) / np.median(seconds_of(1, "iteration_s"))


fraction, our_fraction = serial_fraction(seconds), serial_fraction(recorded_seconds)


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_speedups():
    _, axes = plt.subplots(1, 2, figsize=(11, 4.4))
    cases = (
        (RANKS, seconds, fraction, cores(), "here"),
        (our_ranks, recorded_seconds, our_fraction, our_cores, "recorded"),
    )
    for axis, (numbers, seconds_of, serial, owned, where) in zip(axes, cases):
        many = np.linspace(1, numbers[-1], 100)
        axis.plot(many, many, "--", color=GREY, label="ideal")
        axis.plot(many, mine.amdahl(serial, many), color=ORANGE, label=f"Amdahl's law, serial fraction {serial:.2f}")
        for phase, color, name, dodge in (
            ("rollout_s", BLUE, "collecting", -0.04),
            ("iteration_s", PURPLE, "the whole update", 0.04),
        ):
            s = np.array([speedup(seconds_of(1, phase), seconds_of(n, phase)) for n in numbers])
            ends = [(1, 1), *(speedup_interval(seconds_of(1, phase), seconds_of(n, phase)) for n in numbers[1:])]
            bars, place = np.abs(np.transpose(ends) - s), np.add(numbers, dodge)
            axis.errorbar(place, s, bars, fmt="o", capsize=5, color=color, label=f"measured: {name}")
        mark_crowded(axis, 1, numbers[-1], owned)
        axis.set(xlabel="ranks", ylabel="speed-up", xticks=numbers, ylim=(0, 1.15 * numbers[-1]), title=where)
        axis.legend(loc="upper left")
        axis.grid(alpha=0.3)
    plt.tight_layout()
    plt.show()


# %%
def show_limit():
    collect, learn = np.median(seconds(1, "rollout_s")), np.median(seconds(1, "update_s"))
    print(f"on one rank: collecting {collect:.3f} s, learning {learn:.3f} s, serial fraction {fraction:.2f}")
    compare("the most that any number of ranks can give", guess_limit, mine.amdahl(fraction, 1e9))
    print(f"{RECORDED}: serial fraction {our_fraction:.2f}, at most {mine.amdahl(our_fraction, 1e9):.2f}")
    draw_speedups()


reveal(guess_limit, show_limit)

# %% [markdown]
# Amdahl's law is a bound: it forgets waiting, gathering and crowding. Where the whole update's interval lies *above* the
# curve, look for a reason, and do not celebrate.
#
# Drag the fraction (with a running kernel).


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_law(serial=0.2):
    many = np.geomspace(1, 1000, 100)
    _, axis = plt.subplots(figsize=(7.5, 3.6))
    axis.loglog(many, many, "--", color=GREY, label="ideal")
    for s, style in ((0.01, "-"), (0.073, "-."), (0.3, ":"), (0.6, "-")):
        axis.loglog(many, mine.amdahl(s, many), style, color=GREY, alpha=0.7)
        axis.text(1050, mine.amdahl(s, 1000), f"{s}", va="center", fontsize=9, color=GREY)
    axis.loglog(many, mine.amdahl(serial, many), color=ORANGE, linewidth=2.5, label=f"serial {serial:.2f}")
    axis.axhline(1 / serial, color=ORANGE, linewidth=1, label=f"never more than {1 / serial:.1f}")
    axis.set(xlabel="ranks", ylabel="speed-up (Amdahl)", xlim=(0.8, 2500), ylim=(0.9, 200))
    axis.legend(loc="upper left")
    axis.grid(alpha=0.3)
    plt.show()


_ = ipywidgets.interact(show_law, serial=ipywidgets.FloatSlider(min=0.01, max=0.9, step=0.01, value=0.2))
show_law()

# %% [markdown]
# ## More ranks than cores
#
# Eight ranks on 2 cores are **oversubscribed**: the cores take turns. Need they be *slower* than
# one? They need not be, and often are, for a reason that is easy to miss:
# many MPI calls wait by asking "is it there yet?" as fast as they can. That is called **spinning**; it saves
# microseconds when there is a core to burn, and steals the learner's core when there is not. Below, rank 0 computes
# while 7 others wait for it, once asleep (as this package waits) and once in MPI's own `Barrier`. How many times longer
# does rank 0 need when the others spin?

# %% prediction="yes"
guess_spinning = 1.5  # seconds of rank 0 when 7 others spin, over those when they sleep

# %%
PROGRAM = """
import sys, time
from mpi4py import MPI
from minitrpo.parallel.comm import connect

comm = connect()
for wait in (comm.barrier, MPI.COMM_WORLD.Barrier):
    comm.barrier()
    start = time.perf_counter()
    if comm.rank == 0:
        sum(range(int(sys.argv[1])))  # one works ...
    wait()  # ... and the others wait for it
    if comm.rank == 0:
        print(time.perf_counter() - start)
"""
say_if_busy()
asleep, spinning = map(float, mpiexec_code(budget(8, 4), PROGRAM, budget(40_000_000, 4_000_000)).split())


def show_spinning():
    print(f"{budget(8, 4)} ranks on {cores()} cores. The others asleep: {asleep:.2f} s; spinning: {spinning:.2f} s")
    compare("slow-down of rank 0 by ranks that spin", guess_spinning, spinning / asleep, "times")
    factors = about["spinning"]["slow_down_by_spinning"]
    print(f"{RECORDED}: {factors['8']:.2f} times with 8 ranks, {factors['2']:.2f} times with 2")


reveal(guess_spinning, show_spinning)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With a core for every rank the factor is about 1, and the trap stays hidden until somebody runs your program on a
# laptop. With fewer cores it is a learner that looks slow although nothing is wrong with it. So: sleep, and mark every
# oversubscribed point in a figure as what it is.
#
# </details>
#
# `train.py` goes further: ranks without a core of their own leave the episodes to the others, so that behind the cores
# its times are flat. `--oversubscribe` makes all ranks work; the policy is the same to the bit.
#
# ## What limits it? Turn Amdahl's law around
#
# Amdahl needs the serial fraction. Alan Karp and Horace Flatt (1990) turned the law around: *given* the measured $S$ on
# $p$ ranks, which serial fraction would explain exactly that? Solve $S = 1 / (\text{serial} + (1 - \text{serial}) / p)$
# for it. As a *series* over $p$ it is a diagnosis:
#
# - It stays the same: a serial part is the limit, as Amdahl has it. Make it smaller or share it.
# - It grows with $p$: something gets worse with every rank, such as messages, queueing, or cores that are not there.
#
# ### Exercise 3: `karp_flatt`

# %% exercise="karp_flatt"

# %% [markdown]
# Now the seed of it all. Frans & Hafner's figure 2 (left) shows the seconds for 20,000 steps of Reacher against the
# number of threads (processes, really), and Frans's post of 2016 shows it again. Here are the medians of the author's
# own logs (kvfrans/parallel-trpo, `results/speedup`, one run of 185 to 542 updates each), and beside it our recorded runs of
# `python -m minitrpo speedup` (the long version of what you measured above), with intervals.

# %%
threads = np.array(author["threads"])
rollout, learning = np.array(author["rollout_s"]), np.array(author["learn_s"])  # s, 20,000 steps of Reacher-v1
ours = np.array([np.median(recorded_seconds(ranks, "rollout_s")) for ranks in our_ranks])
our_learning = np.array([np.median(recorded_seconds(ranks, "update_s")) for ranks in our_ranks])


def bars(middles, ends):
    """Return the error bars of matplotlib for intervals, (2, n)."""
    return np.abs(np.transpose(ends) - middles)


our_bars = {
    phase: bars(middles, [mine.interval(recorded_seconds(ranks, phase)) for ranks in our_ranks])
    for phase, middles in (("rollout_s", ours), ("update_s", our_learning))
}
his_series = mine.karp_flatt(rollout[0] / rollout[1:], threads[1:])
our_series = mine.karp_flatt(ours[0] / ours[1:], our_ranks[1:])
base_s = recorded_seconds(1, "rollout_s")
our_gains = [speedup_interval(base_s, recorded_seconds(ranks, "rollout_s")) for ranks in our_ranks[1:]]
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
# "These diminishing returns most likely stem from hardware limitations", says the paper, and the post says so, too. His
# Karp-Flatt fraction rises from 3 threads on without a break, so a fixed serial part alone does *not* explain it. What
# does? Fit three stories with two constants each to the eight medians:
#
# - **a serial part**: work / p + rest;
# - **a ceiling**: work / min(p, ceiling), where no more than so many threads' worth of work is ever done at once;
# - **a cost per thread**: work / p + cost x p, for whatever gets worse with each of them.

# %%
stories = {
    "a serial part": lambda p, work, rest: work / p + rest,
    "a ceiling": lambda p, work, ceiling: work / np.minimum(p, ceiling),
    "a cost per thread": lambda p, work, cost: work / p + cost * p,
}


def typical_error(predicted, measured):
    """Return the root mean square relative error in per cent."""
    return 100 * np.sqrt(np.mean((predicted / measured - 1) ** 2))


fits = {}
for name, story in stories.items():
    fits[name], _ = curve_fit(story, threads, rollout, p0=(18.0, 3.0), sigma=rollout)
    error = typical_error(story(threads, *fits[name]), rollout)
    print(f"{name:18} constants {fits[name].round(2)}, typical error {error:.1f} %")

# %% tags=["hide-input"] jupyter={"source_hidden": true}
_, axis = plt.subplots(figsize=(7.5, 3.8))
many = np.linspace(1, 16, 300)
axis.plot(threads, rollout, "o", color=BLUE, markersize=8, label="author's medians")
for (name, story), color, style in zip(stories.items(), (RED, GREEN, ORANGE), (":", "-", "--")):
    axis.plot(many, story(many, *fits[name]), style, color=color, linewidth=2, label=name)
mark_crowded(axis, 5, 16, 5, "threads")
axis.set(xlabel="threads", ylabel="seconds for 20,000 steps", ylim=(0, None), title="Three stories for one figure")
axis.legend()
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# A serial part alone is out: it errs three times as much. But the other two fit equally well: **eight numbers cannot tell a ceiling from
# a cost per thread.** A better fit would not settle it; an experiment might, in which the stories part. Change the amount
# of work: what costs the same for any amount of work, such as starting a thread or sending it a message, stays.
#
# The author's logs happen to hold that experiment. His code guesses 1,000 steps for an episode's length before it has
# seen one, so the *first* update of every run collects only 20 episodes of 49 steps, a twentieth of the later ones. If a
# thread costs so many seconds *whatever the work*, then 8 threads still pay that eight times, 3.0 s by the fit above. How
# many seconds did the first update of 8 threads take?

# %% prediction="yes"
guess_first = 3.0  # s, collecting in the first update of 8 threads

# %%
first = np.array(author["first_rollout_s"])  # s, one update each
work = author["first_episodes"] / author["later_episodes"]  # of the first update, relative to a later one
alone, cost = fits["a cost per thread"]
predictions = {
    "a cost per thread, whatever the work": work * alone / threads + cost * threads,
    "a cost per thread that shrinks with the work": work * (alone / threads + cost * threads),
    "a ceiling": work * stories["a ceiling"](threads, *fits["a ceiling"]),
}


def show_first():
    compare("the first update on 8 threads", guess_first, first[7], "s")
    for name, predicted in predictions.items():
        print(f"{name:45} says {predicted[7]:.2f} s; typical error, 1 to 8: {typical_error(predicted, first):.1f} %")
    print("speed-up of the first update: ", (first[0] / first).round(2))
    print("speed-up of the later updates:", (rollout[0] / rollout).round(2))
    print("Karp-Flatt fraction, from the logs:".ljust(43), his_series.round(2))
    for name in ("a cost per thread", "a ceiling"):
        told = stories[name](threads, *fits[name])
        print(f"by the fit of {name}:".ljust(43), mine.karp_flatt(told[0] / told[1:], threads[1:]).round(2))


reveal(guess_first, show_first)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The same flat top, with a twentieth of the work. So a *fixed* cost for each thread is out. Two stories are left: a
# ceiling on the rate (cores that are not there), and a cost that grows with the work, where threads get into each other's
# way at every step (a memory that all share, a clock that drops when all cores work). These two predict the first updates
# about equally well, 11 to 12 %, and with one update each nothing finer can be told. So
# "hardware limitations" **fits, and is not shown**. With 16 threads on the same computer a ceiling says 5.2 s, a growing cost 7.1 s. He stopped
# at 8.
#
# In our own run we *know* the ceiling, and the Karp-Flatt fraction rises behind it. His rises in smaller steps, but so
# would either story (the last lines printed). One thing does not fit: a ceiling of 3.6 on "a 5 core CPU" (paper and post). The
# note beside the logs says "about a 2x speedup with 4 multiprocesses running on a 4 core macbook pro"; but the logs show
# 3.2 times with 4, so the note may be about another run.
#
# </details>
#
# ## A job that grows with the ranks
#
# So far the job was fixed: **strong scaling**. John Gustafson (1988) objected that nobody buys a thousand cores to do
# the old job in a thousandth of the time; one does a bigger job. Give every rank the *same* work and let the job grow:
# **weak scaling**. The question becomes: how much more work per second?
#
# His law looks at the time on *all* the ranks: during the fraction *serial* of **that** time one works and the others
# wait. Mind the two fractions. Say one rank collects for 3 s and learns for 1 s: serial 1/4 *on one rank*. On 4 ranks with
# four times the job: if learning still takes 1 s, the serial fraction *on all the ranks* is 1/4, too. If it takes 4 s, it
# is 4/7.
#
# ### Exercise 4: `gustafson`

# %% exercise="gustafson"

# %% [markdown]
# Gustafson is the optimist: his curve has no ceiling. We give every rank the same number of steps; our largest job is
# just the one measured above. Gustafson with the serial fraction of one rank promises the number printed below, for twice
# the job on **2** ranks. What will we measure?

# %%
largest, per_rank = RANKS[-1], STEPS // RANKS[-1]
say_if_busy()
weak = {ranks: measure(ranks, per_rank * ranks)[0] for ranks in RANKS[:-1]}
weak[largest] = {phase: seconds(largest, phase) for phase in (*PHASES, "iteration_s")}
small_fraction = np.median(weak[1]["update_s"]) / np.median(weak[1]["iteration_s"])
then = about["weak"]["summary"]  # a line for each number of ranks
then_fraction = then[0]["median_update_s"] / then[0]["median_iteration_s"]
print(f"serial fraction {small_fraction:.2f} with {per_rank:,} steps on one rank ({then_fraction:.2f} when recorded)")
print(f"Gustafson promises {mine.gustafson(small_fraction, 2):.2f} times the work per second on 2 ranks", end=" ")
print(f"({mine.gustafson(then_fraction, 2):.2f})")

# %% prediction="yes"
guess_weak = 1.6  # steps per second on 2 ranks with twice the job, relative to 1 rank

# %% tags=["hide-input"] jupyter={"source_hidden": true}
rates = np.array([ranks * speedup(weak[1]["iteration_s"], weak[ranks]["iteration_s"]) for ranks in RANKS])


def stack(axis, places, heights_of, colors):
    bottom = np.zeros(len(places))
    for phase, color in zip(PHASES, colors):
        heights = np.array([heights_of(i, phase) for i in range(len(places))])
        axis.bar(places, heights, bottom=bottom, color=color, label=phase[:-2])
        bottom += heights
    axis.set_ylim(0, 1.45 * bottom.max())


def draw_weak():
    _, axes = plt.subplot_mosaic("ab;cc", figsize=(10, 7.5))
    colors = [PHASE_COLORS[phase[:-2]] for phase in PHASES]
    recorded_ranks = [line["ranks"] for line in then]
    stack(axes["a"], RANKS, lambda i, phase: np.median(weak[RANKS[i]][phase]), colors)
    axes["a"].set(title=f"here, {per_rank:,} steps a rank", ylabel="median seconds per update, rank 0")
    stack(axes["b"], recorded_ranks, lambda i, phase: then[i][f"median_{phase}"], colors)
    axes["b"].set(title=f"recorded, 5,000 steps a rank, {our_cores} cores")
    many, c = np.linspace(1, recorded_ranks[-1], 50), axes["c"]
    c.plot(many, many, "--", color=GREY, label="ideal")
    c.plot(many, mine.gustafson(then_fraction, many), color=GREEN, label="Gustafson, recorded fraction of one rank")
    c.plot(many, mine.amdahl(then_fraction, many), color=ORANGE, label="Amdahl, the same fraction")
    c.plot(RANKS, rates, "o", color=BLUE, markersize=8, label="here")
    gains = np.array([line["speedup"] for line in then])
    around = bars(gains[1:], [line["speedup_interval"] for line in then[1:]])
    c.plot(recorded_ranks, gains, "s", color=RED, mfc="none", label="recorded, 95 % intervals")
    c.errorbar(recorded_ranks[1:], gains[1:], around, fmt="none", capsize=5, color=RED)
    c.set(ylabel="steps per second, relative to 1 rank", ylim=(0, None))
    for axis, owned, numbers in ((axes["a"], cores(), RANKS), (axes["b"], our_cores, recorded_ranks)):
        mark_crowded(axis, 1, numbers[-1], owned)
        axis.set(xlabel="ranks", xticks=numbers)
        axis.legend(loc="upper left", ncols=2)
    mark_crowded(c, 1, recorded_ranks[-1], min(our_cores, cores()))
    c.set(xlabel="ranks", xticks=recorded_ranks)
    c.legend(loc="upper left")
    plt.tight_layout()
    plt.show()


# %%
def show_weak():
    compare("steps per second on 2 ranks, relative to 1 (one run each)", guess_weak, rates[1], "times")
    low, high = then[1]["speedup_interval"]
    print(f"{RECORDED}: {then[1]['speedup']:.2f} (95 %: {low:.2f} to {high:.2f})", end="; ")
    print(f"Gustafson {mine.gustafson(then_fraction, 2):.2f}, Amdahl {mine.amdahl(then_fraction, 2):.2f}")
    for phase, name in (("update_s", "learning"), ("collect_s", "collecting")):
        base = then[0][f"median_{phase}"]
        factors = ", ".join(f"{line[f'median_{phase}'] / base:.2f} on {line['ranks']}" for line in then[1:])
        print(f"{name} takes longer by the factor, recorded: {factors}", end="; ")
        print(
            f"here: {', '.join(f'{np.median(weak[n][phase]) / np.median(weak[1][phase]):.2f} on {n}' for n in RANKS[1:])}"
        )
    draw_weak()


reveal(guess_weak, show_weak)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Look at the green blocks: the learner gets $p$ times the steps and needs much longer (the factors are printed), on grey and
# on white alike, because one rank learns while the others sleep. So Gustafson's promise, for a serial part that does *not* grow
# with the job, is not kept: growing the job gains no more than Amdahl allows. (Given the fraction *on all the ranks*, his
# law is right again: in the example above, 4/7 + 3/7 x 4 = 2.3, which is just Amdahl's 1 / (1/4 + 3/16). But then it has to
# be measured there and promises nothing.) The blue blocks should all be equally high. On
# grey they are not, since ranks without a core add steps and no hands: that is the machine's doing, so compare the laws on
# white only. If *your* blue block grows on white, too, the second core was not free, or is slower when both work (memory,
# clock): that lowers your point, and says nothing against Amdahl. If you want both, share the learner.
#
# </details>
#
# ## Actors, or learners?
#
# The paper concludes that more cores are best spent on actors. What if the ranks learn, too? The gradient, each
# Fisher-vector product, the line search and the critic's fit are sums over the batch. `--learner sharded` cuts the
# batch into blocks whose number depends on nothing but its length; every rank computes some blocks, and all ranks add
# *all* parts in one order. (Why not add up each rank's own share first? Then the order of the sum, and with it the last
# bits, would depend on the number of ranks.) How many times faster than on 1 rank is the whole update on 2 that share
# the learning?

# %% prediction="yes"
guess_sharded = 1.5  # speed-up of the whole update on 2 ranks, both learning

# %%
say_if_busy()
sharded = [measure(2, STEPS, "--learner", "sharded") for _ in range(budget(3, 1))]
sharded_s = np.concatenate([took["iteration_s"] for took, _ in sharded])
schemes_then = {(line["scheme"], line["ranks"]): line for line in about["learners"]["summary"]}


def then_line(scheme):
    """Return a recorded speed-up over one rank as text."""
    line = schemes_then[scheme, 2]
    return f"{line['speedup']:.2f} ({line['speedup_interval'][0]:.2f} to {line['speedup_interval'][1]:.2f})"


def show_sharded():
    compare("speed-up on 2 ranks, both learning", guess_sharded, speedup(seconds(1), sharded_s), "times")
    print(f"only rank 0 learning, measured earlier: {speedup(seconds(1), seconds(2)):.2f} times")
    print(f"{RECORDED}: both {then_line('paper, both learn')}, only rank 0 {then_line('paper, root learns')}")
    print("same theta:", all(np.array_equal(paper_thetas[0], theta) for _, theta in sharded))
    for name, collecting_s, learning_s in (
        ("Frans & Hafner, 2016", rollout[0], learning[0]),
        ("the recorded run", ours[0], our_learning[0]),
    ):
        gains = [(collecting_s / p + learning_s) / (collecting_s / p + learning_s / p) for p in (2, 8)]
        print(f"{name}: sharing the learner, too, gains at most {gains[0]:.2f} times on 2 ranks, {gains[1]:.2f} on 8")
        print(f"  collecting, ideally shared, would take as long as learning on {collecting_s / learning_s:.1f} ranks")


reveal(guess_sharded, show_sharded)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The paper's sentence was right when collecting cost thirteen times as much as learning, and stops being right as
# collecting gets cheaper or ranks get more. What sharing really gains can lie below what the last lines allow: they
# forget that ranks must exchange parts. A minibatch of the perceptron critic (`--critic mlp`; the paper's is linear) is
# computed in a fraction of a millisecond, and hardly worth the exchange. So with that critic half of the ranks fit it
# *while* the other half step the policy: neither needs the other's result.
#
# </details>
#
# ## Bug hunt
#
# A colleague's bootstrap gives wonderfully narrow intervals, and every speed-up of his is "highly significant". It
# runs, it is seeded, low comes before high, the median is inside. One line is wrong.


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
# **The bug**: `axis=0` takes the median *down* the columns, over 2,000 draws of one number, instead of along each row,
# over one imitated experiment. There are only as many medians as measurements, and each of them hardly moves: with
# 2,000 numbers each, they measure how sure one would be after 2,000 measurements. It should be `axis=1`.

# %% [markdown]
# ## What one must report
#
# Enough for a stranger to disagree with you:
#
# 1. **what** was timed (collecting, or all of it), in seconds and not only as a ratio: a slow base makes every speed-up
#    fine;
# 2. the **base case**: ours is the same program on one rank, which does not even start MPI;
# 3. the **median** of how many updates from how many interleaved runs, what was left out as warm-up, and an
#    **interval**;
# 4. the **machine**, its cores, what else ran on it; which points were oversubscribed;
# 5. strong or weak, and the serial fraction that bounds it.


# %%
def show_report():
    for ranks in our_ranks[1:]:
        base, timed = recorded_seconds(1), recorded_seconds(ranks)
        low, high = speedup_interval(base, timed)
        note = f" (oversubscribed: {our_cores} cores)" if ranks > our_cores else ""
        print(f"{ranks} ranks: {np.median(timed):.3f} s for {np.median(base):.3f} s on 1", end=", ")
        print(f"speed-up {speedup(base, timed):.2f}, 95 % {low:.2f} to {high:.2f}", end=", ")
        print(f"Amdahl's bound {mine.amdahl(our_fraction, ranks):.2f}{note}")


reveal((guess_two, guess_limit), show_report)

# %% [markdown]
# ## Nobody waits for the critic
#
# In the paper's scheme rank 0 learns while all others wait: it steps the policy, and then fits the critic. The fit does
# not need the new policy, so one rank can fit the critic while another steps the policy (`--learner sharded`). `train`
# does so by default. What will the whole update gain over one rank, on 2 ranks that share it? And will the last line that
# a run prints, the fingerprint of the policy, change?

# %% prediction="yes"
guess_both = 1.6  # speed-up of the whole update on 2 ranks that share it
guess_changes = "no"  # does the policy change by it?

# %%
say_if_busy()
job = ("--preset", "episodes", "--env", "Reacher-v5", "--steps-per-update", STEPS, "--trace")
job = (*job, "--total-steps", STEPS * UPDATES)
schemes = {"rank 0 learns alone": (), "both learn": ("--learner", "sharded")}
alone_s = train(1, *job).columns()["iteration_s"][1:]
schemes = {title: train(2, *job, *options) for title, options in schemes.items()}
traces = {title: read_chrome_trace(run.path / "trace.json") for title, run in schemes.items()}

# %% tags=["hide-input"] jupyter={"source_hidden": true}
colors = {name: PHASE_COLORS[name] for name in ("collect", "wait", "policy", "critic", "idle")}


def draw_schemes():
    figure, axes = plt.subplots(len(schemes), 1, figsize=(10, 3.8), sharex=True)
    for axis, (title, trace) in zip(axes, traces.items()):
        begin = [begins for name, begins, _ in trace[0] if name == "broadcast"][2]  # of the third update
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
def show_schemes():
    print("does the policy change? You predicted:", guess_changes)
    print("theta sha256:", *(sha256(run.load_checkpoint()["theta"])[:12] for run in schemes.values()))
    gains = [speedup(alone_s, run.columns()["iteration_s"][1:]) for run in schemes.values()]
    compare("speed-up on 2 ranks that share the update", guess_both, gains[-1], "times")
    print("here, one after the other:", ", ".join(f"{gain:.2f}" for gain in gains), end=" ")
    print(f"(medians of {len(alone_s)} updates, not interleaved: too few for an interval)")
    named = ["episodes, root learns", "episodes, both learn"]
    print(f"{RECORDED}:", ", ".join(then_line(name) for name in named))
    with recorded("08_learners.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["ranks"] == "2"]
    one, both = (np.array([float(row["iteration_s"]) for row in rows if row["scheme"] == name]) for name in named)
    low, high = speedup_interval(one, both)
    print(f"the second over the first, recorded: {speedup(one, both):.2f} times (95 %: {low:.2f} to {high:.2f})")
    draw_schemes()


reveal((guess_both, guess_changes), show_schemes)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The critic used to come after the step of the policy; now it stands beside it. What is learned is the same to the bit,
# because nobody's numbers changed, only where they were computed. What is left of the learner is the longer of the two
# parts: Amdahl's serial fraction got smaller without a single core more.
#
# </details>
#
# Your own, in a minute or two: `python -m minitrpo speedup --ranks 1,2,4` writes the table, the figure and all of the
# above; `--weak` grows the job.
#
# ## What you have built so far
#
# The loop runs on many ranks, and you can say how much faster that is, how sure you are, what bounds it and what you have
# excluded. Medians, intervals and three laws in a line each are all it took. The learner turned out to be the part that is
# worth sharing. **Next**: lecture 09 asks how many steps an update needs in the first place.
#
# ## Quiz
#
# **1.** A paper reports a speed-up of 7.5 on 8 ranks, efficiency 0.94. Its one-rank program is an older, slower version. So?
#
# <details><summary>Answer</summary>
#
# The ratio says nothing without the seconds. Against the best one-rank program it may be 3. A slow base case makes every
# speed-up fine; that the efficiency is below 1 is no sign of honesty.
#
# </details>
#
# **2.** The Karp-Flatt fraction is 0.10, 0.10 and 0.11 on 2, 4 and 8 ranks. Buy faster messages, or work on the serial part?
#
# <details><summary>Answer</summary>
#
# The serial part: a fraction that stays the same is what a serial part looks like. Messages that cost more with every rank
# would make it grow. (The tempting answer takes any lost speed for "communication".)
#
# </details>
#
# **3.** Two stories fit all your points to 3 %. You fit a third, with one more constant, to 2 %. Is it the right one?
#
# <details><summary>Answer</summary>
#
# Not for that reason: with one more constant nearly any story fits better. Look for a measurement about which the stories *disagree*, such
# as less work, or more ranks than you have tried.
#
# </details>
#
# **4.** Weak scaling: four times the ranks, four times the job, and the same seconds per update. Is the speed-up 4?
#
# <details><summary>Answer</summary>
#
# Four times the work per second, yes. It is no strong speed-up: the *old* job need not have become faster at all, and an
# update with four times the steps is not four updates.
#
# </details>
#
# **5.** "On my laptop 8 ranks are slower than 2, so the program does not scale." What do you ask?
#
# <details><summary>Answer</summary>
#
# How many cores, and how do its ranks wait? On 2 cores eight ranks are oversubscribed, and spinning alone can slow the
# learner down several times. Such a point says nothing about a machine with 8 cores, neither good nor bad.
#
# </details>
#
# ## Appendix: what was claimed in 2016
#
# - *The post*: two threads cut the time by 50 %, three by 66 %, four and more flatten. The logs say 47 %, 64 %, 69 %:
#   true, of **collecting**. The whole update went from 19.3 s to 6.6 s: 2.95 times as fast with 5 threads, 2.90 with 8.
# - *The paper*: a hardware limit is the likely reason. It may be. A serial part alone is excluded (by Karp-Flatt and a
#   fit), and so is a fixed cost per thread (by his first updates). A ceiling and a cost that grows with the work are
#   left; the logs cannot tell them apart, and the number of cores named does not fit.
# - *The paper*: "additional cores are best suited to parallelize the actors rather than the learners". With a serial
#   fraction of 0.07, yes. Since then collecting became cheaper by more than learning did, so that it takes fewer ranks
#   until the learner is the larger part: "Actors, or learners?" prints how many, for him and for us.
# - Figure 2, left and right, and four tasks by the clock: F2L, F2R and F1, below, on 2 cores. Two ranks take 0.54 of one's
#   time to collect (0.51 to 0.56): whether that is the half, give or take a twentieth, cannot be told. They have 60,000 steps
#   in 0.59 to 0.69 of one's time: sooner on every task, and on none twice as soon, as rank 0 learns alone. What three, four
#   and five actors do takes as many cores; here they disturb each other.
# - *Neither* gives an interval or a number of trials for the figure, and neither compares the learned policies of
#   different thread counts. Ours are equal to the bit, so that the seconds are all there is to compare.

# %%
show_claims("F2L", "F2R", "F1")
