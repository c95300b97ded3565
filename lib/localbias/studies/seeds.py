r"""Fifty seeds for the price of one: runs drawn from stored probabilities, and what they estimate.

A sampled one-token answer depends on the prompt and on one random number. A seed therefore only draws
from probabilities that are known, and what many seeds would average to can be computed without
drawing at all (:func:`expected_scores`). Two averages must be told apart:

- the *mean over seeds* of a score that is defined: seeds whose score is 0/0 are left out and counted (FilBBQ,
  section 4.3, averages the runs' scores and does not say what becomes of 0/0);
- the *pooled ratio*: all seeds' answers in one ratio.

They differ for s_dis, whose denominator is random; for s_amb only when answers are unparsed.

Temperature and top-p after the fact: what sampling settings would have made of one pass.

Sampling at temperature T draws a token with probability :math:`p_v^{1/T}/\sum_w p_w^{1/T}`; top-p then
keeps the smallest set of most likely tokens whose probabilities sum to at least ``top_p``. Both act on
tokens, so the sums over a letter's surface forms and over the rest of the vocabulary have to be taken
after, not before. A pass therefore keeps, per prompt, the log-probabilities of every letter form
(``forms0`` … ``forms2``), of the :data:`TOP` most likely other tokens (``top``), and, for the rest of
the vocabulary, :math:`\log\sum p^{1/T}` at the temperatures of :data:`TEMPERATURES` (``tail``),
interpolated in 1/T between them. Top-p is exact where its set lies within the tokens that were kept.
Where it reaches into the rest, the last token of the set is no likelier than the least likely one kept:
the result is then known up to that token and the letter forms below it, and is refused when these come
to more than :data:`TOP_P_ERROR`.

A table without these columns has one token for each option and one for "neither".
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline

from localbias.errors import BadTable, BadValues
from localbias.measures.bias_scores import ambiguous_score, bias_ratio
from localbias.measures.seeds import Moments, moments, score_distribution
from localbias.models.logits import FORMS, TEMPERATURES, TOP
from localbias.prompts.roles import role_codes
from localbias.registry import ranges
from localbias.studies.scores import COUNTS, NEITHER, grouped, score_runs

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
        See :func:`localbias.studies.seeds.option_probabilities`.
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
    return score_runs(probabilities, outcomes, right, levels, first_seed)


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
    columns = "seeds n mean_defined sd standard_error n_undefined pooled low high unparsed accuracy"
    return out[[*KEYS, *columns.split()]]


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


TOP_P_ERROR = 0.003


def check_probabilities(table: pd.DataFrame) -> np.ndarray:
    """The option probabilities as they are: (n, 4), rows sum to 1; p_neither is filled in when missing.

    Raises
    ------
    BadTable, BadValues
        Columns missing; values that are no probabilities.
    """
    if missing := {"p0", "p1", "p2"} - set(table.columns):
        raise BadTable(
            "the table has no answer probabilities",
            expected="columns p0, p1, p2, p_neither",
            got=f"without {sorted(missing)}",
            todo="make it with answer_probabilities",
        )
    try:
        p = table[["p0", "p1", "p2"]].to_numpy(float)
    except (TypeError, ValueError, OverflowError) as problem:
        got = " ".join(str(problem).split())[:200]
        raise BadValues("answer probabilities that are no numbers", expected="p0, p1, p2 as numbers", got=got) from None
    total = p.sum(axis=1)
    bad = ~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (total > 1 + 1e-4)
    if bad.any():
        at = int(np.argmax(bad))
        raise BadValues(
            "not answer probabilities",
            expected="non-negative, sum at most 1",
            got=str(p[at]),
            where=f"prompt {table.iloc[at].get('prompt_id', at)} (and {int(bad.sum()) - 1} more)",
        )
    p = p / np.maximum(total, 1.0)[:, None]
    return np.column_stack([p, np.maximum(1.0 - p.sum(axis=1), 0.0)])


def option_probabilities(
    table: pd.DataFrame, temperature: float = 1.0, top_p: float = 1.0, off_option: str = "unparsed"
) -> np.ndarray:
    """Probabilities of the three options and of neither, under given sampling settings.

    Parameters
    ----------
    table : DataFrame from answer_probabilities, or any with p0, p1, p2
    temperature : 0 (the most likely token, always) or 0.1 … 2
    top_p : (0, 1]
    off_option : "unparsed"
        "unparsed" leaves the probability of other tokens as that of no answer; "renormalise" gives
        the distribution among the options, as if only they could be answered: other tokens are left
        out first, then temperature and top-p act on what is left.

    Returns
    -------
    (n, 4) floats, rows sum to 1

    Raises
    ------
    BadValues
        Settings out of range; top_p that would need more tokens than were kept.

    Examples
    --------
    >>> table = pd.DataFrame(dict(p0=[0.6], p1=[0.2], p2=[0.1]))
    >>> option_probabilities(table, off_option="renormalise").round(3).tolist()
    [[0.667, 0.222, 0.111, 0.0]]
    >>> option_probabilities(table, temperature=0.5).round(3).tolist()
    [[0.857, 0.095, 0.024, 0.024]]
    >>> option_probabilities(table, top_p=0.7).round(3).tolist()
    [[0.75, 0.25, 0.0, 0.0]]
    """
    if not (temperature == 0 or TEMPERATURES[-1] <= temperature <= TEMPERATURES[0]) or not 0 < top_p <= 1:
        raise BadValues(
            "sampling settings out of range",
            got=f"temperature={temperature}, top_p={top_p}",
            expected=f"temperature 0 or {TEMPERATURES[-1]} … {TEMPERATURES[0]}, top_p in (0, 1]",
        )
    if off_option not in ("unparsed", "renormalise"):
        raise BadValues(
            "unknown treatment of answers that are no option", expected="unparsed, renormalise", got=repr(off_option)
        )
    p, only = check_probabilities(table), off_option == "renormalise"
    if only:
        p = _renormalised(p, table)
    if (temperature, top_p) != (1.0, 1.0):
        logp, kinds, tail = _tokens(table, p)
        if only:
            logp, kinds, tail = logp[:, kinds < 3], kinds[kinds < 3], None
        p = _resampled(logp, kinds, tail, temperature, top_p)
    return p


def _renormalised(p, table):
    inside = p[:, :3].sum(axis=1)
    if (inside <= 0).any():
        at = int(np.argmax(inside <= 0))
        raise BadValues(
            "no option has any probability",
            where=f"prompt {table.iloc[at].get('prompt_id', at)}",
            todo="use off_option='unparsed', or other sampling settings",
        )
    return np.column_stack([p[:, :3] / inside[:, None], np.zeros(len(p))])


def _tokens(table, p):
    """Log-probabilities of the single tokens, what each is (0, 1, 2 or 3 for no option), and the tail."""
    if not {*FORMS, "top", "tail"} <= set(table.columns) or table["top"].isna().any():
        with np.errstate(divide="ignore"):
            return np.log(p), np.arange(4), None
    blocks = [np.stack(table[c].to_numpy()).astype(float) for c in (*FORMS, "top")]
    kinds = np.concatenate([np.full(b.shape[1], k) for k, b in enumerate(blocks)])
    return np.concatenate(blocks, axis=1), kinds, np.stack(table["tail"].to_numpy()).astype(float)


def _resampled(logp, kinds, tail, temperature, top_p):
    if temperature == 0:
        best = kinds[np.argmax(logp, axis=1)]
        return np.eye(4)[best]
    scaled = logp / temperature
    rest = _tail_at(tail, temperature) if tail is not None else np.full(len(logp), -np.inf)
    log_total = np.logaddexp(np.logaddexp.reduce(scaled, axis=1), rest)
    q, q_rest = np.exp(scaled - log_total[:, None]), np.exp(rest - log_total)
    if top_p < 1:
        q, q_rest = _nucleus(q, kinds, top_p)
    out = np.stack([q[:, kinds == k].sum(axis=1) for k in range(4)], axis=1)
    out[:, 3] += q_rest
    return out / out.sum(axis=1, keepdims=True)


def _tail_at(tail, temperature):
    beta = 1.0 / np.array(TEMPERATURES)
    finite = np.where(np.isfinite(tail), tail, -1e4)
    return CubicSpline(beta, finite, axis=1)(1.0 / temperature)


def _nucleus(q, kinds, top_p):
    """Keep the most likely tokens until they sum to top_p: what is kept of the known tokens, and of the rest."""
    order = np.argsort(-q, axis=1, kind="stable")
    ranked = np.take_along_axis(q, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    kept = np.zeros_like(q)
    within = before < top_p - 1e-12
    within[:, 0] = True  # however small top_p is, the most likely token is in
    np.put_along_axis(kept, order, np.where(within, ranked, 0.0), axis=1)
    reaching = ranked.sum(axis=1) < top_p - 1e-9
    if not reaching.any():
        return kept, np.zeros(len(q))
    least = q[:, kinds == 3].min(axis=1)
    below = (q <= least[:, None]) & (kinds < 3)
    unsure = np.where(reaching, least + (q * below).sum(axis=1), 0.0)
    if unsure.max() > TOP_P_ERROR:
        raise BadValues(
            "top_p needs more tokens than were kept",
            expected=f"a set of tokens known to {TOP_P_ERROR}",
            got=f"top_p={top_p} known to {unsure.max():.3f}",
            todo=f"take a smaller top_p, a lower temperature, or sample with protocol='generate' "
            f"({TOP} tokens besides the letters are kept)",
        )
    kept = np.where(reaching[:, None] & below, 0.0, kept)
    return kept, np.where(reaching, np.maximum(top_p - kept.sum(axis=1), 0.0), 0.0)
