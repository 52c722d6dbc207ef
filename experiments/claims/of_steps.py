"""How many steps an update needs, and how far it may go: the claims of the post's second half, before its rule."""

from typing import Any

from experiments.claims import author
from experiments.claims.claim import POST, claim
from experiments.claims.questions import area, higher, last_tenth, return_after, return_at
from experiments.harness import Arm, Size
from experiments.pictures import curves

REACHER, SWIMMER, PENDULUM = "Reacher-v5", "Swimmer-v5", "InvertedPendulum-v5"
FEW, FIVE, TEN, MANY = author.STEPS
NUMBERS = {FEW: 1_000, FIVE: 5_000, TEN: 10_000, MANY: 20_000}


def by_steps(env: str) -> tuple[Arm, ...]:
    """Return four numbers of steps per update, all else as the paper has it."""
    return tuple(Arm(name, env, f"--preset paper --steps-per-update {n}") for name, n in NUMBERS.items())


def by_limit(env: str, limits: tuple[str, ...], more: str) -> tuple[Arm, ...]:
    """Return some limits of the KL, all else as the paper has it."""
    return tuple(Arm(f"max-KL {limit}", env, f"--preset paper --max-kl {limit} {more}".strip()) for limit in limits)


BY_STEPS: dict[str, Any] = {"arms": by_steps(REACHER), "full": Size(10, {REACHER: 1_200_000})}
BY_STEPS |= {"quick": Size(3, {REACHER: 300_000})}
EARLY, LATER = return_at(100_000), return_at(300_000)
HEIGHTS = "Reacher-v1 began near -105, Reacher-v5 begins near -60: compare the order of curves, not their heights."
CLAIMS = (
    claim(
        name="S1",
        title="Fewer steps per update learn Reacher in fewer steps",
        source=POST,
        sentence="We can get faster convergence by reducing the steps/update.",
        **BY_STEPS,
        parts=(
            higher(EARLY, FEW, FIVE, REACHER),
            higher(EARLY, FIVE, TEN, REACHER),
            higher(EARLY, TEN, MANY, REACHER),
            higher(LATER, FEW, MANY, REACHER),
        ),
        draw=curves(),
        ghosts=author.table(author.AFTER_STEPS),
        note=HEIGHTS,
    ),
    claim(
        name="S2",
        title="One update from 1,000 steps is worse than one from more",
        source=POST,
        sentence="When comparing by the number of updates, rather than number of timesteps, we can see that using 1000 "
        "steps/update results in a noisy and sub-optimal update.",
        home="S1",
        **BY_STEPS,
        parts=(
            higher(return_after(60), FIVE, FEW, REACHER),
            higher(return_after(30), TEN, FEW, REACHER),
            higher(return_after(15), MANY, FEW, REACHER),
        ),
        draw=curves("iteration", until=100),
        ghosts=author.table(author.AFTER_UPDATES),
        note=HEIGHTS,
    ),
    claim(
        name="S3",
        title="1,000 steps per update are too few for Swimmer; 5,000 are best",
        source=POST,
        sentence="In Swimmer, we really get the worst case. There is so little data that the policy can barely improve "
        "at all, keeping the average reward down near 40. In both environments, 5,000 steps/update was the optimal "
        "parameter.",
        arms=by_steps(SWIMMER),
        full=Size(5, {SWIMMER: 2_000_000}),
        quick=Size(2, {SWIMMER: 100_000}),
        parts=tuple(higher(last_tenth(2_000_000), FIVE, other, SWIMMER) for other in (FEW, TEN, MANY)),
        draw=curves(),
        note="Frans's Swimmer-v1 after 4 million steps, two runs each: 1,500 steps 41 and 84; 5,000 steps 115 and 87; "
        "10,000 steps 114 and 92; 20,000 steps 61 and 88. Our runs have 2 million.",
    ),
    claim(
        name="S4",
        title="5,000 steps per update are best for Reacher",
        source=POST,
        sentence="In both environments, 5,000 steps/update was the optimal parameter, with both high speeds and very "
        "little variation.",
        home="S1",
        **BY_STEPS,
        parts=(
            higher(area(1_200_000), FIVE, TEN, REACHER),
            higher(area(1_200_000), FIVE, MANY, REACHER),
            higher(last_tenth(1_200_000), FIVE, FEW, REACHER),
        ),
        draw=curves(),
        ghosts=author.table(author.AFTER_STEPS),
    ),
    claim(
        name="K1",
        title="A greater max-KL learns Reacher faster",
        source=POST,
        sentence="A greater max KL means we converge faster!",
        arms=by_limit(REACHER, ("0.001", "0.005", "0.01"), ""),
        full=Size(10, {REACHER: 600_000}),
        quick=Size(3, {REACHER: 300_000}),
        parts=(
            higher(LATER, "max-KL 0.005", "max-KL 0.001", REACHER),
            higher(LATER, "max-KL 0.01", "max-KL 0.005", REACHER),
        ),
        draw=curves(),
        ghosts=author.limits(),
        note=HEIGHTS,
    ),
    claim(
        name="K2",
        title="Too great a max-KL is worse near the end",
        source=POST,
        sentence="Using too big of a max KL would not only have a chance to overshoot the optimal policy, but it would "
        "also make it harder to make the small and precise updates required when nearing convergence.",
        arms=by_limit(PENDULUM, ("0.01", "0.1", "1"), "--steps-per-update 5000"),
        full=Size(10, {PENDULUM: 500_000}),
        quick=Size(2, {PENDULUM: 100_000}),
        parts=(
            higher(last_tenth(500_000), "max-KL 0.01", "max-KL 0.1", PENDULUM),
            higher(last_tenth(500_000), "max-KL 0.01", "max-KL 1", PENDULUM),
        ),
        draw=curves(until=500_000),  # after a policy fails, an update requests too many episodes and overruns
    ),
)
