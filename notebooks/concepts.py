"""Write concepts.md, the index by concept, from glossary.md and the lectures: python notebooks/concepts.py.

With --check: write nothing, exit code 1 if it is out of date.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# Index by concept

Where a word of the [glossary](glossary.md) is introduced, and in which other lectures it is used. Written by
`python notebooks/concepts.py`.

| concept | introduced in | used in |
|---|---|---|
"""
TERM = re.compile(r"^\*\*(?P<names>[^*]+)\*\* \((?P<where>[^)]+)\):", re.MULTILINE)


def lectures() -> dict[str, tuple[str, str]]:
    """Return, by number, each lecture's file name and its text in lower case, without code."""
    found = {}
    for source in sorted((HERE / "source").glob("[0-9]*.py")):
        lines = [line[2:] for line in source.read_text("utf-8").splitlines() if line.startswith("# ")]
        found[source.stem.partition("_")[0]] = (source.stem, " ".join(lines).lower())
    return found


def used(names: list[str], text: str) -> bool:
    """Return whether a text has one of these names, as a word, in the plural, too."""
    return any(re.search(rf"\b{re.escape(name.lower())}(s|es)?\b", text) for name in names)


def index() -> str:
    """Return concepts.md."""
    texts = lectures()
    links = {number: f"[{number}]({stem}.ipynb)" for number, (stem, _) in texts.items()}
    rows = []
    for found in TERM.finditer((HERE / "glossary.md").read_text("utf-8")):
        names = found["names"].split(", ")
        first = found["where"].split(", ")
        others = [number for number, (_, text) in texts.items() if number not in first and used(names, text)]
        rows.append(
            f"| {found['names']} | {', '.join(links[number] for number in first)} | "
            f"{', '.join(links[number] for number in others) or '-'} |"
        )
    return HEAD + "\n".join(rows) + "\n"


def main() -> int:
    """Write the index, or say that it is out of date."""
    path, text = HERE / "concepts.md", index()
    if "--check" not in sys.argv:
        path.write_text(text, "utf-8")
        return 0
    if path.read_text("utf-8") == text:
        return 0
    print("out of date: notebooks/concepts.md; python notebooks/concepts.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
