"""The loop of the algorithm as a picture with some parts lit, for the header of a lecture; see `embedded`.

It is written as SVG by hand: the same bytes on every machine, letters that stay letters, and a panel of its own, so
that it reads on a light page and on a dark one.
"""

import base64
from html import escape
from typing import NamedTuple

PAPER, INK, LINE, LIT = "#FFFFFF", "#1A1A1A", "#6B6B6B", "#0072B2"


class Part(NamedTuple):
    """One box of the loop: its words, where its middle lies, and the lecture that builds it."""

    words: str  # for the alt text
    lines: tuple[str, str]  # in the box
    x: int
    y: int
    lecture: str


# Clockwise. The two below the loop are about the whole of it.
PARTS = {
    "collect": Part("collect episodes", ("collect episodes", "a pool of processes"), 110, 58, "07b"),
    "advantages": Part("returns and advantages", ("advantages", "how much better?"), 310, 58, "01, 05a"),
    "gradient": Part("policy gradient", ("policy gradient", "which way is up?"), 510, 58, "01"),
    "fisher": Part("Fisher products", ("Fisher products", "how far apart?"), 710, 58, "02"),
    "direction": Part("conjugate gradient", ("conjugate gradient", "the direction"), 710, 212, "03"),
    "search": Part("line search", ("line search", "how far to go?"), 510, 212, "04"),
    "critic": Part("fit of the critic", ("fit of the critic", "what to expect?"), 310, 212, "05a"),
    "adapt": Part("adapt steps and KL limit", ("adapt", "batch, step limit"), 110, 212, "09a, 09b"),
    "clock": Part("where the time goes", ("clocks on all of it", "where does time go?"), 310, 135, "06"),
    "speedup": Part("speed-up on more processes", ("more processes", "how much faster?"), 510, 135, "08"),
}
LOOP = tuple(PARTS)[:8]
WHOLE = ("advantages", "gradient", "fisher", "direction", "search")

# What a lecture is about, where its marker does not say: <!-- loop --> or <!-- loop: gradient, critic -->
TODAY = {
    "00": ("collect", "gradient"),
    "01": ("advantages", "gradient"),
    "02": ("fisher",),
    "03": ("direction",),
    "04": ("search",),
    "05": (*WHOLE, "critic"),
    "05a": ("advantages", "critic"),
    "05b": WHOLE,
    "05c": LOOP,
    "06": ("clock",),
    "07a": ("collect", "gradient"),
    "07b": ("collect",),
    "08": ("speedup",),
    "09a": ("adapt",),
    "09b": ("adapt",),
    "10": ("collect", "gradient", "speedup"),
    "11a": ("advantages", "gradient", "critic"),
    "11b": ("advantages", "critic"),
    "12": ("collect", "gradient", "search"),
    "13a": ("collect", "critic"),
    "13b": ("critic",),
    "14": ("collect", "direction", "search"),
    "15": ("collect", "clock", "speedup"),
    "16": LOOP,
}


def embedded(lecture: str, asked: str = "") -> str:
    """Return an <img> with the picture in it and its alt text.

    lecture: "03"; asked: the parts to be lit, by name, if they are not those of the table above. An image as markdown
    would be cleaner, but JupyterLab shows no SVG attachment, and MyST no SVG as data.
    """
    lit = tuple(word.strip() for word in asked.split(",") if word.strip()) or TODAY.get(lecture, ())
    if unknown := set(lit) - PARTS.keys():
        raise ValueError(f"lecture {lecture}: the loop has no part {min(unknown)!r}; it has {', '.join(PARTS)}")
    data = base64.b64encode(picture(lit).encode()).decode()
    style = "width: 100%; max-width: 820px"
    return f'<img alt="{escape(alt(lit))}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def alt(lit: tuple[str, ...]) -> str:
    """Return the picture in words."""
    loop = ", ".join(PARTS[name].words for name in LOOP)
    today = " and ".join(PARTS[name].words for name in lit)
    return f"The loop of one update: {loop}, and again." + (f" Today: {today}." if lit else "")


def picture(lit: tuple[str, ...]) -> str:
    """Return the SVG."""
    shapes = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 270" width="820" height="270" '
        'font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>',
        f'<rect x="1" y="1" width="818" height="268" rx="10" fill="{PAPER}" stroke="{LINE}"/>',
        *(arrow(PARTS[a], PARTS[b]) for a, b in zip(LOOP, (*LOOP[1:], LOOP[0]), strict=True)),
        *(box(name, part, name in lit) for name, part in PARTS.items()),
        "</svg>",
    ]
    return "\n".join(shapes)


def arrow(start: Part, end: Part) -> str:
    """Return an arrow from the edge of one box to the edge of the next."""
    right, down = (end.x > start.x) - (end.x < start.x), (end.y > start.y) - (end.y < start.y)
    x1, y1 = start.x + 87 * right, start.y + 30 * down
    x2, y2 = end.x - 88 * right, end.y - 32 * down
    return f'<path d="M{x1} {y1} L{x2} {y2}" stroke="{LINE}" stroke-width="2" fill="none" marker-end="url(#tip)"/>'


def box(name: str, part: Part, lit: bool) -> str:
    """Return a box with its two lines and the number of its lecture; a lit one is filled, and its border is thick."""
    fill, ink, border = (LIT, PAPER, f'stroke="{INK}" stroke-width="3"') if lit else (PAPER, INK, f'stroke="{LINE}"')
    if name not in LOOP and not lit:
        border += ' stroke-dasharray="5 4"'
    x, y = part.x - 87, part.y - 30
    return (
        f'<rect x="{x}" y="{y}" width="174" height="60" rx="8" fill="{fill}" {border}/>'
        f'<g fill="{ink}"><text x="{part.x}" y="{part.y - 8}" font-size="14" font-weight="bold">{part.lines[0]}</text>'
        f'<text x="{part.x}" y="{part.y + 9}" font-size="13">{part.lines[1]}</text>'
        f'<text x="{part.x}" y="{part.y + 24}" font-size="12">lecture {part.lecture}</text></g>'
    )
