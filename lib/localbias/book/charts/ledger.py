"""Charts of the ledger: verdicts as a unit chart, and the papers' figures redrawn from their published data."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from localbias.book.charts import basic
from localbias.book.charts import theme as t
from localbias.errors import BadTable
from localbias.registry import LANGUAGES, METHODS, TESTS, label_of

VERDICT_COLOURS = {"holds": t.TEAL, "holds in part": t.BLUE, "not supported": t.ORANGE, "cannot tell": t.GREY}
VERDICT_SHAPES = {"holds": "circle", "holds in part": "square", "not supported": "triangle-up", "cannot tell": "cross"}
"""Shape tells the verdict too, for readers who cannot tell the colours."""

_UNIT = 30
_LINE = 52
"""Characters of a line of a claim beside its verdicts."""


def verdict_units(
    ledger: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "", row: str = "section"
) -> alt.LayerChart:
    """One mark a claim, sorted by verdict within each row: a unit chart.

    Parameters
    ----------
    ledger : DataFrame
        ``verdict``, ``claim``, ``figure`` and the column ``row`` (what a line of the chart stands for).

    Raises
    ------
    BadTable
        When a verdict is none of the four.
    """
    used = t.check(ledger, [row, "verdict", "claim", "figure"], chart="verdict_units", description=description)
    order = list(VERDICT_COLOURS)
    if strange := set(ledger.verdict) - set(order):
        raise BadTable("unknown verdicts", expected=", ".join(order), got=", ".join(sorted(strange)))
    ranked = ledger.assign(_rank=ledger.verdict.map(order.index)).sort_values("_rank", kind="stable")
    place = ranked.groupby(row, sort=False).cumcount()
    lines = t.categories(ledger[row])
    base = alt.Chart(t.data(ranked, used, _place=place.tolist())).encode(
        x=alt.X(
            field="_place",
            type="quantitative",
            axis=None,
            scale=alt.Scale(domain=[-0.6, float(place.max()) + 0.6], nice=False),
        ),
        y=alt.Y(field=t.field(row), type="nominal", sort=lines, axis=alt.Axis(title=None)),
    )
    marks = base.mark_point(filled=True, size=330, opacity=1).encode(
        color=alt.Color(
            field="verdict",
            type="nominal",
            scale=alt.Scale(domain=order, range=list(VERDICT_COLOURS.values())),
            legend=alt.Legend(title=None, orient="top"),
        ),
        shape=alt.Shape(
            field="verdict",
            type="nominal",
            scale=alt.Scale(domain=order, range=list(VERDICT_SHAPES.values())),
            legend=alt.Legend(title=None, orient="top"),
        ),
        tooltip=t.tooltips(ranked, ["verdict", "claim", "figure"]),
    )
    chart = alt.layer(marks).properties(height=alt.Step(_UNIT))
    return t.finish(chart, description=description, title=title, subtitle=subtitle)


def verdict_switches(
    switched: pd.DataFrame, *, description: str, title: str = "", subtitle: str = ""
) -> alt.LayerChart:
    """Verdicts of each claim (rows) under each choice (columns): coloured where a choice changes the verdict.

    Parameters
    ----------
    switched : DataFrame
        As :func:`localbias.ledger.switched` returns.
    """
    used = t.check(
        switched, ["claim", "switch", "verdict", "changed"], chart="verdict_switches", description=description
    )
    order = list(VERDICT_COLOURS)
    lines = ["\n".join(textwrap.wrap(claim, _LINE)) for claim in switched.claim]
    shown = [1.0 if c else 0.4 for c in switched.changed]
    base = alt.Chart(t.data(switched, used, _lines=lines, _shown=shown)).encode(
        x=alt.X(
            field="switch",
            type="nominal",
            sort=t.categories(switched.switch),
            axis=alt.Axis(title=None, orient="top", labelAngle=-40),
        ),
        y=alt.Y(
            field="_lines",
            type="nominal",
            sort=list(dict.fromkeys(lines)),
            axis=alt.Axis(title=None, labelExpr="split(datum.label, '\\n')", labelFontSize=11, labelLineHeight=12),
        ),
        tooltip=t.tooltips(switched, ["claim", "switch", "verdict", "changed"]),
    )
    marks = base.mark_point(filled=True, size=110).encode(
        color=alt.Color(
            field="verdict", type="nominal", scale=alt.Scale(domain=order, range=list(VERDICT_COLOURS.values()))
        ),
        shape=alt.Shape(
            field="verdict", type="nominal", scale=alt.Scale(domain=order, range=list(VERDICT_SHAPES.values()))
        ),
        opacity=alt.Opacity(field="_shown", type="quantitative", scale=None, legend=None),
    )
    # Room on the left: a reader's font may be wider than the one the labels were measured in.
    chart = alt.layer(marks).properties(height=alt.Step(29), width=alt.Step(34), padding={"left": 16})
    return t.finish(chart, description=description, title=title, subtitle=subtitle, fluid=False)


# --- the papers' figures ----------------------------------------------------------------------


def sensitivities(rho: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "") -> alt.LayerChart:
    """Sensitivity of each method in each language (WEATHub, Figure 1): ρ × 1000.

    Parameters
    ----------
    rho : DataFrame
        ``language``, ``method``, ``rho``.
    """
    order = list(rho.groupby("method")["rho"].mean().sort_values(ascending=False).index)
    table = rho.assign(language=_names(rho.language), milli=1000 * rho.rho, what=rho.method.map(_method_title))
    table = _sorted(table.sort_values("language", kind="stable"), "method", order)
    return basic.heat_map(
        table,
        "method",
        "language",
        "milli",
        description=description,
        title=title,
        subtitle=subtitle,
        diverging=False,
        number=".0f",
        value_title="ρ × 1000",
        tooltip=["what"],
        cell=52,
    )


def translations(cells: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "") -> alt.TopLevelMixin:
    """Mean |d| of the six original tests with machine and human translations (WEATHub, Figure 2).

    Parameters
    ----------
    cells : DataFrame
        ``language``, ``source`` (gt | human) and ``d`` of one model and method.
    """
    sides = {"gt": "machine", "human": "human"}
    table = cells.assign(size=cells.d.abs(), translation=cells.source.map(sides), language=_names(cells.language))
    table = table.groupby(["language", "translation"], as_index=False)["size"].mean()
    table = table.sort_values(["language", "translation"], ascending=[True, False], kind="stable")
    return basic.paired(
        table,
        "language",
        "size",
        "translation",
        description=description,
        title=title,
        subtitle=subtitle,
        x_title="mean |d| of six tests",
        colour_title="translation",
        reference=None,
    )


def effect_sizes(
    cells: pd.DataFrame,
    *,
    description: str,
    title: str = "",
    subtitle: str = "",
    significant_title: str = "significant",
) -> alt.LayerChart:
    """d of every language and test for one model and method (WEATHub, as in Figures 3 and 5).

    Parameters
    ----------
    cells : DataFrame
        ``language``, ``test``, ``d``, ``p``, ``flags`` and ``significant`` (see
        :func:`localbias.ledger.tables.prepare`).
    """
    table = cells.assign(language=_names(cells.language), weat=cells.test.map(_test_title))
    table = _sorted(table.sort_values("language", kind="stable"), "test", list(TESTS))
    return basic.heat_map(
        table,
        "weat",
        "language",
        "d",
        description=description,
        title=title,
        subtitle=subtitle,
        significant="significant",
        domain=(-2, 2),
        value_title="effect size d",
        tooltip=["p", "flags"],
        significant_title=significant_title,
        cell=52,
    )


def models_compared(cells: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "") -> alt.TopLevelMixin:
    """d of every test for every model, language by language (WEATHub, Figure 4, which Figure 18 enlarges).

    Parameters
    ----------
    cells : DataFrame
        ``language``, ``test``, ``group`` (of models), ``d`` and ``p`` of one method.
    """
    known = ["XLM-R", "DistilmBERT", "IndicBERT", "monolingual"]
    groups = [*known, *sorted(set(cells.group) - set(known))]
    table = cells.assign(weat=cells.test.map(_test_title), language=_names(cells.language))
    table = _sorted(_sorted(table, "group", groups), "test", list(TESTS)).sort_values("language", kind="stable")
    return basic.dots(
        table,
        "weat",
        "d",
        colour="group",
        facet="language",
        columns=3,
        description=description,
        title=title,
        subtitle=subtitle,
        x_title="effect size d",
        colour_title="model",
        tooltip=["p"],
    )


def atlas(cells: pd.DataFrame, *, description: str, title: str = "", subtitle: str = "") -> alt.TopLevelMixin:
    """Every method beside every other: languages down, tests across, one panel a method (WEATHub, Figures 6–17).

    Parameters
    ----------
    cells : DataFrame
        ``language``, ``test``, ``method``, ``d``, ``p`` and ``significant`` of one model (and fastText).
    """
    used = ["language", "weat", "method", "d", "p", "significant"]
    table = cells.assign(language=_names(cells.language), weat=cells.test.map(lambda name: TESTS[name].number))
    table = _sorted(_sorted(table.sort_values("language", kind="stable"), "method", list(METHODS)), "test", list(TESTS))
    t.check(table, used, chart="atlas", description=description)
    tests, methods = t.categories(table.weat), [m for m in METHODS if m in set(table.method)]
    base = alt.Chart().encode(
        x=alt.X(
            field="weat",
            type="nominal",
            sort=tests,
            axis=alt.Axis(title=None, labelAngle=0, orient="top", labelFontSize=9),
        ),
        y=alt.Y(field="language", type="nominal", sort=t.categories(table.language), axis=alt.Axis(title=None)),
        tooltip=t.tooltips(table, used),
    )
    scale = alt.Scale(domain=[-2, 2], range=t.DIVERGING, clamp=True, interpolate="lab")
    legend = alt.Legend(
        title="effect size d", orient="top", direction="horizontal", gradientLength=180, gradientThickness=9
    )
    filled = base.mark_rect().encode(color=alt.Color(field="d", type="quantitative", scale=scale, legend=legend))
    dots = base.transform_filter("datum.significant").mark_point(size=6, filled=True, color=t.ON_LIGHT, opacity=0.9)
    wide = max(11, 6 * max(map(len, tests)) + 2)  # px: the numbers above stand free of each other
    panel = alt.layer(filled, dots).properties(width=alt.Step(wide), height=alt.Step(13))
    chart = panel.facet(
        column=alt.Column(field="method", type="nominal", sort=methods, title=None), spacing=6, data=t.data(table, used)
    )
    note = f"{subtitle} · ● significant" if subtitle else "● significant"
    return t.finish(chart, description=description, title=title, subtitle=note, fluid=False)


def _names(codes: pd.Series) -> pd.Series:
    return codes.map(lambda code: LANGUAGES[code].name if code in LANGUAGES else code)


def _sorted(table: pd.DataFrame, column: str, order: Sequence[str] | Mapping) -> pd.DataFrame:
    place = {name: i for i, name in enumerate(order)}
    return table.sort_values(column, key=lambda held: held.map(place), kind="stable")


def _test_title(name: str) -> str:
    return label_of(name)


def _method_title(code: str) -> str:
    return METHODS[code].title
