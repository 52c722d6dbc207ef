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
# # 10 Pooled gradients and the parameter server
#
# **Is gathering samples the same as adding gradients, and what does it cost to be late?**
#
# <!-- loop -->
#
# So far ranks collected, and mostly one learned. Here every worker computes gradients as well. First all wait for one
# another. Then nobody does, gradients come late, and you find out by experiment how late is too late.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `pooled_gradient` | `minitrpo/algorithms/parallel_policy_gradient.py` | Berkeley lecture slides, "sample parallelism with PG" |
# | `delayed_descent`, `stability_bound` | `minitrpo/course/parallel_sgd/problem.py` | Levin & May 1976 (in ecology); Yang et al. 2021 for SGD, lemma 1 |
# | `may_go_on` | `minitrpo/parallel/parameter_server.py` | Ho et al. 2013, Dai et al. 2015: bounded staleness |
# | the trace of lost updates | `minitrpo/parallel/shared_window.py` | Niu et al. 2011: Hogwild |
#
# *90 minutes in class with the four exercises; the notebook itself runs in half a minute. You need: lectures 01, 07, 08.*

# %%
import json
from dataclasses import replace

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from scipy import stats

from minitrpo.algorithms.parallel_policy_gradient import gradient_sums, moments
from minitrpo.course.parallel_sgd.problem import SGDSettings, make_regression
from minitrpo.course.parallel_sgd.rounds import SynchronousServer
from minitrpo.block_sums import ordered_sum
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, mpiexec_code
from minitrpo.course.classroom import one_process, play, recorded, reveal, train
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import ParameterServer, Rules, Tally, staleness_of
from minitrpo.policies import Array
from minitrpo.policy_gradient import policy_gradient
from minitrpo.returns import discounted_sums
from minitrpo.run_folder.folder import sha256
from minitrpo.course.parallel_sgd.descent import play as descend_together

plt.rcParams["legend.fontsize"] = 9

# %% [markdown]
# ## Adding gradients
#
# The policy gradient of lecture 01 is a mean over $N$ steps of score times weight, $\psi_t w_t$; take reward-to-go for
# the weight. Sums can be added up in parts, as that lecture's appendix says. The tempting shortcut: each worker sends
# the *mean* over its own steps, and the root takes the mean of those. Let four workers hold about 1, 2, 4 and 9
# sixteenths of the steps, as when some machines are faster. **By how many per cent of its length is the gradient off**,
# in the median of twelve batches?

# %% prediction="yes"
guess_off = 10  # per cent of the gradient's length


# %%
def deal(played):
    """Return the weights of a batch, and which steps each of the four workers has."""
    w = discounted_sums(played.episodes.rewards, 0.99, played.episodes.last)
    owner = np.searchsorted(np.array([1, 3, 7]) / 16, np.arange(len(w)) / len(w), side="right")
    return w, [owner == worker for worker in range(4)]


def gradient_of(played, steps, weights):
    """Return the mean of score x weight over some of the steps."""
    seen, taken = played.episodes.observations[steps], played.actions[steps]
    return policy_gradient(played.policy, played.theta, seen, taken, weights[steps])


def per_cent_off(played):
    """Return how far the mean of the workers' means is from the gradient of all steps, in per cent of its length."""
    w, shares = deal(played)
    whole = gradient_of(played, slice(None), w)
    means = [gradient_of(played, steps, w) for steps in shares]
    return 100 * np.linalg.norm(np.mean(means, axis=0) - whole) / np.linalg.norm(whole)


steps = budget(4000, 1500)
played = play("CartPole-v1", steps)
others = [play("CartPole-v1", steps, played.theta, seed) for seed in range(1, budget(12, 3))]
off = [per_cent_off(batch) for batch in (played, *others)]


def show_off():
    """Answer the prediction."""
    print("steps per worker:", [int(steps.sum()) for steps in deal(played)[1]])
    compare("mean of the workers' means, off by", guess_off, np.median(off), "% of the gradient")
    print(f"  (median of {len(off)} batches of the same policy; from {min(off):.0f} to {max(off):.0f} %)")


reveal(guess_off, show_off)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A step of the worker with few steps counts nine times as much as a step of the busiest. Where all play alike, as here,
# that adds noise, no bias: with independent steps the variance is $\frac1{16} (16 + 8 + 4 + \frac{16}9) = 1.9$ times
# that of the pooled mean, as if nearly half of them had been thrown away. Where fast machines have other steps than
# slow ones, it is biased, too. (Hugging Face's `transformers` took means of means until October 2024: issue 24725.)
#
# </details>
#
# So pool sums. But now the baseline: the mean weight $b$ of *all* steps, which nobody knows before everybody has
# played. Must the workers talk twice, once for $b$ and once for the gradient? No, because the gradient is **linear in** $b$:
#
# $$\frac1N \sum_t \psi_t \, (w_t - b) = \frac{u - b \, v}{N}, \qquad u = \sum_t w_t \psi_t, \quad v = \sum_t \psi_t,
# \quad b = \frac1N \sum_t w_t .$$
#
# So a worker sends $u$ and $v$ over its own steps, their number, and the sum of its weights; `gradient_sums` and `moments`
# (given) make such a row:

# %%
episodes, policy, theta = played.episodes, played.policy, played.theta
w, shares = deal(played)
sums = np.array([gradient_sums(policy, theta, episodes.observations[i], played.actions[i], w[i]) for i in shares])
about = np.array([moments(w[i], w[i]) for i in shares])
print("sums: ", sums.shape, "- u and v of", len(theta), "numbers each")
print("about:", about.shape, "- n, sum w, and three that other members of the family need")

# %% [markdown]
# ### Exercise 1: `pooled_gradient`

# %% exercise="pooled_gradient"

# %% [markdown]
# Stuck? `hint("pooled_gradient")`, then `hint("pooled_gradient", 2)`; the same for every exercise. Beside the gradient of
# all steps with the baseline taken off first:

# %%
with_baseline = gradient_of(played, slice(None), w - w.mean())
pooled = mine.pooled_gradient(sums, about)
print(
    f"largest difference: {np.abs(pooled - with_baseline).max():.1e}, largest entry {np.abs(with_baseline).max():.2g}"
)

# %% [markdown]
# Equal up to rounding: **adding gradients is the same as gathering samples.** And the last digits? Sums depend on their
# order. To keep lecture 07's promise, the same bits on any number of ranks, the package sends a row per *episode* and adds
# the rows in the order of the episodes (`ordered_sum`).
#
# Which travels lighter, samples or gradients? Reacher: 80 episodes of 50 steps, each step about 14 numbers; a policy with
# 4,996 parameters. **How many times as many bytes** are the rows of gradients?

# %% prediction="yes"
guess_bytes = 1  # bytes of gradients over bytes of samples

# %%
sent = {}
for env in ("Reacher-v5", "Swimmer-v5", "HalfCheetah-v5"):
    for travels in ("samples", "gradients"):
        job = {"env": env, "algorithm": "policy-gradient", "critic": "none", "travels": travels}
        learner, worker = one_process(**job, steps_per_update=4000)
        plan, request = learner.plan()
        worker.collector.refill()
        gathered = worker.collect(plan, request, checkpoint=False)
        sent[env, travels] = sum(array.nbytes for array in gathered.batch.values())


def show_bytes():
    """Answer the prediction; then the other tasks."""
    compare(
        "Reacher, gradients : samples", guess_bytes, sent["Reacher-v5", "gradients"] / sent["Reacher-v5", "samples"]
    )
    for env in ("Reacher-v5", "Swimmer-v5", "HalfCheetah-v5"):
        kB = [sent[env, travels] / 1e3 for travels in ("samples", "gradients")]
        print(f"{env:15s} 4,000 steps: samples {kB[0]:6.0f} kB, gradients {kB[1]:6.0f} kB")


reveal(guess_bytes, show_bytes)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A row is $2P$ numbers however short the episode, so gradients are light where episodes are long. One row per *worker*
# would be lighter still, and its bits would depend on who played what. What gradients buy is that they are *computed* where
# the samples are.
#
# </details>
#
# Now with real ranks: two that send gradients, three that send samples.

# %%
JOB = ("--algorithm", "policy-gradient", "--env", "CartPole-v1", "--total-steps", 6000, "--steps-per-update", 1000)
JOB = (*JOB, "--oversubscribe")  # all ranks work, on however few cores
bits = []
for ranks, travels in ((2, "gradients"), (3, "samples")):
    bits.append(sha256(train(ranks, *JOB, "--travels", travels).load_checkpoint()["theta"]))
    print(f"{ranks} ranks, {travels:9s}: theta {bits[-1][:24]}...")
assert bits[0] == bits[1], "the two must be equal to the bit"
print("(on another kind of processor: other bits, equal on all ranks again)")

# %% [markdown]
# ## The parameter server
#
# That was **synchronous**: everybody waits for the slowest. A **parameter server** is a process that keeps the
# parameters (Dean et al. 2012, DistBelief). A worker's whole life is
#
#     pulled = store.pull()                                    # copies of the parameters, and their version
#     store.push(gradient(pulled.arrays), pulled.version)      # and again
#
# If the server applies each gradient when it comes, nobody waits: that is **asynchronous**. The price: between a
# worker's pull and its push others pushed, and the gradient is of parameters that are no longer there. Its
# **staleness** is how much the *version*, the number of updates so far, has grown meanwhile.
#
# To take luck out of it, the package's `EventQueue` plays server and workers in one process, by a clock that is drawn. Three
# workers that need 1.0, 1.5 and 4 seconds for a gradient:


# %%
def watch(seconds, pushes, rules=None, log=lambda arrival: None, kind=ParameterServer):
    """Play workers, one per entry of `seconds`, until so many pushes; return (what was counted, [worker, from, to])."""
    shared = {"x": np.zeros(1), **Tally.arrays(len(seconds))}
    server = kind(shared, lambda shared, gradient, arrival: log(arrival), rules)
    spans = []

    def delay(worker, clock):  # asked when a worker pulls
        needed = seconds[worker](clock) if callable(seconds[worker]) else seconds[worker]
        spans.append((worker, queue.time, queue.time + needed))
        return needed

    queue = EventQueue(server, [lambda pulled: {"g": np.zeros(1)}] * len(seconds), ("x",), delay)
    for _ in range(pushes):
        queue.play()
    return server.tally, spans


def print_arrival(arrival):
    """Print a push as the server sees it."""
    age = f"{arrival.staleness} update{'s' * (arrival.staleness != 1)} old"
    print(f"worker {arrival.worker} finds version {arrival.version}, its gradient is {age}")


_ = watch([1.0, 1.5, 4.0], 8, log=print_arrival)

# %% [markdown]
# Eight workers, one of which takes eight times as long as the others. What is the **mean staleness** of the gradients
# that the server applies?

# %% prediction="yes"
guess_staleness = 4  # updates

# %%
rng = np.random.default_rng(0)
busy = [lambda clock: 1 + 0.5 * rng.exponential()] * 7
equal = watch([*busy, busy[0]], budget(8000, 2000))[0].histogram.sum(axis=0)
uneven = watch([*busy, lambda clock: 8 * busy[0](clock)], budget(8000, 2000))[0].histogram.sum(axis=0)


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_staleness():
    """Answer the prediction, and draw both histograms."""
    compare("mean staleness, one of eight is slow", guess_staleness, staleness_of(uneven)[0], "updates")
    print(f"all equally fast: mean {staleness_of(equal)[0]:.2f}, at most {staleness_of(equal)[1]}")
    print(f"one of them slow: mean {staleness_of(uneven)[0]:.2f}, at most {staleness_of(uneven)[1]}")
    _, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    ages = np.arange(staleness_of(uneven)[1] + 1)
    axis.bar(ages - 0.2, equal[ages], 0.4, color=BLUE, label="all equally fast")
    axis.bar(ages + 0.2, uneven[ages], 0.4, color=ORANGE, label="one takes 8 times as long")
    axis.set(xlabel="staleness (updates)", ylabel="gradients", yscale="log", xlim=(-1, len(ages)))
    axis.legend()
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_staleness, show_staleness)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 7, whoever is slow. Each update makes the gradients that the *other* seven are working on one update older: the total
# age grows by 7 per update, and in the long run just as much age arrives as grows. **The mean staleness of $W$ workers
# is $W - 1$, whatever their speeds.** A slow worker changes how it is spread: its few gradients (one in 57, 1.75 %)
# come very late.
#
# </details>
#
# ## How late is too late?
#
# The simplest function that has a minimum: $f(x) = \frac12 h x^2$, with **curvature** $h$ and gradient $h x$. Plain
# descent, $x_{k+1} = x_k - \text{step} \cdot h \, x_k$, multiplies $x$ by $1 - \text{step} \cdot h$ in each update, so
# all depends on the product $\text{rate} = \text{step} \cdot h$: up to a rate of 2 it does not diverge. Let every
# gradient be `delay` updates old:
#
# $$x_{k+1} = x_k - \text{rate} \cdot x_{k - \text{delay}}$$
#
# In more dimensions each eigenvector of the Hessian does so on its own, with its eigenvalue for $h$: the largest
# diverges first.
#
# ### Exercise 2: `delayed_descent`

# %% exercise="delayed_descent"


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def draw_path(axis, rate, delay, color=BLUE):
    """Draw x over the updates."""
    x = mine.delayed_descent(rate, delay, 100)
    axis.plot(x, ".-", color=color, markersize=4)
    axis.axhline(0, color=GREY, linewidth=0.8)
    axis.set(xlabel="update", ylabel="x", xlim=(0, 100), ylim=(-3, 3), title=f"delay {delay}, rate {rate:.3g}")
    axis.grid(alpha=0.3)


def draw_roots(axis, rate, delay):
    """Draw the roots of z^(delay + 1) - z^delay + rate, and the circle |z| = 1."""
    polynomial = np.zeros(delay + 2)
    for place, number in ((0, 1), (1, -1), (-1, rate)):
        polynomial[place] += number
    roots = np.roots(polynomial)
    inside = np.abs(roots) < 1
    circle = np.exp(2j * np.pi * np.arange(201) / 200)
    axis.plot(circle.real, circle.imag, color=GREY)
    axis.plot(roots[inside].real, roots[inside].imag, "o", color=BLUE, label="fades")
    if not inside.all():
        axis.plot(roots[~inside].real, roots[~inside].imag, "s", color=RED, label="stays or grows")
    axis.set(xlabel="real part of z", ylabel="imaginary part", xlim=(-1.6, 2.9), ylim=(-1.6, 1.6), aspect="equal")
    axis.legend(loc="lower right")
    axis.grid(alpha=0.3)


def show_delayed(delay=4, rate=0.3):
    """Redraw the path and its roots."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    draw_path(left, rate, delay)
    draw_roots(right, rate, delay)
    plt.show()


# %% [markdown]
# Drag both sliders (they need a running kernel). Left, the path; the right-hand picture is explained below. What happens at
# a delay of 0 when the rate passes 1, and when it passes 2? Where does the path begin to grow at delays of 1, 2, 4? Note the
# numbers down.

# %%
_ = ipywidgets.interact(
    show_delayed,
    delay=ipywidgets.IntSlider(min=0, max=6, value=4),
    rate=ipywidgets.FloatSlider(min=0.01, max=2.1, step=0.01, value=0.3),
)

# %% [markdown]
# Without delay the limit is 2. Going by your numbers, **what is the largest rate at a delay of 15**, for 16 workers?

# %% prediction="yes"
guess_rate = 0.2  # step x curvature


# %%
def dies_down(rate, delay):
    """Return whether x is smaller at the end of a long path than at its beginning."""
    window = 8 * (2 * delay + 1)
    x = np.abs(mine.delayed_descent(rate, delay, 100 * window))
    return x[-window:].max() < x[:window].max()


def largest_rate(delay):
    """Return the border between dying down and growing: halve the interval that holds it, again and again."""
    low, high = 0.0, 2.5
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if dies_down(middle, delay) else (low, middle)
    return low


delays = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15]
found = np.array([largest_rate(delay) for delay in delays])


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_found():
    """Answer the prediction; print what was found, draw both sides of the border."""
    compare("largest rate at a delay of 15", guess_rate, found[-1])
    print("delay:        ", *(f"{delay:6d}" for delay in delays))
    print("largest rate: ", *(f"{rate:6.3f}" for rate in found))
    _, axes = plt.subplots(2, 3, figsize=(12, 5.6), layout="constrained", sharey="row")
    for (above, below), factor, color in zip(axes.T, (0.3, 0.97, 1.03), (GREEN, BLUE, RED)):
        draw_path(above, factor * found[4], 4, color)
        draw_roots(below, factor * found[4], 4)
    plt.show()


reveal(guess_rate, show_found)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# From left to right: 0.3, 0.97 and 1.03 of the border. The rule that first comes to mind, $2 / (\text{delay} + 1)$,
# fits delays of 0 and 1 and allows too much from 2 on. (At 0.3 hardly a swing is left. The rate at which $x$ dies down
# soonest is $d^d / (d + 1)^{d + 1}$ for a delay of $d$: about a quarter of the largest, from a delay of 1 on.)
#
# </details>
#
# ### Why
#
# At the border the path swings on for ever. So try $x_k = z^k$ with a complex number $z$ (the path is the real part). Put
# into the update and divided by $z^{k - \text{delay}}$ this is
#
# $$z^{\text{delay} + 1} = z^{\text{delay}} - \text{rate}, \qquad \text{or} \qquad \text{rate} = z^{\text{delay}} \, (1 - z).$$
#
# These $z$ are the points of the right-hand picture. A root with $|z| < 1$ fades, one outside the circle grows: at a rate
# near 0 none is outside, and a higher one drives a pair across. On the circle $z$ has length 1 and an angle $\varphi$.
# Multiplying complex numbers multiplies lengths and adds angles. So $z^{\text{delay}}$ has length 1 and angle $\text{delay}
# \cdot \varphi$; and $1 - z$, a chord of the circle, has length $2 \sin(\varphi / 2)$ and angle $\varphi / 2 - 90°$. Their
# product must be the rate, a real and positive number, whose angle is 0:
#
# $$\text{rate} = 2 \sin \frac{\varphi}{2}, \qquad \text{delay} \cdot \varphi + \frac{\varphi}{2} - 90° = 0.$$
#
# (Angles that differ by 360° are the same, too; they belong to the mirrored root, or to larger rates.) You finish it: a
# formula of one line, without a search. (Levin & May found it in 1976 for populations that react late to their own
# size, written as $2 \cos \frac{k \pi}{2 k + 1}$ for a delay of $k$: another form of the same number.)
#
# ### Exercise 3: `stability_bound`

# %% exercise="stability_bound"

# %%
bounds = np.array([mine.stability_bound(delay) for delay in delays])


def show_bounds():
    """Compare the formula with what was found by trying."""
    print(f"largest difference between formula and experiment: {np.abs(bounds - found).max():.4f}")
    _, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
    axis.plot(delays, bounds, color=PURPLE, label="formula")
    axis.plot(delays, found, "o", color=BLUE, label="found by trying")
    axis.plot(delays, 2 / (np.array(delays) + 1), "--", color=GREY, label="2 / (delay + 1)")
    axis.set(xlabel="delay (updates)", ylabel="largest rate: step x curvature", ylim=(0, 2.1))
    axis.legend()
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_rate, show_bounds)

# %% [markdown]
# Does it hold for more than a parabola with a fixed delay? Eight asynchronous workers, their speeds drawn at random,
# fit a line to 4,096 samples of 8 features from minibatches of 32. The mean staleness is 7:

# %%
setup = SGDSettings(mode="asynchronous", workers=8, epochs=4, records=budget(100, 40))
problem = make_regression(setup)
columns = np.column_stack([problem.inputs, np.ones(setup.rows)])
curvature = np.linalg.eigvalsh(columns.T @ columns / setup.rows).max()
print(f"largest eigenvalue of the Hessian {curvature:.2f}")
print(f"largest step: without delay {2 / curvature:.2f}, with a delay of 7 {mine.stability_bound(7) / curvature:.3f}")
print("the loss in the end, in parts of what it was, four seeds:")
for step in (0.1, 0.18, 0.2, 0.22, 0.24, 0.3):
    ends = [descend_together(replace(setup, step_size=step, seed=seed)).loss for seed in range(4)]
    print(f"step {step:4.2f}:", *(f"{loss[-1] / loss[0]:8.1g}" for loss in ends))

# %% [markdown]
# A formula for one number, one delay and no noise comes close to where eight workers break: 0.2 and 0.22, just above
# its limit, still bring the loss down, 0.24 does not, in any of four runs. So **more asynchronous workers need smaller
# steps**, about in proportion. Does asynchrony gain anything?
#
# ## Waiting a little
#
# Between waiting for all and waiting for none lies **bounded staleness** (SSP, "stale synchronous parallel"): each
# worker has a *clock*, the number of gradients it has pushed; it may begin the next one while it is at most `max_lead`
# ahead of the slowest. A lead of 0 waits as a barrier does (but each gradient is an update of its own); no limit is
# asynchronous. (The rule is asked before a gradient is begun. So with a lead of 2 a clock can be 3 ahead of the
# slowest, once it is pushed: then its worker waits.)
#
# ### Exercise 4: `may_go_on`

# %% exercise="may_go_on"

# %%
clocks = np.array([5, 3, 4])
for lead in range(3):
    print(f"clocks {clocks}, lead of {lead}:", [bool(mine.may_go_on(clocks, worker, lead)) for worker in range(3)])

# %% [markdown]
# Below, four workers for 24 seconds (coloured: computing; white: waiting). On the left the bottom one takes three times
# as long; on the right every worker has a hiccup of 6 seconds now and then. Find where each worker runs into its limit:
# where its row has its first white gap.

# %% tags=["hide-input"] jupyter={"source_hidden": true}
MODES = {
    "synchronous": ({"mode": "synchronous"}, {"kind": SynchronousServer}, BLUE),
    "lead of 2": ({"mode": "bounded", "max_lead": 2}, {"rules": Rules(max_lead=2)}, GREEN),
    "asynchronous": ({"mode": "asynchronous"}, {}, ORANGE),
}
hiccups = np.random.default_rng(3).random((4, 200)) < 0.1
straggler = [1.1, 1.2, 1.3, 3.6]
hiccuping = [lambda clock, w=w: 1.1 + 0.1 * w + 6 * hiccups[w, clock] for w in range(4)]
figure, axes = plt.subplots(3, 2, figsize=(12, 4.6), layout="constrained", sharex=True, sharey=True)
for row, (name, (_, server, color)) in zip(axes, MODES.items()):
    for axis, seconds in zip(row, (straggler, hiccuping)):
        spans = [span for span in watch(seconds, 120, **server)[1] if span[1] < 24]
        workers, begins, ends = np.array(spans).T
        axis.barh(workers, ends - begins, left=begins, height=0.7, color=color, edgecolor="white")
        axis.set(xlim=(0, 24), yticks=range(4), ylabel="worker", title=f"{name}: {np.sum(ends <= 24)} gradients")
        axis.title.set_fontsize(10)
axes[0, 0].invert_yaxis()  # of all: they share it
for axis, text in zip(axes[-1], ("seconds; worker 3 is slow", "seconds; hiccups")):
    axis.set_xlabel(text)
plt.show()

# %% [markdown]
# <details><summary>After you have looked</summary>
#
# Left, with a lead of 2: worker 0 has done three gradients after 3.3 seconds, and waits for the slow one's first, at
# 3.6. The third of workers 1 and 2 is done no sooner than that. All three do a fourth, and wait for the slow one's
# second, at 7.2 seconds; from then on each of its gradients lets them do one more. So all go at its pace. Right: the
# others wait for a hiccup only when their lead is used up: after three gradients, if all began level.
#
# </details>
#
# But gradients are not progress: late ones need smaller steps. So count the *seconds until the loss is 0.001*, in a fit
# of 32 features by eight workers, each mode with the best of several step sizes. **How many times as long as the
# asynchronous server does the synchronous one need**, if all workers are equally fast, and if one of the eight takes
# eight times as long?

# %% prediction="yes"
guess_equal = 2  # times as long, all equally fast
guess_straggler = 8  # times as long, one takes 8 times as long

# %%
TARGET, SEEDS = 0.001, range(budget(10, 5))
STEPS = budget(
    (0.035, 0.05, 0.07, 0.1, 0.7, 0.9), (0.05, 0.7)
)  # with a barrier 0.5, 0.6 and 0.8 are no better than 0.7
SCENES = {
    "all equally fast": {},
    "one takes 8 times as long": {"slowest": 8.0},
    "all with hiccups": {"delay_jitter": 4.0},  # a gradient takes 1 + 4 x Exp(1) seconds instead of 1 + 0.5 x Exp(1)
}


def to_target(settings):
    """Return seconds and samples until the loss is at its target; infinity if it never is."""
    trace = descend_together(settings)
    hits = np.flatnonzero(trace.loss <= TARGET)
    return (trace.seconds[hits[0]], trace.samples[hits[0]]) if len(hits) else (np.inf, np.inf)


base = SGDSettings(workers=8, rows=1024, features=32, batch=8, epochs=1.5, records=200)
took = {}
for scene, change in SCENES.items():
    for name, (mode, _, _) in MODES.items():
        tries = [[to_target(replace(base, seed=k, step_size=a, **mode, **change)) for k in SEEDS] for a in STEPS]
        best = int(np.argmin(np.mean(tries, axis=1)[:, 0]))
        took[scene, name] = (STEPS[best], *np.array(tries)[best].T)


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def interval(values):
    """Return the mean of a few values and the half width of its 95 % interval, by Student's t."""
    return np.mean(values), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)


def show_seconds():
    """Answer the predictions; print and draw seconds and samples."""
    for scene, guess in (("all equally fast", guess_equal), ("one takes 8 times as long", guess_straggler)):
        ratios = took[scene, "synchronous"][1] / took[scene, "asynchronous"][1]
        mean, half = interval(ratios)
        compare(f"{scene}: seconds, synchronous : asynchronous", guess, mean)
        print(f"  (mean of {len(ratios)} seeds, 95 % interval {mean - half:.2f} to {mean + half:.2f})")
    _, axes = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
    for which, (axis, label) in enumerate(zip(axes, ("seconds (drawn)", "samples used"))):
        for shift, (name, (_, _, color)) in enumerate(MODES.items()):
            rows = [interval(took[scene, name][1 + which]) for scene in SCENES]
            centres, halves = np.array(rows).T
            axis.bar(np.arange(3) + 0.27 * (shift - 1), centres, 0.25, yerr=halves, color=color, capsize=3, label=name)
        axis.set(ylabel=f"{label} to a loss of {TARGET}", ylim=(0, None))
        axis.set_xticks(range(3), SCENES, fontsize=9)
        axis.grid(alpha=0.3, axis="y")
    axes[0].legend(loc="upper left", title=f"means of {len(SEEDS)} seeds,\n95 % intervals", title_fontsize=9)
    plt.show()
    for scene in SCENES:
        print(f"{scene}: best steps", {name: took[scene, name][0] for name in MODES})


reveal((guess_equal, guess_straggler), show_seconds)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With equal workers asynchrony gains something, and pays a good part of what it saves in waiting back in samples. With
# a straggler it wins by far. (The barrier's steps may be longer: its gradient is fresh, and a mean of eight.) And the
# lead of 2? It bridges hiccups. Against a worker that is *always* slow it is soon used up, and all go at that worker's
# pace. (Where nobody waits, the straggler is hardly heard: harmless where all samples are alike; else a bias.)
#
# </details>
#
# ## Without a lock
#
# On one machine the server can go, too: all ranks share the memory of the parameters, and each writes as it likes,
# without locks (**Hogwild**). "x = x + 1" is three things: read, add, write. Two ranks do it 20,000 times each, and
# write down what they read. **What percentage of the 40,000 increments is lost?**

# %% prediction="yes"
guess_lost = 5  # per cent

# %%
COUNT = """
import json, numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
window = MPI.Win.Allocate_shared(8 if comm.rank == 0 else 0, 8, comm=comm)
x = np.frombuffer(window.Shared_query(0)[0], np.int64)  # one number, seen by all ranks
read = np.zeros(20_000, np.int64)
comm.Barrier()
for k in range(len(read)):
    read[k] = x[0]
    x[0] = read[k] + 1
comm.Barrier()
both = comm.gather(read)
if comm.rank == 0:
    twice = np.intersect1d(*both)[:3].tolist()
    print(json.dumps({"end": int(x[0]), "twice": twice, "reads": np.array(both).tolist()}))
"""
counted = json.loads(mpiexec_code(2, COUNT))


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def show_lost():
    """Answer the prediction; show a place where an update was lost, and the first thousands of reads."""
    compare("increments lost", guess_lost, 100 * (1 - counted["end"] / 40_000), "%")
    for value in counted["twice"]:
        print(f"both read {value:6d}, and both wrote {value + 1:6d}: one increment is lost")
    _, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    near = counted["twice"][0] if counted["twice"] else counted["reads"][0][100]
    for rank, (reads, color, marker) in enumerate(zip(counted["reads"], (BLUE, ORANGE), "os")):
        begin = max(int(np.searchsorted(reads, near)) - 5, 0)
        some = np.array(reads[begin : begin + 30])
        axis.plot(some, marker, color=color, label=f"rank {rank}", fillstyle="none")
        shared = np.flatnonzero(np.isin(some, counted["reads"][1 - rank]))
        axis.plot(
            shared, some[shared], marker, color=color, label=f"rank {rank}, read by both" if len(shared) else None
        )
    title = "from where both first read the same" if counted["twice"] else "no number was read by both: they took turns"
    axis.set(xlabel=f"thirty increments of each rank ({title})", ylabel="what it read")
    axis.legend()
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_lost, show_lost)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Where both read the same number, one of two increments is gone. Lose half, and the two went in step: nearly every
# number was read by both. A rank that is stopped between its read and its write does worse: on waking up it writes a
# number that is thousands of increments old, and undoes them all. Another machine, another number, down to 0 where both
# had to take turns on one core: run it twice.
#
# </details>
#
# And in a real descent? Between two writes of a worker lies a whole gradient, and in numpy's `x -= step` only nanoseconds
# lie between reading a number and writing it. The package lets a counter stand beside the parameters, to which every update
# adds 1 without a lock; what each worker applied is counted in a place of its own, where nothing is lost. Three ranks fit
# the 4,096 samples: two workers and a server, or, with Hogwild, three workers:

# %%
DESCEND = """
from minitrpo.course.parallel_sgd.problem import SGDSettings
from minitrpo.parallel.comm import connect
from minitrpo.parallel.parameter_server import staleness_of
from minitrpo.course.parallel_sgd.descent import run
comm = connect()
for mode in ("synchronous", "asynchronous", "hogwild"):
    trace = run(SGDSettings(mode=mode, epochs=EPOCHS), comm)
    if comm.rank == 0:
        updates, seconds, (mean, oldest) = trace.updates[-1], trace.seconds[-1], staleness_of(trace.histogram)
        print(f"{mode:12s}: loss {trace.loss[-1]:.2g}, {trace.samples[-1] / seconds:9,.0f} samples/s, staleness {mean:.2f} "
              f"(at most {oldest}), {trace.lost} of {int(trace.histogram.sum())} updates lost")
"""
print(mpiexec_code(3, DESCEND.replace("EPOCHS", str(budget(20, 4)))))

# %% [markdown]
# The first two modes send messages, the third writes into memory. Was it the *lock* that cost? Recorded: two workers on
# two cores, by messages (with a third rank as server) and in shared memory, with a lock round each update and without:

# %%
real = json.loads(recorded("10_real.json").read_text())
print(f"gradients per second on {real['cores']} cores, median of {real['rounds']} rounds and its 95 % interval")
for way, seen in real["ways"].items():
    low, high = seen["interval"]
    print(
        f"{way:27s} {seen['median']:6,d} ({low:,d} to {high:,d}), lost {seen['lost']} of {seen['updates']:,d} updates"
    )
for step, (ratio, low, high) in real["ratios"].items():
    print(f"{step}: {ratio:.2f} times as many ({low:.2f} to {high:.2f})")
if real["largest_load_average"] > real["cores"] + 1:
    print("(recorded while other programs were at work, too: see the intervals)")

# %% [markdown]
# The large step is from *our* messages to memory: with the server three ranks share two cores (oversubscribed: lecture
# 08), and whoever awaits a message sleeps up to 0.2 ms between two looks. So it says nothing of messages elsewhere. The
# lock (on a file; one in memory might cost less) is the small one. Without it the counter loses about one increment in
# 14,000 (95 % interval: in 9,000 to 24,000), and the parameters perhaps as many updates. (A gradient takes under 0.1
# ms; the longer, the less all this matters.)
#
# An optimiser has more to lose. Adam (lecture 11a) keeps running means of gradients, in shared memory, too. A worker
# that computes the new ones beside the old and then *writes them back* puts what is a whole computation old over
# everything that others wrote meanwhile. Changed *in place*, number by number, they are in danger for nanoseconds, as
# the parameters are. Adam counts its own steps: what is missing there was lost. Recorded in reinforcement learning
# (lectures 11a, 11b and 13), two workers, alone and beside two other programs; and what it costs to lose more, on
# purpose:

# %%
lost = json.loads(recorded("10_lost.json").read_text())
for who, (alone, beside) in lost["counted"].items():
    (gone, steps), (gone_beside, steps_beside) = alone, beside
    print(
        f"{who:20s} lost {gone:4d} of {steps:6,d} steps of Adam; beside others {gone_beside:4d} of {steps_beside:6,d}"
    )
print(f"A3C on CartPole, {lost['seeds']} seeds, part of all steps lost on purpose:")
for part, seen in lost["learned"].items():
    mean, low, high = seen["last_return"]
    print(
        f"{float(part):4.0%}: {seen['reached']} reached {lost['goal']:.0f}; return in the end {mean:.0f} ({low:.0f} to {high:.0f})"
    )

# %% [markdown]
# Written back, 1 step of A3C in 33 was gone; in place so few that their rate is hardly known. And the learning? With
# 10 % lost the mean is 96 lower, with a 95 % interval (Welch's, ten seeds each) from 220 lower to 27 higher: it cannot
# tell, and of 1 and 3 % even less. (That intervals of two means overlap would not be a reason: lecture 08.)

# %% [markdown]
# ## Bug hunt
#
# In OpenAI's `baselines` (`trpo_mpi.py`; `ppo1` does the same) every worker prepares its advantages, and MPI averages the
# gradients. In our words:


# %%
def suspect(sums: Array, about: Array) -> Array:
    total = np.zeros(sums.shape[1] // 2)
    for row, numbers in zip(sums, about):
        u, v = np.split(row, 2)
        n, sum_of_weights = numbers[:2]
        if n > 0:
            total += u - sum_of_weights / n * v
    return total / about[:, 0].sum()


_ = hunt("pooled_gradient", suspect)

# %% [markdown] solution="only"
# **The bug**: every worker takes off the mean of *its own* weights. So the gradient depends on the number of workers,
# and a worker with a single step sends nothing at all, since its step is its own baseline. Lecture 01: a baseline that
# contains the step's own weight multiplies the gradient by $1 - 1/n$, and $n$ is now the worker's share, not the batch.
# So what does it cost? Were steps independent: with 1 step per worker everything, with 10 a tenth of the length, with
# 1,000 a thousandth. But what an action is paid is in the weights of other steps of its episode, too: who has one long
# episode loses more, who has thousands of steps from many, as in `baselines`, little. (`baselines` also divides by the
# worker's own spread, and weighs workers alike whatever their share.) One $b$ for all needs no other messages: `sums`
# and `about` stay as they are.

# %% [markdown]
# ## What you have built so far
#
# Gradients are pooled exactly, with unequal shares and a baseline that nobody knew beforehand. You know how old the
# gradients of an asynchronous server are, the largest step that this allows, and when the rule between waiting for all
# and for none helps.
#
# ## Quiz
#
# **1.** You double the asynchronous workers from 8 to 16. Which step size do you try first, and are you twice as fast?
#
# <details><summary>Answer</summary>
#
# About half: the bound falls from 0.209 to 0.101 (delays of 7 and 15), divided by the curvature. Twice the gradients,
# each half the size: at the bound nothing would be gained. Measured in this lecture's race (equal speeds, six seeds,
# the best of eleven steps from 0.02 to 0.12) 4, 8 and 16 workers take 17.8, 13.4 and 10.3 seconds, with steps of 0.09,
# 0.06 and 0.03: from 8 to 16 it is 1.3 times as fast (95 % interval 1.2 to 1.4). "Twice the workers, twice the speed"
# holds only while something else, such as noise, keeps the step far below the bound.
#
# </details>
#
# **2.** One machine is always three times slower than the others. Which `max_lead` makes bounded staleness fast?
#
# <details><summary>Answer</summary>
#
# None: a larger lead only takes longer to be used up. Give the slow machine smaller minibatches (and weights that say so).
#
# </details>
#
# **3.** Without locks about 1 increment in 14,000 was lost, and perhaps as many updates. What do they do to the fit?
#
# <details><summary>Answer</summary>
#
# Hardly anything. No error stays behind: the next gradient is computed from where the parameters really are. Counts,
# for example of steps taken, must not be lost: nothing corrects them. So they have a place for each worker.
#
# </details>

# %% [markdown]
# ## Appendix: what was claimed
#
# *The Berkeley slides* on parallelised SGD say (after Dai et al. 2015):
#
# - *"Each worker computes gradients, sums them"*, and the server *"sums gradients from all workers"*. Sums are right,
#   whatever the shares. But a step along the sum grows with the batch: divide by the count, once.
# - *"Mathematically equivalent to SGD, but not asynchronous"*. Yes, up to rounding; to the bit if the order is fixed.
# - *"Async SGD typically does not achieve perfect parallelism, but lack of locks can make it much faster"*.
#   Not *waiting* makes it faster, above all if somebody is late: see the seconds to the loss. The lock itself is
#   the smaller part: see the recorded runs.
# - *"Somewhat problem dependent"*. Our fit is the friendliest there is: convex, and every worker's samples alike.
#
# Niu et al. prove Hogwild's rate for *sparse* updates, which touch few parameters each. Ours touch all, so that theorem
# does not cover them. Later ones do, for dense and for nonconvex problems with bounded delays (De Sa et al. 2015, Lian
# et al. 2015). Here it works because gradients take long and writing is short.
#
# **Next**: lecture 11a lets the workers play. There, being late means that an older policy has played.
