"""A claim of the sources: a title, the runs that could contradict it, what is asked of them, and their picture."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.claims.questions import UNTESTED, Part
from experiments.harness import Experiment, Job, Measured, Runs, thinned, train
from experiments.pictures import Ghost
from experiments.tables import markdown
from minitrpo.course.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS, LEVEL
from minitrpo.parallel.timing import PHASES

ROWS = 100  # of a recorded run
Findings = list[tuple[str, str, str]]  # the words of a question, what was found, the verdict on it


@dataclass(frozen=True, kw_only=True)
class Claim(Experiment):
    """A claim of the sources; `home` names the claim of whose runs it is asked, if it has none of its own."""

    parts: tuple[Part, ...]
    ghosts: tuple[Ghost, ...] = field(default=(), repr=False)

    def state(self) -> str:
        """Return the verdict."""
        return judge(self, self.runs())[0]

    def and_also(self, name: str, title: str, *parts: Part, **fields: Any) -> "Claim":
        """Return another claim that is asked of the same runs, with the same picture if it says no other."""
        return replace(self, name=name, title=title, parts=parts, home=self.name, **fields)


def claim(name: str, title: str, *parts: Part, **fields: Any) -> Claim:
    """Return a claim, whose runs are training runs."""
    fields |= {"measure": partial(measure, seconds=fields.get("seconds", False)), "report": report}
    return Claim(name=name, title=title, parts=parts, data="claims", **fields)


def measure(job: Job, ranks: int, folder: Path, seconds: bool) -> Measured:
    """Train, and return what the questions of claims ask of a run."""
    out, theta = train(job, ranks, folder)
    columns = out.columns()
    last, clock = ("iteration", "env_steps"), ("time_s",) * seconds
    points = {"curves": thinned(columns, (*last, *clock), ("mean_return", "steps_per_update"), ROWS)}
    if seconds:
        points["seconds"] = thinned(columns, last, tuple(f"{phase}_s" for phase in PHASES), ROWS)
    if "eval_return" in columns:
        known = np.isfinite(columns["eval_return"])
        points["fresh"] = {name: columns[name][known] for name in ("env_steps", "eval_return")}
    if "--adapt" in job.words:  # where the rule changed the steps of an update or max-KL
        asked = np.stack([columns["steps_per_update"], columns["max_kl"]], axis=1)
        changed = [0, *np.flatnonzero(np.any(np.diff(asked, axis=0) != 0, axis=1)) + 1]
        points["decisions"] = {name: columns[name][changed] for name in ("env_steps", "steps_per_update")}
    return {"theta": theta}, points


def judge(claim: Claim, runs: Runs) -> tuple[str, Findings]:
    """Return the verdict on a claim and on each of its parts, except the parts that need longer runs.

    A claim holds if all parts were tested and hold; this needs no correction for their number. It does not hold if one
    part fails at a level that Holm's correction raises with the number of parts: among many, one fails by chance.
    """
    asked = {part: answer for part in claim.parts if (answer := part.ask(runs, LEVEL))}
    tested, refuted = [part for part in asked if not part.untested], set[Part]()
    while failed := [part for part in tested if part not in refuted and fails(part, runs, len(tested) - len(refuted))]:
        refuted.add(failed[0])
    findings = []
    for part, (found, verdict) in asked.items():
        unsure = verdict == DOES_NOT_HOLD and part not in refuted
        findings.append((part.question, found, UNTESTED if part.untested else CANNOT_TELL if unsure else verdict))
    verdicts = {verdict for _, _, verdict in findings}
    for worst in (DOES_NOT_HOLD, UNTESTED):
        if worst in verdicts:
            return worst, findings
    return HOLDS if len(findings) == len(claim.parts) and verdicts == {HOLDS} else CANNOT_TELL, findings


def fails(part: Part, runs: Runs, questions: int) -> bool:
    """Return whether a part does not hold, if it is one of `questions` questions."""
    answer = part.ask(runs, 1 - (1 - LEVEL) / questions)
    return answer is not None and answer[1] == DOES_NOT_HOLD


def summary(claim: Claim) -> tuple[str, str, str, str]:
    """Return the row of a claim: its verdict, and the first question that decided it."""
    verdict, findings = judge(claim, claim.runs())
    words, found, _ = next((each for each in findings if each[2] == verdict), findings[0])
    link = f"[{claim.name}](../experiments/claims_details.md#{claim.name.lower()})"
    return link, claim.title, f"**{verdict}**", f"{words}: {found}"


def report(claim: Claim, runs: Runs) -> str:
    """Return the verdict and all findings."""
    verdict, findings = judge(claim, runs)
    text = f"{claim.name}: {claim.title}: **{verdict}**."
    if findings:
        text += f"\n\n{markdown(('question', 'found, 95 % interval', 'answer'), findings, 3)}"
    left_out = len(claim.parts) - len(findings)
    return f"{text}\n\n{left_out} of {len(claim.parts)} questions need longer or more runs." if left_out else text
