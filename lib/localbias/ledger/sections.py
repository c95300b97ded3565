"""Sections of the ledger's page: leading claims, how often the judges err, the printed tables, figures, choices."""

from __future__ import annotations

import html

import pandas as pd
from IPython.display import HTML, display

from localbias.audit import results as integrity
from localbias.book import page
from localbias.book.charts import ledger as charts
from localbias.errors import unknown
from localbias.files import project_root, read_checked
from localbias.ledger import tables as t
from localbias.ledger.assembly import Ledger
from localbias.ledger.claim import claims
from localbias.ledger.settings import Settings
from localbias.ledger.view import MARKS, STYLE, heat_html, text
from localbias.studies.published import printed, published_results, published_sensitivity

CHARACTERISTICS = "data/reference/ledger_characteristics.csv"
NEEDED = (
    "This section needs the authors' result files (weathub/final_results), which are not at hand: neither in a mirror, "
    "nor in the cache, nor by download. Run `localbias sources` to see where they are looked for."
)
"""What a section says when the published files cannot be had."""


def show_lead(ledger: Ledger, key: str) -> None:
    """One claim with its verdict, its figure and its picture."""
    row = ledger.table.set_index("id").loc[key]
    said = {name: row[name] for name in ("section", "claim", "verdict", "figure")}
    page.say("**{key}, {section}: {claim}.** {mark} **{verdict}**: {figure}", key=key, mark=MARKS[row.verdict], **said)
    evidence = ledger.evidence[key]
    if evidence.empty:
        return
    told = f"Picture of the evidence for claim {key}: {evidence.ok.mean():.0%} of {len(evidence)} rows are as claimed."
    names = next((r["sides"] for r in claims()[key].rules() if "sides" in r), {"left": "left", "right": "right"})
    right = names["right"] if isinstance(names["right"], str) else ", ".join(names["right"])
    what = {"title": row.claim, "subtitle": row.verdict, "description": told, "axes": (right, names["left"])}
    if (chart := charts.picture(evidence, **what)) is not None:
        page.show(chart)


def characteristics() -> pd.DataFrame:
    """How often each judge gives each verdict on made data (``benchmarks/ledger_characteristics.py`` writes it).

    Returns
    -------
    DataFrame
        ``judge``, ``world`` (true | false | void), ``outcome``, ``share``, ``n`` (made data sets).
    """
    return read_checked(project_root() / CHARACTERISTICS, pd.read_csv)


def show_integrity() -> None:
    """What the integrity checks find in the published results, and what the files lack."""
    if not t.available("weathub/final_results/"):
        page.say(NEEDED)
        return
    results = published_results()
    left = len(results) - len(integrity.without(results))
    page.say(
        f"{len(results):,} cells in {results.file.nunique()} files were read, none unparsed. Checks mark {left:,} of "
        f"them ({left / len(results):.1%}) as possibly not what their label says; every verdict is given with and "
        "without them."
    )
    found = integrity.counts(results)
    shown = ["what", "cells", "share", "left out", "where", "why"]
    page.table(
        found.assign(where=found["where"].replace("", "–")),
        "integrity-checks",
        caption="Integrity checks of the published results",
        columns=dict(zip(shown, ["check", *shown[1:-1], "why it matters"], strict=True)),
        formats={"share": ".1%"},
    )
    lacking = integrity.missing(results, published_sensitivity())
    page.table(lacking, "integrity-missing", caption="What the files lack of what the paper speaks of")


def show_printed(settings: Settings) -> None:
    """The papers' printed numbers: WEATHub's beside the result files, FilBBQ's as they are."""
    if t.available("weathub/final_results/"):
        table = t.theirs(settings, ["printed"])["printed"]
        page.say(
            "{same} of the {n} pairs of d and p that WEATHub prints in Tables 4–8 are those of the result files. Which "
            "significant India cells Table 4 leaves out is said at W76.",
            same=int(table.matches.sum()),
            n=len(table),
        )
        page.table(table, "weathub-printed", caption="WEATHub's printed values beside the result files", head=34)
    page.table(
        printed("FilBBQ"),
        "filbbq-printed-values",
        caption="FilBBQ's Tables 2–5 and the numbers of its text, entries in our words; no scores are published to "
        "check them by. Templates are our reading.",
        head=20,
        columns=["place", "model", "context", "dimension", "rank", "entry", "value", "templates", "note"],
    )


def _figures() -> dict[tuple[str, str], tuple[str, str, dict]]:
    """The paper's figure, by kind and number → what it shows, how it is drawn, its cells as a claim selects them."""
    dimensions, india = ["dimension", "valence"], {"family": "india", "method": "M5"}
    kinds = {"method": "M5", "group": ["DistilmBERT", "IndicBERT", "monolingual"], "language": list(INDIAN)}
    human = "|d| with human less |d| with machine translations, M5 (the paper draws Korean)"
    figures = {
        ("Figure", "1"): ("sensitivity of ten methods × 1000 (the paper draws Korean)", "sensitivity", {}),
        ("Figure", "2"): (human, "sides", {"source": ["human", "gt"], "method": "M5"}),
        ("Figure", "3"): ("the six tests, M5", "cells", {"method": "M5"}),
        ("Figures", "4 and 18"): ("three kinds of model in six Indian languages, M5", "models", kinds),
        ("Figure", "5"): ("the new dimensions, M5", "cells", {"family": dimensions, "method": "M5"}),
    }
    number = 6
    for group, methods in (("DistilmBERT", ("M1", "M8", "M10")), ("XLM-R", ("M1", "M5", "M8"))):
        for family, what in (("original", "the six tests"), (dimensions, "the new dimensions")):
            for method in methods:
                model = "fastText" if method == "M10" else group
                wanted = {"family": family, "method": method, "group": model}
                figures["Figure", str(number)] = (f"{what}, {model}, {method}", "cells", wanted)
                number += 1
    return figures | {("Table", "4"): ("the tests for India, M5 (the table lists significant ones)", "cells", india)}


INDIAN = ("bn", "hi", "mr", "pa", "te", "ur")
BODY = 5
"""Figures of the paper's body; the others are in its appendix, an enlargement among them."""


def show_figures(settings: Settings, which: str = "all") -> None:
    """The figures of WEATHub from its published results, ours after each where our run has such cells.

    Parameters
    ----------
    which : "all" | "main" | "none"
        Every figure, those of the paper's body (:data:`BODY`) and its table of India, or none.
    """
    if which not in ("all", "main", "none"):
        raise unknown("choice of figures", which, ("all", "main", "none"))
    theirs, ours = t.theirs(settings, ["results", "sensitivity"]), t.ours(settings)
    if "results" not in theirs:
        page.say(NEEDED)
        return
    if "results" in ours:
        ours["results"] = t.standing_in(ours["results"], settings, compares=True)
    body = []
    for (kind, number), (what, shape, wanted) in _figures().items():
        if which == "none" or (which == "main" and kind == "Figure" and int(number) > BODY):
            continue
        sides = [("as published", _drawn(shape, theirs, wanted, settings))]
        if mine := _drawn(shape, ours, wanted, settings):
            sides.append(("our run", mine))
        tables = "".join(f"<div><p><small>{side}</small></p>{table}</div>" for side, table in sides)
        opened = " open" if number == "3" else ""
        body.append(f"<details{opened}><summary>{kind} {number}: {text(what)}</summary>{tables}</details>")
    if body:
        display(HTML(f"{STYLE}{''.join(body)}"))


def _drawn(shape: str, tables: dict[str, pd.DataFrame], wanted: dict, settings: Settings) -> str:
    """A figure as HTML; "" where there is nothing to draw."""
    if shape == "sensitivity":
        rho = tables.get("sensitivity", pd.DataFrame())
        return heat_html(rho.assign(milli=1000 * rho.rho), "method", "milli", number=".0f") if len(rho) else ""
    if "results" not in tables:
        return ""
    cells = tables["results"]
    cells = cells.assign(significant=cells.significant & ~cells["flags"].fillna("").str.contains("degenerate"))
    wanted = {"group": settings.multilingual, "family": "original"} | wanted
    if wanted["family"] == "original":
        wanted = {"source": settings.source} | wanted
    cells = t.choose(cells, **wanted)
    if shape == "sides":
        both = cells.source.nunique() > 1
        return (
            heat_html(t.sides(cells, by="source", left="human", right="gt"), "test", "abs_difference") if both else ""
        )
    if shape == "models":
        return heat_html(cells, "test", rows=["language", "group"]) if cells.group.nunique() > 1 else ""
    return heat_html(cells, "test") if len(cells) else ""


def show_switches(switched: pd.DataFrame) -> None:
    """Every verdict under every choice (:func:`localbias.ledger.switched`): a grid of marks, strong where changed."""
    if switched.empty:
        return
    marks = [f"<b>{MARKS[r.verdict]}</b>" if r.changed else f"<i>{MARKS[r.verdict]}</i>" for r in switched.itertuples()]
    wide = switched.assign(mark=marks).pivot(index="id", columns="switch", values="mark")
    columns = list(dict.fromkeys(switched.switch))
    wide = wide.loc[sorted(wide.index, key=t.natural), columns]
    claims = switched.drop_duplicates("id").set_index("id")["claim"]
    head = "".join(f'<th scope="col">{text(c)}</th>' for c in columns)
    body = "".join(
        f'<tr><th scope="row" title="{html.escape(claims[key])}">{text(key)}</th>'
        + "".join(f"<td>{mark}</td>" for mark in line)
        + "</tr>"
        for key, line in zip(wide.index, wide.to_numpy(), strict=True)
    )
    key = " · ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
    display(
        HTML(
            f'{STYLE}<div class="lb-table-box lb-heat" tabindex="0"><table><tr><th></th>{head}</tr>{body}</table></div>'
            f"<p>{key}; strong: another verdict than in the first column.</p>"
        )
    )
