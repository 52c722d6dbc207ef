"""The registry: the algorithms by name, and how a user's own is found. A new one is a module and a line here."""

import difflib
import importlib
import os
from typing import Any

from minitrpo.errors import BadInput, describe_error
from minitrpo.experience.modules import GIVEN, imported

DEFAULT = "trpo"
ALGORITHMS = {
    "trpo": "minitrpo.algorithms.parallel_trpo:TRPO",
    "guided-policy-search": "minitrpo.algorithms.guided_policy_search.guided_policy_search:GuidedPolicySearch",
    "policy-gradient": "minitrpo.algorithms.parallel_policy_gradient:PolicyGradient",
    "batch-ppo": "minitrpo.algorithms.batch_ppo:BatchPPO",
    "actor-critic": "minitrpo.algorithms.actor_critic:OnlineActorCritic",
    "a2c": "minitrpo.algorithms.actor_critic:A2C",
    "n-step-q": "minitrpo.algorithms.q_learning:NStepQ",
    "one-step-q": "minitrpo.algorithms.q_learning:OneStepQ",
    "sarsa": "minitrpo.algorithms.q_learning:OneStepSarsa",
    "async-n-step-q": "minitrpo.algorithms.q_learning:AsynchronousNStepQ",
    "async-one-step-q": "minitrpo.algorithms.q_learning:AsynchronousOneStepQ",
    "async-sarsa": "minitrpo.algorithms.q_learning:AsynchronousSarsa",
    "dqn": "minitrpo.algorithms.off_policy.dqn:DQN",
    "naf": "minitrpo.algorithms.off_policy.naf:NAF",
    "async-naf": "minitrpo.algorithms.off_policy.naf:AsynchronousNAF",
    "gorila": "minitrpo.algorithms.off_policy.gorila:GorilaDQN",
    "a3c": "minitrpo.algorithms.actor_critic:A3C",
}


def find(name: str) -> Any:
    """Return what stands under the name of an algorithm, or as module:Class; BadInput if there is nothing."""
    if name in GIVEN:
        return GIVEN[name]
    place = ALGORITHMS.get(name, name)
    module, _, attribute = place.partition(":")
    if not module or not attribute:
        meant = " or ".join(difflib.get_close_matches(name.lower(), ALGORITHMS, cutoff=0.5))
        known = f"did you mean {meant}? There is" if meant else "there is"
        raise BadInput(
            f"unknown --algorithm {name!r}: {known} {', '.join(ALGORITHMS)}, or your own class as module:Class"
        )
    try:
        namespace = importlib.import_module(module) if name in ALGORITHMS else imported(name, "--algorithm")
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module of a user's fails in any way
        raise BadInput(
            f"--algorithm {name}: cannot import {module}: {describe_error(error)}; Python looks in {os.getcwd()}"
        ) from error
    if not hasattr(namespace, attribute):
        where = getattr(namespace, "__file__", "built in")
        raise BadInput(f"--algorithm {name}: the module {module} ({where}) has no {attribute}")
    return getattr(namespace, attribute)


def taking(kind: str) -> list[str]:
    """Return the algorithms that take actions of this kind, Box or Discrete."""
    return [name for name in ALGORITHMS if kind in find(name).actions]


def actions_of_all() -> str:
    """Return which algorithms take which actions, in a sentence."""
    box, discrete = taking("Box"), taking("Discrete")
    box_alone = ", ".join(name for name in box if name not in discrete)
    discrete_alone = ", ".join(name for name in discrete if name not in box)
    return f"Actions: {box_alone}: only Box; {discrete_alone}: only Discrete; the others: both."
