"""Where the seconds go, and what more actors make of them: the claims of the paper and of the post's first half."""

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
        title="More actors are faster by the clock, on every task",
        source=POST,
        sentence="In every case, the parallel implementation was faster in terms of wall-clock time by a major factor.",
        arms=on_ranks((1, 2, 5), *TASKS),
        full=Size(5, dict.fromkeys(TASKS, 120_000)),
        quick=Size(2, dict.fromkeys(TASKS, 80_000)),
        parts=tuple(ratio(seconds_at(AT), TWO, ONE, env, 1 / MAJOR, cores=2) for env in TASKS),
        draw=curves("time_s"),
        seconds=True,
        note=f"A major factor is taken as 0.7 of the cores: {MAJOR:g} on the 2 cores here, where 5 ranks give no "
        "more. What more cores would give is predicted in `docs/scaling.md`. All ranks have the same curve by "
        "steps: only the clock differs.",
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
        note="The curves lie on each other: the widest, of one rank, is at the back.",
    ),
    claim(
        name="F2L",
        title="Two actors halve the time to collect, three take a third, then it flattens",
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
        title="Every further actor learns Reacher sooner, by the clock",
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
        note=f"The author's minutes until the return was -10, with 1 to 8 threads: {author.MINUTES_TO_MINUS_10}.",
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
        ghosts=author.share_of_collecting(),
    ),
    claim(
        name="B1b",
        title="Collecting takes 93 % of an update",
        source="the author's own log, one thread on Reacher",
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
        title="The simulator is 10,000 times as fast as real time",
        source=SLIDES,
        sentence="MuJoCo simulator: up to 10000x real time",
        arms=on_ranks((1, 2), CHEETAH),
        full=Size(5, {CHEETAH: 120_000}),
        quick=Size(2, {CHEETAH: 60_000}),
        parts=(level(times_real_time(CHEETAH_STEP), TWO, CHEETAH, 10_000.0),),
        draw=bars("simulated seconds for each second of collecting", times_real_time(CHEETAH_STEP).of, 10_000),
        seconds=True,
        note="Of all tasks here HalfCheetah has the longest step, 0.05 s; the policy's own time is in it.",
    ),
)
