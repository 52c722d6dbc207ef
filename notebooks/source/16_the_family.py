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
# # 16 The family
#
# **How do all these parallel learners relate to each other, and which of them is better on CartPole?**
#
# *Elective. It needs lectures 05c and 10 to 14.*
#
# <!-- loop -->
#
# You have met a dozen ways to learn in parallel. Today every member of the family (every algorithm of this course) gets its place on one map.
# Then you read a table of all of them with the functions of lecture 05c.
#
# | in this notebook | in the package | source |
# |---|---|---|
# | the map | `minitrpo/algorithms/registry.py` | Berkeley lecture slides: "Online or batch-mode? Synchronous or asynchronous?" |
# | all runs | `experiments/family.py` | `docs/family.md` |
#
# *45 minutes in class, without exercises; the notebook itself runs in seconds. You need lectures 10 to 14, as far as
# you have met their members, and 05c for p values.*

# %%
import numpy as np
from IPython.display import HTML, display
from matplotlib import pyplot as plt

from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, compare, recorded, reveal
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.course.seeds import corrected, difference_in_words, family_of, rank_chance, ratio_in_words
from minitrpo.course.statistics import mean_interval

# %% [markdown]
# ## What travels, and when
#
# Take one update of any member apart and ask five questions. **When** does it learn: after a batch, every $n$ steps, or
# at every step? Do ranks **wait** for each other? **What travels**? **Who learns**? **From which data**? For TRPO the
# answers are: after a batch; with a barrier; samples; the root, or all ranks with a share each; on-policy. Answer for
# A3C, DQN and Gorila on paper before you go on.
#
# A message also has a weight. On CartPole a sample is 7 numbers: 4 observed, an action, a reward, a mask. A gradient has
# as many numbers as the network has weights: with 64-64 hidden units,
# $4 \cdot 64 + 64 + 64 \cdot 64 + 64 + 64 \cdot 2 + 2$. **How many steps must a rank play per message until its samples
# weigh as much as one gradient?**

# %% prediction="yes"
guess_steps = 5  # steps per message

# %% jupyter={"source_hidden": true} tags=["hide-input"]
COLUMNS = ("member", "when it learns", "in step by", "what travels", "who learns", "its data")


def show_table():
    """Answer the prediction; show where every member stands."""
    weights = 4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2
    compare("steps whose samples weigh as much as a gradient", guess_steps, weights / 7)
    rows = [(f"<code>{name}</code>", d.when, d.sync, d.travels, d.learns, d.data) for name, d in ALGORITHMS.items()]
    head = "".join(f"<th>{column}</th>" for column in COLUMNS)
    body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
    display(HTML(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"))


reveal(guess_steps, show_table)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A batch of thousands of steps is lighter as a gradient; A3C's five steps are lighter as samples. A3C sends gradients to
# share the *work* of computing them, not to send less. With pictures the border is lower, but not below five: a sample
# of Atari has 28,224 numbers, and the network of Mnih et al. 2015 has about 1.7 million, as many as 60 samples.
#
# A target with max is **off-policy** even if its data is fresh (lecture 11b). "Late" is lecture 10's: the step was
# on-policy when it was played, and no longer when its gradient arrived.
#
# </details>
#
# The map has six fields. Two are empty: which ones, and why?

# %% jupyter={"source_hidden": true} tags=["hide-input"]
KINDS = {  # in a member's data -> how it is drawn; the first that fits
    "models": (GREEN, "D", "on-policy, with models"),
    "late": (PURPLE, "v", "on-policy, but late"),
    "replay": (ORANGE, "s", "off-policy, replayed"),
    "off-policy": (RED, "^", "off-policy, fresh"),
    "on-policy": (BLUE, "o", "on-policy"),
}
kind_of = {name: next(kind for kind in KINDS if kind in design.data) for name, design in ALGORITHMS.items()}
WHEN, SYNC = ("batch", "every n steps", "every step"), ("barrier", "asynchronous")


def draw_map():
    """Draw every member in the field of when it learns and who waits."""
    _, axis = plt.subplots(figsize=(9, 7.0), layout="constrained")
    for i, when in enumerate(WHEN):
        for j, sync in enumerate(SYNC):
            here = [name for name, d in ALGORITHMS.items() if (d.when, d.sync) == (when, sync)]
            for place, name in enumerate(sorted(here, key=lambda name: list(KINDS).index(kind_of[name]))):
                color, marker, _ = KINDS[kind_of[name]]
                face = color if "samples" in ALGORITHMS[name].travels else "white"
                y = j - 0.4 + 0.13 * place
                axis.plot(i - 0.42, y, marker, color=color, markerfacecolor=face, markersize=10, markeredgewidth=2)
                axis.text(i - 0.34, y, name, fontsize=13, va="center")
    for color, marker, text in KINDS.values():
        axis.plot([], [], marker, color=color, markersize=10, label=text)
    axis.plot(
        [], [], "o", color=GREY, markerfacecolor="white", markeredgewidth=2, markersize=10, label="gradients travel"
    )
    axis.plot([], [], "o", color=GREY, markersize=10, label="samples travel")
    axis.set(xlim=(-0.5, 2.5), ylim=(1.5, -0.5), xlabel="when it learns", ylabel="how ranks keep step")
    axis.set_xticks(range(3), WHEN, fontsize=12)
    axis.set_yticks(range(2), SYNC, fontsize=12, rotation=90, va="center")
    axis.hlines(0.5, -0.5, 2.5, color=GREY)
    axis.vlines((0.5, 1.5), -0.5, 1.5, color=GREY)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=10)
    plt.show()


draw_map()

# %% [markdown]
# *Filled markers: samples travel, or may. Open markers: only gradients do. TRPO has the place of its paper. Its
# default preset learns every 512 steps; a few environments have their own number, such as 2,048.*
#
# The field of asynchronous batches is empty: with many more episodes than ranks the wait is a small part of the time
# (lecture 07b), so there is little to gain. An asynchronous update at every step is a setting of other members, $n = 1$
# (lecture 11a).
#
# ## What the table can prove
#
# Every member has five runs, one for each seed. A run needs some number of steps to reach a goal, and some runs never reach it, so
# means are useless. Lecture 05c used the order of the runs instead: `rank_chance` returns the probability that luck alone separates two groups of
# runs as clearly. Five against five give at best $2 / 252 = 0.008$. One member is now compared with thirteen others, so `corrected` applies
# Holm's correction. The smallest corrected value is $13 \cdot 0.008 = 0.10$. So we know before we look: with five seeds and this test, no
# difference in this table can be significant at 0.05. Six seeds would have been enough. We print the p values all the same, because they say how far
# apart the runs are, and because a large p value does not mean "equal".
#
# ## The table
#
# The table has the members that can play CartPole, each **as typed**: with its preset and no other option (`trpo` with
# `--total-steps`).
#
# *You should know: twenty new episodes are played every 5,000 steps (every 20,000 in the long runs of one-step Q, n-step Q
# and Sarsa), and nothing is learned from them. A member that needs less than 5,000 steps looks like one that
# needs 5,000. The presets were chosen on other seeds of the same tasks, some with more care than others.*

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family = family_of(recorded("family.csv"))
played_by = {name: runs for (env, name), runs in family.items() if env == "CartPole-v1"}
order = sorted(played_by, key=lambda name: (np.median(played_by[name].steps), name))
first = played_by[order[0]]
chance_of = dict(zip(order[1:], corrected([rank_chance(played_by[n].steps, first.steps) for n in order[1:]])))

print(f"{len(order)} members, five seeds each; goal: a mean of 475 over twenty fresh episodes")
print(f"\n{'':17s} {'arrived':8s} {'steps':>9s} {'p, against':>16s} {'run of':>9s}  return in the end")
print(f"{'':17s} {'':8s} {'median':>9s} {order[0]:>16s} {'steps':>9s}  mean (95 %)")
for name in order:
    runs, last = played_by[name], mean_interval(played_by[name].last)
    steps = f"{np.median(runs.steps):,.0f}" if np.isfinite(np.median(runs.steps)) else "-"
    p = f"{chance_of[name]:.2g}" if name in chance_of else ""
    arrived = f"{np.isfinite(runs.steps).sum()} of {len(runs.steps)}"
    print(f"{name:17s} {arrived:8s} {steps:>9s} {p:>16s} {np.median(runs.lengths):>9,.0f}  "
          f"{last.middle:.0f} ({max(last.low, 0):.0f} to {min(last.high, 500):.0f})")  # fmt: skip
proven = [name for name in order[1:] if chance_of[name] < 0.05]
print(f"\nlater than {order[0]}, corrected p < 0.05:", ", ".join(proven) or "none: no significant difference")


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_seeds():
    """Draw the steps of every seed of every member."""
    _, axis = plt.subplots(figsize=(9, 0.36 * len(order) + 1.2), layout="constrained")
    never = 2 * max(runs.lengths.max() for runs in played_by.values())
    for place, name in enumerate(order):
        color, marker, _ = KINDS[kind_of[name]]
        steps = np.sort(np.minimum(played_by[name].steps, never))
        spread = place + np.linspace(-0.25, 0.25, len(steps))  # runs of the same steps would hide each other
        axis.plot(steps, spread, marker, color=color, alpha=0.7, markersize=6)
        axis.plot(np.median(steps), place, "|", color="black", markersize=18)
    axis.set(xscale="log", xlabel="environment steps to a mean of 475; at the right edge: never in this run")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.set_yticks(range(len(order)), order, fontsize=11)
    axis.invert_yaxis()
    axis.grid(alpha=0.3)
    plt.show()


draw_seeds()

# %% [markdown]
# *Colours and markers are those of the map; the black line is the median.*
#
# Read the p values before you believe an order. A large p value does not mean "equal": five seeds can miss a large
# difference. The member on top was chosen by looking at these very runs, so each p value is even a little too small. The last
# column compares runs of different lengths: it says where a preset ends, not which member learns better.
#
# Two members are compared with TRPO on Reacher, to a mean return of -8 (new episodes every 10,000 steps):

# %% jupyter={"source_hidden": true} tags=["hide-input"]
trpo = family["Reacher-v5", "trpo"]
for name in ("guided-policy-search", "batch-ppo"):
    runs = family["Reacher-v5", name]
    print(f"{name} ({len(runs.steps)} seeds): median {np.median(runs.steps):,.0f} steps to the goal,", end=" ")
    print(f"TRPO ({len(trpo.steps)}) {np.median(trpo.steps):,.0f}")
    print(f"  steps, {name}'s / TRPO's: {ratio_in_words(runs.steps, trpo.steps)}")
    print(f"  return in the end {runs.last.mean():.2f}, TRPO's {trpo.last.mean():.2f}:", end=" ")
    print(difference_in_words(runs.last, trpo.last))

# %% [markdown]
# Guided policy search fits models of the environment, TRPO and Batch PPO do not. In the numbers of steps to the goal there is no
# significant difference. Five seeds do not show that these numbers are equal: the intervals allow that guided policy search needs
# half of TRPO's steps, or 1.6 times as many. In the end guided policy search has a lower return than TRPO, and Batch PPO a slightly
# higher one (by 0.07, 0.03 to 0.12); both intervals exclude 0. But the cell asks four questions, and its intervals are of one question
# each. With Holm's correction for four, the p values of the two returns (Welch's test) are 0.06 for guided policy search and 0.02 for
# Batch PPO, so only the difference of Batch PPO remains significant. The other two p values are 0.96.
# So on this task the table does not show that models help, and it does not exclude that they save steps.

# %% [markdown]
# ## Quiz
#
# **1.** Evolution strategies (Salimans et al. 2017): each rank adds noise to $\theta$, drawn from a seed that all ranks
# know, plays an episode, and sends its return to all others. Where is it on the map?
#
# <details><summary>Answer</summary>
#
# After a batch, with a barrier; all ranks learn, from fresh episodes. Neither samples nor gradients travel, but one
# *number* per episode, its return. Every rank makes the noise again from the seed
# (`mpi_scripts/own/evolution_strategies.py`).
#
# </details>
#
# **2.** Which member would you take for a robot that plays 200 episodes a day? And for a simulator on 64 cores?
#
# <details><summary>Answer</summary>
#
# Where steps are expensive: models or replay (guided policy search, NAF). Where they are cheap: batches with a barrier
# (TRPO, Batch PPO), because the same bits on any number of ranks let you repeat what went wrong.
#
# </details>
#
# ## Summary
#
# - Five questions place a parallel learner on one map: when it learns, whether ranks wait, what travels, who learns, from
#   which data.
# - Gradients travel to share work. They are lighter than samples only for large batches.
# - With five seeds and thirteen questions no difference can be significant by a rank test. Count before you run (05c).
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# 1. Put one algorithm that you know from elsewhere on the map, such as IMPALA or SAC. Explain its five answers, and name its nearest neighbour.
# 2. Plot for which number of steps per message samples weigh more than a gradient, for networks of 1,000 to 1,000,000 weights and samples of 7 and
#    28,224 numbers. Explain which algorithms of the map lie on which side.
#
# ## Read on
#
# - A. Nair et al., *Massively parallel methods for deep reinforcement learning*, 2015: Gorila, the first large system on this map.
# - V. Mnih et al., *Asynchronous methods for deep reinforcement learning*, ICML 2016: four algorithms in one frame, which is a column of our map.
# - L. Espeholt et al., *IMPALA: scalable distributed deep-RL with importance weighted actor-learner architectures*, ICML 2018: samples travel, late, and are corrected.
#
# **This was the last lecture.** `make own-algorithm NAME=mine` gives you a file of 50 lines and a free place on the map.
# Notebook 17 lists what the sources of 2016 claimed.
