"""The tidy tables that claims are judged on: the published results, ours beside them, and how a claim reshapes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from localbias import sources
from localbias.audit import results as integrity
from localbias.errors import BadTable
from localbias.files import book_lock, published_files, results_dir
from localbias.ledger.settings import Settings
from localbias.measures.adjust import adjust, paper_rule
from localbias.registry import DIMENSION_TESTS, INDIA_TESTS, LANGUAGES, MODELS, TESTS, WEATHUB_24
from localbias.studies.published import printed_cells, published_results, published_sensitivity, rho
from localbias.words.lexicon import folded, word_table
from localbias.words.rebuild import phrases

P_FLOOR = 0.0005
"""p is printed to three decimals: 0.000 is read as at most this, 1.000 as at least one minus this."""

_KINDS = {"monolingual": "monolingual", "IndicBERT": "IndicBERT", "fastText": "static"}
_FIGURE = ["family", "group", "method", "source"]
_CELLS = {"language", "test", "method", "model", "effect_size", "p_value"}
_SEEDS = {"condition", "seeds", "low", "high", "mean_defined", "n_undefined"}
_RHO = {"language", "test", "method", "rho"}


def prepare(cells: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Cells with what the judges ask of them.

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
        if column not in cells:
            raise BadTable("a claim selects by a column that its table lacks", expected=", ".join(cells), got=column)
        chosen &= cells[column].isin(value if isinstance(value, list) else [value])
    return cells[chosen]


def natural(name: str) -> list:
    """A sorting key that counts: weat2 before weat10."""
    return [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", str(name))]


# --- how a claim reshapes its cells -----------------------------------------------------------


def sides(cells: pd.DataFrame, *, by: str, left: str, right: str | list[str]) -> pd.DataFrame:
    """Two sides of the column ``by`` in one row: a row for each language, test, method … that has both.

    Returns
    -------
    DataFrame
        ``left``, ``right`` (d; several right sides: their mean), ``abs_left``, ``abs_right``, ``left_significant``,
        ``right_significant`` (any of several), ``difference`` (left − right), ``abs_difference`` (of |d|), ``gap``
        (size of the difference), ``opposite`` (signs differ), ``same_conclusion`` (significant up, significant down,
        neither), ``more_significant`` (1: the left side alone, −1: the right side alone, else 0).
    """
    right = [right] if isinstance(right, str) else list(right)
    keys = [k for k in ("language", "test", "method", "source", "group") if k in cells and k != by]
    keys = [k for k in keys if not (k == "group" and by in ("kind", "method"))]
    one = cells[cells[by] == left].groupby(keys).agg(left=("d", "mean"), left_significant=("significant", "any"))
    many = cells[cells[by].isin(right)].assign(size=lambda t: t.d.abs()).groupby(keys)
    two = many.agg(right=("d", "mean"), abs_right=("size", "mean"), right_significant=("significant", "any"))
    out = one.join(two, how="inner").reset_index()
    out["abs_left"] = out.left.abs()
    # Both lists were printed to three decimals; the difference is so, too.
    out["difference"] = (out.left - out.right).round(6)
    out["abs_difference"] = (out.abs_left - out.abs_right).round(6)
    up = [np.sign(out[s]) * out[f"{s}_significant"] for s in ("left", "right")]
    out["more_significant"] = out.left_significant.astype(int) - out.right_significant.astype(int)
    return out.assign(
        gap=out.difference.abs(), opposite=out.left * out.right < 0, same_conclusion=up[0].round(6) == up[1].round(6)
    )


def across(cells: pd.DataFrame, *, by: str, column: str = "d", names: list[str] | None = None) -> pd.DataFrame:
    """All values of ``by`` in one row: which is ``top`` and which ``bottom``, their ``range``, whether of ``one_sign``.

    ``names`` are the values to compare (default: all there are); rows that lack one of them are left out.
    """
    keys = [k for k in ("language", "test", "method", "source", "group") if k in cells and k != by]
    wide = cells.pivot_table(index=keys, columns=by, values=column)
    wide = wide.reindex(columns=names or wide.columns).dropna()
    if wide.empty:
        return wide.reset_index()
    signs = np.sign(wide)
    out = wide.assign(
        top=wide.idxmax(axis=1),
        bottom=wide.idxmin(axis=1),
        range=wide.max(axis=1) - wide.min(axis=1),
        one_sign=signs.abs().sum(axis=1) == signs.sum(axis=1).abs(),
    )
    return out.reset_index().rename_axis(columns=None)


def mean(cells: pd.DataFrame, *, of: list[str]) -> pd.DataFrame:
    """The means of all numbers (and shares of all yes-or-no columns) for each value of ``of``."""
    numbers = [c for c in cells if c not in of and pd.api.types.is_numeric_dtype(cells[c])]
    return cells.groupby(of, as_index=False)[numbers].mean()


SHAPES: dict[str, Callable[..., pd.DataFrame]] = {"sides": sides, "across": across, "mean": mean}
"""Ways to reshape cells, by the field of a claim that asks for them; applied in this order."""


# --- the published tables ---------------------------------------------------------------------


def _ranks(tables: dict[str, pd.DataFrame], settings: Settings) -> pd.DataFrame:
    """Sensitivity with each method's ``rank`` within its language (1: most sensitive) of those at hand."""
    table = tables["sensitivity"]
    return table.assign(rank=table.groupby("language")["rho"].rank(ascending=False))


def _detections(tables: dict[str, pd.DataFrame], settings: Settings) -> pd.DataFrame:
    """Significant results of the six original tests by language, model and method; ``best``: no method has more."""
    cells = choose(tables["results"], family="original", source=settings.source, group=_multilingual(settings))
    table = cells.groupby(["language", "method"], as_index=False)["significant"].sum()
    return table.assign(best=table.significant == table.groupby("language")["significant"].transform("max"))


def _reaction(tables: dict[str, pd.DataFrame], settings: Settings) -> pd.DataFrame:
    """Each method's sensitivity (``left``) and how far its d moves with the word list (``right``), by language.

    The move is the mean over six tests of |d(all words) − d(machine translation)|.
    """
    cells = choose(tables["results"], family="original", source=["all", "gt"], group=_multilingual(settings))
    moved = sides(cells, by="source", left="all", right="gt").groupby(["language", "method"], as_index=False)["gap"]
    return tables["sensitivity"].merge(moved.mean()).rename(columns={"rho": "left", "gap": "right"})


def _multilingual(settings: Settings) -> list[str]:
    return [settings.multilingual, "fastText"]


DERIVED: dict[str, tuple[tuple[str, ...], Callable]] = {
    "ranks": (("sensitivity",), _ranks),
    "detections": (("results",), _detections),
    "reaction": (("results", "sensitivity"), _reaction),
}
"""Tables made of others: name → what they need, and how they are made."""


@lru_cache(maxsize=1)
def word_counts() -> pd.DataFrame:
    """WEATHub's numbers, counted from its word lists: ``name``, ``value`` (sections 1 to 2.3, 3.1, 5)."""
    words = word_table("weathub")
    words = words[words.language.isin(LANGUAGES)].assign(family=words.test.map(family), word=words.word.map(folded))
    sets = words.groupby(["family", "test", "category", "language", "variant"])["word"].agg(set)
    full, human = (sets.xs("original").xs(v, level="variant") for v in ("all", "human"))
    added = (full - human).dropna().map(sorted)
    by_category = added.map(len).groupby(["category", "language"]).max()
    new = sets.xs("dimension").map(len)  # of words that differ
    valence = sets.xs("valence").xs("new", level="variant")
    valence = valence.loc["weat13b"].loc[["Pleasant", "Unpleasant"]]
    pleasant = full.xs("weat1").reindex(valence.index)
    spread = phrases("weathub").query("variant == 'human'").set_index("language")["share"]
    tests = {name: set(part.test) for name, part in words.groupby("family")}
    rows = {
        "languages besides English": words.query("family == 'original' and variant == 'human'").language.nunique(),
        "original tests": words.query("family == 'original' and variant == 'human'").test.nunique(),
        "median local words a language and category": by_category.median(),
        "most local words a language and category": by_category.max(),
        "anemone among the Greek flowers": "ανεμώνη" in added["weat1", "Flowers", "el"],
        "chamomile among the Danish flowers": "kamille" in added["weat1", "Flowers", "da"],
        "rose hip among the Danish flowers": "hyben" in added["weat1", "Flowers", "da"],
        "share of phrases in Vietnamese": spread["vi"],
        "share of phrases in Thai": spread["th"],
        "median share of phrases elsewhere": spread.drop(["vi", "th"]).median(),
        "new dimensions": len(tests["dimension"]),
        "valence variants": len(tests["valence"]),
        "pairs of the new dimensions": len(tests["dimension"] | tests["valence"]),
        "median words a set of the new dimensions": new.median(),
        "share of these sets with ten words": (new == 10).mean(),
        "share of valence sets that are those of WEAT 1": (valence == pleasant).mean(),
        "languages of the India tests": words.query("family == 'india'").language.nunique(),
        "dimensions in all": words.query("family == 'original' and variant == 'human'").test.nunique()
        + len(tests["dimension"]),
        "level of the rule": _level(),
    }
    return pd.DataFrame({"name": list(rows), "value": [float(v) for v in rows.values()]})


def _level(n: int = 12) -> float:
    """Share of splits that the paper's rule calls significant where no split is special: enumerated for ``n`` words."""
    s = np.random.default_rng(0).normal(size=n)
    sums = np.array([s[list(c)].sum() for c in combinations(range(n), n // 2)])
    p = (sums[None, :] > sums[:, None]).mean(axis=1)
    return float(paper_rule(p, sums - sums.mean()).mean())


def _sensitivity() -> pd.DataFrame:
    return rho(published_sensitivity())


PLAIN: dict[str, tuple[str, Callable[[], pd.DataFrame]]] = {
    "sensitivity": ("weathub/final_results/", _sensitivity),
    "words": ("weathub/", word_counts),
}
"""Tables that no setting changes: name → the published files they need ("": none), and how they are made."""


def available(prefix: str) -> bool:
    """Whether the published files of this path can be had here."""
    return not prefix or sources.available(prefix)


def theirs(settings: Settings, names: Collection[str] = ()) -> dict[str, pd.DataFrame]:
    """The tables of these names (default: all) that can be had, flagged cells in or out as set, and what they need."""
    wanted = set(names) or {"results", "printed", *plain(), *DERIVED}
    wanted |= {need for name in wanted & set(DERIVED) for need in DERIVED[name][0]}
    tables = {name: make() for name, (prefix, make) in plain().items() if name in wanted and available(prefix)}
    if wanted & {"results", "printed"} and available("weathub/final_results/"):
        every = published_results(repeats=False)
        tables["results"] = prepare(integrity.without(every) if settings.flagged == "exclude" else every, settings)
        tables["printed"] = printed_cells(every)
    return with_derived(tables, settings, wanted)


def with_derived(tables: dict[str, pd.DataFrame], settings: Settings, names: Collection[str] = DERIVED) -> dict:
    """The tables plus those of :data:`DERIVED` that are wanted and can be made of them."""
    can = {name: make for name, (needs, make) in DERIVED.items() if name in names and set(needs) <= set(tables)}
    made = {name: make(tables, settings) for name, make in can.items()}
    return tables | made


def plain() -> dict[str, tuple[str, Callable[[], pd.DataFrame]]]:
    """:data:`PLAIN` and FilBBQ's tables."""
    from localbias.ledger import filbbq

    return PLAIN | {name: (filbbq.NEEDS[name], make) for name, make in filbbq.TABLES.items()}


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
        ``results`` (also ``model``, ``dataset``, ``protocol``), ``sensitivity``, ``seeds``; what no page has written
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


def standing_in(cells: pd.DataFrame, settings: Settings, compares: bool) -> pd.DataFrame:
    """Our cells with our models in the paper's roles: one model a role, the one with most cells, in one protocol.

    Any multilingual model stands for the paper's. Unless the claim ``compares`` models there is one role, and static
    vectors keep theirs.
    """
    role = cells.kind.where(cells.kind != "multilingual", settings.multilingual).replace("static", "fastText")
    known = cells.group.isin(["XLM-R", "DistilmBERT", "IndicBERT"]) & compares
    cells = cells.assign(group=cells.group.where(known, role))
    most = cells.groupby(["group", "model"]).size().reset_index(name="n").sort_values(["n", "model"])
    cells = cells[cells.model.isin(most.drop_duplicates("group", keep="last").model)]
    protocols = cells[cells.group != "fastText"].protocol.value_counts()
    keep = cells.group.eq("fastText") | cells.protocol.eq(protocols.index[0] if len(protocols) else "")
    return cells[keep]


def _rho_of_one_model(every: pd.DataFrame) -> pd.DataFrame:
    """ρ by language and method of the model with most rows, ``model`` and ``dataset`` kept where there."""
    every = every.dropna(subset="rho")
    if "model" in every:
        every = every[every.model == every.model.value_counts().sort_index().idxmax()]
    keys = [c for c in ("model", "dataset", "language", "method") if c in every]
    return every.groupby(keys, as_index=False)["rho"].mean()


_KEPT = ["language", "test", "method", "model", "source", "dataset", "protocol", "group", "family", "d", "p", "flags"]


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
    published = ~out["clean"].astype(bool) if "clean" in out else True
    return out.loc[out.d.notna() & out.p.notna() & published, _KEPT]


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
        "fasttext": "fastText",
    }
    entry = MODELS.get(model)
    if model in known:
        return known[model]
    if entry and len(entry.languages) == 1:
        return "monolingual"
    return entry.title if entry else model
