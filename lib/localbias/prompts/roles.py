"""What the options of a prompt are: biased, counter-stereotypical, or "unknown"."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
import pandas as pd

from localbias.errors import BadTable

ROLES = ("biased", "counter", "unknown")
"""What an option is, by its code: 0, 1, 2. The code 3 stands for an answer that is no option."""


CONDITIONS = ("ambig", "disambig")


ROLE_COLUMNS = ["role0", "role1", "role2"]


def role_codes(prompts: pd.DataFrame) -> np.ndarray:
    """The roles of every prompt's three options as codes 0 (biased), 1 (counter), 2 (unknown).

    Returns
    -------
    (n, 3) int8 array

    Raises
    ------
    BadTable
        When a prompt does not have each role exactly once, or when the right answer of an
        ambiguous prompt is not its "unknown" option.
    """
    missing = {*ROLE_COLUMNS, "condition", "label"} - set(prompts.columns)
    if missing:
        raise BadTable(
            "the table is not one of prompts",
            expected="columns role0 … role2, condition, label",
            got=f"without {sorted(missing)}",
            todo="make it with generate_prompts or read_bbq",
        )
    check_texts(prompts, [*ROLE_COLUMNS, "condition"])
    known = {role: code for code, role in enumerate(ROLES)}
    codes = np.stack([prompts[c].map(known).fillna(-1).to_numpy(int) for c in ROLE_COLUMNS], axis=1)
    complete = (np.sort(codes, axis=1) == np.arange(3)).all(axis=1)
    label = prompts["label"].map(lambda value: value if isinstance(value, Real) and value in (0, 1, 2) else -1)
    label = label.to_numpy(int)
    inside = label >= 0
    right = np.where(inside, codes[np.arange(len(codes)), np.clip(label, 0, 2)], -1)
    ambiguous = (prompts["condition"] == "ambig").to_numpy()
    named = prompts["condition"].isin(CONDITIONS).to_numpy()
    bad = ~complete | ~inside | ~named | (ambiguous != (right == 2))
    if bad.any():
        row = prompts.iloc[int(np.argmax(bad))]
        raise BadTable(
            "a prompt's options cannot be scored",
            expected="one option each biased, counter and unknown; 'unknown' right exactly in ambiguous contexts",
            got=str({c: row[c] for c in [*ROLE_COLUMNS, "label", "condition"]}),
            where=f"prompt {row.get('prompt_id', row.name)} (and {int(bad.sum()) - 1} more)",
        )
    return codes.astype(np.int8)


def check_texts(table: pd.DataFrame, columns: Sequence[str]) -> None:
    """BadTable where a cell of these columns is no text: a gap, a number, a list."""
    for column in columns:
        wrong = ~table[column].map(lambda cell: isinstance(cell, str)).to_numpy(bool)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise BadTable(
                f"a cell of column {column!r} is no text",
                expected="text in every row",
                got=repr(table[column].iloc[at])[:100],
                where=f"row {at} (and {int(wrong.sum()) - 1} more)",
            )
