"""See the policy of a run, without a screen: writes video.mp4 and filmstrip.png into the run folder."""

import sys

from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.runs.command_line import RootParser, refuse, whole
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.provenance import program


def read(name: str, words: list[str] | None) -> tuple[RunFolder, list[int]]:
    """Return the run folder, and seed, steps, frames and pictures; BadInput if they make no sense."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("run", help="run folder, as training printed it")
    parser.add_argument("--seed", type=whole, default=0, help="which start (default: 0)")
    parser.add_argument("--steps", type=whole, default=1000, help="at most this many steps (default: 1000)")
    parser.add_argument("--frames", type=whole, default=200, help="at most this many frames (default: 200)")
    parser.add_argument("--pictures", type=whole, default=8, help="pictures in the filmstrip (default: 8)")
    args = parser.parse_args(words)
    for option in ("steps", "frames", "pictures"):
        if getattr(args, option) < 1:
            raise BadInput(f"--{option} must be positive, not {getattr(args, option)}")
    if args.seed < 0:
        raise BadInput(f"--seed must be 0 or more, not {args.seed}")
    return RunFolder.open(args.run), [args.seed, args.steps, args.frames, args.pictures]


def main(words: list[str] | None = None) -> int:
    """Film one episode."""
    name = program("watch")
    try:
        folder, numbers = read(name, words)
        from minitrpo.runs.video import film

        result = film(folder, *numbers)
    except BadInput as error:
        return refuse(name, error)
    except EpisodeFailed as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    print(f"{result.steps} steps, return {result.episode_return:.2f}; {result.video} and {result.filmstrip}")
    return 0
