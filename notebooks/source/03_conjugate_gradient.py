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
# # 03 Conjugate gradient
#
# **How do you solve $F x = g$ without writing $F$ down?**
#
# <!-- loop -->
#
# Lecture 02 ended with the natural gradient: the direction $x$ with $F x = g$, where $g$ is the policy gradient and
# $F$ the Fisher matrix. It also gave us $F v$ for any vector $v$. This lecture computes the solution from about ten
# such products.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `energy` | `minitrpo/conjugate_gradient.py` | appendix C: minus the linear gain, plus the quadratic KL |
# | `conjugate_gradient` | `minitrpo/conjugate_gradient.py` | appendix C, "conjugate gradient algorithm" |
# | `product` | what `minitrpo/natural_gradient.py` returns | $y \mapsto A y$ |
#
# *75 minutes in class; the notebook runs in half a minute. You need matrices as linear maps and lecture 02.*

# %%
from collections.abc import Callable

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, play, reveal
from minitrpo.natural_gradient import fisher_vector_product
from minitrpo.policies import Array, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient

# %% [markdown]
# ## The size of the problem
#
# A policy for HalfCheetah reads 17 numbers, has two hidden layers of 64 units, and gives a mean for each of 6 joints;
# $\theta$ also holds a $\log \sigma$ for each joint. Count its parameters. How many megabytes does $F$ take, with 8 bytes a
# number? **Type a prediction** and run its cell; the next cell shows the answer.

# %% prediction="yes"
guess_megabytes = 50  # MB


# %%
def show_size():
    """Answer the prediction."""
    P = len(GaussianPolicy(observation_size=17, action_size=6).initialise(np.random.default_rng(0)))
    compare("F in memory", guess_megabytes, 8 * P * P / 1e6, "MB")
    print(f"P = {P:,} parameters; F has P x P = {P * P / 1e6:.1f} million entries")


reveal(guess_megabytes, show_size)

# %% [markdown]
# To write $F$ down we would need $P$ products, one with each unit vector, and to solve with it another $P^3 / 3$
# multiplications, for *every* update. We want to do it with ten products. From here on $M$ is any symmetric matrix with
# positive eigenvalues (such as $F$ plus damping), $g$ is any right-hand side, and all we may ask of $M$ is `product(v)`,
# which returns $M v$. (Textbooks write $A x = b$, and so do the docstrings: `b` is our $g$.)
#
# ## A landscape whose bottom is the solution
#
# Turn the equation into something to walk down. The **energy**
#
# $$\text{energy}(x) = \tfrac12\, x^\top M x - g^\top x$$
#
# has the gradient $M x - g$. Where the gradient is zero, $M x = g$. Since $M$'s eigenvalues are positive, this point is the
# only minimum. With $M = F$ you know both terms: $g^\top x$ is the gain of a step $x$ to first order, and
# $\tfrac12 x^\top F x$ is its KL in nats.
#
# ### Exercise 1: `energy`

# %% exercise="energy"

# %% [markdown]
# `mine.energy` is your function once its check has passed, and the package's until then.
#
# Here is a system of two equations. The direction of steepest descent is the **residual** $\rho = g - M x$, minus the gradient
# of the energy. Each step of steepest descent goes exactly to the lowest point on its line. How many steps make the residual a
# thousand times smaller?

# %% prediction="yes"
guess_descents = 10  # steps

# %%
M2, g2 = np.array([[1.0, 0.4], [0.4, 9.0]]), np.array([2.0, 3.0])


def steepest_descent(matrix, right, shrink=1e-3):
    """Return the points of steepest descent from 0 until the residual has shrunk by that factor."""
    x = np.zeros(2)
    points = [x]
    while np.linalg.norm(residual := right - matrix @ x) > shrink * np.linalg.norm(right):
        x = x + (residual @ residual) / (residual @ matrix @ residual) * residual  # the lowest point along it
        points.append(x)
    return np.array(points)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_paths(axis, matrix, right):
    """Draw contours of the energy, and two ways down: steepest descent, and conjugate gradient (the package's, for now)."""
    down = steepest_descent(matrix, right)
    steps = [mine.conjugate_gradient(lambda v: matrix @ v, right, k)[0] for k in (1, 2)]
    conjugate, solution = np.array([np.zeros(2), *steps]), np.linalg.solve(matrix, right)
    low, high = np.minimum(down.min(axis=0), 0), down.max(axis=0)
    room = 0.25 * (high - low).max()
    u, v = np.meshgrid(*(np.linspace(a - room, b + room, 120) for a, b in zip(low, high)))
    heights = [mine.energy(lambda w: matrix @ w, right, np.array(point)) for point in zip(u.ravel(), v.ravel())]
    axis.contour(u, v, np.reshape(heights, u.shape), levels=24, colors=GREY, linewidths=0.7)
    axis.plot(*down.T, "o-", color=ORANGE, markersize=4, label=f"steepest descent, steps: {len(down) - 1}")
    axis.plot(*conjugate.T, "s-", color=BLUE, linewidth=2, label="conjugate gradient, steps: 2 at most")
    axis.plot(*solution, "*", color=RED, markersize=16, label="solution of M x = g")
    axis.set(xlabel="$x_1$", ylabel="$x_2$")
    axis.legend(loc="upper left", fontsize=10)


def show_descents():
    """Answer the prediction, and draw both ways down."""
    compare("steps of steepest descent", guess_descents, len(steepest_descent(M2, g2)) - 1)
    _, axis = plt.subplots(figsize=(8, 4))
    draw_paths(axis, M2, g2)
    plt.show()


reveal(guess_descents, show_descents)

# %% [markdown]
# Each orange step is at right angles to the step before, and undoes part of it. How much it undoes depends on the shape of the
# valley. Drag the ratio of the two eigenvalues (the slider needs a running kernel).


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_valley(ratio=1.0):
    """Redraw the two ways down in a valley whose eigenvalues are 1 and `ratio`."""
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    matrix = (turn * [1.0, ratio]) @ turn.T
    _, axis = plt.subplots(figsize=(7, 3.8))
    draw_paths(axis, matrix, turn @ np.array([2.0, -2.0]))  # the first residual: as much along either axis
    axis.set_aspect("equal")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    plt.show()


_ = ipywidgets.interact(
    show_valley,
    ratio=ipywidgets.FloatSlider(
        min=1, max=30, step=1, value=1, description="eigenvalues 1 :", style={"description_width": "initial"}
    ),
)

# %% [markdown]
# The blue path needs at most two steps in any valley, one for each dimension.
#
# ## Directions that do not undo each other
#
# Two directions $d, d'$ are **conjugate** when $d^\top M d' = 0$. Minimise along $d$, then along a conjugate $d'$, and you
# are still at the minimum along $d$: nothing is undone. So $n$ conjugate directions solve a system of $n$ equations. The method
# makes these directions from residuals:
#
# 1. start at $x = 0$, with $\rho = d = g$;
# 2. stop when $\rho$ is small enough;
# 3. go to the lowest point along $d$: with the step length $\dfrac{\rho^\top \rho}{d^\top M d}$,
#    move $x$ by step length $\times\, d$, and $\rho$ by minus step length $\times\, M d$;
# 4. the next direction is the new residual plus as much of the old direction as makes the two conjugate:
#    $d \leftarrow \rho_\text{new} + \dfrac{\rho_\text{new}^\top \rho_\text{new}}{\rho_\text{old}^\top \rho_\text{old}}\, d$.
#
# There is one product per step: compute $M d$ once and use it twice. These two short formulas make *all* directions
# conjugate, not only neighbours (Hestenes and Stiefel 1952).
#
# Also return the residual. Since $M x = g - \rho$, the number $x^\top M x = x^\top (g - \rho)$ then costs no further product, and
# lecture 04 needs it. And stop at a direction whose curvature $d^\top M d$ is not positive: rounding can produce one, and
# division by it would put `NaN` into a policy.
#
# ### Exercise 2: `conjugate_gradient`

# %% exercise="conjugate_gradient"

# %% [markdown]
# ## How many steps are enough?
#
# In exact arithmetic $P$ steps are enough. In practice the eigenvalues decide. Here are four systems of 200 equations. How many
# steps bring the residual of the system with only **three different eigenvalues** below a millionth?

# %% prediction="yes"
guess_three = 20  # steps

# %%
n, rng = 200, np.random.default_rng(2)
spectra = {
    "condition number 10": np.linspace(1, 10, n),
    "condition number 1,000": np.geomspace(1, 1000, n),
    "condition number 100,000": np.geomspace(1, 1e5, n),
    "three different eigenvalues": np.repeat([1.0, 100.0, 1e5], [80, 60, 60]),
}
q, _ = np.linalg.qr(rng.standard_normal((n, n)))
right = rng.standard_normal(n)


def residual_norms(matrix, right, most):
    """Return |g - M x_k| / |g| for k = 0 ... most."""
    residuals = [mine.conjugate_gradient(lambda v: matrix @ v, right, k, 0.0)[1] for k in range(1, most + 1)]
    return np.array([1.0, *(np.linalg.norm(r) / np.linalg.norm(right) for r in residuals)])


curves = {name: residual_norms((q * eigenvalues) @ q.T, right, 60) for name, eigenvalues in spectra.items()}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_spectra():
    """Answer the prediction, and draw the residuals of the four systems."""
    three = int(np.argmax(curves["three different eigenvalues"] < 1e-6))
    compare("steps for three different eigenvalues", guess_three, three)
    _, axis = plt.subplots(figsize=(8.5, 4))
    places = ((28, 1e-7), (44, 2e-3), (42, 20.0), (4.2, 1e-9))  # of the names, next to their curves
    for (name, norms), color, style, place in zip(
        curves.items(), (GREEN, BLUE, RED, ORANGE), ("-", "--", "-.", "o-"), places
    ):
        axis.semilogy(np.maximum(norms, 1e-13), style, color=color, markersize=4)
        axis.text(*place, name, color=color, fontsize=11)
    axis.axvline(10, color=GREY, linewidth=1)
    axis.text(10.5, 3e-13, "TRPO stops here", color=GREY, fontsize=11)
    axis.set(xlabel="conjugate-gradient iterations (products)", ylabel="relative residual |g - M x| / |g|")
    axis.set(ylim=(1e-13, 1000), xlim=(0, 62))
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_three, show_spectra)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The size of the matrix does not matter, but the spread of its eigenvalues does, and above all how they are clustered.
# The residual after $k$ steps is a polynomial of degree $k$ in $M$, times $g$, with the value 1 at eigenvalue 0. With $k$
# different eigenvalues there is such a polynomial that is 0 at all of them, and conjugate gradient finds it. The residual may
# rise on the way; the *energy* falls at every step.
#
# </details>
#
# ## A real Fisher matrix
#
# Now the system that TRPO solves. We play eight batches of Reacher with a fresh, small policy (two hidden layers of 8 units, so
# that we can write $F$ down for comparison), and look at the eigenvalues.


# %%
def fisher_system(seed):
    """Return the dense Fisher matrix and the policy gradient of a batch of Reacher, and the batch."""
    played = play("Reacher-v5", steps=budget(2000, 500), seed=seed, hidden=(8, 8))
    rewards_to_go = mine.discounted_sums(played.episodes.rewards, 0.99, played.episodes.last)
    advantages = (rewards_to_go - rewards_to_go.mean()) / rewards_to_go.std()
    states = played.episodes.observations
    g = policy_gradient(played.policy, played.theta, states, played.actions, advantages)
    undamped = fisher_vector_product(played.policy, played.theta, states, damping=0.0)
    columns = np.array([undamped(e) for e in np.eye(len(g))])
    return (columns + columns.T) / 2, g, played


systems = [fisher_system(seed) for seed in range(budget(8, 2))]
F, g, _ = systems[0]
eigenvalues = np.linalg.eigvalsh(F)
print(f"{len(g)} parameters; largest eigenvalue {eigenvalues[-1]:.3g}, {np.sum(eigenvalues < 1e-6)} below 1e-6")
lengths = [np.linalg.norm(np.linalg.solve(F, g)) for F, g, _ in systems]
print(
    f"length of F^-1 g {min(lengths):,.0f} to {max(lengths):,.0f}, of theta {np.linalg.norm(systems[0][2].theta):.1f}"
)

# %% [markdown]
# Most directions hardly change the policy: their eigenvalues are nearly 0. Along them $x = F^{-1} g$ is enormous, and it is made
# of noise: $g$ has a sampling error of about $\sqrt{\text{eigenvalue} / N}$ from $N$ steps, and $F^{-1}$ divides it by the
# eigenvalue. **Damping** prevents this: solve $(F + \text{damping}\, I)\, x = g$, which lifts every eigenvalue to at
# least the damping. Frans's code of 2016 has a damping of 0.001, ours has 0.1, and both take ten iterations, as the TRPO paper
# does. How close do ten iterations come to the exact solution?


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def angle(x, y):
    """Return the angle between two vectors in degrees."""
    return np.degrees(np.arccos(np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1, 1)))


def angles(fisher, gradient, damping):
    """Return the angle to the exact solution after 1 to 25 iterations."""
    damped = fisher + damping * np.eye(len(gradient))
    exact = np.linalg.solve(damped, gradient)
    found = (mine.conjugate_gradient(lambda v: damped @ v, gradient, k, 0.0)[0] for k in range(1, 26))
    return np.array([angle(x, exact) for x in found])


dampings = (0.1, 0.001)
reached = {damping: np.array([angles(F, g, damping) for F, g, _ in systems]) for damping in dampings}
for damping, found in reached.items():
    print(f"damping {damping}: after 10 iterations {found[:, 9].min():.2g} to {found[:, 9].max():.2g} degrees")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, (left, right_) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
left.semilogy(np.maximum(eigenvalues[::-1], 1e-18), ".", color=BLUE)
for level, color, place in zip(dampings, (GREEN, RED), ((1.2, 1e-4), (12.0, 88.0))):
    left.axhline(level, color=color, linestyle="--")
    left.text(179, 1.4 * level, f"damping {level}", color=color, ha="right", va="bottom", fontsize=11)
    right_.semilogy(range(1, 26), np.maximum(reached[level], 1e-6).T, "-", color=color, alpha=0.6)
    right_.text(*place, f"damping {level}", color=color, va="bottom", fontsize=11)
left.set(xlabel="number of the eigenvalue, largest first", ylabel="eigenvalue of F", ylim=(1e-13, 30))
right_.axvline(10, color=GREY, linewidth=1)
right_.set(xlabel="iterations; one line for each batch", ylabel="angle to the solution (degrees)", ylim=(1e-6, 1000))
for axis in (left, right_):
    axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# With a damping of 0.001, ten iterations end far away from the solution, by the angles printed above. Scale both to the same KL (by
# $\tfrac12 x^\top F x$) and compare what they gain, $g^\top x$. What percentage of the exact solution's gain do ten
# iterations keep?

# %% prediction="yes"
guess_kept = 60  # per cent


# %%
def gains(fisher, gradient, damping):
    """Return what ten iterations and the plain gradient gain at an equal KL, in per cent of what the exact solution does."""
    damped = fisher + damping * np.eye(len(gradient))
    ten, _ = mine.conjugate_gradient(lambda v: damped @ v, gradient, 10, 0.0)
    found = [gradient @ x / np.sqrt(x @ fisher @ x) for x in (ten, gradient, np.linalg.solve(damped, gradient))]
    return 100 * np.array(found[:2]) / found[2]


def show_gains():
    """Answer the prediction, and print the ranges over the batches."""
    gained = {damping: np.array([gains(F, g, damping) for F, g, _ in systems]) for damping in dampings}
    compare("gain kept by ten iterations, damping 0.001, mean", guess_kept, gained[0.001][:, 0].mean(), "%")
    for damping, table in gained.items():
        ten, plain = (f"{each.min():.1f} to {each.max():.1f} %" for each in table.T)
        print(f"damping {damping}, {len(table)} batches: ten iterations {ten}, the plain gradient {plain}")


reveal(guess_kept, show_gains)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# An angle between parameters measures the wrong thing, as lecture 02 showed. Along the directions that ten iterations have not
# found yet, the policy hardly changes, and neither does the gain.
#
# </details>
#
# Damping has a price: it turns the direction back towards the plain gradient.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
grid = np.logspace(-4, 2, 13)
_, axis = plt.subplots(figsize=(8, 3.4))
for fisher, gradient, _ in systems:
    naturals = [mine.conjugate_gradient(lambda v: fisher @ v + d * v, gradient, 50, 1e-16)[0] for d in grid]
    axis.semilogx(grid, [angle(x, gradient) for x in naturals], "-", color=BLUE, alpha=0.6)
for level, color in zip(dampings, (GREEN, RED)):
    axis.axvline(level, color=color, linestyle="--")
    axis.text(1.1 * level, 3, f"{level}", color=color, fontsize=11)
axis.set(xlabel="damping; one line for each batch", ylabel="angle to the gradient (degrees)", ylim=(0, 90))
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# ## Bug hunt
#
# This solver runs, and its $x$ points uphill, so a policy would go on learning with it. One line is wrong. `hunt` tells you the
# symptom, as your own tests would. Find the line, correct it in the cell, and run it again.


# %%
def suspect(product: Callable[[Array], Array], b: Array, iterations: int = 10, tolerance: float = 1e-10):
    sol = np.zeros_like(b)
    r = b.copy()
    d = b.copy()
    rr = r @ r
    stop_at = tolerance * rr
    for k in range(iterations):
        if rr <= stop_at:
            break
        Ad = product(d)
        dAd = d @ Ad
        if not dAd > 0:
            break
        sol = sol + rr / dAd * d
        r = r - rr / dAd * Ad
        rr_new = r @ r
        d = r + rr / rr_new * d
        rr = rr_new
    return sol, r


_ = hunt("conjugate_gradient", suspect)

# %% [markdown] solution="only"
# **The bug**: the factor of the old direction is upside down, `rr / rr_new` for `rr_new / rr`. The first step is right, so a
# test with one iteration passes. After that the directions are no longer conjugate. On the eight systems above, with a damping
# of 0.1, the method ended 17 to 52 degrees from the solution when we ran it; with the right line it ended within 0.1.

# %% [markdown]
# ## Quiz
#
# **1.** A matrix of size 5,708 has the eigenvalues 1 and 2 only. How many products does conjugate gradient need?
#
# <details><summary>Answer</summary>
#
# Two: the number of different eigenvalues counts, not the size.
#
# </details>
#
# **2.** In iteration 4 the residual is larger than in iteration 3. Is your code wrong?
#
# <details><summary>Answer</summary>
#
# Not for that reason. The energy never rises; the length of the residual may.
#
# </details>
#
# **3.** With a damping of 10, ten iterations would be exact. Why not use it?
#
# <details><summary>Answer</summary>
#
# They are exact for another question: $x$ is then almost $g / 10$, the direction of the plain gradient.
#
# </details>
#
# ## Summary
#
# - Conjugate gradient solves $M x = g$ from products $M v$ alone, for symmetric $M$ with positive eigenvalues.
# - It needs few steps when the eigenvalues are clustered. Damping clusters the small ones.
# - For the Fisher matrix, ten products give a direction that gains nearly as much as the exact one.
# - Damping keeps noise out of $x$, and turns $x$ towards the plain gradient.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# **A.** Frans's code of 2016 takes at least one step, and stops after ten, or when $\rho^\top \rho < 10^{-10}$, whatever the length
# of $g$. Multiply $g$ of the first Reacher system (damping 0.001) by 1, $10^{-2}$, $10^{-4}$ and $10^{-6}$. Plot the number of
# iterations under this rule and under ours, $\rho^\top \rho \le 10^{-10}\, g^\top g$. Explain what becomes of the step.
#
# **B.** Build systems of 200 equations with $k = 1, \dots, 10$ different eigenvalues between 1 and 100, and plot the iterations
# until the relative residual is below $10^{-6}$ against $k$. Then multiply each of the 200 eigenvalues by a random factor between
# 0.9 and 1.1, and plot again. Explain both curves.
#
# **Next**: lecture 04 asks how far to go along $x$.
