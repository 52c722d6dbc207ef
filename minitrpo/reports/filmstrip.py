"""A filmstrip: some pictures of an episode side by side, cut to where something is to be seen, bright, with times."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.policies import Array
from minitrpo.run_folder.files import write_atomically

PER_ROW = 8
FLAT = 12  # of 255: a border row whose pixels differ by no more shows nothing
BRIGHT, MOST_GAIN = 120.0, 2.5  # the mean of all pixels is lifted to this, but not by more than this factor


def filmstrip(path: Path, images: list[Array], captions: list[str]) -> None:
    """Write pictures (H, W, 3) uint8, of one size, with a line under each."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    pictures = brightened(cropped(np.array(images)))
    height, width = pictures.shape[1:3]
    columns = min(PER_ROW, len(images))
    rows = -(-len(images) // columns)
    inches = 2.0, 2.0 * height / width + 0.3
    tight: Any = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02, wspace=0, hspace=0)
    figure = Figure(figsize=(inches[0] * columns, inches[1] * rows), layout=tight)
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(images) :]:
        axis.axis("off")
    for axis, picture, caption in zip(axes.flat, pictures, captions, strict=False):
        axis.imshow(picture, interpolation="antialiased")
        axis.set(xticks=[], yticks=[])
        axis.set_xlabel(caption, fontsize=11, labelpad=3)
        axis.spines[:].set(color="#B0B0B0", linewidth=0.8)
    content = io.BytesIO()
    figure.savefig(content, dpi=120, format="png")
    write_atomically(path, content.getvalue())


def caption(step: int, env: Any) -> str:
    """Return when a picture was taken: seconds of the environment's own clock, if it has one, else steps."""
    inner = env.unwrapped
    seconds = getattr(inner, "dt", getattr(inner, "tau", None))  # of a step: MuJoCo's tasks and Pendulum, CartPole
    return f"{step * seconds:.2f} s" if isinstance(seconds, float) else f"step {step}"


def cropped(images: Array) -> Array:
    """Return images (n, H, W, 3) without the borders where all of them show nothing; a little is kept around."""
    rows = np.ptp(images, axis=2).max(axis=(0, 2)) > FLAT  # a sky may change from row to row
    rows = _widened(rows)
    columns = _widened(np.ptp(images[:, rows], axis=1).max(axis=(0, 2)) > FLAT)
    return images[:, rows][:, :, columns]


def _widened(busy: Array) -> slice:
    """Return from the first busy place to the last, and a twentieth of that on both sides; all if none is busy."""
    where = np.flatnonzero(busy)
    if not len(where):
        return slice(0, len(busy))
    more = 3 + (where[-1] - where[0]) // 20
    return slice(max(0, where[0] - more), where[-1] + 1 + more)


def brightened(images: Array) -> Array:
    """Return images (n, H, W, 3) uint8 as bright as a page wants them: dark ones are lifted, all by the same curve."""
    mean = float(images.mean())
    if mean >= BRIGHT:
        return images
    light = images / max(1.0, float(np.percentile(images, 99.5)))
    exponent = max(np.log(BRIGHT / 255) / np.log(max(float(np.minimum(light, 1).mean()), 1e-3)), 1 / MOST_GAIN)
    return (255 * np.clip(light, 0, 1) ** min(exponent, 1.0)).astype(np.uint8)
