"""The order of methods by ρ, and how far languages agree on it (WEATHub, section 3.2 and Table 3).

And how much the two protocols differ: cosines between the vectors that they give to the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from localbias.errors import BadTable
from localbias.models.encoder import Encoder
from localbias.registry import METHODS, ranges
from localbias.studies.weat import tests_of
from localbias.words.lexicon import load_words, resolve_dataset


def ranking(by_language: pd.DataFrame) -> pd.DataFrame:
    """Methods by their mean ρ over languages, largest first.

    Parameters
    ----------
    by_language : DataFrame
        ``language``, ``method``, ``rho`` (one row a pair; ρ is dimensionless).

    Returns
    -------
    pandas.DataFrame
        method, title, rho (mean over languages), mean_rank (1: largest ρ of its language),
        first (languages in which it is), languages.

    Raises
    ------
    BadTable
        When a language has a method twice.
    """
    if by_language.duplicated(["language", "method"]).any():
        raise BadTable("a language has a method twice", expected="one row each language and method")
    table = by_language.dropna(subset=["rho"])
    table = table.assign(rank=table.groupby("language")["rho"].rank(ascending=False))
    by_method = table.groupby("method").agg(
        rho=("rho", "mean"),
        mean_rank=("rank", "mean"),
        first=("rank", lambda r: int((r == 1).sum())),
        languages=("language", "nunique"),
    )
    by_method = by_method.sort_values("rho", ascending=False, kind="stable").reset_index()
    by_method.insert(1, "title", [METHODS[m].title if m in METHODS else m for m in by_method["method"]])
    return by_method


def concordance(by_language: pd.DataFrame) -> float:
    """Kendall's W: do the languages put the methods in one order?

    .. math:: W = \\frac{12 \\sum_i (R_i - \\bar R)^2}{m^2 (n^3 - n)}

    with R the sum of a method's ranks, m languages, n methods; languages that lack a method are left out.

    Returns
    -------
    float
        0 (no agreement) to 1 (one order); NaN with fewer than two languages or methods.

    Examples
    --------
    >>> rows = [(l, m, v) for l in "ab" for m, v in (("M1", 3.0), ("M5", 2.0), ("M7", 1.0))]
    >>> concordance(pd.DataFrame(rows, columns=["language", "method", "rho"]))
    1.0
    """
    wide = by_language.pivot(index="language", columns="method", values="rho").dropna()
    languages, methods = wide.shape
    if languages < 2 or methods < 2:
        return float("nan")
    sums = wide.rank(axis=1).sum()
    return float(12 * ((sums - sums.mean()) ** 2).sum() / (languages**2 * (methods**3 - methods)))


def beside_published(by_language: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Our ranking and the authors', over what both have: each rank is among the same methods of the same languages.

    Parameters
    ----------
    by_language, theirs : DataFrame
        ``language``, ``method``, ``rho``: ours, and the authors' (:func:`localbias.studies.published.rho`).

    Returns
    -------
    pandas.DataFrame
        The columns of :func:`ranking`, then rho_published, mean_rank_published, first_published. A method that only
        one side has keeps its mean ρ there and has no rank.
    """
    ours, theirs = (t[["language", "method", "rho"]].dropna(subset=["rho"]) for t in (by_language, theirs))
    theirs = theirs[theirs["language"].isin(set(ours["language"]))]
    shared = ours.merge(theirs, on=["language", "method"], suffixes=("", "_published"))
    sides = [ranking(shared), ranking(shared.assign(rho=shared["rho_published"]))]
    other = sides[1].set_index("method")[["rho", "mean_rank", "first"]].add_suffix("_published").reset_index()
    both = sides[0].merge(other, on="method")
    for table, column in ((ours, "rho"), (theirs, "rho_published")):
        lone = ranking(table[~table["method"].isin(both["method"])])[["method", "title", "rho"]]
        both = pd.concat([both, lone.rename(columns={"rho": column})], ignore_index=True)
    return both.astype({name: "Int64" for name in ("first", "languages", "first_published")})


def rank_correlation(both: pd.DataFrame) -> dict[str, float]:
    """Spearman's correlation of both mean ranks of :func:`beside_published`: ``n`` methods, ``rho``, two-sided ``p``.

    >>> both = pd.DataFrame({"mean_rank": [1.0, 2, 3, 4, None], "mean_rank_published": [1.0, 3, 2, 4, 5]})
    >>> {name: round(value, 6) for name, value in rank_correlation(both).items()}
    {'n': 4, 'rho': 0.8, 'p': 0.2}
    """
    shared = both.dropna(subset=["mean_rank", "mean_rank_published"])
    found = stats.spearmanr(shared["mean_rank"], shared["mean_rank_published"])
    return {"n": len(shared), "rho": float(found.statistic), "p": float(found.pvalue)}


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
    whose = {"model": ours.model, "revision": ours.revision, "weights": ours.weights, "dataset": dataset}
    whose |= {name: f"{getattr(ours, name)}; {getattr(theirs, name)}" for name in ("protocol", "read_as")}
    rows = []
    for language in languages:
        words = sorted({w for test in tests for w in load_words(test, language, variant, dataset).words})
        one, other = (e.encode(words, methods=methods, language=language) for e in (ours, theirs))
        for method in methods:
            cosines = row_cosines(one[method], other[method])
            rows.append({"language": language, "method": method, **whose, **_summed(cosines)})
    return pd.DataFrame(rows)


def row_cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cosines of corresponding rows, those with a missing vector left out.

    >>> row_cosines(np.array([[1.0, 0], [3, 4], [np.nan, 0]]), np.array([[0.0, 2], [6, 8], [1, 1]])).tolist()
    [0.0, 1.0]
    """
    known = ~(np.isnan(one).any(1) | np.isnan(other).any(1))
    first, second = one[known].astype(float), other[known].astype(float)
    return (first * second).sum(1) / (np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1))


def _summed(cosines: np.ndarray) -> dict[str, float]:
    some = len(cosines) > 0
    return {
        "words": len(cosines),
        "mean_cosine": float(cosines.mean()) if some else np.nan,
        "p10_cosine": float(np.quantile(cosines, 0.1)) if some else np.nan,
        "alike": float((cosines > 0.99).mean()) if some else np.nan,
    }
