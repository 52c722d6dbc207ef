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
# **How good was an action, when all we know is what was paid afterwards?**
#
# <!-- loop -->
#
# You have a gradient (01), a direction (02, 03) and a length (04). All of them rest on one number per step, the advantage:
# how much better than usual an action turned out. Until now that was "everything that was paid afterwards, less a constant".
# Today it becomes less noisy, and we learn what it costs.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `next_values` | `minitrpo/returns.py` | not in Frans & Hafner: how an episode stops is not discussed |
# | `gae` | `minitrpo/returns.py` | Schulman et al. 2016; Frans & Hafner, Algorithm 1, line 5, with $\lambda = 1$: "Monte Carlo" |
# | `explained_variance` | `minitrpo/returns.py` | not there; every log should have it |
#
# *About 90 minutes in class with the exercises; it runs in a few seconds. You need: lecture 01.*

# %%
import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal
from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.policies import Array
from minitrpo.returns import discounted_sums

# %% [markdown]
# ## A value for every state
#
# Lecture 01 weighted each action by the reward that followed, less a constant. But in a good state *every* action looks
# good. We want to know how much better than usual it went, *from here*:
#
# - the **value** $V(s)$ is the expected discounted return from state $s$ on, when the policy acts;
# - the **advantage** $A(s, a)$ is the expected return after taking action $a$ in $s$, less $V(s)$.
#
# A function fitted to predict $V$ is a **critic**. It serves as a baseline that depends on the state, so by the argument of
# lecture 01 it takes noise away and adds no bias.
#
# We start where values are known. **The corridor**: nine places, 1 to 9. Every step a fair coin moves you left or right.
# Walk out on the right and you are paid 1, on the left nothing; then the walk is over. No discount. $V(s)$ is the chance of
# leaving on the right: $s / 10$, since each value must be the mean of its two neighbours.


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

# %% [markdown]
# We stopped every walk after 20 steps: a **time limit**, as most tasks have one. So a walk stops for one of two reasons, and
# they mean opposite things:
#
# - **terminated**: the task is over. Nothing more will be paid; the value of what comes after is **0**.
# - **truncated** (cut): *we* stopped looking. The walker has a future, worth $V$ of the place where it stands. Using an
#   estimate of $V$ in place of what was not seen is **bootstrapping**.
#
# Gymnasium reports the two separately; older code has one flag, `done`, for both.
#
# ### Exercise 1: `next_values`
#
# Steps of all walks lie one after the other in flat arrays; `last` marks the last step of each **fragment** (an unbroken
# run of steps of one episode; here a walk), `terminated` those after which the task is over. Return the value of the
# *next* state for every step. (What is given may be whole numbers, what comes back need not be.)

# %% exercise="next_values"

# %% [markdown]
# Stuck? `hint("next_values", 1)`, and so on. As always, `mine.next_values` is yours once it is right, and the package's
# until then.
#
# Now learn $V$ from the walks: start at 0 everywhere, set each place's value to the mean of "reward + value of the next
# place" over all visits, repeat. Then the same with one merged flag, which calls a cut walk finished. The true value of the
# middle is 0.5. What does the merged flag make of it?

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
    """Print the value of the middle and draw all values beside the truth."""
    compare("value of the middle with one merged flag (truth 0.5)", guess_merged, merged[4])
    _, axis = plt.subplots(figsize=(6.5, 3.4), layout="tight")
    axis.plot(range(1, 10), truth[1:10], color=GREY, linewidth=5, alpha=0.5, label="truth, s / 10")
    axis.plot(range(1, 10), two_masks, "o", color=BLUE, label="cut walks bootstrapped")
    axis.plot(range(1, 10), merged, "s--", color=RED, label="cut walks called finished")
    axis.set(xlabel="place s", ylabel="value V(s) (expected payment)", ylim=(0, 1))
    axis.legend()
    plt.show()


reveal(guess_merged, show_merged)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The merged flag is wrong everywhere, most where walks are long. It also bends the line, so the *differences* between
# neighbours, from which a policy learns, are wrong, too. Frans's code of 2016 calls a cut episode finished, as did much code
# of its time.
#
# </details>
#
# ## One step or the whole story
#
# The **TD error** (temporal difference) of a step is the surprise it brings, with $\gamma$ the discount:
#
# $$e_t = r_t + \gamma V(s_{t+1}) - V(s_t)$$
#
# If $V$ is right, $e_t$ averages to the advantage of the action. If $V$ is wrong, so is $e_t$: it has **bias**. The other
# extreme, the whole discounted return less $V(s_t)$, asks no $V$ of later states but carries the noise of everything that
# happens until the end: **variance**. It is the sum of all later surprises, $\sum_k \gamma^k e_{t+k}$ (write out three of
# them: what is not reward cancels, but for $V(s_t)$). Generalised advantage estimation (GAE, Schulman et al. 2016) lets the
# surprises fade by another factor $\lambda$:
#
# $$A_t = \sum_{k \ge 0} (\gamma\lambda)^k \, e_{t+k} = e_t + \gamma\lambda\, A_{t+1}$$
#
# $\lambda = 0$ is one step, $\lambda = 1$ the whole story. $A_t + V(s_t)$ is the **target**: what the critic should have said,
# and what it is fitted to next.
#
# ### Exercise 2: `gae`
#
# `next_values` is what your function of that name returned. You wrote the backward sum in lecture 01: `discounted_sums` is
# at hand.

# %% exercise="gae"

# %% [markdown]
# Back to the corridor, with walks long enough to end by themselves, all from the middle. A first step to the right
# raises the value from 0.5 to 0.6: its advantage is 0.1; that of a step to the left is -0.1.
#
# Suppose the critic knows nothing and says 0.5 everywhere. With $\lambda = 0$, which advantage does a first step to the right
# get, on average? And with $\lambda = 1$?

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
# The ignorant critic sees no difference between places 4 and 6; with $\lambda = 0$ neither does the policy. With $\lambda = 1$
# the mean is right (up to the luck of these walks), but a single walk's estimate is five times as noisy as the number is
# large.
#
# </details>
#
# A batch averages over many walks, and averaging cures variance, never bias. So the best $\lambda$ depends on the critic
# *and* on the size of the batch. Here is a critic that is half right: it says 0.5 plus half of what is missing.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
lambdas = np.linspace(0, 1, 11)


def draw_lambdas(quality=1.0):
    """Draw bias and noise of the first step's advantage against lambda, for one walk and for means of several."""
    estimates = np.array([first_advantages(quality, lam) for lam in lambdas])
    bias, spread = estimates.mean(axis=1) - 0.1, estimates.std(axis=1)
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="tight")
    left.plot(lambdas, np.abs(bias), "o-", color=RED, label="bias")
    left.plot(lambdas, spread, "s-", color=BLUE, label="standard deviation, one walk")
    for number, color, marker in ((1, GREY, "v"), (10, ORANGE, "s"), (100, GREEN, "o"), (1000, PURPLE, "^")):
        error = np.sqrt(bias**2 + spread**2 / number)
        right.plot(lambdas, error, "-", color=color, marker=marker, markersize=4, label=f"mean of {number}")
        right.plot(lambdas[error.argmin()], error.min(), "*", color=color, markersize=16)
    left.set(xlabel="$\\lambda$", ylabel="error of the advantage", ylim=(0, 0.6), title=f"A critic {quality:.2f} right")
    right.set(xlabel="$\\lambda$", ylabel="error of the advantage", ylim=(0, 0.2), title="Averaged; star: best")
    left.legend()
    right.legend()
    plt.show()


draw_lambdas(quality=0.5)

# %% [markdown]
# A bolder critic, or a better one? Drag the slider (it needs a running kernel; the figure above is its position 0.5).

# %%
quality = ipywidgets.FloatSlider(min=0, max=1, step=0.25, value=1, description="critic", continuous_update=False)
_ = ipywidgets.interact(draw_lambdas, quality=quality)

# %% [markdown]
# A good critic asks for a small $\lambda$, a large batch for a large one. Frans & Hafner take 20,000 steps and
# $\lambda = 1$; our `--preset episodes`, which these lectures use, takes 5,000 and 0.97.
#
# ## Is the critic any good?
#
# Which fraction of the targets' variance do its predictions explain?
#
# $$1 - \frac{\operatorname{Var}(\text{target} - \text{predicted})}{\operatorname{Var}(\text{target})}$$
#
# 1 is perfect, 0 no better than a constant, negative worse. An offset is forgiven, as a baseline may be off by a constant. If
# all targets are equal there is nothing to explain; return `nan`.
#
# ### Exercise 3: `explained_variance`

# %% exercise="explained_variance"

# %% [markdown]
# A real task. **Reacher**: an arm of two links on a table must bring its tip to a dot; 50 steps, and the reward is minus the
# distance to the dot, minus the effort. We play ten episodes with a fresh policy and take the discounted sums of rewards as
# targets; with $V = 0$ and $\lambda = 1$ that is what `gae` does. Two critics are fitted to them: a perceptron, which sees the
# observations alone, ten times as long as usual (100 passes); and the **linear critic** of Frans's code, a weighted sum of
# the observations, their squares, and *the clock*, the number of steps since the episode began.
#
# Then the same policy plays ten fresh episodes. How much does the perceptron explain of the targets it was fitted to, and
# how much of the fresh ones?

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
    state = critic.fit(critic.initialise(rng), own[0], ticks * own[1], own[2], rng)
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
# Most of what the perceptron explains of its own batch it has learned by heart; advantages computed there would have the
# luck of each action explained away. Hence the order of every update: **predict with the previous fit, then fit**.
#
# The linear critic is less clever and does better, on fresh episodes, too. The reason is the clock: stop it, and most of that
# is gone. With ten steps left there is less to pay than with forty. But look at where these targets come from.
# They add rewards up to step 50 *as if the world ended there*. It does not: the arm could go on, and the limit of 50 is ours.
# We had no critic yet, took $V = 0$ everywhere, and so called a cut episode finished: the merged flag again. Targets that are
# bootstrapped at the cut fall off no cliff, and should leave the clock less to tell. Do they?
#
# </details>
#
# That is an experiment of a few lines. Take a critic without a clock, let it say what is to come after the cut, fit it to the
# new targets, and so on. Each time, fit a critic with a clock to the same targets: what does the clock add?


# %%
def fitted(targets, ticks):
    """Return the linear critic, fitted to targets of the first batch, as a function of (observations, timesteps)."""
    critic = LinearCritic(observation_size=10)
    state = critic.fit(critic.initialise(rng), own[0], ticks * own[1], targets, rng)
    return lambda observations, times: critic.predict(state, observations, ticks * times)


def bootstrapped(episodes, value):
    """Return the targets of all steps, with the value of what was cut off behind the last one."""
    values, cut = value(episodes.observations, episodes.timesteps), np.zeros(len(episodes.lengths))
    final = value(episodes.final_observations, cut)
    after = mine.next_values(values, final, episodes.last, episodes.terminated_steps)
    return mine.gae(episodes.rewards, values, after, episodes.last, 0.99, 1.0)[1]


episodes, value = (
    play("Reacher-v5", steps=500, seed=0).episodes,
    lambda observations, times: np.zeros(len(observations)),
)
for rounds in range(21):
    targets = bootstrapped(episodes, value)
    value = fitted(targets, ticks=0.0)
    if rounds in (0, 1, 5, 20):
        with_clock = mine.explained_variance(fitted(targets, ticks=1.0)(own[0], own[1]), targets)
        without = mine.explained_variance(value(own[0], own[1]), targets)
        print(f"targets bootstrapped {rounds:>2} times: explained with a clock {with_clock:.2f}, without {without:.2f}")

# %% [markdown]
# At first the clock adds 0.67 to 0.28; in the end it adds nothing. (Ten episodes are few: on fresh ones such a critic,
# bootstrapped from itself twenty times, is often worse than a constant. Here we asked about the clock alone.)
#
# ## Bug hunt
#
# This loop comes from a well-known library, where it is right, and was fitted to our arguments. It runs, and its numbers
# look sensible. `hunt` tells the symptom; find the line, mend it in the cell, and run it again.


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
# **The bug**: `last[t + 1]` for `last[t]`. OpenAI's baselines keeps a mask of the *first* step of each episode, and the
# mask of $t + 1$ tells whether $t$ was the last. With a mask of *last* steps the border moves one step back: the last
# action is credited with the next episode, and those before it never hear of the last surprise, often the one that
# matters (the fall). TRPO of stable-baselines had exactly this bug (its issue 385, 2019).

# %% [markdown]
# ## What you have built so far
#
# You can say how good each action of a batch was: TD errors, faded by $\gamma\lambda$, that stop where a fragment stops. You
# know what comes after a step, whether the task was over there or only cut. And you can tell a critic that has learned from
# one that has learned by heart.
#
# ## Quiz
#
# **1.** Every step of a task pays 1, episodes are cut after 1,000 steps, and $\gamma = 0.99$. The code has one flag `done` for
# both ends. Does its critic say too much or too little, and where?
#
# <details><summary>Answer</summary>
#
# Too little, in states seen late in an episode: what comes after step 1,000 counts as 0, although it is worth up
# to $1 / (1 - \gamma) = 100$. Tempting: "all states alike". With $\gamma = 0.99$ an error fades by half in about 70 steps, so
# early states hardly feel it; a critic that cannot see the clock smears the error over states that look alike.
#
# </details>
#
# **2.** Your critic is perfect. Which $\lambda$ should you take?
#
# <details><summary>Answer</summary>
#
# $\lambda = 0$: the TD error is then an unbiased estimate of the advantage, and the least noisy one. Tempting:
# "$\lambda = 1$, because Monte Carlo is never biased". True, but here nothing is biased, so all that $\lambda > 0$ adds is
# noise of later steps.
#
# </details>
#
# **3.** The log says: explained variance 0.98 on the batch that the critic has just been fitted to. Is it a good critic?
#
# <details><summary>Answer</summary>
#
# Nobody knows. It may have learned its batch by heart, as your perceptron did. Ask for the explained variance of its
# predictions made *before* the fit, which is what `train` logs. Tempting: "0.98 is close to 1, so the advantages will be
# precise". Advantages from such a fit would be nearly 0 for every action, good or bad.
#
# </details>
#
# **4.** In a batch all values are 100 too large, the same everywhere, and no episode ends. With $\gamma = 1$ and
# $\lambda = 0$, how wrong are the advantages?
#
# <details><summary>Answer</summary>
#
# Not at all: $+100$ and $-100$ cancel in $r + V(s') - V(s)$. Tempting: "wrong values, wrong advantages". Only *differences*
# of values count, which is why explained variance forgives an offset. Where the task terminates the cancelling stops:
# there the next value is 0, and the error appears.
#
# </details>
#
# ## Appendix: what was claimed in 2016
#
# - *Frans & Hafner 2016* estimate $Q$ by Monte Carlo, which is $\lambda = 1$. Their code cuts every episode
#   one step before the limit and treats it as ended (`rollouts.py`), and its critic is linear with a clock. With the clock, the
#   cliff at the cut is learned as if it were the world's: your last table.
# - *The same paper*: Monte Carlo estimates have a higher variance than one-step TD updates. They have, 0.49 against 0.00 for a
#   single walk in your second experiment; and there the TD estimate had the bias, 0 for a truth of 0.1.
#
# **Next**: lecture 05b puts these numbers into one update, and asks whether it learns.
