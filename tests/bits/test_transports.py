"""Which transport a run gets, which ranks work, and what cannot be had; that gradients are counted: every_call.py."""

from dataclasses import replace

import pytest

from minitrpo.errors import BadInput
from minitrpo.training.asynchronous import transport_of
from minitrpo.training.context import check_ranks, meets_too_often
from minitrpo.training.settings import Settings, chosen


@pytest.mark.parametrize(
    ("algorithm", "own", "shares_memory", "transport"),
    [
        ("a3c", {}, True, "window"),
        ("a3c", {}, False, "server"),
        ("a3c", {"servers": 2}, True, "server"),
        ("gorila", {}, True, "window"),
        ("gorila", {"servers": 2}, True, "server"),
        ("a3c", {"transport": "server"}, True, "server"),
        ("a3c", {"transport": "events"}, False, "events"),
    ],
)
def test_auto_is_the_window_where_all_share_memory_and_nobody_is_asked_to_serve(
    algorithm, own, shares_memory, transport
):
    choice = chosen({"env": "CartPole-v1", "algorithm": algorithm, **own})
    assert transport_of(choice, shares_memory, 4) == transport


@pytest.mark.parametrize(
    ("own", "shares_memory", "ranks"),
    [
        ({"transport": "window"}, False, 4),
        ({"transport": "window", "servers": 2}, True, 4),
        ({"transport": "server", "servers": 2}, True, 2),
        ({"learners": 2, "algorithm": "gorila"}, True, 2),
    ],
)
def test_a_transport_that_cannot_be_had_is_one_line(own, shares_memory, ranks):
    choice = chosen({"env": "CartPole-v1", "algorithm": "a3c", **own})
    with pytest.raises(BadInput) as raised:
        transport_of(choice, shares_memory, ranks)
    assert "\n" not in str(raised.value)


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
