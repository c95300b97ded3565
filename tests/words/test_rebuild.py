"""WEATHub rebuilt from its workbooks. Expected counts were found by a separate comparison of sheets and files."""

import json

import pandas as pd
import pytest

from localbias.errors import UnknownName
from localbias.registry import LANGUAGES
from localbias.words import rebuild
from localbias.words.tidy import words_schema

pytestmark = [pytest.mark.mirror, pytest.mark.slow]


def test_how_many_files_the_rules_give():
    """630 of 673 exactly; 37 with edits of their own, 6 (12b and 13b of ar, fr, hi) with weat1's; 21 without sheets."""
    table = rebuild.files()
    assert table["outcome"].value_counts().to_dict() == {"exact": 630, "edited": 37, "no workbook": 21, "inherited": 6}
    inherited = table[table["outcome"] == "inherited"]
    assert set(inherited["test"]) == {"weat12b", "weat13b"} and set(inherited["language"]) == {"ar", "fr", "hi"}
    lonely = table[table["outcome"] == "no workbook"]
    assert set(lonely["language"]) == {"en"} and set(lonely["variant"]) == {"all", "india"}
    by_variant = table[table["outcome"] == "exact"].groupby("variant").size().to_dict()
    assert by_variant == {"gt": 141, "human": 133, "all": 126, "new": 169, "india": 61}


def test_exact_files_are_the_published_ones_word_by_word(mirror):
    """Rebuilt words against the JSON itself, read here without the library."""
    rebuilt = rebuild.rebuilt_words(["zh", "vi", "el"])
    words = rebuilt.groupby(["language", "variant", "test", "role"])["word"].apply(list)
    keys = {"X": "targ1", "Y": "targ2", "A": "attr1", "B": "attr2"}
    checked = 0
    for row in rebuild.files(["zh", "vi", "el"]).itertuples():
        content = json.loads((mirror / f"weathub/data/{row.language}_{row.variant}/{row.test}.json").read_text())
        same = all(
            words[row.language, row.variant, row.test, role] == content[key]["examples"] for role, key in keys.items()
        )
        assert same == (row.outcome == "exact"), row
        checked += same
    assert checked == 71


def test_edits_turn_the_rebuilt_lists_into_the_published_ones(mirror):
    """Applying the table of differences gives every file: nothing is left unexplained."""
    table = rebuild.compare()
    lists = table[table["published"] != ""].sort_values("position", kind="stable")
    made = lists.groupby(["language", "variant", "test", "role"])["published"].apply(list)
    keys = {"X": "targ1", "Y": "targ2", "A": "attr1", "B": "attr2"}
    for (language, variant, test, role), words in made.items():
        content = json.loads((mirror / f"weathub/data/{language}_{variant}/{test}.json").read_text())
        assert words == content[keys[role]]["examples"]
    assert len(made) == 673 * 4


def test_kinds_of_edits():
    kinds = rebuild.edits().groupby("kind").size()
    assert set(kinds.index) <= set(rebuild.EDIT_KINDS)
    assert kinds.to_dict() == {
        "alternative chosen": 1,
        "alternatives split": 2,
        "heading removed": 5,
        "inherited from weat1": 10,
        "name replaced": 108,
        "translation added": 11,
        "word added": 24,
        "word replaced": 15,
    }
    table = rebuild.edits(["zh"])
    words = table[table["variant"] == "all"].set_index("rebuilt")["published"].to_dict()
    assert words == {"麦克风": "麦克", "账单": "比尔", "结石": "微积分", "添加": "加法"}
    assert set(rebuild.edits(["da"]).query("kind == 'name replaced'")["test"]) == {"weat6"}


def test_an_edit_says_which_cell_it_departs_from(mirror):
    import openpyxl

    row = rebuild.edits(["ur"]).query("variant == 'india'").iloc[0]
    sheet = openpyxl.load_workbook(mirror / "weathub/annotations" / row["source"])[row["tab"]]
    assert sheet.cell(int(row["row"]), 1).value.strip() == row["rebuilt"]
    assert (row["test"], row["role"], row["position"]) == ("weat18", "Y", 6)


def test_the_traced_table_names_a_cell_for_every_word(mirror):
    table = rebuild.traced_words(["hi", "en"])
    words_schema().validate(table)
    assert len(table) == 420 + 322 * 2 + 332 + 388 + 598 + 321 + 344
    traced = table[table["row"] > 0]
    assert set(table.loc[table["row"] == 0, "edit"]) == {"", "word added", "inherited from weat1"}
    assert set(table.loc[(table["row"] == 0) & (table["edit"] == ""), "language"]) == {"en"}
    assert set(traced.loc[traced["language"] == "en", "source"]) == {"english_sheet2.xlsx"}
    sample = traced.sample(15, random_state=0)
    import openpyxl

    from localbias.words.annotations import cleaned

    for row in sample.itertuples():
        sheet = openpyxl.load_workbook(mirror / "weathub/annotations" / row.source)[row.tab]
        assert row.edit or row.word in {cleaned(str(cell.value or "")) for cell in sheet[row.row]}


def test_what_the_human_translators_changed():
    """Korean sheet 1: counted by hand with pandas on the two columns."""
    table = rebuild.translation_changes(["ko"])
    book = rebuild.published_workbook("weathub/annotations/korean_sheet1.xlsx").path
    raw = pd.read_excel(book, sheet_name=0, dtype=str, keep_default_na=False)
    bare = raw[["google", "human"]].map(lambda text: text.replace('"', "").replace(",", ""))
    clean = bare.map(lambda text: " ".join(text.split()).casefold())
    assert table.loc[table["sheet"] == 1, ["cells", "changed"]].to_numpy().tolist() == [
        [271, int((clean["google"] != clean["human"]).sum())]
    ]
    assert 0 < table["share"].max() < 1


def test_local_words():
    table = rebuild.local_words().groupby("language")[["translated", "listed", "added", "new"]].sum()
    assert (table["listed"] - table["translated"] == table["added"]).all()
    assert table.loc[["ko", "pa", "ur"], "added"].tolist() == [0, 0, 0], "three languages add none"
    assert (table["new"] <= table["added"].clip(lower=0) + 5).all()
    assert len(table) == 24


def test_summary_adds_up():
    table = rebuild.summary()
    assert table["files"].sum() == 694
    assert (table[["exact", "edited", "inherited", "no workbook"]].sum(axis=1) == table["files"]).all()
    assert ((table["edits"] == "") == (table["edited"] + table["inherited"] == 0)).all()
    assert len(table) == 24 * 4 + 6 + 3


def test_phrases():
    table = rebuild.phrases("weathub", ["vi", "ja"])
    assert table.loc[table["language"] == "ja", "phrases"].sum() == 0
    assert table.loc[table["language"] == "vi", "share"].min() > 0.7, "Vietnamese parts syllables"


def test_cells_come_from_the_cache_the_second_time(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    path = "weathub/annotations/korean_sheet2.xlsx"
    first = rebuild.published_workbook(path)
    monkeypatch.setattr(rebuild, "read_workbook", lambda file: pytest.fail("the workbook was read again"))
    second = rebuild.published_workbook(path)
    pd.testing.assert_frame_equal(first.cells, second.cells)
    assert (first.sheet, second.sheet) == (2, 2)
    assert len(list((tmp_path / "annotations").glob("*.parquet"))) == 1


def test_every_language_has_its_workbooks():
    books = pd.DataFrame(rebuild.books(), columns=["language", "sheet", "path"])
    assert books.groupby("sheet").size().to_dict() == {1: 24, 2: 25, 3: 6}
    assert set(books["language"]) == set(LANGUAGES)
    with pytest.raises(UnknownName, match="zz"):
        rebuild.rebuilt_words(["zz"])


def test_outcomes_add_up():
    total = rebuild.summary(["zh", "ar", "hi"]).sum(numeric_only=True)
    outcomes = rebuild.outcomes(["zh", "ar", "hi"])
    assert total["exact"] + total["edited"] + total["inherited"] == total["files"] == outcomes["files"].sum()
    assert outcomes["variant"].drop_duplicates().tolist() == ["gt", "human", "all", "new", "india"]
