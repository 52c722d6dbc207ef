# ---
# jupyter:
#   timing: true
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
# # 15 To 100,000 ranks
#
# **What would limit TRPO on 100,000 ranks?**
#
# *Elective. It needs lectures 06 to 08 and 10.*
#
# <!-- loop -->
#
# You can measure two ranks. A hundred thousand are out of reach, but you can *predict* them: from what one rank
# does, from what a message costs, and from how the work is shared. A prediction deserves trust where it can be checked. So
# you first predict two ranks of this machine and measure them. Then you go to machines that are not here. Every number
# about them is **simulated, and called so**.
#
# | in this notebook | in the package | source |
# |---|---|---|
# | `makespan` | `minitrpo/course/scaling/events.py` | Graham 1969: list scheduling |
# | messages, failures (given) | `minitrpo/course/scaling/formulas.py` | Thakur et al. 2005; Young 1974, Daly 2006 |
# | `finite_source` | `minitrpo/course/scaling/formulas.py` | Reiser & Lavenberg 1980: mean value analysis |
# | `updates_needed` | `minitrpo/course/scaling/formulas.py` | McCandlish et al. 2018: the noise scale |
# | the whole iteration (given) | `minitrpo/course/scaling/model.py` | `docs/scaling.md` |
#
# *90 minutes in class with the exercises, a minute to run. You need: lectures 06 to 08, and 10.*

# %%
import csv
import json
from collections.abc import Sequence
import heapq
import math

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PHASE_COLORS, RED
from minitrpo.course.classroom import budget, compare, recorded, reveal, say_if_busy, train
from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.events import push
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.speedup.command import summary
from minitrpo.parallel.this_process import cores

plt.rcParams["legend.fontsize"] = 9
author = json.loads(recorded("author_2016.json").read_text())["speedup"]
with recorded("08_speedup.csv").open() as file:
    before = [row for row in csv.DictReader(file) if row.pop("what") == "20,000 steps"]
before = summary([{name: float(text) for name, text in row.items()} for row in before], weak=False)
MADE = json.loads(recorded("origins.json").read_text())["08_speedup"]["machine"].partition(", ")[2]
RANKS = np.array([1, 8, 64, 512, 4096, 32_768, 100_000])

# %% [markdown]
# ## Two ranks, predicted before they run
#
# One rank trains on Reacher, and its log says where the seconds go. Rank 0 will learn alone, so two ranks share only the
# playing. **How many times as fast** will a whole iteration be on two ranks of this machine? Compute it by hand from the
# two numbers that the cell prints, and write it down before you go on.

# %%
JOB = ("--preset", "episodes", "--env", "Reacher-v5", "--steps-per-update", 5000, "--learner", "root")
JOB = (*JOB, "--total-steps", budget(50_000, 15_000))


def phases(ranks):
    """Return the median seconds of playing, of the rest, and of whole iterations, the first one left out."""
    columns = train(ranks, *JOB).columns()
    playing, whole = ((columns["collect_s"] + columns["wait_s"])[1:], columns["iteration_s"][1:])
    return float(np.median(playing)), float(np.median(whole - playing)), float(np.median(whole))


say_if_busy()
playing, rest, whole = phases(1)
share = 100 * playing / (playing + rest)
print(f"one rank: {share:.0f} % playing, {100 - share:.0f} % for the rest; {cores()} core(s)")

# %% prediction="yes"
guess_two = 1.4  # seconds on one rank over seconds on two

# %%
say_if_busy()
_, _, together = phases(2)
by_formula = (playing + rest) / (playing / min(2, cores()) + rest)


def show_two():
    compare("two ranks, times as fast", guess_two, whole / together)
    print(f"playing halved, the rest as it is: {by_formula:.2f}")
    one, two, *_ = before
    rest_s = one["median_iteration_s"] - one["median_collect_s"]
    by_hand = one["median_iteration_s"] / (one["median_collect_s"] / 2 + rest_s)
    print(f"recorded on 2 cores, not quite idle ({MADE}), 20,000 steps:", end=" ")
    print(f"predicted {by_hand:.2f}, measured {two['speedup']:.2f}")


reveal(guess_two, show_two)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# This is Amdahl's law with your own numbers. An error has a reason: cores that share a cache or are two threads of one, a
# turbo clock that falls, messages, other programs. In 72 recorded configurations on 2 to 8 ranks of machines with few
# cores, these two lines of arithmetic are off by 5 % in the median, and in 85 % of them (61) in the same direction: they promise
# too much. (48 of the 72 have more ranks than cores; the arithmetic then counts the cores.) In the 24 of them that have two
# ranks, the predicted time is between 19 % shorter and 2 % longer than the measured one, and 6 % shorter on average.
#
# </details>
#
# Frans's figure of 2016 is a second check. It has the seconds for 20,000 steps of Reacher on 1 to 8 threads. His log of
# one thread has 17.9 s of playing and 1.4 s of learning, and Frans says that the machine has five cores. That gives a
# **prediction**, made from one thread alone. The curve with four cores is a **fit**: we chose four after looking at the
# eight points.

# %%
threads, took = np.array(author["threads"]), np.array(author["rollout_s"]) + np.array(author["learn_s"])
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(threads, took, "*", color=RED, markersize=13, label="Frans's logs, 2016")
for count, color, how in ((5, BLUE, "predicted: 5 cores, as he says"), (4, GREEN, "fitted: 4 cores")):
    predicted = author["rollout_s"][0] / np.minimum(threads, count) + author["learn_s"][0]
    error = 100 * np.median(np.abs(predicted / took - 1)[1:])
    axis.plot(threads, predicted, "o-", color=color, label=f"{how}; median error {error:.0f} %")
axis.set(xlabel="threads", ylabel="seconds per iteration", ylim=(0, None))
axis.legend()
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The prediction misses by 24 % in the median, more than any of the 72 configurations above. Every point lies above it from 2
# threads on. Cores that slow each other down would do that (lecture 08). A prediction that fails says that something is
# missing. A fit cannot show this, because a fit never had the chance to fail.
#
# ## A pool on an imagined clock
#
# A simulated rank need not compute anything. Only one thing about it matters: **when it is free again**. The program
# jumps from one such moment to the next (a *discrete-event simulation*). Lecture 07b's counter is one more moment: when it
# is free to serve the next rank.
#
# ### Exercise 1: `makespan`

# %% exercise="makespan"

# %% [markdown]
# Stuck? `hint("makespan")`, then `hint("makespan", 2)`; the same for every exercise.
#
# A simulator is tested where the answer is known: equal episodes take whole rounds, one rank takes the sum, and with as
# many ranks as episodes the rollout takes as long as the longest episode.
#
# A thousand ranks play one episode each. An episode takes one second on average, but the times are exponential: the
# fraction that is longer than $t$ seconds is $e^{-t}$. **How many seconds** does the rollout take, on average?

# %% prediction="yes"
guess_longest = 3  # seconds

# %%
rng = np.random.default_rng(0)
rollouts = [mine.makespan(rng.exponential(1.0, 1000).tolist(), 1000) for _ in range(200)]


def show_longest():
    compare("seconds of the rollout, simulated", guess_longest, float(np.mean(rollouts)), "s")
    print(f"1 + 1/2 + ... + 1/1000 = {formulas.largest_exponential(1000):.2f}")


reveal(guess_longest, show_longest)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# More than seven seconds. The average rank plays for one of them, so the machine waits six sevenths of its time. The mean of the
# longest of $n$ such times is $1 + \frac12 + \dots + \frac1n$, about $\ln n + 0.58$. Segments of equal length (lecture 07b)
# have no longest one; workers without a barrier (lecture 10) do not wait for it.
#
# </details>
#
# Next comes a batch of 2,000 episodes on any number of ranks. Episodes take 20 milliseconds on average, about an early
# episode of Humanoid, and the counter needs 10 microseconds for each draw.

# %%
lengths = rng.exponential(0.02, 2000).tolist()
ideal = np.array([sum(lengths) / ranks for ranks in RANKS])
figure, axis = plt.subplots(figsize=(7, 3.8))
axis.loglog(RANKS, ideal, "--", color=GREY, label="ideal")
for draw, color in ((1e-5, BLUE), (0.0, GREEN), (1e-3, RED)):
    seconds = [mine.makespan(lengths, int(ranks), draw) for ranks in RANKS]
    look = {"marker": "x", "linestyle": "--", "markersize": 9} if draw == 0 else {"marker": "o"}
    axis.loglog(RANKS, seconds, color=color, label=f"a draw takes {1e6 * draw:,.0f} microseconds", **look)
axis.axvline(2000, color=GREY, alpha=0.5)
axis.text(1800, ideal[0], "as many ranks as episodes", color=GREY, ha="right")
axis.set(xlabel="ranks (simulated)", ylabel="seconds of the rollout")
axis.legend(loc="lower left")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The picture shows two limits. The first is the longest episode: from 4,096 ranks on the rollout takes as long as that
# one. (The green crosses lie on the blue line: a draw of 10 microseconds does not matter here.) The second is the counter,
# which serves `1 / draw` ranks a second: at a millisecond a draw, 2,000 episodes take at least two seconds on any machine.
# One pool for each machine of 64 ranks would move that limit. The bits would stay the same, because a request's number
# decides everything about its episode.
#
# ## What messages cost
#
# A message takes `latency + bytes * per_byte` seconds. The cost of a collective call follows from the number of messages
# that must come *one after another*. With $p$ ranks:
#
# | call | latencies | bytes |
# |---|---|---|
# | gather, one rank after another | $p - 1$ | all |
# | gather, in a tree | $\log_2 p$, rounded up | all |
# | sum, up a tree and down again | $2 \log_2 p$ | all of them each time |
# | sum, in a ring | $2 (p - 1)$ | about twice the vector |
# | sum, by halving (Rabenseifner) | $2 \log_2 p$ | about twice the vector |

# %%
net, theta = Network(2e-6, 1e-10), 8 * 27_618  # 2 microseconds, 10 GB/s; a policy for Humanoid, in bytes
several = {
    "gather 8 bytes, one after another": [formulas.gather(net, int(p), 8 * p) for p in RANKS],
    "gather 8 bytes, in a tree": [formulas.gather(net, int(p), 8 * p, tree=True) for p in RANKS],
    "sum a gradient, in a tree": [formulas.tree_allreduce(net, int(p), theta) for p in RANKS],
    "sum a gradient, in a ring": [formulas.ring_allreduce(net, int(p), theta) for p in RANKS],
    "sum a gradient, by halving": [formulas.halving_allreduce(net, int(p), theta) for p in RANKS],
}
figure, axis = plt.subplots(figsize=(7, 3.8))
for (name, seconds), style in zip(several.items(), ("s-", "s--", "o-", "o--", "o:")):
    color = PHASE_COLORS["gather"] if "gather" in name else BLUE
    axis.loglog(RANKS[1:], 1e3 * np.array(seconds[1:]), style, color=color, label=name)
axis.set(xlabel="ranks (formulas)", ylabel="milliseconds")
axis.legend()
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# A sum over 100,000 ranks takes less than a millisecond on this network, if it goes in a tree. TRPO needs a dozen sums in
# an update. The root's own arithmetic and the samples that travel to it grow with the batch instead.
#
# ## Without a barrier: a parameter server
#
# Lecture 10's workers need no barrier, but they share a server, which applies one gradient at a time. $W$ workers (the
# function says `customers`) compute for `think` seconds and are served in `service` seconds. How many gradients a second?
# There are two bounds: `1 / service`, and `W / (think + service)`. The truth lies below both, because workers queue. For
# exponential times there is an exact recursion in $W$: *mean value analysis*.
#
# ### Exercise 2: `finite_source`

# %% exercise="finite_source"

# %%
think, service = 1.0, 0.02
workers = np.arange(1, 121)
exact = [mine.finite_source(int(n), think, service) for n in workers]
played = {}
for n in (1, 10, 30, 50, 80, 120):
    each = max(40, 8000 // n)
    played[n] = push(rng.exponential(think, (n, each)), rng.exponential(service, (n, each)))
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(workers, np.minimum(1 / service, workers / (think + service)), "--", color=GREY, label="the two bounds")
axis.plot(workers, exact, color=BLUE, linewidth=2, label="finite_source")
axis.plot(list(played), [p.rate for p in played.values()], "o", color=ORANGE, label="played event by event")
axis.set(xlabel="workers", ylabel="gradients a second")
axis.legend()
axis.grid(alpha=0.3)
plt.show()
print("staleness, played:", {n: round(float(p.staleness.mean()), 1) for n, p in played.items()})

# %% [markdown]
# The mean staleness is $W - 1$, whatever the times are (lecture 10; a little less here, because workers that are done push
# no more). So the gradients of 100,000 workers on one server are 100,000 versions old. Lecture 10's bound leaves them a
# rate (step times curvature) of 0.000016. More shards serve more gradients a second, and the age stays.
#
# *You should know: failures are no limit here. If a machine of 64 cores fails every 1,000 days, a job on 100,000 cores is
# interrupted every 15 hours. With a checkpoint of 10 ms (TRPO's takes 2 ms) Young's rule writes one every 33 s and loses
# 0.06 % of the time; if a restart takes a minute, it loses 0.2 %. With a checkpoint of 300 s it would be 11 %.*
#
# ## What is a larger batch worth?
#
# More ranks need more work: larger batches. Steps per second then grow without limit (Gustafson), but steps are not
# learning. An update with a batch of $B$ steps gets $1 / (1 + \mathcal{B} / B)$ as far as one with infinitely many steps.
# $\mathcal{B}$ is the **noise scale**: the variance of one step's gradient over the squared mean. Far below it, twice the
# batch saves half of the updates; far above, it saves nothing.
#
# ### Exercise 3: `updates_needed`

# %% exercise="updates_needed"

# %%
batches = np.geomspace(1e3, 1e8, 60)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
for noise, color in ((1e3, GREEN), (1e4, BLUE), (1e5, ORANGE)):
    updates = np.array([mine.updates_needed(b, 1e3, 1000.0, noise) for b in batches])
    axes[0].loglog(batches, updates, color=color)
    axes[1].loglog(batches, updates * batches, color=color, label=f"noise scale {noise:,.0f}")
axes[0].set(xlabel="steps per update", ylabel="updates to the same return")
axes[1].set(xlabel="steps per update", ylabel="steps to the same return")
axes[1].legend()
for axis in axes:
    axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Humanoid's noise scale is about 11,000 steps at the beginning of learning. With 1,000 steps on each of 100,000 ranks a
# batch is 9,000 times that: by this law a hundredth of the machine would get 99 % as far with each update.
#
# *The noise scale is one run's, with the plain gradient (`recorded/15_inputs.json`); lecture 09b has it in the metric of
# the policy.*
#
# ## All of it, with sliders
#
# The next cell puts an iteration together: 2,000 episodes of some mean length; learning, of which a part can be shared; a
# network; failures. Look at one setting first, then move the sliders. **Which part limits first, and what must you change
# so that another part does?**


# %%
def costs(ranks, episode, learning, shared, latency):
    """Return {part: seconds} of an iteration with 2,000 episodes, simulated."""
    lengths = np.random.default_rng(1).exponential(episode, 2000).tolist()
    play_s = mine.makespan(lengths, ranks, 1e-5 if ranks > 1 else 0.0)
    share = sum(lengths) / ranks
    sums = 12 * formulas.tree_allreduce(Network(latency, 1e-10), ranks, theta)
    gather = formulas.gather(Network(latency, 1e-10), ranks, 2000 * 40 * 1700)  # Humanoid: 40 steps of 1,700 bytes
    own = learning * (1 - shared)
    return {"playing": share, "waiting": play_s - share, "gather": gather, "rank 0 alone": own,
            "shared learning": learning * shared / ranks, "sums": sums}  # fmt: skip


LOOKS = {  # the phase whose colour a part has; hatched: what all ranks do together
    "playing": ("collect", ""), "waiting": ("wait", ""), "gather": ("gather", ""),
    "rank 0 alone": ("update", ""), "shared learning": ("update", "///"), "sums": ("gather", "///"),
}  # fmt: skip


def picture(episode_ms=20, learning_s=2.0, shared=0.9, latency_us=2.0, core_fails_every_days=64_000):
    """Draw where an iteration's time goes, and the speed-up."""
    found = {int(p): costs(int(p), 1e-3 * episode_ms, learning_s, shared, 1e-6 * latency_us) for p in RANKS}
    total = np.array([sum(parts.values()) for parts in found.values()])
    lost = [formulas.with_failures(1e3, formulas.young(0.01, f), 0.01, 60.0, f) / 1e3
            for f in 86_400 * core_fails_every_days / RANKS]  # fmt: skip
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), constrained_layout=True)
    bottom = np.zeros(len(RANKS))
    for name, (phase, hatch) in LOOKS.items():
        heights = np.array([parts[name] for parts in found.values()]) / total
        look = {"color": PHASE_COLORS[phase], "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        left.bar([f"{p:,}" for p in RANKS], heights, bottom=bottom, label=name, **look)
        bottom += heights
    left.set(xlabel="ranks (simulated)", ylabel="fraction of an iteration", ylim=(0, 1))
    left.tick_params(axis="x", rotation=30)
    left.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    right.loglog(RANKS, RANKS, "--", color=GREY, label="ideal")
    right.loglog(RANKS, total[0] / (total * np.array(lost)), "o-", color=BLUE, label="speed-up, failures included")
    right.set(xlabel="ranks (simulated)", ylabel="times as fast as one rank")
    right.legend()
    right.grid(alpha=0.3)
    plt.show()


picture()

# %%
_ = ipywidgets.interact(
    picture,
    episode_ms=ipywidgets.IntSlider(20, 1, 1000, continuous_update=False),
    learning_s=ipywidgets.FloatLogSlider(2.0, min=-2, max=2, continuous_update=False),
    shared=ipywidgets.FloatSlider(0.9, min=0.0, max=1.0, step=0.05, continuous_update=False),
    latency_us=ipywidgets.FloatLogSlider(2.0, min=-1, max=3, continuous_update=False),
    core_fails_every_days=ipywidgets.IntSlider(64_000, 100, 100_000, continuous_update=False),
)

# %% [markdown]
# With these settings rank 0 is the first limit: from 512 ranks on its part is the largest. At 100,000 the gather is
# larger, one message after another. If learning is shared completely, the wait for the longest episode comes first.
# (`python mpi_scripts/scaling.py predict` does the same with everything that was measured.)
#
# ## Bug hunt
#
# A colleague's simulator says that the counter never limits anything. It passed all tests with a counter that costs
# nothing. What is wrong?


# %%
def suspect(lengths: Sequence[float], ranks: int, draw: float = 0.0) -> float:
    times = [0.0] * ranks
    for seconds in lengths:
        earliest = heapq.heappop(times)
        heapq.heappush(times, earliest + draw + seconds)
    return max(times)


_ = hunt("makespan", suspect)

# %% [markdown] solution="only"
# **The bug**: every rank has a counter of its own. Each rank spends the time of its draw, and no rank waits while another is
# served. With a draw that costs nothing both programs agree, so the tests did not find the bug. A shared thing needs a
# state of its own in the simulator: the time at which it is free again.

# %% [markdown]
# ## Summary
#
# - Amdahl's law with one rank's seconds predicts several ranks to about 5 %, in 85 % of cases too fast, and two ranks by up to
#   19 % too fast. A fit is no prediction.
# - A rollout ends with its longest episode: $\ln n + 0.58$ times the mean for $n$ exponential ones.
# - Sums in a tree are cheap. Work of the root and messages to it are not.
# - Without a barrier the server's queue is a limit, and gradients are $W - 1$ versions old.
# - A batch far above the noise scale saves no updates.
#
# **Next**: lecture 16 puts all ways to learn in parallel on one map.
#
# ## Open questions
#
# 1. Plot `mine.makespan` of 2,000 exponential episodes against ranks for one common counter and for one counter per 64
#    ranks (simulate each group of 64 with its share of the episodes), with a draw of 1 ms. Explain in three sentences
#    which limit is left.
# 2. With `updates_needed`, plot the time to a return against ranks: each rank plays 1,000 steps per update in 0.1 s, an
#    update adds 0.5 s on rank 0, and the noise scale is 11,000. Mark where twice the ranks save less than 10 %. Explain in
#    three sentences what you would do with the other ranks.
#
# ## Quiz
#
# **1.** Your simulation of 1,000 ranks agrees with runs on 1 and 2. Is it right for 1,000?
#
# <details><summary>Answer</summary>
#
# It is not refuted. Effects of many ranks (messages one after another at the root, a busy counter, the longest of many
# episodes) are too small to be visible on two. So test those parts where formulas are exact, and say "simulated".
#
# </details>
#
# **2.** Twice the ranks, twice the batch: steps per second double. Is learning twice as fast?
#
# <details><summary>Answer</summary>
#
# Only far below the noise scale. Above it an update gets hardly further with twice the steps, and takes as long as before:
# the return comes at the same time, at twice the cost.
#
# </details>
#
# **3.** A server in 16 shards applies 16 times as many gradients a second. Are they younger?
#
# <details><summary>Answer</summary>
#
# In seconds, yes; in versions, no. Between a pull and a push every other worker still pushes once, on average: $W - 1$
# versions.
#
# </details>
