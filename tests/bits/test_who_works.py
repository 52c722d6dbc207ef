"""Who works: one rank where steps are few and light, and as many slots as there are ranks."""

from dataclasses import replace

import pytest

from minitrpo.errors import BadInput
from minitrpo.training.context import check_ranks, meets_too_often
from minitrpo.training.settings import Settings


@pytest.mark.parametrize(
    ("env", "steps", "too_often"),
    [
        ("CartPole-v1", 128, True),
        ("CartPole-v1", 129, False),
        ("Reacher-v5", 80, False),
        ("CartPoleOfMyOwn", 80, False),
    ],
)
def test_only_few_and_light_steps_are_played_by_one_rank(env, steps, too_often):
    assert meets_too_often(replace(Settings(), env=env, steps_per_update=steps)) is too_often


def test_a_job_of_segments_needs_a_slot_for_every_rank():
    with pytest.raises(BadInput, match="--num-envs"):
        check_ranks(Settings(requests="segments", num_envs=2), 3)
    check_ranks(Settings(requests="segments", num_envs=3), 3)
    check_ranks(Settings(requests="episodes", num_envs=2), 3)
