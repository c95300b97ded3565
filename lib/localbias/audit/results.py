"""Integrity checks over the published results: each a rule that marks cells, with its reason.

A rule is a function from the table of :func:`localbias.studies.published.published_results` to a
boolean per row. Rules that *exclude* mark cells which may not be what their label says; the others
are notes. Every count in the ledger is made with and without the cells of excluding rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd

from localbias.measures.association import largest_effect_size
from localbias.registry import INDIAN_LANGUAGES, LANGUAGES, METHODS, WEATHUB_24, monolingual_models

SAME_SHARE = 0.9
"""Share of identical cells from which two models' results of one language count as the same."""
SMALL_D = 0.5
"""Below this |d| no permutation test on these word lists (at most 64 words) can reach p < 0.0005."""

LARGEST_D = largest_effect_size(8, 15)
"""The largest |d| that any published list can give: 8 and 15 words are their most unequal target sets."""

_BLOCK = ["family", "language", "source"]
_TWINS = {"M2": "M1", "M4": "M3", "M6": "M5", "M9": "M8"}
_PREFIXES = {"XLM-R": "xlmr", "DistilmBERT": "distilbert", "IndicBERT": "indic-bert", "monolingual": "mono-bert"}


@dataclass(frozen=True)
class Rule:
    """One check: its name (as it appears in ``flags``), what it looks for, and why it matters."""

    name: str
    title: str
    reason: str
    mark: Callable[[pd.DataFrame], pd.Series]
    severity: str = "error"


def same_as_other_model(table: pd.DataFrame) -> pd.Series:
    """Cells of a language and source whose results are those of another model too."""
    cells = table.loc[table.group != "fastText", [*_BLOCK, "method", "test", "group", "d", "p"]]
    pairs = cells.merge(cells, on=[*_BLOCK, "method", "test"], suffixes=("", "_other"))
    pairs = pairs[pairs.group != pairs.group_other]
    same = (pairs.d == pairs.d_other) & (pairs.p == pairs.p_other)
    share = same.groupby([pairs[c] for c in [*_BLOCK, "group", "group_other"]]).mean()
    blocks = share[share >= SAME_SHARE].reset_index()[[*_BLOCK, "group"]].drop_duplicates()
    return _among(table, blocks)


def first_equals_average(table: pd.DataFrame) -> pd.Series:
    """Cells of a model and language where every first-subword result equals the subword average's."""
    by = ["group", "family", "language"]
    cells = table.loc[table.group != "fastText", [*by, "source", "method", "test", "d", "p"]]
    twins = cells.assign(method=cells.method.map(_TWINS)).dropna(subset="method")
    pairs = twins.merge(cells, on=[*by, "source", "method", "test"], suffixes=("", "_average"))
    same = (pairs.d == pairs.d_average) & (pairs.p == pairs.p_average)
    every = same.groupby([pairs[c] for c in by]).all()
    return _among(table, every[every].reset_index()[by])


def same_as_other_source(table: pd.DataFrame) -> pd.Series:
    """Cells of a test where the human translation's results are the machine translation's, for every method."""
    by = ["group", "family", "language", "test"]
    sides = table.loc[table.source.isin(["gt", "human"]), [*by, "method", "source", "d", "p"]]
    wide = sides.pivot_table(index=[*by, "method"], columns="source", values=["d", "p"])
    if wide.empty or wide.columns.get_level_values("source").nunique() < 2:
        return pd.Series(False, index=table.index)
    same = (wide["d"]["gt"] == wide["d"]["human"]) & (wide["p"]["gt"] == wide["p"]["human"])
    every = same.groupby(level=by).all()
    return _among(table, every[every].reset_index()[by]) & table.source.isin(["gt", "human"])


def _among(table: pd.DataFrame, blocks: pd.DataFrame) -> pd.Series:
    """Whether a row's values in the columns of ``blocks`` are one of its rows."""
    if blocks.empty:
        return pd.Series(False, index=table.index)
    columns = list(blocks.columns)
    return pd.Series(pd.MultiIndex.from_frame(table[columns]).isin(pd.MultiIndex.from_frame(blocks)), index=table.index)


def degenerate(table: pd.DataFrame) -> pd.Series:
    """Cells with p printed as 0.000 though d is too small for it: the vectors hardly differ."""
    return (table.p < 0.0005) & (table.d.abs() < SMALL_D)


def mislabelled_source(table: pd.DataFrame) -> pd.Series:
    """Cells of the India tests labelled as machine translation; those tests have no such source."""
    return (table.family == "india") & (table.stated_source != "HT")


def other_model_name(table: pd.DataFrame) -> pd.Series:
    """Cells whose row label names another model than the folder they lie in."""
    prefix = table.label.str.extract(r"^(xlmr|distilbert|mono-indic-bert|indic-bert|mono-bert)-", expand=False)
    return (table.group != "fastText") & (prefix != table.group.map(_PREFIXES))


def contradiction(table: pd.DataFrame) -> pd.Series:
    """Cells whose d and one-sided p point to opposite directions, beyond what rounding explains."""
    return ((table.d > 0.1) & (table.p > 0.55)) | ((table.d < -0.1) & (table.p < 0.45))


def impossible(table: pd.DataFrame) -> pd.Series:
    """Cells with a d that no list allows (``LARGEST_D``), p outside 0…1, or no number at all."""
    return ~(table.d.abs() <= LARGEST_D) | ~table.p.between(0, 1)


def repeat(table: pd.DataFrame) -> pd.Series:
    """fastText cells that an earlier file holds already."""
    static = table.group == "fastText"
    return static & table.duplicated([*_BLOCK, "group", "test", "method", "d", "p"])


def p_zero(table: pd.DataFrame) -> pd.Series:
    """Cells with p printed as 0.000."""
    return table.p == 0


RULES: dict[str, Rule] = {
    r.name: r
    for r in (
        Rule(
            "same-model",
            "results of one model identical to another's",
            "two different models cannot give the same numbers; one of the files holds the other's results",
            same_as_other_model,
        ),
        Rule(
            "first-average",
            "first subword equal to subword average in every row of a model",
            "every word is one subword to this model, or the same row was written twice",
            first_equals_average,
        ),
        Rule(
            "degenerate",
            "d near 0 with p printed as 0.000",
            "all words share one vector, so the observed split beats no other; not evidence of anything",
            degenerate,
        ),
        Rule("source", "source mislabelled", "the India tests have human translations only", mislabelled_source),
        Rule(
            "model-name",
            "row named after another model than its folder",
            "the results may be another model's than the one compared",
            other_model_name,
        ),
        Rule(
            "contradiction",
            "d and p point to opposite directions",
            "d and the one-sided p rank the same statistic, so they must agree on its sign",
            contradiction,
        ),
        Rule(
            "impossible",
            "impossible value",
            f"no published list allows |d| above {LARGEST_D:.2f}, and p lies in 0…1",
            impossible,
        ),
        Rule(
            "same-source",
            "human translation with the machine translation's results",
            "the two word lists are the same or nearly so; the test cannot tell human from machine",
            same_as_other_source,
            "warning",
        ),
        Rule(
            "repeat",
            "fastText row repeated from another file",
            "the static vectors do not depend on the model the file is for",
            repeat,
            "note",
        ),
        Rule(
            "p-zero",
            "p printed as 0.000",
            "a permutation p is at least one over the number of splits; read it as below 0.0005",
            p_zero,
            "note",
        ),
    )
}
"""The rules by name; the counts "without flagged cells" leave out what is an error."""


def flags(table: pd.DataFrame) -> pd.Series:
    """The space-separated names of the rules that mark each row, in the order of :data:`RULES`."""
    marks = [rule.mark(table).map({True: rule.name + " ", False: ""}) for rule in RULES.values()]
    return sum(marks[1:], marks[0]).str.strip()


def has(table: pd.DataFrame, names: Iterable[str]) -> pd.Series:
    """Whether a row bears any of these flags.

    >>> has(pd.DataFrame({"flags": ["", "p-zero", "repeat p-zero"]}), ["repeat"]).tolist()
    [False, False, True]
    """
    names = set(names)
    return table["flags"].map(lambda f: not names.isdisjoint(f.split()))


def without(table: pd.DataFrame, names: Iterable[str] | None = None) -> pd.DataFrame:
    """The rows that bear none of these flags (default: those of the errors)."""
    names = [r.name for r in RULES.values() if r.severity == "error"] if names is None else names
    return table[~has(table, names)].reset_index(drop=True)


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Each rule with the number of cells it marks and where they are.

    Returns
    -------
    DataFrame
        ``check``, ``what``, ``why``, ``cells``, ``share`` (of all cells), ``severity``, ``left out`` (whether the
        counts without flagged cells exclude them), ``where`` (family, group and languages).
    """
    rows = []
    for rule in RULES.values():
        marked = table[has(table, [rule.name])]
        rows.append(
            {
                "check": rule.name,
                "what": rule.title,
                "why": rule.reason,
                "cells": len(marked),
                "share": len(marked) / len(table),
                "severity": rule.severity,
                "left out": rule.severity == "error",
                "where": _where(marked),
            }
        )
    return pd.DataFrame(rows)


def _where(marked: pd.DataFrame, most: int = 6) -> str:
    parts = [
        f"{family}, {group}: {' '.join(sorted(set(part.language)))}"
        for (family, group), part in marked.groupby(["family", "group"])
    ]
    return "; ".join(parts) if len(parts) <= most else f"{len(parts)} groups of models and tests"


def missing(table: pd.DataFrame, variances: pd.DataFrame | None = None) -> pd.DataFrame:
    """Languages, models, methods and tests that the paper speaks of and the files lack.

    Returns
    -------
    DataFrame
        ``family``, ``group``, ``missing`` ("languages", "methods" or "tests"), ``which``.
    """
    wanted = {
        "original": set(WEATHUB_24),
        "dimension": set(LANGUAGES),
        "valence": set(LANGUAGES),
        "india": set(INDIAN_LANGUAGES),
    }
    rows = []
    for (family, group), part in table.groupby(["family", "group"]):
        languages = wanted[family]
        if group == "monolingual":
            languages = languages & set(monolingual_models())
        if group == "IndicBERT":
            languages = languages & set(INDIAN_LANGUAGES)
        methods = {"M10"} if group == "fastText" else set(METHODS) - {"M10"}
        rows.append((family, group, "languages", sorted(languages - set(part.language))))
        rows.append((family, group, "methods", sorted(methods - set(part.method))))
    if variances is not None:
        rows.append(("sensitivity", "", "languages", sorted(set(WEATHUB_24) - set(variances.language))))
        absent = variances[variances.variance.isna()]
        cells = absent.language + " " + absent.test + " " + absent.method
        rows.append(("sensitivity", "", "values", sorted(set(cells))))
    out = pd.DataFrame(rows, columns=["family", "group", "missing", "which"])
    out = out[out.which.map(len) > 0].reset_index(drop=True)
    return out.assign(n=out.which.map(len), which=out.which.map(", ".join))
