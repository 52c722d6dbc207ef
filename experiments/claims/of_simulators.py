"""Batch PPO with more simulators, and A3C against a method with replay: the claims of the blog and of the slides.

The simulators together collect 2,048 steps per update, as in the script that the blog used.
"""

from experiments.claims.claim import Claim, claim
from experiments.claims.questions import area, higher, sooner, steps_to_goal, trend
from experiments.harness import Arm, Size
from experiments.pictures import curves

CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"
MUJOCO = {"P3": "Hopper-v5", "P4": "HalfCheetah-v5", "P5": "Reacher-v5"}
NUMBERS = {f"{n} simulator{'s' * (n > 1)}": float(n) for n in (1, 2, 4, 8, 16)}
ONE, *OTHERS = NUMBERS
MOST, EVALUATION = OTHERS[-1], "evaluation "
FEWER = (ONE, "4 simulators", MOST)  # for the quick set


def by_simulators(env: str, schedule: int, every: int) -> tuple[Arm, ...]:
    """Return 1 to 16 simulators; step size and clip fall to 0 over `schedule` steps, however long a run is."""
    words = f"--algorithm batch-ppo --anneal-steps {schedule} --eval-every {every} --eval-episodes 20 --num-envs"
    return tuple(Arm(name, env, f"{words} {n:.0f}", 1) for name, n in NUMBERS.items())


def on_mujoco(name: str, env: str) -> Claim:
    """Return the same claim on a task of MuJoCo."""
    return claim(
        name,
        f"More simulators learn {env.partition('-')[0]} in fewer steps",
        *(trend(area(steps, EVALUATION), NUMBERS, env) for steps in (50_000, 200_000)),
        arms=by_simulators(env, 200_000, 10_000),
        full=Size(5, {env: 200_000}),
        quick=Size(2, {env: 50_000}, FEWER),
        draw=curves(y="eval_return"),
    )


CLAIMS = (
    claim(
        "P1",
        "More simulators learn CartPole in fewer steps",
        trend(area(20_000, EVALUATION), NUMBERS, CARTPOLE),
        sooner(steps_to_goal(475.0, 50_000), MOST, ONE, CARTPOLE),
        arms=by_simulators(CARTPOLE, 150_000, 2_000),
        full=Size(10, {CARTPOLE: 150_000}),
        quick=Size(3, {CARTPOLE: 50_000}, FEWER),
        draw=curves(y="eval_return", until=50_000),
    ),
    claim(
        "P2",
        "On Pendulum one simulator surpasses the others",
        *(higher(area(100_000, EVALUATION), ONE, other, PENDULUM) for other in OTHERS),
        arms=by_simulators(PENDULUM, 500_000, 10_000),
        full=Size(10, {PENDULUM: 150_000}),
        quick=Size(2, {PENDULUM: 100_000}, FEWER),
        draw=curves(y="eval_return", until=100_000),
    ),
    *(on_mujoco(name, env) for name, env in MUJOCO.items()),
    claim(
        "L1",
        "A3C needs many more samples than a method with a replay buffer",
        sooner(steps_to_goal(-250.0, 0), "NAF", "A3C", PENDULUM),
        arms=(
            Arm("A3C", PENDULUM, "--algorithm a3c --eval-every 10000 --eval-episodes 20", 2),
            Arm("NAF", PENDULUM, "--algorithm naf --eval-every 2000 --eval-episodes 20 --total-steps 50000", 2),
        ),
        full=Size(5, {PENDULUM: 1_000_000}),
        quick=Size(2, {PENDULUM: 200_000}),
        draw=curves(y="eval_return"),
    ),
)
