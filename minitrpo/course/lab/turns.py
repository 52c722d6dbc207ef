"""Cells and the messages of widgets take turns, whatever threads a Jupyter kernel runs them in.

JupyterLab may send what a button or a slider says to a subshell, which is a second thread of the kernel. After every
such message IPython shows and closes all open figures of pyplot, also one that another thread is drawing: its picture
is then white, or half of it is missing. With turns, a message waits until the cell or the message before it is over.
"""

import sys
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

MESSAGES = "comm_open", "comm_msg", "comm_close"


class Turns:
    """One lock for the cells of a kernel, which all run in its main thread, and for the messages of its widgets."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.cells = 0  # that run at the moment; a cell may run another one

    def begin_cell(self, *_: Any) -> None:
        """Wait until no message is being handled."""
        self.lock.acquire()
        self.cells += 1

    def end_cell(self, *_: Any) -> None:
        """Let messages be handled again; IPython calls this after it has shown the figures of the cell."""
        if self.cells:  # a cell with a syntax error ends without having begun
            self.cells -= 1
            self.lock.release()

    def of_messages(self, handle: Callable[..., Any]) -> Callable[..., Any]:
        """Return a kernel's handler of messages so that it waits until no other thread runs a cell or a handler."""

        @wraps(handle)
        def handle_in_turn(*arguments: Any) -> Any:
            with self.lock:
                return handle(*arguments)

        return handle_in_turn


@cache
def take_turns() -> None:
    """Let cells and messages of widgets take turns from the next cell on, if this process is a Jupyter kernel."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return
    turns = Turns()
    shell.events.register("pre_run_cell", turns.begin_cell)
    shell.events.register("post_run_cell", turns.end_cell)
    for kind in MESSAGES:
        kernel.shell_handlers[kind] = turns.of_messages(kernel.shell_handlers[kind])
