"""Checks of lectures 09a and 09b: the controller of steps/update and max-KL, and how much of a step is noise."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.course.checks.framework.differential import Candidate, Case, case, remark
from minitrpo.course.checks.framework.kinds import steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import short
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
    r"""
        ? Draw before and the level to be reached on a number line, once for before = 100, once for before = -100.
        ? The level to be reached is always above before. By how much? By a fraction of its size, whatever its sign.
        return recent >= before * (1 + margin) :: has a level below `before` where that is negative :: have it above
        return recent >= 0 if before == 0 else recent / before >= 1 + margin :: is turned round below zero \
            :: find larger sums better there, too
        return recent >= before * (1 + (margin if before > 0 else -margin)) \
            :: is spoilt by rounding (100 * 1.1 is 110.00000000000001) :: add the margin's part of `before` to `before`
        return abs(recent - before) >= margin * abs(before) :: takes a fall for an improvement :: ask which is larger
        >= => > :: asks for more than the margin :: take exactly the margin for enough
        abs(before) => abs(recent) :: has a margin of the size of `recent` :: have one of the size of `before`
        * abs(before) => :: adds the margin itself :: add that fraction of the size of `before`
        + margin * abs(before) => :: leaves the margin out :: add its part of the size of `before`
        abs(before) => max(abs(before), 1) :: has a margin of its own for a small `before` :: be the same in any unit
        recent >= => recent + 1e-8 >= :: has a fixed tolerance :: have none, or a tiny fraction of `before`
    """,
    lecture="09a",
)
def _improved() -> Iterator[Case]:
    for pair in ((111, 100), (109, 100), (-89, -100), (-91, -100), (100, 100), (-100, -100), (120, 100), (-105, -100)):
        yield case("a margin", *map(float, pair), 0.1)
    for pair in ((105, 100), (-85, -100), (1, -1), (0, 0), (-111, -100), (-1, 1), (-400, 100)):
        yield case("the table of the lecture", *pair, 0.1)
    # 1 + margin or 1 - margin may round, but neither the level nor the gain does
    plain = ((110, 100, 0.1), (-90, -100, 0.1), (105, 100, 0.05), (-95, -100, 0.05), (55, 50, 0.1), (13, 10, 0.3))
    for numbers in plain:
        yield case("on the border, in plain numbers", *numbers)
    for before, margin, off in product((400.0, -8.0, 2.0**-20), (0.25, 0.0), (0.0, 1e-8, -1e-8, 1e-6, -1e-6)):
        yield case("on the border, just above and below", before + (margin + off) * abs(before), before, margin)
    for recent, margin in product((0.0, 5.0, -5.0), (0.0, 0.05)):
        yield case("nothing before", recent, 0.0, margin)
    for before, margin, unit, times in product((34.7, -61.3), (0.05, 0.3, 1.0), (1.0, 1e-9, 1e9), (-1.5, 0.98, 1.02)):
        yield case("any unit", unit * (before + times * margin * abs(before)), unit * before, margin)
    yield remark(case("a margin of 3", 0.5, -1.0, 3.0))


@exercise(
    "minitrpo.adaptive:turn",
    r"""
        ? Which way does each setting go when learning goes well? The two go opposite ways.
        ? One sign for both: +1 if better, else -1. Steps change by -sign * config.steps_by, the KL by \
            +sign * config.kl_by.
        ? Ask before each change: does config.mode move this setting? And each result goes through clip.
        1 if better else -1 => -1 if better else 1 :: moves both the wrong way :: take fewer steps if better
        steps - sign => steps + sign :: moves both settings up if better :: take fewer steps then, and a larger KL
        kl + sign => kl - sign :: moves both settings down if better :: take fewer steps then, and a larger KL
        return right(steps, kl, better, replace(config, mode='both')) :: moves both settings in every mode \
            :: ask config.mode which of them to move
        1 if better else -1 => 1 if better is True else -1 :: takes numpy's True for False :: take it for True
        )\n    if config => )\n    elif config :: moves the steps alone in the mode "both" :: move both
        1 if better else -1 => 1 if better else 0 :: moves nothing if it is not better :: move back
        clip(steps => (lambda old, new, limits: new)(steps && clip(kl => (lambda old, new, limits: new)(kl \
            :: leaves the limits out :: clip both
        clip(kl => (lambda old, new, limits: new)(kl :: leaves the limits of the KL out :: clip it, too
        clip(steps => (lambda old, new, limits: min(max(new, limits[0]), limits[1]))(steps \
            && clip(kl => (lambda old, new, limits: min(max(new, limits[0]), limits[1]))(kl \
            :: pulls a start outside the limits in by a jump :: let it come in step by step, as `clip` does
        config.steps_limits => (1000, 20000) :: has limits of its own for the steps :: have those of config
    """,
    lecture="09a",
)
def _turn() -> Iterator[Case]:
    modes = [replace(USUAL, mode=mode) for mode in MODES]
    edges = (1000, 1001, 1299, 1300, 1301, 19_699, 19_700, 19_701, 19_999, 20_000)
    edges_kl = (0.02, 0.0199, 0.0196, 0.0195, 0.0194, 0.0016, 0.0015, 0.0014, 0.00101, 0.001)
    far = AdaptiveConfig(steps_by=400, kl_by=2e-7, kl_limits=(1e-6, 1e-2))
    yield from turned("every mode", [(5000, 0.005)], modes)
    yield from turned("another config", [(3001, 0.004), (5500, 0.02)], [OTHER])
    yield from turned("at the limits, just above and just below", zip(edges, edges_kl, strict=True))
    yield from turned("a start outside the limits", product((500, 999, 25_000, 20_100), (0.03, 0.0202, 0.0002)), modes)
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
    for (n, kl), config, better in product(settings, configs, answers):
        shown = f"steps = {n}, kl = {kl:.9g}, better = {better}, config = {config_words(config)}"
        yield case(kind, n, kl, better, config, rtol=1e-12, atol=1e-12, shown=shown)


@exercise(
    "minitrpo.adaptive:adapt",
    r"""
        ? Until config.window returns are together, remember the new one, decide nothing: (replace(state, ...), None).
        ? When a window closes, its sum becomes the next `before`, and the collected returns are empty again.
        ? The first window has no `before` (None, which is not 0): both settings stay, and Decision.improved is None.
        (steps, kl, (), recent) => (steps, kl, returns[1:], recent) && =() => =returns[1:] \
            :: has windows that overlap :: begin the next window empty
        len(returns) < config.window => len(returns) <= config.window :: decides one update too late \
            :: decide when config.window returns are together
        state.before is None => not state.before :: takes a sum of 0 for no window :: ask for None
        , (), recent) => , (), max(recent, state.before)) :: compares with the best window :: take the one before
        sum(returns) => sum(returns) / len(returns) :: has the mean of the window for its sum :: have the sum
        improved(recent => improved(mean_return :: compares the last return alone :: compare the sum of the window
        turn(state => (lambda n, kl, b, c: turn(n, kl, b, c) if b else (n, kl))(state \
            :: moves nothing without an improvement :: move back then
        threshold, steps, kl) => threshold, state.steps_per_update, state.max_kl) \
            :: reports the old settings in the decision :: report those that follow
        if len => if config.mode == 'none' or len :: decides nothing in the mode "none" :: compare windows there, too
    """,
    lecture="09a",
)
def _adapt() -> Iterator[Case]:
    one, start = replace(OTHER, window=1), AdaptiveState(5000, 0.005)
    yield updated("the first return", start, 1.0)
    yield updated("a window that is not full", replace(start, returns=(1.0,)), 2.5)
    yield updated("the first full window", replace(start, returns=(1.0, 2.5)), -7.0)
    for before, last in product((12.0, -12.0, 0.0), (5.0, 7.0, -50.0, -20.0, -20.5, -9.0)):
        yield updated("a full window", replace(start, returns=(4.0, 5.0), before=before), last)
    yield updated("a return after a decision", AdaptiveState(4700, 0.005, (), 12.0), 3.0)
    for mode, last, n, kl in product(MODES, (9.0, 1.0), (1000, 20_000, 500), (0.02, 0.001, 0.03)):
        state = AdaptiveState(n, kl, (4.0, 4.0), 12.0)
        yield updated("every mode, at the limits, too", state, last, replace(THREE, mode=mode))
    for before, off in product((400.0, -400.0), (-1e-6, 0.0, 1e-6)):
        yield updated("on the border, just above and below", replace(start, before=before), before + 100.0 + off, one)
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

    return Case(kind, run, atol=1e-12, shown=f"returns = {short(list(returns))}, config = {config_words(config)}")


@exercise(
    "minitrpo.step_noise:measure_noise",
    r"""
        ? The gradient is linear in the advantages: with the second half's turned round, surrogate_gradient returns d.
        ? damped_fisher gives the function v -> F v, conjugate_gradient solves F y = d with it: its first result is y.
        ? With s = c F^-1 g: g's = c g'F^-1 g and s'F s = c^2 g'F^-1 g. Which ratio is free of c?
        =signs * => =2 * signs * :: has the whole difference of the halves for d :: have half of it
        =signs * => =1.0 * :: has g itself for d :: have half the difference of the halves
        np.arange(rows) < rows // 2 => np.arange(rows) % 2 == 0 :: has every other row in a half \
            :: have the first rows in one and the rest in the other, as neighbours belong to one episode
        =signs * batch.advantages => =signs * np.concatenate([(a - a.mean()) / (a.std() + 1e-8) \
            for a in np.split(batch.advantages, [rows // 2])]) \
            :: standardises the advantages of each half :: leave them as they are
        conjugate_gradient(product, d, iterations)[0] => d :: has d'd for the noise :: have d'F^-1 d
        , damping, => , 0.0, :: leaves the damping out :: damp F
        , fraction) => , 1.0) :: takes all states for F :: take the fraction that is asked for
        float(g @ step) ** 2 / curvature => float(g @ step) \
            :: has the predicted gain g's for `both`, which grows with the step :: have (g's)^2 / s'F s
        ** 2 => :: has g's / s'F s for `both` :: square g's
        Measured(noise, => Measured(noise / (float(g @ step) ** 2 / curvature), \
            :: divides the noise by `both` :: be d'F^-1 d, as `fraction` divides
        0.0 else 0.0 => 0.0 else float("nan") :: has nan for the gain of a step of zeros :: have 0
        , rows) => , rows // 2) :: counts the steps of a half :: count those of the whole batch
    """,
    lecture="09b",
)
def _measure_noise() -> Iterator[Case]:
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
    theta, seen, actions = steps(policy, n, n)
    advantages = np.random.default_rng(n).standard_normal(n) + np.where(np.arange(n) < n // 2, level, -level)
    batch = Batch(seen, actions, advantages)
    g, (iterations, damping, fraction) = surrogate_gradient(policy, theta, batch), how
    step = length * conjugate_gradient(damped_fisher(policy, theta, batch, damping, fraction), g, iterations)[0]
    words = f"{n} steps, {iterations} iterations, damping {damping:g}, fraction {fraction:g}, step {length:g} F^-1 g"
    return case(kind, policy, theta, batch, g, step, *how, rtol=2e-3, shown=words)
