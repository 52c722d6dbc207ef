"""How a run shows itself: a bar on a terminal, its learning curve in a notebook, a line every few seconds elsewhere."""

import math
import shutil
import sys
import time
from collections import deque
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minitrpo.errors import BadInput
from minitrpo.parallel.timing import PHASES
from minitrpo.reports import plots
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import pip_install

EVERY = 2.0  # seconds between plain lines
RECENT = 50  # updates that predict the time left: the first may be slow, and later episodes are longer
BAR = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{rate_fmt}, {remaining} left{postfix}]"


def summary_writer() -> Any:
    """Return the class that writes for TensorBoard; BadInput if no package has one."""
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        with suppress(ImportError):
            return import_module(module).SummaryWriter
    raise BadInput(f"--log tensorboard needs what writes for it: {pip_install('tensorboardX')}")


class Progress:
    """The display of the root. `update` after every iteration, `note` for what must not be missed."""

    def __init__(
        self, mode: str, total_steps: int, done_steps: int, shown: tuple[str, ...] = (), board: Path | None = None
    ) -> None:
        """Begin to show a run.

        Args:
            mode: auto, bar, lines or none.
            total_steps: the environment steps after which the run ends.
            done_steps: those that it has taken already.
            shown: columns of the log that are shown in addition to the return.
            board: a folder for TensorBoard; None: nothing is written for it.

        """
        if mode == "auto":  # under mpiexec stdout is a pipe
            mode = "bar" if sys.stdout is not None and sys.stdout.isatty() else "lines"
        self._lines, self._last, self._line, self._said = mode == "lines", -EVERY, "", set[str]()
        self._seen = deque([(time.perf_counter(), done_steps)], RECENT)  # when how many steps were done
        self._names = {"mean_return": "return", "eval_return": "eval"} | {
            name: name.replace("_", " ") for name in shown
        }
        self._numbers = dict.fromkeys(("mean_return", *shown), "-")  # the last of each column that was one
        steps = {"total": total_steps, "initial": done_steps, "unit": " steps", "unit_scale": True}
        # nrows: tqdm shows nothing on a terminal without a size
        size = {"ncols": shutil.get_terminal_size((110, 24)).columns - 1, "nrows": 24}
        self._board: Any = summary_writer()(str(board), purge_step=done_steps + 1) if board else None
        self._bar: Any = tqdm(file=sys.stdout, disable=mode != "bar", bar_format=BAR, **steps, **size)

    def update(self, row: dict[str, Any]) -> None:
        """Show an iteration."""
        now, steps = time.perf_counter(), row["env_steps"]
        for name, value in row.items() if self._board else ():
            if value != "" and not isinstance(value, str) and not math.isnan(value):
                self._board.add_scalar(name, value, steps)
        self._seen.append((now, steps))
        for name in self._names:
            if row.get(name, "") != "" and not math.isnan(row[name]):
                self._numbers[name] = f"{row[name]:.5g}"
        parts = [f"{word} {self._numbers[name]}" for name, word in self._names.items() if name in self._numbers]
        seconds = [f"{name} {100 * row[name + '_s'] / row['iteration_s']:.0f}%" for name in PHASES]
        text = " | ".join([*parts, " ".join(seconds)])
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(min(steps, self._bar.total) - self._bar.n)
        since, before = self._seen[0]
        rate = (steps - before) / max(now - since, 1e-9)
        left = tqdm.format_interval(round(max(0, self._bar.total - steps) / rate)) if rate else "?"
        self._line = f"update {row['iteration']:>4} | {steps:>9,} steps | {rate:>7,.0f} steps/s | {left} left | {text}"
        if now - self._last > EVERY:
            self._last = now
            self._print()

    def note(self, text: str) -> None:
        """Print a line that stays; the same is said once."""
        if text not in self._said:
            self._said.add(text)
            with tqdm.external_write_mode(sys.stdout):
                print(text, flush=True)

    def close(self) -> None:
        """Show the last iteration if it was not, and leave the line."""
        if self._board:
            self._board.close()
        self._bar.close()
        self._print()

    def _print(self) -> None:
        """Print the line of the last iteration, once."""
        if self._lines and self._line:
            print(self._line, flush=True)
        self._line = ""


class LiveCurve:
    """The display of a run in a notebook: its learning curve, drawn again in place; the last picture stays."""

    def __init__(self, folder: RunFolder, total_steps: int) -> None:
        """Draw the curve as it is; total_steps: the environment steps after which the run ends."""
        from IPython.display import display

        self._folder, self._total_steps, self._next = folder, total_steps, 0.0
        self._show = display(self._picture(), display_id=True).update

    def update(self, row: dict[str, Any]) -> None:
        """Draw the curve again, at most every second, and with a tenth of the time at most."""
        if time.perf_counter() >= self._next:
            self.close()

    def note(self, text: str) -> None:
        """Print a line that stays."""
        print(text)

    def close(self) -> None:
        """Draw the curve as it is now."""
        began = time.perf_counter()
        self._show(self._picture())
        ended = time.perf_counter()
        self._next = ended + max(1.0, 10 * (ended - began))

    def _picture(self) -> Any:
        columns, drawn = self._folder.columns(), plots.picture(8, 3.6)
        axis = drawn.subplots()
        plots.draw_returns(axis, columns["env_steps"] / 1e3, plots.STEPS, columns)
        axis.set(xlim=(0, max(self._total_steps / 1e3, axis.get_xlim()[1])))
        drawn.suptitle(plots.title(self._folder.read_config(), columns["ranks"]))
        return drawn
