"""Every member of the family trains, and goes on from a checkpoint as if nothing had happened; in one process each."""

import pytest
from runs import goes_on_to_the_bit

from minitrpo.algorithms.registry import ALGORITHMS

JOB = ("--hidden", "8", "--steps-per-update", "120", "--total-steps", "360", "--checkpoint-every", "1",
       "--record-every", "1")  # fmt: skip
BUFFER = ("--warm-up", "60", "--batch", "16", "--replay-size", "200")
MORE = {
    "guided-policy-search": ("--env", "Pendulum-v1", "--samples", "2", "--horizon", "20", "--first-states", "2"),
    "async-naf": ("--env", "Pendulum-v1", "--workers", "2", *BUFFER),
    "naf": ("--env", "Pendulum-v1", "--replay-ratio", "0.1", *BUFFER),
    "dqn": BUFFER,
    "gorila": BUFFER,
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_member_trains_and_goes_on_from_its_checkpoint_to_the_bit(name, tmp_path):
    words = ("--algorithm", name, "--env", "CartPole-v1", *JOB, *MORE.get(name, ()))
    words = (*words, *(("--transport", "events") if "gradients" in help_of(name) else ()))
    goes_on_to_the_bit(words, tmp_path)


def help_of(name):
    """Return what travels, of those without a barrier."""
    from minitrpo.training.settings import algorithm_of

    design = algorithm_of(name).design
    return design.travels if design.sync == "asynchronous" else ""
