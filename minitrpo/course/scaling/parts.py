"""Lecture 15: what each part of an update costs on one core: python -m minitrpo.course.scaling.parts ENV STEPS.

Prints JSON. Seconds are those in which this process computed (`time.process_time`): waiting for a core that others use
does not count, a cache that others fill does.
"""

import itertools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minitrpo.algorithms.samples import advantages_of as of_critic
from minitrpo.commands.command_line import parse
from minitrpo.course.scaling.formulas import noise_scale
from minitrpo.course.scaling.inputs import PARTS, fitted
from minitrpo.experience.environments import describe
from minitrpo.optimisers import initial_state, rmsprop
from minitrpo.parallel.comm import Comm, packed, unpacked
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.policy_gradient import policy_gradient
from minitrpo.returns import standardise
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags
from minitrpo.training.context import RunContext, make_algorithm
from minitrpo.training.gather import digested, in_episode_order
from minitrpo.training.synchronous import alone
from minitrpo.trpo import Batch, damped_fisher, objective, surrogate_gradient

Samples = defaultdict[str, dict[str, list[float]]]  # part -> number -> seconds
WIDTHS = (1, 2, 4, 8, 16)
PIECES = 16  # of a batch, whose gradients make the noise scale
FIRST = 4  # updates that are not counted
TICKS = 100  # in a measurement


class Stopwatch:
    """Seconds that this process computed, kept by part and number."""

    def __init__(self) -> None:
        self.samples: Samples = defaultdict(dict)

    def add(self, part: str, count: int, seconds: float) -> None:
        """Keep one measurement."""
        self.samples[part].setdefault(str(count), []).append(seconds)

    def time(self, part: str, count: int, work: Callable[[], Any], again: int = 1) -> Any:
        """Return what `work` returns, done `again` times, and keep the seconds of one."""
        began = time.process_time()
        for _ in range(again):
            result = work()
        self.add(part, count, (time.process_time() - began) / again)
        return result

    def rounded(self, part: str) -> dict[str, list[float]]:
        """Return a part's samples, those of about equal numbers together under their mean number.

        Whole episodes never make the same number of steps twice.
        """
        together: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        for count, values in self.samples[part].items():
            together[round(2 * np.log2(int(count)))] += [(float(count), value) for value in values]
        return {str(np.mean([c for c, _ in pairs])): [s for _, s in pairs] for pairs in together.values()}


class Updates:
    """A run of whole episodes on one rank, an update at a time, with a stopwatch on each part."""

    def __init__(self, environment: str, steps: int) -> None:
        job = {"env": environment, "preset": "episodes", "steps_per_update": steps, "total_steps": 10**9}
        choice, spec = parse(flags(job)).choice, describe(environment)
        self.timeline = Timeline(Comm(), keep=False)
        self.timeline.now = time.process_time  # type: ignore[method-assign] # its spans are of the same seconds
        self.algorithm, _ = make_algorithm(choice, spec, timeline=self.timeline)
        context = RunContext(choice, spec, RunFolder(Path("nowhere")), {})
        self.learner, self.rank = alone(context, self.algorithm)
        self.collector: Any = self.rank.collector
        self.lengths: list[int] = []
        self.trials: list[float] = []
        self.gradients: list[Array] = []
        self.step_bytes, self.root_bytes = 0.0, 0.0

    def update(self, watch: Stopwatch) -> None:
        """Play, digest, sort and learn, with a stopwatch."""
        theta = self.algorithm.theta.copy()
        plan, request = self.learner.plan()
        self.collector.refill()
        played = self.collector.collect(request)
        steps = sum(fragment.steps for fragment in played)
        buffer = watch.time("digest", steps, lambda: packed(digested(self.algorithm, plan, request, played)))
        gathered = watch.time("order", steps, lambda: in_episode_order([unpacked(buffer)]))
        spread = sum(gathered.batch[name].nbytes for name in self.algorithm.spread)
        samples = advantages_of(self.algorithm, gathered.batch)
        self.timeline.take()
        began = time.process_time()
        self.learner.learn(gathered)
        took, spans = time.process_time() - began, self.timeline.take()
        for part in ("advantages", "critic"):
            watch.add(part, steps, spans[part])
        watch.add("rest", steps, took - spans["advantages"] - spans["policy"] - spans["critic"])
        self._policy(watch, theta, samples)
        self.trials.append(float(self.learner.row()["line_search_steps"]))
        self.lengths = (self.lengths + gathered.fragments["lengths"].tolist())[-1000:]
        self.step_bytes, self.root_bytes = len(buffer) / steps, (len(buffer) - spread) / steps

    def _policy(self, watch: Stopwatch, theta: Array, batch: Batch) -> None:
        """Time gradient, Fisher products and trials apart, and keep the gradients of pieces of the batch."""
        policy, s, steps = self.algorithm.policy, self.algorithm.settings, len(batch.advantages)
        g = watch.time("gradient", steps, lambda: surrogate_gradient(policy, theta, batch))
        product = damped_fisher(policy, theta, batch, s.cg_damping, s.fisher_fraction)
        product(g)
        watch.time("product", steps, lambda: product(g), again=s.cg_iterations)
        evaluate, _ = objective(policy, theta, batch)
        watch.time("trial", steps, lambda: evaluate(theta))
        cut = np.linspace(0, steps, PIECES + 1).astype(int)
        rows = [slice(*each) for each in itertools.pairwise(cut.tolist())]
        o, a, advantages = batch.observations, batch.actions, batch.advantages
        self.gradients.append(np.array([policy_gradient(policy, theta, o[r], a[r], advantages[r]) for r in rows]))

    def ticks(self, watch: Stopwatch, seconds: float) -> None:
        """Time one step of all episodes in play, for several numbers of them; afterwards there are no more updates."""
        rollouts, theta, frozen = self.collector.rollouts, self.algorithm.theta, self.learner.filter
        for width in WIDTHS:
            rollouts.advance(theta, frozen, 0, range(width), width, TICKS)
            began, done = time.process_time(), 0
            while done < 5 or (time.process_time() - began < seconds and done < 40):
                some = time.process_time()
                rollouts.advance(theta, frozen, 0, range(width), width, TICKS)
                watch.add("tick", width, (time.process_time() - some) / TICKS)
                done += 1
        rollouts.envs.close()


def advantages_of(algorithm: Any, batch: dict[str, Array]) -> Batch:
    """Return what a step learns from, as the algorithm is about to make it."""
    s = algorithm.settings
    found = of_critic(algorithm.critic, algorithm.critic_state, batch, s.discount, s.gae_lambda)
    return Batch(batch["observations"], batch["actions"], standardise(found["advantages"]))


def of_parameters(size: int, again: int = 100) -> tuple[float, float]:
    """Return the seconds of an RMSProp step in place, as a parameter server takes it, and of a perturbation."""
    rng, watch = np.random.default_rng(0), Stopwatch()
    theta, gradient = rng.normal(size=size), rng.normal(size=size)
    state = initial_state("rmsprop", size, np.float64)
    for _ in range(10):
        watch.time("apply", size, lambda: np.subtract(theta, rmsprop(state, gradient, 1e-3, in_place=True)[1]), again)
        watch.time("noise", size, lambda: theta + 0.1 * rng.standard_normal(size), again)
    apply, noise = (float(np.median(watch.samples[part][str(size)])) for part in ("apply", "noise"))
    return apply, noise


def measure(environment: str, steps: int, updates: int) -> dict[str, Any]:
    """Return everything about one environment, as it is recorded; from updates of two sizes, the first not counted."""
    watch = Stopwatch()
    for size in (steps // 4, steps):
        run = Updates(environment, size)
        for number in range(FIRST + updates):
            run.update(watch if number >= FIRST else Stopwatch())
    run.ticks(watch, 0.4)
    noise = noise_scale(np.array(run.gradients[-updates:]), steps / PIECES)
    apply, perturb = of_parameters(len(run.algorithm.theta))
    return {part: fitted(watch.rounded(part)) for part in PARTS} | {
        "environment": environment,
        "apply": apply,
        "noise": perturb,
        "trials": float(np.mean(run.trials)),
        "parameters": len(run.algorithm.theta),
        "step_bytes": run.step_bytes,
        "root_bytes": run.root_bytes,
        "noise_scale": noise,
        "lengths": run.lengths,
    }


if __name__ == "__main__":
    with threadpool_limits(1):
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
