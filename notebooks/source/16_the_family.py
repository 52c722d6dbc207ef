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
# **You have met a dozen ways to learn in parallel. What makes them different, and which one is better?**
#
# <!-- loop -->
#
# Two questions, two tools. The first has an answer that can be drawn: every member is a point in one space, and you know its axes by
# now. The second is asked of runs that differ by luck, many members at once. Before the table comes, you write the two functions that
# say what such a table can prove.
#
# | in this notebook | in the package | source |
# |---|---|---|
# | `rank_chance`, `corrected` | `minitrpo/course/seeds.py` | Mann & Whitney 1947; Holm 1979 |
# | the map | `minitrpo/course/members.py` | Berkeley lecture slides: "Online or batch-mode? Synchronous or asynchronous?" |
# | all runs | `experiments/family.py` | `docs/family.md` |
#
# *45 minutes in class with the two exercises; the notebook itself runs in seconds. You need: lectures 10 to 14, as far as you have
# met their members; 05b for intervals.*

# %%
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from IPython.display import HTML, display
from matplotlib import pyplot as plt
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, compare, recorded, reveal
from minitrpo.course.members import DESIGNS
from minitrpo.course.seeds import difference_in_words, family_of, ratio_in_words
from minitrpo.policies import Array
from minitrpo.course.statistics import mean_interval

# %% [markdown]
# ## What travels, and when
#
# Take one update apart, and ask five questions: **when** does it learn (a batch, every $n$ steps, every step); do ranks **wait** for
# each other; **what travels**; **who learns**; and **from which data**. TRPO, say: after a batch; a barrier; samples; the root, or all
# ranks with a share; on-policy. On paper, before you go on: A3C, DQN, Gorila.
#
# What travels is a matter of weight, too. On CartPole a sample is 7 numbers: 4 observed, an action, a reward, a mask. A gradient has
# as many numbers as the network has weights: with 64-64 hidden units, $4 \cdot 64 + 64 + 64 \cdot 64 + 64 + 64 \cdot 2 + 2$. **How
# many steps must a rank play for each message, until its samples weigh as much as one gradient?**

# %% prediction="yes"
guess_steps = 5  # steps per message

# %% jupyter={"source_hidden": true} tags=["hide-input"]
COLUMNS = ("member", "when it learns", "in step by", "what travels", "who learns", "its data")


def show_table():
    """Answer the prediction; show where every member stands."""
    weights = 4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2
    compare("steps whose samples weigh as much as a gradient", guess_steps, weights / 7)
    rows = [(f"<code>{name}</code>", d.when, d.sync, d.travels, d.learns, d.data) for name, d in DESIGNS.items()]
    head = "".join(f"<th>{column}</th>" for column in COLUMNS)
    body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
    display(HTML(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"))


reveal(guess_steps, show_table)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A batch of thousands of steps is lighter as a gradient, A3C's five steps are lighter as samples: who sends gradients every
# few steps does it to share the *work* of computing them, not to send less. Pictures bring the border down, not below
# five: a sample of Atari has 28,224 numbers, the network of Mnih et al. 2015 some 1.7 million, as many as 60 samples.
#
# One word is lecture 11b's: a target with max is **off-policy** even if its data is fresh, because it is not about the
# policy that acts. And "late" is lecture 10's: on-policy when the step was played, and no longer when its gradient
# arrives.
#
# </details>
#
# The same as a map. Say first which of the six fields are empty, and why nobody lives there.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
KINDS = {  # in a member's data -> how it is drawn; the first that fits
    "models": (GREEN, "D", "on-policy, with models"),
    "late": (PURPLE, "v", "on-policy, but late"),
    "replay": (ORANGE, "s", "off-policy, replayed"),
    "off-policy": (RED, "^", "off-policy, fresh"),
    "on-policy": (BLUE, "o", "on-policy"),
}
kind_of = {name: next(kind for kind in KINDS if kind in design.data) for name, design in DESIGNS.items()}
WHEN, SYNC = ("batch", "every n steps", "every step"), ("barrier", "asynchronous")


def draw_map():
    """Draw every member in the field of when it learns and who waits."""
    _, axis = plt.subplots(figsize=(9, 6.2), layout="constrained")
    for i, when in enumerate(WHEN):
        for j, sync in enumerate(SYNC):
            here = [name for name, d in DESIGNS.items() if (d.when, d.sync) == (when, sync)]
            for place, name in enumerate(sorted(here, key=lambda name: list(KINDS).index(kind_of[name]))):
                color, marker, _ = KINDS[kind_of[name]]
                face = color if "samples" in DESIGNS[name].travels else "white"
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
    axis.legend(loc="lower right", fontsize=11)
    plt.show()


draw_map()

# %% [markdown]
# Filled: samples travel, or may; open: only gradients do. Two fields are empty. Who collects whole batches waits for a small
# part of the time as long as there are many more episodes than ranks (lecture 07), so there is little to be gained by not
# waiting; with nearly as many ranks as episodes there would be (lecture 15). And an update at every step without a barrier
# is a setting of others, not a member: $n = 1$ (lecture 11a).
#
# ## What a few seeds can prove
#
# Which one is better? A member has a few runs, a seed each; every run needs so many steps to a goal, some never get there.
# Means are no use with infinities, so ask the *places* (statistics calls them ranks; no processes are meant): write all
# runs of two members in a row, the soonest first. If luck alone is at work, every way to deal the places out is as likely
# as any other. **Five runs of one are all sooner than five of another. How likely is it that luck alone parts five and five
# so far, one way or the other?** (There are $\binom{10}{5} = 252$ ways. This chance is called $p$.)

# %% prediction="yes"
guess_least = 0.05  # a chance

# %% [markdown]
# ### Exercise 1: `rank_chance`

# %% exercise="rank_chance"

# %%
apart = mine.rank_chance(range(5), range(5, 10))
reveal(guess_least, lambda: compare("five against five, all apart", guess_least, apart))

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Two ways of 252: this one, and the opposite. No comparison of five with five can give less. More seeds can: ten and ten have
# 184,756 ways.
#
# </details>
#
# Now one of fourteen members is compared with all others. If thirteen questions have nothing to do with each other, and
# luck alone says "p < 0.05" once in twenty, at least one of them says so nearly every second time: $1 - 0.95^{13} = 0.49$.
# So each p is multiplied before it is believed. Multiplying all by the number of questions (Bonferroni) would do;
# **Holm's correction** is less strict and as safe, whatever the questions have to do with each other: only the smallest p
# has to survive all $k$ questions, the next $k - 1$, and so on.
#
# **Five seeds each, thirteen questions: what is the smallest corrected p that a table can show at all?**

# %% prediction="yes"
guess_corrected = 0.05  # a chance

# %% [markdown]
# ### Exercise 2: `corrected`

# %% exercise="corrected"


# %%
def smallest(seeds, questions):
    """Return the smallest corrected p of a table in which one question of many has the clearest of all answers."""
    clearest = mine.rank_chance(range(seeds), range(seeds, 2 * seeds))
    return mine.corrected([clearest, *[1.0] * (questions - 1)])[0]


def show_corrected():
    """Answer the prediction; say what more seeds would allow."""
    compare("the smallest corrected p, five seeds", guess_corrected, smallest(5, 13))
    print("with 6, 7 and 8 seeds:", *(f"{smallest(seeds, 13):.2g}" for seeds in (6, 7, 8)))


reveal(guess_corrected, show_corrected)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Five seeds and thirteen questions cannot prove one lead, however large it is, at 0.05: a table would say "cannot tell" of
# a member that needs a hundred times the steps. How many seeds a comparison needs at least is decided by counting,
# *before* it is run.
#
# </details>
#
# ## The table
#
# Members that can play CartPole (`naf`, `async-naf` and `guided-policy-search` need continuous actions), each **as typed**:
# with its preset and no other option (`trpo` with `--total-steps`), from the project's benchmarks. Two things before you
# compare:
#
# - *Where the steps are read off.* If the log's mean of 100 returns said when a goal of 475 is reached, 100 episodes of about
#   475 steps alone would be 47,500, and nobody could be sooner. So twenty fresh episodes are played every 5,000 steps,
#   from which nothing is learned. 5,000 steps is then the least that can be seen, and who needs less looks the same. In
#   the long runs of one-step Q, n-step Q and Sarsa it is every 20,000: these look up to 20,000 steps later than they are.
# - *Presets.* We chose them on other seeds of the same tasks, some with more care than others. This compares presets.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family = family_of(recorded("family.csv"))
played_by = {name: runs for (env, name), runs in family.items() if env == "CartPole-v1"}
order = sorted(played_by, key=lambda name: (np.median(played_by[name].steps), name))
first = played_by[order[0]]
chance_of = dict(zip(order[1:], mine.corrected([mine.rank_chance(played_by[n].steps, first.steps) for n in order[1:]])))

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
print(f"\nlater than {order[0]}, corrected p < 0.05:", ", ".join(proven) or "none: we cannot tell")


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_seeds():
    """Draw the steps of every seed of every member."""
    _, axis = plt.subplots(figsize=(9, 0.36 * len(order) + 1.2), layout="constrained")
    never = 2 * max(runs.lengths.max() for runs in played_by.values())
    for place, name in enumerate(order):
        color, marker, _ = KINDS[kind_of[name]]
        steps = np.sort(np.minimum(played_by[name].steps, never))
        beside = place + np.linspace(-0.25, 0.25, len(steps))  # runs of the same steps would hide each other
        axis.plot(steps, beside, marker, color=color, alpha=0.7, markersize=6)
        axis.plot(np.median(steps), place, "|", color="black", markersize=18)
    axis.set(xscale="log", xlabel="environment steps to a mean of 475; at the right edge: never in this run")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.set_yticks(range(len(order)), order, fontsize=11)
    axis.invert_yaxis()
    axis.grid(alpha=0.3)
    plt.show()


draw_seeds()

# %% [markdown]
# Colours and markers are those of the map; the black line is the median. Read the column of p before you believe an order,
# and the line under the table before you name a winner. A p that is large is not "equal": it is "cannot tell". And mind
# that the member on top was chosen by looking at these very runs, so that each p is too small: good enough for "cannot
# tell", not for a proof. (The last column compares runs of different lengths: it says where a preset ends, not who learns
# better.) Steps are not seconds: of seconds lectures 11a and 13 have more.
#
# And two members beside TRPO on Reacher, with continuous actions, to a mean of -8. Fresh episodes are played every 10,000
# steps:

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
# Models are to pay where steps are dear: see whether the first interval says so. Not all of it need be the models' merit:
# the noise of guided policy search begins at a standard deviation of 0.37, TRPO's at 1.
#
# ## Bug hunt
#
# A Holm correction, as it is easily written. It never raises, and its p values are the right ones.


# %%
def suspect(pvalues: Sequence[float]) -> Array:
    given = np.array(pvalues, dtype=float)
    smallest_first = np.argsort(given)
    factors = len(given) - np.arange(len(given))
    holm = np.maximum.accumulate(given[smallest_first] * factors)
    return np.clip(holm, 0.0, 1.0)[smallest_first]


_ = hunt("corrected", suspect)

# %% [markdown] solution="only"
# **The bug**: the last `[smallest_first]`. `holm[i]` belongs to question `smallest_first[i]`, so it is to be *put* there; what is
# written *takes* from there. Both are the same for any order that undoes itself, so a test with two questions sees nothing; with
# more, the right p values stand beside the wrong members. `[np.argsort(smallest_first)]` would be right, too.

# %% [markdown]
# ## What you have built so far
#
# You can place a parallel learner on one map by five questions, and say what travels and what it weighs. You know before a
# comparison is run how many seeds it needs at least, and what a table of many members can prove. And you have built,
# lecture by lecture, parts of the whole family: who plays, what travels, who waits, who learns, and how far one may go.
#
# **This was the last lecture.** What is left is yours: `make own-algorithm NAME=mine` gives you a file of 50 lines, and a free
# place on the map.
#
# ## Quiz
#
# **1.** Evolution strategies (Salimans et al. 2017): each rank adds noise to $\theta$, drawn from a seed that all know, plays
# an episode, and tells all others its return. Where on the map?
#
# <details><summary>Answer</summary>
#
# After a batch, with a barrier; all ranks learn, from fresh episodes; and what travels is neither samples nor gradients: one
# *number* for an episode, its return. Everybody makes the noise again from the seed
# (`mpi_scripts/own/evolution_strategies.py`).
#
# </details>
#
# **2.** "Our method is better: p = 0.008, five seeds against five." In the appendix you find that it was compared with 12 others. What do
# you say?
#
# <details><summary>Answer</summary>
#
# That 0.008 is the least that five against five can give, and that after 12 questions it is at best 0.095. The lead may be
# real; this does not show it. Six seeds could have: $12 \cdot 2 / \binom{12}{6} = 0.026$.
#
# </details>
#
# **3.** Somebody runs ten seeds, shows the best five of each member, and corrects for many questions. What is wrong?
#
# <details><summary>Answer</summary>
#
# The ways to deal the places out are no longer equally likely: who scatters most has the best best five. No correction of p mends a
# choice that was made after looking.
#
# </details>
#
# **4.** Which member would you take for a robot that does 200 episodes a day? And for a simulator on 64 cores?
#
# <details><summary>Answer</summary>
#
# Where steps are dear: models or replay (guided policy search, NAF). Where they are cheap: batches with a barrier
# (TRPO, Batch PPO), for the same bits on any number of ranks, so that what went wrong can be done again.
#
# </details>
