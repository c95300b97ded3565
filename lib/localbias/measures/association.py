r"""Association s, test statistic S′ and effect size d of a Word Embedding Association Test.

For a word :math:`w`, target sets :math:`X, Y` and attribute sets :math:`A, B`
(Caliskan et al. 2017; WEATHub, section 3.1):

.. math::

    s(w, A, B) = \frac{1}{|A|}\sum_{a \in A}\cos(w, a) - \frac{1}{|B|}\sum_{b \in B}\cos(w, b)

    S'(X, Y, A, B) = \frac{1}{|X|}\sum_{x \in X} s(x, A, B) - \frac{1}{|Y|}\sum_{y \in Y} s(y, A, B)

    d = \frac{S'}{\operatorname{sd}_{w \in X \cup Y} s(w, A, B)}

The means make unequal set sizes comparable; the standard deviation has ``ddof=1`` and nothing is
added to it. Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from localbias.errors import BadValues

SPREAD_FLOOR = 1e-12
"""Less difference between s values than this is rounding: s is a difference of cosines, good to about 1e-15."""

ROLES = ("X", "Y", "A", "B")


def unit_vectors(
    vectors: np.ndarray, role: str = "vectors", words: Sequence[str] | None = None, where: str = "", least: int = 1
) -> np.ndarray:
    """Vectors scaled to length 1, in float64, after checking that cosines can be taken of them.

    Parameters
    ----------
    vectors : (n, dim) array
        One row a word.
    role, where : str
        The set's name ("X"), and what it belongs to ("weat1, zh, M5"); for messages only.
    words : sequence of n str, optional
        The rows' words, for messages only.
    least : int
        The fewest rows that will do.

    Returns
    -------
    (n, dim) float64 array

    Raises
    ------
    BadValues
        When the array is not two-dimensional, has fewer than ``least`` rows or no column, or holds
        a row that is not finite or is all zero. The message names the set and the words.

    Examples
    --------
    >>> unit_vectors(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    place = ", ".join(part for part in (f"set {role}", where) if part)
    vectors = np.asarray(vectors, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise BadValues(
            "vectors are not a table", expected="shape (words, dimensions)", got=str(vectors.shape), where=place
        )
    if len(vectors) < least:
        named = f": {words[0]!r}" if words and len(vectors) == 1 else ""
        raise BadValues(
            "a set has too few words",
            expected=f"{least} or more",
            got=f"{len(vectors)}{named}",
            where=place,
            todo="take a test with more words, or a model that knows them",
        )
    _refuse_rows(np.flatnonzero(~np.isfinite(vectors).all(axis=1)), "vectors that are NaN or infinite", words, place)
    largest = np.abs(vectors).max(axis=1)
    _refuse_rows(np.flatnonzero(~vectors.any(axis=1)), "vectors that are all zero have no direction", words, place)
    vectors = vectors / largest[:, None]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _refuse_rows(rows: np.ndarray, problem: str, words: Sequence[str] | None, place: str) -> None:
    if len(rows):
        named = [f"row {i}" + (f" {words[i]!r}" if words else "") for i in rows[:5]]
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        raise BadValues(
            problem,
            expected="finite vectors, not all zero",
            got=", ".join(named) + more,
            where=place,
            todo="leave these words out, or use a model that has vectors for them",
        )


def unit_sets(
    x: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    words: Mapping[str, Sequence[str]] | None = None,
    where: str = "",
    least: int = 2,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The four sets as unit vectors of one dimension; raises :class:`BadValues` as :func:`unit_vectors` does.

    Each set needs ``least`` words, 2 unless told: one word has no spread and cannot be resampled.
    """
    words = words or {}
    x, y, a, b = (unit_vectors(v, r, words.get(r), where, least) for r, v in zip(ROLES, (x, y, a, b), strict=True))
    _check_dimension({"X": x, "Y": y, "A": a, "B": b}, where)
    return x, y, a, b


def _check_dimension(sets: Mapping[str, np.ndarray], where: str = "") -> None:
    sizes = {role: vectors.shape[1] for role, vectors in sets.items()}
    if len(set(sizes.values())) > 1:
        raise BadValues(
            "the sets' vectors differ in dimension",
            expected=f"one dimension for {', '.join(sizes)}",
            got=", ".join(f"{role}: {size}" for role, size in sizes.items()),
            where=where,
            todo="encode all sets with one model and one method",
        )


def associations(targets: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """s(w, A, B) of every target word.

    Parameters
    ----------
    targets : (n, dim) array
    a : (n_a, dim) array
    b : (n_b, dim) array

    Returns
    -------
    (n,) float64 array
        Mean cosine to A minus mean cosine to B, dimensionless, between −2 and 2.

    Raises
    ------
    BadValues
        As :func:`unit_vectors`.

    Examples
    --------
    >>> associations(np.eye(2), np.array([[2.0, 0.0]]), np.array([[0.0, 5.0]]))
    array([ 1., -1.])
    """
    targets, a, b = (unit_vectors(v, r) for v, r in ((targets, "targets"), (a, "A"), (b, "B")))
    _check_dimension({"targets": targets, "A": a, "B": b})
    return targets @ (a.mean(axis=0) - b.mean(axis=0))


def _checked(association_x: np.ndarray, association_y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = (np.asarray(v, dtype=np.float64) for v in (association_x, association_y))
    for role, values in (("X", x), ("Y", y)):
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise BadValues(
                "associations that no result can be computed from",
                where=f"set {role}",
                expected="finite numbers",
                got=np.array2string(values, threshold=8),
            )
    return x, y


def test_statistic(association_x: np.ndarray, association_y: np.ndarray) -> float:
    """S′: mean association of X minus mean association of Y.

    Parameters
    ----------
    association_x, association_y : (n_x,), (n_y,) float arrays
        s(w, A, B) of every word of X and of Y, dimensionless.

    Raises
    ------
    BadValues
        When a set is empty or holds a value that is not finite.

    Examples
    --------
    >>> round(test_statistic([0.3, 0.1], [0.1, -0.1]), 12)
    0.2
    """
    x, y = _checked(association_x, association_y)
    return float(x.mean() - y.mean())


test_statistic.__test__ = False  # a statistic of the field, not a test for pytest to collect


def effect_size(association_x: np.ndarray, association_y: np.ndarray) -> float:
    """Effect size d of two target sets (Caliskan et al. 2017; WEATHub, section 3.1).

    Parameters
    ----------
    association_x, association_y : (n_x,), (n_y,) float arrays
        s(w, A, B) of every word of X and of Y, dimensionless.

    Returns
    -------
    float
        (mean(x) − mean(y)) / sd(x and y together, ddof=1). NaN when all values are the same, that
        is, differ by no more than ``SPREAD_FLOOR``.

    Raises
    ------
    BadValues
        When a set is empty or holds a value that is not finite.

    Examples
    --------
    >>> effect_size(np.array([0.3, 0.1]), np.array([0.1, -0.1]))
    1.2247...
    """
    x, y = _checked(association_x, association_y)
    together = np.concatenate([x, y])
    if np.ptp(together) <= SPREAD_FLOOR:
        return float("nan")
    return float((x.mean() - y.mean()) / together.std(ddof=1))


def largest_effect_size(n_x: int, n_y: int) -> float:
    r"""The bound of abs(d) that the sizes of the target sets set, whatever the words.

    The squares about the common mean are those between the sets and those within them; with
    :math:`N = n_x + n_y` the former are :math:`S'^2\, n_x n_y / N`, and the latter at least 0, so that

    .. math:: \mathrm{sd}^2 \geq \frac{S'^2\, n_x n_y}{N (N - 1)}, \qquad
              |d| \leq \sqrt{\frac{N (N - 1)}{n_x n_y}},

    which is reached when all words of a set associate alike. For equal sets it is below 2, for 2 and 8 words 2.37;
    it exceeds 2 when :math:`(n_x - n_y)^2 > N`.

    Parameters
    ----------
    n_x, n_y : int
        Words of X and of Y, one or more each.

    Raises
    ------
    BadValues
        When a set has no word.

    Examples
    --------
    >>> round(largest_effect_size(8, 8), 3), round(largest_effect_size(2, 8), 3)
    (1.936, 2.372)
    """
    if min(n_x, n_y) < 1:
        raise BadValues("an empty set has no effect size", expected="1 word or more", got=f"{n_x} and {n_y}")
    n = n_x + n_y
    return float(np.sqrt(n * (n - 1) / (n_x * n_y)))
