"""The settings of every run, whatever its algorithm: each with its default, its meaning and its limits."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from minitrpo.algorithms import registry
from minitrpo.algorithms.algorithm import Preset
from minitrpo.algorithms.options import flag, meant, option, settings_of, without_effect
from minitrpo.algorithms.user_classes import accepted
from minitrpo.errors import BadInput
from minitrpo.policies import Array
from minitrpo.run_folder.metrics_csv import EVALUATION, FIRST, GRADIENTS, LAST
from minitrpo.supervision.watchdog import MAX_SLOTS, STUCK_AFTER

SYNCHRONOUS = {"loop": "synchronous"}  # what only the loop with a barrier heeds


@dataclass(frozen=True)
class Settings:
    """The settings of a run without those of its algorithm; equal settings give equal bits on any number of ranks.

    A preset may begin with other values: see the default preset in the module of the algorithm.
    """

    algorithm: str = option(
        registry.DEFAULT, f"{', '.join(registry.ALGORITHMS)}, or a class of your own as module:Class"
    )
    env: str = option("Reacher-v5", "a Gymnasium id; module:ID for a package, module:Name for your own")
    total_steps: int = option(
        500_000,
        "stop after the update that reaches this number of environment steps (an algorithm with a fixed number of "
        "episodes stops before it); schedules such as --anneal end there, so a short run is not the beginning of a "
        "long one",
        least=1,
        most=10**15,
        finding="",
    )
    steps_per_update: int = option(
        5_000, "environment steps per update", "Frans 2016: the best of his sweeps", least=1, most=10**9,
        finding="batch",
    )  # fmt: skip
    seed: int = option(0, "seed of all random numbers of the run", least=0, most=2**63 - 1, finding="")
    requests: str = option(
        "episodes",
        "ranks play whole episodes, or segments of fixed length, which are bootstrapped at their ends",
        "Frans & Hafner 2016; Batch PPO",
        ("episodes", "segments"),
        only=SYNCHRONOUS,
    )
    first_states: int = option(
        0,
        "number of initial states that episodes use in turn, the same in every update; 0: a new one per episode",
        least=0,
        most=10**6,
        only=SYNCHRONOUS,
        finding="",
    )
    renew_first_states: int = option(
        0,
        "with --first-states: number of updates before new ones are drawn, for episodes that begin later; 0: never",
        least=0,
        most=10**9,
        only={"first_states": True} | SYNCHRONOUS,
        finding="",
    )
    pool: str = option(
        "dynamic",
        "ranks take episodes from a common pool, or get a fixed share",
        "Frans & Hafner 2016, section 5",
        ("dynamic", "static"),
        only={"requests": "episodes"} | SYNCHRONOUS,
    )
    envs_per_rank: int = option(
        16,
        "with --requests episodes: environments that a rank steps together, at most",
        least=1,
        most=MAX_SLOTS,
        only={"requests": "episodes"} | SYNCHRONOUS,
        finding="",
    )
    num_envs: int = option(
        16,
        "with --requests segments: number of environments of the whole job",
        least=1,
        most=MAX_SLOTS,
        only={"requests": "segments"} | SYNCHRONOUS,
        finding="",
    )
    learner: str = option(
        "root",
        "the update is computed by rank 0, or by all ranks with a core; the bits are the same",
        "Frans & Hafner 2016, section 4",
        ("root", "sharded"),
        only=SYNCHRONOUS,
    )
    physics: str = option(
        "auto", "step MuJoCo tasks in one call, or through Gymnasium; the bits are the same", "", ("auto", "gymnasium")
    )
    hidden: str = option("64,64", "widths of the tanh layers of the networks", "modular_rl, Henderson et al. 2018")
    initial_log_std: float = option(
        0.0,
        "initial log standard deviation of a Gaussian policy",
        "modular_rl: 0",
        least=-20,
        most=5,
        only={"actions": "Box"},
        finding="",  # it has a search of its own
    )
    filter: str = option(
        "running", "normalise observations by the mean and deviation of earlier ones, or not", "", ("running", "none")
    )
    filter_clip: float = option(
        10.0,
        "observations are clipped to this many standard deviations",
        "baselines: 5-10",
        above=0,
        most=1e6,
        only={"filter": "running"},
    )
    checkpoint_every: str = option("1s", "updates between two checkpoints, or seconds with an s: 20, 30s")
    record_every: int = option(
        1,
        "updates per row of metrics.csv (means); checkpoints are written with rows",
        least=1,
        most=10**9,
        only=SYNCHRONOUS,
        finding="",
    )
    eval_every: int = option(
        0,
        "play fresh episodes with the mean action every N steps, for the column eval_return; "
        "they do not count as steps or seconds (in asynchronous runs the other ranks continue); 0: never",
        least=0,
        most=10**15,
        finding="",
    )
    eval_episodes: int = option(
        10, "with --eval-every: number of episodes", least=1, most=100_000, only={"eval_every": True}, finding=""
    )

    @property
    def segments(self) -> bool:
        """Return whether environments are played on where they were cut, not episode by episode."""
        return self.requests == "segments"

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """Return the widths of the hidden layers as integers."""
        return tuple(int(width) for width in self.hidden.split(",") if width)

    def check(self) -> None:
        """Raise BadInput for a text that means nothing."""
        if not re.fullmatch(r" *[1-9][0-9]{0,4} *(, *[1-9][0-9]{0,4} *)*", self.hidden):
            raise BadInput(
                f"--hidden must be positive integers below 100000 with commas, such as 64,64, not {self.hidden!r}"
            )
        if not re.fullmatch(r"[1-9][0-9]{0,8}|([1-9][0-9]{0,8}|0)(\.[0-9]{1,6})?s", self.checkpoint_every):
            raise BadInput(
                f"--checkpoint-every must be a number of updates or seconds, such as 20 or 30s, "
                f"not {self.checkpoint_every!r}"
            )


# On --resume: nothing that would make the numbers differ
MAY_CHANGE = ("total_steps", "pool", "envs_per_rank", "physics", "learner", "checkpoint_every")
PROGRESS = ("auto", "bar", "lines", "none")
LOGS = ("tensorboard",)


def job_option(default: Any, text: str, metavar: str | None = None, choices: tuple[str, ...] = ()) -> Any:
    """Return a dataclass field for one option of a job, which changes no result; `option` makes those that do."""
    return field(default=default, metadata={"help": text, "metavar": metavar, "choices": choices})


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What a job is asked for beside the settings of its run: where it writes, and what it shows."""

    out: str | None = job_option(None, "run folder to create (default: runs/ENV-seedS, numbered)", "DIR")
    resume: str | None = job_option(None, "continue the run in this folder, to the same bits", "DIR")
    config: str | None = job_option(
        None, "start with the settings in a run's config.json; other options change them", "FILE"
    )
    seeds: str | None = job_option(None, "one run per seed, in turn: 0-4, or 0,3,7; with --out in OUT/seedN", "A-B")
    trace: bool = job_option(False, "write trace.json, what every rank did when (Perfetto)")
    oversubscribe: bool = job_option(
        False, "also use ranks without a core of their own, or with too little work; the bits are the same"
    )
    progress: str = job_option("auto", "auto: a bar on a terminal, else lines", None, PROGRESS)
    log: str | None = job_option(None, "also write the rows for TensorBoard, into OUT/tensorboard", None, LOGS)
    stuck_after: float = job_option(
        STUCK_AFTER, "end the job if a call of the environment takes this long (of the algorithm: 20 times)", "S"
    )
    preset: str | None = job_option(None, "the settings to begin with")


OF_A_JOB = tuple(f.name for f in fields(JobOptions))
# Checkpoints of 0.3.0 still fit: their fingerprints are without the settings that came later, if these have their
# defaults, and with those that an algorithm had then, `Member.removed`
LATER = {"core": "", "derivatives": "formulas"}
TAKEN = {*(f.name for f in fields(Settings)), *FIRST, *EVALUATION, *GRADIENTS, *LAST, *OF_A_JOB, "help"}


@dataclass(frozen=True)
class Choice:
    """The settings of one run: those every run has, and the algorithm's class with its own."""

    common: Settings
    algorithm: Any
    algorithm_settings: Any

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of metrics.csv."""
        evaluation = EVALUATION if self.common.eval_every else ()
        return (*FIRST, *evaluation, *(GRADIENTS if self.asynchronous else ()), *self.algorithm.columns, *LAST)

    @property
    def asynchronous(self) -> bool:
        """Return whether the algorithm applies gradients as they come, without a barrier."""
        return bool(self.algorithm.loop == "asynchronous")

    def copies(self, ranks: int) -> int:
        """Return how many copies of the environment each rank plays at once, without those of evaluations."""
        s, own = self.common, self.algorithm_settings
        if self.asynchronous:
            return int(own.envs_per_worker * (own.workers if own.transport == "events" else 1))
        return -(-s.num_envs // ranks) if s.segments else s.envs_per_rank

    def fingerprint(self) -> Array:
        """Return a hash of all settings that decide the result, (32,) uint8: what a checkpoint remembers them by."""
        idle = () if self.common.eval_every else ("eval_every", "eval_episodes")
        settings = {**self.algorithm.removed, **self.flat()}
        deciding = {
            name: value
            for name, value in sorted(settings.items())
            if name not in (*MAY_CHANGE, *idle) and LATER.get(name) != value
        }
        return np.frombuffer(hashlib.sha256(json.dumps(deciding).encode()).digest(), np.uint8)

    def without_effect(self, **facts: Any) -> dict[str, str]:
        """Return the settings that change nothing in this run.

        Args:
            facts: what is known beside the settings: actions="Box" or "Discrete", of the environment.

        Returns:
            {name of a setting: why, in words that follow "has no effect"}.

        """
        facts = {**self.flat(), "loop": self.algorithm.loop, **facts}
        return without_effect((Settings, self.algorithm.Settings), facts) | self.algorithm.ignores

    def flat(self) -> dict[str, Any]:
        """Return all settings by name."""
        return asdict(self.common) | asdict(self.algorithm_settings)


def algorithm_of(name: str) -> Any:
    """Return the class of an algorithm; BadInput if there is none."""
    return accepted(name, registry.find(name), TAKEN)


def presets(algorithm: Any) -> dict[str, Preset]:
    """Return the presets of an algorithm by name, "default" among them."""
    return {"default": Preset("the defaults below"), **algorithm.presets}


def chosen(values: dict[str, Any], algorithm: Any = None) -> Choice:
    """Return the settings with these values, checked; BadInput for one that is unknown or outside its limits.

    algorithm: its class, looked for by its name if that has not been done.
    """
    names = {f.name for f in fields(Settings)}
    common = settings_of(Settings, {name: value for name, value in values.items() if name in names})
    algorithm = algorithm or algorithm_of(common.algorithm)
    own = {name: value for name, value in values.items() if name not in names}
    unknown = own.keys() - {f.name for f in fields(algorithm.Settings)}
    if unknown:
        name, known = min(unknown), names | {f.name for f in fields(algorithm.Settings)} | {*OF_A_JOB}
        raise BadInput(f"{common.algorithm} has no setting {flag(name)}{meant(name, known)}")
    choice = Choice(common, algorithm, settings_of(algorithm.Settings, own))
    if common.learner == "sharded":
        if choice.asynchronous or not algorithm.sharded_with:
            raise BadInput(f"--learner sharded: {common.algorithm} cannot share its update; use --learner root")
        if common.requests not in algorithm.sharded_with:
            able = " or ".join(algorithm.sharded_with)
            raise BadInput(f"--learner sharded: {common.algorithm} can share its update with --requests {able} only")
    return choice
