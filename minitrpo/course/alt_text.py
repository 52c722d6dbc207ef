"""The alt text of a figure, for readers who do not see it, made from the figure's own labels and data.

A text written by hand would describe the figure as it was then. This text describes the figure as it is now.
"""

from typing import Any

import numpy as np

MOST = 1200  # characters: beyond, panels are only counted
LINES = 8  # curves of a panel that are described one by one


def describe(figure: Any) -> str:
    """Return what a matplotlib figure shows: its panels, their axes, and where each labelled curve begins and ends."""
    panels = [axis for axis in figure.axes if axis.get_visible() and axis.has_data()]
    title = figure.get_suptitle()
    count = "Chart" if len(panels) == 1 else f"Chart of {len(panels)} panels"
    text = f"{count}{f', {title}' if title else ''}."
    for number, axis in enumerate(panels, 1):
        more = f" Panel {number}: {panel(axis)}." if len(panels) > 1 else f" {panel(axis)}."
        if len(text) + len(more) > MOST:
            return f"{text} And {len(panels) - number + 1} more of the kind."
        text += more
    return plain(text)


def panel(axis: Any) -> str:
    """Return what one panel shows."""
    title = axis.get_title() or axis.get_title("left")
    x, y = label_of(axis, "x"), label_of(axis, "y")
    labels = f"{y} against {x}" if x and y else x or y
    words = ": ".join(filter(None, (title, labels))) or "no labels"
    curves = [curve(line, line.get_label()) for line in axis.lines if named(line) and len(line.get_xdata()) > 0]
    curves += [
        curve(bars.lines[0], bars.get_label())
        for bars in axis.containers
        if getattr(bars, "lines", [None])[0] is not None and named(bars)
    ]
    bars, images, points = bar_lengths(axis), len(axis.images), sum(named(dots) for dots in axis.collections)
    if curves:
        words += f"; {'; '.join(curves[:LINES])}" + (f"; and {len(curves) - LINES} more" if len(curves) > LINES else "")
    if bars.size:
        words += f"; {bars.size} bars of {number(bars.min())} to {number(bars.max())}"
    if images:
        words += f"; {images} picture{'s' * (images > 1)}"
    if points and not curves:
        words += f"; {points} group{'s' * (points > 1)} of points or areas"
    return words


def label_of(axis: Any, way: str) -> str:
    """Return the label of a panel's x or y, that of a neighbour with whom it is shared if it has none itself."""
    others = getattr(axis, f"get_shared_{way}_axes")().get_siblings(axis)
    labels = [getattr(one, f"get_{way}label")() for one in (axis, *others)]
    return str(next(filter(None, labels), ""))


def curve(line: Any, name: str) -> str:
    """Return the name of a curve, and between which values it runs from left to right."""
    y: Any = np.ma.masked_invalid(np.ma.asarray(line.get_ydata(), float)).compressed()
    if not y.size:
        return name
    if np.ptp(y) == 0:
        return f"{name} at {number(y[0])}"
    turns = "" if {y[0], y[-1]} == {y.min(), y.max()} else f" (within {number(y.min())} to {number(y.max())})"
    return f"{name} from {number(y[0])} to {number(y[-1])}{turns}"


def bar_lengths(axis: Any) -> Any:
    """Return the lengths of a panel's bars, lying or standing: (bars,)."""
    lengths = []
    for bars in axis.containers:
        lying = getattr(bars, "orientation", None) == "horizontal"
        lengths += [one.get_width() if lying else one.get_height() for one in getattr(bars, "patches", [])]
    return np.array(lengths, float)


def named(artist: Any) -> bool:
    """Return whether an artist is in the legend: matplotlib's own labels begin with an underscore."""
    return not str(artist.get_label()).startswith("_")


def number(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def plain(text: str) -> str:
    """Return text on one line, without the dollars of formulas."""
    return " ".join(text.replace("$", "").split())


def in_notebook() -> None:
    """Let every figure that a kernel shows from now on carry its alt text, in the metadata of its picture."""
    try:
        from IPython import get_ipython
        from matplotlib.figure import Figure
        from matplotlib_inline import backend_inline, config
    except ImportError:
        return
    kernel = get_ipython()
    if kernel is None or not hasattr(kernel, "kernel") or not backend_inline:  # imported first: it sets formats
        return
    from IPython.core.pylabtools import print_figure

    def picture(figure: Any) -> Any:
        """Return the figure as a picture, and its description."""
        options = config.InlineBackend.instance(parent=kernel).print_figure_kwargs
        data = print_figure(figure, "png", base64=True, **options)
        return None if data is None else (data, {"alt": describe(figure)})

    kernel.display_formatter.formatters["image/png"].for_type(Figure, picture)
