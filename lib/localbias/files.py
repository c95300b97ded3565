"""Where files live and how they are written: whole or not at all.

The cache is ``LOCALBIAS_CACHE`` or the platform's user cache; the project root is the folder that
holds ``_config.yml`` (``LOCALBIAS_ROOT`` overrides it).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import pandas as pd
import pooch

from localbias.errors import LocalBiasError


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
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False) as handle:
        draft = Path(handle.name)
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o666 & ~umask)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_table(table: pd.DataFrame, stem: str | os.PathLike) -> tuple[Path, Path]:
    """Write ``stem.parquet`` and ``stem.csv`` (UTF-8, full precision); same table, same bytes."""
    stem = Path(stem)
    parquet, csv = stem.with_name(stem.name + ".parquet"), stem.with_name(stem.name + ".csv")
    with replacing(parquet) as draft:
        table.to_parquet(draft, index=False)
    with replacing(csv) as draft:
        table.to_csv(draft, index=False, encoding="utf-8", lineterminator="\n")
    return parquet, csv


def results_dir() -> Path:
    """Where a run's tables go: ``LOCALBIAS_RESULTS`` (a draft, set by the runner) or ``data/results``."""
    return Path(os.environ.get("LOCALBIAS_RESULTS") or project_root() / "data" / "results")
