"""What the page on the data shows: small tables with readable names, and the numbers that its sentences quote."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import pandas as pd

from localbias import sources
from localbias.audit import SEVERITIES
from localbias.audit import words as quality
from localbias.audit.word_rules import is_gap
from localbias.errors import unknown
from localbias.files import cache_dir, checked, kept
from localbias.registry import LANGUAGES, TESTS, label_of, ranges
from localbias.studies.side_by_side import CHANGE
from localbias.words import rebuild
from localbias.words.lexicon import dataset_label, folded, languages_in, resolve_dataset, word_table
from localbias.words.mistranslations import CONFIDENCE
from localbias.words.tidy import KEY, REQUIRED

PUBLISHED_LISTS = ("all", "new", "india", "starter", "user")
"""Variants that are a test's main list; gt and human are translations beside it."""


@ranges.checked
def codes(languages: Iterable[str] | str, dataset: str = "auto") -> list[str]:
    """The languages of a page: "all" that the data set has, or those named, each checked.

    >>> codes(["zh"], "starter"), len(codes("all", "starter"))
    (['zh'], 25)
    """
    have = languages_in(dataset)
    if languages == "all":
        return have
    for code in (languages := [languages] if isinstance(languages, str) else list(languages)):
        if code not in have:
            raise unknown("language of this data set", code, have)
    return languages


def has_workbooks(dataset: str = "auto") -> bool:
    """Whether the published lists and the workbooks behind them can be had."""
    return resolve_dataset(dataset) == "weathub" and sources.available(rebuild.BOOKS)


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``language_name`` and ``test_label`` beside the codes, by language name and test number.

    >>> named(pd.DataFrame({"language": ["zh", "ar"], "test": ["weat2", "weat1"]}))["language_name"].tolist()
    ['Arabic', 'Chinese']
    """
    out, by = table.copy(), ["language_name"]
    out["language_name"] = [LANGUAGES[code].name if code in LANGUAGES else code for code in out["language"]]
    if "test" in out:
        order = {name: place for place, name in enumerate(TESTS)}
        out["test_label"] = [label_of(name) for name in out["test"]]
        out["_order"] = [order.get(name, len(order)) for name in out["test"]]
        by.append("_order")
    return out.sort_values(by, kind="stable").drop(columns="_order", errors="ignore").reset_index(drop=True)


def changed(differences: pd.Series) -> pd.Series:
    """Which differences of d are more than rounding: those above ``CHANGE``; a missing one is not.

    >>> changed(pd.Series([0.1 + 0.2 - 0.3, 0.01, float("nan")])).tolist()
    [False, True, False]
    """
    return differences.abs() > CHANGE


# -- what there is ----------------------------------------------------------------------------------------


def inventory(dataset: str, languages: Iterable[str]) -> pd.DataFrame:
    """Sizes of every list: :func:`localbias.words.lexicon.catalogue` with names, and words (of all four sets)."""
    table = word_table(dataset, languages)
    sizes = table.groupby(["dataset", "language", "variant", "test"], sort=False)["role"].value_counts().unstack("role")
    sizes = sizes.reindex(columns=list("XYAB")).fillna(0).astype(int)
    sizes.columns = ["n_x", "n_y", "n_a", "n_b"]
    return named(sizes.assign(words=sizes.sum(axis=1)).reset_index())


def main_lists(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of the lists that a test uses by default: without machine and human translations, tests in order."""
    table = table[~table["variant"].isin(["gt", "human"])]
    order = {name: place for place, name in enumerate(TESTS)}
    place = table["test"].map(lambda name: order.get(name, len(order)))
    return table.loc[place.sort_values(kind="stable").index].reset_index(drop=True)


def inventory_facts(dataset: str, languages: Iterable[str]) -> dict[str, Any]:
    """Counts of lists, entries, different words and languages, and the smallest and largest set."""
    table = word_table(dataset, languages)
    sizes = table.groupby(list(KEY), sort=False).size()
    lists = table[["language", "variant", "test"]].drop_duplicates()
    return {
        "n_lists": len(lists),
        "n_words": len(table),
        "n_languages": table["language"].nunique(),
        "n_tests": table["test"].nunique(),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "n_different": len(table[["language", "word"]].drop_duplicates()),
    }


# -- rebuilt ------------------------------------------------------------------------------------------------


def rebuild_facts(languages: Iterable[str]) -> dict[str, Any]:
    """How many files were rebuilt how, and how many edits of which kind lie behind the rest."""
    files, edits = rebuild.files(languages), rebuild.edits(languages)
    outcome = files["outcome"].value_counts()
    kinds = edits.loc[edits["kind"] != "inherited from weat1", "kind"].value_counts().sort_index()
    return {
        "n_files": int((files["outcome"] != "no workbook").sum()),
        "exact": int(outcome.get("exact", 0)),
        "edited": int(outcome.get("edited", 0)),
        "inherited": int(outcome.get("inherited", 0)),
        "no_workbook": int(outcome.get("no workbook", 0)),
        "n_edits": int(kinds.sum()),
        "kinds": ", ".join(f"{kind} ({count})" for kind, count in kinds.items()) or "none",
    }


def outcomes(languages: Iterable[str]) -> pd.DataFrame:
    """Files per variant and outcome, for a chart: variant, outcome, files."""
    table = rebuild.files(languages)
    counts = table.groupby(["variant", "outcome"]).size().rename("files").reset_index()
    order = ["exact", "edited", "inherited", "no workbook"]
    return counts.sort_values(
        ["variant", "outcome"],
        key=lambda column: column.map(
            {name: place for place, name in enumerate(["gt", "human", "all", "new", "india", *order])}
        ),
        kind="stable",
    ).reset_index(drop=True)


def translation_facts(changes: pd.DataFrame, local: pd.DataFrame) -> dict[str, Any]:
    """What the annotators changed and added over all languages, and who most and least."""
    first = changes[changes["sheet"] == 1]
    first = first if len(first) else changes
    added = local.groupby("language")[["added", "new"]].sum()
    name = {code: language.name for code, language in LANGUAGES.items()}
    none = sorted(name[code] for code in added.index[added["new"] == 0])
    most, least = first.loc[first["share"].idxmax()], first.loc[first["share"].idxmin()]
    return {
        "cells": int(changes["cells"].sum()),
        "changed": int(changes["changed"].sum()),
        "share": float(changes["changed"].sum() / max(changes["cells"].sum(), 1)),
        "most": name[most["language"]],
        "most_share": most["share"],
        "least": name[least["language"]],
        "least_share": least["share"],
        "added": int(added["added"].sum()),
        "new": int(added["new"].sum()),
        "top": name[added["new"].idxmax()],
        "top_new": int(added["new"].max()),
        "none": f"none in {', '.join(none)}" if none else "some in every language",
    }


# -- audited ------------------------------------------------------------------------------------------------


def kinds_by_language(findings: pd.DataFrame, languages: Iterable[str]) -> pd.DataFrame:
    """Different findings (:func:`localbias.audit.words.distinct`) per language and kind, for a heat map.

    Every language has a row; where nothing at all was found, the table says 0 for every rule.
    """
    rules = quality.rules()[["kind", "severity"]]
    table = quality.counts(quality.distinct(findings))
    kinds = rules[rules["kind"].isin(table["kind"])] if len(table) else rules
    grid = kinds.merge(pd.DataFrame({"language": list(languages)}), how="cross")
    table = grid.merge(table, how="left", on=["kind", "severity", "language"])
    return named(table if table["n"].notna().any() else table.assign(n=0))


def audit_facts(findings: pd.DataFrame) -> dict[str, Any]:
    """Findings by severity, the lists that have an error, and the commonest kind: of all, and of different ones."""
    distinct = quality.distinct(findings)
    by_severity = findings["severity"].value_counts()
    errors = findings[findings["severity"] == "error"]
    return {
        "n": len(findings),
        "n_different": len(distinct),
        **{f"n_{s}": int(by_severity.get(s, 0)) for s in SEVERITIES},
        "n_lists": len(errors[["language", "variant", "test"]].drop_duplicates()),
        "commonest": f"The commonest kind is {_commonest(findings)}; counting different findings only, "
        f"{_commonest(distinct)}."
        if len(findings)
        else "",
    }


def _commonest(findings: pd.DataFrame) -> str:
    kinds = findings["kind"].value_counts()
    return f"“{kinds.index[0]}” ({kinds.iloc[0]:,})"


def examples(findings: pd.DataFrame, n: int = 3) -> pd.DataFrame:
    """A few different findings of each kind that concern a word: kind, severity, language, word, detail, tests."""
    table = quality.distinct(findings)
    table = table[table["word"] != ""]
    spread = table.sort_values(["kind", "lists", "language"], ascending=[True, False, True], kind="stable")
    chosen = spread.drop_duplicates(["kind", "language"]).groupby("kind", sort=False).head(n)
    return chosen[["kind", "severity", "language", "word", "detail", "tests"]].reset_index(drop=True)


# -- doubted ------------------------------------------------------------------------------------------------


def doubt_facts(doubts: pd.DataFrame) -> dict[str, Any]:
    """Doubted words (:func:`localbias.words.mistranslations.located`) by confidence, and how many are in use."""
    used = doubts[doubts["lists"] > 0]
    by = doubts["confidence"].value_counts()
    counts = used.groupby("language").size()
    most = counts.idxmax() if len(counts) else ""
    return {
        "n": len(doubts),
        **{f"n_{name}": int(by.get(name, 0)) for name in CONFIDENCE},
        "n_used": len(used),
        "n_unused": len(doubts) - len(used),
        "n_languages": doubts["language"].nunique(),
        "most": LANGUAGES[most].name if most else "none",
        "n_most": int(counts.max()) if len(counts) else 0,
    }


def doubts_by_language(doubts: pd.DataFrame) -> pd.DataFrame:
    """Doubted words in use per language and confidence, for a chart."""
    used = doubts[doubts["lists"] > 0]
    counts = used.groupby(["language", "confidence"]).size().rename("n").reset_index()
    order = counts["confidence"].map(CONFIDENCE.index)
    return named(counts.loc[order.sort_values(kind="stable").index])


@ranges.checked
def without(doubts: pd.DataFrame, dataset: str, languages: Iterable[str], confidence: str = "certain") -> str:
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


def confidences(least: str) -> str:
    """Which doubts a confidence takes in, in words.

    >>> confidences("certain"), confidences("possible")
    ('certain', 'certain, likely or possible')
    """
    *first, last = CONFIDENCE[: CONFIDENCE.index(least) + 1]
    return f"{', '.join(first)} or {last}" if first else last


def effect_facts(effect: pd.DataFrame) -> dict[str, Any]:
    """How much cleaning moved (:func:`localbias.audit.words.cleaning_effect`): counts, mean and largest change."""
    moved = changed(effect["change"])
    place = named(effect.loc[[effect["change"].abs().idxmax()]]).iloc[0] if moved.any() else None
    return {
        "n": len(effect),
        "n_moved": int(moved.sum()),
        "mean_change": effect["change"].abs().mean(),
        "flipped": int(effect["flipped"].sum()),
        "undefined": int(effect["undefined"].sum()),
        "signs": int((effect["d_before"] * effect["d_after"] < 0).sum()),
        "largest": f"{place['language_name']}, {place['test_label']}" if moved.any() else "none",
        "from_d": place["d_before"] if moved.any() else float("nan"),
        "to_d": place["d_after"] if moved.any() else float("nan"),
    }


# -- FilBBQ's counts beside the printed ones ------------------------------------------------------------------


def reproduction(checks: pd.DataFrame) -> dict[str, Any]:
    """What agrees with the published prompts exactly, and what chi-squared tests say of the draws.

    Parameters
    ----------
    checks : DataFrame
        As ``compare_with_published`` returns; where draws are tested, ``detail`` gives the p.

    Returns
    -------
    dict
        ``n`` comparisons without these tests and how many are ``exact``; the tests' ``p_values``, in words.
    """
    p_values = checks["detail"].str.extract(r"chi-squared p = ([\d.]+)", expand=False)
    compared = checks[p_values.isna()]
    return {
        "n": len(compared),
        "exact": int(compared["exact"].sum()),
        "p_values": " and ".join(f"{float(p):.2f}" for p in p_values.dropna()),
    }


def beside_printed(counts: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Recomputed counts of templates and prompts beside FilBBQ's Table 2.

    The template files tell new templates from taken-over ones by identifier; translated and modified ones are
    counted together.

    Parameters
    ----------
    counts : DataFrame
        As ``localbias.prompts.inventory.table2`` returns.
    printed : DataFrame
        As :func:`localbias.studies.published.printed` returns for FilBBQ.

    Returns
    -------
    pandas.DataFrame
        dimension, entry, printed, ours, equal.
    """
    names = {"gender": "gender_identity", "sexual orientation": "sexual_orientation", "all": "all"}
    entries = {
        "translated or modified templates": ("translated", "template_rows"),
        "new templates": ("new", "template_rows"),
        "templates in all": ("all", "template_rows"),
        "prompts": ("all", "prompts"),
    }
    said = printed[printed["place"] == "Table 2"].replace(
        {"entry": {f"{kind} templates": "translated or modified templates" for kind in ("translated", "modified")}}
    )
    said = said.groupby(["dimension", "entry"], sort=False)["value"].sum().astype(int).rename("printed").reset_index()
    ours = counts.set_index(["category", "origin"])
    found = [ours.at[(names[r.dimension], entries[r.entry][0]), entries[r.entry][1]] for r in said.itertuples()]
    return said.assign(ours=found, equal=said["printed"] == found)
