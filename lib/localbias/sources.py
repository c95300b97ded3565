"""Pinned upstream files: looked for in the mirror, then the user's cache, then downloaded.

``data/sources.yml`` names every file with its address at one commit and its SHA-256; nothing else is
read. A file is named here by its source and path, as in ``"weathub/data/zh_all/weat1.json"``, which is
also where it lies in a mirror.

Settings (environment variables):

- ``LOCALBIAS_MIRROR``: a folder that holds the files, looked into first;
- ``LOCALBIAS_OFFLINE=1``: never download;
- ``LOCALBIAS_SOURCES``: another registry instead of ``data/sources.yml`` (addresses of a mirror server,
  say).
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd
import pooch
import requests
import yaml
from tqdm import tqdm

from localbias.errors import BadTable, SourceUnavailable, WrongHash, unknown
from localbias.files import cache_path, in_cache, project_root, replacing, spare_path

CONNECT_SECONDS, READ_SECONDS = 3.0, 20.0
PROBE_SECONDS = 4.0
ATTEMPTS = 3
STALE_SECONDS = 24 * 3600
WORKERS = 8


@dataclass(frozen=True)
class Source:
    """One upstream repository at one commit, and the SHA-256 of every file the book reads from it."""

    name: str
    address: str
    commit: str
    licence: str
    files: dict[str, str]
    repository: str = ""
    paper: str = ""


def registry_file() -> Path:
    """The registry in use: ``LOCALBIAS_SOURCES``, else ``data/sources.yml`` of the book's folder."""
    return Path(os.environ.get("LOCALBIAS_SOURCES") or project_root() / "data" / "sources.yml")


def registry() -> dict[str, Source]:
    """Every source of the registry by its name.

    Raises
    ------
    BadTable
        When the registry cannot be read or a source lacks a field.
    """
    file = registry_file()
    try:
        stamp = file.stat().st_mtime_ns
    except OSError as error:
        raise SourceUnavailable(
            "the registry of sources is missing", where=str(file), todo="run inside the checkout"
        ) from error
    return _read_registry(file, stamp)


@lru_cache(maxsize=4)
def _read_registry(file: Path, stamp: int) -> dict[str, Source]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
        return {
            name: Source(
                name,
                block["address"],
                str(block["commit"]),
                str(block["licence"]),
                {path: str(digest) for path, digest in block["files"].items()},
                block.get("repository", ""),
                block.get("paper", ""),
            )
            for name, block in content.items()
        }
    except (yaml.YAMLError, KeyError, AttributeError, TypeError, UnicodeDecodeError) as error:
        raise BadTable(
            "the registry of sources cannot be read",
            where=str(file),
            got=f"{type(error).__name__}: {error}",
            expected="per source: address, commit, licence, files (path: sha256)",
        ) from error


def paths(prefix: str = "") -> list[str]:
    """Every pinned path that starts with ``prefix``, sorted; asks no network.

    Examples
    --------
    >>> len(paths("weathub/data/zh_new/"))
    7
    """
    every = (f"{source.name}/{path}" for source in registry().values() for path in source.files)
    return sorted(path for path in every if path.startswith(prefix))


def pinned(path: str) -> tuple[str, str]:
    """The address and the SHA-256 of a pinned path.

    Raises
    ------
    UnknownName
        When the registry does not hold the path.
    """
    name, _, inner = path.partition("/")
    source = registry().get(name)
    if source is None or inner not in source.files:
        error = unknown("pinned file", path, paths())
        error.expected = f"one of the {len(paths())} paths of {registry_file()}"
        raise type(error)(error.problem, expected=error.expected, got=error.got, todo=error.todo)
    return source.address + inner, source.files[inner]


def local(path: str) -> Path | None:
    """Where a pinned file lies on this machine (mirror first, then cache), unchecked; None when nowhere."""
    for folder in _folders():
        if (folder / path).is_file():
            return folder / path
    return None


def fetch(path: str, progress: bool = False) -> Path:
    """A pinned file on this machine, its content checked; downloaded into the cache when needed.

    Parameters
    ----------
    path : str
        Source and path, as in ``"weathub/data/zh_all/weat1.json"``.
    progress : bool
        Show a bar while downloading.

    Returns
    -------
    pathlib.Path
        In the mirror, else in the user's cache.

    Raises
    ------
    UnknownName
        When the path is not pinned.
    WrongHash
        When the file found or downloaded is not the pinned one. A wrong file in mirror or cache is
        kept where it is; a wrong download is not kept.
    SourceUnavailable
        When neither mirror, cache nor download has the file.
    """
    address, digest = pinned(path)
    found = local(path)
    if found is not None:
        _check(found, digest, path)
        return found
    _require_network(path, address)

    def download(folder: Path) -> Path:
        _download(path, address, digest, folder / path, progress)
        return folder / path

    return in_cache(download, "sources")


def fetch_all(prefix: str = "", progress: bool = True, workers: int = WORKERS) -> list[Path]:
    """Every pinned file under ``prefix``, downloads in parallel; in the order of :func:`paths`.

    Raises
    ------
    UnknownName
        When no pinned path starts with ``prefix``.
    WrongHash, SourceUnavailable
        As :func:`fetch`, for the first file that fails; files that arrived before stay in the cache.
    """
    wanted = paths(prefix)
    if not wanted:
        raise unknown("prefix of pinned files", prefix, sorted(registry()))
    missing = [path for path in wanted if local(path) is None]
    if missing:
        _require_network(missing[0], pinned(missing[0])[0])
        _fetch_parallel(missing, progress, workers)
    return [fetch(path) for path in wanted]


def available(prefix: str = "") -> bool:
    """Whether every pinned file under ``prefix`` can be had: it is here, or its address answers.

    Cheap: at most one request for a source in a process, within a few seconds; its outcome is
    remembered. Contents are not checked (:func:`fetch` does).
    """
    wanted = paths(prefix)
    missing = [path for path in wanted if local(path) is None]
    sources = {path.partition("/")[0]: path for path in missing}
    return bool(wanted) and all(reachable(pinned(path)[0]) for path in sources.values())


def status(check: bool = False, probe: bool = True) -> pd.DataFrame:
    """What is pinned, where it is, and whether the rest can be had: one row a folder of the sources.

    Parameters
    ----------
    check : bool
        Also compare the SHA-256 of every file that is here (reads all of them).
    probe : bool
        Ask the network whether missing files can be had (once a source).

    Returns
    -------
    pandas.DataFrame
        Columns source, folder, files, in_mirror, in_cache, missing, wrong (−1 when not checked),
        reachable ("not needed", "yes", "no", "not asked"), commit, licence.
    """
    rows = []
    for source in registry().values():
        folders: dict[str, list[str]] = {}
        for inner in source.files:
            folders.setdefault(_group(inner), []).append(f"{source.name}/{inner}")
        rows += [_status_row(source, name, files, check, probe) for name, files in sorted(folders.items())]
    return pd.DataFrame(rows)


def _group(inner: str) -> str:
    return inner.split("/")[0]


def _status_row(source: Source, folder: str, files: list[str], check: bool, probe: bool) -> dict:
    mirror, cache = _mirror(), cache_path("sources")
    in_mirror = [path for path in files if mirror is not None and (mirror / path).is_file()]
    in_cache = [path for path in files if (cache / path).is_file()]
    missing = [path for path in files if local(path) is None]
    wrong = sum(_digest(local(path)) != pinned(path)[1] for path in files if local(path)) if check else -1
    answer = "not needed" if not missing else "not asked"
    if missing and probe:
        answer = "yes" if reachable(pinned(missing[0])[0]) else "no"
    return {
        "source": source.name,
        "folder": folder,
        "files": len(files),
        "in_mirror": len(in_mirror),
        "in_cache": len(in_cache),
        "missing": len(missing),
        "wrong": wrong,
        "reachable": answer,
        "commit": source.commit,
        "licence": source.licence,
    }


def _mirror() -> Path | None:
    folder = os.environ.get("LOCALBIAS_MIRROR")
    return Path(folder).expanduser() if folder else None


def _folders() -> list[Path]:
    mirror = _mirror()
    places = [mirror, cache_path("sources"), spare_path("sources")]
    return [place for place in places if place is not None]


def _digest(file: Path) -> str:
    stat = file.stat()
    return _digest_of(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8192)
def _digest_of(file: Path, stamp: int, size: int) -> str:
    return pooch.file_hash(str(file), alg="sha256")


def _check(file: Path, digest: str, path: str) -> None:
    got = _digest(file)
    if got != digest:
        raise WrongHash(
            f"{path} is not the pinned file",
            where=str(file),
            expected=f"sha256 {digest}",
            got=f"sha256 {got}",
            todo="the file was kept as it is; delete it to have it downloaded, or check who changed it",
        )


def offline(*also: str) -> bool:
    """Whether the network must not be asked: ``LOCALBIAS_OFFLINE``, or a variable named besides, is switched on.

    Any value switches it on ("on", "1", "true", "yes"), but for "", "0", "false", "no" and "off".
    """
    values = [os.environ.get(name, "").strip().lower() for name in ("LOCALBIAS_OFFLINE", *also)]
    return any(value not in ("", "0", "false", "no", "off") for value in values)


_PROBES: dict[str, bool] = {}


def reachable(address: str) -> bool:
    """Whether an address's host answers, asked at most once in a process; False when offline.

    The request runs beside the program and is given up after a few seconds, name look-up included.
    """
    if offline():
        return False
    host = address.split("/")[2]
    if host not in _PROBES:
        answers: list[bool] = []
        asker = threading.Thread(target=lambda: answers.append(_answers(address)), daemon=True)
        asker.start()
        asker.join(PROBE_SECONDS)
        _PROBES[host] = bool(answers and answers[0])
    return _PROBES[host]


def _answers(address: str) -> bool:
    try:
        return requests.head(address, timeout=(CONNECT_SECONDS, CONNECT_SECONDS)).status_code < 400
    except requests.RequestException:
        return False


def _require_network(path: str, address: str) -> None:
    if reachable(address):
        return
    reason = "downloads are switched off (LOCALBIAS_OFFLINE)" if offline() else f"no answer from {address}"
    looked = ", ".join(str(folder) for folder in _folders())
    raise SourceUnavailable(
        f"{path} cannot be had",
        expected=f"the file in {looked}, or at its address",
        got=reason,
        todo="set LOCALBIAS_MIRROR to a folder with the published files, or connect; dataset='starter' needs neither",
    )


def _fetch_parallel(missing: list[str], progress: bool, workers: int) -> None:
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        jobs = [pool.submit(fetch, path) for path in missing]
        try:
            for job in tqdm(as_completed(jobs), total=len(jobs), desc="published files", disable=not progress):
                job.result()
        finally:
            for job in jobs:
                job.cancel()


def _download(path: str, address: str, digest: str, target: Path, progress: bool) -> None:
    _sweep(target)
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=(CONNECT_SECONDS, READ_SECONDS))
    with replacing(target) as draft:
        _try_download(downloader, path, address, draft)
        got = pooch.file_hash(str(draft), alg="sha256")
        if got != digest:
            raise WrongHash(
                f"the download of {path} is not the pinned file",
                where=address,
                expected=f"sha256 {digest}",
                got=f"sha256 {got} ({draft.stat().st_size} bytes)",
                todo="nothing was kept; a proxy or a cut connection may have changed it: try again",
            )


def _try_download(downloader: pooch.HTTPDownloader, path: str, address: str, draft: Path) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return downloader(address, str(draft), None)
        except requests.RequestException as error:
            status_code = getattr(error.response, "status_code", None)
            final = status_code is not None and status_code < 500 and status_code != 429
            if final or attempt == ATTEMPTS:
                raise SourceUnavailable(
                    f"{path} could not be downloaded",
                    where=address,
                    expected="the file",
                    got=f"{type(error).__name__}: {error} (attempt {attempt} of {ATTEMPTS})",
                    todo="nothing was kept; try again, or set LOCALBIAS_MIRROR",
                ) from error
            time.sleep(0.2 * attempt)


def _sweep(target: Path) -> None:
    """Delete drafts that a killed download left beside ``target`` a day ago or more."""
    for draft in target.parent.glob(f".{target.name}.*.part"):
        if time.time() - draft.stat().st_mtime > STALE_SECONDS:
            draft.unlink(missing_ok=True)
