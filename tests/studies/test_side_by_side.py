"""Tables side by side against joins and counts made by hand, scipy, and the authors' files read directly."""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_weat import KnownEncoder

import localbias.studies.weat as run
from localbias.errors import BadTable, UnknownName
from localbias.measures.weat import weat_test
from localbias.studies import comparisons, effects, summary
from localbias.studies import side_by_side as compare
from localbias.studies.weat import judged


def results(rows):
    """A result table from (language, test, variant, model, method, d, q) rows."""
    names = ["language", "test", "variant", "model", "method", "effect_size", "q_value"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(
        dataset="weathub",
        protocol="in-context",
        clean=False,
        n_x=8,
        n_y=8,
        ci_low=table["effect_size"] - 0.5,
        ci_high=table["effect_size"] + 0.7,
        p_two_sided=table["q_value"],
        significant_q=table["q_value"] < 0.05,
        significant_paper=table["q_value"] < 0.1,
        flags="",
    )


TWO = results(
    [
        ("zh", "weat1", "gt", "m", "M5", 1.0, 0.01),
        ("zh", "weat2", "gt", "m", "M5", -0.2, 0.9),
        ("th", "weat1", "gt", "m", "M5", 0.5, 0.2),
        ("th", "weat2", "gt", "m", "M5", np.nan, np.nan),
        ("zh", "weat1", "human", "m", "M5", 1.0, 0.01),
        ("zh", "weat2", "human", "m", "M5", 0.3, 0.6),
        ("th", "weat1", "human", "m", "M5", 1.4, 0.001),
        ("th", "weat2", "human", "m", "M5", 0.1, 0.5),
    ]
)


def test_pairs_join_what_both_sides_have():
    pairs = compare.side_by_side(TWO, "variant", "gt", "human")
    got = pairs.set_index(["language", "test"])["difference"].to_dict()
    assert got == {("zh", "weat1"): 0.0, ("zh", "weat2"): pytest.approx(0.5), ("th", "weat1"): pytest.approx(0.9)}
    assert pairs["sign_differs"].tolist() == [False, True, False]
    assert pairs["significance_differs"].tolist() == [False, False, True]


def test_changes_count_and_name_the_largest():
    pairs = compare.labelled(compare.side_by_side(TWO, "variant", "gt", "human"))
    assert (len(pairs), pairs["sign_differs"].sum(), pairs["significance_differs"].sum()) == (3, 1, 1)
    assert compare.moved(pairs)["difference"].tolist() == pytest.approx([0.9, 0.5]), "one of three is the same"
    assert compare.agreement(pairs["effect_size_one"], pairs["effect_size_other"])["mean_absolute"] == pytest.approx(
        1.4 / 3
    )
    names = ["language_name", "test_label", "effect_size_one", "effect_size_other"]
    assert compare.farthest(pairs)[names].tolist() == ["Thai", "WEAT 1", 0.5, 1.4]
    with pytest.raises(BadTable, match="no pair"):
        compare.farthest(pairs.iloc[:0])


def test_rounding_is_no_change_and_gives_no_sign():
    table = results(
        [
            ("zh", "weat1", "gt", "m", "M5", 0.3, 0.5),
            ("zh", "weat2", "gt", "m", "M5", -1e-16, 1.0),
            ("th", "weat1", "gt", "m", "M5", 0.5, 0.5),
            ("zh", "weat1", "human", "m", "M5", 0.1 + 0.2, 0.5),
            ("zh", "weat2", "human", "m", "M5", 1e-16, 1.0),
            ("th", "weat1", "human", "m", "M5", 0.5 + 1e-6, 0.5),
        ]
    )
    pairs = compare.side_by_side(table, "variant", "gt", "human")
    assert (pairs["difference"] != 0).sum() == 3, "float noise is there"
    assert (len(pairs), len(compare.moved(pairs)), pairs["sign_differs"].sum()) == (3, 1, 0)
    assert compare.agreement(pairs["effect_size_one"], pairs["effect_size_other"])["same_sign"] == 1


def test_ties_are_named_together():
    def clause(**significant):
        rows = [
            ("zh", test, "all", "m", "M5", 0.5, 0.01 if i < n else 0.9)
            for test, n in significant.items()
            for i in range(3)
        ]
        return summary.most_and_least(compare.labelled(results(rows)))

    assert clause(weat1=3, weat2=1, weat6=2, weat7=1) == "WEAT 1 is significant in 3 languages, WEAT 2 and WEAT 7 in 1"
    assert clause(weat13=0, weat2=2, weat12=2, weat9=0, weat11=0) == (
        "WEAT 2 and WEAT 12 are significant in 2 languages, WEAT 9, WEAT 11 and WEAT 13 in none"
    )
    assert clause(weat1=0, weat2=0) == "no test is significant in any language"
    assert clause(weat1=1, weat2=1) == "WEAT 1 and WEAT 2 are significant in 1 language"


def test_what_set_sizes_allow_follows_from_the_rows():
    """6 + 6 allow 2/924 = 0.0022: enough for one test at 0.05, not for 24 by Holm; 10 + 10 allow 2/184,756."""
    rows = results([("zh", "weat1", "all", "m", "M5", 0.5, 0.5), ("th", "weat1", "all", "m", "M5", 0.4, 0.5)])
    rows = rows.assign(p_strict=0.2, n_x=[6, 10], n_y=[6, 10], p_min=[2 / 924, 2 / 184_756], statistic=0.1)
    few = summary.size_limits(judged(rows))
    assert few.startswith("X and Y of 6 and 6 words") and "2.2e−03" in few and few.endswith("can pass Holm among 2.")
    many = judged(compare.together(*[rows.assign(language=f"l{i}") for i in range(12)]))
    assert "Of 24 rows 12 could not on their own pass Holm among 24 tests" in summary.size_limits(many)
    assert summary.size_limits(many[many["n_x"] == 10]).endswith("every test can pass Holm among 24.")


def test_models_are_compared_by_the_words_that_both_have(tmp_path, monkeypatch):
    class Models(KnownEncoder):
        lost = frozenset()

        def __init__(self, model, **_):
            super().__init__(model)
            self.lost = frozenset({"lily"} if model == "static" else ())
            self.read = {"elm": "oak"} if model == "static" else {}

        def _vector(self, key, word):
            return super()._vector(key if self.model != "twin" else key.replace("M8", "M5"), word)

    sets = {
        "X": ["rose", "lily", "elm", "oak"],
        "Y": ["ant", "bee", "wasp", "fly"],
        "A": ["joy", "love", "hope"],
        "B": ["evil", "ugly", "war"],
    }
    path = tmp_path / "mine.csv"
    pd.DataFrame(
        [("en", "weat1", r, w) for r, words in sets.items() for w in words],
        columns=["language", "test", "role", "word"],
    ).to_csv(path, index=False)
    for module in (run, comparisons):
        monkeypatch.setattr(module, "Encoder", Models)
    keywords = {"dataset": str(path), "n_resamples": 50, "progress": False}
    table = comparisons.run_models(["en"], ["weat1"], "big", ["twin", "static"], ("M5", "M10"), **keywords)
    got = comparisons.paired_differences(compare.against(table), str(path), n_resamples=200).set_index("other")
    assert got[["words", "words_left"]].to_numpy().tolist() == [[14, 0], [13, 1]]
    assert got.loc["twin", ["change", "low", "high"]].tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    assert not got.loc["twin", "apart"] and got.loc["twin", "effect_shared_one"] == got.loc["twin", "effect_size_one"]
    arrays = [KnownEncoder().encode([w for w in words if w != "lily"])["M5"] for words in sets.values()]
    assert got.loc["static", "effect_shared_one"] == pytest.approx(weat_test(*arrays).effect_size)
    assert got.loc["static", "effect_shared_other"] == pytest.approx(got.loc["static", "effect_size_other"])
    # cleaned lists leave out, for both models, the oak that one of them cannot tell from the elm
    table = comparisons.run_models(["en"], ["weat1"], "big", ["twin", "static"], ("M5", "M10"), clean=True, **keywords)
    assert table.set_index("model")["n_x"].to_dict() == {"big": 4, "twin": 4, "static": 2}
    cleaned = comparisons.paired_differences(compare.against(table), str(path), n_resamples=200).set_index("other")
    assert cleaned[["words", "words_left"]].to_numpy().tolist() == [[14, 0], [12, 1]]


def test_a_missing_or_doubled_side_is_an_error():
    with pytest.raises(BadTable, match="no row(.|\n)*variant = all"):
        compare.side_by_side(TWO, "variant", "gt", "all")
    with pytest.raises(BadTable, match="several rows"):
        compare.side_by_side(compare.together(TWO, TWO), "variant", "gt", "human")


def test_the_long_form_has_each_side_once():
    pairs = compare.side_by_side(TWO, "variant", "gt", "human")
    table = compare.long_form(pairs, ["machine", "person"])
    assert table.groupby("side")["effect_size"].apply(list).to_dict() == {
        "machine": [1.0, -0.2, 0.5],
        "person": [1.0, 0.3, 1.4],
    }
    top = compare.largest(pairs, 1, ["machine", "person"])
    assert set(top["label"]) == {"Thai, WEAT 1"} and len(top) == 2


def test_agreement_is_scipys():
    rng = np.random.default_rng(0)
    a = pd.Series([*rng.normal(size=20), np.nan])
    b = pd.Series([*(a[:20] * 0.5 + rng.normal(size=20)), 1.0])
    got = compare.agreement(a, b)
    assert got["n"] == 20 and got["pearson"] == pytest.approx(np.corrcoef(a[:20], b[:20])[0, 1])
    assert got["spearman"] == pytest.approx(stats.spearmanr(a[:20], b[:20]).statistic)
    z, half = np.arctanh(got["pearson"]), stats.norm.ppf(0.975) / np.sqrt(17)
    assert (got["pearson_low"], got["pearson_high"]) == pytest.approx((np.tanh(z - half), np.tanh(z + half)))
    assert got["mean_absolute"] == pytest.approx((b - a).abs().mean())
    assert np.isnan(compare.agreement(a[:2], b[:2])["pearson"])
    assert np.isnan(compare.agreement(a[20:], b[20:])["same_sign"])


def test_one_study_holds_what_its_pages_show(monkeypatch):
    """Numbers of TWO, by hand; the second run has the other kind of lists, on which Chinese WEAT 2 moves by 0.5."""

    def fake(codes, tests, model, methods, variant, dataset, clean, **_):
        table = compare.only(TWO, variant="gt").assign(clean=clean, p_min=1.6e-4, family_size=3)
        return table.assign(effect_size=table["effect_size"] + 0.5 * (clean & (table["test"] == "weat2")))

    monkeypatch.setattr(effects, "run_weat", fake)
    study = effects.effects(["zh", "th"], ["weat1", "weat2"])
    ranked = study.ranked
    assert (study.method, len(study.shown), len(ranked), ranked["significant_q"].sum()) == ("M5", 4, 3, 1)
    assert ranked["effect_size"].tolist() == [1.0, 0.5, -0.2], "the highest first, and those that were computed"
    assert summary.most_and_least(ranked) == "WEAT 1 is significant in 1 language, WEAT 2 in none"
    assert (ranked["ci_high"] - ranked["ci_low"]).median() == pytest.approx(1.2)
    assert summary.paper_level(ranked) == pytest.approx(0.1, abs=1e-3)
    assert study.by_test["test_label"].tolist() == ["WEAT 1", "WEAT 2"]
    assert study.by_test["tests"].tolist() == [2, 1]
    assert compare.moved(study.cleaned)[["language", "test", "difference"]].to_numpy().tolist() == [
        ["zh", "weat2", 0.5]
    ]
    again = effects.effects(["zh", "th"], ["weat1", "weat2"], clean=True)
    assert compare.moved(again.cleaned)["difference"].tolist() == [0.5], "as published is one, clean the other"
    monkeypatch.setattr(effects, "run_weat", lambda *_, **__: TWO.iloc[[3]])
    with pytest.raises(BadTable, match="no effect"):
        effects.effects(["th"], ["weat2"])


def test_only_offers_the_nearest_value():
    with pytest.raises(UnknownName, match="did you mean weat1"):
        compare.only(TWO, test="waet1")


def test_labels_follow_names_and_numbers():
    table = compare.labelled(TWO.iloc[[2, 1, 0]])
    assert table["language_name"].tolist() == ["Chinese", "Chinese", "Thai"]
    assert table["test_label"].tolist() == ["WEAT 1", "WEAT 2", "WEAT 1"]
    ordered = compare.in_test_order(compare.labelled(TWO.iloc[[2, 1, 0]].assign(model="all-minilm-l6-v2")))
    assert ordered["row_label"].tolist() == ["Chinese: WEAT 1", "Thai: WEAT 1", "Chinese: WEAT 2"]
    assert set(ordered["series"]) == {"MiniLM-L6 v2"}


def test_models_are_paired_with_the_reference_whatever_their_method():
    table = results(
        [
            ("en", "weat1", "all", "big", "M5", 1.0, 0.01),
            ("en", "weat1", "all", "small", "M5", 0.4, 0.3),
            ("en", "weat1", "all", "static", "M10", 1.2, 0.01),
        ]
    )
    table["kind"] = ["multilingual", "monolingual", "monolingual"]
    pairs = compare.against(table)
    assert pairs["other_title"].tolist() == ["small", "static"] and pairs["method"].tolist() == ["M5", "M10"]
    assert pairs["difference"].tolist() == [pytest.approx(-0.6), pytest.approx(0.2)]
    with pytest.raises(BadTable, match="no other model"):
        compare.against(table.iloc[:1])


def test_tests_with_the_same_targets_are_paired():
    effects = {("zh", "weat12"): 0.1, ("zh", "weat12b"): 0.6, ("th", "weat12"): 0.2, ("th", "weat12b"): 0.1}
    table = results([(*key, "new", "m", "M5", d, 0.5) for key, d in effects.items()])
    pairs = compare.attribute_pairs(table, [["weat12", "weat12b"], []])
    assert set(pairs["test_label"]) == {"WEAT 12 and 12b"}
    assert pairs.set_index("language")["difference"].round(9).to_dict() == {"zh": 0.5, "th": -0.1}


def test_flags_are_counted_by_meaning():
    table = pd.DataFrame({"flags": ["2 repeated in X; 1 repeated in Y", "", "small sets (X 6); 1 repeated in A", None]})
    got = summary.flag_counts(table).set_index("flag")
    assert got.loc["a word stands twice in a set", ["rows", "share"]].tolist() == [2, 0.5]
    assert got.loc["a set has fewer than eight words with a vector", "rows"] == 1


def test_each_languages_own_models_make_one_family(monkeypatch):
    asked = []

    def fake(codes, tests, model, methods, **_):
        asked.append((tuple(codes), model))
        rows = results([(c, "weat1", "all", model, "M5", 0.5, np.nan) for c in codes])
        rows = rows.assign(p_two_sided=0.03, p_strict=0.015, p_min=0.001, statistic=0.1)
        return judged(rows.assign(flags=[[] for _ in range(len(rows))]))

    monkeypatch.setattr(comparisons, "run_weat", fake)
    monkeypatch.setattr(comparisons, "Encoder", KnownEncoder)
    got = comparisons.run_models(["th", "zh"], ["weat1"], "multi", methods=("M5",))
    assert asked == [(("th", "zh"), "multi"), (("th",), "monsoon-nlp/bert-base-thai"), (("zh",), "bert-base-chinese")]
    assert got.groupby("kind")["family_size"].unique().map(list).to_dict() == {"monolingual": [2], "multilingual": [2]}
    with pytest.raises(BadTable, match="no monolingual model(.|\n)*fr"):
        comparisons.run_models(["fr"], ["weat1"], "multi")


@pytest.mark.mirror
def test_the_authors_numbers_stand_beside_ours(mirror, monkeypatch):
    monkeypatch.setattr(run, "Encoder", KnownEncoder)
    ours = run.run_weat(["zh", "th"], ["weat1", "weat9"], "known", ("M5",), n_resamples=0, progress=False)
    beside = compare.beside_published(ours)
    file = mirror / "weathub/final_results/results-csv/sheet1/distilbert/zh_results.csv"
    with open(file, encoding="utf-8-sig", newline="") as handle:
        row = next(
            r
            for r in csv.DictReader(handle)
            if r["DataSource"] == "ALL" and r["Method"].endswith("avg-all-hidden-subword-avg")
        )
    got = beside.set_index(["language", "test"]).loc[("zh", "weat9")]
    assert f"{got['d_published']:.3f} ({got['p_published']:.3f})" == row["weat9"]
    assert len(beside) == 4 and got["difference"] == pytest.approx(got["effect_size"] - got["d_published"])


def test_without_published_results_nothing_stands_beside_ours(monkeypatch):
    monkeypatch.setattr(compare.sources, "available", lambda prefix: False)
    assert compare.beside_published(TWO).empty


@pytest.mark.mirror
def test_translations_have_three_arms_and_the_starter_alone_one(monkeypatch):
    monkeypatch.setattr(run, "Encoder", KnownEncoder)
    keywords = {"methods": ("M5",), "n_resamples": 0, "progress": False}
    three = comparisons.run_translations(["hi"], ["weat6"], "known", **keywords)
    assert three["arm"].tolist() == list(comparisons.TRANSLATIONS.values())
    one = comparisons.run_translations(["hi"], ["weat6"], "known", dataset="starter", **keywords)
    assert one["arm"].tolist() == ["written by a language model"]


def test_what_cleaning_moves_by_more_than_rounding():
    effect = pd.DataFrame(
        {
            "language": ["zh", "es", "es"],
            "test": ["weat1", "weat2", "weat1"],
            "d_before": [1.0, -0.2, 0.5],
            "d_after": [0.9, 0.3, float("nan")],
            "change": [-0.1, 0.5, float("nan")],
            "flipped": [False, True, False],
            "undefined": [False, False, True],
        }
    )
    moved = compare.moved(compare.named(effect), "change")
    names = ["language_name", "test_label", "d_before", "d_after"]
    assert len(moved) == 2 and moved.iloc[0][names].tolist() == ["Spanish", "WEAT 2", -0.2, 0.3]
    assert compare.moved(effect.assign(change=0.0), "change").empty
    assert len(compare.moved(effect.assign(change=[0.1 + 0.2 - 0.3, 0.5, 1e-16]), "change")) == 1


def test_pairs_of_several_methods_have_a_label_each():
    """A heat map of test × pair has one value a cell, whatever number of methods."""
    base = {"dataset": "d", "language": "th", "variant": "all", "protocol": "p", "clean": False, "effect_size": 0.5}
    base |= dict.fromkeys(("ci_low", "ci_high", "p_two_sided", "q_value"), 0.1) | {"significant_q": False, "flags": ""}
    models = (("one", "multilingual"), ("monsoon-nlp/bert-base-thai", "monolingual"))
    rows = [
        base | {"model": model, "kind": kind, "method": code, "test": test}
        for model, kind in models
        for code in ("M1", "M5")
        for test in ("weat1", "weat2")
    ]
    pairs = compare.against(pd.DataFrame(rows))
    assert sorted(set(pairs["pair_label"])) == ["Thai: bert-base-thai, M1", "Thai: bert-base-thai, M5"]
    assert len(pairs) == 4 and not pairs.duplicated(["test_label", "pair_label"]).any()
