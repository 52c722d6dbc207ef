"""All experiments, and what pages show of them."""

from collections.abc import Callable
from functools import partial

from experiments import as_typed, claims, family, limit, parts, peers, posture, returns, rules, scaling, seconds
from experiments.harness import Experiment, made_by
from experiments.tables import DATA
from minitrpo.errors import BadInput

ALONE = (family.EXPERIMENT, family.HELD, returns.EXPERIMENT, rules.EXPERIMENT, posture.EXPERIMENT, seconds.EXPERIMENT)
ALONE += (as_typed.EXPERIMENT, limit.EXPERIMENT, limit.OF_A_RUN, *parts.EXPERIMENTS, scaling.EXPERIMENT)
OTHERS: dict[str, Experiment] = {each.name: each for each in (*ALONE, *peers.EXPERIMENTS)}
EXPERIMENTS: dict[str, Experiment] = {**claims.CLAIMS, **OTHERS}
GROUPS = {"claims": list(claims.CLAIMS), "all_peers": [each.name for each in peers.EXPERIMENTS]}


def shown(experiment: Experiment) -> str:
    """Return what a page shows of an experiment, and what made it."""
    runs = experiment.runs()
    made = f"*{made_by(experiment, runs)}; `python -m experiments run {experiment.name}`.*"
    return f"{experiment.report(experiment, runs)}\n\n{made}"


def listing(file: str) -> str:
    """Return a file of the repository as a page shows it."""
    return f"```python\n{(DATA.parents[1] / file).read_text('utf-8')}```"


# What stands in a page between <!-- name --> and <!-- /name -->
BLOCKS: dict[str, Callable[[], str]] = {
    "claims": claims.table,
    "reinforce": partial(listing, "minitrpo/course/reinforce.py"),
    "tuned": family.tuned_table,
    "recorded": scaling.prediction,
}
BLOCKS |= {name: partial(shown, each) for name, each in OTHERS.items()}


def find(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, or groups of them; all for "all"; BadInput for one that there is not."""
    found: dict[str, Experiment] = {}
    for name in names:
        known = EXPERIMENTS if name == "all" else GROUPS.get(name, [name])
        if not EXPERIMENTS.keys() >= set(known):
            raise BadInput(f"there is no experiment {name}: choose from {', '.join([*EXPERIMENTS, *GROUPS])}, or all")
        found |= {each: EXPERIMENTS[each] for each in known}
    return list(found.values())
