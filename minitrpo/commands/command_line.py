"""The command line of `train`, made from settings; of all ranks one speaks, in one line."""

import argparse
import textwrap
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

from minitrpo.algorithms import registry
from minitrpo.algorithms.algorithm import Preset
from minitrpo.algorithms.asynchronous_algorithm import AsynchronousAlgorithm
from minitrpo.algorithms.options import flag
from minitrpo.errors import BadInput
from minitrpo.experience.modules import trust
from minitrpo.parallel.launcher import launched_rank
from minitrpo.run_folder.recorded import recorded
from minitrpo.supervision.hang_detector import STUCK_AFTER
from minitrpo.training.settings import MAY_CHANGE, Choice, Settings, algorithm_of, chosen

SAME_BITS = "A run with the same settings and seed gives the same policy, to the bit, on any number of ranks."
ASYNCHRONOUS = (
    "Without a barrier no two runs are equal, but those with --transport events are, to the bit, on any ranks."
)
METAVARS = {int: "N", float: "X", str: "TEXT"}


@dataclass(frozen=True)
class Arguments:
    """A command line: the settings asked for, and what does not touch the result."""

    given: dict[str, Any]  # settings named on the command line
    preset: str | None
    out: str | None
    resume: str | None
    trace: bool
    oversubscribe: bool
    progress: str
    stuck_after: float
    config: str | None = None
    seeds: str | None = None
    words: tuple[str, ...] = ()  # all of it, to be read again when a resumed run's algorithm is known

    def choice(self) -> Choice:
        """Return the settings of a new run: preset or another run's, then what was given."""
        if self.config is not None:
            return chosen({**recorded(self.config), **self.given})
        name, env = (self.given.get(key, getattr(Settings, key)) for key in ("algorithm", "env"))
        preset = presets(algorithm_of(name))[self.preset or "default"]
        return chosen({**preset.values, **preset.by_env.get(env, {}), **self.given})

    def resumed(self, recorded: dict[str, Any]) -> Choice:
        """Return the settings of a recorded run with the few changes that are allowed; BadInput for any other."""
        choice = chosen(recorded)
        known = choice.flat()
        args = read(list(self.words), choice.common.algorithm)
        given = args.given
        if args.preset is not None:
            raise BadInput(f"--preset {args.preset} chooses the settings of a new run; the run to resume has its own")
        for name, value in given.items():
            if name not in MAY_CHANGE and value != known[name]:
                raise BadInput(
                    f"{flag(name)} {value} differs from the {known[name]} of the run to resume; "
                    f"only {', '.join(map(flag, MAY_CHANGE))} may change: leave it out, or start a new run"
                )
        return chosen(known | {name: given[name] for name in MAY_CHANGE if name in given})


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


def whole(text: str) -> int:
    """Return an integer written as 5000, 5_000 or 5e3."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


whole.__name__ = "integer"  # argparse names the type in its message


def presets(algorithm: Any) -> dict[str, Preset]:
    """Return the presets of an algorithm, "default" among them."""
    return {"default": Preset("the defaults below"), **algorithm.presets}


def job_parser(defaults: dict[str, Any] | None = None) -> RootParser:
    """Return a parser of what every run can be told; `defaults`: those that an algorithm changes."""
    parser = RootParser(add_help=False, allow_abbrev=False)
    group = parser.add_argument_group("the job")
    group.add_argument("--out", metavar="DIR", help="run folder to create (default: runs/ENV-seedS, numbered)")
    group.add_argument("--resume", metavar="DIR", help="go on with the run in this folder, to the bit")
    group.add_argument(
        "--config",
        metavar="FILE",
        help="begin with the settings in a run's config.json; what else is given changes them",
    )
    group.add_argument(
        "--seeds", metavar="A-B", help="a run for each, one after the other: 0-4, or 0,3,7; with --out in OUT/seedN"
    )
    group.add_argument("--trace", action="store_true", help="write trace.json, what every rank did when (Perfetto)")
    group.add_argument(
        "--oversubscribe",
        action="store_true",
        help="let ranks work that have no core of their own, or too little to play; the bits are the same",
    )
    modes = ("auto", "bar", "lines", "none")
    group.add_argument("--progress", choices=modes, default="auto", help="auto: a bar on a terminal, else lines")
    add_stuck_after(
        group, "end the job if an environment stands still for so long, or an algorithm for 20 times as long"
    )
    add_options(parser.add_argument_group("the run"), Settings, defaults or {})
    return parser


def train_parser(algorithm: Any, name: str, program: str) -> TrainParser:
    """Return the command line of `train` for one algorithm."""
    choices = presets(algorithm)
    defaults = choices["default"].values
    parser = TrainParser(
        prog=program,
        allow_abbrev=False,
        parents=[job_parser(defaults)],
        description="Train a policy. Alone, or on 8 ranks: mpiexec -n 8 python mpi_scripts/train.py --env ID",
        epilog=ASYNCHRONOUS if issubclass(algorithm, AsynchronousAlgorithm) else SAME_BITS,
    )
    takes = f"for environments with {' or '.join(algorithm.actions)} actions"
    group = parser.add_argument_group(f"the algorithm {name}", takes)
    by_text: dict[str, list[str]] = {}
    for key, preset in choices.items():
        by_text.setdefault(preset.text, []).append(key)
    text = "; ".join(f"{' or '.join(keys)}: {said}" for said, keys in by_text.items())
    group.add_argument("--preset", choices=sorted(choices), help=text.replace("%", "%%"))
    add_options(group, algorithm.Settings, defaults)
    return parser


def add_options(group: Any, settings: Any, defaults: dict[str, Any]) -> None:
    """Add an option for every field of a dataclass of settings; `defaults`: those that differ from the fields'."""
    for f in fields(settings):
        default, source = defaults.get(f.name, f.default), f.metadata["source"]
        notes = [f"default: {default}"] + ([f"source: {source}"] if source and default == f.default else [])
        group.add_argument(
            flag(f.name),
            type=whole if isinstance(f.default, int) else type(f.default),
            default=argparse.SUPPRESS,
            choices=f.metadata["choices"] or None,
            metavar=None if f.metadata["choices"] else METAVARS[type(f.default)],
            help=f"{f.metadata['help']} ({'; '.join(notes)})".replace("%", "%%"),
        )


def read(words: list[str], algorithm: str, program: str = "train") -> Arguments:
    """Return what a command line says to a known algorithm; BadInput if it makes no sense."""
    named = vars(train_parser(algorithm_of(algorithm), algorithm, program).parse_args(words))
    return _arguments(named, words)


def parse(words: list[str], program: str = "train") -> Arguments:
    """Return the job that a command line asks for; BadInput if it makes no sense."""
    first, _ = job_parser().parse_known_args(words)
    trust(vars(first).get("env"), vars(first).get("algorithm"))
    asks_for_help = {"-h", "--help"} & set(words)
    if first.resume and not asks_for_help:  # the recorded run knows its algorithm, and root alone can read it
        arguments = _arguments({"preset": None, **vars(first)}, words)
    else:
        of_config = recorded(first.config) if first.config and not asks_for_help else {}
        default = of_config.get("algorithm", registry.DEFAULT)
        arguments = read(words, vars(first).get("algorithm", default), program)
        arguments.choice()
    check_together(arguments)
    if not 0 < arguments.stuck_after < float("inf"):
        raise BadInput(f"--stuck-after must be a positive number of seconds, not {arguments.stuck_after:g}")
    return arguments


def check_together(arguments: Arguments) -> None:
    """Raise BadInput for options of the job that exclude each other."""
    if "" in (arguments.out, arguments.resume):
        raise BadInput("--out and --resume need the name of a folder, not an empty text")
    for one, other, why in (
        ("out", "resume", "--out names a new run and --resume an old one"),
        ("config", "resume", "--config is for a new run, and the run to --resume has its own settings"),
        ("seeds", "resume", "--seeds makes new runs, and --resume goes on with an old one"),
        ("config", "preset", "--config and --preset each choose all settings"),
    ):
        if getattr(arguments, one) and getattr(arguments, other):
            raise BadInput(f"{why}: give one of the two")
    if arguments.seeds is not None and "seed" in arguments.given:
        raise BadInput("--seeds names all seeds: leave out --seed")


def add_stuck_after(parser: Any, what: str) -> None:
    """Add the option of the watchdog."""
    parser.add_argument("--stuck-after", type=float, default=STUCK_AFTER, metavar="S", help=f"{what} (30 s)")


def _arguments(named: dict[str, Any], words: list[str]) -> Arguments:
    own = {f.name: named.pop(f.name) for f in fields(Arguments) if f.name in named}
    return replace(Arguments(given=named, **own), words=tuple(words))
