"""Intervals against scipy.stats.bootstrap and jackknife by hand; adjustments against published examples."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from localbias.errors import BadValues, UnknownName
from localbias.measures.adjust import adjust, paper_rule, paper_rule_level
from localbias.measures.intervals import bootstrap_effect_sizes, difference_interval, effect_size_interval
from localbias.measures.permutation import exact_p


def four_sets(seed, sizes=(9, 8, 7, 10), dim=10, shift=0.8):
    rng = np.random.default_rng(seed)
    x, y, a, b = (rng.normal(size=(n, dim)) for n in sizes)
    x[:, 0] += shift
    a[:, 0] += shift
    return x, y, a, b


def plain_d(x, y, a, b):
    """d by scipy distances, one resample at a time."""
    s = [(1 - cdist(t, a, "cosine")).mean(axis=1) - (1 - cdist(t, b, "cosine")).mean(axis=1) for t in (x, y)]
    return (s[0].mean() - s[1].mean()) / np.concatenate(s).std(ddof=1)


def test_each_draw_is_d_of_the_drawn_words():
    sets = four_sets(1)
    draws = bootstrap_effect_sizes(*sets, n_resamples=50, seed=7)
    streams = [np.random.default_rng([7, which]) for which in range(4)]  # as documented
    chosen = [rng.integers(len(v), size=(50, len(v))) for v, rng in zip(sets, streams, strict=True)]
    expected = [plain_d(*(v[c[i]] for v, c in zip(sets, chosen, strict=True))) for i in range(50)]
    np.testing.assert_allclose(draws, expected, rtol=1e-9)


@pytest.mark.parametrize("ours, theirs", [("bca", "BCa"), ("percentile", "percentile")])
def test_intervals_agree_with_scipy_within_the_noise_of_drawing(ours, theirs):
    sets = four_sets(2)

    def statistic(*rows):
        return plain_d(*(v[r.astype(int)] for v, r in zip(sets, rows, strict=True)))

    rows = tuple(np.arange(len(v)) for v in sets)
    expected = stats.bootstrap(
        rows, statistic, n_resamples=3000, method=theirs, vectorized=False, paired=False, rng=np.random.default_rng(5)
    ).confidence_interval
    low, high = effect_size_interval(*sets, n_resamples=20_000, seed=3, method=ours)
    sd = bootstrap_effect_sizes(*sets, n_resamples=3000, seed=1).std()
    assert abs(low - expected.low) < 0.2 * sd and abs(high - expected.high) < 0.2 * sd


def test_bca_uses_scipys_acceleration():
    # with a huge number of draws both have the same bias; the jackknife part is compared exactly
    from localbias.measures.association import unit_sets
    from localbias.measures.intervals import _Cosines

    x, y, a, b = sets = four_sets(3)
    ux, uy, ua, ub = unit_sets(*sets)
    left_out = _Cosines(np.vstack([ux, uy]), ua, ub, len(ux)).left_out()
    for which, values in enumerate(left_out):
        for i, value in enumerate(values):
            fewer = [np.delete(v, i, axis=0) if k == which else v for k, v in enumerate(sets)]
            assert value == pytest.approx(plain_d(*fewer), rel=1e-9)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    sets = four_sets(4)
    assert effect_size_interval(*sets, seed=1) == effect_size_interval(*sets, seed=1)
    assert effect_size_interval(*sets, seed=1) != effect_size_interval(*sets, seed=2)


def test_a_higher_level_gives_a_wider_interval():
    sets = four_sets(5)
    for method in ("bca", "percentile"):
        (l90, h90), (l99, h99) = (effect_size_interval(*sets, level=v, method=method) for v in (0.9, 0.99))
        assert l99 < l90 < h90 < h99


def test_swapping_targets_mirrors_the_percentile_interval_of_mirrored_draws():
    x, y, a, b = four_sets(6, (8, 8, 6, 6))
    low, high = effect_size_interval(x, y, a, b, method="percentile", n_resamples=20_000)
    other_low, other_high = effect_size_interval(y, x, a, b, method="percentile", n_resamples=20_000)
    assert other_low == pytest.approx(-high, abs=0.05) and other_high == pytest.approx(-low, abs=0.05)


def test_identical_vectors_have_no_interval():
    same = np.tile([0.3, 0.4, 0.5], (4, 1))
    a, b = np.random.default_rng(1).normal(size=(2, 5, 3))
    assert np.isnan(effect_size_interval(same, same, a, b)).all()


def test_two_word_sets_still_have_an_interval():
    low, high = effect_size_interval(*four_sets(7, (3, 3, 2, 2)))
    assert np.isfinite([low, high]).all() and low < high


@pytest.mark.parametrize("bad", [{"level": 1.0}, {"level": 0.0}, {"n_resamples": 0}])
def test_impossible_parameters_are_named(bad):
    with pytest.raises(BadValues, match="n_resamples"):
        effect_size_interval(*four_sets(8), **bad)


def test_an_unknown_interval_or_adjustment_is_an_error():
    with pytest.raises(UnknownName, match="did you mean bca"):
        effect_size_interval(*four_sets(8), method="bcaa")
    with pytest.raises(UnknownName, match="adjustment"):
        adjust(np.array([0.1]), "bonferroni-ish")


def test_nan_vectors_are_refused_by_the_interval_too():
    x, y, a, b = four_sets(9)
    y[2, 1] = np.nan
    with pytest.raises(BadValues, match="set Y"):
        effect_size_interval(x, y, a, b)


# Benjamini and Hochberg (1995), section 4.1: fifteen p-values, of which the procedure rejects the
# first four at 0.05 and Bonferroni-type procedures (Holm too) the first three.
BH_1995 = np.array(
    [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0000,
    ]
)


def test_adjustments_reject_what_benjamini_and_hochberg_report():
    order = np.random.default_rng(0).permutation(15)
    assert (adjust(BH_1995[order]) < 0.05).sum() == 4
    assert (adjust(BH_1995[order], "holm") < 0.05).sum() == 3
    np.testing.assert_allclose(adjust(BH_1995)[:4], BH_1995[:4] * 15 / np.arange(1, 5))  # by the formula


def test_holm_by_hand():
    # sorted .01 .02 .03 .2 times 4 3 2 1: .04 .06 .06 .2 (made non-decreasing)
    np.testing.assert_allclose(adjust(np.array([0.2, 0.03, 0.01, 0.02]), "holm"), [0.2, 0.06, 0.04, 0.06])


def test_tests_that_were_not_made_do_not_count():
    p = np.array([0.01, np.nan, 0.04, 0.03])
    for method in ("bh", "holm"):
        got = adjust(p, method)
        assert np.isnan(got[1])
        np.testing.assert_allclose(got[[0, 2, 3]], adjust(p[[0, 2, 3]], method))
    assert np.isnan(adjust(np.array([np.nan]))).all()


def test_adjusting_values_that_are_no_probabilities_is_refused():
    with pytest.raises(BadValues, match="1.2"):
        adjust(np.array([0.1, 1.2]))


def test_the_papers_rule():
    p, d = np.array([0.049, 0.05, 0.951, 0.951, 0.5]), np.array([1.0, 1.0, -1.0, 0.1, 0.0])
    assert paper_rule(p, d).tolist() == [True, False, True, False, False]


def test_the_papers_rule_rejects_twice_as_often_as_it_says():
    # by simulation under exchangeability, with exact p of 6 + 6 (924 splits)
    rng = np.random.default_rng(2)
    hits = []
    for v in rng.normal(size=(1000, 12)):
        p = exact_p(v[:6], v[6:])
        hits.append(paper_rule(p.above.value, v[:6].mean() - v[6:].mean()))
    level = paper_rule_level(6, 6)
    assert level == pytest.approx(0.1, abs=0.002)
    assert abs(np.mean(hits) - level) < 4 * np.sqrt(level * (1 - level) / 1000)


def test_the_papers_rule_with_few_splits_by_counting():
    # 2 + 3: ten splits, paper's p 0, .1, …, .9: only 0 is below .05, none above .95
    assert paper_rule_level(2, 3) == 0.1
    # 4 + 4: seventy: k/70 < .05 for k = 0 … 3, k/70 > .95 for k = 67, 68, 69
    assert paper_rule_level(4, 4) == pytest.approx(7 / 70)


def two_models(seed, noise, sizes=(9, 8, 7, 10)):
    """The same words by two models: the second's vectors are the first's with noise."""
    one, rng = four_sets(seed, sizes), np.random.default_rng(seed + 100)
    return one, tuple(v + noise * rng.normal(size=v.shape) for v in one)


@pytest.mark.parametrize("ours, theirs", [("bca", "BCa"), ("percentile", "percentile")])
def test_the_interval_of_a_difference_is_scipys_with_the_words_drawn_for_both_models(ours, theirs):
    one, other = two_models(8, 0.7)

    def statistic(*rows):
        first, second = (plain_d(*(v[r.astype(int)] for v, r in zip(sets, rows, strict=True))) for sets in (one, other))
        return second - first

    rows = tuple(np.arange(len(v)) for v in one)
    expected = stats.bootstrap(
        rows, statistic, n_resamples=3000, method=theirs, vectorized=False, paired=False, rng=np.random.default_rng(5)
    ).confidence_interval
    low, high = difference_interval(one, other, n_resamples=20_000, seed=3, method=ours)
    sd = (bootstrap_effect_sizes(*other, seed=1) - bootstrap_effect_sizes(*one, seed=1)).std()
    assert abs(low - expected.low) < 0.2 * sd and abs(high - expected.high) < 0.2 * sd


def test_two_models_that_nearly_agree_differ_by_little_however_wide_their_own_intervals():
    one, other = two_models(9, 0.001)
    low, high = difference_interval(one, other)
    own = effect_size_interval(*one)
    assert high - low < 0.01 < 0.5 < own[1] - own[0]
    assert difference_interval(one, tuple(3 * v for v in one), method="percentile") == pytest.approx((0, 0), abs=1e-9)


def test_exchanging_the_models_mirrors_the_percentile_interval():
    one, other = two_models(10, 0.7)
    low, high = difference_interval(one, other, method="percentile")
    assert difference_interval(other, one, method="percentile") == pytest.approx((-high, -low))


def test_models_that_keep_other_words_are_not_compared():
    one, other = two_models(11, 0.1)
    with pytest.raises(BadValues, match="same words"):
        difference_interval(one, (other[0][1:], *other[1:]))


def test_a_negative_seed_is_named():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(8, 4)) for _ in range(4)]
    with pytest.raises(BadValues, match="no interval can be made"):
        effect_size_interval(*sets, seed=-1)
