"""What the page on the data quotes: made tables with known answers, and the counts of the published files."""

import pandas as pd
import pytest

from localbias.audit import words as quality
from localbias.errors import UnknownName
from localbias.studies import data_page
from localbias.studies.published import printed
from localbias.words.lexicon import load_words, word_table

DOUBT = {"role": "X", "english": "?", "meaning": "?", "note": "", "variant": "human"}


@pytest.fixture
def lists(tmp_path):
    """Two languages, one test, and in Spanish two targets that are doubted."""
    sets = {
        "X": ["rosa", "lirio", "clavel"],
        "Y": ["mosca", "abeja"],
        "A": ["paz", "amor"],
        "B": ["odio", "odio", "mal"],
    }
    rows = [(code, "weat1", role, word) for code in ("es", "sw") for role, words in sets.items() for word in words]
    path = tmp_path / "two.csv"
    pd.DataFrame(rows, columns=["language", "test", "role", "word"]).to_csv(path, index=False)
    return str(path)


def doubts(*rows):
    columns = ["language", "test", "category", "word", "confidence"]
    return pd.DataFrame(rows, columns=columns).assign(**DOUBT)


def test_codes(lists):
    assert data_page.codes("all", lists) == ["es", "sw"]
    assert data_page.codes("sw", lists) == ["sw"]
    with pytest.raises(UnknownName, match="es, sw"):
        data_page.codes(["zh"], lists)


def test_inventory(lists):
    table = data_page.inventory(lists, ["es", "sw"])
    assert table[["n_x", "n_y", "n_a", "n_b", "words"]].to_numpy().tolist() == [[3, 2, 2, 3, 10]] * 2
    assert table["language_name"].tolist() == ["Spanish", "sw"], "an unknown language goes by its code"
    facts = data_page.inventory_facts(lists, ["es", "sw"])
    assert (facts["n_lists"], facts["n_words"], facts["n_different"], facts["smallest"], facts["largest"]) == (
        2,
        20,
        18,
        2,
        3,
    )


def test_main_lists_leave_translations_aside_and_follow_the_tests_numbers():
    table = pd.DataFrame({"variant": ["all", "gt", "human", "new"], "test": ["weat11", "weat1", "weat1", "weat2"]})
    assert data_page.main_lists(table)["test"].tolist() == ["weat2", "weat11"]


def test_leaving_doubted_words_out(lists, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    table = doubts(
        ("es", "weat1", "flowers", "Lirio", "certain"),
        ("es", "weat1", "flowers", "clavel", "likely"),
        ("es", "weat1", "insects", "mosca", "certain"),
        ("sw", "weat1", "pleasant", "rosa", "certain"),
    )
    path = data_page.without(table, lists, ["es", "sw"])
    spanish = load_words("weat1", "es", dataset=path)
    assert spanish.x == ["rosa", "clavel"], "only certain doubts, by the set they concern"
    assert spanish.y == ["mosca", "abeja"], "a set keeps at least two words"
    assert load_words("weat1", "sw", dataset=path).sets == load_words("weat1", "sw", dataset=lists).sets
    assert spanish.dataset == "two-without-certain-doubts"
    assert data_page.without(table, lists, ["es", "sw"]) == path, "the same words, the same file"
    assert load_words("weat1", "es", dataset=data_page.without(table, lists, ["es"], "likely")).x == [
        "rosa",
        "lirio",
        "clavel",
    ], "one word would be left"
    with pytest.raises(UnknownName, match="certain, likely, possible"):
        data_page.without(table, lists, ["es"], "sure")


def test_effects_in_words():
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
    facts = data_page.effect_facts(effect)
    assert (facts["n"], facts["n_moved"], facts["flipped"], facts["undefined"], facts["signs"]) == (3, 2, 1, 1, 1)
    assert facts["mean_change"] == pytest.approx(0.3)
    assert (facts["largest"], facts["from_d"], facts["to_d"]) == ("Spanish, WEAT 2", -0.2, 0.3)
    assert data_page.effect_facts(effect.assign(change=0.0))["largest"] == "none"
    assert data_page.effect_facts(effect.assign(change=[0.1 + 0.2 - 0.3, 0.5, 1e-16]))["n_moved"] == 1


def test_audit_in_words(lists):
    findings = quality.audit(lists, kinds=["duplicate", "unequal sets"])
    facts = data_page.audit_facts(findings)
    assert (facts["n"], facts["n_different"], facts["n_error"], facts["n_note"], facts["n_lists"]) == (6, 6, 2, 4, 2)
    assert "kind is “unequal sets” (4)" in facts["commonest"]
    twice = pd.concat([findings, *[findings[findings["kind"] == "duplicate"].assign(variant=v) for v in "ab"]])
    assert data_page.audit_facts(twice)["commonest"] == (
        "The commonest kind is “duplicate” (6); counting different findings only, “unequal sets” (4)."
    )
    grid = data_page.kinds_by_language(findings, ["es", "sw", "fr"])
    assert grid.groupby("kind")["n"].sum().to_dict() == {"duplicate": 2, "unequal sets": 4}
    assert len(grid) == 2 * 3
    assert data_page.examples(findings)[["kind", "word"]].drop_duplicates().to_numpy().tolist() == [
        ["duplicate", "odio"]
    ]
    nothing = findings.iloc[:0]
    assert data_page.kinds_by_language(nothing, ["es"])["n"].tolist() == [0] * len(quality.rules())
    assert data_page.audit_facts(nothing)["n"] == 0


def test_chance_tests_are_not_counted_as_agreement():
    checks = pd.DataFrame(
        {
            "exact": [True, False, True, True],
            "detail": [
                "",
                "published 1, ours 2",
                "chi-squared p = 0.647 over 656 blocks",
                "chi-squared p = 0.118 over 6",
            ],
        }
    )
    assert data_page.reproduction(checks) == {"n": 2, "exact": 1, "p_values": "0.65 and 0.12"}


def test_counts_beside_the_printed_ones():
    counts = pd.DataFrame(
        [(c, o, 1, 1) for c in ("gender_identity", "sexual_orientation", "all") for o in ("translated", "new", "all")],
        columns=["category", "origin", "template_rows", "prompts"],
    )
    counts.loc[8, ["template_rows", "prompts"]] = 123, 10_576
    table = data_page.beside_printed(counts, printed("FilBBQ")).set_index(["dimension", "entry"])
    assert table["equal"].sum() == 2 and table.at[("all", "prompts"), "equal"]
    assert table.at[("all", "translated or modified templates"), "printed"] == 53 + 18


@pytest.mark.mirror
def test_rebuild_facts_add_up():
    facts = data_page.rebuild_facts(["zh", "ar", "hi"])
    outcomes = data_page.outcomes(["zh", "ar", "hi"])
    assert facts["exact"] + facts["edited"] + facts["inherited"] == facts["n_files"] == outcomes["files"].sum()
    assert outcomes["variant"].drop_duplicates().tolist() == ["gt", "human", "all", "new", "india"]


@pytest.mark.mirror
def test_doubted_words_leave_the_published_lists(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    table = doubts(("th", "weat1", "flowers", "กะเทย", "certain"))
    path = data_page.without(table, "weathub", ["th"])
    before, after = load_words("weat1", "th", "all", "weathub"), load_words("weat1", "th", "all", path)
    assert [word for word in before.x if word != "กะเทย"] == after.x and len(after.x) < len(before.x)
    assert set(word_table(path)["variant"]) == {"all", "new"}
    with_gaps = data_page.without(table, "weathub", ["el"])
    assert "nan" not in set(word_table(with_gaps)["word"])


def test_at_the_starter_there_are_no_workbooks():
    assert data_page.has_workbooks("starter") is False
