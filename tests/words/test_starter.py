"""The starter: complete, clean, rebuilt byte for byte; its templates well formed."""

import csv
import importlib.util
import re
import unicodedata
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from localbias.audit.words import audit
from localbias.errors import BadTable
from localbias.registry import INDIA_TESTS, INDIAN_LANGUAGES, LANGUAGES, TESTS
from localbias.words.tidy import read_words_csv

STARTER = Path(__file__).resolve().parents[2] / "data" / "starter"
TEMPLATE_COUNTS = {"gender_identity": 10, "sexual_orientation": 6}
TARGETS, ATTRIBUTES = ("X", "Y"), ("A", "B")

# Written independently of build.py: which blocks a language's letters come from.
ALPHABETS = {
    **dict.fromkeys(["ar", "ckb", "fa", "ur"], "ARABIC"),
    **dict.fromkeys(["hi", "mr"], "DEVANAGARI"),
    "bn": "BENGALI",
    "pa": "GURMUKHI",
    "te": "TELUGU",
    "th": "THAI",
    "ru": "CYRILLIC",
    "el": "GREEK",
    "ko": "HANGUL",
    "zh": "CJK UNIFIED",
    "ja": "HIRAGANA|KATAKANA|CJK UNIFIED",
    **dict.fromkeys(["da", "de", "en", "es", "fr", "it", "ku", "tl", "tr", "vi"], "LATIN"),
}


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("starter_build", STARTER / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def words():
    return pd.read_csv(STARTER / "words.csv", keep_default_na=False)


@pytest.fixture(scope="module")
def sets(words):
    return grouped(words)


def grouped(words):
    """(language, test, role) → words in order."""
    found = {}
    for row in words[["language", "test", "role", "word"]].itertuples(index=False):
        found.setdefault(tuple(row[:3]), []).append(row.word)
    return found


def read(name):
    with open(STARTER / "filbbq" / name, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


# -- words ----------------------------------------------------------------------------------------------


def test_25_languages_have_thirteen_tests_and_seven_have_eleven_more(words):
    have = words.groupby("language")["test"].nunique().to_dict()
    assert have == {code: 24 if code in INDIAN_LANGUAGES else 13 for code in LANGUAGES}
    assert len(have) == 25 and sorted(have.values()).count(24) == 7
    india = words[words["test"].isin(INDIA_TESTS)]
    assert india.groupby("language")["test"].nunique().to_dict() == dict.fromkeys(INDIAN_LANGUAGES, 11)


def test_every_test_has_its_four_sets_of_at_least_eight_words_in_order(words, sets):
    named = set(words[["language", "test", "role", "category"]].itertuples(index=False, name=None))
    tests = {(language, test) for language, test, _, _ in named}
    assert named == {(code, test, role, name) for code, test in tests for role, name in TESTS[test].sets.items()}
    places = iter(words["position"])
    assert all([next(places) for _ in one] == list(range(1, len(one) + 1)) for one in sets.values())
    assert min(len(one) for one in sets.values()) >= 8


def test_pairs_are_of_equal_size_and_share_no_word(sets):
    for language, test in {key[:2] for key in sets}:
        for one, other in (TARGETS, ATTRIBUTES):
            first, second = sets[language, test, one], sets[language, test, other]
            assert len(first) == len(second), (language, test, one, other)
            assert not {w.casefold() for w in first} & {w.casefold() for w in second}, (language, test, one, other)


def test_no_word_twice_in_a_set(sets):
    twice = {key: one for key, one in sets.items() if len({word.casefold() for word in one}) < len(one)}
    assert twice == {}


def test_words_are_nfc_without_punctuation_or_invisible_characters(words):
    assert [w for w in words["word"] if w != unicodedata.normalize("NFC", w)] == []
    assert [w for w in words["word"] if not re.fullmatch(r"\S+( \S+)*", w)] == []
    odd = {c for w in set(words["word"]) for c in w if c != " " and unicodedata.category(c)[0] not in "LM"}
    assert odd == set()


def test_words_are_written_in_their_languages_script(words):
    for language, group in words.groupby("language"):
        letters = {char for word in group["word"] for char in word if unicodedata.category(char)[0] == "L"}
        strange = [c for c in sorted(letters) if not re.match(ALPHABETS[language], unicodedata.name(c))]
        assert [c for c in strange if c != "ー"] == [], language


def test_only_german_nouns_and_names_have_capitals(words):
    named = {
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
    common = words[~words["category"].isin(named) & (words["language"] != "de")]
    assert [word for word in common["word"] if word != word.lower()] == []
    latin = words[words["language"].map(ALPHABETS).eq("LATIN") & words["category"].isin(["male names", "female names"])]
    assert [word for word in latin["word"] if not word[0].isupper()] == []


def test_a_set_is_the_same_in_every_test_that_uses_it(words):
    lists = {}
    for row in words.itertuples():
        lists.setdefault((row.language, row.category), {}).setdefault((row.test, row.role), []).append(row.word)
    assert [key for key, uses in lists.items() if len({tuple(one) for one in uses.values()}) > 1] == []


def test_words_csv_is_what_the_sources_give_byte_for_byte(build):
    assert build.build().encode() == (STARTER / "words.csv").read_bytes()
    assert build.build() == build.build()


@pytest.fixture(scope="module")
def table():
    """The starter as the library reads it."""
    return read_words_csv(STARTER / "words.csv", "starter", "starter")


def test_the_library_reads_the_starter(table, sets):
    assert grouped(table) == sets


def test_the_audit_of_word_lists_finds_no_error_and_no_warning(table):
    found = audit(table)
    assert found[found["severity"].isin(["error", "warning"])].empty
    assert set(found["kind"]) <= {"as in English"}  # piano, gay, Carmen: words that languages share


@pytest.fixture
def small(build, tmp_path, monkeypatch):
    """A folder with one language to spoil; gives build() of it."""
    monkeypatch.setattr(build, "LANGUAGES", {"fr": LANGUAGES["fr"]})
    (tmp_path / "source").mkdir()
    lines = (STARTER / "source" / "fr.csv").read_text(encoding="utf-8").splitlines()

    def spoilt(*replacements):
        text = "\n".join(lines) + "\n"
        for old, new in replacements:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (tmp_path / "source" / "fr.csv").write_text(text, encoding="utf-8")
        return build.build(tmp_path)

    return spoilt


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("flowers,tulip,tulipe\n", "", "weat1: 11 words in flowers, 12 in insects"),
        ("flowers,tulip,tulipe\n", "flowers,tulip,lotus\n", "flowers: 'lotus': twice in the set"),
        ("flowers,tulip,tulipe\n", "flowers,tulip,puce\n", "weat1: 'puce' in both flowers and insects"),
        ("flowers,tulip,tulipe\n", "flowers,tulip,Tulipe\n", "a common noun with a capital"),
        ("flowers,tulip,tulipe\n", "flowers,tulip,тюльпан\n", "of another script"),
        ("flowers,tulip,tulipe\n", "flowers,tulip,l'ail\n", "holds APOSTROPHE"),
        ("flowers,orchid,orchidée\n", "flowers,orchid,orchide\u0301e\n", "not NFC"),
        ("flowers,tulip,tulipe\n", "flowers,tulip,tulipe \n", "blanks at an end"),
        ("flowers,tulip,tulipe\n", "flowers,,tulipe\n", "has no English"),
        ("flowers,tulip,tulipe\n", "flower,tulip,tulipe\n", "'flower' is no set of this language's tests"),
        ("flowers,tulip,tulipe\n", "flowers,tulipe\n", "a row without three cells"),
        ("set,english,word\n", "set,word,english\n", "wrong header"),
    ],
)
def test_a_fault_in_a_source_is_named_and_nothing_is_built(small, old, new, fault):
    with pytest.raises(BadTable, match=re.escape(fault)):
        small((old, new))


def test_all_faults_are_reported_at_once(small):
    with pytest.raises(BadTable) as error:
        small(("flowers,tulip,tulipe\n", "flowers,tulip,Tulipe\n"), ("insects,fly,mouche\n", "insects,fly,муха\n"))
    assert "'Tulipe'" in str(error.value) and "'муха'" in str(error.value)


def test_a_missing_language_is_a_fault(build, tmp_path):
    with pytest.raises(BadTable, match=r"source/zh\.csv: missing"):
        build.build(tmp_path)


# -- question templates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("category", "count"), TEMPLATE_COUNTS.items())
def test_templates_are_complete_and_their_ids_are_in_order(category, count):
    rows = read(f"{category}.csv")
    letter = category[0].upper()
    assert [row["Q_id"] for row in rows] == [f"STARTER-{letter}{n:02}" for n in range(1, count + 1)]
    assert [row["Q_id"] for row in rows if not all(v for k, v in row.items() if k.startswith("English_"))] == []


@pytest.mark.parametrize("category", TEMPLATE_COUNTS)
def test_slots_of_a_template_fit_together(category):
    for row in read(f"{category}.csv"):
        context = row["Ambiguous_Context"] + " " + row["Disambiguating_Context"]
        for text in (context, row["English_context"] + " " + row["English_disambiguating_context"]):
            slots = set(re.findall(r"\{\{(\w+)\}\}", text))
            assert {"NAME1", "NAME2"} <= slots, row["Q_id"]
            assert slots - {"NAME1", "NAME2"} == set(re.findall(r"WORD\d", row["Lexical_diversity"])), row["Q_id"]
            assert not re.search(r"[{}]", re.sub(r"\{\{\w+\}\}", "", text)), row["Q_id"]
        for pair in (
            ("Answer_negative", "Answer_non_negative"),
            ("English_answer_negative", "English_answer_non_negative"),
        ):
            named = [re.findall(r"NAME\d", row[column]) for column in pair]
            assert sorted(sum(named, [])) == ["NAME1", "NAME2"], row["Q_id"]
        assert row["Answer_negative"][-9:] == row["English_answer_negative"][-9:], row["Q_id"]
        assert not re.search(r"NAME|\{", row["Question_negative_stereotype"] + row["Question_non_negative"])


def test_the_sixteen_templates_cover_every_kind():
    gender, orientation = read("gender_identity.csv"), read("sexual_orientation.csv")
    kinds = [("proper" if r["Proper_nouns_only"] else "custom" if r["Names"] else "label") for r in gender]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"proper": 5, "label": 4, "custom": 1}
    assert {row["Known_stereotyped_groups"] for row in gender} == {'["F"]', '["M"]'}
    assert any(row["Lexical_diversity"] for row in gender) and any(row["Lexical_diversity"] for row in orientation)
    assert any(row["Invalid_Partners"] != "None" for row in orientation)
    for rows in (gender, orientation):  # the stereotyped act belongs to either person, so no position gives it away
        assert {row["Answer_negative"][-9:] for row in rows} == {"{{NAME1}}", "{{NAME2}}"}


def test_every_contrast_of_the_orientation_templates_is_queer_and_straight():
    labels = {row["Name"] for row in read("vocabulary_labels.csv") if row["Category"] == "Sexual_orientation"}
    straight = {label for label in labels if label.startswith("straight ")}
    assert labels - straight == {"bakla", "tomboy", "lesbiyana"}
    for row in read("sexual_orientation.csv"):
        groups, invalid = (set(re.findall('"(.*?)"', row[c])) for c in ("Known_stereotyped_groups", "Invalid_Partners"))
        partners = labels - groups - invalid
        assert groups and groups <= labels - straight and partners and partners <= straight, row["Q_id"]


def test_names_do_not_contain_each_other_and_are_evenly_split():
    rows = read("vocabulary_proper_names.csv")
    names = [row["Name"].lower() for row in rows]
    assert [pair for pair in combinations(names, 2) if pair[0] in pair[1] or pair[1] in pair[0]] == []
    assert [row["gender"] for row in rows].count("F") == [row["gender"] for row in rows].count("M") >= 5


# -- likely mistranslations in the published lists ------------------------------------------------------

MISTRANSLATIONS = STARTER.parent / "mistranslations.csv"


@pytest.fixture(scope="module")
def mistranslations():
    return pd.read_csv(MISTRANSLATIONS, keep_default_na=False)


def test_mistranslations_are_well_formed_and_each_once(mistranslations):
    columns = ["language", "test", "category", "english", "word", "meaning", "confidence", "note", "variant"]
    assert list(mistranslations.columns) == columns
    assert set(mistranslations["confidence"]) == {"certain", "likely", "possible"}
    assert set(mistranslations["variant"]) == {"gt", "human", "gt human"}
    assert set(mistranslations["language"]) == set(LANGUAGES) - {"en"}
    for row in mistranslations.itertuples():
        assert row.category in TESTS[row.test].sets.values(), row
        assert row.english and row.word and row.meaning and row.word == row.word.strip(), row
    assert not mistranslations.duplicated(["language", "category", "english", "word"]).any()


def test_mistranslations_hold_the_three_that_dictionaries_settle(mistranslations):
    known = {("th", "pansy", "กะเทย"), ("hi", "hornet", "सींग"), ("zh", "calculus", "结石")}
    rows = mistranslations[mistranslations["confidence"] == "certain"]
    assert known <= set(rows[["language", "english", "word"]].itertuples(index=False, name=None))


@pytest.mark.slow
@pytest.mark.mirror
def test_mistranslated_words_stand_beside_their_english_in_the_sheets(mistranslations, mirror):
    beside = {}
    for language in sorted(set(mistranslations["language"])):
        for sheet in (1, 2):
            for english, column, text in sheet_cells(mirror, f"{LANGUAGES[language].stem}_sheet{sheet}"):
                beside.setdefault((language, english, column), []).append(text)
    missing = []
    for row in mistranslations.itertuples():
        columns = {"gt": ["google"], "human": ["human"], "gt human": ["google", "human"]}[row.variant]
        for column in columns:
            cells = beside.get((row.language, row.english, column), []) + beside.get((row.language, "", column), [])
            if not any(row.word.casefold() in text.casefold() or text.startswith("=") for text in cells):
                missing.append(tuple(row)[1:7])
    assert missing == []


def sheet_cells(mirror, name):
    """(english, column, text) of a workbook's first tab; english is "" where the tab has no such column."""
    import openpyxl

    book = openpyxl.load_workbook(mirror / "weathub" / "annotations" / f"{name}.xlsx", read_only=True)
    head, *rows = book.worksheets[0].iter_rows(max_col=4, values_only=True)
    place = {str(title).strip().lower(): index for index, title in enumerate(head) if title}
    for row in rows:
        english = str(row[place["english"]]).strip(' ",').lower() if "english" in place else ""
        for column in place.keys() & {"google", "human"}:
            yield english, column, unicodedata.normalize("NFC", re.sub('["“”،、]', "", str(row[place[column]])))
