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

import numpy as np
import pandas as pd
from scipy import optimize, stats

from localbias.errors import BadValues
from localbias.studies.scores import grouped
from localbias.studies.seeds import KEYS
from localbias.studies.variance import bootstrap_intervals, pair_sums, random_for

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


def null_scores(sums: pd.DataFrame, draws: int, rng: np.random.Generator, seeds: int | None = None) -> np.ndarray:
    """Random scores of the unbiased guesser for one group's pairs.

    Parameters
    ----------
    sums : DataFrame with d, m, noise, one row a pair (from pair_sums)
    draws : int
    seeds : int, optional
        Add the sampling noise of a mean over so many runs (normal); None: expectations, no noise.

    Returns
    -------
    (draws,) floats
    """
    total = sums["m"].sum()
    if not total > 0:
        return np.full(draws, np.nan)
    signs = 1 - 2 * rng.integers(0, 2, (draws, len(sums)))
    d = signs @ sums["d"].to_numpy()
    if seeds:
        d = d + rng.normal(0.0, np.sqrt(max(sums["noise"].sum(), 0.0) / seeds), draws)
    return d / total


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


def pair_variance(sums: pd.DataFrame) -> tuple[float, int]:
    """Variance of a pooled score over pairs (linearised ratio), and the number of pairs; NaN for one pair."""
    n, total = len(sums), sums["m"].sum()
    if n < 2 or not total > 0:
        return np.nan, n
    residual = sums["d"] - sums["d"].sum() / total * sums["m"]
    return float(n / (n - 1) * (residual**2).sum() / total**2), n


def shrink(score: np.ndarray, variance: np.ndarray) -> pd.DataFrame:
    """Empirical-Bayes estimates: normal scores around a common mean, each with its own error.

    The spread τ² of the true values is the Paule–Mandel estimate (the value for which the weighted
    sum of squares equals its degrees of freedom; 0 when the scores differ by less than their errors).

    Parameters
    ----------
    score, variance : (n,) floats, the estimates and their squared standard errors

    Returns
    -------
    DataFrame: shrunken, shrunken_sd, weight (how much of the own score stays), and in ``attrs`` mean and tau2

    Examples
    --------
    >>> shrink(np.array([0.0, 1.0]), np.array([1.0, 1.0]))["shrunken"].tolist()
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

    tau2 = 0.0 if excess(0.0) <= 0 else float(optimize.brentq(excess, 0.0, 10 * np.var(score) + variance.max() + 1))
    w = 1 / (variance + tau2)
    mean = (w * score).sum() / w.sum()
    weight = tau2 / (tau2 + variance)
    out = pd.DataFrame(
        {
            "shrunken": mean + weight * (score - mean),
            "shrunken_sd": np.sqrt(weight * variance + (1 - weight) ** 2 / w.sum()),
            "weight": weight,
        }
    )
    out.attrs.update(mean=float(mean), tau2=tau2)
    return out


def bias_profile(
    probabilities: pd.DataFrame,
    condition: str = "ambig",
    *,
    seeds: int | None = None,
    level: float = 0.95,
    alpha: float = 0.05,
    n_resamples: int = 2000,
    seed: int = 0,
    **settings,
) -> pd.DataFrame:
    """Every template's score with all that is needed to believe it or not.

    Parameters
    ----------
    probabilities : DataFrame from answer_probabilities
    condition : "ambig" | "disambig"
    seeds : int, optional
        Null band for means over so many runs; None: for expectations.
    level, alpha : coverage of intervals and band; false discovery rate
    n_resamples, seed : bootstrap resamples and random sign patterns
    **settings
        temperature, top_p, off_option.

    Returns
    -------
    DataFrame, one row a template, largest |score| first
        category, template, pairs, score (pooled expectation), ci_low, ci_high (bootstrap over pairs),
        null_low, null_high (band of the unbiased guesser), p_value (sign flips of pairs, two-sided),
        q_value (Benjamini–Hochberg over the templates), survives (q ≤ alpha), shrunken, shrunken_sd
    """
    mine = probabilities[probabilities["condition"] == condition]
    sums = pair_sums(mine, **settings)
    keys, codes = grouped(sums, "template")
    rows = []
    for k, key in enumerate(keys[["category", "template"]].itertuples(index=False)):
        group = sums[codes == k]
        variance, n = pair_variance(group)
        null = null_scores(group, n_resamples, random_for(seed, "null", *key, condition), seeds)
        low, high = np.quantile(null, [(1 - level) / 2, (1 + level) / 2])
        p = sign_flip_p(group["d"].to_numpy(), n_resamples, random_for(seed, "flip", *key, condition))
        rows.append({"pairs": n, "variance": variance, "null_low": low, "null_high": high, "p_value": p})
    table = pd.concat([keys, pd.DataFrame(rows)], axis=1)
    bars = bootstrap_intervals(mine, levels=["template"], level=level, n_resamples=n_resamples, seed=seed, **settings)
    table = table.merge(bars[[*KEYS, "score", "ci_low", "ci_high"]], on=KEYS)
    table["q_value"] = stats.false_discovery_control(table["p_value"])
    table["survives"] = table["q_value"] <= alpha
    defined = table["score"].notna()
    table = table.join(
        shrink(table.loc[defined, "score"], moderated(table.loc[defined])).set_index(table.index[defined])[
            ["shrunken", "shrunken_sd"]
        ]
    )
    table = table.iloc[np.lexsort((table["template"], table["category"], -table["score"].abs()))]
    return table[
        [
            "category",
            "template",
            "condition",
            "pairs",
            "score",
            "ci_low",
            "ci_high",
            "null_low",
            "null_high",
            "p_value",
            "q_value",
            "survives",
            "shrunken",
            "shrunken_sd",
        ]
    ].reset_index(drop=True)


def moderated(table: pd.DataFrame, prior: int = 4) -> np.ndarray:
    """Variances of scores of few pairs, steadied by the average variance of a pair.

    A variance from n pairs has n − 1 degrees of freedom; the average over all templates (times
    1/pairs) is added with ``prior`` more. A template of one pair gets the average.
    """
    per_pair = table["variance"] * table["pairs"]
    free = (table["pairs"] - 1).to_numpy()
    own = per_pair.fillna(0.0).to_numpy()
    average = (own * free).sum() / free.sum() if free.sum() else float(np.var(table["score"]))
    return (own * free + average * prior) / (free + prior) / table["pairs"].to_numpy()


def largest_by_chance(
    probabilities: pd.DataFrame,
    condition: str = "ambig",
    *,
    ranks: int = 5,
    seeds: int | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    **settings,
) -> pd.DataFrame:
    """The largest scores beside the largest that an unbiased guesser would show.

    Returns
    -------
    DataFrame, one row a rank
        rank, category, template, condition, score (k-th largest), null_median, null_high (median and ``level``
        quantile of the k-th largest of the guesser's scores over all templates), p_rank (share of
        guessers whose k-th largest is at least as large)
    """
    sums = pair_sums(probabilities[probabilities["condition"] == condition], **settings)
    keys, codes = grouped(sums, "template")
    groups = [sums[codes == k] for k in range(len(keys))]
    score = np.array([g["d"].sum() / g["m"].sum() if g["m"].sum() > 0 else np.nan for g in groups])
    null = np.stack(
        [
            null_scores(g, draws, random_for(seed, "rank", *key, condition), seeds)
            for g, key in zip(groups, keys[["category", "template"]].itertuples(index=False), strict=True)
        ]
    )
    null = -np.sort(-np.nan_to_num(null, nan=-np.inf), axis=0)
    order = np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")[:ranks]
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(order) + 1),
            "category": keys["category"].to_numpy()[order],
            "template": keys["template"].to_numpy()[order],
            "condition": condition,
            "score": score[order],
            "null_median": np.median(null[: len(order)], axis=1),
            "null_high": np.quantile(null[: len(order)], level, axis=1),
            "p_rank": [(1 + (null[k] >= score[o]).sum()) / (1 + draws) for k, o in enumerate(order)],
        }
    )
