"""The numbers of README.md, docs/speed.md and experiments/README.md: how fast, and how good.

Groups: `typed` commands, `whole` runs, `physics`, `iteration` and `ppo` (peers), `ranks`, `growth`; `tuned` tasks, with
rl-zoo's settings; `panel`, the tasks that nobody tuned, `normalised`, which are those with VecNormalize, and
`clock`, the same by seconds; `final` returns.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial

import numpy as np

from experiments import as_typed, fresh, growth, limit, panel, returns, scaling, speed
from experiments.panel import IN_UNITS, LAST, NAMES, NOT_IN_UNITS, OURS, PARTS, PPO, SYSTEMS, TRPO, Scores
from experiments.panel_environments import KNOWN, RECIPES, TASKS
from experiments.returns import OWN, THEIRS, form_of
from experiments.seconds import recorded, times_sooner, times_sooner_for_good, worth_reaching
from experiments.speed import CHEETAH, EIGHT, REACHER
from minitrpo.algorithms.trpo_settings import PRESETS
from minitrpo.course.statistics import Interval, iqm

COUNTS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them: A, B and C."""
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def median(values: Iterable[float]) -> str:
    """Return a median to one digit."""
    return f"{np.median([*values]):.1f}"


def ranged(values: Iterable[float], form: str = ".1f") -> str:
    """Return the lowest and the highest of some values."""
    each = [*values]
    return f"{min(each):{form}} to {max(each):{form}}"


# --- tuned tasks


@cache
def tuned() -> dict[str, tuple[float, float, float, float]]:
    """Return by environment: times sooner, times sooner to stay there, ratio of the rates, ratio of the steps."""
    found = {}
    for env, of in speed.shown().items():
        ours, others = of[OURS], of[THEIRS]
        steps = (others.steps or np.inf) / (ours.steps or np.inf)
        found[env] = times_sooner(of), times_sooner_for_good(of), ours.rate / others.rate, steps
    return found


def column(number: int) -> list[float]:
    """Return one of the four numbers of `tuned`, of every environment."""
    return [row[number] for row in tuned().values()]


def on_the_way() -> str:
    """Return the medians of times sooner at half, 80 % and 90 % of the way to sb3-contrib's final return."""
    envs = worth_reaching(recorded())
    medians = [np.median([times_sooner(recorded(share)[env][1]) for env in envs]) for share in (0.5, 0.8, 0.9)]
    return ranged(medians)


def left_out() -> str:
    """Return the environments whose target is below the return of doing nothing."""
    return listed(env for env in recorded() if env not in worth_reaching(recorded()))


def not_fewer_steps() -> str:
    """Return on how many environments ours saves at most a twentieth of the steps."""
    return f"{sum(steps < 1.05 for steps in column(3))}"


def not_staying() -> str:
    """Return the environments on which ours ends below sb3-contrib's final return."""
    return listed(env for env, row in tuned().items() if row[1] == 0)


def for_good(env: str) -> str:
    """Return how many times sooner ours stays above the return."""
    return f"{tuned()[env][1]:.1f}"


def in_millions(env: str, system: str) -> str:
    """Return the steps after which a system first has the return."""
    return f"{(recorded()[env][1][system].steps or np.inf) / 1e6:.2f}"


def beginning_with(log_std: float) -> str:
    """Return the environments whose first policy has this logarithm of its standard deviation."""
    return listed(env.partition("-")[0] for env, values in OWN.items() if values.get("initial_log_std") == log_std)


def numbers_of_environments() -> str:
    """Return how many environments the default plays at once in a whole job, over the tuned tasks: 16 or 32."""
    default = PRESETS["default"].values["num_envs"]
    counts = {OWN.get(env, {}).get("num_envs", default) for env in worth_reaching(recorded())}
    return " or ".join(map(str, sorted(counts)))


TUNED: dict[str, Callable[[], str]] = {
    "tuned.times": lambda: median(column(0)),
    "tuned.range": lambda: ranged(column(0)),
    "tuned.environments": lambda: f"{len(tuned())}",
    "tuned.of": lambda: f"{len(recorded())}",
    "tuned.num_envs": numbers_of_environments,
    "tuned.own": lambda: f"{len(OWN)}",
    "tuned.own.word": lambda: COUNTS[len(OWN)],
    "tuned.stay": lambda: median(column(1)),
    "tuned.on_the_way": on_the_way,
    "tuned.rate": lambda: median(column(2)),
    "tuned.steps": lambda: median(column(3)),
    "tuned.steps.range": lambda: ranged(column(3), ".2f"),
    "tuned.steps.same": not_fewer_steps,
    "tuned.below": not_staying,
    "tuned.stay.doublependulum": partial(for_good, "InvertedDoublePendulum"),
    "tuned.stay.reacher": partial(for_good, "Reacher"),
    "tuned.stay.walker": partial(for_good, "Walker2d"),
    "tuned.walker.ours": partial(in_millions, "Walker2d-v5", OURS),
    "tuned.walker.theirs": partial(in_millions, "Walker2d-v5", THEIRS),
    "tuned.left_out": left_out,
    "ant.target": lambda: f"{recorded()['Ant-v5'][0]:.0f}",
    "ant.still": lambda: f"{fresh.still()['Ant-v5']:.0f}",
    "ant.times": lambda: f"{times_sooner(recorded()['Ant-v5'][1]):.0f}",
    "deviation.default": lambda: f"{np.exp(PRESETS['default'].values['initial_log_std']):.1f}",
    "deviation.tuned": lambda: f"{np.exp(OWN[CHEETAH]['initial_log_std']):.1f}",
    "deviation.tuned.names": partial(beginning_with, OWN[CHEETAH]["initial_log_std"]),
    "deviation.one.names": partial(beginning_with, 0.0),
}


# --- final returns


@cache
def differences() -> dict[str, tuple[Interval, bool]]:
    """Return our mean final return minus sb3-contrib's, and whether it is beyond chance."""
    return returns.differences(returns.EXPERIMENT.runs())


def higher() -> list[str]:
    """Return the environments on which our mean final return is higher."""
    return [env for env, (found, _) in differences().items() if found.middle > 0]


def beyond() -> str:
    """Return on how many environments the difference is beyond chance."""
    return f"{sum(chance for _, chance in differences().values()) or 'none'}"


@cache
def nearest() -> str:
    """Return the environment whose difference has the smallest p value."""
    found = returns.corrected_chances(returns.EXPERIMENT.runs())
    return min(found, key=found.__getitem__)


FINAL: dict[str, Callable[[], str]] = {
    "final.higher": lambda: f"{len(higher())}",
    "final.lower": lambda: listed(env.partition("-")[0] for env in differences() if env not in higher()),
    "final.environments": lambda: f"{len(differences())}",
    "final.beyond": beyond,
    "final.few": lambda: listed(env.partition("-")[0] for env in higher() if env in returns.SLOW),
    "final.nearest.p": lambda: f"{returns.corrected_chances(returns.EXPERIMENT.runs())[nearest()]:.3f}",
    "final.nearest": lambda: nearest().partition("-")[0],
    "final.nearest.interval": lambda: f"{differences()[nearest()][0]:{form_of(nearest())}}",
}


# --- fresh episodes


@cache
def of_fresh() -> dict[str, tuple[Interval, bool]]:
    """Return ours minus theirs in fresh episodes of the mean action, and whether that is beyond chance."""
    return fresh.differences(fresh.EXPERIMENT.runs())


def fresh_beyond() -> str:
    """Return the environments on which this difference is beyond chance."""
    return listed([env.partition("-")[0] for env, (_, certain) in of_fresh().items() if certain] or ["none"])


def fresh_difference(env: str) -> str:
    """Return this difference on one environment, with its interval."""
    return f"{of_fresh()[env][0]:{form_of(env)}}"


FRESH: dict[str, Callable[[], str]] = {
    "fresh.names": lambda: listed(env.partition("-")[0] for env in fresh.TRAINED),
    "fresh.seeds": lambda: COUNTS[fresh.EXPERIMENT.full.seeds].lower(),
    "fresh.steps": lambda: f"{fresh.EXPERIMENT.full.steps[REACHER]:,}",
    "fresh.beyond": lambda: listed(
        [env.partition("-")[0] for env, (_, sure) in of_fresh().items() if sure] or ["none"]
    ),
    "fresh.cartpole": partial(fresh_difference, "CartPole-v1"),
    "fresh.pendulum": partial(fresh_difference, "Pendulum-v1"),
    "fresh.reacher": partial(fresh_difference, REACHER),
}


# --- tasks that nobody tuned


@cache
def scored(last: int = PARTS) -> tuple[Scores, Scores]:
    """Return the scores on the tasks that change more than a unit, and on those that change only a unit."""
    found = panel.scores(panel.EXPERIMENT.runs(), panel.HELD, SYSTEMS, last)
    units = {name: {env: one for env, one in some.items() if env in IN_UNITS} for name, some in found.items()}
    return panel.without_units(found), units


@cache
def score(name: str, last: int = PARTS) -> str:
    """Return a system's interquartile mean on the tasks that change more than a unit, with its interval."""
    return f"{panel.middle(scored(last)[0][name]):.2f}"


@cache
def improvement(peer: str) -> str:
    """Return how probably a run of ours is above one of a peer there."""
    return f"{panel.above(scored()[0][OURS], scored()[0][peer]):.2f}"


@cache
def gap(peers: tuple[str, ...] = (TRPO, PPO)) -> str:
    """Return the lowest and the highest difference of areas on the tasks that change only a unit."""
    units = scored()[1]
    gaps = [float(units[OURS][env].mean() - units[peer][env].mean()) for peer in peers for env in units[OURS]]
    return f"{min(gaps):+.1f} to {max(gaps):+.1f}"


@cache
def differences_of_areas() -> dict[tuple[str, str], tuple[Interval, bool]]:
    """Return ours minus theirs by (peer, task), and whether it is beyond chance, all tasks asked at once."""
    areas = panel.scores(panel.EXPERIMENT.runs(), panel.HELD, SYSTEMS)
    return panel.apart(areas[OURS], {peer: areas[peer] for peer in panel.PEERS})


def behind() -> list[str]:
    """Return the tasks on which our area is below that of both peers."""
    found = differences_of_areas()
    return [NAMES[env] for env in panel.HELD if all(found[peer, env][0].middle < 0 for peer in panel.PEERS)]


def beyond_chance(peer: str, sign: int) -> list[str]:
    """Return the tasks, more than a unit different, on which ours is above (1) or below (-1) a peer beyond chance."""
    found = {env: differences_of_areas()[peer, env] for env in NOT_IN_UNITS}
    return [NAMES[env] for env, (difference, certain) in found.items() if certain and sign * difference.middle > 0]


@cache
def clock(peer: str) -> dict[str, float]:
    """Return how many times sooner ours reaches a peer's end, on the tasks that it learned and that are no unit."""
    return {NAMES[env]: x for env, x in panel.by_the_clock(panel.RATES.runs())[peer].items() if env in NOT_IN_UNITS}


def times_sooner_of(peer: str) -> str:
    """Return the median of these times, with its interval over tasks."""
    found = panel.median_of_times(clock(peer).values())
    return f"{found.middle:.1f} ({found.low:.0f} to {found.high:.0f})"


def never(peer: str) -> list[str]:
    """Return the tasks on which ours does not get there."""
    return [name for name, times in clock(peer).items() if times == 0]


def slower(peer: str) -> list[str]:
    """Return the tasks on which ours gets there later."""
    return [name for name, times in clock(peer).items() if 0 < times < 1]


@cache
def beside_normalised(envs: tuple[str, ...], last: int) -> Scores:
    """Return the scores of all systems on some tasks, that with VecNormalize among them; the best end of any is 1."""
    return panel.scores(panel.EXPERIMENT.runs(), [*envs], (*SYSTEMS, panel.NORMALISED), last)


def normalised(name: str, last: int, envs: tuple[str, ...] = tuple(panel.NORMALISABLE)) -> str:
    """Return a system's mean score over tasks: by default over those that VecNormalize can help."""
    return f"{np.mean([one.mean() for one in beside_normalised(envs, last)[name].values()]):.2f}"


def usual(last: int) -> Scores:
    """Return these scores on the tasks that change more than a unit."""
    return beside_normalised(tuple(NOT_IN_UNITS), last)


def usual_middle(name: str, last: int) -> str:
    """Return the interquartile mean of a system's scores on these, with its interval."""
    return f"{panel.middle(usual(last)[name]):.2f}"


def ahead_of_normalised(name: str, last: int) -> str:
    """Return a system's mean score there minus that with VecNormalize, with its interval."""
    return f"{panel.ahead(usual(last)[name], usual(last)[panel.NORMALISED]):+.2f}"


def lower_than_normalised() -> str:
    """Return on how many of these tasks the mean area of ours is lower than that with VecNormalize."""
    ours, other = (usual(PARTS)[name] for name in (OURS, panel.NORMALISED))
    return f"{sum(ours[env].mean() < other[env].mean() for env in ours)}"


def last_return(name: str, env: str) -> str:
    """Return the mean return of a system's runs over the last tenth of the steps."""
    mean = np.mean([panel.score(run, LAST) for run in panel.EXPERIMENT.runs()[name, env]])
    return f"{np.round(mean, 1) + 0.0:.1f}"  # 0.0, not -0.0


def seeds_of_normalised() -> str:
    """Return how many seeds have been run with VecNormalize."""
    counts = {*panel.NORMALISED_SEEDS.values()}
    return "one seed" if counts == {1} else f"{ranged(counts, '')} seeds" if len(counts) > 1 else f"{max(counts)} seeds"


def variants() -> list[str]:
    """Return the tasks, more than a unit different, that are made of environments of the table of returns."""
    made = {f"{name}-v0": recipe.base for name, recipe in RECIPES.items()}
    return [env for env in NOT_IN_UNITS if made.get(env.rpartition("/")[2]) in returns.STEPS]


def new(name: str) -> str:
    """Return a system's interquartile mean on the tasks that are no such variants."""
    return f"{iqm(np.concatenate([one for env, one in scored()[0][name].items() if env not in variants()])):.2f}"


def of_idea(name: str) -> str:
    """Return the interquartile mean of the areas of a change of the default, on the choosing half."""
    return f"{iqm(np.concatenate([*ideas()[name].values()])):.2f}"


@cache
def ideas() -> Scores:
    """Return the scores of the default and of its changes on the choosing half."""
    return panel.scores(panel.CHOICE.runs(), panel.CHOSEN, (OURS, *panel.IDEAS))


def better_than_default(name: str) -> str:
    """Return on how many tasks of the choosing half a change is better."""
    return f"{sum(one.mean() > ideas()[OURS][env].mean() for env, one in ideas()[name].items())}"


LARGE_OBSERVATIONS = TASKS["ReacherLargeObservations"].env
PANEL: dict[str, Callable[[], str]] = {
    "panel.tasks": lambda: f"{len(panel.HELD) + len(panel.CHOSEN)}",
    "panel.known": lambda: f"{len(KNOWN)}",
    "panel.choosing": lambda: f"{len(panel.CHOSEN)}",
    "panel.held": lambda: f"{len(panel.HELD)}",
    "panel.others": lambda: f"{len(NOT_IN_UNITS)}",
    "panel.units": lambda: f"{len(IN_UNITS)}",
    "panel.units.names": lambda: listed(NAMES[env] for env in IN_UNITS),
    "panel.units.gap": gap,
    "panel.steps": lambda: ranged((panel.STEPS[env] for env in panel.HELD), ","),
    "panel.ours": partial(score, OURS),
    "panel.trpo": partial(score, TRPO),
    "panel.ppo": partial(score, PPO),
    "panel.end.ours": partial(score, OURS, LAST),
    "panel.end.trpo": partial(score, TRPO, LAST),
    "panel.end.ppo": partial(score, PPO, LAST),
    "panel.above.trpo": partial(improvement, TRPO),
    "panel.above.ppo": partial(improvement, PPO),
    "panel.behind": lambda: listed(behind()),
    "panel.behind.trpo": lambda: listed(beyond_chance(TRPO, -1) or ["none"]),
    "panel.behind.ppo": lambda: listed(beyond_chance(PPO, -1) or ["none"]),
    "panel.ahead.trpo": lambda: f"{len(beyond_chance(TRPO, 1))}",
    "panel.ahead.ppo": lambda: f"{len(beyond_chance(PPO, 1))}",
    "panel.variants": lambda: COUNTS[len(variants())],
    "panel.new.ours": partial(new, OURS),
    "panel.new.trpo": partial(new, TRPO),
    "panel.new.ppo": partial(new, PPO),
    "normalised.helped": lambda: listed(NAMES[env] for env in panel.NORMALISABLE),
    "normalised.unhelped": lambda: listed(NAMES[env] for env in IN_UNITS if env not in panel.NORMALISABLE),
    "normalised.seeds": seeds_of_normalised,
    "normalised.area.ours": partial(normalised, OURS, PARTS),
    "normalised.area.without": partial(normalised, TRPO, PARTS),
    "normalised.area.with": partial(normalised, panel.NORMALISED, PARTS),
    "normalised.end.ours": partial(normalised, OURS, LAST),
    "normalised.end.without": partial(normalised, TRPO, LAST),
    "normalised.end.with": partial(normalised, panel.NORMALISED, LAST),
    "normalised.reacher.ours": partial(normalised, OURS, LAST, (LARGE_OBSERVATIONS,)),
    "normalised.reacher.with": partial(normalised, panel.NORMALISED, LAST, (LARGE_OBSERVATIONS,)),
    "normalised.usual.tasks": lambda: f"{len(usual(PARTS)[OURS])}",
    "normalised.usual.area.with": partial(usual_middle, panel.NORMALISED, PARTS),
    "normalised.usual.end.with": partial(usual_middle, panel.NORMALISED, LAST),
    "normalised.usual.area.ours": partial(usual_middle, OURS, PARTS),
    "normalised.usual.end.ours": partial(usual_middle, OURS, LAST),
    "normalised.usual.minus.ours.area": partial(ahead_of_normalised, OURS, PARTS),
    "normalised.usual.minus.ours.end": partial(ahead_of_normalised, OURS, LAST),
    "normalised.usual.minus.without.area": partial(ahead_of_normalised, TRPO, PARTS),
    "normalised.usual.minus.without.end": partial(ahead_of_normalised, TRPO, LAST),
    "normalised.usual.above": lambda: f"{panel.above(usual(PARTS)[OURS], usual(PARTS)[panel.NORMALISED]):.2f}",
    "normalised.usual.lower": lower_than_normalised,
    "normalised.mountaincar.ours": partial(last_return, OURS, "MountainCarContinuous-v0"),
    "normalised.mountaincar.with": partial(last_return, panel.NORMALISED, "MountainCarContinuous-v0"),
    "panel.border": lambda: f"{panel.BORDER:g}",
    "clock.trpo": partial(times_sooner_of, TRPO),
    "clock.ppo": partial(times_sooner_of, PPO),
    "clock.trpo.sooner": lambda: f"{len(clock(TRPO)) - len(never(TRPO)) - len(slower(TRPO))}",
    "clock.ppo.sooner": lambda: f"{len(clock(PPO)) - len(never(PPO)) - len(slower(PPO))}",
    "clock.trpo.later": lambda: f"{len(slower(TRPO))}",
    "clock.ppo.later": lambda: f"{len(slower(PPO))}",
    "clock.ppo.never.count": lambda: f"{len(never(PPO))}",
    "clock.trpo.tasks": lambda: f"{len(clock(TRPO))}",
    "clock.ppo.tasks": lambda: f"{len(clock(PPO))}",
    "clock.trpo.never.count": lambda: f"{len(never(TRPO))}",
    "clock.trpo.never": lambda: listed(never(TRPO)),
    "clock.ppo.never": lambda: listed(never(PPO)),
    "clock.trpo.slower": lambda: listed(slower(TRPO)),
    "clock.ppo.slower": lambda: listed(slower(PPO)),
    "ideas.all": partial(of_idea, "all three"),
    "ideas.quieter": partial(of_idea, "all but first deviation 0.6"),
    "ideas.filter": partial(of_idea, "no observation filter"),
    "ideas.default": partial(of_idea, OURS),
    "ideas.filter.better": partial(better_than_default, "no observation filter"),
    "ideas.tasks": lambda: f"{len(ideas()[OURS])}",
}


# --- seconds


def iteration(system: str, reference: str = "") -> str:
    """Return how many times as fast a TRPO iteration is as sb3-contrib's."""
    return f"{speed.of_peers('trpo', system, reference).middle:.1f}"


def interval_of(family: str, system: str) -> str:
    """Return the interval of how many times as fast a system is; of two rounds of one update, their range."""
    found = speed.of_peers(family, system)
    return f"{found.low:.1f} to {found.high:.1f}"


def ppo(system: str) -> str:
    """Return how many times as fast a PPO iteration is as stable-baselines3's."""
    return f"{speed.of_peers('ppo', system).middle:.1f}"


def extreme(highest: bool) -> str:
    """Return the lowest or the highest ratio of collecting to bare physics with 16 environments, and where it is."""
    found = {env: speed.collecting(env) for env in limit.TASKS}
    env = (max if highest else min)(found, key=found.__getitem__)
    return f"{found[env]:.2f} ({env.partition('-')[0]})"


def grown(phase: str, what: str, size: int, other: int) -> str:
    """Return how many times as long a phase takes at one size as at another."""
    runs, sweep = growth.EXPERIMENT.runs(), growth.SWEEPS[what]
    one, two = (np.median([run[phase] for run in runs[sweep[x][:2]]]) for x in (size, other))
    return f"{one / two:.1f}"


def learned_with(learner: str, whole: bool) -> str:
    """Return what 2 ranks gain on HalfCheetah and on Reacher."""
    return "{:.2f} times (HalfCheetah) and {:.2f} times (Reacher)".format(*speed.ranks(learner, whole))


def typed(env: str, name: str, form: str) -> str:
    """Return a number of our command as typed."""
    return f"{speed.of_command(env)[name]:{form}}"


OBSERVATIONS, UNITS, ENVIRONMENTS = growth.SWEEPS
CLOCK: dict[str, Callable[[], str]] = {
    "whole.seconds": lambda: f"{speed.whole_run()['run_s']:.0f}",
    "whole.times": lambda: f"{speed.whole_run()['ratio']:.1f}",
    "typed.steps": lambda: f"{as_typed.STEPS:,}",
    "typed.halfcheetah": partial(typed, CHEETAH, "ratio", ".1f"),
    "typed.reacher": partial(typed, REACHER, "ratio", ".1f"),
    "typed.halfcheetah.seconds": partial(typed, CHEETAH, "seconds", ".1f"),
    "typed.reacher.seconds": partial(typed, REACHER, "seconds", ".1f"),
    "physics.lowest": partial(extreme, highest=False),
    "physics.highest": partial(extreme, highest=True),
    "physics.ant": lambda: f"{speed.collecting('Ant-v5'):.2f}",
    "physics.humanoid": lambda: f"{speed.collecting('Humanoid-v5'):.2f}",
    "iteration.1": partial(iteration, speed.OURS[0]),
    "iteration.2": partial(iteration, speed.OURS[1]),
    "iteration.2.range": partial(interval_of, "trpo", speed.OURS[1]),
    "iteration.sharded": partial(iteration, speed.OURS[2]),
    "iteration.1.eight": partial(iteration, speed.OURS[0], EIGHT),
    "iteration.sharded.eight": partial(iteration, speed.OURS[2], EIGHT),
    "iteration.rlox": partial(iteration, "rlox, 8 environments"),
    "ppo.1": partial(ppo, speed.OURS[0]),
    "ppo.1.interval": partial(interval_of, "ppo", speed.OURS[0]),
    "ppo.sharded": partial(ppo, speed.OURS[2]),
    "ppo.rltools": partial(ppo, "RLtools"),
    "ppo.envpool": partial(ppo, "EnvPool and PyTorch"),
    "ppo.rlox": partial(ppo, "rlox"),
    "ranks.collect": partial(learned_with, "sharded", whole=False),
    "ranks.sharded": partial(learned_with, "sharded", whole=True),
    "ranks.root": partial(learned_with, "root", whole=True),
    "ranks.steps": lambda: f"{scaling.STEPS:,}",
    "growth.ant": partial(grown, "collect", OBSERVATIONS, 105, 17),
    "growth.humanoid": partial(grown, "collect", OBSERVATIONS, 348, 17),
    "growth.units.64": partial(grown, "update", UNITS, 64, 32),
    "growth.units.128": partial(grown, "update", UNITS, 128, 64),
    "growth.units.256": partial(grown, "update", UNITS, 256, 128),
    "growth.four": partial(grown, "collect", ENVIRONMENTS, 1, 4),
}

NUMBERS: dict[str, Callable[[], str]] = TUNED | FINAL | FRESH | PANEL | CLOCK
"""A name on a page, and what stands there."""
