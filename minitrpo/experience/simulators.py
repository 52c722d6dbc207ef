"""Which simulators step an environment: MuJoCo's own batch where it has the id, Gymnasium's `step` elsewhere."""

from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.lanes import GymnasiumSimulators, Simulators


def simulators(spec: EnvironmentSpec, width: int, physics: str = "auto") -> Simulators:
    """Return simulators of `width` lanes; their numbers are the same to the bit with physics "auto" or "gymnasium"."""
    if physics == "auto" and not spec.discrete:
        from minitrpo.experience.batched import BatchedSimulators, supports  # brings MuJoCo along

        if supports(spec.id):
            return BatchedSimulators(spec, width)
    return GymnasiumSimulators(spec, width)
