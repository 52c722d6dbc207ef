"""Train in front of a class, in a minute: two films, a learning curve, and what each rank did."""

import os
import subprocess
import sys
import time
from html import escape
from pathlib import Path

import numpy as np

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser, parse
from minitrpo.commands.watch import VIDEO, film
from minitrpo.course.result_folder import gone_if_empty, new_folder
from minitrpo.course.trace import read_chrome_trace
from minitrpo.errors import BadInput, JobFailed
from minitrpo.experience.environments import describe
from minitrpo.experience.trust import trust
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.this_process import RANK_VARIABLES, cores
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports.plots import COLORS, picture
from minitrpo.reports.trained_policy import evaluate
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.mpiexec import launcher, mpiexec
from minitrpo.supervision.program import command
from minitrpo.training.run_context import check_ranks

LEAST = 1_300  # steps for each of the seconds, on however slow a machine: in a minute the double pendulum stands
PART = 12  # of the seconds, that the film of before lasts; after has twice as many
OTHERS = 10  # seconds to start the ranks again, to draw, and to evaluate a policy whose episodes have become long
EPISODES = 20  # of an evaluation
MORE, ROUNDS = 10_000, 5  # steps, and how often at most, that training goes on until the policy is as good as it was
SHOWN = 3  # updates in the picture of the ranks
PAGE = """<!doctype html><meta charset="utf-8"><title>{env}, {ranks} ranks</title>
<style>body {{ font: 18px sans-serif; margin: 2em auto; max-width: 1100px }} figure {{ margin: 0; flex: 1 }}
video, img {{ width: 100% }} div {{ display: flex; gap: 2em }}</style>
<h1>{env} learns on {ranks} ranks</h1>
<div>{films}</div>
<h2>The return of its episodes</h2><img src="run/learning_curve.png" alt="return against steps and seconds">
<h2>What each rank did, in {shown} updates of the middle</h2><img src="timeline.png" alt="spans of each rank">
"""
SHOW = '<figure><video src="{path}" controls loop muted autoplay></video><figcaption>{what}</figcaption></figure>'


@command("demo")
def main(name: str, words: list[str]) -> int:
    """Train, film, draw, and say where everything is."""
    began = time.perf_counter()
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("--env", default="InvertedDoublePendulum-v5", metavar="ID", help="default: %(default)s")
    parser.add_argument("--ranks", type=whole, default=2, metavar="N", help="default: 2")
    parser.add_argument("--seconds", type=whole, default=60, metavar="N", help="approximate length (60)")
    parser.add_argument("--out", metavar="DIR", help="folder to create (default: runs/demo, numbered)")
    args = parser.parse_args(words)
    if any(variable in os.environ for variable in RANK_VARIABLES):
        raise BadInput(f"run it with plain python, without mpiexec: it starts {args.ranks} ranks itself")
    for option, most in (("seconds", 600), ("ranks", 1024)):
        if not 1 <= getattr(args, option) <= most:
            raise BadInput(f"--{option} must lie in [1, {most}], not {getattr(args, option)}")
    trust(args.env)
    check_ranks(parse(["--env", args.env]).choice.common, min(args.ranks, cores()))  # more stay idle
    describe(args.env)
    folder = new_folder(args.out, "demo")
    with gone_if_empty(folder):
        show(args.env, args.ranks, args.seconds, folder, began)
    return 0


def show(env: str, ranks: int, seconds: int, folder: Path, began: float) -> None:
    """Do all of it, in a new folder; say what is done while it is done. began: when the seconds did."""
    job = ("--env", env, "--steps-per-update", 2000, "--max-kl", 0.03)
    print(f"1 of 4: film {env} with a policy that has learned from two small batches, on {ranks} rank(s)", flush=True)
    before, after = RunFolder(folder / "before"), RunFolder(folder / "run")
    mpiexec(ranks, "train", *job, "--total-steps", 4000, "--progress", "none", "--out", before.path)
    rate = np.diff(before.columns()["env_steps"], prepend=0)[-1] / before.columns()["iteration_s"][-1]
    started = time.perf_counter()
    drawn = filmed(before, max(1, seconds // PART))
    returned = [evaluated(before)]
    drawing = time.perf_counter() - started
    left = seconds - (time.perf_counter() - began) - 2 * drawing - OTHERS
    steps = max(LEAST * seconds, int(round(rate * left, -4)))
    print(f"2 of 4: train for {steps:,} steps, about {steps / rate:.0f} s", flush=True)
    run(ranks, *job, "--total-steps", steps, "--trace", "--out", after.path)
    returned.append(train_until_it_stands(env, ranks, after))
    steps = int(after.columns()["env_steps"][-1])
    print("3 of 4: film what it can do now", flush=True)
    drawn = drawn and filmed(after, max(1, 2 * seconds // PART))
    print("4 of 4: draw what the ranks did", flush=True)
    draw_timeline(folder / "timeline.png", after)
    named = [(before, f"before: return {returned[0]:.4g}"), (after, f"after {steps:,} steps: return {returned[1]:.4g}")]
    films = "".join(SHOW.format(path=f"{each.path.name}/{VIDEO}", what=what) for each, what in named if drawn)
    page = PAGE.format(env=escape(env), ranks=ranks, films=films, shown=SHOWN)
    write_atomically(folder / "index.html", page.encode())
    print(
        f"return {returned[0]:.4g} before, {returned[1]:.4g} after: the mean of {EPISODES} fresh episodes of the "
        f"policy in the film; all of it in {time.perf_counter() - began:.0f} s"
    )
    print(f"open {folder / 'index.html'}: films, curve, time line; {folder / 'run'} is the run")


def evaluated(run: RunFolder) -> float:
    """Return the mean return of a run's newest policy in fresh episodes; in the last batch perhaps none ended."""
    return evaluate(run, EPISODES, seed=0, sample=False, comm=Comm()).mean


def train_until_it_stands(env: str, ranks: int, folder: RunFolder) -> float:
    """Train a run on while its newest policy is worse than an earlier one was; return what the newest one returns.

    Updates of this size overshoot now and then, and a policy that could balance falls for some updates.
    """
    returned = evaluated(folder)
    for _ in range(ROUNDS):
        if stands(returned, folder.columns()["mean_return"]):
            break
        total = int(folder.columns()["env_steps"][-1]) + MORE
        print(f"an earlier policy was better than this one ({returned:.4g}): train until {total:,} steps", flush=True)
        run(ranks, "--resume", folder.path, "--env", env, "--total-steps", total)
        returned = evaluated(folder)
    return returned


def stands(returned: float, batches: Array) -> bool:
    """Return whether a policy returns nearly as much as the best batch of its run; NaN: no episode ended in a batch."""
    best = np.max(batches, initial=-np.inf, where=np.isfinite(batches))
    return bool(returned >= best - 0.1 * abs(best))


def run(ranks: int, *words: object) -> None:
    """Train, and print its output."""
    line = [launcher(), "-n", str(ranks), sys.executable, "-m", "minitrpo", "train", "--progress", "lines"]
    code = subprocess.run([*line, *map(str, words)], check=False, stdin=subprocess.DEVNULL).returncode
    if code:
        raise JobFailed(f"training ended with exit code {code}", code)


def filmed(run: RunFolder, seconds: int) -> bool:
    """Film a run; return whether this machine can, and say why if it cannot."""
    try:
        film(run, seed=0, limit=1000, seconds=seconds, frames=10**5, pictures=8)
    except BadInput as error:
        print(f"no film: {error}")
        return False
    return True


def draw_timeline(path: Path, run: RunFolder) -> None:
    """Draw who did what when, in some updates of the middle of a run."""
    ranks = read_chrome_trace(run.path / "trace.json")
    ends = [start + lasted for name, start, lasted in ranks[0] if name == "update"]
    first = max(0, len(ends) // 2 - SHOWN)
    window = [0.0, *ends][first], ends[: first + SHOWN][-1]
    figure = picture(11, 1.5 + 0.5 * len(ranks))
    axis = figure.subplots()
    for rank, spans in enumerate(ranks):
        for phase in PHASES:
            bars = [(start, lasted) for name, start, lasted in spans if name == phase]
            axis.broken_barh(bars, (rank - 0.4, 0.8), color=COLORS[phase], label=phase if rank == 0 else None)
    axis.set(xlim=window, xlabel="seconds of the run", yticks=range(len(ranks)), ylabel="rank")
    axis.invert_yaxis()
    axis.legend(ncols=len(PHASES), loc="lower left", bbox_to_anchor=(0, 1))
    write_atomically(path, figure.encoded())
