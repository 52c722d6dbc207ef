"""Parallel TRPO in one file: mpiexec -n 2 python mpi_scripts/trpo_in_one_file.py --env Reacher-v5 --discount 0.95

This is Algorithm 1 of Frans & Hafner 2016 without its pool, from which a free rank takes the next episode: here rank r
plays episodes r, r + size, ... with the common theta; rank 0 gathers them and takes one step of TRPO (Schulman et al.
2015). Any number of ranks gives the same bits: random numbers belong to an episode, and rank 0 learns in their order.
With `python -m mpi4py` before the file's name, an error on one rank ends them all; without, the others wait for it.
"""

import argparse
import hashlib
import os

os.environ["OMP_NUM_THREADS"] = "1"  # one thread a rank: more would share its core, and add up in another order

import autograd.numpy as np
import gymnasium
from autograd import grad
from autograd.differential_operators import make_ggnvp
from autograd.scipy.special import logsumexp
from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("--env", default="CartPole-v1")
parser.add_argument("--total-steps", type=int, default=100_000)
parser.add_argument("--steps-per-update", type=int, default=2_000)
parser.add_argument("--max-kl", type=float, default=0.02, help="delta: how far one update may move the policy, in nats")
parser.add_argument("--discount", type=float, default=0.98, help="gamma")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
LAMBDA, DAMPING = 0.95, 0.1  # of the advantages (1 is Monte Carlo, as in the paper); of the Fisher matrix

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
env = gymnasium.make(args.env)
discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
inputs = env.observation_space.shape[0]
outputs = int(env.action_space.n) if discrete else env.action_space.shape[0]
bounds = None if discrete else (env.action_space.low, env.action_space.high)
SHAPES = [(inputs + 1, 64), (65, 64), (65, outputs)]  # of three layers: the last row of each is its bias


# --- the policy: theta is one flat vector, so that a gradient, a direction and a step are vectors, too


def generator(*key):
    """Return random numbers for a key, such as (iteration, episode): the same ones on every rank."""
    return np.random.default_rng([args.seed, *key])


def initial_theta():
    """Return random weights, small ones in the last layer; biases of 0; log standard deviations if actions are real."""
    rng, theta = generator(0), []
    for (n, m), scale in zip(SHAPES, (1.0, 1.0, 0.01)):
        theta += [scale / np.sqrt(n) * rng.standard_normal((n - 1) * m), np.zeros(m)]
    return np.concatenate(theta if discrete else [*theta, np.full(outputs, -1.0)])


def distribution(theta, x):
    """Return what pi(. | s) is made of, a row for each row of x: logits, or means and log standard deviations."""
    start = 0
    for layer, (n, m) in enumerate(SHAPES):
        W, start = theta[start : start + n * m].reshape(n, m), start + n * m
        x = x @ W[:-1] + W[-1]
        x = x if layer == 2 else np.tanh(x)
    return x if discrete else np.concatenate([x, np.ones_like(x) * theta[start:]], axis=1)


def sample(dist, rng):
    """Return an action from one row of a distribution."""
    if discrete:
        return int(np.argmax(dist + rng.gumbel(size=outputs)))  # with Gumbel noise, the largest logit is a draw from pi
    mean, log_std = np.split(dist, 2)
    return mean + np.exp(log_std) * rng.standard_normal(outputs)


def log_prob(dist, actions):
    """Return log pi(a | s), one for each row."""
    if discrete:
        return dist[np.arange(len(actions)), actions] - logsumexp(dist, axis=1)
    mean, log_std = np.split(dist, 2, axis=1)
    z = (actions - mean) / np.exp(log_std)
    return np.sum(-0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi), axis=1)


def mean_kl(old, new):
    """Return KL(old || new), the mean over all rows, in nats."""
    if discrete:
        p, q = old - logsumexp(old, axis=1, keepdims=True), new - logsumexp(new, axis=1, keepdims=True)
        return np.mean(np.sum(np.exp(p) * (p - q), axis=1))
    (m, s), (n, t) = np.split(old, 2, axis=1), np.split(new, 2, axis=1)
    return np.mean(np.sum(t - s + (np.exp(2 * s) + (m - n) ** 2) / (2 * np.exp(2 * t)) - 0.5, axis=1))


# --- lines 3 and 4 of Algorithm 1: an episode, which is the same whichever rank plays it


def play(theta, mean, std, iteration, number):
    """Return one episode: observations (one more than steps), actions, rewards, and whether it terminated."""
    rng = generator(iteration, number)
    observation, _ = env.reset(seed=int(rng.integers(2**31)))
    observations, actions, rewards, terminated, truncated = [observation], [], [], False, False
    while not (terminated or truncated):
        action = sample(distribution(theta, normal(observation[None], mean, std))[0], rng)
        observation, reward, terminated, truncated, _ = env.step(action if discrete else np.clip(action, *bounds))
        observations.append(observation)
        actions.append(action)
        rewards.append(reward)
    return {"s": np.array(observations), "a": np.array(actions), "r": np.array(rewards), "terminated": terminated}


def normal(observations, mean, std):
    """Return observations with mean 0 and standard deviation 1, about; what is far out is clipped."""
    return np.clip((observations - mean) / std, -10, 10)


# --- line 5: advantages; the paper's Monte Carlo estimate of Q, minus a critic that is linear in its features


def features(s, mean, std):
    """Return the features of the states of an episode, which know the time."""
    o, t = normal(s, mean, std), np.arange(len(s))[:, None] / 100
    return np.concatenate([o, o**2, t, t**2, t**3, np.ones_like(t)], axis=1)


def advantages(episode, x, w):
    """Return A_t = e_t + gamma lambda A_{t+1}, where e_t = r_t + gamma V(s_{t+1}) - V(s_t), and targets for V."""
    v = x @ w
    if episode["terminated"]:
        v[-1] = 0.0  # nothing comes after it; an episode that was cut by a time limit would have gone on
    errors, A = episode["r"] + args.discount * v[1:] - v[:-1], np.zeros(len(episode["r"]) + 1)
    for t in reversed(range(len(errors))):
        A[t] = errors[t] + args.discount * LAMBDA * A[t + 1]
    return A[:-1], A[:-1] + v[:-1]


# --- line 6: one step of TRPO


def conjugate_gradient(product, b, iterations=10):
    """Return x with A x = b, nearly, from products A v alone."""
    x, r, d = np.zeros_like(b), b, b
    for _ in range(iterations):
        Ad = product(d)
        alpha = (r @ r) / (d @ Ad)
        x, r, old = x + alpha * d, r - alpha * Ad, r
        d = r + (r @ r) / (old @ old) * d
    return x


def trpo_step(theta, s, a, A):
    """Return theta', whose policy is better on this batch, and within KL(old || new) <= delta; and its KL."""
    old = distribution(theta, s)

    def surrogate(theta):
        return np.mean(np.exp(log_prob(distribution(theta, s), a) - log_prob(old, a)) * A)

    some = s[::5]  # a fifth of the states is enough for F
    fisher = make_ggnvp(lambda theta: distribution(theta, some), lambda new: mean_kl(old[::5], new))(theta)

    def product(v):
        return fisher(v) + DAMPING * v

    g = grad(surrogate)(theta)
    x = conjugate_gradient(product, g)
    step = np.sqrt(2 * args.max_kl / (x @ product(x))) * x
    for new in (theta + 0.7**k * step for k in range(10)):
        kl = mean_kl(old, distribution(new, s))
        if kl <= args.max_kl and surrogate(new) > surrogate(theta):
            return new, kl
    return theta, 0.0  # no step was good enough: theta stays


# --- Algorithm 1

theta, w = initial_theta(), np.zeros(2 * inputs + 4)
count, mean, squares = 0, np.zeros(inputs), np.zeros(inputs)  # of the observations that rank 0 has seen
steps, iteration, episodes = 0, 0, 20
while steps < args.total_steps:
    iteration += 1
    # line 7 of the last round: rank 0 sends theta, and what normalises observations; then lines 3 and 4
    theta, count, mean, squares, episodes = comm.bcast((theta, count, mean, squares, episodes))
    std = np.sqrt(squares / count) + 1e-6 if count else np.ones(inputs)
    everybody = comm.gather([play(theta, mean, std, iteration, n) for n in range(rank, episodes, size)])
    if rank == 0:
        batch = [everybody[n % size][n // size] for n in range(episodes)]  # in the order of their numbers
        xs = [features(e["s"], mean, std) for e in batch]
        As, targets = zip(*(advantages(e, x, w) for e, x in zip(batch, xs)))
        A, x, y = np.concatenate(As), np.concatenate([x[:-1] for x in xs]), np.concatenate(targets)
        s, a = np.concatenate([e["s"][:-1] for e in batch]), np.concatenate([e["a"] for e in batch])
        theta, kl = trpo_step(theta, normal(s, mean, std), a, (A - A.mean()) / (A.std() + 1e-8))
        w = np.linalg.solve(x.T @ x + 1e-3 * len(x) * np.eye(len(w)), x.T @ y)  # the critic, for the next batch
        steps += len(s)
        episodes = max(1, round(args.steps_per_update * len(batch) / len(s)))
        change, share = s.mean(axis=0) - mean, len(s) / (count + len(s))
        squares = squares + ((s - s.mean(axis=0)) ** 2).sum(axis=0) + change**2 * count * share
        count, mean = count + len(s), mean + change * share
        print(f"{steps:8} steps, mean return {np.mean([e['r'].sum() for e in batch]):8.2f}, KL {kl:.4f}", flush=True)
    steps = comm.bcast(steps)
if rank == 0:
    print("theta sha256:", hashlib.sha256(theta.tobytes()).hexdigest())
