"""The loop without a barrier: workers pull, collect, push gradients; the server applies them in order of arrival.

`run` is the whole loop, whatever lies between workers and parameters: see `transports`. What a worker does is in
`workers`, what rank 0 counts in `monitor`, and what becomes of a gradient in `parallel.parameter_server`.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import TRANSPORTS, AsynchronousAlgorithm, Moment
from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.errors import BadInput
from minitrpo.experience.observation_filter import merged
from minitrpo.parallel.comm import Comm, flat
from minitrpo.parallel.parameter_server import TALLY, Arrival, ParameterServer, Rules
from minitrpo.parallel.timing import Timeline
from minitrpo.supervision.watchdog import status
from minitrpo.training.asynchronous.monitor import Monitor
from minitrpo.training.asynchronous.transports import Events, Server, Team, Transport, Window
from minitrpo.training.asynchronous.workers import (
    ITERATION,
    OVER,
    REPORT,
    SEEN,
    Worker,
    account,
    env_steps,
    report_applied,
    run_arrays,
)
from minitrpo.training.run_context import RunContext, make_algorithm
from minitrpo.training.run_log import RunLog, Show
from minitrpo.training.settings import Choice


def run(context: RunContext, comm: Comm, show: Show, keep_trace: bool = False) -> Timeline:
    """Run until the steps are used up.

    Every rank works, whether it has a core or not: it is a worker, and how many there are is part of the method.

    Args:
        context: the run, the same on every rank.
        comm: all ranks of the job.
        show: makes the root's display.
        keep_trace: whether the timeline keeps its spans.

    Returns:
        What this rank did when.

    """
    timeline = Timeline(comm, keep_trace)
    transport = make_transport(context, comm)
    team = make_team(context, transport, timeline)
    if comm.rank == 0:
        log = RunLog(context, timeline, show, comm.size, team.notes)
        try:
            monitor = Monitor(context, team.shared, log, transport)
            play(transport, comm, monitor.look)
            monitor.close()
        finally:
            log.display.close()
    else:
        play(transport, comm, lambda: None)
    comm.barrier()
    transport.close()
    return timeline


def play(transport: Transport, comm: Comm, look: Callable[[], None]) -> None:
    """Play this rank's part between the first checkpoint, which rank 0 has written, and the last gradient."""
    patience = 1e-3 if transport.numbers or transport.serves else 0.05  # seconds; a rank without work may sleep long
    comm.barrier(patience)
    transport.play(look)
    comm.barrier(patience)


def make_transport(context: RunContext, comm: Comm) -> Transport:
    """Return the transport of a run; one rank alone needs no server between itself and the parameters."""
    name = transport_of(context.choice, comm.one_machine(), comm.size)
    if name == "events":
        return Events(context, comm)
    if name == "server" and comm.size > 1:
        return Server(context, comm)
    return Window(context, comm)


def make_team(context: RunContext, transport: Transport, timeline: Timeline) -> Team:
    """Return this rank's workers, and its server if it has one, as the run begins or continues."""
    workers = [Worker(context, number, transport.workers, timeline) for number in transport.numbers]
    if not transport.serves:
        team = Team(workers)
    else:
        # the workers' algorithm also begins the parameters and applies the gradients
        if workers:
            algorithm, notes = workers[0].algorithm, workers[0].notes
        else:
            made = make_algorithm(context.choice, context.spec, None, timeline, workers=transport.workers)
            algorithm, notes = made[0], made[1].notes
        shared = transport.share(starting_arrays(context, algorithm, transport))
        team = Team(workers, make_server(context, shared, algorithm, timeline), notes)
    transport.begin(team)
    return team


def starting_arrays(context: RunContext, algorithm: AsynchronousAlgorithm, transport: Transport) -> Arrays:
    """Return the shared arrays with which a run begins or continues.

    Where it continues to the bit, every worker gets its counts back. Otherwise the number of workers may be another,
    and worker 0 gets what all had, so that nothing is lost; the clocks begin together.

    Args:
        context: the run, with its checkpoint.
        algorithm: has the arrays with which a new run begins.
        transport: how many workers there are, and whether the run continues to the bit.

    Returns:
        Arrays by name, the algorithm's and the run's.

    """
    shared = {name: np.array(array) for name, array in flat(algorithm.state()).items()}
    shared |= run_arrays(context.choice, context.spec, transport.workers)
    for name, array in shared.items() if context.checkpoint else ():
        saved = context.checkpoint[name]
        if transport.exact or not name.startswith(RUN_PREFIX) or name in (ITERATION, TALLY + "increments"):
            array[...] = saved
        elif name == SEEN:
            array[0] = merged(saved).to_vector()
        elif name not in (TALLY + "clocks", OVER):
            array[0] = saved.sum(axis=0)
    return shared


def make_server(
    context: RunContext, shared: Arrays, algorithm: AsynchronousAlgorithm, timeline: Timeline
) -> ParameterServer:
    """Return what decides about gradients, and has the algorithm apply them.

    Args:
        context: the run.
        shared: the shared arrays, which stay where they are in memory.
        algorithm: its `apply` changes them.
        timeline: this rank's clock.

    """
    options, columns = context.choice.algorithm_settings, context.choice.algorithm.columns

    def apply(shared: Arrays, gradient: Arrays, arrival: Arrival) -> bool:
        moment = Moment(arrival.version, env_steps(shared), arrival.staleness)
        with timeline.span("update"), status.at("apply"):
            answer = algorithm.apply(shared, gradient, moment)
        report_applied(shared[REPORT][arrival.worker], answer if isinstance(answer, dict) else {}, columns)
        return answer is not False

    return ParameterServer(shared, apply, Rules(options.max_staleness, options.max_lead), account)


def check(choice: Choice, ranks: int, working: int, one_machine: bool) -> list[str]:
    """Return the notes on a run before it begins; BadInput if the ranks cannot play it. All of them work."""
    transport = transport_of(choice, one_machine, ranks)
    if one_machine or choice.algorithm_settings.transport != "auto":
        return []
    return [f"note: the ranks are on several machines, which share no memory: --transport {transport}"]


def transport_of(choice: Choice, shares_memory: bool, ranks: int) -> str:
    """Return the transport of a run.

    Args:
        choice: the settings.
        shares_memory: whether all ranks do.
        ranks: how many there are.

    Returns:
        "window", "server" or "events".

    Raises:
        BadInput: it does not work here, or no rank would collect.

    """
    wanted, name = choice.algorithm_settings.transport, f"--algorithm {choice.common.algorithm}"
    allowed = choice.algorithm.transports
    if choice.common.record_every != 1:
        raise BadInput(f"--record-every: {name} writes a row every --steps-per-update steps, however many updates")
    if wanted == "auto":
        fits = (t for t in TRANSPORTS if t in allowed and (shares_memory or t != "window"))
        wanted = next(fits, "window")
    if wanted not in allowed:
        raise BadInput(f"--transport {wanted}: {name} works over {', '.join(allowed)}")
    if wanted == "window" and not shares_memory:
        raise BadInput("--transport window: the ranks are on several machines, which share no memory; use server")
    serving = int(wanted == "server" and ranks > 1)
    workers = choice.algorithm_settings.workers if wanted == "events" else ranks - serving
    learners = choice.algorithm.learners(choice.algorithm_settings, workers)
    if workers < 1 or learners >= workers:
        raise BadInput(
            f"of {max(ranks, workers)} ranks or workers {serving} serve and {learners} learn, so no rank collects: "
            "start more"
        )
    return str(wanted)
