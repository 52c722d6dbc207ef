"""Inputs that the cases of several lectures are made of."""

from typing import Any

import numpy as np

from minitrpo.course.checks.framework.differential import Case, case
from minitrpo.course.checks.framework.words import short
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


def spd(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return a random symmetric positive definite matrix (n, n) with this condition number."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray((q * np.geomspace(1.0, condition, n)) @ q.T)


class Product:
    """v -> A v for a matrix A, (n, n), or its diagonal, (n,); it counts how often it was asked for."""

    def __init__(self, a: Array) -> None:
        self.a, self.asked = a, 0

    def __call__(self, v: Array) -> Array:
        self.asked += 1
        return np.asarray(self.a @ v if self.a.ndim == 2 else self.a * v)

    def __repr__(self) -> str:
        return (
            f"v -> A v, A = {short(self.a)}" if self.a.ndim == 2 else f"v -> A v, A diagonal, {len(self.a):,} numbers"
        )


def masks(ends: str) -> tuple[Array, Array]:
    """Return the masks last and terminated of steps that go on (.), are cut (c) or terminated (t)."""
    letters = np.array(list(ends), "<U1")
    return letters != ".", letters == "t"


ENDS = {  # fragments by hand, for `masks`
    "one step, then cut": "c",
    "one step, then terminated": "t",
    "three steps, then cut": "..c",
    "three steps, then terminated": "..t",
    "cut, then terminated": ".c.t",
    "terminated, then cut": ".t.c",
    "two fragments of one step": "cc",
    "fragments of different lengths": "c..t.c",
}

POLICIES: tuple[Policy, ...] = (
    GaussianPolicy(3, 2, (4,)),
    GaussianPolicy(2, 1, ()),
    CategoricalPolicy(3, 4, (5,)),
    CategoricalPolicy(4, 2, (16,)),
    GaussianPolicy(2, 3, (6, 5)),
)


def steps(policy: Policy, seed: int, n: int) -> tuple[Array, Array, Array]:
    """Return theta away from its start, states (n, D) and actions that the policy drew in them."""
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng)
    theta = theta + 0.5 * rng.standard_normal(len(theta))
    states = rng.standard_normal((n, policy.observation_size))
    return theta, states, policy.sample(policy.distribution(theta, states), policy.draw_noise(rng, n))


def near(kind: str, *arguments: Any) -> Case:
    """Return a case in which each entry counts by its own size, and a right 0 may be a rounding error away."""
    return case(kind, *arguments, each=True, atol=1e-12)
