"""Reading BBQ-style JSON lines: roles by hand for each kind of group, damage named by line."""

from __future__ import annotations

import ast
import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localbias.errors import BadTable, UnknownName
from localbias.prompts.bbq import read_bbq, target_options, to_bbq, write_bbq
from localbias.prompts.generation import generate_prompts
from templates_made import write_folder

SAME = [
    "category",
    "template",
    "polarity",
    "condition",
    "context",
    "question",
    "ans0",
    "ans1",
    "ans2",
    "label",
    "role0",
    "role1",
    "role2",
    "order",
    "prompt_id",
    "block",
    "pair",
    "exchanged",
    "unknown",
    "stereotyped_groups",
]


def line(first, second, stereotyped, polarity="neg", condition="ambig", category="Age", **changes) -> dict:
    """A prompt whose options are two people, (text, group) each, and unknown."""
    return {
        "example_id": 0,
        "question_index": "1",
        "question_polarity": polarity,
        "context_condition": condition,
        "category": category,
        "context": f"{second[0]} met {first[0]}.",
        "question": "Who?",
        "ans0": f"The {first[0]}",
        "ans1": f"The {second[0]}",
        "ans2": "Not known",
        "label": 2 if condition == "ambig" else 0,
        "answer_info": {"ans0": list(first), "ans1": list(second), "ans2": ["Not known", "unknown"]},
        "additional_metadata": {"stereotyped_groups": stereotyped, "subcategory": "None", "version": "a"},
    } | changes


def write(path, *records) -> str:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


FAMILIES = {
    "age": (("grandson", "nonOld"), ("grandfather", "old"), ["old"], "counter"),
    "age, the young": (("grandson", "nonOld"), ("grandfather", "old"), ["nonOld"], "biased"),
    "gender, names": (("Ana", "F"), ("Hugo", "M"), ["F"], "biased"),
    "gender, labels": (("girl", "girl"), ("boy", "boy"), ["F"], "biased"),
    "gender, men": (("woman", "woman"), ("man", "man"), ["man"], "counter"),
    "gender, trans": (("Ana", "F"), ("Hugo", "trans_M"), ["trans"], None),
    "gender, trans label": (
        ("trans woman", "transgender women"),
        ("woman", "woman"),
        ["Transgender women", "trans"],
        "biased",
    ),
    "nationality by text": (("Kenyan", "Africa"), ("Swede", "Europe"), ["Kenyan", "Namibian"], "biased"),
    "nationality, two of one region": (("Kenyan", "Africa"), ("Ghanaian", "Africa"), ["Ghanaian"], "counter"),
    "race, names": (("Joe Park", "M-Asian"), ("Bill Hill", "M-Black"), ["Black"], "counter"),
    "race, two spellings": (("Bill Hill", "F-Black"), ("Joe Park", "F-White"), ["African American"], "biased"),
    "race, African is not African American": (("African", "African"), ("Asian", "Asian"), ["African American"], None),
    "race by gender": (("Ann Lee", "F-Black"), ("Bill Hill", "M-Black"), ["F-Black"], "biased"),
    "income": (("janitor", "lowSES"), ("judge", "highSES"), ["low SES"], "biased"),
    "both of the groups": (("bakla", "bakla"), ("tomboy", "tomboy"), ["bakla", "tomboy"], None),
    "neither": (("Ana", "F"), ("Hugo", "M"), ["old"], None),
    "one info for both": (("piercings", "negDress"), ("no piercings", "negDress"), ["negDress"], None),
    "no groups": (("Ana", "F"), ("Hugo", "M"), [], None),
    "other language": (("Åse", "K"), ("Ståle", "M"), ["K"], "biased"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_roles_by_hand(tmp_path, family):
    first, second, stereotyped, expected = FAMILIES[family]
    file = write(
        tmp_path / "f.jsonl", line(first, second, stereotyped), line(first, second, stereotyped, polarity="nonneg")
    )
    neg, nonneg = read_bbq(file).to_dict("records")
    opposite = {"biased": "counter", "counter": "biased"}
    if expected is None:
        assert neg["role0"] == neg["role1"] == "" and neg["flags"].startswith("no role") and neg["order"] == ""
    else:
        assert (neg["role0"], neg["role1"], neg["role2"]) == (expected, opposite[expected], "unknown")
        assert (nonneg["role0"], nonneg["role1"]) == (opposite[expected], expected)
        assert neg["flags"] == "" and neg["order"] == expected[0] + opposite[expected][0] + "u"


def test_aliases_of_a_user_resolve_roles(tmp_path):
    file = write(tmp_path / "f.jsonl", line(("lola", "matanda"), ("apo", "bata"), ["old"]))
    assert read_bbq(file)["flags"].iloc[0].startswith("no role")
    assert read_bbq(file, aliases={"Matanda": "old"})["role0"].iloc[0] == "biased"


def test_unresolved_prompts_are_kept_dropped_or_an_error(tmp_path):
    file = write(tmp_path / "f.jsonl", line(("a", "x"), ("b", "y"), ["z"]), line(("c", "z"), ("d", "y"), ["z"]))
    assert len(read_bbq(file)) == 2 and len(read_bbq(file, unresolved="drop")) == 1
    with pytest.raises(BadTable, match="1 of 2 prompts"):
        read_bbq(file, unresolved="error")
    with pytest.raises(UnknownName):
        read_bbq(file, unresolved="dropp")


def test_the_unknown_option_may_be_told_by_the_label(tmp_path):
    """A family without groups for unknown: in an ambiguous context the right option is unknown."""
    record = line(("Ana", "F"), ("Hugo", "M"), ["F"])
    record["answer_info"]["ans2"] = ["", ""]
    ambiguous, told = read_bbq(write(tmp_path / "f.jsonl", record, record | {"context_condition": "disambig"})).to_dict(
        "records"
    )
    assert ambiguous["role2"] == "unknown" and ambiguous["role0"] == "biased"
    assert told["flags"] == "no role: answer_info names no single unknown option"


def test_text_metadata_and_other_spellings(tmp_path):
    record = line(
        ("Ana", "F"), ("Hugo", "M"), ["F"], question_polarity="non_neg", context_condition="Ambiguous", label="2"
    )
    record |= {"answer_info": str(record["answer_info"]), "additional_metadata": str(record["additional_metadata"])}
    top = line(("Ana", "F"), ("Hugo", "M"), [], additional_metadata={}, stereotyped_groups=["F"])
    first, second = read_bbq(write(tmp_path / "f.jsonl", record, top), dataset="mine").to_dict("records")
    assert (first["polarity"], first["condition"], first["label"], first["role0"]) == ("nonneg", "ambig", 2, "counter")
    assert second["role0"] == "biased" and second["dataset"] == "mine" and first["version"] == "a"
    assert first["subcategory"] == "" and first["category"] == "age"


def block(first, second, stereotyped, start=0, **changes):
    return [
        line(first, second, stereotyped, polarity, condition, example_id=start + i, **changes)
        for i, (polarity, condition) in enumerate(
            [("neg", "ambig"), ("neg", "disambig"), ("nonneg", "ambig"), ("nonneg", "disambig")]
        )
    ]


def test_blocks_and_pairs(tmp_path):
    """Two twins, then two other people, then the twins' people in an order already seen."""
    ana, hugo = ("Ana", "F"), ("Hugo", "M")
    twin = block(ana, hugo, ["F"], 4, context="Ana met Hugo.")
    records = block(ana, hugo, ["F"]) + twin + block(("Bea", "F"), hugo, ["F"], 8) + block(ana, hugo, ["F"], 12)
    table = read_bbq(write(tmp_path / "f.jsonl", *records))
    firsts = table.drop_duplicates("block")
    assert table["block"].tolist() == sorted([0, 1, 2, 3] * 4)
    assert firsts["pair"].tolist() == [0, 0, 2, 3] and firsts["exchanged"].tolist() == [False, True, False, False]
    assert firsts[["name1", "name2"]].iloc[0].tolist() == ["Hugo", "Ana"]  # whom the context names first
    assert table["prompt_id"].tolist() == list(range(16))


def test_several_files_are_numbered_on(tmp_path):
    first = write(tmp_path / "a.jsonl", *block(("Ana", "F"), ("Hugo", "M"), ["F"]))
    second = write(tmp_path / "b.jsonl", *block(("Bea", "F"), ("Ivan", "M"), ["F"]))
    table = read_bbq([first, second])
    assert table["prompt_id"].tolist() == list(range(8)) and table["block"].nunique() == 2


@pytest.mark.parametrize(
    ("change", "said", "got"),
    [
        ({"question_polarity": "positive"}, "question_polarity is not known", "positive"),
        ({"context_condition": "clear"}, "context_condition is not known", "clear"),
        ({"label": 3}, "label is no option", "3"),
        ({"label": None}, "label is no option", "None"),
        ({"label": 1.0}, "label is no option", "1.0"),
        ({"context": " "}, "empty text", "context"),
        ({"ans1": ""}, "empty text", "ans1"),
        ({"question": None}, "empty text", "question"),
        ({"ans1": "Not known"}, "two options are alike", "Not known"),
        ({"answer_info": "{'ans0': "}, "answer_info cannot be read", "ans0"),
        ({"additional_metadata": "[1]"}, "additional_metadata cannot be read", "[1]"),
    ],
)
def test_a_bad_prompt_is_named_by_line(tmp_path, change, said, got):
    good = line(("Ana", "F"), ("Hugo", "M"), ["F"])
    file = write(tmp_path / "f.jsonl", good, good | change)
    with pytest.raises(BadTable, match=said) as caught:
        read_bbq(file)
    assert caught.value.where == "f.jsonl, line 2" and got in caught.value.got


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no prompt"), ("[1, 2]", "no prompt"), ("{oops", "not JSON"), ('{"context": "x"}', "lacks keys")],
)
def test_a_bad_file_is_named(tmp_path, text, said):
    file = tmp_path / "f.jsonl"
    file.write_text(text)
    with pytest.raises(BadTable, match=said):
        read_bbq(file)
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(BadTable, match="not UTF-8"):
        read_bbq(file)


def test_generated_prompts_survive_the_layout(tmp_path):
    """Written in BBQ's layout and read back, prompts keep texts, roles, blocks and pairs (repaired rules)."""
    prompts = generate_prompts("sexual_orientation", dataset=write_folder(tmp_path / "made"), rules="repaired")
    back = read_bbq(write_bbq(prompts, tmp_path / "out.jsonl"))
    pd.testing.assert_frame_equal(back[SAME], prompts[SAME], check_dtype=False)
    assert back["name1"].tolist() == prompts["name1"].tolist()


def test_writing_is_all_or_nothing(tmp_path):
    prompts = generate_prompts("sexual_orientation", dataset=write_folder(tmp_path / "made"))
    file = write_bbq(prompts, tmp_path / "out.jsonl")
    before = file.read_bytes()
    with pytest.raises(KeyError):
        write_bbq(prompts.drop(columns="context"), file)
    assert file.read_bytes() == before and [f.name for f in tmp_path.iterdir() if f.is_file()] == ["out.jsonl"]


names = st.text("abcdefghij", min_size=1, max_size=6)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(list(line(("a", "b"), ("c", "d"), []))),
        st.one_of(
            st.none(),
            st.integers(-3, 3),
            st.text(max_size=5),
            st.lists(names, max_size=2),
            st.dictionaries(names, names, max_size=2),
        ),
        max_size=3,
    )
)
def test_whatever_a_line_holds_it_is_read_or_named(tmp_path, changes):
    file = write(tmp_path / "f.jsonl", line(("Ana", "F"), ("Hugo", "M"), ["F"]) | changes)
    try:
        table = read_bbq(file)
    except BadTable as error:
        assert error.where.startswith("f.jsonl")
    else:
        roles = sorted(table[["role0", "role1", "role2"]].iloc[0])
        assert roles == ["biased", "counter", "unknown"] or table["flags"].iloc[0].startswith("no role")


@given(st.permutations([("Ana", "F"), ("Hugo", "M")]), st.sampled_from("FM"))
def test_target_does_not_depend_on_the_order(infos, group):
    assert [infos[i][1] for i in target_options(infos, [group])] == [group]


@pytest.mark.mirror
def test_the_published_prompts_have_roles_and_pairs(mirror):
    """Against the raw file: biased is the option of a stereotyped label exactly on negative questions."""
    file = mirror / "filbbq" / "data" / "FilBBQ_Sexual_orientation.jsonl"
    table = read_bbq(file)
    raw = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
    assert len(table) == len(raw) == 2624 and (table["flags"] == "").all()
    for row, record in zip(table.to_dict("records"), raw, strict=True):
        info = ast.literal_eval(record["answer_info"])
        groups = ast.literal_eval(record["additional_metadata"])["stereotyped_groups"]
        for i in range(3):
            label = info[f"ans{i}"][1]
            biased = (label in groups) == (record["question_polarity"] == "neg")
            assert row[f"role{i}"] == ("unknown" if label == "unknown" else "biased" if biased else "counter")
    assert table["block"].nunique() == 656 and table.groupby("pair").size().eq(8).all()
    ours = generate_prompts("sexual_orientation", dataset="filbbq")
    fixed = ["prompt_id", "template", "block", "pair", "exchanged", "name1", "name2", "group1", "group2", "question"]
    pd.testing.assert_frame_equal(table[fixed], ours[fixed], check_dtype=False)
    assert [record["label"] for record in to_bbq(table)] == [record["label"] for record in raw]
