"""Whether a checkpoint fits its run: settings, environment, algorithm; looked at before anything is written.

That its bits are as the run wrote them: see `RunFolder.checkpoint`. Here is what that cannot know.
"""

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Member
from minitrpo.contract import NUMBERS, OWN
from minitrpo.errors import BadInput, told
from minitrpo.experience.collectors import UNFINISHED
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.modules import Untyped
from minitrpo.parallel.comm import flat, nested
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.stderr import say
from minitrpo.training.context import SETTINGS
from minitrpo.training.settings import Choice, chosen


def recorded_settings(folder: RunFolder) -> Choice:
    """Return the settings of a recorded run; BadInput if they are another version's or were damaged."""
    try:
        return chosen(folder.read_config()["settings"])
    except Untyped:
        raise
    except (TypeError, ValueError) as error:  # BadInput is a ValueError
        if str(error).startswith(str(folder.path)) or "version of minitrpo" in str(error):
            raise
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
    fresh = flat(algorithm.state())
    needed = {"theta": np.asarray(fresh["theta"]), OWN + "filter": np.zeros(2 + 2 * spec.observation_size)}
    for name, like in needed.items():
        array = checkpoint[name]
        if (array.shape, array.dtype) != (like.shape, like.dtype):
            raise BadInput(
                f"the checkpoint has {name}, {array.dtype} of shape {array.shape}, where {choice.common.env} with "
                f"{choice.common.algorithm} needs {like.dtype} of shape {like.shape}: it belongs to another run or "
                "environment"
            )
    own = {name: array for name, array in checkpoint.items() if not name.startswith((OWN, UNFINISHED))}
    odd = min(own.keys() ^ fresh.keys(), default="")
    odd = odd or next((name for name in own if own[name].dtype.kind not in NUMBERS), "")
    if odd:
        raise BadInput(f"the checkpoint does not fit {choice.common.algorithm}: see {odd!r}; it belongs to another run")
    try:
        restore_shared(fresh, own) if not isinstance(algorithm, Algorithm) else algorithm.restore(nested(own))
    except Exception as error:
        raise BadInput(f"{choice.common.algorithm} cannot take over the checkpoint: {told(error)}") from error


def restore_shared(fresh: Arrays, own: Arrays) -> None:
    """Raise ValueError unless a checkpoint's shared arrays are of the shapes and kinds of fresh ones."""
    for name, array in own.items():
        if array.shape != fresh[name].shape or array.dtype != fresh[name].dtype:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, where {fresh[name].shape} is needed")
