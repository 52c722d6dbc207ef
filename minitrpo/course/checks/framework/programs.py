"""The test of an answer that is an MPI program: its text runs on several ranks with other data, and must end well.

A case says on how many ranks the program runs, with what data, and what variables it must end with. The check shows the
first case that fails: with the explanation of run_mpi if the program does not come to its end, else with the variable,
and with the name of the mistake if a known one gives the same value.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Wrong
from minitrpo.course.checks.framework.words import short
from minitrpo.course.mpi.run import MpiResult, run_mpi
from minitrpo.errors import BadInput

TIMEOUT_S = 20.0  # of one run; a deadlock is recognised much earlier
BY_LUCK = ("roots", "collectives", "sizes")  # what another MPI library would not forgive
SAME = 1e-7  # numbers that differ by less, relative to the largest, differ by rounding


@dataclass(frozen=True)
class ProgramCase:
    """One run of a student's program.

    ranks: how many; data: {name: value} in place of what the program assigns itself; expected: {name: value} of the
    variables that the program must end with, of rank 0 or, with `everywhere`, of each rank; mistakes: {symptom: the
    same variables as a known mistake leaves them}; remark: what is special about this case.
    """

    ranks: int
    data: dict[str, Any]
    expected: dict[str, Any]
    mistakes: dict[str, dict[str, Any]] = field(default_factory=dict)
    remark: str = ""
    everywhere: bool = False

    def __str__(self) -> str:
        ranks = f"{self.ranks} rank{'s' * (self.ranks > 1)}"
        shown = ", ".join(f"{name} = {short(value)}" for name, value in self.data.items())
        return f"{ranks}, {shown}" + (f" ({self.remark})" if self.remark else "")


def judge_program(name: str, cases: Callable[[], Iterator[ProgramCase]], program: Any, by_messages: bool) -> str:
    """Run a program in all cases, small ones first.

    Args:
        name: of the exercise.
        cases: its cases.
        program: the student's answer: the text of a program.
        by_messages: whether each rank has to send a message itself; otherwise collective calls will do, too.

    Returns:
        What was checked, in words.

    Raises:
        Wrong: at the first case that fails.
        NotImplementedError: if it fails, and lines are still `...`.
    """
    if not isinstance(program, str):
        text = f"the answer is the text of a program, which the cell keeps in the variable `{name}`"
        raise Wrong(f"{text}: run the cell that begins with %%mpi and has --name {name}, and then this one.")
    every = list(cases())
    for case in every:
        if said := fault(case, program, by_messages):
            if lines := open_lines(program):
                raise NotImplementedError(f"exercise {name}: line {lines[0]} is still `...`: write what belongs there")
            raise Wrong(*said)
    counts = sorted({case.ranks for case in every})
    ranks = f"{', '.join(map(str, counts[:-1]))} and {counts[-1]} ranks"
    return f"Checked: {len(every)} runs on {ranks}, with other data each time."


def fault(case: ProgramCase, program: str, by_messages: bool) -> tuple[str, str] | None:
    """Return what goes wrong in one case, and the symptom; None if all is well."""
    try:
        result = run_mpi(program, case.ranks, timeout=TIMEOUT_S, data=case.data, names=list(case.expected))
    except BadInput as error:
        return f"For {case}:\n  {error}", ""
    if not result.ok:
        return f"For {case}, the program fails:", result.explanation
    for rank in range(case.ranks if case.everywhere else 1):
        got = result.values[rank]
        for name, value in case.expected.items():
            where = f"`{name}` of rank {rank} at the end"
            if name not in got:
                said = f"For {case}:\n  there is no {where}."
                return said, unread(case, program) or odd(result) or elsewhere(name, result)
            if not same(value, got[name]):
                said = f"For {case}, {where}:\n  expected  {short(value)}\n  got       {short(got[name])}"
                return said, known(case, name, got[name]) or unread(case, program) or odd(result)
    if notes := [note for note in result.notes if note.kind in BY_LUCK]:
        return f"For {case}, the result is right by luck:", notes[0].text
    return unshared(case, result, by_messages)


def unshared(case: ProgramCase, result: MpiResult, by_messages: bool) -> tuple[str, str] | None:
    """Return how a program had the right result without the exchange that the exercise is about."""
    if case.ranks == 1:
        return None
    senders = {message.source for message in result.messages}
    if by_messages and len(senders) < case.ranks:
        silent = min(set(range(case.ranks)) - senders)
        what = f"For {case}:\n  the result is right, but rank {silent} sent no message."
        return what, "Every rank should pass something on, by send, Send or sendrecv."
    if not senders and all(call.name in ("Barrier", "barrier") for call in result.calls if call.collective):
        what = f"For {case}:\n  the result is right, but no data moved between the ranks."
        return what, "Each rank should use its part of the data only, and learn of the others by messages."
    return None


def same(want: Any, got: Any) -> bool:
    """Return whether a variable is right: text as it is, numbers but for rounding."""
    try:
        right, given = np.asarray(want), np.asarray(got)
        if right.dtype.kind not in "iuf" or given.dtype.kind not in "iuf":
            return bool(want == got)
        largest = np.max(np.abs(right), initial=1.0)
        return right.shape == given.shape and bool(np.all(np.abs(right - given) <= SAME * largest))
    except Exception:  # whatever a student's object does when it is compared
        return False


def known(case: ProgramCase, name: str, got: Any) -> str:
    """Return the symptom of the known mistake that gives this value; "" if there is none."""
    return next((symptom for symptom, values in case.mistakes.items() if same(values[name], got)), "")


def unread(case: ProgramCase, program: str) -> str:
    """Return which variable of the data a program never reads: it must use the name that its skeleton has."""
    read = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
    missing = [name for name in case.data if name not in read]
    return f"The program has no variable `{missing[0]}`, which the check changes." if missing else ""


def odd(result: MpiResult) -> str:
    """Return what is odd about a program that did end: an unreceived message, or a root that is not rank 0."""
    if result.notes:
        return " ".join(note.text for note in result.notes)
    other = next((call for call in result.calls if call.root), None)
    return f"In line {other.line} the root is rank {other.root}: `{other.text}`." if other is not None else ""


def elsewhere(name: str, result: MpiResult) -> str:
    """Return which rank has a variable that rank 0 should have."""
    ranks = [rank for rank, values in enumerate(result.values) if name in values]
    if ranks:
        return f"Rank {ranks[0]} has a variable `{name}`, but rank 0 should have it."
    return f"No rank has a variable `{name}`: the result must have this name, at the top level of the program."


def open_lines(program: str) -> list[int]:
    """Return the lines of a program that are still `...`."""
    try:
        nodes = ast.walk(ast.parse(program))
    except (SyntaxError, ValueError):
        return []
    found = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and n.value.value is ...]
    return sorted(node.lineno for node in found)
