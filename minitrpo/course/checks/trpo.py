"""Checks of lecture 05: values after a step, advantages, the critic's mark, and the whole update."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from minitrpo.course.checks.differential import Candidate, Case, case, megabytes, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.policy_gradient import mask, steps
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short, value_words
from minitrpo.natural_gradient import mean_kl
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.policy_gradient import surrogate
from minitrpo.returns import next_values as right_values
from minitrpo.trpo import Batch, surrogate_gradient
from minitrpo.trpo import trpo_step as right_step

SHAPES = ((1,), (6,), (3, 1, 4), (1, 1, 1, 2), (5, 2, 7, 3), (2, 8))  # lengths of the fragments of a batch


def fragments() -> Iterator[tuple[Array, Array, Array, Array, Array]]:
    """Yield rewards, values, final values, last, terminated: all cut, all terminated, and both by turns."""
    rng = np.random.default_rng(0)
    for lengths in (*SHAPES, (3000,), (200,) * 15):
        e, last = len(lengths), mask(*lengths)
        turns = np.arange(e) % 2 == 0
        for ended in (np.zeros(e, bool), np.ones(e, bool), turns, ~turns):
            terminated = last.copy()
            terminated[last] = ended
            r, v, finals = (3 * rng.standard_normal(n) for n in (len(last), len(last), e))
            yield r, v, finals, last, terminated


# Pieces of the package's source, for the tables of known mistakes.
SHIFT, FINALS, OVER = "after[:-1] = values[1:]", "after[last] = final_values", "after[terminated] = 0.0"
COUNTED = "after[last] = np.resize(final_values, len(values))[np.cumsum(last & ~terminated) - 1][last]"
NEXT_ROW = "np.append(values[1:], next_values[-1])"
FADE, ERRORS = "discount * gae_lambda", "rewards + discount * next_values - values"
BOTH, STANDARDISED = "advantages, advantages + values", "(advantages - advantages.mean()) / (advantages.std() + 1e-8)"
UNEXPLAINED, EQUAL = "np.var(targets - predicted)", "variance <= 1e-20 * float(np.mean(targets**2))"
CORRELATION = "np.corrcoef(predicted, targets)[0, 1] ** 2"
WHOLE = f"1.0 - float({UNEXPLAINED}) / variance"
SCALE, LIMIT = "step_scale(max_kl, float(x @ (g - residual)))", "step_scale(max_kl,"
SOLVE, THETA, END = (
    "x, residual = conjugate_gradient(product, g, cg_iterations)",
    "return search.theta, report_of(",
    "g, entropy)",
)
TURNED = "return (lambda *r: r[::-1])(search.theta, report_of("
LAST_TRIAL = "search.theta if search.accepted or not search.trials else theta + 0.7**11 * full_step"
DOWN = (
    "full_step = -full_step; inner = evaluate; evaluate = lambda t: (-inner(t)[0], inner(t)[1]); search = backtracking("
)
AFTER = "g, objective(policy, search.theta, batch)[1])"
AGAIN = (
    "a = batch.advantages; a = (a - a.mean()) / (a.std() + 1e-8); "
    "batch = Batch(batch.observations, batch.actions, a); g = surrogate"
)
SOME = (
    "i = every_kth(np.arange(len(batch.actions)), fisher_fraction); "
    "batch = Batch(batch.observations[i], batch.actions[i], batch.advantages[i]); g = surrogate"
)
ORDER = ("accepted", "reason", "trials", "gain", "kl", "gain_ratio")


NEXT_VALUES_SLIPS = {
    "A fragment that was merely cut has a future: V(final observation).": (FINALS, "after[last] = 0.0"),
    "Where the task is over the next value is 0, whatever final_values says.": (OVER, ""),
    "It is the other way round: 0 after an end, final_values after a cut.": (OVER, "after[last & ~terminated] = 0"),
    "After a cut comes V(final observation), not the last state's own value.": (FINALS, "after[last] = values[last]"),
    "After a cut comes V(final observation), not the next fragment.": (FINALS, "after[-1] = final_values[-1]"),
    "After a cut comes V(final observation), not whatever stands next.": (FINALS, "after[-1] = values[0]"),
    "The shift goes the wrong way: the value of the state after, not before.": (SHIFT, "after[:] = np.roll(values, 1)"),
    "The final values are in reverse order.": (FINALS, "after[last] = final_values[::-1]"),
    "final_values has one entry for each fragment, also for those that are over.": (FINALS, COUNTED),
    "After the end of the task the value is 0, not nan.": (OVER, "after[terminated] = np.nan"),
    "They are cut to whole numbers: see what an array like `values` can hold.": (
        "return after",
        "return after.astype(int)",
    ),
    "An array made like `values` holds whole numbers if they do, and cuts the others: make one of floats.": (
        "np.empty(len(values), np.result_type(values, final_values))",
        "np.empty_like(values)",
    ),
}


@exercise(
    "next_values",
    "minitrpo.returns:next_values",
    hints=(
        "Inside a fragment the value of the next state is the next entry of `values`: a shift by one.",
        "The shift is wrong at every last step. After those come the `final_values`, one per fragment, in order.",
        "Some of the fragments were not cut but over: there the next value is 0, whatever `final_values` says.",
    ),
    mistakes=edits("minitrpo.returns:next_values", NEXT_VALUES_SLIPS),
)
def next_values_cases() -> Iterator[Case]:
    """Yield fragments by hand and of every shape, cut and over, in whole numbers, and in numbers of any size."""
    values, finals, last = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([70.0, 80.0]), mask(3, 2)
    none = np.zeros(5, bool)
    yield case("two fragments that were cut", values, finals, last, none)
    yield case("a fragment that is over and one that was cut", values, finals, last, np.arange(5) == 2)
    yield case("a fragment that was cut and one that is over", values, finals, last, np.arange(5) == 4)
    yield case("integer values", np.arange(1, 6), np.array([70.5, 80.25]), last, none)
    yield case("integer final values", values / 4, np.array([70, 80]), last, none)
    for _, values, finals, last, terminated in fragments():
        over = terminated[last]
        yield case("fragments of many lengths", values, finals, last, terminated, rtol=0.0)
        yield case("final values that mean nothing", values, np.where(over, 1e6, finals), last, terminated, rtol=0.0)
    for scale in (1e-9, 1e9):
        yield case("values of any size", scale * values, scale * finals, last, terminated, rtol=0.0)
    values, last = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), mask(3, 2)
    for place in (0, 1):
        yield case("a final value of 0", values, np.where(np.arange(2) == place, 0.0, 70.0), last, none)
    yield case("equal values", np.full(5, 2.0), np.array([7.0, 9.0]), last, none)
    yield case("equal final values", values, np.array([7.0, 7.0]), last, np.arange(5) == 2)


GAE_SLIPS = {
    "A border leaks: the sum starts afresh after every last step.": (", last)", ", 0 * last)"),
    "The border is read one step late or early.": (", last)", ", np.append(last[1:], True))"),
    "The errors fade by discount * lambda, not by lambda alone.": (FADE, "gae_lambda"),
    "The errors fade by discount * lambda, not by the discount alone.": (FADE, "discount"),
    "The discount is in it twice: the errors fade by discount * lambda.": (FADE, "discount**2 * gae_lambda"),
    "The next value is discounted, too.": ("discount * next_values", "next_values"),
    "The next value is missing from the TD error.": (" + discount * next_values", ""),
    "The value of the state itself, V(s_t), is missing from the TD error.": ("next_values - values", "next_values"),
    "The TD error has the wrong sign: r + discount * V(after) - V(now).": (ERRORS, f"-({ERRORS})"),
    "The next value is that of the next row, also at a border.": ("* next_values", f"* {NEXT_ROW}"),
    "The advantages are standardised: leave them as they come.": (BOTH, f"{STANDARDISED}, advantages + values"),
    "The targets are advantage + V, not the rewards to go.": (
        BOTH,
        "advantages, discounted_sums(rewards, discount, last)",
    ),
    "The targets are advantage + V: here they are those of one step.": (BOTH, "advantages, errors + values"),
    "The targets are the advantages themselves: add V.": (BOTH, "advantages, advantages"),
    "The targets are advantage + V, not minus.": (BOTH, "advantages, advantages - values"),
    "The targets are advantage + V(s_t), not V of the next state.": (BOTH, "advantages, advantages + next_values"),
    "Two results are wanted, advantages and value targets.": (BOTH, "advantages"),
    "The targets came first: advantages, then targets.": (BOTH, "advantages + values, advantages"),
    "An array made like `rewards` holds whole numbers if they do, and cuts the others: make one of floats.": (
        *("return ", "advantages = advantages.astype(rewards.dtype); return "),
    ),
}


@exercise(
    "gae",
    "minitrpo.returns:gae",
    hints=(
        "First the TD errors of all steps at once: three arrays and a discount, no loop.",
        "A_t = TD error + (discount * lambda) * A_{t+1} is a discounted sum of TD errors; it starts afresh after "
        "`last`.",
        "The target is what the critic should have said: its prediction plus the advantage.",
    ),
    mistakes=edits("minitrpo.returns:gae", GAE_SLIPS),
)
def gae_cases() -> Iterator[Case]:
    """Yield estimates by hand, over borders of every kind, at both ends of discount and lambda, of any size."""
    r, v, after = np.array([1.0, 2.0, 3.0]), np.array([4.0, 2.0, 1.0]), np.array([2.0, 1.0, 6.0])
    for lam in (0.0, 1.0, 0.5):
        yield case(f"three steps and lambda {lam:g}", r, v, after, mask(3), 0.5, lam)
    whole = np.array([1, 2, 3]), np.array([4, 2, 1]), np.array([2, 1, 6]), mask(2, 1)
    yield case("integers", *whole, 0.5, 0.5)
    yield case("integers", *whole, 1.0, 1.0)
    yield case("whole rewards beside values that are not", whole[0], v / 4, after / 4, mask(3), 0.9, 0.7)
    yield case("whole values beside others that are not", r / 4, whole[1], np.array([2.0, 1.0, 6.5]), mask(3), 0.9, 0.7)
    yield case(
        "whole next values beside others that are not", r / 4, np.array([4.5, 2.0, 1.0]), whole[2], mask(3), 0.9, 0.7
    )
    settings = ((0.99, 0.97), (0.5, 0.5), (1.0, 0.9), (0.9, 1.0), (0.8, 0.0), (0.0, 0.7), (1.0, 1.0), (1, 0))
    for r, v, finals, last, terminated in fragments():
        after = right_values(v, finals, last, terminated)
        long = len(r) > 100  # a double sum, which is right, takes seconds for each: two of them are enough
        for discount, lam in settings if not long else () if terminated.any() else ((0.99, 0.97), (0.9999, 0.99)):
            kind = "batches of 3,000 steps" if long else "fragments of many lengths"
            yield case(kind, r, v, after, last, discount, lam)
    for scale in (1e-9, 1e9):
        yield case("numbers of any size", scale * r, scale * v, scale * after, last, 0.99, 0.97)
    beside = np.where(np.arange(12) < 4, 1.0, 1e9)
    for numbers, border in ((beside, mask(4, 8)), (beside[::-1].copy(), mask(8, 4))):
        yield case("a tiny fragment beside a huge one", numbers, 0 * numbers, 0 * numbers, border, 0.9, 0.9, each=True)
    yield case("a reward that is nan", np.array([1.0, 2.0, np.nan]), 0 * np.ones(3), np.ones(3), mask(3), 0.9, 0.9)
    yield case("equal rewards, values and next values", *np.ones((3, 5)), mask(2, 3), 0.9, 0.7)


EXPLAINED_VARIANCE_SLIPS = {
    "That is the fraction left unexplained: 1 minus it is wanted.": ("1.0 - ", ""),
    "1 minus the unexplained fraction, not plus.": ("1.0 - ", "1.0 + "),
    "A constant error is forgiven: take its variance.": (UNEXPLAINED, "np.mean((targets - predicted) ** 2)"),
    "The targets vary around their mean, not around 0.": ("/ variance", "/ np.mean(targets**2)"),
    "That is the variance of the predictions over that of the targets.": (WHOLE, "np.var(predicted) / variance"),
    "It divides by the variance of the predictions, not of the targets.": ("/ variance", "/ np.var(predicted)"),
    "The unexplained variance is divided by that of the targets.": (WHOLE, f"variance - {UNEXPLAINED}"),
    "Those are standard deviations, not variances.": (WHOLE, f"1 - ({UNEXPLAINED} / variance) ** 0.5"),
    "That is the squared correlation, which forgives a wrong scale.": (WHOLE, CORRELATION),
    "Predictions can be worse than none: below 0 it goes on.": (WHOLE, f"max(0.0, {WHOLE})"),
    "Where all targets are equal there is nothing to explain: NaN, not 0.": ('float("nan")', "0.0"),
    "Where all targets are equal there is nothing to explain: NaN, not 1.": ('float("nan")', "1.0"),
    "Targets that are equal but for rounding leave nothing to explain: NaN.": (EQUAL, "np.ptp(targets) == 0"),
    "Something small is added to the variance: small targets feel it.": ("/ variance", "/ (variance + 1e-8)"),
    "Rounding gives equal targets a variance that is not quite 0: compare it with their size.": (
        EQUAL,
        "variance == 0",
    ),
    "Targets that vary little still vary: it is their size that counts.": (EQUAL, "variance < 1e-8"),
    "Targets that vary little still vary: the limit is 1e-10 of their size (np.allclose has 1e-5).": (
        *(EQUAL, "np.allclose(targets, targets[0])"),
    ),
    "Rounding grows with the targets: a limit that does not is too small for large ones.": (EQUAL, "variance <= 1e-20"),
    "One variance divides by N and the other by N - 1.": (UNEXPLAINED, "np.var(targets - predicted, ddof=1)"),
}


@exercise(
    "explained_variance",
    "minitrpo.returns:explained_variance",
    hints=(
        "np.var is the variance; what the critic leaves unexplained is the variance of target - predicted.",
        "One minus the unexplained variance over the variance of the targets.",
    ),
    mistakes=edits("minitrpo.returns:explained_variance", EXPLAINED_VARIANCE_SLIPS),
)
def explained_variance_cases() -> Iterator[Case]:
    """Yield perfect, useless, shifted and harmful predictions of targets of any size, and targets without variance."""
    t = np.array([1.0, 2.0, 3.0, 4.0])
    for kind, predicted in (
        ("perfect predictions", t),
        ("constant predictions", np.full(4, 2.5)),
        ("bad constant predictions", np.full(4, -9.0)),
        ("predictions that are all 5 too large", t + 5.0),
        ("predictions with the wrong sign", -t),
        ("half the targets", t / 2),
        ("twice the targets", 2 * t),
        ("harmful predictions", np.array([90.0, -70.0, 10.0, 3.0])),
    ):
        yield case(kind, predicted, t, atol=1e-9)
    yield case("integers", np.array([1, 2, 2, 5]), np.array([1, 2, 3, 4]))
    rng = np.random.default_rng(0)
    for n in (2, 7, 3000):
        for scale, offset in (
            (1.0, 0.0),
            (10.0, -50.0),
            (1e-9, 0.0),
            (1e9, 0.0),
            (0.01, 3.0),
            (1e-6, 1e-3),
            (1.0, 1e5),
            (1.0, 1e7),
            (1e-7, 1.0),
            (1e-4, 1e5),
        ):
            t = offset + scale * rng.standard_normal(n)
            predicted = offset + 0.5 * (t - offset) + scale * rng.standard_normal(n)
            yield case("targets of any size", predicted, t, rtol=1e-5, atol=1e-5)
    yield from nothing_to_explain()
    p = np.array([1.0, 2.0, 4.0])
    yield case("targets that come several times", np.array([1.0, 3.0, 3.0, 3.0]), np.array([2.0, 5.0, 5.0, 5.0]))
    yield case("a prediction that is nan", np.array([1.0, np.nan, 2.0]), p)


def nothing_to_explain() -> Iterator[Case]:
    """Yield targets that are equal, or would be but for rounding."""
    p = np.array([1.0, 2.0, 4.0])
    for value in (0.0, 1.0, 0.1, -1e9, 1e-9, 1 / 3):
        yield case("equal targets", p, np.full(3, value))
        yield case("many equal targets", np.arange(1000.0), np.full(1000, value))
    yield case("equal targets and predictions", np.ones(3), np.ones(3))
    yield case("targets that are equal but for rounding", p, np.array([0.3, 0.1 + 0.2, 0.3]))
    yield case("targets that are equal but for rounding", p, 1e9 * np.array([0.3, 0.1 + 0.2, 0.3]))
    yield case("a single target", np.ones(1), 2 * np.ones(1))


# --- trpo_step


TRPO_STEP_SLIPS = {
    "The search has a theta of its own: this is the full step.": (THETA, "return theta + full_step, report_of("),
    "A search that fails gives the old theta back; this is its last trial.": (
        THETA,
        f"return {LAST_TRIAL}, report_of(",
    ),
    "That is a step along g; the natural direction x is wanted.": (SOLVE, "x = g; residual = g - product(g)"),
    "The step goes down: the surrogate falls along it.": ("search = backtracking(", DOWN),
    "The step is sqrt(2) times too short: 1/2 beta^2 x'(F + damping I)x = max_kl.": (LIMIT, "step_scale(max_kl / 2,"),
    "The step is beta x, with beta from step_scale: here it is x itself.": (f"{SCALE} * x", "x"),
    "The step is beta x, beta = sqrt(2 max_kl / x'(F + damping I)x): the root is missing.": (SCALE, f"{SCALE} ** 2"),
    "The damping is not the one that was asked for.": (", cg_damping,", ", 0.1,"),
    "The damping is missing.": (", cg_damping,", ", 0.0,"),
    "The number of iterations is not the one that was asked for.": ("(product, g, cg_iterations)", "(product, g)"),
    "It does one iteration of conjugate gradient too many.": ("g, cg_iterations)", "g, cg_iterations + 1)"),
    "fisher_fraction is not used: all states serve the Fisher matrix.": ("fisher_fraction)\n", "1.0)\n"),
    "The advantages are standardised again: take them as they come.": ("g = surrogate", AGAIN),
    "The gradient and the search see all states, whatever fisher_fraction is.": ("g = surrogate", SOME),
    "The gain that is expected is that of the full step: g @ full_step.": ("float(g @ full_step)", "float(g @ x)"),
    "The search is done within max_kl itself.": ("full_step), max_kl)", "full_step), 1.5 * max_kl)"),
    "The search does all of its trials.": ("full_step), max_kl)", "full_step), max_kl, max_trials=1)"),
    "gradient_norm is the length of g, not its square.": (
        "(search, g, entropy)",
        "(search, np.array([g @ g]), entropy)",
    ),
    "gain and kl have changed places.": (
        "(search, g,",
        "(__import__('dataclasses').replace(search, gain=search.kl, kl=search.gain), g,",
    ),
    "entropy is that of the old policy, not of the new.": ("g, entropy)", AFTER),
    "Two results are wanted, the new theta and a Report.": (THETA, "return search.theta; report_of("),
    "The Report came first: the new theta, then the Report.": (THETA, TURNED, END, f"{END})"),
    "By default it does 10 iterations.": ("cg_iterations: int = 10", "cg_iterations: int = 20"),
    "By default the damping is 0.1.": ("cg_damping: float = 0.1", "cg_damping: float = 0.001"),
    "By default all states serve the Fisher matrix.": ("fisher_fraction: float = 1.0", "fisher_fraction: float = 0.1"),
}


@exercise(
    "trpo_step",
    "minitrpo.trpo:trpo_step",
    hints=(
        "surrogate_gradient gives g; damped_fisher gives the function of v that conjugate_gradient asks for.",
        "x'(F + damping I)x is x @ (g - residual), or x @ g: give it to step_scale, and multiply x by what comes back.",
        "backtracking wants the function of objective, theta, the full step, the gain expected of it (g @ full_step) "
        "and max_kl. Its answer has the new theta, and all that Report needs but two.",
    ),
    mistakes=edits("minitrpo.trpo:trpo_step", TRPO_STEP_SLIPS),
)
def trpo_step_cases() -> Iterator[Case]:
    """Yield small steps, compared number by number; large ones, compared by what was promised; and impossible ones."""
    bandit, arm = CategoricalPolicy(1, 3, ()), Batch(np.ones((1, 1)), np.array([1]), np.ones(1))
    theta = np.array([0.5, -1.0, 0.2, 0.0, 0.3, -0.4])
    yield small("one arm that was pulled once and paid", bandit, theta, arm, 1e-5, 3, 0.1)
    for policy in (GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,))):
        for seed, n, max_kl, settings in (
            (0, 40, 1e-5, (2,)),
            (1, 60, 1e-6, (4, 0.01)),
            (2, 40, 1e-5, (1, 1.0)),
            (3, 64, 1e-6, (3, 0.1, 0.25)),
            (4, 1, 1e-5, (2,)),
            (5, 2600, 1e-5, (3, 0.1)),
            (6, 50, 1e-5, (3, 0.1, 1e-6)),
            (7, 50, 1e-5, (0,)),
        ):
            yield small("small steps with every setting", policy, *sampled(policy, seed, n), max_kl, *settings)
        yield tried("the default settings", partial(defaults, policy=policy), shown=short(policy))
        yield small("a damping of 0", policy, *sampled(policy, 8, 60), 1e-6, 2, 0.0)
        theta, batch = sampled(policy, 9, 50)
        for scale in (1e-9, 1e3, 1e9):
            scaled = replace(batch, advantages=scale * batch.advantages)
            yield small("advantages of any size", policy, theta, scaled, 1e-5, 3)
        yield small("integer advantages", policy, theta, replace(batch, advantages=np.arange(50) % 3 - 1), 1e-5, 3)
        for seed in range(4):
            for max_kl, damping, fraction in ((0.02, 0.1, 1.0), (1.0, 0.01, 1.0), (0.3, 0.1, 0.1)):
                named = {"cg_damping": damping, "fisher_fraction": fraction}
                yield large(policy, *sampled(policy, 10 + seed, 20, offset=1.0), max_kl, named)
        theta, batch = sampled(policy, 22, 30)
        spoilt = np.where(np.arange(30) == 3, np.nan, batch.advantages)
        for kind, advantages, max_kl in (
            ("advantages of 0", np.zeros(30), 0.01),
            ("an advantage that is nan", spoilt, 0.01),
            ("a max_kl of 0", batch.advantages, 0.0),
        ):
            yield stays(kind, policy, theta, replace(batch, advantages=advantages), max_kl)
    yield tried("the memory of many parameters", memory, shown="one update of 30 steps")
    yield stays("a search in which no trial passes", *hopeless(), 0.01, 10, 1e-6, 0.5)


def sampled(policy: Policy, seed: int, n: int, offset: float = 0.3) -> tuple[Array, Batch]:
    """Return theta away from its start, and a batch of random advantages whose mean is not 0."""
    theta, states, actions = steps(policy, seed, n)
    return theta, Batch(states, actions, np.random.default_rng(seed).standard_normal(n) + offset)


def hopeless() -> tuple[Policy, Array, Batch]:
    """Return an update that cannot succeed: every second state, which F does not see, moves a thousand times as far."""
    policy, rng = GaussianPolicy(2, 1, ()), np.random.default_rng(5)
    observations = rng.standard_normal((40, 2)) * np.where(np.arange(40) % 2 == 0, 1.0, 1000.0)[:, None]
    actions = rng.standard_normal((40, 1))
    return policy, policy.initialise(rng), Batch(observations, actions, rng.standard_normal(40))


def update(f: Candidate, policy: Policy, theta: Array, batch: Batch, *rest: Any, **named: Any) -> tuple[Array, Any]:
    """Return the new theta and the report, after the rules that hold for every update."""
    result = f(policy, theta.copy(), replace(batch), *rest, **named)
    pair = isinstance(result, tuple | list) and len(result) == 2
    need(pair, f"it should return two things, the new theta and a Report; it returned {value_words(result)}")
    new, report = result
    need(np.shape(new) == theta.shape, f"the new theta should have shape {theta.shape}, not {np.shape(new)}")
    need(np.all(np.isfinite(new)), f"the new theta holds numbers that are not finite: {value_words(new)}")
    missing = [n for n in (*ORDER, "gradient_norm", "entropy") if not hasattr(report, n)]
    need(not missing, f"the second result should be a Report; it has no `{', '.join(missing)}`")
    need(isinstance(report.trials, int | np.integer), f"report.trials should be a whole number, not {report.trials!r}")
    return np.asarray(new), report


def honest(new: Array, report: Any, policy: Policy, theta: Array, batch: Batch) -> None:
    """Compare what the report says of a step with the step itself."""
    old, after = (policy.distribution(t, batch.observations) for t in (theta, new))
    gain = surrogate(policy, after, policy.log_prob(old, batch.actions), batch.actions, batch.advantages)
    true = {"kl": mean_kl(policy, old, after), "gain": gain - np.mean(batch.advantages)}
    true["gain_ratio"] = true["gain"] / (surrogate_gradient(policy, theta, batch) @ (new - theta))
    need(report.accepted, f"theta moved, and report.accepted is False ({report.reason!r})")
    need(report.trials >= 1, f"theta moved, and report.trials is {report.trials}")
    for name, value in true.items():
        told = float(getattr(report, name))
        near = abs(told - value) <= 1e-4 * abs(value) + 1e-12 * np.abs(batch.advantages).max()
        need(near, f"report.{name} is {told:.6g}; of the step it took it is {value:.6g}")


def described(policy: Policy, batch: Batch, max_kl: float, rest: Any = (), **named: Any) -> str:
    """Return an update in words."""
    named = dict(zip(("cg_iterations", "cg_damping", "fisher_fraction"), rest, strict=False)) | named
    more = "".join(f", {name} = {x}" for name, x in named.items())
    return f"{short(policy)}, {len(batch.advantages):,} steps, max_kl = {max_kl:g}{more}"


def small(kind: str, policy: Policy, theta: Array, batch: Batch, max_kl: float, *rest: Any) -> Case:
    """Return a small step, whose direction is compared, and its length where the full step is taken; and its report."""
    trials = right_step(policy, theta, batch, max_kl, *rest)[1].trials

    def run(f: Candidate) -> Any:
        new, report = update(f, policy, theta, batch, max_kl, *rest)
        moved = new - theta
        length = float(np.linalg.norm(moved))
        result: dict[str, Any] = {"the length of the step": length} if trials == 1 else {}
        result |= {
            "the direction of the step, a unit vector": moved / (length or 1.0),
            "its accepted": bool(report.accepted),
        }
        if moved.any():
            honest(new, report, policy, theta, batch)
        return result | {name: float(getattr(report, name)) for name in ("gradient_norm", "entropy")}

    return tried(kind, run, rtol=1e-3, atol=1e-12, shown=described(policy, batch, max_kl, rest))


def defaults(f: Candidate, policy: Policy) -> None:
    """Compare an answer's own defaults with the settings that they should be."""
    theta, batch = sampled(policy, 20, 50)
    plain, _ = update(f, policy, theta, batch, 1e-4)
    spelt, _ = update(f, policy, theta, batch, 1e-4, cg_iterations=10, cg_damping=0.1, fisher_fraction=1.0)
    off = float(np.linalg.norm(plain - spelt) / np.linalg.norm(spelt - theta))
    text = f"without settings the step is {100 * off:.2g} % off the one with 10 iterations, damping 0.1 and all states"
    need(off < 1e-6, text)


def memory(f: Candidate) -> None:
    """Compare the memory of an update with that of the whole matrix."""
    policy = GaussianPolicy(20, 2, (48,))
    theta, batch = sampled(policy, 0, 30)
    most, whole = megabytes(lambda: update(f, policy, theta, batch, 0.01)), 8e-6 * len(theta) ** 2
    text = f"with {len(theta):,} parameters one update took {most:.1f} MB, and all of F is {whole:.1f} MB"
    need(most < whole / 2, f"{text}: the point is never to write F down")


def large(policy: Policy, theta: Array, batch: Batch, max_kl: float, named: dict[str, Any]) -> Case:
    """Return a step that needs the search: it keeps the limit, gains, is not much shorter than it could be."""
    best = float(np.linalg.norm(right_step(policy, theta, batch, max_kl, **named)[0] - theta))

    def run(f: Candidate) -> None:
        new, report = update(f, policy, theta, batch, max_kl, **named)
        moved = float(np.linalg.norm(new - theta))
        need(moved >= 0.6 * best, f"theta moved by {moved:.4g}, where {best:.4g} would have kept the promise")
        if moved:
            honest(new, report, policy, theta, batch)
            need(report.kl <= max_kl, f"the policy moved by a KL of {report.kl:.6g}, above the limit of {max_kl:g}")
            need(report.gain > 0.0, f"the surrogate fell by {-report.gain:.4g}, and the step was taken")

    shown = described(policy, batch, max_kl, **named)
    return tried("large steps, which need the line search", run, shown=shown)


def stays(kind: str, policy: Policy, theta: Array, batch: Batch, max_kl: float, *rest: Any) -> Case:
    """Return an update that must leave theta alone, to the bit."""

    def run(f: Candidate) -> Any:
        new, report = update(f, policy, theta, batch, max_kl, *rest)
        need(np.array_equal(new, theta), f"theta moved by {np.linalg.norm(new - theta):.3g}; it should stay as it was")
        told = {"its accepted": bool(report.accepted), "its gain": float(report.gain), "its kl": float(report.kl)}
        return told if batch.advantages.any() else told | {"its reason": report.reason, "its trials": report.trials}

    return tried(kind, run, shown=described(policy, batch, max_kl, rest))
