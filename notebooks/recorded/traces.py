"""Record what lecture 06 shows of phases and ranks: python notebooks/recorded/traces.py, on an idle machine.

Writes 06_ranks.csv (what every rank did in one update, on 1, 2 and 4 ranks) and into origins.json medians of the phases
and of the fractions in which ranks work. Takes about a minute and a half.
"""

import numpy as np
from keep import Row, keep

from minitrpo.course.classroom import train
from minitrpo.course.machine import Recording
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.course.statistics import mean_interval
from minitrpo.course.trace import busy_fraction, read_chrome_trace, seconds_per_phase
from minitrpo.parallel.timing import Span

UPDATES, ROUNDS, RANKS = 4, 3, (1, 2, 4)  # timed updates; one before them warms up
JOB = "--env Reacher-v5 --preset episodes --steps-per-update 20000 --total-steps 100000 --trace"
RUNS = {
    "Reacher": "--physics gymnasium",
    "Reacher, batched physics": "--physics auto",
    "Reacher, linear critic": "--physics gymnasium --critic linear",
}
WORKING = {"broadcast", "collect", "gather", "update", "checkpoint"}
Trace = list[list[Span]]  # of every rank


def trace_of(ranks: int, words: str) -> Trace:
    """Return what every rank of one training run did when."""
    folder = train(ranks, *JOB.split(), *words.split())
    return read_chrome_trace(folder.path / "trace.json")


def windows(trace: Trace) -> list[tuple[float, float]]:
    """Return when each timed update begins and ends on the root."""
    begins = [begin for name, begin, _ in trace[0] if name == "broadcast"]
    ends = [*begins[1:], max(begin + lasts for _, begin, lasts in trace[0])]
    return list(zip(begins, ends, strict=True))[1 : UPDATES + 1]


def bills(trace: Trace) -> list[dict[str, float]]:
    """Return the seconds of each phase in every timed update on the root, an instant counted for the innermost."""
    return [seconds_per_phase(span for span in trace[0] if begin <= span[1] < end) for begin, end in windows(trace)]


def rank_rows(trace: Trace) -> list[Row]:
    """Return a row per span that touches the update of median length, times counted from its begin."""
    begin, end = sorted(windows(trace), key=lambda window: window[1] - window[0])[UPDATES // 2]
    return [
        {"ranks": len(trace), "rank": rank, "phase": phase, "begins_s": round(start - begin, 6), "lasts_s": round(s, 6)}
        for rank, spans in enumerate(trace)
        for phase, start, s in spans
        if begin - s < start < end
    ]


def at_work(trace: Trace) -> Row:
    """Return medians over the timed updates: the fractions of them in which ranks work."""
    spent = [
        {
            "last_rank_collects": busy_fraction(trace[-1], {"collect"}, *window),
            "root_works": busy_fraction(trace[0], WORKING, *window),
            "others_work": np.mean([busy_fraction(spans, WORKING, *window) for spans in trace[1:] or trace]),
        }
        for window in windows(trace)
    ]
    return {name: round(float(np.median([one[name] for one in spent])), 4) for name in spent[0]}


def main() -> None:
    """Run every case by turns, then on several ranks, and write both files."""
    idle = Recording()
    found: dict[str, list[list[dict[str, float]]]] = {label: [] for label in RUNS}
    for _, label in by_turns(ROUNDS, list(RUNS)):
        found[label].append(bills(trace_of(1, RUNS[label])))
    traces = {ranks: trace_of(ranks, f"{RUNS['Reacher']} --oversubscribe") for ranks in RANKS}
    medians = {
        label: {name: round(float(np.median([bill[name] for run in runs for bill in run])), 6) for name in runs[0][0]}
        for label, runs in found.items()
    }
    # The updates of one run are more alike than those of two, so that a round counts once
    plain, batched, _ = ([np.median([sum(bill.values()) for bill in run]) for run in runs] for runs in found.values())
    factor = mean_interval(np.divide(plain, batched))
    keep(
        "06_ranks",
        [row for trace in traces.values() for row in rank_rows(trace)],
        conditions=idle.conditions(),
        rounds=ROUNDS,
        median_seconds=medians,
        batched_physics={"factor": factor.middle, "interval": [factor.low, factor.high]},
        at_work={str(ranks): at_work(trace) for ranks, trace in traces.items()},
    )


if __name__ == "__main__":
    main()
