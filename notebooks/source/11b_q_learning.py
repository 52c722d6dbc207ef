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
# # 11b Q, Sarsa, and what is off-policy
#
# **May one learn about another policy than the one that acts?**
#
# <!-- loop -->
#
# Actor and critic learn about the policy that plays. Today only values of actions are learned; and whose values depends
# on the target.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `sarsa_targets` | `minitrpo/algorithms/q_learning.py` | Rummery & Niranjan 1994; Watkins 1989 for Q |
# | `n_step_q_targets` | `minitrpo/algorithms/q_learning.py` | Mnih et al. 2016, algorithm S2 |
#
# *75 minutes in class with the two exercises; the notebook itself runs in half a minute. You need: lecture 11a; for one
# guess, 07.*

# %%
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.algorithms.q_learning import one_step_q_targets
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, recorded, reveal, train
from minitrpo.course.cliff import walk_the_cliff, way_of
from minitrpo.course.seeds import family_of, ratio_in_words, steps_in_words
from minitrpo.policies import Array
from minitrpo.course.statistics import mean_interval
from minitrpo.returns import discounted_sums
from minitrpo.run_folder.folder import sha256

# %% [markdown]
# ## Q: the value of doing
#
# Who knows $Q(s, a)$, the value of doing $a$ in $s$, needs no actor: do what has the largest $Q$, and with probability
# $\epsilon$ anything, or nothing new is ever tried (**epsilon-greedy**).
#
# > **One-step Q.** Repeat:
# > 1. choose $a$ epsilon-greedily, do it, see $r$ and $s'$;
# > 2. $y = r + \gamma \max_{a'} Q(s', a')$, or $r$ alone where the task terminated;
# > 3. move $Q(s, a)$ towards $y$.
#
# > **Sarsa.** As one-step Q, but
# > 2. choose $a'$ epsilon-greedily, to be *really* done next; $y = r + \gamma\, Q(s', a')$, or $r$ alone where the task
# >    terminated.
#
# The max speaks of a policy that is not the one that acts: **off-policy**. Sarsa's target is **on-policy**: it speaks
# of the one that acts.
#
# ### Exercise 1: `sarsa_targets`

# %% exercise="sarsa_targets"

# %% [markdown]
# Does it matter? **The cliff** (Sutton & Barto, example 6.6): from the lower left to the lower right corner of a 12 x 4
# grid, every step costs 1. Between the two the lower edge is a cliff: who steps there pays 100 and starts again. $Q$ is
# a table, $\gamma = 1$. `walk_the_cliff` does what the boxes say, moves $Q$ a fifth of the way, and asks us for $y$:


# %%
def one_step_q(rewards, over, next_q, then):
    return one_step_q_targets(rewards, np.array([over]), next_q[None], 1.0)


def sarsa(rewards, over, next_q, then):
    return mine.sarsa_targets(rewards, np.array([over]), next_q[None], np.array([then]), 1.0)


rules, seeds, STEPS = {"one-step Q": one_step_q, "Sarsa": sarsa}, range(budget(5, 2)), budget(15_000, 4_000)
cliff = {name: [walk_the_cliff(rule, seed, STEPS) for seed in seeds] for name, rule in rules.items()}

# %% [markdown]
# The shortest way takes 13 steps, ten of them beside the cliff. One step in ten is random, and a quarter of these
# points down. **What mean return do Q and Sarsa reach over the last 100 episodes, exploration included?**

# %% prediction="yes"
guess_q, guess_sarsa = -20, -20  # return per episode


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_ways(tables):
    """Draw the ways of up to four groups of tables, {name: tables}."""
    _, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
    axis.add_patch(plt.Rectangle((0.5, -0.5), 10, 1, color=GREY, alpha=0.4))
    axis.text(5.5, 0, "cliff", ha="center", va="center")
    shifts, colors = np.linspace(-0.15, 0.15, len(tables)), (RED, BLUE, GREEN, ORANGE)
    for (name, some), color, marker, shift in zip(tables.items(), colors, "os^v", shifts, strict=False):
        for i, q in enumerate(some):
            way = way_of(q)
            x, y = way % 12 + shift, way // 12 + shift
            axis.plot(x, y, marker=marker, markersize=5, color=color, alpha=0.5, label=None if i else name)
    axis.set(xlim=(-0.5, 11.5), ylim=(-0.5, 3.5), xticks=range(12), yticks=range(4), xlabel="x", ylabel="y")
    axis.set_title("the way of the largest Q", fontsize=10)
    for x, name in ((0, "S"), (11, "G")):
        axis.text(x, -0.4, name, ha="center", fontsize=11, fontweight="bold")
    axis.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plt.show()


def show_cliff():
    late = {name: np.array([returns[-100:].mean() for _, returns in runs]) for name, runs in cliff.items()}
    for (name, found), guess in zip(late.items(), (guess_q, guess_sarsa)):
        compare(name, guess, found.mean())
    gap = mean_interval(late["Sarsa"] - late["one-step Q"])
    print(f"  Sarsa less Q, seed by seed: {gap:.0f}, 95 % interval of {len(seeds)} seeds")
    draw_ways({name: [q for q, _ in runs] for name, runs in cliff.items()})


reveal((guess_q, guess_sarsa), show_cliff)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Q learns the way that is best *if nothing is ever tried again*: along the edge. It walks it with $\epsilon = 0.1$, and
# falls, about 0.3 times an episode. Sarsa learns the value of what it really does, and keeps away. Were $\epsilon$ to
# fall to 0 slowly enough, both would end at the edge (Sutton & Barto). In a line, over 120,000 steps, was too fast:
# Sarsa still kept away in four runs of four, perhaps as nobody tries the edge any more.
#
# </details>
#
# Now let nine actions of ten be random, for 60,000 steps, and then walk once by the largest $Q$, with nothing random.
# **What is the return of Q's way?** (And does Sarsa's arrive?)

# %% prediction="yes"
guess_way = -30  # return of one-step Q's way


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_stumbler():
    for name, rule in rules.items():
        ways = [way_of(walk_the_cliff(rule, seed, budget(60_000, 3_000), epsilon=0.9)[0]) for seed in range(3)]
        found = [f"{1 - len(way)}" if way[-1] == 11 else "never arrives" for way in ways]
        if name == "one-step Q":
            compare("return of Q's way", guess_way, found[0])
        print(f"{name}, three seeds: {', '.join(found)}")


reveal(guess_way, show_stumbler)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# -13, the best there is, learned from a stumbler. Q's target has no word about who acts: every action must be tried now
# and then, that is all, and old experience will do, too (lecture 13). Sarsa learns what is good for the stumbler, who
# had better keep far from the edge, goal or not.
#
# </details>
#
# ## n steps: how much of off-policy is left
#
# One step ahead, news travels one place per update: a goal 13 steps away is known after 13 straight walks.
# Look further, as in lecture 11a:
#
# > **n-step Q.** Repeat:
# > 1. play $n$ steps epsilon-greedily, fewer if the task terminates;
# > 2. $y_t = r_t + \gamma y_{t+1}$, from $\max_a Q(s, a)$ behind a cut, from 0 where the task terminated;
# > 3. move every $Q(s_t, a_t)$ towards $y_t$.
#
# ### Exercise 2: `n_step_q_targets`

# %% exercise="n_step_q_targets"

# %% [markdown]
# Its rewards are those of the steps *really done*, random ones and falls included. **On the cliff, $\epsilon = 0.1$,
# $n = 8$: how high does its way lead, as Q's ($y = 1$) or as Sarsa's (2 or 3)?**

# %% prediction="yes"
guess_height = 1  # largest y of the way, median of the seeds


# %%
def n_step_q(rewards, over, next_q, then):
    last = np.arange(len(rewards)) == len(rewards) - 1
    return mine.n_step_q_targets(rewards, last, last & over, next_q[None], 1.0)


tables = {f"n = {n}": [walk_the_cliff(n_step_q, seed, STEPS, n=n)[0] for seed in seeds] for n in (1, 2, 4, 8)}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_heights():
    heights = {n: [int(np.max(way_of(q) // 12)) for q in some] for n, some in tables.items()}
    compare("largest y, n = 8", guess_height, np.median(heights["n = 8"]))
    print("largest y of each seed:", heights)
    draw_ways(tables)


reveal(guess_height, show_heights)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# As Sarsa's. All steps behind the first are the acting policy's: n-step Q is off-policy in its last term alone.
# (Retrace, Munos et al. 2016, and V-trace, Espeholt et al. 2018, weigh down the steps that the policy to be learned
# about would hardly do. Here, as in Mnih et al., nobody does.)
#
# </details>
#
# ## Many actors, and nobody waits
#
# $Q$ becomes a network, and many play. With a barrier everybody's gradients are added in a fixed order, and Adam takes
# a step. Or, as in A3C:
#
# > **Asynchronous Q.** Each worker, for itself, with one shared $\theta$ and an older copy, $\theta^-$:
# > 1. $\theta' \leftarrow \theta$: *pull*;
# > 2. play $n$ steps epsilon-greedily by $Q_{\theta'}$;
# > 3. $y_t$ of one-step Q, Sarsa or n-step Q, by $Q_{\theta^-}$, constants;
# > 4. gradient $g$ of the mean of $\tfrac12 (y_t - Q_{\theta'}(s_t, a_t))^2$;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$, in place: *push*; every so many steps $\theta^- \leftarrow \theta$.
#
# We train one-step Q with one seed: with the barrier on 1 rank and on 2, without it twice on 2. **How many different
# $\theta$ come out, of two each?**

# %% prediction="yes"
guess_barrier, guess_free = 2, 2  # different theta of two runs


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_prints():
    task = ("--env", "CartPole-v1", "--total-steps", budget(20_000, 4_000), "--oversubscribe")
    for name, ranks, guess in (("one-step-q", (1, 2), guess_barrier), ("async-one-step-q", (2, 2), guess_free)):
        prints = [sha256(train(p, "--algorithm", name, *task).load_checkpoint()["theta"])[:16] for p in ranks]
        compare(f"{name}: different theta", guess, len(set(prints)))
        print("  ", *prints)


reveal((guess_barrier, guess_free), show_prints)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# One and two, as with A2C and A3C.
#
# </details>
#
# All on CartPole, as typed, a number for each seed; `actor-critic` is lecture 11a's online box with 16 simulators.
# (The presets were not tuned with equal care: a gap between two members may be one between two presets.)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
Q = ("one-step-q", "sarsa", "n-step-q", "async-one-step-q", "async-sarsa", "async-n-step-q")
family = {name: family_of(recorded("family.csv"))["CartPole-v1", name] for name in (*Q, "actor-critic", "a2c", "a3c")}
print("thousand steps to a mean return of 475 (>: never, the run was so long)")
print(*(steps_in_words(name, runs) for name, runs in family.items()), sep="\n")
for one, other in (("sarsa", "n-step-q"), ("async-n-step-q", "n-step-q"), ("n-step-q", "a2c"), ("a2c", "a3c")):
    print(f"{one}'s / {other}'s:", ratio_in_words(family[one].steps, family[other].steps))

# %% [markdown]
# ## Bug hunt
#
# coreylynch's `async-rl` (`async_dqn.py`), a game per thread, appends `clipped_r_t + FLAGS.gamma * np.max(readout_j1)`
# to its targets. Somebody gives each worker several games, walks back over their fragments, and keeps the `np.max`:


# %%
def suspect(rewards: Array, last: Array, terminated: Array, final_q: Array, discount: float) -> Array:
    y, total = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        if last[t]:
            total = 0.0 if terminated[t] else np.max(final_q)
        total = rewards[t] + discount * total
        y[t] = total
    return y


_ = hunt("n_step_q_targets", suspect)

# %% [markdown] solution="only"
# **The bug**: with several states `np.max` is the largest of all, and every fragment hopes for what the luckiest can
# have. Count fragments from the end: `final_q[fragment].max()`. (Clipped rewards are Atari's custom, no bug; on the
# cliff a fall would cost as much as a step.)

# %% [markdown]
# ## What you have built so far
#
# You can write the targets of Q, Sarsa and n-step Q. You know whose value each learns. You know which of them may learn
# from others, or from the past.
#
# ## Quiz
#
# **1.** Is one-step Q with $\epsilon = 0$ on-policy?
#
# <details><summary>Answer</summary>
#
# Its target is Sarsa's: then $a'$ is the action of the max. But nothing new is tried.
#
# </details>
#
# **2.** May Sarsa learn from steps that were stored an hour ago?
#
# <details><summary>Answer</summary>
#
# It would learn the value of the policy of an hour ago, which chose $a'$. Q may; n-step Q the less, the larger $n$.
#
# </details>
#
# **3.** Why has A3C no $\epsilon$?
#
# <details><summary>Answer</summary>
#
# Its policy is random by itself, and the entropy keeps it so; what it learns is about this very policy, noise included.
#
# </details>

# %% [markdown]
# ## Appendix: what was claimed
#
# *Frans's post* says that one-step Q learning *"often involves having another neural network represent the value
# function"*. Actor-critic does; Q learning has $Q$, and perhaps its older copy. And: *"each actor would have to keep
# its own independent policy [...] Then they would average their policies every few hundred updates. This might lead to
# suboptimal results that differ from a single-threaded implementation."* They need not: with a barrier the result above
# is that of one process, to the bit.
#
# *Frans & Hafner* say that many actors need no experience replay, *"since the data is decorrelated"*. No member above
# has one; lecture 11a measured how far it holds.
#
# **Next**: lecture 12 goes back to a policy, keeps the barrier and the samples, and gets more than one step out of
# them.
