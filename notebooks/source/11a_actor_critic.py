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
# TRPO collects thousands of steps for one update. Why not learn from one, and go on? Today you do so, and mend what
# becomes of it in three ways that made a family: look further ahead, play in many places, let nobody wait.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `bootstrapped_returns`, `loss_gradient` | `minitrpo/algorithms/actor_critic.py` | Mnih et al. 2016, algorithm S3 (A3C) |
# | `descend` | `minitrpo/algorithms/asynchronous_algorithm.py` | Mnih et al. 2016: a shared optimiser |
#
# *90 minutes in class with the three exercises; the notebook itself runs in half a minute. You need: lectures 01, 05a
# and 10; for one guess, 08.*

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
from minitrpo.course.actors import COLLAPSED, actors_of, collapsed, steps_to_goal, worth
from minitrpo.course.classroom import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    budget,
    compare,
    play,
    recorded,
    reveal,
    show_claims,
    train,
)
from minitrpo.course.seeds import difference_in_words, family_of, ratio_in_words, steps_in_words
from minitrpo.critics import squared_error_gradients
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
from minitrpo.returns import discounted_sums, next_values

# %% [markdown]
# ## What one step teaches
#
# Lecture 05a's TD error, $e_t = r_t + \gamma V(s_{t+1}) - V(s_t)$, says both things that are to be learned: the
# **actor** makes $a_t$ likelier if $e_t > 0$; the **critic** moves $V(s_t)$ towards $r_t + \gamma V(s_{t+1})$. No
# episode has to end. Nor need it be one step. Take $n$, and put $V$ behind them:
#
# $$R_t = r_t + \gamma r_{t+1} + \dots + \gamma^{n-1} r_{t+n-1} + \gamma^n V(s_{t+n}).$$
#
# *Every* step of a fragment of $n$ gets the return to its end: the first looks $n$ steps ahead, the last only one. That
# is a walk backwards, $R_t = r_t + \gamma R_{t+1}$, from $V$ behind a cut, or from 0 where the task terminated.
#
# ### Exercise 1: `bootstrapped_returns`

# %% exercise="bootstrapped_returns"

# %% [markdown]
# How large should $n$ be? **The corridor** (after Sutton & Barto's example 7.1): places 0 to 20, a fair coin steps left
# or right; who reaches 20 gets 1, who reaches 0 nothing; $\gamma = 1$, so place $i$ is worth $i / 20$. Of the critic's
# $V$ a part, `known`, is the truth; the rest says 0.5 everywhere. We start at place 14 and average the $n$-step returns
# of some simulators. The **bias** of the average stays however many there are; its **spread** shrinks.
#
# **The critic knows nothing (`known` = 0), and $n = 4$. What is the mean of the returns, and how far do they scatter?**
# (How far can one walk in four steps?)

# %% prediction="yes"
guess_mean, guess_spread = 0.6, 0.2  # of the 4-step returns; the truth is 0.7

# %%
LOOKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
coins = default_rng(0).choice((-1, 1), (1000, LOOKS[-1]))
walks = np.full((1000, LOOKS[-1] + 1), 14)
for t in range(LOOKS[-1]):
    at = walks[:, t]
    walks[:, t + 1] = np.where((at == 0) | (at == 20), at, at + coins[:, t])  # who is at an end stays there


def returns_at_14(n, known):
    """Return the n-step return of each walk: the pay at an end, elsewhere V after n steps."""
    V = known * np.arange(21) / 20 + (1 - known) * 0.5
    V[[0, 20]] = 0, 1
    return V[walks[:, n]]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def look(n=16, known=0.5, simulators=16):
    """Draw the returns that look n steps ahead, and the errors of a mean of so many for every n."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.6), layout="constrained")
    returns = returns_at_14(n, known)
    shares = np.full(len(returns), 100 / len(returns))
    left.hist(returns, np.linspace(-0.025, 1.025, 22), color=BLUE, weights=shares)
    left.axvline(0.7, color=RED, linestyle="--", label="truth: 0.7")
    left.axvline(returns.mean(), color="black", label=f"mean {returns.mean():.2f}")
    left.set(xlabel=f"return that looks {n} steps ahead", ylabel=f"% of {len(shares):,} walks", xlim=(-0.05, 1.05))
    left.legend(fontsize=9, loc="upper left")
    found = [returns_at_14(look, known) for look in LOOKS]
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
    right.legend(fontsize=9)
    plt.show()


def show_corridor():
    compare("mean of the 4-step returns", guess_mean, returns_at_14(4, 0.0).mean())
    compare("their standard deviation", guess_spread, returns_at_14(4, 0.0).std())
    look(4, 0.0)


reveal((guess_mean, guess_spread), show_corridor)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Four steps lead to no end, so every return is what the critic says behind them: 0.5, without scatter, and without
# news. Few steps ahead is bias: one learns what the critic believes. Far ahead is luck.
#
# </details>
#
# Drag (it needs a running kernel): where is the black curve lowest if the critic knows nothing, half, 0.9? (With 16
# simulators at 32, 32 and 1; with 256 and nothing at 64.)

# %%
_ = ipywidgets.interact(
    look,
    n=ipywidgets.SelectionSlider(options=LOOKS, value=16, continuous_update=False),
    known=ipywidgets.FloatSlider(min=0, max=1, step=0.1, value=0.5, continuous_update=False),
    simulators=ipywidgets.SelectionSlider(options=(1, 4, 16, 64, 256), value=16, continuous_update=False),
)

# %% [markdown]
# ## The loss of two networks
#
# One vector, $\theta$ = (policy, value), holds two networks, and one loss over $N$ steps moves both:
#
# $$\text{mean of} \quad -\log \pi(a|s)\, A \;-\; 0.01 \cdot \text{entropy} \;+\; 0.5 \cdot \tfrac12 (R - V(s))^2, \qquad A = R - V(s).$$
#
# The entropy pays the policy for staying undecided. Two things are **constants** although $\theta$ is in them: $A$, or
# the actor's loss would push the critic; and $R$: the critic shall move to the target, not the target to the critic.
#
# Two objects do the derivatives at these steps. Of the policy, `at.weighted_gradient(w, c)` is
# $\sum w_t \nabla \log \pi(a_t|s_t) + c \sum \nabla \text{entropy}$. Of the critic, `value.outputs` are the $V(s_t)$,
# `value.transposed_product(u)` is $\sum u_t \nabla V(s_t)$. `clipped_norm(vector, largest)` shortens a vector longer
# than `largest`.
#
# ### Exercise 2: `loss_gradient`

# %% exercise="loss_gradient"

# %% [markdown]
# **Adam** (Kingma & Ba 2015) steps by a running mean of the gradients, over the root of a running mean of their
# squares. So a parameter moves by about the step size, however small its gradients.
#
# > **Online actor-critic.** Repeat:
# > 1. play one step with $\pi_\theta$, from where the simulator stood;
# > 2. $R = r + \gamma V(s')$, or $r$ alone where the task terminated;
# > 3. $A = R - V(s)$, a constant from here on;
# > 4. gradient $g$ of the loss above, of this step;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# Below, `envs` simulators take `n` steps each before an update.

# %%
spec = describe("CartPole-v1")
model = ActorCritic(spec.policy((64, 64)))
settings = ActorCriticSettings(max_gradient_norm=np.inf)  # nothing is shortened; entropy 0.01, value 0.5
AS_SEEN = ObservationFilter.identity(spec.observation_size, clip=np.inf)  # observations as they are


def simulators(seed, envs):
    """Return so many CartPoles; `advance` plays on where the last fragment was cut."""
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
    """Return theta after so many environment steps."""
    theta = model.initialise(default_rng(seed))
    memory, home = initial_state("adam", len(theta)), simulators(1_000_000 * seed, envs)
    for _ in range(0, total, envs * n):
        fragments = concatenate(home.advance(theta, AS_SEEN, 1, range(envs), envs, n))
        memory, step = adam(memory, gradient_of(theta, fragments), step_size)
        theta = theta - step
    return theta


# %% [markdown]
# `practise(1, 1, ...)` is the box. We ran it, and three relatives, for 20,000 steps of CartPole, with three step sizes
# (0.0003, 0.001, 0.003) and five seeds each. No gradient is shortened (the package's presets do it). Every 2,000 steps
# the mean return of 16 fresh episodes is the **score**, at most 500: of a fresh policy about 22, of one that always
# pushes the same way 9. A run has *collapsed* if it ever scores below 15, our border; some get up again.
#
# **Five of the 15 online runs collapse. How many of these have the largest step size, 0.003?** (What does one surprise
# do to $\theta$, with Adam?)

# %% prediction="yes"
guess_online = 3  # of five collapsed runs; step size 0.003

# %%
took = []  # seconds of this process alone, whatever else runs
for envs, n in ((1, 1), (16, 5)):
    took.append(-time.process_time())
    practise(envs, n, seed=0, step_size=1e-3, total=budget(8000, 1600))
    took[-1] += time.process_time()


# %% jupyter={"source_hidden": true} tags=["hide-input"]
actors = actors_of(recorded("11_actors.csv"))


def show_online():
    runs = actors["online", 1, 1, 1]
    every = sum(map(collapsed, runs.values()))
    compare(f"of {every} collapsed runs, with step size 0.003", guess_online, collapsed(runs[3e-3]))
    print(f"in seconds it takes {took[0] / took[1]:.1f} times as long as (16, 5); just now, once")
    one, sixteen = ([curve[-1, 1] for curve in actors["online", 1, envs, 5][1e-3]] for envs in (1, 16))
    print("n = 5, step size 0.001: one simulator's last score less sixteen's:", difference_in_words(one, sixteen))
    _, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained", sharey=True)
    for axis, (envs, n) in zip(axes, ((1, 1), (1, 5), (16, 1), (16, 5)), strict=True):
        runs = actors["online", 1, envs, n]
        for (size, curves), color in zip(runs.items(), (BLUE, GREEN, ORANGE), strict=True):
            thousand, scores = np.mean(curves, axis=0)[:, 0] / 1000, np.array(curves)[..., 1]
            axis.plot(thousand, scores.T, color=color, alpha=0.35, linewidth=1)
            axis.plot(thousand, scores.mean(axis=0), color=color, linewidth=2.5, label=f"step size {size:g}")
        simulators = f"{envs} simulator{'s' * (envs > 1)}"
        axis.set(xlabel="thousand steps", ylim=(0, 510))
        axis.set_title(f"{simulators}, n = {n}: {sum(map(collapsed, runs.values()))} collapse", fontsize=10)
        axis.grid(alpha=0.3)
        axis.axhline(COLLAPSED, color=GREY, linestyle=":", linewidth=1.5, label=f"collapsed below {COLLAPSED:g}")
    axes[0].set_ylabel("score (thick: mean of 5 seeds)")
    axes[2].legend(fontsize=9, loc="upper left")
    plt.show()


reveal(guess_online, show_online)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# All five: one surprise moves all weights by about the step size. With small ones one *can* learn at every step. (That
# is not all of it: sixteen simulators with $n = 1$ collapse with the two smaller ones in 5 runs of 10.) With
# $n = 1$ 14 of 30 runs collapse, with $n = 5$ 1 of 30 (43 points fewer, 95 % interval 22 to 61), though one simulator
# with $n = 5$ makes more updates than sixteen with $n = 1$, of fewer steps each. Our guess: looking one step ahead the
# critic learns mostly from itself.
#
# Per *step* one simulator with $n = 5$ is ahead of sixteen, with each of the three step sizes: it makes sixteen
# times as many updates. Many are for *seconds*: an update takes longer than a step, and they share it. So, not at
# every step: one step is a poor lesson, and the lesson costs more than the step. (In 29 of these 60 runs a score is
# less than half of an earlier one; the package's presets for CartPole let the step size fall to 0.)
#
# </details>
#
# ## Sixteen steps are not sixteen samples
#
# Sixteen steps *in a row*, or one in each of sixteen places? The variance of a mean of 16 independent gradients is a
# 16th of one's; where they agree it is larger, as if there were fewer. Of 4,000 steps of a fresh policy, how many
# *independent* ones are 16 worth, from 1 (all say the same) to 16?
#
# A fresh critic says about 0 everywhere, and CartPole pays 1 a step: $e_t$ is about 1 at *every* step. The critic's
# gradient is $-e_t \nabla V(s_t)$, the actor's $-e_t \nabla \log \pi(a_t | s_t)$, with an $a_t$ drawn anew each time.
# **What are 16 steps in a row worth, for each?**

# %% prediction="yes"
guess_critic, guess_actor = 8, 8  # independent steps, of 16 in a row; the critic is fresh

# %%
played = play("CartPole-v1", steps=4000)
theta = model.initialise(default_rng(0))
actor, critic = model.split(theta)  # views
actor[:] = played.theta  # theta's policy is the one that played
home = simulators(7, 16)  # 250 steps of 16 simulators: rows 16 k to 16 k + 15 are one step of all of them
crowd = concatenate([f for _ in range(250) for f in home.advance(theta, AS_SEEN, 1, range(16), 16, 1)])


def mean_gradients(theta, e):
    """Return the function of the numbers of some of these steps that says their mean gradients, actor's and critic's."""
    V, final = model.values(theta, e.observations), model.values(theta, e.final_observations)
    targets = e.rewards + 0.99 * next_values(V, final, e.last, e.terminated_steps)
    no_entropy = ActorCriticSettings(entropy_weight=0.0, value_weight=1.0, max_gradient_norm=np.inf)
    actor, critic = model.split(theta)

    def of(rows):
        at = LogProbability(model.policy, actor, e.observations[rows], e.actions[rows])
        value = Linearisation(critic, model.value_sizes, e.observations[rows])
        return model.split(mine.loss_gradient(at, value, targets[rows], no_entropy))

    return of


e, found = played.episodes, {}
for critic_is in ("fresh", "fitted"):
    if critic_is == "fitted":  # to what really followed
        targets, memory = discounted_sums(e.rewards, 0.99, e.last), initial_state("adam", len(critic))
        for _ in range(budget(300, 100)):
            slope = squared_error_gradients(critic, model.value_sizes, e.observations, targets, len(targets))
            memory, step = adam(memory, slope, 0.01)
            critic -= step
    found[critic_is, "in a row"] = worth(mean_gradients(theta, e), 4000)
    found[critic_is, "16 simulators"] = worth(mean_gradients(theta, crowd), 4000)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_worth():
    for who, guess, each in zip(("actor", "critic"), (guess_actor, guess_critic), found["fresh", "in a row"]):
        compare(f"{who}'s gradient, fresh critic: 16 in a row are worth", guess, each[0], "steps")
    print(f"\n{'':33s} actor's gradient     critic's gradient")
    for (critic_is, where), both in found.items():
        limits = np.quantile(both[:, 1:], [0.025, 0.975], axis=1).T
        cells = [f"{x[0]:4.1f} ({low:.1f} to {high:.1f})" for x, (low, high) in zip(both, limits)]
        print(f"{critic_is + ' critic':16s} {where:16s} {cells[0]:19s}  {cells[1]}")


reveal((guess_critic, guess_actor), show_worth)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Only the part of a gradient that does not repeat from step to step averages out. **Steps in a row are worth few where
# the part that repeats is the larger one.** A fresh *critic* is wrong in the same way for all neighbours; the actor's
# gradient changes with the noise of each action. Once $V$ is right, $e_t$ is pure surprise, and the critic's sixteen
# are worth sixteen or a little more. Then it is the *actor's* turn: a pole that leans right teaches "push right" as
# long as it leans. (Three critics fitted on another batch gave 17 to 20 for the critic's gradient, 3.7 to 3.8 for the
# actor's.)
#
# Sixteen simulators are worth about sixteen in every cell, without lecture 13's store of experience, as long as they
# *are* in different places. Poles fall, and get out of step; pendulums do not: in lecture 12 sixty-four are all at one
# moment of their episode.
#
# </details>
#
# Sixteen simulators, five steps, one update: that is **A2C**, the synchronous advantage actor-critic.
#
# > **A2C.** Repeat:
# > 1. each of $W$ numbered simulators plays $n$ steps with $\pi_\theta$, from where it stood;
# > 2. $R_t = r_t + \gamma R_{t+1}$, from $V(s)$ behind a cut, from 0 where the task terminated;
# > 3. $A_t = R_t - V(s_t)$, a constant from here on;
# > 4. gradient $g$ of the loss above, over all $W n$ steps; *everybody waits here*;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# Its simulators are numbered: it has the same bits on any number of ranks.
#
# ## Nobody waits
#
# **A3C** (asynchronous advantage actor-critic) leaves the barrier out, as lecture 10's server did:
#
# > **A3C.** Each worker, for itself, with one shared $\theta$:
# > 1. $\theta' \leftarrow \theta$, as it is now: *pull*;
# > 2. play $n$ steps with $\pi_{\theta'}$, from where it stood; meanwhile others push;
# > 3. $R_t$ and $A_t$ as in A2C, with $V$ of $\theta'$;
# > 4. gradient $g$ of the loss at $\theta'$;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$, in place, with the shared optimiser: *push*. Nobody waits.
#
# A late gradient is late in *two* ways: it was computed at old parameters, and from experience of an **old policy**.
#
# `shared` has `theta`, and Adam's arrays under names such as `optimiser.moment` (Adam calls it `moment`), in memory
# that every rank looks at. The trap: `x = x - step` makes a new array under the old name; the others go on looking at
# the old one. `x -= step` and `x[:] = ...` write into it. If the prefix is empty all names match; the optimiser leaves
# `theta` alone.
#
# ### Exercise 3: `descend`

# %% exercise="descend"

# %% [markdown]
# A3C, whole, with lecture 10's event queue: every gradient takes about one second of a drawn clock. **Sixteen workers,
# equally fast: how many updates of others come, on average, between a worker's pull and its push?**

# %% prediction="yes"
guess_age = 8  # updates, mean staleness of sixteen workers


# %%
def practise_late(workers, seed, step_size, total, envs=8, n=5):
    """Return theta after so many environment steps, and how old the gradients were."""
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
    best = {kind[:2]: steps_to_goal(sizes) for kind, sizes in actors.items() if kind[0] != "online"}
    print("best step sizes:", *(f"{what}, {workers}: {size:g};" for (what, workers), (size, _) in best.items()))
    steps = {kind: found for kind, (_, found) in best.items()}
    print("16 late workers / one:", ratio_in_words(steps["late", 16], steps["late", 1]))
    print("A2C, 128 simulators / 8:", ratio_in_words(steps["together", 16], steps["together", 1]))
    print("128 simulators, waiting / late:", ratio_in_words(steps["together", 16], steps["late", 16]))
    _, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    workers = sorted({kind[1] for kind in steps})
    for what, label, color, marker in (("late", "late (A3C)", ORANGE, "o"), ("together", "together (A2C)", BLUE, "s")):
        shown = np.array([steps[what, w] for w in workers]) / 1000
        axis.plot(workers, np.median(shown, axis=1), marker=marker, color=color, label=label)
        axis.plot(workers, shown, ".", color=color, alpha=0.5)
        for place, never in zip(workers, np.isinf(shown).sum(axis=1), strict=True):  # on the upper edge
            if never:
                axis.text(place, 122, f"{never} never", color=color, ha="center", fontsize=9)
    axis.set(ylabel="thousand environment steps to 450", ylim=(0, 130), xlabel="workers of 8 simulators", xscale="log")
    axis.set(xticks=workers, xticklabels=workers, xlim=(0.8, 20))
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(fontsize=9, title="median; dots: seeds", title_fontsize=9, loc=(0.02, 0.5))
    plt.show()


reveal(guess_age, show_late)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 15, lecture 10's law: while a worker computes, each of the others pushes once. What does it cost? The figure has
# *environment steps* until the score, looked at every 6,000, is first at 450, with the best of three step sizes (0.001,
# 0.003, 0.01), five seeds; beside it A2C with as many simulators. (With one worker both are the same runs.) Some do not
# get there within 120,000 steps: with them we compare *medians*, and ask the ranks whether two groups differ at all.
#
# By the drawn clock sixteen late workers play sixteen times as many steps a second. We cannot tell whether they need
# more than one does: half as many to four times, by Welch's interval. So by this clock they are there 3.7 to 30 times
# sooner. (They did best with the smallest step size tried; a smaller one might be better.) The barrier does
# cost steps: with 128 simulators every run is later than every one with 8, as an update is *one* step of Adam for 640
# environment steps. Whether waiting costs more steps than being late we cannot tell. One expects lateness to cost
# little as long as it means a few small steps (lecture 10: the later, the smaller the step size); our runs do not show
# where it ends.
#
# </details>
#
# And on real ranks, in shared memory, without a lock? **How many times as many steps a second do two take as one?**
# A3C's share nothing but $\theta$. A2C's share the collecting, not the update, and meet after every 80 steps: what does
# Amdahl's law (lecture 08) allow, and what does it leave out?

# %%
TASK = ("--env", "CartPole-v1", "--total-steps", budget(20_000, 4000))
TASK = (*TASK, "--oversubscribe")  # both ranks work; A2C as typed leaves steps as light as these to one of them
rates = {}
for algorithm, ranks in (("a3c", 1), ("a3c", 2), ("a2c", 2), ("a2c", 1)):
    columns = train(ranks, "--algorithm", algorithm, *TASK).columns()
    rates[algorithm, ranks] = columns["env_steps"][-1] / columns["time_s"][-1]
print(f"A2C on one rank collects for {columns['collect_s'].sum() / columns['time_s'][-1]:.0%} of its time")

# %% prediction="yes"
guess_a2c = 1.5  # steps/s on two ranks / on one, A2C
guess_a3c = 1.5  # steps/s on two ranks / on one, A3C


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_real():
    told = json.loads(recorded("rates.json").read_text())
    for algorithm, guess in (("a2c", guess_a2c), ("a3c", guess_a3c)):
        ratio, low, high = told["ratios"][f"{algorithm}, two to one"]
        compare(f"{algorithm}: steps/s, two ranks / one", guess, ratio)
        here = rates[algorithm, 2] / rates[algorithm, 1]
        print(f"  {told['rounds']} runs of each, 95 % interval {low:.2f} to {high:.2f}; just now, once: {here:.2f}")
    ratio, low, high = told["ratios"]["a3c to a2c"]
    print(f"on two ranks A3C / A2C: {ratio:.2f} (95 % interval {low:.2f} to {high:.2f}),", end=" ")
    print(f"with gradients that are {told['staleness']:.2f} updates old (two equal ranks: at most 1)")


reveal((guess_a2c, guess_a3c), show_real)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With a barrier every 80 steps two ranks are *slower* than one: Amdahl's law leaves out the meeting. Without one they
# are twice as fast. (The intervals are those of a mean: a single run, as just now, may lie outside.) The price: two
# runs need not give the same bits (lecture 07's fingerprint is lost), and nothing can be repeated, unless in the event
# queue.
#
# </details>
#
# ## Bug hunt
#
# OpenAI's `baselines` (`a2c/runner.py`, with `discount_with_dones`), in our words, for one simulator's rollout of $n$
# steps (to mend it, more than one line has to change):


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
# **The bug**: one `done` for two things. An episode that a time limit cuts *within* the rollout counts as terminated:
# standing for 500 steps is as bad as a fall. The repair needs an index: `final_values` has an entry for every fragment.
# pytorch-a3c (`train.py`) does the same by `done = done or episode_length >= args.max_episode_length`. Gym's own `done`
# had merged the two already.

# %% [markdown]
# ## What you have built so far
#
# You can learn from any $n$ steps, with one loss for two networks. You know when sixteen places teach more than sixteen
# steps in a row, and when not. You know what waiting and not waiting cost.
#
# ## Quiz
#
# **1.** Somebody lets the critic's gradient run through $V(s_{t+n})$, too: the true gradient of its loss. Is it
# better?
#
# <details><summary>Answer</summary>
#
# No. By this **residual gradient** (Baird 1995) the later state's value is also dragged towards what the earlier one
# believed. Small $(R - V)^2$ was never the aim; the right value is. With $R$ a constant it is a **semi-gradient**.
#
# </details>
#
# **2.** Sixteen simulators and $n = 1$, or one and $n = 16$?
#
# <details><summary>Answer</summary>
#
# The first often has the less correlated gradient, and believes its critic most; the second sees far and sees one
# place. Our runs do not settle it. A2C's 16 x 5 takes some of each.
#
# </details>
#
# **3.** In `descend`, `shared["theta"] = shared["theta"] - step` passes a test that looks at `shared["theta"]`
# afterwards. Who notices?
#
# <details><summary>Answer</summary>
#
# Nobody, at first. After its first push each rank has a theta of its own, and learns alone. So the check looks whether
# the *same array* has changed.
#
# </details>

# %% [markdown]
# ## Appendix: what was claimed
#
# *The Berkeley slides* say of A3C: *"Pro: generally much faster in terms of wall clock. Con: generally [much] slower in
# terms of # of samples"*, with 20,000,000 steps of A3C beside 1,000,000 of DDPG. On Pendulum, as typed, a number for
# each seed, from the project's benchmarks, NAF (lecture 13) in DDPG's place:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
ours = family_of(recorded("family.csv"))
family = {name: ours["Pendulum-v1", name] for name in ("a2c", "a3c", "naf", "batch-ppo")}
print("thousand steps to a mean return of -250 (>: never, the run was so long)")
print(*(steps_in_words(name, runs) for name, runs in family.items()), sep="\n")
for one, other in (("a2c", "a3c"), ("a3c", "naf"), ("a3c", "batch-ppo")):
    print(f"{one}'s / {other}'s:", ratio_in_words(family[one].steps, family[other].steps))

# %% [markdown]
# (The goal is seen by twenty fresh episodes, every 5,000 steps; of A2C and A3C, every 20,000.) A2C and A3C need many
# times NAF's samples, but also many times those of Batch PPO, which throws its samples away as they do, if
# after more than one pass. So that they learn on-policy is not the whole gap; how much
# of the rest is passes, how much presets (not tuned with equal care) we have not tried. A3C and NAF alone, in
# longer runs:

# %%
show_claims("L1")

# %% [markdown]
# *"No replay buffer, instead rely on diversity of samples from different workers to decorrelate"*: it holds where
# simulators get out of step, see above. *"Only do this every n steps"* (the update), the one difference from running
# online: so did ours, and collapsed less.
#
# *Frans & Hafner* say, after Mnih et al., that asynchrony reduces "training time in a near linear correlation to the
# number of threads". Two ranks play twice the steps a second, and perhaps need more of them.
#
# *Miranda's post* says "I am using an Asynchronous Advantage Actor-Critic (A3C) algorithm". In the code of that summer
# `A3CFFSoftmax` is a *network* of ChainerRL, and the agent that it is given to is PPO, lecture 12.
#
# **Next**: lecture 11b has the other half of the family, which learns no policy at all.
