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
# # 11 From online actor-critic to A3C, and Q
#
# **Why not learn at every step?**
#
# <!-- loop -->
#
# TRPO collects thousands of steps for one update. Why collect at all? A step is experience, too: learn from it, and go on. Today you do so, see what becomes of it, and mend it in three ways that
# made a family: look further ahead, play in many places, and let nobody wait.
#
# | in this notebook | in the package | in the papers |
# |---|---|---|
# | `bootstrapped_returns`, `loss_gradient` | `minitrpo/algorithms/actor_critic/loss.py` | Mnih et al. 2016, algorithm S3 (A3C) |
# | `descend` | `minitrpo/algorithms/asynchronous.py` | Mnih et al. 2016: a shared optimiser |
# | `sarsa_targets` | `minitrpo/algorithms/q_learning/targets.py` | Rummery & Niranjan 1994; Watkins 1989 for Q |
#
# *90 minutes in class with the four exercises; the notebook itself runs in under a minute. You need: lectures 01, 05a
# and 10.*

# %%
import csv
import json
import time

import ipywidgets
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import default_rng

from minitrpo.algorithms.actor_critic.loss import OPTIMISER, ActorCritic, ActorCriticSettings
from minitrpo.algorithms.asynchronous import Arrays
from minitrpo.algorithms.q_learning.targets import one_step_q_targets
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, play, recorded, reveal, train
from minitrpo.course.seeds import difference_in_words, family_of, ratio_in_words
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.fragments import concatenate
from minitrpo.experience.make_vector_env import make_vector_env
from minitrpo.experience.rollouts import Rollouts
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import Optimiser, adam, clipped_norm, initial_state
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import ParameterServer, Tally, staleness_of
from minitrpo.perceptron import Linearisation
from minitrpo.policies import Array
from minitrpo.reports.statistics import mean_interval
from minitrpo.returns import discounted_sums, next_values
from minitrpo.run_folder.folder import sha256

# %% [markdown]
# ## What one step teaches
#
# Lecture 05a has the TD error, $e_t = r_t + \gamma V(s_{t+1}) - V(s_t)$: one step's estimate of the advantage. It says both
# things that are to be learned. The **actor** makes $a_t$ likelier if $e_t > 0$; the **critic** moves $V(s_t)$ towards
# $r_t + \gamma V(s_{t+1})$. No episode has to end for that.
#
# Nor does it have to be one step. Take $n$, and put $V$ behind the last of them:
#
# $$R_t = r_t + \gamma r_{t+1} + \dots + \gamma^{n-1} r_{t+n-1} + \gamma^n V(s_{t+n}).$$
#
# A3C plays a fragment of $n$ steps and gives *every* step of it the return to the fragment's end: the first looks $n$
# steps ahead, the last a single one. That is one walk backwards, $R_t = r_t + \gamma R_{t+1}$, from $R = V$ behind the cut, or
# from $R = 0$ where the task terminated.
#
# ### Exercise 1: `bootstrapped_returns`

# %% exercise="bootstrapped_returns"

# %% [markdown]
# Stuck? `hint("bootstrapped_returns")`, then `hint("bootstrapped_returns", 2)`; the same for every exercise.
#
# How large should $n$ be? Here is a game whose values are known. **The corridor**: places 0 to 20, a fair coin steps left or
# right; who reaches 20 gets 1, who reaches 0 nothing. Place $i$ is worth $i / 20$. (It is Sutton & Barto's 19-state random
# walk, their example 7.1, with other pay.) The critic's $V$ is a mixture: `known` of it is the truth, the rest says 0.5 everywhere. We start at place 14, worth 0.7, and average the $n$-step returns of some
# simulators. Two errors: the **bias** stays however many are averaged; the **spread** shrinks. Drag (it needs a running kernel):
# where is the lowest point of the black curve if the critic knows nothing, half, nearly all? What do more simulators change?

# %% jupyter={"source_hidden": true} tags=["hide-input"]
LOOKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
coins = default_rng(0).choice((-1, 1), (1000, LOOKS[-1]))
walks = np.empty((1000, LOOKS[-1] + 1), int)
walks[:, 0] = 14
for t in range(LOOKS[-1]):
    at = walks[:, t]
    walks[:, t + 1] = np.where((at == 0) | (at == 20), at, at + coins[:, t])  # who is at an end stays there


def returns_at_14(n, known):
    """Return the n-step return of the first step of each walk."""
    V = known * np.arange(21) / 20 + (1 - known) * 0.5
    over = (walks == 0) | (walks == 20)
    steps = np.minimum(np.where(over.any(axis=1), over.argmax(axis=1), LOOKS[-1]), n)  # of each walk's fragment
    last = np.cumsum(steps) - 1
    final = walks[np.arange(len(walks)), steps]
    rewards, cut, terminated = np.zeros(steps.sum()), np.zeros(steps.sum(), bool), np.zeros(steps.sum(), bool)
    rewards[last], cut[last], terminated[last] = final == 20, True, (final == 0) | (final == 20)
    return mine.bootstrapped_returns(rewards, V[final], cut, terminated, 1.0)[last - steps + 1]


def draw_corridor(n=16, known=0.5, simulators=16):
    """Redraw the returns and their errors."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.6), layout="constrained")
    found = {look: returns_at_14(look, known) for look in LOOKS}
    left.hist(found[n], np.linspace(-0.025, 1.025, 22), color=BLUE, weights=np.full(1000, 0.1))
    left.axvline(0.7, color=RED, linestyle="--", label="truth: 0.7")
    left.axvline(found[n].mean(), color="black", label=f"mean {found[n].mean():.2f}")
    left.set(xlabel=f"return that looks {n} steps ahead", ylabel="% of 1,000 walks", xlim=(-0.05, 1.05))
    left.legend(fontsize=9, loc="upper left")
    bias = np.array([abs(found[look].mean() - 0.7) for look in LOOKS])
    spread = np.array([found[look].std() for look in LOOKS]) / np.sqrt(simulators)
    both = np.sqrt(bias**2 + spread**2)
    right.plot(LOOKS, bias, "o-", color=ORANGE, label="bias")
    right.plot(LOOKS, spread, "s-", color=GREEN, label=f"spread of a mean of {simulators}")
    right.plot(LOOKS, both, "-", color="black", linewidth=2, label="both: root of the sum of squares")
    right.plot(n, both[LOOKS.index(n)], "o", color="black", markersize=10)
    right.set(xscale="log", xticks=LOOKS, xticklabels=LOOKS, xlabel="n, steps ahead", ylabel="error", ylim=(0, 0.5))
    right.minorticks_off()
    right.grid(alpha=0.3)
    right.legend(fontsize=9)
    plt.show()


draw_corridor()

# %%
_ = ipywidgets.interact(
    draw_corridor,
    n=ipywidgets.SelectionSlider(options=LOOKS, value=16, continuous_update=False),
    known=ipywidgets.FloatSlider(min=0, max=1, step=0.1, value=0.5, continuous_update=False),
    simulators=ipywidgets.SelectionSlider(options=(1, 4, 16, 64, 256), value=16, continuous_update=False),
)

# %% [markdown]
# One step ahead is mostly bias: one learns what the critic believes. Far ahead is all luck. So $n$ depends on the critic and on the
# number of simulators. (With 16 the lowest point lies at 32 if it knows nothing or half, at 1 if 0.9; with 256 and nothing, at 64.)
#
# ## The loss of two networks
#
# Policy and value function are two networks in one vector, $\theta$ = (policy, value). One loss moves both, over $N$ steps:
#
# $$\text{mean of} \quad -\log \pi(a|s)\, A \;-\; 0.01 \cdot \text{entropy} \;+\; 0.5 \cdot \tfrac12 (R - V(s))^2,
# \qquad A = R - V(s).$$
#
# The entropy pays the policy for staying undecided. Two things are **constants** here although $\theta$ is in them. $A$, or
# the actor's loss would push the critic; and $R$, although $V$ stands at its end: the critic shall move to the target, not
# the target to the critic.
#
# Two objects do the derivatives, written out by hand. `at`, a `LogProbability`, knows $\log \pi$ of these actions in these
# states: `at.weighted_gradient(w, c)` is $\sum w_t \nabla \log \pi(a_t|s_t) + c \sum \nabla \text{entropy}$. `value`, a
# `Linearisation`, is a network at these states: `value.outputs` are the $V(s_t)$, `value.transposed_product(u)` is
# $\sum u_t \nabla V(s_t)$. `clipped_norm(vector, largest)` shortens a vector longer than `largest`. The three numbers are
# `settings.entropy_weight`, `settings.value_weight` and `settings.max_gradient_norm`.
#
# ### Exercise 2: `loss_gradient`

# %% exercise="loss_gradient"

# %% [markdown]
# Now all of it: `envs` simulators take `n` steps each, then **Adam** takes one (Kingma & Ba 2015): a running mean of the
# gradients, over the root of a running mean of their squares. So a parameter moves by about the step size, however small
# its gradients. `Rollouts.advance` (given) plays on where the last fragment was cut.

# %%
spec = describe("CartPole-v1")
model = ActorCritic(spec.policy((64, 64)))
settings = ActorCriticSettings(max_gradient_norm=np.inf)  # entropy_weight 0.01, value_weight 0.5
AS_SEEN = ObservationFilter.identity(spec.observation_size, clip=np.inf)  # observations as they are


def simulators(seed, envs):
    """Return so many CartPoles."""
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
    """Return theta after so many environment steps."""
    theta = model.initialise(default_rng(seed))
    memory, home = initial_state("adam", len(theta)), simulators(1_000_000 * seed, envs)
    for _ in range(0, total, envs * n):
        fragments = concatenate(home.advance(theta, AS_SEEN, 1, range(envs), envs, n))
        memory, step = adam(memory, gradient_of(theta, fragments), step_size)
        theta = theta - step
    return theta


# %% [markdown]
# `practise(1, 1, ...)` is the **online actor-critic**: one simulator, an update after every step. We ran it, and three relatives, for
# 20,000 steps of CartPole, with three step sizes and five seeds: 15 runs each. Every 2,000 steps 16 fresh episodes say what the
# policy is worth: its **score**, at most 500.
#
# A fresh policy scores about 22. A policy that has become certain, and always pushes the same way, scores 9. We call a run
# *collapsed* if at any of the ten marks it scores below 15; some get up again. **How many of the 15 online runs collapse?**

# %% prediction="yes"
guess_online = 3  # runs of 15: one simulator, every step

# %%
took = {(1, 1): [], (16, 5): []}
for seed in range(3):
    for envs, n in took:
        began = time.process_time()  # seconds of this process alone, whatever else runs
        practise(envs, n, seed, step_size=1e-3, total=budget(8000, 1600))
        took[envs, n].append(time.process_time() - began)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
own = {}  # (what, workers, envs, n, step size) -> {seed: [(environment steps, score)]}
for row in csv.DictReader(recorded("11_actors.csv").read_text().splitlines()):
    key = row["what"], int(row["workers"]), int(row["envs"]), int(row["n"]), float(row["step_size"])
    own.setdefault(key, {}).setdefault(int(row["seed"]), []).append((int(row["env_steps"]), float(row["score"])))


def online(envs, n):
    """Return the scores of the recorded runs, {step size: (seeds, 10)}."""
    sizes = [key[-1] for key in own if key[:4] == ("online", 1, envs, n)]
    return {a: np.array([[s for _, s in curve] for curve in own["online", 1, envs, n, a].values()]) for a in sizes}


def collapsed(envs, n):
    """Return how many runs score below 15 at some mark."""
    return sum(int(np.sum(scores.min(axis=1) < 15)) for scores in online(envs, n).values())


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_online():
    """Answer the prediction; draw all runs."""
    compare("online: runs of 15 that collapse", guess_online, collapsed(1, 1))
    ratios = np.divide(took[1, 1], took[16, 5])
    print(
        f"and in seconds it takes {np.median(ratios):.1f} times as long as 16 simulators with an update every 5 steps"
    )
    print(f"  (median of three, measured just now: {ratios.min():.1f} to {ratios.max():.1f})")
    one, sixteen = (online(envs, 5)[1e-3][:, -1] for envs in (1, 16))
    print(
        "every 5 steps, step size 0.001: one simulator's last score less sixteen's:", difference_in_words(one, sixteen)
    )
    _, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained", sharey=True)
    for axis, (envs, n) in zip(axes, ((1, 1), (1, 5), (16, 1), (16, 5))):
        for (size, scores), color in zip(online(envs, n).items(), (BLUE, GREEN, ORANGE)):
            axis.plot(np.arange(2, 21, 2), scores.T, color=color, alpha=0.35, linewidth=1)
            axis.plot(np.arange(2, 21, 2), scores.mean(axis=0), color=color, linewidth=2.5, label=f"step size {size:g}")
        every = "every step" if n == 1 else f"every {n} steps"
        title = f"{envs} simulator{'s' * (envs > 1)}, {every}"
        axis.set(xlabel="thousand steps", title=f"{title}: {collapsed(envs, n)} collapse", ylim=(0, 510))
        axis.title.set_fontsize(10)
        axis.grid(alpha=0.3)
        axis.axhline(15, color=GREY, linestyle=":", linewidth=1.5, label="collapsed below 15")
    axes[0].set_ylabel("score (thick: mean of 5 seeds)")
    axes[2].legend(fontsize=9, loc="upper left")
    plt.show()


reveal(guess_online, show_online)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Of the runs that look *one* step ahead 14 of 30 collapse, of those that look five ahead 1 of 30 (43 points fewer, 95 %
# interval 22 to 61). With $n = 1$ both networks live on what the critic believes, the critic learns from itself, and one
# surprise moves all weights: Adam's steps do not shrink with the gradients. (All collapsed runs of the first panel have the
# largest step size. One *can* learn at every step, with small steps.)
#
# Per environment *step* one simulator with $n = 5$ is even ahead of sixteen: it makes sixteen times as many updates. What are many
# simulators for, then? For *seconds*: an update takes far longer than a step, and sixteen simulators share it. So not at every
# step, for two reasons: a lesson from one step is a poor one, and it costs more than the step itself. (Few of these runs are calm:
# in 29 of 60 a score is less than half of an earlier one. The package's presets let the step size fall to 0. And 15 is a
# border drawn by us: a run that is at 12 for a while and learns on counts, too.)
#
# </details>
#
# ## Sixteen steps are not sixteen samples
#
# An update from sixteen steps *in a row*, or from one step in each of sixteen places: does it matter? If 16 gradients were independent,
# the variance of their mean would be a 16th of one's; correlated, it is larger, as if there were fewer of them. We take 4,000 steps
# of a fresh policy, with one-step errors $e_t$, and ask how many *independent* steps 16 are worth: for the gradients of the actor
# and of the critic; as long as the critic is fresh ($V$ about 0 everywhere), and once it has been fitted to what really followed.
#
# **The critic's gradient, with a fresh critic: how many steps are 16 in a row worth?** And which of the other three will differ?

# %% prediction="yes"
guess_fresh = 8  # steps of 16

# %%
played = play("CartPole-v1", steps=4000)
theta = model.initialise(default_rng(0))
actor, critic = model.split(theta)  # views: what changes them changes theta
actor[:] = played.theta
home = simulators(7, 16)  # 16 real simulators, 250 steps each: rows 16 k to 16 k + 15 are one step of all of them
crowd = concatenate([f for _ in range(250) for f in home.advance(theta, AS_SEEN, 1, range(16), 16, 1)])


def td_errors(e):
    """Return e_t of all steps, with the critic as it is."""
    V, final = model.values(theta, e.observations), model.values(theta, e.final_observations)
    return e.rewards + 0.99 * next_values(V, final, e.last, e.terminated_steps) - V


def products(e, rows):
    """Return all products of two mean gradients, (2, groups, groups), actor's and critic's, of these steps (groups, 16)."""
    errors, means = td_errors(e), []
    for i in rows:
        at = LogProbability(model.policy, actor, e.observations[i], e.actions[i])
        value = Linearisation(critic, model.value_sizes, e.observations[i])
        slopes = errors[i] / len(i)
        means.append((at.weighted_gradient(slopes), value.transposed_product(-slopes[:, None])))
    return np.array([np.array(part) @ np.array(part).T for part in zip(*means)])


def variances(e, rows, rng):
    """Return the variance of the mean gradients, (2, 1 + 1000), of all groups, and of 1,000 draws with replacement."""
    found, drawn = products(e, rows), rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), 1000)
    shares = np.concatenate([np.ones((1, len(rows))), drawn]) / len(rows)
    return np.array([shares @ np.diag(part) - np.sum(shares @ part * shares, axis=1) for part in found])


def worth(e):
    """Return what 16 neighbouring rows are worth in independent ones, for actor and critic; 1,000 draws behind each."""
    rows, rng = np.arange(4000).reshape(-1, 16), default_rng(1)
    return 16 * variances(e, default_rng(0).permutation(rows.ravel()).reshape(-1, 16), rng) / variances(e, rows, rng)


# %%
e = played.episodes
found = {("fresh", "in a row"): worth(e), ("fresh", "16 simulators"): worth(crowd)}
followed = discounted_sums(e.rewards, 0.99, e.last)
memory = initial_state("adam", len(critic))
for _ in range(budget(300, 100)):
    value = Linearisation(critic, model.value_sizes, e.observations)
    slopes = (value.outputs[:, 0] - followed)[:, None] / len(followed)
    memory, step = adam(memory, value.transposed_product(slopes), 0.01)
    critic -= step
found |= {("fitted", "in a row"): worth(e), ("fitted", "16 simulators"): worth(crowd)}


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_worth():
    """Answer the prediction; print all cells of the table, each with the interval of its draws."""
    compare(
        "critic's gradient, fresh critic: 16 in a row are worth", guess_fresh, found["fresh", "in a row"][1][0], "steps"
    )
    print(f"\n{'':16s} {'':16s} actor's gradient     critic's gradient")
    for (critic_is, where), both in found.items():
        cells = (
            f"{each[0]:4.1f} ({np.quantile(each[1:], 0.025):.1f} to {np.quantile(each[1:], 0.975):.1f})"
            for each in both
        )
        print(f"{critic_is + ' critic':16s} {where:16s} {'  '.join(f'{cell:19s}' for cell in cells)}")


reveal(guess_fresh, show_worth)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# In a row, two of the four cells are small and two are not. A gradient has a part that repeats from step to step and a part
# that does not; only the second averages out. **Steps in a row are worth few where the part that repeats is the larger one.** With
# a fresh critic that is the *critic's* gradient: where $V$ is wrong, neighbours are wrong in the same way, and push the same weights
# in the same direction sixteen times. (The actor has everything to learn then, and its sixteen are worth sixteen: $e_t$ is about 1 at
# every step, and which way the action's noise pushes changes each time.) Once $V$ is right, $e_t$ is pure surprise, unrelated to the
# surprise before, and the critic's sixteen are worth sixteen. Then it is the *actor's* turn: a pole that leans right teaches "push
# right" as long as it leans. (A critic that was fitted on another batch than the one it is measured on gives nearly the same: three
# of them gave 17 to 20 for the critic's gradient, and 3.7 to 3.8 for the actor's.)
#
# Sixteen simulators are worth about sixteen in all four cells: no store of experience is needed to mix what they say (lecture 13 has
# one). That holds as long as they *are* in different places. Poles fall, and so get out of step by themselves; pendulums do not, and
# in lecture 12 sixty-four of them are all at one moment of their episode.
#
# </details>
#
# Sixteen simulators, five steps, one update, everybody waits: that is **A2C**, the synchronous advantage actor-critic.
#
# > **A2C.** Repeat:
# > 1. each of $W$ numbered simulators plays $n$ steps with $\pi_\theta$, from where it stood;
# > 2. returns: $R_t = r_t + \gamma R_{t+1}$, from $V(s)$ behind a cut, from 0 where the task terminated;
# > 3. advantages: $A_t = R_t - V(s_t)$, a constant from here on;
# > 4. gradient $g$ of the loss above, over all $W n$ steps; *everybody waits here*;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$.
#
# Numbered simulators, so lecture 07's fingerprint does not care who plays them:

# %%
TASK, rates = ("--env", "CartPole-v1", "--total-steps", budget(20_000, 4000)), {}
TASK = (*TASK, "--oversubscribe")  # both ranks work; A2C as typed leaves steps as light as these to one of them


def steps_per_second(algorithm, ranks):
    """Train, keep how many environment steps a second took, and return the run."""
    run = train(ranks, "--algorithm", algorithm, *TASK)
    columns = run.columns()
    rates[algorithm, ranks] = columns["env_steps"][-1] / columns["time_s"][-1]
    return run


for ranks in (1, 2):
    run = steps_per_second("a2c", ranks)
    print(f"{ranks} rank(s): theta {sha256(run.load_checkpoint()['theta'])[:24]}...")

# %% [markdown]
# (Equal on any number of ranks; on another kind of processor all of them are others.)
#
# ## Nobody waits
#
# A2C meets at a barrier every five steps. **A3C** (asynchronous advantage actor-critic) leaves the barrier out, as lecture 10's
# server did. A worker's life:
#
# > **A3C.** Each worker, for itself, with one shared $\theta$:
# > 1. $\theta' \leftarrow \theta$, as it is now: *pull*;
# > 2. play $n$ steps with $\pi_{\theta'}$, from where it stood; meanwhile others push;
# > 3. returns and advantages as in A2C, with $V$ of $\theta'$;
# > 4. gradient $g$ of the loss at $\theta'$;
# > 5. $\theta \leftarrow \theta - \text{Adam}(g)$, in place, with the shared optimiser: *push*. Nobody waits.
#
# Now a late gradient is late in *two* ways: it was computed at old parameters, and from experience of an **old policy**.
#
# All workers share one optimiser, too: `shared` has `theta`, and Adam's arrays under names such as `optimiser_moment`, all in memory that
# every rank looks at. That is where the trap is. `x = x - step` makes a new array under the old name; the others go on looking at
# the old one. `x -= step` and `x[:] = ...` write into it. The optimiser knows its arrays without the prefix (`moment`, not
# `optimiser_moment`), and looks at no others: take the prefix off before you call it, and put it back on to write. If the prefix is
# empty all arrays match, `theta` among them; it may be handed over, the optimiser leaves it alone.
#
# ### Exercise 3: `descend`

# %% exercise="descend"

# %% [markdown]
# A3C, whole, with lecture 10's event queue: every gradient takes about one second of a drawn clock.


# %%
def practise_late(workers, seed, step_size, total, envs=8, n=5):
    """Return theta after so many environment steps, and how old the gradients were."""
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
    works = [work_of(simulators(1_000_000 * seed + 1000 * worker, envs)) for worker in range(workers)]
    queue = EventQueue(server, works, ("theta",), lambda worker, clock: 1 + 0.1 * rng.exponential())
    for _ in range(0, total, envs * n):
        queue.play()
    return shared["theta"], server.tally.histogram.sum(axis=0)


total = budget(8000, 1600)
alone, _ = practise_late(1, seed=0, step_size=1e-3, total=total)
print("one worker alone is the actor-critic with 8 simulators, to the bit:",
      np.array_equal(alone, practise(8, 5, seed=0, step_size=1e-3, total=total)))  # fmt: skip
_, ages = practise_late(16, seed=0, step_size=1e-3, total=total)
print(f"sixteen workers: mean staleness {staleness_of(ages)[0]:.1f} updates; lecture 10's law says 15 in the long run:")
print(f"  the first sixteen of these {ages.sum()} pushes are 0 to 15 old, not yet 15")

# %% [markdown]
# What do sixteen late workers cost? We measured *environment steps* until the score, looked at every 6,000, is first at 450: with 1, 4
# and 16 workers of 8 simulators, each with the best of three step sizes (0.001, 0.003 and 0.01), five seeds; and beside them A2C,
# which waits, with 8, 32 and 128 simulators. Some runs do not get there within 120,000 steps. So we compare *medians*, which do not
# care how late "never" is, and ask the ranks whether two groups of five differ at all.
#
# **How many times as many steps do 16 late workers need as one?** (They play sixteen times as many steps a second. So 16 would
# mean that nothing is gained.)

# %% prediction="yes"
guess_late = 2  # times the steps, 16 late workers


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def steps_to_450(what, workers):
    """Return the best step size, by its median, and its seeds' steps to a score of 450; infinity: not reached."""
    found = {}
    for key, curves in own.items():
        if key[:2] == (what, workers):
            ends = [curve[-1] for curve in curves.values()]
            found[key[-1]] = np.array([steps if score >= 450 else np.inf for steps, score in ends])
    best = min(found, key=lambda size: np.median(found[size]))
    return best, found[best]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_late():
    """Answer the prediction; draw steps, and seconds if nobody waited."""
    pairs = {"16 late workers / one": (("late", 16), ("late", 1)), "A2C, 128 simulators / 8": (("together", 16), ("together", 1)),
             "128 simulators, waiting / late": (("together", 16), ("late", 16))}  # fmt: skip
    steps = {kind: steps_to_450(*kind)[1] for pair in pairs.values() for kind in pair}
    compare("steps, 16 late workers / one", guess_late, np.median(steps["late", 16]) / np.median(steps["late", 1]))
    for words, (one, other) in pairs.items():
        print(f"  {words}: {ratio_in_words(steps[one], steps[other])}")
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    names = {"late": ("late (A3C)", ORANGE, "o"), "together": ("together (A2C)", BLUE, "s")}
    for what, (label, color, marker) in names.items():
        best, steps = zip(*(steps_to_450(what, workers) for workers in (1, 4, 16)))
        print(f"{label}: best step sizes {best}")
        for axis, scale in ((left, np.ones(3)), (right, 40.0 * np.array([1, 4, 16]))):
            shown = np.array(steps) / scale[:, None] / (1000 if axis is left else 1)
            free = ", if waiting were free" if (axis, what) == (right, "together") else ""
            axis.plot((1, 4, 16), np.median(shown, axis=1), marker=marker, color=color, label=label + free)
            axis.plot((1, 4, 16), shown, ".", color=color, alpha=0.5)
        for place, each in enumerate(steps):  # on the upper edge: how many never arrived
            if never := int(np.isinf(each).sum()):
                left.text((1, 4, 16)[place], 122, f"{never} never", color=color, ha="center", fontsize=9)
    left.set(ylabel="thousand environment steps to 450", ylim=(0, 130))
    right.set(ylabel="seconds to 450, an update a second", yscale="log")
    for axis in (left, right):
        axis.set(
            xlabel="workers of 8 simulators", xscale="log", xticks=(1, 4, 16), xticklabels=(1, 4, 16), xlim=(0.8, 20)
        )
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(
            fontsize=9, title="median; dots: seeds", title_fontsize=9, loc="best" if axis is right else (0.02, 0.5)
        )
    plt.show()


reveal(guess_late, show_late)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Sixteen late workers are not told from one: by Welch's interval their gradients cost from half the steps to four times as many. It
# is nowhere near sixteen, so they are there sooner in any case. (With one worker both curves are the same runs. Sixteen late
# ones did best with the smallest step size tried; a smaller one might have served them better.) The barrier does cost steps:
# with 128 simulators every one of five runs is later than every one with 8, because an update is *one* step of Adam for 640
# environment steps. Whether waiting costs more steps than being late these runs cannot tell. And it holds as long as late means a
# few small steps (lecture 10: the later, the smaller the step size); our runs are too few to show where it ends.
#
# </details>
#
# And on real ranks, in shared memory, without a lock? **How many times as many environment steps a second do two ranks take as one,
# with A2C and with A3C?**

# %% prediction="yes"
guess_a2c = 1.5  # steps/s on two ranks / on one, A2C
guess_a3c = 1.5  # steps/s on two ranks / on one, A3C

# %% jupyter={"source_hidden": true} tags=["hide-input"]
seconds = json.loads(recorded("11_seconds.json").read_text())
for ranks in (1, 2):
    steps_per_second("a3c", ranks)


def show_real():
    """Answer the prediction: recorded ratios, and the run of just now."""
    for algorithm, guess in (("a2c", guess_a2c), ("a3c", guess_a3c)):
        ratio, low, high = seconds["two_to_one"][algorithm]
        compare(f"{algorithm}: steps/s, two ranks / one", guess, ratio)
        here = rates[algorithm, 2] / rates[algorithm, 1]
        print(
            f"  median of {seconds['rounds']}, 95 % interval {low:.2f} to {high:.2f}; here, just now, once: {here:.2f}"
        )
    ratio, low, high = seconds["a3c_to_a2c"]
    print(f"on two ranks A3C takes {ratio:.2f} times as many steps/s as A2C (95 % interval {low:.2f} to {high:.2f}),")
    print(f"with gradients that are {seconds['staleness']:.2f} updates old on average (two equal ranks: at most 1)")
    if seconds["largest_load_average"] > seconds["cores"] + 1:
        print("(recorded while other programs were at work, too: see the intervals)")


reveal((guess_a2c, guess_a3c), show_real)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With a barrier every 80 steps two ranks are half as fast as one: meeting costs more than they save in playing. Without one
# they are twice as fast. The price of asynchrony is elsewhere: no two runs give the same bits (lecture 07's fingerprint is
# lost), and nothing can be repeated, unless in the event queue. What it costs in steps is in the appendix.
#
# </details>
#
# *Here a lecture may end: what follows stands on its own.*
#
# ## Q: the value of doing
#
# The same frame carries methods without an actor. Learn $Q(s, a)$, the value of doing $a$ in $s$; act mostly by the largest $Q$,
# and with probability $\epsilon$ at random, or nothing new is ever tried (**epsilon-greedy**). What is one step's target?
#
# - **one-step Q**: $y = r + \gamma \max_a Q(s', a)$, as if from now on the best were done;
# - **Sarsa**: $y = r + \gamma\, Q(s', a')$, with the $a'$ that is *really* done next, random or not;
# - **n-step Q**: $n$ rewards, then the max.
#
# And where the task terminated, $r$ alone. The target with max speaks of a policy that is not the one that acts: it is
# **off-policy** (lecture 13 makes much of that). Sarsa's is **on-policy**.
#
# ### Exercise 4: `sarsa_targets`

# %% exercise="sarsa_targets"

# %% [markdown]
# Does it matter whether one learns of the best action or of one's own? **The cliff** (Sutton & Barto, example 6.6): from the lower left to
# the lower right corner of a 12 x 4 grid, every step costs 1. Between the two corners the lower edge is a cliff: who steps there
# pays 100 and starts again. Here $\epsilon = 0.1$ for ever, and $Q$ is a table.


# %%
def move(place, action):
    """Return the next place (12 y + x), the reward, and whether the goal is reached; 0 up, 1 right, 2 down, 3 left."""
    x = min(max(place % 12 + (0, 1, 0, -1)[action], 0), 11)
    y = min(max(place // 12 + (1, 0, -1, 0)[action], 0), 3)
    if y == 0 and 0 < x < 11:
        return 0, -100.0, False  # the cliff
    return 12 * y + x, -1.0, y == 0 and x == 11


def walk_the_cliff(targets, seed, episodes):
    """Return the table Q (48, 4) and the return of each episode; targets(r, over, Q(s', .), a'), one step each."""
    rng, q, returns = default_rng(seed), np.zeros((48, 4)), []

    def choose(place):  # epsilon-greedy; tiny random numbers decide between equal Q
        return int(rng.random() * 4) if rng.random() < 0.1 else int(np.argmax(q[place] + 1e-9 * rng.random(4)))

    for _ in range(episodes):
        place, action, over = 0, choose(0), False
        returns.append(0.0)
        while not over:
            after, reward, over = move(place, action)
            then = choose(after)
            y = targets(np.array([reward]), np.array([over]), q[after][None], np.array([then]))
            q[place, action] += 0.2 * (y[0] - q[place, action])
            place, action = after, then
            returns[-1] += reward
    return q, np.array(returns)


RULES = {
    "one-step Q": lambda r, over, next_q, then: one_step_q_targets(r, over, next_q, 1.0),
    "Sarsa": lambda r, over, next_q, then: mine.sarsa_targets(r, over, next_q, then, 1.0),
}
cliff = {
    name: [walk_the_cliff(rule, seed, budget(500, 200)) for seed in range(budget(5, 2))] for name, rule in RULES.items()
}

# %% [markdown]
# The shortest way takes 13 steps: a return of -13. **What mean return do Q and Sarsa reach over the last 100 episodes, exploration
# included?**

# %% prediction="yes"
guess_q = -20  # return per episode
guess_sarsa = -20  # return per episode


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def greedy_path(q):
    """Return the places on the way of the largest Q."""
    path = [0]
    while path[-1] != 11 and len(path) < 40:
        path.append(move(path[-1], int(q[path[-1]].argmax()))[0])
    return np.array(path)


def show_cliff():
    """Answer the prediction; draw both ways and the returns."""
    late = {name: np.array([returns[-100:].mean() for _, returns in runs]) for name, runs in cliff.items()}
    compare("one-step Q", guess_q, late["one-step Q"].mean())
    compare("Sarsa", guess_sarsa, late["Sarsa"].mean())
    gap = late["Sarsa"] - late["one-step Q"]
    print(f"  Sarsa less Q, seed by seed: {mean_interval(gap):.0f}, 95 % interval of {len(gap)} seeds")
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 3.3), layout="constrained", width_ratios=(3, 2))
    left.add_patch(plt.Rectangle((0.5, -0.5), 10, 1, color=GREY, alpha=0.4))
    left.text(5.5, 0, "cliff", ha="center", va="center")
    for (name, runs), color, shift in zip(cliff.items(), (RED, BLUE), (-0.08, 0.08)):
        for seed, (q, _) in enumerate(runs):
            path = greedy_path(q)
            label = name if seed == 0 else None
            left.plot(path % 12 + shift, path // 12 + shift, ".-", color=color, alpha=0.5, label=label)
        means = np.mean([returns for _, returns in runs], axis=0)
        right.plot(np.convolve(means, np.ones(20) / 20, "valid"), color=color, label=name)
    left.set(xlim=(-0.5, 11.5), ylim=(-0.5, 3.5), xticks=range(12), yticks=range(4), title="the way of the largest Q")
    left.title.set_fontsize(10)
    left.set(xlabel="x", ylabel="y")
    for x, name in ((0, "S"), (11, "G")):
        left.text(x, -0.4, name, ha="center", fontsize=11, fontweight="bold")
    left.legend(fontsize=9, loc=(0.4, 0.5))
    right.set(xlabel="episode", ylabel="return (mean of 20, 5 seeds)", ylim=(-150, 0))
    right.grid(alpha=0.3)
    right.legend(fontsize=9)
    plt.show()


reveal((guess_q, guess_sarsa), show_cliff)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# Q learns the way that is best *if nothing is ever tried again*: along the edge. It walks it with $\epsilon = 0.1$, and falls. Sarsa
# learns the value of what it really does, finds the edge dangerous, and keeps away. Let $\epsilon$ fall to 0, and both end at
# the edge.
#
# </details>
#
# News travels one place per update if one looks one step ahead, and $n$ if one looks $n$: the first lesson of today, again. What
# that does to networks on CartPole is in the appendix.
#
# ## Bug hunt
#
# OpenAI's `baselines` (`a2c/runner.py`, with `discount_with_dones`) plays $n$ steps in a simulator and then walks back over them. In
# our words, for one simulator's rollout (to mend it, more than one line has to change):


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
# **The bug**: one `done` for two things. An episode that a time limit cuts *within* the rollout counts as terminated: nothing seems to come
# after it. For a pole that has stood for 500 steps, that is as bad as a fall. Only the cut at the rollout's end is bootstrapped. The
# repair needs nothing new, but an index: `final_values` has an entry for every fragment. pytorch-a3c (`train.py`) does the same by `done = done or
# episode_length >= args.max_episode_length`. Gym's own `done` had merged the two already.

# %% [markdown]
# ## What you have built so far
#
# You can learn from any $n$ steps, with one loss for two networks, and know what $n$ trades. You know why sixteen places teach more
# in an update than sixteen steps in a row, and what waiting and not waiting cost, in steps and in seconds.
#
# ## Quiz
#
# **1.** Somebody forgets that $R$ is a constant, and lets the critic's gradient run through $V(s_{t+n})$, too. That is the true gradient
# of the printed loss. Is it better?
#
# <details><summary>Answer</summary>
#
# No. It is known as the **residual gradient** (Baird 1995). The loss then also falls by moving the *target*: the value of the later state is dragged towards what the earlier one
# believed, back in time. In the corridor with $n = 1$, the two neighbours of a place would be pulled towards it. "True gradient" sounds
# right, but small $(R - V)^2$ was never the aim; the right value is.
#
# </details>
#
# **2.** A3C with one worker: what does it lose against A2C with one rank?
#
# <details><summary>Answer</summary>
#
# In what it learns nothing: no gradient is ever late, and you saw equal bits. Asynchrony costs what others do meanwhile,
# and there are no others.
#
# </details>
#
# **3.** Sixteen simulators, $n = 1$, or one simulator, $n = 16$? Both have sixteen steps in an update.
#
# <details><summary>Answer</summary>
#
# It depends on which error is the larger one. The first has the less correlated gradient, and believes its critic most; the
# second sees far and sees one place. Our runs do not settle it: (1 simulator, $n = 16$) is not among them, and the nearest,
# (1, 5) against (16, 1), also differ in the number of updates. A2C's 16 x 5 takes some of each.
#
# </details>
#
# **4.** In `descend`, `shared["theta"] = shared["theta"] - step` passes a test that looks at `shared["theta"]` afterwards. Who notices?
#
# <details><summary>Answer</summary>
#
# Nobody, at first. After its first push each rank has a theta of its own, and learns alone, from its own gradients; the
# shared memory stays as it was. That is why the check looks whether the *same array* has changed.
#
# </details>

# %% [markdown]
# ## Appendix: the members, measured
#
# As typed, each with its preset, five seeds on two ranks, from the project's benchmarks. Two warnings. The presets were not tuned
# with equal care, so a gap between two *members* may be one between two presets. And in older records the goal is seen by the mean
# of the last hundred returns: these hundred episodes are themselves tens of thousands of steps. Where that is so, the second
# column says how many steps came *before* them.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
family = family_of(recorded("11_family.csv"))


def by_seed(env, name):
    """Print after how many thousand steps each seed reached the goal."""
    runs = family[env, name]
    told = ", ".join(
        f"{s / 1000:.0f}" if np.isfinite(s) else f">{runs.lengths.min() / 1000:.0f}" for s in np.sort(runs.steps)
    )
    before = ", ".join(f"{s / 1000:.3g}" for s in np.sort(runs.before) if np.isfinite(s))
    print(f"{name:15s} {told:28s} {'before these episodes: ' + before if runs.floor else 'by fresh episodes'}")


print("CartPole, thousand steps to a mean return of 475 (>: never, the run was so long)")
for name in ("one-step-q", "sarsa", "n-step-q", "async-n-step-q", "actor-critic", "a2c", "a3c"):
    by_seed("CartPole-v1", name)
print(
    "A2C's / A3C's, before these episodes:",
    ratio_in_words(*(family["CartPole-v1", name].before for name in ("a2c", "a3c"))),
)
print("\nPendulum, thousand steps to a mean return of -250")
for name in ("a2c", "a3c", "naf"):
    by_seed("Pendulum-v1", name)
ppo = family_of(recorded("12_family.csv"))["Pendulum-v1", "batch-ppo"]
print("for comparison, Batch PPO (lecture 12), before these episodes:", *np.sort(ppo.before / 1000).round(1))

# %% [markdown]
# ## Appendix: what was claimed
#
# *The Berkeley slides* say of A3C:
#
# - *"Pro: generally much faster in terms of wall clock. Con: generally [much] slower in terms of # of samples"*, with 20,000,000 steps of A3C
#   beside 1,000,000 of DDPG. Ours on Pendulum stand above, with NAF (lecture 13) in DDPG's place: A2C and A3C do need many times its
#   samples. But so they do beside Batch PPO, which throws its samples away as they do. So most of this gap is the presets of A2C and
#   A3C, which nobody has tuned for Pendulum, and not that they learn on-policy.
# - *"No replay buffer, instead rely on diversity of samples from different workers to decorrelate"*. Measured above: sixteen
#   simulators are worth about sixteen independent steps in all four cells, sixteen steps in a row in two of them.
# - *"Only do this every n steps"* (the update). The slide shows it as the one difference from running online.
#
# *Frans & Hafner* say, after Mnih et al., that asynchrony reduces "training time in a near linear correlation to the number of
# threads". Threads play that many more steps per second, and perhaps need more of them: see the two panels above.
#
# *Miranda's post* says "I am using an Asynchronous Advantage Actor-Critic (A3C) algorithm". The code of that summer says otherwise:
# `A3CFFSoftmax` is the name of a *network* in ChainerRL, and the agent that it is given to is PPO, lecture 12.
#
# **Next**: lecture 12 keeps the barrier and the samples, and gets more than one step out of them.
