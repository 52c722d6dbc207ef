"""Returns and advantages against double loops over each fragment; nothing may leak over a border."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.returns import discounted_sums, explained_variance, gae, n_step_returns, next_values, standardise

QUICK = settings(max_examples=50, deadline=None)
LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=5)
DISCOUNTS = st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0])
SEEDS = st.integers(0, 2**32 - 1)


class Fragments:
    """Random fragments of given lengths, some terminated, some cut, with arbitrary values."""

    def __init__(self, lengths, seed):
        rng = np.random.default_rng(seed)
        n, e = sum(lengths), len(lengths)
        self.stops = np.cumsum(lengths)
        self.rows = [range(stop - length, stop) for stop, length in zip(self.stops, lengths, strict=True)]
        self.rewards, self.values, self.final_values = (rng.standard_normal(size) for size in (n, n, e))
        self.ended = rng.random(e) < 0.5
        self.last = np.zeros(n, bool)
        self.last[self.stops - 1] = True
        self.terminated = np.zeros(n, bool)
        self.terminated[self.stops[self.ended] - 1] = True

    @property
    def next_values(self):
        return next_values(self.values, self.final_values, self.last, self.terminated)

    def value_after(self, fragment):
        return 0.0 if self.ended[fragment] else self.final_values[fragment]

    def per_step(self, formula):
        """Return formula(t, stop, value after the fragment) for every step."""
        return [formula(t, rows.stop, self.value_after(i)) for i, rows in enumerate(self.rows) for t in rows]

    def gae(self, discount, lam):
        return gae(self.rewards, self.values, self.next_values, self.last, discount, lam)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@given(LENGTHS, SEEDS, DISCOUNTS)
@QUICK
def test_discounted_sums(lengths, seed, discount):
    p = Fragments(lengths, seed)
    expected = p.per_step(lambda t, stop, _: sum(discount ** (k - t) * p.rewards[k] for k in range(t, stop)))
    close(discounted_sums(p.rewards, discount, p.last), expected)


@given(LENGTHS, SEEDS)
@QUICK
def test_next_values(lengths, seed):
    p = Fragments(lengths, seed)
    expected = p.per_step(lambda t, stop, after: p.values[t + 1] if t + 1 < stop else after)
    assert np.array_equal(p.next_values, expected)


def test_terminated_is_0_and_cut_is_bootstrapped():
    values, last = np.array([1.0, 2.0, 3.0]), np.array([False, True, True])
    cut = next_values(values, np.array([7.0, 8.0]), last, np.zeros(3, bool))
    assert cut.tolist() == [2.0, 7.0, 8.0]
    ended = next_values(values, np.array([7.0, 8.0]), last, np.array([False, True, False]))
    assert ended.tolist() == [2.0, 0.0, 8.0]
    assert values.tolist() == [1.0, 2.0, 3.0]


@given(LENGTHS, SEEDS, DISCOUNTS, st.sampled_from([0.0, 0.3, 0.95, 1.0]))
@QUICK
def test_gae_is_the_weighted_sum_of_errors(lengths, seed, discount, lam):
    p = Fragments(lengths, seed)

    def advantage(t, stop, after):
        v = [*p.values[t:stop], after]
        deltas = [p.rewards[t + k] + discount * v[k + 1] - v[k] for k in range(stop - t)]
        return sum((discount * lam) ** k * delta for k, delta in enumerate(deltas))

    advantages, targets = p.gae(discount, lam)
    close(advantages, p.per_step(advantage))
    close(targets, advantages + p.values)


@given(LENGTHS, SEEDS, DISCOUNTS)
@QUICK
def test_lambda_1_is_monte_carlo_and_lambda_0_the_one_step_error(lengths, seed, discount):
    p = Fragments(lengths, seed)

    def monte_carlo(t, stop, after):
        rewards = sum(discount ** (k - t) * p.rewards[k] for k in range(t, stop))
        return rewards + discount ** (stop - t) * after

    close(p.gae(discount, 1.0)[1], p.per_step(monte_carlo))
    close(p.gae(discount, 0.0)[1], p.rewards + discount * p.next_values)


@given(LENGTHS, SEEDS, DISCOUNTS, st.integers(1, 9))
@QUICK
def test_n_step_returns(lengths, seed, discount, n):
    p = Fragments(lengths, seed)

    def n_step(t, stop, after):
        k = min(n, stop - t)
        value = p.values[t + k] if t + k < stop else after
        return sum(discount**i * p.rewards[t + i] for i in range(k)) + discount**k * value

    close(n_step_returns(p.rewards, p.next_values, p.last, discount, n), p.per_step(n_step))


def test_n_below_1_is_refused():
    p = Fragments([3], 0)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        n_step_returns(p.rewards, p.next_values, p.last, 0.9, 0)


@given(LENGTHS, SEEDS, st.integers(0, 4))
@QUICK
def test_nothing_leaks_over_a_border(lengths, seed, index):
    """Whatever is changed inside one fragment, no number of another fragment moves."""
    p, fragment = Fragments(lengths, seed), index % len(lengths)
    mine = np.zeros(len(p.rewards), bool)
    mine[list(p.rows[fragment])] = True

    def all_numbers():
        sums = discounted_sums(p.rewards, 0.9, p.last)
        return np.stack([sums, *p.gae(0.9, 0.8), n_step_returns(p.rewards, p.next_values, p.last, 0.9, 3)])

    before = all_numbers()
    p.rewards[mine] += 100.0
    p.values[mine] -= 50.0
    p.final_values[fragment] += 30.0
    after = all_numbers()
    assert np.array_equal(before[:, ~mine], after[:, ~mine])
    assert np.all(before[:, mine] != after[:, mine])


@given(LENGTHS, SEEDS)
@QUICK
def test_the_observation_after_a_termination_counts_for_nothing(lengths, seed):
    p = Fragments(lengths, seed)
    before = p.gae(0.9, 0.8)[0]
    p.final_values[p.ended] = 1e6
    assert np.array_equal(before, p.gae(0.9, 0.8)[0])
    p.final_values[~p.ended] += 1.0
    cut_ends = p.stops[~p.ended] - 1
    assert np.all(before[cut_ends] != p.gae(0.9, 0.8)[0][cut_ends])


@pytest.mark.parametrize("cut", [1, 2, 4])
@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_a_chain_whose_values_are_known(cut, lam):
    """Reward 1 for each of 5 steps, then the end: with the true V every advantage is 0, wherever the chain is cut."""
    discount = 0.9
    v = np.array([sum(discount**k for k in range(5 - s)) for s in range(5)])
    last, terminated = (np.zeros(5, bool) for _ in range(2))
    last[[cut - 1, 4]], terminated[4] = True, True
    after = next_values(v, np.array([v[cut], 123.0]), last, terminated)
    advantages, targets = gae(np.ones(5), v, after, last, discount, lam)
    close(advantages, 0.0)
    close(targets, v)
    close(n_step_returns(np.ones(5), after, last, discount, 3), v)


def test_monte_carlo_over_a_cut_fragment_without_bootstrap_would_be_wrong():
    """What merging the two masks into one `done` does: the values of a cut fragment fall short by V of what follows."""
    last, none = np.array([False, True]), np.zeros(2, bool)
    v = np.array([10.0, 10.0])  # reward 1 for ever at discount 0.9
    right = gae(np.ones(2), v, next_values(v, v[:1], last, none), last, 0.9, 1.0)[1]
    merged = gae(np.ones(2), v, next_values(v, v[:1], last, last), last, 0.9, 1.0)[1]
    close(right, 10.0)
    close(right - merged, [0.9**2 * 10, 0.9 * 10])


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
@QUICK
def test_standardise(values):
    x = np.array(values)
    y = standardise(x)
    assert abs(y.mean()) < 1e-4
    assert np.all(np.diff(y[np.argsort(x)]) >= 0)  # a positive factor and an offset, nothing else
    if x.std() > 1e-3:
        assert y.std() == pytest.approx(1.0, abs=1e-4)


def test_standardise_of_equal_advantages_is_finite():
    assert np.array_equal(standardise(np.full(5, 3.0)), np.zeros(5))
    assert np.array_equal(standardise(np.array([2.0])), [0.0])


def test_explained_variance():
    rng = np.random.default_rng(0)
    targets = rng.standard_normal(1000)
    noise = rng.standard_normal(1000)
    assert explained_variance(targets, targets) == 1.0
    assert explained_variance(np.full(1000, 5.0), targets) == pytest.approx(0.0, abs=1e-12)
    assert explained_variance(-targets, targets) == pytest.approx(-3.0)
    assert explained_variance(targets + 5.0, targets) == pytest.approx(1.0)  # a constant offset is forgiven
    r2 = np.corrcoef(targets, targets + noise)[0, 1] ** 2  # of the best linear predictor
    slope = np.cov(targets, targets + noise)[0, 1] / np.var(targets + noise, ddof=1)
    assert explained_variance(slope * (targets + noise), targets) == pytest.approx(r2)
    assert np.isnan(explained_variance(noise, np.zeros(1000)))
