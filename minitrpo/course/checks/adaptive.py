"""Checks of lecture 09: the controller of steps/update and max-KL, and how much of a step is noise."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from minitrpo.adaptive import AdaptiveConfig, AdaptiveState, Decision
from minitrpo.conjugate_gradient import conjugate_gradient
from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import short, value_words
from minitrpo.policies import CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient

IMPROVED, TURN, ADAPT = (f"minitrpo.adaptive:{name}" for name in ("improved", "turn", "adapt"))
REACHED, SIZE = "recent >= before + margin * abs(before)", "abs(before)"
IMPROVED_SLIPS = {
    "Below zero a factor of 1 + margin lies further down.": (REACHED, "recent >= before * (1 + margin)"),
    "Below zero it is turned round.": (REACHED, "recent >= 0 if before == 0 else recent / before >= 1 + margin"),
    "Exactly the margin is enough: >=.": (">=", ">"),
    "The margin is one of the size of `before`, not of `recent`.": (SIZE, "abs(recent)"),
    "The margin is a fraction of the size of `before`.": (f" * {SIZE}", ""),
    "The margin plays no part in it.": (f" + margin * {SIZE}", ""),
    "Larger is better.": (REACHED, f"recent <= before - margin * {SIZE}"),
    "The unit in which rewards are counted must not matter.": (SIZE, "max(abs(before), 1)"),
    "0 is a level like any other.": (REACHED, f"before != 0 and ({REACHED})"),
    "A little less than the margin is not enough: a tolerance is a tiny fraction of `before`, no fixed number.": (
        ">= before", "+ 1e-8 >= before"),
}  # fmt: skip


@exercise(
    "improved",
    IMPROVED,
    hints=(
        "Draw before and the level to be reached on a number line, once for before = 100, once for before = -100.",
        "The level to be reached is always above before. By how much? By a fraction of its size, whatever its sign.",
    ),
    mistakes=edits(IMPROVED, IMPROVED_SLIPS),
)
def improved_cases() -> Iterator[Case]:
    """Yield windows of any sign, on the border, just above and just below it, in every unit."""
    signs = ((111, 100), (109, 100), (-89, -100), (-91, -100), (100, 100), (-100, -100), (120, 100))
    whole = ((105, 100), (-105, -100), (-85, -100), (1, -1), (0, 0), (-111, -100), (-1, 1), (130, 100))
    small = ((0.02, 0.01), (-0.5, -1.0), (0.5, -1.0), (-400.0, 100.0), (0.3, 0.1), (-0.2, -0.1))
    yield from (case("a margin", float(recent), float(before), 0.1) for recent, before in signs)
    yield from (case("whole numbers", *pair, 0.1) for pair in whole)
    yield from (case("small margins, and 1 and more", *pair, m) for pair, m in product(small, (1.0, 3, 0.004)))
    for before, margin, off in product(
        (400.0, -8.0, 2.0**-20, -(2.0**30)), (0.25, 0.0), (0.0, 1e-8, -1e-8, 1e-6, -1e-6)
    ):
        yield case("on the border, just above and below", before + (margin + off) * abs(before), before, margin)
    for before, off in product((7.0, -123.456, 1e-9), (0.0, -1e-8, 1e-8)):
        yield case("no margin, and a small difference", before + off * abs(before), before, 0.0)
    for recent, margin in product((0.0, -0.0, 1e-12, -1e-12, 5.0, -5.0), (0.0, 0.05)):
        yield case("nothing before", recent, 0.0, margin)
    for before, margin, unit, times in product((34.7, -61.3), (0.05, 0.3, 2.0), (1.0, 1e-9, 1e9), (-1.5, 0.98, 1.02)):
        yield case("any unit", unit * (before + times * margin * abs(before)), unit * before, margin)
    yield from (case("numbers of numpy", np.float64(x), np.float64(-100.0), 0.05) for x in (-90.0, -95.0, -110.0))
    for (recent, before, margin), unit in product(PLAIN, (1, 1.0)):
        yield case("on the border, in plain numbers", unit * recent, unit * before, margin)


# recent, before and a margin of which 1 + margin or 1 - margin may round, but neither the level nor the gain does
PLAIN = ((110, 100, 0.1), (-90, -100, 0.1), (105, 100, 0.05), (-95, -100, 0.05), (55, 50, 0.1), (13, 10, 0.3))

START = AdaptiveState(5000, 0.005)
OTHER = AdaptiveConfig("both", 0.25, 3, steps_by=170, kl_by=0.002, steps_limits=(900, 6_000), kl_limits=(5e-4, 0.03))
FINE = AdaptiveConfig(steps_by=1, kl_by=2e-7, kl_limits=(1e-6, 1e-2))
MODES = ("both", "steps", "kl", "none")
MOVED, MOVED_KL, SIGN = "steps - sign * config.steps_by", "kl + sign * config.kl_by", "1 if better else -1"
STEPS, KL = f"clip(steps, {MOVED}, config.steps_limits)", f"clip(kl, {MOVED_KL}, config.kl_limits)"
ASK, ASK_KL = '("steps", "both")', '("kl", "both")'
TURN_SLIPS = {
    "Both go the wrong way: fewer steps and a larger KL if better.": (SIGN, "-1 if better else 1"),
    "They go opposite ways: fewer steps if better.": ("steps - sign", "steps + sign"),
    "They go opposite ways: a larger KL if better.": ("kl + sign", "kl - sign"),
    "What says True may be numpy's: `is True` is not.": (SIGN, "1 if better is True else -1"),
    '"both" moves both.': (f"if config.mode in {ASK_KL}", f"elif config.mode in {ASK_KL}"),
    'Of the modes "steps" and "kl" each moves one.': (
        ASK,
        "MOVES",
        ASK_KL,
        "MOVES",
        "sign =",
        f"MOVES = {MODES[:3]}; sign =",
    ),
    'In the mode "none" both stay.': (ASK, '("steps", "both", "none")', ASK_KL, '("kl", "both", "none")'),
    "Steps move by config.steps_by.": ("config.steps_by", "300"),
    "The KL moves by config.kl_by.": ("config.kl_by", "0.0005"),
    "If it is not better, they move back.": (SIGN, "1 if better else 0"),
    "The limits play no part in it.": (STEPS, MOVED, KL, MOVED_KL),
    "The KL has limits, too.": (KL, MOVED_KL),
    "A start outside the limits comes in step by step, not by a jump.": (
        *(STEPS, f"min(max({MOVED}, config.steps_limits[0]), config.steps_limits[1])"),
        *(KL, f"min(max({MOVED_KL}, config.kl_limits[0]), config.kl_limits[1])"),
    ),
    "The limits are those of config.": ("config.steps_limits", "(1000, 20000)", "config.kl_limits", "(0.001, 0.02)"),
    "The steps come first.": ("return steps, kl", "return kl, steps"),
}


@exercise(
    "turn",
    TURN,
    hints=(
        "Which way does each setting go when learning goes well? The two go opposite ways.",
        "One sign for both: +1 if better, else -1. Steps change by -sign * config.steps_by, the KL by "
        "+sign * config.kl_by.",
        "Ask before each change: does config.mode move this setting? And each result goes through clip.",
    ),
    mistakes=edits(TURN, TURN_SLIPS),
)
def turn_cases() -> Iterator[Case]:
    """Yield every mode, inside the limits, at them, just above and below, and outside."""
    edges = (1000, 1001, 1299, 1300, 1301, 19_699, 19_700, 19_701, 19_999, 20_000)
    edges_kl = (0.001, 0.00101, 0.0014, 0.0015, 0.0016, 0.0194, 0.0195, 0.0196, 0.0199, 0.02)
    outside = product((500, 700, 999, 25_000, 20_100), (0.03, 0.0202, 0.0002))
    wide = AdaptiveConfig(steps_by=5_000, kl_by=0.03, steps_limits=(3_000, 5_000))
    yield from turned("every mode", [(5000, 0.005)], *map(in_mode, MODES))
    yield from turned("another config", product((1200, 3001, 5500), (0.004, 0.02)), OTHER)
    yield from turned("at the limits, just above and just below", zip(edges, edges_kl[::-1], strict=True))
    yield from turned("one at its limit", zip(edges, edges_kl, strict=True))
    yield from turned("a start outside the limits", outside, *map(in_mode, MODES))
    yield from turned("every mode at the limits", [(1000, 0.02), (20_000, 0.001), (1000, 0.001)], *map(in_mode, MODES))
    yield from turned(
        "limits of another config", product((900, 1069, 5_831, 6_100), (5e-4, 0.0024, 0.0281, 0.03)), OTHER
    )
    yield from turned("small steps", product([5000], (1e-6, 1.1e-6, 3.5e-6, 0.0050003, 0.0099999)), FINE)
    yield from turned("steps wider than the limits", product((500, 4_000, 9_000), [0.005]), wide)
    yield from turned("an answer of numpy's", [(5000, 0.005)], *map(in_mode, MODES), answers=(np.True_, np.False_))
    yield from turned("a mode put together", [(5000, 0.005)], *(in_mode("".join([*mode])) for mode in MODES))


def in_mode(mode: str, config: AdaptiveConfig | None = None) -> AdaptiveConfig:
    """Return a config in another mode."""
    return replace(config or AdaptiveConfig(), mode=mode)


def config_words(config: AdaptiveConfig) -> str:
    """Return what differs from the defaults."""
    usual = vars(AdaptiveConfig())
    return f"AdaptiveConfig({', '.join(f'{k}={v!r}' for k, v in vars(config).items() if v != usual[k])})"


def turned(
    kind: str, settings: Iterable[tuple[int, float]], *configs: AdaptiveConfig, answers: Any = (True, False)
) -> Iterator[Case]:
    """Yield a case of each decision; a billionth of a millionth nat may be rounded."""
    for (steps, kl), config, better in product(settings, configs or (AdaptiveConfig(),), answers):
        shown = f"steps = {steps}, kl = {kl:.9g}, better = {better}, config = {config_words(config)}"
        yield case(kind, steps, kl, better, config, rtol=1e-12, atol=1e-12, shown=shown)


FULL, NEXT, MARGIN = "len(returns) < config.window", "(steps, kl, (), recent)", "state.before, config.margin)"
EMPTY, NOW = "state, returns=(), before=recent", "state.steps_per_update, state.max_kl"
ADAPT_SLIPS = {
    "Windows do not overlap: the next one begins empty.": (
        NEXT,
        NEXT.replace("()", "returns[1:]"),
        "=()",
        "=returns[1:]",
    ),
    "The window is empty again after a decision.": (NEXT, "(steps, kl, returns, recent)", "=()", "=returns"),
    "The window is one update too long.": (FULL, "len(returns) <= config.window"),
    "The window is one update too short.": (FULL, "len(returns) < config.window - 1"),
    "The window is config.window updates.": (FULL, "len(returns) < 10"),
    "Nothing is decided before the window is full.": (FULL, "False"),
    "A sum of 0 is a window like any other: ask for None.": ("state.before is None", "not state.before"),
    "The first window has nothing to be compared with: both settings stay.": (
        *(
            f"recent, None, {NOW})",
            f"recent, None, *(pair := turn({NOW}, True, config)))",
            "Decision(None",
            "Decision(True",
        ),
        *(EMPTY, f"{EMPTY}, steps_per_update=pair[0], max_kl=pair[1]"),
    ),
    "The first window's decision is a Decision, too.": (f"({EMPTY}), decision", f"({EMPTY}), None"),
    "The next one is compared with this one, not with the best.": (", (), recent)", ", (), max(recent, state.before))"),
    "The next one is compared with this one, better or not.": (
        NEXT,
        NEXT.replace("t)", "t if better else state.before)"),
    ),
    "`recent` is the sum of the window, not the mean.": ("sum(returns)", "sum(returns) / len(returns)"),
    "The window is compared, not its last return.": ("improved(recent", "improved(mean_return"),
    "The margin is left out.": (MARGIN, "state.before, 0)"),
    "Without an improvement the settings move, too.": (f"turn({NOW}, b", f"({NOW}) if not better else turn({NOW}, b"),
    "The decision tells the settings that follow.": ("threshold, steps, kl)", f"threshold, {NOW})"),
    'In the mode "none" windows are compared, too.': (FULL, f'config.mode == "none" or {FULL}'),
}


@exercise(
    "adapt",
    ADAPT,
    hints=(
        "Until config.window returns are together, remember the new one, decide nothing: (replace(state, ...), None).",
        "When a window closes, its sum becomes the next `before`, and the collected returns are empty again.",
        "The first window has no `before` (None, which is not 0): both settings stay, and Decision.improved is None.",
    ),
    mistakes=edits(ADAPT, ADAPT_SLIPS),
)
def adapt_cases() -> Iterator[Case]:
    """Yield single updates in every state, then whole runs, and two runs at once."""
    three, one = AdaptiveConfig(window=3), replace(OTHER, window=1)
    yield updated("the first return", (), None, 1.0, three)
    yield updated("a window that is not full", (1.0,), None, 2.5, three)
    yield updated("the first full window", (1.0, 2.5), None, -7.0, three)
    yield from (updated("a full window", (4.0, 5.0), 12.0, last, three) for last in (5.0, 7.0, -50.0))
    for before, last in ((-12.0, -16.0), (-12.0, -15.0), (-12.0, -15.5), (0.0, -4.0), (0.0, -5.0), (0.0, -3.0)):
        yield updated("windows below and at 0", (2.0, 2.0), before, last, three)
    yield updated("a return after a decision", (), 12.0, 3.0, three, 4700)
    for mode, last, (steps, kl) in product(
        MODES, (9.0, 1.0), ((4000, 0.01), (1000, 0.02), (20_000, 0.001), (500, 0.03))
    ):
        yield updated("every mode, at the limits, too", (4.0, 4.0), 12.0, last, in_mode(mode, three), steps, kl)
    yield from (updated("the first window in every mode", (4.0, 4.0), None, 1.0, in_mode(m, three)) for m in MODES)
    for off in (-1e-6, 0.0, 1e-6):
        yield updated("on the border, just above and just below", (), 400.0, 500.0 + off, one)
        yield updated("the same below 0", (), -400.0, -300.0 + off, one)
    yield updated("a margin of 0 and equal windows", (), 7.0, 7.0, AdaptiveConfig(margin=0.0, window=1))
    yield from (updated("the default window", (1.0,) * n, 9.0, 2.0, AdaptiveConfig()) for n in (8, 9))
    for value in (3, np.float64(3.5), np.float32(0.5)):
        yield updated("whole numbers and numpy's", (4.0, 5.0), 8.0, value, three)
    levels = (-100, -104, -90, -88, -84, -10, 0, -1, 20, 20.5, 22)
    yield followed("windows of equal returns", [level for level in levels for _ in range(3)], three)
    rng = np.random.default_rng(3)
    streams = ((1, -20.0, 0.0), (2, 3.0, 0.1), (7, 0.0, 0.05), (12, 50.0, 0.05))
    for (window, level, margin), mode in product(streams, MODES):
        returns = (level + 5.0 * rng.standard_normal(6 * window + 1)).tolist()
        yield followed("noise", returns, replace(OTHER, mode=mode, window=window, margin=margin))
    for scale in (1e-9, 1e9):
        yield followed("very small and very large returns", (scale * rng.standard_normal(30)).tolist(), three, scale)
    yield followed("200 windows", (rng.standard_normal(400) - 1.0).tolist(), AdaptiveConfig(window=2))
    words = "AdaptiveConfig(window=2), returns of 1, 1, 2, 2, 3, 3 in the one, -1, -1, -2, -2, -3, -3 in the other"
    yield tried("two runs at once", two_runs, shown=words)


def told(f: Candidate, state: AdaptiveState, value: float, config: AdaptiveConfig) -> tuple[Any, dict[str, Any]]:
    """Return the new state, and state and decision field by field."""
    result = f(state, value, config)
    got = "None (is there a return statement?)" if result is None else value_words(result)
    need(isinstance(result, tuple | list) and len(result) == 2, f"it returned {got}, not a state and a decision")
    new, decision = result
    need(isinstance(new, AdaptiveState), f"the first of the two is {value_words(new)}, not an AdaptiveState")
    fits = decision is None or isinstance(decision, Decision)
    need(fits, f"the second of the two is {value_words(decision)}, neither a Decision nor None")
    fields = {"decision": "None" if decision is None else "a Decision"}
    for name, part in (("decision", decision), ("state", new)):
        fields |= {f"{name}.{key}": "None" if x is None else x for key, x in vars(part).items()} if part else {}
    fields["state.returns"] = ", ".join(f"{x:.10g}" for x in new.returns) or "none"
    return new, fields


def updated(
    kind: str,
    returns: tuple[float, ...],
    before: float | None,
    last: Any,
    config: AdaptiveConfig,
    steps: int = 5000,
    kl: float = 0.005,
) -> Case:
    """Return a case of one update."""
    state = AdaptiveState(steps, kl, returns, before)
    given = f"state = AdaptiveState({steps}, {kl:g}, {short(returns)}, {before}), mean_return = {last:.9g}"
    shown = f"{given}, config = {config_words(config)}"
    return tried(kind, lambda f: told(f, state, last, config)[1], atol=1e-12, shown=shown)


def followed(kind: str, returns: Sequence[float], config: AdaptiveConfig, size: float = 1.0) -> Case:
    """Return a case of a whole run, whose returns are of this size."""

    def run(f: Candidate) -> dict[str, Any]:
        state, fields = START, dict[str, Any]()
        for update, value in enumerate(returns, 1):
            state, found = told(f, state, value, config)
            fields |= {f"after update {update}, {name}": x for name, x in found.items()}
        return fields

    shown = f"returns = {short(list(returns))}, config = {config_words(config)}"
    return tried(kind, run, atol=1e-12 * size, shown=shown)


def two_runs(f: Candidate) -> dict[str, Any]:
    """Update two runs in turn: what one remembers must not be the other's."""
    states, fields, config = [START, START], dict[str, Any](), AdaptiveConfig(window=2)
    for value in (1.0, 1.0, 2.0, 2.0, 3.0, 3.0):
        for which, sign in enumerate((1, -1)):
            states[which], found = told(f, states[which], sign * value, config)
            fields |= {f"run {which + 1}, return {sign * value:g}, {name}": x for name, x in found.items()}
    return fields


NOISE = "minitrpo.noise:measure_noise"
SIGNED, SOLVED, ROWS = "=signs * batch.advantages", "conjugate_gradient(product, d, iterations)[0]", ", rows)"
BOTH = "float(g @ step) ** 2 / curvature"
AGAIN = """=signs * np.concatenate([(a - a.mean()) / (a.std() + 1e-8)
    for a in (batch.advantages[: rows // 2], batch.advantages[rows // 2 :])])"""
NOISE_SLIPS = {
    "That is the whole difference of the halves: half of it has as much noise as g.": (SIGNED, f"=2 * {SIGNED[1:]}"),
    "That is one half's own share, without the other: its signal is still in it.": (
        SIGNED, "=np.maximum(signs, 0.0) * batch.advantages"),
    "That is g itself, not a difference of halves.": (SIGNED, "=batch.advantages"),
    "Neighbours belong to one episode: halves are the first rows and the rest, not every other row.": (
        "np.arange(rows) < rows // 2", "np.arange(rows) % 2 == 0"),
    "The advantages are standardised again: a difference of the halves' levels is noise, too.": (SIGNED, AGAIN),
    "It is measured as TRPO steps: d'F^-1 d, not d'd.": (SOLVED, "d"),
    "It is d'F^-1 d: solve F y = d, do not multiply.": (SOLVED, "product(d)"),
    "The damping is missing.": (", damping, f", ", 0.0, f"),
    "The number of iterations is not the one that was asked for.": ("d, iterations)", "d, 10)"),
    "The fraction of the states is not the one that was asked for.": (", fraction)", ", 1.0)"),
    "The promise g's grows with the step; g'F^-1 g = (g's)^2 / s'F s does not.": (BOTH, "float(g @ step)"),
    "(g's)^2 / s'F s: the square is missing.": (" ** 2", ""),
    "`both` is g'F^-1 g, with the noise in it.": (BOTH, f"{BOTH} - noise"),
    "`noise` is d'F^-1 d; `fraction` divides.": ("Measured(noise,", f"Measured(noise / ({BOTH}),"),
    "A step of zeros promises nothing: `both` is 0, not nan.": ("0.0 else 0.0", '0.0 else float("nan")'),
    "They come in this order: noise, both, steps.": (
        f"Measured(noise, {BOTH}", f"Measured({BOTH}", ROWS, ", noise, rows)"),
    "`steps` is the whole batch's, not half of them.": (ROWS, ", rows // 2)"),
}  # fmt: skip


@exercise(
    "measure_noise",
    NOISE,
    hints=(
        "The gradient is linear in the advantages: with the second half's turned round, surrogate_gradient returns d.",
        "damped_fisher gives the function v -> F v, conjugate_gradient solves F y = d with it: its first result is y.",
        "With s = c F^-1 g: g's = c g'F^-1 g and s'F s = c^2 g'F^-1 g. Which ratio is free of c?",
    ),
    mistakes=edits(NOISE, NOISE_SLIPS),
)
def measure_noise_cases() -> Iterator[Case]:
    """Yield batches of both policies, with steps of any length, and one of zeros; every number of iterations."""
    yield noise_case("five arms, each pulled twice", CategoricalPolicy(1, 5, ()), 10, (3, 0.1, 1.0))
    for policy in (GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,))):
        for seed, (n, how) in enumerate(((40, (2, 0.1, 1.0)), (64, (4, 1.0, 0.25)), (2600, (3, 0.01, 1.0)))):
            yield noise_case("a batch", policy, n, how, seed=seed)
        yield noise_case("a short step", policy, 40, (3, 0.1, 1.0), length=1e-3)
        yield noise_case("a long step", policy, 40, (3, 0.1, 0.5), length=50.0)
        yield noise_case("a step of zeros", policy, 40, (3, 0.1, 1.0), length=0.0)
        yield noise_case("one iteration", policy, 20, (1, 0.1, 1.0))
        yield noise_case("many iterations", policy, 40, (60, 0.5, 1.0))
        yield noise_case("advantages whose halves differ in level", policy, 40, (3, 0.1, 1.0), level=2.0)


def noise_case(
    kind: str,
    policy: Policy,
    n: int,
    how: tuple[int, float, float],
    seed: int = 0,
    length: float = 1.0,
    level: float = 0.0,
) -> Case:
    """Return a case of n steps; how: iterations, damping, fraction. level: by which the halves differ from 0."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    theta = theta + 0.3 * rng.standard_normal(len(theta))
    seen = rng.standard_normal((n, policy.observation_size))
    actions = policy.sample(policy.distribution(theta, seen), policy.draw_noise(rng, n))
    batch = Batch(seen, actions, rng.standard_normal(n) + np.where(np.arange(n) < n // 2, level, -level))
    g, (iterations, damping, fraction) = surrogate_gradient(policy, theta, batch), how
    step = length * conjugate_gradient(damped_fisher(policy, theta, batch, damping, fraction), g, iterations)[0]
    words = f"{n} steps, {iterations} iterations, damping {damping:g}, fraction {fraction:g}, step {length:g} F^-1 g"
    return case(kind, policy, theta, batch, g, step, *how, rtol=2e-3, shown=words)
