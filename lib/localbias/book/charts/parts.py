"""The pieces that chart forms are made of: axes, series, reference lines, marks, the arrangement of small views."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from localbias.book.charts import theme as t


def category(name, order, title, axis: Mapping | None = None):
    """A categorical axis in a fixed order: down, or across when ``axis`` has settings."""
    kind = alt.Y if axis is None else alt.X
    return kind(
        field=t.field(name),
        type="nominal",
        sort=order,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(title=title or None, **(axis or {})),
    )


def number(name, title, domain, axis="x", **extra):
    """A quantitative axis over exactly ``domain``."""
    kind = alt.Y if axis == "y" else alt.X
    return kind(
        field=t.field(name),
        type="quantitative",
        scale=alt.Scale(domain=list(domain), nice=False, zero=False),
        axis=alt.Axis(title=title or t.label(name)),
        **extra,
    )


def reference(value, axis):
    """A list with a line at ``value``, or an empty one."""
    if value is None:
        return []
    channel = {"x": alt.X, "y": alt.Y}[axis](field="at", type="quantitative")
    held = alt.Data(values=[{"at": t.plain(value)}])
    return [alt.Chart(held).mark_rule(color=t.MUTED, strokeWidth=1.2).encode(**{axis: channel})]


def count(table, column):
    """How many series a column holds; without a column, one."""
    return table[column].nunique() if column else 1


def offset(table, column):
    return alt.YOffset(field=t.field(column), type="nominal", sort=t.categories(table[column]))


def series(table, column, title, palette, *, chart, beside=False):
    """Colour (and, with ``beside``, place beside each other) by series."""
    if not column:
        return {}
    names = t.categories(table[column])
    encoded = {
        "color": alt.Color(
            field=t.field(column),
            type="nominal",
            sort=names,
            scale=t.colours(names, palette, chart=chart),
            legend=t.legend(names, title or None),
        )
    }
    return encoded | ({"yOffset": offset(table, column)} if beside else {})


def shape(table, column, title):
    """The shape of a mark by series, so that colour is not alone."""
    if not column:
        return {}
    names = t.categories(table[column])
    scale = alt.Scale(domain=names, range=[t.SHAPES[i % len(t.SHAPES)] for i in range(len(names))])
    return {
        "shape": alt.Shape(
            field=t.field(column), type="nominal", sort=names, scale=scale, legend=t.legend(names, title or None)
        )
    }


def truth(column: pd.Series) -> pd.Series:
    """Missing counts as false."""
    return column.map(lambda v: False if pd.isna(v) else bool(v)).astype(bool)


def short(names, cell):
    """Whether every name fits above a column of ``cell`` px."""
    return max((len(n) for n in names), default=0) * 6.4 <= cell


def corner(cell):
    """How far right of a cell's middle its mark stands, px: columns are at least ``cell`` wide."""
    return cell / 2 - 6


def every_pair(table, x, y):
    """The table with a row for each pair of categories; what was missing is NA."""
    grid = pd.MultiIndex.from_product([t.categories(table[y]), t.categories(table[x])], names=[y, x]).to_frame(
        index=False
    )
    held = table.assign(**{x: table[x].map(str), y: table[y].map(str)})
    return grid.merge(held, on=[y, x], how="left", sort=False)


def joined(base, value, title, span):
    """A thin line from the lowest to the highest value of each category."""
    return base.mark_rule(color=t.AXIS, strokeWidth=1.5, clip=True).encode(
        x=number(value, title, span, aggregate="min"), x2=alt.X2(field=t.field(value), aggregate="max")
    )


def densities(distribution, y, value, probability, place, across, up):
    """The exact distribution of each row as a shape about its middle."""
    known = distribution.sort_values([y, value], kind="stable")
    top = known.groupby(y, observed=True)[probability].transform("max")
    half = 0.44 * (known[probability] / top)
    spot = known[y].map(lambda v: place[str(v)])
    held = t.data(known, [y, value, probability], _top=(spot - half).tolist(), _end=(spot + half).tolist())
    return (
        alt.Chart(held)
        .mark_area(color=t.AXIS, opacity=0.4, interpolate="monotone", clip=True)
        .encode(
            x=across,
            y=alt.Y(field="_top", **up),
            y2=alt.Y2(field="_end"),
            detail=alt.Detail(field=t.field(y), type="nominal"),
        )
    )


def means(part, y, value, place, across, up):
    """A tick at the mean of each row."""
    middle = part.groupby(y, sort=False, observed=True)[value].mean().reset_index()
    spot = middle[y].map(lambda v: place[str(v)])
    held = t.data(middle, [y, value], _top=(spot - 0.36).tolist(), _end=(spot + 0.36).tolist())
    return (
        alt.Chart(held)
        .mark_rule(color=t.INK, strokeWidth=2)
        .encode(x=across, y=alt.Y(field="_top", **up), y2=alt.Y2(field="_end"), tooltip=t.tooltips(middle, [y, value]))
    )


def arrange(layers, table, y, facet, columns, height, *, description, title, subtitle):
    """One view at the page's width, or one small view for each value of ``facet``."""
    texts = {"description": description, "title": title, "subtitle": subtitle}
    if not facet:
        return t.finish(alt.layer(*layers(table)).properties(height=height), **texts)
    longest = max(map(len, t.categories(table[y])), default=0)
    width = max(120, int(t.WIDTH / columns) - 36 - min(7 * longest, 220))
    views = [
        alt.layer(*layers(table[table[facet].map(str) == name])).properties(
            height=height, width=width, title=alt.TitleParams(text=name, fontSize=12, fontWeight="bold")
        )
        for name in t.categories(table[facet])
    ]
    return t.finish(alt.concat(*views, columns=columns, spacing=20), **texts, fluid=False)
