"""Small tables with known answers for the ledger's tests."""

import pandas as pd

from localbias.ledger.settings import Settings
from localbias.ledger.tables import prepare

SIGNIFICANT, NOT = 0.01, 0.4


def cells(rows, settings=None, **fixed):
    """A prepared table from (language, d, p) or (language, test, d, p) rows; `fixed` sets other columns."""
    base = {"test": "weat1", "method": "M5", "source": "all", "group": "DistilmBERT", "family": "original", "flags": ""}
    made = []
    for language, *middle, d, p in rows:
        made.append(base | fixed | ({"test": middle[0]} if middle else {}) | {"language": language, "d": d, "p": p})
    return prepare(pd.DataFrame(made), settings or Settings())


def by_method(language, significant, of=9, d=0.5, test="weat1"):
    """Cells of one language: `significant` of `of` methods significant (p as the sign of d has it), the others not."""
    p = SIGNIFICANT if d > 0 else 1 - SIGNIFICANT
    return pd.concat(
        [
            cells([(language, test, d, p if i < significant else (NOT if d > 0 else 1 - NOT))], method=f"M{i + 1}")
            for i in range(of)
        ],
        ignore_index=True,
    )


def two(rows, by="source", left="human", right="gt", **fixed):
    """Two cells a row, told apart by column `by`: (language, d left, d right) or (language, test, d left, d right)."""
    held = []
    for side, place in ((left, -2), (right, -1)):
        held.append(cells([(*r[:-2], r[place], 0.01 if r[place] > 0 else 0.99) for r in rows], **fixed | {by: side}))
    return pd.concat(held, ignore_index=True)
