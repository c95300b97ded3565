"""The chart forms of the book: heat map, intervals, dots, bars, scatter, jitter, lines, paired.

Every function takes a tidy table and column names and returns an Altair chart; what all forms share (description,
titles, reference line, facets, …) is a :class:`localbias.book.charts.theme.Style`, given as keywords. Categories keep
the order in which the table has them. More series than colours become small views, one a series (intervals,
scatter).

All raise BadTable (missing column, no rows), BadValues (not a number) or LocalBiasError (no description).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from localbias.book.charts import parts as p
from localbias.book.charts import theme as t
from localbias.errors import BadTable

GOLDEN = 0.6180339887498949
"""Steps of this fraction fill a row evenly, however many points it has."""
ROW = {"for": "position"}


def heat_map(
    table: pd.DataFrame,
    x: str,
    y: str,
    value: str,
    *,
    significant: str | None = None,
    value_title: str = "",
    number: str = "+.1f",
    diverging: bool = True,
    significant_title: str = "significant",
    cell: int = 44,
    **style: Any,
) -> alt.LayerChart:
    """One coloured cell for each pair of categories, its number inside.

    Parameters
    ----------
    table : DataFrame
        One row a cell; a pair that is missing, or whose value is, shows an empty cell with "·".
    x, y, value : str
        Columns: categories across, categories down, the number.
    significant : str, optional
        Boolean column: cells where it is true get a dot in their corner and a bold number.
    number : str
        Format of the number in a cell.
    cell : int
        Least width of a column in px; a map too wide for the page scrolls.
    **style
        ``domain`` is the colour range, wider where a value lies outside it; by default symmetric about 0
        (``diverging``) or from 0 up.

    Raises
    ------
    BadTable
        When a pair of categories has more than one row, too.
    """
    s = t.style(style)
    columns = s.check(table, "heat_map", [x, y, value, significant], numbers=[value])
    if table.duplicated([x, y]).any():
        twice = table.loc[table.duplicated([x, y]), [x, y]].iloc[0].tolist()
        raise BadTable("a cell of a heat map has two values", expected=f"one row for each {x} × {y}", got=str(twice))
    across = t.categories(table[x])
    whole = p.every_pair(table[columns], x, y)
    held = whole[value].astype(float)
    low, high = _range(held, diverging, s.domain)
    strength = (held.abs() / max(abs(low), abs(high), 1e-12)) if diverging else (held - low) / max(high - low, 1e-12)
    marked = p.truth(whole[significant]) if significant else pd.Series(False, index=whole.index)
    flags = {"_dark": strength > 0.62, "_marked": marked & held.notna(), "_empty": held.isna()}
    shown = [t.number_text(v, number) for v in held]
    base = alt.Chart(t.data(whole, columns, **{k: v.tolist() for k, v in flags.items()}, _shown=shown)).encode(
        x=p.category(x, across, s.x_title, axis={"orient": "top", "labelAngle": 0 if p.short(across, cell) else -50}),
        y=p.category(y, t.categories(table[y]), s.y_title),
        tooltip=t.tooltips(whole, [y, x, value, significant, *s.tooltip]),
    )
    ramp = t.DIVERGING if diverging else t.SEQUENTIAL
    legend = alt.Legend(title=value_title or t.label(value), direction="horizontal", orient="top", tickCount=5)
    legend.gradientLength, legend.gradientThickness = 180, 9
    scale = alt.Scale(domain=[low, high], range=ramp, clamp=True, interpolate="lab")
    filled = base.transform_filter("!datum._empty")
    layers = [
        filled.mark_rect(stroke=t.PAPER, strokeWidth=1.5, cornerRadius=2).encode(
            color=alt.Color(field=t.field(value), type="quantitative", scale=scale, legend=legend)
        ),
        base.transform_filter("datum._empty").mark_text(text="·", color=t.MUTED, fontSize=14),
        *_cell_texts(filled, bool(significant), cell),
    ]
    least = cell * len(across) + 7 * max(map(len, t.categories(table[y])))
    fluid = least <= t.WIDTH
    size = {"height": alt.Step(t.STEP)} | ({} if fluid else {"width": alt.Step(cell)})
    s = s.noting(f"● {significant_title}") if significant else s
    return t.finish(alt.layer(*layers).properties(**size), s, fluid=fluid, least=least)


def _range(held: pd.Series, diverging: bool, domain: Sequence[float] | None) -> tuple[float, float]:
    top = float(np.nanmax(np.abs(held))) if held.notna().any() else 1.0
    low, high = domain or ((-top, top) if diverging else (min(0.0, float(held.min())), float(held.max())))
    return (-top, top) if diverging and top > max(abs(low), abs(high)) else (low, high)


def _cell_texts(filled, significant: bool, cell: int):
    """The numbers in the cells, dark on light and light on dark; marked ones bold, with a dot."""
    for dark, ink in ((False, t.ON_LIGHT), (True, t.ON_DARK)):
        for marked in (False, True)[: 1 + significant]:
            chosen = filled.transform_filter(f"datum._dark === {str(dark).lower()}")
            chosen = chosen.transform_filter(f"datum._marked === {str(marked).lower()}")
            look = {"fontWeight": "bold" if marked else "normal", "opacity": 1 if marked or not significant else 0.78}
            yield chosen.mark_text(color=ink, fontSize=11, **look).encode(text=alt.Text(field="_shown", type="nominal"))
            if marked:
                place = {"yOffset": -8, "xOffset": p.corner(cell)}
                yield chosen.mark_point(color=ink, size=12, opacity=0.9, shape="circle", filled=True, **place)


def intervals(
    table: pd.DataFrame, y: str, value: str, low: str, high: str, *, colour: str | None = None, **style: Any
) -> alt.TopLevelMixin:
    """A forest plot: for each category a point and its interval, and a line at ``reference`` (0).

    Parameters
    ----------
    y, value, low, high : str
        Columns: category, estimate, lower and upper end of its interval (missing: a point alone).
    colour : str, optional
        Column of the series; series stand one above another within a category.
    """
    s = t.style(style, reference=0.0)
    used = s.check(table, "intervals", [y, value, low, high, colour], numbers=[value, low, high])
    colour, s = p.told_apart(table, colour, s)
    span = s.span(table, [value, low, high])

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(
            y=p.category(y, t.categories(table[y]), s.y_title),
            tooltip=t.tooltips(table, [y, colour, value, low, high, *s.tooltip]),
            **p.series(table, colour, s, chart="intervals", beside=True),
        )
        rule = base.mark_rule(strokeWidth=2, opacity=0.75, clip=True, **p.plain(colour)).encode(
            x=p.number(low, s.x_title or t.label(value), span), x2=alt.X2(field=t.field(high))
        )
        point = base.mark_point(size=64, filled=True, opacity=1, clip=True, **p.plain(colour)).encode(
            x=p.number(value, s.x_title, span), **p.shape(table, colour, s)
        )
        return [*p.reference(s.reference, "x"), rule, point]

    return p.arrange(layers, table, y, alt.Step(max(t.STEP, 13 * p.count(table, colour)), **ROW), s)


def dots(table: pd.DataFrame, y: str, value: str, *, colour: str | None = None, **style: Any) -> alt.TopLevelMixin:
    """A dot plot: for each category the values of one or more series on one line.

    Series differ by colour and by shape; a thin line joins the lowest and highest of a category.
    """
    s = t.style(style, reference=0.0)
    used = s.check(table, "dots", [y, value, colour], numbers=[value])
    span = s.span(table, [value])

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(y=p.category(y, t.categories(table[y]), s.y_title))
        points = base.mark_point(size=70, filled=True, opacity=0.92, clip=True, **p.plain(colour)).encode(
            x=p.number(value, s.x_title, span),
            tooltip=t.tooltips(table, [y, colour, value, *s.tooltip]),
            **p.series(table, colour, s, chart="dots"),
            **p.shape(table, colour, s),
        )
        between = [p.joined(base, value, s.x_title, span)] if colour else []
        return [*p.reference(s.reference, "x"), *between, points]

    return p.arrange(layers, table, y, alt.Step(t.STEP), s)


def bars(
    table: pd.DataFrame,
    y: str,
    value: str,
    *,
    colour: str | None = None,
    stacked: bool = False,
    number: str | None = None,
    **style: Any,
) -> alt.TopLevelMixin:
    """Horizontal bars from 0: one a category, or one for each series, beside each other or ``stacked``.

    ``number`` (a format such as ".2f") writes the value at the end of each bar; not with ``stacked``.
    """
    s = t.style(style, reference=0.0)
    used = s.check(table, "bars", [y, value, colour], numbers=[value])
    beside = bool(colour) and not stacked
    keys = [c for c in (y, colour, s.facet) if c]
    if table.duplicated(keys).any():
        raise BadTable("a bar has two values", expected=f"one row for each {' × '.join(keys)}", where="bars")
    totals = table.groupby([c for c in (y, s.facet) if c], observed=True)[value].sum() if stacked else table[value]
    span = s.domain or t.axis_domain(totals, [0.0], pad=0.06)
    if not s.domain and min(totals.min(), 0) >= 0:
        span[0] = 0.0
    order = {name: i for i, name in enumerate(t.categories(table[colour]))} if colour else {}

    def layers(part):
        extra = {"_order": [order.get(str(v), 0) for v in part[colour]]} if colour else {}
        extra |= {"_shown": [t.number_text(v, number) for v in part[value]]} if number else {}
        base = alt.Chart(t.data(part, used, **extra)).encode(
            y=p.category(y, t.categories(table[y]), s.y_title),
            x=p.number(value, s.x_title, span, stack="zero" if stacked else None),
            **({"yOffset": p.offset(table, colour)} if beside else {}),
        )
        bar = base.mark_bar(opacity=0.92, cornerRadiusEnd=0 if stacked else 2, clip=True, **p.plain(colour)).encode(
            tooltip=t.tooltips(table, [y, colour, value, *s.tooltip]),
            **p.series(table, colour, s, chart="bars"),
            **({"order": alt.Order(field="_order", type="quantitative")} if stacked and colour else {}),
        )
        return [bar, *(p.bar_ends(base, value) if number and not stacked else []), *p.reference(0.0, "x")]

    step = alt.Step(max(t.STEP, 13 * p.count(table, colour) + 8) if beside else t.STEP, **ROW)
    return p.arrange(layers, table, y, step, s)


def scatter(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    colour: str | None = None,
    text: str | None = None,
    diagonal: bool = False,
    opacity: float = 0.8,
    **style: Any,
) -> alt.TopLevelMixin:
    """One point a row; ``diagonal`` draws y = x (both axes then share one domain), ``text`` labels points.

    ``reference`` draws a line at that value on both axes.
    """
    s = t.style(style)
    used = s.check(table, "scatter", [x, y, colour, text], numbers=[x, y])
    colour, s = p.told_apart(table, colour, s)
    shared = s.domain or (t.axis_domain(pd.concat([table[x], table[y]])) if diagonal else None)
    across, up = shared or s.span(table, [x]), shared or s.span(table, [y])

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(
            x=p.number(x, s.x_title, across), y=p.number(y, s.y_title, up, axis="y")
        )
        drawn = [
            *p.reference(s.reference, "x"),
            *p.reference(s.reference, "y"),
            *p.diagonal(shared if diagonal else []),
        ]
        points = base.mark_point(size=46, filled=True, opacity=opacity, clip=True, **p.plain(colour)).encode(
            tooltip=t.tooltips(table, [text, colour, x, y, *s.tooltip]),
            **p.series(table, colour, s, chart="scatter"),
            **p.shape(table, colour, s),
        )
        if not text:
            return [*drawn, points]
        label = alt.Text(field=t.field(text), type="nominal")
        return [
            *drawn,
            points,
            base.mark_text(align="left", dx=7, dy=-5, fontSize=10.5, color=t.MUTED).encode(text=label),
        ]

    return p.arrange(layers, table, None, s.height or (240 if s.facet else 420), s)


def jitter(
    table: pd.DataFrame,
    y: str,
    value: str,
    *,
    colour: str | None = None,
    distribution: pd.DataFrame | None = None,
    probability: str = "probability",
    mean: bool = True,
    row: int = 48,
    **style: Any,
) -> alt.TopLevelMixin:
    """Every draw as a point, spread within its category's row; behind it, if given, the exact distribution.

    Parameters
    ----------
    table : DataFrame
        One row a draw. The spread within a row is a fixed sequence, not random: same table, same chart.
    distribution : DataFrame, optional
        Columns ``y``, ``value``, ``probability`` (and ``facet``): how probable each value is. Its shape is
        scaled to the row's height, so it compares values within a row, not rows.
    mean : bool
        A tick at the mean of each row's draws.
    row : int
        Height of a row, px.
    """
    s = t.style(style, reference=0.0)
    used = s.check(table, "jitter", [y, value, colour], numbers=[value])
    names = t.categories(table[y])
    likely = None
    if distribution is not None:
        t.check(distribution, [y, value, probability, s.facet], chart="jitter (distribution)")
        t.numeric(distribution, [value, probability], chart="jitter (distribution)")
        likely = distribution[(distribution[probability] > 1e-6) & distribution[y].map(str).isin(names)]
    span = s.span(table, [value], likely[value].tolist() if likely is not None else [])
    labels = "[" + ",".join(map(json.dumps, names)) + "][datum.value]"
    up = {
        "type": "quantitative",
        "scale": alt.Scale(domain=[len(names) - 0.5, -0.5], nice=False, zero=False),
        "axis": alt.Axis(title=s.y_title or None, values=list(range(len(names))), labelExpr=labels, grid=False),
    }
    rows = p.Rows(y, value, {name: i for i, name in enumerate(names)}, p.number(value, s.x_title, span), up)

    def layers(part):
        drawn = p.reference(s.reference, "x")
        if likely is not None:
            behind = likely[likely[s.facet].map(str) == str(part[s.facet].iloc[0])] if s.facet else likely
            drawn.append(rows.densities(behind, probability))
        spread = [(i * GOLDEN) % 1 - 0.5 for i in part.groupby(y, observed=True).cumcount()]
        spot = [rows.place[str(v)] + 0.5 * d for v, d in zip(part[y], spread, strict=True)]
        points = alt.Chart(t.data(part, used, _row=spot)).mark_point(
            size=22, filled=True, opacity=0.6, clip=True, **p.plain(colour)
        )
        drawn.append(
            points.encode(
                x=rows.across,
                y=alt.Y(field="_row", **up),
                tooltip=t.tooltips(table, [y, colour, value, *s.tooltip]),
                **p.series(table, colour, s, chart="jitter"),
            )
        )
        return [*drawn, *([rows.means(part)] if mean else [])]

    return p.arrange(layers, table, y, row * len(names), s)


def lines(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    colour: str | None = None,
    low: str | None = None,
    high: str | None = None,
    points: bool = True,
    log_x: bool = False,
    **style: Any,
) -> alt.LayerChart:
    """Lines over a number or over ordered categories, with a band from ``low`` to ``high`` when given."""
    s = t.style(style)
    used = s.check(table, "lines", [x, y, colour, low, high], numbers=[y, low, high])
    span = s.span(table, [c for c in (y, low, high) if c])
    axis = {"title": s.x_title or t.label(x)}
    if pd.api.types.is_numeric_dtype(table[x]):
        scale = alt.Scale(type="log") if log_x else alt.Scale(domain=t.axis_domain(table[x], pad=0.02), nice=False)
        across = alt.X(field=t.field(x), type="quantitative", scale=scale, axis=alt.Axis(**axis))
    else:
        held = {"sort": t.categories(table[x]), "scale": alt.Scale(type="point")}
        across = alt.X(field=t.field(x), type="ordinal", axis=alt.Axis(**axis, labelAngle=0), **held)
    base = alt.Chart(t.data(table, used)).encode(x=across, **p.series(table, colour, s, chart="lines"))
    plain, up = p.plain(colour), p.number(y, s.y_title, span, axis="y")
    layers = [*p.reference(s.reference, "y")]
    if low and high:
        band = {"y": alt.Y(field=t.field(low), type="quantitative"), "y2": alt.Y2(field=t.field(high))}
        layers.append(base.mark_area(opacity=0.16, **plain).encode(**band))
    layers.append(base.mark_line(strokeWidth=2, **plain).encode(y=up))
    if points:
        tips = t.tooltips(table, [x, colour, y, low, high, *s.tooltip])
        dot = base.mark_point(size=42, filled=True, opacity=1, **plain)
        layers.append(dot.encode(y=up, tooltip=tips, **p.shape(table, colour, s)))
    return t.finish(alt.layer(*layers).properties(height=s.height or 320), s)


def paired(
    table: pd.DataFrame, y: str, value: str, pair: str, *, shape: str = "dumbbell", **style: Any
) -> alt.TopLevelMixin:
    """Two values for each category joined by a line: as "dumbbell" (rows) or as "slope" (two columns).

    Parameters
    ----------
    pair : str
        Column with exactly two different values, in the order before, after.

    Raises
    ------
    BadTable
        When ``pair`` has not two values or a category has two rows for one of them.
    """
    s = t.style(style, reference=0.0)
    used = s.check(table, "paired", [y, value, pair], numbers=[value])
    sides = t.categories(table[pair])
    if len(sides) != 2:
        raise BadTable(f"column {pair!r} must have two values", expected="two", got=", ".join(sides), where="paired")
    if table.duplicated([c for c in (y, pair, s.facet) if c]).any():
        raise BadTable("a pair has two values on one side", expected=f"one row for each {y} × {pair}", where="paired")
    if shape not in ("dumbbell", "slope"):
        raise BadTable(f"unknown shape: {shape!r}", expected="dumbbell or slope", got=repr(shape), where="paired")
    span, tips = s.span(table, [value]), t.tooltips(table, [y, pair, value, *s.tooltip])
    if shape == "slope":
        return _slope(table, used, y, value, pair, sides, span, tips, s)

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(y=p.category(y, t.categories(table[y]), s.y_title))
        ends = base.mark_point(size=80, filled=True, opacity=1, clip=True).encode(
            x=p.number(value, s.x_title, span),
            tooltip=tips,
            **p.series(table, pair, s, chart="paired"),
            **p.shape(table, pair, s),
        )
        return [*p.reference(s.reference, "x"), p.joined(base, value, s.x_title, span), ends]

    return p.arrange(layers, table, y, alt.Step(t.STEP), s)


def _slope(table, used, y, value, pair, sides, span, tips, s):
    point = {"scale": alt.Scale(type="point", padding=0.5), "axis": alt.Axis(title=None, labelAngle=0)}
    base = alt.Chart(t.data(table, used)).encode(
        x=alt.X(field=t.field(pair), type="ordinal", sort=sides, **point),
        y=p.number(value, s.x_title, span, axis="y"),
        detail=alt.Detail(field=t.field(y), type="nominal"),
    )
    layers = [
        *p.reference(s.reference, "y"),
        base.mark_line(color=t.BLUE, opacity=0.55, strokeWidth=1.6),
        base.mark_point(size=50, filled=True, color=t.BLUE).encode(tooltip=tips),
        base.transform_filter(alt.FieldEqualPredicate(field=t.field(pair), equal=sides[1]))
        .mark_text(align="left", dx=9, fontSize=11, color=t.INK)
        .encode(text=alt.Text(field=t.field(y), type="nominal")),
    ]
    return t.finish(alt.layer(*layers).properties(height=s.height or 420), s)
