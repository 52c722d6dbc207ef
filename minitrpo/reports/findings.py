"""What may be wrong with a run, and what finds it; findings.toml has the kinds of findings and the limits of numbers.

What is usual of a number is in usual.csv: lowest, median and highest of recorded healthy runs of a member, of the last
half of each; tests/tools/explained.py records them, plants faults, and counts which of these are found.
"""

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.algorithms.options import flag
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports.probe import AHEAD, Played
from minitrpo.training.settings import Choice, Settings, presets

TABLE, USUAL = (Path(__file__).with_name(name) for name in ("findings.toml", "usual.csv"))
Numbers = dict[str, float]


@dataclass(frozen=True)
class Kind:
    """A kind of finding: what it does to learning or to the time, one thing to change, and limits of numbers."""

    name: str
    does: str
    change: str
    limits: dict[str, tuple[float, float, str]] = field(default_factory=dict)


KINDS = {key: Kind(**values) for key, values in tomllib.loads(TABLE.read_text("utf-8")).items()}
FAR = 8.0  # times the default, or a part of it, and outside of all presets: a finding, of which kind
OF_SETTINGS = {"max_kl": "max_kl", "step_size": "step_size", "steps_per_update": "batch", "critic_step_size": "critic"}
OF_SETTINGS |= {"replay_size": "replay", "replay_ratio": "replay"}
OF_SETTINGS |= {"critic_epochs": "critic", "entropy_weight": "exploration", "entropy": "exploration"}
FREE = {"total_steps", "seed", "num_envs", "envs_per_rank", "first_states", "renew_first_states", "record_every"}
FREE |= {"eval_every", "eval_episodes", "anneal_steps", "initial_log_std", "discount", "margin"}


@dataclass(frozen=True)
class Found:
    """A finding: the key of its kind, what was seen, what is usual, and what undoes it if that is an option."""

    key: str
    seen: str
    usual: str
    cure: str = ""


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
    entropy = found.get("entropy", float("nan")) / spec.action_size
    if "entropy" in columns and not spec.discrete:
        found["grown"] = float(np.exp(entropy - columns["entropy"][0] / spec.action_size))
    if spec.discrete:
        found["evenness"] = entropy * spec.action_size / np.log(spec.action_size)
    else:
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
                many = f"{low:.2g} to {high:.2g} in {runs:.0f} recorded runs of {whose}"
                yield Found(key, text.format(known[name]), f"{median:.2g}, {many}")


def in_episodes(played: Played, columns: dict[str, Array]) -> Iterator[Found]:
    """Yield what is wrong with how the environment answers, rewards and ends, as far as its episodes show it."""
    f, answers, always = played.fragments, played.answers, "in all recorded healthy runs"
    n, typical = len(f.lengths), float(np.median(f.lengths))
    if answers is None:
        yield Found("chance", "the same seed and actions gave other numbers", f"the same numbers {always}")
    else:
        if answers.deaf and np.ptp(f.rewards) > 0.0:
            yield Found("deaf", "four action sequences had the same rewards at the same steps", f"they differ {always}")
        elif answers.deaf and not np.nanstd(columns["mean_return"]) > 1e-9 * abs(f.returns[0]):
            yield Found("equal", f"each {f.returns[0]:.4g} in {f.lengths[0]} steps, for all actions", "they differ")
        if answers.late:
            seen = f"another action changes none of the next {AHEAD} observations"
            if answers.late < AHEAD:
                seen = f"another action changes the observation only {answers.late + 1} steps later"
            yield Found("late", seen, f"the next one {always}")
        if answers.dearer > 0.9:
            yield Found("sign", "in one state a larger action has a larger reward", f"smaller, or the same, {always}")
        ended, most = f.terminated.mean() > 0.9, 1.1 * min(answers.ends, 100.0)
        if ended and typical <= most and f.rewards.max() <= 0.0 and f.rewards.min() < 0.0:
            seen = f"each step costs, and the task ends early, now after {typical:.0f} steps: failure is rewarded"
            yield Found("sign", seen, "a task that can end early rewards every step")
    cut = f.lengths[f.truncated]
    if len(np.unique(cut)) > 1:
        seen = f"{len(cut)} of {n} episodes were cut, after {cut.min()} to {cut.max()} steps"
        yield Found("cut", seen, f"all after the same number of steps {always}")
    last = f.lengths[f.terminated]
    many = int(np.sum(last == last.max())) if len(last) else 0
    if many >= max(3, n / 4) and last.max() >= 20 and not f.truncated.any():
        yield Found("end", f"{many} of {n} episodes end after {last.max()} steps, none is cut", f"cut there {always}")
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
    spec = played.spec
    if not spec.discrete:
        low, high = float(np.min(spec.low)), float(np.max(spec.high))
        wide = not np.isfinite([low, high]).all() or max(abs(low), abs(high)) >= 50
        if wide or np.any(spec.low >= spec.high):
            yield Found("bounds", f"they are {low:.3g} and {high:.3g}", "-3 to 3 at most in recorded healthy runs")


def in_settings(choice: Choice, columns: dict[str, Array], cores: int) -> Iterator[Found]:
    """Yield the settings that lie far outside the values of all presets, or do not fit the task."""
    values, (defaults, allowed) = choice.flat(), tuned(choice)
    for name, default in defaults.items():
        value, known = values[name], allowed[name]
        if isinstance(default, str | bool) or name in FREE or name.startswith("adapt"):
            continue
        base = default or max(known) or (0.01 if name.startswith("entropy") else value)
        if not base / FAR < value < base * FAR and not min(known) <= value <= max(known):
            key, presets_have = OF_SETTINGS.get(name, "setting"), f"{min(known):g} to {max(known):g} in presets"
            seen, cure = f"{flag(name)} is {value:g}", f"{flag(name)} {default:g}"
            if name == "replay_size":
                seen += f": the mean age of a drawn transition is {min(value, columns['env_steps'][-1]) / 2:,.0f} steps"
            yield Found(key, seen, f"{default:g}, {presets_have}", cure)
    if (ranks := int(columns["ranks"][-1])) > cores:
        yield Found("ranks", f"{ranks} ranks on {cores} cores", "a core for every rank")
    width = min(choice.common.hidden_sizes)
    if width < 8:
        yield Found("network", f"--hidden is {choice.common.hidden}", f"{defaults['hidden']}")
    if abs(choice.common.initial_log_std - defaults["initial_log_std"]) > 3.5:
        seen = f"--initial-log-std is {choice.common.initial_log_std:g}"
        yield Found("exploration", seen, f"{defaults['initial_log_std']:g}, -2 to 0 in presets")
    lengths = columns["mean_length"][np.isfinite(columns["mean_length"])]
    if values.get("anneal", "none") != "none" and 0 < values["anneal_steps"] < 0.8 * columns["env_steps"][-1]:
        yield Found("schedule", f"after {values['anneal_steps']:,} steps", "at the end of the run")
    if "discount" in values and len(lengths):
        ahead, longest = 1 / max(1 - values["discount"], 1e-9), float(lengths.max())
        if ahead < min(4.0, longest / 3) or (values["discount"] > 0.995 and ahead > 15 * longest):
            seen = f"{values['discount']:g} looks {ahead:.3g} steps ahead, and episodes have {longest:.0f} at most"
            yield Found("discount", seen, f"{defaults['discount']:g}")


def tuned(choice: Choice) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the default settings of a member in its environment, and the values of each in all its presets."""
    values = {f.name: f.default for kind in (Settings, choice.algorithm.Settings) for f in fields(kind)}
    known, named = {name: [value] for name, value in values.items()}, presets(choice.algorithm)
    for given in (given for preset in named.values() for given in (preset.values, *preset.by_env.values())):
        for name, value in given.items():
            known[name].append(value)
    return values | named["default"].values | named["default"].by_env.get(choice.common.env, {}), known


def in_log(columns: dict[str, Array], searches: list[str]) -> Iterator[Found]:
    """Yield whether returns fall, or do not rise, against their noise, and whether many line searches refused a step.

    searches: how they ended. The returns in the last fifth of the rows are compared with those in the first.
    """
    (first, last), z = ends_of(columns)
    if np.isfinite(z) and z < 2:
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
