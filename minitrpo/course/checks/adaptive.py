"""Checks of lecture 09: the controller of steps/update and max-KL, and how much of a step is noise."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.course.checks.differential import Candidate, Case, case, remark, tried
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient

MODES = ("both", "steps", "kl", "none")
USUAL, THREE = AdaptiveConfig(), AdaptiveConfig(window=3)
OTHER = AdaptiveConfig("both", 0.25, 3, steps_by=170, kl_by=0.002, steps_limits=(900, 6_000), kl_limits=(5e-4, 0.03))


def config_words(config: AdaptiveConfig) -> str:
    """Return what differs from the defaults."""
    usual = vars(USUAL)
    return f"AdaptiveConfig({', '.join(f'{k}={v!r}' for k, v in vars(config).items() if v != usual[k])})"


@exercise(
    "minitrpo.adaptive:improved",
    hints="""
        Draw before and the level to be reached on a number line, once for before = 100, once for before = -100.
        The level to be reached is always above before. By how much? By a fraction of its size, whatever its sign.
    """,
    mistakes=r"""
        return recent >= before * (1 + margin) :: has a level below `before` where that is negative :: have it above
        return recent >= 0 if before == 0 else recent / before >= 1 + margin :: is turned round below zero \
            :: find larger sums better there, too
        return recent >= before * (1 + (margin if before > 0 else -margin)) \
            :: is spoilt by rounding (100 * 1.1 is 110.00000000000001) :: add the margin's part of `before` to `before`
        >= => > :: asks for more than the margin :: take exactly the margin for enough
        abs(before) => abs(recent) :: has a margin of the size of `recent` :: have one of the size of `before`
        * abs(before) => :: adds the margin itself :: add that fraction of the size of `before`
        + margin * abs(before) => :: leaves the margin out :: add its part of the size of `before`
        return recent <= before - margin * abs(before) :: finds smaller sums better :: find larger ones better
        abs(before) => max(abs(before), 1) :: has a margin of its own for a small `before` :: be the same in any unit
        return before != 0 and right(recent, before, margin) :: never improves on 0 :: take 0 for a level like any other
        recent >= => recent + 1e-8 >= :: has a fixed tolerance :: have none, or a tiny fraction of `before`
    """,
)
def improved() -> Iterator[Case]:
    """Yield windows of any sign, on the border, just above and just below it, in every unit."""
    around = ((111, 100), (109, 100), (-89, -100), (-91, -100), (100, 100), (-100, -100), (120, 100), (-105, -100))
    table = ((105, 100), (-105, -100), (-85, -100), (1, -1), (0, 0), (-111, -100), (-1, 1), (-400, 100))
    yield from (case("a margin", float(recent), float(before), 0.1) for recent, before in around)
    yield from (case("the table of the lecture", *pair, 0.1) for pair in table)
    # 1 + margin or 1 - margin may round, but neither the level nor the gain does
    plain = ((110, 100, 0.1), (-90, -100, 0.1), (105, 100, 0.05), (-95, -100, 0.05), (55, 50, 0.1), (13, 10, 0.3))
    yield from (case("on the border, in plain numbers", *numbers) for numbers in plain)
    for before, margin, off in product((400.0, -8.0, 2.0**-20), (0.25, 0.0), (0.0, 1e-8, -1e-8, 1e-6, -1e-6)):
        yield case("on the border, just above and below", before + (margin + off) * abs(before), before, margin)
    for recent, margin in product((0.0, 5.0, -5.0), (0.0, 0.05)):
        yield case("nothing before", recent, 0.0, margin)
    for before, margin, unit, times in product((34.7, -61.3), (0.05, 0.3, 1.0), (1.0, 1e-9, 1e9), (-1.5, 0.98, 1.02)):
        yield case("any unit", unit * (before + times * margin * abs(before)), unit * before, margin)
    yield remark(case("a margin of 3", 0.5, -1.0, 3.0))


@exercise(
    "minitrpo.adaptive:turn",
    hints="""
        Which way does each setting go when learning goes well? The two go opposite ways.
        One sign for both: +1 if better, else -1. Steps change by -sign * config.steps_by, the KL by \
            +sign * config.kl_by.
        Ask before each change: does config.mode move this setting? And each result goes through clip.
    """,
    mistakes=r"""
        1 if better else -1 => -1 if better else 1 :: moves both the wrong way :: take fewer steps if better
        steps - sign => steps + sign :: takes more steps if better :: take fewer
        kl + sign => kl - sign :: has a smaller KL if better :: have a larger one
        1 if better else -1 => 1 if better is True else -1 :: takes numpy's True for False :: take it for True
        )\n    if config => )\n    elif config :: moves the steps alone in the mode "both" :: move both
        ('steps', 'both') => ('steps', 'both', 'kl') && ('kl', 'both') => ('steps', 'both', 'kl') \
            :: moves both in the modes "steps" and "kl" :: move one
        ('steps', 'both') => ('steps', 'both', 'none') && ('kl', 'both') => ('kl', 'both', 'none') \
            :: moves both in the mode "none" :: let them stay
        config.steps_by => 300 :: moves the steps by 300 :: move them by config.steps_by
        config.kl_by => 0.0005 :: moves the KL by 0.0005 :: move it by config.kl_by
        1 if better else -1 => 1 if better else 0 :: moves nothing if it is not better :: move back
        clip(steps => (lambda old, new, limits: new)(steps && clip(kl => (lambda old, new, limits: new)(kl \
            :: leaves the limits out :: clip both
        clip(kl => (lambda old, new, limits: new)(kl :: leaves the limits of the KL out :: clip it, too
        clip(steps => (lambda old, new, limits: min(max(new, limits[0]), limits[1]))(steps \
            && clip(kl => (lambda old, new, limits: min(max(new, limits[0]), limits[1]))(kl \
            :: pulls a start outside the limits in by a jump :: let it come in step by step, as `clip` does
        config.steps_limits => (1000, 20000) && config.kl_limits => (0.001, 0.02) \
            :: has limits of its own :: have those of config
        (steps, kl) => (kl, steps) :: returns the KL first :: return the steps first
    """,
)
def turn() -> Iterator[Case]:
    """Yield every mode, inside the limits, at them, just above and below, and outside."""
    modes = [replace(USUAL, mode=mode) for mode in MODES]
    edges = (1000, 1001, 1299, 1300, 1301, 19_699, 19_700, 19_701, 19_999, 20_000)
    edges_kl = (0.001, 0.00101, 0.0014, 0.0015, 0.0016, 0.0194, 0.0195, 0.0196, 0.0199, 0.02)
    outside = product((500, 700, 999, 25_000, 20_100), (0.03, 0.0202, 0.0002))
    far = AdaptiveConfig(steps_by=400, kl_by=2e-7, kl_limits=(1e-6, 1e-2))
    yield from turned("every mode", [(5000, 0.005)], modes)
    yield from turned("another config", [(3001, 0.004), (5500, 0.02)], [OTHER])
    yield from turned("at the limits, just above and just below", zip(edges, edges_kl[::-1], strict=True))
    yield from turned("a start outside the limits", outside, modes)
    yield from turned("limits of another config", product((900, 1069, 5_831, 6_100), (5e-4, 0.0024, 0.03)), [OTHER])
    yield from turned("more steps and less KL", product([5000], (1.1e-6, 3.5e-6, 0.0050003, 0.0099999)), [far])
    yield from turned("an answer of numpy's", [(5000, 0.005)], answers=(np.True_, np.False_))


def turned(
    kind: str,
    settings: Iterable[tuple[int, float]],
    configs: Sequence[AdaptiveConfig] = (USUAL,),
    answers: Any = (True, False),
) -> Iterator[Case]:
    """Yield a case of each decision; a billionth of a millionth nat may be rounded."""
    for (steps, kl), config, better in product(settings, configs, answers):
        shown = f"steps = {steps}, kl = {kl:.9g}, better = {better}, config = {config_words(config)}"
        yield case(kind, steps, kl, better, config, rtol=1e-12, atol=1e-12, shown=shown)


@exercise(
    "minitrpo.adaptive:adapt",
    hints="""
        Until config.window returns are together, remember the new one, decide nothing: (replace(state, ...), None).
        When a window closes, its sum becomes the next `before`, and the collected returns are empty again.
        The first window has no `before` (None, which is not 0): both settings stay, and Decision.improved is None.
    """,
    mistakes=r"""
        (steps, kl, (), recent) => (steps, kl, returns[1:], recent) && =() => =returns[1:] \
            :: has windows that overlap :: begin the next window empty
        (steps, kl, (), recent) => (steps, kl, returns, recent) && =() => =returns \
            :: keeps the returns of a full window :: begin the next window empty
        len(returns) < config.window => len(returns) <= config.window :: decides one update too late \
            :: decide when config.window returns are together
        len(returns) < config.window => len(returns) < config.window - 1 :: decides one update too early \
            :: decide when config.window returns are together
        config.window => 10 :: has a window of 10 :: have one of config.window
        len(returns) < config.window => False :: decides at every update :: wait until the window is full
        state.before is None => not state.before :: takes a sum of 0 for no window :: ask for None
        recent, None, state.steps_per_update, state.max_kl) => \
            recent, None, *(pair := turn(state.steps_per_update, state.max_kl, True, config))) \
            && Decision(None => Decision(True \
            && state, returns=(), before=recent => AdaptiveState(*pair), before=recent \
            :: moves the settings after the first window :: let them stay, as there is nothing to compare with
        before=recent), decision => before=recent), None :: has no decision after the first window :: return a Decision
        , (), recent) => , (), max(recent, state.before)) \
            :: compares with the best window :: compare with the one before
        (), recent) => (), recent if better else state.before) :: keeps the old `before` if it is not better \
            :: compare with the window before, better or not
        sum(returns) => sum(returns) / len(returns) :: has the mean of the window for its sum :: have the sum
        improved(recent => improved(mean_return :: compares the last return alone :: compare the sum of the window
        state.before, config.margin) => state.before, 0) :: leaves the margin out :: use config.margin
        turn(state => (lambda n, kl, b, c: turn(n, kl, b, c) if b else (n, kl))(state \
            :: moves nothing without an improvement :: move back then
        threshold, steps, kl) => threshold, state.steps_per_update, state.max_kl) \
            :: tells the old settings in the decision :: tell those that follow
        if len => if config.mode == 'none' or len :: decides nothing in the mode "none" :: compare windows there, too
    """,
)
def adapt() -> Iterator[Case]:
    """Yield single updates in every state, then whole runs, and two runs at once."""
    one, start = replace(OTHER, window=1), AdaptiveState(5000, 0.005)
    yield updated("the first return", start, 1.0)
    yield updated("a window that is not full", replace(start, returns=(1.0,)), 2.5)
    yield updated("the first full window", replace(start, returns=(1.0, 2.5)), -7.0)
    for before, last in ((12.0, 5.0), (12.0, 7.0), (12.0, -50.0), (-12.0, -25.0), (-12.0, -20.0), (-12.0, -20.5)):
        yield updated("a full window", replace(start, returns=(4.0, 5.0), before=before), last)
    for last in (-9.0, -10.0, -8.0):
        yield updated("a window after one of 0", replace(start, returns=(4.0, 5.0), before=0.0), last)
    yield updated("a return after a decision", AdaptiveState(4700, 0.005, (), 12.0), 3.0)
    limits = ((4000, 0.01), (1000, 0.02), (20_000, 0.001), (500, 0.03))
    for mode, last, settings in product(MODES, (9.0, 1.0), limits):
        state = AdaptiveState(*settings, (4.0, 4.0), 12.0)
        yield updated("every mode, at the limits, too", state, last, replace(THREE, mode=mode))
    for before, off in product((400.0, -400.0), (-1e-6, 0.0, 1e-6)):
        last = before + 100.0 + off
        yield updated("on the border, just above and below", replace(start, before=before), last, one)
    levels = (-100, -104, -90, -88, -84, -10, 0, -1, 20, 20.5, 22)
    yield followed("windows of equal returns", [float(level) for level in levels for _ in range(3)], THREE)
    rng = np.random.default_rng(3)
    for (window, level, margin), mode in product(((1, -20.0, 0.0), (2, 3.0, 0.1), (12, 50.0, 0.05)), MODES):
        returns = (level + 5.0 * rng.standard_normal(6 * window + 1)).tolist()
        yield followed("noise", returns, replace(OTHER, mode=mode, window=window, margin=margin))
    yield followed("two runs in turn", [1.0, 1.0, 2.0, 2.0, 3.0, 3.0], AdaptiveConfig(window=2), runs=2)


def updated(kind: str, state: AdaptiveState, last: float, config: AdaptiveConfig = THREE) -> Case:
    """Return a case of one update."""
    shown = f"state = {short(state)}, mean_return = {last:.9g}, config = {config_words(config)}"
    return case(kind, state, last, config, atol=1e-12, shown=shown)


def followed(kind: str, returns: Sequence[float], config: AdaptiveConfig, runs: int = 1) -> Case:
    """Return a case of a whole run, or of several in turn, of which every second one has the opposite returns."""

    def run(f: Candidate) -> dict[str, Any]:
        states, found = [AdaptiveState(5000, 0.005)] * runs, dict[str, Any]()
        for update, value in enumerate(returns, 1):
            for k in range(runs):
                states[k], decision = f(states[k], (-1) ** k * value, config)
                where = f"update {update}" if runs == 1 else f"update {update} of run {k + 1}"
                found |= {f"{where}, the state": states[k], f"{where}, the decision": decision}
        return found

    return tried(kind, run, atol=1e-12, shown=f"returns = {short(list(returns))}, config = {config_words(config)}")


@exercise(
    "minitrpo.noise:measure_noise",
    hints="""
        The gradient is linear in the advantages: with the second half's turned round, surrogate_gradient returns d.
        damped_fisher gives the function v -> F v, conjugate_gradient solves F y = d with it: its first result is y.
        With s = c F^-1 g: g's = c g'F^-1 g and s'F s = c^2 g'F^-1 g. Which ratio is free of c?
    """,
    mistakes=r"""
        =signs * => =2 * signs * :: has the whole difference of the halves for d :: have half of it
        =signs * => =np.maximum(signs, 0.0) * :: has one half's own part of g for d \
            :: take the other half's away, with the signal
        =signs * => =1.0 * :: has g itself for d :: have half the difference of the halves
        np.arange(rows) < rows // 2 => np.arange(rows) % 2 == 0 :: has every other row in a half \
            :: have the first rows in one and the rest in the other, as neighbours belong to one episode
        =signs * batch.advantages => =signs * np.concatenate([(a - a.mean()) / (a.std() + 1e-8) \
            for a in np.split(batch.advantages, [rows // 2])]) \
            :: standardises the advantages of each half :: leave them as they are
        conjugate_gradient(product, d, iterations)[0] => d :: has d'd for the noise :: have d'F^-1 d
        conjugate_gradient(product, d, iterations)[0] => product(d) :: has d'F d for the noise :: solve F y = d
        , damping, => , 0.0, :: leaves the damping out :: damp F
        d, iterations) => d, 10) :: does 10 iterations :: do as many as are asked for
        , fraction) => , 1.0) :: takes all states for F :: take the fraction that is asked for
        float(g @ step) ** 2 / curvature => float(g @ step) \
            :: has the promise g's for `both`, which grows with the step :: have (g's)^2 / s'F s
        ** 2 => :: has g's / s'F s for `both` :: square g's
        / curvature if => / curvature - noise if :: takes the noise from `both` :: leave it in
        Measured(noise, => Measured(noise / (float(g @ step) ** 2 / curvature), \
            :: divides the noise by `both` :: be d'F^-1 d, as `fraction` divides
        0.0 else 0.0 => 0.0 else float("nan") :: has nan for the promise of a step of zeros :: have 0
        Measured(noise, => Measured(*( && , rows) => , noise), rows) :: returns `both` first :: return `noise` first
        , rows) => , rows // 2) :: counts the steps of a half :: count those of the whole batch
    """,
)
def measure_noise() -> Iterator[Case]:
    """Yield batches of both policies, with steps of any length, and one of zeros; every number of iterations."""
    yield noise_case("five arms, each pulled twice", CategoricalPolicy(1, 5, ()), 10, (3, 0.1, 1.0))
    for policy in (GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,))):
        yield noise_case("a batch", policy, 40, (2, 0.1, 1.0))
        yield noise_case("a fraction of the states", policy, 64, (4, 1.0, 0.25))
        yield noise_case("a long step", policy, 40, (3, 0.1, 0.5), length=50.0)
        yield noise_case("a step of zeros", policy, 40, (3, 0.1, 1.0), length=0.0)
        yield noise_case("many iterations", policy, 40, (60, 0.5, 1.0))
        yield noise_case("advantages whose halves differ in level", policy, 40, (3, 0.1, 1.0), level=2.0)


def noise_case(
    kind: str, policy: Policy, n: int, how: tuple[int, float, float], length: float = 1.0, level: float = 0.0
) -> Case:
    """Return a case of n steps; how: iterations, damping, fraction. level: by which the halves differ from 0."""
    rng = np.random.default_rng(n)
    theta = policy.initialise(rng)
    theta = theta + 0.3 * rng.standard_normal(len(theta))
    seen = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(policy.distribution(theta, seen), policy.draw_noise(rng, n))
    batch = Batch(seen, actions, rng.standard_normal(n) + np.where(np.arange(n) < n // 2, level, -level))
    g, (iterations, damping, fraction) = surrogate_gradient(policy, theta, batch), how
    step = length * conjugate_gradient(damped_fisher(policy, theta, batch, damping, fraction), g, iterations)[0]
    words = f"{n} steps, {iterations} iterations, damping {damping:g}, fraction {fraction:g}, step {length:g} F^-1 g"
    return case(kind, policy, theta, batch, g, step, *how, rtol=2e-3, shown=words)
