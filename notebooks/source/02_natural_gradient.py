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
# **Which step gains most, if the policy may change only by a fixed amount?**
#
# <!-- loop -->
#
# The policy gradient $g$ of lecture 01 is the direction in which the expected return rises fastest, for a step of given
# length in the parameters $\theta$. But parameters do not act; the policy does. This lecture measures a step by the change of
# the policy, and the best direction changes.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `gaussian_kl`, `categorical_kl` | `minitrpo/policies.py` | the KL divergence of equation 12 |
# | `fisher_vector_product` | `minitrpo/natural_gradient.py` | appendix C.1, the Fisher-vector product |
#
# *90 minutes in class; the notebook runs in half a minute. You need derivatives in several variables and lecture 01.*

# %%
from collections.abc import Callable

import autograd.numpy as np
import ipywidgets
from autograd import grad, hessian, jacobian, make_hvp
from autograd.differential_operators import make_ggnvp
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, play, reveal
from minitrpo.natural_gradient import mean_kl
from minitrpo.policies import Array, GaussianPolicy, Policy, log_softmax

# %% [markdown]
# ## The same step, two policies
#
# Here are two policies in one state. Each is a Gaussian, and one step moves its mean by the same 0.2.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
shift, stds = 0.2, (1.0, 0.1)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
for axis, std in zip(axes, stds):
    actions = np.linspace(-2, 2, 801)
    for mean, color, style, name in ((0.0, GREY, "-", "old"), (shift, BLUE, "--", "new")):
        density = np.exp(-0.5 * ((actions - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
        axis.plot(actions, density, style, color=color, linewidth=2)
        edge, side = (mean - 0.9 * std - 0.05, "right") if name == "old" else (mean + 0.9 * std + 0.05, "left")
        axis.text(edge, 0.3 / std, name, color=color, ha=side, fontsize=12)
    axis.set(xlabel="action $a$", title=f"standard deviation {std:g}", ylim=(0, 0.45 / std))
axes[0].set_ylabel("probability density")
plt.show()

# %% [markdown]
# On the left hardly anything has changed. On the right the new policy avoids the actions that the old one preferred. So the
# length of a step in the parameters does not measure the change. What does?
#
# ## A distance between policies
#
# Draw actions from the old policy, and ask of each how much less likely the new policy makes it, in logarithms. The average is
# the **Kullback-Leibler divergence**, KL for short:
#
# $$\mathrm{KL}(\text{old} \,\|\, \text{new}) = \mathbb{E}_{a \sim \text{old}}\big[\log \pi_\text{old}(a|s) - \log \pi_\text{new}(a|s)\big]$$
#
# It is 0 when the two are the same, positive otherwise, and its unit is the **nat**. A typical limit for one update of TRPO is
# 0.01 nats. For a Gaussian with mean $\mu$ and standard deviation $\sigma$ the average has a formula:
#
# $$\mathrm{KL} = \log\frac{\sigma_\text{new}}{\sigma_\text{old}} + \frac{\sigma_\text{old}^2 + (\mu_\text{old} - \mu_\text{new})^2}{2\,\sigma_\text{new}^2} - \frac12$$
#
# The components of an action are drawn independently, so their KLs add up. Our policies store $\log\sigma$ (`log_std`).
#
# ### Exercise 1: `gaussian_kl`

# %% exercise="gaussian_kl"

# %% [markdown]
# Back to the picture. How many times larger is the KL on the right, with $\sigma = 0.1$, than on the left, with $\sigma = 1$?
# **Type a prediction** and run its cell; the next cell shows the answer.

# %% prediction="yes"
guess_farther = 10  # times


# %%
def kl_of_shift(std):
    """Return KL(old || new) of a Gaussian whose mean moves from 0 to `shift`."""
    mean, log_std = np.zeros((1, 1)), np.full((1, 1), np.log(std))
    return mine.gaussian_kl(mean, log_std, mean + shift, log_std)[0]


def show_shift():
    """Answer the prediction."""
    print(f"left {kl_of_shift(1.0):.2f} nats, right {kl_of_shift(0.1):.2f} nats")
    compare("KL on the right, divided by KL on the left", guess_farther, kl_of_shift(0.1) / kl_of_shift(1.0), "times")


reveal(guess_farther, show_shift)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# A policy gets narrower as it learns. A fixed step size, harmless at first, becomes too large later.
#
# </details>
#
# The KL is not symmetric. One step doubles $\sigma$ from 1 to 2, another halves it from 2 to 1. Which step has the larger KL?

# %% prediction="yes"
guess_order = "to the wider"  # "to the wider" or "to the narrower"


# %%
def kl_of_widths(old_std, new_std):
    """Return KL(old || new) of two Gaussians with the same mean."""
    return mine.gaussian_kl(*np.array([[[0.0]], [[np.log(old_std)]], [[0.0]], [[np.log(new_std)]]]))[0]


def show_order():
    """Answer the prediction."""
    wider, narrower = kl_of_widths(1.0, 2.0), kl_of_widths(2.0, 1.0)
    compare("the larger KL", guess_order, "to the narrower" if narrower > wider else "to the wider")
    print(f"from 1 to 2: {wider:.3f} nats; from 2 to 1: {narrower:.3f} nats")


reveal(guess_order, show_order)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The average is over the *old* policy's actions. A wide old policy often takes actions that a narrow new one finds very
# unlikely. We put the old policy first, because its actions are the ones that we have seen.
#
# </details>
#
# A policy that chooses among a few actions gives **logits** $z$ (lecture 01), and
# $\pi(a|s) = e^{z_a} / \sum_{a'} e^{z_{a'}}$. `log_softmax` returns the logarithms of these probabilities and never overflows,
# even if logits lie hundreds apart.
#
# ### Exercise 2: `categorical_kl`

# %% exercise="categorical_kl"

# %% [markdown]
# ## "But KL(π, π) is 0. How can we differentiate it?"
#
# Every class asks this. The answer: the old policy is a *constant*, a table of numbers computed once. Only the new one moves
# with $\theta$. Here is a small policy for Reacher, an arm with two joints, and `mean_kl`, the KL averaged over the states that
# it visited: first at $\theta$ itself, then along a random direction $d$.

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

figure, axis = plt.subplots(figsize=(8, 3.6))
axis.plot(betas, frozen, "o", color=BLUE, markersize=5)
axis.plot(betas, 0.5 * betas**2 * (d @ F @ d), color=ORANGE, linewidth=2)
axis.plot(betas, moving, "--", color=RED, linewidth=2)
top = max(frozen)
axis.text(0.0, 0.9 * top, "KL, old policy fixed", color=BLUE, fontsize=12, ha="center")
axis.text(0.0, 0.7 * top, "$\\frac{1}{2}\\, \\beta^2 d^T F d$", color=ORANGE, fontsize=15, ha="center")
axis.text(0.0, -0.11 * top, "KL when both policies move", color=RED, fontsize=12, ha="center")
axis.set(xlabel="step $\\beta$ along a random direction $d$", ylabel="mean KL (nats)", ylim=(-0.15 * top, 1.05 * top))
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The KL is never negative, so where it is 0 it has a minimum: its slope is 0, but its second derivative is not. The matrix of
# second derivatives (the **Hessian**) at $\theta_\text{new} = \theta_\text{old}$ is the **Fisher matrix** $F$. For a small step
# $d$
#
# $$\mathrm{KL}(\pi_\theta \,\|\, \pi_{\theta + d}) \approx \tfrac12\, d^\top F\, d .$$
#
# If *both* policies move, the KL is 0 everywhere, and so are its derivatives. This is a common bug: $F$ is then all zeros.
#
# ## The trust region is an ellipse
#
# Now the question of the lecture. Among all steps $d$ that change the policy by at most $\delta$ nats, which one gains most?
# To first order the gain is $g^\top d$, so:
#
# $$\text{maximise } g^\top d \quad\text{subject to}\quad \tfrac12\, d^\top F\, d \le \delta .$$
#
# The allowed steps form an ellipse, the **trust region**. Steps of equal gain lie on straight lines across $g$. Push the
# line as far as it goes: at the last point it touches the ellipse, so the ellipse's own gradient $F d$ points along $g$.
# Hence $d$ is a multiple of $x = F^{-1} g$, the **natural gradient** (Amari 1998).
#
# An example with two parameters: in state $s$ the mean action is weight $\times\, s\, +$ bias, with $\sigma = 0.3$, and the
# states are 0.5, 1, 1.5, 2, 2.5 and 3. Suppose that $g = (1, 1)$. Both the natural step and a step along $g$ go to the rim of
# the ellipse. How many times more does the natural step gain?

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
    _, axis = plt.subplots(figsize=(5.6, 5.2))
    weight, bias = np.meshgrid(np.linspace(-0.11, 0.11, 9), np.linspace(-0.11, 0.11, 9))
    axis.contour(weight, bias, weight + bias, levels=13, colors=GREY, linewidths=0.6, linestyles="-")
    axis.plot(*rim, color=GREEN, linewidth=2)
    axis.text(0.012, -0.085, "KL = 0.01 nats", color=GREEN, fontsize=12, ha="right")
    for step, color, name in ((plain_step, ORANGE, "step along $g$"), (natural_step, BLUE, "natural step")):
        axis.annotate("", step, (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2})
        axis.plot(*step, "o", color=color)
        axis.text(step[0] + 0.006, step[1] + 0.003, name, color=color, fontsize=12)
    axis.set(xlabel="change of the weight", ylabel="change of the bias", aspect="equal")
    axis.set(xticks=[-0.1, -0.05, 0, 0.05, 0.1], yticks=[-0.1, -0.05, 0, 0.05, 0.1])
    plt.show()


reveal(guess_gain, show_ellipse)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Grey lines join steps of equal gain, which grows to the upper right. A step along $g$ raises both weight and bias, so the
# mean action moves twice in the same direction, which costs many nats. The natural step raises the bias and *lowers* the
# weight. The two partly cancel in the actions, so the step can go farther.
#
# </details>
#
# The ellipse is exact for small steps only. Below, the two parameters are $\mu$ and $\log\sigma$, and the axes grow with the
# limit. Drag the slider (it needs a running kernel).


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def region(axis, max_kl, std=0.5):
    """Draw the trust region of N(0, std) in (mean, log_std), as it is and as the Fisher matrix sees it."""
    ends = 1.7 * np.sqrt(max_kl)  # the picture is as large as the region
    mean, log_std = np.meshgrid(np.linspace(-ends, ends, 121), np.linspace(-ends, ends, 121))
    flat = mean.reshape(-1, 1), log_std.reshape(-1, 1)
    start = np.zeros_like(flat[0]), np.full_like(flat[0], np.log(std))
    kl = mine.gaussian_kl(*start, flat[0], start[1] + flat[1]).reshape(mean.shape)
    axis.contourf(mean, log_std, kl, levels=[-1, max_kl], colors=[BLUE], alpha=0.25)
    axis.contour(mean, log_std, kl, levels=[max_kl], colors=BLUE)
    axis.plot(std * np.sqrt(2 * max_kl) * circle[0], np.sqrt(max_kl) * circle[1], "--", color=RED)
    axis.text(0.95 * ends, 0.82 * ends, "KL within the limit", color=BLUE, fontsize=11, ha="right")
    axis.text(0.95 * ends, -0.95 * ends, "ellipse", color=RED, fontsize=11, ha="right")
    axis.set(xlabel="change of the mean", ylabel="change of log std", title=f"limit {max_kl:.2g} nats")


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
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for axis, limit in zip(axes, (0.001, 0.05, 0.5)):
    region(axis, limit)
plt.show()

# %% [markdown]
# At 0.001 nats the two agree. At half a nat the ellipse includes steps to narrower policies (below) whose KL is above the
# limit. So the natural step *aims* at the limit, and the true KL must be checked: lecture 04.
#
# ## $F v$ without $F$
#
# A policy for HalfCheetah has 5,708 parameters, so $F$ has 33 million entries. Lecture 03 solves $F x = g$ from products
# $F v$ alone. How do we multiply by a matrix that is never written down? The parameters $\theta$ give the distribution
# parameters $y$ (mean and `log_std` in every state), and $y$ gives the KL:
#
# $$\theta \;\xrightarrow{\;f\;}\; y \;\xrightarrow{\;h\;}\; \mathrm{KL}, \qquad F v = Y^\top \big( H\, (Y v) \big)$$
#
# Here $Y$ holds the derivatives of $y$ by $\theta$ (the docstring's $J$), and $H$ the second derivatives of $h$, which are
# simple: $1/\sigma^2$ for a mean and 2 for a `log_std`. Read it from right to left:
#
# 1. push $v$ forwards through the network: how does $y$ change?
# 2. weigh this change by $H$: how many nats is it?
# 3. pull the result backwards through the network.
#
# The chain rule has one more term, the slope of $h$ times the second derivatives of the network. It vanishes, because the slope
# of the KL is 0 at the old policy.
#
# autograd's `make_ggnvp(f, h)(x)` records $f$ and $h$ once, on **tapes**, and returns the function $v \mapsto Y^\top H\, Y v$, which
# replays them. A small example shows that it agrees with the matrices:


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
# Your turn, with the policy and the KL: return the function of $v$ that gives the product with the *mean* $F$ over all
# states, without writing $F$ down. Also add **damping**: return $(F + \text{damping}\, I)\, v$. Some directions in $\theta$
# hardly change the policy, and $F^{-1}$ would send us very far along them. Damping limits such a step (lecture 03).
#
# ### Exercise 3: `fisher_vector_product`

# %% exercise="fisher_vector_product"

# %%
small_product = mine.fisher_vector_product(policy, theta, states, 0.0)
dense_v, difference = F @ theta, small_product(theta) - F @ theta
print(f"largest entry of F v {np.max(np.abs(dense_v)):.3g}, largest difference {np.max(np.abs(difference)):.1e}")

# %% [markdown]
# The product agrees with the dense $F$ of the small policy. It costs about four passes through the network, while a
# gradient costs about two or three, so it is a small multiple of the price of a gradient.
#
# ## Bug hunt
#
# There is another way to the same product: the Hessian of the mean KL times $v$, by autograd's `make_hvp`. It is slower,
# because it also computes the term that vanishes. The TRPO exercise of the Berkeley Deep RL Bootcamp (2017, lab 4) hands out
# this mistake. What is the symptom, and which line is it?


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
# of $10^{-8}$ the effect is invisible. But the map is no longer linear: doubling `vector` does not double the result, and
# conjugate gradient (lecture 03) relies on that. With a damping of 0.001, ten iterations ended 56 to 64 degrees from the right
# direction when we ran it (Reacher, three batches of 2,000 steps).

# %% [markdown]
# ## Quiz
#
# **1.** Your KL and its gradient come out as zeros at $\theta_\text{old}$. A bug?
#
# <details><summary>Answer</summary>
#
# No: there the KL has its minimum. It is a bug when the second derivative is 0, too: then the old policy moved along with the
# new one.
#
# </details>
#
# **2.** You double $g$. What happens to the step that the trust region allows?
#
# <details><summary>Answer</summary>
#
# Nothing: the direction $F^{-1} g$ stays, and the rim of the ellipse sets the length. A plain gradient step would double.
#
# </details>
#
# **3.** Where do the rewards enter $F$?
#
# <details><summary>Answer</summary>
#
# Nowhere: $F$ measures how far policies are apart, not how good they are. So the natural gradient is not Newton's method, whose
# matrix is the second derivative of the return.
#
# </details>
#
# ## Summary
#
# - The KL measures how far two policies are apart, in nats.
# - Near the old policy $\mathrm{KL} \approx \frac12 d^\top F d$: the Fisher matrix is its second derivative.
# - "At most $\delta$ nats" is an ellipse, and the best step inside it is along $x = F^{-1} g$.
# - $F v$ costs a small multiple of a gradient, and $F$ is never written down.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# **A.** Maximise $J = -(\mu - 1)^2 - \sigma^2$ from $\mu = -1$, $\sigma = 1$ by many small steps, once with the parameters
# $(\mu, \sigma)$, once with $(\mu, \log \sigma)$. The diagonals of $F$ are $(1, 2) / \sigma^2$ and $(1 / \sigma^2, 2)$. Plot the
# paths in $(\mu, \sigma)$ of the plain and of the natural gradient. Explain what depends on the names of the parameters.
#
# **B.** $F$ is also $\mathbb{E}[\psi \psi^\top]$, the covariance of lecture 01's scores. Draw $n$ = 20, 200 and 2,000 actions in
# 20 states of the Reacher policy above, average $\psi \psi^\top$, and plot its relative error against $n$. Explain the slope,
# and why TRPO uses the Hessian of the KL.
#
# **Next**: lecture 03 computes $x = F^{-1} g$ from products $F v$ alone.
