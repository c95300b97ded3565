"""Verdicts that count, on small tables whose answers can be counted by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ledger_made import cells
from localbias.errors import BadValues, UnknownName
from localbias.ledger import counts
from localbias.ledger.finding import chance_of, resampled, sign_test
from localbias.ledger.settings import Settings

S = Settings()
CODES = ["ar", "bn", "da", "de", "el", "es", "fa", "fr", "hi", "it"]


def made(ds, ps=None):
    return cells([(c, d, p) for c, d, p in zip(CODES, ds, ps or [0.5] * len(ds), strict=False)])


def test_the_paper_rule_is_significant_in_both_tails_and_the_two_sided_one_is_stricter():
    # One-sided p of 0.04 is 0.08 two-sided; by hand.
    table = [("ar", 0.9, 0.04), ("bn", -0.9, 0.97), ("da", 0.9, 0.01), ("de", 0.1, 0.97), ("el", 0.2, 0.4)]
    assert cells(table).significant.tolist() == [True, True, True, False, False]
    strict = cells(table, Settings(rule="two-sided")).significant
    assert strict.tolist() == [False, False, True, False, False]


def test_the_q_rule_adjusts_within_a_figure():
    # Two-sided p 0.02 and 0.04 in a family of two: Benjamini-Hochberg gives 0.04 for both; of four, 0.08.
    two = cells([("ar", 0.9, 0.01), ("bn", 0.8, 0.02)], Settings(rule="q"))
    assert two.q.round(6).tolist() == [0.04, 0.04] and two.significant.all()
    four = cells([("ar", 0.9, 0.01), ("bn", 0.8, 0.02), ("da", 0.1, 0.4), ("de", 0.1, 0.3)], Settings(rule="q"))
    assert not four.significant.any()
    # Another method is another figure.
    apart = pd.concat([cells([("ar", 0.9, 0.01)], Settings(rule="q")), cells([("ar", 0, 0.5)], method="M1")])
    assert apart.q.iloc[0] == pytest.approx(0.02)


def test_a_printed_zero_counts_as_below_half_a_thousandth():
    assert cells([("ar", 1.5, 0.0)]).two_sided.iloc[0] == 0.001


@pytest.mark.parametrize(
    ("ds", "verdict"),
    [([1] * 10, "holds"), ([1] * 6 + [-1] * 4, "holds in part"), ([1] * 4 + [-1] * 6, "not supported")],
)
def test_share_of_most_needs_the_interval_above_half(ds, verdict):
    found = counts.share(made(ds), S, of="positive")
    assert found.verdict == verdict and found.value == sum(d > 0 for d in ds) / 10 and found.n == 10
    assert found.low <= found.value <= found.high


def test_share_of_every_and_few():
    assert counts.share(made([1] * 10), S, of="positive", wording="every").verdict == "holds"
    assert counts.share(made([1] * 9 + [-1]), S, of="positive", wording="every").verdict == "holds in part"
    assert counts.share(made([1] * 5 + [-1] * 5), S, of="positive", wording="every").verdict == "not supported"
    assert counts.share(made([-1] * 10), S, of="positive", wording="few").verdict == "holds"
    assert counts.share(made([1] * 10), S, of="positive", wording="few").verdict == "not supported"
    with pytest.raises(UnknownName, match="wording"):
        counts.share(made([1]), S, of="positive", wording="many")


def test_each_language_must_pass_and_chance_is_the_binomial_tail():
    table = cells(
        [
            (c, f"weat{i}", d, 0.5)
            for c, ds in (("zh", (1, 1, 1)), ("ja", (1, 1, -1)), ("th", (1, -1, -1)))
            for i, d in zip((1, 2, 6), ds, strict=True)
        ]
    )
    found = counts.each(table, S, of="positive")
    assert found.verdict == "holds in part" and found.value == pytest.approx(2 / 3)
    # Two or three of three heads: one half each, so (1/2)^3 for three languages.
    assert binom.sf(1, 3, 0.5) == 0.5 and "probability 0.12 " in found.chance
    assert counts.each(table[table.language != "th"], S, of="positive").verdict == "holds"
    assert counts.each(table, S, of="positive", at_least=3).value == pytest.approx(1 / 3)


def test_listed_compares_with_the_list_itself():
    table = made([0.9, 0.9, -0.9, 0.1], [0.01, 0.02, 0.99, 0.4])
    assert counts.listed(table, S, expected=["ar", "bn", "da"]).verdict == "holds"
    assert counts.listed(table, S, expected=["ar", "bn"]).verdict == "holds in part"
    assert counts.listed(table, S, expected=["de", "xx", "ar"]).verdict == "not supported"
    assert counts.listed(table, S, expected=["ar", "bn", "de"]).value == pytest.approx(2 / 3)
    # Hypergeometric by hand: 3 found among 4, 2 named, both found: C(3,2)/C(4,2) = 1/2.
    assert counts.listed(table, S, expected=["ar", "bn"]).p == pytest.approx(0.5)


def test_counted_holds_only_when_exact():
    table = made([0.9, 0.9, 0.9, -0.9], [0.01, 0.02, 0.03, 0.99])
    assert counts.counted(table, S, up=3, down=1).verdict == "holds"
    assert counts.counted(table, S, up=2, down=1).verdict == "holds in part"
    assert counts.counted(table, S, up=1, down=1).verdict == "not supported"
    assert counts.counted(table, S, up=3).verdict == "holds"
    assert "0.2 each way of 4" in counts.counted(table, S, up=3).chance


def test_above_chance_uses_the_rules_own_rate():
    sure = made([0.9] * 10, [0.01] * 10)
    assert counts.above_chance(sure, S).verdict == "holds"
    assert counts.above_chance(made([0.9] + [0.1] * 9, [0.01] + [0.4] * 9), S).verdict == "not supported"
    assert [chance_of("significant", Settings(rule=r)) for r in ("paper", "two-sided", "q")] == [0.1, 0.05, 0.0]


def test_numbers_within_their_readings():
    table = pd.DataFrame({"name": ["prompts", "share"], "value": [10_576.0, 0.42]})
    assert counts.numbers(table, S, expected={"prompts": [10_001, np.inf], "share": [0.4, 0.43]}).verdict == "holds"
    assert counts.numbers(table, S, expected={"prompts": [1, 2], "share": [0.4, 0.43]}).verdict == "holds in part"
    assert counts.numbers(table, S, expected={"prompts": [1, 2]}).verdict == "not supported"
    assert counts.numbers(table, S, expected={"other": [1, 2]}).verdict == "cannot tell"


def test_seeds_that_move_and_seeds_that_do_not():
    spread = {"low": [0.0, 0.1, np.nan], "high": [0.5, 0.1, np.nan], "n_undefined": [0, 0, 2]}
    runs = pd.DataFrame({"template": ["a", "b", "c"], "seeds": 3, **spread})
    found = counts.seed_range(runs, S)
    assert found.verdict == "holds in part" and found.value == 0.25 and found.n == 2
    assert counts.seed_range(runs[:1], S).verdict == "holds"
    assert counts.seed_range(runs[1:2], S).verdict == "not supported"
    assert counts.seed_range(runs[2:], S).verdict == "cannot tell"


def test_a_guesser_by_simulation():
    # 200,000 simulated guessers on four prompts: the mean over 50 seeds leaves ± the value once in twenty.
    rng = np.random.default_rng(1)
    answers = rng.integers(0, 3, (200_000, 4))
    biased, counter = (answers == 0).sum(1), (answers == 1).sum(1)
    score = (biased - counter)[biased + counter > 0] / (biased + counter)[biased + counter > 0]
    assert counts.guesser(4) == pytest.approx(1.96 * score.std() / np.sqrt(50), rel=0.01)
    assert "±0.18 on a template of 8 prompts" in counts.beyond_guessing(None, S, reason="x").chance


def test_shared_lists_by_hand():
    # Two lists of five among ten share 5 * 5 / 10 on average.
    assert "among 10: 2.50" in counts.shared(None, S, reason="x", among=[10]).chance


def test_every_printed_pair_must_match_for_the_claim_to_hold():
    table = pd.DataFrame({"matches": [True, True, True]})
    assert counts.matching(table, S).verdict == "holds" and counts.matching(table, S).n == 3
    assert counts.matching(table.assign(matches=[True, False, True]), S).verdict == "holds in part"


def test_the_bootstrap_over_languages_contains_the_mean_and_is_seeded():
    values = np.random.default_rng(5).normal(size=20)
    low, high = resampled(values, np.ones(20), S)
    assert low < np.mean(values) < high and (low, high) == resampled(values, np.ones(20), S)
    assert resampled(values, np.ones(20), Settings(seed=1)) != (low, high)
    # About the normal interval of the mean.
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(20), rel=0.1)
    assert np.isnan(resampled([1.0, 2.0], np.ones(2), S)).all()


def test_sign_test_by_hand():
    assert sign_test([1, 1, 1, 1, -1]) == pytest.approx(2 * (1 + 5) / 32)
    assert sign_test([0, 0]) == 1.0


def test_settings_are_checked():
    with pytest.raises(UnknownName, match="two-sided"):
        Settings(rule="twosided")
    with pytest.raises(UnknownName, match="flagged"):
        Settings(flagged="yes")
    with pytest.raises(BadValues, match="alpha"):
        Settings(alpha=5)
    with pytest.raises(UnknownName, match="condition"):
        counts.share(made([1]), S, of="large")
