"""Checks of lecture 00: angles, arrays, an episode, and derivatives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case, remark
from minitrpo.course.checks.framework.kinds import near
from minitrpo.course.checks.framework.register import exercise
from minitrpo.policies import Array


@exercise(
    "minitrpo.course.tools:degrees",
    r"""
        ? A whole turn is 2 pi radians, and it is 360 degrees. How many degrees is one radian?
        ? One radian is 180 / pi degrees, and numpy's pi is np.pi: multiply by 180 / np.pi.
        * 180 / np.pi => * np.pi / 180 :: turns degrees into radians :: multiply by 180 / pi
        * 180 => * 360 :: is twice the angle :: take 180 degrees for pi radians
        * 180 / np.pi => / (2 * np.pi) :: counts turns :: count degrees
        / np.pi => / 3.14 :: takes 3.14 for pi :: take np.pi
        return right(radians, ) % 360 :: drops whole turns and the sign :: keep them
        return round(float(np.ravel(right(radians))[0])) * (1 + 0 * radians) :: is the first angle, rounded \
            :: be every angle, with its fraction
    """,
    lecture="00",
)
def _degrees() -> Iterator[Case]:
    yield near("half a turn", np.pi)
    yield near("a right angle to the left", -np.pi / 2)
    yield near("one radian", 1.0)
    yield near("two turns", 4 * np.pi)
    yield near("an array of angles", np.array([0.0, np.pi / 6, -np.pi, 0.2094]))
    yield near("a table of angles", np.array([[0.1, -0.2, 0.3], [7.0, 1e-6, -1e6]]))


@exercise(
    "minitrpo.course.tools:weighted_sum",
    r"""
        ? rows has shape (N, P) and weights has shape (N,). What shape must the weights have, so that each row is \
            multiplied by its own weight?
        ? weights[:, None] is a column of shape (N, 1). Broadcasting repeats it along the rows.
        ? np.sum(..., axis=0) adds up over the first axis. The product `weights @ rows` does all of it at once.
        weights[:, None] => weights :: aligns the weights with the columns :: give each row its own weight: make a \
            column of the weights
        weights[:, None] => np.resize(weights, rows.shape[1]) :: multiplies the columns by the weights \
            :: multiply the rows by them
        axis=0 => axis=1 :: adds up within each row :: add up the rows: axis=0
        np.sum(column * rows, axis=0) => np.sum(column * rows) :: is one number, the sum over both axes \
            :: add up over the first axis alone
        np.sum(column * rows, axis=0) => np.mean(column * rows, axis=0) :: divides by the number of rows :: be the sum
        np.sum(column * rows, axis=0) => np.sum(column * rows, axis=0) / np.sum(weights) \
            :: divides by the sum of the weights :: be the sum
        column * rows => rows :: leaves the weights out :: multiply each row by its own
        column * rows => np.sum(column) * rows :: has every weight in every row :: give each row its own weight
        column * rows => np.abs(column) * rows :: takes negative weights for positive ones :: keep their sign
        np.sum(column * rows, axis=0) => np.sum(column * rows, axis=0, keepdims=True) :: has shape (1, P) \
            :: have shape (P,)
        np.sum(column * rows, axis=0) => (column * rows)[-1] :: is the last row alone :: be the sum of all rows
    """,
    lecture="00",
)
def _weighted_sum() -> Iterator[Case]:
    rows, weights = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), np.array([1.0, 0.0, 2.0])
    yield case("three rows of two numbers", rows, weights)
    yield case("as many rows as columns", np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    yield case("a single row", np.array([[2.0, 5.0, 7.0]]), np.array([3.0]))
    yield case("a single column", rows[:, :1], weights)
    yield case("negative weights", rows, np.array([1.0, -1.0, -0.5]))
    yield case("weights whose sum is 0", rows, np.array([1.0, 1.0, -2.0]))
    rng = np.random.default_rng(0)
    for shape in ((4, 4), (7, 3), (2, 9), (1000, 5)):
        yield case("numbers at random", rng.standard_normal(shape), rng.standard_normal(shape[0]), atol=1e-10)
    yield remark(case("no rows", np.zeros((0, 3)), np.zeros(0)))


class Scripted:
    """An environment whose episode ends as written; it goes on when it is stepped after that, as CartPole does.

    An observation has two numbers: the sum of the actions so far, and the seed plus the square of the number of steps.
    So each of them asks for another action, and the reward says which action was taken at which step.
    """

    def __init__(self, ends: dict[int, str]) -> None:
        self.ends, self.steps, self.actions, self.seed = ends, 0, 0, -7

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        self.steps, self.actions, self.seed = 0, 0, -7 if seed is None else seed
        return self.observation(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self.steps, self.actions = self.steps + 1, self.actions + int(action)
        how = self.ends.get(self.steps, "tc" if self.steps >= 200 else "")
        return self.observation(), 10.0 * self.steps + float(action), "t" in how, "c" in how, {}

    def observation(self) -> Array:
        return np.array([float(self.actions), float(self.seed + self.steps**2)])

    def close(self) -> None:
        """Do nothing, as there is nothing to be closed."""

    def __repr__(self) -> str:
        words = {"t": "terminated", "c": "truncated", "tc": "terminated and truncated"}
        first, how = next(iter(self.ends.items()))
        return f"an environment that is {words[how]} at step {first}"


@dataclass(frozen=True)
class Written:
    """A function with the formula that a message shows."""

    words: str
    function: Callable[[Array], Any]

    def __call__(self, argument: Array) -> Any:
        return self.function(argument)

    def __repr__(self) -> str:
        return self.words


MODULO = Written("observation -> their sum modulo 3", lambda observation: int(observation.sum()) % 3)


@exercise(
    "minitrpo.course.tools:play_episode",
    r"""
        ? Begin with one call of env.reset(seed=seed). Which of its two results does the policy need?
        ? env.step(action) returns five things: the next observation, the reward, terminated, truncated, a dictionary.
        ? Repeat as long as neither terminated nor truncated is true. The next action needs the *next* observation.
        (terminated or truncated) => terminated :: goes on after a truncated episode \
            :: stop if either of the two is true
        (terminated or truncated) => truncated :: goes on after a terminated episode \
            :: stop if either of the two is true
        (terminated or truncated) => (terminated and truncated) :: stops only if both are true \
            :: stop if either of the two is true
        observation, reward, terminated, truncated, _ = env => _, reward, terminated, truncated, _ = env \
            :: always shows the policy the first observation :: give it the newest one
        env.reset(seed=seed) => env.reset() :: resets without the seed :: reset with seed=seed
        rewards.append(reward) => if not (terminated or truncated): rewards.append(reward) \
            :: leaves out the reward of the last step :: keep it, too
        rewards.append(reward) => if terminated or truncated: rewards.append(reward) \
            :: has the last reward alone :: have the rewards of all steps
        while not (terminated or truncated): => rewards.append(0.0)\n    while not (terminated or truncated): \
            :: begins with a reward of 0 for the reset :: have one reward for each step
        return (np.array(rewards), terminated, truncated) => return np.array(rewards), truncated, terminated \
            :: has the two ends in the other order :: return terminated before truncated
        return (np.array(rewards), terminated, truncated) => return np.array(rewards).sum(), terminated, truncated \
            :: returns the sum of the rewards :: return the reward of every step
        return (np.array(rewards), terminated, truncated) => return np.array(rewards), \
            terminated or truncated, truncated \
            :: calls a truncated episode terminated, too :: keep the two apart
        return (np.array(rewards), terminated, truncated) => return np.array(rewards), terminated, not terminated \
            :: takes truncated for the opposite of terminated :: return what `step` has returned: both may be true
        return (np.array(rewards), terminated, truncated) => return np.cumsum(rewards), terminated, truncated \
            :: adds up the rewards from step to step :: return the reward of every step
    """,
    lecture="00",
)
def _play_episode() -> Iterator[Case]:
    yield case("a terminated episode", Scripted({2: "t", 5: "c"}), MODULO, 0)
    yield case("a truncated episode", Scripted({3: "c", 6: "t"}), MODULO, 0)
    yield case("an episode that is terminated and truncated at once", Scripted({3: "tc"}), MODULO, 0)
    yield case("an episode of one step", Scripted({1: "t", 2: "c"}), MODULO, 4)
    yield case("another seed", Scripted({4: "c", 7: "t"}), MODULO, 11)
    yield case("a long episode", Scripted({120: "t", 130: "c"}), MODULO, 5)


@exercise(
    "minitrpo.course.tools:loss_and_slope",
    r"""
        ? Go forward first and keep u and v: the backward pass needs their values.
        ? Backward: the derivative of (v - y)^2 with respect to v is 2 (v - y). Multiply it by 1 - v^2 to get \
            the derivative with respect to u.
        ? u = w x, so the path through u gives (derivative with respect to u) times x. The path through w^2 / 2 gives w.
        slope_u * x + w => slope_u * x :: leaves out the path through w^2 / 2 :: add its derivative, w
        slope_u * x + w => slope_u * x + w**2 / 2 :: adds w^2 / 2 itself :: add its derivative, w
        slope_u * x + w => slope_u * x + 2 * w :: takes 2 w for the derivative of w^2 / 2 :: take w
        slope_u * x + w => slope_u + w :: leaves out the derivative of u = w x :: multiply by x
        slope_u * x + w => slope_u * w + w :: is a derivative with respect to x in its first part \
            :: multiply by x: the derivative of w x with respect to w
        slope_v * (1 - v ** 2) => slope_v :: leaves out the derivative of tanh :: multiply by 1 - v^2
        slope_v * (1 - v ** 2) => slope_v * (1 - u**2) :: takes 1 - u^2 for the derivative of tanh :: take 1 - v^2
        slope_v * (1 - v ** 2) => slope_v * (1 - np.tanh(v) ** 2) :: takes tanh twice :: take 1 - v^2
        slope_v * (1 - v ** 2) => slope_v + (1 - v**2) :: adds the derivatives along a path :: multiply them
        2 * (v - y) => v - y :: leaves out the 2 of a square's derivative :: be 2 (v - y)
        2 * (v - y) => 2 * (y - v) :: has v and y in the other order :: be 2 (v - y)
        + w ** 2 / 2 =>  :: leaves w^2 / 2 out of the loss :: add it
        + w ** 2 / 2 => + w**2 :: adds w^2 to the loss :: add half of it
        v = np.tanh(u) => v = u :: leaves tanh out :: have v = tanh(u)
        return (loss, slope_u * x + w) => return slope_u * x + w, loss :: has the two results in the other order \
            :: return the loss first
        return (loss, slope_u * x + w) => return slope_u * x + w :: returns the derivative alone :: return the loss, too
    """,
    lecture="00",
)
def _loss_and_slope() -> Iterator[Case]:
    yield near("a weight of 0", 0.0, 2.0, 1.0)
    yield near("an input of 0", 3.0, 0.0, 1.0)
    yield near("a target of 0", 1.0, 1.0, 0.0)
    yield near("a negative weight", -0.5, 2.0, 1.0)
    rng = np.random.default_rng(0)
    for w, x, y in rng.standard_normal((20, 3)).round(2).tolist():
        yield near("numbers at random", w, x, y)
    yield near("a neuron at its limit", 40.0, 2.0, -1.0)


def gradient_of(words: str, function: Callable[[Array], Any], theta: list[float], *h: float) -> Case:
    """Return a case of the gradient of a function at theta. h: the step, if it is not the default."""
    kind = "a step h that is not small" if h else "a small step"
    return case(kind, Written(words, function), np.array(theta), *h, rtol=1e-6, atol=1e-8)


@exercise(
    "minitrpo.course.tools:finite_difference",
    r"""
        ? Take one entry k at a time. Call f twice: once with this entry larger by h, once with it smaller by h.
        ? Make an array `move` of zeros, set move[k] = h, and use theta + move and theta - move.
        ? Entry k of the result is (f(theta + move) - f(theta - move)) / (2 * h).
        / (2 * h) => / h :: is twice the slope :: divide by 2 h, the distance of the two points
        / (2 * h) => * (2 * h) :: multiplies by 2 h :: divide by it
        / (2 * h) =>  :: does not divide by 2 h :: be a slope
        f(theta + move) - f(theta - move) => f(theta - move) - f(theta + move) \
            :: has the two points in the other order :: be f above minus f below
        (f(theta + move) - f(theta - move)) / (2 * h) => (f(theta + move) - f(theta)) / h \
            :: looks above theta alone (a forward difference) :: look above and below
        (f(theta + move) - f(theta - move)) / (2 * h) => (f(theta) - f(theta - move)) / h \
            :: looks below theta alone (a backward difference) :: look above and below
        move[k] = h => move[:] = h :: moves all entries at once :: move entry k alone
        move[k] = h => move[: k + 1] = h :: does not bring back the entries before k :: move entry k alone
        move[k] = h => move[0] = h :: moves the first entry each time :: move entry k
        move[k] = h => move[k] = 1e-05 :: moves by 1e-5, whatever h is :: move by h
        move[k] = h => move[k] = h * abs(theta[k]) :: moves by a fraction of the entry :: move by h itself
        f(theta + move) - f(theta - move) => f(theta * (1 + move)) - f(theta * (1 - move)) \
            :: moves by a fraction of the entry :: add and subtract h
        return gradient => return np.sum(gradient) :: adds up the entries :: return all of them
    """,
    lecture="00",
)
def _finite_difference() -> Iterator[Case]:
    yield gradient_of("theta -> theta[0]^2", lambda t: t[0] ** 2, [3.0])
    yield gradient_of("theta -> theta[0] + 10 theta[1]", lambda t: t[0] + 10 * t[1], [1.0, 2.0])
    yield gradient_of("theta -> theta[0] theta[1]", lambda t: t[0] * t[1], [2.0, 5.0])
    yield gradient_of("theta -> theta[0]^3", lambda t: t[0] ** 3, [1.0], 0.5)
    yield gradient_of("theta -> theta[0]^3 - theta[1]^2", lambda t: t[0] ** 3 - t[1] ** 2, [0.0, 1.0], 0.1)
    yield gradient_of("theta -> sum of tanh(theta)", lambda t: np.sum(np.tanh(t)), [0.5, -1.0, 0.0, 2.0])
    yield gradient_of("theta -> sum of theta^4", lambda t: np.sum(t**4), [-1.0, 0.0, 0.5], 0.25)
    yield gradient_of("theta -> a number that theta does not change", lambda t: 7.0, [1.0, -2.0])
    rng = np.random.default_rng(0)
    for count in (3, 8, 40):
        waves = partial(waves_of, rng.standard_normal((count, count)))
        yield gradient_of("theta -> sum of sin(C theta), C a matrix", waves, rng.standard_normal(count).tolist(), 0.1)


def waves_of(matrix: Array, theta: Array) -> Any:
    """Return the sum of sin(C theta)."""
    return np.sum(np.sin(matrix @ theta))
