"""The command line of `train`, made from settings; of all ranks one speaks, in one line."""

import argparse
import re
from dataclasses import fields
from typing import Any, NoReturn

from minitrpo.algorithms import registry
from minitrpo.algorithms.options import flag, meant
from minitrpo.errors import BadInput
from minitrpo.experience.trust import trust
from minitrpo.parallel.this_process import launched_rank
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.watchdog import STUCK_AFTER
from minitrpo.training.job import Job, Read, make_job, recorded, settings_to_begin_with
from minitrpo.training.settings import JobOptions, Settings, presets

SAME_BITS = "A run with the same settings and seed gives the same policy, to the bit, on any number of ranks."
ASYNCHRONOUS = (
    "Asynchronous runs differ. Only runs with --transport events are the same, to the bit, on any number of ranks."
)
METAVARS = {int: "N", float: "X", str: "TEXT"}


class RootParser(argparse.ArgumentParser):
    """An argument parser that raises BadInput, and of whose help one rank speaks."""

    def error(self, message: str) -> NoReturn:
        """Raise BadInput with one line."""
        unknown = re.match(r"unrecognized arguments: (?:--([\w-]+)|(\w\S*))", message)
        known = [name[2:].replace("-", "_") for name in self._option_string_actions]
        cure = meant(unknown[1].replace("-", "_"), known) if unknown and unknown[1] else ""
        if unknown and unknown[2] and "env" in known:
            cure = f"; did you mean --env {unknown[2]}?"
        raise BadInput(f"{message}{cure or '; see --help'}")

    def print_help(self, file: Any = None) -> None:
        """Print the help, once."""
        if launched_rank() == 0:
            super().print_help(file)


def make_parser(program: str, algorithm: Any = None, name: str = "") -> RootParser:
    """Return the parser of the options of every run.

    Args:
        program: what the program is called.
        algorithm: the class of an algorithm, whose settings are then options, too; its presets give the defaults that
            `--help` shows.
        name: the name of that algorithm.

    Returns:
        A parser that leaves every value of a setting a text: `settings_of` reads it.

    """
    known = {} if algorithm is None else presets(algorithm)
    defaults = known["default"].values if known else {}
    parser = RootParser(
        prog=program,
        allow_abbrev=False,
        add_help=algorithm is not None,
        description="Train a policy. Alone, or on 8 ranks: mpiexec -n 8 python mpi_scripts/train.py --env ID",
    )
    add_job_options(parser.add_argument_group("the job"), known)
    add_options(parser.add_argument_group("the run"), Settings, defaults)
    if algorithm is not None:
        takes = f"for environments with {' or '.join(algorithm.actions)} actions"
        add_options(parser.add_argument_group(f"the algorithm {name}", takes), algorithm.Settings, defaults)
    return parser


def add_job_options(group: Any, known: dict[str, Any]) -> None:
    """Add an option for every field of JobOptions; known: the presets of the algorithm, {} if it is not known yet."""
    for f in fields(JobOptions):
        text, choices = f.metadata["help"], f.metadata["choices"]
        if f.name == "stuck_after":
            add_stuck_after(group, text)
        elif f.name == "preset":
            keys = {preset.text: [key for key in known if known[key].text == preset.text] for preset in known.values()}
            text = "; ".join(f"{' or '.join(names)}: {what}" for what, names in keys.items()) or text
            group.add_argument("--preset", choices=sorted(known) or None, help=text.replace("%", "%%"))
        elif f.default is False:
            group.add_argument(flag(f.name), action="store_true", help=text)
        else:
            group.add_argument(
                flag(f.name), default=f.default, choices=choices or None, metavar=f.metadata["metavar"], help=text
            )


def add_options(group: Any, settings: Any, defaults: dict[str, Any]) -> None:
    """Add an option for every field of a dataclass of settings; `defaults`: those that differ from the fields'.

    What was typed stays text: `settings_of` reads it.
    """
    for f in fields(settings):
        default, source = defaults.get(f.name, f.default), f.metadata["source"]
        notes = [f"default: {default}"] + ([f"source: {source}"] if source and default == f.default else [])
        group.add_argument(
            flag(f.name),
            default=argparse.SUPPRESS,
            choices=f.metadata["choices"] or None,
            metavar=None if f.metadata["choices"] else METAVARS[type(f.default)],
            help=f"{f.metadata['help']} ({'; '.join(notes)})".replace("%", "%%"),
        )


def add_stuck_after(parser: Any, what: str) -> None:
    """Add the option of the watchdog."""
    parser.add_argument("--stuck-after", type=seconds, default=STUCK_AFTER, metavar="S", help=f"{what} (30 s)")


def seconds(text: str) -> float:
    """Return a positive number of seconds."""
    if not 0 < float(text) < float("inf"):
        raise ValueError
    return float(text)


def parse(words: list[str], program: str = "train", read: Read = recorded) -> Job:
    """Return the job that a command line asks for; BadInput if it makes no sense.

    Args:
        words: the words of the command line.
        program: what the program is called.
        read: gets the settings of a run to resume from its folder: see `settings_to_begin_with`.

    """
    return job_of(*words_of_every_run(words, program), program, read)


def words_of_every_run(words: list[str], program: str) -> tuple[argparse.Namespace, list[str]]:
    """Return the options of every run that were typed, and the words that are left for the algorithm."""
    return make_parser(program).parse_known_args(words)


def job_of(typed: argparse.Namespace, rest: list[str], program: str, read: Read = recorded) -> Job:
    """Return the job of a command line of which the options of every run have been read: see `words_of_every_run`."""
    asked = vars(typed)
    trust(asked.get("env"), asked.get("algorithm"))
    base, algorithm = settings_to_begin_with(asked, read)
    parser = make_parser(program, algorithm, asked.get("algorithm", base.get("algorithm", registry.DEFAULT)))
    if {"-h", "--help"} & set(rest):
        bits = ASYNCHRONOUS if algorithm.loop == "asynchronous" else SAME_BITS
        parser.epilog = f"{bits} {registry.actions_of_all()}"
    parser.parse_args(rest, typed)
    return make_job(asked, base, algorithm)


# --- commands that look at a run


def run_parser(program: str, description: str | None) -> RootParser:
    """Return a parser of the folder of a run, and of its names, which a user types again to trust their code."""
    parser = RootParser(prog=program, allow_abbrev=False, description=description)
    parser.add_argument("run", help="run folder, as printed by train")
    for name, metavar in (("env", "ID"), ("algorithm", "module:Name")):
        text = f"that of the run; needed again if it is code in the current folder, which will run ({metavar})"
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    add_stuck_after(parser, "end if a call of the environment takes this long")
    return parser


def trusted(folder: RunFolder, typed: dict[str, Any]) -> RunFolder:
    """Take the names among `typed` for trusted, and return their run; BadInput for a name that it does not have."""
    settings = folder.read_config()["settings"]
    for name in ("env", "algorithm"):
        if typed.get(name) not in (None, settings.get(name)):
            raise BadInput(f"--{name} {typed[name]} differs from the {settings.get(name)} of the run: leave it out")
    trust(typed.get("env"), typed.get("algorithm"))
    return folder
