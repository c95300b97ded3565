"""FilBBQ's side of the ledger: what its templates, its printed values and their arithmetic say, as tables to judge.

No answers or scores of FilBBQ's runs are published. What can be held against its claims is the template files
(``filbbq_counts``), the printed profiles (``filbbq_printed``, ``filbbq_entries``, ``filbbq_overlaps``) and what follows
from both: the number of prompts of a template bounds what one run and what fifty can show (``filbbq_arithmetic``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.stats import binom

from localbias import sources
from localbias.ledger.judges import BEYOND, DESCRIBED, HOLDS, NOT, PART, UNKNOWN, Finding, meets
from localbias.ledger.settings import Settings
from localbias.prompts.generation import generate_prompts
from localbias.prompts.inventory import invariants, table2
from localbias.prompts.reproduce import compare_with_published
from localbias.studies import profiles
from localbias.studies.published import printed

MODELS = {"Table 3": "SEA-LION", "Table 4": "SeaLLMs", "Table 5": "roberta-tagalog"}
LISTS = {"Table 3": "sea_lion", "Table 4": "seallms", "Table 5": "roberta"}
SEEDS, TEMPLATES = 50, 123
LABELS = ("babae", "bading", "bakla", "lalaki", "lesbiyana", "tomboy")
EMOTIONAL, FASHION = "Women more emotional than men", "Gay people like fashion, design and gossip"


def _named(rows: dict[str, float]) -> pd.DataFrame:
    return pd.DataFrame({"name": list(rows), "value": [float(v) for v in rows.values()]})


@lru_cache(maxsize=1)
def _prompts() -> pd.DataFrame:
    return generate_prompts("all", dataset="filbbq")


# --- the template files -----------------------------------------------------------------------


@lru_cache(maxsize=1)
def counts() -> pd.DataFrame:
    """FilBBQ's numbers, counted from its templates and the prompts that they give (FilBBQ, Table 2: prompts).

    Returns
    -------
    DataFrame: ``name``, ``value``
    """
    prompts = _prompts()
    by = table2("filbbq", prompts=prompts).set_index(["category", "origin"])
    whole, new = by.loc[("all", "all")], by.loc[("all", "new")]
    rows = {"prompts": whole.prompts, "template rows": whole.template_rows}
    rows["template rows that yield prompts"] = whole.rows_with_prompts
    rows["templates that yield prompts"] = whole.with_prompts
    rows["new templates"] = new.template_rows
    rows["share of new templates"] = new.template_rows / whole.template_rows
    for category, said in (("gender_identity", "gender"), ("sexual_orientation", "orientation")):
        for origin, kind in (("translated", "translated or modified"), ("new", "new")):
            rows[f"{said} templates, {kind}"] = by.loc[(category, origin)].template_rows
        rows[f"{said} templates"] = by.loc[(category, "all")].template_rows
        rows[f"{said} prompts"] = by.loc[(category, "all")].prompts
    sizes = prompts.groupby(["category", "template"]).size()
    rows["fewest prompts of a template"], rows["most prompts of a template"] = sizes.min(), sizes.max()
    rows["fewest prompts of a template row"] = prompts.groupby(["category", "template", "version"]).size().min()
    checked = invariants(prompts).set_index("invariant")
    right, stay = (
        checked.loc[k]
        for k in ("unknown is right exactly in ambiguous contexts", "options stay in place within a block")
    )
    rows["prompts whose right answer in an ambiguous context is a person"] = right["violations"]
    rows["share of blocks whose four prompts have one order"] = 1 - stay["violations"] / stay["checked"]
    detail = compare_with_published().set_index("check")["detail"]["option order drawn evenly"]
    rows["p that the published orders are drawn evenly"] = detail.split("p = ")[1].split()[0]
    held = prompts[prompts["category"] == "sexual_orientation"]
    labels = set(held["name1"]) | set(held["name2"])
    names = pd.read_csv(sources.fetch("filbbq/templates/vocabulary_proper_names.csv"))["source"]
    rows["labels of the six"] = len(labels & set(LABELS))
    rows["other labels"] = len(labels - set(LABELS))
    rows["names of the statistics authority"] = names.eq("PSA_firstnames").sum()
    rows["names of other sources"] = names.ne("PSA_firstnames").sum()
    return _named(rows)


# --- the printed profiles ---------------------------------------------------------------------


@lru_cache(maxsize=1)
def entries() -> pd.DataFrame:
    """The stereotypes of all templates that yield prompts, and where the printed profiles list them.

    Returns
    -------
    DataFrame
        A row a stereotype: ``dimension`` (gender | orientation), ``stereotype`` (the printed entry in our words, else
        what the template file says), ``templates``, a yes-or-no column a theme in both readings (``emotion_narrow``,
        ``emotion_wide`` …) and a list (``sea_lion``, ``seallms``, ``roberta``; in either context).
    """
    prompts = _prompts()
    labels = profiles.stereotypes(prompts).rename("stereotype")
    category = prompts.drop_duplicates("template").set_index("template")["category"]
    dimension = category.map({"gender_identity": "gender", "sexual_orientation": "orientation"}).rename("dimension")
    rows = pd.concat([dimension, labels], axis=1).reset_index()
    out = (
        rows.groupby(["dimension", "stereotype"], sort=False)["template"]
        .agg(" ".join)
        .rename("templates")
        .reset_index()
    )
    for theme in ("emotion", "domesticity", "interests", "polygamy"):
        for reading in ("narrow", "wide"):
            out[f"{theme}_{reading}"] = profiles.by_theme(out, [theme], reading == "wide")
    said = printed("FilBBQ").query("place in @profiles.PROFILES")
    for place, column in LISTS.items():
        out[column] = out["stereotype"].isin(set(said.loc[said["place"] == place, "entry"]))
    return out


def facts() -> pd.DataFrame:
    """Numbers that the printed values alone give (FilBBQ, section 5.2: profiles).

    Returns
    -------
    DataFrame: ``name``, ``value``
    """
    said = printed("FilBBQ").query("place in @profiles.PROFILES").assign(model=lambda t: t["place"].map(MODELS))
    gender = ~said["templates"].str.contains("-")  # by its templates: Table 5 prints two of orientation as gender
    rows: dict[str, float] = {}
    for model, mine in said.groupby("model", sort=False):
        of = mine[gender[mine.index]]
        rows[f"{model}: gender entries of ten"] = len(of)
        for reading in ("narrow", "wide"):
            wide = reading == "wide"
            rows[f"{model}: of them emotion or domesticity, {reading}"] = profiles.by_theme(
                of, ["emotion", "domesticity"], wide
            ).sum()
            rest = mine[~gender[mine.index]]
            rows[f"{model}: entries of orientation"] = len(rest)
            rows[f"{model}: of them polygamy, {reading}"] = profiles.by_theme(rest, ["polygamy"], wide).sum()
    value = said.set_index(["model", "context", "entry"])["value"]
    for model, context, entry in value.index:
        rows[f"{model}, {context}: {entry}"] = value[model, context, entry]
    for (model, context), mine in said.groupby(["model", "context"], sort=False):
        above = mine["value"] > 0.20
        rows[f"{model}, {context}: scores known to be above 0.20"] = above.sum()
        rows[f"{model}, {context}: scores that can be above 0.20"] = TEMPLATES if above.all() else above.sum()
    ranked = said.set_index(["model", "context", "rank"])["value"]
    for context in profiles.CONDITIONS:
        for other in ("SeaLLMs", "roberta-tagalog"):
            higher = ranked["SEA-LION", context] > ranked[other, context]
            rows[f"{context}: ranks of five with a higher score of SEA-LION than of {other}"] = higher.sum()
    for model in ("SeaLLMs", "roberta-tagalog"):
        rows[f"{model}: entries of ten that SEA-LION's list has in the same context"] = sum(
            ("SEA-LION", context, entry) in value.index for m, context, entry in value.index if m == model
        )
    for score in (0.57, 0.22, 0.31, 0.07):
        least = profiles.answer_shares(score)
        rows[f"{score}: percentage points more biased than counter answers"] = 100 * least["difference"]
        rows[f"{score}: per cent more likely, at least"] = 100 * (least["ratio"] - 1)
    return _named(rows)


# --- what the numbers of prompts allow --------------------------------------------------------


@lru_cache(maxsize=1)
def beside() -> pd.DataFrame:
    """The 30 printed entries beside what guessers reach, each with its ``model`` by its short name."""
    table = profiles.beside_guessers(profiles.sizes(_prompts()))
    return table.assign(model=table["place"].map(MODELS))


@lru_cache(maxsize=1)
def arithmetic() -> pd.DataFrame:
    """What one run and fifty can show, given how many prompts a template has in a context (FilBBQ, section 5.1: seeds).

    Where answers are needed, they are taken to be independent, each an option, none "unknown" (the widest spread that a
    mean score allows).

    Returns
    -------
    DataFrame: ``name``, ``value``
    """
    n = profiles.sizes(_prompts())
    small, large = sorted({int(n[t, "ambig"]) for t in ("ENBBQ_13", "ENBBQ_28", "ENBBQ_37")})
    fashion = int(n["ENBBQ-08", "ambig"])
    rows: dict[str, float] = {}
    for size in (small, large):
        p = profiles.answer_shares(0.22)["biased"]
        rows[f"{size} prompts, mean 0.22: probability of −1.00 in a run of fifty"] = _any((1 - p) ** size)
        rows[f"{size} prompts, mean 0.57: probability of a run at 0.00 or below"] = binom.cdf(
            size // 2, size, profiles.answer_shares(0.57)["biased"]
        )
        rows[f"emotional with {size} prompts: spread of a run over that of fashion"] = _spread(0.57, size) / _spread(
            0.31, fashion
        )
    p = profiles.answer_shares(0.31)["biased"]
    biased = np.arange(fashion + 1)
    inside = (2 * biased / fashion - 1 >= 0) & (2 * biased / fashion - 1 <= 0.60)
    rows["fashion, mean 0.31: probability of a run from 0.00 to 0.60"] = binom.pmf(biased, fashion, p)[inside].sum()
    counter = profiles.answer_shares(0.07)["counter"]
    for k in (fashion, small):
        rows[f"{k} answers, mean 0.07: probability of two runs of fifty at −1.00"] = binom.sf(1, SEEDS, counter**k)
    rows["drawn answers: spread of the mean of fifty over a run's"] = SEEDS**-0.5
    rows["one answer kept under every seed: spread of the mean of fifty over a run's"] = 1.0
    crime = int(n["ENBBQ-03", "ambig"])
    for guesser in profiles.GUESSERS:
        drawn = profiles.guesser_scores(np.array([crime]), "ambig", guesser, SEEDS, 20_000)
        rows[f"pedophilia: probability that a guesser who {profiles.GUESSERS[guesser]} scores as much"] = float(
            np.mean(drawn >= 0.16 - profiles.PRINTED)
        )
    return _named(rows)


def _any(p: float) -> float:
    return float(-np.expm1(SEEDS * np.log1p(-p)))


def _spread(score: float, n: int) -> float:
    """Standard deviation of one run's s_amb over n prompts without "unknown" answers."""
    return float(np.sqrt((1 - score**2) / n))


# --- judges of their own ----------------------------------------------------------------------


@lru_cache(maxsize=2)
def guessed(guesser: str) -> np.ndarray:
    """What guessers list, as rows of :func:`entries`: (draws, 10) ints."""
    row_of = {t: row for row, held in enumerate(entries()["templates"]) for t in held.split()}
    lists = profiles.guesser_lists(profiles.sizes(_prompts()), guesser)
    return np.vectorize(row_of.get)(lists).reshape(len(lists), -1)


def listed(
    table: pd.DataFrame, settings: Settings, *, lists: list[str], of: str, within: str = "", bound: float = 0.5
) -> Finding:
    """Printed lists against guessers' lists: is most of what is listed so, and more than guessers would list?

    Parameters
    ----------
    table : DataFrame
        As :func:`entries` returns.
    lists : columns of it, the models whose lists are put together
    of, within : which stereotypes the claim means, and among which of them it speaks ("dimension == 'gender'")
    bound : the share that must be exceeded; 1: all of them

    Returns
    -------
    Finding
        Holds when the share exceeds the bound; beyond chance when fewer than alpha of the guessers (as many together as
        there are lists; the larger share of the two kinds) have as large a share. In part when only the latter.
    """
    inside = meets(table, within).to_numpy() if within else np.ones(len(table), bool)
    met = meets(table, of).to_numpy()
    chosen = table[lists].any(axis=1).to_numpy() & inside
    k, hits = int(chosen.sum()), int((chosen & met).sum())
    share = hits / k if k else np.nan
    chance, p = [], 0.0
    for guesser in profiles.GUESSERS:
        rows = guessed(guesser)
        rows = rows[: len(rows) // len(lists) * len(lists)].reshape(-1, len(lists) * rows.shape[1])
        held = np.zeros((len(rows), len(table)), bool)
        np.put_along_axis(held, rows, True, axis=1)
        size = (held & inside).sum(axis=1)
        shares = np.divide((held & inside & met).sum(axis=1), size, out=np.zeros(len(rows)), where=size > 0)
        chance.append(float(shares.mean()))
        p = max(p, float((shares >= share - 1e-9).mean()))
    there = bool(k) and (hits == k if bound == 1 else hits > bound * k)
    sure = bool(hits) and p < settings.alpha
    return Finding(
        HOLDS if there else PART if sure else NOT,
        f"{hits} of the {k} listed stereotypes; of all {inside.sum()} that could be listed {(inside & met).sum()}",
        (BEYOND if sure else DESCRIBED) if there else "",
        share,
        p=p if k else np.nan,
        n=k,
        chance=f"{np.mean(chance):.0%} of what guessers list",
        evidence=table.assign(ok=met)[chosen],
    )


@lru_cache(maxsize=3)
def shared_by_chance(null: str) -> np.ndarray:
    """Probabilities that three lists share 0, 1, 2, … entries, pair by pair and over both contexts."""
    if null == "random":
        return profiles.overlap_law(len(entries()))
    lists = profiles.guesser_lists(profiles.sizes(_prompts()), null)
    drawn = profiles.guesser_overlaps(lists, profiles.stereotypes(_prompts()))
    return np.bincount(drawn, minlength=31) / len(drawn)


def overlap(table: pd.DataFrame, settings: Settings, *, null: str = "dice") -> Finding:
    """Do lists share more than chance gives? ``table`` has what each two share.

    ``null``: "random" (drawn from all stereotypes alike) or a guesser, whose lists favour templates of few prompts.
    """
    shared, law = int(table["shared"].sum()), shared_by_chance(null)
    p, mean = float(law[shared:].sum()), float(law @ np.arange(len(law)))
    verdict = HOLDS if p < settings.alpha else PART if shared > mean else NOT
    figure = f"{shared} entries shared, pair by pair, of {5 * len(table)} possible"
    support = BEYOND if verdict == HOLDS else ""
    chance = f"{mean:.1f} shared"
    return Finding(verdict, figure, support, float(shared), p=p, n=len(table), chance=chance, evidence=table)


def profile(table: pd.DataFrame, settings: Settings, *, decides: str = "") -> Finding:
    """No verdict, since no score is published; what the printed values show by themselves, and what guessers reach."""
    n = len(table)
    falls = table.groupby("context")["value"].apply(lambda held: held.is_monotonic_decreasing).all()
    dice, fixed = (table["exceeds"] != "none").sum(), (table["exceeds"] == "both").sum()
    figure = (
        f"no score is published; {n} printed values, {'in' if falls else 'not in'} falling order; "
        f"{n - table['one_run'].sum()} cannot be the score of a single run"
    )
    chance = (
        f"at the same rank a guesser who throws anew under every seed reaches {n - dice} of the {n}, one who has "
        f"thrown once and repeats it {n - fixed}"
    )
    return Finding(UNKNOWN, figure, n=n, chance=chance, evidence=table.assign(ok=table["exceeds"] == "both"))


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "filbbq_counts": counts,
    "filbbq_entries": entries,
    "filbbq_facts": facts,
    "filbbq_beside": beside,
    "filbbq_arithmetic": arithmetic,
    "filbbq_overlaps": profiles.overlaps,
}
"""FilBBQ's tables: name → how they are made."""
_FOLDER = "filbbq/templates/"
NEEDS = dict.fromkeys(TABLES, _FOLDER) | {"filbbq_counts": "filbbq/", "filbbq_facts": ""}
"""The published files that each needs ("": none)."""
JUDGES = {judge.__name__: judge for judge in (listed, overlap, profile)}
"""Judges that no general one can be."""
