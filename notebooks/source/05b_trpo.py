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
# # 05 TRPO, end to end
#
# **Do the pieces, put together, learn?**
#
# You have a gradient (01), a direction (02, 03) and a length (04). What is missing is a judge of actions less noisy than
# "everything that was paid afterwards". We build it, put the update together, let it learn, and ask the awkward question:
# would it have learned with another seed?
#
# | in this notebook | in the package | in the paper |
# |---|---|---|
# | `next_values` | `minitrpo/returns.py` | not there: how an episode stops is not discussed |
# | `gae` | `minitrpo/returns.py` | Frans & Hafner, Algorithm 1, line 5, with $\lambda = 1$: "Monte Carlo" |
# | `explained_variance` | `minitrpo/returns.py` | not there; every log should have it |
# | `trpo_step` | `minitrpo/trpo.py` | Frans & Hafner, Algorithm 1, line 6; TRPO paper, appendix C |
#
# *About 75 minutes to teach, two minutes to run. You need: lectures 01 to 04.*

# %%
import json
from itertools import combinations

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import bootstrap

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, recorded, train
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.errors import BadInput
from minitrpo.line_search import backtracking, step_scale
from minitrpo.policies import Array, Policy
from minitrpo.returns import discounted_sums, standardise
from minitrpo.runs.video import film
from minitrpo.trpo import Batch, Report, damped_fisher, objective, surrogate_gradient

# %% [markdown]
# ## A value for every state
#
# Lecture 01 weighted each action by the reward that followed, less a constant. But in a good state *every* action looks
# good. We want to know how much better than usual it went, *from here*:
#
# - the **value** $V(s)$ is the expected discounted return from state $s$ on, when the policy acts;
# - the **advantage** $A(s, a)$ is the expected return after taking action $a$ in $s$, less $V(s)$.
#
# A function fitted to predict $V$ is a **critic**. It serves as a baseline that depends on the state, so by the argument of
# lecture 01 it takes noise away and adds no bias.
#
# We start where values are known. **The corridor**: nine places, 1 to 9. Every step a fair coin moves you left or right.
# Walk out on the right and you are paid 1, on the left nothing; then the walk is over. No discount. $V(s)$ is the chance of
# leaving on the right: $s / 10$, since each value must be the mean of its two neighbours.


# %%
def walks(number, limit, rng, start=None):
    """Return places, rewards, masks `last` and `terminated` of all steps, and the place after each walk."""
    places, rewards, last, terminated, final_places = [], [], [], [], []
    for coins in rng.choice((-1, 1), size=(number, limit)).tolist():
        place = start or int(rng.integers(1, 10))
        for step, coin in enumerate(coins, start=1):
            places.append(place)
            place += coin
            rewards.append(float(place == 10))
            terminated.append(place in (0, 10))
            last.append(place in (0, 10) or step == limit)
            if last[-1]:
                final_places.append(place)
                break
    return tuple(np.array(x) for x in (places, rewards, last, terminated, final_places))


truth = np.arange(11) / 10
truth[[0, 10]] = 0.0  # outside, nothing more will be paid
places, rewards, last, terminated, final_places = walks(budget(3000, 1000), 20, np.random.default_rng(0))
print(f"{last.sum()} walks of at most 20 steps, {len(places)} steps; {terminated.sum()} walks left the corridor")

# %% [markdown]
# We stopped every walk after 20 steps: a **time limit**, as most tasks have one. So a walk stops for one of two reasons, and
# they mean opposite things:
#
# - **terminated**: the task is over. Nothing more will be paid; the value of what comes after is **0**.
# - **truncated** (cut): *we* stopped looking. The walker has a future, worth $V$ of the place where it stands. Using an
#   estimate of $V$ in place of what was not seen is **bootstrapping**.
#
# Gymnasium reports the two separately; older code has one flag, `done`, for both.
#
# ### Exercise 1: `next_values`
#
# Steps of all walks lie one after the other in flat arrays; `last` marks the last step of each **fragment** (an unbroken
# run of steps of one episode; here a walk), `terminated` those after which the task is over. Return the value of the
# *next* state for every step.

# %% exercise="next_values"

# %% [markdown]
# Stuck? `hint("next_values", 1)`, and so on. As always, `mine.next_values` is yours once it is right, and the package's
# until then.
#
# Now learn $V$ from the walks: start at 0 everywhere, set each place's value to the mean of "reward + value of the next
# place" over all visits, repeat. Then the same with one merged flag, which calls a cut walk finished. The true value of the
# middle is 0.5. What does the merged flag make of it?

# %% prediction="yes"
guess_merged = 0.45

# %%
visits = np.bincount(places, minlength=11)


def learned_values(over):
    """Return the table of values that explains itself, where `over` marks the steps with nothing after them."""
    table = np.zeros(11)
    for _ in range(300):
        targets = rewards + mine.next_values(table[places], table[final_places], last, over)
        table = np.bincount(places, targets, minlength=11) / np.maximum(visits, 1)
    return table[1:10]


two_masks, merged = learned_values(over=terminated), learned_values(over=last)
compare("value of the middle with one merged flag (truth 0.5)", guess_merged, merged[4])
figure, axis = plt.subplots(figsize=(6.5, 3.2))
axis.plot(range(1, 10), truth[1:10], color=GREY, linewidth=5, alpha=0.5, label="truth, s / 10")
axis.plot(range(1, 10), two_masks, "o", color=BLUE, label="cut walks bootstrapped")
axis.plot(range(1, 10), merged, "s--", color=RED, label="cut walks called finished")
axis.set(xlabel="place s", ylabel="value V(s) (expected payment)", ylim=(0, 1))
axis.legend()
plt.show()

# %% [markdown]
# The merged flag is wrong everywhere, most around the middle, where walks are long. It also bends the line, so the
# *differences* between neighbours, from which a policy learns, are wrong, too. Frans's code of 2016 merges the two, as
# did most of its contemporaries.
#
# ## One step or the whole story
#
# The **TD error** (temporal difference) of a step is the surprise it brings, with $\gamma$ the discount:
#
# $$\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t)$$
#
# If $V$ is right, $\delta_t$ averages to the advantage of the action. If $V$ is wrong, so is $\delta_t$: it has **bias**. The other
# extreme, the whole discounted return less $V(s_t)$, asks no $V$ of later states but carries the noise of everything that
# happens until the end: **variance**. It is the sum of all later surprises, $\sum_k \gamma^k \delta_{t+k}$. Generalised advantage
# estimation (GAE, Schulman et al. 2016) lets the surprises fade by another factor $\lambda$:
#
# $$A_t = \sum_{k \ge 0} (\gamma\lambda)^k \, \delta_{t+k} = \delta_t + \gamma\lambda\, A_{t+1}$$
#
# $\lambda = 0$ is one step, $\lambda = 1$ the whole story. $A_t + V(s_t)$ is the **target**: what the critic should have said,
# and what it is fitted to next.
#
# ### Exercise 2: `gae`
#
# `next_values` is what your function of that name returned. You wrote the backward sum in lecture 01: `discounted_sums` is
# at hand.

# %% exercise="gae"

# %% [markdown]
# Back to the corridor, with walks long enough to end by themselves, all from the middle. A first step to the right
# raises the value from 0.5 to 0.6: its advantage is 0.1; that of a step to the left is -0.1.
#
# Suppose the critic knows nothing and says 0.5 everywhere. With $\lambda = 0$, which advantage does a first step to the right
# get, on average?

# %% prediction="yes"
guess_ignorant = 0.1

# %%
places, rewards, last, terminated, final_places = walks(budget(3000, 400), 1000, np.random.default_rng(1), start=5)
first = np.append(0, np.flatnonzero(last)[:-1] + 1)
direction = np.where(places[first + 1] > 5, 1, -1)  # of the first step


def first_advantages(quality, lam):
    """Return A of each walk's first step (left: minus A), for a critic between ignorant (0) and perfect (1)."""
    table = np.where(truth > 0, 0.5 + quality * (truth - 0.5), 0.0)
    after = mine.next_values(table[places], table[final_places], last, terminated)
    return direction * mine.gae(rewards, table[places], after, last, 1.0, lam)[0][first]


ignorant, whole_story = first_advantages(quality=0.0, lam=0.0), first_advantages(quality=0.0, lam=1.0)
compare("advantage by an ignorant critic, lambda 0 (truth 0.1)", guess_ignorant, abs(ignorant.mean()))
print(f"with lambda 1: mean {whole_story.mean():.3f}, standard deviation {whole_story.std():.2f}")

# %% [markdown]
# The ignorant critic sees no difference between places 4 and 6; with $\lambda = 0$ neither does the policy. With $\lambda = 1$
# the mean is right, but a single walk's estimate is five times as noisy as the number is large. A batch averages over many
# walks, and averaging cures variance, never bias. So the best $\lambda$ depends on the critic *and* on the size of the batch:

# %%
lambdas = np.linspace(0, 1, 11)


def bias_and_spread(quality):
    """Return bias and standard deviation of the estimated advantage, for every lambda."""
    estimates = np.array([first_advantages(quality, lam) for lam in lambdas])
    return estimates.mean(axis=1) - 0.1, estimates.std(axis=1)


bias, spread = bias_and_spread(quality=0.5)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.3))
left.plot(lambdas, np.abs(bias), "o-", color=RED, label="bias")
left.plot(lambdas, spread, "s-", color=BLUE, label="standard deviation, one walk")
for number, color, marker in ((1, GREY, "v"), (10, ORANGE, "s"), (100, GREEN, "o"), (1000, PURPLE, "^")):
    error = np.sqrt(bias**2 + spread**2 / number)
    right.plot(lambdas, error, "-", color=color, marker=marker, markersize=4, label=f"mean of {number}")
    right.plot(lambdas[error.argmin()], error.min(), "*", color=color, markersize=16)
left.set(xlabel="$\\lambda$", ylabel="error of the advantage", title="A critic half right")
right.set(xlabel="$\\lambda$", ylabel="error of the advantage", ylim=(0, 0.18), title="Averaged over walks; star: best")
left.legend()
right.legend()
plt.tight_layout()
plt.show()


# %%
def best_lambdas(quality=0.5):
    bias, spread = bias_and_spread(quality)
    best = {n: lambdas[np.argmin(np.sqrt(bias**2 + spread**2 / n))] for n in (1, 10, 100, 1000)}
    print(f"critic {quality:.2f} right: best lambda", ", ".join(f"{lam:.1f} for {n} walks" for n, lam in best.items()))


_ = ipywidgets.interact(best_lambdas, quality=ipywidgets.FloatSlider(min=0, max=1, step=0.25, value=0.5))

# %% [markdown]
# Drag the slider (it needs a running kernel; the figure is its position 0.5): a good critic asks for a small $\lambda$, a large
# batch for a large one. Frans & Hafner take 20,000 steps and $\lambda = 1$; we take 5,000 and 0.97.
#
# ## Is the critic any good?
#
# Which fraction of the targets' variance do its predictions explain?
#
# $$1 - \frac{\operatorname{Var}(\text{target} - \text{predicted})}{\operatorname{Var}(\text{target})}$$
#
# 1 is perfect, 0 no better than a constant, negative worse. An offset is forgiven, as a baseline may be off by a constant. If
# all targets are equal there is nothing to explain; return `nan`.
#
# ### Exercise 3: `explained_variance`

# %% exercise="explained_variance"

# %% [markdown]
# A real task. **Reacher**: an arm of two links on a table must bring its tip to a dot; 50 steps, and the reward is minus the
# distance to the dot, minus the effort. We play ten episodes with a fresh policy, take the discounted sums of rewards as
# targets (with $V = 0$ and $\lambda = 1$ that is what `gae` does), and fit a perceptron to them, long and hard. It explains a
# good part of *those* targets. And of a second batch, played by the same policy?

# %% prediction="yes"
guess_fresh = 0.6


# %%
def reacher_batch(seed):
    """Return observations, timesteps and discounted sums of rewards of ten episodes of a fresh policy."""
    episodes = play("Reacher-v5", steps=500, seed=seed).episodes
    zeros = np.zeros(episodes.steps)
    _, targets = mine.gae(episodes.rewards, zeros, zeros, episodes.last, 0.99, 1.0)
    return episodes.observations, episodes.timesteps, targets


own, fresh, rng = reacher_batch(seed=0), reacher_batch(seed=1), np.random.default_rng(0)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.3), sharex=True, sharey=True)
for critic, color in ((MLPCritic(observation_size=10, epochs=100), BLUE), (LinearCritic(observation_size=10), ORANGE)):
    state = critic.fit(critic.initialise(rng), *own, rng)
    explained = [mine.explained_variance(critic.predict(state, *batch[:2]), batch[2]) for batch in (own, fresh)]
    print(f"{type(critic).__name__}: explained on its own batch {explained[0]:.2f}, on a fresh one {explained[1]:.2f}")
    if isinstance(critic, MLPCritic):
        compare("perceptron, fresh batch", guess_fresh, explained[1])
    for axis, batch in zip(axes, (own, fresh)):
        axis.plot(batch[2][::4], critic.predict(state, *batch[:2])[::4], ".", color=color, label=type(critic).__name__)
for axis, name in zip(axes, ("the batch they were fitted to", "a fresh batch")):
    axis.axline((-10, -10), slope=1, color=GREY, linewidth=1)
    axis.set(xlabel="discounted return that followed", title=name)
axes[0].set_ylabel("predicted")
axes[0].legend()
plt.tight_layout()
plt.show()

# %% [markdown]
# On its own batch the perceptron has learned the noise by heart; advantages computed there would have the luck of each
# action explained away. Hence the order of every update: **predict with the previous fit, then fit**.
#
# The linear critic is that of Frans's code: observations, their squares, and *the clock*. With ten steps left there is less
# to pay than with forty, and the clock knows. But must it? These targets take the limit of 50 steps for the end of the
# world: the merged flag again, hidden by the clock.
#
# ## The whole update
#
# | step | what | lecture |
# |---|---|---|
# | play | episodes with $\pi_\theta$, until there are enough steps | 01 |
# | judge | `next_values`, `gae` with the critic as it is; `standardise` to mean 0, standard deviation 1 | 05 |
# | direction | gradient $g$; $x$ with $(F + \lambda_\text{damping} I)\, x = g$ by conjugate gradient | 01, 02, 03 |
# | length | $\sqrt{2 \delta / x^\top (F + \lambda_\text{damping} I)\, x}$, then back until KL and gain are right | 04 |
# | learn | fit the critic to the targets | 05 |
# | look | merge what was seen into the observation filter | 05 |
#
# The last line: joint angles are near 1, velocities near 10, and a network likes neither. The **observation filter** takes
# the running mean off each observation and divides by the running standard deviation. It changes what the policy sees, so
# it stands still while a batch is played and judged, and moves between updates.
#
# ### Exercise 4: `trpo_step`
#
# Direction and length. A `Batch` has `observations`, `actions` and `advantages`. All you need is imported:
# `conjugate_gradient`, `step_scale`, `backtracking`, and three helpers that put earlier lectures to work on a batch:
#
# - `surrogate_gradient(policy, theta, batch)` is $g$: `policy_gradient`;
# - `damped_fisher(policy, theta, batch, damping, fraction)` is the function $v \mapsto (F + \lambda_\text{damping} I)\, v$:
#   `fisher_vector_product` over a fraction of the states, picked by `every_kth`;
# - `objective(policy, theta, batch)` returns two things: the function `theta -> (surrogate gain, mean KL)` for
#   `backtracking`, and the old policy's mean entropy (how spread out its actions are).
#
# All three cut the batch into blocks of rows and take the mean over the blocks: a block fits into the processor's cache,
# and several ranks can share the blocks. Return the new theta and a `Report`: of the search `accepted`, `reason`, `trials`,
# `gain`, `kl` and `gain_ratio`, then the length of $g$, then that entropy. From lecture 03: with damping or without,
# $x^\top A\, x = x^\top (g - \text{residual})$.

# %% exercise="trpo_step"

# %% [markdown]
# ## Does it learn?
#
# **InvertedPendulum**: push a cart so that the pole on it stays up. Reward 1 for every step it does, at most 1,000. You know
# every line of the loop below, and its mathematics is yours: `mine.` four times.


# %%
def learn(seed, updates, steps=2000, max_kl=0.05):
    """Return mean return and explained variance of every batch, from a fresh policy on."""
    rng = np.random.default_rng(seed)
    critic, theta, log = LinearCritic(observation_size=4), None, []
    state = critic.initialise(rng)
    for update in range(updates):
        played = play("InvertedPendulum-v5", steps, theta, seed=100 * seed + update)
        e = played.episodes
        values = critic.predict(state, e.observations, e.timesteps)
        final_values = critic.predict(state, e.final_observations, (e.starts + e.lengths).astype(float))
        after = mine.next_values(values, final_values, e.last, e.terminated_steps)
        advantages, targets = mine.gae(e.rewards, values, after, e.last, 0.99, 0.97)
        batch = Batch(e.observations, played.actions, standardise(advantages))
        theta, _ = mine.trpo_step(played.policy, played.theta, batch, max_kl)
        state = critic.fit(state, e.observations, e.timesteps, targets, rng)
        log.append((e.returns.mean(), mine.explained_variance(values, targets)))
    return np.array(log)


# %% [markdown]
# A fresh policy holds the pole for about five steps. Three seeds: same code, same settings, other random numbers. After the
# last update, how many times as long does the luckiest seed hold the pole as the unluckiest?

# %% prediction="yes"
guess_ratio = 1.5

# %%
logs = np.array([learn(seed, updates=budget(12, 3)) for seed in (0, 1, 2)])
final = logs[:, -1, 0]
print("mean return at the end:", ", ".join(f"{value:.0f}" for value in final))
compare("luckiest over unluckiest seed", guess_ratio, final.max() / final.min())
updates = np.arange(1, logs.shape[1] + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.3))
for seed, (log, color, marker) in enumerate(zip(logs, (BLUE, ORANGE, GREEN), "os^")):
    left.semilogy(updates, log[:, 0], "-", marker=marker, color=color, label=f"seed {seed}")
    right.plot(updates[1:], log[1:, 1], "-", marker=marker, color=color, label=f"seed {seed}")
left.axhline(1000, color=GREY, linestyle="--", linewidth=1)
left.set(xlabel="update (2,000 steps each)", ylabel="mean return (steps upright)")
right.set(xlabel="update (2,000 steps each)", ylabel="explained variance", ylim=(None, 1))
left.legend()
right.legend()
plt.tight_layout()
plt.show()

# %% [markdown]
# The pieces learn: your functions hold a pole. But ask "how good is TRPO after so many steps?" and you get three answers,
# a factor apart.
#
# ## Bug hunt
#
# This loop comes from a well-known library, where it is right, and was fitted to our arguments. It runs, and its numbers
# look sensible. `hunt` tells the symptom; find the line, mend it in the cell, and run it again.


# %%
def suspect(rewards, values, next_values, last, discount, gae_lambda):
    T = len(rewards)
    adv = np.zeros(T)
    lastgaelam = 0.0
    for t in reversed(range(T)):
        nonterminal = 1.0 - last[t + 1] if t + 1 < T else 0.0
        error = rewards[t] + discount * next_values[t] - values[t]
        lastgaelam = error + discount * gae_lambda * nonterminal * lastgaelam
        adv[t] = lastgaelam
    return adv, adv + values


_ = hunt("gae", suspect)

# %% [markdown] solution="only"
# **The bug**: `last[t + 1]` for `last[t]`. OpenAI's baselines keeps a mask of the *first* step of each episode, and the
# mask of $t + 1$ tells whether $t$ was the last. With a mask of *last* steps the border moves one step back: the last
# action is credited with the next episode, and those before it never hear of the last surprise, often the one that
# matters (the fall). TRPO of stable-baselines had exactly this bug (its issue 385, 2019).

# %% [markdown]
# ## Five seeds, recorded
#
# A claim about an algorithm is a claim about all seeds. So two tasks of Frans & Hafner (2016) were recorded with whole
# episodes, as in this lecture (`--preset episodes`), five seeds each: Reacher, and **Swimmer**, a chain of three links in a thick fluid, paid for moving forward,
# 1,000 steps an episode. It has to look far ahead: its discount is 0.9999.

# %%
table = np.genfromtxt(recorded("05_seeds.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
about = json.loads(recorded("05_seeds.json").read_text())
print(f"{about['command']}: {about['date'][:10]}, {about['machine']}, {about['cores']} cores, one process a run")
print("as in:", about["runs"][-1])


def column(env, name):
    """Return a column of the recorded runs of a task, (seeds, updates)."""
    return np.array([table[name][(table["env"] == env) & (table["seed"] == seed)] for seed in about["seeds"]])


def mean_interval(runs, resamples=2000):
    """Return the limits of the 95 % bootstrap interval of the mean over seeds."""
    draws = bootstrap((runs,), np.mean, method="percentile", n_resamples=resamples, rng=np.random.default_rng(0))
    return draws.confidence_interval


steps = column("Reacher-v5", "env_steps")[0]  # the same in every run
reacher, swimmer = (column(env, "mean_return") for env in ("Reacher-v5", "Swimmer-v5"))
half, end = swimmer[:, 25:35].mean(axis=1), swimmer[:, -10:].mean(axis=1)  # ten updates, against one batch's luck
for name, runs in (("Reacher, end", reacher[:, -10:].mean(axis=1)), ("Swimmer, half", half), ("Swimmer, end", end)):
    low, high = mean_interval(runs)
    print(f"{name:13s}: seeds {np.sort(runs).round(1)}, mean {runs.mean():.1f}, 95 % interval {low:.1f} to {high:.1f}")

# %% [markdown]
# The interval comes from the **bootstrap** (the statistician's; no relation to the one above): draw five of the five
# seeds with replacement, take their mean, do so thousands of times, and keep the middle 95 % of these means. It says where
# the mean over *all* seeds may lie; single runs spread wider.
#
# Beside the records we put live runs of three other Reacher seeds, shorter (`train` starts two processes each; lecture 07
# says how), and the author's own numbers: one actor, 20,000 steps/update, max KL 0.001, typed in from the logs in his
# repository (`kvfrans/parallel-trpo`, folder `results`). They are single runs, on version 1 of tasks that are now at
# version 5: Reacher's observation has lost an entry since, and its distance is taken after the step, not before.
# **Compare shapes, not levels.**

# %%
live = [
    train(2, "--preset", "episodes", "--env", "Reacher-v5", "--seed", seed, "--total-steps", length)
    for seed, length in zip((10, 11, 12), budget((30_000, 30_000, 100_000), (10_000,)))
]
his_steps = 20_000 * np.array([0, 10, 20, 40, 60, 80, 100, 120, 140, 160, 180])
his_reacher = [-103.6, -74.5, -52.7, -27.4, -15.8, -10.0, -7.1, -5.4, -5.1, -4.7, -4.5]
his_swimmer = [
    [2.0, 36.6, 34.1, 37.7, 40.0, 46.6, 47.7, 62.3, 41.4, 60.9, 68.2],
    [-0.1, 22.7, 34.7, 38.2, 38.5, 44.5, 43.2, 47.6, 56.2, 71.2, 82.3],
]

# %%
figure, ((ours, ours_too), (his, his_too)) = plt.subplots(2, 2, figsize=(9, 5.2))
for axis, runs in ((ours, reacher), (ours_too, swimmer)):
    axis.plot(steps / 1e3, runs.T, color=BLUE, linewidth=0.7, alpha=0.6)
    axis.fill_between(steps / 1e3, *mean_interval(runs), color=BLUE, alpha=0.25, label="95 % interval of the mean")
    axis.plot(steps / 1e3, runs.mean(axis=0), color=BLUE, linewidth=2, label="mean of five seeds (thin: each)")
for number, run in enumerate(live):
    label = "live, other seeds" if number == 0 else None
    ours.plot(run.columns()["env_steps"] / 1e3, run.columns()["mean_return"], color=RED, label=label)
his.plot(his_steps / 1e3, his_reacher, "o-", color=ORANGE, label="one run")
for number, (run, color) in enumerate(zip(his_swimmer, (ORANGE, PURPLE)), start=1):
    his_too.plot(his_steps / 1e3, run, "o-", color=color, label=f"run {number}")
titles = ("Reacher-v5, ours", "Swimmer-v5, ours", "Reacher-v1, Frans 2016", "Swimmer-v1, Frans 2016")
for axis, title in zip((ours, ours_too, his, his_too), titles):
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=title)
    if axis is not ours_too:  # the legend of its neighbour holds
        axis.legend(loc="lower right")
plt.tight_layout()
plt.show()

# %% [markdown]
# Mind the x-axes: his are twelve times as long. Reacher has one shape, twice: steep, a knee, a long tail, and seeds that
# agree all the way. Swimmer jumps to about 35, waits, then climbs, every run in its own way: our seeds part half-way and
# meet again; his two part as well. As numbers:


# %%
def first_above(steps, returns, level):
    """Return the steps at which the return first reaches a level."""
    return f"{int(steps[np.argmax(np.array(returns) >= level)]):,}"


for whose, x, runs in (("his", his_steps, [his_reacher]), ("ours", steps, reacher)):
    ways = [first_above(x, run, (run[0] + run[-1]) / 2) for run in runs]
    print(f"Reacher, steps until half of the way up, {whose}: {'; '.join(ways)}")
for whose, x, runs in (("his", his_steps, his_swimmer), ("ours", steps, swimmer)):
    print(f"Swimmer, steps until a return of 60, {whose}: {'; '.join(first_above(x, run, 60) for run in runs)}")

# %% [markdown]
# ## What a spread means for claims
#
# Two teams train on Swimmer for 150,000 steps, with the same code and two seeds each. The better one announces an
# improvement. Our five seeds can be dealt to two such teams in 15 ways:

# %%
pairs = list(combinations(range(5), 2))
deals = [(a, b) for a, b in combinations(pairs, 2) if not set(a) & set(b)]
for when, runs in (("150,000", half), ("300,000", end)):
    ratios = np.array([runs[list(a)].mean() / runs[list(b)].mean() for a, b in deals])
    percent = 100 * (np.maximum(ratios, 1 / ratios) - 1)
    print(f"after {when} steps: median 'improvement' {np.median(percent):.0f} %, largest {percent.max():.0f} %")

# %% [markdown]
# All of it is luck. Henderson et al. (2018) split ten runs of TRPO on HalfCheetah into two groups of five and got two curves
# that look like two algorithms. So draw an interval. But is a 95 % interval from *five* seeds what it says? Imagine
# normally distributed results; take five, compute the interval as above; repeat. In what fraction of these experiments
# does the interval contain the true mean?

# %% prediction="yes"
guess_coverage = 0.95

# %%
worlds = np.random.default_rng(2).standard_normal((5, budget(1000, 300)))  # a column is an experiment; true mean 0
low, high = mean_interval(worlds, resamples=1000)
compare("fraction of '95 %' intervals that contain the truth", guess_coverage, np.mean((low <= 0) & (high >= 0)))

# %% [markdown]
# Five numbers say little about the tails they come from, and the bootstrap believes them. So: at least five seeds;
# show single runs; say what a band is (an interval of the mean, one standard deviation, best to worst: papers use all
# three); say *when* you looked; believe no difference that your own seeds can produce among themselves.
#
# ## See it move
#
# The longest live run, playing its most probable actions, time from left to right. Where is the dot, and where does the tip
# of the arm go?

# %%
try:
    movie = film(live[-1], seed=1, limit=50, frames=25, pictures=7)
    pictures = plt.imread(movie.filmstrip).reshape(240, 7, 240, 3)
    figure, axis = plt.subplots(figsize=(9.5, 1.5))
    axis.imshow(np.clip(1.5 * pictures[75:175, 1:, 55:185], 0, 1).reshape(100, -1, 3))  # cropped and brighter
    axis.axis("off")
    plt.show()
    noisy = live[-1].columns()["mean_return"][-1]
    print(f"return {movie.episode_return:.1f}; with its noise the policy earned {noisy:.1f} in the last update")
except BadInput as reason:
    print(f"no pictures here: {reason}")

# %% [markdown]
# The arm folds, so that its tip stays near the middle, close to dots on average; settling on *the* dot is the long tail of the
# curve. And the most probable actions earn far more than those with noise: a good part of the climb is noise given up, since
# noise costs effort. A return tells you neither; a film does.
#
# ## What was claimed, and what we saw
#
# Before we judge: did the line search have anything to do in the recorded runs?

# %%
for env in ("Reacher-v5", "Swimmer-v5"):
    trials, kl = column(env, "line_search_steps"), column(env, "kl")
    print(f"{env}: the full step was taken in {100 * np.mean(trials == 1):.0f} % of the updates")
    if np.any(trials == 2):  # 0.7 of a step has about 0.49 of its KL
        print(f"  where it was refused, its KL was about {np.median(kl[trials == 2]) / 0.7**2:.4f}; the limit is 0.01")

# %% [markdown]
# - *Frans's post (2016)* recommends TRPO for doing well on many tasks. We saw three, and it did. But half-way on
#   Swimmer the same code supports opposite claims, and neither paper nor post says how many runs a curve stands for; the logs
#   have one or two.
# - *Levels.* His Reacher starts at -104, ours at -61. Version 1 charged for the squared action as the policy chose it: two
#   joints, 50 steps, unit noise make 100. Ours clips actions to [-1, 1] first, which leaves 52. His Swimmer runs
#   end at 72 and 106, ours above 300: with discount 0.99 most implementations stay between 30 and 130, with 0.9999 the RL Zoo
#   of stable-baselines reports about 360. That is the discount's doing.
# - *Speed.* We are half-way in a fifth of his steps, above all because we allow ten times the KL, four times as often. His own
#   sweeps point there (lecture 09). Bolder settings, no better algorithm.
# - *Frans & Hafner (2016)* estimate $Q$ by Monte Carlo, $\lambda = 1$: sound with 20,000 steps to average over. With fewer
#   steps and a better critic a smaller $\lambda$ is.
# - *Their code* runs the line search, then takes the full step regardless. On Swimmer ours never refused it, on
#   Reacher about every second time, for a KL hardly above the limit. Such a bug does not show in a learning curve. It
#   shows in a check.
#
# **Next**: lecture 06 asks where the time goes.
