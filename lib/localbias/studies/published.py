"""The papers' own results as tidy tables.

WEATHub publishes the result of every language × model × method × source × test as a cell such as
``1.062 (0.000)``, d and p, in one file a language and model. This module reads them all, names
what they name by :mod:`localbias.registry`, and marks what :mod:`localbias.audit.results` finds odd.
"""

from __future__ import annotations

import csv
import math
import re
from functools import lru_cache

import numpy as np
import pandas as pd

from localbias import sources
from localbias.audit import results as integrity
from localbias.errors import BadTable, unknown
from localbias.files import project_root
from localbias.registry import LANGUAGES, METHODS, TESTS, monolingual_models

RESULTS = "weathub/final_results/"
VARIANCES = "weathub/final_results/results-csv/variances/"

COLUMNS = (
    "language",
    "model",
    "method",
    "source",
    "test",
    "d",
    "p",
    "file",
    "row",
    "flags",
    "group",
    "family",
    "label",
    "stated_source",
)
"""Columns of :func:`published_results`; the last four say how the authors themselves label the row."""

GROUPS = {
    "xlmr": "XLM-R",
    "distilbert": "DistilmBERT",
    "indicbert": "IndicBERT",
    "monobert": "monolingual",
    "fasttext": "fastText",
}
"""The authors' folder name → the group of models as the paper calls it."""

_MODELS = {
    "xlmr": "xlm-roberta-base",
    "distilbert": "distilbert-base-multilingual-cased",
    "indicbert": "ai4bharat/indic-bert",
    "fasttext": "fasttext",
}
_FAMILIES = {"sheet1": "original", "sheet2": "dimension", "sheet3": "india", "valence": "valence"}
_SOURCES = {
    "original": {"GT": "gt", "HT": "human", "ALL": "all"},
    "dimension": {"NEW_HT": "new"},
    "valence": {"NEW_HT": "new"},
    "india": {"HT": "india", "GT": "india"},
}
_CELL = re.compile(r"\s*(-?\d+(?:\.\d+)?|nan)\s*\(\s*(-?\d+(?:\.\d+)?|nan)\s*\)\s*")
_METHODS = {m.published: m.code for m in METHODS.values()}
_VARIANCE_METHODS = {m.variance: m.code for m in METHODS.values()}


def parse_cell(text: str, where: str = "") -> tuple[float, float]:
    """d and p of a printed cell.

    Raises
    ------
    BadTable
        When the text is not a number followed by a number in parentheses.

    Examples
    --------
    >>> parse_cell("-0.407 (0.945)")
    (-0.407, 0.945)
    """
    match = _CELL.fullmatch(text)
    if not match:
        raise BadTable(
            "a result cell cannot be read",
            expected="d (p), such as 1.062 (0.000)",
            got=repr(text),
            where=where,
            todo="compare the file with the pinned one",
        )
    return float(match[1]), float(match[2])


def method_of(label: str) -> tuple[str, str]:
    """The authors' row label → method code and the model prefix of the label.

    Examples
    --------
    >>> method_of("xlmr-avg-all-hidden-subword-avg")
    ('M5', 'xlmr')
    >>> method_of("fasttext")
    ('M10', '')
    """
    for ending in sorted(_METHODS, key=len, reverse=True):
        if label.endswith(ending):
            return _METHODS[ending], label[: -len(ending)].rstrip("-")
    raise BadTable(
        "a row names no known method", expected=f"a name that ends in one of {sorted(_METHODS)}", got=repr(label)
    )


def place_of(path: str) -> tuple[str, str, str]:
    """Test family, model folder and language of a result file's path.

    Examples
    --------
    >>> place_of("weathub/final_results/results-csv/sheet1/xlmr/zh_results.csv")
    ('original', 'xlmr', 'zh')
    >>> place_of("weathub/final_results/valence/valence-fasttext/en_results_valence.csv")
    ('valence', 'fasttext', 'en')
    """
    *_, sheet, folder, name = path.split("/")
    language = name.split("_")[0]
    folder = folder.removeprefix("valence-")
    if sheet not in _FAMILIES or folder not in GROUPS or language not in LANGUAGES:
        raise BadTable(
            "a result file lies where none is expected",
            got=path,
            expected="sheet1|sheet2|sheet3|valence / model / <language>_results….csv",
        )
    return _FAMILIES[sheet], folder, language


def _model_of(folder: str, language: str) -> str:
    return monolingual_models()[language] if folder == "monobert" else _MODELS[folder]


def read_results(path: str, file: str | None = None) -> list[dict]:
    """The cells of one result file.

    Parameters
    ----------
    path : str
        Its path in the mirror, which says family, model and language.
    file : str, optional
        Where to read it instead of asking :mod:`localbias.sources`.

    Returns
    -------
    list of dict
        One a cell, keys :data:`COLUMNS` without ``flags``; ``row`` counts the file's lines from 1,
        the header being line 1.
    """
    family, folder, language = place_of(path)
    with open(file or sources.fetch(path), encoding="utf-8-sig", newline="") as handle:
        header, *lines = list(csv.reader(handle))
    tests = header[3:]
    if header[:3] != ["Type", "DataSource", "Method"] or not tests or any(t not in TESTS for t in tests):
        raise BadTable(
            "a result file has an unknown header",
            expected="Type, DataSource, Method, weat…",
            got=", ".join(header),
            where=path,
        )
    cells = []
    for number, line in enumerate(lines, start=2):
        where = f"{path}, line {number}"
        if len(line) != len(header) or line[1] not in _SOURCES[family]:
            raise BadTable(
                "a result row has an unknown form",
                got=", ".join(line),
                where=where,
                expected=f"{len(header)} cells, source one of {sorted(_SOURCES[family])}",
            )
        code, _ = method_of(line[2])
        own = "fasttext" if code == "M10" else folder
        for test, text in zip(tests, line[3:], strict=True):
            d, p = parse_cell(text, f"{where}, {test}")
            cells.append(
                {
                    "language": language,
                    "model": _model_of(own, language),
                    "method": code,
                    "source": _SOURCES[family][line[1]],
                    "test": test,
                    "d": d,
                    "p": p,
                    "file": path,
                    "row": number,
                    "group": GROUPS[own],
                    "family": family,
                    "label": line[2],
                    "stated_source": line[1],
                }
            )
    return cells


def result_paths() -> list[str]:
    """Every published result file, sorted."""
    return sorted(p for p in sources.paths(RESULTS) if p.endswith(".csv") and not p.startswith(VARIANCES))


@lru_cache(maxsize=1)
def _results() -> pd.DataFrame:
    table = pd.DataFrame([cell for path in result_paths() for cell in read_results(path)])
    table["flags"] = integrity.flags(table)
    return table.loc[:, list(COLUMNS)]


def published_results(repeats: bool = True) -> pd.DataFrame:
    """All results that WEATHub's authors published, a row a cell (WEATHub, sections 4.1–4.4).

    Parameters
    ----------
    repeats : bool
        Keep the fastText rows that every model's file repeats (``True``: all 18,240 cells) or only
        the first copy of each.

    Returns
    -------
    DataFrame
        ``language``; ``model`` (registry name, or ``fasttext``); ``method`` (M1–M10); ``source``
        (gt | human | all | new | india); ``test``; ``d`` (effect size); ``p`` (one-sided, printed
        to 3 decimals, so 0 means below 0.0005); ``file``, ``row`` (line, from 1); ``flags``
        (space-separated names of :data:`localbias.audit.results.RULES`); ``group`` (XLM-R,
        DistilmBERT, IndicBERT, monolingual, fastText); ``family`` (original, dimension, india,
        valence); ``label``, ``stated_source`` (the authors' words).

    Raises
    ------
    SourceUnavailable
        When the files can be had neither from a mirror, nor the cache, nor the network.
    BadTable
        When a cell cannot be read.
    """
    table = _results().copy()
    return table if repeats else integrity.without(table, ["repeat"])


@lru_cache(maxsize=1)
def _sensitivity() -> pd.DataFrame:
    rows = []
    sets = {"target1": "x", "target2": "y", "attr1": "a", "attr2": "b"}
    for path in sorted(p for p in sources.paths(VARIANCES) if p.endswith(".csv")):
        language = path.removesuffix(".csv").rsplit("_", 1)[-1]
        with open(sources.fetch(path), encoding="utf-8-sig", newline="") as handle:
            for number, line in enumerate(csv.DictReader(handle), start=2):
                if line["strategy"] not in _VARIANCE_METHODS or line["test"] not in TESTS:
                    raise BadTable(
                        "a sensitivity row has an unknown form",
                        where=f"{path}, line {number}",
                        got=str(line),
                        expected=f"strategy one of {sorted(_VARIANCE_METHODS)}",
                    )
                rows += [
                    {
                        "language": language,
                        "method": _VARIANCE_METHODS[line["strategy"]],
                        "test": line["test"],
                        "set": ours,
                        "variance": float(line[theirs] or math.nan),
                        "file": path,
                        "row": number,
                    }
                    for theirs, ours in sets.items()
                ]
    return pd.DataFrame(rows)


def published_sensitivity() -> pd.DataFrame:
    """The published variances of pairwise cosine distances (WEATHub, section 3.2, Table 3, Figure 1).

    Returns
    -------
    DataFrame
        ``language``, ``method`` (M1–M10), ``test``, ``set`` (x | y | a | b), ``variance``
        (dimensionless; NaN where the authors have none), ``file``, ``row``. The files do not name
        the model of M1–M9.
    """
    return _sensitivity().copy()


def rho(variances: pd.DataFrame) -> pd.DataFrame:
    """Sensitivity ρ of each language and method: mean over the four sets, then over the tests.

    Parameters
    ----------
    variances : DataFrame
        As :func:`published_sensitivity` returns; sets without a value are left out of the mean.

    Returns
    -------
    DataFrame
        ``language``, ``method``, ``rho`` (dimensionless), ``n_sets`` (sets that had a value).

    Examples
    --------
    >>> t = pd.DataFrame({"language": "th", "method": "M1", "test": ["weat1"] * 2 + ["weat2"],
    ...                   "set": ["x", "y", "x"], "variance": [1.0, 3.0, 6.0]})
    >>> rho(t)[["rho", "n_sets"]].values.tolist()
    [[4.0, 3.0]]
    """
    by_test = variances.groupby(["language", "method", "test"])["variance"].agg(["mean", "count"]).reset_index()
    out = by_test.groupby(["language", "method"]).agg(rho=("mean", "mean"), n_sets=("count", "sum")).reset_index()
    return out.loc[:, ["language", "method", "rho", "n_sets"]]


def printed(paper: str) -> pd.DataFrame:
    """What a paper prints as a number, read off its text.

    Parameters
    ----------
    paper : "WEATHub" | "FilBBQ"

    Returns
    -------
    DataFrame
        WEATHub: the 34 pairs of Tables 4–8: ``table``, the keys of the result file's cell (``language``,
        ``group``, ``method``, ``source``, ``test``), ``d`` and ``p`` to three decimals. FilBBQ: Tables 2–5 and the
        numbers of its text: ``place``, ``model``, ``context``, ``dimension``, ``rank`` (in a profile), ``entry`` (in
        our words), ``value``, ``theme`` and ``theme_wide`` (ours, see ``data/papers/README.md``), ``templates``
        (ids of the templates with that stereotype that yield prompts, space-separated), ``note``.

    Raises
    ------
    UnknownName
        When there is no such paper.
    BadTable
        When the file is missing.
    """
    file = project_root() / "data" / "papers" / f"{paper.lower()}_printed.csv"
    if paper not in (names := ("WEATHub", "FilBBQ")):
        raise unknown("paper", paper, names)
    if not file.is_file():
        raise BadTable("a paper's printed values are missing", expected=str(file), got="no such file")
    return pd.read_csv(file, keep_default_na=False, na_values={"rank": [""]}).astype(
        {"rank": "Int64"} if paper == "FilBBQ" else {}
    )


def printed_cells(results: pd.DataFrame) -> pd.DataFrame:
    """WEATHub's printed values beside the cells of the result files that they name.

    Parameters
    ----------
    results : DataFrame
        As :func:`published_results` returns.

    Returns
    -------
    DataFrame
        The rows of :func:`printed` with ``file_d``, ``file_p`` (NaN when no cell is there) and ``matches``: both equal
        to three decimals.
    """
    said, keys = printed("WEATHub"), ["language", "group", "method", "source", "test"]
    cells = results.drop_duplicates(keys).set_index(keys)[["d", "p"]].astype(float)
    found = cells.reindex(pd.MultiIndex.from_frame(said[keys])).to_numpy()
    same = np.abs(found - said[["d", "p"]].to_numpy()) < 0.0005
    return said.assign(file_d=found[:, 0], file_p=found[:, 1], matches=same.all(axis=1))


def beside_printed(counts: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Recomputed counts of templates and prompts beside FilBBQ's Table 2.

    The template files tell new templates from taken-over ones by identifier; translated and modified ones are
    counted together.

    Parameters
    ----------
    counts : DataFrame
        As ``localbias.prompts.inventory.table2`` returns.
    printed : DataFrame
        As :func:`printed` returns for FilBBQ.

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
