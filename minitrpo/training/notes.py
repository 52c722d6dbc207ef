"""What the user of a run should know before its first update, in one line each."""

from typing import Any

from minitrpo.algorithms.options import flag
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.training.context import RunContext, meets_too_often
from minitrpo.training.settings import Choice

SYNCHRONOUS = ("requests", "pool", "envs_per_rank", "num_envs", "learner", "record_every", "first_states")


def without_effect(given: dict[str, Any], choice: Choice, spec: EnvironmentSpec, ranks: int) -> list[str]:
    """Return a note for every setting in `given` that nothing listens to in this run, on so many ranks."""
    s, own = choice.common, choice.own
    names = ("pool", "envs_per_rank") if s.segments else ("num_envs",)
    idle = dict.fromkeys(names, f"--requests {s.requests}")
    idle |= {} if s.first_states else {"renew_first_states": "--first-states 0"}
    if choice.asynchronous:
        idle |= dict.fromkeys((*SYNCHRONOUS, "renew_first_states"), f"--algorithm {s.algorithm}, which is asynchronous")
        if own.transport != "events":
            idle |= dict.fromkeys(("workers", "delay_jitter"), f"--transport {own.transport}")
        if own.transport not in ("auto", "server"):
            idle["servers"] = f"--transport {own.transport}"
        elif ranks == 1:
            idle["servers"] = "one rank"
    idle |= {} if s.eval_every else {"eval_episodes": "--eval-every 0"}
    idle |= {} if s.filter == "running" else {"filter_clip": f"--filter {s.filter}"}
    idle |= {"initial_log_std": f"{spec.id}, whose actions are discrete"} if spec.discrete else {}
    idle |= own.idle() if hasattr(own, "idle") else {}
    return [f"note: {flag(option)} has no effect with {reason}" for option, reason in idle.items() if option in given]


def at_the_beginning(context: RunContext, ranks: int, working: int) -> list[str]:
    """Return what to say before the first update; `working` of the ranks work."""
    notes, spec = [], context.spec
    if working < ranks:
        few = f"{context.settings.steps_per_update} light steps between two updates"
        reason = few if meets_too_often(context.settings) else f"{working} core(s)"
        notes.append(
            f"note: {ranks} ranks, {reason}: {ranks - working} rank(s) leave the work to the others, "
            "who do it sooner alone; --oversubscribe makes all of them work"
        )
    if spec.max_episode_steps is None and not context.settings.segments:
        notes.append(
            f"note: {spec.id} has no time limit, so an episode may never end; --requests segments does not wait for one"
        )
    return notes
