"""Record films of a robot before and after it has learned: python notebooks/recorded/film.py [NAME ...].

Without a name it records all. `01_before_after` opens lecture 01, `readme` is the animated picture of README.md. For
both a HalfCheetah is trained. (`training.py 09_long` makes `09_before_after` from its own run with `before_and_after`.)
A film shows the most probable actions of the initial policy and of the learned one side by side, from the same
start. Both policies see through the observation filter that was learned.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
from keep import HERE, note
from PIL import Image

from minitrpo.commands.watch import Player, follow
from minitrpo.course.classroom import train
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.run_folder.folder import RunFolder

EVERY, SEED = 2, 0  # a picture of every second step; the seed of the run and of the episode
WORDS = "--env HalfCheetah-v5 --total-steps 1000000"
README = HERE.parent / "figures" / "halfcheetah_before_after.gif"
FILMS = {"01_before_after": (HERE / "01_before_after.mp4", 150), "readme": (README, 80)}  # file, steps
COLORS = 96  # of an animated picture: a file below 1.5 MB


def pictures(player: Player, steps: int) -> tuple[np.ndarray, float]:
    """Return a picture of every second step, (frames, height, width, 3), and the return so far."""
    frames, total = [], 0.0
    for step, reward in enumerate(player.play(SEED, steps)):
        total += reward
        if step % EVERY == 0:
            frames.append(player.env.render())
    return np.array(frames), round(total, 1)


def before_and_after(folder: RunFolder, path: Path, steps: int) -> dict[str, float]:
    """Film the initial and the learned policy of a run side by side.

    Args:
        folder: of the run, whose seed was SEED.
        path: of the film; a name that ends with .gif makes an animated picture, which repeats.
        steps: environment steps that the film shows, at most.

    Returns:
        The return of these steps before and after learning.

    """
    os.environ.setdefault("MUJOCO_GL", "egl")
    player = Player(folder, render_mode="rgb_array", width=320, height=240)
    follow(player.env)
    after, learned = pictures(player, steps)
    theta = player.policy.policy.initialise(generator(SEED, 0, 0, Purpose.POLICY))
    player.policy = replace(player.policy, theta=theta)
    before, fresh = pictures(player, steps)
    frames = min(len(before), len(after))
    film = np.concatenate([before[:frames], after[:frames]], axis=2)
    pace = 1 / (EVERY * player.env.unwrapped.dt)  # frames per second of the robot's own time
    if path.suffix == ".gif":
        write_gif(path, film, pace)
    else:
        imageio.imwrite(path, film, fps=round(pace), codec="libx264", macro_block_size=2)
    return {"before": fresh, "after": learned}


def write_gif(path: Path, film: np.ndarray, pace: float) -> None:
    """Write frames, (frames, height, width, 3), as an animated picture with one palette, without dithering."""
    middle = Image.fromarray(film[len(film) // 2]).quantize(COLORS)
    images = [Image.fromarray(frame).quantize(palette=middle, dither=Image.Dither.NONE) for frame in film]
    images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / pace), loop=0, optimize=True)


def main() -> None:
    """Train, film, write."""
    for name in [word for word in sys.argv[1:] if word in FILMS] or FILMS:
        path, steps = FILMS[name]
        folder = train(2, *WORDS.split(), "--seed", SEED, timeout=3600)
        returns = before_and_after(folder, path, steps)
        note(path.stem, words_of_train=WORDS, seeds=[SEED], ranks=2, **{f"returns_of_{steps}_steps": returns})


if __name__ == "__main__":
    main()
