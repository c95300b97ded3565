"""The order in which the options are shown, and how often each prompt is asked.

Small models prefer a letter whatever it stands for. Asking a prompt in several orders separates
that preference from the social one.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd

from localbias.errors import BadTable, unknown

ORDERS = {
    "published": ((0, 1, 2),),
    "cyclic": ((0, 1, 2), (1, 2, 0), (2, 0, 1)),
    "all-six": tuple(permutations(range(3))),
}
"""Name → permutations; position k shows the prompt's option ``permutation[k]``."""


def reorder(prompts: pd.DataFrame, orders: str = "published") -> pd.DataFrame:
    """Every prompt in every wanted order of its options.

    Returns
    -------
    DataFrame
        The prompts repeated, with ans0 … ans2, role0 … role2, label and order as *shown*, and a
        column ``permutation`` ("012" is the published order). ``cyclic`` puts each option once in
        each position; ``all-six`` does so with each pair of options in both sequences.

    >>> one = pd.DataFrame([dict(prompt_id=7, ans0="x", ans1="y", ans2="z", role0="biased", role1="counter",
    ...     role2="unknown", label=2)])
    >>> reorder(one, "cyclic")[["permutation", "ans0", "ans1", "ans2", "label"]].values.tolist()
    [['012', 'x', 'y', 'z', 2], ['120', 'y', 'z', 'x', 1], ['201', 'z', 'x', 'y', 0]]
    """
    if orders not in ORDERS:
        raise unknown("option order", orders, ORDERS)
    if prompts.empty:
        raise BadTable("there is nothing to ask", expected="one prompt or more", got="an empty table")
    shown = [_shown(prompts, p) for p in ORDERS[orders]]
    return pd.concat(shown, ignore_index=True).sort_values(["prompt_id", "permutation"], ignore_index=True)


def _shown(prompts, permutation):
    table = prompts.copy()
    for kind in ("ans", "role"):
        for k, source in enumerate(permutation):
            table[f"{kind}{k}"] = prompts[f"{kind}{source}"].to_numpy()
    table["label"] = np.argsort(permutation)[prompts["label"].to_numpy()]
    table["order"] = table["role0"].str[0] + table["role1"].str[0] + table["role2"].str[0]
    table["permutation"] = "".join(map(str, permutation))
    return table
