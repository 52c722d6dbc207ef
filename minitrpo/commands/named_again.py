"""Options of the commands that look at a run: what its settings name is typed again where its code is to be trusted."""

from typing import Any

from minitrpo.errors import BadInput
from minitrpo.experience.modules import trust
from minitrpo.run_folder.folder import RunFolder

OPTIONS = {"env": "ID", "algorithm": "module:Name"}


def add_names(parser: Any) -> None:
    """Add --env and --algorithm, the run's own."""
    for name, metavar in OPTIONS.items():
        text = f"that of the run, named again where it lies in the folder you are in: its code will run ({metavar})"
        parser.add_argument(f"--{name}", metavar=metavar, help=text)


def trusted(folder: RunFolder, args: Any) -> RunFolder:
    """Return a run whose names were typed again, or not at all; BadInput for another name."""
    settings = folder.read_config()["settings"]
    for name in OPTIONS:
        typed, recorded = getattr(args, name, None), settings.get(name)
        if typed is not None and typed != recorded:
            raise BadInput(f"--{name} {typed} differs from the {recorded} of the run: leave it out")
    return folder


def trust_names(args: Any) -> None:
    """Take what was typed for trusted, on every rank."""
    trust(*(getattr(args, name) for name in OPTIONS))
