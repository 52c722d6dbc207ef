"""Checks of lecture 11a: returns that look n steps ahead, the loss of two networks, shared memory."""

from collections import UserDict
from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from minitrpo.algorithms.actor_critic import ActorCritic, ActorCriticSettings
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER
from minitrpo.course.checks.framework.differential import Candidate, Case, case, need, remark
from minitrpo.course.checks.framework.kinds import ENDS, masks
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import value_words
from minitrpo.optimisers import OPTIMISERS, initial_state
from minitrpo.perceptron import Linearisation
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import LogProbability


@exercise(
    "minitrpo.algorithms.actor_critic:bootstrapped_returns",
    r"""
        ? Behind the last step of a fragment stands V(final observation), or nothing where the task terminated.
        ? last is a mask: rewards[last] are the last rewards of all fragments, as many as there are final_values.
        ? Add discount * V to a float copy of those rewards; then it is lecture 01's discounted_sums.
        0.0, final_values => 0.0, 0.0 :: has nothing after a cut :: have V(final observation) there
        np.where(terminated[last], 0.0, final_values) => final_values \
            :: bootstraps where the task terminated, too :: have nothing after that
        += discount *  => += :: adds V to the last reward undiscounted :: discount it: it lies one step later
        discount, last) => discount, terminated | (np.arange(len(last)) == len(last) - 1)) \
            :: walks on over a cut :: begin anew wherever `last` is True
        sums(rewards, discount => sums(rewards, 1.0 :: does not discount later rewards :: discount them
    """,
    lecture="11a",
)
def _bootstrapped_returns() -> Iterator[Case]:
    r, V = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 4.0]), np.array([8.0, 16.0, -4.0])
    for kind, ends in ENDS.items():
        yield case(kind, r[: len(ends)], V[: len(ends) - ends.count(".")], *masks(ends), 0.5)
    yield case("a discount of 1", r, V, *masks("c..t.c"), 1.0)
    yield case("negative rewards and values", -r, -V, *masks("c..t.c"), 0.9)
    rng = np.random.default_rng(0)
    for size, scale in product((7, 40, 300), (1e-9, 1.0, 1e9)):
        ends = "".join(rng.choice(list(".....tc"), size - 1)) + "c"
        rewards, ahead = rng.standard_normal(size), rng.standard_normal(size - ends.count("."))
        yield case("random fragments", scale * rewards, scale * ahead, *masks(ends), float(rng.uniform(0.8, 1)))
    long = rng.standard_normal(3000)
    yield case("a fragment of 200 steps", long[:200], V[:1], *masks("." * 199 + "c"), 0.9)
    yield remark(case("a fragment of 3,000 steps", long, V[:1], *masks("." * 2999 + "c"), 1.0))
    yield remark(case("rewards that are whole numbers", np.array([1, 2]), V[:1], *masks(".c"), 0.2))
    yield remark(case("no steps at all", np.zeros(0), np.zeros(0), *masks(""), 0.9))


@exercise(
    "minitrpo.algorithms.actor_critic:loss_gradient",
    r"""
        ? value.outputs has shape (N, 1): V is value.outputs[:, 0]. A mean over N steps is a sum with weights 1 / N.
        ? The loss has a minus before log pi and before the entropy: compute what climbs both, and turn its sign.
        ? The slope of 1/2 (R - V)^2 in V is V - R. It goes into transposed_product as a column: slopes[:, None].
        ? Shorten the two parts with clipped_norm, each by itself, then np.concatenate, the policy's first.
        gradient(advantages / n => gradient(returns / n :: has the returns R for weights of log pi :: have R - V
        returns - value.outputs[:, 0] => value.outputs[:, 0] - returns :: has V - R for the advantage :: have R - V
        len(returns) => 1 :: sums over the steps :: take means
        / n * advantages => * advantages :: sums over the steps in the value's part :: take the mean
        entropy_weight / n => entropy_weight :: counts the entropy N times :: divide its weight by N
        s.entropy_weight / n => 0.0 :: leaves the entropy out :: reward it
        s.entropy_weight => -s.entropy_weight :: makes the entropy small :: keep it large
        -s.value_weight => -1 :: leaves value_weight out :: multiply the value's part by it
        -s.value_weight => -2 * s.value_weight :: has a 2 in the value's part :: take the half of the square
        gradient(advantages => gradient((advantages - advantages.mean()) / (advantages.std() + 1e-8) \
            :: standardises the advantages :: take R - V as it is
        return np => return clipped_norm(np.concatenate([-ascent, descent]), s.max_gradient_norm)\n    return np \
            :: shortens the two parts together :: shorten each by itself
        return np => clipped_norm = lambda g, most: g\n    return np \
            :: shortens nothing :: shorten each part to max_gradient_norm
    """,
    lecture="11a",
)
def _loss_gradient() -> Iterator[Case]:
    discrete = CategoricalPolicy(2, 2, ())
    yield step_case("one step", discrete, 1)
    yield step_case("two steps", discrete, 2)
    for policy in (discrete, CategoricalPolicy(3, 4, (6,)), GaussianPolicy(4, 2, (5, 3))):
        yield step_case("many steps", policy)
        yield step_case("much weight on the entropy", policy, entropy_weight=3.0)
        yield step_case("another weight of the value", policy, value_weight=0.03)
        for longest in (np.inf, 0.5, 0.05):
            yield step_case("returns far above V", policy, off=50.0, max_gradient_norm=longest)
        free: Any = {"spread": 0.0, "entropy_weight": 0.0}
        for longest, off in product((0.3, 3.0), (0.05, 0.2, 1.0)):  # with its root and its square, too
            yield step_case("lengths around the largest", policy, off=off, max_gradient_norm=longest, **free)
        for weight, off in ((100.0, 0.01), (1e-4, 50.0)):
            more: Any = {"value_weight": weight, "max_gradient_norm": 0.5}
            yield step_case("a long part and a short one", policy, off=off, **free, **more)


def step_case(kind: str, policy: Any, n: int = 9, off: float = 0.5, spread: float = 1.0, **more: Any) -> Case:
    """Return a case with n steps of a policy that has learned something, and returns that are V + off, or so."""
    s = ActorCriticSettings(**{"max_gradient_norm": np.inf} | more)
    rng = np.random.default_rng(n)
    model = ActorCritic(policy)
    theta = model.initialise(rng)
    theta = theta + 0.3 * rng.standard_normal(len(theta))
    states = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(model.distribution(theta, states), policy.draw_noise(rng, n))
    V = model.values(theta, states)
    R = V + off + spread * rng.standard_normal(n)
    actor, critic = model.split(theta)

    def run(f: Candidate) -> Any:
        at, value = LogProbability(policy, actor, states, actions), Linearisation(critic, model.value_sizes, states)
        gradient = f(at, value, R.copy(), s)
        need(np.array_equal(value.outputs[:, 0], V), "it changed value.outputs: work on a copy")
        whole = isinstance(gradient, np.ndarray) and gradient.shape == theta.shape
        need(whole, f"expected one array of {len(theta)} numbers, both parts in a row, got {value_words(gradient)}")
        return {"the policy's part": gradient[: len(actor)], "the value's part": gradient[len(actor) :]}

    shown = (
        f"{n} step{'s' * (n > 1)} of a {type(policy).__name__}, returns from {R.min():.3g} to {R.max():.3g}, entropy_"
        f"weight {s.entropy_weight:g}, value_weight {s.value_weight:g}, max_gradient_norm {s.max_gradient_norm:g}"
    )
    return Case(kind, run, atol=1e-15, shown=shown)


@exercise(
    "minitrpo.algorithms.asynchronous_algorithm:descend",
    r"""
        ? before = {name without the prefix: array} for those names of shared that start with it; see str.removeprefix.
        ? after, step = optimiser(before, gradient, step_size): after has the names that before has.
        ? shared[prefix + name][:] = array writes into the array that all look at; so does shared['theta'] -= step.
        [:] = array => = array && ['theta'] -= step => ['theta'] = shared['theta'] - step \
            :: puts new arrays into `shared` :: write into the old ones, which the other ranks look at
        ['theta'] -= step => ['theta'] = shared['theta'] - step \
            :: puts a new theta into `shared` :: write into the old one, which the other ranks look at
        [:] = array => = array :: puts the optimiser's new arrays into `shared` :: write into the old ones
        shared[prefix + name][:] = array => pass :: forgets the optimiser's new arrays :: write them into the old ones
        ['theta'] -= => ['theta'] += :: adds the step :: subtract it
        -= step => -= step_size * step :: multiplies the step by step_size :: subtract it as it comes
        shared['theta'] -= step => pass :: leaves theta where it is :: subtract the step
        ['theta'] -= step => ['theta'][:] = step :: replaces theta by the step :: subtract it from theta
    """,
    lecture="11a",
)
def _descend() -> Iterator[Case]:
    for name, steps in product(("sgd", "momentum", "rmsprop", "adam"), (1, 3)):
        kind = f"{'one step' if steps == 1 else 'several steps'} of {name}"
        yield shared_case(kind, OPTIMISERS[name], initial_state(name, 3), steps)
    for name in ("momentum", "adam"):
        own = initial_state(name, 3)
        yield shared_case("another prefix", OPTIMISERS[name], own, 3, prefix="of_all/")
        yield shared_case("no prefix", OPTIMISERS[name], own, 2, prefix="")
        yield shared_case("gradients of 0", OPTIMISERS[name], own, 2, scale=0.0)
    yield shared_case("an optimiser whose step is the gradient", lambda own, g, size: (own, g), {})
    own, step = initial_state("momentum", 3), OPTIMISERS["momentum"]
    yield shared_case("another array that is called `velocity`", step, own, 3, others={"velocity": np.full(3, 7.0)})
    of_critic = "of_critic.velocity"  # as long as the name that begins with the prefix
    yield shared_case("another optimiser beside this one", step, own, 3, others={of_critic: np.full(3, 7.0)})
    inside = f"last_{OPTIMISER}step"
    kept = lambda own, g, size: ({inside: own[inside] + g}, size * g)  # noqa: E731
    yield remark(shared_case("a name with the prefix in it", kept, {inside: np.zeros(3)}, 2))
    yield remark(shared_case("another rank that pushes meanwhile", step, own, 2, pushed=1.0))


def shared_case(
    kind: str,
    optimiser: Any,
    own: dict[str, Array],
    steps: int = 1,
    prefix: str = OPTIMISER,
    scale: float = 1.0,
    others: Mapping[str, Array] = MappingProxyType({}),
    pushed: float = 0.0,
) -> Case:
    """Return a case that looks at the arrays as other ranks do: at those that were there from the beginning.

    pushed: what another rank adds to theta while the optimiser is at work.
    """
    rng = np.random.default_rng(steps)
    theta, gradients = rng.standard_normal(3), scale * rng.standard_normal((steps, 3))

    def run(f: Candidate) -> Any:
        seen = {"theta": theta.copy(), "target": np.ones(3), "clocks": np.arange(2)}
        seen |= {prefix + name: array.copy() for name, array in own.items()}
        seen |= {name: array.copy() for name, array in others.items()}
        shared: Any = UserDict(seen)  # a dictionary, but one that may be changed

        def meanwhile(state: dict[str, Array], gradient: Array, step_size: float) -> Any:
            np.add(seen["theta"], pushed, out=seen["theta"])
            return optimiser(state, gradient, step_size)

        for gradient in gradients:
            f(shared, gradient, meanwhile, 0.1, prefix)
        need(set(shared) == set(seen), f"shared has other names in it now: {', '.join(sorted(map(str, shared)))}")
        named = {f"{name}, as the other ranks see it": array for name, array in seen.items()}
        return named | {f"shared[{name!r}]": shared[name] for name in seen}

    names = ", ".join(prefix + name for name in own) or "nothing"
    return Case(kind, run, shown=f"{steps} step{'s' * (steps > 1)} of size 0.1; the optimiser's arrays: {names}")
