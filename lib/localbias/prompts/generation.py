"""From templates to prompts, by the rules of FilBBQ's published files.

A *block* is one filling of a template: two people, an order of the three options, one wording of
"unknown". It gives four prompts, in this order: negative question ambiguous, negative disambiguated,
non-negative ambiguous, non-negative disambiguated. A *pair* is a block and its twin with the two
people exchanged.

Who fills a template (Parrish et al. 2022, section 3.2, as FilBBQ uses it, sections 3.2.2 and 3.2.4):

- sexual orientation: every target label (the template's stereotyped groups, in the vocabulary's order)
  against every other label that the template does not exclude, then exchanged;
- gender, proper names: five female names drawn for the template and, for each, five male names, then
  exchanged: 25 pairs, 200 prompts;
- gender, a ``Names`` list: its people in the order given, not exchanged (the files give the exchanged
  filling as a row of its own);
- gender, labels: every ordered pair of the vocabulary's labels.

Word variants are drawn once a pair and shared with its twin; the unknown wording and the option order
once a block. Each draw has a generator of its own, seeded from (seed, category, template, people): a
template added, removed or moved leaves the draws of the others as they are.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from localbias.errors import BadTable, BadValues
from localbias.prompts.templates import (
    CATEGORIES,
    SLOT,
    Template,
    Vocabulary,
    check_category,
    read_templates,
    read_vocabulary,
    resolve_dataset,
)
from localbias.registry import ranges

RULES = ("filbbq-2026", "repaired")
UNKNOWN_WORDINGS = (
    "Di matukoy",
    "Hindi matukoy",
    "Di alam",
    "Hindi alam",
    "Di masagot",
    "Hindi masagot",
    "Hindi kayang sagutin",
    "Di kayang sagutin",
    "Kulang sa impormasyon",
)
"""The options that mean "unknown", as intended: nine."""
FUSED_UNKNOWN = "Kulang sa impormasyonDi kayang sagutin"
"""Two wordings run together: a comma lacks between two strings of the list behind the published files."""
NAMES_PER_GENDER = 5
BASE_ID = {"sexual_orientation": 0, "gender_identity": 100_000}
"""A category's first ``prompt_id``: ids stay unique when categories are joined."""

COLUMNS = (
    "prompt_id",
    "category",
    "template",
    "block",
    "pair",
    "exchanged",
    "polarity",
    "condition",
    "context",
    "question",
    "ans0",
    "ans1",
    "ans2",
    "role0",
    "role1",
    "role2",
    "label",
    "name1",
    "name2",
    "group1",
    "group2",
    "wording",
    "unknown",
    "order",
    "stereotyped_groups",
    "social_value",
    "source",
    "dataset",
    "rules",
    "seed",
    "example_id",
    "origin",
    "subcategory",
    "version",
    "contrast",
    "person0",
    "person1",
    "person2",
    "info0",
    "info1",
    "info2",
    "flags",
    "english_context",
    "english_question",
    "english_ans0",
    "english_ans1",
    "english_ans2",
)
SHAPE = (("neg", "ambig"), ("neg", "disambig"), ("nonneg", "ambig"), ("nonneg", "disambig"))


@dataclass(frozen=True)
class Filling:
    """A template's two people and their groups; ``exchanged`` marks the second of a pair."""

    name1: str
    name2: str
    group1: str
    group2: str
    exchanged: bool = False


@dataclass(frozen=True)
class Draw:
    """What chance decides in a block.

    ``order`` says what stands at A, B and C: 0 the negative question's answer, 1 the non-negative
    question's answer, 2 unknown.
    """

    words: dict[str, str]
    unknown: str
    order: tuple[int, int, int]


@ranges.checked(dataset=ranges.ANSWERS["dataset"])
def generate_prompts(
    category: str | Iterable[str] = "all", seed: int = 0, rules: str = "filbbq-2026", dataset: str = "auto"
) -> pd.DataFrame:
    """The prompts of a category, one row each.

    Parameters
    ----------
    category : str or several
        "gender_identity", "sexual_orientation", or "all".
    seed : int
        Seed of every draw (names, word variants, unknown wordings, option orders).
    rules : {"filbbq-2026", "repaired"}
        "filbbq-2026" keeps the published files' quirks; "repaired" mends them, see
        :func:`localbias.prompts.repairs`.
    dataset : str
        "auto" (published when it can be had, else the starter), "filbbq", "starter" or a folder.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`COLUMNS`. ``role0`` … ``role2`` say what an option is *for this question*:
        "biased" (the stereotyped group on a negative question, the other group on a non-negative one),
        "counter" or "unknown"; ``order`` is their initials; ``label`` is the position of the correct
        option. Roles follow from who fills which slot, never from the text. ``info0`` … ``info2`` are
        the groups that the published layout's ``answer_info`` states, ``person0`` … ``person2`` the people it
        names; ``contrast`` names the two groups. ``prompt_id`` is the published ``example_id`` plus the
        category's :data:`BASE_ID`; ``block`` is ``prompt_id // 4``; ``pair`` is the first block of the pair.

    Raises
    ------
    UnknownName
        For an unknown category, rule set or dataset.
    BadValues
        For a seed that is not a whole number from 0.
    BadTable, SourceUnavailable
        When templates cannot be read.

    Examples
    --------
    >>> prompts = generate_prompts("sexual_orientation", dataset="starter")
    >>> prompts.groupby("block")[["polarity", "condition"]].size().unique().tolist()
    [4]
    >>> right = prompts.apply(lambda row: row[f"role{row['label']}"], axis=1)
    >>> right[prompts["condition"] == "ambig"].unique().tolist()
    ['unknown']
    """
    dataset = resolve_dataset(dataset)
    vocabulary = read_vocabulary(dataset)
    tables = [
        prompts_of(read_templates(one, dataset, vocabulary), vocabulary, seed, rules) for one in categories(category)
    ]
    return pd.concat(tables, ignore_index=True)


def categories(category: str | Iterable[str]) -> list[str]:
    """A category, several, or "all", as a checked list."""
    if category == "all":
        return list(CATEGORIES)
    chosen = [check_category(one) for one in ([category] if isinstance(category, str) else category)]
    if not chosen:
        raise BadValues("no category was chosen", expected=f"some of {', '.join(CATEGORIES)}", got="none")
    return list(dict.fromkeys(chosen))


def prompts_of(
    templates: list[Template], vocabulary: Vocabulary, seed: int = 0, rules: str = "filbbq-2026"
) -> pd.DataFrame:
    """The prompts of given templates of one category; columns as :func:`generate_prompts`."""
    rows: list[dict] = []
    first_blocks: dict[tuple, int] = {}
    _check_ids(templates)
    for template in templates:
        repaired = rules == "repaired"
        template = repaired_text(template) if repaired else template
        for filling in fillings(template, vocabulary, seed, rules):
            block = BASE_ID[template.category] // 4 + len(rows) // 4
            pair = first_blocks.setdefault((template.id, *sorted((filling.name1, filling.name2))), block)
            filling = replace(filling, exchanged=pair != block)
            draw = draw_block(template, filling, seed, rules)
            rows += block_rows(template, filling, draw, block, pair, seed, rules)
    return pd.DataFrame(rows, columns=COLUMNS)


def _check_ids(templates: list[Template]) -> None:
    """Refuse two templates of one id, whose prompts would be taken for one template's.

    An id may come again with other people in the same texts: the exchanged filling, as a row of its own.
    """
    for i, template in enumerate(templates):
        for other in (t for t in templates[:i] if t.id == template.id):
            alike = (template.texts, template.groups) == (other.texts, other.groups)
            apart = template.names and other.names and not {*product(*template.names)} & {*product(*other.names)}
            if not (alike and apart):
                raise BadTable(
                    "two templates have one id",
                    where=f"{template.file}, row {template.row}, column Q_id",
                    expected="an id of its own, or the same texts with other Names",
                    got=f"{template.id}, as row {other.row}",
                )


def fillings(template: Template, vocabulary: Vocabulary, seed: int, rules: str) -> Iterator[Filling]:
    """Who fills a template, in the published order (see the module's description)."""
    if template.category == "sexual_orientation":
        yield from _orientation(template, vocabulary)
    elif template.names:
        yield from _listed(template, vocabulary)
    elif template.proper_names:
        yield from _proper(template, vocabulary, seed, rules)
    else:
        yield from _labels(template, vocabulary, rules)


def _orientation(template: Template, vocabulary: Vocabulary) -> Iterator[Filling]:
    labels = vocabulary.labels_of(template.category)
    partners = [label for label in labels if label not in {*template.groups, *template.invalid_partners}]
    for target in (label for label in labels if label in template.groups):
        for partner in partners:
            yield Filling(target, partner, target, partner)
            yield Filling(partner, target, partner, target)


def _listed(template: Template, vocabulary: Vocabulary) -> Iterator[Filling]:
    first, second = template.names
    for name1 in first:
        for name2 in second:
            yield Filling(
                name1, name2, template.info1 or vocabulary.group_of(name1), template.info2 or vocabulary.group_of(name2)
            )


def _proper(template: Template, vocabulary: Vocabulary, seed: int, rules: str) -> Iterator[Filling]:
    key = (template.category, template.id, "names")
    for female in _sample(vocabulary.first_names("F"), generator(seed, *key)):
        male_names = vocabulary.first_names("M")
        if rules == "repaired":
            male_names = [name for name in male_names if not contained(name, female)]
        for male in _sample(male_names, generator(seed, *key, female)):
            yield Filling(female, male, "F", "M")
            yield Filling(male, female, "M", "F")


def _labels(template: Template, vocabulary: Vocabulary, rules: str) -> Iterator[Filling]:
    labels = vocabulary.labels_of(template.category, template.subcategory)
    if not labels and rules == "repaired":
        labels = vocabulary.labels_of(template.category)
    for name1 in labels:
        for name2 in labels:
            group1, group2 = vocabulary.group_of(name1), vocabulary.group_of(name2)
            if group1 != group2:
                yield Filling(name1, name2, group1, group2)


def contained(one: str, other: str) -> bool:
    """Whether one of two names is part of the other, so that a reader of answers can mistake them.

    >>> contained("Angel", "Angelo"), contained("Maria", "Jose")
    (True, False)
    """
    one, other = one.casefold(), other.casefold()
    return one in other or other in one


def generator(seed: int, *key: str) -> np.random.Generator:
    """A generator that depends on the seed and the key only.

    >>> bool(generator(0, "a").integers(1000) == generator(0, "a").integers(1000))
    True
    """
    digest = hashlib.sha256("\x1f".join(key).encode()).digest()
    return np.random.default_rng([int(seed), int.from_bytes(digest[:8], "big")])


def _sample(names: list[str], rng: np.random.Generator) -> list[str]:
    chosen = rng.permutation(len(names))[:NAMES_PER_GENDER]
    return [names[i] for i in chosen]


def unknown_wordings(rules: str) -> tuple[str, ...]:
    """The wordings of "unknown": eight under the published rules (two run together), nine repaired."""
    if rules == "repaired":
        return UNKNOWN_WORDINGS
    return tuple(w for w in UNKNOWN_WORDINGS if w not in FUSED_UNKNOWN) + (FUSED_UNKNOWN,)


def draw_block(template: Template, filling: Filling, seed: int, rules: str) -> Draw:
    """A block's draws: word variants (shared within the pair), unknown wording, option order."""
    pair = generator(seed, template.category, template.id, "words", *sorted((filling.name1, filling.name2)))
    words = {slot: variants[pair.integers(len(variants))] for slot, variants in sorted(template.words.items())}
    rng = generator(seed, template.category, template.id, "block", filling.name1, filling.name2)
    wordings = unknown_wordings(rules)
    wording = wordings[rng.integers(len(wordings))]
    return Draw(words, wording, tuple(int(i) for i in rng.permutation(3)))


def block_rows(
    template: Template, filling: Filling, draw: Draw, block: int, pair: int, seed: int, rules: str
) -> list[dict]:
    """A block's four prompts as dictionaries with the keys :data:`COLUMNS`.

    Nothing is drawn here: a published block's draws give the published block.
    """
    text = {column: fill(value, filling, draw, rules) for column, value in _texts(template).items()}
    answers = [text["answer_neg"], text["answer_nonneg"], draw.unknown]
    _check_apart(template, filling, answers)
    glosses = [text["english_answer_neg"], text["english_answer_nonneg"], "unknown"]
    people = [person_of(template.answer_neg, filling), person_of(template.answer_nonneg, filling)]
    infos = answer_info(answers, people, template, filling, rules)
    shared = _shared(template, filling, draw, block, pair, seed, rules)
    shared |= {f"ans{i}": answers[option] for i, option in enumerate(draw.order)}
    shared |= {
        f"english_ans{i}": glosses[option] if text["english_answer_neg"] else "" for i, option in enumerate(draw.order)
    }
    shared |= {f"person{i}": infos[option][0] for i, option in enumerate(draw.order)}
    shared |= {f"info{i}": infos[option][1] for i, option in enumerate(draw.order)}
    shared["flags"] = "answer_info gives both people one group" if len(set(infos)) < 3 else ""
    rows = []
    for number, (polarity, condition) in enumerate(SHAPE):
        roles = [*(role(group, template.groups, polarity) for _, group in people), "unknown"]
        correct = 2 if condition == "ambig" else SHAPE_ANSWER[polarity]
        prompt_id = 4 * block + number
        rows.append(
            shared
            | {
                "prompt_id": prompt_id,
                "example_id": prompt_id - BASE_ID[template.category],
                "polarity": polarity,
                "condition": condition,
                "label": draw.order.index(correct),
                "context": text["ambiguous"].strip()
                if condition == "ambig"
                else f"{text['ambiguous'].strip()} {text['disambiguating']}".strip(),
                "question": text[f"question_{polarity}"].strip(),
                "english_context": text["english_context"]
                if condition == "ambig"
                else f"{text['english_context']} {text['english_disambiguating']}".strip(),
                "english_question": text[f"english_question_{polarity}"],
                **{f"role{i}": roles[option] for i, option in enumerate(draw.order)},
                "order": "".join(roles[option][0] for option in draw.order),
            }
        )
    return rows


def _check_apart(template: Template, filling: Filling, answers: list[str]) -> None:
    """Refuse a block whose two people, or two of whose options, are the same to a reader.

    Raises
    ------
    BadTable
    """
    people = [filling.name1, filling.name2]
    for what, texts in (("people", people), ("options", answers)):
        if len({unicodedata.normalize("NFKC", text).casefold().strip(" .") for text in texts}) < len(texts):
            raise BadTable(
                f"two {what} of a prompt are the same",
                where=f"{template.file}, row {template.row}, template {template.id}",
                expected=f"{len(texts)} different {what}",
                got=", ".join(map(repr, texts)),
                todo="give NAME1 and NAME2 different names, and no name that is a wording of unknown",
            )


SHAPE_ANSWER = {"neg": 0, "nonneg": 1}
TEXTS = (
    "ambiguous",
    "disambiguating",
    "question_neg",
    "question_nonneg",
    "answer_neg",
    "answer_nonneg",
    "english_context",
    "english_disambiguating",
    "english_question_neg",
    "english_question_nonneg",
    "english_answer_neg",
    "english_answer_nonneg",
)


def _texts(template: Template) -> dict[str, str]:
    return {field: getattr(template, field) for field in TEXTS}


def _shared(template, filling, draw, block, pair, seed, rules) -> dict:
    return {
        "category": template.category,
        "template": template.id,
        "block": block,
        "pair": pair,
        "exchanged": filling.exchanged,
        "name1": filling.name1,
        "name2": filling.name2,
        "group1": filling.group1,
        "group2": filling.group2,
        "unknown": draw.unknown,
        "wording": "; ".join(f"{slot}={word}" for slot, word in draw.words.items()),
        "stereotyped_groups": ", ".join(template.groups),
        "social_value": template.social_value,
        "source": template.source,
        "dataset": template.dataset,
        "rules": rules,
        "seed": seed,
        "origin": template.origin,
        "subcategory": template.subcategory,
        "version": template.version,
        "contrast": " – ".join(sorted((filling.group1, filling.group2), key=lambda g: g not in template.groups)),
    }


def fill(text: str, filling: Filling, draw: Draw, rules: str = "filbbq-2026") -> str:
    """A text with its slots filled; under "repaired" a label that opens a sentence gets a capital."""
    values = {"NAME1": filling.name1, "NAME2": filling.name2, **draw.words}

    def put(match: re.Match) -> str:
        value = values[match[1]]
        opens = rules == "repaired" and re.search(r"(?:^|[.!?]\s)\s*$", text[: match.start()])
        return value[:1].upper() + value[1:] if opens else value

    return SLOT.sub(put, text)


def person_of(answer: str, filling: Filling) -> tuple[str, str]:
    """The name and the group of the person whom an answer names by its slot."""
    first = "{{NAME1}}" in answer
    return (filling.name1, filling.group1) if first else (filling.name2, filling.group2)


def role(group: str, stereotyped: tuple[str, ...], polarity: str) -> str:
    """What choosing a person of ``group`` means: biased or counter (polarity: FilBBQ, section 3.1).

    >>> role("F", ("F",), "neg"), role("F", ("F",), "nonneg")
    ('biased', 'counter')
    """
    return "biased" if (group in stereotyped) == (polarity == "neg") else "counter"


def answer_info(answers, people, template: Template, filling: Filling, rules: str) -> list[tuple[str, str]]:
    """(person, group) that ``answer_info`` states for the two people's answers and for unknown.

    Under the published rules it is found by looking for each name in the answer's text, NAME2 last: an
    answer "Angelo" is given to "Angel" when she is NAME2. For gender the group is F or M where names or
    the template state it, and the label itself otherwise. Repaired, it is the person of the slot.
    """
    unknown_info = (answers[2], "unknown")
    if rules == "repaired":
        return [*people, unknown_info]
    stated = (template.info1, template.info2)
    if template.proper_names:
        stated = (filling.group1, filling.group2)
    named = [(filling.name1, stated[0] or filling.name1), (filling.name2, stated[1] or filling.name2)]
    found = []
    for answer in answers[:2]:
        first = named[0] if filling.name1 in answer else ("", "")
        found.append(named[1] if filling.name2 in answer else first)
    return [*found, unknown_info]


def repaired_text(template: Template) -> Template:
    """A template with slots freed from the letters before them and runs of blanks made one."""
    texts = {field: tidy(getattr(template, field)) for field in TEXTS}
    return replace(template, **texts)


def tidy(text: str) -> str:
    """Blanks as they should be.

    >>> tidy("sina{{NAME1}} at  {{NAME2}} ")
    'sina {{NAME1}} at {{NAME2}}'
    """
    return re.sub(r"\s+", " ", re.sub(r"(?<=\w)(?=\{\{)", " ", text)).strip()
