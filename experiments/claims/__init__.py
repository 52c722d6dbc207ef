"""All claims of the sources, in the order of their page."""

from experiments.claims import of_adapting, of_simulators, of_steps, of_time
from experiments.claims.claim import Claim, judge, measure, report, summary
from experiments.tables import markdown

__all__ = ["CLAIMS", "judge", "measure", "report", "table"]

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*of_time.CLAIMS, *of_steps.CLAIMS, *of_adapting.CLAIMS, *of_simulators.CLAIMS)
}


def table() -> str:
    """Return the page's table: a row for each claim."""
    return markdown(("", "claim", "verdict", "decided by"), list(map(summary, CLAIMS.values())), 4)
