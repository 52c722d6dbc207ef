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
# # 02 Natural gradient
#
# **How far apart are two policies, and which way is uphill when distance means KL?**
#
# <!-- loop -->
#
# Along the policy gradient $g$ of lecture 01 the expected return rises fastest. "Fastest" means: for a step of given length
# in the parameters $\theta$. But parameters do not act; the policy does. This lecture measures a step by what it does to the
# policy, and finds that the best direction changes.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `gaussian_kl`, `categorical_kl` | `minitrpo/policies.py` | the KL divergence of equation 12 |
# | `fisher_vector_product` | `minitrpo/natural_gradient.py` | appendix C.1, the Fisher-vector product |
#
# *90 minutes in class with the three exercises; the notebook itself runs in under a minute. You need: derivatives in
# several variables, lecture 01.*

# %%
import time
from collections.abc import Callable

import autograd.numpy as np
import ipywidgets
from autograd import grad, hessian, jacobian, make_hvp
from autograd.differential_operators import make_ggnvp
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal, say_if_busy
from minitrpo.natural_gradient import every_kth, mean_kl
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy, log_softmax
from minitrpo.policy_gradient import policy_gradient, score

# %% [markdown]
# ## A distance between policies
#
# In one state $s$ a policy is a probability distribution over actions $a$. To compare an old policy with a new one, draw
# actions from the old one, and ask of each how much less likely the new one finds it, in logarithms. The average is the
# **Kullback-Leibler divergence**, KL for short:
#
# $$\mathrm{KL}(\text{old} \,\|\, \text{new}) = \mathbb{E}_{a \sim \text{old}}\big[\log \pi_\text{old}(a|s) - \log \pi_\text{new}(a|s)\big]$$
#
# It is 0 when the two are the same, positive otherwise, and its unit is the **nat** (the logarithm is the natural one).
# A feeling for the size: watch the old policy act $n$ times, and the odds that it is the old one and not the new one grow
# to about $e^{\,n \cdot \mathrm{KL}}$ (their logarithm is $n \cdot \mathrm{KL}$ on average). At 0.01 nats, a usual limit for an update of TRPO, it takes a hundred actions to tell
# the two apart at odds of e to 1.
#
# For a Gaussian with mean $\mu$ and standard deviation $\sigma$ the average can be worked out once and for all:
#
# $$\mathrm{KL} = \log\frac{\sigma_\text{new}}{\sigma_\text{old}} + \frac{\sigma_\text{old}^2 + (\mu_\text{old} - \mu_\text{new})^2}{2\,\sigma_\text{new}^2} - \frac12$$
#
# An action has several components, one for each joint of the robot. They are drawn independently, so their KLs add up.
# Our policies store $\log\sigma$ (`log_std`), which may be any number.
#
# ### Exercise 1: `gaussian_kl`

# %% exercise="gaussian_kl"

# %% [markdown]
# Stuck? `hint("gaussian_kl", 1)`, then 2, then 3. `mine.gaussian_kl` is your function once its check has passed, and the
# package's until then.
#
# Now take two policies, one with $\sigma = 1$ and one with $\sigma = 0.1$, and move the mean of each by the same 0.2. How many
# times farther does the narrow one travel, in nats? **Type a prediction** and run its cell; the next cell shows the answer.

# %% prediction="yes"
guess_farther = 10  # times

# %%
shift, stds = 0.2, (1.0, 0.1)


def kl_of_shift(std):
    """Return KL(old || new) of a Gaussian whose mean moves from 0 to `shift`."""
    mean, log_std = np.zeros((1, 1)), np.full((1, 1), np.log(std))
    return mine.gaussian_kl(mean, log_std, mean + shift, log_std)[0]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_shift():
    """Answer the prediction, and draw both policies before and after."""
    compare("KL with std 0.1, divided by KL with std 1", guess_farther, kl_of_shift(0.1) / kl_of_shift(1.0), "times")
    grid = np.linspace(-2, 2, 801)
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.2))
    for axis, std in zip(axes, stds):
        for mean, color, style, name in ((0.0, GREY, "-", "old"), (shift, BLUE, "--", "new")):
            density = np.exp(-0.5 * ((grid - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
            axis.plot(grid, density, style, color=color, linewidth=2, label=f"{name}: mean {mean:g}, std {std:g}")
        axis.set(xlabel="action $a$", ylabel="probability density", title=f"KL = {kl_of_shift(std):.2g} nats")
        axis.set_ylim(0, 0.56 / std)
        axis.legend(loc="upper left", fontsize=9)
    plt.tight_layout()
    plt.show()


reveal(guess_farther, show_shift)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The same step in the parameters: on the left hardly anything has changed, on the right the new policy avoids what the
# old one used to do. A policy gets narrower as it learns, so a fixed step size, harmless at first, becomes wild later on.
#
# </details>
#
# The order of the two matters, too:

# %%
for old_std, new_std in ((1.0, 2.0), (2.0, 1.0)):
    nats = mine.gaussian_kl(*np.array([[[0.0]], [[np.log(old_std)]], [[0.0]], [[np.log(new_std)]]]))[0]
    print(f"from std {old_std:g} to std {new_std:g}: {nats:.3f} nats")

# %% [markdown]
# We put the old policy first, as the TRPO paper and Frans & Hafner 2016 do: the average is over actions that we have really
# taken. A well-known library (OpenAI's Spinning Up, TensorFlow version) had the two swapped for Gaussians and not for
# categoricals. Nothing crashed, and below you will see why.
#
# Where actions are a choice among a few (push the cart left or right), the policy outputs a row of **logits**, any numbers
# $z$, and $\pi(a|s) = e^{z_a} / \sum_{a'} e^{z_{a'}}$. `log_softmax` returns the logarithms of these probabilities without ever
# overflowing. Logits may lie hundreds apart, where a probability is too small for a float and its logarithm is not.
#
# ### Exercise 2: `categorical_kl`

# %% exercise="categorical_kl"

# %% [markdown]
# ## "But KL(π, π) is 0. How can we differentiate it?"
#
# Every class asks this, and so do users of TRPO implementations (ikostrikov/pytorch-trpo, issue 2, and users of four others that
# we found). The answer: the old policy is a *constant*, a table of numbers computed once. Only the new one moves with $\theta$.
# Let us look, with a small policy for Reacher, an arm of two joints simulated by MuJoCo, and `mean_kl`, the KL averaged
# over the states it visited. First at $\theta$ itself, then on a walk away from it along a random direction $d$:

# %%
played = play("Reacher-v5", steps=budget(1000, 300), hidden=(8, 8))
policy, theta, states = played.policy, played.theta, played.episodes.observations
old = policy.distribution(theta, states)  # numbers: (mean, log_std) in every state


def kl_from_old(new_theta):
    return mean_kl(policy, old, policy.distribution(new_theta, states))


F = hessian(kl_from_old)(theta)
print(f"value {kl_from_old(theta):.1g}, largest slope {np.max(np.abs(grad(kl_from_old)(theta))):.1g}")
print(f"largest second derivative {np.max(np.abs(F)):.3g}")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
d = np.random.default_rng(1).standard_normal(len(theta))
betas = np.linspace(-0.1, 0.1, 41)
frozen = [kl_from_old(theta + beta * d) for beta in betas]
moving = []
for beta in betas:
    dist_params = policy.distribution(theta + beta * d, states)
    moving.append(mean_kl(policy, dist_params, dist_params))

figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(betas, frozen, "o", color=BLUE, markersize=4, label="KL, old policy kept as it was")
axis.plot(betas, 0.5 * betas**2 * (d @ F @ d), color=ORANGE, label="$\\frac{1}{2}\\, \\beta^2 d^T F d$")
axis.plot(betas, moving, "--", color=RED, label="KL when both policies move")
axis.set(xlabel="step $\\beta$ along a random direction $d$", ylabel="mean KL (nats)")
axis.legend(fontsize=9)
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The KL has value 0, gradient 0, and a second derivative that is not 0. Of course: it is never negative, so where it is 0
# it has a minimum, and at a minimum the slope vanishes but the curvature need not. The matrix of second derivatives
# (the **Hessian**) at $\theta_\text{new} = \theta_\text{old}$ is the **Fisher matrix** $F$, and for a small step $d$
#
# $$\mathrm{KL}(\pi_\theta \,\|\, \pi_{\theta + d}) \approx \tfrac12\, d^\top F\, d .$$
#
# If *both* policies move, the KL is 0 wherever you go, and so are all its derivatives: a common way to a Fisher matrix
# of nothing but zeros. And at the minimum the order of old and new does not matter: the swapped KL has the same Hessian
# there. That is why nothing crashed. It differs for steps of finite size.
#
# ## The same matrix, from scores
#
# $F$ has a second face. Lecture 01's **score** is $\psi = \nabla_\theta \log \pi(a|s)$, and its mean over the policy's own
# actions is 0: $\int \pi \, \psi \, da = 0$. That is minus the slope of the KL, once more. It holds for every $\theta$, so
# we may differentiate it, by the product rule and with $\nabla \pi = \pi \, \psi$:
#
# $$0 = \int \pi \left( \psi \, \psi^\top + \nabla \psi \right) da, \qquad\text{hence}\qquad
# \mathbb{E}\big[\psi \, \psi^\top\big] = -\mathbb{E}\big[\nabla^2 \log \pi\big] .$$
#
# The right side is the second derivative of the KL, whose only moving part is $-\log \pi_\text{new}$ under a mean over old
# actions. So
#
# $$F = \mathbb{E}_{s,\; a \sim \pi}\big[\psi\, \psi^\top\big],$$
#
# the covariance of the scores. With three actions the expectation is a sum, so we can check it exactly; with continuous
# ones we have to draw them:

# %%
choice = CategoricalPolicy(observation_size=2, action_size=3, hidden=(4,))
rng = np.random.default_rng(2)
phi, places = choice.initialise(rng) + 0.3, rng.standard_normal((5, 2))
fixed = choice.distribution(phi, places)
from_kl = hessian(lambda new: mean_kl(choice, fixed, choice.distribution(new, places)))(phi)
from_scores = np.zeros_like(from_kl)
for place, probabilities in zip(places, np.exp(log_softmax(fixed))):
    for action, p in enumerate(probabilities):
        psi = score(choice, phi, place, action)
        from_scores += p * np.outer(psi, psi) / len(places)
difference = np.max(np.abs(from_kl - from_scores))
print(f"summed over actions: largest entry {np.max(np.abs(from_kl)):.3f}, largest difference {difference:.1e}")
few = states[:: len(states) // 20][:20]
numbers = policy.distribution(theta, few)
exact = hessian(lambda new: mean_kl(policy, numbers, policy.distribution(new, few)))(theta)
scores = []
for _ in range(budget(100, 50)):
    taken = policy.sample(numbers, policy.draw_noise(rng, len(few)))
    scores += [score(policy, theta, o, action) for o, action in zip(few, taken)]
for n in (20, 200, len(scores)):
    covariance = np.array(scores[:n]).T @ np.array(scores[:n]) / n
    error = np.linalg.norm(covariance - exact) / np.linalg.norm(exact)
    print(f"{n:,} sampled actions: off by {100 * error:.0f} %")

# %% [markdown]
# The same matrix, but the samples make it noisy. The Hessian of the KL has the average over actions done on paper, and
# needs states only. That is the one TRPO takes.
#
# ## The trust region is an ellipse
#
# Now the question of the lecture. Among all steps $d$ that change the policy by at most $\delta$ nats, which one gains most?
# To first order the gain is $g^\top d$, so:
#
# $$\text{maximise } g^\top d \quad\text{subject to}\quad \tfrac12\, d^\top F\, d \le \delta .$$
#
# The steps allowed form an ellipse, the **trust region**; steps of equal gain lie on straight lines across $g$. Push the
# line as far as it goes: at the last point it touches the ellipse, so the ellipse's own gradient $F d$ points along $g$.
# Hence $d$ is a multiple of $x = F^{-1} g$, the **natural gradient** (Amari 1998).
#
# A case with two parameters: in state $s$ the mean action is weight $\times\, s\, +$ bias, with $\sigma = 0.3$, and the states
# of the batch are 0.5, 1, 1.5, 2, 2.5 and 3. Suppose the policy gradient is $g = (1, 1)$. How many times more does the natural step gain than a step along $g$, both going to the
# rim of the ellipse? (The cell uses the package's `fisher_vector_product` for now; it will be your exercise 3.)

# %% prediction="yes"
guess_gain = 1.5  # times

# %%
line = GaussianPolicy(observation_size=1, action_size=1, hidden=())
at = np.array([0.0, 0.0, np.log(0.3)])  # weight, bias, log_std
where = np.linspace(0.5, 3.0, 6)[:, None]
line_product = mine.fisher_vector_product(line, at, where, 0.0)
F2 = np.array([line_product(e)[:2] for e in np.eye(3)[:2]])  # weight and bias only
g2 = np.array([1.0, 1.0])


def to_the_rim(direction, max_kl=0.01):
    """Return the direction scaled to a KL of max_kl: KL(beta x) = 1/2 beta^2 x'Fx."""
    return direction * np.sqrt(2 * max_kl / (direction @ F2 @ direction))


plain_step, natural_step = to_the_rim(g2), to_the_rim(np.linalg.solve(F2, g2))

# %% jupyter={"source_hidden": true} tags=["hide-input"]
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.array([np.cos(angle), np.sin(angle)])
rim = np.linalg.solve(np.linalg.cholesky(F2).T, circle) * np.sqrt(2 * 0.01)


def show_ellipse():
    """Answer the prediction, and draw the ellipse with both steps."""
    compare("gain of the natural step", guess_gain, (g2 @ natural_step) / (g2 @ plain_step), "times the other")
    _, axis = plt.subplots(figsize=(5.2, 4.8))
    weight, bias = np.meshgrid(np.linspace(-0.11, 0.11, 9), np.linspace(-0.11, 0.11, 9))
    axis.contour(weight, bias, weight + bias, levels=13, colors=GREY, linewidths=0.6, linestyles="-")
    axis.plot(*rim, color=GREEN, linewidth=2, label="KL = 0.01 nats")
    axis.plot(*circle * np.linalg.norm(plain_step), ":", color=GREY, label="equal length in $\\theta$")
    for step, color, name in ((plain_step, ORANGE, "step along $g$"), (natural_step, BLUE, "natural step")):
        axis.annotate("", step, (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2})
        axis.plot(*step, "o", color=color, label=name)
    axis.set(xlabel="change of the weight", ylabel="change of the bias", aspect="equal")
    axis.set(xticks=[-0.1, -0.05, 0, 0.05, 0.1], yticks=[-0.1, -0.05, 0, 0.05, 0.1])
    axis.legend(loc="lower left", fontsize=9)
    plt.show()


reveal(guess_gain, show_ellipse)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Grey lines join steps of equal gain, which grows to the upper right. Along $g$, raising both weight and bias moves the mean
# action twice in the same direction: costly. The natural step goes up in the bias and *down* in the weight, which partly
# cancels in the actions, and so it can afford to go farther. Its length in the parameters does not count.
#
# </details>
#
# The limit $\delta$ (`max_kl` in code) takes the place of a step size. How many times longer is the natural step when it is
# ten times larger, 0.01 for 0.001 nats?

# %% prediction="yes"
guess_longer = 10  # times


# %%
def show_longer():
    """Answer the prediction."""
    shorter = to_the_rim(np.linalg.solve(F2, g2), max_kl=0.001)
    compare("length for 10 times the KL", guess_longer, np.linalg.norm(natural_step) / np.linalg.norm(shorter), "times")


reveal(guess_longer, show_longer)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The KL is quadratic in the step, so the step grows with the square root of the limit. (Lecture 04 is about this scale.)
#
# </details>
#
# The ellipse is the truth for small steps only. Here are $\mu$ and $\log\sigma$ as the two parameters. Drag the slider (it
# needs a running kernel; the pictures below it are the same without one).


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def region(axis, max_kl, std=0.5):
    """Draw the trust region of N(0, std) in (mean, log_std), as it is and as the Fisher matrix sees it."""
    mean, log_std = np.meshgrid(np.linspace(-1.2, 1.2, 121), np.linspace(-1.2, 1.2, 121))
    flat = mean.reshape(-1, 1), log_std.reshape(-1, 1)
    start = np.zeros_like(flat[0]), np.full_like(flat[0], np.log(std))
    kl = mine.gaussian_kl(*start, flat[0], start[1] + flat[1]).reshape(mean.shape)
    axis.contourf(mean, log_std, kl, levels=[-1, max_kl], colors=[BLUE], alpha=0.25)
    axis.contour(mean, log_std, kl, levels=[max_kl], colors=BLUE)
    axis.plot(std * np.sqrt(2 * max_kl) * circle[0], np.sqrt(max_kl) * circle[1], "--", color=RED)
    axis.set(xlabel="change of the mean", ylabel="change of log std", title=f"max KL {max_kl:.2g} nats")


def show_region(log_max_kl=-1.0):
    _, axis = plt.subplots(figsize=(4, 3.4))
    region(axis, 10**log_max_kl)
    plt.show()


_ = ipywidgets.interact(
    show_region,
    log_max_kl=ipywidgets.FloatSlider(
        min=-3, max=0, step=0.25, value=-1, description="log10 of max KL", style={"description_width": "initial"}
    ),
)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
for axis, limit in zip(axes, (0.01, 0.1, 0.5)):
    region(axis, limit)
axes[0].plot([], [], color=BLUE, label="KL = max KL")
axes[0].plot([], [], "--", color=RED, label="$\\frac{1}{2}\\, d^T F d$ = max KL")
axes[0].legend(loc="upper left", fontsize=9)
plt.tight_layout()
plt.show()

# %% [markdown]
# At 0.01 nats the two agree. At half a nat the ellipse promises room below (a narrower policy) where the true region has
# ended. So the natural step *aims* at max KL, and somebody has to look whether it hit: lecture 04.
#
# ## It does not matter what you call your parameters
#
# Some programs store $\sigma$, others $\log\sigma$: same policies, other names. Does the update depend on it? Take one small
# plain gradient step from $\sigma = 0.2$ in each, with the same step size. How many times more does the step in $\sigma$
# change $\log \sigma$ than the step in $\log\sigma$ does?

# %% prediction="yes"
guess_names = 1  # times


# %%
def update(mean, std, rate, natural, logarithmic):
    """Return (mean, std) one step up J = -(mean - 1)^2 - std^2, with std or its logarithm as the parameter."""
    g = np.array([-2 * (mean - 1), -2 * std])  # by mean and std
    fisher = np.array([1.0, 2.0]) / std**2  # the diagonal of F; the rest is 0
    if logarithmic:  # chain rule: d std = std * d log std
        g, fisher = g * np.array([1, std]), fisher * np.array([1, std**2])
    move = rate * (g / fisher if natural else g)
    return mean + move[0], std * np.exp(move[1]) if logarithmic else std + move[1]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_roads():
    """Answer the prediction, and draw many steps, plain and natural, under both names."""
    by_std, by_log = (np.log(update(0.0, 0.2, 1e-6, False, name)[1] / 0.2) for name in (False, True))
    compare("plain step in std over step in log std", guess_names, by_std / by_log, "times")
    _, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for axis, natural in zip(axes, (False, True)):
        for logarithmic, color, style in ((False, ORANGE, "-"), (True, PURPLE, "--")):
            path = [(-1.0, 1.0)]
            for _ in range(budget(4000, 400)):
                path.append(update(*path[-1], 0.02, natural, logarithmic))
            name = "parameter $\\log\\sigma$" if logarithmic else "parameter $\\sigma$"
            axis.plot(*np.array(path).T, style, color=color, linewidth=2.5, label=name)
        axis.plot(1, 0, "*", color=RED, markersize=14, label="optimum")
        axis.set(xlabel="mean $\\mu$", title="natural gradient" if natural else "plain gradient")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("standard deviation $\\sigma$")
    axes[0].legend(loc="lower left", fontsize=9)
    plt.tight_layout()
    plt.show()


reveal(guess_names, show_roads)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Plain gradients take two roads for two names of one thing; natural gradients take one (exactly so in the limit of small
# steps, because $F$ changes with the names just as $g g^\top$ does). For a neural network, where nobody would claim that
# weights are the right names, this is worth a lot.
#
# </details>
#
# ## $F v$ without $F$
#
# A policy for HalfCheetah has 5,708 parameters, so $F$ has 33 million entries. Lecture 03 will solve $F x = g$ from products
# $F v$ alone. So how do we multiply by a matrix that is never written down? Follow the policy: $\theta$ gives the
# distribution parameters $y$ (mean and `log_std` in every state), and these give the KL.
#
# $$\theta \;\xrightarrow{\;f\;}\; y \;\xrightarrow{\;h\;}\; \mathrm{KL}, \qquad F v = Y^\top \big( H\, (Y v) \big)$$
#
# with $Y$ the derivatives of $y$ by $\theta$ (the docstring's $J$) and $H$ the second derivatives of $h$, which are simple: $1/\sigma^2$ for a mean and 2 for
# a `log_std`. In words: push $v$ forwards through the network (how does $y$ change?), weigh it by $H$ (how many nats is
# that?), pull it backwards (what does that say about $\theta$?). The chain rule has another term, the slope of $h$
# times the second derivatives of the network; but that slope is 0 at the old policy. *The vanishing gradient that worried
# us is what makes this exact.*
#
# autograd's `make_ggnvp` ("generalised Gauss-Newton vector product") does exactly this. In small, with an $f$ and an $h$
# of no meaning, beside the same product by matrices:


# %%
def f(x):
    """Two parameters give three numbers."""
    return np.array([x[0] ** 2, x[0] * x[1], 3.0 * x[1]])


def h(y):
    """Three numbers give one."""
    return np.sum(y**4) / 12


x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])
Y, H = jacobian(f)(x), hessian(h)(f(x))
print("Y' H Y v by matrices:", Y.T @ (H @ (Y @ v)), " make_ggnvp(f, h)(x)(v):", make_ggnvp(f, h)(x)(v))

# %% [markdown]
# `make_ggnvp(f, h)(x)` runs $f$ and $h$ once, records every operation on **tapes**, and returns a function that replays the
# tapes for each new $v$. (For the two passes through the network, the tapes call code written by hand
# in `minitrpo/perceptron.py`, which is tested against autograd's own.)
#
# Your turn, with the policy and the KL: return the function of $v$ that gives the product with the *mean* $F$ over all
# states, without ever writing $F$ down. And add **damping**: return $(F + \text{damping}\, I)\, v$. Some directions in
# $\theta$ hardly change the policy, and $F^{-1}$ would send us very far along them; a little damping says that parameters
# are not free after all (more in lecture 03).
#
# ### Exercise 3: `fisher_vector_product`

# %% exercise="fisher_vector_product"

# %% [markdown]
# Does it agree with the dense $F$ of the small policy above? And what does it cost? The natural unit is one policy
# gradient on the same states. For a policy of 5,708 parameters, how many gradients does one product $F v$ cost?

# %% prediction="yes"
guess_cost = 100  # gradients


# %%
def milliseconds(function, *arguments, repeats=5):
    """Return the shortest of some calls; the first warms up."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function(*arguments)
        times.append(1000 * (time.perf_counter() - start))
    return min(times[1:])


say_if_busy(beside="")
runner = play("HalfCheetah-v5", steps=budget(4000, 1000))
seen, P = runner.episodes.observations, len(runner.theta)
large_product = mine.fisher_vector_product(runner.policy, runner.theta, seen, 0.1)
one_product = milliseconds(large_product, runner.theta)
one_gradient = milliseconds(policy_gradient, runner.policy, runner.theta, seen, runner.actions, np.ones(len(seen)))
small_product = mine.fisher_vector_product(policy, theta, states, 0.0)
dense_v, difference = F @ theta, small_product(theta) - F @ theta
print(f"largest entry of F v {np.max(np.abs(dense_v)):.3g}, largest difference {np.max(np.abs(difference)):.1e}")


def show_cost():
    """Answer the prediction, and compare with the price of the whole matrix."""
    compare(f"one product with {P:,} parameters", guess_cost, one_product / one_gradient, "gradients")
    small = milliseconds(small_product, theta)
    dense = milliseconds(lambda: [small_product(e) for e in np.eye(len(theta))], repeats=1)
    print(f"{len(theta)} parameters: F v {small:.1f} ms, all of F, column by column, {dense:.0f} ms")


reveal(guess_cost, show_cost)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A product costs about as much as a gradient, whatever the size of the network: a pass forwards and one backwards. The matrix
# costs $P$ products, and $P^2$ numbers of memory: the first question of lecture 03.
#
# </details>
#
# ## A tenth of the states
#
# $F$ is a mean over states, and a mean can be estimated from fewer. The TRPO paper takes a tenth of the batch for $F$, and
# ten products then cost about as much as one; the gradient, which is noisier, keeps all. *Which* tenth? The batch is in
# order of time: its first rows are the beginning of the first episode. The package has `every_kth(rows, fraction)`, which
# takes evenly spaced rows, at least one. Against the first rows, on a few batches:

# %%
fractions = (0.25, 0.1, 0.05)
errors = np.zeros((budget(4, 2), len(fractions), 2))  # batch, fraction, way of choosing
for seed, table in enumerate(errors):
    batch = play("HalfCheetah-v5", steps=budget(4000, 1000), seed=seed)
    rows, v = batch.episodes.observations, np.random.default_rng(seed).standard_normal(P)
    whole = mine.fisher_vector_product(batch.policy, batch.theta, rows, 0.0)(v)
    for k, fraction in enumerate(fractions):
        for way, part in enumerate((every_kth(rows, fraction), rows[: int(fraction * len(rows))])):
            estimate = mine.fisher_vector_product(batch.policy, batch.theta, part, 0.0)(v)
            table[k, way] = 100 * np.linalg.norm(estimate - whole) / np.linalg.norm(whole)
for fraction, (spread, first) in zip(fractions, errors.mean(axis=0)):
    print(
        f"{100 * fraction:2.0f} % of the states: F v is off by {spread:.0f} % (spread), {first:.0f} % (the first ones)"
    )

# %% [markdown]
# Evenly spread rows see all four episodes of 1,000 steps; the first 25 % are one whole episode, the first 10 % and 5 % the
# beginning of it. The error that remains falls as the batch grows, and hurts less than one in $g$ would: on eight batches of
# Reacher (2,000 steps, the small policy) a tenth of the states for $F$ keeps 93 to 99 % of the gain at an equal KL, a tenth
# for $g$ 6 to 72 %.
#
# ## Bug hunt
#
# Here is another road to the same product: the Hessian of the mean KL times $v$, by autograd's `make_hvp`, which
# differentiates the gradient. (A right one is slower than ours: it does not know that a term vanishes.) The TRPO exercise
# of the Berkeley Deep RL Bootcamp (2017, lab 4) hands out this mistake. What is the symptom, and which line is it?


# %%
def suspect(policy: Policy, theta: Array, observations: Array, damping: float) -> Callable[[Array], Array]:
    before = policy.distribution(theta, observations)

    def distance(candidate):
        return np.mean(policy.kl(before, policy.distribution(candidate, observations)))

    hessian_times, _ = make_hvp(distance)(theta)

    def times(vector):
        return hessian_times(vector) + damping * theta

    return times


_ = hunt("fisher_vector_product", suspect)

# %% [markdown] solution="only"
# **The bug**: damping multiplies `theta`, the policy's parameters, where it should multiply `vector`. With the lab's damping
# of $10^{-8}$ nobody can see it. But the map is no longer linear: doubling `vector` does not double the result, and
# conjugate gradient (lecture 03), which relies on that, does not solve the system given. It takes little: $\theta$
# is far longer than $g$ (for a fresh Reacher policy of 180 parameters 5.7 against 0.05 to 0.12, three batches of 2,000 steps), and with a
# damping of 0.001 ten iterations end 56 to 64 degrees from where the right product leads them.

# %% [markdown]
# ## What you have built so far
#
# A distance between policies in nats, and the reason why it can be differentiated twice where it is zero. The second
# derivative, the Fisher matrix, turns "at most $\delta$ nats" into an ellipse, and the best step inside it is along
# $x = F^{-1} g$, whatever the parameters are called. And products $F v$ without ever writing $F$ down.
#
# ## Quiz
#
# **1.** Your KL and its gradient come out as zeros at $\theta_\text{old}$. A bug?
#
# <details><summary>Answer</summary>
#
# No: there the KL has its minimum, 0, and slope 0. All the information is in the second derivative. It *is* a bug when that
# is 0, too: then the old policy moved along with the new one.
#
# </details>
#
# **2.** You double $g$. What happens to the step that the trust region allows?
#
# <details><summary>Answer</summary>
#
# Nothing: the direction $F^{-1} g$ stays, and the length is set by the rim of the ellipse. A plain gradient step would
# double, which is why it needs a tuned step size.
#
# </details>
#
# **3.** $F$ was computed from states and the policy alone. Where did the rewards enter?
#
# <details><summary>Answer</summary>
#
# Nowhere: $F$ measures how far policies are apart, not how good they are. "Natural gradient is Newton's method on $J$" is
# tempting and wrong: Newton's matrix would be the second derivative of the return.
#
# </details>

# %% [markdown]
# ## Appendix: what was claimed in 2016
#
# *Frans's post of 2016*: the natural gradient limits the KL between new and old policy instead of the change of the
# parameters. Let us watch: forty policies, from narrow to wide, and for each one plain gradient step of length
# 0.1 and one natural step with max KL 0.01 (damping 0.001). The post has no figure of this; it is ours.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
rng = np.random.default_rng(5)
target = np.tanh(states @ rng.standard_normal((states.shape[1], 2)))  # some behaviour to be rewarded
steps = []
for log_std in np.linspace(np.log(0.05), np.log(1.0), budget(40, 12)):
    arm = GaussianPolicy(states.shape[1], 2, hidden=(4,), initial_log_std=log_std)
    start_at = arm.initialise(rng)
    now = arm.distribution(start_at, states)
    actions = arm.sample(now, arm.draw_noise(rng, len(states)))
    reward = -np.sum((actions - target) ** 2, axis=1)
    g = policy_gradient(arm, start_at, states, actions, (reward - reward.mean()) / reward.std())
    product = mine.fisher_vector_product(arm, start_at, states, 0.001)
    x = np.linalg.solve(np.array([product(e) for e in np.eye(len(g))]), g)
    for step in (0.1 * g / np.linalg.norm(g), x * np.sqrt(2 * 0.01 / (g @ x))):
        kl = mean_kl(arm, now, arm.distribution(start_at + step, states))
        steps.append((np.exp(log_std), kl, np.linalg.norm(step)))
plain_, natural_ = np.array(steps[0::2]), np.array(steps[1::2])
for name, found in (("plain", plain_), ("natural", natural_)):
    (_, low, shortest), (_, high, longest) = found.min(axis=0), found.max(axis=0)
    print(f"{name:8s} length {shortest:.3f} to {longest:.3f}, KL {low:.2g} to {high:.2g} nats")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4))
for axis, column, label in zip(axes, (2, 1), ("change of the parameters $|d|$", "KL (nats)")):
    axis.loglog(plain_[:, 0], plain_[:, column], "s", color=ORANGE, markersize=4, label="plain step, length 0.1")
    axis.loglog(natural_[:, 0], natural_[:, column], "o", color=BLUE, markersize=4, label="natural step, max KL 0.01")
    axis.set(xlabel="standard deviation of the policy", ylabel=label)
    axis.grid(alpha=0.3, which="both")
axes[1].legend(loc="upper right", fontsize=9)
plt.tight_layout()
plt.show()

# %% [markdown]
# - *Limits the KL instead of the change in parameters*: "limits" is too strong. The natural step *aims* at max KL, with a parabola for a map; the
#   printed range shows how far it falls short and overshoots.
#   Enforcing a limit takes a look at the true KL and a way back. Frans's code of 2016 takes the full step in any
#   case (lecture 04): strictly speaking it runs a natural gradient of fixed KL, not TRPO.
# - *Step size and max KL are the same kind of setting* (the author's logs have 0.001, 0.005 and 0.01 nats): yes, but on different scales,
#   as your third guess found out.
#
# **Next**: $x = F^{-1} g$ is what we want, and $F v$ is all we can afford. Lecture 03 gets the one from the other.
