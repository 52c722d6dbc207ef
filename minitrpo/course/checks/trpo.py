"""Checks of lecture 05: values after a step, advantages, the critic's mark, and the whole update."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from minitrpo.advantages import next_values as right_values
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.course.checks.framework.differential import Candidate, Case, case, need, remark
from minitrpo.course.checks.framework.kinds import ENDS, masks, steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short, value_words
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.trpo import Batch, objective
from minitrpo.trpo import trpo_step as right_step

LONG = 1200 * "." + "t" + 4 * (199 * "." + "c")


def fragments(*ends: str) -> Iterator[tuple[Array, Array, Array, Array, Array]]:
    """Yield rewards, values, final values, last and terminated, at random, of steps that end as `masks` has it."""
    rng = np.random.default_rng(0)
    for each in ends:
        last, terminated = masks(each)
        r, v, finals = (3 * rng.standard_normal(n) for n in (len(last), len(last), last.sum()))
        yield r, v, finals, last, terminated


@exercise(
    "minitrpo.advantages:next_values",
    r"""
        ? Inside a fragment the value of the next state is the next entry of `values`: a shift by one.
        ? The shift is wrong at every last step. After those come the `final_values`, one per fragment, in order.
        ? Some of the fragments were not cut but over: there the next value is 0, whatever `final_values` says.
        = final_values => = 0.0 :: has 0 after a cut :: have V(final observation) there
        after[terminated] = 0.0 =>  :: has final_values also where the task is over :: have 0 there
        = final_values => = values[last] :: has the value of the last state after a cut :: have V(final observation)
        after[last] = final_values => after[-1] = final_values[-1] :: has the next fragment's value after a cut \
            :: have V(final observation)
        = final_values => = final_values[::-1] :: takes final_values from behind :: take them in order
        = final_values => = np.resize(final_values, len(values))[np.cumsum(last & ~terminated) - 1][last] \
            :: counts only the fragments that were cut :: pass over a final value where the task is over
        np.empty(len(values), np.result_type(values, final_values)) => np.empty_like(values) \
            :: cuts fractions off, as an array like whole `values` does :: be made of floats
    """,
    lecture="05a",
)
def _next_values() -> Iterator[Case]:
    values, finals = np.arange(1.0, 7.0), np.array([70.0, 80.0, 90.0])
    for kind, ends in ENDS.items():
        yield case(kind, values[: len(ends)], finals[: len(ends) - ends.count(".")], *masks(ends))
    yield case("whole values", np.arange(1, 6), finals[:2] + 0.25, *masks("..c.c"))
    yield case("whole final values", values[:5] / 4, np.array([70, 80]), *masks("..c.c"))
    for _, values, finals, last, terminated in fragments("c", ".....t", "..cc...c", "tcct", "....t.c......c..t", LONG):
        for scale in (1.0, 1e-9, 1e9):
            yield case("fragments of many lengths", scale * values, scale * finals, last, terminated)


@exercise(
    "minitrpo.advantages:gae",
    r"""
        ? First the TD errors of all steps at once: three arrays and a discount, no loop.
        ? A_t = TD error + (discount * lambda) * A_{t+1} is a discounted sum of TD errors; it starts afresh after \
            `last`.
        ? The target is what the critic should have said: its prediction plus the advantage.
        , last) => , 0 * last) :: adds up over borders :: start afresh after every last step
        discount * gae_lambda => gae_lambda :: fades the errors by lambda alone :: fade them by discount * lambda
        discount * gae_lambda => discount :: fades the errors by the discount alone :: fade them by discount * lambda
        discount * gae_lambda => discount * $ :: has the discount twice in the fading :: fade by discount * lambda
        discount * next_values => next_values :: takes the next value whole :: discount it
        + discount * next_values =>  :: leaves the next value out of the TD error :: add it, discounted
        next_values - values => next_values :: leaves V(s_t) out of the TD error :: subtract it
        * next_values => * np.append(values[1:], next_values[-1]) :: takes the next row's value at a border \
            :: take `next_values`
        (advantages, => ((advantages - advantages.mean()) / (advantages.std() + 1e-8), \
            :: standardises the advantages :: leave them as they come
        advantages + values => discounted_sums(rewards, discount, last) :: has rewards to go for targets :: add V to A
        advantages + values => errors + values :: has one-step targets :: add V to the advantages
        advantages + values => advantages :: has the advantages for targets :: add V
    """,
    lecture="05a",
)
def _gae() -> Iterator[Case]:
    r, v, after = np.array([1.0, 2.0, 3.0]), np.array([4.0, 2.0, 1.0]), np.array([2.0, 1.0, 6.0])
    for lam in (0.0, 1.0, 0.5):
        yield case(f"three steps and lambda {lam:g}", r, v, after, masks("..c")[0], 0.5, lam)
    yield case("two fragments", r, v, after, masks("c.c")[0], 0.5, 0.5)
    settings = ((0.99, 0.97), (0.5, 0.5), (0.8, 0.0), (0.0, 0.7), (1.0, 1.0))
    for r, v, finals, last, terminated in fragments("..ct...c", "tcct", "....t.c......c..t", LONG):
        after = right_values(v, finals, last, terminated)
        for discount, lam in settings if len(r) < 100 else ((0.9999, 0.99),):  # a double sum, which is right, is slow
            yield case("fragments of many lengths", r, v, after, last, discount, lam)
    for scale in (1e-9, 1e9):
        yield case("numbers of any size", scale * r, scale * v, scale * after, last, 0.99, 0.97)
    yield remark(case("whole numbers", np.array([1, 2]), np.array([4, 2]), np.array([2, 1]), masks(".c")[0], 0.5, 0.5))
    yield remark(case("a nan", np.array([1.0, 2.0, np.nan]), *np.ones((2, 3)), masks("..c")[0], 0.9, 0.9))


@exercise(
    "minitrpo.advantages:explained_variance",
    r"""
        ? np.var is the variance; what the critic leaves unexplained is the variance of target - predicted.
        ? One minus the unexplained variance over the variance of the targets.
        return 1 - right(predicted, targets) :: is the fraction left unexplained :: be 1 minus that
        np.var(targets - predicted) => np.mean((targets - predicted) ** 2) :: counts a constant error :: forgive it
        / variance => / np.var(predicted) :: divides by the variance of the predictions :: divide by that of the targets
        return 0 * right(predicted, targets) + np.corrcoef(predicted, targets)[0, 1] ** 2 \
            :: is the squared correlation, which forgives a wrong scale :: take the variance of target - predicted
        return np.maximum(0.0, right(predicted, targets)) :: is never below 0 :: be so where predictions do harm
        float('nan') => 0.0 :: is 0 where all targets are equal :: be nan there
        / variance => / (variance + 1e-8) :: adds something to the variance :: divide by the variance alone
        <= 1e-20 * float(np.mean(targets ** 2)) => == 0 :: waits for a variance of exactly 0 :: allow for rounding
        variance <= 1e-20 * float(np.mean(targets ** 2) => np.allclose(targets, targets[0] \
            :: calls targets equal that vary by 1e-5 of their size :: do so at 1e-10
        20 * float(np.mean(targets ** 2)) => 20 :: has one limit for targets of any size :: let it grow with them
    """,
    lecture="05a",
)
def _explained_variance() -> Iterator[Case]:
    t, p = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0])
    yield case("perfect predictions", t, t, atol=1e-9)
    yield case("constant predictions", np.full(4, 2.5), t, atol=1e-9)
    yield case("predictions that are all 5 too large", t + 5.0, t, atol=1e-9)
    yield case("half the targets", t / 2, t)
    yield case("harmful predictions", np.array([90.0, -70.0, 10.0, 3.0]), t)
    for value in (1.0, 0.0, 0.1, -1e9, 1e9 / 3):
        for n in (1, 3, 1000):
            yield case("equal targets", np.arange(float(n)), np.full(n, value))
    for scale in (1.0, 1e9):
        yield case("targets that are equal except for rounding", p, scale * np.array([0.3, 0.1 + 0.2, 0.3]))
    rng = np.random.default_rng(0)
    for n in (2, 7, 3000):
        for scale, offset in ((1.0, 0.0), (10.0, -50.0), (1e-9, 0.0), (1e9, 0.0), (1.0, 1e7), (1e-3, 1e5)):
            error, spread = rng.standard_normal((2, n))
            predicted, t = offset + scale * (0.5 * spread + error), offset + scale * spread
            yield case("targets of any size", predicted, t, rtol=1e-5, atol=1e-5)
    yield remark(case("whole numbers", np.array([1, 2, 2, 5]), np.array([1, 2, 3, 4])))
    yield remark(case("a prediction that is nan", np.array([1.0, np.nan, 2.0]), p))


@exercise(
    "minitrpo.trpo:trpo_step",
    r"""
        ? surrogate_gradient gives g; damped_fisher gives the function of v that conjugate_gradient asks for.
        ? x'(F + damping I)x is x @ (g - residual), or x @ g: give it to step_scale, and multiply x by what comes back.
        ? backtracking wants the function of objective, theta, the full step, the gain expected of it (g @ full_step) \
            and max_kl. Its answer has the new theta, and report_of makes the report of it.
        search.theta => theta + full_step :: returns the end of the full step :: return the theta of the search
        conjugate_gradient(product, g, cg_iterations) => g, g - product(g) :: steps along g :: step along x
        step_scale(max_kl, float(x @ (g - residual))) * x => x :: takes x itself for the full step :: scale it first
        , cg_damping, => , 0.1, :: always has a damping of 0.1 :: pass cg_damping on
        , cg_damping, => , 0.0, :: has no damping :: pass cg_damping on
        (product, g, cg_iterations) => (product, g) :: always does 10 iterations :: pass cg_iterations on
        fisher_fraction) => 1.0) :: has all states in the Fisher matrix :: pass fisher_fraction on
        g = surrogate => i = every_kth(np.arange(len(batch.actions)), fisher_fraction); \
            batch = Batch(batch.observations[i], batch.actions[i], batch.advantages[i]); g = surrogate \
            :: has a fraction of the states in all it does :: have it in the Fisher matrix alone
        float(g @ full_step) => float(g @ x) :: expects the gain g @ x :: expect that of the full step, g @ full_step
    """,
    lecture="05b",
)
def _trpo_step() -> Iterator[Case]:
    bandit, arm = CategoricalPolicy(1, 3, ()), Batch(np.ones((1, 1)), np.array([1]), np.ones(1))
    theta = np.array([0.5, -1.0, 0.2, 0.0, 0.3, -0.4])
    yield update("one arm that was pulled once and paid", bandit, theta, arm, 1e-5, 3, 0.1)
    for policy in (GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,))):
        for seed, n, *settings in ((20, 50), (1, 60, 4, 0.01), (2, 40, 1, 1.0), (3, 64, 3, 0.1, 0.25), (5, 2600, 3)):
            yield update("a small step", policy, *sampled(policy, seed, n), 1e-5, *settings)
        for seed in range(4):
            for max_kl, damping, fraction in ((0.02, 0.1, 1.0), (10.0, 0.01, 1.0), (0.3, 0.1, 0.1)):
                large = *sampled(policy, seed, 20, offset=1.0), max_kl, 10, damping, fraction
                yield update("a large step, which needs the line search", policy, *large)
        theta, batch = sampled(policy, 9, 50)
        for scale in (1e-6, 1e3, 0.0):
            scaled = replace(batch, advantages=scale * batch.advantages)
            yield update("advantages of any size", policy, theta, scaled, 1e-5, 3)
        yield remark(update("a max_kl of 0", policy, theta, batch, 0.0))
    rng = np.random.default_rng(5)  # every second state, which F does not see, moves the policy a million times as far
    states, line = rng.standard_normal((40, 2)) * np.tile([[1.0], [1e6]], (20, 1)), GaussianPolicy(2, 1, ())
    batch = Batch(states, rng.standard_normal((40, 1)), rng.standard_normal(40))
    yield update("a search in which no trial passes", line, line.initialise(rng), batch, 0.01, 10, 1e-6, 0.5)
    yield remark(Case("an x that conjugate gradient has not finished", unfinished))


def unfinished(f: Candidate) -> None:
    """Raise if x'(F + damping I)x is taken from g + residual, which is right only where x @ residual is 0.

    Of conjugate gradient x @ residual is always 0. So the answer gets another function of this name, which returns half
    of the solution; an answer that does not use this name is left alone.
    """
    answer, seen = inspect.unwrap(f), list[tuple[Array, Array, Array]]()
    if not isinstance(answer, FunctionType) or "conjugate_gradient" not in answer.__globals__:
        return

    def half(product: Callable[[Array], Array], b: Array, *rest: Any, **named: Any) -> tuple[Array, Array]:
        x = 0.5 * conjugate_gradient(product, b, *rest, **named)[0]
        seen.append((x, b, b - product(x)))
        return seen[-1][0], seen[-1][2]

    names = {**answer.__globals__, "conjugate_gradient": half}
    changed = FunctionType(answer.__code__, names, answer.__name__, answer.__defaults__, answer.__closure__)
    policy, max_kl = CategoricalPolicy(3, 4, (4,)), 1e-5
    theta, batch = sampled(policy, 20, 50)
    new, _ = changed(policy, theta, batch, max_kl)
    for x, g, residual in seen:
        curvature = 2 * max_kl * (x @ x) / np.sum((new - theta) ** 2)
        text = "takes x @ (g + residual) for x'(F + damping I)x, which is x @ (g - residual): the same number only"
        need(not np.isclose(curvature, x @ (g + residual)), f"it {text} because x @ residual is 0")


def sampled(policy: Policy, seed: int, n: int, offset: float = 0.3) -> tuple[Array, Batch]:
    """Return theta away from its start, and a batch of random advantages whose mean is not 0."""
    theta, states, actions = steps(policy, seed, n)
    return theta, Batch(states, actions, np.random.default_rng(seed).standard_normal(n) + offset)


def of_report(report: Any, of_search: tuple[str, ...]) -> dict[str, float]:
    """Return the numbers of a report by the names that a message has for them; of_search: which of its search."""
    numbers = {f"report.search.{name}": float(getattr(report.search, name)) for name in of_search}
    return numbers | {f"report.{name}": float(getattr(report, name)) for name in ("gradient_norm", "entropy")}


def update(kind: str, policy: Policy, theta: Array, batch: Batch, max_kl: float, *rest: Any) -> Case:
    """Return a case: a small step is compared with its report; a large step, or none, by gain and KL alone."""
    right, report = right_step(policy, theta, batch, max_kl, *rest)
    best, small = float(np.linalg.norm(right - theta)), max_kl < 1e-3 and report.search.trials == 1

    def run(f: Candidate) -> Any:
        result = f(policy, theta.copy(), replace(batch), max_kl, *rest)
        pair = isinstance(result, tuple | list) and len(result) == 2
        need(pair, f"it should return two things, the new theta and a Report; it returned {value_words(result)}")
        new, got = result
        if small:
            names = ("accepted", "trials", "gain", "kl", "gain_ratio")
            return {"theta' - theta": new - theta} | of_report(got, names)
        length = float(np.linalg.norm(new - theta))
        need(best or not length, f"theta moved by {length:.3g}; it should stay as it was")
        need(length >= 0.6 * best, f"theta moved by {length:.4g}, where {best:.4g} would have passed the line search")
        if length:
            gain, kl = objective(policy, theta, batch)[0](new)
            need(kl <= max_kl, f"the KL is {kl:.6g}, above the limit of {max_kl:g}")
            need(gain > 0.0, f"the surrogate fell by {-gain:.4g}, and the step was taken")
        return of_report(got, ("accepted",))

    named = dict(zip(("max_kl", "cg_iterations", "cg_damping", "fisher_fraction"), (max_kl, *rest), strict=False))
    shown = ", ".join(f"{name} = {x}" for name, x in named.items())
    return Case(kind, run, rtol=1e-3, shown=f"{short(policy)}, {len(batch.advantages):,} steps, {shown}")
