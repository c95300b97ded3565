"""Charts from tidy tables. Each needs a description; all work with no network, in light and dark."""

from localbias.book.charts import explain, render, theme
from localbias.book.charts.basic import bars, dots, heat_map, intervals, jitter, lines, paired, scatter
from localbias.book.charts.render import figure

render.use()

__all__ = [
    "bars",
    "dots",
    "explain",
    "figure",
    "heat_map",
    "intervals",
    "jitter",
    "lines",
    "paired",
    "render",
    "scatter",
    "theme",
]
