"""The template audit: each rule on a made template whose flaw is known, and none on a clean one."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from localbias.audit import SEVERITIES
from localbias.audit.spelling import impossible, suspects
from localbias.audit.templates import audit_counts, audit_rules, audit_templates
from localbias.prompts.repairs import repairs
from templates_made import ADULT, GENDER, LABEL, LISTED, NAMES, ORIENTATION, PROPER, QUEER, SWAPPED, write_folder

CLEAN_QUEER = QUEER | {"Known_stereotyped_groups": '["bakla"]', "Invalid_Partners": '["tomboy"]'}


def found(tmp_path, gender=(PROPER,), orientation=(CLEAN_QUEER,), names=NAMES) -> pd.DataFrame:
    return audit_templates(write_folder(tmp_path, gender=gender, orientation=orientation, names=names))


def test_clean_templates_have_no_finding(tmp_path):
    assert found(tmp_path).empty


CASES = {
    # rule: (gender rows, orientation rows, severity, template, column, part of the finding)
    "no-prompts": ([ADULT], [CLEAN_QUEER], "error", "T-04", "Subcategory", "no prompt"),
    "fused-slot": (
        [PROPER | {"Ambiguous_Context": "Nasa {{WORD1}} sina{{NAME1}} at {{NAME2}}."}],
        [CLEAN_QUEER],
        "error",
        "T-02",
        "Ambiguous_Context",
        "no blank",
    ),
    "missing-slot": (
        [PROPER | {"Disambiguating_Context": "Nagtago si {{NAME1}} sa {{WORD2}}."}],
        [CLEAN_QUEER],
        "warning",
        "T-02",
        "Disambiguating_Context",
        "NAME2",
    ),
    "duplicate-id": ([PROPER, PROPER], [CLEAN_QUEER], "warning", "T-02", "Q_id", "row 3"),
    "shared-context": (
        [PROPER, PROPER | {"Q_id": "T-09"}],
        [CLEAN_QUEER],
        "note",
        "T-02",
        "Ambiguous_Context",
        "row 3",
    ),
    "group-names": ([LABEL], [CLEAN_QUEER], "warning", "T-01", "Known_stereotyped_groups", "lalaki, babae"),
    "queer-contrast": (
        [PROPER],
        [CLEAN_QUEER | {"Q_id": "S-09", "Invalid_Partners": "None"}, QUEER],
        "warning",
        "S-09",
        "Invalid_Partners",
        "against tomboy: 1 of 3",
    ),
    "variant-named": (
        [PROPER | {"Question_negative_stereotype": "Sino ang takot sa dagat?"}],
        [CLEAN_QUEER],
        "warning",
        "T-02",
        "Question_negative_stereotype",
        "dagat, one of 3 variants of WORD2",
    ),
    "repeated-variants": (
        [PROPER | {"Lexical_diversity": "WORD1: [a, b, a]; WORD2: [c]"}],
        [CLEAN_QUEER],
        "error",
        "T-02",
        "Lexical_diversity",
        "twice for WORD1",
    ),
    "unlike-answers": (
        [PROPER | {"Answer_negative": "Si {{NAME1}}"}],
        [CLEAN_QUEER],
        "warning",
        "T-02",
        "Answer_non_negative",
        "differ",
    ),
    "sentence-case": (
        [PROPER],
        [CLEAN_QUEER | {"Ambiguous_Context": "Dalawa sila. {{NAME1}} at {{NAME2}}."}],
        "note",
        "S-01",
        "Ambiguous_Context",
        "lower case",
    ),
    "sentence-end": (
        [PROPER | {"Question_non_negative": "Sino ang matapang"}],
        [CLEAN_QUEER],
        "note",
        "T-02",
        "Question_non_negative",
        "end with ?",
    ),
    "blanks": (
        [PROPER | {"Question_non_negative": "Sino ang  matapang?"}],
        [CLEAN_QUEER],
        "warning",
        "T-02",
        "Question_non_negative",
        "doubled",
    ),
    "misspelt": (
        [
            PROPER | {"Question_non_negative": "Sino ang may karansan?"},
            PROPER | {"Q_id": "T-10", "Ambiguous_Context": "May karanasan, karanasan {{NAME1}} {{NAME2}}."},
        ],
        [CLEAN_QUEER],
        "warning",
        "T-02",
        "Question_non_negative",
        "elsewhere karanasan",
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_known_flaw_is_found(tmp_path, rule):
    gender, orientation, severity, template, column, part = CASES[rule]
    findings = found(tmp_path, gender, orientation)
    mine = findings[(findings["rule"] == rule) & (findings["template"] == template)]
    assert len(mine) == (2 if rule == "duplicate-id" else 1)
    first = mine.iloc[0]
    assert (first["severity"], first["column"]) == (severity, column) and part in first["finding"]
    assert findings["row"].ge(0).all() and set(findings["dataset"]) == {tmp_path.name}


def test_rows_that_state_groups_are_not_said_to_misname_them(tmp_path):
    findings = found(tmp_path, [LISTED, SWAPPED])
    assert set(findings["rule"]) == {"shared-context"} and sorted(findings["row"]) == [2, 3]


def test_names_within_names(tmp_path):
    names = [
        (name, kind, gender, "", "")
        for name, kind, gender in (
            ("Ana", "first_only", "F"),
            ("Anabel", "first_only", "F"),
            ("Ana", "first_only", "F"),
            ("Hana", "first_only", "M"),
            ("Santana", "last", "M"),
        )
    ]
    findings = found(tmp_path, names=names).set_index("text")
    assert findings.loc["Ana, Anabel", "severity"] == "note"
    assert findings.loc["Ana, Hana", "severity"] == "warning"
    assert findings.loc["Ana", "rule"] == "repeated-names"
    assert len(findings) == 3  # last names are never drawn


def test_rules_are_explained_and_used(tmp_path):
    rules = audit_rules().set_index("rule")
    assert set(CASES) | {"contained-names", "repeated-names", "fused-unknown"} == set(rules.index)
    assert rules["severity"].isin(SEVERITIES).all() and rules["example"].str.len().gt(3).all()
    counts = audit_counts(found(tmp_path, [LABEL, LABEL | {"Q_id": "T-2"}]))
    assert counts.loc[counts["rule"] == "group-names", ["findings", "templates"]].iloc[0].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["karanasan karanasan", "karansan"], {"karansan"}),  # letter lost
        (["kaibigan kaibigan", "kaibigian"], {"kaibigian"}),  # letter added
        (["eksperto eksperto", "eskperto"], {"eskperto"}),  # two exchanged
        (["papel", "papael"], {"papel", "papael"}),  # neither is rarer
        (["nagluto magluto nagluluto"], set()),  # inflection
        (["kaibigan kaibigang"], set()),  # linker
        (["malapit palapit kalapit"], set()),
        (["konstruksiyon eksperimento", "nag-aapply"], set()),
        (["diskrminasyon"], {"diskrminasyon"}),
        (["kaninang kaninong"], set()),
    ],
)
def test_spelling_suspects(texts, expected):
    assert set(suspects(texts)) == expected


@pytest.mark.parametrize("word", ["gymnastics", "birthday", "kontrolin", "mangangalakal", "kuwento", "tsinelas"])
def test_possible_consonants(word):
    assert impossible(word) == ""


def test_the_starter_has_no_error():
    assert "error" not in set(audit_templates("starter")["severity"])


@pytest.mark.mirror
def test_the_published_templates_flaws(mirror):
    """Each number worked out here from the files themselves."""
    findings = audit_templates("filbbq")
    folder = mirror / "filbbq" / "templates"
    gender, orientation = (
        pd.read_csv(folder / f"{c}.csv", dtype=str, keep_default_na=False, encoding="utf-8-sig")
        for c in ("gender_identity", "sexual_orientation")
    )
    by_rule = findings.groupby("rule")["template"].agg(list)
    adults = gender[(gender["Subcategory"] != "") & (gender["Names"] == "") & (gender["Proper_nouns_only"] != "TRUE")]
    assert sorted(by_rule["no-prompts"]) == sorted(adults["Q_id"]) and len(adults) == 17
    fused = gender[gender["Ambiguous_Context"].str.contains(r"\w\{\{")]["Q_id"]
    assert by_rule["fused-slot"] == fused.tolist() and len(fused) == 1
    twice = gender[gender.duplicated(["Q_id", "version"], keep=False)]["Q_id"]
    assert by_rule["duplicate-id"] == twice.tolist() and len(twice) == 2
    queer = {"bakla", "tomboy", "bading", "lesbiyana"}
    labels = queer | {"lalaki", "babae"}
    mixed = [
        row.Q_id
        for row in orientation.itertuples()
        if (labels - set(re.findall(r"\w+", row.Known_stereotyped_groups + row.Invalid_Partners))) & queer
    ]
    assert by_rule["queer-contrast"] == mixed and len(mixed) == 27
    assert findings.loc[findings["rule"] == "contained-names", "text"].tolist()[0] == "Angel, Angelo"
    assert set(findings.loc[findings["severity"] == "error", "rule"]) == {"no-prompts", "fused-slot", "fused-unknown"}
    misspelt = set(findings.loc[findings["rule"] == "misspelt", "text"])
    assert {"diskrminasyon", "kaisnthan", "eskperto", "gingawa", "nakraang", "makapgdesisyon"} <= misspelt


@pytest.mark.mirror
def test_published_repairs_agree_with_the_audit():
    counted = repairs("all", "filbbq").set_index("repair")
    findings = audit_templates("filbbq")
    per_rule = findings.groupby("rule")["template"].nunique()
    assert counted.loc["subcategory", ["templates", "prompts"]].tolist() == [per_rule["no-prompts"], 17 * 8]
    assert counted.loc["fused-slot", ["templates", "prompts"]].tolist() == [1, 200]
    assert counted.loc["sentence-case", "templates"] == per_rule["sentence-case"]
    share = counted.loc["unknown", "prompts"] / 10_576
    assert abs(share - 1 / 8) < 4 * (1 / 8 * 7 / 8 / 2644) ** 0.5  # one block in eight, 2,644 blocks, 4 sd


def test_the_made_files_have_the_columns_that_are_read():
    """The helper's headings cover everything the reader asks for."""
    from localbias.prompts.templates import REQUIRED

    assert set(REQUIRED) <= set(GENDER) & set(ORIENTATION)
