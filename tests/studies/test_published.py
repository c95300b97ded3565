"""The reader of the published results and the integrity checks: made files, and the real ones."""

import pandas as pd
import pytest

from localbias.audit import results as integrity
from localbias.errors import BadTable
from localbias.registry import METHODS
from localbias.studies import published
from localbias.studies.published import beside_printed, printed


def write(folder, text):
    file = folder / "zh_results.csv"
    file.write_text(text, encoding="utf-8")
    return file


PLACE = "weathub/final_results/results-csv/sheet1/xlmr/zh_results.csv"
GOOD = (
    "Type,DataSource,Method,weat1,weat2\ncontextual,GT,xlmr-CLS,1.062 (0.000),-0.407 (0.945)\n"
    "static,HT,fasttext,0.1 (0.4),0.2 (0.3)\n"
)


def test_a_made_file_becomes_one_row_a_cell(tmp_path):
    rows = pd.DataFrame(published.read_results(PLACE, write(tmp_path, GOOD)))
    assert rows[["method", "source", "test", "d", "p", "row", "group"]].values.tolist() == [
        ["M7", "gt", "weat1", 1.062, 0.0, 2, "XLM-R"],
        ["M7", "gt", "weat2", -0.407, 0.945, 2, "XLM-R"],
        ["M10", "human", "weat1", 0.1, 0.4, 3, "fastText"],
        ["M10", "human", "weat2", 0.2, 0.3, 3, "fastText"],
    ]
    assert set(rows.model) == {"xlm-roberta-base", "fasttext"} and set(rows.language) == {"zh"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1.062 (0.000)", "1.062", "line 2, weat1"),
        ("xlmr-CLS", "xlmr-layer-7", "no known method"),
        ("GT", "XX", "unknown form"),
        ("weat2", "weat99", "unknown header"),
        (",0.2 (0.3)", "", "line 3"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_where(tmp_path, old, new, says):
    with pytest.raises(BadTable, match=says):
        published.read_results(PLACE, write(tmp_path, GOOD.replace(old, new)))


def test_every_method_name_of_the_registry_is_understood():
    for method in METHODS.values():
        prefix = "" if method.code == "M10" else "mono-indic-bert-"
        assert published.method_of(prefix + method.published)[0] == method.code


def made(**changes):
    """Two models × six methods × two tests of one language, all different."""
    rows = []
    for g, group in enumerate(("XLM-R", "DistilmBERT")):
        prefix = ("xlmr", "distilbert")[g]
        for m, method in enumerate(("M1", "M2", "M3", "M4", "M5", "M6")):
            for test in ("weat1", "weat2"):
                rows.append(
                    {
                        "language": "zh",
                        "group": group,
                        "method": method,
                        "source": "all",
                        "test": test,
                        "family": "original",
                        "d": 0.1 * m + g + (test == "weat1"),
                        "p": 0.2,
                        "label": f"{prefix}-{METHODS[method].published}",
                        "stated_source": "ALL",
                    }
                    | changes
                )
    return pd.DataFrame(rows)


def test_the_same_results_under_two_names_are_marked():
    table = made()
    assert not integrity.same_as_other_model(table).any()
    table.d = table.groupby(["method", "test"]).d.transform("first")
    assert integrity.same_as_other_model(table).all()
    table.loc[0, "d"] += 1  # 11 of 12 are the same: still above the share
    assert integrity.same_as_other_model(table).all()
    table.loc[:4, "d"] += 1
    assert not integrity.same_as_other_model(table).any()


def test_first_equal_to_average_is_marked_only_when_every_pair_is():
    table = made()
    twin = {"M2": "M1", "M4": "M3", "M6": "M5"}
    base = table.assign(key=table.method.map(twin).fillna(table.method))
    table.d = base.groupby(["group", "key", "test"]).d.transform("first")
    assert integrity.first_equals_average(table).all()
    table.loc[table.index[-1], "d"] += 1
    assert set(table.group[integrity.first_equals_average(table)]) == {"XLM-R"}


def test_the_other_rules_by_hand():
    table = pd.DataFrame(
        {
            "d": [0.0, 0.447, 1.5, -0.3, 0.3, 2.1, 0.2],
            "p": [0.0, 0.0, 0.0, 0.2, 0.2, 0.1, 1.2],
            "family": "india",
            "stated_source": ["HT", "GT", "HT", "HT", "HT", "HT", "HT"],
            "group": "monolingual",
            "label": ["mono-bert-CLS", "mono-indic-bert-CLS"] + ["mono-bert-CLS"] * 5,
        }
    )
    assert integrity.degenerate(table).tolist() == [True, True, False, False, False, False, False]
    assert integrity.contradiction(table).tolist() == [False, False, False, True, False, False, True]
    assert integrity.impossible(table).tolist() == [False, False, False, False, False, True, True]
    assert integrity.mislabelled_source(table).tolist() == [False, True, False, False, False, False, False]
    assert integrity.other_model_name(table).tolist() == [False, True, False, False, False, False, False]
    assert integrity.p_zero(table).sum() == 3


def test_one_word_apart_gives_the_degenerate_effect():
    # Ten words a set, one of twenty differs: d = (a / 10) / (a / sqrt(20)), whatever a is.
    s = pd.Series([1.0] + [0.0] * 19)
    d = (s[:10].mean() - s[10:].mean()) / s.std(ddof=1)
    assert round(d, 3) == 0.447


def test_rho_is_a_mean_of_means():
    table = pd.DataFrame(
        {
            "language": "th",
            "method": "M1",
            "test": ["weat1"] * 2 + ["weat2"],
            "set": ["x", "y", "x"],
            "variance": [1.0, float("nan"), 6.0],
        }
    )
    assert published.rho(table).rho.tolist() == [3.5] and published.rho(table).n_sets.tolist() == [2]


@pytest.mark.mirror
def test_all_cells_of_the_real_files():
    table = published.published_results()
    assert len(table) == 18_240 and table[["d", "p"]].notna().all(axis=None)
    assert table.groupby("family").size().to_dict() == {
        "original": 12_420,
        "dimension": 2_500,
        "india": 2_970,
        "valence": 350,
    }
    assert set(table.method) == set(METHODS) and set(table.source) == {"gt", "human", "all", "new", "india"}
    assert table.file.nunique() == 221
    thai = table.query(
        "language == 'th' and group == 'DistilmBERT' and method == 'M5' and source == 'all' and test == 'weat1'"
    )
    assert thai[["d", "p"]].values.tolist() == [[1.062, 0.0]]


@pytest.mark.mirror
def test_what_the_checks_find_in_the_real_files():
    counts = integrity.counts(published.published_results()).set_index("check")
    assert counts.cells.to_dict() == {
        "same-model": 972,
        "first-average": 162,
        "degenerate": 150,
        "source": 110,
        "model-name": 324,
        "contradiction": 1,
        "impossible": 0,
        "same-source": 996,
        "repeat": 1155,
        "p-zero": 972,
    }
    # 54 cells × 3 sources × 2 models × 3 languages, 54 × 3 of one model, 54 × 3 × 2 languages.
    assert (972, 162, 324) == (54 * 3 * 2 * 3, 54 * 3, 54 * 3 * 2)
    assert counts.loc["same-model", "where"] == "original, DistilmBERT: el ru zh; original, XLM-R: el ru zh"


@pytest.mark.mirror
def test_fasttext_cells_do_not_depend_on_the_file_they_stand_in():
    table = published.published_results()
    static = table[table.group == "fastText"]
    alike = static.groupby(["language", "family", "source", "test"])[["d", "p"]].nunique()
    assert (alike == 1).all(axis=None)


@pytest.mark.mirror
def test_the_real_variances():
    table = published.published_sensitivity()
    assert len(table) == 23 * 60 * 4 and table.variance.isna().sum() > 0
    gaps = integrity.missing(published.published_results(), table)
    assert gaps.loc[gaps.missing == "languages", "which"].tolist() == ["ku"]


def test_counts_beside_the_printed_ones():
    counts = pd.DataFrame(
        [(c, o, 1, 1) for c in ("gender_identity", "sexual_orientation", "all") for o in ("translated", "new", "all")],
        columns=["category", "origin", "template_rows", "prompts"],
    )
    counts.loc[8, ["template_rows", "prompts"]] = 123, 10_576
    table = beside_printed(counts, printed("FilBBQ")).set_index(["dimension", "entry"])
    assert table["equal"].sum() == 2 and table.at[("all", "prompts"), "equal"]
    assert table.at[("all", "translated or modified templates"), "printed"] == 53 + 18
