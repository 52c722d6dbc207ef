"""Checks of lecture 14: a step of LQR, a Gaussian with a prior, a price on KL, the noise of who imitates."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.guided_policy_search.imitation import imitated_std as right_std
from minitrpo.algorithms.guided_policy_search.local_models import gaussians as right_gaussians
from minitrpo.algorithms.guided_policy_search.local_models import scatter
from minitrpo.algorithms.guided_policy_search.lqr import Controller, Cost
from minitrpo.algorithms.guided_policy_search.lqr import step_back as right_step
from minitrpo.algorithms.guided_policy_search.lqr import with_kl as right_with_kl
from minitrpo.course.checks.differential import Candidate, Case, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.register import exercise
from minitrpo.policies import Array

Results = tuple[Array, ...]
STEP_BACK = "minitrpo.algorithms.guided_policy_search.lqr:step_back"
WITH_KL = "minitrpo.algorithms.guided_policy_search.lqr:with_kl"


def definite(rng: np.random.Generator, *shape: int) -> Array:
    """Return random symmetric positive definite matrices (..., n, n)."""
    a = rng.standard_normal((*shape, shape[-1]))
    return np.asarray(a @ a.swapaxes(-1, -2) / shape[-1] + 0.3 * np.eye(shape[-1]))


def afterwards(change: Callable[..., Any]) -> Candidate:
    """Return a step that does everything right and then changes (K, k, inverse, V, v), given all arguments, too."""
    return lambda C, c, F, f, V, v: change(right_step(C, c, F, f, V, v), C, c, F, f, V, v)


def gains_turned(found: Results, *_: Array) -> Results:
    """Return the step with gains for u = -(K x + k)."""
    K, k, *rest = found
    return (-K, -k, *rest)


def without_the_use_of_u(found: Results, C: Array, c: Array, F: Array, f: Array, V: Array, v: Array) -> Results:
    """Return the step with the cost to go of doing nothing."""
    n = len(V)
    H, h = C + F.T @ V @ F, c + F.T @ (v + V @ f)
    return (*found[:3], H[:n, :n], h[:n])


@exercise(
    "step_back",
    STEP_BACK,
    hints=(
        "Put x' = F z + f into 1/2 x'V x + v'x, and collect what is quadratic and what is linear in z: "
        "H = C + F.T @ V @ F, h = c + F.T @ (v + V @ f).",
        "x is the first n = len(V) numbers of z, so H[n:, n:] is H_uu, H[n:, :n] is H_ux, h[n:] is h_u. The best u "
        "solves H_ux x + H_uu u + h_u = 0, for every x.",
        "Put in, it leaves V = H_xx + H_xu K and v = h_x + H_xu k; then (V + V.T) / 2 takes care of rounding.",
    ),
    mistakes={
        "The best u is where the derivative vanishes: K and k have the other sign.": afterwards(gains_turned),
        "The cost to go is that of doing nothing: the best u is to be put in.": afterwards(without_the_use_of_u),
        "What comes after this step is missing: the state that it leads to has its price.": lambda C, c, F, f, V, v: (
            right_step(C, c, F, f, 0 * V, 0 * v)
        ),
        "The third result is to be the inverse of H_uu, not H_uu.": afterwards(
            lambda found, *_: (*found[:2], np.linalg.inv(found[2]), *found[3:])
        ),
        "The blocks x and u of z are exchanged: z = [x; u], x comes first.": edits(
            STEP_BACK,
            {
                "": (
                    "H[n:, n:]",
                    "H[:-n, :-n]",
                    "K, k = -inverse @ H[n:, :n], -inverse @ h[n:]",
                    "K, k = -inverse @ H[:-n, -n:], -inverse @ h[:-n]",
                )
            },
        )[""],
        **edits(
            STEP_BACK,
            {
                "The constant f of the dynamics is missing: it moves the next state, too.": ("(v + V @ f)", "v"),
                "The linear part v of the cost to go is missing in h.": ("(v + V @ f)", "(V @ f)"),
                "The step's own linear cost c is missing in h.": ("h = c + F.T", "h = F.T"),
                "The step's own cost C is missing in H.": ("H = C + F.T", "H = F.T"),
                "F moves z to the next x: in H it stands on both sides of V, transposed on the left.": (
                    "F.T @ V @ F",
                    "np.pad(V, (0, len(C) - n))",
                ),
                "There is a factor of 2 too many: H is the second derivative of 1/2 z'H z.": ("H = C +", "H = 2 * C +"),
                "The new V has its correction with the wrong sign: H_xx + H_xu K, as K has its minus already.": (
                    "H[:n, :n] + H[:n, n:] @ K",
                    "H[:n, :n] - H[:n, n:] @ K",
                ),
                "The new v has its correction with the wrong sign: h_x + H_xu k.": (
                    "h[:n] + H[:n, n:] @ k",
                    "h[:n] - H[:n, n:] @ k",
                ),
                "The new v misses what k does: h_x + H_xu k.": ("h[:n] + H[:n, n:] @ k", "h[:n]"),
                "k misses the inverse of H_uu.": ("-inverse @ h[n:]", "-h[n:]"),
                "K misses the inverse of H_uu.": ("-inverse @ H[n:, :n]", "-H[n:, :n]"),
                "V is to be exactly symmetric: half the sum of it and its transpose.": ("(V + V.T) / 2", "(V + V.T)"),
            },
        ),
    },
)
def step_back_cases() -> Iterator[Case]:
    """Yield the puck on a line, then worlds of all sizes, with and without constants, and of every scale."""
    one, none = np.ones((1, 2)), np.zeros(1)
    for paid, name in ((2.0, "last step but one"), (3.0, "third last step"), (0.0, "last step")):
        kind = f"the puck on a line, {name}"
        yield case(kind, 2.0 * np.eye(2), np.zeros(2), one, none, np.array([[paid]]), none, atol=1e-12)
    yield case("whole numbers", 2 * np.eye(2, dtype=int), np.array([1, 0]), np.array([[1, 2]]), np.array([3]),
               np.array([[4]]), np.array([5]))  # fmt: skip
    whole = 2 * np.eye(2, dtype=int), np.array([1, 0])
    yield case("a cost of whole numbers", *whole, 0.5 * one, none, np.array([[0.3]]), np.array([0.7]))
    yield case("a world that drifts", 2.0 * np.eye(2), np.zeros(2), one, np.ones(1), np.array([[2.0]]), none)
    yield case("a linear cost", np.diag([2.0, 4.0]), np.array([1.0, -3.0]), one, none, np.array([[2.0]]), none)
    yield case("a linear cost to go", np.diag([2.0, 4.0]), np.zeros(2), one, none, np.array([[2.0]]), np.array([5.0]))
    yield case(
        "a cost of x times u", np.array([[2.0, 1.0], [1.0, 4.0]]), np.zeros(2), one, none, np.array([[1.0]]), none
    )
    rng = np.random.default_rng(0)
    for n, m in ((2, 1), (1, 2), (2, 2), (3, 1), (1, 3), (4, 2), (10, 2), (17, 6)):
        for _ in range(2):
            C, c = definite(rng, n + m), rng.standard_normal(n + m)
            F, f = rng.standard_normal((n, n + m)), rng.standard_normal(n)
            V, v = definite(rng, n), rng.standard_normal(n)
            yield case("worlds at random", C, c, F, f, V, v)
            yield tried("a cost to go that is symmetric to the last bit", symmetric(C, c, F, f, V, v))
        yield case("nothing to be paid afterwards", C, c, F, f, np.zeros((n, n)), np.zeros(n))
        yield case("without constants", C, np.zeros(n + m), F, np.zeros(n), V, np.zeros(n), atol=1e-14)
        yield case("an action that does nothing", C, c, np.hstack([F[:, :n], np.zeros((n, m))]), f, V, v)
    yield from dear_and_cheap_pushes(one, none)
    for size in (1e-9, 1e9):
        yield case("costs of every size", size * C, size * c, F, f, size * V, size * v, each=True, rtol=1e-6)
    indefinite = np.diag([-1.0, 2.0])
    yield case("a state that pays", indefinite, np.zeros(2), one, none, np.array([[0.5]]), none)
    flat = np.zeros((2, 2)), np.zeros(2), np.zeros((1, 2)), none, np.zeros((1, 1)), none
    yield case("nothing costs or moves anything", *flat)


def dear_and_cheap_pushes(one: Array, none: Array) -> Iterator[Case]:
    """Yield costs of a push that are very far from those of the state, or of another push."""
    small = np.diag([1.0, 1e-9])
    yield case("a push that is almost free", small, np.zeros(2), one, none, np.array([[1.0]]), none)
    yield case("a push that is very dear", np.diag([1.0, 1e9]), np.ones(2), one, none, np.array([[1.0]]), np.ones(1))
    push = np.array([[1.0, 1.0, 0.0]])
    for dear in (1e8, 1e-8):
        two = np.diag([1.0, 1.0, dear])
        yield case("one push that costs, one that hardly does", two, np.ones(3), push, none, np.eye(1), np.ones(1))
    weak = np.array([[1.0, 1e-3]])
    yield case("a weak motor", np.diag([1.0, 1e-8]), np.zeros(2), weak, none, np.array([[1.0]]), np.ones(1))


def symmetric(*arguments: Array) -> Callable[[Candidate], Any]:
    """Return what insists on a cost to go that equals its transpose."""

    def run(f: Candidate) -> Any:
        results = f(*(array.copy() for array in arguments))
        if isinstance(results, tuple) and len(results) == 5 and isinstance(results[3], np.ndarray):
            need(np.array_equal(results[3], results[3].T), "the new V is not exactly symmetric")
        return results

    return run


def some_samples(rng: np.random.Generator, N: int, T: int, p: int) -> Array:
    """Return samples (N, T, p) whose means and scatter differ from step to step."""
    root = rng.standard_normal((T, p, p)) * np.exp(rng.standard_normal(T))[:, None, None]
    return np.asarray(np.einsum("tpq,itq->itp", root, rng.standard_normal((N, T, p))) + 3 * rng.standard_normal((T, p)))


def shrunk(change: Callable[..., Any]) -> Candidate:
    """Return gaussians whose covariance is change(squares, count, pooled, strength, Y, alive)."""

    def wrong(Y: Array, alive: Array, strength: float) -> tuple[Array, Array]:
        count, mean, squares = scatter(Y, alive)
        pooled = squares.sum(axis=0) / count.sum()
        return mean, np.asarray(change(squares, count[:, None, None], pooled, strength, Y, alive))

    return wrong


def around_all(squares: Array, n: Array, pooled: Array, s: float, Y: Array, alive: Array) -> Array:
    """Return covariances with a prior that scatters around the mean of all steps."""
    cov = np.atleast_2d(np.cov(Y[alive].T, bias=True)) if alive.sum() > 1 else np.zeros_like(pooled)
    return np.asarray((squares + s * cov) / (n + s))


@exercise(
    "gaussians",
    "minitrpo.algorithms.guided_policy_search.local_models:gaussians",
    hints=(
        "scatter(Y, alive) returns counts (T,), means (T, p) and summed squares (T, p, p). The means go first.",
        "The pooled covariance is one matrix (p, p): the squares of all steps, summed, by the number of all samples.",
        "A step with n samples gets `strength` more, each with the pooled covariance as its square: "
        "(squares + strength pooled) / (n + strength); count[:, None, None] has the shape to divide by.",
    ),
    mistakes={
        "There is no prior in it.": shrunk(lambda squares, n, pooled, s, Y, alive: squares / n),
        "That is the pooled covariance for all steps: their own squares count, too.": shrunk(
            lambda squares, n, pooled, s, Y, alive: np.tile(pooled, (len(squares), 1, 1))
        ),
        "The prior's samples are in the sum and not in the number it is divided by.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares + s * pooled) / n
        ),
        "The prior's samples are counted, and their squares are missing.": shrunk(
            lambda squares, n, pooled, s, Y, alive: squares / (n + s)
        ),
        "The prior divides by one less than the number at each step: not here.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (
                (squares + s * squares.sum(axis=0) / max(n.sum() - len(n), 1)) / (n + s)
            )
        ),
        "It divides by one less than the number: not here.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares + s * pooled) / (n + s - 1)
        ),
        "The prior is a covariance, of one sample: it counts `strength` times.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares + pooled) / (n + s)
        ),
        "The prior scatters around the mean of all steps: each step has its own.": shrunk(around_all),
        "The prior is to be the pooled squares by the number of all samples, not of steps.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares + s * squares.mean(axis=0)) / (n + s)
        ),
        "It pools by the mean of the steps' covariances: then one with few samples counts like one with many.": (
            shrunk(lambda squares, n, pooled, s, Y, alive: (squares + s * (squares / n).mean(axis=0)) / (n + s))
        ),
        "The covariance and the prior are mixed half and half, whatever the strength is.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares / n + pooled) / 2
        ),
        "strength weighs the covariance against the prior as if each step had one sample: it has n.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares / n + s * pooled) / (1 + s)
        ),
        "Only the squares on the diagonal are there: how two numbers go together is what a line is fitted to.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares + s * pooled) / (n + s) * np.eye(len(pooled))
        ),
        "The prior has its diagonal alone.": shrunk(
            lambda squares, n, pooled, s, Y, alive: (squares + s * pooled * np.eye(len(pooled))) / (n + s)
        ),
        "Samples that ended early count at steps which they did not take.": lambda Y, alive, strength: right_gaussians(
            Y, np.ones_like(alive), strength
        ),
        "Mean and covariance are exchanged.": lambda Y, alive, strength: right_gaussians(Y, alive, strength)[::-1],
        "The means are pooled, too: they should be the samples' own.": lambda Y, alive, strength: (
            np.tile(Y[alive].mean(axis=0), (Y.shape[1], 1)),
            right_gaussians(Y, alive, strength)[1],
        ),
    },
)
def gaussians_cases() -> Iterator[Case]:
    """Yield numbers by hand, then samples of every number and length, some of which ended early."""
    hand = np.array([[[0.0], [4.0]], [[2.0], [10.0]]])
    both = np.ones((2, 2), bool)
    yield case("two samples of two steps", hand, both, 1.0)
    yield case("a prior of two samples", hand, both, 2.0)
    yield case("no prior", hand, both, 0.0)
    early = np.array([[True, True], [True, False]])
    yield case("a sample that ended early", hand, early, 1.0)
    two = np.array([[[0.0, 1.0], [1.0, 0.0]], [[2.0, -1.0], [1.0, 4.0]], [[1.0, 3.0], [-2.0, 2.0]]])
    yield case("numbers that go together", two, np.ones((3, 2), bool), 1.0)
    yield case("whole numbers", np.array([[[1, 5], [2, 2]], [[4, 5], [9, 0]]]), both, 1)
    rng = np.random.default_rng(0)
    for N, T, p in ((2, 3, 2), (5, 1, 3), (1, 4, 2), (8, 50, 22), (40, 6, 4), (3, 3, 3), (7, 5, 1)):
        Y, all_alive = some_samples(rng, N, T, p), np.ones((N, T), bool)
        for strength in (0.3, 1.0, 5.0):
            yield case("samples at random", Y, all_alive, strength)
        lengths = np.append(T, rng.integers(0, T + 1, N - 1))
        alive = np.arange(T) < lengths[:, None]
        yield case("samples of different lengths", Y, alive, 1.0)
        yield case("samples of different lengths", Y, alive, 7.5)
        padded = np.where(alive[:, :, None], Y, 0.0)
        yield case("padded with zeros", padded, alive, 2.0)
        yield case("nearly no prior", Y, all_alive, 1e-9)
        yield case("a prior that outweighs all", Y, all_alive, 1e9)
    Y = some_samples(rng, 6, 4, 3)
    for size in (1e-6, 1e6):
        yield case("numbers of every size", size * Y, np.ones((6, 4), bool), 1.0)
    far = 1e6 + 1e-3 * Y
    yield case("little scatter far from 0, where yy' - mm' loses digits", far, np.ones((6, 4), bool), 1.0, rtol=1e-4)
    Y[:, :, 1] = 5.0
    yield case("a number that never changes", Y, np.ones((6, 4), bool), 1.0, atol=1e-12)
    gaps = np.ones((6, 4), bool)
    gaps[1, 2] = gaps[4, 0] = False
    yield case("samples with gaps", Y, gaps, 1.0, atol=1e-12)


def priced(change: Callable[..., Any]) -> Candidate:
    """Return with_kl with G, P and kbar of every step put together as change(cost, G, P, kbar, eta) says."""

    def wrong(cost: Cost, pbar: Controller, eta: float) -> tuple[Array, Array]:
        T, m, _ = pbar.K.shape
        G = np.concatenate([-pbar.K, np.tile(np.eye(m), (T, 1, 1))], axis=2)
        C, c = change(cost, G, np.linalg.inv(pbar.S), pbar.k, eta)
        return np.asarray(C), np.asarray(c)

    return wrong


def turned(G: Array) -> Array:
    """Return [I, -Kbar] for [-Kbar, I]."""
    n = G.shape[2] - G.shape[1]
    return np.concatenate([G[:, :, n:], G[:, :, :n]], axis=2)


def added(G: Array, P: Array, kbar: Array) -> tuple[Array, Array]:
    """Return G'P G and G'P kbar."""
    return np.einsum("tmi,tmk,tkj->tij", G, P, G), np.einsum("tmi,tmk,tk->ti", G, P, kbar)


def mixed(C: float, c: float) -> Candidate:
    """Return with_kl with other factors in front of eta G'P G and eta G'P kbar than 1 and -1."""
    return priced(
        lambda cost, G, P, k, eta: (cost.C + C * eta * added(G, P, k)[0], cost.c + c * eta * added(G, P, k)[1])
    )


def flipped(G: Array) -> Array:
    """Return [Kbar, I] for G = [-Kbar, I]."""
    m = G.shape[1]
    return np.asarray(np.concatenate([-G[:, :, :-m], G[:, :, -m:]], axis=2))


@exercise(
    "with_kl",
    WITH_KL,
    hints=(
        "For one step, G = np.hstack([-Kbar, np.eye(m)]) has m rows and n + m columns; P = np.linalg.inv(Sbar). "
        "Add G.T @ P @ G to C and take G.T @ P @ kbar from c, both times eta.",
        "A loop over the steps is fine, with copies of cost.C and cost.c as floats to begin with. numpy's inv and @ do "
        "all steps at once, too.",
        "All at once: G is np.concatenate([-pbar.K, eyes], axis=2) with eyes (T, m, m); the transpose of each is "
        "G.swapaxes(1, 2).",
    ),
    mistakes={
        "The linear part has the wrong sign: of (G z - kbar)'P (G z - kbar) / 2 it is -(G'P kbar)'z.": mixed(1.0, 1.0),
        "The linear part is missing: kbar is where the other controller's mean lies at x = 0.": mixed(1.0, 0.0),
        "There is a factor 2 too many: C stands in 1/2 z'C z, so the 1/2 is there already.": mixed(2.0, -1.0),
        "There is a factor 1/2 too many: C stands in 1/2 z'C z, so the 1/2 is there already.": mixed(0.5, -1.0),
        "Everything is half as much as it should be.": mixed(0.5, -0.5),
        "The linear part is twice as much as it should be.": mixed(1.0, -2.0),
        "The KL is subtracted: it is a price, to be added to the cost.": mixed(-1.0, 1.0),
        "G is [-Kbar, I]: z = [x; u], and x comes first.": priced(
            lambda cost, G, P, k, eta: (
                cost.C + eta * added(turned(G), P, k)[0],
                cost.c - eta * added(turned(G), P, k)[1],
            )
        ),
        "The linear part of the KL is not multiplied by eta.": priced(
            lambda cost, G, P, k, eta: (cost.C + eta * added(G, P, k)[0], cost.c - added(G, P, k)[1])
        ),
        "The KL is not multiplied by its price eta.": priced(
            lambda cost, G, P, k, eta: (cost.C + added(G, P, k)[0], cost.c - added(G, P, k)[1])
        ),
        "It divides the cost by eta, as some papers do: here the KL is multiplied by it.": priced(
            lambda cost, G, P, k, eta: (cost.C / eta + added(G, P, k)[0], cost.c / eta - added(G, P, k)[1])
        ),
        "The other controller's covariance is taken for its precision: P is the inverse of Sbar.": priced(
            lambda cost, G, P, k, eta: (
                cost.C + eta * added(G, np.linalg.inv(P), k)[0],
                cost.c - eta * added(G, np.linalg.inv(P), k)[1],
            )
        ),
        "The precision is missing: a difference counts by how exact the other controller is.": priced(
            lambda cost, G, P, k, eta: (
                cost.C + eta * added(G, 0 * P + np.eye(len(P[0])), k)[0],
                cost.c - eta * added(G, 0 * P + np.eye(len(P[0])), k)[1],
            )
        ),
        "G is [-Kbar, I]: the difference is u - Kbar x.": priced(
            lambda cost, G, P, k, eta: (
                cost.C + eta * added(flipped(G), P, k)[0],
                cost.c - eta * added(flipped(G), P, k)[1],
            )
        ),
        "The cost itself is missing: the KL is added to it.": priced(
            lambda cost, G, P, k, eta: (eta * added(G, P, k)[0], -eta * added(G, P, k)[1])
        ),
        "Only the block of u has it: Kbar brings x into it.": priced(
            lambda cost, G, P, k, eta: (
                cost.C + eta * added(np.where(np.arange(G.shape[2]) < G.shape[2] - G.shape[1], 0, G), P, k)[0],
                cost.c - eta * added(G, P, k)[1],
            )
        ),
        "P is one over Sbar, entry by entry: that is no inverse of a matrix.": priced(
            lambda cost, G, P, k, eta: (
                cost.C + eta * added(G, one_by_one(P), k)[0],
                cost.c - eta * added(G, one_by_one(P), k)[1],
            )
        ),
        "Every step has its own controller: the first one is used for all.": lambda cost, pbar, eta: right_with_kl(
            cost, Controller(*(np.repeat(a[:1], len(a), axis=0) for a in (pbar.K, pbar.k, pbar.S))), eta
        ),
    },
)
def with_kl_cases() -> Iterator[Case]:
    """Yield one number each, then controllers of all sizes, prices from 0 on, and precisions of every size."""
    nothing = Cost(np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1))
    for kind, K, k, S in (
        ("a controller that does nothing", 0.0, 0.0, 1.0),
        ("a controller with a constant", 0.0, 3.0, 1.0),
        ("a controller with a gain", 2.0, 0.0, 1.0),
        ("a controller with little noise", 2.0, 3.0, 0.25),
    ):
        pbar = Controller(np.array([[[K]]]), np.array([[k]]), np.array([[[S]]]))
        for eta in (1.0, 2.0):
            yield case(kind, nothing, pbar, eta, shown=f"no cost, Kbar = {K}, kbar = {k}, Sbar = {S}, eta = {eta}")
    rng = np.random.default_rng(0)
    for T, n, m in ((1, 2, 1), (2, 1, 2), (3, 2, 2), (5, 3, 1), (4, 4, 3), (2, 2, 3), (50, 10, 2), (6, 1, 1)):
        cost, pbar = random_cost(rng, T, n, m), random_controller(rng, T, n, m)
        for eta in (0.5, 3.0, 1e-6, 1e9):
            yield case(
                "costs and controllers at random", cost, pbar, eta, shown=f"T = {T}, n = {n}, m = {m}, eta = {eta}"
            )
        yield case("a price of 0", cost, pbar, 0.0, shown=f"T = {T}, n = {n}, m = {m}, eta = 0")
        free = Cost(np.zeros_like(cost.C), np.zeros_like(cost.c), cost.e)
        yield case("no cost", free, pbar, 1.5, shown=f"T = {T}, n = {n}, m = {m}, eta = 1.5, C and c are 0")
    cost, pbar = random_cost(rng, 3, 2, 2), random_controller(rng, 3, 2, 2)
    for size in (1e-6, 1e6):
        noisy = Controller(pbar.K, pbar.k, size * pbar.S)
        yield case("noise of every size", cost, noisy, 1.0, shown=f"covariances of about {size:.0e}, eta = 1")
    one_exact = Controller(pbar.K, pbar.k, np.tile(np.diag([1.0, 1e-18]), (3, 1, 1)))
    yield case(
        "one action with hardly any noise", cost, one_exact, 1.0, each=True, shown="Sbar = diag(1, 1e-18), eta = 1"
    )
    yield case("a low price of exact actions", cost, Controller(pbar.K, pbar.k, 1e-10 * pbar.S), 1e-9,
               shown="covariances of about 1e-10, eta = 1e-9")  # fmt: skip
    diagonal = Controller(pbar.K, pbar.k, pbar.S * np.eye(2))
    yield case("actions with noise of their own", cost, diagonal, 1.0, shown="Sbar diagonal, eta = 1")
    whole = Cost(np.tile(2 * np.eye(4, dtype=int), (3, 1, 1)), np.ones((3, 4), dtype=int), cost.e)
    yield case("a cost in whole numbers", whole, pbar, 0.5, shown="C = 2 I and c = 1, both of dtype int, eta = 0.5")


def one_by_one(P: Array) -> Array:
    """Return 1 / S, entry by entry, as far as S is not 0, for S = P^-1."""
    S = np.linalg.inv(P)
    return np.asarray(np.where(np.abs(S) > 1e-12, 1 / np.where(S == 0, 1.0, S), 0.0))


def random_cost(rng: np.random.Generator, T: int, n: int, m: int) -> Cost:
    """Return a convex cost of every step."""
    return Cost(definite(rng, T, n + m), rng.standard_normal((T, n + m)), rng.standard_normal(T))


def random_controller(rng: np.random.Generator, T: int, n: int, m: int) -> Controller:
    """Return a controller, another one at every step."""
    return Controller(rng.standard_normal((T, m, n)), rng.standard_normal((T, m)), definite(rng, T, m))


def diagonals(P: Array) -> Array:
    """Return the diagonals (R, m) of matrices (R, m, m)."""
    return np.asarray(np.einsum("rii->ri", P))


@exercise(
    "imitated_std",
    "minitrpo.algorithms.guided_policy_search.imitation:imitated_std",
    hints=(
        "P[:, i, i] are the precisions of action i, a number per row; np.einsum('rii->ri', P) has them all, (R, m).",
        "The mean of the precisions over the rows; a precision is one over a variance, and a variance is a squared "
        "standard deviation.",
    ),
    mistakes={
        "It averages standard deviations: the mean is taken of the precisions.": lambda P: np.mean(
            1 / np.sqrt(diagonals(P)), axis=0
        ),
        "It averages variances: the mean is taken of the precisions.": lambda P: np.sqrt(
            np.mean(1 / diagonals(P), axis=0)
        ),
        "That is the variance: the standard deviation is its root.": lambda P: right_std(P) ** 2,
        "That is the mean precision: the standard deviation is one over its root.": lambda P: right_std(P) ** -2,
        "That is the root of the mean precision: one over it is wanted.": lambda P: 1 / right_std(P),
        "The precisions are summed, not averaged: with more rows there would be less noise.": lambda P: (
            right_std(P) / np.sqrt(len(P))
        ),
        "It takes roots before it averages: the mean is of the precisions themselves.": lambda P: (
            1 / np.mean(np.sqrt(diagonals(P)), axis=0)
        ),
        "It inverts the mean matrix and takes that diagonal: the diagonal comes first.": lambda P: np.sqrt(
            np.diag(np.linalg.inv(P.mean(axis=0)))
        ),
        "It takes the variances, the diagonals of the inverses, and their mean.": lambda P: np.sqrt(
            np.mean(diagonals(np.linalg.inv(P)), axis=0)
        ),
        "It takes one over the diagonals of the inverses: the precisions are on P's own diagonal.": lambda P: (
            1 / np.sqrt(np.mean(1 / diagonals(np.linalg.inv(P)), axis=0))
        ),
        "One number for all actions: each has its own.": lambda P: np.full(
            P.shape[1], 1 / np.sqrt(np.mean(diagonals(P)))
        ),
        "It sums whole rows of P: only the diagonal counts.": lambda P: 1 / np.sqrt(np.abs(P.mean(axis=0).sum(axis=1))),
        "It is the median of the precisions, not their mean.": lambda P: 1 / np.sqrt(np.median(diagonals(P), axis=0)),
        "It is the logarithm of the standard deviation: the policy keeps that, this function does not.": lambda P: (
            np.log(right_std(P))
        ),
    },
)
def imitated_std_cases() -> Iterator[Case]:
    """Yield one action by hand, then matrices of all sizes, with and without correlations."""
    yield case("one row", np.array([[[4.0]]]))
    yield case("two rows", np.array([[[1.0]], [[400.0]]]))
    yield case("three rows", np.array([[[1.0]], [[4.0]], [[25.0]]]))
    yield case("two actions", np.array([np.diag([1.0, 4.0]), np.diag([9.0, 16.0])]))
    yield case("actions that go together", np.array([[[2.0, 1.0], [1.0, 3.0]]]))
    yield case("whole numbers", np.array([[[2, 1], [1, 3]], [[5, 0], [0, 4]]]))
    yield case("equal rows", np.array([[[4.0]], [[4.0]], [[25.0]]]))
    rng = np.random.default_rng(0)
    for R, m in product((1, 2, 7, 400, 3200), (1, 2, 3, 6)):
        yield case("precisions at random", definite(rng, R, m), each=True)
    spread = np.exp(3 * rng.standard_normal(50))[:, None, None] * definite(rng, 50, 2)
    yield case("rows that differ a lot", spread, each=True)
    for size in (1e-20, 1e-8, 1e8, 1e20):
        yield case("precisions of every size", size * definite(rng, 5, 2), each=True)
    yield case("actions of different sizes", np.tile(np.diag([1e-6, 1.0, 1e6]), (3, 1, 1)), each=True)
    yield case("numbers of single precision", definite(rng, 5, 2).astype(np.float32), rtol=1e-5)
