r"""Whose variance? Where the differences between answers come from, and the error bar of a bias.

A score is a ratio of sums over prompts, :math:`R = \sum D_i / \sum M_i`. Linearised, each prompt
contributes :math:`z_i = R + (D_i - R M_i)/\bar M`, and the score is their mean. The variance of a
sampled z over all prompts splits by the law of total variance, one source after the other, into what
templates differ in, wording (word variants, names and labels, unknown wording: all that differs
between the pairs of a template), which of two people is named first, the question's polarity, the
order of the options, and the sampling seed. More seeds shrink the last one only.

The error bar of a bias is a bootstrap over prompt pairs (a block and its twin with the names
exchanged): what another draw of names and words from the same template would have given. Sampling
noise is not in it, because expectations are exact.

Position apart from content: which letter a model prefers, whatever the letter stands for.

Asked in every order, each option stands equally often behind each letter; averages by letter then
show the preference for a position, averages by role the preference for a content.

A score over whole blocks of the published design needs no such average. The options stay in place
within a block and its two questions exchange the roles of the people, so an answerer who only likes
a letter is biased at one question and counter-stereotypical at the other: it scores 0.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from localbias.errors import BadTable, BadValues, unknown
from localbias.measures.seeds import steps
from localbias.models.letters import LETTERS
from localbias.prompts.roles import CONDITIONS, ROLES, role_codes
from localbias.registry import ranges
from localbias.studies.scores import grouped
from localbias.studies.seeds import KEYS, by_role, expected_scores, option_probabilities

SOURCES = {
    "template": ["category", "template"],
    "wording and names": ["pair"],
    "who is named first": ["exchanged"],
    "question polarity": ["polarity"],
    "option order": ["permutation"],
}
"""Source → the columns that tell its levels apart, each nested in those before it."""
SEED = "sampling seed"
DRAWN = ("template", "wording and names", SEED)
"""Sources whose levels another benchmark would draw anew. The rest are set by the design: every pair has both
sequences of the people, every block both questions and one order of the options."""
FEWEST = 3
"""Levels that a source needs for an estimate of how much they differ."""


@dataclass(frozen=True)
class Contributions:
    """Per row: expected D and M, and the second moments of one draw (E D², E M², E DM)."""

    d: np.ndarray
    m: np.ndarray
    dd: np.ndarray
    mm: np.ndarray
    dm: np.ndarray


def contributions(table: pd.DataFrame, **settings) -> Contributions:
    """What each row adds to numerator and denominator of its context's score."""
    p = by_role(table, option_probabilities(table, **settings))
    out = np.empty((5, len(table)))
    for condition in CONDITIONS:
        mine = (table["condition"] == condition).to_numpy()
        if mine.any():
            s = steps(p[mine], condition)
            d, m = s.plus - s.minus, s.plus + s.minus + s.level
            out[:, mine] = d, m, s.plus + s.minus, m, d
    return Contributions(*out)


def variance_shares(probabilities: pd.DataFrame, condition: str = "ambig", seeds: int = 1, **settings) -> pd.DataFrame:
    """The variance of answers, split by source.

    Parameters
    ----------
    probabilities : DataFrame from answer_probabilities
    condition : "ambig" | "disambig"
    seeds : int
        Runs averaged; divides the last source only.
    **settings
        temperature, top_p, off_option.

    Returns
    -------
    DataFrame, one row a source
        source, units (levels of it in all), variance (of one prompt's contribution to the score, in
        squared score units), share (of the total), standard_error (that the source gives the overall
        score when its units are seen as a sample: √(variance/units); NaN unless they are one, see
        :data:`DRAWN`, with :data:`FEWEST` units or more).

    Notes
    -----
    The shares are descriptive: variance between the levels that were asked, each source nested in the
    ones above it. The order of the options has a share but no standard error: it is fixed within a block,
    whose two questions exchange the roles, so what a letter gains at one question it loses at the other
    (:func:`localbias.studies.variance.order_balance`). With ``orders="published"`` each prompt is asked in
    one order only, and the order's effect hides in "question polarity"; ask in all six orders to see it on
    its own. Each of the two twins of a pair has an "unknown" wording of its own, whose effect is part of
    "who is named first".
    """
    if condition not in CONDITIONS:
        raise unknown("context", condition, CONDITIONS)
    table = probabilities[probabilities["condition"] == condition]
    if table.empty:
        raise BadTable("no prompts of this context", expected=condition, got="none")
    c = contributions(table, **settings)
    if not c.m.sum() > 0:
        raise BadValues("the score is undefined: no answer but 'unknown' has any probability", where=condition)
    ratio, scale = c.d.sum() / c.m.sum(), c.m.mean()
    z = (c.d - ratio * c.m) / scale
    noise = np.maximum((c.dd - 2 * ratio * c.dm + ratio**2 * c.mm) / scale**2 - z**2, 0.0)
    rows, columns, before = [], [], np.zeros(len(z))
    for source, more in SOURCES.items():
        columns += [x for x in more if x in table]
        codes = table.groupby(columns, sort=False, observed=True).ngroup().to_numpy()
        means = (np.bincount(codes, z) / np.bincount(codes))[codes]
        rows.append((source, codes.max() + 1, float(((means - before) ** 2).mean())))
        before = means
    rows.append((SEED, len(z) * seeds, float(noise.mean()) / seeds))
    out = pd.DataFrame(rows, columns=["source", "units", "variance"])
    total = out["variance"].sum()
    out["share"] = out["variance"] / total if total > 0 else np.nan
    per_unit = out["variance"].where(out["source"] != SEED, out["variance"] * seeds)
    sample = out["source"].isin(DRAWN) & (out["units"] >= FEWEST)
    out["standard_error"] = np.sqrt(per_unit / out["units"]).where(sample)
    return out


def pair_sums(probabilities: pd.DataFrame, **settings) -> pd.DataFrame:
    """Expected numerator and denominator of every prompt pair in each context.

    Returns
    -------
    DataFrame: category, template, condition, pair, d, m, noise (variance of one run's d)
    """
    c = contributions(probabilities, **settings)
    table = probabilities[["category", "template", "condition", "pair"]].assign(d=c.d, m=c.m, noise=c.dd - c.d**2)
    return table.groupby(["category", "template", "condition", "pair"], as_index=False, observed=True).sum()


def random_for(seed: int, *names: str) -> np.random.Generator:
    """A generator that depends on what it is for, not on what else is computed."""
    return np.random.default_rng([seed, zlib.crc32("|".join(names).encode("utf-8"))])


def _tails(level: float, n: int) -> float:
    """Tail probability of an expanded percentile interval for n units (Hesterberg 2015, section 5.3).

    Percentile intervals of few units are too narrow; quantiles further out make up for it:
    α' = Φ(−√(n/(n−1)) · t). Infinitely many units give the plain α.
    """
    return float(stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf((1 + level) / 2, n - 1)))


@ranges.checked(n_resamples=ranges.ANSWERS["n_resamples"])
def bootstrap_intervals(
    probabilities: pd.DataFrame,
    *,
    levels=("template", "category", "overall"),
    unit: str = "pair",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    **settings,
) -> pd.DataFrame:
    """Intervals of the pooled expected scores, by resampling pairs within templates, or templates.

    Parameters
    ----------
    probabilities : DataFrame from answer_probabilities
    levels : any of "template", "category", "overall"
    unit : "pair" | "template"
        "pair": the templates are the ones there are; names and words are a sample. "template": the
        templates too are a sample of what could be asked (levels above template only).
    level : coverage
    n_resamples, seed : number of resamples, and the seed they are drawn with
    **settings
        temperature, top_p, off_option.

    Returns
    -------
    DataFrame, one row per level × group × context
        score (ratio of expected sums), ci_low, ci_high, standard_error, units. NaN bounds for a group
        of a single unit: nothing is known about its variability.
    """
    if unit not in ("pair", "template"):
        raise unknown("unit", unit, ["pair", "template"])
    sums = pair_sums(probabilities, **settings)
    strata = _resampled(sums, n_resamples, seed)
    tables = []
    for name in levels:
        if unit == "template" and name == "template":
            continue
        keys, codes = grouped(strata[0], name)
        rows = [_interval(strata, np.flatnonzero(codes == k), unit, level, seed) for k in range(len(keys))]
        tables.append(pd.concat([keys, pd.DataFrame(rows)], axis=1))
    return pd.concat(tables, ignore_index=True)[[*KEYS, "score", "ci_low", "ci_high", "standard_error", "units"]]


def _resampled(sums, n_resamples, seed):
    """Per template and context: its sums and number of pairs; and resampled sums, (2, strata, n_resamples)."""
    groups = list(sums.groupby(["category", "template", "condition"], observed=True))
    totals = pd.DataFrame([key for key, _ in groups], columns=["category", "template", "condition"])
    totals[["d", "m"]] = [group[["d", "m"]].sum().tolist() for _, group in groups]
    totals["pairs"] = [len(group) for _, group in groups]
    draws = np.empty((2, len(groups), n_resamples))
    for i, (key, group) in enumerate(groups):
        n = len(group)
        weights = random_for(seed, *key).multinomial(n, np.full(n, 1 / n), n_resamples)
        draws[:, i] = (weights @ group[["d", "m"]].to_numpy()).T
    return totals, draws


def _interval(strata, mine, unit, level, seed):
    totals, draws = strata[0].iloc[mine], strata[1][:, mine]
    d, m = totals["d"].sum(), totals["m"].sum()
    if unit == "template":
        n, units = len(mine), len(mine)
        rng = random_for(seed, "templates", *totals["category"].unique(), totals["condition"].iloc[0])
        weights = rng.multinomial(n, np.full(n, 1 / n), draws.shape[2])
        resampled = (weights @ totals[["d", "m"]].to_numpy()).T
    else:
        n, units = int(totals["pairs"].sum() - len(mine) + 1), int(totals["pairs"].sum())
        resampled = draws.sum(axis=1)
    row = {
        "score": d / m if m > 0 else np.nan,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "standard_error": np.nan,
        "units": units,
    }
    defined = resampled[1] > 0
    if n > 1 and defined.any():
        ratio = resampled[0, defined] / resampled[1, defined]
        tail = _tails(level, n)
        row["ci_low"], row["ci_high"] = np.clip(np.quantile(ratio, [tail, 1 - tail]), -1, 1)
        row["standard_error"] = float(ratio.std(ddof=1))
    return row


def position_table(probabilities: pd.DataFrame, **settings) -> pd.DataFrame:
    """Mean probability of an option by the letter it stands behind and the role it has.

    Returns
    -------
    DataFrame, one row per context × letter × role
        condition, letter, role, probability (mean), n (times the role stood behind the letter)
    """
    p, roles = option_probabilities(probabilities, **settings), role_codes(probabilities)
    long = pd.DataFrame(
        {
            "condition": np.repeat(probabilities["condition"].to_numpy(), 3),
            "letter": np.tile(LETTERS, len(p)),
            "role": np.array(ROLES)[roles.ravel()],
            "probability": p[:, :3].ravel(),
        }
    )
    groups = long.groupby(["condition", "letter", "role"], as_index=False)
    return groups.agg(probability=("probability", "mean"), n=("probability", "size"))


def preferences(probabilities: pd.DataFrame, **settings) -> pd.DataFrame:
    """How much more likely than average a letter is, and a role: both in probability.

    Returns
    -------
    DataFrame: condition, kind ("letter" | "role"), name, effect
        Effects of the letters (averaged over roles, each role the same weight) and of the roles
        (averaged over letters), as differences from the context's mean; each kind sums to 0.
    """
    table = position_table(probabilities, **settings)
    rows = []
    for condition, mine in table.groupby("condition"):
        cells = mine.pivot(index="letter", columns="role", values="probability")
        for kind, means in (("letter", cells.mean(axis=1)), ("role", cells.mean(axis=0))):
            rows += [(condition, kind, name, value - means.mean()) for name, value in means.items()]
    return pd.DataFrame(rows, columns=["condition", "kind", "name", "effect"])


def scores_by_order(probabilities: pd.DataFrame, levels=("overall",), **settings) -> pd.DataFrame:
    """Expected scores of each order on its own, as if every prompt had its options in that one.

    Hypothetical for the published design, which has each order and its mirror image equally often.

    Returns
    -------
    DataFrame as from expected_scores, with the columns ``order`` (the roles behind A, B, C: first
    letters, "bcu") in front
    """
    tables = []
    for order, mine in probabilities.groupby("order", sort=True):
        part = expected_scores(mine, levels=levels, **settings)
        part.insert(0, "order", order)
        tables.append(part)
    return pd.concat(tables, ignore_index=True)


def order_balance(probabilities: pd.DataFrame, condition: str = "ambig", **settings) -> dict:
    """What the order of the options does to prompts, and what is left of it in scores.

    Parameters
    ----------
    probabilities : DataFrame from answer_probabilities, in the published orders
    condition : "ambig" | "disambig"

    Returns
    -------
    dict
        before, after (mean of biased minus counter probability where the biased option stands before,
        after the counter one), n_before, n_after; together (mean over both); size (prompts of the
        smallest templates), templates (of that size), rms (root mean square of their scores) and
        independent (what it would be about if each prompt's order were drawn on its own: √(variance
        between orders / size))
    """
    mine = probabilities[probabilities["condition"] == condition]
    c = contributions(mine, **settings)
    table = mine[["category", "template", "order"]].assign(d=c.d, m=c.m)
    before = table["order"].str.find("b") < table["order"].str.find("c")
    by_template = table.groupby(["category", "template"]).agg(n=("d", "size"), d=("d", "sum"), m=("m", "sum"))
    small = by_template[by_template["n"] == by_template["n"].min()]
    between = table.groupby("order")["d"].transform("mean").var(ddof=0)
    size = int(small["n"].iloc[0])
    return {
        "before": table.loc[before, "d"].mean(),
        "after": table.loc[~before, "d"].mean(),
        "n_before": int(before.sum()),
        "n_after": int((~before).sum()),
        "together": table["d"].mean(),
        "size": size,
        "templates": len(small),
        "rms": float(((small["d"] / small["m"]) ** 2).mean() ** 0.5),
        "independent": float((between / size) ** 0.5 / table["m"].mean()),
    }
