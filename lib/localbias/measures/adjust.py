"""Many tests at once, and what WEATHub's rule calls significant.

Benjamini–Hochberg q-values (share of false findings among the findings) and Holm's adjusted p (chance of any
false finding), over a stated family, on two-sided p.

WEATHub calls d significant when p < 0.05, or when p > 0.95 and d < 0. Both tails count, so its level is about
twice 0.05: see :func:`paper_rule_level`.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, floor

import numpy as np
from scipy.stats import false_discovery_control

from localbias.errors import BadValues, unknown


def adjust(p_values: np.ndarray, method: str = "bh") -> np.ndarray:
    """p-values of a family of tests, adjusted for their number.

    Parameters
    ----------
    p_values : (m,) array
        Two-sided p of every test of the family. NaN, a test that was not made, stays NaN and does not count.
    method : {"bh", "holm"}
        Benjamini–Hochberg q-values, or Holm's adjusted p.

    Returns
    -------
    (m,) float array

    Raises
    ------
    UnknownName
        When there is no such method.
    BadValues
        When a p lies outside 0 … 1.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.04, 0.04,  nan])
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    """
    if method not in ("bh", "holm"):
        raise unknown("adjustment", method, ("bh", "holm"))
    p_values = np.asarray(p_values, dtype=np.float64)
    made = np.isfinite(p_values)
    p = p_values[made]
    if p.size and not ((p >= 0) & (p <= 1)).all():
        raise BadValues("p-values outside 0 … 1", got=str(p[(p < 0) | (p > 1)][:5]))
    adjusted = np.full(p_values.shape, np.nan)
    if p.size:
        adjusted[made] = false_discovery_control(p, method="bh") if method == "bh" else _holm(p)
    return adjusted


def _holm(p: np.ndarray) -> np.ndarray:
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def paper_rule(p_value_strict: np.ndarray, effect_size: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """WEATHub's significance: p < alpha, or p > 1 − alpha with d < 0; p by the paper's formula (>).

    >>> paper_rule(np.array([0.01, 0.97, 0.97]), np.array([1.2, -0.8, 0.1])).tolist()
    [True, True, False]
    """
    p, d = np.asarray(p_value_strict, dtype=float), np.asarray(effect_size, dtype=float)
    return (p < alpha) | ((p > 1 - alpha) & (d < 0))


def paper_rule_level(n_x: int, n_y: int, alpha: float = 0.05) -> float:
    """How often WEATHub's rule calls a test significant when there is nothing: its true level.

    Without ties, the paper's p is each of 0/n, 1/n, …, (n − 1)/n with the same chance
    (n splits), and d is negative where p is near 1.

    >>> round(paper_rule_level(8, 8), 4), paper_rule_level(3, 3)
    (0.1, 0.05)
    """
    n, share = comb(n_x + n_y, n_x), Fraction(str(alpha))
    low, high = ceil(share * n), max(0, n - 1 - floor((1 - share) * n))
    return float(Fraction(low + high, n))
