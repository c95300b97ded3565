r"""What a d is worth: intervals, many tests at once, and what set sizes allow.

**Intervals.** The words of each of the four sets are drawn anew with replacement, independently,
and d is computed of each draw (Efron and Tibshirani 1993). Two intervals: *percentile*, the
quantiles of the draws; *BCa*, quantiles moved for bias and acceleration, the latter from leaving out
each word of each set once (several samples: Efron and Tibshirani, section 14; the formula is the
one of ``scipy.stats.bootstrap``). Two models on the same words are compared by the interval of the
difference of their d, each draw of words serving both. The interval is about other words of the same kind, not about
another model.

**Many tests.** Benjamini–Hochberg q-values (share of false findings among the findings) and Holm's
adjusted p (chance of any false finding), over a stated family, on two-sided p.

**The papers' rule.** WEATHub calls d significant when p < 0.05, or when p > 0.95 and d < 0. Both
tails count, so its level is about twice 0.05: see :func:`paper_rule_level`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, floor

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from localbias.errors import BadValues, unknown
from localbias.measures.association import SPREAD_FLOOR, unit_sets
from localbias.measures.permutation import smallest_p

__all__ = [
    "INTERVALS",
    "adjust",
    "bootstrap_effect_sizes",
    "difference_interval",
    "effect_size_interval",
    "effect_size_intervals",
    "paper_rule",
    "paper_rule_level",
    "smallest_p",
]

INTERVALS = ("bca", "percentile")


def effect_size_interval(
    x: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    level: float = 0.95,
    n_resamples: int = 5000,
    seed: int = 0,
    method: str = "bca",
) -> tuple[float, float]:
    """Bootstrap interval of d over the words of the four sets.

    Parameters
    ----------
    x, y, a, b : (n, dim) arrays
        Word vectors, two or more rows each.
    level : float
        Between 0 and 1. What share of such intervals covers the true d is measured by simulation: see
        the methods page.
    n_resamples, seed : int
        Draws, and their seed: the words of X, Y, A and B are drawn by ``default_rng([seed, 0])`` … ``[seed, 3]``.
    method : {"bca", "percentile"}

    Returns
    -------
    (low, high) : floats
        NaN when all associations are the same.

    Raises
    ------
    BadValues
        When a set or a parameter is unusable.
    UnknownName
        When there is no such method.
    """
    return effect_size_intervals(x, y, a, b, level, n_resamples, seed, (method,))[method]


def effect_size_intervals(
    x: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    level: float = 0.95,
    n_resamples: int = 5000,
    seed: int = 0,
    methods: Sequence[str] = INTERVALS,
) -> dict[str, tuple[float, float]]:
    """Method → interval, all from the same draws; parameters and errors as :func:`effect_size_interval`."""
    _check_interval(level, n_resamples, methods)
    return _intervals([_cosines(x, y, a, b)], level, n_resamples, seed, methods)


def difference_interval(
    one: Sequence[np.ndarray],
    other: Sequence[np.ndarray],
    level: float = 0.95,
    n_resamples: int = 5000,
    seed: int = 0,
    method: str = "bca",
) -> tuple[float, float]:
    """Bootstrap interval of d(other) − d(one): the same words by two models, drawn anew together.

    A word that is drawn for one model is drawn for the other, so what the models share cancels.

    Parameters
    ----------
    one, other : four (n, dim) arrays each
        Vectors of X, Y, A and B by either model; row i of a set is the same word in both.
    level, n_resamples, seed, method
        As in :func:`effect_size_interval`.

    Returns
    -------
    (low, high) : floats
        NaN when either d is undefined.

    Raises
    ------
    BadValues
        Also when the two have not the same number of words.
    """
    _check_interval(level, n_resamples, (method,))
    sides = [_cosines(*one), _cosines(*other)]
    if sides[0].sizes != sides[1].sizes:
        raise BadValues(
            "the models do not have the same words",
            expected="sets of the same sizes",
            got=f"{sides[0].sizes} and {sides[1].sizes}",
        )
    return _intervals(sides, level, n_resamples, seed, (method,))[method]


def _check_interval(level: float, n_resamples: int, methods: Sequence[str]) -> None:
    for method in methods:
        if method not in INTERVALS:
            raise unknown("interval method", method, INTERVALS)
    if not 0 < level < 1 or n_resamples < 1:
        raise BadValues(
            "no interval can be made",
            expected="0 < level < 1 and n_resamples >= 1",
            got=f"level={level}, n_resamples={n_resamples}",
        )


def _intervals(sides: Sequence[_Cosines], level: float, n_resamples: int, seed: int, methods: Sequence[str]):
    """Intervals of the last side's d, less the first's where there are two: one set of draws serves all."""
    draws = _last_less_first([side.draw(n_resamples, seed) for side in sides])
    draws = np.sort(draws[np.isfinite(draws)])  # a draw of one word over and over has no spread
    observed = _last_less_first([side.effect_size() for side in sides])
    if not np.isfinite(observed) or not len(draws):
        return dict.fromkeys(methods, (float("nan"), float("nan")))
    left_out = [_last_less_first(sets) for sets in zip(*(side.left_out() for side in sides), strict=True)]
    plain = np.array([(1 - level) / 2, (1 + level) / 2])
    tails = {m: _bca_tails(plain, draws, observed, left_out) if m == "bca" else plain for m in methods}
    return {m: tuple(float(end) for end in np.quantile(draws, tails[m])) for m in methods}


def _last_less_first(values: Sequence):
    return values[-1] - values[0] if len(values) > 1 else values[0]


def bootstrap_effect_sizes(
    x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, n_resamples: int = 5000, seed: int = 0
) -> np.ndarray:
    """d of ``n_resamples`` draws of words from each of the four sets; NaN where a draw has no spread."""
    return _cosines(x, y, a, b).draw(n_resamples, seed)


def _cosines(x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> _Cosines:
    x, y, a, b = unit_sets(x, y, a, b)
    return _Cosines(np.vstack([x, y]), a, b, len(x))


class _Cosines:
    """Cosines of the target words (X first) to A and to B, from which any re-weighting of words gives d.

    The mean over the target words is taken off every column: it moves all associations of a draw by
    the same amount, which d does not see.
    """

    def __init__(self, targets: np.ndarray, a: np.ndarray, b: np.ndarray, n_x: int):
        self.to_a, self.to_b = (cosines - cosines.mean(axis=0) for cosines in (targets @ a.T, targets @ b.T))
        self.n_x = n_x
        self.sizes = (n_x, len(targets) - n_x, len(a), len(b))

    def weighted(self, w_x: np.ndarray, w_y: np.ndarray, w_a: np.ndarray, w_b: np.ndarray) -> np.ndarray:
        """d of each row of word counts, (rows, words) per set; a set's counts have one sum in all rows."""
        n_x, n_y, n_a, n_b = (w[0].sum() for w in (w_x, w_y, w_a, w_b))
        s = w_a @ (self.to_a.T / n_a)
        s -= w_b @ (self.to_b.T / n_b)
        s_x, s_y = s[:, : self.n_x], s[:, self.n_x :]
        part_x, part_y = w_x * s_x, w_y * s_y
        sum_x, sum_y = part_x.sum(axis=1), part_y.sum(axis=1)
        squares = np.einsum("rn,rn->r", part_x, s_x) + np.einsum("rn,rn->r", part_y, s_y)
        variance = (squares - (sum_x + sum_y) ** 2 / (n_x + n_y)) / (n_x + n_y - 1)
        variance[variance <= SPREAD_FLOOR**2] = np.nan
        return (sum_x / n_x - sum_y / n_y) / np.sqrt(variance)

    def effect_size(self) -> float:
        return float(self.weighted(*(np.ones((1, n)) for n in self.sizes))[0])

    def draw(self, n_resamples: int, seed: int) -> np.ndarray:
        return self.weighted(*(_counts(n, n_resamples, seed, which) for which, n in enumerate(self.sizes)))

    def left_out(self) -> list[np.ndarray]:
        """Per set: d without each of its words."""
        values = []
        for which, size in enumerate(self.sizes):
            weights = [np.ones((size, n)) for n in self.sizes]
            weights[which] = 1.0 - np.eye(size)
            values.append(self.weighted(*weights))
        return values


@lru_cache(maxsize=32)
def _counts(n: int, n_resamples: int, seed: int, which: int) -> np.ndarray:
    """How often each of n words is drawn, (n_resamples, n), read-only; each set has its own stream of a seed.

    Kept, because the tests of a table share seed and set sizes.
    """
    drawn = np.random.default_rng([seed, which]).integers(n, size=(n_resamples, n))
    drawn += np.arange(n_resamples)[:, None] * n
    counts = np.bincount(drawn.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)
    counts.setflags(write=False)
    return counts


def _bca_tails(tails: np.ndarray, draws: np.ndarray, observed: float, left_out: list[np.ndarray]) -> np.ndarray:
    """The quantiles that BCa takes instead of ``tails``; the plain ones where it is undefined."""
    share = ((draws < observed).mean() + (draws <= observed).mean()) / 2
    influences = [(len(v) - 1) * (v.mean() - v) / len(v) for v in left_out]
    cubes = sum((u**3).sum() for u in influences)
    squares = sum((u**2).sum() for u in influences)
    if not 0 < share < 1 or not np.isfinite(cubes) or not squares > 0:
        return tails
    bias, acceleration = ndtri(share), cubes / (6 * squares**1.5)
    z = bias + ndtri(tails)
    return ndtr(bias + z / (1 - acceleration * z))


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
