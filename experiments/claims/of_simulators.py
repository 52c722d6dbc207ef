"""Batch PPO with more simulators, and A3C against a method with replay: the claims of the blog and of the slides."""

from experiments.claims.claim import BLOG, SLIDES, Claim, claim
from experiments.claims.questions import area, higher, sooner, steps_to_goal, trend
from experiments.harness import Arm, Size
from experiments.pictures import curves

CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"
MUJOCO = {"P3": "Hopper-v5", "P4": "HalfCheetah-v5", "P5": "Reacher-v5"}
NUMBERS = {f"{n} simulator{'s' * (n > 1)}": float(n) for n in (1, 2, 4, 8, 16)}
ONE, *OTHERS = NUMBERS
MOST = OTHERS[-1]
FASTER = "As we increase the number of parallel simulators, the convergence speed becomes faster."
NOTE = "The simulators together collect 2,048 steps per update, as in the script that the blog used."


def by_simulators(env: str, schedule: int, every: int) -> tuple[Arm, ...]:
    """Return 1 to 16 simulators; step size and clip fall to 0 over `schedule` steps, however long a run is."""
    words = f"--algorithm batch-ppo --anneal-steps {schedule} --eval-every {every} --eval-episodes 20 --num-envs"
    return tuple(Arm(name, env, f"{words} {n:.0f}", 1) for name, n in NUMBERS.items())


def on_mujoco(name: str, env: str) -> Claim:
    """Return the same claim on a task of MuJoCo."""
    return claim(
        name=name,
        title=f"More simulators learn {env.partition('-')[0]} in fewer steps",
        source=BLOG,
        sentence=FASTER,
        arms=by_simulators(env, 200_000, 10_000),
        full=Size(5, {env: 200_000}),
        quick=Size(2, {env: 50_000}, (ONE, "4 simulators", MOST)),
        parts=(trend(area(50_000, "eval_return"), NUMBERS, env), trend(area(200_000, "eval_return"), NUMBERS, env)),
        draw=curves(y="eval_return"),
        note=NOTE,
    )


CLAIMS = (
    claim(
        name="P1",
        title="More simulators learn CartPole in fewer steps",
        source=BLOG,
        sentence="Here, we can see that training speed, in terms of environmental stepping, scales well with respect "
        "to the number of simulators.",
        arms=by_simulators(CARTPOLE, 150_000, 2_000),
        full=Size(10, {CARTPOLE: 150_000}),
        quick=Size(3, {CARTPOLE: 50_000}),
        parts=(
            trend(area(20_000, "eval_return"), NUMBERS, CARTPOLE),
            sooner(steps_to_goal(475.0, 50_000), MOST, ONE, CARTPOLE),
        ),
        draw=curves(y="eval_return", until=50_000),
        note=NOTE,
    ),
    claim(
        name="P2",
        title="On Pendulum one simulator surpasses the others",
        source=BLOG,
        sentence="However, there seems to be a problem in Pendulum-v0, where we can observe Sim-1 (nb. of processes = "
        "1) to surpass the performance of others.",
        arms=by_simulators(PENDULUM, 500_000, 10_000),
        full=Size(10, {PENDULUM: 150_000}),
        quick=Size(2, {PENDULUM: 100_000}),
        parts=tuple(higher(area(100_000, "eval_return"), ONE, other, PENDULUM) for other in OTHERS),
        draw=curves(y="eval_return", until=100_000),
        note=NOTE,
    ),
    *(on_mujoco(name, env) for name, env in MUJOCO.items()),
    claim(
        name="L1",
        title="A3C needs many more samples than a method with a replay buffer",
        source=SLIDES,
        sentence="Con: generally must slower in terms of # of samples. (A3C: 20,000,000 steps; DDPG: 1,000,000 steps.)",
        arms=(
            Arm("A3C", PENDULUM, "--algorithm a3c --eval-every 10000 --eval-episodes 20", 2),
            Arm("NAF", PENDULUM, "--algorithm naf --eval-every 2000 --eval-episodes 20 --total-steps 50000", 2),
        ),
        full=Size(5, {PENDULUM: 1_000_000}),
        quick=Size(2, {PENDULUM: 200_000}),
        parts=(sooner(steps_to_goal(-250.0, 0), "NAF", "A3C", PENDULUM),),
        draw=curves(y="eval_return"),
        note="NAF stands for DDPG: both learn a deterministic policy from a replay buffer. NAF is evaluated every "
        "2,000 steps and A3C every 10,000, so a median may be too high by as much.",
    ),
)
