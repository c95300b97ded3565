"""The tidy tables that claims are judged on: the published results, and ours beside them."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from localbias import sources
from localbias.audit import results as integrity
from localbias.files import book_lock, published_files, results_dir
from localbias.ledger.settings import Settings
from localbias.measures.adjust import adjust, paper_rule
from localbias.registry import DIMENSION_TESTS, INDIA_TESTS, MODELS, TESTS, WEATHUB_24
from localbias.studies.published import printed_cells, published_results, published_sensitivity, rho

P_FLOOR = 0.0005
"""p is printed to three decimals: 0.000 is read as at most this, 1.000 as at least one minus this."""

_KINDS = {"monolingual": "monolingual", "IndicBERT": "IndicBERT", "fastText": "static"}
_FIGURE = ["family", "group", "method", "source"]
_CELLS = {"language", "test", "method", "model", "effect_size", "p_value"}
_SEEDS = {"condition", "seeds", "low", "high", "mean_defined", "n_undefined"}
_RHO = {"language", "test", "method", "rho"}


def prepare(cells: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Cells with what the verdict functions ask of them.

    Parameters
    ----------
    cells : DataFrame
        ``language``, ``test``, ``method``, ``source``, ``group``, ``family``, ``d``, ``p`` (one-sided).

    Returns
    -------
    DataFrame
        The same rows plus ``abs_d``, ``two_sided`` (p), ``q`` (Benjamini–Hochberg within a figure: one
        family of tests, model, method and word list; NaN unless the rule is "q"), ``significant`` (by
        ``settings.rule``) and ``kind`` (monolingual | multilingual | IndicBERT | static).
    """
    p = cells.p.clip(P_FLOOR, 1 - P_FLOOR)
    out = cells.assign(abs_d=cells.d.abs(), two_sided=np.minimum(1.0, 2 * np.minimum(p, 1 - p)))
    out["q"] = np.nan
    if settings.rule == "q":
        out["q"] = out.groupby(_FIGURE)["two_sided"].transform(lambda part: adjust(part.to_numpy()))
    by_rule = {
        "paper": lambda t: paper_rule(t.p.to_numpy(), t.d.to_numpy(), settings.alpha),
        "two-sided": lambda t: (t.two_sided < settings.alpha).to_numpy(),
        "q": lambda t: (t.q <= settings.alpha).to_numpy(),
    }
    out["significant"] = by_rule[settings.rule](out)
    out["kind"] = out.group.map(_KINDS).fillna("multilingual")
    return out


def choose(cells: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """The rows whose columns have the wanted value, or one of the wanted values."""
    chosen = pd.Series(True, index=cells.index)
    for column, value in wanted.items():
        chosen &= cells[column].isin(value if isinstance(value, list) else [value])
    return cells[chosen]


def most(column: pd.Series) -> object:
    """The value that a column has most often, the first by name of several; None for an empty one."""
    counts = column.value_counts()
    return min(counts[counts == counts.max()].index) if len(counts) else None


def published_available() -> bool:
    """Whether the authors' result files can be had here."""
    return sources.available("weathub/final_results/")


def theirs_results(settings: Settings) -> dict[str, pd.DataFrame]:
    """WEATHub's ``results`` (flagged cells in or out as set), ``sensitivity`` and ``printed`` tables."""
    every = published_results(repeats=False)
    cells = integrity.without(every) if settings.flagged == "exclude" else every
    return {
        "results": prepare(cells, settings),
        "sensitivity": rho(published_sensitivity()),
        "printed": printed_cells(every),
    }


def theirs(settings: Settings, names: Collection[str] = ("results", "sensitivity", "printed", "counts")) -> dict:
    """The published tables of these names; what cannot be had is left out."""
    asked = {"results", "sensitivity", "printed"} & set(names)
    tables = theirs_results(settings) if asked and published_available() else {}
    if "counts" in names and sources.available("filbbq/templates/"):
        tables["counts"] = prompt_counts()
    return tables


@lru_cache(maxsize=1)
def prompt_counts() -> pd.DataFrame:
    """FilBBQ's numbers, counted from its templates and the prompts they generate (Table 2).

    Returns
    -------
    DataFrame
        ``name``, ``value``: prompts, rows of the template files, those that yield prompts, new ones and
        their shares, fewest and most prompts of a template.
    """
    from localbias.prompts.inventory import table2

    by = table2("filbbq").set_index(["category", "origin"])
    whole, new = by.loc[("all", "all")], by.loc[("all", "new")]
    rows = {
        "prompts": whole.prompts,
        "gender prompts": by.loc[("gender_identity", "all")].prompts,
        "orientation prompts": by.loc[("sexual_orientation", "all")].prompts,
        "templates": whole.template_rows,
        "templates that yield prompts": whole.with_prompts,
        "new templates": new.template_rows,
        "share of new templates": new.template_rows / whole.template_rows,
        "share of new among templates that yield prompts": new.with_prompts / whole.with_prompts,
        "share of prompts from new templates": new.prompts / whole.prompts,
        "fewest prompts of a template": whole.fewest,
        "most prompts of a template": whole.most,
    }
    return pd.DataFrame({"name": list(rows), "value": [float(v) for v in rows.values()]})


# --- our own run ------------------------------------------------------------------------------


def result_tables(folder: Path | None = None) -> dict[str, pd.DataFrame]:
    """Tables by file name: those of a folder; by default a running page's own, and what whole pages have published."""
    if folder is not None:
        return {file.stem: pd.read_parquet(file) for file in sorted(folder.glob("*.parquet"))}
    own = result_tables(results_dir()) if os.environ.get("LOCALBIAS_RESULTS") else {}
    with book_lock():
        files = {name.removesuffix(".parquet"): path for name, path in sorted(published_files().items())}
        return own | {
            name: pd.read_parquet(path) for name, path in files.items() if path.suffix == ".parquet" and name not in own
        }


def ours(settings: Settings, tables: dict[str, pd.DataFrame] | None = None) -> dict[str, pd.DataFrame]:
    """Our results in the shape of :func:`theirs`, from whatever pages have been run.

    Parameters
    ----------
    tables : dict, optional
        File name → table; by default those in the results folder. A table counts by its columns.

    Returns
    -------
    dict
        ``results`` (also ``model``, ``dataset``), ``sensitivity``, ``seeds``; what no page has written
        is left out.
    """
    tables = result_tables() if tables is None else tables
    out = {}
    cells = [_cells(t) for t in tables.values() if set(t.columns) >= _CELLS]
    if cells:
        cells = pd.concat(cells, ignore_index=True)
        cells = cells.drop_duplicates(["language", "test", "method", "model", "source", "dataset", "protocol"])
        cells = cells[(cells.family != "original") | cells.language.isin(WEATHUB_24)]  # theirs have no English there
        out["results"] = prepare(cells, settings)
    heuristics = [t for t in tables.values() if set(t.columns) >= _RHO]
    if heuristics:
        out["sensitivity"] = _rho_of_one_model(pd.concat(heuristics, ignore_index=True))
    runs = [t for t in tables.values() if set(t.columns) >= _SEEDS]
    if runs:
        out["seeds"] = pd.concat(runs, ignore_index=True)
    return out


def _rho_of_one_model(every: pd.DataFrame) -> pd.DataFrame:
    """ρ by language and method of the model with most rows, ``model`` and ``dataset`` kept where there."""
    every = every.dropna(subset="rho")
    if "model" in every:
        every = every[every.model == every.model.value_counts().sort_index().idxmax()]
    keys = [c for c in ("model", "dataset", "language", "method") if c in every]
    return every.groupby(keys, as_index=False)["rho"].mean()


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """A table of :func:`localbias.studies.weat.run_weat` in the published tables' words; cleaned lists are left out."""
    out = table.rename(columns={"effect_size": "d"}).assign(
        source=table.get("variant", "all"),
        dataset=table.get("dataset", ""),
        protocol=table.get("protocol", ""),
        p=table.get("p_strict", table["p_value"]),
        group=[model_group(m) for m in table["model"]],
        family=table["test"].map(family),
        flags=table.get("flags", ""),
    )
    keep = [
        "language",
        "test",
        "method",
        "model",
        "source",
        "dataset",
        "protocol",
        "group",
        "family",
        "d",
        "p",
        "flags",
    ]
    published = ~out["clean"].astype(bool) if "clean" in out else True
    return out.loc[out.d.notna() & out.p.notna() & published, keep]


def family(test: str) -> str:
    """original | dimension | valence | india, as the published tables are split.

    >>> family("weat12b"), family("weat16")
    ('valence', 'india')
    """
    if test in INDIA_TESTS:
        return "india"
    if test in DIMENSION_TESTS:
        return "valence" if test.endswith("b") else "dimension"
    return TESTS[test].family if test in TESTS else ""


def model_group(model: str) -> str:
    """The paper's name for a model's group, or the model's own title.

    >>> model_group("xlm-roberta-base"), model_group("l3cube-pune/telugu-bert"), model_group("multilingual-e5-small")
    ('XLM-R', 'monolingual', 'multilingual E5 small (4-bit)')
    """
    known = {
        "xlm-roberta-base": "XLM-R",
        "distilbert-base-multilingual-cased": "DistilmBERT",
        "ai4bharat/indic-bert": "IndicBERT",
    }
    entry = MODELS.get(model)
    if model in known:
        return known[model]
    if entry and len(entry.languages) == 1:
        return "monolingual"
    return entry.title if entry else model
