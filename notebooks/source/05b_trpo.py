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
# <!-- loop -->
#
# You have a gradient (01), a direction (02, 03), a length (04) and a judge of actions (05a). Today they become one update, and
# the update becomes a loop. Then comes the awkward question: would it have learned with another seed?
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `trpo_step` | `minitrpo/trpo.py` | Frans & Hafner 2016, Algorithm 1, line 6; TRPO paper, appendix C |
# | the loop around it | `minitrpo/algorithms/parallel_trpo.py` | Frans & Hafner 2016, Algorithm 1 |
#
# *About 90 minutes in class with the exercise; it runs in a minute. You need: lectures 01 to 05a.*

# %%
import json
from itertools import combinations

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import bootstrap

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from minitrpo.course.classroom import budget, compare, play, recorded, reveal, show_film, train
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.critics import LinearCritic
from minitrpo.experience.environments import make
from minitrpo.line_search import backtracking, step_scale
from minitrpo.policies import Array, Policy
from minitrpo.returns import standardise
from minitrpo.course.statistics import half_interval, mean_interval
from minitrpo.commands.watch import Player
from minitrpo.trpo import Batch, Report, damped_fisher, objective, report_of, surrogate_gradient

# %% [markdown]
# ## The whole update
#
# | step | what | lecture |
# |---|---|---|
# | play | episodes with $\pi_\theta$, until there are enough steps | 01 |
# | judge | `next_values`, `gae` with the critic as it is; `standardise` to mean 0, standard deviation 1 | 05a |
# | direction | gradient $g$; $x$ with $(F + \text{damping}\, I)\, x = g$ by conjugate gradient | 01, 02, 03 |
# | length | $\sqrt{2 \delta \,/\, x^\top (F + \text{damping}\, I)\, x}$, then back until KL and gain are right | 04 |
# | learn | fit the critic to the targets | 05a |
# | look | merge what was seen into the observation filter | today |
#
# $\delta$ is the KL limit, `max_kl` in code. `trpo_step` is the third and the fourth line.
#
# ### Exercise 1: `trpo_step`
#
# A `Batch` has `observations`, `actions` and `advantages`. There is nothing new to invent; every line calls something you
# have written. Three helpers put earlier lectures to work on a whole batch, block by block of its rows, since a block fits
# into the processor's cache:
#
# | call | returns | lecture |
# |---|---|---|
# | `surrogate_gradient(policy, theta, batch)` | $g$ | 01 |
# | `damped_fisher(policy, theta, batch, damping, fraction)` | the function $v \mapsto (F + \text{damping}\, I)\, v$, over a fraction of the states | 02 |
# | `conjugate_gradient(product, g, iterations)` | $x$ and the residual $g - (F + \text{damping}\, I)\, x$ | 03 |
# | `step_scale(max_kl, curvature)` | the factor that makes $x$ the full step | 04 |
# | `objective(policy, theta, batch)` | *two* things: the function `theta -> (surrogate gain, mean KL)`, and the old policy's mean entropy (how spread out its actions are) | 04 |
# | `backtracking(evaluate, theta, full_step, expected_gain, max_kl)` | a `LineSearch`; its `theta` is where the search ended | 04 |
# | `report_of(search, g, entropy)` | the `Report` for the log | given |
#
# The curvature is $x^\top (F + \text{damping}\, I)\, x$. One more product would give it. But what that product would return is
# known: the residual says by how much it misses $g$, so it is $g - \text{residual}$, and the curvature is
# $x^\top (g - \text{residual})$. (`x @ g` is right, too: conjugate gradient leaves a residual at right angles to all it has
# walked along, so $x^\top \text{residual} = 0$ but for rounding.) The gain expected of the full step is what the gradient
# promises: $g^\top \text{full step}$.

# %% exercise="trpo_step"

# %% [markdown]
# Stuck? `hint("trpo_step", 1)`, and so on.
#
# ## The observation filter
#
# The last row of the table is new. What does a policy see? The spread of each entry of Reacher's observation, with a fresh
# policy:

# %%
seen = play("Reacher-v5", steps=500).episodes.observations
print("Reacher:         ", seen.std(axis=0).round(2))
print("InvertedPendulum:", play("InvertedPendulum-v5", steps=500).episodes.observations.std(axis=0).round(2))

# %% [markdown]
# Cosines and sines of angles lie below 1, velocities near 10, and a network likes neither next to the other: the large ones
# drown the small. The **observation filter** takes the running mean off each entry and divides by the running standard
# deviation. It changes what the policy sees, so the *same* theta with another filter is another policy. Therefore it stands
# still while a batch is played and judged, and moves between updates.
#
# `train` uses one. The loop below goes without: it balances a pole, and the four numbers of that task are tame.
#
# ## Does it learn?
#
# **InvertedPendulum**: push a cart so that the pole on it stays up. Reward 1 for every step it does, at most 1,000. The loop is
# the table above, row by row, and its mathematics is yours: `mine.` four times. Two lines want a word. `e.timesteps` is the
# clock of each step, which the linear critic of lecture 05a looks at. And the state *after* a fragment has a clock, too: the
# step at which the fragment started, plus its length.


# %%
def judge(critic, state, e):
    """Return values, advantages and targets of a batch of episodes, by the critic as it is."""
    values = critic.predict(state, e.observations, e.timesteps)
    clock_after = (e.starts + e.lengths).astype(float)
    final_values = critic.predict(state, e.final_observations, clock_after)
    after = mine.next_values(values, final_values, e.last, e.terminated_steps)
    return values, *mine.gae(e.rewards, values, after, e.last, 0.99, 0.97)


def learn(seed, updates, steps=2000, max_kl=0.05, first_theta=None):
    """Return mean return and explained variance of every batch, (updates, 2), and theta after every update."""
    rng = np.random.default_rng(seed)
    critic, theta, log, thetas = LinearCritic(observation_size=4), first_theta, [], []
    state = critic.initialise(rng)
    for update in range(updates):
        played = play("InvertedPendulum-v5", steps, theta, seed=100 * seed + update)  # a fresh policy if theta is None
        e = played.episodes
        values, advantages, targets = judge(critic, state, e)
        batch = Batch(e.observations, played.actions, standardise(advantages))
        theta, _ = mine.trpo_step(played.policy, played.theta, batch, max_kl)
        state = critic.fit(state, e.observations, e.timesteps, targets, rng)
        log.append((e.returns.mean(), mine.explained_variance(values, targets)))
        thetas.append(theta)
    return np.array(log), np.array(thetas)


# %% [markdown]
# A fresh policy holds the pole for about five steps. Three seeds: same code, same settings, other random numbers. After the
# last update, how many times as long does the luckiest seed hold the pole as the unluckiest?

# %% prediction="yes"
guess_ratio = 1.5  # luckiest seed / unluckiest seed

# %%
UPDATES = budget(12, 3)
learned = [learn(seed, UPDATES) for seed in (0, 1, 2)]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_three():
    """Print where the three seeds ended and draw how they got there."""
    final = np.array([log[-1, 0] for log, _ in learned])
    print("mean return at the end:", ", ".join(f"{value:.0f}" for value in final))
    compare("luckiest over unluckiest seed", guess_ratio, final.max() / final.min())
    updates = np.arange(1, UPDATES + 1)
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="tight")
    for seed, ((log, _), color, marker) in enumerate(zip(learned, (BLUE, ORANGE, GREEN), "os^")):
        left.semilogy(updates, log[:, 0], "-", marker=marker, color=color, label=f"seed {seed}")
        right.plot(updates[1:], log[1:, 1], "-", marker=marker, color=color, label=f"seed {seed}")
    left.axhline(1000, color=GREY, linestyle="--", linewidth=1)
    left.set(xlabel="update (2,000 steps each)", ylabel="mean return (steps upright)")
    right.set(xlabel="update (2,000 steps each)", ylabel="explained variance", ylim=(None, 1))
    left.legend()
    right.legend()
    plt.show()


reveal(guess_ratio, show_three)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The pieces learn: your functions hold a pole. But ask "how good is TRPO after so many steps?" and you get three answers, a
# factor apart. Do not take the factor home: it differs from processor to processor, and between two correct `trpo_step`. Why,
# is the next question.
#
# </details>
#
# ## The same seed, twice
#
# Once more seed 1: same code, same random numbers, same machine. Only the first theta is multiplied by $1 + 10^{-15}$, which
# moves each weight in its last digit or two. After the last update, by how many steps do the two mean returns differ?

# %% prediction="yes"
guess_apart = 1  # steps of mean return

# %%
begin = play("InvertedPendulum-v5", steps=1, seed=100).theta  # where seed 1 begins
log, thetas = learned[1]
twin_log, twin_thetas = learn(1, UPDATES, first_theta=begin * (1 + 1e-15))


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_twins():
    """Print where the twins ended; draw their returns, and the distance between their parameters."""
    compare("difference of the mean returns", guess_apart, abs(log[-1, 0] - twin_log[-1, 0]), "steps")
    updates = np.arange(1, UPDATES + 1)
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="tight")
    left.semilogy(updates, log[:, 0], "s-", color=ORANGE, label="seed 1")
    left.semilogy(updates, twin_log[:, 0], "v--", color=PURPLE, label="seed 1, moved by 1e-15")
    apart = np.linalg.norm(thetas - twin_thetas, axis=1) / np.linalg.norm(thetas, axis=1)
    right.semilogy(updates, apart, "o-", color=RED)
    left.set(xlabel="update (2,000 steps each)", ylabel="mean return (steps upright)")
    right.set(xlabel="update (2,000 steps each)", ylabel="distance of the two thetas / length", ylim=(1e-16, 1))
    left.legend()
    plt.show()


reveal(guess_apart, show_twins)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A difference in the last digits grows with nearly every update, at some by many orders of magnitude, until the two are two
# runs. At first the update alone magnifies it: of two gradients that differ by 1e-12 of their length, conjugate gradient made
# directions that differ by 1e-10 in the first update and by up to 3e-5 later. The world notices nothing yet. It takes
# actions in float32, of 7 digits, and both twins saw the same in their first three batches, to the bit. Then a falling
# pole magnifies every difference in the actions, and an episode that lasts one step longer makes another batch.
# **Rounding is one more seed.** Nothing is broken, and the digits of the three numbers above are as much luck as the
# seeds.
#
# That is why they differ on another machine: numpy's matrix products come from a library (OpenBLAS) that adds in another
# order on another processor. It is also why reproducible code has to fix the order of its sums (lecture 07), and why even that
# holds on one kind of machine only.
#
# </details>
#
# **Try it** (without a check): close this notebook, start Jupyter with `OPENBLAS_CORETYPE=Haswell jupyter lab`, and run it
# again up to here. On an Intel or AMD processor numpy then adds up as on a model of 2013. Which updates of the three
# seeds are the same as before, and from which on do they part?
#
# ## Bug hunt
#
# An update in the dress of a well-known course, which wrote its Fisher-vector product, damping and all, by itself. It runs,
# and it even learns. `hunt` tells the symptom; find the line, mend it in the cell, and run it again.


# %%
def suspect(policy, theta, batch, max_kl, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0):
    flat_grad = surrogate_gradient(policy, theta, batch)
    undamped = damped_fisher(policy, theta, batch, 0.0, fisher_fraction)

    def fvp(v):
        return undamped(v) + cg_damping * theta

    direction, rest = conjugate_gradient(fvp, flat_grad, cg_iterations)
    ascent = step_scale(max_kl, float(direction @ (flat_grad - rest))) * direction
    judge_it, spread = objective(policy, theta, batch)
    found = backtracking(judge_it, theta, ascent, float(flat_grad @ ascent), max_kl)
    return found.theta, report_of(found, flat_grad, spread)


_ = hunt("trpo_step", suspect)

# %% [markdown] solution="only"
# **The bug**: `cg_damping * theta` for `cg_damping * v`. The product is then no matrix times $v$ at all: it does not even
# return 0 for 0, and all that lecture 03 proved is void. Lab 4 of the Berkeley Deep RL Bootcamp (2017) hands out
# `damping * flat_params` in its `fvp`. With its damping of $10^{-8}$ nobody can see it; with 0.1 the direction is
# far off. A bug may sleep in a constant.

# %% [markdown]
# ## Five seeds, recorded
#
# A claim about an algorithm is a claim about all seeds. So two tasks of Frans & Hafner (2016) were recorded with whole
# episodes, as in this lecture (`--preset episodes`), five seeds each: Reacher, and **Swimmer**, a chain of three links in a
# thick fluid, paid for moving forward, 1,000 steps an episode. It has to look far ahead: its discount is 0.9999.

# %%
table = np.genfromtxt(recorded("05_seeds.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
about = json.loads(recorded("05_seeds.json").read_text())
print(f"{about['command']}: {about['date'][:10]}, {about['machine']}, {about['cores']} cores, one process a run")


def column(env, name):
    """Return a column of the recorded runs of a task, (seeds, updates)."""
    return np.array([table[name][(table["env"] == env) & (table["seed"] == seed)] for seed in about["seeds"]])


def bootstrap_interval(runs, resamples=2000):
    """Return the limits of the 95 % bootstrap interval of the mean over seeds."""
    draws = bootstrap((runs,), np.mean, method="percentile", n_resamples=resamples, rng=np.random.default_rng(0))
    return draws.confidence_interval


steps = column("Reacher-v5", "env_steps")[0]  # the same in every run
reacher, swimmer = (column(env, "mean_return") for env in ("Reacher-v5", "Swimmer-v5"))
half, end = swimmer[:, 25:35].mean(axis=1), swimmer[:, -10:].mean(axis=1)  # ten updates, against one batch's luck
for name, runs in (("Reacher, end", reacher[:, -10:].mean(axis=1)), ("Swimmer, half", half), ("Swimmer, end", end)):
    low, high = bootstrap_interval(runs)
    student = mean_interval(runs)
    print(f"{name:13s}: seeds {np.sort(runs).round(1)}, mean {runs.mean():.1f}, '95 %' interval", end=" ")
    print(f"bootstrap {low:.1f} to {high:.1f}, Student {student.low:.1f} to {student.high:.1f}")

# %% [markdown]
# The first interval comes from the **bootstrap** (the statistician's; no relation to the one of lecture 05a): draw five of the five
# seeds with replacement, take their mean, do so thousands of times, and keep the middle 95 % of these means. It says where
# the mean over *all* seeds may lie; single runs spread wider. The second one, **Student's**, takes the spread of the
# five, assumes a normal distribution, and allows for not knowing its width. Which of the two may you believe? Soon. The
# bands below are Student's.
#
# Beside the records we put live runs of three other Reacher seeds, shorter. `train` runs `mpiexec -n 2 python -m minitrpo
# train` with these options, two processes that share the episodes; lecture 07 says how.

# %%
live = [
    train(2, "--preset", "episodes", "--env", "Reacher-v5", "--seed", seed, "--total-steps", length)
    for seed, length in zip((10, 11, 12), budget((30_000, 30_000, 100_000), (10_000,)))
]

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axes = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="tight")
for axis, runs, title in zip(axes, (reacher, swimmer), ("Reacher-v5", "Swimmer-v5, discount 0.9999")):
    axis.plot(steps / 1e3, runs.T, color=BLUE, linewidth=0.7, alpha=0.6)
    mean, width = runs.mean(axis=0), half_interval(runs)
    axis.fill_between(steps / 1e3, mean - width, mean + width, color=BLUE, alpha=0.25, label="95 % interval, Student")
    axis.plot(steps / 1e3, mean, color=BLUE, linewidth=2, label="mean of five seeds (thin: each)")
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=title)
for number, run in enumerate(live):
    label = "live, other seeds" if number == 0 else None
    axes[0].plot(run.columns()["env_steps"] / 1e3, run.columns()["mean_return"], color=RED, label=label)
axes[0].legend(loc="lower right")
plt.show()

# %% [markdown]
# Reacher is steep, then has a knee and a long tail, and its seeds agree all the way. Swimmer jumps to about 35, waits, then
# climbs, every run in its own way: the seeds part half-way and meet again.
#
# ## What a spread means for claims
#
# Two teams train on Swimmer for 150,000 steps, with the same code and two seeds each. The better one announces an
# improvement, in per cent of the other's mean. Our five seeds can be dealt to two such teams in 15 ways. How large is the
# "improvement" in the middle one of these 15?
#
# And a second guess. Everybody says: draw a 95 % interval. But is the interval of *five* seeds what it says? Imagine normally
# distributed results; take five, compute the bootstrap interval as above; repeat. In what fraction of these experiments does the
# interval contain the true mean?

# %% prediction="yes"
guess_improvement = 10  # per cent
guess_coverage = 0.95  # fraction of experiments

# %%
pairs = list(combinations(range(5), 2))
deals = [(a, b) for a, b in combinations(pairs, 2) if not set(a) & set(b)]
worlds = np.random.default_rng(2).standard_normal((5, budget(1000, 300)))  # a column is an experiment; true mean 0
ends = bootstrap_interval(worlds, resamples=1000)
covered = np.mean((ends.low <= 0) & (ends.high >= 0))
by_student = np.mean(np.abs(worlds.mean(axis=0)) <= half_interval(worlds))


def show_luck():
    """Print what two teams with the same code would announce, and how often the interval holds the truth."""
    for when, runs in (("150,000", half), ("300,000", end)):
        ratios = np.array([runs[list(a)].mean() / runs[list(b)].mean() for a, b in deals])
        percent = 100 * (np.maximum(ratios, 1 / ratios) - 1)
        if runs is half:
            compare("'improvement' in the middle of 15 deals", guess_improvement, np.median(percent), "%")
        print(f"after {when} steps: median {np.median(percent):.0f} %, largest {percent.max():.0f} %")
    compare("fraction of bootstrap's '95 %' intervals that contain the truth", guess_coverage, covered)
    print(f"of Student's: {by_student:.2f}")


reveal((guess_improvement, guess_coverage), show_luck)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# All of the improvement is luck. Henderson et al. (2018) split ten runs of TRPO on HalfCheetah into two groups of five and got two
# curves that look like two algorithms.
#
# And five numbers say little about the tails they come from; the bootstrap believes them, so its interval is too narrow.
# Student's has what it promises, here where results are normal. For few seeds this course takes Student's interval of a
# mean, Welch's of a difference (`minitrpo/course/statistics.py`), and says "cannot tell" where it contains 0. The
# bootstrap comes back in lecture 08, for medians of more numbers.
#
# </details>
#
# So: at least five seeds; show single runs; say what a band is (an interval of the mean, one standard deviation, best to
# worst: papers use all three); say *when* you looked; believe no difference that your own seeds can produce among
# themselves.
#
# ## See it move
#
# A return is one number. How much of it is the policy, and how much the noise of its actions? We play the longest live run
# once more, 20 episodes with the *most probable* action in every state:

# %%
player = Player(live[-1])
sure = np.array([sum(player.play(seed, limit=50)) for seed in range(20)])
print(f"most probable actions: mean return {mean_interval(sure):.1f}, 95 % interval")
print(f"with noise, the run's last batch, before its last update: {live[-1].columns()['mean_return'][-1]:.1f}")
env, still = make("Reacher-v5"), []
for seed in range(200):
    env.reset(seed=seed)
    still.append(sum(env.step(np.zeros(2))[1] for _ in range(50)))
print(f"an arm that never moves:   mean return {mean_interval(np.array(still)):.1f}")

# %% [markdown]
# Most of the difference is what the noise costs at this point of the run (an update brings about 2 here); learning to be
# less noisy is a part of every curve above, which a return does not tell. On Reacher it is most of the steep part: with
# its noise, the recorded arm beats one that never moves only after 155,000 to 170,000 steps. And whether the arm reaches
# for the dot, or only hovers where dots are near on average, no number tells at all. A film does.
#
# (The machine has to draw 50 pictures: a few seconds.)

# %%
show_film(live[-1], steps=50)

# %% [markdown]
# ## All of it on one page
#
# `mpi_scripts/trpo_in_one_file.py` is Algorithm 1 of Frans & Hafner from top to bottom in
# 200 lines. It imports nothing of ours: policy, episodes, advantages, conjugate gradient, line search, and the loop in
# which all ranks play and rank 0 learns. Read it once with your functions beside it; lectures 06 to 08 are about its last
# twenty lines. In a terminal:
#
#     ./run mpiexec -n 2 python -m mpi4py mpi_scripts/trpo_in_one_file.py --env CartPole-v1
#
# Its critic is a linear fit to the observation, its square and the time. Five recorded seeds of each task (Reacher with a
# discount of 0.95):

# %% jupyter={"source_hidden": true} tags=["hide-input"]
page = np.genfromtxt(recorded("05_one_file.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
_, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="tight")
for axis, env in zip(axes, ("CartPole-v1", "Reacher-v5")):
    for seed in range(5):
        run = page[(page["env"] == env) & (page["seed"] == seed)]
        axis.plot(run["env_steps"] / 1e3, run["mean_return"], color=BLUE, linewidth=1)
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=f"{env}, one page, five seeds")
plt.show()

# %% [markdown]
# (On Reacher the page is ahead of the curves above because it begins with a quieter policy and has that discount.)
#
# ## What you have built so far
#
# A complete update of TRPO, from a batch of judged actions to a new policy that is better where it counts and never further
# away than allowed. Around it a loop that learns to hold a pole from nothing but rewards, every line of its mathematics
# yours. And the habit of asking for the other seeds.
#
# ## Quiz
#
# **1.** You multiply `max_kl` by 4. How much longer is the full step, and how much longer the step that is taken?
#
# <details><summary>Answer</summary>
#
# The full step is twice as long: the KL grows with the square of the length. The step taken may be anything up to that: the line
# search may have to come back further than before. Tempting: "four times", as with a learning rate.
#
# </details>
#
# **2.** The line search refuses all its trials. What is the new policy, and is the run broken?
#
# <details><summary>Answer</summary>
#
# The old one, and no: a batch that teaches nothing safe does no harm, and the next batch has other episodes. Tempting: "take
# the smallest step that was tried". It was refused, too.
#
# </details>
#
# **3.** Your classmate uses `x @ g` where you have `x @ (g - residual)`, after ten iterations, far from converged. Who is right?
#
# <details><summary>Answer</summary>
#
# Both. However early conjugate gradient stops, what is left is at right angles to where it has been. Tempting: "only the one
# with the residual, since $F x \neq g$". True, $F x$ is not $g$, but the part by which they differ has no share along $x$. (For
# an $x$ that did not come from conjugate gradient, only the residual is right.)
#
# </details>
#
# **4.** The same code with the same seed ends at 194 on your machine and at 146 on your friend's. What is broken?
#
# <details><summary>Answer</summary>
#
# Nothing. Two processors add in different orders, the last digits differ, and learning magnifies that. Tempting: "a seed makes a
# run reproducible". It makes the random *numbers* reproducible. A claim that holds for one of the two runs only was no claim.
#
# </details>
#
# **5.** Five seeds of method A and five of B; the means differ by 20 %, the 95 % intervals overlap a little. Is A better?
#
# <details><summary>Answer</summary>
#
# You do not know yet. Overlap does not prove them equal: where nothing differs, Student's intervals of two times
# five seeds come apart in less than 1 of 100 cases, so they may overlap although the methods differ. Welch's interval of the
# *difference* misses 0 in 5 of 100, as 95 % should mean: ask for that one. Run more seeds, of a number fixed *before* looking.
# Tempting: "twenty per cent is a lot". Your 15 deals had as much without any difference at all.
#
# </details>
#
# **Next**: lecture 06 asks where the time goes.
#
# ## Appendix: what was claimed in 2016
#
# Frans & Hafner (2016) and Frans's post of that year are where this course comes from. Beside our curves, those of the author's
# own logs (repository kvfrans/parallel-trpo; `recorded/author_2016.py` says from which files of which commit): 20,000
# steps/update, max KL 0.001. They are single runs, on version 1 of tasks that are now at version 5: Reacher's observation has lost an
# entry since, and its distance is taken after the step, not before. **Compare shapes, not levels.**

# %%
author = json.loads(recorded("author_2016.json").read_text())
his = {task: author["returns"][f"{task}-v1"]["fixed 20,000, 0.001"] for task in ("Reacher", "Swimmer")}
his_steps = {task: his[task]["steps_per_update"] * (1 + np.array(his[task]["updates"])) for task in his}  # from 0
ours = {"Reacher": reacher, "Swimmer": swimmer}

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="tight")
for axis, (task, run) in zip(axes, his.items()):
    for number, (returns, color, marker) in enumerate(zip(run["mean_return"], (ORANGE, PURPLE), "os"), start=1):
        label = f"Frans 2016, run {number}"
        axis.plot(his_steps[task] / 1e3, returns, marker + "-", color=color, markersize=4, label=label)
    axis.plot(steps / 1e3, ours[task].mean(axis=0), color=BLUE, linewidth=2, label="ours, mean of five seeds")
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=task, xscale="log", xlim=(4, 8000))
axes[0].set_ylim(None, 60)  # room for the legend above the curves, which end below 0
axes[0].legend(loc="upper left")
plt.show()

# %%
for task in his:
    for whose, x, runs in (("his", his_steps[task], his[task]["mean_return"]), ("ours", steps, ours[task])):
        level = [60.0 if task == "Swimmer" else (run[0] + run[-1]) / 2 for run in np.array(runs)]
        reached = [x[np.argmax(run >= goal)] for run, goal in zip(np.array(runs), level)]
        what = "until half of the way up" if task == "Reacher" else "until a return of 60"
        print(f"{task}, steps {what}, {whose}: {'; '.join(f'{int(n):,}' for n in reached)}")
for env in ("Reacher-v5", "Swimmer-v5"):
    trials, kl = column(env, "line_search_steps"), column(env, "kl")
    print(f"{env}, ours: the full step was taken in {100 * np.mean(trials == 1):.0f} % of the updates", end="")
    refused = (
        f"; where refused, its KL was about {np.median(kl[trials == 2]) / 0.7**2:.4f}" if np.any(trials == 2) else ""
    )
    print(refused + " (limit 0.01)")  # 0.7 of a step has about 0.49 of its KL

# %% [markdown]
# - *Frans's post* recommends TRPO for doing well on many tasks. We saw three, and it learned in all of them. But half-way on
#   Swimmer the same code supports opposite claims, and neither paper nor post says how many runs a curve stands for; the
#   logs have one or two.
# - *Levels.* His Reacher starts lower than ours. Version 1 charged for the squared action as the policy chose it: two joints,
#   49 steps, unit noise make 98. Ours clips actions to [-1, 1] first, which leaves about half. His Swimmer runs stay far
#   below ours. The discount (his is 0.99) is the first suspect: with 0.99 most implementations end between 30 and 130, with
#   0.9999 the RL Zoo of stable-baselines reports about 360.
# - *Speed.* We are half-way in a fraction of his steps. We allow ten times the KL, four times as often, and treat actions,
#   observations and advantages differently; nothing here says which of these it is. His own sweep over max KL (lecture 04)
#   points at the first.
# - *Frans & Hafner* estimate $Q$ by Monte Carlo, $\lambda = 1$: sound with 20,000 steps to average over. With fewer steps and a
#   better critic a smaller $\lambda$ is.
# - *Their code* runs the line search, then takes the full step regardless (`model.py`), as older code did
#   (wojzaremba/trpo, where issue 1 reports it). In our runs the line search refused no full step on Swimmer, and on Reacher
#   those whose KL was hardly above the limit. Such a bug need not show in a learning curve. It shows in a check.
# - All claims of the sources are collected in `docs/claims.md`, with verdicts from several seeds where they have been measured.
