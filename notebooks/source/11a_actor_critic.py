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
# # 11a From online actor-critic to A3C
#
# **Why not learn at every step?**
#
# *Elective. It needs lectures 01, 05a and 10.*
#
# <!-- loop -->
#
# TRPO collects thousands of steps for one update. Why not learn from one step, and go on? You try it, see what goes
# wrong, and try three remedies: look further ahead, play in many simulators, let workers update without waiting.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `bootstrapped_returns`, `loss_gradient` | `minitrpo/algorithms/actor_critic.py` | Mnih et al. 2016, algorithm S3 (A3C) |
# | `descend` | `minitrpo/algorithms/asynchronous_algorithm.py` | Mnih et al. 2016: a shared optimiser (RMSProp; ours is Adam) |
#
# *90 minutes in class: corridor 27, loss 15, one step 12, A2C and A3C 14, staleness and ranks 14, bug hunt and quiz 8.
# The notebook runs in half a minute. You need: lectures 01, 05a and 10; for one guess, 08.*

# %%
import time

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.algorithms.actor_critic import OPTIMISER, ActorCritic, ActorCriticSettings
from minitrpo.algorithms.asynchronous_algorithm import Arrays
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PHASE_COLORS, RED, budget, compare, recorded, reveal
from minitrpo.course.seeds import actors_of, collapsed, difference_in_words, numbers_of, ratio_in_words, steps_to_goal
from minitrpo.course.statistics import ratio_interval
from minitrpo.experience.environments import describe
from minitrpo.experience.rollouts import concatenate
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, make_vector_env
from minitrpo.policy_gradient import LogProbability
from minitrpo.optimisers import Optimiser, adam, clipped_norm, initial_state
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import ParameterServer, Tally, staleness_of
from minitrpo.perceptron import Linearisation
from minitrpo.policies import Array
from minitrpo.advantages import discounted_sums

# %% [markdown]
# ## How far to look ahead
#
# Lecture 05a's corridor: places 1 to 9, a fair coin, leaving on the right pays 1 (no discount), and place $s$ is
# worth $s / 10$. Sixteen simulators of the corridor start in place 7. What is place 7 worth? A learner that does not
# wait for the end looks $n$ steps ahead, adds the rewards, and asks a critic for the value of the place reached.
#
# The mean of such returns has two errors. More simulators leave its **bias** as it is; its **spread** shrinks.
#
# **The critic knows nothing, and says 0.5 everywhere. With $n = 4$, what are the mean and the standard deviation of a
# return?** (Only three steps to the right lead out within four steps.)

# %% prediction="yes"
guess_mean, guess_spread = 0.6, 0.2  # of the 4-step returns; the truth is 0.7

# %%
LOOKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def returns_at_7(n, known):
    """Return the n-step return for each place reached, and the places' probabilities; known: V's part of the truth."""
    V = known * np.arange(11) / 10 + (1 - known) * 0.5
    V[[0, 10]] = 0, 1  # outside, the return is the reward
    move = (np.eye(11, k=1) + np.eye(11, k=-1)) / 2  # row s: the probabilities of the next place
    move[[0, 10]] = np.eye(11)[[0, 10]]  # a simulator that has left stays out
    return V, np.linalg.matrix_power(move, n)[7]


def moments(n, known):
    """Return mean and standard deviation of the n-step return."""
    V, chances = returns_at_7(n, known)
    return chances @ V, np.sqrt(chances @ (V - chances @ V) ** 2)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def errors(known, simulators):
    """Return the bias and the spread of a mean over some simulators, and both together, for every n."""
    mean, deviation = np.array([moments(steps, known) for steps in LOOKS]).T
    bias, spread = abs(mean - 0.7), deviation / np.sqrt(simulators)
    return bias, spread, np.hypot(bias, spread)


def steps_ahead(axis):
    """Label an axis with n."""
    axis.set(xscale="log", xticks=LOOKS, xticklabels=LOOKS, xlabel="n, steps ahead")
    axis.minorticks_off()
    axis.grid(alpha=0.3)


def look(n=16, known=0.5, simulators=16):
    """Draw the n-step returns, and the errors of their mean over some simulators for every n."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.7), layout="constrained")
    V, chances = returns_at_7(n, known)
    left.hist(V, np.linspace(-0.025, 1.025, 22), color=BLUE, weights=100 * chances)
    left.axvline(0.7, color=RED, linestyle="--", label="truth: 0.7")
    left.axvline(chances @ V, color="black", label=f"mean: {chances @ V:.4g}")
    left.set(xlabel=f"{n}-step return", ylabel="probability (%)", xlim=(-0.05, 1.05))
    left.legend(fontsize=10, loc="upper left")
    bias, spread, both = errors(known, simulators)
    right.plot(LOOKS, bias, "o-", color=ORANGE, label="bias")
    right.plot(LOOKS, spread, "s-", color=GREEN, label=f"spread of the mean of {simulators}")
    right.plot(LOOKS, both, "-", color="black", linewidth=2, label="both: root of the sum of squares")
    right.plot(n, both[LOOKS.index(n)], "o", color="black", markersize=10, label=f"n = {n}, as on the left")
    right.set(ylabel="error of the mean return", ylim=(0, max(0.3, 1.1 * both.max())))
    steps_ahead(right)
    right.legend(fontsize=10)
    plt.show()


def show_corridor():
    mean, deviation = moments(4, 0.0)
    compare("mean of the 4-step returns", guess_mean, f"{mean:.4f}")
    compare("their standard deviation", guess_spread, deviation)
    look(4, 0.0)


reveal((guess_mean, guess_spread), show_corridor)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Three steps to the right have probability 1/8 and return 1; all other ways return the critic's 0.5. So the mean is
# 9/16 = 0.5625 and the standard deviation 0.165. A learner that looks few steps ahead learns what the critic believes:
# that is bias. A learner that looks far ahead has the noise of many coins: from $n = 32$ on only noise is left.
#
# </details>
#
# Where is the black curve lowest if the critic knows nothing, half, or 0.9 of the truth (0.9 x truth + 0.1 x 0.5)? In
# Jupyter, drag the sliders; the answer is folded below them.

# %%
_ = ipywidgets.interact(
    look,
    n=ipywidgets.SelectionSlider(options=LOOKS, value=16, continuous_update=False),
    known=ipywidgets.FloatSlider(min=0, max=1, step=0.1, value=0.5, continuous_update=False),
    simulators=ipywidgets.SelectionSlider(options=(1, 4, 16, 64, 256), value=16, continuous_update=False),
)

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["hide-input", "hide-output"]
_, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
for known, style in ((0, "-"), (0.5, "--"), (0.9, ":")):
    both = errors(known, simulators=16)[2]
    axis.plot(LOOKS, both, style, color="black", linewidth=2, label=f"the critic knows {known:g} of the truth")
    axis.plot(LOOKS[both.argmin()], both.min(), "o", color="black", markersize=9)
axis.plot([], [], "o", color="black", markersize=9, label="lowest point")
axis.set(ylabel="error of the mean of 16", ylim=(0, 0.25))
steps_ahead(axis)
axis.legend(fontsize=10)
plt.show()

# %% [markdown]
# <details><summary>Answer</summary>
#
# With 16 simulators at 16, 8 and 1 steps.
#
# </details>
#
# This is the **$n$-step return**:
#
# $$R_t = r_t + \gamma r_{t+1} + \dots + \gamma^{n-1} r_{t+n-1} + \gamma^n V(s_{t+n}).$$
#
# Lecture 01's $R(\tau)$ was the sum of all rewards of an episode; $R_t$ ends with the critic's estimate (it
# *bootstraps*). In a fragment (an unbroken piece of an episode) of $n$ steps *every* step gets the return to the
# fragment's end. The first step looks $n$ steps ahead, the last one only one. Walk backwards,
# $R_t = r_t + \gamma R_{t+1}$, and start from $V$ after a cut, or from 0 where the task terminated.
#
# ### Exercise 1: `bootstrapped_returns`

# %% exercise="bootstrapped_returns"

# %% [markdown]
# ## The loss of two networks
#
# The **actor** is the policy; it makes $a_t$ likelier if $R_t > V(s_t)$. The **critic** moves $V(s_t)$ towards $R_t$.
# One vector, $\theta$ = (policy, value), holds both networks, and one loss over $N$ steps moves both:
#
# $$\text{mean of} \quad -\log \pi(a|s)\, A \;-\; 0.01 \cdot \text{entropy} \;+\; 0.5 \cdot \tfrac12 (R - V(s))^2, \qquad A = R - V(s).$$
#
# The entropy term rewards an undecided policy. The $\tfrac12$ makes the slope in $V$ equal to $V - R$; 0.5 is the critic's
# weight. When you differentiate, treat $A$ and $R$ as **constants**, although they were computed
# with $\theta$. Otherwise the actor's loss would also change the critic, and the critic's loss would move the target.
#
# At the $N$ steps, `at` is the policy and `value` the critic:
#
# | given | what it is |
# |---|---|
# | `at.weighted_gradient(w, c)` | $\sum w_t \nabla \log \pi(a_t \mid s_t) + c \sum \nabla \text{entropy}$, one entry per parameter of the policy; $c$ is one number |
# | `value.outputs` | the $V(s_t)$ |
# | `value.transposed_product(u)` | $\sum u_t \nabla V(s_t)$, one entry per parameter of the critic |
# | `clipped_norm(vector, largest)` | the vector, shortened if longer than `largest` |
#
# ### Exercise 2: `loss_gradient`

# %% exercise="loss_gradient"

# %% [markdown]
# ## One step at a time
#
# > **Online actor-critic.** Repeat:
# > 1. play one step with $\pi_\theta$, from where the simulator stood;
# > 2. $R = r + \gamma V(s')$, or $r$ alone where the task terminated;
# > 3. $A = R - V(s)$, a constant from here on;
# > 4. gradient $g$ of the loss above, of this step (a loss: $\theta$ goes *down* $g$; in TRPO $g$ points uphill);
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# **Adam** (Kingma & Ba 2015) keeps, for each weight of the network, running means of its gradients and of their squares.
# Both are 0 at first; the divisors correct this. In step $i$
#
# $$m \leftarrow 0.9\, m + 0.1\, g, \qquad q \leftarrow 0.999\, q + 0.001\, g^2, \qquad
# \text{Adam}(g) = \text{step size} \cdot \frac{m / (1 - 0.9^i)}{\sqrt{q / (1 - 0.999^i)}}.$$
#
# **The very first gradient of a run is 0.001 in one weight and 1,000 in another. The step size is 0.003. By how much does
# Adam move each weight?**

# %% prediction="yes"
guess_small, guess_large = 3e-6, 3.0  # change of a weight whose gradient is 0.001, and of one whose gradient is 1,000


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_adam():
    _, step = adam(initial_state("adam", 2), np.array([0.001, 1000.0]), 0.003)
    compare("gradient 0.001: Adam moves the weight by", guess_small, step[0])
    compare("gradient 1,000: Adam moves the weight by", guess_large, step[1])


reveal((guess_small, guess_large), show_adam)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 0.003 in both cases: corrected, the means are $g$ and $g^2$, and $g / \sqrt{g^2}$ is 1. Adam's step does not depend on
# the gradient's scale: it is about one step size where gradients agree, and less where they disagree. After a surprise
# it is larger: after 1,000 gradients of 1, a gradient of 1,000 moves the weight by 2.5 step sizes at once, and by about
# 25 in total.
#
# </details>
#
# Below, `practise(envs, n, ...)` lets `envs` simulators take `n` steps each before an update. `practise(1, 1, ...)` is
# the algorithm in the box.

# %%
spec = describe("CartPole-v1")
model = ActorCritic(spec.policy((64, 64)))
settings = ActorCriticSettings(max_gradient_norm=np.inf)  # nothing is shortened; entropy 0.01, value 0.5
AS_SEEN = ObservationFilter.identity(spec.observation_size, clip=np.inf)  # observations as they are


def new_simulators(seed, envs):
    """Return some CartPoles; `advance` plays on where the last fragment was cut."""
    return Rollouts(spec, model, make_vector_env(spec, envs), seed)


def gradient_of(theta, f):
    """Return the gradient of the loss, from some fragments."""
    actor, critic = model.split(theta)
    at = LogProbability(model.policy, actor, f.observations, f.actions)
    value = Linearisation(critic, model.value_sizes, f.observations)
    final = model.values(theta, f.final_observations)
    returns = mine.bootstrapped_returns(f.rewards, final, f.last, f.terminated_steps, 0.99)
    return mine.loss_gradient(at, value, returns, settings)


def practise(envs, n, seed, step_size, total):
    """Return theta after this many environment steps."""
    theta = model.initialise(default_rng(seed))
    memory, home = initial_state("adam", len(theta)), new_simulators(1_000_000 * seed, envs)
    for _ in range(0, total, envs * n):
        fragments = concatenate(home.advance(theta, AS_SEEN, 1, range(envs), envs, n))
        memory, step = adam(memory, gradient_of(theta, fragments), step_size)
        theta = theta - step
    return theta


total, took = budget(8000, 1600), []  # seconds of this process
for envs, n in ((1, 1), (16, 5)):
    took.append(-time.process_time())
    practise(envs, n, seed=0, step_size=1e-3, total=total)
    took[-1] += time.process_time()


# %% [markdown]
# We recorded runs of 20,000 steps of CartPole, with three step sizes and five seeds each. The **test return**, every
# 2,000 steps, is the mean return of 16 fresh episodes (a fresh policy: 22; at most 500). In some runs it falls below 15.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
actors = actors_of(recorded("11_actors.csv"))


def ends(curves):
    """Return the mean of the last three test returns of each run."""
    return np.array([np.mean(curve[-3:, 1]) for curve in curves])


def show_online():
    _, axis = plt.subplots(figsize=(9, 4.8), layout="constrained")
    kinds, styles = ((1, 1), (16, 1), (1, 5), (16, 5)), ((GREEN, "o"), (RED, "s"), ("black", "^"))
    for group, (envs, n) in enumerate(kinds):
        runs = actors["online", 1, envs, n]
        for k, ((size, curves), (color, marker)) in enumerate(zip(runs.items(), styles, strict=True)):
            fell = np.array([collapsed([curve]) for curve in curves], bool)
            x, style = group + 0.28 * (k - 1) + np.linspace(-0.1, 0.1, len(fell)), {"color": color, "markersize": 8}
            axis.plot(x[~fell], ends(curves)[~fell], marker, **style)
            axis.plot(x[fell], ends(curves)[fell], marker, **style, markerfacecolor="white", markeredgewidth=2)
            axis.plot([], [], marker, **style, label=f"step size {size:g}" if group == 0 else None)
        axis.text(group, 530, f"{sum(map(collapsed, runs.values()))} of 15 fell below 15", ha="center", fontsize=11)
    axis.plot([], [], "o", color=GREY, markerfacecolor="white", markersize=8, label="fell below 15 on the way")
    names = [f"{envs} simulator{'s' * (envs > 1)}, n = {n}\n{20_000 // (envs * n):,} updates" for envs, n in kinds]
    axis.set_xticks(range(4), names, fontsize=11)
    axis.set(
        title="CartPole, 20,000 steps: a mark is a run, seeds from left to right", ylim=(-20, 575), xlim=(-0.5, 3.5)
    )
    axis.set_ylabel("mean of the last three test returns", fontsize=11)
    axis.legend(
        fontsize=11, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4, columnspacing=1, handletextpad=0.3
    )
    axis.grid(alpha=0.3, axis="y")
    plt.show()


show_online()
one, sixteen = (ends(actors["online", 1, envs, 5][1e-3]) for envs in (1, 16))
print("n = 5, step size 0.001: 1 simulator minus 16, mean of the runs:", difference_in_words(one, sixteen))
print(f"{total:,} steps take {took[0] / took[1]:.0f} times as long with an update after every step", end=" ")
print("as with one after every 80 (measured now, once)")

# %% [markdown]
# - **Looking further ahead helps**: 14 of 30 runs with $n = 1$ fell below 15, and 1 of 30 with $n = 5$. Larger batches
#   are not the reason: one simulator with $n = 5$ has 5 steps per update, sixteen with $n = 1$ have 16.
# - **A program can learn at every step**: with one simulator and $n = 1$ only runs of the largest step size fell.
# - **Per step many simulators are worse**: they make 16 times fewer updates. This also makes a step cheaper; whether it
#   outweighs the worse return is not measured.
#
# ## A2C: many simulators
#
# **A2C**, the synchronous advantage actor-critic, takes five steps of each of sixteen simulators for one update. Steps in
# a row look alike; steps of different simulators do not.
#
# > **A2C.** Repeat:
# > 1. each simulator plays $n$ steps with $\pi_\theta$, from where it stood;
# > 2. $R_t$ by exercise 1, $A_t = R_t - V(s_t)$;
# > 3. gradient $g$ of the loss over the steps of all simulators; *all wait here*;
# > 4. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# ## A3C: no waiting
#
# At A2C's **barrier** all wait for the last one. **A3C** (asynchronous advantage actor-critic) has none, like lecture
# 10's server. Its $W$ workers *pull* (copy $\theta$) and *push* (send a gradient, which is applied at once).
#
# > **A3C.** Each worker, for itself, with one shared $\theta$:
# > 1. *pull*: $\theta_{\text{old}} \leftarrow \theta$, as it is now;
# > 2. play $n$ steps with $\pi_{\theta_{\text{old}}}$, from where it stood; meanwhile other workers push;
# > 3. $R_t$ and $A_t$ as in A2C, with $V$ of $\theta_{\text{old}}$;
# > 4. gradient $g$ of the loss at $\theta_{\text{old}}$;
# > 5. *push*: $\theta \leftarrow \theta - \text{Adam}(g)$, in place, with the shared optimiser.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axes = plt.subplots(2, 1, figsize=(9, 6.6), layout="constrained")
rounds, free = ((3.0, 4.2, 2.4), (3.6, 2.2, 2.4)), ((3.0, 3.4, 5.0), (4.0, 3.2, 4.0), (2.2, 3.0, 3.0, 4.0))
play, update = {"height": 0.5, "color": PHASE_COLORS["collect"]}, {"height": 0.5, "color": PHASE_COLORS["update"]}
arrow = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
inside = {"ha": "center", "va": "center", "fontsize": 12}
start = 0.0
for lengths in rounds:
    end = start + max(lengths)
    for worker, length in enumerate(lengths):
        y, x = 2 - worker, end + 0.15 + 0.15 * worker
        axes[0].barh(y, length, left=start, **play)
        axes[0].text(start + length / 2, y, "play", color="white", **inside)
        if length < max(lengths):
            axes[0].barh(y, max(lengths) - length, left=start + length, height=0.5, color=GREY, alpha=0.35)
            axes[0].text((start + length + end) / 2, y, "wait", **inside)
        axes[0].plot((end, x), (y, y), color="black", linewidth=1)
        axes[0].annotate("", (x, 3.25), (x, y), arrowprops=arrow)
        axes[0].annotate("", (end + 1, y), (end + 0.8, y), arrowprops=arrow)
    axes[0].plot((end + 0.8,) * 2, (0, 3.25), ":", color="black", linewidth=1.5)
    axes[0].barh(3.5, 1, left=end, **update)
    axes[0].text(end + 0.5, 3.5, "update", color="white", **inside)
    start = end + 1
axes[0].text(0.1, 3.95, "solid: gradients; dotted: $\\theta$ to all workers", fontsize=12)
for worker, lengths in enumerate(free):
    start, y = 0.0, 2 - worker
    for k, length in enumerate(lengths):
        word = "play (staleness 2: 3 and 1)" if (worker, k) == (1, 1) else "play"
        axes[1].barh(y, length, left=start, edgecolor="white", linewidth=2, **play)
        axes[1].text(start + min(length, 10.2 - start) / 2, y, word, color="white", **inside)
        start += length
        if start < 10:
            axes[1].annotate("", (start, y + 0.55), (start, y + 0.2), arrowprops=arrow)
            axes[1].barh(3.5, 0.5, left=start - 0.25, **update)
            axes[1].text(start, 3.5, str(worker + 1), color="white", **inside)
axes[1].text(0.1, 3.95, "arrow: push, then pull; a green box is an update, its number the worker's", fontsize=12)
for axis, title in zip(axes, ("A2C: all wait for the slowest", "A3C: no worker waits"), strict=True):
    axis.set(yticks=(3.5, 2, 1, 0), yticklabels=("$\\theta$", "worker 1", "worker 2", "worker 3"), ylim=(-0.4, 4.4))
    axis.set(xticks=(), xlabel="time", title=title, xlim=(0, 10.2))
    axis.tick_params(axis="y", labelsize=12)
plt.show()

# %% [markdown]
# (*Play* is $n$ steps and their gradient.) An A3C gradient is late in *two* ways: it was computed at old parameters, and
# from the experience of an **old policy**.
#
# `shared` has `theta`, and Adam's arrays under names such as `optimiser.moment` ($m$ above), in memory that every rank
# can see. Beware: `x = x - step` makes a new array, and the other ranks keep the old one. `x -= step` and `x[:] = ...`
# write into the old one. Where the prefix is empty, `theta` is among the optimiser's arrays, too; optimisers ignore it.
#
# ### Exercise 3: `descend`

# %% exercise="descend"

# %% [markdown]
# `practise_late` simulates A3C in one process. Each worker pulls theta and plays 5 steps in each of 8 simulators; it
# pushes after about one second of a simulated clock. Lecture 10's event queue (pushes in the order of the clock) says
# who is next; your `descend` applies the gradient.
#
# A gradient's **staleness** is the number of updates of other workers between its pull and its push. **Sixteen workers
# are equally fast. What is the mean staleness?** (Count in the lower picture, with three.)

# %% prediction="yes"
guess_age = 8  # updates, mean staleness of sixteen workers


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def practise_late(workers, seed, step_size, total, envs=8, n=5):
    """Return theta after this many environment steps, and how old the gradients were."""
    rng = default_rng(seed)
    theta = model.initialise(rng)
    memory = {OPTIMISER + name: array for name, array in initial_state("adam", len(theta)).items()}
    shared = {"theta": theta, **memory, **Tally.arrays(workers)}

    def apply(shared, gradient, arrival):
        mine.descend(shared, gradient["gradient"], adam, step_size, OPTIMISER)

    def work_of(home):
        def work(pulled):
            fragments = concatenate(home.advance(pulled.arrays["theta"], AS_SEEN, 1, range(envs), envs, n))
            return {"gradient": gradient_of(pulled.arrays["theta"], fragments)}

        return work

    server = ParameterServer(shared, apply)
    works = [work_of(new_simulators(1_000_000 * seed + 1000 * worker, envs)) for worker in range(workers)]
    queue = EventQueue(server, works, ("theta",), lambda worker, clock: 1 + 0.1 * rng.exponential())
    for _ in range(0, total, envs * n):
        queue.play()
    return shared["theta"], server.tally.histogram.sum(axis=0)


alone, _ = practise_late(1, seed=0, step_size=1e-3, total=total)
print("one worker alone is the actor-critic with 8 simulators, to the bit:",
      np.array_equal(alone, practise(8, 5, seed=0, step_size=1e-3, total=total)))  # fmt: skip
_, ages = practise_late(16, seed=0, step_size=1e-3, total=total)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_late():
    compare("mean staleness of sixteen workers", guess_age, staleness_of(ages)[0], "updates")
    print(f"  (15 in the long run; the first sixteen of these {ages.sum()} pushes are 0 to 15 old)\n")
    steps = {kind[:2]: steps_to_goal(sizes)[1] for kind, sizes in actors.items() if kind[0] != "online"}
    print("A3C, 16 workers / 1, geometric means:", ratio_in_words(steps["late", 16], steps["late", 1]))
    print("A2C, 128 simulators / 8:", ratio_in_words(steps["together", 16], steps["together", 1]))
    print("128 simulators, A2C / A3C:", ratio_in_words(steps["together", 16], steps["late", 16]))
    _, axis = plt.subplots(figsize=(9, 4.4), layout="constrained")
    workers = sorted({kind[1] for kind in steps})
    for what, label, color, marker, side in (("together", "A2C", BLUE, "s", -1), ("late", "A3C", ORANGE, "o", 1)):
        for group, number in enumerate(workers):
            thousands, x = np.sort(steps[what, number]) / 1000, group + 0.15 * side
            axis.hlines(np.median(thousands), x - 0.11, x + 0.11, color=color, linewidth=3)
            places = x + np.linspace(-0.06, 0.06, len(thousands))
            axis.plot(places, np.where(np.isinf(thousands), 132, thousands), marker, color=color, markersize=7,
                      label=label if group == 0 else None)  # fmt: skip
    axis.axhline(126, color=GREY, linestyle=":")
    axis.set_yticks((0, 30, 60, 90, 120, 132), (0, 30, 60, 90, 120, "never"), fontsize=11)
    simulators = [f"{number} worker{'s' * (number > 1)}\n{8 * number} simulators" for number in workers]
    axis.set_xticks(range(len(workers)), simulators, fontsize=11)
    axis.set(title="CartPole: a mark is a run (five seeds), a bar the median; fewer steps are better", ylim=(0, 140))
    axis.set_ylabel("thousand steps until a test return of 450", fontsize=11)
    axis.legend(fontsize=12, loc="upper left", bbox_to_anchor=(0, 0.88))
    axis.grid(alpha=0.3, axis="y")
    plt.show()


reveal(guess_age, show_late)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# 15: while a worker computes, each of the others pushes once. Sixteen late workers and one show no significant
# difference in steps (95 % interval of the ratio 0.5 to 4.4). By the simulated clock sixteen play sixteen times as many
# steps a second, so they arrive 3.7 to 30 times sooner.
#
# Larger batches cost steps: with 128 simulators every A2C run is later than every run with 8, as it makes *one* step of
# Adam for 640 environment steps. A3C makes one for 40. These five seeds do not show that it needs fewer steps than A2C
# (p = 0.2).
#
# <small>Tests every 6,000 steps, for at most 120,000 steps. Each column has the best of three step sizes (0.001, 0.003,
# 0.01), chosen on the same seeds: this is optimistic. With one worker A2C and A3C are the same runs.</small>
#
# </details>
#
# ## Two real ranks
#
# Real ranks use shared memory, without a lock. A3C's ranks share only $\theta$ and Adam's arrays, and never wait. A2C's
# ranks share the collecting, which takes three quarters of the time on one rank. One rank makes the update, and all
# meet after every 80 steps. **Steps per second on two ranks, divided by steps per second on one: what ratio do you
# expect?** (What does Amdahl's law of lecture 08 allow, and leave out?)

# %% prediction="yes"
guess_a2c = 1.5  # steps/s on two ranks / on one, A2C
guess_a3c = 1.5  # steps/s on two ranks / on one, A3C


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_real():
    rates = numbers_of(recorded("rates.csv"), "rate", "algorithm", "env", "ranks")
    ages = numbers_of(recorded("rates.csv"), "staleness", "algorithm", "env", "ranks")["a3c", "CartPole-v1", "2"]
    print(f"recorded on an idle machine with 2 cores, {len(ages)} runs of each")
    for algorithm, guess in (("a2c", guess_a2c), ("a3c", guess_a3c)):
        ratio, low, high = ratio_interval(*(rates[algorithm, "CartPole-v1", ranks] for ranks in "21"))
        compare(f"{algorithm}: steps/s, two ranks / one", guess, ratio)
        print(f"  95 % interval of the mean {low:.2f} to {high:.2f}")
    ratio, low, high = ratio_interval(*(rates[algorithm, "CartPole-v1", "2"] for algorithm in ("a3c", "a2c")))
    print(f"on two ranks A3C / A2C: {ratio:.2f} (95 % interval {low:.2f} to {high:.2f}),", end=" ")
    print(f"with gradients that are {np.mean(ages):.2f} updates old (at most 1 on average)")


reveal((guess_a2c, guess_a3c), show_real)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Amdahl's law allows 1.6. With a barrier every 80 steps two ranks are *slower* than one, since the law leaves out the
# meeting. Without a barrier two ranks are 1.7 times as fast. (On a machine whose steps take three times as long the
# ratios were 0.84 and 2.01.) The price is stale gradients, and some lost updates where two ranks overwrite each other.
#
# </details>
#
# ## Bug hunt
#
# This bug is in `a2c/runner.py` of OpenAI's `baselines`, rewritten for one simulator and $n$ steps. `hunt` shows a case;
# find the lines and correct them.


# %%
def suspect(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    over = terminated | last  # an episode that ends within the rollout: `done`
    over[-1:] = terminated[-1:]  # the rollout itself ends here, and is cut
    total = final_values[-1] if len(final_values) else 0.0
    returns = np.zeros(len(rewards))
    for t in reversed(range(len(rewards))):
        total = rewards[t] + discount * total * (1 - over[t])
        returns[t] = total
    return returns


_ = hunt("bootstrapped_returns", suspect)

# %% [markdown] solution="only"
# **The bug**: one `done` for two events. An episode that a time limit cuts *within* the rollout counts as terminated,
# so standing for 500 steps is as bad as a fall. The repair needs an index: `final_values` has an entry for every
# fragment.

# %% [markdown]
# ## Quiz
#
# **1.** Somebody lets the critic's gradient run through $V(s_{t+n})$, too: the true gradient of its loss. Is it
# better?
#
# <details><summary>Answer</summary>
#
# No. This **residual gradient** (Baird 1995) also drags the later state's value towards what the earlier one
# believed. With $R$ a constant the gradient is a **semi-gradient**.
#
# </details>
#
# **2.** Sixteen simulators and $n = 1$, or one simulator and $n = 16$: what does each do well?
#
# <details><summary>Answer</summary>
#
# The first has steps from many states, but its returns rely on the critic most. The second looks far ahead, but its
# steps resemble each other. A2C's 16 x 5 takes some of each.
#
# </details>
#
# **3.** In `descend`, `shared["theta"] = shared["theta"] - step` passes a test that looks at `shared["theta"]`
# afterwards. What goes wrong with two ranks?
#
# <details><summary>Answer</summary>
#
# After its first push each rank has its own theta, and learns alone; no error appears.
#
# </details>
#
# ## Summary
#
# - An $n$-step return has bias (the critic's) if $n$ is small, and noise if it is large.
# - One loss moves actor and critic; $A$ and $R$ are constants in it.
# - Adam's step does not depend on the gradient's scale: it is about one step size where gradients agree.
# - A2C waits for the slowest and repeats to the bit. A3C does not wait; its gradients are $W - 1$ updates old on average.
#
# ## Open questions
#
# 1. Plot the best $n$ (`errors` has the black curve) against `known` from 0 to 1, for 16 and 256 simulators. Explain in
#    three sentences how both change it.
# 2. Plot the mean staleness of `practise_late` against 1, 2, 4, 8 and 16 workers, with the line $W - 1$
#    (`total=8000`). Explain in three sentences why the points lie below the line, and what a step size must do when
#    $W$ grows.
#
# **Next**: lecture 11b learns values of actions, without a policy network.
