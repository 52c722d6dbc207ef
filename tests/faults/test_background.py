"""Work in the background: its result, or its error, and that it goes on meanwhile."""

import threading

import pytest

from minitrpo.parallel.background import in_background


def test_the_result_comes_when_it_is_asked_for():
    begun, may_end = threading.Event(), threading.Event()

    def work():
        begun.set()
        assert may_end.wait(20)
        return 7

    wait = in_background(work)
    assert begun.wait(20)
    may_end.set()
    assert wait() == 7
    assert wait() == 7


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_it_raises_is_raised_where_it_is_waited_for(error):
    def work():
        raise error

    wait = in_background(work)
    with pytest.raises(type(error)) as raised:
        wait()
    assert raised.value is error
