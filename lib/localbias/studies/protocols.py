"""How much the two protocols differ: cosines between the vectors that they give to the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from localbias.models.encoder import Encoder
from localbias.registry import ranges
from localbias.studies.weat import tests_of
from localbias.words.lexicon import load_words, resolve_dataset

COLUMNS = (
    "language",
    "method",
    "model",
    "revision",
    "weights",
    "dataset",
    "protocol",
    "read_as",
    "words",
    "mean_cosine",
    "p10_cosine",
    "alike",
)


@ranges.checked
def protocol_cosines(
    languages: Iterable[str],
    tests: Iterable[str] | str = "original",
    model: str = "multilingual-e5-small",
    methods: Sequence[str] = ("M1", "M5", "M8"),
    variant: str = "all",
    dataset: str = "auto",
    progress: bool = True,
) -> pd.DataFrame:
    """Cosine between the ``in-context`` and the ``weathub-2023`` vector of every word, summed up.

    Parameters
    ----------
    languages, tests : lists of codes and names
    model, variant, dataset
        As in :func:`localbias.studies.weat.run_weat`.
    methods : sequence of str
        Codes M1 … M9.

    Returns
    -------
    pandas.DataFrame
        One row a language × method: ``words`` (those that both protocols give a vector),
        ``mean_cosine``, ``p10_cosine`` (the tenth percentile) and ``alike`` (share of words with a
        cosine above 0.99), dimensionless.
    """
    dataset = resolve_dataset(dataset)
    tests = tests_of(tests, dataset)
    ours, theirs = (Encoder(model, protocol=p, progress=progress) for p in ("in-context", "weathub-2023"))
    rows = []
    for language in languages:
        words = sorted({w for test in tests for w in load_words(test, language, variant, dataset).words})
        one, other = (e.encode(words, methods=methods, language=language) for e in (ours, theirs))
        for method in methods:
            cosines = row_cosines(one[method], other[method])
            whose = (ours.model, ours.revision, ours.weights, dataset, *_both(ours, theirs))
            rows.append((language, method, *whose, len(cosines), *_summed(cosines)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _both(ours: Encoder, theirs: Encoder) -> tuple[str, str]:
    return f"{ours.protocol}; {theirs.protocol}", f"{ours.read_as}; {theirs.read_as}"


def row_cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cosines of corresponding rows, those with a missing vector left out.

    >>> row_cosines(np.array([[1.0, 0], [3, 4], [np.nan, 0]]), np.array([[0.0, 2], [6, 8], [1, 1]])).tolist()
    [0.0, 1.0]
    """
    known = ~(np.isnan(one).any(1) | np.isnan(other).any(1))
    first, second = one[known].astype(float), other[known].astype(float)
    return (first * second).sum(1) / (np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1))


def _summed(cosines: np.ndarray) -> tuple[float, float, float]:
    if not len(cosines):
        return (float("nan"),) * 3
    return float(cosines.mean()), float(np.quantile(cosines, 0.1)), float((cosines > 0.99).mean())
