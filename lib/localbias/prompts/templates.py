"""FilBBQ-style templates: question templates with slots, and the vocabularies that fill them.

Three kinds of folder hold them, with the same file names and column headings: the published files
(``filbbq/templates`` of :mod:`localbias.sources`), the project's own starter
(``data/starter/filbbq``), and a folder of a user's. A folder has ``<category>.csv`` (one template a
row), ``vocabulary_labels.csv`` and ``vocabulary_proper_names.csv``.

A template is a context that leaves open who did what, a sentence that says it, two questions (one that
invites the stereotype, ``neg``, and one that does not, ``nonneg``), and the answer to each. Its slots:
``{{NAME1}}`` and ``{{NAME2}}`` take two people's labels or names, ``{{WORD1}}`` and ``{{WORD2}}`` take
one of several words listed in ``Lexical_diversity`` (Parrish et al. 2022, section 3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import pandas as pd

from localbias import sources
from localbias.errors import BadTable, SourceUnavailable, unknown
from localbias.files import project_root
from localbias.prompts.cells import parse_lists, raise_problems, read_csv, string_list, truth

CATEGORIES = ("gender_identity", "sexual_orientation")
LABEL_GROUPS = {"babae": "F", "lalaki": "M"}
"""The group that FilBBQ's gender labels stand for; templates name the groups F and M."""

NAME_SLOTS = ("NAME1", "NAME2")
SLOTS = (*NAME_SLOTS, "WORD1", "WORD2")
PUBLISHED = "filbbq/templates/"
LABELS_FILE, NAMES_FILE = "vocabulary_labels.csv", "vocabulary_proper_names.csv"

TEXT_COLUMNS = {
    "Ambiguous_Context": "ambiguous",
    "Disambiguating_Context": "disambiguating",
    "Question_negative_stereotype": "question_neg",
    "Question_non_negative": "question_nonneg",
    "Answer_negative": "answer_neg",
    "Answer_non_negative": "answer_nonneg",
}
REQUIRED = ("Q_id", *TEXT_COLUMNS, "Known_stereotyped_groups")
OPTIONAL = {
    "Subcategory": "subcategory",
    "version": "version",
    "Relevant_social_values": "social_value",
    "Notes": "source",
    "NAME1_info": "info1",
    "NAME2_info": "info2",
    "English_context": "english_context",
    "English_disambiguating_context": "english_disambiguating",
    "English_question_negative": "english_question_neg",
    "English_question_non_negative": "english_question_nonneg",
    "English_answer_negative": "english_answer_neg",
    "English_answer_non_negative": "english_answer_nonneg",
}
SLOT = re.compile(r"\{\{(\w+)\}\}")
BRACES = re.compile(r"\{+[^{}]*\}*|\}+")


@dataclass(frozen=True)
class Template:
    """One row of a template file, its lists read.

    Attributes
    ----------
    category, id, version, subcategory : str
        ``id`` is the file's ``Q_id``; ``subcategory`` is "" where the file gives none.
    row : int
        Row of the file as a spreadsheet counts it (the header is row 1).
    ambiguous, disambiguating, question_neg, question_nonneg, answer_neg, answer_nonneg : str
        Texts with their slots, as written.
    groups : tuple of str
        Stereotyped groups: F or M for gender, labels for sexual orientation.
    words : dict of str to tuple of str
        WORD1, WORD2 → the variants.
    names : tuple of two tuples of str, or ()
        The lists of ``Names``, which override the vocabulary.
    proper_names : bool
        Whether the name slots take people's names rather than labels.
    invalid_partners : tuple of str
        Labels that may not stand opposite a target.
    info1, info2 : str
        The groups of NAME1 and NAME2 where the file states them.
    social_value, source : str
        The stereotype, and where it is attested.
    english_… : str
        Glosses; "" where the file gives none.
    file, dataset : str
        Where it came from.
    """

    category: str
    id: str
    row: int
    ambiguous: str
    disambiguating: str
    question_neg: str
    question_nonneg: str
    answer_neg: str
    answer_nonneg: str
    groups: tuple[str, ...]
    words: dict[str, tuple[str, ...]]
    names: tuple[tuple[str, ...], ...] = ()
    proper_names: bool = False
    invalid_partners: tuple[str, ...] = ()
    version: str = ""
    subcategory: str = ""
    social_value: str = ""
    source: str = ""
    info1: str = ""
    info2: str = ""
    english_context: str = ""
    english_disambiguating: str = ""
    english_question_neg: str = ""
    english_question_nonneg: str = ""
    english_answer_neg: str = ""
    english_answer_nonneg: str = ""
    file: str = ""
    dataset: str = ""

    @property
    def origin(self) -> str:
        """ "translated" (adapted from the English BBQ) or "new", by FilBBQ's ids."""
        return "translated" if self.id.upper().startswith("ENBBQ") else "new"

    @property
    def texts(self) -> dict[str, str]:
        """Column heading → text, for the six texts that reach a prompt."""
        return {column: getattr(self, field) for column, field in TEXT_COLUMNS.items()}


@dataclass(frozen=True)
class Vocabulary:
    """What fills the name slots.

    Attributes
    ----------
    labels : pandas.DataFrame
        Columns category, subcategory, label, group, in file order.
    names : pandas.DataFrame
        Columns name, kind ("first", "first_only", "last"), gender (F, M), ethnicity, source.
    """

    labels: pd.DataFrame
    names: pd.DataFrame

    @cached_property
    def _label_rows(self) -> list[tuple[str, str, str, str]]:
        return list(self.labels[["category", "subcategory", "label", "group"]].itertuples(index=False, name=None))

    @cached_property
    def _first_names(self) -> dict[str, list[str]]:
        rows = self.names[self.names["kind"] == "first_only"]
        return {gender: list(dict.fromkeys(rows.loc[rows["gender"] == gender, "name"])) for gender in ("F", "M")}

    def labels_of(self, category: str, subcategory: str = "") -> list[str]:
        """A category's labels in file order, each once; with a subcategory, only those of it."""
        return list(
            dict.fromkeys(
                label
                for its, sub, label, _ in self._label_rows
                if its == category and (not subcategory or sub == subcategory)
            )
        )

    def first_names(self, gender: str) -> list[str]:
        """Names that carry no ethnicity, of one gender (F, M), in file order, each once."""
        return self._first_names[gender]

    def group_of(self, label: str, category: str = "gender_identity") -> str:
        """The group that a label stands for: its Info column, else F/M for gender, else itself."""
        stated = (group for its, _, name, group in self._label_rows if (its, name) == (category, label) and group)
        return next(stated, LABEL_GROUPS.get(label, label) if category == "gender_identity" else label)


def resolve_dataset(dataset: str = "auto") -> str:
    """The templates to use: "filbbq" (published) when they can be had, else "starter"; a folder stays.

    Raises
    ------
    UnknownName
        When ``dataset`` is neither a name nor a folder.
    """
    if dataset == "auto":
        return "filbbq" if sources.available(PUBLISHED) else "starter"
    if dataset in ("filbbq", "starter") or Path(dataset).is_dir():
        return dataset
    raise unknown("set of templates", dataset, ["auto", "filbbq", "starter"], "or give a folder with template files")


def template_file(name: str, dataset: str = "auto") -> Path:
    """The path of a template or vocabulary file, e.g. ``"gender_identity.csv"``.

    Raises
    ------
    SourceUnavailable
        When the file cannot be had.
    """
    dataset = resolve_dataset(dataset)
    if dataset == "filbbq":
        return sources.fetch(PUBLISHED + name)
    folder = project_root() / "data" / "starter" / "filbbq" if dataset == "starter" else Path(dataset)
    if not (folder / name).is_file():
        raise SourceUnavailable(
            f"{name} is missing",
            where=str(folder),
            expected=f"{name} beside the other template files",
            todo="name the files as the published ones are named",
        )
    return folder / name


def check_category(category: str) -> str:
    """``category`` itself when it exists, else :class:`UnknownName`."""
    if category not in CATEGORIES:
        raise unknown("category", category, CATEGORIES)
    return category


def read_templates(category: str, dataset: str = "auto", vocabulary: Vocabulary | None = None) -> list[Template]:
    """A category's templates in file order, checked.

    Parameters
    ----------
    category : {"gender_identity", "sexual_orientation"}
    dataset : str
        "auto", "filbbq", "starter", or a folder with the same files.
    vocabulary : Vocabulary, optional
        What the groups are checked against; read from the same place when not given.

    Returns
    -------
    list of Template
        Rows that are blank from end to end are left out.

    Raises
    ------
    BadTable
        Naming file, row and column of the first problem and listing the others: not UTF-8, not CSV,
        columns missing, doubled or of another length, empty texts, slots that do
        not exist or have no words (in glosses too), braces in words, names or labels, answers that do not name
        exactly one person each, lists that cannot be read, groups that the vocabulary does not know.

    Examples
    --------
    >>> templates = read_templates("sexual_orientation", "starter")
    >>> sorted(set(slot for t in templates for slot in slots_of(t.ambiguous)) & {"NAME1", "NAME2"})
    ['NAME1', 'NAME2']
    """
    check_category(category)
    dataset = resolve_dataset(dataset)
    vocabulary = vocabulary or read_vocabulary(dataset)
    file = template_file(f"{category}.csv", dataset)
    return parse_templates(file, category, vocabulary, dataset=Path(dataset).name)


def parse_templates(file: Path, category: str, vocabulary: Vocabulary, dataset: str = "user") -> list[Template]:
    """:func:`read_templates` of one file, whatever its name."""
    problems: list[tuple[int, str, str, str]] = []
    templates = []
    for row, cells in read_csv(file, REQUIRED):
        template, unreadable = _template(category, row, cells, file.name, dataset)
        problems += unreadable or _check(template, vocabulary)
        templates.append(template)
    if not templates and not problems:
        raise BadTable("no template in the file", where=file.name, expected="a row for each template", got="none")
    raise_problems(problems, file.name)
    return templates


def read_vocabulary(dataset: str = "auto") -> Vocabulary:
    """The labels and names that fill templates, from the files beside them.

    Raises
    ------
    BadTable
        As :func:`read_templates`; also for a name without gender F or M.
    """
    dataset = resolve_dataset(dataset)
    return Vocabulary(
        labels=parse_labels(template_file(LABELS_FILE, dataset)), names=parse_names(template_file(NAMES_FILE, dataset))
    )


def parse_labels(file: Path) -> pd.DataFrame:
    """``vocabulary_labels.csv`` as columns category, subcategory, label, group."""
    rows, problems = [], []
    for row, cells in read_csv(file, ("Category", "SubCat", "Name")):
        category = cells["Category"].strip().lower()
        if category not in CATEGORIES:
            problems.append((row, "Category", f"one of {', '.join(CATEGORIES)}", repr(cells["Category"])))
        if not cells["Name"].strip():
            problems.append((row, "Name", "a label", "an empty cell"))
        if BRACES.search(cells["Name"]):
            problems.append((row, "Name", "a label without braces", repr(cells["Name"][:60])))
        label, group = cells["Name"].strip(), cells.get("Info", "").strip()
        if category == "gender_identity" and (group or LABEL_GROUPS.get(label)) not in ("F", "M"):
            problems.append((row, "Info", f"F or M, the group of {label!r}", repr(group)))
        rows.append((category, cells["SubCat"].strip(), label, group))
    raise_problems(problems, file.name)
    return pd.DataFrame(rows, columns=["category", "subcategory", "label", "group"], dtype=str)


def parse_names(file: Path) -> pd.DataFrame:
    """``vocabulary_proper_names.csv`` as columns name, kind, gender, ethnicity, source."""
    rows, problems = [], []
    for row, cells in read_csv(file, ("Name", "First_last", "gender")):
        name, gender = cells["Name"].strip(), cells["gender"].strip()
        if not name:
            problems.append((row, "Name", "a name", "an empty cell"))
        if BRACES.search(name):
            problems.append((row, "Name", "a name without braces", repr(name[:60])))
        if gender not in ("F", "M"):
            problems.append((row, "gender", "F or M", repr(gender)))
        rows.append((name, cells["First_last"].strip(), gender, cells.get("ethnicity", ""), cells.get("source", "")))
    raise_problems(problems, file.name)
    return pd.DataFrame(rows, columns=["name", "kind", "gender", "ethnicity", "source"], dtype=str)


def template_table(templates: list[Template]) -> pd.DataFrame:
    """Templates as a table: one row each, lists joined with ", ", ``origin`` added.

    >>> template_table([]).columns[:3].tolist()
    ['category', 'id', 'row']
    """
    columns = [field.name for field in fields(Template)]
    rows = [[_flat(getattr(template, column)) for column in columns] + [template.origin] for template in templates]
    return pd.DataFrame(rows, columns=[*columns, "origin"])


def slots_of(text: str) -> list[str]:
    """The slots of a text in order, each time they occur.

    >>> slots_of("{{NAME1}} at {{NAME2}} sa {{WORD1}}")
    ['NAME1', 'NAME2', 'WORD1']
    """
    return SLOT.findall(text)


def _template(category, row, cells, file, dataset) -> tuple[Template, list[tuple[int, str, str, str]]]:
    """A row's template, and the (row, column, expected, got) of lists that cannot be read."""
    values: dict = {field: cells[column] for column, field in TEXT_COLUMNS.items()}
    values |= {field: cells.get(column, "").strip() for column, field in OPTIONAL.items()}
    problems = []

    def read(column, reader, default, expected):
        text = cells.get(column, "").strip()
        try:
            return reader(text) if text else default
        except ValueError as error:
            problems.append((row, column, expected, f"{text[:80]!r} ({error})"))
            return default

    names = read("Names", parse_lists, {}, "lists such as NAME1: [a]; NAME2: [b]")
    if names and set(names) != set(NAME_SLOTS):
        problems.append((row, "Names", "a list for NAME1 and one for NAME2", ", ".join(names)))
    values |= {
        "words": read("Lexical_diversity", parse_lists, {}, "lists such as WORD1: [a, b]; WORD2: [c]"),
        "names": tuple(names.get(slot, ()) for slot in NAME_SLOTS) if names else (),
        "groups": read("Known_stereotyped_groups", string_list, (), 'a list such as ["F"]'),
        "invalid_partners": read("Invalid_Partners", string_list, (), 'None, or a list such as ["babae"]'),
        "proper_names": read("Proper_nouns_only", truth, False, "TRUE, FALSE or nothing"),
    }
    template = Template(category=category, id=cells["Q_id"].strip(), row=row, file=file, dataset=dataset, **values)
    return template, problems


def _check(template: Template, vocabulary: Vocabulary) -> list[tuple[int, str, str, str]]:
    problems = [] if template.id else [("Q_id", "an id", "an empty cell")]
    for column, text in template.texts.items():
        problems += _check_text(column, text, template)
    for column, field in OPTIONAL.items():
        if field.startswith("english_") and (gloss := getattr(template, field)):
            problems += _check_text(column, gloss, template)
    problems += _check_names(template) + _check_groups(template, vocabulary)
    return [(template.row, *problem) for problem in problems]


def _check_text(column: str, text: str, template: Template) -> list[tuple[str, str, str]]:
    if not text.strip():
        return [(column, "a text", "an empty cell")]
    broken = [part for part in BRACES.findall(text) if not SLOT.fullmatch(part)]
    if broken:
        return [(column, "slots such as {{NAME1}}", f"{broken[0][:40]!r}")]
    found = slots_of(text)
    strange = sorted(set(found) - set(SLOTS))
    if strange:
        return [(column, "the slots " + ", ".join(SLOTS), "{{" + strange[0] + "}}")]
    wordless = sorted(set(found) - set(NAME_SLOTS) - set(template.words))
    return [(column, f"a list for {slot} in Lexical_diversity", "none") for slot in wordless]


def _check_names(template: Template) -> list[tuple[str, str, str]]:
    problems = []
    lacking = [slot for slot in NAME_SLOTS if slot not in slots_of(template.ambiguous)]
    if template.ambiguous.strip() and lacking:
        problems.append(("Ambiguous_Context", "both {{NAME1}} and {{NAME2}}", f"no {lacking[0]}"))
    people = {}
    for column in ("Answer_negative", "Answer_non_negative"):
        text = template.texts[column]
        people[column] = [slot for slot in slots_of(text) if slot in NAME_SLOTS]
        if text.strip() and len(set(people[column])) != 1:
            problems.append((column, "one person, {{NAME1}} or {{NAME2}}", f"{text[:60]!r}"))
    first, second = people.values()
    if first and set(first) == set(second):
        problems.append(("Answer_non_negative", "the person that Answer_negative does not name", f"{first[0]} in both"))
    if set(template.words) - {"WORD1", "WORD2"}:
        problems.append(("Lexical_diversity", "lists for WORD1, WORD2", ", ".join(template.words)))
    return problems


def _check_groups(template: Template, vocabulary: Vocabulary) -> list[tuple[str, str, str]]:
    if not template.groups:
        return [("Known_stereotyped_groups", 'a list such as ["F"]', "none")]
    orientation = template.category == "sexual_orientation"
    known = set(vocabulary.labels_of(template.category)) if orientation else {"F", "M"}
    stated = {
        "Known_stereotyped_groups": set(template.groups),
        "Invalid_Partners": set(template.invalid_partners),
        "NAME1_info": {template.info1} - {""},
        "NAME2_info": {template.info2} - {""},
    }
    problems = [
        (column, ", ".join(sorted(known)), ", ".join(sorted(groups - known)))
        for column, groups in stated.items()
        if groups - known
    ]
    if not known - set(template.groups) - set(template.invalid_partners):
        problems.append(("Known_stereotyped_groups", "a group left to contrast with", ", ".join(template.groups)))
    return problems + ([] if orientation else _check_people(template, vocabulary))


def _check_people(template: Template, vocabulary: Vocabulary) -> list[tuple[str, str, str]]:
    """Whether gender templates will contrast F with M."""
    if template.names:
        sides = [
            {stated or vocabulary.group_of(name) for name in names}
            for names, stated in zip(template.names, (template.info1, template.info2), strict=True)
        ]
        if sorted(map(sorted, sides)) != [["F"], ["M"]]:
            got = " and ".join(", ".join(sorted(side)) for side in sides)
            return [("Names", "people of group F on one side and M on the other (or NAME1_info, NAME2_info)", got)]
    elif template.proper_names and not all(vocabulary.first_names(gender) for gender in ("F", "M")):
        return [("Proper_nouns_only", f"names of kind first_only, F and M, in {NAMES_FILE}", "none")]
    return []


def _flat(value):
    if isinstance(value, dict):
        return "; ".join(f"{key}: {', '.join(items)}" for key, items in value.items())
    if isinstance(value, tuple):
        return "; ".join(_flat(item) for item in value) if value and isinstance(value[0], tuple) else ", ".join(value)
    return value
