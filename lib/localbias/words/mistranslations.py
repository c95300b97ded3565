"""Likely mistranslations: a hand-made list, and where its words stand in the published lists.

The list (``data/mistranslations.csv``) was made by comparing meanings and is unchecked by native speakers.
It is a list of doubts, one row a word, not a correction: nothing in the book is computed without these words
unless a page says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from localbias.errors import BadTable, SourceUnavailable
from localbias.files import project_root
from localbias.registry import TESTS
from localbias.words.lexicon import folded, word_table
from localbias.words.tidy import ROLES

COLUMNS = ("language", "test", "category", "english", "word", "meaning", "confidence", "note", "variant")
VARIANTS = ("gt", "human", "gt human")
CONFIDENCE = ("certain", "likely", "possible")
"""How sure the list is, surest first."""


def mistranslations(path: str | Path | None = None, languages: Iterable[str] | None = None) -> pd.DataFrame:
    """The list of likely mistranslations.

    Parameters
    ----------
    path : path, optional
        Another list; ``data/mistranslations.csv`` when left out.
    languages : iterable of str, optional
        Keep only these.

    Returns
    -------
    pandas.DataFrame
        language, test (the first that uses the set), category (the registry's name of the set), role (X, Y, A or
        B), english (the word translated), word (as given), meaning (what it means), confidence ("certain",
        "likely", "possible"), note, variant ("gt": machine, "human", or both); surest first within a language.

    Raises
    ------
    SourceUnavailable
        When the file is not there.
    BadTable
        Names the row and the column of a cell that is not right.
    """
    path = Path(path) if path else project_root() / "data" / "mistranslations.csv"
    if not path.is_file():
        raise SourceUnavailable("the list of mistranslations is missing", where=str(path), todo="restore it from git")
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except (ValueError, UnicodeDecodeError) as error:
        raise BadTable("the list of mistranslations cannot be read", where=str(path), got=str(error)) from error
    table = _checked(table, path)
    if languages is not None:
        table = table[table["language"].isin(list(languages))]
    return table.reset_index(drop=True)


def _checked(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    lacking = [name for name in COLUMNS if name not in table]
    if lacking:
        raise BadTable(
            "the list of mistranslations lacks columns",
            where=str(path),
            expected=", ".join(COLUMNS),
            got=", ".join(table.columns),
            todo="add " + ", ".join(lacking),
        )
    table = table[list(COLUMNS)].apply(lambda column: column.str.strip())
    roles = [_role(test, name) for test, name in zip(table["test"], table["category"], strict=True)]
    table.insert(3, "role", roles)
    rules = {
        "test": table["test"].isin(TESTS),
        "category": table["role"].isin(ROLES),
        "word": table["word"] != "",
        "english": table["english"] != "",
        "meaning": table["meaning"] != "",
        "confidence": table["confidence"].isin(CONFIDENCE),
        "variant": table["variant"].isin(VARIANTS),
    }
    for name, good in rules.items():
        if not good.all():
            row = int((~good).to_numpy().argmax())
            raise BadTable(
                "a cell of the list of mistranslations is not right",
                where=f"{path}, row {row + 2}, column {name}",
                got=repr(table[name].iat[row]),
            )
    order = table["confidence"].map(CONFIDENCE.index)
    return table.loc[order.sort_values(kind="stable").index].sort_values("language", kind="stable")


def _role(test: str, category: str) -> str:
    """The role of a set of a test by the registry's name of it; "" when the test has no such set."""
    names = {title: role for role, title in TESTS[test].sets.items()} if test in TESTS else {}
    return names.get(category, "")


def located(table: pd.DataFrame, dataset: str = "weathub") -> pd.DataFrame:
    """Where the words of :func:`mistranslations` stand in a data set's lists.

    A word is looked for in every test that has a set of the same name in its language (weat2 has weat1's
    attributes), so that one doubt counts wherever it is measured.

    Returns
    -------
    pandas.DataFrame
        The table with lists (how many hold the word; 0: not found as written), tests and variants (which).
    """
    words = word_table(dataset, sorted(set(table["language"])))
    keys: dict[tuple, list[tuple]] = {}
    for language, variant, test, role, word in words[["language", "variant", "test", "role", "word"]].itertuples(
        index=False, name=None
    ):
        if test in TESTS:
            keys.setdefault((language, TESTS[test].sets[role], folded(word)), []).append((test, variant))
    found = [
        sorted(set(keys.get((language, category, folded(word)), [])))
        for language, category, word in table[["language", "category", "word"]].itertuples(index=False)
    ]
    return table.assign(
        lists=[len(hits) for hits in found],
        tests=[" ".join(dict.fromkeys(test for test, _ in hits)) for hits in found],
        variants=[" ".join(dict.fromkeys(variant for _, variant in hits)) for hits in found],
    )
