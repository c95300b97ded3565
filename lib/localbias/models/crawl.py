"""fastText's published vectors ``cc.<language>.300.bin`` (Grave et al. 2018), fetched when such a model is used.

The model name ``fasttext-cc`` takes the file of the language being encoded, ``cc.hi.300.bin`` one
language's. A file is about 4.5 GB compressed and 7 GB on disk: its size is announced, the download
shows its progress and goes on where an earlier one stopped, and the file takes its name only when
it is whole (gzip's checksum).
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import zlib
from pathlib import Path

from filelock import FileLock
from tqdm import tqdm

from localbias.errors import ModelUnavailable
from localbias.files import checked, in_cache, intact, put_aside
from localbias.models.hub import offline

ADDRESS = "https://dl.fbaipublicfiles.com/fasttext/vectors-crawl"
"""Where the files are published."""

ANY = "fasttext-cc"
"""The model name that stands for every language's file."""

_UNPACKED = 1.7  # a file's size over its compressed size, about
_CHUNK = 1 << 16  # what a broken connection costs at most


def is_name(name: str) -> bool:
    """Whether a model name stands for these vectors.

    >>> is_name("fasttext-cc"), is_name("cc.hi.300.bin"), is_name("cc.hi.300"), is_name("cc")
    (True, True, True, False)
    """
    return name == ANY or language_of(name) != ""


def language_of(name: str) -> str:
    """The language a name is tied to; "" for ``fasttext-cc``.

    >>> language_of("cc.zh.300.bin")
    'zh'
    """
    match = re.fullmatch(r"cc\.([a-z]{2,3})\.300(\.bin)?", name)
    return match.group(1) if match else ""


def revision(name: str) -> str:
    """What result rows say of these vectors."""
    return f"fastText Common Crawl and Wikipedia, {name} (Grave et al. 2018)"


def fetch(language: str, address: str = ADDRESS, folder: Path | None = None) -> Path:
    """The vectors' file of a language, downloaded when it is not in the cache.

    Parameters
    ----------
    language : str
        fastText's code of the language.
    address : str
        Folder of the files on the web.
    folder : Path, optional
        Where the file is kept; ``fasttext`` in the user's cache by default.

    Raises
    ------
    ModelUnavailable
        When the network is switched off or out of reach, the language has no file, the disk is
        too small, or what was downloaded is damaged.
    """
    return _fetch(language, address, folder) if folder else in_cache(lambda f: _fetch(language, address, f), "fasttext")


def _fetch(language: str, address: str, folder: Path) -> Path:
    target = folder / f"cc.{language}.300.bin"
    if intact(target):
        return target
    packed = folder / f"{target.name}.gz"
    with FileLock(folder / f".{target.name}.lock"):
        if not intact(target):
            if target.is_file():
                put_aside(target, ValueError(f"{target.name} is not as it was written"))
            _download(f"{address}/{packed.name}", packed, language)
            _unpack(packed, target)
            packed.unlink()
    return target


def _download(url: str, packed: Path, language: str) -> None:
    """Fetch ``url`` into ``packed`` by way of a ``.part`` file that a later call continues."""
    import requests

    part = packed.with_name(packed.name + ".part")
    if packed.is_file():
        return
    if offline():
        raise _out_of_reach(url, "the network is switched off (LOCALBIAS_OFFLINE or HF_HUB_OFFLINE)")
    start = part.stat().st_size if part.is_file() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=30) as answer:
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                part.replace(packed)  # it was whole already; unpacking checks it
                return
            answer.raise_for_status()
            start = start if answer.status_code == requests.codes.partial_content else 0
            _receive(answer, part, start, language)
    except requests.HTTPError as problem:
        status = getattr(problem.response, "status_code", None)
        why = f"there is no such file (language {language!r})" if status in (403, 404) else f"answer {status}"
        raise _out_of_reach(url, why) from problem
    except requests.RequestException as problem:
        raise _out_of_reach(url, f"{type(problem).__name__}: {problem}; what was received is kept") from problem
    part.replace(packed)


def _receive(answer, part: Path, start: int, language: str) -> None:
    expected = start + int(answer.headers.get("Content-Length", 0))
    free, needed = shutil.disk_usage(part.parent).free, int(expected * (1 + _UNPACKED)) - start
    if free < needed:
        raise ModelUnavailable(
            f"no space left for the fastText vectors of {language!r}",
            expected=f"{needed / 1e9:.1f} GB free while unpacking",
            got=f"{free / 1e9:.1f} GB",
            where=str(part.parent),
            todo="free some space, or set LOCALBIAS_CACHE to a folder on another disk",
        )
    print(
        f"fetching {part.name.removesuffix('.part')}: {expected / 1e9:.2f} GB, {start / 1e9:.2f} GB of it are here",
        file=sys.stderr,
    )
    with (
        open(part, "ab" if start else "wb") as out,
        tqdm(total=expected or None, initial=start, unit="B", unit_scale=True, leave=False) as bar,
    ):
        for chunk in answer.iter_content(_CHUNK):
            out.write(chunk)
            bar.update(len(chunk))
        if expected and out.tell() != expected:
            raise _out_of_reach(str(answer.url), f"the connection ended after {out.tell()} of {expected} bytes")


def _unpack(packed: Path, target: Path) -> None:
    try:
        with gzip.open(packed, "rb") as stream, checked(target) as draft, open(draft, "wb") as out:
            shutil.copyfileobj(stream, out, _CHUNK)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        packed.unlink()
        raise ModelUnavailable(
            f"the download of {target.name} is damaged: {problem}",
            got="it was removed",
            where=str(packed),
            todo="run again to fetch it anew",
        ) from problem


def _out_of_reach(url: str, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        "the fastText vectors could not be fetched",
        got=why,
        where=url,
        todo="run again to go on with the download, or give the path of a .bin file as the model",
    )
