"""What notebook 07 says and shows: subsets, labels, numbers for its sentences. Nothing is measured here."""

from __future__ import annotations

import numpy as np
import pandas as pd

from localbias.errors import BadValues
from localbias.measures.null import attainable_level
from localbias.measures.seeds import EXACT_LIMIT
from localbias.prompts.generation import generator
from localbias.prompts.inventory import sample
from localbias.registry import ranges
from localbias.studies import profiles
from localbias.studies.lowest_scores import anywhere, most_answers
from localbias.studies.sampling import check_probabilities
from localbias.studies.seeds import run_distribution, seed_scores, seeds_needed, standard_error_by_seeds
from localbias.studies.variance import FEWEST

CONTEXTS = {"ambig": "ambiguous (s_amb)", "disambig": "disambiguated (s_dis)"}
SHORT = {"ambig": "amb", "disambig": "dis"}
CATEGORIES = {"gender_identity": "gender", "sexual_orientation": "sexual orientation", "all": "all"}
CAUTION = "Labels of templates name the stereotypes that are tested; they are offensive to some readers."
TITLE = 44
"""Characters of a template's label."""


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


def off_option_facts(probabilities: pd.DataFrame) -> dict:
    """Numbers on the probability of no option, for a sentence."""
    p = check_probabilities(probabilities)
    worst = off_option(probabilities).nlargest(1, "off_option").iloc[0]
    return {
        "on": 1 - p[:, 3].mean(),
        "off": p[:, 3].mean(),
        "low": p[:, 3].min(),
        "high": p[:, 3].max(),
        "letter_a": p[:, 0].mean(),
        "letter_b": p[:, 1].mean(),
        "letter_c": p[:, 2].mean(),
        "n": len(p),
        "worst": worst["template"],
        "worst_off": worst["off_option"],
    }


def written_facts(written: pd.DataFrame) -> dict:
    """How many written answers can be read, for a sentence."""
    n, begins, parsed = len(written), written["begins"].astype(bool), written["answer"].astype(float) >= 0
    reasons = written.loc[~parsed, "reason"].value_counts()
    return {
        "n": n,
        "prompts": written["prompt_id"].nunique(),
        "parsed": parsed.mean() if n else np.nan,
        "begins": int(begins.sum()),
        "kept": f"{parsed[begins].mean():.0%}" if begins.any() else "none",
        "by_text": int((written["reason"] == "text").sum()),
        "reasons": ", ".join(f"{r}: {k}" for r, k in reasons.items()) or "none",
    }


def spread_facts(expected: pd.DataFrame) -> dict:
    """Expected scores and how far one seed scatters, for sentences: overall, and for a template in the middle."""
    facts = {"off": expected.query("level == 'overall'")["off_option"].mean()}
    for condition, name in SHORT.items():
        rows = expected[expected["condition"] == condition]
        overall = rows.query("level == 'overall'").iloc[0]
        facts |= {
            f"s_{name}": overall["expectation"],
            f"sd_{name}": overall["sd"],
            f"template_sd_{name}": float(rows.query("level == 'template'")["sd"].median()),
        }
    return facts


def seed_facts(expected: pd.DataFrame, summary: pd.DataFrame, wanted_error: float = 0.01) -> dict:
    """What seeds do to scores, for sentences: those of :func:`spread_facts`, and what was drawn."""
    facts = spread_facts(expected)
    for condition, name in SHORT.items():
        templates = expected[(expected["level"] == "template") & (expected["condition"] == condition)]
        drawn = summary[summary["condition"] == condition]
        mine = drawn[drawn["level"] == "overall"].iloc[0]
        facts |= {
            f"drawn_{name}": mine["mean_defined"],
            f"pooled_{name}": mine["pooled"],
            f"seeds_overall_{name}": float(seeds_needed(facts[f"sd_{name}"], wanted_error)),
            f"seeds_template_{name}": float(seeds_needed(facts[f"template_sd_{name}"], wanted_error)),
            f"largest_sd_{name}": templates["sd"].max(),
            f"undefined_{name}": int(mine["n_undefined"]),
            f"template_undefined_{name}": int(drawn.loc[drawn["level"] == "template", "n_undefined"].sum()),
        }
    return facts | {"wanted_error": wanted_error, "seeds": int(summary["seeds"].iloc[0])}


def sweep_facts(temperatures: pd.DataFrame, top_ps: pd.DataFrame) -> dict:
    """What sampling settings change, for a sentence (ambiguous contexts)."""
    by_temperature = temperatures[temperatures["condition"] == "ambig"].set_index("temperature")["sd"]
    by_top_p = top_ps[top_ps["condition"] == "ambig"].dropna(subset="unparsed").set_index("top_p")["unparsed"]
    return {
        "cold": by_temperature.get(0.1, np.nan),
        "hot": by_temperature.get(1.5, np.nan),
        "top_p": by_top_p.index.min(),
        "parsed": 1 - by_top_p.iloc[0],
        "all_parsed": 1 - by_top_p.get(1.0, np.nan),
    }


def profile_facts(profile: pd.DataFrame, alpha: float = 0.05, draws: int = 2000) -> dict:
    """Numbers on a bias profile, for sentences.

    ``small_p`` templates have p ≤ alpha, ``within_reach`` could (from one pair p is always 1, from four at least
    1/8), and an unbiased guesser has ``by_chance`` of them. ``off_zero`` intervals exclude 0 where p > alpha.
    """
    defined = profile.dropna(subset="score")
    level = defined["pairs"].map(lambda n: attainable_level(n, alpha, draws))
    small = defined["p_value"] <= alpha
    off_zero = ((defined["ci_low"] > 0) | (defined["ci_high"] < 0)) & ~small
    top = defined.iloc[0]
    return {
        "templates": len(defined),
        "single": int((defined["pairs"] == 1).sum()),
        "small_p": int(small.sum()),
        "within_reach": int((level > 0).sum()),
        "by_chance": level.sum(),
        "survive": int(defined["survives"].sum()),
        "least_p": float(min(defined["pairs"].map(_least_p), default=np.nan)),
        "most_pairs": int(defined["pairs"].max()),
        "off_zero": int(off_zero.sum()),
        "intervals": _intervals(defined["pairs"], int(off_zero.sum()), alpha),
        "alpha": alpha,
        "survivors": ", ".join(defined.loc[defined["survives"], "template"].head(5)) or "none",
        "top": top["template"],
        "top_score": top["score"],
        "top_low": top["ci_low"],
        "top_high": top["ci_high"],
        "top_shrunken": top["shrunken"],
        "top_pairs": int(top["pairs"]),
        "top_q": top["q_value"],
        "mean_size": defined["score"].abs().mean(),
        "mean_shrunken": defined["shrunken"].abs().mean(),
    }


def _intervals(pairs, off_zero, alpha):
    """What intervals rest on, as a sentence."""
    several = pairs[pairs > 1]
    if several.empty:
        return "A single pair of prompts has no interval."
    numbers = " to ".join(dict.fromkeys(str(n) for n in (several.min(), several.max())))
    return (
        f"Intervals come from bootstrapping a template's pairs ({numbers}) and are rough where these are few: "
        f"{off_zero} leave out 0 although p > {alpha:.2f}."
    )


def _least_p(pairs):
    """The smallest two-sided p that exchanging roles of so many pairs can give, all patterns taken."""
    return 2.0 / 2**pairs


def estimable(shares: pd.DataFrame) -> pd.DataFrame:
    """Sources of variance with enough levels for a share (:data:`localbias.studies.variance.FEWEST`)."""
    return shares[shares["units"] >= FEWEST]


def share_facts(shares: pd.DataFrame) -> dict:
    """The shares of variance by short names, for sentences; NaN from too few levels."""
    shares = shares.assign(share=shares["share"].where(shares["units"] >= FEWEST))
    names = {
        "template": "template",
        "wording and names": "wording",
        "who is named first": "first",
        "question polarity": "polarity",
        "option order": "order",
        "sampling seed": "seed",
    }
    facts = {names[s]: v for s, v in zip(shares["source"], shares["share"], strict=True)}
    units = int(shares.loc[shares["source"] == "template", "units"].iloc[0])
    enough = units >= FEWEST
    return facts | {
        "of_templates": f"The {units} templates make up {facts['template']:.0%}."
        if enough
        else f"From {units} template{'s' * (units > 1)} no share of the template can be estimated."
    }


def position_facts(effects: pd.DataFrame, by_order: pd.DataFrame) -> dict:
    """Position against content, for sentences (ambiguous contexts)."""
    mine = effects[effects["condition"] == "ambig"]
    letters = mine[mine["kind"] == "letter"].set_index("name")["effect"]
    roles = mine[mine["kind"] == "role"].set_index("name")["effect"]
    scores = by_order.query("condition == 'ambig' and level == 'overall'").set_index("order")["expectation"]
    return {
        "letter": letters.idxmax(),
        "letter_effect": letters.max(),
        "role_effect": roles["biased"] - roles["counter"],
        "low_order": scores.idxmin(),
        "low_score": scores.min(),
        "high_order": scores.idxmax(),
        "high_score": scores.max(),
        "mean_score": scores.mean(),
        "orders": len(scores),
    }


def odds(p: float) -> str:
    """A probability for a sentence, never rounded to certainty.

    >>> [odds(p) for p in (0.9997, 0.62, 0.0012, 0.0001)]
    ['more than 99.9%', '62%', '0.12%', 'less than 0.1%']
    """
    if not 0.001 <= p <= 0.999:
        return "more than 99.9%" if p > 0.5 else "less than 0.1%"
    return f"{p:.1%}" if p > 0.99 else f"{100 * p:.2g}%"


def lowest_facts(lowest: pd.DataFrame, seeds: int) -> dict:
    """Where −1.00 turns up by chance, for sentences: in templates of few prompts, in the others, in any at all.

    ``lowest`` is the table of :func:`localbias.studies.lowest_scores.lowest_possible`. A template is small when a
    respondent without preference more likely than not shows −1.00 there in some seed.
    """
    every = anywhere(lowest, seeds)
    small = lowest[lowest["n"] <= most_answers(seeds)]
    facts = {"k": most_answers(seeds), "templates": int(every["templates"].max()), "few": _templates(small)}
    for condition, name in SHORT.items():
        facts[f"any_{name}"] = odds(every["any"].get(condition, 0.0))
        facts[f"points_{name}"] = every["points"].get(condition, 0.0)
    return facts | {
        "runs": facts["templates"] * seeds,
        "in_small": _in_small(small),
        "in_large": _in_large(lowest.drop(small.index), facts["few"]),
    }


def _in_small(small):
    if small.empty:
        return ""
    sizes = " or ".join(map(str, sorted(set(small["n"]))))
    parts = []
    for condition, score in (("disambig", "s_dis"), ("ambig", "s_amb")):
        p = small.loc[small["condition"] == condition, ["any_of_seeds", "template"]].sort_values("any_of_seeds")
        if len(p):
            span = " to ".join(dict.fromkeys([odds(p["any_of_seeds"].iloc[0]), odds(p["any_of_seeds"].iloc[-1])]))
            parts.append(f"{score} = −1.00 with probability {span} (highest in {p['template'].iloc[-1]})")
    return (
        f"With {sizes} prompts in a context, these show in at least one seed {' and '.join(parts)}, though no "
        f"expected score of theirs is further from 0 than {small['score'].abs().max():.3f}."
    )


def _in_large(large, few):
    if large.empty:
        return ""
    top = large.loc[large["any_of_seeds"].idxmax()]
    which = f"In the other {_templates(large)}" if few else "In these"
    return (
        f"{which}, with {large['n'].min()} prompts or more, the highest probability is {odds(top['any_of_seeds'])} "
        f"({top['template']})."
    )


def lowest_verdict(lowest: pd.DataFrame, seeds: int) -> str:
    """What follows for a point at −1.00, as a sentence: from how probable one is anywhere, and in larger templates."""
    p = 1 - np.prod(1 - lowest["any_of_seeds"])
    large = lowest.loc[lowest["n"] > most_answers(seeds), "any_of_seeds"].max()
    if p >= 0.5:
        text = "So points at −1.00 are to be expected by chance"
        return text + (
            ", in the smallest templates. In a larger one, such a point would be a finding."
            if large < 0.05
            else ", and alone they are no finding."
        )
    if p >= 0.05:
        return "So a point at −1.00 may be chance: it is no finding by itself."
    return "So among these templates a point at −1.00 would be a finding; in smaller ones it need not be."


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


def full_run_facts(kept: dict) -> dict:
    """What a kept full run was and found, for a sentence."""
    about = kept["about"]
    scores = kept["scores"].query("off_option_treated == 'renormalise'")
    overall = scores[scores["level"] == "overall"].set_index("condition")
    rows = scores.query("level == 'template' and condition == 'ambig'")
    return {
        **{k: about[k] for k in ("model", "revision", "prompts", "tokens")},
        "minutes": about.get("processor_seconds", np.nan) / 60,
        "hash": about["sha256_probabilities"][:12] + "…",
        "s_amb": overall.loc["ambig", "expectation"],
        "s_dis": overall.loc["disambig", "expectation"],
        "off": overall["off_option"].mean(),
        "sd": rows["sd"].median(),
        "sd_fifty": rows["sd"].median() / 50**0.5,
        "largest": rows["expectation"].abs().max(),
    }


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
