"""The ledger: which of the papers' claims hold, judged by small functions over tidy tables."""

from localbias.ledger.assembly import Ledger, build, expected, switched, write_reference
from localbias.ledger.claim import Claim, claims
from localbias.ledger.figures import show_figures
from localbias.ledger.finding import VERDICTS, Finding
from localbias.ledger.sections import (
    show_integrity,
    show_ours_beside,
    show_printed,
    show_summary,
    show_switches,
    show_units,
)
from localbias.ledger.settings import RULES, Settings
from localbias.ledger.view import MARKS, MEANINGS, show, show_claims

__all__ = [
    "MARKS",
    "MEANINGS",
    "RULES",
    "VERDICTS",
    "Claim",
    "Finding",
    "Ledger",
    "Settings",
    "build",
    "claims",
    "expected",
    "show",
    "show_claims",
    "show_figures",
    "show_integrity",
    "show_ours_beside",
    "show_printed",
    "show_summary",
    "show_switches",
    "show_units",
    "switched",
    "write_reference",
]
