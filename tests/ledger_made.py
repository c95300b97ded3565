"""Small tables with known answers for the ledger's tests."""

import pandas as pd

from localbias.ledger.settings import Settings
from localbias.ledger.tables import prepare


def cells(rows, settings=None, **fixed):
    """A prepared table from (language, d, p) or (language, test, d, p) rows; `fixed` sets other columns."""
    made = []
    for row in rows:
        language, *middle, d, p = row
        made.append(
            {
                "language": language,
                "test": middle[0] if middle else "weat1",
                "method": "M5",
                "source": "all",
                "group": "DistilmBERT",
                "family": "original",
                "d": d,
                "p": p,
            }
            | fixed
        )
    return prepare(pd.DataFrame(made), settings or Settings())


def sides(rows, by, left, right, **fixed):
    """A table with two cells a row: (language, d left, d right), told apart by column `by`."""
    out = []
    for i, (language, one, other) in enumerate(rows):
        test = fixed.get("test", f"weat{1 + i % 2}")
        for side, d in ((left, one), (right, other)):
            out.append(
                {
                    "language": language,
                    "test": test,
                    "method": "M5",
                    "source": "all",
                    "group": "DistilmBERT",
                    "family": "original",
                    "d": d,
                    "p": 0.01 if d > 0 else 0.99,
                    by: side,
                }
            )
    return prepare(pd.DataFrame(out), Settings())
