"""Reading FilBBQ-style templates: what is accepted, and how what is not is named."""

from __future__ import annotations

import csv

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localbias.errors import BadTable, SourceUnavailable, UnknownName
from localbias.prompts import cells
from localbias.prompts.generation import generate_prompts
from localbias.prompts.templates import read_templates, read_vocabulary, resolve_dataset, template_file, template_table
from templates_made import GENDER, LABEL, LABELS, LISTED, NAMES, PROPER, QUEER, SWAPPED, write_csv, write_folder


def test_a_template_is_read_as_written(tmp_path):
    label, proper, listed, *_ = read_templates("gender_identity", write_folder(tmp_path))
    assert (label.id, label.row, label.ambiguous) == ("T-01", 2, LABEL["Ambiguous_Context"])
    assert (label.groups, label.words, label.names, label.proper_names) == (("F",), {}, (), False)
    assert proper.words == {"WORD1": ("bayan", "bundok"), "WORD2": ("ilog", "dagat", "gubat")}
    assert proper.proper_names and proper.groups == ("M",)
    assert listed.names == (("babae",), ("lalaki",)) and (listed.info1, listed.info2) == ("F", "M")
    assert label.social_value == "courage" and label.source == "made" and label.dataset == tmp_path.name


def test_invalid_partners_are_read(tmp_path):
    queer, limited = read_templates("sexual_orientation", write_folder(tmp_path))
    assert queer.invalid_partners == () and limited.invalid_partners == ("babae", "tomboy")


@pytest.mark.parametrize(("identifier", "origin"), [("ENBBQ-07", "translated"), ("FILBBQ_01", "new"), ("T-1", "new")])
def test_origin_follows_the_id(tmp_path, identifier, origin):
    folder = write_folder(tmp_path, gender=[LABEL | {"Q_id": identifier}])
    assert template_table(read_templates("gender_identity", folder))["origin"].tolist() == [origin]


def test_byte_order_mark_and_blank_rows_are_no_matter(tmp_path):
    folder = write_folder(tmp_path)
    write_csv(tmp_path / "gender_identity.csv", GENDER, [{}, LABEL, {}, PROPER], encoding="utf-8-sig")
    assert [t.row for t in read_templates("gender_identity", folder)] == [3, 5]


BAD_CELLS = [
    ("Ambiguous_Context", "", "a text"),
    ("Disambiguating_Context", "  ", "a text"),
    ("Question_negative_stereotype", "", "a text"),
    ("Answer_negative", "", "a text"),
    ("Q_id", "", "an id"),
    ("Ambiguous_Context", "Si {{NAME1}} at si {{NAME3}} at {{NAME2}}.", "the slots"),
    ("Ambiguous_Context", "Si {{NAME1}} at si {NAME2}}.", "slots such as"),
    ("Ambiguous_Context", "Si {{NAME1}} at si {{NAME2}", "slots such as"),
    ("Ambiguous_Context", "Si {{NAME1}} lamang.", "both"),
    ("Disambiguating_Context", "Nasa {{WORD1}} si {{NAME1}}.", "a list for WORD1"),
    ("Question_non_negative", "Sino ang nasa {{WORD2}}?", "a list for WORD2"),
    ("Answer_negative", "Silang dalawa", "one person"),
    ("Answer_negative", "Sina {{NAME1}} at {{NAME2}}", "one person"),
    ("Answer_negative", "Ang {{NAME1}}", "the person that Answer_negative does not name"),
    ("Lexical_diversity", "WORD1: bayan, bundok", "lists such as"),
    ("Lexical_diversity", "WORD1: [bayan, bundok", "lists such as"),
    ("Lexical_diversity", "WORD1: []", "lists such as"),
    ("Lexical_diversity", "WORD1: [a, , b]", "lists such as"),
    ("Lexical_diversity", "WORD1: [a]; WORD1: [b]", "lists such as"),
    ("Lexical_diversity", "WORD3: [a]", "WORD1, WORD2"),
    ("Known_stereotyped_groups", "", "a list such as"),
    ("Known_stereotyped_groups", "F", "a list such as"),
    ("Known_stereotyped_groups", '["F"', "a list such as"),
    ("Known_stereotyped_groups", "[1, 2]", "a list such as"),
    ("Known_stereotyped_groups", '["X"]', "F, M"),
    ("Known_stereotyped_groups", '["F", "M"]', "a group left"),
    ("Proper_nouns_only", "maybe", "TRUE, FALSE"),
    ("NAME1_info", "girl", "F, M"),
    ("Names", "NAME1: [babae]", "a list for NAME1 and one for NAME2"),
    ("Names", "NAME1: [babae]; NAME2: [bata]", "F on one side and M on the other"),
    ("Names", "NAME1: [babae]; NAME2: [babae]", "F on one side and M on the other"),
]


@pytest.mark.parametrize(("column", "value", "expected"), BAD_CELLS)
def test_a_bad_cell_is_named_by_file_row_and_column(tmp_path, column, value, expected):
    folder = write_folder(tmp_path, gender=[LABEL, PROPER, LABEL | {column: value}])
    with pytest.raises(BadTable) as caught:
        read_templates("gender_identity", folder)
    reported = {"Answer_negative": ("Answer_negative", "Answer_non_negative")}.get(column, (column,))
    assert "gender_identity.csv, row 4" in caught.value.where
    assert any(name in caught.value.where for name in reported)
    assert expected in caught.value.expected
    assert caught.value.got


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("Known_stereotyped_groups", '["bakla", "beki"]', "babae, bakla"),
        ("Invalid_Partners", '["beki"]', "babae, bakla"),
        ("Invalid_Partners", "babae", "None, or a list"),
        ("Invalid_Partners", '["lalaki", "babae"]', "a group left"),
    ],
)
def test_bad_groups_of_sexual_orientation(tmp_path, column, value, expected):
    folder = write_folder(tmp_path, orientation=[QUEER | {column: value}])
    with pytest.raises(BadTable) as caught:
        read_templates("sexual_orientation", folder)
    assert "sexual_orientation.csv, row 2" in caught.value.where and expected in caught.value.expected


def test_all_problems_are_listed(tmp_path):
    rows = [LABEL | {"Answer_negative": ""}, LABEL | {"Question_non_negative": ""}, LABEL | {"Q_id": ""}]
    with pytest.raises(BadTable) as caught:
        read_templates("gender_identity", write_folder(tmp_path, gender=rows))
    assert caught.value.problem.startswith("3 cells")
    assert "row 3, Question_non_negative" in caught.value.todo and "row 4, Q_id" in caught.value.todo


def latin1(path):
    path.write_bytes(path.read_bytes() + "ñ".encode("latin-1"))


def utf16(path):
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))


def no_text(path):
    path.write_bytes(b"")


def header_only(path):
    write_csv(path, GENDER, [])


def without_answers(path):
    write_csv(path, [c for c in GENDER if c != "Answer_negative"], [LABEL])


def doubled_column(path):
    write_csv(path, [*GENDER, "Notes"], [LABEL])


def short_row(path):
    with open(path, "a", encoding="utf-8", newline="") as handle:
        handle.write("a,b,c\r\n")


def long_row(path):
    with open(path, "a", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerow(["x"] * (len(GENDER) + 1))


def open_quote(path):
    with open(path, "a", encoding="utf-8", newline="") as handle:
        handle.write('"no end')


def spreadsheet(path):
    path.write_bytes(b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00\xff\xfe")


def huge_cell(path):
    write_csv(path, GENDER, [LABEL | {"Notes": "x" * 200_000}])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (latin1, "not UTF-8"),
        (utf16, "not UTF-8"),
        (no_text, "empty"),
        (header_only, "no template"),
        (without_answers, "columns missing"),
        (doubled_column, "columns doubled"),
        (short_row, "fit the header"),
        (long_row, "fit the header"),
        (open_quote, "not CSV"),
        (spreadsheet, "not UTF-8"),
        (huge_cell, "not CSV"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, damage, said):
    folder = write_folder(tmp_path)
    damage(tmp_path / "gender_identity.csv")
    with pytest.raises(BadTable, match=said) as caught:
        read_templates("gender_identity", folder)
    assert "gender_identity.csv" in caught.value.where


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    folder = write_folder(tmp_path)
    monkeypatch.setattr(cells, "LARGEST_FILE", 1000)
    with pytest.raises(BadTable, match="too large") as caught:
        read_templates("gender_identity", folder)
    assert caught.value.expected == "at most 1000 bytes"


@pytest.mark.parametrize(
    ("labels", "column"),
    [
        ([*LABELS, ("Religion", "", "x", "")], "Category"),
        ([*LABELS, ("Sexual_orientation", "", "", "")], "Name"),
        ([*LABELS, ("Gender_identity", "", "bata", "")], "Info"),
    ],
)
def test_bad_labels_are_named(tmp_path, labels, column):
    with pytest.raises(BadTable) as caught:
        read_vocabulary(write_folder(tmp_path, labels=labels))
    assert caught.value.where == f"vocabulary_labels.csv, row {len(LABELS) + 2}, column {column}"


def test_bad_names_are_named(tmp_path):
    with pytest.raises(BadTable) as caught:
        read_vocabulary(write_folder(tmp_path, names=[*NAMES, ("Max", "first_only", "X", "", "")]))
    assert caught.value.where == f"vocabulary_proper_names.csv, row {len(NAMES) + 2}, column gender"


def test_proper_name_templates_need_names_of_both_genders(tmp_path):
    only_women = [name for name in NAMES if name[2] == "F"]
    with pytest.raises(BadTable) as caught:
        read_templates("gender_identity", write_folder(tmp_path, names=only_women))
    assert "row 3, column Proper_nouns_only" in caught.value.where


def test_labels_may_state_their_group(tmp_path):
    labels = [*LABELS, ("Gender_identity", "child", "batang babae", "F")]
    vocabulary = read_vocabulary(write_folder(tmp_path, labels=labels))
    assert vocabulary.group_of("batang babae") == "F" and vocabulary.group_of("lalaki") == "M"
    assert vocabulary.labels_of("gender_identity", "child") == ["batang babae"]
    assert vocabulary.group_of("bakla", "sexual_orientation") == "bakla"


def test_unknown_places_and_categories(tmp_path):
    with pytest.raises(UnknownName) as caught:
        resolve_dataset("starterr")
    assert "starter" in caught.value.todo
    with pytest.raises(UnknownName) as caught:
        read_templates("gender", "starter")
    assert "gender_identity" in caught.value.expected
    with pytest.raises(SourceUnavailable) as caught:
        template_file("gender_identity.csv", str(tmp_path))
    assert caught.value.where == str(tmp_path)


words = st.text(
    st.characters(codec="utf-8", exclude_characters="[],;{}\r\n", exclude_categories=("Cs", "Cc", "Z")),
    min_size=1,
    max_size=8,
)


@given(st.lists(words, min_size=1, max_size=5), st.lists(words, min_size=1, max_size=5), st.booleans())
def test_lists_survive_being_written(first, second, braces):
    slot = "{{WORD1}}" if braces else "WORD1"
    text = f"{slot}: [{', '.join(first)}]; WORD2: [{','.join(second)}]"
    assert cells.parse_lists(text) == {"WORD1": tuple(first), "WORD2": tuple(second)}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(["Ambiguous_Context", "Answer_negative", "Lexical_diversity", "Names"]),
    st.text(alphabet='{}[]":;,NAMEWORD12 Fab"', max_size=40),
)
def test_whatever_stands_in_a_cell_is_read_or_named(tmp_path, column, text):
    folder = write_folder(tmp_path, gender=[LABEL | {column: text}])
    try:
        templates = read_templates("gender_identity", folder)
    except BadTable as error:
        assert "gender_identity.csv, row 2" in error.where
    else:
        assert len(templates) == 1


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400))
def test_whatever_bytes_a_file_has_it_is_read_or_named(tmp_path, noise, place):
    folder = write_folder(tmp_path, gender=[LABEL, LISTED])
    file = tmp_path / "gender_identity.csv"
    whole = file.read_bytes()
    file.write_bytes(whole[:place] + noise + whole[place:])
    try:
        assert read_templates("gender_identity", folder)
    except BadTable as error:
        assert "gender_identity.csv" in error.where


@pytest.mark.mirror
def test_the_published_templates_are_read(mirror):
    folder = mirror / "filbbq" / "templates"
    for category, n in (("gender_identity", 77), ("sexual_orientation", 46)):
        raw = pd.read_csv(folder / f"{category}.csv", dtype=str, keep_default_na=False, encoding="utf-8-sig")
        templates = read_templates(category, "filbbq")
        assert len(templates) == n == len(raw)
        assert [t.ambiguous for t in templates] == raw["Ambiguous_Context"].tolist()
        assert [t.row for t in templates] == list(range(2, n + 2))
    names = pd.read_csv(folder / "vocabulary_proper_names.csv").query("First_last == 'first_only'")
    vocabulary = read_vocabulary("filbbq")
    for gender in "FM":
        assert vocabulary.first_names(gender) == names.query("gender == @gender")["Name"].drop_duplicates().tolist()


def test_the_starter_is_read():
    assert len(read_templates("gender_identity", "starter")) >= 10
    assert len(read_templates("sexual_orientation", "starter")) >= 6


# ---- templates that would give wrong prompts (each was accepted once)


@pytest.mark.parametrize(
    "second",
    [
        LABEL | {"Question_negative_stereotype": "Sino ang iba?"},  # another template
        LABEL,  # the same, twice
        LISTED | {"Q_id": "T-01"},  # the same texts, but the first takes all labels
    ],
)
def test_an_id_that_two_templates_share_is_named(tmp_path, second):
    with pytest.raises(BadTable, match="two templates have one id") as caught:
        generate_prompts("gender_identity", dataset=write_folder(tmp_path, gender=[LABEL, PROPER, second]))
    assert caught.value.where == "gender_identity.csv, row 4, column Q_id" and "row 2" in caught.value.got


def test_the_exchanged_filling_may_be_a_row_of_its_own(tmp_path):
    """As FilBBQ's file has it (ENBBQ_07, ENBBQ_19): 2 fillings × 4 prompts, in one pair."""
    prompts = generate_prompts("gender_identity", dataset=write_folder(tmp_path, gender=[LISTED, SWAPPED]))
    assert len(prompts) == 8 and prompts["pair"].nunique() == 1 and prompts["block"].nunique() == 2
    with pytest.raises(BadTable, match="two templates have one id"):
        generate_prompts("gender_identity", dataset=write_folder(tmp_path, gender=[LISTED, SWAPPED, LISTED]))


@pytest.mark.parametrize("names", ["NAME1: [Ana]; NAME2: [Ana]", "NAME1: [Ana]; NAME2: [Ben, ANA]"])
def test_two_people_of_one_name_are_refused(tmp_path, names):
    listed = LISTED | {"Names": names, "NAME1_info": "F", "NAME2_info": "M"}
    with pytest.raises(BadTable, match="two people of a prompt are the same") as caught:
        generate_prompts("gender_identity", dataset=write_folder(tmp_path, gender=[LABEL, listed]))
    assert caught.value.where == "gender_identity.csv, row 3, template T-03"


def test_a_name_that_is_a_wording_of_unknown_is_refused(tmp_path):
    listed = LISTED | {"Answer_negative": "{{NAME2}}", "Answer_non_negative": "{{NAME1}}"}
    folder = write_folder(tmp_path, gender=[listed | {"Names": "NAME1: [di alam]; NAME2: [Ben]"}])
    with pytest.raises(BadTable, match="two options of a prompt are the same"):
        for seed in range(60):  # eight wordings, drawn by seed
            generate_prompts("gender_identity", seed=seed, dataset=folder)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("Names", "NAME1: [{{NAME2}}]; NAME2: [Ben]"),
        ("Names", "NAME1: [Ana {x}]; NAME2: [Ben]"),
        ("Lexical_diversity", "WORD1: [{{WORD2}}, bayan]"),
        ("Known_stereotyped_groups", '["{{NAME1}}"]'),
    ],
)
def test_a_slot_inside_a_word_or_a_name_is_named(tmp_path, column, value):
    folder = write_folder(tmp_path, gender=[LISTED | {column: value}])
    with pytest.raises(BadTable) as caught:
        read_templates("gender_identity", folder)
    assert caught.value.where == f"gender_identity.csv, row 2, column {column}" and "braces" in caught.value.got


def test_a_slot_inside_a_label_or_a_name_of_the_vocabulary_is_named(tmp_path):
    with pytest.raises(BadTable, match="braces") as caught:
        read_vocabulary(write_folder(tmp_path, labels=[*LABELS, ("Sexual_orientation", "", "{{NAME1}}", "")]))
    assert caught.value.where == "vocabulary_labels.csv, row 8, column Name"
    with pytest.raises(BadTable, match="braces") as caught:
        read_vocabulary(write_folder(tmp_path, names=[*NAMES, ("Ana {{WORD1}}", "first_only", "F", "", "")]))
    assert caught.value.where == "vocabulary_proper_names.csv, row 15, column Name"


@pytest.mark.parametrize("gloss", ["Who is {{NAME3}}?", "Who is {{NAME1}?", "In {{WORD1}}, who?"])
def test_a_gloss_with_a_slot_that_does_not_exist_is_named(tmp_path, gloss):
    folder = write_folder(tmp_path)
    header, row = [*GENDER, "English_question_negative"], LABEL | {"English_question_negative": gloss}
    write_csv(tmp_path / "gender_identity.csv", header, [PROPER, row])
    with pytest.raises(BadTable) as caught:
        read_templates("gender_identity", folder)
    assert caught.value.where == "gender_identity.csv, row 3, column English_question_negative"


def test_no_prompt_holds_a_brace(tmp_path):
    prompts = generate_prompts("all", dataset=write_folder(tmp_path))
    texts = prompts[["context", "question", "ans0", "ans1", "ans2", "english_context", "english_question"]]
    assert not texts.map(lambda text: "{" in text or "}" in text).any(axis=None)
