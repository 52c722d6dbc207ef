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
# **TRPO shall be faster. Which part of it do we speed up?**
#
# In 2016 the answer was easy. Kevin Frans put a stopwatch on his program: of the seconds that an update took on the
# task Reacher, 93 % went into collecting experience and 7 % into learning from it. So he parallelised the collecting.
# Before you copy a decision, measure. This lecture builds the instruments.
#
# | in this notebook | in the package | in Frans & Hafner 2016 |
# |---|---|---|
# | `timed` | `minitrpo/parallel/timing.py` | - |
# | `seconds_per_phase` | `minitrpo/parallel/timing.py` | section 4: "the biggest bottleneck"; the first figure of Frans's post |
# | `busy_fraction` | `minitrpo/parallel/timing.py` | - |
# | `read_chrome_trace` | `minitrpo/parallel/timing.py`; `train.py --trace` writes | - |
#
# *About 45 minutes to teach, under two minutes to run. You need: lecture 05 (what one update of TRPO does).*

# %%
import cProfile
import os
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, one_process, train
from minitrpo.experience.environments import describe, make
from minitrpo.parallel.timing import Span, read_chrome_trace

# %% [markdown]
# ## One iteration, taken apart
#
# Lecture 05 trained policies with `mpi_scripts/train.py`. Its loop has two halves. A **worker** collects: it plays
# episodes with the current policy until it has about as many steps as were asked for. A **learner** turns them into a
# better policy, by an algorithm that it holds, here TRPO. Here are the two as objects, for Reacher (a two-jointed arm;
# an episode is 50 steps) and the 20,000 steps per update of Frans's post. `one_process` means: one of each, and nobody
# to share the work with.

# %%
STEPS = budget(20_000, 1_000)
learner, worker = one_process(env="Reacher-v5", steps_per_update=STEPS, physics="gymnasium")

# %% [markdown]
# A stopwatch is two looks at a clock, and a difference. We do the whole iteration twice and keep the second: the first
# one also pays for things that happen only once (memory is claimed, caches are filled). Such a **warm-up** is thrown
# away in every serious measurement.
#
# Frans's numbers per update: 17.9 s collecting, 1.4 s learning, on one process. What fraction goes into collecting on
# *your* machine, with the same number of steps? Type it in per cent.

# %% prediction="yes"
guess_fraction = 85

# %%
for _ in range(2):
    plan, request = learner.plan()
    worker.collector.refill()  # with requests for episodes; lecture 07
    begun = time.perf_counter()
    gathered = worker.collect(plan, request, checkpoint=False).gathered
    between = time.perf_counter()
    learner.learn(gathered)  # moves the policy
    learner.complete([])  # fits the critic
    collect_s, update_s = between - begun, time.perf_counter() - between
print(f"{gathered.steps:,} steps: {collect_s:.2f} s collecting, {update_s:.2f} s learning")
compare("fraction of collecting", guess_fraction, 100 * collect_s / (collect_s + update_s), "%")
print(f"{os.cpu_count()} cores; on average {os.getloadavg()[0]:.1f} programs wanted one in the last minute")

# %% [markdown]
# (The last line is part of the measurement. When more programs want to run than there are cores, your clock shows their
# work, too: then close them, or trust the fractions more than the seconds.)
#
# If the fraction differs from his, the section "2016 and today" asks why. First the instrument: with a third and a
# fourth phase, a cell like the one above is more stopwatch than program.
#
# ## A stopwatch that stays out of the way
#
# Which clock? Python has several. Watch three of them through 0.2 seconds of waiting and then some work:

# %%
for clock in (time.time, time.perf_counter, time.process_time):
    readings = [clock()]
    time.sleep(0.2)
    readings.append(clock())
    sum(range(1_000_000))
    readings.append(clock())
    print(f"{clock.__name__:13} waiting {readings[1] - readings[0]:.3f} s, working {readings[2] - readings[1]:.3f} s")

# %% [markdown]
# `process_time` counts what the processor does for us, and sees no waiting. But waiting is what parallel programs are
# bad at, so we want it on the bill. `time` is the time of day: fine here, and wrong on the day the machine sets its
# clock. **`perf_counter`** only goes forward. Its zero means nothing; only differences do.
#
# What should the stopwatch look like in a program? Like this:
#
# ```python
# with timed(spans.append, "collect"):
#     episodes = collector.collect(request)
# ```
#
# Python does something when a `with` block begins and something when it ends, *however* it ends. What it does is said
# by a **context manager**. The short way to write one is a function with one `yield`, under the decorator
# `@contextmanager`: what stands before the `yield` happens at the beginning, the block runs at the `yield`, the rest
# happens at the end. If the block fails, the error comes out of the `yield`, so what must happen in any case stands
# behind `finally`:
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
# Our stopwatch makes a **span** of every phase: the tuple (name, start, duration). It hands the span to `record`, any
# function of one argument; the `append` of a list will do.
#
# ### Exercise 1: `timed`

# %% exercise="timed"

# %% [markdown]
# Stuck? `hint("timed", 1)`, then `2`, then `3`. As always the notebook runs on whatever happens: `mine.timed` is your
# function once its check has passed, and the package's until then.
#
# ## Which parts are slow?
#
# So asks a slide of the Berkeley lecture on parallel RL, and says of the simulator MuJoCo that it runs up to 10,000
# times faster than the real world. Frans's post says that every step pays for the environment *and* for the policy. We
# measure both as his code did it: one environment, one observation at a time. And a third thing: what the stopwatch
# itself costs.

# %%
spec, env = describe("Reacher-v5"), make("Reacher-v5")
policy, theta, rng = learner.algorithm.policy, learner.algorithm.theta, np.random.default_rng(0)
spans = []
for step in range(budget(3000, 500)):
    if step % 50 == 0:
        observation, _ = env.reset(seed=step)
    with mine.timed(spans.append, "policy"):
        dist_params = policy.distribution(theta, observation[None])
        action = policy.sample(dist_params, policy.draw_noise(rng, 1))
    with mine.timed(spans.append, "environment"):
        observation, *_ = env.step(spec.stretched(action)[0])
    with mine.timed(spans.append, "nothing"):
        pass

# %%
micro = {
    name: 1e6 * np.median([lasts for phase, _, lasts in spans if phase == name])
    for name in ("policy", "environment", "nothing")
}
for name, microseconds in micro.items():
    print(f"{name:12} {microseconds:7.2f} microseconds a step")
print(f"2016: {1e6 * 17.93 / 20_000:.0f} microseconds a step for policy and environment together")
print(f"Reacher runs {1e6 * env.unwrapped.dt / micro['environment']:.0f} times faster than the real arm would")

# %% [markdown]
# Medians, because a machine that also does other things adds a few very long steps. The line "nothing" is the price of
# the stopwatch: round a *phase* it is free, round a *step* it can be noticed, round a multiplication it would measure
# itself.
#
# Both parts of a step count. So a worker plays up to 16 episodes in lockstep: one matrix product serves 16
# observations.
#
# ## A run that writes down its spans
#
# The package's training loop is full of these stopwatches; its option `--trace` writes every span to a file. In a
# notebook, `train(ranks, options)` runs `mpiexec -n ranks python -m minitrpo train options`, which is the same program
# as `mpi_scripts/train.py`, and returns the folder that the run leaves.

# %%
ONE = ("--steps-per-update", STEPS, "--total-steps", budget(3, 2) * STEPS, "--trace")
run = train(1, "--env", "Reacher-v5", "--physics", "gymnasium", *ONE)
[spans] = read_chrome_trace(run.path / "trace.json")
for name, begins, lasts in spans[:10]:
    print(f"{name:11} begins at {begins:8.5f} s, lasts {lasts:8.5f} s")

# %% [markdown]
# | phase | what happens in it |
# |---|---|
# | broadcast | rank 0 sends the policy to all **ranks** (so MPI calls the processes of a job) |
# | collect | every rank plays episodes, and prepares what is to travel: its steps, and the mean and variance of each episode's observations, for the filter |
# | wait | who is done waits for the others |
# | gather | what was prepared goes to rank 0, which puts it in the order of the episodes' numbers |
# | update | rank 0 learns. Inside: **advantages**, **policy** (gradient, conjugate gradient, line search), **critic** (fitting the value function), and **exchange**, nearly nothing here (sending samples to other ranks, if those learn, too; lecture 08) |
# | checkpoint | rank 0 writes the log, and saves everything |
# | idle | ranks other than 0 wait for the next broadcast |
#
# Now add up the durations by name, as a hasty person would:

# %%
hasty = defaultdict(float)
for name, _, lasts in spans:
    hasty[name] += lasts
whole = max(begins + lasts for _, begins, lasts in spans)
print(f"all phases together: {sum(hasty.values()):.2f} s. The whole run: {whole:.2f} s")

# %% [markdown]
# More seconds than there were! Policy and critic are in the sum twice, as themselves and as parts of `update`. As a
# fraction of *that*, collecting comes out too small. Each instant should count once: for the **innermost** span it lies
# in. `update` then keeps what none of its parts took.
#
# The list helps: a span is recorded when it ends, so all that happened inside a span stands *before* it. Spans on one
# rank never overlap by half, since `with` blocks do not.
#
# ### Exercise 2: `seconds_per_phase`

# %% exercise="seconds_per_phase"

# %%
own = mine.seconds_per_phase(spans)
for name in sorted(own, key=own.get, reverse=True):
    print(f"{name:11} {own[name]:8.4f} s  {100 * own[name] / whole:5.1f} %")
print(f"{'unmeasured':11} {whole - sum(own.values()):8.4f} s")

# %% [markdown]
# The last line is a check on the instrument: what no stopwatch saw. If it were large, the table would be about the
# wrong program.
#
# ## 2016 and today
#
# Three suspects for a change since 2016: the processor, the physics, the learner. Frans's learner had less to do: his
# value function was a linear regression (`--critic linear` here), and no line search judged his steps. So we run the
# same task with both critics and with our two ways to do physics, and HalfCheetah for comparison.
#
# `--physics auto` steps all episodes that are in lockstep with *one* call into MuJoCo; `--physics gymnasium`, as above,
# takes a Python call for each. The option touches nothing but collecting. By which **factor** does it make the whole
# iteration on Reacher faster?

# %% prediction="yes"
guess_factor = 1.5


# %%
def per_update(run):
    """Return {phase: mean seconds per update} of a run on one rank, without the first update, which warms up."""
    [spans] = read_chrome_trace(run.path / "trace.json")
    warm = min(begins for name, begins, _ in spans if name == "checkpoint")
    later = [span for span in spans if span[1] >= warm]
    updates = sum(name == "update" for name, _, _ in later)
    return {name: seconds / updates for name, seconds in mine.seconds_per_phase(later).items()}


batched = train(1, "--env", "Reacher-v5", "--physics", "auto", *ONE)
bills = {"Reacher": per_update(run), "Reacher, batched physics": per_update(batched)}
before, after = (sum(bill.values()) for bill in bills.values())
compare("the iteration gets faster by the factor", guess_factor, before / after)
same = np.array_equal(run.load_checkpoint()["theta"], batched.load_checkpoint()["theta"])
print("the two runs learned the same policy, to the last bit:", same)

# %%
others = {
    "Reacher, linear critic": ("Reacher-v5", "gymnasium", "linear"),
    "HalfCheetah": ("HalfCheetah-v5", "gymnasium", "mlp"),
    "HalfCheetah, batched physics": ("HalfCheetah-v5", "auto", "mlp"),
}
for label, (name, physics, critic) in budget(others, {}).items():
    bills[label] = per_update(train(1, "--env", name, "--physics", physics, "--critic", critic, *ONE))
for label, bill in bills.items():
    fraction = bill["collect"] / sum(bill.values())
    print(f"{label:30} {sum(bill.values()):5.2f} s per update, {100 * fraction:3.0f} % collecting")

# %%
frans_collect = np.array([17.93, 9.47, 6.44, 5.57, 5.12, 5.12, 5.16, 5.21])  # medians, 1 to 8 threads on 5 cores
frans_learn = np.array([1.41, 1.40, 1.40, 1.43, 1.45, 1.42, 1.41, 1.47])
bars = {"Frans 2016: Reacher": [(frans_collect[0], BLUE), (frans_learn[0], ORANGE)]}
for label, bill in bills.items():
    parts = [bill["collect"], bill["policy"], bill["critic"]]
    bars[label] = list(zip([*parts, sum(bill.values()) - sum(parts)], (BLUE, GREEN, PURPLE, GREY)))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 0.45 * len(bars) + 1.7), sharey=True)
for label, bar in bars.items():
    edges = np.cumsum([0, *(seconds for seconds, _ in bar)])
    for axis, unit in ((left, 1), (right, 100 / edges[-1])):
        for edge, (seconds, color) in zip(edges, bar):
            axis.barh(label, seconds * unit, left=edge * unit, color=color)
left.invert_yaxis()
left.set(xlabel=f"seconds per update (2016: 20,000 steps; today: {STEPS:,})")
right.set(xlabel="per cent of the iteration", xlim=(0, 100))
swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in (BLUE, GREEN, PURPLE, GREY, ORANGE)]
names = ("collect", "policy", "critic", "all the rest", "learner of 2016 (not split)")
figure.legend(swatches, names, loc="upper center", ncols=5)
plt.tight_layout(rect=(0, 0, 1, 0.9))
plt.show()

# %% [markdown]
# An optimisation must not change the result; batched physics does not, as the two equal policies prove. The bar of 2016
# is the median of 185 updates on one process, from the timings that Frans published with his code. Read the left
# picture for *how much* each part has shrunk, the right one for *what is left to gain*. Where collecting has become
# cheap, "parallelise the collecting" is no longer the whole answer.
#
# ## Amdahl's law: how much can it bring?
#
# Say a fraction $c$ of an iteration is collecting. $P$ ranks divide that part by $P$ at best; the rest stays as it is.
# So the **speed-up**, old time over new time, is at most
#
# $$S(P) = \frac{1}{(1 - c) + c / P} \;\le\; \frac{1}{1 - c}.$$
#
# Gene Amdahl pointed it out in 1967. For the numbers of 2016, $c = 0.927$: no number of ranks makes the iteration more
# than 13.7 times faster. What is the limit for *your* Reacher bar, with Gymnasium's physics?

# %% prediction="yes"
guess_limit = 4


# %%
def amdahl(collecting, ranks):
    """Return the best speed-up if only this fraction of the time is divided among the ranks."""
    return 1 / (1 - collecting + collecting / ranks)


fractions = {label: bill["collect"] / sum(bill.values()) for label, bill in bills.items()}
compare("the largest possible speed-up on Reacher", guess_limit, amdahl(fractions["Reacher"], np.inf))

# %%
frans = frans_collect + frans_learn
ranks = np.geomspace(1, 64, 100)
figure, axis = plt.subplots(figsize=(8, 4.2))
curves = {"Frans 2016: Reacher": frans_collect[0] / frans[0], **fractions}
for (label, fraction), color in zip(curves.items(), (ORANGE, BLUE, GREEN, RED)):  # the four of Reacher
    axis.plot(ranks, amdahl(fraction, ranks), color=color, label=f"{label}: at most {amdahl(fraction, np.inf):.1f}")
axis.plot(range(1, 9), frans[0] / frans, "o", color=ORANGE, label="Frans 2016, measured (5 cores)")
axis.set_xscale("log", base=2)
axis.set(xlabel="ranks P", ylabel="speed-up of an iteration", ylim=(0, 13))
axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
axis.legend(loc="upper left")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The dots are Frans's own measurements. With every thread they fall further behind his curve; they never reach 3.
# Amdahl's law is a ceiling, not a forecast; lecture 08 is about the gap.
#
# Collecting on $P$ ranks takes less time than the rest as soon as $P > c / (1 - c)$: at 13 ranks in 2016. From there on
# a faster *learner* brings more than further ranks. Drag both sliders (they need a running kernel; the curves above are
# the static twin, with the learner as it is).


# %%
def iteration(P=8, learner_faster=1.0):
    bill = bills["Reacher"]
    rest = (sum(bill.values()) - bill["collect"]) / learner_faster
    seconds = bill["collect"] / P + rest
    print(f"{seconds:.3f} s per iteration at best, {100 * rest / seconds:.0f} % of it not collecting, "
          f"{sum(bill.values()) / seconds:.1f} times faster than now")  # fmt: skip


_ = ipywidgets.interact(iteration, P=(1, 64), learner_faster=(1.0, 10.0, 0.5))

# %% [markdown]
# ## Who waits for whom?
#
# A speed-up below the ceiling means that somebody waits. To see who, measure on every rank the fraction of the time in
# which it does useful work. For a set of phases and a window of time: in which fraction of the window is *at least one*
# of the phases running? Phases may lie in each other, so adding up durations fails once more, and a span that sticks
# out of the window counts with the part inside. What you want is the length of a **union of intervals**.
#
# ### Exercise 3: `busy_fraction`

# %% exercise="busy_fraction"

# %% [markdown]
# Now several ranks. They draw their episodes from a pool (lecture 07); then rank 0 learns, and the others have nothing
# to do. In per cent: what fraction of an iteration does the *last* rank spend collecting?

# %% prediction="yes"
guess_busy = 30

# %%
counts = budget((2, 8), (2,))
JOB = ("--env", "Reacher-v5", "--oversubscribe", *ONE)  # all ranks work, on however few cores
traces = {n: read_chrome_trace(train(n, *JOB).path / "trace.json") for n in counts}


def last_iteration(trace):
    """Return when the last update's iteration begins and ends, on rank 0's clock."""
    begin = [begins for name, begins, _ in trace[0] if name == "broadcast"][-1]
    return begin, max(begins + lasts for _, begins, lasts in trace[0])


largest = traces[counts[-1]]
busy = mine.busy_fraction(largest[-1], {"collect"}, *last_iteration(largest))
compare(f"with {counts[-1]} ranks the last one is collecting", guess_busy, 100 * busy, "% of the time")

working = {"broadcast", "collect", "gather", "update", "checkpoint"}
for n, trace in traces.items():
    at_work = [mine.busy_fraction(rank, working, *last_iteration(trace)) for rank in trace]
    print(f"{n} ranks: rank 0 works {100 * at_work[0]:.0f} % of the time, the rest {100 * np.mean(at_work[1:]):.0f} %")

# %%
phases = {"collect": BLUE, "wait": RED, "gather": ORANGE, "update": GREY}  # later ones are drawn over earlier ones
phases |= {"policy": GREEN, "critic": PURPLE, "idle": "#E8E8E8"}


def gantt(axis, trace):
    begin, _ = last_iteration(trace)
    for rank, spans in enumerate(trace):
        for name, color in phases.items():
            bars = [(begins - begin, lasts) for phase, begins, lasts in spans if phase == name]
            axis.broken_barh(bars, (rank - 0.42, 0.84), color=color, linewidth=0)
    axis.set(xlim=(0, longest), ylim=(len(trace) - 0.5, -0.5), yticks=range(len(trace)), ylabel="rank")


longest = max(end - begin for begin, end in map(last_iteration, traces.values()))
size = (10, 0.4 * sum(counts) + 1.6)
figure, axes = plt.subplots(len(counts), 1, figsize=size, height_ratios=counts, sharex=True, squeeze=False)
for axis, trace in zip(axes.flat, traces.values()):
    gantt(axis, trace)
axes[-1, 0].set(xlabel="seconds since the iteration began")
swatches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in phases.values()]
figure.legend(swatches, phases, loc="upper center", ncols=len(phases))
plt.tight_layout(rect=(0, 0, 1, 0.93))
plt.show()

# %% [markdown]
# A picture of all ranks over time is called a **Gantt chart**: a row is a rank, time runs to the right. This one is the
# diagram "single vs multiple actors" of Frans's post, drawn by a real run. (Grey is what is left of the update beside
# policy and critic.) Blue gets shorter as ranks join, as long as there are cores for them. Green and purple do not, and
# all ranks but one are idle meanwhile. (Ranks that share a core take turns, and the wall clock shows all of them
# "collecting" all the time; only `process_time` would tell.) The file `trace.json` of a run can be explored with the
# mouse at ui.perfetto.dev.
#
# ## Inside the update
#
# Phases are chosen by hand. A **profiler** needs no choice: it watches every call of every function, and says how often
# each was called and how long it took *itself*, without the functions it called (the same thought as in your
# `seconds_per_phase`). Python brings one along. We let our learner learn from the episodes above once more:

# %%
spans, profiler = [], cProfile.Profile()
with mine.timed(spans.append, "watched"), profiler:
    learner.learn(gathered)
    learner.complete([])
with mine.timed(spans.append, "unwatched"):
    learner.learn(gathered)
    learner.complete([])
for name, _, lasts in spans:
    print(f"{name:9} update: {lasts:.2f} s")

# %%
found = pstats.Stats(profiler).stats  # {(file, line, name): (_, calls, own seconds, seconds with callees, callers)}
rows = sorted(((cost[2], cost[1], function) for function, cost in found.items()), reverse=True)[:12]
figure, axis = plt.subplots(figsize=(9, 4.2))
for seconds, calls, (file, line, name) in rows:
    label = f"{name}, {Path(file).name}:{line}" if line else name
    axis.barh(label, seconds, color=BLUE)
    axis.text(seconds, label, f" {calls:,} calls", va="center", color=GREY)
axis.invert_yaxis()
axis.margins(x=0.2)
axis.set(xlabel="own seconds in one update")
plt.tight_layout()
plt.show()

# %% [markdown]
# How to read it: what lies in `perceptron.py` is the network and its two derivatives, on behalf of the policy
# (`product`, and a few of the calls of `activations` and `transposed_product`) or of the critic (the hundreds of other
# calls of these two, minibatch after minibatch); what lies in `critics.py` is the rest of the critic's work;
# `tracer.py`, `core.py` and `numpy_vjps.py` are autograd, which records operations and plays them back. Operators such
# as `@` and numpy's entry-by-entry functions such as `tanh` are not seen: their time is booked on the function in which
# they stand. And a profiler is a thumb on the scales: compare "watched" with "unwatched". Use it to find *where*, and a
# stopwatch to find *how long*.
#
# ## Bug hunt
#
# A `busy_fraction` as you may find it in a tool that draws traces. It cuts, it sorts, it walks, and it is right for
# phases that follow each other. `hunt` tells the symptom; find the line, mend it in the cell, run it again.


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
# **The bug**: `seen_until = last` compares with the last span only. A short span inside a long one pulls the mark back,
# and what follows is counted again: fractions above 1. It must be `seen_until = max(seen_until, last)`. Issue 11026 of
# the browser Servo suspects the same thought in the code that removes idle time from its traces: each span is compared
# with the last one, which goes wrong once a phase encompasses others. No test with phases in a row can find it.

# %% [markdown]
# ## What was claimed, and what we saw
#
# - *Frans & Hafner 2016*: collecting is the biggest bottleneck "by a magnitude". By their own numbers it was, 17.9 s
#   against 1.4 s. What your machine says today is in the list above the first picture: the same task, ten years later,
#   has another shape, and faster physics changes it once more.
# - *The same paper*: additional cores are better used for actors than for the learner, since the learner has to wait
#   for all the data anyway. The advice follows from their 93 %. The reason given for it does not support it: waiting is
#   mutual, as your Gantt chart shows. Where the learner's fraction is large, Amdahl's law sends you to the learner.
# - *Frans's post*: with 5 threads collecting still takes the majority. Yes: 5.1 s against 1.4 s, 78 %. It also foresaw
#   that the learner would be next.
# - *The Berkeley lecture*: MuJoCo runs up to 10,000 times faster than the real world. Compare with the factor your
#   machine printed for Reacher, one core, through Python.
# - With care: Reacher-v1 of 2016 is not quite Reacher-v5, and the two learners do not do the same work. Compare shapes,
#   not milliseconds.
# - OpenAI baselines times the phases of its TRPO with a `timed` like yours, without `finally` and on rank 0 only: a
#   phase that fails is not reported, and who waits cannot be seen.
#
# **Next**: lecture 07 shares the collecting among ranks. Lecture 08 measures what that brings.
