"""Make a film of a run's policy, without a screen: writes video.mp4 and filmstrip.png into the run folder."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
        self.policy = trained(folder)
        self.spec = self.policy.spec
        with status.at("make"):
            try:
                self.env = make(self.spec.id, **render)
            except BadInput:  # what makes it may not take render_mode, and draw all the same
                self.env = make(self.spec.id)
        self.envs = VectorEnv(self.spec, 1)
        self.envs.environments[0] = self.env

    def reset(self, seed: int) -> None:
        """Begin an episode: what `play` then plays."""
        self.first = self.envs.reset(0, seed)

    def play(self, limit: int) -> Iterator[float]:
        """Yield the reward of each step of the episode that `reset` began, of at most `limit` steps."""
        observation = self.first
        for _ in range(limit):
            best = self.policy.best(observation[None])
            observations, rewards, terminated, truncated = self.envs.step(np.zeros(1, int), best)
            observation = observations[0]
            yield float(rewards[0])
            if terminated[0] or truncated[0]:
                return


def film(folder: RunFolder, seed: int, limit: int, seconds: int, frames: int, pictures: int) -> list[tuple[int, float]]:
    """Film episodes from this seed on, in the environment's own time, and write video.mp4 and filmstrip.png.

    limit: steps of an episode at most. frames: of the film at most. pictures: of the first episode, in the filmstrip.
    Return steps and return of each episode, without the one that the film leaves unless it is the only one.
    """
    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with closed_environments():  # a renderer that stays open keeps its window, or its memory on the graphics card
        return _film(Player(folder, render_mode="rgb_array"), folder.path, seed, limit, seconds, frames, pictures)


def _film(
    player: Player, folder: Path, seed: int, limit: int, seconds: int, frames: int, pictures: int
) -> list[tuple[int, float]]:
    """Do what `film` says with one player, and write into this folder."""
    from tqdm import tqdm

    follow(player.env)
    rate = float(player.env.metadata.get("render_fps") or SMOOTH)  # steps in a second of the environment's own time
    every = ceil(rate / SMOOTH)
    most, cut = min(frames, ceil(seconds * rate / every)), False
    shots: list[Array] = []
    played: list[tuple[int, float]] = []
    bar = tqdm(total=most, unit=" frames", desc="drawing", disable=not sys.stderr.isatty())
    while len(shots) < most:
        player.reset(seed + len(played))
        drawn, step, total = {0: _draw(player, 0)}, 0, 0.0
        for reward in player.play(limit):
            cut = len(shots) + len(drawn) >= most
            if cut:
                break
            step, total = step + 1, total + reward
            if step % every == 0:
                drawn[step] = _draw(player, step)
        if not played:
            chosen = [list(drawn)[i] for i in np.linspace(0, len(drawn) - 1, pictures).round().astype(int)]
            own = getattr(player.env.unwrapped, "dt", getattr(player.env.unwrapped, "tau", None))  # seconds of a step
            captions = [f"{at * own:.2f} s" if isinstance(own, float) else f"step {at}" for at in chosen]
            strip = [drawn[at] for at in chosen], captions
        shots += drawn.values()
        played.append((step, total))
        bar.update(len(shots) - bar.n)
    bar.close()
    _write_video(folder / VIDEO, shots, rate / every)
    _write_filmstrip(folder / FILMSTRIP, *strip)
    return played[:-1] if cut and played[1:] else played


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
    """Return a picture, (H, W, 3) uint8, of what the environment draws; BadInput if that is none.

    Of a list the last is taken, of grey three, of four colours three, and numbers from 0 to 1 are stretched.
    """
    env = player.spec.id
    try:
        with without_stderr(), status.at("render"):
            picture = player.env.render()
    except (Exception, SystemExit) as error:  # OpenGL fails in as many ways as there are drivers
        raise BadInput(NO_PICTURES.format(env=env, step=step, cause=describe_error(error))) from error
    array = np.asarray(picture[-1] if isinstance(picture, list) and picture else picture)
    if array.ndim == 3 and array.shape[0] in (1, 3, 4) and array.shape[2] not in (1, 3, 4):
        array = np.moveaxis(array, 0, 2)  # colours first
    array = array[..., None] if array.ndim == 2 else array
    if array.dtype.kind not in "buif" or array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise BadInput(
            f"render() of {env} returned {shorten(picture)}; it must be an image (height, width, 3). "
            "If a function of yours makes it, let it take render_mode=None and hand it on"
        )
    stretched = array * 255 if array.dtype.kind in "bf" else array
    return np.broadcast_to(np.clip(stretched, 0, 255).astype(np.uint8)[..., :3], (*array.shape[:2], 3))


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
