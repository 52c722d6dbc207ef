"""RLtools' PPO, C++ that is compiled for the environment before the first update; the simulators are Gymnasium's."""

import time
from typing import Any

import gymnasium
from rltools import PPO

from experiments.systems.workload import BatchWorkload, Times
from minitrpo.experience.environments import without_mujoco_warnings


def train(workload: BatchWorkload) -> Times:
    """Train; one call of the library collects and updates, so all of it counts as collecting."""

    def environment() -> Any:
        with without_mujoco_warnings():
            env = gymnasium.wrappers.RescaleAction(gymnasium.make(workload.env), -1, 1)
        env.reset(seed=0)
        return env

    compiled = PPO(
        environment,
        enable_evaluation=False,
        interface_name="minitrpo",
        STEP_LIMIT=workload.updates,
        N_ENVIRONMENTS=workload.num_envs,
        ON_POLICY_RUNNER_STEPS_PER_ENV=workload.steps // workload.num_envs,
        BATCH_SIZE=workload.minibatch,
        N_EPOCHS=workload.epochs,
        GAMMA=workload.discount,
        LAMBDA=workload.gae_lambda,
        EPSILON_CLIP=workload.clip,
        INITIAL_ACTION_STD=1.0,
        ACTION_ENTROPY_COEFFICIENT=0.0,
        NORMALIZE_OBSERVATIONS=True,
        ACTOR_NUM_LAYERS=3,  # the linear one among them
        CRITIC_NUM_LAYERS=3,
        ACTOR_ACTIVATION_FUNCTION="TANH",
        CRITIC_ACTIVATION_FUNCTION="TANH",
        OPTIMIZER_ALPHA=workload.step_size,
    )
    state = compiled.State(0)
    for _ in range(workload.updates):
        begin = time.perf_counter()
        state.step()
        yield time.perf_counter() - begin, 0.0
