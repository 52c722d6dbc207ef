"""What steps an environment: MuJoCo's own batch where it has the id, Gymnasium's `step` elsewhere."""

from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.vector_env import GymnasiumVectorEnv, VectorEnv


def make_vector_env(spec: EnvironmentSpec, width: int, physics: str = "auto") -> VectorEnv:
    """Return `width` copies of an environment; their bits are the same with physics "auto" and "gymnasium"."""
    if physics == "auto" and not spec.discrete:
        from minitrpo.experience.mujoco.vector_env import MujocoVectorEnv, supports  # brings MuJoCo along

        if supports(spec.id):
            return MujocoVectorEnv(spec, width)
    return GymnasiumVectorEnv(spec, width)
