"""All experiments, and what pages show of them."""

from collections.abc import Callable

from experiments import claims
from experiments.harness import Experiment
from minitrpo.errors import BadInput

EXPERIMENTS: dict[str, Experiment] = {**claims.CLAIMS}
GROUPS = {"claims": list(claims.CLAIMS)}
BLOCKS: dict[str, Callable[[], str]] = {
    "claims": claims.table
}  # what stands in a page between <!-- x --> and <!-- /x -->


def find(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, or groups of them; all for "all"; BadInput for one that there is not."""
    found: dict[str, Experiment] = {}
    for name in names:
        known = EXPERIMENTS if name == "all" else GROUPS.get(name, [name])
        if not EXPERIMENTS.keys() >= set(known):
            raise BadInput(f"there is no experiment {name}: choose from {', '.join([*EXPERIMENTS, *GROUPS])}, or all")
        found |= {each: EXPERIMENTS[each] for each in known}
    return list(found.values())
