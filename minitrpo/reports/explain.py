"""Why a run does not learn, or takes so long: what `minitrpo explain` prints, and what a notebook shows.

Log, settings and checkpoint are read, then some episodes are played, if they take no long; see findings.toml.
"""

import base64
import html
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.errors import BadInput
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.trust import again
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports import findings
from minitrpo.reports.cures import cure_of
from minitrpo.reports.findings import KINDS, Found, Numbers
from minitrpo.reports.plots import BLUE, COLORS, GREEN, LOOK, STEPS, picture, title
from minitrpo.reports.probe import play
from minitrpo.reports.trained_policy import load, policy_of
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import command
from minitrpo.training.run_context import meets_too_often
from minitrpo.training.settings import Choice

SHOWN = 4  # findings of 4 lines each, and one line for the others
# Episodes played by default: EPISODES, up to MOST if they are short; fewer within SECONDS; none instead of under LEAST
EPISODES, STEPS_PLAYED, MOST, LEAST, SECONDS = 20, 2_000, 100, 3, 20.0


@dataclass(frozen=True)
class Explanation:
    """What a run says of itself; printed it is text, in a notebook a page with two pictures.

    found: the findings, the most important first. limits: how much of a step is noise, and where the time goes.
    numbers: what the findings are based on.
    """

    folder: RunFolder
    choice: Choice
    head: str
    found: tuple[Found, ...]
    limits: str
    numbers: Numbers
    fill: dict[str, Any]  # what is put into the words of a kind

    @property
    def kinds(self) -> list[str]:
        """Return the keys of what was found, as in findings.toml, the most important first."""
        return [each.key for each in self.found]

    def __str__(self) -> str:
        lines = [self.head]
        for number, each in enumerate(self.found[:SHOWN], 1):
            kind = KINDS[each.key]
            does = kind.low if each.low and kind.low else kind.does
            lines += [f"{number}. {kind.name}: {each.seen}", f"   usual: {each.usual}", f"   so: {does}"]
            lines.append(f"   try: {self.change(each)}")
        if others := ", ".join(KINDS[key].name for key in self.kinds[SHOWN:]):
            lines.append(f"also: {others}")
        return "\n".join([*lines, *([] if self.found else ["no fault found"]), self.limits])

    def change(self, found: Found) -> str:
        """Return what to try after a finding."""
        kind, fill = KINDS[found.key], self.fill | ({"limit": found.limit} if found.limit else {})
        if "{cure}" not in kind.change:
            return kind.change.format_map(fill)
        cure = cure_of(self.choice, found.cures, found.setting, found.wanted)
        return kind.otherwise.format_map(fill) if cure is None else kind.change.format_map(fill | {"cure": cure})

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.figure().encoded()).decode()
        image = f'<img alt="returns and seconds" src="data:image/png;base64,{content}">'
        return f"<pre>{html.escape(str(self))}</pre>{image}"

    def figure(self) -> Any:
        """Return a matplotlib Figure: the returns with their first and last fifth, and the seconds of each phase."""
        from matplotlib import rc_context

        c = self.folder.columns()
        known = np.isfinite(c["mean_return"])
        steps, returns = c["env_steps"][known] / 1e3, c["mean_return"][known]
        with rc_context(LOOK):
            figure = picture(11, 3.6)
            left, right = figure.subplots(1, 2)
            left.plot(steps, returns, color=BLUE, linewidth=1.2)
            (ends, _), few = findings.ends_of(c), max(len(returns) // 5, 2)
            for mean, part in zip(ends, (steps[:few], steps[-few:]), strict=True):
                left.plot(part, np.full(len(part), mean), color=GREEN, linewidth=3)
            left.set(xlabel=STEPS, ylabel="episode return", title="first and last fifth")
            right.barh(PHASES, [c[f"{phase}_s"].sum() for phase in PHASES], color=list(COLORS.values()))
            right.invert_yaxis()
            right.set(xlabel="seconds of rank 0", title="where the time went")
        return figure


def explain(folder: RunFolder, episodes: int | None = None) -> Explanation:
    """Return what a run says of itself.

    episodes: to be played; by default 20 or some 2,000 steps, as far as 20 seconds go. BadInput for a folder that is no
    run's, or a run without a row; EpisodeFailed if the environment fails.
    """
    choice, checkpoint = load(folder)
    columns = folder.columns()
    if not len(columns["iteration"]):
        raise BadInput(f"{folder.path} has no row in metrics.csv yet: wait for its first update")
    few = affordable(columns) if episodes is None else episodes
    played = play(policy_of(choice, checkpoint), few, choice.common.seed) if few else None
    searches = [row["line_search"] for row in folder.rows()] if "line_search" in folder.header else []
    seen = ObservationFilter.from_vector(checkpoint[RUN_PREFIX + "filter"])
    numbers = findings.numbers(columns, choice, played, seen)
    config = folder.read_config()
    made = config["provenance"]
    cores, one_machine = made.get("usable_cores") or made["cores"], made.get("one_machine", True)
    found = [*findings.in_settings(choice, columns), *findings.in_numbers(numbers, choice)]
    found += [*findings.in_log(columns, searches), *findings.of_ranks(columns, cores, one_machine)]
    found += findings.in_episodes(played, columns) if played is not None else []
    one = {each.key: each for each in reversed(found)}  # the first of each kind
    if "moves" in one and one["moves"].low in (one[key].low for key in ("max_kl", "step_size") if key in one):
        del one["moves"]  # that setting explains it
    ordered = tuple(one[key] for key in KINDS if key in one)
    working = working_ranks(choice, columns, cores if one_machine else None)
    last = limits(choice, columns, numbers, working) + slowest_rank(folder)
    fill = filled(folder, choice, numbers, working, cores if one_machine else None)
    return Explanation(folder, choice, head(config, columns, few), ordered, last, numbers, fill)


def working_ranks(choice: Choice, columns: dict[str, Array], cores: int | None) -> int:
    """Return how many ranks of a run work, as train decides it without --oversubscribe; cores: None if unknown."""
    ranks = int(columns["ranks"][-1])
    if choice.asynchronous:
        return ranks
    return 1 if meets_too_often(choice.common) else min(ranks, cores or ranks)


def affordable(columns: dict[str, Array]) -> int:
    """Return how many episodes are played by default, from the seconds that the episodes of the run took."""
    each = float(columns["collect_s"].sum() / columns["env_steps"][-1])
    lengths = columns["mean_length"][np.isfinite(columns["mean_length"])]
    longest, typical = (lengths.max(), np.median(lengths)) if len(lengths) else (1_000.0, 1_000.0)
    if findings.ended_part(columns) < 0.5:  # those that have not ended are longer; how long, nothing says
        longest = max(longest, 10_000.0)
    wanted = min(max(EPISODES, STEPS_PLAYED / typical), MOST)
    many = int(min(wanted, SECONDS / max(each * longest, 1e-9)))
    return many if many >= LEAST else 0


def head(config: dict[str, Any], columns: dict[str, Array], episodes: int) -> str:
    """Return a line about the run, and one about what was looked at."""
    (first, last), _ = findings.ends_of(columns)
    rise = (
        f"return {first:.4g} at first, {last:.4g} at the end" if np.isfinite(first) else "too few episodes for a trend"
    )
    if (part := findings.ended_part(columns)) < 0.5:
        rise += f" (of the episodes that ended, which have {part:.0%} of the steps)"
    updates = f"{int(columns['iteration'][-1]):,} updates, {int(columns['env_steps'][-1]):,} steps"
    rest = f"and {episodes} episodes played" if episodes else "no episodes were played: --episodes 20 plays some"
    return f"{title(config, columns['ranks'])}: {updates}, {rise}\nlooked at: log, settings, checkpoint, {rest}"


def filled(folder: RunFolder, choice: Choice, numbers: Numbers, working: int, cores: int | None) -> dict[str, Any]:
    """Return what is put into the words of findings: commands, each as it is typed here, and numbers.

    working: ranks of the run that work; the commands start as many. cores: of its machine, None if it had several.
    """
    s, path, here = choice.common, os.path.relpath(folder.path), Path.cwd()
    names = [*again(s.env, "--env", here), *again(s.algorithm, "--algorithm", here)]

    def train(ranks: int) -> str:
        return command("train", "--config", path, *names, ranks=ranks)

    more = 2 * working if cores is None else min(2 * working, cores)
    more = min(more, s.num_envs) if s.segments and not choice.asynchronous else more
    quicker = f"use more ranks, with a core each: {train(more)}"
    return {
        "train": train(working),
        "all_cores": train(min(working, cores or working)),
        "more_ranks": quicker if more > working else "make its step() faster, or use a machine with more cores",
        "fewer": train(max(working // 2, 1)),
        "watch": command("watch", path, *names),
        "evaluate": command("evaluate", path, "--sample", *names),
        "check": command("check", s.algorithm, "--env", s.env),
        "limit": f"{numbers.get('length', 0):.0f}",
        "size": numbers.get("reward", 1.0) or 1.0,
        "more": min(4 * s.total_steps, 10**15),
        "other_seed": (s.seed + 1) % 2**63,
    }


def limits(choice: Choice, columns: dict[str, Array], numbers: Numbers, working: int) -> str:
    """Return what may limit a run: the noise of its steps, and its slowest phase with what more ranks would give.

    The latter is Amdahl's law on its own seconds: off by at most 25 % in 58 recorded pairs of runs on 1 and 2 ranks.
    """
    lines = []
    if "noise" in numbers:
        noise = min(numbers["noise"], 0.98)
        half, more = columns["steps_per_update"][-1] * noise / (1 - noise), " or more" * (noise == 0.98)
        cure = f"; {half:,.0f} steps{more} per update would make it 50%" * (noise > 0.5)  # little noise limits nothing
        lines.append(f"noise: {noise:.0%}{more} of a step's predicted gain is chance{cure}")
    total = float(columns["iteration_s"].sum())
    seconds = {phase: float(columns[f"{phase}_s"].sum()) for phase in PHASES}
    slowest = max(seconds, key=lambda phase: seconds[phase])
    text = f"time: {slowest} takes {seconds[slowest] / total:.0%}"
    if not choice.asynchronous and not meets_too_often(choice.common):  # there more ranks would stay idle
        quicker = total / (total - seconds["collect"] / 2)
        text += f"; {2 * working} ranks with a core each would be about {quicker:.2f} times as quick (within 25 %)"
    return "\n".join([*lines, text])


def slowest_rank(folder: RunFolder) -> str:
    """Return which rank ends its part last most often, and how long all wait, from a run's trace.json if it has one."""
    ends: dict[int, list[float]] = {}
    waited = 0.0
    path = folder.path / "trace.json"
    for event in json.loads(path.read_text("utf-8"))["traceEvents"] if path.exists() else []:
        if event["name"] == "collect":
            ends.setdefault(event["tid"], []).append(event["ts"] + event["dur"])
        waited += event["dur"] if event["name"] == "wait" else 0.0
    if len(ends) < 2 or waited == 0.0:
        return ""
    ranks, last = list(ends), np.argmax(list(zip(*ends.values(), strict=False)), axis=1)
    most = int(np.bincount(last).argmax())
    each, often = waited / max(map(max, ends.values())) / len(ends), np.mean(last == most)
    return f"; a rank waits {each:.0%} of the time, for rank {ranks[most]} in {often:.0%} of the updates"
