"""What `minitrpo explain` says of healthy runs of every member, and of runs in which a fault was planted.

    python tests/tools/explained.py healthy RUNS 0-1    train runs of these seeds in the folder RUNS, but those there
    python tests/tools/explained.py faults RUNS 0-1
    python tests/tools/explained.py usual RUNS 0        write minitrpo/reports/usual.csv from these healthy runs
    python tests/tools/explained.py count RUNS 1        hits among the first two findings, and first findings if healthy
    python tests/tools/explained.py keep RUNS 1         record the first two findings of every run in experiments/data

With a last word `first` it is about one run of each fault and of each member alone, which takes minutes, not an hour.

Even seeds set the limits, odd ones test them.
"""

import csv
import datetime
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.wrappers import TransformObservation, TransformReward

import minitrpo
from minitrpo.algorithms.registry import ALGORITHMS, find
from minitrpo.reports import findings
from minitrpo.reports.explain import explain
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.job import seeds_of

sys.path[:0] = [str(Path(__file__).parents[2])]

from experiments import explained as recorded  # noqa: E402
from experiments import tables  # noqa: E402
from experiments.harness import machine_and_version  # noqa: E402

MANY, ENDING = ("CartPole-v1", "Pendulum-v1", "Reacher-v5"), ("CartPole-v1", "Acrobot-v1", "InvertedPendulum-v5")
BOX, LIMITED = ("Pendulum-v1", "Reacher-v5", "InvertedPendulum-v5"), ("Acrobot-v1", "Pendulum-v1", "Reacher-v5")
HEALTHY = {("Discrete",): ("CartPole-v1", "Acrobot-v1", "MountainCar-v0"), ("Box",): BOX}  # by actions; of both: MANY
STEPS = {"naf": 6_000, "async-naf": 6_000, "dqn": 15_000, "gorila": 15_000, "guided-policy-search": 12_000}


class Step(gymnasium.Wrapper):
    """An environment whose step is `change(self, action)`; `last` is the observation before, `did` the action."""

    def __init__(self, env, change, bound=0.0):
        super().__init__(env)
        self.change, self.drift = change, 0.0
        self.rng = np.random.default_rng(0)
        if bound:
            self.action_space = gymnasium.spaces.Box(-bound, bound, env.action_space.shape, np.float32)

    def reset(self, **seed):
        self.last, info = self.env.reset(**seed)
        self.did, self.steps = np.zeros_like(self.env.action_space.sample()), 0
        return self.last + self.drift, info

    def step(self, action):
        self.steps += 1
        return self.change(self, action)


def stale(self, action):
    before, (self.last, *rest) = self.last, self.env.step(action)
    return before, *rest


def delayed(self, action):
    action, self.did = self.did, action
    return self.env.step(action)


def drifting(self, action):
    self.drift += 0.05
    observation, *rest = self.env.step(action)
    return observation + self.drift, *rest


def rolling(self, action):
    observation, *rest = self.env.step(action)
    return observation + 1e-3 * self.rng.standard_normal(observation.shape), *rest


def slow(self, action):
    time.sleep(0.003)
    return self.env.step(action)


def answered(change):
    """Return a step after which `change` makes reward, terminated and truncated of what they were."""

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, *change(self, reward, terminated, truncated), info

    return lambda env: Step(env, step)


def bounded(most):
    return lambda env: Step(
        env, lambda s, a: s.env.step(np.clip(a, s.env.action_space.low, s.env.action_space.high)), most
    )


def seen(change):
    return lambda env: TransformObservation(env, change, env.observation_space)


def entries(observation, n, change):
    return np.concatenate([change(observation[:n]), observation[n:]])


def paid(change):
    return lambda env: TransformReward(env, change)


# Each fault: the finding that names it, or several of which one does, its tasks, and what is made of an environment or
# set
FAULTS = {
    "reward 1e4": ("reward", MANY, paid(lambda r: 1e4 * r)),
    "reward 1e-6": ("reward", MANY, paid(lambda r: 1e-6 * r)),
    "reward turned": ("sign early", MANY, paid(lambda r: -r)),
    "observations 1e-6": ("scale", MANY, seen(lambda o: 1e-6 * o)),
    "entry 1e6": ("scale", MANY, seen(lambda o: entries(o, 1, lambda part: 1e6 * part))),
    "constant entries": ("constant", MANY, seen(lambda o: entries(o, (len(o) + 1) // 2, lambda part: 0 * part + 3))),
    "observation drifts": ("chance", MANY, lambda env: Step(env, drifting)),
    "hidden dice": ("chance", MANY, lambda env: Step(env, rolling)),
    "stale observation": ("late", MANY, lambda env: Step(env, stale)),
    "delayed action": ("late", MANY, lambda env: Step(env, delayed)),
    "end as cut": ("cut", ENDING, answered(lambda s, r, end, cut: (r, False, end or cut))),
    "cut as end": ("end", LIMITED, answered(lambda s, r, end, cut: (r, end or cut, False))),
    "bounds 100": ("bounds", BOX, bounded(100.0)),
    "bounds infinite": ("bounds", BOX, bounded(np.inf)),
    "ends at once": ("short", ENDING, answered(lambda s, r, end, cut: (r, end or s.steps > 1, cut))),
    "unlearnable": ("deaf", MANY, answered(lambda s, r, end, cut: (s.np_random.standard_normal(), end, cut))),
    "solved": ("equal", MANY, answered(lambda s, r, end, cut: (1.0, False, s.steps >= 100))),
    "one event": ("event", MANY, answered(lambda s, r, *ends: (r - 1e5 * (s.np_random.random() < 0.002), *ends))),
    "slow": ("slow", MANY, lambda env: Step(env, slow)),
    "discount 0": ("discount", MANY, {"discount": 1e-6}),
    "discount 0.9999": ("discount", MANY, {"discount": 0.9999}),
    "max-KL 1e-6": ("max_kl", MANY, {"max_kl": 1e-6}),
    "max-KL 1": ("max_kl", MANY, {"max_kl": 1.0}),
    "step size x 10": ("step_size", MANY, {"step_size": 3e-3}),
    "64 steps an update": ("batch", MANY, {"steps_per_update": 64}),
    "critic does not learn": ("critic", MANY, {"critic_step_size": 1e-9}),
    "width 1": ("network", MANY, {"hidden": "1"}),
    "entropy gone": ("exploration", BOX, {"initial_log_std": -6.0}),
}


def planted(task, fault):
    """Return the id of a task with a fault, and what its runs are told."""
    *_, change = FAULTS[fault]
    if isinstance(change, dict):
        return task, change | ({"step_size": 1e-2} if "step_size" in change and task == "CartPole-v1" else {})
    name = f"{fault.title().replace(' ', '')}{task}".replace(".", "")
    if name not in gymnasium.registry:
        gymnasium.register(name, lambda: change(gymnasium.make(task, disable_env_checker=True)))
    return name, {}


def runs_of(place, seeds):
    """Yield of each run: its folder, the fault, what it is told."""
    for seed in seeds:
        for name in ALGORITHMS:
            tasks = HEALTHY.get(find(name).actions, MANY)
            for env in tasks:
                told = {"algorithm": name, "env": env, "total_steps": STEPS.get(name, 30_000)}
                yield place / f"healthy/{name}/{env}-{seed}", "", told | {"seed": seed}
        for fault, (_, tasks, change) in FAULTS.items():
            only = {"max_kl": ["trpo"], "step_size": ["batch-ppo"]}.get(
                next(iter(change)) if isinstance(change, dict) else ""
            )
            for name in only or ("trpo", "batch-ppo"):
                for task in tasks:
                    env, told = planted(task, fault)
                    steps = {"slow": 3_000, "64 steps an update": 6_000}.get(fault, 16_000)
                    told = told | {"algorithm": name, "env": env, "total_steps": steps, "seed": seed}
                    yield place / f"{fault.replace(' ', '_')}/{name}/{task}-{seed}", fault, told


def first_of_each(place, seeds):
    """Yield the first run of each fault, and of each member without one."""
    known = set()
    for out, fault, told in runs_of(place, seeds):
        what = fault or told["algorithm"]
        if what not in known:
            known.add(what)
            yield out, fault, told


CHOSEN = first_of_each if sys.argv[-1] == "first" else runs_of


def train(place, seeds, faults):
    for out, fault, told in CHOSEN(place, seeds):
        if bool(fault) == faults and not (out / "checkpoint.npz").exists():
            minitrpo.train(out=out, progress="none", checkpoint_every="100000", **told)


def explained(place, seeds, healthy=True):
    for out, fault, told in CHOSEN(place, seeds):
        if (out / "checkpoint.npz").exists() and (healthy or fault):
            yield fault, told, explain(RunFolder.open(str(out)))


def usual(place, seeds):
    table = {}
    for fault, told, said in explained(place, seeds):
        for name, value in said.numbers.items() if not fault else ():
            for member in (told["algorithm"], "all members"):
                table.setdefault((member, name), []).append(value)
    with findings.USUAL.open("w", newline="") as file:
        wanted = {name for kind in findings.KINDS.values() for name in kind.limits}
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["member", "number", "lowest", "median", "highest", "runs"])
        for (member, name), values in sorted(table.items()):
            if name in wanted and np.isfinite(values).any():
                rows.writerow(
                    [
                        member,
                        name,
                        *(f"{v:.4g}" for v in (np.nanmin(values), np.nanmedian(values), np.nanmax(values))),
                        len(values),
                    ]
                )


def count(place, seeds):
    hits, healthy = {}, Counter()
    for fault, told, said in explained(place, seeds):
        if fault:
            hits.setdefault(fault, []).append(bool({*FAULTS[fault][0].split()} & {*said.kinds[:2]}))
        else:
            healthy[(said.kinds or ["no fault found"])[0]] += 1
            print(told, said.found[:2])
    for fault, found in hits.items():
        print(f"{fault:24} {sum(found)} of {len(found)}")
    print(
        sum(map(sum, hits.values())),
        "of",
        sum(map(len, hits.values())),
        "hits; first findings of healthy runs:",
        healthy,
    )


MADE = ("healthy", "faults", "keep")  # the steps by which the recorded rows are made


def keep(place, seeds):
    """Record the first two findings of every run; docs/explain.md shows them."""
    rows = {column: [] for column in recorded.COLUMNS}
    for fault, told, said in explained(place, seeds):
        first, second = (*said.kinds[:2], "", "")[:2]
        names = FAULTS[fault][0] if fault else ""
        task = told["env"].removeprefix(fault.title().replace(" ", ""))  # planted faults are in the name of the task
        cells = (fault, names, told["algorithm"], task, told["seed"], first, second)
        for column, cell in zip(recorded.COLUMNS, cells, strict=True):
            rows[column].append(cell)
    machine, version = machine_and_version()
    made = {"experiment": "explained", "version": version, "date": f"{datetime.date.today()}"}
    chosen = " ".join(sys.argv[3:])
    command = "; ".join(f"python tests/tools/explained.py {step} RUNS {chosen}" for step in MADE)
    tables.add(recorded.FOLDER, made, command, machine, {"rows": rows})


if __name__ == "__main__":
    what, folder, numbers = sys.argv[1:4]
    WHAT = {
        "healthy": partial(train, faults=False),
        "faults": partial(train, faults=True),
        "usual": usual,
        "count": count,
        "keep": keep,
    }
    WHAT[what](Path(folder), seeds_of(numbers))
