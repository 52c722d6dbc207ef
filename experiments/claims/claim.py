"""A claim of the sources: a title, the runs that could contradict it, what is asked of them, and their picture."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.claims import elsewhere
from experiments.claims.questions import BARELY, BY_MACHINE, STRICT, UNTESTED, Part, lies
from experiments.harness import Experiment, Job, Measured, Runs, thinned, train
from experiments.pictures import Ghost
from experiments.tables import markdown
from minitrpo.course.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS, LEVEL, Interval
from minitrpo.parallel.timing import PHASES

# The preset's Fisher matrix had 20 % of the states when the runs were recorded (0.3.0); since then it has all of them.
PAPER = "--preset paper --fisher-fraction 0.2"
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
    """Return the verdict on a claim and on each of its parts; `questions.VERDICTS` says what a verdict means.

    A claim holds if all parts hold; this needs no correction for their number. It does not hold if one part fails at a
    level that Holm's correction raises with the number of parts: among many, one fails by chance.
    """
    answers = [(part, part.ask(runs)) for part in claim.parts]
    asked = {part: answer for part, answer in answers if answer is not None}
    refuted = refuted_of([part for part, (_, verdict) in asked.items() if verdict != UNTESTED], runs)
    findings = []
    for part, (found, verdict) in asked.items():
        there = elsewhere.interval_of(claim.home or claim.name, part)
        words = f"{found}; second machine {there:{part.form}}" if there else found
        findings.append((part.question, words, final(part, verdict, part in refuted, runs, there)))
    verdicts = {verdict for _, _, verdict in findings}
    if len(findings) < len(claim.parts):
        verdicts.add(CANNOT_TELL)
    order = (DOES_NOT_HOLD, BY_MACHINE, UNTESTED, CANNOT_TELL, BARELY, HOLDS)
    return next(verdict for verdict in order if verdict in verdicts), findings


def refuted_of(parts: list[Part], runs: Runs) -> set[Part]:
    """Return the parts that do not hold at the levels of Holm's correction for the number of parts."""
    refuted = set[Part]()
    while failed := [part for part in parts if part not in refuted and fails(part, runs, len(parts) - len(refuted))]:
        refuted.add(failed[0])
    return refuted


def fails(part: Part, runs: Runs, questions: int) -> bool:
    """Return whether a part does not hold, if it is one of `questions` questions."""
    answer = part.ask(runs, 1 - (1 - LEVEL) / questions)
    return answer is not None and answer[1] == DOES_NOT_HOLD


def final(part: Part, verdict: str, refuted: bool, runs: Runs, there: Interval | None) -> str:
    """Return the verdict on a part, from that of its 95 % interval.

    refuted: it does not hold after Holm's correction, too. there: what the second machine measured, if it did.
    """
    other = lies(there, part.claimed) if there is not None and part.claimed is not None else verdict
    if {verdict, other} == {HOLDS, DOES_NOT_HOLD}:
        return BY_MACHINE
    if verdict == DOES_NOT_HOLD and not refuted:
        return CANNOT_TELL
    if verdict == HOLDS:
        strict = part.ask(runs, STRICT)
        return HOLDS if strict is not None and strict[1] == HOLDS else BARELY
    return verdict


def summary(claim: Claim) -> tuple[str, str, str, str]:
    """Return the row of a claim: its verdict, and the first question that decided it."""
    verdict, findings = judge(claim, claim.runs())
    words, found, _ = next((finding for finding in findings if finding[2] == verdict), findings[0])
    link = f"[{claim.name}](../experiments/claims_details.md#{claim.name.lower()})"
    held = sum(answer in (HOLDS, BARELY) for _, _, answer in findings)
    some = f"; {held} of {len(findings)} questions hold" if 0 < held < len(findings) else ""
    return link, claim.title, f"**{verdict}**{some}", f"{words}: {found}"


def report(claim: Claim, runs: Runs) -> str:
    """Return the verdict and all findings."""
    verdict, findings = judge(claim, runs)
    text = f"{claim.name}: {claim.title}: **{verdict}**."
    if findings:
        text += f"\n\n{markdown(('question', 'found, 95 % interval', 'answer'), findings, 3)}"
    left_out = len(claim.parts) - len(findings)
    return f"{text}\n\n{left_out} of {len(claim.parts)} questions need longer or more runs." if left_out else text
