"""Play an episode of a run again, alone: the one that a failure named, with the numbers it had."""

import traceback

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import run_parser, trusted
from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.reports.rerun import replay
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.launch import command
from minitrpo.supervision.watchdog import guarded


@command("replay")
def main(name: str, words: list[str]) -> int:
    """Replay the episode and say how it ended; exit code 1 if it fails again."""
    parser = run_parser(name, __doc__)
    parser.add_argument("episode", type=whole, help="episode number, as a failure named it")
    parser.add_argument(
        "--iteration", type=whole, metavar="N", help="in which it failed (default: the first after the checkpoint)"
    )
    args = parser.parse_args(words)
    for option in ("episode", "iteration"):
        if (getattr(args, option) or 0) < 0:
            raise BadInput(f"{option} must be 0 or more, not {getattr(args, option)}")
    try:
        with guarded(args.stuck_after):
            print(replay(trusted(RunFolder.open(args.run), vars(args)), args.episode, args.iteration))
    except EpisodeFailed as error:
        traceback.print_exception(error)
        return 1
    return 0
