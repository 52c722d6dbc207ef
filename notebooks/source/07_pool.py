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
# Lecture 06 found that playing episodes takes a good part of each iteration, and that episodes do not wait for one
# another: they can be played side by side. This lecture deals them out to processes. That is the easy half. The other
# half is that the policy that comes out should not depend on how many processes there were, down to its last bit.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `requests_for` | `minitrpo/parallel/episode_pool.py` | Frans & Hafner 2016, section 5: the number of episodes |
# | the two pools, `concurrency` | `minitrpo/parallel/episode_pool.py` | section 5 and algorithm 1: the distributed pool |
# | `reset_seed` (given), `in_order` | `minitrpo/experience/randomness.py`, `minitrpo/training/gather.py` | (assumed) |
# | `slots_of` (given) | `minitrpo/parallel/episode_pool.py` | (not there: segments for episodes) |
#
# *90 minutes in class with the exercises, a minute to run. You need: lectures 05b and 06.*

# %%
import json
from dataclasses import replace

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREY, ORANGE, PHASE_COLORS, RED, JobFailed
from minitrpo.course.classroom import (
    budget,
    compare,
    mpiexec_code,
    one_process,
    play,
    recorded,
    reveal,
    say_if_busy,
    train,
)
from minitrpo.experience.randomness import Purpose, reset_seed
from minitrpo.parallel.episode_pool import slots_of
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array
from minitrpo.course.statistics import ratio_interval
from minitrpo.training.gather import digested, in_episode_order
from minitrpo.run_folder.folder import sha256

plt.rcParams["legend.fontsize"] = 9
author = json.loads(recorded("author_2016.json").read_text())
about = json.loads(recorded("07_times.json").read_text())  # two ratios, and what made them
made = about["provenance"]
RECORDED = f"recorded on {made['usable_cores']} cores ({made['machine'].split(', ')[-1]})"
times = np.genfromtxt(recorded("07_times.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")


def recorded_ratio(one, other):
    """Return how many times as long `one` took as `other`, with Welch's 95 % interval over the recorded rounds."""
    return ratio_interval(*(times["milliseconds"][times["what"] == what] for what in (one, other)))


# %% [markdown]
# ## One program, several processes
#
# MPI, the Message Passing Interface, starts one program several times: `mpiexec -n 4 python program.py` makes four
# processes, called **ranks** and numbered from 0. All run the same lines on their own data (*single program, multiple
# data*, SPMD); what they do differently follows from their number. No rank sees another's memory. They talk by
# messages, most conveniently by **collective** calls, which all make together. Rank 0, the **root**, will learn.
#
# `mpiexec_code` writes a program to a file, runs `mpiexec` on it, and returns what was printed. The notebook's own
# process never joins MPI: a kernel that did could not be restarted safely.

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
# - **`bcast`**: the root's object comes to everyone.
# - **`gather`**: everyone's objects come to the root, as a list in the order of the ranks. All others get `None`: so
#   `comm.gather(mine) or []` before you loop over it.
# - **`Barrier`**: nobody leaves before all have come. It moves no data. You need it round a stopwatch, and hardly ever
#   else: the other collectives wait for what they need.
#
# These three and, in a moment, a shared counter carry all of parallel TRPO. One rule goes with them: *every* rank makes
# *every* collective call, in the same order. Suppose rank 2 had nothing to play and skips one. What happens?

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
# The root waits for a message that nobody sends, and would wait for ever; only the time limit of `mpiexec_code` ends it.
# There is no error, and no line to look at. If another `gather` followed, it would be worse: MPI matches collective calls
# by their *order*, so the root would take rank 2's second message for its first. The same happens when one rank dies of
# an exception while the others wait. Hence two rules: a rank without data sends *empty* data, and jobs get a time limit.
# (`train.py` ends the whole job within seconds if any rank fails.)
#
# </details>
#
# ## How a batch travels
#
# mpi4py has each collective twice. Lower case, `gather`, sends any Python object, by pickling it into bytes. Upper
# case, `Gatherv`, sends the memory of a numpy array as it is; but the root has to know beforehand how much comes from
# whom, counted in **elements**. Two ranks send two steps of three numbers; first with the right counts, then with the
# number of rows:

# %%
COUNTS = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
steps = 10.0 * comm.rank + np.arange(6.0).reshape(2, 3)
for counts in ([6, 6], [2, 2]):
    batch = np.full((4, 3), np.nan)
    comm.Gatherv([steps, counts[comm.rank]], [batch, counts])
    if comm.rank == 0: print(batch, "\\n")
"""
print(mpiexec_code(2, COUNTS))

# %% [markdown]
# No error: two thirds of the data are missing, and what rank 1 sent stands in the wrong rows. With `np.empty` for
# `np.full(nan)` the gaps would hold old memory, which may look like numbers. `gather` leaves nobody a count to get
# wrong: it pickles what a rank has into one row of bytes, gathers first how many bytes each rank sends, and then, as
# `Gatherv` does, the bytes.
#
# What is the trouble worth? A batch of 20,000 steps of HalfCheetah has about 24 numbers a step. **How many times as
# long** does `gather` take, with the `np.concatenate` that joins its pieces, as `Gatherv`?

# %% prediction="yes"
guess_ratio = 5  # seconds of gather over seconds of Gatherv

# %%
TRAVEL = """
import json, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
mine, counts, theta = np.ones((10_000, 24)), [240_000, 240_000], np.ones(5_000)
ways = {
    "gather": lambda: np.concatenate(comm.gather(mine) or [mine]),
    "Gatherv": lambda: comm.Gatherv(mine, [np.empty((20_000, 24)), counts]),
    "Bcast of theta": lambda: comm.Bcast(theta),
}
for name, way in ways.items():
    seconds = []
    for _ in range(25):
        comm.Barrier()
        start = time.perf_counter()
        way()
        comm.Barrier()
        seconds.append(time.perf_counter() - start)
    ways[name] = float(np.median(seconds))
if comm.rank == 0: print(json.dumps(ways))
"""
say_if_busy()
travel = json.loads(mpiexec_code(2, TRAVEL))


def show_travel():
    compare("20,000 steps from 2 ranks, gather : Gatherv", guess_ratio, travel["gather"] / travel["Gatherv"])
    print(", ".join(f"{name} {1e3 * s:.3f} ms" for name, s in travel.items()))
    then = about["travel_ms"]
    print(
        f"{RECORDED}: ratio {recorded_ratio('gather', 'Gatherv'):.1f}, 95 %;",
        ", ".join(f"{name} {ms:.3f} ms" for name, ms in then.items()),
    )


reveal(guess_ratio, show_travel)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# About ten times as long, or more, and of little consequence: a batch travels in milliseconds, and takes hundreds of
# them to collect. So `minitrpo/parallel/comm.py` pickles what travels once in an iteration, and keeps buffers for the sums
# of an update, which travel hundreds of times (`MPIComm.all_gather`). Unpickle nothing of a stranger's: it may run code.
#
# </details>
#
# ## How many requests?
#
# The original TRPO plays until it has enough steps. With several actors that rule is a trap: to keep "the episodes that
# came in first" is to keep the short ones. So the number is fixed before any is played. Frans & Hafner estimate it:
# the steps you want, divided by the mean length of the last batch. Their code divides as Python 2 divides integers,
# rounding down: an episode longer than the batch makes 0 requests, and then a division by zero.
#
# ### Exercise 1: `requests_for`

# %% exercise="requests_for"

# %% [markdown]
# Stuck? `hint("requests_for")`, then `hint("requests_for", 2)`; the same for every exercise.
#
# ## Who plays which?
#
# The **static** answer: deal the numbers like cards, rank 0 of $p$ plays 0, $p$, $2p$, and so on. No messages, and the
# ranks' numbers of episodes differ by at most one; but not their *steps*, and all wait for the slowest. The **dynamic** answer is
# the pool of the paper: a rank that is free takes the next request. Nobody waits for longer than one episode takes, since
# no rank is idle while requests are left.
#
# Deal 24 episodes of a fresh policy on CartPole, of about 10 to 50 steps, to 4 ranks, statically: which **percentage** of
# their time do the ranks wait, on average?

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
first_in = np.sort(lengths[:24])[:12].mean()
print(f"their mean: {lengths[:24].mean():.1f}; of the 12 that come in first if all begin at once: {first_in:.1f}")


def show_static():
    compare("waiting, static", guess_waiting, waiting(lengths[:24], 4, "static"), "%")
    print(f"waiting, dynamic: {waiting(lengths[:24], 4, 'dynamic'):.1f} %")


reveal(guess_waiting, show_static)

# %% [markdown]
# All the pool has to be is one number that counts up, and gives each value to exactly one rank. It lives in the memory
# of rank 0. With **one-sided** communication others reach into that memory themselves: `Fetch_and_op` returns the old
# value and adds 1, as one indivisible act, while rank 0's program plays on. (Not every MPI library keeps this promise
# when rank 0 is busy; MPICH on one machine does.) `WindowCounter` in `minitrpo/parallel/comm.py` is those few
# calls; mpi4py brings a `Counter` of its own. Its classic mistake:

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
# Without a communicator `Counter()` belongs to one process alone (`COMM_SELF`), so every rank plays every episode. It
# looks splendid on a dashboard, three times the episodes per second, all of them copies. `counter.free()` gives the
# window, the memory that others may reach into, back to MPI. It is collective, as making the counter was: all ranks call
# it, when all have finished drawing.
#
# Now both pools on four real ranks. To be fair on any machine, even one of two cores, a rank does not play here: it
# sleeps for two milliseconds per step.

# %%
NAPS = """
import json, sys, time
from minitrpo.parallel.episode_pool import DynamicPool, StaticPool
from minitrpo.parallel.comm import connect
comm = connect()
pool = (DynamicPool if sys.argv[1] == "dynamic" else StaticPool)(comm)
for lengths in json.loads(sys.argv[2]):
    pool.refill()
    comm.barrier()
    origin, spans, draw = time.perf_counter(), [], pool.draw_from(len(lengths))
    while (number := draw()) is not None:
        start = time.perf_counter() - origin
        time.sleep(2e-3 * lengths[number])
        spans.append((number, start, time.perf_counter() - origin))
    everything = comm.gather(spans)
    if comm.rank == 0: print(json.dumps(everything))
comm.close()
"""


def nap(ranks, pool, batches):
    """Return, for each batch of lengths, what all ranks did: (rank, episode, begin, end) in seconds."""
    batches = [[int(length) for length in batch] for batch in batches]
    lines = mpiexec_code(ranks, NAPS, pool, json.dumps(batches)).splitlines()
    return [[(rank, *span) for rank, spans in enumerate(json.loads(line)) for span in spans] for line in lines]


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_pool(axis, table, ranks, title):
    """Draw who plays what when; orange: who has finished waits for the last."""
    last = max(end for *_, end in table)
    for rank, number, begin, end in table:
        axis.barh(rank, end - begin, left=begin, color=BLUE, edgecolor="white")
        if end - begin > 0.025 * last:
            axis.text((begin + end) / 2, rank, number, color="white", ha="center", va="center", fontsize=9)
    for rank in range(ranks):
        done = max((end for r, _, _, end in table if r == rank), default=0.0)
        axis.barh(
            rank, last - done, left=done, color=PHASE_COLORS["wait"], label=None if rank else "waiting for the last"
        )
    axis.set_title(title, fontsize=10)
    axis.set(ylabel="rank", yticks=range(ranks) if ranks < 13 else range(0, ranks, 4))
    axis.invert_yaxis()


naps = {pool: nap(4, pool, [lengths[:24]])[0] for pool in ("static", "dynamic")}


def show_naps():
    _, axes = plt.subplots(2, 1, figsize=(9, 5), sharex=True)
    for axis, (pool, table) in zip(axes, naps.items()):
        draw_pool(axis, table, 4, f"{pool} pool, four sleeping ranks (numbers are episodes)")
    axes[1].legend(loc="lower right")
    axes[1].set_xlabel("seconds (2 ms a step)")
    plt.tight_layout()
    plt.show()


reveal(guess_waiting, show_naps)

# %% [markdown]
# The same 24 episodes, in another order on other ranks. Here are twice as many. Drag the slider, and switch the pool
# (this needs a running kernel; the curves below it do not). What does *no* pool help against?


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_pool(ranks=4, pool="static"):
    _, axis = plt.subplots(figsize=(9, 1.2 + 0.32 * max(ranks, 3)))
    title = f"48 episodes on {ranks} ranks, {pool} pool: {waiting(lengths, ranks, pool):.0f} % waiting (orange)"
    draw_pool(axis, timetable(lengths, ranks, pool), ranks, title)
    axis.set(xlabel="steps", xlim=(0, max(end for *_, end in timetable(lengths, ranks, "static"))))
    plt.tight_layout()
    plt.show()


def show_pools():
    ipywidgets.interact(show_pool, ranks=ipywidgets.IntSlider(min=1, max=32, value=4), pool=["static", "dynamic"])
    _, axis = plt.subplots(figsize=(7, 3.2))
    for pool, color, mark in (("static", RED, "s"), ("dynamic", BLUE, "o")):
        percentages = [waiting(lengths, ranks, pool) for ranks in range(1, 33)]
        axis.plot(range(1, 33), percentages, mark + "-", color=color, markersize=4, label=f"{pool} pool")
    axis.set(xlabel="ranks for 48 episodes of CartPole", ylabel="time spent waiting (%)", ylim=(0, 100))
    axis.legend()
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_waiting, show_pools)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The dynamic pool is sooner done, here and for nearly every number of ranks. With few episodes per rank no pool helps: the
# longest of them sets the time, whoever plays it.
#
# </details>
#
# One refinement. Our rank plays up to 16 episodes in lockstep, in numbered **environment slots**: each tick takes one
# step in all of them, so that one matrix product gives all actions. Should a free rank fill all its slots? With 16
# requests and 2 ranks the first would empty the pool, and the second look on. With 40 requests each rank's fair share is
# 20, which take two **rounds** (slots filled once are one round) in any case: 16 and then 4, or 10 and 10. But if both
# begin with 16, whoever is done first takes all 8 that are left. So a rank's **concurrency** is the smallest number in
# play with which its fair share takes as few rounds as it would with all slots.
#
# ### Exercise 2: `concurrency`

# %% exercise="concurrency"

# %% [markdown]
# ## The same numbers, whoever plays
#
# An episode is a first state, a policy, and random numbers. Which? In the code of 2016 the actors are *forked*, that
# is copied, from one process, and with it the state of numpy's generator: as we read it, all actors draw the same
# action noise. Call the sum of an episode's noise its luck, of standard deviation 1. The mean luck of 40 independent
# episodes has the standard deviation $1 / \sqrt{40} = 0.16$. And that of 5 forked actors with 8 episodes each?

# %% prediction="yes"
guess_stray = 0.2  # standard deviation of the mean luck, 5 forked actors


# %%
def mean_luck(forked, run):
    """Return the mean luck of 8 episodes on each of 5 actors, with generators of their own or with copies of one."""
    actors = [np.random.default_rng([run, 0 if forked else actor]) for actor in range(5)]
    return np.mean([actor.standard_normal(8) for actor in actors])


def show_stray():
    alone, forked = (np.std([mean_luck(forked, run) for run in range(500)]) for forked in (False, True))
    compare("standard deviation of the mean luck, forked", guess_stray, forked)
    print(f"generators of their own: {alone:.3f}; to be expected of 8 episodes: {1 / np.sqrt(8):.3f}")


reveal(guess_stray, show_stray)

# %% [markdown]
# The usual cure is a seed per rank (Spinning Up adds 10,000 times the rank). Then the numbers are independent, but the
# batch depends on the number of ranks, and with a dynamic pool even on who was free when. Ours is to ask what a number
# is *for*. It belongs to an episode: its key is (seed of the run, iteration, episode number, purpose), and nothing
# else. `Purpose` lists what numbers are for: an environment's reset, action noise, a fresh policy, and so on.
#
# Gymnasium wants a single whole number for `env.reset(seed=...)`, so the key has to be mixed into one. The package's
# `reset_seed(seed, iteration, number)` does it in a line:
#
# ```python
# int(np.random.SeedSequence([seed, iteration, number, Purpose.RESET]).generate_state(1)[0] >> 1)
# ```
#
# Numpy's `SeedSequence` was made for this: `generate_state(1)` mixes a list of whole numbers into one of 32 bits, such
# that neighbours have nothing in common, and `>> 1` drops a bit, for libraries that know no whole number above
# $2^{31} - 1$.


# %%
def seeded_by_rank(ranks):
    own = [np.random.default_rng(10_000 * rank) for rank in range(ranks)]
    return np.mean([own[number % ranks].standard_normal() for number in range(12)])


def seeded_by_key(ranks):
    return np.mean([np.random.default_rng(reset_seed(0, 1, number)).standard_normal() for number in range(12)])


for seeded in (seeded_by_rank, seeded_by_key):
    print(f"{seeded.__name__}, the same batch on 1, 2, 3 ranks:", *(f"{seeded(ranks):.4f}" for ranks in (1, 2, 3)))

# %% [markdown]
# Why not simply *add*? Base seed plus worker times episodes per worker plus episode (mjrl), or seed plus worker (garage),
# are common. Take `seed + 1000 * iteration + number`. It is repeatable, it does not depend on the rank, and all episodes
# of an iteration differ. You train with the seeds 0 and 1, as two independent runs. Of the 100 first states of run 0's
# first iteration, how many does run 1 begin with, too?

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
# Five forked actors have the noise of one. And sums collide: episode 1 of run 0 has the seed of episode 0 of run 1.
# "Five independent runs" with seeds 0 to 4 share nearly all their first states, and may agree better than they
# should; with more than 1,000 episodes per iteration, an iteration's last episodes are the next one's first.
#
# </details>
#
# ## In the same order
#
# Now every episode is the same wherever it is played. But episodes *arrive* in another order every time, and the
# learner adds things up: means, gradients, Fisher products. A float has 53 binary digits, every addition rounds, and
# so $(a + b) + c$ need not be $a + (b + c)$. Add up 1,000 rewards in 200 random orders. **How many different sums**?

# %% prediction="yes"
guess_sums = 10  # different sums in 200 orders

# %%
print((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3))
rewards = np.random.default_rng(2).standard_normal(1000)
shuffle = np.random.default_rng(3).permutation
sums = {np.cumsum(shuffle(rewards))[-1] for _ in range(200)}  # cumsum adds strictly from left to right


def show_sums():
    compare("different sums", guess_sums, len(sums))
    print(f"largest less smallest: {max(sums) - min(sums):.1e}")


reveal(guess_sums, show_sums)

# %% [markdown]
# A trap that few know: a matrix product may do the same. Below, one state's answer by a small network, computed among 1
# to 32 rows at once.

# %%
rng = np.random.default_rng(4)
states, first, second = (rng.standard_normal(shape) for shape in ((32, 17), (17, 64), (64, 6)))
row_0 = {height: (np.tanh(states[:height] @ first) @ second)[0] for height in range(1, 33)}
odd = [height for height, row in row_0.items() if not np.array_equal(row, row_0[16])]
print("not quite the answer among 16 rows, if the matrix has this many rows:", odd)

# %% [markdown]
# (Which heights are listed depends on the processor.) The library behind numpy picks its loops by the *shape* of a
# matrix, and other loops may add in another order: an episode played alone would act otherwise, in the last digit, than
# one played beside others. So `Rollouts` always multiplies a multiple of 16 rows, in use or not.
#
# Does the last digit matter? Let us train CartPole twice on the *same* episodes, which a rank finishes in one order
# when it has 16 slots, and in another when it has 4. Learner and worker are those of lecture 06. What travels to the
# root is a **digest** of the episodes, for TRPO all their steps; the root sorts it by episode number. To see the order
# of arrival instead, we number the episodes anew, as they came. By how much will the two policies differ after 20
# updates, in the weight that differs most?

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
    axis.legend(loc="lower right", bbox_to_anchor=(1, 0.1))
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_apart, show_apart)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# At first there is rounding alone: the package lets the network's sums of an update run in float32, which has 24 binary
# digits instead of 53, so the two policies differ in the seventh decimal digit at once. In 20 updates that grows a few
# hundred times. (More digits only delay it: with all sums in float64 and three seeds, which no cell here repeats, it was
# at most 1e-14 after the first update, and 1e-7 to 2e-5 after the twentieth.) Where the critic draws minibatches by
# *position*, other minibatches give another policy within a few updates. (So would
# `fisher_fraction` below 1: it takes every so many rows.) Sorted, nothing differs.
#
# </details>
#
# So the root sorts before it computes. A **fragment** of experience, steps of one episode without a gap, is known by the
# episode's number and, if the episode comes in several fragments, by the step at which the fragment starts. Numpy sorts by
# several columns with `np.lexsort`.
#
# ### Exercise 3: `in_order`

# %% exercise="in_order"

# %% [markdown]
# ## The proof
#
# Keys, order, fixed shapes: does it hold in real runs? SHA-256 is a fingerprint: one bit of `theta` changes all of it.
# `--trace` also records what each rank does when, for a figure (or for Perfetto, which opens `trace.json`). Frans's
# post has a sketch of one actor against several; below it is drawn from the last iterations of the real run with 2
# ranks.

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
# Equal. A bug in the parallel code now shows as a changed fingerprint, and a run on eight ranks can be debugged on one.
# The figure has what the sketch leaves out: while rank 0 updates, rank 1 is idle. What that means for more ranks is
# lecture 08's subject.
#
# ## Fewer requests than ranks
#
# The post goes on to take *fewer steps per update*. Episodes of HalfCheetah last 1,000 steps, so 1,000 steps per
# update are one request. Below: five real ranks (asleep again) with 1 to 20 equal episodes, and Frans's own logs of
# HalfCheetah with 5 actors; both in per cent of five times the speed of one process.

# %%
requests = [1, 2, 3, 4, 5, 6, 8, 10, 11, 15, 16, 20]
in_use = []
for n, table in zip(requests, nap(5, "dynamic", [[20] * n for n in requests])):
    one_rank = n * 20 * 2e-3  # seconds: what it should sleep, since a nap that lasts too long is not work
    in_use.append(one_rank / 5 / max(end for *_, end in table))
took = author["read"]["halfcheetah_seconds"]
in_2016 = [took["20,000 steps, 1 actor"] / 20 / took["one episode, 5 actors"] / 5]
in_2016 += [took["20,000 steps, 1 actor"] / took["20,000 steps, 5 actors"] / 5]

# %% tags=["hide-input"] jupyter={"source_hidden": true}
grid = np.arange(1, 21)
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(grid, 100 * grid / (5 * np.ceil(grid / 5)), color=GREY, label="n / (5 x rounds)")
axis.plot(requests, 100 * np.array(in_use), "o", color=BLUE, label="five sleeping ranks, live")
axis.plot([1, 20], 100 * np.array(in_2016), "*", color=RED, markersize=14, label="Frans's logs, 2016")
axis.set(xlabel="episodes requested per update", ylabel="five ranks' time in use (%)", ylim=(0, 105))
axis.set_xticks(range(0, 21, 5))
axis.legend(loc="lower right")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# With one request five actors are worth one: the adaptive rule of the post, which shrinks the batch while returns rise
# (lecture 09), undoes the parallelism of the paper, and no pool can help. `train.py` prints a note when ranks have
# nothing to do.
#
# What helps are smaller requests. A **segment** is a fixed number of steps of a numbered slot: the slot's episode is
# cut where the segment ends, the critic's value stands in for the rest (lecture 05a: truncated is not terminated), and
# the next segment goes on from there. Segments are what `train.py` takes unless it is told otherwise. Slots belong to
# ranks for good, since an environment cannot travel; their total must not depend on the number of ranks, or the bits
# would: `--num-envs` is for the whole job. `slots_of` deals them out, in a row, with shares that differ by at most one:

# %%
for ranks in (2, 3):
    print(f"16 slots on {ranks} ranks:", *(list(slots_of(rank, ranks, 16)) for rank in range(ranks)))

# %% [markdown]
# Now 1,000 steps per update on HalfCheetah with 2 ranks, as one episode or as 63 steps in each of 16 slots. **How many
# times as fast** is collecting by segments?

# %% prediction="yes"
guess_faster = 2  # seconds for an episode over seconds for segments

# %%
say_if_busy()
collecting = {}
for kind in ("episodes", "segments"):
    job = ("--preset", "episodes", "--env", "HalfCheetah-v5", "--steps-per-update", 1000)
    columns = train(2, *job, "--total-steps", budget(6000, 2000), "--requests", kind).columns()
    collecting[kind] = np.median((columns["collect_s"] + columns["wait_s"])[1:])


def show_faster():
    for kind, seconds in collecting.items():
        print(f"{kind}: {1e3 * seconds:.0f} ms to collect; {RECORDED}: {about['collecting_ms'][kind]:.0f} ms")
    compare("segments against one episode", guess_faster, collecting["episodes"] / collecting["segments"], "x")
    print(f"recorded: {recorded_ratio('episodes', 'segments'):.2f} times, 95 % interval")


reveal(guess_faster, show_faster)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# More than the two ranks account for: eight slots of a rank in lockstep also share one matrix product and one call into
# the physics, where a lone episode pays for its own at every step. The price: segments are another algorithm, which
# relies on the critic where whole episodes rely on what happened, and so has another `theta`; again the same on any
# number of ranks.
#
# </details>
#
# ## Bug hunt
#
# A colleague finds `lexsort` hard to read, and packs both columns into one number. No episode of his has ever been longer
# than 1,000 steps, his tests pass, and on his machine the fingerprints agree. What is wrong?


# %%
def suspect(numbers: Array, starts: Array) -> Array:
    position = numbers * 1000 + starts
    return np.argsort(position, kind="stable")


_ = hunt("in_order", suspect)

# %% [markdown] solution="only"
# **The bug**: sums collide, as with the seeds. A fragment of episode 3 that starts at step 1,000 or later gets a number
# that belongs to episode 4: the order is wrong, and where two numbers are *equal*, it depends on who came first, so that
# the bits depend on the number of ranks again. A larger factor only hides it until somebody raises the time limit, and a
# very large one overflows 64 bits. Compare columns as columns: `np.lexsort((starts, numbers))`.

# %% [markdown]
# ## What you have built so far
#
# The collecting half of the loop now runs on any number of ranks: requests counted beforehand, drawn from a pool, as many
# at a time as is good for all. Random numbers belong to episodes, and what arrives is put in order, so that one rank or
# eight give the same policy to the last bit. That turns every parallel run into a test of itself. **Next**: lecture 08
# measures the speed-up, honestly.
#
# ## Quiz
#
# **1.** `lengths = comm.gather(50)` and then `print(sum(lengths))`, on 4 ranks. What is printed?
#
# <details><summary>Answer</summary>
#
# 200 by rank 0, and three errors: off the root `gather` returns `None`, and `sum(None)` fails. "200, four times" would be
# right for `allgather`. The job ends, since here every rank gets to its end, failed or not; had *one* failed before its
# `gather`, the others would wait.
#
# </details>
#
# **2.** Episodes take 10 to 50 steps, there are as many requests as ranks. Does the dynamic pool wait less than the static?
#
# <details><summary>Answer</summary>
#
# No: each rank plays one episode either way, and all wait for the longest. "Dynamic is always better" forgets that a pool
# can only choose *who* plays, and that is no choice when everybody plays one. Shorter requests help.
#
# </details>
#
# **3.** You seed every rank with `seed + rank`. Two runs on 4 ranks with the same seed and the dynamic pool: same policy?
#
# <details><summary>Answer</summary>
#
# Not for sure. Which rank is free first depends on the clock, so an episode may get another rank's numbers. The same seed
# on the same number of ranks is not enough; that is why the key has the *episode's* number in it.
#
# </details>
#
# **4.** Why does the root not simply take the mean of the ranks' mean gradients?
#
# <details><summary>Answer</summary>
#
# Two reasons. Ranks have different numbers of steps, so it would have to be a weighted mean. And the order of the sum would
# follow the number of ranks, so the last digits would too; you saw what twenty updates make of a last digit. "It would be
# biased" is right only without the weights.
#
# </details>
#
# ## Appendix: what was claimed in 2016
#
# - *"The data we collect is exactly the same as if we were single-threaded"* (post). The idea is right, and the code
#   of 2016 did not live up to it: as we read it, actors have copies of one noise stream, each keeps an observation filter of its own, and
#   batches stand in order of arrival. His logs (`results/speedup/Reacher-v1-1` to `-8`, 1 to 8 threads) rise above a
#   return of -10 after 82 to 87 iterations: alike, not the same. Here the fingerprints agree to the bit.
# - *"Each agent is always on the latest version of the policy"* (paper). The code hands out the new policy by putting one
#   copy per actor into the *same* pool as the requests; so that no actor takes two, each sleeps for 100 ms after taking
#   one. (The comment there calls it "super hacky".) Nothing makes sure that every actor got one. A broadcast needs no
#   luck, and takes the time that you measured.
# - *The number of episodes* (paper) needs a mean length before there is one. The code assumes 1,000 steps, so that its
#   first update on Reacher had 20 episodes of 49 steps, not 20,000 steps. We begin with the environment's time limit: for
#   CartPole, 500 steps. So the first update of "The proof", which is to have 1,000 steps, begins with two episodes.
#   As they turn out short, the ranks tell each other how many steps there are and play on, up to about 1,000.
# - *"20,000 times"* by one actor, *"6,000 times each"* by several (post): for five actors it is 4,000.
#
# ## Appendix: ranks inside a notebook
#
# For exploring, `pip install ipyparallel` gives MPI ranks that stay alive between cells and take commands from the
# kernel. The course does without: an exception on one engine leaves the others waiting in their collective call, and
# `mpiexec` has to be learned anyway.

# %%
try:
    import ipyparallel
except ImportError:
    print("ipyparallel is not installed; nothing to see here.")
else:
    with ipyparallel.Cluster(engines="mpi", n=2, log_level=40) as engines:
        engines[:].execute("from mpi4py import MPI; comm = MPI.COMM_WORLD; total = comm.allreduce(comm.rank + 1)")
        print("rank + 1, summed over all ranks, as each engine sees it:", engines[:]["total"])
