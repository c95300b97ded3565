"""Annotation workbooks: the annotators' layout, and everything that is not it. Workbooks are made here."""

import datetime
import functools
import io
import re
import zipfile

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localbias.errors import BadTable, UnknownName
from localbias.words import annotations
from localbias.words.annotations import CATEGORIES, cleaned, read_workbook
from localbias.words.assemble import CLASSIC, assemble, load_workbook
from localbias.words.lexicon import load_words, word_table
from localbias.words.tidy import words_schema

SIZES = {"Pleasant": 33, "Unpleasant": 33, "Art": 9, "Male Terms": 11, "Female Terms": 11}
"""Rows of the categories that the classic tests cut down; all others have five here."""


def words_of(category, column):
    return [f"{column} {category.lower()} {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(SIZES.get(category, 5))]


def rows_of(sheet, columns, categories=None):
    rows = [[*columns, "category"]]
    for category in categories or CATEGORIES[sheet]:
        rows += [[*cells, category] for cells in zip(*(words_of(category, column) for column in columns), strict=True)]
    return rows


def book_of(tabs):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in tabs.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    return book


def sheet1(local=()):
    """Sheet 1 with local words (category, word) at the end of its second tab."""
    second = [["human", "category"], *[[row[2], row[3]] for row in rows_of(1, ["english", "google", "human"])[1:]]]
    return book_of(
        {
            "df1": rows_of(1, ["english", "google", "human"]),
            "df2": [*second, *[[word, category] for category, word in local]],
        }
    )


def saved(book, path):
    book.save(path)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sw_sheet1.xlsx"


def ending(words):
    return [word.split()[-1] for word in words]


# -- the rules, on a workbook whose cells say where they stand --------------------------------------------


def test_sets_by_the_rules(path):
    """Places of the categories as the issue states them: 25 of 33 attributes, weat7 and weat8's selections."""
    table = assemble(read_workbook(saved(sheet1([("Art", "local art")]), path)), "sw")

    def words(test, variant, role):
        return list(table.loc[(table[["test", "variant", "role"]] == [test, variant, role]).all(axis=1), "word"])

    pleasant = words_of("Pleasant", "human")
    assert words("weat1", "human", "A") == pleasant[:25] and words("weat1", "all", "A") == pleasant
    assert words("weat2", "gt", "B") == words_of("Unpleasant", "google")[:25]
    art = words_of("Art", "human")
    assert words("weat7", "human", "Y") == art[:8]
    assert words("weat8", "human", "Y") == [art[0], art[1], art[8], *art[2:7]]
    assert words("weat8", "all", "Y") == [*art, "local art"]
    male = words_of("Male Terms", "google")
    assert words("weat7", "gt", "A") == male[:8]
    assert words("weat8", "gt", "A") == [male[n] for n in (3, 8, 9, 10, 7, 4, 6, 5)]
    assert words("weat6", "gt", "X") == words_of("Male Names", "google")
    assert len(CLASSIC) == 10


def test_rows_and_tabs_are_traced(path):
    table = assemble(read_workbook(saved(sheet1([("Art", "local art")]), path)), "sw")
    row = table[table["word"] == "local art"].iloc[0]
    sheet = openpyxl.load_workbook(path)["df2"]
    assert (row["source"], row["tab"], sheet.cell(row["row"], 1).value) == (path.name, "df2", "local art")
    first = table[(table["variant"] == "gt") & (table["test"] == "weat9")].iloc[0]
    assert openpyxl.load_workbook(path)[first["tab"]].cell(first["row"], 2).value == first["word"]


def test_two_targets_of_weat25_lose_their_first_word(tmp_path):
    path = saved(book_of({"only": rows_of(3, ["human"])}), tmp_path / "hi_sheet3.xlsx")
    table = assemble(read_workbook(path), "hi")
    weat25 = table[table["test"] == "weat25"].groupby("role", sort=False)["word"].apply(list)
    assert weat25["X"] == words_of("Hindu religion names", "human")[1:]
    assert weat25["A"] == words_of("Hindu religion", "human")
    assert set(table["variant"]) == {"india"} and table["test"].nunique() == 11


def test_a_workbook_is_a_data_set_by_its_path(path):
    saved(sheet1(), path)
    assert load_words("weat1", "sw", dataset=str(path)).variant == "all"
    assert len(load_words("weat1", "sw", "gt", str(path)).a) == 25
    table = word_table(str(path))
    words_schema().validate(table)
    assert set(table["dataset"]) == {"sw_sheet1"} and table["test"].nunique() == 6


def test_the_language_comes_from_the_name_or_the_caller(tmp_path):
    path = saved(sheet1(), tmp_path / "my words.xlsx")
    with pytest.raises(UnknownName, match="language="):
        load_workbook(path)
    assert set(load_workbook(path, "zu")["language"]) == {"zu"}
    assert set(load_workbook(saved(sheet1(), tmp_path / "hindi_sheet1.xlsx"))["language"]) == {"hi"}


def test_dimensions_without_the_valence_sets_of_another_workbook(tmp_path):
    path = saved(book_of({"new": rows_of(2, ["human"])}), tmp_path / "sw_sheet2.xlsx")
    assert sorted(load_workbook(path)["test"].unique()) == ["weat11", "weat12", "weat13", "weat14", "weat15"]


def test_gaps_are_left_out_with_a_warning_that_names_them(path):
    book = sheet1()
    book["df2"]["A3"] = None
    book["df2"]["A4"] = "  "
    with pytest.warns(UserWarning, match="2 rows without a word.*tab 'df2' row 3, tab 'df2' row 4"):
        table = load_workbook(saved(book, path))
    flowers = table[(table["test"] == "weat1") & (table["role"] == "X") & (table["variant"] == "all")]
    assert list(flowers["word"]) == [word for n, word in enumerate(words_of("Flowers", "human")) if n not in (1, 2)]
    assert list(flowers["position"]) == [1, 2, 3]


def test_blank_rows_and_notes_beside_the_words_are_left_aside(path):
    book = sheet1()
    book["df1"].insert_rows(4, amount=3)
    book["df1"]["F2"], book["df1"]["H9"] = 12, datetime.date(2024, 3, 8)
    table = load_workbook(saved(book, path))
    book = read_workbook(path).cells
    assert set(book["column"]) == {"english", "google", "human"}
    gt = table[(table["test"] == "weat1") & (table["variant"] == "gt") & (table["role"] == "X")]
    assert list(gt["word"]) == words_of("Flowers", "google") and list(gt["row"]) == [2, 3, 7, 8, 9]


@pytest.mark.parametrize(
    "cell, word", [('"aster",', "aster"), ("“rose” ", "rose"), ("、花，", "花，"), (None, "nan"), ("،گل،", "گل")]
)
def test_cells_are_cleaned_by_the_rules(cell, word):
    assert cleaned(cell or "") == word


def test_misspelt_categories_of_the_published_workbooks(path):
    book = sheet1()
    for row in book["df1"].iter_rows(min_row=2):
        if row[3].value == "Permanent":
            row[3].value = "Permament"
    assert load_words("weat9", "sw", "gt", str(saved(book, path))).b == words_of("Permanent", "google")


# -- bad input --------------------------------------------------------------------------------------------


def put(tab, cell, value):
    def change(book):
        book[tab][cell] = value

    return change


def merge(book):
    book["df1"].merge_cells("C3:C5")


def drop_tab(book):
    del book["df2"]


def rename(cell, name):
    return put("df1", cell, name)


def rename_two(book):
    rename("C1", "translation")(book)
    rename("A1", "source")(book)


def wide(book):
    book["df1"].cell(1, 10_000, "note")


def tall(book):
    book["df2"].cell(1_048_576, 2, "note")


def emptied(book):
    book["df1"].delete_rows(2, 10_000)


FAULTS = {
    "number": (put("df1", "C7", 12), r"a number where.*tab 'df1', cell C7"),
    "decimal": (put("df2", "A7", 1.5), r"a number where.*tab 'df2', cell A7"),
    "date": (put("df1", "B7", datetime.datetime(2024, 3, 8)), r"a date where.*tab 'df1', cell B7"),
    "time": (put("df1", "B7", datetime.time(12, 30)), r"a time where.*tab 'df1', cell B7"),
    "truth": (put("df1", "C7", True), r"a truth value where.*tab 'df1', cell C7"),
    "number as text": (put("df1", "C7", "3,14"), r"a number or a date.*cell C7"),
    "error value": (put("df1", "C7", "#REF!"), r"an error value.*cell C7"),
    "formula": (put("df1", "C7", "=A7&B7"), r"a formula without a stored value.*cell C7"),
    "line break": (put("df1", "C7", "two\nwords"), r"control character.*cell C7"),
    "no category": (put("df1", "D7", None), r"a word without a category.*cell A7"),
    "category a number": (put("df1", "D7", 7), r"a number where.*cell D7"),
    "unknown category": (put("df1", "D7", "Flower"), r"unknown category.*row 7(.|\n)*did you mean Flowers"),
    "merged": (merge, r"merged cells.*tab 'df1', cells C3:C5"),
    "no second tab": (drop_tab, r"lacks a tab(.|\n)*got: df1"),
    "no human": (rename_two, r"lacks a column.*row 1"),
    "no category column": (rename("D1", "kind"), r"lacks a column.*tab 'df1', row 1"),
    "a column twice": (rename("B1", "human"), r"a column twice.*cell C1"),
    "ten thousand columns": (wide, r"too many columns.*tab 'df1'(.|\n)*10,000"),
    "a million rows": (tall, r"too many rows.*tab 'df2'(.|\n)*1,048,576"),
    "header only": (emptied, r"a header and no words.*tab 'df1'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_by_file_tab_and_cell(path, name):
    change, message = FAULTS[name]
    book = sheet1()
    change(book)
    with pytest.raises(BadTable) as caught:
        load_workbook(saved(book, path))
    pattern = message.replace(".*", "(.|\n)*?")
    assert re.search(pattern, str(caught.value)), str(caught.value)
    assert "sw_sheet1.xlsx" in caught.value.where


def test_stored_values_of_formulas_are_read(path, tmp_path):
    """A spreadsheet program stores a formula's value beside it; put one into the file by hand."""
    book = sheet1()
    book["df1"]["C7"] = "=A7"
    saved(book, tmp_path / "plain.xlsx")
    stored = b'<c r="C7" t="str"><f>A7</f><v>neno</v></c>'
    with zipfile.ZipFile(tmp_path / "plain.xlsx") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb'<c r="C7"><f>A7</f><v ?/></c>', stored, old.read(name)))
    cells = read_workbook(path).cells.set_index(["tab", "row", "column"])
    assert cells.at[(1, 7, "human"), "text"] == "neno"


def zipped(**parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


NO_WORKBOOKS = {
    "empty": (b"", "empty"),
    "text": (b"english,google,human,category\n", "not a workbook"),
    "old .xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old or a locked workbook"),
    "another zip": (zipped(a="b"), "not a workbook"),
    "cut": (None, "not a workbook"),
}


@pytest.mark.parametrize("name", NO_WORKBOOKS)
def test_a_file_that_is_no_workbook(path, name):
    content, message = NO_WORKBOOKS[name]
    if content is None:
        content = saved(sheet1(), path).read_bytes()[:3000]
    path.write_bytes(content)
    with pytest.raises(BadTable, match=message) as caught:
        load_workbook(path)
    assert "sw_sheet1.xlsx" in caught.value.where


def test_fifty_megabytes_are_refused_before_they_are_read(path, monkeypatch):
    with open(path, "wb") as handle:
        handle.truncate(50_000_000)
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *a, **k: pytest.fail("the workbook was opened"))
    with pytest.raises(BadTable, match=r"50,000,000 bytes \(not read\)"):
        load_workbook(path)


def test_a_small_file_with_a_fifty_megabyte_sheet_is_refused_before_it_is_unpacked(path, monkeypatch):
    path.write_bytes(zipped(**{"xl/worksheets/sheet1.xml": b" " * 50_000_000}))
    assert path.stat().st_size < annotations.MAX_FILE
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *a, **k: pytest.fail("the workbook was opened"))
    with pytest.raises(BadTable, match=r"sheet1\.xml(.|\n)*50,000,000 bytes \(not read\)"):
        load_workbook(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(BadTable, match="No such file"):
        read_workbook(tmp_path / "sw_sheet1.xlsx")


quick = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.dates(min_value=datetime.date(1950, 1, 1)),
    st.datetimes(min_value=datetime.datetime(1950, 1, 1)),
    st.sampled_from(["=A1", "#N/A", "1/2", " ", "nan", '"'] * 3),
    st.text(st.characters(categories=("L", "M", "P", "Zs")), max_size=10),
)


@pytest.mark.filterwarnings("ignore:.*rows without a word")
@quick
@given(st.sampled_from("ABCD"), st.integers(1, 12), value)
def test_any_value_in_any_cell_gives_valid_words_or_a_named_error(tmp_path, column, row, content):
    book = sheet1()
    book["df1"][f"{column}{row}"] = content
    path = saved(book, tmp_path / "sw_sheet1.xlsx")
    check_words_or_error(path)


@functools.cache
def good_bytes():
    """One workbook for all damage: openpyxl writes the time into each."""
    buffer = io.BytesIO()
    sheet1().save(buffer)
    return buffer.getvalue()


@pytest.mark.filterwarnings("ignore:.*rows without a word")
@quick
@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=20),
    st.one_of(st.just(1.0), st.floats(0, 1)),
)
def test_a_damaged_workbook_gives_valid_words_or_a_named_error(tmp_path, changes, kept):
    path = tmp_path / "sw_sheet1.xlsx"
    content = bytearray(good_bytes())
    for place, byte in changes:
        content[int(place * len(content))] = byte
    path.write_bytes(content[: int(kept * len(content))])
    check_words_or_error(path)


def check_words_or_error(path):
    try:
        table = load_workbook(path)
    except BadTable as error:
        assert "sw_sheet1.xlsx" in error.where
    else:
        words_schema().validate(table)
