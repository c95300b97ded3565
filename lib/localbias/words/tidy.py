"""The tidy word table: one row a word; its columns, its rules, and a strict CSV reader.

A person's own list is one CSV in this layout (``data/lexicons/my-list.csv``, or any path)::

    language,test,role,word
    sw,weat1,X,waridi
    sw,weat1,Y,mchwa
    …

``language``, ``test``, ``role`` (X, Y: targets; A, B: attributes) and ``word`` are required;
``variant``, ``category`` and ``position`` may be given, other columns are left aside. Codes and test names
need not be known to the registry. Every error names file, row and column.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from pathlib import Path

import pandas as pd

from localbias.errors import BadTable
from localbias.registry import TESTS

COLUMNS = ("dataset", "language", "variant", "test", "role", "category", "position", "word")
"""Columns of the tidy word table, in order."""
TRACE = ("source", "tab", "row")
"""Columns that say where a word came from: file, tab ("" for none), row (0 for none)."""
KEY = ("dataset", "language", "variant", "test", "role")
ROLES = ("X", "Y", "A", "B")
REQUIRED = ("language", "test", "role", "word")

MAX_BYTES = 20_000_000
MAX_ROWS = 200_000
MAX_COLUMNS = 100
MAX_WORD = 200
SHOWN = 10

LANGUAGE = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
NAME = r"[a-z0-9][a-z0-9_.-]*"
_NUMBER = re.compile(r"[\s\d.,:/%+\-]*\d[\s\d.,:/%+\-]*([eE][+-]?\d+)?|\d{4}-\d\d?-\d\d?[T ][\d:.]*Z?")


def words_schema():
    """The pandera schema of the tidy word table.

    Returns
    -------
    pandera.DataFrameSchema
        Codes and names of the right form, roles X, Y, A, B, words that are words (not blank, not a
        number or a date, no control characters, at most 200 characters), positions 1, 2, … within a set.
    """
    import pandera.pandas as pa

    def form(pattern, what):
        return pa.Check.str_matches(f"^(?:{pattern})$", error=what)

    word = [pa.Check(rule, element_wise=True, error=what) for what, rule in WORD_RULES.items()]
    return pa.DataFrameSchema(
        {
            "dataset": pa.Column(str, pa.Check.str_length(min_value=1)),
            "language": pa.Column(str, form(LANGUAGE, "not a language code such as sw or pt-BR")),
            "variant": pa.Column(str, form(NAME, "not a variant name (lower case, no blanks)")),
            "test": pa.Column(str, form(NAME, "not a test name such as weat1 or my-test (lower case, no blanks)")),
            "role": pa.Column(str, pa.Check.isin(ROLES, error="not a role: X, Y, A or B")),
            "category": pa.Column(str),
            "position": pa.Column(int, pa.Check.ge(1, error="not a position 1, 2, …")),
            "word": pa.Column(str, word),
        },
        unique=[*KEY, "position"],
        strict=False,
    )


def _plain(word: str) -> bool:
    return not any(unicodedata.category(char) == "Cc" for char in word)


WORD_RULES = {
    "blank where a word is expected": lambda word: any(unicodedata.category(char)[0] not in "ZC" for char in word),
    "a number or a date where a word is expected": lambda word: not _NUMBER.fullmatch(word[:MAX_WORD]),
    "a control character or a line break in a word": _plain,
    f"longer than {MAX_WORD} characters": lambda word: len(word) <= MAX_WORD,
}
"""What a word must be: message → rule."""


def word_problem(word: str) -> str:
    """What is wrong with a cell that should hold a word; "" when nothing.

    >>> word_problem("2021-03-04"), word_problem(" "), word_problem("F5")
    ('a number or a date where a word is expected', 'blank where a word is expected', '')
    """
    return next((what for what, rule in WORD_RULES.items() if not rule(word)), "")


def read_words_csv(path: str | Path, dataset: str, default_variant: str = "user") -> pd.DataFrame:
    """Read and check a CSV of words in the tidy layout.

    Parameters
    ----------
    path : path
        UTF-8, separated by commas, semicolons or tabs, with a header.
    dataset : str
        What the column ``dataset`` will say.
    default_variant : str
        For files without a column ``variant``.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`COLUMNS` and :data:`TRACE`; words stripped, in their own
        spelling; positions 1, 2, … by the file's
        positions, else by its order.

    Raises
    ------
    BadTable
        Names the file, the rows and the columns of the first ten faults.
    """
    path = Path(path)
    rows = _rows(path)
    raw = _frame(path, rows)
    table = _normalised(raw, dataset, default_variant)
    _check_cells(path, raw, table)
    table = _ordered(path, table)
    _check_roles(path, table)
    return table


def decoded(path: Path, limit: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file (with or without a byte-order mark); BadTable names the line that is not UTF-8."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise BadTable(
                "the file is too large for a word list",
                where=str(path),
                expected=f"at most {limit:,} bytes",
                got=f"{size:,} bytes (not read)",
                todo="keep only the rows of word lists",
            )
        content = path.read_bytes()
    except OSError as error:
        raise BadTable("the word list cannot be read", where=str(path), got=str(error.strerror)) from error
    if content[:4] == b"PK\x03\x04":
        raise BadTable(
            "a spreadsheet named as a CSV",
            where=str(path),
            got="a zip file",
            todo="name it .xlsx, or save it as CSV (UTF-8)",
        )
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadTable("the word list is not UTF-8", where=str(path), got="UTF-16", todo="save it as CSV (UTF-8)")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadTable(
            "the word list is not UTF-8",
            where=f"{path}, row {line}",
            got=f"byte 0x{content[error.start]:02x}",
            todo="save it as CSV (UTF-8)",
        ) from error


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Non-blank rows with their line numbers; the header first."""
    text = decoded(path)
    header = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[int, list[str]]] = []
    start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((start, cells))
            start = reader.line_num + 1
            if len(rows) > MAX_ROWS + 1:
                raise BadTable(
                    "too many rows for a word list",
                    where=str(path),
                    expected=f"at most {MAX_ROWS:,}",
                    got=f"more, at row {start}",
                )
    except csv.Error as error:
        raise BadTable(
            "the CSV cannot be read", where=f"{path}, row {start}", got=str(error), todo="check the quotes of this row"
        ) from error
    if not rows:
        raise BadTable("the word list is empty", where=str(path), expected=f"a header with {', '.join(REQUIRED)}")
    return rows


def _frame(path: Path, rows: list[tuple[int, list[str]]]) -> pd.DataFrame:
    line, header = rows[0]
    names = [cell.strip().lower() for cell in header]
    lacking = [name for name in REQUIRED if name not in names]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if lacking or twice or len(names) > MAX_COLUMNS:
        raise BadTable(
            "the header of the word list is not right",
            where=f"{path}, row {line}",
            expected=f"columns {', '.join(REQUIRED)} (and, if wanted, variant, category, position), each once",
            got=f"{len(names)} columns: " + ", ".join(names[:SHOWN]) + ("…" if len(names) > SHOWN else ""),
            todo="; ".join([f"add {name}" for name in lacking] + [f"keep one column {name}" for name in twice]),
        )
    if len(rows) == 1:
        raise BadTable("the word list has a header and no words", where=str(path), expected="one row a word")
    for number, cells in rows[1:]:
        if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]) or len(cells) < len(names):
            raise BadTable(
                "a row has another number of columns than the header",
                where=f"{path}, row {number}",
                expected=str(len(names)),
                got=str(len(cells)),
                todo="quote a word that holds the separator",
            )
    frame = pd.DataFrame([cells[: len(names)] for _, cells in rows[1:]], columns=names, dtype=str)
    return frame.assign(row=[number for number, _ in rows[1:]], source=path.name, tab="")


def _normalised(raw: pd.DataFrame, dataset: str, default_variant: str) -> pd.DataFrame:
    def column(name, default):
        return raw[name].str.strip() if name in raw else pd.Series(default, index=raw.index, dtype=str)

    table = pd.DataFrame(
        {
            "dataset": dataset,
            "language": column("language", ""),
            "variant": column("variant", default_variant).replace("", default_variant).str.lower(),
            "test": column("test", "").str.lower(),
            "role": column("role", "").str.upper(),
            "category": column("category", ""),
            "position": column("position", ""),
            "word": column("word", ""),
            "source": raw["source"],
            "tab": raw["tab"],
            "row": raw["row"],
        }
    )
    table["category"] = [
        cell or category_of(test, role)
        for cell, test, role in zip(table["category"], table["test"], table["role"], strict=True)
    ]
    return table


def category_of(test: str, role: str) -> str:
    """The registry's name of a set, or test and role for a test that it does not know.

    >>> category_of("weat1", "X"), category_of("my-test", "A")
    ('flowers', 'my-test A')
    """
    return TESTS[test].sets.get(role, role) if test in TESTS else f"{test} {role}"


def _check_cells(path: Path, raw: pd.DataFrame, table: pd.DataFrame) -> None:
    import pandera.pandas as pa

    given = table["position"] != ""
    whole = table["position"].str.fullmatch(r"0*[1-9][0-9]{0,5}")
    faults = [
        (row, "position", cell, "not a position 1, 2, …")
        for row, cell in table.loc[given & ~whole, ["row", "position"]].itertuples(index=False)
    ]
    schema = words_schema().remove_columns(["position"])
    schema.unique = None
    try:
        schema.validate(table, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases = error.failure_cases
        faults += [
            (int(table.at[index, "row"]), column, case, check)
            for column, check, case, index in cases[["column", "check", "failure_case", "index"]].itertuples(
                index=False
            )
        ]
    if faults:
        raise _faulty(path, faults)


def _faulty(path: Path, faults: list[tuple]) -> BadTable:
    faults = sorted(faults, key=lambda fault: (fault[0], str(fault[1])))
    lines = [f"row {row}, column {column}: {what} ({str(cell)[:60]!r})" for row, column, cell, what in faults]
    more = f" (and {len(lines) - SHOWN} more)" if len(lines) > SHOWN else ""
    return BadTable(
        f"{len(lines)} cells of the word list are not right",
        where=f"{path}, {lines[0].split(':')[0]}",
        got="; ".join(lines[:SHOWN]) + more,
        todo="mend these cells",
    )


def _ordered(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """Rows by set and position; positions become 1, 2, … within each set."""
    key = list(KEY)
    given = table["position"] != ""
    mixed = table.assign(given=given).groupby(key, sort=False)["given"].transform("nunique") > 1
    if mixed.any():
        first = table[mixed & ~given].iloc[0]
        raise BadTable(
            "some words of a set have a position and others none",
            where=f"{path}, row {first['row']}, column position",
            todo="give all of them or none",
        )
    order = pd.to_numeric(table["position"]).astype("float64").fillna(table["row"])
    twice = table.assign(order=order).duplicated([*key, "order"]) & given
    if twice.any():
        first = table[twice].iloc[0]
        raise BadTable(
            "two words of a set have the same position",
            where=f"{path}, row {first['row']}, column position",
            got=str(first["position"]),
        )
    table = table.assign(order=order, role=pd.Categorical(table["role"], ROLES, ordered=True))
    table = table.sort_values(["dataset", "language", "variant", "test", "role", "order"], kind="stable")
    table = table.assign(role=table["role"].astype(str)).reset_index(drop=True)
    table["position"] = table.groupby(key, sort=False).cumcount() + 1
    return table[[*COLUMNS, *TRACE]]


def _check_roles(path: Path, table: pd.DataFrame) -> None:
    for (language, variant, test), group in table.groupby(["language", "variant", "test"], sort=True):
        lacking = [role for role in ROLES if role not in set(group["role"])]
        if lacking:
            raise BadTable(
                f"a test needs four sets: {test} in {language} (variant {variant}) has no {' and no '.join(lacking)}",
                where=f"{path}, row {group['row'].min()}",
                expected="roles X, Y, A and B",
                got=", ".join(sorted(set(group["role"]))),
                todo="add the words of the missing sets",
            )
