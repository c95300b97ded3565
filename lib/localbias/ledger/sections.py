"""Sections of the ledger's page: each shows what it has, or says which published files it would need."""

from __future__ import annotations

import pandas as pd

from localbias.audit import results as integrity
from localbias.book import page
from localbias.book.charts import ledger as charts
from localbias.ledger import tables
from localbias.ledger.assembly import Ledger, switched
from localbias.ledger.finding import VERDICTS
from localbias.ledger.settings import Settings
from localbias.ledger.view import MEANINGS
from localbias.measures.adjust import paper_rule
from localbias.studies.published import printed, printed_cells, published_results, published_sensitivity

NEEDED = (
    "This section needs the authors' result files (weathub/final_results), which are not at hand: neither in a mirror, "
    "nor in the cache, nor by download. Run `localbias sources` to see where they are looked for."
)
"""What a section says when the published files cannot be had."""


def show_summary(ledger: Ledger) -> None:
    """The ledger in a sentence, which the start page repeats, and what the verdicts mean."""
    n, rests = ledger.counts, ledger.table["support"].value_counts()
    page.finding(
        "ledger",
        "Of {n} empirical claims of the two papers, {holds} hold on the authors' own published results ({sure} beyond "
        "chance, {described} as descriptions of cells too few to exclude it, {counts} as counts of prompts), {part} "
        "hold in part, {no} are not supported, and {unknown} cannot be told from what is published.",
        page="08-ledger",
        n=len(ledger.table),
        holds=n["holds"],
        sure=rests.get("beyond chance", 0),
        described=rests.get("as described", 0),
        counts=rests.get("count", 0),
        part=n["holds in part"],
        no=n["not supported"],
        unknown=n["cannot tell"],
    )
    page.say("A verdict is computed, never typed. " + " ".join(f"**{v}**: {MEANINGS[v]}." for v in VERDICTS))
    if ledger.missing:
        page.say(
            "The published files are not at hand: {n} verdicts are those of the reference run kept with the book "
            "(`data/reference/ledger.csv`, made with the default choices). They need `weathub/final_results` or "
            "`filbbq/templates`.",
            n=len(ledger.missing),
        )
    mine = _spoken(ledger)
    page.say("Our own run can speak to {n} of them, mostly with another model: each row says which.", n=len(mine))


def _spoken(ledger: Ledger) -> pd.DataFrame:
    """The claims on which our run gives a verdict."""
    return ledger.table[~ledger.table.verdict_ours.isin(["", "cannot tell"])]


def show_units(ledger: Ledger) -> None:
    """The chart to remember: one mark a claim, section by section."""
    n = ledger.counts
    by = ledger.table.groupby("topic")["verdict"].apply(lambda held: (held == "holds").sum())
    page.show(
        charts.verdict_units(
            ledger.table,
            row="topic",
            title=f"{n['holds']} of {len(ledger.table)} claims hold, {n['holds in part']} in part",
            subtitle="one mark a claim, judged on the authors' published results",
            description=f"A unit chart with one mark for each of {len(ledger.table)} claims, in rows by "
            f"section; claims "
            f"that hold by section: {', '.join(f'{k} {v}' for k, v in by.items())}.",
        )
    )


def show_integrity() -> None:
    """What the integrity checks find in the published results."""
    if not tables.published_available():
        page.say(NEEDED)
        return
    results = published_results()
    found = integrity.counts(results)
    left = len(results) - len(integrity.without(results))
    page.say(
        "{n:,} cells in {files} files were read, none unparsed. Checks mark {left:,} of them as possibly not "
        "what their "
        "label says ({share:.1%}); every verdict is given with and without these.",
        n=len(results),
        files=results.file.nunique(),
        left=left,
        share=left / len(results),
    )
    shown = found.assign(where=found["where"].replace("", "–"))
    page.table(
        shown,
        "integrity-checks",
        caption="Integrity checks of the published results",
        columns={
            "what": "check",
            "cells": "cells",
            "share": "share",
            "left out": "left out",
            "where": "where",
            "why": "why it matters",
        },
        formats={"share": ".1%"},
    )
    page.table(
        integrity.missing(results, published_sensitivity()),
        "integrity-missing",
        caption="What the files lack of what the paper speaks of",
    )


def show_switches(settings: Settings, run: bool = True) -> pd.DataFrame:
    """How many verdicts each choice of ours changes; returns the table of all of them, empty unless ``run``."""
    if not run:
        page.say("Judging the claims under other choices was switched off for this run.")
        return pd.DataFrame()
    table = switched(settings)
    if table.empty:
        page.say(NEEDED)
        return table
    counts = table.groupby("switch", sort=False)["changed"].sum()
    worst, steady = counts.idxmax(), (~table.groupby("id")["changed"].any()).sum()
    page.say(
        "{steady} of {n} verdicts on WEATHub stay the same whatever single choice is changed; the choice that "
        "matters most "
        "is **{worst}**, with {most} changes.",
        steady=int(steady),
        n=table.id.nunique(),
        worst=worst,
        most=int(counts.max()),
    )
    if table.changed.any():
        page.show(
            charts.verdict_switches(
                table,
                title="Which verdicts depend on a choice of ours",
                subtitle="strong marks differ from the first column",
                description="A grid of verdicts: claims down, choices across; marks that differ from the first "
                "column are strong.",
            )
        )
    columns = ["claim", "switch", "verdict", "changed"]
    page.table(table, "ledger-switches", caption="Every verdict under every choice", head=12, columns=columns)
    return table


def show_printed() -> None:
    """The papers' printed numbers: WEATHub's beside the result files, and what its Table 4 leaves out; FilBBQ's."""
    if tables.published_available():
        _show_checked()
    page.table(
        printed("FilBBQ"),
        "filbbq-printed-values",
        caption="FilBBQ's Tables 2–5 and the numbers of its text, entries in our words; no scores are published to "
        "check them by. Templates are our reading.",
        head=20,
        columns=["place", "model", "context", "dimension", "rank", "entry", "value", "templates", "note"],
    )


def _show_checked() -> None:
    results = published_results(repeats=False)
    checked = printed_cells(results)
    india = results[results.group.eq("DistilmBERT") & results.method.eq("M5") & results.family.eq("india")]
    significant = india[paper_rule(india["p"].to_numpy(), india["d"].to_numpy())]
    shown = checked.loc[checked.table == "Table 4", ["language", "test"]].assign(printed=True)
    left = significant.merge(shown, how="left").query("printed.isna()")
    page.say(
        "{same} of the {n} pairs of d and p that WEATHub prints in Tables 4–8 are those of the result files. Table 4 "
        "shows {shown} of the {all} India cells of DistilmBERT, M5, that its rule calls significant; it leaves out "
        "{left}.",
        same=int(checked.matches.sum()),
        n=len(checked),
        shown=len(significant) - len(left),
        all=len(significant),
        left="; ".join(f"{c.language} {c.test} {c.d:.3f} ({c.p:.3f})" for c in left.itertuples()) or "none",
    )
    page.table(checked, "weathub-printed", caption="WEATHub's printed values beside the result files", head=34)


def show_ours_beside(ledger: Ledger) -> None:
    """Verdicts on our run beside those on the published results, for the claims it can speak to."""
    table = _spoken(ledger)
    if table.empty:
        page.say("No page of this book has been run yet whose tables speak to a claim.")
        return
    same = (table.verdict == table.verdict_ours).sum()
    page.say(
        "Of the {n} claims that our run can speak to, {same} get the verdict that the published results get. "
        "Another model "
        "with another verdict does not refute a claim: it says how far the claim carries.",
        n=len(table),
        same=int(same),
    )
    sides = {"published results": table.verdict, "our run": table.verdict_ours}
    both = [table.assign(switch=side, verdict=held, changed=held != table.verdict) for side, held in sides.items()]
    page.show(
        charts.verdict_switches(
            pd.concat(both, ignore_index=True),
            title="The same claims on the published results and on our run",
            subtitle="strong marks differ from the published results",
            description="A grid of verdicts: claims down, the published results and our run across; marks of our run "
            "that differ are strong.",
        )
    )
    page.table(
        table,
        "ledger-ours",
        caption="Ours beside theirs",
        columns={
            "claim": "claim",
            "verdict": "theirs",
            "verdict_ours": "ours",
            "figure": "their figure",
            "figure_ours": "our figure",
            "speaks": "it speaks of",
        },
    )
