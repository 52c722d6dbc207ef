"""See what was learned: a video and a filmstrip of the policy of a run, rendered without a screen."""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import BadInput, shown, told
from minitrpo.experience.environments import make, without_stderr
from minitrpo.experience.vector_env import GymnasiumVectorEnv
from minitrpo.policies import Array
from minitrpo.reports.filmstrip import caption, filmstrip
from minitrpo.reports.trained import trained
from minitrpo.run_folder.files import write_atomically
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision import status

NO_PICTURES = (
    "{env} could not be drawn: {cause}. If its render() is your own, mend it there; MuJoCo needs OpenGL without a "
    "screen: set MUJOCO_GL=egl (Debian: libegl1 libgl1-mesa-dri) or MUJOCO_GL=osmesa (libosmesa6), then see "
    "python -m minitrpo doctor"
)


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
        self.envs = GymnasiumVectorEnv(self.spec, 1)
        self.envs.adopt(0, self.env)

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
    """Play one episode and write video.mp4 (at most `frames` frames) and filmstrip.png into the run folder."""
    steps = sum(1 for _ in Player(folder).play(seed, limit))  # once in the dark, to know how long it is
    every = max(1, -(-steps // frames))
    player = _player_with_pictures(folder)
    player.envs.reset(0, seed)
    images, times, total = [_draw(player)], [0], 0.0
    for step, reward in enumerate(_bar(player.play(seed, limit), steps), start=1):
        total += reward
        if step % every == 0 or step == steps:
            images.append(_drawn_after(step, player))
            times.append(step)
    if len({image.shape for image in images}) > 1:
        raise BadInput(f"render() of {player.spec.id} returned images of several sizes")
    rate = max(1.0, _pictures_a_second(player.env) / every)
    chosen = np.linspace(0, len(images) - 1, pictures).round().astype(int).tolist()  # evenly spaced
    captions = [caption(times[i], player.env) for i in chosen]
    player.close()
    video, strip = folder.path / "video.mp4", folder.path / "filmstrip.png"
    _write(video, images, rate)
    filmstrip(strip, [images[i] for i in chosen], captions)
    return Film(video, strip, steps, total)


def _player_with_pictures(folder: RunFolder) -> Player:
    """Return a player that can draw; BadInput with the cure if this machine cannot."""
    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        player = Player(folder, render_mode="rgb_array", **_following_camera(folder))
        player.envs.reset(0, 0)
        _draw(player)
    except BadInput:
        raise
    except Exception as error:  # OpenGL fails in as many ways as there are drivers
        env = folder.read_config()["settings"]["env"]
        raise BadInput(
            NO_PICTURES.format(env=env, cause=" ".join(f"{type(error).__name__}: {error}".split()))
        ) from error
    return player


def _following_camera(folder: RunFolder) -> dict[str, str]:
    """Return the option that keeps a walker in the picture; Gymnasium 1.4 no longer takes the "track" camera itself."""
    player = Player(folder)
    model = getattr(player.env.unwrapped, "model", None)
    player.close()
    if model is None or "track" not in [model.camera(i).name for i in range(getattr(model, "ncam", 0))]:
        return {}
    return {"camera_name": "track"}


def _draw(player: Player) -> Array:
    """Return a picture, (H, W, 3) uint8; BadInput if the environment draws something else."""
    try:
        with without_stderr(), status.at("render"):
            picture = player.env.render()
    except SystemExit as error:
        raise BadInput(f"render() of {player.spec.id} ended the process: SystemExit {error.code}") from error
    if not (isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.shape[2] == 3):
        raise BadInput(
            f"render() of {player.spec.id} returned {shown(picture)}; it must be an image (height, width, 3)"
        )
    if picture.dtype != np.uint8 or min(picture.shape[:2]) < 2:
        raise BadInput(
            f"render() of {player.spec.id} returned {picture.dtype} of shape {picture.shape}, not uint8, 2 x 2 at least"
        )
    return picture


def _drawn_after(step: int, player: Player) -> Array:
    """Return a picture; BadInput that names the step if the environment, which has drawn before, cannot any more."""
    try:
        return _draw(player)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"render() of {player.spec.id} after step {step} raised {told(error)}") from error


def _pictures_a_second(env: Any) -> float:
    """Return how many pictures a second of the environment's time has, by its metadata; 30 where that says nothing."""
    said = env.metadata.get("render_fps") if isinstance(env.metadata, dict) else None
    return float(said) if isinstance(said, int | float) and 0 < said < 1000 else 30.0


def _bar(steps: Iterator[float], total: int) -> Any:
    from tqdm import tqdm

    return tqdm(steps, total=total, unit=" steps", desc="drawing", disable=not sys.stderr.isatty())


def _write(video: Path, images: list[Array], rate: float) -> None:
    """Write the images as a video."""
    import imageio.v3 as imageio

    even = [image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2] for image in images]  # what H.264 asks for
    with tempfile.TemporaryDirectory() as folder:  # the encoder would write through a link
        whole = Path(folder) / video.name
        imageio.imwrite(whole, even, fps=rate, codec="libx264", macro_block_size=2)
        write_atomically(video, whole.read_bytes())
