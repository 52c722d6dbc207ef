"""A leaderboard of runs that anybody can repeat: a claim names its settings and its hash; the grader runs it again.

A run with the same settings gives the same bits on any number of ranks, so one process tells whether a claim is true.
Nothing of what was handed in is imported or executed: settings are read, checked, and written down anew.
"""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import gymnasium

from minitrpo.algorithms.options import flag
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.commands.command_line import RootParser
from minitrpo.course.grading.inside import limit_memory
from minitrpo.course.grading.running import Limits, environment
from minitrpo.course.grading.submissions import content, written
from minitrpo.errors import BadInput, one_line, shorten
from minitrpo.run_folder.folder import RunFolder, sha256
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.program import command
from minitrpo.training.run_context import check_settings, counted
from minitrpo.training.settings import Choice, algorithm_of, chosen, presets

ENDING, LARGEST = ".run.json", 2**16  # bytes of a claim
PACE = 50_000  # environment steps for which a repetition has as long as a cell of a notebook
MADE_WITH, TRAIN = ("machine", "versions"), ("--config", "config.json", "--out", "run", "--progress", "none")
VERDICTS = ("yes", "not tried", "cannot tell", "no", "refused")  # the best first


class Facts(NamedTuple):
    """What a run came to: its hash, the mean return of the last update's episodes, the steps at its goal."""

    theta_sha256: str
    mean_return: float | None
    steps_to_goal: int | None


class Claim(NamedTuple):
    """A run that somebody says to have made. `problem` says why it is none, if so."""

    who: str
    problem: str = ""
    choice: Choice | None = None
    facts: Facts = Facts("", None, None)
    made_with: tuple[Any, ...] = ()

    @property
    def cost(self) -> int:
        """Return about how many environment steps the run takes: the last update may go beyond their number."""
        return self.choice.common.total_steps + self.choice.common.steps_per_update if self.choice else 0


class Line(NamedTuple):
    """One line of the leaderboard."""

    who: str
    task: str
    settings: str
    mean_return: float | None
    steps_to_goal: int | None
    repeated: str


@command("entry")
def main(name: str, words: list[str]) -> int:
    """Print what to hand in of a run."""
    parser = RootParser(prog=name, allow_abbrev=False, description="Print a run as a claim: ... > ann.run.json")
    parser.add_argument("run", help="the folder of the run")
    folder = RunFolder.open(parser.parse_args(words).run)
    config = folder.read_config()
    choice, made = allowed(config["settings"]), {key: config["provenance"].get(key) for key in MADE_WITH}
    print(json.dumps({"settings": choice.flat(), **facts_of(folder, choice)._asdict(), **made}, indent=2))
    return 0


def facts_of(folder: RunFolder, choice: Choice) -> Facts:
    """Return what a run came to. Its goal is Gymnasium's `reward_threshold`, by the mean of an update's episodes."""
    checkpoint = folder.load_checkpoint()
    theta, rows = checkpoint.get("theta"), [row for row in folder.rows() if int(row["episodes"] or 0)]
    if checkpoint:
        check_settings(choice, checkpoint, folder)
        folder.check_log(*counted(checkpoint), choice.columns, choice.common.record_every)
    if theta is None or not rows:
        raise BadInput(f"{folder.path} has no checkpoint, or no episode has ended in it: train for longer")
    goal = gymnasium.registry[choice.common.env].reward_threshold
    there = [int(row["env_steps"]) for row in rows if goal is not None and float(row["mean_return"]) >= goal]
    return Facts(sha256(theta), float(rows[-1]["mean_return"]), there[0] if there else None)


def allowed(settings: Any) -> Choice:
    """Return settings of a run that can be repeated; BadInput for what is not Gymnasium's or the package's own."""
    env, algorithm = settings["env"], settings["algorithm"]
    known = gymnasium.registry.get(env)
    if not known or not isinstance(known.entry_point, str) or not known.entry_point.startswith("gymnasium.envs."):
        raise BadInput(f"{shorten(env)} is no environment of Gymnasium's own")
    if algorithm not in ALGORITHMS:
        raise BadInput(f"{shorten(algorithm)} is no algorithm of the package")
    choice = chosen(settings)
    if choice.asynchronous and choice.algorithm_settings.transport != "events":
        raise BadInput(f"runs of {algorithm} differ; only runs with --transport events can be repeated")
    return choice


def claims(path: Path) -> list[Claim]:
    """Return the claims in a folder."""
    files = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else []
    return [claim(written(file.relative_to(path)).removesuffix(ENDING), file) for file in files]


def claim(who: str, path: Path) -> Claim:
    """Return what a file claims, whatever is in it."""
    try:
        words = json.loads(content(path, LARGEST))
        choice, facts = allowed(words["settings"]), Facts(*(words.get(key) for key in Facts._fields))
        if not re.fullmatch("[0-9a-f]{64}", facts.theta_sha256):
            raise BadInput("its theta_sha256 is no hash")
        if not all(type(each) in (int, float) and -1e15 < each < 1e15 for each in facts[1:] if each is not None):
            raise BadInput("its mean_return or steps_to_goal is no number")
        return Claim(who, "", choice, facts, tuple(map(words.get, MADE_WITH)))
    except BadInput as error:
        return Claim(who, one_line(error))
    except OSError as error:
        return Claim(who, f"the file cannot be read: {error.strerror}")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return Claim(who, "this is no claim, as `minitrpo entry RUN` prints one")


def settings_of(choice: Choice) -> str:
    """Return the settings in which a run differs from the defaults of its algorithm on this environment."""
    preset = presets(algorithm_of(choice.common.algorithm))["default"]
    start = {"algorithm": choice.common.algorithm, "env": choice.common.env}
    usual = chosen({**preset.settings(choice.common.env), **start}).flat()
    others = (f"{flag(n)} {v}" for n, v in choice.flat().items() if n not in start and (v != usual[n] or n == "seed"))
    return " ".join([choice.common.algorithm, *others])


def leaderboard(found: list[Claim], steps: int, limits: Limits) -> list[Line]:
    """Return the table, by task and steps to the goal; claims that were refuted or are none come last.

    steps: of the environment, for all repetitions together; the cheapest run is repeated first.
    """
    lines = []
    for each in sorted(found, key=lambda each: (each.cost, each.who)):
        if each.choice is None:
            lines.append(Line(each.who, "", "", None, None, f"refused: {each.problem}"))
            continue
        verdict = "not tried"
        if each.cost <= steps:
            steps -= each.cost
            print(f"repeating {each.who}: {each.cost} steps of {each.choice.common.env}", file=sys.stderr)
            try:
                verdict = judged(each, repeated(each.choice, limits))
            except BadInput as error:
                verdict = f"cannot tell: {one_line(error)}"
        lines.append(Line(each.who, each.choice.common.env, settings_of(each.choice), *each.facts[1:], verdict))
    return sorted(lines, key=rank)


def rank(line: Line) -> tuple[Any, ...]:
    """Return where a line stands: by task, and there by what was found, steps to the goal, return, name."""
    place = [line.repeated.startswith(word) for word in VERDICTS].index(True)
    return not line.task, line.task, place, line.steps_to_goal or float("inf"), -(line.mean_return or 0), line.who


def judged(claimed: Claim, here: Facts) -> str:
    """Return the verdict of a repetition on a claim. The same bits are guaranteed only on one kind of processor."""
    if here == claimed.facts:
        return "yes, to the bit"
    came = f"return {here.mean_return:g}, {here.steps_to_goal or 'no'} steps to the goal"
    if here.theta_sha256 == claimed.facts.theta_sha256:
        return f"no: the policy is the same, but it has {came}"
    if claimed.made_with != tuple(map(provenance().get, MADE_WITH)):
        return f"cannot tell: made on another machine or with other versions; here {came}"
    return f"no: another policy, with {came}"


def repeated(choice: Choice, limits: Limits) -> Facts:
    """Return what a run comes to here, alone in a process; BadInput if it comes to nothing."""
    seconds = limits.seconds * (1 + choice.common.total_steps // PACE)
    with TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps({"settings": choice.flat()}))
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", "minitrpo", "train", *TRAIN], cwd=folder, env=environment(folder),
                text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, preexec_fn=functools.partial(limit_memory, limits.memory),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BadInput(f"it ran longer than {seconds:g} s") from None
        if done.returncode:
            raise BadInput(shorten(" ".join(done.stderr.splitlines()[-1:]) or f"exit code {done.returncode}", str, 200))
        return facts_of(RunFolder.open(f"{folder}/run"), choice)
