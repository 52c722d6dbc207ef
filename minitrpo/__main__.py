"""python -m minitrpo train|speedup|watch|replay|doctor: the scripts of mpi_scripts/, wherever minitrpo is installed."""

import importlib
import sys

COMMANDS = {
    "train": "minitrpo.commands.train",
    "speedup": "minitrpo.commands.speedup",
    "watch": "minitrpo.commands.watch",
    "replay": "minitrpo.commands.replay",
    "doctor": "minitrpo.doctor",
}
USAGE = f"""usage: python -m minitrpo {{{",".join(COMMANDS)}}} ...

    mpiexec -n 8 python -m minitrpo train --env HalfCheetah-v5    train on 8 ranks
    python -m minitrpo train --help                               every setting, explained
    python -m minitrpo speedup --ranks 1,2,4                      measure how much faster more ranks are
    python -m minitrpo watch RUN                                  a video of a run's policy
    python -m minitrpo replay RUN EPISODE                         play an episode that failed again
    python -m minitrpo doctor                                     can this machine run everything?"""


def main() -> int:
    """Run the command that was named."""
    name, words = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if name in ("", "-h", "--help"):
        print(USAGE)
        return 0 if name else 2
    if name not in COMMANDS:
        print(f"minitrpo: there is no command {name!r}; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    if name == "doctor" and words:
        print("usage: python -m minitrpo doctor: says whether this machine can run everything; it takes no arguments")
        return 0 if words[0] in ("-h", "--help") else 2
    run = importlib.import_module(COMMANDS[name]).main
    return int(run() if name == "doctor" else run(words))


if __name__ == "__main__":
    sys.exit(main())
