"""The audit of word lists: what is wrong with them, one row a finding, and what that does to results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pandas as pd

from localbias.audit import SEVERITIES
from localbias.audit.word_rules import RULES, Finding, Rule, is_gap
from localbias.errors import BadTable, unknown
from localbias.files import cache_dir, checked, kept
from localbias.registry import TESTS, ranges
from localbias.words.lexicon import WordSets, clean_sets, dataset_label, folded, main_lists, resolve_dataset, word_table
from localbias.words.mistranslations import CONFIDENCE
from localbias.words.tidy import KEY, REQUIRED, ROLES, TRACE

LIST = ["dataset", "language", "variant", "test"]
_ROLE_ORDER = (*ROLES, "XY", "AB")
COLUMNS = (*LIST, "role", "position", "word", "kind", "severity", "detail", "source", "tab", "row")

AS_ENGLISH = Rule(
    "as in English",
    "note",
    "the English word itself stands in the list (a left-over, or a word both languages share)",
    "piano",
    lambda sets: iter(()),
)
"""The one rule that also needs the English list of the same test."""


def rules() -> pd.DataFrame:
    """The rules of the audit: kind, severity, meaning, example."""
    every = [*RULES.values(), AS_ENGLISH]
    table = pd.DataFrame(
        [(rule.name, rule.severity, rule.meaning, rule.example) for rule in every],
        columns=["kind", "severity", "meaning", "example"],
    )
    order = table["severity"].map({name: place for place, name in enumerate(SEVERITIES)})
    return table.loc[order.sort_values(kind="stable").index].reset_index(drop=True)


def audit(
    table: pd.DataFrame | str = "auto",
    languages: Iterable[str] | None = None,
    tests: Iterable[str] | None = None,
    variants: Iterable[str] | None = None,
    kinds: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Audit word lists.

    Parameters
    ----------
    table : DataFrame or str
        A tidy word table (:func:`localbias.words.rebuild.traced_words` gives one whose findings name
        workbook, tab and row), or the name of a data set.
    languages, tests, variants : iterable of str, optional
        Audit only these.
    kinds : iterable of str, optional
        Apply only these rules (:func:`rules`).

    Returns
    -------
    pandas.DataFrame
        One row a finding: dataset, language, variant, test, role ("XY" or "AB" for a pair), position (0 for
        a whole set), word, kind, severity ("error", "warning", "note"), detail, source, tab, row.

    Examples
    --------
    >>> words = pd.DataFrame({"dataset": "mine", "language": "es", "variant": "user", "test": "weat1",
    ...     "role": list("XXYYAABB"), "position": [1, 2] * 4,
    ...     "word": ["rosa", "rosa", "mosca", "mosca,", "paz", "amor", "odio", "paz"]})
    >>> audit(words, kinds=["duplicate", "overlap", "punctuation"])[["role", "position", "kind", "detail"]]
      role  position         kind              detail
    0    X         2    duplicate  also at position 1
    1    Y         2  punctuation             holds ,
    2    A         1      overlap           also in B
    """
    if isinstance(table, str):
        table = word_table(table)
    chosen = _chosen_rules(kinds)
    english = _english(table)
    for name, wanted in (("language", languages), ("test", tests), ("variant", variants)):
        if wanted is not None:
            table = table[table[name].isin([wanted] if isinstance(wanted, str) else list(wanted))]
    rows = []
    for key, words in _lists(table).items():
        rows += _audit_list(key, words, chosen, english)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _lists(table: pd.DataFrame) -> dict[tuple, dict[str, list[tuple]]]:
    """(dataset, language, variant, test) → role → its (word, source, tab, row) in order."""
    blank = {name: empty for name, empty in zip(TRACE, ("", "", 0), strict=True) if name not in table}
    traced = table.assign(**blank)[[*LIST, "role", "word", *TRACE]]
    lists: dict[tuple, dict[str, list[tuple]]] = {}
    for *key, role, word, source, tab, row in traced.itertuples(index=False, name=None):
        lists.setdefault(tuple(key), {}).setdefault(role, []).append((word, source, tab, int(row)))
    return lists


def _chosen_rules(kinds: Iterable[str] | None) -> list[Rule]:
    every = {**RULES, AS_ENGLISH.name: AS_ENGLISH}
    if kinds is None:
        return list(every.values())
    for kind in (kinds := list(kinds)):
        if kind not in every:
            raise unknown("rule of the audit", kind, every)
    return [every[kind] for kind in kinds]


def _english(table: pd.DataFrame) -> dict[tuple[str, str], set[str]]:
    """Test and role → the English words of the same table, folded."""
    lists = table[table["language"] == "en"]
    return {key: {folded(word) for word in words} for key, words in lists.groupby(["test", "role"])["word"]}


def _audit_list(key: tuple, cells: dict[str, list[tuple]], chosen: list[Rule], english: dict) -> list[tuple]:
    dataset, language, variant, test = key
    words = [[word for word, *_ in cells.get(role, ())] for role in ROLES]
    sets = WordSets(*words, test, language, variant, dataset)
    found = []
    for rule in chosen:
        findings = _as_english(sets, english) if rule is AS_ENGLISH else rule.find(sets)
        found += [(rule, finding) for finding in findings]
    found.sort(key=lambda pair: (_ROLE_ORDER.index(pair[1][0]), pair[1][1], pair[0].name))
    return [
        (
            *key,
            role,
            position,
            word,
            rule.name,
            rule.severity,
            detail,
            *(cells[role][position - 1][1:] if position else ("", "", 0)),
        )
        for rule, (role, position, word, detail) in found
    ]


def _as_english(sets: WordSets, english: dict) -> list[Finding]:
    if sets.language == "en":
        return []
    return [
        (role, position, word, "the English word")
        for role, words in sets.sets.items()
        for position, word in enumerate(words, 1)
        if not is_gap(word) and folded(word) in english.get((sets.test, role), ())
    ]


def counts(findings: pd.DataFrame, by: str = "language") -> pd.DataFrame:
    """Findings per kind and, say, language: columns kind, severity, ``by``, n; largest kinds first.

    A word that stands in several lists counts in each of them (:func:`distinct` joins them).
    """
    table = findings.groupby(["kind", "severity", by], observed=True).size().rename("n").reset_index()
    total = table.groupby("kind")["n"].transform("sum")
    order = table.assign(total=total, place=table["severity"].map(list(SEVERITIES).index))
    order = order.sort_values(["place", "total", "kind", by], ascending=[True, False, True, True], kind="stable")
    return order.drop(columns=["total", "place"]).reset_index(drop=True)


def distinct(findings: pd.DataFrame) -> pd.DataFrame:
    """Findings with the lists that share them joined: one row a language, kind, role and word.

    The translations share most words with the published list, and three tests share two attribute
    sets; columns lists (how many), tests and variants say where.
    """
    keys = ["language", "kind", "severity", "word", "detail"]
    grouped = findings.groupby(keys, sort=False)
    joined = grouped.agg(
        lists=("test", "size"),
        tests=("test", lambda names: " ".join(dict.fromkeys(names))),
        variants=("variant", lambda names: " ".join(dict.fromkeys(names))),
    )
    return joined.reset_index()


def kinds_by_language(findings: pd.DataFrame, languages: Iterable[str]) -> pd.DataFrame:
    """Different findings (:func:`distinct`) per language and kind, for a heat map.

    Every language has a row; where nothing at all was found, the table says 0 for every rule.
    """
    named = rules()[["kind", "severity"]]
    table = counts(distinct(findings))
    kinds = named[named["kind"].isin(table["kind"])] if len(table) else named
    grid = kinds.merge(pd.DataFrame({"language": list(languages)}), how="cross")
    table = grid.merge(table, how="left", on=["kind", "severity", "language"])
    return table if table["n"].notna().any() else table.assign(n=0)


def examples(findings: pd.DataFrame, n: int = 3) -> pd.DataFrame:
    """A few different findings of each kind that concern a word: kind, severity, language, word, detail, tests."""
    table = distinct(findings)
    table = table[table["word"] != ""]
    spread = table.sort_values(["kind", "lists", "language"], ascending=[True, False, True], kind="stable")
    chosen = spread.drop_duplicates(["kind", "language"]).groupby("kind", sort=False).head(n)
    return chosen[["kind", "severity", "language", "word", "detail", "tests"]].reset_index(drop=True)


def removed_words(dataset: str = "auto", languages: Iterable[str] | None = None) -> pd.DataFrame:
    """What :func:`localbias.words.lexicon.clean_sets` takes out of every list.

    Returns
    -------
    pandas.DataFrame
        dataset, language, variant, test, words, removed, share, emptied (roles left without words).
    """
    table = word_table(resolve_dataset(dataset), languages)
    rows = []
    for key, cells in _lists(table).items():
        words = [[word for word, *_ in cells.get(role, ())] for role in ROLES]
        cleaned = clean_sets(WordSets(*words))
        removed = sum(cleaned.provenance["removed"].values())
        emptied = "".join(role for role, left in cleaned.sets.items() if not left)
        total = sum(map(len, words))
        rows.append((*key, total, removed, removed / total, emptied))
    return pd.DataFrame(rows, columns=[*LIST, "words", "removed", "share", "emptied"])


def cleaning_effect(before: pd.DataFrame, after: pd.DataFrame, verdict: str = "significant_paper") -> pd.DataFrame:
    """Effect sizes before and after cleaning, side by side.

    Parameters
    ----------
    before, after : DataFrame
        Results of ``localbias.studies.weat.run_weat`` with ``clean=False`` and ``clean=True``, otherwise equal.
    verdict : str
        Column that says whether a result counts as significant.

    Returns
    -------
    pandas.DataFrame
        language, test, method, d_before, d_after, change, p_before, p_after (two-sided, as on every page), q_before,
        q_after, verdict_before, verdict_after, flipped (the verdicts differ), undefined (no d after cleaning),
        removed (words taken out).

    Raises
    ------
    BadTable
        When the two tables do not have the same rows.
    """
    keys = ["language", "test", "method"]
    sizes = ["n_x", "n_y", "n_a", "n_b"]
    columns = [*keys, "effect_size", "p_two_sided", "q_value", verdict, *sizes]
    lacking = sorted({name for name in columns for table in (before, after) if name not in table})
    if lacking:
        raise BadTable("not results of run_weat", expected=", ".join(columns), got=f"no {', '.join(lacking)}")
    both = before[columns].merge(
        after[columns],
        on=keys,
        how="outer",
        suffixes=("_before", "_after"),
        indicator=True,
        validate="one_to_one",
        sort=False,
    )
    lonely = both[both["_merge"] != "both"]
    if len(lonely):
        raise BadTable(
            "the two results hold different rows",
            expected="the same languages, tests and methods",
            got=", ".join(map(str, lonely[keys].head(5).itertuples(index=False, name=None))),
        )
    out = both[keys].assign(
        d_before=both["effect_size_before"],
        d_after=both["effect_size_after"],
        change=both["effect_size_after"] - both["effect_size_before"],
        p_before=both["p_two_sided_before"],
        p_after=both["p_two_sided_after"],
        q_before=both["q_value_before"],
        q_after=both["q_value_after"],
        verdict_before=both[f"{verdict}_before"].fillna(False).astype(bool),
        verdict_after=both[f"{verdict}_after"].fillna(False).astype(bool),
    )
    out["flipped"] = out["verdict_before"] != out["verdict_after"]
    out["undefined"] = out["d_after"].isna() & out["d_before"].notna()
    out["removed"] = sum(both[f"{size}_before"] - both[f"{size}_after"] for size in sizes).astype(int)
    return out


@ranges.checked
def without_doubted(doubts: pd.DataFrame, dataset: str, languages: Iterable[str], confidence: str = "certain") -> str:
    """A word list without the doubted words, as a file that every notebook can use by its path.

    Parameters
    ----------
    doubts : DataFrame
        As :func:`localbias.words.mistranslations.mistranslations` returns.
    dataset : str
        The lists to take them from; main lists only (no machine or human translation).
    languages : iterable of str
        Codes.
    confidence : str
        How sure a doubt must be: "certain", "likely" (and surer) or "possible" (all).

    Returns
    -------
    str
        Path of a CSV in the tidy layout in the user's cache. Gaps are left out too; a set that would keep
        fewer than two words stays as it is.
    """
    sure = doubts[doubts["confidence"].isin(CONFIDENCE[: CONFIDENCE.index(confidence) + 1])]
    keys = {
        (language, category, folded(word))
        for language, category, word in sure[["language", "category", "word"]].itertuples(index=False)
    }
    table = main_lists(word_table(dataset, languages))
    table = table[~table["word"].map(is_gap)]
    names = [
        TESTS[test].sets[role] if test in TESTS else ""
        for test, role in table[["test", "role"]].itertuples(index=False)
    ]
    doubted = pd.Series(
        [
            (language, name, folded(word)) in keys
            for language, name, word in zip(table["language"], names, table["word"], strict=True)
        ],
        index=table.index,
    )
    left = (~doubted).groupby([table[name] for name in KEY], sort=False).transform("sum")
    text = table.loc[~doubted | (left < 2), ["variant", *REQUIRED]].to_csv(index=False, lineterminator="\n")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = cache_dir("lexicons", digest) / f"{dataset_label(resolve_dataset(dataset))}-without-{confidence}-doubts.csv"
    if kept(path, lambda stream: stream.read()) is None:
        with checked(path) as draft:
            draft.write_text(text, encoding="utf-8")
    return str(path)
