"""Exact p against brute force, scipy, Monte Carlo and algebra; certified bounds hold what they say."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from localbias.errors import BadValues
from localbias.measures.permutation import MAX_HALF, exact_p, smallest_p


def brute_force(x, y):
    """(share at least, share above): every split by itertools, sums by numpy, ties within 1e-9 of the range."""
    values = np.concatenate([x, y])
    splits = np.array(list(combinations(range(len(values)), len(x))))
    sums, observed = values[splits].sum(axis=1), np.sum(x)
    tie = 1e-9 * np.ptp(values)
    return (sums >= observed - tie).mean(), (sums > observed + tie).mean()


def drawn(seed, n_x, n_y, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n_x) + shift, rng.normal(size=n_y)


SIZES = [(1, 1), (2, 2), (1, 6), (6, 1), (3, 5), (5, 3), (8, 8), (10, 8), (8, 10), (10, 10)]


@pytest.mark.parametrize("n_x, n_y", SIZES)
@pytest.mark.parametrize("shift", [-1.0, 0.3, 1.5])
def test_enumeration_equals_brute_force(n_x, n_y, shift):
    x, y = drawn(n_x * 100 + n_y, n_x, n_y, shift)
    at_least, above = brute_force(x, y)
    p = exact_p(x, y)
    assert p.method == "enumeration"
    assert p.at_least.value == p.at_least.low == p.at_least.high == pytest.approx(at_least, rel=1e-12)
    assert p.above.value == p.above.low == p.above.high == pytest.approx(above, abs=1e-15)
    assert p.n_splits == comb(n_x + n_y, n_x)


@pytest.mark.parametrize("n_x, n_y", [(7, 7), (8, 5), (5, 8), (9, 9), (10, 10)])
@pytest.mark.parametrize("shift", [-1.0, 0.3, 1.5])
def test_shift_bounds_hold_brute_force(n_x, n_y, shift):
    x, y = drawn(n_x * 100 + n_y, n_x, n_y, shift)
    at_least, above = brute_force(x, y)
    p = exact_p(x, y, max_half=0, max_cells=2**18)
    assert p.method == "shift"
    for bounded, true in ((p.at_least, at_least), (p.above, above)):
        assert bounded.low <= true * (1 + 1e-12) and true <= bounded.high * (1 + 1e-12)
        assert bounded.low <= bounded.value <= bounded.high


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=7),
    st.lists(st.integers(-3, 3), min_size=1, max_size=7),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
@settings(max_examples=80, deadline=None)
def test_many_ties_are_counted_as_brute_force_counts_whole_numbers(x, y, offset, factor):
    values = np.array(x + y)
    splits = np.array(list(combinations(range(len(values)), len(x))))
    sums = values[splits].sum(axis=1)  # whole numbers: ties are exact
    p = exact_p(np.array(x) * factor + offset * factor, np.array(y) * factor + offset * factor)
    assert p.at_least.value == pytest.approx((sums >= sum(x)).mean(), rel=1e-12)
    assert p.above.value == pytest.approx((sums > sum(x)).mean(), abs=1e-12)


def test_words_in_both_sets_tie_whatever_the_order_of_adding():
    rng = np.random.default_rng(8)
    shared, own = rng.normal(size=4), rng.normal(size=2) * 1e-3
    x, y = np.concatenate([shared, own[:1]]), np.concatenate([own[1:], shared[::-1]])
    assert exact_p(x, y).at_least.value == pytest.approx(brute_force(x, y)[0], rel=1e-12)
    noisy = exact_p(x * (1 + 2e-16), y)
    assert noisy.at_least.value == exact_p(x, y).at_least.value


@pytest.mark.parametrize("seed", range(4))
def test_shift_bounds_hold_the_enumerated_count_where_both_can_be_had(seed):
    x, y = drawn(seed, 14, 15, 0.5)
    counted, shifted = exact_p(x, y), exact_p(x, y, max_half=0)
    assert (counted.method, shifted.method) == ("enumeration", "shift") and shifted.converged
    assert shifted.at_least.low <= counted.at_least.value <= shifted.at_least.high
    assert shifted.above.low <= counted.above.value <= shifted.above.high


def test_values_on_a_coarse_grid_get_bounds_that_hold_even_where_they_cannot_meet():
    # an atom of a fortieth of all splits lies on the observed sum: no lattice separates it from its bounds
    values = np.concatenate([np.random.default_rng(9).integers(0, 17, size=22), [0, 16]]) / 16.0
    counted, shifted = exact_p(values[:12], values[12:]), exact_p(values[:12], values[12:], max_half=0, max_cells=2**16)
    assert not shifted.converged
    assert shifted.at_least.low <= counted.at_least.value <= shifted.at_least.high


@pytest.mark.parametrize("n_x, n_y, shift", [(7, 6, 0.5), (5, 9, -0.4)])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_scipy_agrees_in_every_direction(n_x, n_y, shift, alternative):
    x, y = drawn(77, n_x, n_y, shift)
    expected = stats.permutation_test(
        (x, y),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    ).pvalue
    p = exact_p(x, y)
    ours = {"greater": p.at_least, "less": p.at_most, "two-sided": p.two_sided}[alternative]
    assert ours.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.5, 0.9, -0.5])
def test_monte_carlo_at_25_and_25_agrees_within_its_error(shift):
    x, y = drawn(25, 25, 25, shift)
    p = exact_p(x, y)
    assert p.method == "shift" and p.converged
    rng, draws, hits = np.random.default_rng(1), 400_000, 0
    values = np.concatenate([x, y])
    for _ in range(20):
        chosen = np.argpartition(rng.random((draws // 20, 50)), 25, axis=1)[:, :25]
        hits += int((values[chosen].sum(axis=1) >= x.sum()).sum())
    low, high = stats.binomtest(hits, draws).proportion_ci(0.9999)
    assert p.at_least.low <= high and low <= p.at_least.high


@pytest.mark.parametrize("n_x, n_y", [(25, 25), (30, 26), (26, 30), (16, 17), (45, 38)])
@pytest.mark.parametrize("shift", [-2.0, 0.0, 0.4, 0.9, 1.2, 3.0])
def test_bounds_meet_as_asked(n_x, n_y, shift):
    p = exact_p(*drawn(n_x + n_y, n_x, n_y, shift))
    assert p.converged
    for bounded in (p.at_least, p.above):
        tail = min(p.at_least.low, 1 - p.above.high)
        assert bounded.high - bounded.low <= max(0.01 * tail, 1e-9)
        assert 0 <= bounded.low <= bounded.value <= bounded.high <= 1
    assert p.at_least.value >= p.above.value


def test_a_finer_lattice_stays_within_the_bounds_of_a_coarser_one():
    x, y = drawn(4, 25, 25, 0.6)
    coarse, fine = exact_p(x, y, rtol=0.05, atol=1e-3), exact_p(x, y, rtol=0.002)
    assert coarse.at_least.low <= fine.at_least.low <= fine.at_least.high <= coarse.at_least.high
    assert fine.at_least.high - fine.at_least.low < coarse.at_least.high - coarse.at_least.low


def test_small_sets_by_both_ways_when_the_count_is_known():
    # 14 + 14, X the 14 largest: 1 of 40,116,600 splits reaches the sum
    values = np.sqrt(np.arange(1.0, 29))
    p = exact_p(values[14:], values[:14])
    assert p.at_least.value == pytest.approx(1 / comb(28, 14), rel=1e-12) and p.above.value == 0.0
    q = exact_p(values[14:], values[:14], max_half=0)
    assert q.at_least.low <= 1 / comb(28, 14) <= q.at_least.high < 1e-6


@pytest.mark.parametrize("shift", [0.9, 1.2, -2.0])
def test_a_small_p_of_the_lattice_is_within_one_per_cent_of_the_complete_count(shift):
    """15 + 15 are 155,117,520 splits, which enumeration counts one by one."""
    x, y = drawn(5, 15, 15, shift)
    counted, bounded = exact_p(x, y, max_half=2**20), exact_p(x, y, max_half=0)
    assert (counted.method, bounded.method) == ("enumeration", "shift")
    for one, other in ((counted.at_least, bounded.at_least), (counted.at_most, bounded.at_most)):
        assert other.low <= one.value <= other.high
    assert 1e-7 < counted.two_sided.value < 1e-2
    assert bounded.two_sided.value == pytest.approx(counted.two_sided.value, rel=0.01)


def test_p_is_never_zero_and_the_observed_split_counts():
    x, y = np.linspace(10, 11, 30), np.linspace(0, 1, 30)
    p = exact_p(x, y)
    assert p.at_least.low == pytest.approx(1 / comb(60, 30)) and p.at_least.value > 0
    assert exact_p(y, x).at_least.value == 1.0


@pytest.mark.parametrize("n_x, n_y", [(8, 10), (25, 25), (30, 26)])
def test_swapping_the_sets_turns_p_over(n_x, n_y):
    x, y = drawn(5, n_x, n_y, 0.4)
    one, other = exact_p(x, y), exact_p(y, x)
    width = one.above.high - one.above.low + other.at_least.high - other.at_least.low
    assert other.at_least.value == pytest.approx(1 - one.above.value, abs=width + 1e-12)
    assert other.two_sided.value == pytest.approx(one.two_sided.value, abs=2 * width + 1e-12)


@pytest.mark.parametrize("n_x, n_y", [(9, 8), (25, 25)])
def test_shifting_and_scaling_all_values_changes_nothing(n_x, n_y):
    x, y = drawn(6, n_x, n_y, 0.4)
    p = exact_p(x, y).at_least.value
    for factor, offset in ((1e-5, 0.0), (3.0, -0.5), (1e4, 7.0)):
        assert exact_p(x * factor + offset, y * factor + offset).at_least.value == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("n_x, n_y", [(8, 8), (8, 15)])
def test_p_is_uniform_when_the_sets_are_exchangeable(n_x, n_y):
    rng = np.random.default_rng(11)
    p = [exact_p(v[:n_x], v[n_x:]).at_least.value for v in rng.exponential(size=(500, n_x + n_y))]
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert abs(np.mean(np.array(p) <= 0.05) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 500)


def test_the_same_input_gives_the_same_bits_and_word_order_does_not_matter():
    x, y = drawn(12, 25, 25, 0.5)
    assert exact_p(x, y) == exact_p(x, y) == exact_p(x[::-1], np.roll(y, 3))


def test_few_distinct_values_are_counted_exactly_however_many_words():
    # 40 + 40 words of two kinds: the number of ones in X is hypergeometric
    x, y = np.r_[np.ones(25), np.zeros(15)], np.r_[np.ones(15), np.zeros(25)]
    p = exact_p(x, y)
    assert p.method == "enumeration"
    assert p.at_least.value == pytest.approx(stats.hypergeom(80, 40, 40).sf(24), rel=1e-9)
    assert p.above.value == pytest.approx(stats.hypergeom(80, 40, 40).sf(25), rel=1e-9)


def test_large_sets_give_honest_bounds_within_the_table_they_are_allowed():
    x, y = drawn(13, 60, 60, 0.3)
    narrow, wide = exact_p(x, y), exact_p(x, y, max_cells=2**14)
    assert narrow.converged and not wide.converged and wide.cells <= 2**14
    assert wide.at_least.low <= narrow.at_least.low and narrow.at_least.high <= wide.at_least.high


def test_the_normal_limit_is_near_in_the_middle_of_large_sets():
    x, y = drawn(14, 60, 60, 0.1)
    sd = np.sqrt(np.concatenate([x, y]).var(ddof=1) * (1 / 60 + 1 / 60))
    limit = stats.norm.sf((x.mean() - y.mean()) / sd)
    assert 0.05 < limit < 0.95
    assert exact_p(x, y).at_least.value == pytest.approx(limit, rel=0.02)


def test_equal_values_are_one_atom():
    p = exact_p(np.full(25, 0.2), np.full(30, 0.2))
    assert (p.method, p.at_least.value, p.above.value, p.two_sided.value) == ("constant", 1.0, 0.0, 1.0)


def test_smallest_p_is_two_of_all_splits():
    assert smallest_p(3, 3) == 2 / 20 and smallest_p(2, 2) == 2 / 6 and smallest_p(1, 1) == 1.0
    x = np.arange(8.0)
    assert exact_p(x[4:], x[:4]).two_sided.value == pytest.approx(smallest_p(4, 4))


def test_not_finite_or_empty_is_refused():
    for bad in ([], [0.1, np.inf]):
        with pytest.raises(BadValues, match="set X"):
            exact_p(bad, [0.1, 0.2])


def test_the_enumerated_half_is_what_the_documentation_says():
    assert MAX_HALF == 2**15
    assert exact_p(*drawn(1, 15, 15)).method == "enumeration"
    assert exact_p(*drawn(1, 16, 15)).method == "shift"


@pytest.mark.parametrize("scale", [1e308, 1.7e308, -1.7e308])
def test_p_is_the_same_at_the_ends_of_the_number_range(scale):
    """An invariant: p knows no scale (for a negative one, X and Y change places)."""
    x, y = np.array([1.0, 0.5, -0.25]), np.array([-1.0, 0.25, -0.5])
    small = exact_p(x, y) if scale > 0 else exact_p(-x, -y)
    assert exact_p(scale * x, scale * y) == small
    assert exact_p(np.array([scale, -scale]), np.array([-scale, scale])).n_splits == 6
