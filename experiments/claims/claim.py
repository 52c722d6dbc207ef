"""A claim of the sources: a sentence, the runs that could contradict it, what is asked of them, and their picture."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.claims.questions import UNTESTED, Part
from experiments.harness import FULL, Experiment, Job, Measured, Runs, made_by, thinned, train
from experiments.pictures import Ghost
from minitrpo.course.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS, LEVEL
from minitrpo.parallel.timing import PHASES

PAPER = "Frans & Hafner 2016, Parallel Trust Region Policy Optimization with Multiple Actors"
POST = "Frans 2016, Speeding up TRPO through parallelization and parameter adaptation"
SLIDES = "Parallelism in RL, lecture slides"
BLOG = "Batch PPO with continuous training, the blog of an internship at Preferred Networks"
ROWS = 100  # of a recorded run


@dataclass(frozen=True, kw_only=True)
class Claim(Experiment):
    """A claim of the sources; `home` names the claim of whose runs it is asked, if it has none of its own."""

    source: str
    sentence: str
    parts: tuple[Part, ...]
    ghosts: tuple[Ghost, ...] = field(default=(), repr=False)
    note: str = ""


def claim(**fields: Any) -> Claim:
    """Return a claim, whose runs are training runs."""
    fields |= {"measure": partial(measure, seconds=fields.get("seconds", False)), "report": report}
    return Claim(data="claims", verdict=lambda claim, runs: judge(claim, runs)[0], **fields)


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


class Finding(NamedTuple):
    """What was asked, the number that was found with its interval, and the verdict on it."""

    words: str
    found: str
    verdict: str


def judge(claim: Claim, runs: Runs) -> tuple[str, list[Finding]]:
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
        findings.append(Finding(part.words, found, UNTESTED if part.untested else CANNOT_TELL if unsure else verdict))
    verdicts = {finding.verdict for finding in findings}
    for worst in (DOES_NOT_HOLD, UNTESTED):
        if worst in verdicts:
            return worst, findings
    return HOLDS if len(findings) == len(claim.parts) and verdicts == {HOLDS} else CANNOT_TELL, findings


def fails(part: Part, runs: Runs, questions: int) -> bool:
    """Return whether a part does not hold, if it is one of `questions` questions."""
    answer = part.ask(runs, 1 - (1 - LEVEL) / questions)
    return answer is not None and answer[1] == DOES_NOT_HOLD


# --- what a page says of it


def summary(claim: Claim) -> str:
    """Return the row of a claim: its verdict, and the first question that decided it."""
    runs, place = claim.runs(), f"../experiments/claims_details.md#{claim.name.lower()}"
    if not runs:
        return f"| [{claim.name}]({place}) | {claim.title} | not measured | |"
    verdict, findings = judge(claim, runs)
    first = next((each for each in findings if each.verdict == verdict), findings[0])
    return f"| [{claim.name}]({place}) | {claim.title} | **{verdict}** | {first.words}: {first.found} |"


def report(claim: Claim, runs: Runs) -> str:
    """Return the verdict and all findings, as text for a terminal."""
    verdict, findings = judge(claim, runs)
    lines = [f"{claim.name}: {claim.title}: {verdict.upper()}"]
    lines += [f"    {words}: {found}: {answer}" for words, found, answer in findings]
    left_out = len(claim.parts) - len(findings)
    lines += [f"    {left_out} of {len(claim.parts)} questions need longer or more runs"] * (left_out > 0)
    return "\n".join(lines)


def origin(claim: Claim, kind: str, runs: Runs) -> str:
    """Return what made the runs, as a sentence."""
    each = [run for found in runs.values() for run in found]
    others = max((run["others"] for run in each if run["others"] != ""), default=0)
    seconds = f" Other programs used at most {100 * others:.0f} % of the cores." if claim.seconds else ""
    whole = f"{kind} set" if len(each) == len(claim.jobs(kind)) else f"part of the {kind} set"
    return f"{whole.capitalize()}, {made_by(claim, runs)}.{seconds}"


def section(claim: Claim) -> list[str]:
    """Return what the page of claims says of one."""
    lines = [f"## {claim.name}", "", f"{claim.title}.", "", f"> {claim.sentence}", "", f"{claim.source}."]
    lines += ["", claim.note] if claim.note else []
    runs, command = claim.runs(), f"`python mpi_scripts/figures.py {claim.name}`"
    if not runs:
        return [*lines, "", f"Not measured yet: {command}."]
    verdict, findings = judge(claim, runs)
    lines += ["", f"Verdict: **{verdict}**."]
    lines += ["", "| question | found, 95 % interval | answer |", "| --- | --- | --- |"]
    lines += [f"| {words} | {found} | {answer} |" for words, found, answer in findings]
    left_out = len(claim.parts) - len(findings)
    lines += ["", f"{left_out} of {len(claim.parts)} questions need longer runs."] if left_out else []
    return [*lines, "", f"*{origin(claim, FULL, runs)} {command}*"]
