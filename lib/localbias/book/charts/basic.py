"""The chart forms of the book: heat map, intervals, dots, bars, scatter, jitter, lines, paired.

Every function takes a tidy table and column names and returns an Altair chart. ``description`` is
required: a sentence that says what the chart shows, for readers who cannot see it. Categories
keep the order in which the table has them. ``*_title`` name axes, with the unit in brackets.

All raise BadTable (missing column, no rows), BadValues (not a number) or LocalBiasError
(no description).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from localbias.book.charts import parts as p
from localbias.book.charts import theme as t
from localbias.errors import BadTable

GOLDEN = 0.6180339887498949
"""Steps of this fraction fill a row evenly, however many points it has."""


def heat_map(
    table: pd.DataFrame,
    x: str,
    y: str,
    value: str,
    *,
    description: str,
    significant: str | None = None,
    title: str = "",
    subtitle: str = "",
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    x_title: str = "",
    y_title: str = "",
    value_title: str = "",
    number: str = "+.1f",
    diverging: bool = True,
    significant_title: str = "significant",
    cell: int = 44,
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
    domain : (low, high), optional
        Colour range, wider where a value lies outside it; by default symmetric about 0 (``diverging``) or from 0 up.
    number : str
        Format of the number in a cell.
    cell : int
        Least width of a column in px; a map too wide for the page scrolls.

    Raises
    ------
    BadTable
        When a pair of categories has more than one row, too.
    """
    columns = t.check(table, [x, y, value, significant, *tooltip], chart="heat_map", description=description)
    t.numeric(table, [value], chart="heat_map")
    if table.duplicated([x, y]).any():
        twice = table.loc[table.duplicated([x, y]), [x, y]].iloc[0].tolist()
        raise BadTable("a cell of a heat map has two values", expected=f"one row for each {x} × {y}", got=str(twice))
    across, down = t.categories(table[x]), t.categories(table[y])
    whole = p.every_pair(table[columns], x, y)
    held = whole[value].astype(float)
    top = float(np.nanmax(np.abs(held))) if held.notna().any() else 1.0
    low, high = domain or ((-top, top) if diverging else (min(0.0, float(held.min())), float(held.max())))
    if diverging and top > max(abs(low), abs(high)):
        low, high = -top, top
    shown = [t.number_text(v, number) for v in held]
    strength = (held.abs() / max(abs(low), abs(high), 1e-12)) if diverging else (held - low) / max(high - low, 1e-12)
    marked = p.truth(whole[significant]) if significant else pd.Series(False, index=whole.index)
    source = t.data(
        whole,
        columns,
        _dark=(strength > 0.62).tolist(),
        _marked=(marked & held.notna()).tolist(),
        _empty=held.isna().tolist(),
        _shown=shown,
    )
    base = alt.Chart(source).encode(
        x=p.category(x, across, x_title, axis={"orient": "top", "labelAngle": 0 if p.short(across, cell) else -50}),
        y=p.category(y, down, y_title),
        tooltip=t.tooltips(whole, [y, x, value, significant, *tooltip]),
    )
    ramp = t.DIVERGING if diverging else t.SEQUENTIAL
    colour = alt.Color(
        field=t.field(value),
        type="quantitative",
        scale=alt.Scale(domain=[low, high], range=ramp, clamp=True, interpolate="lab"),
        legend=alt.Legend(
            title=value_title or t.label(value),
            orient="top",
            direction="horizontal",
            gradientLength=180,
            gradientThickness=9,
            tickCount=5,
        ),
    )
    filled = base.transform_filter("!datum._empty")
    layers = [
        filled.mark_rect(stroke=t.PAPER, strokeWidth=1.5, cornerRadius=2).encode(color=colour),
        base.transform_filter("datum._empty").mark_text(text="·", color=t.MUTED, fontSize=14),
    ]
    for dark, ink in ((False, t.ON_LIGHT), (True, t.ON_DARK)):
        for marked_here in (False, True):
            if marked_here and not significant:
                continue
            chosen = filled.transform_filter(f"datum._dark === {str(dark).lower()}").transform_filter(
                f"datum._marked === {str(marked_here).lower()}"
            )
            layers.append(
                chosen.mark_text(
                    color=ink,
                    fontSize=11,
                    fontWeight="bold" if marked_here else "normal",
                    opacity=1 if marked_here or not significant else 0.78,
                ).encode(text=alt.Text(field="_shown", type="nominal"))
            )
            if marked_here:
                layers.append(
                    chosen.mark_point(
                        color=ink, size=12, opacity=0.9, yOffset=-8, shape="circle", filled=True, xOffset=p.corner(cell)
                    )
                )
    least = cell * len(across) + 7 * max(map(len, down))
    fluid = least <= t.WIDTH
    chart = alt.layer(*layers).properties(height=alt.Step(t.STEP))
    if not fluid:
        chart = chart.properties(width=alt.Step(cell))
    if significant:
        note = f"● {significant_title}"
        subtitle = f"{subtitle} · {note}" if subtitle else note
    return t.finish(chart, description=description, title=title, subtitle=subtitle, fluid=fluid, least=least)


def intervals(
    table: pd.DataFrame,
    y: str,
    value: str,
    low: str,
    high: str,
    *,
    description: str,
    colour: str | None = None,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    colour_title: str = "",
    reference: float | None = 0.0,
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    facet: str | None = None,
    columns: int = 2,
) -> alt.TopLevelMixin:
    """A forest plot: for each category a point and its interval, and a line at ``reference``.

    Parameters
    ----------
    y, value, low, high : str
        Columns: category, estimate, lower and upper end of its interval (missing: a point alone).
    colour : str, optional
        Column of the series; series stand one above another within a category.
    facet, columns
        Column that splits the chart into small ones, ``columns`` side by side.
    """
    used = t.check(table, [y, value, low, high, colour, facet, *tooltip], chart="intervals", description=description)
    t.numeric(table, [value, low, high], chart="intervals")
    span = domain or t.axis_domain(
        pd.concat([table[value], table[low], table[high]]), [] if reference is None else [reference]
    )
    plain = {} if colour else {"color": t.BLUE}

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(
            y=p.category(y, t.categories(table[y]), y_title),
            tooltip=t.tooltips(table, [y, colour, value, low, high, *tooltip]),
            **p.series(table, colour, colour_title, palette, chart="intervals", beside=True),
        )
        rule = base.mark_rule(strokeWidth=2, opacity=0.75, clip=True, **plain).encode(
            x=p.number(low, x_title or t.label(value), span), x2=alt.X2(field=t.field(high))
        )
        point = base.mark_point(size=64, filled=True, opacity=1, clip=True, **plain).encode(
            x=p.number(value, x_title, span), **p.shape(table, colour, colour_title)
        )
        return [*p.reference(reference, "x"), rule, point]

    step = alt.Step(max(t.STEP, 13 * p.count(table, colour)), **{"for": "position"})
    return p.arrange(layers, table, y, facet, columns, step, description=description, title=title, subtitle=subtitle)


def dots(
    table: pd.DataFrame,
    y: str,
    value: str,
    *,
    description: str,
    colour: str | None = None,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    colour_title: str = "",
    reference: float | None = 0.0,
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    facet: str | None = None,
    columns: int = 2,
) -> alt.TopLevelMixin:
    """A dot plot: for each category the values of one or more series on one line.

    Series differ by colour and by shape; a thin line joins the lowest and highest of a category.
    """
    used = t.check(table, [y, value, colour, facet, *tooltip], chart="dots", description=description)
    t.numeric(table, [value], chart="dots")
    span = domain or t.axis_domain(table[value], [] if reference is None else [reference])
    plain = {} if colour else {"color": t.BLUE}

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(y=p.category(y, t.categories(table[y]), y_title))
        points = base.mark_point(size=70, filled=True, opacity=0.92, clip=True, **plain).encode(
            x=p.number(value, x_title, span),
            tooltip=t.tooltips(table, [y, colour, value, *tooltip]),
            **p.series(table, colour, colour_title, palette, chart="dots"),
            **p.shape(table, colour, colour_title),
        )
        between = [p.joined(base, value, x_title, span)] if colour else []
        return [*p.reference(reference, "x"), *between, points]

    return p.arrange(
        layers, table, y, facet, columns, alt.Step(t.STEP), description=description, title=title, subtitle=subtitle
    )


def bars(
    table: pd.DataFrame,
    y: str,
    value: str,
    *,
    description: str,
    colour: str | None = None,
    stacked: bool = False,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    colour_title: str = "",
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    number: str | None = None,
    facet: str | None = None,
    columns: int = 2,
) -> alt.TopLevelMixin:
    """Horizontal bars from 0: one a category, or one for each series, beside each other or ``stacked``.

    ``number`` (a format such as ".2f") writes the value at the end of each bar; not with ``stacked``.
    """
    used = t.check(table, [y, value, colour, facet, *tooltip], chart="bars", description=description)
    t.numeric(table, [value], chart="bars")
    beside = bool(colour) and not stacked
    keys = [c for c in (y, colour, facet) if c]
    totals = table.groupby([c for c in (y, facet) if c], observed=True)[value].sum() if stacked else table[value]
    span = domain or t.axis_domain(totals, [0.0], pad=0.06)
    if not domain and min(totals.min(), 0) >= 0:
        span[0] = 0.0
    if table.duplicated(keys).any():
        raise BadTable("a bar has two values", expected=f"one row for each {' × '.join(keys)}", where="bars")
    order = {name: i for i, name in enumerate(t.categories(table[colour]))} if colour else {}
    plain = {} if colour else {"color": t.BLUE}

    def layers(part):
        ranks = {"_order": [order.get(str(v), 0) for v in part[colour]]} if colour else {}
        if number:
            ranks["_shown"] = [t.number_text(v, number) for v in part[value]]
        base = alt.Chart(t.data(part, used, **ranks)).encode(
            y=p.category(y, t.categories(table[y]), y_title),
            x=p.number(value, x_title, span, stack="zero" if stacked else None),
            **({"yOffset": p.offset(table, colour)} if beside else {}),
        )
        drawn = [
            base.mark_bar(opacity=0.92, cornerRadiusEnd=0 if stacked else 2, clip=True, **plain).encode(
                tooltip=t.tooltips(table, [y, colour, value, *tooltip]),
                **p.series(table, colour, colour_title, palette, chart="bars"),
                **({"order": alt.Order(field="_order", type="quantitative")} if stacked and colour else {}),
            )
        ]
        if number and not stacked:
            text = alt.Text(field="_shown", type="nominal")
            for side, align, dx in ((">=", "left", 5), ("<", "right", -5)):
                drawn.append(
                    base.transform_filter(f"datum[{value!r}] {side} 0")
                    .mark_text(align=align, dx=dx, color=t.MUTED, fontSize=11)
                    .encode(text=text)
                )
        return [*drawn, *p.reference(0.0, "x")]

    step = alt.Step(max(t.STEP, 13 * p.count(table, colour) + 8) if beside else t.STEP, **{"for": "position"})
    return p.arrange(layers, table, y, facet, columns, step, description=description, title=title, subtitle=subtitle)


def scatter(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    description: str,
    colour: str | None = None,
    text: str | None = None,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    colour_title: str = "",
    diagonal: bool = False,
    reference: float | None = None,
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    height: int = 420,
    opacity: float = 0.8,
) -> alt.LayerChart:
    """One point a row; ``diagonal`` draws y = x (both axes then share one domain), ``text`` labels points.

    ``reference`` draws a line at that value on both axes.
    """
    used = t.check(table, [x, y, colour, text, *tooltip], chart="scatter", description=description)
    t.numeric(table, [x, y], chart="scatter")
    shared = domain or (t.axis_domain(pd.concat([table[x], table[y]])) if diagonal else None)
    include = [] if reference is None else [reference]
    base = alt.Chart(t.data(table, used)).encode(
        x=p.number(x, x_title, shared or t.axis_domain(table[x], include)),
        y=p.number(y, y_title, shared or t.axis_domain(table[y], include)),
    )
    layers = [*p.reference(reference, "x"), *p.reference(reference, "y")]
    if diagonal:
        ends = alt.Data(values=[{"a": t.plain(v)} for v in shared])
        layers.append(
            alt.Chart(ends)
            .mark_line(color=t.AXIS, strokeDash=[4, 4], strokeWidth=1.2)
            .encode(x=alt.X(field="a", type="quantitative"), y=alt.Y(field="a", type="quantitative"))
        )
    layers.append(
        base.mark_point(
            size=46, filled=True, opacity=opacity, clip=True, **({} if colour else {"color": t.BLUE})
        ).encode(
            tooltip=t.tooltips(table, [text, colour, x, y, *tooltip]),
            **p.series(table, colour, colour_title, palette, chart="scatter"),
            **p.shape(table, colour, colour_title),
        )
    )
    if text:
        layers.append(
            base.mark_text(align="left", dx=7, dy=-5, fontSize=10.5, color=t.MUTED).encode(
                text=alt.Text(field=t.field(text), type="nominal")
            )
        )
    chart = alt.layer(*layers).properties(height=height)
    return t.finish(chart, description=description, title=title, subtitle=subtitle)


def jitter(
    table: pd.DataFrame,
    y: str,
    value: str,
    *,
    description: str,
    colour: str | None = None,
    distribution: pd.DataFrame | None = None,
    probability: str = "probability",
    mean: bool = True,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    colour_title: str = "",
    reference: float | None = 0.0,
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    row: int = 48,
    facet: str | None = None,
    columns: int = 2,
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
    used = t.check(table, [y, value, colour, facet, *tooltip], chart="jitter", description=description)
    t.numeric(table, [value], chart="jitter")
    names = t.categories(table[y])
    place = {name: i for i, name in enumerate(names)}
    extra = [] if reference is None else [reference]
    likely = None
    if distribution is not None:
        t.check(distribution, [y, value, probability, facet], chart="jitter (distribution)", description=description)
        t.numeric(distribution, [value, probability], chart="jitter (distribution)")
        likely = distribution[(distribution[probability] > 1e-6) & distribution[y].map(str).isin(names)]
        extra += likely[value].tolist()
    span = domain or t.axis_domain(table[value], extra)
    labels = "[" + ",".join(map(json.dumps, names)) + "][datum.value]"
    up = {
        "type": "quantitative",
        "scale": alt.Scale(domain=[len(names) - 0.5, -0.5], nice=False, zero=False),
        "axis": alt.Axis(title=y_title or None, values=list(range(len(names))), labelExpr=labels, grid=False),
    }
    across = p.number(value, x_title, span)
    plain = {} if colour else {"color": t.BLUE}

    def layers(part):
        drawn = p.reference(reference, "x")
        if likely is not None:
            behind = likely[likely[facet].map(str) == str(part[facet].iloc[0])] if facet else likely
            drawn.append(p.densities(behind, y, value, probability, place, across, up))
        spread = [(i * GOLDEN) % 1 - 0.5 for i in part.groupby(y, observed=True).cumcount()]
        spot = [place[str(v)] + 0.5 * s for v, s in zip(part[y], spread, strict=True)]
        drawn.append(
            alt.Chart(t.data(part, used, _row=spot))
            .mark_point(size=22, filled=True, opacity=0.6, clip=True, **plain)
            .encode(
                x=across,
                y=alt.Y(field="_row", **up),
                tooltip=t.tooltips(table, [y, colour, value, *tooltip]),
                **p.series(table, colour, colour_title, palette, chart="jitter"),
            )
        )
        return [*drawn, *([p.means(part, y, value, place, across, up)] if mean else [])]

    return p.arrange(
        layers, table, y, facet, columns, row * len(names), description=description, title=title, subtitle=subtitle
    )


def lines(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    description: str,
    colour: str | None = None,
    low: str | None = None,
    high: str | None = None,
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    colour_title: str = "",
    reference: float | None = None,
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    height: int = 320,
    points: bool = True,
    log_x: bool = False,
) -> alt.LayerChart:
    """Lines over a number or over ordered categories, with a band from ``low`` to ``high`` when given."""
    used = t.check(table, [x, y, colour, low, high, *tooltip], chart="lines", description=description)
    t.numeric(table, [y, low, high], chart="lines")
    ends = [table[c] for c in (y, low, high) if c]
    span = domain or t.axis_domain(pd.concat(ends), [] if reference is None else [reference])
    if pd.api.types.is_numeric_dtype(table[x]):
        scale = alt.Scale(type="log") if log_x else alt.Scale(domain=t.axis_domain(table[x], pad=0.02), nice=False)
        across = alt.X(field=t.field(x), type="quantitative", scale=scale, axis=alt.Axis(title=x_title or t.label(x)))
    else:
        across = alt.X(
            field=t.field(x),
            type="ordinal",
            sort=t.categories(table[x]),
            axis=alt.Axis(title=x_title or t.label(x), labelAngle=0),
            scale=alt.Scale(type="point"),
        )
    series = p.series(table, colour, colour_title, palette, chart="lines")
    plain_colour = {} if colour else {"color": t.BLUE}
    base = alt.Chart(t.data(table, used)).encode(x=across, **series)
    layers = [*p.reference(reference, "y")]
    if low and high:
        layers.append(
            base.mark_area(opacity=0.16, **plain_colour).encode(
                y=alt.Y(field=t.field(low), type="quantitative"), y2=alt.Y2(field=t.field(high))
            )
        )
    up = p.number(y, y_title, span, axis="y")
    layers.append(base.mark_line(strokeWidth=2, **plain_colour).encode(y=up))
    if points:
        layers.append(
            base.mark_point(size=42, filled=True, opacity=1, **plain_colour).encode(
                y=up,
                tooltip=t.tooltips(table, [x, colour, y, low, high, *tooltip]),
                **p.shape(table, colour, colour_title),
            )
        )
    chart = alt.layer(*layers).properties(height=height)
    return t.finish(chart, description=description, title=title, subtitle=subtitle)


def paired(
    table: pd.DataFrame,
    y: str,
    value: str,
    pair: str,
    *,
    description: str,
    style: str = "dumbbell",
    title: str = "",
    subtitle: str = "",
    x_title: str = "",
    y_title: str = "",
    pair_title: str = "",
    reference: float | None = 0.0,
    domain: Sequence[float] | None = None,
    tooltip: Sequence[str] = (),
    palette: Sequence[str] | None = None,
    facet: str | None = None,
    columns: int = 2,
    height: int = 420,
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
    used = t.check(table, [y, value, pair, facet, *tooltip], chart="paired", description=description)
    t.numeric(table, [value], chart="paired")
    sides = t.categories(table[pair])
    if len(sides) != 2:
        raise BadTable(f"column {pair!r} must have two values", expected="two", got=", ".join(sides), where="paired")
    if table.duplicated([c for c in (y, pair, facet) if c]).any():
        raise BadTable("a pair has two values on one side", expected=f"one row for each {y} × {pair}", where="paired")
    if style not in ("dumbbell", "slope"):
        raise BadTable(f"unknown style: {style!r}", expected="dumbbell or slope", got=repr(style), where="paired")
    span = domain or t.axis_domain(table[value], [] if reference is None else [reference])
    if style == "slope":
        return _slope(
            table, used, y, value, pair, sides, span, reference, description, title, subtitle, x_title, height, tooltip
        )

    def layers(part):
        base = alt.Chart(t.data(part, used)).encode(y=p.category(y, t.categories(table[y]), y_title))
        ends = base.mark_point(size=80, filled=True, opacity=1, clip=True).encode(
            x=p.number(value, x_title, span),
            tooltip=t.tooltips(table, [y, pair, value, *tooltip]),
            **p.series(table, pair, pair_title, palette, chart="paired"),
            **p.shape(table, pair, pair_title),
        )
        return [*p.reference(reference, "x"), p.joined(base, value, x_title, span), ends]

    return p.arrange(
        layers, table, y, facet, columns, alt.Step(t.STEP), description=description, title=title, subtitle=subtitle
    )


def _slope(
    table, used, y, value, pair, sides, span, reference, description, title, subtitle, value_title, height, tooltip
):
    across = alt.X(
        field=t.field(pair),
        type="ordinal",
        sort=sides,
        scale=alt.Scale(type="point", padding=0.5),
        axis=alt.Axis(title=None, labelAngle=0),
    )
    base = alt.Chart(t.data(table, used)).encode(
        x=across, y=p.number(value, value_title, span, axis="y"), detail=alt.Detail(field=t.field(y), type="nominal")
    )
    layers = [
        *p.reference(reference, "y"),
        base.mark_line(color=t.BLUE, opacity=0.55, strokeWidth=1.6),
        base.mark_point(size=50, filled=True, color=t.BLUE).encode(
            tooltip=t.tooltips(table, [y, pair, value, *tooltip])
        ),
        base.transform_filter(alt.FieldEqualPredicate(field=t.field(pair), equal=sides[1]))
        .mark_text(align="left", dx=9, fontSize=11, color=t.INK)
        .encode(text=alt.Text(field=t.field(y), type="nominal")),
    ]
    return t.finish(
        alt.layer(*layers).properties(height=height), description=description, title=title, subtitle=subtitle
    )
