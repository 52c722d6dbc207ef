"""Running a program on several ranks, from a notebook or from a check: this process itself never starts MPI."""

import faulthandler
import json
import os
import pickle
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minitrpo.course.mpi.explain import Finding, explain, findings_of_failure, oddities, stuck
from minitrpo.course.mpi.program import Program
from minitrpo.course.mpi.record import Call, Message, Record, State
from minitrpo.errors import BadInput
from minitrpo.supervision import watchdog
from minitrpo.supervision.mpiexec import command, environment

RECORDER = Path(__file__).with_name("recorder.py")
MOST_RANKS = 32
LOOK_S = 0.05  # how often the launching process reads what the ranks have written
CERTAIN_S = 2.0  # all ranks wait so long, and no call can end: a deadlock before the time limit
ENDING_S = 5.0  # for MPI_Finalize, once all ranks have come to the end of the program
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class MpiResult:
    """What came of a program on several ranks; `ok` if all ranks came to its end.

    lines: (rank, line) that was printed, in the order of arrival; values: of each rank, {name: value} of the variables
    that the caller asked for and that the rank has at the end; findings: why it did not end well, the first is the
    cause; notes: what is odd about a program that did end; seconds: from the launch to the end.
    """

    ok: bool
    ranks: int
    code: int
    headline: str
    seconds: float
    lines: tuple[tuple[int, str], ...]
    values: tuple[dict[str, Any], ...]
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    state: State = field(repr=False)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return what each rank has printed."""
        return tuple("".join(f"{text}\n" for r, text in self.lines if r == rank) for rank in range(self.ranks))

    @property
    def cause(self) -> str:
        """Return the kind of the first finding, such as "cycle" or "raised"; "" if the program has ended well."""
        return self.findings[0].kind if self.findings else ""

    @property
    def explanation(self) -> str:
        """Return why the program did not end well, and what is odd about it: one sentence a line."""
        places = [finding.text for finding in self.findings if finding.kind == "where"]
        causes = [finding.text for finding in (*self.findings, *self.notes) if finding.kind != "where"]
        return "\n".join(filter(None, (self.headline, *places, *causes)))

    @property
    def messages(self) -> list[Message]:
        """Return the messages between ranks in the order in which they were sent, without those of collective calls."""
        return self.state.messages

    @property
    def calls(self) -> list[Call]:
        """Return all MPI calls of all ranks in the order in which they began."""
        return self.state.calls


def run_mpi(
    program: str | Path,
    ranks: int,
    *,
    timeout: float = 10.0,
    data: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    record: bool = True,
    show_line: Callable[[int, str], None] | None = None,
) -> MpiResult:
    """Run a Python program on several ranks by mpiexec, and return what came of it.

    Args:
        program: its source, or the Path of its file.
        ranks: how many, 1 to 32.
        timeout: seconds; a program that takes longer is ended and explained.
        data: {name: value} for the program. It has these names from the beginning, and its own first assignment to such
            a name, at the top level, is left out: a program that begins with `numbers = [1, 2, 3]` runs with other
            numbers. Values must be what pickle can carry, without classes and functions of a notebook.
        names: variables whose values at the end of the program are wanted, of each rank.
        record: whether MPI calls are written down, which takes some 20 microseconds a call. Without, nothing is known
            of messages, and of a program that hangs only in which line each rank is.
        show_line: is called with the rank and the text of each line as it is printed.

    Returns:
        An MpiResult. A program that fails, hangs or cannot be read is an MpiResult, too.

    Raises:
        BadInput: if the number of ranks or the time limit is none.
        JobFailed: if there is no mpiexec.

    """
    if not 1 <= ranks <= MOST_RANKS:
        raise BadInput(f"{ranks} ranks: a program in a notebook runs on 1 to {MOST_RANKS}")
    if not 0 < timeout < float("inf"):
        raise BadInput(f"a time limit of {timeout:g} s: it must be more than 0, such as 10")
    with tempfile.TemporaryDirectory(prefix="minitrpo-mpi-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source = program.read_text("utf-8") if isinstance(program, Path) else program
        text = Program(str(folder / "program.py"), source)
        Path(text.path).write_text(source, "utf-8")
        (folder / "job.json").write_text(json.dumps({"program": text.path, "names": list(names), "record": record}))
        (folder / "data.pickle").write_bytes(pickle.dumps(dict(data or {})))
        job = Job(folder, text, ranks, show_line)
        if (error := text.syntax_error()) is not None:
            line, message = error
            finding = Finding("syntax", (), (line,), f"line {line}: SyntaxError: {message}: `{text.line(line)}`")
            return job.result(1, [finding])
        return job.run(timeout)


class Job:
    """One run of a program: its processes, what they print, and what they write down."""

    def __init__(
        self, folder: Path, program: Program, ranks: int, show_line: Callable[[int, str], None] | None
    ) -> None:
        self.folder, self.program, self.ranks, self.show_line = folder, program, ranks, show_line
        self.record = Record(folder, ranks, program)
        self.lines: list[tuple[int, str]] = []
        self.partial = [""] * ranks
        self.began = time.monotonic()
        self.headline = ""

    def run(self, timeout: float) -> MpiResult:
        """Start the ranks, watch them until they end or must be ended, and say what came of it."""
        spoken = self.folder / "mpiexec.txt"  # what MPI itself prints
        with spoken.open("wb") as file:
            process = subprocess.Popen(
                command(self.ranks, str(RECORDER), self.folder),
                env=ONE_THREAD | environment(self.ranks, timeout),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            findings = self.watch(process, timeout)
        finally:
            end_all(process, self.record)
        self.print_new()
        code = process.returncode
        if findings is None:
            findings = [] if self.all_at_end() else self.failure(code, spoken)
        return self.result(code or 1, findings)

    def all_at_end(self) -> bool:
        """Return whether all ranks came to the end of the program.

        What comes after it says nothing about the program: with a message that no rank has received, MPI_Finalize
        fails on one rank, and mpiexec may kill the others or not.
        """
        return len(self.record.finished) == self.ranks

    def failure(self, code: int, spoken: Path) -> list[Finding]:
        """Return why the processes have ended although not all ranks came to the end of the program."""
        said = spoken.read_text(errors="replace")[-20_000:]
        return findings_of_failure(self.record.state(), self.program, code, said)

    def watch(self, process: "subprocess.Popen[bytes]", timeout: float) -> list[Finding] | None:
        """Return None when the processes have ended by themselves, and why they must be ended if they do not."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
                return None
            self.print_new()
            now = time.monotonic()
            if self.all_at_end():
                if now - max(self.record.finished.values()) > ENDING_S:
                    return []
                continue
            late = now - self.began > timeout
            quiet = self.record.last and now - self.record.last > CERTAIN_S
            if late or (quiet and not self.record.raised and stuck(self.record.state())):
                lines = self.places()
                self.headline = f"The program did not end within {timeout:g} s." if late else "No rank can go on."
                return explain(self.record.state(), self.program, lines)

    def print_new(self) -> None:
        """Read what the ranks have written, and show the lines that they have printed."""
        for entry in self.record.read():
            rank = entry["rank"]
            *whole, self.partial[rank] = (self.partial[rank] + entry["text"]).split("\n")
            for line in whole:
                self.show(rank, line)

    def show(self, rank: int, line: str) -> None:
        """Keep one line, and show it at once if the caller wants to see it."""
        self.lines.append((rank, line))
        if self.show_line is not None:
            self.show_line(rank, line)

    def places(self) -> dict[int, int]:
        """Return in which line of the program each rank is, of those that answer: faulthandler needs no cooperation."""
        if not hasattr(faulthandler, "register"):
            return {}
        for pid in self.record.pids.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
        time.sleep(0.3)
        self.record.read()
        lines_of_ranks = {}
        for rank in self.record.pids:
            text = (self.folder / f"where{rank}.txt").read_text(errors="replace")
            lines = re.findall(rf'File "{re.escape(self.program.path)}", line (\d+)', text)
            if lines:
                lines_of_ranks[rank] = int(lines[0])
        return lines_of_ranks

    def result(self, code: int, findings: list[Finding]) -> MpiResult:
        """Return what came of it."""
        for rank, text in enumerate(self.partial):
            if text:
                self.show(rank, text)
        self.partial = [""] * self.ranks
        values, lost = self.values()
        state = self.record.state()
        return MpiResult(
            ok=not findings,
            ranks=self.ranks,
            code=code if findings else 0,
            headline=self.headline,
            seconds=time.monotonic() - self.began,
            lines=tuple(self.lines),
            values=tuple(values),
            findings=tuple(findings),
            notes=(*oddities(state), *lost) if not findings else (),
            state=state,
        )

    def values(self) -> tuple[list[dict[str, Any]], list[Finding]]:
        """Return the variables of each rank at its end, and which of them could not be handed over."""
        values: list[dict[str, Any]] = [{} for _ in range(self.ranks)]
        lost = []
        for rank in range(self.ranks):
            path = self.folder / f"values{rank}.pickle"
            pickled = pickle.loads(path.read_bytes()) if path.exists() else {}  # noqa: S301 of our processes
            for name, value in pickled.items():
                try:
                    values[rank][name] = pickle.loads(value)  # noqa: S301
                except Exception:
                    text = f"`{name}` of rank {rank} cannot be handed over; numbers, text, lists and arrays can."
                    lost.append(Finding("value", (rank,), (), text))
        return values, lost


def end_all(process: "subprocess.Popen[bytes]", record: Record) -> None:
    """End mpiexec, its ranks, and whatever these have started."""
    others = watchdog.started_by(process.pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    watchdog.end(others)
    process.wait()
