"""The ledger itself: every claim judged on the published results, with and without flagged cells, and on ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from localbias.audit import results as integrity
from localbias.errors import BadTable, unknown
from localbias.files import checked, project_root, read_checked, write_csv
from localbias.ledger import tables as t
from localbias.ledger.claim import PAGES, Claim, claims
from localbias.ledger.counts import cannot_tell
from localbias.ledger.finding import HOLDS, VERDICTS, Finding, languages
from localbias.ledger.settings import Settings

REFERENCE = "data/reference/ledger.csv"
EXPECTED = "data/reference/ledger_expected.csv"
PUBLISHED = (
    "id",
    "paper",
    "section",
    "topic",
    "claim",
    "page",
    "data",
    "published",
    "reading",
    "verdict",
    "support",
    "figure",
    "value",
    "low",
    "high",
    "p",
    "chance",
    "n",
    "rule",
    "flagged_cells",
    "verdict_unflagged",
    "figure_unflagged",
)
"""Columns that depend on the published files alone; :data:`REFERENCE` holds these."""
NO_DATA = "the authors publish no table that this could be judged on"
OURS = ("verdict_ours", "figure_ours", "value_ours", "low_ours", "high_ours", "speaks", "computed")


@dataclass(frozen=True)
class Ledger:
    """The claims with their verdicts.

    ``table`` has a row a claim (columns :data:`PUBLISHED` and :data:`OURS`); ``evidence`` holds, by claim
    id, the rows each verdict rests on; ``missing`` the ids whose verdict was read from the reference
    because the published files are not at hand.
    """

    table: pd.DataFrame
    evidence: dict[str, pd.DataFrame]
    settings: Settings

    @property
    def missing(self) -> list[str]:
        """Ids of the claims that were not computed here."""
        return self.table.loc[self.table.computed == "reference", "id"].tolist()

    @property
    def counts(self) -> dict[str, int]:
        """Verdict → number of claims, every verdict there."""
        return {v: int((self.table.verdict == v).sum()) for v in VERDICTS}


def build(
    settings: Settings | None = None,
    pages: list[str] | None = None,
    run: dict[str, pd.DataFrame] | None = None,
    **choices,
) -> Ledger:
    """Judge every claim.

    Parameters
    ----------
    settings : Settings, optional
        The choices in force; ``choices`` changes single ones: ``build(rule="q")``.
    pages : list of str, optional
        Only the claims of these pages ("03").
    run : dict, optional
        Our tables by file name; by default those of the results folder.

    Returns
    -------
    Ledger

    Raises
    ------
    UnknownName
        When a page or a choice does not exist.
    BadTable
        When the published files are not at hand and the reference ledger is missing.
    """
    settings = replace(settings or Settings(), **choices)
    for page in pages or ():
        if page not in PAGES:
            raise unknown("page", page, PAGES)
    wanted = [c for c in claims().values() if not pages or c.page in pages]
    names = {c.table for c in wanted}
    theirs = {flagged: t.theirs(replace(settings, flagged=flagged), names) for flagged in ("include", "exclude")}
    our = t.ours(settings, run)
    judged = [_row(claim, theirs, our, settings) for claim in wanted]
    table = pd.DataFrame([row for row, _ in judged])[[*PUBLISHED, *OURS]]
    return Ledger(table, {c.id: evidence for c, (_, evidence) in zip(wanted, judged, strict=True)}, settings)


def _row(claim: Claim, theirs: dict, our: dict, settings: Settings) -> tuple[dict, pd.DataFrame]:
    names = ("id", "paper", "section", "topic", "claim", "page", "published", "reading")
    page = {name: getattr(claim, name) for name in names}
    row, evidence = _published(claim, theirs, settings)
    mine, speaks = on_ours(claim, our, settings)
    for name in ("verdict", "figure", "value", "low", "high"):
        row[f"{name}_ours"] = getattr(mine, name) if mine else (np.nan if name in ("value", "low", "high") else "")
    return page | row | {"speaks": speaks}, evidence


def _published(claim: Claim, theirs: dict, settings: Settings) -> tuple[dict, pd.DataFrame]:
    if claim.table != "seeds" and claim.table not in theirs["include"]:
        return _from_reference(claim.id) | {"computed": "reference"}, pd.DataFrame()
    used = judge(claim, theirs[settings.flagged], settings)
    clean = judge(claim, theirs["exclude"], settings)
    cells = theirs["include"].get(claim.table)
    chosen = select(cells, claim, settings) if cells is not None else pd.DataFrame()
    flagged = len(chosen) - len(integrity.without(chosen)) if "flags" in chosen else 0
    row = {name: getattr(used, name) for name in ("verdict", "figure", "value", "low", "high", "p", "chance", "n")}
    row |= {
        "support": support(used, claim, settings),
        "data": describe(chosen, claim),
        "rule": settings.rule_words if claim.by_rule else "",
        "flagged_cells": flagged,
        "verdict_unflagged": clean.verdict,
        "figure_unflagged": clean.figure,
        "computed": "here",
    }
    return row, used.evidence


@lru_cache(maxsize=1)
def _reference() -> pd.DataFrame:
    file = project_root() / REFERENCE
    if not file.is_file():
        raise BadTable(
            "the reference ledger is missing",
            expected=REFERENCE,
            got="no such file",
            todo="run `python -m localbias.ledger` where the published files are at hand",
        )
    text = ["support", "figure", "chance", "rule", "figure_unflagged", "data", "published", "reading"]
    held = read_checked(file, lambda stream: pd.read_csv(stream, dtype={"page": str}))
    return held.set_index("id").fillna(dict.fromkeys(text, ""))


def _from_reference(key: str) -> dict:
    held = _reference()
    if key not in held.index:
        raise BadTable(
            "the reference ledger does not know a claim",
            expected="a row for each claim",
            got=key,
            where=REFERENCE,
            todo="run `python -m localbias.ledger` on the published files",
        )
    return {k: v for k, v in held.loc[key].items() if k in PUBLISHED}


def support(finding: Finding, claim: Claim, settings: Settings) -> str:
    """What a verdict "holds" rests on; empty for the others.

    "count" of prompts; "beyond chance": an interval or a test with languages as its unit; "as described": the
    cells are as claimed, but they are of one or two languages, or no test over languages excludes chance.
    """
    if finding.verdict != HOLDS:
        return ""
    if claim.table == "counts":
        return "count"
    tested = finding.over_languages and finding.p < settings.alpha
    return "beyond chance" if np.isfinite(finding.low) or tested else "as described"


# --- one claim on one set of tables -----------------------------------------------------------


def judge(claim: Claim, tables: dict[str, pd.DataFrame], settings: Settings, without: tuple[str, ...] = ()) -> Finding:
    """The finding of a claim on these tables; "cannot tell" where no cell speaks to it.

    ``without`` leaves out conditions of its selection (``("group",)``: whatever model there is).
    """
    if claim.table not in tables:
        if claim.unanswered:
            return claim.judge(None, settings, **claim.args)
        return cannot_tell(None, settings, reason=NO_DATA)
    cells = select(tables[claim.table], claim, settings, without)
    if not claim.unanswered and (cells.empty or absent(cells, claim, settings)):
        which = ", ".join(absent(cells, claim, settings))
        return cannot_tell(cells, settings, reason=f"no cell is left for {which}" if which else "no cell is left")
    return claim.judge(cells, settings, **{k: settings.filled(v) for k, v in claim.args.items()})


def select(table: pd.DataFrame, claim: Claim, settings: Settings, without: tuple[str, ...] = ()) -> pd.DataFrame:
    """The rows of a table that a claim speaks of."""
    return t.choose(table, **{c: settings.filled(v) for c, v in claim.select.items() if c not in without})


def absent(cells: pd.DataFrame, claim: Claim, settings: Settings) -> list[str]:
    """The languages that a claim names and that have no cell."""
    named = settings.filled(claim.select.get("language", []))
    named = [named] if isinstance(named, str) else named
    return [c for c in named if c not in set(cells.get("language", []))]


def describe(cells: pd.DataFrame, claim: Claim) -> str:
    """What data a claim was judged on, in a line."""
    if claim.table == "counts":
        return "the published templates and the prompts generated from them"
    if claim.table == "seeds":
        return "answers and scores of 50 seeds, not published"
    if claim.table == "printed":
        return "the papers' printed tables and the authors' result files"
    if cells.empty:
        return "no published cell"
    if claim.table == "sensitivity":
        return (
            f"published variances of fastText and of a model that the files do not name (taken as DistilmBERT): "
            f"{cells.language.nunique()} languages"
        )
    names = {c: list(dict.fromkeys(cells[c])) for c in ("group", "method", "source", "test", "language")}
    parts = [", ".join(held) if len(held) < 7 else f"{len(held)} {kind}s" for kind, held in names.items()]
    return f"{len(cells)} published cells: " + "; ".join(parts)


# --- the same claim on our run ----------------------------------------------------------------


def on_ours(claim: Claim, our: dict[str, pd.DataFrame], settings: Settings) -> tuple[Finding | None, str]:
    """The claim's finding on our own run, and what that run can say of it.

    A model of ours stands where the paper's stood: any multilingual model for its multilingual one.
    The second value says so: same or other model, same or other words, which languages.
    """
    if claim.table not in our or claim.unanswered:
        return None, "our run has nothing on this"
    table = our[claim.table]
    if claim.table != "results":
        models = sorted(set(table["model"])) if "model" in table else []
        finding = judge(claim, {claim.table: table}, settings)
        return finding, _speaks(models, table, []) if models else "our run (its page names the model)"
    compares = claim.args.get("by") in ("group", "kind")
    stand_in = _standing_in(table, settings) if compares else table
    cells = select(stand_in, claim, settings, () if compares else ("group",))
    if cells.empty:
        return None, "our run has no such cells"
    cells = _one_model(cells, compares)
    finding = judge(claim, {"results": cells}, settings, () if compares else ("group",))
    return finding, _speaks(sorted(set(cells.model)), cells, absent(cells, claim, settings))


def _standing_in(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    kind = table.kind.where(table.kind != "multilingual", settings.multilingual)
    group = table.group.where(table.group.isin(["XLM-R", "DistilmBERT", "IndicBERT"]), kind)
    return table.assign(group=group)


def _one_model(cells: pd.DataFrame, compares: bool) -> pd.DataFrame:
    """One model a role, the one with most cells, so that a pair compares two models and not a mixture."""
    most = cells.groupby(["group", "model"] if compares else ["model"]).size().reset_index(name="n")
    most = most.sort_values(["n", "model"], ascending=[False, True])
    keep = most.drop_duplicates("group").model if compares else most.model.head(1)
    protocols = cells.protocol.value_counts()
    return cells[cells.model.isin(keep) & (cells.protocol == protocols.index[0])]


def _speaks(models: list[str], cells: pd.DataFrame, lacking: list[str]) -> str:
    papers = {"xlm-roberta-base", "distilbert-base-multilingual-cased", "ai4bharat/indic-bert"}
    parts = ["same model" if set(models) <= papers else f"other model ({', '.join(models)})"]
    if "dataset" in cells:
        sets = set(cells.dataset)
        parts.append("other words (starter lexicon)" if "starter" in sets else "same words")
    if "language" in cells:
        parts.append(languages(cells.language.nunique()))
    if lacking:
        parts.append(f"without {', '.join(lacking)}")
    return "; ".join(parts)


# --- choices, reference -----------------------------------------------------------------------

SWITCHES = {
    "as set": {},
    "two-sided 5 %": {"rule": "two-sided"},
    "q ≤ 0.05": {"rule": "q"},
    "without flagged cells": {"flagged": "exclude"},
    "human lists": {"source": "human"},
    "machine lists": {"source": "gt"},
    "method M1": {"method": "M1"},
    "method M8": {"method": "M8"},
    "XLM-R": {"multilingual": "XLM-R"},
}
"""One other choice at a time: name → what it changes."""


def switched(settings: Settings | None = None, switches: dict[str, dict] | None = None) -> pd.DataFrame:
    """Every verdict under every switch.

    Returns
    -------
    DataFrame
        ``id``, ``claim``, ``topic``, ``switch``, ``verdict``, ``changed`` (from the first switch).
        Empty when the published results are not at hand.
    """
    if not t.published_available():
        return pd.DataFrame(columns=["id", "claim", "topic", "switch", "verdict", "changed"])
    rows = []
    wanted = [c for c in claims().values() if c.table in ("results", "sensitivity")]
    for name, change in (switches or SWITCHES).items():
        chosen = replace(settings or Settings(), **change)
        held = t.theirs_results(chosen)
        rows += [
            {"id": c.id, "claim": c.claim, "topic": c.topic, "switch": name, "verdict": judge(c, held, chosen).verdict}
            for c in wanted
        ]
    out = pd.DataFrame(rows)
    first = out[out.switch == out.switch.iloc[0]].set_index("id")["verdict"]
    return out.assign(changed=out.verdict != out.id.map(first))


def write_reference() -> str:
    """Write :data:`REFERENCE` from the published files; same files, same bytes.

    Raises
    ------
    BadTable
        When a claim could not be computed because its published files are not at hand.
    """
    ledger = build(run={})
    if ledger.missing:
        raise BadTable(
            "the reference needs every published file",
            got=f"missing for {', '.join(ledger.missing)}",
            todo="set LOCALBIAS_MIRROR, or let the files be downloaded",
        )
    file = project_root() / REFERENCE
    with checked(file) as draft:
        write_csv(ledger.table[list(PUBLISHED)].round(6), draft)
    _reference.cache_clear()
    return str(file)


def expected() -> pd.DataFrame:
    """The reviewed verdicts: ``id``, ``verdict``, ``verdict_unflagged``, ``note``."""
    return pd.read_csv(project_root() / EXPECTED, dtype=str, keep_default_na=False)
