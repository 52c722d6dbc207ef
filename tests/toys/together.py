"""Algorithms that look whether all ranks that learn together end every update with the same state."""

import hashlib

from minitrpo.algorithms.batch_ppo import BatchPPO
from minitrpo.algorithms.guided_policy_search.guided_policy_search import GuidedPolicySearch
from minitrpo.algorithms.policy_gradient import PolicyGradient
from minitrpo.algorithms.trpo import TRPO
from minitrpo.parallel.comm import flat


def looking(kind):
    """Return the algorithm with a column: how many different states its ranks have after an update."""

    def learn(self, batch, rng):
        columns = kind.learn(self, batch, rng)
        arrays = flat(self.state())
        prints = [hashlib.sha256(f"{name} {a.dtype} {a.shape}".encode() + a.tobytes()) for name, a in arrays.items()]
        states = self.context.comm.gather([of_array.hexdigest() for of_array in prints])
        assert len(states) == (self.context.comm.size if self.context.comm.rank == 0 else 0)
        return columns | {"states": len({tuple(state) for state in states})}

    return type(kind.__name__, (kind,), {"columns": (*kind.columns, "states"), "learn": learn})


Trust, PPO, Gradient, Guided = map(looking, (TRPO, BatchPPO, PolicyGradient, GuidedPolicySearch))
