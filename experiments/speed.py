"""What the page on speed shows: the line of its picture, and a table with a row from each of several experiments."""

import numpy as np

from experiments import as_typed, limit, peers, scaling
from experiments.harness import Experiment
from experiments.seconds import Needed, recorded, times_sooner, worth_reaching
from experiments.systems import FAMILIES
from experiments.tables import markdown as table
from minitrpo.course.statistics import Interval

CHEETAH, REACHER = "HalfCheetah-v5", "Reacher-v5"
ONE, EIGHT = "sb3-contrib, 1 environment", "sb3-contrib, 8 environments"
OURS = ("minitrpo, 1 rank", "minitrpo, 2 ranks", "minitrpo, 2 ranks, sharded")
COLLECTED = (CHEETAH, "Hopper-v5", "Swimmer-v5", REACHER)


def shown() -> dict[str, dict[str, Needed]]:
    """Return what both systems need for sb3-contrib's final return, on the environments of the picture."""
    return {env.partition("-")[0]: of for env, (_, of) in worth_reaching(recorded()).items()}


def picture() -> str:
    """Return the line of the page that shows speed.png."""
    times = {env: times_sooner(of) for env, of in shown().items()}
    first, *_, last = sorted(times, key=times.__getitem__)
    words = f"{len(times)} environments: minitrpo reaches sb3-contrib's final return {times[first]:.1f} ({first}) to "
    words += f"{times[last]:.1f} times ({last}) sooner; the median is {np.median([*times.values()]):.1f}"
    return f"![{words}](speed.png)"


def of_peers(family: str, system: str, reference: str = "") -> Interval:
    """Return how many times as fast an iteration of a system is, by default as that of the family's reference."""
    runs, one = EXPERIMENTS[family].runs(), FAMILIES[family]
    return peers.times_as_fast(runs[reference or one.reference, one.env], runs[system, one.env])


def of_command(env: str, system: str = as_typed.OURS) -> dict[str, float]:
    """Return what a whole command took, by the name of a column of `as_typed`."""
    columns = as_typed.EXPERIMENT.runs()["both", env][0]["systems"]
    row = list(columns["system"]).index(system)
    return {name: float(cells[row]) for name, cells in columns.items() if name != "system"}


def collecting(env: str, slots: int = 16) -> float:
    """Return how fast collecting is compared with bare physics."""
    return float(limit.EXPERIMENT.runs()[f"{slots} slots", env][0]["ratio"])


def whole_run() -> dict[str, float]:
    """Return the row of a million steps of HalfCheetah and of their physics."""
    [run] = limit.OF_A_RUN.runs()["as typed", CHEETAH]
    return {name: float(run[name]) for name in ("physics_s", "run_s", "ratio", "lowest", "highest")}


def ranks(learner: str, whole: bool) -> list[float]:
    """Return how many times as fast 2 ranks are as 1 on HalfCheetah and Reacher: whole updates, or collecting."""
    found = scaling.pooled(scaling.EXPERIMENT.runs())
    return [found[env, learner][2 if whole else 1].middle for env in (CHEETAH, REACHER)]


def several(numbers: list[float], form: str = ".1f") -> str:
    """Return the numbers of a cell."""
    return "; ".join(f"{number:{form}}" for number in numbers)


def comparison() -> str:
    """Return the table of the page on speed."""
    trpo, eight = ([of_peers("trpo", name, of).middle for name in OURS] for of in (ONE, EIGHT))
    ppo = [of_peers("ppo", name).middle for name in (OURS[0], OURS[2])]
    others = [of_peers("ppo", name).middle for name in ("RLtools", "EnvPool and PyTorch", "rlox")]
    slow, crowd = "the same with 1 rank (slow machine)", scaling.crowded(scaling.EXPERIMENT.runs())
    commands = [of_command(env)["ratio"] for env in (CHEETAH, REACHER)]
    few, many = ([collecting(env, slots) for env in COLLECTED] for slots in (16, 32))
    names = "; ".join(env.partition("-")[0] for env in COLLECTED)
    mine = "1 rank; 2 ranks; 2 ranks that share the update"
    rows = [
        (
            f"{as_typed.STEPS:,} steps as typed, tuned preset, 2 ranks, HalfCheetah; Reacher",
            "sb3-contrib with its defaults, one environment",
            several(commands),
        ),
        (f"a TRPO iteration at equal settings, {mine}", "sb3-contrib with one environment", several(trpo)),
        (f"a TRPO iteration at equal settings, {mine}", "sb3-contrib with eight environments", several(eight)),
        (
            "rlox (Rust) with eight environments, the fastest of the other libraries",
            "sb3-contrib with one environment",
            several([of_peers("trpo", "rlox, 8 environments").middle]),
        ),
        (
            "Batch PPO at equal settings, 1 rank; 2 ranks that share the update",
            "stable-baselines3's PPO, all with 16 environments",
            several(ppo),
        ),
        (
            "RLtools (C++) without its simulators and BLAS; EnvPool (C++) with a PyTorch loop of this project; rlox",
            "the same",
            several(others),
        ),
        (f"collecting with 16 environments on 1 rank: {names}", "bare MuJoCo, one thread", several(few, ".2f")),
        ("collecting with 32 environments", "the same", several(many, ".2f")),
        (
            f"a million HalfCheetah steps on 2 ranks, {whole_run()['run_s']:.0f} s in all",
            "MuJoCo alone on both cores",
            f"{1 / whole_run()['ratio']:.2f}",
        ),
        ("2 ranks collect HalfCheetah; Reacher", slow, several(ranks("sharded", whole=False), ".2f")),
        ("an iteration on 2 ranks with `--learner root`", slow, several(ranks("root", whole=True), ".2f")),
        ("with `--learner sharded`, the default", slow, several(ranks("sharded", whole=True), ".2f")),
        ("8 ranks on the 2 cores", "2 ranks (slow machine)", f"{min(crowd):.2f} to {max(crowd):.2f}"),
    ]
    return table(("measured", "compared with", "times as fast"), rows, text=2)


EXPERIMENTS: dict[str, Experiment] = dict(zip(FAMILIES, peers.EXPERIMENTS, strict=False))
