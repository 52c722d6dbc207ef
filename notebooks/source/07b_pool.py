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
# # 07 A pool of episode requests
#
# **How do several processes share the episodes of one iteration, and still compute the same thing?**
#
# <!-- loop -->
#
# Lecture 06 found that playing episodes takes a large part of each iteration. Episodes do not depend on one another, so several
# processes can play them at the same time. This lecture shares them out, so that the new policy does not
# depend on the number of processes, down to its last bit.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `requests_for` | `minitrpo/parallel/episode_pool.py` | Frans & Hafner 2016, section 5: the number of episodes |
# | the two pools, `concurrency` | `minitrpo/parallel/episode_pool.py` | section 5 and algorithm 1: the distributed pool |
# | `reset_seed` (given), `in_order` | `minitrpo/experience/randomness.py`, `minitrpo/training/gather.py` | (assumed) |
# | `slots_of` (given) | `minitrpo/parallel/episode_pool.py` | (not there: segments instead of episodes) |
#
# *90 minutes in class with the exercises, a minute to run. You need: lectures 05b and 06.*

# %%
import json
from dataclasses import replace

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, ORANGE, PHASE_COLORS, RED, JobFailed
from minitrpo.course.classroom import budget, compare, mpiexec_code, one_process, play, recorded, reveal
from minitrpo.course.classroom import say_if_busy, train
from minitrpo.experience.randomness import reset_seed
from minitrpo.parallel.episode_pool import slots_of
from minitrpo.policies import Array
from minitrpo.course.statistics import ratio_interval
from minitrpo.training.gather import digested, in_episode_order
from minitrpo.run_folder.folder import sha256

plt.rcParams["legend.fontsize"] = 9

# %% [markdown]
# ## 24 episodes, four ranks
#
# The processes are called **ranks** and numbered from 0. An iteration needs 24 episodes of CartPole, of about 10 to 50 steps
# each, and no rank knows beforehand how long an episode will be. Which rank plays which episode?
#
# - The **static** pool deals the episodes out like cards: of $p$ ranks, rank 0 plays 0, $p$, $2p$, and so on. No messages are
#   needed. The numbers of episodes differ by at most one, but the numbers of *steps* do not.
# - The **dynamic** pool is that of the paper: a rank that is free takes the next episode. No rank is idle while requests are
#   left.
#
# All ranks wait for the last. With the static pool, what **percentage** of their time do the four ranks wait, on average?

# %% prediction="yes"
guess_waiting = 10  # static pool, per cent


# %%
def timetable(lengths, ranks, pool):
    """Return who plays what when, as (rank, episode, begin, end) in steps."""
    free_at, table = np.zeros(ranks), []
    for number, length in enumerate(lengths):
        rank = int(np.argmin(free_at)) if pool == "dynamic" else number % ranks
        table.append((rank, number, free_at[rank], free_at[rank] + length))
        free_at[rank] += length
    return table


def waiting(lengths, ranks, pool):
    """Return the percentage of their time that ranks wait for the last of them."""
    return 100 * (1 - sum(lengths) / ranks / max(end for *_, end in timetable(lengths, ranks, pool)))


lengths = play("CartPole-v1", steps=1200).episodes.lengths[:48]
print("24 lengths:", *lengths[:24])


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_pool(axis, table, ranks, title):
    """Draw who plays what when; orange: a rank that has finished waits for the last."""
    last = max(end for *_, end in table)
    for rank, number, begin, end in table:
        axis.barh(rank, end - begin, left=begin, color=BLUE, edgecolor="white")
        if end - begin > 0.025 * last:
            axis.text((begin + end) / 2, rank, number, color="white", ha="center", va="center", fontsize=9)
    for rank in range(ranks):
        done = max((end for r, _, _, end in table if r == rank), default=0.0)
        label = None if rank else "waiting"
        axis.barh(rank, last - done, left=done, color=PHASE_COLORS["wait"], label=label)
    axis.set_title(title, fontsize=11)
    axis.set(ylabel="rank", yticks=range(ranks) if ranks < 13 else range(0, ranks, 4))
    axis.invert_yaxis()


def show_pools():
    """Print how long ranks wait, and draw both pools."""
    compare("waiting, static pool", guess_waiting, waiting(lengths[:24], 4, "static"), "%")
    print(f"waiting, dynamic pool: {waiting(lengths[:24], 4, 'dynamic'):.1f} %")
    _, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, layout="tight")
    for axis, pool in zip(axes, ("static", "dynamic")):
        draw_pool(axis, timetable(lengths[:24], 4, pool), 4, f"{pool} pool (numbers are episodes)")
    axes[1].legend(loc="lower right")
    axes[1].set_xlabel("steps")
    plt.show()


reveal(guess_waiting, show_pools)

# %% [markdown]
# Here are twice as many episodes. Drag the slider and switch the pool (this needs a running kernel; the curves do not).


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_pool(ranks=4, pool="static"):
    _, axis = plt.subplots(figsize=(9, 1.2 + 0.32 * max(ranks, 3)))
    title = f"48 episodes on {ranks} ranks, {pool} pool: {waiting(lengths, ranks, pool):.0f} % waiting (orange)"
    draw_pool(axis, timetable(lengths, ranks, pool), ranks, title)
    axis.set(xlabel="steps", xlim=(0, max(end for *_, end in timetable(lengths, ranks, "static"))))
    plt.tight_layout()
    plt.show()


def show_all_ranks():
    ipywidgets.interact(show_pool, ranks=ipywidgets.IntSlider(min=1, max=32, value=4), pool=["static", "dynamic"])
    waits = np.array([[waiting(lengths, ranks, pool) for pool in ("static", "dynamic")] for ranks in range(2, 33)])
    print(f"the dynamic pool waits less on {np.sum(waits[:, 1] < waits[:, 0])} of {len(waits)} numbers of ranks")
    _, axis = plt.subplots(figsize=(7, 3.2))
    for pool, color, mark, place in (("static", RED, "s", 66), ("dynamic", BLUE, "o", 30)):
        percentages = [waiting(lengths, ranks, pool) for ranks in range(1, 33)]
        axis.plot(range(1, 33), percentages, mark + "-", color=color, markersize=4)
        axis.text(28, place, f"{pool} pool", color=color, ha="center")
    axis.set(xlabel="ranks for 48 episodes of CartPole", ylabel="time spent waiting (%)", ylim=(0, 80))
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_waiting, show_all_ranks)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# In the dynamic pool a rank that is free takes work from the others, so it usually finishes earlier; the printed line counts for
# how many numbers of ranks it does so with these episodes. With few episodes per rank the longest episode sets the time in both
# pools.
#
# </details>
#
# ## How many requests?
#
# The original TRPO plays until it has enough steps. With several ranks that rule has a bias: the episodes that come in first are
# the short ones. So the number of episodes is fixed before any is played. Frans & Hafner divide the steps that are needed by
# the mean length of the last batch.
#
# ### Exercise 1: `requests_for`

# %% exercise="requests_for"

# %% [markdown]
# Stuck? `hint("requests_for")`, then `hint("requests_for", 2)`; the same for every exercise.
#
# ## One program, several processes
#
# **MPI**, the Message Passing Interface, starts one program several times: `mpiexec -n 4 python program.py` makes four ranks. All
# run the same lines on their own data. They share no memory, and they exchange messages, mostly by **collective** calls,
# which all ranks make together. Rank 0, the **root**, will learn. `mpiexec_code` runs a program of a few
# lines.

# %%
HELLO = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
task = comm.bcast("Reacher" if comm.rank == 0 else None)
lines = comm.gather(f"rank {comm.rank} will play {task}")
comm.Barrier()
print(f"rank {comm.rank} of {comm.size} has gathered {lines}\\n", end="", flush=True)  # one write: ranks print at once
"""
print(*sorted(filter(None, mpiexec_code(3, HELLO).splitlines())), sep="\n")

# %% [markdown]
# - **`bcast`** (**broadcast**): the root's object goes to all ranks.
# - **`gather`**: the objects of all ranks go to the root, as a list in the order of the ranks. The others get `None`.
# - **`Barrier`** (a **barrier**): no rank leaves before all have come. It moves no data.
#
# *Every* rank must make *every* collective call, in the same order. Suppose rank 2 has nothing to play and skips one. What
# happens?

# %% prediction="yes"
guess_skipped = "no end"  # "a list without rank 2", "an error" or "no end"

# %%
SKIPPED = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
returns = [-50.0] if comm.rank < 2 else []
if returns:  # rank 2 has nothing to say
    everything = comm.gather(returns)
if comm.rank == 0: print("gathered", everything)
"""
try:
    skipped = mpiexec_code(3, SKIPPED, timeout=4)
except JobFailed as error:
    skipped = str(error).partition(":")[0]


def show_skipped():
    print(f"you predicted: {guess_skipped}. What happened: {skipped}")


reveal(guess_skipped, show_skipped)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The root waits for a message that rank 2 never sends. Only the time limit of `mpiexec_code` ends the job; there is no error. Hence two rules: a rank without data sends *empty* data, and jobs get a
# time limit. (`train.py` ends the whole job within seconds if any rank fails.)
#
# </details>
#
# The dynamic pool needs one shared number that counts up and gives each value to exactly one rank. It lies in the memory of
# rank 0. By **one-sided communication** the others reach into that memory themselves: `Fetch_and_op` returns the old value and
# adds 1 in one indivisible act, and rank 0 need not make a call of its own. (MPI does not guarantee *when* this happens: it may
# wait until rank 0 next enters MPI. Over shared memory it is immediate; over TCP a draw can wait.) mpi4py has such a `Counter`. Its classic mistake:

# %%
COUNTER = """
from mpi4py import MPI
from mpi4py.util.sync import Counter
comm = MPI.COMM_WORLD
for name, counter in (("Counter()", Counter()), ("Counter(comm=comm)", Counter(comm=comm))):
    mine = []
    while (number := counter.next()) < 12:
        mine.append(number)
    played = sum(comm.gather(mine) or [], [])
    if comm.rank == 0: print(f"{name}: 12 requests, {len(played)} played, {len(set(played))} of them different")
    counter.free()
"""
print(mpiexec_code(3, COUNTER))

# %% [markdown]
# Without a communicator, `Counter()` belongs to one process alone, so every rank plays every episode.
#
# ## How many episodes at a time?
#
# A rank plays up to 16 episodes in lockstep, in numbered **environment slots**, so that one matrix product gives all actions. Should
# a free rank fill all its slots? With 16 requests and 2 ranks the first would take everything. With 40 requests, each rank's
# fair share is 20. That takes two **rounds** (slots filled once are one round), as 16 and then 4, or as 10 and 10. But if both
# ranks begin with 16, the rank that finishes first takes all 8 that are left. So a rank's **concurrency** is the smallest
# number of episodes at a time with which its fair share takes as few rounds as with all slots.
#
# ### Exercise 2: `concurrency`

# %% exercise="concurrency"

# %% [markdown]
# ## The same numbers, whichever rank plays
#
# An episode follows from the policy, a first state, and random numbers. Which random numbers? A usual answer is a seed per
# rank. Then the batch depends on the number of ranks, and with a dynamic pool even on the clock. In this
# package a random number belongs to an episode. Its key is (seed of the run, iteration, episode number, purpose), and
# `reset_seed` mixes the key into one whole number by numpy's `SeedSequence`.


# %%
def seeded_by_rank(ranks):
    own = [np.random.default_rng(10_000 * rank) for rank in range(ranks)]
    return np.mean([own[number % ranks].standard_normal() for number in range(12)])


def seeded_by_key(ranks):
    return np.mean([np.random.default_rng(reset_seed(0, 1, number)).standard_normal() for number in range(12)])


for seeded in (seeded_by_rank, seeded_by_key):
    print(f"{seeded.__name__}, the same batch on 1, 2, 3 ranks:", *(f"{seeded(ranks):.4f}" for ranks in (1, 2, 3)))

# %% [markdown]
# Other libraries *add* instead. Take `seed + 1000 * iteration + number`. It does not depend on the rank, and all episodes of an
# iteration differ. You train with the seeds 0 and 1, as two independent runs. How many of the 100 first states of run 0's
# first iteration also occur in run 1's?

# %% prediction="yes"
guess_shared = 10  # of 100 first states


# %%
def added(seed, iteration, number):
    return seed + 1000 * iteration + number


def shared(seed_of):
    """Return how many reset seeds of iteration 1 the runs with seeds 0 and 1 have in common, out of 100."""
    return len({seed_of(0, 1, n) for n in range(100)} & {seed_of(1, 1, n) for n in range(100)})


def show_shared():
    compare("first states in common, seeds made by adding", guess_shared, shared(added))
    print("with reset_seed:", shared(reset_seed))


reveal(guess_shared, show_shared)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Sums collide: episode 1 of run 0 has the seed of episode 0 of run 1. "Independent" runs share nearly all their first states, and
# may agree better than they should.
#
# </details>
#
# ## In the same order
#
# Now every episode is the same on any rank. But episodes *arrive* in another order every time, and the learner adds things up:
# means, gradients, Fisher products. Floating-point addition rounds, so the order of sums matters:

# %%
print((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3))

# %% [markdown]
# *You should know*: a row of a matrix product may also depend on the number of rows, so `Rollouts` always multiplies a
# multiple of 16 rows.
#
# Does the last digit matter? We train CartPole twice on the *same* episodes, which a rank finishes in one order when it has 16
# slots, and in another when it has 4. The root receives a **digest** of the episodes, for TRPO all their steps. It
# normally sorts them by number. Here it takes them as they come. By how much do the two policies differ
# after 20 updates, in the weight that differs most?

# %% prediction="yes"
guess_apart = 1e-12  # largest difference in theta after 20 updates, network critic


# %%
def thetas(slots, sort, critic):
    """Return theta after each update on CartPole, with the episodes as they come or sorted by number."""
    options = {"env": "CartPole-v1", "steps_per_update": 500, "critic": critic, "envs_per_rank": slots}
    options["fisher_fraction"] = 1.0  # a fraction would be other states in another order, which is more than rounding
    learner, worker = one_process(**options)
    history = []
    for _ in range(budget(20, 4)):
        plan, request = learner.plan()
        worker.collector.refill()
        episodes = worker.collector.collect(request)
        if not sort:
            episodes = [replace(episode, numbers=np.array([i])) for i, episode in enumerate(episodes)]
        digest = digested(worker.algorithm, plan, request, episodes)
        learner.learn(in_episode_order([digest]))
        history.append(learner.algorithm.theta)
    return np.array(history)


def apart(sort, critic):
    return np.abs(thetas(16, sort, critic) - thetas(4, sort, critic)).max(axis=1)


as_they_came = {critic: apart(False, critic) for critic in ("mlp", "linear")}
sorted_by_number = apart(True, "mlp")


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_apart():
    compare("largest difference in theta", guess_apart, as_they_came["mlp"][-1])
    print("sorted by episode number, the largest difference at any update:", sorted_by_number.max())
    for critic, difference in as_they_came.items():
        print(f"unsorted, {critic} critic: {difference[0]:.0e} after one update, {difference[-1]:.0e} after the last")
    _, axis = plt.subplots(figsize=(7, 3.6))
    names = {"mlp": "network critic: minibatches differ, too", "linear": "linear critic: rounding alone"}
    for (critic, difference), color, mark in zip(as_they_came.items(), (RED, ORANGE), "so"):
        updates = 1 + np.arange(len(difference))
        axis.semilogy(
            updates, np.maximum(difference, 1e-17), mark + "-", color=color, markersize=4, label=names[critic]
        )
    axis.axhline(1e-17, color=BLUE, label="sorted by episode number: exactly 0")
    axis.set(xlabel="updates", ylabel="largest difference in theta", ylim=(3e-18, 10))
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc="center right", bbox_to_anchor=(1, 0.35))
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_apart, show_apart)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The policy's sums run in float32, which has about seven decimal digits, so sums in another order differ in the last of these
# digits after one update. With the linear critic (orange) rounding is the only difference, and learning magnifies it from update
# to update; the printed lines say how far. The network critic (red) draws minibatches by *position*, so another order means other
# minibatches: this is more than rounding, and the policies differ soon. When sorted, nothing differs.
#
# </details>
#
# So the root sorts before it computes (the **order of sums** is fixed). A **fragment** of an episode is known by the episode's
# number and by the step at which the fragment starts. Numpy sorts by several columns with `np.lexsort`.
#
# ### Exercise 3: `in_order`

# %% exercise="in_order"

# %% [markdown]
# ## The proof
#
# Does it hold in real runs? SHA-256 is a fingerprint: one bit of `theta` changes all of it. We train CartPole on 1, 2 and 3 ranks
# (up to fifteen seconds), and draw what the 2 ranks did.

# %%
JOB = ("--preset", "episodes", "--env", "CartPole-v1", "--total-steps", budget(8000, 2000), "--steps-per-update", 1000)
JOB = (*JOB, "--trace", "--oversubscribe")  # all ranks work, on however few cores
jobs = [(1, "dynamic"), (2, "dynamic"), (2, "static"), *budget([(3, "dynamic"), (3, "static")], [])]
runs = {(ranks, pool): train(ranks, *JOB, "--pool", pool) for ranks, pool in jobs}
for (ranks, pool), run in runs.items():
    print(f"{ranks} rank(s), {pool:7} pool: theta {sha256(run.load_checkpoint()['theta'])[:24]}...")

# %% tags=["hide-input"] jupyter={"source_hidden": true}
events = json.loads((runs[2, "dynamic"].path / "trace.json").read_text())["traceEvents"]
colors = {name: PHASE_COLORS[name] for name in ("collect", "wait", "gather", "update", "checkpoint", "idle")}
spans = [(e["tid"], e["name"], e["ts"] / 1e6, e["dur"] / 1e6) for e in events if e["name"] in colors]
begin = sorted(start for rank, name, start, _ in spans if (rank, name) == (0, "collect"))[-3:][0]

figure, axis = plt.subplots(figsize=(9, 2.7))
for name, color in colors.items():
    shown = [(rank, start - begin, duration) for rank, which, start, duration in spans if which == name]
    if shown:
        ranks, lefts, widths = zip(*shown)
        axis.barh(ranks, widths, left=lefts, color=color, label=name)
axis.set(
    xlabel="seconds (white: all else)", ylabel="rank", yticks=(0, 1), xlim=(0, max(s[2] + s[3] for s in spans) - begin)
)
axis.invert_yaxis()
axis.legend(ncols=6, loc="upper center", bbox_to_anchor=(0.5, 1.25), frameon=False)
plt.show()

# %% [markdown]
# If the fingerprints are equal, one rank can debug a run of eight. While rank 0 updates, rank 1 is idle; lecture 08 asks what that
# means for more ranks.
#
# ## Fewer requests than ranks
#
# An episode of HalfCheetah has 1,000 steps. With 1,000 steps per update there is one request, and one rank plays while the
# others wait. No pool can help; smaller requests can. A **segment** is a fixed number of steps of a numbered slot. The slot's
# episode is cut where the segment ends, the critic's value stands for the rest (lecture 05a: truncated is not terminated),
# and the next segment continues there. `train.py` uses segments by default. Slots belong to ranks for good, and their total
# does not depend on the number of ranks:

# %%
for ranks in (2, 3):
    print(f"16 slots on {ranks} ranks:", *(list(slots_of(rank, ranks, 16)) for rank in range(ranks)))

# %% [markdown]
# Is it faster? We collect 1,000 steps of HalfCheetah on 2 ranks, as one episode and as 63 steps in each of 16 slots.

# %%
times = np.genfromtxt(recorded("07_times.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
say_if_busy()
collecting = {}
for kind in ("episodes", "segments"):
    job = ("--preset", "episodes", "--env", "HalfCheetah-v5", "--steps-per-update", 1000)
    columns = train(2, *job, "--total-steps", budget(6000, 2000), "--requests", kind).columns()
    collecting[kind] = np.median((columns["collect_s"] + columns["wait_s"])[1:])
    print(f"{kind}: {1e3 * collecting[kind]:.0f} ms to collect")
then = ratio_interval(*(times["milliseconds"][times["what"] == kind] for kind in collecting))
print(f"segments are {collecting['episodes'] / collecting['segments']:.1f} times as fast here", end="; ")
print(f"recorded on 2 cores: {then:.2f} times, 95 % interval")

# %% [markdown]
# In the recorded runs the gain is more than a factor of 2, more than a second rank alone can bring. The reason is that the eight
# slots of a rank in lockstep share one matrix product and one call into the physics. (On a busy machine or on a single core your
# factor may be smaller.) The price is that segments rely on the critic where whole episodes rely on what happened.
#
# ## Bug hunt
#
# A colleague finds `lexsort` hard to read and packs both columns into one number. The tests pass, and on the colleague's machine the
# fingerprints agree. What is wrong?


# %%
def suspect(numbers: Array, starts: Array) -> Array:
    position = numbers * 1000 + starts
    return np.argsort(position, kind="stable")


_ = hunt("in_order", suspect)

# %% [markdown] solution="only"
# **The bug**: sums collide, as with the seeds. A fragment of episode 3 that starts at step 1,000 or later gets a number that
# belongs to episode 4, so the order is wrong. Where two numbers are *equal*, the order depends on which came first, and the
# bits depend on the number of ranks again. A larger factor only hides it. Compare columns as columns:
# `np.lexsort((starts, numbers))`.

# %% [markdown]
# ## Quiz
#
# **1.** `lengths = comm.gather(50)` and then `print(sum(lengths))`, on 4 ranks. What is printed?
#
# <details><summary>Answer</summary>
#
# Rank 0 prints 200, and the other three fail: off the root `gather` returns `None`, and `sum(None)` is an error.
#
# </details>
#
# **2.** Episodes have 10 to 50 steps, and there are as many requests as ranks. Does the dynamic pool wait less than the static?
#
# <details><summary>Answer</summary>
#
# No: each rank plays one episode either way, and all wait for the longest. A pool can only choose *which rank* plays. Shorter
# requests help.
#
# </details>
#
# **3.** You seed every rank with `seed + rank`. Two runs on 4 ranks with the same seed and the dynamic pool: same policy?
#
# <details><summary>Answer</summary>
#
# Not for sure. Which rank is free first depends on the clock, so an episode may get another rank's numbers. That is why the key
# has the *episode's* number in it.
#
# </details>
#
# ## Summary
#
# - The number of episodes is fixed before they are played. A free rank takes the next one.
# - Every rank makes every collective call; a rank without data sends empty data.
# - Random numbers belong to episodes, and the root sorts what arrives. So any number of ranks gives the same bits.
# - With fewer requests than ranks only smaller requests help: segments.
#
# ## Open questions
#
# 1. Sort the 48 lengths so that the longest episode is played first. Plot the time that ranks wait in the dynamic pool with and
#    without sorting, for 1 to 32 ranks. Explain in three sentences why sorting helps, when no order helps, and why the program
#    cannot sort.
# 2. In the code of 2016, actors are copies of one process, so (as we read it) all draw the same noise. Let 40 episodes
#    each draw one standard normal number, on 1, 2, 4, 5, 8 and 10 such actors. Plot the standard deviation of their mean over
#    500 runs against the number of actors. Explain in three sentences what law it follows and what it costs.
#
# **Next**: lecture 08 measures the speed-up.
