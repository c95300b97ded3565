"""What can be wrong with a word list: one small function a rule.

A rule looks at a word, a set or a pair of sets and says what it found, with a severity of
:data:`localbias.audit.SEVERITIES`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from localbias.registry import LANGUAGES, TESTS
from localbias.words.lexicon import WordSets, folded, unseen

SCRIPT_NAMES: dict[str, frozenset[str]] = {
    script: frozenset(names.split())
    for script, names in {
        "Arab": "ARABIC",
        "Beng": "BENGALI",
        "Latn": "LATIN",
        "Grek": "GREEK",
        "Deva": "DEVANAGARI",
        "Jpan": "CJK HIRAGANA KATAKANA KATAKANA-HIRAGANA",
        "Kore": "HANGUL",
        "Guru": "GURMUKHI",
        "Cyrl": "CYRILLIC",
        "Telu": "TELUGU",
        "Thai": "THAI",
        "Hans": "CJK",
    }.items()
}
"""ISO 15924 script → how the Unicode names of its letters begin."""

CASED = ("Latn", "Cyrl", "Grek")
NEIGHBOUR_LETTERS = {code: frozenset("يك") for code in ("fa", "ur", "ckb")}
"""Arabic yeh and kaf, which Persian, Urdu and Sorani write with letters of their own."""

PROPER = {
    "male names",
    "female names",
    "european american names",
    "african american names",
    "young people's names",
    "old people's names",
    "science",
    "arts",
    "male titles",
    "female titles",
    "upper caste names",
    "lower caste names",
    "hindu religion terms",
    "muslim religion terms",
    "hindu last names",
    "muslim last names",
    "hindu religion",
    "muslim religion",
}
"""Sets that hold proper names (weat8's science and arts name Einstein, NASA and Shakespeare)."""

SMALL, TINY, LONG = 8, 4, 4

Finding = tuple[str, int, str, str]
"""Role ("X", "XY"), position (0 for a whole set), word, detail."""


@dataclass(frozen=True)
class Rule:
    """One rule: its name, severity, what it means, an example that it catches, and its function."""

    name: str
    severity: str
    meaning: str
    example: str
    find: Callable[[WordSets], Iterator[Finding]]


RULES: dict[str, Rule] = {}


def _rule(name: str, severity: str, meaning: str, example: str):
    """Register a function of four sets as a rule."""

    def register(find):
        RULES[name] = Rule(name, severity, meaning, example, find)
        return find

    return register


def _word_rule(name: str, severity: str, meaning: str, example: str):
    """Register a function (word, language, category) → detail ("" when fine) as a rule."""

    def register(check):
        check = lru_cache(maxsize=65536)(check)

        def find(sets: WordSets) -> Iterator[Finding]:
            names = TESTS[sets.test].sets if sets.test in TESTS else {}
            for role, words in sets.sets.items():
                for position, word in enumerate(words, 1):
                    if not is_gap(word) and (detail := check(word, sets.language, names.get(role, ""))):
                        yield role, position, word, detail

        RULES[name] = Rule(name, severity, meaning, example, find)
        return check

    return register


def is_gap(word: str) -> bool:
    """Whether a cell holds no word: blank, or the text "nan".

    >>> is_gap("nan"), is_gap("Nan bread")
    (True, False)
    """
    return folded(word) in ("", "nan")


@lru_cache(maxsize=65536)
def scripts_of(word: str) -> frozenset[str]:
    """How the Unicode names of a word's letters begin.

    >>> sorted(scripts_of("Tシャツ"))
    ['KATAKANA', 'LATIN']
    """
    first = (unicodedata.name(char, "UNNAMED").split()[0] for char in word if unicodedata.category(char)[0] == "L")
    return frozenset(name.removesuffix("-HIRAGANA") if name.startswith("KATAKANA") else name for name in first)


def script_of(language: str) -> str:
    """The ISO 15924 script of a language; "" when the registry does not know it."""
    return LANGUAGES[language].script if language in LANGUAGES else ""


# -- sets and pairs ---------------------------------------------------------------------------------------


@_rule("gap", "error", "a cell without a word that became the text “nan”", "nan")
def gap(sets: WordSets) -> Iterator[Finding]:
    for role, words in sets.sets.items():
        for position, word in enumerate(words, 1):
            if is_gap(word):
                yield role, position, word, "no word"


@_rule("duplicate", "error", "a word that the set already holds: it counts twice", "rose … rose")
def duplicate(sets: WordSets) -> Iterator[Finding]:
    for role, words in sets.sets.items():
        first: dict[str, int] = {}
        for position, word in enumerate(words, 1):
            if is_gap(word):
                continue
            if folded(word) in first:
                yield role, position, word, f"also at position {first[folded(word)]}"
            first.setdefault(folded(word), position)


@_rule("overlap", "error", "a word in both sets of a pair: it pulls against itself", "X: his … Y: his")
def overlap(sets: WordSets) -> Iterator[Finding]:
    for one, other in (("X", "Y"), ("A", "B")):
        if _as_set(sets.sets[one]) == _as_set(sets.sets[other]):
            continue
        shared = _as_set(sets.sets[one]) & _as_set(sets.sets[other])
        for position, word in enumerate(sets.sets[one], 1):
            if folded(word) in shared:
                shared.discard(folded(word))
                yield one, position, word, f"also in {other}"


@_rule("identical sets", "error", "the two sets of a pair hold the same words: nothing is compared", "X = Y")
def identical_sets(sets: WordSets) -> Iterator[Finding]:
    for one, other in (("X", "Y"), ("A", "B")):
        words = _as_set(sets.sets[one])
        if words and words == _as_set(sets.sets[other]):
            yield one + other, 0, "", f"{one} and {other} hold the same {len(words)} words"


@_rule("unequal sets", "note", "the two sets of a pair differ in size", "X: 25 words, Y: 24")
def unequal_sets(sets: WordSets) -> Iterator[Finding]:
    for one, other in (("X", "Y"), ("A", "B")):
        sizes = len(sets.sets[one]), len(sets.sets[other])
        if sizes[0] != sizes[1]:
            yield one + other, 0, "", f"{one}: {sizes[0]} words, {other}: {sizes[1]}"


@_rule("small set", "note", f"fewer than {SMALL} words: the estimate hangs on each of them", "X: 6 words")
def small_set(sets: WordSets) -> Iterator[Finding]:
    for role, words in sets.sets.items():
        if TINY <= len(words) < SMALL:
            yield role, 0, "", f"{len(words)} words"


@_rule("tiny set", "warning", f"fewer than {TINY} words", "A: 2 words")
def tiny_set(sets: WordSets) -> Iterator[Finding]:
    for role, words in sets.sets.items():
        if len(words) < TINY:
            yield role, 0, "", f"{len(words)} words"


def _as_set(words: list[str]) -> set[str]:
    return {folded(word) for word in words if not is_gap(word)}


# -- characters -------------------------------------------------------------------------------------------


@_word_rule("quotes", "warning", "quotation marks left in", "“rose”")
def quotes(word: str, language: str, category: str) -> str:
    found = [char for char in word if char in '"“”„«»‹›「」『』`' or (char in "‘’'" and _outer(word))]
    return "holds " + " ".join(found) if found else ""


def _outer(word: str) -> bool:
    """Whether apostrophes stand at both ends, where they are quotation marks."""
    return len(word) > 2 and word[0] in "‘’'" and word[-1] in "‘’'"


@_word_rule("alternatives", "warning", "brackets, slashes or “or”: a note or two words in one cell", "lily (flower)")
def alternatives(word: str, language: str, category: str) -> str:
    found = re.findall(r"[()\[\]{}（）【】/\\|／]|(?<=\s)or(?=\s)", word)
    return "holds " + " ".join(found) if found else ""


@_word_rule("punctuation", "warning", "other punctuation or symbols left in", "rose.")
def punctuation(word: str, language: str, category: str) -> str:
    found = [char for position, char in enumerate(word) if _stray(char, position, word)]
    return "holds " + " ".join(found) if found else ""


_OWN_RULE = set('"“”„«»‹›「」『』`()[]{}（）【】/\\|／')
_INSIDE = set("-‐‑'’‘ʼ·・‧ʻ־")


def _stray(char: str, position: int, word: str) -> bool:
    """Punctuation or a symbol that no other rule names; hyphen, apostrophe, middle dot may stand inside a word."""
    if unicodedata.category(char)[0] not in "PS" or char in _OWN_RULE:
        return False
    if char in "‘’'":
        return position == 0 and not _outer(word)
    return not (char in _INSIDE and 0 < position < len(word) - 1)


@_word_rule("blanks", "warning", "blanks at an end, doubled, or a line break", "rose  bush")
def blanks(word: str, language: str, category: str) -> str:
    odd = word != word.strip() or re.search(r"[ \u3000]{2,}|[\n\r\t]", word)
    return "blanks at an end, doubled, or a line break" if odd else ""


@_word_rule(
    "invisible character",
    "warning",
    "a character that is not seen (joiners where spelling needs them are fine)",
    "ro\u200bse",
)
def invisible(word: str, language: str, category: str) -> str:
    found = unseen(word, language)
    return "holds " + ", ".join(found) if found else ""


@_word_rule("not NFC", "warning", "not in Unicode's composed form: two spellings of one word", "e + ◌́ for é")
def not_nfc(word: str, language: str, category: str) -> str:
    return "" if unicodedata.is_normalized("NFC", word) else "differs from its NFC form"


# -- scripts and case ---------------------------------------------------------------------------------------


@_word_rule(
    "wrong script", "error", "letters of a script that neither the language nor Latin uses", "a Hindi word in Bengali"
)
def wrong_script(word: str, language: str, category: str) -> str:
    strange = _strange_scripts(word, language) - {"LATIN"}
    return f"letters of {', '.join(sorted(strange)).title()}" if strange else ""


@_word_rule("Latin left-over", "warning", "a word in Latin letters where the language has another script", "oboe")
def latin(word: str, language: str, category: str) -> str:
    return "Latin letters only" if "LATIN" in _strange_scripts(word, language) and len(scripts_of(word)) == 1 else ""


@_word_rule("mixed script", "warning", "letters of more than one script in one entry", "Tシャツ")
def mixed_script(word: str, language: str, category: str) -> str:
    own = SCRIPT_NAMES.get(script_of(language), frozenset())
    kinds = {"own" if name in own else name for name in scripts_of(word)}
    return "letters of " + ", ".join(sorted(scripts_of(word))).title() if own and len(kinds) > 1 else ""


def _strange_scripts(word: str, language: str) -> frozenset[str]:
    own = SCRIPT_NAMES.get(script_of(language))
    return scripts_of(word) - own if own else frozenset()


@_word_rule("no letters", "error", "an entry without any letter", "—")
def no_letters(word: str, language: str, category: str) -> str:
    return "" if scripts_of(word) else "no letter"


@_word_rule(
    "neighbour's letter", "warning", "Arabic yeh or kaf where Persian, Urdu or Sorani has its own letter", "كتاب"
)
def neighbour_letter(word: str, language: str, category: str) -> str:
    found = sorted(set(word) & NEIGHBOUR_LETTERS.get(language, frozenset()))
    return "holds Arabic " + ", ".join(unicodedata.name(char).split()[-1].lower() for char in found) if found else ""


@_word_rule("capitalised", "note", "a common noun with a capital (not in German, not in sets of names)", "Resilient")
def capitalised(word: str, language: str, category: str) -> str:
    if script_of(language) not in CASED or language == "de" or category in PROPER:
        return ""
    first = next((char for char in word if char.isalpha()), "")
    return "begins with a capital" if first.isupper() and not word.isupper() else ""


@_word_rule("capitals", "warning", "an entry of two words or more in capitals: a heading, not a word", "PLEASANT WORDS")
def capitals(word: str, language: str, category: str) -> str:
    return "all in capitals" if word.isupper() and len(word.split()) > 1 else ""


@_word_rule(
    "long entry",
    "note",
    f"more than {LONG} words, a description (in Vietnamese, which parts syllables, more than {2 * LONG})",
    "person who does not see well",
)
def long_entry(word: str, language: str, category: str) -> str:
    count = len(word.split())
    return f"{count} words" if count > (2 * LONG if language == "vi" else LONG) else ""


@_word_rule("digits", "note", "digits in an entry", "4x4")
def digits(word: str, language: str, category: str) -> str:
    return "holds digits" if any(char.isdigit() for char in word) else ""
