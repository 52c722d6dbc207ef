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
# # 13 Off-policy: Gorila and NAF
#
# **May old experience be used again?**
#
# <!-- loop -->
#
# Frans & Hafner's TRPO plays twenty thousand steps, learns from them once, and throws them away. Today they are kept. You
# will find out what in a step grows old and what does not, count how often a step may be learned from, let a server refuse
# what it should not trust, and give a motor a best action that can be read off.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `updates_due`, `ReplayBuffer`, `draw` | `minitrpo/experience/replay_buffer.py` | Lin 1992; Mnih et al. 2015 |
# | `naf_q`, `naf_targets` | `minitrpo/algorithms/off_policy/naf.py` | Gu et al. 2016: NAF |
# | all of it | `minitrpo/algorithms/off_policy/replay_learner.py` | Berkeley lecture slides: "sample parallelism with off-policy algorithms" |
#
# *90 minutes in class with the four exercises; the notebook itself runs in half a minute. You need: lectures 05a, 07,
# 10 and 11b.*

# %%
import csv
import json

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng
from scipy.linalg import solve_discrete_are

from minitrpo.algorithms.off_policy.naf import heads
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, recorded, reveal, train
from minitrpo.course import linear_quadratic as puck
from minitrpo.course.seeds import difference_in_words, family_of, ratio_in_words
from minitrpo.experience.replay_buffer import ReplayBuffer, draw
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import ParameterServer, Rules, Tally, staleness_of
from minitrpo.policies import Array
from minitrpo.run_folder.folder import sha256

# %% [markdown]
# ## What grows old
#
# A step in memory says: in state $s$ action $a$ was done, reward $r$ came, and state $s'$ was seen next. That is a fact about
# the *world*. It stays true whoever plays later, as long as the world does not change and nobody else learns in it. The rewards that followed are another matter: they say what the policy of
# *that day* did with $s'$.
#
# $Q(s, a)$ is the expected discounted return if $a$ is done in $s$, and the policy goes on from there: lecture 05a's value,
# with the first action given. There are many ways to learn it. Take a corridor of six places. In each one may walk *on*, or
# go *home*, which pays 3 and ends it; walking pays nothing, but behind the sixth place lies 10; $\gamma = 0.9$. Walking on
# from place 1 is worth $0.9^5 \cdot 10 = 5.9$ to who never turns back. All the experience we have is of an old policy, which
# tossed a coin in each place. From it we learn $Q$, each time as the mean of one of these targets:
#
# | target for "walk on" | what it takes from memory |
# |---|---|
# | **return**: all rewards that followed, discounted | all steps to the end |
# | **one step**: $r + \gamma \max_{a'} Q(s', a')$ | $s, a, r, s'$ |
# | **$n$ steps**: $n$ rewards that followed, discounted, then $\gamma^n \max_{a'} Q$ of the state there | $n$ steps |
#
# Whoever always does the action of the largest $Q$ acts **greedily**.
#
# **What do returns say that walking on from place 1 is worth, and what does the one-step target?** Compute it on paper, from the
# right. In place 6 the coin gets 10 or 3, each half of the time: 6.5. So walking on from place 5 is worth $0.9 \cdot 6.5$, and so
# on. The one-step target puts a maximum where the coin has a mean.

# %% prediction="yes"
guess_return = 4  # truth: 5.9
guess_one = 5  # truth: 5.9

# %%
PLACES, HOME, TREASURE, GAMMA = 6, 3.0, 10.0, 0.9


def one_more_step(value):
    """Return what walking on is worth in each place, if place s is then worth value[s]; behind the last: 10."""
    return np.append(GAMMA * value[1:], TREASURE)


def learned(n, walks_on):
    """Return Q(s, on), the mean of n-step targets on experience of a policy that walks on with this probability."""
    on = np.zeros(PLACES)
    for _ in range(PLACES):  # targets ask Q itself: again and again, until nothing changes
        value = np.maximum(on, HOME)  # max over the two actions
        for _ in range(n - 1):  # steps of the old policy lie in between
            value = walks_on * one_more_step(value) + (1 - walks_on) * HOME
        on = one_more_step(value)
    return on


truth = learned(1, 1.0)  # with nobody in between


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_corridor(n=2, walks_on=0.5):
    """Redraw Q by place, and Q of place 1 by n."""
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 3.6), layout="constrained")
    on, places, steps = learned(n, walks_on), np.arange(1, PLACES + 1), np.arange(1, PLACES + 1)
    left.plot(places, truth, color=GREY, linewidth=6, alpha=0.5, label="walk on: truth")
    left.plot(places, on, "o-", color=BLUE, label=f"walk on: learned, n = {n}")
    wrong = on < HOME
    left.plot(places[wrong], on[wrong], "X", color=RED, markersize=13, label="greedy goes home")
    left.set(xlabel="place", ylabel="Q (discounted return)", xticks=places)
    first = np.array([learned(k, walks_on)[0] for k in steps])
    right.plot(steps, first, "o-", color=BLUE, label="walk on, from place 1")
    right.plot([n], [first[n - 1]], "o", color="black", markersize=10)
    right.set(xlabel="steps that a target looks ahead (6: the whole return)", xticks=steps)
    right.set_title(f"the old policy walks on with probability {walks_on:.2f}", fontsize=10)
    for axis in (left, right):
        axis.axhline(HOME, color=ORANGE, linestyle="--", label="go home: 3")
        axis.set_ylim(0, 10.5)
        axis.legend(fontsize=9, loc="upper left" if axis is left else "upper right")
        axis.grid(alpha=0.3)
    plt.show()


def show_corridor():
    """Answer the prediction, and draw it."""
    compare("place 1, walking on, by returns", guess_return, learned(PLACES, 0.5)[0])
    compare("place 1, walking on, by one step", guess_one, learned(1, 0.5)[0])
    print(f"place 1, walking on, by two steps: {learned(2, 0.5)[0]:.3g}")
    draw_corridor()


reveal((guess_return, guess_one), show_corridor)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# One step finds the truth, from a coin's experience. It never asks what the coin did next: the $\max$ puts today's best
# action in its place. Returns judge the *coin*, who goes home too early; so they advise to go home at once. Two steps are
# enough for that mistake, since one decision of the coin is in every target.
#
# Learning about one policy from another's experience is called **off-policy**. The one-step target with $\max$ is; returns,
# GAE, and with them TRPO and PPO, are **on-policy**. (Ratios, as in lecture 04, can reweigh what others did. Over many steps
# they are a product of many ratios, and its variance explodes.)
#
# </details>
#
# How bad it is depends on how *old* the old policy is. Drag (it needs a running kernel): how often must it walk on before
# $n = 3$ sends nobody home any more? And before $Q$ is right?

# %%
_ = ipywidgets.interact(
    draw_corridor,
    n=ipywidgets.IntSlider(min=1, max=6, value=2),
    walks_on=ipywidgets.FloatSlider(min=0, max=1, step=0.05, value=0.5, continuous_update=False),
)

# %% [markdown]
# <details><summary>After you have dragged: what it means</summary>
#
# From about 0.65 on nobody is sent home; place 1 is then believed to be worth 3.0, not 5.9. $Q$ is right only at 1.
#
# </details>
#
# Real programs use $n$ steps from memory all the same. DQN ("deep Q-network", Mnih et al. 2015: $Q$ is a network,
# learned from a replay buffer as below) and Gorila look one step ahead in their papers; *ours* look 8 ahead (3: Hessel
# et al. 2018). Good news then travels back eight steps at once, and what is in memory is not of a coin, but of
# themselves, a while ago.
#
# ## The replay buffer
#
# A **replay buffer** keeps the newest transitions $(s, a, r, s', \text{terminated})$ in a ring. Each update draws a
# minibatch of them evenly, old and new, and moves $Q(s, a)$ towards its targets. (Targets are computed with $\theta^-$,
# an older copy of $\theta$: a moving aim is hard to hit.) The number of updates per environment step is the **replay
# ratio**. Nothing is learned during a *warm-up*, until the buffer has something to draw from.

# %% [markdown]
# **Algorithm: DQN**
#
# Repeat:
# 1. play some steps: with probability $\epsilon$ an action at random, else $\arg\max_a Q_\theta(s, a)$; put
#    $(s, a, r, s', \text{terminated})$ into the ring, over the oldest;
# 2. once warmed up, as often as the replay ratio says (exercise 1):
#    1. draw a minibatch evenly from all that is in the ring;
#    2. $y = r + \gamma \max_{a'} Q_{\theta^-}(s', a')$, or $y = r$ where the task terminated;
#    3. $\theta \leftarrow \theta - \text{Adam}\big(\nabla_\theta \, \text{mean of} \, \tfrac12 (Q_\theta(s, a) - y)^2\big)$;
# 3. every so many updates: $\theta^- \leftarrow \theta$.

# %% [markdown]
# ### Exercise 1: `updates_due`

# %% exercise="updates_due"

# %% [markdown]
# Stuck? `hint("updates_due", 1)`, and so on.
#
# Below, steps come in rounds of 64, as from 4 environments that take 16 each; ratio 0.25, minibatches of 128. So **how often
# is a step learned from**, from its arrival until it is overwritten, if the buffer holds 2,000 steps? And if it holds 4,000?

# %% prediction="yes"
guess_small = 1  # times, buffer of 2,000
guess_large = 2  # times, buffer of 4,000


# %%
def life(capacity, ratio=0.25, batch=128, rounds=400, warm_up=1000):
    """Return how often each step of the middle of a run was drawn, and how old what is drawn is on average."""
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
            ages.append(steps - found.mean())
            done += 1
    return drawn[64 * rounds // 3 : 64 * rounds // 2], np.mean(ages[len(ages) // 3 :])


lives = {capacity: life(capacity) for capacity in (2000, 4000)}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_lives():
    """Answer the prediction; draw how often steps were drawn."""
    for guess, (capacity, (drawn, age)) in zip((guess_small, guess_large), lives.items()):
        compare(f"buffer of {capacity:,d}: a step is learned from", guess, drawn.mean(), "times")
        print(f"  what is drawn is {age:,.0f} steps old on average")
    _, axis = plt.subplots(figsize=(7.5, 3), layout="constrained")
    for (capacity, (drawn, _)), color in zip(lives.items(), (BLUE, ORANGE)):
        axis.hist(drawn, np.arange(10.5, 61), color=color, alpha=0.6, density=True, label=f"buffer of {capacity:,d}")
    axis.set(xlabel="how often a step was drawn", ylabel="fraction of the steps")
    axis.legend(fontsize=9)
    plt.show()


reveal((guess_small, guess_large), show_lives)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# $\text{ratio} \times \text{batch}$ times, whatever the buffer holds: so many draws are made per step, and on average each
# step gets its share. A larger buffer only spreads them over a longer life. What one draws is then older, and more mixed.
#
# </details>
#
# So what if four times as many actors fill the buffer, 16 environments instead of 4? In a round they bring four times the
# steps. If there are as many updates *per round* as before (minibatches of 128, and a ratio that was 1/4), **how often is
# a step learned from now?**

# %% prediction="yes"
guess_quarter = 32  # times, with four times the actors

# %% [markdown]
# Does that matter, or is it the actors who matter? DQN on CartPole, five seeds (recorded), played 60,000 steps, with both numbers of
# environments and both ratios. Say before you look which two of the four should be alike, if it is the ratio. (The last 100 returns
# hold up to four fifths of all steps, so their mean counts how early one learned, too.)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
ratios = {}  # (environments, ratio) -> the mean of the last 100 returns, per seed
for row in csv.DictReader(recorded("13_ratio.csv").read_text().splitlines()):
    ratios.setdefault((int(row["num_envs"]), float(row["replay_ratio"])), []).append(float(row["last_return"]))


def show_ratios():
    """Answer the prediction; print what was recorded."""
    usual = ratios[4, 0.25]
    compare("four times the actors, as many updates: a step is learned from", guess_quarter, 128 * 0.25 / 4, "times")
    for (envs, ratio), last in sorted(ratios.items()):
        print(f"{envs:2d} environments, ratio {ratio:<6g}: {np.mean(last):.0f}, seed by seed {np.sort(last).round()}")
    print("16 environments less 4, both at 1/4: ", difference_in_words(ratios[16, 0.25], usual))
    print("16 environments less 4, both at 1/16:", difference_in_words(ratios[16, 0.0625], ratios[4, 0.0625]))
    print("ratio 1/16 less 1/4, 4 environments: ", difference_in_words(ratios[4, 0.0625], usual))
    print("ratio 1/16 less 1/4, 16 environments:", difference_in_words(ratios[16, 0.0625], ratios[16, 0.25]))


reveal(guess_quarter, show_ratios)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# At the same ratio five seeds cannot tell 16 environments from 4: both intervals hold 0 (and at 1/16 a wide one, in which much
# might hide). At a quarter of the ratio some 180 are lost, whoever acts. That is what "more actors" may cost unnoticed, per step:
# they bring four times the steps per second, and if the learner keeps its pace each is used a quarter as often.
#
# </details>
#
# The buffer may be **shared** (all transitions travel to the root) or **sharded**: each rank keeps its own, and gradients
# are pooled as in lecture 10. The draw must not show which: how many it takes from each shard is drawn, as an even draw from
# the union would have it.
#
# ## Gorila: what a server refuses
#
# Gorila (Nair et al. 2015) makes it asynchronous. A **bundle** is an actor, a replay buffer and a learner in one process.

# %% [markdown]
# **Algorithm: Gorila**
#
# Each bundle, for itself, with its own ring; nobody waits:
# 1. pull $\theta$, the older $\theta^-$, and their version $v$ from the server;
# 2. play a few steps, $\epsilon$-greedily by $Q_\theta$, and put them into the ring;
# 3. draw a minibatch evenly from the ring; $y$ by $\theta^-$, as in DQN;
# 4. push the loss $\ell = \text{mean of} \, \tfrac12 (Q_\theta(s, a) - y)^2$, its gradient $g = \nabla_\theta \, \ell$, and $v$.
#
# The server, which has made $v'$ updates, for each push:
# 1. $v' - v$ above what is allowed (`max_staleness`): refuse, it is too old;
# 2. $\ell$ more than so many standard deviations above the mean of all losses: refuse (exercise 2);
# 3. else $\theta \leftarrow \theta - \text{step}(g)$, $v' \leftarrow v' + 1$; every so many updates $\theta^- \leftarrow \theta$.

# %% [markdown]
# Two things grow old here. The *experience* may. A *gradient* may not: lecture 10 saw what delay does to a descent. So the
# server refuses gradients of more than `max_staleness` updates, and we have a rule that seems to cost nothing. Eight bundles,
# all equally fast: lecture 10 says that their gradients are 7 updates old. We allow 3. **What percentage is refused?**

# %% prediction="yes"
guess_refused = 90  # per cent


# %%
def server_refuses(seconds, limit, pushes=4000):
    """Return which percentage of the gradients is refused, and how old the others are on average."""
    rng, shared = default_rng(0), {"x": np.zeros(1), **Tally.arrays(len(seconds))}
    server = ParameterServer(shared, lambda shared, gradient, arrival: True, Rules(max_staleness=limit))
    works = [lambda pulled: {"g": np.zeros(1)}] * len(seconds)
    queue = EventQueue(server, works, ("x",), lambda worker, clock: seconds[worker] * (1 + 0.1 * rng.exponential()))
    for _ in range(pushes):
        queue.play()
    return 100 * server.tally.refused.sum() / pushes, staleness_of(server.tally.histogram.sum(axis=0))[0]


def show_refused():
    """Answer the prediction; then other limits, and a slow bundle."""
    compare("8 equal bundles, at most 3 old: refused", guess_refused, server_refuses([1.0] * 8, 3)[0], "%")
    for who, seconds in (("8 equal bundles", [1.0] * 8), ("one of 8 takes 8 times as long", [1.0] * 7 + [8.0])):
        for limit in (0, 1, 3, 7, 20):
            refused, age = server_refuses(seconds, limit)
            print(f"{who}, at most {limit:2d} old: {refused:4.1f} % refused, the others are {age:.1f} old on average")


reveal(guess_refused, show_refused)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# About half, not all: a refused gradient is no update, so it makes nobody else's older. Of $W$ equal workers a limit of $k$
# lets about $k + 1$ through per round (at 7 the scatter of the seconds costs a tenth). It buys a larger step, by lecture
# 10's bound, for work that is thrown away: four bundles would have done as well. A limit is for the *odd one out*, as in the
# last line: of 57 gradients one is the straggler's, and 1.7 % are refused. (All its work is lost.)
#
# </details>
#
# And what is fresh but mad? A bundle in a corner of the world that nobody has seen sends a gradient with a loss a hundred
# times the usual. In Gorila each *learner* keeps a running mean and deviation of its own losses, and discards what lies too
# far above; the server discards only what is too old. Ours lets the *server* judge, which sees the losses of all: a bundle that
# is broken for good would get used to itself. It keeps running statistics, and refuses what lies so many standard deviations
# above the mean.
#
# This rule, `judged`, is exercise 5 of lecture 10.
#
# The rule in step 2, "at most the largest that is usual", looks odd. Two others come to mind: take in every loss as it is, or
# take in nothing of a refused one. Below are 900 losses around 2. A few are outliers, ten to a hundred thousand times as
# large. After 600 the task has changed, and *all* losses are ten times what they were. A server should refuse the outliers,
# and get used to the change. **Of the last 300, how many does a rule refuse that takes in nothing of a refused loss?** (Suppose that
# the first of them is refused. What has changed when the second comes?)

# %% prediction="yes"
guess_nothing = 100  # of 300, if nothing is taken in of a refused one

# %%
rng = default_rng(5)
k = np.arange(900)
losses = 2 * np.exp(0.3 * rng.standard_normal(900)) * np.where(k < 600, 1, 10)
outliers = (rng.random(900) < 0.03) & (k > 150) & (k < 600)
losses[outliers] *= 10 ** rng.uniform(1, 5, outliers.sum())


def as_it_is(statistics, loss):
    """Return the verdict, and statistics that take in the whole loss."""
    verdict, _ = mine.judged(statistics, loss, 5.0)
    return verdict, mine.judged(statistics, loss, np.inf)[1]


def nothing_of_it(statistics, loss):
    """Return the verdict, and statistics that have not seen a refused loss."""
    verdict, new = mine.judged(statistics, loss, 5.0)
    return verdict, new if verdict else statistics


RULES = {
    "as it is": as_it_is,
    "nothing of a refused one": nothing_of_it,
    "as much as is usual": lambda statistics, loss: mine.judged(statistics, loss, 5.0),
}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def judge_all(rule):
    """Return verdicts and limits, loss by loss."""
    statistics, verdicts, limits = np.zeros(3), [], []
    for loss in losses.tolist():
        limits.append(statistics[1] + 5 * np.sqrt(statistics[2]) if statistics[0] >= 100 else np.nan)
        verdict, statistics = rule(statistics, loss)
        verdicts.append(verdict)
    return np.array(verdicts), np.array(limits)


def show_rules():
    """Answer the prediction; draw losses and limits."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained", sharey=True)
    compare("nothing taken in: refused of the last 300", guess_nothing, int((~judge_all(nothing_of_it)[0][600:]).sum()))
    for axis, (name, rule) in zip(axes, RULES.items()):
        usual, limits = judge_all(rule)
        print(
            f"{name}: refused {(~usual & outliers).sum()} of {outliers.sum()} outliers, {(~usual[600:]).sum()} of the last 300"
        )
        axis.plot(k[usual], losses[usual], ".", color=BLUE, markersize=3, label="taken")
        axis.plot(k[~usual], losses[~usual], "x", color=RED, markersize=6, label="refused")
        axis.plot(k, limits, color="black", linewidth=1, label="limit")
        axis.set(yscale="log", xlabel="number of the gradient", title=name)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("loss")
    figure.legend(*axes[2].get_legend_handles_labels(), fontsize=9, loc="outside lower center", ncols=3)
    plt.show()


reveal(guess_nothing, show_rules)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Taken in as they are, the first outliers lift mean and spread so far that later ones pass: the filter is blinded by what it
# should keep out. With nothing taken in it never learns that the world has changed, and refuses for ever; and losses may well
# rise for good, as $Q$ grows while it is learned. As much as is usual is the way between.
#
# </details>
#
# One bundle that is broken for good is another matter: its losses, a hundred times the usual, come again and again. One of so many
# bundles, each in turn: which share of the broken one's is refused? And if the server judges by *bundle*, and refuses one whose own
# mean loss is above five times the median of all bundles' means? Try other numbers:


# %%
def broken_refused(bundles, rounds=400):
    """Return which per cent of a broken bundle's losses are refused: by loss, and by bundle."""
    rng, statistics, seen, refused = default_rng(0), np.zeros(3), np.zeros((rounds, bundles)), np.zeros(2)
    for k in range(rounds):
        seen[k] = np.exp(0.3 * rng.standard_normal(bundles)) * np.where(np.arange(bundles) == 0, 100, 1)
        for who, loss in enumerate(seen[k].tolist()):
            usual, statistics = mine.judged(statistics, loss, 5.0)
            refused += (who == 0 and not usual), 0
        means = seen[: k + 1].mean(axis=0)
        refused[1] += means[0] > 5 * np.median(means)
    return 100 * refused / rounds


for bundles in (4, 10, 20, 40, 100):
    print(
        "one of {:3d} is broken: refused {:3.0f} % by loss, {:3.0f} % by bundle".format(
            bundles, *broken_refused(bundles)
        )
    )

# %% [markdown]
# Who is frequent enough is usual. (Quiz 5 says from where on.)
#
# Gorila itself, eight bundles played by the event queue in one process (so the same bits each time), with both rules (at a
# limit of 20 neither refuses any):

# %%
JOB = ("--algorithm", "gorila", "--env", "CartPole-v1", "--transport", "events", "--workers", 8, "--warm-up", 200)
STEPS = budget(8000, 3200)
runs = {limit: train(1, *JOB, "--max-staleness", limit, "--total-steps", STEPS) for limit in (20, 3)}


def show_gorila():
    """Print what the server did."""
    for limit, run in runs.items():
        applied, refused, age = (run.columns()[name] for name in ("applied", "refused", "staleness_mean"))
        print(f"at most {limit:2d} old: {applied.sum():,.0f} applied, {refused.sum():,.0f} refused, mean staleness "
              f"{age[-1]:.1f} at the end, theta {sha256(run.load_checkpoint()['theta'])[:16]}...")  # fmt: skip
    print("(on another kind of processor: other bits, the same counts)")


reveal(guess_refused, show_gorila)

# %% [markdown]
# ## The best of infinitely many actions
#
# All of this needs $\max_a Q(s, a)$. With two buttons one tries both. A torque is a number: to search for the best one in
# each target would be an optimisation within an optimisation. The idea of **NAF** ("normalised advantage functions"): choose
# a *shape* for $Q$ whose top can be read off. The network puts out a value $V$, an action $\mu$ and a matrix, and
#
# $$Q(s, a) = V(s) - \tfrac12 \, (a - \mu(s))^\top M(s) \, (a - \mu(s)), \qquad M = \Lambda \Lambda^\top .$$
#
# A parabola, upside down: its top is $V$, and lies at $\mu$. So $\max_a Q = V$ and $\arg\max_a Q = \mu$, without a search;
# the second term is the advantage, which is never positive. For that $M$ must be positive definite. A network's raw outputs
# are anything; so they fill $\Lambda$, a *lower triangular* matrix, with $\exp$ on its diagonal, and then
# $\Lambda\Lambda^\top$ always is; `heads` (given) does that. (The code calls the action `u`, as engineers do, and $\Lambda$
# `lower`, or L.)
#
# ### Exercise 3: `naf_q`

# %% exercise="naf_q"

# %%
spread = np.stack(np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81)), axis=-1)  # (81, 81, 2): actions
outputs = np.array([5.0, 0.3, -0.4, 0.5, 1.0, 0.2])  # V; two of mu; three of lower
value, mu, lower = heads(outputs, 2)
saddle = np.array([[2.0, 2.5], [2.5, 0.5]])  # a symmetric matrix that a network could have put out directly


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def everywhere(array, *front):
    """Return the same array for every state, or every place of a picture."""
    return np.broadcast_to(array, (*front, *np.shape(array)))


same, ridge = (everywhere(x, 81, 81) for x in (lower, lower * [[1, 1], [1, 0]]))
values, tops, apart = everywhere(value, 81, 81), everywhere(mu, 81, 81), spread - mu
_, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
pictures = {
    "exp on the diagonal: a top": mine.naf_q(values, tops, same, spread),
    "0 on the diagonal: a ridge": mine.naf_q(values, tops, ridge, spread),
    "M itself from the network: a saddle": value - 0.5 * np.einsum("...i,ij,...j->...", apart, saddle, apart),
}
for axis, (title, picture) in zip(axes, pictures.items()):
    contours = axis.contour(*np.moveaxis(spread, -1, 0), picture, 9, cmap="viridis")
    axis.clabel(contours, contours.levels[::2], fontsize=9)
    axis.plot(*mu, "o", color=RED, markersize=9)
    axis.set(xlabel="first torque", title=title, xticks=(-1, -0.5, 0, 0.5, 1), yticks=(-1, -0.5, 0, 0.5, 1))
axes[0].set_ylabel("second torque")
plt.show()

# %% [markdown]
# Contours of $Q$ over two torques, with $\mu$ in red. On a ridge the best action is anywhere along a line; on a saddle $\mu$
# is not the best: in the upper left corner $Q$ is above 7, and the code takes 5 for $\max_a Q$.
#
# The target is lecture 11b's, with $V$ in place of the maximum: $y = \text{scale} \cdot r + \gamma \, V(s'; \theta^-)$, and
# nothing after $r$ where the task terminated. (The scale keeps large rewards from making large outputs. `discounts` holds
# $\gamma$, or $\gamma^n$, for each step.)
#
# ### Exercise 4: `naf_targets`

# %% exercise="naf_targets"

# %% [markdown]
# Is a parabola good enough? In one world it is *exact*: where the next state is linear in state and action, and costs are
# quadratic. The puck of `LinearQuadratic-v0` is such a world, if it goes on for ever: a point on a table, its state place
# and speed, pushed by two forces without a limit, $s' = A s + B u$, cost $s^\top Q s + u^\top R u$ (letters of control
# theory). Then $V = -s^\top S s$, with $S$ from Riccati's equation (lecture 14), and $Q - y$ should be 0 for *any* action in
# *any* state:

# %%
A, B, gamma = puck.A, puck.B, 0.95  # s' = A s + B u
S = solve_discrete_are(gamma**0.5 * A, gamma**0.5 * B, puck.Q, puck.R)  # V(s) = -s'S s
M = 2 * (puck.R + gamma * B.T @ S @ B)
rng = default_rng(0)
s, u = rng.standard_normal((500, 4)), rng.standard_normal((500, 2))
mu = -s @ np.linalg.solve(M, 2 * gamma * B.T @ S @ A).T
V, V_after = (-np.einsum("ni,ij,nj->n", x, S, x) for x in (s, s @ A.T + u @ B.T))
r = -np.einsum("ni,ij,nj->n", s, puck.Q, s) - np.einsum("ni,ij,nj->n", u, puck.R, u)
targets = mine.naf_targets(r, np.full(500, gamma), np.zeros(500), V_after, 1.0)
errors = mine.naf_q(V, mu, everywhere(np.linalg.cholesky(M), 500), u) - targets
print(f"V from {V.min():.0f} to {V.max():.1f}; largest |Q - y|: {np.abs(errors).max():.1e}")

# %% [markdown]
# And where it is not exact? A pendulum that hangs may swing up to the left or to the right: *two* good torques, and a bad one
# between. Let them be $-0.4$ and $0.4$, equally good, and let the actions in memory be spread evenly over $[-1, 1]$. The
# parabola is fitted by least squares. **Where is its top?**

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
evenly = np.linspace(-1, 1, 401)


def draw_tops(centre=None, width=1.0, better=0.0):
    """Redraw a Q with two tops, the actions that were tried (no centre: evenly), and the parabola that fits best."""
    drawn = default_rng(0).standard_normal(400)
    tried = evenly if centre is None else np.clip(centre + width * drawn, -1, 1)
    value, mu, lower = fitted(tried, two_tops(tried, better))
    parabola = mine.naf_q(*(everywhere(x, 401) for x in (value, mu, lower)), evenly[:, None])
    _, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    axis.plot(evenly, two_tops(evenly, better), color=GREY, linewidth=5, alpha=0.5, label="true Q")
    axis.plot(tried, two_tops(tried, better), ".", color=BLUE, markersize=4, label="actions in memory")
    axis.plot(evenly, parabola, color=ORANGE, label="the best parabola")
    top = two_tops(mu, better)[0]
    label = f"its top: {round(mu[0], 2) + 0.0:.2f}, where the true Q is {top:.2f}"
    axis.plot(mu, [top], "o", color=RED, markersize=10, label=label)
    axis.set(xlabel="torque", ylabel="Q", ylim=(-5, 2.3), xlim=(-1.02, 1.02))
    axis.legend(fontsize=9, loc="lower center", ncols=2)
    axis.grid(alpha=0.3)
    plt.show()


def show_top():
    """Answer the prediction."""
    compare("top of the parabola", guess_top, abs(round(fitted(evenly, two_tops(evenly))[1][0], 3)))
    draw_tops()


reveal(guess_top, show_top)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# In the middle, at the bottom of the valley between the two: the average of two good answers is not a good answer.
#
# </details>
#
# Here is the second way in which experience grows old. The *targets* do not ask who acted. But the *fit* does: a parabola is
# an approximation, good where its data lie, and what lies in memory is what old policies tried. Drag the centre and the width
# of the tried actions: who finds a top, fresh and narrow experience, or old and wide?

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
# Narrow, on one side of the valley: the top of that side, and no other (exactly, since this $Q$ is made of two parabolas).
# Wide: a compromise between both. So Q-learning with a parabola would take anybody's *targets*, but wants *actions* tried
# near today's $\mu$, with a little noise; and a memory that forgets.
#
# </details>
#
# ## All of it

# %% [markdown]
# **Algorithm: NAF**
#
# Repeat:
# 1. play some steps with $a = \mu_\theta(s) + \sigma \cdot \text{noise}$, clipped to what the motor can do; put
#    $(s, a, r, s', \text{terminated})$ into the ring;
# 2. once warmed up, as often as the replay ratio says:
#    1. draw a minibatch evenly from all that is in the ring;
#    2. $y = r + \gamma V_{\theta^-}(s')$, or $y = r$ where the task terminated (exercise 4);
#    3. $Q_\theta(s, a) = V_\theta(s) - \tfrac12 (a - \mu_\theta(s))^\top \Lambda_\theta(s) \Lambda_\theta(s)^\top (a - \mu_\theta(s))$ (exercise 3);
#    4. $\theta \leftarrow \theta - \text{Adam}\big(\nabla_\theta \, \text{mean of} \, \tfrac12 (Q_\theta(s, a) - y)^2\big)$;
#    5. $\theta^- \leftarrow (1 - \tau) \, \theta^- + \tau \, \theta$.

# %% [markdown]
# **Algorithm: Asynchronous NAF**
#
# Each collector, for itself; nobody waits:
# 1. read the newest $\theta$ that there is;
# 2. play a few steps with $a = \mu_\theta(s) + \sigma \cdot \text{noise}$, and keep them in a ring of its own (in the paper all share one).
#
# The trainer, as quickly as it can, but at most as often as the replay ratio allows:
# 1. draw from the union of all rings, and ask each collector for its rows of the minibatch;
# 2. steps 2 to 5 of NAF's second part.

# %% [markdown]
# Gu et al. 2017 taught robots to open doors with the second: robots cannot wait for a trainer. (`--algorithm async-naf`.) With a
# barrier, in `replay_learner.py`, a round is: all environments take a few steps, rows go into the buffer, as many updates are made as are due. Two ranks, each
# with the shards of its own environments, and one rank with all of them:

# %%
JOB = ("--algorithm", "naf", "--env", "Pendulum-v1")
ALL = (
    "--oversubscribe",
    "--total-steps",
    budget(2400, 1280),
)  # as typed, one rank would do steps as light as these alone
for ranks, learner in ((1, "root"), (2, "root"), (2, "sharded")):
    run = train(ranks, *JOB, "--learner", learner, *ALL)
    print(f"{ranks} rank(s), learner {learner:7s}: theta {sha256(run.load_checkpoint()['theta'])[:24]}...")

# %% [markdown]
# The same bits, wherever the buffer lies (other ones on another kind of processor). And does it learn? Sixty episodes of swinging up:

# %%
run = train(2, *JOB, "--total-steps", budget(12_000, 1600), "--record-every", 50)  # a row each 800 steps: 4 episodes

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
axis.plot(run.columns()["env_steps"] / 1e3, run.columns()["mean_return"], ".-", color=GREEN)
axis.set(xlabel="thousand environment steps", ylabel="return (mean of 4 episodes)", ylim=(-1800, 0))
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# It does, in this one run. The slides say of A3C, beside methods with a memory, that it is "generally much faster in terms
# of wall clock", and slower "in terms of # of samples". So, on Pendulum, to a mean return of -250: how many times as many steps as
# NAF does A3C take (the project's benchmarks), and how many times as many seconds does NAF take (those steps by the mean steps a
# second of eight runs, two ranks on 2 cores)?
#
# How one sees that a goal is reached matters. A log's mean of the last hundred returns would hold 20,000 steps of its own, and nobody
# could arrive before. So twenty fresh episodes are played every 5,000 steps; sooner than that nothing is seen.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family, rates = family_of(recorded("family.csv")), json.loads(recorded("rates.json").read_text())["rates"]


def seconds_of(env, name):
    """Return the seconds to the goal of each seed: its steps, at the mean steps a second of other runs."""
    return family[env, name].steps / rates[f"{name}, {env}, 2"][0]


def draw_family(names):
    """Draw steps and seconds of every seed, and their medians."""
    _, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained", sharey=True)
    steps = {name: family["Pendulum-v1", name].steps for name in names}
    seconds = {name: seconds_of("Pendulum-v1", name) for name in names}
    for axis, label, told in zip(axes, ("environment steps", "seconds on 2 cores"), (steps, seconds)):
        for y, (name, values) in enumerate(told.items()):
            got = values[np.isfinite(values)]
            color = GREEN if name == "naf" else BLUE if name in ("trpo", "batch-ppo") else ORANGE
            axis.plot(got, [y] * len(got), "o", color=color, alpha=0.6)
            axis.plot([np.median(values)], [y], "|", color="black", markersize=22)
            if len(got) < len(values):
                axis.text(got.min() / 1.1, y + 0.1, f"{len(got)} of {len(values)} arrive", fontsize=9, ha="right")
        axis.set(xscale="log", xlabel=f"{label} to -250", yticks=range(len(names)), yticklabels=names)
        axis.xaxis.set_major_locator(plt.LogLocator(subs=(1, 3)))
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.margins(x=0.15)
        axis.minorticks_off()
        axis.grid(alpha=0.3, axis="x")
    axes[0].set_ylim(3.5, -0.5)
    plt.show()


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_family():
    """Print what the others took; draw it."""
    names = ("naf", "trpo", "batch-ppo", "a3c")
    naf = family["Pendulum-v1", "naf"].steps
    for other in names[1:]:
        print(f"{other}'s steps / NAF's: {ratio_in_words(family['Pendulum-v1', other].steps, naf)}")
    for other in names[1:]:
        words = ratio_in_words(seconds_of("Pendulum-v1", "naf"), seconds_of("Pendulum-v1", other))
        print(f"NAF's seconds / those of {other}: {words}")
    draw_family(names)
    dqn, gorila = ("CartPole-v1", "dqn"), ("CartPole-v1", "gorila")
    print(f"CartPole, DQN's steps / Gorila's: {ratio_in_words(family[dqn].steps, family[gorila].steps)}")
    print(f"  seconds: {ratio_in_words(seconds_of(*dqn), seconds_of(*gorila))}")


show_family()

# %% [markdown]
# On samples the claim holds where the interval says so. But it is a claim about NAF and *this* A3C, with presets not
# tuned with equal care: TRPO and Batch PPO learn on-policy, too; look how far they are from NAF. A step of Pendulum
# costs next to nothing, and NAF makes an update for each. Old experience is worth its updates where *new* experience is
# dear: a robot arm, a slow simulator. (All have default settings, on one small task each. Of seconds believe what the
# intervals say, and no more.)
#
# ## Bug hunt
#
# From a NAF in PyTorch. It runs, and never complains.


# %%
def suspect(rewards: Array, discounts: Array, terminated: Array, next_value: Array, reward_scale: float) -> Array:
    mask_batch = 1.0 - terminated
    return reward_scale * rewards + (discounts * mask_batch + next_value)


_ = hunt("naf_targets", suspect)

# %% [markdown] solution="only"
# **The bug**: a plus for a times: $r + (\gamma \cdot \text{mask} + V)$. The discount is added to the value instead of
# multiplying it, so nothing is discounted; and where the task has ended, $V$ of a state that has no future is counted in
# full. The repository is ikostrikov/pytorch-ddpg-naf. A pull request named it in August 2018 (11, still open); it was mended
# in February 2021, after issue 16. Two and a half years: nothing crashes, and there are many reasons why a curve looks bad.
# A check needs one line: a step that terminated, with a next value that is not 0.

# %% [markdown]
# ## What you have built so far
#
# You know what in a step grows old: the world's answer not while the world stays as it is, the rest of a return at once, the fit of a parabola slowly. You
# have the replay ratio as the one number to hold fixed, a server that refuses the stale and the mad without going blind or
# deaf, and a $Q$ whose best action is read off. And you know the price of learning from old experience, in updates.
#
# ## Quiz
#
# **1.** Two ranks hold 1,000 and 9,000 transitions. Each draws half of the minibatch from its own shard. What is wrong?
#
# <details><summary>Answer</summary>
#
# A row of the small shard is drawn nine times as often as one of the large: lecture 10's mean of means again. Draw as many
# from each shard as an even draw from all would: a multinomial draw, as `draw` makes it.
#
# </details>
#
# **2.** A NAF of 2016 (carpedm20/NAF-tensorflow) has no mask at all: its target is $r + \gamma V(s')$ everywhere.
# Its README shows Pendulum. Why is nothing wrong there?
#
# <details><summary>Answer</summary>
#
# A Pendulum never terminates; its 200 steps are a time limit, and lecture 05a says to bootstrap there. So the program is
# right on the task it was tested on, and wrong on each in which something can fall over. "It learns" is a test of one task.
#
# </details>
#
# **3.** Why can PPO not simply keep the batches of the last ten updates?
#
# <details><summary>Answer</summary>
#
# Its advantages are sums over what the old policy did afterwards, and its ratios speak of one old policy, which would differ
# from batch to batch. The clip would leave more and more steps alone. "The ratio corrects it" holds for one action in a
# state, not for the states that were visited (lecture 12).
#
# </details>
#
# **4.** You have ten times the actors and the same learner. The log shows ten times the environment steps per second. What
# has improved?
#
# <details><summary>Answer</summary>
#
# Nothing, perhaps: the replay ratio is a tenth, and the updates per second are what they were. Gu et al. 2017 saw on their
# robots that more collectors stop helping once the one trainer is the bottleneck. Ask for updates per second *and* steps per
# second.
#
# </details>
#
# **5.** One in ten of your bundles is broken for good, and sends losses a hundred times as large. The server refuses what is
# more than 5 standard deviations above the mean. Does that help?
#
# <details><summary>Answer</summary>
#
# Not for long. By Chebyshev's inequality at most one in $5^2$ of any numbers, whatever they are, lies more than 5
# standard deviations from their mean: broken ones that are more frequent widen the spread until they are usual. Refuse
# by *bundle*, not by loss, as measured above. (In the paper each learner judges itself. Then the broken one sees only
# broken losses, and finds them usual: hardly one is refused.)
#
# </details>

# %% [markdown]
# ## Appendix: what was claimed
#
# - *Frans & Hafner 2016*: with TRPO "we cannot use methods such as experience replay which reuse past information". Right, and
#   the corridor says why.
# - *Nair et al. 2015*, in the abstract: better than DQN in 41 of 49 Atari games, with a wall time that is shorter "by an order
#   of magnitude on most games", on many machines. We have two cores: see the last line of the comparison.
# - *The Berkeley slides* call sample parallelism with off-policy algorithms the "simplest example". It is: transitions are sent
#   when they are ready, and nobody waits for anybody, because a transition does not say who made it.
#
# **Next**: lecture 14 plans locally and imitates globally. The parabola comes back, as the cost of a linear world.
