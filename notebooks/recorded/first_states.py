"""Record what lecture 14 shows of the number of first states: python notebooks/recorded/first_states.py.

Guided policy search on the puck, of which Riccati's recursion knows the least cost from everywhere: 32 episodes per
update, divided among 1, 2, 4, 8 or 16 first states, four updates, five seeds. Then the policy's mean actions are tried,
from its own first states and from 200 new ones. Writes 14_first_states.csv, a row per run: cost in parts of the least
possible, mean of its own, median of the new; the share of the new within 10 % of the least. Takes half a minute.
"""

from itertools import product

import numpy as np
from keep import Row, each, keep

from minitrpo.course import linear_quadratic as puck
from minitrpo.course.classroom import one_process
from minitrpo.policies import Array, Policy

EPISODES, UPDATES = 32, 4
NEW = np.random.default_rng(99).uniform(-1, 1, (200, 4))  # drawn as the environment draws them
SETTINGS = {"env": "minitrpo.course.linear_quadratic:LinearQuadratic-v0", "algorithm": "guided-policy-search"}
PRESET = {"horizon": puck.STEPS, "filter": "none", "initial_log_std": -1.0}


def over_best(policy: Policy, theta: Array, x: Array) -> Array:
    """Return the cost of the policy's mean actions from first states x (N, 4), in parts of the least possible."""
    least, paid = np.array([-puck.best_return(each) for each in x]), np.zeros(len(x))
    for _ in range(puck.STEPS):
        u = policy.mode(policy.distribution(theta, x))
        paid += np.sum((x @ puck.Q) * x, axis=1) + np.sum((u @ puck.R) * u, axis=1)
        x = x @ puck.A.T + u @ puck.B.T
    return np.asarray(paid / least)


def run(job: tuple[int, int]) -> list[Row]:
    """Learn from so many first states; return a row."""
    seed, number = job
    settings = {"seed": seed, "first_states": number, "samples": EPISODES // number}
    learner, worker = one_process(**SETTINGS, **PRESET, **settings)
    for _ in range(UPDATES):
        plan, request = learner.plan()
        worker.collector.refill()
        gathered = worker.collect(plan, request, checkpoint=False)
        learner.learn(gathered)
    policy, theta = learner.algorithm.policy, learner.algorithm.theta
    own, new = over_best(policy, theta, gathered.batch["X"][:number, 0]).mean(), over_best(policy, theta, NEW)
    found = {"own": own, "new_median": np.median(new), "new_within": np.mean(new < 1.1)}
    return [{"first_states": number, "seed": seed} | {name: round(float(x), 4) for name, x in found.items()}]


if __name__ == "__main__":
    keep("14_first_states", each(run, product(range(5), (1, 2, 4, 8, 16))), settings=SETTINGS | PRESET)
