"""The ledger as HTML: rows that open to their evidence, filters that need neither scripts nor network.

The filters are check boxes that a style rule reads (``:has``). A browser that knows no such rule, or
a reader with a screen reader, has every row; with scripts off nothing is lost.
"""

from __future__ import annotations

import html
import re
from hashlib import sha256

import numpy as np
import pandas as pd
from IPython.display import HTML, display

from localbias.book import page
from localbias.files import results_dir
from localbias.ledger.assembly import Ledger, build
from localbias.ledger.claim import PAGES
from localbias.ledger.finding import VERDICTS
from localbias.ledger.tables import result_tables

MARKS = {"holds": "●", "holds in part": "◐", "not supported": "○", "cannot tell": "?"}
"""A sign for each verdict, so that none is told by colour alone."""
MEANINGS = {
    "holds": "the figures are as claimed; a claim about languages in general also beyond what chance gives",
    "holds in part": "the figures point the claimed way, but not everywhere, or not beyond what chance gives",
    "not supported": "the figures do not point the claimed way",
    "cannot tell": "what would be needed is not published, not at hand, or too little",
}
SUPPORT = {
    "count": "a count, which no chance enters",
    "beyond chance": "an interval or a test with languages as its unit",
    "as described": "cells that are as claimed, too few or of too few languages for chance to be excluded",
}
"""What a claim that holds rests on."""
COLOURS = {"holds": "#12917a", "holds in part": "#2f78c4", "not supported": "#d9700d", "cannot tell": "#7b8590"}
ROWS = 12
"""Rows of evidence that a page shows for a claim."""

_STYLE = """
<style>
.lb-ledger fieldset{border:1px solid var(--pst-color-border,#c9ced6);border-radius:4px;
 margin:0 0 .5rem;padding:.2rem .7rem .4rem}
.lb-ledger legend{font-size:.85rem;width:auto;margin:0;padding:0 .3rem;float:none}
.lb-ledger label{margin:0 .9rem 0 0;font-size:.9rem;white-space:nowrap}
.lb-ledger details{border-left:4px solid var(--lb-v);margin:0 0 .45rem;padding:.25rem .2rem .25rem .7rem;
 counter-increment:shown}
.lb-ledger summary{cursor:pointer}
.lb-ledger .lb-head{display:inline-grid;grid-template-columns:7.8rem 1fr;width:calc(100% - 1.4rem);vertical-align:top}
.lb-ledger .lb-badge{font-weight:600;font-size:.85rem}
.lb-ledger small{display:block;opacity:.8}
.lb-ledger dl{display:grid;grid-template-columns:minmax(7rem,11rem) 1fr;gap:.15rem .8rem;
 margin:.5rem 0;font-size:.92rem}
.lb-ledger dt{font-weight:600}
.lb-ledger dd{margin:0}
.lb-ledger .lb-table-box{overflow-x:auto;max-height:22rem;font-size:.85rem}
.lb-ledger{counter-reset:shown}
.lb-ledger .lb-shown{font-size:.85rem;opacity:.8}
.lb-ledger .lb-shown::after{content:counter(shown) " claims shown"}
@media (max-width:40rem){.lb-ledger dl,.lb-ledger .lb-head{grid-template-columns:1fr}}
</style>"""


def show(ledger: Ledger) -> None:
    """Display the whole ledger with its filters: paper, section, verdict."""
    display(HTML(ledger_html(ledger)))


def ledger_html(ledger: Ledger, filters: bool = True) -> str:
    """The ledger as one piece of HTML; see the module for how its filters work."""
    table = ledger.table
    name = "lb" + sha256("".join(table.id).encode()).hexdigest()[:8]
    chosen = {
        "paper": list(dict.fromkeys(table.paper)),
        "section": list(dict.fromkeys(table.topic)),
        "verdict": [v for v in VERDICTS if (table.verdict == v).any()],
    }
    rows = "".join(_row(row, ledger.evidence.get(row.id), chosen, filters) for row in table.itertuples())
    boxes = "".join(_boxes(kind, names, name) for kind, names in chosen.items()) if filters else ""
    rules = "".join(_hide(kind, names, name) for kind, names in chosen.items()) if filters else ""
    style = f"<style>{rules}</style>" if rules else ""
    count = '<p class="lb-shown" aria-live="polite"></p>' if filters else ""
    return f'{_STYLE}{style}<div class="lb-ledger" id="{name}">{boxes}{rows}{count}</div>'


def _boxes(kind: str, names: list[str], owner: str) -> str:
    labels = "".join(
        f'<label><input type="checkbox" checked id="{owner}-{kind}-{i}"> {_text(MARKS.get(n, ""))} {_text(n)}</label>'
        for i, n in enumerate(names)
    )
    return f"<fieldset><legend>Show by {kind}</legend>{labels}</fieldset>"


def _hide(kind: str, names: list[str], owner: str) -> str:
    return "".join(
        f'#{owner}:has(#{owner}-{kind}-{i}:not(:checked)) details[data-{kind}="{i}"]{{display:none}}'
        for i in range(len(names))
    )


def _row(row, evidence: pd.DataFrame | None, chosen: dict[str, list[str]], link: bool) -> str:
    keys = {"paper": row.paper, "section": row.topic, "verdict": row.verdict}
    data = " ".join(f'data-{kind}="{chosen[kind].index(value)}"' for kind, value in keys.items())
    facts = "".join(f"<dt>{_text(k)}</dt><dd>{v}</dd>" for k, v in _facts(row, link) if v)
    return (
        f'<details {data} style="--lb-v:{COLOURS[row.verdict]}"><summary><span class="lb-head">'
        f'<span class="lb-badge">{MARKS[row.verdict]} {_text(row.verdict)}</span><span>{_text(row.claim)} '
        f"<small>{_text(row.paper)}, {_text(row.section)}: {_text(row.figure)}</small></span></span></summary>"
        f"<dl>{facts}</dl>{_evidence(evidence)}</details>"
    )


def _facts(row, link: bool) -> list[tuple[str, str]]:
    here = "" if row.computed == "here" else " (from the reference run: the published files are not at hand)"
    stem = PAGES[row.page]
    clean = f"{row.verdict_unflagged}: {row.figure_unflagged}" if row.flagged_cells else ""
    ours = f"{_text(row.verdict_ours)}: {_text(row.figure_ours)}" if row.verdict_ours else ""
    ours += _interval(row, "_ours") if ours else ""
    return [
        ("as published", _text(row.published)),
        ("recomputed", _text(row.figure) + _interval(row, "") + _p(row.p) + here),
        ("chance alone", _text(row.chance)),
        ("rests on", _text(SUPPORT.get(row.support, ""))),
        ("judged on", _text(row.data)),
        ("counted as significant", _text(row.rule)),
        ("without flagged cells", _text(clean)),
        ("our run", ours or _text(row.speaks)),
        ("with", _text(row.speaks) if ours else ""),
        ("our reading", _text(row.reading)),
        ("page", f'<a href="{stem}.html">{_text(stem)}</a>' if link else ""),
    ]


def _interval(row, whose: str) -> str:
    low, high = getattr(row, f"low{whose}"), getattr(row, f"high{whose}")
    if not np.isfinite([low, high]).all():
        return ""
    what = "interval over languages" if row.paper == "WEATHub" else "middle of the scores"
    return _text(f"; {what} {low:.2f} … {high:.2f}")


def _p(p: float) -> str:
    return f"; p = {p:.2g}" if np.isfinite(p) else ""


def _evidence(evidence: pd.DataFrame | None) -> str:
    if evidence is None or evidence.empty:
        return ""
    hidden = ("file", "row", "flags", "model", "label", "stated_source", "family", "abs_d", "two_sided", "kind")
    kept = evidence[[c for c in evidence if c not in hidden]].dropna(axis=1, how="all").head(ROWS)
    if isinstance(kept.columns, pd.MultiIndex):
        kept.columns = [" ".join(map(str, c)).strip() for c in kept.columns]
    more = f"<p>{ROWS} of {len(evidence)} rows</p>" if len(evidence) > ROWS else ""
    return f'<div class="lb-table-box" tabindex="0">{page.table_html(kept.reset_index(drop=True))}</div>{more}'


def _text(value: object) -> str:
    return html.escape(re.sub(r"(?<![\w-])-(?=\d)", "−", str(value)), quote=False)


def show_claims(number: str, **choices) -> None:
    """What the papers claim about a page's subject, and which of it holds; the last cell of each page.

    Our run is this page's own tables, so that a page does not depend on which others have been run.

    Parameters
    ----------
    number : str
        The page's number: "03".
    **choices
        Fields of :class:`~localbias.ledger.settings.Settings`.
    """
    ledger = build(pages=[number], run=result_tables(results_dir()), **choices)
    counts = "; ".join(f"{v}: {n}" for v, n in ledger.counts.items() if n)
    lead = (
        f"The papers make {len(ledger.table)} claims about what this page shows ({counts}). Each opens to its "
        "figures: as published, recomputed from the authors' files, and from this run."
    )
    if ledger.missing:
        lead += (
            " The published files are not at hand, so the recomputed figures are those of the reference run "
            "(data/reference/ledger.csv)."
        )
    display(HTML(f"<p>{_text(lead)}</p>{ledger_html(ledger, filters=False)}"))
