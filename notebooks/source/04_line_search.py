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
# **How far may one step go?**
#
# <!-- loop -->
#
# Lecture 01 gave the gradient $g$, lectures 02 and 03 the natural direction $x$, which solves $M x = g$ with
# $M = F + \text{damping}\, I$. One number is missing: the length of the step. A short step wastes the batch of episodes. A
# long step ruins the policy, and with it all batches that it will collect.
#
# | in this notebook | in the package | in the TRPO paper |
# |---|---|---|
# | `surrogate` | `minitrpo/policy_gradient.py` | equation 14 |
# | `step_scale` | `minitrpo/line_search.py` | appendix C: the longest step that the KL limit allows |
# | `backtracking` | `minitrpo/line_search.py` | appendix C: the line search |
#
# *85 minutes in class; the notebook runs in a minute. You need lectures 01 to 03.*

# %%
from collections.abc import Callable

import autograd.numpy as np
import ipywidgets
from autograd import grad
from matplotlib import pyplot as plt

from minitrpo.checks import check, hint, hunt, mine
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, budget, compare, play, reveal
from minitrpo.line_search import LineSearch
from minitrpo.natural_gradient import fisher_vector_product, mean_kl
from minitrpo.policies import Array, Policy
from minitrpo.policy_gradient import policy_gradient
from minitrpo.advantages import discounted_sums

ENV, HIDDEN, DAMPING = "InvertedPendulum-v5", (16, 16), 0.1

# %% [markdown]
# ## Evaluating a policy with another policy's episodes
#
# To choose a length we must compare policies, and to play each of them would cost a batch. Can we evaluate a new policy with
# the actions of the *old* one? Here is a game of one step. The right button has a reward of 1 on average, the left one of 0. The
# old policy presses right one time in five, and a new policy would press right four times in five. We play the old one only:

# %%
rng = np.random.default_rng(0)
right = rng.random(2000) < 0.2  # what the old policy pressed
rewards = right + 0.5 * rng.standard_normal(2000)
ratios = np.where(right, 0.8 / 0.2, 0.2 / 0.8)
print(f"old policy {rewards.mean():.2f}; new policy, from the old one's presses {np.mean(ratios * rewards):.2f}")

# %% [markdown]
# Each press was weighted by the **importance ratio** $\pi_\text{new}(a|s) \,/\, \pi_\text{old}(a|s)$: actions that the new
# policy would take four times as often count four times. On average this is exact, because the old probability in the
# denominator cancels the frequency with which the action was sampled.
#
# The **surrogate** does this for a whole batch of $N$ steps, with the advantages $A_i$ of lecture 01:
#
# $$L(\theta) = \frac1N \sum_{i=1}^N \frac{\pi_\theta(a_i|s_i)}{\pi_{\theta_\text{old}}(a_i|s_i)}\, A_i$$
#
# It is a stand-in, because it reweights actions but not *states*. The new policy will visit other states. Near the old policy
# this matters little.
#
# ### Exercise 1: `surrogate`
#
# A policy's `log_prob(dist_params, actions)` gives $\log \pi(a_i|s_i)$; `dist_params` are the network's outputs in each
# state.

# %% exercise="surrogate"

# %% [markdown]
# ## A batch, a direction
#
# Our world is InvertedPendulum, a pole on a cart simulated by MuJoCo. The policy pushes the cart with a force, each step with
# the pole up has a reward of 1, and the episode ends when the pole falls, or after 1,000 steps. The next cell plays 2,000 steps
# with a fresh policy (standard deviation 1). It prepares what the lecture needs: **standardised** advantages (mean 0, standard
# deviation 1), the gradient, the natural direction, $x^\top M x$ from the residual, and a function `evaluate` for new policies.


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
# At the old policy all ratios are 1, so $L = \bar A$, the mean advantage, and the slope of $L$ is the policy gradient. We call
# $L(\theta) - \bar A$ the **gain**.
#
# ## The KL limit
#
# TRPO (Schulman et al. 2015) trusts $L$ as long as the mean KL from the old policy to the new one, over the states of the
# batch, is at most a limit $\delta$ (`max_kl` in code). All policies within the limit are the **trust region**.
#
# Along the ray $\theta + \beta x$ both quantities have simple models. The gain starts as a line and the KL as a parabola:
#
# $$\text{gain} \approx \beta\, g^\top x, \qquad \text{KL} \approx \tfrac12\, \beta^2\, x^\top M x$$
#
# Set the KL to $\delta$ and solve: $\beta = \sqrt{2 \delta \,/\, x^\top M x}$. The step $\beta x$ is called the **full step**. If
# $x^\top M x$ is not positive there is no such number, and the only safe length is 0. (The docstring calls it `xAx`.)
#
# Two predictions. All advantages are multiplied by 10. How many times longer is the full step? And how many times longer is it
# when $\delta$ is multiplied by 100?

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
# The scale of the rewards drops out, so one `max_kl` suits many tasks. A learning rate would need tuning for each. The length
# grows with the square root of the limit.
#
# </details>
#
# Now compare both models with the truth, along the ray, for $\delta = 0.1$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
fractions = np.linspace(0, 2, 41)


def draw_ray(played, direction, max_kl, trials=()):
    """Draw KL and surrogate gain along the full step, with their models, the limit, and trials of a line search."""
    g, x, curvature, evaluate = direction
    full = mine.step_scale(max_kl, curvature) * x
    gains, kls = np.array([evaluate(played.theta + f * full) for f in fractions]).T
    _, (left, right_) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
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
        axis.legend(fontsize=10, loc="upper left")
    plt.show()


draw_ray(wide, direction, 0.1)

# %% [markdown]
# For this wide policy the models (see the figure) come close to the truth: at the full step the KL is near the limit, and the
# gain is near what the slope predicts. If this were always so, we could stop here.
#
# ## A policy that has nearly decided
#
# As a policy learns, its standard deviation shrinks. Here are six policies with a standard deviation of $e^{-4} \approx 0.02$.
# Each has a newly initialised network, and each plays its own batch. We set the limit to 0.01. In the worst of the six, what is the KL of the full
# step, **as a multiple of the limit**?

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


def kl_with_damping(played, damping):
    """Return the KL of the full step for a limit of 0.01 under another damping."""
    _, x, curvature, evaluate = natural_direction(played, damping=damping)
    return evaluate(played.theta + mine.step_scale(0.01, curvature) * x)[1]


cases = [narrow_case(seed) for seed in range(6)]
at_full = np.array([direction[3](played.theta + step) for played, direction, step in cases])  # gain, KL
worst = int(np.argmax(at_full[:, 1]))
narrow, narrow_direction, narrow_step = cases[worst]
more_damping = np.array([kl_with_damping(played, DAMPING * np.exp(8)) for played, _, _ in cases])


def show_overshoot():
    """Answer the prediction."""
    compare("KL of the full step, worst of six", guess_overshoot, at_full[:, 1].max() / 0.01, "x the limit")
    print("all six:", np.sort(np.round(at_full[:, 1] / 0.01, 1)), "x the limit")
    print("with e^8 times the damping:", np.sort(np.round(more_damping / 0.01, 1)), "x the limit")
    slope = narrow_direction[0] @ narrow_step
    print(f"gain in the worst: predicted by the slope {slope:.4f}, by the surrogate {at_full[worst, 0]:.4f}")
    print(f"above the limit: {np.sum(at_full[:, 1] > 0.01)} of 6, with more damping {np.sum(more_damping > 0.01)} of 6")


reveal(guess_overshoot, show_overshoot)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The KL of a shift of the mean is $(\mu - \mu')^2 / 2\sigma^2$, so $F$ is $e^8 \approx 2981$ times as large as for a standard
# deviation of 1, and a damping of 0.1 has almost no effect. The step then goes far along directions that hardly move the mean,
# until the network bends and they do, and the true KL exceeds the limit. A damping that grows with $F$, by the factor $e^8$, keeps
# such directions short. The last line counts the steps above the limit without it and with it.
#
# </details>
#
# Does a gain of the surrogate at the full step mean that the new policy is better? To find out, we *play* some of the policies
# along the ray of the worst of the six, and compare their returns with the prediction of the surrogate.


# %%
def predicted_change(played):
    """Return the change of the mean return that a batch's surrogate predicts along the ray: gain per step x steps."""
    to_go = discounted_sums(played.episodes.rewards, 0.99, played.episodes.last)
    evaluate = natural_direction(played)[3]
    gains = np.array([evaluate(narrow.theta + f * narrow_step)[0] for f in fractions])
    return gains * to_go.std() * played.episodes.lengths.mean()


played_at = budget(np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0]), np.array([0.0, 1.0, 2.0]))
along_ray = []
for f in played_at:
    returns = play(ENV, budget(6000, 500), narrow.theta + f * narrow_step, seed=100, hidden=HIDDEN).episodes.returns
    along_ray.append((returns.mean(), returns.std() / np.sqrt(len(returns))))
means, errors = np.array(along_ray).T
predicted = means[0] + predicted_change(narrow)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
_, axis = plt.subplots(figsize=(8.5, 3.8))
axis.plot(fractions, predicted, color=BLUE, linewidth=2)
axis.text(2.03, predicted[-1], "predicted by\nthe surrogate", color=BLUE, va="bottom", fontsize=11)
axis.errorbar(played_at, means, errors, fmt="s--", color=PURPLE, capsize=3)
axis.text(2.03, means[-1], "played", color=PURPLE, va="top", fontsize=11)
axis.axvline(1, color=GREY, linewidth=1)
axis.set(
    xlabel="fraction of the full step; bars: standard error", ylabel="mean return", ylim=(0, None), xlim=(-0.05, 2.5)
)
axis.grid(alpha=0.3)
plt.show()
change, error = (means - means[0])[played_at == 1.0][0], np.hypot(errors[0], errors[played_at == 1.0][0])
print(f"change at the full step: predicted {predicted[20] - means[0]:+.1f} steps, played {change:+.1f} +- {error:.1f}")
gap = change - (predicted[20] - means[0])
words = "within twice its standard error" if abs(gap) <= 2 * error else "more than twice its standard error"
print(f"the played policy is {abs(gap):.1f} steps {'worse' if gap < 0 else 'better'} than predicted: {words}")

# %% [markdown]
# Two reasons make the surrogate too optimistic: the direction was fitted to the noise of this batch, and the new policy visits
# states that the batch has never seen. The printed lines say how far prediction and play are apart for your policy. In one
# run on an Intel Xeon the surrogate predicted a gain of about 1 step, and the played policy lost more than 2. So the KL limit must
# be enforced, and we need a way back.
#
# ## Backtracking
#
# Try the full step; while the trial is not acceptable, shrink it by a factor. Trial $k = 0, 1, 2, \dots$ is the policy
# $\theta + \alpha \cdot \text{full step}$ with $\alpha = 0.7^k$, and `evaluate` returns its gain and its KL. Take the first trial
# that passes, and evaluate nothing after it. A trial is refused for one of three reasons; the first that applies counts:
#
# | `reason` | when |
# |---|---|
# | `"not finite"` | gain, KL or a parameter of the trial is infinite or `NaN` |
# | `"KL too large"` | its KL is above `max_kl` (equal is fine) |
# | `"no improvement"` | its gain is not above 0 |
#
# If no trial passes, **return the old parameters**: even the shortest trial was refused. Report the outcome as a `LineSearch`,
# with these fields in order:
#
# - `theta` and `accepted`;
# - `reason`: `"accepted"`, or why the *last* trial failed, or `"zero step"` if the full step is all zeros and there is
#   nothing to try;
# - `trials`: how many policies were evaluated;
# - `gain` and `kl`: both 0 if nothing was accepted;
# - `gain_ratio`: the last trial's gain divided by the gain that the slope predicts *for that trial* (0 if it predicts 0, if the
#   trial was not finite, or if there was none). `expected_gain` is the prediction for the full step.
#
# ### Exercise 3: `backtracking`

# %% exercise="backtracking"


# %% [markdown]
# Back to the worst of the six policies. You know the KL of its full step, and each trial is 0.7 times as long as the one
# before. Which trial will be accepted (1 is the full step)?

# %% prediction="yes"
guess_trial = 6  # number of the trial


# %%
def search_with(played, direction, max_kl):
    """Return the line search from a batch under a limit, and the (gain, KL) of its trials."""
    g, x, curvature, evaluate = direction
    trials = []

    def noted(new):
        trials.append(evaluate(new))
        return trials[-1]

    full = mine.step_scale(max_kl, curvature) * x
    return mine.backtracking(noted, played.theta, full, g @ full, max_kl), trials


def show_trials():
    """Answer the prediction, and draw the trials."""
    search, trials = search_with(narrow, narrow_direction, 0.01)
    compare("accepted trial", guess_trial, search.trials)
    print(f"gain {search.gain:.4f}, KL {search.kl:.4f}")
    at_first = trials[0][1] / 0.01
    k = max(0, int(np.ceil(np.log(at_first) / (2 * np.log(1 / 0.7)))))  # the smallest k with 0.7^2k times it at most 1
    print(f"if the KL were a parabola, {at_first:.1f} x 0.7^(2k) would be at most 1 from k = {k} on: trial {k + 1}")
    draw_ray(narrow, narrow_direction, 0.01, trials)


reveal((guess_overshoot, guess_trial), show_trials)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# If the KL were a parabola, it would shrink by $0.7^2$ with every trial; the last line says which trial would then be the first
# within the limit. A KL that grows faster than a parabola also shrinks faster, and an earlier trial is accepted. If your search
# accepted a later one, the KL grows more slowly there, or the gain of the trials before was not above 0. A trial costs one
# forward pass over the batch, less than one Fisher-vector product.
#
# </details>
#
# *You should know*: Frans's code of 2016 runs a line search, discards its result, and takes the full step.
#
# Drag the slider to see the ray and the trials of the *wide* policy under other limits (it needs a running kernel).


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_limit(log_max_kl=-2.0):
    """Redraw the ray and the trials of the line search under this limit."""
    search, trials = search_with(wide, direction, 10**log_max_kl)
    print(f"limit {10**log_max_kl:.3g}: trial {search.trials} {search.reason}, gain {search.gain:.3f}")
    draw_ray(wide, direction, 10**log_max_kl, trials)


_ = ipywidgets.interact(
    show_limit,
    log_max_kl=ipywidgets.FloatSlider(
        min=-4, max=1, step=0.25, value=-2, description="log10 of the limit", style={"description_width": "initial"}
    ),
)

# %% [markdown]
# ## Bug hunt
#
# This mistake shows only when every trial fails, so it can stay in a library for years. `suspect` refuses and accepts
# correctly, and reports truthfully that it failed. Yet it does harm. Where?


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
# **The bug**: the last line returns `new`, the last trial, which has just been refused; it should return `theta`. The report
# says "not accepted", but the caller goes on with the refused parameters. The last trial is a tiny step, so the harm is hard to
# see, unless it is not finite. Tianshou's TRPO had this bug until February 2026 (pull request 1287).

# %% [markdown]
# ## Quiz
#
# **1.** The surrogate predicts that the full step gains 0.3. Do you believe it when the KL is 0.005? When it is 5?
#
# <details><summary>Answer</summary>
#
# Near the old policy yes. Far away no: it reweights *actions* in the states that the old policy visited, and the new one
# visits other states. A larger batch does not help against this.
#
# </details>
#
# **2.** Why does a limit on the KL carry over from task to task better than a learning rate?
#
# <details><summary>Answer</summary>
#
# Multiply all rewards by 10: the plain step grows tenfold, the full step stays. And nats measure what the policy does, whether
# it is wide or narrow.
#
# </details>
#
# **3.** One run with limit 0.1 falls back after it had reached the top, one with 0.01 does not. What do you conclude?
#
# <details><summary>Answer</summary>
#
# Nothing about limits. The run that reached the top sooner also had more time left to fall. Compare the same number of updates
# *after* the top, over many seeds.
#
# </details>
#
# ## Summary
#
# - The surrogate evaluates a policy with another policy's episodes. It is good only nearby.
# - The full step has the KL $\delta$ in the quadratic model, whatever the scale of the rewards.
# - The true KL can be much larger, above all for a narrow policy.
# - Backtracking shortens the step until KL and surrogate agree, and keeps the old policy if they never do.
#
# ## Open questions
#
# Answer each question with one figure and three sentences.
#
# **A.** `recorded("04_limits.csv")` (from `minitrpo.course.classroom`) holds ten runs on InvertedPendulum for each of the limits
# 0.01 and 0.1. Plot the mean return over the updates, one thin line for each run. When does each limit first reach 900, and how
# many of ten runs fall below 400 within ten updates after that? Explain which of the two differences is significant.
#
# **B.** Let the narrow policy play ten fresh batches (`play(ENV, 2000, narrow.theta, seed=200 + k, hidden=HIDDEN)`), and draw
# `predicted_change` of each into the figure of played returns. Explain which part of the wrong prediction was the noise of the
# first batch, and which part a new batch cannot correct.
#
# **Next**: lecture 05a finds better advantages. Lecture 05b puts gradient, direction and length together, and trains.
