"""The published lists, rebuilt from the annotation workbooks, and what the rules do not explain.

Every published file that a workbook stands behind is put together again by
:mod:`localbias.words.assemble` and compared word by word. What differs was edited by hand in the published
files; those edits are computed here, when asked, from the two. English has no workbook for the original
tests, and the English India lists have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

import pandas as pd

from localbias import sources
from localbias.errors import unknown
from localbias.files import checked, in_cache, kept
from localbias.registry import LANGUAGES
from localbias.words.annotations import SHEETS_READ_AS, Workbook, cleaned, read_workbook
from localbias.words.assemble import VALENCE_SETS, assemble
from localbias.words.lexicon import folded, resolve_dataset, sorted_words, word_table
from localbias.words.tidy import COLUMNS, TRACE, words_schema

BOOKS = "weathub/annotations/"
NAME_SETS = {("weat6", "X"), ("weat6", "Y")}
MANY_NAMES = 3
_ALTERNATIVES = re.compile(r"\s(or|ou|o)\s|[/(;]")
LIST = ["language", "variant", "test", "role"]

EDIT_KINDS = {
    "inherited from weat1": "a valence set of 12b or 13b takes over an edit of weat1",
    "name replaced": "a first name of weat6 gave way to another, as did at least two more of its set",
    "translation added": "the workbook still has the English word; the published list has a translation",
    "alternative chosen": "the cell offers alternatives or a note; the published list keeps a part of it",
    "alternatives split": "one cell with alternatives became several words",
    "heading removed": "a cell that is a heading, not a word, was left out",
    "word replaced": "one word gave way to another",
    "word added": "a word that no cell holds",
    "word removed": "a cell's word was left out",
}
"""Kind of hand edit → what it means."""


def books(languages: Iterable[str] | None = None) -> list[tuple[str, int, str]]:
    """Language, sheet number and pinned path of every published workbook."""
    codes = {language.stem: code for code, language in LANGUAGES.items()}
    wanted = None if languages is None else set(languages)
    found = []
    for path in sources.paths(BOOKS):
        stem, _, sheet = path.removeprefix(BOOKS).removesuffix(".xlsx").rpartition("_sheet")
        if wanted is None or codes[stem] in wanted:
            found.append((codes[stem], int(sheet), path))
    return sorted(found)


def published_workbook(path: str) -> Workbook:
    """A published workbook; its cells are kept in the cache, because reading .xlsx is slow."""
    file = sources.fetch(path)
    digest = sources.pinned(path)[1]

    def read(folder: Path) -> Workbook:
        held = folder / f"{digest[:32]}-{SHEETS_READ_AS}.parquet"
        cells = kept(held, pd.read_parquet)
        if cells is not None:
            return Workbook(file, int(path.removesuffix(".xlsx")[-1]), cells)
        book = read_workbook(file)
        with checked(held) as draft:
            book.cells.to_parquet(draft, index=False)
        return book

    return in_cache(read, "annotations")


def has_workbooks(dataset: str = "auto") -> bool:
    """Whether the published lists and the workbooks behind them can be had."""
    return resolve_dataset(dataset) == "weathub" and sources.available(BOOKS)


def rebuilt_words(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """The lists that the rules alone make of the workbooks.

    Parameters
    ----------
    languages : iterable of str, optional
        Codes; all that have a workbook when left out.

    Returns
    -------
    pandas.DataFrame
        Columns of the tidy table with source (workbook), tab, row; gaps are the word "nan", as published.
    """
    known = {code for code, _, _ in books()}
    for code in languages or ():
        if code not in known:
            raise unknown("language with a workbook", code, sorted(known))
    return _rebuilt(tuple(sorted(set(languages))) if languages is not None else None).copy()


@lru_cache(maxsize=16)
def _rebuilt(languages: tuple[str, ...] | None) -> pd.DataFrame:
    tables = [assemble(published_workbook(path), code) for code, _, path in books(languages)]
    table = pd.concat(tables, ignore_index=True)
    table = pd.concat([table, _valence(table, set(table["language"]))], ignore_index=True)
    return sorted_words(table.assign(dataset="weathub")[[*COLUMNS, *TRACE]])


def _valence(table: pd.DataFrame, languages: set[str]) -> pd.DataFrame:
    """Attribute sets of 12b and 13b: weat1's, from the workbook; English ones from its published list."""
    weat1 = table[(table["test"] == "weat1") & (table["variant"] == "all")]
    if "en" in languages:
        weat1 = pd.concat([weat1, word_table("weathub", "en", "weat1")], ignore_index=True)
    parts = [
        weat1[weat1["role"] == origin].assign(test=test, role=role, variant="new")
        for test in ("weat12b", "weat13b")
        for role, (_, origin) in VALENCE_SETS.items()
    ]
    return pd.concat(parts, ignore_index=True)


# -- rebuilt against published --------------------------------------------------------------------------


def compare(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """Every published word beside the rebuilt one: the two lists of each set, aligned.

    Returns
    -------
    pandas.DataFrame
        language, variant, test, role, position (in the published list, or where a removed word would
        stand), rebuilt, published ("" where a list has no counterpart), kind ("" where equal, else one of
        :data:`EDIT_KINDS`), source, tab, row (of the rebuilt word; row 0 for an added one).
    """
    return _compared(tuple(sorted(set(languages))) if languages is not None else None).copy()


@lru_cache(maxsize=16)
def _compared(languages: tuple[str, ...] | None) -> pd.DataFrame:
    ours = _lists(rebuilt_words(languages))
    theirs = _lists(word_table("weathub", {language for language, *_ in ours}))
    glosses = english_words()
    rows: list[tuple] = []
    for key, published in theirs.items():
        if key in ours:
            rows += _aligned(key, ours[key], [word for word, *_ in published], glosses)
    return pd.DataFrame(rows, columns=[*LIST, "position", "rebuilt", "published", "kind", *TRACE])


def _lists(table: pd.DataFrame) -> dict[tuple, list[tuple]]:
    """(language, variant, test, role) → its (word, source, tab, row) in order."""
    lists: dict[tuple, list[tuple]] = {}
    for row in table[[*LIST, "word", *TRACE]].itertuples(index=False, name=None):
        lists.setdefault(row[: len(LIST)], []).append(row[len(LIST) :])
    return lists


def _aligned(key: tuple, ours: list[tuple], theirs: list[str], glosses: dict[str, set[str]]) -> list[tuple]:
    words = [word for word, *_ in ours]
    localised = len(set(words) - set(theirs)) >= MANY_NAMES
    rows: list[tuple] = []
    matcher = SequenceMatcher(None, words, theirs, autojunk=False)
    operations = matcher.get_opcodes() if words != theirs else [("equal", 0, len(words), 0, len(words))]
    for operation, start, stop, begin, end in operations:
        for step in range(max(stop - start, end - begin)):
            old = words[start + step] if start + step < stop else ""
            new = theirs[begin + step] if begin + step < end else ""
            split = operation == "replace" and end - begin > stop - start
            cell = ours[min(start + step, stop - 1)][1:] if old or split else ("", "", 0)
            kind = "" if operation == "equal" else _kind(key, old, new, split, localised, glosses)
            rows.append((*key, begin + step + 1, old, new, kind, *cell))
    return rows


def _kind(key: tuple, old: str, new: str, split: bool, localised: bool, glosses: dict[str, set[str]]) -> str:
    language, _, test, role = key
    if test in ("weat12b", "weat13b") and role in VALENCE_SETS:
        return "inherited from weat1"
    if split:
        return "alternatives split"
    if not old:
        return "word added"
    if not new:
        return "heading removed" if old.isupper() and " " in old else "word removed"
    if (test, role) in NAME_SETS and localised:
        return "name replaced"
    if folded(old) in glosses.get(test, set()) and language != "en":
        return "translation added"
    return "alternative chosen" if new in old and _ALTERNATIVES.search(old) else "word replaced"


@lru_cache(maxsize=1)
def english_words() -> dict[str, set[str]]:
    """Test → every English word of it, folded, from the published English lists."""
    table = word_table("weathub", "en")
    return {test: {folded(word) for word in group["word"]} for test, group in table.groupby("test")}


def edits(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """The hand edits: rows of :func:`compare` where the published word is not the rebuilt one."""
    table = compare(languages)
    return table[table["kind"] != ""].reset_index(drop=True)


def files(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """Every published file and how it was rebuilt.

    Returns
    -------
    pandas.DataFrame
        language, variant, test, words, edits (words that differ), outcome: "exact", "edited",
        "inherited" (only edits of weat1, in 12b and 13b), "no workbook".
    """
    table = compare(languages)
    inherited = table["kind"] == "inherited from weat1"
    edited = table["kind"] != ""
    table = table.assign(edits=edited, own=edited & ~inherited, words=table["published"] != "")
    done = table.groupby(["language", "variant", "test"], sort=False)[["words", "edits", "own"]].sum().reset_index()
    done["outcome"] = "exact"
    done.loc[done["edits"] > 0, "outcome"] = "inherited"
    done.loc[done["own"] > 0, "outcome"] = "edited"
    theirs = word_table("weathub", None if languages is None else list(languages))
    every = theirs.groupby(["language", "variant", "test"], sort=False).size().rename("n").reset_index()
    merged = every.merge(done.drop(columns="own"), how="left", on=["language", "variant", "test"])
    merged["outcome"] = merged["outcome"].fillna("no workbook")
    merged["words"] = merged["words"].fillna(merged["n"]).astype(int)
    merged["edits"] = merged["edits"].fillna(0).astype(int)
    return merged.drop(columns="n")


def summary(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """Per language and variant: files, how many exact, edited, inherited, without a workbook, and which edits."""
    table = files(languages)
    counts = table.pivot_table(
        index=["language", "variant"], columns="outcome", values="test", aggfunc="size", fill_value=0, sort=True
    )
    counts = counts.reindex(columns=["exact", "edited", "inherited", "no workbook"], fill_value=0)
    counts.insert(0, "files", counts.sum(axis=1))
    kinds = edits(languages).groupby(["language", "variant"]).apply(_edit_list, include_groups=False)
    counts["edits"] = kinds.reindex(counts.index).fillna("") if len(kinds) else ""
    counts.columns.name = None
    return counts.reset_index()


def outcomes(languages: Iterable[str]) -> pd.DataFrame:
    """Files per variant and outcome, for a chart: variant, outcome, files."""
    counts = files(languages).groupby(["variant", "outcome"]).size().rename("files").reset_index()
    order = ["exact", "edited", "inherited", "no workbook"]
    return counts.sort_values(
        ["variant", "outcome"],
        key=lambda column: column.map(
            {name: place for place, name in enumerate(["gt", "human", "all", "new", "india", *order])}
        ),
        kind="stable",
    ).reset_index(drop=True)


def _edit_list(group: pd.DataFrame) -> str:
    counts = group["kind"].value_counts().sort_index()
    return "; ".join(f"{kind}: {count}" for kind, count in counts.items())


def traced_words(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """The published word table with the cell behind every word, checked against its schema.

    Parameters
    ----------
    languages : iterable of str, optional
        Codes; all when left out.

    Returns
    -------
    pandas.DataFrame
        Columns of the tidy table; source, tab, row: workbook and cell, or the JSON file where there is no
        workbook or no cell (row 0); edit: the kind of hand edit, "" for none.
    """
    table = word_table("weathub", None if languages is None else list(languages))
    compared = compare(None if languages is None else [code for code, *_ in _with_books(languages)])
    found = compared[compared["published"] != ""].rename(columns={"published": "word", "kind": "edit"})
    keys = [*LIST, "position", "word"]
    merged = (
        table.rename(columns={"source": "file"})
        .drop(columns=["tab", "row"])
        .merge(found[[*keys, "edit", "source", "tab", "row"]], how="left", on=keys)
    )
    traced = merged["source"].fillna("") != ""
    merged["source"] = merged["source"].where(traced, merged["file"])
    merged["edit"], merged["tab"] = merged["edit"].fillna(""), merged["tab"].fillna("")
    merged["row"] = merged["row"].fillna(0).astype(int)
    checked = words_schema().validate(merged[[*COLUMNS, *TRACE, "edit"]], lazy=True)
    return checked


def _with_books(languages: Iterable[str]) -> list[tuple[str, int, str]]:
    first = {}
    for code, sheet, path in books(languages):
        first.setdefault(code, (code, sheet, path))
    return list(first.values())


# -- what the annotators did ----------------------------------------------------------------------------


def translation_changes(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """How much the human translators changed of the machine translation.

    Rows of first tabs that hold both translations, each row of a workbook once, compared after cleaning and
    folding of case and blanks.

    Returns
    -------
    pandas.DataFrame
        language, sheet, cells (with both), changed, share, as_english (human word is the English one),
        only_machine, only_human (one of the two is a gap).
    """
    rows = []
    for code, sheet, path in books(languages):
        cells = published_workbook(path).cells
        wide = cells[cells["tab"] == 1].pivot_table(index="row", columns="column", values="text", aggfunc="first")
        if not {"google", "human"} <= set(wide):
            continue
        words = wide.reindex(columns=["english", "google", "human"]).fillna("").map(lambda text: folded(cleaned(text)))
        machine, human = words["google"] != "nan", words["human"] != "nan"
        both = machine & human
        changed = int((both & (words["google"] != words["human"])).sum())
        rows.append(
            (
                code,
                sheet,
                int(both.sum()),
                changed,
                changed / max(int(both.sum()), 1),
                int((human & (words["human"] == words["english"])).sum()),
                int((machine & ~human).sum()),
                int((human & ~machine).sum()),
            )
        )
    columns = ["language", "sheet", "cells", "changed", "share", "as_english", "only_machine", "only_human"]
    return pd.DataFrame(rows, columns=columns)


def local_words(languages: Iterable[str] | None = None) -> pd.DataFrame:
    """The words that the second tabs of sheet 1 add to the translated ones.

    Returns
    -------
    pandas.DataFrame
        language, category, translated (rows of the first tab), listed (rows of the second), added (rows
        more), new (distinct words of the second tab that the first does not have), lost (distinct words
        of the first that the second does not have).
    """
    rows = []
    for code, sheet, path in books(languages):
        if sheet != 1:
            continue
        cells = published_workbook(path).cells
        human = cells[cells["column"] == "human"].assign(word=lambda table: table["text"].map(cleaned).map(folded))
        for category, group in human[human["word"] != "nan"].groupby("category", sort=False):
            first, second = (group.loc[group["tab"] == tab, "word"] for tab in (1, 2))
            rows.append(
                (
                    code,
                    category,
                    len(first),
                    len(second),
                    len(second) - len(first),
                    len(set(second) - set(first)),
                    len(set(first) - set(second)),
                )
            )
    return pd.DataFrame(rows, columns=["language", "category", "translated", "listed", "added", "new", "lost"])


def phrases(dataset: str = "weathub", languages: Iterable[str] | None = None) -> pd.DataFrame:
    """Share of entries of several words, per language and variant: language, variant, words, phrases, share."""
    table = word_table(dataset, languages)
    table = table.assign(phrase=table["word"].str.strip().str.contains(r"\s"))
    out = table.groupby(["language", "variant"], sort=True)["phrase"].agg(["size", "sum", "mean"]).reset_index()
    return out.set_axis(["language", "variant", "words", "phrases", "share"], axis=1)
