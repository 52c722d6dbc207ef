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
# Nobody tells the learner what it should have done. It acts, and gets a number. This lecture turns such numbers into a
# gradient: first in a game of one throw, where the right answer is known, then for a pole on a cart.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `gaussian_log_prob` | `minitrpo/policies.py` | Frans & Hafner 2016, section 6: the Gaussian policy |
# | `score` | `minitrpo/policy_gradient.py` | Williams 1992 |
# | `discounted_sums` | `minitrpo/returns.py` | Frans & Hafner 2016, Algorithm 1, line 5: "Monte Carlo" |
# | `policy_gradient` | `minitrpo/policy_gradient.py` | Berkeley lecture slides, "sample parallelism", step 3 |
#
# *About 60 minutes to teach, a minute to run. You need: numpy, derivatives, mean and variance. No reinforcement
# learning.*

# %%
import os
import time

import autograd.numpy as np  # numpy that autograd can differentiate
import ipywidgets
from autograd import grad
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play
from minitrpo.experience.environments import make
from minitrpo.policies import Array, GaussianPolicy, Policy

os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")  # no screen needed

# %% [markdown]
# ## A game, in eight words
#
# A cart on a rail carries a pole. The **environment** is the world: cart, pole and the laws of motion. At every step the
# learner gets an **observation** $s$, chooses an **action** $a$, and receives a **reward** $r$, a number. (A *state* is all
# that decides how the world goes on; the observation is what we are told of it. Here they are the same four numbers, and
# we write $s$ for both.)

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
# Each step that the pole stays up pays 1. When it leans over by more than 12 degrees, or the cart leaves the rail, the
# game is over: these steps were one **episode**, the list of its $s_0, a_0, r_0, s_1, a_1, r_1, \dots$ is a **trajectory**
# $\tau$, and the sum of its rewards is its **return** $R(\tau)$.
#
# The eighth word: a **policy** $\pi_\theta(a|s)$ gives the probability of each action, for each observation. Ours is a
# small neural network; its weights are one long vector $\theta$. It draws its actions at random, and that is what makes
# learning possible. How many steps does a fresh policy keep the pole up? **Type a prediction**, then run the cell after it.

# %% prediction="yes"
guess_steps = 10

# %%
played = play("CartPole-v1", steps=budget(6000, 1500), hidden=(16,))
episodes, policy = played.episodes, played.policy
compare("mean return of a fresh policy", guess_steps, episodes.returns.mean(), "steps")
print(f"{len(episodes.returns)} episodes, {episodes.steps} steps, {len(played.theta)} parameters in theta")


# %%
def show(theta, seed):
    """Play one episode and draw six of its steps."""
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
    figure, _ = plt.subplots(1, 6, figsize=(12, 1.3), layout="constrained")
    for axis, step in zip(figure.axes, np.linspace(0, len(pictures) - 1, 6).astype(int)):
        axis.imshow(pictures[step][150:330, 60:540])
        axis.set(xticks=[], yticks=[], xlabel=f"step {step}")
    plt.show()


show(played.theta, seed=1)

# %% [markdown]
# The goal in one line: find $\theta$ with the largest **expected return** $J(\theta) = E_{\tau \sim \pi_\theta}[R(\tau)]$.
# Climbing needs $\nabla_\theta J$. But $R$ came out of a world we cannot differentiate; $\theta$ only decided *how
# probable* each trajectory was. So we differentiate that.
#
# ## Probabilities of actions
#
# CartPole's policy chooses among two actions. A robot's joints take real numbers, and there the policy is **Gaussian**: for
# each entry of the action the network gives a mean $m$, and $\theta$ also holds the logarithm of a standard deviation $\sigma$
# (so that $\sigma$ stays positive whatever learning does). The entries are drawn independently. We need the natural logarithm
# of the probability density (its unit is the *nat*),
#
# $$\log \pi(a|s) = \sum_i \left[ -\frac{(a_i - m_i)^2}{2 \sigma_i^2} - \log \sigma_i - \tfrac12 \log 2\pi \right],$$
#
# for many steps at once: row $t$ of each array belongs to step $t$.
#
# ### Exercise 1: `gaussian_log_prob`

# %% exercise="gaussian_log_prob"

# %% [markdown]
# Stuck? `hint("gaussian_log_prob", 1)`, then 2, then 3. Whatever happens, the rest of the notebook runs:
# `mine.gaussian_log_prob` is your function once its check has passed, and the package's until then.
#
# ## One throw
#
# The smallest game: one step, nothing to observe. You throw a ball with strength $a$, and the reward is 20 less the
# squared miss, $r(a) = 20 - (a - 2)^2$. The policy draws $a \sim N(m, \sigma^2)$. For this game calculus gives everything:
# $J = 20 - (m - 2)^2 - \sigma^2$, hence $\partial J / \partial m = 2 (2 - m)$ and
# $\partial J / \partial \log \sigma = -2 \sigma^2$. The learner knows none of this. It sees throws and rewards.
#
# Now the trick on which this whole course stands. Write the expectation as an integral, and use
# $\nabla \pi = \pi \, \nabla \log \pi$:
#
# $$\nabla_\theta E[r] = \int \nabla_\theta \pi_\theta(a) \, r(a) \, da
# = \int \pi_\theta(a) \, \nabla_\theta \log \pi_\theta(a) \, r(a) \, da = E\left[ \nabla_\theta \log \pi_\theta(a) \; r(a) \right].$$
#
# On the right stands an expectation over actions the policy takes anyway: a mean over throws estimates it. The reward is
# only *multiplied*, never differentiated. The vector $\psi = \nabla_\theta \log \pi_\theta(a|s)$ is called the **score**. It
# points to where this action becomes more probable. Reward says how far to follow it.
#
# You write the function, autograd takes the slope: `grad(f)(theta)` is the gradient of `f`, a function that returns one
# number, at `theta`. `policy.distribution(theta, observations)` turns observations $(N, D)$ into what the network says
# about each, and `policy.log_prob(that, actions)` into log probabilities $(N,)$. Here $N = 1$: `observation[None]` makes
# one row of an observation.
#
# ### Exercise 2: `score`

# %% exercise="score"

# %% [markdown]
# Against the formulas: for a Gaussian, $\partial \log \pi / \partial m = (a - m) / \sigma^2$ and
# $\partial \log \pi / \partial \log \sigma = (a - m)^2 / \sigma^2 - 1$. And below that, the mean score $\times$ reward
# of these throws beside the exact gradient:

# %%
thrower = GaussianPolicy(observation_size=1, action_size=1, hidden=())  # mean = w s + b
throw_theta = np.zeros(3)  # w = 0, b = 0, log std = 0: the mean is 0, the standard deviation 1
nothing = np.zeros(1)  # the observation s: 0, so that w plays no part and the mean is b
exact = np.array([0.0, 4.0, -2.0])  # slopes of J for w, b, log std


def reward_of(a):
    """Return the reward of a throw."""
    return 20 - (a - 2) ** 2


throws = default_rng(0).standard_normal((budget(1000, 300), 1))
scores = np.array([mine.score(thrower, throw_theta, nothing, a) for a in throws])
formula = np.concatenate([throws, throws**2 - 1], axis=1)
print("largest difference to the formula:", np.abs(scores[:, 1:] - formula).max())
print("mean score:         ", np.round(scores[:, 1:].mean(axis=0), 2))
print("mean score x reward:", np.round((scores * reward_of(throws))[:, 1:].mean(axis=0), 2), " exact:", exact[1:])

# %% [markdown]
# The mean score is near 0, and in expectation it is exactly 0: put $r = 1$ into the trick, and the left side is the
# gradient of $\int \pi = 1$. Remember that, we need it twice. The last line is right on average, and visibly off.
#
# How many throws until the gradient's typical error (root of the mean square, both slopes together) is a tenth of its
# length?

# %% prediction="yes"
guess_throws = 500

# %%
a = default_rng(1).standard_normal(200_000)
psi = np.stack([a, a**2 - 1])  # both scores of each throw, by formula: faster than autograd
one_throw = (psi * reward_of(a)).var(axis=1).sum()  # the squared error of one throw's estimate
needed = one_throw / (0.1 * np.linalg.norm(exact)) ** 2
compare("for an error of a tenth", guess_throws, needed, "throws")

# %% [markdown]
# That many, for *two* parameters: the price of not differentiating the world. The rest of the lecture fights noise.
#
# ## Baselines
#
# Every throw here pays something around 15, good or bad, so every throw says "more of this!" Why not ask whether it was
# better than usual? Subtract a number $b$ from the reward. Since $E[\psi] = 0$,
# $E[\psi \, (r - b)] = E[\psi \, r] - b \, E[\psi] = E[\psi \, r]$:
# the expectation stays, whatever $b$ is, as long as $b$ does not depend on the action. Such a $b$ is a **baseline**, and
# $r - b$ estimates an **advantage**: how much better than usual it went.

# %%
few = a[np.abs(a) < 2.5][:60]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
grid = np.linspace(-3.5, 3.5, 200)
density = np.exp(mine.gaussian_log_prob(np.zeros((200, 1)), np.zeros((200, 1)), grid[:, None]))
left.plot(grid, reward_of(grid), color=GREEN, label="reward r(a)")
left.fill_between(grid, -10, -10 + 20 * density, color=GREY, alpha=0.5, label="how often a is thrown (no scale)")
left.set(xlabel="strength of the throw a", ylabel="reward", ylim=(-10, 24))
for b, color, marker in ((0, ORANGE, "o"), (15, BLUE, "s")):
    right.plot(few, few * (reward_of(few) - b), marker, color=color, markersize=4, label=f"baseline {b}")
right.axhline(4, color=RED, linestyle="--", label="exact slope: their expectation")
right.set(xlabel="strength of the throw a", ylabel="push on the mean: score x (r - b)")
for axis in (left, right):
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
plt.tight_layout()
plt.show()

# %% [markdown]
# Orange: weak throws (left) push the mean down, strong ones push it up, and the small difference between two large numbers
# is the gradient. Blue: weak throws were worse than usual, strong ones mostly better, and *both* push up.
#
# "Unbiased" is a claim one can test. Take many batches of ten throws, estimate the slope from each, and compare the mean of
# the estimates with the exact 4: a $z$ (difference over its standard error) beyond 4 is no accident. Two of the five
# baselines below break the rule. Which?

# %%
batches = a.reshape(-1, 10)
r = reward_of(batches)
baselines = {
    "none": 0.0,
    "the constant 15": 15.0,
    "mean of the batch": r.mean(axis=1, keepdims=True),
    "mean of the other nine": (r.sum(axis=1, keepdims=True) - r) / 9,
    "half of one's own reward": r / 2,
}
for name, b in baselines.items():
    slopes = (batches * (r - b)).mean(axis=1)
    z = (slopes.mean() - 4) / (slopes.std() / np.sqrt(len(slopes)))
    print(f"{name:25s} mean {slopes.mean():5.2f}   spread {slopes.std():4.2f}   z {z:7.1f}")

# %% [markdown]
# The last one sees the action through its reward. So, less obviously, does the mean of the batch: a tenth of it *is* the own
# reward, and the estimate shrinks by that tenth. In a batch of $N$ the factor is $1 - 1/N$: no harm for thousands of steps.
#
# How much noise does a constant baseline leave? Drag (the slider needs a running kernel; the right picture below shows the
# same without one):


# %%
def noise(b):
    """Return the standard deviation of one throw's estimate of the slope."""
    return (a * (reward_of(a) - b)).std()


def show_noise(b=0.0):
    print(f"baseline {b:g}: an error of a tenth takes {(noise(b) / 0.4) ** 2:.0f} throws")


_ = ipywidgets.interact(show_noise, b=ipywidgets.FloatSlider(min=-10, max=40, step=2.5, value=0))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6))
bins = np.linspace(-12, 20, 49)
for b, color in ((0, ORANGE), (15, BLUE)):
    slopes = (batches * (r - b)).mean(axis=1)
    left.hist(slopes, bins, color=color, alpha=0.6, density=True, label=f"baseline {b}")
left.axvline(4, color=RED, linestyle="--", label="exact slope")
left.set(xlabel="slope estimated from ten throws", ylabel="density")
values = np.linspace(-10, 40, 51)
right.plot(values, [(noise(b) / 0.4) ** 2 for b in values], color=PURPLE)
right.axvline(15, color=GREY, linestyle=":", label="mean reward")
right.set(xlabel="baseline b", ylabel="throws for an error of a tenth", ylim=(0, None))
for axis in (left, right):
    axis.legend()
    axis.grid(alpha=0.3)
plt.tight_layout()
plt.show()

# %% [markdown]
# A parabola, with its bottom near the mean reward: not the very best baseline, but close to it.
#
# ## Many steps
#
# Back to the pole. What decides the probability of a whole trajectory?
#
# $$\log p(\tau) = \log p(s_0) + \sum_t \big[ \log \pi_\theta(a_t|s_t) + \log p(s_{t+1}|s_t, a_t) \big]$$
#
# The world's own probabilities do not contain $\theta$: their gradient is 0, and **nobody needs to know them**. What is left
# is the sum of the scores, so $\nabla J = E[\sum_t \psi_t \, R(\tau)]$. That is the loop of the Berkeley slides: collect $N$
# trajectories, compute each return $r_i$, take $(\sum_t \psi_t)(r_i - b)$, add it to $\theta$.
#
# But this blames and praises every action for the *whole* return, including what was paid before it. An action cannot change
# the past: those terms have expectation 0 (the mean score, for the second time) and only add noise. Leave them out, and the
# weight of step $t$ is its **reward-to-go** $\sum_{k \ge t} r_k$.
#
# One more setting. Far rewards say little about this action, so they get smaller weights: $\sum_{k \ge t} \gamma^{k-t} r_k$,
# with a **discount** $\gamma$ such as 0.99. That trades a little bias for less noise; with $\gamma = 1$ all count alike.
#
# Episodes lie one after the other in flat arrays, and a mask `last` marks the last step of each. With
# $y_t = x_t + \gamma \, y_{t+1}$, one walk from the end to the beginning is enough. At a border, start afresh.
#
# ### Exercise 3: `discounted_sums`

# %% exercise="discounted_sums"

# %% [markdown]
# Now the gradient itself: the mean over all $N$ steps of score $\times$ advantage. Calling `score` $N$ times would be right
# and slow. Instead use that the gradient of a sum is the sum of the gradients: find *one number*, made of all
# $\log \pi(a_t|s_t)$ and all $A_t$, whose gradient this is.
#
# ### Exercise 4: `policy_gradient`

# %% exercise="policy_gradient"

# %%
g = mine.policy_gradient(thrower, throw_theta, np.zeros((len(a), 1)), a[:, None], reward_of(a) - 15)
print("200,000 throws:", np.round(g, 2), " exact:", exact)

# %% [markdown]
# (With reward-to-go as advantage this is REINFORCE, Williams 1992.) Now the noise of the pole's gradient: take one episode
# at a time, with the whole return as weight (the slides' loop with $b = 0$) and with reward-to-go less its mean. How many
# times larger is the variance of the first?

# %% prediction="yes"
guess_ratio = 3

# %%
to_go = mine.discounted_sums(episodes.rewards, 1.0, episodes.last)
whole = np.repeat(episodes.returns, episodes.lengths)


def per_episode(weights):
    """Return each episode's sum over its steps of score x weight, shape (episodes, P)."""
    parts = []
    for i in episodes.slices():
        mean = mine.policy_gradient(policy, played.theta, episodes.observations[i], played.actions[i], weights[i])
        parts.append((i.stop - i.start) * mean)
    return np.array(parts)


estimates = {
    "whole return": per_episode(whole),
    "whole return - mean": per_episode(whole - episodes.returns.mean()),
    "reward-to-go": per_episode(to_go),
    "reward-to-go - mean": per_episode(to_go - to_go.mean()),
}
variance = {name: gradients.var(axis=0).sum() for name, gradients in estimates.items()}
for name, value in variance.items():
    print(f"{name:20s} variance {value:8.0f}")
compare("variance, first over last", guess_ratio, variance["whole return"] / variance["reward-to-go - mean"])

# %%
best = estimates["reward-to-go - mean"]
direction = best.mean(axis=0) / np.linalg.norm(best.mean(axis=0))
figure, axis = plt.subplots(figsize=(8, 3.6))
for name, color in (("whole return", ORANGE), ("reward-to-go - mean", BLUE)):
    along = estimates[name] @ direction
    axis.hist(along, np.linspace(-250, 600, 35), color=color, alpha=0.6, label=f"{name}: mean {along.mean():.0f}")
axis.set(xlabel="one episode's gradient, along their mean direction", ylabel="episodes")
axis.legend()
axis.grid(alpha=0.3)
plt.show()
difference = (estimates["whole return"] - best) @ direction
print(f"difference of the two means: z = {difference.mean() / difference.std() * np.sqrt(len(difference)):.1f}")

# %% [markdown]
# The same expectation (as far as these episodes can tell: look at $z$), and a much narrower distribution. Variance is paid in
# episodes: a ratio of six means six times as much playing for the same accuracy, or six times as many processors.
#
# ## How an episode stops
#
# Two endings look alike and are not. The pole falls: the episode **terminated**, nothing more can be earned, and the
# reward-to-go of the last step is its own reward. Or 500 steps are over, CartPole's time limit: the episode was **truncated**,
# the pole still stands, and a game that went on would pay $1 + 0.99 + 0.99^2 + \dots = 100$ more (at $\gamma = 0.99$). Booking 0 for
# that future tells the policy that the last steps were bad. An environment therefore returns two flags, and the package
# never merges them into one `done`. Today we have no estimate of the future and accept the error; lecture 05 learns one.
#
# ## Learning
#
# Everything is there. Play, weigh, climb, and play *again*: a gradient holds for the policy that played, so after each
# step the old experience is worthless (one says **on-policy**). We also divide the advantages by their standard deviation, so
# that one step size fits short and long episodes.
#
# Thirty updates of 1,500 steps, three seeds. A fresh policy gets what you saw above; 500 is the most there is. What mean
# return do the last five batches reach?

# %% prediction="yes"
guess_return = 150


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


learned = {seed: learn(seed, step_size=4.0) for seed in range(3)}
final = [curve[-5:].mean() for _, curve in learned.values()]
compare("mean return of the last five batches, three seeds", guess_return, np.mean(final))
print("seed by seed:", np.round(final))

# %% [markdown]
# The step size 4 was found by trying. A tenth of it, and ten times it:

# %%
_, timid = learn(1, step_size=0.4)
wild_theta, wild = learn(1, step_size=40.0)
chosen = policy.distribution(wild_theta, episodes.observations)
sure = np.exp(policy.log_prob(chosen, policy.mode(chosen))).mean()
print(f"after steps of 40: mean return {wild[-1]:.1f}, the favourite action has probability {sure:.3f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
for (seed, (_, curve)), color in zip(learned.items(), (BLUE, GREEN, PURPLE)):
    left.plot(curve, color=color, label=f"seed {seed}")
left.axhline(475, color=GREY, linestyle="--", label='"solved" (Gymnasium)')
left.set(title="step size 4", xlabel="updates", ylabel="mean return of the batch", ylim=(0, 500))
for curve, size, color in ((timid, 0.4, ORANGE), (learned[1][1], 4, GREEN), (wild, 40, RED)):
    right.plot(curve, color=color, label=f"step size {size:g}")
right.set(title="seed 1, three step sizes", xlabel="updates")
for axis in (left, right):
    axis.legend(loc="upper left", bbox_to_anchor=(0, 0.93))
    axis.grid(alpha=0.3)
plt.tight_layout()
plt.show()
show(max(learned.values(), key=lambda run: run[1][-1])[0], seed=1)

# %% [markdown]
# It learns, from a number per step and nothing else. It also jitters: when episodes get long, a batch holds few of them. And
# the step size is a gamble. Too small wastes experience. Too large can be fatal: once the favourite action has a probability
# near 1, the other is never tried, the scores are nearly 0, and there is no gradient to climb out with. *How far may one step
# go?* is the question of lectures 02 to 04, and the reason TRPO exists.
#
# ## The loop, and what can be parallel
#
# The Berkeley slides ask of each part of the loop: is it slow, and can it be split among workers?
#
# | on the slides | here | can it be split? |
# |---|---|---|
# | 1. collect samples | `play` | by episode: they know nothing of each other |
# | 2. compute $r_i$ | `discounted_sums` | by episode, but it is hardly worth it |
# | 3. compute $\nabla_i$ | `policy_gradient` | by step: it is a sum |
# | 4. update $\theta$ | one addition | no: everybody waits for it |

# %%
clock = [time.perf_counter()]
batch = play("CartPole-v1", budget(6000, 1500), played.theta, seed=7, hidden=(16,))
clock.append(time.perf_counter())
rewards_to_go = mine.discounted_sums(batch.episodes.rewards, 0.99, batch.episodes.last)
advantages = (rewards_to_go - rewards_to_go.mean()) / rewards_to_go.std()
clock.append(time.perf_counter())
g = mine.policy_gradient(policy, played.theta, batch.episodes.observations, batch.actions, advantages)
clock.append(time.perf_counter())
seconds = np.diff(clock)
for part, s in zip(("play", "weigh", "gradient"), seconds):
    print(f"{part:10s} {1000 * s:7.1f} ms {100 * s / seconds.sum():5.1f} %")
print(f"CartPole with its policy runs {0.02 * batch.episodes.steps / seconds[0]:.0f} times faster than real time")

# %% [markdown]
# So the playing is what to split, and lecture 07 does. To split the gradient, pool the workers' **sums** and divide once. The
# mean of their means is something else as soon as their shares differ, as when a fast worker plays more episodes:

# %%
slices = batch.episodes.slices()  # of each episode
cuts = (np.array([0.1, 0.3, 0.6]) * len(slices)).astype(int)
sums, counts = [], []
for share in np.split(np.arange(len(slices)), cuts):
    i = np.arange(slices[share[0]].start, slices[share[-1]].stop)
    observations, actions = batch.episodes.observations[i], batch.actions[i]
    sums.append(len(i) * mine.policy_gradient(policy, played.theta, observations, actions, advantages[i]))
    counts.append(len(i))
pooled, mean_of_means = sum(sums) / sum(counts), sum(s / n for s, n in zip(sums, counts)) / 4
print("steps per worker:", counts)
for name, other in (("sums pooled", pooled), ("mean of means", mean_of_means)):
    print(f"{name:14s} off by {np.linalg.norm(other - g) / np.linalg.norm(g):.1e} of the gradient")

# %% [markdown]
# ## Bug hunt
#
# A colleague's policy gradient gets its advantages from a network, as a column. No error, no warning, a result of the right
# shape. And a policy that does not learn. Find the line, mend it in the cell, and run it again.


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
# advantage: a table $(N, N)$. Its mean is (mean log probability) $\times$ (mean advantage). After subtracting a baseline the mean
# advantage is 0, and so is the gradient, up to rounding. Write `column[:, 0]`, or keep advantages flat and check
# shapes. The same silent broadcast is the subject of an exercise in OpenAI's Spinning Up (2.2), there in a critic.

# %% [markdown]
# ## What was claimed, and what we saw
#
# - *The Berkeley slides* weigh each trajectory with its whole return less a constant. On the same episodes reward-to-go
#   estimated the same gradient with about half the variance: compare the second and the fourth line of the table above. Their update also
#   *sums* over the trajectories, so twice the episodes means twice the step. We take the mean.
# - *The slides* call summing rewards trivial and fast. The timing agrees. They credit MuJoCo with up to 10,000 times real
#   time; our CartPole, in a Python loop and with a policy, is far from that, as printed above.
# - *Frans & Hafner 2016* say that most time goes into collecting experience. For this loop it does, and more so than for TRPO,
#   whose update has more to do; lecture 06 measures that. They also name the variance of Monte-Carlo estimates as what makes
#   TRPO hungry for episodes. We saw it in a single throw.
# - They let an episode run until a terminal state, and do not mention time limits. Frans's code (kvfrans/parallel-trpo,
#   `rollouts.py`) cuts every episode one step before the limit and treats it as ended.
# - None of our sources shows a curve of the plain policy gradient, so there is none to reproduce: the curves above are ours.
#
# **Next**: lecture 02 asks how far "4 times the gradient" moves a policy, and finds that parameters are the wrong ruler.
