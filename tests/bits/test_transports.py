"""Which transport a run gets, and what cannot be had; that they count every gradient: every_call.py."""

import pytest

from minitrpo.errors import BadInput
from minitrpo.training.asynchronous import transport_of
from minitrpo.training.settings import chosen


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
