"""Cells → word sets, by WEATHub's rules (read off the published files; nowhere written down).

A set is the cells of one column, in row order, of the rows of one category. The original tests come from
sheet 1: machine translation (gt) and human translation from its first tab, the list with local words (all)
from its second. Dimensions (new) come from sheet 2, India tests from sheet 3. The translations, but not
``all``, are cut to the sizes of the classic tests; two sets of weat25 lose their first word; 12b and 13b
take weat1's unpleasant and pleasant words.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd

from localbias.errors import BadTable, unknown
from localbias.registry import LANGUAGES
from localbias.words.annotations import Workbook, cleaned, read_workbook
from localbias.words.tidy import COLUMNS, ROLES, TRACE, category_of

_CASTE_NAMES = ("Upper caste names", "Lower caste names")
_CASTE_ADJECTIVES = ("Upper caste adjectives", "Lower caste adjectives")
_TERMS = ("Male terms", "Female terms")
_VALENCE = ("", "")

SETS: dict[str, tuple[str, str, str, str]] = {
    "weat1": ("Flowers", "Insects", "Pleasant", "Unpleasant"),
    "weat2": ("Instruments", "Weapons", "Pleasant", "Unpleasant"),
    "weat6": ("Male Names", "Female Names", "Career", "Family"),
    "weat7": ("Math", "Art", "Male Terms", "Female Terms"),
    "weat8": ("Science", "Art", "Male Terms", "Female Terms"),
    "weat9": ("Mental Disease", "Physical Disease", "Temporary", "Permanent"),
    "weat11": ("Offensive Words", "Respectful Words", "Female Terms", "Male Terms"),
    "weat12": ("Insult Words", "Disability Words", "Female Terms", "Male Terms"),
    "weat12b": ("Insult Words", "Disability Words", *_VALENCE),
    "weat13": ("LGBTQ+ Words", "Straight Words", "Prejudice", "Pride"),
    "weat13b": ("LGBTQ+ Words", "Straight Words", *_VALENCE),
    "weat14": ("Educated Terms", "Non-educated Terms", "Higher Status Words", "Lower Status Words"),
    "weat15": ("Immigrant Terms", "Non-immigrant Terms", "Disrespectful Words", "Respectful Words 2"),
    "weat16": ("Stereotypical male adjectives", "Stereotypical female adjectives", *_TERMS),
    "weat17": ("Male verbs", "Female verbs", *_TERMS),
    "weat18": ("Male adjectives", "Female adjectives", *_TERMS),
    "weat19": ("Male entities", "Female entities", *_TERMS),
    "weat20": ("Male titles", "Female titles", *_TERMS),
    "weat21": ("Upper caste occupations", "Lower caste occupations", *_CASTE_NAMES),
    "weat22": (*_CASTE_ADJECTIVES, *_CASTE_NAMES),
    "weat23": ("Positive adjectives", "Negative adjectives", "Hindu religion names", "Muslim religion names"),
    "weat24": ("Positive adjectives", "Negative adjectives", "Hindu last names", "Muslim last names"),
    "weat25": ("Hindu religion names", "Muslim religion names", "Hindu religion", "Muslim religion"),
    "weat26": (*_CASTE_ADJECTIVES, "Urban occupations", "Rural occupations"),
}
"""Test → the categories of X, Y, A, B; "" for the valence sets, which are weat1's."""

SHEET_OF = {test: 1 if number < 6 else 2 if number < 13 else 3 for number, test in enumerate(SETS)}
"""Test → the number of the workbook that holds its words."""

CLASSIC: dict[tuple[str, str], tuple[int, ...]] = {
    **{(test, role): tuple(range(25)) for test in ("weat1", "weat2") for role in "AB"},
    **{("weat7", role): tuple(range(8)) for role in "YAB"},
    ("weat8", "Y"): (0, 1, 8, 2, 3, 4, 5, 6),
    ("weat8", "A"): (3, 8, 9, 10, 7, 4, 6, 5),
    ("weat8", "B"): (3, 8, 9, 10, 7, 4, 6, 5),
}
"""Set → the places (0, 1, …) of its category that the translations keep, in their order."""

DROPPED_FIRST = {("weat25", "X"), ("weat25", "Y")}
"""Sets without the first word of their category (it names the religion, as the attributes do)."""

LISTS = {"gt": (1, "google"), "human": (1, "human"), "all": (2, "human"), "new": (1, "human"), "india": (1, "human")}
"""Variant → tab and column."""
VARIANTS = {1: ("gt", "human", "all"), 2: ("new",), 3: ("india",)}
"""Sheet number → its variants."""
VALENCE_SETS = {"A": ("weat1", "B"), "B": ("weat1", "A")}
"""Role of 12b and 13b → the set of weat1 that it takes."""


def assemble(book: Workbook, language: str) -> pd.DataFrame:
    """The word sets of one workbook, by the rules.

    Parameters
    ----------
    book : Workbook
        As read by :func:`localbias.words.annotations.read_workbook`.
    language : str
        The code to write down; English words are taken from the column english.

    Returns
    -------
    pandas.DataFrame
        Tidy: language, variant, test, role, category, position, word (cleaned; "nan" for a gap), source, tab,
        row. Without the valence sets of 12b and 13b, which another workbook holds.
    """
    rows: list[tuple] = []
    for variant in VARIANTS[book.sheet]:
        tab, column = LISTS[variant]
        column = "english" if language == "en" and column == "human" else column
        cells = book.cells[(book.cells["tab"] == tab) & (book.cells["column"] == column)]
        by_category: dict[str, list[tuple]] = {}
        for category, *cell in cells[["category", "text", "tab_name", "row"]].itertuples(index=False, name=None):
            by_category.setdefault(category, []).append(tuple(cell))
        for test in (test for test, sheet in SHEET_OF.items() if sheet == book.sheet):
            for role, category in zip(ROLES, SETS[test], strict=True):
                chosen = _chosen(by_category.get(category, []), variant, test, role)
                rows += [
                    (language, variant, test, role, category, position, cleaned(text), book.path.name, name, row)
                    for position, (text, name, row) in enumerate(chosen, 1)
                ]
    if not rows:
        raise BadTable(
            "the workbook lacks a column",
            where=str(book.path),
            expected=f"words in the column {column!r}",
            got=", ".join(book.cells["column"].unique()),
            todo="fill it in, or give another language",
        )
    return pd.DataFrame(rows, columns=[*COLUMNS[1:], *TRACE])


def _chosen(cells: list[tuple], variant: str, test: str, role: str) -> list[tuple]:
    """The cells of a category that a set takes, in its order."""
    if variant in ("gt", "human") and (test, role) in CLASSIC:
        cells = [cells[place] for place in CLASSIC[test, role] if place < len(cells)]
    return cells[1:] if (test, role) in DROPPED_FIRST else cells


def load_workbook(path: str | Path, language: str | None = None, dataset: str | None = None) -> pd.DataFrame:
    """A person's own annotation workbook as tidy words: the layout of WEATHub's annotators.

    Parameters
    ----------
    path : path
        An .xlsx file with the columns of sheet 1, 2 or 3 (:mod:`localbias.words.annotations`).
    language : str, optional
        Its code; by default what the file name starts with: a code (``sw_sheet1.xlsx``) or a language
        of the registry (``hindi_sheet2.xlsx``).
    dataset : str, optional
        What the column ``dataset`` says; by default the file's name without its ending.

    Returns
    -------
    pandas.DataFrame
        Columns of the tidy table with source, tab, row. Only tests whose four sets the workbook holds.
        Gaps are left out, with a warning that names their cells.

    Raises
    ------
    BadTable
        See :func:`localbias.words.annotations.read_workbook`.
    UnknownName
        When the language is not given and cannot be told from the file name.
    """
    path = Path(path)
    language = language or _language_of(path)
    table = assemble(read_workbook(path), language)
    gaps = table["word"] == "nan"
    if gaps.any():
        cells = table.loc[gaps, ["tab", "row"]].drop_duplicates()
        named = ", ".join(f"tab {tab!r} row {row}" for tab, row in cells.head(10).itertuples(index=False))
        warnings.warn(f"{path.name}: {len(cells)} rows without a word are left out ({named})", stacklevel=2)
    table = table[~gaps]
    complete = table.groupby(["variant", "test"])["role"].transform("nunique") == len(ROLES)
    table = table[complete].assign(dataset=dataset or path.stem)
    table["category"] = [category_of(test, role) for test, role in zip(table["test"], table["role"], strict=True)]
    table["position"] = table.groupby(["variant", "test", "role"]).cumcount() + 1
    return table[[*COLUMNS, *TRACE]].reset_index(drop=True)


def _language_of(path: Path) -> str:
    start = path.stem.split("_")[0].lower()
    stems = {language.stem: code for code, language in LANGUAGES.items()}
    if start in stems:
        return stems[start]
    if start in LANGUAGES or (start.isalpha() and 2 <= len(start) <= 3):
        return start
    raise unknown(
        "language in the workbook's name",
        path.name,
        sorted(stems),
        "name the file <code>_sheet1.xlsx, or give language=",
    )
