"""How many templates and prompts there are, and a subset of them that stays balanced."""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.errors import BadTable, BadValues
from localbias.prompts.generation import categories, generate_prompts, generator
from localbias.prompts.templates import read_templates, resolve_dataset, template_table
from localbias.registry import ranges


def table2(dataset: str = "auto", rules: str = "filbbq-2026", prompts: pd.DataFrame | None = None) -> pd.DataFrame:
    """Templates and prompts by category and origin: FilBBQ's Table 2, recomputed.

    Parameters
    ----------
    dataset, rules : str
        As for :func:`localbias.prompts.generation.generate_prompts`.
    prompts : pandas.DataFrame, optional
        Prompts already generated from the same templates by the same rules.

    Returns
    -------
    pandas.DataFrame
        Rows: each category's "translated" and "new" templates and their sum ("all"), then both
        categories together. Columns: category, origin, template_rows (rows of the template file),
        templates (different ids), with_prompts (ids that yield a prompt), without_prompts, prompts,
        fewest and most (prompts of a template that yields any), rows_with_prompts (rows of these ids).

    Examples
    --------
    >>> counts = table2("starter")
    >>> int(counts["prompts"].iloc[-1]) == len(generate_prompts("all", dataset="starter"))
    True
    """
    dataset = resolve_dataset(dataset)
    if prompts is None:
        prompts = generate_prompts("all", rules=rules, dataset=dataset)
    templates = pd.concat([template_table(read_templates(one, dataset)) for one in categories("all")])
    rows = []
    for category in [*categories("all"), "all"]:
        for origin in ("translated", "new", "all"):
            rows.append(
                {"category": category, "origin": origin}
                | _counts(_only(templates, category, origin), _only(prompts, category, origin))
            )
    table = pd.DataFrame(rows)
    return table[table["template_rows"] > 0].reset_index(drop=True)


def prompts_per_template(prompts: pd.DataFrame) -> pd.DataFrame:
    """Blocks, pairs and prompts of every template, in order: category, template, origin, pairs, blocks, prompts."""
    by = prompts.groupby(["category", "template", "origin"], sort=False)
    table = by.agg(pairs=("pair", "nunique"), blocks=("block", "nunique"), prompts=("prompt_id", "size"))
    return table.reset_index()


def sample(prompts: pd.DataFrame, n: int, seed: int = 0) -> pd.DataFrame:
    """At most ``n`` prompts in complete pairs, spread evenly over templates and categories.

    Every template's pairs are put in a random order of their own; the sample takes each template's
    first pair before any second one, templates in a random order that alternates between categories in
    proportion to how many templates they have. A larger sample with the same seed contains a smaller.

    Parameters
    ----------
    prompts : pandas.DataFrame
        Of :func:`localbias.prompts.generation.generate_prompts`.
    n : int
        Most prompts wanted; all of them when there are no more.
    seed : int
        Seed of the orders.

    Returns
    -------
    pandas.DataFrame
        Rows of ``prompts`` in their order. Both name orders, both questions and both contexts of each
        chosen pair are in it, so that an answerer who never looks at the question scores 0.

    Raises
    ------
    BadValues
        When not even one pair fits into ``n``.

    Examples
    --------
    >>> prompts = generate_prompts("all", dataset="starter")
    >>> small = sample(prompts, 64)
    >>> len(small) <= 64, small.groupby("pair")["polarity"].value_counts().unique().tolist()
    (True, [4])
    """
    pairs = (
        prompts.groupby("pair", sort=False)
        .agg(category=("category", "first"), template=("template", "first"), size=("prompt_id", "size"))
        .reset_index()
    )
    if pairs.empty or n < pairs["size"].min():
        raise BadValues(
            "the sample is too small",
            expected="room for one pair of blocks at least",
            got=f"n={n}",
            todo="ask for 8 prompts or more",
        )
    pairs["round"] = pairs.groupby(["category", "template"], sort=False).cumcount()
    order = []
    for (category, template), mine in pairs.groupby(["category", "template"], sort=False):
        shuffled = mine.iloc[generator(seed, "sample", category, template).permutation(len(mine))]
        order.append(shuffled.assign(round=range(len(mine))))
    pairs = _interleave(pd.concat(order), seed)
    chosen = pairs.loc[pairs["size"].cumsum() <= n, "pair"]
    return prompts[prompts["pair"].isin(chosen)].reset_index(drop=True)


def describe_sample(subset: pd.DataFrame, prompts: pd.DataFrame) -> dict[str, int]:
    """What a subset holds of the whole: prompts, pairs, templates, each beside ``of_…``."""
    keys = {"prompts": "prompt_id", "pairs": "pair", "templates": ["category", "template"]}
    stated = {}
    for name, key in keys.items():
        stated[name] = len(subset[key].drop_duplicates())
        stated[f"of_{name}"] = len(prompts[key].drop_duplicates())
    return stated


def invariants(prompts: pd.DataFrame) -> pd.DataFrame:
    """What must hold of every prompt, block and template, and how often it does not.

    Returns
    -------
    pandas.DataFrame
        One row an invariant: invariant, checked, violations.

    Raises
    ------
    BadTable
        When there is no prompt.
    """
    if prompts.empty:
        raise BadTable("there is no prompt to check", expected="a table of prompts", got="an empty one")
    roles = prompts[["role0", "role1", "role2"]]
    options = prompts[["ans0", "ans1", "ans2"]]
    each = np.sort(roles.to_numpy(dtype=str), axis=1) == ["biased", "counter", "unknown"]
    alike = np.sort(options.to_numpy(dtype=str), axis=1)
    right = roles.to_numpy()[np.arange(len(prompts)), prompts["label"]]
    shape = prompts["polarity"] + prompts["condition"]
    letters = [_tilt(prompts, roles[f"role{i}"]) for i in range(3)]
    checks = [
        ("one biased, one counter-biased, one unknown option", ~each.all(axis=1)),
        ("three different options", (alike[:, 1:] == alike[:, :-1]).any(axis=1)),
        ("unknown is right exactly in ambiguous contexts", (right == "unknown") != (prompts["condition"] == "ambig")),
        (
            "no slot is left unfilled",
            prompts[["context", "question", "ans0", "ans1", "ans2"]]
            .apply(lambda c: c.str.contains(r"[{}]"))
            .any(axis=1),
        ),
        (
            "a block is one negative and one non-negative question in two contexts",
            shape.groupby(prompts["block"]).nunique().ne(4) | prompts.groupby("block").size().ne(4),
        ),
        ("options stay in place within a block", options.groupby(prompts["block"]).nunique().ne(1).any(axis=1)),
        ("an answerer who does not read the question scores 0 in every block and context", _blind(prompts)),
        *(
            (f"always {letter}: as many biased as counter-biased answers", tilt.ne(0))
            for letter, tilt in zip("ABC", letters, strict=True)
        ),
    ]
    return pd.DataFrame(
        [(name, len(broken), int(broken.sum())) for name, broken in checks],
        columns=["invariant", "checked", "violations"],
    )


def _tilt(prompts: pd.DataFrame, answered: pd.Series) -> pd.Series:
    """Biased minus counter-biased answers, per template and context."""
    value = answered.map({"biased": 1, "counter": -1}).fillna(0)
    return value.groupby([prompts["category"], prompts["template"], prompts["condition"]]).sum()


def _blind(prompts: pd.DataFrame) -> pd.Series:
    """Blocks × contexts in which some option is not as often biased as counter-biased over the questions."""
    roles = prompts[["role0", "role1", "role2"]]
    value = roles.apply(lambda column: column.map({"biased": 1, "counter": -1}).fillna(0))
    return value.groupby([prompts["block"], prompts["condition"]]).sum().ne(0).any(axis=1)


def _only(table: pd.DataFrame, category: str, origin: str) -> pd.DataFrame:
    mine = (table["category"] == category) | (category == "all")
    return table[mine & ((table["origin"] == origin) | (origin == "all"))]


def _counts(templates: pd.DataFrame, prompts: pd.DataFrame) -> dict:
    ids = templates[["category", "id"]].drop_duplicates()
    sizes = prompts.groupby(["category", "template"]).size()
    return {
        "template_rows": len(templates),
        "templates": len(ids),
        "with_prompts": len(sizes),
        "without_prompts": len(ids) - len(sizes),
        "prompts": len(prompts),
        "fewest": int(sizes.min()) if len(sizes) else 0,
        "most": int(sizes.max()) if len(sizes) else 0,
        "rows_with_prompts": int(templates["id"].isin(prompts["template"].unique()).sum()),
    }


def _interleave(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Pairs by round, templates of the categories alternating in proportion to their number."""
    places = {}
    for category, mine in pairs.groupby("category", sort=True):
        names = mine["template"].unique()
        order = generator(seed, "sample", category).permutation(len(names))
        places |= {(category, names[i]): (rank + 0.5) / len(names) for rank, i in enumerate(order)}
    place = [places[key] for key in zip(pairs["category"], pairs["template"], strict=True)]
    return pairs.assign(place=place).sort_values(["round", "place", "category", "template"], kind="stable")


@ranges.checked
def subset(prompts: pd.DataFrame, n_prompts: int = 0, n_templates: int = 0, seed: int = 0) -> pd.DataFrame:
    """At most ``n_prompts`` prompts of at most ``n_templates`` templates, in complete pairs; 0: no limit.

    Few templates with several pairs each say more about a template than many with one. Templates are
    drawn at random, from each category in proportion, among those with as many pairs as would be taken
    of each (or the most there are).

    Raises
    ------
    BadValues
        When not even one pair fits.
    """
    if not n_prompts or n_prompts >= len(prompts):
        n_prompts = len(prompts)
    if n_templates:
        prompts = prompts[_in_templates(prompts, n_templates, n_prompts, seed)]
    return prompts if n_prompts >= len(prompts) else sample(prompts, n_prompts, seed)


def _in_templates(prompts, n_templates, n_prompts, seed):
    if n_templates < 1:
        raise BadValues("no templates to take", expected="n_templates >= 1, or 0 for all", got=str(n_templates))
    size = prompts.groupby(["category", "template", "pair"]).size()
    pairs = size.groupby(["category", "template"]).size()
    wanted = max(1, n_prompts // (n_templates * int(size.max())))
    chosen = []
    per_category = pairs.groupby("category").size()
    for i, (category, n) in enumerate(per_category.items()):
        share = max(1, round(n_templates * n / per_category.sum()))
        share = share if i + 1 < len(per_category) else max(1, n_templates - len(chosen))
        mine = pairs[category].sort_index()
        enough = mine[mine >= min(wanted, mine.nlargest(share).min())]
        order = generator(seed, "templates", category).permutation(len(enough))[:share]
        chosen += [(category, t) for t in enough.index[np.sort(order)]]
    return pd.MultiIndex.from_frame(prompts[["category", "template"]]).isin(chosen)
