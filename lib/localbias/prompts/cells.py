"""Cells of template files: CSV read strictly, the lists that cells hold, and problems named by cell."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from localbias.errors import BadTable

LARGEST_FILE = 16 * 1024 * 1024
LIST = re.compile(r"\s*(?:\{\{)?([A-Z]+\d+)(?:\}\})?\s*:\s*\[([^\[\]]*)\]\s*")


def read_csv(file: Path, required: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a UTF-8 CSV that are not blank, as (spreadsheet row, column → cell).

    Raises
    ------
    BadTable
        When the file is too large, not UTF-8, not CSV, has no header, lacks a column, has one twice,
        or has a row longer or shorter than the header.
    """
    records = _records(file)
    if not records:
        raise BadTable("the file is empty", where=file.name, expected=f"columns {', '.join(required)}")
    header = [cell.strip() for cell in records[0]]
    missing = [column for column in required if column not in header]
    doubled = sorted({column for column in header if column and header.count(column) > 1})
    if missing or doubled:
        raise BadTable(
            "columns missing" if missing else "columns doubled",
            where=f"{file.name}, row 1",
            expected=", ".join(missing) if missing else "each column once",
            got=", ".join(header)[:300] if missing else ", ".join(doubled),
        )
    rows = []
    for number, record in enumerate(records[1:], start=2):
        if not any(cell.strip() for cell in record):
            continue
        if len(record) != len(header):
            raise BadTable(
                "a row does not fit the header",
                where=f"{file.name}, row {number}",
                expected=f"{len(header)} cells",
                got=f"{len(record)}",
                todo="quote cells that contain commas",
            )
        rows.append((number, dict(zip(header, record, strict=True))))
    return rows


def raise_problems(problems: list[tuple[int, str, str, str]], file: str) -> None:
    """Raise :class:`BadTable` for (row, column, expected, got), the first in full and the others listed."""
    if not problems:
        return
    row, column, expected, got = problems[0]
    others = "; ".join(f"row {r}, {c}: {g}" for r, c, _, g in problems[1:10])
    more = f" and {len(problems) - 10} more" if len(problems) > 10 else ""
    raise BadTable(
        f"{len(problems)} cell{'s' * (len(problems) > 1)} cannot be used",
        where=f"{file}, row {row}, column {column}",
        expected=expected,
        got=got,
        todo="mend the cell" + (f"; also {others}{more}" if others else ""),
    )


def parse_lists(text: str) -> dict[str, tuple[str, ...]]:
    """``WORD1: [a, b]; WORD2: [c]`` as a dictionary; slots may also be written ``{{WORD1}}``.

    Raises
    ------
    ValueError
        When something else stands in the text, a list is empty or a slot has two lists.

    Examples
    --------
    >>> parse_lists("WORD1: [aso, pusa]; {{WORD2}}: [bahay]")
    {'WORD1': ('aso', 'pusa'), 'WORD2': ('bahay',)}
    """
    lists: dict[str, tuple[str, ...]] = {}
    for part in text.split(";"):
        if not part.strip():
            continue
        match = LIST.fullmatch(part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is not a list")
        slot, items = match[1], tuple(item.strip() for item in match[2].split(","))
        if not all(items):
            raise ValueError(f"the list of {slot} has an empty item")
        if "{" in match[2] or "}" in match[2]:
            raise ValueError(f"the list of {slot} has braces in it")
        if slot in lists:
            raise ValueError(f"{slot} has two lists")
        lists[slot] = items
    return lists


def string_list(text: str) -> tuple[str, ...]:
    """A JSON list of strings; ``None`` is an empty one.

    >>> string_list('["bakla", "tomboy"]'), string_list("None")
    (('bakla', 'tomboy'), ())
    """
    if text == "None":
        return ()
    try:
        items = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("not a JSON list") from error
    if not isinstance(items, list) or not all(isinstance(item, str) and item.strip() for item in items):
        raise ValueError("not a list of strings")
    if any("{" in item or "}" in item for item in items):
        raise ValueError("braces in it")
    return tuple(items)


def truth(text: str) -> bool:
    """A cell that says TRUE or FALSE."""
    if text.upper() not in ("TRUE", "FALSE"):
        raise ValueError("neither TRUE nor FALSE")
    return text.upper() == "TRUE"


def _records(file: Path) -> list[list[str]]:
    size = file.stat().st_size
    if size > LARGEST_FILE:
        raise BadTable(
            "the file is too large for templates",
            where=file.name,
            expected=f"at most {LARGEST_FILE} bytes",
            got=f"{size}",
        )
    try:
        with open(file, encoding="utf-8-sig", newline="") as handle:
            return list(csv.reader(handle, strict=True))
    except UnicodeDecodeError as error:
        raise BadTable(
            "the file is not UTF-8",
            where=f"{file.name}, byte {error.start}",
            expected="UTF-8 text",
            got=f"byte 0x{error.object[error.start]:02x}",
            todo="save it as CSV UTF-8",
        ) from error
    except csv.Error as error:
        raise BadTable(
            "the file is not CSV",
            where=file.name,
            expected="comma-separated text",
            got=str(error),
            todo="close quotes; save it as CSV UTF-8",
        ) from error
