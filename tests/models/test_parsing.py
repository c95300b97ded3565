"""Strict reading of written answers: a table of answers as models give them, read by a person."""

import csv
from pathlib import Path

import pytest

import filbbq_made as made
from localbias.models.answers import answer_probabilities
from localbias.models.parsing import ENGLISH, FILIPINO, REASONS, Words, parse

OPTIONS = ("Si Maria", "Ang lalaki", "Di matukoy")
TABLE = Path(__file__).parent / "filbbq_answers.csv"
"""text, the option it chose when these were shown (−1: none), how it was read: written by hand."""

with TABLE.open(encoding="utf-8", newline="") as stream:
    ANSWERS = [(row["text"], int(row["answer"]), row["reason"]) for row in csv.DictReader(stream)]


@pytest.mark.parametrize(("text", "answer", "reason"), ANSWERS)
def test_answers_as_models_give_them(text, answer, reason):
    got = parse(text, OPTIONS)
    assert (got.answer, got.reason) == (answer, reason)


def test_the_table_is_large_and_has_every_reason():
    assert len({text for text, *_ in ANSWERS}) == len(ANSWERS) >= 120
    assert {reason for *_, reason in ANSWERS} == set(REASONS)
    assert parse(None, OPTIONS).reason == "empty"


@pytest.mark.parametrize("text", [text for text, answer, _ in ANSWERS if answer >= 0 and "?" not in text])
def test_an_answer_that_is_denied_or_doubted_does_not_count(text):
    for changed in (f"Hindi: {text}", f"Not true.\n{text}", f"Baka: {text}"):
        assert parse(changed, OPTIONS).answer == -1, changed


def test_a_letter_needs_no_texts_and_a_text_is_found_wherever_it_stands():
    for text, answer, reason in ANSWERS:
        if reason == "letter" and "matukoy" not in text.lower() and text != "Ang sagot ay B ang lalaki":
            assert parse(text).answer == answer, text
        if reason == "text" and "A" not in text.replace("Ang", ""):
            for k in range(3):
                shown = [OPTIONS[(j - k) % 3] for j in range(3)]
                assert parse(text, shown).answer == (answer + k) % 3, text


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


CHINESE = Words(
    announcing=("答案", "选择"),
    linking=("是",),
    denying=("不",),
    reasoning=("因为",),
    refusing=("我不知道",),
    spaced=False,
)
SPANISH = Words(
    announcing=("respuesta", "elijo"),
    linking=("es", "correcta", "la", "opción"),
    denying=("no",),
    reasoning=("porque",),
)
OWN_OPTIONS = {CHINESE: ("玛丽", "男人", "无法确定"), SPANISH: ("Ana", "Luis", "no se sabe")}


@pytest.mark.parametrize(
    ("text", "words", "answer", "reason"),
    [
        ("答案是B。", CHINESE, 1, "letter"),
        ("选择C，因为不清楚", CHINESE, 2, "letter"),
        ("我选择男人。", CHINESE, 1, "text"),
        ("答案不是B。", CHINESE, -1, "denied"),
        ("我不知道", CHINESE, -1, "refusal"),
        ("维生素C", CHINESE, -1, "no option"),
        ("La respuesta correcta es la opción C, porque no se dice.", SPANISH, 2, "letter"),
        ("La respuesta no es A.", SPANISH, -1, "denied"),
        ("Luis", SPANISH, 1, "text"),
        ("Ang sagot ay B.", SPANISH, -1, "no option"),
        ("Ang sagot ay B.", FILIPINO, 1, "letter"),
        ("Ang sagot ay B.", ENGLISH, -1, "no option"),
    ],
)
def test_the_words_of_another_language_are_data(text, words, answer, reason):
    got = parse(text, OWN_OPTIONS.get(words, OPTIONS), (words,))
    assert (got.answer, got.reason) == (answer, reason)


def test_generated_answers_are_read_in_the_languages_asked_for():
    asked, words = made.prompts(1, 1), (Words(announcing=("ang", "si", "isang")),)
    draws = {"seeds": 100, "max_new_tokens": 2}
    plain, other = (
        answer_probabilities(asked, made.tiny(), "generate", folder=None, progress=False, draws=draws | more)
        for more in ({}, {"words": words})
    )
    options = asked.set_index("prompt_id")[["ans0", "ans1", "ans2"]]
    for row in other.itertuples():
        assert list(row.drawn) == [parse(t, tuple(options.loc[row.prompt_id]), words).answer for t in row.written]
    assert [list(d) for d in plain["drawn"]] != [list(d) for d in other["drawn"]]
    assert [list(w) for w in plain["written"]] == [list(w) for w in other["written"]]
