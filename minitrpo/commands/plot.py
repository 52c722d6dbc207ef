"""Draw several runs over each other, the seeds of one setting as a band: return against steps and against seconds."""

import os
from itertools import chain, count
from pathlib import Path

from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.launch import command

KINDS = (".png", ".pdf", ".svg")


@command("plot")
def main(name: str, words: list[str]) -> int:
    """Write the picture and print where it is."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder, or a folder in which there are some")
    parser.add_argument("--out", metavar="FILE", help="default: comparison.png, or the next free name like it")
    args = parser.parse_args(words)
    folders = [folder for path in args.runs for folder in folders_of(path)]
    from minitrpo.reports.compare import compare

    out = Path(free() if args.out is None else args.out)
    if out.suffix not in KINDS:
        raise BadInput(f"--out {out} must end in {', '.join(KINDS)}")
    if out.is_symlink():
        raise BadInput(f"--out {out} is a link, through which another file would be written: choose another name")
    figure = compare(folders)
    try:
        figure.savefig(out)
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror}") from error
    print(out)
    return 0


def free() -> str:
    """Return the first of comparison.png, comparison_2.png, ... that is not there."""
    names = chain(["comparison.png"], (f"comparison_{number}.png" for number in count(2)))
    return next(name for name in names if not os.path.lexists(name))


def folders_of(path: str) -> list[RunFolder]:
    """Return the run in a folder, or all runs somewhere in it, by name; BadInput if there is none."""
    if not (Path(path) / "config.json").exists() and Path(path).is_dir():
        inside = sorted(config.parent for config in Path(path).glob("**/config.json"))
        if inside:
            return [RunFolder.open(str(folder)) for folder in inside]
    return [RunFolder.open(path)]
