"""See the policy of a run, without a screen: writes video.mp4 and filmstrip.png into the run folder."""

import os
import sys
from typing import Any

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import run_parser, trusted
from minitrpo.errors import BadInput, EpisodeFailed, one_line
from minitrpo.experience.vector_env import EnvironmentFailed
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.launch import command
from minitrpo.supervision.watchdog import guarded

FILES = ("video.mp4", "filmstrip.png")
LIMITS = {"seed": (0, 2**31 - 1), "steps": (1, 10**7), "frames": (1, 10_000), "pictures": (1, 100)}


def read(name: str, words: list[str]) -> tuple[RunFolder, Any]:
    """Return the run folder, and what was asked for; BadInput if it makes no sense."""
    parser = run_parser(name, __doc__)
    parser.add_argument("--seed", type=whole, default=0, help="which start (default: 0)")
    parser.add_argument("--steps", type=whole, default=1000, help="at most this many steps (default: 1000)")
    parser.add_argument("--frames", type=whole, default=200, help="at most this many frames (default: 200)")
    parser.add_argument("--pictures", type=whole, default=8, help="pictures in the filmstrip (default: 8)")
    args = parser.parse_args(words)
    for option, (least, most) in LIMITS.items():
        if not least <= getattr(args, option) <= most:
            raise BadInput(f"--{option} must lie in [{least}, {most}], not {getattr(args, option)}")
    folder = trusted(RunFolder.open(args.run), vars(args))
    if not os.access(folder.path, os.W_OK):
        raise BadInput(f"cannot write into {args.run}: copy the run to a folder of your own first")
    for path in (folder.path / name for name in FILES):
        if os.path.lexists(path) and not (path.is_file() and os.access(path, os.W_OK)):
            raise BadInput(f"{path} is in the way, no file that can be written: move it away first")
    return folder, args


@command("watch")
def main(name: str, words: list[str]) -> int:
    """Film one episode."""
    folder, args = read(name, words)
    from minitrpo.reports.video import film

    try:
        with guarded(args.stuck_after):
            result = film(folder, args.seed, args.steps, args.frames, args.pictures)
    except (EpisodeFailed, EnvironmentFailed, OSError) as error:
        place = f"cannot write into {args.run}: " if isinstance(error, OSError) else ""
        print(f"{name}: {place}{one_line(error)}", file=sys.stderr)
        return 1
    print(f"{result.steps} steps, return {result.episode_return:.2f}; {result.video} and {result.filmstrip}")
    return 0
