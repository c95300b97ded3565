"""Word vectors on disk: one SQLite file per model × revision × protocol × language.

A row is one unit (word, or text for M7) and method, with a checksum of its own. SQLite's
transactions make it safe against a kill and against several processes; a file or row that is
damaged is noticed, announced and computed anew; a cache that cannot be written is announced and
does without. Only what is missing is ever computed, so a changed word list costs its new words.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from localbias.files import cache_dir, without_cache
from localbias.models.conversion import slug

FORMAT = 3
"""Raised when the same model, revision and protocol would give other vectors than before."""

_WAIT = 60  # seconds for another process's transaction
_CHUNK = 500

_TABLES = """
PRAGMA page_size = 16384;
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    unit TEXT NOT NULL, method TEXT NOT NULL, problem TEXT NOT NULL, vector BLOB, checksum INTEGER NOT NULL,
    PRIMARY KEY (unit, method)
);
"""


@dataclass(frozen=True)
class Entry:
    """A unit's vector by one method: float32, or None when it has none; and what is wrong with it."""

    vector: np.ndarray | None
    problem: str = ""


class VectorCache:
    """The cache file of one model revision, protocol and language.

    Parameters
    ----------
    model, revision, protocol, language : str
        What the vectors depend on besides the word and the method.
    folder : Path, optional
        By default ``vectors`` in the user's cache.
    """

    def __init__(self, model: str, revision: str, protocol: str, language: str, folder: Path | None = None):
        self.key = {
            "model": model,
            "revision": revision,
            "protocol": protocol,
            "language": language,
            "format": str(FORMAT),
        }
        digest = hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:12]
        name = f"{slug(model)}-{protocol}-{slug(language)}-{digest}.sqlite"
        self.path = (folder or cache_dir("vectors")) / name

    def read(self, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Entry]:
        """The entries of those (unit, method) that are there and whole."""
        asked = dict.fromkeys(asked)
        if not asked or not self.path.exists():
            return {}
        units, methods = list(dict.fromkeys(u for u, _ in asked)), list(dict.fromkeys(m for _, m in asked))

        def select(database: sqlite3.Connection) -> list[tuple]:
            rows = []
            for start in range(0, len(units), _CHUNK):
                some = units[start : start + _CHUNK]
                query = (
                    "SELECT unit, method, problem, vector, checksum FROM vectors"
                    f" WHERE unit IN ({_marks(some)}) AND method IN ({_marks(methods)})"
                )
                rows += database.execute(query, [*some, *methods]).fetchall()
            return rows

        found = {}
        for unit, method, problem, vector, checksum in self._try(select) or []:
            if (unit, method) not in asked:
                continue
            if not isinstance(vector, bytes | None) or checksum != _checksum(unit, method, problem, vector):
                warnings.warn(f"{self.path}: damaged entry of {unit!r} ({method}), made anew", stacklevel=2)
                continue
            values = None if vector is None else np.frombuffer(vector, "<f4").astype(np.float32)
            found[unit, method] = Entry(values, problem)
        return found

    def write(self, entries: dict[tuple[str, str], Entry]) -> None:
        """Add entries in one transaction, replacing those of the same unit and method."""
        rows = []
        for (unit, method), entry in entries.items():
            blob = None if entry.vector is None else np.asarray(entry.vector, "<f4").tobytes()
            rows.append((unit, method, entry.problem, blob, _checksum(unit, method, entry.problem, blob)))
        self._try(lambda database: database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows))

    def _try(self, action: Callable[[sqlite3.Connection], Any]) -> Any:
        """Do something with the file in one transaction; None when the file cannot be used.

        A damaged file is removed and the action done again in a new one.
        """
        for _ in range(2):
            try:
                try:
                    with self._open() as database:
                        return action(database)
                except (sqlite3.Error, ValueError, TypeError) as problem:  # a flipped bit is met as any of these
                    if _shut(problem):
                        raise OSError(str(problem)) from problem
                    warnings.warn(f"the vector cache {self.path} is damaged ({problem}) and is made anew", stacklevel=3)
                    self._remove()
            except OSError as problem:
                without_cache(problem)
                return None
        return None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one transaction, to a file that is known to be this key's."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            with database:
                about = dict(database.execute("SELECT key, value FROM about")) if _has_tables(database) else {}
                if about and about != self.key:
                    raise sqlite3.DatabaseError(f"made for {about}")
                if not about:
                    database.executescript(_TABLES)
                    database.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", self.key.items())
                yield database
        finally:
            database.close()

    def _remove(self) -> None:
        with FileLock(f"{self.path}.lock"):
            for suffix in ("", "-journal"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)


_SHUT = ("BUSY", "LOCKED", "PERM", "READONLY", "IOERR", "FULL", "CANTOPEN", "AUTH")


def _shut(problem: Exception) -> bool:
    """Whether a file cannot be used now, though nothing is wrong with what it holds."""
    code = getattr(problem, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in {getattr(sqlite3, f"SQLITE_{name}") for name in _SHUT}


def _has_tables(database: sqlite3.Connection) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE name IN ('about', 'vectors')"
    return database.execute(query).fetchone() == (2,)


def _marks(values: list) -> str:
    return ",".join("?" * len(values))


def _checksum(unit: str, method: str, problem: str, vector: bytes | None) -> int:
    head = "\0".join((unit, method, problem)).encode("utf-8", "surrogatepass")
    return zlib.crc32(b"" if vector is None else vector, zlib.crc32(head))
