"""Fifty seeds for the price of one: runs drawn from stored probabilities, and what they estimate.

A sampled one-token answer depends on the prompt and on one random number. A seed therefore only draws
from probabilities that are known, and what many seeds would average to can be computed without
drawing at all (:func:`expected_scores`). Two averages must be told apart:

- the *mean over seeds* of a score that is defined: seeds whose score is 0/0 are left out and counted (FilBBQ,
  section 4.3, averages the runs' scores and does not say what becomes of 0/0);
- the *pooled ratio*: all seeds' answers in one ratio.

They differ for s_dis, whose denominator is random; for s_amb only when answers are unparsed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.errors import BadValues
from localbias.measures.bias_scores import ambiguous_score, bias_ratio
from localbias.measures.seeds import Moments, moments, score_distribution
from localbias.prompts.roles import role_codes
from localbias.registry import ranges
from localbias.studies.sampling import option_probabilities
from localbias.studies.scores import COUNTS, NEITHER, add_scores, grouped, tally

KEYS = ["level", "category", "template", "condition"]


def by_role(table: pd.DataFrame, p: np.ndarray) -> np.ndarray:
    """Option probabilities rearranged by role: (n, 4) biased, counter, unknown, neither."""
    roles = role_codes(table)
    out = np.empty((len(p), 4))
    np.put_along_axis(out[:, :3], roles.astype(int), p[:, :3], axis=1)
    out[:, 3] = p[:, 3]
    return out


def draw(p: np.ndarray, seeds: int, first_seed: int = 0) -> np.ndarray:
    """One answer per prompt and seed.

    Parameters
    ----------
    p : (n, 4) floats, rows sum to 1
    seeds : number of runs; run k uses the generator of seed ``first_seed + k``

    Returns
    -------
    (n, seeds) int8 array: 0, 1, 2, or 3 for no option

    Raises
    ------
    BadValues
        For no seeds, or rows that are no distributions.

    >>> draw(np.array([[0.0, 1.0, 0.0, 0.0]]), seeds=3).tolist()
    [[1, 1, 1]]
    """
    if not np.allclose(p.sum(axis=1), 1, atol=1e-6) or (p < 0).any():
        raise BadValues(
            "not distributions to draw from", expected="rows that sum to 1", got="NaN, negative, other sums"
        )
    if seeds < 1:
        raise BadValues("no seeds to draw", expected="seeds >= 1", got=str(seeds))
    u = np.stack([np.random.default_rng(first_seed + k).random(len(p)) for k in range(seeds)], axis=1)
    cumulative = np.cumsum(p, axis=1)
    answers = np.zeros(u.shape, dtype=np.int8)
    for k in range(3):
        answers += u >= cumulative[:, [k]]
    return answers


def draw_answers(probabilities: pd.DataFrame, seed: int = 0, **settings) -> pd.DataFrame:
    """One run's answers, as a table that score_answers takes (−1: no option)."""
    answers = draw(option_probabilities(probabilities, **settings), 1, seed)[:, 0].astype(int)
    return probabilities.assign(answer=np.where(answers == NEITHER, -1, answers))


@ranges.checked
def seed_scores(
    probabilities: pd.DataFrame,
    seeds: int = 50,
    temperature: float = 1.0,
    *,
    top_p: float = 1.0,
    off_option: str = "unparsed",
    first_seed: int = 0,
    levels=("template", "category", "overall"),
) -> pd.DataFrame:
    """The scores of many seeded runs, all drawn from one pass.

    Parameters
    ----------
    probabilities : DataFrame from answer_probabilities
    seeds : int
        Number of runs.
    temperature, top_p, off_option
        See :func:`localbias.studies.sampling.option_probabilities`.
    first_seed : int
        Run k draws with the generator of seed ``first_seed + k``.
    levels : any of "template", "category", "overall"

    Returns
    -------
    DataFrame, one row per level × group × context × seed
        level, category, template, condition, seed, n, n_biased, n_counter, n_unknown, n_unparsed,
        accuracy, s, s_dis, s_amb, score
    """
    p = option_probabilities(probabilities, temperature, top_p, off_option)
    answers = draw(p, seeds, first_seed)
    roles = role_codes(probabilities).astype(np.int8)
    lookup = np.column_stack([roles, np.full(len(roles), NEITHER, np.int8)])
    outcomes = np.take_along_axis(lookup, answers.astype(int), axis=1)
    right = answers == probabilities["label"].to_numpy()[:, None]
    return pd.concat([_level(probabilities, outcomes, right, level, first_seed) for level in levels], ignore_index=True)


def _level(table, outcomes, right, level, first_seed):
    keys, codes = grouped(table, level)
    counts = tally(outcomes, codes, len(keys))
    n_right = tally(np.where(right, 0, 1), codes, len(keys))[0]
    runs = outcomes.shape[1]
    long = keys.loc[keys.index.repeat(runs)].reset_index(drop=True)
    long["seed"] = np.tile(np.arange(first_seed, first_seed + runs), len(keys))
    long["n"] = counts.sum(axis=0).ravel()
    for name, values in zip(COUNTS, counts, strict=True):
        long[name] = values.ravel()
    parsed = (long["n"] - long["n_unparsed"]).to_numpy()
    long["accuracy"] = np.divide(n_right.ravel(), parsed, out=np.full(len(long), np.nan), where=parsed > 0)
    return add_scores(long)


def summarise_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Averages over seeds, told apart.

    Parameters
    ----------
    runs : DataFrame from seed_scores

    Returns
    -------
    DataFrame, one row per level × group × context
        seeds, n (prompts), mean_defined (mean over the seeds whose score is defined), sd (over those,
        ddof=1), standard_error (sd/√seeds defined), n_undefined, pooled (all seeds' answers in one
        ratio), low, high (smallest and largest), unparsed (share of answers), accuracy (mean)
    """
    groups = runs.groupby(KEYS, sort=False, observed=True)
    out = groups.agg(
        seeds=("seed", "size"),
        n=("n", "first"),
        mean_defined=("score", "mean"),
        sd=("score", "std"),
        n_defined=("score", "count"),
        low=("score", "min"),
        high=("score", "max"),
        accuracy=("accuracy", "mean"),
        **{c: (c, "sum") for c in COUNTS},
    ).reset_index()
    ambiguous = out["condition"] == "ambig"
    out["pooled"] = np.where(
        ambiguous,
        ambiguous_score(out["n_biased"], out["n_counter"], out["n_unknown"]),
        bias_ratio(out["n_biased"], out["n_counter"]),
    )
    out["standard_error"] = out["sd"] / np.sqrt(out["n_defined"].where(out["n_defined"] > 0))
    out["n_undefined"] = out["seeds"] - out["n_defined"]
    out["unparsed"] = out["n_unparsed"] / (out["n"] * out["seeds"])
    return out[
        [
            *KEYS,
            "seeds",
            "n",
            "mean_defined",
            "sd",
            "standard_error",
            "n_undefined",
            "pooled",
            "low",
            "high",
            "unparsed",
            "accuracy",
        ]
    ]


def expected_scores(
    probabilities: pd.DataFrame,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    off_option: str = "unparsed",
    levels=("template", "category", "overall"),
    method: str = "auto",
) -> pd.DataFrame:
    """What infinitely many seeds would give: no seed is drawn.

    Returns
    -------
    DataFrame, one row per level × group × context
        n, expectation and sd of one run's score (given that it is defined), p_undefined, method
        ("exact" or "delta", see :mod:`localbias.measures.seeds`), pooled (ratio of the expected
        counts), accuracy (expected share of right answers among parsed ones, as a ratio of
        expectations), off_option (mean probability of no option in the pass, whatever the settings),
        unparsed (expected share of answers that are no option under the settings)
    """
    raw = option_probabilities(probabilities)
    p = option_probabilities(probabilities, temperature, top_p, off_option)
    roles = by_role(probabilities, p)
    right = p[np.arange(len(p)), probabilities["label"].to_numpy()]
    return pd.concat(
        [_expected(probabilities, roles, right, raw[:, 3], level, method) for level in levels], ignore_index=True
    )


def _expected(table, roles, right, off, level, method):
    keys, codes = grouped(table, level)
    rows = []
    for k, condition in enumerate(keys["condition"]):
        mine = codes == k
        found: Moments = moments(roles[mine], condition, method)
        b, c, u, none = roles[mine].sum(axis=0)
        pooled = ambiguous_score(b, c, u) if condition == "ambig" else bias_ratio(b, c)
        parsed = mine.sum() - none
        rows.append(
            {
                "n": int(mine.sum()),
                "expectation": found.mean,
                "sd": found.sd,
                "p_undefined": found.p_undefined,
                "method": found.method,
                "pooled": float(pooled),
                "accuracy": right[mine].sum() / parsed if parsed > 0 else np.nan,
                "off_option": off[mine].mean(),
                "unparsed": none / mine.sum(),
            }
        )
    return pd.concat([keys, pd.DataFrame(rows)], axis=1)


def run_distribution(probabilities: pd.DataFrame, category: str, template: str, condition: str, **settings):
    """The exact distribution of one run's score of one template: value, probability, method."""
    mine = probabilities.query("category == @category and template == @template and condition == @condition")
    if mine.empty:
        raise BadValues("no such prompts", where=f"{category}, {template}, {condition}")
    law = score_distribution(by_role(mine, option_probabilities(mine, **settings)), condition)
    return pd.DataFrame(law._asdict())


def seeds_needed(sd, standard_error: float):
    """Seeds whose mean has the wanted standard error: ⌈(sd/standard_error)²⌉, at least 1.

    >>> seeds_needed([0.2, 0.0], 0.05).tolist()
    [16.0, 1.0]
    """
    if not standard_error > 0:
        raise BadValues("a standard error must be positive", got=str(standard_error))
    return np.maximum(np.ceil(np.square(np.divide(sd, standard_error)) - 1e-9), 1)


def standard_error_by_seeds(expected: pd.DataFrame, seeds=(1, 2, 5, 10, 20, 50, 100, 200, 500)) -> pd.DataFrame:
    """Standard error of a mean over seeds, for every group: sd/√seeds.

    Returns
    -------
    DataFrame: level, category, template, condition, n, sd, seeds, standard_error
    """
    long = expected[[*KEYS, "n", "sd"]].merge(pd.DataFrame({"seeds": list(seeds)}), how="cross")
    return long.assign(standard_error=long["sd"] / np.sqrt(long["seeds"]))


def sweep(probabilities: pd.DataFrame, temperatures=(0.1, 0.3, 0.5, 0.7, 1.0, 1.5), top_ps=(1.0,), **settings):
    """Expected scores under many sampling settings, from the same pass.

    Returns
    -------
    DataFrame as from expected_scores, with columns temperature, top_p and note; settings for which the
    pass kept too few tokens have no scores, and a note that says so
    """
    plain = expected_scores(probabilities, **settings)
    numbers = ["expectation", "sd", "p_undefined", "pooled", "accuracy", "unparsed"]
    tables = []
    for temperature in temperatures:
        for top_p in top_ps:
            try:
                table = expected_scores(probabilities, temperature=temperature, top_p=top_p, **settings).assign(note="")
            except BadValues as refused:
                table = plain.assign(note=refused.problem, method="", **dict.fromkeys(numbers, np.nan))
            tables.append(table.assign(temperature=temperature, top_p=top_p))
    return pd.concat(tables, ignore_index=True)
