"""In a kernel, cells and the messages of widgets take turns: two threads that draw at once spoil each other's pictures.

The kernel is a real one, driven as JupyterLab drives it: messages of widgets come over a subshell.
"""

import base64
import contextlib
import io
import queue
import time

import numpy as np
import pytest
from jupyter_client.manager import start_new_kernel
from PIL import Image

PRESSES = 6
BEGIN = """
import threading
from comm import get_comm_manager
from matplotlib import pyplot as plt
from minitrpo.course.classroom import reveal

drew = []

def picture(*_):
    drew.append(threading.current_thread() is threading.main_thread())
    _, axes = plt.subplots(3, 3)
    for axis in axes.flat:
        axis.plot(range(300))
    plt.show()

def opened(comm, message):
    comm.on_msg(lambda message: picture() if message["content"]["data"].get("draw") else None)

get_comm_manager().register_target("course", opened)
"""


class Browser:
    """What JupyterLab does for a notebook: it runs cells, presses buttons, and uses one subshell for its comms."""

    def __init__(self, client):
        self.client, self.pictures, self.button = client, [], None
        client.control_channel.send(client.session.msg("create_subshell_request", {}))
        self.subshell = client.get_control_msg(timeout=60)["content"]["subshell_id"]

    def run(self, code):
        """Run a cell, and wait for its end."""
        reply = self.client.execute(code, reply=True, timeout=60)
        assert reply["content"]["status"] == "ok", reply["content"]

    def comm(self, kind, **content):
        """Send a message of a widget over the subshell."""
        message = self.client.session.msg(kind, content)
        message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)

    def press(self):
        """Press the button that the kernel made last."""
        self.comm("comm_msg", comm_id=self.button, data={"method": "custom", "content": {"event": "click"}})

    def look(self, pictures):
        """Take what the kernel shows until there are so many pictures, and whatever it shows within 0.3 s more."""
        with contextlib.suppress(queue.Empty):
            while True:
                message = self.client.get_iopub_msg(timeout=60 if len(self.pictures) < pictures else 0.3)
                content = message["content"]
                if content.get("data", {}).get("state", {}).get("_model_name") == "ButtonModel":
                    self.button = content["comm_id"]
                if "image/png" in content.get("data", {}):
                    picture = Image.open(io.BytesIO(base64.b64decode(content["data"]["image/png"])))
                    self.pictures.append(int((np.asarray(picture.convert("RGB")) < 250).any(axis=2).sum()))


@pytest.fixture
def browser(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "lecture.ipynb")
    manager, client = start_new_kernel(startup_timeout=120)
    try:
        one = Browser(client)
        one.run(BEGIN)
        one.comm("comm_open", comm_id="front", target_name="course", data={})
        yield one
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_a_button_a_slider_and_a_cell_draw_whole_pictures_while_other_messages_come(browser):
    browser.run("picture()")
    browser.look(1)
    (whole,) = browser.pictures
    assert whole > 1000
    for press in range(1, PRESSES + 1):
        browser.run("reveal(None, picture)")
        browser.look(0)
        browser.press()
        for _ in range(60):
            browser.comm("comm_msg", comm_id="front", data={})
            time.sleep(0.005)
        browser.look(1 + press)
    assert browser.pictures == [whole] * (1 + PRESSES), "pressed"
    for _ in range(PRESSES):
        browser.comm("comm_msg", comm_id="front", data={"draw": True})
        browser.run("picture()")
    browser.look(1 + 3 * PRESSES)
    assert browser.pictures == [whole] * (1 + 3 * PRESSES), "a cell draws while a slider does"
    browser.run("assert set(drew) == {True, False}, 'two threads drew'")
