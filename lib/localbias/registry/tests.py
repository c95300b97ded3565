"""The Word Embedding Association Tests: WEAT 1–10, the five dimensions, the India tests.

A test asks whether target set X is nearer than target set Y to attribute set A rather than B.
Set names are the field's; ``keys`` are their identifiers in tables. Sources: Caliskan et al.
(2017) for WEAT 1–10; WEATHub section 3.4 (11–15), appendix (12b, 13b) and section 4.4 (16–26).
"""

from __future__ import annotations

from dataclasses import dataclass

from localbias.errors import unknown


@dataclass(frozen=True)
class WeatTest:
    """One test: its name, title, family and the four set names X, Y, A, B."""

    name: str
    title: str
    family: str  # "original" | "dimension" | "india"
    x: str
    y: str
    a: str
    b: str
    paper: str  # figure or table of WEATHub that reports it

    @property
    def sets(self) -> dict[str, str]:
        """Role → set name, in the order X, Y, A, B."""
        return {"X": self.x, "Y": self.y, "A": self.a, "B": self.b}

    @property
    def number(self) -> str:
        """What follows "weat": "1", "12b"."""
        return self.name.removeprefix("weat")


def _test(number, title, family, x, y, a, b, paper):
    return WeatTest(f"weat{number}", title, family, x, y, a, b, paper)


TESTS: dict[str, WeatTest] = {
    t.name: t
    for t in (
        _test(1, "Flowers and insects", "original", "flowers", "insects", "pleasant", "unpleasant", "Figure 3"),
        _test(2, "Instruments and weapons", "original", "instruments", "weapons", "pleasant", "unpleasant", "Figure 3"),
        _test(
            3,
            "European and African American names",
            "original",
            "european american names",
            "african american names",
            "pleasant",
            "unpleasant",
            "",
        ),
        _test(
            4,
            "European and African American names (16)",
            "original",
            "european american names",
            "african american names",
            "pleasant",
            "unpleasant",
            "",
        ),
        _test(
            5,
            "European and African American names (8)",
            "original",
            "european american names",
            "african american names",
            "pleasant",
            "unpleasant",
            "",
        ),
        _test(
            6, "Names and career or family", "original", "male names", "female names", "career", "family", "Figure 3"
        ),
        _test(
            7,
            "Mathematics and arts, gendered terms",
            "original",
            "math",
            "arts",
            "male terms",
            "female terms",
            "Figure 3",
        ),
        _test(
            8,
            "Science and arts, gendered terms",
            "original",
            "science",
            "arts",
            "male terms",
            "female terms",
            "Figure 3",
        ),
        _test(
            9,
            "Mental and physical disease",
            "original",
            "mental disease",
            "physical disease",
            "temporary",
            "permanent",
            "Figure 3",
        ),
        _test(
            10,
            "Young and old people's names",
            "original",
            "young people's names",
            "old people's names",
            "pleasant",
            "unpleasant",
            "",
        ),
        _test(
            11,
            "Toxicity: offensive and respectful words, gender",
            "dimension",
            "offensive words",
            "respectful words",
            "female terms (extended)",
            "male terms (extended)",
            "Figure 5",
        ),
        _test(
            12,
            "Ableism: insults and disability words, gender",
            "dimension",
            "insult words",
            "disability words",
            "female terms (extended)",
            "male terms (extended)",
            "Figure 5",
        ),
        _test(
            "12b",
            "Ableism: insults and disability words, valence",
            "dimension",
            "insult words",
            "disability words",
            "unpleasant",
            "pleasant",
            "Figures 15–17",
        ),
        _test(
            13,
            "Sexuality: queer and straight words, prejudice and pride",
            "dimension",
            "lgbtq+ words",
            "straight words",
            "prejudice",
            "pride",
            "Figure 5",
        ),
        _test(
            "13b",
            "Sexuality: queer and straight words, valence",
            "dimension",
            "lgbtq+ words",
            "straight words",
            "unpleasant",
            "pleasant",
            "Figures 15–17",
        ),
        _test(
            14,
            "Education: educated and non-educated terms, status",
            "dimension",
            "educated terms",
            "non-educated terms",
            "higher status words",
            "lower status words",
            "Figure 5",
        ),
        _test(
            15,
            "Immigration: immigrant and non-immigrant terms, respect",
            "dimension",
            "immigrant terms",
            "non-immigrant terms",
            "disrespectful words",
            "respectful words (immigration)",
            "Figure 5",
        ),
        _test(
            16,
            "Stereotypical adjectives, gender",
            "india",
            "stereotypical male adjectives",
            "stereotypical female adjectives",
            "male terms (india)",
            "female terms (india)",
            "Table 4",
        ),
        _test(
            17,
            "Gendered verbs",
            "india",
            "male verbs",
            "female verbs",
            "male terms (india)",
            "female terms (india)",
            "Table 4",
        ),
        _test(
            18,
            "Gendered adjectives",
            "india",
            "male adjectives",
            "female adjectives",
            "male terms (india)",
            "female terms (india)",
            "Table 4",
        ),
        _test(
            19,
            "Gendered entities",
            "india",
            "male entities",
            "female entities",
            "male terms (india)",
            "female terms (india)",
            "Table 4",
        ),
        _test(
            20,
            "Gendered titles",
            "india",
            "male titles",
            "female titles",
            "male terms (india)",
            "female terms (india)",
            "Table 4",
        ),
        _test(
            21,
            "Caste: occupations",
            "india",
            "upper caste occupations",
            "lower caste occupations",
            "upper caste names",
            "lower caste names",
            "Table 4",
        ),
        _test(
            22,
            "Caste: adjectives",
            "india",
            "upper caste adjectives",
            "lower caste adjectives",
            "upper caste names",
            "lower caste names",
            "Table 4",
        ),
        _test(
            23,
            "Religion: adjectives and religious terms",
            "india",
            "positive adjectives",
            "negative adjectives",
            "hindu religion terms",
            "muslim religion terms",
            "Table 4",
        ),
        _test(
            24,
            "Religion: adjectives and last names",
            "india",
            "positive adjectives",
            "negative adjectives",
            "hindu last names",
            "muslim last names",
            "Table 4",
        ),
        _test(
            25,
            "Religion: terms and religions",
            "india",
            "hindu religion terms",
            "muslim religion terms",
            "hindu religion",
            "muslim religion",
            "Table 4",
        ),
        _test(
            26,
            "Caste: adjectives and rural or urban occupations",
            "india",
            "upper caste adjectives",
            "lower caste adjectives",
            "urban occupations",
            "rural occupations",
            "Table 4",
        ),
    )
}

ORIGINAL_TESTS = ("weat1", "weat2", "weat6", "weat7", "weat8", "weat9")
"""The six original tests that WEATHub translates."""
DIMENSION_TESTS = ("weat11", "weat12", "weat12b", "weat13", "weat13b", "weat14", "weat15")
"""The human-centred dimensions, with their two valence variants."""
INDIA_TESTS = tuple(f"weat{n}" for n in range(16, 27))
"""The tests specific to Indian society."""


def weat_test_spec(name: str) -> WeatTest:
    """The test of a name; raises UnknownName.

    >>> weat_test_spec("weat1").sets
    {'X': 'flowers', 'Y': 'insects', 'A': 'pleasant', 'B': 'unpleasant'}
    """
    if name not in TESTS:
        raise unknown("test", name, TESTS)
    return TESTS[name]
