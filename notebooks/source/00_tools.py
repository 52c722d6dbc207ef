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
# # 00 Tools
#
# **Which tools does this course use, and how can you check their results?**
#
# <!-- loop -->
#
# *A map of the course. Today you need only the two blue boxes, in which episodes are played and gradients are computed.*
#
# Every lecture uses four tools: this notebook, arrays of numpy, an environment in which a policy acts, and a library that
# computes derivatives. The later lectures assume that you can use all four. If you know them already, do the exercises and
# skip the text.
#
# | in this notebook | in the package | written about in |
# |---|---|---|
# | `degrees` | `minitrpo/course/tools.py` | school books |
# | `weighted_sum` | `minitrpo/course/tools.py` | numpy's user guide, chapter "Broadcasting" |
# | `play_episode` | `minitrpo/course/tools.py` | Towers et al. 2024, *Gymnasium* |
# | `loss_and_slope` | `minitrpo/course/tools.py` | Baydin et al. 2018, section 3 |
# | `finite_difference` | `minitrpo/course/tools.py` | Baydin et al. 2018, section 2 |
#
# *45 minutes in class: notebook 5, arrays 7, one episode 13, derivatives 20. The notebook runs in less than a minute.
# You need Python with numpy, and you need to know the derivative of a function of one variable.*

# %% [markdown]
# ## 1. The notebook
#
# A notebook is a list of **cells**. Some cells hold text, the others hold Python. Click on a cell and press Shift+Enter: the cell
# **runs**, its output appears below it, and the next cell is selected. The number in brackets at its left counts the cells that
# have run. A star in the brackets means that the cell is still running.
#
# All cells share one Python process, which is called the **kernel**. If a cell sets a variable, every cell that runs afterwards
# can use it. So the result depends on the order in which you *run* the cells, and not on their order on the page. Run the first of
# the next two cells once, and then run the second one three times.

# %%
apples = 3

# %%
apples = apples + 1
print("apples:", apples)

# %% [markdown]
# The second cell prints 4, then 5, then 6, because the kernel remembers the variable. If you no longer know which values it
# remembers, choose *Kernel > Restart Kernel and Run up to Selected Cell*. The kernel then forgets all variables and runs the cells
# above in the order of the page.
#
# The next cell imports the libraries of this lecture. Section 4 explains the line `import autograd.numpy as np`.

# %%
import os
from collections.abc import Callable
from typing import Any

import autograd.numpy as np  # numpy that autograd can differentiate
from autograd import grad

import gymnasium
import imageio.v3 as imageio
import numpy  # for section 4 only
from IPython.display import Video
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, compare, reveal
from minitrpo.policies import Array

os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")  # no screen needed

# %% [markdown]
# ### Exercise 1: `degrees` (★, 2 minutes)
#
# An exercise is a function without a body. You write the body and run the cell. Then you run the cell below it, which calls
# `check`. The check calls your function with many inputs, small ones first, and compares the results with those of the package.
# It has three answers: *not attempted yet*; *not right yet*, with the first input for which your function is wrong; and *right*.
#
# Try it with a small exercise. Environments measure angles in radians. Half a turn is $\pi$ radians or 180 degrees, so 0.2094 radians
# are 12.0 degrees.

# %% exercise="degrees"

# %% [markdown]
# If you do not know how to go on, ask for a **hint**. A hint with a higher number says more.

# %%
hint("degrees", 1)

# %% [markdown]
# The next cell checks a wrong function, which takes half a turn for 360 degrees. (`hunt` shows an input for which a function is
# wrong, and does not say which mistake it is. You need it for the bug hunt at the end.)

# %%
_ = hunt("degrees", lambda radians: radians * 360 / np.pi)

# %% [markdown]
# Later cells call `mine.degrees` instead of `degrees`. This is your function as soon as its check has passed, and the package's
# function before that. So you can leave out an exercise and still run the rest of the lecture.
#
# Before a measurement you are asked for a **prediction**. Its cell says, for example, `guess_numbers = None`. Type a number in
# place of `None`, run the cell, and run the next cell, which shows the measurement beside your guess. Without a guess it shows a
# button *Reveal*. Type a guess even if you are unsure: people remember a result better if they have predicted it.

# %% [markdown]
# ## 2. Arrays
#
# An array has a **shape**. Here are three rows with two numbers each, so the shape is (3, 2).

# %%
table = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
print("shape", table.shape)
print("mean over axis 0:", table.mean(axis=0), "with shape", table.mean(axis=0).shape)
print("mean over axis 1:", table.mean(axis=1), "with shape", table.mean(axis=1).shape)

# %% [markdown]
# The mean over axis 0 goes over the rows and leaves one number for each column. The mean over axis 1 goes over the columns and
# leaves one number for each row. So the axis that you name disappears from the shape.
#
# **Broadcasting** is the rule by which numpy combines two arrays of different shapes. Write the two shapes below each other so that
# their right ends align. Two lengths fit if they are equal, or if one of them is 1 or missing. Along such an axis numpy repeats the
# shorter array. Suppose we want to multiply the three rows of the table by 1, 0 and 2. The shapes (3, 2) and (3,) do not fit,
# because 2 and 3 stand below each other. A column of shape (3, 1) fits.

# %%
factors = np.array([1.0, 0.0, 2.0])
print("shape of factors[:, None]:", factors[:, None].shape)
print(factors[:, None] * table)

# %% [markdown]
# Now multiply an array of shape (3,) by an array of shape (3, 1). How many numbers does the product have?

# %% prediction="yes"
guess_numbers = 3  # numbers in the product of an array (3,) and an array (3, 1)


# %%
def show_product():
    """Print the product of a row and a column of three numbers."""
    product = np.array([1.0, 2.0, 3.0]) * np.array([[1.0], [10.0], [100.0]])
    print(product)
    compare("numbers in the product", guess_numbers, product.size)


reveal(guess_numbers, show_product)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The product has nine numbers. numpy repeats the first array three times downwards and the second one three times to the right. It
# reports no error, because the shapes fit. In a learning program this mistake multiplies the number of each step by the numbers of
# all other steps. The program then runs without an error and does not learn. So print the shapes whenever a result looks strange.
#
# </details>
#
# ### Exercise 2: `weighted_sum` (★★, 4 minutes)
#
# The gradients of the next lecture are weighted sums: one row of numbers for each step, and one weight for each step. With the table
# and the factors from above, the weighted sum is 1 · (1, 10) + 0 · (2, 20) + 2 · (3, 30) = (7, 70). Write it without a loop, because
# a loop over thousands of rows is many times slower than one call of numpy.

# %% exercise="weighted_sum"

# %% [markdown]
# ## 3. One episode
#
# An **environment** is a program that simulates a small world. A **policy** is a function that chooses an action for every
# observation. The environment has two functions for this:
#
# - `reset` puts the world into a first state and returns an **observation**, the numbers that the policy may see;
# - `step(action)` carries out an **action** and returns five things: the next observation, a **reward** (a number that says how good this
#   step was), two truth values, and a dictionary with extra information, which we do not need.
#
# Our example is CartPole: a cart moves on a rail and carries a pole on a hinge. The action 0 pushes the cart to the left, and 1
# pushes it to the right. The observation has four numbers: position and speed of the cart, angle and turning speed of the pole. Every
# step brings the reward 1. Let us push to the right until the pole falls.

# %%
env = gymnasium.make("CartPole-v1")
state, info = env.reset(seed=3)
print("position  speed  degrees  turning | action  reward  terminated  truncated")
for number in range(20):
    seen = f"{state[0]:8.2f} {state[1]:6.2f} {mine.degrees(state[2]):8.1f} {state[3]:8.2f}"
    state, gained, is_over, is_cut, info = env.step(1)
    if number < 2 or is_over:
        print(f"{seen} | {1:6} {gained:7} {is_over!s:>11} {is_cut!s:>10}")
    if is_over or is_cut:
        break
print(f"after {number + 1} steps the pole leans by {mine.degrees(state[2]):.1f} degrees")

# %% [markdown]
# The steps from a reset to the end are an **episode**. An episode can end in two ways:
#
# - **terminated**: something has happened in the world after which no reward can follow. The pole leans by more than 12 degrees, or the
#   cart leaves the rail.
# - **truncated**: nothing has happened in the world, but we stopped watching. CartPole is stopped after 500 steps, even if the pole
#   stands upright.
#
# A learner has to know in which way the episode ended. After a terminated episode the future is worth 0. After a truncated episode more
# rewards could have followed, and the learner has to estimate their sum (lecture 05a). Many programs merge the two truth values into one
# variable `done`. They teach the policy that 500 good steps end as badly as a fall.
#
# ### Exercise 3: `play_episode` (★★, 6 minutes)
#
# Play one episode with a policy. Return the rewards of all steps and both truth values. If the pole falls in the third step, the result
# is `(array([1., 1., 1.]), True, False)`.

# %% exercise="play_episode"

# %% [markdown]
# Here are three policies. `coin` ignores the observation and chooses at random; it keeps the pole up for about 20 steps. `lean` pushes the
# cart towards the side to which the pole leans. `catch` also looks at the turning speed of the pole. For how many steps does `lean` keep the
# pole up?

# %% prediction="yes"
guess_lean = 200  # steps that `lean` keeps the pole up on average; 500 is the most

# %%
coins = np.random.default_rng(0)


def coin(observation):
    """Return an action at random."""
    return int(coins.integers(2))


def lean(observation):
    """Push towards the side to which the pole leans."""
    return int(observation[2] > 0)


def catch(observation):
    """Push towards the side to which the pole leans or is about to lean."""
    return int(observation[2] + observation[3] > 0)


def show_policies():
    """Play 20 episodes with each policy, then three episodes of the best one with a later limit."""
    lengths = {}
    for policy in (coin, lean, catch):
        played = [mine.play_episode(env, policy, seed) for seed in range(20)]
        lengths[policy] = np.mean([len(gains) for gains, _, _ in played])
        ends = f"{sum(over for _, over, _ in played):2} terminated, {sum(cut for _, _, cut in played):2} truncated"
        print(f"{policy.__name__:>5}: {lengths[policy]:6.1f} steps on average, {ends}")
    compare("steps of lean", guess_lean, lengths[lean])
    patient = gymnasium.make("CartPole-v1", max_episode_steps=2000)
    for seed in (0, 1, 4):
        short, long = mine.play_episode(env, catch, seed), mine.play_episode(patient, catch, seed)
        print(f"catch, seed {seed}: {len(short[0])} steps with the limit 500, {len(long[0])} with the limit 2,000")


reveal(guess_lean, show_policies)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# `lean` lasts only twice as long as `coin`. It pushes until the pole is upright. By then the pole turns so fast that it falls to the
# other side. `catch` brakes in time, because it also looks at the turning speed. Nearly all of its episodes are truncated. The last two
# lines show the meaning of this word: with the same policy and the same first state, more rewards follow if we watch for longer. So the
# number 500 says when we stopped. It does not say how good the policy is. (With seed 0 the cart leaves the rail while the pole stands.)
#
# </details>
#
# The film shows three seconds of `coin` (above) and `catch` (below). The pole of `coin` falls, and the next episode begins. `play_episode`
# plays the film: `filmed` gives it a policy that takes a picture before each action.


# %%
def filmed(policy, frames=150):
    """Return so many pictures of a policy that acts, episode after episode, shape (frames, height, width, 3)."""
    drawing = gymnasium.make("CartPole-v1", render_mode="rgb_array", max_episode_steps=frames)
    pictures = []

    def photographed(observation):
        pictures.append(drawing.render()[130:330])
        return policy(observation)

    seed = 1
    while len(pictures) < frames:
        mine.play_episode(drawing, photographed, seed)
        seed += 1
    drawing.close()
    return np.array(pictures[:frames])


film = np.concatenate([filmed(coin), filmed(catch)], axis=1)  # one above the other
data = imageio.imwrite("<bytes>", film, extension=".mp4", fps=50, codec="libx264", macro_block_size=2)
Video(data, embed=True, mimetype="video/mp4", html_attributes="controls loop muted")

# %% [markdown]
# The next picture shows the angle of the pole in one episode of `coin` and in one of `catch`.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_angles():
    """Draw the angle of the pole against the step, for a coin and for `catch`."""
    _, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    for policy, color, style in ((coin, ORANGE, "o-"), (catch, BLUE, "-")):
        angles = []

        def noting(observation, policy=policy, angles=angles):
            angles.append(mine.degrees(observation[2]))
            return policy(observation)

        world = gymnasium.make("CartPole-v1", max_episode_steps=100)
        mine.play_episode(world, noting, 2)
        angles.append(mine.degrees(world.unwrapped.state[2]))  # of the last observation, which needs no action
        axis.plot(angles, style, color=color, markersize=4, label=policy.__name__)
        axis.text(len(angles) + 0.5, angles[-1], policy.__name__, color=color, va="center", fontsize=11)
    for limit in (-12, 12):
        axis.axhline(limit, color=GREY, linestyle="--")
    axis.text(
        100, 12.5, "beyond this angle the episode is terminated", color=GREY, ha="right", va="bottom", fontsize=10
    )
    axis.set(xlabel="step", ylabel="angle of the pole, degrees", xlim=(0, 108), ylim=(-17, 17))
    axis.set_title("A coin lets the pole fall, catch holds it near 0 degrees", fontsize=11)
    axis.grid(alpha=0.3)
    plt.show()


draw_angles()

# %% [markdown]
# ## 4. Derivatives
#
# A typical policy of this course is a neural network with 5,000 parameters. Each update needs the derivative of one number with
# respect to all of them. The library autograd computes these derivatives. First we compute a few by hand.
#
# ### The chain rule on three nodes
#
# A small model predicts $u = w x$. The right answer is $y$, so the error is $v = u - y$, and the **loss** is $\ell = v^2$. Let
# $w = 3$, $x = 2$ and $y = 4$. The **computational graph** has a node for every operation. The **forward pass** computes the values
# from left to right: $u = 3 \cdot 2 = 6$, then $v = 6 - 4 = 2$, then $\ell = 2^2 = 4$.
#
# The **backward pass** asks of every node: if this value grows a little, how fast does $\ell$ grow? We call the answer the *slope* of
# the node. The pass begins at $\ell$, whose slope is 1, and goes from right to left. By the **chain rule**, the slope of a node is the
# slope of its right neighbour, times the derivative of the operation between them.
#
# - The slope of $v$ is $d\ell/dv = 1 \cdot 2 v = 4$.
# - The slope of $u$ is $d\ell/du = d\ell/dv \cdot dv/du = 4 \cdot 1 = 4$.
# - The slope of $w$ is $d\ell/dw = d\ell/du \cdot du/dw = 4 \cdot x = 8$.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw_graph():
    """Draw the graph of three nodes, with values and slopes."""
    _, axis = plt.subplots(figsize=(10, 3.4), layout="constrained")
    nodes = [(0, "w", 3, 8), (2.4, "u = w x", 6, 4), (4.8, "v = u - y", 2, 4), (7.2, r"$\ell$ = v$^2$", 4, 1)]
    for x, name, value, slope in nodes:
        face, edge = ("#F3E6EE", PURPLE) if x == 0 else ("#E6F0F7", BLUE)
        axis.plot(x, 0, "o", markersize=66, markerfacecolor=face, markeredgecolor=edge)
        axis.text(x, 0.16, name, ha="center", va="center", fontsize=12)
        axis.text(x, -0.3, str(value), ha="center", va="center", fontsize=15, color=BLUE, weight="bold")
        axis.text(x, -1.2, f"slope {slope}", ha="center", va="center", fontsize=13, color=ORANGE, weight="bold")
    for x, name, value in ((2.4, "x", 2), (4.8, "y", 4)):
        axis.text(x, 1.6, f"{name} = {value}", ha="center", va="center", fontsize=12, color=GREY)
        axis.annotate("", (x, 0.75), (x, 1.42), arrowprops={"arrowstyle": "->", "color": GREY})
    for x, words in ((0, "times x = 2"), (2.4, "times 1"), (4.8, "times 2v = 4")):
        forward, backward = ({"arrowstyle": "-|>", "color": color, "lw": 2} for color in (BLUE, ORANGE))
        axis.annotate("", (x + 1.95, 0), (x + 0.45, 0), arrowprops=forward)
        axis.annotate("", (x + 0.6, -1.2), (x + 1.8, -1.2), arrowprops=backward)
        axis.text(x + 1.2, -1.55, words, ha="center", va="center", fontsize=10, color=ORANGE)
    axis.set(xlim=(-0.8, 8), ylim=(-1.8, 1.85))
    axis.set_title(
        "Forward (blue): values, from left to right. Backward (orange): slopes, from right to left", fontsize=12
    )
    axis.axis("off")
    plt.show()


draw_graph()

# %% [markdown]
# Is 8 right? For $w = 3.01$ the loss is $(6.02 - 4)^2 = 4.0804$. It has grown by 0.0804, about 8 times 0.01.
#
# Three facts are important.
#
# - The backward pass uses values of the forward pass, here $v$ and $x$, so these have to be kept.
# - One backward pass gives the slopes of *all* inputs: the slope of $x$ is $4 w = 12$, and the slope of $y$ is $-4$. A network with
#   5,000 parameters also needs only one backward pass.
# - If a value is used twice, there are two paths from it to the loss. Multiply the derivatives along each path, and **add up** the
#   paths. In $w \cdot w$, for example, each path has the slope $w$, and their sum $2 w$ is the derivative of $w^2$.
#
# ### Exercise 4: `loss_and_slope` (★★, 7 minutes)
#
# A neuron has $u = w x$ and $v = \tanh(u)$. Its loss is $\ell = (v - y)^2 + w^2 / 2$. The second term keeps the weight small, and it is a
# second path from $w$ to the loss. The derivative of $\tanh(u)$ is $1 - v^2$. For $w = 0$, $x = 2$ and $y = 1$ we get $u = 0$, $v = 0$
# and $\ell = 1$. The slope of $v$ is $2 (0 - 1) = -2$, the slope of $u$ is $-2 \cdot (1 - 0) = -2$, and the slope of $w$ is
# $-2 \cdot 2 + 0 = -4$.

# %% exercise="loss_and_slope"

# %% [markdown]
# ### The same by autograd
#
# If `f` is a function that returns one number, then `grad(f)` is a new function, and `grad(f)(theta)` is the gradient of `f` at `theta`: an
# array of the same shape as `theta`, with the derivative with respect to every entry. autograd calls `f` with an object that
# behaves like an array and records every operation on it. This record is called the **tape**. Then autograd goes through the tape
# backwards and applies the chain rule, as you did.


# %%
def neuron_loss(w):
    """Return the loss of the neuron for x = 2 and y = 1."""
    print("inside, w is", type(w).__name__)
    return (np.tanh(2.0 * w) - 1.0) ** 2 + 0.5 * w * w


print("by autograd:", grad(neuron_loss)(0.3))
print("by hand:    ", mine.loss_and_slope(0.3, 2.0, 1.0)[1])

# %% [markdown]
# ### Exercise 5: `finite_difference` (★★, 5 minutes)
#
# How do you check a gradient without a formula? Move one entry of $\theta$ up and down by a small $h$, and divide the change of $f$
# by $2 h$. For $f(\theta) = \theta^2$ at 3 with $h = 0.1$ this gives $(3.1^2 - 2.9^2) / 0.2 = (9.61 - 8.41) / 0.2 = 6$. The two points lie on
# both sides of $\theta$, so this is a *central* difference. With 5,000 parameters it calls $f$ 10,000 times. This is too slow for
# learning, but it is good enough for a check.

# %% exercise="finite_difference"

# %% [markdown]
# Now replace the next function by one of your own. It has to return one number and to have a derivative. Then compare the two
# gradients. If they agree in five digits or more, you can trust both.


# %%
def own(theta):
    """Return one number; replace this line by a function of your own."""
    return np.sum(np.tanh(theta) ** 2) + theta[0] * np.exp(theta[1])


point = np.array([0.5, -1.0, 2.0])
print("autograd:          ", grad(own)(point))
print("finite differences:", mine.finite_difference(own, point))

# %% [markdown]
# The default is $h = 10^{-5}$. Suppose we try $10^{-1}$, $10^{-2}$ and so on down to $10^{-13}$. For which $h$ is the error smallest?

# %% prediction="yes"
guess_power = -13  # the best h is 10 to the power of what, from -1 to -13?


# %%
def show_steps():
    """Draw the error of finite differences against the step h."""
    powers = np.arange(-13, 0)
    exact = grad(own)(point)
    errors = [np.abs(mine.finite_difference(own, point, 10.0**power) - exact).max() for power in powers]
    compare("power of ten of the best h", guess_power, int(powers[np.argmin(errors)]))
    _, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    axis.loglog(10.0**powers, errors, "o-", color=GREEN)
    axis.text(1.5e-13, 3e-7, "rounding", fontsize=11)
    axis.text(1e-1, 2e-8, "curvature", fontsize=11, ha="right")
    axis.set(xlabel="step h", ylabel="largest error")
    axis.set_title("A large step is inexact, and a tiny step loses its digits to rounding", fontsize=11)
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_power, show_steps)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# There are two errors. With a large $h$ the function bends between the two points, and this error is proportional to $h^2$. With a tiny $h$
# the two values of $f$ agree in nearly all of their 16 digits, so their difference has only a few correct digits. Near $10^{-5}$
# both errors are small.
#
# </details>
#
# ### Four pitfalls
#
# autograd differentiates the operations on its tape, and no others. The functions below are meant to compute the same number, the sum of
# $\theta_k \tanh \theta_k$. If you call them, they all return this number. How many of the seven tries give a *wrong gradient without an error*?

# %% prediction="yes"
guess_silent = 0  # tries with a wrong gradient and no error, 0 to 7

# %%
theta = np.array([1.0, -2.0])


def intended(theta):
    """Return the sum of theta tanh(theta), as it should be written."""
    return np.sum(theta * np.tanh(theta))


def numpy_functions(theta):
    """Pitfall 1: call functions of `numpy` instead of `autograd.numpy`."""
    return numpy.sum(theta * numpy.tanh(theta))


def numpy_array(theta):
    """Pitfall 1 again: make an array by `numpy`."""
    parts = numpy.array([theta[0], theta[1]])
    return numpy.sum(parts * numpy.tanh(parts))


def assigned(theta):
    """Pitfall 2: assign to the entries of an array."""
    parts = np.zeros(2)
    parts[0] = theta[0] * np.tanh(theta[0])
    parts[1] = theta[1] * np.tanh(theta[1])
    return np.sum(parts)


def changed_later(theta):
    """Pitfall 2 again: change an array in place after it was used."""
    scale = np.ones(2)
    total = np.sum(theta * np.tanh(theta) * scale)
    scale *= 10
    return total


saved = np.tanh(theta)


def from_outside(theta):
    """Pitfall 4: use a value that was computed from theta outside of the function."""
    return np.sum(theta * saved)


tries = {  # the function, and the argument of its gradient
    "1  numpy functions": (numpy_functions, theta),
    "1  numpy.array": (numpy_array, theta),
    "2  assigned entries": (assigned, theta),
    "2  changed later": (changed_later, theta),
    "3  a whole number": (intended, 1),
    "3  whole numbers": (intended, np.array([1, -2])),
    "4  saved outside": (from_outside, theta),
}


def show_pitfalls():
    """Print what autograd says to each try, beside the finite differences of the intended function."""
    silent = 0
    for name, (f, argument) in tries.items():
        exact = mine.finite_difference(intended, np.atleast_1d(argument).astype(float))
        try:
            found = grad(f)(argument)
        except (TypeError, ValueError) as error:
            said = f"{type(error).__name__}: {str(error)[:60]}"
        else:
            wrong = not np.allclose(found, exact)
            silent += wrong
            said = f"{np.round(found, 3)}, {'WRONG: it should be ' + str(np.round(exact, 3)) if wrong else 'right'}"
        print(f"{name:<20} {said}")
    compare("wrong without an error", guess_silent, silent)


reveal(guess_silent, show_pitfalls)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Two of the seven tries are wrong and raise no error. These two are the dangerous ones.
#
# 1. **Plain numpy inside.** This version of autograd can differentiate most functions of `numpy`. But `numpy.array` makes an array of
#    objects, and `numpy.tanh` cannot calculate with them. Therefore this course writes `import autograd.numpy as np` in every
#    lecture that differentiates.
# 2. **Assignment in place.** A plain array cannot hold the object that autograd passes in, so the assignment of entries fails. The other
#    try raises no error: the tape refers to the array `scale` and does not copy it, so the backward pass finds 10 in it instead of 1. Make a new
#    array instead of changing an old one.
# 3. **Whole numbers.** A derivative needs numbers that can change a little. For the whole number 1 autograd raises an error. For an
#    array of whole numbers some functions work and others raise an error. Write `1.0` instead of `1`.
# 4. **A value from outside.** `saved` depends on `theta`, but it was computed before the tape began. autograd takes it for a constant.
#    Sometimes you want this: lecture 04 divides by the probabilities of the old policy, which have to stay constant. Otherwise compute
#    the value inside. Finite differences of `from_outside` would also treat `saved` as a constant, so always compare with
#    finite differences of the *intended* function.
#
# </details>
#
# The next cell has the cures. Their gradients agree with the finite differences of the intended function.


# %%
def collected(theta):
    """Cure of 1 and 2: make a list, and let autograd's numpy make an array of it."""
    parts = [theta[k] * np.tanh(theta[k]) for k in (0, 1)]
    return np.sum(np.array(parts))


def renewed(theta):
    """Cure of 2: make a new array for the new scale."""
    scale = np.ones(2)
    total = np.sum(theta * np.tanh(theta) * scale)
    scale = 10 * scale
    return total


def inside(theta):
    """Cure of 4: compute every value that depends on theta inside."""
    hidden = np.tanh(theta)
    return np.sum(theta * hidden)


for cure in (collected, renewed, inside):
    apart = np.abs(grad(cure)(theta) - mine.finite_difference(intended, theta)).max()
    print(f"{cure.__name__:>9}: {grad(cure)(theta).round(3)}, the largest difference is {apart:.0e}")

# %% [markdown]
# ## Bug hunt
#
# A colleague has rewritten `play_episode`. Her function raises no error, but with the policy `catch` the pole falls after a few steps. Find
# the mistake, correct it, and run the cell again.


# %%
def suspect(env, policy, seed):
    observation = env.reset(seed=seed)[0]
    gains = []
    while True:
        result = env.step(policy(observation))
        gains.append(result[1])
        if result[2] or result[3]:
            return np.array(gains), result[2], result[3]


_ = hunt("play_episode", suspect)

# %% [markdown] solution="only"
# **The bug**: the policy sees the first observation in every step, because `observation` keeps its value in the loop. The last line of the
# loop should be `observation = result[0]`.

# %% [markdown]
# ## Quiz
#
# **1.** A policy keeps the pole up for 500 steps in all of 100 episodes. A friend concludes that it can balance the pole for 500 steps and
# not longer. What do you answer?
#
# <details><summary>Answer</summary>
#
# All these episodes were truncated, so we know only that the policy can balance the pole for *at least* 500 steps. If they had been
# terminated at step 500, the friend would be right. Tempting: "the rewards show it". The rewards are the same in both cases.
#
# </details>
#
# **2.** A function of 5,000 parameters takes one millisecond. How long do central differences take, and roughly how long does a
# forward and backward pass take?
#
# <details><summary>Answer</summary>
#
# Central differences call the function 10,000 times, which takes 10 seconds. A backward pass goes through the same operations once, so
# both passes together take a few milliseconds. Tempting: "5,000 slopes need 5,000 passes". One backward pass computes all of them.
#
# </details>
#
# **3.** `grad(f)(theta)` returns zeros and warns: *Output seems independent of input*. But `f` depends on `theta`. Where is the mistake?
#
# <details><summary>Answer</summary>
#
# Either `f` uses a value that was computed from `theta` outside of `f` (pitfall 4), or it contains an operation whose derivative is 0 nearly
# everywhere, such as rounding or a comparison. Tempting: "the gradient is 0, so `theta` is a maximum".
#
# </details>
#
# ## Summary
#
# Learn these seven points by heart.
#
# - The kernel remembers variables in the order in which cells have run. If in doubt, restart it.
# - `check("f", f)` compares your function with the package's function. Once it has passed, `mine.f` is your function.
# - A sum or mean over an axis removes this axis. Broadcasting aligns shapes at their right ends.
# - `reset` begins an episode. `step` returns the next observation, the reward, *terminated* (no reward can follow) and *truncated* (we
#   stopped watching).
# - Backward pass: multiply the derivatives along each path, and add up the paths.
# - `grad(f)(theta)` is the gradient of a function that returns one number. Finite differences check it.
# - Inside of `f` use `autograd.numpy`, floats and new arrays, and compute every value that depends on `theta` there.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# 1. Change `catch` so that all of its 20 episodes reach the limit of 2,000 steps. Plot the position of the cart against the step,
#    before and after your change. Explain which of the four numbers of the observation `catch` does not use.
# 2. Measure how long `grad(f)(theta)` and `mine.finite_difference(f, theta)` take for the sum of $\tanh(M \theta)$, with a matrix $M$ of $P$
#    rows and $P$ columns, for $P$ from 10 to 1,000. Plot both against $P$ with logarithmic axes. Explain why one line is steeper.
#
# ## Read on
#
# - A. G. Baydin, B. A. Pearlmutter, A. A. Radul & J. M. Siskind, *Automatic differentiation in machine learning: a survey*, Journal of Machine
#   Learning Research 18, 2018: explains forward and backward differentiation with graphs like ours.
# - A. Karpathy, *micrograd*, 2020 (github.com/karpathy/micrograd): a small autograd in about 100 lines.
# - M. Towers et al., *Gymnasium: a standard interface for reinforcement learning environments*, 2024: explains
#   why `step` returns two truth values instead of one.
#
# **Next**: in lecture 01 a policy learns from its rewards alone, and autograd computes the gradient.
