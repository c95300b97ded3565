"""What a page says about a result table: counts, extremes, flags; and how it shows one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from localbias.measures.adjust import paper_rule_level
from localbias.registry import TESTS

SHOWN = {
    "language_name": "language",
    "test_label": "test",
    "method": "method",
    "effect_size": "d",
    "ci_low": "low",
    "ci_high": "high",
    "p_two_sided": "two-sided p",
    "q_value": "q",
    "flags": "flags",
}
"""Columns of a result table that a page shows, with their headings; the download holds all."""
SHOWN_BESIDE = {
    "language_name": "language",
    "test_label": "test",
    "method": "method",
    "effect_size": "our d",
    "d_published": "their d",
    "difference": "ours − theirs",
    "p_value": "our p",
    "p_published": "their p",
    "flags_published": "doubts about theirs",
}
"""The same of a :func:`beside_published` table."""
SHOWN_PAIRS = {
    "language_name": "language",
    "test_label": "test",
    "effect_size_one": "d, one",
    "effect_size_other": "d, other",
    "difference": "other − one",
    "q_value_one": "q, one",
    "q_value_other": "q, other",
    "significance_differs": "verdict differs",
    "flags_other": "flags, other",
}
"""The same of a :func:`side_by_side` table."""
SHOWN_CLEANED = {
    "language_name": "language",
    "test_label": "test",
    "removed": "removed",
    "d_before": "d, before",
    "d_after": "d, after",
    "p_before": "two-sided p, before",
    "p_after": "two-sided p, after",
    "q_before": "q, before",
    "q_after": "q, after",
    "flipped": "verdict differs",
}
"""The same of a :func:`localbias.audit.words.cleaning_effect` table."""
SHOWN_DIFFERENCES = {
    "language_name": "language",
    "test_label": "test",
    "other_title": "other model",
    "effect_shared_one": "d, one",
    "effect_shared_other": "d, other",
    "change": "other − one",
    "low": "low",
    "high": "high",
    "apart": "leaves 0 out",
    "significance_differs": "verdict differs",
    "words": "words",
    "words_left": "words left out",
}
"""The same of a table of :func:`localbias.studies.comparisons.paired_differences`."""
P_SHOWN = 1e-6
"""A smaller p is not written out: long lists leave it between bounds wider than 1 % (``p_low``, ``p_high``)."""


def p_text(p: float) -> str:
    """A p or q for readers: three decimals, two digits below 0.0005, "< 1e−6" below that.

    >>> p_text(0.0312), p_text(0.00012), p_text(6.3e-13)
    ('0.031', '1.2e−04', '< 1e−6')
    """
    if p < P_SHOWN:
        return "< 1e−6"
    return (f"{p:.1e}" if p < 5e-4 else f"{p:.3f}").replace("-", "−")


FORMATS = (
    dict.fromkeys(
        (
            "effect_size",
            "ci_low",
            "ci_high",
            "d_published",
            "difference",
            "effect_size_one",
            "effect_size_other",
            "mean_d",
            "lowest_d",
            "highest_d",
            "effect_shared_one",
            "effect_shared_other",
            "change",
            "low",
            "high",
            "d_before",
            "d_after",
        ),
        "+.2f",
    )
    | dict.fromkeys(
        (
            "p_value",
            "p_two_sided",
            "q_value",
            "p_holm",
            "q_value_one",
            "q_value_other",
            "p_before",
            "p_after",
            "q_before",
            "q_after",
        ),
        p_text,
    )
    | {"share": ".0%", "coverage": ".0%", "p_min": ".1e"}
)


def formats(table: pd.DataFrame) -> dict[str, str | Callable[[float], str]]:
    """How a page writes the numbers of a table: those of ``FORMATS`` that it has."""
    return {name: form for name, form in FORMATS.items() if name in table.columns}


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
        tests=("effect_size", "count"),
        positive=("positive", "sum"),
        significant_q=("significant_q", "sum"),
        significant_q_negative=("negative_q", "sum"),
        significant_paper=("significant_paper", "sum"),
        mean_d=("effect_size", "mean"),
        lowest_d=("effect_size", "min"),
        highest_d=("effect_size", "max"),
    )


def paper_level(results: pd.DataFrame) -> float:
    """True level of the paper's rule with sets of these sizes, mean over the rows."""
    sizes = zip(results["n_x"], results["n_y"], strict=True)
    return float(np.mean([paper_rule_level(x, y) for x, y in sizes]))


def most_and_least(results: pd.DataFrame) -> str:
    """Which tests are significant in most and in fewest languages, ties named together, as a clause.

    >>> table = pd.DataFrame({"test": ["weat1", "weat1", "weat2", "weat6"], "effect_size": [1.0, 0.9, 0.2, 0.1],
    ...     "test_label": ["WEAT 1", "WEAT 1", "WEAT 2", "WEAT 6"], "significant_q": [True, True, False, False]})
    >>> most_and_least(table)
    'WEAT 1 is significant in 2 languages, WEAT 2 and WEAT 6 in none'
    """
    order = {name: i for i, name in enumerate(TESTS)}
    table = results.sort_values("test", key=lambda tests: tests.map(lambda t: order.get(t, len(order))), kind="stable")
    counts = table.groupby("test_label", sort=False)["significant_q"].sum()
    most, least = int(counts.max()), int(counts.min())
    if most == 0:
        return "no test is significant in any language"
    first = counts.index[counts == most].tolist()
    verb, where = "is" if len(first) == 1 else "are", f"{most} language" + "s" * (most > 1)
    clause, last = f"{joined(first)} {verb} significant in {where}", counts.index[counts == least].tolist()
    return clause if most == least else f"{clause}, {joined(last)} in {least or 'none'}"


def joined(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> joined(["WEAT 1", "WEAT 2", "WEAT 6"])
    'WEAT 1, WEAT 2 and WEAT 6'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def size_limits(results: pd.DataFrame) -> str:
    """A sentence: whether the set sizes of one figure let every test reach significance."""
    made = results.dropna(subset=["effect_size", "p_min"])
    row = made.loc[made["p_min"].idxmax()]
    least = f"{row['p_min']:.1e}".replace("-", "−")
    sizes = f"{row['n_x']} and {row['n_y']} words, the smallest here, allow no two-sided p below {least}"
    never = made["flags"].str.contains("cannot be significant").sum()
    holm = made["flags"].str.contains("cannot pass Holm").sum()
    if never or holm:
        parts = [f"{never} cannot be significant at all"] * bool(never)
        parts += [f"{holm} could not on their own pass Holm among {row['family_size']} tests"] * bool(holm)
        return f"X and Y of {sizes}. Of {len(made)} rows {' and '.join(parts)}, whatever the model (see the flags)."
    return f"X and Y of {sizes}: every test can pass Holm among {row['family_size']}."


FLAG_KINDS = {
    "repeated in": "a word stands twice in a set",
    "are the same words": "both sets of a pair hold the same words: d is 0 by construction",
    "in both X and Y": "a word stands in both target sets",
    "in both A and B": "a word stands in both attribute sets",
    "both target and attribute": "a word is target and attribute",
    "without a vector": "a word has no vector",
    "invisible character": "a word holds a character that is not seen",
    "told apart": "the method reads the same of different words",
    "only unknown pieces": "the model knows no piece of a word",
    "in the vocabulary": "the vocabulary lists fewer than half of the words",
    "model made for": "the model was made for other languages",
    "single characters or bytes": "most words are cut into single characters or bytes",
    "without a start token": "the model has no start token",
    "word-initial form": "the model cannot be made to read the word-initial form",
    "small sets": "a set has fewer than eight words with a vector",
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
        meaning for flags in results["flags"].fillna("") for mark, meaning in FLAG_KINDS.items() if mark in flags
    )
    table = pd.DataFrame(found.most_common(), columns=["flag", "rows"])
    return table.assign(share=table["rows"] / max(1, len(results)))
