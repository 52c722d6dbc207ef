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
# **How do you solve $F x = g$ when $F$ has 33 million entries and you would rather not write it down?**
#
# <!-- loop -->
#
# Lecture 02 ended with the natural gradient: the direction $x$ with $F x = g$, where $g$ is the policy gradient and
# $F$ the Fisher matrix. It also gave us a cheap way to compute $F v$ for any vector $v$. This lecture turns "cheap
# products" into "the solution", which takes about ten of them.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `energy` | `minitrpo/conjugate_gradient.py` | appendix C's linear gain and quadratic KL in one number, upside down |
# | `conjugate_gradient` | `minitrpo/conjugate_gradient.py` | appendix C, "conjugate gradient algorithm" |
# | `product` | what `minitrpo/natural_gradient.py` returns | $y \mapsto A y$ |
#
# *75 minutes in class with the two exercises; the notebook itself runs in under a minute. You need: matrices as linear
# maps, lecture 02.*

# %%
import time
from collections.abc import Callable

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, play, reveal, say_if_busy
from minitrpo.natural_gradient import fisher_vector_product
from minitrpo.policies import Array, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient

# %% [markdown]
# ## The size of the problem
#
# A policy for HalfCheetah reads 17 numbers, has two hidden layers of 64 and moves 6 joints. Count its parameters:

# %%
policy = GaussianPolicy(observation_size=17, action_size=6)
theta = policy.initialise(np.random.default_rng(0))
P = len(theta)
print(f"P = {P:,} parameters; F has P x P = {P * P / 1e6:.1f} million entries, {8 * P * P / 1e6:.0f} MB")

# %% [markdown]
# Writing $F$ down would take $P$ products, one with each unit vector; solving with it takes another
# $P^3 / 3$ multiplications. Both for *every* update. How much would the columns alone cost on your machine, for a small
# batch of 2,000 states, where one product takes some milliseconds? **Type a prediction** in seconds and run its cell; the
# next cell shows the answer.

# %% prediction="yes"
guess_seconds = 60  # seconds

# %%
observations = np.random.default_rng(1).standard_normal((2000, 17))
multiply_large = fisher_vector_product(policy, theta, observations, damping=0.1)


def show_columns():
    """Answer the prediction from the time of five products."""
    say_if_busy(beside="")
    multiply_large(theta)  # the first call warms up
    start = time.perf_counter()
    for _ in range(5):
        multiply_large(theta)
    seconds = (time.perf_counter() - start) / 5
    compare("all columns of F, for 2,000 states", guess_seconds, P * seconds, "s")


reveal(guess_seconds, show_columns)

# %% [markdown]
# An update of 2016 used ten times as many states, and learning takes hundreds of updates. So: no columns. From here on $M$ is
# any symmetric matrix with positive eigenvalues (like $F$ plus damping), $g$ any right-hand side, and all we may ask of $M$
# is `product(v)`, which returns $M v$. (Text books write $A x = b$, and so do the docstrings below: `b` is our $g$.)
#
# ## A landscape whose bottom is the solution
#
# Turn the equation into something to walk down. The **energy**
#
# $$\text{energy}(x) = \tfrac12\, x^\top M x - g^\top x$$
#
# has the gradient $M x - g$. Where the gradient is zero, $M x = g$. And since $M$'s eigenvalues are positive, that
# point is the one and only minimum. With $M = F$ both terms are old friends: $g^\top x$ is what a step $x$ gains to first
# order, and $\tfrac12 x^\top F x$ is its KL in nats. The lowest energy is the best bargain of gain less KL. (Lecture 04 keeps
# the direction of this $x$ and sets its length in another way.)
#
# ### Exercise 1: `energy`

# %% exercise="energy"

# %% [markdown]
# Stuck? `hint("energy", 1)`, then `hint("energy", 2)`. Whatever happens, the rest of the notebook runs: `mine.energy`
# is your function once its check has passed, and the package's until then.
#
# Here is a 2 x 2 system. The direction of steepest descent is the **residual** $\rho = g - M x$, minus the gradient of the
# energy. How many steps of steepest descent, each going exactly to the lowest point on its line, until the residual is a
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
    axis.legend(loc="upper left", fontsize=9)


def show_descents():
    """Answer the prediction, and draw both ways down."""
    compare("steps of steepest descent", guess_descents, len(steepest_descent(M2, g2)) - 1)
    _, axis = plt.subplots(figsize=(7, 3.8))
    draw_paths(axis, M2, g2)
    plt.show()


reveal(guess_descents, show_descents)

# %% [markdown]
# Look at the orange path: each step is at right angles to the one before, and so undoes part of it. How much depends on the
# shape of the valley. Drag the ratio of its two eigenvalues (the slider needs a running kernel); at ratio 1 the contours are
# circles, and the residual points straight at the bottom.


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
        min=1, max=30, value=1, description="eigenvalues 1 :", style={"description_width": "initial"}
    ),
)

# %% [markdown]
# The blue path takes two steps at most in any valley, one for each dimension.
#
# ## Directions that do not undo each other
#
# Two directions $d, d'$ are **conjugate** when $d^\top M d' = 0$. Minimise along $d$, then along a conjugate $d'$, and you
# are still at the minimum along $d$: nothing is undone. So after $n$ conjugate directions in $n$ dimensions you are
# done. The method makes them as it goes, from residuals:
#
# 1. start at $x = 0$, with $\rho = d = g$;
# 2. stop when $\rho$ is small enough;
# 3. go to the lowest point along $d$: with the step length $\dfrac{\rho^\top \rho}{d^\top M d}$,
#    move $x$ by step length $\times\, d$, and $\rho$ by minus step length $\times\, M d$;
# 4. the next direction is the new residual plus as much of the old direction as makes the two conjugate:
#    $d \leftarrow \rho_\text{new} + \dfrac{\rho_\text{new}^\top \rho_\text{new}}{\rho_\text{old}^\top \rho_\text{old}}\, d$.
#
# One product per step: $M d$ is used twice, and computed once. That the two short formulas make *all* directions
# conjugate, not just neighbours, is the small miracle of Hestenes and Stiefel (1952).
#
# Also return the residual: since $M x = g - \rho$, the number $x^\top M x = x^\top (g - \rho)$ comes free, and lecture 04 needs
# it. And refuse a direction whose curvature $d^\top M d$ is not positive: rounding can produce one, and dividing by it is
# how `NaN` gets into a policy.
#
# ### Exercise 2: `conjugate_gradient`

# %% exercise="conjugate_gradient"

# %% [markdown]
# ## How many steps are enough?
#
# In exact arithmetic: $P$. In practice the eigenvalues decide. Below, four systems of 200 equations. In how many steps does
# conjugate gradient bring the residual of the system with only **three different eigenvalues** below a millionth?

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
    _, axis = plt.subplots(figsize=(7, 3.7))
    for (name, norms), color, style in zip(curves.items(), (GREEN, BLUE, RED, ORANGE), ("-", "--", "-.", "o-")):
        axis.semilogy(np.maximum(norms, 1e-13), style, color=color, markersize=4, label=name)
    axis.axvline(10, color=GREY, linewidth=1)
    axis.text(10.5, 3e-12, "TRPO stops here", color=GREY)
    axis.set(xlabel="conjugate-gradient iterations (products)", ylabel="relative residual |g - M x| / |g|")
    axis.set_ylim(1e-13, 30)
    axis.legend(loc="lower right", fontsize=9)
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_three, show_spectra)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# It is not the size of the matrix that matters but the spread of its eigenvalues, and above all how they are clustered.
# Why: after $k$ steps, $x$ is the point of lowest energy among all combinations of $g, M g, \dots, M^{k-1} g$. Its residual
# is therefore a polynomial of degree $k$ in $M$, times $g$, and 1 at the eigenvalue 0. With $k$ different eigenvalues there
# is such a polynomial that is 0 at all of them, and the residual is 0. The residual may even go up on the way; it is the
# *energy* that falls at every step.
#
# </details>
#
# ## A real Fisher matrix
#
# Now the system TRPO solves. We play a few episodes of Reacher with a fresh, small policy (8-8 hidden units, so that the
# dense $F$ can be built for comparison), take the policy gradient $g$ with reward-to-go, and look at the eigenvalues.
# One batch might be an accident, so we take several.


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
# Most directions in parameter space hardly change the policy at all: their eigenvalues are nearly zero. Along them
# $x = F^{-1} g$ is enormous, on the strength of noise: along an eigenvector, $g$ has a sampling error of about
# $\sqrt{\text{eigenvalue} / N}$ from $N$ steps, and $F^{-1}$ divides it by the eigenvalue. That is what **damping** is for:
# solve $(F + \text{damping}\, I)\, x = g$, which lifts every eigenvalue to at least the damping.
#
# Ten iterations were chosen in the TRPO paper; Frans's code of 2016 also takes ten, with a damping of 0.001; ours has
# 0.1. With which of the two do ten iterations get closer to the exact answer? Type the angle, in degrees, that you expect
# between ten iterations and the exact solution for 0.001.

# %% prediction="yes"
guess_angle = 30  # degrees

# %%
dampings = (0.1, 0.001)


def angle(x, y):
    """Return the angle between two vectors in degrees."""
    return np.degrees(np.arccos(np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1, 1)))


def angles(fisher, gradient, damping):
    """Return the angle to the exact solution after 1 to 25 iterations."""
    damped = fisher + damping * np.eye(len(gradient))
    exact = np.linalg.solve(damped, gradient)
    found = (mine.conjugate_gradient(lambda v: damped @ v, gradient, k, 0.0)[0] for k in range(1, 26))
    return np.array([angle(x, exact) for x in found])


def gains(fisher, gradient, damping):
    """Return what ten iterations and the plain gradient gain at an equal KL, in per cent of what the exact solution does."""
    damped = fisher + damping * np.eye(len(gradient))
    ten, _ = mine.conjugate_gradient(lambda v: damped @ v, gradient, 10, 0.0)
    found = [gradient @ x / np.sqrt(x @ fisher @ x) for x in (ten, gradient, np.linalg.solve(damped, gradient))]
    return 100 * np.array(found[:2]) / found[2]


reached = {damping: np.array([angles(F, g, damping) for F, g, _ in systems]) for damping in dampings}
gained = {damping: np.array([gains(F, g, damping) for F, g, _ in systems]) for damping in dampings}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_angles():
    """Answer the prediction; draw the spectrum of F, and the angle over the iterations, a line for each batch."""
    after_ten = {damping: found[:, 9] for damping, found in reached.items()}
    compare("angle after 10 iterations, damping 0.001, mean", guess_angle, after_ten[0.001].mean(), "degrees")
    for damping, found in after_ten.items():
        print(f"damping {damping}: {found.min():.2g} to {found.max():.2g} degrees in {len(found)} batches", end="; ")
        ten, plain = (f"{each.min():.1f} to {each.max():.1f} %" for each in gained[damping].T)
        print(f"gain at an equal KL {ten} of the exact solution's, the plain gradient's {plain}")
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5))
    left.semilogy(np.maximum(eigenvalues[::-1], 1e-18), ".", color=BLUE)
    for damping, color in zip(dampings, (GREEN, RED)):
        left.axhline(damping, color=color, linestyle="--", label=f"damping {damping}")
        lines = right.semilogy(range(1, 26), np.maximum(reached[damping], 1e-6).T, "-", color=color, alpha=0.6)
        lines[0].set_label(f"damping {damping}")
    left.set(xlabel="rank of the eigenvalue", ylabel="eigenvalue of F", title="The spectrum of F", ylim=(1e-13, None))
    right.axvline(10, color=GREY, linewidth=1)
    right.set(xlabel="iterations", ylabel="angle to the exact solution (degrees)", title="How far ten iterations get")
    for axis in (left, right):
        axis.legend(fontsize=9)
        axis.grid(alpha=0.3)
    plt.tight_layout()
    plt.show()


reveal(guess_angle, show_angles)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# More damping clusters the small eigenvalues at the damping, and clusters are what conjugate gradient likes. But an angle
# between parameters is the ruler that lecture 02 threw away. Scale both steps to the same KL (by $\tfrac12 x^\top F x$) and
# compare what they gain, $g^\top x$: the printed lines say that with a damping of 0.001, too, ten iterations get nearly all.
# What they have not found yet are long stretches along which the policy hardly changes, and the gain hardly, either.
#
# </details>
#
# Damping has a price: it turns the direction back towards the plain gradient. With enough of it $x$ becomes $g$ divided by
# the damping.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
grid = np.logspace(-4, 2, 13)
_, axis = plt.subplots(figsize=(7, 3.2))
for number, (fisher, gradient, _) in enumerate(systems):
    naturals = [mine.conjugate_gradient(lambda v: fisher @ v + d * v, gradient, 50, 1e-16)[0] for d in grid]
    label = "one line for each batch" if number == 0 else None
    axis.semilogx(grid, [angle(x, gradient) for x in naturals], "-", color=BLUE, alpha=0.6, label=label)
for damping in dampings:
    axis.axvline(damping, color=GREY, linestyle=":")
axis.set(xlabel="damping (dotted: 0.001 and 0.1)", ylabel="angle to the gradient (degrees)", ylim=(0, 90))
axis.legend(fontsize=9)
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# ## Dense or products: the bill
#
# The same natural direction, two ways, for growing networks: build $F$ column by column and solve, or ten iterations.

# %%
say_if_busy(beside="")
bill = []
states = systems[0][2].episodes.observations
for width in budget((4, 8, 16, 24), (4, 8)):
    small = GaussianPolicy(10, 2, hidden=(width, width))
    parameters = small.initialise(np.random.default_rng(0))
    multiply = fisher_vector_product(small, parameters, states, damping=0.1)
    gradient = policy_gradient(small, parameters, states, systems[0][2].actions, states[:, 0])  # any advantages will do
    start = time.perf_counter()
    dense = np.linalg.solve(np.array([multiply(e) for e in np.eye(len(gradient))]), gradient)
    middle = time.perf_counter()
    iterative, _ = mine.conjugate_gradient(multiply, gradient, 10)
    bill.append((len(gradient), middle - start, time.perf_counter() - middle, angle(dense, iterative)))
sizes, dense_s, iterative_s, _ = np.array(bill).T
print(f"P = {sizes[-1]:.0f}: dense {dense_s[-1]:.2f} s, ten iterations {iterative_s[-1]:.4f} s")
print(f"largest angle between the two answers: {max(row[3] for row in bill):.2g} degrees")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(7, 3.6))
axis.loglog(sizes, dense_s, "s-", color=RED, label="F column by column, then solve")
axis.loglog(sizes, iterative_s, "o-", color=BLUE, label="conjugate gradient, 10 products")
axis.set(xlabel="parameters P", ylabel="seconds")
axis.legend(fontsize=9)
axis.grid(alpha=0.3, which="both")
plt.show()

# %% [markdown]
# ## Bug hunt
#
# This solver looks right, it runs, and its $x$ points uphill, so that a policy would go on learning with it. One line is
# wrong. `hunt` tells you the symptom, as your own tests would; find the line, mend it in the cell, and run it again.


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
# **The bug**: the factor of the old direction is upside down, `rr / rr_new` for `rr_new / rr`. The first step is right
# (no old direction yet), which is why a test with one iteration passes; from the second on, the old direction is
# weighted up as the residual shrinks, directions are no longer conjugate, and the method mostly gets no farther. On the
# eight systems above, with a damping of 0.1, it ends 17 to 52 degrees from the solution, in seven of them hardly nearer
# than the plain gradient (41 to 54), where the right line ends within 0.1.

# %% [markdown]
# ## What you have built so far
#
# You can solve $M x = g$ for any symmetric $M$ with positive eigenvalues, from products alone. For the Fisher matrix,
# ten products give the natural direction, nearly, if damping keeps the small eigenvalues together. So gradient (01),
# products (02) and solver (03) make a direction in parameter space that is best for the policy; how far to go along it
# is still open.
#
# ## Quiz
#
# **1.** A matrix of size 5,708 has eigenvalues 1 and 2 only. How many products does conjugate gradient need?
#
# <details><summary>Answer</summary>
#
# Two. "5,708, one for each dimension" is the worst case; what counts is the number of different eigenvalues.
#
# </details>
#
# **2.** In iteration 4 the residual is larger than in iteration 3. Is your code wrong?
#
# <details><summary>Answer</summary>
#
# Not for that reason. Each step minimises the energy, and the energy never rises; the length of the residual may. Stop on a
# rising residual and you stop too early.
#
# </details>
#
# **3.** Why not simply use a damping of 10? Ten iterations would then be exact.
#
# <details><summary>Answer</summary>
#
# Exact for another question: $x$ is then almost $g / 10$, the direction of the plain gradient, and all that lecture 02 won is
# lost. Damping trades fidelity to $F$ for an answer that can be trusted.
#
# </details>
#
# **4.** All rewards, and with them $g$, become a million times smaller. What should $x$ do, and how can a stopping rule
# spoil it?
#
# <details><summary>Answer</summary>
#
# $x$ should become a million times smaller and keep its direction. A rule such as "stop when $|\rho| < 10^{-5}$" stops at
# once, with the direction of the plain gradient or with nothing. Relative to $|g|$ the same rule is harmless.
#
# </details>

# %% [markdown]
# ## Appendix: what was claimed in 2016
#
# - *The TRPO paper* takes ten iterations for an approximate solution. On our Reacher batches it is exact for all purposes
#   with a damping of 0.1. With 0.001, the value in Frans's code, it is off by the angles you measured, and yet gains 94 to
#   99 % of what the exact one does for the same KL (eight batches). The parallel TRPO paper and the post of 2016 do not
#   mention damping; the code has to choose it.
# - *The parallel TRPO paper and post* (2016) say nothing about conjugate gradient and show no figure of it, so there is
#   none to reproduce here. Their code (kvfrans/parallel-trpo, `utils.py`) ends after ten iterations or when $\rho^\top\rho$
#   falls below an **absolute** $10^{-10}$, tested after each step. The first step is always taken; with a small gradient it
#   is the last one as well, and the direction is then that of the plain gradient. Their advantages are standardised, so a
#   gradient will rarely have been that small. Ours is relative to $|g|$, and your check insisted on it. How many steps the
#   absolute rule leaves, when our gradient is made smaller:

# %%
damped = F + 0.001 * np.eye(len(g))
for factor in (1.0, 1e-2, 1e-4, 1e-6):
    steps = 1
    while steps < 10 and np.sum(mine.conjugate_gradient(lambda v: damped @ v, factor * g, steps, 0.0)[1] ** 2) >= 1e-10:
        steps += 1
    print(f"|g| = {np.linalg.norm(factor * g):.1e}: {steps} steps")

# %% [markdown]
# **Next**: lecture 04 asks how far to go along $x$.
