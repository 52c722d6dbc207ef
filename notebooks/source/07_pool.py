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
# # 07 A pool of episode requests
#
# **How do several processes share the episodes of one iteration, and still compute the same thing?**
#
# Lecture 06 found that playing episodes takes a good part of each iteration, and that episodes do not wait for one
# another: they can be played side by side. This lecture deals them out to processes. That is the easy half. The other
# half is that the policy that comes out should not depend on how many processes there were, down to its last bit.
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `requests_for` | `minitrpo/parallel/pool.py` | Frans & Hafner 2016, section 5: the number of episodes |
# | the two pools, `concurrency` | `minitrpo/parallel/pool.py` | section 5 and algorithm 1: the distributed pool |
# | `reset_seed`, `in_order` | `minitrpo/experience/randomness.py`, `episodes.py` | (assumed) |
# | `slots_of` | `minitrpo/parallel/pool.py` | (not there: segments for episodes) |
#
# *About 60 minutes to teach, a minute to run. You need: lectures 05 and 06.*

# %%
import json
from dataclasses import replace

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from minitrpo.classroom import budget, compare, mpiexec_code, one_process, play, train
from minitrpo.experience.randomness import Purpose
from minitrpo.policies import Array
from minitrpo.runs.actor import digested, in_episode_order
from minitrpo.runs.folder import sha256

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
lines = comm.gather(f"rank {comm.rank} of {comm.size} will play {task}")
if comm.rank == 0: print(*lines, sep="\\n")
"""
print(mpiexec_code(4, HELLO))

# %% [markdown]
# Three calls carry all of parallel TRPO: **broadcast** (the root's policy to everyone), **gather** (everyone's
# episodes to the root), and, in a moment, a shared counter.
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
# No error: two thirds of the data are missing, and what arrived stands in the wrong rows. With `np.empty` for our
# `np.full(nan)` the gaps would hold old memory, which may well look like numbers. `MPIComm.gather` in
# `minitrpo/parallel/comm.py` leaves nobody a count to get wrong: it packs a rank's arrays into one row of bytes,
# gathers first how many bytes each rank sends, and then, with `Gatherv`, the bytes.
#
# What is the trouble worth? A batch of 20,000 steps of HalfCheetah has about 24 numbers a step. **How many times as
# long** does `gather` take as `Gatherv`?

# %% prediction="yes"
guess_ratio = 5

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
seconds = json.loads(mpiexec_code(2, TRAVEL))
compare("20,000 steps from 2 ranks, gather : Gatherv", guess_ratio, seconds["gather"] / seconds["Gatherv"])
print(", ".join(f"{name} {1e3 * s:.3f} ms" for name, s in seconds.items()))

# %% [markdown]
# Much faster, and of little consequence: a batch travels in milliseconds, and takes hundreds of them to collect. We
# use buffers for another reason, too: they never run code that came with the data, as unpickling can.
#
# Set the last number beside Frans's code of 2016. It hands out the new policy by putting one copy per actor into the
# *same* pool as the requests; so that no actor takes two copies, each sleeps for 100 ms after taking one. (The comment
# there calls it "super hacky".) Nothing makes sure that every actor got one. A broadcast needs no luck.
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
# The **static** answer: deal the numbers like cards, rank $r$ plays $r, r + P, r + 2P, \dots$ of $P$ ranks. No
# messages, and every rank has as many episodes as any other; but not as many *steps*, and all wait for the slowest.
# Deal 24 episodes of a fresh policy on CartPole, of about 10 to 50 steps, to 4 ranks: which **percentage** of their
# time do the ranks wait, on average?

# %% prediction="yes"
guess_waiting = 10


# %%
def finish_times(lengths, ranks, pool):
    """Return when each rank has finished its last episode, in steps."""
    free_at = np.zeros(ranks)
    for number, length in enumerate(lengths):
        rank = np.argmin(free_at) if pool == "dynamic" else number % ranks
        free_at[rank] += length
    return free_at


def waiting(lengths, ranks, pool):
    """Return the percentage of their time that ranks wait for the last of them."""
    times = finish_times(lengths, ranks, pool)
    return 100 * (1 - times.mean() / times.max())


lengths = play("CartPole-v1", steps=1200).episodes.lengths[:48]
print("24 lengths:", *lengths[:24])
compare("waiting, static", guess_waiting, waiting(lengths[:24], 4, "static"), "%")
print(f"waiting, dynamic: {waiting(lengths[:24], 4, 'dynamic'):.1f} %")
print(
    f"mean length: {lengths[:24].mean():.1f}; of the 12 shortest, the first to come in: {np.sort(lengths[:24])[:12].mean():.1f}"
)

# %% [markdown]
# The **dynamic** answer is the pool of the paper: a rank that is free takes the next request. Nobody waits for longer
# than one episode takes, since no rank is idle while requests are left.
#
# All the pool has to be is one number that counts up, and gives each value to exactly one rank. It lives in the memory
# of rank 0. With **one-sided** communication others reach into that memory themselves: `Fetch_and_op` returns the old
# value and adds 1, as one indivisible act, while rank 0's program plays on. (Not every MPI library keeps this promise
# when rank 0 is busy; MPICH on one machine does.) `WindowCounter` in `minitrpo/parallel/counters.py` is those few
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
# looks splendid on a dashboard, three times the episodes per second, all of them copies.
#
# Now both pools on four real ranks. To be fair on any machine, even one of two cores, a rank does not play here: it
# sleeps for two milliseconds per step.

# %%
NAPS = """
import json, sys, time
from minitrpo.parallel.pool import DynamicPool, StaticPool
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
    everything = comm.gather_objects(spans)
    if comm.rank == 0: print(json.dumps(everything))
comm.close()
"""


def nap(ranks, pool, batches):
    """Return, for each batch of lengths, what each rank did: (episode, start, stop) in seconds."""
    batches = [[int(length) for length in batch] for batch in batches]
    return [json.loads(line) for line in mpiexec_code(ranks, NAPS, pool, json.dumps(batches)).splitlines()]


# %%
charts = {pool: nap(4, pool, [lengths[:24]])[0] for pool in ("static", "dynamic")}

figure, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True)
for axis, (pool, spans_of_ranks) in zip(axes, charts.items()):
    end = max(spans[-1][2] for spans in spans_of_ranks)
    for rank, spans in enumerate(spans_of_ranks):
        for number, start, stop in spans:
            axis.barh(rank, stop - start, left=start, color=BLUE, edgecolor="white")
            axis.text((start + stop) / 2, rank, number, color="white", ha="center", va="center", fontsize=8)
        axis.barh(rank, end - spans[-1][2], left=spans[-1][2], color=RED, label="waiting" if rank == 0 else None)
    axis.set(ylabel=f"{pool} pool\nrank", yticks=range(4))
    axis.invert_yaxis()
axes[1].legend(loc="center right")
axes[1].set_xlabel("seconds (2 ms a step; the white numbers are episodes)")
plt.tight_layout()
plt.show()

# %% [markdown]
# The same 24 episodes, in another order on other ranks, and sooner done. Drag the slider to see other numbers of ranks
# (it needs a running kernel; the picture below it does not). What does no pool help against?


# %%
def show_waiting(ranks=4):
    static, dynamic = (waiting(lengths, ranks, pool) for pool in ("static", "dynamic"))
    print(f"48 episodes on {ranks} ranks: static {static:.0f} % waiting, dynamic {dynamic:.0f} %")


_ = ipywidgets.interact(show_waiting, ranks=ipywidgets.IntSlider(min=1, max=32, value=4))

figure, axis = plt.subplots(figsize=(7, 3.2))
for pool, color, mark in (("static", RED, "s"), ("dynamic", BLUE, "o")):
    percentages = [waiting(lengths, ranks, pool) for ranks in range(1, 33)]
    axis.plot(range(1, 33), percentages, mark + "-", color=color, markersize=4, label=f"{pool} pool")
axis.set(xlabel="ranks for 48 episodes of CartPole", ylabel="time spent waiting (%)", ylim=(0, 100))
axis.legend()
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# With few episodes per rank the longest of them sets the time, whoever plays it.
#
# One refinement. Our rank plays up to 16 episodes in lockstep, in numbered **environment slots**: each tick takes one
# step in all of them, so that one matrix product gives all actions. Should a free rank fill all its slots? With 16
# requests and 2 ranks the first would empty the pool, and the second look on. Better hold as many as finish a fair
# share in as few **rounds** (slots filled once are one round) as all slots would, and not one more: that is its
# **concurrency**.
#
# ### Exercise 2: `concurrency`

# %% exercise="concurrency"

# %% [markdown]
# ## The same numbers, whoever plays
#
# An episode is a first state, a policy, and random numbers. Which? In the code of 2016 the actors are *forked*, that
# is copied, from one process, and with it the state of numpy's generator: as we read it, all actors draw the same
# action noise. Call the sum of an episode's noise its luck; how far does the mean luck of 5 x 8 episodes stray?
#
# The usual cure is a seed per rank (Spinning Up adds 10,000 times the rank). Then the numbers are independent, but the
# batch depends on the number of ranks, and with a dynamic pool even on who was free when. Ours is to ask what a number
# is *for*. It belongs to an episode: its key is (seed of the run, iteration, episode number, purpose), and nothing
# else.


# %%
def mean_luck(forked, run):
    """Return the mean luck of 8 episodes on each of 5 actors, with generators of their own or with copies of one."""
    actors = [np.random.default_rng([run, 0 if forked else actor]) for actor in range(5)]
    return np.mean([actor.standard_normal(8) for actor in actors])


def seeded_by_rank(ranks):
    own = [np.random.default_rng(10_000 * rank) for rank in range(ranks)]
    return np.mean([own[number % ranks].standard_normal() for number in range(12)])


def seeded_by_key(ranks):
    return np.mean([np.random.default_rng(mine.reset_seed(0, 1, number)).standard_normal() for number in range(12)])


for name, forked in (("own generators", False), ("forked copies", True)):
    print(f"{name}: standard deviation of the mean luck {np.std([mean_luck(forked, run) for run in range(500)]):.3f}")
print(f"expected of 40 independent episodes {1 / np.sqrt(40):.3f}, of 8 episodes {1 / np.sqrt(8):.3f}\n")
for seeded in (seeded_by_rank, seeded_by_key):
    print(f"{seeded.__name__}, the same batch on 1, 2, 3 ranks:", *(f"{seeded(ranks):.4f}" for ranks in (1, 2, 3)))

# %% [markdown]
# Five forked actors have the information of one. Gymnasium wants a single integer for `env.reset(seed=...)`, so the key
# (with `Purpose.RESET` as its fourth number) has to be mixed into one, and neighbours must not collide. Numpy's
# `SeedSequence` was made for that; it takes a list of whole numbers.
#
# ### Exercise 3: `reset_seed`

# %% exercise="reset_seed"

# %% [markdown]
# ## In the same order
#
# Now every episode is the same wherever it is played. But episodes *arrive* in another order every time, and the
# learner adds things up: means, gradients, Fisher products. A float has 53 binary digits, every addition rounds, and
# so $(a + b) + c$ need not be $a + (b + c)$. Add up 1,000 rewards in 200 random orders. **How many different sums**?

# %% prediction="yes"
guess_sums = 10

# %%
print((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3))
rewards = np.random.default_rng(2).standard_normal(1000)
shuffle = np.random.default_rng(3).permutation
sums = {np.cumsum(shuffle(rewards))[-1] for _ in range(200)}  # cumsum adds strictly from left to right
compare("different sums", guess_sums, len(sums))
print(f"largest less smallest: {max(sums) - min(sums):.1e}")

rng = np.random.default_rng(4)
states, first, second = (rng.standard_normal(shape) for shape in ((32, 17), (17, 64), (64, 6)))
row_0 = {height: (np.tanh(states[:height] @ first) @ second)[0] for height in range(1, 33)}
odd = [height for height, row in row_0.items() if not np.array_equal(row, row_0[16])]
print("a small network's answer to one state is not quite that among 16 rows, if the matrix has this many rows:", odd)

# %% [markdown]
# The last line is a trap few know. The library behind numpy picks its loops by the *shape* of a matrix, and other
# loops add in another order: an episode played alone would act otherwise, in the last digit, than one played beside
# others. So `Rollouts` always multiplies a multiple of 16 rows, in use or not.
#
# Does the last digit matter? Let us train CartPole twice on the *same* episodes, which a rank finishes in one order
# when it has 16 slots, and in another when it has 4. Learner and worker are those of lecture 06. What travels to the
# root is a **digest** of the episodes, for TRPO all their steps; the root sorts it by episode number. To see the order
# of arrival instead, we number the episodes anew, as they came.


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
            episodes = replace(episodes, numbers=np.arange(len(episodes.numbers)))
        digest = digested(worker.algorithm, plan, request, episodes)
        learner.learn(in_episode_order([digest]))
        learner.complete([])
        history.append(learner.algorithm.theta)
    return np.array(history)


def apart(sort, critic):
    return np.abs(thetas(16, sort, critic) - thetas(4, sort, critic)).max(axis=1)


as_they_came = {critic: apart(False, critic) for critic in ("mlp", "linear")}
print("sorted by episode number, largest difference in theta:", apart(True, "mlp").max())

# %%
figure, axis = plt.subplots(figsize=(7, 3.6))
names = {"mlp": "network critic: minibatches differ, too", "linear": "linear critic: rounding alone"}
for (critic, difference), color, mark in zip(as_they_came.items(), (RED, ORANGE), "so"):
    updates = 1 + np.arange(len(difference))
    axis.semilogy(updates, np.maximum(difference, 1e-17), mark + "-", color=color, markersize=4, label=names[critic])
axis.axhline(1e-17, color=BLUE, label="sorted by episode number: exactly 0")
axis.set(xlabel="updates", ylabel="largest difference in theta", ylim=(3e-18, 10))
axis.xaxis.get_major_locator().set_params(integer=True)
axis.legend(loc="lower right", bbox_to_anchor=(1, 0.1))
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The first update has one episode, and so one order. Then rounding, enlarged by conjugate gradient, drifts upwards;
# and where the critic draws minibatches by position, other minibatches give another policy within a few updates.
# Sorted, nothing differs. So the root sorts before it computes. A **fragment** of experience, steps of one episode
# without a gap, is known by the episode's number and, if the episode comes in several fragments, by the step at which
# the fragment starts.
#
# ### Exercise 4: `in_order`

# %% exercise="in_order"

# %% [markdown]
# ## The proof
#
# Keys, order, fixed shapes: does it hold in real runs? SHA-256 is a fingerprint: one bit of `theta` changes all of it.
# `--trace` also records what each rank does when, for a figure (or for Perfetto, which opens `trace.json`). Frans's
# post has a sketch of one actor against several; below it is drawn from the last iterations of the real run with 2
# ranks.

# %%
JOB = ("--env", "CartPole-v1", "--total-steps", budget(8000, 2000), "--steps-per-update", 1000, "--trace")
JOB = (*JOB, "--oversubscribe")  # all ranks work, on however few cores
jobs = [(1, "dynamic"), (2, "dynamic"), (2, "static"), *budget([(3, "dynamic"), (3, "static")], [])]
runs = {(ranks, pool): train(ranks, *JOB, "--pool", pool) for ranks, pool in jobs}
for (ranks, pool), run in runs.items():
    print(f"{ranks} rank(s), {pool:7} pool: theta {sha256(run.load_checkpoint()['theta'])[:24]}...")

events = json.loads((runs[2, "dynamic"].path / "trace.json").read_text())["traceEvents"]
colors = {"collect": BLUE, "wait": RED, "gather": GREEN, "update": ORANGE, "checkpoint": PURPLE, "idle": GREY}
spans = [(e["tid"], e["name"], e["ts"] / 1e6, e["dur"] / 1e6) for e in events if e["name"] in colors]
begin = sorted(start for rank, name, start, _ in spans if (rank, name) == (0, "collect"))[-3:][0]

figure, axis = plt.subplots(figsize=(9, 2.6))
for name, color in colors.items():
    shown = [(rank, start - begin, duration) for rank, which, start, duration in spans if which == name]
    ranks, lefts, widths = zip(*shown)
    axis.barh(ranks, widths, left=lefts, color=color, label=name)
axis.set(xlabel="seconds", ylabel="rank", yticks=(0, 1), xlim=(0, max(s[2] + s[3] for s in spans) - begin))
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
# update are one request. Below: five real ranks (asleep again) with 1 to 20 equal episodes; and Frans's own logs
# (`kvfrans/parallel-trpo`, HalfCheetah, 5 actors: 0.77 s for one episode, 4.53 s for 20,000 steps), in per cent of
# five times the speed of his single process (15.45 s for 20,000 steps).

# %%
requests = [1, 2, 3, 4, 5, 6, 8, 10, 11, 15, 16, 20]
busy = []
for spans_of_ranks in nap(5, "dynamic", [[20] * n for n in requests]):
    spans = [span for spans in spans_of_ranks for span in spans]
    busy.append(sum(stop - start for _, start, stop in spans) / 5 / max(stop for _, _, stop in spans))
in_2016 = [15.45 / 20 / 0.77 / 5, 15.45 / 4.53 / 5]
grid = np.arange(1, 21)

figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(grid, 100 * grid / (5 * np.ceil(grid / 5)), color=GREY, label="n / (5 x rounds)")
axis.plot(requests, 100 * np.array(busy), "o", color=BLUE, label="five ranks, live")
axis.plot([1, 20], 100 * np.array(in_2016), "*", color=RED, markersize=14, label="Frans's logs, 2016")
axis.set(
    xlabel="episodes requested per update", ylabel="five ranks' time in use (%)", ylim=(0, 105), xticks=range(0, 21, 5)
)
axis.legend(loc="lower right")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# With one request five actors are worth one: the adaptive rule of the post, which shrinks the batch as it goes
# (lecture 09), undoes the parallelism of the paper, and no pool can help. `train.py` prints a note when ranks have
# nothing to do.
#
# What helps are smaller requests. A **segment** is a fixed number of steps of a numbered slot: the slot's episode is
# cut where the segment ends, the critic's value stands in for the rest (lecture 05: truncated is not terminated), and
# the next segment goes on from there. Slots belong to ranks for good, since an environment cannot travel; their total
# must not depend on the number of ranks, or the bits would: with `--requests segments`, `--num-envs` is for the whole
# job, where `--envs-per-rank` says how many slots a rank has for whole episodes.
#
# ### Exercise 5: `slots_of`

# %% exercise="slots_of"

# %% [markdown]
# Now 1,000 steps per update on HalfCheetah with 2 ranks, as one episode or as 63 steps in each of 16 slots. **How many
# times as fast** is collecting by segments?

# %% prediction="yes"
guess_faster = 2

# %%
collecting = {}
for kind in ("episodes", "segments"):
    job = ("--env", "HalfCheetah-v5", "--steps-per-update", 1000, "--total-steps", budget(6000, 2000))
    columns = train(2, *job, "--requests", kind).columns()
    collecting[kind] = np.median((columns["collect_s"] + columns["wait_s"])[1:])
    print(f"{kind}: {1e3 * collecting[kind]:.0f} ms to collect {columns['env_steps'][0]:.0f} steps")
compare("segments against one episode", guess_faster, collecting["episodes"] / collecting["segments"], "x")

# %% [markdown]
# More than the two ranks account for: sixteen slots in lockstep also share one matrix product, where a lone episode
# pays for its own at every step. The price: segments are another algorithm, which relies on the critic where whole
# episodes rely on what happened, and so has another `theta`; again the same on any number of ranks.
#
# ## Bug hunt
#
# Seeds made by adding are common: base seed plus worker times episodes per worker plus episode (mjrl), seed plus worker
# (garage). Here is one for our key. It is repeatable, it does not depend on the rank, and all episodes of an iteration
# differ. What is wrong, and what does it do to a comparison of "five seeds", 0 to 4?


# %%
def suspect(seed: int, iteration: int, number: int) -> int:
    base = seed + 1000 * iteration
    return base + number


_ = hunt("reset_seed", suspect)

# %% [markdown] solution="only"
# **The bug**: sums collide. Episode 1 of run 0 has the seed of episode 0 of run 1: of 100 first states of an
# iteration, runs with seeds 0 and 1 share 99, so "five independent runs" start their episodes in nearly the same
# places and agree better than they should. And with 1,000 episodes or more per iteration, an iteration's last episodes
# are the next one's first. Any function that mixes the key mends it, `SeedSequence` for one.

# %% [markdown]
# ## What was claimed, and what we saw
#
# - *"The data we collect is exactly the same as if we were single-threaded"* (post). The idea is right, and the code
#   of 2016 did not live up to it: actors share a noise stream, each keeps an observation filter of its own, and
#   batches stand in order of arrival. His logs (Reacher, 1 to 8 threads) reach a return of -10 after 83 to 88
#   iterations: alike, not the same. Here the fingerprints agree to the bit; you saw what it takes.
# - *"Each agent is always on the latest version of the policy"* (paper). In the code this hangs on a sleep of 0.1 s. A
#   broadcast guarantees it, in the time that you measured.
# - *The number of episodes* (paper) needs a mean length before there is one. The code assumes 1,000 steps, so that the
#   first update on Reacher had 10 episodes of 49 steps, not 10,000 steps. We begin with the environment's time limit,
#   and err on CartPole, whose first update above had two short episodes.
# - *"20,000 times"* by one actor, *"6,000 times each"* by several (post): for five actors it is 4,000.
#
# **Next**: lecture 08 measures the speed-up, honestly.
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
