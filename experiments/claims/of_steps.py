"""How many steps an update needs, and how far it may go: the claims of the post's second half, before its rule."""

from experiments.claims import author
from experiments.claims.claim import claim
from experiments.claims.questions import area, higher, last_tenth, mean
from experiments.harness import Arm, Size
from experiments.pictures import curves

REACHER, SWIMMER, PENDULUM = "Reacher-v5", "Swimmer-v5", "InvertedPendulum-v5"
FEW, FIVE, TEN, MANY = author.STEPS
NUMBERS = {FEW: 1_000, FIVE: 5_000, TEN: 10_000, MANY: 20_000}
EARLY, LATER = (mean(f"return after {n:,} steps", n - 20_000, n) for n in (100_000, 300_000))
AFTER = {n: mean(f"return after {n} updates", n - 5, n, "iteration") for n in (15, 30, 60)}


def by_steps(env: str) -> tuple[Arm, ...]:
    """Return four numbers of steps per update, all else as the paper has it."""
    return tuple(Arm(name, env, f"--preset paper --steps-per-update {n}") for name, n in NUMBERS.items())


def by_limit(env: str, limits: tuple[str, ...], more: str = "") -> tuple[Arm, ...]:
    """Return some limits of the KL, all else as the paper has it."""
    return tuple(Arm(f"max-KL {limit}", env, f"--preset paper --max-kl {limit}{more}") for limit in limits)


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
    claim(
        "S3",
        "1,000 steps per update are too few for Swimmer; 5,000 are best",
        *(higher(last_tenth(2_000_000), FIVE, other, SWIMMER) for other in (FEW, TEN, MANY)),
        arms=by_steps(SWIMMER),
        full=Size(5, {SWIMMER: 2_000_000}),
        quick=Size(1, {SWIMMER: 100_000}),
        draw=curves(),
    ),
    S1.and_also(
        "S4",
        "5,000 steps per update are best for Reacher",
        higher(area(1_200_000), FIVE, TEN, REACHER),
        higher(area(1_200_000), FIVE, MANY, REACHER),
        higher(last_tenth(1_200_000), FIVE, FEW, REACHER),
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
    claim(
        "K2",
        "Too great a max-KL is worse near the end",
        higher(last_tenth(500_000), "max-KL 0.01", "max-KL 0.1", PENDULUM),
        higher(last_tenth(500_000), "max-KL 0.01", "max-KL 1", PENDULUM),
        arms=by_limit(PENDULUM, ("0.01", "0.1", "1"), " --steps-per-update 5000"),
        full=Size(10, {PENDULUM: 500_000}),
        quick=Size(2, {PENDULUM: 100_000}),
        draw=curves(until=500_000),  # after a policy fails, an update requests too many episodes and overruns
    ),
)
