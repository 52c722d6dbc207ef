"""Where the seconds go, and how many more actors save: the claims of the paper and of the post's first half."""

from typing import Any

from experiments.claims import author
from experiments.claims.claim import PAPER, POST, SLIDES, claim
from experiments.claims.questions import level, ratio, same_bits, seconds, seconds_at, share, times_real_time
from experiments.harness import Arm, Size
from experiments.pictures import against_ranks, bars, curves, phases

REACHER, SWIMMER, HOPPER, CHEETAH = "Reacher-v5", "Swimmer-v5", "Hopper-v5", "HalfCheetah-v5"
TASKS = (CHEETAH, HOPPER, REACHER, SWIMMER)  # in the order of the paper's figure
CHEETAH_STEP = 0.05  # seconds of its own time


def on_ranks(numbers: tuple[int, ...], *tasks: str, more: str = "") -> tuple[Arm, ...]:
    """Return the paper's settings on these numbers of ranks."""
    return tuple(Arm(called(n), env, f"--preset paper{more}", n) for env in tasks for n in numbers)


def called(number: int) -> str:
    """Return "1 rank", "2 ranks"."""
    return f"{number} rank{'s' * (number > 1)}"


ONE, TWO, THREE, FOUR, EIGHT = map(called, (1, 2, 3, 4, 8))
MAJOR = 0.7 * 2  # a factor that 2 cores can give
AT = 60_000  # environment steps, the third update's end
ONE_RANK: dict[str, Any] = {"arms": on_ranks((1,), REACHER), "full": Size(10, {REACHER: 120_000})}
ONE_RANK |= {"quick": Size(3, {REACHER: 60_000})}
CLAIMS = (
    claim(
        name="F1",
        title="More actors save wall-clock time on every task",
        source=POST,
        sentence="In every case, the parallel implementation was faster in terms of wall-clock time by a major factor.",
        arms=on_ranks((1, 2, 5), *TASKS),
        full=Size(5, dict.fromkeys(TASKS, 120_000)),
        quick=Size(2, dict.fromkeys(TASKS, 80_000)),
        parts=tuple(ratio(seconds_at(AT), TWO, ONE, env, 1 / MAJOR, cores=2) for env in TASKS),
        draw=curves("time_s"),
        seconds=True,
        note=f"We take 0.7 of the cores as a major factor: {MAJOR:g} on 2 cores. `docs/scaling.md` predicts what more "
        "cores would give. The curves by steps are the same on any number of ranks; only the seconds differ.",
    ),
    claim(
        name="F1b",
        title="The data is exactly the same on any number of ranks",
        source=POST,
        sentence="The data we collect is exactly the same as if we were single-threaded!",
        arms=on_ranks((1, 2, 3), REACHER, HOPPER, more=" --steps-per-update 2000 --max-kl 0.01"),
        full=Size(5, {REACHER: 200_000, HOPPER: 200_000}),
        quick=Size(2, {REACHER: 60_000, HOPPER: 60_000}),
        parts=(same_bits(REACHER, (ONE, TWO, THREE)), same_bits(HOPPER, (ONE, TWO, THREE))),
        draw=curves("iteration", widths=(7.0, 4.0, 1.5)),
        note="The curves coincide. The widest line, of one rank, is behind the others.",
    ),
    claim(
        name="F2L",
        title="Two actors halve the time to collect, three cut it to a third, then the gain ends",
        source=POST,
        sentence="Using two threads reduces the time taken to collect data by 50%, three by 66%, and from four onwards "
        "we start to flatline.",
        arms=on_ranks((1, 2, 3, 4, 8), REACHER),
        full=Size(10, {REACHER: 120_000}),
        quick=Size(3, {REACHER: 60_000}),
        parts=(
            ratio(seconds("collect"), TWO, ONE, REACHER, 0.5, about=0.05, cores=2),
            ratio(seconds("collect"), THREE, ONE, REACHER, 0.34, about=0.05, cores=3),
            ratio(seconds("collect"), EIGHT, FOUR, REACHER, 1.0, about=0.15),
        ),
        draw=against_ranks("collect", "20,000 steps"),
        seconds=True,
        ghosts=author.collecting(),
    ),
    claim(
        name="F2R",
        title="Every further actor learns Reacher in fewer seconds",
        source=PAPER,
        sentence="Parallelization always decreases the time it takes to train an iteration, albeit with diminishing "
        "returns.",
        arms=on_ranks((1, 2, 3, 4), REACHER),
        full=Size(5, {REACHER: 200_000}),
        quick=Size(3, {REACHER: 80_000}),
        parts=(
            ratio(seconds_at(AT), TWO, ONE, REACHER, 1.0, cores=2),
            ratio(seconds_at(AT), THREE, TWO, REACHER, 1.0, cores=3),
            ratio(seconds_at(AT), FOUR, THREE, REACHER, 1.0, cores=4),
        ),
        draw=curves("time_s"),
        seconds=True,
        note=f"Frans's minutes to a return of -10, with 1 to 8 threads: {author.MINUTES_TO_MINUS_10}.",
    ),
    claim(
        name="B1",
        title="Collecting takes most of an update",
        source=PAPER,
        sentence="In practice, the biggest bottleneck by a magnitude in a TRPO update is collecting the experience.",
        **ONE_RANK,
        parts=(level(share("collect"), ONE, REACHER, 0.5),),
        draw=phases,
        seconds=True,
        note='We test whether collecting takes more than half. "By a magnitude" would be ten times as long as all the '
        "rest, 91 %; a share of 78 % is 3.5 times as long.",
        ghosts=author.share_of_collecting(),
    ),
    claim(
        name="B1b",
        title="Collecting takes 93 % of an update, as in Frans's log",
        source="Frans's own log, one thread on Reacher",
        sentence="(In his log of one thread 93 % of the seconds of an update were collecting.)",
        home="B1",
        **ONE_RANK,
        parts=(level(share("collect"), ONE, REACHER, 0.93, about=0.05),),
        draw=phases,
        seconds=True,
        ghosts=author.share_of_collecting(),
    ),
    claim(
        name="T1",
        title="The simulator is up to 10,000 times as fast as real time",
        source=SLIDES,
        sentence="MuJoCo simulator: up to 10000x real time",
        arms=on_ranks((1, 2), CHEETAH),
        full=Size(5, {CHEETAH: 120_000}),
        quick=Size(2, {CHEETAH: 60_000}),
        parts=(level(times_real_time(CHEETAH_STEP), TWO, CHEETAH, 10_000.0)._replace(untested=True),),
        draw=bars("simulated seconds per second of collecting", times_real_time(CHEETAH_STEP).of, 10_000),
        seconds=True,
        note="The slides name neither a robot nor a machine. We measured one robot on two slow cores, and the time of "
        "the policy is included. Physics alone reaches at most 1,500 times on one of these cores (InvertedPendulum: "
        "37,650 steps a second of 0.04 s, experiment `limit`).",
    ),
)
