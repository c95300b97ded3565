"""One test on arrays: S′, d and the exact p-values together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from localbias.errors import unknown
from localbias.measures.association import effect_size, test_statistic, unit_sets
from localbias.measures.permutation import Bounded, PermutationP, exact_p, smallest_p

ALTERNATIVES = ("greater", "less", "two-sided")


@dataclass(frozen=True)
class WeatResult:
    """What one Word Embedding Association Test gives.

    Attributes
    ----------
    statistic : float
        S′, dimensionless; X nearer to A than Y is: positive.
    effect_size : float
        d; NaN when all associations are the same.
    p_value : float
        Share of the splits at least as extreme as the observed one, under ``alternative``. Never 0.
    p_value_bounds : (float, float)
        Certified bounds of ``p_value``; equal to it when every split was counted.
    p_value_strict : float
        Share of the splits with S′ᵢ > S′, WEATHub's formula, section 3.1 (below S′ for "less").
    p_value_two_sided : float
        Twice the smaller one-sided ``p_value``, at most 1.
    method : {"enumeration", "shift", "constant"}
        How the splits were counted; see :mod:`localbias.measures.permutation`.
    alternative : {"greater", "less", "two-sided"}
    n_x, n_y, n_a, n_b : int
        Words of each set.
    p_min : float
        The smallest two-sided p that these set sizes can give.
    permutation : PermutationP
        All tails with their bounds.
    """

    statistic: float
    effect_size: float
    p_value: float
    p_value_bounds: tuple[float, float]
    p_value_strict: float
    p_value_two_sided: float
    method: str
    alternative: str
    n_x: int
    n_y: int
    n_a: int
    n_b: int
    p_min: float
    permutation: PermutationP = field(repr=False, compare=False)


def weat_test(
    x: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    alternative: str = "greater",
    *,
    words: Mapping[str, Sequence[str]] | None = None,
    where: str = "",
    rtol: float = 0.01,
    atol: float = 1e-9,
) -> WeatResult:
    """Word Embedding Association Test (Caliskan et al. 2017; WEATHub, section 3.1).

    Parameters
    ----------
    x, y, a, b : (n, dim) arrays
        Word vectors of the target sets X, Y and the attribute sets A, B; two or more rows each.
    alternative : {"greater", "less", "two-sided"}
        "greater" asks whether X rather than Y goes with A, as the papers do.
    words : mapping of "X", "Y", "A", "B" to the rows' words, optional
    where : str, optional
        What is tested ("weat1, zh, M5"). Both serve error messages only.
    rtol, atol : float
        How close the bounds of p must be where not every split is counted.

    Returns
    -------
    WeatResult

    Raises
    ------
    BadValues
        When a set has fewer than two words, a vector is not finite or all zero, or dimensions differ.
    UnknownName
        When there is no such alternative.

    Examples
    --------
    >>> east, north = np.array([[1.0, 0.1], [1.0, 0.2]]), np.array([[0.1, 1.0], [0.2, 1.0]])
    >>> r = weat_test(east, north, east, north)
    >>> round(r.effect_size, 3), round(r.p_value, 4), r.p_value_strict, r.method
    (1.728, 0.1667, 0.0, 'enumeration')
    """
    if alternative not in ALTERNATIVES:
        raise unknown("alternative", alternative, ALTERNATIVES)
    x, y, a, b = unit_sets(x, y, a, b, words, where)
    axis = a.mean(axis=0) - b.mean(axis=0)
    s_x, s_y = x @ axis, y @ axis
    p = exact_p(s_x, s_y, rtol=rtol, atol=atol)
    tail, strict = _tails(p, alternative)
    return WeatResult(
        statistic=test_statistic(s_x, s_y),
        effect_size=effect_size(s_x, s_y),
        p_value=tail.value,
        p_value_bounds=(tail.low, tail.high),
        p_value_strict=strict.value,
        p_value_two_sided=p.two_sided.value,
        method=p.method,
        alternative=alternative,
        n_x=len(x),
        n_y=len(y),
        n_a=len(a),
        n_b=len(b),
        p_min=smallest_p(len(x), len(y)),
        permutation=p,
    )


weat_test.__test__ = False  # for pytest: not a test of this library


def _tails(p: PermutationP, alternative: str) -> tuple[Bounded, Bounded]:
    if alternative == "greater":
        return p.at_least, p.above
    if alternative == "less":
        return p.at_most, p.below
    below_or_above = min(p.above, p.below, key=lambda tail: tail.value)
    doubled = Bounded(*(min(1.0, 2 * v) for v in (below_or_above.value, below_or_above.low, below_or_above.high)))
    return p.two_sided, doubled
