"""python -m minitrpo train|speedup|watch|replay|doctor: the scripts of mpi_scripts/, wherever minitrpo is installed."""

import importlib
import sys

from minitrpo import commands  # first: it answers Ctrl-C
from minitrpo.errors import BadInput
from minitrpo.runs.entrance import command

COMMANDS = {name: f"{commands.__name__}.{name}" for name in ("train", "speedup", "watch", "replay", "grade")}
COMMANDS |= {"parallel-sgd": f"{commands.__name__}.parallel_sgd", "doctor": "minitrpo.doctor"}
USAGE = f"""usage: python -m minitrpo {{{",".join(COMMANDS)}}} ...

    mpiexec -n 8 python -m minitrpo train --env HalfCheetah-v5    train on 8 ranks
    python -m minitrpo train --help                               every setting, explained
    python -m minitrpo speedup --ranks 1,2,4                      measure how much faster more ranks are
    python -m minitrpo watch RUN                                  a video of a run's policy
    python -m minitrpo replay RUN EPISODE                         play an episode that failed again
    python -m minitrpo grade PATH                                 grade notebooks of the course
    python -m minitrpo parallel-sgd                               four ways to descend on many workers
    python -m minitrpo doctor                                     can this machine run everything?"""


@command("minitrpo")
def main(title: str, words: list[str]) -> int:
    """Run the command that was named."""
    name, rest = (words[0] if words else ""), words[1:]
    if name in ("", "-h", "--help"):
        print(USAGE)
        return 0 if name else 2
    if name not in COMMANDS:
        raise BadInput(f"there is no command {name!r}; there are {', '.join(COMMANDS)}")
    return int(importlib.import_module(COMMANDS[name]).main(rest))


if __name__ == "__main__":
    sys.exit(main())
