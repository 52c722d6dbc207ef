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
# # 13b Continuous actions
#
# **What is the best of infinitely many actions?**
#
# *Elective. It needs lecture 13a.*
#
# <!-- loop -->
#
# Lecture 13a's target needs $\max_a Q(s, a)$. With two buttons a program tries both. A torque is a number, and a
# search for the best torque inside each target would be slow. In this lecture you give $Q$ a shape whose top can be
# read off.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `naf_q`, `naf_targets`, `heads` | `minitrpo/algorithms/off_policy/naf.py` | Gu et al. 2016: NAF |
# | minibatches, updates, ranks | `minitrpo/algorithms/off_policy/replay_learner.py` | Gu et al. 2017: asynchronous NAF |
#
# *75 minutes in class with the two exercises; the notebook itself runs in a third of a minute. You need: lecture
# 13a.*

# %%
import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.algorithms.off_policy.naf import heads
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, recorded, reveal, train
from minitrpo.course.seeds import family_of, numbers_of, ratio_in_words
from minitrpo.policies import Array
from minitrpo.run_folder.folder import sha256

# %% [markdown]
# ## A parabola
#
# A motor was tried with 30 torques in one state. Each dot below is the return that followed. Which torque is best? We
# fit a parabola, and read off its top: where it lies, and how high it is.

# %%
rng = default_rng(1)
torques = rng.uniform(-1, 1, 30)
returns = 5 - 4 * (torques - 0.3) ** 2 + 0.4 * rng.standard_normal(30)
bend, slope, level = np.polyfit(torques, returns, 2)
best = -slope / (2 * bend)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(7.5, 3.3), layout="constrained")
grid = np.linspace(-1, 1, 201)
axis.plot(torques, returns, "o", color=BLUE, alpha=0.7)
axis.plot(grid, np.polyval([bend, slope, level], grid), color=ORANGE, linewidth=2.5)
axis.plot(best, np.polyval([bend, slope, level], best), "o", color=RED, markersize=11)
axis.annotate("the top: $\\mu$ and $V$", (best, np.polyval([bend, slope, level], best)), (best, 6), ha="center",
              color=RED, fontsize=12, arrowprops={"arrowstyle": "-", "color": RED})  # fmt: skip
axis.text(-0.72, 2.6, "parabola", color=ORANGE, fontsize=12, ha="right")
axis.set(xlabel="torque $a$", ylabel="return, $Q(s, a)$", xlim=(-1, 1), ylim=(-2.5, 6.5))
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# **NAF** ("normalised advantage functions") does this for all states at once. A network puts out a value $V(s)$, an
# action $\mu(s)$ and a matrix $\Lambda(s)$, and
#
# $$Q(s, a) = V(s) - \tfrac12 \, (a - \mu(s))^\top M(s) \, (a - \mu(s)), \qquad M = \Lambda \Lambda^\top .$$
#
# So $\max_a Q = V$ and $\arg\max_a Q = \mu$, without a search. The second term is the advantage of $a$; it is never
# positive.
#
# This holds only if $M$ is positive definite. $\Lambda$ is a *lower triangular* matrix with positive numbers on its
# diagonal, and then $\Lambda\Lambda^\top$ is positive definite. The network's outputs may have any sign, so `heads`
# (given) puts $\exp$ of them on the diagonal. (The code calls the action `u`, as engineers do, and $\Lambda$
# `lower`.)
#
# ### Exercise 1: `naf_q`

# %% exercise="naf_q"

# %% [markdown]
# Three matrices for two torques: $M$ as above; a ridge, where one entry of $\Lambda$'s diagonal is 0; and a symmetric
# $M$ that the network puts out directly, $\begin{pmatrix} 2 & 2.5 \\ 2.5 & 0.5 \end{pmatrix}$. In all three $V = 5$
# and $\mu = (0.29, -0.38)$. **In the third, what is $Q$ in the corner $(-1, 1)$?** (There $a - \mu = (-1.29, 1.38)$,
# so it is $5 - \tfrac12 (2 \cdot 1.29^2 - 2 \cdot 2.5 \cdot 1.29 \cdot 1.38 + 0.5 \cdot 1.38^2)$. Which term is the
# largest?)

# %% prediction="yes"
guess_corner = 3  # Q in the upper left corner; the code takes 5 for the maximum

# %%
spread = np.stack(np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81)), axis=-1)  # (81, 81, 2): actions
outputs = np.array([5.0, 0.3, -0.4, 0.5, 1.0, 0.2])  # V; two of mu; three of lower
value, mu, lower = heads(outputs, 2)
saddle = np.array([[2.0, 2.5], [2.5, 0.5]])  # symmetric


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def everywhere(array, *front):
    """Return the same array for every state, or every place of a picture."""
    return np.broadcast_to(array, (*front, *np.shape(array)))


def show_shapes():
    """Answer the prediction; draw Q over two torques."""
    same, ridge = (everywhere(x, 81, 81) for x in (lower, lower * [[1, 1], [1, 0]]))
    values, tops, apart = everywhere(value, 81, 81), everywhere(mu, 81, 81), spread - mu
    pictures = {
        "exp on the diagonal: a top": mine.naf_q(values, tops, same, spread),
        "0 on the diagonal: a ridge": mine.naf_q(values, tops, ridge, spread),
        "M from the network: a saddle": value - 0.5 * np.einsum("...i,ij,...j->...", apart, saddle, apart),
    }
    compare("Q in the corner (-1, 1), on the saddle", guess_corner, pictures["M from the network: a saddle"][-1, 0])
    _, axes = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained", sharey=True)
    for axis, (title, picture) in zip(axes, pictures.items()):
        filled = axis.contourf(
            *np.moveaxis(spread, -1, 0), picture, np.arange(0, 8.1, 0.5), cmap="viridis", extend="min"
        )
        axis.contour(*np.moveaxis(spread, -1, 0), picture, [5], colors="white", linewidths=1)
        axis.plot(*mu, "o", color=RED, markersize=10, markeredgecolor="white")
        axis.set(xlabel="first torque", title=title, xticks=(-1, 0, 1), yticks=(-1, 0, 1), aspect="equal")
    axes[2].text(-0.95, 0.84, "Q = 7.3", fontsize=12)
    axes[0].set_ylabel("second torque")
    plt.colorbar(filled, ax=axes, label="Q (white line: Q = 5)", shrink=0.9)
    plt.show()


reveal(guess_corner, show_shapes)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# It is 7.3, because the mixed term is the largest, and lowers the sum in the bracket below 0. The red dot is $\mu$.
# On a ridge every action along a line is best. On a saddle $\mu$ is not the best action, and the target's maximum is
# wrong: the code takes 5. Nothing in the loss would show it.
#
# </details>
#
# The target is lecture 13a's, with $V$ as the maximum: $y = \text{scale} \cdot r + \gamma \, V_{\theta^-}(s')$, and
# only the reward where the task terminated. The scale keeps large rewards from making large outputs. `discounts`
# holds $\gamma$, or $\gamma^n$, for each step.
#
# ### Exercise 2: `naf_targets`

# %% exercise="naf_targets"

# %% [markdown]
# ## Two tops
#
# Is a parabola good enough? A pendulum that hangs can swing up to the left or to the right. It has *two* good
# torques, with bad ones between them. Let the tops of the true $Q$ lie at $-0.4$ and $0.4$, equally high, and let the
# actions in the ring be spread uniformly over $[-1, 1]$. The parabola is fitted by least squares. **Where is its
# top?**

# %% prediction="yes"
guess_top = 0.4  # torque


# %%
def fitted(actions, q):
    """Return value, mu and lower of the parabola that fits best, its top within [-1, 1]."""
    bend, slope, level = np.polyfit(actions, q, 2)
    if bend > -0.05:  # it must open downwards
        bend = -0.05
        slope, level = np.polyfit(actions, q - bend * actions**2, 1)
    top = np.clip(-slope / (2 * bend), -1, 1)
    return level + slope * top + bend * top**2, np.array([top]), np.array([[np.sqrt(-2 * bend)]])


def two_tops(actions, better=0.0):
    """Return a Q with tops at -0.4 and at 0.4, the right one higher by `better`."""
    return np.maximum(-8 * (actions + 0.4) ** 2, better - 8 * (actions - 0.4) ** 2)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
uniform = np.linspace(-1, 1, 401)


def draw_tops(centre=None, width=1.0, better=0.0):
    """Redraw a Q with two tops, the actions that were tried (no centre: uniformly), and the parabola that fits best."""
    drawn = default_rng(0).standard_normal(400)
    tried = uniform if centre is None else np.clip(centre + width * drawn, -1, 1)
    value, mu, lower = fitted(tried, two_tops(tried, better))
    parabola = mine.naf_q(*(everywhere(x, 401) for x in (value, mu, lower)), uniform[:, None])
    _, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    axis.plot(uniform, two_tops(uniform, better), color=GREY, linewidth=5, alpha=0.5, label="true Q")
    axis.plot(tried, two_tops(tried, better), ".", color=BLUE, markersize=4, label="actions in the ring")
    axis.plot(uniform, parabola, color=ORANGE, linewidth=2, label="the best parabola")
    top = two_tops(mu, better)[0]
    label = f"its top: {round(mu[0], 2) + 0.0:.2f}, where the true Q is {top:.2f}"
    axis.plot(mu, [top], "o", color=RED, markersize=10, label=label)
    axis.set(xlabel="torque", ylabel="Q", ylim=(-5, 2.3), xlim=(-1.02, 1.02))
    axis.legend(fontsize=10, loc="lower center", ncols=2)
    axis.grid(alpha=0.3)
    plt.show()


def show_top():
    """Answer the prediction."""
    compare("top of the parabola", guess_top, abs(round(fitted(uniform, two_tops(uniform))[1][0], 3)))
    draw_tops()


reveal(guess_top, show_top)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# It lies in the middle, at the bottom of the valley. The average of two good answers is not a good answer.
#
# </details>
#
# This is a second way in which experience grows old. NAF's *targets* do not depend on the policy that acted. But its
# *fit* does: a parabola is good near the actions in the ring, and old policies chose those actions. Drag the centre
# and the width of the actions: do narrow ones find a top, or wide ones?

# %%
_ = ipywidgets.interact(
    draw_tops,
    centre=ipywidgets.FloatSlider(min=-1, max=1, step=0.1, value=0.5, continuous_update=False),
    width=ipywidgets.FloatSlider(min=0.05, max=1, step=0.05, value=0.1, continuous_update=False),
    better=ipywidgets.FloatSlider(min=0, max=2, step=0.25, value=1.0, continuous_update=False),
)

# %% [markdown]
# <details><summary>After you have dragged: what it means</summary>
#
# Narrow actions on one side of the valley find the top of that side, and no other. Wide ones find a compromise. So
# NAF may use the *targets* of any policy, but it needs *actions* near the current $\mu$, with a little noise, and a
# ring that forgets.
#
# </details>
#
# ## NAF

# %% [markdown]
# **Algorithm: NAF**
#
# Repeat:
# 1. play some steps with $a = \mu_\theta(s) + \sigma \cdot \text{noise}$, clipped to the motor's limits; write
#    $(s, a, r, s', \text{terminated})$ into the ring;
# 2. after the warm-up, as often as the replay ratio says:
#    1. draw a minibatch uniformly from the ring;
#    2. $y = r + \gamma V_{\theta^-}(s')$, or $y = r$ where the task terminated (exercise 2);
#    3. $Q_\theta(s, a) = V_\theta(s) - \tfrac12 (a - \mu_\theta(s))^\top \Lambda_\theta(s) \Lambda_\theta(s)^\top (a - \mu_\theta(s))$ (exercise 1);
#    4. $\theta \leftarrow \theta - \text{Adam}\big(\nabla_\theta \, \text{mean of} \, \tfrac12 (Q_\theta(s, a) - y)^2\big)$;
#    5. $\theta^- \leftarrow (1 - \tau) \, \theta^- + \tau \, \theta$.
#
# **Algorithm: asynchronous NAF** (`--algorithm async-naf`)
#
# - Each collector reads the newest $\theta$, plays a few steps, and keeps them in a ring of its own.
# - The trainer repeats steps 2.1 to 2.5, at most as often as the replay ratio allows. It draws from the union of all rings.
#
# Gu et al. 2017 taught robots to open doors with the asynchronous one, since a robot cannot wait for a trainer.
#
# With a barrier, several ranks compute what one rank computes, to the bit, with the ring on the root or in shards
# (13a). Three short runs:

# %%
JOB = ("--algorithm", "naf", "--env", "Pendulum-v1")
ALL = ("--oversubscribe", "--total-steps", budget(2400, 1280))  # else one rank would do such light steps alone
for ranks, learner in ((1, "root"), (2, "root"), (2, "sharded")):
    run = train(ranks, *JOB, "--learner", learner, *ALL)
    print(f"{ranks} rank(s), learner {learner:7s}: theta {sha256(run.load_checkpoint()['theta'])[:24]}...")

# %% [markdown]
# Does it learn? One run of sixty episodes of swinging up (about ten seconds):

# %%
run = train(2, *JOB, "--total-steps", budget(12_000, 1600), "--record-every", 50)  # a row each 800 steps: 4 episodes

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
axis.plot(run.columns()["env_steps"] / 1e3, run.columns()["mean_return"], ".-", color=GREEN)
axis.set(xlabel="thousand environment steps", ylabel="return (mean of 4 episodes)", ylim=(-1800, 0))
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# ## Steps and seconds
#
# NAF reaches a mean return of -250 on Pendulum in a fifth of TRPO's steps (recorded, five seeds each). But it makes
# an update for every step: on 2 cores it plays 1,800 steps a second, and TRPO 18,000. **How many times as many seconds
# as TRPO does NAF take?**

# %% prediction="yes"
guess_seconds = 0.2  # NAF's seconds / TRPO's

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family = family_of(recorded("family.csv"))
rates = numbers_of(recorded("rates.csv"), "rate", "algorithm", "env", "ranks")


def seconds_of(name):
    """Return the seconds to the goal of each seed: its steps, at the mean steps a second of other runs."""
    return family["Pendulum-v1", name].steps / rates[name, "Pendulum-v1", "2"].mean()


def draw_family(names):
    """Draw steps and seconds of every seed, and their medians."""
    _, axes = plt.subplots(1, 2, figsize=(11, 3.3), layout="constrained", sharey=True)
    steps, seconds = (
        {name: of(name) for name in names} for of in (lambda n: family["Pendulum-v1", n].steps, seconds_of)
    )
    colors = {"naf": GREEN, "trpo": BLUE, "batch-ppo": RED, "a3c": ORANGE}
    for axis, label, shown in zip(axes, ("environment steps", "seconds on 2 cores"), (steps, seconds)):
        for y, (name, values) in enumerate(shown.items()):
            places = y + np.linspace(-0.15, 0.15, len(values))
            axis.plot(np.sort(values), places, "o", color=colors[name], alpha=0.7, markersize=8)
            axis.plot([np.median(values)], [y], "|", color="black", markersize=24)
        axis.set(xscale="log", xlabel=f"{label} to a mean return of -250", yticks=range(len(names)), yticklabels=names)
        axis.xaxis.set_major_locator(plt.LogLocator(subs=(1, 3)))
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.margins(x=0.12)
        axis.minorticks_off()
        axis.grid(alpha=0.3, axis="x")
    axes[0].set_ylim(3.5, -0.5)
    plt.show()


def show_family():
    """Answer the prediction; print what the others took; draw it."""
    names = ("naf", "trpo", "batch-ppo", "a3c")
    steps = {name: family["Pendulum-v1", name].steps for name in names}
    compare("NAF's seconds / TRPO's", guess_seconds, np.median(seconds_of("naf")) / np.median(seconds_of("trpo")))
    for other in names[1:]:
        print(f"{other}'s steps / NAF's: {ratio_in_words(steps[other], steps['naf'])}")
    for other in names[1:]:
        print(f"NAF's seconds / those of {other}: {ratio_in_words(seconds_of('naf'), seconds_of(other))}")
    draw_family(names)


reveal(guess_seconds, show_family)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# About twice as many: a fifth of the steps, each at ten times the price. A step of Pendulum costs almost nothing.
# Replay is worth its updates where *new* experience is expensive: a robot arm, a slow simulator.
#
# <small>Twenty fresh episodes were played every 5,000 steps, and all five NAF runs had reached the goal at the same
# evaluation. All numbers of steps are therefore rounded up, to the next multiple of about 5,000. For NAF this is a large part
# of its number, and for A3C a small part. So the ratios are probably too small, but they are not strictly lower bounds, because
# their numerators are rounded up, too. With evaluations every 1,600 to 2,400 steps, A3C needed 118 times as many steps as NAF
# (medians of five other runs, of which one of A3C never arrived; `docs/claims.md`, L1). A3C's settings were not tuned for
# Pendulum. Read all of this as "about 80 to 120 times". Seconds: these steps at the mean steps per
# second of eight other runs (`recorded/rates.csv`). Default settings, which were not tuned with equal care.</small>
#
# </details>
#
# ## Bug hunt
#
# This target comes from a NAF in PyTorch. It runs without an error. `hunt` shows a case; find the line and correct it.


# %%
def suspect(rewards: Array, discounts: Array, terminated: Array, next_value: Array, reward_scale: float) -> Array:
    mask_batch = 1.0 - terminated
    return reward_scale * rewards + (discounts * mask_batch + next_value)


_ = hunt("naf_targets", suspect)

# %% [markdown] solution="only"
# **The bug**: a plus instead of a times, $r + (\gamma \cdot \text{mask} + V)$. Nothing is discounted, and where the
# task has ended, the value of a state without a future counts in full. A test of one line finds it: a step that
# terminated, with a next value that is not 0. (ikostrikov/pytorch-ddpg-naf; the bug stayed for two and a half years
# after its first report.)

# %% [markdown]
# ## Quiz
#
# **1.** A NAF of 2016 (carpedm20/NAF-tensorflow) has no mask: its target is $r + \gamma V(s')$ everywhere. Its README
# shows Pendulum. Why is nothing wrong there?
#
# <details><summary>Answer</summary>
#
# A Pendulum never terminates. Its 200 steps are a time limit, and lecture 05a bootstraps there. The program is right
# on the task that it was tested on, and wrong on each task in which something can fall over.
#
# </details>
#
# **2.** A robot's program stores $\mu(s)$ in the ring, but the motor executes $\mu(s)$ plus noise. What does NAF
# learn?
#
# <details><summary>Answer</summary>
#
# It sees only actions at the top of the parabola, where the second term is 0, so it cannot learn $\Lambda$ or move
# $\mu$. The transitions are also false: $s'$ followed another action. Store what was executed, after the clip to the
# motor's limits.
#
# </details>
#
# **3.** Ten robots collect for one trainer, then twenty. Learning is no faster. Why?
#
# <details><summary>Answer</summary>
#
# The trainer is the bottleneck, so the replay ratio is halved (lecture 13a). Gu et al. 2017 saw this on their robots.
#
# </details>
#
# ## Summary
#
# - NAF's $Q$ is a parabola in the action: its top is $V$ and lies at $\mu$, so no search is needed.
# - $M = \Lambda\Lambda^\top$ with a positive diagonal has a single top; an arbitrary symmetric $M$ may be a saddle.
# - A parabola fits the actions in the ring. With two tops it is good only if those actions stay near one of them.
# - NAF needs fewer steps than the on-policy methods here, and more seconds than TRPO and Batch PPO.
#
# ## Open questions
#
# 1. Plot the top of the fitted parabola against the width of the actions, from 0.05 to 1, for centres 0.5 and 0 and `better` = 1. Explain
#    in three sentences which widths find the higher top, and what this says about exploration noise.
# 2. Run NAF on Pendulum with `--replay-ratio` 0.25 and 1 and the same number of steps. Plot both curves against steps and against
#    seconds. Explain in three sentences which one you would use on a robot, and which one here.
#
# **Next**: lecture 14 plans locally and imitates globally. The parabola comes back as the cost of a linear world.
