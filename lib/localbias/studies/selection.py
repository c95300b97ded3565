"""The bias profile: every template's score and how far to believe it (:mod:`localbias.measures.null`).

What a score of −1.00 takes: the arithmetic of the two lowest points in FilBBQ's Figure 2.

A run scores exactly −1 when every answer that counts is counter-stereotypical. For s_dis those are the
answers that name a person, however few; for s_amb every parsed answer, because each "unknown" moves
the score towards 0. With k such answers a respondent without any preference gets there with
probability 2⁻ᵏ, so a score of −1 says little where few answers name a person, and much where many do.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from localbias.measures.null import moderated, null_scores, pair_variance, shrink, sign_flip_p
from localbias.measures.seeds import steps
from localbias.registry import ranges
from localbias.studies.scores import grouped
from localbias.studies.seeds import KEYS, by_role, option_probabilities
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
    columns = "category template condition pairs score ci_low ci_high null_low null_high p_value q_value survives"
    return table[[*columns.split(), "shrunken", "shrunken_sd"]].reset_index(drop=True)


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


def by_chance(answers=(1, 2, 3, 4, 5, 6, 8, 10, 16, 50), seeds: int = 50) -> pd.DataFrame:
    """How often a respondent without preference scores −1.00.

    Parameters
    ----------
    answers : numbers k of answers that count in a run
    seeds : number of runs

    Returns
    -------
    DataFrame: answers, one_run (2⁻ᵏ), any_of_seeds (in at least one of the runs)

    >>> by_chance([1, 2], seeds=2).round(4).values.tolist()
    [[1.0, 0.5, 0.75], [2.0, 0.25, 0.4375]]
    """
    one = 0.5 ** np.asarray(answers, float)
    return pd.DataFrame({"answers": list(answers), "one_run": one, "any_of_seeds": -np.expm1(seeds * np.log1p(-one))})


def most_answers(seeds: int = 50, probability: float = 0.5) -> int:
    """The largest k for which −1.00 turns up in at least one of the runs with the given probability, by chance.

    >>> most_answers(50), most_answers(1)
    (6, 1)
    """
    k = 0
    while -np.expm1(seeds * np.log1p(-(0.5 ** (k + 1)))) >= probability:
        k += 1
    return k


def lowest_possible(probabilities: pd.DataFrame, seeds: int = 50, **settings) -> pd.DataFrame:
    """How probable −1.00 is in this model's runs, template by template, exactly.

    With counter probability c and counted probability m in each prompt, a run scores −1 with
    probability ∏(c + 1 − m) − ∏(1 − m): every prompt counter or not counted, but not all not counted.

    Returns
    -------
    DataFrame, one row per template × context, most probable first
        category, template, condition, n, counted (expected number of answers that count), score
        (expected biased minus counter answers, of those that count), one_run, any_of_seeds
    """
    p = by_role(probabilities, option_probabilities(probabilities, **settings))
    keys, codes = grouped(probabilities, "template")
    rows = []
    for k, condition in enumerate(keys["condition"]):
        s = steps(p[codes == k], condition)
        one = max(float(np.prod(s.minus + s.none) - np.prod(s.none)), 0.0)
        counted = float((1 - s.none).sum())
        score = float((s.plus - s.minus).sum()) / counted if counted > 0 else np.nan
        rows.append(
            {
                "n": len(s.none),
                "counted": counted,
                "score": score,
                "one_run": one,
                "any_of_seeds": float(-np.expm1(seeds * np.log1p(-min(one, 1 - 1e-15)))),
            }
        )
    table = pd.concat([keys.drop(columns="level"), pd.DataFrame(rows)], axis=1)
    return table.sort_values(["one_run", "template"], ascending=[False, True], ignore_index=True)


def anywhere(lowest: pd.DataFrame, seeds: int = 50) -> pd.DataFrame:
    """How probable −1.00 is in any template at all, and how many such points there would be.

    Templates are answered independently of each other, so none shows a point with the product of
    their probabilities to show none.

    Parameters
    ----------
    lowest : DataFrame from lowest_possible
    seeds : the number of runs it was made for

    Returns
    -------
    DataFrame, indexed by condition: templates, any (probability), points (expected number, over all
    templates and runs)
    """
    groups = lowest.groupby("condition")
    return pd.DataFrame(
        {
            "templates": groups.size(),
            "any": groups["any_of_seeds"].agg(lambda p: 1 - np.prod(1 - p)),
            "points": groups["one_run"].sum() * seeds,
        }
    )
