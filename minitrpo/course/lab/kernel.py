"""What `minitrpo lab` lets every kernel do: a bar for a cell that takes long, and the way back after a NameError."""

import hashlib
import json
import threading
import time
from types import TracebackType
from typing import Any

from IPython import get_ipython
from IPython.display import HTML, display

from minitrpo.course import NOTEBOOKS

COME_BACK = "Is it the name of a cell above? After a restart: Run > Run All Above Selected Cell."
RUN_AGAIN = "The cell has ended. What it showed while this page was closed is lost: run the cell again to see it."


class Bar:
    """How long a cell has been running, and how long it took when the course was built.

    It is a widget, whose value a page that is opened again asks the kernel for. What the kernel displays while no page
    is open is lost, and other outputs stay as they were saved: a bar of plain HTML would stand still for ever.
    """

    def __init__(self, seconds: int) -> None:
        import ipywidgets

        self.seconds, self.begun, self.over = seconds, time.monotonic(), threading.Event()
        self.widget = ipywidgets.HTML(self.shown())
        self.place = display(self.widget, display_id=True)
        self.thread = threading.Thread(target=self.move, daemon=True)
        self.thread.start()

    def spent(self) -> int:
        """Return the seconds since it began."""
        return round(time.monotonic() - self.begun)

    def shown(self) -> str:
        """Return the bar as HTML."""
        bar = f'<progress max="{self.seconds}" value="{self.spent()}"></progress>'
        return f"{bar} {self.spent()} s of about {self.seconds} s (on two idle cores)"

    def move(self) -> None:
        """Go on until the cell is over."""
        while not self.over.wait(1.0):
            self.widget.value = self.shown()

    def end(self) -> None:
        """Leave the time that it took; only a page that was closed meanwhile still has the widget."""
        self.over.set()
        self.thread.join()
        self.widget.value = f"<small>{self.spent()} s. {RUN_AGAIN}</small>"
        self.place.update(HTML(f"<small>{self.spent()} s</small>"))


_bars: list[Bar] = []


def before(info: Any) -> None:
    """Show a bar if the cell that begins took long when the course was built."""
    seconds = SLOW.get(key(info.raw_cell or ""))
    if seconds is not None:
        _bars.append(Bar(seconds))


def after(result: Any) -> None:
    """End the bar of the cell that has ended."""
    while _bars:
        _bars.pop().end()


def slow() -> dict[str, int]:
    """Return {key of a cell: the seconds it took}, of cells that took long."""
    path = NOTEBOOKS / "recorded" / "seconds.json"
    lectures = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {name: seconds for cells in lectures.values() for name, seconds in cells.items()}


def key(text: str) -> str:
    """Return what a cell is called in seconds.json, whatever stands before and behind it."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def on_name_error(shell: Any, kind: type[NameError], error: NameError, trace: TracebackType, tb_offset: Any) -> None:
    """Show the traceback, and the way back where the cell itself, no function, misses the name."""
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    while trace.tb_next:
        trace = trace.tb_next
    if trace.tb_frame.f_code.co_name == "<module>":
        print(COME_BACK)


SLOW, SHELL = slow(), get_ipython()
if SHELL is not None:
    SHELL.events.register("pre_run_cell", before)
    SHELL.events.register("post_run_cell", after)
    SHELL.set_custom_exc((NameError,), on_name_error)
