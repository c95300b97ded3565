r"""Bootstrap intervals of d, and of the difference of two d.

The words of each of the four sets are drawn anew with replacement, independently,
and d is computed of each draw (Efron and Tibshirani 1993). Two intervals: *percentile*, the
quantiles of the draws; *BCa*, quantiles moved for bias and acceleration, the latter from leaving out
each word of each set once (several samples: Efron and Tibshirani, section 14; the formula is the
one of ``scipy.stats.bootstrap``). Two models on the same words are compared by the interval of the
difference of their d, each draw of words serving both. The interval is about other words of the same kind, not about
another model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from localbias.errors import BadValues, unknown
from localbias.measures.association import SPREAD_FLOOR, unit_sets

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
    _check_interval(level, n_resamples, seed, methods)
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
    _check_interval(level, n_resamples, seed, (method,))
    sides = [_cosines(*one), _cosines(*other)]
    if sides[0].sizes != sides[1].sizes:
        raise BadValues(
            "the models do not have the same words",
            expected="sets of the same sizes",
            got=f"{sides[0].sizes} and {sides[1].sizes}",
        )
    return _intervals(sides, level, n_resamples, seed, (method,))[method]


def _check_interval(level: float, n_resamples: int, seed: int, methods: Sequence[str]) -> None:
    for method in methods:
        if method not in INTERVALS:
            raise unknown("interval method", method, INTERVALS)
    if not 0 < level < 1 or n_resamples < 1 or seed < 0:
        raise BadValues(
            "no interval can be made",
            expected="0 < level < 1, n_resamples >= 1 and seed >= 0",
            got=f"level={level}, n_resamples={n_resamples}, seed={seed}",
        )


def _intervals(
    sides: Sequence[_Cosines], level: float, n_resamples: int, seed: int, methods: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Intervals of the last side's d, less the first's where there are two: one set of draws serves all."""
    draws = _last_less_first([side.draw(n_resamples, seed) for side in sides])
    draws = np.sort(draws[np.isfinite(draws)])  # a draw of one word over and over has no spread
    observed = _last_less_first([side.effect_size() for side in sides])
    if not np.isfinite(observed) or not len(draws):
        return dict.fromkeys(methods, (float("nan"), float("nan")))
    left_out = [_last_less_first(sets) for sets in zip(*(side.left_out() for side in sides), strict=True)]
    plain = np.array([(1 - level) / 2, (1 + level) / 2])
    tails = {m: _bca_tails(plain, draws, observed, left_out) if m == "bca" else plain for m in methods}
    ends = {m: np.quantile(draws, tails[m]) for m in methods}
    return {m: (float(low), float(high)) for m, (low, high) in ends.items()}


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
