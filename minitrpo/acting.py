"""What a policy must have to play: random numbers for its actions, and whatever it remembers within an episode."""

from typing import Any, ClassVar

import numpy as np

from minitrpo.perceptron import Array


class Acting:
    """The base class of all who act. Random numbers and state are rows, one for each environment.

    A policy also has `initialise`, `act_function` and `distribution`, as those in `policies` have. If it has a state,
    `act_function(theta, state)` gets the rows (height, state_size) of all environments, which the function that it
    returns may read, and change in place, at every step.
    """

    discrete: ClassVar[bool] = False  # whether actions are integers
    noise_size: int = 0  # random numbers that an action takes
    state_size: ClassVar[int] = 0  # numbers that it remembers from step to step of an episode

    def initial_state(self, theta: Array, key: Any) -> Array:
        """Return the state (state_size,) in which an episode begins; key: its `randomness.EpisodeKey`."""
        return np.zeros(self.state_size)

    def draw_noise(self, rng: np.random.Generator, steps: int) -> Array:
        """Return standard normal numbers (steps, noise_size): what actions need for this many steps."""
        return rng.standard_normal((steps, self.noise_size))

    def mode(self, dist_params: Array) -> Array:
        """Return the best actions of what `distribution` returned: the largest of each row, or all of them."""
        return np.argmax(dist_params, axis=1) if self.discrete else dist_params
