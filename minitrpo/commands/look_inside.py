"""What one update in this process shows of an algorithm: random numbers that nobody keyed, what restore() forgets."""

import pickle
import random
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Context
from minitrpo.experience.environments import describe
from minitrpo.parallel.comm import flat, nested
from minitrpo.run_folder.folder import RunFolder
from minitrpo.training.context import RunContext, make_algorithm
from minitrpo.training.settings import Choice
from minitrpo.training.synchronous import alone


def look_inside(choice: Choice) -> tuple[str, str]:
    """Return which method draws global random numbers, and what restore() does not bring back; "" for nothing.

    An asynchronous algorithm, or one that fails, shows nothing here: the runs will.
    """
    try:
        context = RunContext(choice, describe(choice.common.env), RunFolder(Path()), {})
        algorithm = make_algorithm(choice, context.spec)[0]
        if not isinstance(algorithm, Algorithm):
            return "", ""
        draws, before = watched(algorithm), attributes(algorithm)
        learner, rank = alone(context, algorithm)
        plan, request = learner.plan()
        rank.collector.refill()
        learner.learn(rank.collect(plan, request, checkpoint=False))
        return next(iter(draws), ""), forgotten(algorithm, before, make_algorithm(choice, context.spec)[0])
    except KeyboardInterrupt:
        raise
    except BaseException:  # exit() in a method of the user's, too
        return "", ""


def watched(algorithm: Algorithm) -> list[str]:
    """Note from here on which of an algorithm's methods draw random numbers that nobody keyed; return the notes."""
    notes: list[str] = []

    def watching(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            before = global_states()
            answer = method(*arguments)
            for whose, one, other in zip(("numpy", "Python"), before, global_states(), strict=True):
                if one != other:
                    notes.append(f"{name}() draws {whose}'s global random numbers")
            return answer

        return call

    for name in ("plan", "digest", "learn", "state"):
        setattr(algorithm, name, watching(name, getattr(algorithm, name)))
    return notes


def global_states() -> tuple[bytes, bytes]:
    """Return the states of numpy's and Python's global random numbers, to be compared."""
    numpys = np.random.get_state(legacy=False)  # noqa: NPY002 - looked at, not drawn from
    return pickle.dumps(numpys), pickle.dumps(random.getstate())


def forgotten(algorithm: Algorithm, before: dict[str, bytes], fresh: Algorithm) -> str:
    """Return which attribute changed in an update and is not brought back by restore(state()), in words."""
    fresh.restore(nested({name: np.array(array) for name, array in flat(algorithm.state()).items()}))
    after, there = attributes(algorithm), attributes(fresh)
    lost = [name for name in after if before.get(name) != after[name] != there.get(name)]
    return f"{min(lost)} changes in an update, and restore() does not bring it back" if lost else ""


def plain(value: Any) -> Any:
    """Return a value with Python's numbers in numpy's places: 3.0 that comes back from an array is 3.0."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    if type(value) in (list, tuple, set, deque):
        return [plain(each) for each in value]
    return {key: plain(each) for key, each in value.items()} if type(value) is dict else value


def attributes(algorithm: Algorithm) -> dict[str, bytes]:
    """Return what stands in an object's attributes, to be compared; without what cannot be written down."""
    found = {}
    for name, value in vars(algorithm).items():
        if not isinstance(value, Context) and not callable(value):
            try:
                found[name] = pickle.dumps(plain(value))
            except Exception:  # noqa: S112 - what cannot be written down cannot be compared
                continue
    return found
