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
# **Can a program learn about another policy than the one that acts?**
#
# *Elective. It needs lecture 11a.*
#
# <!-- loop -->
#
# Actor and critic learn about the policy that plays. In this lecture a program learns only values of actions. The target decides
# whose values they are.
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
from minitrpo.advantages import discounted_sums
from minitrpo.run_folder.folder import sha256

# %% [markdown]
# ## Q: the value of doing
#
# $Q(s, a)$ is the value of doing $a$ in $s$. A program that knows it needs no actor: it takes the action of the largest $Q$, and with
# probability $\epsilon$ a random one, since it would never try anything new otherwise (**epsilon-greedy**).
#
# > **One-step Q.** Repeat:
# > 1. choose $a$ epsilon-greedily, do it, see $r$ and $s'$;
# > 2. $y = r + \gamma \max_{a'} Q(s', a')$, or $r$ alone where the task terminated;
# > 3. move $Q(s, a)$ towards $y$.
#
# > **Sarsa.** As one-step Q, but
# > 2. choose $a'$ epsilon-greedily, and take it in the next step; $y = r + \gamma\, Q(s', a')$, or $r$ alone where the task
# >    terminated.
#
# The max describes a policy that is not the one that acts, so one-step Q is **off-policy**. Sarsa is **on-policy**: its target
# describes the policy that acts.
#
# ### Exercise 1: `sarsa_targets`

# %% exercise="sarsa_targets"

# %% [markdown]
# Does it matter? In **the cliff** (Sutton & Barto, example 6.6) a walker goes from the lower left to the lower right corner of a 12 x 4
# grid. Every step costs 1. Between the two corners the lower edge is a cliff; a fall costs 100, and the walker starts again. $Q$ is a table,
# and $\gamma = 1$. `walk_the_cliff` does what the boxes say, moves $Q$ a fifth of the way to $y$, and asks these functions for $y$:


# %%
def one_step_q(rewards, over, next_q, then):
    return one_step_q_targets(rewards, np.array([over]), next_q[None], 1.0)


def sarsa(rewards, over, next_q, then):
    return mine.sarsa_targets(rewards, np.array([over]), next_q[None], np.array([then]), 1.0)


rules, seeds, STEPS = {"one-step Q": one_step_q, "Sarsa": sarsa}, range(budget(5, 2)), budget(15_000, 4_000)
cliff = {name: [walk_the_cliff(rule, seed, STEPS) for seed in seeds] for name, rule in rules.items()}

# %% [markdown]
# The shortest way takes 13 steps, ten of them along the edge. One step in ten is random, and a quarter of the random steps go
# down. **What mean return do Q and Sarsa reach over the last 100 episodes, exploration included?**

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
    print(f"  Sarsa minus Q, seed by seed: {gap:.0f}, 95 % interval of {len(seeds)} seeds")
    draw_ways({name: [q for q, _ in runs] for name, runs in cliff.items()})


reveal((guess_q, guess_sarsa), show_cliff)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Q learns the way that is best *without random steps*, along the edge. It walks there with $\epsilon = 0.1$, and falls about 0.3 times an
# episode. Sarsa learns the value of what it does, random steps included, and keeps away from the edge.
#
# </details>
#
# Now nine of ten actions are random, for 60,000 steps. Then the walker goes once by the largest $Q$, without random steps.
# **What is the return of Q's way?** (And does Sarsa's way arrive?)

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
# -13, the best possible return, learned from an almost random walker. Q's target does not depend on the policy that acts, as long as
# every action is tried now and then; even old experience will do (lecture 13a). Sarsa learns what is good for the random walker, which
# must stay far from the edge, even if it never arrives.
#
# </details>
#
# ## n steps: how much of off-policy is left
#
# With one step ahead, information travels one place per update: a goal 13 steps away is known after 13 straight walks. Look further, as
# in lecture 11a:
#
# > **n-step Q.** Repeat:
# > 1. play $n$ steps epsilon-greedily, fewer if the task terminates;
# > 2. $y_t = r_t + \gamma y_{t+1}$, from $\max_a Q(s, a)$ behind a cut, from 0 where the task terminated;
# > 3. move every $Q(s_t, a_t)$ towards $y_t$.
#
# ### Exercise 2: `n_step_q_targets`

# %% exercise="n_step_q_targets"

# %% [markdown]
# Its rewards are those of the steps *that were taken*, random ones and falls included. **On the cliff, with $\epsilon = 0.1$ and
# $n = 8$, how high does its way lead: as Q's ($y = 1$), or as Sarsa's (2 or 3)?**

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
# As Sarsa's. All steps after the first belong to the acting policy, so n-step Q is off-policy in its last term only.
#
# </details>
#
# ## Many actors without a barrier
#
# $Q$ becomes a network, and many workers play. With a barrier their gradients are added in a fixed order, and Adam takes one step.
# Without it, as in A3C:
#
# > **Asynchronous Q.** Each worker, for itself, with one shared $\theta$ and an older copy, $\theta^-$:
# > 1. $\theta_{\text{old}} \leftarrow \theta$: *pull*;
# > 2. play $n$ steps epsilon-greedily by $Q_{\theta_{\text{old}}}$;
# > 3. $y_t$ of one-step Q, Sarsa or n-step Q, by $Q_{\theta^-}$, constants;
# > 4. gradient $g$ of the mean of $\tfrac12 (y_t - Q_{\theta_{\text{old}}}(s_t, a_t))^2$;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$, in place: *push*; after a fixed number of steps $\theta^- \leftarrow \theta$.
#
# We train one-step Q with one seed, with the barrier on 1 rank and on 2, and without it twice on 2 ranks. **How many different
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
# With the barrier both runs end with the same $\theta$. Without it they almost certainly differ, because the order in which
# gradients arrive depends on the clock. A2C and A3C behave in the same way.
#
# </details>
#
# All members on CartPole with their default settings, a number for each seed. `actor-critic` is lecture 11a's online box with 16
# simulators.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
Q = ("one-step-q", "sarsa", "n-step-q", "async-one-step-q", "async-sarsa", "async-n-step-q")
family = {name: family_of(recorded("family.csv"))["CartPole-v1", name] for name in (*Q, "actor-critic", "a2c", "a3c")}
print("thousand steps to a mean return of 475 (>: not reached in a run of this length)")
print(*(steps_in_words(name, runs) for name, runs in family.items()), sep="\n")
for one, other in (("sarsa", "n-step-q"), ("async-n-step-q", "n-step-q"), ("n-step-q", "a2c"), ("a2c", "a3c")):
    print(f"{one}'s / {other}'s:", ratio_in_words(family[one].steps, family[other].steps))

# %% [markdown]
# <small>The default settings were not tuned with equal care, so a gap between two members may be a gap between two settings.</small>
#
# ## Bug hunt
#
# coreylynch's `async-rl` (`async_dqn.py`) plays one game per thread, and appends `clipped_r_t + FLAGS.gamma * np.max(readout_j1)` to
# its targets. Somebody gives each worker several games, walks back over their fragments, and keeps the `np.max`. `hunt` shows a case; find
# the line and correct it:


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
# **The bug**: with several states `np.max` takes the largest value of all fragments, so every fragment gets the value of the luckiest
# one. Count fragments from the end: `final_q[fragment].max()`.

# %% [markdown]
# ## Quiz
#
# **1.** Is one-step Q with $\epsilon = 0$ on-policy?
#
# <details><summary>Answer</summary>
#
# Its target is Sarsa's, since $a'$ is then the action of the max. But it tries nothing new.
#
# </details>
#
# **2.** May Sarsa learn from steps that were stored an hour ago?
#
# <details><summary>Answer</summary>
#
# It would learn the value of the policy of an hour ago, which chose $a'$. One-step Q may use them. n-step Q may use them the less, the
# larger $n$ is.
#
# </details>
#
# **3.** Why has A3C no $\epsilon$?
#
# <details><summary>Answer</summary>
#
# Its policy is random by itself, and the entropy keeps it so. It learns about this policy, noise included.
#
# </details>
#
# ## Summary
#
# - $Q(s, a)$ needs no actor: the largest $Q$ is the action.
# - The max makes one-step Q off-policy. Sarsa's target describes the policy that acts.
# - n-step Q is quicker, and off-policy in its last term only.
# - With a barrier the result is the same on any number of ranks, to the bit; without one it is not.
#
# ## Open questions
#
# 1. Plot the mean return of the last 100 episodes of Q and of Sarsa on the cliff against $\epsilon$ = 0.01, 0.05, 0.1 and 0.3 (five seeds,
#    `walk_the_cliff(rule, seed, STEPS, epsilon=...)`). Explain in three sentences where the two differ, and why.
# 2. Plot the largest $y$ of the way against $n$ = 1, 2, 4, 8 for $\epsilon$ = 0.1 and 0.3. Explain in three sentences what $n$ changes
#    besides speed.
#
# **Next**: lecture 12 goes back to a policy, keeps the barrier and the samples, and takes more than one step with them.
