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
# Lecture 07 shared the episodes out among ranks. Everybody expects that to be faster. This lecture measures it so that
# a colleague who doubts you would have to believe you, finds out what limits it, and then reads the speed-up figure of
# Frans & Hafner 2016 with the author's own numbers.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `interval` | `minitrpo/parallel/speedup.py` | "multiple trials", section 6 |
# | `amdahl`, `gustafson` | `minitrpo/parallel/speedup.py` | "diminishing returns", section 6 |
# | `karp_flatt` | `minitrpo/parallel/speedup.py` | "hardware limitations", section 6: a guess, here a test |
# | `measure` | `minitrpo/commands/speedup.py`, for the long version | figure 2 |
#
# *About 60 minutes to teach, a minute and a half to run. You need: medians, lectures 06 and 07. Close your other
# programs: they would be in the numbers.*

# %%
import csv
import json

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import ArrayLike
from scipy.optimize import curve_fit

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from minitrpo.classroom import budget, compare, mpiexec_code, recorded, train
from minitrpo.parallel.speedup import Number, cores, efficiency, speedup, speedup_interval
from minitrpo.parallel.timing import read_chrome_trace
from minitrpo.runs.folder import sha256

RANKS = budget((1, 2, 4), (1, 2))
STEPS = budget(20_000, 2_000)
UPDATES = budget(4, 3)
print(f"{cores()} cores here; runs on {RANKS} ranks, {STEPS:,} steps per update")

# %% [markdown]
# ## One number, and what is wrong with it
#
# Let $T_P$ be the seconds that one update takes on $P$ ranks. The **speed-up** is $S = T_1 / T_P$; the **efficiency**
# is $S / P$, the fraction of the hired cores that you got something for. $S = P$ is called ideal.
#
# We take the task of Frans & Hafner's figure 2: Reacher, 20,000 steps per update, learning as they did (`--preset
# paper`). The first update of a run is left out: it pays for memory, caches and imports (a **warm-up**). How many times
# faster is an update on 2 ranks than on 1? **Type a prediction.**

# %% prediction="yes"
guess_two = 1.8

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


rounds = [one_round(RANKS)]
compare("speed-up on 2 ranks, one run each", guess_two, round_speedup(rounds[0]))

# %% [markdown]
# One run each. Would you bet on the second digit? Measure again, and change the order: if the machine slowly gets
# warmer or busier, going always from 1 to 4 would charge that to the 4. Rounds that visit all cases, to and fro, are
# called **interleaved**.

# %%
for order in budget((RANKS[::-1], RANKS), (RANKS[::-1],)):
    rounds.append(one_round(order))
print("speed-up on 2 ranks, round by round:", ", ".join(f"{round_speedup(one):.3f}" for one in rounds))
thetas = [theta for one in rounds for _, theta in one.values()]
print("all runs ended with the same theta:", all(np.array_equal(thetas[0], theta) for theta in thetas))

# %% [markdown]
# The same `theta`, to the bit: every run did the same work, so any difference in seconds is the machine's. (For many
# programs this has to be argued; here it is checked.) But the seconds differ. What is *the* time of an update, then?
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
# is the **bootstrap interval** (Efron 1979). It knows nothing about bell curves, which suits seconds: they have a long
# tail on one side.
#
# ### Exercise 1: `interval`

# %% exercise="interval"

# %% [markdown]
# Stuck? `hint("interval", 1)`, then 2 and 3. Below, every update as a dot, the median as a line, and your interval.


# %%
def seconds(ranks, phase="iteration_s"):
    """Return all measurements of a phase on these ranks, from all rounds."""
    return np.concatenate([one[ranks][0][phase] for one in rounds])


figure, axis = plt.subplots(figsize=(7.5, 3.8))
for place, ranks in enumerate(RANKS):
    for number, one in enumerate(rounds):
        y = one[ranks][0]["iteration_s"]
        spot = np.full(len(y), place + 0.1 * (number - 1))
        axis.plot(
            spot, y, "o", color=(ORANGE, GREEN, PURPLE)[number], label=f"round {number + 1}" if not place else None
        )
    middle, (low, high) = np.median(seconds(ranks)), mine.interval(seconds(ranks))
    axis.fill_between([place - 0.3, place + 0.3], low, high, color=BLUE, alpha=0.2)
    axis.hlines(middle, place - 0.3, place + 0.3, color=BLUE, label=None if place else "median, 95 % interval")
axis.set(xticks=range(len(RANKS)), xticklabels=RANKS, xlabel="ranks", ylabel="seconds per update")
axis.set_ylim(0, 1.1 * max(seconds(ranks).max() for ranks in RANKS))
axis.legend(loc="lower left")
axis.grid(alpha=0.3, axis="y")
plt.show()

# %% [markdown]
# A speed-up divides two medians, and both wobble. So its interval draws anew for both: `speedup_interval`. And one more
# question has to be answered before a speed-up means anything: the speed-up **of what**?

# %%
for phase, name in (("rollout_s", "collecting alone"), ("iteration_s", "the whole update")):
    for ranks in RANKS[1:]:
        low, high = speedup_interval(seconds(1, phase), seconds(ranks, phase))
        s = speedup(seconds(1, phase), seconds(ranks, phase))
        print(f"{name}, {ranks} ranks: {s:.2f} (95 %: {low:.2f} to {high:.2f}), efficiency {efficiency(s, ranks):.2f}")

# %% [markdown]
# If an interval contains 1, you have not shown that it is faster at all. Three warnings: updates of one run resemble
# each other more than updates of different runs, so nine from three runs are worth less than nine from nine; two
# intervals that overlap may still belong to different medians; and an interval covers the noise you had, not the noise
# of another machine.
#
# The two blocks differ, and that is not noise: ranks share the collecting, but only rank 0 learns.
#
# ## The part that does not get faster
#
# Call the time on one rank 1, and let $s$ be the **serial fraction**, the part that stays with one rank whatever you
# do: for us, the learner's. $P$ ranks divide the rest. Gene Amdahl (1967) asked what can be gained at most.
#
# ### Exercise 2: `amdahl`

# %% exercise="amdahl"

# %% [markdown]
# For Frans & Hafner in 2016, collecting took 17.93 s and learning 1.41 s: $s = 0.073$. So with any number of cores they
# could become 13.7 times faster at most. Since then collecting has become far cheaper, and learning only
# a little. What is *our* limit, with infinitely many ranks?

# %% prediction="yes"
guess_limit = 8

# %%
collect, learn = np.median(seconds(1, "rollout_s")), np.median(seconds(1, "update_s"))
fraction = learn / np.median(seconds(1))
print(f"on one rank: collecting {collect:.3f} s, learning {learn:.3f} s, serial fraction {fraction:.2f}")
compare("the most that any number of ranks can give", guess_limit, mine.amdahl(fraction, 1e9))

many = np.linspace(1, RANKS[-1], 100)
figure, axis = plt.subplots(figsize=(7.5, 4.2))
axis.plot(many, many, "--", color=GREY, label="ideal")
axis.plot(many, mine.amdahl(fraction, many), color=ORANGE, label=f"Amdahl's law, serial fraction {fraction:.2f}")
for phase, color, name in (("rollout_s", GREEN, "collecting alone"), ("iteration_s", BLUE, "the whole update")):
    s = np.array([speedup(seconds(1, phase), seconds(ranks, phase)) for ranks in RANKS])
    ends = [(1, 1), *(speedup_interval(seconds(1, phase), seconds(ranks, phase)) for ranks in RANKS[1:])]
    dodge = 0.03 if phase == "iteration_s" else -0.03
    axis.errorbar(
        np.add(RANKS, dodge),
        s,
        np.abs(np.transpose(ends) - s),
        fmt="o",
        capsize=5,
        color=color,
        label=f"measured: {name}",
    )
if RANKS[-1] > cores():
    axis.axvspan(cores() + 0.1, RANKS[-1] + 0.2, color=GREY, alpha=0.15, label=f"more ranks than the {cores()} cores")
axis.set(xlabel="ranks", ylabel="speed-up", xticks=RANKS, ylim=(0, None))
axis.legend(loc="upper left")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Amdahl's law is a bound: it forgets waiting, gathering and crowding. Where the whole update lies *above* its curve,
# look for a reason (noise in the fraction, or a cache that fits now), and do not celebrate.
#
# Drag the fraction (with a running kernel; the picture below is the same without one).


# %%
def show_limit(fraction=0.07):
    reached = [f"{ranks} ranks {mine.amdahl(fraction, ranks):.1f}" for ranks in (2, 8, 64, 1000)]
    print(f"serial fraction {fraction:.2f}: {', '.join(reached)}; never more than {1 / fraction:.1f}")


_ = ipywidgets.interact(show_limit, fraction=ipywidgets.FloatSlider(min=0.01, max=0.9, step=0.01, value=0.07))

# %%
ranks = np.geomspace(1, 1000, 100)
figure, axis = plt.subplots(figsize=(7.5, 3.4))
axis.loglog(ranks, ranks, "--", color=GREY, label="ideal")
for s, color, style in ((0.01, GREEN, "-"), (0.073, BLUE, "-."), (0.3, ORANGE, ":"), (0.6, RED, "-")):
    axis.loglog(ranks, mine.amdahl(s, ranks), style, color=color, linewidth=2, label=f"serial fraction {s}")
axis.set(xlabel="ranks", ylabel="speed-up (Amdahl)", ylim=(0.9, 200))
axis.legend(loc="upper left")
axis.grid(alpha=0.3, which="both")
plt.show()

# %% [markdown]
# ## More ranks than cores
#
# Eight ranks on 2 cores are **oversubscribed**: the cores take turns. Eight workers with two shovels do not dig eight
# times as fast as one. But need they be *slower*? They must not be, and often are, for a reason that is easy to miss:
# many MPI calls wait by asking "is it there yet?" as fast as they can. That is called **spinning**; it saves
# microseconds when there is a core to burn, and steals the learner's core when there is not. Below, rank 0 computes
# while 7 others wait for it, once asleep (as this package waits) and once in MPI's own `Barrier`. How many times longer
# does rank 0 need when the others spin?

# %% prediction="yes"
guess_spinning = 1.5

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
asleep, spinning = map(float, mpiexec_code(budget(8, 4), PROGRAM, budget(40_000_000, 4_000_000)).split())
print(f"the others asleep: {asleep:.2f} s; spinning: {spinning:.2f} s")
compare("slow-down of rank 0 by ranks that spin", guess_spinning, spinning / asleep, "times")

# %% [markdown]
# On a machine with more cores than ranks you see 1, and the trap stays hidden until somebody runs your program on a
# laptop. With fewer cores it is a learner that looks slow although nothing is wrong with it. So: sleep, and mark every
# oversubscribed point in a figure as what it is. It says nothing about a machine with more cores. `train.py` goes one
# step further: ranks that have no core of their own leave the episodes to those that have one, who play more of them in
# lockstep, which is cheaper. `--oversubscribe` makes all of them work; the policy is the same to the bit.
#
# ## What limits it? Turn Amdahl's law around
#
# Amdahl needs $s$. Alan Karp and Horace Flatt (1990) turned the law around: *given* the measured $S$ on $P$ ranks,
# which serial fraction $e$ would explain exactly that? Solve $S = 1 / (e + (1 - e) / P)$ for $e$. Alone, $e$ is another
# way to say $S$. As a *series* over $P$ it is a diagnosis:
#
# - $e$ stays the same: a serial part is the limit, as Amdahl has it. Make it smaller or share it.
# - $e$ grows with $P$: something gets worse with every rank, such as messages, queueing, or cores that are not there.
#
# ### Exercise 3: `karp_flatt`

# %% exercise="karp_flatt"

# %% [markdown]
# Now the seed of it all. Frans & Hafner's figure 2 (left) shows the seconds for 20,000 steps of Reacher against the
# number of threads (processes, really), and Frans's post of 2016 shows it again. Here are the medians of the author's
# own logs, in his repository kvfrans/parallel-trpo under `results/speedup`, 186 to 543 updates each; and beside it our
# recorded run of `python -m minitrpo speedup` (the long version of what you measured above).

# %%
threads = np.arange(1, 9)
rollout = np.array([17.93, 9.47, 6.44, 5.57, 5.12, 5.12, 5.16, 5.21])  # s, 20,000 steps of Reacher-v1
learning = np.array([1.41, 1.40, 1.40, 1.43, 1.45, 1.42, 1.41, 1.47])  # s, one update

about = json.loads(recorded("08_speedup.json").read_text())
with recorded("08_speedup.csv").open() as file:
    rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    rows = [row | {"rollout_s": row["collect_s"] + row["wait_s"]} for row in rows]
our_ranks = np.array(sorted({int(row["ranks"]) for row in rows}))
our_cores = about["provenance"]["usable_cores"]


def recorded_medians(phase):
    """Return the recorded median seconds of a phase for each number of ranks."""
    return np.array([np.median([row[phase] for row in rows if row["ranks"] == ranks]) for ranks in our_ranks])


ours, our_learning = recorded_medians("rollout_s"), recorded_medians("update_s")
print(f"recorded {about['provenance']['date'][:10]}, {our_cores} cores, {about['provenance']['machine']}")
print(
    f"{len(rows)} updates on {our_ranks.tolist()} ranks; load average before: {about['provenance']['load_before'][0]:.1f}"
)

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 3.9))
axes[0].plot(threads, rollout, "o-", color=BLUE, label="collecting 20,000 steps")
axes[0].plot(threads, learning, "s-", color=GREEN, label="learning")
axes[0].set(xlabel="threads", title="Frans & Hafner 2016, Reacher-v1")
axes[1].plot(our_ranks, ours, "o-", color=BLUE, label="collecting 20,000 steps, recorded")
axes[1].plot(our_ranks, our_learning, "s-", color=GREEN, label="learning, recorded")
live = [np.median(seconds(ranks, "rollout_s")) * 20_000 / STEPS for ranks in RANKS]
axes[1].plot(RANKS, live, "x", color=RED, markersize=9, markeredgewidth=2, label="collecting, live")
axes[1].axvspan(our_cores + 0.25, our_ranks[-1] + 0.5, color=GREY, alpha=0.15, label=f"more than {our_cores} cores")
axes[1].set(xlabel="ranks", title="ours, Reacher-v5")
for axis in axes:
    axis.set(ylabel="median seconds per update", ylim=(0, None), xlim=(0.5, 8.5))
    axis.grid(alpha=0.3)
    axis.legend()
plt.tight_layout()
plt.show()

# %% [markdown]
# "These diminishing returns most likely stem from hardware limitations", says the paper, and the post says so, too. A
# plausible guess; nobody checked. You have the tool. First, for the collecting, $e$:

# %%
his_fractions = mine.karp_flatt(rollout[0] / rollout[1:], threads[1:])
our_fractions = mine.karp_flatt(ours[0] / ours[1:], our_ranks[1:])
print("author, 2 to 8 threads:", his_fractions.round(3))
print(f"ours, {our_ranks[1:].tolist()} ranks:", our_fractions.round(3))

# %% [markdown]
# From 3 threads on it rises without a break, so it is *not* a fixed serial part. What else? Fit three stories with two
# constants each to the eight numbers: a serial part, $a / P + b$; a **ceiling**, $a / \min(P, c)$, where no more than
# $c$ threads' worth of work is ever done at once; and a **cost per thread**, $a / P + b P$, for starting, messages and
# locks.

# %%
stories = {
    "a serial part": lambda p, a, b: a / p + b,
    "a ceiling": lambda p, a, c: a / np.minimum(p, c),
    "a cost per thread": lambda p, a, b: a / p + b * p,
}
fits = {}
for name, story in stories.items():
    fits[name], _ = curve_fit(story, threads, rollout, p0=(18.0, 3.0), sigma=rollout)
    errors = story(threads, *fits[name]) / rollout - 1
    print(f"{name:18} constants {fits[name].round(2)}, typical error {100 * np.sqrt(np.mean(errors**2)):.1f} %")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
many = np.linspace(1, 8, 200)
left.plot(threads, rollout, "o", color=BLUE, markersize=8, label="author's medians")
for (name, story), color, style in zip(stories.items(), (RED, GREEN, ORANGE), (":", "-", "--")):
    left.plot(many, story(many, *fits[name]), style, color=color, linewidth=2, label=name)
left.set(xlabel="threads", ylabel="seconds for 20,000 steps", ylim=(0, None), title="Three stories for one figure")
right.plot(threads[1:], his_fractions, "o-", color=BLUE, label="author: threads on a CPU said to have 5 cores")
right.plot(our_ranks[1:], our_fractions, "s--", color=ORANGE, label=f"ours: ranks on {our_cores} cores")
right.axhline(0, color=GREY, linewidth=1)
right.set(xlabel="threads or ranks", ylabel="Karp-Flatt fraction e of collecting", title="Turned around")
left.legend()
right.set_ylim(top=1.4 * max(our_fractions.max(), his_fractions.max()))  # room for the legend
right.legend(loc="upper left")
for axis in (left, right):
    axis.grid(alpha=0.3)
plt.tight_layout()
plt.show()

# %% [markdown]
# The serial part is out, by a wide margin. But the other two fit about equally well: **eight numbers cannot tell a
# ceiling from a cost per thread.** A better fit would not settle it either; an experiment does, in which the two
# stories part. Change the amount of work: a cost per thread stays, a ceiling shrinks with the work.
#
# The author's logs happen to hold that experiment. His code guesses 1,000 steps for an episode's length before it has
# seen one, so the *first* update of every run collects only 20 episodes of 49 steps, a twentieth of the later ones. If
# it is a cost per thread, then 8 threads still pay it eight times. How many seconds did the first update of 8 threads
# take?

# %% prediction="yes"
guess_first = 3.0

# %%
first = np.array([0.977, 0.484, 0.425, 0.282, 0.263, 0.268, 0.275, 0.277])  # s, the first update, 1 to 8 threads
work = 20 * 49 / (408 * 49)  # episodes of the first update over those of a later one
a, c = fits["a ceiling"]
b = fits["a cost per thread"][1]
print(f"a cost per thread says at least {8 * b:.2f} s; a ceiling says {a * work / c:.2f} s")
compare("the first update on 8 threads", guess_first, first[7], "s")
print("speed-up of the first update: ", (first[0] / first).round(2))
print("speed-up of the later updates:", (rollout[0] / rollout).round(2))

# %% [markdown]
# The same flat top, with a twentieth of the work (one update each, so believe the shape and not the digits). A cost for
# each thread is out; a ceiling on the *rate* is left: all threads together never did more than about $c$ threads' work.
# And our own run is the control: there we *know* where the cores end. On an idle machine $e$ is small up to there and
# turns up behind it, as his does. (If the load printed above was far from 0, other work took part, and it is a muddle.)
# The guess of 2016 stands.
#
# One thing does not: a ceiling of $c \approx 3.6$ on "a 5 core CPU" (paper and post). A note beside the logs speaks of
# "a 4 core macbook pro". Fewer cores than said, clocks that drop when all cores work, one memory for all: the figure
# cannot tell. It would have taken one more line in the paper.
#
# ## A job that grows with the ranks
#
# So far the job was fixed: **strong scaling**. John Gustafson (1988) objected that nobody buys a thousand cores to do
# the old job in a thousandth of the time; one does a bigger job. Give every rank the *same* work and let the job grow:
# **weak scaling**. The question becomes: how much more work per second? Let $s$ be the fraction of the time on *all*
# the ranks in which one works and the others wait.
#
# ### Exercise 4: `gustafson`

# %% exercise="gustafson"

# %% [markdown]
# Gustafson is the optimist: his curve has no ceiling. We give every rank the same number of steps; our largest job is
# just the one measured above. Gustafson with the serial fraction of one rank promises the number printed below. What
# will we measure?

# %%
largest, per_rank = RANKS[-1], STEPS // RANKS[-1]
weak = {ranks: measure(ranks, per_rank * ranks)[0] for ranks in RANKS[:-1]}
weak[largest] = {phase: seconds(largest, phase) for phase in (*PHASES, "iteration_s")}
small_fraction = np.median(weak[1]["update_s"]) / np.median(weak[1]["iteration_s"])
print(f"serial fraction {small_fraction:.2f} with {per_rank:,} steps on one rank; Gustafson promises", end=" ")
print(f"{mine.gustafson(small_fraction, largest):.2f} times the work per second on {largest} ranks")

# %% prediction="yes"
guess_weak = 2.2

# %%
rates = np.array([ranks * speedup(weak[1]["iteration_s"], weak[ranks]["iteration_s"]) for ranks in RANKS])
compare(f"steps per second on {largest} ranks, relative to 1", guess_weak, rates[-1], "times")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9))
bottom = np.zeros(len(RANKS))
for phase, color in zip(PHASES, (BLUE, ORANGE, RED, GREEN)):
    heights = np.array([np.median(weak[ranks][phase]) for ranks in RANKS])
    left.bar(
        [f"{ranks}\n({ranks * per_rank:,})" for ranks in RANKS], heights, bottom=bottom, color=color, label=phase[:-2]
    )
    bottom += heights
left.set(xlabel="ranks (steps per update)", ylabel="median seconds per update, rank 0", ylim=(0, 1.2 * bottom.max()))
left.legend(ncols=4, loc="upper left")
many = np.linspace(1, largest, 50)
right.plot(many, many, "--", color=GREY, label="ideal")
right.plot(many, mine.gustafson(small_fraction, many), color=GREEN, label="Gustafson, with the fraction of one rank")
right.plot(many, mine.amdahl(small_fraction, many), color=ORANGE, label="Amdahl, with the fraction of one rank")
right.plot(RANKS, rates, "o", color=BLUE, markersize=8, label="measured")
right.set(xlabel="ranks", ylabel="steps per second, relative to 1 rank", xticks=RANKS, ylim=(0, None))
right.legend(loc="upper left")
right.grid(alpha=0.3)
plt.tight_layout()
plt.show()

# %% [markdown]
# Look at the green blocks: the learner gets $P$ times the steps and needs about $P$ times as long. Gustafson's promise
# holds for a serial part that does *not* grow with the job. Ours does, so growing the job gains no more than Amdahl
# allows. (Given the fraction as it is on all $P$ ranks, the law is right again, but then it has to be measured there
# and promises nothing.) If you want both, share the learner.
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
guess_sharded = 1.5

# %%
shared = [measure(2, STEPS, "--learner", "sharded") for _ in range(budget(3, 1))]
shared_s = np.concatenate([took["iteration_s"] for took, _ in shared])
by_root = speedup(seconds(1), seconds(2))
compare("speed-up on 2 ranks, both learning", guess_sharded, speedup(seconds(1), shared_s), "times")
print(f"only rank 0 learning: {by_root:.2f} times; same theta:", all(np.array_equal(thetas[0], t) for _, t in shared))

# %%
for name, collecting, learning_s in (
    ("Frans & Hafner, 2016", 17.93, 1.41),
    ("this machine, today", np.median(seconds(1, "rollout_s")), np.median(seconds(1, "update_s"))),
):
    gains = [(collecting / p + learning_s) / (collecting / p + learning_s / p) for p in (2, 8)]
    print(f"{name}: sharing the learner, too, could gain {gains[0]:.2f} times on 2 ranks, {gains[1]:.2f} times on 8")

# %% [markdown]
# So the paper's sentence was right when collecting cost thirteen times as much as learning, and stops being right as
# collecting gets cheaper or ranks get more. What sharing really gains lies below the last two lines, which forget that
# ranks must exchange parts: for a product with 5,000 states a rank computes milliseconds and exchanges microseconds,
# but a minibatch of the perceptron critic (`--critic mlp`; the paper's is linear) is computed in a fraction of a
# millisecond. So with that critic half of the ranks fit it *while* the other half step the policy: neither needs the
# other's result.
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
total = recorded_medians("iteration_s")
timed = [np.array([row["iteration_s"] for row in rows if row["ranks"] == ranks]) for ranks in our_ranks]
for i, ranks in enumerate(our_ranks[1:], 1):
    low, high = speedup_interval(timed[0], timed[i])
    note = f" (oversubscribed: {our_cores} cores)" if ranks > our_cores else ""
    print(f"{ranks} ranks: {total[i]:.3f} s for {total[0]:.3f} s on 1, speed-up {total[0] / total[i]:.2f}", end=", ")
    print(f"95 % {low:.2f} to {high:.2f}, Amdahl's bound {mine.amdahl(our_learning[0] / total[0], ranks):.2f}{note}")

# %% [markdown]
# ## Nobody waits for the critic
#
# So far rank 0 learned while all others waited: the paper's scheme. Which part of learning does the next rollout need?
# The new policy, and not the new value function. So the plan can go out as soon as the policy has moved, and the critic
# is fitted while the others play already (`--overlap yes`). And the critic does not need the new policy either, so that
# one rank can fit it while another steps the policy (`--learner sharded`). `train` does both unless it is told otherwise;
# here they are added one after the other. Policy and seed are the same: will the last line that a run prints be, too?

# %%
colors = {"collect": BLUE, "wait": RED, "policy": GREEN, "critic": PURPLE, "idle": "#E8E8E8"}
job = ("--preset", "episodes", "--env", "Reacher-v5", "--steps-per-update", budget(10_000, 1_000))
job = (*job, "--total-steps", budget(40_000, 3_000), "--trace", "--oversubscribe")
schemes = {
    "rank 0 learns alone": (),
    "the others play meanwhile": ("--overlap", "yes"),
    "and both ranks learn": ("--overlap", "yes", "--learner", "sharded"),
}
schemes = {title: train(2, *job, *options) for title, options in schemes.items()}
traces = {title: read_chrome_trace(run.path / "trace.json") for title, run in schemes.items()}

# %%
figure, axes = plt.subplots(len(schemes), 1, figsize=(10, 5), sharex=True)
for axis, (title, trace) in zip(axes, traces.items()):
    begin = [begins for name, begins, _ in trace[0] if name == "broadcast"][2]  # of the third update
    for rank, spans in enumerate(trace):
        for name, color in colors.items():
            bars = [(begins - begin, lasts) for phase, begins, lasts in spans if phase == name]
            axis.broken_barh(bars, (rank - 0.42, 0.84), color=color, linewidth=0)
    axis.set(title=title, ylim=(1.5, -0.5), yticks=(0, 1), ylabel="rank")
seconds = schemes["rank 0 learns alone"].columns()["iteration_s"][-1]
axes[-1].set(xlim=(0, 1.5 * seconds), xlabel="seconds since the third update began")
swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors.values()]
figure.legend(swatches, colors, loc="upper center", ncols=len(colors))
plt.tight_layout(rect=(0, 0, 1, 0.94))
plt.show()
hashes = [sha256(run.load_checkpoint()["theta"])[:12] for run in schemes.values()]
print("theta sha256:", *hashes)

# %% [markdown]
# Purple used to stand between two rollouts; now it stands beside one. What is learned is the same to the bit, because
# nobody's numbers changed, only when they were computed. The green part is what is left of the learner for all others
# to wait for: Amdahl's serial fraction got smaller without a single core more.
#
# Your own, in a minute or two: `python -m minitrpo speedup --ranks 1,2,4` writes the table, the figure and all of the
# above; `--weak` grows the job.
#
# ## What was claimed, and what we saw
#
# - *The post*: two threads cut the time by 50 %, three by 66 %, four and more flatten. The logs say 47 %, 64 %, 69 %:
#   true, of **collecting**. The whole update went from 19.3 s to 6.5 s, 3.0 times as fast, with 5 or 8 threads alike.
# - *The paper*: a hardware limit is the likely reason. It is; you excluded a serial part (by Karp-Flatt and a fit) and
#   a cost per thread (by his first updates). The number of cores named does not fit.
# - *The paper*: "additional cores are best suited to parallelize the actors rather than the learners". With a serial
#   fraction of 0.07, yes. With the one that you measured today, the bound is the one you compared with your prediction:
#   collecting became so cheap that the learner is the bottleneck.
# - *Neither* gives an interval or a number of trials for the figure, and neither compares the learned policies of
#   different thread counts. Ours are equal to the bit, so that the seconds are all there is to compare.
#
# **Next**: lecture 09 asks how many steps an update needs in the first place.
