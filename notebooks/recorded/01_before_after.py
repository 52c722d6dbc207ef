"""Record the film that opens lecture 01: a HalfCheetah with a fresh policy beside one that has learned.

    python notebooks/recorded/01_before_after.py

Trains as typed, films 150 steps of the most probable actions of both policies from the same start, both seeing
through the observation filter that was learned, and writes
notebooks/recorded/01_before_after.mp4, and what made it beside it.
"""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import imageio.v3 as imageio
import numpy as np
from keep import note

from minitrpo.commands.watch import Player, follow
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.jobs import mpiexec

STEPS, EVERY, SEED = 150, 2, 0
WORDS = ("--env", "HalfCheetah-v5", "--total-steps", 1_000_000, "--seed", SEED)
FILM = Path(__file__).with_name("01_before_after.mp4")


def pictures(player: Player) -> tuple[np.ndarray, float]:
    """Return a picture of every second step, (frames, height, width, 3), and the return so far."""
    frames, total = [], 0.0
    for step, reward in enumerate(player.play(SEED, STEPS)):
        total += reward
        if step % EVERY == 0:
            frames.append(player.env.render())
    return np.array(frames), total


def main() -> None:
    """Train, film both, write."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        said = mpiexec(2, "train", *WORDS, "--out", out, "--progress", "none", timeout=3600)
        player = Player(RunFolder(out), render_mode="rgb_array", width=320, height=240)
        follow(player.env)
        after, learned = pictures(player)
        theta = player.policy.policy.initialise(generator(SEED, 0, 0, Purpose.POLICY))
        player.policy = replace(player.policy, theta=theta)
        before, fresh = pictures(player)
    frames = min(len(before), len(after))
    film = np.concatenate([before[:frames], after[:frames]], axis=2)
    imageio.imwrite(FILM, film, fps=10, codec="libx264", macro_block_size=2)
    about = {
        "provenance": provenance(2),
        "arguments_of_train": " ".join(map(str, WORDS)),
        "theta_sha256": said.split()[-1],
        "returns_of_150_steps": {"before": round(fresh, 1), "after": round(learned, 1)},
    }
    note(FILM.stem, about)
    print(about["returns_of_150_steps"], FILM.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
