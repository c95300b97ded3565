"""WEATHub's figures, drawn again from its published results, each with our own run beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from localbias.book import page
from localbias.book.charts import ledger as charts
from localbias.errors import unknown
from localbias.ledger import tables
from localbias.ledger.sections import NEEDED
from localbias.ledger.settings import Settings
from localbias.registry import INDIAN_LANGUAGES, WEATHUB_24


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its cells (``wanted``: column → value or values) and how they are drawn.

    ``side`` is the column whose values the figure compares, if it compares any.
    """

    title: str
    about: str
    wanted: dict[str, Any]
    draw: Callable[..., Any]
    side: str = ""


def show_figures(settings: Settings, which: str = "all") -> None:
    """The figures of WEATHub, redrawn from its published results, ours after each.

    Parameters
    ----------
    which : "all" | "main" | "none"
        Every figure, those of the paper's body (1–5) and the India tests, or none.
    """
    if which not in ("all", "main", "none"):
        raise unknown("choice of figures", which, ("all", "main", "none"))
    if which == "none":
        page.say("Drawing the figures was switched off for this run.")
        return
    if not tables.published_available():
        page.say(NEEDED)
        return
    held, our = tables.theirs(settings, ["results"]), tables.ours(settings)
    results = _without_degenerate(held["results"])
    lacking = [] if _sensitivity(held, our) else ["Figure 1"]
    for figure in _figures(settings, results):
        _published(figure, results, settings)
        if not _ours(figure, our.get("results", pd.DataFrame()), settings):
            lacking.append(figure.title.split(":")[0])
    if lacking:
        page.say(
            "Our run has nothing to set beside {figures}: it lacks the tests, or a second model to compare.",
            figures=", ".join(lacking),
        )
    if which == "all":
        _every_method(results, settings)


def _without_degenerate(cells: pd.DataFrame) -> pd.DataFrame:
    """A cell whose words all share one vector is no significant result, whatever p is printed."""
    return cells.assign(significant=cells.significant & ~cells["flags"].str.contains("degenerate"))


def _figures(settings: Settings, results: pd.DataFrame) -> Iterator[Figure]:
    original = {"family": "original", "source": settings.source}
    effects = partial(charts.effect_sizes, significant_title=f"significant: {settings.rule_words}")
    yield Figure(
        "Figure 2: machine and human translations",
        "For each language the mean absolute effect size with machine and with human translations, joined by a line.",
        {"family": "original", "source": ["gt", "human"]},
        charts.translations,
        side="source",
    )
    yield Figure(
        "Figure 3: the six original tests", "A heat map of effect sizes by language and test.", original, effects
    )
    alone = set(results[results.kind == "monolingual"].language)
    others = [c for c in WEATHUB_24 if c not in INDIAN_LANGUAGES and c in alone]
    for title, languages in (
        ("Figure 4: models compared, Indian languages", [c for c in INDIAN_LANGUAGES if c != "en"]),
        ("Models compared, other languages (in no figure)", others),
    ):
        yield Figure(
            title,
            "Effect sizes of six tests by model, a panel a language.",
            original | {"language": languages},
            charts.models_compared,
            side="group",
        )
    for family, title in (("dimension", "Figure 5: human-centred dimensions"), ("india", "Table 4: tests for India")):
        yield Figure(title, f"A heat map of effect sizes: {title}, by language and test.", {"family": family}, effects)


def _published(figure: Figure, results: pd.DataFrame, settings: Settings) -> None:
    cells = tables.choose(results, method=settings.method, **figure.wanted)
    if figure.side == "group":
        cells, model = cells[cells.kind != "static"], ""
    else:
        cells, model = tables.choose(cells, group=settings.multilingual), f"{settings.multilingual}, "
    page.show(
        figure.draw(
            cells, title=figure.title, subtitle=f"{model}{settings.method}, as published", description=figure.about
        )
    )


def _ours(figure: Figure, results: pd.DataFrame, settings: Settings) -> bool:
    """Draw the same cells of our run; whether there are any to draw."""
    if results.empty:
        return False
    cells = tables.choose(results, method=settings.method, **figure.wanted)
    cells = cells[cells.kind != "static"]
    for column in ("dataset", "protocol") if figure.side == "group" else ("dataset", "protocol", "model"):
        cells = cells[cells[column] == tables.most(cells[column])]
    if figure.side == "group":
        cells = cells[cells.groupby("language")["group"].transform("nunique") > 1]
    if cells.empty or (figure.side and cells[figure.side].nunique() < 2):
        return False
    models, words = ", ".join(sorted(set(cells.group))), cells.dataset.iloc[0]
    page.show(
        figure.draw(
            cells,
            title=f"Our run beside {figure.title.split(':')[0]}",
            subtitle=f"{models}, {settings.method}, {cells.protocol.iloc[0]}, words: {words}",
            description=f"Our run: {figure.about[0].lower()}{figure.about[1:]}",
        )
    )
    return True


def _sensitivity(held: dict[str, pd.DataFrame], our: dict[str, pd.DataFrame]) -> bool:
    """Figure 1 from theirs and ours; whether there is one of ours."""
    page.show(
        charts.sensitivities(
            held["sensitivity"],
            title="Figure 1: sensitivity of ten methods",
            subtitle="variance of pairwise cosine distances, as published; the model is not named there",
            description="A heat map of sensitivity by language and method; the embedding layer is highest "
            "nearly everywhere.",
        )
    )
    if "sensitivity" not in our:
        return False
    mine = our["sensitivity"]
    model = tables.model_group(mine["model"].iloc[0]) if "model" in mine else "our model"
    page.show(
        charts.sensitivities(
            mine,
            title="Our run beside Figure 1",
            subtitle=f"variance of pairwise cosine distances, {model}",
            description="Our run: a heat map of sensitivity by language and method.",
        )
    )
    return True


def _every_method(results: pd.DataFrame, settings: Settings) -> None:
    page.say(
        "WEATHub's Figures 6–11 show DistilmBERT with M1 and M8, and fastText; its Figures 12–17 show XLM-R with M1, "
        "M5 and M8. Here all methods stand beside each other."
    )
    results = results[(results.family != "original") | (results.source == settings.source)]
    for family, tests in (("original", "original tests"), ("dimension", "dimensions"), ("valence", "valence variants")):
        for group in ("DistilmBERT", "XLM-R"):
            page.show(
                charts.atlas(
                    tables.choose(results, family=family, group=[group, "fastText"]),
                    title=f"{tests.capitalize()}, {group}, every method",
                    subtitle="numbers across are WEAT tests",
                    description=f"Small heat maps, one a method, of effect sizes of the {tests} by language for "
                    f"{group}.",
                )
            )
