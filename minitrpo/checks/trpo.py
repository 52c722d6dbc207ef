"""Checks of lecture 05: values after a step, advantages, the critic's mark, and the whole update."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from minitrpo.checks.differential import Candidate, Case, case, need, tried
from minitrpo.checks.policy_gradient import mask, steps, walk
from minitrpo.checks.register import exercise
from minitrpo.checks.words import short, value_words
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.line_search import LineSearch, backtracking, step_scale
from minitrpo.natural_gradient import mean_kl
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.policy_gradient import surrogate
from minitrpo.returns import discounted_sums, explained_variance
from minitrpo.returns import next_values as right_values
from minitrpo.trpo import Batch, Report, damped_fisher, objective, surrogate_gradient
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


def shifted(values: Array, at_last: Any, terminated: Array, last: Array) -> Array:
    """Return the shift by one, with other numbers at the last steps and 0 after the end of the task."""
    after = np.append(values[1:], 0.0)
    after[last] = at_last
    after[terminated] = 0.0
    return after


@exercise(
    "next_values",
    "minitrpo.returns:next_values",
    hints=(
        "Inside a fragment the value of the next state is the next entry of `values`: a shift by one.",
        "The shift is wrong at every last step. After those come the `final_values`, one per fragment, in order.",
        "Some of the fragments were not cut but over: there the next value is 0, whatever `final_values` says.",
    ),
    mistakes={
        "A fragment that was merely cut has a future: V(final observation).": lambda v, f, last, over: shifted(
            v, 0.0, over, last
        ),
        "Where the task is over the next value is 0, whatever final_values says.": lambda v, f, last, over: shifted(
            v, f, np.zeros(len(v), bool), last
        ),
        "It is the other way round: 0 where the task is over, final_values where it was cut.": (
            lambda v, f, last, over: shifted(v, f, last & ~over, last)
        ),
        "After a cut comes V(final observation), not the last state's own value.": lambda v, f, last, over: shifted(
            v, v[last], over, last
        ),
        "After a cut comes V(final observation), not the first state of the next fragment.": (
            lambda v, f, last, over: shifted(v, np.append(v[1:], f[-1])[last], over, last)
        ),
        "After a cut comes V(final observation), not whatever stands next.": lambda v, f, last, over: np.where(
            over, 0.0, np.roll(v, -1)
        ),
        "The shift goes the wrong way: the value of the state after, not before.": lambda v, f, last, over: np.where(
            last, shifted(v, f, over, last), np.roll(v, 1)
        ),
        "The final values are in reverse order.": lambda v, f, last, over: shifted(v, f[::-1], over, last),
        "final_values has one entry for each fragment, also for those that are over.": (
            lambda v, f, last, over: shifted(v, np.resize(f, len(v))[np.cumsum(last & ~over) - 1][last], over, last)
        ),
        "After the end of the task the value is 0, not nan.": lambda v, f, last, over: np.where(
            over, np.nan, shifted(v, f, over, last)
        ),
        "The results are cut to whole numbers: an array made like integer values cannot hold them.": (
            lambda v, f, last, over: shifted(v, f, over, last).astype(int)
        ),
    },
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


def estimator(
    delta: Any = lambda r, v, after, discount: r + discount * after - v,
    fade: Any = lambda discount, lam: discount * lam,
    sums: Candidate = discounted_sums,
    results: Any = lambda a, r, v, after, last, discount: (a, a + v),
) -> Candidate:
    """Return a GAE with one thing changed."""

    def changed(r: Array, v: Array, after: Array, last: Array, discount: float, lam: float) -> Any:
        advantages = sums(delta(r, v, after, discount), fade(discount, lam), last)
        return results(advantages, r, v, after, last, discount)

    return changed


@exercise(
    "gae",
    "minitrpo.returns:gae",
    hints=(
        "First the TD errors of all steps at once: three arrays and a discount, no loop.",
        "A_t = TD error + (discount * lambda) * A_{t+1} is a discounted sum of TD errors; it starts afresh after "
        "`last`.",
        "The target is what the critic should have said: its prediction plus the advantage.",
    ),
    mistakes={
        "A border leaks: the sum starts afresh after every last step.": estimator(
            sums=walk(lambda x, d, total, last, later: x + d * total)
        ),
        "The border is read one step late or early.": estimator(
            sums=walk(lambda x, d, total, last, later: x if later else x + d * total)
        ),
        "The errors fade by discount * lambda, not by lambda alone.": estimator(fade=lambda discount, lam: lam),
        "The errors fade by discount * lambda, not by the discount alone.": estimator(
            fade=lambda discount, lam: discount
        ),
        "The discount is in it twice: the errors fade by discount * lambda.": estimator(
            fade=lambda discount, lam: discount**2 * lam
        ),
        "The next value is discounted, too.": estimator(delta=lambda r, v, after, discount: r + after - v),
        "The next value is missing from the TD error.": estimator(delta=lambda r, v, after, discount: r - v),
        "The value of the state itself, V(s_t), is missing from the TD error.": estimator(
            delta=lambda r, v, after, discount: r + discount * after
        ),
        "The TD error has the wrong sign: r + discount * V(after) - V(now).": estimator(
            delta=lambda r, v, after, discount: v - r - discount * after
        ),
        "The next value is that of the next row, also at a border: take next_values.": estimator(
            delta=lambda r, v, after, discount: r + discount * np.append(v[1:], after[-1]) - v
        ),
        "The advantages are standardised on the way: leave them as they come.": estimator(
            results=lambda a, r, v, after, last, discount: ((a - a.mean()) / (a.std() + 1e-8), a + v)
        ),
        "The targets are advantage + V: here they are the rewards to go.": estimator(
            results=lambda a, r, v, after, last, discount: (a, discounted_sums(r, discount, last))
        ),
        "The targets are advantage + V: here they are those of one step.": estimator(
            results=lambda a, r, v, after, last, discount: (a, r + discount * after)
        ),
        "The targets are the advantages themselves: add V.": estimator(results=lambda a, *rest: (a, a)),
        "The targets are advantage + V, not minus.": estimator(results=lambda a, r, v, *rest: (a, a - v)),
        "The targets are advantage + V(s_t), not V of the next state.": estimator(
            results=lambda a, r, v, after, *rest: (a, a + after)
        ),
        "Two results are wanted, advantages and value targets.": estimator(results=lambda a, *rest: a),
        "The targets came first: advantages, then targets.": estimator(results=lambda a, r, v, *rest: (a + v, a)),
    },
)
def gae_cases() -> Iterator[Case]:
    """Yield estimates by hand, over borders of every kind, at both ends of discount and lambda, of any size."""
    r, v, after = np.array([1.0, 2.0, 3.0]), np.array([4.0, 2.0, 1.0]), np.array([2.0, 1.0, 6.0])
    for lam in (0.0, 1.0, 0.5):
        yield case(f"three steps and lambda {lam:g}", r, v, after, mask(3), 0.5, lam)
    whole = np.array([1, 2, 3]), np.array([4, 2, 1]), np.array([2, 1, 6]), mask(2, 1)
    yield case("integers", *whole, 0.5, 0.5)
    yield case("integers", *whole, 1.0, 1.0)
    settings = ((0.99, 0.97), (0.5, 0.5), (1.0, 0.9), (0.9, 1.0), (0.8, 0.0), (0.0, 0.7), (1.0, 1.0), (1, 0))
    for r, v, finals, last, terminated in fragments():
        after = right_values(v, finals, last, terminated)
        for discount, lam in settings if len(r) < 100 else ((0.99, 0.97), (0.9999, 0.99)):
            kind = "fragments of many lengths" if len(r) < 100 else "batches of 3,000 steps"
            yield case(kind, r, v, after, last, discount, lam)
    for scale in (1e-9, 1e9):
        yield case("numbers of any size", scale * r, scale * v, scale * after, last, 0.99, 0.97)
    beside = np.where(np.arange(12) < 4, 1.0, 1e9)
    for numbers, border in ((beside, mask(4, 8)), (beside[::-1].copy(), mask(8, 4))):
        yield case("a tiny fragment beside a huge one", numbers, 0 * numbers, 0 * numbers, border, 0.9, 0.9, each=True)
    yield case("a reward that is nan", np.array([1.0, 2.0, np.nan]), 0 * np.ones(3), np.ones(3), mask(3), 0.9, 0.9)


@exercise(
    "explained_variance",
    "minitrpo.returns:explained_variance",
    hints=(
        "np.var is the variance; what the critic leaves unexplained is the variance of target - predicted.",
        "One minus the unexplained variance over the variance of the targets.",
    ),
    mistakes={
        "That is the fraction left unexplained: 1 minus it is wanted.": lambda p, t: np.var(t - p) / np.var(t),
        "Predictions that are all off by one number still explain: take the variance of the errors.": lambda p, t: (
            1 - np.mean((t - p) ** 2) / np.var(t)
        ),
        "The targets vary around their mean, not around 0.": lambda p, t: 1 - np.var(t - p) / np.mean(t**2),
        "That is the variance of the predictions over that of the targets.": lambda p, t: np.var(p) / np.var(t),
        "It divides by the variance of the predictions; that of the targets is to be explained.": lambda p, t: (
            1 - np.var(t - p) / np.var(p)
        ),
        "Those are standard deviations, not variances.": lambda p, t: 1 - np.std(t - p) / np.std(t),
        "That is the squared correlation, which forgives a wrong scale and a wrong sign.": lambda p, t: (
            np.corrcoef(p, t)[0, 1] ** 2
        ),
        "Predictions can be worse than none: below 0 it goes on.": lambda p, t: max(0.0, explained_variance(p, t)),
        "Where all targets are equal there is nothing to explain: NaN.": lambda p, t: (
            explained_variance(p, t) if np.var(t) > 0 else 0.0
        ),
        "Where all targets are equal, but for rounding, there is nothing to explain: NaN.": lambda p, t: (
            1 - np.var(t - p) / np.var(t) if np.ptp(t) > 0 else np.nan
        ),
        "Something small is added to the variance: small targets feel it.": lambda p, t: (
            1 - np.var(t - p) / (np.var(t) + 1e-8)
        ),
        "Targets that vary little still vary: it is their size that counts.": lambda p, t: (
            explained_variance(p, t) if np.var(t) > 1e-8 else np.nan
        ),
        "One variance divides by N and the other by N - 1.": lambda p, t: 1 - np.var(t - p, ddof=1) / np.var(t),
    },
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
        ):
            t = offset + scale * rng.standard_normal(n)
            predicted = offset + 0.5 * (t - offset) + scale * rng.standard_normal(n)
            yield case("targets of any size", predicted, t, rtol=1e-5, atol=1e-5)
    p = np.array([1.0, 2.0, 4.0])
    for value in (0.0, 1.0, 0.1, -1e9, 1e-9, 1 / 3):
        yield case("equal targets", p, np.full(3, value))
        yield case("many equal targets", np.arange(1000.0), np.full(1000, value))
    yield case("equal targets and predictions", np.ones(3), np.ones(3))
    yield case("targets that are equal but for rounding", p, np.array([0.3, 0.1 + 0.2, 0.3]))
    yield case("targets that are equal but for rounding", p, 1e9 * np.array([0.3, 0.1 + 0.2, 0.3]))
    yield case("a single target", np.ones(1), 2 * np.ones(1))
    yield case("a prediction that is nan", np.array([1.0, np.nan, 2.0]), p)


# --- trpo_step


def variant(
    batch_of: Any = lambda batch: batch,
    direction: Any = lambda x, g: x,
    scale: Any = step_scale,
    cg: Any = lambda iterations, damping, fraction: (iterations, damping, fraction),
    sign: float = 1.0,
    search: Any = backtracking,
    report: Any = lambda report, found, g: report,
    results: Any = lambda theta, report: (theta, report),
    defaults: tuple[int, float, float] = (10, 0.1, 1.0),
) -> Candidate:
    """Return an update with one thing changed."""

    def changed(policy: Policy, theta: Array, batch: Batch, max_kl: float, *settings: Any, **named: Any) -> Any:
        names = ("cg_iterations", "cg_damping", "fisher_fraction")
        chosen = {**dict(zip(names, defaults, strict=True)), **dict(zip(names, settings, strict=False)), **named}
        iterations, damping, fraction = cg(*(chosen[name] for name in names))
        batch = batch_of(batch)
        g = sign * surrogate_gradient(policy, theta, batch)
        product = damped_fisher(policy, theta, batch, damping, fraction)
        x = direction(conjugate_gradient(product, g, iterations)[0], g)
        step = scale(max_kl, float(x @ product(x))) * x
        evaluate, entropy = objective(policy, theta, batch)
        found = search(evaluate, theta, step, float(g @ step), max_kl)
        told = Report(**{n: getattr(found, n) for n in ORDER}, gradient_norm=float(np.linalg.norm(g)), entropy=entropy)
        return results(found.theta, report(told, found, g))

    return changed


ORDER = ("accepted", "reason", "trials", "gain", "kl", "gain_ratio")


def unsearched(evaluate: Any, theta: Array, step: Array, expected: float, max_kl: float) -> LineSearch:
    """Return the full step, without a search."""
    gain, kl = evaluate(theta + step)
    return LineSearch(theta + step, True, "accepted", 1, gain, kl, gain / expected if expected else 0.0)


def searched_in_vain(evaluate: Any, theta: Array, step: Array, expected: float, max_kl: float) -> LineSearch:
    """Return the full step after a search whose answer is thrown away."""
    return replace(backtracking(evaluate, theta, step, expected, max_kl), theta=theta + step)


def standardised(batch: Batch) -> Batch:
    """Return the batch with standardised advantages."""
    a = batch.advantages
    return replace(batch, advantages=(a - a.mean()) / (a.std() + 1e-8))


@exercise(
    "trpo_step",
    "minitrpo.trpo:trpo_step",
    hints=(
        "surrogate_gradient gives g; damped_fisher gives the function of v that conjugate_gradient asks for.",
        "x'(F + damping I)x is x @ (g - residual), or x @ g: give it to step_scale, and multiply x by what comes back.",
        "backtracking wants the function of objective, theta, the full step, the gain expected of it (g @ full_step) "
        "and max_kl. Its answer has the new theta, and all that Report needs but two.",
    ),
    mistakes={
        "The search's own theta is the answer: this is the full step, whatever was found.": variant(
            search=searched_in_vain
        ),
        "That is the full step without a line search.": variant(search=unsearched),
        "That is a step along the gradient g; the natural direction x is wanted.": variant(direction=lambda x, g: g),
        "The step goes down: the surrogate falls along it.": variant(sign=-1.0),
        "The step is sqrt(2) times too short: 1/2 beta^2 x'(F + damping I)x = max_kl.": variant(
            scale=lambda max_kl, xAx: step_scale(max_kl / 2, xAx)
        ),
        "The step is beta x, with beta from step_scale: here it is x itself.": variant(scale=lambda max_kl, xAx: 1.0),
        "The step is beta x with beta = sqrt(2 max_kl / x'(F + damping I)x): the root is missing.": variant(
            scale=lambda max_kl, xAx: step_scale(max_kl, xAx) ** 2
        ),
        "The damping is not the one that was asked for.": variant(cg=lambda k, damping, fraction: (k, 0.1, fraction)),
        "The damping is missing.": variant(cg=lambda k, damping, fraction: (k, 0.0, fraction)),
        "The number of iterations is not the one that was asked for.": variant(
            cg=lambda k, damping, fraction: (10, damping, fraction)
        ),
        "It does one iteration of conjugate gradient too many.": variant(
            cg=lambda k, d, fraction: (k + 1, d, fraction)
        ),
        "fisher_fraction is not used: all states serve the Fisher matrix.": variant(cg=lambda k, d, f: (k, d, 1.0)),
        "The advantages are standardised again: take them as they come.": variant(batch_of=standardised),
        "gradient_norm is the length of g, not its square.": variant(
            report=lambda told, found, g: replace(told, gradient_norm=float(g @ g))
        ),
        "gain and kl have changed places.": variant(
            report=lambda told, found, g: replace(told, gain=told.kl, kl=told.gain)
        ),
        "Two results are wanted, the new theta and a Report.": variant(results=lambda theta, told: theta),
        "The Report came first: the new theta, then the Report.": variant(results=lambda theta, told: (told, theta)),
        "By default it does 10 iterations with damping 0.1 and all states.": variant(defaults=(20, 0.1, 1.0)),
        "By default the damping is 0.1.": variant(defaults=(10, 0.001, 1.0)),
        "By default all states serve the Fisher matrix.": variant(defaults=(10, 0.1, 0.1)),
    },
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
            (5, 1300, 1e-5, (3, 0.1)),
            (6, 50, 1e-5, (3, 0.1, 1e-6)),
            (7, 50, 1e-5, (0,)),
        ):
            yield small("small steps with every setting", policy, *sampled(policy, seed, n), max_kl, *settings)
        yield tried("the default settings", partial(defaults, policy=policy), shown=short(policy))
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


def described(policy: Policy, batch: Batch, max_kl: float, rest: Any) -> str:
    """Return an update in words."""
    return f"{short(policy)}, {len(batch.advantages):,} steps, max_kl = {max_kl:g}{''.join(f', {x}' for x in rest)}"


def small(kind: str, policy: Policy, theta: Array, batch: Batch, max_kl: float, *rest: Any) -> Case:
    """Return a small step, whose direction is compared, and its length where the full step is taken; and its report."""
    trials = right_step(policy, theta, batch, max_kl, *rest)[1].trials

    def run(f: Candidate) -> Any:
        new, report = update(f, policy, theta, batch, max_kl, *rest)
        moved = new - theta
        length = float(np.linalg.norm(moved)) or 1.0
        result: dict[str, Any] = {"the length of the step": length} if trials == 1 else {}
        result |= {"the direction of the step, a unit vector": moved / length, "its accepted": bool(report.accepted)}
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

    shown = described(policy, batch, max_kl, [f"{k} = {v}" for k, v in named.items()])
    return tried("large steps, which need the line search", run, shown=shown)


def stays(kind: str, policy: Policy, theta: Array, batch: Batch, max_kl: float, *rest: Any) -> Case:
    """Return an update that must leave theta alone, to the bit."""

    def run(f: Candidate) -> Any:
        new, report = update(f, policy, theta, batch, max_kl, *rest)
        need(np.array_equal(new, theta), f"theta moved by {np.linalg.norm(new - theta):.3g}; it should stay as it was")
        return {"its accepted": bool(report.accepted), "its gain": float(report.gain), "its kl": float(report.kl)}

    return tried(kind, run, shown=described(policy, batch, max_kl, rest))
