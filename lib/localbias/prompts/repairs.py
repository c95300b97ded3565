"""What ``rules="repaired"`` mends, each repair named and counted."""

from __future__ import annotations

import re

import pandas as pd

from localbias.prompts.generation import FUSED_UNKNOWN, categories, contained, generate_prompts, repaired_text
from localbias.prompts.templates import Template, read_templates, resolve_dataset

KEY = ["category", "template"]


def repairs(category: str = "all", dataset: str = "auto", seed: int = 0) -> pd.DataFrame:
    """The repairs that tell ``rules="repaired"`` from ``rules="filbbq-2026"``, and what each concerns.

    Parameters
    ----------
    category, dataset, seed
        As for :func:`localbias.prompts.generation.generate_prompts`.

    Returns
    -------
    pandas.DataFrame
        One row a repair: repair, quirk (what the published rules do), mended (what is done instead),
        templates and prompts concerned. Prompts are counted among those of the published rules with
        this seed, except for "subcategory", which counts the prompts gained.

    Examples
    --------
    >>> repairs(dataset="starter")["repair"].tolist()[:3]
    ['unknown', 'subcategory', 'answer-info']
    """
    dataset = resolve_dataset(dataset)
    old = generate_prompts(category, seed, "filbbq-2026", dataset)
    new = generate_prompts(category, seed, "repaired", dataset)
    templates = [template for one in categories(category) for template in read_templates(one, dataset)]
    gained = new[~new["template"].isin(old["template"]) | ~_keys(new).isin(_keys(old))]
    concerned = {
        "unknown": old[old["unknown"] == FUSED_UNKNOWN],
        "subcategory": gained,
        "answer-info": old[old["flags"] != ""],
        "group-names": old[_misnamed(old)],
        "contained-names": old[_contained(old)],
        "fused-slot": _of(old, templates, lambda t: any(re.search(r"\w\{\{", text) for text in t.texts.values())),
        "blanks": _of(old, templates, _blanks_changed),
        "sentence-case": _of(old, templates, _opens),
    }
    return pd.DataFrame(
        [(name, *DESCRIPTIONS[name], len(rows[KEY].drop_duplicates()), len(rows)) for name, rows in concerned.items()],
        columns=["repair", "quirk", "mended", "templates", "prompts"],
    )


DESCRIPTIONS = {
    "unknown": ("Two wordings of “unknown” run together in one option", "They are two wordings: nine instead of eight"),
    "subcategory": ("Label templates with a subcategory that no label has yield no prompt", "All labels are used"),
    "answer-info": (
        "answer_info looks for names within answers and takes a name for one that contains it",
        "The person of the answer's slot",
    ),
    "group-names": ("answer_info calls gender groups by their labels, stereotyped_groups by F and M", "F and M"),
    "contained-names": ("Names that are part of one another may meet in a prompt", "They are not drawn together"),
    "fused-slot": ("A slot touches the word before it", "A blank between them"),
    "blanks": ("Blanks at the ends of texts or doubled", "Single blanks"),
    "sentence-case": ("A label that opens a sentence is in lower case", "A capital"),
}


def _keys(prompts: pd.DataFrame) -> pd.Index:
    return pd.Index(prompts["category"] + "\x1f" + prompts["template"])


def _misnamed(prompts: pd.DataFrame) -> pd.Series:
    infos = prompts[["info0", "info1", "info2"]]
    return (prompts["category"] == "gender_identity") & ~infos.isin(["F", "M", "unknown"]).all(axis=1)


def _contained(prompts: pd.DataFrame) -> list[bool]:
    return [contained(one, other) for one, other in zip(prompts["name1"], prompts["name2"], strict=True)]


def _of(prompts: pd.DataFrame, templates: list[Template], test) -> pd.DataFrame:
    chosen = {(t.category, t.id) for t in templates if test(t)}
    return prompts[[key in chosen for key in zip(prompts["category"], prompts["template"], strict=True)]]


def _blanks_changed(template: Template) -> bool:
    mended = repaired_text(template).texts
    return any(
        text != mended[column]
        and text.replace(" ", "") == mended[column].replace(" ", "")
        and not re.search(r"\w\{\{", text)
        for column, text in template.texts.items()
    )


def _opens(template: Template) -> bool:
    return not template.proper_names and any(
        re.search(r"(?:^|[.!?]\s)\s*\{\{NAME\d\}\}", text) for text in template.texts.values()
    )
