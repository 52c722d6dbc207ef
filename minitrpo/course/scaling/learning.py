"""Lecture 15: what learning costs on P ranks: the samples' way to those who learn, their work, and their sums."""

from dataclasses import replace

from minitrpo.block_sums import BLOCK, FAN
from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.designs import MINIBATCHES, Design, Machine, crowding
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import Messages, Task
from minitrpo.critics import PARTS, MLPCritic

CG_ITERATIONS = 10
ROWS = 64  # of a minibatch, for which a rank is worth its message
EVERYWHERE = 2.5e-8  # seconds for each step of the batch, on every rank: mean, deviation, where rows lie


def travelling(
    task: Task, machine: Machine, design: Design, ranks: int, fragments: int, steps: int
) -> tuple[float, float]:
    """Return the bytes that go to the root, and the seconds in which those who learn get their samples.

    Straight, a fragment goes to the one or two ranks that step with it, to one that helps with its advantages, and to
    all who fit: these get all rows, and put them in order.
    """
    everything = steps * task.step_bytes
    if design.samples == "stay":
        return 8.0 * fragments, 0.0  # of each episode its return
    if design.learner == "root" or ranks == 1:
        return everything, 0.0
    rows, few = steps * (task.step_bytes - task.root_bytes), steps * task.root_bytes
    sent = (
        formulas.gather(machine.network, min(ranks, 4 * fragments), rows) + task.order.each * steps * rows / everything
    )
    return few, sent + formulas.broadcast(machine.network, ranks, few)


def minibatch_of(design: Design, steps: int) -> int:
    """Return the steps of a minibatch of the critic."""
    least = MLPCritic(1).minibatch
    return max(least, steps // design.minibatches) if design.minibatches else least


def fitters_of(design: Design, ranks: int, steps: int) -> int:
    """Return how many ranks fit the critic while the others step the policy."""
    return min(ranks // 2, MLPCritic(1, minibatch=minibatch_of(design, steps)).parts)


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
    fitters = fitters_of(design, ranks, steps)
    steppers = ranks - fitters
    fitted = crowd * task.critic(steps) / fitters + critic_sums(messages, machine, task, design, fitters, steps)
    each = summed(net, steppers, 8 * task.parameters, count)
    added = vectors * each if steppers > 1 else 0.0
    own = crowd * work * -(-count // min(steppers, count)) / count
    # each rank has a part of the advantages; all gather values, advantages and targets, and standardise for themselves
    after = max(0.0, fitted - own - added)
    added += formulas.all_gather(net, ranks, 20.0 * steps) + EVERYWHERE * steps
    return task.rest(steps), own + crowd * task.advantages(steps) / ranks, added, after


def summed(net: Network, ranks: int, size: float, count: int) -> float:
    """Return the seconds of a sum of `count` parts: few go to every rank; of more, FAN to one rank, and so on."""
    if count <= FAN:
        return formulas.all_gather(net, ranks, size * count)
    levels = 0
    while count > 1:
        count, levels = -(-count // FAN), levels + 1
    return levels * formulas.gather(net, min(FAN, ranks), FAN * size) + formulas.broadcast(net, ranks, size)


def critic_sums(messages: Messages, machine: Machine, task: Task, design: Design, fitters: int, steps: int) -> float:
    """Return the seconds of the messages of a critic's fit: a sum for each of its minibatches."""
    if fitters == 1:
        return 0.0
    several = MLPCritic(1).epochs * -(-steps // minibatch_of(design, steps))
    one = summed(machine.network, fitters, 4 * task.parameters, max(PARTS, fitters))
    return several * max(messages.all_gather, one)
