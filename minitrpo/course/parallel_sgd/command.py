"""Compare four ways of parallel SGD: in one process with drawn times, or on the ranks of mpiexec."""

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from minitrpo.algorithms.options import settings_of
from minitrpo.commands.command_line import RootParser, add_options
from minitrpo.course.parallel_sgd.descent import Trace, play, run
from minitrpo.course.parallel_sgd.problem import MODES, SGDSettings, stability_bound
from minitrpo.course.result_folder import gone_if_empty, new_folder
from minitrpo.errors import AlgorithmFailed, BadInput
from minitrpo.parallel.comm import Comm, on_root
from minitrpo.parallel.parameter_server import staleness_of
from minitrpo.parallel.this_process import launched_size
from minitrpo.reports.plots import BLUE, GREEN, GREY, ORANGE, RED
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.program import command, ranks
from minitrpo.supervision.watchdog import guarded

COLORS = dict(zip(MODES, (BLUE, ORANGE, GREEN, RED), strict=True))
COLUMNS = ("mode", "updates", "samples", "seconds", "loss")


def read(words: list[str], name: str) -> tuple[SGDSettings, tuple[str, ...], str | None]:
    """Return the settings, the modes to be compared and --out; BadInput if they make no sense."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="folder to create (default: runs/sgd-PROBLEM, numbered)")
    add_options(parser.add_argument_group("what is done"), SGDSettings, {"mode": "all of them"})
    named = vars(parser.parse_args(words))
    out = named.pop("out")
    if out == "":
        raise BadInput("--out needs the name of a folder, not an empty text")
    settings = settings_of(SGDSettings, named)
    ranks = launched_size()
    if ranks > 1 and "workers" in named:
        raise BadInput(f"--workers {settings.workers} is for one process; under mpiexec the {ranks} ranks work")
    if ranks > settings.rows:
        raise BadInput(f"--rows {settings.rows} for {ranks} ranks: a worker would have no sample")
    return settings, (settings.mode,) if "mode" in named else MODES, out


def compare(settings: SGDSettings, modes: tuple[str, ...], out: str | None, comm: Comm) -> None:
    """Do what every rank does: descend in every mode; the root reports."""
    shares_memory = comm.one_machine()
    if "hogwild" in modes and not shares_memory:
        raise BadInput("--mode hogwild: the ranks are on several machines, which share no memory")
    made = on_root(comm, lambda: new_folder(out, f"sgd-{settings.problem}"))
    with gone_if_empty(made if comm.rank == 0 else None):
        traces = {}
        for mode in modes:
            own = replace(settings, mode=mode)
            trace = play(own) if comm.size == 1 else run(own, comm)
            if trace is not None and not np.all(np.isfinite(trace.loss)):
                raise AlgorithmFailed(
                    f"the loss of --mode {mode} is not finite: --step-size {own.step_size:g} is too large"
                )
            if trace is not None:
                traces[mode] = trace
                print(line(mode, trace), flush=True)
        if comm.rank == 0:
            write(made, settings, traces, comm.size)


def line(mode: str, trace: Trace) -> str:
    """Return a mode's result in words."""
    mean, largest = staleness_of(trace.histogram)
    return (
        f"{mode:>12}: loss {trace.loss[0]:.4g} -> {trace.loss[-1]:.4g} after {trace.samples[-1]:,.0f} samples, "
        f"{trace.updates[-1]:,.0f} updates, {trace.seconds[-1]:.3g} s; staleness {mean:.2f} (at most {largest}), "
        f"{trace.refused} refused, {trace.lost} lost"
    )


def write(folder: Path, settings: SGDSettings, traces: dict[str, Trace], ranks: int) -> None:
    """Write loss.csv, staleness.csv, sgd.json and sgd.png."""
    with (folder / "loss.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for mode, t in traces.items():
            columns = (t.updates, t.samples, t.seconds, t.loss)
            writer.writerows([mode, *row] for row in zip(*(c.tolist() for c in columns), strict=True))
    with (folder / "staleness.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("mode", "staleness", "gradients"))
        for mode, t in traces.items():
            writer.writerows((mode, age, int(t.histogram[age])) for age in np.flatnonzero(t.histogram).tolist())
    seconds = "drawn" if ranks == 1 else "real"
    payload = {"settings": asdict(settings), "modes": list(traces), "seconds": seconds, "provenance": provenance(ranks)}
    write_atomically(folder / "sgd.json", (json.dumps(payload, indent=2) + "\n").encode())
    draw(folder / "sgd.png", traces, f"{settings.problem}, step size {settings.step_size:g}", seconds)
    print(f"{folder / 'loss.csv'}, staleness.csv, sgd.json, sgd.png")


def draw(path: Path, traces: dict[str, Trace], title: str, seconds: str) -> None:
    """Draw the loss against updates, samples and seconds, and how old the gradients were."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), constrained_layout=True)
    figure.suptitle(title)
    labels = {"updates": "updates", "samples": "samples", "seconds": f"seconds ({seconds})"}
    for axis, (name, label) in zip(axes.flat[:3], labels.items(), strict=True):
        for mode, trace in traces.items():
            axis.plot(getattr(trace, name), trace.loss, color=COLORS[mode], label=mode)
        axis.set(xlabel=label, ylabel="loss over all samples", yscale="log")
        axis.grid(alpha=0.3)
        axis.legend()
    oldest = max(max(np.flatnonzero(t.histogram), default=0) for t in traces.values())
    width = 0.8 / len(traces)
    ages = np.arange(oldest + 1)
    for k, (mode, t) in enumerate(traces.items()):
        heights = t.histogram[: oldest + 1] / max(1, t.histogram.sum())
        axes[1, 1].bar(ages + k * width, heights, width, color=COLORS[mode], label=mode)
    right = axes[1, 1].twinx()
    right.plot(ages, [stability_bound(age) for age in ages.tolist()], "--", color=GREY, label="stability bound")
    right.set(ylabel="largest stable step size x curvature", ylim=(0, 2.1))
    right.legend(loc="center right")
    axes[1, 1].set(xlabel="staleness of a gradient", ylabel="fraction of the gradients")
    axes[1, 1].legend(loc="upper right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


@command("parallel_sgd")
def main(name: str, words: list[str]) -> int:
    """Read the command line, descend, report."""
    settings, modes, out = read(words, name)
    with guarded(3600.0), ranks() as comm:
        compare(settings, modes, out, comm)
    return 0
