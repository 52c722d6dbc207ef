"""All experiments, and what pages show of them."""

from collections.abc import Callable
from functools import partial
from inspect import getsource

from experiments import as_typed, claims, family, limit, parts, peers, posture, returns, rules, scaling, seconds
from experiments.harness import Experiment, made_by
from minitrpo.course import reinforce
from minitrpo.course.scaling.command import shown as shown_of
from minitrpo.errors import BadInput

ALONE = (family.EXPERIMENT, family.HELD, returns.EXPERIMENT, rules.EXPERIMENT, posture.EXPERIMENT, seconds.EXPERIMENT)
ALONE += (as_typed.EXPERIMENT, limit.EXPERIMENT, limit.OF_A_RUN, *parts.EXPERIMENTS, scaling.EXPERIMENT)
EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (*claims.CLAIMS.values(), *ALONE, *peers.EXPERIMENTS)}
GROUPS = {"claims": list(claims.CLAIMS)}


def shown(experiment: Experiment) -> str:
    """Return what a page shows of an experiment, and what made it."""
    runs = experiment.runs()
    made = f"{made_by(experiment, runs)}; `python -m experiments run {experiment.name}`"
    return f"{experiment.report(experiment, runs)}\n\n*{made}.*"


# What stands in a page between <!-- name --> and <!-- /name -->
BLOCKS: dict[str, Callable[[], str]] = {
    "claims": claims.table,
    "reinforce": lambda: f"```python\n{getsource(reinforce)}```",
    "members": family.members,
    "tuned": family.tuned_table,
    "recorded": scaling.prediction,
    "predicted": partial(shown_of, "tables"),
    "breaks": partial(shown_of, "breaks"),
} | {name: partial(shown, each) for name, each in EXPERIMENTS.items()}


def find(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, or groups of them; all for "all"; BadInput for one that there is not."""
    found: dict[str, Experiment] = {}
    for name in names:
        known = EXPERIMENTS if name == "all" else GROUPS.get(name, [name])
        if not EXPERIMENTS.keys() >= set(known):
            raise BadInput(f"there is no experiment {name}: choose from {', '.join([*EXPERIMENTS, *GROUPS])}, or all")
        found |= {each: EXPERIMENTS[each] for each in known}
    return list(found.values())
