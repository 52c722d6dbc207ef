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
# Lecture 01 found the policy gradient $g$. Among all steps of one length in the parameters $\theta$, a step along $g$ raises the
# expected return fastest. But what matters is how much the *policy* changes, and steps of equal length in the parameters can
# change the policy very differently. In this lecture we measure a step by the change of the policy. The best direction
# is then another one, the natural gradient, and TRPO follows it.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `gaussian_kl`, `categorical_kl` | `minitrpo/policies.py` | the KL divergence of equation 12 |
# | `fisher_vector_product` | `minitrpo/natural_gradient.py` | appendix C.1, the Fisher-vector product |
#
# *90 minutes in class, of which the three exercises take 28; the notebook runs in half a minute. You need derivatives in
# several variables, matrices as linear maps, and lecture 01. The [TRPO card](../docs/cards/trpo.md) has the whole algorithm on
# one page.*

# %%
import time
from collections.abc import Callable

import autograd.numpy as np
import ipywidgets
from autograd import grad, hessian, make_hvp
from autograd.differential_operators import make_ggnvp
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal
from minitrpo.course.drawn_film import drawn_film
from minitrpo.natural_gradient import mean_kl
from minitrpo.perceptron import activations, unflatten
from minitrpo.policies import Array, GaussianPolicy, Policy, log_softmax

# %% [markdown]
# ## The same step, two policies
#
# Here are two policies in one state. Each is a Gaussian, and one step moves its mean by the same 0.2.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
shift, stds = 0.2, (1.0, 0.1)
actions = np.linspace(-2, 2, 4001)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
for axis, std in zip(axes, stds):
    before, after = (np.exp(-0.5 * ((actions - m) / std) ** 2) / (std * np.sqrt(2 * np.pi)) for m in (0.0, shift))
    common = np.minimum(before, after)
    shared = common.sum() * (actions[1] - actions[0])
    axis.fill_between(actions, common, color=GREEN, alpha=0.4)
    for mean, density, color, style, name in ((0.0, before, GREY, "-", "old"), (shift, after, BLUE, "--", "new")):
        axis.plot(actions, density, style, color=color, linewidth=2)
        edge, side = (mean - 0.9 * std - 0.08, "right") if name == "old" else (mean + 0.9 * std + 0.08, "left")
        axis.text(edge, 0.3 / std, name, color=color, ha=side, fontsize=12)
    axis.set(xlabel="action $a$", ylim=(0, 4.4), title=f"standard deviation {std:g}: {shared:.0%} in common (green)")
axes[0].set_ylabel("probability density")
plt.show()

# %% [markdown]
# On the left the two policies have nearly everything in common. On the right the new policy seldom chooses the actions that
# the old one preferred. So the length of a step in the parameters does not measure the change of the policy. What does?
#
# ## A distance between policies
#
# Draw an action from the old policy. Compute its log probability under the old policy and under the new one, and subtract. The
# difference says how much less probable the new policy makes this action. Its average over all actions of the old policy is the **Kullback-Leibler divergence**, KL for short:
#
# $$\mathrm{KL}(\text{old} \,\|\, \text{new}) = \mathbb{E}_{a \sim \text{old}}\big[\log \pi_\text{old}(a|s) - \log \pi_\text{new}(a|s)\big]$$
#
# It is 0 when the two are the same, positive otherwise, and its unit is the **nat**. A typical limit for one update of TRPO is
# 0.01 nats. For a Gaussian with mean $\mu$ and standard deviation $\sigma$ the average has a formula:
#
# $$\mathrm{KL} = \log\frac{\sigma_\text{new}}{\sigma_\text{old}} + \frac{\sigma_\text{old}^2 + (\mu_\text{old} - \mu_\text{new})^2}{2\,\sigma_\text{new}^2} - \frac12$$
#
# The components of an action are drawn independently, so their KLs add up. Our policies store $\log\sigma$ (`log_std`) instead
# of $\sigma$, because $\log\sigma$ may be any real number and $\sigma$ has to be positive.
#
# **By hand.** Both policies have $\sigma = 0.5$, so both have `log_std` $= \log 0.5 \approx -0.69$. The mean moves from 0 to 0.2.
# The logarithm in the formula is 0. The fraction is $(0.25 + 0.04) / (2 \cdot 0.25) = 0.58$. So the KL is
# $0 + 0.58 - 0.5 = 0.08$ nats. If the action has a second component, whose mean and $\sigma$ do not change, its KL is 0 and the
# sum is still 0.08.
#
# ### Exercise 1: `gaussian_kl` (★, 7 minutes)

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
# For equal $\sigma$ the KL is $(\text{shift})^2 / (2 \sigma^2)$, so a tenth of $\sigma$ makes it a hundred times as large. The $\sigma$ of
# a policy usually shrinks as it learns. A step size in the parameters that is harmless at first is therefore too large later.
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
# The average is over the actions of the *old* policy. A wide old policy often chooses actions that are very improbable
# under a narrow new policy, and each of them makes the average large. We put the old policy first because the batch
# contains its actions.
#
# </details>
#
# A policy that chooses one of several buttons is called **categorical**. Its network gives **logits** $z$ (lecture 01), and
# $\pi(a|s) = e^{z_a} / \sum_{a'} e^{z_{a'}}$. `log_softmax` returns the logarithms of these probabilities and never overflows,
# even if the logits differ by hundreds.
#
# **By hand.** The old policy has the logits $(0, \log 3)$, so its probabilities are 1/4 and 3/4. The new policy has the logits
# $(0, 0)$, so both of its probabilities are 1/2. The KL is the sum over the actions of old probability times difference of the
# logarithms: $\frac14 (\log\frac14 - \log\frac12) + \frac34 (\log\frac34 - \log\frac12) \approx -0.173 + 0.304 = 0.131$ nats. One of the
# two terms is negative, but their sum is never negative.
#
# ### Exercise 2: `categorical_kl` (★★, 6 minutes)

# %% exercise="categorical_kl"

# %% [markdown]
# ## "But KL(π, π) is 0. How can we differentiate it?"
#
# This is the most frequent question about this lecture. The old policy is a *constant*: a table of numbers that was computed
# once. Only the new policy depends on the parameters that we vary. Here is a small policy for Reacher, an arm with two joints, and `mean_kl`, the KL averaged over the states that
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
axis.set_title("With a fixed old policy the KL is a bowl; if both policies move, it is 0", fontsize=12)
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
# ## The Fisher matrix of one Gaussian, by hand
#
# Take one state and one action, with the two parameters $\mu$ and $\log\sigma$. Move them by $m$ and $l$: the new mean is $\mu + m$, and
# the new standard deviation is $\sigma e^l$. Put this into the formula of exercise 1:
#
# $$\mathrm{KL}(m, l) = l + \frac{\sigma^2 + m^2}{2\, \sigma^2 e^{2l}} - \frac12 .$$
#
# - **The mean alone** ($l = 0$): $\mathrm{KL} = m^2 / (2\sigma^2)$. Its second derivative by $m$ is $1/\sigma^2$.
# - **$\log\sigma$ alone** ($m = 0$): $\mathrm{KL} = l + \frac12 e^{-2l} - \frac12$. Its first derivative is $1 - e^{-2l}$, which is 0 at $l = 0$. Its
#   second derivative is $2 e^{-2l}$, which is 2 at $l = 0$, for every $\sigma$.
# - **Both**: the derivative by $m$ is $m\, e^{-2l} / \sigma^2$. At $m = 0$ it is 0 for every $l$, so the mixed second derivative is 0.
#
# $$F = \begin{pmatrix} 1/\sigma^2 & 0 \\ 0 & 2 \end{pmatrix}, \qquad\text{for } \sigma = 0.5: \quad
# F = \begin{pmatrix} 4 & 0 \\ 0 & 2 \end{pmatrix} .$$
#
# With $\sigma = 0.5$ a shift of the mean by 0.1 costs $\frac12 \cdot 4 \cdot 0.01 = 0.02$ nats. A change of $\log\sigma$ by 0.1 costs about
# $\frac12 \cdot 2 \cdot 0.01 = 0.01$ nats (the exact KL is 0.0094).
#
# ### The same matrix from the scores of lecture 01
#
# The score $\psi = \nabla_\theta \log\pi_\theta(a|s)$ says in which direction the action $a$ becomes more probable. For one Gaussian, with
# $z = (a - \mu) / \sigma$, it has the entries $z / \sigma$ (for $\mu$) and $z^2 - 1$ (for $\log\sigma$). Now draw many actions, and average the
# *squares* and the product of the two entries. Before you run the cell: what will the three averages be for $\sigma = 0.5$?

# %%
std = 0.5
z = np.random.default_rng(0).standard_normal(budget(200_000, 20_000))  # (a - mean) / std of many actions
psi = np.stack([z / std, z**2 - 1])
print("mean score:             ", psi.mean(axis=1).round(2))
print("mean of squared scores: ", (psi**2).mean(axis=1).round(2), "  F has", [1 / std**2, 2.0])
print("mean of their product:  ", (psi[0] * psi[1]).mean().round(2))

# %% [markdown]
# The averages are the entries of $F$, up to the noise of a finite sample. This is no accident:
#
# $$F = \mathbb{E}_{a \sim \pi}\big[\psi\, \psi^\top\big] .$$
#
# The mean score is 0 (lecture 01), so $F$ is the **covariance matrix of the scores**. For any direction $d$ it says that
# $d^\top F d = \mathbb{E}[(\psi^\top d)^2]$: a step costs many nats if it changes the log probabilities of typical actions a lot.
#
# <details><summary>Why the two matrices are equal, in three lines</summary>
#
# 1. The old policy is constant, so the second derivative of the KL is $-\mathbb{E}[\nabla^2 \log\pi]$.
# 2. By the rules for quotients, $\nabla^2 \log\pi = \nabla (\nabla\pi / \pi) = \nabla^2\pi / \pi - \psi\psi^\top$.
# 3. $\mathbb{E}[\nabla^2\pi / \pi] = \int \nabla^2 \pi\, da = \nabla^2 \int \pi\, da = \nabla^2 1 = 0$. Only $\mathbb{E}[\psi\psi^\top]$ is left.
#
# </details>
#
# A policy with a network has one such matrix in every state. $F$ is their mean over the states of the batch.
#
# ## The trust region is an ellipse
#
# Now the question of the lecture. Among all steps $d$ that change the policy by at most $\delta$ nats, which one gains most?
# To first order the gain is $g^\top d$, so:
#
# $$\text{maximise } g^\top d \quad\text{subject to}\quad \tfrac12\, d^\top F\, d \le \delta .$$
#
# The allowed steps form an ellipse, the **trust region**. Steps of equal gain lie on straight lines at right angles to $g$. Push
# such a line as far as it goes: at the last point it touches the ellipse. There the gradient of the gain, $g$, and the
# gradient of the KL, $F d$, have the same direction. So $F d$ is a multiple of $g$, and $d$ is a multiple of
#
# $$x = F^{-1} g, \quad\text{the solution of}\quad F x = g .$$
#
# This $x$ is the **natural gradient** (Amari 1998).
#
# An example with two parameters: in state $s$ the mean action is weight $\times\, s\, +$ bias, with $\sigma = 0.3$, and the
# states are 0.5, 1, 1.5, 2, 2.5 and 3. In state $s$ the mean changes by $d_1 s + d_2$ if the weight changes by $d_1$ and the bias by
# $d_2$. So the KL is the average of $(d_1 s + d_2)^2 / (2 \sigma^2)$, and
#
# $$F = \frac{1}{\sigma^2} \begin{pmatrix} \overline{s^2} & \overline{s} \\ \overline{s} & 1 \end{pmatrix}
# = \frac{1}{0.09} \begin{pmatrix} 3.79 & 1.75 \\ 1.75 & 1 \end{pmatrix} \approx \begin{pmatrix} 42.1 & 19.4 \\ 19.4 & 11.1 \end{pmatrix} .$$
#
# Suppose that $g = (1, 1)$. Make a step along $g$ and a natural step, both so long that they end on the border of the ellipse,
# at 0.01 nats. How many times as much does the natural step gain?

# %% prediction="yes"
guess_gain = 1.5  # times

# %%
line = GaussianPolicy(observation_size=1, action_size=1, hidden=())
at = np.array([0.0, 0.0, np.log(0.3)])  # weight, bias, log_std
where = np.linspace(0.5, 3.0, 6)[:, None]
line_product = mine.fisher_vector_product(line, at, where, 0.0)
F2 = np.array([line_product(e)[:2] for e in np.eye(3)[:2]])  # weight and bias only
g2 = np.array([1.0, 1.0])


def to_the_border(direction, max_kl=0.01):
    """Return the direction scaled to a KL of max_kl: KL(beta x) = 1/2 beta^2 x'Fx."""
    return direction * np.sqrt(2 * max_kl / (direction @ F2 @ direction))


plain_step, natural_step = to_the_border(g2), to_the_border(np.linalg.solve(F2, g2))

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
    axis.set_title("The natural step goes farther for the same KL", fontsize=12)
    axis.set(xticks=[-0.1, -0.05, 0, 0.05, 0.1], yticks=[-0.1, -0.05, 0, 0.05, 0.1])
    plt.show()


reveal(guess_gain, show_ellipse)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Grey lines join steps of equal gain; the gain grows to the upper right. A step along $g$ raises both the weight and the bias. Both
# move the mean action in the same direction, which costs many nats. The natural step raises the bias and *lowers* the
# weight. Their effects on the action partly cancel, so the natural step can be longer than the plain one before it uses up the
# 0.01 nats.
#
# </details>
#
# The film turns a vector $v$ (blue) of length 1 once around. At the left you see the parameters: $F v$ (orange, drawn at a fiftieth of
# its length) runs around an ellipse and lags behind or hurries ahead of $v$. At the right you see the policy: the mean action in
# the six states after a step of $0.1\, v$. When do $v$ and $F v$ point in the same direction, and what is special about the
# KL then?


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_turn(parameters, policy_axis, degrees):
    """Draw v and F v at one angle, and what a step of 0.1 v does to the policy."""
    turned = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    image, cost = F2 @ turned / 50, 0.5 * 0.01 * turned @ F2 @ turned
    everything = np.linspace(0, 2 * np.pi, 200)
    round_ = np.array([np.cos(everything), np.sin(everything)])
    parameters.clear()
    parameters.plot(*round_, color=BLUE, linewidth=0.8)
    parameters.plot(*(F2 @ round_ / 50), color=ORANGE, linewidth=0.8)
    for end, color in ((turned, BLUE), (image, ORANGE)):
        parameters.annotate("", end, (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2})
    parameters.text(*(1.14 * turned), "v", color=BLUE, ha="center", va="center", fontsize=13)
    parameters.text(0.97, 0.04, "F v / 50", color=ORANGE, ha="right", fontsize=12, transform=parameters.transAxes)
    parameters.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    parameters.set(xlabel="weight", ylabel="bias", title=f"v at {degrees % 360:.0f} degrees")
    policy_axis.clear()
    policy_axis.fill_between([0.4, 3.1], -0.3, 0.3, color=GREY, alpha=0.2)
    policy_axis.axhline(0, color=GREY)
    policy_axis.plot(where[:, 0], 0.1 * (turned[0] * where[:, 0] + turned[1]), "s-", color=BLUE)
    policy_axis.text(0.45, -0.37, "grey: old mean ± one std", color=GREY, fontsize=10)
    policy_axis.set(xlim=(0.4, 3.1), ylim=(-0.4, 0.4), xlabel="state s", ylabel="mean action")
    policy_axis.set_title(f"the policy changes by {cost:.3f} nats")


def turning_film():
    """Return the film of one turn."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 4))
    figure.subplots_adjust(left=0.08, right=0.98, bottom=0.14, top=0.9, wspace=0.28)
    frames = budget(90, 4)
    return drawn_film(figure, lambda number: draw_turn(left, right, 360 * number / frames), frames)


turning_film()

# %% [markdown]
# Three moments of the film, for readers on paper:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
eigenvalues, vectors = np.linalg.eigh(F2)
most = np.degrees(np.arctan2(*vectors[::-1, 1])) % 180  # the direction of the larger eigenvalue
figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.6), layout="constrained")
figure.suptitle("Steps of the same length change the policy by very different amounts", fontsize=13)
for (above, below), degrees in zip(axes.T, (most, most + 45, most + 90)):
    draw_turn(above, below, degrees)
plt.show()
print(f"eigenvalues of F: {eigenvalues[1]:.1f} and {eigenvalues[0]:.2f}")

# %% [markdown]
# $v$ and $F v$ have the same direction in the first and in the third moment. These two directions are the **eigenvectors** of $F$. Along
# the first one weight and bias push the action to the same side, the eigenvalue is large, and the step costs most. Along the
# other one they push against each other, the eigenvalue is small, and the step costs least. The natural gradient multiplies by
# $F^{-1}$: it divides $g$ by the large eigenvalue along the first direction and by the small one along the other.
#
# The ellipse is an approximation for small steps. Below, the two parameters are $\mu$ and $\log\sigma$ of one Gaussian, and the axes
# grow with the limit. Drag the slider (it needs a running kernel).


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
figure, axes = plt.subplots(1, 3, figsize=(12, 4.1), layout="constrained")
figure.suptitle("The larger the limit, the less the true region looks like the ellipse", fontsize=13)
for axis, limit in zip(axes, (0.001, 0.05, 0.5)):
    region(axis, limit)
plt.show()

# %% [markdown]
# At 0.001 nats the region and the ellipse agree. At half a nat the ellipse includes steps to narrower policies (at the bottom)
# whose KL is above the limit. So a natural step to the border of the ellipse may break the limit. Lecture 04 computes the
# true KL after the step and shortens the step if necessary.
#
# ## $F v$ without $F$
#
# A policy for HalfCheetah has 5,708 parameters, so $F$ has 33 million entries. Lecture 03 solves $F x = g$ from products
# $F v$ alone. How do we multiply by a matrix that is never written down?
#
# The parameters $\theta$ determine the **distribution parameters** $y$ (in every state the mean and `log_std`), and $y$ determines the KL.
# The picture shows the way of a vector $v$.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_push_and_pull():
    """Draw parameters, distribution parameters and KL, with a vector pushed forward and pulled back."""
    _, axis = plt.subplots(figsize=(10, 4), layout="constrained")
    boxes = (
        (0.0, "parameters $\\theta$\nP numbers", PURPLE),
        (4.4, "distribution parameters $y$\nmean and log std\nin every state", GREEN),
        (8.8, "KL(old || new)\none number", GREY),
    )
    for x, text, color in boxes:
        axis.text(
            x,
            0,
            text,
            ha="center",
            va="center",
            fontsize=12,
            bbox={"boxstyle": "round,pad=0.6", "fc": "white", "ec": color},
        )
    for start, stop, name in ((1.0, 2.65, "network $f$"), (6.15, 7.75, "formula $h$")):
        axis.annotate("", (stop, 0), (start, 0), arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 2})
        axis.text(stop - 0.1, 0.12, name, ha="right", va="bottom", fontsize=11, color=GREY)
    forward, down, back = ({"arrowstyle": "-|>", "color": color, "lw": 2.5} for color in (BLUE, RED, ORANGE))
    axis.annotate("", (3.7, 1.35), (0.5, 1.35), arrowprops=forward)
    axis.annotate("", (6.1, -1.2), (6.3, 1.2), arrowprops=down | {"connectionstyle": "arc3,rad=-0.12"})
    axis.annotate("", (0.75, -1.35), (3.3, -1.35), arrowprops=back)
    axis.text(0, 1.35, "$v$", ha="center", va="center", fontsize=15, color=BLUE)
    axis.text(4.9, 1.35, "$J v$: how $y$ changes", ha="center", va="center", fontsize=12, color=BLUE)
    axis.text(2.1, 1.5, "1. push forward", ha="center", va="bottom", fontsize=11, color=BLUE)
    axis.text(6.7, 0.95, "2. multiply by $M$", ha="left", va="center", fontsize=11, color=RED)
    axis.text(4.9, -1.35, "$u = M J v$", ha="center", va="center", fontsize=12, color=RED)
    axis.text(0, -1.35, "$J^T u = F v$", ha="center", va="center", fontsize=12, color=ORANGE)
    axis.text(2.1, -1.52, "3. pull back", ha="center", va="top", fontsize=11, color=ORANGE)
    axis.set(xlim=(-1.2, 10), ylim=(-1.9, 2))
    axis.set_title("F v goes through the network twice: v forward, then u backward", fontsize=13)
    axis.axis("off")
    plt.show()


draw_push_and_pull()

# %% [markdown]
# $$F v = J^\top \big( M\, (J v) \big)$$
#
# $J$ is the **Jacobian** of the network: its entry in row $i$ and column $k$ is the derivative of $y_i$ with respect to $\theta_k$. $M$ is the Hessian
# of the KL with respect to $y$. You know it already: it is diagonal, with $1/\sigma^2$ for a mean and 2 for a `log_std`.
#
# 1. **Push forward**: $J v$ is the change of $y$ if $\theta$ changes by a small multiple of $v$ (divided by this multiple).
# 2. **Multiply by $M$**: $u = M J v$ is the change of the gradient of the KL with respect to $y$.
# 3. **Pull back**: $J^\top u$ is a backward pass through the network, as for a gradient.
#
# The chain rule has one more term, the gradient of $h$ times the second derivatives of the network. It vanishes, because the
# gradient of the KL is 0 at the old policy.
#
# **By hand.** The mean is weight $\times\, s\, +$ bias, there is one state $s = 2$, and $\sigma = 0.5$. The parameters are
# (weight, bias, `log_std`), and $y$ = (mean, `log_std`). So
#
# $$J = \begin{pmatrix} 2 & 1 & 0 \\ 0 & 0 & 1 \end{pmatrix}, \qquad M = \begin{pmatrix} 4 & 0 \\ 0 & 2 \end{pmatrix} .$$
#
# Let $v = (1, -1, 0)$. Push forward: $J v = (2 - 1, 0) = (1, 0)$. Multiply: $u = (4, 0)$. Pull back: $J^\top u = (8, 4, 0)$. The whole
# matrix was not needed. (Check it: $F = J^\top M J$ has the rows $(16, 8, 0)$, $(8, 4, 0)$ and $(0, 0, 2)$.)
#
# autograd has this product. If `f` maps parameters to distribution parameters, and `h` maps these to one number, then
# `make_ggnvp(f, h)(theta)` is the function $v \mapsto J^\top M J v$ at `theta`. It records `f` and `h` on tapes (lecture 00) once, and
# every product replays them. Here is the example again.


# %%
def f(parameters):
    """Return the distribution parameters (mean, log_std) in the state 2."""
    return np.array([2.0 * parameters[0] + parameters[1], parameters[2]])


example_theta = np.array([0.0, 0.0, np.log(0.5)])
fixed = f(example_theta)  # the old policy: computed once, outside of h


def h(y):
    """Return KL(old || new), one number."""
    return mine.gaussian_kl(*fixed.reshape(2, 1, 1), *y.reshape(2, 1, 1))[0]


print("make_ggnvp(f, h)(theta)(v):", make_ggnvp(f, h)(example_theta)(np.array([1.0, -1.0, 0.0])))

# %% [markdown]
# Your turn, with a policy and all states of a batch: return the function of $v$ that gives the product with the *mean* $F$ over
# the states, without writing $F$ down. `policy.distribution(theta, observations)` is the $f$ of the example, with one row for each state,
# and `policy.kl(old, new)` returns one KL for each state, so $h$ has to add them up.
#
# Also add **damping**: return $(F + \text{damping}\, I)\, v$. In the example with the damping 0.1 the result is
# $(8, 4, 0) + 0.1 \cdot (1, -1, 0) = (8.1, 3.9, 0)$. Some directions in $\theta$ hardly change the policy, and $F^{-1}$ would send us
# very far along them. Damping limits such a step (lecture 03).
#
# ### Exercise 3: `fisher_vector_product` (★★★, 15 minutes)

# %% exercise="fisher_vector_product"

# %%
small_product = mine.fisher_vector_product(policy, theta, states, 0.0)
dense_v, difference = F @ theta, small_product(theta) - F @ theta
print(f"largest entry of F v {np.max(np.abs(dense_v)):.3g}, largest difference {np.max(np.abs(difference)):.1e}")

# %% [markdown]
# The product agrees with the dense $F$ of the small policy.
#
# ## The same product by hand
#
# Now the three steps without autograd, for the network of Reacher. It has tanh units, and the derivative of $\tanh$ is 1 minus
# the square of its value. `layers` holds the weights $W$ and biases $b$ of every layer, and `inputs` holds the numbers that enter every
# layer (first the states, then the hidden units). The vector $v$ is cut into changes $dW$ and $db$ in the same way.

# %%
split = len(theta) - policy.action_size  # behind the network theta has only the log_std
layers = unflatten(theta[:split], policy.sizes)
*inputs, means = activations(layers, states)
precision = np.exp(-2 * theta[split:])  # 1 / sigma^2


def product_by_hand(v):
    """Return F v: J, then M, then J transposed."""
    moved = np.zeros_like(states)  # 1. J v: the states themselves do not change with theta
    for (W, _), (dW, db), x in zip(layers, unflatten(v[:split], policy.sizes), inputs):
        moved = (moved * (1 - x**2)) @ W + x @ dW + db
    u = precision * moved / len(states)  # 2. M J v, as a mean over the states
    parts = [2 * v[split:]]  # in log_std, M is 2 and J is 1
    for (W, _), x in zip(layers[::-1], inputs[::-1]):  # 3. J transposed: a backward pass
        parts = [(x.T @ u).ravel(), u.sum(axis=0), *parts]
        u = (u @ W.T) * (1 - x**2)
    return np.concatenate(parts)


def loss(parameters):
    """Return a mean of log probabilities, whose gradient costs what a policy gradient costs."""
    return np.mean(policy.log_prob(policy.distribution(parameters, states), played.actions))


def microseconds(function):
    """Return the shortest of several times that a call took."""
    times = []
    for _ in range(budget(60, 5)):
        start = time.perf_counter()
        function(theta)
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


apart = np.abs(product_by_hand(theta) - small_product(theta)).max()
print(f"largest difference between the two products: {apart:.1e}")

# %% [markdown]
# A gradient needs one pass forward and one backward. How many times as long as a gradient does one product $F v$ by autograd
# take?

# %% prediction="yes"
guess_price = 10.0  # times as long as a gradient by autograd


# %%
def show_price():
    """Answer the prediction, and print the times of a gradient and of both products."""
    gradient, traced, written = map(microseconds, (grad(loss), small_product, product_by_hand))
    compare("one product by autograd", guess_price, traced / gradient, "times as long as a gradient")
    print(f"{len(states)} states, {len(theta)} parameters, on this machine:")
    for name, took in (("gradient by autograd", gradient), ("F v by autograd", traced), ("F v by hand", written)):
        print(f"  {name:<21} {took:7.0f} microseconds")
    print(f"  all of F, by hand     {written * len(theta):7.0f} microseconds: one product for each parameter")


reveal(guess_price, show_price)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The product costs a small multiple of a gradient, whatever the number of parameters is. The product by hand is the cheapest, because it
# keeps no tape. A run of `train.py` uses a product by hand for this reason, and `--derivatives autograd` uses yours.
#
# </details>
#
# ## Bug hunt
#
# There is another way to the same product: the Hessian of the mean KL times $v$, by `make_hvp` of autograd. It is slower,
# because it also computes the term that vanishes. The TRPO exercise of the Berkeley Deep RL Bootcamp (2017, lab 4) contains
# the mistake of this function. What is its symptom, and which line is wrong?


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
# **The bug**: damping multiplies `theta`, the parameters of the policy, where it should multiply `vector`. With the damping of
# the lab, $10^{-8}$, the effect is invisible. With a usual damping the map is no longer linear: doubling `vector` does not
# double the result. Conjugate gradient (lecture 03) relies on linearity and then returns a wrong direction without an
# error.

# %% [markdown]
# ## Quiz
#
# **1.** Your KL and its gradient come out as zeros at $\theta_\text{old}$. Is this a bug?
#
# <details><summary>Answer</summary>
#
# No. The KL has its minimum at $\theta_\text{old}$, so its value and its gradient are 0 there. It is a bug if the second derivative is 0,
# too. In that case the old policy moved along with the new one.
#
# </details>
#
# **2.** You double $g$. What happens to the natural step that ends on the border of the trust region?
#
# <details><summary>Answer</summary>
#
# The step stays the same. The direction of $F^{-1} g$ does not change, and the border of the ellipse determines the length. A plain gradient
# step with a fixed step size would become twice as long.
#
# </details>
#
# **3.** Where do the rewards enter $F$?
#
# <details><summary>Answer</summary>
#
# The rewards do not enter $F$ at all. $F$ measures how far two policies are apart and says nothing about how good they are. So the natural
# gradient is not Newton's method, whose matrix is the second derivative of the return.
#
# </details>
#
# **4.** One policy has $\sigma = 0.1$ for its action, another has $\sigma = 1$. For which one is the entry of $F$ for the mean larger?
#
# <details><summary>Answer</summary>
#
# It is larger for $\sigma = 0.1$: the entry is $1/\sigma^2$, which is 100 for the first policy and 1 for the second. A narrow policy is
# changed more by the same shift.
#
# </details>
#
# ## Summary
#
# Learn these six points by heart.
#
# - The KL measures how far two policies are apart, in nats. It is an average over the actions of the old policy.
# - Near the old policy $\mathrm{KL} \approx \frac12 d^\top F d$: the Fisher matrix is the second derivative of the KL.
# - The Fisher matrix is also the covariance matrix of the scores, $F = \mathbb{E}[\psi\psi^\top]$.
# - For one Gaussian $F$ is diagonal: $1/\sigma^2$ for the mean and 2 for $\log\sigma$.
# - "At most $\delta$ nats" is an ellipse. The best step inside it has the direction of $x$ with $F x = g$, the natural gradient.
# - $F v = J^\top (M (J v))$: push $v$ forward, multiply by $M$, pull back. It costs a small multiple of a gradient, and $F$ is
#   never written down.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# 1. Maximise $-(\mu - 1)^2 - \sigma^2$ from $\mu = -1$, $\sigma = 1$ by many small steps, once with the parameters
#    $(\mu, \sigma)$, once with $(\mu, \log \sigma)$. The diagonals of $F$ are $(1, 2) / \sigma^2$ and $(1 / \sigma^2, 2)$. Plot the
#    paths in the plane of $\mu$ and $\sigma$, of the plain and of the natural gradient. Explain which of the paths depend on the choice of
#    the parameters.
# 2. Estimate $F$ of the Reacher policy above from samples: draw $n$ = 20, 200 and 2,000 actions in each of 20 states, average
#    $\psi \psi^\top$, and plot the relative error against $n$. Explain the slope, and why TRPO uses the Hessian of the KL instead.
#
# ## Read on
#
# - S. Amari, *Natural gradient works efficiently in learning*, Neural Computation 10, 1998: introduces the natural gradient and shows why
#   it does not depend on the choice of the parameters.
# - J. Martens, *New insights and perspectives on the natural gradient method*, Journal of Machine Learning Research 21, 2020: explains
#   when $F$ equals the Gauss-Newton matrix $J^\top M J$, and how $F$ differs from the Hessian of a loss.
# - J. Schulman et al., *Trust region policy optimization*, ICML 2015, appendix C: the product $J^\top M J v$ as TRPO uses it, with the
#   same letters.
#
# **Next**: lecture 03 computes $x = F^{-1} g$ from products $F v$ alone.
