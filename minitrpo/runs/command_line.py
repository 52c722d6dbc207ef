"""The command line of train.py, made from the fields of Settings; of all ranks one speaks, in one line."""

import argparse
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

from minitrpo.errors import BadInput
from minitrpo.parallel.ranks import launched_rank
from minitrpo.runs.settings import MAY_CHANGE, PRESETS, TUNED, Settings, flag

METAVARS = {int: "N", float: "X", str: "TEXT"}


@dataclass(frozen=True)
class Job:
    """A command line: the settings asked for, and what does not touch the result."""

    given: dict[str, Any]  # settings named on the command line
    preset: str
    out: str | None
    resume: str | None
    trace: bool
    oversubscribe: bool
    progress: str
    stuck_after: float

    def settings(self) -> Settings:
        """Return the settings of a new run: preset, then what was given."""
        env = self.given.get("env", Settings.env)
        own = TUNED.get(env, {}) if self.preset == "tuned" else {}
        settings = Settings(**{**PRESETS[self.preset], **own, **self.given})
        settings.check()
        return settings

    def resumed(self, recorded: dict[str, Any]) -> Settings:
        """Return the settings of a recorded run with the few changes that are allowed; BadInput for any other."""
        try:
            settings = Settings(**recorded)
        except TypeError as error:
            raise BadInput(f"the run to resume was recorded by another version of minitrpo: {error}") from error
        for name, value in self.given.items():
            if name not in MAY_CHANGE and value != getattr(settings, name):
                raise BadInput(
                    f"{flag(name)} {value} differs from the {getattr(settings, name)} of the run to resume; "
                    f"only {', '.join(map(flag, MAY_CHANGE))} may change: leave it out, or start a new run"
                )
        settings = replace(settings, **{name: self.given[name] for name in MAY_CHANGE if name in self.given})
        settings.check()
        return settings


class OneVoice(argparse.ArgumentParser):
    """An argument parser of which one rank speaks, in one line, while all exit with the same code."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        self.exit(2, f"{self.prog}: {message}; see --help\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Exit; only rank 0 prints."""
        super().exit(status, message if launched_rank() == 0 else None)

    def print_help(self, file: Any = None) -> None:
        """Print the help, once."""
        if launched_rank() == 0:
            super().print_help(file)


def whole(text: str) -> int:
    """Return an integer written as 5000, 5_000 or 5e3."""
    number = float(text)
    if number != int(number):
        raise ValueError(text)
    return int(number)


whole.__name__ = "integer"  # argparse names the type in its message


def parser() -> argparse.ArgumentParser:
    """Return the command line of train.py, made from the fields of Settings."""
    made = OneVoice(
        prog="train.py",
        allow_abbrev=False,
        description="Train a policy with parallel TRPO. Alone, or: mpiexec -n 8 python mpi_scripts/train.py --env ID",
        epilog="A run with the same settings and seed gives the same policy, to the bit, on any number of ranks.",
    )
    made.add_argument(
        "--preset",
        choices=sorted(PRESETS),
        default="default",
        help="paper: as Frans & Hafner 2016 ran it; tuned: for the most return from a million steps, by environment",
    )
    made.add_argument("--out", metavar="DIR", help="run folder to create (default: runs/ENV-seedS, numbered)")
    made.add_argument("--resume", metavar="DIR", help="go on with the run in this folder, to the bit")
    made.add_argument("--trace", action="store_true", help="write trace.json, what every rank did when (Perfetto)")
    made.add_argument(
        "--oversubscribe",
        action="store_true",
        help="let ranks work that have no core of their own; the bits are the same",
    )
    modes = ("auto", "bar", "lines", "none")
    made.add_argument("--progress", choices=modes, default="auto", help="auto: a bar on a terminal, else lines")
    made.add_argument(
        "--stuck-after", type=float, default=30.0, metavar="S", help="end the job if an environment stands still (30 s)"
    )
    for f in fields(Settings):
        notes = [f"default: {f.default}"] + ([f"source: {f.metadata['source']}"] if f.metadata["source"] else [])
        made.add_argument(
            flag(f.name),
            type=whole if isinstance(f.default, int) else type(f.default),
            default=argparse.SUPPRESS,
            choices=f.metadata["choices"] or None,
            metavar=None if f.metadata["choices"] else METAVARS[type(f.default)],
            help=f"{f.metadata['help']} ({'; '.join(notes)})".replace("%", "%%"),
        )
    return made


def parse(arguments: list[str]) -> Job:
    """Return the job that a command line asks for; exits with code 2 and one line if it makes no sense."""
    command_line = parser()
    named = vars(command_line.parse_args(arguments))
    own = {f.name: named.pop(f.name) for f in fields(Job) if f.name in named}
    job = Job(given=named, **own)
    try:
        if job.out and job.resume:
            raise BadInput("--out names a new run and --resume an old one: give one of the two")
        if job.stuck_after <= 0:
            raise BadInput(f"--stuck-after must be positive, not {job.stuck_after:g}")
        if not job.resume:
            job.settings()
    except BadInput as error:
        command_line.error(str(error))
    return job
