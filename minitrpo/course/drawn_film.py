"""Short films of a figure, for lectures in which something moves that one picture cannot show."""

from collections.abc import Callable
from typing import Any

import imageio.v3 as imageio
import numpy as np
from matplotlib import pyplot as plt


def drawn_film(figure: Any, draw: Callable[[int], None], frames: int, fps: int = 20) -> Any:
    """Return a film of a matplotlib figure, embedded in the notebook, and close the figure.

    Args:
        figure: the figure whose axes `draw` draws on. Its layout should be fixed, or the axes jump.
        draw: a function of the number of a frame, 0 to frames - 1, that draws this frame.
        frames: how many pictures the film has.
        fps: pictures per second.

    """
    from IPython.display import Video

    pictures = []
    for number in range(frames):
        draw(number)
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba())[..., :3].copy())
    plt.close(figure)
    data = imageio.imwrite(
        "<bytes>", np.array(pictures), extension=".mp4", fps=fps, codec="libx264", macro_block_size=2
    )
    return Video(data, embed=True, mimetype="video/mp4", html_attributes="controls loop muted")
