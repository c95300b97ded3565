"""Position apart from content: which letter a model prefers, whatever the letter stands for.

Asked in every order, each option stands equally often behind each letter; averages by letter then
show the preference for a position, averages by role the preference for a content.

A score over whole blocks of the published design needs no such average. The options stay in place
within a block and its two questions exchange the roles of the people, so an answerer who only likes
a letter is biased at one question and counter-stereotypical at the other: it scores 0.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.models.letters import LETTERS
from localbias.prompts.roles import ROLES, role_codes
from localbias.studies.sampling import option_probabilities
from localbias.studies.seeds import expected_scores
from localbias.studies.variance import contributions


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
