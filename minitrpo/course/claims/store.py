"""Recorded runs on disk: a JSON file for each, with what made it, under FOLDER/ID/full or FOLDER/ID/quick."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.course import NOTEBOOKS
from minitrpo.course.claims.claim import FULL, QUICK, Arm, Claim, Run, Runs
from minitrpo.errors import BadInput
from minitrpo.run_folder.checkpoint import write_atomically

ROOT = Path(__file__).parents[3]  # of a checkout


class Job(NamedTuple):
    """One training run of a set."""

    claim: str
    kind: str
    arm: Arm
    seed: int
    steps: int

    @property
    def name(self) -> str:
        """Return what the files of the run are called."""
        words = "".join(letter if letter.isalnum() else "-" for letter in f"{self.arm.env}_{self.arm.name}".lower())
        return f"{'-'.join(filter(None, words.split('-')))}-seed{self.seed}"

    @property
    def digest(self) -> str:
        """Return what tells runs of other settings from this one: they are not taken for it."""
        return hashlib.sha256(repr((self.arm, self.seed, self.steps)).encode()).hexdigest()[:12]


class Place(NamedTuple):
    """Where runs are recorded, where they are while they are at work, and where the page is."""

    data: Path
    work: Path
    page: Path

    def record(self, job: Job) -> Path:
        """Return the file of a run."""
        return self.data / job.claim / job.kind / f"{job.name}.json"

    def picture(self, claim: Claim, kind: str) -> Path:
        """Return the picture of a claim."""
        return self.page.parent / "claims" / f"{claim.name}{'' if kind == FULL else f'-{kind}'}.png"


CHECKOUT = Place(NOTEBOOKS / "recorded" / "claims", ROOT / "runs" / "claims", ROOT / "docs" / "claims.md")


def place_in(folder: str | None) -> Place:
    """Return where everything is: in this folder, or in the checkout; BadInput if that cannot be."""
    if folder is None:
        if not CHECKOUT.page.exists():
            raise BadInput("minitrpo is installed here, without its pages: say with --folder where runs are to be")
        return CHECKOUT
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--folder {folder}: {error.strerror}; choose another folder") from error
    return Place(Path(folder), Path(folder) / "work", Path(folder) / "claims.md")


def jobs(claim: Claim, kind: str) -> list[Job]:
    """Return the runs of a set, seeds outermost, every other round backwards: what disturbs hits all arms alike."""
    size, arms = claim.size(kind), claim.chosen(kind)
    rounds = [(seed, arms if seed % 2 == 0 else arms[::-1]) for seed in range(size.seeds)]
    return [Job(claim.home, kind, arm, seed, size.steps_of(arm)) for seed, ordered in rounds for arm in ordered]


def read(place: Place, job: Job) -> Run | None:
    """Return a recorded run, or None if there is none of these settings."""
    path = place.record(job)
    run: Run | None = json.loads(path.read_text()) if path.exists() else None
    return run if run and run["digest"] == job.digest else None


def missing(place: Place, claim: Claim, kind: str) -> list[Job]:
    """Return the runs of a set that are not recorded."""
    return [job for job in jobs(claim, kind) if read(place, job) is None]


def recorded(place: Place, claim: Claim, kind: str) -> Runs:
    """Return the recorded runs of a set by arm and task, seeds in order."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for job in sorted(jobs(claim, kind), key=lambda job: job.seed):
        if run := read(place, job):
            runs.setdefault((job.arm.name, job.arm.env), []).append(run)
    return {(arm.name, arm.env): runs[arm.name, arm.env] for arm in claim.arms if (arm.name, arm.env) in runs}


def shown(place: Place, claim: Claim) -> tuple[str, Runs]:
    """Return the set that a page shows: the full one if it is whole, else the quick one, else what there is."""
    full, quick = recorded(place, claim, FULL), recorded(place, claim, QUICK)
    if full and (not quick or not missing(place, claim, FULL)):
        return FULL, full
    return QUICK, quick


def write(path: Path, content: dict[str, Any]) -> None:
    """Write `content` whole or not at all, a line per key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def state_of(runs: Runs) -> str:
    """Return a hash of what a picture shows."""
    return hashlib.sha256(json.dumps([[*map(list, runs)], list(runs.values())]).encode()).hexdigest()[:16]
