"""Where files live and how they are written: whole or not at all, and read back unchanged or not at all.

A file is written beside its place and renamed; so is the folder of a run, whose manifest says what belongs to it:

    data/results/03-cross-lingual-weat/   page.ipynb, its tables (csv, parquet), findings/, manifest.json
    data/results/runs/…, interactive/     runs with other parameters, and what is tried out in JupyterLab

The cache is ``LOCALBIAS_CACHE`` or the platform's user cache; the project root is the folder that
holds ``_config.yml`` (``LOCALBIAS_ROOT`` overrides it).

What a number rests on carries a sha256 that is compared when it is read. A folder that is made as a whole has a
manifest (:func:`seal`, :func:`sealed`); a file is written with :func:`checked`, which notes its sha256 in
``SHA256SUMS`` beside it (the form of ``sha256sum``), and read with :func:`read_checked` when it is committed (one
that differs is an error) or with :func:`kept` when it is cached (it is put aside, named, and made again).
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import pandas as pd
import pooch
from filelock import FileLock

from localbias.errors import BadTable, LocalBiasError, WrongHash, no_room

PAGE, MANIFEST = "page.ipynb", "manifest.json"
"""Of a run's folder: the page, and what the page and the tables are, by their sha256."""

SUMS = "SHA256SUMS"
T = TypeVar("T")

_DEAD_AFTER = 7 * 24 * 3600  # seconds; for drafts of other machines, whose processes cannot be asked


_SPARE: dict[Path, Path] = {}  # a cache that cannot be written → the folder of this process that stands in for it


def cache_path(*parts: str) -> Path:
    """Where a folder of the user's cache lies, whether it is there or not."""
    base = os.environ.get("LOCALBIAS_CACHE") or pooch.os_cache("localbias")
    return Path(base).expanduser().joinpath(*parts)


def spare_path(*parts: str) -> Path | None:
    """The folder that stands in for one of the cache in this process; None while the cache can be written."""
    return _SPARE[cache_path()].joinpath(*parts) if cache_path() in _SPARE else None


def cache_dir(*parts: str) -> Path:
    """A folder of the user's cache, made when missing; of this process's own where the cache cannot be written."""
    try:
        folder = _SPARE.get(cache_path(), cache_path()).joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        folder = without_cache(problem).joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def in_cache(action: Callable[[Path], T], *parts: str) -> T:
    """What ``action`` makes of a folder of the cache; where that cannot be written, of one of this process's own.

    Vectors, answers, converted models, cells of workbooks and downloads are all kept this way or not at all.
    """
    try:
        return action(cache_dir(*parts))
    except Exception as problem:
        if not no_room(problem) or cache_path() in _SPARE:
            raise
        without_cache(problem)
        return action(cache_dir(*parts))


def without_cache(problem: BaseException) -> Path:
    """Go on without the cache, in a folder that goes with this process; said once."""
    base = cache_path()
    if base not in _SPARE:
        _SPARE[base] = Path(tempfile.mkdtemp(prefix="localbias-"))
        atexit.register(shutil.rmtree, _SPARE[base], ignore_errors=True)
        todo = "set LOCALBIAS_CACHE to a folder that can be written, on a disk with room"
        warnings.warn(f"what is made is not kept: {problem} (the cache is {base}); {todo}", stacklevel=3)
    return _SPARE[base]


def given_path(name: str | os.PathLike) -> Path:
    """The path that a person named: relative to where they stand, also in a notebook that runs in another folder.

    ``localbias run`` passes its own working folder on as ``LOCALBIAS_CWD``.
    """
    return Path(os.environ.get("LOCALBIAS_CWD") or ".", os.path.expanduser(name))


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
    sweep(path.parent.resolve(), os.getpid())
    return {"dir": str(path.parent), "prefix": f".{path.name}.{_machine()}-{os.getpid()}-", "suffix": ".part"}


def _machine() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


@cache
def sweep(folder: Path, process: int) -> None:
    """Remove the drafts that killed processes have left in a folder; done once in a process, which is named."""
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


def file_sha256(path: str | os.PathLike) -> str:
    """sha256 of a file's content, in hexadecimal digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def checked(path: str | os.PathLike) -> Iterator[Path]:
    """As :func:`replacing`, and the new content's sha256 is noted for :func:`read_checked`.

    Killed at any point, it leaves the old file or the new one, and either is read back.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.parent / f".{SUMS}.lock"):
        with replacing(path) as draft:
            yield draft
            new = file_sha256(draft)
            old = _sums(path.parent).get(path.name, set())
            _note(path, {*old, new})
        if old - {new}:
            _note(path, {new})


def read_checked(path: str | os.PathLike, read: Callable[[BinaryIO], T]) -> T:
    """What ``read`` makes of a file, after its content was found to be what was written.

    Raises
    ------
    WrongHash
        When the file is missing, or its sha256 is not the one in ``SHA256SUMS`` beside it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.csv")
    >>> with checked(path) as draft:
    ...     _ = draft.write_text("n\\n1\\n")
    >>> read_checked(path, pd.read_csv)["n"].tolist()
    [1]
    """
    path = Path(path)
    known = _sums(path.parent).get(path.name, set())
    try:
        content = path.read_bytes()
        got = hashlib.sha256(content).hexdigest()
    except OSError as problem:
        content, got = b"", str(problem.strerror)
    if got not in known:
        raise WrongHash(
            f"{path.name} is not as it was written",
            where=str(path),
            expected=" or ".join(f"sha256 {k[:12]}…" for k in known) or f"a line for it in {SUMS}",
            got=f"sha256 {got[:12]}…" if content else got,
            todo="take the file and SHA256SUMS from the repository again, or make it anew",
        )
    return read(BytesIO(content))


def kept(path: str | os.PathLike, read: Callable[[BinaryIO], T]) -> T | None:
    """What ``read`` makes of a cached file; None when it must be made: it is not there, or was damaged.

    A damaged file is put aside as ``NAME.damaged`` and named in a warning.
    """
    path = Path(path)
    if not path.exists():
        return None
    try:
        return read_checked(path, read)
    except WrongHash:
        with FileLock(path.parent / f".{SUMS}.lock"):  # another process may just have written it
            try:
                return read_checked(path, read)
            except WrongHash as damaged:
                put_aside(path, damaged)
                return None


def intact(path: Path) -> bool:
    """Whether a file too large for :func:`kept` is as it was written; one that a person put there gets its line now."""
    if not path.is_file():
        return False
    got, known = file_sha256(path), _sums(path.parent).get(path.name)
    if known is None:
        with FileLock(path.parent / f".{SUMS}.lock"):
            _note(path, {got})
    return known is None or got in known


def put_aside(path: Path, why: Exception) -> None:
    """Move a file or folder that cannot be trusted to ``NAME.damaged``, and say so in a warning."""
    aside = path.with_name(f"{path.name}.damaged")
    if path.is_dir() and aside.exists():
        shutil.rmtree(aside)
    if path.exists():
        path.replace(aside)
    said = str(why).partition("\n")[0]
    warnings.warn(f"damaged: {said}; {path} was put aside as {aside.name} and is made anew", stacklevel=4)


def _sums(folder: Path) -> dict[str, set[str]]:
    """Name → sha256 digests that count as its content; lines that cannot be read are none."""
    try:
        text = (folder / SUMS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    known: dict[str, set[str]] = {}
    for digits, name in re.findall(r"^([0-9a-f]{64})  (.+)$", text, re.M):
        known.setdefault(name, set()).add(digits)
    return known


def _note(path: Path, digests: set[str]) -> None:
    _write_sums(path.parent, _sums(path.parent) | {path.name: digests})


def _write_sums(folder: Path, known: dict[str, set[str]]) -> None:
    lines = [f"{digits}  {name}\n" for name in sorted(known) for digits in sorted(known[name])]
    with replacing(folder / SUMS) as draft:
        draft.write_text("".join(lines), encoding="utf-8")


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
    lock = FileLock(book_results(root) / ".lock")
    with suppress(OSError):
        book_results(root).mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def seal(folder: Path, **record: object) -> None:
    """Write the manifest of a run's folder: ``record``, and the sha256 of every file that is in it."""
    held = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p != folder / MANIFEST):
        held[path.relative_to(folder).as_posix()] = file_sha256(path)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
    record |= {"files": held}
    with replacing(folder / MANIFEST) as draft:
        text = json.dumps(record | {"sha256": digest(record)}, ensure_ascii=False, indent=1, sort_keys=True)
        draft.write_text(text + "\n", encoding="utf-8")


def digest(record: dict) -> str:
    """sha256 of a manifest's other fields, which it states itself."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def sealed(folder: Path, required: tuple[str, ...] = (PAGE,)) -> dict[str, Path]:
    """The files of a run's folder, by their name in it, when page and tables are those of its manifest.

    ``required`` are files that no such folder lacks.

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
    for name, stated in (dict.fromkeys(required, "") | named).items():
        got = file_sha256(there[name]) if name in there else "no such file"
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
