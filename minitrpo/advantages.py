"""From rewards to learning targets: discounted sums, n-step returns and generalised advantage estimation (GAE).

Steps of several episodes lie one after the other in flat arrays (N,). A fragment is an
unbroken run of steps of one episode. Two masks say how it stopped, and they are never merged into one `done`:
- `last[t]`: step t is the last of its fragment; nothing may leak over this border;
- `terminated[t]`: the task itself ended at t, so the value after t is 0. A fragment that was merely cut (time limit,
  end of a segment) has a future, and is bootstrapped with V(final observation).
"""

import numpy as np

from minitrpo.policies import Array


def discounted_sums(x: Array, discount: float, last: Array) -> Array:
    """Return y (N,) with y_t = x_t + discount * y_{t+1}, starting afresh after every `last` step; N may be 0."""
    backwards, total = [], 0.0
    # 1. walk from the last step to the first, as each sum needs the one after it
    for value, is_last in zip(x[::-1].tolist(), last[::-1].tolist(), strict=True):
        # 2. a last step stands alone; any other adds what comes after it, discounted
        total = value if is_last else value + discount * total
        backwards.append(total)
    # 3. turn the sums round, into the order of the steps
    return np.array(backwards[::-1])


def next_values(values: Array, final_values: Array, last: Array, terminated: Array) -> Array:
    """Return V(s_{t+1}) for every step, shape (N,): 0 where the task terminated, V(final observation) where it was cut.

    values: V(s_t), (N,). final_values: V of the observation after each fragment, (number of fragments,), in order.
    """
    # 1. inside a fragment the next value is the value of the next step
    after = np.empty(len(values), np.result_type(values, final_values))
    after[:-1] = values[1:]
    # 2. after a fragment it is V(final observation), and 0 if the task is over there
    after[last] = final_values
    after[terminated] = 0.0
    return after


def gae(
    rewards: Array, values: Array, next_values: Array, last: Array, discount: float, gae_lambda: float
) -> tuple[Array, Array]:
    """Return advantages and value targets, both (N,), by generalised advantage estimation.

    e_t = r_t + discount * V(s_{t+1}) - V(s_t);  A_t = e_t + discount * lambda * A_{t+1};  target = A + V.
    lambda = 1 gives Monte-Carlo returns (bootstrapped at a cut), lambda = 0 the one-step error.
    Source: Schulman et al. 2016, equations 11-16; Frans & Hafner 2016, Algorithm 1, line 5 for lambda = 1.
    """
    # 1. the TD errors, one step each
    errors = rewards + discount * next_values - values
    # 2. their discounted sums, fragment by fragment
    advantages = discounted_sums(errors, discount * gae_lambda, last)
    return advantages, advantages + values


def n_step_returns(rewards: Array, next_values: Array, last: Array, discount: float, n: int) -> Array:
    """Return R_t = sum_{k<n} discount^k r_{t+k} + discount^n V(s_{t+n}), shape (N,), cut short where the fragment ends.

    next_values: V(s_{t+1}), (N,), from the function of that name. Source: Mnih et al. 2016, section 4.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    returns = rewards + discount * next_values  # one step
    for _ in range(n - 1):  # an n-step return is r_t plus the discounted (n-1)-step return of t+1
        longer = rewards[:-1] + discount * returns[1:]
        returns = np.append(np.where(last[:-1], returns[:-1], longer), returns[-1:])
    return returns


def standardise(advantages: Array) -> Array:
    """Return the advantages of one whole batch with mean 0 and standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def explained_variance(predicted: Array, targets: Array) -> float:
    """Return 1 - Var(target - predicted) / Var(target): 1 perfect, 0 as good as a constant.

    NaN if the targets are equal up to rounding: their standard deviation is at most 1e-10 of their root mean square.
    """
    variance = float(np.var(targets))
    if variance <= 1e-20 * float(np.mean(targets**2)):
        return float("nan")
    return 1.0 - float(np.var(targets - predicted)) / variance
