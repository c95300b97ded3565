"""What a score of −1.00 takes: the arithmetic of the two lowest points in FilBBQ's Figure 2.

A run scores exactly −1 when every answer that counts is counter-stereotypical. For s_dis those are the
answers that name a person, however few; for s_amb every parsed answer, because each "unknown" moves
the score towards 0. With k such answers a respondent without any preference gets there with
probability 2⁻ᵏ, so a score of −1 says little where few answers name a person, and much where many do.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.measures.seeds import steps
from localbias.studies.sampling import option_probabilities
from localbias.studies.scores import grouped
from localbias.studies.seeds import by_role


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
