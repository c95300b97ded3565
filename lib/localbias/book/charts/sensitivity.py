"""Charts of the sensitivity heuristic ρ."""

from __future__ import annotations

import altair as alt
import pandas as pd

from localbias.book.charts.basic import heat_map, paired


def sensitivity_map(by_language: pd.DataFrame, *, title: str, subtitle: str = "") -> alt.LayerChart:
    """Heat map of ρ × 1000: methods across by their mean ρ, languages down, the largest of each language marked.

    Parameters
    ----------
    by_language : DataFrame
        ``language_name``, ``method``, ``method_title``, ``rho``, ``best``.
    """
    order = list(by_language.groupby("method")["rho"].mean().sort_values(ascending=False).index)
    table = by_language.assign(milli=1000 * by_language["rho"], place=by_language["method"].map(order.index))
    table = table.sort_values(["place", "language_name"], kind="stable")
    return heat_map(
        table,
        "method",
        "language_name",
        "milli",
        significant="best",
        significant_title="largest of its language",
        diverging=False,
        number=".1f",
        value_title="ρ × 1000",
        cell=58,
        title=title,
        subtitle=subtitle,
        tooltip=["method_title"],
        description=f"Heat map of ρ of {len(order)} methods in {table['language_name'].nunique()} languages; methods "
        f"from the largest mean ρ ({order[0]}) to the smallest ({order[-1]}); dots mark the largest of a language.",
    )


def rank_dumbbell(shared: pd.DataFrame, *, title: str) -> alt.TopLevelMixin:
    """Two joined points a method: its mean rank in our run and in the authors' results (rank 1: largest ρ).

    Parameters
    ----------
    shared : DataFrame
        ``method``, ``title``, ``mean_rank``, ``mean_rank_published``.
    """
    names = shared["method"] + ": " + shared["title"]
    sides = [
        shared.assign(name=names, rank=shared["mean_rank"], side="ours"),
        shared.assign(name=names, rank=shared["mean_rank_published"], side="published"),
    ]
    return paired(
        pd.concat(sides, ignore_index=True),
        "name",
        "rank",
        "side",
        x_title="mean rank over languages (1 = largest ρ)",
        colour_title="results",
        reference=None,
        title=title,
        description=f"{len(shared)} methods, each with two joined points: mean rank by ρ in our run and as published.",
    )
