"""Word lists by name: the published WEATHub, the starter, and anybody's own.

A data set is ``"weathub"`` (the published lists), ``"starter"`` (the project's own), the name of a file
in ``data/lexicons/`` or a path to a CSV in the tidy layout (:mod:`localbias.words.tidy`) or a workbook as
WEATHub's annotators filled it. ``"auto"`` is the published lists where they can be had, else the starter.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import pandas as pd

from localbias import sources
from localbias.errors import BadTable, SourceUnavailable, unknown
from localbias.files import given_path, project_root, read_checked
from localbias.registry import LANGUAGES, TESTS, ranges
from localbias.words.tidy import COLUMNS, ROLES, TRACE, read_words_csv

PUBLISHED, STARTER = "weathub", "starter"
ROLE_KEYS = {"X": "targ1", "Y": "targ2", "A": "attr1", "B": "attr2"}
"""Role → its key in the published JSON files."""
FAMILY_VARIANTS = {"original": ("all", "gt", "human"), "dimension": ("new",), "india": ("india",)}
"""Family of tests → the published variants, the one that ``variant="all"`` means first."""
PREFIX = "weathub/data/"
JOINERS = frozenset("\u200c\u200d")
JOINER_SCRIPTS = ("Arab", "Beng", "Deva", "Guru", "Telu")
"""Scripts whose spelling needs the zero-width joiners; elsewhere they count as invisible."""


@dataclass(frozen=True)
class WordSets:
    """The four word sets of one test in one language.

    ``x`` and ``y`` are the target sets, ``a`` and ``b`` the attribute sets, in the order published;
    ``variant`` says which translation, ``provenance`` which file.
    """

    x: list[str]
    y: list[str]
    a: list[str]
    b: list[str]
    test: str = ""
    language: str = ""
    variant: str = ""
    dataset: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict)

    @property
    def sets(self) -> dict[str, list[str]]:
        """Role → words, in the order X, Y, A, B.

        >>> WordSets(["rose"], ["ant"], ["joy"], ["evil"]).sets
        {'X': ['rose'], 'Y': ['ant'], 'A': ['joy'], 'B': ['evil']}
        """
        return {"X": self.x, "Y": self.y, "A": self.a, "B": self.b}

    @property
    def words(self) -> list[str]:
        """Every word once, in the order of the sets."""
        return list(dict.fromkeys(word for words in self.sets.values() for word in words))


def resolve_dataset(dataset: str = "auto") -> str:
    """The data set that a name stands for.

    Parameters
    ----------
    dataset : str
        "auto", "weathub", "starter", the name of a file in ``data/lexicons``, or a path.

    Returns
    -------
    str
        "weathub", "starter" or the user's name or path as given. "auto" gives "weathub" when all
        published lists are here or can be downloaded.

    Raises
    ------
    UnknownName
        When there is no such data set.
    """
    if dataset == "auto":
        return PUBLISHED if sources.available(PREFIX) else STARTER
    if dataset in (PUBLISHED, STARTER):
        return dataset
    _user_file(dataset)
    return dataset


def dataset_label(dataset: str) -> str:
    """What result rows say for a data set: its name, for a path the file's name without ending.

    >>> dataset_label("some/folder/my-list.csv")
    'my-list'
    """
    return dataset if dataset in (PUBLISHED, STARTER) else Path(dataset).stem


def load_words(test: str, language: str, variant: str = "all", dataset: str = "auto") -> WordSets:
    """The four word sets of a test in a language.

    Parameters
    ----------
    test : str
        "weat1" … "weat26", or a test of the user's own list.
    language : str
        A code of the registry, or one of the user's own list.
    variant : str
        "all" is the family's published list (original tests: "all", dimensions: "new", India tests:
        "india"); "gt" and "human" are the machine and the human translation of the original tests.
        English has one list, whatever is asked. The starter has one variant.
    dataset : str
        See :func:`resolve_dataset`.

    Returns
    -------
    WordSets
        Words as published, unchanged.

    Raises
    ------
    UnknownName
        When the data set has no such test, language or variant.
    SourceUnavailable, WrongHash
        When a published file cannot be had, or is not the pinned one.
    """
    dataset = resolve_dataset(dataset)
    if dataset == PUBLISHED:
        return _published_sets(test, language, variant)
    return _table_sets(_local_table(dataset), test, language, variant, dataset)


def word_table(
    dataset: str = "auto",
    languages: Iterable[str] | str | None = None,
    tests: Iterable[str] | str | None = None,
    variants: Iterable[str] | str | None = None,
) -> pd.DataFrame:
    """The tidy word table of a data set: one row a word.

    Parameters
    ----------
    dataset : str
        See :func:`resolve_dataset`.
    languages, tests, variants : iterable of str, optional
        Keep only these; a single name may be given alone.

    Returns
    -------
    pandas.DataFrame
        Columns dataset, language, variant, test, role, category, position (1, 2, … in a set), word,
        source, tab, row: for published lists the JSON file; :func:`localbias.words.rebuild.traced_words`
        says which cell of which workbook.
    """
    dataset = resolve_dataset(dataset)
    table = _published_table() if dataset == PUBLISHED else _local_table(dataset)
    for name, wanted in (("language", languages), ("test", tests), ("variant", variants)):
        if wanted is not None:
            keep = [wanted] if isinstance(wanted, str) else list(wanted)
            table = table[table[name].isin(keep)]
    return table.reset_index(drop=True)


def catalogue(dataset: str = "auto") -> pd.DataFrame:
    """What a data set holds: one row a language, variant and test, with the sizes of its four sets.

    Returns
    -------
    pandas.DataFrame
        Columns dataset, language, variant, test, n_x, n_y, n_a, n_b.
    """
    table = word_table(dataset)
    sizes = table.pivot_table(
        index=["dataset", "language", "variant", "test"],
        columns="role",
        values="word",
        aggfunc="size",
        fill_value=0,
        sort=True,
        observed=True,
    )
    sizes = sizes.reindex(columns=list(ROLES), fill_value=0).astype(int)
    sizes.columns = [f"n_{role.lower()}" for role in ROLES]
    return sizes.reset_index().sort_values(["language", "variant", "test"], key=_natural).reset_index(drop=True)


def languages_in(dataset: str = "auto") -> list[str]:
    """Codes of the languages of a data set: the registry's in its order, then the user's own.

    >>> languages_in("starter")[:3]
    ['ar', 'bn', 'ckb']
    """
    dataset = resolve_dataset(dataset)
    if dataset == PUBLISHED:
        codes = {path.removeprefix(PREFIX).split("/")[0].split("_")[0] for path in _published_paths()}
    else:
        codes = set(_local_table(dataset)["language"])
    return [code for code in LANGUAGES if code in codes] + sorted(codes - set(LANGUAGES))


@ranges.checked
def known_languages(languages: Iterable[str] | str, dataset: str = "auto") -> list[str]:
    """The languages of a page: "all" that the data set has, or those named, each checked.

    >>> known_languages(["zh"], "starter"), len(known_languages("all", "starter"))
    (['zh'], 25)
    """
    have = languages_in(dataset)
    if languages == "all":
        return have
    for code in (languages := [languages] if isinstance(languages, str) else list(languages)):
        if code not in have:
            raise unknown("language of this data set", code, have)
    return languages


def main_lists(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of the lists that a test uses by default: without machine and human translations, tests in order."""
    table = table[~table["variant"].isin(["gt", "human"])]
    order = {name: place for place, name in enumerate(TESTS)}
    place = table["test"].map(lambda name: order.get(name, len(order)))
    return table.loc[place.sort_values(kind="stable").index].reset_index(drop=True)


def tests_in(dataset: str = "auto", language: str | None = None) -> list[str]:
    """Names of the tests of a data set (in a language): the registry's in its order, then the user's own.

    >>> tests_in("starter", "zh")[:2]
    ['weat1', 'weat2']
    """
    dataset = resolve_dataset(dataset)
    if dataset == PUBLISHED:
        parts = [path.removeprefix(PREFIX).removesuffix(".json").split("/") for path in _published_paths()]
        names = {test for folder, test in parts if language in (None, folder.split("_")[0])}
    else:
        table = _local_table(dataset)
        names = set(table["test"] if language is None else table.loc[table["language"] == language, "test"])
    return [test for test in TESTS if test in names] + sorted(names - set(TESTS))


tests_in.__test__ = False  # for pytest: not a test of this library


def has_words(test: str, language: str, variant: str = "all", dataset: str = "auto") -> bool:
    """Whether :func:`load_words` would find these sets; reads no word of the published lists."""
    dataset = resolve_dataset(dataset)
    if dataset == PUBLISHED:
        family = TESTS[test].family if test in TESTS else ""
        if variant not in ("all", *FAMILY_VARIANTS.get(family, ())):
            return False
        return _is_pinned(_published_path(test, language, variant)[0])
    table = _local_table(dataset)
    found = table[(table["test"] == test) & (table["language"] == language)]
    return not found.empty and _choose_variant(list(found["variant"].unique()), variant, dataset) is not None


def clean_sets(sets: WordSets, same: Callable[[str], Hashable] | None = None) -> WordSets:
    """The sets without what cannot measure anything: repeated words, words on both sides of a pair, gaps.

    A word counts as the same when it is equal after NFC normalisation, folding of case and of blanks (:func:`folded`),
    or when ``same`` gives equal values, such as what a model reads; a word of which it gives None goes.
    Within a set the first of equal words stays; a word of both X and Y (or both A and B) leaves both; a
    cell that says only "nan" (a gap written as text) goes. Identical sets of a pair become empty.

    Returns
    -------
    WordSets
        In the old order; ``provenance["removed"]`` counts what went, per role.

    Examples
    --------
    >>> clean_sets(WordSets(["rose", "Rose", "ant"], ["ant", "bee"], ["joy"], ["evil", "nan"])).sets
    {'X': ['rose'], 'Y': ['bee'], 'A': ['joy'], 'B': ['evil']}
    """
    same = same or _folded_or_gap
    kept = {role: _unique(words, same) for role, words in sets.sets.items()}
    for one, other in (("X", "Y"), ("A", "B")):
        shared = {same(word) for word in kept[one]} & {same(word) for word in kept[other]}
        for role in (one, other):
            kept[role] = [word for word in kept[role] if same(word) not in shared]
    before = sets.provenance.get("removed", {})
    removed = {role: before.get(role, 0) + len(words) - len(kept[role]) for role, words in sets.sets.items()}
    provenance = {**sets.provenance, "clean": True, "removed": removed}
    return replace(sets, x=kept["X"], y=kept["Y"], a=kept["A"], b=kept["B"], provenance=provenance)


@lru_cache(maxsize=65536)
def folded(word: str) -> str:
    """A word as compared: NFC, case folded, blanks joined, without characters that nobody sees (joiners stay).

    >>> folded(" Rose  Bush"), folded("ro\\u200bse")
    ('rose bush', 'rose')
    """
    seen = "".join(char for char in word if char in JOINERS or unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFC", seen).casefold().split())


def unseen(word: str, language: str) -> list[str]:
    """The code points of characters that nobody sees; joiners inside a word whose script needs them are none.

    >>> unseen("ro\\u200bse", "en"), unseen("می\\u200cروم", "fa"), unseen("la\\u00a0rosa", "es")
    (['U+200B'], [], ['U+00A0'])
    """
    script = LANGUAGES[language].script if language in LANGUAGES else ""
    joiners = JOINERS if script in (*JOINER_SCRIPTS, "") else frozenset()
    hidden = [
        char
        for place, char in enumerate(word)
        if (
            unicodedata.category(char) in ("Cf", "Cc", "Co", "Cn", "Zl", "Zp")
            or (unicodedata.category(char) == "Zs" and char not in " \u3000")
        )
        and not (char in joiners and 0 < place < len(word) - 1)
    ]
    return [f"U+{ord(char):04X}" for char in hidden]


def _folded_or_gap(word: str) -> str | None:
    return None if folded(word) in ("", "nan") else folded(word)


def _unique(words: list[str], same: Callable[[str], Hashable]) -> list[str]:
    first: dict[Hashable, str] = {}
    for word in words:
        first.setdefault(same(word), word)
    return [word for key, word in first.items() if key is not None]


# -- published lists ------------------------------------------------------------------------------------


def _published_paths() -> list[str]:
    return sources.paths(PREFIX)


def _is_pinned(path: str) -> bool:
    name, _, inner = path.partition("/")
    return inner in sources.registry()[name].files


def _published_path(test: str, language: str, variant: str) -> tuple[str, str]:
    """The pinned path of a list and the variant it is labelled with."""
    family = TESTS[test].family if test in TESTS else "original"
    label = FAMILY_VARIANTS[family][0] if variant == "all" else variant
    if language == "en" and family == "original":
        return f"{PREFIX}en/{test}.json", "all"
    return f"{PREFIX}{language}_{label}/{test}.json", label


def _published_sets(test: str, language: str, variant: str) -> WordSets:
    if test not in TESTS:
        raise unknown("test", test, TESTS)
    if language not in LANGUAGES:
        raise unknown("language", language, LANGUAGES)
    variants = FAMILY_VARIANTS[TESTS[test].family]
    if variant not in ("all", *variants):
        raise unknown("variant", variant, sorted({"all", *variants}), f"{test} has no variant {variant}")
    path, label = _published_path(test, language, variant)
    if not _is_pinned(path):
        have = sorted({p.split("/")[2].split("_")[0] for p in _published_paths() if p.endswith(f"/{test}.json")})
        raise unknown("language for this test", language, have, f"{test} is published in {', '.join(have)}")
    source = sources.registry()[PUBLISHED]
    sets = read_published(path)
    words = {role: sets[role][1] for role in ROLES}
    provenance = {"file": path, "repository": source.repository, "commit": source.commit, "licence": source.licence}
    return WordSets(words["X"], words["Y"], words["A"], words["B"], test, language, label, PUBLISHED, provenance)


def read_published(path: str) -> dict[str, tuple[str, list[str]]]:
    """Role → (category, words) of a published JSON file; BadTable when it has another form."""
    return read_sets_json(sources.fetch(path), path)


def read_sets_json(file: Path, path: str = "") -> dict[str, tuple[str, list[str]]]:
    """Role → (category, words) of a JSON file in the published layout (targ1, targ2, attr1, attr2)."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        sets = {role: (content[key]["category"], content[key]["examples"]) for role, key in ROLE_KEYS.items()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadTable(
            "not a word-list file in WEATHub's layout",
            where=path or str(file),
            got=f"{type(error).__name__}: {error}",
            expected="targ1, targ2, attr1 and attr2, each with category and examples",
        ) from error
    for role, (category, words) in sets.items():
        if not (isinstance(category, str) and isinstance(words, list)):
            raise BadTable(
                "a set is not a category and its examples",
                where=f"{path or file}, set {role}",
                expected="a text and a list of words",
                got=f"{category!r:.60} and {words!r:.60}",
            )
        for position, word in enumerate(words, 1):
            if not isinstance(word, str):
                raise BadTable(
                    "a word that is not text",
                    where=f"{path or file}, set {role}, position {position}",
                    expected="text",
                    got=repr(word),
                )
    return sets


def _published_table() -> pd.DataFrame:
    sources.fetch_all(PREFIX, progress=any(sources.local(path) is None for path in sources.paths(PREFIX)))
    stamp = tuple(sources.fetch(path) for path in sources.paths(PREFIX))
    return _published_frame(stamp).copy()


@lru_cache(maxsize=2)
def _published_frame(files: tuple[Path, ...]) -> pd.DataFrame:
    rows = []
    for path, file in zip(sources.paths(PREFIX), files, strict=True):
        folder, name = path.removeprefix(PREFIX).split("/")
        language, _, label = folder.partition("_")
        test = name.removesuffix(".json")
        for role, (category, words) in read_sets_json(file, path).items():
            rows += [
                (PUBLISHED, language, label or "all", test, role, category, position, word, path, "", 0)
                for position, word in enumerate(words, 1)
            ]
    table = pd.DataFrame(rows, columns=[*COLUMNS, *TRACE])
    return sorted_words(table)


def sorted_words(table: pd.DataFrame) -> pd.DataFrame:
    """A tidy table in its canonical order: language, variant, test (by number), role X Y A B, position."""
    order = pd.DataFrame(
        {
            "language": table["language"],
            "variant": table["variant"],
            "test": _natural(table["test"]),
            "role": table["role"].map({role: place for place, role in enumerate(ROLES)}),
            "position": table["position"],
        }
    )
    return table.loc[order.sort_values(list(order), kind="stable").index].reset_index(drop=True)


def _natural(names: pd.Series) -> pd.Series:
    """Sort key for names: "weat2" before "weat10", "weat12" before "weat12b"."""
    return names.str.replace(r"\d+", lambda found: found.group().zfill(6), regex=True)


# -- local tables: starter and users' lists -------------------------------------------------------------


def lexicon_names() -> list[str]:
    """Names of the lists in ``data/lexicons``."""
    folder = project_root() / "data" / "lexicons"
    return sorted(file.stem for file in folder.glob("*.csv")) if folder.is_dir() else []


def _user_file(dataset: str) -> Path:
    named = project_root() / "data" / "lexicons" / f"{dataset}.csv"
    places = [*([named] if "/" not in dataset else []), given_path(dataset), project_root() / dataset]
    for place in places:
        if os.path.isfile(place):  # False also for what can be no path
            return place
    known = ["auto", PUBLISHED, STARTER, *lexicon_names()]
    raise unknown("data set", dataset, known, "put a CSV into data/lexicons, or give the path of a CSV or .xlsx file")


def _local_table(dataset: str) -> pd.DataFrame:
    if dataset == STARTER:
        file = project_root() / "data" / "starter" / "words.csv"
        if not file.is_file():
            raise SourceUnavailable("the starter lexicon is missing", where=str(file), todo="restore it from git")
        read_checked(file, lambda stream: None)
        label, variant = STARTER, STARTER
    else:
        file, label, variant = _user_file(dataset), dataset_label(dataset), "user"
    stat = file.stat()
    return _cached_table(file, label, variant, stat.st_mtime_ns, stat.st_size).copy()


@lru_cache(maxsize=16)
def _cached_table(file: Path, label: str, variant: str, stamp: int, size: int) -> pd.DataFrame:
    if file.suffix.lower() in (".xlsx", ".xlsm", ".xls", ".ods"):
        from localbias.words.assemble import load_workbook

        return sorted_words(load_workbook(file, dataset=label))
    return sorted_words(read_words_csv(file, label, variant))


def _choose_variant(have: list[str], wanted: str, dataset: str) -> str | None:
    """The variant to read: the one asked for; "all" also means the only one; the starter has one."""
    if wanted in have:
        return wanted
    if len(have) == 1 and (dataset == STARTER or wanted == "all"):
        return have[0]
    for default in ("new", "india", "user"):
        if wanted == "all" and default in have:
            return default
    return None


def _table_sets(table: pd.DataFrame, test: str, language: str, variant: str, dataset: str) -> WordSets:
    of_test = table[table["test"] == test]
    if of_test.empty:
        raise unknown("test in this data set", test, sorted(table["test"].unique()))
    found = of_test[of_test["language"] == language]
    if found.empty:
        raise unknown(f"language of {test} in this data set", language, sorted(of_test["language"].unique()))
    have = sorted(found["variant"].unique())
    chosen = _choose_variant(have, variant, dataset)
    if chosen is None:
        raise unknown(f"variant of {test} in {language}", variant, have)
    found = found[found["variant"] == chosen]
    words = {role: list(found.loc[found["role"] == role, "word"]) for role in ROLES}
    counts = Counter(found["source"])
    categories = {role: found.loc[found["role"] == role, "category"].iloc[0] for role in ROLES}
    provenance = {"file": ", ".join(sorted(counts)), "rows": len(found), "categories": categories}
    return WordSets(
        words["X"], words["Y"], words["A"], words["B"], test, language, chosen, dataset_label(dataset), provenance
    )
