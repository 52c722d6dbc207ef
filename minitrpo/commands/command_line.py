"""The command line of `train`, made from settings; of all ranks one speaks, in one line."""

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from minitrpo.algorithms import registry
from minitrpo.algorithms.options import as_setting, flag, meant
from minitrpo.errors import BadInput
from minitrpo.experience.modules import trust
from minitrpo.parallel.launcher import launched_rank
from minitrpo.run_folder.folder import RunFolder, read_json
from minitrpo.supervision.watchdog import STUCK_AFTER
from minitrpo.training.context import recorded_settings
from minitrpo.training.settings import MAY_CHANGE, OF_A_JOB, Choice, Settings, algorithm_of, chosen, presets

SAME_BITS = "A run with the same settings and seed gives the same policy, to the bit, on any number of ranks."
ASYNCHRONOUS = (
    "Asynchronous runs differ. Only runs with --transport events are the same, to the bit, on any number of ranks."
)
METAVARS = {int: "N", float: "X", str: "TEXT"}
PROGRESS = ("auto", "bar", "lines", "none")
LOGS = ("tensorboard",)
MOST_SEEDS = 1000
Read = Callable[[str], dict[str, Any]]
APART = (("out", "resume"), ("config", "resume"), ("seeds", "resume"), ("preset", "resume"), ("config", "preset"))


@dataclass(frozen=True)
class Job:
    """A run that is asked for, from a command line or from Python: its settings, and what does not touch its result."""

    choice: Choice
    given: tuple[str, ...]  # the settings that were asked for by name
    out: str | None = None
    resume: str | None = None
    seeds: str | None = None
    trace: bool = False
    oversubscribe: bool = False
    progress: str = "auto"
    log: str | None = None
    stuck_after: float = STUCK_AFTER


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
    """Return the parser of the settings of every run, and, if an algorithm is given, of its own settings and help."""
    known = {} if algorithm is None else presets(algorithm)
    defaults = known["default"].values if known else {}
    parser = RootParser(
        prog=program,
        allow_abbrev=False,
        add_help=algorithm is not None,
        description="Train a policy. Alone, or on 8 ranks: mpiexec -n 8 python mpi_scripts/train.py --env ID",
    )
    job = parser.add_argument_group("the job")
    job.add_argument("--out", metavar="DIR", help="run folder to create (default: runs/ENV-seedS, numbered)")
    job.add_argument("--resume", metavar="DIR", help="continue the run in this folder, to the same bits")
    job.add_argument(
        "--config", metavar="FILE", help="start with the settings in a run's config.json; other options change them"
    )
    job.add_argument("--seeds", metavar="A-B", help="one run per seed, in turn: 0-4, or 0,3,7; with --out in OUT/seedN")
    job.add_argument("--trace", action="store_true", help="write trace.json, what every rank did when (Perfetto)")
    job.add_argument(
        "--oversubscribe",
        action="store_true",
        help="also use ranks without a core of their own, or with too little work; the bits are the same",
    )
    job.add_argument("--progress", choices=PROGRESS, default="auto", help="auto: a bar on a terminal, else lines")
    job.add_argument("--log", choices=LOGS, help="also write the rows for TensorBoard, into OUT/tensorboard")
    add_stuck_after(job, "end the job if a call of the environment takes this long (of the algorithm: 20 times)")
    keys = {preset.text: [key for key in known if known[key].text == preset.text] for preset in known.values()}
    text = "; ".join(f"{' or '.join(names)}: {said}" for said, names in keys.items())
    job.add_argument("--preset", choices=sorted(known) or None, help=text.replace("%", "%%"))
    add_options(parser.add_argument_group("the run"), Settings, defaults)
    if algorithm is not None:
        takes = f"for environments with {' or '.join(algorithm.actions)} actions"
        add_options(parser.add_argument_group(f"the algorithm {name}", takes), algorithm.Settings, defaults)
    return parser


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


def recorded(path: str) -> dict[str, Any]:
    """Return the settings of the run in this folder; BadInput if there is none."""
    return recorded_settings(RunFolder.open(path)).flat()


def parse(words: list[str], program: str = "train", read: Read = recorded) -> Job:
    """Return the job that a command line asks for; BadInput if it makes no sense.

    It reads the settings of every run first, then those of the algorithm. read: as for `beginning`.
    """
    first, rest = make_parser(program).parse_known_args(words)
    asked = vars(first)
    trust(asked.get("env"), asked.get("algorithm"))
    base, algorithm = beginning(asked, read)
    parser = make_parser(program, algorithm, asked.get("algorithm", base.get("algorithm", registry.DEFAULT)))
    if {"-h", "--help"} & set(rest):
        bits = ASYNCHRONOUS if algorithm.loop == "asynchronous" else SAME_BITS
        parser.epilog = f"{bits} {registry.actions_of_all()}"
    parser.parse_args(rest, first)
    return make_job(asked, base, algorithm)


def beginning(asked: dict[str, Any], read: Read = recorded) -> tuple[dict[str, Any], Any]:
    """Return the settings that a job takes over, {} without --config and --resume, and the class of its algorithm.

    read: gets the settings of a run to resume from its folder, which other hosts than the root's need not see.
    """
    for one, other in APART:
        if asked.get(one) is not None and asked.get(other) is not None:
            raise BadInput(f"--{one} and --{other} exclude each other: give one of them")
    if "" in (asked.get("out"), asked.get("resume")):
        raise BadInput("--out and --resume need the name of a folder, not an empty text")
    if asked.get("resume") is not None:
        taken = read(asked["resume"])
        return taken, algorithm_of(taken["algorithm"])
    base: dict[str, Any] = {}
    if asked.get("config") is not None:
        place = Path(asked["config"])
        base = read_json(place / "config.json" if place.is_dir() else place)["settings"]
    return base, algorithm_of(asked.get("algorithm", base.get("algorithm", registry.DEFAULT)))


def make_job(asked: dict[str, Any], base: dict[str, Any], algorithm: Any) -> Job:
    """Return the job of these keywords, settings and others, after the settings of `base` or else of a preset."""
    others = {name: value for name, value in asked.items() if name in OF_A_JOB and name != "config"}
    given = {name: value for name, value in asked.items() if name not in OF_A_JOB}
    trust(given.get("core"))
    known, preset = presets(algorithm), others.pop("preset", None) or "default"
    for name, allowed in (("progress", PROGRESS), ("log", LOGS)):
        if others.get(name) not in (None, *allowed):
            raise BadInput(f"--{name} must be one of {', '.join(allowed)}, not {others[name]!r}")
    for name, value in given.items() if others.get("resume") is not None else ():
        if name in base.keys() - {*MAY_CHANGE} and as_setting(base[name], value) != base[name]:
            raise BadInput(
                f"{flag(name)} {value} differs from {base[name]} in the run to resume; "
                f"only {', '.join(map(flag, MAY_CHANGE))} may change. Leave it out, or start a new run"
            )
    if not base:
        if preset not in known:
            raise BadInput(f"--preset must be one of {', '.join(sorted(known))}, not {preset!r}")
        base = known[preset].values | known[preset].by_env.get(given.get("env", Settings.env), {})
    return Job(chosen(base | given, algorithm), tuple(given), **others)


def one_by_one(job: Job) -> list[Job]:
    """Return the job of each of --seeds, or the one that there is; BadInput for what are no seeds."""
    if job.seeds is None:
        return [job]
    if "seed" in job.given:
        raise BadInput("use --seeds or --seed, not both")
    seeds = seeds_of(job.seeds)
    if not 1 <= len(seeds) <= MOST_SEEDS or len(set(seeds)) < len(seeds):
        raise BadInput(f"--seeds must be 1 to {MOST_SEEDS} different ones, such as 0-4 or 0,3,7, not {job.seeds!r}")
    outs = [job.out and os.path.join(job.out, f"seed{seed}") for seed in seeds]
    choices = [chosen(job.choice.flat() | {"seed": seed}, job.choice.algorithm) for seed in seeds]
    return [replace(job, out=out, choice=choice) for out, choice in zip(outs, choices, strict=True)]


def seeds_of(text: str) -> list[int] | range:
    """Return the numbers that 0-4 or 0,3,7 means; none for what means nothing."""
    if ends := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text):
        return range(int(ends[1]), int(ends[2]) + 1)
    return [int(number) for number in text.split(",")] if re.fullmatch(r"[0-9]{1,19}(,[0-9]{1,19})*", text) else []


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
