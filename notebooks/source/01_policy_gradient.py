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
# The learner acts, and gets a number. This lecture turns such numbers into a gradient: first in a game of one throw, where
# the right answer is known, then for a pole on a cart.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `gaussian_log_prob` | `minitrpo/policies.py` | Frans & Hafner 2016, section 6: the Gaussian policy |
# | `score` | `minitrpo/policy_gradient.py` | Williams 1992 |
# | `discounted_sums` | `minitrpo/returns.py` | Frans & Hafner 2016, Algorithm 1, line 5: "Monte Carlo" |
# | `policy_gradient` | `minitrpo/policy_gradient.py` | Berkeley lecture slides, "sample parallelism", step 3 |
#
# *90 minutes in class with the four exercises; the notebook itself runs in a minute. You need: numpy, derivatives, mean
# and variance. No reinforcement learning.*

# %%
from IPython.display import Video

from minitrpo.course.classroom import recorded

Video(str(recorded("01_before_after.mp4")), embed=True, html_attributes="controls loop muted")

# %% [markdown]
# That is where the course goes (run the cell, press play; left a fresh policy, right the same one after a million steps):
# HalfCheetah, a robot of six joints, simulated by the physics engine **MuJoCo**. It is told
# one number per step, more for running forwards, a little less for effort. We start smaller.

# %%
import os

import autograd.numpy as np  # numpy that autograd can differentiate
import ipywidgets
from autograd import grad
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal
from minitrpo.experience.environments import make
from minitrpo.policies import Array, GaussianPolicy, Policy

os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")  # no screen needed

# %% [markdown]
# ## A game, in eight words
#
# A cart on a rail carries a pole. The **environment** is the world: cart, pole and the laws of motion. At every step the
# learner gets an **observation** $s$, chooses an **action** $a$, and receives a **reward** $r$, a number. (A *state* decides
# how the world goes on; the observation is what we are told of it. Here both are the same four numbers.)

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
# learning possible. How many steps does a fresh policy keep the pole up? **Type a prediction** and run its cell; the cell
# after it then shows the measurement.

# %% prediction="yes"
guess_steps = 10  # steps the pole stays up, on average

# %% jupyter={"source_hidden": true} tags=["hide-input"]
played = play("CartPole-v1", steps=budget(6000, 1500), hidden=(16,))
episodes, policy = played.episodes, played.policy


def draw_film(theta, seed):
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
    figure, _ = plt.subplots(2, 3, figsize=(10, 3), layout="constrained")
    for axis, step in zip(figure.axes, np.linspace(0, len(pictures) - 1, 6).astype(int)):
        axis.imshow(pictures[step][140:330])
        axis.set(xticks=[], yticks=[], title=f"step {step}")
    plt.show()


def show_fresh():
    """Answer the prediction, and show an episode."""
    compare("mean return of a fresh policy", guess_steps, episodes.returns.mean(), "steps")
    print(f"{len(episodes.returns)} episodes, {episodes.steps} steps, {len(played.theta)} parameters in theta")
    draw_film(played.theta, seed=1)


reveal(guess_steps, show_fresh)

# %% [markdown]
# (Code that only plays or draws is folded away: click on its dots. `budget(6000, 1500)` is 6000 for you, and 1500 when the
# course tests itself.)
#
# The goal in one line: find $\theta$ with the largest **expected return**
# $J(\theta) = \mathbb{E}_{\tau \sim \pi_\theta}[R(\tau)]$. Climbing needs $\nabla_\theta J$. But $R$ came out of a world we
# cannot differentiate; $\theta$ only decided *how probable* each trajectory was. So we differentiate that.
#
# ## Probabilities of actions
#
# CartPole's policy chooses among two actions. A robot's joints take real numbers, and there the policy is **Gaussian**: for
# each entry of the action the network gives a mean $\mu$, and $\theta$ also holds the logarithm of a standard deviation
# $\sigma$ (so that $\sigma$ stays positive whatever learning does). The entries are drawn independently. We need the natural
# logarithm of the probability density (its unit is the *nat*),
#
# $$\log \pi(a|s) = \sum_i \left[ -\frac{(a_i - \mu_i)^2}{2 \sigma_i^2} - \log \sigma_i - \tfrac12 \log 2\pi \right],$$
#
# for many steps at once: row $t$ of each array belongs to step $t$.
#
# ### Exercise 1: `gaussian_log_prob`

# %% exercise="gaussian_log_prob"

# %% [markdown]
# Stuck? `hint("gaussian_log_prob", 1)`, then 2, then 3. The notebook runs in any case: `mine.gaussian_log_prob` is your
# function once its check has passed, and the package's until then.
#
# ## One throw
#
# The smallest game: one step, nothing to observe. You throw a ball with strength $a$, and the reward is 20 less the
# squared miss, $r(a) = 20 - (a - 2)^2$. The policy draws $a \sim N(\mu, \sigma^2)$. For this game calculus gives everything:
# $J = 20 - (\mu - 2)^2 - \sigma^2$, hence $\partial J / \partial \mu = 2 (2 - \mu)$ and
# $\partial J / \partial \log \sigma = -2 \sigma^2$. The learner knows none of this. It sees throws and rewards.
#
# Now the trick on which this whole course stands. Write the expectation as an integral, and use
# $\nabla \pi = \pi \, \nabla \log \pi$:
#
# $$\nabla_\theta \mathbb{E}[r] = \int \nabla_\theta \pi_\theta(a) \, r(a) \, da
# = \int \pi_\theta(a) \, \nabla_\theta \log \pi_\theta(a) \, r(a) \, da
# = \mathbb{E}\left[ \nabla_\theta \log \pi_\theta(a) \; r(a) \right].$$
#
# On the right stands a mean over actions the policy takes anyway: throws estimate it. The reward is only *multiplied*, never
# differentiated. The vector $\psi = \nabla_\theta \log \pi_\theta(a|s)$ is called the **score**. It
# points to where this action becomes more probable. Reward says how far to follow it.
#
# You write the function, autograd takes the slope: `grad(f)(theta)` is the gradient of `f`, a function that returns one
# number, at `theta`. `policy.distribution(theta, observations)` turns observations $(N, D)$ into what the network says
# about each, and `policy.log_prob(that, actions)` into log probabilities $(N,)$. Here $N = 1$: `observation[None]` makes one
# row of an observation. An action is an array of one number per joint for a Gaussian policy, and a single integer for
# CartPole's; `np.array([action])` makes a table of one action in both cases.
#
# ### Exercise 2: `score`

# %% exercise="score"

# %% [markdown]
# Against the formulas: for a Gaussian, $\partial \log \pi / \partial \mu = (a - \mu) / \sigma^2$ and
# $\partial \log \pi / \partial \log \sigma = (a - \mu)^2 / \sigma^2 - 1$. And below that, the mean score $\times$ reward
# of these throws beside the exact gradient:

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
guess_throws = 500  # throws

# %%
a = default_rng(1).standard_normal(200_000)
psi = np.stack([a, a**2 - 1])  # both scores of each throw, by formula: faster than autograd


def throws_needed(b):
    """Return how many throws bring the error of the mean of psi x (r - b) down to a tenth of the gradient's length."""
    squared_error_of_one = (psi * (reward_of(a) - b)).var(axis=1).sum()
    return squared_error_of_one / (0.1 * np.linalg.norm(exact)) ** 2


def show_throws():
    """Answer the prediction."""
    compare("for an error of a tenth", guess_throws, throws_needed(b=0), "throws")


reveal(guess_throws, show_throws)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# That many, for *two* parameters: the price of not differentiating the world.
#
# </details>
#
# The rest of the lecture fights noise.
#
# ## Baselines
#
# Nearly every throw here pays something, good or bad, so nearly every throw says "more of this!" Why not ask whether it
# was better than usual? Subtract a number $b$ from the reward. Since $\mathbb{E}[\psi] = 0$,
# $\mathbb{E}[\psi \, (r - b)] = \mathbb{E}[\psi \, r] - b \, \mathbb{E}[\psi] = \mathbb{E}[\psi \, r]$:
# the expectation stays, whatever $b$ is, as long as $b$ does not depend on the action. Such a $b$ is a **baseline**, and
# $r - b$ estimates an **advantage**: how much better than usual it went.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
few = a[np.abs(a) < 2.5][:60]


def scatter(axis, b, color, marker="o"):
    """Draw what each of sixty throws pushes the mean by, under baseline b."""
    axis.plot(few, few * (reward_of(few) - b), marker, color=color, markersize=4, label=f"baseline {b:g}")
    axis.set(xlabel="strength of the throw a", ylabel="push on the mean: score x (r - b)")
    axis.grid(alpha=0.3)


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
grid = np.linspace(-3.5, 3.5, 200)
density = np.exp(mine.gaussian_log_prob(np.zeros((200, 1)), np.zeros((200, 1)), grid[:, None]))
left.plot(grid, reward_of(grid), color=GREEN, label="reward r(a)")
left.fill_between(grid, -10, -10 + 20 * density, color=GREY, alpha=0.5, label="how often a is thrown (no scale)")
left.set(xlabel="strength of the throw a", ylabel="reward", ylim=(-10, 24))
left.grid(alpha=0.3)
scatter(right, 0, ORANGE)
scatter(right, 15, BLUE, "s")
right.axhline(4, color=RED, linestyle="--", label="exact slope: their expectation")
for axis in (left, right):
    axis.legend(fontsize=9)
plt.tight_layout()
plt.show()

# %% [markdown]
# Orange: weak throws push the mean down, strong ones up, and the small difference between two large numbers is the gradient.
# Blue: weak throws were worse than usual, strong ones mostly better, and *both* push up.
#
# "Unbiased", which means right on average, can be tested. Take many batches of ten throws, estimate the slope from
# each, and compare their mean with the exact 4: a *z-score* (difference over its standard error) beyond 4 is no
# accident. Here are five baselines:
#
# | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|
# | none: 0 | the constant 15 | mean of the ten rewards | mean of the other nine | half of the throw's own reward |
#
# Two of them break the rule. Which?

# %% prediction="yes"
guess_biased = [2, 5]  # their numbers

# %%
batches = a.reshape(-1, 10)
r = reward_of(batches)
baselines = {
    "1 none": 0.0,
    "2 the constant 15": 15.0,
    "3 mean of the batch": r.mean(axis=1, keepdims=True),
    "4 mean of the other nine": (r.sum(axis=1, keepdims=True) - r) / 9,
    "5 half of its own reward": r / 2,
}


def show_z():
    """Print mean, spread and z of the slopes estimated with each baseline."""
    print("you named", guess_biased)
    for name, b in baselines.items():
        slopes = (batches * (r - b)).mean(axis=1)
        z = (slopes.mean() - 4) / (slopes.std() / np.sqrt(len(slopes)))
        print(f"{name:25s} mean {slopes.mean():5.2f}   spread {slopes.std():4.2f}   z-score {z:7.1f}")


reveal(guess_biased, show_z)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Number 5 sees the action through its reward. So, less obviously, does number 3, the mean of the batch: a tenth of it
# *is* the own reward, and the estimate shrinks by that tenth. In a batch of $N$ throws the factor is $1 - 1/N$: no harm
# for thousands. Where a batch is made of episodes, count these: the steps of one episode share its rewards.
#
# </details>
#
# Unbiased is one thing, noisy another. Which constant $b$ leaves the *least* noise, over both slopes? The mean reward is
# 15. Drag to get a feeling (the slider needs a running kernel), then type a number.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_baseline(b=0.0):
    """Redraw what sixty throws say, and the slopes that batches of ten give."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4))
    scatter(left, b, BLUE)
    left.set_ylim(-75, 75)
    slopes = (batches * (r - b)).mean(axis=1)
    right.hist(slopes, np.linspace(-20, 30, 51), color=BLUE, alpha=0.6, density=True)
    right.set(xlabel="slope of the mean estimated from ten throws", ylabel="density", ylim=(0, 0.25))
    for axis, line in ((left, left.axhline), (right, right.axvline)):
        line(4, color=RED, linestyle="--", label="exact slope")
        axis.legend(loc="upper right", fontsize=9)
        axis.grid(alpha=0.3)
    plt.tight_layout()
    plt.show()


_ = ipywidgets.interact(show_baseline, b=ipywidgets.FloatSlider(min=-10, max=40, step=2.5, value=0))

# %% prediction="yes"
guess_b = 15  # the constant with the least noise, as a reward

# %% jupyter={"source_hidden": true} tags=["hide-input"]
values = np.linspace(-10, 40, 101)
needed = np.array([throws_needed(b) for b in values])


def show_parabola():
    """Answer the prediction, and draw the noise over the baseline."""
    compare("baseline with the least noise", guess_b, values[needed.argmin()])
    print(f"throws for an error of a tenth: {throws_needed(15):.0f} at b = 15, {needed.min():.0f} at the best b")
    _, axis = plt.subplots(figsize=(7, 3.4))
    axis.plot(values, needed, color=PURPLE)
    axis.axvline(15, color=GREY, linestyle=":", label="mean reward")
    axis.set(xlabel="baseline b", ylabel="throws for an error of a tenth", ylim=(0, None))
    axis.legend(fontsize=9)
    axis.grid(alpha=0.3)
    plt.show()


reveal((guess_throws, guess_b), show_parabola)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A parabola. Its bottom lies at $\mathbb{E}[|\psi|^2 r] \,/\, \mathbb{E}[|\psi|^2]$: a mean, too, in which throws count by
# their squared score (Greensmith, Bartlett & Baxter 2004). The extreme throws count most, and they pay less than usual:
# hence a number below 15. The plain mean is not the best baseline, but close to it.
#
# </details>
#
# ## Many steps
#
# Back to the pole. What decides the probability of a whole trajectory?
#
# $$\log p(\tau) = \log p(s_0) + \sum_t \big[ \log \pi_\theta(a_t|s_t) + \log p(s_{t+1}|s_t, a_t) \big]$$
#
# The world's own probabilities do not contain $\theta$: their gradient is 0, and **nobody needs to know them**. What is left
# is the sum of the scores, so $\nabla J = \mathbb{E}[\sum_t \psi_t \, R(\tau)]$.
#
# But this praises every action for the *whole* return, including what was paid before it. Take a term $\psi_t \, r_k$ with
# $k < t$. Given all that has happened up to $s_t$, the reward $r_k$ is a known number, and the mean of
# $\psi_t$ over the actions possible in $s_t$ is 0 (the mean score, for the second time). So the term has expectation 0 and
# only adds noise. Leave all of them out, and the weight of step $t$ is its **reward-to-go** $\sum_{k \ge t} r_k$.
#
# One more setting. Far rewards say little about this action, so they get smaller weights: $\sum_{k \ge t} \gamma^{k-t} r_k$,
# with a **discount** $\gamma$ such as 0.99. That trades a little bias for less noise; with $\gamma = 1$ all count alike.
#
# Episodes lie one after the other in flat arrays, and a mask `last` marks the last step of each. With
# $G_t = r_t + \gamma \, G_{t+1}$ (the docstring says $y$ for $G$ and $x$ for $r$), one walk from the end to the beginning is
# enough. At a border, start afresh.
#
# ### Exercise 3: `discounted_sums`

# %% exercise="discounted_sums"

# %% [markdown]
# Now the gradient itself: the mean over all $N$ steps of score $\times$ advantage. (A sum per episode would be longer
# by the mean length of an episode; the direction is the same.) Calling `score` $N$ times would be right and slow.
# Instead use that the gradient of a sum is the sum of the gradients: find *one number*, made of all $\log \pi(a_t|s_t)$
# and all advantages $A_t$, whose gradient this is.
#
# ### Exercise 4: `policy_gradient`

# %% exercise="policy_gradient"

# %%
throw_gradient = mine.policy_gradient(
    thrower, throw_theta, np.zeros((5000, 1)), a[:5000, None], reward_of(a[:5000]) - 15
)
print("5,000 throws:", np.round(throw_gradient, 2), " exact:", exact)

# %% [markdown]
# With reward-to-go as advantage this is what textbooks call REINFORCE (Sutton & Barto 2018, section 13.3; Williams 1992
# weighs with the whole return). Now the noise of the pole's gradient: take one episode at a time, with the whole return
# as weight and with reward-to-go less its mean. How many times larger is the variance of the first?

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
    """Answer the prediction, and draw the first and the last kind of estimate along the last one's mean."""
    for name, value in variance.items():
        print(f"{name:20s} variance {value:8.0f}")
    compare("variance, first over last", guess_ratio, variance["whole return"] / variance["reward-to-go - mean"])
    best = estimates["reward-to-go - mean"]
    direction = best.mean(axis=0) / np.linalg.norm(best.mean(axis=0))
    _, axis = plt.subplots(figsize=(8, 3.4))
    for name, color in (("whole return", ORANGE), ("reward-to-go - mean", BLUE)):
        along = estimates[name] @ direction
        axis.hist(along, np.linspace(-250, 1100, 55), color=color, alpha=0.6, label=f"{name}: mean {along.mean():.0f}")
    axis.set(xlabel="one episode's gradient, along the mean of the blue ones", ylabel="episodes")
    axis.legend(fontsize=9)
    axis.grid(alpha=0.3)
    plt.show()
    difference = (estimates["whole return"] - best) @ direction
    print(f"difference of the two means: z-score {difference.mean() / difference.std() * np.sqrt(len(difference)):.1f}")


reveal(guess_ratio, show_variances)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The same expectation (as far as these episodes can tell: look at the z-score), and a much narrower distribution. Variance is paid
# in episodes: a ratio of six would mean six times as much playing for the same accuracy.
#
# </details>
#
# ## How an episode stops
#
# Two endings look alike and are not. The pole falls: the episode **terminated**, nothing more can be earned, and the
# reward-to-go of the last step is its own reward. Or 500 steps are over, CartPole's time limit: the episode was
# **truncated**, the pole still stands, and a game that went on would pay up to $0.99 + 0.99^2 + \dots = 99$ more (at
# $\gamma = 0.99$). Booking 0 for that future tells the policy that the last steps were bad. So there are two flags,
# never merged into one `done`. Today we have no estimate of the future and accept the error; lecture 05a learns one.
#
# ## Learning
#
# Play, weigh, climb, and play *again*: a gradient holds for the policy that played, so each step asks for experience of
# its own (one says **on-policy**). We also divide the advantages by their standard deviation, so that one step size
# fits short and long episodes.
#
# Thirty updates of 1,500 steps, three seeds. 500 is the most there is. What mean return do the last five batches reach?

# %% prediction="yes"
guess_return = 150  # steps with the pole up


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


learned = {size: [learn(seed, size) for seed in range(3)] for size in (0.4, 4.0, 40.0)}

# %% [markdown]
# The step size 4 was found by trying; a tenth of it and ten times it ran, too.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_learning():
    """Answer the prediction; draw the learning curves of three step sizes, and an episode of the best policy."""
    final = [curve[-5:].mean() for _, curve in learned[4.0]]
    compare("mean return of the last five batches, three seeds", guess_return, np.mean(final), "steps")
    print("seed by seed:", np.round(final))
    for theta, curve in learned[40.0]:
        chosen = policy.distribution(theta, episodes.observations)
        sure = np.exp(policy.log_prob(chosen, policy.mode(chosen))).mean()
        print(f"after steps of 40: mean return {curve[-1]:.0f}; probability of the favourite action {sure:.3f}")
    _, axis = plt.subplots(figsize=(8, 3.8))
    for (size, runs), color, style in zip(learned.items(), (ORANGE, GREEN, RED), ("--", "-", "-.")):
        for seed, (_, curve) in enumerate(runs):
            axis.plot(curve, style, color=color, label=f"step size {size:g}, three seeds" if seed == 0 else None)
    axis.axhline(475, color=GREY, linestyle=":", label='"solved" (Gymnasium)')
    axis.set(xlabel="updates", ylabel="mean return of the batch", ylim=(0, 510))
    axis.legend(loc="upper left", fontsize=9)
    axis.grid(alpha=0.3)
    plt.show()
    draw_film(max(learned[4.0], key=lambda run: run[1][-1])[0], seed=1)


reveal(guess_return, show_learning)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# It learns, from a number per step. It also jitters: when episodes get long, a batch holds few of them, so that its
# mean is noisy, and its gradient, too, which moves the policy to and fro. And the step size is a gamble. Too small
# wastes experience. Too large can be fatal, as in one of the three runs here: once the favourite action has a
# probability of 1.000, the other is never tried, the scores are as good as 0, and there is no gradient to climb out
# with. Where it stays a little less sure, as in the other two, learning goes on, badly.
#
# </details>
#
# *How far may one step go?* is the question of lectures 02 to 04, and the reason TRPO exists.
#
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
# advantage: a table $(N, N)$. Its mean is (mean log probability) $\times$ (mean advantage). After subtracting a baseline the
# mean advantage is 0, and so is the gradient, up to rounding. Write `column[:, 0]`, or keep advantages flat and check
# shapes. The same silent broadcast is the subject of an exercise in OpenAI's Spinning Up (2.2), there in a critic.

# %% [markdown]
# ## What you have built so far
#
# A policy that can say how probable an action was, and the score that makes it more probable. The policy gradient: the mean
# of score times advantage, with reward-to-go and a baseline against the noise. And a loop that plays, weighs and climbs, and
# learns to hold a pole; only its step size was found by trying.
#
# ## Quiz
#
# **1.** A friend adds 100 to every reward of the one-throw game and uses no baseline. What changes: the expected gradient,
# the noise, both, neither?
#
# <details><summary>Answer</summary>
#
# The noise only: it is the baseline $-100$. "More reward, more gradient" is tempting, because every single term does grow; but
# they grow in both directions.
#
# </details>
#
# **2.** May a baseline depend on the observation $s_t$? On the action $a_t$? On the next observation?
#
# <details><summary>Answer</summary>
#
# On $s_t$ yes: given $s_t$ it is a constant, and the mean score over actions in $s_t$ is 0. On $a_t$ no, and on $s_{t+1}$ no
# either, which depends on the action. Independence of $\theta$ is not the condition.
#
# </details>
#
# **3.** Your batch of 1,500 steps was expensive. Why not take ten gradient steps with it?
#
# <details><summary>Answer</summary>
#
# Score $\times$ advantage is the gradient of $J$ for the policy that *drew these actions*; after one step the policy is
# another one. It is not that data are "used up": lecture 04 reweights them, and then a short way further can be judged.
#
# </details>


# %% [markdown]
# ## Appendix: what of this loop can be parallel?
#
# The Berkeley slides ask of each part of the loop: is it slow, and can it be split among workers?
#
# | on the slides | here | can it be split? |
# |---|---|---|
# | 1. collect samples | `play` | by episode: they know nothing of each other |
# | 2. compute $r_i$ | `discounted_sums` | by episode, but it is hardly worth it |
# | 3. compute $\nabla_i$ | `policy_gradient` | by step: it is a sum |
# | 4. update $\theta$ | one addition | no: everybody waits for it |
#
# So the playing is what to split: lecture 06 measures that it takes the time, lecture 07 splits it.

# %% [markdown]
# ## Appendix: what was claimed in 2016
#
# - *The Berkeley slides* weigh each trajectory with its whole return less a constant. Compare the second and the fourth line
#   of the variances above: reward-to-go estimates the same gradient with less noise. They also *sum* over trajectories, where
#   we take the mean.
# - *Frans & Hafner 2016* let an episode run until a terminal state, and do not mention time limits. Frans's code
#   (kvfrans/parallel-trpo, `rollouts.py`) cuts every episode one step before the limit and treats it as ended.
#
# **Next**: lecture 02 asks how far "4 times the gradient" moves a policy, and finds that parameters are the wrong ruler.
