"""The registry: the algorithms by name, and how a user's own is found. A new one is a module and a line here."""

import difflib
import importlib
import os
from typing import Any, NamedTuple

from minitrpo.errors import BadInput, describe_error
from minitrpo.experience.trust import GIVEN, imported

DEFAULT = "trpo"


class Entry(NamedTuple):
    """An algorithm of the package: where its class is, a run that takes a second or two, and how it is designed.

    Attributes:
        place: the class, as module:Class.
        trial: the options, besides --algorithm, of a short run that tests, tools and lectures play.
        when: when it learns: every batch (thousands of steps), every n steps (fewer), or every step.
        sync: how ranks keep step: by a barrier, or not at all (asynchronous).
        travels: what is sent: samples or gradients.
        learns: who computes the update: the root, all ranks, a server or shared memory.
        data: what it learns from: on-policy or off-policy, fresh or from a replay buffer.
        source: who described it.

    """

    place: str
    trial: str
    when: str
    sync: str
    travels: str
    learns: str
    data: str
    source: str


ALGORITHMS = {
    "trpo": Entry(
        "minitrpo.algorithms.trpo:TRPO",
        "--env CartPole-v1 --steps-per-update 300 --total-steps 1200",
        when="batch",
        sync="barrier",
        travels="samples",
        learns="root or all",
        data="on-policy",
        source="Frans & Hafner 2016; Schulman et al. 2015",
    ),
    "guided-policy-search": Entry(
        "minitrpo.algorithms.guided_policy_search.guided_policy_search:GuidedPolicySearch",
        "--env Pendulum-v1 --total-steps 1600 --samples 2 --horizon 20 --first-states 2",
        when="batch",
        sync="barrier",
        travels="samples",
        learns="root or all",
        data="on-policy, local models",
        source="Montgomery & Levine 2016",
    ),
    "policy-gradient": Entry(
        "minitrpo.algorithms.policy_gradient:PolicyGradient",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480",
        when="batch",
        sync="barrier",
        travels="samples or gradients",
        learns="root or all",
        data="on-policy",
        source="Frans 2016; Williams 1992",
    ),
    "batch-ppo": Entry(
        "minitrpo.algorithms.batch_ppo:BatchPPO",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --anneal-steps 480",
        when="batch",
        sync="barrier",
        travels="samples",
        learns="root or two",
        data="on-policy",
        source="Schulman et al. 2017; ChainerRL",
    ),
    "actor-critic": Entry(
        "minitrpo.algorithms.actor_critic:OnlineActorCritic",
        "--env CartPole-v1 --total-steps 480 --record-every 5 --anneal-steps 480",
        when="every step",
        sync="barrier",
        travels="samples",
        learns="root",
        data="on-policy",
        source="Sutton & Barto 2018, section 13.5",
    ),
    "a2c": Entry(
        "minitrpo.algorithms.actor_critic:A2C",
        "--env CartPole-v1 --total-steps 800 --anneal-steps 800",
        when="every n steps",
        sync="barrier",
        travels="samples",
        learns="root",
        data="on-policy",
        source="Mnih et al. 2016, with a barrier",
    ),
    "n-step-q": Entry(
        "minitrpo.algorithms.q_learning:NStepQ",
        "--env CartPole-v1 --total-steps 1024 --anneal-steps 1024",
        when="every n steps",
        sync="barrier",
        travels="gradients",
        learns="root",
        data="off-policy, fresh",
        source="Mnih et al. 2016, with a barrier",
    ),
    "one-step-q": Entry(
        "minitrpo.algorithms.q_learning:OneStepQ",
        "--env CartPole-v1 --total-steps 1024 --anneal-steps 1024",
        when="every n steps",
        sync="barrier",
        travels="gradients",
        learns="root",
        data="off-policy, fresh",
        source="Mnih et al. 2016, with a barrier",
    ),
    "sarsa": Entry(
        "minitrpo.algorithms.q_learning:OneStepSarsa",
        "--env CartPole-v1 --total-steps 1024",
        when="every n steps",
        sync="barrier",
        travels="gradients",
        learns="root",
        data="on-policy",
        source="Mnih et al. 2016, with a barrier",
    ),
    "async-n-step-q": Entry(
        "minitrpo.algorithms.q_learning:AsynchronousNStepQ",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --transport events --anneal-steps 480",
        when="every n steps",
        sync="asynchronous",
        travels="gradients",
        learns="shared memory or server",
        data="off-policy, fresh",
        source="Mnih et al. 2016",
    ),
    "async-one-step-q": Entry(
        "minitrpo.algorithms.q_learning:AsynchronousOneStepQ",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --transport events --anneal-steps 480",
        when="every n steps",
        sync="asynchronous",
        travels="gradients",
        learns="shared memory or server",
        data="off-policy, fresh",
        source="Mnih et al. 2016",
    ),
    "async-sarsa": Entry(
        "minitrpo.algorithms.q_learning:AsynchronousSarsa",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --transport events",
        when="every n steps",
        sync="asynchronous",
        travels="gradients",
        learns="shared memory or server",
        data="on-policy, late",
        source="Mnih et al. 2016",
    ),
    "dqn": Entry(
        "minitrpo.algorithms.off_policy.dqn:DQN",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --warm-up 60 --batch 16 --replay-size 200",
        when="every n steps",
        sync="barrier",
        travels="samples",
        learns="root or all",
        data="replay, shared or sharded",
        source="Mnih et al. 2015",
    ),
    "naf": Entry(
        "minitrpo.algorithms.off_policy.naf:NAF",
        "--env Pendulum-v1 --steps-per-update 120 --total-steps 480 --warm-up 60 --batch 16 "
        "--replay-size 200 --replay-ratio 0.1",
        when="every n steps",
        sync="barrier",
        travels="samples",
        learns="root or all",
        data="replay, shared or sharded",
        source="Gu et al. 2016",
    ),
    "async-naf": Entry(
        "minitrpo.algorithms.off_policy.naf:AsynchronousNAF",
        "--env Pendulum-v1 --steps-per-update 120 --total-steps 480 --warm-up 60 --batch 16 "
        "--replay-size 200 --transport events --workers 2",
        when="every n steps",
        sync="asynchronous",
        travels="gradients",
        learns="own learners",
        data="replay, spread over the collectors",
        source="Gu et al. 2017",
    ),
    "gorila": Entry(
        "minitrpo.algorithms.off_policy.gorila:GorilaDQN",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --warm-up 60 --batch 16 "
        "--replay-size 200 --transport events",
        when="every n steps",
        sync="asynchronous",
        travels="gradients",
        learns="shared memory or server",
        data="replay of each worker",
        source="Nair et al. 2015",
    ),
    "a3c": Entry(
        "minitrpo.algorithms.actor_critic:A3C",
        "--env CartPole-v1 --steps-per-update 120 --total-steps 480 --transport events --anneal-steps 480",
        when="every n steps",
        sync="asynchronous",
        travels="gradients",
        learns="shared memory or server",
        data="on-policy, late",
        source="Mnih et al. 2016",
    ),
}


# Modules of 0.3.0 that an algorithm of a user's own may import: what they are called since 1.0
MOVED = {
    f"minitrpo.{before}": f"minitrpo.{now}"
    for before, now in {
        "contract": "algorithms.user_classes",
        "algorithms.samples": "algorithms.shared_update",
        "algorithms.parallel_trpo": "algorithms.trpo",
        "algorithms.parallel_policy_gradient": "algorithms.policy_gradient",
        "algorithms.off_policy.bundles": "algorithms.off_policy.distributed_replay",
        "experience.modules": "experience.trust",
        "library": "python_api",
        "log_probability": "policy_gradient",
        "noise": "step_noise",
        "parallel.launcher": "parallel.this_process",
        "returns": "advantages",
        "reports.trained": "reports.trained_policy",
        "run_folder.checkpoint": "run_folder.folder",
        "run_folder.metrics_log": "run_folder.metrics_csv",
        "supervision.exit_codes": "supervision.program",
        "supervision.jobs": "supervision.mpiexec",
        "supervision.signals": "supervision.program",
        "supervision.status": "supervision.watchdog",
        "training.context": "training.run_context",
        "training.gather": "training.collect",
        "training.learner": "training.root",
    }.items()
}


def find(name: str) -> Any:
    """Return what stands under the name of an algorithm, or as module:Class; BadInput if there is nothing."""
    if name in GIVEN:
        return GIVEN[name]
    place = ALGORITHMS[name].place if name in ALGORITHMS else name
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
        if isinstance(error, ModuleNotFoundError) and error.name in MOVED:
            raise BadInput(
                f"--algorithm {name}: since 1.0 {error.name} is {MOVED[error.name]}: import it under this name"
            ) from error
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
