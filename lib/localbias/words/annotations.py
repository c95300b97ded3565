"""Annotation workbooks → cells: who wrote which word into which cell of which set.

WEATHub's annotators filled up to three workbooks a language (``<language>_sheet1.xlsx`` …):

1. the original tests: a first tab with the columns english, google, human, category (the machine
   translation and the annotator's), a second with human, category (the same words and local ones);
2. the human-centred dimensions: one tab with human, category (and mostly english, google);
3. the India tests: one tab with human, category.

Other columns are notes and are left aside. Whatever is not a word in one of these columns is an error that
names file, tab and cell; only blank cells are allowed, as gaps.
"""

from __future__ import annotations

import datetime
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from xml.etree.ElementTree import ParseError

import pandas as pd

from localbias.errors import BadTable
from localbias.words.tidy import word_problem

MAX_FILE = 10_000_000
MAX_SHEET = 30_000_000
MAX_ROWS = 20_000
MAX_COLUMNS = 200
WORD_COLUMNS = ("english", "google", "human")

CATEGORIES: dict[int, tuple[str, ...]] = {
    1: (
        "Flowers",
        "Insects",
        "Instruments",
        "Weapons",
        "Pleasant",
        "Unpleasant",
        "Male Names",
        "Female Names",
        "Math",
        "Art",
        "Science",
        "Mental Disease",
        "Physical Disease",
        "Career",
        "Family",
        "Male Terms",
        "Female Terms",
        "Temporary",
        "Permanent",
    ),
    2: (
        "Offensive Words",
        "Respectful Words",
        "Insult Words",
        "Disability Words",
        "LGBTQ+ Words",
        "Straight Words",
        "Pride",
        "Prejudice",
        "Educated Terms",
        "Non-educated Terms",
        "Higher Status Words",
        "Lower Status Words",
        "Immigrant Terms",
        "Non-immigrant Terms",
        "Respectful Words 2",
        "Disrespectful Words",
        "Male Terms",
        "Female Terms",
    ),
    3: (
        "Stereotypical male adjectives",
        "Stereotypical female adjectives",
        "Male terms",
        "Female terms",
        "Male verbs",
        "Female verbs",
        "Male adjectives",
        "Female adjectives",
        "Male entities",
        "Female entities",
        "Male titles",
        "Female titles",
        "Upper caste occupations",
        "Lower caste occupations",
        "Upper caste names",
        "Lower caste names",
        "Upper caste adjectives",
        "Lower caste adjectives",
        "Positive adjectives",
        "Negative adjectives",
        "Hindu religion names",
        "Muslim religion names",
        "Hindu last names",
        "Muslim last names",
        "Hindu religion",
        "Muslim religion",
        "Urban occupations",
        "Rural occupations",
    ),
}
"""Sheet number → the categories of its column ``category``."""

MISSPELT = {"Permament": "Permanent", "Hindu religiion names": "Hindu religion names"}
"""Category names as some annotators' workbooks spell them → as meant."""

SHEETS_READ_AS = "v2"
"""Names the form of cells in the cache; changes with what this module reads."""

TABS = {1: 2, 2: 1, 3: 1}
"""Sheet number → how many tabs it must have."""


@dataclass(frozen=True)
class Workbook:
    """One workbook's cells.

    ``cells`` has one row a cell of a word column: tab (1, 2, …), tab_name, row (as the spreadsheet
    program numbers it), column, category, place (0, 1, … among the rows of its category in its tab), text
    (as filled in; "" for a gap).
    """

    path: Path
    sheet: int
    cells: pd.DataFrame


def read_workbook(path: str | Path) -> Workbook:
    """Read an annotation workbook.

    Parameters
    ----------
    path : path
        An .xlsx file; its sheet number is told from its categories.

    Returns
    -------
    Workbook

    Raises
    ------
    BadTable
        The file is not a workbook or too large; a tab or column is missing; merged cells, numbers, dates,
        formulas without a stored value, error values or words without a category stand where words
        should; a category is unknown. Names file, tab and cell.
    """
    path = Path(path)
    stat = _sized(path)
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=128)
def _read(path: Path, stamp: int, size: int) -> Workbook:
    book, stored = _open(path)
    first = _tab_cells(path, book.worksheets[0], stored, 1)
    sheet = _sheet_number(path, first)
    if len(book.worksheets) < TABS[sheet]:
        raise BadTable(
            "the workbook lacks a tab",
            where=str(path),
            expected=f"{TABS[sheet]} tabs",
            got=", ".join(book.sheetnames),
            todo="add a second tab with the columns human and category: the words of the first and local ones",
        )
    tabs = [first] + [_tab_cells(path, book.worksheets[n], stored, n + 1) for n in range(1, TABS[sheet])]
    cells = pd.concat(tabs, ignore_index=True)
    _check_categories(path, cells, sheet)
    cells["category"] = cells["category"].replace(MISSPELT)
    cells["place"] = cells.groupby(["tab", "column", "category"], sort=False).cumcount()
    return Workbook(path, sheet, cells)


def cleaned(text: str) -> str:
    """A cell as WEATHub's published lists have it: no ``"`` and ``,``, nothing around, "nan" for a gap.

    >>> cleaned('"aster", '), cleaned("“花”、"), cleaned("")
    ('aster', '花', 'nan')
    """
    text = text.replace('"', "").replace(",", "").strip()
    return text.strip("“”،、").strip() if text else "nan"


# -- opening --------------------------------------------------------------------------------------------


def _sized(path: Path):
    try:
        stat = path.stat()
    except OSError as error:
        raise BadTable("the workbook cannot be read", where=str(path), got=str(error.strerror)) from error
    if stat.st_size > MAX_FILE:
        raise BadTable(
            "the workbook is too large",
            where=str(path),
            expected=f"at most {MAX_FILE:,} bytes",
            got=f"{stat.st_size:,} bytes (not read)",
            todo="keep only the tabs and rows of word lists",
        )
    if stat.st_size == 0:
        raise BadTable("the workbook is empty", where=str(path), expected="an .xlsx file", got="0 bytes")
    return stat


def _check_parts(path: Path) -> None:
    """Look at the zip directory, before anything is unpacked."""
    with path.open("rb") as handle:
        head = handle.read(8)
    if head == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise BadTable(
            "an old or a locked workbook",
            where=str(path),
            expected="an .xlsx file without a password",
            got="an OLE file (.xls, or .xlsx with a password)",
            todo="save it as .xlsx, unlocked",
        )
    with zipfile.ZipFile(path) as parts:
        for part in parts.infolist():
            if part.file_size > MAX_SHEET:
                raise BadTable(
                    "a sheet of the workbook is too large",
                    where=f"{path}, {part.filename}",
                    expected=f"at most {MAX_SHEET:,} bytes unpacked",
                    got=f"{part.file_size:,} bytes (not read)",
                    todo="keep only the rows and columns of word lists",
                )


_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
)


def _open(path: Path):
    """The workbook with formulas, and the same with their stored values when there are formulas."""
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        _check_parts(path)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="openpyxl")
            book = openpyxl.load_workbook(path)
            formulas = any(cell.data_type == "f" for sheet in book.worksheets for cell in _cells(path, sheet))
            stored = openpyxl.load_workbook(path, data_only=True) if formulas else book
    except BadTable:
        raise
    except (InvalidFileException, *_UNREADABLE) as error:
        raise BadTable(
            "the file is not a workbook that can be read",
            where=str(path),
            expected="an .xlsx file",
            got=f"{type(error).__name__}: {error}",
            todo="open it in a spreadsheet program and save it as .xlsx",
        ) from error
    if not book.worksheets:
        raise BadTable("the workbook has no tab with cells", where=str(path), expected="at least one")
    return book, stored


def _cells(path: Path, sheet):
    """Every cell of a tab, after a look at its extent."""
    for what, got, limit in (("columns", sheet.max_column, MAX_COLUMNS), ("rows", sheet.max_row, MAX_ROWS)):
        if got > limit:
            raise BadTable(
                f"a tab has too many {what}",
                where=f"{path}, tab {sheet.title!r}",
                expected=f"at most {limit:,}",
                got=f"{got:,}",
                todo=f"delete the {what} without words",
            )
    return (cell for row in sheet.iter_rows() for cell in row if cell.value is not None)


# -- one tab --------------------------------------------------------------------------------------------


def _tab_cells(path: Path, sheet, stored, number: int) -> pd.DataFrame:
    where = f"{path}, tab {sheet.title!r}"
    columns = _header(where, sheet)
    _check_merged(where, sheet, columns)
    values = stored[sheet.title]
    rows = []
    for row in range(2, sheet.max_row + 1):
        texts = {name: _text(where, sheet.cell(row, col), values.cell(row, col)) for name, col in columns.items()}
        category = texts.pop("category").strip()
        filled = [name for name, text in texts.items() if text.strip()]
        if not category and filled:
            cell = sheet.cell(row, columns[filled[0]]).coordinate
            raise BadTable(
                "a word without a category",
                where=f"{where}, cell {cell}",
                got=repr(texts[filled[0]][:60]),
                todo=f"fill in the category of row {row}",
            )
        if category:
            rows += [(number, sheet.title, row, name, category, text) for name, text in texts.items()]
    if not rows:
        raise BadTable("a tab has a header and no words", where=where, expected="one row a word")
    return pd.DataFrame(rows, columns=["tab", "tab_name", "row", "column", "category", "text"])


def _header(where: str, sheet) -> dict[str, int]:
    """Name → column number of the columns that hold words or the category."""
    names = {}
    for column in range(1, sheet.max_column + 1):
        value = sheet.cell(1, column).value
        name = value.strip().lower() if isinstance(value, str) else ""
        if name in names:
            raise BadTable("a column twice", where=f"{where}, cell {sheet.cell(1, column).coordinate}", got=name)
        if name in (*WORD_COLUMNS, "category"):
            names[name] = column
    if "category" not in names or not {"human", "english"} & set(names):
        found = [str(cell.value) for cell in sheet[1] if cell.value is not None] if sheet.max_row else []
        raise BadTable(
            "a tab lacks a column",
            where=f"{where}, row 1",
            expected="human and category (english, google if there)",
            got=", ".join(found[:10]) or "nothing",
            todo="name the columns in the first row",
        )
    return names


def _check_merged(where: str, sheet, columns: dict[str, int]) -> None:
    for merged in sheet.merged_cells.ranges:
        if any(merged.min_col <= column <= merged.max_col for column in columns.values()):
            raise BadTable(
                "merged cells among the words",
                where=f"{where}, cells {merged.coord}",
                expected="one word a cell",
                todo="unmerge them and fill in each cell",
            )


def _text(where: str, cell, stored) -> str:
    """The text of a cell; BadTable when it holds anything else."""
    value = stored.value
    where = f"{where}, cell {cell.coordinate}"
    if cell.data_type == "f" and value is None:
        raise BadTable(
            "a formula without a stored value",
            where=where,
            got=str(cell.value)[:60],
            todo="open the workbook in a spreadsheet program and save it, or type the word",
        )
    if value is None:
        return ""
    if not isinstance(value, str):
        kind = {
            bool: "a truth value",
            datetime.datetime: "a date",
            datetime.date: "a date",
            datetime.time: "a time",
            datetime.timedelta: "a time",
        }.get(type(value), "a number")
        raise BadTable(
            f"{kind} where a word is expected",
            where=where,
            expected="text",
            got=repr(value),
            todo="format the cell as text and type the word",
        )
    if stored.data_type == "e":
        raise BadTable("an error value where a word is expected", where=where, got=value, todo="type the word")
    if value.strip() and (problem := word_problem(value.strip())):
        raise BadTable(problem, where=where, expected="a word", got=repr(value[:60]))
    return value


def _sheet_number(path: Path, cells: pd.DataFrame) -> int:
    """1, 2 or 3 by the categories of the first tab."""
    found = set(cells["category"].replace(MISSPELT))
    hits = {sheet: len(found & set(names)) for sheet, names in CATEGORIES.items()}
    best = max(hits, key=hits.get)
    if not hits[best]:
        raise _unknown_category(path, cells, CATEGORIES[1])
    return best


def _check_categories(path: Path, cells: pd.DataFrame, sheet: int) -> None:
    known = {*CATEGORIES[sheet], *MISSPELT}
    stray = cells[~cells["category"].isin(known)]
    if not stray.empty:
        raise _unknown_category(path, stray, CATEGORIES[sheet])


def _unknown_category(path: Path, cells: pd.DataFrame, known: tuple[str, ...]) -> BadTable:
    first = cells.iloc[0]
    near = get_close_matches(first["category"], known, n=1)
    todo = f"did you mean {near[0]}?" if near else "a test of your own goes into a CSV in the tidy layout"
    return BadTable(
        "an unknown category",
        where=f"{path}, tab {first['tab_name']!r}, row {first['row']}",
        expected=", ".join(known),
        got=repr(first["category"][:60]),
        todo=todo,
    )
