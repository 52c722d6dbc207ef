"""The registry: the algorithms by name, and how a user's own is found. A new one is a module and a line here."""

import importlib
import os
import sys
from typing import Any

from minitrpo.algorithms.interface import defect
from minitrpo.errors import BadInput, told

DEFAULT = "trpo"
ALGORITHMS = {
    "trpo": "minitrpo.algorithms.trpo:TRPO",
    "guided-policy-search": "minitrpo.algorithms.guided_policy_search:GuidedPolicySearch",
    "policy-gradient": "minitrpo.algorithms.gradient_pooling:PolicyGradient",
    "batch-ppo": "minitrpo.algorithms.batch_ppo:BatchPPO",
    "actor-critic": "minitrpo.algorithms.a2c:OnlineActorCritic",
    "a2c": "minitrpo.algorithms.a2c:A2C",
    "n-step-q": "minitrpo.algorithms.online_q_learning:NStepQ",
    "one-step-q": "minitrpo.algorithms.online_q_learning:OneStepQ",
    "sarsa": "minitrpo.algorithms.online_q_learning:OneStepSarsa",
    "async-n-step-q": "minitrpo.algorithms.async_q_learning:AsynchronousNStepQ",
    "async-one-step-q": "minitrpo.algorithms.async_q_learning:AsynchronousOneStepQ",
    "async-sarsa": "minitrpo.algorithms.async_q_learning:AsynchronousSarsa",
    "dqn": "minitrpo.algorithms.dqn:DQN",
    "naf": "minitrpo.algorithms.naf:NAF",
    "gorila": "minitrpo.algorithms.gorila:GorilaDQN",
    "a3c": "minitrpo.algorithms.a3c:A3C",
}


def load(name: str, taken: set[str]) -> Any:
    """Return the class of an algorithm, by its name or as module:Class; BadInput if it is none, and why.

    taken: settings and columns that every run has.
    """
    place = ALGORITHMS.get(name, name)
    module, _, attribute = place.partition(":")
    if not module or not attribute:
        known = ", ".join(ALGORITHMS)
        raise BadInput(f"unknown --algorithm {name!r}: there is {known}, or your own class as module:Class")
    namespace = _imported(module, name)
    try:
        if not hasattr(namespace, attribute):
            raise BadInput(f"--algorithm {name}: the module {module} ({_file_of(namespace)}) has no {attribute}")
        candidate = getattr(namespace, attribute)
        problem = defect(candidate, taken)
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # a class may raise whenever it is looked at
        raise BadInput(f"--algorithm {name}: {attribute} cannot be looked at: {told(error)}") from error
    if problem:
        raise BadInput(f"--algorithm {name}: {attribute} {problem}; see minitrpo/algorithms/interface.py")
    return candidate


def _imported(module: str, name: str) -> Any:
    if os.getcwd() not in sys.path:  # `mpiexec python script.py` looks beside the script, a user means "here"
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module of a user's fails in any way
        raise BadInput(
            f"--algorithm {name}: cannot import {module}: {told(error)}; python looks in {os.getcwd()}"
        ) from error


def _file_of(module: Any) -> str:
    return str(getattr(module, "__file__", "built in"))
