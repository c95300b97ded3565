"""Position apart from content: which letter a model prefers, whatever the letter stands for.

Asked in every order, each option stands equally often behind each letter; averages by letter then
show the preference for a position, averages by role the preference for a content. In the published
order alone the two are only as separate as the random orders of the blocks make them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.filbbq.letters import LETTERS
from localbias.filbbq.sampling import option_probabilities
from localbias.filbbq.score import ROLES, role_codes
from localbias.filbbq.seeds import expected_scores


def position_table(probabilities: pd.DataFrame, **settings) -> pd.DataFrame:
    """Mean probability of an option by the letter it stands behind and the role it has.

    Returns
    -------
    DataFrame, one row per context × letter × role
        condition, letter, role, probability (mean), n (times the role stood behind the letter)
    """
    p, roles = option_probabilities(probabilities, **settings), role_codes(probabilities)
    long = pd.DataFrame({
        "condition": np.repeat(probabilities["condition"].to_numpy(), 3),
        "letter": np.tile(LETTERS, len(p)),
        "role": np.array(ROLES)[roles.ravel()],
        "probability": p[:, :3].ravel(),
    })
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
    """Expected scores of each order on its own: what the order alone does to a bias score.

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
