"""Checks of lecture 11a: returns that look n steps ahead, the loss of two networks, shared memory."""

from collections import UserDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.actor_critic import ActorCritic, ActorCriticSettings
from minitrpo.algorithms.actor_critic import bootstrapped_returns as right_returns
from minitrpo.algorithms.actor_critic import loss_gradient as right_gradient
from minitrpo.algorithms.asynchronous_algorithm import descend as right_descent
from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import value_words
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import OPTIMISERS, clipped_norm, initial_state
from minitrpo.perceptron import Linearisation
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy
from minitrpo.returns import discounted_sums

# --- bootstrapped_returns


def walked(after: Any, onwards: Any = None) -> Candidate:
    """Return a walk backwards: R = r + discount (after(V final, terminated) at a fragment's end, else next R)."""

    def returns(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
        result, total, fragment = np.zeros(len(rewards)), 0.0, len(final_values)
        for t in reversed(range(len(rewards))):
            if last[t]:
                fragment -= 1
                total = after(float(final_values[fragment]), bool(terminated[t]))
            total = onwards(rewards[t], total, discount) if onwards else rewards[t] + discount * total
            result[t] = total
        return result

    return returns


def leaking(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return what comes of a walk that takes the next fragment's return for the future of a cut one."""
    result, total = np.zeros(len(rewards)), float(final_values[-1]) if len(final_values) else 0.0
    for t in reversed(range(len(rewards))):
        total = rewards[t] + discount * (0.0 if terminated[t] else total)
        result[t] = total
    return result


def over_cuts(r: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return what comes of V added behind each cut, and a walk that stops at terminations alone."""
    rewards, ends = r.astype(float), terminated | (np.arange(len(r)) == len(r) - 1)
    rewards[last] += discount * np.where(terminated[last], 0.0, final_values)
    return discounted_sums(rewards, discount, ends)


def one_step_ahead(rewards: Array, final_values: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return rewards, with the bootstrap at each fragment's end only."""
    result = rewards.astype(float)
    result[last] += discount * np.where(terminated[last], 0.0, final_values)
    return result


def bootstrapped_at_the_end_only(r: Array, final: Array, last: Array, terminated: Array, discount: float) -> Array:
    """Return what one `done` for two things makes of fragments that were cut before the last one."""
    seen = np.where(np.arange(len(final)) == len(final) - 1, final, 0.0)
    return right_returns(r, seen, last, terminated, discount)


@exercise(
    "bootstrapped_returns",
    "minitrpo.algorithms.actor_critic:bootstrapped_returns",
    hints=(
        "Behind the last step of a fragment stands V(final observation), or nothing where the task terminated.",
        "last is a mask: rewards[last] are the last rewards of all fragments, as many as there are final_values.",
        "Add discount * V to a float copy of those rewards; then it is lecture 01's discounted_sums.",
    ),
    mistakes={
        "Where a fragment was cut, its future is missing: V(final observation) comes after it.": walked(
            lambda value, terminated: 0.0
        ),
        "It bootstraps where the task terminated, too: nothing comes after that.": walked(
            lambda value, terminated: value
        ),
        "It is the wrong way round: V counts where a fragment was cut, not where the task terminated.": walked(
            lambda value, terminated: value if terminated else 0.0
        ),
        "Only the last fragment is bootstrapped; each that was cut has a future of its own.": (
            bootstrapped_at_the_end_only
        ),
        "V(final observation) is not discounted: it lies one step behind the last reward.": lambda r, f, ends, t, d: (
            right_returns(r, f / d if d else f, ends, t, d)
        ),
        "The returns of one fragment leak into the one before it.": leaking,
        "It walks on over a cut: a fragment ends where `last` says so, not only where the task terminated.": over_cuts,
        "Only the last step of a fragment knows of V; the steps before it look ahead, too.": one_step_ahead,
        "Nothing is discounted.": lambda r, f, ends, t, d: right_returns(r, f, ends, t, 1.0),
        "The reward of the step itself is discounted: it counts in full.": walked(
            lambda value, terminated: 0.0 if terminated else value, lambda r, total, d: d * (r + total)
        ),
        "V replaces the last reward: it comes after it.": lambda r, f, ends, t, d: right_returns(
            np.where(ends & ~t, 0, r), f, ends, t, d
        ),
        "The final values come in the wrong order.": lambda r, f, ends, t, d: right_returns(r, f[::-1], ends, t, d),
        "The returns are rounded to whole numbers: compute in floats.": lambda r, f, ends, t, d: np.trunc(
            right_returns(r, f, ends, t, d)
        ),
    },
)
def bootstrapped_returns_cases() -> Iterator[Case]:
    """Yield single steps, fragments by hand, and random ones of every size."""
    for kind, rewards, values, ends, discount in (
        ("one step, then cut", [1.0], [4.0], "c", 0.5),
        ("one step, then terminated", [1.0], [4.0], "t", 0.5),
        ("three steps, then cut", [1.0, 2.0, 3.0], [8.0], "..c", 0.5),
        ("three steps, then terminated", [1.0, 2.0, 3.0], [8.0], "..t", 0.5),
        ("cut, then terminated", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0], ".c.t", 0.5),
        ("terminated, then cut", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0], ".t.c", 0.5),
        ("two fragments, both cut", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0], ".c.c", 0.5),
        ("fragments of one step", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0, -4.0, 2.0], "ctcc", 0.5),
        ("fragments of different lengths", [1.0, 1.0, 2.0, 3.0, 5.0, 8.0], [6.0, -2.0, 9.0], "c..t.c", 0.9),
        ("rewards that are whole numbers", np.array([1, 2, 3, 4]), np.array([0.3, 0.7]), ".c.c", 0.5),
        ("values that are whole numbers", np.array([1, 2, 3, 4]), np.array([3, 7]), ".c.c", 0.5),
        ("a discount of 0", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0], ".c.t", 0.0),
        ("a discount of 1", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0], ".c.t", 1.0),
        ("a discount of 1, as an integer", [1.0, 2.0, 3.0, 4.0], [8.0, 16.0], ".c.t", 1),
        ("a last reward of 0", [1.0, 2.0, 0.0, 1.0, 0.0], [8.0, 16.0], "..t.c", 0.5),
        ("rewards of 0", np.zeros(5), [8.0, 16.0], "..c.c", 0.9),
        ("negative rewards and values", [-1.0, -2.0, -3.0, -4.0], [-8.0, -16.0], ".c.t", 0.9),
        ("a value of 0 behind a cut", [1.0, 2.0, 3.0], [0.0], "..c", 0.9),
        ("huge values behind a terminated task", [1.0, 2.0, 3.0, 4.0], [1e300, 5.0], ".t.c", 0.9),
    ):
        yield case(kind, np.array(rewards), np.array(values), *masks(ends), discount)
    yield case("single precision", np.array([1, 2], np.float32), np.array([0.1]), *masks(".c"), 0.5, rtol=1e-6)
    rng = np.random.default_rng(0)
    for size, scale in product((2, 7, 40, 300), (1e-9, 1.0, 1e9)):
        ends = "".join(rng.choice(list(".....tc"), size - 1)) + str(rng.choice(["t", "c"]))
        fragments = size - ends.count(".")
        values = scale * rng.standard_normal(fragments)
        kind = {1e-9: "tiny rewards", 1.0: "random fragments", 1e9: "huge rewards"}[scale]
        yield case(kind, scale * rng.standard_normal(size), values, *masks(ends), float(rng.uniform(0.8, 1)))
    for end in "ct":
        yield case(
            "a fragment of 3,000 steps", rng.standard_normal(3000), np.array([50.0]), *masks("." * 2999 + end), 1.0
        )
    yield case("300 fragments of one step", rng.standard_normal(300), rng.standard_normal(300), *masks("c" * 300), 0.9)
    long, far = rng.standard_normal(200), np.array([1e12])
    yield case("a huge value behind 200 steps", long, far, *masks("." * 199 + "c"), 0.9, each=True)
    yield case("no steps at all", np.zeros(0), np.zeros(0), *masks(""), 0.9)


def masks(ends: str) -> tuple[Array, Array]:
    """Return last and terminated of steps that go on (.), are cut (c) or terminated (t)."""
    letters = np.array(list(ends), "<U1")
    return letters != ".", letters == "t"


# --- loss_gradient


def combined(parts: Any) -> Candidate:
    """Return a gradient that is parts(at, value, returns, V, advantages, settings), the policy's and the value's."""

    def gradient(at: LogProbability, value: Linearisation, returns: Array, settings: ActorCriticSettings) -> Array:
        V = value.outputs[:, 0]
        policy, critic = parts(at, value, returns, V, returns - V, settings)
        longest = settings.max_gradient_norm
        return np.concatenate([clipped_norm(policy, longest), clipped_norm(critic, longest)])

    return gradient


def weighted(of_policy: Any = None, of_entropy: Any = None, of_value: Any = None) -> Candidate:
    """Return a gradient with other weights of score (A, R, V, n), entropy (c, n) and grad V (A, R, V, c, n)."""

    def parts(at: Any, value: Any, R: Array, V: Array, A: Array, s: ActorCriticSettings) -> tuple[Array, Array]:
        n = len(R)
        w = of_policy(A, R, V, n) if of_policy else A / n
        c = of_entropy(s.entropy_weight, n) if of_entropy else s.entropy_weight / n
        u = of_value(A, R, V, s.value_weight, n) if of_value else -s.value_weight / n * A
        return -at.weighted_gradient(w, c), value.transposed_product(np.asarray(u)[:, None])

    return combined(parts)


def clipped_together(at: Any, value: Any, returns: Array, settings: ActorCriticSettings) -> Array:
    """Return the gradient shortened as a whole."""
    free = right_gradient(at, value, returns, replace(settings, max_gradient_norm=np.inf))
    return clipped_norm(free, settings.max_gradient_norm)


@exercise(
    "loss_gradient",
    "minitrpo.algorithms.actor_critic:loss_gradient",
    hints=(
        "value.outputs has shape (N, 1): V is value.outputs[:, 0]. A mean over N steps is a sum with weights 1 / N.",
        "The loss has a minus before log pi and before the entropy: compute what climbs both, and turn its sign.",
        "The slope of 1/2 (R - V)^2 in V is V - R. It goes into transposed_product as a column: slopes[:, None].",
        "Shorten the two parts with clipped_norm, each by itself, then np.concatenate, the policy's first.",
    ),
    mistakes={
        "The policy's part climbs the loss: its sign is turned.": combined(
            lambda at, value, R, V, A, s: (
                at.weighted_gradient(A / len(R), s.entropy_weight / len(R)),
                value.transposed_product((-s.value_weight / len(R) * A)[:, None]),
            )
        ),
        "The value's part climbs the loss: its sign is turned.": weighted(of_value=lambda A, R, V, c, n: c / n * A),
        "The whole of it climbs the loss: its sign is turned.": lambda at, value, R, s: (
            -right_gradient(at, value, R, s)
        ),
        "The policy's weights are the returns; the advantages are wanted.": weighted(lambda A, R, V, n: R / n),
        "The advantage is R - V, not V - R.": weighted(
            lambda A, R, V, n: -A / n, None, lambda A, R, V, c, n: c / n * A
        ),
        "Sums, not means: divide by the number of steps.": weighted(
            lambda A, R, V, n: A, lambda c, n: c, lambda A, R, V, c, n: -c * A
        ),
        "The policy's part is a sum over the steps, not a mean.": weighted(lambda A, R, V, n: A, lambda c, n: c),
        "The value's part is a sum over the steps, not a mean.": weighted(of_value=lambda A, R, V, c, n: -c * A),
        "The entropy's weight is not divided by N: weighted_gradient sums over the steps.": weighted(
            of_entropy=lambda c, n: c
        ),
        "The entropy is missing.": weighted(of_entropy=lambda c, n: 0.0),
        "The entropy has the wrong sign: it should be kept large.": weighted(of_entropy=lambda c, n: -c / n),
        "value_weight is missing.": weighted(of_value=lambda A, R, V, c, n: -A / n),
        "There is a factor of 2 in the value's part: the loss has 1/2 of the square.": weighted(
            of_value=lambda A, R, V, c, n: -2 * c / n * A
        ),
        "The value moves towards 0, not towards the returns.": weighted(of_value=lambda A, R, V, c, n: c / n * V),
        "The advantages are standardised: nobody asked for that here.": weighted(
            lambda A, R, V, n: (A - A.mean()) / (A.std() + 1e-8) / n
        ),
        "The two parts are shortened together; each has a length of its own.": clipped_together,
        "No part is shortened to max_gradient_norm.": lambda at, value, R, s: right_gradient(
            at, value, R, replace(s, max_gradient_norm=np.inf)
        ),
        "Every entry is clipped; it is the length that should be.": lambda at, value, R, s: np.clip(
            right_gradient(at, value, R, replace(s, max_gradient_norm=np.inf)),
            -s.max_gradient_norm,
            s.max_gradient_norm,
        ),
        "Short gradients are made longer: only those that are too long are changed.": combined(
            lambda at, value, R, V, A, s: [
                part * (s.max_gradient_norm / np.linalg.norm(part))
                for part in (
                    -at.weighted_gradient(A / len(R), s.entropy_weight / len(R)),
                    value.transposed_product((-s.value_weight / len(R) * A)[:, None]),
                )
            ]
        ),
        "The value's part comes first; the policy's should.": lambda at, value, R, s: np.concatenate(
            np.split(right_gradient(at, value, R, s), [-value_size(value)])[::-1]
        ),
    },
)
def loss_gradient_cases() -> Iterator[Case]:
    """Yield policies of both kinds, with returns above, below and at V, and lengths around the largest norm."""
    free = ActorCriticSettings(max_gradient_norm=1e30)
    discrete, continuous = CategoricalPolicy(2, 2, ()), GaussianPolicy(2, 1, ())
    larger = CategoricalPolicy(3, 4, (6,)), GaussianPolicy(4, 2, (5, 3))
    yield step_case("one step", discrete, 1, free)
    yield step_case("two steps", discrete, 2, free)
    yield step_case("continuous actions", continuous, 3, free)
    for policy in larger:
        yield step_case("hidden layers", policy, 12, free)
    for policy in (discrete, *larger):
        plain = replace(free, entropy_weight=0.0)
        yield step_case("no weight on the entropy", policy, 9, plain)
        yield step_case("much weight on the entropy", policy, 9, replace(free, entropy_weight=3.0))
        yield step_case("other weights of the value", policy, 9, replace(free, value_weight=1.0))
        yield step_case("other weights of the value", policy, 9, replace(free, value_weight=0.03))
        yield step_case("returns above V", policy, 9, free, lambda V, rng: V + 1 + rng.random(len(V)))
        yield step_case("returns below V", policy, 9, free, lambda V, rng: V - 1 - rng.random(len(V)))
        yield step_case("returns that are whole numbers", policy, 9, free, lambda V, rng: rng.integers(-5, 30, len(V)))
        yield step_case("huge returns", policy, 9, free, lambda V, rng: 1e9 * rng.standard_normal(len(V)))
        yield step_case(
            "returns a little off V", policy, 9, plain, lambda V, rng: V + 1e-9 * rng.standard_normal(len(V))
        )
        yield step_case("equal advantages", policy, 9, free, lambda V, rng: V + 2.0)
        for longest in (0.5, 0.05, 1e-3):
            yield step_case(
                "long gradients", policy, 9, replace(free, max_gradient_norm=longest), lambda V, rng: V + 50
            )
        yield from lengths_around_the_largest(policy, plain)
        long_value = replace(free, max_gradient_norm=0.5, value_weight=100.0, entropy_weight=0.0)
        yield step_case("one long part, one short one", policy, 9, long_value, lambda V, rng: V + 0.01)
        long_policy = replace(free, max_gradient_norm=0.5, value_weight=1e-4, entropy_weight=0.0)
        yield step_case("one long part, one short one", policy, 9, long_policy, lambda V, rng: V + 50)
        yield step_case("thousands of steps", policy, 2000, free)
    yield step_case("no largest norm", larger[0], 9, replace(free, max_gradient_norm=np.inf))
    yield step_case("returns that are V", larger[0], 9, free, lambda V, rng: V.copy())
    nothing = replace(free, entropy_weight=0.0, max_gradient_norm=0.5)
    yield step_case("a gradient of length 0", larger[0], 9, nothing, lambda V, rng: V.copy())


def lengths_around_the_largest(policy: Any, settings: ActorCriticSettings) -> Iterator[Case]:
    """Yield gradients whose length lies between the largest norm and its root, too, on both sides of 1."""
    for longest, off in product((0.3, 3.0), (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)):
        some = replace(settings, max_gradient_norm=longest, value_weight=1.0)
        yield step_case("lengths around the largest", policy, 9, some, shifted(off))


def shifted(off: float) -> Callable[[Array, np.random.Generator], Array]:
    """Return returns that are V and so much more."""
    return lambda V, rng: V + off


def value_size(value: Linearisation) -> int:
    """Return how many parameters a value function has."""
    return sum(rows * columns + columns for rows, columns in value.sizes)


def step_case(
    kind: str,
    policy: Any,
    n: int,
    settings: ActorCriticSettings,
    returns: Callable[[Array, np.random.Generator], Array] | None = None,
) -> Case:
    """Return a case with n steps of a policy that has learned something; returns(V, rng): random ones, if None."""
    rng = np.random.default_rng(n)
    model = ActorCritic(policy)
    theta = model.initialise(rng)
    theta = theta + 0.3 * rng.standard_normal(len(theta))
    states = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(model.distribution(theta, states), policy.draw_noise(rng, n))
    V = model.values(theta, states)
    R = returns(V, rng) if returns else V + rng.standard_normal(n) + 0.5
    actor, critic = model.split(theta)
    name = "discrete" if isinstance(policy, CategoricalPolicy) else "continuous"
    s = settings
    shown = (
        f"{n} step{'s' * (n > 1)} of {name} actions, returns from {np.min(R):.3g} to {np.max(R):.3g}, "
        f"entropy_weight {s.entropy_weight:g}, value_weight {s.value_weight:g}, "
        f"max_gradient_norm {s.max_gradient_norm:g}"
    )

    def run(f: Candidate) -> Any:
        at, value = LogProbability(policy, actor, states, actions), Linearisation(critic, model.value_sizes, states)
        gradient = f(at, value, R.copy(), s)
        need(np.array_equal(value.outputs[:, 0], V), "it changed value.outputs: work on a copy")
        if gradient is None:
            return None
        whole = isinstance(gradient, np.ndarray) and gradient.shape == theta.shape
        need(whole, f"expected one array of {len(theta)} numbers, both parts in a row, got {value_words(gradient)}")
        return {"the policy's part": gradient[: len(actor)], "the value's part": gradient[len(actor) :]}

    return tried(kind, run, atol=1e-15, shown=shown)


# --- descend


def rebinding(shared: Any, gradient: Array, optimiser: Any, step_size: float, prefix: str = "") -> None:
    """Put new arrays into the dictionary."""
    own = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
    after, step = optimiser(own, gradient, step_size)
    for name, array in after.items():
        shared[prefix + name] = array
    shared["theta"] = shared["theta"] - step


def stepping(keep: bool = True, sign: float = -1.0, first: Any = None, forget_theta: bool = False) -> Candidate:
    """Return a descent that keeps, or forgets, the optimiser's arrays and theta, and adds sign * step."""

    def descend(shared: Any, gradient: Array, optimiser: Any, step_size: float, prefix: str = "") -> None:
        own = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
        after, step = optimiser(own, first(gradient) if first else gradient, step_size)
        for name, array in after.items():
            if keep:
                shared[prefix + name][:] = array
        shared["theta"] *= 0.0 if forget_theta else 1.0
        shared["theta"] += sign * step

    return descend


def adding(shared: Any, gradient: Array, optimiser: Any, step_size: float, prefix: str = "") -> None:
    """Add the new arrays to the old ones."""
    own = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
    after, step = optimiser(own, gradient, step_size)
    for name, array in after.items():
        shared[prefix + name] += array
    shared["theta"] -= step


def half_rebinding(shared: Any, gradient: Array, optimiser: Any, step_size: float, prefix: str = "") -> None:
    """Put new arrays into the dictionary, and write theta in place."""
    theta = shared["theta"]
    rebinding(shared, gradient, optimiser, step_size, prefix)
    theta[:] = shared["theta"]
    shared["theta"] = theta


def theta_rebinding(shared: Any, gradient: Array, optimiser: Any, step_size: float, prefix: str = "") -> None:
    """Write the optimiser's arrays in place, and put a new theta into the dictionary."""
    theta = shared["theta"].copy()
    right_descent(shared, gradient, optimiser, step_size, prefix)
    shared["theta"][:], shared["theta"] = theta, shared["theta"].copy()


def from_an_old_theta(shared: Any, gradient: Array, optimiser: Any, step_size: float, prefix: str = "") -> None:
    """Step a copy of theta, and write it back."""
    held = {**shared, "theta": shared["theta"].copy()}
    right_descent(held, gradient, optimiser, step_size, prefix)
    shared["theta"][:] = held["theta"]


@exercise(
    "descend",
    "minitrpo.algorithms.asynchronous_algorithm:descend",
    hints=(
        "own = {name without the prefix: array} for those names of shared that start with it; see str.removeprefix.",
        "after, step = optimiser(own, gradient, step_size): after has the names that own has.",
        "shared[prefix + name][:] = array writes into the array that all look at; so does shared['theta'] -= step.",
    ),
    mistakes={
        "New arrays were put into the dictionary: the other ranks look at the old ones.": rebinding,
        "theta is a new array: the other ranks look at the old one. Write into it.": theta_rebinding,
        "The optimiser's arrays are new ones: the other ranks look at the old ones. Write into them.": half_rebinding,
        "The optimiser's new arrays are forgotten.": stepping(keep=False),
        "It climbs: the step is to be subtracted.": stepping(sign=1.0),
        "The gradient's sign is turned before the optimiser sees it.": stepping(first=lambda g: -g),
        "The step is taken twice.": stepping(sign=-2.0),
        "theta does not move.": stepping(sign=0.0),
        "The new arrays are added to the old ones: they replace them.": adding,
        "theta is replaced by the step.": stepping(forget_theta=True),
        "It steps from a copy of theta: what another rank wrote while the optimiser was at work is lost.": (
            from_an_old_theta
        ),
        "The gradient is subtracted as it is: the optimiser says what the step is.": (
            lambda shared, g, optimiser, a, prefix="": np.subtract(shared["theta"], a * g, out=shared["theta"])
        ),
    },
)
def descend_cases() -> Iterator[Case]:
    """Yield every optimiser, one step and many, in memory that others look at."""
    for name in ("sgd", "momentum", "rmsprop", "adam"):
        yield shared_case("one step of " + name, OPTIMISERS[name], initial_state(name, 3), 3)
    for name, steps in product(("momentum", "rmsprop", "adam"), (2, 5)):
        yield shared_case("several steps", OPTIMISERS[name], initial_state(name, 3), 3, steps)
    for name in ("sgd", "momentum", "rmsprop", "adam"):
        yield shared_case("another prefix", OPTIMISERS[name], initial_state(name, 4), 4, 3, prefix="of_all/")
        yield shared_case("a step size of 0", OPTIMISERS[name], initial_state(name, 4), 4, 2, step_size=0.0)
        yield shared_case("huge gradients", OPTIMISERS[name], initial_state(name, 4), 4, 2, scale=1e9)
        yield shared_case("tiny gradients", OPTIMISERS[name], initial_state(name, 4), 4, 2, scale=1e-9)
        yield shared_case("gradients of 0", OPTIMISERS[name], initial_state(name, 4), 4, 2, scale=0.0)
        yield shared_case("ten thousand parameters", OPTIMISERS[name], initial_state(name, 10_000), 10_000, 2)
        yield shared_case("a single parameter", OPTIMISERS[name], initial_state(name, 1), 1, 2)
    for name in ("momentum", "rmsprop", "adam"):
        yield shared_case("no prefix", OPTIMISERS[name], initial_state(name, 3), 3, 2, prefix="")
    yield shared_case("an optimiser whose step is the gradient", lambda own, g, a: (own, g), {}, 3, 2)
    both = {"slow": np.zeros(3), "quick": np.ones(3)}
    yield shared_case("an optimiser that returns its arrays in another order", two_speeds, both, 3, 2)
    for tag in ("last_optimiser_step", "remiser", "theta"):
        own = {tag: np.zeros(3)}
        kind = f"an optimiser that calls its array `{tag}`"
        yield shared_case(kind, remembering(tag), own, 3, 3)
    for tag in ("total", "clocks"):
        kind = f"another array that is called `{tag}`"
        yield shared_case(kind, remembering(tag), {tag: np.zeros(3)}, 3, 3, others={tag: np.full(3, 7.0)})
    twin = {"old_optimiser_velocity": np.full(3, 7.0)}
    yield shared_case("another array whose name has the prefix in it", OPTIMISERS["momentum"],
                      initial_state("momentum", 3), 3, 3, others=twin)  # fmt: skip
    yield shared_case("whole numbers among the optimiser's arrays", counting, {"k": np.zeros(1, np.int64)}, 3, 4)
    own = initial_state("momentum", 3)
    yield shared_case("another rank that pushes meanwhile", OPTIMISERS["momentum"], own, 3, 2, pushed=1.0)


def remembering(name: str) -> Any:
    """Return an optimiser that adds the gradients up, under this name."""

    def optimiser(state: dict[str, Array], gradient: Array, step_size: float) -> tuple[dict[str, Array], Array]:
        total = 0.5 * state[name] + gradient
        return {name: total}, step_size * total

    return optimiser


def two_speeds(state: dict[str, Array], gradient: Array, step_size: float) -> tuple[dict[str, Array], Array]:
    """Remember the gradients for a short and for a long time."""
    quick, slow = 0.5 * state["quick"] + gradient, 0.9 * state["slow"] + gradient
    return {"quick": quick, "slow": slow}, step_size * (quick + slow)


def counting(state: dict[str, Array], gradient: Array, step_size: float) -> tuple[dict[str, Array], Array]:
    """Step by the gradient over the number of the step."""
    k = state["k"] + 1
    return {"k": k}, step_size / k[0] * gradient


def shared_case(
    kind: str,
    optimiser: Any,
    own: dict[str, Array],
    size: int,
    steps: int = 1,
    prefix: str = "optimiser_",
    step_size: float = 0.1,
    scale: float = 1.0,
    others: dict[str, Array] | None = None,
    pushed: float = 0.0,
) -> Case:
    """Return a case that looks at the arrays as other ranks do: at those that were there from the beginning.

    pushed: what another rank adds to theta while the optimiser is at work.
    """
    rng = np.random.default_rng(size + steps)
    theta, gradients = rng.standard_normal(size), scale * rng.standard_normal((steps, size))

    def run(f: Candidate) -> Any:
        seen = {"theta": theta.copy(), "target": np.ones(size), "clocks": np.arange(2)}
        seen |= {prefix + name: array.copy() for name, array in own.items()}
        seen |= {name: array.copy() for name, array in (others or {}).items()}
        shared: Any = UserDict(seen)  # a dictionary, but one that may be changed

        def beside(state: dict[str, Array], gradient: Array, step_size: float) -> Any:
            np.add(seen["theta"], pushed, out=seen["theta"])
            return optimiser(state, gradient, step_size)

        for gradient in gradients:
            given = gradient.copy()
            f(shared, given, beside, step_size, prefix)
            need(np.array_equal(given, gradient), "it changed its argument `gradient`: work on a copy")
        need(set(shared) == set(seen), f"shared has other names in it now: {', '.join(sorted(map(str, shared)))}")
        named = {f"{name}, as the other ranks see it": array for name, array in seen.items()}
        return named | {f"shared[{name!r}]": shared[name] for name in seen}

    names = ", ".join(prefix + name for name in own) or "nothing"
    shown = f"{steps} step{'s' * (steps > 1)} of size {step_size:g}, theta of {size}; the optimiser's: {names}"
    return tried(kind, run, shown=shown)
