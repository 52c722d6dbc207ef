"""Record what lecture 06 shows of phases and ranks: python notebooks/recorded/06_timing.py, on an idle machine.

Writes 06_ranks.csv (what every rank did in one iteration, on 1, 2 and 4 ranks) and 06_timing.json (medians of the
phases, what made it). Takes about a minute and a half.
"""

import csv
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.course.machine import Recording
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.course.statistics import mean_interval
from minitrpo.course.trace import busy_fraction, read_chrome_trace, seconds_per_phase
from minitrpo.parallel.launcher import cores
from minitrpo.parallel.timing import Span
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.jobs import mpiexec

HERE = Path(__file__).parent
STEPS, UPDATES, ROUNDS, RANKS = 20_000, 4, 3, (1, 2, 4)  # timed updates; one before them warms up
JOB = ["--preset", "episodes", "--steps-per-update", str(STEPS), "--total-steps", str((UPDATES + 1) * STEPS), "--trace"]
RUNS = {
    "Reacher": ["--env", "Reacher-v5", "--physics", "gymnasium"],
    "Reacher, batched physics": ["--env", "Reacher-v5", "--physics", "auto"],
    "Reacher, linear critic": ["--env", "Reacher-v5", "--physics", "gymnasium", "--critic", "linear"],
    "HalfCheetah": ["--env", "HalfCheetah-v5", "--physics", "gymnasium"],
    "HalfCheetah, batched physics": ["--env", "HalfCheetah-v5", "--physics", "auto"],
}
WORKING = {"broadcast", "collect", "gather", "update", "checkpoint"}
Row = dict[str, Any]


def trace_of(ranks: int, *arguments: str) -> list[list[Span]]:
    """Return what every rank of one training run did when."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        mpiexec(ranks, "train", "--out", out, "--progress", "none", *JOB, *arguments)
        return read_chrome_trace(out / "trace.json")


def windows(trace: list[list[Span]]) -> list[tuple[float, float]]:
    """Return when each timed iteration begins and ends on the root."""
    begins = [begin for name, begin, _ in trace[0] if name == "broadcast"]
    ends = [*begins[1:], max(begin + lasts for _, begin, lasts in trace[0])]
    return list(zip(begins, ends, strict=True))[1 : UPDATES + 1]


def inside(spans: Sequence[Span], begin: float, end: float) -> list[Span]:
    """Return the spans that begin in a window."""
    return [span for span in spans if begin <= span[1] < end]


def phase_rows(label: str, number: int, trace: list[list[Span]]) -> list[Row]:
    """Return a row per phase of every timed update on the root; an instant counts for the innermost phase."""
    rows = []
    for update, window in enumerate(windows(trace), 2):
        for phase, seconds in seconds_per_phase(inside(trace[0], *window)).items():
            rows.append({"run": label, "round": number, "update": update, "phase": phase, "seconds": round(seconds, 6)})
    return rows


def rank_rows(trace: list[list[Span]]) -> list[Row]:
    """Return a row per span that touches the iteration of median length, times counted from its begin."""
    begin, end = sorted(windows(trace), key=lambda window: window[1] - window[0])[UPDATES // 2]
    rows = []
    for rank, spans in enumerate(trace):
        for phase, start, lasts in spans:
            if start >= end or start + lasts <= begin:
                continue
            row = {"ranks": len(trace), "rank": rank, "phase": phase}
            rows.append(row | {"begins_s": round(start - begin, 6), "lasts_s": round(lasts, 6)})
    return rows


def at_work(trace: list[list[Span]]) -> Row:
    """Return medians over the timed iterations: seconds, and the fractions of them in which ranks work."""
    spent = [
        {
            "iteration_s": end - begin,
            "last_rank_collects": busy_fraction(trace[-1], {"collect"}, begin, end),
            "root_works": busy_fraction(trace[0], WORKING, begin, end),
            "others_work": float(np.mean([busy_fraction(spans, WORKING, begin, end) for spans in trace[1:] or trace])),
        }
        for begin, end in windows(trace)
    ]
    return {name: round(float(np.median([one[name] for one in spent])), 4) for name in spent[0]}


def iteration(rows: list[Row], label: str, number: int) -> float:
    """Return the median seconds of the timed updates of a run in one round."""
    totals: dict[int, float] = {}
    for row in rows:
        if (row["run"], row["round"]) == (label, number):
            totals[row["update"]] = totals.get(row["update"], 0.0) + row["seconds"]
    return float(np.median(list(totals.values())))


def batched_factor(rows: list[Row]) -> Row:
    """Return how many times as fast batched physics is: mean over the rounds, with Student's interval.

    The updates of one run are more alike than those of two, so that a round counts once.
    """
    rounds = sorted({row["round"] for row in rows})
    plain, batched = ([iteration(rows, label, number) for number in rounds] for label in list(RUNS)[:2])
    factor = mean_interval(np.divide(plain, batched))
    return {"factor": factor.middle, "interval": [factor.low, factor.high]}


def write(name: str, rows: list[Row]) -> None:
    """Write rows as CSV."""
    with (HERE / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Run every case by turns, then on several ranks, and write the two files."""
    recording, load_before = Recording(), os.getloadavg()
    rows: list[Row] = []
    for number, label in by_turns(ROUNDS, list(RUNS)):
        rows += phase_rows(label, number, trace_of(1, *RUNS[label]))
    traces = {ranks: trace_of(ranks, *RUNS["Reacher"], "--oversubscribe") for ranks in RANKS}
    write("06_ranks.csv", [row for trace in traces.values() for row in rank_rows(trace)])
    medians = {
        label: {
            phase: round(float(np.median([r["seconds"] for r in rows if (r["run"], r["phase"]) == (label, phase)])), 6)
            for phase in dict.fromkeys(row["phase"] for row in rows if row["run"] == label)
        }
        for label in RUNS
    }
    about = {
        "job": ["train", *JOB],
        "runs": RUNS,
        "rounds": ROUNDS,
        "timed_updates_of_a_run": UPDATES,
        "provenance": {
            **provenance(),
            "usable_cores": cores(),
            "load_before": load_before,
            "load_after": os.getloadavg(),
            "conditions": recording.conditions(),
        },
        "median_seconds": medians,
        "batched_physics": batched_factor(rows),
        "ranks": {str(ranks): at_work(trace) for ranks, trace in traces.items()},
    }
    (HERE / "06_timing.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
