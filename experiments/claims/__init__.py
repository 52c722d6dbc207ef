"""All claims of the sources, in the order of their page."""

from experiments.claims import elsewhere, of_adapting, of_simulators, of_steps, of_time
from experiments.claims.claim import Claim, judge, measure, report, summary
from experiments.claims.questions import VERDICTS
from experiments.tables import markdown

__all__ = ["CLAIMS", "VERDICTS", "elsewhere", "judge", "meanings", "measure", "report", "table"]

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*of_time.CLAIMS, *of_steps.CLAIMS, *of_adapting.CLAIMS, *of_simulators.CLAIMS)
}


def table() -> str:
    """Return the page's table: a row for each claim."""
    return markdown(("", "claim", "verdict", "decided by"), list(map(summary, CLAIMS.values())), 4)


def meanings() -> str:
    """Return the page's table of verdicts and what they mean."""
    return markdown(("verdict", "meaning"), list(VERDICTS.items()), 2)
