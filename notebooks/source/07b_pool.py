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
# # 07b A pool of episode requests
#
# **How do several processes share the episodes of one iteration, and still compute the same thing?**
#
# <!-- loop -->
#
# Lecture 06 found that playing episodes takes a large part of each iteration. Episodes do not depend on one another, so several
# processes can play them at the same time. In lecture 07a each rank played a fixed number of episodes and you saw how ranks send
# messages. This lecture shares the episodes out while they are played, so that a slow rank delays the others less. It does so
# in such a way that the new policy does not depend on the number of ranks, down to its last bit.
#
# You write the two functions that such a program consists of: the loop of a rank, which draws requests and plays them, and the
# gathering on rank 0.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `play_requests` and the two pools | `minitrpo/parallel/episode_pool.py` | Frans & Hafner 2016, section 5 and algorithm 1 |
# | `gather_in_order` | `minitrpo/parallel/episode_pool.py` | (not said in the paper; our assumption) |
# | `in_order`, for fragments of episodes | `minitrpo/training/collect.py` | (not said in the paper; our assumption) |
# | `reset_seed` (given) | `minitrpo/experience/randomness.py` | (not said in the paper; our assumption) |
# | `slots_of` (given) | `minitrpo/parallel/episode_pool.py` | (not there: segments instead of episodes) |
#
# *90 minutes in class with the exercises, a minute to run. You need lectures 05b, 06 and 07a.*

# %%
# %load_ext minitrpo.course.mpi
import inspect
import json
from collections.abc import Callable
from dataclasses import replace

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, ORANGE, PHASE_COLORS, RED
from minitrpo.course.classroom import budget, compare, one_process, play, recorded, reveal, say_if_busy, train
from minitrpo.course.mpi import run_mpi
from minitrpo.course.statistics import ratio_interval
from minitrpo.experience.randomness import reset_seed
from minitrpo.parallel.comm import Comm, Counter
from minitrpo.parallel.episode_pool import Episode, concurrency, requests_for, slots_of
from minitrpo.policies import Array
from minitrpo.training.collect import prepare_fragments, in_episode_order
from minitrpo.run_folder.folder import sha256

plt.rcParams["legend.fontsize"] = 9

# %% [markdown]
# ## 24 episodes, four ranks
#
# An iteration needs 24 episodes of CartPole, of about 10 to 50 steps each, and no rank knows beforehand how long an episode will
# be. Which rank plays which episode?
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
# ## A counter that all ranks share
#
# The dynamic pool is a single number. It lies in the memory of rank 0 and starts at 0. To draw a request, a rank takes the value
# and adds 1, in one indivisible act. So each number goes to exactly one rank, and the number *is* the request: "play episode 7".
#
# Rank 0 plays episodes itself, so it must not have to answer messages from the others. With **one-sided communication** a rank
# reaches into the memory of another one: MPI's call `Fetch_and_op` returns the old value and adds 1, and rank 0 makes no
# call of its own. (MPI does not guarantee *when* this happens: it may wait until rank 0 next enters MPI. Over shared memory
# it is immediate; over TCP a draw can wait.) mpi4py has such a counter. Here is its classic mistake.

# %% mpi="-n 3"
from mpi4py import MPI
from mpi4py.util.sync import Counter

comm = MPI.COMM_WORLD
for name, counter in (("Counter()", Counter()), ("Counter(comm=comm)", Counter(comm=comm))):
    parts = comm.gather([counter.next() for _ in range(4)])
    if comm.rank == 0:
        drawn = [number for part in parts for number in part]
        print(f"{name}: {len(drawn)} numbers drawn, {len(set(drawn))} of them different")
    counter.free()

# %% [markdown]
# Three ranks have drawn four numbers each. Without a communicator, `Counter()` belongs to one process alone, so every rank draws 0,
# 1, 2, 3, and would play the same episodes as the others.
#
# ### A worked example
#
# Five requests, two ranks. Episodes 0 to 4 take 3, 1, 1, 2 and 1 seconds. Follow the table line by line, and say for each draw why
# this rank draws at this time.
#
# | second | rank 0 | rank 1 |
# |---|---|---|
# | 0 | draws 0, plays until second 3 | draws 1, plays until second 1 |
# | 1 | | draws 2, plays until second 2 |
# | 2 | | draws 3, plays until second 4 |
# | 3 | draws 4, plays until second 4 | |
# | 4 | draws 5: there is no such request, so it stops | draws 6, and stops |
#
# Rank 0 returns `[(0, episode 0), (4, episode 4)]`, and rank 1 returns `[(1, ...), (2, ...), (3, ...)]`. Every rank draws one
# number too many: this is how it learns that nothing is left.
#
# ### Exercise 1: `play_requests`
#
# *Ten minutes.* Write the loop of a rank. `counter` has one method, `next()`. `play` is a function: `play(7)` plays episode
# 7 and returns it. The check runs your function on 1, 2, 3 and 5 simulated ranks, one of which is ten times as slow. (It simulates
# them in one process, by a clock that only counts, so that it takes no time.)

# %% exercise="play_requests"

# %% [markdown]
# Stuck? `hint("play_requests")`, then `hint("play_requests", 2)`; the same for every exercise.
#
# ## One list, in the order of the numbers
#
# Now every rank has a list of pairs. Rank 0 needs all episodes. `comm.gather(played)` gives rank 0 a list of lists: in the
# example `[[(0, ...), (4, ...)], [(1, ...), (2, ...), (3, ...)]]`. In another run, rank 1 may be the slower one, and the lists
# are others. But there is one order that does not depend on who played what: the order of the episodes' numbers. So rank 0 joins
# the lists and sorts the pairs by number. Further below you will see what becomes of a policy if it does not.
#
# ### Exercise 2: `gather_in_order`
#
# *Ten minutes.* Remember that `gather` is a collective call, and that a rank may have played no episode at all.

# %% exercise="gather_in_order"

# %% [markdown]
# ## Both together, under `mpiexec`
#
# Here is the whole program, with the package's two functions. An episode is played by sleeping for a while, and rank 1 sleeps four
# times as long as the others. Look at the numbers that each rank has played, and at the first line of rank 0.

# %% mpi="-n 3 --by-rank --name pool_program"
import time

from mpi4py import MPI
from mpi4py.util.sync import Counter

from minitrpo.parallel.episode_pool import gather_in_order, play_requests

comm = MPI.COMM_WORLD
requests = 12
slow_rank = 1


def play(number):
    """Play an episode: sleep, and return what an episode returned."""
    time.sleep((0.01 + 0.01 * (number % 3)) * (4 if comm.rank == slow_rank else 1))
    return 0.37 * number - 20


counter = Counter(comm=comm)
played = play_requests(counter, requests, play)
episodes = gather_in_order(comm, played)
if comm.rank == 0:
    print("sum of all returns:", sum(episodes))
print("I played", *[number for number, _ in played])
counter.free()

# %% [markdown]
# Now the same program runs with *your* two functions, on 1, 2 and 3 ranks, and with another slow rank each time. (The cell
# puts the text of your functions in the place of the import. They may use nothing else of this notebook.) The sums must be
# the same to the last digit, whoever played what.

# %%
IMPORT = "from minitrpo.parallel.episode_pool import gather_in_order, play_requests"
yours = "\n\n".join(inspect.getsource(function) for function in (mine.play_requests, mine.gather_in_order))
with_yours = "from __future__ import annotations\n" + pool_program.replace(IMPORT, yours)
for ranks in (1, 2, 3):
    result = run_mpi(with_yours, ranks, data={"slow_rank": ranks - 1}, names=["episodes", "played"])
    if result.ok:
        counts = ", ".join(str(len(values["played"])) for values in result.values)
        print(f"{ranks} rank(s): the sum is {sum(result.values[0]['episodes'])!r}; episodes by rank: {counts}")
    else:
        print(result.explanation)

# %% [markdown]
# The slow rank has played fewer episodes, and the result is the same. This is the whole idea of the pool.
#
# ## How many requests, and how many at a time?
#
# Two numbers are still open. The package computes both; you need not write them.
#
# **How many episodes?** The original TRPO plays until it has enough steps. With several ranks that rule has a bias: the episodes
# that come in first are the short ones. So the number of episodes is fixed before any is played. Frans & Hafner divide the
# steps that are needed by the mean length of the episodes of the last batch. The function `requests_for` rounds this to the nearest
# whole number, and asks for at least one episode.
#
# **How many at a time?** A rank plays up to 16 episodes in lockstep, in numbered **environment slots**, so that one matrix product
# gives the actions of all of them. If a free rank filled all its slots, then with 16 requests and 2 ranks the first rank
# would take everything. So a rank computes its fair share of the requests, and then two more numbers. A *round* is one
# filling of all slots in use. First: how many rounds does the fair share take if all slots are used? Then: what is the smallest number
# of slots that needs no more rounds? This number is the rank's **concurrency**. With 40 requests and 2 ranks, the fair share is
# 20. It takes 2 rounds with 16 slots, and also 2 rounds with 10 slots, so the concurrency is 10.

# %%
print("5,000 steps, episodes of 22.4 steps on average:", requests_for(5_000, 22.4), "requests")
print("1,000 steps, episodes of 5,000 steps:", requests_for(1_000, 5_000), "request")
for requests, ranks in ((16, 2), (40, 2), (100, 3)):
    print(f"{requests} requests on {ranks} ranks of 16 slots: {concurrency(requests, ranks, 16)} episodes at a time")

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
# ## Why sort? The order of sums
#
# Now every episode is the same on any rank. But episodes *arrive* in another order every time, and the learner adds numbers up:
# means, gradients, Fisher products. Floating-point addition rounds, so the order of the terms matters:

# %%
print((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3))

# %% [markdown]
# *You should know*: a row of a matrix product may be rounded differently in a matrix of another height, and the number of
# episodes that a rank plays at a time depends on the number of ranks. So the package multiplies blocks of a fixed number of rows
# only, and fills the last block up.
#
# Does the last digit matter? We train CartPole twice on the *same* episodes, which a rank finishes in one order when it has 16
# slots, and in another order when it has 4. The root normally sorts the episodes by number. Here it takes them as they come. By how
# much do the two policies differ after 20 updates, in the weight that differs most?

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
        rows = prepare_fragments(worker.algorithm, plan, request, episodes)
        learner.learn(in_episode_order([rows]))
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
# So the root sorts before it computes: the **order of sums** is fixed. In your `gather_in_order` an episode has a number. In the
# package an episode may also arrive in several **fragments** (you will see below why). A fragment is identified by two
# numbers: that of its episode, and the step of the episode at which it starts. The package keeps both as columns of an array. For
# example, the four fragments with numbers `[3, 1, 3, 1]` and starts `[0, 40, 20, 0]` belong in the order of the
# positions `[3, 1, 0, 2]`: first episode 1 from step 0 and from step 40, then episode 3 from step 0 and from step 20. In numpy,
# `np.lexsort((b, a))` sorts by `a`, and where entries of `a` are equal, by `b`: the *last* column decides first.
#
# ### Exercise 3: `in_order`
#
# *Five minutes.*

# %% exercise="in_order"

# %% [markdown]
# ## The proof
#
# Does it hold in real runs? SHA-256 is a fingerprint: one bit of `theta` changes all of it. We train CartPole on 1, 2 and 3 ranks
# (up to fifteen seconds), and draw the last updates of the 2 ranks.

# %%
JOB = ("--preset", "episodes", "--env", "CartPole-v1", "--total-steps", budget(8000, 2000), "--steps-per-update", 1000)
JOB = (*JOB, "--trace", "--oversubscribe")  # all ranks work, on however few cores
jobs = [(1, "dynamic"), (2, "dynamic"), *budget([(2, "static"), (3, "dynamic")], [])]
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
# **1.** A rank first draws all its numbers in a loop, and plays them afterwards. What happens on 4 ranks?
#
# <details><summary>Answer</summary>
#
# Drawing takes microseconds, so the rank that comes first draws all requests, and the other three have nothing to play. A rank has
# to draw its next number when it has played the episode before.
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
# - The number of episodes is fixed before they are played. A free rank draws the next number from a shared counter.
# - Every rank calls `gather`; a rank without episodes sends an empty list.
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
