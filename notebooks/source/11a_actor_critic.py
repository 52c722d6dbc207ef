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
# # 11a From online actor-critic to A3C
#
# **Why not learn at every step?**
#
# <!-- loop -->
#
# TRPO collects thousands of steps for one update. Why not learn from one step, and go on? In this lecture you try it,
# and fix what goes wrong in three ways: look further ahead, play in many places, let workers update without waiting.
# Each is a known algorithm.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `bootstrapped_returns`, `loss_gradient` | `minitrpo/algorithms/actor_critic.py` | Mnih et al. 2016, algorithm S3 (A3C) |
# | `descend` | `minitrpo/algorithms/asynchronous_algorithm.py` | Mnih et al. 2016: a shared optimiser |
#
# *90 minutes in class with the three exercises; the notebook itself runs in a third of a minute. You need: lectures
# 01, 05a and 10; for one guess, 08.*

# %%
import json
import time

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.algorithms.actor_critic import OPTIMISER, ActorCritic, ActorCriticSettings
from minitrpo.algorithms.asynchronous_algorithm import Arrays
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.actors import actors_of, collapsed, steps_to_goal
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, recorded, reveal
from minitrpo.course.seeds import difference_in_words, ratio_in_words
from minitrpo.experience.environments import describe
from minitrpo.experience.rollouts import concatenate
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, make_vector_env
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import Optimiser, adam, clipped_norm, initial_state
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import ParameterServer, Tally, staleness_of
from minitrpo.perceptron import Linearisation
from minitrpo.policies import Array
from minitrpo.returns import discounted_sums

# %% [markdown]
# ## How far to look ahead
#
# We go back to lecture 05a's corridor: places 1 to 9, a fair coin, leaving on the right pays 1, and place $s$ is
# worth $s / 10$. Sixteen walkers start in place 7. A learner wants to know what place 7 is worth. It does not wait
# until the walks are over. It looks $n$ steps ahead, adds the rewards of these steps, and asks a critic for the value
# of the place reached.
#
# The mean of such returns has two errors. Its **bias** stays, however many walkers there are; its **spread** shrinks
# with their number.
#
# **The critic knows nothing, and says 0.5 everywhere. With $n = 4$, what are the mean and the standard deviation of a
# return?** (One way of tossing the coin leads from place 7 out of the corridor within four steps: three steps to the
# right.)

# %% prediction="yes"
guess_mean, guess_spread = 0.6, 0.2  # of the 4-step returns; the truth is 0.7

# %%
LOOKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
coins = default_rng(0).choice((-1, 1), (1000, LOOKS[-1]))
walks = np.full((1000, LOOKS[-1] + 1), 7)
for t in range(LOOKS[-1]):
    at = walks[:, t]
    walks[:, t + 1] = np.where((at == 0) | (at == 10), at, at + coins[:, t])  # a walker that has left stays out


def returns_at_7(n, known):
    """Return the n-step return of each walk: its reward if it has left, else V after n steps; known: V's part of truth."""
    V = known * np.arange(11) / 10 + (1 - known) * 0.5
    V[[0, 10]] = 0, 1
    return V[walks[:, n]]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def look(n=16, known=0.5, simulators=16):
    """Draw the returns that look n steps ahead, and the errors of their mean over some walkers for every n."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.7), layout="constrained")
    returns = returns_at_7(n, known)
    shares = np.full(len(returns), 100 / len(returns))
    left.hist(returns, np.linspace(-0.025, 1.025, 22), color=BLUE, weights=shares)
    left.axvline(0.7, color=RED, linestyle="--", label="truth: 0.7")
    left.axvline(returns.mean(), color="black", label=f"mean: {returns.mean():.2f}")
    left.set(xlabel=f"return that looks {n} steps ahead", ylabel=f"% of {len(shares):,} walks", xlim=(-0.05, 1.05))
    left.legend(fontsize=10, loc="upper left")
    found = [returns_at_7(look, known) for look in LOOKS]
    bias = np.array([abs(each.mean() - 0.7) for each in found])
    spread = np.array([each.std() for each in found]) / np.sqrt(simulators)
    both = np.sqrt(bias**2 + spread**2)
    right.plot(LOOKS, bias, "o-", color=ORANGE, label="bias")
    right.plot(LOOKS, spread, "s-", color=GREEN, label=f"spread of a mean of {simulators}")
    right.plot(LOOKS, both, "-", color="black", linewidth=2, label="both: root of the sum of squares")
    right.plot(n, both[LOOKS.index(n)], "o", color="black", markersize=10)
    right.set(xscale="log", xticks=LOOKS, xticklabels=LOOKS, xlabel="n, steps ahead", ylabel="error", ylim=(0, 0.5))
    right.minorticks_off()
    right.grid(alpha=0.3)
    right.legend(fontsize=10)
    plt.show()


def show_corridor():
    compare("mean of the 4-step returns", guess_mean, returns_at_7(4, 0.0).mean())
    compare("their standard deviation", guess_spread, returns_at_7(4, 0.0).std())
    look(4, 0.0)


reveal((guess_mean, guess_spread), show_corridor)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Three steps to the right have probability 1/8 and return 1; all other walks return the critic's 0.5. So the mean is
# 0.56 and the standard deviation 0.17. A learner that looks few steps ahead learns what the critic believes: that is
# bias. One that looks far ahead has the noise of many coins.
#
# </details>
#
# Drag (this needs a running kernel): where is the black curve lowest if the critic knows nothing, half, or 0.9 of the
# truth? (With 16 walkers at 16, 8 and 1 steps.)

# %%
_ = ipywidgets.interact(
    look,
    n=ipywidgets.SelectionSlider(options=LOOKS, value=16, continuous_update=False),
    known=ipywidgets.FloatSlider(min=0, max=1, step=0.1, value=0.5, continuous_update=False),
    simulators=ipywidgets.SelectionSlider(options=(1, 4, 16, 64, 256), value=16, continuous_update=False),
)

# %% [markdown]
# This is the **$n$-step return**:
#
# $$R_t = r_t + \gamma r_{t+1} + \dots + \gamma^{n-1} r_{t+n-1} + \gamma^n V(s_{t+n}).$$
#
# In a fragment of $n$ steps *every* step gets the return to the fragment's end. The first step looks $n$ steps ahead,
# the last one only one. Walk backwards, $R_t = r_t + \gamma R_{t+1}$, and start from $V$ after a cut, or from 0 where
# the task terminated.
#
# ### Exercise 1: `bootstrapped_returns`

# %% exercise="bootstrapped_returns"

# %% [markdown]
# ## The loss of two networks
#
# The **actor** is the policy; it makes $a_t$ likelier if $R_t > V(s_t)$. The **critic** moves $V(s_t)$ towards $R_t$.
# One vector, $\theta$ = (policy, value), holds both networks, and one loss over $N$ steps moves both:
#
# $$\text{mean of} \quad -\log \pi(a|s)\, A \;-\; 0.01 \cdot \text{entropy} \;+\; 0.5 \cdot \tfrac12 (R - V(s))^2, \qquad A = R - V(s).$$
#
# The entropy rewards the policy for staying undecided. Two terms are **constants**, although $\theta$ is in them. $A$
# is one, or the actor's loss would push the critic. $R$ is the other, since the critic must move to the target, and
# not the target to the critic.
#
# | given | what it is |
# |---|---|
# | `at.weighted_gradient(w, c)` | $\sum w_t \nabla \log \pi(a_t \mid s_t) + c \sum \nabla \text{entropy}$, as long as the policy's part of $\theta$ |
# | `value.outputs` | the $V(s_t)$ |
# | `value.transposed_product(u)` | $\sum u_t \nabla V(s_t)$, as long as the critic's part of $\theta$ |
# | `clipped_norm(vector, largest)` | the vector, shortened if it is longer than `largest` |
#
# ### Exercise 2: `loss_gradient`

# %% exercise="loss_gradient"

# %% [markdown]
# > **Online actor-critic.** Repeat:
# > 1. play one step with $\pi_\theta$, from where the simulator stood;
# > 2. $R = r + \gamma V(s')$, or $r$ alone where the task terminated;
# > 3. $A = R - V(s)$, a constant from here on;
# > 4. gradient $g$ of the loss above, of this step;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# **Adam** (Kingma & Ba 2015) keeps a running mean of the gradients and one of their squares. Its step is the first
# divided by the root of the second, times the step size. **The very first gradient of a run is 0.001 in one weight
# and 1,000 in another, after a great surprise. The step size is 0.003. By how much does Adam move each weight?**
# (Both running means contain this one gradient.)

# %% prediction="yes"
guess_small, guess_large = 3e-6, 3.0  # change of a weight whose gradient is 0.001, and of one whose gradient is 1,000

# %% [markdown]
# Below, `practise(envs, n, ...)` lets `envs` simulators take `n` steps each before an update. `practise(1, 1, ...)`
# is the box.

# %%
spec = describe("CartPole-v1")
model = ActorCritic(spec.policy((64, 64)))
settings = ActorCriticSettings(max_gradient_norm=np.inf)  # nothing is shortened; entropy 0.01, value 0.5
AS_SEEN = ObservationFilter.identity(spec.observation_size, clip=np.inf)  # observations as they are


def simulators(seed, envs):
    """Return some CartPoles; `advance` plays on where the last fragment was cut."""
    return Rollouts(spec, model, make_vector_env(spec, envs), seed)


def gradient_of(theta, f):
    """Return the gradient of the loss, from some fragments."""
    actor, critic = model.split(theta)
    at = LogProbability(model.policy, actor, f.observations, f.actions)
    value = Linearisation(critic, model.value_sizes, f.observations)
    final = model.values(theta, f.final_observations)
    returns = mine.bootstrapped_returns(f.rewards, final, f.last, f.terminated_steps, 0.99)
    return mine.loss_gradient(at, value, returns, settings)


def practise(envs, n, seed, step_size, total):
    """Return theta after this many environment steps."""
    theta = model.initialise(default_rng(seed))
    memory, home = initial_state("adam", len(theta)), simulators(1_000_000 * seed, envs)
    for _ in range(0, total, envs * n):
        fragments = concatenate(home.advance(theta, AS_SEEN, 1, range(envs), envs, n))
        memory, step = adam(memory, gradient_of(theta, fragments), step_size)
        theta = theta - step
    return theta


took = []  # seconds of this process
for envs, n in ((1, 1), (16, 5)):
    took.append(-time.process_time())
    practise(envs, n, seed=0, step_size=1e-3, total=budget(8000, 1600))
    took[-1] += time.process_time()


# %% jupyter={"source_hidden": true} tags=["hide-input"]
actors = actors_of(recorded("11_actors.csv"))


def show_online():
    _, step = adam(initial_state("adam", 2), np.array([0.001, 1000.0]), 0.003)
    compare("gradient 0.001: Adam moves the weight by", guess_small, step[0])
    compare("gradient 1,000: Adam moves the weight by", guess_large, step[1])
    print(f"8,000 steps: (1, 1) takes {took[0] / took[1]:.0f} times as many seconds as (16, 5)", end=" ")
    print("(now, once; a busy machine gives another ratio)")
    one, sixteen = ([curve[-1, 1] for curve in actors["online", 1, envs, 5][1e-3]] for envs in (1, 16))
    print("n = 5, step size 0.001: last score of 1 simulator minus 16:", difference_in_words(one, sixteen))
    _, axis = plt.subplots(figsize=(10, 4), layout="constrained")
    kinds = ((1, 1), (16, 1), (1, 5), (16, 5))
    for group, (envs, n) in enumerate(kinds):
        runs = actors["online", 1, envs, n]
        for k, ((size, curves), color) in enumerate(zip(runs.items(), (BLUE, GREEN, ORANGE), strict=True)):
            last = np.array([np.mean(curve[-3:, 1]) for curve in curves])
            fell = np.array([collapsed([curve]) for curve in curves], bool)
            x = group + 0.25 * (k - 1) + np.linspace(-0.06, 0.06, len(last))
            axis.plot(x[~fell], last[~fell], "o", color=color, markersize=8, alpha=0.8,
                      label=f"step size {size:g}" if envs == 16 and n == 5 else None)  # fmt: skip
            axis.plot(x[fell], last[fell], "X", color=color, markersize=10, markeredgecolor="black",
                      label="collapsed on the way" if (envs, n, k) == (1, 1, 2) else None)  # fmt: skip
        axis.text(group, 530, f"{sum(map(collapsed, runs.values()))} of 15 collapse", ha="center", fontsize=11)
    names = [f"{envs} simulator{'s' * (envs > 1)}, n = {n}" for envs, n in kinds]
    axis.set_xticks(range(4), names, fontsize=11)
    axis.set(ylabel="score at the end of a run", ylim=(-20, 575))
    axis.legend(fontsize=10, loc="center left", bbox_to_anchor=(1, 0.5))
    axis.grid(alpha=0.3, axis="y")
    plt.show()


reveal((guess_small, guess_large), show_online)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 0.003 in both cases: the mean divided by the root of the mean square is 1. So *one* surprising step moves all
# weights by about the step size. All five online runs that collapse have the largest one, 0.003. With small step
# sizes a program *can* learn at every step.
#
# Looking further ahead helps: with $n = 1$ 14 of 30 runs collapse, with $n = 5$ 1 of 30. Per *step* one simulator
# with $n = 5$ learns more than sixteen, as it makes sixteen times as many updates. In *seconds* sixteen are cheaper,
# since an update takes longer than a step, and they share it. One step is a poor lesson, and the lesson costs more
# than the step.
#
# </details>
#
# <small>Recorded: 20,000 steps of CartPole, five seeds for each step size. The score is the mean return of 16 fresh
# episodes (a fresh policy: 22); the figure has the mean of a run's last three scores. A run has collapsed if it ever
# scores below 15.</small>
#
# ## A2C: many places
#
# Sixteen simulators with five steps each for one update: this is **A2C**, the synchronous advantage actor-critic.
# Sixteen steps in a row look alike; steps of sixteen simulators in different places do not.
#
# > **A2C.** Repeat:
# > 1. each of $W$ numbered simulators plays $n$ steps with $\pi_\theta$, from where it stood;
# > 2. $R_t$ by exercise 1, $A_t = R_t - V(s_t)$;
# > 3. gradient $g$ of the loss over all $W n$ steps; *all simulators wait here*;
# > 4. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# ## A3C: no waiting
#
# **A3C** (asynchronous advantage actor-critic) leaves the barrier out, as lecture 10's server did.
#
# > **A3C.** Each worker, for itself, with one shared $\theta$:
# > 1. *pull*: $\theta' \leftarrow \theta$, as it is now;
# > 2. play $n$ steps with $\pi_{\theta'}$, from where it stood; meanwhile other workers push;
# > 3. $R_t$ and $A_t$ as in A2C, with $V$ of $\theta'$;
# > 4. gradient $g$ of the loss at $\theta'$;
# > 5. *push*: $\theta \leftarrow \theta - \text{Adam}(g)$, in place, with the shared optimiser.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axes = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
rounds, free, start = ((3.0, 4.2, 2.4), (3.6, 2.2, 3.2)), ((3.0, 3.4, 2.6), (4.0, 3.2, 2.6), (2.2, 3.0, 3.0)), 0.0
arrow = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
for lengths in rounds:
    end = start + max(lengths)
    for worker, length in enumerate(lengths):
        y = 2 - worker
        axes[0].barh(y, length, left=start, height=0.5, color=BLUE)
        axes[0].barh(y, max(lengths) - length, left=start + length, height=0.5, color=GREY, alpha=0.35)
        axes[0].annotate("", (end + 0.2 + 0.15 * worker, 3.3), (end + 0.2 + 0.15 * worker, y), arrowprops=arrow)
        axes[0].annotate("", (end + 1, y + 0.25), (end + 1, 3.3), arrowprops=arrow | {"linestyle": ":"})
    axes[0].barh(3.5, 1, left=end, height=0.4, color=RED)
    axes[0].axvline(end, color=GREY, linestyle="--")
    start = end + 1
axes[0].text(1.2, 2, "play", ha="center", va="center", color="white", fontsize=12)
axes[0].text(3.3, 0, "wait", ha="center", va="center", fontsize=12)
axes[0].text(4.35, 3.95, "one update", ha="left", fontsize=11)
axes[0].text(5.35, 2.7, "solid: $g$; dotted: $\\theta$", fontsize=11)
for worker, lengths in enumerate(free):
    start, y = 0.0, 2 - worker
    for length in lengths:
        axes[1].barh(y, length - 0.15, left=start, height=0.5, color=ORANGE)
        start += length
        axes[1].annotate("", (start - 0.15, 3.3), (start - 0.15, y + 0.25), arrowprops=arrow)
        axes[1].annotate("", (start + 0.1, y + 0.25), (start + 0.1, 3.3), arrowprops=arrow | {"linestyle": ":"})
        axes[1].barh(3.5, 0.25, left=start - 0.15, height=0.4, color=RED)
axes[1].text(0.1, 3.95, "solid: push, an update; dotted: pull of $\\theta$ as it is then", fontsize=11)
for axis, title in zip(axes, ("A2C: all wait for the slowest", "A3C: no worker waits")):
    axis.set(yticks=(3.5, 2, 1, 0), yticklabels=("$\\theta$", "worker 1", "worker 2", "worker 3"), ylim=(-0.5, 4.4))
    axis.set(xticks=(), xlabel="time", title=title, xlim=(0, 10.2))
    axis.tick_params(axis="y", labelsize=12)
plt.show()

# %% [markdown]
# An A3C gradient is late in *two* ways: it was computed at old parameters, and from the experience of an **old
# policy**.
#
# `shared` has `theta`, and Adam's arrays under names such as `optimiser.moment` (Adam calls it `moment`), in memory
# that every rank can see. Beware: `x = x - step` makes a new array under the old name, and the other ranks keep the
# old array. `x -= step` and `x[:] = ...` write into the array. If the prefix is empty all names match; the optimiser
# must leave `theta` alone.
#
# ### Exercise 3: `descend`

# %% exercise="descend"

# %% [markdown]
# A3C as a whole, with lecture 10's event queue: every gradient takes about one second of a simulated clock. **Sixteen
# workers are equally fast. How many updates of other workers come, on average, between a worker's pull and its
# push?** (Count in the right picture.)

# %% prediction="yes"
guess_age = 8  # updates, mean staleness of sixteen workers


# %%
def practise_late(workers, seed, step_size, total, envs=8, n=5):
    """Return theta after this many environment steps, and how old the gradients were."""
    rng = default_rng(seed)
    theta = model.initialise(rng)
    memory = {OPTIMISER + name: array for name, array in initial_state("adam", len(theta)).items()}
    shared = {"theta": theta, **memory, **Tally.arrays(workers)}

    def apply(shared, gradient, arrival):
        mine.descend(shared, gradient["gradient"], adam, step_size, OPTIMISER)

    def work_of(home):
        def work(pulled):
            fragments = concatenate(home.advance(pulled.arrays["theta"], AS_SEEN, 1, range(envs), envs, n))
            return {"gradient": gradient_of(pulled.arrays["theta"], fragments)}

        return work

    server = ParameterServer(shared, apply)
    works = [work_of(simulators(1_000_000 * seed + 1000 * worker, envs)) for worker in range(workers)]
    queue = EventQueue(server, works, ("theta",), lambda worker, clock: 1 + 0.1 * rng.exponential())
    for _ in range(0, total, envs * n):
        queue.play()
    return shared["theta"], server.tally.histogram.sum(axis=0)


total = budget(8000, 1600)
alone, _ = practise_late(1, seed=0, step_size=1e-3, total=total)
print("one worker alone is the actor-critic with 8 simulators, to the bit:",
      np.array_equal(alone, practise(8, 5, seed=0, step_size=1e-3, total=total)))  # fmt: skip
_, ages = practise_late(16, seed=0, step_size=1e-3, total=total)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_late():
    compare("mean staleness of sixteen workers", guess_age, staleness_of(ages)[0], "updates")
    print(f"  (15 in the long run; the first sixteen of these {ages.sum()} pushes are 0 to 15 old)\n")
    steps = {kind[:2]: steps_to_goal(sizes)[1] for kind, sizes in actors.items() if kind[0] != "online"}
    print("A3C, 16 workers / 1:", ratio_in_words(steps["late", 16], steps["late", 1]))
    print("A2C, 128 simulators / 8:", ratio_in_words(steps["together", 16], steps["together", 1]))
    print("128 simulators, A2C / A3C:", ratio_in_words(steps["together", 16], steps["late", 16]))
    _, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    workers = sorted({kind[1] for kind in steps})
    for what, label, color, marker in (("late", "A3C", ORANGE, "o"), ("together", "A2C", BLUE, "s")):
        shown = np.array([steps[what, w] for w in workers]) / 1000
        shift = 1.04 if what == "late" else 1 / 1.04
        middle = np.median(shown, axis=1)
        axis.plot(np.array(workers) * shift, middle, marker=marker, color=color, markersize=9)
        axis.plot(np.array(workers) * shift, shown, ".", color=color, alpha=0.6, markersize=9)
        axis.text(18.5, middle[-1], label, color=color, fontsize=13, va="center")
        for place, never in zip(workers, np.isinf(shown).sum(axis=1), strict=True):  # on the upper edge
            if never:
                axis.text(place * shift**4, 122, f"{never} never", color=color, ha="center", fontsize=11)
    axis.set(ylabel="thousand environment steps to 450", ylim=(0, 130), xlabel="workers of 8 simulators", xscale="log")
    axis.set(xticks=workers, xticklabels=workers, xlim=(0.85, 24))
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_age, show_late)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 15: while a worker computes, each of the others pushes once (lecture 10). What does the delay cost? There is no
# significant difference between the steps that sixteen late workers need and the steps that one needs (95 % interval
# of the ratio 0.5 to 4.4). By the simulated clock sixteen workers play sixteen times as many steps a second, so they
# arrive 3.7 to 30 times sooner. The barrier does cost steps: with 128 simulators every A2C run is later than every
# run with 8, as an update is *one* step of Adam for 640 environment steps.
#
# </details>
#
# <small>Recorded: steps until the score, looked at every 6,000 steps, is first at 450; lines: medians of five seeds,
# dots: seeds; the best of three step sizes (0.001, 0.003, 0.01). With one worker A2C and A3C are the same
# runs.</small>
#
# ## Two real ranks
#
# Real ranks use shared memory, without a lock. **How many times as many steps a second do two ranks play as one?**
# A3C's ranks share nothing but $\theta$. A2C's share the collecting, three quarters of the time on one rank, but not
# the update, and they meet after every 80 steps. What does Amdahl's law (lecture 08) allow, and what does it leave
# out?

# %% prediction="yes"
guess_a2c = 1.5  # steps/s on two ranks / on one, A2C
guess_a3c = 1.5  # steps/s on two ranks / on one, A3C


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_real():
    measured = json.loads(recorded("rates.json").read_text())
    print(f"recorded on an idle machine with 2 cores, {measured['rounds']} runs of each")
    for algorithm, guess in (("a2c", guess_a2c), ("a3c", guess_a3c)):
        ratio, low, high = measured["ratios"][f"{algorithm}, two to one"]
        compare(f"{algorithm}: steps/s, two ranks / one", guess, ratio)
        print(f"  95 % interval of the mean {low:.2f} to {high:.2f}")
    ratio, low, high = measured["ratios"]["a3c to a2c"]
    print(f"on two ranks A3C / A2C: {ratio:.2f} (95 % interval {low:.2f} to {high:.2f}),", end=" ")
    print(f"with gradients that are {measured['staleness']:.2f} updates old (two equal ranks: at most 1)")


reveal((guess_a2c, guess_a3c), show_real)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Amdahl's law allows 1.6. With a barrier every 80 steps two ranks are *slower* than one, since the law leaves out the
# meeting. Without a barrier two ranks are twice as fast. The price is that two runs need not give the same bits.
#
# </details>
#
# ## Bug hunt
#
# OpenAI's `baselines` (`a2c/runner.py`), in our words, for one simulator's rollout of $n$ steps. (The repair changes
# more than one line.)


# %%
def suspect(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    over = terminated | last  # an episode that ends within the rollout: `done`
    over[-1:] = terminated[-1:]  # the rollout itself ends here, and is cut
    total = final_values[-1] if len(final_values) else 0.0
    returns = np.zeros(len(rewards))
    for t in reversed(range(len(rewards))):
        total = rewards[t] + discount * total * (1 - over[t])
        returns[t] = total
    return returns


_ = hunt("bootstrapped_returns", suspect)

# %% [markdown] solution="only"
# **The bug**: one `done` for two events. An episode that a time limit cuts *within* the rollout counts as terminated,
# so standing for 500 steps is as bad as a fall. The repair needs an index: `final_values` has an entry for every
# fragment.

# %% [markdown]
# ## Quiz
#
# **1.** Somebody lets the critic's gradient run through $V(s_{t+n})$, too: the true gradient of its loss. Is it
# better?
#
# <details><summary>Answer</summary>
#
# No. This **residual gradient** (Baird 1995) also drags the later state's value towards what the earlier one
# believed. A small $(R - V)^2$ was never the aim; the right value is. With $R$ a constant the gradient is a
# **semi-gradient**.
#
# </details>
#
# **2.** Sixteen simulators and $n = 1$, or one simulator and $n = 16$: what does each do well?
#
# <details><summary>Answer</summary>
#
# The first sees many places, and believes its critic most. The second sees far, and sees one place. A2C's 16 x 5
# takes some of each.
#
# </details>
#
# **3.** In `descend`, `shared["theta"] = shared["theta"] - step` passes a test that looks at `shared["theta"]`
# afterwards. What goes wrong with two ranks?
#
# <details><summary>Answer</summary>
#
# After its first push each rank has a theta of its own, and learns alone; no error appears. So the check looks
# whether the *same array* has changed.
#
# </details>
#
# ## Summary
#
# - An $n$-step return has bias (the critic's) if $n$ is small, and noise if it is large.
# - One loss moves actor and critic; $A$ and $R$ are constants in it.
# - Adam moves a weight by about the step size, however small or large the gradient is.
# - A2C waits for the slowest and repeats to the bit. A3C does not wait; its gradients are $W - 1$ updates old.
#
# **Two questions with a write-up**
#
# 1. Plot the best $n$ (the lowest black curve of `look`) against `known` from 0 to 1, for 16 and for 256 walkers. Explain in three sentences how
#    the critic's quality and the number of walkers change it.
# 2. Plot the mean staleness of `practise_late` against 1, 2, 4, 8 and 16 workers, with the line $W - 1$ (`total=8000`). Explain in three sentences why the
#    points lie below the line, and what a step size must do when $W$ grows.
#
# **Next**: lecture 11b has the other half of the family, which learns no policy at all.
