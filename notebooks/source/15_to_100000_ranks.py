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
# **What would happen on a machine that nobody here has, and how sure may one be?**
#
# <!-- loop -->
#
# Two ranks can be measured. A hundred thousand cannot, but they can be *predicted*: from what one rank does, from what
# a message costs, and from how the work is shared out. A prediction is worth something if it is right where it can be
# checked. So this lecture predicts first, on this machine, and measures then; it predicts the figure of 2016; and only
# then it goes where nobody can follow. Every number of a machine that is not here is **simulated, and called so**.
#
# | in this notebook | in the package | source |
# |---|---|---|
# | `makespan` | `minitrpo/course/scaling/heart.py`, `events.py` | Graham 1969: list scheduling |
# | messages, failures (given) | `minitrpo/course/scaling/formulas.py` | Thakur et al. 2005; Young 1974, Daly 2006 |
# | `finite_source` | `minitrpo/course/scaling/formulas.py` | Reiser & Lavenberg 1980: mean value analysis |
# | `updates_needed` | `minitrpo/course/scaling/formulas.py` | McCandlish et al. 2018: the noise scale |
# | the whole iteration (given) | `minitrpo/course/scaling/model.py` | `docs/scaling.md` |
#
# *90 minutes in class with the exercises, a minute to run. You need: lectures 06 to 08, and 10.*

# %%
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
from minitrpo.parallel.launcher import cores

plt.rcParams["legend.fontsize"] = 9
author = json.loads(recorded("author_2016.json").read_text())["speedup"]
before = json.loads(recorded("08_speedup.json").read_text())
MADE = before["provenance"]["machine"].partition(", ")[2]
RANKS = np.array([1, 8, 64, 512, 4096, 32_768, 100_000])

# %% [markdown]
# ## Two ranks, predicted before they run
#
# One rank trains on Reacher, and its log says where the seconds go. Rank 0 will learn alone, so on two ranks only the
# playing is shared out. **How many times as fast** will a whole iteration be on two ranks of this
# machine? Compute it by hand from the two numbers that the cell prints, and write it down before you go on.

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
    one, two, *_ = before["summary"]
    rest_s = one["median_iteration_s"] - one["median_collect_s"]
    by_hand = one["median_iteration_s"] / (one["median_collect_s"] / 2 + rest_s)
    print(f"recorded on 2 cores, not quite idle ({MADE}), 20,000 steps:", end=" ")
    print(f"predicted {by_hand:.2f}, measured {two['speedup']:.2f}")


reveal(guess_two, show_two)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# This is Amdahl's law with numbers of your own. Where it is off, there is a reason to look for: cores that share a cache
# or are two threads of one, a turbo clock that falls, messages, other programs. On quiet machines the same two lines are
# off by 5 % in the median of 72 recorded configurations (from -21 to +11 %). A measured factor for how much slower a core
# is while the other works changes that little (from -19 to +12 %): `docs/scaling.md` has a table
# of them.
#
# </details>
#
# ## The figure of 2016, predicted
#
# Frans's figure shows seconds for 20,000 steps of Reacher on 1 to 8 threads. His logs have the seconds of one thread:
# 17.9 playing, 1.4 learning. He says that his machine has five cores.

# %%
threads, took = np.array(author["threads"]), np.array(author["rollout_s"]) + np.array(author["learn_s"])
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(threads, took, "*", color=RED, markersize=13, label="Frans's logs, 2016")
for count, color in ((4, BLUE), (5, GREEN)):
    predicted = author["rollout_s"][0] / np.minimum(threads, count) + author["learn_s"][0]
    error = 100 * np.median(np.abs(predicted / took - 1)[1:])
    axis.plot(threads, predicted, "o-", color=color, label=f"predicted with {count} cores: median error {error:.0f} %")
axis.set(xlabel="threads", ylabel="seconds per iteration", ylim=(0, None))
axis.legend()
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Four cores fit better than five, and his seconds lie above the prediction from 2 threads on: cores that get slower when
# more of them work would do that, and are not shown (lecture 08 leaves two stories standing). A prediction that fails
# tells you something, too: which is why one makes it first.
#
# ## A pool on an imagined clock
#
# A hundred thousand ranks cannot be run here, but they can be *played*. Nothing has to be computed for that: of every rank it
# matters only **when it is free again**. The program jumps from one such moment to the next (a *discrete-event
# simulation*). Lecture 07's counter is one more moment: when it is free to serve the next rank.
#
# ### Exercise 1: `makespan`

# %% exercise="makespan"

# %% [markdown]
# Stuck? `hint("makespan")`, then `hint("makespan", 2)`; the same for every exercise.
#
# A simulator is tested where the answer is known. Equal episodes take whole rounds. One rank takes the sum. And if as
# many ranks as episodes play, the rollout takes as long as the longest.
#
# A thousand episodes of one second each, on average, but exponential: the part of them that is longer than $t$ seconds is
# $e^{-t}$. A thousand ranks play one each. **How many seconds** does the rollout take, on average?

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
# More than seven seconds, of which the average rank plays one: the machine waits for six sevenths of its time. Of the
# longest of $n$ such times the mean is known: $1 + \frac12 + \dots + \frac1n$, about $\ln n + 0.58$. Segments of equal length
# (lecture 07) have no longest one; workers without a barrier (lecture 10) do not wait for it.
#
# </details>
#
# Now a batch of 2,000 episodes, for any number of ranks, with a counter that takes 10 microseconds for each draw, and
# episodes of 20 milliseconds: about what a rank needs for an early episode of Humanoid, 41 steps on average
# (`recorded/15_inputs.json`).

# %%
lengths = rng.exponential(0.02, 2000).tolist()
ideal = np.array([sum(lengths) / ranks for ranks in RANKS])
figure, axis = plt.subplots(figsize=(7, 3.8))
axis.loglog(RANKS, ideal, "--", color=GREY, label="ideal")
for draw, color in ((1e-5, BLUE), (0.0, GREEN), (1e-3, RED)):
    seconds = [mine.makespan(lengths, int(ranks), draw) for ranks in RANKS]
    axis.loglog(
        RANKS, seconds, "o-" if draw else "x--", color=color, label=f"a draw takes {1e6 * draw:,.0f} microseconds"
    )
axis.axvline(2000, color=GREY, alpha=0.5)
axis.text(1800, ideal[0], "as many ranks as episodes", color=GREY, ha="right")
axis.set(xlabel="ranks (simulated)", ylabel="seconds of the rollout")
axis.legend(loc="lower left")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Two walls. The longest episode: from 4,096 ranks on the rollout takes as long as that one, and 512 come near it. And a
# counter serves `1 / draw` ranks a second, whoever asks: at a millisecond a draw, 2,000 episodes take at least two
# seconds on any machine. A pool for each machine of 64 ranks would move that wall, and the bits would stay the same,
# because a request's number decides everything about its episode.
#
# ## What messages cost
#
# A message takes `latency + bytes * per_byte` seconds. What a collective call takes follows from how many messages stand
# *one behind the other*. A gather to the root, one rank after another: $p - 1$ latencies; in a tree: $\log_2 p$, rounded up.
# A sum goes up a tree and down again: twice that, with all bytes each time. In a ring every rank sends small pieces to
# its neighbour: few bytes, $2 (p - 1)$ latencies. By halving (Rabenseifner): the few bytes of a ring, the latencies of a tree.

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
# A sum over 100,000 ranks takes less than a millisecond on this network, if it goes in a tree. TRPO makes a dozen of them
# in an update. What grows with the batch is something else: the root's own arithmetic, and the samples that travel to it.
#
# ## Nobody waits: a parameter server
#
# Lecture 10's workers need no barrier. But they share a server, which applies one gradient at a time. With $W$ workers
# (the function says `customers`) that compute for `think` seconds and are served in `service` seconds, how many gradients
# a second? Two bounds are plain: never more than `1 / service`, never more than `W / (think + service)`. What lies
# between is a queue, and for exponential times there is an exact recursion in $W$: *mean value analysis*.
#
# ### Exercise 2: `finite_source`

# %% exercise="finite_source"

# %%
think, service = 1.0, 0.02
workers = np.unique(np.geomspace(1, 1000, 25).astype(int))
exact = [mine.finite_source(int(n), think, service) for n in workers]
played = {}
for n in (1, 10, 50, 200):
    each = max(40, 8000 // n)
    played[n] = push(rng.exponential(think, (n, each)), rng.exponential(service, (n, each)))
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.loglog(workers, np.minimum(1 / service, workers / (think + service)), "--", color=GREY, label="the two bounds")
axis.loglog(workers, exact, color=BLUE, label="finite_source")
axis.loglog(list(played), [p.rate for p in played.values()], "o", color=ORANGE, label="played event by event")
axis.set(xlabel="workers", ylabel="gradients a second")
axis.legend()
axis.grid(alpha=0.3)
plt.show()
print("staleness, played:", {n: round(float(p.staleness.mean()), 1) for n, p in played.items()})

# %% [markdown]
# The mean staleness is $W - 1$, whatever the times are (lecture 10). (Played it is a little less: near the end those who
# are done push no more.) So 100,000 workers on one server are not only stuck in its queue, their gradients are 100,000
# versions old: lecture 10's bound leaves them a rate (step times curvature) of 0.000016. Shards of the server serve more
# gradients a second; they do nothing about the age.
#
# ## Something always breaks
#
# A machine of 64 cores fails every 1,000 days, say. A job on 100,000 cores has 1,563 of them and ends with the first that
# fails. **How many hours** does it run on average?

# %% prediction="yes"
guess_hours = 100  # hours

# %%
between = 1000 * 24 / math.ceil(100_000 / 64)


def show_hours():
    compare("hours from failure to failure", guess_hours, between, "h")
    for checkpoint in (0.01, 10.0, 300.0):
        interval = formulas.young(checkpoint, 3600 * between)
        share = formulas.with_failures(1e6, interval, checkpoint, 60.0, 3600 * between) / 1e6 - 1
        print(
            f"a checkpoint of {checkpoint:g} s is best written every {interval:.0f} s; all in all {100 * share:.1f} % lost"
        )


reveal(guess_hours, show_hours)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Fifteen hours: rates add up. Young's rule, $\sqrt{2 \cdot \text{seconds of a checkpoint} \cdot \text{seconds between
# failures}}$, balances the seconds of writing with the work that a failure loses. (A restart is taken to cost 60 s.)
# Our checkpoint took two milliseconds (`recorded/15_inputs.json`): it holds a policy, a critic and a filter, and no
# samples. Even with ten, the first line, failures cost next to nothing. A checkpoint of 300 s is another matter.
#
# </details>
#
# ## What is a larger batch worth?
#
# More ranks want more work: larger batches. Steps per second then grow for ever (Gustafson), but nobody wants steps. An
# update with a batch of $B$ steps gets $1 / (1 + \mathcal{B} / B)$ as far as one with infinitely many, where $\mathcal{B}$
# is the **noise scale**: the variance of one step's gradient over the square of the mean. Far below it twice the batch
# saves half of the updates; far above, nothing.
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
# Humanoid's noise scale, at the beginning of learning, is about 11,000 steps (`recorded/15_inputs.json`: one run, with
# the plain gradient; lecture 09 has it in the metric of the policy). With 1,000 steps for each of 100,000 ranks a batch is
# some 9,000 times that: by this law a hundredth of the machine would get 99 % as far with each update.
#
# ## All of it, with sliders
#
# Below an iteration is put together from these parts: 2,000 episodes of some mean length; what learning takes on one
# rank, of which a part can be shared; a network; failures. (`docs/scaling.md` adds the start of the ranks: a minute for
# 100,000.) First one setting as a picture, then the sliders. Find what breaks first, and what you have to change before
# the next thing does.


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
    left.set(xlabel="ranks (simulated)", ylabel="fraction of an iteration", ylim=(0, 1.4))
    left.tick_params(axis="x", rotation=30)
    left.legend(ncols=3, loc="upper center")
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
# With these settings rank 0 is in the way first: from 512 ranks on its part is the largest, until at 100,000 the gather's
# is, one message after another. If learning is shared completely, the wait for the longest episode comes first.
# `python mpi_scripts/scaling.py predict` does the same with everything that was measured, part by part, for designs that
# exist and for one that does not.
#
# ## Bug hunt
#
# A colleague's simulator says that the counter is never a problem. It has passed all tests with a counter that costs
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
# **The bug**: every rank has a counter of its own. Each pays for its draw, and nobody waits while another is served. With a
# draw that costs nothing the two are the same, which is why the tests did not see it. A thing that is shared needs a state
# of its own in the simulator: the time at which it is free again.

# %% [markdown]
# ## What you have built so far
#
# A simulator in ten lines, tested where formulas are exact; a queue for workers who do not wait; and what a larger batch
# is worth. With them go three walls that a larger machine does not move, though another design may: the longest episode,
# whoever works alone, and the noise scale. For your own numbers: `python mpi_scripts/scaling.py measure` and
# `docs/scaling.md`. **Next**: lecture 16 puts all ways to learn in parallel on one map.
#
# ## Quiz
#
# **1.** Your simulation of 1,000 ranks agrees with runs on 1 and 2. Is it right for 1,000?
#
# <details><summary>Answer</summary>
#
# It is not refuted. What only appears with many ranks (one message after another at the root, a counter in demand, the
# longest of many episodes) was too small to be seen on two. So test those parts where formulas are exact, and say
# "simulated".
#
# </details>
#
# **2.** Twice the ranks, twice the batch: steps per second double. Is learning twice as fast?
#
# <details><summary>Answer</summary>
#
# Only far below the noise scale. Above it an update gets hardly further with twice the steps, and it takes as long as
# before: the return comes at the same time, for twice the money.
#
# </details>
#
# **3.** A pool leaves nobody waiting longer than one episode takes. Why does it not help with as many ranks as episodes?
#
# <details><summary>Answer</summary>
#
# The wait of one episode *is* the whole rollout then. A pool can choose who plays; the longest episode takes as long as it
# takes.
#
# </details>
#
# **4.** A server in 16 shards applies 16 times as many gradients a second. Are they younger?
#
# <details><summary>Answer</summary>
#
# In seconds, yes; in versions, no. Between a pull and a push everybody else still pushes once, on average: $W - 1$
# versions.
#
# </details>
