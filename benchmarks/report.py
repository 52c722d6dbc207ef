"""Tables and pictures of all results: fills benchmarks/README.md between its markers, draws results/*.png.

python -m benchmarks.report            (after any of the other benchmarks)
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from benchmarks import pictures, tables
from benchmarks.record import RESULTS, machine_of, read_json

README = Path(__file__).parent / "README.md"
ROOT = README.parent.parent
PAGES = (README,)


def results() -> dict[str, Any]:
    """Return the results of every benchmark that has been run."""
    paths = {name: RESULTS / f"{name}.json" for name in REPORTS}
    return {name: read_json(path) for name, path in paths.items() if path.exists()}


def repeats_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the recorded repetitions of a scaling measurement on the same kind of machine, with the same version."""

    def kind(measurement: dict[str, Any]) -> tuple[str, str | None]:
        return machine_of(measurement), measurement["provenance"].get("versions", {}).get("minitrpo")

    repeats = [read_json(path) for path in sorted((RESULTS / "other").glob("scaling_repeat_*.json"))]
    return [repeat for repeat in repeats if kind(repeat) == kind(result)]


def scaling(result: dict[str, Any]) -> str:
    """Return both tables of scaling: of one measurement, and of all that did the same work."""
    return f"{tables.scaling(result)}\n\n{tables.same_work([result, *repeats_of(result)])}"


REPORTS: dict[str, tuple[Callable[[Any], str], Callable[[Any], Any] | None]] = {"scaling": (scaling, pictures.scaling)}


def filled(text: str) -> str:
    """Return the README with every table that there are results for between its markers."""
    found = results()
    contents = {name: REPORTS[name][0](result) for name, result in found.items()}
    for name, content in contents.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = between.sub(lambda match, content=content: f"{match[1]}{content}\n{match[2]}", text)
    return text


def draw() -> None:
    """Draw the picture of every benchmark that there are results for and that has one."""
    plt.switch_backend("Agg")
    for name, result in results().items():
        if picture := REPORTS[name][1]:
            figure = picture(result)
            figure.savefig(RESULTS / f"{name}.png", dpi=110)
            plt.close(figure)


def main() -> None:
    """Draw, and fill the README."""
    draw()
    for path in PAGES:
        path.write_text(filled(path.read_text()))
        print(path)


if __name__ == "__main__":
    main()
