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
# # 01 Policy gradient
#
# **How can a policy learn from nothing but rewards?**
#
# <!-- loop -->
#
# *A map of the course's algorithm. Today you need only the blue boxes.*
#
# This lecture turns rewards into a gradient, first in a game of one throw, then for a pole on a cart.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `gaussian_log_prob` | `minitrpo/policies.py` | Frans & Hafner 2016, section 6 |
# | `score` | `minitrpo/policy_gradient.py` | Williams 1992 |
# | `discounted_sums` | `minitrpo/advantages.py` | Frans & Hafner 2016, Algorithm 1, line 5 |
# | `policy_gradient` | `minitrpo/policy_gradient.py` | Williams 1992 |
#
# *90 minutes in class: the game 10, probabilities 10, one throw 18, baselines 10, many steps 22, learning 10, bug hunt and
# quiz 10. The notebook runs in half a minute. You need Python with numpy, derivatives, linear algebra and basic probability
# (densities, expectations), but no reinforcement learning. Lecture 00 introduces notebooks, environments and autograd.*
#
# Run the next cell and press play. You see HalfCheetah, a robot in the physics engine **MuJoCo**: on the left with a fresh
# policy, on the right after a million steps of learning. Each step it received one number: a reward for moving
# forward, minus a small cost for effort.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
from IPython.display import Video

from minitrpo.course.classroom import recorded

Video(str(recorded("01_before_after.mp4")), embed=True, html_attributes="controls loop muted")

# %%
import os
from itertools import pairwise

import autograd.numpy as np  # numpy that autograd can differentiate
from autograd import grad
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal
from minitrpo.experience.environments import make
from minitrpo.policies import Array, GaussianPolicy, Policy

os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")  # no screen needed

# %% [markdown]
# ## Eight words for a game
#
# We start smaller. A cart on a rail carries a pole. The **environment** is the world: cart, pole and the laws of motion. At
# every step the learner gets an **observation** $s$, chooses an **action** $a$, and receives a **reward** $r$, a number.
# (Here the observation is the whole *state* of the world.)

# %%
env = make("CartPole-v1")
observation, _ = env.reset(seed=0)
print("position m, speed m/s, angle rad, turning rad/s | action: 0 left, 1 right | reward")
for action in (1, 1, 0):
    next_observation, reward, terminated, truncated, _ = env.step(action)
    print(np.round(observation, 2), "|", action, "|", reward)
    observation = next_observation
env.close()

# %% [markdown]
# Each step with the pole up has a reward of 1. The game is over when the pole leans by more than 12 degrees or the cart
# leaves the rail. All steps from the reset to this end are one **episode**; above you see its first three. The list
# $s_0, a_0, r_0, s_1, a_1, r_1, \dots$ is its **trajectory** $\tau$, and the sum of its rewards is its **return** $R(\tau)$.
#
# The eighth word: a **policy** $\pi_\theta(a|s)$ gives the probability of each action for each observation (of real-valued
# actions the density). Our policies are small neural networks. Each **hidden** unit is the tanh of a weighted sum of the
# observation plus a bias, and each output is such a sum of the hidden units. CartPole's outputs are **logits**,
# log probabilities before they are normalised. All weights and biases are one long vector, the **parameters** $\theta$.
# Learning changes only $\theta$.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_network(axis, inputs, outputs, alone, meaning, title):
    """Draw a network with eight hidden units; alone: parameters beside it; meaning: what becomes of the outputs."""
    columns = [(0.0, inputs), (1.0, [""] * 8), (2.0, outputs)]
    places = [[(x, 0.5 * (len(names) - 1) - k) for k in range(len(names))] for x, names in columns]
    for left_column, right_column in pairwise(places):
        for start in left_column:
            for stop in right_column:
                axis.plot(*zip(start, stop), color=PURPLE, linewidth=0.6, zorder=1)
    for layer, (_, names), color in zip(places, columns, (BLUE, ORANGE, GREEN)):
        axis.plot(*zip(*layer), "o", color=color, markersize=12)
        for (x, y), name in zip(layer, names):
            side = {"x": x - 0.14, "ha": "right"} if x == 0 else {"x": x + 0.14, "ha": "left"}
            axis.text(y=y, s=name, va="center", fontsize=12, **side)
    for k, name in enumerate(alone):
        axis.plot(2, -1.5 - k, "s", color=PURPLE, markersize=9)
        axis.text(2.14, -1.5 - k, name, va="center", fontsize=12)
    for x, name in ((-0.3, "observation $s$"), (1, "hidden, tanh"), (2.2, "outputs")):
        axis.text(x, 4.2, name, ha="center", fontsize=12)
    axis.text(2.86, 2.9, meaning, ha="right", va="center", fontsize=11)
    axis.set(xlim=(-0.95, 2.9), ylim=(-3.8, 4.8))
    axis.set_title(title, fontsize=13)
    axis.axis("off")


figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
draw_network(
    left,
    ["position", "speed", "angle", "turning"],
    ["logit of left", "logit of right"],
    [],
    "probability of an action:\n$e^{\\mathrm{logit}}$ / sum of both",
    "CartPole: one of two actions",
)
draw_network(
    right,
    ["angle 1", "angle 2", "speed 1", "speed 2", "target x", "target y"],
    [r"mean $\mu_1$", r"mean $\mu_2$"],
    [r"$\log\,\sigma_1$", r"$\log\,\sigma_2$"],
    "torque $i$ is drawn from\n$\\mathcal{N}(\\mu_i, \\sigma_i^2)$",
    "An arm with two joints (simplified): two torques",
)
figure.supxlabel(
    r"purple: the parameters $\theta$; each line is a weight (biases are not drawn)", color=PURPLE, fontsize=12
)
plt.show()

# %% [markdown]
# *Eight hidden units are drawn. CartPole's network below has 16, so $\theta$ has $4 \cdot 16 + 16 + 16 \cdot 2 + 2 = 114$
# entries.* The policy draws its action at random, so it tries things, and can learn.
#
# How many steps does a fresh policy keep the pole up? **Type a prediction** and run its cell, then the next.

# %% prediction="yes"
guess_steps = 10  # steps the pole stays up, on average

# %%
# whole episodes of a fresh policy; budget(full, quick) is quick in tests of the course only
played = play("CartPole-v1", steps=budget(6000, 1500), hidden=(16,))
episodes, policy = played.episodes, played.policy


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_film(theta, seed, when):
    """Play one episode and draw six of its steps, with a title that says how the episode ended."""
    env, rng = make("CartPole-v1", render_mode="rgb_array"), default_rng(seed)
    observation, _ = env.reset(seed=seed)
    pictures, ended = [env.render()], False
    while not ended:
        distribution = policy.distribution(theta, observation[None])
        action = policy.sample(distribution, policy.draw_noise(rng, 1))[0]
        observation, _, terminated, truncated, _ = env.step(int(action))
        pictures.append(env.render())
        ended = terminated or truncated
    env.close()
    why = "the pole leans too far" if abs(observation[0]) < 2.4 else "the cart leaves the rail"
    why = "the time is over" if truncated else why
    figure, _ = plt.subplots(2, 3, figsize=(10, 3.6), layout="constrained")
    figure.suptitle(f"{when}: {why} at step {len(pictures) - 1}")
    for axis, step in zip(figure.axes, np.linspace(0, len(pictures) - 1, 6).astype(int)):
        axis.imshow(pictures[step][140:330])
        axis.set(xticks=[], yticks=[], title=f"step {step}")
    plt.show()


def show_fresh():
    """Answer the prediction, and show an episode."""
    compare("mean return of a fresh policy", guess_steps, episodes.returns.mean(), "steps")
    print(f"{len(episodes.returns)} episodes, {episodes.steps} steps, {len(played.theta)} parameters in theta")
    draw_film(played.theta, seed=1, when="before learning")


reveal(guess_steps, show_fresh)

# %% [markdown]
# The goal: find $\theta$ with the largest **expected return** $J(\theta) = \mathbb{E}_{\tau \sim \pi_\theta}[R(\tau)]$. To
# climb we need $\nabla_\theta J$. But $R$ comes out of a world that we cannot differentiate. The parameters decide only *how
# probable* each trajectory is, so we differentiate that.
#
# ## Probabilities of actions
#
# A robot's joints take real numbers, so its policy is **Gaussian**: the network gives the mean $\mu_i$ of each entry $a_i$ of
# the action, and $\theta$ also holds each $\log \sigma_i$. The entries are drawn independently. We need the natural logarithm
# of the probability density (its unit is the *nat*),
#
# $$\log \pi(a|s) = \sum_i \left[ -\frac{(a_i - \mu_i)^2}{2 \sigma_i^2} - \log \sigma_i - \tfrac12 \log 2\pi \right],$$
#
# for many steps at once: row $t$ of each array is step $t$. Here $2\pi$ is the number. In docstrings $N$ is the number of
# steps, $D$ the size of an observation, $A$ that of an action, and $P$ the number of parameters; the page `glossary.md` has
# all symbols.
#
# ### Exercise 1: `gaussian_log_prob`

# %% exercise="gaussian_log_prob"

# %% [markdown]
# `mine.gaussian_log_prob` is your function once its check has passed, else the package's.
#
# ## One throw
#
# The smallest game has one step. You throw a ball with strength $a$, and the reward is 20 minus the
# squared miss, $r(a) = 20 - (a - 2)^2$. The policy draws $a \sim \mathcal{N}(\mu, \sigma^2)$. Calculus gives
# $J = 20 - (\mu - 2)^2 - \sigma^2$, hence $\partial J / \partial \mu = 2 (2 - \mu)$ and
# $\partial J / \partial \log \sigma = -2 \sigma^2$. The learner sees only throws and rewards.
#
# The whole course rests on one trick. Write the expectation as an integral, and use
# $\nabla \pi = \pi \, \nabla \log \pi$:
#
# $$\nabla_\theta \mathbb{E}[r] = \int \nabla_\theta \pi_\theta(a) \, r(a) \, da
# = \int \pi_\theta(a) \, \nabla_\theta \log \pi_\theta(a) \, r(a) \, da
# = \mathbb{E}\left[ \nabla_\theta \log \pi_\theta(a) \; r(a) \right].$$
#
# This is an expectation under the policy, so throws can estimate it. The reward is *multiplied*, never
# differentiated. The vector $\psi = \nabla_\theta \log \pi_\theta(a|s)$ is called the **score**: the direction in which this
# action becomes more probable.
#
# The library autograd computes gradients: if `f` returns one number, `grad(f)(theta)` is its gradient at `theta` (lecture 00).
# `policy.distribution(theta, observations)` turns observations $(N, D)$ into the network's outputs, and
# `policy.log_prob(outputs, actions)` turns these into log probabilities $(N,)$. Here $N = 1$.
#
# ### Exercise 2: `score`

# %% exercise="score"

# %%
thrower = GaussianPolicy(observation_size=1, action_size=1, hidden=())  # mean = weight x observation + bias
throw_theta = np.zeros(3)  # weight, bias, log std: the mean is 0, the standard deviation 1
nothing = np.zeros(1)  # the observation: 0, so that the weight plays no part and the mean is the bias
exact = np.array([0.0, 4.0, -2.0])  # slopes of J for weight, bias, log std


def reward_of(a):
    """Return the reward of a throw."""
    return 20 - (a - 2) ** 2


throws = default_rng(0).standard_normal((budget(1000, 300), 1))
scores = np.array([mine.score(thrower, throw_theta, nothing, a) for a in throws])
formula = np.concatenate([throws, throws**2 - 1], axis=1)  # (a - mu) / sigma^2 and (a - mu)^2 / sigma^2 - 1
print("largest difference to the formula:", np.abs(scores[:, 1:] - formula).max())
print("mean score:         ", np.round(scores[:, 1:].mean(axis=0), 2))
print("mean score x reward:", np.round((scores * reward_of(throws))[:, 1:].mean(axis=0), 2), " exact:", exact[1:])

# %% [markdown]
# On average over many repetitions the last line is exact. This one, of 1,000 throws, is visibly off. The picture shows why,
# with 60 throws. Each orange dot is one throw's score (for the mean) times its reward. Blue squares are the same throws, with
# the mean reward 15 subtracted first. The bars at the right are the means of all dots, with 95 % intervals.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
few = default_rng(1).standard_normal(60)
grid = np.linspace(-3.5, 3.5, 200)
density = np.exp(mine.gaussian_log_prob(np.zeros((200, 1)), np.zeros((200, 1)), grid[:, None]))
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
left.plot(grid, reward_of(grid), color=GREEN)
left.text(0.6, 20, "reward r(a)", color=GREEN, ha="center", va="bottom", fontsize=11)
left.fill_between(grid, -10, -10 + 20 * density, color=GREY, alpha=0.5)
left.text(0, -9.5, "how often\nit is thrown\n(not to scale)", ha="center", fontsize=10)
left.set(xlabel="strength of the throw a", ylabel="reward", ylim=(-10, 24))
for b, color, marker, place in ((0, ORANGE, "o", 2.7), (15, BLUE, "s", 3.0)):
    pushes = few * (reward_of(few) - b)
    right.plot(few, pushes, marker, color=color, markersize=5)
    right.errorbar(place, pushes.mean(), 1.96 * pushes.std() / np.sqrt(60), fmt=marker, color=color, capsize=4)
right.text(1.3, 32, "score x reward", color=ORANGE, ha="right", fontsize=11)
right.text(-0.8, 21, "score x (reward - 15)", color=BLUE, ha="center", fontsize=11)
right.axhline(4, color=RED, linestyle="--")
right.text(-2.9, 3, "exact slope 4", color=RED, ha="left", va="top", fontsize=11)
right.text(2.85, -4, "means", ha="center", fontsize=11)
right.set(xlabel="strength of the throw a", ylabel="push on the mean", xlim=(-3, 3.2), ylim=(-14, 52))
right.axvline(2.45, color=GREY, linewidth=0.8)
for axis in (left, right):
    axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Orange: rewards are positive here, so throws below the mean push it down, throws above up. The gradient is the
# small difference of two large numbers. Blue: throws below the mean were mostly worse than usual, so *both* sides push up.
#
# ## Baselines
#
# Is blue still right on average? The expectation of the score is 0: put $r = 1$ into the trick, and the left side is the
# gradient of $\int \pi = 1$. So for any number $b$,
#
# $$\mathbb{E}[\psi \, (r - b)] = \mathbb{E}[\psi \, r] - b \, \mathbb{E}[\psi] = \mathbb{E}[\psi \, r] .$$
#
# The estimate stays **unbiased**, as long as $b$ does not depend on the action. Such a $b$ is a **baseline**, and $r - b$
# estimates an **advantage**: how much better than usual the throw went.
#
# How many throws must you average, without a baseline, until the typical error (root mean square) is a tenth of the
# gradient's length?

# %% prediction="yes"
guess_throws = 500  # throws

# %%
throw = np.linspace(-12, 12, 4001)  # all throws, finely spaced, so that sums are integrals
psi = np.stack([throw, throw**2 - 1])  # both scores of each, by formula
probability = np.exp(-(throw**2) / 2) / np.exp(-(throw**2) / 2).sum()


def throws_needed(b):
    """Return how many throws bring the error of the mean of psi x (r - b) down to a tenth of the gradient's length."""
    pushes = psi * (reward_of(throw) - b)
    variance_of_one = (pushes**2 @ probability - (pushes @ probability) ** 2).sum()
    return variance_of_one / (0.1 * np.linalg.norm(exact)) ** 2


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_throws():
    """Answer the prediction."""
    compare("throws for an error of a tenth, no baseline", guess_throws, round(throws_needed(b=0)))
    print(f"with the baseline 15: {throws_needed(b=15):,.0f}")


reveal(guess_throws, show_throws)

# %% [markdown]
# ## Many steps
#
# The log probability of a whole trajectory is
#
# $$\log p(\tau) = \log p(s_0) + \sum_t \big[ \log \pi_\theta(a_t|s_t) + \log p(s_{t+1}|s_t, a_t) \big]$$
#
# The world's own probabilities do not contain $\theta$. Their gradient is 0, so **the learner need not know them**. The sum
# of the scores remains. The trick of the throw, with $\tau$ for $a$, gives
# $\nabla J = \mathbb{E}[\sum_t \psi_t \, R(\tau)]$.
#
# This formula weighs every action by the *whole* return, including rewards from before the action. Take a term
# $\psi_t \, r_k$ with $k < t$. Given $s_t$ and all before it, $r_k$ is a known number, and the mean of $\psi_t$ over the
# actions in $s_t$ is 0. So the term has expectation 0 and only adds noise. Without these terms the weight of step $t$ is its
# **reward-to-go** $\sum_{k \ge t} r_k$.
#
# Far rewards say little about this action, so they get smaller weights, $\sum_{k \ge t} \gamma^{k-t} r_k$, with a
# **discount** $\gamma$ such as 0.99. This removes noise, and it biases the gradient, because the mean of the estimates is no
# longer $\nabla J$. How large the bias is depends on the task: with $\gamma = 0.99$ a reward that comes 100 steps after the
# action counts only 0.37, so an action that pays off after several hundred steps gets hardly any credit.
#
# Episodes are stored one after the other, and a mask `last` marks the last step of each. With
# $G_t = r_t + \gamma \, G_{t+1}$ (in the code $x$ is $r$ and $y$ is $G$), one walk from the end to the beginning is enough.
#
# ### Exercise 3: `discounted_sums`

# %% exercise="discounted_sums"

# %% [markdown]
# *You should know*: an episode whose pole fell has **terminated**. One that reaches CartPole's limit of 500 steps is
# **truncated**. Today we count no reward after the end, in both cases; lecture 05a corrects this for truncated episodes.
#
# Now the gradient itself. For one episode it is a *sum* over the steps of score $\times$ advantage. We take the *mean* over
# all $N$ steps of many episodes. The direction stays nearly the same, and the length of the gradient no longer grows with the
# length of the episodes. Calling `score` $N$ times would be slow. Find *one number*, made of all $\log \pi(a_t|s_t)$ and all
# advantages $A_t$, whose gradient this is.
#
# ### Exercise 4: `policy_gradient`

# %% exercise="policy_gradient"

# %%
many = default_rng(1).standard_normal((5000, 1))  # throws
throw_gradient = mine.policy_gradient(thrower, throw_theta, np.zeros((5000, 1)), many, reward_of(many[:, 0]) - 15)
print("5,000 throws:", np.round(throw_gradient, 2), " exact:", exact)

# %% [markdown]
# With reward-to-go as advantage this is REINFORCE (Sutton & Barto 2018, section 13.3). How noisy is the pole's gradient?
# We estimate it from each single episode in two ways: the weight of a step is the whole return, or its reward-to-go minus
# the mean reward-to-go. How many times larger is the variance of the first estimates?

# %% prediction="yes"
guess_ratio = 3  # times

# %%
to_go = mine.discounted_sums(episodes.rewards, 1.0, episodes.last)
whole = np.repeat(episodes.returns, episodes.lengths)


def per_episode(weights):
    """Return each episode's sum over its steps of score x weight, shape (episodes, P)."""
    parts, stops = [], np.cumsum(episodes.lengths)
    for length, stop in zip(episodes.lengths, stops):
        i = slice(stop - length, stop)
        mean = mine.policy_gradient(policy, played.theta, episodes.observations[i], played.actions[i], weights[i])
        parts.append(length * mean)
    return np.array(parts)


estimates = {
    "whole return": per_episode(whole),
    "whole return - mean": per_episode(whole - episodes.returns.mean()),
    "reward-to-go": per_episode(to_go),
    "reward-to-go - mean": per_episode(to_go - to_go.mean()),
}
variance = {name: gradients.var(axis=0).sum() for name, gradients in estimates.items()}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_variances():
    """Answer the prediction, and draw the first and the last kind of estimate, along the last one's mean."""
    for name, value in variance.items():
        print(f"{name:20s} variance {value:8.0f}")
    compare("variance, first over last", guess_ratio, variance["whole return"] / variance["reward-to-go - mean"])
    best = estimates["reward-to-go - mean"]
    direction = best.mean(axis=0) / np.linalg.norm(best.mean(axis=0))
    _, axis = plt.subplots(figsize=(8.5, 3.6))
    kinds = (
        ("reward-to-go - mean", BLUE, {"alpha": 0.5}, 75),
        ("whole return", ORANGE, {"histtype": "step", "lw": 2}, 68),
    )
    for name, color, look, height in kinds:
        along = estimates[name] @ direction
        axis.hist(np.minimum(along, 590), np.linspace(-250, 600, 35), color=color, **look)
        mean, error = along.mean(), 1.96 * along.std() / np.sqrt(len(along))
        axis.errorbar(mean, height, xerr=error, fmt="o", color=color, capsize=4)
        label = f"{name}: mean {mean:.0f} (95 % interval {mean - error:.0f} to {mean + error:.0f})"
        axis.text(70, height, label, color=color, va="center", fontsize=10)
    axis.set(xlabel="one episode's gradient: component along the mean gradient", ylabel="episodes", ylim=(0, 80))
    axis.set_xticks([-200, 0, 200, 400, 600], ["-200", "0", "200", "400", "600\nand above"])
    axis.grid(alpha=0.3)
    plt.show()
    difference = (estimates["whole return"] - best) @ direction
    middle, error = difference.mean(), 1.96 * difference.std() / np.sqrt(len(difference))
    print(f"difference of the two means: {middle:.0f} (95 % interval {middle - error:.0f} to {middle + error:.0f})")
    inside = abs(middle) <= error
    print("The interval", "contains 0: no significant difference." if inside else "does not contain 0.")


reveal(guess_ratio, show_variances)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Both estimate the same gradient, by the argument above. The dots with bars are their means in this batch; the last line says
# whether they differ by more than chance. (It does not show that they are equal; the argument does. And one of 20 such intervals
# misses the truth.) The printed factor is a price: a variance $k$ times as large means playing $k$ times as much for the same
# accuracy. (The factor counts all 114 entries, the picture shows one direction.)
#
# </details>
#
# ## Learning
#
# Play, weigh, climb, play *again*: a gradient holds for the policy that played, so each update needs new episodes
# (**on-policy**). We also divide the advantages by their standard deviation, so that one step size fits short and long
# episodes.
#
# We run thirty updates of 1,500 steps with three seeds (a *seed* fixes all random numbers of a run) and the step sizes 0.4,
# 4 and 40. In each state the policy prefers one of the two actions. A fresh policy gives this action a probability just
# above 0.5. What is this probability, on average, after thirty updates with step size 40?

# %% prediction="yes"
guess_sure = 0.7  # probability of the preferred action


# %%
def learn(seed, step_size):
    """Return theta and the mean return of each batch."""
    theta, curve = None, []
    for k in range(budget(30, 4)):
        batch = play("CartPole-v1", budget(1500, 500), theta, seed=1000 * seed + k, hidden=(16,))
        rewards_to_go = mine.discounted_sums(batch.episodes.rewards, 0.99, batch.episodes.last)
        advantages = (rewards_to_go - rewards_to_go.mean()) / rewards_to_go.std()
        observations, actions = batch.episodes.observations, batch.actions
        gradient = mine.policy_gradient(policy, batch.theta, observations, actions, advantages)
        theta = batch.theta + step_size * gradient
        curve.append(batch.episodes.returns.mean())
    return theta, np.array(curve)


learned = {size: [learn(seed, size) for seed in range(3)] for size in (0.4, 4.0, 40.0)}  # nine runs: about a minute


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def sureness(theta):
    """Return the probability of the preferred action, the mean over the states of the fresh policy's episodes."""
    chosen = policy.distribution(theta, episodes.observations)
    return np.exp(policy.log_prob(chosen, policy.mode(chosen))).mean()


def show_learning():
    """Answer the prediction; draw the learning curves of three step sizes, and an episode of the best policy."""
    sure = [sureness(theta) for theta, _ in learned[40.0]]
    compare("probability of the preferred action, step size 40", guess_sure, np.mean(sure))
    print("seed by seed:", np.round(sure, 3), " fresh:", np.round(sureness(played.theta), 3))
    for size, runs in learned.items():
        print(f"step size {size:g}: mean return of the last five batches", [round(c[-5:].mean()) for _, c in runs])
    for seed, (_, curve) in enumerate(learned[40.0]):
        k = int(np.argmin(np.diff(curve)))  # the batch before the largest fall
        fall = f"largest fall from {curve[k]:.0f} to {curve[k + 1]:.0f}" if curve[k + 1] < curve[k] else "no fall"
        print(f"step size 40, seed {seed}: best batch {curve.max():.0f}, {fall}, last batch {curve[-1]:.0f}")
    _, axes = plt.subplots(1, 3, figsize=(9.5, 3.6), sharey=True, layout="constrained")
    for axis, (size, runs) in zip(axes, learned.items()):
        for seed, ((_, curve), color, marker) in enumerate(zip(runs, (BLUE, ORANGE, GREEN), "os^")):
            style = {"color": color, "marker": marker, "markersize": 4, "label": f"seed {seed}"}
            axis.plot(np.arange(1, len(curve) + 1), curve, **style)
        axis.axhline(500, color=GREY, linestyle=":")
        axis.set(title=f"step size {size:g}", xlabel="batch; an update follows each", ylim=(0, 520))
        axis.grid(alpha=0.3)
    axes[0].text(1, 490, "the most there is", color=GREY, va="top", fontsize=11)
    axes[0].legend(loc="center left")
    axes[0].set_ylabel("mean return of the batch")
    plt.show()
    best = max(learned[4.0], key=lambda run: run[1][-1])
    draw_film(best[0], seed=1, when=f"after {len(best[1])} updates of step size 4")


reveal(guess_sure, show_learning)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The policy learns from one number per step, but the step size is a gamble. A small one wastes experience. A large one can lose
# in one update what it gained: the printed lines name the largest fall of each of your runs. It can even be fatal. A run that
# stays near 9 has a probability of 1.000 for the preferred action: it never tries the other action, and the scores are
# practically 0. Which seed falls, and how far, differs from machine to machine, because other processors round sums in another
# way (lecture 05b). That large steps lose what they gained does not.
#
# </details>
#
# ## Bug hunt
#
# A colleague's policy gradient gets its advantages from a network, as a column. It raises no error, but the
# policy does not learn. Find the line, correct it, and run the cell again.


# %%
def suspect(policy: Policy, theta: Array, observations: Array, actions: Array, advantages: Array) -> Array:
    column = advantages.reshape(-1, 1)  # as a network returns it

    def objective(parameters):
        log_p = policy.log_prob(policy.distribution(parameters, observations), actions)
        return np.mean(log_p * column)

    return grad(objective)(theta)


_ = hunt("policy_gradient", suspect)

# %% [markdown] solution="only"
# **The bug**: `log_p` has shape $(N,)$, `column` has $(N, 1)$, and numpy multiplies *every* log probability with *every*
# advantage. The mean of this table is the product of the two means, and with a baseline the mean advantage is 0. Write
# `column[:, 0]`.

# %% [markdown]
# ## Quiz
#
# **1.** A friend adds 100 to every reward of the one-throw game and uses no baseline. What changes?
#
# <details><summary>Answer</summary>
#
# Only the noise, which grows: adding 100 is the same as subtracting the baseline $-100$.
#
# </details>
#
# **2.** May a baseline depend on the observation $s_t$? On the action $a_t$?
#
# <details><summary>Answer</summary>
#
# On $s_t$ yes: given $s_t$ it is a constant. On $a_t$ no: the mean of $\psi_t \, b(a_t)$ need not be 0.
#
# </details>
#
# **3.** Why not take ten gradient steps with one expensive batch?
#
# <details><summary>Answer</summary>
#
# Score $\times$ advantage is the gradient for the policy that *drew these actions*, and a step changes the policy.
#
# </details>
#
# ## Summary
#
# - The score is the direction in which an action becomes more probable.
# - The policy gradient is the mean of score $\times$ advantage (reward-to-go minus a baseline). It needs no derivative of the
#   world.
# - A baseline and reward-to-go remove noise and leave the expectation as it is.
# - Thirty updates teach CartPole a good deal, but only with the right step size: compare the lines printed above.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# **A.** Estimate the mean's slope from many batches of ten throws, with three baselines: 15, the mean of the ten rewards, the
# mean of the *other nine*. Plot three histograms with their means. Explain which baseline is biased, by which factor, and
# why.
#
# **B.** Plot the mean return, and the number of episodes in a batch, over the updates of `learn(0, 4.0)`. Explain why the
# return jumps about most at the end.
#
# **Next**: how far may one update go? Lectures 02 to 04 answer.
