"""Results side by side: two translations, two models, raw and clean lists, ours and the authors'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from localbias import sources
from localbias.errors import BadTable, unknown
from localbias.registry import LANGUAGES, METHODS, MODELS, TESTS, label_of
from localbias.studies import published

KEYS = ("dataset", "language", "variant", "test", "model", "method", "protocol", "clean")
SIDES = ("effect_size", "ci_low", "ci_high", "p_two_sided", "q_value", "significant_q", "flags")
"""Columns that :func:`side_by_side` spreads."""
CHANGE = 1e-9
"""Less difference between two effect sizes than this is rounding: see :func:`moved`."""


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


def labelled(results: pd.DataFrame) -> pd.DataFrame:
    """A :func:`named` table with ``test_title``, ``model_title`` and ``method_title`` where it has their codes."""
    table = named(results)
    if "test" in table:
        table["test_title"] = [TESTS[t].title if t in TESTS else t for t in table["test"]]
    if "model" in table:
        table["model_title"] = [MODELS[m].title if m in MODELS else m for m in table["model"]]
    if "method" in table:
        table["method_title"] = [f"{m}: {METHODS[m].title}" for m in table["method"]]
    return table


def in_test_order(results: pd.DataFrame) -> pd.DataFrame:
    """A :func:`labelled` table by test, then language, with labels for charts of several languages or models.

    Adds ``row_label`` (the test's title, after the language's name where there are several) and ``series`` (the
    model, with the method where a model has several).
    """
    order = {name: i for i, name in enumerate(TESTS)}
    table = results.assign(_order=[order.get(test, len(order)) for test in results["test"]])
    table = table.sort_values(["_order", "language_name"], kind="stable").drop(columns="_order").reset_index(drop=True)
    table["row_label"] = table["test_title"]
    if table["language"].nunique() > 1:
        table["row_label"] = table["language_name"] + ": " + table["test_label"]
    if "model" in table:
        several = table.groupby("model")["method"].nunique().max() > 1
        table["series"] = table["model_title"] + ", " + table["method"] if several else table["model_title"]
    return table


def side_by_side(results: pd.DataFrame, column: str, one: object, other: object) -> pd.DataFrame:
    """Rows that agree in all keys but ``column``, joined: what ``one`` and what ``other`` gives.

    Parameters
    ----------
    results : DataFrame
        Rows of :func:`localbias.studies.weat.run_weat`, with both values in ``column``.
    column : str
        What differs: "variant", "model", "clean", "test" …
    one, other
        Its two values.

    Returns
    -------
    pandas.DataFrame
        The shared keys, each of ``SIDES`` twice (``effect_size_one``, ``effect_size_other`` …), then
        ``difference`` (other − one), ``sign_differs`` and ``significance_differs``. Only pairs where both
        have an effect size.

    Raises
    ------
    BadTable
        When a value is missing from the table or a pair is not unique.
    """
    keys = [k for k in KEYS if k != column and k in results.columns]
    if column in ("variant", "model"):  # these follow from it: a list's data set, a model's own methods
        keys = [k for k in keys if k not in (("dataset",) if column == "variant" else ("method",))]
    parts = []
    for value in (one, other):
        part = results[results[column] == value]
        if part.empty or part.duplicated(keys).any():
            state = "no row" if part.empty else "several rows for one pair"
            raise BadTable(
                f"results cannot be put side by side: {state}",
                where=f"{column} = {value}",
                expected=f"one row for each {', '.join(keys)}",
                got=f"{column}: {', '.join(map(str, results[column].unique()))}",
            )
        parts.append(part[[*keys, *SIDES]])
    joined = parts[0].merge(parts[1], on=keys, how="inner", suffixes=("_one", "_other"), validate="1:1")
    joined = joined.dropna(subset=["effect_size_one", "effect_size_other"]).reset_index(drop=True)
    first, second = joined["effect_size_one"], joined["effect_size_other"]
    if column in ("model", "protocol"):  # whose numbers a row holds: both
        joined[column] = f"{one}; {other}"
    return joined.assign(
        one=one,
        other=other,
        difference=second - first,
        sign_differs=signs(first) != signs(second),
        significance_differs=joined["significant_q_one"] != joined["significant_q_other"],
    )


def signs(effects: pd.Series | np.ndarray) -> np.ndarray:
    """−1, 0 or 1 of each d; a d nearer to 0 than rounding (``CHANGE``) has none.

    >>> signs(np.array([-0.3, 2e-16, 0.3])).tolist()
    [-1.0, 0.0, 1.0]
    """
    effects = np.asarray(effects, dtype=float)
    return np.sign(np.where(np.abs(effects) > CHANGE, effects, 0.0))


def long_form(pairs: pd.DataFrame, names: Sequence[str] | None = None) -> pd.DataFrame:
    """A :func:`side_by_side` table as two rows a pair, column ``side`` naming which: for charts."""
    keys = [k for k in KEYS if k in pairs.columns]
    parts = []
    for end, name in zip(("one", "other"), names or (None, None), strict=True):
        part = pairs[keys].assign(side=name or pairs[end], **{c: pairs[f"{c}_{end}"] for c in SIDES})
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def together(*tables: pd.DataFrame) -> pd.DataFrame:
    """Result tables one below another."""
    return pd.concat(tables, ignore_index=True)


def moved(pairs: pd.DataFrame, by: str = "difference") -> pd.DataFrame:
    """The pairs whose effect sizes differ by more than rounding (``CHANGE``), most first; a missing one does not.

    >>> moved(pd.DataFrame({"difference": [0.1 + 0.2 - 0.3, 0.01, float("nan"), -0.5]}))["difference"].tolist()
    [-0.5, 0.01]
    """
    size = pairs[by].abs().sort_values(ascending=False, kind="stable")
    return pairs.loc[size.index[size > CHANGE]]


def farthest(pairs: pd.DataFrame) -> pd.Series:
    """The pair whose effect sizes differ most.

    Raises
    ------
    BadTable
        When there is no pair.
    """
    if pairs.empty:
        raise BadTable("no pair has an effect size on both sides", expected="pairs", got="none")
    return pairs.loc[pairs["difference"].abs().idxmax()]


def largest(pairs: pd.DataFrame, n: int, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The ``n`` pairs that differ most, most first, as :func:`long_form`; ``label`` ("Chinese, WEAT 2") names them."""
    top = pairs.loc[pairs["difference"].abs().sort_values(ascending=False, kind="stable").index[:n]]
    table = labelled(long_form(top, names))
    table["label"] = table["language_name"] + ", " + table["test_label"]
    spread = table.groupby("label")["effect_size"].transform(np.ptp)
    return table.loc[spread.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def against(results: pd.DataFrame) -> pd.DataFrame:
    """The multilingual model's effects beside those of each other model; :func:`side_by_side` by model.

    Parameters
    ----------
    results : DataFrame
        With a column ``kind``, as :func:`localbias.studies.comparisons.run_models` returns. A method that the
        multilingual model has not (M10) is paired with its first.

    Returns
    -------
    pandas.DataFrame
        As :func:`labelled` :func:`side_by_side`, with ``other_title``, the other's ``method``, the multilingual
        model's ``method_one``, and ``pair_label`` ("Thai: bert-base-thai", with the method where a model has several).
    """
    ours, parts = only(results, kind="multilingual"), []
    for (name, method), theirs in results[results["kind"] != "multilingual"].groupby(["model", "method"], sort=False):
        code = method if method in set(ours["method"]) else ours["method"].iloc[0]
        pair = side_by_side(together(ours[ours["method"] == code], theirs), "model", ours["model"].iloc[0], name)
        title = MODELS[name].title if name in MODELS else name
        parts.append(pair.assign(other_title=title, method=method, method_one=code))
    if not parts:
        raise BadTable(
            "there is no other model to compare",
            expected="results of a monolingual model",
            got=f"only {ours['model'].iloc[0]}",
        )
    pairs = labelled(together(*parts))
    label = pairs["language_name"].astype(str) + ": " + pairs["other_title"].astype(str)
    several = pairs.groupby("other")["method"].nunique().max() > 1
    return pairs.assign(pair_label=label + ", " + pairs["method"] if several else label)


def attribute_pairs(results: pd.DataFrame, pairs: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Tests with the same targets and other attributes side by side; empty pairs are left out.

    Returns
    -------
    pandas.DataFrame
        As :func:`labelled` :func:`side_by_side` by test; ``test_label`` names the two ("WEAT 12 and 12b").
    """
    parts = []
    for first, second in (pair for pair in pairs if pair):
        joined = side_by_side(results, "test", first, second)
        parts.append(joined.assign(test_label=f"{label_of(first)} and {label_of(second).removeprefix('WEAT ')}"))
    if not parts:
        raise BadTable("no pair of tests is asked for", expected='pairs such as ["weat12", "weat12b"]', got=str(pairs))
    return labelled(together(*parts))


def agreement(one: pd.Series, other: pd.Series) -> dict[str, float]:
    """How two lists of effect sizes agree, pairs with a missing value left out.

    Returns
    -------
    dict
        ``n``; ``pearson`` with ``pearson_low``, ``pearson_high`` (95 %, Fisher's z, which takes pairs for
        independent); ``spearman``; ``same_sign`` (share); ``mean_difference`` (other − one);
        ``mean_absolute``. Correlations are NaN below 4 pairs or without spread.

    Examples
    --------
    >>> a = agreement(pd.Series([0.1, 0.5, 0.9, -0.2]), pd.Series([0.2, 0.6, 1.0, -0.1]))
    >>> a["n"], round(a["pearson"], 6), a["same_sign"], round(a["mean_absolute"], 6)
    (4, 1.0, 1.0, 0.1)
    """
    pair = pd.DataFrame({"one": np.asarray(one, dtype=float), "other": np.asarray(other, dtype=float)}).dropna()
    a, b = pair["one"].to_numpy(), pair["other"].to_numpy()
    missing = float("nan")
    found = {"n": len(pair), "pearson": missing, "pearson_low": missing, "pearson_high": missing, "spearman": missing}
    if len(pair) > 3 and np.ptp(a) > 0 and np.ptp(b) > 0:
        r = stats.pearsonr(a, b)
        low, high = r.confidence_interval()
        found |= {
            "pearson": float(r.statistic),
            "pearson_low": float(low),
            "pearson_high": float(high),
            "spearman": float(stats.spearmanr(a, b).statistic),
        }
    share = float((signs(a) == signs(b)).mean()) if len(pair) else missing
    difference = b - a if len(pair) else np.array([missing])
    return found | {
        "same_sign": share,
        "mean_difference": float(difference.mean()),
        "mean_absolute": float(np.abs(difference).mean()),
    }


def only(results: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """The rows that have these values: ``only(results, method="M5", test="weat1")``.

    Raises
    ------
    UnknownName
        When no row has one of them; the nearest value of the table is offered.
    """
    for column, value in wanted.items():
        if not (results[column] == value).any():
            raise unknown(f"{column.replace('_', ' ')} in these results", value, results[column].unique())
        results = results[results[column] == value]
    return results.reset_index(drop=True)


def one_of(asked: str, among: Sequence[str], first: str = "") -> str:
    """What a chart shows of several: the one asked for; for "auto" ``first`` where it is there, else the first.

    Raises
    ------
    UnknownName
        When the one asked for is not there; the nearest is offered.

    Examples
    --------
    >>> one_of("auto", ["weat1", "weat6"], "weat6"), one_of("auto", ["mine"], "weat6"), one_of("weat1", ["weat1"])
    ('weat6', 'mine', 'weat1')
    """
    among = list(among)
    if asked == "auto":
        return first if first in among else among[0]
    if asked not in among:
        raise unknown("name to show", asked, ["auto", *among])
    return asked


def beside_published(results: pd.DataFrame, model: str = "auto") -> pd.DataFrame:
    """Our rows with the authors' published d and p of the same language, test, variant and method.

    Parameters
    ----------
    results : DataFrame
        Rows of :func:`localbias.studies.weat.run_weat` on the published lists.
    model : str
        Whose published numbers: "auto" is the row's own model where the authors have it, else DistilmBERT,
        the paper's main model; M10 is their fastText.

    Returns
    -------
    pandas.DataFrame
        Our columns and ``d_published``, ``p_published``, ``model_published``, ``flags_published`` and
        ``difference`` (ours − theirs). Empty when the published results are not at hand or none matches.
    """
    names = ["d_published", "p_published", "model_published", "flags_published", "difference"]
    if not sources.available(published.RESULTS) or not (results["dataset"] == "weathub").any():
        return results.head(0).assign(**dict.fromkeys(names, pd.Series(dtype=object)))
    theirs = published.published_results(repeats=False).rename(
        columns={
            "d": "d_published",
            "p": "p_published",
            "source": "variant",
            "model": "model_published",
            "flags": "flags_published",
        }
    )
    keys = ["language", "variant", "test", "method", "model_published"]
    theirs = theirs.drop_duplicates(keys)[[*keys, "d_published", "p_published", "flags_published"]]
    has = set(theirs["model_published"])
    if model not in ("auto", *has):
        raise unknown("published model", model, ["auto", *sorted(has)])
    own = zip(results["model"], results["method"], strict=True)
    wanted = [_published_model(name, code, model, has) for name, code in own]
    joined = results.assign(model_published=wanted).merge(theirs, on=keys, how="inner")
    return joined.assign(difference=joined["effect_size"] - joined["d_published"])[[*results.columns, *names]]


def _published_model(own: str, method: str, asked: str, has: set[str]) -> str:
    if method == "M10":
        return "fasttext"
    if asked != "auto":
        return asked
    return own if own in has else "distilbert-base-multilingual-cased"
