"""python -m minitrpo train|speedup|watch|replay|doctor: the scripts of mpi_scripts/, wherever minitrpo is installed."""

import importlib
import sys

from minitrpo import commands  # noqa: F401 - first: it answers Ctrl-C
from minitrpo.errors import BadInput
from minitrpo.supervision.exit_codes import command

COMMANDS = {
    name: f"minitrpo.commands.{name}" for name in ("train", "evaluate", "plot", "check", "watch", "replay", "doctor")
}
COMMANDS |= {
    name: f"minitrpo.course.{name.replace('-', '_')}.command" for name in ("speedup", "parallel-sgd", "scaling")
}
COMMANDS |= {
    "new": "minitrpo.course.new",
    "grade": "minitrpo.course.grading.command",
    "entry": "minitrpo.course.grading.leaderboard",
}
USAGE = f"""usage: python -m minitrpo {{{",".join(COMMANDS)}}} ...

    mpiexec -n 8 python -m minitrpo train --env HalfCheetah-v5    train on 8 ranks
    python -m minitrpo train --help                               every setting, explained
    python -m minitrpo evaluate RUN                               how good is a run's policy, in fresh episodes?
    python -m minitrpo plot RUN RUN ...                           runs over each other, seeds as a band
    python -m minitrpo new mine                                   start an algorithm of your own, from an example
    python -m minitrpo check mine:Class --env ID                  does your algorithm keep its promises?
    python -m minitrpo speedup --ranks 1,2,4                      measure how much faster more ranks are
    python -m minitrpo scaling predict                            1 to 100,000 ranks, simulated
    python -m minitrpo watch RUN                                  a video of a run's policy
    python -m minitrpo replay RUN EPISODE                         play an episode that failed again
    python -m minitrpo grade PATH                                 grade notebooks of the course
    python -m minitrpo entry RUN                                  what to hand in of a run, for the leaderboard
    python -m minitrpo parallel-sgd                               four ways to descend on many workers
    python -m minitrpo doctor                                     can this machine run everything?"""


def main(words: list[str] | None = None) -> int:
    """Run the command that was named."""
    words = sys.argv[1:] if words is None else words
    if words and words[0] in COMMANDS:
        return int(importlib.import_module(COMMANDS[words[0]]).main(words[1:]))
    return usage(words)


@command("")
def usage(title: str, words: list[str]) -> int:
    """Say what there is."""
    if not words or words[0] not in ("-h", "--help"):
        what = f"there is no command {words[0]!r}" if words else "a command is missing"
        raise BadInput(f"{what}; there are {', '.join(COMMANDS)}; see --help")
    print(USAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
