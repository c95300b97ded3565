"""Build ``words.csv``, the starter lexicon in the tidy layout, from one readable table per language.

``source/<code>.csv`` has the columns ``set,english,word``: the registry's name of a set, what the word
means, the word. A set is written once and used by every test that names it. Run as
``python data/starter/build.py`` (``--check`` compares without writing). All faults are reported at
once, by file, set and word; nothing is written unless there are none.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import unicodedata
from pathlib import Path

from localbias.errors import BadTable
from localbias.files import checked
from localbias.registry import DIMENSION_TESTS, INDIA_TESTS, INDIAN_LANGUAGES, LANGUAGES, ORIGINAL_TESTS, TESTS

FOLDER = Path(__file__).resolve().parent
SOURCE_COLUMNS = ["set", "english", "word"]
COLUMNS = ["dataset", "language", "variant", "test", "role", "category", "position", "word"]
MINIMUM = 8
"""Fewest words a set may have: with 8 + 8 target words there are 12,870 splits, so p can reach 0.0001."""

SCRIPTS = {
    "Arab": ("ARABIC",),
    "Beng": ("BENGALI",),
    "Latn": ("LATIN",),
    "Grek": ("GREEK",),
    "Deva": ("DEVANAGARI",),
    "Jpan": ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "CJK"),
    "Kore": ("HANGUL",),
    "Guru": ("GURMUKHI",),
    "Cyrl": ("CYRILLIC",),
    "Telu": ("TELUGU",),
    "Thai": ("THAI",),
    "Hans": ("CJK",),
}
"""ISO 15924 script → first words of the Unicode names of its characters."""

NAMES = {
    "male names",
    "female names",
    "upper caste names",
    "lower caste names",
    "hindu last names",
    "muslim last names",
    "hindu religion terms",
    "muslim religion terms",
    "hindu religion",
    "muslim religion",
}
"""Sets that hold proper names or words derived from them, where a capital is right in Latin script."""

Sets = dict[str, list[tuple[str, str]]]


def tests_of(language: str) -> tuple[str, ...]:
    """The tests that the starter has in a language: thirteen, and eleven more in the seven of India."""
    return (*ORIGINAL_TESTS, *DIMENSION_TESTS, *(INDIA_TESTS if language in INDIAN_LANGUAGES else ()))


def read_source(path: Path) -> Sets:
    """The sets of one language: name → (english, word), in the order of the file.

    Raises
    ------
    BadTable
        When the header or the number of cells in a row is wrong.
    """
    sets: Sets = {}
    with open(path, encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, strict=True)
        if (header := next(reader, [])) != SOURCE_COLUMNS:
            raise BadTable("wrong header", where=path.name, expected=",".join(SOURCE_COLUMNS), got=",".join(header))
        for cells in reader:
            if len(cells) != 3:
                raise BadTable(
                    "a row without three cells",
                    where=f"{path.name}, row {reader.line_num}",
                    expected=",".join(SOURCE_COLUMNS),
                    got=",".join(cells),
                )
            sets.setdefault(cells[0], []).append((cells[1], cells[2]))
    return sets


def word_faults(word: str, language: str, category: str) -> list[str]:
    """What is wrong with one word: form, script, capital."""
    faults = []
    if word != " ".join(word.split()) or not word:
        faults.append("empty, or blanks at an end or doubled")
    if word != unicodedata.normalize("NFC", word):
        faults.append("not NFC")
    scripts = SCRIPTS[LANGUAGES[language].script]
    for char in word.replace(" ", ""):
        name = unicodedata.name(char, f"U+{ord(char):04X}")
        if unicodedata.category(char)[0] not in "LM":
            faults.append(f"holds {name}, neither a letter nor a mark")
        elif name.split()[0] not in scripts:
            faults.append(f"holds {name}, of another script")
    if category not in NAMES and language != "de" and word[:1] != word[:1].lower():
        faults.append("a common noun with a capital")
    return faults


def set_faults(words: list[str], language: str, category: str) -> list[str]:
    """What is wrong with one set: its size, repeated words, and each word's own faults."""
    faults = [f"{word!r}: {fault}" for word in words for fault in word_faults(word, language, category)]
    if len(words) < MINIMUM:
        faults.append(f"{len(words)} words, fewer than {MINIMUM}")
    folded = [word.casefold() for word in words]
    faults += [f"{word!r}: twice in the set" for word in sorted({w for w in folded if folded.count(w) > 1})]
    return faults


def test_faults(test: str, sets: Sets) -> list[str]:
    """What is wrong between the sets of a test: pairs of unequal size, words on both sides."""
    faults = []
    for one, other in ((TESTS[test].x, TESTS[test].y), (TESTS[test].a, TESTS[test].b)):
        first, second = ([word.casefold() for _, word in sets[name]] for name in (one, other))
        if len(first) != len(second):
            faults.append(f"{test}: {len(first)} words in {one}, {len(second)} in {other}")
        faults += [f"{test}: {word!r} in both {one} and {other}" for word in sorted(set(first) & set(second))]
    return faults


def language_faults(language: str, sets: Sets) -> list[str]:
    """Everything wrong with one language's sets, each fault with its file and set."""
    needed = {name for test in tests_of(language) for name in TESTS[test].sets.values()}
    where = f"source/{language}.csv"
    faults = [f"{where}: no set {name!r}" for name in sorted(needed - set(sets))]
    faults += [f"{where}: {name!r} is no set of this language's tests" for name in sorted(set(sets) - needed)]
    for name in sorted(needed & set(sets)):
        faults += [f"{where}, {name}: {fault}" for fault in set_faults([w for _, w in sets[name]], language, name)]
        faults += [f"{where}, {name}: {word!r} has no English" for english, word in sets[name] if not english.strip()]
    if needed <= set(sets):
        faults += [f"{where}, {fault}" for test in tests_of(language) for fault in test_faults(test, sets)]
    return faults


def rows_of(language: str, sets: Sets) -> list[list[object]]:
    """The tidy rows of a language: by test, role X Y A B, position from 1."""
    return [
        ["starter", language, "starter", test, role, category, position, word]
        for test in sorted(tests_of(language), key=natural)
        for role, category in TESTS[test].sets.items()
        for position, (_, word) in enumerate(sets[category], 1)
    ]


def natural(test: str) -> tuple[int, str]:
    """Sort key of test names: weat2 before weat12 before weat12b."""
    number = TESTS[test].number
    return int("".join(c for c in number if c.isdigit())), number


def build(folder: Path = FOLDER) -> str:
    """The text of ``words.csv``.

    Raises
    ------
    BadTable
        With every fault of every language.
    """
    rows, faults = [], []
    for language in sorted(LANGUAGES):
        path = folder / "source" / f"{language}.csv"
        if not path.is_file():
            faults.append(f"source/{language}.csv: missing")
            continue
        sets = read_source(path)
        if found := language_faults(language, sets):
            faults += found
        else:
            rows += rows_of(language, sets)
    if faults:
        raise BadTable(
            f"{len(faults)} faults in the starter lexicon",
            got="\n    ".join(["", *faults]),
            todo="correct the words named here, then run this script again",
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with words.csv, write nothing")
    arguments = parser.parse_args()
    target = FOLDER / "words.csv"
    try:
        text = build()
    except BadTable as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.check:
        same = target.is_file() and target.read_bytes() == text.encode()
        print("words.csv is up to date" if same else "words.csv differs from its sources: run data/starter/build.py")
        return 0 if same else 1
    with checked(target) as draft:
        draft.write_bytes(text.encode())
    print(f"wrote {target.name}: {text.count(chr(10)) - 1:,} words in tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
