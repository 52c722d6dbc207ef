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
from scipy import stats

from minitrpo.algorithms.actor_critic.loss import OPTIMISER, ActorCritic, ActorCriticSettings
from minitrpo.algorithms.asynchronous import Arrays
from minitrpo.algorithms.q_learning.targets import one_step_q_targets
from minitrpo.checks import check, hint, hunt, mine
from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED, budget, compare, play, recorded, reveal, train
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
# right; who reaches 20 gets 1, who reaches 0 nothing. Place $i$ is worth $i / 20$. The critic's $V$ is a mixture: `known` of it
# is the truth, the rest says 0.5 everywhere. We start at place 14, worth 0.7, and average the $n$-step returns of some
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
# the target to the critic. `at.weighted_gradient(w, c)` is $\sum
# w_t \nabla \log \pi(a_t|s_t) + c \sum \nabla \text{entropy}$; `value.transposed_product(u)` is $\sum u_t \nabla V(s_t)$;
# and `clipped_norm(vector, largest)` shortens a vector longer than `largest`. The three numbers are
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
# *collapsed* if at any of the ten marks it scores below 15; some get up again. **How many of the 15 online runs collapse? How many
# if the updates come every 5 steps of 16 simulators? And how many times as long, in seconds, does the online one take for as many
# steps?** (That we time here and now, three times.)

# %% prediction="yes"
guess_online = 3  # runs of 15: one simulator, every step
guess_batch = 1  # runs of 15: sixteen simulators, every 5 steps
guess_times = 3  # seconds online / seconds of sixteen simulators, every 5 steps

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


def show_online():
    """Answer the prediction; draw all runs."""
    compare("online: runs of 15 that collapse", guess_online, collapsed(1, 1))
    compare("16 simulators, every 5 steps", guess_batch, collapsed(16, 5))
    ratios = np.divide(took[1, 1], took[16, 5])
    compare("seconds, online / 16 simulators", guess_times, np.median(ratios))
    print(f"  (median of three: {ratios.min():.1f} to {ratios.max():.1f})")
    one, sixteen = (online(envs, 5)[1e-3][:, -1] for envs in (1, 16))
    low, high = stats.ttest_ind(one, sixteen, equal_var=False).confidence_interval()
    print(f"every 5 steps, step size 0.001: one simulator's last score is higher than sixteen's by "
          f"{one.mean() - sixteen.mean():.0f} (95 % interval {low:.0f} to {high:.0f})")  # fmt: skip
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
    axes[0].set_ylabel("score (thick: mean of 5 seeds)")
    axes[-1].legend(fontsize=9)
    plt.show()


reveal((guess_online, guess_batch, guess_times), show_online)

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
# in 29 of 60 a score is less than half of an earlier one. The package's presets let the step size fall to 0.)
#
# </details>
#
# ## Sixteen steps are not sixteen samples
#
# An update from sixteen steps *in a row*, or from one step in each of sixteen places: does it matter? If 16 gradients were independent,
# the variance of their mean would be a 16th of one's; correlated, it is larger, as if there were fewer of them. We take 4,000 steps
# of a fresh policy, with one-step errors $e_t$, and ask how many *independent* steps 16 in a row are worth.
#
# First for the critic's gradient, as long as the critic is fresh, too ($V$ about 0 everywhere). Then for the critic's again, and for the
# actor's, once the critic has been fitted to what really followed.

# %% prediction="yes"
guess_fresh = 8  # steps of 16: critic's gradient, fresh critic
guess_critic = 8  # steps of 16: critic's gradient, fitted critic
guess_actor = 8  # steps of 16: actor's gradient, fitted critic

# %%
played = play("CartPole-v1", steps=4000)
e = played.episodes
theta = model.initialise(default_rng(0))
actor, critic = model.split(theta)  # views: what changes them changes theta
actor[:] = played.theta


def td_errors():
    """Return e_t of all steps, with the critic as it is."""
    V, final = model.values(theta, e.observations), model.values(theta, e.final_observations)
    return e.rewards + 0.99 * next_values(V, final, e.last, e.terminated_steps) - V


def products(rows):
    """Return all products of two mean gradients, (2, groups, groups), actor's and critic's, of these steps (groups, 16)."""
    errors, means = td_errors(), []
    for i in rows:
        at = LogProbability(model.policy, actor, e.observations[i], e.actions[i])
        value = Linearisation(critic, model.value_sizes, e.observations[i])
        slopes = errors[i] / len(i)
        means.append((at.weighted_gradient(slopes), value.transposed_product(-slopes[:, None])))
    return np.array([np.array(part) @ np.array(part).T for part in zip(*means)])


def variances(rows, rng):
    """Return the variance of the mean gradients, (2, 1 + 1000), of all groups, and of 1,000 draws with replacement."""
    found, drawn = products(rows), rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), 1000)
    shares = np.concatenate([np.ones((1, len(rows))), drawn]) / len(rows)
    return np.array([shares @ np.diag(part) - np.sum(shares @ part * shares, axis=1) for part in found])


def worth():
    """Return how many independent steps 16 in a row are worth, for the actor's and for the critic's gradient; draws."""
    in_a_row = np.arange(4000).reshape(-1, 16)
    anywhere = default_rng(0).permutation(4000).reshape(-1, 16)
    rng = default_rng(1)
    return 16 * variances(anywhere, rng) / variances(in_a_row, rng)


# %%
when_fresh = worth()
followed = discounted_sums(e.rewards, 0.99, e.last)
memory = initial_state("adam", len(critic))
for _ in range(budget(300, 100)):
    value = Linearisation(critic, model.value_sizes, e.observations)
    memory, step = adam(
        memory, value.transposed_product((value.outputs[:, 0] - followed)[:, None] / len(followed)), 0.01
    )
    critic -= step
when_fitted = worth()


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_worth():
    """Answer the prediction, each with the interval of its draws."""
    for what, guess, (found, *draws) in (
        ("critic's gradient, fresh critic: 16 in a row are worth", guess_fresh, when_fresh[1]),
        ("critic's gradient, fitted critic", guess_critic, when_fitted[1]),
        ("actor's gradient, fitted critic", guess_actor, when_fitted[0]),
    ):
        compare(what, guess, found, "steps")
        print("  95 % interval {:.1f} to {:.1f}".format(*np.quantile(draws, (0.025, 0.975))))


reveal((guess_fresh, guess_critic, guess_actor), show_worth)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# While $V$ is wrong, neighbours are wrong in the same way, and push the same weights in the same direction sixteen times.
# Once $V$ is right, $e_t$ is pure surprise, which is unrelated to the surprise before: sixteen are worth sixteen or a little more. Then it
# is the actor's turn: a pole that leans right teaches "push right" as long as it leans. So steps in a row are worth few
# **as long as there is something to learn**. Lecture 13 shuffles an old store of experience against this. Actors in
# different places need no store.
#
# </details>
#
# Sixteen simulators, five steps, one update, everybody waits: that is **A2C**, the synchronous advantage actor-critic. Numbered
# simulators, so lecture 07's fingerprint does not care who plays them:

# %%
TASK, rates = ("--env", "CartPole-v1", "--total-steps", budget(20_000, 4000)), {}


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
# ## Nobody waits
#
# A2C meets at a barrier every five steps. **A3C** (asynchronous advantage actor-critic) leaves the barrier out, as lecture 10's
# server did. A worker's life:
#
#     pulled = store.pull()                                    # theta, as it is now
#     fragments = play n steps with it                         # meanwhile others push
#     store.push(gradient_of(pulled.arrays["theta"], fragments), pulled.version)
#
# Now a late gradient is late in *two* ways: it was computed at old parameters, and from experience of an **old policy**.
#
# All workers share one optimiser, too: `shared` has `theta`, and Adam's arrays under names such as `optimiser_moment`, all in memory that
# every rank looks at. That is where the trap is. `x = x - step` makes a new array under the old name; the others go on looking at
# the old one. `x -= step` and `x[:] = ...` write into it.
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
print(f"sixteen workers: mean staleness {staleness_of(ages)[0]:.1f} updates")

# %% [markdown]
# What do sixteen late workers cost? We measured *environment steps* until the score, looked at every 6,000, is first at 450: with 1, 4
# and 16 workers of 8 simulators, each with the best of three step sizes (0.001, 0.003 and 0.01), five seeds; and beside them A2C,
# which waits, with 8, 32 and 128 simulators. (A run that does not get there within 120,000 steps counts as 240,000.)
#
# **How many times as many steps do 16 late workers need as one? And how many times as many does A2C need with 128 simulators as
# with 8?** (Sixteen workers play sixteen times as many steps a second. So 16 would mean that nothing is gained.)

# %% prediction="yes"
guess_late = 2  # times the steps, 16 late workers
guess_together = 2  # times the steps, 128 simulators with a barrier


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def steps_to_450(what, workers):
    """Return the best step size and its seeds' steps to a score of 450; twice the limit where it was not reached."""
    found = {}
    for key, curves in own.items():
        if key[:2] == (what, workers):
            ends = [curve[-1] for curve in curves.values()]
            found[key[-1]] = np.array([steps if score >= 450 else 240_000 for steps, score in ends])
    best = min(found, key=lambda size: found[size].mean())
    return best, found[best]


def ratio_of(a, b):
    """Return the ratio of two means over seeds, and its 95 % bootstrap interval in words (lecture 08)."""
    rng = default_rng(0)
    draws = rng.choice(a, (4000, len(a))).mean(axis=1) / rng.choice(b, (4000, len(b))).mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return np.mean(a) / np.mean(b), f"95 % interval {low:.2g} to {high:.2g}, five seeds"


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def show_late():
    """Answer the prediction; draw steps, and seconds if nobody waited."""
    for what, guess, words in (
        ("late", guess_late, "16 late workers / one"),
        ("together", guess_together, "A2C, 128 simulators / 8"),
    ):
        ratio, interval = ratio_of(steps_to_450(what, 16)[1], steps_to_450(what, 1)[1])
        compare(f"steps, {words}", guess, ratio)
        print(f"  {interval}")
    ratio, interval = ratio_of(steps_to_450("together", 16)[1], steps_to_450("late", 16)[1])
    print(f"with 128 simulators, those who wait take {ratio:.1f} times the steps of the late ones ({interval})")
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    for what, color, marker, label in (("late", ORANGE, "o", "late (A3C)"), ("together", BLUE, "s", "together (A2C)")):
        best, steps = zip(*(steps_to_450(what, workers) for workers in (1, 4, 16)))
        print(f"{label}: best step sizes {best}")
        for axis, scale in ((left, np.ones(3)), (right, 40.0 * np.array([1, 4, 16]))):
            seconds = np.array(steps) / scale[:, None] / (1000 if axis is left else 1)
            axis.plot((1, 4, 16), seconds.mean(axis=1), marker=marker, color=color, label=label)
            axis.plot((1, 4, 16), seconds, ".", color=color, alpha=0.5)
    left.set(ylabel="thousand environment steps to 450")
    right.set(ylabel="seconds to 450, if nobody ever waited", yscale="log")
    for axis in (left, right):
        axis.set(xlabel="workers of 8 simulators", xscale="log", xticks=(1, 4, 16), xticklabels=(1, 4, 16))
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=9, title="mean; dots: seeds", title_fontsize=9)
    plt.show()


reveal((guess_late, guess_together), show_late)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# The interval (0.86 to 3.3) holds 1: late gradients cost perhaps no steps, perhaps three times as many. It is nowhere near
# sixteen: by these runs sixteen workers are there five to nineteen times sooner. (All late ones did best with the smallest step size
# tried; a smaller one might have served sixteen better.) The barrier does cost steps (1.9 to 7.1 times as many), though
# perhaps no more than being late: its update is *one* step of Adam for 640 environment steps. That holds as long as late means a few small steps (lecture 10: the later, the
# smaller the step size); our runs are too few to show where it ends.
#
# </details>
#
# And on real ranks, in shared memory, without a lock? **How many times as many environment steps a second do two ranks take as one,
# with A2C and with A3C?** Then the steps needed to a mean return of 475, as typed, five seeds on two ranks (from the project's
# benchmarks; each with its preset's step size). **How many times as many does A2C need as A3C?**

# %% prediction="yes"
guess_a2c = 1.5  # steps/s on two ranks / on one, A2C
guess_a3c = 1.5  # steps/s on two ranks / on one, A3C
guess_steps = 0.7  # A2C's steps to 475 / A3C's

# %% jupyter={"source_hidden": true} tags=["hide-input"]
seconds = json.loads(recorded("11_seconds.json").read_text())
family = {}  # (environment, algorithm) -> steps to the goal per seed, infinity where it was not reached
lengths = {}  # (environment, algorithm) -> steps of the run per seed
for row in csv.DictReader(recorded("11_family.csv").read_text().splitlines()):
    family.setdefault((row["env"], row["algorithm"]), []).append(float(row["steps_to_goal"] or "inf"))
    lengths.setdefault((row["env"], row["algorithm"]), []).append(float(row["env_steps"]))
for ranks in (1, 2):
    steps_per_second("a3c", ranks)


def show_real():
    """Answer the prediction: recorded ratios, the run of just now, and steps from the benchmarks."""
    for algorithm, guess in (("a2c", guess_a2c), ("a3c", guess_a3c)):
        ratio, low, high = seconds["two_to_one"][algorithm]
        compare(f"{algorithm}: steps/s, two ranks / one", guess, ratio)
        here = rates[algorithm, 2] / rates[algorithm, 1]
        print(
            f"  median of {seconds['rounds']}, 95 % interval {low:.2f} to {high:.2f}; here, just now, once: {here:.2f}"
        )
    ratio, low, high = seconds["a3c_to_a2c"]
    print(f"on two ranks A3C takes {ratio:.2f} times as many steps/s as A2C (95 % interval {low:.2f} to {high:.2f}),")
    print(f"with gradients that are {seconds['staleness']:.2f} updates old on average")
    if seconds["largest_load_average"] > seconds["cores"] + 1:
        print("(recorded while other programs were at work, too: see the intervals)")
    ratio, interval = ratio_of(*(np.array(family["CartPole-v1", name]) for name in ("a2c", "a3c")))
    compare("steps to a mean return of 475, A2C / A3C", guess_steps, ratio)
    print(f"  {interval}")


reveal((guess_a2c, guess_a3c, guess_steps), show_real)

# %% [markdown]
# <details><summary>After your guess: what it means</summary>
#
# With a barrier every 80 steps two ranks are half as fast as one: meeting costs more than they save in playing. Without one
# they are twice as fast. And in steps? The interval holds 1: with two workers gradients are about one small step late,
# which five seeds cannot tell from none. So the price of asynchrony is elsewhere: no two runs give the same bits (lecture
# 07's fingerprint is lost), and nothing can be repeated, unless in the event queue.
#
# </details>
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
# And where the task terminated, $r$ alone.
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
    low, high = stats.ttest_1samp(gap, 0).confidence_interval()
    print(f"  Sarsa less Q: {gap.mean():.0f} (95 % interval {low:.0f} to {high:.0f}, {len(gap)} seeds)")
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
# learns the value of what it really does, finds the edge dangerous, and keeps away. Q is **off-policy** (lecture 13 makes much of that),
# Sarsa **on-policy**. Let $\epsilon$ fall to 0, and both end at the edge.
#
# </details>
#
# With networks, on CartPole, 16 simulators, and $\max Q$ taken from an older copy of $\theta$, so that the target does not run away from
# who aims at it:


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def by_seed(env, name):
    """Print after how many thousand steps each seed reached the goal."""
    steps, limit = np.sort(family[env, name]), round(min(lengths[env, name]) / 1000, -1)
    told = ", ".join(f"{each / 1000:.0f}" if np.isfinite(each) else f">{limit:.0f}" for each in steps)
    print(f"{name:15s} {told} (stopped at {limit:.0f})")


print("thousand steps to a mean return of 475, each of five seeds; >: not so soon, and then the run was stopped")
for name in ("one-step-q", "sarsa", "n-step-q", "async-n-step-q", "a2c", "a3c"):
    by_seed("CartPole-v1", name)

# %% [markdown]
# News travels one place per update if one looks one step ahead, and $n$ if one looks $n$: the first lesson of today, again.
#
# ## Bug hunt
#
# OpenAI's `baselines` (`a2c/runner.py`, with `discount_with_dones`) plays $n$ steps in a simulator and then walks back over them. In
# our words, for one simulator's rollout:


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
# repair needs nothing new: `final_values` has an entry for every fragment. pytorch-a3c (`train.py`) does the same by `done = done or
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
# No. The loss then also falls by moving the *target*: the value of the later state is dragged towards what the earlier one
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
# second sees far and sees one place. In today's runs looking ahead mattered more; A2C's 16 x 5 takes some of each.
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
# ## Appendix: what was claimed
#
# *The Berkeley slides* say of A3C:
#
# - *"Pro: generally much faster in terms of wall clock. Con: generally [much] slower in terms of # of samples"*, with 20,000,000 steps of A3C
#   beside 1,000,000 of DDPG. Ours on Pendulum, with NAF (lecture 13) in DDPG's place:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
print("thousand steps to a mean return of -250, each of five seeds")
for name in ("a2c", "a3c", "naf"):
    by_seed("Pendulum-v1", name)

# %% [markdown]
# - *"No replay buffer, instead rely on diversity of samples from different workers to decorrelate"*. Measured above: steps in a row
#   are worth few as long as there is something to learn.
# - *"Only do this every n steps"* (the update). The slide shows it as the one difference from running online.
#
# *Frans & Hafner* say, after Mnih et al., that asynchrony reduces "training time in a near linear correlation to the number of
# threads". Threads play that many more steps per second, and perhaps need more of them: see the two panels above.
#
# *Miranda's post* says "I am using an Asynchronous Advantage Actor-Critic (A3C) algorithm". The code of that summer says otherwise:
# `A3CFFSoftmax` is the name of a *network* in ChainerRL, and the agent that it is given to is PPO, lecture 12.
#
# **Next**: lecture 12 keeps the barrier and the samples, and gets more than one step out of them.
