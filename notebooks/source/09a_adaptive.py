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
# # 09a Steps, updates and the KL limit
#
# **Can a run choose its own batch size and step size?**
#
# <!-- loop -->
#
# Two settings must be chosen before a TRPO run starts. **steps/update** is the number of environment steps that the run
# collects before each update. A small batch is cheap, but its gradient is noisy. **max-KL** is how far an update may
# move the policy (the $\delta$ of lecture 04). In a blog post of 2016, Kevin Frans lets the run adapt both. A rule that
# changes settings by what it measures is a **controller**. In this lecture you build Frans's controller and test it.
#
# | in this notebook | in the package | in Frans's post of 2016 |
# |---|---|---|
# | `improved` | `minitrpo/adaptive.py` | "an improvement margin" |
# | `turn` | `minitrpo/adaptive.py` | "adapt the steps/update, adapt the max KL, or adapt both" |
# | `adapt` | `minitrpo/adaptive.py` | "the past 10 updates", compared with "the 10 before that" |
#
# *About 90 minutes in class with the exercises; the notebook runs in a few seconds. You need lectures 04 (KL limit), 05b
# (TRPO, seeds), 07b (episode requests) and 08 (intervals).*

# %%
import csv
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
from matplotlib import pyplot as plt

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState, Decision, clip
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, recorded, reveal
from minitrpo.course.statistics import mean_interval
from minitrpo.parallel.episode_pool import requests_for
from minitrpo.reports.plots import smooth
from minitrpo.experience.evaluation import half_interval

# %% [markdown]
# ## Few steps or many? It depends on what you count
#
# We recorded Reacher with four values of steps/update and one max-KL, 0.001. With 1,000 steps per update, 100,000 steps
# pay for 100 updates; with 20,000 they pay for 5. Which value is ahead after 100,000 *steps*? Which one is last after
# 60 *updates*?

# %% prediction="yes"
guess_by_steps = 1000  # steps/update that is ahead after 100,000 environment steps: 1000, 5000, 10000 or 20000
guess_by_updates = 20_000  # steps/update that is last after 60 updates


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_steps():
    """Draw the recorded runs over environment steps and over updates, and answer both predictions."""
    about = json.loads(recorded("origins.json").read_text())["09_steps"]
    curves = {}  # arm -> rows of update, environment steps, mean return and the ends of its interval
    for row in csv.DictReader(recorded("09_steps.csv").read_text().splitlines()):
        curves.setdefault(row.pop("arm"), []).append([float(cell) for cell in row.values()])
    _, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    ends = {}
    for (arm, rows), color in zip(curves.items(), (BLUE, ORANGE, GREEN, RED)):
        update, steps, mean, low, high = np.transpose(rows)
        for axis, x, most in zip(axes, (steps / 1e3, update), (300, 60)):
            near = x <= most
            axis.plot(x[near], mean[near], color=color, linewidth=2.5)
            axis.fill_between(x[near], low[near], high[near], color=color, alpha=0.2, linewidth=0)
            axis.text(1.02 * x[near][-1], mean[near][-1], arm, color=color, va="center", fontsize=11)
        ends[int(arm.split()[0].replace(",", ""))] = np.interp(100e3, steps, mean), np.interp(60, update, mean)
    for axis, label in zip(axes, ("environment steps (thousands)", "updates")):
        axis.set(xlabel=label)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("mean return")
    compare("ahead after 100,000 steps", guess_by_steps, max(ends, key=lambda arm: ends[arm][0]), "steps/update")
    compare("last after 60 updates", guess_by_updates, min(ends, key=lambda arm: ends[arm][1]), "steps/update")
    print(f"Reacher-v5, --preset paper, {about['seeds']} seeds; recorded {about['date']} on {about['machine']}")
    plt.show()


reveal((guess_by_steps, guess_by_updates), show_steps)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Over *steps* the smallest batch is far ahead. Many noisy updates in a roughly right direction beat one precise update
# of the same length. Over *updates* it is last, because a larger batch has a better gradient.
#
# </details>
#
# A run costs environment steps, so small batches are better on Reacher. On Swimmer, the post says, 1,000 steps are too
# few. The best value differs between tasks, so the post lets the run find it.
#
# ## The rule
#
# Each update reports the **mean return** of its episodes. Single updates are noisy, so the controller uses
# **windows** of 10 updates that do not overlap. When a window closes, the controller compares the sum of its 10 mean
# returns, `recent`, with the sum of the window before, `before`:
#
# - If the return **improved**, the settings work. The run saves steps (steps/update - 300) and takes larger steps
#   (max-KL + 0.0005).
# - If it did not improve, the run is **stuck**. It collects more data (+ 300) and is more careful (- 0.0005).
#
# In this lecture steps/update stays between 1,000 and 20,000, and max-KL between 0.001 and 0.02. (These limits are the package's.
# Frans's published `main.py` lowers steps/update only while they are above 1,200, and raises max-KL only while it is below 0.01.)
# An `AdaptiveConfig` holds these numbers:
# `window`, `margin`, `steps_by`, `kl_by`, `steps_limits`, `kl_limits`, and `mode`.
#
# What does "improved" mean? At first the post took `recent >= before`. Then it added a **margin**: `recent` must exceed
# `before` by at least 5 % of the *size* of `before`. The word *size* matters, because all returns of Reacher are
# negative. Fill in this table by hand, with a margin of 10 % (exactly 10 % is enough):
#
# | before | recent | improved? |
# |---|---|---|
# | 100 | 105 | |
# | -100 | -105 | |
# | -100 | -85 | |
# | -1 | 1 | |
# | 0 | 0 | |

# %% prediction="yes"
guess_table = (False, False, True, True, True)  # five times True or False

# %% [markdown]
# ### Exercise 1: `improved`

# %% exercise="improved"

# %% [markdown]
# The next cell compares your table with the rule, and with a shorter rule, `recent >= before * (1 + margin)`. It then
# draws two streams that get steadily worse. The second is the first, shifted below zero.

# %%
falling = 150 * 0.96 ** np.arange(16)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_rules():
    """Print the table under both rules, and draw what they make of a stream that falls."""
    cases = ((100, 105), (-100, -105), (-100, -85), (-1, 1), (0, 0))
    for (before, recent), guess in zip(cases, guess_table or [None] * 5):
        short, right = recent >= before * 1.1, mine.improved(recent, before, 0.1)
        print(
            f"before {before:>4}, recent {recent:>4}: you {guess!s:>5}, the rule {right!s:>5}, short rule {short!s:>5}"
        )
    _, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for axis, sums in zip(axes, (falling, falling - 200)):
        short = sums[1:] >= 1.1 * sums[:-1]
        ours = np.array([mine.improved(r, b, 0.1) for b, r in pairwise(sums)])
        where = np.arange(1, len(sums))
        axis.plot(sums, "o-", color=GREY, markersize=4, label="sum of the window")
        axis.plot(where, sums[:-1] + 0.1 * abs(sums[:-1]), color=BLUE, linewidth=3, label="threshold of the rule")
        axis.plot(where, 1.1 * sums[:-1], "--", color=ORANGE, label="threshold of the short rule")
        axis.plot(where[short], sums[1:][short], "^", color=ORANGE, markersize=9, label="short rule: improved")
        axis.set(xlabel="window", ylabel="sum of returns", xticks=range(0, 16, 3))
        axis.grid(alpha=0.3)
        print(f"the short rule says improved {short.sum()} times, your function {ours.sum()} times")
    axes[0].set_ylim(0)
    axes[0].legend(loc="lower left", fontsize=9)
    plt.show()


reveal(guess_table, show_rules)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The short rule calls -105 an improvement on -100, because -110, its threshold, lies *below* -100. The first version of
# Frans's margin had this bug. And 0 after 0 counts as improved.
#
# </details>
#
# ## Moving the settings
#
# `turn` carries out one decision. Steps and KL move in *opposite* directions, by `config.steps_by` and `config.kl_by`.
# `config.mode` is `"steps"`, `"kl"`, `"both"` or `"none"` and says which of them may move.
#
# The limits are given code: `clip(old, new, limits)` returns `new`, moved into the limits. A run that starts outside the
# limits, at 500 steps/update, comes in step by step, and never moves further out:

# %%
for old, new in ((1200, 900), (500, 800), (500, 200)):
    print(f"limits 1,000 to 20,000, from {old} to {new}: {clip(old, new, (1000, 20_000))}")

# %% [markdown]
# ### Exercise 2: `turn`

# %% exercise="turn"

# %% [markdown]
# The controller itself is a **pure function**: (state, mean return, config) goes in, (new state, decision) comes out.
# The state is an `AdaptiveState` with the two settings, `returns` (the *tuple* of the returns of the unfinished window)
# and `before` (`None` until there is one). The controller remembers nothing else, so a run can be resumed, or replayed
# from its log. `replace(state, returns=...)` returns a copy with that field changed.
#
# | after this update | decision | settings |
# |---|---|---|
# | the window is not full | `None`: no `Decision` at all | stay |
# | the first window is full | a `Decision` with `improved`, `before` and `threshold` `None` | stay |
# | a later window is full | a `Decision` with all its numbers; `threshold` is the level that `recent` had to reach | `turn` |
#
# A `Decision` holds `improved`, `before`, `recent`, `threshold` and the two new settings, in this order.
#
# ### Exercise 3: `adapt`

# %% exercise="adapt"

# %% [markdown]
# Here it is at work, with windows of 2 updates: mean returns twice -100, twice -104, twice -90, twice -88.

# %%
state = AdaptiveState(steps_per_update=5000, max_kl=0.005)
for mean_return in (-100, -100, -104, -104, -90, -90, -88, -88):
    state, decision = mine.adapt(state, mean_return, AdaptiveConfig(window=2))
    if decision is not None:
        print(decision)

# %% [markdown]
# ## A controller in noise
#
# To study the controller alone, we replace learning by a **stream** whose truth we know. At update `u` the true mean
# return is `level(u)`. The measured return has noise, which is smaller when more episodes are averaged. An episode has
# 1,000 steps here, and the returns of single episodes have a standard deviation of 30.


# %%
def simulate(level, config, updates=400, seed=0):
    """Return (measured return, steps/update, max-KL) per update, and {update: decision}."""
    rng, state, rows, decisions = np.random.default_rng(seed), AdaptiveState(5000, 0.005), [], {}
    for u in range(updates):
        episodes = requests_for(state.steps_per_update, 1000)
        measured = level(u) + 30 / np.sqrt(episodes) * rng.standard_normal()
        rows.append((measured, state.steps_per_update, state.max_kl))
        state, decision = mine.adapt(state, measured, config)
        if decision is not None and decision.improved is not None:
            decisions[u] = decision
    return np.array(rows), decisions


# %% [markdown]
# We begin with a **flat** stream, where the level is always 100, and no margin. Half of all decisions will say
# "improved". But in which order? What fraction of the decisions *reverses the one before it* (up after down, or down
# after up)?

# %% prediction="yes"
guess_undone = 0.5  # fraction of the decisions

# %%
_, decisions = simulate(lambda u: 100.0, AdaptiveConfig(margin=0.0), updates=budget(40_000, 10_000))
verdicts = np.array([d.improved for d in decisions.values()])


def show_undone():
    """Print how often a decision reverses the one before."""
    print(f"of {len(verdicts)} decisions {np.mean(verdicts):.0%} say improved")
    compare("fraction of decisions that reverse the one before", guess_undone, np.mean(verdicts[1:] != verdicts[:-1]))


reveal(guess_undone, show_undone)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Two thirds, not half. Two neighbouring decisions share a window, and a high sum in that window makes the next decision
# look like a decline. (Of three random numbers in a row, the middle one is the largest or the smallest in two of three
# cases.) This is what the post saw without a margin: steps/update went up and down on the spot.
#
# </details>
#
# Now we add the margin, and a second stream that **rises** by 1 at every update.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
streams = {"flat": lambda u: 100.0, "rising by 1 per update": lambda u: 100.0 + u}
figure, axes = plt.subplots(2, 2, figsize=(10, 5.4), sharex=True, height_ratios=(1, 1.6), layout="constrained")
for (top, bottom), (name, level) in zip(axes.T, streams.items()):
    for margin, color in ((0.0, ORANGE), (0.05, BLUE)):
        rows, _ = simulate(level, AdaptiveConfig(margin=margin), seed=1)
        top.plot(rows[:, 0], color=color, alpha=0.5, linewidth=0.7)
        bottom.step(range(400), rows[:, 1], color=color, linewidth=2.5)
        bottom.text(405, rows[-1, 1], f"margin {margin:g}", color=color, va="center", fontsize=10)
    top.plot([level(u) for u in range(400)], color="black", linewidth=1.5)
    top.text(405, level(399), "true level", va="center", fontsize=10)
    top.set(title=name, ylabel="mean return", ylim=(0, 1.25 * level(399) + 50))
    bottom.set(ylabel="steps/update", xlabel="update", ylim=(0, 16_000))
for axis in axes.flat:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# On the flat stream the margin does its work: the run gets more data. On the rising stream the return never stops
# improving. With the margin the controller still turns round near level 200, where 10 more per window is less than 5 %.
#
# ## A ratchet
#
# A HalfCheetah run that goes from a return of 100 to 3,000 has improved thirtyfold. What is the largest number of
# windows in a row that each improve on the last by 5 %?

# %% prediction="yes"
guess_windows = 200  # windows


# %%
def show_ratchet():
    """Print how many windows can improve by 5 %, and how many decisions the limits are apart."""
    compare("windows, each 5 % better, from 100 to 3,000", guess_windows, np.log(3000 / 100) / np.log(1.05))
    print(f"Reacher from -60 to -5: {np.log(60 / 5) / np.log(1 / 0.95):.0f} windows")
    print(f"decisions from 1,000 to 20,000 steps/update: {(20_000 - 1_000) / 300:.0f}")


reveal(guess_windows, show_ratchet)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Growth by 5 % cannot last. Apart from chance, a run has 50 to 70 good windows in its whole life; all others say
# "stuck". So in a long run steps/update *must* climb to its upper limit, and max-KL must sink to its lower limit, unless
# returns are near zero. The rule with margin is mostly a schedule: *start with small batches, let them grow*.
#
# </details>
#
# ## Five seeds, four ways
#
# We recorded Reacher-v5 (100,000 steps) and Swimmer-v5 (150,000 steps), five seeds each. Two ways adapt both settings
# from 2,000 steps/update and max-KL 0.005, with and without the margin. Two are fixed: at that start, and at 1,000 steps
# and 0.01. These runs are short, so a window has 5 updates instead of 10. Seeds are shared, so we take differences
# seed by seed, with Student's 95 % interval.

# %%
about = json.loads(recorded("origins.json").read_text())["09_adaptive"]
print(f"recorded {about['date'][:10]} on {about['machine']}: notebooks/recorded/training.py")
runs = {}
for row in csv.DictReader(recorded("09_adaptive.csv").read_text().splitlines()):
    numbers = [float(row[name]) for name in ("env_steps", "mean_return", "steps_per_update", "max_kl")]
    runs.setdefault((row["env"], row["arm"], int(row["seed"])), []).append(numbers)
runs = {key: np.array(rows).T for key, rows in runs.items()}
start, small = "fixed, max-KL 0.005", "fixed, 1,000 steps, max-KL 0.01"
free, margin = "both, margin 0", "both, margin 0.05"
lengths = {"Reacher-v5": 100_000, "Swimmer-v5": 150_000}


def returns_of(env, way, grid):
    """Return the smoothed returns of the five recorded runs at the same numbers of steps, (5, len(grid))."""
    some = [runs[env, way, seed] for seed in range(5)]
    return np.array([np.interp(grid, r[0], smooth(r[1], 5)) for r in some])


def differences(env, one, other):
    """Return the difference of two ways over the last fifth of the steps for each seed, (5,)."""
    grid = np.linspace(0.8 * lengths[env], lengths[env], 40)
    return (returns_of(env, one, grid) - returns_of(env, other, grid)).mean(axis=1)


for env in lengths:
    for way in (free, margin):
        ends = ", ".join(f"{runs[env, way, seed][2, -1]:.0f}" for seed in range(5))
        print(f"{env}, {way:<17} steps/update at the end: {ends}")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
LOOKS = {start: (GREY, "fixed 2,000 / 0.005"), small: (GREEN, "fixed 1,000 / 0.01")}
LOOKS |= {free: (ORANGE, "adapted, no margin"), margin: (BLUE, "adapted, margin 5 %")}
PAIRS = {
    "margin - fixed 2,000 / 0.005": (margin, start),
    "margin - fixed 1,000 / 0.01": (margin, small),
    "margin - no margin": (margin, free),
}
figure, axes = plt.subplots(2, 2, figsize=(11, 6.2), height_ratios=(2.2, 1), layout="constrained")
for (top, bottom), (env, steps) in zip(axes.T, lengths.items()):
    grid = np.linspace(5000, steps, 60)
    for way, (color, label) in LOOKS.items():
        values = returns_of(env, way, grid)
        middle, half = values.mean(axis=0), half_interval(values)
        top.plot(grid / 1e3, middle, color=color, linewidth=2.5, label=label)
        top.fill_between(grid / 1e3, middle - half, middle + half, color=color, alpha=0.15, linewidth=0)
    top.set(title=env, ylabel="mean return", xlabel="environment steps (thousands)")
    for row, (words, pair) in enumerate(PAIRS.items()):
        found = mean_interval(differences(env, *pair))
        bottom.plot([found.low, found.high], [row, row], color=LOOKS[pair[1]][0], linewidth=3)
        bottom.plot(found.middle, row, "o", color=LOOKS[pair[1]][0])
        print(f"{env}, last fifth, {words}: {found:+.3g}")
    bottom.axvline(0, color="black", linewidth=1)
    bottom.set(yticks=range(3), xlabel="difference over the last fifth", ylim=(2.5, -0.5))
    bottom.set_yticklabels(PAIRS if bottom is axes[1, 0] else [])
for axis in axes.flat:
    axis.grid(alpha=0.3)
axes[0, 0].legend(loc="lower right", fontsize=10)
plt.show()

# %% [markdown]
# - **Reacher**: the controller ends above its own start, but below 1,000 steps and 0.01, kept fixed.
# - **Swimmer**: the setting that was best on Reacher is the worst one here, since 1,000 steps are a single episode. The
#   controller ends above both fixed settings, its own start and this one: both intervals lie above 0.
# - **The margin**: there is no significant difference on either task. This does not show that the margin is without effect: on
#   Swimmer the interval reaches from 28 worse to 6 better. On Reacher the two ways are *the same run*, to the
#   bit, until a window is better by less than 5 %: in one seed after 82,000 of 100,000 steps, in four never.
#
# So the controller was better than its own start on both tasks. It was worse than the best fixed setting on Reacher, and better
# than both fixed settings that we recorded on Swimmer. A third fixed setting could be better still; we did not search for it.
#
# ## Bug hunt
#
# The published code of 2016 has no special case for the first window. Here is its idea inside a controller that is
# otherwise yours. `hunt` says what happens; find the line and correct it in the cell.


# %%
def suspect(state: AdaptiveState, value: float, config: AdaptiveConfig):
    collected = (*state.returns, value)
    if len(collected) < config.window:
        return replace(state, returns=collected), None
    total = sum(collected)
    last = -1e6 if state.before is None else state.before
    good = mine.improved(total, last, config.margin)
    steps, kl = mine.turn(state.steps_per_update, state.max_kl, good, config)
    made = Decision(good, state.before, total, last + config.margin * abs(last), steps, kl)
    return AdaptiveState(steps, kl, (), total), made


_ = hunt("adapt", suspect)

# %% [markdown] solution="only"
# **The bug**: `last = -1e6`. The first window always "improves", so the settings move before anything has been
# compared. Where `state.before` is `None`, the controller must keep the settings and report `improved = None`.

# %% [markdown]
# ## Summary
#
# - Per step small batches learn faster; per update large batches do. The best value depends on the task.
# - The controller is a pure function of its state, so a run can be resumed and replayed. A margin must be a part of the
#   *size* of a return, so that it is right below zero.
# - Without a margin, two of three decisions in noise reverse the one before. With a margin, a long run ends at the
#   largest batch and the smallest KL.
# - In our short runs the controller beats both fixed settings on Swimmer. On Reacher it beats its own start and is behind the
#   better fixed setting.
#
# ## Open questions
#
# 1. On the flat stream keep the settings fixed (`mode="none"`). Plot the fraction of "improved" decisions against the
#    margin, from 0 to 0.2, with windows of 10 and of 40 updates. Explain in three sentences what a margin changes and
#    what a longer window changes.
# 2. A 95 % interval finds a true gain in 80 % of cases if there are about $7.8 \, (\text{sd} / \text{gain})^2$ pairs of
#    runs, where sd is the standard deviation of a pair's difference. Take the sd of
#    `differences("Swimmer-v5", margin, start)`, and plot the number of seeds against gains from 5 to 100. Explain in
#    three sentences what five seeds can show.
#
# ## Quiz
#
# **1.** A task's returns lie between -1 and 1 and stay close to 0. What does a margin of 5 % do there?
#
# <details><summary>Answer</summary>
#
# Almost nothing. 5 % of nearly 0 is nearly 0, so the rule follows the noise, as without a margin. Tempting: "it demands
# 0.05". It demands 5 % of the last window's *size*.
#
# </details>
#
# **2.** A run with margin has been stuck for 70 windows. What do you expect of its settings, and of its policy?
#
# <details><summary>Answer</summary>
#
# The settings are at their limits: the largest batch, the smallest KL. The policy may still improve by 2 % a window:
# "stuck" means "not 5 % better". Tempting: "it has stopped learning".
#
# </details>
#
# **3.** "The interval of the difference contains 0, so A and B are equally good." Right?
#
# <details><summary>Answer</summary>
#
# No. The interval says which differences the runs allow. For the margin on Swimmer, for example, these range from a loss of
# 28 to a gain of 6. No evidence of a difference is not evidence of no difference.
#
# </details>
#
# **Next**: returns are late and noisy. Lecture 09b measures the noise of a step itself.
