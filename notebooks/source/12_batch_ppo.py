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
# # 12 Batch PPO and continuous training
#
# **How much of TRPO can be thrown away: the Fisher matrix, the line search, even the episodes?**
#
# *Elective. It needs lectures 01, 04 and 05a.*
#
# <!-- loop -->
#
# A trust region needs products with $F$, conjugate gradients and a line search, and an update waits for whole
# episodes. In this lecture one line of arithmetic replaces the first, and a rule for the last step of a cut episode
# the second.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `clipped_objective`, `objective_slope` | `minitrpo/algorithms/batch_ppo.py` | Schulman et al. 2017, equation 7 |
# | `climb` | `minitrpo/course/climb.py`; with all settings `climb` in `batch_ppo.py` | Schulman et al. 2017, algorithm 1 |
# | `cuts` | `minitrpo/course/continuous.py` | Miranda 2018: "continuous training" and its accumulator |
# | `values_after` (given) | `minitrpo/course/last_step.py` | Miranda 2018: "the value at the last timestep is not equal to 0" |
#
# *90 minutes in class with the four exercises; the notebook itself runs in a third of a minute. You need: lectures
# 01, 04 and 05a. "Miranda 2018" is L. J. Miranda's post on his internship at Preferred Networks.*

# %%
import csv

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.algorithms.shared_update import advantages_of, samples_of
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, recorded, reveal
from minitrpo.course.seeds import difference_in_words, family_of, ratio_in_words
from minitrpo.critics import MLPCritic
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, concatenate, make_vector_env
from minitrpo.course.last_step import READINGS, exact_values, values_after
from minitrpo.policy_gradient import LogProbability
from minitrpo.optimisers import State, adam, initial_state
from minitrpo.policies import Array, Policy
from minitrpo.course.statistics import mean_interval
from minitrpo.advantages import discounted_sums, standardise

# %% [markdown]
# ## The same batch, again
#
# A TRPO update takes *one* step with its batch. Why not more? The gradient holds for the policy that acted (lecture
# 01). But lecture 04's surrogate, the mean of $\text{ratio} \cdot A$ with the **ratio**
# $\pi_\theta(a|s) \,/\, \pi_\text{old}(a|s)$, can be climbed from any $\theta$.
#
# We climb it with Adam, which scales each weight's step by its recent gradients. An **epoch** goes once through the
# batch in random **minibatches** of 64 steps. `mine.climb(policy, theta, memory, batch, clip, rng)`, which you write
# below, returns theta and Adam's memory after ten epochs. With `clip=np.inf` it climbs the surrogate itself. The next
# cell trains three policies for a few updates on CartPole.

# %%
spec = describe("CartPole-v1")
policy = spec.policy((64, 64))


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def batch_of(played):
    """Return observations, actions and standardised rewards-to-go of some episodes."""
    e = played.episodes
    return e.observations, played.actions, standardise(discounted_sums(e.rewards, 0.99, e.last))


def fresh(theta):
    """Return an Adam without a past."""
    return initial_state("adam", len(theta))


def ratios(old, new, batch):
    """Return the ratio of every step of a batch: how much likelier its action has become."""
    logs = [policy.log_prob(policy.distribution(theta, batch[0]), batch[1]) for theta in (old, new)]
    return np.exp(logs[1] - logs[0])


def mean_of(values):
    """Return the mean of some numbers, and its standard error."""
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


def mean_return(theta):
    """Return the mean return of new episodes, and its standard error."""
    return mean_of(play("CartPole-v1", budget(6000, 1500), theta, seed=99).episodes.returns)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def half_trained(seed):
    """Return a batch of a policy that has learned for some updates, by what this lecture is about."""
    played = play("CartPole-v1", 2048, seed=100 * seed)
    for k in range(budget(8, 2)):
        theta, _ = mine.climb(policy, played.theta, fresh(played.theta), batch_of(played), 0.2, default_rng(k))
        played = play("CartPole-v1", 2048, theta, seed=100 * seed + k + 1)
    return played


SEEDS = range(budget(3, 1))
students = [half_trained(seed) for seed in SEEDS]
before = [mean_return(each.theta) for each in students]
later = range(5000, 5000 + budget(8, 2))  # seeds
others = [[batch_of(play("CartPole-v1", 2048, each.theta, seed=k)) for k in later] for each in students]
averages = np.round([mean for mean, _ in before])
print("three half-trained policies keep the pole up for", averages, "steps on average (500 is the most)")

# %% [markdown]
# Each policy now gets ten epochs on its own batch, without a clip, so that the surrogate of this batch rises. **How much of
# that gain do *new* steps of the *same* old policy show?** Think of what a network with 4,600 weights can learn about
# 2,048 steps that it sees ten times.

# %% prediction="yes"
guess_kept = 50  # per cent of the gain


# %%
def distance(each, theta):
    """Return the mean KL between a half-trained policy and theta, on its batch."""
    dist_params = (policy.distribution(t, each.episodes.observations) for t in (each.theta, theta))
    return policy.kl(*dist_params).mean()


def after_ten_epochs(clip):
    """Return for each: ratios, KL, gain on the batch, gain on new steps of the *old* policy, return of new episodes."""
    found = []
    for each, new_steps in zip(students, others):
        batch = batch_of(each)
        theta, _ = mine.climb(policy, each.theta, fresh(each.theta), batch, clip, default_rng(0))
        ratio = ratios(each.theta, theta, batch)
        kept = mean_of([np.mean(ratios(each.theta, theta, b) * b[2]) for b in new_steps])
        found.append((ratio, distance(each, theta), np.mean(ratio * batch[2]), kept, mean_return(theta)))
    return found


free = after_ten_epochs(np.inf)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def table(found):
    """Print a row per policy; a number in brackets is a standard error."""
    print("return before    after      gain on the batch   on new steps       KL   beyond 0.8 and 1.2")
    for was, (ratio, kl, gain, kept, reached) in zip(before, found):
        far = np.mean(np.abs(ratio - 1) > 0.2)
        print("{:6.0f} ({:2.0f}) {:10.0f} ({:2.0f})".format(*was, *reached), end="")
        print(f"{gain:16.4f} {kept[0]:14.4f} ({kept[1]:.4f}) {kl:8.4f} {far:12.0%}")


def show_free():
    """Answer the prediction."""
    gained, errors = sum(each[2] for each in free), [each[3][1] for each in free]
    compare("share of the gain on new steps", guess_kept, 100 * sum(each[3][0] for each in free) / gained, "%")
    print(f"  standard error {100 * np.sqrt(np.sum(np.square(errors))) / gained:.0f} %")
    print(f"  mean KL {np.mean([each[1] for each in free]):.2g}, where TRPO's limit is 0.01\n")
    table(free)


reveal(guess_kept, show_free)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Compare the share with its standard error. In one run on an Intel Xeon new steps show nothing of the gain (-14 %, with a
# standard error of 15 %), and the returns of new episodes fall for all three policies: the ten epochs have learned the noise of
# this batch. If your share is clearly above 0, your policies were further from their best. The KL is far above TRPO's limit in
# any case. Something has to end the climb.
#
# </details>
#
# ## The clip
#
# TRPO looks at the whole batch: is the mean KL below the limit? PPO (proximal policy optimisation) looks at each step
# by itself. Once its ratio has moved beyond $1 \pm \text{clip}$, usually 0.2, more change earns nothing:
#
# $$\text{mean of} \quad \min\big(\text{ratio} \cdot A, \;\; \text{ratio held within } [1 - \text{clip},\, 1 + \text{clip}]
# \cdot A \big)$$
#
# ### Exercise 1: `clipped_objective`

# %% exercise="clipped_objective"

# %% [markdown]
# Why the minimum? There are four corners: an action was good ($A > 0$) or bad, and it has become likelier (ratio
# above the clip) or rarer (below). In two corners the policy went the right way, and far enough; there the clip ends
# it. In the other two it went the *wrong* way, as a side effect of other steps. There the minimum chooses the plain
# product, and the climb corrects it.
#
# Adam needs the slope. Where the objective does not depend on the ratio, the slope is 0. Elsewhere it is that of
# $\text{ratio} \cdot A$. Since $\text{ratio} = e^{\log\pi - \log\pi_\text{old}}$, the slope in $\log \pi$ is
# $\text{ratio} \cdot A$ again.
#
# ### Exercise 2: `objective_slope`

# %% exercise="objective_slope"

# %% [markdown]
# The picture shows a bad action that has become likelier. The right panel is the step's share of the KL, since the
# mean of $\text{ratio} - 1 - \log \text{ratio}$ over the old policy's actions estimates
# $\mathrm{KL}(\pi_\text{old} \| \pi_\theta)$ (Schulman 2020). Drag (this needs a running kernel): which corners are
# flat?


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_clip(ratio=1.3, advantage=1.0, clip=0.2):
    """Redraw objective, slope and KL over the ratio, with one step marked."""
    grid = np.linspace(0.02, 2, 400)
    marks = np.full_like(grid, advantage)
    here, own = np.array([ratio]), np.array([advantage])
    _, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    curves = (
        (mine.clipped_objective(grid, marks, clip), mine.clipped_objective(here, own, clip), "objective"),
        (mine.objective_slope(grid, marks, clip), mine.objective_slope(here, own, clip), "slope in log pi(a|s)"),
        (grid - 1 - np.log(grid), here - 1 - np.log(here), "ratio - 1 - log(ratio)  (nats)"),
    )
    for axis, (curve, at, label), color in zip(axes, curves, (GREEN, BLUE, RED)):
        if axis is not axes[2]:
            axis.plot(grid, grid * advantage, "--", color=GREY, label="without a clip")
            top = 0.1 + 2.05 * abs(advantage)
            axis.set_ylim((-0.2, top) if advantage >= 0 else (-top, 0.2))
        axis.plot(grid, curve, color=color, linewidth=2)
        axis.plot(here, at, "o", color="black", markersize=8, label=f"ratio {ratio:.2f}: {at[0]:.4f}")
        axis.axvspan(max(1 - clip, 0), min(1 + clip, 2), color=GREY, alpha=0.2, label="within the clip")
        axis.set(xlabel="ratio", ylabel=label, xlim=(0, 2))
        axis.legend(
            fontsize=9, loc="upper center" if axis is axes[2] else "upper left" if advantage > 0 else "lower left"
        )
        axis.grid(alpha=0.3)
    axes[2].set(ylim=(0, 0.5))
    good = "a good action" if advantage > 0 else "a bad action" if advantage < 0 else "neither good nor bad"
    axes[0].set_title(good, fontsize=10)
    axes[1].set_title("left alone" if mine.objective_slope(here, own, clip)[0] == 0 else "pushed", fontsize=10)
    axes[2].set_title(f"what this step adds to the KL; clip² / 2 = {clip**2 / 2:.3f}", fontsize=10)
    plt.show()


draw_clip(ratio=1.3, advantage=-1.0)

# %%
sliders = {
    "ratio": ipywidgets.FloatSlider(min=0.1, max=2, step=0.05, value=1.3, continuous_update=False),
    "advantage": ipywidgets.FloatSlider(min=-2, max=2, step=0.5, value=1, continuous_update=False),
    "clip": ipywidgets.FloatSlider(min=0.05, max=0.5, step=0.05, value=0.2, continuous_update=False),
}
_ = ipywidgets.interact(draw_clip, **sliders)

# %% [markdown]
# ## The epochs
#
# Is a quantity computed *once*, once an *epoch*, or once a *minibatch*? Three things are given.
# `LogProbability(policy, theta, observations, actions)` has `.log_prob`, and `.weighted_gradient(w)`, the gradient of
# $\sum_i w_i \log \pi_\theta(a_i|s_i)$. `adam(memory, gradient, step_size)` returns the new memory and the step. The
# third is `mine.objective_slope`.
#
# ### Exercise 3: `climb`

# %% exercise="climb"

# %% [markdown]
# The same three policies, the same ten epochs, now with the clip. **Can a step end up *beyond* 0.8 and 1.2? What
# fraction of the steps does?** Think of a step just inside, of other steps that share its weights, and of Adam's
# memory.

# %% prediction="yes"
guess_beyond = 0.0  # fraction of the steps

# %% jupyter={"source_hidden": true} tags=["hide-input"]
held = after_ten_epochs(0.2)


def show_held():
    """Answer the prediction; draw the ratios with and without the clip."""
    beyond = np.mean([np.mean(np.abs(each[0] - 1) > 0.2) for each in held])
    compare("fraction of the steps beyond the clip", guess_beyond, beyond)
    distances = (np.mean([each[1] for each in found]) for found in (held, free))
    print("mean KL: {:.2g} with the clip, {:.2g} without; TRPO's limit is 0.01".format(*distances))
    table(held)
    _, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
    bins = np.linspace(-2, 2, 81)
    for found, color, name in ((free, ORANGE, "without a clip"), (held, BLUE, "clip 0.2")):
        logs = np.log(np.concatenate([each[0] for each in found]))
        axis.hist(np.clip(logs, -2, 2), bins, color=color, alpha=0.6, density=True, label=name)
    for border in (0.8, 1.2):
        axis.axvline(np.log(border), color=RED, linestyle="--", label="0.8 and 1.2" if border == 0.8 else None)
    axis.set(xlabel="log ratio of a step (beyond -2 and 2: in the outermost bars)", ylabel="density", yscale="log")
    axis.legend(fontsize=10)
    plt.show()


reveal(guess_beyond, show_held)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The clip keeps the KL far below that of the free climb, without a Fisher matrix. But the clip is **no limit**. A push from inside may
# overshoot, and it moves other ratios, as all states share the weights; Adam's momentum goes on after it. The clip
# takes away the reason to go further, and it guarantees no gain on new steps (compare the fourth column with its standard
# errors, policy by policy). TRPO *checks* the KL before it accepts
# a step; PPO can only observe it.
#
# </details>
#
# ## From episodes to steps
#
# When four simulators play one episode each, the first that falls waits for the longest. In **continuous training**
# (Miranda) a simulator is reset *at once* when its episode ends, and after a fixed number of steps of all of them
# there is an update.

# %%
simulators, everyone = make_vector_env(spec, 4), np.arange(4)
theta, rng = policy.initialise(default_rng(3)), default_rng(0)
act, seeds = policy.act_function(theta), iter(range(10_000))
observations = np.stack([simulators.reset(n, next(seeds)) for n in everyone])  # all begin
ended = np.zeros((60, 4), bool)
for t in range(60):
    actions = act(observations, policy.draw_noise(rng, 4), 4)
    observations, _, terminated, truncated = simulators.step(everyone, actions)
    ended[t] = terminated | truncated
    for n in everyone[ended[t]]:  # these alone are reset; the others are in the middle of an episode
        observations[n] = simulators.reset(n, next(seeds))
print("episodes that ended, by simulator:", ended.sum(axis=0))

# %% [markdown]
# The memory now holds a table: a row per step, a column per simulator. The learner needs **fragments**: unbroken runs
# of steps of one episode. A fragment stops where an episode ended, and where the table ends.
#
# ### Exercise 4: `cuts`

# %% exercise="cuts"

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, (top, bottom) = plt.subplots(2, 1, figsize=(10, 3.6), layout="constrained", sharex=True)
fragments = mine.cuts(ended)
for n, first, stop in fragments.tolist():
    done = ended[stop - 1, n]
    bottom.barh(n, stop - first, left=first, color=BLUE if done else GREEN, edgecolor="white")
whole = [[r for r in fragments.tolist() if r[0] == n and ended[r[2] - 1, n]] for n in range(4)]
left = 0
for wave in range(min(map(len, whole))):
    lengths = [rows[wave][2] - rows[wave][1] for rows in whole]
    for n, length in enumerate(lengths):
        top.barh(n, length, left=left, color=BLUE, edgecolor="white")
        top.barh(n, max(lengths) - length, left=left + length, color=GREY, alpha=0.4)
    left += max(lengths)
top.set(title="episode by episode, the first two waves: blue plays, grey waits", ylabel="simulator", yticks=range(4))
title = "continuous: blue fragments end with their episode, green ones are cut and go on after the update"
bottom.set(title=title, xlabel="steps", ylabel="simulator", yticks=range(4))
for axis in (top, bottom):
    axis.invert_yaxis()
plt.show()

# %% [markdown]
# ## The value at the last step
#
# A green fragment is cut, so its future counts (lecture 05a). Miranda writes: "the value at the last timestep is not
# equal to 0, i.e. $V(s_T) \neq 0$ if done". Programs have read this in several ways. After the last step of a
# fragment $V$ is
#
# | reading | where the task terminated | where it was cut (time limit, end of the table) |
# |---|---|---|
# | `zero` | 0 | 0 |
# | `final` | 0 | $V$ of the final observation |
# | `next` | 0 | time limit: $V$ of the *first* observation of the next episode; end of the table: as `final` |
# | `literal` | $V$ of the final observation | $V$ of the final observation |
#
# `next` happens in a loop that resets before it observes. We test all four in lecture 05a's corridor, places 1 to 9
# and a fair coin, with another reward: every step pays 1, and $\gamma = 0.9$. The walk begins in place 5, and a time
# limit cuts it after each step with probability 0.1. A walker that has left is last seen in place 1 or 9. Without the
# limit place 9 is worth 3.6.
#
# **What is place 9 worth under `literal`?** (Under this reading, what does a walker lose when it leaves?)

# %% prediction="yes"
guess_literal = 5  # value of place 9

# %%
moves = 0.5 * (np.eye(9, k=1) + np.eye(9, k=-1))  # row i: from place i + 1; in the first and the last 1/2 leaves
truth = exact_values(moves, np.ones(9), 0.9)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def walks(number, rng, limit=0.1):
    """Return places (0 to 8) and masks of all steps, and per walk the place it is seen in after its last step."""
    places, last, terminated, final = [], [], [], []
    for _ in range(number):
        place, over = 4, False
        while not over:
            places.append(place)
            place += rng.choice((-1, 1))
            leaves, cut = not 0 <= place <= 8, rng.random() < limit
            over = bool(leaves or cut)
            last.append(over)
            terminated.append(bool(leaves))
        final.append(min(max(place, 0), 8))
    return np.array(places), np.array(last), np.array(terminated), np.array(final)


places, last, terminated, final = walks(budget(6000, 2000), default_rng(0))


# %%
def learned(reading):
    """Return the table V that agrees with itself on these walks: the mean of reward + 0.9 x V after, place by place."""
    V, visits = np.zeros(9), np.bincount(places, minlength=9)
    for _ in range(200):
        after = values_after(reading, V[places], V[final], np.full(len(final), V[4]), last, terminated)
        V = np.bincount(places, 1 + 0.9 * after, minlength=9) / visits
    return V


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_readings():
    """Answer the prediction; draw V by place."""
    tables = {reading: learned(reading) for reading in READINGS}
    compare("place 9 under `literal` (truth 3.6)", guess_literal, tables["literal"][8])
    print("largest error of a place:", ", ".join(f"{r} {np.abs(V - truth).max():.2f}" for r, V in tables.items()))
    _, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    axis.plot(range(1, 10), truth, color=GREY, linewidth=7, alpha=0.5)
    for (reading, V), color, marker in zip(tables.items(), (RED, BLUE, ORANGE, PURPLE), "svo^"):
        axis.plot(range(1, 10), V, marker=marker, linestyle=":", color=color)
        axis.text(
            9.2, V[8] + {"next": 0.45, "final": -0.15}.get(reading, 0), reading, color=color, fontsize=11, va="center"
        )
    axis.text(5, 7.3, "truth", color=GREY, fontsize=11, ha="center")
    axis.set(
        xlabel="place", ylabel="V (expected discounted reward)", ylim=(0, 11), xticks=range(1, 10), xlim=(0.7, 10.2)
    )
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_literal, show_readings)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Only `final`, lecture 05a's two masks, finds the truth. `zero` takes the time limit for an end. `next` gives a
# walker near the exit the future of one in the middle. Under `literal` an exit costs nothing: every place is worth
# $1/(1-\gamma) = 10$, every advantage is 0, and nothing can be learned.
#
# </details>
#
# ## All of it

# %% [markdown]
# **Algorithm: Batch PPO**
#
# Repeat:
# 1. each of $W$ simulators, never restarted, plays $n$ steps with $\pi_\text{old} = \pi_\theta$;
# 2. $V(s_\text{final})$ after a cut, 0 after a true end; advantages $A$ by GAE; targets $A + V$; only then $A$ is standardised;
# 3. $\log \pi_\text{old}(a|s)$ of all $W n$ steps, once;
# 4. for each epoch: shuffle all steps; for each minibatch in turn:
#    1. $\text{ratio} = \exp\big(\log \pi_\theta(a|s) - \log \pi_\text{old}(a|s)\big)$ of each step;
#    2. $g = \nabla_\theta$ of the clipped objective (exercises 1 and 2);
#    3. $\theta \leftarrow \theta + \text{Adam}(g)$;
# 5. in as many epochs of minibatches: fit $V$ to the targets.

# %% [markdown]
# `rollouts.advance` is the loop that you saw; it returns the fragments. Two seeds:

# %%
critic = MLPCritic(spec.observation_size, (64, 64), epochs=10, minibatch=256)
as_they_are = ObservationFilter.identity(spec.observation_size, clip=np.inf)


def batch_ppo(seed, updates, number=8, steps=256):
    """Return the mean return of fresh episodes, before every fourth update."""
    rng, curve = default_rng(seed), []
    theta, state = policy.initialise(rng), critic.initialise(rng)
    memory = fresh(theta)
    rollouts = Rollouts(spec, policy, make_vector_env(spec, number), seed)
    for update in range(updates):
        if update % 4 == 0:
            returns = play("CartPole-v1", budget(4000, 500), theta, seed=77).episodes.returns
            curve.append((update * number * steps, returns.mean()))
        s = samples_of(concatenate(rollouts.advance(theta, as_they_are, update, range(number), number, steps)))
        found = advantages_of(critic, state, s, 0.99, 0.95)  # with `final`
        batch = s["observations"], s["actions"], standardise(found["advantages"])
        theta, memory = mine.climb(policy, theta, memory, batch, 0.2, rng)
        state = critic.fit(state, s | found, rng)
    return curve


curves = [batch_ppo(seed, updates=budget(20, 3)) for seed in range(budget(2, 1))]

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for seed, curve in enumerate(curves):
    steps, scores = np.array(curve).T
    axis.plot(steps / 1000, scores, "o-", color=(BLUE, ORANGE)[seed], label=f"seed {seed}")
axis.set(xlabel="thousand environment steps", ylabel="mean return of fresh episodes", ylim=(0, 510))
axis.legend(fontsize=10, loc="lower right")
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Does it learn on your machine, with both seeds? And is something lost, compared with TRPO? TRPO and Batch PPO on three tasks, with their default settings and the same number of
# environment steps (recorded, five seeds each):

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family = family_of(recorded("family.csv"))
for env in ("CartPole-v1", "Pendulum-v1", "Reacher-v5"):
    ppo, trpo = family[env, "batch-ppo"], family[env, "trpo"]
    print(f"{env}: final return {ppo.last.mean():.1f} (Batch PPO) and {trpo.last.mean():.1f} (TRPO)")
    print(f"  difference {difference_in_words(ppo.last, trpo.last)}")
    print(f"  steps to the goal, Batch PPO's / TRPO's: {ratio_in_words(ppo.steps, trpo.steps)}")

# %% [markdown]
# <small>Each algorithm has tuned settings for two of the three tasks, found on other seeds.</small>
#
# ## More simulators
#
# Miranda reports that with more simulators CartPole needs fewer steps, and that on Pendulum one simulator beats the
# others. We ran both with 1 to 256 simulators, always with 2,048 steps of *all together* per update. The **score** is
# the mean return of 48 new episodes at the end.
#
# A Pendulum never falls, so its episodes always take 200 steps, and simulators that begin together stay in step. **Of
# the 200 moments of an episode, how many does an update of 64 simulators contain? And of one simulator?**

# %% prediction="yes"
guess_moments_64 = 200  # of 200, in the 2,048 steps of an update
guess_moments_1 = 200  # of 200, the same for one simulator

# %% jupyter={"source_hidden": true} tags=["hide-input"]
runs = {}  # (what, environment, simulators) -> the score of each seed
for row in csv.DictReader(recorded("12_simulators.csv").read_text().splitlines()):
    runs.setdefault((row["what"], row["env"], int(row["simulators"])), []).append(float(row["score"]))


def minus(one, other):
    """Return the difference of two mean scores, with its interval, in words."""
    return difference_in_words(runs[one], runs[other])


def draw_scores(axis, what, env, color, marker, label):
    """Draw scores over the number of simulators: seeds, mean and interval."""
    numbers = sorted(n for w, e, n in runs if (w, e) == (what, env))
    means, low, high = np.array([mean_interval(runs[what, env, n]) for n in numbers]).T
    axis.errorbar(numbers, means, (means - low, high - means), color=color, marker=marker, capsize=4, label=label)
    for n in numbers:
        axis.plot([n] * len(runs[what, env, n]), runs[what, env, n], ".", color=color, alpha=0.5, markersize=8)


def show_simulators():
    """Answer the prediction; draw all scores."""
    for simulators, guess in ((64, guess_moments_64), (1, guess_moments_1)):
        compare(f"moments in an update of {simulators}", guess, len({t % 200 for t in range(2048 // simulators)}))
    usual = {(env, n): ("final", env, n) for env in ("CartPole-v1", "Pendulum-v1") for n in (1, 64)}
    print("CartPole, score with 64 minus 1:", minus(usual["CartPole-v1", 64], usual["CartPole-v1", 1]))
    print("Pendulum, score with 64 minus 1:", minus(usual["Pendulum-v1", 64], usual["Pendulum-v1", 1]))
    apart = "out of step", "Pendulum-v1", 64
    print("Pendulum, 64 out of step minus 64 in step:", minus(apart, usual["Pendulum-v1", 64]))
    print("Pendulum, 64 out of step minus 1 in step:", minus(apart, usual["Pendulum-v1", 1]))
    _, axes = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
    draw_scores(axes[0], "final", "CartPole-v1", BLUE, "o", "")
    draw_scores(axes[1], "final", "Pendulum-v1", BLUE, "o", "in step")
    draw_scores(axes[1], "out of step", "Pendulum-v1", GREEN, "v", "out of step")
    for axis, env in zip(axes, ("CartPole", "Pendulum")):
        axis.set(
            xscale="log", xticks=(1, 4, 16, 64, 256), xticklabels=(1, 4, 16, 64, 256), xlabel="simulators", title=env
        )
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("score (mean return)")
    axes[1].legend(fontsize=10, loc="lower left")
    plt.show()


reveal((guess_moments_64, guess_moments_1), show_simulators)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 32 of 200, and all 200. An update of 64 simulators in step sees only swinging up, or only balancing. If each
# simulator's very first episode is cut at a random length, they get out of step, and there is no significant
# difference between 64 and one: the interval reaches from 22 worse to 6 better. On CartPole the interval is too wide to confirm or
# refute the post.
#
# <small>Recorded, five seeds each: scores after 12,288 steps (CartPole) and 61,440 steps (Pendulum); dots: seeds;
# bars: 95 % intervals of the mean.</small>
#
# </details>
#
# ## Bug hunt
#
# This objective comes from a PPO of 2018, in TensorFlow. `hunt` shows a case; find the line and correct it.


# %%
def suspect(ratio: Array, advantages: Array, clip: float) -> Array:
    clipped_ratio = np.clip(ratio, 1.0 - clip, 1.0 + clip)
    return np.minimum(ratio, clipped_ratio) * advantages


_ = hunt("clipped_objective", suspect)

# %% [markdown] solution="only"
# **The bug**: it takes the minimum of the *ratios*, and multiplies afterwards. For a bad action the smaller ratio
# gives the *larger* product. So a bad action that has become likelier is left alone, and one that is rare already is
# pushed on without limit. Both corners of $A < 0$ are wrong. (takuseno/ppo, issue 3.)

# %% [markdown]
# ## Quiz
#
# **1.** A bad action with a ratio of 1,000 contributes $-1000\,|A|$. Somebody wants to clip that, too. What would be
# lost?
#
# <details><summary>Answer</summary>
#
# The way back. Above the bound the slope would be 0, and a bad action that has become a thousand times likelier would
# stay so.
#
# </details>
#
# **2.** In the very first minibatch of an update, how many slopes does the clip set to 0?
#
# <details><summary>Answer</summary>
#
# None. $\theta$ is still the old one, all ratios are 1, and the gradient is lecture 01's policy gradient.
#
# </details>
#
# **3.** With 256 simulators and 2,048 steps per update the table has 8 rows. How does this change GAE with
# $\lambda = 0.95$?
#
# <details><summary>Answer</summary>
#
# Its sums are cut after at most 8 steps, where they would reach over about seventeen ($1/(1-\gamma\lambda)$). The
# critic's $V$ replaces the rest: less noise, more bias, as with a smaller $\lambda$.
#
# </details>
#
# ## Summary
#
# - PPO climbs the surrogate for several epochs. The clip removes the gain of further change; it is no limit.
# - A gain on the batch need not be a gain on new steps.
# - Continuous training cuts steps into fragments. After a cut comes $V$ of the final observation, after a true end 0.
# - Simulators that are in step harm, because an update then sees only a part of the episode. Out of step, five seeds show no
#   significant difference between 64 simulators and one.
#
# ## Open questions
#
# 1. Call `mine.climb` with `epochs=1` to 10 for the second policy in `students`, with `clip=np.inf` and with 0.2. Plot the KL
#    (`distance`) of both against epochs, with a line at 0.01. Explain in three sentences what the clip does, and when a program that stops
#    at the line would stop.
# 2. Plot the largest error of `learned("zero")` and of `learned("next")` for `walks` with `limit` = 0.02, 0.1 and 0.3. Explain in three
#    sentences why both errors grow.
#
# **Next**: all steps of this lecture were thrown away after one update. Lecture 13a keeps them.
