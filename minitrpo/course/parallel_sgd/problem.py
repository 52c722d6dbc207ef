"""Lecture 10: stochastic gradient descent on many workers, with a barrier, without one, and in between.

    synchronous     theta <- theta - step * sum_w n_w g_w / sum_w n_w: plain gradient descent, whatever the slices
    asynchronous    theta <- theta - step * g_w as it comes, computed from parameters that are `staleness` updates old
    bounded         the same, but no worker gets more than max_lead gradients ahead of the slowest (SSP, Ho et al. 2013)
    hogwild         the same without a server and without locks: all workers write into one memory (Niu et al. 2011)

The cost of staleness is known exactly for f(x) = h x^2 / 2: x <- x - step * h * x_(delay updates ago) stays bounded if
and only if step * h <= 2 sin(pi / (2 (2 delay + 1))). So the step must shrink as staleness grows.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_discrete_are

from minitrpo.algorithms.options import option
from minitrpo.course.parallel_sgd.rounds import WEIGHT
from minitrpo.errors import BadInput
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.allreduce import dealt
from minitrpo.parallel.event_queue import Work
from minitrpo.parallel.parameter_server import NO_LIMIT, Apply, Arrays, Arrival, Pulled, Rules
from minitrpo.perceptron import Linearisation, Sizes, activations, initialise_mlp, layer_sizes, unflatten
from minitrpo.policies import Array

MODES = ("synchronous", "asynchronous", "bounded", "hogwild")
HIDDEN = (32, 32)  # layers of the perceptron
ROWS = "rows"  # in a gradient: how many samples it is of


def stability_bound(delay: int) -> float:
    """Return the largest rate = step * curvature at which descent by gradients `delay` updates old does not diverge.

    In closed form: the smallest rate > 0 for which z^(delay + 1) - z^delay + rate has a root with |z| = 1.
    """
    # 1. The angle of the root on the circle: delay * phi + phi / 2 = 90 degrees.
    # 2. The rate that belongs to it.
    phi = np.pi / (2 * delay + 1)
    return float(2 * np.sin(phi / 2))


def delayed_descent(rate: float, delay: int, updates: int) -> Array:
    """Return x_0, x_1, ... of x_(k+1) = x_k - rate * x_(k - delay), where x_0 and all before it are 1.

    rate: step * curvature. Returns (updates + 1,) floats, also if rate is an integer. After an x beyond 1e100 in size
    it ends, with that x as the last.
    """
    # 1. Begin with `delay` ones from before the start, and x_0 = 1.
    # 2. Make `updates` updates; break off after an x beyond 1e100 in size.
    # 3. Return what begins with x_0.
    x = [1.0] * (delay + 1)
    for _ in range(updates):
        x.append(x[-1] - rate * x[-1 - delay])
        if abs(x[-1]) > 1e100:
            break
    return np.array(x[delay:])


@dataclass(frozen=True)
class SGDSettings:
    """Settings of parallel SGD."""

    mode: str = option("synchronous", "how workers and parameters exchange data", "", MODES)
    problem: str = option(
        "least-squares", "a linear fit, or a perceptron's fit of the value function of a linear-quadratic problem", "",
        ("least-squares", "perceptron"),
    )  # fmt: skip
    workers: int = option(4, "workers played in one process; under mpiexec the ranks work", least=1, most=512)
    rows: int = option(4096, "samples in all, distributed over the workers", least=2, most=10**7)
    features: int = option(8, "numbers in a sample", least=1, most=1000)
    batch: int = option(32, "samples of a worker for one gradient; 0: all it has", least=0, most=10**7)
    epochs: float = option(5.0, "passes over the samples", above=0, most=1e6)
    step_size: float = option(0.05, "of gradient descent", above=0, most=1e6)
    max_lead: int = option(1, "with --mode bounded: gradients that a worker may be ahead of the slowest", least=0)
    max_staleness: int = option(NO_LIMIT, "older gradients are refused", least=0, most=NO_LIMIT)
    delay_jitter: float = option(
        0.5, "a worker takes 1 + jitter * Exp(1) seconds for a gradient, where time is drawn", least=0, most=1e6
    )
    slowest: float = option(1.0, "how much slower the last worker is, if times are drawn", above=0, most=1e6)
    records: int = option(100, "how often the loss is written down", least=2, most=100_000)
    seed: int = option(0, "seed of all random numbers", least=0, most=2**63 - 1)

    def check(self) -> None:
        """Raise BadInput where two settings contradict each other."""
        if self.workers > self.rows:
            raise BadInput(f"--workers {self.workers} for --rows {self.rows}: a worker would have no sample")

    @property
    def rules(self) -> Rules:
        """Return what the mode asks of the server."""
        return Rules(self.max_staleness, self.max_lead if self.mode == "bounded" else NO_LIMIT)


@dataclass(frozen=True)
class Regression:
    """Targets (N,) to be fitted from inputs (N, D) by a perceptron; without hidden layers it is a linear fit."""

    inputs: Array
    targets: Array
    sizes: Sizes

    def loss(self, theta: Array) -> float:
        """Return 1/2 mean (f(x) - y)^2 over all samples; infinity where it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = activations(unflatten(theta, self.sizes), self.inputs)[-1][:, 0]
            loss = float(np.mean((outputs - self.targets) ** 2)) / 2
        return loss if np.isfinite(loss) else float("inf")

    def gradient(self, theta: Array, rows: Array | slice) -> Array:
        """Return the gradient of the loss over some rows, (P,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            at = Linearisation(theta, self.sizes, self.inputs[rows])
            error = (at.outputs[:, 0] - self.targets[rows]) / len(at.outputs)
            return at.transposed_product(error[:, None])

    def initial(self, seed: int) -> Array:
        """Return parameters to begin with."""
        return initialise_mlp(generator(seed, 0, 0, Purpose.CRITIC), self.sizes, last_gain=0.1)


def make_regression(s: SGDSettings) -> Regression:
    """Return the problem that the settings ask for; the targets have mean 0 and standard deviation 1."""
    rng = generator(s.seed, 0, 0, Purpose.RESET)
    inputs = rng.standard_normal((s.rows, s.features))
    if s.problem == "least-squares":
        targets = inputs @ rng.standard_normal(s.features) + 0.1 * rng.standard_normal(s.rows)
    else:
        targets = linear_quadratic_values(inputs)
    hidden = HIDDEN if s.problem == "perceptron" else ()
    spread = targets.std() or 1.0
    return Regression(inputs, (targets - targets.mean()) / spread, layer_sizes(s.features, hidden, 1))


def linear_quadratic_values(states: Array) -> Array:
    """Return V(s) = - s'Ps, (N,), of s' = A s + u with cost s's + u'u per step: P solves the Riccati equation."""
    size = states.shape[1]
    a = np.eye(size) + 0.5 * np.eye(size, k=1)
    p = solve_discrete_are(a, np.eye(size), np.eye(size), np.eye(size))
    return -np.einsum("ni,ij,nj->n", states, p, states)


def worker_of(problem: Regression, s: SGDSettings, worker: int, workers: int) -> Work:
    """Return what a worker does with what it pulled: the gradient of its next minibatch, and how much that counts."""
    own = np.arange(len(problem.targets))[dealt(worker, workers, len(problem.targets))]
    done = [0]

    def gradient(pulled: Pulled) -> Arrays:
        rows = own
        if s.batch:
            rows = own[generator(s.seed, done[0], worker, Purpose.UPDATE).integers(len(own), size=s.batch)]
        done[0] += 1
        n = np.array([float(len(rows))])
        return {"g": problem.gradient(pulled.arrays["theta"], rows), WEIGHT: n, ROWS: n}

    return gradient


def descend_by(step_size: float) -> Apply:
    """Return what a gradient does to the parameters."""

    def apply(shared: Arrays, gradient: Arrays, arrival: Arrival) -> None:
        shared["theta"] -= step_size * gradient["g"]

    return apply


def delay_of(s: SGDSettings, worker: int, clock: int) -> float:
    """Return how long a worker takes for a gradient, where time is drawn."""
    drawn = generator(s.seed, clock, worker, Purpose.DELAY).exponential()
    return (1.0 + s.delay_jitter * float(drawn)) * (s.slowest if worker == s.workers - 1 else 1.0)
