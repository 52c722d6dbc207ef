"""What steps an environment: MuJoCo's own batch where it has the id, Gymnasium's `step` elsewhere."""

from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.vector_env import GymnasiumVectorEnv, VectorEnv


def make_vector_env(spec: EnvironmentSpec, num_envs: int, physics: str = "auto") -> VectorEnv:
    """Return `num_envs` copies of an environment; their bits are the same with physics "auto" and "gymnasium"."""
    if is_batched(spec, physics):
        from minitrpo.experience.mujoco.vector_env import MujocoVectorEnv

        return MujocoVectorEnv(spec, num_envs)
    return GymnasiumVectorEnv(spec, num_envs)


def is_batched(spec: EnvironmentSpec, physics: str) -> bool:
    """Return whether MuJoCo steps all copies in one call."""
    if physics != "auto" or spec.discrete:
        return False
    from minitrpo.experience.mujoco.vector_env import supports  # brings MuJoCo along

    return supports(spec.id)
