"""Record the film that opens lecture 01: a HalfCheetah with a fresh policy beside one that has learned.

    python notebooks/recorded/film.py

Trains as typed, films 150 steps of the most probable actions of both policies from the same start, both seeing
through the observation filter that was learned, and writes 01_before_after.mp4.
"""

import os
from dataclasses import replace

import imageio.v3 as imageio
import numpy as np
from keep import HERE, note

from minitrpo.commands.watch import Player, follow
from minitrpo.course.classroom import train
from minitrpo.experience.randomness import Purpose, generator

STEPS, EVERY, SEED = 150, 2, 0
WORDS = "--env HalfCheetah-v5 --total-steps 1000000"


def pictures(player: Player) -> tuple[np.ndarray, float]:
    """Return a picture of every second step, (frames, height, width, 3), and the return so far."""
    frames, total = [], 0.0
    for step, reward in enumerate(player.play(SEED, STEPS)):
        total += reward
        if step % EVERY == 0:
            frames.append(player.env.render())
    return np.array(frames), round(total, 1)


def main() -> None:
    """Train, film both, write."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    folder = train(2, *WORDS.split(), "--seed", SEED, timeout=3600)
    player = Player(folder, render_mode="rgb_array", width=320, height=240)
    follow(player.env)
    after, learned = pictures(player)
    theta = player.policy.policy.initialise(generator(SEED, 0, 0, Purpose.POLICY))
    player.policy = replace(player.policy, theta=theta)
    before, fresh = pictures(player)
    frames = min(len(before), len(after))
    film = np.concatenate([before[:frames], after[:frames]], axis=2)
    imageio.imwrite(HERE / "01_before_after.mp4", film, fps=10, codec="libx264", macro_block_size=2)
    note("01_before_after", words_of_train=WORDS, ranks=2, returns_of_150_steps={"before": fresh, "after": learned})


if __name__ == "__main__":
    main()
