"""Whether a checkpoint fits its run: settings, environment, algorithm; looked at before anything is written.

That its bits are as the run wrote them: see `RunFolder.checkpoint`. Here is what that cannot know.
"""

from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Member
from minitrpo.contract import OWN, UNFINISHED
from minitrpo.errors import BadInput, describe_error
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.modules import Untyped
from minitrpo.parallel.comm import flat, nested
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.stderr import say
from minitrpo.training.context import SETTINGS
from minitrpo.training.settings import Choice, chosen

FILTER = OWN + "filter"


def recorded_settings(folder: RunFolder) -> Choice:
    """Return the settings of a recorded run; BadInput if they are another version's or were damaged."""
    settings = folder.read_config()["settings"]
    try:
        return chosen(settings)
    except Untyped:
        raise
    except (TypeError, ValueError) as error:  # BadInput is a ValueError
        raise BadInput(f"{folder.path / 'config.json'} does not hold the settings of a run: {error}") from error


def load(folder: RunFolder) -> tuple[Choice, Arrays]:
    """Return settings and checkpoint of a recorded run, to be looked at; BadInput if they do not belong together."""
    choice = recorded_settings(folder)
    checkpoint, note = folder.checkpoint()
    if note:
        say(note.replace("going on from", "this is the older policy of"))
    if not checkpoint:
        raise BadInput(f"{folder.path} has no checkpoint yet: the run has not begun")
    check_settings(choice, checkpoint, folder)
    return choice, checkpoint


def check_settings(choice: Choice, checkpoint: Arrays, folder: RunFolder) -> None:
    """Raise BadInput unless the checkpoint was made with these settings."""
    if not np.array_equal(checkpoint.get(SETTINGS, np.zeros(0, np.uint8)), choice.fingerprint()):
        raise BadInput(
            f"{folder.path}: config.json is not the one with which checkpoint.npz was made: one of the two was edited, "
            "or is another run's, or another version's; put the right one back"
        )


def check_arrays(checkpoint: Arrays, algorithm: Member, spec: EnvironmentSpec, choice: Choice) -> None:
    """Raise BadInput unless a fresh algorithm can take over the checkpoint, in this environment."""
    fresh, synchronous = flat(algorithm.state()), isinstance(algorithm, Algorithm)
    own = {name: array for name, array in checkpoint.items() if not name.startswith((OWN, UNFINISHED))}
    fixed = {"theta": fresh["theta"]} if synchronous else fresh  # what else an algorithm keeps may grow
    fixed = {**fixed, FILTER: np.zeros(2 + 2 * spec.observation_size)}
    odd = min(own.keys() ^ fresh.keys(), default="")
    odd = odd or next((name for name, like in fixed.items() if kind(checkpoint[name]) != kind(like)), "")
    if odd:
        raise BadInput(
            f"the checkpoint does not fit {choice.common.algorithm} in {choice.common.env}: see {odd!r}; it belongs to "
            "another run or environment"
        )
    if isinstance(algorithm, Algorithm):
        try:
            algorithm.restore(nested(own))
        except Exception as error:
            raise BadInput(
                f"{choice.common.algorithm} cannot take over the checkpoint: {describe_error(error)}"
            ) from error


def kind(array: Any) -> tuple[Any, ...]:
    """Return the shape and the dtype of what is an array, or becomes one."""
    return np.shape(array), np.asarray(array).dtype
