"""Each judge of the ledger on made tables with known answers: true, false, void, ties, missing and flagged cells."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ledger_made import by_method, cells, two
from localbias.audit import results as integrity
from localbias.errors import BadTable, UnknownName
from localbias.ledger import judges as j
from localbias.ledger import tables as t
from localbias.ledger.sections import characteristics
from localbias.ledger.settings import Settings

S = Settings()


def made(pattern, **more):
    """One language a letter: + significant positive, − significant negative, p positive, n negative, 0 exactly 0."""
    d = {"+": (0.9, 0.01), "-": (-0.9, 0.99), "p": (0.3, 0.3), "n": (-0.3, 0.7), "0": (0.0, 0.5)}
    return cells([(f"l{i:02}", *d[mark]) for i, mark in enumerate(pattern)], **more)


# --- cells ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "verdict"),
    [((3, 5), "holds"), ((3, 2), "holds in part"), ((2, 2), "not supported"), ((0, 0), "not supported")],
)
def test_named_languages_must_each_have_enough_methods(found, verdict):
    table = pd.concat([by_method("de", found[0]), by_method("el", found[1]), by_method("fr", 9)])
    finding = j.cells(table, S, named=["de", "el"], of="significant positive", need=3)
    assert finding.verdict == verdict
    assert f"de {found[0]} of 9 {'✓' if found[0] >= 3 else '✗'}" in finding.figure
    assert "so are 1 of 1 others" in finding.figure
    assert set(finding.evidence.language) == {"de", "el"}


def test_a_single_cell_is_shown_with_its_d_and_p():
    finding = j.cells(made("+n"), S, named=["l00", "l01"], of="positive")
    assert finding.figure == "positive: l00 0.90 (0.010) ✓, l01 -0.30 (0.700) ✗"
    assert finding.verdict == "holds in part"


def test_chance_of_named_cells_is_bounded_whatever_their_dependence():
    """By hand: 3 of 9 at 5 % happen with probability at most 9·0.05/3 = 0.15; four of four languages: 0.15⁴."""
    table = pd.concat([by_method(c, 3) for c in ("a", "b", "c", "d")])
    finding = j.cells(table, S, named=["a"], of="significant positive", need=3)
    assert finding.p == pytest.approx(0.15**4) and finding.support == "beyond chance"
    alone = pd.concat([by_method("a", 9), *[by_method(c, 0) for c in "bcdefg"]])
    finding = j.cells(alone, S, named=["a"], of="significant positive", need=3)
    assert finding.verdict == "holds" and finding.support == "as described"  # 1 − 0.85⁷ = 0.68
    assert finding.p == pytest.approx(1 - 0.85**7)


def test_cells_of_one_language_count_as_one_in_a_list():
    """Eight of 2 × 4 cells significant: two languages of two, 0.1² = 0.01; not 0.1⁸."""
    rows = [(c, f"weat{i}", 0.9, 0.01) for c in "ab" for i in range(4)]
    named = [[c, f"weat{i}"] for c in "ab" for i in range(4)]
    finding = j.cells(cells(rows), S, named=named, of="significant", unit=["language", "test"])
    assert finding.p == pytest.approx(0.01) and finding.verdict == "holds"


def test_a_list_that_leaves_some_out_holds_in_part_and_names_them():
    table = cells([("a", "weat1", 0.9, 0.01), ("b", "weat1", -0.9, 0.99), ("c", "weat1", 0.1, 0.4)])
    rule = {"named": [["a", "weat1"]], "of": "significant", "unit": ["language", "test"]}
    finding = j.cells(table, S, only=True, **rule)
    assert finding.verdict == "holds in part" and finding.figure.endswith("1 of 2 others: b weat1 -0.90 (0.990)")
    assert set(finding.evidence.language) == {"a", "b"}
    assert j.cells(table, S, **rule).verdict == "holds"


def test_a_claim_of_two_parts_needs_both():
    table = pd.concat([cells([("th", 1.0, 0.0)]), cells([("th", -0.6, 0.996)], group="monolingual")])
    parts = [
        {"where": "group == 'DistilmBERT'", "of": "significant positive"},
        {"where": "group == 'monolingual'", "of": "significant negative"},
    ]
    assert j.cells(table, S, named=["th"], parts=parts).verdict == "holds"
    flipped = table.assign(d=table.d.abs(), significant=True)
    assert j.cells(flipped, S, named=["th"], parts=parts).verdict == "holds in part"


def test_missing_and_flagged_cells_leave_a_claim_untold():
    table = pd.concat([by_method("de", 5), by_method("el", 2, of=2)])
    told = j.cells(table, S, named=["de", "xx"], of="positive")
    assert told.verdict == "cannot tell" and "xx" in told.figure
    assert j.cells(table, S, named=["el"], of="significant positive", need=3).verdict == "cannot tell"
    flagged = made("++").assign(flags=["", "same-model"])
    left = integrity.without(flagged)
    assert j.cells(flagged, S, named=["l00", "l01"], of="positive").verdict == "holds"
    assert j.cells(left, S, named=["l00", "l01"], of="positive").verdict == "cannot tell"


def test_a_tie_is_neither_positive_nor_negative():
    assert j.cells(made("0+"), S, named=["l00"], of="positive").verdict == "not supported"
    assert j.cells(made("0+"), S, named=["l00"], of="negative").verdict == "not supported"


def test_a_condition_that_cannot_be_read_is_named():
    with pytest.raises(BadTable, match="cannot be read"):
        j.cells(made("+"), S, named=["l00"], of="nonsense > 1")
    with pytest.raises(BadTable, match="cannot be read"):
        j.share(made("+"), S, of="d >")


# --- share ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "verdict", "support"),
    [
        ("p" * 20 + "n" * 4, "holds", "beyond chance"),
        ("p" * 13 + "n" * 11, "holds in part", ""),
        ("p" * 12 + "n" * 12, "not supported", ""),
        ("p" * 4 + "n" * 20, "not supported", ""),
        ("ppp", "holds", "as described"),
        ("ppn", "holds in part", ""),
    ],
)
def test_a_claim_about_most_languages(pattern, verdict, support):
    finding = j.share(made(pattern), S, of="positive")
    assert (finding.verdict, finding.support) == (verdict, support)
    assert finding.value == pytest.approx(pattern.count("p") / len(pattern))


def test_the_share_and_its_test_are_scipys_over_languages():
    """Per language the mean over its cells; interval and p of scipy's one-sample t test."""
    rng = np.random.default_rng(1)
    rows = [(f"l{i}", f"weat{k}", d, 0.3) for i in range(9) for k, d in enumerate(rng.normal(0.4, 1, 6))]
    finding = j.share(cells(rows), S, of="positive")
    per = pd.DataFrame(rows, columns=["l", "t", "d", "p"]).assign(ok=lambda x: x.d > 0).groupby("l").ok.mean()
    test = stats.ttest_1samp(per, 0.5)
    assert finding.p == pytest.approx(test.pvalue)
    assert (finding.low, finding.high) == pytest.approx(tuple(test.confidence_interval(0.95)))


def test_equal_values_are_tested_by_their_sign():
    assert j.over_units([1.0] * 8) == (1.0, 1.0, 1.0, 2 * 0.5**8)
    assert math.isnan(j.over_units([1.0] * 4)[3])
    assert j.over_units([0.5] * 8, 0.5)[3] == 1.0


def test_more_than_chance_and_few():
    assert j.share(made("+-" * 6 + "p" * 12), S, of="significant", bound="chance").support == "beyond chance"
    assert j.share(made("+" + "p" * 8), S, of="significant", bound="chance").verdict == "holds in part"
    assert j.share(made("p" * 9), S, of="significant", bound="chance").verdict == "not supported"
    assert j.share(made("+" + "p" * 11), S, of="significant", side="below").verdict == "holds"
    assert j.luck("significant", Settings(rule="two-sided")) == 0.05 and math.isnan(j.luck("abs_d > 1", S))


@pytest.mark.parametrize(
    ("wording", "pattern", "verdict"),
    [
        ("every", "p" * 20, "holds"),
        ("every", "p" * 18 + "nn", "holds in part"),
        ("every", "p" * 11 + "n" * 9, "not supported"),
        ("some", "p" + "n" * 9, "holds"),
        ("some", "nnn", "not supported"),
        ("not all", "ppn", "holds"),
        ("not all", "ppp", "not supported"),
        ("majority", "ppn", "holds"),
        ("majority", "pn", "not supported"),
    ],
)
def test_what_every_some_and_a_majority_need(wording, pattern, verdict):
    assert j.share(made(pattern), S, of="positive", wording=wording).verdict == verdict


def test_a_denial_or_one_example_is_never_beyond_chance():
    assert j.share(made("p" * 19 + "n"), S, of="positive", wording="not all").support == "as described"
    with pytest.raises(UnknownName, match="majority"):
        j.share(made("p"), S, of="positive", wording="majorities")


# --- paired -----------------------------------------------------------------------------------


def human(rows):
    return t.sides(two(rows), by="source", left="human", right="gt")


def test_a_paired_comparison_is_scipys_over_languages():
    rng = np.random.default_rng(2)
    rows = [(f"l{i}", f"weat{k}", 1.0 + x, 0.6) for i in range(10) for k, x in enumerate(rng.normal(0, 0.3, 3))]
    finding = j.paired(human(rows), S)
    per = pd.DataFrame(rows).groupby(0).apply(lambda g: (g[2].abs() - g[3]).mean())
    assert finding.p == pytest.approx(stats.ttest_1samp(per, 0).pvalue, rel=1e-4)
    assert finding.value == pytest.approx(per.mean(), abs=1e-6)
    assert (finding.verdict, finding.support) == ("holds", "beyond chance")
    assert j.paired(t.sides(two(rows), by="source", left="gt", right="human"), S).verdict == "not supported"


def test_larger_d_and_larger_size_are_two_readings():
    table = human([(f"l{i}", -0.9 - i / 100, 0.2) for i in range(8)])
    assert j.paired(table, S, column="abs_difference").verdict == "holds"
    assert j.paired(table, S, column="difference").verdict == "not supported"


def test_ties_are_neither_and_few_languages_must_all_agree():
    assert j.paired(human([(f"l{i}", 0.5, 0.5) for i in range(8)]), S).verdict == "not supported"
    table = human([("a", 0.9, 0.1), ("b", 0.9, 0.1)])
    assert j.paired(table, S).verdict == "holds" and j.paired(table, S).support == "as described"
    assert j.paired(human([("a", 0.9, 0.1), ("b", 0.1, 0.5)]), S).verdict == "not supported"


def test_sides_leave_out_what_has_no_partner_and_know_conclusions():
    """By hand: −0.9 against 0.5 differ by −1.4, in size by 0.4; both significant, other sign, other conclusion."""
    both = two([("a", -0.9, 0.5), ("b", 0.3, 0.3)])
    row = t.sides(pd.concat([both, cells([("c", 1.0, 0.01)], source="human")]), by="source", left="human", right="gt")
    assert row.language.tolist() == ["a", "b"]
    first = row.iloc[0]
    assert (first.difference, first.abs_difference, first.gap) == (-1.4, 0.4, 1.4)
    assert first.opposite and not first.same_conclusion and first.more_significant == 0
    assert row.iloc[1].same_conclusion and row.iloc[1].abs_difference == 0
    models = pd.concat([cells([("a", d, 0.01)], group=g) for g, d in (("mono", 0.2), ("x", 0.4), ("y", -0.8))])
    merged = t.sides(models, by="group", left="mono", right=["x", "y"]).iloc[0]
    assert merged.right == pytest.approx(-0.2) and merged.abs_right == pytest.approx(0.6)


def test_across_names_the_largest_of_those_that_have_all():
    models = pd.concat([cells([("a", d, 0.01), ("b", -d, 0.9)], group=g) for g, d in (("x", 0.2), ("y", 0.7))])
    models = pd.concat([models, cells([("c", 0.1, 0.4)], group="x")])
    wide = t.across(models, by="group").set_index("language")
    assert wide.top.to_dict() == {"a": "y", "b": "x"} and wide.range.round(6).tolist() == [0.5, 0.5]
    assert wide.one_sign.all() and t.across(models, by="group", names=["x", "z"]).empty


# --- order ------------------------------------------------------------------------------------


def ranks(means, n=8, noise=0.01):
    rng = np.random.default_rng(3)
    rows = [(f"l{i}", m, v + rng.normal(0, noise)) for i in range(n) for m, v in means.items()]
    return pd.DataFrame(rows, columns=["language", "method", "rho"])


def ordered(table, **more):
    return j.order(table, S, by="method", column="rho", **more)


def test_an_order_is_taken_apart_into_pairs():
    table = ranks({"M1": 3.0, "M10": 2.0, "M5": 1.0, "M7": 0.1})
    found = ordered(table, first=["M1", "M10"], last=["M7"])
    assert (found.verdict, found.support) == ("holds", "beyond chance")
    assert found.figure.startswith("6 of 6 pairs") and found.figure.endswith("M1 > M10 > M5 > M7")
    assert ordered(table, first=["M10", "M1"]).verdict == "holds in part"  # 4 of 5 pairs
    assert ordered(table, first=["M7"]).verdict == "not supported"
    assert ordered(table, first=["M5", "M10", "M1"], ranked=False).verdict == "holds"


def test_an_order_without_languages_enough_is_as_described_and_a_missing_name_is_said():
    found = ordered(ranks({"M1": 2.0, "M5": 1.0}, n=1), first=["M1"])
    assert (found.verdict, found.support) == ("holds", "as described")
    told = ordered(ranks({"M1": 2.0, "M5": 1.0}), first=["M8"])
    assert told.verdict == "cannot tell" and "M8" in told.figure
    assert ordered(ranks({"M1": 2.0, "M5": 1.0}, noise=5.0), first=["M1"]).support != "beyond chance"


def test_an_order_of_equal_values_is_no_order():
    assert ordered(ranks({"M1": 1.0, "M5": 1.0}, noise=0), first=["M1"]).verdict == "not supported"


# --- correlation, varied, count, printed ------------------------------------------------------


def test_a_correlation_is_scipys_and_needs_five_languages():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"language": [f"l{i}" for i in range(20)], "left": rng.normal(size=20)})
    table["right"] = table.left + rng.normal(size=20) / 2
    found = j.correlation(table, S)
    assert (found.value, found.p) == pytest.approx(tuple(stats.spearmanr(table.left, table.right)))
    assert found.verdict == "holds" and found.low < found.value < found.high
    assert j.correlation(table.assign(right=-table.right), S).verdict == "not supported"
    assert j.correlation(table.head(4), S).verdict == "cannot tell"
    assert j.correlation(table.assign(right=1.0), S).verdict == "cannot tell"


def test_a_correlation_within_languages_is_the_mean_of_theirs():
    rows = [(f"l{i}", k, k * (1 if i < 6 else -1)) for i in range(8) for k in range(6)]
    table = pd.DataFrame(rows, columns=["language", "left", "right"])
    found = j.correlation(table, S, within="language")
    assert found.value == pytest.approx(0.5) and found.n == 8 and found.verdict == "holds in part"


def test_languages_that_differ_and_languages_that_do_not():
    """By hand: scores ±2 about 0 in ten languages give Q = 40 on 9 degrees of freedom, times two tests, doubled."""
    high, low = stats.norm.sf(2), stats.norm.sf(-2)
    rows = [(f"l{i}", test, 0.5, high if i % 2 else low) for i in range(10) for test in ("weat1", "weat2")]
    found = j.varied(cells(rows), S)
    assert found.p == pytest.approx(4 * stats.chi2.sf(40, 9)) and found.support == "beyond chance"
    same = cells([(f"l{i}", 0.9, 0.01) for i in range(10)])
    assert j.varied(same, S).verdict == "not supported"
    assert j.varied(made("+-"), S).verdict == "cannot tell"


def test_counts_hold_within_their_bounds_and_a_missing_number_does_not():
    table = pd.DataFrame({"name": ["prompts", "share"], "value": [10576.0, 0.4228]})
    assert j.count(table, S, expected={"prompts": [10576, 10576], "share": [0.375, 0.425]}).support == "count"
    assert j.count(table, S, expected={"prompts": [10577, 10577], "share": [0, 1]}).verdict == "holds in part"
    assert j.count(table, S, expected={"prompts": [1, 2]}).verdict == "not supported"
    assert j.count(table, S, expected={"share": [0, 1], "absent": [0, 1]}).verdict == "holds in part"
    assert j.count(table, S, expected={"absent": [0, 1]}).verdict == "cannot tell"


def test_printed_values_are_those_of_the_files_or_not():
    def verdict(right):
        return j.printed(pd.DataFrame({"matches": [True] * right + [False] * (34 - right)}), S).verdict

    assert [verdict(n) for n in (34, 33, 17, 0)] == ["holds", "holds in part", "not supported", "not supported"]


# --- parts and readings -----------------------------------------------------------------------


def found(verdict, support=""):
    return j.Finding(verdict, verdict, support or "as described" * (verdict == "holds"), value=0.5, p=0.01)


def test_all_parts_must_hold_and_the_weakest_support_counts():
    def verdict(*verdicts):
        return j.all_of({str(i): found(v) for i, v in enumerate(verdicts)}).verdict

    assert verdict("holds", "holds") == "holds"
    assert verdict("holds", "not supported") == "holds in part" == verdict("holds", "cannot tell")
    assert verdict("holds", "not supported", "not supported") == "not supported"
    assert verdict("cannot tell", "cannot tell") == "cannot tell"
    both = j.all_of({"a": found("holds", "beyond chance"), "b": found("holds", "as described")})
    assert both.support == "as described" and both.figure == "a: holds; b: holds"


def test_readings_that_differ_are_said_so():
    same = j.readings({"d": found("holds", "beyond chance"), "|d|": found("holds", "as described")})
    assert (same.verdict, same.support) == ("holds", "as described")
    other = j.readings({"d": found("holds", "beyond chance"), "|d|": found("holds in part")})
    assert other.verdict == "depends on the reading" and other.support == "" and math.isnan(other.p)
    assert "d: holds" in other.figure and "|d|: holds in part" in other.figure
    assert j.readings({"d": found("holds"), "|d|": found("cannot tell")}).verdict == "holds"
    assert j.readings({"d": found("cannot tell"), "|d|": found("cannot tell")}).verdict == "cannot tell"


# --- operating characteristics ----------------------------------------------------------------


def test_void_claims_rarely_pass_as_beyond_chance_and_true_ones_are_seen():
    table = characteristics()
    assert (table.n >= 500).all()
    totals = table.groupby(["judge", "world"])["share"].sum()
    assert len(totals) == 3 * table.judge.nunique() and totals.between(0.999, 1.001).all()
    void = table[(table.world == "void") & (table.outcome == "holds beyond chance")]
    assert (void.share <= 0.05).all(), void
    false = table[(table.world == "false") & table.outcome.str.startswith("holds ")]
    assert (false[false.outcome != "holds in part"].share <= 0.05).all(), false
    seen = table[(table.world == "true") & (table.outcome != "not supported")].groupby("judge")["share"].sum()
    assert (seen > 0.8).all(), seen
