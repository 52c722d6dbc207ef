"""Whether a checkpoint fits its run: settings, environment, algorithm; looked at before anything is written."""

from typing import Any

import numpy as np

from minitrpo.errors import BadInput, told
from minitrpo.experience.collectors import UNFINISHED
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.policies import Array
from minitrpo.runs.actor import unfinished_slots
from minitrpo.runs.context import fresh_filter
from minitrpo.runs.files import SEAL, seal
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.learner import OWN
from minitrpo.runs.settings import Choice, chosen

SETTINGS = OWN + "settings"  # the fingerprint of the settings that a checkpoint was made with

NUMBERS = "biufc"  # kinds of dtypes
KINDS = {"f": "floats", "i": "integers", "b": "bools", "u": "integers", "c": "complex numbers"}
MOST_STEPS = 2**53  # beyond, the filter's count of them is no longer exact


def recorded_settings(folder: RunFolder) -> Choice:
    """Return the settings of a recorded run; BadInput if they are another version's or were damaged."""
    try:
        return chosen(folder.read_config()["settings"])
    except (TypeError, ValueError) as error:  # BadInput is a ValueError
        if str(error).startswith(str(folder.path)) or "version of minitrpo" in str(error):
            raise
        raise BadInput(f"{folder.path / 'config.json'} does not hold the settings of a run: {error}") from error


def load(folder: RunFolder) -> tuple[Choice, dict[str, Array]]:
    """Return settings and checkpoint of a recorded run, to be looked at; BadInput if they do not belong together."""
    choice = recorded_settings(folder)
    checkpoint, _ = folder.checkpoint()
    if not checkpoint:
        raise BadInput(f"{folder.path} has no checkpoint yet: the run has not begun")
    check_settings(choice, checkpoint, folder)
    return choice, checkpoint


def check_settings(choice: Choice, checkpoint: dict[str, Array], folder: RunFolder) -> None:
    """Raise BadInput unless the checkpoint was made with these settings."""
    if not np.array_equal(checkpoint.get(SETTINGS, np.zeros(0, np.uint8)), choice.fingerprint()):
        raise BadInput(
            f"{folder.path}: config.json is not the one with which checkpoint.npz was made: one of the two was edited, "
            "or is another run's, or another version's; put the right one back"
        )


def iteration_of(checkpoint: dict[str, Array]) -> int:
    """Return the updates that a checkpoint has; 0 if it does not say: see `check_arrays`."""
    counters = checkpoint.get(OWN + "counters", np.zeros(0))
    return int(counters[0]) if counters.shape == (2,) and counters.dtype.kind == "i" else 0


def check_arrays(checkpoint: dict[str, Array], algorithm: Any, spec: EnvironmentSpec, choice: Choice) -> None:
    """Raise BadInput unless a fresh algorithm can take over the checkpoint, and its arrays fit the environment."""
    untouched = np.array_equal(checkpoint.get(SEAL, np.zeros(0)), seal(checkpoint))
    fresh = algorithm.state()
    theta = np.asarray(fresh["theta"])
    expected = {"theta": (theta.shape, theta.dtype.kind), **_house_arrays(spec)}
    for name, (shape, kind) in expected.items():
        array = checkpoint.get(name, np.zeros(0))
        if array.shape != shape or array.dtype.kind != kind:
            raise BadInput(
                f"the checkpoint has {name}, {array.dtype} of shape {array.shape}, where {choice.common.env} with "
                f"{choice.common.algorithm} needs {KINDS[kind]} of shape {shape}: it was changed, or belongs to "
                "another run or environment"
            )
    own = {name: array for name, array in checkpoint.items() if not name.startswith((OWN, UNFINISHED))}
    if own.keys() != fresh.keys():
        odd = min(own.keys() ^ fresh.keys())
        raise BadInput(f"the checkpoint does not fit {choice.common.algorithm}: see {odd!r}; it belongs to another run")
    for name, array in own.items():
        if np.asarray(fresh[name]).dtype.kind in NUMBERS and array.dtype.kind not in NUMBERS:
            raise BadInput(f"the checkpoint has {name} of {array.dtype}, which are no numbers: it was changed")
    try:
        restore_shared(fresh, own) if choice.asynchronous else algorithm.restore(own)
    except Exception as error:
        raise BadInput(f"{choice.common.algorithm} cannot take over the checkpoint: {told(error)}") from error
    for name in [*expected, *(OWN + name for name in ("report", "seen") if OWN + name in checkpoint)]:
        if not np.all(np.isfinite(checkpoint[name])):
            raise BadInput(f"the checkpoint has a {name} that is not finite: there is nothing to go on from")
    if checkpoint["theta"].dtype != theta.dtype:
        raise BadInput(f"the checkpoint has a theta of {checkpoint['theta'].dtype}: it was changed")
    _check_own(checkpoint, fresh_filter(choice.common, spec).clip)
    _check_unfinished(checkpoint, spec, choice)
    if not untouched:
        raise BadInput("checkpoint.npz is not as the run wrote it: its checksum differs; put the right file back")


def _house_arrays(spec: EnvironmentSpec) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and kind of what every checkpoint has beside the algorithm's arrays."""
    shapes = {"filter": ((2 + 2 * spec.observation_size,), "f"), "counters": ((2,), "i")}
    shapes |= {"mean_length": ((1,), "f"), "time_s": ((1,), "f")}
    return {OWN + name: shape for name, shape in shapes.items()}


def _check_own(checkpoint: dict[str, Array], own_clip: float) -> None:
    """Raise BadInput unless the house's own numbers are such as a run that clips observations there writes."""
    filtered, (iteration, steps) = checkpoint[f"{OWN}filter"], checkpoint[f"{OWN}counters"].tolist()
    seen, clip, squares = filtered[0], filtered[1], filtered[2 + (len(filtered) - 2) // 2 :]
    if not 0 <= seen <= steps or clip != own_clip or np.any(squares < 0):
        raise BadInput(f"the checkpoint has a {OWN}filter that no run with its settings has: it was changed")
    if not 0 <= iteration <= steps <= MOST_STEPS:
        raise BadInput(f"the checkpoint has {OWN}counters that no run has: it was changed")
    if checkpoint[f"{OWN}mean_length"][0] < 1 or checkpoint[f"{OWN}time_s"][0] < 0:
        raise BadInput(f"the checkpoint has a {OWN}mean_length or {OWN}time_s that no run has: it was changed")


def restore_shared(fresh: dict[str, Array], own: dict[str, Array]) -> None:
    """Raise ValueError unless a checkpoint's shared arrays are of the shapes and kinds of fresh ones, and finite."""
    for name, array in own.items():
        if array.shape != fresh[name].shape or array.dtype != fresh[name].dtype:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, where {fresh[name].shape} is needed")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} is not finite")


def _check_unfinished(checkpoint: dict[str, Array], spec: EnvironmentSpec, choice: Choice) -> None:
    """Raise BadInput unless unfinished episodes are there for all slots, if they must be, and fit together."""
    names = ("numbers", "lengths", "actions", "observations")
    numbers, lengths, actions, observations = (checkpoint.get(UNFINISHED + name, np.zeros(0)) for name in names)
    iteration = int(checkpoint[OWN + "counters"][0])
    slots = unfinished_slots(choice.common) if iteration > 0 else 0
    whole = len(numbers) == len(lengths) == len(observations) == slots
    if whole and slots:
        whole = all(array.dtype.kind == "i" and array.shape == (slots,) for array in (numbers, lengths))
        whole = whole and bool(np.all(numbers >= 0) and np.all(lengths >= 0) and len(actions) == lengths.sum())
        whole = whole and np.array_equal(numbers % slots, np.arange(slots))  # episodes of a slot follow each other
        sizes = (spec.observation_size,), () if spec.discrete else (spec.action_size,)
        whole = whole and (observations.shape[1:], actions.shape[1:]) == sizes
        whole = whole and actions.dtype.kind == ("i" if spec.discrete else "f") and observations.dtype.kind == "f"
        whole = whole and bool(np.all(np.isfinite(actions)) and np.all(np.isfinite(observations)))
    if not whole:
        raise BadInput(f"the checkpoint does not have the unfinished episodes of {slots} environments: it is damaged")
