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
# # 13a Replay
#
# **May old experience be used again?**
#
# *Elective. It needs lectures 05a, 10 and 11b.*
#
# <!-- loop -->
#
# TRPO plays thousands of steps, learns from them once, and throws them away. In this lecture the steps are kept. You
# will find out which part of a step grows old, and count how often a program may learn from the same step.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `updates_due`, `ReplayBuffer`, `draw` | `minitrpo/experience/replay_buffer.py` | Lin 1992; Mnih et al. 2015 |
# | DQN | `minitrpo/algorithms/off_policy/dqn.py` | Mnih et al. 2015 |
#
# *75 minutes in class with the exercise; the notebook itself runs in a few seconds. You need: lectures 05a, 10 and
# 11b.*

# %%
import csv

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, compare, recorded, reveal
from minitrpo.course.seeds import difference_in_words, family_of, ratio_in_words
from minitrpo.experience.replay_buffer import ReplayBuffer, draw

# %% [markdown]
# ## What grows old
#
# We go back to lecture 05a's corridor: places 1 to 9, and leaving it on the right pays 1. Now the walker decides. In
# each place it takes one step to the right ("on"), or it stops; stopping pays 0.3 and ends the walk. The discount is
# $\gamma = 0.9$. A walker in place 5 that never stops receives $0.9^4 = 0.66$, so walking on is the better choice
# there.
#
# $Q(s, a)$ is the expected discounted return if the walker does $a$ in $s$ and follows its policy afterwards (lecture
# 11b). All the experience that we have comes from an old policy that tossed a coin in each place. We can average
# three targets over it:
#
# | target for "on" | what it takes from memory |
# |---|---|
# | **return**: all rewards that followed, discounted | all steps to the end |
# | **one step**: $r + \gamma \max_{a'} Q(s', a')$ | $s, a, r, s'$ |
# | **$n$ steps**: $n$ rewards that followed, then $\gamma^n \max_{a'} Q$ of the state there | $n$ steps |
#
# **What is walking on from place 5 worth by the returns, and what by the one-step target?** Compute it on paper, from
# the right. In place 9 the coin receives 1 or 0.3 with equal probability, 0.65 on average. So the returns say that
# walking on from place 8 is worth $0.9 \cdot 0.65$. The one-step target has a maximum where the coin has a mean.

# %% prediction="yes"
guess_return = 0.5  # truth: 0.66
guess_one = 0.5  # truth: 0.66

# %%
PLACES, STOP, EXIT, GAMMA = 9, 0.3, 1.0, 0.9


def one_more_step(value):
    """Return what walking on is worth in each place, if the next place is worth value; the exit pays 1."""
    return np.append(GAMMA * value[1:], EXIT)


def learned(n, walks_on):
    """Return Q(s, on), the mean of n-step targets over walks of a policy that walks on with this probability."""
    on = np.zeros(PLACES)
    for _ in range(PLACES):  # the targets contain Q: repeat until nothing changes
        value = np.maximum(on, STOP)  # max over the two actions
        for _ in range(n - 1):  # the steps in between are the old policy's
            value = walks_on * one_more_step(value) + (1 - walks_on) * STOP
        on = one_more_step(value)
    return on


truth = learned(1, 1.0)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_corridor(n=2, walks_on=0.5):
    """Redraw Q by place, and Q of place 5 by n."""
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained", sharey=True)
    on, places = learned(n, walks_on), np.arange(1, PLACES + 1)
    left.plot(places, truth, color=GREY, linewidth=6, alpha=0.5, label="truth")
    left.plot(places, on, "o-", color=BLUE, label=f"learned, n = {n}")
    wrong = on < STOP
    left.plot(places[wrong], on[wrong], "X", color=RED, markersize=13, label="greedy policy stops here")
    left.set(xlabel="place", ylabel="Q(s, on): discounted return", xticks=places, title="each place")
    middle = np.array([learned(k, walks_on)[4] for k in places])
    right.plot(places, middle, "o-", color=BLUE)
    right.plot([n], [middle[n - 1]], "o", color="black", markersize=10)
    right.axhline(truth[4], color=GREY, linewidth=6, alpha=0.5)
    right.set(xlabel="n, steps that a target looks ahead (9: the whole return)", xticks=places, title="place 5")
    right.set_ylabel("Q(5, on)")
    right.tick_params(labelleft=True)
    for axis in (left, right):
        axis.axhline(STOP, color=ORANGE, linestyle="--", label="stop: 0.3" if axis is left else None)
        axis.set_ylim(0, 1.15)
        axis.grid(alpha=0.3)
    left.legend(fontsize=10, loc="upper left")
    plt.suptitle(f"the old policy walks on with probability {walks_on:.2f}", fontsize=11)
    plt.show()


def show_corridor():
    """Answer the prediction, and draw it."""
    compare("place 5, walking on, by returns", guess_return, learned(PLACES, 0.5)[4])
    compare("place 5, walking on, by one step", guess_one, learned(1, 0.5)[4])
    print(f"place 5, walking on, by two steps: {learned(2, 0.5)[4]:.2g}")
    draw_corridor()


reveal((guess_return, guess_one), show_corridor)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The one-step target finds the truth from the coin's experience. It does not use what the coin did next, since the
# maximum puts the best action in its place. Returns describe the coin, which often stops too early; by them, stopping
# in place 5 looks better than walking on. With two steps $Q$ is already too low, because each target contains one
# decision of the coin.
#
# A transition $(s, a, r, s')$ is a fact about the world, and it stays true. The rewards after it depend on the policy
# that acted; they grow old.
#
# </details>
#
# A method is **off-policy** if it can learn about one policy from the experience of another. The one-step target is
# off-policy. Returns and GAE, and with them TRPO and PPO, are **on-policy**. A policy that always takes the action of
# the largest $Q$ is **greedy**.
#
# The harm depends on how old the old policy is. Drag `walks_on` (this needs a running kernel): from which probability
# does the greedy policy stop nowhere, if $n = 3$? When is $Q$ right?

# %%
_ = ipywidgets.interact(
    draw_corridor,
    n=ipywidgets.IntSlider(min=1, max=9, value=2),
    walks_on=ipywidgets.FloatSlider(min=0, max=1, step=0.05, value=0.5, continuous_update=False),
)

# %% [markdown]
# <details><summary>After you have dragged: what it means</summary>
#
# From about 0.9 on the greedy policy stops nowhere, although $Q$ of place 1 is 0.32 instead of 0.43. $Q$ is right
# only at 1.
#
# </details>
#
# ## The replay buffer
#
# A **replay buffer** keeps the newest transitions $(s, a, r, s', \text{terminated})$ in a ring: a new transition
# overwrites the oldest one. Each update draws a minibatch, with the same probability for each transition in the ring.
# The **replay ratio** is the number of updates per environment step. No update is made during a *warm-up*, until the
# ring holds enough transitions.

# %% [markdown]
# **Algorithm: DQN** (deep Q-network)
#
# Repeat:
# 1. play some steps: with probability $\epsilon$ a random action, else $\arg\max_a Q_\theta(s, a)$; write
#    $(s, a, r, s', \text{terminated})$ into the ring;
# 2. after the warm-up, as often as the replay ratio says (exercise 1):
#    1. draw a minibatch uniformly from the ring;
#    2. $y = r + \gamma \max_{a'} Q_{\theta^-}(s', a')$, or $y = r$ where the task terminated;
#    3. $\theta \leftarrow \theta - \text{Adam}\big(\nabla_\theta \, \text{mean of} \, \tfrac12 (Q_\theta(s, a) - y)^2\big)$;
# 3. after a fixed number of updates: $\theta^- \leftarrow \theta$.
#
# The targets use an older copy $\theta^-$, so that they stay still while $\theta$ moves towards them.
#
# > **You should know.** The package's DQN looks 8 steps ahead, not one (Hessel et al. 2018 look 3 ahead). By the corridor this is
# > wrong; but the policies in its ring are close to the current one, and rewards travel back eight steps in one update.

# %% [markdown]
# ### Exercise 1: `updates_due`

# %% exercise="updates_due"

# %% [markdown]
# Below, steps arrive in rounds of 64, as from 4 environments that play 16 steps each. The replay ratio is 0.25, and a
# minibatch holds 128 transitions. **How often does the program learn from one transition, from its arrival until it
# is overwritten, if the ring holds 2,000 transitions? And if it holds 4,000?**

# %% prediction="yes"
guess_small = 1  # times, ring of 2,000
guess_large = 2  # times, ring of 4,000


# %%
def life(capacity, ratio=0.25, batch=128, rounds=400, warm_up=1000):
    """Return how often each step of the middle of a run was drawn, and the ages of all that was drawn late."""
    buffer, rng = ReplayBuffer(1, capacity, observation_size=1, action_size=0), default_rng(0)
    drawn, ages, done = np.zeros(64 * rounds, int), [], 0
    for k in range(rounds):
        numbers = np.arange(64 * k, 64 * (k + 1))  # a step carries its number, as a reward
        rows = dict.fromkeys(("observations", "next_observations"), numbers[:, None])
        buffer.add(0, rows | dict.fromkeys(("actions", "rewards", "terminated", "discounts"), numbers))
        steps = 64 * (k + 1)
        for _ in range(mine.updates_due(steps, warm_up, ratio, done)):
            found = buffer.take(draw(rng, batch, buffer.sizes))["rewards"].astype(int)
            np.add.at(drawn, found, 1)
            ages.append(steps - 1 - found.ravel())
            done += 1
    return drawn[64 * rounds // 3 : 64 * rounds // 2], np.concatenate(ages[len(ages) // 3 :])


lives = {capacity: life(capacity) for capacity in (2000, 4000)}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_lives():
    """Answer the prediction; draw how often a step is drawn at each age."""
    _, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
    for guess, (capacity, (drawn, ages)), color in zip((guess_small, guess_large), lives.items(), (BLUE, ORANGE)):
        compare(f"ring of {capacity:,d}: a transition is drawn", guess, drawn.mean(), "times")
        print(f"  what is drawn is {ages.mean():,.0f} steps old on average")
        counts, edges = np.histogram(ages, np.arange(0, 4401, 200))
        axis.stairs(counts * drawn.mean() / len(ages) * 5, edges, color=color, linewidth=2)
        place = (capacity - 100, drawn.mean() / capacity * 1000 + 0.6)
        axis.text(*place, f"ring of {capacity:,d}: area {drawn.mean():.0f}", color=color, ha="right", fontsize=11)
    axis.set(xlabel="age of a transition (steps)", ylabel="draws per 1,000 steps", ylim=(0, 19))
    axis.grid(alpha=0.3)
    plt.show()


reveal((guess_small, guess_large), show_lives)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The answer is $\text{ratio} \times \text{batch} = 32$ for both rings: the program makes 32 draws per new step, and
# on average each transition gets its share. A larger ring spreads the draws over a longer life. The transitions that
# are drawn are then older, and they come from more different policies.
#
# </details>
#
# Now sixteen environments fill the ring instead of four. A round brings four times as many steps, and the learner
# still makes the same number of updates *per round*. **How often does the program learn from one transition now?**

# %% prediction="yes"
guess_quarter = 32  # times, with four times as many environments

# %% [markdown]
# Does the number of environments matter, or the replay ratio? The figure shows recorded runs of DQN on CartPole with
# 4 and 16 environments, and with ratios of 1/4 and 1/16. Before you look: which of the four groups should be alike,
# if only the ratio matters?

# %% jupyter={"source_hidden": true} tags=["hide-input"]
ratios = {}  # (environments, ratio) -> the mean of the last 100 returns, per seed
for row in csv.DictReader(recorded("13_ratio.csv").read_text().splitlines()):
    ratios.setdefault((int(row["num_envs"]), float(row["replay_ratio"])), []).append(float(row["last_return"]))


def show_ratios():
    """Answer the prediction; draw what was recorded."""
    compare("four times as many environments, as many updates: drawn", guess_quarter, 128 * 0.25 / 4, "times")
    print("16 environments minus 4, ratio 1/4: ", difference_in_words(ratios[16, 0.25], ratios[4, 0.25]))
    print("16 environments minus 4, ratio 1/16:", difference_in_words(ratios[16, 0.0625], ratios[4, 0.0625]))
    print("ratio 1/16 minus 1/4, 4 environments: ", difference_in_words(ratios[4, 0.0625], ratios[4, 0.25]))
    print("ratio 1/16 minus 1/4, 16 environments:", difference_in_words(ratios[16, 0.0625], ratios[16, 0.25]))
    _, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for y, ((envs, ratio), last) in enumerate(sorted(ratios.items(), key=lambda item: (-item[0][1], item[0][0]))):
        color = BLUE if ratio == 0.25 else ORANGE
        axis.plot(np.sort(last), y + np.linspace(-0.15, 0.15, len(last)), "o", color=color, alpha=0.7, markersize=8)
        axis.plot([np.mean(last)], [y], "|", color="black", markersize=26)
        axis.text(150, y, f"{envs} environments, ratio 1/{1 / ratio:.0f}", color=color, va="center", ha="right")
    axis.set(xlabel="mean of the last 100 returns (dots: five seeds; line: their mean)", xlim=(152, 502))
    axis.set(ylim=(3.5, -0.5), yticks=[])
    axis.grid(alpha=0.3, axis="x")
    plt.show()


reveal(guess_quarter, show_ratios)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# At the same ratio there is no significant difference between 16 and 4 environments (at 1/16 the interval is wide). A
# quarter of the ratio costs about 175, with either number of environments. So more environments can make each step
# less useful: they bring more steps per second, and if the learner keeps its pace, it uses each step less often.
#
# <small>Recorded: five seeds each, 60,000 steps; the last 100 returns contain up to four fifths of all steps, so
# their mean also depends on how early a run learned (`recorded/origins.json`).</small>
#
# </details>
#
# With several ranks the ring may be **shared** (all transitions travel to the root) or **sharded** (each rank keeps
# its own, and gradients are pooled as in lecture 10). `draw` gives the same minibatch in both cases: it draws at
# random how many rows each shard contributes.
#
# ## Is it worth it?
#
# Lecture 11b's n-step Q and DQN both learn $Q$, and both look several steps ahead here. n-step Q uses each step once;
# DQN uses each step 32 times. **How many times as many steps of CartPole does n-step Q need to reach a mean return of
# 475?** More than 1, but is it 32?

# %% prediction="yes"
guess_replay = 32  # steps of n-step Q / steps of DQN

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family = family_of(recorded("family.csv"))


def show_replay():
    """Answer the prediction; draw the steps of every seed."""
    steps = {name: family["CartPole-v1", name].steps for name in ("dqn", "n-step-q", "one-step-q")}
    found = np.exp(np.log(steps["n-step-q"]).mean() - np.log(steps["dqn"]).mean())
    compare("steps of n-step Q / steps of DQN", guess_replay, found)
    print("  n-step Q / DQN:", ratio_in_words(steps["n-step-q"], steps["dqn"]))
    _, axis = plt.subplots(figsize=(8, 2.8), layout="constrained")
    names = {"dqn": "DQN (replay)", "n-step-q": "n-step Q", "one-step-q": "one-step Q"}
    for y, (name, values) in enumerate(steps.items()):
        got = np.sort(values[np.isfinite(values)])
        places = y + np.linspace(-0.15, 0.15, len(got))
        axis.plot(got / 1000, places, "o", color=GREEN if name == "dqn" else BLUE, alpha=0.7, markersize=8)
        if len(got) < len(values):
            axis.text(495, y + 0.05, f"{len(values) - len(got)} of {len(values)} never", ha="right", fontsize=10)
    axis.set(xscale="log", xlim=(8, 510), xticks=(10, 30, 100, 300), xticklabels=(10, 30, 100, 300))
    axis.set(xlabel="thousand environment steps to a mean return of 475 (five seeds each)", ylim=(2.5, -0.5))
    axis.set_yticks(range(3), [names[name] for name in steps])
    axis.minorticks_off()
    axis.grid(alpha=0.3, axis="x")
    plt.show()


reveal(guess_replay, show_replay)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# It needs about 4 times as many steps. The 32nd lesson from a transition teaches less than the first. DQN also pays
# for its lessons in seconds, since it computes an update after every four steps.
#
# <small>Recorded, default settings, which were not tuned with equal care; every 5,000 steps (20,000 for Q without
# replay) twenty fresh episodes were played.</small>
#
# </details>
#
# ## Bug hunt
#
# Many programs with one environment make an update whenever the step counter is a multiple of 4. In this program the
# steps arrive in rounds. `hunt` shows a case; find the line and correct it.


# %%
def suspect(steps: int, warm_up: int, ratio: float, done: int) -> int:
    every = max(1, round(1 / ratio))
    return int(steps > warm_up and steps % every == 0)


_ = hunt("updates_due", suspect)

# %% [markdown] solution="only"
# **The bug**: the function is called once per round, and makes at most one update then. With rounds of 64 steps the
# ratio is 1/64, whatever the user has asked for, and nothing crashes. The repair counts what all steps are worth,
# minus the updates that were made.

# %% [markdown]
# ## Quiz
#
# **1.** Two ranks hold 1,000 and 9,000 transitions. Each draws half of the minibatch from its own shard. What is
# wrong?
#
# <details><summary>Answer</summary>
#
# A row of the small shard is drawn nine times as often as a row of the large one. It is lecture 10's mean of means
# again. `draw` takes the number of rows of each shard from a multinomial distribution, with the sizes of the shards
# as weights.
#
# </details>
#
# **2.** Why can PPO not simply keep the batches of the last ten updates?
#
# <details><summary>Answer</summary>
#
# Its advantages are sums over what the old policy did afterwards. The ratio corrects a single action; it corrects
# neither those sums nor the states that were visited (lecture 12).
#
# </details>
#
# **3.** You have ten times as many environments and the same learner. The log shows ten times as many environment
# steps per second. What has improved?
#
# <details><summary>Answer</summary>
#
# Perhaps nothing. The replay ratio is a tenth, and the learner makes as many updates per second as before. Look at
# updates per second *and* steps per second.
#
# </details>
#
# ## Summary
#
# - A transition stays true. The rewards that followed it belong to the policy that acted.
# - The one-step target is off-policy; every further step in a target is on-policy.
# - A program draws each transition $\text{ratio} \cdot \text{batch}$ times; the size of the ring changes only the age.
# - If you add environments, keep the replay ratio fixed.
#
# ## Open questions
#
# 1. Plot $Q(1, \text{on})$ against $n = 1, \dots, 9$ for `walks_on` = 0.5, 0.8 and 1, with a line at 0.3. Explain in three sentences
#    for which $n$ the greedy policy stops in place 1, and why the curves fall.
# 2. Plot the mean age of what `life` draws against capacities from 500 to 8,000. Explain in three sentences the slope, and what an
#    older minibatch changes for one-step and for 8-step targets.
#
# **Next**: in lecture 13b the action is a number, and the maximum over all actions is read off a parabola.
