"""All experiments, and what pages show of them."""

from collections.abc import Callable
from functools import partial
from inspect import getsource

from experiments import (
    as_typed,
    claims,
    explained,
    family,
    fresh,
    growth,
    kills,
    limit,
    own_algorithms,
    panel,
    parts,
    peers,
    returns,
    rules,
    scaling,
    scaling_check,
    seconds,
    speed,
)
from experiments.harness import Experiment, made_by
from minitrpo.course import reinforce
from minitrpo.course.scaling.command import shown as shown_of
from minitrpo.errors import BadInput
from minitrpo.run_folder.metrics_csv import COLUMNS

ALONE = (family.EXPERIMENT, family.HELD, returns.EXPERIMENT, rules.EXPERIMENT, seconds.EXPERIMENT)
ALONE += (as_typed.EXPERIMENT, limit.EXPERIMENT, limit.OF_A_RUN, *parts.EXPERIMENTS, scaling.EXPERIMENT)
ALONE += (
    returns.ONE_SETTING,
    panel.EXPERIMENT,
    panel.CHOICE,
    panel.MEMBERS,
    panel.RATES,
    growth.EXPERIMENT,
    rules.ELSEWHERE_TOO,
    own_algorithms.EXPERIMENT,
    fresh.EXPERIMENT,
    fresh.STILL,
)
EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (*claims.CLAIMS.values(), *ALONE, *peers.EXPERIMENTS)}
GROUPS = {"claims": [*claims.CLAIMS], "all": [*EXPERIMENTS]}


def shown(experiment: Experiment) -> str:
    """Return what a page shows of an experiment, and what made it."""
    runs = experiment.runs()
    made = f"{made_by(experiment, runs)}; `python -m experiments run {experiment.name}`"
    return f"{experiment.report(experiment, runs)}\n\n*{made}.*"


def columns_of_metrics() -> str:
    """Return the table of the columns that every metrics.csv has, whatever the algorithm."""
    where = {"evaluation": "with `--eval-every`", "gradients": "asynchronous algorithms"}
    rows = [f"| `{column.name}` | {column.meaning} | {where.get(column.group, '')} |" for column in COLUMNS]
    return "\n".join(["| column | meaning | only |", "| --- | --- | --- |", *rows])


# What stands in a page between <!-- name --> and <!-- /name -->
BLOCKS: dict[str, Callable[[], str]] = {
    "claims": claims.table,
    "verdicts": claims.meanings,
    "claims_elsewhere": claims.elsewhere.table,
    "reinforce": lambda: f"```python\n{getsource(reinforce)}```",
    "columns": columns_of_metrics,
    "members": family.members,
    "tuned": family.tuned_table,
    "recorded": scaling.prediction,
    "check": scaling_check.report,
    "explained": explained.report,
    "kills": kills.report,
    "predicted": partial(shown_of, "tables"),
    "breaks": partial(shown_of, "breaks"),
    "published": returns.published,
    "speed_picture": speed.picture,
    "speed": speed.comparison,
    "panel_normalised": panel.report_normalised,
} | {name: partial(shown, each) for name, each in EXPERIMENTS.items()}


def find(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, or groups of them, each once; BadInput for one that there is not."""
    known = dict.fromkeys(each for name in names for each in GROUPS.get(name, [name]))
    for name in known:
        if name not in EXPERIMENTS:
            raise BadInput(f"there is no experiment {name}: choose from {', '.join([*EXPERIMENTS, *GROUPS])}")
    return [EXPERIMENTS[name] for name in known]
