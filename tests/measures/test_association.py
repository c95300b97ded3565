"""s, S′ and d against hand calculation, another formula, and algebra; bad input by name."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from localbias.errors import BadValues, UnknownName
from localbias.measures.association import associations, effect_size, largest_effect_size, test_statistic, unit_vectors
from localbias.measures.weat import weat_test

RNG = np.random.default_rng(20)
NAMES = {"X": ["rose", "lily"], "Y": ["ant", "bee"], "A": ["joy", "love"], "B": ["evil", "ugly"]}


def four_sets(rng, sizes=(6, 5, 7, 4), dim=12, shift=0.5):
    x, y, a, b = (rng.normal(size=(n, dim)) for n in sizes)
    x[:, 0] += shift
    a[:, 0] += shift
    return x, y, a, b


def test_associations_are_differences_of_mean_cosines_taken_by_scipy():
    x, _, a, b = four_sets(RNG)
    expected = (1 - cdist(x, a, "cosine")).mean(axis=1) - (1 - cdist(x, b, "cosine")).mean(axis=1)
    np.testing.assert_allclose(associations(x, a, b), expected, atol=1e-14)


def test_effect_size_by_hand():
    # x = (0.5, 0.3), y = (0.1, -0.1, 0.2): means 0.4 and 0.2/3; all five: mean 0.2, squares .09+.01+.01+.09+0 = .2
    d = effect_size([0.5, 0.3], [0.1, -0.1, 0.2])
    assert d == pytest.approx((0.4 - 0.2 / 3) / np.sqrt(0.2 / 4), rel=1e-14)
    assert test_statistic([0.5, 0.3], [0.1, -0.1, 0.2]) == pytest.approx(1 / 3, rel=1e-14)


def test_a_test_by_hand_in_the_plane():
    # unit vectors at 0, 60 (X), 90, 120 (Y) degrees against A at 0 and 0, B at 90 and 90: s = cos(t) - sin(t)
    angles = np.radians([0, 60, 90, 120, 0, 0, 90, 90])
    v = np.column_stack([np.cos(angles), np.sin(angles)])
    result = weat_test(v[:2], v[2:4], v[4:6], v[6:])
    s = np.array([1.0, 0.5 - np.sqrt(3) / 2, -1.0, -0.5 - np.sqrt(3) / 2])
    assert result.statistic == pytest.approx(s[:2].mean() - s[2:].mean(), rel=1e-12)
    assert result.effect_size == pytest.approx(result.statistic / np.sqrt(((s - s.mean()) ** 2).sum() / 3), rel=1e-12)
    assert result.p_value == pytest.approx(1 / 6)  # the largest two of four: the first of 6 splits
    assert (result.n_x, result.n_y, result.n_a, result.n_b) == (2, 2, 2, 2)


def test_swapping_the_target_sets_negates_d_and_turns_p_over():
    x, y, a, b = four_sets(np.random.default_rng(3), (8, 9, 5, 5))
    one, other = weat_test(x, y, a, b), weat_test(y, x, a, b)
    assert other.effect_size == pytest.approx(-one.effect_size, rel=1e-12)
    assert other.p_value == pytest.approx(1 - one.p_value_strict, abs=1e-12)
    assert other.p_value_two_sided == pytest.approx(one.p_value_two_sided, abs=1e-12)
    assert weat_test(x, y, a, b, "less").p_value == pytest.approx(other.p_value, abs=1e-12)


def test_swapping_the_attribute_sets_negates_d():
    x, y, a, b = four_sets(np.random.default_rng(4))
    assert weat_test(x, y, b, a).effect_size == pytest.approx(-weat_test(x, y, a, b).effect_size, rel=1e-12)


@pytest.mark.parametrize("sizes", [(6, 5, 7, 4), (25, 25, 8, 8)])
def test_scaling_each_vector_changes_nothing(sizes):
    rng = np.random.default_rng(5)
    sets = four_sets(rng, sizes)
    scaled = [v * rng.uniform(1e-6, 1e6, size=(len(v), 1)) for v in sets]
    one, other = weat_test(*sets), weat_test(*scaled)
    assert other.effect_size == pytest.approx(one.effect_size, rel=1e-10)
    assert other.p_value == pytest.approx(one.p_value, rel=1e-9)


def test_tiny_and_huge_vectors_neither_underflow_nor_overflow():
    v = np.array([[3.0, 4.0]])
    for factor in (1e-200, 1e200):
        np.testing.assert_allclose(unit_vectors(v * factor), [[0.6, 0.8]], rtol=1e-14)


def test_float32_vectors_are_computed_in_float64():
    x, y, a, b = (v.astype(np.float32) for v in four_sets(np.random.default_rng(6)))
    exact = weat_test(*(v.astype(np.float64) for v in (x, y, a, b)))
    assert weat_test(x, y, a, b).effect_size == exact.effect_size


def test_identical_vectors_have_no_effect_size_and_all_splits_tie():
    same = np.tile([0.3, 0.4, 0.5], (4, 1))
    result = weat_test(same, same[:3], *four_sets(RNG, dim=3)[2:])
    assert np.isnan(result.effect_size)
    assert (result.p_value, result.p_value_strict, result.method) == (1.0, 0.0, "constant")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("role", "XYAB")
def test_a_vector_that_is_not_finite_is_named_with_its_word_and_set(bad, role):
    sets = {r: np.random.default_rng(i).normal(size=(2, 3)) for i, r in enumerate("XYAB")}
    sets[role][1, 2] = bad
    with pytest.raises(BadValues) as error:
        weat_test(*sets.values(), words=NAMES, where="weat1, zh, M5")
    for part in ("NaN or infinite", f"set {role}", "weat1, zh, M5", f"row 1 {NAMES[role][1]!r}"):
        assert part in str(error.value)


def test_an_all_zero_vector_is_named():
    x, y, a, b = four_sets(RNG)
    a[[0, 3]] = 0
    with pytest.raises(BadValues, match="all zero.*\n.*set A(.|\n)*row 0, row 3"):
        weat_test(x, y, a, b)


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("role", "XYAB")
def test_an_empty_or_one_word_set_is_named(least, role):
    sets = {r: np.random.default_rng(i).normal(size=(3, 3)) for i, r in enumerate("XYAB")}
    sets[role] = sets[role][:least]
    with pytest.raises(BadValues) as error:
        weat_test(*sets.values(), words={role: ["rose"][:least]}, where="weat2, th")
    assert f"set {role}, weat2, th" in str(error.value) and f"got: {least}" in str(error.value)
    assert ("rose" in str(error.value)) == bool(least)


def test_differing_dimensions_are_named():
    x, y, a, b = four_sets(RNG)
    with pytest.raises(BadValues, match="X: 12, Y: 12, A: 12, B: 5"):
        weat_test(x, y, a, b[:, :5], where="weat1, zh")
    with pytest.raises(BadValues, match="targets: 12, A: 12, B: 5"):
        associations(x, a, b[:, :5])


def test_a_single_vector_is_not_a_table():
    x, y, a, b = four_sets(RNG)
    with pytest.raises(BadValues, match="set Y(.|\n)*shape"):
        weat_test(x, y[0], a, b)


def test_an_unknown_alternative_is_an_error_that_offers_the_nearest():
    with pytest.raises(UnknownName, match="did you mean greater"):
        weat_test(*four_sets(RNG), alternative="grater")


@pytest.mark.parametrize("values", [[], [0.1, np.nan], [[0.1, 0.2]]])
def test_associations_that_give_no_result_are_refused(values):
    for function in (effect_size, test_statistic):
        with pytest.raises(BadValues, match="set Y"):
            function([0.1, 0.2], values)


@pytest.mark.parametrize(("n_x", "n_y"), [(1, 1), (1, 4), (2, 2), (2, 8), (3, 5), (8, 15)])
def test_no_d_exceeds_the_bound_of_the_sizes_and_the_bound_is_reached(n_x, n_y):
    """Brute force: every split of 0s and 1s over the words, and random associations; by hand 2 + 8: √(90/16)."""
    bound = largest_effect_size(n_x, n_y)
    ones = np.array(np.meshgrid(*[[0.0, 1.0]] * min(n_x + n_y, 12), indexing="ij")).reshape(min(n_x + n_y, 12), -1).T
    rows = np.hstack([ones, np.zeros((len(ones), n_x + n_y - ones.shape[1]))])
    rows = np.vstack([rows, RNG.normal(size=(2000, n_x + n_y)), RNG.exponential(size=(2000, n_x + n_y))])
    found = np.array([effect_size(row[:n_x], row[n_x:]) for row in rows if np.ptp(row) > 0])
    assert np.abs(found).max() <= bound * (1 + 1e-12)
    assert effect_size(np.ones(n_x), np.zeros(n_y)) == pytest.approx(bound, rel=1e-12)
    assert (bound > 2) == ((n_x - n_y) ** 2 > n_x + n_y)
    assert largest_effect_size(2, 8) == pytest.approx(np.sqrt(90 / 16))
    with pytest.raises(BadValues, match="an empty set"):
        largest_effect_size(0, 3)
