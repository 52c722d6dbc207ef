"""Checks of lecture 14: a step of LQR, a Gaussian with a prior, a price on KL, the noise of who imitates."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from minitrpo.algorithms.guided_policy_search.lqr import Controller, Cost
from minitrpo.course.checks.framework.differential import Case, case, need, remark
from minitrpo.course.checks.framework.register import exercise
from minitrpo.policies import Array


def definite(rng: np.random.Generator, *shape: int) -> Array:
    """Return random symmetric positive definite matrices (..., n, n)."""
    a = rng.standard_normal((*shape, shape[-1]))
    return np.asarray(a @ a.swapaxes(-1, -2) / shape[-1] + 0.3 * np.eye(shape[-1]))


@exercise(
    "minitrpo.algorithms.guided_policy_search.lqr:step_back",
    r"""
        ? Put x' = F z + f into 1/2 x'V x + v'x, and collect what is quadratic and what is linear in z: \
            H = C + F.T @ V @ F, h = c + F.T @ (v + V @ f).
        ? x is the first n = len(V) numbers of z, so H[n:, n:] is H_uu, H[n:, :n] is H_ux, h[n:] is h_u. The best u \
            solves H_ux x + H_uu u + h_u = 0, for every x.
        ? Put in, it leaves V = H_xx + H_xu K and v = h_x + H_xu k; then (V + V.T) / 2 takes care of rounding.
        return (K, k, => return (-K, -k, :: has K and k of u = -(K x + k) :: have those of u = K x + k
        H[:n, :n] + H[:n, n:] @ K, h[:n] + H[:n, n:] @ k => H[:n, :n], h[:n] :: has the cost to go of doing nothing \
            :: put the best u in
        n = len(V) => n, V, v = len(V), 0 * V, 0 * v :: leaves out what comes after this step \
            :: add the price of the state that it leads to
        inverse, (V => H[n:, n:], (V :: returns H_uu as its third result :: return the inverse of H_uu
        H[n:, n:]) => H[:-n, :-n]) && -inverse @ H[n:, :n], -inverse @ h[n:] => \
            -inverse @ H[:-n, -n:], -inverse @ h[:-n] :: takes z for [u; x] :: take it for [x; u]
        (v + V @ f) => v :: leaves out the constant f, which moves the next state :: add V @ f to v
        (v + V @ f) => (V @ f) :: leaves the linear part v of the cost to go out of h :: add it to V @ f
        h = c + F.T => h = F.T :: leaves the step's linear cost c out of h :: add it
        F.T @ V @ F => np.pad(V, (0, len(C) - n)) :: adds V as if z were the next state :: have F.T @ V @ F
        h[:n] + H[:n, n:] @ k => h[:n] :: leaves H_xu k out of the new v :: add it
        -inverse @ h[n:] => -h[n:] :: leaves the inverse of H_uu out of k :: multiply by it
        -inverse @ H[n:, :n] => -H[n:, :n] :: leaves the inverse of H_uu out of K :: multiply by it
        np.linalg.inv(H[n:, n:]) => np.diag(1 / np.diag(H[n:, n:])) :: inverts H_uu entry by entry :: invert the matrix
    """,
    lecture="14",
)
def _step_back() -> Iterator[Case]:
    one, none, C = np.ones((1, 2)), np.zeros(1), np.diag([2.0, 4.0])
    for weight, name in ((2.0, "last step but one"), (3.0, "third last step"), (0.0, "last step")):
        kind = f"the puck on a line, {name}"
        yield case(kind, 2.0 * np.eye(2), np.zeros(2), one, none, np.array([[weight]]), none, atol=1e-12)
    for kind, cost, c, f, v in (
        ("a world that drifts", C, np.zeros(2), np.ones(1), none),
        ("a linear cost", C, np.array([1.0, -3.0]), none, none),
        ("a linear cost to go", C, np.zeros(2), none, np.array([5.0])),
        ("a cost of x times u", C + 1.0, np.zeros(2), none, none),
        ("a push that is almost free", np.diag([1.0, 1e-9]), np.ones(2), none, np.ones(1)),
        ("a push that is very dear", np.diag([1.0, 1e9]), np.ones(2), none, np.ones(1)),
    ):
        yield case(kind, cost, c, one, f, np.eye(1), v)
    rng = np.random.default_rng(0)
    for n, m in ((2, 1), (1, 2), (2, 2), (3, 1), (4, 2), (17, 6)):
        C, c = definite(rng, n + m), rng.standard_normal(n + m)
        F, f = rng.standard_normal((n, n + m)), rng.standard_normal(n)
        V, v = definite(rng, n), rng.standard_normal(n)
        yield Case("worlds at random", partial(with_symmetric_v, C, c, F, f, V, v))
        yield case("nothing to be paid afterwards", C, c, F, f, np.zeros((n, n)), np.zeros(n))
    for size in (1e-9, 1e9):
        yield case("costs of every size", size * C, size * c, F, f, size * V, size * v, each=True, rtol=1e-6)
    yield case("a weak motor", np.diag([1.0, 1e-8]), np.zeros(2), one * [1.0, 1e-3], none, np.eye(1), np.ones(1))
    yield case("nothing costs or moves anything", np.zeros((2, 2)), np.zeros(2), 0 * one, none, np.zeros((1, 1)), none)
    whole = 2 * np.eye(2, dtype=int), np.array([1, 0])
    yield remark(case("a cost of whole numbers", *whole, 0.5 * one, none, np.array([[0.3]]), np.array([0.7])))
    world = np.array([[1, 2]]), np.array([3]), np.array([[4]]), np.array([5])
    yield remark(case("a world of whole numbers", *whole, *world))


def with_symmetric_v(*given: Any) -> Any:
    """Return the results of a step, the last of what is given, if the cost to go equals its transpose."""
    *arguments, step = given
    results = step(*(array.copy() for array in arguments))
    if isinstance(results, tuple | list) and len(results) == 5 and isinstance(results[3], np.ndarray):
        need(np.array_equal(results[3], results[3].T), "the new V is not exactly symmetric")
    return results


@exercise(
    "minitrpo.algorithms.guided_policy_search.local_models:gaussians",
    r"""
        ? scatter(Y, alive) returns counts (T,), means (T, p) and summed squares (T, p, p). The means go first.
        ? The pooled covariance is one matrix (p, p): the squares of all steps, summed, by the number of all samples.
        ? A step with n samples gets `strength` more, each with the pooled covariance as its square: \
            (squares + strength pooled) / (n + strength); count[:, None, None] has the shape to divide by.
        (squares + strength * pooled) / (count + strength) => squares / count :: has no prior :: count it in
        (squares + strength * pooled) / (count + strength)[:, None, None] => 0 * squares + pooled \
            :: has the pooled covariance for all steps :: count each step's own squares, too
        squares + strength * pooled => squares :: counts the prior's samples and leaves their squares out :: add them
        squares.sum(axis=0) / => (Y[alive] - Y[alive].mean(axis=0)).T @ (Y[alive] - Y[alive].mean(axis=0)) / \
            :: pools around the mean of all steps :: pool around the mean of each
        count.sum() => len(count) :: divides the pooled squares by the number of steps :: divide by that of all samples
        squares.sum(axis=0) / count.sum() => (squares / count[:, None, None]).mean(axis=0) \
            :: pools by the mean of the steps' covariances :: count a step with few samples less
        scatter(Y, alive) => scatter(Y, np.ones_like(alive)) :: counts samples that ended early :: count those alive
        return (mean, => return (np.tile(Y[alive].mean(axis=0), (len(count), 1)), :: pools the means, too \
            :: leave each step its own
    """,
    lecture="14",
)
def _gaussians() -> Iterator[Case]:
    hand, both = np.array([[[0.0], [4.0]], [[2.0], [10.0]]]), np.ones((2, 2), bool)
    for strength in (1.0, 2.0, 0.0):
        yield case(f"two samples of two steps, a prior of {strength:g}", hand, both, strength)
    yield case("a sample that ended early", hand, np.array([[True, True], [True, False]]), 1.0)
    rng = np.random.default_rng(0)
    for N, T, p in ((2, 3, 2), (5, 1, 3), (1, 4, 2), (8, 50, 22), (40, 6, 4)):
        Y, everyone = some_samples(rng, N, T, p), np.ones((N, T), bool)
        alive = np.arange(T) < np.append(T, rng.integers(0, T + 1, N - 1))[:, None]
        for strength in (0.3, 1.0, 7.5):
            yield case("samples at random", Y, everyone, strength)
            yield case("samples of different lengths", Y, alive, strength)
    for size in (1e-6, 1e6):
        yield case("numbers of every size", size * Y, everyone, 1.0)
    far = 1e6 + 1e-3 * Y
    yield case("little scatter far from 0, where yy' - mm' loses digits", far, everyone, 1.0, rtol=1e-4)
    Y[:, :, 1] = 5.0
    yield case("a number that never changes", Y, everyone, 1.0, atol=1e-12)


def some_samples(rng: np.random.Generator, N: int, T: int, p: int) -> Array:
    """Return samples (N, T, p) whose means and scatter differ from step to step."""
    root = rng.standard_normal((T, p, p)) * np.exp(rng.standard_normal(T))[:, None, None]
    return np.asarray(np.einsum("tpq,itq->itp", root, rng.standard_normal((N, T, p))) + 3 * rng.standard_normal((T, p)))


@exercise(
    "minitrpo.algorithms.guided_policy_search.lqr:with_kl",
    r"""
        ? For one step, G = np.hstack([-Kbar, np.eye(m)]) has m rows and n + m columns; P = np.linalg.inv(Sbar). \
            Add G.T @ P @ G to C and take G.T @ P @ kbar from c, both times eta.
        ? A loop over the steps is fine, with copies of cost.C and cost.c as floats to begin with. numpy's inv and @ \
            do \
            all steps at once, too.
        ? All at once: G is np.concatenate([-pbar.K, eyes], axis=2) with eyes (T, m, m); the transpose of each is \
            G.swapaxes(1, 2).
        cost.c - => cost.c + :: adds G'P kbar to c :: subtract it
        cost.C + eta => cost.C + 2 * eta :: adds twice G'P G :: add it once, as C stands in 1/2 z'C z
        GP = G => GP = 0.5 * G :: adds half of what the KL has :: add all of it
        [-pbar.K, np.broadcast_to(np.eye(m), (T, m, m))] => [np.broadcast_to(np.eye(m), (T, m, m)), -pbar.K] \
            :: has G = [I, -Kbar] :: have [-Kbar, I], as z = [x; u]
        cost.C + eta * => cost.C + && cost.c - eta * => cost.c - :: leaves the price eta out :: multiply the KL by it
        np.linalg.inv(pbar.S) => pbar.S :: takes the covariance Sbar for P :: take its inverse
        @ np.linalg.inv(pbar.S) =>  :: leaves the precision P out :: have it between G' and G
        -pbar.K => pbar.K :: has the difference u + Kbar x :: have u - Kbar x
    """,
    lecture="14",
)
def _with_kl() -> Iterator[Case]:
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
    for T, n, m in ((1, 2, 1), (2, 1, 2), (3, 2, 2), (50, 10, 2)):
        cost = Cost(definite(rng, T, n + m), rng.standard_normal((T, n + m)), rng.standard_normal(T))
        pbar = Controller(rng.standard_normal((T, m, n)), rng.standard_normal((T, m)), definite(rng, T, m))
        for eta, size in ((0.5, 1.0), (3.0, 1.0), (1e-6, 1.0), (1e9, 1.0), (0.0, 1.0), (1e-9, 1e-10), (1e-9, 1e6)):
            shown = f"T = {T}, n = {n}, m = {m}, Sbar of about {size:g}, eta = {eta}"
            noisy = Controller(pbar.K, pbar.k, size * pbar.S)
            yield case("costs and controllers at random", cost, noisy, eta, shown=shown)
    exact = Controller(pbar.K, pbar.k, np.tile(np.diag([1.0, 1e-18]), (50, 1, 1)))
    yield case("an action with hardly any noise", cost, exact, 1.0, each=True, shown="Sbar = diag(1, 1e-18), eta = 1")
    whole = Cost(np.tile(2 * np.eye(12, dtype=int), (50, 1, 1)), np.ones((50, 12), dtype=int), cost.e)
    yield remark(case("a cost in whole numbers", whole, pbar, 0.5, shown="C = 2 I, c = 1, of dtype int, eta = 0.5"))


@exercise(
    "minitrpo.algorithms.guided_policy_search.imitation:imitated_std",
    r"""
        ? P[:, i, i] are the precisions of action i, a number per row; np.einsum('rii->ri', P) has them all, (R, m).
        ? The mean of the precisions over the rows; a precision is one over a variance, and a variance is a squared \
            standard deviation.
        return np.mean(1 / np.sqrt(np.einsum('rii->ri', P)), axis=0) :: averages deviations :: average precisions
        return np.sqrt(np.mean(1 / np.einsum('rii->ri', P), axis=0)) :: averages variances :: average precisions
        return right(P) ** 2 :: is the variance :: be its root
        return 1 / right(P) :: is the root of the mean precision :: be one over it
        / len(P) =>  :: adds the precisions up :: divide by the number of rows
        return np.sqrt(np.diag(np.linalg.inv(P.mean(axis=0)))) :: inverts the mean matrix :: take the diagonal first
        return np.full(P.shape[1], 1 / np.sqrt(np.mean(np.einsum('rii->ri', P)))) :: has one number for all actions \
            :: have one for each
    """,
    lecture="14",
)
def _imitated_std() -> Iterator[Case]:
    for numbers in ([4.0], [1.0, 400.0], [1.0, 4.0, 25.0], [4.0, 4.0, 25.0]):
        yield case("one action", np.array(numbers)[:, None, None])
    yield case("two actions", np.array([np.diag([1.0, 4.0]), np.diag([9.0, 16.0])]))
    yield case("actions that go together", np.array([[[2.0, 1.0], [1.0, 3.0]]]))
    rng = np.random.default_rng(0)
    for R, m in product((1, 2, 7, 400), (1, 2, 6)):
        yield case("precisions at random", definite(rng, R, m), each=True)
    for size in (1e-20, 1e20):
        yield case("precisions of every size", size * definite(rng, 5, 2), each=True)
