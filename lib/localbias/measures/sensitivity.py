r"""The sensitivity heuristic ρ: how much a method tells the words of a set apart (WEATHub, section 3.2).

For the vectors of one set, the variance (``ddof=0``) of the cosine distances of all pairs; averaged over
the four sets of a test, then over the tests:

.. math:: \rho = \operatorname{mean}_{t}\ \operatorname{mean}_{S \in \{X, Y, A, B\}}
          \operatorname{Var}_{i<j \in S}\bigl(1 - \cos(v_i, v_j)\bigr)

The paper picks the contextual method with the largest ρ. It says how spread a method's distances are, not
whether they mean anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial.distance import pdist

from localbias.errors import BadValues


def distance_variance(vectors: np.ndarray, where: str = "") -> float:
    """Variance (ddof=0) of the cosine distances of all pairs of a set.

    Parameters
    ----------
    vectors : (n, dim) array
        One row a word, two or more.
    where : str
        What the set is, for messages.

    Returns
    -------
    float
        Dimensionless, at least 0; 0 for two words, which have one distance.

    Raises
    ------
    BadValues
        When there are fewer than two words, or a vector is not finite or all zero.

    Examples
    --------
    Distances 1, 1 and 0:

    >>> round(distance_variance(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])), 4)
    0.2222
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) < 2:
        raise BadValues(
            "no pair of words to take a distance of",
            expected="(n >= 2, dim) vectors",
            got=str(vectors.shape),
            where=where,
        )
    bad = ~np.isfinite(vectors).all(axis=1) | ~vectors.any(axis=1)
    if bad.any():
        raise BadValues(
            "vectors that are NaN, infinite or all zero",
            where=where,
            got="rows " + ", ".join(map(str, np.flatnonzero(bad)[:5])),
        )
    return float(pdist(vectors, "cosine").var())


def sensitivity(sets: Sequence[np.ndarray] | Mapping[str, np.ndarray]) -> float:
    """ρ of one test: the mean of its sets' :func:`distance_variance`.

    Parameters
    ----------
    sets : four (n, dim) arrays, or a mapping of role to array

    Raises
    ------
    BadValues
        As :func:`distance_variance`; the message names the set.
    """
    named = sets if isinstance(sets, Mapping) else dict(zip("XYAB", sets, strict=True))
    return float(np.mean([distance_variance(v, f"set {role}") for role, v in named.items()]))
