"""python -m minitrpo train|speedup|watch|replay|doctor: the scripts of mpi_scripts/, wherever minitrpo is installed."""

import importlib
import sys

from minitrpo import (
    __version__,
    commands,  # noqa: F401 - first: it answers Ctrl-C
)
from minitrpo.errors import BadInput
from minitrpo.supervision.program import command

COMMANDS = {
    name: f"minitrpo.commands.{name}"
    for name in ("train", "evaluate", "explain", "plot", "check", "watch", "replay", "doctor")
}
COMMANDS |= {
    name: f"minitrpo.course.{name.replace('-', '_')}.command" for name in ("speedup", "parallel-sgd", "scaling", "lab")
}
COMMANDS |= {name: f"minitrpo.course.{name}" for name in ("new", "demo", "core")}
COMMANDS |= {"grade": "minitrpo.course.grading.command", "entry": "minitrpo.course.grading.leaderboard"}
USAGE = f"""usage: python -m minitrpo {{{",".join(COMMANDS)}}} ...

    mpiexec -n 8 python -m minitrpo train --env HalfCheetah-v5    train on 8 ranks
    python -m minitrpo train --help                               every setting, explained
    python -m minitrpo evaluate RUN                               play fresh episodes with a run's policy
    python -m minitrpo explain RUN                                why a run does not learn, and where its time goes
    python -m minitrpo plot RUN RUN ...                           compare runs in one picture
    python -m minitrpo new mine                                   write an example of your own algorithm
    python -m minitrpo check mine:Class --env ID                  test your algorithm: same bits, exact resume
    python -m minitrpo demo                                       a demonstration for a class, in a minute
    python -m minitrpo speedup --ranks 1,2,4                      measure the speed-up of more ranks
    python -m minitrpo scaling predict                            simulate 1 to 100,000 ranks
    python -m minitrpo watch RUN                                  make a film of a run's policy
    python -m minitrpo replay RUN EPISODE                         play a failed episode again
    python -m minitrpo lab                                        open the course in JupyterLab, in your own folder
    python -m minitrpo core my                                    collect your functions, to train with them
    python -m minitrpo grade PATH                                 grade notebooks of the course
    python -m minitrpo entry RUN                                  print a run's entry for the leaderboard
    python -m minitrpo parallel-sgd                               compare four ways of parallel SGD
    python -m minitrpo doctor                                     test what this machine can run
    python -m minitrpo --version                                  say which version this is"""


def main(words: list[str] | None = None) -> int:
    """Run the command that was named."""
    words = sys.argv[1:] if words is None else words
    if words and words[0] in COMMANDS:
        return int(importlib.import_module(COMMANDS[words[0]]).main(words[1:]))
    return usage(words)


@command("")
def usage(title: str, words: list[str]) -> int:
    """Say what there is, or which version this is."""
    if words == ["--version"]:
        print(f"minitrpo {__version__}")
        return 0
    if not words or words[0] not in ("-h", "--help"):
        what = f"there is no command {words[0]!r}" if words else "a command is missing"
        raise BadInput(f"{what}; there are {', '.join(COMMANDS)}; see --help")
    print(USAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
