"""Checks of lecture 15: a pool on an imagined clock, workers that share a server, and what a larger batch saves."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from minitrpo.course.checks.differential import Case, case
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise

MAKESPAN = "minitrpo.course.scaling.heart:makespan"
SOURCE, UPDATES = (f"minitrpo.course.scaling.formulas:{name}" for name in ("finite_source", "updates_needed"))

SERVED, AGAIN, LAST = "max(now, counter) + draw", "heapq.heappush(free, counter + length)", "return max(free)"
MAKESPAN_SLIPS = {
    "The counter serves nobody while it is taken: who comes then has to wait.": (SERVED, "now + draw"),
    "The draw itself takes time.": (SERVED, "max(now, counter)"),
    "A free counter waits for the next rank to come.": (SERVED, "counter + draw"),
    "The counter is free again after the draw, not after the episode.": (
        AGAIN, "counter += length; heapq.heappush(free, counter)"),
    "That is when the first rank is done: all wait for the last.": (LAST, "return min(free)"),
    "That is the mean over the ranks: all wait for the last.": (LAST, "return sum(free) / ranks"),
    "That adds up all ranks' seconds: they play side by side.": (LAST, "return sum(free)"),
    "Episodes come in their order, not the longest first.": ("in lengths:", "in sorted(lengths, reverse=True):"),
}  # fmt: skip


@exercise(
    "makespan",
    MAKESPAN,
    hints=(
        "Of all ranks only one thing matters: when each is free again. A heap gives the earliest in one call.",
        "`heapq.heappop(free)` takes the earliest out, `heapq.heappush(free, time)` puts one in.",
        "The counter is one more time: when it is free again. A rank that comes earlier than that waits.",
    ),
    mistakes=edits(MAKESPAN, MAKESPAN_SLIPS),
)
def makespan_cases() -> Iterator[Case]:
    """Yield few and many episodes, equal and unequal ones, with a counter that costs nothing, little, and too much."""
    rng = np.random.default_rng(0)
    few = (([5.0, 1.0, 1.0, 1.0], 2), ([3.0, 1.0, 2.0], 2), ([2.0], 3), ([1.0, 2.0, 3.0, 4.0], 1), ([4.0, 4.0, 4.0], 2))
    yield from (case("a free counter", lengths, ranks) for lengths, ranks in few)
    yield from (case("a slow counter", lengths, ranks, 0.5) for lengths, ranks in few)
    yield case("no episode", [], 3, 0.5)
    yield case("a counter that takes longer than an episode", [1.0] * 6, 3, 2.0)
    yield case("a counter that is free for a while", [10.0, 10.0, 1.0, 1.0], 2, 1.0)
    for ranks, draw in product((1, 4, 16, 100), (0.0, 0.01, 0.3)):
        yield case("episodes at random", rng.exponential(1.0, 60).tolist(), ranks, draw)
    yield case("an array", rng.exponential(1.0, 30), 4, 0.1)
    yield case("whole seconds", [3, 1, 2, 5], 2, 1)


HERE, RATE, QUEUE = "service * (1 + queue)", "count / (think + here)", "rate * here"
SOURCE_SLIPS = {
    "Who comes finds a queue: it is served first.": (HERE, "service"),
    "The own service takes time, too.": (HERE, "service * queue"),
    "A customer does not wait for itself: the queue is that of one customer less.": (HERE, "service * count"),
    "A round is thinking and being served.": (RATE, "count / here"),
    "All customers come round, not one.": (RATE, "1 / (think + here)"),
    "So far there are fewer customers: as many come round as are there.": (RATE, "customers / (think + here)"),
    "That is the smaller of two bounds: a queue lies between them.": (
        "return rate", "return min(customers / (think + service), 1 / service)"),
    "The queue counts customers: rate times seconds at the server.": (QUEUE, "rate * service"),
    "That is the queue, not the rate.": ("return rate", "return queue"),
}  # fmt: skip


@exercise(
    "finite_source",
    SOURCE,
    hints=(
        "Begin with one customer, who never waits: its round takes think + service seconds.",
        "The second finds, on average, the queue of the first. So add customers one by one, and keep the queue.",
        "Little's law: how many are at a place = how many come a second, times the seconds each stays there.",
    ),
    mistakes=edits(SOURCE, SOURCE_SLIPS),
)
def finite_source_cases() -> Iterator[Case]:
    """Yield one customer and many, a server with much to do and with little."""
    yield from (case("one customer", 1, think, 0.5) for think in (0.0, 0.5, 20.0))
    for customers, service in product((2, 3, 10, 100, 1000), (0.5, 3.0, 0.02, 0.001)):
        yield case("several customers", customers, 1.0, service)
    yield case("customers who never think", 7, 0.0, 0.25)
    yield case("a server that takes no time", 7, 0.25, 0.0)
    yield case("whole numbers", 4, 3, 2)


RATIO = "(1 + noise_scale / batch) / (1 + noise_scale / reference)"
UPDATES_SLIPS = {
    "That is upside down: a larger batch needs fewer updates.": (
        RATIO, "(1 + noise_scale / reference) / (1 + noise_scale / batch)"),
    "That counts steps alone: below the noise scale it is right, above it batches gain little.": (
        RATIO, "reference / batch"),
    "That leaves the reference out: its updates are not of infinitely many steps either.": (
        RATIO, "(1 + noise_scale / batch)"),
    "The noise shrinks with the batch, not with its square root.": (
        RATIO, "(1 + (noise_scale / batch) ** 0.5) / (1 + (noise_scale / reference) ** 0.5)"),
    "Those are steps: updates are wanted.": (RATIO, f"{RATIO} * batch"),
    "An infinite noise scale leaves the number of steps: it must not become nan.": (
        "if math.isinf(noise_scale):", "if False:"),
}  # fmt: skip


@exercise(
    "updates_needed",
    UPDATES,
    hints=(
        "How far does an update of `reference` steps get, and one of `batch`? Both are fractions of the best.",
        "Updates times how far each gets is the same for both.",
        "Infinite noise: both fractions are 0, and their ratio is that of the batches.",
    ),
    mistakes=edits(UPDATES, UPDATES_SLIPS),
)
def updates_needed_cases() -> Iterator[Case]:
    """Yield batches below, at and above the reference and the noise scale, no noise, and nothing but noise."""
    for batch, noise in product((100.0, 1000.0, 8000.0, 1e6), (0.0, 500.0, 8000.0, 1e7)):
        yield case("a batch", batch, 1000.0, 30.0, noise)
    yield case("the reference itself", 50_000.0, 50_000.0, 20.0, 8000.0)
    yield from (case("nothing but noise", batch, 1000.0, 30.0, float("inf")) for batch in (10.0, 1000.0, 64_000.0))
    yield case("whole numbers", 2000, 500, 8, 1000)
