"""FilBBQ's printed profiles judged by arithmetic: against enumeration, hand calculations and the template files."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from localbias.errors import BadValues
from localbias.prompts.generation import generate_prompts
from localbias.prompts.templates import CATEGORIES, read_templates
from localbias.studies import filbbq, profiles
from localbias.studies.published import printed


@pytest.mark.parametrize("condition", ["ambig", "disambig"])
@pytest.mark.parametrize("n", [1, 4, 5])
def test_one_runs_scores_are_those_of_all_answers(n, condition):
    """Every way to answer n prompts: biased 1, counter −1, unknown 0."""
    answers = np.array(list(product([1, -1, 0], repeat=n)))
    named = np.abs(answers).sum(axis=1)
    score = answers.sum(axis=1) / n if condition == "ambig" else answers[named > 0].sum(axis=1) / named[named > 0]
    for cents in range(-100, 101):
        near = np.abs(score - cents / 100) <= 0.005 + 1e-9
        assert profiles.one_run(cents / 100, n, condition) == near.any(), cents


def test_a_score_in_shares_of_answers_by_hand():
    """0.57 is 78.5 % against 21.5 % without "unknown", and 57 % against none with as many "unknown" as can be."""
    assert profiles.answer_shares(0.57)["biased"] == pytest.approx(0.785)
    most = profiles.answer_shares(0.57, unknown=0.43)
    assert most["biased"] == pytest.approx(0.57) and most["ratio"] == np.inf
    # "22 % more likely" would be 1.22 times as likely; the score 0.22 is at least 0.61/0.39 times.
    assert profiles.answer_shares(0.22)["ratio"] == pytest.approx(0.61 / 0.39)
    with pytest.raises(BadValues):
        profiles.answer_shares(0.57, unknown=0.5)


@pytest.mark.parametrize("condition", ["ambig", "disambig"])
def test_guessers_spread_as_probability_has_it(condition):
    """s_amb of n prompts: variance 2/(3n); s_dis: E[1/N] over N ~ Bin(n, 2/3), N > 0. Fifty means divide by 50."""
    n = 6
    k = np.arange(n + 1)
    weight = np.array([1.0, 6, 15, 20, 15, 6, 1]) * (2 / 3) ** k * (1 / 3) ** (n - k)
    one = 2 / 3 / n if condition == "ambig" else (weight[1:] / k[1:]).sum() / weight[1:].sum()
    for guesser, runs in (("fixed", 1), ("dice", 50)):
        drawn = profiles.guesser_scores(np.array([n, n]), condition, guesser, draws=20_000)
        assert np.nanmean(drawn) == pytest.approx(0, abs=0.01)
        assert np.nanvar(drawn) == pytest.approx(one / runs, rel=0.05)


def test_overlap_of_three_lists_by_enumeration():
    """All triples of pairs out of five things."""
    lists = [set(c) for c in combinations(range(5), 2)]
    shared = [len(a & b) + len(a & c) + len(b & c) for a, b, c in product(lists, repeat=3)]
    law = profiles.overlap_law(5, 2, contexts=1)
    assert law == pytest.approx(np.bincount(shared, minlength=7) / len(shared))
    assert profiles.overlap_law(5, 2, contexts=2) == pytest.approx(np.convolve(law, law))


def test_the_printed_lists_share_eight_entries():
    """Counted by hand in Tables 3–5: emotional (3 pairs), homemakers, gymnastics (3 pairs), affectionate."""
    assert profiles.overlaps()["shared"].tolist() == [2, 1, 1, 2, 1, 1]


def test_themes_and_templates_of_the_printed_entries():
    held = profiles.themes()
    assert not held["template"].duplicated().any()
    assert set(held["theme"]) == {"emotion", "domesticity", "interests", "polygamy"}
    entries = printed("FilBBQ").query("rank.notna()")
    gender = entries[~entries["templates"].str.contains("-")]
    # By hand, of the 20 entries of gender templates: emotional 3, closed 1; homemakers 3, cook 1.
    assert profiles.by_theme(gender, ["emotion", "domesticity"], wide=False).sum() == 8
    # wide adds affectionate 3, nurses 1, family 1
    assert profiles.by_theme(gender, ["emotion", "domesticity"], wide=True).sum() == 8 + 3 + 1 + 1


@pytest.mark.mirror
def test_the_printed_entries_on_the_published_templates():
    prompts = generate_prompts("all", dataset="filbbq")
    sizes = profiles.sizes(prompts)
    rows = [t for c in CATEGORIES for t in read_templates(c, "filbbq")]
    assert len(rows) == 123 and sum((t.id, "ambig") in sizes.index for t in rows) == 106
    assert set(profiles.themes()["template"]) <= {t.id for t in rows}
    table = filbbq.beside_paper(
        prompts, pd.DataFrame({"level": "template", "expectation": 0.0}, index=sizes.index).reset_index()
    )
    by = table.set_index(["printed_of", "context", "rank"])
    # FILBBQ-07 has 48 prompts: 24 a context; 0.13 is 3/24. 0.31 and 0.26 are no k/24.
    assert by.at[("roberta-tagalog-base", "ambiguous", 5), "one_run"]
    lion = by.loc[("Llama-SEA-LION-v2-8B-IT", "ambiguous")]
    assert lion.loc[[3, 5], "prompts"].tolist() == ["24", "24"] and not lion.loc[[3, 5], "one_run"].any()
    facts = filbbq.paper_facts(table, prompts)
    assert facts["among"] == 104 and facts["masked_one"] == 10 and facts["shared"] == 8
    # Nothing of a guesser who repeats fifty times what he threw once is exceeded; of one who throws anew most is.
    assert facts["fixed"] == 0 and facts["dice"] > 20
    # Eight shared entries are rare among lists drawn at random, not among those of guessers.
    assert facts["shared_p"] < 0.005 and facts["guessed_p"] > 0.05


def test_guessers_list_the_templates_of_few_prompts():
    """One template of 1 prompt and nine of 400, ambiguous: the small one's scores are −1, 0, 1; it is first or last."""
    index = pd.MultiIndex.from_product([[f"t{k}" for k in range(10)], ["ambig", "disambig"]])
    sizes = pd.Series([1, 1] + [400] * 18, index=index.set_names(["template", "condition"]))
    lists = profiles.guesser_lists(sizes, "fixed", ranks=1)
    # biased with probability a third; else another is first, except after "unknown", when chance decides
    assert (lists[:, 0] == "t0").mean() == pytest.approx(1 / 3, abs=0.05)
    labels = pd.Series({f"t{k}": str(k) for k in range(10)})
    same = profiles.guesser_overlaps(np.array([[["t1"], ["t2"]]] * 3), labels)
    assert same.tolist() == [6]  # three alike lists: three pairs in each of two contexts
