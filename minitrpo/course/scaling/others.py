"""Lecture 15: designs without a barrier, or without samples: parameter servers, and evolution strategies."""

from dataclasses import dataclass

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.designs import Machine
from minitrpo.course.scaling.events import Playing, play
from minitrpo.course.scaling.inputs import Task
from minitrpo.course.scaling.model import MOST_EPISODES, episodes_of

T_MAX = 20  # steps of a gradient (Mnih et al. 2016)


@dataclass(frozen=True)
class Served:
    """What a parameter server gets from its workers."""

    ranks: int
    shards: int
    steps: float  # a second
    limit: float  # of them, however many workers there are
    staleness: float  # updates by others between a worker's pull and its push, on average


def served(task: Task, machine: Machine, ranks: int, shards: int = 1) -> Served:
    """Return the rate of P workers that share a server in `shards` shards, on cores of their own.

    Among equal workers, each other worker pushes once, on average, between a pull and a push: P - 1 updates.
    """
    theta = 8 * task.parameters
    work = T_MAX * task.tick(1) + task.gradient(T_MAX) + 2 * machine.network.message(theta)
    turn = (task.apply + 2 * machine.network.per_byte * theta) / shards
    return Served(ranks, shards, T_MAX * formulas.finite_source(ranks, work, turn), T_MAX / turn, staleness=ranks - 1.0)


def evolution(task: Task, machine: Machine, ranks: int, episodes: int) -> float:
    """Return the seconds of a generation: P ranks play, gather all returns, and each adds its share of the noise.

    Every episode has a theta of its own, so none is played in lockstep. A return is a number: 8 bytes. The noise is
    drawn again from its seed; each rank sums P-th of it, and the sums are added (Salimans et al. 2017).
    """
    lengths = episodes_of(task, int(episodes * task.lengths.mean()), seed=0)
    part = min(1.0, MOST_EPISODES / len(lengths))
    some, several = lengths[: max(1, round(part * len(lengths)))], max(1, round(part * ranks))
    playing = play(some, several, Playing(lambda count: task.tick(1)), static=True).makespan
    gathered = formulas.all_gather(machine.network, ranks, 8 * len(lengths))
    summed = -(-len(lengths) // ranks) * 2 * task.noise  # once to play with, once to add
    return playing + gathered + summed + formulas.halving_allreduce(machine.network, ranks, 8 * task.parameters)


def lines(task: Task, machine: Machine, numbers: tuple[int, ...], episodes: int) -> list[str]:
    """Return both as text; every number in it is simulated."""
    found = ["  ranks  server: steps/s  in 16 shards  staleness  evolution: s a generation"]
    for ranks in numbers:
        one, several = served(task, machine, ranks), served(task, machine, ranks, 16)
        seconds = evolution(task, machine, ranks, episodes)
        found.append(f"{ranks:7,}  {one.steps:15,.0f}  {several.steps:12,.0f}  {one.staleness:9,.0f}  {seconds:26.4g}")
    return found
