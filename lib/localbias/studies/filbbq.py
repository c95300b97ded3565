"""Tables of FilBBQ's pages: labels, what is shown of many templates, the words for what was asked."""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.errors import BadValues
from localbias.measures.seeds import EXACT_LIMIT
from localbias.studies import profiles
from localbias.studies.seeds import check_probabilities, run_distribution, seed_scores, standard_error_by_seeds
from localbias.studies.variance import FEWEST

CONTEXTS = {"ambig": "ambiguous (s_amb)", "disambig": "disambiguated (s_dis)"}
SHORT = {"ambig": "amb", "disambig": "dis"}
CATEGORIES = {"gender_identity": "gender", "sexual_orientation": "sexual orientation", "all": "all"}
CAUTION = "Labels of templates name the stereotypes that are tested; they are offensive to some readers."
TITLE = 44
"""Characters of a template's label."""


def subset_note(chosen: pd.DataFrame, whole: pd.DataFrame) -> str:
    """The banner's sentence on what part of the prompts a page asks."""
    if len(chosen) == len(whole):
        return f"All {len(whole):,} prompts of {_templates(whole)} templates."
    return (
        f"A subset: {len(chosen):,} of {len(whole):,} prompts, from {_templates(chosen)} of {_templates(whole)} "
        "templates (parameters n_prompts, n_templates)."
    )


def source_words(prompts: pd.DataFrame) -> str:
    """Where prompts come from, to begin a sentence with."""
    names = {"filbbq": "In FilBBQ", "starter": "With the starter's templates (no finding)"}
    dataset = prompts["dataset"].iloc[0]
    return names.get(dataset, f"With the prompts of {dataset}")


def asked_words(asked: pd.DataFrame, whole: pd.DataFrame) -> str:
    """Which prompts a score rests on, for a sentence: how many in each context, from how many templates."""
    each = int(asked["condition"].value_counts().max())
    if len(asked) == len(whole):
        return f"all {each:,} prompts in each context, from {_templates(asked)} templates"
    return f"a subset: {each:,} prompts in each context, from {_templates(asked)} of {_templates(whole)} templates"


def scope_words(asked: pd.DataFrame, whole: pd.DataFrame) -> str:
    """Which templates a sentence speaks of: "of the benchmark", or "asked" for a part or other templates."""
    return "of the benchmark" if len(asked) == len(whole) and asked["dataset"].iloc[0] == "filbbq" else "asked"


def _templates(table):
    return len(table[["category", "template"]].drop_duplicates())


def labelled(table: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Add ``title`` (template and what it is about) and ``context`` (in words) to a table of scores."""
    about = prompts.drop_duplicates(["category", "template"]).set_index(["category", "template"])
    about = about["social_value"].fillna("").astype(str) if "social_value" in about else pd.Series(dtype=str)
    keys = zip(table["category"], table["template"], strict=True)
    titles = [f"{t}: {about.get((c, t), '')}".rstrip(": ") for c, t in keys]
    out = table.assign(title=[t if len(t) <= TITLE else t[: TITLE - 1] + "…" for t in titles])
    out["dimension"] = out["category"].map(lambda c: CATEGORIES.get(c, c))
    return out.assign(context=out["condition"].map(CONTEXTS))


def overall(table: pd.DataFrame) -> pd.DataFrame:
    """The rows over all prompts, by context (index "ambig", "disambig")."""
    return table[table["level"] == "overall"].set_index("condition")


def template_medians(table: pd.DataFrame, column: str) -> pd.Series:
    """A column's median over templates, by context."""
    return table[table["level"] == "template"].groupby("condition")[column].median()


def stereotypes(expected: pd.DataFrame, wanted="auto", n: int = 3) -> pd.DataFrame:
    """The templates to show: those asked for, or the ``n`` of each category with the largest |s_amb|.

    Returns
    -------
    DataFrame: category, template
    """
    rows = expected.query("level == 'template' and condition == 'ambig'")
    if wanted != "auto":
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        chosen = rows[rows["template"].isin(names)]
        if missing := set(names) - set(chosen["template"]):
            raise BadValues(
                "no such template among the prompts asked",
                got=", ".join(sorted(missing)),
                expected=", ".join(sorted(rows["template"])),
            )
        return chosen[["category", "template"]].reset_index(drop=True)
    rows = rows.assign(size=rows["expectation"].abs()).sort_values(["size", "template"], ascending=[False, True])
    return rows.groupby("category").head(n).sort_values("category", kind="stable")[["category", "template"]]


def seed_picture(
    probabilities: pd.DataFrame, chosen: pd.DataFrame, condition: str, seeds: int, first_seed: int = 0, **settings
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row a seed for the chosen templates in one context, and the exact law behind them, for a jitter chart.

    Returns
    -------
    runs : DataFrame: title, context, seed, score
    law : DataFrame: title, context, score, probability (in steps fine enough for a picture)
    """
    runs = seed_scores(probabilities, seeds, first_seed=first_seed, levels=["template"], **settings)
    runs = runs[runs["condition"] == condition].merge(chosen, on=["category", "template"])
    runs = labelled(runs, probabilities)
    laws = []
    for key, mine in runs.groupby(["category", "template", "condition"], sort=False):
        law = run_distribution(probabilities, *key, **settings)
        law = law.assign(title=mine["title"].iloc[0], context=mine["context"].iloc[0])
        laws.append(_in_steps(law, int(mine["n"].iloc[0])))
    law = pd.concat(laws, ignore_index=True).rename(columns={"value": "score"})
    return runs.dropna(subset="score"), law


def _in_steps(law, n):
    """Probabilities summed in steps, so that uneven values make an even shape."""
    step = max(1 / n, 0.04) if n <= EXACT_LIMIT else 0.01
    at = (law["value"] / step).round() * step
    out = law.assign(value=at.clip(-1, 1)).groupby(["title", "context", "value"], as_index=False, sort=False)
    return out["probability"].sum()


def off_option(probabilities: pd.DataFrame) -> pd.DataFrame:
    """Probability of no option by template and context: mean, least, most, and of each letter."""
    p = check_probabilities(probabilities)
    table = probabilities[["model", "category", "template", "condition"]].assign(
        A=p[:, 0], B=p[:, 1], C=p[:, 2], off_option=p[:, 3]
    )
    groups = table.groupby(["model", "category", "template", "condition"], as_index=False)
    return groups.agg(
        prompts=("A", "size"),
        A=("A", "mean"),
        B=("B", "mean"),
        C=("C", "mean"),
        off_option=("off_option", "mean"),
        least=("off_option", "min"),
        most=("off_option", "max"),
    )


def estimable(shares: pd.DataFrame) -> pd.DataFrame:
    """Sources of variance with enough levels for a share (:data:`localbias.studies.variance.FEWEST`)."""
    return shares[shares["units"] >= FEWEST]


def sample_prompts(prompts: pd.DataFrame, n: int = 8) -> pd.DataFrame:
    """A few prompts to read: context, question, options, which is right, and the English gloss where there is one."""
    first = prompts.drop_duplicates(["category", "template", "condition", "polarity"])
    spread = first.iloc[np.unique(np.linspace(0, len(first) - 1, n).astype(int))]
    table = pd.DataFrame(
        {
            "template": spread["template"],
            "context": spread["context"],
            "question": spread["question"],
            "options": [f"A. {a}  B. {b}  C. {c}" for a, b, c in spread[["ans0", "ans1", "ans2"]].to_numpy()],
            "right": ["ABC"[k] for k in spread["label"]],
        }
    )
    english = [c for c in ("english_context", "english_question") if c in spread]
    if english and (spread[english].fillna("") != "").any(axis=None):
        table["in English"] = spread[english].fillna("").agg(" ".join, axis=1).str.strip()
    return table.reset_index(drop=True)


def error_series(expected: pd.DataFrame) -> pd.DataFrame:
    """Standard error by number of seeds: overall, and of the template in the middle, in both contexts.

    Returns
    -------
    DataFrame: series, seeds, standard_error
    """
    long = standard_error_by_seeds(expected[expected["level"].isin(["overall", "template"])])
    middle = long.groupby(["level", "condition", "seeds"], as_index=False)["standard_error"].median()
    names = {"overall": "all prompts", "template": "a template (median)"}
    middle["series"] = middle["level"].map(names) + ", " + middle["condition"].map(CONTEXTS)
    return middle[["series", "seeds", "standard_error"]]


def both_contexts(measure, probabilities: pd.DataFrame, **settings) -> pd.DataFrame:
    """A measure of one context (``measure(probabilities, condition, …)``) in both, one below the other."""
    tables = [measure(probabilities, condition, **settings).assign(condition=condition) for condition in CONTEXTS]
    return pd.concat(tables, ignore_index=True).assign(context=lambda t: t["condition"].map(CONTEXTS))


def beside_paper(prompts: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """The 30 scores of FilBBQ's Tables 3–5 beside those of a model of ours and what guessers reach.

    Parameters
    ----------
    prompts : all prompts, generated from the published templates
    scores : DataFrame from expected_scores of the chosen model

    Returns
    -------
    DataFrame
        As :func:`localbias.studies.profiles.beside_guessers` returns, with ``printed_of`` for its model and
        ``here``: this model's expected scores of the templates that can be meant, in the same context.
    """
    table = profiles.beside_guessers(profiles.sizes(prompts))
    ours = scores[scores["level"] == "template"].set_index(["template", "condition"])["expectation"]
    here = [
        ", ".join(f"{ours[t, profiles.CONDITIONS[row.context]]:+.3f}".replace("-", "−") for t in row.templates.split())
        for row in table.itertuples()
    ]
    return table.rename(columns={"model": "printed_of"}).assign(here=here)


def paper_facts(table: pd.DataFrame, prompts: pd.DataFrame) -> dict[str, object]:
    """What notebook 07 says of the printed profiles: what chance, one run, and lists of guessers could give."""
    shared = int(profiles.overlaps()["shared"].sum())
    per_template = profiles.sizes(prompts)
    labels = profiles.stereotypes(prompts)
    law = profiles.overlap_law(labels.nunique())
    guessed = profiles.guesser_overlaps(profiles.guesser_lists(per_template), labels)
    masked = table[table["place"] == "Table 5"]
    return {
        "n": len(table),
        "dice": int((table["exceeds"] != "none").sum()),
        "fixed": int((table["exceeds"] == "both").sum()),
        "not_one": int((~table["one_run"]).sum()),
        "masked": len(masked),
        "masked_one": int(masked["one_run"].sum()),
        "luck": float(masked["possible"].prod()),
        "masked_fixed": int((masked["exceeds"] == "both").sum()),
        "among": len(per_template) // 2,
        "smallest": int(per_template.min()),
        "small": int((per_template == per_template.min()).sum()) // 2,
        "shared": shared,
        "stereotypes": labels.nunique(),
        "shared_chance": float(law @ np.arange(len(law))),
        "shared_p": float(law[shared:].sum()),
        "shared_guessed": float(guessed.mean()),
        "guessed_p": float((guessed >= shared).mean()),
    }
