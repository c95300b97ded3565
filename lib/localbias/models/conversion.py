"""Converted models in the user's cache: made once, whole or not at all, by one process at a time."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from localbias.errors import LocalBiasError, no_room
from localbias.files import MANIFEST, cache_path, in_cache, put_aside, seal, sealed

FORMAT = 2
"""Raised when a conversion changes, so that folders made by an older one are not taken."""


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
        A folder whose files have the hashes that were written (:func:`localbias.files.sealed`). A damaged
        one is put aside and made anew, with a warning. Two processes never convert the same model at once.
    """
    own = f"{slug(name)}-{digest[:12]}-v{FORMAT}"

    def make(base: Path) -> Path:
        for folder in (cache_path("models") / own, base / own):  # what is there is used, also where no more can be kept
            if _whole(folder):
                return folder
        with FileLock(base / f".{own}.lock"):
            if not _whole(folder):
                _make(folder, write)
        return folder

    try:
        return in_cache(make, "models")
    except Exception as problem:
        if isinstance(problem, LocalBiasError) or not no_room(problem):
            raise
        raise LocalBiasError(
            f"no space left to convert the model {name!r}",
            got=str(problem),
            where=str(getattr(problem, "filename", None) or "the cache, and the folder for temporary files"),
            todo="free some space, or set LOCALBIAS_CACHE to a folder that can be written, on a disk with room",
        ) from problem


def _make(folder: Path, write: Callable[[Path], None]) -> None:
    """Fill a hidden folder beside ``folder`` and rename it; called by the one process that holds the lock."""
    for left_over in folder.parent.glob(f".{folder.name}.*.part"):
        shutil.rmtree(left_over)
    if folder.exists():
        put_aside(folder, ValueError("the converted model is not as it was written"))
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
    try:
        write(draft)
        seal(draft)
        draft.chmod(0o755)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _whole(folder: Path) -> bool:
    """Whether the folder holds the files that were written, unchanged, and no others."""
    try:
        return {*sealed(folder, required=()), MANIFEST} == {path.name for path in folder.iterdir()}
    except LocalBiasError:
        return False
