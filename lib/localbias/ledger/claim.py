"""The papers' empirical claims, in our words, as data: what each speaks of and how it is judged.

They are read from ``data/papers/claims.yml``: a reader may change a threshold, a selection or a
wording there, or add a claim, without touching code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path

import yaml

from localbias.errors import BadTable, unknown
from localbias.files import project_root
from localbias.ledger import compare, counts

FILE = "data/papers/claims.yml"
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

TABLES = ("results", "sensitivity", "counts", "printed", "seeds")
TESTS: dict[str, Callable] = {
    f"{module.__name__.rsplit('.', 1)[-1]}.{name}": getattr(module, name)
    for module, names in (
        (compare, ("agreeing", "alike", "consistent", "extreme", "gap", "opposite", "order", "paired", "versus")),
        (
            counts,
            (
                "above_chance",
                "beyond_guessing",
                "cannot_tell",
                "counted",
                "each",
                "listed",
                "matching",
                "numbers",
                "seed_range",
                "share",
                "shared",
            ),
        ),
    )
    for name in names
}
"""The verdict functions by the name that a claim gives."""


@dataclass(frozen=True)
class Claim:
    """One claim.

    ``claim`` is our wording and ``published`` what the paper reports; ``reading`` says what had to be
    decided to test it. ``table`` names the table it is judged on, ``select`` the rows of it, ``test`` the
    verdict function (:data:`TESTS`) and ``args`` its arguments; in both, ``"$method"`` and the like stand
    for the :class:`~localbias.ledger.settings.Settings` in use. ``page`` is the number of the page that
    shows it, ``topic`` the heading it is grouped under.
    """

    id: str
    paper: str
    section: str
    topic: str
    page: str
    claim: str
    published: str
    table: str
    test: str
    select: dict = field(default_factory=dict)
    args: dict = field(default_factory=dict)
    reading: str = ""

    def __post_init__(self):
        for kind, known in (("page", PAGES), ("table", TABLES), ("test", TESTS)):
            name = getattr(self, kind)
            if name not in known:
                raise unknown(f"{kind} of claim {self.id}", name, known)

    @property
    def judge(self) -> Callable:
        """The verdict function."""
        return TESTS[self.test]

    @property
    def unanswered(self) -> bool:
        """Whether the claim cannot be judged whatever the tables hold (its ``args`` say why)."""
        return "reason" in self.args

    @property
    def by_rule(self) -> bool:
        """Whether the verdict depends on the significance rule."""
        of = self.args.get("of", "significant" if self.test in ("counts.listed", "counts.above_chance") else "")
        signed = self.test == "compare.opposite" and not self.args.get("same")
        return signed or self.test == "counts.counted" or of.startswith("significant")


def read_claims(file: Path) -> dict[str, Claim]:
    """The claims of a YAML file by id, in its order.

    Raises
    ------
    BadTable
        When the file is no list of claims, a field is missing or unknown, or an id is given twice.
    UnknownName
        When a page, table or test does not exist.
    """
    held = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(held, list) or not all(isinstance(entry, dict) for entry in held):
        raise BadTable("no list of claims", expected="a YAML list of mappings", where=file.name)
    known = {f.name for f in fields(Claim)}
    claims: dict[str, Claim] = {}
    for number, entry in enumerate(held, start=1):
        where = f"{file.name}, claim {number} ({entry.get('id', 'without id')})"
        if extra := sorted(set(entry) - known):
            raise BadTable(
                "a claim has an unknown field", expected=", ".join(sorted(known)), got=", ".join(extra), where=where
            )
        if lacking := sorted(known - {"select", "args", "reading"} - set(entry)):
            raise BadTable("a claim lacks a field", expected=", ".join(lacking), got="not there", where=where)
        if entry["id"] in claims:
            raise BadTable("two claims have one id", expected="an id used once", got=entry["id"], where=where)
        claims[entry["id"]] = Claim(**entry)
    return claims


@lru_cache(maxsize=1)
def claims() -> dict[str, Claim]:
    """Every claim of the book by id, in the order of the papers."""
    return read_claims(project_root() / FILE)
