"""How many steps an update needs, and how far it may go: the claims of the post's second half, before its rule."""

from experiments.claims import author
from experiments.claims.claim import PAPER, claim
from experiments.claims.questions import about, area, higher, last_tenth, level, mean
from experiments.harness import Arm, Size
from experiments.pictures import curves

REACHER, SWIMMER, PENDULUM = "Reacher-v5", "Swimmer-v5", "InvertedPendulum-v5"
FEW, FIVE, TEN, MANY = author.STEPS
NUMBERS = {FEW: 1_000, FIVE: 5_000, TEN: 10_000, MANY: 20_000}
EARLY, LATER = (mean(f"return after {n:,} steps", n - 20_000, n) for n in (100_000, 300_000))
AFTER = {n: mean(f"return after {n} updates", n - 5, n, "iteration") for n in (15, 30, 60)}


def by_steps(env: str) -> tuple[Arm, ...]:
    """Return four numbers of steps per update, all else as the paper has it."""
    return tuple(Arm(name, env, f"{PAPER} --steps-per-update {n}") for name, n in NUMBERS.items())


def by_limit(env: str, limits: tuple[str, ...], more: str = "") -> tuple[Arm, ...]:
    """Return some limits of the KL, all else as the paper has it."""
    return tuple(Arm(f"max-KL {limit}", env, f"{PAPER} --max-kl {limit}{more}") for limit in limits)


S1 = claim(
    "S1",
    "Fewer steps per update learn Reacher in fewer steps",
    higher(EARLY, FEW, FIVE, REACHER),
    higher(EARLY, FIVE, TEN, REACHER),
    higher(EARLY, TEN, MANY, REACHER),
    higher(LATER, FEW, MANY, REACHER),
    arms=by_steps(REACHER),
    full=Size(10, {REACHER: 1_200_000}),
    quick=Size(2, {REACHER: 300_000}),
    draw=curves(),
    ghosts=author.table(author.AFTER_STEPS),
)
S3 = claim(
    "S3",
    "1,000 steps per update keep Swimmer near 40",
    level(last_tenth(2_000_000), FEW, SWIMMER, about(40, 15)),
    arms=by_steps(SWIMMER),
    full=Size(5, {SWIMMER: 2_000_000}),
    quick=Size(1, {SWIMMER: 100_000}),
    draw=curves(),
)
K2 = claim(
    "K2",
    "Too great a max-KL is worse near the end",
    higher(last_tenth(500_000), "max-KL 0.01", "max-KL 1", PENDULUM),
    arms=by_limit(PENDULUM, ("0.01", "0.1", "1"), " --steps-per-update 5000"),
    full=Size(10, {PENDULUM: 500_000}),
    quick=Size(2, {PENDULUM: 100_000}),
    draw=curves(until=500_000),  # after a policy fails, an update requests too many episodes and overruns
)
CLAIMS = (
    S1,
    S1.and_also(
        "S2",
        "One update from 1,000 steps is worse than one from more",
        higher(AFTER[60], FIVE, FEW, REACHER),
        higher(AFTER[30], TEN, FEW, REACHER),
        higher(AFTER[15], MANY, FEW, REACHER),
        draw=curves("iteration", until=100),
        ghosts=author.table(author.AFTER_UPDATES),
    ),
    S3,
    S3.and_also(
        "S3b",
        "5,000 steps per update are best for Swimmer at the end",
        *(higher(last_tenth(2_000_000), FIVE, other, SWIMMER) for other in (FEW, TEN, MANY)),
    ),
    S1.and_also(
        "S4",
        "5,000 steps per update are best for Reacher at the end",
        *(higher(last_tenth(1_200_000), FIVE, other, REACHER) for other in (FEW, TEN, MANY)),
    ),
    S1.and_also(
        "S4b",
        "5,000 steps per update are best for Reacher over the whole run",
        *(higher(area(1_200_000), FIVE, other, REACHER) for other in (FEW, TEN, MANY)),
    ),
    claim(
        "K1",
        "A greater max-KL learns Reacher faster",
        higher(LATER, "max-KL 0.005", "max-KL 0.001", REACHER),
        higher(LATER, "max-KL 0.01", "max-KL 0.005", REACHER),
        arms=by_limit(REACHER, ("0.001", "0.005", "0.01")),
        full=Size(10, {REACHER: 600_000}),
        quick=Size(2, {REACHER: 300_000}),
        draw=curves(),
        ghosts=author.limits(),
    ),
    K2,
    K2.and_also(
        "K2b",
        "A max-KL of 0.1 is already too great near the end (our border)",
        higher(last_tenth(500_000), "max-KL 0.01", "max-KL 0.1", PENDULUM),
    ),
)
