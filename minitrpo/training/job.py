"""A job: the settings of a run and what is asked for beside them, from a command line or from Python."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minitrpo.algorithms import registry
from minitrpo.algorithms.options import as_setting, flag
from minitrpo.errors import BadInput
from minitrpo.experience.trust import Untyped, trust
from minitrpo.run_folder.folder import RunFolder, read_json
from minitrpo.training.settings import (
    LOGS,
    MAY_CHANGE,
    OF_A_JOB,
    PROGRESS,
    Choice,
    JobOptions,
    Settings,
    algorithm_of,
    chosen,
    presets,
)

MOST_SEEDS = 1000
APART = (("out", "resume"), ("config", "resume"), ("seeds", "resume"), ("preset", "resume"), ("config", "preset"))
Read = Callable[[str], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Job(JobOptions):
    """A run that is asked for: its settings, and what does not touch its result."""

    choice: Choice
    named: tuple[str, ...] = ()  # the settings that were asked for by name


def recorded_settings(folder: RunFolder) -> Choice:
    """Return the settings of a recorded run; BadInput if they are another version's or were damaged."""
    settings = folder.read_config()["settings"]
    try:
        return chosen(*of_this_version(settings))
    except Untyped:
        raise
    except (TypeError, ValueError) as error:  # BadInput is a ValueError
        raise BadInput(f"{folder.path / 'config.json'} does not hold the settings of a run: {error}") from error


def of_this_version(settings: dict[str, Any], name: str | None = None) -> tuple[dict[str, Any], Any]:
    """Return recorded settings without those that have been removed since.

    Args:
        settings: those of a config.json.
        name: of the algorithm, by default the one of the settings.

    Returns:
        The settings, and the class of the algorithm.

    """
    algorithm = algorithm_of(name or str(settings.get("algorithm", registry.DEFAULT)))
    return {name: value for name, value in settings.items() if algorithm.removed.get(name) != value}, algorithm


def recorded(path: str) -> dict[str, Any]:
    """Return the settings of the run in this folder; BadInput if there is none."""
    return recorded_settings(RunFolder.open(path)).flat()


def settings_to_begin_with(asked: dict[str, Any], read: Read = recorded) -> tuple[dict[str, Any], Any]:
    """Return the settings that a job takes over from elsewhere, and the class of its algorithm.

    Args:
        asked: options of a job and settings by name, as far as they are known; texts, or values from Python.
        read: gets the settings of a run to resume from its folder, which other machines than the root's need not see.

    Returns:
        The settings of --resume or --config by name, {} without them; the class of the algorithm.

    Raises:
        BadInput: options contradict each other, a folder or file has no settings, or there is no such algorithm.

    """
    for one, other in APART:
        if asked.get(one) is not None and asked.get(other) is not None:
            raise BadInput(f"--{one} and --{other} exclude each other: give one of them")
    if "" in (asked.get("out"), asked.get("resume")):
        raise BadInput("--out and --resume need the name of a folder, not an empty text")
    if asked.get("resume") is not None:
        taken = read(asked["resume"])
        return taken, algorithm_of(taken["algorithm"])
    if asked.get("config") is None:
        return {}, algorithm_of(asked.get("algorithm", registry.DEFAULT))
    place = Path(asked["config"])
    settings = read_json(place / "config.json" if place.is_dir() else place)["settings"]
    return of_this_version(settings, asked.get("algorithm"))


def make_job(asked: dict[str, Any], base: dict[str, Any], algorithm: Any) -> Job:
    """Return the job of these options and settings.

    Args:
        asked: options of a job and settings by name; texts, or values from Python.
        base: the settings to begin with, {} for those of a preset: see `settings_to_begin_with`.
        algorithm: the class of the algorithm.

    Raises:
        BadInput: a value is outside its limits, or is not that of the run to resume.

    """
    others = {name: value for name, value in asked.items() if name in OF_A_JOB}
    settings = {name: value for name, value in asked.items() if name not in OF_A_JOB}
    trust(settings.get("core"))
    for name, allowed in (("progress", PROGRESS), ("log", LOGS)):
        if others.get(name) not in (None, *allowed):
            raise BadInput(f"--{name} must be one of {', '.join(allowed)}, not {others[name]!r}")
    if others.get("resume") is not None:
        check_unchanged(settings, base)
    if not base:
        known, preset = presets(algorithm), others.get("preset") or "default"
        if preset not in known:
            raise BadInput(f"--preset must be one of {', '.join(sorted(known))}, not {preset!r}")
        base = known[preset].settings(settings.get("env", Settings.env))
    return Job(choice=chosen(base | settings, algorithm), named=tuple(settings), **others)


def check_unchanged(settings: dict[str, Any], base: dict[str, Any]) -> None:
    """Raise BadInput if a setting that decides the numbers differs from that of the run to resume, `base`."""
    for name, value in settings.items():
        if name in base and name not in MAY_CHANGE and as_setting(base[name], value) != base[name]:
            raise BadInput(
                f"{flag(name)} {value} differs from {base[name]} in the run to resume; "
                f"only {', '.join(map(flag, MAY_CHANGE))} may change. Leave it out, or start a new run"
            )


def one_by_one(job: Job) -> list[Job]:
    """Return the job of each of --seeds, or the one that there is; BadInput for what are no seeds."""
    if job.seeds is None:
        return [job]
    if "seed" in job.named:
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
