"""The bias profile: every template's score and how far to believe it (:mod:`localbias.measures.null`)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from localbias.measures.null import moderated, null_scores, pair_variance, shrink, sign_flip_p
from localbias.registry import ranges
from localbias.studies.scores import grouped
from localbias.studies.seeds import KEYS
from localbias.studies.variance import bootstrap_intervals, pair_sums, random_for


@ranges.checked(n_resamples=ranges.ANSWERS["n_resamples"])
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
        d, m, noise = (group[name].to_numpy() for name in ("d", "m", "noise"))
        null = null_scores(d, m, n_resamples, random_for(seed, "null", *key, condition), noise, seeds)
        low, high = np.quantile(null, [(1 - level) / 2, (1 + level) / 2])
        p = sign_flip_p(d, n_resamples, random_for(seed, "flip", *key, condition))
        rows.append(
            {"pairs": len(d), "variance": pair_variance(d, m), "null_low": low, "null_high": high} | {"p_value": p}
        )
    table = pd.concat([keys, pd.DataFrame(rows)], axis=1)
    bars = bootstrap_intervals(mine, levels=["template"], level=level, n_resamples=n_resamples, seed=seed, **settings)
    table = table.merge(bars[[*KEYS, "score", "ci_low", "ci_high"]], on=KEYS)
    table["q_value"] = stats.false_discovery_control(table["p_value"])
    table["survives"] = table["q_value"] <= alpha
    defined = table["score"].notna()
    variance, pairs, score = (table.loc[defined, name].to_numpy() for name in ("variance", "pairs", "score"))
    drawn = shrink(score, moderated(variance, pairs, score))
    table.loc[defined, "shrunken"], table.loc[defined, "shrunken_sd"] = drawn.estimate, drawn.sd
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
            null_scores(
                *(g[name].to_numpy() for name in ("d", "m")),
                draws,
                random_for(seed, "rank", *key, condition),
                g["noise"].to_numpy(),
                seeds,
            )
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
