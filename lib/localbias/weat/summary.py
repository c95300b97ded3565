"""What a page says about a result table: counts, extremes, flags; and how it shows one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from localbias.errors import BadTable
from localbias.weat.compare import labelled
from localbias.weat.inference import paper_rule_level

SHOWN = {
    "language_name": "language", "test_label": "test", "method": "method", "n_x": "X", "n_y": "Y", "n_a": "A",
    "n_b": "B", "effect_size": "d", "ci_low": "low", "ci_high": "high", "p_value": "p", "p_two_sided": "two-sided p",
    "q_value": "q", "p_holm": "Holm", "flags": "flags",
}  # fmt: skip
"""Columns of a result table that a page shows, with their headings."""
SHOWN_BESIDE = {
    "language_name": "language", "test_label": "test", "model": "our model", "method": "method", "effect_size": "our d",
    "p_value": "our p", "model_published": "their model", "d_published": "their d", "p_published": "their p",
    "flags_published": "doubts about theirs",
}  # fmt: skip
"""The same of a :func:`beside_published` table."""
SHOWN_PAIRS = {
    "language_name": "language", "test_label": "test", "effect_size_one": "d, one", "effect_size_other": "d, other",
    "difference": "other − one", "q_value_one": "q, one", "q_value_other": "q, other", "flags_other": "flags, other",
}  # fmt: skip
"""The same of a :func:`side_by_side` table."""
FORMATS = dict.fromkeys(
    ("effect_size", "ci_low", "ci_high", "d_published", "difference", "effect_size_one", "effect_size_other", "mean_d",
     "lowest_d", "highest_d"), "+.2f",
) | {"share": ".0%", "coverage": ".0%", "p_min": ".1e"}  # fmt: skip


def formats(table: pd.DataFrame) -> dict[str, str]:
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
        tests=("effect_size", "count"), positive=("positive", "sum"), significant_q=("significant_q", "sum"),
        significant_q_negative=("negative_q", "sum"), significant_paper=("significant_paper", "sum"),
        mean_d=("effect_size", "mean"), lowest_d=("effect_size", "min"), highest_d=("effect_size", "max"),
    )  # fmt: skip


def headline(results: pd.DataFrame) -> dict[str, object]:
    """What a page says first about one figure's results (:func:`labelled`).

    Returns
    -------
    dict
        ``n`` effects, ``n_q``, ``n_paper``, ``n_negative`` (significant and below 0), ``paper_level`` (true level of
        the papers' rule, mean over the rows), ``expected`` (false findings of that rule if there were
        nothing), ``languages``, ``most``, ``most_n``, ``least``, ``least_n`` (tests with most and fewest significant
        languages), ``top``, ``top_d``, ``bottom``, ``bottom_d`` (largest and smallest effect, named),
        ``median_width`` of the intervals.
    """
    made = results.dropna(subset="effect_size")
    if made.empty:
        raise BadTable("no effect was computed", expected="rows with an effect size", got=f"{len(results)} rows",
                       where="; ".join(results["flags"].unique()[:3]))  # fmt: skip
    tests = overview(made, ["test_label"]).sort_values(["significant_q", "mean_d"], ascending=False, kind="stable")
    top, bottom = made.loc[made["effect_size"].idxmax()], made.loc[made["effect_size"].idxmin()]
    level = np.mean([paper_rule_level(x, y) for x, y in zip(made["n_x"], made["n_y"], strict=True)])
    return {
        "n": len(made), "n_q": int(made["significant_q"].sum()), "n_paper": int(made["significant_paper"].sum()),
        "n_negative": int((made["significant_q"] & (made["effect_size"] < 0)).sum()), "paper_level": float(level),
        "expected": float(level) * len(made), "languages": made["language"].nunique(),
        "most": tests["test_label"].iloc[0], "most_n": int(tests["significant_q"].iloc[0]),
        "least": tests["test_label"].iloc[-1], "least_n": int(tests["significant_q"].iloc[-1]),
        "top": f"{top['language_name']}, {top['test_label']}", "top_d": float(top["effect_size"]),
        "bottom": f"{bottom['language_name']}, {bottom['test_label']}", "bottom_d": float(bottom["effect_size"]),
        "median_width": float((made["ci_high"] - made["ci_low"]).median()),
    }  # fmt: skip


def changes(pairs: pd.DataFrame) -> dict[str, object]:
    """What differs in a :func:`side_by_side` table: counts, and the pair that differs most, named.

    Returns
    -------
    dict
        ``n`` pairs, ``same`` (difference 0), ``changed``, ``sign`` and ``significance`` (how many differ),
        ``mean_absolute``; of the pair that differs most ``largest`` (its name), ``largest_from``, ``largest_to``,
        ``largest_other`` (its other side).
    """
    if pairs.empty:
        raise BadTable("no pair has an effect size on both sides", expected="pairs", got="none")
    named = labelled(pairs)
    named["test_label"] = named.get("test_label", f"{pairs['one'].iloc[0]} and {pairs['other'].iloc[0]}")
    row = named.loc[named["difference"].abs().idxmax()]
    return {
        "n": len(pairs), "same": int((pairs["difference"] == 0).sum()),
        "changed": int((pairs["difference"] != 0).sum()), "sign": int(pairs["sign_differs"].sum()),
        "significance": int(pairs["significance_differs"].sum()),
        "mean_absolute": float(pairs["difference"].abs().mean()),
        "largest": f"{row['language_name']}, {row['test_label']}",
        "largest_other": row.get("other_title", row["other"]),
        "largest_from": float(row["effect_size_one"]), "largest_to": float(row["effect_size_other"]),
    }  # fmt: skip


FLAG_KINDS = {
    "repeated in": "a word stands twice in a set",
    "are the same words": "both sets of a pair hold the same words: d is 0 by construction",
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
        meaning for flags in results["flags"].fillna("") for mark, meaning in FLAG_KINDS.items() if mark in flags
    )
    table = pd.DataFrame(found.most_common(), columns=["flag", "rows"])
    return table.assign(share=table["rows"] / max(1, len(results)))
