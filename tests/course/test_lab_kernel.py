"""What a kernel of `minitrpo lab` shows, also to a page that was closed while a cell ran and is opened again."""

import os
import re
import time

import pytest
from jupyter_client.manager import start_new_kernel

from minitrpo.course.lab.command import SETTINGS
from minitrpo.course.lab.kernel import RUN_AGAIN

CELL = "import time; time.sleep(2.2); done = True"


@pytest.fixture
def kernel():
    """Return a kernel as `minitrpo lab` starts it, to which CELL is one that takes long, and its first page."""
    environment = {**os.environ, "PYTHONSTARTUP": str(SETTINGS / "startup.py")}
    manager, page = start_new_kernel(kernel_name="python3", env=environment)
    page.execute_interactive(
        f"import minitrpo.course.lab.kernel as kernel; kernel.SLOW[kernel.key({CELL!r})] = 2", timeout=60
    )
    yield manager, page
    page.stop_channels()
    manager.shutdown_kernel(now=True)


def widgets(manager):
    """Return the values of all widgets, as a page gets them that is opened now."""
    page = manager.blocking_client()
    page.start_channels()
    page.wait_for_ready(timeout=60)
    common = {"comm_id": "opened-again"}
    opened = {**common, "target_name": "jupyter.widget.control", "data": {}}
    for kind, content in (("comm_open", opened), ("comm_msg", {**common, "data": {"method": "request_states"}})):
        page.shell_channel.send(page.session.msg(kind, content, metadata={"version": "1.0.0"}))
    states, until = None, time.monotonic() + 30
    while states is None and time.monotonic() < until:
        data = page.get_iopub_msg(timeout=30)["content"].get("data", {})
        states = data.get("states") if data.get("method") == "update_states" else None
    page.stop_channels()
    return [state["state"]["value"] for state in states.values() if "value" in state["state"]]


@pytest.mark.slow
def test_the_bar_of_a_cell_ends_also_for_a_page_that_was_closed_while_it_ran(kernel):
    manager, page = kernel
    page.execute(CELL)
    time.sleep(0.5)
    page.stop_channels()  # the browser is closed
    time.sleep(3)
    (value,) = widgets(manager)
    assert "<progress" not in value
    assert RUN_AGAIN in value


@pytest.mark.slow
def test_a_page_that_stays_open_sees_the_bar_move_and_then_the_time(kernel):
    _, page = kernel
    shown = []
    page.execute_interactive(CELL, timeout=60, output_hook=lambda message: shown.append(message))
    kinds = [message["msg_type"] for message in shown]
    moved = [m["content"]["data"]["state"]["value"] for m in shown if m["msg_type"] == "comm_msg"]
    assert sum("<progress" in value for value in moved) >= 2
    last = [m for m in shown if m["msg_type"] == "update_display_data"][-1]["content"]["data"]
    assert re.fullmatch(r"<small>[23] s</small>", last["text/html"]), kinds
