"""Lecture 16: where every member of the family stands, by five questions; lecture 16 and experiments/family read it."""

from typing import NamedTuple


class Design(NamedTuple):
    """When a member learns, how ranks keep step, what travels, who learns, from what; and who described it."""

    when: str  # batch (thousands of steps) | every n steps (fewer) | every step
    sync: str  # barrier | asynchronous
    travels: str  # samples | gradients
    learns: str  # root | all ranks | server or shared memory
    data: str  # on-policy | off-policy, fresh | replay
    source: str


DESIGNS = {
    "trpo": Design(
        "batch", "barrier", "samples", "root or all", "on-policy", "Frans & Hafner 2016; Schulman et al. 2015"
    ),
    "guided-policy-search": Design(
        "batch", "barrier", "samples", "root or all", "on-policy, local models", "Montgomery & Levine 2016"
    ),
    "policy-gradient": Design(
        "batch", "barrier", "samples or gradients", "root or all", "on-policy", "Frans 2016; Williams 1992"
    ),
    "batch-ppo": Design("batch", "barrier", "samples", "root or two", "on-policy", "Schulman et al. 2017; ChainerRL"),
    "actor-critic": Design(
        "every step", "barrier", "samples", "root", "on-policy", "Sutton & Barto 2018, section 13.5"
    ),
    "a2c": Design("every n steps", "barrier", "samples", "root", "on-policy", "Mnih et al. 2016, with a barrier"),
    "n-step-q": Design(
        "every n steps", "barrier", "gradients", "root", "off-policy, fresh", "Mnih et al. 2016, with a barrier"
    ),
    "one-step-q": Design(
        "every n steps", "barrier", "gradients", "root", "off-policy, fresh", "Mnih et al. 2016, with a barrier"
    ),
    "sarsa": Design("every n steps", "barrier", "gradients", "root", "on-policy", "Mnih et al. 2016, with a barrier"),
    "async-n-step-q": Design(
        "every n steps", "asynchronous", "gradients", "shared memory or server", "off-policy, fresh", "Mnih et al. 2016"
    ),
    "async-one-step-q": Design(
        "every n steps", "asynchronous", "gradients", "shared memory or server", "off-policy, fresh", "Mnih et al. 2016"
    ),
    "async-sarsa": Design(
        "every n steps", "asynchronous", "gradients", "shared memory or server", "on-policy, late", "Mnih et al. 2016"
    ),
    "dqn": Design(
        "every n steps", "barrier", "samples", "root or all", "replay, shared or sharded", "Mnih et al. 2015"
    ),
    "naf": Design("every n steps", "barrier", "samples", "root or all", "replay, shared or sharded", "Gu et al. 2016"),
    "async-naf": Design(
        "every n steps",
        "asynchronous",
        "gradients",
        "own learners",
        "replay, spread over the collectors",
        "Gu et al. 2017",
    ),
    "gorila": Design(
        "every n steps",
        "asynchronous",
        "gradients",
        "shared memory or server",
        "replay of each worker",
        "Nair et al. 2015",
    ),
    "a3c": Design(
        "every n steps", "asynchronous", "gradients", "shared memory or server", "on-policy, late", "Mnih et al. 2016"
    ),
}
