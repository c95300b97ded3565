"""The ledger: which of the papers' claims hold, judged by small functions over tidy tables."""

from localbias.ledger.build import Ledger, build, expected, switched, write_reference
from localbias.ledger.claims import Claim, claims
from localbias.ledger.finding import VERDICTS, Finding
from localbias.ledger.settings import RULES, Settings
from localbias.ledger.view import MARKS, MEANINGS, show, show_claims

__all__ = [
    "MARKS", "MEANINGS", "RULES", "VERDICTS", "Claim", "Finding", "Ledger", "Settings", "build", "claims",
    "expected", "show", "show_claims", "switched", "write_reference",
]  # fmt: skip
