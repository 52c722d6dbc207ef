"""Record what lecture 14 shows of the number of first states: python notebooks/recorded/14_first_states.py.

Guided policy search on the puck, of which Riccati's recursion knows the least cost from everywhere: 32 episodes per
update, divided among 1, 2, 4, 8 or 16 first states, four updates, five seeds. After every update the policy's mean
actions are tried, from its own first states and from 200 new ones. Writes 14_first_states.csv (a row per update: cost
in parts of the least possible, mean of its own, median of the new; the share of the new within 10 % of the least) and
origins.json (what made it). Takes about a minute of one core; no number depends on how fast.
"""

from typing import Any

import numpy as np
from keep import keep

from minitrpo.course import linear_quadratic as puck
from minitrpo.course.classroom import one_process
from minitrpo.policies import Array, Policy
from minitrpo.run_folder.provenance import provenance

PUCK = "minitrpo.course.linear_quadratic:LinearQuadratic-v0"
SEEDS, NUMBERS, EPISODES, UPDATES = range(5), (1, 2, 4, 8, 16), 32, 4
NEW = np.random.default_rng(99).uniform(-1, 1, (200, 4))  # drawn as the environment draws them
SETTINGS = {"horizon": puck.STEPS, "filter": "none", "initial_log_std": -1.0}  # those of the preset


def over_best(policy: Policy, theta: Array, x: Array) -> Array:
    """Return the cost of the policy's mean actions from first states x (N, 4), in parts of the least possible."""
    least, paid = np.array([-puck.best_return(each) for each in x]), np.zeros(len(x))
    for _ in range(puck.STEPS):
        u = policy.mode(policy.distribution(theta, x))
        paid += np.sum((x @ puck.Q) * x, axis=1) + np.sum((u @ puck.R) * u, axis=1)
        x = x @ puck.A.T + u @ puck.B.T
    return np.asarray(paid / least)


def run(first_states: int, seed: int) -> list[dict[str, Any]]:
    """Learn from so many first states; return a row per update."""
    rows: list[dict[str, Any]] = []
    learner, worker = one_process(
        env=PUCK,
        algorithm="guided-policy-search",
        seed=seed,
        first_states=first_states,
        samples=EPISODES // first_states,
        **SETTINGS,
    )
    for update in range(1, UPDATES + 1):
        plan, request = learner.plan()
        worker.collector.refill()
        gathered = worker.collect(plan, request, checkpoint=False)
        learner.learn(gathered)
        policy, theta = learner.algorithm.policy, learner.algorithm.theta
        own = over_best(policy, theta, gathered.batch["X"][:first_states, 0]).mean()
        new = over_best(policy, theta, NEW)
        found = {"own": own, "new_median": np.median(new), "new_within": np.mean(new < 1.1)}
        head = {"first_states": first_states, "seed": seed, "update": update}
        rows.append(head | {name: round(float(number), 4) for name, number in found.items()})
    print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run all and write both files."""
    rows = [row for seed in SEEDS for number in NUMBERS for row in run(number, seed)]
    about = {**provenance(1), "env": PUCK, "episodes": EPISODES, "settings": SETTINGS}
    keep("14_first_states", rows, about)


if __name__ == "__main__":
    main()
