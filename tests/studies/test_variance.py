"""Whose variance, error bars and the winner's curse: made cases with one cause each, scipy, simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import filbbq_made as made
from localbias.errors import BadTable, BadValues, UnknownName
from localbias.measures.null import attainable_level, null_scores, pair_variance, shrink, sign_flip_p, sign_patterns
from localbias.measures.seeds import moments
from localbias.prompts.orders import reorder
from localbias.studies.seeds import by_role, expected_scores
from localbias.studies.selection import bias_profile, largest_by_chance
from localbias.studies.variance import (
    SEED,
    SOURCES,
    bootstrap_intervals,
    order_balance,
    pair_sums,
    position_table,
    preferences,
    scores_by_order,
    variance_shares,
)


def noisy(templates=4, pairs=6, seed=0, orders="published"):
    table = reorder(made.prompts(templates, pairs), orders)
    p = np.random.default_rng(seed).dirichlet([1, 1, 1, 0.3], len(table))
    return table.assign(p0=p[:, 0], p1=p[:, 1], p2=p[:, 2], p_neither=p[:, 3])


@pytest.mark.parametrize("condition", ["ambig", "disambig"])
def test_shares_add_up_to_the_variance_of_sampled_answers(condition):
    table = noisy(orders="cyclic")
    mine = table[table["condition"] == condition]
    roles = by_role(mine, mine[["p0", "p1", "p2", "p_neither"]].to_numpy())
    # the variance of a sampled contribution, from all four outcomes of every row
    d, m = np.array([1, -1, 0, 0]), np.array([1, 1, int(condition == "ambig"), 0])
    ratio, scale = (roles @ d).sum() / (roles @ m).sum(), (roles @ m).mean()
    z = (d - ratio * m) / scale
    total = (roles * z**2).sum() / len(roles)
    shares = variance_shares(table, condition)
    assert shares["variance"].sum() == pytest.approx(total)
    assert shares["share"].sum() == pytest.approx(1)
    assert list(shares["source"]) == [*SOURCES, SEED]


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("template", lambda t: t["template"] == "T1"),
        ("wording and names", lambda t: t["pair"] % 2 == 0),
        ("who is named first", lambda t: t["exchanged"]),
        ("question polarity", lambda t: t["polarity"] == "neg"),
        ("option order", lambda t: t["permutation"] == "012"),
    ],
)
def test_one_cause_gets_all_of_the_variance(source, cause):
    table = reorder(made.prompts(2, 4), "cyclic")
    table = made.with_probabilities(
        table.drop(columns="permutation"), np.where(cause(table), 1.0, 0.0), np.where(cause(table), 0.0, 1.0), 0.0
    ).assign(permutation=table["permutation"])
    shares = variance_shares(table).set_index("source")["share"]
    assert shares[source] == pytest.approx(1)
    assert shares.drop(source).abs().max() < 1e-12


def test_seeds_divide_the_last_source_only():
    table = noisy()
    one, fifty = variance_shares(table), variance_shares(table, seeds=50)
    others = one["source"] != SEED
    assert np.allclose(one.loc[others, "variance"], fifty.loc[others, "variance"])
    assert one.loc[~others, "variance"].item() == pytest.approx(50 * fifty.loc[~others, "variance"].item())
    # a coin in every prompt: nothing but the seed
    coin = made.with_probabilities(made.prompts(), 0.5, 0.5, 0.0)
    assert variance_shares(coin).set_index("source")["share"][SEED] == pytest.approx(1)


def test_seed_variance_is_that_of_the_score():
    # s_amb is a mean, so the summed seed variance over n² is the exact variance of one run's score
    table = made.with_probabilities(made.prompts(3, 4), 0.5, 0.2, 0.3)
    shares = variance_shares(table).set_index("source")
    mine = table[table["condition"] == "ambig"]
    exact = moments(by_role(mine, mine[["p0", "p1", "p2", "p_neither"]].to_numpy()), "ambig")
    assert shares.loc[SEED, "standard_error"] == pytest.approx(exact.sd)


def test_bootstrap_error_is_the_textbook_one_for_a_mean():
    # pairs with a known spread; all prompts of a pair alike; s_amb is then the mean over pairs
    table = made.prompts(1, 20)
    value = np.random.default_rng(3).uniform(-1, 1, 20)[table["pair"]]
    table = made.with_probabilities(table, (1 + value) / 2, (1 - value) / 2, 0.0)
    row = bootstrap_intervals(table, levels=["template"], n_resamples=20_000).query("condition == 'ambig'").iloc[0]
    values = table.drop_duplicates("pair")["pair"].map(dict(zip(table["pair"], value, strict=True)))
    assert row["score"] == pytest.approx(values.mean())
    assert row["standard_error"] == pytest.approx(values.std(ddof=0) / np.sqrt(20), rel=0.03)
    # the expanded percentile interval is close to Student's
    low, high = stats.t.interval(0.95, 19, values.mean(), values.std(ddof=1) / np.sqrt(20))
    assert row["ci_low"] == pytest.approx(low, abs=0.03) and row["ci_high"] == pytest.approx(high, abs=0.03)


def test_intervals_cover_as_often_as_they_say():
    # 150 made templates of 8 pairs, true score 0: within 4 standard errors of a binomial of 0.95
    rng, n = np.random.default_rng(0), 150
    table = made.prompts(n, 8)
    value = np.clip(rng.normal(0, 0.2, table["pair"].max() + 1), -1, 1)[table["pair"]]
    table = made.with_probabilities(table, (1 + value) / 2, (1 - value) / 2, 0.0)
    rows = bootstrap_intervals(table, levels=["template"], n_resamples=500).query("condition == 'ambig'")
    hits = ((rows["ci_low"] <= 0) & (rows["ci_high"] >= 0)).sum()
    assert abs(hits - 0.95 * n) < 4 * np.sqrt(n * 0.95 * 0.05)


def test_levels_pairs_and_templates():
    table = noisy()
    rows = bootstrap_intervals(table)
    expected = expected_scores(table)
    assert np.allclose(rows["score"], expected["pooled"])
    assert set(rows.query("level == 'overall'")["units"]) == {24}
    over = bootstrap_intervals(table, unit="template")
    assert set(over["level"]) == {"category", "overall"} and set(over["units"]) == {4}
    pd.testing.assert_frame_equal(rows, bootstrap_intervals(table))
    # a template's interval does not depend on what else is in the table
    alone = bootstrap_intervals(table[table["template"] == "T2"], levels=["template"])
    together = rows.query("level == 'template' and template == 'T2'").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, together)


def test_one_pair_has_no_interval():
    rows = bootstrap_intervals(noisy(2, 1), levels=["template"])
    assert rows[["ci_low", "ci_high"]].isna().all(axis=None)


def test_sign_flips_equal_scipy():
    rng = np.random.default_rng(1)
    for n in (3, 7, 10):
        d = rng.normal(0.3, 1, n)
        want = stats.permutation_test(
            (d,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
        ).pvalue
        # scipy doubles the smaller tail; the null is symmetric, so both are the share of |sum| at least as large
        assert sign_flip_p(d, 0, rng) == pytest.approx(want)
    assert len(np.unique(sign_patterns(5, 0, rng), axis=0)) == 32


@pytest.mark.parametrize(("pairs", "want"), [(1, 0), (4, 0), (5, 0), (6, 2 / 64), (8, 12 / 256)])
def test_attainable_level_is_how_often_a_guesser_has_a_small_p(pairs, want):
    # every sign pattern of sizes without ties, its p counted among all patterns: the share with p <= 0.05
    sizes = np.sqrt(np.arange(2, 2 + pairs))
    patterns = sign_patterns(pairs, 0, np.random.default_rng(0))
    sums = np.abs(patterns @ sizes)
    p = (sums[None, :] >= sums[:, None] - 1e-12).mean(axis=1)
    assert (p <= 0.05).mean() == pytest.approx(want) == attainable_level(pairs)


def test_attainable_level_of_random_flips():
    # (1 + hits)/(1 + 2000) <= 0.05 up to 99 hits
    assert attainable_level(25, 0.05, 2000) == pytest.approx(100 / 2001)
    assert attainable_level(25, 0.05, 10) == 0


def test_many_pairs_take_random_flips_and_never_give_zero():
    d = np.ones(30)
    assert sign_flip_p(d, 999, np.random.default_rng(0)) == pytest.approx(1 / 1000)
    even = np.tile([1.0, -1.0], 15)
    assert sign_flip_p(even, 999, np.random.default_rng(0)) == 1.0


def test_null_band_is_an_unbiased_guesser_of_the_same_entropy():
    table = noisy(1, 10)
    sums = pair_sums(table[table["condition"] == "ambig"])
    null = null_scores(sums["d"].to_numpy(), sums["m"].to_numpy(), 40_000, np.random.default_rng(0))
    sd = np.sqrt((sums["d"] ** 2).sum()) / sums["m"].sum()
    assert abs(null.mean()) < 4 * sd / np.sqrt(40_000)
    assert null.std() == pytest.approx(sd, rel=4 / np.sqrt(80_000))
    # with seeds, the sampling noise of a mean over them comes on top
    noise = np.sqrt(sums["noise"].sum() / 2) / sums["m"].sum()
    d, m, variance = (sums[name].to_numpy() for name in ("d", "m", "noise"))
    with_seeds = null_scores(d, m, 40_000, np.random.default_rng(1), variance, seeds=2)
    assert with_seeds.std() == pytest.approx(np.hypot(sd, noise), rel=4 / np.sqrt(80_000))


def planted(n_templates=30, pairs=10, biased=(3,), size=0.5, seed=0):
    """Scores of no bias but in a few templates; pairs scatter by 0.15."""
    table = made.prompts(n_templates, pairs)
    value = np.random.default_rng(seed).normal(0, 0.15, n_templates * pairs)[table["pair"]]
    value = value + size * table["template"].isin([f"T{k}" for k in biased])
    value = np.clip(value, -1, 1)
    return made.with_probabilities(table, (1 + value) / 2, (1 - value) / 2, 0.0)


def test_false_discovery_control_keeps_what_was_planted():
    profile = bias_profile(planted(biased=(3, 17)), n_resamples=500)
    assert set(profile.loc[profile["survives"], "template"]) >= {"T3", "T17"}
    assert list(profile["template"][:2].sort_values()) == ["T17", "T3"]
    none = bias_profile(planted(biased=()), n_resamples=500)
    assert none["survives"].sum() <= 1
    # Benjamini–Hochberg by hand
    p = none["p_value"].sort_values().to_numpy()
    by_hand = np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    assert np.allclose(none["q_value"].sort_values(), np.minimum(by_hand, 1))
    # bands are symmetric around no bias and hold about 95 % of unbiased scores
    inside = ((none["score"] >= none["null_low"]) & (none["score"] <= none["null_high"])).sum()
    assert inside >= stats.binom.ppf(0.0005, 30, 0.95)


def test_largest_of_many_unbiased_scores_is_as_large_as_chance_says():
    table = planted(biased=())
    chance = largest_by_chance(table, draws=4000)
    sums = pair_sums(table[table["condition"] == "ambig"])
    # pairs scatter by 0.15 and there are 10: scores are normal with sd 0.15/√10; largest of 30 from scipy's quantiles
    sd = np.sqrt((sums["d"] ** 2).groupby(sums["template"]).sum()).mean() / sums.groupby("template")["m"].sum().mean()
    median_of_largest = stats.norm.ppf(0.5 ** (1 / 30)) * sd
    assert chance["null_median"][0] == pytest.approx(median_of_largest, rel=0.1)
    assert (chance["score"] <= chance["null_high"]).sum() >= 4
    assert list(chance["rank"]) == [1, 2, 3, 4, 5]
    real = largest_by_chance(planted(biased=(3,)), draws=2000)
    assert real["template"][0] == "T3" and real["p_rank"][0] < 0.01


def test_shrinkage_in_closed_form():
    # equal variances: τ² = var(ddof=1) − v (or 0), weight τ²/(τ² + v), around the plain mean
    score, v = np.array([-0.4, 0.0, 0.1, 0.5, 0.3]), 0.02
    out = shrink(score, np.full(5, v))
    tau2 = score.var(ddof=1) - v
    assert out.tau2 == pytest.approx(tau2)
    assert np.allclose(out.estimate, score.mean() + tau2 / (tau2 + v) * (score - score.mean()))
    assert out.mean == pytest.approx(score.mean())
    # scores that differ by less than their errors all become the mean
    assert np.allclose(shrink(score, np.full(5, 10.0)).estimate, score.mean())
    # a precise score keeps its own value, an imprecise one goes to the mean
    mixed = shrink(score, np.array([1e-9, 1.0, 1e-9, 1e-9, 1e-9]))
    assert mixed.weight[0] > 0.999 and mixed.weight[1] < 0.2


def test_shrunken_estimates_are_nearer_to_the_truth():
    rng, truth = np.random.default_rng(2), np.random.default_rng(1).normal(0, 0.1, 104)
    v = rng.uniform(0.005, 0.05, 104)
    score = truth + rng.normal(0, np.sqrt(v))
    shrunken = shrink(score, v).estimate
    assert ((shrunken - truth) ** 2).mean() < 0.6 * ((score - truth) ** 2).mean()
    top = np.argsort(-score)[:5]
    assert abs((shrunken[top] - truth[top]).mean()) < abs((score[top] - truth[top]).mean())


def test_pair_variance_of_a_mean_is_the_textbook_one():
    d = np.array([0.2, -0.1, 0.4, 0.0])
    variance, n = pair_variance(d, np.ones(len(d))), len(d)
    assert n == 4 and variance == pytest.approx(d.var(ddof=1) / 4)
    assert np.isnan(pair_variance(np.array([0.2]), np.ones(1)))


# ---- position


def test_a_letter_preference_is_seen_as_such_and_is_no_bias():
    table = reorder(made.prompts(2, 3), "all-six")
    table = table.assign(p0=0.7, p1=0.2, p2=0.1, p_neither=0.0)
    effects = preferences(table).set_index(["condition", "kind", "name"])["effect"]
    assert effects[("ambig", "letter", "A")] == pytest.approx(0.7 - 1 / 3)
    assert effects.xs("role", level="kind").abs().max() < 1e-12
    assert expected_scores(table, levels=["overall"])["expectation"].abs().max() < 1e-12
    # but a single order may look biased: "b" behind A
    by_order = scores_by_order(table).query("condition == 'ambig'").set_index("order")["expectation"]
    assert by_order["bcu"] == pytest.approx(0.7 - 0.2) and by_order["cbu"] == pytest.approx(0.2 - 0.7)


def test_a_letter_preference_cancels_in_the_published_design():
    # whatever is asked, A has 0.7, B 0.2, C 0.1: 0.5 between A and B, 0.6 between A and C, 0.1 between B and C
    table = made.prompts(3, 3).assign(permutation="012", p0=0.7, p1=0.2, p2=0.1, p_neither=0.0)
    found = order_balance(table)
    before = table.query("condition == 'ambig' and order in ('bcu', 'buc', 'ubc')")["order"]
    by_hand = before.map({"bcu": 0.5, "buc": 0.6, "ubc": 0.1}).mean()
    assert found["before"] == pytest.approx(by_hand) and found["after"] == pytest.approx(-by_hand)
    assert found["n_before"] == found["n_after"] == len(before)
    assert abs(found["together"]) < 1e-12 and found["rms"] < 1e-12
    assert (found["size"], found["templates"]) == (12, 3)
    # each order six times: their mean square is that of 0.5, 0.6 and 0.1
    assert set(before.value_counts()) == {6}
    assert found["independent"] == pytest.approx(np.sqrt((0.25 + 0.36 + 0.01) / 3 / 12))
    # what the order does to single answers then shows as the question's polarity
    assert variance_shares(table).set_index("source")["variance"]["question polarity"] == pytest.approx(0.62 / 3)


def test_only_what_would_be_drawn_anew_has_a_standard_error():
    shares = variance_shares(noisy(orders="cyclic")).set_index("source")["standard_error"]
    assert shares[["who is named first", "question polarity", "option order"]].isna().all()
    assert shares[["template", "wording and names", SEED]].notna().all()
    assert np.isnan(variance_shares(noisy(2, 3)).set_index("source").loc["template", "standard_error"])


def test_a_content_preference_is_no_letter_preference():
    table = reorder(made.prompts(2, 3), "cyclic")
    permutation = table["permutation"]
    table = made.with_probabilities(table, 0.6, 0.3, 0.1).assign(permutation=permutation)
    effects = preferences(table).set_index(["condition", "kind", "name"])["effect"]
    assert effects.xs("letter", level="kind").abs().max() < 1e-12
    assert effects[("ambig", "role", "biased")] == pytest.approx(0.6 - 1 / 3)
    cells = position_table(table)
    assert cells.groupby("condition")["n"].sum().to_dict() == {
        c: 3 * (table["condition"] == c).sum() for c in ("ambig", "disambig")
    }


def test_orders_are_balanced_and_keep_the_right_answer():
    prompts = made.prompts(2, 3)
    for name, n in (("published", 1), ("cyclic", 3), ("all-six", 6)):
        table = reorder(prompts, name)
        assert len(table) == n * len(prompts)
        shown = table[["ans0", "ans1", "ans2"]].to_numpy()[np.arange(len(table)), table["label"]]
        right = prompts.set_index("prompt_id")
        right = right[["ans0", "ans1", "ans2"]].to_numpy()[np.arange(len(right)), right["label"]]
        assert (shown == right[table["prompt_id"]]).all()
        if n > 1:
            behind_a = pd.crosstab(table["prompt_id"], table["role0"])
            assert (behind_a == n // 3).all(axis=None)


def test_bad_input_is_named():
    table = noisy()
    with pytest.raises(UnknownName, match="context"):
        variance_shares(table, "ambiguous")
    with pytest.raises(UnknownName, match="unit"):
        bootstrap_intervals(table, unit="prompt")
    with pytest.raises(UnknownName, match="order"):
        reorder(table, "random")
    with pytest.raises(BadTable, match="no prompts of this context"):
        variance_shares(table[table["condition"] == "disambig"])
    with pytest.raises(BadValues, match="undefined"):
        variance_shares(made.with_probabilities(made.prompts(), 0.0, 0.0, 1.0), "disambig")
    with pytest.raises(BadValues, match="shrink"):
        shrink(np.array([0.1, np.nan]), np.array([0.1, 0.1]))
