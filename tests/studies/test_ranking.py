"""Order of methods and protocol cosines: hand calculations, a textbook example of Kendall's W, an invariant."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from localbias.errors import BadTable
from localbias.studies.ranking import (
    beside_published,
    concordance,
    protocol_cosines,
    rank_correlation,
    ranking,
    row_cosines,
)


def rows(**languages):
    """language → values of M1, M2, …"""
    return pd.DataFrame(
        [(code, f"M{i + 1}", v) for code, values in languages.items() for i, v in enumerate(values)],
        columns=["language", "method", "rho"],
    )


def test_ranking_by_hand():
    order = ranking(rows(ar=[0.3, 0.1, 0.2], bn=[0.1, 0.2, 0.6]))
    assert list(order.method) == ["M3", "M1", "M2"]
    assert order.rho.tolist() == pytest.approx([0.4, 0.2, 0.15])
    assert order.mean_rank.tolist() == [1.5, 2.0, 2.5]  # M3: 2 and 1, M1: 1 and 3, M2: 3 and 2
    assert order["first"].tolist() == [1, 1, 0]


def test_a_method_twice_is_refused():
    with pytest.raises(BadTable, match="twice"):
        ranking(pd.concat([rows(ar=[1.0]), rows(ar=[2.0])]))


def test_concordance_by_hand():
    """Opposite orders of three: W = 0. Ranks (1,2,3), (1,3,2): sums 2, 5, 5, S = 6, W = 12·6 / (4·24) = 0.75."""
    assert concordance(rows(ar=[3.0, 2.0, 1.0], bn=[1.0, 2.0, 3.0])) == pytest.approx(0)
    assert concordance(rows(ar=[1.0, 2.0, 3.0], bn=[1.0, 3.0, 2.0])) == pytest.approx(0.75)
    assert np.isnan(concordance(rows(ar=[1.0, 2.0])))


def test_beside_published_ranks_what_both_have():
    """Theirs is M10 > M2 > M1 in ar and M10 > M1 > M2 in bn: without M10, which ours lacks, 2 1 and 1 2."""
    m10 = pd.DataFrame({"language": ["ar", "bn"], "method": "M10", "rho": [0.9, 0.7]})
    theirs = pd.concat([rows(ar=[0.1, 0.5], bn=[0.4, 0.2], zz=[9.0, 8.0]), m10])
    both = beside_published(rows(ar=[0.3, 0.1, 0.2], bn=[0.3, 0.1, 0.2]), theirs).set_index("method")
    assert both.loc["M1", ["mean_rank", "mean_rank_published"]].tolist() == [1, 1.5]
    assert both.loc["M2", ["mean_rank", "mean_rank_published"]].tolist() == [2, 1.5], "M3 is ours alone"
    assert both.loc["M3", "rho"] == pytest.approx(0.2) and np.isnan(both.loc["M3", "mean_rank"])
    assert both.loc["M10", "rho_published"] == pytest.approx(0.8) and np.isnan(both.loc["M10", "mean_rank_published"])


def test_a_language_where_theirs_lacks_a_method_is_ranked_without_it():
    theirs = pd.DataFrame({"language": ["ar", "ar", "bn"], "method": ["M1", "M2", "M2"], "rho": [0.1, 0.2, 0.2]})
    both = beside_published(rows(ar=[0.3, 0.1], bn=[0.3, 0.1]), theirs).set_index("method")
    assert both.loc["M2", ["mean_rank", "languages"]].tolist() == [1.5, 2] and both.loc["M1", "languages"] == 1


def test_rank_correlation_by_hand():
    """Squared differences 4 + 1 + 1 + 1 + 1: 1 − 6·8/(5·24) = 0.6; p from Student's t with 3 degrees of freedom."""
    got = rank_correlation(pd.DataFrame({"mean_rank": [1, 2, 3, 4, 5], "mean_rank_published": [3, 1, 2, 5, 4]}))
    assert got["n"] == 5 and got["rho"] == pytest.approx(0.6)
    t = 0.6 * np.sqrt(3 / (1 - 0.36))
    assert got["p"] == pytest.approx(2 * stats.t.sf(t, 3))


def test_row_cosines_are_invariant_to_scale():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 20, 5))
    assert row_cosines(one, other) == pytest.approx(row_cosines(3 * one, other * rng.uniform(0.1, 9, (20, 1))))


@pytest.mark.model
def test_protocols_agree_where_a_word_is_one_piece_and_differ_elsewhere(monkeypatch):
    """A word that WordPiece keeps whole is fed as itself by both protocols: cosine 1."""
    from localbias.studies import ranking
    from localbias.words.lexicon import WordSets

    def made(*words):
        return lambda *_: WordSets(list(words), [], [], [])

    monkeypatch.setattr(ranking, "resolve_dataset", lambda d: d)
    monkeypatch.setattr(ranking, "load_words", made("flower", "love", "war"))
    whole = protocol_cosines(["en"], ["weat1"], "all-minilm-l6-v2", ("M1", "M5", "M8"), progress=False)
    monkeypatch.setattr(ranking, "load_words", made("hydrangea", "caterpillar", "xylophone"))
    cut = protocol_cosines(["en"], ["weat1"], "all-minilm-l6-v2", ("M1", "M5", "M8"), progress=False)
    assert whole.mean_cosine.tolist() == pytest.approx([1, 1, 1], abs=1e-5) and (whole.alike == 1).all()
    assert (cut.mean_cosine < 0.95).all()
