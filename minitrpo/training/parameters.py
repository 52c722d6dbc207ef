"""The server's side of an asynchronous run: the arrays that all share, and what becomes of a gradient."""

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous import AsynchronousAlgorithm, Moment
from minitrpo.errors import AlgorithmFailed
from minitrpo.parallel.parameter_server import Arrival, ParameterServer, Rules
from minitrpo.parallel.timing import Timeline
from minitrpo.supervision import status
from minitrpo.training.context import RunContext
from minitrpo.training.monitor import restored
from minitrpo.training.settings import Choice
from minitrpo.training.workers import PULLED, REPORT, account, env_steps, house_arrays, report_applied


def starting_arrays(context: RunContext, algorithm: AsynchronousAlgorithm, workers: int, exactly: bool) -> Arrays:
    """Return the shared arrays with which a run begins or goes on; `exactly`: see `restored`."""
    fresh = {name: np.array(array) for name, array in algorithm.state().items()}
    shared = fresh | house_arrays(context.choice, context.spec, workers)
    if context.checkpoint:
        restored(shared, context.checkpoint, exactly)
    return shared


def make_server(
    context: RunContext, shared: Arrays, algorithm: AsynchronousAlgorithm, timeline: Timeline
) -> ParameterServer:
    """Return what decides about gradients and has the algorithm apply them."""
    own, arrays = context.choice.own, dict(shared)
    columns = context.choice.algorithm.columns

    def apply(shared: Arrays, gradient: Arrays, arrival: Arrival) -> bool:
        moment = Moment(arrival.version, env_steps(shared), arrival.staleness)
        with timeline.span("update"), status.at("apply"):
            answer = algorithm.apply(shared, gradient, moment)
        if shared.keys() != arrays.keys() or any(shared[name] is not array for name, array in arrays.items()):
            raise AlgorithmFailed("apply() must change the shared arrays in place: shared[name][:] = ...")
        report_applied(shared[REPORT][arrival.worker], answer if isinstance(answer, dict) else {}, columns)
        return answer is not False

    return ParameterServer(shared, apply, Rules(own.max_staleness, own.max_lead), account)


def pulled_names(choice: Choice) -> tuple[str, ...]:
    """Return the names of all arrays that a worker pulls: the algorithm's and the house's."""
    return (*choice.algorithm.pulled, *PULLED)
