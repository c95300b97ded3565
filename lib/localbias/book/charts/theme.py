"""Colours, type and sizes of every chart, and the checks that every chart function makes.

A chart is drawn once and read on light and dark pages. Everything that must change with the page
(text, grid, axis lines) has one of the colours in :data:`INKS`; the style sheet of the book swaps
exactly these. Marks keep their colour: the palette has at least 3:1 contrast on both backgrounds
and stays apart for readers with any of the common colour-vision deficiencies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from localbias.errors import BadTable, BadValues, LocalBiasError, unknown

INK, MUTED, GRID, AXIS, PAPER = "#1f2934", "#5c6873", "#dfe3e8", "#98a2ad", "#fefefd"
INKS = {"ink": INK, "muted": MUTED, "grid": GRID, "axis": AXIS, "paper": PAPER}
"""Colours that the page's style sheet replaces; use them for nothing else."""

ON_LIGHT, ON_DARK = "#10171e", "#ffffff"
"""Text on a light and on a dark cell; never swapped, since the cell is not."""

BLUE, ORANGE, TEAL, CRIMSON = "#2f78c4", "#d9700d", "#2f9a85", "#c7174f"
VIOLET, PETROL, CORAL, GREY = "#6a56e0", "#0d7f9c", "#f0604f", "#7b8590"
PALETTE = [BLUE, ORANGE, TEAL, CRIMSON, VIOLET, PETROL, CORAL, GREY]
SHAPES = ["circle", "diamond", "square", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left"]
DIVERGING = ["#1d4f91", "#3f7fc1", "#86b3de", "#cfdfee", "#f1efec", "#f4d9bd", "#e8a566", "#cc6e1d", "#8f430c"]
SEQUENTIAL = ["#f1efec", "#cfdfee", "#9cc1e4", "#6299d0", "#3572b4", "#1d4f91", "#10305e"]

FONT = "Arial, 'Helvetica Neue', Helvetica, 'Noto Sans', sans-serif"
WIDTH = 736
"""Width of a chart in px, axes included: the width of the book's text column."""
STEP = 26
"""Height of one row of a categorical axis, px."""


@alt.theme.register("localbias", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    axis = {
        "labelColor": INK,
        "titleColor": MUTED,
        "gridColor": GRID,
        "domainColor": AXIS,
        "tickColor": AXIS,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 320,
        "titlePadding": 10,
        "labelPadding": 6,
        "tickSize": 4,
    }
    return {
        "config": {
            "background": None,
            "font": FONT,
            "padding": 4,
            "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": 320},
            "axis": axis,
            "axisQuantitative": {"grid": True, "domain": False, "ticks": False, "tickCount": 7},
            "axisDiscrete": {"grid": False, "domain": False, "ticks": False},
            "header": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "labelFontWeight": "bold"},
            "legend": {
                "labelColor": INK,
                "titleColor": MUTED,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "orient": "top",
                "symbolSize": 90,
                "labelLimit": 340,
                "offset": 10,
                "titleLimit": 400,
            },
            "title": {"color": INK, "subtitleColor": MUTED, "anchor": "start", "fontSize": 15, "subtitleFontSize": 12},
            "text": {"color": INK, "fontSize": 12},
            "point": {"size": 60, "filled": True, "opacity": 1},
            "range": {"category": PALETTE, "symbol": SHAPES, "diverging": DIVERGING, "ramp": SEQUENTIAL},
        }
    }


@dataclass(frozen=True)
class Style:
    """What every chart form may be told, beside its columns.

    Attributes
    ----------
    description : str
        Required: a sentence that says what the chart shows, for readers who cannot see it.
    title, subtitle : str
    x_title, y_title, colour_title : str
        Names of axes, with the unit in brackets, and of the series.
    reference : float or None
        A line at this value.
    domain : (low, high), optional
        Range of the number's axis (of the colours in a heat map).
    tooltip : columns shown besides those drawn
    palette : colours of the series
    facet, columns
        Column that splits the chart into small ones, ``columns`` side by side.
    height : int, optional
        Of the drawing in px, where rows do not give it.
    """

    description: str = ""
    title: str = ""
    subtitle: str = ""
    x_title: str = ""
    y_title: str = ""
    colour_title: str = ""
    reference: float | None = None
    domain: Sequence[float] | None = None
    tooltip: Sequence[str] = ()
    palette: Sequence[str] | None = None
    facet: str | None = None
    columns: int = 2
    height: int | None = None

    def check(self, table: pd.DataFrame, chart: str, columns: Iterable[str | None], numbers: Sequence[str | None]):
        """The columns that the chart needs, all there; those of ``numbers`` hold numbers."""
        used = check(table, [*columns, self.facet, *self.tooltip], chart=chart, description=self.description)
        numeric(table, numbers, chart=chart)
        return used

    def span(self, table: pd.DataFrame, columns: Sequence[str], more: Sequence[float] = ()) -> Sequence[float]:
        """``domain``, or what holds all values of some columns, ``more`` and the reference line."""
        line = [] if self.reference is None else [self.reference]
        return self.domain or axis_domain(pd.concat([table[c] for c in columns]), [*line, *more])

    def noting(self, note: str) -> Style:
        """The same with a note at the end of the subtitle."""
        return replace(self, subtitle=f"{self.subtitle} · {note}" if self.subtitle else note)


def style(given: dict[str, Any], **defaults: Any) -> Style:
    """Keywords of a chart form as a :class:`Style`; raises UnknownName for one that there is not."""
    known = [f.name for f in fields(Style)]
    for name in given:
        if name not in known:
            raise unknown("chart setting", name, known)
    return Style(**(defaults | given))


# --- checks -----------------------------------------------------------------------------------


def check(
    table: pd.DataFrame, columns: Iterable[str | None], *, chart: str, description: str | None = None
) -> list[str]:
    """The columns a chart needs, once each, all there; and a description, unless it is None.

    Raises
    ------
    BadTable
        When the table is empty or a column is missing (the nearest existing name is offered).
    LocalBiasError
        When the description is missing or says nothing.

    Examples
    --------
    >>> check(pd.DataFrame({"d": [1.0]}), ["d", None, "d"], chart="dots", description="One effect size.")
    ['d']
    """
    if not isinstance(table, pd.DataFrame):
        raise BadTable(
            "a chart is made from a table", expected="pandas.DataFrame", got=type(table).__name__, where=chart
        )
    if description is not None and len(str(description).split()) < 3:
        raise LocalBiasError(
            "a chart needs a description",
            expected="a sentence for readers who cannot see the chart",
            got=repr(description),
            where=chart,
            todo="pass description='…'",
        )
    needed = list(dict.fromkeys(c for c in columns if c is not None))
    names = [str(c) for c in table.columns]
    missing = [c for c in needed if c not in names]
    if missing:
        near = get_close_matches(missing[0], names, n=1)
        raise BadTable(
            f"the table has no column {', '.join(map(repr, missing))}",
            expected=", ".join(needed),
            got=", ".join(names),
            where=chart,
            todo=f"did you mean {near[0]!r}?" if near else "",
        )
    if table.empty:
        raise BadTable("there is nothing to draw", expected="a table with rows", got="0 rows", where=chart)
    return needed


def numeric(table: pd.DataFrame, columns: Iterable[str | None], *, chart: str) -> None:
    """Raise BadValues when a column is not numeric or holds an infinite value (missing is allowed)."""
    for column in columns:
        if column is None:
            continue
        values = pd.to_numeric(table[column], errors="coerce")
        wrong = values.isna() & table[column].notna()
        infinite = np.isinf(values.to_numpy(dtype=float, na_value=np.nan))
        if wrong.any() or infinite.any():
            at = int(np.flatnonzero(wrong.to_numpy() | infinite)[0])
            raise BadValues(
                f"column {column!r} must hold numbers",
                expected="finite numbers or missing values",
                got=repr(table[column].iloc[at]),
                where=f"{chart}, row {at}",
            )


# --- from a table to what Vega-Lite reads ------------------------------------------------------


def plain(value: Any) -> Any:
    """A JSON value; floats are cut to six significant digits, missing becomes None.

    >>> plain(np.float64(1.23456789)), plain(float("nan")), plain(np.int64(3)), plain("ক")
    (1.23457, None, 3, 'ক')
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(f"{value:.6g}")
    return str(value)


def data(table: pd.DataFrame, columns: Sequence[str], **extra: Sequence[Any]) -> alt.Data:
    """The named columns (and extra ones) as rows of the chart's data, in the table's order."""
    held = {c: [plain(v) for v in table[c].tolist()] for c in columns}
    held |= {name: [plain(v) for v in values] for name, values in extra.items()}
    keys = list(held)
    return alt.Data(values=[dict(zip(keys, row, strict=True)) for row in zip(*held.values(), strict=True)])


def number_text(value: float, form: str) -> str:
    """A number as a chart writes it: true minus signs, no negative zero, nothing for a missing one.

    >>> number_text(-0.04, "+.1f"), number_text(-1.2, "+.1f"), number_text(float("nan"), ".1f")
    ('0.0', '−1.2', '')
    """
    if pd.isna(value):
        return ""
    text = format(value, form)
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", "−")


def field(name: str) -> str:
    """A column's name as Vega-Lite wants it: dots and brackets are part of the name, not paths.

    >>> field("p.value")
    'p\\\\.value'
    """
    for mark in "\\.[]'":
        name = name.replace(mark, "\\" + mark)
    return name


def categories(column: pd.Series) -> list[str]:
    """The values of a column as text, each once, in order of first appearance.

    >>> categories(pd.Series(["zh", "th", "zh"]))
    ['zh', 'th']
    """
    return [str(v) for v in dict.fromkeys(column.dropna().tolist())]


def label(name: str) -> str:
    """A readable name for a column: underscores become spaces.

    >>> label("effect_size")
    'effect size'
    """
    return str(name).replace("_", " ").strip()


def tooltips(table: pd.DataFrame, columns: Iterable[str | None]) -> list[alt.Tooltip]:
    """One tooltip line a column; numbers with three significant digits."""
    lines = []
    for column in dict.fromkeys(c for c in columns if c is not None):
        if pd.api.types.is_bool_dtype(table[column]) or not pd.api.types.is_numeric_dtype(table[column]):
            lines.append(alt.Tooltip(field=field(column), type="nominal", title=label(column)))
        else:
            form = "d" if pd.api.types.is_integer_dtype(table[column]) else ".3~g"
            lines.append(alt.Tooltip(field=field(column), type="quantitative", title=label(column), format=form))
    return lines


def axis_domain(values: Iterable[float], include: Iterable[float] = (), pad: float = 0.04) -> list[float]:
    """Lowest and highest of the values and of ``include``, a little wider; [0, 1] when there are none.

    >>> axis_domain([1.0, 2.0], include=[0.0], pad=0.0)
    [0.0, 2.0]
    """
    held = [float(v) for v in [*values, *include] if v is not None and not pd.isna(v)]
    if not held:
        return [0.0, 1.0]
    low, high = min(held), max(held)
    margin = (high - low) * pad or (0.0 if high > low else 0.5)
    return [plain(low - margin), plain(high + margin)]


def legend(names: Sequence[str], title: str | None) -> alt.Legend:
    """A legend above the chart, wrapped to as many columns as fit."""
    longest = max((len(n) for n in names), default=1)
    columns = max(1, min(len(names), 92 // (longest + 5)))
    return alt.Legend(title=title, columns=columns, symbolOpacity=1, symbolStrokeWidth=1.5)


def colours(names: Sequence[str], palette: Sequence[str] | None, *, chart: str) -> alt.Scale:
    """A fixed colour for each name; BadTable when there are more names than colours."""
    palette = list(palette or PALETTE)
    if len(names) > len(palette):
        raise BadTable(
            "too many series to tell apart by colour",
            expected=f"at most {len(palette)}",
            got=str(len(names)),
            where=chart,
            todo="use facet=, or draw fewer series",
        )
    return alt.Scale(domain=list(names), range=palette[: len(names)])


def finish(chart, s: Style | None = None, *, fluid: bool = True, least: int = 0, **texts: str):
    """Title, description (of ``s``, or as keywords) and sizing that every chart gets.

    A ``fluid`` chart (one view, no facets) takes the width of the page when it is live; where the page is
    narrower than ``least`` px, it scrolls.
    """
    s = s or style(texts)
    chart = chart.properties(description=s.description, usermeta={"fluid": bool(fluid), "least": least})
    if s.title or s.subtitle:
        subtitle = {"subtitle": s.subtitle} if s.subtitle else {}
        chart = chart.properties(title=alt.TitleParams(text=s.title or " ", **subtitle))
    if fluid:
        chart = chart.properties(width=WIDTH, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    return chart
