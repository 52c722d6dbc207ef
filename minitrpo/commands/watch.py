"""Make a film of a run's policy, without a screen: writes video.mp4 and filmstrip.png into the run folder."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import run_parser, trusted
from minitrpo.errors import BadInput, describe_error, shorten
from minitrpo.experience.environments import make
from minitrpo.experience.vector_env import VectorEnv, closed_environments
from minitrpo.policies import Array
from minitrpo.reports.plots import picture
from minitrpo.reports.trained import trained
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.program import command
from minitrpo.supervision.watchdog import guarded, status

VIDEO, FILMSTRIP = "video.mp4", "filmstrip.png"
LIMITS = {"seed": (0, 2**31 - 1), "seconds": (1, 60), "steps": (1, 10**7), "frames": (1, 10**5), "pictures": (1, 100)}
NO_PICTURES = (
    "{env} could not be drawn after step {step}: {cause}. If you wrote render(), fix it there; MuJoCo needs "
    "OpenGL without a screen: set MUJOCO_GL=egl (Debian: libegl1 libgl1-mesa-dri) or MUJOCO_GL=osmesa (libosmesa6), "
    "then see python -m minitrpo doctor"
)
PER_ROW = 8  # pictures of a filmstrip
SMOOTH = 30  # pictures in a second of film at most


@command("watch")
def main(name: str, words: list[str]) -> int:
    """Film episodes, one after the other."""
    parser = run_parser(name, __doc__)
    parser.add_argument("--seed", type=whole, default=0, help="seed of the first episode (default: 0)")
    parser.add_argument("--seconds", type=whole, default=15, help="length of the film (default: 15)")
    parser.add_argument("--steps", type=whole, default=1000, help="at most this many steps per episode (default: 1000)")
    parser.add_argument("--frames", type=whole, default=10**5, help="at most this many in the film (default: no limit)")
    parser.add_argument("--pictures", type=whole, default=8, help="pictures in the filmstrip (default: 8)")
    args = parser.parse_args(words)
    for option, (least, most) in LIMITS.items():
        if not least <= getattr(args, option) <= most:
            raise BadInput(f"--{option} must lie in [{least}, {most}], not {getattr(args, option)}")
    folder = trusted(RunFolder.open(args.run), vars(args))
    if not os.access(folder.path, os.W_OK):
        raise BadInput(f"cannot write into {args.run}: copy the run to a folder of your own first")
    with guarded(args.stuck_after):
        played = film(folder, args.seed, args.steps, args.seconds, args.frames, args.pictures)
    steps, total = np.sum(played, axis=0)
    seen = f"{len(played)} episode(s), {steps:.0f} steps, mean return {total / len(played):.2f}"
    print(f"{seen}; {folder.path / VIDEO} and {folder.path / FILMSTRIP}")
    return 0


class Player:
    """A trained policy in one environment: the checkpoint's theta and filter, the most probable action."""

    def __init__(self, folder: RunFolder, **render: Any) -> None:
        """Make the environment; render: what `gymnasium.make` is asked for, such as render_mode."""
        self.policy = trained(folder)
        self.spec = self.policy.spec
        with status.at("make"):
            try:
                self.env = make(self.spec.id, **render)
            except BadInput:  # what makes it may not take render_mode, and draw all the same
                self.env = make(self.spec.id)
        self.envs = VectorEnv(self.spec, 1)
        self.envs.environments[0] = self.env

    def play(self, seed: int, limit: int) -> Iterator[float]:
        """Play an episode.

        Args:
            seed: with which the environment is reset.
            limit: how many steps the episode has at most.

        Yields:
            0 after the reset, and then the reward of each step.

        """
        observation = self.envs.reset(0, seed)
        yield 0.0
        for _ in range(limit):
            action = self.policy.best(observation[None])
            observations, rewards, terminated, truncated = self.envs.step(np.zeros(1, int), action)
            observation = observations[0]
            yield float(rewards[0])
            if terminated[0] or truncated[0]:
                return


def film(folder: RunFolder, seed: int, limit: int, seconds: int, frames: int, pictures: int) -> list[tuple[int, float]]:
    """Film episodes in the environment's own time, and write video.mp4 and filmstrip.png into the run folder.

    Args:
        folder: of the run.
        seed: of the first episode; the next ones have the next seeds.
        limit: how many steps an episode has at most.
        seconds: how long the film is at most.
        frames: how many frames it has at most.
        pictures: how many of the first episode stand in the filmstrip.

    Returns:
        Steps and return of each episode, without the one that the film leaves unless it is the only one.

    Raises:
        BadInput: the environment cannot be drawn.

    """
    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with closed_environments():  # a renderer that stays open keeps its window, or its memory on the graphics card
        player = Player(folder, render_mode="rgb_array")
        follow(player.env)
        rate = float(player.env.metadata.get("render_fps") or SMOOTH)  # steps in a second of the environment's own time
        every = ceil(rate / SMOOTH)  # steps from one picture to the next
        most = min(frames, ceil(seconds * rate / every))
        episodes, drawn = _draw_episodes(player, seed, limit, every, most)
    shots, first = list(chain.from_iterable(drawn)), drawn[0]
    chosen = np.linspace(0, len(first) - 1, pictures).round().astype(int).tolist()
    captions = [f"{number * every / rate:.2f} s" for number in chosen]
    _write_video(folder.path / VIDEO, shots, rate / every)
    _write_filmstrip(folder.path / FILMSTRIP, [first[number] for number in chosen], captions)
    return episodes


def _draw_episodes(
    player: Player, seed: int, limit: int, every: int, most: int
) -> tuple[list[tuple[int, float]], list[list[Array]]]:
    """Play until there are `most` pictures, one for each `every` steps; return what `film` does, and them."""
    from tqdm import tqdm

    episodes: list[tuple[int, float]] = []
    drawn: list[list[Array]] = []
    left = most
    with tqdm(total=most, unit=" frames", desc="drawing", disable=not sys.stderr.isatty()) as bar:
        while left:
            pictures: list[Array] = []
            drawn.append(pictures)
            steps, total, cut = 0, 0.0, False
            for step, reward in enumerate(player.play(seed + len(episodes), limit)):
                cut = left == 0
                if cut:
                    break
                steps, total = step, total + reward
                if step % every == 0:
                    pictures.append(_draw(player, step))
                    left -= 1
                    bar.update()
            if not cut or not episodes:
                episodes.append((steps, total))
    return episodes, drawn


def follow(env: Any) -> None:
    """Keep a walker in the picture, by the camera that its model has for it, which Gymnasium 1.4 no longer takes."""
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    if renderer is None:
        return
    import mujoco

    camera = mujoco.mj_name2id(renderer.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    if camera >= 0:
        renderer.camera_id = camera


@contextmanager
def without_stderr() -> Iterator[None]:
    """Silence the C-level stderr: graphics drivers talk while they draw."""
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def _draw(player: Player, step: int) -> Array:
    """Return what the environment draws, (height, width, 3) uint8; BadInput if that is no such picture."""
    env = player.spec.id
    try:
        with without_stderr(), status.at("render"):
            drawn = player.env.render()
    except (Exception, SystemExit) as error:  # OpenGL fails in as many ways as there are drivers
        raise BadInput(NO_PICTURES.format(env=env, step=step, cause=describe_error(error))) from error
    if isinstance(drawn, np.ndarray) and drawn.dtype == np.uint8 and drawn.ndim == 3 and drawn.shape[2] == 3:
        return drawn
    raise BadInput(
        f"render() of {env} returned {shorten(drawn)}; with render_mode='rgb_array' Gymnasium asks for an array "
        "(height, width, 3) of uint8. If a function of yours makes the environment, let it take render_mode=None and "
        "hand it on"
    )


def _write_video(path: Path, images: list[Array], rate: float) -> None:
    import imageio.v3 as imageio

    even = [image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2] for image in images]  # what H.264 asks for
    content = imageio.imwrite("<bytes>", even, extension=".mp4", fps=rate, codec="libx264", macro_block_size=2)
    write_atomically(path, content)


def _write_filmstrip(path: Path, images: list[Array], captions: list[str]) -> None:
    """Write pictures of one size side by side, with a line under each."""
    height, width = images[0].shape[:2]
    columns = min(PER_ROW, len(images))
    rows = -(-len(images) // columns)
    figure = picture(2.0 * columns, (2.0 * height / width + 0.3) * rows, 120)
    for number, (image, caption) in enumerate(zip(images, captions, strict=True), start=1):
        axis = figure.add_subplot(rows, columns, number)
        axis.imshow(image, interpolation="antialiased")
        axis.set(xticks=[], yticks=[], xlabel=caption)
    write_atomically(path, figure.encoded())
