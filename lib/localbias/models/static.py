"""Static word vectors (M10): files of fastText, word2vec's text and binary form, gensim's KeyedVectors."""

from __future__ import annotations

import gzip
import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from localbias.errors import ModelUnavailable, reading
from localbias.models import crawl
from localbias.models.conversion import converted
from localbias.models.loading import ModelInfo
from localbias.models.packaged import content_hash

NOT_LISTED = "is not in the vocabulary"
FROM_NGRAMS = f"{NOT_LISTED}: made of character n-grams"


class StaticVectors(Protocol):
    """What gives one vector a word."""

    dim: int

    def look_up(self, word: str) -> tuple[np.ndarray | None, str]:
        """The word's vector, (dim,) float32, None when it has none; and why it is not the vocabulary's own, or ""."""
        ...


class FastText:
    """A fastText model; an unseen word's vector is made of its character n-grams.

    Vectors have the length that training gave them: a word's is the mean of the rows of its subwords in the input
    matrix (Bojanowski et al. 2017). The library's ``get_word_vector`` divides by the length, after which an n-gram that
    was hardly trained weighs as much in a phrase as a frequent word.

    Parameters
    ----------
    path : Path
        A ``.bin`` or quantised ``.ftz`` file.

    Raises
    ------
    ModelUnavailable
        When the file is not fastText's or is damaged.
    """

    def __init__(self, path: Path):
        import fasttext

        try:
            self._model = fasttext.load_model(str(path))
        except (ValueError, RuntimeError, MemoryError) as problem:
            raise ModelUnavailable(
                f"the fastText file cannot be read: {problem}",
                where=str(path),
                expected="a whole .bin or .ftz file, and memory for it",
            ) from problem
        self.dim = int(self._model.get_dimension())

    def look_up(self, word: str) -> tuple[np.ndarray | None, str]:
        """As :class:`StaticVectors`; a vector that is all zeros is fastText's way of having none."""
        listed = self._model.get_word_id(word) >= 0
        rows = [self._model.get_input_vector(int(row)) for row in self._model.get_subwords(word)[1]]
        found = np.asarray(np.mean(rows, axis=0, dtype=np.float64) if rows else np.zeros(1), np.float32)
        if not found.any():
            return None, NOT_LISTED
        return found, "" if listed else FROM_NGRAMS


class Matrix:
    """A matrix of vectors with an index of words, memory-mapped.

    Where no listed word has a capital, a word is looked up in lower case.

    Parameters
    ----------
    matrix : Path
        ``.npy``, (n_words, dim).
    index : Path
        Parquet table of one column, the words in the order of the rows.
    """

    def __init__(self, matrix: Path, index: Path):
        import pandas as pd

        self._matrix = np.load(matrix, mmap_mode="r")
        self._rows = _rows(pd.read_parquet(index), len(self._matrix), index)
        self._lower = all(word == word.lower() for word in self._rows)
        self.dim = self._matrix.shape[1]

    def look_up(self, word: str) -> tuple[np.ndarray | None, str]:
        """As :class:`StaticVectors`."""
        row = self._rows.get(word.lower() if self._lower else word)
        found = None if row is None else np.asarray(self._matrix[row], np.float32)
        return (found, "") if found is not None and found.any() else (None, NOT_LISTED)


def _rows(table, n: int, index: Path) -> dict[str, int]:
    if len(table.columns) != 1 or len(table) != n:
        raise ModelUnavailable(
            "the index of the word vectors does not fit its matrix",
            expected=f"one column of words, {n} rows",
            got=f"columns {list(table.columns)}, {len(table)} rows",
            where=str(index),
        )
    rows: dict[str, int] = {}
    for row, word in enumerate(table.iloc[:, 0]):
        rows.setdefault(word, row)
    return rows


def open_static(info: ModelInfo, language: str) -> StaticVectors:
    """The word vectors of a resolved static model (for ``fasttext-cc``, of the language)."""
    with reading(f"the word vectors of {info.name!r}", info.files[0] if info.files else language):
        if info.form == "vectors":
            return Matrix(*info.files)
        if info.form == "fasttext":
            return FastText(info.files[0])
        if info.form == "fasttext-cc":
            return FastText(crawl.fetch(crawl.language_of(info.name) or language))
        if info.form in READERS:
            folder = converted(Path(info.name).name, content_hash(info.files), lambda f: _as_matrix(info, f))
            return Matrix(folder / _MATRIX, folder / _INDEX)
    raise ModelUnavailable(f"the model {info.name!r} has no static word vectors", got=info.form)


# ------------------------------------------------------------------------- other forms → a matrix, once

_MATRIX, _INDEX = "vectors.npy", "words.parquet"
_HEADER = re.compile(rb"(\d+) (\d+)\s*\n")


def _as_matrix(info: ModelInfo, folder: Path) -> None:
    """Write the matrix and the index of a file of word vectors; ModelUnavailable when it is damaged."""
    import pandas as pd

    path = info.files[0]
    try:
        words, vectors = READERS[info.form](path)
        if len(words) != len(vectors) or vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ValueError(f"{len(words)} words, vectors {vectors.shape}, all finite: {np.isfinite(vectors).all()}")
    except (ValueError, EOFError, KeyError, AttributeError, pickle.UnpicklingError) as problem:
        raise ModelUnavailable(
            f"the word vectors cannot be read: {problem}",
            where=str(path),
            expected="a whole file of word vectors: word2vec's text or binary form, or gensim's KeyedVectors",
        ) from problem
    np.save(folder / _MATRIX, vectors)
    pd.DataFrame({"word": words}).to_parquet(folder / _INDEX)


def _read_text(path: Path) -> tuple[list[str], np.ndarray]:
    """``.vec``: a line a word, its numbers behind it; a first line may say how many words and dimensions."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        first = stream.readline()
        stated = _HEADER.fullmatch(first)
        lines = stream if stated else _chained(first, stream)
        dim = int(stated[2]) if stated else len(first.split()) - 1
        words, rows = [], []
        for number, line in enumerate(lines, 2 if stated else 1):
            word, *numbers = line.rstrip().rsplit(b" ", dim)
            if len(numbers) != dim or dim < 1:
                raise ValueError(f"line {number} has not {dim} numbers")
            words.append(word.decode("utf-8", "replace"))
            rows.append(np.array(numbers, np.float32))
    if stated and len(words) != int(stated[1]):
        raise ValueError(f"{len(words)} words; its first line says {int(stated[1])}")
    return words, np.stack(rows)


def _chained(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _read_binary(path: Path) -> tuple[list[str], np.ndarray]:
    """word2vec's ``.bin``: a line with the numbers of words and dimensions, then word, blank, float32s."""
    with open(path, "rb") as stream:
        n, dim = map(int, stream.readline().split())
        words, rows = [], np.empty((n, dim), np.float32)
        for row in range(n):
            words.append(_until_blank(stream).decode("utf-8", "replace"))
            rows[row] = np.frombuffer(stream.read(4 * dim), "<f4")
    return words, rows


def _until_blank(stream: BinaryIO) -> bytes:
    letters = bytearray()
    while (byte := stream.read(1)) != b" ":
        if not byte:
            raise EOFError("the file ends inside a word")
        letters += byte
    return bytes(letters).lstrip(b"\n")


class _Bare:
    """Holds the attributes of a pickled object whose class is not needed."""


class _Unpickler(pickle.Unpickler):
    """Reads gensim's pickles of arrays, lists and dicts; anything that could run code is refused."""

    _ARRAYS = re.compile(r"numpy(\._?core)?(\.multiarray|\.numeric)?")
    _NAMES = ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer")

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("gensim.models.") and name.endswith(("KeyedVectors", "Vocab")):
            return _Bare
        if self._ARRAYS.fullmatch(module) and name in self._NAMES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}, which is not of word vectors")


def _read_gensim(path: Path) -> tuple[Sequence[str], np.ndarray]:
    """gensim's ``KeyedVectors.save``: a pickle, with large arrays as ``.npy`` beside it."""
    with open(path, "rb") as stream:
        held = vars(_Unpickler(stream).load())
    apart = Path(f"{path}.vectors.npy")
    vectors = np.load(apart) if "vectors" in held.get("__numpys", ()) else held.get("vectors")
    if vectors is None:
        raise ValueError("it holds n-grams, no word vectors; write them with save_word2vec_format")
    words = held["index_to_key"] if "index_to_key" in held else held["index2word"]
    return list(words), np.asarray(vectors, np.float32)


READERS = {"word2vec text": _read_text, "word2vec binary": _read_binary, "gensim": _read_gensim}
"""Forms of files that are converted into a matrix once."""
