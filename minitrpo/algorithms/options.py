"""Settings that explain and check themselves: a dataclass field with its meaning, source and limits."""

import difflib
import math
import operator
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, fields
from typing import Any, cast

from minitrpo.errors import BadInput

REASONS = {  # why a setting has no effect, where not another setting is the reason
    "loop": "with an asynchronous algorithm",
    "actions": "in an environment whose actions are discrete",
}
KINDS = {int: "an integer", float: "a number", str: "a text"}
LIMITS = {"above": operator.gt, "at least": operator.ge, "at most": operator.le}


def option(
    default: Any,
    text: str,
    source: str = "",
    choices: tuple[str, ...] = (),
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    only: Mapping[str, Any] | None = None,
    finding: str = "setting",
) -> Any:
    """Return a dataclass field for one setting: an int, float or str, by the type of its default.

    Args:
        default: the value of a run that does not name the setting.
        text: what `--help` says of it.
        source: the paper or program that the default is from, for `--help`.
        choices: the only texts that are allowed.
        above: the value must be larger than this.
        least: the value must be at least this.
        most: the value must be at most this.
        only: when the setting has an effect: {other setting: the value, or the tuple of values, that it must have;
            True: any but 0 and the empty text}. Beside settings it may name "loop" ("synchronous", "asynchronous") and
            "actions" ("Box", "Discrete"). A run in which it has no effect says so.
        finding: how `explain` reports a value far from the default: a name in reports/findings.toml; "" if every
            value within the limits may be right.

    Returns:
        A field of a dataclass.

    """
    limits = {"above": above, "at least": least, "at most": most}
    described = {"help": text, "source": source, "choices": choices, "only": only or {}, "finding": finding}
    return field(default=default, metadata=described | limits)


# Settings of several algorithms; each says where its default is from
def discount_option(source: str = "") -> Any:
    """Return the setting of gamma."""
    return option(0.99, "discount per step (gamma)", source, above=0, most=1, finding="")  # it has a search of its own


def step_size_option(default: float = 1e-3, text: str = "the optimiser's step size", source: str = "") -> Any:
    """Return the setting of an optimiser's step size."""
    return option(default, text, source, above=0, most=1e3, finding="step_size")


def flag(name: str) -> str:
    """Return the command-line spelling of a setting."""
    return "--" + name.replace("_", "-")


ELSEWHERE = {  # what other libraries call a setting
    "env": "env_id env_name environment gym_id",
    "algorithm": "algo alg",
    "total_steps": "total_timesteps num_timesteps timesteps num_env_steps steps",
    "steps_per_update": "n_steps num_steps steps_per_epoch",
    "num_envs": "n_envs num_workers",
    "discount": "gamma",
    "gae_lambda": "lam lambda lamda",
    "max_kl": "target_kl delta",
    "step_size": "lr learning_rate",
    "critic_step_size": "lr learning_rate vf_lr",
    "epochs": "n_epochs update_epochs",
    "critic_epochs": "n_epochs n_critic_updates train_v_iters vf_iters",
    "entropy_weight": "ent_coef",
    "hidden": "hidden_sizes net_arch",
    "out": "logdir log_dir save_path output output_dir",
}


def meant(name: str, known: Collection[str]) -> str:
    """Return a question after the setting that was meant by an unknown name, "" if none is near."""
    near = [ours for ours, theirs in ELSEWHERE.items() if ours in known and name in theirs.split()]
    near = near or difflib.get_close_matches(name, known, 1, 0.75)  # vf_iters is no filter (0.71)
    return f"; did you mean {flag(near[0])}?" if near else ""


def without_effect(settings: Iterable[Any], facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that change nothing in a run, because of others.

    Args:
        settings: classes of settings, whose fields are made by `option`.
        facts: all settings of the run by name, and what else `only` may name, as far as it is known.

    Returns:
        {name of a setting: why, in words that follow "has no effect"}.

    """
    reasons = {}
    for f in (f for kind in settings for f in fields(kind)):
        for other, wanted in f.metadata["only"].items():
            if other not in facts:
                continue
            value, values = facts[other], wanted if isinstance(wanted, tuple) else (wanted,)
            if bool(value) if wanted is True else value in values:
                continue
            because = f"with {flag(other)} {value}" if value else f"without {flag(other)}"
            reasons[f.name] = REASONS.get(other, because)
    return reasons


def whole(value: Any) -> int:
    """Return an integer written as 5000, 5_000 or 5e3; ValueError for what is none."""
    try:
        return int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = float(value)
    if not number.is_integer():
        raise ValueError(value)
    return int(number)


whole.__name__ = "integer"  # argparse names the type in its message


def settings_of(kind: Any, values: dict[str, Any]) -> Any:
    """Return settings of this class with these values, as typed or from Python; BadInput for one outside its limits."""
    known = {f.name: f.default for f in fields(kind)}
    settings = kind(**{name: as_setting(known[name], value) for name, value in values.items()})
    check_options(settings)
    return settings


def as_setting(default: Any, value: Any) -> Any:
    """Return a value, typed or from Python, as a setting with this default has it; what cannot be one as it is.

    A tuple of numbers becomes a text with commas.
    """
    if isinstance(default, str):
        value = ",".join(map(str, value)) if isinstance(value, tuple | list) else value
        return str(value) if type(value) in (int, float) else value
    try:
        return value if isinstance(value, bool) else whole(value) if isinstance(default, int) else float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def check_options(settings: Any) -> None:
    """Raise BadInput at the first setting outside its limits, then whatever the settings' own `check` raises."""
    for f in fields(settings):
        value, default, choices = getattr(settings, f.name), cast(Any, f.default), f.metadata["choices"]
        kind = type(default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise BadInput(f"{flag(f.name)} must be {KINDS[kind]}, not {value!r}")
        if choices and value not in choices:
            raise BadInput(f"{flag(f.name)} must be one of {', '.join(choices)}, not {value!r}")
        limits = [(words, holds, f.metadata[words]) for words, holds in LIMITS.items() if f.metadata[words] is not None]
        well = kind is str or -math.inf < value < math.inf  # an integer may be too large for math.isfinite
        if not (well and all(holds(value, limit) for _, holds, limit in limits)):
            stated = ", ".join(f"{words} {limit:.15g}" for words, _, limit in limits)
            raise BadInput(f"{flag(f.name)} must be finite{stated and ', '}{stated}, not {value}")
    if hasattr(settings, "check"):
        settings.check()
