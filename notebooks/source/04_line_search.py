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
# # 04 Line search
#
# **The direction is known. How far may one go?**
#
# <!-- loop -->
#
# Lecture 01 gave the gradient $g$ of what we want, lectures 02 and 03 the natural direction $x$, which solves $M x = g$
# with $M = F + \text{damping}\, I$, $F$ the Fisher matrix. What is missing is one number, the length of the step. Too short
# wastes the batch of episodes; too long ruins the policy, and with it all the batches that it will collect.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `surrogate` | `minitrpo/policy_gradient.py` | equation 14: what a new policy should gain |
# | `step_scale` | `minitrpo/line_search.py` | appendix C: the longest step that the KL limit allows |
# | `backtracking` | `minitrpo/line_search.py` | appendix C: the line search |
#
# *85 minutes in class with the three exercises; the notebook itself runs in a minute or two. You need: lectures 01 to 03.*

# %%
import json
from collections.abc import Callable

import autograd.numpy as np
import ipywidgets
from autograd import grad
from matplotlib import pyplot as plt
from scipy import stats

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    budget,
    compare,
    play,
    recorded,
    reveal,
    show_claims,
    train,
)
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import LineSearch
from minitrpo.natural_gradient import fisher_vector_product, mean_kl
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import policy_gradient
from minitrpo.returns import discounted_sums

ENV, HIDDEN, DAMPING = "InvertedPendulum-v5", (16, 16), 0.1

# %% [markdown]
# ## Judging a policy by another policy's episodes
#
# To choose a length we must compare policies, and playing every candidate would cost a batch each. Can we judge a new
# policy by the actions that the *old* one took? Here is a game of one step. The old policy presses the right button one
# time in five; the right button pays 1 on average, the left one 0. A new policy would press right four times in five.
# We play the old one only:

# %%
rng = np.random.default_rng(0)
right = rng.random(2000) < 0.2  # what the old policy pressed
rewards = right + 0.5 * rng.standard_normal(2000)
ratios = np.where(right, 0.8 / 0.2, 0.2 / 0.8)
print(f"old policy {rewards.mean():.2f}; new policy, from the old one's presses {np.mean(ratios * rewards):.2f}")

# %% [markdown]
# Each press was weighted by the **importance ratio** $\pi_\text{new}(a|s) \,/\, \pi_\text{old}(a|s)$: actions that the new
# policy would take four times as often count four times. On average that is exact, since the old probability in the
# denominator cancels the frequency with which the action was sampled.
#
# The **surrogate** does this to a whole batch of $N$ steps, with the advantages $A_i$ of lecture 01 (how much better than
# usual action $a_i$ turned out in state $s_i$):
#
# $$L(\theta) = \frac1N \sum_{i=1}^N \frac{\pi_\theta(a_i|s_i)}{\pi_{\theta_\text{old}}(a_i|s_i)}\, A_i$$
#
# It is a stand-in, hence the name: actions are reweighted, *states* are not. The new policy will visit other states, and
# $L$ does not know. Near the old policy that matters little.
#
# ### Exercise 1: `surrogate`
#
# A policy's `log_prob(dist_params, actions)` gives $\log \pi(a_i|s_i)$, as in lecture 01; `dist_params` are the distribution
# parameters that its network gives in each state. (A probability may be rounded to 0; its logarithm is not.)

# %% exercise="surrogate"

# %% [markdown]
# Stuck? `hint("surrogate", 1)`. As always, `mine.surrogate` is yours once its check has passed, the package's until then.
#
# ## A batch, a direction
#
# Our world is InvertedPendulum, a pole on a cart again, simulated by MuJoCo: the policy pushes the cart with a force, each
# step with the pole up pays 1, and the episode ends when it falls, or after 1,000 steps. The policy is a Gaussian around the output of a small network. We
# play 2,000 steps with a fresh policy (standard deviation 1) and prepare all that the lecture needs: advantages (reward-to-go,
# **standardised** to mean 0 and standard deviation 1), gradient, natural direction, $x^\top M x$ (free,
# from the residual of lecture 03), and a judge, `evaluate`. (`scale` multiplies the advantages, for a question below, where
# `damping` will change, too.)


# %%
def natural_direction(played, scale=1.0, damping=DAMPING):
    """Return g, x, x'Mx (the curvature along x) and the function theta -> (surrogate gain, mean KL)."""
    policy, theta, states = played.policy, played.theta, played.episodes.observations
    to_go = discounted_sums(played.episodes.rewards, 0.99, played.episodes.last)
    advantages = scale * (to_go - to_go.mean()) / to_go.std()
    g = policy_gradient(policy, theta, states, played.actions, advantages)
    x, residual = conjugate_gradient(fisher_vector_product(policy, theta, states, damping), g)
    old = policy.distribution(theta, states)
    old_log_prob = policy.log_prob(old, played.actions)

    def evaluate(new):
        dist_params = policy.distribution(new, states)
        value = mine.surrogate(policy, dist_params, old_log_prob, played.actions, advantages)
        return value - advantages.mean(), mean_kl(policy, old, dist_params)

    return g, x, x @ (g - residual), evaluate


wide = play(ENV, steps=2000, hidden=HIDDEN)
g, x, curvature, evaluate = natural_direction(wide)
slope = grad(lambda theta: evaluate(theta)[0])(wide.theta)
print(f"{len(g)} parameters, mean return {wide.episodes.rewards.sum() / wide.episodes.last.sum():.1f}")
print(f"largest difference between the slope of the surrogate and g: {np.abs(slope - g).max():.1e}")

# %% [markdown]
# At the old policy all ratios are 1, so $L = \bar A$, the mean advantage, and the slope of $L$ is the policy gradient, as
# you see. We call $L(\theta) - \bar A$ the **gain**.
#
# ## The KL limit
#
# How far is $L$ to be believed? TRPO (Schulman et al. 2015) answers in the coin of lecture 02: as long as the mean KL
# from the old policy to the new one, over the states of the batch, is at most a limit $\delta$, `max_kl` in code. That is
# the **trust region**. Not parameters are limited, but behaviour.
#
# Along the ray $\theta + \beta x$ both quantities have simple models. The gain starts as a line, the KL as a parabola (it and its
# slope are 0 at the old policy; its second derivative is the Fisher matrix):
#
# $$\text{gain} \approx \beta\, g^\top x, \qquad \text{KL} \approx \tfrac12\, \beta^2\, x^\top M x$$
#
# Set the KL to $\delta$ and solve: $\beta = \sqrt{2 \delta \,/\, x^\top M x}$. The step $\beta x$ is called the **full step**. If
# $x^\top M x$ is not positive there is no such number, and the only safe length is 0. (The package's docstring calls it
# `xAx`, after the textbooks' name for the matrix.)
#
# Two predictions before you write it. All advantages are multiplied by 10. How many times longer is the full step? And
# how many times longer is it when $\delta$ is multiplied by 100?

# %% prediction="yes"
guess_advantages = 10  # times
guess_limit = 100  # times

# %% [markdown]
# ### Exercise 2: `step_scale`

# %% exercise="step_scale"


# %%
direction, tenfold = (g, x, curvature, evaluate), natural_direction(wide, scale=10.0)


def length(direction, max_kl):
    """Return the length of the full step."""
    _, x, curvature, _ = direction
    return np.linalg.norm(mine.step_scale(max_kl, curvature) * x)


def show_lengths():
    """Answer both predictions."""
    compare("length, advantages x 10", guess_advantages, length(tenfold, 0.01) / length(direction, 0.01), "times")
    compare("length, limit x 100", guess_limit, length(direction, 1.0) / length(direction, 0.01), "times")


reveal((guess_advantages, guess_limit), show_lengths)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The scale of the rewards drops out: a policy gradient with a learning rate would have to be tuned to it, TRPO is told
# `max_kl`, in nats, for any task. And the length goes with the square root of the limit.
#
# </details>
#
# Now the picture of this lecture: both models against the truth, along the ray, for $\delta = 0.1$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
fractions = np.linspace(0, 2, 41)


def draw_ray(played, direction, max_kl, trials=()):
    """Draw KL and surrogate gain along the full step, with their models, the limit, and trials of a line search."""
    g, x, curvature, evaluate = direction
    full = mine.step_scale(max_kl, curvature) * x
    gains, kls = np.array([evaluate(played.theta + f * full) for f in fractions]).T
    _, (left, right_) = plt.subplots(1, 2, figsize=(9, 3.2), layout="tight")
    left.plot(fractions, kls, color=BLUE, label="KL, measured")
    left.plot(fractions, fractions**2 * max_kl, "--", color=ORANGE, label="quadratic model")
    left.axhline(max_kl, color=RED, label="limit")
    right_.plot(fractions, gains, color=BLUE, label="surrogate gain, measured")
    right_.plot(fractions, fractions * (g @ full), "--", color=ORANGE, label="linear model")
    for k, (gain, kl) in enumerate(trials):
        word, color, marker = ("accepted", GREEN, "o") if k == len(trials) - 1 else ("refused", RED, "X")
        left.plot(0.7**k, kl, marker, color=color, markersize=10, label=f"trial {k + 1}: {word}")
        right_.plot(0.7**k, gain, marker, color=color, markersize=10)
    left.set(ylabel="mean KL (nats)", ylim=(0, max(4 * max_kl, 1.2 * max((kl for _, kl in trials), default=0))))
    right_.set_ylabel("gain (standardised advantage)")
    for axis in (left, right_):
        axis.set_xlabel("fraction of the full step")
        axis.axvline(1, color=GREY, linewidth=1)
        axis.legend(fontsize=9)
    plt.show()


draw_ray(wide, direction, 0.1)

# %%
full_step = mine.step_scale(0.1, curvature) * x
for f in (0.1, 0.5, 1.0, 1.5, 2.0):
    print(f"fraction {f}: KL {evaluate(wide.theta + f * full_step)[1] / (0.1 * f**2):.2f} x its model")

# %% [markdown]
# This policy is well described by its models: at 1 on the axis, the full step, the KL is at the limit to within a few
# per cent, and the gain is what the slope promised. Two errors of the model meet here. $M$ includes the damping, so near 0
# the dashed parabola is too *high*, on the safe side. But the true KL of a long step grows faster than a parabola, and
# overtakes it: farther out the dashed line lies *below* the truth. Were it never worse, the lecture would be over.
#
# ## A policy that has nearly made up its mind
#
# As a policy learns, its standard deviation shrinks. Here is one with standard deviation $e^{-4} \approx 0.02$; all else
# is as before. We set the limit to 0.01. The quadratic model says that the full step has a KL of 0.01. We try it with six
# fresh networks and a batch of each. In the worst of the six, what will be measured, **as a multiple of the limit**?

# %% prediction="yes"
guess_overshoot = 1.5  # x the limit


# %%
def narrow_case(seed):
    """Return a batch of a policy with standard deviation e^-4, its direction, and the full step for a limit of 0.01."""
    start = play(ENV, steps=10, hidden=HIDDEN, seed=seed)
    theta = np.concatenate([start.theta[:-1], [-4.0]])  # the last parameter is the log standard deviation
    played = play(ENV, steps=2000, theta=theta, hidden=HIDDEN, seed=seed)
    direction = natural_direction(played)
    return played, direction, mine.step_scale(0.01, direction[2]) * direction[1]


cases = [narrow_case(seed) for seed in range(6)]
judged = np.array([direction[3](played.theta + step) for played, direction, step in cases])  # gain, KL
worst = int(np.argmax(judged[:, 1]))
narrow, narrow_direction, narrow_step = cases[worst]
grown = np.exp(8)  # how many times more a shift of the mean costs than under standard deviation 1


def overshoot(played, damping):
    """Return the KL of the full step for a limit of 0.01, as a multiple of the limit, under another damping."""
    _, x, curvature, evaluate = natural_direction(played, damping=damping)
    return evaluate(played.theta + mine.step_scale(0.01, curvature) * x)[1] / 0.01


# two tests of why: the narrow policies with a damping that has grown with F, and wide ones with a damping as weak
more_damping = [overshoot(played, DAMPING * grown) for played, _, _ in cases]
wide_less_damping = [overshoot(play(ENV, 2000, hidden=HIDDEN, seed=seed), DAMPING / grown) for seed in range(6)]


def show_overshoot():
    """Answer the prediction, and show both tests."""
    compare("KL of the full step, worst of six", guess_overshoot, judged[:, 1].max() / 0.01, "x the limit")
    print("all six:", np.sort(np.round(judged[:, 1] / 0.01, 1)), "x the limit")
    promised = narrow_direction[0] @ narrow_step
    print(f"in the worst: gain promised by the slope {promised:.4f}, measured {judged[worst, 0]:.4f}")
    lengths = [np.linalg.norm(step) for _, _, step in cases]
    print(
        f"length of the step: {min(lengths):.2f} to {max(lengths):.2f}; of a wide policy's {length(direction, 0.01):.2f}"
    )
    print(f"narrow, damping {DAMPING * grown:.0f}:", np.sort(np.round(more_damping, 1)), "x the limit")
    print(f"wide, damping {DAMPING / grown:.0e}:", np.sort(np.round(wide_less_damping, 1)), "x the limit")


reveal(guess_overshoot, show_overshoot)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The KL of two Gaussians that differ in their mean is $(\mu - \mu')^2 / 2\sigma^2$: a shift of the mean costs
# $e^8 \approx 2981$ times as much as in the wide policy, and $F$ has grown by as much, but for `log_std`. Yet the step
# is no shorter. Beside so large an $F$ a damping of 0.1 counts for nothing. In the wide policy it kept the step off the
# directions that hardly move the mean; now the step goes far along them, until the bend of the network does move it.
# The last two lines test this: where the damping grows with $F$, no step overshoots, and most wide policies with as
# little damping do. How far depends on the network and on luck.
#
# </details>
#
# In the worst of the six the surrogate still reports a gain at the full step. Is there one? This once we can afford to find
# out, and *play* policies along the ray. Beside the returns we draw what surrogates foretell, in steps: of this batch, and
# of ten fresh batches that the *old* policy plays, the same policy in the same kind of states, with other luck.


# %%
def foretold(played):
    """Return the change of the mean return that a batch's surrogate foretells along the ray: gain per step x steps."""
    to_go = discounted_sums(played.episodes.rewards, 0.99, played.episodes.last)
    judge = natural_direction(played)[3]
    gains = np.array([judge(narrow.theta + f * narrow_step)[0] for f in fractions])
    return gains * to_go.std() * played.episodes.lengths.mean()


played_at = budget(np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0]), np.array([0.0, 1.0, 2.0]))
along_ray = []
for f in played_at:
    returns = play(ENV, budget(6000, 500), narrow.theta + f * narrow_step, seed=100, hidden=HIDDEN).episodes.returns
    along_ray.append((returns.mean(), returns.std() / np.sqrt(len(returns))))
again = [play(ENV, 2000, narrow.theta, seed=200 + k, hidden=HIDDEN) for k in range(budget(10, 2))]
before = np.mean([played.episodes.returns.mean() for played in again])  # the old policy's return
own, fresh = foretold(narrow), np.array([foretold(played) for played in again])
at_full = fresh[:, 20]  # fraction 1
low, high = stats.ttest_1samp(at_full, 0).confidence_interval(0.95)
print(f"change of the mean return at the full step, foretold by its own batch: {own[20]:+.1f} steps")
print(f"foretold by {len(fresh)} fresh batches: mean {at_full.mean():+.1f} (95 % interval {low:+.1f} to {high:+.1f})")
kept, error = along_ray[list(played_at).index(1.0)]
print(f"played: {kept - before:+.1f} (standard error {error:.1f})")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
means, errors = np.array(along_ray).T
_, axis = plt.subplots(figsize=(7, 3.5))
for number, line in enumerate(fresh):
    axis.plot(
        fractions, before + line, color=GREY, linewidth=0.8, label=None if number else "foretold by fresh batches"
    )
axis.plot(fractions, before + own, color=BLUE, linewidth=2, label="foretold by its own batch")
axis.errorbar(played_at, means, errors, fmt="s--", color=PURPLE, capsize=3, label="played, +- standard error")
axis.set(xlabel="fraction of the full step", ylabel="mean return (steps with the pole up)", ylim=(0, None))
axis.legend(loc="lower left", fontsize=9)
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# The batch promises more than the policy keeps, for two reasons. The direction was made from this batch, and so from its
# luck: fresh batches of the same policy foretell less of the same step; at the full step their mean cannot be told
# from 0. What is played lies far below even them: no batch of the old policy visits the new states. (Farther out the
# fresh ones disagree: a few actions carry all the weight.) So the KL limit is not pedantry. We need a way back.
#
# ## Backtracking
#
# Try the full step; while the trial is not acceptable, shrink it by a factor. Trial $k = 0, 1, 2, \dots$ is the policy
# $\theta + \alpha \cdot \text{full step}$ with $\alpha = 0.7^k$, and `evaluate` says what it gains and what its KL is. The first trial that passes is taken,
# and nothing is evaluated after it. A trial is refused for one of three reasons; the first in this table that applies counts:
#
# | `reason` | when |
# |---|---|
# | `"not finite"` | gain, KL or a parameter of the trial is infinite or `NaN` |
# | `"KL too large"` | its KL is above `max_kl` (equal is fine) |
# | `"no improvement"` | its gain is not above 0 |
#
# If no trial passes, **the old parameters are returned**: a batch that teaches nothing safe must not do harm. Report the
# outcome as a `LineSearch`, with these fields in order: `theta`; `accepted`; `reason` (`"accepted"`, or why the *last* trial
# failed; `"zero step"` if the full step is all zeros, when there is nothing to try); `trials`, how many policies were
# evaluated; `gain` and `kl`, both 0 if nothing was accepted; and `gain_ratio`, the last trial's gain divided by what
# the slope promised *for that trial* (0 if it promised 0, if the trial was not finite, or if there was none).
# `expected_gain` is the promise of the full step.
#
# ### Exercise 3: `backtracking`

# %% exercise="backtracking"


# %%
def search_with(case, max_kl):
    """Return the line search from a batch under a limit, the (gain, KL) of its trials, and the promise of the full step."""
    played, (g, x, curvature, evaluate) = case
    trials = []

    def judge(new):
        trials.append(evaluate(new))
        return trials[-1]

    full = mine.step_scale(max_kl, curvature) * x
    return mine.backtracking(judge, played.theta, full, g @ full, max_kl), trials, g @ full


def show_trials():
    """Draw the trials of the line search in the worst of the six narrow policies."""
    search, trials, _ = search_with((narrow, narrow_direction), 0.01)
    print(f"narrow policy: {search.reason} at trial {search.trials}, gain {search.gain:.4f}, KL {search.kl:.4f}")
    draw_ray(narrow, narrow_direction, 0.01, trials)


reveal(guess_overshoot, show_trials)

# %% [markdown]
# Each trial costs one forward pass over the batch: 0.63 of a Fisher-vector product, for 5,000 x 17 numbers in single
# precision (median of 30). That is cheap insurance.
#
# ## Does it matter? Three ways to end a step
#
# Not all code that calls itself TRPO does this. Frans's code of 2016 runs a line search, throws its answer away and takes
# the full step; a comment in it admits as much. The same line stood in older code (wojzaremba/trpo, where a reader
# reported it in July 2016, issue 1, and where it was mended). The notebook of a well-known course (Practical_RL)
# tests every trial, but never stops at one that passed: it goes on *from there*, adding ever smaller pieces.


# %%
def keep_adding(judge, start, step, max_kl):
    """Return where a search ends that goes on from every trial that passed."""
    best_gain = 0.0
    for k in range(12):
        gain, kl = judge(start + 0.7**k * step)
        if kl <= max_kl and gain > best_gain:
            start, best_gain = start + 0.7**k * step, gain
    return start


def three_ends(limit, seed, updates, damping=DAMPING):
    """Train with backtracking; return the KL / limit (updates, 3) of the full step, keep_adding and backtracking."""
    theta, kls = None, []
    for update in range(updates):
        batch = play(ENV, steps=budget(1500, 500), theta=theta, seed=100 * seed + update, hidden=HIDDEN)
        g, x, curvature, evaluate = natural_direction(batch, damping=damping)
        step = mine.step_scale(limit, curvature) * x
        search = mine.backtracking(evaluate, batch.theta, step, g @ step, limit)
        added = keep_adding(evaluate, batch.theta, step, limit)
        kls.append((evaluate(batch.theta + step)[1], evaluate(added)[1], search.kl))
        theta = search.theta
    return np.array(kls) / limit


# %% [markdown]
# `three_ends` trains with backtracking and asks at each update where the other two would have ended. We train three policies
# with a limit of 0.01 and three with 0.1. In how many per cent of the updates would the full step have broken the limit of
# 0.1?

# %% prediction="yes"
guess_percent = 20  # per cent of the updates

# %%
ends = {limit: np.array([three_ends(limit, s, budget(16, 2)) for s in range(budget(3, 1))]) for limit in (0.01, 0.1)}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_ends():
    """Answer the prediction, and draw where three kinds of step end."""
    compare("updates whose full step breaks the limit of 0.1", guess_percent, 100 * np.mean(ends[0.1][..., 0] > 1), "%")
    for limit, kls in ends.items():
        full = kls[..., 0]
        print(
            f"limit {limit}: full steps above it {100 * np.mean(full > 1):.0f} %, the worst {full.max():.2f} x the limit"
        )
    _, axis = plt.subplots(figsize=(7.5, 3.4))
    names = ("full step no matter what", "keeps adding, 12 evaluations", "backtracking")
    for number, (name, color, marker, size) in enumerate(zip(names, (RED, ORANGE, BLUE), "Xso", (10, 7, 5))):
        for run in ends[0.1][..., number]:
            axis.plot(range(1, len(run) + 1), run, marker, color=color, markersize=size, alpha=0.7, label=name)
            name = None
    axis.axhline(1, color=GREY, linewidth=1)
    axis.set(xlabel="update", ylabel="KL of the step / limit of 0.1", ylim=(0, 1.2 * ends[0.1].max()))
    axis.legend(loc="upper center", ncols=3, fontsize=9, columnspacing=0.8, handletextpad=0.2)
    axis.grid(alpha=0.3)
    plt.show()


reveal(guess_percent, show_ends)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# At 0.1 the full step overshoots often, though not wildly; how it is at 0.01, the lines above the picture say. The search
# that keeps adding stays inside, and mostly creeps up to the very edge: it is a bisection in disguise, at the price of
# all twelve evaluations at every update. Backtracking leaves something on the table, where it refuses a step, half of
# the KL or a little more ($0.7^2 \approx 0.5$, and the true KL shrinks faster than the parabola), and usually needs one
# or two evaluations.
#
# </details>
#
# ## Bug hunt
#
# The third mistake shows only when every trial fails, so it can sit in a library for years. `suspect` refuses and accepts
# rightly, it says truthfully that it failed, and yet it breaks its promise.


# %%
def suspect(
    evaluate: Callable[[Array], tuple[float, float]],
    theta: Array,
    full_step: Array,
    expected_gain: float,
    max_kl: float,
    shrink: float = 0.7,
    max_trials: int = 12,
) -> LineSearch:
    why, tried, kept, new, part = "zero step", 0, 0.0, theta, 1.0
    while tried < max_trials and full_step.any():
        new, promise = theta + part * full_step, part * expected_gain
        won, moved = evaluate(new)
        tried, kept, part = tried + 1, won / promise if promise else 0.0, part * shrink
        if not (np.isfinite([won, moved]).all() and np.isfinite(new).all()):
            why, kept = "not finite", 0.0
        elif moved <= max_kl and won > 0.0:
            return LineSearch(new, True, "accepted", tried, won, moved, kept)
        else:
            why = "KL too large" if moved > max_kl else "no improvement"
    return LineSearch(new, False, why, tried, 0.0, 0.0, kept)


_ = hunt("backtracking", suspect)

# %% [markdown] solution="only"
# **The bug**: the last line returns `new`, the last trial, which has just been refused; it should return `theta`. The
# report says "not accepted", the caller goes on with the parameters that were rejected, and nobody notices, because the
# last trial is a tiny step. Unless it is not finite. Tianshou's TRPO had this until February 2026 (pull request 1287).

# %% [markdown]
# ## How large should the limit be?
#
# Drag the slider: the ray of the wide policy, and the trials on it (it needs a running kernel; the picture below it shows
# where the searches end for all limits).


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_limit(log_max_kl=-2.0):
    """Redraw the ray and the trials of the line search under this limit."""
    search, trials, promised = search_with((wide, direction), 10**log_max_kl)
    print(
        f"limit {10**log_max_kl:.3g}: promised {promised:.3f}; trial {search.trials} {search.reason}: gain {search.gain:.3f}"
    )
    draw_ray(wide, direction, 10**log_max_kl, trials)


_ = ipywidgets.interact(
    show_limit,
    log_max_kl=ipywidgets.FloatSlider(
        min=-4, max=1, step=0.25, value=-2, description="log10 of the limit", style={"description_width": "initial"}
    ),
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
limits = np.logspace(-4, 1, 21)
found = [search_with((wide, direction), limit) for limit in limits]
_, axis = plt.subplots(figsize=(7, 3.4))
axis.loglog(limits, [promised for _, _, promised in found], "--", color=ORANGE, label="promised to the full step")
axis.loglog(limits, [search.gain for search, _, _ in found], "o-", color=BLUE, label="gain of the accepted trial")
for limit, (search, _, _) in zip(limits, found):
    if search.trials > 1:
        axis.annotate(f"{search.trials}", (limit, search.gain), (0, -14), textcoords="offset points", ha="center")
axis.set(xlabel="limit max_kl (nats); numbers: trials, where more than one", ylabel="gain (standardised advantage)")
axis.legend(fontsize=9)
axis.grid(alpha=0.3)
plt.show()
peak = max(found, key=lambda item: item[0].gain)[0]
at = limits[[search is peak for search, _, _ in found].index(True)]
print(
    f"largest gain {peak.gain:.2f}, under a limit of {at:.1f} nats; the accepted trial's own KL is {peak.kl:.1f} nats"
)

# %% [markdown]
# On a logarithmic scale the promise is a line of slope one half: for ten times the gain, a hundred times the KL. The accepted
# gain keeps up with it as long as the full step is accepted, drops by 0.7 where it no longer is, grows more slowly from then
# on, has a peak, and falls. (The axis
# is the *limit*; the KL of the trial that was accepted, printed above, is below it.) And remember that even this gain is the *surrogate's*.
#
# ## Whole runs
#
# Frans's post of 2016 asks the question with whole runs on Reacher, an arm of two joints that has to touch a target: does it
# learn faster with a larger `max_kl`? Left, below, are numbers from the author's own logs, the first 100 of 190 updates (at
# the last all six runs lie between -4.9 and -4.2); right, short runs of our own:
# 2,000 steps per update, and limits up to 0.1. Bands are the range of ten recorded seeds for each limit
# (`recorded/04_limits.json` says what made them), lines are run here and now by `train`: that starts
# `python -m minitrpo train` in processes of its own, called *ranks*, which share the work (lecture 07; the result is the same
# for any number of them).

# %%
about = json.loads(recorded("author_2016.json").read_text())
author = about["returns"]["Reacher-v1"]  # two runs of each setting
table = np.genfromtxt(recorded("04_limits.csv"), delimiter=",", names=True, dtype=None, encoding="utf-8")
source = about["source"]
print(f"author's logs: {source['repository']}, commit {source['commit'][:7]}, results/vs_fixed/reacher and reacher2")


def curves_of(env, limit):
    """Return the recorded mean returns, (seeds, updates)."""
    rows = table[(table["env"] == env) & (table["max_kl"] == limit)]
    return np.array([rows["mean_return"][rows["seed"] == seed] for seed in np.unique(rows["seed"])])


live = {}
for max_kl in budget((0.001, 0.01, 0.1), (0.1,)):
    steps = budget(40_000, 2_000)
    job = ("--preset", "episodes", "--env", "Reacher-v5", "--total-steps", steps, "--steps-per-update", 2000)
    live[max_kl] = train(2, *job, "--max-kl", max_kl, "--seed", 10).columns()["mean_return"]

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, (left, right_) = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="tight")
shades = {0.001: GREEN, 0.005: ORANGE, 0.01: BLUE, 0.1: RED}
for max_kl in (0.001, 0.005, 0.01):
    runs = author[f"fixed 20,000, {max_kl}"]
    for number, returns in enumerate(runs["mean_return"]):
        label = None if number else f"max_kl {max_kl}"
        left.plot(runs["updates"][:11], returns[:11], "os"[number] + "-", color=shades[max_kl], label=label)
for max_kl in (0.001, 0.01, 0.1):
    band = curves_of("Reacher-v5", max_kl)
    right_.fill_between(range(band.shape[1]), band.min(axis=0), band.max(axis=0), color=shades[max_kl], alpha=0.3)
    right_.plot(live.get(max_kl, []), color=shades[max_kl], linewidth=2.5, label=f"max_kl {max_kl}")
left.set(xlabel="update (20,000 steps each)", ylabel="mean return", title="Reacher-v1, 2016, two runs each")
right_.set(xlabel="update (2,000 steps each)", ylabel="mean return", title="Reacher-v5: range of ten seeds, one live")
right_.set_xticks(range(0, 20, 5))
for axis, corner in ((left, "lower right"), (right_, "upper left")):
    axis.legend(loc=corner, fontsize=9)
    axis.grid(alpha=0.3)
plt.show()
for small, large in ((0.001, 0.01), (0.01, 0.1)):
    gained = curves_of("Reacher-v5", large)[:, -1] - curves_of("Reacher-v5", small)[:, -1]
    low, high = stats.ttest_1samp(gained, 0).confidence_interval(0.95)
    print(
        f"last update, {large} over {small}: {gained.mean():+.1f} (95 % interval {low:+.1f} to {high:+.1f})", end=", "
    )
    print(f"more in {np.sum(gained > 0)} of {len(gained)} seeds")

# %% [markdown]
# On Reacher the order is the author's: compare the shapes, not the levels, since the first and the fifth version of Reacher
# differ. After 20 updates ten seeds tell the three limits apart beyond doubt. His two runs of a limit lie so close
# together that they tell 0.001 from 0.01, too (at update 50, -22.7 and -23.5 against -5.1 and -5.2).
#
# The post concludes that a larger limit learns faster, and warns that other environments may differ. So another one:
# InvertedPendulum, which cannot return more than 1,000. Ten seeds for each of two limits, 60 updates each (again recorded).
# Two predictions about the runs with a limit of 0.1, beside those with 0.01. By how many updates sooner do they first reach a
# mean return of 900? And having reached it, how many of ten fall below 400 within the next ten updates?

# %% prediction="yes"
guess_sooner = 10  # updates
guess_fallen = 2  # runs of ten

# %%
pendulum = {limit: curves_of(ENV, limit) for limit in (0.01, 0.1)}
first = {limit: np.argmax(runs >= 900, axis=1) for limit, runs in pendulum.items()}  # index of the first above 900
lowest = {
    limit: np.array([run[at : at + 11].min() for run, at in zip(runs, first[limit])])
    for limit, runs in pendulum.items()
}

left_over = min(len(run) - 1 - at for limit, runs in pendulum.items() for run, at in zip(runs, first[limit]))
after = {
    limit: np.array([run[at + 1 :][:left_over].mean() for run, at in zip(runs, first[limit])])
    for limit, runs in pendulum.items()
}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_pendulum():
    """Answer both predictions, and draw all runs of both limits."""
    sooner = first[0.01] - first[0.1]  # seed by seed
    low, high = stats.ttest_1samp(sooner, 0).confidence_interval(0.95)
    compare("first at 900 with 0.1", guess_sooner, sooner.mean(), "updates sooner")
    print(f"95 % interval: {low:.1f} to {high:.1f} updates; sooner in {np.sum(sooner > 0)} of {len(sooner)} seeds")
    fallen = {limit: int(np.sum(values < 400)) for limit, values in lowest.items()}
    compare("runs of ten with 0.1 that fall below 400", guess_fallen, fallen[0.1])
    p = stats.fisher_exact([[fallen[0.1], 10 - fallen[0.1]], [fallen[0.01], 10 - fallen[0.01]]]).pvalue
    print(f"with 0.01 it is {fallen[0.01]} of ten; chance of a difference as large by luck: p = {p:.2f}")
    lost = after[0.01] - after[0.1]
    low, high = stats.ttest_1samp(lost, 0).confidence_interval(0.95)
    means = f"{after[0.01].mean():.0f} with 0.01, {after[0.1].mean():.0f} with 0.1"
    print(f"mean of the {left_over} updates after it: {means}, difference {lost.mean():.0f} ({low:.0f} to {high:.0f})")
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    for axis, (limit, runs) in zip(axes, pendulum.items()):
        picture = axis.imshow(runs, aspect="auto", cmap="viridis", vmin=0, vmax=1000, extent=(0.5, 60.5, 9.5, -0.5))
        axis.set(xlabel="update (1,000 steps or more each)", ylabel="seed", title=f"max_kl {limit}")
    figure.colorbar(picture, ax=axes, label="mean return")
    plt.show()


reveal((guess_sooner, guess_fallen), show_pendulum)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The larger limit reaches the top sooner, seed by seed. And then it falls; but so do most runs with the smaller one, and the
# two counts are no farther apart than luck would put them. A likely reason: near the top a batch is one or two long episodes
# in which every step was paid the same, so its advantages say little but where the value estimate (lecture 05a) is wrong, and
# the line search, which sees the same batch, does not object. What ten seeds do show: over
# an equal number of updates *after* the top, runs with 0.1 return less on average. (We looked at that only after the counts
# had told nothing: such a finding deserves new seeds before one builds on it.)
#
# </details>
#
# ## What you have built so far
#
# A judgement of a policy by another one's episodes, good only nearby. `step_scale`, which turns a limit in nats into a
# length, and `backtracking`, which shortens it until KL and surrogate agree, and gives the old policy back if they never do.
# Gradient, products, solver, length: the pieces of TRPO are on the table.
#
# ## Quiz
#
# **1.** All trials of a line search fail. Which parameters must the function return, and why not the last, shortest trial?
#
# <details><summary>Answer</summary>
#
# The old ones. The last trial has just been refused, however short it is: it may be not finite, or make things worse.
#
# </details>
#
# **2.** The surrogate says that the full step gains 0.3. May you believe it when the KL is 0.005? When it is 5?
#
# <details><summary>Answer</summary>
#
# Near the old policy yes. Far away no: it reweights *actions* in the states that the old policy visited, and the new one goes
# elsewhere. A larger batch helps against luck, and not against this: it visits the same states, more often.
#
# </details>
#
# **3.** Why does a limit on the KL carry over from task to task better than a learning rate?
#
# <details><summary>Answer</summary>
#
# Multiply all rewards by 10: the plain step grows tenfold, the full step stays (first guess of this lecture). And the same
# change of parameters is harmless to a wide policy and drastic to a narrow one; nats count what the policy does.
#
# </details>
#
# **4.** One run with limit 0.1 falls back after it had reached the top, one with 0.01 does not. What do you conclude?
#
# <details><summary>Answer</summary>
#
# Nothing about limits: the one that reached the top sooner also had more time left to fall. Give both the same number of
# updates *after* the top, and more seeds, and count.
#
# </details>
#

# %% [markdown]
# ## Appendix: what was claimed in 2016
#
# - *Frans's post*: a greater max KL converges faster. On Reacher from 0.001 to 0.01 in the author's runs; in ours see the
#   intervals above, and K1, below, for the same at his own batch size. Whether too great a limit is worse near the end is
#   K2 there. Lecture 09 lets the limit change while learning.
# - *Frans & Hafner 2016* demand that the KL be at most $\delta$ (Algorithm 1, line 6). Their code does not check it: its line
#   search looks at the surrogate alone, and then the full step is taken anyway. What was run under this name is the
#   natural gradient with a fixed KL, not quite TRPO. Did it matter at their limits, 0.001 to 0.01? Above, at 0.01, the worst
#   full step was hardly too long; but we take a damping of 0.1, and their code takes 0.001. The cell below repeats the three runs
#   with theirs. (Their batches and networks were larger: it shows what may happen, not what did.)
# - *The TRPO paper* speaks of guaranteed improvement. The guarantee is for the *largest* KL over all states, with a penalty
#   so strong that steps would be tiny. The method uses the mean, over sampled states, and a hand-picked $\delta$: a heuristic.

# %%
weak = np.array([three_ends(0.01, s, budget(16, 2), damping=0.001) for s in range(budget(3, 1))])[..., 0]
print(
    f"limit 0.01, damping 0.001: full steps above it {100 * np.mean(weak > 1):.0f} %, the worst {weak.max():.1f} x the limit"
)

# %%
show_claims("K1", "K2")

# %% [markdown]
# **Next**: lecture 05a finds better advantages, and 05b puts gradient, direction and length together, and trains.
