"""docs/claims.md and its pictures, made from what is recorded; a picture remembers the data that it shows."""

import textwrap
from pathlib import Path

from minitrpo.course.claims.claim import FULL, Claim, Finding, Runs, judge
from minitrpo.course.claims.registry import CLAIMS
from minitrpo.course.claims.store import CHECKOUT, Place, jobs, shown, state_of
from minitrpo.run_folder.checkpoint import write_atomically

HEAD = """# What was claimed, what we found

The documents that minitrpo comes from make claims, most of them with a plot of one run. Each is measured again here,
with today's physics, several seeds and intervals. A claim **holds** if the intervals of all its parts lie on the
claimed side, and **does not hold** if one of them lies on the other side altogether; else the runs **cannot tell**.

This page is written by the program, from the runs in `notebooks/recorded/claims`. A *quick* set has few seeds and
short runs: it answers in minutes, leaves out what it is too short for, and so seldom says "holds". A claim about
seconds is not measured while other programs use more than a fifth of the cores.

```sh
./run python mpi_scripts/figures.py list
```

Intervals are Student's and Welch's, 95 %; where runs may never get to a goal, medians and rank tests stand for them
(`minitrpo/course/statistics.py`). In the pictures a band is the interval of the mean, thin lines are seeds, grey is
what the author measured in 2016.
"""


def draw(place: Place, claim: Claim, kind: str, runs: Runs) -> Path:
    """Draw a claim's picture and return its path."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    claim.draw(figure, claim, runs)
    called = "" if kind == FULL else f" ({kind} set)"
    wide = textwrap.fill(f"{claim.name}: {claim.title}{called}", int(11 * figure.get_figwidth()))
    figure.suptitle(wide, fontsize=12, x=0.01, horizontalalignment="left")
    path = place.picture(claim, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Description": state_of(runs), "Software": None})
    return path


def write_page(place: Place) -> None:
    """Write the page."""
    place.page.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place.page, text(place).encode())


def text(place: Place) -> str:
    """Return the page as it is to be now."""
    found = {name: shown(place, claim) for name, claim in CLAIMS.items()}
    lines = [HEAD, "| | claim | verdict | runs |", "| --- | --- | --- | --- |"]
    for name, claim in CLAIMS.items():
        kind, runs = found[name]
        told, count = verdict_of(claim, runs), sum(map(len, runs.values()))
        lines.append(f"| [{name}](#{name.lower()}) | {claim.title} | {told} | {f'{count}, {kind}' if runs else '-'} |")
    for name, claim in CLAIMS.items():
        lines += ["", *section(place, claim, *found[name])]
    return "\n".join(lines) + "\n"


def verdict_of(claim: Claim, runs: Runs) -> str:
    """Return the verdict on a claim, or that there is none yet."""
    return f"**{judge(claim, runs)[0]}**" if runs else "not measured yet"


def section(place: Place, claim: Claim, kind: str, runs: Runs) -> list[str]:
    """Return what the page says of one claim."""
    command = f"`python mpi_scripts/figures.py {claim.name}{'' if kind == FULL else ' --quick'}`"
    lines = [f"## {claim.name}", "", f"{claim.title}.", "", f"> {claim.sentence}", "", f"{claim.source}."]
    lines += ["", claim.note] if claim.note else []
    if not runs:
        return [*lines, "", f"Not measured yet: `python mpi_scripts/figures.py {claim.name}`."]
    picture = place.picture(claim, kind)
    inside = picture.relative_to(place.page.parent)
    verdict, findings = judge(claim, runs)
    lines += [
        "",
        f"![{claim.title}]({inside})",
        "",
        f"The claim **{verdict}**.".replace("claim **cannot", "data **cannot"),
    ]
    lines += ["", *table(findings)] if findings else []
    left_out = len(claim.parts) - len(findings)
    lines += ["", f"{left_out} of {len(claim.parts)} questions take longer runs than these."] if left_out else []
    return [*lines, "", f"{origin(claim, kind, runs)} {command}"]


def table(findings: list[Finding]) -> list[str]:
    """Return findings as a table."""
    rows = [f"| {words} | {found} | {verdict} |" for words, found, verdict in findings]
    return ["| question | found, 95 % interval | |", "| --- | --- | --- |", *rows]


def origin(claim: Claim, kind: str, runs: Runs) -> str:
    """Return what made the runs, as a sentence."""
    all_runs = [run for found in runs.values() for run in found]
    machines = sorted({f"{run['usable_cores']} cores, {processor(run)}" for run in all_runs})
    dates = sorted({run["provenance"]["date"][:10] for run in all_runs})
    busy = [run["busy_share_of_others"] for run in all_runs if run["busy_share_of_others"] is not None]
    wanted = len(jobs(claim, kind))
    some = f"{len(all_runs)} of {wanted} runs" if len(all_runs) < wanted else f"{wanted} runs"
    text = (
        f"{kind.capitalize()} set, {some}; {'; '.join(machines)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."
    )
    seconds = f" Others used at most {100 * max(busy):.0f} % of the cores." if busy else ""
    return f"{text}{seconds if claim.seconds else ''}"


def processor(run: dict[str, dict[str, str]]) -> str:
    """Return the processor of a run."""
    return run["provenance"]["machine"].partition(", ")[2]


def report(claim: Claim, runs: Runs) -> str:
    """Return the verdict and all findings, as text for a terminal."""
    verdict, findings = judge(claim, runs)
    lines = [f"{claim.name}: {claim.title}: {verdict.upper()}"]
    lines += [f"    {words}: {found}: {answer}" for words, found, answer in findings]
    left_out = len(claim.parts) - len(findings)
    lines += [f"    {left_out} of {len(claim.parts)} questions take longer or more runs"] if left_out else []
    return "\n".join(lines)


def show_claims(*names: str) -> None:
    """Draw what is recorded for some claims, in a notebook, and print what it says and what made it."""
    import matplotlib.pyplot as plt

    for name in names:
        claim = CLAIMS[name]
        kind, runs = shown(CHECKOUT, claim)
        if runs:
            claim.draw(plt.figure(layout="constrained"), claim, runs)
            plt.show()
            print(f"{report(claim, runs)}\n    {origin(claim, kind, runs)}")
        else:
            print(f"{name}: {claim.title}: not measured yet: python mpi_scripts/figures.py {name}")


def listing(place: Place) -> str:
    """Return all claims, a line each, with the verdict on what is recorded."""
    lines = []
    for name, claim in CLAIMS.items():
        kind, runs = shown(place, claim)
        told = f"{judge(claim, runs)[0]} ({kind})" if runs else "not measured"
        lines.append(f"{name:4} {told:22} {claim.title}{', in seconds' if claim.seconds else ''}")
    return "\n".join(lines)
