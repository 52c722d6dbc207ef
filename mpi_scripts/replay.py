"""Play one episode of a run's next iteration again, alone: python mpi_scripts/replay.py RUN EPISODE."""

import argparse
import sys
import traceback

from minitrpo.errors import BadInput, EpisodeFailed
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.replay import replay


def main() -> int:
    """Replay the episode and say how it ended; exit code 1 if it fails again."""
    parser = argparse.ArgumentParser(prog="replay.py", description=__doc__)
    parser.add_argument("run", help="run folder")
    parser.add_argument("episode", type=int, help="episode number, as a failure named it")
    arguments = parser.parse_args()
    try:
        print(replay(RunFolder.open(arguments.run), arguments.episode))
    except BadInput as error:
        print(f"replay.py: {error}", file=sys.stderr)
        return 2
    except EpisodeFailed as error:
        traceback.print_exception(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
