"""Charts of WEAT results: tables as ``localbias.studies.side_by_side.labelled`` returns them."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from localbias.book.charts.basic import heat_map, intervals, jitter, paired, scatter

LIMITS = (-2.0, 2.0)
"""Colour range of d, so that pages can be compared; a chart widens it where very unequal sets give more."""


def effect_map(
    shown: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    alpha: float = 0.05,
    x: str = "test_label",
    y: str = "language_name",
) -> alt.LayerChart:
    """Heat map of d by language and test, significant cells marked.

    Parameters
    ----------
    shown : DataFrame
        One row a language and test: results of one method.
    alpha : float
        What ``significant_q`` was judged by.
    x, y : str
        Columns across and down.
    """
    n, marked = int(shown["effect_size"].notna().sum()), int(shown["significant_q"].sum())
    return heat_map(
        shown,
        x,
        y,
        "effect_size",
        significant="significant_q",
        domain=LIMITS,
        significant_title=f"q < {alpha}",
        value_title="effect size d",
        number="+.2f",
        cell=64,
        title=title,
        subtitle=subtitle,
        tooltip=["test_label", "test_title", "ci_low", "ci_high", "p_two_sided", "q_value", "flags"],
        description=f"Heat map of the effect size d of {n} tests, by language and test; "
        f"{marked} cells are marked as significant after adjustment for the number of tests.",
    )


def effect_intervals(one_test: pd.DataFrame, *, level: float) -> alt.TopLevelMixin:
    """d of one test in each language with its interval, largest first."""
    rows = one_test.sort_values("effect_size", ascending=False, kind="stable")
    first = rows.iloc[0]
    return intervals(
        rows,
        "language_name",
        "effect_size",
        "ci_low",
        "ci_high",
        x_title="effect size d",
        title=f"{first['test_label']}: {first['test_title']}",
        subtitle=f"{level:.0%} intervals, {first['method']}",
        tooltip=["q_value", "n_x", "n_y", "n_a", "n_b"],
        description=f"Effect size d of {first['test_label']} in {len(rows)} languages with {level:.0%} intervals, "
        f"from {first['language_name']} to {rows.iloc[-1]['language_name']}.",
    )


def effect_spread(shown: pd.DataFrame, *, title: str, y: str = "test_title") -> alt.TopLevelMixin:
    """For each test one point a language at its d, and a tick at their mean."""
    return jitter(
        shown,
        y,
        "effect_size",
        title=title,
        x_title="effect size d",
        tooltip=["language_name", "q_value"],
        description=f"For each of {shown[y].nunique()} tests, one point a language at its effect size d, and a tick at "
        "their mean.",
    )


def effect_moves(sides: pd.DataFrame, *, title: str, pair_title: str) -> alt.TopLevelMixin:
    """Two joined points a row: d on either side, for ``compare.largest`` tables (column ``label``)."""
    return paired(
        sides,
        "label",
        "effect_size",
        "side",
        x_title="effect size d",
        colour_title=pair_title,
        title=title,
        tooltip=["test_title", "q_value", "flags"],
        description=f"{sides['label'].nunique()} tests, each with two joined points: its effect size d, "
        f"{' and '.join(map(str, sides['side'].unique()))}.",
    )


def published_scatter(beside: pd.DataFrame, alike: Mapping, *, colour: str, colour_title: str) -> alt.LayerChart:
    """The authors' d across, ours up; for ``compare.beside_published`` tables."""
    theirs = ", ".join(beside["model_published"].unique())
    return scatter(
        beside,
        "d_published",
        "effect_size",
        colour=colour,
        colour_title=colour_title,
        diagonal=True,
        reference=0,
        x_title="published d",
        y_title="our d",
        title="Published and ours",
        subtitle=f"published: {theirs}",
        tooltip=["language_name", "test_label", "test_title", "method", "p_published", "flags_published"],
        description=f"{alike['n']} points, one a language and test: the authors' effect size across, ours up; "
        f"correlation {alike['pearson']:.2f}.",
    )
