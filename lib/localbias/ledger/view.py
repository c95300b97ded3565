"""The ledger as HTML: rows that open to their evidence, filters that need neither scripts nor network.

The filters are check boxes that a style rule reads (``:has``). A browser that knows no such rule, or
a reader with a screen reader, has every row; with scripts off nothing is lost. What is a grid of numbers (the papers'
figures, the verdicts under other choices) is a table, which weighs a tenth of its picture and can be read aloud.
"""

from __future__ import annotations

import html
import re
from hashlib import sha256

import numpy as np
import pandas as pd
from IPython.display import HTML, display

from localbias.book import page
from localbias.book.charts.ledger import VERDICT_COLOURS
from localbias.files import results_dir
from localbias.ledger.assembly import Ledger, build
from localbias.ledger.claim import PAGES
from localbias.ledger.judges import VERDICTS
from localbias.ledger.tables import natural, result_tables
from localbias.registry import LANGUAGES, label_of

MARKS = {"holds": "●", "holds in part": "◐", "not supported": "○", "depends on the reading": "◆", "cannot tell": "?"}
"""A sign for each verdict, so that none is told by colour alone."""
MEANINGS = {
    "holds": "the figures are as claimed; a claim about languages in general also beyond what chance gives",
    "holds in part": "the figures point the claimed way, but not everywhere, or not beyond what chance gives",
    "not supported": "the figures do not point the claimed way",
    "depends on the reading": "the sentence allows two readings, and they are judged differently",
    "cannot tell": "no published file can decide it; the row says what would",
}
SUPPORT = {
    "count": "a count, which no chance enters",
    "beyond chance": "a test with languages as its unit",
    "as described": "the cells are as claimed; they are too few, or were named too late, to exclude chance",
}
"""What a claim that holds rests on."""
ROWS = 26
"""Rows of evidence that a page shows for a claim."""

STYLE = (
    """
<style>
.lb-ledger fieldset{border:1px solid var(--pst-color-border,#c9ced6);border-radius:4px;
 margin:0 0 .5rem;padding:.2rem .7rem .4rem}
.lb-ledger legend{font-size:.85rem;width:auto;margin:0;padding:0 .3rem;float:none}
.lb-ledger label{margin:0 .9rem 0 0;font-size:.9rem;white-space:nowrap}
.lb-ledger details{border-left:4px solid var(--lb-v);margin:0 0 .45rem;padding:.25rem .2rem .25rem .7rem;
 counter-increment:shown}
.lb-ledger summary{cursor:pointer}
.lb-ledger .lb-head{display:inline-grid;grid-template-columns:9.6rem 1fr;width:calc(100% - 1.4rem);vertical-align:top}
.lb-ledger .lb-badge{font-weight:600;font-size:.85rem}
.lb-ledger small{opacity:.8;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.lb-ledger dl{display:grid;grid-template-columns:minmax(7rem,11rem) 1fr;gap:.15rem .8rem;
 margin:.5rem 0;font-size:.92rem}
.lb-ledger dt{font-weight:600}
.lb-ledger dd{margin:0}
.lb-ledger .lb-table-box{max-height:22rem;font-size:.8rem}
.lb-ledger{counter-reset:shown}
.lb-ledger .lb-shown{font-size:.85rem;opacity:.8}
.lb-ledger .lb-shown::after{content:counter(shown) " claims shown"}
@media (max-width:40rem){.lb-ledger dl,.lb-ledger .lb-head{grid-template-columns:1fr}}
.lb-heat td,.lb-heat th{text-align:right;padding:.1rem .4rem!important;font-variant-numeric:tabular-nums}
.lb-heat th:first-child{text-align:left}
.lb-heat b{font-weight:700}
.lb-heat i{opacity:.45;font-style:normal}
"""
    + "".join(
        f".lb-heat .lb-{way}{depth}{{background:rgba({colour},{depth * 0.18:.2f})}}\n"
        for way, colour in (("up", "204,110,29"), ("down", "63,127,193"))
        for depth in range(1, 5)
    )
    + "</style>"
)


def show(ledger: Ledger, questions: bool = False) -> None:
    """Display the papers' claims with filters (paper, section, verdict), or our own ``questions``."""
    table = ledger.questions if questions else ledger.table
    display(HTML(ledger_html(table, ledger.evidence, filters=not questions)))


def ledger_html(table: pd.DataFrame, evidence: dict[str, pd.DataFrame], filters: bool = True) -> str:
    """Claims as one piece of HTML; see the module for how its filters work."""
    name = "lb" + sha256("".join(table.id).encode()).hexdigest()[:8]
    chosen = {
        "paper": list(dict.fromkeys(table.paper)),
        "section": list(dict.fromkeys(table.topic)),
        "verdict": [v for v in VERDICTS if (table.verdict == v).any()],
    }
    rows = "".join(_row(row, evidence.get(row.id), chosen, filters) for row in table.itertuples())
    boxes = "".join(_boxes(kind, names, name) for kind, names in chosen.items()) if filters else ""
    rules = "".join(_hide(kind, names, name) for kind, names in chosen.items()) if filters else ""
    style = f"<style>{rules}</style>" if rules else ""
    count = '<p class="lb-shown" aria-live="polite"></p>' if filters else ""
    return f'{STYLE}{style}<div class="lb-ledger" id="{name}">{boxes}{rows}{count}</div>'


def _boxes(kind: str, names: list[str], owner: str) -> str:
    labels = "".join(
        f'<label><input type="checkbox" checked id="{owner}-{kind}-{i}"> {text(MARKS.get(n, ""))} {text(n)}</label>'
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
    facts = "".join(f"<dt>{text(k)}</dt><dd>{v}</dd>" for k, v in _facts(row, link) if v)
    where = row.paper if row.id.startswith("Q") else f"{row.id} · {row.paper}, {row.section}"
    badge = f'<span class="lb-badge">{MARKS[row.verdict]} {text(row.verdict)}</span>'
    said = f"<span>{text(row.claim)} <small>{text(where)}: {text(row.figure)}</small></span>"
    colour = VERDICT_COLOURS[row.verdict]
    return (
        f'<details id="claim-{row.id}" {data} style="--lb-v:{colour}"><summary><span class="lb-head">{badge}{said}'
        f"</span></summary><dl>{facts}</dl>{evidence_html(evidence)}</details>"
    )


def _facts(row, link: bool) -> list[tuple[str, str]]:
    here = "" if row.computed == "here" else " (from the reference run: the published files are not at hand)"
    stem = PAGES[row.page]
    clean = f"{row.verdict_unflagged}: {row.figure_unflagged}" if row.flagged_cells else ""
    ours = f"{text(row.verdict_ours)}: {text(row.figure_ours)}" if row.verdict_ours else ""
    return [
        ("kind", text(row.kind) if row.kind in ("conjecture", "opinion", "rule") else ""),
        ("as published", text(row.published)),
        ("recomputed", text(row.figure) + _interval(row) + _p(row.p) + here),
        ("chance alone", text(row.chance)),
        ("rests on", text(SUPPORT.get(row.support, ""))),
        ("scope", text(row.scope)),
        ("judged on", text(row.data)),
        ("counted as significant", text(row.rule)),
        ("without flagged cells", text(clean)),
        ("what would decide it", text(row.decides)),
        ("our run", ours or text(row.speaks)),
        ("with", text(row.speaks) if ours else ""),
        ("our reading", text(row.reading)),
        ("read otherwise", text(row.otherwise)),
        ("page", f'<a href="{stem}.html">{text(stem)}</a>' if link else ""),
    ]


def _interval(row) -> str:
    return text(f"; interval {row.low:.2f} … {row.high:.2f}") if np.isfinite([row.low, row.high]).all() else ""


def _p(p: float) -> str:
    return f"; p = {p:.2g}" if np.isfinite(p) else ""


# --- evidence ---------------------------------------------------------------------------------

_HIDDEN = {"file", "row", "flags", "model", "label", "stated_source", "family", "kind", "n_sets", "bottom", "range"}
_HIDDEN |= {"one_sign", "abs_d", "two_sided", "q", "templates"}
"""Columns of evidence that a page does not show."""
_KEYS = ("reading", "part of the claim", "part", "language", "test", "group", "source", "method")


def evidence_html(evidence: pd.DataFrame | None) -> str:
    """The rows behind a verdict: a grid of d (p) with ✓ or ✗ where they are cells, else as they are."""
    if evidence is None or evidence.empty:
        return ""
    table = evidence.copy()
    if "ok" in table and {"d", "p"} <= set(table.select_dtypes("number")):
        table["d (p)"] = [_cell(_number(r.d), _number(r.p, "({:.3f})"), r.ok) for r in table.itertuples()]
    elif "ok" in table and {"left", "right"} <= set(table.select_dtypes("number")):
        table["left | right"] = [_cell(f"{r.left:.2f} | {r.right:.2f}", _sizes(r), r.ok) for r in table.itertuples()]
    keys = [k for k in _KEYS if k in table]
    table[keys] = table[keys].fillna("")
    if shown := next((c for c in ("d (p)", "left | right") if c in table), ""):
        table = _grid(table, keys, shown)
    else:
        table = table[[c for c in table if c not in _HIDDEN]].dropna(axis=1, how="all")
        if "ok" in table:
            table["ok"] = table.ok.map({True: "✓", False: "✗"})
    more = f"<p>{ROWS} of {len(table)} rows</p>" if len(table) > ROWS else ""
    box = page.table_html(table.head(ROWS).reset_index(drop=True))
    return f'<div class="lb-table-box" tabindex="0">{box}</div>{more}'


def _cell(*parts: str | bool) -> str:
    *figures, ok = parts
    return " ".join([f.replace("-", "−") for f in figures if f] + ["✓" if ok else "✗"])


def _number(value: float, form: str = "{:.2f}") -> str:
    return form.format(value) if np.isfinite(value) else ""


def _sizes(row) -> str:
    """The mean sizes of cells whose mean hides them: signs that differ cancel in a mean of d, not in one of |d|."""
    sizes = [getattr(row, f"abs_{side}", abs(getattr(row, side))) for side in ("left", "right")]
    hidden = not np.allclose(sizes, [abs(row.left), abs(row.right)], atol=0.005, equal_nan=True)
    return f"(sizes {sizes[0]:.2f} | {sizes[1]:.2f})" if hidden else ""


def _grid(table: pd.DataFrame, keys: list[str], shown: str) -> pd.DataFrame:
    varying = [k for k in keys if table[k].nunique() > 1] or keys[:1]
    across = max((k for k in varying if k in _KEYS[4:]), key=lambda k: table[k].nunique(), default="")
    if not across or len(varying) < 2:
        return table[[*varying, shown]]
    rest = [k for k in varying if k != across]
    if len(table) > ROWS * 12:
        rest = [k for k in rest if k in ("reading", "part of the claim", "language")] or rest[:1]
        shares = table.groupby([*rest, across], sort=False)["ok"].mean().unstack(across)
        return shares.map(lambda v: "" if pd.isna(v) else f"{v:.0%} of cells ✓").reset_index()
    columns = sorted(set(table[across]), key=natural)
    return table.groupby([*rest, across], sort=False)[shown].first().unstack(across)[columns].reset_index().fillna("")


def text(value: object) -> str:
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
    both = pd.concat([ledger.table, ledger.questions], ignore_index=True)
    display(HTML(f"<p>{text(lead)}</p>{ledger_html(both, ledger.evidence, filters=False)}"))


# --- grids of numbers -------------------------------------------------------------------------


def heat_html(
    cells: pd.DataFrame, columns: str, value: str = "d", rows: str | list[str] = "language", number: str = ".2f"
) -> str:
    """Numbers as a table shaded by size, the significant ones in bold: rows by ``columns``.

    Parameters
    ----------
    cells : DataFrame
        One row a number: ``rows``, ``columns``, ``value`` and ``significant`` where there is one.
    """
    wide = cells.pivot_table(index=rows, columns=columns, values=value, sort=False)
    wide = wide[sorted(wide, key=natural)].sort_index()
    marked = cells if "significant" in cells else cells.assign(significant=False)
    bold = marked.pivot_table(index=rows, columns=columns, values="significant", aggfunc="any")
    most = float(np.nanmax(np.abs(wide.to_numpy()))) or 1.0
    head = "".join(f'<th scope="col">{text(label_of(str(c)))}</th>' for c in wide)
    body = ""
    for key, line in wide.iterrows():
        name = " ".join(_language(k) for k in key) if isinstance(key, tuple) else _language(key)
        body += f'<tr><th scope="row">{text(name)}</th>'
        body += "".join(_shaded(v, most, number, bool(bold.at[key, c])) for c, v in line.items())
        body += "</tr>"
    return f'<div class="lb-table-box lb-heat" tabindex="0"><table><tr><th></th>{head}</tr>{body}</table></div>'


def _shaded(value: float, most: float, number: str, bold: bool) -> str:
    if pd.isna(value):
        return "<td></td>"
    depth = min(4, int(5 * abs(value) / most))
    shade = f" class=lb-{'up' if value > 0 else 'down'}{depth}" if depth else ""
    shown = format(value, number).replace("-", "−")
    return f"<td{shade}>{f'<b>{shown}</b>' if bold else shown}</td>"


def _language(code: str) -> str:
    return LANGUAGES[code].name if code in LANGUAGES else str(code)
