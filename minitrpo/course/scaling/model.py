"""Lecture 15: one iteration on P ranks, part by part: what the root does, what is shared, what waits for whom.

`iteration` follows `training/synchronous.py: root_loop` in its order. Every number that it returns is simulated.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from minitrpo.block_sums import BLOCK
from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.events import Playing, play, preempted
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import Inputs, Messages, Task
from minitrpo.critics import PARTS, MLPCritic
from minitrpo.parallel.episode_pool import concurrency, requests_for
from minitrpo.policies import Array

SIDE_BY_SIDE = 16  # episodes that a rank plays in lockstep at most, by default
CG_ITERATIONS = 10
MOST_EPISODES = 4_000  # that are played event by event; of more, a part of the ranks plays its part


@dataclass(frozen=True)
class Machine:
    """Where it runs: the network between ranks, and how many cores there are (None: one for each rank)."""

    network: Network
    cores: int | None = None
    failures: float = formulas.INFINITE  # seconds from one failure of a core to the next, on average
    slow: float = 0.0  # fraction of the ranks that take twice as long
    pauses: float = formulas.INFINITE  # seconds of a rank's work between two pauses of a second, on average
    exchange: float | None = None  # seconds of an iteration's short messages; None: by the network's latency


@dataclass(frozen=True)
class Design:
    """How the work is shared out. As the package does it: `Design()`, `Design(learner="sharded")`."""

    learner: str = "root"  # or "sharded"
    pool: str = "dynamic"  # or "static"
    gather: str = "root"  # one message after another, or "tree"
    sums: str = "parts"  # all ranks get all blocks' parts, or "tree": added on the way, in a fixed order
    counter: str = "one"  # for all ranks, or "node": one for NODE ranks, who get an equal share
    samples: str = "travel"  # to the root and back, or "stay": every rank keeps its own, and only sums leave it
    overlap: bool = False  # the critic is fitted while the next episodes are played


NODE = 64  # ranks of a machine
MINIBATCHES = 50  # of a pass of the critic, where samples stay: all ranks share each, so there must be few
ROWS = 64  # of one, for which a rank is worth its message
TODAY = Design("sharded", overlap=True)
MENDED = Design("sharded", "dynamic", "tree", "tree", "node", "stay")
DESIGNS = {
    "rank 0 learns alone": Design(),
    "sharded learner, as the package has it": TODAY,
    "sums in trees, samples stay where they are": MENDED,
}


@dataclass(frozen=True)
class Iteration:
    """The seconds of one iteration, which add up to `seconds`."""

    broadcast: float
    ideal: float  # of playing, were it dealt out evenly in full lockstep
    narrow: float  # lost because few episodes on a rank fill its lockstep badly
    counter: float
    wait: float  # for the last rank
    digest: float
    gather: float
    root: float  # what rank 0 does alone
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
    if design.overlap and ranks > 1:  # others play meanwhile what those would play who fit
        playing = ideal + narrow
        critic = max(0.0, critic - playing) + min(critic, playing) * min(ranks // 2, PARTS) / ranks
    stay = design.samples == "stay"
    travels = 8 * len(lengths) if stay else steps * task.step_bytes  # of each episode its return
    arrives = formulas.gather(machine.network, ranks, travels, design.gather == "tree")
    return Iteration(
        broadcast=messages(machine, ranks, 8 * task.parameters),
        ideal=ideal,
        narrow=narrow,
        counter=counter,
        wait=wait,
        digest=crowd * task.digest.each * steps / ranks + task.digest.fixed,
        gather=arrives + (0.0 if stay else task.order(steps)),
        root=alone,
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


def crowding(task: Task, machine: Machine, ranks: int) -> float:
    """Return how many times as long a rank takes because others use the machine, or even its own core, too."""
    if machine.cores is None or ranks == 1:
        return 1.0 if ranks == 1 else task.shared_slowdown
    filled = min(1.0, (ranks - 1) / max(machine.cores - 1, 1))
    return (1 + filled * (task.shared_slowdown - 1)) * max(1.0, ranks / machine.cores)


def collecting(
    messages: Messages, task: Task, machine: Machine, design: Design, ranks: int, lengths: Array
) -> tuple[float, float, float, float]:
    """Return (ideal, narrow, counter, wait): the seconds of playing these episodes, by what they are lost to."""
    crowd, side_by_side = crowding(task, machine, ranks), concurrency(len(lengths), ranks, SIDE_BY_SIDE)
    ideal = crowd * float(lengths.sum()) / ranks * task.tick(SIDE_BY_SIDE) / SIDE_BY_SIDE
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
    if machine.pauses < formulas.INFINITE:  # each rank of its own luck, known to none
        slow *= preempted(several, max(ideal, 1e-9), machine.pauses, 1.0, np.random.default_rng(ranks))
    busy = slow[:: max(1, several // len(some))][: len(some)]  # who finds the pool empty at once plays no part
    played = play(some, len(busy), how, design.pool == "static", busy)
    mean, queued = float(played.played.sum()) / several, float(played.queued.sum()) / several
    last = 0.0 if design.pool == "static" else how.draw * several - played.makespan  # all must hear that it is empty
    queued += max(0.0, last)
    wait = played.makespan + max(0.0, last) - mean - queued
    return ideal, max(0.0, mean - ideal), queued, wait + min(0.0, mean - ideal)


def learning(
    messages: Messages, task: Task, machine: Machine, design: Design, ranks: int, steps: int
) -> tuple[float, float, float, float]:
    """Return (alone, shared, sums, critic): the seconds of an update's learning, by who does it.

    With the sharded learner the last of the ranks, at most PARTS, fit the critic while the others step the policy.
    Where samples stay, all ranks do both, one after the other.
    """
    count = -(-steps // BLOCK)
    work = task.gradient(steps) + CG_ITERATIONS * task.product(steps) + task.trials * task.trial(steps)
    if design.learner == "root" or ranks == 1:
        return task.advantages(steps) + task.rest(steps), work, 0.0, task.critic(steps)
    crowd = crowding(task, replace(machine, cores=machine.cores or ranks), ranks)
    vectors, net = CG_ITERATIONS + 1, machine.network
    if design.samples == "stay":
        each = formulas.tree_allreduce(net, ranks, 8 * task.parameters)
        added = vectors * each + task.trials * formulas.tree_allreduce(net, ranks, 16)
        own = crowd * (work + task.advantages(steps)) / ranks
        sharing = min(ranks, max(1, steps // (MINIBATCHES * ROWS)))
        sums_of_fit = MLPCritic(1).epochs * MINIBATCHES * formulas.tree_allreduce(net, sharing, 4 * task.parameters)
        return task.rest.fixed, own, added, crowd * task.critic(steps) / sharing + sums_of_fit
    fitters = min(ranks // 2, PARTS)
    steppers = ranks - fitters
    fitted = crowd * task.critic(steps) / fitters + critic_sums(messages, machine, task, fitters, steps)
    each = formulas.all_gather(net, steppers, 8 * task.parameters * count)
    if design.sums == "tree":
        each = formulas.tree_allreduce(net, min(steppers, count), 8 * task.parameters)
    added = vectors * each if steppers > 1 else 0.0
    own = crowd * work * -(-count // min(steppers, count)) / count
    share = formulas.broadcast(net, ranks, steps * task.step_bytes)
    return task.advantages(steps) + task.rest(steps), own, share + added, max(0.0, fitted - own - added)


def critic_sums(messages: Messages, machine: Machine, task: Task, fitters: int, steps: int) -> float:
    """Return the seconds of the messages of a critic's fit: one all-gather for each of its minibatches."""
    if fitters == 1:
        return 0.0
    fit = MLPCritic(1)
    several = fit.epochs * -(-steps // fit.minibatch)
    one = max(messages.all_gather, formulas.all_gather(machine.network, fitters, 4 * PARTS * task.parameters))
    return several * one
