"""See the policy of a run, without a screen: watch.py RUN writes video.mp4 and filmstrip.png into RUN."""

import argparse
import sys

from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.runs.command_line import whole
from minitrpo.runs.folder import RunFolder


def main() -> int:
    """Film one episode."""
    parser = argparse.ArgumentParser(prog="watch.py", description=__doc__)
    parser.add_argument("run", help="run folder, as train.py printed it")
    parser.add_argument("--seed", type=whole, default=0, help="which start (default: 0)")
    parser.add_argument("--steps", type=whole, default=1000, help="at most this many steps (default: 1000)")
    parser.add_argument("--frames", type=whole, default=200, help="at most this many frames (default: 200)")
    parser.add_argument("--pictures", type=whole, default=8, help="pictures in the filmstrip (default: 8)")
    arguments = parser.parse_args()
    for name in ("steps", "frames", "pictures"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be positive, not {getattr(arguments, name)}")
    if arguments.seed < 0:
        parser.error(f"--seed must be 0 or more, not {arguments.seed}")
    from minitrpo.runs.video import film

    try:
        made = film(
            RunFolder.open(arguments.run), arguments.seed, arguments.steps, arguments.frames, arguments.pictures
        )
    except (BadInput, EpisodeFailed) as error:
        print(f"watch.py: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadInput) else 1
    print(f"{made.steps} steps, return {made.episode_return:.2f}; {made.video} and {made.filmstrip}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
