"""Fill experiments/tables.md from what is recorded: python tests/tools/report.py; each script does it at its end."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT)]

from experiments import tables  # noqa: E402

PAGE = ROOT / "experiments" / "tables.md"
RESULTS = tables.DATA / "cluster"
SAID = ("what", "well", "seen")  # columns of a row; the others are numbers
SECTIONS = {
    "slurm": ("slurm",),
    "hosts": ("hosts",),
    "traffic": ("hosts",),
    "versions": ("versions_lowest", "versions_openmpi", "versions_debian_openmpi", "versions_newest_python"),
    "soak": ("kills", "soak"),
}


def table(result, traffic):
    """Return a result's rows as a table, and what made it: of `hosts` the traffic alone, or all but that."""
    columns = result["rows"]
    lines = ["| what | | seen |", "| --- | --- | --- |"]
    for what, well, said, *numbers in zip(*(columns[name] for name in columns if name != "seconds"), strict=True):
        if what.startswith("traffic: ") == traffic:
            found = zip((name for name in columns if name not in (*SAID, "seconds")), numbers, strict=True)
            told = ", ".join(f"{name.replace('_', ' ')} {number:.7g}" for name, number in found if number > 0)
            seen = " ".join(f"{said}{'; ' if told else ''}{told}".replace("|", "/").split())
            lines.append(f"| {what.removeprefix('traffic: ')} | {'ok' if well else '**failed**'} | {seen} |")
    return lines


def origin(result):
    """Return what made a result, in a line."""
    made = result["machine"]
    versions = ", ".join(f"{name} {made[name]}" for name in ("numpy", "mpi4py", "mpich") if name in made)
    where = f"{made['cores']} cores, {made['machine'].partition(', ')[2]}; {result['date']}"
    return f"*`{result['setting']}`; {where}; minitrpo {result['version']}, {versions}.*"


def fill(text):
    """Return the page with every table as the newest results have it; where there is none, it says so."""
    results = {result["experiment"]: result for result in tables.load(RESULTS)}
    for section, names in SECTIONS.items():
        found = [results[name] for name in names if name in results]
        parts = ("\n".join([*table(each, section == "traffic"), "", origin(each)]) for each in found)
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
