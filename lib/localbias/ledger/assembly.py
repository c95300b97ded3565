"""The ledger itself: every claim judged on the published results, with and without flagged cells, and on ours."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import pandas as pd
import yaml

from localbias.audit import results as integrity
from localbias.errors import BadTable, unknown
from localbias.files import checked, project_root, read_checked, write_csv
from localbias.ledger import judges as j
from localbias.ledger import tables as t
from localbias.ledger.claim import PAGES, Claim, claims, inner_rules
from localbias.ledger.claim import judges as known_judges
from localbias.ledger.judges import UNKNOWN, VERDICTS, Finding, cannot_tell
from localbias.ledger.settings import Settings

REFERENCE = "data/reference/ledger.csv"
EXPECTED = "data/reference/ledger_expected.csv"
_CLAIM = ("id", "paper", "section", "topic", "page", "claim", "published", "kind", "reading", "decides", "otherwise")
_FOUND = ["verdict", "support", "figure", "value", "low", "high", "p", "n", "chance"]
PUBLISHED = (*_CLAIM, *_FOUND, "scope", "rule", "data", "flagged_cells", "verdict_unflagged", "figure_unflagged")
"""Columns that depend on the published files alone; :data:`REFERENCE` holds these."""
OURS = ("verdict_ours", "figure_ours", "speaks", "computed")


@dataclass(frozen=True)
class Ledger:
    """The claims with their verdicts.

    ``table`` has a row a claim of the papers (columns :data:`PUBLISHED` and :data:`OURS`), ``questions`` the same for
    our own questions; ``evidence`` holds, by id, the rows each verdict rests on.
    """

    table: pd.DataFrame
    questions: pd.DataFrame
    evidence: dict[str, pd.DataFrame]
    settings: Settings = field(default_factory=Settings)

    @property
    def missing(self) -> list[str]:
        """Ids whose verdict was read from the reference because the published files are not at hand."""
        return self.table.loc[self.table.computed == "reference", "id"].tolist()

    @property
    def counts(self) -> dict[str, int]:
        """Verdict → number of the papers' claims, every verdict there."""
        return {v: int((self.table.verdict == v).sum()) for v in VERDICTS}

    @property
    def ours(self) -> pd.DataFrame:
        """The claims on which our run gives a verdict."""
        return self.table[~self.table.verdict_ours.isin(["", UNKNOWN])]


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
    names = {rule["table"] for c in wanted for rule in c.rules() if "table" in rule}
    theirs = {flagged: t.theirs(replace(settings, flagged=flagged), names) for flagged in ("include", "exclude")}
    our = our_tables(t.ours(settings, run), settings)
    rows, evidence = [], {}
    for claim in wanted:
        row, evidence[claim.id] = _published(claim, theirs, settings)
        mine, speaks = on_ours(claim, our, settings)
        row |= {"verdict_ours": mine.verdict if mine else "", "figure_ours": mine.figure if mine else ""}
        rows.append(row | {"speaks": speaks})
    table = pd.DataFrame(rows, columns=[*PUBLISHED, *OURS])
    own = table.id.str.startswith("Q")
    return Ledger(table[~own].reset_index(drop=True), table[own].reset_index(drop=True), evidence, settings)


def _published(claim: Claim, theirs: dict, settings: Settings) -> tuple[dict, pd.DataFrame]:
    words = {name: getattr(claim, name) for name in _CLAIM}
    tables = theirs[settings.flagged]
    if any(rule["judge"] != "cannot_tell" and not _at_hand(rule["table"], tables) for rule in claim.rules()):
        return _from_reference(claim.id) | words | {"computed": "reference"}, pd.DataFrame()
    used = evaluate(claim.rule, tables, settings)
    chosen = [select(rule, theirs["include"], settings) for rule in claim.rules() if "table" in rule]
    cells = pd.concat(chosen).drop_duplicates() if chosen and chosen[0] is not None else pd.DataFrame()
    flagged = len(cells) - len(integrity.without(cells)) if "flags" in cells else 0
    clean = (
        evaluate(claim.rule, theirs["exclude"], settings) if flagged or len(cells) and "flags" not in cells else used
    )
    row = words | {name: getattr(used, name) for name in _FOUND}
    row |= {
        "scope": claim.scope or scope(claim, settings),
        "rule": settings.rule_words if by_rule(claim) else "",
        "data": describe(cells),
        "flagged_cells": flagged,
        "verdict_unflagged": clean.verdict,
        "figure_unflagged": clean.figure,
        "computed": "here",
    }
    return row, used.evidence


def _at_hand(name: str, tables: dict) -> bool:
    return name in tables or name == "seeds"


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
    table = read_checked(file, lambda stream: pd.read_csv(stream, dtype={"page": str})).set_index("id")
    text = [c for c in table if c not in ("value", "low", "high", "p", "n", "flagged_cells")]
    return table.fillna(dict.fromkeys(text, ""))


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


# --- one claim on one set of tables -----------------------------------------------------------


def evaluate(rule: dict, tables: dict[str, pd.DataFrame], settings: Settings) -> Finding:
    """The finding of a rule on these tables: of each reading, of all its parts, or of its judge."""
    for kind, together in (("readings", j.readings), ("parts", j.all_of)):
        if kind in rule:
            found = [(one["name"], evaluate(one, tables, settings)) for one in inner_rules(rule, kind)]
            return together(dict(found))
    judge, args = known_judges()[rule["judge"]], settings.filled(rule.get("args", {}))
    if rule["judge"] == "cannot_tell":
        return judge(None, settings, **args)
    cells = select(rule, tables, settings)
    if cells is None:
        return cannot_tell(None, settings, reason="no such table is published")
    if cells.empty:
        return cannot_tell(None, settings, reason="no cell is left")
    cells = shaped(rule, cells, settings)
    if cells.empty:
        return cannot_tell(None, settings, reason="no cell has all that the claim compares")
    if "each" not in rule:
        return judge(cells, settings, **args)
    parts = sorted(cells.groupby(rule["each"]), key=lambda held: t.natural(held[0]))
    return j.all_of({str(value): judge(part, settings, **args) for value, part in parts})


def select(rule: dict, tables: dict[str, pd.DataFrame], settings: Settings) -> pd.DataFrame | None:
    """The rows of its table that a rule speaks of, before they are reshaped; None without the table."""
    if rule.get("table") not in tables:
        return None
    return t.choose(tables[rule["table"]], **settings.filled(rule.get("select", {})))


def shaped(rule: dict, cells: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The rows reshaped as the rule asks (:data:`localbias.ledger.tables.SHAPES`), then thinned by its ``where``."""
    for name, shape in t.SHAPES.items():
        if name in rule:
            cells = shape(cells, **settings.filled(rule[name]))
    return cells[j.meets(cells, rule["where"])] if "where" in rule and len(cells) else cells


def by_rule(claim: Claim) -> bool:
    """Whether the verdict depends on the significance rule."""
    return any("significant" in str(rule) or "conclusion" in str(rule) for rule in claim.rules())


def scope(claim: Claim, settings: Settings) -> str:
    """What a claim speaks of, in a line: the selection of its first reading."""
    rule = claim.rules()[0]
    wanted = settings.filled(rule.get("select", {}))
    named = settings.filled(rule.get("args", {})).get("named")
    parts = [f"{k}: {', '.join(map(str, v)) if isinstance(v, list) else v}" for k, v in wanted.items()]
    if named:
        names = [" ".join(map(str, n)) if isinstance(n, list) else str(n) for n in named]
        parts.append(f"named: {', '.join(names)}")
    return "; ".join(parts)


def describe(cells: pd.DataFrame) -> str:
    """What published cells a claim was judged on, in a line."""
    names = [c for c in ("group", "method", "source", "test", "language") if c in cells]
    if not names:
        return ""
    held = {c: list(dict.fromkeys(cells[c])) for c in names}
    parts = [", ".join(map(str, v)) if len(v) < 7 else f"{len(v)} {k}s" for k, v in held.items()]
    return f"{len(cells)} published cells: " + "; ".join(parts)


# --- the same claim on our run ----------------------------------------------------------------


def our_tables(our: dict[str, pd.DataFrame], settings: Settings) -> dict[bool, dict[str, pd.DataFrame]]:
    """Our tables with our models in the paper's roles: for claims that compare models, and for the others."""
    out = {}
    for compares in (False, True):
        cells = {"results": t.standing_in(our["results"], settings, compares)} if "results" in our else {}
        out[compares] = t.with_derived(our | cells, settings)
    return out


def on_ours(claim: Claim, our: dict[bool, dict[str, pd.DataFrame]], settings: Settings) -> tuple[Finding | None, str]:
    """The claim's finding on our own run, and what that run can say of it: same or other model and words, languages."""
    rule = claim.rule | claim.ours
    rules = replace(claim, rule=rule).rules()
    names = {r["table"] for r in rules if r["judge"] != "cannot_tell"}
    held = names <= {"results", "sensitivity", "seeds", *t.DERIVED}
    if not names or not held:
        return None, "our run has nothing on this"
    compares = any("group" in (r.get("sides", {}).get("by"), r.get("across", {}).get("by")) for r in rules)
    if not compares:  # whatever multilingual model the claim names, ours stands for it
        rule = yaml.safe_load(yaml.safe_dump(rule).replace("XLM-R", settings.multilingual))
        rules = replace(claim, rule=rule).rules()
    tables = our[compares]
    if not names <= set(tables):
        return None, "our run has nothing on this"
    finding = evaluate(rule, tables, settings)
    used = pd.concat([select(r, tables, settings) for r in rules if r["judge"] != "cannot_tell"])
    if used.empty:
        return None, "our run has no such cells"
    return finding, _speaks(used)


def _speaks(cells: pd.DataFrame) -> str:
    papers = {"xlm-roberta-base", "distilbert-base-multilingual-cased", "ai4bharat/indic-bert", "fasttext"}
    models = sorted(set(cells["model"].dropna())) if "model" in cells else []
    parts = [("same model" if set(models) <= papers else f"other model ({', '.join(models)})") if models else "our run"]
    if "dataset" in cells:
        parts.append("other words (starter lexicon)" if "starter" in set(cells.dataset) else "same words")
    if "language" in cells:
        n = cells.language.nunique()
        parts.append(f"{n} language{'' if n == 1 else 's'}")
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
    """Every verdict on WEATHub's results under every switch.

    Returns
    -------
    DataFrame
        ``id``, ``claim``, ``topic``, ``switch``, ``verdict``, ``changed`` (from the first switch).
        Empty when the published results are not at hand.
    """
    columns = ["id", "claim", "topic", "switch", "verdict", "changed"]
    if not t.available("weathub/final_results/"):
        return pd.DataFrame(columns=columns)
    rows, verdicts = [], {}
    of = {"results", "sensitivity", *t.DERIVED}
    wanted = [c for c in claims().values() if c.paper == "WEATHub" and {r.get("table") for r in c.rules()} & of]
    for name, change in (switches or SWITCHES).items():
        chosen = replace(settings or Settings(), **change)
        held = t.theirs(chosen, of)
        for c in wanted:
            first = verdicts.get(c.id)
            verdict = first if first and not touches(c, change) else evaluate(c.rule, held, chosen).verdict
            rows.append((c.id, c.claim, c.topic, name, verdicts.setdefault(c.id, verdict) if not first else verdict))
    out = pd.DataFrame(rows, columns=columns[:-1])
    first = out[out.switch == out.switch.iloc[0]].set_index("id")["verdict"]
    return out.assign(changed=out.verdict != out.id.map(first))


def touches(claim: Claim, change: dict) -> bool:
    """Whether another choice can change a claim's verdict: it counts what is significant, or names the choice."""
    rules = str(claim.rules())
    derived = any(r.get("table") in t.DERIVED for r in claim.rules())
    return any(
        key == "flagged" or derived or (by_rule(claim) if key in ("rule", "alpha") else f"${key}" in rules)
        for key in change
    )


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
    both = pd.concat([ledger.table, ledger.questions], ignore_index=True)
    with checked(file) as draft:
        write_csv(both[list(PUBLISHED)].round(6), draft)
    _reference.cache_clear()
    return str(file)


def expected() -> pd.DataFrame:
    """The reviewed verdicts: ``id``, ``verdict``, ``support``, ``verdict_unflagged``, ``note``."""
    return pd.read_csv(project_root() / EXPECTED, dtype=str, keep_default_na=False)
