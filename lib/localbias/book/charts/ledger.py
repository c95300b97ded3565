"""Charts of the ledger: verdicts as a unit chart, the picture of one verdict, how often the judges err."""

from __future__ import annotations

import altair as alt
import pandas as pd

from localbias.book.charts import basic
from localbias.book.charts import theme as t
from localbias.errors import BadTable
from localbias.registry import LANGUAGES

VERDICT_COLOURS = {
    "holds": t.TEAL,
    "holds in part": t.BLUE,
    "not supported": t.ORANGE,
    "depends on the reading": t.VIOLET,
    "cannot tell": t.GREY,
}
VERDICT_SHAPES = {
    "holds": "circle",
    "holds in part": "square",
    "not supported": "triangle-up",
    "depends on the reading": "diamond",
    "cannot tell": "cross",
}
"""Shape tells the verdict too, for readers who cannot tell the colours."""

_UNIT = 26


def verdict_units(
    ledger: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "", row: str = "topic"
) -> alt.LayerChart:
    """One mark a claim, sorted by verdict within each row: a unit chart.

    Parameters
    ----------
    ledger : DataFrame
        ``id``, ``verdict``, ``claim`` and the column ``row`` (what a line of the chart stands for).

    Raises
    ------
    BadTable
        When a verdict is none of the five.
    """
    used = t.check(ledger, [row, "id", "verdict", "claim"], chart="verdict_units", description=description)
    order = list(VERDICT_COLOURS)
    if strange := set(ledger.verdict) - set(order):
        raise BadTable("unknown verdicts", expected=", ".join(order), got=", ".join(sorted(strange)))
    ranked = ledger.assign(_rank=ledger.verdict.map(order.index)).sort_values("_rank", kind="stable")
    place = ranked.groupby(row, sort=False).cumcount()
    base = alt.Chart(t.data(ranked, used, _place=place.tolist())).encode(
        x=alt.X(
            field="_place",
            type="quantitative",
            axis=None,
            scale=alt.Scale(domain=[-0.6, float(place.max()) + 0.6], nice=False),
        ),
        y=alt.Y(field=t.field(row), type="nominal", sort=t.categories(ledger[row]), axis=alt.Axis(title=None)),
    )
    legend = alt.Legend(title=None, orient="top")
    marks = base.mark_point(filled=True, size=200, opacity=1).encode(
        color=alt.Color(
            field="verdict",
            type="nominal",
            scale=alt.Scale(domain=order, range=list(VERDICT_COLOURS.values())),
            legend=legend,
        ),
        shape=alt.Shape(
            field="verdict",
            type="nominal",
            scale=alt.Scale(domain=order, range=list(VERDICT_SHAPES.values())),
            legend=legend,
        ),
        tooltip=t.tooltips(ranked, ["id", "verdict", "claim"]),
    )
    chart = alt.layer(marks).properties(height=alt.Step(_UNIT))
    return t.finish(chart, description=description, title=title, subtitle=subtitle)


def characteristics(table: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "") -> alt.TopLevelMixin:
    """How often each judge gives each verdict where the claim is true, false, or void: stacked shares.

    Parameters
    ----------
    table : DataFrame
        ``judge``, ``world`` (true | false | void), ``outcome`` and ``share``.
    """
    order = ["holds beyond chance", "holds, a count", "holds as described", "holds in part", "not supported"]
    table = table[table.outcome.isin(order)]
    table = table.sort_values("outcome", key=lambda held: held.map(order.index), kind="stable")
    return basic.bars(
        table,
        "judge",
        "share",
        colour="outcome",
        stacked=True,
        facet="world",
        columns=3,
        description=description,
        title=title,
        subtitle=subtitle,
        x_title="share of made data sets",
        colour_title="verdict",
        domain=(0, 1),
        palette=[t.TEAL, t.PETROL, t.VIOLET, t.BLUE, t.ORANGE],
    )


MOST_MARKS = 100
"""Rows of evidence from which a picture shows shares instead of single cells."""


def picture(
    evidence: pd.DataFrame,
    *,
    description: str,
    title: str = "",
    subtitle: str = "",
    axes: tuple[str, str] = ("right", "left"),
) -> alt.TopLevelMixin | None:
    """The picture of one verdict, drawn from its evidence; None where a table says it better.

    Of several readings the first is drawn, of several parts the one that fails most. Two sides become a scatter with
    its diagonal, a first place a count of who has it, printed values bars of what a guesser reaches, named cells dots
    of d; with many cells the share of each part, test or language is drawn. ``axes`` names the two sides.
    """
    what = {"description": description, "title": title, "subtitle": subtitle}
    table = evidence.assign(claim=evidence["ok"].map({True: "as claimed", False: "not as claimed"}))
    if "language" in table:
        table["language"] = [LANGUAGES[c].name if c in LANGUAGES else str(c) for c in table.language]
    if "reading" in table:
        table = table[table.reading == table.reading.iloc[0]]
    part = "part of the claim"
    if part in table and len(table) <= MOST_MARKS:
        table = table[table[part] == table.groupby(part)["ok"].mean().idxmin()]
    palette = [t.TEAL, t.ORANGE] if len(table) and table.ok.iloc[0] else [t.ORANGE, t.TEAL]
    if {"value", "fixed_high"} <= set(table):
        table = table.assign(least=0.0, entry=table.context + ": " + table.entry)
        reach = "score; the bar is what a guesser reaches"
        return basic.intervals(table, "entry", "value", "least", "fixed_high", x_title=reach, **what)
    if "top" in table:
        counts = table["top"].value_counts().rename_axis("first").reset_index(name="times")
        return basic.bars(counts, "first", "times", x_title=f"first in so many of {len(table)}", number="d", **what)
    if len(table) > MOST_MARKS:
        by = next((c for c in (part, "test", "language") if c in table and table[c].nunique() > 1), None)
        if by is None:
            return None
        shares = table.groupby(by, as_index=False, sort=False)["ok"].mean()
        return basic.bars(shares, by, "ok", x_title="share as claimed", domain=(0, 1), number=".0%", **what)
    if {"left", "right"} <= set(table.select_dtypes("number")):
        tips = [c for c in ("language", "test", "method") if c in table]
        told = {"colour": "claim", "palette": palette, "tooltip": tips}
        told |= {"x_title": f"d, {axes[0]}", "y_title": f"d, {axes[1]}"}
        return basic.scatter(table, "right", "left", diagonal=True, height=320, **told, **what)
    if "language" not in table or "d" not in table:
        return None
    return basic.dots(table, "language", "d", colour="claim", x_title="effect size d", palette=palette, **what)
