"""Where files live and how they are written: whole or not at all.

A file is written beside its place and renamed; so is the folder of a run, whose manifest says what belongs to it:

    data/results/03-cross-lingual-weat/   page.ipynb, its tables (csv, parquet), findings/, manifest.json
    data/results/runs/…, interactive/     runs with other parameters, and what is tried out in JupyterLab

The cache is ``LOCALBIAS_CACHE`` or the platform's user cache; the project root is the folder that
holds ``_config.yml`` (``LOCALBIAS_ROOT`` overrides it).
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pandas as pd
import pooch
from filelock import FileLock

from localbias.errors import BadTable, LocalBiasError, WrongHash

PAGE, MANIFEST = "page.ipynb", "manifest.json"
"""Of a run's folder: the page, and what the page and the tables are, by their sha256."""

_DEAD_AFTER = 7 * 24 * 3600  # seconds; for drafts of other machines, whose processes cannot be asked


def cache_dir(*parts: str) -> Path:
    """A folder of the user's cache, made when missing."""
    base = os.environ.get("LOCALBIAS_CACHE") or pooch.os_cache("localbias")
    folder = Path(base).expanduser().joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def project_root() -> Path:
    """The book's folder: ``LOCALBIAS_ROOT``, or the nearest one above with ``_config.yml``.

    Raises
    ------
    LocalBiasError
        When neither the working folder nor the installed package lies inside a checkout.
    """
    if set_root := os.environ.get("LOCALBIAS_ROOT"):
        return Path(set_root).expanduser().resolve()
    here = Path.cwd()
    for folder in [here, *here.parents, *Path(__file__).resolve().parents]:
        if (folder / "_config.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise LocalBiasError(
        "the book's folder was not found",
        expected="a folder with _config.yml and notebooks/",
        got=f"none at or above {here}",
        todo="run inside the checkout, or set LOCALBIAS_ROOT to it",
    )


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place only when the block succeeds.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> with replacing(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(**_draft_names(path))
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside ``path`` that goes at the end of the block; :func:`make_current` makes it ``path``."""
    draft = Path(tempfile.mkdtemp(**_draft_names(path)))
    try:
        draft.chmod(0o777 & ~_umask())
        yield draft
    finally:
        _remove(draft)


def make_current(draft: Path, path: Path) -> None:
    """Let a finished folder take the place of another by one rename; ``draft`` then holds what stood there."""
    try:
        draft.rename(path)
    except OSError:
        if not path.exists():
            raise
        if not _exchange(draft, path):
            aside = draft.with_name(draft.name.replace(".part", "0.part"))
            shutil.move(path, aside)
            draft.rename(path)
            _remove(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Two names change places at once (Linux, macOS); False where the system cannot do it."""
    system, a, b = ctypes.CDLL(None), os.fsencode(one), os.fsencode(other)
    if hasattr(system, "renameat2"):
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        return system.renameat2(here, a, here, b, exchange) == 0
    return hasattr(system, "renamex_np") and system.renamex_np(a, b, 2) == 0  # RENAME_SWAP


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _draft_names(path: Path) -> dict[str, str]:
    """How drafts are named: by their machine and process, so that those of killed ones are known and swept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent.resolve(), os.getpid())
    return {"dir": str(path.parent), "prefix": f".{path.name}.{_machine()}-{os.getpid()}-", "suffix": ".part"}


def _machine() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


@cache
def _sweep(folder: Path, process: int) -> None:
    """Remove the drafts of killed processes; once a folder and process."""
    for draft in folder.glob(".*.part"):
        named = re.fullmatch(r"\..*\.([0-9a-f]{8})-(\d+)-\w+\.part", draft.name)
        with suppress(FileNotFoundError):
            if named and named[1] == _machine():
                dead = not _alive(int(named[2]))
            else:
                dead = time.time() - draft.stat().st_mtime > _DEAD_AFTER
            if dead:
                _remove(draft)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def write_table(table: pd.DataFrame, stem: str | os.PathLike) -> tuple[Path, Path]:
    """Write ``stem.parquet`` and ``stem.csv`` (UTF-8, full precision); same table, same bytes."""
    stem = Path(stem)
    parquet, csv = stem.with_name(stem.name + ".parquet"), stem.with_name(stem.name + ".csv")
    with replacing(parquet) as draft:
        table.to_parquet(draft, index=False)
    with replacing(csv) as draft:
        write_csv(table, draft)
    return parquet, csv


_NUMBER = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?\s?%?|-+")


def write_csv(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a table as CSV (UTF-8, full precision) in which no cell is a formula: every CSV goes through here."""
    harmless = table.rename(columns=as_text)
    for position, dtype in enumerate(harmless.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            harmless.isetitem(position, harmless.iloc[:, position].map(as_text))
    harmless.to_csv(path, index=False, encoding="utf-8", lineterminator="\n")


def as_text(cell: object) -> object:
    """A cell that a spreadsheet shows and does not run: an apostrophe before a text that begins as formulas do.

    Carriage returns become line feeds: unquoted, they would begin a row.

    >>> as_text("=1+1"), as_text("-2+cmd|x"), as_text("-0.5"), as_text("+5 %"), as_text("rose"), as_text(-1)
    ("'=1+1", "'-2+cmd|x", '-0.5', '+5 %', 'rose', -1)
    """
    if not isinstance(cell, str) or not cell:
        return cell
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{cell}" if cell[0] in "=+-@\t\n＝＋－＠" and not _NUMBER.fullmatch(cell) else cell


# --- the folders of runs ----------------------------------------------------------------------


def results_dir() -> Path:
    """Where a notebook's tables go: ``LOCALBIAS_RESULTS`` (the runner's draft), or a folder that no page reads."""
    return Path(os.environ.get("LOCALBIAS_RESULTS") or book_results() / "interactive")


def book_results(root: Path | None = None) -> Path:
    """``data/results`` of a book; this one by default."""
    return (root or project_root()) / "data" / "results"


@contextmanager
def book_lock(root: Path | None = None) -> Iterator[None]:
    """Nobody else changes the results of a book meanwhile; where nobody can write, nothing is locked."""
    try:
        book_results(root).mkdir(parents=True, exist_ok=True)
        lock = FileLock(book_results(root) / ".lock")
        lock.acquire()
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        lock.release()


def seal(folder: Path, **record: object) -> None:
    """Write the manifest of a run's folder: ``record``, and the sha256 of every file that is in it."""
    held = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p != folder / MANIFEST):
        with open(path, "rb") as file:
            held[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
    record |= {"files": held}
    with replacing(folder / MANIFEST) as draft:
        text = json.dumps(record | {"sha256": digest(record)}, ensure_ascii=False, indent=1, sort_keys=True)
        draft.write_text(text + "\n", encoding="utf-8")


def digest(record: dict) -> str:
    """sha256 of a manifest's other fields, which it states itself."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def sealed(folder: Path) -> dict[str, Path]:
    """The files of a run's folder, by their name in it, when page and tables are those of its manifest.

    Raises
    ------
    BadTable
        When the manifest cannot be read.
    WrongHash
        When a file is missing or another one; the first is named.
    """
    again = f"`localbias run {folder.name}` makes it again"
    try:
        record = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if record.pop("sha256") != digest(record):
            raise ValueError("its content is not that of its own sha256")
        named = dict(record["files"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
        got = f"{type(problem).__name__}: {problem}"
        raise BadTable("the manifest of a run cannot be read", where=str(folder), got=got, todo=again) from None
    # What lies there decides what is read: a manifest cannot name a file outside its folder.
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    for name, stated in ({PAGE: ""} | named).items():
        got = hashlib.sha256(there[name].read_bytes()).hexdigest() if name in there else "no such file"
        if got != stated:
            raise WrongHash(
                "a file is not the one that its run wrote",
                where=f"{folder.name}/{name}",
                expected=f"sha256 {stated}",
                got=got,
                todo=again,
            )
    return {name: there[name] for name in sorted(named)}


def published(root: Path | None = None) -> tuple[dict[str, dict[str, Path]], dict[str, LocalBiasError]]:
    """The pages of a book that are whole, with their files; and what is wrong with the others.

    Call it under :func:`book_lock` where a run could publish meanwhile.
    """
    whole, damaged = {}, {}
    for notebook in sorted((root or project_root()).glob("notebooks/[0-9][0-9]-*.ipynb")):
        folder = book_results(root) / notebook.stem
        try:
            if folder.is_dir():
                whole[notebook.stem] = sealed(folder)
        except LocalBiasError as problem:
            damaged[notebook.stem] = problem
    return whole, damaged


def published_files(root: Path | None = None) -> dict[str, Path]:
    """Every table and finding of the book's whole pages, by its name (``weat-results.csv``, ``findings/….json``)."""
    return {name: path for files in published(root)[0].values() for name, path in files.items() if name != PAGE}
