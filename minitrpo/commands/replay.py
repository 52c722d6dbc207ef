"""Play an episode of a run again, alone: the one that a failure named, with the numbers it had."""

import traceback

from minitrpo.commands.cli import command
from minitrpo.commands.command_line import RootParser, add_stuck_after, whole
from minitrpo.commands.named_again import add_names, trust_names, trusted
from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.reports.rerun import replay
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.launch import guarded
from minitrpo.supervision.stderr import say


@command("replay")
def main(name: str, words: list[str]) -> int:
    """Replay the episode and say how it ended; exit code 1 if it fails again."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("run", help="run folder")
    parser.add_argument("episode", type=whole, help="episode number, as a failure named it")
    parser.add_argument(
        "--iteration", type=whole, metavar="N", help="in which it failed (default: the first after the checkpoint)"
    )
    add_names(parser)
    add_stuck_after(parser, "end if the environment stands still for so long")
    args = parser.parse_args(words)
    for option in ("episode", "iteration"):
        if (getattr(args, option) or 0) < 0:
            raise BadInput(f"{option} must be 0 or more, not {getattr(args, option)}")
    trust_names(args)
    try:
        with guarded(args.stuck_after, "--stuck-after"):
            print(replay(trusted(RunFolder.open(args.run), args), args.episode, args.iteration))
    except EpisodeFailed as error:
        say("".join(traceback.format_exception(error)).rstrip())
        return 1
    return 0
