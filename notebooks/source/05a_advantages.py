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
# # 05a Advantages
#
# **How good was an action, when all we know is the rewards that followed?**
#
# <!-- loop -->
#
# You have a gradient (01), a direction (02, 03) and a length (04). All of them rest on one number per step, the advantage: how
# much better than usual an action turned out. So far that was the sum of the rewards that followed, minus a constant. Today
# it becomes less noisy, and we learn what that costs.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `next_values` | `minitrpo/advantages.py` | not in Frans & Hafner: how an episode stops is not discussed |
# | `gae` | `minitrpo/advantages.py` | Schulman et al. 2016; Frans & Hafner, Algorithm 1, line 5, with $\lambda = 1$: "Monte Carlo" |
# | `explained_variance` | `minitrpo/advantages.py` | not there; every log should have it |
#
# *90 minutes in class with the exercises; the notebook runs in a few seconds. You need lecture 01.
# The numbers of this lecture enter TRPO, whose card is the page `docs/cards/trpo.md`.*

# %%
import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.policies import Array
from minitrpo.advantages import discounted_sums

# %% [markdown]
# ## A walk in a corridor
#
# **The corridor** has nine places, 1 to 9. At every step a fair coin moves you left or right. If you walk out on the right,
# your reward is 1; on the left it is 0. Then the walk is over. We stop watching after 20 steps.


# %%
def walks(number, limit, rng, start=None):
    """Return places, rewards, masks `last` and `terminated` of all steps, and the place after each walk."""
    places, rewards, last, terminated, final_places = [], [], [], [], []
    for coins in rng.choice((-1, 1), size=(number, limit)).tolist():
        place = start or int(rng.integers(1, 10))
        for step, coin in enumerate(coins, start=1):
            places.append(place)
            place += coin
            rewards.append(float(place == 10))
            terminated.append(place in (0, 10))
            last.append(place in (0, 10) or step == limit)
            if last[-1]:
                final_places.append(place)
                break
    return tuple(np.array(x) for x in (places, rewards, last, terminated, final_places))


truth = np.arange(11) / 10
truth[[0, 10]] = 0.0  # outside, nothing more will be paid
places, rewards, last, terminated, final_places = walks(budget(3000, 1000), 20, np.random.default_rng(0))
print(f"{last.sum()} walks of at most 20 steps, {len(places)} steps; {terminated.sum()} walks left the corridor")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(8, 3.2), layout="tight")
ends, shown = np.flatnonzero(last), {}
for end, after, over in zip(ends, final_places, terminated[ends]):
    if end >= 6 and not last[end - 6 : end].any() and (last[max(0, end - 14) : end].any() or not over):  # 7 to 14 steps
        shown.setdefault(int(after) if over else "cut", end)  # the first walk of each kind
looks = ((10, GREEN, "o", "out on the right: reward 1"), (0, RED, "s", "out on the left: reward 0"))
for kind, color, marker, label in (*looks, ("cut", BLUE, "^", "cut after 20 steps")):
    begin = max([0, *(ends[ends < shown[kind]] + 1)])
    final = final_places[np.searchsorted(ends, shown[kind])]
    path = [*places[begin : shown[kind] + 1], final]
    axis.plot(path, "-", color=color)
    axis.plot(len(path) - 1, path[-1], marker, color=color, markersize=10, label=label)
axis.axhline(0, color=GREY, linewidth=1)
axis.axhline(10, color=GREY, linewidth=1)
axis.set(xlabel="step", ylabel="place", xticks=range(0, 21, 5), yticks=range(0, 11, 2), title="three walks")
axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# How good is a place? And how good was a step to the right? Three words are needed.
#
# - The **discounted return** from step $t$ on is $r_t + \gamma r_{t+1} + \gamma^2 r_{t+2} + \dots$, where the **discount** $\gamma$ is a number from 0 to 1. With $\gamma = 0.5$
#   the rewards 1, 2, 3 give $1 + 0.5 \cdot 2 + 0.25 \cdot 3 = 2.75$. A discount below 1 gives less weight to rewards that come late. This reduces noise, because
#   late rewards depend on many other actions. It also changes the question a little: what comes after much more than $1 / (1 - \gamma)$ steps hardly counts. In the
#   corridor there is no discount: $\gamma = 1$.
# - The **value** $V(s)$ is the expected discounted return from state $s$ on, when the policy acts.
# - The **advantage** $A(s, a)$ is the expected return after taking action $a$ in $s$, minus $V(s)$.
#
# Every value is tied to the value of the next state. The return from $s_t$ is the first reward plus the discounted return from $s_{t+1}$, so
#
# $$V(s) = \mathbb{E}\left[\, r + \gamma V(s') \,\right],$$
#
# where $r$ is the reward of the step and $s'$ the next state. This is the **Bellman equation** of $V$. In the corridor both neighbours are equally likely, so the
# value of place 4 is the mean of the values of places 3 and 5. $V(s)$ is the probability of leaving on the right, and $V(s) = s / 10$ fulfils the Bellman equation at every place:
# for place 4, $(0.3 + 0.5) / 2 = 0.4$; for place 9, $(0.8 + 1) / 2 = 0.9$, where 1 is the reward of leaving. A step to the right raises the value by 0.1, so its advantage is 0.1. On other tasks a function is fitted to
# predict $V$. It is called a **critic**. It serves as a baseline that depends on the state, so by the argument of lecture 01 it
# removes noise and adds no bias.
#
# ## How a walk stops
#
# The picture shows two ways to stop, and they mean opposite things:
#
# - **Terminated**: the task is over. No reward will follow, so the value of what comes after is **0**.
# - **Truncated** (cut): *we* stopped watching at a **time limit**. The walker has a future, which is worth $V$ of its place.
#   Using an estimate of $V$ in place of what was not seen is **bootstrapping**.
#
# Gymnasium reports the two separately; older code has one flag, `done`, for both.
#
# ### Exercise 1: `next_values` (★★, 10 minutes)
#
# The steps of all walks lie one after the other in flat arrays. `last` marks the last step of each **fragment** (an unbroken
# run of steps of one episode; here a walk), and `terminated` marks the steps after which the task is over. Return the value
# of the *next* state for every step. (The values may be whole numbers.)
#
# Suppose there are two walks, of three steps and of two. The first one was cut, and the walker then stood in a place of value 0.7. The second one left the corridor. With
# `values` 0.5, 0.6, 0.5, 0.2, 0.1 and `final_values` 0.7, 0.3, the result is 0.6, 0.5, **0.7**, 0.1, **0**. The final value 0.3 is not used, because
# that walk is over.

# %% exercise="next_values"

# %% [markdown]
# `mine.next_values` is your function once its check has passed. Before that it is the package's function.
#
# Now we learn $V$ from the walks. Start at 0 everywhere, set each place's value to the mean of "reward + value of the next
# place" over all visits, and repeat. (This is the Bellman equation with a mean over visits in the place of the expected value.) Then we do the same with one merged flag, which treats a cut walk as terminated. The
# true value of the middle is 0.5. Which value does the merged flag give it?

# %% prediction="yes"
guess_merged = 0.45  # value of place 5


# %%
def learned_values(over):
    """Return the table of values that explains itself, where `over` marks the steps with nothing after them."""
    table, visits = np.zeros(11), np.bincount(places, minlength=11)
    for _ in range(300):
        targets = rewards + mine.next_values(table[places], table[final_places], last, over)
        table = np.bincount(places, targets, minlength=11) / np.maximum(visits, 1)
    return table[1:10]


two_masks, merged = learned_values(over=terminated), learned_values(over=last)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_merged():
    """Print the value of the middle and draw all values against the truth."""
    compare("value of the middle with one merged flag (truth 0.5)", guess_merged, merged[4])
    _, axis = plt.subplots(figsize=(6.5, 3.4), layout="tight")
    axis.plot(range(1, 10), truth[1:10], color=GREY, linewidth=5, alpha=0.5, label="truth: s / 10")
    axis.plot(range(1, 10), two_masks, "o", color=BLUE, label="cut walks bootstrapped")
    axis.plot(range(1, 10), merged, "s--", color=RED, label="cut walks treated as terminated")
    axis.set(xlabel="place s", ylabel="value V(s)", ylim=(0, 1))
    axis.legend()
    plt.show()


reveal(guess_merged, show_merged)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The merged flag is wrong everywhere, and most where walks are long. It also bends the line, so the *differences* between
# neighbours, from which a policy learns, are wrong, too. Frans's code of 2016 merged the flags, as did much code of its time.
#
# </details>
#
# ## One step or all steps
#
# The **TD error** (temporal difference) of a step is the surprise it brings:
#
# $$e_t = r_t + \gamma V(s_{t+1}) - V(s_t)$$
#
# If $V$ is right, $e_t$ is on average the advantage of the action. If $V$ is wrong, so is $e_t$: it has **bias**. The other
# extreme is the whole discounted return minus $V(s_t)$. It uses no $V$ of later states, but it contains the noise of
# everything that happens until the end: **variance**. It equals the sum of all later surprises, $\sum_k \gamma^k e_{t+k}$.
# (Write out three of them: the values in between cancel.)
#
# Generalised advantage estimation (GAE, Schulman et al. 2016) lies between the two. It lets later surprises fade by a factor
# $\lambda$. The picture shows what enters the advantage of step 2.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axes = plt.subplots(1, 3, figsize=(9.5, 2.6), sharey=True, layout="tight")
for axis, lam in zip(axes, (0.0, 0.7, 1.0)):
    t, first_end = np.arange(11), 7
    weights = np.where((t >= 2) & (t <= first_end), lam ** np.maximum(t - 2, 0.0), 0.0)
    axis.bar(t, weights, color=BLUE)
    axis.axvline(first_end + 0.5, color=RED, linestyle="--")
    axis.text(first_end + 0.7, 0.95, "next\nepisode", color=RED, va="top")
    axis.set(xlabel="step", xticks=range(0, 11, 2), ylim=(0, 1.1), title=f"$\\lambda$ = {lam}")
axes[0].set_ylabel("weight of $e$ in $A_2$")
plt.show()

# %% [markdown]
# <small>$\gamma = 1$; the fragment ends after step 7.</small>
#
# $$A_t = \sum_{k \ge 0} (\gamma\lambda)^k \, e_{t+k} = e_t + \gamma\lambda\, A_{t+1}$$
#
# $\lambda = 0$ uses one step and $\lambda = 1$ all steps. **Monte Carlo** is the name of the second. $A_t + V(s_t)$ is the
# **target**: what the critic should have said, and what it is fitted to next.
#
# ### Exercise 2: `gae` (★★, 12 minutes)
#
# `next_values` is the result of your function of that name. The function `discounted_sums(x, discount, last)` is available: it returns
# $x_t + \text{discount} \cdot x_{t+1} + \dots$ for every step, up to the next `last`.
#
# For example, let a fragment of two steps have the rewards 1 and 2, the values 4 and 2, and the next values 2 and 6, with $\gamma = 0.5$ and $\lambda = 0.5$. The TD errors are
# $1 + 0.5 \cdot 2 - 4 = -2$ and $2 + 0.5 \cdot 6 - 2 = 3$. From the end to the start, $A_2 = 3$ and $A_1 = -2 + 0.25 \cdot 3 = -1.25$. The
# targets are $A_t + V(s_t)$: 2.75 and 5.

# %% exercise="gae"

# %% [markdown]
# Back to the corridor, with walks long enough to terminate, all from the middle. A first step to the right has the advantage
# 0.1, and a step to the left -0.1.
#
# Suppose the critic knows nothing and says 0.5 everywhere. Which advantage does a first step to the right get on average,
# with $\lambda = 0$? And with $\lambda = 1$?

# %% prediction="yes"
guess_one_step = 0.1  # advantage of a step to the right, lambda 0
guess_whole = 0.1  # the same, lambda 1

# %%
places, rewards, last, terminated, final_places = walks(budget(3000, 400), 1000, np.random.default_rng(1), start=5)
first = np.append(0, np.flatnonzero(last)[:-1] + 1)
direction = np.where(places[first + 1] > 5, 1, -1)  # of the first step


def first_advantages(quality, lam):
    """Return A of each walk's first step (left: minus A), for a critic between ignorant (0) and perfect (1)."""
    table = np.where(truth > 0, 0.5 + quality * (truth - 0.5), 0.0)
    after = mine.next_values(table[places], table[final_places], last, terminated)
    return direction * mine.gae(rewards, table[places], after, last, 1.0, lam)[0][first]


def show_ignorant():
    """Print what an ignorant critic makes of the first step, at both ends of lambda."""
    for lam, guess in ((0.0, guess_one_step), (1.0, guess_whole)):
        estimates = first_advantages(quality=0.0, lam=lam)
        compare(f"mean advantage, lambda {lam:.0f} (truth 0.1)", guess, abs(estimates.mean()))
        print(f"  standard deviation of a single walk's: {estimates.std():.2f}")


reveal((guess_one_step, guess_whole), show_ignorant)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The ignorant critic sees no difference between places 4 and 6, so with $\lambda = 0$ the policy sees none either. With
# $\lambda = 1$ the mean is right (up to the noise of these walks), but a single walk's estimate has a standard deviation five
# times as large as the advantage itself.
#
# </details>
#
# A batch averages over many walks. Averaging reduces variance, never bias. So the best $\lambda$ depends on the critic *and*
# on the size of the batch. This critic is half right: it says 0.5 plus half of the true difference.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
lambdas = np.linspace(0, 1, 11)


def draw_lambdas(quality=1.0):
    """Draw bias and noise of the first step's advantage against lambda, for one walk and for means of several."""
    estimates = np.array([first_advantages(quality, lam) for lam in lambdas])
    bias, spread = estimates.mean(axis=1) - 0.1, estimates.std(axis=1)
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="tight")
    left.plot(lambdas, np.abs(bias), "o-", color=RED, label="bias, in size")
    left.plot(lambdas, spread, "s-", color=BLUE, label="standard deviation, one walk")
    for number, color, marker in ((1, GREY, "v"), (10, ORANGE, "s"), (100, GREEN, "o"), (1000, PURPLE, "^")):
        error = np.sqrt(bias**2 + spread**2 / number)
        right.plot(
            lambdas, error, "-", color=color, marker=marker, markersize=4, label=f"{number:,} walk" + "s" * (number > 1)
        )
        right.plot(lambdas[error.argmin()], error.min(), "*", color=color, markersize=16)
    left.set(
        xlabel="$\\lambda$",
        ylabel="error of the advantage",
        ylim=(0, 0.6),
        title=f"one walk; the critic is right to {quality:.0%}",
    )
    right.set(
        xlabel="$\\lambda$",
        ylabel="error of the advantage",
        ylim=(0, 0.2),
        title="means of 1 to 1,000 walks; star: best $\\lambda$",
    )
    left.legend()
    right.legend()
    plt.show()


draw_lambdas(quality=0.5)

# %% [markdown]
# Drag the slider for better and worse critics (it needs a running kernel; the figure above shows 0.5).

# %%
quality = ipywidgets.FloatSlider(min=0, max=1, step=0.25, value=1, description="critic", continuous_update=False)
_ = ipywidgets.interact(draw_lambdas, quality=quality)

# %% [markdown]
# A good critic calls for a small $\lambda$, and a large batch for a large one.
#
# ## Is the critic any good?
#
# What fraction of the variance of the targets do the critic's predictions explain?
#
# $$1 - \frac{\operatorname{Var}(\text{target} - \text{predicted})}{\operatorname{Var}(\text{target})}$$
#
# 1 is perfect, 0 is no better than a constant, and a negative number is worse. A constant offset does not count, as a
# baseline may be off by a constant. If all targets are equal there is nothing to explain; return `nan`.
#
# ### Exercise 3: `explained_variance` (★, 4 minutes)
#
# For example, the targets 1, 2, 3, 4 have the variance 1.25. A critic that predicts half of each leaves the differences 0.5, 1, 1.5, 2, whose variance is 0.3125. It
# explains $1 - 0.3125 / 1.25 = 0.75$. If it predicted 6, 7, 8, 9, all differences would be -5, their variance 0, and the result 1.

# %% exercise="explained_variance"

# %% [markdown]
# Now a real task. **Reacher** is an arm of two links on a table that must bring its tip to a dot. An episode has 50 steps, and
# the reward is minus the distance to the dot, minus the effort. We play ten episodes with a fresh policy. The targets are the
# discounted sums of rewards. Two critics are fitted to them. One is a perceptron, trained ten times as long as usual. The
# other is the **linear critic** of Frans's code: a weighted sum of the observations, their squares, and *the clock*, the number
# of steps since the episode began.
#
# Then the same policy plays ten fresh episodes. How much does the perceptron explain of the targets it was fitted to? How
# much of the fresh ones?

# %% prediction="yes"
guess_own = 0.9  # explained variance, its own batch
guess_fresh = 0.6  # explained variance, a fresh batch


# %%
def reacher_batch(seed):
    """Return observations, timesteps and discounted sums of rewards of ten episodes of a fresh policy."""
    episodes = play("Reacher-v5", steps=500, seed=seed).episodes
    zeros = np.zeros(episodes.steps)
    _, targets = mine.gae(episodes.rewards, zeros, zeros, episodes.last, 0.99, 1.0)
    return episodes.observations, episodes.timesteps, targets


own, fresh, rng = reacher_batch(seed=0), reacher_batch(seed=1), np.random.default_rng(0)
critics = {
    "the perceptron": MLPCritic(observation_size=10, epochs=100),
    "the linear critic": LinearCritic(observation_size=10),
    "the linear critic, clock stopped": LinearCritic(observation_size=10),
}


def fit_and_predict(name):
    """Return a critic's predictions for the batch it is fitted to, and for the fresh one."""
    critic, ticks = critics[name], 0.0 if "stopped" in name else 1.0
    samples = {"observations": own[0], "timesteps": ticks * own[1], "targets": own[2]}
    state = critic.fit(critic.initialise(rng), samples, rng)
    return [critic.predict(state, batch[0], ticks * batch[1]) for batch in (own, fresh)]


predictions = {name: fit_and_predict(name) for name in critics}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_critics():
    """Print what the critics explain, and draw predictions of two of them against targets."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.7), sharex=True, sharey=True, layout="tight")
    for (name, predicted), color, marker in zip(predictions.items(), (BLUE, ORANGE, None), "os."):
        explained = [mine.explained_variance(p, batch[2]) for p, batch in zip(predicted, (own, fresh))]
        if name == "the perceptron":
            compare(f"{name}: explained of its own batch", guess_own, explained[0])
            compare(f"{name}: explained of a fresh batch", guess_fresh, explained[1])
            print(
                f"  so {explained[0] - max(explained[1], 0):.2f} of the {explained[0]:.2f} is memory of its own batch"
            )
        else:
            print(f"{name}: explained of its own batch {explained[0]:.2f}, of a fresh one {explained[1]:.2f}")
        if color:
            for axis, p, batch in zip(axes, predicted, (own, fresh)):
                axis.plot(batch[2][::4], p[::4], marker, color=color, markersize=3, label=name)
    for axis, title in zip(axes, ("the batch they were fitted to", "a fresh batch")):
        axis.axline((-10, -10), slope=1, color=GREY, linewidth=1)
        axis.set(xlabel="discounted return that followed", title=title)
    axes[0].set_ylabel("predicted")
    axes[0].legend()
    plt.show()


reveal((guess_own, guess_fresh), show_critics)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# What the perceptron explains of its own batch and not of a fresh one, it has memorised: the printed line says how much that is.
# Advantages computed from this fit would be near 0 for every action, because the critic already knows how each of them ended.
# Hence the order of every update: **predict with the previous fit, then fit**.
#
# Compare the linear critic with and without its clock. It is simpler than the perceptron, and on fresh episodes the clock makes
# nearly all of the difference. These targets add rewards up to step 50 as if the task ended there. That is the merged flag
# again, and a clock can learn its effect.
#
# </details>
#
# ## Bug hunt
#
# This loop comes from a well-known library, where it is right, and was adapted to our arguments. It runs, and its numbers look
# sensible. `hunt` shows the symptom. Find the line, fix it in the cell, and run the cell again.


# %%
def suspect(rewards, values, next_values, last, discount, gae_lambda):
    T = len(rewards)
    adv = np.zeros(T)
    lastgaelam = 0.0
    for t in reversed(range(T)):
        nonterminal = 1.0 - last[t + 1] if t + 1 < T else 0.0
        error = rewards[t] + discount * next_values[t] - values[t]
        lastgaelam = error + discount * gae_lambda * nonterminal * lastgaelam
        adv[t] = lastgaelam
    return adv, adv + values


_ = hunt("gae", suspect)

# %% [markdown] solution="only"
# **The bug**: `last[t + 1]` instead of `last[t]`. OpenAI's baselines keeps a mask of the *first* step of each episode, so the
# mask at $t + 1$ says whether $t$ was the last. With a mask of *last* steps the border moves one step back. The last action is
# credited with the next episode, and earlier actions never learn of the last surprise, often the one that matters (the fall).
# TRPO of stable-baselines had exactly this bug (its issue 385, 2019).

# %% [markdown]
# ## Quiz
#
# **1.** Every step of a task has reward 1, episodes are cut after 1,000 steps, and $\gamma = 0.99$. The code has one flag `done`
# for both ends. Is its critic too high or too low, and where?
#
# <details><summary>Answer</summary>
#
# Too low, in states seen late in an episode: what comes after step 1,000 counts as 0, although it is worth up to
# $1 / (1 - \gamma) = 100$. Tempting: "all states alike". An error at the end of an episode
# is halved every 70 steps further back, so it hardly changes the values of early states.
#
# </details>
#
# **2.** Your critic is perfect. Which $\lambda$ should you take?
#
# <details><summary>Answer</summary>
#
# $\lambda = 0$: the TD error is then an unbiased estimate of the advantage, and the least noisy one. Tempting: "$\lambda = 1$,
# because Monte Carlo is never biased". True, but here nothing is biased, so all that $\lambda > 0$ adds is noise of later
# steps.
#
# </details>
#
# **3.** The log says: explained variance 0.98 on the batch that the critic has just been fitted to. Is it a good critic?
#
# <details><summary>Answer</summary>
#
# You cannot know. It may have memorised its batch, as your perceptron did. Ask for the explained variance of its predictions
# *before* the fit, which is what `train` logs. Tempting: "0.98 is close to 1, so the advantages will be precise". Advantages
# from such a fit would be nearly 0 for every action, good or bad.
#
# </details>
#
# ## Summary
#
# Learn these six points by heart.
#
# - The Bellman equation says $V(s) = \mathbb{E}[r + \gamma V(s')]$: the value is the expected reward plus the discounted value of the next state.
# - Terminated means that the value afterwards is 0. Truncated means that the critic's value stands for the rewards that were not seen.
# - The TD error $r + \gamma V(s') - V(s)$ has the bias of the critic. The whole return has the noise of all later steps. $\lambda$ chooses between them.
# - $A_t = e_t + \gamma\lambda A_{t+1}$, and the target of the critic is $A_t + V(s_t)$.
# - A good critic calls for a small $\lambda$, a large batch for a large one.
# - Predict with the previous fit, then fit. A critic is tested on episodes to which it was not fitted.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# 1. Plot the best $\lambda$ for a mean of 100 walks against the quality of the critic, from 0 to 1 in steps of 0.1
#    (`first_advantages` has both as arguments). Explain what happens at both ends, and why.
# 2. Fit the linear critic without its clock to the ten Reacher episodes, bootstrap the targets at the cut with its own
#    values, fit again, and repeat 20 times. Each time, fit one with a clock to the same targets. Plot both explained
#    variances against the number of rounds. Explain why the clock helps at first, and whether it helps at
#    the end.
#
# ## Read on
#
# - R. S. Sutton & A. G. Barto, *Reinforcement learning: an introduction*, second edition, 2018, chapters 3, 6 and 7: values, the Bellman equation, one step and n steps, with
#   a random walk like ours.
# - J. Schulman et al., *High-dimensional continuous control using generalized advantage estimation*, ICLR 2016: GAE, with experiments on $\gamma$ and $\lambda$.
# - F. Pardo et al., *Time limits in reinforcement learning*, ICML 2018: the merged flag and the clock of a critic, with the theory behind them.
#
# **Next**: lecture 05b puts these numbers into one update, and asks whether it learns.
