"""docs/cluster.md, filled from the results: python tests/tools/report.py; each script does it at its end."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "cluster.md"
RESULTS = ROOT / "benchmarks" / "results" / "cluster"
SECTIONS = {
    "slurm": ("slurm",),
    "hosts": ("hosts",),
    "traffic": ("hosts",),
    "versions": ("versions_lowest", "versions_openmpi", "versions_debian_openmpi", "versions_newest_python"),
    "soak": ("kills", "soak"),
}


def table(result, traffic):
    """Return a result's rows as a table, and what made it: of `hosts` the traffic alone, or all but that."""
    rows = [row for row in result["rows"] if row["what"].startswith("traffic: ") == traffic]
    lines = ["| what | | seen |", "| --- | --- | --- |"]
    for row in rows:
        numbers = {k: v for k, v in row.items() if k not in ("what", "well", "seen", "seconds")}
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numbers.items() if value != 0)
        seen = " ".join(f"{row['seen']}{'; ' if told else ''}{told}".replace("|", "/").split())
        lines.append(f"| {row['what'].removeprefix('traffic: ')} | {'ok' if row['well'] else '**failed**'} | {seen} |")
    return lines


def origin(result):
    """Return what made a result, in a line."""
    made = result["provenance"]
    names = ("minitrpo", "numpy", "mpi4py", "mpich")
    versions = ", ".join(f"{name} {made['versions'][name]}" for name in names if name in made["versions"])
    machine = made["machine"].partition(", ")[2]
    return f"*`{made['command']}`; {made['usable_cores']} cores, {machine}; {made['date'][:10]}; {versions}.*"


def fill(text):
    """Return the page with every table as the results have it; where there is none, it says so."""
    for section, names in SECTIONS.items():
        parts = []
        for name in names:
            file = RESULTS / f"{name}.json"
            if file.exists():
                result = json.loads(file.read_text())
                parts.append("\n".join([*table(result, section == "traffic"), "", origin(result)]))
        inside = "\n\n".join(parts) or "Not run yet."
        text = re.sub(
            rf"<!-- {section} -->.*?<!-- /{section} -->",
            lambda _, section=section, inside=inside: f"<!-- {section} -->\n{inside}\n<!-- /{section} -->",
            text,
            flags=re.DOTALL,
        )
    return text


def main():
    """Write the page again."""
    PAGE.write_text(fill(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
