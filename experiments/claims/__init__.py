"""All claims of the sources, in the order of their page."""

from experiments.claims import of_adapting, of_simulators, of_steps, of_time
from experiments.claims.claim import Claim, judge, measure, report, summary
from experiments.harness import made_by
from experiments.tables import markdown

__all__ = ["CLAIMS", "judge", "measure", "show", "table"]

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*of_time.CLAIMS, *of_steps.CLAIMS, *of_adapting.CLAIMS, *of_simulators.CLAIMS)
}


def table() -> str:
    """Return the page's table: a row for each claim."""
    return markdown(("", "claim", "verdict", "decided by"), list(map(summary, CLAIMS.values())), 4)


def show(*names: str) -> None:
    """Draw what is recorded for some claims, in a notebook, and print what it says and what made it."""
    import matplotlib.pyplot as plt

    for name in names:
        claim, runs = CLAIMS[name], CLAIMS[name].runs()
        claim.draw(plt.figure(layout="constrained"), claim, runs)
        plt.show()
        print(f"{report(claim, runs)}\n\n{made_by(claim, runs)}")
