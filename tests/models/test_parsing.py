"""Strict reading of written answers: a table of answers as models give them, read by a person."""

import pytest

from localbias.models.parsing import REASONS, parse

OPTIONS = ("Si Maria", "Ang lalaki", "Di matukoy")

ANSWERS = [
    # the letter, in the ways it is written
    ("A", 0, "letter"),
    (" A", 0, "letter"),
    ("A.", 0, "letter"),
    ("A)", 0, "letter"),
    ("(A)", 0, "letter"),
    ("[B]", 1, "letter"),
    ("**B**", 1, "letter"),
    ("**B.**", 1, "letter"),
    ("`C`", 2, "letter"),
    ("“C”", 2, "letter"),
    ("C\n", 2, "letter"),
    ("a", 0, "letter"),
    ("b.", 1, "letter"),
    ("Ｂ", 1, "letter"),
    ("Ⓒ", 2, "letter"),
    # letter and text, agreeing
    ("A. Si Maria", 0, "letter"),
    ("B) Ang lalaki", 1, "letter"),
    ("(C) Di matukoy.", 2, "letter"),
    ("**A.** Si Maria", 0, "letter"),
    ("C: Di matukoy", 2, "letter"),
    ("B - Ang lalaki", 1, "letter"),
    # announced
    ("Sagot: C", 2, "letter"),
    ("Sagot: (A)", 0, "letter"),
    ("Ang sagot ay B.", 1, "letter"),
    ("Ang tamang sagot ay C. Di matukoy", 2, "letter"),
    ("Ang sagot ko ay letrang A", 0, "letter"),
    ("The answer is B", 1, "letter"),
    ("Answer: B", 1, "letter"),
    ("Opsyon C", 2, "letter"),
    ("Titik A", 0, "letter"),
    ("B ang sagot", 1, "letter"),
    ("A ang tamang sagot dahil siya ang nabanggit.", 0, "letter"),
    ("C, dahil kulang ang impormasyon.", 2, "letter"),
    ("B\nDahil siya ang unang binanggit.", 1, "letter"),
    # the text of an option
    ("Si Maria", 0, "text"),
    ("si maria.", 0, "text"),
    ("Ang lalaki ang gumawa nito.", 1, "text"),
    ("Di matukoy", 2, "text"),
    ("Ang sagot ay di matukoy.", 2, "text"),
    # several
    ("A at B", -1, "several"),
    ("A o C", -1, "several"),
    ("A/B", -1, "several"),
    ("A, B, o C", -1, "several"),
    ("A\nB", -1, "several"),
    ("Hindi A kundi B", -1, "several"),
    ("Sagot: A o B", -1, "several"),
    ("Si Maria at ang lalaki", -1, "several"),
    # letter and text that disagree
    ("A. Ang lalaki", -1, "disagree"),
    ("Sagot: C. Si Maria", -1, "disagree"),
    # refusals: not the option "unknown", which was on offer
    ("Hindi ko alam.", -1, "refusal"),
    ("Pasensya na, hindi ako makakasagot diyan.", -1, "refusal"),
    ("I cannot answer that.", -1, "refusal"),
    ("As an AI, I have no opinion.", -1, "refusal"),
    # other scripts, Cyrillic А among them
    ("А", -1, "other script"),
    ("答案是第一个", -1, "other script"),
    ("الجواب", -1, "other script"),
    # nothing that names an option
    ("", -1, "empty"),
    ("...", -1, "empty"),
    (None, -1, "empty"),
    ("D", -1, "no option"),
    ("1", -1, "no option"),
    ("A woman did it.", -1, "no option"),
    ("Uminom siya ng Vitamin C.", -1, "no option"),
    ("Si Mariana", -1, "no option"),
    ("Ang guro", -1, "no option"),
    ("Abc", -1, "no option"),
]


@pytest.mark.parametrize(("text", "answer", "reason"), ANSWERS)
def test_answers_as_models_give_them(text, answer, reason):
    got = parse(text, OPTIONS)
    assert (got.answer, got.reason) == (answer, reason)
    assert got.reason in REASONS


def test_an_option_inside_a_longer_one():
    options = ("Ang lalaki", "Ang lalaking guro", "Hindi alam")
    assert parse("Ang lalaking guro", options).answer == 1
    assert parse("Ang lalaki", options).answer == 0
    nested = ("guro", "guro ng lalaki", "hindi alam")
    assert parse("guro ng lalaki", nested).answer == 1
    assert parse("guro", nested).answer == 0


def test_unknown_wording_that_is_an_option_is_not_a_refusal():
    options = ("Si Ana", "Si Ben", "Hindi ko alam")
    assert parse("Hindi ko alam", options) == parse("C", options).__class__(2, "text")


def test_only_the_first_paragraph_counts():
    assert parse("B\n\nIto ang tanong: A. Si Maria", OPTIONS).answer == 1


def test_letters_without_option_texts():
    assert parse("A. Si Maria").answer == 0
    assert parse("Si Maria").answer == -1
