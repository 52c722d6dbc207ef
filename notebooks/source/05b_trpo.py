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
# You have a gradient (01), a direction (02, 03), a length (04) and advantages (05a). Today they become one update and a loop: trust region
# policy optimization, TRPO. You write the update, and you watch a film of a policy before and after it has learned by *your* function. Then you read a
# complete TRPO in 200 lines, from the first line to the last. At the end the trainer of the package trains with your functions.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `trpo_step` | `minitrpo/trpo.py` | Frans & Hafner 2016, Algorithm 1, line 6; TRPO paper, appendix C |
# | the loop around it | `minitrpo/algorithms/trpo.py` | Frans & Hafner 2016, Algorithm 1 |
# | all of it | `mpi_scripts/trpo_in_one_file.py` | Frans & Hafner 2016, Algorithm 1 |
#
# *90 minutes in class with the exercise; the notebook runs in about half a minute. You need lectures 01 to 05a.
# The card of TRPO, `docs/cards/trpo.md`, has facts, equations and settings for later.*

# %%
import os

import gymnasium
import imageio.v3 as imageio
import numpy as np
from IPython.display import Code, Video, display
from matplotlib import pyplot as plt

import minitrpo
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course import MPI_SCRIPTS
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from minitrpo.course.classroom import budget, compare, play, recorded, reveal, temporary_runs
from minitrpo.course.core import your_core
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.critics import LinearCritic
from minitrpo.line_search import backtracking, step_scale
from minitrpo.natural_gradient import every_kth
from minitrpo.policies import Array, Policy
from minitrpo.advantages import standardise
from minitrpo.trpo import Batch, Report, damped_fisher, objective, report_of, surrogate_gradient

os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")  # no screen needed

# %% [markdown]
# ## 1. TRPO on one page
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
# In words: compute how much better than usual each action was ($A_t$). Find the direction $x$ that raises the surrogate most for a small change of
# the policy. Make it exactly long enough for the KL limit, and shorten it until limit and gain are confirmed.
#
# **Pseudocode.** The right column names the lecture and the function in the program of section 4. Rows with a `>` are exercise 1. *Ranks* are
# processes (lecture 07a).
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
# ## 2. One update by hand
#
# A policy has one parameter: it takes action 1 with probability $p = 1 / (1 + e^{-\theta})$, and action 0 otherwise. Let $\theta = 0$, so $p = 0.5$. The batch has
# two steps: action 1 with the advantage +1, and action 0 with the advantage -1. The limit is $\delta = 0.02$, and there is no damping.
#
# | step | calculation | result |
# |---|---|---|
# | gradient | the scores are $1 - p = 0.5$ and $-p = -0.5$, so $g = (1 \cdot 0.5 + (-1) \cdot (-0.5)) / 2$ | 0.5 |
# | Fisher matrix | $F = p (1 - p)$, a single number | 0.25 |
# | direction | $F x = g$, so $x = 0.5 / 0.25$ | 2 |
# | curvature | $x F x = 2 \cdot 0.25 \cdot 2$ | 1 |
# | length | $\beta = \sqrt{2 \cdot 0.02 / 1}$, and the full step is $\beta x$ | 0.2, and 0.4 |
# | expected gain | $g$ times the full step, $0.5 \cdot 0.4$ | 0.2 |
# | search, $k = 0$ | for $\theta' = 0.4$ we get $p' = 0.599$; the KL divergence is 0.0199, below 0.02 | limit kept |
# | | $L = (0.599 / 0.5 \cdot 1 + 0.401 / 0.5 \cdot (-1)) / 2 = 0.197$; before it was 0 | accepted |
#
# So $\theta' = 0.4$. The real gain, 0.197, is a little below the expected gain of 0.2, because the surrogate is not a straight line.
#
# ### Exercise 1: `trpo_step` (★★★, 18 minutes)
#
# Write the rows of the pseudocode with a `>` for any policy. A `Batch` has the `observations`, `actions` and `advantages` of $N$ steps. A `Report` is what the
# log says of an update. These helpers of the package apply the functions of lectures 01 to 04 to a whole batch:
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
# The curvature $x^\top M x$ needs no further product, because $M x = g - \text{residual}$. In the example above conjugate gradient is exact after one
# iteration, so the residual is 0, and $x (g - 0) = 2 \cdot 0.5 = 1$. The gain expected of the full step is $g^\top \text{full step}$.

# %% exercise="trpo_step"

# %% [markdown]
# ## 3. Your policy learns
#
# The loop below follows the pseudocode. `mine.trpo_step` is your function, once its check has passed. The printed line says for each function whether it is
# yours or the package's. The critic also gets the number of the step within its episode. A *fragment* is a piece of an episode: its last
# state has the number of its first step plus its length.
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


def learn(seed, updates, steps=2000, max_kl=0.05, first_theta=None, env="InvertedPendulum-v5"):
    """Return mean return and explained variance of every batch, (updates, 2), theta after every update, and the batches."""
    rng = np.random.default_rng(seed)
    critic, theta, log, thetas, batches = LinearCritic(observation_size=4), first_theta, [], [], []
    state = critic.initialise(rng)
    for update in range(updates):
        played = play(env, steps, theta, seed=100 * seed + update)  # a fresh policy if theta is None
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


for name in ("next_values", "gae", "explained_variance", "trpo_step"):
    yours = not getattr(mine, name).__module__.startswith("minitrpo")
    print(f"{name:18} {'yours' if yours else 'of the package'}")

# %% [markdown]
# First we train on CartPole, which needs a few seconds. What is the mean return of the tenth batch of 2,000 steps? A fresh policy keeps the pole up
# for about 20 steps, and an episode is cut after 500.

# %% prediction="yes"
guess_return = 100  # mean return of the tenth batch, at most 500

# %%
pole_log, pole_thetas, _ = learn(0, budget(10, 3), env="CartPole-v1", max_kl=0.02)
fresh = play("CartPole-v1", steps=1, seed=0)  # the policy with which this run began


def filmed(theta, frames=125):
    """Return pictures of a policy that draws its actions, (frames, height, width, 3), and the steps of each episode."""
    rng = np.random.default_rng(0)
    world = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    pictures, lengths, number = [], [], 0
    observation, steps = world.reset(seed=1)[0], 0
    while len(pictures) < frames:
        pictures.append(world.render()[130:330])
        logits = fresh.policy.distribution(theta, observation[None])[0]
        observation, _, terminated, truncated, _ = world.step(
            int(np.argmax(logits + rng.gumbel(size=2)))
        )  # a draw from pi
        steps += 1
        if terminated or truncated:
            lengths.append(steps)
            number, steps = number + 1, 0
            observation = world.reset(seed=1 + number)[0]
    world.close()
    return np.array(pictures), lengths


def show_before_and_after():
    """Answer the prediction, and return a film of the policy before (above) and after learning (below)."""
    compare(f"mean return of batch {len(pole_log)}", guess_return, pole_log[-1, 0])
    print("mean return of every batch:", *pole_log[:, 0].round().astype(int))
    (before, fell), (after, fell_later) = filmed(fresh.theta), filmed(pole_thetas[-1])
    print(f"in the film the fresh policy drops the pole {len(fell)} times, yours {len(fell_later)} times")
    film = np.concatenate([before, after], axis=1)
    data = imageio.imwrite("<bytes>", film, extension=".mp4", fps=50, codec="libx264", macro_block_size=2)
    display(Video(data, embed=True, mimetype="video/mp4", html_attributes="controls loop muted"))


reveal(guess_return, show_before_and_after)

# %% [markdown]
# The film lasts two and a half seconds. Both policies draw their actions at random, as they do in training. Above, the policy has random weights, and the pole falls again and again. Below is the
# policy after the updates that your function has made. Nothing told it what a pole is: it has seen rewards of 1 and the ends of
# episodes.
#
# Next we train on a harder task, with three seeds. A **seed** is the number that decides all random numbers of a run. **InvertedPendulum**: push a cart
# so that the pole on it stays up. Each step upright has reward 1, and an episode has at most 1,000 steps.

# %%
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
left.set_title("Your update learns, at a different pace with each seed", fontsize=10)
right.set(xlabel="update (2,000 steps each)", ylabel="explained variance", ylim=(None, 1))
right.set_title("The critic, same seeds: 1 would be perfect", fontsize=10)
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
# ### One seed, two starts
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
    left.set_title("Two runs that differ in the last digit ...", fontsize=10)
    right.set_title("... drift apart from update to update", fontsize=10)
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
#   single precision. Numbers in single precision have about seven digits, and two thetas that differ in the 16th digit are rounded to
#   the same numbers of seven digits. Then the growth begins in a later update. The right panel and the
#   last printed line show where it begins on your machine.
# - **The environment.** Once two actions differ, a pole falls in one run and not in the other. One episode becomes longer, and
#   from then on the two batches differ.
#
# **Rounding acts like one more seed.** Nothing is broken. Another processor adds in another order, so your curves differ from
# your neighbour's. Reproducible code fixes the order of its sums (lecture 07b).
#
# </details>
#
# ## 4. A whole TRPO in one file
#
# `mpi_scripts/trpo_in_one_file.py` is the complete algorithm in 200 lines. It imports nothing of this package. You have written every part of its
# mathematics, so you can read it now. We go through it from the first line. The function `lines` prints a piece of the file.


# %%
program = (MPI_SCRIPTS / "trpo_in_one_file.py").read_text("utf-8").splitlines()


def lines(first, before):
    """Return the piece of the program from the line that starts with `first` to the one before that starts with `before`."""
    start = next(k for k, line in enumerate(program) if line.startswith(first))
    end = next((k for k, line in enumerate(program) if k > start and line.startswith(before)), len(program))
    print(f"lines {start + 1} to {end}")
    return Code("\n".join(program[start:end]).rstrip(), language="python")


lines('"""Parallel TRPO', "# --- the policy")

# %% [markdown]
# **Settings.** The first lines say which algorithm this is, and in what it differs from the paper. `OMP_NUM_THREADS` has to be set before numpy is imported. With one thread each process uses one core, and sums are always added in the same
# order. The options are those of the equations: `--max-kl` is $\delta$, `--discount` is $\gamma$. `comm`, `rank` and `size` belong to MPI, which starts
# this program several times (lecture 07a). With one process, `rank` is 0 and `size` is 1, and you may ignore them. If actions are whole numbers
# (`discrete`), the network returns logits; otherwise it returns the means of Gaussians. `SHAPES` has one row more than a layer has inputs: the last row is
# the bias.

# %%
lines("def generator", "# --- lines 3 and 4")

# %% [markdown]
# **The policy.** `theta` is one flat vector, because gradient, direction and step are vectors. `distribution` cuts it into three layers with `tanh`. The last
# layer starts with small weights, so that a fresh policy prefers no action. `generator` makes random numbers from a key such as (iteration,
# episode). An episode therefore has the same random numbers on whichever process it is played. `sample`, `log_prob` and `mean_kl` have a branch for each
# of the two kinds of policies, and the formulas are those of lectures 01 and 02.

# %%
lines("def play", "# --- line 6")

# %% [markdown]
# **Episodes, critic, advantages.** `play` keeps one observation more than actions: the state after the last step. `terminated` and `truncated` are not merged.
# In `advantages`, `v[-1]` is the value of that last state. It is set to 0 only if the episode was terminated (05a). The loop backwards is
# $A_t = e_t + \gamma\lambda A_{t+1}$, and the second result is the target $A_t + V(s_t)$. The critic is linear in its features, which
# are the observations, their squares, and the time.

# %%
lines("def conjugate_gradient", "# --- Algorithm 1")

# %% [markdown]
# **The update.** This is your exercise, written for one file. `surrogate` divides by the probabilities of the old policy, which are computed outside and so stay
# constant (the fourth pitfall of lecture 00 is wanted here). `make_ggnvp` makes the function $v \mapsto F v$ (02), from every fifth state. The curvature is computed by one more
# product instead of the residual, which costs one product and is the same number. The `for` loop is the line search: the first candidate that keeps the limit and
# gains is returned. If none does, the old `theta` is returned.

# %%
lines("theta, w = initial_theta", "nothing: up to the end")

# %% [markdown]
# **The loop.** Every iteration has the order of the pseudocode. `bcast` sends `theta` from rank 0 to all ranks. Each rank plays some of the episodes, and
# `gather` collects them on rank 0, which sorts them by their numbers. Only rank 0 learns. The critic `w` is fitted *after* its predictions were used. The last
# lines update the running mean and variance of the observations, which `normal` uses. `episodes` is adapted so that the next
# batch has about `--steps-per-update` steps. The program ends with a hash of `theta`: if two runs print the same hash, all their bits are equal.
#
# In a terminal it runs on two processes like this:
#
#     ./run mpiexec -n 2 python -m mpi4py mpi_scripts/trpo_in_one_file.py --env CartPole-v1
#
# Here are ten of its runs. **Reacher** is an arm of two joints that should bring its tip to a dot: each of 50 steps costs the distance and the squares of the torques.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
page = np.genfromtxt(recorded("05_one_file.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
_, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="tight")
messages = "returns rise, and can fall again", "all seeds agree"
for axis, env, message in zip(axes, ("CartPole-v1", "Reacher-v5"), messages):
    for seed, color in enumerate((BLUE, ORANGE, GREEN, PURPLE, RED)):
        one = page[(page["env"] == env) & (page["seed"] == seed)]
        axis.plot(one["env_steps"] / 1e3, one["mean_return"], color=color, linewidth=1.2, label=f"seed {seed}")
    axis.set(xlabel="environment steps (thousands)", ylabel="mean return", title=f"{env}: {message}")
axes[0].axhline(500, color=GREY, linestyle=":")
axes[0].text(0, 505, "maximum return, 500", color=GREY, va="bottom", fontsize=10)
pole = page[page["env"] == "CartPole-v1"]
falls = [
    (pole[k]["mean_return"] - pole[k - 1]["mean_return"], k)
    for k in range(1, len(pole))
    if pole[k]["seed"] == pole[k - 1]["seed"]
]
fall, k = min(falls)
axes[0].annotate(
    f"seed {pole[k]['seed']} falls by {-fall:.0f}\nin one update",
    (pole[k]["env_steps"] / 1e3, pole[k]["mean_return"]),
    (pole[k]["env_steps"] / 1e3, 40),
    ha="center", fontsize=9, arrowprops={"arrowstyle": "->", "color": GREY},
)  # fmt: skip
axes[0].set_ylim(0, 550)
axes[1].legend()
plt.show()

# %% [markdown]
# <small>Recorded with `recorded/one_file.py`, seeds 0 to 4, on an Intel Xeon.</small>
#
# Returns can fall again, because the KL limit bounds a step and does not guarantee that the return rises.
#
# ## 5. Why does it not learn?
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
# ## 6. The trainer runs with your functions
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
# **3.** An update is not accepted: all trials of the line search fail. Is the batch lost?
#
# <details><summary>Answer</summary>
#
# The policy stays as it was, and the critic is still fitted to the batch. The next batch is played by the same policy and has other noise, so the next update may succeed.
# Tempting: "take the smallest trial all the same". Then theta would move although the surrogate says that the policy becomes worse, or the limit would be broken.
#
# </details>
#
# ## Summary
#
# Learn these six points by heart.
#
# - An iteration plays, computes advantages, steps, and fits the critic, in this order.
# - The step has four parts: gradient, direction, length, search. The direction solves $(F + \text{damping}\, I) x = g$.
# - The curvature is $x^\top (g - \text{residual})$, so it needs no further product.
# - The full step is $\sqrt{2\delta / x^\top M x}\; x$. The line search shortens it, or leaves theta as it was.
# - A change in the last digit becomes another run, so one run supports no claim.
# - Ask four questions of a run that does not learn: critic, limit, noise, returns. Then look at its settings.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# 1. Run `learn` with `max_kl` of 0.005, 0.05 and 0.5, three seeds each. Plot the mean return against updates. Explain which limit you
#    would choose, and what your seeds do not let you say.
# 2. Plant a fault of your own in `minitrpo.train` on CartPole (a setting, not the code). Plot its returns next to a healthy
#    run's. Explain which of the four questions finds the fault, and why the others do not.
#
# ## Read on
#
# - J. Schulman et al., *Trust region policy optimization*, ICML 2015: the algorithm; appendix C has the Fisher products and the line search.
# - K. Frans & D. Hafner, *Parallel trust region policy optimization with multiple actors*, 2016: Algorithm 1, which the program in one file follows.
# - J. Achiam, *Spinning Up in deep RL*, 2018, page on TRPO: the same equations and pseudocode on one page, with another implementation to compare.
#
# **Next**: a single run supports no claim. Lecture 05c asks what five seeds can prove, and lecture 06 where the time of an iteration goes.
