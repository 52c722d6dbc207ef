"""All claims of the sources, in the order of their page."""

from experiments.claims import of_adapting, of_simulators, of_steps, of_time
from experiments.claims.claim import Claim, judge, measure, origin, report, section
from experiments.harness import FULL

__all__ = ["CLAIMS", "judge", "measure", "show", "table"]

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*of_time.CLAIMS, *of_steps.CLAIMS, *of_adapting.CLAIMS, *of_simulators.CLAIMS)
}


def table() -> str:
    """Return the page's table of all claims and verdicts, and a section for each."""
    lines = ["| | claim | verdict | runs |", "| --- | --- | --- | ---: |"]
    for name, claim in CLAIMS.items():
        runs = claim.runs()
        told = f"**{judge(claim, runs)[0]}**" if runs else "not measured yet"
        lines.append(f"| [{name}](#{name.lower()}) | {claim.title} | {told} | {sum(map(len, runs.values()))} |")
    return "\n".join([*lines, *(line for claim in CLAIMS.values() for line in ("", *section(claim)))])


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
