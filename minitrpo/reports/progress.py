"""How a run shows itself: a bar on a terminal, a line every few seconds elsewhere."""

import math
import os
import sys
import time
from collections import deque
from typing import Any

from tqdm import tqdm

from minitrpo.parallel.timing import PHASES

EVERY = 2.0  # seconds between plain lines
RECENT = 50  # updates from which the time left is told: the first may begin slowly, later ones have longer episodes
NOTHING = "-"


class Progress:
    """The display of the root. `update` after every iteration, `note` for what must not be missed."""

    def __init__(self, mode: str, total_steps: int, done_steps: int, shown: tuple[str, ...] = ()) -> None:
        if mode == "auto":
            mode = "bar" if on_terminal() else "lines"
        self._mode, self._total = mode, total_steps
        self._last = -EVERY
        self._seen = deque([(time.perf_counter(), done_steps)], RECENT)  # when how many steps were done
        self._row: dict[str, Any] = {}
        self._known: dict[str, float] = {}  # the last of each column that was a number
        self._columns = shown  # of the algorithm's
        self._shown, self._said = True, set[str]()
        self._evaluated = ""  # the last evaluation
        self._bar = _bar(total_steps, done_steps) if mode == "bar" else None

    def update(self, row: dict[str, Any]) -> None:
        """Show an iteration."""
        self._row, self._shown = row, False
        self._seen.append((time.perf_counter(), row["env_steps"]))
        self._known |= {name: row[name] for name in ("mean_return", *self._columns) if not math.isnan(row[name])}
        if row.get("eval_return", "") != "":
            self._evaluated = f"| eval {short(row['eval_return'])} "
        if self._bar is not None:
            self._bar.update(min(row["env_steps"], self._total) - self._bar.n)
            self._bar.set_postfix_str(f"return {self._text('mean_return')} {self._evaluated}| {percentages(row)}")
        elif self._mode == "lines" and time.perf_counter() - self._last > EVERY:
            self._line()

    def note(self, text: str) -> None:
        """Print a line that stays; the same is said once."""
        if text in self._said:
            return
        self._said.add(text)
        if self._bar is not None:
            self._bar.write(text)
            sys.stdout.flush()
        else:
            print(text, flush=True)

    def close(self) -> None:
        """Show the last iteration if it was not, and leave the line."""
        if self._bar is not None:
            self._bar.close()
        elif self._mode == "lines" and not self._shown:
            self._line()

    def _line(self) -> None:
        row = self._row
        self._last, self._shown = time.perf_counter(), True
        (since, before), (now, steps) = self._seen[0], self._seen[-1]
        rate = (steps - before) / max(now - since, 1e-9)
        left = clock(max(0, self._total - steps) / rate) if rate > 0 else "?"
        own = "".join(f"| {name.replace('_', ' ')} {self._text(name)} " for name in self._columns)
        mean_return = short(self._known["mean_return"]) if "mean_return" in self._known else NOTHING
        print(
            f"update {row['iteration']:>4} | {steps:>9,} steps | return {mean_return:>9} "
            f"{self._evaluated}{own}| {rate:>7,.0f} steps/s | {left} left | {percentages(row)}",
            flush=True,
        )

    def _text(self, name: str) -> str:
        """Return the last number that a column had: an update in which no episode ended has no return of its own."""
        return format(self._known[name], ".4g") if name in self._known else NOTHING


def percentages(row: dict[str, Any]) -> str:
    """Return where the time of an iteration went, in per cent."""
    total = row["iteration_s"]
    return " ".join(f"{name} {100 * row[name + '_s'] / total:.0f}%" for name in PHASES)


def short(number: float) -> str:
    """Return a number with two decimals, or with three digits where it is very long."""
    return f"{number:.3g}" if abs(number) >= 1e9 else f"{number:.2f}"


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _bar(total_steps: int, done_steps: int) -> Any:
    """Return a progress bar as wide as the terminal; what does not fit is cut, the important things stand first."""
    shape = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{rate_fmt}, {remaining} left{postfix}]"
    size = {"ncols": terminal_width() - 1, "nrows": 24}  # nrows: tqdm shows nothing on a terminal without a size
    steps = {"total": total_steps, "initial": done_steps, "unit": " steps", "unit_scale": True}
    return tqdm(file=sys.stdout, bar_format=shape, **steps, **size)


def on_terminal() -> bool:
    """Return whether a person may be watching: stdout is a terminal. Under mpiexec it is a pipe."""
    return sys.stdout is not None and sys.stdout.isatty()


def terminal_width(unknown: int = 110) -> int:
    """Return the columns of the terminal at which a person watches."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or unknown
    except (OSError, ValueError):  # no terminal, or no file at all
        return unknown
