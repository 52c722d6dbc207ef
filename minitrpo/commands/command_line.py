"""The command line of `train`, made from settings; of all ranks one speaks, in one line."""

import argparse
import os
import re
import textwrap
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NoReturn

from minitrpo.algorithms import registry
from minitrpo.algorithms.options import as_setting, flag
from minitrpo.errors import BadInput
from minitrpo.experience.modules import trust
from minitrpo.parallel.launcher import launched_rank
from minitrpo.run_folder.folder import RunFolder, recorded
from minitrpo.supervision.watchdog import STUCK_AFTER
from minitrpo.training.settings import MAY_CHANGE, Choice, Settings, algorithm_of, chosen, presets

SAME_BITS = "A run with the same settings and seed gives the same policy, to the bit, on any number of ranks."
ASYNCHRONOUS = (
    "Without a barrier no two runs are equal, but those with --transport events are, to the bit, on any ranks."
)
METAVARS = {int: "N", float: "X", str: "TEXT"}
PROGRESS = ("auto", "bar", "lines", "none")
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Job:
    """A run that is asked for, from a command line or from Python: its settings, and what does not touch its result."""

    given: dict[str, Any]  # settings by name, as they were asked for
    words: tuple[str, ...] = ()  # of the command line to resume a run, which only its algorithm understands
    preset: str | None = None
    out: str | None = None
    resume: str | None = None
    config: str | None = None
    seeds: str | None = None
    trace: bool = False
    oversubscribe: bool = False
    progress: str = "auto"
    stuck_after: float = STUCK_AFTER
    choice: Choice | None = None  # all settings of a new run

    def resumed(self, recorded: Choice) -> Choice:
        """Return the settings of a recorded run with the few changes that are allowed; BadInput for any other."""
        known, own = recorded.flat(), vars(make_parser("train", recorded.algorithm).parse_args(list(self.words)))
        given = typed(self.given | {name: own[name] for name in own.keys() & known.keys()}, recorded.algorithm)
        for name, value in given.items():
            if name not in known:
                raise BadInput(f"{recorded.common.algorithm} has no setting {flag(name)}")
            if name not in MAY_CHANGE and value != known[name]:
                raise BadInput(
                    f"{flag(name)} {value} differs from the {known[name]} of the run to resume; "
                    f"only {', '.join(map(flag, MAY_CHANGE))} may change: leave it out, or start a new run"
                )
        return recorded.changed(**given)


class RootParser(argparse.ArgumentParser):
    """An argument parser that raises BadInput, and of whose help one rank speaks."""

    def error(self, message: str) -> NoReturn:
        """Raise BadInput with one line."""
        raise BadInput(f"{message}; see --help")

    def print_help(self, file: Any = None) -> None:
        """Print the help, once."""
        if launched_rank() == 0:
            super().print_help(file)


class TrainParser(RootParser):
    """The parser of `train`, whose help says in its last lines which algorithms take which actions."""

    def format_help(self) -> str:
        """Return the help; all algorithms are imported for it."""
        return f"{super().format_help()}\n{textwrap.fill(registry.actions_of_all(), 79, break_on_hyphens=False)}\n"


def make_parser(program: str, algorithm: Any = None, name: str = "") -> TrainParser:
    """Return the parser of what every run can be told, and of an algorithm's own settings and help if it is given."""
    known = {} if algorithm is None else presets(algorithm)
    defaults = known["default"].values if known else {}
    parser = TrainParser(
        prog=program,
        allow_abbrev=False,
        add_help=algorithm is not None,
        description="Train a policy. Alone, or on 8 ranks: mpiexec -n 8 python mpi_scripts/train.py --env ID",
    )
    job = parser.add_argument_group("the job")
    job.add_argument("--out", metavar="DIR", help="run folder to create (default: runs/ENV-seedS, numbered)")
    job.add_argument("--resume", metavar="DIR", help="go on with the run in this folder, to the bit")
    job.add_argument(
        "--config",
        metavar="FILE",
        help="begin with the settings in a run's config.json; what else is given changes them",
    )
    job.add_argument(
        "--seeds", metavar="A-B", help="a run for each, one after the other: 0-4, or 0,3,7; with --out in OUT/seedN"
    )
    job.add_argument("--trace", action="store_true", help="write trace.json, what every rank did when (Perfetto)")
    job.add_argument(
        "--oversubscribe",
        action="store_true",
        help="let ranks work that have no core of their own, or too little to play; the bits are the same",
    )
    job.add_argument(
        "--progress", metavar=one_of(PROGRESS), default="auto", help="auto: a bar on a terminal, else lines"
    )
    add_stuck_after(job, "end the job if an environment stands still for so long, or an algorithm for 20 times as long")
    keys = {preset.text: [key for key in known if known[key].text == preset.text] for preset in known.values()}
    text = "; ".join(f"{' or '.join(names)}: {said}" for said, names in keys.items())
    job.add_argument("--preset", metavar=one_of(sorted(known)), help=text.replace("%", "%%"))
    add_options(parser.add_argument_group("the run"), Settings, defaults)
    if algorithm is not None:
        parser.epilog = ASYNCHRONOUS if algorithm.loop == "asynchronous" else SAME_BITS
        takes = f"for environments with {' or '.join(algorithm.actions)} actions"
        add_options(parser.add_argument_group(f"the algorithm {name}", takes), algorithm.Settings, defaults)
    return parser


def add_options(group: Any, settings: Any, defaults: dict[str, Any]) -> None:
    """Add an option for every field of a dataclass of settings; `defaults`: those that differ from the fields'."""
    for f in fields(settings):
        default, source = defaults.get(f.name, f.default), f.metadata["source"]
        notes = [f"default: {default}"] + ([f"source: {source}"] if source and default == f.default else [])
        group.add_argument(
            flag(f.name),
            type=partial(as_setting, f.default),
            default=argparse.SUPPRESS,
            metavar=one_of(f.metadata["choices"]) if f.metadata["choices"] else METAVARS[type(f.default)],
            help=f"{f.metadata['help']} ({'; '.join(notes)})".replace("%", "%%"),
        )


def one_of(names: Any) -> str:
    """Return some names as a help shows them."""
    return f"{{{','.join(names)}}}"


def add_stuck_after(parser: Any, what: str) -> None:
    """Add the option of the watchdog."""
    parser.add_argument("--stuck-after", type=seconds, default=STUCK_AFTER, metavar="S", help=f"{what} (30 s)")


def seconds(text: str) -> float:
    """Return a positive number of seconds."""
    number = as_setting(0.0, text)
    if not (isinstance(number, float) and 0 < number < float("inf")):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, not {text}")
    return number


def parse(words: list[str], program: str = "train") -> Job:
    """Return the job that a command line asks for; BadInput if it makes no sense.

    What every run can be told is read first; what is left is the algorithm's, that of a run to resume for the root.
    """
    first, rest = make_parser(program).parse_known_args(words)
    asked = vars(first)
    trust(asked.get("env"), asked.get("algorithm"))
    if {"-h", "--help"} & set(rest):
        name = asked.get("algorithm", registry.DEFAULT)
        make_parser(program, algorithm_of(name), name).parse_args(["--help"])
    if first.resume is not None:
        return make_job(asked, tuple(rest))
    base, algorithm = beginning(asked)
    make_parser(program, algorithm).parse_args(rest, first)
    return new_job(asked, base, algorithm)


def choice_of(words: list[str]) -> Choice:
    """Return the settings of the new run that a command line asks for."""
    choice = parse(words).choice
    if choice is None:
        raise BadInput("--resume goes on with a run, and a new one is asked for here")
    return choice


def make_job(asked: dict[str, Any], words: tuple[str, ...] = ()) -> Job:
    """Return the job of these keywords, settings and others, as far as that can be said without their algorithm."""
    others = {f.name: asked[f.name] for f in fields(Job) if f.name in asked}
    job = Job({name: value for name, value in asked.items() if name not in others}, words, **others)
    for one, other, why in (
        ("out", "resume", "--out names a new run and --resume an old one"),
        ("config", "resume", "--config is for a new run, and the run to --resume has its own settings"),
        ("seeds", "resume", "--seeds makes new runs, and --resume goes on with an old one"),
        ("preset", "resume", "--preset is for a new run, and the run to --resume has its own settings"),
        ("config", "preset", "--config and --preset each choose all settings"),
    ):
        if getattr(job, one) is not None and getattr(job, other) is not None:
            raise BadInput(f"{why}: give one of the two")
    if job.seeds is not None and "seed" in job.given:
        raise BadInput("--seeds names all seeds: leave out --seed")
    if "" in (job.out, job.resume):
        raise BadInput("--out and --resume need the name of a folder, not an empty text")
    if job.progress not in PROGRESS:
        raise BadInput(f"--progress must be one of {', '.join(PROGRESS)}, not {job.progress!r}")
    return job


def beginning(asked: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the settings of --config, {} without, and the class of the algorithm of a new run."""
    base = {} if asked.get("config") is None else recorded(asked["config"])
    return base, algorithm_of(asked.get("algorithm", base.get("algorithm", registry.DEFAULT)))


def new_job(asked: dict[str, Any], base: dict[str, Any], algorithm: Any) -> Job:
    """Return the job of a new run: the settings of a preset or of `base`, then those that were asked for, checked."""
    job, known = make_job(asked), presets(algorithm)
    if job.preset is not None and job.preset not in known:
        raise BadInput(f"--preset must be one of {', '.join(sorted(known))}, not {job.preset!r}")
    preset, given = known[job.preset or "default"], typed(job.given, algorithm)
    base = base or preset.values | preset.by_env.get(given.get("env", Settings.env), {})
    return replace(job, choice=chosen(base | given, algorithm))


def typed(given: dict[str, Any], algorithm: Any) -> dict[str, Any]:
    """Return settings as they are kept: 5e3 or "5_000" as 5000, True as yes."""
    defaults = {f.name: f.default for settings in (Settings, algorithm.Settings) for f in fields(settings)}
    return {name: as_setting(defaults.get(name), value) for name, value in given.items()}


def one_by_one(job: Job) -> list[Job]:
    """Return the job of each of --seeds, or the one that there is; BadInput for what are no seeds."""
    if job.seeds is None or job.choice is None:
        return [job]
    seeds = seeds_of(job.seeds)
    if not 1 <= len(seeds) <= MOST_SEEDS or len(set(seeds)) < len(seeds):
        raise BadInput(f"--seeds must be 1 to {MOST_SEEDS} different ones, such as 0-4 or 0,3,7, not {job.seeds!r}")
    outs = [job.out and os.path.join(job.out, f"seed{seed}") for seed in seeds]
    return [replace(job, out=out, choice=job.choice.changed(seed=s)) for out, s in zip(outs, seeds, strict=True)]


def seeds_of(text: str) -> list[int]:
    """Return the numbers that 0-4 or 0,3,7 means; none for what means nothing, or too many."""
    ends = re.fullmatch(r"([0-9]{1,19})-([0-9]{1,19})", text)
    if ends:
        first, last = int(ends[1]), int(ends[2])
        return list(range(first, last + 1)) if last - first < MOST_SEEDS else []
    return [int(number) for number in text.split(",")] if re.fullmatch(r"[0-9]{1,19}(,[0-9]{1,19})*", text) else []


# --- commands that look at a run


def run_parser(program: str, description: str | None) -> RootParser:
    """Return a parser of the folder of a run, and of its names, typed again where their code is to be trusted."""
    parser = RootParser(prog=program, allow_abbrev=False, description=description)
    parser.add_argument("run", help="run folder, as training printed it")
    for name, metavar in (("env", "ID"), ("algorithm", "module:Name")):
        text = f"that of the run, named again where it lies in the folder you are in: its code will run ({metavar})"
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    add_stuck_after(parser, "end if the environment stands still for so long")
    return parser


def trusted(folder: RunFolder, typed: dict[str, Any]) -> RunFolder:
    """Take the names among `typed` for trusted, and return their run; BadInput for a name that it does not have."""
    settings = folder.read_config()["settings"]
    for name in ("env", "algorithm"):
        if typed.get(name) not in (None, settings.get(name)):
            raise BadInput(f"--{name} {typed[name]} differs from the {settings.get(name)} of the run: leave it out")
    trust(typed.get("env"), typed.get("algorithm"))
    return folder
