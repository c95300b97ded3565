r"""Permutation p-values of a WEAT over all splits, without a seed: exact, or between certified bounds.

The null hypothesis is that the words of X and Y are exchangeable. Over all
:math:`\binom{n_x+n_y}{n_x}` splits of X ∪ Y into sets of the sizes of X and Y,

.. math:: p_{\ge} = \frac{\#\{i : S'_i \ge S'\}}{\binom{n_x+n_y}{n_x}}, \qquad
          p_{>} = \frac{\#\{i : S'_i > S'\}}{\binom{n_x+n_y}{n_x}}

The observed split is one of them, so :math:`p_\ge` is never 0. As S′ rises with the sum of s over
the words put in X, it is enough to count the subsets of n_x words whose sum reaches the observed
one. Two ways, chosen by cost, both over the same integers:

* **enumeration**: all subsets of each half of the words, by size, and for each subset of one half
  a look into the sorted sums of the other (Horowitz and Sahni 1974). Every split is counted; equal
  words are counted together. Used when a half has at most ``MAX_HALF`` subsets, that is up to 15
  words a half (155 million splits).
* **shift**: the subset-sum recursion of the shift algorithm (Streitberg and Röhmel 1986) over a
  lattice: ``count[k + 1, sum + q] += count[k, sum]`` word by word, in each half, then one product
  of the halves. The lattice rounds each s, and a subset's rounding errors add up to no less than
  the n_x smallest and no more than the n_x largest; the counts at the two thresholds moved by
  these are certified bounds of p. The lattice is refined until they agree to ``rtol`` relative (1 %) or
  ``atol`` absolute (1e-9), whichever is looser: a p of 1e-7 or more is known to 1 %.

**Ties.** Two sums are the same when they differ by no more than the tie tolerance,
:math:`2^{-30} \approx 10^{-9}` of the range of s (and no less than 1e-14, the rounding error of a sum of
cosine differences). To make this the same in every path, s is first put on integers,
:math:`2^{-40}` of its range each, and only integers are added and compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, isfinite, log

import numpy as np
from scipy.stats import norm

from localbias.measures.association import SPREAD_FLOOR, _checked

RESOLUTION = 2**40
"""Integers that the range of s is divided into."""
TIE = 2**10
"""Tie tolerance in these integers: 2⁻³⁰ of the range of s."""
TIE_FLOOR = 1e-14
"""Tie tolerance in units of s where the range of s is tiny."""
MAX_HALF = 2**15
"""The most subsets of half the words that are enumerated."""
MAX_CELLS = 2**24
"""The most cells (subset size × lattice sum) of one half's table: 128 MiB."""


@dataclass(frozen=True)
class Bounded:
    """A probability with certified bounds: ``low <= value <= high``, and the true one between them."""

    value: float
    low: float
    high: float

    def complement(self) -> Bounded:
        """The bounds of 1 − p."""
        return Bounded(1 - self.value, 1 - self.high, 1 - self.low)


@dataclass(frozen=True)
class PermutationP:
    """p-values of one observed split among all splits: exact when enumerated, else with certified bounds.

    Attributes
    ----------
    at_least, above : Bounded
        Share of the splits with S′ᵢ ≥ S′ and with S′ᵢ > S′.
    n_splits : int
        Number of splits.
    method : {"enumeration", "shift", "constant"}
        How it was counted; "constant" when all s are the same and all splits tie.
    cells : int
        Cells of the larger lattice table; 0 when enumerated.
    converged : bool
        Whether the bounds agree as asked. False only when ``MAX_CELLS`` forbids a finer lattice.
    """

    at_least: Bounded
    above: Bounded
    n_splits: int
    method: str
    cells: int = 0
    converged: bool = True

    @property
    def at_most(self) -> Bounded:
        """Share of the splits with S′ᵢ ≤ S′."""
        return self.above.complement()

    @property
    def below(self) -> Bounded:
        """Share of the splits with S′ᵢ < S′."""
        return self.at_least.complement()

    @property
    def two_sided(self) -> Bounded:
        """Twice the smaller of the two one-sided p-values, at most 1."""
        ends = zip(*((p.value, p.low, p.high) for p in (self.at_least, self.at_most)), strict=True)
        return Bounded(*(min(1.0, 2 * min(end)) for end in ends))


def exact_p(
    association_x: np.ndarray,
    association_y: np.ndarray,
    *,
    rtol: float = 0.01,
    atol: float = 1e-9,
    max_half: int = MAX_HALF,
    max_cells: int = MAX_CELLS,
) -> PermutationP:
    """Permutation p-values of S′, by complete count or with certified bounds.

    Parameters
    ----------
    association_x, association_y : (n_x,), (n_y,) float arrays
        s(w, A, B) of every word of X and of Y, dimensionless.
    rtol, atol : float
        The bounds' difference is at most ``rtol`` times the smaller tail, or ``atol``.
    max_half, max_cells : int
        Largest enumeration and largest table; see ``MAX_HALF`` and ``MAX_CELLS``. ``max_half=0`` forces
        the shift algorithm.

    Returns
    -------
    PermutationP

    Raises
    ------
    BadValues
        When a set is empty or holds a value that is not finite.

    Examples
    --------
    The observed split of 3 + 3 is the most extreme of 20, and no other ties with it:

    >>> p = exact_p(np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.1, 0.05]))
    >>> p.at_least.value, p.above.value, p.two_sided.value, p.n_splits
    (0.05, 0.0, 0.1, 20)
    """
    x, y = _checked(association_x, association_y)
    n_splits = comb(len(x) + len(y), len(x))
    values = np.concatenate([x, y])
    if np.abs(values).max() > np.finfo(float).max / 4:  # their differences would overflow; p knows no scale
        values = values / 4
    if np.ptp(values) <= SPREAD_FLOOR:
        return PermutationP(Bounded(1.0, 1.0, 1.0), Bounded(0.0, 0.0, 0.0), n_splits, "constant")
    whole, tie = _integers(values)
    if len(x) > len(y):  # count the smaller set's subsets; the sum of the rest mirrors theirs
        whole, size, observed = RESOLUTION - whole, len(y), int((RESOLUTION - whole[len(x) :]).sum())
    else:
        size, observed = len(x), int(whole[: len(x)].sum())
    thresholds = (observed - tie, observed + tie + 1)  # sum >= the first: at least; >= the second: above
    halves = _halves(whole)
    if max(_states(half) for half in halves) <= max_half:
        shares = _enumerate(halves, size, thresholds, n_splits)
        at_least, above = (_at_least_one(s, s, s, n_splits, i == 0) for i, s in enumerate(shares))
        return PermutationP(at_least, above, n_splits, "enumeration")
    return _shift(whole, size, thresholds, n_splits, rtol, atol, max_cells)


def smallest_p(n_x: int, n_y: int) -> float:
    """The smallest two-sided p that sets of these sizes can give: two of all splits, at most 1.

    The one-sided smallest is half of it. Equal words make it larger.

    >>> smallest_p(3, 3), round(smallest_p(8, 8), 6)
    (0.1, 0.000155)
    """
    return min(1.0, float(Fraction(2, comb(n_x + n_y, n_x))))


def _integers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Values on integers 0 … RESOLUTION, equal ones made the same, and the tie tolerance of sums."""
    spread = np.ptp(values)
    tie = max(TIE, 16 * len(values), ceil(TIE_FLOOR / spread * RESOLUTION))
    whole = np.rint((values - values.min()) / spread * RESOLUTION).astype(np.int64)
    order = np.argsort(whole, kind="stable")
    nearest = tie // (16 * len(values))
    first = whole[order[0]]
    for i in order:
        if whole[i] - first > nearest:
            first = whole[i]
        whole[i] = first
    return whole, tie


# ---------------------------------------------------------------------------------- enumeration


def _halves(whole: np.ndarray) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The distinct values with their multiplicities, dealt to two halves with about as many subsets each."""
    values, times = np.unique(whole, return_counts=True)
    halves, weight = ([], []), [0.0, 0.0]
    for i in np.argsort(-times, kind="stable"):
        side = int(weight[1] < weight[0])
        halves[side].append((int(values[i]), int(times[i])))
        weight[side] += log(times[i] + 1)
    return halves


def _states(half: list[tuple[int, int]]) -> int:
    product = 1
    for _, times in half:
        product *= times + 1
    return product


@lru_cache(maxsize=128)
def _shape(times: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of all subsets of a half: their order by size, where each size starts, and their multiplicity."""
    sizes, weights = np.zeros(1, dtype=np.int64), np.ones(1)
    for n in times:
        sizes = np.concatenate([sizes + j for j in range(n + 1)])
        weights = np.concatenate([weights * comb(n, j) for j in range(n + 1)])
    order = np.argsort(sizes, kind="stable")
    starts = np.searchsorted(sizes[order], np.arange(sum(times) + 2))
    return order, starts, weights[order]


def _subset_sums(half: list[tuple[int, int]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Per subset size: the sums, sorted, and the number of subsets with each."""
    sums = np.zeros(1, dtype=np.int64)
    for value, n in half:
        sums = np.concatenate([sums + j * value for j in range(n + 1)])
    order, starts, weights = _shape(tuple(n for _, n in half))
    sums = sums[order]
    by_size = []
    for start, stop in zip(starts[:-1], starts[1:], strict=True):
        rank = np.argsort(sums[start:stop])
        by_size.append((sums[start:stop][rank], weights[start:stop][rank]))
    return by_size


def _enumerate(halves, size: int, thresholds, n_splits: int) -> list[float]:
    """Share of the subsets of ``size`` words whose sum reaches each threshold."""
    left, right = (_subset_sums(half) for half in halves)
    counts = [0.0] * len(thresholds)
    for k in range(max(0, size - len(right) + 1), min(size, len(left) - 1) + 1):
        (sums, weights), (others, other_weights) = left[k], right[size - k]
        from_top = np.concatenate([other_weights[::-1].cumsum()[::-1], [0.0]])
        for i, threshold in enumerate(thresholds):
            counts[i] += float(weights @ from_top[np.searchsorted(others, threshold - sums)])
    return [float(Fraction(c) / n_splits) for c in counts]


# ---------------------------------------------------------------------------------------- shift


def _shift(whole, size, thresholds, n_splits, rtol, atol, max_cells) -> PermutationP:
    step, last = _first_step(whole, size, thresholds[0], rtol, atol), None
    while True:
        lattice = _Lattice.of(whole, max(1, step))
        while (cells := lattice.cells(size)) > max_cells:
            lattice = _Lattice.of(whole, ceil(1.02 * lattice.step * cells / max_cells))
        step = lattice.step
        if last and step >= 0.9 * last[0]:
            return last[1]
        p, gap, allowed = _bounded_p(lattice, size, thresholds, n_splits, rtol, atol)
        if gap <= allowed or step == 1:
            return p
        last = (step, p)
        step = int(step * max(0.02, min(0.5, 0.7 * allowed / gap)))


def _first_step(whole, size, threshold, rtol, atol) -> int:
    """The lattice step that the normal approximation of the sums asks for."""
    n = len(whole)
    sd = whole.std(ddof=1) * np.sqrt(size * (n - size) / n)
    z = abs(threshold - size * whole.mean()) / sd
    window = 0.7 * max(rtol * norm.sf(z), atol) / norm.pdf(z) * sd if z < 30 else np.inf
    window = min(window, sd / 4) if isfinite(window) else sd / 4
    return max(1, int(2 * window / size))


@dataclass(frozen=True)
class _Lattice:
    """Whole numbers q with values = centre + step·q + rest."""

    q: np.ndarray
    rest: np.ndarray
    centre: int
    step: int

    @classmethod
    def of(cls, whole: np.ndarray, step: int) -> _Lattice:
        centre = int(np.median(whole))
        q = (whole - centre + step // 2) // step
        return cls(q, whole - centre - step * q, centre, step)

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(np.abs(self.q), kind="stable")  # small steps first: the tables grow late
        return self.q[order[::2]], self.q[order[1::2]]

    def cells(self, size: int) -> int:
        return max((min(len(q), size) + 1) * (int(np.abs(q).sum()) + 1) for q in self.halves())

    def reach(self, size: int, threshold: int) -> tuple[int, int, int]:
        """Lattice sums from which a subset certainly, on average and possibly reaches the threshold."""
        rest = np.sort(self.rest)
        extremes = int(rest[:size].sum()), round(size * float(rest.mean())), int(rest[len(rest) - size :].sum())
        sure, mean, may = (-((size * self.centre + extra - threshold) // self.step) for extra in extremes)
        return sure, mean, may


def _bounded_p(lattice, size, thresholds, n_splits, rtol, atol) -> tuple[PermutationP, float, float]:
    reaches = [lattice.reach(size, threshold) for threshold in thresholds]
    shares, slack = _shares(lattice, size, sorted({r for three in reaches for r in three}), n_splits)
    at_least, above = (
        _at_least_one(shares[mid], shares[sure] * (1 - slack), shares[may] * (1 + slack), n_splits, i == 0)
        for i, (sure, mid, may) in enumerate(reaches)
    )
    gap = max(at_least.high - at_least.low, above.high - above.low)
    allowed = max(rtol * min(at_least.low, 1 - above.high), atol)
    p = PermutationP(at_least, above, n_splits, "shift", lattice.cells(size), gap <= allowed)
    return p, gap, allowed


def _at_least_one(value: float, low: float, high: float, n_splits: int, identity: bool) -> Bounded:
    """Bounds within [0, 1]; the observed split counts for ≥ (``identity``) and never for >."""
    one = float(Fraction(1, n_splits))
    floor, roof = (one, 1.0) if identity else (0.0, 1.0 - one)
    low, high = min(max(low, floor), roof), max(min(high, roof), floor)
    return Bounded(min(max(value, low), high), low, high)


def _table(q: np.ndarray, largest: int) -> tuple[np.ndarray, int]:
    """Subsets of a half by size (rows) and lattice sum (columns from ``-offset``), divided by 2^len(q)."""
    offset = int(-q[q < 0].sum())
    table = np.zeros((min(len(q), largest) + 1, int(np.abs(q).sum()) + 1))
    table[0, offset] = 2.0 ** -len(q)
    low, high = [offset] + [0] * (len(table) - 1), [offset + 1] + [0] * (len(table) - 1)
    for done, step in enumerate(q.tolist()):
        for k in range(min(done, len(table) - 2), -1, -1):
            start, stop = low[k] + step, high[k] + step
            table[k + 1, start:stop] += table[k, low[k] : high[k]]
            fresh = k == done
            low[k + 1] = start if fresh else min(low[k + 1], start)
            high[k + 1] = stop if fresh else max(high[k + 1], stop)
    return table, offset


def _shares(lattice: _Lattice, size: int, thresholds: list[int], n_splits: int) -> tuple[dict[int, float], float]:
    """Share of the subsets whose lattice sum reaches each threshold, and the relative error of the count.

    Counts below 2⁵³ are exact in float64 (they are kept divided by a power of two). Above that, all
    terms are positive, so the relative error is at most the number of additions times 2⁻⁵³.
    """
    q_left, q_right = lattice.halves()
    left, offset = _table(q_left, size)
    right, right_offset = _table(-q_right, size)
    right.cumsum(axis=1, out=right)  # now: subsets with -sum at most ...
    width = right.shape[1]
    total = Fraction(n_splits, 2 ** len(lattice.q))
    shares = {}
    for threshold in thresholds:
        # left sum - threshold >= -right sum; column c of left meets column c + lag of right
        lag = -offset - threshold + right_offset
        start, stop = min(max(0, -lag), left.shape[1]), max(0, min(left.shape[1], width - lag))
        count = 0.0
        for k in range(max(0, size - len(right) + 1), min(size, len(left) - 1) + 1):
            others = right[size - k]
            if start < stop:
                count += float(left[k, start:stop] @ others[start + lag : stop + lag])
            if stop < left.shape[1]:
                count += float(left[k, max(stop, start) :].sum() * others[-1])
        shares[threshold] = float(Fraction(count) / total)
    slack = 0.0 if n_splits <= 2**53 else (left.shape[1] + width + 2 * len(lattice.q)) * 2.0**-53
    return shares, slack
