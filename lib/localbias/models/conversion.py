"""Converted models in the user's cache: made once, whole or not at all, by one process at a time."""

from __future__ import annotations

import errno
import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from localbias.errors import LocalBiasError
from localbias.files import cache_dir
from localbias.models.packaged import content_hash

FORMAT = 1
"""Raised when a conversion changes, so that folders made by an older one are not taken."""

_MANIFEST = "manifest.json"


def slug(name: str) -> str:
    """A model's name as a file name.

    >>> slug("ai4bharat/indic-bert")
    'ai4bharat--indic-bert'
    """
    return re.sub(r"[^\w.+-]+", "--", name.strip("/")).strip(".-") or "model"


def converted(name: str, digest: str, write: Callable[[Path], None]) -> Path:
    """The folder of a converted model, written by ``write(folder)`` when it is not there yet.

    Parameters
    ----------
    name : str
        The model's name; part of the folder's name.
    digest : str
        sha256 of what is converted; another content makes another folder.
    write : callable
        Fills the empty folder it is given.

    Returns
    -------
    Path
        A folder whose files have the sizes and hashes that were written. A damaged one is
        replaced, with a warning. Two processes never convert the same model at once.
    """
    try:
        base = cache_dir("models")
        folder = base / f"{slug(name)}-{digest[:12]}-v{FORMAT}"
        if not _whole(folder):
            with FileLock(base / f".{folder.name}.lock"):
                if not _whole(folder):
                    _make(folder, write)
        return folder
    except LocalBiasError:
        raise
    except OSError as problem:
        raise _not_written(name, problem) from problem


def _make(folder: Path, write: Callable[[Path], None]) -> None:
    """Fill a hidden folder beside ``folder`` and rename it; called by the one process that holds the lock."""
    for left_over in folder.parent.glob(f".{folder.name}.*.part"):
        shutil.rmtree(left_over)
    if folder.exists():
        warnings.warn(f"the converted model in {folder} is damaged and is made anew", stacklevel=3)
        shutil.rmtree(folder)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
    try:
        write(draft)
        (draft / _MANIFEST).write_text(json.dumps(_describe(draft), indent=1, sort_keys=True), encoding="utf-8")
        draft.chmod(0o755)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _describe(folder: Path) -> dict[str, dict]:
    files = sorted(path for path in folder.iterdir() if path.name != _MANIFEST)
    return {path.name: {"bytes": path.stat().st_size, "sha256": content_hash((path,))} for path in files}


def _whole(folder: Path) -> bool:
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        return False
    try:
        stated = json.loads(manifest.read_text(encoding="utf-8"))
    except ValueError:
        return False
    files = {path.name for path in folder.iterdir()} - {_MANIFEST}
    if files != set(stated) or any((folder / f).stat().st_size != stated[f]["bytes"] for f in files):
        return False
    return _describe(folder) == stated


def _not_written(name: str, problem: OSError) -> LocalBiasError:
    full = problem.errno == errno.ENOSPC
    return LocalBiasError(
        f"no space left to convert the model {name!r}" if full else f"the converted model {name!r} cannot be kept",
        got=str(problem),
        where=str(problem.filename or "the cache"),
        todo="free some space, or set LOCALBIAS_CACHE to a folder that can be written, on a disk with room",
    )
