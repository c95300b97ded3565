"""What is wrong with a set of templates: one row a finding, with severity.

Severities are those of :data:`localbias.audit.SEVERITIES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from localbias.audit import SEVERITIES
from localbias.audit.spelling import suspects, words_of
from localbias.prompts.generation import FUSED_UNKNOWN, categories, contained
from localbias.prompts.templates import (
    NAME_SLOTS,
    NAMES_FILE,
    Template,
    Vocabulary,
    read_templates,
    read_vocabulary,
    resolve_dataset,
    slots_of,
)

COLUMNS = ("severity", "rule", "dataset", "category", "template", "row", "column", "text", "finding")
EXCERPT = 80
Finding = tuple[str, str, str]
"""(column, text, finding)"""


@dataclass(frozen=True)
class Rule:
    """One thing the audit looks for, with an invented example."""

    name: str
    severity: str
    what: str
    example: str
    find: Callable[..., Iterator[Finding]] | None = None


def audit_templates(dataset: str = "auto", category: str = "all") -> pd.DataFrame:
    """Findings about templates and the vocabularies that fill them.

    Parameters
    ----------
    dataset, category : str
        As for :func:`localbias.prompts.generation.generate_prompts`.

    Returns
    -------
    pandas.DataFrame
        One row a finding, errors first, then in file order: severity, rule, dataset, category,
        template, row (of the file, header 1; 0 for the vocabulary), column, text (excerpt), finding.
        :func:`audit_rules` explains the rules.

    Raises
    ------
    BadTable, SourceUnavailable, UnknownName
        As :func:`localbias.prompts.templates.read_templates`: cells that cannot be used at all stop the reading.

    Examples
    --------
    >>> int((audit_templates("starter")["severity"] == "error").sum())
    0
    """
    dataset = resolve_dataset(dataset)
    vocabulary = read_vocabulary(dataset)
    templates = [template for one in categories(category) for template in read_templates(one, dataset, vocabulary)]
    return audit(templates, vocabulary)


def audit(templates: list[Template], vocabulary: Vocabulary) -> pd.DataFrame:
    """:func:`audit_templates` of templates already read."""
    corpus = suspects(text for template in templates for _, text in _texts(template))
    seen = {"corpus": corpus, "vocabulary": vocabulary, "templates": templates}
    rows = []
    for rule in RULES:
        for template in templates:
            for column, text, finding in rule.find(template, seen) if rule.find else ():
                rows.append(
                    (
                        rule.severity,
                        rule.name,
                        template.dataset,
                        template.category,
                        template.id,
                        template.row,
                        column,
                        text[:EXCERPT],
                        finding,
                    )
                )
    dataset = templates[0].dataset if templates else ""
    rows += [
        (severity, rule, dataset, "gender_identity", "", 0, NAMES_FILE, text, finding)
        for severity, rule, text, finding in _names(vocabulary)
    ]
    if dataset == "filbbq":
        rows.append(
            (
                "error",
                "fused-unknown",
                dataset,
                "all",
                "",
                0,
                "options",
                FUSED_UNKNOWN,
                "two wordings of unknown in one option; by the rules one block in eight has it",
            )
        )
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    rank = table["severity"].map(list(SEVERITIES).index)
    return (
        table.assign(rank=rank)
        .sort_values(["rank", "category", "row"], kind="stable", ignore_index=True)
        .drop(columns="rank")
    )


def audit_rules() -> pd.DataFrame:
    """The rules: rule, severity, what it finds, an invented example.

    >>> audit_rules()["severity"].isin(SEVERITIES).all()
    np.True_
    """
    return pd.DataFrame(
        [(r.name, r.severity, r.what, r.example) for r in RULES], columns=["rule", "severity", "what", "example"]
    )


def audit_counts(findings: pd.DataFrame) -> pd.DataFrame:
    """Findings by severity, rule and category, with the number of templates concerned."""
    by = findings.groupby(["severity", "rule", "category"], sort=False)
    return by.agg(findings=("finding", "size"), templates=("template", "nunique")).reset_index()


def queer_labels(templates: list[Template]) -> set[str]:
    """The labels that some sexual-orientation template names as stereotyped."""
    return {group for t in templates if t.category == "sexual_orientation" for group in t.groups}


def _texts(template: Template) -> list[tuple[str, str]]:
    listed = [("Lexical_diversity", variant) for variants in template.words.values() for variant in variants]
    return [*template.texts.items(), *listed, ("Relevant_social_values", template.social_value)]


def _no_prompts(template: Template, seen: dict) -> Iterator[Finding]:
    labels = seen["vocabulary"].labels_of(template.category, template.subcategory)
    label_template = template.category == "gender_identity" and not (template.names or template.proper_names)
    if label_template and template.subcategory and not labels:
        yield "Subcategory", template.subcategory, "no label of this subcategory in the vocabulary: no prompt"


def _fused_slots(template: Template, seen: dict) -> Iterator[Finding]:
    for column, text in template.texts.items():
        for match in re.finditer(r"\w*(?<=\w)\{\{\w+\}\}|\{\{\w+\}\}(?=\w)\w*", text):
            yield column, match[0], "no blank between a word and a slot"


def _missing_slots(template: Template, seen: dict) -> Iterator[Finding]:
    found = slots_of(template.disambiguating)
    for slot in NAME_SLOTS:
        if slot not in found:
            yield "Disambiguating_Context", template.disambiguating, f"says nothing of {slot}"
    used = {slot for text in template.texts.values() for slot in slots_of(text)}
    for slot in sorted(set(template.words) - used):
        yield "Lexical_diversity", slot, "a list whose slot is in no text"


def _duplicate_ids(template: Template, seen: dict) -> Iterator[Finding]:
    twins = [
        t
        for t in seen["templates"]
        if (t.category, t.id, t.version) == (template.category, template.id, template.version)
    ]
    if len(twins) > 1:
        rows = ", ".join(str(t.row) for t in twins if t is not template)
        yield "Q_id", template.id, f"the same id and version in row {rows}"


def _shared_context(template: Template, seen: dict) -> Iterator[Finding]:
    twins = [
        t
        for t in seen["templates"]
        if t is not template and t.category == template.category and t.ambiguous == template.ambiguous
    ]
    if twins:
        yield "Ambiguous_Context", template.ambiguous, "also in row " + ", ".join(str(t.row) for t in twins)


def _misspelt(template: Template, seen: dict) -> Iterator[Finding]:
    for column, text in _texts(template):
        for word in dict.fromkeys(words_of(text)):
            if word in seen["corpus"]:
                yield column, word, f"suspected misspelling: {seen['corpus'][word]}"


def _group_names(template: Template, seen: dict) -> Iterator[Finding]:
    if template.category != "gender_identity" or template.proper_names or template.info1:
        return
    people = [name for names in template.names for name in names]
    labels = people or seen["vocabulary"].labels_of(template.category)
    other = [label for label in labels if label not in template.groups]
    if other:
        yield (
            "Known_stereotyped_groups",
            ", ".join(template.groups),
            f"answer_info calls the groups {', '.join(labels)}: a comparison of names finds none",
        )


def _queer_contrasts(template: Template, seen: dict) -> Iterator[Finding]:
    if template.category != "sexual_orientation":
        return
    labels = seen["vocabulary"].labels_of(template.category)
    partners = [label for label in labels if label not in {*template.groups, *template.invalid_partners}]
    queer = [label for label in partners if label in queer_labels(seen["templates"])]
    if queer:
        yield (
            "Invalid_Partners",
            ", ".join(template.invalid_partners) or "None",
            f"{', '.join(template.groups)} also stand against {', '.join(queer)}: "
            f"{len(queer)} of {len(partners)} contrasts are not queer against non-queer",
        )


def _variant_named(template: Template, seen: dict) -> Iterator[Finding]:
    for column in ("Question_negative_stereotype", "Question_non_negative", "Answer_negative", "Answer_non_negative"):
        words = words_of(template.texts[column])
        for slot, variants in template.words.items():
            named = [variant for variant in variants if variant.casefold() in words]
            if named and slot in slots_of(template.ambiguous + template.disambiguating):
                yield column, template.texts[column], f"names {named[0]}, one of {len(variants)} variants of {slot}"


def _repeated_variants(template: Template, seen: dict) -> Iterator[Finding]:
    for slot, variants in template.words.items():
        for variant in sorted({v for v in variants if variants.count(v) > 1}):
            yield "Lexical_diversity", variant, f"listed twice for {slot}"


def _unlike_answers(template: Template, seen: dict) -> Iterator[Finding]:
    frames = [re.sub(r"\{\{NAME\d\}\}", "…", text).strip() for text in (template.answer_neg, template.answer_nonneg)]
    if frames[0] != frames[1]:
        yield "Answer_non_negative", template.answer_nonneg, "the two answers differ in more than the person"


def _sentence_case(template: Template, seen: dict) -> Iterator[Finding]:
    if template.proper_names:
        return
    for column, text in template.texts.items():
        if re.search(r"(?:^|[.!?]\s)\s*\{\{NAME\d\}\}", text):
            yield column, text, "a label in lower case opens a sentence"


def _sentence_end(template: Template, seen: dict) -> Iterator[Finding]:
    marks = {
        "Ambiguous_Context": ".!?",
        "Disambiguating_Context": ".!?",
        "Question_negative_stereotype": "?",
        "Question_non_negative": "?",
    }
    for column, mark in marks.items():
        text = template.texts[column]
        if text.strip()[-1:] not in mark:
            yield column, text, f"does not end with {mark[0]}"


def _blanks(template: Template, seen: dict) -> Iterator[Finding]:
    for column, text in template.texts.items():
        if text != text.strip() or re.search(r"\s\s", text):
            yield column, text, "blanks at an end or doubled"


def _names(vocabulary: Vocabulary) -> Iterator[tuple[str, str, str, str]]:
    """(severity, rule, text, finding) about first names."""
    rows = vocabulary.names[vocabulary.names["kind"] == "first_only"]
    for name in rows.loc[rows.duplicated(["name", "gender"]), "name"]:
        yield "note", "repeated-names", name, "listed twice; drawn as one"
    female, male = vocabulary.first_names("F"), vocabulary.first_names("M")
    for one in female:
        for other in male:
            if contained(one, other):
                yield (
                    "error" if one == other else "warning",
                    "contained-names",
                    f"{one}, {other}",
                    "opposite genders, one name within the other: answer_info and parsers mistake them",
                )
    for names in (female, male):
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                if contained(one, other):
                    yield "note", "contained-names", f"{one}, {other}", "one name within the other, same gender"


RULES = (
    Rule(
        "no-prompts",
        "error",
        "A label template whose subcategory no label has, so that no prompt comes of it",
        "Subcategory “adult”, vocabulary without adults",
        _no_prompts,
    ),
    Rule("fused-slot", "error", "A slot that touches a word", "kasama si{{NAME1}}", _fused_slots),
    Rule("fused-unknown", "error", "Two wordings of “unknown” run together", "Hindi alamDi masabi"),
    Rule("duplicate-id", "warning", "Two rows with the same id and version", "T-01 in rows 2 and 9", _duplicate_ids),
    Rule(
        "missing-slot",
        "warning",
        "A disambiguating text that leaves a person out, or a word list never used",
        "“Si {{NAME1}} ang nauna.” for two people",
        _missing_slots,
    ),
    Rule(
        "misspelt",
        "warning",
        "A suspected misspelling (rarer of two close spellings, impossible consonants)",
        "“karansan” beside “karanasan”",
        _misspelt,
    ),
    Rule(
        "group-names",
        "warning",
        "Answers name groups otherwise than the list of stereotyped groups does",
        "groups F, answers babae and lalaki",
        _group_names,
    ),
    Rule(
        "queer-contrast",
        "warning",
        "Targets that stand against other queer labels, so that a biased answer does not tell queer from non-queer",
        "bakla against tomboy",
        _queer_contrasts,
    ),
    Rule(
        "variant-named",
        "warning",
        "A question or answer that names one variant of a word that varies in the context",
        "“WORD1: [aso, pusa]”, “Sino ang takot sa pusa?”",
        _variant_named,
    ),
    Rule(
        "unlike-answers",
        "warning",
        "Two answers that differ in more than the person",
        "“Ang {{NAME1}}”, “Iyong {{NAME2}}”",
        _unlike_answers,
    ),
    Rule("contained-names", "warning", "A name that is part of another one", "Ana, Anabel"),
    Rule("shared-context", "note", "Two rows with the same context", "a template and its exchange", _shared_context),
    Rule(
        "repeated-variants",
        "error",
        "A variant listed twice, so drawn twice as often",
        "“[aso, pusa, aso]”",
        _repeated_variants,
    ),
    Rule("repeated-names", "note", "A name listed twice", "Ana, Ana"),
    Rule(
        "sentence-case", "note", "A label that opens a sentence in lower case", "“{{NAME1}} ang isa.”", _sentence_case
    ),
    Rule("sentence-end", "note", "A text without its full stop or question mark", "“Sino ang nauna”", _sentence_end),
    Rule("blanks", "warning", "Blanks at an end of a text or doubled", "“ang  {{NAME1}} ”", _blanks),
)
