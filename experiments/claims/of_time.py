"""Where the seconds go, and how many more actors save: the claims of the paper and of the post's first half."""

from experiments.claims import author
from experiments.claims.claim import PAPER, claim
from experiments.claims.questions import (
    COLLECTING,
    SHARE,
    about,
    above,
    below,
    level,
    ratio,
    same_bits,
    seconds_at,
    times_real_time,
)
from experiments.harness import Arm, Size
from experiments.pictures import bars, curves, paint_phases, paint_ranks, panels

REACHER, SWIMMER, HOPPER, CHEETAH = "Reacher-v5", "Swimmer-v5", "Hopper-v5", "HalfCheetah-v5"
TASKS = (CHEETAH, HOPPER, REACHER, SWIMMER)  # in the order of the paper's figure
CALLED = {n: f"{n} rank{'s' * (n > 1)}" for n in (1, 2, 3, 4, 5, 8)}
ONE, TWO, THREE, FOUR, _, EIGHT = CALLED.values()
MAJOR = round(1 / (0.7 * 2), 3)  # of the seconds: a factor that 2 cores can give; our border
MAGNITUDE = round(10 / 11, 3)  # of an update: ten times as long as all the rest; our border
AT = seconds_at(60_000)  # environment steps, the third update's end
SPEED = times_real_time(0.05)  # seconds of HalfCheetah's own time that a step has


def on_ranks(numbers: tuple[int, ...], *tasks: str, more: str = "") -> tuple[Arm, ...]:
    """Return the paper's settings on these numbers of ranks."""
    return tuple(Arm(CALLED[n], env, f"{PAPER}{more}", n) for env in tasks for n in numbers)


BITS = on_ranks((1, 2, 3), REACHER, HOPPER, more=" --steps-per-update 2000 --max-kl 0.01")
F1 = claim(
    "F1",
    "More actors save wall-clock time on every task",
    *(ratio(AT, TWO, ONE, env, below(1), cores=2) for env in TASKS),
    arms=on_ranks((1, 2, 5), *TASKS),
    full=Size(5, dict.fromkeys(TASKS, 120_000)),
    quick=Size(2, dict.fromkeys(TASKS, 60_000), (ONE, TWO)),
    draw=curves("time_s"),
    seconds=True,
)
B1 = claim(
    "B1",
    "Collecting is the biggest bottleneck of an update",
    level(SHARE, ONE, REACHER, above(0.5)),
    arms=on_ranks((1,), REACHER),
    full=Size(10, {REACHER: 120_000}),
    quick=Size(3, {REACHER: 60_000}),
    draw=panels(paint_phases),
    seconds=True,
    ghosts=author.share_of_collecting(),
)
CLAIMS = (
    F1,
    F1.and_also(
        "F1c",
        "More actors are faster by a major factor (our border: 1.4 times on 2 cores)",
        *(ratio(AT, TWO, ONE, env, below(MAJOR), cores=2) for env in TASKS),
    ),
    claim(
        "F1b",
        "minitrpo's data is exactly the same on any number of ranks",
        *(same_bits(env, (ONE, TWO, THREE)) for env in (REACHER, HOPPER)),
        arms=BITS,
        full=Size(5, {REACHER: 200_000, HOPPER: 200_000}),
        quick=Size(2, {REACHER: 20_000, HOPPER: 20_000}),
        draw=curves("iteration", widths=(7.0, 4.0, 1.5)),
    ),
    claim(
        "F2L",
        "Two actors halve the time to collect, three cut it to a third, then the gain ends",
        ratio(COLLECTING, TWO, ONE, REACHER, about(0.5, 0.05), cores=2),
        ratio(COLLECTING, THREE, ONE, REACHER, about(0.34, 0.05), cores=3),
        ratio(COLLECTING, EIGHT, FOUR, REACHER, about(1, 0.15), cores=8),
        arms=on_ranks((1, 2, 3, 4, 8), REACHER),
        full=Size(10, {REACHER: 120_000}),
        quick=Size(2, {REACHER: 60_000}),
        draw=panels(paint_ranks),
        seconds=True,
        ghosts=author.collecting(),
    ),
    claim(
        "F2R",
        "Every further actor shortens an iteration",
        ratio(AT, TWO, ONE, REACHER, below(1), cores=2),
        ratio(AT, THREE, TWO, REACHER, below(1), cores=3),
        ratio(AT, FOUR, THREE, REACHER, below(1), cores=4),
        arms=on_ranks((1, 2, 3, 4), REACHER),
        full=Size(5, {REACHER: 200_000}),
        quick=Size(2, {REACHER: 60_000}),
        draw=curves("time_s"),
        seconds=True,
    ),
    B1,
    B1.and_also(
        "B1b", "Collecting takes 93 % of an update, as in Frans's log", level(SHARE, ONE, REACHER, about(0.93, 0.05))
    ),
    B1.and_also(
        "B1c",
        "Collecting is the biggest bottleneck by a magnitude (our border: ten times all the rest)",
        level(SHARE, ONE, REACHER, above(MAGNITUDE)),
    ),
    claim(
        "T1",
        "The simulator is up to 10,000 times as fast as real time",
        level(SPEED, TWO, CHEETAH, above(10_000), ",.0f")._replace(untested=True),
        arms=on_ranks((1, 2), CHEETAH),
        full=Size(5, {CHEETAH: 120_000}),
        quick=Size(2, {CHEETAH: 60_000}),
        draw=bars("simulated seconds per second of collecting", SPEED.of, 10_000),
        seconds=True,
    ),
)
