"""The ledger: which of the papers' claims hold, judged by a few judges over tidy tables."""

from localbias.ledger.assembly import Ledger, build, expected, switched, write_reference
from localbias.ledger.claim import Claim, claims
from localbias.ledger.judges import VERDICTS, Finding
from localbias.ledger.sections import (
    characteristics,
    show_figures,
    show_integrity,
    show_lead,
    show_printed,
    show_switches,
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
    "characteristics",
    "claims",
    "expected",
    "show",
    "show_claims",
    "show_figures",
    "show_integrity",
    "show_lead",
    "show_printed",
    "show_switches",
    "switched",
    "write_reference",
]
