"""Charts of FilBBQ results: tables as the modules of ``localbias.prompts`` return them."""

from __future__ import annotations

import altair as alt
import pandas as pd

from localbias.book.charts import parts as p
from localbias.book.charts import theme as t
from localbias.book.charts.basic import bars, dots, heat_map, jitter, lines


def seeds(runs: pd.DataFrame, law: pd.DataFrame, **style) -> alt.TopLevelMixin:
    """Every seed's score as a point, the exact distribution of one run behind (``report.seed_picture``)."""
    n, templates, context = runs["seed"].nunique(), runs["title"].nunique(), runs["context"].iloc[0]
    return jitter(
        runs,
        "title",
        "score",
        distribution=law,
        tooltip=["seed", "n"],
        domain=(-1.02, 1.02),
        x_title=f"bias score, {context}",
        description=f"Jitter plot, {context}: for each of {templates} templates one point for each of {n} seeds at its "
        "bias score, the exact distribution of one run as a grey shape behind, and a tick at the mean.",
        **style,
    )


def profile(table: pd.DataFrame, *, level: float = 0.95, **style) -> alt.LayerChart:
    """A bias profile: score and interval of each template over the band of an unbiased guesser.

    Parameters
    ----------
    table : DataFrame
        From ``selection.bias_profile`` with a ``title``: score, ci_low, ci_high, null_low, null_high,
        shrunken, survives, pairs, q_value.
    """
    numbers = ["score", "ci_low", "ci_high", "null_low", "null_high", "shrunken"]
    columns = ["title", *numbers, "survives", "pairs", "q_value"]
    description = (
        f"Bias profile of {len(table)} templates: each score with its {level:.0%} interval, on a grey band that holds "
        f"{level:.0%} of an unbiased guesser's scores, and the shrunken estimate as a tick; "
        f"{int(table['survives'].sum())} templates survive false-discovery control and are marked."
    )
    used = t.check(table, columns, chart="profile", description=description)
    t.numeric(table, numbers, chart="profile")
    span = t.axis_domain(table[numbers].stack(), [0.0])
    verdict = ["survives" if v else "does not" for v in table["survives"]]
    base = alt.Chart(t.data(table, used, verdict=verdict)).encode(
        y=p.category("title", t.categories(table["title"]), "")
    )
    names, legend = ["survives", "does not"], t.legend(["survives", "does not"], "false-discovery control")
    scales = {"color": t.colours(names, [t.CRIMSON, t.BLUE], chart="profile")}
    scales["shape"] = alt.Scale(domain=names, range=t.SHAPES[:2])
    of = {
        channel: kind(field="verdict", type="nominal", sort=names, scale=scales[channel], legend=legend)
        for channel, kind in (("color", alt.Color), ("shape", alt.Shape))
    }
    tips = t.tooltips(table, ["title", *numbers, "pairs", "q_value"])
    layers = [
        base.mark_bar(color=t.AXIS, opacity=0.35, height=16, clip=True).encode(
            x=p.number("null_low", "bias score", span), x2=alt.X2(field="null_high")
        ),
        *p.reference(0.0, "x"),
        base.mark_rule(strokeWidth=2, clip=True).encode(
            x=p.number("ci_low", "bias score", span), x2=alt.X2(field="ci_high"), color=of["color"]
        ),
        base.mark_tick(color=t.INK, thickness=2, height=14, clip=True).encode(
            x=p.number("shrunken", "bias score", span)
        ),
        base.mark_point(size=62, filled=True, opacity=1, clip=True).encode(
            x=p.number("score", "bias score", span), tooltip=tips, **of
        ),
    ]
    s = t.style(style, description=description).noting("grey: an unbiased guesser · black tick: shrunken estimate")
    return t.finish(alt.layer(*layers).properties(height=alt.Step(t.STEP)), s)


def variance(shares: pd.DataFrame, **style) -> alt.TopLevelMixin:
    """Shares of the variance of single answers by source (``variance_shares`` of both contexts, with ``context``)."""
    largest = shares.loc[shares["share"].idxmax()]
    return bars(
        shares,
        "source",
        "share",
        colour="context",
        number=".2f",
        domain=(0, 1.08),
        x_title="share of the variance",
        tooltip=["units", "variance", "standard_error"],
        description="Bars: how much of the variance of single answers comes from each source, for both contexts. "
        f"The largest is {largest['source']} with {largest['share']:.0%} ({largest['context']}).",
        **style,
    )


def seeds_bought(table: pd.DataFrame, **style) -> alt.LayerChart:
    """Standard error of a mean over seeds by their number (``standard_error_by_seeds`` with ``series``)."""
    return lines(
        table,
        "seeds",
        "standard_error",
        colour="series",
        log_x=True,
        x_title="seeds (log scale)",
        y_title="standard error of the score",
        description=f"Lines that fall with the square root of the number of seeds: the standard error of a score "
        f"averaged over {table['seeds'].min()} to {table['seeds'].max()} seeds: {table['series'].nunique()} series.",
        **style,
    )


def off_option(table: pd.DataFrame, **style) -> alt.TopLevelMixin:
    """Probability of the letters and of none, template by template (``report.off_option`` of one context)."""
    names = {"A": "A", "B": "B", "C": "C", "off_option": "no option"}
    long = table.melt(["title"], list(names), "letter", "probability").replace({"letter": names})
    context = table["context"].iloc[0]
    return bars(
        long,
        "title",
        "probability",
        colour="letter",
        stacked=True,
        domain=(0, 1),
        palette=[t.BLUE, t.ORANGE, t.TEAL, t.GREY],
        x_title=f"mean probability, {context}",
        description=f"Stacked bars, {context}: for {table['title'].nunique()} templates the mean probability of the "
        f"letters A, B and C, and of an answer that is none of them (on average {table['off_option'].mean():.0%}).",
        **style,
    )


def positions(table: pd.DataFrame, **style) -> alt.LayerChart:
    """Mean probability of an option by letter and role, one context (``position_table``)."""
    return heat_map(
        table,
        "letter",
        "role",
        "probability",
        number=".2f",
        diverging=False,
        cell=96,
        value_title="probability",
        tooltip=["n"],
        description="Heat map of the mean probability of an option, by the letter it stands behind and by its role "
        "(biased, counter-stereotypical, unknown): differences along a row are preferences for a letter.",
        **style,
    )


def orders(table: pd.DataFrame, **style) -> alt.TopLevelMixin:
    """Hypothetical scores: the same prompts, all in one order of the options (``scores_by_order`` with ``context``)."""
    return dots(
        table,
        "order",
        "expectation",
        colour="context",
        x_title="expected bias score if all prompts had this order",
        y_title="roles behind A, B, C (b biased, c counter, u unknown)",
        tooltip=["sd", "n"],
        description=f"Dot plot of hypothetical scores: the same prompts, all with their options in one of "
        f"{table['order'].nunique()} orders, from {table['expectation'].min():.2f} to "
        f"{table['expectation'].max():.2f}.",
        **style,
    )


def largest(table: pd.DataFrame, **style) -> alt.TopLevelMixin:
    """The highest scores beside the highest by chance (``largest_by_chance`` with ``title``)."""
    names = {"score": "this model", "null_median": "unbiased guesser, median", "null_high": "unbiased guesser, 95 %"}
    rows = table.assign(place=[f"{r}. {n}" for r, n in zip(table["rank"], table["title"], strict=True)])
    long = rows.melt(["place"], list(names), "whose", "value").replace({"whose": names})
    return dots(
        long,
        "place",
        "value",
        colour="whose",
        x_title="k-th highest bias score",
        description=f"Dot plot of the {len(table)} highest scores, those most in line with the stereotypes: what this "
        "model shows beside the median and the 95th percentile of what an unbiased guesser with the same answer "
        "entropy shows at the same rank.",
        **style,
    )


def temperatures(table: pd.DataFrame, **style) -> alt.LayerChart:
    """Expected score over sampling temperature, with the spread of one run (``sweep`` with ``context``)."""
    rows = table.assign(low=table["expectation"] - table["sd"], high=table["expectation"] + table["sd"])
    return lines(
        rows,
        "temperature",
        "expectation",
        colour="context",
        low="low",
        high="high",
        reference=0.0,
        x_title="sampling temperature",
        y_title="overall bias score",
        tooltip=["sd"],
        description=f"Lines: the overall bias score in both contexts at {rows['temperature'].nunique()} sampling "
        "temperatures, with a band of one standard deviation of a single run.",
        **style,
    )
