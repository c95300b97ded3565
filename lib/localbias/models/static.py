"""Static word vectors (M10): fastText ``.bin`` and ``.ftz`` files, and a packaged matrix with its index."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from localbias.errors import ModelUnavailable
from localbias.models import crawl
from localbias.models.loading import ModelInfo


class StaticVectors(Protocol):
    """What gives one vector a word."""

    dim: int

    def vector(self, word: str) -> np.ndarray | None:
        """The word's vector, (dim,) float32; None when it has none."""


class FastText:
    """A fastText model; an unseen word's vector is made of its character n-grams.

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

    def vector(self, word: str) -> np.ndarray | None:
        """The word's vector; None when it is all zeros, which is fastText's way of having none."""
        found = np.asarray(self._model.get_word_vector(word), np.float32)
        return found if found.any() else None


class Matrix:
    """A matrix of vectors with an index of words, memory-mapped.

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
        self.dim = self._matrix.shape[1]

    def vector(self, word: str) -> np.ndarray | None:
        """The vector of the word, or of its lower-case form when only that is listed."""
        row = self._rows.get(word, self._rows.get(word.lower()))
        if row is None:
            return None
        found = np.asarray(self._matrix[row], np.float32)
        return found if found.any() else None


def _rows(table, n: int, index: Path) -> dict[str, int]:
    if len(table.columns) != 1 or len(table) != n:
        raise ModelUnavailable(
            "the index of the word vectors does not fit its matrix",
            expected=f"one column of words, {n} rows",
            got=f"columns {list(table.columns)}, {len(table)} rows",
            where=str(index),
        )
    return {word: row for row, word in enumerate(table.iloc[:, 0])}


def open_static(info: ModelInfo, language: str) -> StaticVectors:
    """The word vectors of a resolved static model (for ``fasttext-cc``, of the language)."""
    if info.form == "vectors":
        return Matrix(*info.files)
    if info.form == "fasttext":
        return FastText(info.files[0])
    if info.form == "fasttext-cc":
        return FastText(crawl.fetch(crawl.language_of(info.name) or language))
    raise ModelUnavailable(f"the model {info.name!r} has no static word vectors", got=info.form)
