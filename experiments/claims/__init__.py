"""All claims of the sources, in the order of their page."""

from experiments.claims import of_adapting, of_simulators, of_steps, of_time
from experiments.claims.claim import Claim, judge, measure, origin, report, section, summary
from experiments.harness import FULL

__all__ = ["CLAIMS", "details", "judge", "measure", "show", "table"]

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*of_time.CLAIMS, *of_steps.CLAIMS, *of_adapting.CLAIMS, *of_simulators.CLAIMS)
}


def table() -> str:
    """Return the page's table: a row for each claim."""
    head = ["| | claim | verdict | decided by |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *map(summary, CLAIMS.values())])


def details() -> str:
    """Return a section for each claim."""
    return "\n\n".join("\n".join(section(claim)) for claim in CLAIMS.values())


def show(*names: str) -> None:
    """Draw what is recorded for some claims, in a notebook, and print what it says and what made it."""
    import matplotlib.pyplot as plt

    for name in names:
        claim = CLAIMS[name]
        if runs := claim.runs():
            claim.draw(plt.figure(layout="constrained"), claim, runs)
            plt.show()
            print(f"{report(claim, runs)}\n    {origin(claim, FULL, runs)}")
        else:
            print(f"{name}: {claim.title}: not measured yet: python mpi_scripts/figures.py {name}")
