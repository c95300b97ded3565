r"""FilBBQ's printed profiles (Tables 3–5), judged as far as the numbers alone go.

No answers or scores are published, only the five largest of each model's scores in each context. What they can
show depends on how many prompts a template has, :math:`n` a context. With :math:`n_b` biased, :math:`n_c`
counter-stereotypical and :math:`n_u` "unknown" answers,

- one run's score is a fraction: :math:`s_{amb} = (n_b - n_c)/n`, :math:`s_{dis} = (n_b - n_c)/(n_b + n_c)`;
- a guesser who prefers nobody has a score of mean 0 and of a spread that falls with :math:`n`. The one who throws
  dice anew under every seed comes nearer to 0 with more seeds. The one who has thrown once for each prompt and
  stays with it, as a masked model does that takes its best letter, gives fifty times the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from localbias.errors import BadValues
from localbias.files import project_root
from localbias.studies.published import printed

PROFILES = ("Table 3", "Table 4", "Table 5")
CONDITIONS = {"ambiguous": "ambig", "disambiguated": "disambig"}
GUESSERS = {"dice": "throws anew under every seed", "fixed": "has thrown once and repeats it"}
PRINTED = 0.005
"""Half a unit of the last printed digit."""


def sizes(prompts: pd.DataFrame) -> pd.Series:
    """Prompts of every template in each context, by (template, condition); templates without prompts are not there."""
    return prompts.groupby(["template", "condition"]).size()


def one_run(value: float, n: int, condition: str) -> bool:
    """Whether one run over n prompts, every answer one of the options, can give a score that is printed so.

    Examples
    --------
    0.31 is no k/24, so it is no single run of 24 prompts; 0.13 is 3/24.

    >>> one_run(0.31, 24, "ambig"), one_run(0.13, 24, "ambig"), one_run(0.31, 24, "disambig")
    (False, True, False)
    """
    return bool((np.abs(_scores(n, condition) - value) <= PRINTED + 1e-9).any())


def _scores(n: int, condition: str) -> np.ndarray:
    """Every score that one run over n prompts can have."""
    if condition == "ambig":
        return np.arange(-n, n + 1) / n
    return np.concatenate([np.arange(-m, m + 1, 2) / m for m in range(1, n + 1)])


def share_possible(n: int, condition: str) -> float:
    """The share of the 101 values 0.00, 0.01, …, 1.00 that one run over n prompts can give.

    >>> round(share_possible(24, "ambig"), 3), share_possible(100, "ambig")
    (0.287, 1.0)
    """
    return float(np.mean([one_run(v / 100, n, condition) for v in range(101)]))


def answer_shares(score: float, unknown: float = 0.0) -> dict[str, float]:
    """What a score s_amb says of the answers: shares of biased and counter ones, and how many times likelier.

    Parameters
    ----------
    score : s_amb
    unknown : share of "unknown" answers, at most 1 − ``|score|``

    Returns
    -------
    dict
        ``biased``, ``counter``, ``difference`` (the score), ``ratio`` (biased to counter; inf without any counter).

    Examples
    --------
    >>> {k: round(v, 3) for k, v in answer_shares(0.57).items()}
    {'biased': 0.785, 'counter': 0.215, 'difference': 0.57, 'ratio': 3.651}
    """
    if not 0 <= unknown <= 1 - abs(score) + 1e-12:
        raise BadValues(
            "no answers have this score", expected=f"unknown from 0 to {1 - abs(score):g}", got=f"{unknown:g}"
        )
    biased, counter = (1 - unknown + score) / 2, max((1 - unknown - score) / 2, 0.0)
    ratio = biased / counter if counter > 1e-12 else np.inf
    return {"biased": biased, "counter": counter, "difference": biased - counter, "ratio": ratio}


def guesser_scores(
    n: Sequence[int], condition: str, guesser: str = "dice", seeds: int = 50, draws: int = 1500, seed: int = 0
) -> np.ndarray:
    """Mean scores over seeds of a guesser who takes each of the three options with the same probability.

    Parameters
    ----------
    n : (templates,) prompts of each template in the context
    condition : "ambig" | "disambig"
    guesser : a name of :data:`GUESSERS`
    seeds, draws, seed : runs that are averaged, guessers drawn, seed of the draws

    Returns
    -------
    (draws, templates) floats; runs without any answer but "unknown" are left out of a mean of s_dis, NaN if all are.
    """
    return _drawn(tuple(int(k) for k in n), condition, seeds if guesser == "dice" else 1, draws, seed)


@lru_cache(maxsize=8)
def _drawn(sizes: tuple[int, ...], condition: str, runs: int, draws: int, seed: int) -> np.ndarray:
    rng, n = np.random.default_rng(seed), np.array(sizes)
    if condition == "ambig":
        named = rng.binomial(n * runs, 2 / 3, (draws, len(n)))
        return (2 * rng.binomial(named, 0.5) - named) / (n * runs)
    named = rng.binomial(n, 2 / 3, (runs, draws, len(n)))
    score = np.divide(2.0 * rng.binomial(named, 0.5) - named, named, out=np.full(named.shape, np.nan), where=named > 0)
    defined = (named > 0).sum(axis=0)
    return np.divide(np.nansum(score, axis=0), defined, out=np.full(defined.shape, np.nan), where=defined > 0)


def guesser_top(per_template: pd.Series, ranks: int = 5, **settings) -> pd.DataFrame:
    """The largest scores that guessers show over all templates.

    Parameters
    ----------
    per_template : as :func:`sizes` returns
    **settings : ``seeds``, ``draws``, ``seed`` of :func:`guesser_scores`

    Returns
    -------
    DataFrame
        ``context``, ``rank``, ``guesser``, ``templates``, ``median`` and ``high`` (95 %) of the k-th largest score,
        ``drawn`` (all of them, an array).
    """
    rows = []
    for context, condition in CONDITIONS.items():
        n = per_template.xs(condition, level="condition").to_numpy()
        for guesser in GUESSERS:
            top = -np.sort(-np.nan_to_num(guesser_scores(n, condition, guesser, **settings), nan=-1.0), axis=1)
            rows += [
                {
                    "context": context,
                    "rank": k + 1,
                    "guesser": guesser,
                    "templates": len(n),
                    "median": float(np.median(top[:, k])),
                    "high": float(np.quantile(top[:, k], 0.95)),
                    "drawn": top[:, k],
                }
                for k in range(ranks)
            ]
    return pd.DataFrame(rows)


def guesser_lists(
    per_template: pd.Series, guesser: str = "dice", ranks: int = 5, draws: int = 1500, seed: int = 0
) -> np.ndarray:
    """The templates that guessers list: those of their highest scores, ties in random order.

    A template of few prompts scatters most, so that the lists are drawn from the small ones above all.

    Returns
    -------
    (draws, contexts, ranks) array of template ids
    """
    rng = np.random.default_rng(seed)
    lists = []
    for condition in CONDITIONS.values():
        n = per_template.xs(condition, level="condition")
        score = guesser_scores(n.to_numpy(), condition, guesser, draws=draws, seed=seed)
        order = np.argsort(-np.nan_to_num(score, nan=-2.0) - 1e-9 * rng.random(score.shape), axis=1)
        lists.append(n.index.to_numpy()[order[:, :ranks]])
    return np.stack(lists, axis=1)


def stereotypes(prompts: pd.DataFrame) -> pd.Series:
    """Template → its stereotype: the printed entry that can mean it, else what the template file says."""
    table = prompts.drop_duplicates("template").set_index("template")["social_value"].str.strip().str.lower()
    for row in printed("FilBBQ").query("place in @PROFILES").itertuples():
        table[table.index.isin(row.templates.split())] = row.entry
    return table


def guesser_overlaps(lists: np.ndarray, labels: pd.Series) -> np.ndarray:
    """How many stereotypes the lists of three guessers share, pair by pair and over contexts: one number a triple.

    Parameters
    ----------
    lists : (draws, contexts, ranks) template ids, as :func:`guesser_lists` returns
    labels : template → stereotype

    Returns
    -------
    (draws // 3,) ints
    """
    of = labels.to_dict()
    named = [[{of[t] for t in held} for held in contexts] for contexts in lists]
    triples = zip(named[::3], named[1::3], named[2::3], strict=False)
    return np.array(
        [sum(len(x & y) + len(x & z) + len(y & z) for x, y, z in zip(a, b, c, strict=True)) for a, b, c in triples]
    )


def beside_guessers(per_template: pd.Series, **settings) -> pd.DataFrame:
    """The 30 printed entries with what guessers reach at the same rank, and whether one run could give them.

    Returns
    -------
    DataFrame
        ``place``, ``model``, ``context``, ``rank``, ``entry``, ``value``; ``prompts`` (of the templates that can be
        meant, in the context); ``one_run`` (the printed value is a fraction of one run for one of them);
        ``possible`` (largest share of the two-decimal values that is, by the same templates); for each guesser
        ``…_high`` (95 % of the k-th largest of all templates) and ``p_…`` (share of guessers whose k-th largest is
        at least as large); ``exceeds`` ("both", "dice" or "none": the guessers whose reach the entry exceeds).
    """
    said = printed("FilBBQ").query("place in @PROFILES").drop(columns="note")
    top = guesser_top(per_template, **settings).set_index(["context", "rank", "guesser"])
    rows = []
    for entry in said.itertuples():
        condition = CONDITIONS[entry.context]
        n = sorted({int(per_template[t, condition]) for t in entry.templates.split()})
        row = {
            "prompts": ", ".join(map(str, n)),
            "one_run": any(one_run(entry.value, k, condition) for k in n),
            "possible": max(share_possible(k, condition) for k in n),
        }
        for guesser in GUESSERS:
            of = top.loc[(entry.context, entry.rank, guesser)]
            row |= {f"{guesser}_high": of["high"], f"p_{guesser}": float(np.mean(of["drawn"] >= entry.value - PRINTED))}
        beyond = [g for g in GUESSERS if entry.value - PRINTED > row[f"{g}_high"]]
        rows.append(row | {"exceeds": "both" if len(beyond) == 2 else beyond[0] if beyond else "none"})
    return pd.concat([said.reset_index(drop=True), pd.DataFrame(rows)], axis=1)


def overlaps() -> pd.DataFrame:
    """How many entries the models' printed lists share: ``context``, ``left``, ``right``, ``shared``, ``entries``."""
    said = printed("FilBBQ").query("place in @PROFILES")
    lists = {key: set(held["entry"]) for key, held in said.groupby(["context", "model"], sort=False)}
    rows = []
    for context in CONDITIONS:
        models = [model for c, model in lists if c == context]
        for i, left in enumerate(models):
            for right in models[i + 1 :]:
                both = lists[context, left] & lists[context, right]
                rows.append((context, left, right, len(both), "; ".join(sorted(both))))
    return pd.DataFrame(rows, columns=["context", "left", "right", "shared", "entries"])


def overlap_law(among: int, listed: int = 5, contexts: int = 2) -> np.ndarray:
    """Probability that three random lists share 0, 1, 2, … entries, pair by pair and over contexts, exactly.

    Parameters
    ----------
    among : templates that each list is drawn from
    listed : entries of a list
    contexts : independent repetitions that are summed

    Returns
    -------
    (3·listed·contexts + 1,) floats

    Examples
    --------
    Of two templates one each: all three lists agree (3 pairs) once in four, else exactly one pair does.

    >>> overlap_law(2, 1, 1).tolist()
    [0.0, 0.75, 0.0, 0.25]
    """
    law = np.zeros(3 * listed + 1)
    for two in range(listed + 1):  # entries that the first two lists share
        p_two = hypergeom.pmf(two, among, listed, listed)
        for twice in range(two + 1):  # of the third list's entries, those in both
            p_twice = hypergeom.pmf(twice, among, two, listed)
            for once in range(2 * (listed - two) + 1):  # and those in one of them
                p_once = hypergeom.pmf(once, among - two, 2 * (listed - two), listed - twice)
                if p := p_two * p_twice * p_once:
                    law[two + 2 * twice + once] += p
    whole = np.ones(1)
    for _ in range(contexts):
        whole = np.convolve(whole, law)
    return whole


def themes() -> pd.DataFrame:
    """Which templates concern the themes that the paper names, in our reading (``data/papers/README.md``).

    Returns
    -------
    DataFrame: ``template``, ``theme`` (emotion | domesticity | interests | polygamy), ``reading`` (narrow | wide).
    """
    return pd.read_csv(project_root() / "data" / "papers" / "filbbq_themes.csv")


def by_theme(entries: pd.DataFrame, names: Sequence[str], wide: bool) -> pd.Series:
    """Whether each printed entry is of one of the themes."""
    held = themes()
    kept = set(held.loc[held["theme"].isin(names) & (wide | (held["reading"] == "narrow")), "template"])
    return entries["templates"].map(lambda ids: set(ids.split()) <= kept).astype(bool)
