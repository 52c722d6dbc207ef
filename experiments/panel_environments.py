"""The panel: environments that no preset names, half of them for choosing a default, half held out till the end.

Importing this module registers those that need a wrapper (a flat observation, one number for a reward, other units)
under the names panel/...; the others are typed as their makers call them. What is not Gymnasium's own comes from
minigrid, highway-env, flappy-bird-gymnasium, gym-pusht, pybullet, pybullet-envs-gymnasium, panda-gym and mo-gymnasium,
none of which is a dependency of minitrpo.
"""

import random
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import FlattenObservation, RescaleAction, TransformObservation, TransformReward

Env = gymnasium.Env[Any, Any]
CHOOSING, HELD_OUT = "choosing", "held-out"
DRAW = 47  # the seed of the halves: drawn once, before anything of ours was run on them


BOUNDS = "other bounds"
UNITS = (BOUNDS, "other rewards", "other observations")  # kinds of which only a unit is changed
SURVIVAL = "survival"  # a kind that was added when the default was seen to lose what it had learned: all for choosing


class Task(NamedTuple):
    """An environment, by its id, and how many steps are played in it."""

    name: str
    kind: str
    steps: int
    env: str

    @property
    def only_units(self) -> bool:
        """Return whether it is a known environment in which only a unit is changed.

        Such a task asks whether a system normalises what it sees and gets, not how well it learns.
        """
        return self.kind in UNITS

    @property
    def normalisable(self) -> bool:
        """Return whether VecNormalize changes the other unit: it scales rewards and observations, but no bounds."""
        return self.only_units and self.kind != BOUNDS


def one_number(env: Env) -> Env:
    """Return an environment of several objectives that are summed."""
    return import_module("mo_gymnasium.wrappers").LinearReward(env)  # type: ignore[no-any-return]


def seen_flat(env: Env) -> Env:
    """Return a grid world that shows the squares in front alone, as numbers in a row."""
    return FlattenObservation(import_module("minigrid.wrappers").ImgObsWrapper(env))


def in_units(env: Env, bounds: float = 1, rewards: float = 1, observations: float = 1) -> Env:
    """Return an environment whose bounds of actions, rewards or observations are multiplied by these factors."""
    if bounds != 1:
        space = env.action_space
        assert isinstance(space, Box)
        env = RescaleAction(env, space.low * np.float32(bounds), space.high * np.float32(bounds))
    if rewards != 1:
        env = TransformReward(env, lambda reward: rewards * float(reward))
    if observations != 1:
        space = env.observation_space
        assert isinstance(space, Box)
        assert space.dtype is not None
        other = Box(space.low * observations, space.high * observations, dtype=space.dtype.type)
        env = TransformObservation(env, lambda observation: observation * observations, other)
    return env


class Recipe(NamedTuple):
    """How an environment of the panel is made of a known one."""

    base: str
    limit: int | None  # of steps in an episode; None: it ends by itself
    change: Callable[[Env], Env] = lambda env: env
    options: dict[str, Any] = {}  # noqa: RUF012


RECIPES = {
    "FrozenLake": Recipe("FrozenLake-v1", 100, FlattenObservation),
    "CliffWalking": Recipe("CliffWalking-v1", 200, FlattenObservation),
    "Taxi": Recipe("Taxi-v4", 200, FlattenObservation),
    "Blackjack": Recipe("Blackjack-v1", None, FlattenObservation),
    "GridEmpty": Recipe("minigrid:MiniGrid-Empty-5x5-v0", None, seen_flat),
    "GridLavaGap": Recipe("minigrid:MiniGrid-LavaGapS5-v0", None, seen_flat),
    "GridObstacles": Recipe("minigrid:MiniGrid-Dynamic-Obstacles-5x5-v0", None, seen_flat),
    "FlappyBird": Recipe("flappy_bird_gymnasium:FlappyBird-v0", 1000, options={"use_lidar": False}),
    "Minecart": Recipe("mo_gymnasium:minecart-v0", 1000, one_number),
    "ReacherDiscrete": Recipe("mo_gymnasium:mo-reacher-v5", 50, one_number),
    "LaneKeeping": Recipe("highway_env:lane-keeping-v0", 200, FlattenObservation),
    "PandaReach": Recipe("panda_gym:PandaReachDense-v3", 50, FlattenObservation),
    "PendulumWideBounds": Recipe("Pendulum-v1", 200, partial(in_units, bounds=100)),
    "HalfCheetahNarrowBounds": Recipe("HalfCheetah-v5", 1000, partial(in_units, bounds=0.01)),
    "HopperSmallRewards": Recipe("Hopper-v5", 1000, partial(in_units, rewards=0.01)),
    "DoublePendulumLargeRewards": Recipe("InvertedDoublePendulum-v5", 1000, partial(in_units, rewards=100)),
    "ReacherLargeObservations": Recipe("Reacher-v5", 50, partial(in_units, observations=100)),
    "Walker2dSmallObservations": Recipe("Walker2d-v5", 1000, partial(in_units, observations=0.01)),
    "CartPoleLong": Recipe("CartPole-v1", 2000),
    "ReacherLong": Recipe("Reacher-v5", 500),
    "PendulumShort": Recipe("Pendulum-v1", 50),
    "HalfCheetahShort": Recipe("HalfCheetah-v5", 100),
    "PoleForce": Recipe("experiments.balancing:balancing/PoleWithForce-v0", 500),
    "PoleForceLong": Recipe("experiments.balancing:balancing/PoleWithForce-v0", 2000),
    "PoleForceUnits": Recipe(
        "experiments.balancing:balancing/PoleWithForce-v0",
        500,
        partial(in_units, bounds=10, rewards=0.01, observations=100),
    ),
    "InvertedPendulumLong": Recipe("InvertedPendulum-v5", 5000),
    "DoubleIntegrator": Recipe("experiments.balancing:balancing/DoubleIntegrator-v0", 1000),
    "HopperStanding": Recipe("Hopper-v5", 1000, options={"forward_reward_weight": 0.0}),
    "Walker2dStanding": Recipe("Walker2d-v5", 1000, options={"forward_reward_weight": 0.0}),
}
BULLET = "pybullet_envs_gymnasium:"

TASKS = {
    task.name: task
    for task in (
        Task("Acrobot", "classic control", 100_000, "Acrobot-v1"),
        Task("MountainCar", "classic control", 100_000, "MountainCar-v0"),
        Task("MountainCarContinuous", "classic control", 100_000, "MountainCarContinuous-v0"),
        Task("Pusher", "MuJoCo", 150_000, "Pusher-v5"),
        Task("InvertedPendulum", "MuJoCo", 50_000, "InvertedPendulum-v5"),
        Task("HumanoidStandup", "MuJoCo", 100_000, "HumanoidStandup-v5"),
        Task("LunarLander", "Box2D", 150_000, "LunarLander-v3"),
        Task("LunarLanderContinuous", "Box2D", 150_000, "LunarLanderContinuous-v3"),
        Task("BipedalWalker", "Box2D", 200_000, "BipedalWalker-v3"),
        Task("PushT", "continuous, of others", 100_000, "gym_pusht:gym_pusht/PushT-v0"),
        Task("HopperBullet", "continuous, of others", 100_000, f"{BULLET}HopperBulletEnv-v0"),
        Task("HalfCheetahBullet", "continuous, of others", 100_000, f"{BULLET}HalfCheetahBulletEnv-v0"),
        Task("ReacherBullet", "continuous, of others", 100_000, f"{BULLET}ReacherBulletEnv-v0"),
        Task("SwingupBullet", "continuous, of others", 100_000, f"{BULLET}InvertedPendulumSwingupBulletEnv-v0"),
        Task("DoublePendulumBullet", "continuous, of others", 100_000, f"{BULLET}InvertedDoublePendulumBulletEnv-v0"),
        *(
            Task(name, kind, steps, f"{__spec__.name if __spec__ else __name__}:panel/{name}-v0")
            for kind, some in {
                "toy text": {"FrozenLake": 50_000, "CliffWalking": 50_000, "Taxi": 150_000, "Blackjack": 50_000},
                "discrete, of others": {
                    "GridEmpty": 50_000,
                    "GridLavaGap": 100_000,
                    "GridObstacles": 100_000,
                    "FlappyBird": 100_000,
                    "Minecart": 100_000,
                    "ReacherDiscrete": 100_000,
                },
                "continuous, of others": {"LaneKeeping": 100_000, "PandaReach": 30_000},
                BOUNDS: {"PendulumWideBounds": 100_000, "HalfCheetahNarrowBounds": 100_000},
                "other rewards": {"HopperSmallRewards": 100_000, "DoublePendulumLargeRewards": 100_000},
                "other observations": {"ReacherLargeObservations": 100_000, "Walker2dSmallObservations": 100_000},
                "other limits": {
                    "CartPoleLong": 100_000,
                    "ReacherLong": 150_000,
                    "PendulumShort": 100_000,
                    "HalfCheetahShort": 100_000,
                },
                SURVIVAL: {
                    "PoleForce": 50_000,
                    "PoleForceLong": 100_000,
                    "PoleForceUnits": 50_000,
                    "InvertedPendulumLong": 50_000,
                    "DoubleIntegrator": 50_000,
                    "HopperStanding": 100_000,
                    "Walker2dStanding": 100_000,
                },
            }.items()
            for name, steps in some.items()
        ),
    )
}
KNOWN = ("Acrobot", "Pusher", "InvertedPendulum")  # looked at before the draw: for choosing


def build(name: str, **options: Any) -> Env:
    """Return an environment of the panel; its limit is that of its registered id."""
    recipe = RECIPES[name]
    options = {**recipe.options, **options}
    return recipe.change(gymnasium.make(recipe.base, max_episode_steps=-1, disable_env_checker=True, **options))


def drawn() -> dict[str, str]:
    """Return the half of each task: in each kind, half by lot, rounded up, are for choosing; of SURVIVAL all."""
    halves: dict[str, str] = {}
    for kind in dict.fromkeys(task.kind for task in TASKS.values()):
        names = [task.name for task in TASKS.values() if task.kind == kind]
        lots = sorted(set(names) - set(KNOWN))
        random.Random(f"{DRAW} {kind}").shuffle(lots)
        first = [*(name for name in names if name in KNOWN), *lots][: (len(names) + 1) // 2]
        halves |= {name: CHOOSING if name in first or kind == SURVIVAL else HELD_OUT for name in names}
    return halves


HALVES = drawn()

for _name, _recipe in RECIPES.items():
    if f"panel/{_name}-v0" not in gymnasium.registry:
        gymnasium.register(
            f"panel/{_name}-v0",
            entry_point="experiments.panel_environments:build",
            max_episode_steps=_recipe.limit,
            kwargs={"name": _name},
        )
