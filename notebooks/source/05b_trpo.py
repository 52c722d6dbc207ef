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
# # 05b TRPO, end to end
#
# **Do the pieces, put together, learn?**
#
# <!-- loop: advantages, gradient, fisher, direction, search, critic -->
#
# You have a gradient (01), a direction (02, 03), a length (04) and advantages (05a). Today they become one update and a
# loop. Then you ask whether another seed would have learned, too.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `trpo_step` | `minitrpo/trpo.py` | Frans & Hafner 2016, Algorithm 1, line 6; TRPO paper, appendix C |
# | the loop around it | `minitrpo/algorithms/trpo.py` | Frans & Hafner 2016, Algorithm 1 |
#
# *90 minutes in class: program and pseudocode 12, exercise 23, three seeds 9, two starts 10, bug hunt 6, four questions 8,
# claims 16, film and quiz 6. The notebook runs in 22 s. You need: lectures 01 to 05a.*

# %%
import os
from itertools import combinations

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import bootstrap

import minitrpo
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from minitrpo.course.classroom import budget, compare, play, recorded, reveal, show_film, temporary_runs
from minitrpo.course.classroom import train as train_on_ranks
from minitrpo.course.core import your_core
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.critics import LinearCritic
from minitrpo.line_search import backtracking, step_scale
from minitrpo.natural_gradient import every_kth
from minitrpo.policies import Array, Policy
from minitrpo.advantages import standardise
from minitrpo.course.statistics import half_interval, mean_interval
from minitrpo.trpo import Batch, Report, damped_fisher, objective, report_of, surrogate_gradient

# %% [markdown]
# ## One program, one file
#
# `mpi_scripts/trpo_in_one_file.py` is the whole algorithm in 200 lines, without this package. (It deals the episodes out to the
# ranks in turn; the paper's pool, from which a free rank takes the next, is the subject of lecture 07b.) After this lecture you will
# understand every line of its mathematics; the lines with `comm`, messages between processes, are those of lecture 07a. These are ten
# of its runs. A **seed** is the number that decides all random numbers of a run. **Reacher** is an arm of two joints that
# should bring its tip to a dot: each of 50 steps costs the distance and the squares of the torques.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
page = np.genfromtxt(recorded("05_one_file.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
_, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="tight")
for axis, env in zip(axes, ("CartPole-v1", "Reacher-v5")):
    for seed, color in enumerate((BLUE, ORANGE, GREEN, PURPLE, RED)):
        one = page[(page["env"] == env) & (page["seed"] == seed)]
        axis.plot(one["env_steps"] / 1e3, one["mean_return"], color=color, linewidth=1.2, label=f"seed {seed}")
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=env)
axes[0].axhline(500, color=GREY, linestyle=":")
axes[0].text(0, 505, "the most there is", color=GREY, va="bottom", fontsize=10)
axes[0].set_ylim(0, 550)
axes[1].legend()
plt.show()

# %% [markdown]
# <small>Recorded with `recorded/one_file.py`. CartPole ends at 230 (seed 4) to 500: returns can fall again, since the KL
# limit bounds a step and does not guarantee a rise. Reacher begins at -23 here and at -61 in the figure further below: here the
# policy begins with a standard deviation of 0.37, there of 1, and random torques cost. Other settings differ, too.</small>
#
# ## One iteration: equations and pseudocode
#
# **Key equations.** A batch has $N$ steps, $L$ is the surrogate, $M = F + \text{damping}\, I$, and $\delta$ is the KL limit
# (`max_kl`). $\theta'$ is a candidate for the new $\theta$, and $\lambda$ is lecture 05a's.
#
# $$e_t = r_t + \gamma V(s_{t+1}) - V(s_t), \qquad A_t = e_t + \gamma \lambda\, A_{t+1}$$
#
# $$L(\theta') = \frac1N \sum_t \frac{\pi_{\theta'}(a_t|s_t)}{\pi_\theta(a_t|s_t)}\, A_t, \qquad g = \nabla L(\theta), \qquad M x = g$$
#
# $$\beta = \sqrt{\frac{2 \delta}{x^\top M x}}, \qquad \theta' = \theta + 0.7^k\, \beta\, x, \qquad \mathrm{KL}(\pi_\theta \,\|\, \pi_{\theta'}) \le \delta$$
#
# **Pseudocode.** The right column names lecture and function in the program. Rows with a `>` are exercise 1. *Ranks* are
# processes (lecture 07b).
#
# ```text
# given: policy theta, critic V, limit delta
#
#   play        the ranks play episodes with pi_theta,          01 play
#                   N steps in all
#   advantages  for each episode, from its end to its start:    05a advantages
#                   e = r + gamma V(next state) - V(state)
#                   A = e + gamma lambda (A of the next step)
#               the target of V is A + V(state);
#               then standardise all A
# > gradient    g = mean of A_t grad log pi_theta(a_t | s_t)    01 grad(surrogate)
# > direction   x = 10 iterations of conjugate gradient         03 conjugate_gradient
#                   on M x = g, which needs only products
#                   v -> F v + damping v                        02 product
# > length      full step = sqrt(2 delta / x^T M x) x           04 trpo_step
# > search      for k = 0 to 9 (in the package 0 to 11):        04 trpo_step
#                   theta' = theta + 0.7^k (full step)
#                   stop if KL(theta || theta') <= delta
#                       and L(theta') > L(theta)
#               if no trial passes: theta' = theta
#   critic      fit V to the targets, for the next batch        05a np.linalg.solve
#               theta = theta'
# ```
#
# Open the program next to this cell and find each row in it. Then run it in a terminal:
#
#     ./run mpiexec -n 2 python -m mpi4py mpi_scripts/trpo_in_one_file.py --env CartPole-v1
#
# ### Exercise 1: `trpo_step`
#
# Write the rows with a `>`. A `Batch` has the `observations`, `actions` and `advantages` of $N$ steps; a `Report` is what the
# log says of an update. These helpers of the package apply the functions of lectures 01 to 04 to
# a whole batch:
#
# | call | returns | lecture |
# |---|---|---|
# | `surrogate_gradient(policy, theta, batch)` | $g$ | 01 |
# | `damped_fisher(policy, theta, batch, damping, fraction)` | the function $v \mapsto M v$, with $F$ from a fraction of the states | 02 |
# | `conjugate_gradient(product, g, iterations)` | $x$ and the residual $g - M x$ | 03 |
# | `step_scale(max_kl, curvature)` | $\beta$ | 04 |
# | `objective(policy, theta, batch)` | *two* things: the function `theta -> (surrogate gain, mean KL)`, and the old policy's mean entropy | 04 |
# | `backtracking(evaluate, theta, full_step, expected_gain, max_kl)` | a `LineSearch`; its `theta` is where the search ended | 04 |
# | `report_of(search, g, entropy)` | the `Report` for the log | given |
#
# The curvature $x^\top M x$ needs no further product: $M x = g - \text{residual}$. The gain expected of the full step is
# $g^\top \text{full step}$.

# %% exercise="trpo_step"

# %% [markdown]
# ## Does it learn?
#
# **InvertedPendulum**: push a cart so that the pole on it stays up. Each step upright has reward 1, and an episode has at most
# 1,000 steps. The loop below follows the pseudocode. `mine.trpo_step` is your function, once its check has passed. The functions of
# earlier lectures, such as `mine.gae`, are the package's here: what you wrote there stays in that notebook. The critic also gets
# the number of the step within its episode. A *fragment* is a piece of an episode: its last state has the number of its first
# step plus its length.
#
# *You should know*: `minitrpo.train` also runs an **observation filter**, which scales each entry by its running mean and
# standard deviation. It changes only between updates. This loop works without one.


# %%
def with_advantages(critic, state, episodes):
    """Return values, advantages and targets of a batch of episodes, by the critic before its next fit."""
    values = critic.predict(state, episodes.observations, episodes.timesteps)
    final_number = (episodes.starts + episodes.lengths).astype(float)
    final_values = critic.predict(state, episodes.final_observations, final_number)
    after = mine.next_values(values, final_values, episodes.last, episodes.terminated_steps)
    return values, *mine.gae(episodes.rewards, values, after, episodes.last, 0.99, 0.97)


def learn(seed, updates, steps=2000, max_kl=0.05, first_theta=None):
    """Return mean return and explained variance of every batch, (updates, 2), theta after every update, and the batches."""
    rng = np.random.default_rng(seed)
    critic, theta, log, thetas, batches = LinearCritic(observation_size=4), first_theta, [], [], []
    state = critic.initialise(rng)
    for update in range(updates):
        played = play("InvertedPendulum-v5", steps, theta, seed=100 * seed + update)  # a fresh policy if theta is None
        episodes = played.episodes
        values, advantages, targets = with_advantages(critic, state, episodes)
        batch = Batch(episodes.observations, played.actions, standardise(advantages))
        theta, _ = mine.trpo_step(played.policy, played.theta, batch, max_kl)
        samples = {"observations": episodes.observations, "timesteps": episodes.timesteps, "targets": targets}
        state = critic.fit(state, samples, rng)
        log.append((episodes.returns.mean(), mine.explained_variance(values, targets)))
        thetas.append(theta)
        batches.append(batch)
    return np.array(log), np.array(thetas), batches


UPDATES = budget(12, 3)
updates = np.arange(1, UPDATES + 1)
learned = [learn(seed, UPDATES) for seed in (0, 1, 2)]

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="tight")
for seed, ((curve, *_), color, marker) in enumerate(zip(learned, (BLUE, ORANGE, GREEN), "os^")):
    label = f"seed {seed}: ends at {curve[-1, 0]:.0f}"
    left.semilogy(updates, curve[:, 0], "-", marker=marker, color=color, label=label)
    right.plot(updates[1:], curve[1:, 1], "-", marker=marker, color=color)
left.axhline(1000, color=GREY, linestyle="--", linewidth=1)
left.text(1, 1120, "1,000 steps: the longest episode", color=GREY, fontsize=9)
left.set(xlabel="update (2,000 steps each)", ylabel="mean return (steps upright)", ylim=(None, 1900))
left.set_title("three seeds")
right.set(xlabel="update (2,000 steps each)", ylabel="explained variance", ylim=(None, 1))
right.set_title("the critic, same seeds")
left.legend()
plt.show()
print("mean return of the first batch:", ", ".join(f"{curve[0, 0]:.1f}" for curve, *_ in learned))
print("mean return of the last batch: ", ", ".join(f"{curve[-1, 0]:.0f}" for curve, *_ in learned))
for seed, (curve, *_) in enumerate(learned):
    k = 1 + int(np.argmin(curve[1:, 1]))  # counted from 0; the first batch comes before the critic's first fit
    jump = f"the mean return went from {curve[k - 1, 0]:.0f} to {curve[k, 0]:.0f}"
    print(f"seed {seed}: the critic explains least, {curve[k, 1]:.2f}, at update {k + 1}, where {jump}")

# %% [markdown]
# A fresh policy holds the pole for a few steps, and a batch is 2,000 steps, so a mean return of 1,000 in the last batch is two
# episodes that reached the time limit. The curves of your neighbour may look quite different from yours, even with the same
# code: the next section shows why.
#
# The **explained variance** (05a) is the part of the targets' variance that the critic predicts; 1 is perfect. The panel begins
# at update 2, because the critic predicts 0 until its first fit. The printed lines name the update at which the critic of each
# seed explains least, and what the returns did there. Where returns jumped, the critic had been fitted to much shorter episodes,
# so its predictions are too low. Where they did not jump, this is not the cause: a critic that was fitted to one noisy batch can
# also be wrong about the next.
#
# How good is TRPO after 24,000 steps? Compare the three numbers of the last batch: three seeds, with the same code and settings,
# give three answers.
#
# ## One seed, two starts
#
# Now we run seed 1 once more: same code, same random numbers, same machine. Only the first theta is multiplied by
# $1 + 10^{-15}$: the last digit or two of each weight change. After the last update, how far apart are the two thetas, as a
# fraction of their length?

# %% prediction="yes"
guess_apart = 1e-14  # distance of the two thetas / length of theta

# %%
begin = play("InvertedPendulum-v5", steps=1, seed=100)  # where seed 1 begins
twin_log, twin_thetas, _ = learn(1, UPDATES, first_theta=begin.theta * (1 + 1e-15))
seed_1, thetas_1, batches_1 = learned[1]
apart = np.linalg.norm(thetas_1 - twin_thetas, axis=1) / np.linalg.norm(thetas_1, axis=1)
apart_3 = {}  # after update 3 alone: one batch, the two thetas from before it, some iterations of conjugate gradient
for iterations in (1, 2, 3, 5, 10):
    one, other = (
        mine.trpo_step(begin.policy, t[1], batches_1[2], 0.05, iterations)[0] for t in (thetas_1, twin_thetas)
    )
    apart_3[iterations] = np.linalg.norm(one - other) / np.linalg.norm(one)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_twins():
    """Print how far apart the twins ended; draw their returns, and the distance between their parameters."""
    compare("distance of the thetas / length", guess_apart, apart[-1])
    print(f"mean returns of the last batch: {seed_1[-1, 0]:.1f} and {twin_log[-1, 0]:.1f}")
    print(f"update 3, with the same batch for both: the distance is {apart[1]:.0e} before it, and after it,")
    print("by iterations of conjugate gradient:", ", ".join(f"{n}: {far:.0e}" for n, far in apart_3.items()))
    few, ten = (apart_3[n] / apart[1] if apart[1] > 0 else np.nan for n in (2, 10))
    print(f"so this update multiplies the distance by {few:.2g} with two iterations and by {ten:.2g} with ten")
    growth = apart[1:] / np.maximum(apart[:-1], 1e-300)
    k = int(np.argmax(growth))
    print(f"of all updates, number {k + 2} multiplies it most: from {apart[k]:.0e} to {apart[k + 1]:.0e}")
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="tight")
    left.semilogy(updates, seed_1[:, 0], "s-", color=ORANGE, label="seed 1")
    left.semilogy(updates, twin_log[:, 0], "v--", color=PURPLE, label="seed 1, moved by 1e-15")
    right.semilogy(updates, apart, "o-", color=RED)
    left.set(xlabel="update (2,000 steps each)", ylabel="mean return (steps upright)")
    right.set(xlabel="update (2,000 steps each)", ylabel="distance of the two thetas / length", ylim=(1e-16, 1))
    left.legend()
    plt.show()


reveal(guess_apart, show_twins)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# If the distance that you measured is far above 1e-15, the difference in the last digit has grown from update to update, until the
# two runs have nothing in common. (If yours is still tiny after the last update, this took longer than twelve updates.) Two things
# magnify it.
#
# - **Conjugate gradient.** Each iteration computes its direction from the residual of the last one, and magnifies its rounding.
#   The printed lines test this at update 3, where both thetas get the same batch. On some processors ten iterations multiply the
#   distance by a hundred thousand or more there. On others they hardly change it, because the products $F v$ are computed in
#   single precision, in which both thetas are the same numbers; then the growth begins in a later update. The right panel and the
#   last printed line show where it begins on your machine.
# - **The environment.** Once two actions differ, a pole falls in one run and not in the other. One episode becomes longer, and
#   from then on the two batches differ.
#
# **Rounding acts like one more seed.** Nothing is broken. Another processor adds in another order, so your curves differ from
# your neighbour's. Reproducible code fixes the order of its sums (lecture 07b).
#
# </details>
#
# ## Bug hunt
#
# This update is modelled on OpenAI's baselines, which computes the curvature from a part of the states. The library is right;
# we planted one mistake, which the default settings hide. Find the line, fix it in the cell, and run the cell again.


# %%
def suspect(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    rows = every_kth(np.arange(len(batch.advantages)), fisher_fraction)
    few = Batch(batch.observations[rows], batch.actions[rows], batch.advantages[rows])
    flat_grad = surrogate_gradient(policy, theta, few)
    fvp = damped_fisher(policy, theta, few, cg_damping, 1.0)
    direction, rest = conjugate_gradient(fvp, flat_grad, cg_iterations)
    ascent = step_scale(max_kl, float(direction @ (flat_grad - rest))) * direction
    evaluate, spread = objective(policy, theta, batch)
    found = backtracking(evaluate, theta, ascent, float(flat_grad @ ascent), max_kl)
    return found.theta, report_of(found, flat_grad, spread)


_ = hunt("trpo_step", suspect)

# %% [markdown] solution="only"
# **The bug**: the gradient is computed from `few`; it needs the whole `batch`. The Fisher matrix averages over states, and a
# part of the states estimates it well (the library takes every fifth). The gradient averages over random actions and returns,
# and it is mostly noise in a small batch. With `fisher_fraction=1.0` both batches are the same, so a test with the default
# settings finds nothing.

# %% [markdown]
# ## Why does it not learn?
#
# Here is a run with a planted fault. Ask four questions, in this order.
#
# 1. **Does the critic explain anything?** If not, advantages are as noisy as returns.
# 2. **Does the step reach its limit?** Compare the columns `kl` and `max_kl` of the log. If the KL stays far below the
#    limit, the line search or the damping shortens the steps.
# 3. **How much of the step is noise?** `noise` is the part of a step's predicted gain that is chance (lecture 09b). If it is
#    near 1, larger batches help.
# 4. **Do returns rise beyond their noise?** Compare the first and the last fifth of the run.
#
# `run.explain()` asks these and other questions; in a terminal it is `minitrpo explain RUN`.

# %%
sick = minitrpo.train(
    "CartPole-v1", total_steps=budget(20_000, 8_000), max_kl=1e-6, progress="none", out=temporary_runs() / "sick"
)
log = sick.columns()
print(f"1. explained variance, last update: {log['explained_variance'][-1]:.2f}")
print(f"2. KL of the last step: {log['kl'][-1]:.1e}, limit {log['max_kl'][-1]:.0e}")
print(f"3. noise, last measurement: {log['noise'][np.isfinite(log['noise'])][-1]:.2f}")
print("4. mean returns:", *log["mean_return"].round(1), "\n")
explained = str(sick.explain(episodes=0))  # 0: from the log alone
print(explained.replace(os.path.relpath(sick.path), "RUN"))

# %% [markdown]
# Compare the four lines with the four questions. In the recorded run on an AMD EPYC questions 1 to 3 find no cause: the critic
# explains more than half, the KL of the step is close to its limit, and only a tenth of the step is noise. Yet the returns stay
# near 20. This leaves the settings: the limit of 0.000001 is 10,000 times below the usual 0.01. `explain` compares settings with
# usual values, so it names the limit.
#
# ## Five seeds, recorded
#
# A claim about an algorithm is a claim about all seeds. So we recorded five seeds each of Reacher and of **Swimmer**, a chain
# of three links in a thick fluid that is rewarded for moving forward. Its discount of 0.9999 gives weight to rewards up to about
# 10,000 steps ahead, more than the 1,000 of an episode. A new Reacher run joins them (ten seconds). `train_on_ranks` is
# `minitrpo.train` on several processes.

# %%
table = np.genfromtxt(recorded("05_seeds.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")


def column(env, name):
    """Return a column of the recorded runs of a task, (seeds, updates)."""
    return np.array([table[name][(table["env"] == env) & (table["seed"] == seed)] for seed in np.unique(table["seed"])])


steps = column("Reacher-v5", "env_steps")[0]  # the same in every run
reacher, swimmer = (column(env, "mean_return") for env in ("Reacher-v5", "Swimmer-v5"))
options = ("--preset", "episodes", "--env", "Reacher-v5", "--seed", 12, "--total-steps", budget(100_000, 10_000))
live = train_on_ranks(2, *options)  # two processes share the episodes: lecture 07b

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.1), layout="constrained")
for axis, runs, title in zip(axes, (reacher, swimmer), ("Reacher-v5", "Swimmer-v5, discount 0.9999")):
    mean, width = runs.mean(axis=0), half_interval(runs)
    axis.fill_between(steps / 1e3, mean - width, mean + width, color=BLUE, alpha=0.2, label="95 % interval of the mean")
    for number, one in enumerate(runs):
        axis.plot(steps / 1e3, one, color=BLUE, linewidth=0.8, label=None if number else "each of five seeds")
    axis.plot(steps / 1e3, mean, color=BLUE, linewidth=2.5, label="their mean")
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=title)
axes[0].plot(live.columns()["env_steps"] / 1e3, live.columns()["mean_return"], "o", color=ORANGE, label="live, seed 12")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()

# %% [markdown]
# <small>Recorded with `recorded/training.py`, `--preset episodes`. The bands are Student's intervals (explained below).</small>
#
# Reacher's seeds agree so closely that five lines, their mean and the band look like one line. Swimmer's differ by 206 at 140,000
# steps. At the end four have more than 320, and one has 101.
#
# ## What a spread means for claims
#
# Two teams train on Swimmer for 150,000 steps, with the same code and two seeds each, and report the mean of the last ten
# updates. The better team announces its improvement, in per cent of the other team's mean. Our five seeds can be dealt to two
# such teams in 15 ways (one seed is left over). How large is the median "improvement"?
#
# The **bootstrap interval** draws five times, with replacement, from the five results, takes the mean, repeats this a thousand
# times, and keeps the middle 95 % of the means. Its **coverage** is the fraction of experiments in which it contains the true
# mean. What is the coverage for five normally distributed results?

# %% prediction="yes"
guess_improvement = 10  # per cent
guess_coverage = 0.95  # fraction of experiments

# %%
half, end = swimmer[:, 20:30].mean(axis=1), swimmer[:, -10:].mean(axis=1)  # up to 150,000 and 300,000 steps
pairs = list(combinations(range(5), 2))
deals = [(a, b) for a, b in combinations(pairs, 2) if not set(a) & set(b)]
worlds = np.random.default_rng(2).standard_normal((5, budget(1000, 300)))  # a column is an experiment; true mean 0
limits = bootstrap((worlds,), np.mean, method="percentile", n_resamples=1000, rng=np.random.default_rng(0))
low, high = limits.confidence_interval
covered = np.mean((low <= 0) & (high >= 0))
by_student = np.mean(np.abs(worlds.mean(axis=0)) <= half_interval(worlds))


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_luck():
    """Print what two teams with the same code would announce, and how often an interval contains the truth."""
    for when, runs in (("150,000", half), ("300,000", end)):
        ratios = np.array([runs[list(a)].mean() / runs[list(b)].mean() for a, b in deals])
        percent = 100 * (np.maximum(ratios, 1 / ratios) - 1)
        if runs is half:
            compare("median 'improvement' of 15 deals", guess_improvement, np.median(percent), "%")
        print(f"after {when} steps: median {np.median(percent):.0f} %, largest {percent.max():.0f} %")
    compare("coverage of the bootstrap's '95 %' interval", guess_coverage, covered)
    print(f"coverage of Student's: {by_student:.2f}")
    print(f"Swimmer at 150,000 steps: {np.sort(half).round()}, mean {mean_interval(half):.0f} (Student, 95 %)")


reveal((guess_improvement, guess_coverage), show_luck)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# All of the improvement is chance. Henderson et al. (2018) split ten runs of TRPO into two groups of five, and the two mean
# curves look like two algorithms.
#
# The bootstrap interval is too narrow: its variance divides the sum of squares by 5 where 4 is unbiased, and it ignores the
# error of this variance. **Student's** interval corrects both. It is the mean $\pm\, t\, \sigma / \sqrt n$, where $\sigma$ divides
# by $n - 1$, and $t$ is 2.78 for $n = 5$ instead of the normal distribution's 1.96. **Welch's** interval is the same for the
# difference of two means whose spreads differ. Where it contains 0, the course writes "no significant difference".
# This does not mean "equal": the interval says how large the difference may be, in either direction.
#
# </details>
#
# So use at least five seeds, show single runs, say what a band is, and say after how many steps you compared.
#
# ## See it move
#
# A return does not say what the arm does. A film does. This is the live run, with the most probable actions. In training it
# drew its actions at random, and large random torques cost: compare the mean return in training with that of the film.

# %%
print(f"mean return in training, last five updates: {live.columns()['mean_return'][-5:].mean():.1f}")
show_film(live, steps=50)

# %% [markdown]
# ## Your own functions train
#
# `learn` above is a short program. The trainer of the package has more: an observation filter, a pool of processes, logs,
# checkpoints. It can run with *your* functions in the place of its own. The next cell looks through the saved notebooks in this
# folder, runs the check of every exercise that an update of TRPO consists of, and collects the functions that pass in one
# file. Then it trains on CartPole with that file, by `minitrpo.train(..., core=folder)`. A function that you have not written yet is the package's. (If the cell finds
# no function of yours, it trains with the versions of the package that the lectures teach, which differentiate by autograd.)

# %%
folder = your_core(".")
settings = {"core": str(folder)} if folder else {"derivatives": "autograd"}
own = minitrpo.train(
    "CartPole-v1", total_steps=budget(10_000, 4_000), progress="none", out=temporary_runs() / "own", **settings
)
print("mean return:", *own.columns()["mean_return"].round(0))

# %% [markdown]
# In a terminal the same are two commands. They assume that your notebooks are in the folder `my`, where `make lab` puts them:
#
# ```sh
# ./run minitrpo core my
# ./run python mpi_scripts/train.py --core my --env CartPole-v1
# ```
#
# The first one writes `my/core.py`, a module that you can read and change, and says of each function whether it is used or why not.
# A note at the beginning of the run repeats which functions are yours. If one of them raises an exception, the message names the
# function, its lecture and its line. In lecture 08 your functions train on several ranks.
#
# ## Quiz
#
# **1.** A classmate uses `x @ g` where you have `x @ (g - residual)`, after ten iterations, far from converged. Who is right?
#
# <details><summary>Answer</summary>
#
# Both. The residual of conjugate gradient is orthogonal to $x$. A common wrong answer: "only the one with the residual, since
# $M x \neq g$".
#
# </details>
#
# **2.** The same code with the same seed ends at 194 on your machine and at 146 on your friend's. What is broken?
#
# <details><summary>Answer</summary>
#
# Nothing. Two processors add in different orders, and learning magnifies that. A common wrong answer: "a seed makes a run
# reproducible". It makes the random *numbers* reproducible.
#
# </details>
#
# **3.** Five seeds of method A and five of B: the means differ by 20 %, and the 95 % intervals overlap a little. Is A better?
#
# <details><summary>Answer</summary>
#
# You do not know yet. Overlapping intervals do not show that the methods are equal. Compute Welch's interval of the
# *difference*, or run more seeds, of a number fixed *before* looking. A common wrong answer: "twenty per cent is a lot". Half
# of your 15 deals had more, without any difference.
#
# </details>
#
# ## Summary
#
# - An iteration plays, computes advantages, steps (gradient, direction, length, search: `trpo_step`), and fits the critic.
# - It learns from rewards alone, with your `trpo_step`.
# - A change in the last digit becomes another run. One seed supports no claim.
# - With five seeds, use Student's interval of the mean and Welch's of a difference.
# - Ask four questions of a run that does not learn: critic, limit, noise, returns. Then look at its settings.
#
# ## Open questions
#
# 1. Run `learn` with `max_kl` of 0.005, 0.05 and 0.5, three seeds each. Plot the mean return against updates. Explain in three
#    sentences which limit you would choose, and what your seeds do not let you say.
# 2. Plant a fault of your own in `minitrpo.train` on CartPole (a setting, not the code). Plot its returns next to a healthy
#    run's. Explain in three sentences which of the four questions finds the fault, and why the others do not.
#
# **Next**: lecture 06 asks where the time goes.
