"""Results side by side: two translations, two models, raw and clean lists, ours and the authors'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from localbias.data import has_words, published, resolve_dataset, sources
from localbias.errors import BadTable
from localbias.registry import LANGUAGES, METHODS, MODELS, TESTS, monolingual_models
from localbias.weat.run import FAMILY, judged, languages_of, run_weat, tests_of

TRANSLATIONS = {"gt": "machine translation", "human": "human translation", "starter": "written by a language model"}
"""Variant → what its words are, in the comparison of the paper's Figure 2."""

KEYS = ("dataset", "language", "variant", "test", "model", "method", "protocol", "clean")
SIDES = ("effect_size", "ci_low", "ci_high", "p_two_sided", "q_value", "significant_q", "flags")
"""Columns that :func:`side_by_side` spreads."""


def labelled(results: pd.DataFrame) -> pd.DataFrame:
    """The table with readable names beside its codes, in the order of languages' names and tests' numbers.

    Returns
    -------
    pandas.DataFrame
        With columns ``language_name`` ("Chinese"), ``test_label`` ("WEAT 1"), ``test_title``, and, where the
        table has them, ``model_title`` and ``method_title``.
    """
    order = {name: i for i, name in enumerate(TESTS)}
    table = results.assign(
        language_name=[LANGUAGES[c].name if c in LANGUAGES else c for c in results["language"]],
        test_label=[f"WEAT {TESTS[t].number}" if t in TESTS else t for t in results["test"]],
        test_title=[TESTS[t].title if t in TESTS else t for t in results["test"]],
        _order=[order.get(t, len(order)) for t in results["test"]],
    )
    if "model" in table:
        table["model_title"] = [MODELS[m].title if m in MODELS else m for m in table["model"]]
    if "method" in table:
        table["method_title"] = [f"{m}: {METHODS[m].title}" for m in table["method"]]
    return table.sort_values(["language_name", "_order"], kind="stable").drop(columns="_order").reset_index(drop=True)


def side_by_side(results: pd.DataFrame, column: str, one: object, other: object) -> pd.DataFrame:
    """Rows that agree in all keys but ``column``, joined: what ``one`` and what ``other`` gives.

    Parameters
    ----------
    results : DataFrame
        Rows of :func:`localbias.weat.run_weat`, with both values in ``column``.
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
            raise BadTable(f"results cannot be put side by side: {state}", where=f"{column} = {value}",
                           expected=f"one row for each {', '.join(keys)}",
                           got=f"{column}: {', '.join(map(str, results[column].unique()))}")  # fmt: skip
        parts.append(part[[*keys, *SIDES]])
    joined = parts[0].merge(parts[1], on=keys, how="inner", suffixes=("_one", "_other"), validate="1:1")
    joined = joined.dropna(subset=["effect_size_one", "effect_size_other"]).reset_index(drop=True)
    first, second = joined["effect_size_one"], joined["effect_size_other"]
    return joined.assign(
        one=one, other=other, difference=second - first, sign_differs=np.sign(first) != np.sign(second),
        significance_differs=joined["significant_q_one"] != joined["significant_q_other"],
    )  # fmt: skip


def long_form(pairs: pd.DataFrame, names: Sequence[str] | None = None) -> pd.DataFrame:
    """A :func:`side_by_side` table as two rows a pair, column ``side`` naming which: for charts."""
    keys = [k for k in KEYS if k in pairs.columns]
    parts = []
    for end, name in zip(("one", "other"), names or (None, None), strict=True):
        part = pairs[keys].assign(side=name or pairs[end], **{c: pairs[f"{c}_{end}"] for c in SIDES})
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


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
        found |= {"pearson": float(r.statistic), "pearson_low": float(low), "pearson_high": float(high),
                  "spearman": float(stats.spearmanr(a, b).statistic)}  # fmt: skip
    share = float((np.sign(a) == np.sign(b)).mean()) if len(pair) else missing
    difference = b - a if len(pair) else np.array([missing])
    return found | {"same_sign": share, "mean_difference": float(difference.mean()),
                    "mean_absolute": float(np.abs(difference).mean())}  # fmt: skip


def overview(results: pd.DataFrame, by: Sequence[str] = ("test",)) -> pd.DataFrame:
    """Per group: how many effects were computed, how many are significant, their mean and range.

    Returns
    -------
    pandas.DataFrame
        Columns of ``by``, then tests, positive, significant_q, significant_q_negative, significant_paper,
        mean_d, lowest_d, highest_d; in the table's order.
    """
    table = results.assign(
        positive=results["effect_size"] > 0, negative_q=results["significant_q"] & (results["effect_size"] < 0)
    )
    return table.groupby(list(by), sort=False, as_index=False).agg(
        tests=("effect_size", "count"), positive=("positive", "sum"), significant_q=("significant_q", "sum"),
        significant_q_negative=("negative_q", "sum"), significant_paper=("significant_paper", "sum"),
        mean_d=("effect_size", "mean"), lowest_d=("effect_size", "min"), highest_d=("effect_size", "max"),
    )  # fmt: skip


FLAG_KINDS = {
    "repeated in": "a word stands twice in a set",
    "in both X and Y": "a word stands in both target sets",
    "in both A and B": "a word stands in both attribute sets",
    "both target and attribute": "a word is target and attribute",
    "without a vector": "a word has no vector",
    "small sets": "a set has fewer than eight words",
    "cannot be significant": "the sets are too small for any significant result",
    "cannot pass Holm": "too small to pass Holm among the figure's tests",
    "not computed": "not computed",
    "no spread": "all words associate alike",
    "bounds of p": "bounds of p wider than 1 %",
}
"""What stands in a flag → what it means."""


def flag_counts(results: pd.DataFrame) -> pd.DataFrame:
    """How many rows carry each kind of flag: columns flag, rows, share; the most frequent first."""
    found = Counter(
        meaning for flags in results["flags"] for mark, meaning in FLAG_KINDS.items() if mark in (flags or "")
    )
    table = pd.DataFrame(found.most_common(), columns=["flag", "rows"])
    return table.assign(share=table["rows"] / max(1, len(results)))


# --------------------------------------------------------------------------------- whole comparisons


def run_translations(
    languages: Sequence[str] | str = "all", tests: Sequence[str] | str = "original",
    model: str = "multilingual-e5-small", methods: Sequence[str] = ("M5",), dataset: str = "auto", **settings,
) -> pd.DataFrame:  # fmt: skip
    """The same tests with words translated by machine, by people, and written by a language model.

    Runs the published machine ("gt") and human translations, where they are at hand, and the starter
    lexicon; languages without one of them miss that arm.

    Returns
    -------
    pandas.DataFrame
        As :func:`localbias.weat.run_weat`, with a column ``arm`` of the names in ``TRANSLATIONS``.
    """
    tests, parts = tests_of(tests), []
    asked = [("starter", "starter")]
    if resolve_dataset(dataset) == "weathub":
        asked = [("weathub", "gt"), ("weathub", "human"), *asked]
    for name, variant in asked:
        codes = languages_of(languages, tests, (variant,), name, leave_out=("en",))
        codes = [c for c in codes if all(has_words(t, c, variant, name) for t in tests)]
        if codes:
            part = run_weat(codes, tests, model, methods, variant, name, **settings)
            parts.append(part.assign(arm=TRANSLATIONS[variant]))
    if not parts:
        raise BadTable("no translation has these tests in these languages", expected=", ".join(TRANSLATIONS),
                       got=f"languages {languages}, tests {', '.join(tests)}")  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def run_models(
    languages: Sequence[str] | str, tests: Sequence[str] | str, multilingual: str,
    monolingual: Sequence[str] | str = "registry", methods: Sequence[str] = ("M5", "M10"), **settings,
) -> pd.DataFrame:  # fmt: skip
    """A multilingual model and monolingual ones on the same tests (WEATHub, section 4.2).

    Parameters
    ----------
    monolingual : list of models, or "registry"
        Models for the languages asked for, or each language's own model of the paper; then "all"
        languages are those that have one.

    Returns
    -------
    pandas.DataFrame
        As :func:`localbias.weat.run_weat`, with a column ``kind`` ("multilingual", "monolingual"). Each
        language's own models make one family for q together.
    """
    if monolingual != "registry":
        models = [multilingual, *([monolingual] if isinstance(monolingual, str) else monolingual)]
        results = run_weat(languages, tests, models, methods, **settings)
    else:
        own = monolingual_models()
        codes = list(own) if languages == "all" else [languages] if isinstance(languages, str) else list(languages)
        lacking = [code for code in codes if code not in own]
        if lacking:
            raise BadTable("no monolingual model is registered", where=", ".join(lacking), expected=", ".join(own),
                           todo="name the models: monolingual=[…]")  # fmt: skip
        results = pd.concat(
            [run_weat(codes, tests, multilingual, methods, **settings)]
            + [run_weat([code], tests, own[code], methods, **settings) for code in codes],
            ignore_index=True,
        )
    results["kind"] = np.where(results["model"] == multilingual, "multilingual", "monolingual")
    family = [name for name in FAMILY if name != "model" or monolingual != "registry"]
    return judged(results, settings.get("alpha", 0.05), [*family, "kind"])


def beside_published(results: pd.DataFrame, model: str = "auto") -> pd.DataFrame:
    """Our rows with the authors' published d and p of the same language, test, variant and method.

    Parameters
    ----------
    results : DataFrame
        Rows of :func:`localbias.weat.run_weat` on the published lists.
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
        columns={"d": "d_published", "p": "p_published", "source": "variant", "model": "model_published",
                 "flags": "flags_published"}
    )  # fmt: skip
    keys = ["language", "variant", "test", "method", "model_published"]
    theirs = theirs.drop_duplicates(keys)[[*keys, "d_published", "p_published", "flags_published"]]
    has = set(theirs["model_published"])
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
