"""minitrpo: parallel Trust Region Policy Optimization, a small package for a course and for training.

    from minitrpo import evaluate, load, train

    run = train("CartPole-v1", total_steps=50_000)   # algorithm=..., seed=..., any setting
    print(evaluate(run))                             # fresh episodes of the mean action
    policy = load(run)                               # network, observation filter, action bounds
    action = policy(observation)

`help(minitrpo.train)` says more; the page docs/python.md has examples. The modules next to this file contain only the
mathematics, and the packages serve them: see docs/architecture.md.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitrpo.errors import AlgorithmFailed, BadInput, EpisodeFailed
    from minitrpo.experience.evaluation import Evaluation
    from minitrpo.python_api import Run, check, evaluate, load, train
    from minitrpo.reports.trained_policy import TrainedPolicy

__version__ = "0.3.0"
__all__ = [
    "AlgorithmFailed",
    "BadInput",
    "EpisodeFailed",
    "Evaluation",
    "Run",
    "TrainedPolicy",
    "check",
    "evaluate",
    "load",
    "train",
]


def __getattr__(name: str) -> Any:
    """Return what is imported when it is first asked for: `import minitrpo` alone loads nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    places = dict.fromkeys(("AlgorithmFailed", "BadInput", "EpisodeFailed"), "errors")
    places |= {"Evaluation": "experience.evaluation", "TrainedPolicy": "reports.trained_policy"}
    return getattr(import_module(f"{__name__}.{places.get(name, 'python_api')}"), name)


def __dir__() -> list[str]:
    """Return the names that help() shows, too."""
    return sorted({*globals(), *__all__})
