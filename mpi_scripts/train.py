"""Train a policy with parallel TRPO: mpiexec -n 8 python mpi_scripts/train.py --env HalfCheetah-v5."""

import sys

from minitrpo.parallel.ranks import Ranks
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.parallel.watchdog import Watchdog
from minitrpo.runs.command_line import Job, parse
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.launch import command, launch, script_path
from minitrpo.runs.plots import learning_curve
from minitrpo.runs.start import prepare
from minitrpo.runs.training import sha256, train


def run(job: Job, ranks: Ranks, watchdog: Watchdog) -> None:
    """Do what every rank does: prepare, train, and let the root finish."""
    start = prepare(job, ranks)
    path = str(start.folder.path)
    watchdog.describe(
        env=start.settings.env,
        seed=start.settings.seed,
        run=path,
        replay=command(1, script_path("replay.py"), path),
        resume=command(ranks.size, sys.argv[0], "--resume", path),
    )
    if ranks.rank == 0:
        print(f"{start.settings.env}: {ranks.size} rank(s), seed {start.settings.seed}, run folder {path}", flush=True)
    timeline = train(start, ranks, job.progress, watchdog.board, job.trace, job.oversubscribe)
    spans = ranks.gather_objects(timeline.spans)
    if ranks.rank == 0:
        if job.trace:
            write_chrome_trace(start.folder.path / "trace.json", spans)
        finish(start.folder)


def finish(folder: RunFolder) -> None:
    """Draw the learning curve and print where everything is; the hash of theta comes last."""
    theta = folder.load_checkpoint()["theta"]
    rows = folder.rows()
    returns = [float(row["mean_return"]) for row in rows if int(row["episodes"])]  # a segment may end no episode
    said = f"last mean return {returns[-1]:.2f}" if returns else "no episode ended"
    last = rows[-1]
    print(f"{last['env_steps']} steps in {float(last['time_s']):.1f} s, {said}; {learning_curve(folder)}")
    print(f"theta sha256: {sha256(theta)}", flush=True)


def main() -> int:
    """Read the command line and launch the run."""
    job = parse(sys.argv[1:])
    return launch(lambda ranks, watchdog: run(job, ranks, watchdog), "train.py", job.stuck_after)


if __name__ == "__main__":
    sys.exit(main())
