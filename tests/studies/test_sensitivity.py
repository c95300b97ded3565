"""ρ against hand calculation, numpy's own variance, and algebra."""

import numpy as np
import pandas as pd
import pytest

import localbias.studies.sensitivity as heuristic
from localbias.errors import BadValues, UnknownName
from localbias.measures.sensitivity import distance_variance, sensitivity
from localbias.models.encoder import Seen
from localbias.studies.sensitivity import run_sensitivity, summary


def test_variance_by_hand():
    # 0°, 90°, 180°: distances 1, 2, 1 → mean 4/3, variance (1/9 + 4/9 + 1/9) / 3 = 2/9
    assert distance_variance(np.array([[1.0, 0], [0, 3], [-2, 0]])) == pytest.approx(2 / 9, rel=1e-12)


def test_variance_from_the_matrix_of_cosines():
    v = np.random.default_rng(1).normal(size=(9, 5))
    u = v / np.linalg.norm(v, axis=1, keepdims=True)
    distances = 1 - (u @ u.T)[np.triu_indices(9, 1)]
    assert distance_variance(v) == pytest.approx(np.var(distances, ddof=0), rel=1e-10)


def test_rho_is_the_mean_over_the_sets():
    rng = np.random.default_rng(2)
    sets = [rng.normal(size=(n, 4)) for n in (3, 4, 5, 6)]
    assert sensitivity(sets) == pytest.approx(np.mean([distance_variance(v) for v in sets]))
    assert sensitivity(dict(zip("XYAB", sets, strict=True))) == sensitivity(sets)


def test_scaling_and_turning_all_vectors_changes_nothing():
    rng = np.random.default_rng(3)
    v = rng.normal(size=(8, 6))
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    assert distance_variance(v * rng.uniform(0.1, 9, (8, 1)) @ turn) == pytest.approx(distance_variance(v), rel=1e-10)


def test_two_words_and_identical_words_have_no_variance():
    assert distance_variance(np.array([[1.0, 0], [0, 1]])) == 0.0
    assert distance_variance(np.ones((5, 3))) == pytest.approx(0.0, abs=1e-30)


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.ones((1, 3)), "no pair"),
        (np.ones(3), "no pair"),
        (np.array([[1.0, np.nan], [1, 2]]), "rows 0"),
        (np.array([[1.0, 1], [0, 0]]), "rows 1"),
    ],
)
def test_sets_without_a_variance_are_refused_by_name(bad, message):
    good = np.random.default_rng(0).normal(size=(4, 2))
    with pytest.raises(BadValues, match=f"{message}|{message}"):
        distance_variance(bad)
    with pytest.raises(BadValues, match="set B"):
        sensitivity([good, good, good, bad])


class TwoMethods:
    """M1 spreads its words, M5 gives them all nearly one direction; "lost" has no vector."""

    methods, model, revision, weights, protocol = ("M1", "M5"), "m", "r", "float32", "in-context"
    read_as = "as known"

    def __init__(self, model, **_):
        pass

    def look(self, words, language):
        return {word: Seen({"": word, "M1": word[:-1]}) for word in words}

    def doubts(self, language):
        return [f"no model for {language}"]

    def encode(self, words, methods, language):
        rng = np.random.default_rng(4)
        spread = rng.normal(size=(len(words), 8)).astype(np.float32)
        spread[[w == "lost" for w in words]] = np.nan
        return {code: {"M1": spread, "M5": spread * 0.01 + 1}[code] for code in methods}


@pytest.fixture
def lexicon(tmp_path, monkeypatch):
    monkeypatch.setattr(heuristic, "Encoder", TwoMethods)
    rows = [
        ("mine", "en", "user", test, role, role, i, f"{test}{role}{i}")
        for test in ("weat1", "weat2")
        for role in "XYAB"
        for i in range(1, 6)
    ]
    names = ["dataset", "language", "variant", "test", "role", "category", "position", "word"]
    table = pd.DataFrame(rows, columns=names)
    table.loc[0, "word"] = "lost"
    table.to_csv(tmp_path / "mine.csv", index=False)
    return str(tmp_path / "mine.csv")


def test_a_table_has_a_row_for_each_language_test_and_method(lexicon):
    got = run_sensitivity(["en"], ["weat1", "weat2"], "m", dataset=lexicon, progress=False)
    assert list(zip(got["test"], got["method"], strict=True)) == [
        ("weat1", "M1"),
        ("weat2", "M1"),
        ("weat1", "M5"),
        ("weat2", "M5"),
    ]
    np.testing.assert_allclose(got["rho"], got[["rho_x", "rho_y", "rho_a", "rho_b"]].mean(axis=1))
    assert got["coverage"].tolist() == [0.95, 1.0, 0.95, 1.0]
    assert set(got["read_as"]) == {"as known"} and got["in_vocabulary"].isna().all()
    assert got["flags"].str.startswith("no model for en").all()
    assert ("5 in Y not told apart" in got["flags"][0]) and "told apart" not in got["flags"][2]  # M1 and M5 of weat1
    best = summary(got)
    assert best.loc[best["best"], "method"].tolist() == ["M1"] and set(best["tests"]) == {2}


def test_an_unknown_method_is_an_error(lexicon):
    with pytest.raises(UnknownName, match="M7"):
        run_sensitivity(["en"], ["weat1"], "m", ("M7",), dataset=lexicon, progress=False)


def test_all_languages_and_a_family_of_tests_are_those_of_ones_own_list(lexicon, tmp_path):
    """A language that the registry lacks counts, as it does for the association tests."""
    table = pd.read_csv(lexicon).assign(language="is")
    table.to_csv(tmp_path / "own.csv", index=False)
    got = run_sensitivity("all", "original", "m", ("M1",), dataset=str(tmp_path / "own.csv"), progress=False)
    assert got["language"].tolist() == ["is", "is"] and got["test"].tolist() == ["weat1", "weat2"]
