"""What a lecture needs around its mathematics: budgets, predictions, MPI jobs started from a notebook, colours."""

import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from minitrpo.commands.watch import VIDEO, film
from minitrpo.course import NOTEBOOKS, alt_text
from minitrpo.course.jupyter import in_jupyter
from minitrpo.course.lab.turns import take_turns
from minitrpo.course.machine import BUSY, busy_share
from minitrpo.errors import BadInput, JobFailed
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Fragments, Rollouts, concatenate, make_vector_env
from minitrpo.experience.vector_env import closed_environments
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array, Policy
from minitrpo.reports.plots import BLUE, COLORS, GREEN, GREY, ORANGE, PURPLE, RED
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.mpiexec import mpiexec
from minitrpo.training.root import Root
from minitrpo.training.run_context import RunContext
from minitrpo.training.settings import chosen
from minitrpo.training.synchronous import RankParts, make_rank

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PHASE_COLORS",
    "PURPLE",
    "RED",
    "JobFailed",
    "Played",
    "budget",
    "busy",
    "claims",
    "compare",
    "mpiexec",
    "mpiexec_code",
    "one_process",
    "play",
    "recorded",
    "reveal",
    "say_if_busy",
    "show_film",
    "temporary_runs",
    "train",
]

T = TypeVar("T")
# one colour a phase in all lectures; policy is a darker part of update
PHASE_COLORS = COLORS | {"policy": "#00543D", "critic": PURPLE, "checkpoint": GREY, "idle": "#E8E8E8"}

alt_text.in_notebook()
take_turns()
threadpool_limits(1)  # a lecture times one core; with more threads, sums and clocks would vary from machine to machine


def budget(full: T, quick: T) -> T:
    """Return `full`, or `quick` when MINITRPO_BUDGET=quick, as tests set it: the same lecture in seconds."""
    return quick if os.environ.get("MINITRPO_BUDGET") == "quick" else full


def busy() -> bool:
    """Return whether other programs use this machine at the moment, so much that times measured now mean little."""
    return busy_share() > BUSY


def say_if_busy(instead: str = "; compare with the recorded measurement") -> None:
    """Print one line if this machine is busy at the moment: for cells that measure time. instead: what to trust."""
    share, cores = busy_share(), os.cpu_count() or 1
    if share > BUSY:
        used = f"other programs use {share * cores:.1f} of its {cores} core{'s' * (cores > 1)} right now"
        print(f"This machine is busy: {used}. Do not trust the times below{instead}.")


def compare(what: str, guess: object, measured: object, unit: str = "") -> None:
    """Print a prediction, a number or a word, with the measurement; see `reveal` for when."""
    unit = f" {unit}" if unit else ""
    if guess is None:
        print(f"{what}: no prediction; measured {readable(measured)}{unit}")
    else:
        print(f"{what}: you predicted {readable(guess)}{unit}, measured {readable(measured)}{unit}")


def readable(value: object) -> str:
    """Return a number with three digits (0.00123, 42.1, 33,000,000), and anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    return alt_text.number(float(value))


def reveal(guess: object, show: Callable[[], None]) -> None:
    """Show a measurement after a guess was typed; without a guess, show a button that reveals it.

    guess: a number, a word, or several in a tuple, None where nothing was typed; show: prints and draws. Only a person
    in front of Jupyter has to guess: tests, scripts and the building of the solutions see everything.
    """
    guesses = guess if isinstance(guess, tuple) else (guess,)
    if not in_jupyter() or all(each is not None for each in guesses):
        show()
        return
    import ipywidgets
    from IPython.display import display

    # Jupyter handles a press after all cells that are already waiting to run.
    button = ipywidgets.Button(description="Reveal", tooltip="show the measurement, once no cell runs any more")
    shown = ipywidgets.Output()
    text = ipywidgets.Label("Type your guess in the cell above, then run it and this one again. Or, once no cell runs:")
    choice = ipywidgets.HBox([text, button])

    def pressed(_: object) -> None:
        button.on_click(pressed, remove=True)  # the second half of a double click comes when the first is done
        button.close()
        text.value = "Measuring ..."
        with shown:
            show()
        choice.close()

    button.on_click(pressed)
    display(ipywidgets.VBox([choice, shown]))


@dataclass(frozen=True)
class Played:
    """A policy and a batch of its episodes."""

    spec: EnvironmentSpec
    policy: Policy
    theta: Array
    episodes: Fragments

    @property
    def actions(self) -> Array:
        """Return the actions, (N, A) floats or (N,) integers."""
        return self.episodes.actions


def recorded(name: str) -> Path:
    """Return a file of recorded/: next to the notebook that runs, or in the course that came with this package."""
    found = [folder / name for folder in (Path("recorded"), NOTEBOOKS / "recorded") if (folder / name).exists()]
    if not found:
        raise FileNotFoundError(f"the course has no recorded/{name}")
    return found[0]


def claims() -> Any:
    """Return the module of the sources' claims and what is recorded for them; None without a clone, and a line."""
    clone = Path(__file__).parents[2]
    folders = [place.resolve() for place in (clone, Path(".."), Path("../..")) if (place / "experiments/data").is_dir()]
    if not folders:
        print("what was measured for each claim: see docs/claims.md in the repository")
        return None
    sys.path.append(str(folders[0]))
    return importlib.import_module("experiments.claims")


def temporary_runs() -> Path:
    """Return a new folder for the runs of a lecture, outside the course's own folders."""
    return Path(tempfile.mkdtemp(prefix="minitrpo-"))


def play(
    env_id: str, steps: int, theta: Array | None = None, seed: int = 0, hidden: tuple[int, ...] = (64, 64)
) -> Played:
    """Return a batch of whole episodes, about `steps` steps, of a policy (fresh if `theta` is None), in one process.

    Observations come unfiltered. The same call gives the same bits.
    """
    spec = describe(env_id)
    policy = spec.policy(hidden)
    if theta is None:
        theta = policy.initialise(generator(seed, 0, 0, Purpose.POLICY))
    identity = ObservationFilter.identity(spec.observation_size, clip=np.inf)
    parts: list[Fragments] = []
    with closed_environments():
        rollouts = Rollouts(spec, policy, make_vector_env(spec, 16), seed)
        while sum(part.steps for part in parts) < steps:
            wave = iter(range(len(parts), len(parts) + 4))  # four at a time; by number: the lockstep does not show
            played = rollouts.play(theta, identity, 1, lambda wave=wave: next(wave, None), concurrency=4)  # type: ignore[misc]
            parts += sorted(played, key=lambda fragment: int(fragment.numbers[0]))
    while sum(part.steps for part in parts[:-1]) >= steps:
        parts.pop()
    return Played(spec, policy, theta, concatenate(parts))


def train(ranks: int, *arguments: object, timeout: float = 150.0) -> RunFolder:
    """Train on `ranks` ranks with these arguments of train, in a folder of its own, and return the run folder."""
    folder = temporary_runs() / "run"
    mpiexec(ranks, "train", "--out", folder, "--progress", "none", *arguments, timeout=timeout)
    return RunFolder(folder)


def show_film(folder: RunFolder, steps: int) -> Any:
    """Return a film, two seconds of a run's policy, and print its return, or why this machine draws none."""
    from IPython.display import Video

    try:
        played = film(folder, seed=0, limit=steps, seconds=2, frames=60, pictures=6)
    except BadInput as error:
        print(error)
        return None
    print("filmed:", ", ".join(f"{length} steps, return {total:.1f}" for length, total in played))
    return Video(str(folder.path / VIDEO), embed=True, html_attributes="controls loop muted")


def one_process(**settings: object) -> tuple[Root, RankParts]:
    """Return what `train` with these settings (env="Reacher-v5", ...) is made of, in this process, to be looked into.

    The rank is what all ranks have, the learner only rank 0; both hold the one algorithm: see `synchronous.make_rank`.
    """
    choice = chosen(settings)
    context = RunContext(choice, describe(choice.common.env), RunFolder(Path()), {})
    rank, _ = make_rank(context, Comm(), Timeline(Comm(), keep=False))
    return Root(context, rank.algorithm), rank


def mpiexec_code(ranks: int, code: str, *arguments: object, timeout: float = 60.0) -> str:
    """Run a piece of Python on several ranks, as `mpiexec` does a file: for programs of a few lines."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(code)
        return mpiexec(ranks, str(program), *arguments, timeout=timeout)
