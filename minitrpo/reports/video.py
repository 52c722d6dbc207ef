"""See what was learned: a video and a filmstrip of the policy of a run, rendered without a screen."""

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import BadInput, describe_error, shorten
from minitrpo.experience.environments import make, without_stderr
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.policies import Array
from minitrpo.reports.trained import trained
from minitrpo.run_folder.checkpoint import write_atomically
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision import status

NO_PICTURES = (
    "{env} could not be drawn after step {step}: {cause}. If its render() is your own, mend it there; MuJoCo needs "
    "OpenGL without a screen: set MUJOCO_GL=egl (Debian: libegl1 libgl1-mesa-dri) or MUJOCO_GL=osmesa (libosmesa6), "
    "then see python -m minitrpo doctor"
)
PER_ROW = 8  # pictures of a filmstrip


@dataclass(frozen=True)
class Film:
    """Where a film went and what is in it."""

    video: Path
    filmstrip: Path
    steps: int
    episode_return: float


class Player:
    """A trained policy in one environment: the checkpoint's theta and filter, the most probable action."""

    def __init__(self, folder: RunFolder, **render: Any) -> None:
        self.policy = trained(folder)
        self.spec = self.policy.spec
        with status.at("make"):
            self.env = make(self.spec.id, **render)
        self.envs = VectorEnv(self.spec, 1)
        self.envs.environments[0] = self.env

    def close(self) -> None:
        """Close the environment."""
        with status.at("close"):
            self.env.close()

    def play(self, seed: int, limit: int) -> Iterator[float]:
        """Yield the reward of each step of one episode, of at most `limit` steps."""
        observation = self.envs.reset(0, seed)
        for _ in range(limit):
            best = self.policy.best(observation[None])
            observations, rewards, terminated, truncated = self.envs.step(np.zeros(1, int), best)
            observation = observations[0]
            yield float(rewards[0])
            if terminated[0] or truncated[0]:
                return


def film(folder: RunFolder, seed: int, limit: int, frames: int, pictures: int) -> Film:
    """Play one episode and write video.mp4 and filmstrip.png, of so many pictures, into the run folder.

    frames: at most in the video, evenly spaced.
    """
    from tqdm import tqdm

    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    player = Player(folder, render_mode="rgb_array")
    _follow(player.env)
    player.envs.reset(0, seed)
    drawn, every, step, total = {0: _draw(player, 0)}, 1, 0, 0.0
    bar = tqdm(player.play(seed, limit), unit=" steps", desc="drawing", disable=not sys.stderr.isatty())
    for step, reward in enumerate(bar, start=1):
        total += reward
        if step % every == 0:
            drawn[step] = _draw(player, step)
        if len(drawn) > frames:
            every *= 2
            drawn = {at: image for at, image in drawn.items() if at % every == 0}
    if step not in drawn:
        drawn[step] = _draw(player, step)
    if len({image.shape for image in drawn.values()}) > 1:
        raise BadInput(f"render() of {player.spec.id} returned images of several sizes")
    chosen = [list(drawn)[i] for i in np.linspace(0, len(drawn) - 1, pictures).round().astype(int)]  # evenly spaced
    captions = [_caption(at, player.env) for at in chosen]
    rate = max(1.0, _pictures_a_second(player.env) / every)
    player.close()
    video, strip = folder.path / "video.mp4", folder.path / "filmstrip.png"
    _write_video(video, list(drawn.values()), rate)
    _write_filmstrip(strip, [drawn[at] for at in chosen], captions)
    return Film(video, strip, step, total)


def _follow(env: Any) -> None:
    """Keep a walker in the picture, by the camera that its model has for it, which Gymnasium 1.4 no longer takes."""
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    if renderer is None:
        return
    import mujoco

    camera = mujoco.mj_name2id(renderer.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    if camera >= 0:
        renderer.camera_id = camera


def _draw(player: Player, step: int) -> Array:
    """Return a picture, (H, W, 3) uint8; BadInput if the environment draws none or something else."""
    env = player.spec.id
    try:
        with without_stderr(), status.at("render"):
            picture = player.env.render()
    except (Exception, SystemExit) as error:  # OpenGL fails in as many ways as there are drivers
        raise BadInput(NO_PICTURES.format(env=env, step=step, cause=describe_error(error))) from error
    if not isinstance(picture, np.ndarray):
        raise BadInput(f"render() of {env} returned {shorten(picture)}; it must be an image (height, width, 3)")
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or min(picture.shape[:2]) < 2:
        raise BadInput(
            f"render() of {env} returned {picture.dtype} of shape {picture.shape}; it must be an image (height, width, "
            "3) of uint8, 2 x 2 at least"
        )
    return picture


def _pictures_a_second(env: Any) -> float:
    """Return how many pictures a second of the environment's time has, by its metadata; 30 where that says nothing."""
    said = env.metadata.get("render_fps") if isinstance(env.metadata, dict) else None
    return float(said) if isinstance(said, int | float) and 0 < said < 1000 else 30.0


def _caption(step: int, env: Any) -> str:
    """Return when a picture was taken: seconds of the environment's own clock, if it has one, else steps."""
    seconds = getattr(env.unwrapped, "dt", getattr(env.unwrapped, "tau", None))  # of a step: MuJoCo's tasks, CartPole
    return f"{step * seconds:.2f} s" if isinstance(seconds, float) else f"step {step}"


def _write_video(path: Path, images: list[Array], rate: float) -> None:
    import imageio.v3 as imageio

    even = [image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2] for image in images]  # what H.264 asks for
    content = imageio.imwrite("<bytes>", even, extension=".mp4", fps=rate, codec="libx264", macro_block_size=2)
    write_atomically(path, content)


def _write_filmstrip(path: Path, images: list[Array], captions: list[str]) -> None:
    """Write pictures of one size side by side, with a line under each."""
    from matplotlib.figure import Figure

    height, width = images[0].shape[:2]
    columns = min(PER_ROW, len(images))
    rows = -(-len(images) // columns)
    figure = Figure(figsize=(2.0 * columns, (2.0 * height / width + 0.3) * rows), layout="constrained")
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(images) :]:
        axis.axis("off")
    for axis, image, caption in zip(axes.flat, images, captions, strict=False):
        axis.imshow(image, interpolation="antialiased")
        axis.set(xticks=[], yticks=[], xlabel=caption)
    content = io.BytesIO()
    figure.savefig(content, dpi=120, format="png")
    write_atomically(path, content.getvalue())
