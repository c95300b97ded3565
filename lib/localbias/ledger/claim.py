"""The papers' empirical claims, in our words, as data: what each speaks of and how it is judged.

They are read from ``data/papers/*_claims.yml`` (one row a claim, W1–W80 and F1–F31) and ``data/papers/questions.yml``
(our own questions, in none of the counts): a reader may change a threshold, a selection or a wording there, or add a
question, without touching code. ``data/papers/README.md`` says what each field means.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path

import yaml

from localbias.errors import BadTable, unknown
from localbias.files import project_root
from localbias.ledger import filbbq
from localbias.ledger.judges import JUDGES
from localbias.ledger.tables import DERIVED, PLAIN, SHAPES

FOLDER = "data/papers"
FILES = ("weathub_claims.yml", "filbbq_claims.yml", "questions.yml")
PAGES = {
    "01": "01-data-construction",
    "02": "02-sensitivity-heuristic",
    "03": "03-cross-lingual-weat",
    "04": "04-mono-vs-multilingual",
    "05": "05-indian-languages",
    "06": "06-human-centred-dimensions",
    "07": "07-filbbq-seed-variability",
}
"""Number of a page → its file's stem."""

PAPERS = {"W": "WEATHub", "F": "FilBBQ", "Q": "our question"}
KINDS = ("finding", "data", "rule", "conjecture", "opinion")
TABLES = ("results", "printed", "seeds", *PLAIN, *DERIVED, *filbbq.TABLES)
RULE = ("name", "table", "select", "where", *SHAPES, "each", "judge", "args", "parts")
"""The fields that say how a claim, a reading of it or a part of it is judged."""


@dataclass(frozen=True)
class Claim:
    """One claim; ``rule`` is how it is judged: the fields :data:`RULE`, and ``readings`` where a sentence allows two.

    ``claim`` is our wording and ``published`` what the paper reports; ``reading`` says what had to be decided to judge
    it, ``otherwise`` where we read the sentence otherwise than its first reading, ``decides`` what would decide a
    claim that no published file can. ``ours`` replaces parts of the rule on our own run. ``page`` is the number of the
    page that shows it, ``topic`` the heading it is grouped under.
    """

    id: str
    section: str
    topic: str
    page: str
    claim: str
    rule: dict
    published: str = ""
    kind: str = "finding"
    scope: str = ""
    reading: str = ""
    decides: str = ""
    otherwise: str = ""
    ours: dict = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """WEATHub, FilBBQ or "our question"."""
        return PAPERS[self.id[0]]

    def rules(self, rule: dict | None = None) -> list[dict]:
        """The rule, or each of its readings and parts, every field filled in; what is judged in the end."""
        rule = self.rule if rule is None else rule
        kind = next((k for k in ("readings", "parts") if k in rule), "")
        inner = inner_rules(rule, kind) if kind else []
        return [leaf for one in inner for leaf in self.rules(one)] if inner else [rule]


def inner_rules(rule: dict, kind: str) -> list[dict]:
    """The rule of each of the ``kind`` ("readings", "parts"): what it gives itself, the rest from the whole rule.

    Selections and arguments are put together; a judge of its own gets its own arguments alone.

    >>> inner_rules({"judge": "cells", "args": {"need": 1, "of": "d > 0"}, "parts": [{"args": {"need": 2}}]}, "parts")
    [{'args': {'need': 2, 'of': 'd > 0'}, 'judge': 'cells'}]
    """
    whole = {k: v for k, v in rule.items() if k != kind}
    out = []
    for one in rule[kind]:
        shared = ("select",) if "judge" in one else ("select", "args")
        both = {k: whole[k] | one[k] for k in shared if k in whole and k in one}
        out.append({"args": {}} | whole | ({"args": {}} if "judge" in one else {}) | one | both)
    return out


def read_claims(file: Path) -> dict[str, Claim]:
    """The claims of a YAML file by id, in its order.

    Raises
    ------
    BadTable
        When the file is no list of claims, a field is missing or unknown, or an id is given twice.
    UnknownName
        When a page, kind, table or judge does not exist.
    """
    held = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(held, list) or not all(isinstance(entry, dict) for entry in held):
        raise BadTable("no list of claims", expected="a YAML list of mappings", where=file.name)
    own = {f.name for f in fields(Claim)} - {"rule"}
    claims: dict[str, Claim] = {}
    for number, entry in enumerate(held, start=1):
        where = f"{file.name}, claim {number} ({entry.get('id', 'without id')})"
        if extra := sorted(set(entry) - own - {*RULE, "readings"}):
            raise BadTable(
                "a claim has an unknown field", expected=", ".join(sorted(own)), got=", ".join(extra), where=where
            )
        if lacking := sorted({"id", "section", "topic", "page", "claim", "judge"} - set(entry)):
            raise BadTable("a claim lacks a field", expected=", ".join(lacking), got="not there", where=where)
        if entry["id"] in claims:
            raise BadTable("two claims have one id", expected="an id used once", got=entry["id"], where=where)
        rule = {k: v for k, v in entry.items() if k not in own}
        claims[entry["id"]] = checked(Claim(**{k: v for k, v in entry.items() if k in own}, rule=rule), where)
    return claims


def checked(claim: Claim, where: str) -> Claim:
    """The claim, if everything that it names exists."""
    if claim.id[0] not in PAPERS:
        raise unknown("paper", claim.id, PAPERS)
    for what, name, known in (("page", claim.page, PAGES), ("kind", claim.kind, KINDS)):
        if name not in known:
            raise unknown(f"{what} of claim {claim.id}", name, known)
    for rule in [*claim.rules(), *([claim.rule | claim.ours] if claim.ours else [])]:
        for what, name, known in (("judge", rule["judge"], judges()), ("table", rule.get("table", "words"), TABLES)):
            if name not in known:
                raise unknown(f"{what} of claim {claim.id}", name, known)
        if rule["judge"] != "cannot_tell" and "table" not in rule:
            raise BadTable("a claim names no table", expected=", ".join(TABLES), got="none", where=where)
    if claim.rule["judge"] == "cannot_tell" and not claim.decides:
        raise BadTable("a claim that cannot be told must say what would decide it", expected="decides", where=where)
    return claim


def judges() -> dict:
    """Every judge by name: the general ones, and FilBBQ's own."""
    return JUDGES | getattr(filbbq, "JUDGES", {})


@lru_cache(maxsize=1)
def claims() -> dict[str, Claim]:
    """Every claim of both papers and every question of ours, by id.

    Raises
    ------
    BadTable
        When two files give one id.
    """
    found: dict[str, Claim] = {}
    for name in FILES:
        for key, claim in read_claims(project_root() / FOLDER / name).items():
            if key in found:
                raise BadTable("two files give one claim", expected="an id used once", got=key, where=name)
            found[key] = claim
    return found
