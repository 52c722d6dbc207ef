"""Lecture 15: one iteration on P ranks, part by part: what the root does, what is shared, what waits for whom.

`iteration` follows `training/synchronous.py: root_loop` in its order. Every number that it returns is simulated.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.designs import NODE, Design, Machine, crowding
from minitrpo.course.scaling.events import Playing, play, preempted
from minitrpo.course.scaling.inputs import Inputs, Messages, Task
from minitrpo.course.scaling.learning import learning, travelling
from minitrpo.parallel.episode_pool import concurrency, requests_for
from minitrpo.policies import Array

SIDE_BY_SIDE = 16  # episodes that a rank plays in lockstep at most, by default
MOST_EPISODES = 4_000  # that are played event by event; of more, a part of the ranks plays its part


@dataclass(frozen=True)
class Iteration:
    """The seconds of one iteration, which add up to `seconds`."""

    broadcast: float
    ideal: float  # of playing, if it were distributed equally and in full lockstep
    narrow: float  # lost because few episodes on a rank fill its lockstep badly
    counter: float
    wait: float  # for the last rank
    digest: float
    gather: float
    root: float  # what rank 0 does alone
    spread: float  # samples to those who learn
    shared: float  # what the ranks that learn do
    sums: float  # messages between these
    critic: float  # what of its fit is not hidden

    def parts(self) -> Iterator[tuple[str, float]]:
        """Yield (name, seconds)."""
        yield from vars(self).items()

    @property
    def seconds(self) -> float:
        """Return all of it."""
        return sum(vars(self).values())


def episodes_of(task: Task, steps: int, seed: int) -> Array:
    """Return the lengths of an update's episodes, drawn from those that were seen, (E,)."""
    count = requests_for(steps, float(np.mean(task.lengths)))
    return np.random.default_rng(seed).choice(task.lengths, count)


def iteration(
    inputs: Inputs, task: Task, machine: Machine, design: Design, ranks: int, steps: int, seed: int = 0
) -> Iteration:
    """Return the seconds of an update of about `steps` steps on P ranks; seed: of its episodes' lengths."""
    lengths = episodes_of(task, steps, seed)
    steps, crowd = int(lengths.sum()), crowding(task, machine, ranks)
    ideal, narrow, counter, wait = collecting(inputs.messages, task, machine, design, ranks, lengths)
    alone, shared, sums, critic = learning(inputs.messages, task, machine, design, ranks, steps)
    to_root, spread = travelling(task, machine, design, ranks, len(lengths), steps)
    arrives = formulas.gather(machine.network, ranks, to_root, design.gather == "tree")
    return Iteration(
        broadcast=messages(machine, ranks, 8 * task.parameters),
        ideal=ideal,
        narrow=narrow,
        counter=counter,
        wait=wait,
        digest=crowd * task.digest.each * steps / ranks + task.digest.fixed,
        gather=arrives + task.order(steps) * min(1.0, to_root / (steps * task.step_bytes)),
        root=alone,
        spread=spread,
        shared=shared,
        sums=sums,
        critic=critic,
    )


def messages(machine: Machine, ranks: int, theta_bytes: float) -> float:
    """Return the seconds in which policy and plan reach all ranks, and a barrier that lets none go early."""
    if ranks == 1:
        return 0.0
    short = machine.exchange or 4 * formulas.rounds(ranks) * machine.network.latency
    return short + formulas.broadcast(machine.network, ranks, theta_bytes)


def collecting(
    messages: Messages, task: Task, machine: Machine, design: Design, ranks: int, lengths: Array
) -> tuple[float, float, float, float]:
    """Return (ideal, narrow, counter, wait): the seconds of playing these episodes, by what they are lost to."""
    crowd, side_by_side = crowding(task, machine, ranks), concurrency(len(lengths), ranks, SIDE_BY_SIDE)
    ideal = crowd * float(lengths.sum()) / ranks * task.tick(SIDE_BY_SIDE) / SIDE_BY_SIDE
    if design.segments:  # all ranks play as many steps, and wait for the slowest
        return ideal, 0.0, 0.0, ideal if machine.slow else 0.0
    part = min(1.0, MOST_EPISODES / len(lengths))  # of the machine that is played event by event
    some, several = lengths[: max(1, round(part * len(lengths)))], max(1, round(part * ranks))
    load = (NODE / ranks if design.counter == "node" and ranks > NODE else 1.0) / part
    how = Playing(
        lambda count: crowd * task.tick(count),
        side_by_side,
        0.0 if ranks == 1 else messages.draw * load,
        0.0 if ranks == 1 else 2 * (machine.network.latency if design.counter == "one" else 1e-6),
    )
    slow = np.ones(several)
    slow[: round(machine.slow * several)] = 2.0
    if machine.pauses < formulas.INFINITE:  # at random times on each rank, known to no other
        slow *= preempted(several, max(ideal, 1e-9), machine.pauses, 1.0, np.random.default_rng(ranks))
    busy = slow[:: max(1, several // len(some))][: len(some)]  # a rank that finds the pool empty at once has no effect
    played = play(some, len(busy), how, design.pool == "static", busy)
    mean, queued = float(played.played.sum()) / several, float(played.queued.sum()) / several
    last = 0.0 if design.pool == "static" else how.draw * several - played.makespan  # all must learn that it is empty
    queued += max(0.0, last)
    wait = played.makespan + max(0.0, last) - mean - queued
    return ideal, max(0.0, mean - ideal), queued, wait + min(0.0, mean - ideal)
