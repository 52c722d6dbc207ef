"""What may be wrong with a run, and what finds it; findings.toml has the kinds of findings and the limits of numbers.

What is usual of a number is in usual.csv: lowest, median and highest of recorded healthy runs of a member, of the last
half of each; tests/tools/explained.py records them, plants faults, and counts which of these are found.
"""

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from minitrpo.algorithms.options import flag
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports.cures import meanings, metadata_of, tuned
from minitrpo.reports.probe import AHEAD, Played
from minitrpo.training.settings import Choice

TABLE, USUAL = (Path(__file__).with_name(name) for name in ("findings.toml", "usual.csv"))
Numbers = dict[str, float]


@dataclass(frozen=True)
class Kind:
    """A kind of finding: what it does to learning or to the time, one thing to change, and limits of numbers."""

    name: str
    does: str
    change: str
    low: str = ""  # what a value that is too low does, if that is another effect
    cures: tuple[str, ...] = ()  # changes of settings, the best first, as in findings.toml; if the value is too low:
    cures_if_low: tuple[str, ...] = ()
    otherwise: str = "no option of this algorithm changes it: see how its updates are made"
    limits: dict[str, tuple[float, float, str]] = field(default_factory=dict)


KINDS = {key: Kind(**values) for key, values in tomllib.loads(TABLE.read_text("utf-8")).items()}
FAR = 8.0  # times the default, or a part of it, and outside of all presets: a finding, of which kind


@dataclass(frozen=True)
class Found:
    """A finding: its kind's key, what was seen, what is usual, the setting that is accused, if it is too low.

    wanted: a value of this setting that undoes the finding, where it is not the default. limit: a time limit that was
    seen, in steps.
    """

    key: str
    seen: str
    usual: str
    setting: str = ""
    low: bool = False
    wanted: float | None = None
    limit: int = 0

    @property
    def cures(self) -> tuple[str, ...]:
        """Return the changes that undo it, the best first: of the accused setting, or else those of its kind."""
        if self.setting:
            return (f"{'larger' if self.low else 'smaller'} {self.setting}",)
        return tuple(KINDS[self.key].cures_if_low if self.low else KINDS[self.key].cures)


def numbers(columns: dict[str, Array], choice: Choice, played: Played | None, seen: ObservationFilter) -> Numbers:
    """Return the single numbers that describe a run; columns: of metrics.csv; seen: its policy's filter."""
    late = {name: column[len(column) // 2 :] for name, column in columns.items()}
    found = {name: float(np.nanmedian(late[name])) for name in late if np.isfinite(late[name]).any()}
    total = max(float(columns["iteration_s"].sum()), 1e-9)
    spent = {phase: float(columns[f"{phase}_s"].sum()) / total for phase in PHASES}
    found["waiting"] = spent["wait"]
    found["rest"] = 1.0 - sum(spent.values()) if not choice.asynchronous else 0.0
    if found.get("max_kl") and "kl" in found:
        found["kl_part"] = found["kl"] / found["max_kl"]
    if "applied" in columns:
        gone = columns["refused"].sum() + columns["lost"].sum()
        found["lost"] = float(gone / max(gone + columns["applied"].sum(), 1.0))
    found |= of_observations(seen)
    if played is None:
        found["reward"] = abs(found.get("mean_return", np.nan)) / found.get("mean_length", np.nan)
        return found
    f, spec = played.fragments, played.spec
    sizes = np.abs(f.rewards[f.rewards != 0.0])
    found |= {"step_s": played.step_s, "length": float(np.median(f.lengths))}
    found["reward"] = float(np.mean(sizes)) if len(sizes) else float("nan")
    found["clipped"] = float(np.mean(np.abs(seen(f.observations)) >= seen.clip))
    if seen.count == 0:
        found |= of_observations(ObservationFilter.identity(spec.observation_size).merged(f.observations))
    if found.get("constant", 1.0) < 1.0 and np.array_equal(f.observations, np.rint(f.observations)):
        found["constant"] = 0.0  # a grid or a code: a wall, or a place that was never reached, is as it should be
    entropy = found.get("entropy", float("nan")) / spec.action_size
    if "entropy" in columns and not spec.discrete:
        found["grown"] = float(np.exp(entropy - columns["entropy"][0] / spec.action_size))
    if spec.discrete and spec.action_size > 1:
        found["evenness"] = entropy * spec.action_size / np.log(spec.action_size)
    if not spec.discrete:
        found["deviation"] = float(np.exp(entropy - 0.5 * np.log(2 * np.pi * np.e)))
        found["beyond"] = float(np.mean(np.abs(f.actions) >= 1.0))
    return found


def of_observations(seen: ObservationFilter) -> Numbers:
    """Return how small and large their entries are, and which part of these never changes; nothing if none was seen."""
    if seen.count < 2:
        return {}
    deviation, size = np.sqrt(seen.squares / seen.count), np.abs(seen.mean)
    constant = deviation <= 1e-9 * np.maximum(size, 1e-6)
    found = {"constant": float(constant.mean()), "largest": float(np.maximum(deviation, size).max())}
    return found if constant.all() else found | {"smallest": float(deviation[~constant].min())}


@cache
def usual() -> dict[tuple[str, str], list[float]]:
    """Return {(member, number): [lowest, median, highest, runs]} of recorded healthy runs."""
    with USUAL.open(encoding="utf-8", newline="") as file:
        return {(member, name): list(map(float, rest)) for member, name, *rest in list(csv.reader(file))[1:]}


# --- what finds them


def in_numbers(known: Numbers, choice: Choice) -> Iterator[Found]:
    """Yield what lies outside of its limits; usual is what the member's runs had, or all where it has none."""
    for key, kind in KINDS.items():
        for name, (least, largest, text) in kind.limits.items():
            if np.isfinite(known.get(name, np.nan)) and not least <= known[name] <= largest:
                whose = choice.common.algorithm if (choice.common.algorithm, name) in usual() else "all members"
                low, median, high, runs = usual()[whose, name]
                runs_had = f"median {median:.2g}, range {low:.2g} to {high:.2g} in {runs:.0f} recorded runs of {whose}"
                yield Found(key, text.format(known[name]), runs_had, low=known[name] < least)


def in_episodes(played: Played, columns: dict[str, Array]) -> Iterator[Found]:
    """Yield what is wrong with how the environment answers, rewards and ends, as far as its episodes show it."""
    f, answers, always = played.fragments, played.answers, "in all recorded healthy runs"
    n, typical = len(f.lengths), float(np.median(f.lengths))
    if played.spec.discrete and played.spec.action_size == 1:
        yield Found("choice", "the action space has one element", "two or more")
    elif not played.spec.discrete and np.all(played.spec.low >= played.spec.high):
        seen = f"the lower bound of each entry is its upper bound; the first is {played.spec.low[0]:.3g}"
        yield Found("choice", seen, "a lower bound is below the upper bound")
    elif answers is None:
        yield Found("chance", "the same seed and actions gave other numbers", f"the same numbers {always}")
    else:
        if answers.deaf and np.ptp(f.rewards) > 0.0:
            yield Found("deaf", "four action sequences had the same rewards at the same steps", f"they differ {always}")
        elif answers.deaf and not np.nanstd(columns["mean_return"]) > 1e-9 * abs(f.returns[0]):
            yield Found("equal", f"each {f.returns[0]:.4g} in {f.lengths[0]} steps, for all actions", "they differ")
        if answers.late and np.ptp(f.observations, axis=0).any():  # what never changes is no late answer
            seen = f"another action changes none of the next {AHEAD} observations"
            if answers.late < AHEAD:
                seen = f"another action changes the observation only {answers.late + 1} steps later"
            yield Found("late", seen, f"the next one {always}")
        if answers.dearer > 0.9:
            yield Found("sign", "in one state a larger action has a larger reward", f"smaller, or the same, {always}")
        ended, most = f.terminated.mean() > 0.9, 1.1 * min(answers.ends, 100.0)
        early = np.isfinite(answers.ends) and ended and typical <= most  # random actions end it, too
        if early and f.rewards.max() <= 0.0 and f.rewards.min() < 0.0:
            seen = f"now after {typical:.0f} steps, with random actions after {answers.ends:.0f}"
            yield Found("early", seen, "a task that ends with a failure rewards every step before it")
    cut = f.lengths[f.truncated]
    if len(np.unique(cut)) > 1:
        seen = f"{len(cut)} of {n} episodes were cut, after {cut.min()} to {cut.max()} steps"
        yield Found("cut", seen, f"all after the same number of steps {always}")
    last = f.lengths[f.terminated]
    many = int(np.sum(last == last.max())) if len(last) else 0
    if many >= max(3, n / 4) and last.max() >= 20 and not f.truncated.any():
        seen = f"{many} of {n} episodes end after {last.max()} steps, none is cut"
        yield Found("end", seen, f"cut there {always}", limit=int(last.max()))
    if typical < 5:
        yield Found("short", f"half of them within {typical:.0f} steps", "8 steps or more in recorded healthy runs")
    sizes, ends = np.sort(np.abs(f.rewards))[::-1], -f.rewards[f.last]  # what an end costs
    few, common = max(len(sizes) // 100, 1), max(float(np.median(sizes)), 1e-12)
    if sizes[:few].sum() > 0.8 * sizes.sum() and sizes[0] > 1000 * common:
        seen = f"{few} of {len(sizes)} steps make {sizes[:few].sum() / sizes.sum():.0%} of the sum of absolute rewards"
        yield Found("event", seen, "1 % of the steps make 1 to 20 %")
    elif ends.sum() > 0.8 * sizes.sum() and np.median(ends) > 100 * common:
        seen = f"an end costs {np.median(ends):.3g}, {ends.sum() / sizes.sum():.0%} of all rewards"
        yield Found("event", seen, "an end costs no more than any step")
    yield from of_bounds(played)


def of_bounds(played: Played) -> Iterator[Found]:
    """Yield what is wrong with the bounds of continuous actions, of which there is more than one."""
    spec, answers = played.spec, played.answers
    if spec.discrete or np.all(spec.low >= spec.high):
        return
    low, high, same = float(np.min(spec.low)), float(np.max(spec.high)), int(np.sum(spec.low >= spec.high))
    finite = "finite, and different actions have different effects, in all recorded healthy runs"
    if same:
        seen = f"{same} of {len(spec.low)} entries have an upper bound that is not above the lower bound"
        yield Found("bounds", seen, "the upper bound is above the lower bound")
    elif not np.isfinite([low, high]).all():
        yield Found("bounds", f"they are {low:.3g} and {high:.3g}", finite)
    elif answers is not None and answers.saturated > 0.9:
        seen = f"they are {low:.3g} and {high:.3g}, and 40 % and 80 % of the way to a bound have the same effect"
        yield Found("bounds", seen, finite)


def in_settings(choice: Choice, columns: dict[str, Array]) -> Iterator[Found]:
    """Yield the settings that lie far outside the values of all presets, or do not fit the task."""
    values, (defaults, known), ours = choice.flat(), tuned(choice), meanings(choice)
    without_effect = choice.without_effect()
    for name, default in defaults.items():
        value, key = values[name], metadata_of(choice, name)["finding"]
        if isinstance(default, str | bool) or not key or name in without_effect:
            continue
        if not is_far(value, default, known[name], name in ours):
            continue
        seen = f"{flag(name)} is {value:g}"
        if name == "replay_size":
            seen += f": the mean age of a drawn transition is {min(value, columns['env_steps'][-1]) / 2:,.0f} steps"
        presets_have = f"{min(known[name]):g} to {max(known[name]):g} in presets"
        yield Found(key, seen, f"{default:g} by default, {presets_have}", name, value < default)
    width = min(choice.common.hidden_sizes)
    if width < min(8, *hidden_widths(defaults["hidden"])):
        yield Found("network", f"--hidden is {choice.common.hidden}", f"{defaults['hidden']}", "hidden", low=True)
    log_std, default = choice.common.initial_log_std, defaults["initial_log_std"]
    if abs(log_std - default) > 3.5 and has_deviation(choice, columns):
        many = f"{default:g} by default, -2 to 0 in presets"
        yield Found("exploration", f"--initial-log-std is {log_std:g}", many, "initial_log_std", log_std < default)
    anneals = {"anneal", "anneal_steps"} <= ours and values["anneal"] != "none"
    if anneals and 0 < values["anneal_steps"] < 0.8 * columns["env_steps"][-1]:
        yield Found("schedule", f"after {values['anneal_steps']:,} steps", "at the end of the run")
    lengths = columns["mean_length"][np.isfinite(columns["mean_length"])]
    if "discount" in ours and len(lengths) and ended_part(columns) >= 0.5:
        value, longest = values["discount"], float(lengths.max())
        ahead = 1 / max(1 - value, 1e-9)
        low = ahead < min(4.0, longest / 3)
        if low or (value > 0.995 and ahead > 15 * longest):
            seen = f"{value:g} looks {ahead:.3g} steps ahead, and episodes have {longest:.0f} at most"
            as_long = 1 - float(f"{1 / max(longest, 2.0):.2g}")  # it looks as far ahead as an episode goes on
            default = defaults["discount"]
            better = default if (default > value if low else default < value) else as_long
            yield Found("discount", seen, f"{defaults['discount']:g}", "discount", low, better)


def of_ranks(columns: dict[str, Array], cores: int, one_machine: bool) -> Iterator[Found]:
    """Yield whether a run had more ranks than its machine has cores; of several machines the cores are not known."""
    if one_machine and (ranks := int(columns["ranks"][-1])) > cores:
        yield Found("ranks", f"{ranks} ranks on {cores} cores", "a core for every rank")


def is_far(value: float, default: float, known: list[float], ours: bool) -> bool:
    """Return whether a value is FAR times its default or more, or that part of it, and outside of all presets.

    A default of 0 has no size: then the largest value of the presets has. Only of a positive default another value can
    be a small part: near a default of -1 lies 0, too. ours: whether the meaning of the setting is known.
    """
    if min(known) <= value <= max(known):
        return False
    size = abs(default) or max(map(abs, known)) or (0.01 if ours else 0.0)
    return size > 0 and (abs(value) >= FAR * size or (default > 0 and value <= size / FAR))


def hidden_widths(text: str) -> list[int]:
    """Return the widths of hidden layers, such as 64,64."""
    return [int(width) for width in text.split(",")]


def has_deviation(choice: Choice, columns: dict[str, Array]) -> bool:
    """Return whether a run draws actions with --initial-log-std: by the entropy of the first row, where it was logged.

    A Gaussian with this deviation has an entropy of the same sign and size for each entry; discrete actions have the
    logarithm of their number at most.
    """
    if "initial_log_std" in choice.without_effect():
        return False
    if "entropy" not in columns or not np.isfinite(columns["entropy"][0]):
        return True
    expected, logged = choice.common.initial_log_std + 0.5 * np.log(2 * np.pi * np.e), columns["entropy"][0]
    return bool(expected * logged > 0 and abs(logged) > 0.5 * abs(expected))


def in_log(columns: dict[str, Array], searches: list[str]) -> Iterator[Found]:
    """Yield whether returns fall, or do not rise, against their noise, and whether many line searches refused a step.

    searches: how they ended. The returns in the last fifth of the rows are compared with those in the first.
    """
    (first, last), z = ends_of(columns)
    part = ended_part(columns)
    if np.isfinite(z) and z < 2 and part < 0.5:
        seen = f"the {columns['episodes'].sum():,.0f} episodes in the log have {part:.0%} of the steps"
        yield Found("unfinished", seen, "nearly all steps")
    elif np.isfinite(z) and z < 2:
        seen = f"{first:.4g} in the first fifth, {last:.4g} in the last, {z:+.1f} standard errors"
        yield Found("fall" if z < -4 else "flat", seen, "a rise of more than 2 standard errors")
    refused = [word for word in searches if word != "accepted"]
    if len(refused) > 0.4 * len(searches):
        often = max(set(refused), key=refused.count)
        yield Found(
            "refused", f"{len(refused)} of {len(searches)}, most often: {often}", "none in recorded healthy runs"
        )


def ends_of(columns: dict[str, Array]) -> tuple[tuple[float, float], float]:
    """Return the mean returns of the first and the last fifth of a run's episodes, and by how many errors they differ.

    NaN if there are fewer than 6 rows with an episode.
    """
    known = np.isfinite(columns["mean_return"])
    returns, nothing = columns["mean_return"][known], float("nan")
    few = max(len(returns) // 5, 2)
    if len(returns) < 6:
        return (nothing, nothing), nothing
    first, last = returns[:few], returns[-few:]
    error = float(np.sqrt(first.var(ddof=1) / few + last.var(ddof=1) / few))
    apart = float(last.mean() - first.mean())
    z = apart / error if error > 0 else np.sign(apart) * 99.0
    return (float(first.mean()), float(last.mean())), float(z)


def ended_part(columns: dict[str, Array]) -> float:
    """Return the part of the steps that the episodes in the log have, of the run and of its last half, the smaller.

    The rest was played in episodes that had not ended; these are long, and may be better or worse than those that had.
    """
    ended = np.nancumsum(columns["episodes"] * columns["mean_length"])
    middle = len(ended) // 2
    parts = [ended[-1] / columns["env_steps"][-1]]
    if middle:
        parts.append((ended[-1] - ended[middle - 1]) / (columns["env_steps"][-1] - columns["env_steps"][middle - 1]))
    return float(min(parts))
