"""The pieces that chart forms are made of: axes, series, reference lines, marks, the arrangement of small views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

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


def diagonal(domain):
    """A list with the line y = x over a domain."""
    ends = alt.Data(values=[{"a": t.plain(v)} for v in domain])
    line = alt.Chart(ends).mark_line(color=t.AXIS, strokeDash=[4, 4], strokeWidth=1.2)
    place = {axis: kind(field="a", type="quantitative") for axis, kind in (("x", alt.X), ("y", alt.Y))}
    return [line.encode(**place)]


def told_apart(table, column, s):
    """The column of series and the style: more series than colours become small views, one a series."""
    if not column or s.facet or table[column].nunique() <= len(s.palette or t.PALETTE):
        return column, s
    return None, replace(s, facet=column)


def count(table, column):
    """How many series a column holds; without a column, one."""
    return table[column].nunique() if column else 1


def offset(table, column):
    return alt.YOffset(field=t.field(column), type="nominal", sort=t.categories(table[column]))


def plain(column):
    """The one colour of marks that have no series."""
    return {} if column else {"color": t.BLUE}


def series(table, column, s, *, chart, beside=False):
    """Colour (and, with ``beside``, place beside each other) by series."""
    if not column:
        return {}
    names = t.categories(table[column])
    scale, legend = t.colours(names, s.palette, chart=chart), t.legend(names, s.colour_title or None)
    colour = alt.Color(field=t.field(column), type="nominal", sort=names, scale=scale, legend=legend)
    return {"color": colour} | ({"yOffset": offset(table, column)} if beside else {})


def shape(table, column, s):
    """The shape of a mark by series, so that colour is not alone."""
    if not column:
        return {}
    names = t.categories(table[column])
    scale = alt.Scale(domain=names, range=[t.SHAPES[i % len(t.SHAPES)] for i in range(len(names))])
    legend = t.legend(names, s.colour_title or None)
    return {"shape": alt.Shape(field=t.field(column), type="nominal", sort=names, scale=scale, legend=legend)}


def bar_ends(base, value):
    """The number at the end of each bar, on its outer side."""
    text = alt.Text(field="_shown", type="nominal")
    for side, align, dx in ((">=", "left", 5), ("<", "right", -5)):
        outer = base.transform_filter(f"datum[{value!r}] {side} 0")
        yield outer.mark_text(align=align, dx=dx, color=t.MUTED, fontSize=11).encode(text=text)


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


class Rows(NamedTuple):
    """Rows of a jitter plot: their categories' places, and the two axes."""

    y: str
    value: str
    place: dict[str, int]
    across: alt.X
    up: dict

    def _between(self, table, columns, half):
        spot = table[self.y].map(lambda v: self.place[str(v)])
        held = t.data(table, columns, _top=(spot - half).tolist(), _end=(spot + half).tolist())
        ends = {"y": alt.Y(field="_top", **self.up), "y2": alt.Y2(field="_end")}
        return alt.Chart(held).encode(x=self.across, **ends)

    def densities(self, distribution, probability):
        """The exact distribution of each row as a shape about its middle."""
        known = distribution.sort_values([self.y, self.value], kind="stable")
        half = 0.44 * (known[probability] / known.groupby(self.y, observed=True)[probability].transform("max"))
        base = self._between(known, [self.y, self.value, probability], half)
        return base.mark_area(color=t.AXIS, opacity=0.4, interpolate="monotone", clip=True).encode(
            detail=alt.Detail(field=t.field(self.y), type="nominal")
        )

    def means(self, part):
        """A tick at the mean of each row."""
        middle = part.groupby(self.y, sort=False, observed=True)[self.value].mean().reset_index()
        base = self._between(middle, [self.y, self.value], 0.36)
        return base.mark_rule(color=t.INK, strokeWidth=2).encode(tooltip=t.tooltips(middle, [self.y, self.value]))


def arrange(layers, table, y, height, s):
    """One view at the page's width, or one small view for each value of the style's ``facet``."""
    if not s.facet:
        return t.finish(alt.layer(*layers(table)).properties(height=height), s)
    longest = max(map(len, t.categories(table[y])), default=0) if y else 0
    width = max(120, int(t.WIDTH / s.columns) - 36 - min(7 * longest, 220))
    views = []
    for name in t.categories(table[s.facet]):
        title = alt.TitleParams(text=name, fontSize=12, fontWeight="bold")
        view = alt.layer(*layers(table[table[s.facet].map(str) == name]))
        views.append(view.properties(height=height, width=width, title=title))
    return t.finish(alt.concat(*views, columns=s.columns, spacing=20), s, fluid=False)
