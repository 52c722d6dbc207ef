"""Lecture 15: the machine on which a run is imagined, and the ways in which its work can be shared out."""

from dataclasses import dataclass, replace

from minitrpo.course.scaling import formulas
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import Task


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
    counter: str = "one"  # for all ranks, or "node": one for NODE ranks, who get an equal share
    # of the sharded learner "straight": to those who need them, or "stay": every rank keeps its own, only sums leave it
    samples: str = "straight"
    segments: bool = False  # equal shares of steps, in place of whole episodes
    minibatches: int = 0  # of a pass of the critic; 0: as many as have 256 steps


NODE = 64  # ranks of a machine
MINIBATCHES = 50  # of a pass of the critic, where all ranks share each: so there must be few
TODAY = Design("sharded")
SET = replace(TODAY, segments=True, minibatches=MINIBATCHES)  # with what can be set already
MENDED = Design("sharded", "dynamic", "tree", "node", "stay")
COLUMNS = {"now": TODAY, "now, set for it": SET}  # of the table that says what breaks first
DESIGNS = {"rank 0 learns alone": Design(), "sharded learner": TODAY, "tree sums, samples stay": MENDED}


def crowding(task: Task, machine: Machine, ranks: int) -> float:
    """Return how many times as long a rank takes because others use the machine, or even its own core, too."""
    if machine.cores is None or ranks == 1:
        return 1.0 if ranks == 1 else task.shared_slowdown
    filled = min(1.0, (ranks - 1) / max(machine.cores - 1, 1))
    return (1 + filled * (task.shared_slowdown - 1)) * max(1.0, ranks / machine.cores)
