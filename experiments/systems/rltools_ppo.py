"""RLtools' PPO, C++ that is compiled for the environment before the first update; the simulators are Gymnasium's."""

import time
from typing import Any

import gymnasium
from rltools import PPO

from experiments.systems.times import Times
from minitrpo.experience.environments import without_mujoco_warnings


def train(work: Any) -> Times:
    """Train; one call of the library collects and updates, so all of it counts as collecting."""

    def environment() -> Any:
        with without_mujoco_warnings():
            env = gymnasium.wrappers.RescaleAction(gymnasium.make(work.env), -1, 1)
        env.reset(seed=0)
        return env

    compiled = PPO(
        environment,
        enable_evaluation=False,
        interface_name="minitrpo",
        STEP_LIMIT=work.updates,
        N_ENVIRONMENTS=work.num_envs,
        ON_POLICY_RUNNER_STEPS_PER_ENV=work.steps // work.num_envs,
        BATCH_SIZE=work.minibatch,
        N_EPOCHS=work.epochs,
        GAMMA=work.discount,
        LAMBDA=work.gae_lambda,
        EPSILON_CLIP=work.clip,
        INITIAL_ACTION_STD=1.0,
        ACTION_ENTROPY_COEFFICIENT=0.0,
        NORMALIZE_OBSERVATIONS=True,
        ACTOR_NUM_LAYERS=3,  # the linear one among them
        CRITIC_NUM_LAYERS=3,
        ACTOR_ACTIVATION_FUNCTION="TANH",
        CRITIC_ACTIVATION_FUNCTION="TANH",
        OPTIMIZER_ALPHA=work.step_size,
    )
    state = compiled.State(0)
    for _ in range(work.updates):
        begin = time.perf_counter()
        state.step()
        yield time.perf_counter() - begin, 0.0
