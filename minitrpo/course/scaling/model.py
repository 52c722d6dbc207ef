"""Lecture 15: one iteration on P ranks, part by part: what the root does, what is shared, what waits for whom.

It begins with measurements on one machine, `Inputs`, which `load` reads from the file that `measure` writes.
`iteration` follows `training/synchronous.py: root_loop` in its order. Every number that it returns is simulated.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.block_sums import BLOCK, FAN
from minitrpo.course.machine import BUSY
from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.events import Playing, play
from minitrpo.course.scaling.formulas import Network
from minitrpo.critics import PARTS, MLPCritic
from minitrpo.errors import BadInput, shorten
from minitrpo.parallel.episode_pool import concurrency, requests_for
from minitrpo.policies import Array

CHECKOUT = Path(__file__).parents[3] / "notebooks" / "recorded"
RECORDED = (CHECKOUT if CHECKOUT.is_dir() else Path()) / "15_inputs.json"
SIDE_BY_SIDE = 16  # episodes that a rank plays in lockstep at most, by default
MOST_EPISODES = 4_000  # that are played event by event; of more, a part of the ranks plays its part
NODE = 64  # ranks of a machine
MINIBATCHES = 50  # of a pass of the critic, where all ranks share each: so there must be few
ROWS = 64  # of a minibatch, for which a rank is worth its message
CG_ITERATIONS = 10
EVERYWHERE = 2.5e-8  # seconds for each step of the batch, on every rank: mean, deviation, where rows lie


# --- what was measured


@dataclass(frozen=True)
class Line:
    """Seconds that grow with a number: `fixed` and `each` for every one."""

    fixed: float
    each: float

    def __call__(self, count: float) -> float:
        """Return the seconds of `count` of them."""
        return self.fixed + self.each * count


@dataclass(frozen=True)
class Task:
    """What one environment costs on one core. Numbers count steps, those of `tick` the episodes in play."""

    environment: str
    tick: Line  # one step of all episodes in play
    prepare: Line  # what a rank makes of its steps before they travel, packing included
    order: Line  # unpacking and sorting at the root
    rest: Line  # of an update: filter, report
    advantages: Line
    policy: Line  # its whole step: gradient, Fisher products, line search
    critic: Line  # its whole fit
    trials: float  # policies that a line search tries, on average
    parameters: int  # of the policy
    step_bytes: float  # that travel for each step
    shared_slowdown: float  # how many times as long a core takes when all cores of the machine are in use
    noise_scale: float  # steps; infinite where the batches were too small to see a signal
    lengths: Array  # of the last episodes, in steps


MEASURED_PARTS = [field.name for field in fields(Task) if field.type is Line]


@dataclass(frozen=True)
class Messages:
    """What messages cost among the ranks of one machine, in seconds."""

    network: Network
    draw: float  # from the pool's counter, while it serves no other rank
    exchange: float  # one iteration's messages with an empty payload: mostly waking up
    all_gather: float  # the shortest one, as the sharded learner sends hundreds of
    start: float  # until one rank may begin
    start_each: float  # and for each more, a core
    checkpoint: float


@dataclass(frozen=True)
class Inputs:
    """All of it, and where it comes from."""

    tasks: dict[str, Task]
    messages: Messages
    provenance: dict[str, Any]

    def task(self, environment: str) -> Task:
        """Return one environment's; BadInput if it was not measured."""
        if environment not in self.tasks:
            raise BadInput(
                f"--env {shorten(environment)} was not measured; there are {', '.join(self.tasks)}: "
                f"run scaling.py measure --env {shorten(environment)} first"
            )
        return self.tasks[environment]

    @property
    def origin(self) -> str:
        """Return in a few words where they come from, and whether their seconds are to be trusted."""
        made, share = self.provenance, self.provenance["busy_share_of_others"]
        busy = f", while others used {100 * share:.0f} % of the cores: do not trust the seconds" if share > BUSY else ""
        return f"measured on {made['cores']} cores, {made['machine'].partition(', ')[2]}, {made['date'][:10]}{busy}"


def load(path: Path) -> Inputs:
    """Return what `measure` wrote; BadInput if it did not."""
    try:
        content = json.loads(path.read_text("utf-8"))
        tasks = {name: task_of(measured) for name, measured in content["tasks"].items()}
        messages = content["messages"] | {"network": Network(*content["messages"]["network"])}
        return Inputs(tasks, Messages(**messages), content["provenance"])
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; run scaling.py measure first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not what scaling.py measure writes ({error!r}); measure again") from error


def task_of(measured: dict[str, Any]) -> Task:
    """Return what the file has of one environment."""
    lines = {part: Line(*measured[part]) for part in MEASURED_PARTS}
    return Task(**measured | lines | {"lengths": np.array(measured["lengths"])})


# --- what is simulated


@dataclass(frozen=True)
class Machine:
    """Where it runs: the network between ranks, and how many cores there are (None: one for each rank)."""

    network: Network
    cores: int | None = None
    failures: float = formulas.INFINITE  # seconds from one failure of a core to the next, on average
    exchange: float | None = None  # seconds of an iteration's short messages; None: by the network's latency


@dataclass(frozen=True)
class Design:
    """How the work is shared out. As the package does it: `Design()`, `Design("sharded")`."""

    learner: str = "root"  # or "sharded"
    pool: str = "dynamic"  # or "static"
    segments: bool = False  # in place of episodes, with MINIBATCHES minibatches: what can be set for many ranks
    # What the package does not have: samples stay on the rank that played them, and sums of theirs, and gathers, go by
    # a tree; NODE ranks share a counter, and get an equal share of the episodes.
    trees: bool = False


TODAY, MENDED = Design("sharded"), Design("sharded", trees=True)
DESIGNS = {"rank 0 learns alone": Design(), "sharded learner": TODAY, "tree sums, samples stay": MENDED}
COLUMNS = {"now": TODAY, "now, set for it": Design("sharded", segments=True)}  # of what breaks first


@dataclass(frozen=True)
class Iteration:
    """The seconds of one iteration, which add up to `seconds`."""

    broadcast: float
    ideal: float  # of playing, if it were distributed equally and in full lockstep
    narrow: float  # lost because few episodes on a rank fill its lockstep badly
    counter: float
    wait: float  # for the last rank
    prepare: float  # what travels, on the ranks that played it
    gather: float
    root: float  # what rank 0 does alone
    samples: float  # from rank 0 to all ranks that learn
    shared: float  # what the ranks that learn do
    sums: float  # messages between these
    critic: float  # what of its fit is not hidden

    @property
    def seconds(self) -> float:
        """Return all of it."""
        return sum(vars(self).values())


def iteration(
    inputs: Inputs, task: Task, machine: Machine, design: Design, ranks: int, steps: int, seed: int = 0
) -> Iteration:
    """Return the seconds of an update of about `steps` steps on P ranks; seed: of its episodes' lengths."""
    lengths, net = episodes_of(task, steps, seed), machine.network
    steps, crowd = int(lengths.sum()), crowding(task, machine, ranks)
    to_root, broadcast = bytes_to_root(task, design, len(lengths), steps), 0.0
    if ranks > 1:  # policy and plan, and a barrier that lets none go early
        short = machine.exchange or 4 * formulas.rounds(ranks) * net.latency
        broadcast = short + formulas.broadcast(net, ranks, 8 * task.parameters)
    arrives = formulas.gather(net, ranks, to_root, design.trees)
    return Iteration(
        broadcast=broadcast,
        **collecting(inputs.messages, task, machine, design, ranks, lengths),
        prepare=crowd * task.prepare.each * steps / ranks + task.prepare.fixed,
        gather=arrives + task.order(steps) * min(1.0, to_root / (steps * task.step_bytes)),
        samples=broadcasting(task, machine, design, ranks, steps),
        **learning(inputs.messages, task, machine, design, ranks, steps),
    )


def episodes_of(task: Task, steps: int, seed: int) -> Array:
    """Return the lengths of an update's episodes, drawn from those that were seen, (E,)."""
    count = requests_for(steps, float(np.mean(task.lengths)))
    return np.random.default_rng(seed).choice(task.lengths, count)


def crowding(task: Task, machine: Machine, ranks: int) -> float:
    """Return how many times as long a rank takes because others use the machine, or even its own core, too."""
    if machine.cores is None or ranks == 1:
        return 1.0 if ranks == 1 else task.shared_slowdown
    filled = min(1.0, (ranks - 1) / max(machine.cores - 1, 1))
    return (1 + filled * (task.shared_slowdown - 1)) * max(1.0, ranks / machine.cores)


def collecting(
    messages: Messages, task: Task, machine: Machine, design: Design, ranks: int, lengths: Array
) -> dict[str, float]:
    """Return the seconds of playing these episodes: ideal, and by what they are lost to."""
    crowd = crowding(task, machine, ranks)
    ideal = crowd * float(lengths.sum()) / ranks * task.tick(SIDE_BY_SIDE) / SIDE_BY_SIDE
    if design.segments:  # all ranks play as many steps
        return {"ideal": ideal, "narrow": 0.0, "counter": 0.0, "wait": 0.0}
    part = min(1.0, MOST_EPISODES / len(lengths))
    some, several = lengths[: max(1, round(part * len(lengths)))], max(1, round(part * ranks))
    load = (NODE / ranks if design.trees and ranks > NODE else 1.0) / part
    how = Playing(
        lambda count: crowd * task.tick(count),
        concurrency(len(lengths), ranks, SIDE_BY_SIDE),
        0.0 if ranks == 1 else messages.draw * load,
        0.0 if ranks == 1 else 2 * (1e-6 if design.trees else machine.network.latency),
    )
    # a rank that finds the pool empty at once has no effect; but all must learn that it is empty
    played = play(some, min(several, len(some)), how, design.pool == "static")
    mean, queued = float(played.played.sum()) / several, float(played.queued.sum()) / several
    last = 0.0 if design.pool == "static" else max(0.0, how.draw * several - played.makespan)
    wait = played.makespan + last - mean - (queued + last) + min(0.0, mean - ideal)
    return {"ideal": ideal, "narrow": max(0.0, mean - ideal), "counter": queued + last, "wait": wait}


def bytes_to_root(task: Task, design: Design, fragments: int, steps: int) -> float:
    """Return the bytes that go to the root: all samples, or of each episode its return."""
    return 8.0 * fragments if design.trees else steps * task.step_bytes


def broadcasting(task: Task, machine: Machine, design: Design, ranks: int, steps: int) -> float:
    """Return the seconds in which all ranks get the sorted samples from the root, if they learn with it."""
    if design.trees or design.learner == "root" or ranks == 1:
        return 0.0
    return formulas.broadcast(machine.network, ranks, steps * task.step_bytes)


def learning(
    messages: Messages, task: Task, machine: Machine, design: Design, ranks: int, steps: int
) -> dict[str, float]:
    """Return the seconds of an update's learning, by who does it: root, shared, sums, critic.

    With the sharded learner the last of the ranks, at most PARTS, fit the critic while the others step the policy.
    Where samples stay, all ranks do both, one after the other.
    """
    work, advantages, fit = task.policy(steps), task.advantages(steps), task.critic(steps)
    if design.learner == "root" or ranks == 1:
        return {"root": advantages + task.rest(steps), "shared": work, "sums": 0.0, "critic": fit}
    crowd, net, vectors = crowding(task, machine, ranks), machine.network, CG_ITERATIONS + 1
    if design.trees:
        added = vectors * formulas.tree_allreduce(net, ranks, 8 * task.parameters)
        added += task.trials * formulas.tree_allreduce(net, ranks, 16)
        own = crowd * (work + advantages) / ranks
        sharing = min(ranks, max(1, steps // (MINIBATCHES * ROWS)))
        fitted = crowd * fit / sharing
        fitted += MLPCritic(1).epochs * MINIBATCHES * formulas.tree_allreduce(net, sharing, 4 * task.parameters)
        return {"root": task.rest.fixed, "shared": own, "sums": added, "critic": fitted}
    # the critic, with a sum for each of its minibatches
    least = MLPCritic(1).minibatch
    minibatch = max(least, steps // MINIBATCHES) if design.segments else least
    fitters = min(ranks // 2, MLPCritic(1, minibatch=minibatch).parts)
    fitted = crowd * fit / fitters
    if fitters > 1:
        several = MLPCritic(1).epochs * -(-steps // minibatch)
        fitted += several * max(messages.all_gather, summed(net, fitters, 4 * task.parameters, max(PARTS, fitters)))
    # the policy's step
    count, steppers = -(-steps // BLOCK), ranks - fitters
    added = vectors * summed(net, steppers, 8 * task.parameters, count) if steppers > 1 else 0.0
    own = crowd * work * -(-count // min(steppers, count)) / count
    after = max(0.0, fitted - own - added)
    # each rank has a part of the advantages; all gather values, advantages and targets, and standardise for themselves
    added += formulas.all_gather(net, ranks, 20.0 * steps) + EVERYWHERE * steps
    own += crowd * advantages / ranks
    return {"root": task.rest(steps), "shared": own, "sums": added, "critic": after}


def summed(net: Network, ranks: int, size: float, count: int) -> float:
    """Return the seconds of a sum of `count` parts: few go to every rank; many to rank 0, which broadcasts the sum."""
    if count <= FAN:
        return formulas.all_gather(net, ranks, size * count)
    return formulas.gather(net, ranks, size * count) + formulas.broadcast(net, ranks, size)
