"""Returns and advantages against double loops over each fragment; nothing may leak over a border."""

import numpy as np
import pytest
from fragments import apart, random_fragments
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.advantages import discounted_sums, explained_variance, gae, n_step_returns, next_values, standardise

QUICK = settings(max_examples=40)
LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=5)
DISCOUNTS = st.sampled_from([0.0, 0.5, 0.99, 1.0])
SEEDS = st.integers(0, 2**32 - 1)


class Played:
    """Fragments with random contents, some terminated, some cut, and arbitrary values."""

    def __init__(self, lengths, seed):
        rng = np.random.default_rng(seed)
        self.f = random_fragments(rng, lengths)
        self.values, self.final_values = rng.standard_normal(sum(lengths)), rng.standard_normal(len(lengths))

    def all_numbers(self, discount=0.9, lam=0.8, n=3):
        """Return the values after every step, sums, advantages, targets and n-step returns."""
        r, last = self.f.rewards, self.f.last
        after = next_values(self.values, self.final_values, last, self.f.terminated_steps)
        pair = gae(r, self.values, after, last, discount, lam)
        return np.stack([after, discounted_sums(r, discount, last), *pair, n_step_returns(r, after, last, discount, n)])

    def by_brute_force(self, discount, lam, n):
        """Return the same by the definition, step by step."""
        found, values = [], np.split(self.values, np.cumsum(self.f.lengths)[:-1])
        for part, inside, final in zip(apart(self.f), values, self.final_values, strict=True):
            r, v = part.rewards, [*inside, 0.0 if part.terminated[0] else final]  # terminated: nothing comes after
            deltas = [r[t] + discount * v[t + 1] - v[t] for t in range(len(r))]
            for t in range(len(r)):
                k, total = min(n, len(r) - t), sum(discount**i * x for i, x in enumerate(r[t:]))
                advantage = sum((discount * lam) ** i * delta for i, delta in enumerate(deltas[t:]))
                ahead = sum(discount**i * r[t + i] for i in range(k)) + discount**k * v[t + k]
                found.append((v[t + 1], total, advantage, advantage + v[t], ahead))
        return np.transpose(found)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@given(LENGTHS, SEEDS, DISCOUNTS, st.sampled_from([0.0, 0.3, 0.95, 1.0]), st.integers(1, 9))
@QUICK
def test_all_are_their_definitions_by_brute_force(lengths, seed, discount, lam, n):
    p = Played(lengths, seed)
    before = p.f.rewards.copy(), p.values.copy(), p.final_values.copy()
    close(p.all_numbers(discount, lam, n), p.by_brute_force(discount, lam, n))
    assert all(map(np.array_equal, before, (p.f.rewards, p.values, p.final_values)))
    with pytest.raises(ValueError, match="at least 1"):
        p.all_numbers(discount, lam, 0)


@given(LENGTHS, SEEDS, st.integers(0, 4))
@QUICK
def test_nothing_leaks_over_a_border_and_nothing_comes_after_a_termination(lengths, seed, index):
    """What is changed inside one fragment moves no number of another; what is seen after a termination moves none."""
    p, fragment = Played(lengths, seed), index % len(lengths)
    mine, before = np.repeat(np.arange(len(lengths)), lengths) == fragment, p.all_numbers()
    p.final_values[p.f.terminated] = 1e6
    assert np.array_equal(before, p.all_numbers())
    p.f.rewards[mine] += 100.0
    p.values[mine] -= 50.0
    p.final_values[fragment] += 30.0
    after = p.all_numbers()
    assert np.array_equal(before[:, ~mine], after[:, ~mine])
    assert np.all(before[1:, mine] != after[1:, mine])


@pytest.mark.parametrize("cut", [1, 2, 4])
@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_a_chain_whose_values_are_known(cut, lam):
    """Reward 1 for each of 5 steps, then the end: with the true V every advantage is 0, wherever the chain is cut."""
    discount = 0.9
    v = np.array([sum(discount**k for k in range(5 - s)) for s in range(5)])
    last, terminated = np.isin(np.arange(5), [cut - 1, 4]), np.arange(5) == 4
    after = next_values(v, np.array([v[cut], 123.0]), last, terminated)
    advantages, targets = gae(np.ones(5), v, after, last, discount, lam)
    close(advantages, 0.0)
    close(targets, v)
    close(n_step_returns(np.ones(5), after, last, discount, 3), v)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
@QUICK
def test_standardise(values):
    x = np.array(values)
    y = standardise(x)
    assert abs(y.mean()) < 1e-4
    assert np.all(np.diff(y[np.argsort(x)]) >= 0)  # a positive factor and an offset, nothing else
    if x.std() > 1e-3:
        assert y.std() == pytest.approx(1.0, abs=1e-4)


def test_explained_variance():
    targets, noise = np.random.default_rng(0).standard_normal((2, 1000))
    assert explained_variance(targets, targets) == 1.0
    assert explained_variance(np.full(1000, 5.0), targets) == pytest.approx(0.0, abs=1e-12)
    assert explained_variance(-targets, targets) == pytest.approx(-3.0)
    assert explained_variance(targets + 5.0, targets) == pytest.approx(1.0)  # a constant offset is forgiven
    r2 = np.corrcoef(targets, targets + noise)[0, 1] ** 2  # of the best linear predictor
    slope = np.cov(targets, targets + noise)[0, 1] / np.var(targets + noise, ddof=1)
    assert explained_variance(slope * (targets + noise), targets) == pytest.approx(r2)
