"""Play fresh episodes with the best actions of a run's policy, on any number of ranks, and print the mean return."""

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import run_parser, trusted
from minitrpo.experience.trust import trust
from minitrpo.parallel.comm import on_root
from minitrpo.reports.trained_policy import evaluate
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.program import command, ranks
from minitrpo.supervision.watchdog import guarded, status


@command("evaluate")
def main(name: str, words: list[str]) -> int:
    """Print mean, interval and how many episodes."""
    parser = run_parser(name, __doc__)
    parser.add_argument("--episodes", type=whole, default=100, metavar="N", help="number of episodes (default: 100)")
    parser.add_argument("--seed", type=whole, default=0, help="chooses the episodes (default: 0)")
    parser.add_argument("--sample", action="store_true", help="draw actions as in training instead of the best actions")
    args = parser.parse_args(words)
    trust(args.env, args.algorithm)  # on every rank

    def opened() -> tuple[RunFolder, str]:
        folder = trusted(RunFolder.open(args.run), vars(args))
        return folder, folder.read_config()["settings"]["env"]

    with guarded(args.stuck_after), ranks() as comm:
        folder, env = on_root(comm, opened)
        status.describe(environment=env, algorithm="the algorithm")
        found = evaluate(folder, args.episodes, args.seed, args.sample, comm)
        if comm.rank == 0:
            print(found, flush=True)
    return 0
