"""Bias scores: hand calculations, respondents whose scores are known, the original BBQ's layout."""

import json

import numpy as np
import pandas as pd
import pytest

import filbbq_made as made
from localbias.errors import BadTable, UnknownName
from localbias.measures.bias_scores import bias_ratio
from localbias.prompts.bbq import read_bbq
from localbias.prompts.generation import generate_prompts
from localbias.prompts.roles import role_codes
from localbias.studies.scores import always, score_answers


def one(table, **where):
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]


def answered(condition, *roles, n_unparsed=0):
    """Prompts of one context, answered with the given roles."""
    rows = []
    for role in [*roles, *([None] * n_unparsed)]:
        label = 2 if condition == "ambig" else 0
        rows.append(
            {
                "category": "c",
                "template": "T",
                "condition": condition,
                "role0": "biased",
                "role1": "counter",
                "role2": "unknown",
                "label": label,
                "answer": -1 if role is None else ["biased", "counter", "unknown"].index(role),
            }
        )
    return pd.DataFrame(rows)


def test_equation_1_by_hand():
    # 3 biased, 1 counter, 2 unknown: 2·3/4 − 1
    row = one(score_answers(answered("disambig", *["biased"] * 3, "counter", *["unknown"] * 2), ["template"]))
    assert row.s_dis == 0.5
    assert np.isnan(row.s_amb)
    assert row.accuracy == 0.5  # the biased option is the right one here: 3 of 6


def test_equation_2_by_hand():
    # accuracy 2/6, s = 0.5: (1 − 1/3)·0.5 = 1/3 = (3 − 1)/6
    row = one(score_answers(answered("ambig", *["biased"] * 3, "counter", *["unknown"] * 2), ["template"]))
    assert row.s_amb == pytest.approx((1 - 2 / 6) * 0.5)
    assert row.s_amb == pytest.approx((3 - 1) / 6)
    assert row.accuracy == pytest.approx(2 / 6)
    assert np.isnan(row.s_dis)


def test_unparsed_answers_are_counted_and_nothing_else():
    clean = one(score_answers(answered("ambig", "biased", "biased", "counter", "unknown"), ["template"]))
    mixed = one(score_answers(answered("ambig", "biased", "biased", "counter", "unknown", n_unparsed=5), ["template"]))
    assert mixed.n_unparsed == 5 and mixed.n == 9
    assert (mixed.s_amb, mixed.accuracy) == (clean.s_amb, clean.accuracy) == (0.25, 0.25)


def test_nothing_parsed_is_undefined():
    row = one(score_answers(answered("ambig", n_unparsed=3), ["template"]))
    assert np.isnan(row.s_amb) and np.isnan(row.accuracy) and row.n_unparsed == 3


def test_zero_over_zero_is_nan_not_zero():
    row = one(score_answers(answered("disambig", "unknown", "unknown"), ["template"]))
    assert np.isnan(row.s_dis)
    assert np.isnan(bias_ratio(0, 0))


@pytest.mark.parametrize("dataset", ["starter", pytest.param("filbbq", marks=pytest.mark.mirror)])
def test_four_respondents_on_whole_prompt_sets(dataset):
    prompts = generate_prompts("all", dataset=dataset)
    scores = {policy: score_answers(always(prompts, policy)) for policy in ("biased", "counter", "unknown", "correct")}
    for policy, value in (("biased", 1.0), ("counter", -1.0)):
        assert (scores[policy]["score"] == value).all()
    assert (scores["unknown"].query("condition == 'ambig'")["s_amb"] == 0).all()
    assert scores["unknown"].query("condition == 'disambig'")["s_dis"].isna().all()
    assert (scores["unknown"].query("condition == 'ambig'")["accuracy"] == 1).all()
    assert (scores["correct"]["accuracy"] == 1).all()
    assert (scores["correct"].query("condition == 'ambig'")["s_amb"] == 0).all()
    # right answers are biased as often as counter where each pair has its twin with the names exchanged
    twins = prompts.groupby(["category", "template", "pair"])["exchanged"].nunique().eq(2)
    whole = twins.groupby(["category", "template"]).all()
    right = scores["correct"].query("level == 'template' and condition == 'disambig'")
    right = right.set_index(["category", "template"])["s_dis"]
    assert whole.sum() > 5
    assert (right[whole[whole].index] == 0).all()


def test_levels_add_up():
    prompts = pd.concat([made.prompts(3, 2), made.prompts(2, 2, category="sexual_orientation")], ignore_index=True)
    prompts["answer"] = np.random.default_rng(0).integers(-1, 3, len(prompts))
    scores = score_answers(prompts)
    counts = ["n", "n_biased", "n_counter", "n_unknown", "n_unparsed"]
    sums = scores.groupby(["level", "condition"])[counts].sum()
    for condition in ("ambig", "disambig"):
        assert (sums.loc[("template", condition)] == sums.loc[("category", condition)]).all()
        assert (sums.loc[("category", condition)] == sums.loc[("overall", condition)]).all()
    assert scores["n"].sum() == 3 * len(prompts)
    # templates of the same name in two categories are two templates
    assert len(scores.query("level == 'template' and template == 'T0' and condition == 'ambig'")) == 2


def bbq_lines(category, index, stereotyped, groups, names):
    """Four prompts of a block in BBQ's layout, as its files write them."""
    lines = []
    for polarity in ("neg", "nonneg"):
        for condition in ("ambig", "disambig"):
            lines.append(
                {
                    "example_id": len(lines),
                    "question_index": index,
                    "question_polarity": polarity,
                    "context_condition": condition,
                    "category": category,
                    "answer_info": {
                        "ans0": [names[0], groups[0]],
                        "ans1": [names[1], groups[1]],
                        "ans2": ["Unknown", "unknown"],
                    },
                    "additional_metadata": {
                        "subcategory": "None",
                        "stereotyped_groups": stereotyped,
                        "version": "",
                        "source": "",
                    },
                    "context": f"{names[0]} and {names[1]} came." + (" One did it." if condition == "disambig" else ""),
                    "question": "Who?" if polarity == "neg" else "Who not?",
                    "ans0": names[0],
                    "ans1": names[1],
                    "ans2": "Unknown",
                    "label": 2 if condition == "ambig" else 0 if polarity == "neg" else 1,
                }
            )
    return lines


@pytest.mark.parametrize(
    ("category", "stereotyped", "groups", "names", "target"),
    [
        ("Gender_identity", ["F"], ["woman", "man"], ["The woman", "The man"], 0),
        ("Gender_identity", ["F"], ["M", "F"], ["Robert", "Mary"], 1),
        ("Gender_identity", ["M"], ["girl", "boy"], ["The girl", "The boy"], 1),
        ("Age", ["old"], ["nonOld", "old"], ["The grandson", "The grandfather"], 1),
        ("Nationality", ["Namibian", "Malian"], ["Africa", "Europe"], ["Namibian", "Danish"], 0),
    ],
)
def test_the_original_layout_and_its_group_names(tmp_path, category, stereotyped, groups, names, target):
    file = tmp_path / f"{category}.jsonl"
    lines = bbq_lines(category, "1", stereotyped, groups, names)
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    prompts = read_bbq(file)
    # choosing the target on negative questions and the other on non-negative ones is all-biased
    prompts["answer"] = [target if p == "neg" else 1 - target for p in prompts["polarity"]]
    assert (score_answers(prompts)["score"] == 1).all()
    prompts["answer"] = 1 - prompts["answer"]
    assert (score_answers(prompts)["score"] == -1).all()
    # never looking at the question: neither
    prompts["answer"] = target
    assert (score_answers(prompts)["score"] == 0).all()
    assert (score_answers(always(prompts, "unknown")).query("condition == 'ambig'")["s_amb"] == 0).all()
    assert (score_answers(always(prompts, "correct"))["accuracy"] == 1).all()


def test_bad_tables_are_named():
    good = answered("ambig", "biased")
    with pytest.raises(BadTable, match="role0"):
        score_answers(good.drop(columns="role0"))
    with pytest.raises(BadTable, match="cannot be scored"):
        role_codes(good.assign(role1="biased"))
    with pytest.raises(BadTable, match="cannot be scored"):
        role_codes(good.assign(role0=""))
    with pytest.raises(BadTable, match="cannot be scored"):
        role_codes(good.assign(label=0))  # an ambiguous prompt whose right answer names a person
    with pytest.raises(BadTable, match="no option"):
        score_answers(good.assign(answer=3))
    with pytest.raises(BadTable, match="no answers"):
        score_answers(good.drop(columns="answer"))
    with pytest.raises(BadTable, match="nothing to score"):
        score_answers(good.head(0))
    for label in (None, float("nan"), "x", 0.5, 3):
        with pytest.raises(BadTable, match="cannot be scored"):
            score_answers(good.assign(label=label))
    for broken in (good.drop(columns="category"), good.assign(category=None), good.drop(columns="template")):
        with pytest.raises(BadTable, match="cannot be grouped"):
            score_answers(broken)
    with pytest.raises(UnknownName, match="policy"):
        always(good, "random")
    with pytest.raises(UnknownName, match="level"):
        score_answers(good, ["dimension"])
