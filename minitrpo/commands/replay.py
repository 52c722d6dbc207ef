"""Play an episode of a run again, alone: the one that a failure named, with the numbers it had."""

import sys
import traceback

from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.runs.command_line import RootParser, refuse, whole
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.provenance import program
from minitrpo.runs.replay import replay


def main(words: list[str] | None = None) -> int:
    """Replay the episode and say how it ended; exit code 1 if it fails again."""
    name = program("replay")
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("run", help="run folder")
    parser.add_argument("episode", type=whole, help="episode number, as a failure named it")
    parser.add_argument(
        "--iteration", type=whole, metavar="N", help="in which it failed (default: the first after the checkpoint)"
    )
    try:
        args = parser.parse_args(words)
        for option in ("episode", "iteration"):
            if (getattr(args, option) or 0) < 0:
                raise BadInput(f"{option} must be 0 or more, not {getattr(args, option)}")
        print(replay(RunFolder.open(args.run), args.episode, args.iteration))
    except BadInput as error:
        return refuse(name, error)
    except EpisodeFailed as error:
        traceback.print_exception(error, file=sys.stderr)
        return 1
    return 0
