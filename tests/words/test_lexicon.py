"""Word lists by name: published, starter, a person's own CSV; the tidy layout and its faults."""

import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from localbias.errors import BadTable, LocalBiasError, SourceUnavailable, UnknownName
from localbias.registry import LANGUAGES
from localbias.studies.side_by_side import named
from localbias.words import lexicon, rebuild
from localbias.words.lexicon import (
    WordSets,
    catalogue,
    clean_sets,
    has_words,
    known_languages,
    languages_in,
    lexicon_names,
    load_words,
    main_lists,
    resolve_dataset,
    tests_in,
    word_table,
)
from localbias.words.tidy import COLUMNS, KEY, read_words_csv, words_schema

HEADER = "language,test,role,word"
SETS = {"X": ["waridi", "yungi"], "Y": ["mchwa", "nzi"], "A": ["furaha", "amani"], "B": ["chuki", "vita"]}
ROWS = [f"sw,weat1,{role},{word}" for role, words in SETS.items() for word in words]


def write(path, lines, encoding="utf-8"):
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.fixture
def mine(tmp_path):
    return write(tmp_path / "mine.csv", [HEADER, *ROWS])


# -- a person's own list --------------------------------------------------------------------------------


def test_one_csv_gives_a_language_that_the_registry_does_not_know(mine):
    sets = load_words("weat1", "sw", dataset=str(mine))
    assert sets.sets == SETS
    assert (sets.dataset, sets.variant, sets.language) == ("mine", "user", "sw")
    assert sets.provenance["rows"] == 8


def test_a_list_in_data_lexicons_goes_by_its_name(mine, tmp_path, monkeypatch):
    (tmp_path / "data" / "lexicons").mkdir(parents=True)
    mine.rename(tmp_path / "data" / "lexicons" / "swahili.csv")
    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path))
    assert lexicon_names() == ["swahili"]
    assert resolve_dataset("swahili") == "swahili"
    assert load_words("weat1", "sw", dataset="swahili").x == SETS["X"]
    assert languages_in("swahili") == ["sw"] and tests_in("swahili", "sw") == ["weat1"]
    with pytest.raises(UnknownName, match="did you mean swahili"):
        load_words("weat1", "sw", dataset="swahiil")


def test_a_test_of_ones_own(tmp_path):
    rows = [row.replace("weat1", "dialects") for row in ROWS]
    table = word_table(str(write(tmp_path / "own.csv", [HEADER, *rows])))
    assert set(table["test"]) == {"dialects"}
    assert list(table["category"])[::2] == ["dialects X", "dialects Y", "dialects A", "dialects B"]
    assert has_words("dialects", "sw", dataset=str(tmp_path / "own.csv"))
    assert not has_words("weat1", "sw", dataset=str(tmp_path / "own.csv"))


def test_positions_order_the_words_and_are_numbered_from_one(tmp_path):
    rows = ["x,weat1,X,c,30", "x,weat1,X,a,10", "x,weat1,X,b,20"]
    rows = [row.replace("x,", "sw,", 1) for row in rows] + [f"sw,weat1,{role},w,5" for role in "YAB"]
    path = write(tmp_path / "p.csv", [HEADER + ",position", *rows])
    table = word_table(str(path))
    assert list(table.loc[table["role"] == "X", "word"]) == ["a", "b", "c"]
    assert list(table.loc[table["role"] == "X", "position"]) == [1, 2, 3]
    assert list(table.loc[table["role"] == "X", "row"]) == [3, 4, 2], "rows are those of the file"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_separators_and_byte_order_marks_of_spreadsheet_programs(tmp_path, separator, encoding):
    lines = [line.replace(",", separator) for line in [HEADER.title(), *ROWS, "", separator * 3]]
    assert load_words("weat1", "sw", dataset=str(write(tmp_path / "s.csv", lines, encoding))).sets == SETS


def test_words_that_pandas_would_take_for_gaps_stay_words(tmp_path):
    """“Nan”, “null” and “NA” are words; a person may list them."""
    rows = [*ROWS, "sw,weat1,X,null", "sw,weat1,X,NA", "sw,weat1,X,nan"]
    assert load_words("weat1", "sw", dataset=str(write(tmp_path / "n.csv", [HEADER, *rows]))).x[2:] == [
        "null",
        "NA",
        "nan",
    ]


FAULTS = {
    "number": (["sw,weat1,X,1984"], r"row 10, column word: a number or a date"),
    "date": (["sw,weat1,X,2024-03-08"], r"row 10, column word: a number or a date"),
    "blank word": (["sw,weat1,X, "], r"row 10, column word: blank"),
    "role": (["sw,weat1,Z,neno"], r"row 10, column role: not a role"),
    "language": (["Swahili,weat1,X,neno"], r"row 10, column language: not a language code"),
    "test": (["sw,my test,X,neno"], r"row 10, column test: not a test name"),
    "line break": (['sw,weat1,X,"ne\nno"'], r"row 10, column word: a control character"),
    "long": (["sw,weat1,X," + "a" * 201], r"row 10, column word: longer than 200"),
    "too few cells": (["sw,weat1,X"], r"row 10[^,]*\n  expected: 4\n  got: 3"),
    "too many cells": (["sw,weat1,X,a,b"], r"row 10[^,]*\n  expected: 4\n  got: 5"),
    "open quote": (['sw,weat1,X,"neno'], r"row 10"),
    "missing sets": (["sw,weat2,X,neno"], r"weat2 in sw \(variant user\) has no Y and no A and no B"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_by_file_row_and_column(tmp_path, name):
    rows, message = FAULTS[name]
    with pytest.raises(BadTable, match=message) as caught:
        word_table(str(write(tmp_path / "faulty.csv", [HEADER, *ROWS, *rows])))
    assert "faulty.csv" in caught.value.where


def test_all_faults_come_at_once(tmp_path):
    rows = [f"sw,weat1,X,{n}" for n in range(100, 115)]
    with pytest.raises(BadTable, match="15 cells") as caught:
        word_table(str(write(tmp_path / "f.csv", [HEADER, *ROWS, *rows])))
    assert caught.value.got.count("row ") == 10 and "and 5 more" in caught.value.got


@pytest.mark.parametrize(
    "positions, message",
    [
        ("1,1", "same position"),
        ("1,", "give all of them or none"),
        *((f"1,{other}", "not a position") for other in ("one", "0", "\u0661", "\u00b2", "1.5")),
    ],
)
def test_positions_that_contradict(tmp_path, positions, message):
    one, other = positions.split(",")
    rows = [f"sw,weat1,X,a,{one}", f"sw,weat1,X,b,{other}", *(f"sw,weat1,{role},w,1" for role in "YAB")]
    with pytest.raises(BadTable, match=message):
        word_table(str(write(tmp_path / "f.csv", [HEADER + ",position", *rows])))


@pytest.mark.parametrize(
    "header, message",
    [
        ("language,test,role", "add word"),
        ("lang,test,role,word", "add language"),
        ("language,test,role,word,word", "keep one column word"),
        (",".join(["language,test,role,word"] + ["x"] * 9996), "10000 columns"),
    ],
)
def test_a_header_that_is_not_right(tmp_path, header, message):
    with pytest.raises(BadTable, match=message):
        word_table(str(write(tmp_path / "h.csv", [header, "a,b,c,d"])))


CONTENTS = {
    "empty": (b"", "empty"),
    "blank": (b"\n\n , ,\n", "empty"),
    "header only": (HEADER.encode(), "no words"),
    "latin-1": ("\n".join([HEADER, *ROWS, "sw,weat1,X,fam\xedlia"]).encode("latin-1"), r"row 10[^0-9]*0xed"),
    "utf-16": ("\n".join([HEADER, *ROWS]).encode("utf-16"), "UTF-16"),
    "a workbook": (b"PK\x03\x04rest", "spreadsheet named as a CSV"),
    "binary": (bytes(range(256)), "not UTF-8"),
    "a NUL": (f"{HEADER}\nsw,weat1,X,a\0b".encode(), "row 2"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_that_is_no_word_list(tmp_path, name):
    content, message = CONTENTS[name]
    (tmp_path / "c.csv").write_bytes(content)
    with pytest.raises(BadTable, match=message):
        word_table(str(tmp_path / "c.csv"))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    with open(tmp_path / "huge.csv", "wb") as handle:
        handle.truncate(50_000_000)
    monkeypatch.setattr(type(tmp_path), "read_bytes", lambda self: pytest.fail("the file was read"))
    with pytest.raises(BadTable, match=r"50,000,000 bytes \(not read\)"):
        word_table(str(tmp_path / "huge.csv"))


def test_a_changed_file_is_read_again(mine):
    assert load_words("weat1", "sw", dataset=str(mine)).x == SETS["X"]
    write(mine, [HEADER, *ROWS, "sw,weat1,X,mpya"])
    assert load_words("weat1", "sw", dataset=str(mine)).x == [*SETS["X"], "mpya"]


def test_variants_of_a_list(tmp_path):
    rows = [f"{row},{variant}" for variant in ("north", "south") for row in ROWS]
    path = str(write(tmp_path / "v.csv", [HEADER + ",variant", *rows]))
    assert load_words("weat1", "sw", "south", path).variant == "south"
    with pytest.raises(UnknownName, match="north, south"):
        load_words("weat1", "sw", "all", path)
    with pytest.raises(UnknownName, match="did you mean weat1"):
        load_words("waet1", "sw", "all", path)
    with pytest.raises(UnknownName, match="sw"):
        load_words("weat1", "zu", "all", path)


text = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(text, min_size=4, max_size=4), min_size=1, max_size=6))
@example([["sw", "weat1", role, word] for role, word in zip("XYAB", ["=1+1", "a", "b", "c"], strict=True)])
def test_any_cells_give_a_valid_table_or_a_named_error(tmp_path, rows):
    pd.DataFrame(rows, columns=HEADER.split(",")).to_csv(tmp_path / "any.csv", index=False)
    check_table_or_error(tmp_path / "any.csv")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
@example(b'language,test,role,word\r\nsw,weat1,X,"a\r\nb"')
def test_any_bytes_give_a_valid_table_or_a_named_error(tmp_path, content):
    (tmp_path / "any.csv").write_bytes(content)
    check_table_or_error(tmp_path / "any.csv")


def check_table_or_error(path):
    try:
        table = read_words_csv(path, "any")
    except BadTable as error:
        assert "any.csv" in error.where
    else:
        words_schema().validate(table)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["X", "Y", "A", "B"]),
        st.lists(st.text(st.characters(categories=("L", "Mn")), min_size=1, max_size=8), min_size=1, max_size=5),
        min_size=4,
        max_size=4,
    )
)
def test_what_is_written_is_read(tmp_path, sets):
    """A round trip through the tidy layout: same words in the same order, in their own spelling."""
    rows = [("sw", "weat1", role, word) for role, words in sets.items() for word in words]
    pd.DataFrame(rows, columns=HEADER.split(",")).to_csv(tmp_path / "r.csv", index=False)
    table = read_words_csv(tmp_path / "r.csv", "r")
    assert sorted(table["word"]) == sorted(word for words in sets.values() for word in words)
    for role, words in sets.items():
        assert list(table.loc[table["role"] == role, "word"]) == words


# -- cleaning -------------------------------------------------------------------------------------------


def test_cleaning_by_hand():
    """Worked by hand: Ant = ant twice in X; joy in A and B; “nan” is a gap; café composed = decomposed."""
    sets = WordSets(["Ant", "rose", "ant", "caf\u00e9"], ["bee", "cafe\u0301"], ["joy", "love"], ["hate", "joy", "nan"])
    cleaned = clean_sets(sets)
    assert cleaned.sets == {"X": ["Ant", "rose"], "Y": ["bee"], "A": ["love"], "B": ["hate"]}
    assert cleaned.provenance["removed"] == {"X": 2, "Y": 1, "A": 1, "B": 2}
    assert sets.x[2] == "ant", "the given sets are left as they are"


def test_identical_sets_are_emptied():
    assert clean_sets(WordSets(["a", "b"], ["b", "a"], ["c"], ["d"])).sets == {"X": [], "Y": [], "A": ["c"], "B": ["d"]}


words = st.lists(st.sampled_from(["a", "A", "b", "c", "d", "e", "nan", " a"]), max_size=6)


@given(words, words, words, words)
def test_cleaning_leaves_nothing_to_clean(x, y, a, b):
    cleaned = clean_sets(WordSets(x, y, a, b))
    assert clean_sets(cleaned).sets == cleaned.sets
    for one, other in ((cleaned.x, cleaned.y), (cleaned.a, cleaned.b)):
        folded = [lexicon.folded(word) for word in [*one, *other]]
        assert len(set(folded)) == len(folded) and "nan" not in folded
    assert set(cleaned.x) <= set(x) and set(cleaned.b) <= set(b)


# -- starter and published ------------------------------------------------------------------------------


def test_the_starter_has_one_variant_whatever_is_asked():
    sets = [load_words("weat1", "hi", variant, "starter") for variant in ("all", "gt", "human")]
    assert {one.variant for one in sets} == {"starter"} and sets[0] == sets[1] == sets[2]
    table = word_table("starter", ["hi"], ["weat1"])
    assert list(table.loc[table["role"] == "X", "word"]) == sets[0].x
    words_schema().validate(table)


def test_a_missing_starter_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path))
    with pytest.raises(SourceUnavailable, match="starter"):
        word_table("starter")


@pytest.mark.mirror
def test_published_lists_are_the_files(mirror):
    content = json.loads((mirror / "weathub/data/zh_human/weat7.json").read_text())
    sets = load_words("weat7", "zh", "human", "weathub")
    assert sets.sets == {
        role: content[key]["examples"] for role, key in {"X": "targ1", "Y": "targ2", "A": "attr1", "B": "attr2"}.items()
    }
    assert sets.provenance["file"] == "weathub/data/zh_human/weat7.json"


@pytest.mark.mirror
@pytest.mark.parametrize(
    "test, language, asked, label",
    [
        ("weat1", "zh", "all", "all"),
        ("weat1", "zh", "gt", "gt"),
        ("weat1", "en", "gt", "all"),
        ("weat3", "en", "all", "all"),
        ("weat11", "en", "all", "new"),
        ("weat11", "zh", "new", "new"),
        ("weat16", "ur", "all", "india"),
        ("weat16", "en", "india", "india"),
    ],
)
def test_all_means_the_familys_list(test, language, asked, label):
    assert load_words(test, language, asked, "weathub").variant == label
    assert has_words(test, language, asked, "weathub")


@pytest.mark.mirror
@pytest.mark.parametrize(
    "test, language, variant, offered",
    [
        ("weat3", "zh", "all", "en"),
        ("weat16", "zh", "all", "bn, en, hi, mr, pa, te, ur"),
        ("weat11", "zh", "human", "all, new"),
        ("weat99", "zh", "all", "weat9"),
        ("weat1", "xx", "all", "zh"),
        ("weat1", "zh", "humann", "human"),
    ],
)
def test_what_is_not_published_is_an_error_that_says_what_is(test, language, variant, offered):
    with pytest.raises(UnknownName, match=offered):
        load_words(test, language, variant, "weathub")
    assert not has_words(test, language, variant, "weathub")


@pytest.mark.mirror
def test_the_published_word_table(mirror):
    table = word_table("weathub")
    files = list((mirror / "weathub" / "data").glob("*/*.json"))
    words = sum(len(part["examples"]) for file in files for part in json.loads(file.read_text()).values())
    assert len(table) == words
    assert table["source"].nunique() == len(files) == 694
    assert list(table.columns[:8]) == list(COLUMNS)
    assert not table.duplicated([*KEY, "position"]).any()
    words_schema().validate(table, lazy=True)
    assert languages_in("weathub") == list(LANGUAGES)
    assert len(tests_in("weathub", "ur")) == 6 + 7 + 11
    catalogue = lexicon.catalogue("weathub").set_index(["language", "variant", "test"])
    assert catalogue.loc[("hi", "india", "weat25"), ["n_x", "n_y", "n_a", "n_b"]].tolist() == [7, 7, 2, 2]


def test_every_error_is_one_of_the_projects():
    for bad in ("", "weathub2", "../../etc", "data/starter/build.py"):
        with pytest.raises(LocalBiasError):
            load_words("weat1", "en", dataset=bad)


def test_a_word_of_unseen_characters_alone_is_blank_and_a_set_is_a_category_and_a_list(tmp_path):
    """A zero-width space inside a word stays as it was written: rows of results flag it."""
    rows = [f"sw,weat1,{role},{word}" for role in "XYAB" for word in ("moja", "ro\u200bse")]
    assert load_words("weat1", "sw", dataset=str(write(tmp_path / "a.csv", [HEADER, *rows]))).x[1] == "ro\u200bse"
    with pytest.raises(BadTable, match="blank where a word is expected"):
        word_table(str(write(tmp_path / "b.csv", [HEADER, *rows, "sw,weat1,X,\u200b"])))
    for category, examples in (("c", "abc"), (None, ["a"]), ("c", 1)):
        held = dict.fromkeys(("targ1", "targ2", "attr1", "attr2"), {"category": category, "examples": examples})
        (tmp_path / "c.json").write_text(json.dumps(held))
        with pytest.raises(BadTable, match="a set is not a category and its examples"):
            lexicon.read_sets_json(tmp_path / "c.json")


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


def test_codes(lists):
    assert known_languages("all", lists) == ["es", "sw"]
    assert known_languages("sw", lists) == ["sw"]
    with pytest.raises(UnknownName, match="es, sw"):
        known_languages(["zh"], lists)


def test_inventory(lists):
    table = catalogue(lists)
    assert table[["n_x", "n_y", "n_a", "n_b"]].to_numpy().tolist() == [[3, 2, 2, 3]] * 2
    assert named(table)["language_name"].tolist() == ["Spanish", "sw"], "an unknown language goes by its code"
    assert len(word_table(lists)[["language", "word"]].drop_duplicates()) == 18, "of 20 entries, odio twice in each"


def test_main_lists_leave_translations_aside_and_follow_the_tests_numbers():
    table = pd.DataFrame({"variant": ["all", "gt", "human", "new"], "test": ["weat11", "weat1", "weat1", "weat2"]})
    assert main_lists(table)["test"].tolist() == ["weat2", "weat11"]


def test_at_the_starter_there_are_no_workbooks():
    assert rebuild.has_workbooks("starter") is False
