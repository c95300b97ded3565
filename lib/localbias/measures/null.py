r"""The winner's curse: what the largest of many noisy scores is worth.

The five largest of 104 scores are large by selection, whatever the model. Three things put them into
proportion:

- the *null band*: an unbiased guesser with the same answer entropy. For every prompt pair the roles
  "biased" and "counter" are exchanged or not at random, which changes no answer probability, only
  which of them count as bias. What scores it gets, template by template and for the largest of all;
- *shrunken* estimates: each score drawn towards the mean as far as its error bar demands;
- the *false discovery rate*: which scores stay when all that were looked at are counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize

from localbias.errors import BadValues

ENUMERATE = 12
"""Up to so many pairs all 2ⁿ sign patterns are taken; beyond, random ones."""


def sign_patterns(n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Sign patterns of n pairs: all of them when n ≤ :data:`ENUMERATE`, else ``draws`` random ones.

    >>> sign_patterns(2, 10, np.random.default_rng(0)).tolist()
    [[1, 1], [-1, 1], [1, -1], [-1, -1]]
    """
    if n <= ENUMERATE:
        return 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    return 1 - 2 * rng.integers(0, 2, (draws, n))


def null_scores(
    d: np.ndarray,
    m: np.ndarray,
    draws: int,
    rng: np.random.Generator,
    noise: np.ndarray | None = None,
    seeds: int | None = None,
) -> np.ndarray:
    """Random scores of the unbiased guesser for one group's pairs.

    Parameters
    ----------
    d, m : (n,) floats
        Every pair's expected numerator and denominator of the score.
    draws : int
    noise : (n,) floats, optional
        Variance of each pair's numerator in one run; with ``seeds``, the sampling noise of a mean over so many
        runs is added (normal). Without, the scores are those of expectations.

    Returns
    -------
    (draws,) floats; NaN when nothing counts
    """
    total = m.sum()
    if not total > 0:
        return np.full(draws, np.nan)
    scores = (1 - 2 * rng.integers(0, 2, (draws, len(d)))) @ d
    if seeds and noise is not None:
        scores = scores + rng.normal(0.0, np.sqrt(max(noise.sum(), 0.0) / seeds), draws)
    return scores / total


def sign_flip_p(d: np.ndarray, draws: int, rng: np.random.Generator) -> float:
    """Two-sided p that exchanging roles at random gives a sum at least as large: exact for few pairs.

    Random patterns give (1 + count)/(1 + draws), so p is never 0.

    >>> sign_flip_p(np.array([1.0, 1.0, 1.0]), 10, np.random.default_rng(0))
    0.25
    """
    patterns = sign_patterns(len(d), draws, rng)
    hits = int((np.abs(patterns @ d) >= abs(d.sum()) - 1e-12 * max(1.0, np.abs(d).sum())).sum())
    exact = len(d) <= ENUMERATE
    return hits / len(patterns) if exact else (1 + hits) / (1 + len(patterns))


def attainable_level(pairs: int, alpha: float = 0.05, draws: int = 2000) -> float:
    """How often an unbiased guesser has p ≤ alpha by :func:`sign_flip_p`: the largest p it can have up to alpha.

    The 2ⁿ sums of n pairs come in couples of opposite sign, each of a size of its own (ties apart), so p is
    a multiple of 2/2ⁿ; beyond :data:`ENUMERATE` pairs a multiple of 1/(1 + draws). 0: no score is large enough.

    >>> [attainable_level(n) for n in (1, 4, 6)]
    [0.0, 0.0, 0.03125]
    """
    step = 2.0 / 2**pairs if pairs <= ENUMERATE else 1 / (1 + draws)
    return float(np.floor(alpha / step + 1e-9) * step)


def pair_variance(d: np.ndarray, m: np.ndarray) -> float:
    """Variance of the pooled score Σd/Σm over pairs (linearised ratio); NaN for one pair."""
    n, total = len(d), m.sum()
    if n < 2 or not total > 0:
        return np.nan
    residual = d - d.sum() / total * m
    return float(n / (n - 1) * (residual**2).sum() / total**2)


class Shrunken(NamedTuple):
    """Estimates drawn towards their mean: ``estimate``, ``sd`` and ``weight`` (how much of the own score stays) are
    (n,) floats; ``mean`` and ``tau2`` are the common mean and the spread of the true values."""

    estimate: np.ndarray
    sd: np.ndarray
    weight: np.ndarray
    mean: float
    tau2: float


def shrink(score: np.ndarray, variance: np.ndarray) -> Shrunken:
    """Empirical-Bayes estimates: normal scores around a common mean, each with its own error.

    The spread τ² of the true values is the Paule–Mandel estimate (the value for which the weighted
    sum of squares equals its degrees of freedom; 0 when the scores differ by less than their errors).

    Parameters
    ----------
    score, variance : (n,) floats, the estimates and their squared standard errors

    Returns
    -------
    Shrunken

    Examples
    --------
    >>> shrink(np.array([0.0, 1.0]), np.array([1.0, 1.0])).estimate.tolist()
    [0.5, 0.5]
    """
    score, variance = np.asarray(score, float), np.asarray(variance, float)
    usable = len(score) == len(variance) > 0 and np.isfinite(score).all() and np.isfinite(variance).all()
    if not usable or (variance < 0).any():
        raise BadValues(
            "estimates to shrink need a finite score and a non-negative variance each",
            got=f"{len(score)} scores, {len(variance)} variances",
        )
    variance = np.maximum(variance, 1e-12)

    def excess(tau2):
        w = 1 / (variance + tau2)
        mean = (w * score).sum() / w.sum()
        return (w * (score - mean) ** 2).sum() - (len(score) - 1)

    largest = 10 * np.var(score) + variance.max() + 1
    tau2 = 0.0 if excess(0.0) <= 0 else optimize.root_scalar(excess, bracket=(0.0, largest), method="brentq").root
    w = 1 / (variance + tau2)
    mean = (w * score).sum() / w.sum()
    weight = tau2 / (tau2 + variance)
    sd = np.sqrt(weight * variance + (1 - weight) ** 2 / w.sum())
    return Shrunken(mean + weight * (score - mean), sd, weight, float(mean), tau2)


def moderated(variance: np.ndarray, pairs: np.ndarray, score: np.ndarray, prior: int = 4) -> np.ndarray:
    """Variances of scores of few pairs, steadied by the average variance of a pair.

    A variance from n pairs has n − 1 degrees of freedom; the average over all templates (times
    1/pairs) is added with ``prior`` more. A template of one pair (variance NaN) gets the average.

    Parameters
    ----------
    variance, pairs, score : (n,) arrays, one entry a template

    Returns
    -------
    (n,) floats
    """
    own, free = np.nan_to_num(variance * pairs), pairs - 1
    average = (own * free).sum() / free.sum() if free.sum() else float(np.var(score))
    return (own * free + average * prior) / (free + prior) / pairs
