"""The space-time diagram of a program: a line for each rank, time from left to right, an arrow for each message."""

from typing import Any

import numpy as np

from minitrpo.course.mpi.record import Call, Message, State
from minitrpo.policies import Array
from minitrpo.reports.plots import COLORS, GREY, PURPLE, RED, picture

WAITING, ARROW = COLORS["wait"], "#1A1A1A"
WIDTH, DPI = 11.6, 110  # inches; 1,276 pixels
HALF = 0.11  # half the height of a bar, in ranks
MOST_LABELS = 60
CLEAR_X, CLEAR_Y = 0.045, 0.16  # of the width, and in ranks: two labels are not nearer to each other
UNEVEN = 20.0  # the most that a gap may be longer than the mean before long gaps are drawn shorter


def draw(state: State) -> Any:
    """Return the diagram of what the ranks wrote down, as a matplotlib Figure that notebooks show."""
    figure = picture(WIDTH, 1.5 + 0.72 * max(2, state.ranks), DPI)
    axis = figure.add_subplot()
    axis.set_title(title(state), fontsize=12)
    axis.set(ylim=(state.ranks - 0.4, -0.6), yticks=range(state.ranks), ylabel="rank")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    if not state.calls:
        axis.set(xticks=[])
        return figure
    scale = Scale(state)
    for rank in range(state.ranks):
        axis.plot([0, 1], [rank, rank], color=GREY, linewidth=1, zorder=1)
    places: list[tuple[float, float]] = []  # of labels
    draw_collectives(axis, state, scale, places)
    draw_waits(axis, state, scale)
    draw_messages(axis, state, scale, places)
    draw_ends(axis, state, scale)
    scale.label(axis)
    draw_legend(figure, state)
    return figure


class Scale:
    """Where a moment is, from 0 to 1 of the width.

    Events that are close together would hide one another. So long gaps between events are drawn shorter where the gaps
    differ much; the label of the axis then says so.
    """

    def __init__(self, state: State) -> None:
        moments = {call.begin for call in state.calls} | {call.end for call in state.calls if call.end is not None}
        self.begin, self.end = min(moments), last_moment(state)
        known = np.array(sorted(moments | {self.end}))
        gaps = np.diff(known)
        gaps = gaps[gaps > 0]
        self.uneven = len(gaps) > 1 and gaps.max() > UNEVEN * (self.end - self.begin) / (3 * len(gaps))
        widths = np.diff(known) ** 0.3 if self.uneven else np.diff(known)
        total = widths.sum() or 1.0
        self.moments, self.places = known, np.concatenate([[0.0], np.cumsum(widths) / total])

    def __call__(self, moment: float | None) -> float:
        """Return the place of a moment; None is the end."""
        return float(np.interp(self.end if moment is None else moment, self.moments, self.places))

    def label(self, axis: Any) -> None:
        """Label the axis of time."""
        span = self.end - self.begin
        unit, factor = ("s", 1.0) if span >= 2 else ("ms", 1e3) if span >= 2e-3 else ("µs", 1e6)
        if self.uneven:
            places = np.linspace(0, 1, 11)
            seconds = np.interp(places, self.places, self.moments) - self.begin
            how = "; long gaps are drawn shorter"
        else:
            seconds = ticks(span)
            places, how = np.array([self(self.begin + second) for second in seconds]), ""
        axis.set_xticks(places, [f"{factor * second:.3g}" for second in seconds])
        axis.set(xlim=(-0.02, 1.02), xlabel=f"time ({unit}){how}")


def ticks(span: float) -> Array:
    """Return five to ten round numbers of seconds from 0 to span."""
    step = 10.0 ** np.floor(np.log10(span / 5)) if span > 0 else 1.0
    step *= next(factor for factor in (1, 2, 5, 10) if span / (factor * step) <= 10)
    return np.asarray(np.arange(0, span + step / 1e6, step))


def last_moment(state: State) -> float:
    """Return when the diagram ends: with the last event, or later where ranks wait for ever."""
    moments = [call.begin for call in state.calls] + [call.end for call in state.calls if call.end is not None]
    begin, end = min(moments), max([*moments, *state.finished.values()])
    return end + 0.25 * (end - begin) + 1e-6 if state.now else end + 1e-9


# --- what is drawn


def waits(state: State) -> list[tuple[Call, float, float]]:
    """Return (call, begin, end) of all waiting: in a collective call until the last rank comes, else to its end."""
    result, end = [], last_moment(state)
    for call in state.calls:
        if call.immediate or call.failed:
            continue
        until = call.end if call.end is not None else end
        if call.collective and call.end is not None and call.comm is not None and call.order is not None:
            arrivals = [other.begin for other in state.arrived_at(call.comm, call.order).values()]
            until = min(until, max(arrivals))
        if until > call.begin:
            result.append((call, call.begin, until))
    return result


def title(state: State) -> str:
    """Return what there is to see: how many messages and bytes, and which rank waits most."""
    if not state.calls:
        return "no MPI call was written down" if state.full else "no MPI call"
    number = len(state.messages)
    text = f"{number or 'no'} message{'s' * (number != 1)}"
    if number:
        text += f", {sum(message.size for message in state.messages):,} bytes"
    turns = len({(call.comm, call.order) for call in state.calls if call.collective})
    if turns:
        text += f"; {turns} collective operation{'s' * (turns > 1)}"
    span = last_moment(state) - min(call.begin for call in state.calls)
    shares = np.zeros(state.ranks)
    for call, begin, end in waits(state):
        shares[call.rank] += (end - begin) / span
    if state.now:
        return f"{text}; {len(state.now)} rank{'s wait' if len(state.now) > 1 else ' waits'} at the end"
    most = int(np.argmax(shares))
    return f"{text}; rank {most} waits {100 * min(1.0, shares[most]):.0f} % of the time"


def draw_waits(axis: Any, state: State, scale: Scale) -> None:
    """Draw a bar where a rank waits, and beside one that has no end, the call."""
    for call, begin, end in waits(state):
        left, right = scale(begin), scale(end)
        hatch = {"hatch": "////", "edgecolor": "white"} if call.waits else {}
        axis.barh(call.rank, right - left, 2 * HALF, left, color=WAITING, zorder=2, **hatch)
        if call.waits:
            text = f"line {call.line}: {call.text}"
            axis.text(right, call.rank - 0.2, text, ha="right", va="bottom", fontsize=8, color=RED, zorder=6)


def draw_collectives(axis: Any, state: State, scale: Scale, places: list[tuple[float, float]]) -> None:
    """Draw a band through all ranks that take part in a collective operation, from their beginnings to their ends."""
    turns: dict[tuple[str, int], list[Call]] = {}
    for call in state.calls:
        if call.collective and call.comm is not None and call.order is not None:
            turns.setdefault((call.comm, call.order), []).append(call)
    for calls in turns.values():
        calls.sort(key=lambda call: call.rank)
        low, high = [call.rank - 2 * HALF for call in calls], [call.rank + 2 * HALF for call in calls]
        heights = [y for pair in zip(low, high, strict=True) for y in pair]
        left = [x for call in calls for x in 2 * [scale(call.begin)]]
        right = [x for call in calls for x in 2 * [scale(call.end)]]
        axis.fill_betweenx(heights, left, right, color=PURPLE, alpha=0.35, linewidth=0.8, zorder=0)
        where, top = (left[0] + right[0]) / 2, calls[0].rank - 0.34
        if free(places, where, top):
            axis.text(where, top, calls[0].name, ha="center", va="center", fontsize=8, color="#8A3D6B", zorder=6)


def draw_messages(axis: Any, state: State, scale: Scale, places: list[tuple[float, float]]) -> None:
    """Draw an arrow for each message from its send to the end of its receive; a cross if no rank has received it."""
    messages = state.messages
    labelled = len(messages) <= MOST_LABELS
    for message in messages:
        begin, end = scale(message.sent), scale(message.received)
        source, dest = message.source, message.dest
        lost = message.received is None
        target = (begin + 0.03, source + 0.45 * np.sign(dest - source)) if lost else (end, dest)
        style = "-" if lost else "-|>"
        look = {
            "arrowstyle": style,
            "color": RED if lost else ARROW,
            "linewidth": 1.1 if labelled else 0.7,
            "shrinkA": 0,
        }
        look |= {"shrinkB": 0, "mutation_scale": 9 if labelled else 6, "linestyle": "--" if lost else "-"}
        if source == dest:
            look["connectionstyle"] = "arc3,rad=-0.6"
        axis.annotate("", target, (begin, source), arrowprops=look, zorder=4)
        axis.plot([begin], [source], ".", color=look["color"], markersize=4 if labelled else 2, zorder=5)
        if lost:
            axis.plot([target[0]], [target[1]], "x", color=RED, markersize=7, zorder=5)
        part = between_lines(abs(source - dest)) if not lost else 0.5
        x, y = begin + part * (target[0] - begin), source + part * (target[1] - source)
        if labelled and free(places, x, y):
            axis.text(x, y, text_of(message), fontsize=8, ha="center", va="center", zorder=6, bbox=BOX)


BOX = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}


def between_lines(distance: int) -> float:
    """Return where on an arrow its label is not on the line of a rank, as near to the middle as can be."""
    return ((distance - 1) // 2 + 0.5) / distance if distance else 0.5


def free(places: list[tuple[float, float]], x: float, y: float) -> bool:
    """Return whether a label has room here, and if so, take the place."""
    if any(abs(x - other) < CLEAR_X and abs(y - height) < CLEAR_Y for other, height in places):
        return False
    places.append((x, y))
    return True


def text_of(message: Message) -> str:
    """Return the size of a message, and its tag if it has one."""
    number, unit = message.size, "B"
    text = f"{number} {unit}"
    for unit, many in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if number >= many:
            text = f"{number / many:.3g} {unit}"
    return f"{text}, tag {message.tag}" if message.tag else text


def draw_ends(axis: Any, state: State, scale: Scale) -> None:
    """Draw where ranks have come to the end of the program."""
    for rank, moment in state.finished.items():
        axis.plot([scale(moment)], [rank], "|", color=ARROW, markersize=14, markeredgewidth=2, zorder=3)


def draw_legend(figure: Any, state: State) -> None:
    """Say what the colours are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(color=WAITING, label="waiting in a call")]
    if any(call.collective for call in state.calls):
        handles.append(Patch(color=PURPLE, alpha=0.35, label="collective operation"))
    if state.messages:
        handles.append(Line2D([], [], color=ARROW, marker=">", markersize=5, label="message"))
    if any(message.received is None for message in state.messages):
        handles.append(Line2D([], [], color=RED, linestyle="--", marker="x", label="message that no rank has received"))
    if state.finished:
        handles.append(Line2D([], [], color=ARROW, linestyle="", marker="|", markersize=11, label="end of the program"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
