"""Charts that explain a measure to a reader who meets it for the first time."""

from __future__ import annotations

import math
from statistics import NormalDist

import altair as alt
import pandas as pd

from localbias.book.charts import basic
from localbias.book.charts import theme as t

EXAMPLES = (0.0, 0.2, 0.5, 0.8, 1.2, 1.6)


def distance(effect_size: float) -> float:
    """Distance of two equally large normal groups, in sds within a group, whose WEAT effect size is d.

    The effect size divides by the sd of both groups together, so sd² = 1 + D²/4 and
    D = d / sqrt(1 - d²/4): |d| cannot reach 2.

    >>> round(distance(1.2), 6)
    1.5
    """
    return effect_size / math.sqrt(1 - effect_size**2 / 4)


def superiority(effect_size: float) -> float:
    """Chance that a word of X is nearer to A than a word of Y is, both drawn at random (normal groups).

    >>> superiority(0.0), round(superiority(1.2), 3)
    (0.5, 0.856)
    """
    return NormalDist().cdf(distance(effect_size) / math.sqrt(2))


def effect_size_picture(examples: tuple[float, ...] = EXAMPLES) -> alt.TopLevelMixin:
    """Two groups of words on the line from B to A, at each of some effect sizes."""
    rows = []
    for d in examples:
        gap = distance(d)
        for name, middle in (("X", gap / 2), ("Y", -gap / 2)):
            for step in range(-64, 65):
                at = step / 16
                rows.append((f"d = {d:g}", name, at, NormalDist(middle).pdf(at)))
    table = pd.DataFrame(rows, columns=["panel", "set", "s", "density"])
    names = ["X", "Y"]
    views = []
    for d in examples:
        name = f"d = {d:g}"
        part = table[table["panel"] == name]
        base = alt.Chart(t.data(part, ["set", "s", "density"])).mark_area(opacity=0.45, line={"strokeWidth": 1.5})
        views.append(
            base.encode(
                x=alt.X(
                    field="s",
                    type="quantitative",
                    scale=alt.Scale(domain=[-4, 4]),
                    axis=alt.Axis(title="nearer to B ← → nearer to A", labels=False, grid=False, tickCount=1),
                ),
                y=alt.Y(field="density", type="quantitative", stack=None, axis=None),
                color=alt.Color(
                    field="set",
                    type="nominal",
                    scale=t.colours(names, None, chart="effect size"),
                    legend=t.legend(names, "target set"),
                ),
            ).properties(
                width=194,
                height=84,
                title=alt.TitleParams(
                    text=name,
                    subtitle=f"X word nearer in {100 * superiority(d):.0f} of 100 pairs",
                    fontSize=13,
                    subtitleFontSize=11,
                ),
            )
        )
    description = (
        "Small pictures of two bell curves: the words of target sets X and Y on the line from attribute set B to A. "
        "At effect size 0 they coincide; the larger d, the further X lies towards A; at 1.6 they hardly touch. "
        "Drawn for two equally large, normally spread sets."
    )
    return t.finish(
        alt.concat(*views, columns=3, spacing=18),
        description=description,
        title="What an effect size looks like",
        fluid=False,
    )


def coverage_facts(table: pd.DataFrame) -> str:
    """What the simulated intervals say, in sentences: the range of each kind, and which is nearer to its promise.

    ``table`` is as for :func:`coverage_picture`.
    """
    level, kinds, ranges, nearer = float(table["level"].iloc[0]), {"bca": "BCa", "percentile": "percentile"}, [], []
    for kind, name in kinds.items():
        part = table[table["method"] == kind]
        low, high = part.loc[part["coverage"].idxmin()], part["coverage"].max()
        ranges.append(f"{name} intervals in {100 * low['coverage']:.1f} % ({_setting(low)}) to {100 * high:.1f} %")
    wide = table.pivot(index=["true_d", "n_x", "n_y", "n_a", "n_b"], columns="method", values="coverage")
    off = (wide[list(kinds)] - level).abs().round(9)
    for d, part in off.groupby(level="true_d"):
        less = part["bca"] - part["percentile"]
        counts = {"BCa": (less < 0).sum(), "percentile": (less > 0).sum(), "neither": (less == 0).sum()}
        found = ", ".join(f"{name} in {n}" for name, n in counts.items() if n)
        nearer.append(f"at true d = {d:.2g}, {found} of {len(part)} settings")
    promise = f"{100 * level:.0f} %"
    return (
        f"In the simulations, the true value is held, where {promise} are promised, by {' and by '.join(ranges)}. "
        f"Nearer to {promise} are: {'; '.join(nearer)}."
    )


def _setting(row: pd.Series) -> str:
    return f"{row['n_x']}+{row['n_y']} and {row['n_a']}+{row['n_b']} words, true d = {row['true_d']:.2g}"


def coverage_picture(table: pd.DataFrame) -> alt.TopLevelMixin:
    """How often simulated intervals hold the true effect size.

    Parameters
    ----------
    table : DataFrame
        Columns n_x, n_y, n_a, n_b, true_d, method, coverage, level: one row a simulation.
    """
    needed = ["n_x", "n_y", "n_a", "n_b", "true_d", "method", "coverage", "level"]
    t.check(table, needed, chart="coverage_picture")
    shown = table.assign(
        sizes=[f"{x}+{y}, {a}+{b}" for x, y, a, b in table[["n_x", "n_y", "n_a", "n_b"]].to_numpy().tolist()],
        interval=table["method"].map(lambda m: {"bca": "BCa"}.get(m, m)),
        truth=[f"true d = {d:.2g}" for d in table["true_d"]],
        share=100 * table["coverage"],
    )
    level = float(table["level"].iloc[0])
    return basic.dots(
        shown,
        "sizes",
        "share",
        colour="interval",
        facet="truth",
        columns=3,
        reference=100 * level,
        domain=[5 * math.floor(shown["share"].min() / 5), 101],
        tooltip=["standard_error"] if "standard_error" in table else [],
        title=f"How often a {100 * level:.0f} % interval holds the true effect size",
        subtitle="Words in X + Y, in A + B; the line is what the interval promises.",
        x_title="intervals that hold it (%)",
        description="Dots for two kinds of interval at several set sizes and three true effect sizes, with a line at "
        f"the promised level. {coverage_facts(table)}",
    )
