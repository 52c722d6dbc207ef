"""What the user of a run should know, in one line each: what may surprise, and what was asked for in vain."""

from dataclasses import fields
from typing import Any

from minitrpo.algorithms.options import flag
from minitrpo.experience.collectors import Collector
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.supervision.hang_detector import TICK
from minitrpo.training.context import RunContext, meets_too_often
from minitrpo.training.settings import Choice, Settings

MANY = 1_000  # numbers in an observation of rows and columns: a picture


def without_effect(given: dict[str, Any], choice: Choice, spec: EnvironmentSpec, ranks: int) -> list[str]:
    """Return a note for every setting that nothing listens to on so many ranks, or that spoils what is kept."""
    name, segments = choice.common.algorithm, choice.common.segments
    idle = {"num_envs": f"--requests {choice.common.requests}"} if not segments else {}
    idle |= dict.fromkeys(("pool", "envs_per_rank"), f"--requests {choice.common.requests}") if segments else {}
    idle |= {"eval_episodes": "--eval-every 0"} if not choice.common.eval_every else {}
    if choice.asynchronous:
        scheme = ("requests", "pool", "envs_per_rank", "num_envs", "learner", "record_every")
        states = ("first_states", "renew_first_states")
        idle = dict.fromkeys((*scheme, *states), f"--algorithm {name}, which is asynchronous")
        if choice.own.transport != "events":
            idle |= dict.fromkeys(("workers", "delay_jitter"), f"--transport {choice.own.transport}")
        served = choice.own.transport in ("auto", "server")
        if ranks == 1 or not served:
            idle["servers"] = "one rank" if served else f"--transport {choice.own.transport}"
    idle |= {} if choice.common.filter == "running" else {"filter_clip": f"--filter {choice.common.filter}"}
    idle |= {"initial_log_std": f"{spec.id}, whose actions are discrete"} if spec.discrete else {}
    idle |= {} if choice.common.first_states else {"renew_first_states": "--first-states 0"}
    idle |= choice.own.idle() if hasattr(choice.own, "idle") else {}
    notes = [f"note: {flag(option)} has no effect with {reason}" for option, reason in idle.items() if option in given]
    if choice.algorithm.replays and choice.common.filter == "running":
        notes.append(
            "note: with --filter running the replay buffer mixes observations that were normalised by what was known "
            "when they came; --filter none keeps them as they are"
        )
    return notes


def in_vain(given: dict[str, Any], choice: Choice, stuck_after: float) -> list[str]:
    """Return a note for every setting whose value can do nothing in a run of this length: see `options.option`."""
    total, update = choice.common.total_steps, choice.common.steps_per_update
    has = {"steps": total, "updates": -(-total // update)}
    has |= choice.own.units(total) if hasattr(choice.own, "units") else {}
    short = f"note: --stuck-after {stuck_after:g} is as --stuck-after {TICK:g}: a rank is looked at once a second"
    notes = [short] if stuck_after < TICK else []
    for settings in (choice.common, choice.own):
        for f in fields(settings):
            value, waits, part_of = getattr(settings, f.name), f.metadata.get("waits"), f.metadata.get("part_of")
            if f.name not in given or isinstance(value, str):
                continue
            said = f"note: {flag(f.name)} {value:,}"
            if waits and waits.unit in has and value * waits.times > has[waits.unit]:
                of_it = f"{waits.times} times " if waits.times > 1 else ""
                amount = f"{has[waits.unit]:,.0f} {waits.unit}"
                notes.append(f"{said} waits for {of_it}so many, and the run has {amount}: {waits.then}")
            if part_of and value * update < 1:
                notes.append(f"{said} of the {update:,} {part_of} of an update is less than one: one is taken")
            if 0 < abs(value) < (f.metadata.get("felt") or 0.0):
                notes.append(f"{said} is so little that what it moves is rounded to where it was: nothing is learned")
    return notes


def of_images(spec: EnvironmentSpec, settings: Settings) -> list[str]:
    """Return a note, if observations are pictures: here they are nothing but many numbers."""
    if len(spec.observation_shape) < 2 or spec.observation_size < MANY:
        return []
    size, width = spec.observation_size, settings.hidden_sizes[0]
    return [
        f"note: {spec.id} has observations of shape {spec.observation_shape}, which a perceptron takes as {size:,} "
        f"separate inputs: {size * width:,} weights in its first layer, no convolution, slow to play and to learn; "
        "gymnasium.wrappers.ResizeObservation and GrayscaleObservation make them smaller"
    ]


def at_the_beginning(context: RunContext, collector: Collector, ranks: int, working: int) -> list[str]:
    """Return what to say before the first update; `working` of the ranks work."""
    notes, spec = [], context.spec
    if working < ranks:
        few = f"{context.settings.steps_per_update} light steps between two updates"
        reason = few if meets_too_often(context.settings) else f"{working} core(s)"
        notes.append(
            f"note: {ranks} ranks, {reason}: {ranks - working} rank(s) leave the work to the others, "
            "who do it sooner alone; --oversubscribe makes all of them work"
        )
    if spec.max_episode_steps is None and collector.waits_for_ends:
        notes.append(
            f"note: {spec.id} has no time limit, so an episode may never end; --requests segments does not wait for one"
        )
    return notes
