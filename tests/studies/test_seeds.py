"""Runs without sampling, against brute-force enumeration and against sampling."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

import filbbq_made as made
from localbias.errors import BadTable, BadValues
from localbias.measures import seeds as m
from localbias.models.logits import TOP, summarise_logits
from localbias.studies.scores import score_answers
from localbias.studies.seeds import (
    TOP_P_ERROR,
    by_role,
    draw,
    draw_answers,
    expected_scores,
    option_probabilities,
    run_distribution,
    seed_scores,
    seeds_needed,
    standard_error_by_seeds,
    summarise_seeds,
    sweep,
)


def random_roles(n, neither=0.2, seed=0):
    return np.random.default_rng(seed).dirichlet([1.0, 0.7, 0.8, neither], n)


def brute_force(by_role, condition):
    """Every outcome of every prompt: (score, probability) of each, NaN where undefined."""
    out = []
    for outcome in product(range(4), repeat=len(by_role)):
        b, c, u = (outcome.count(k) for k in range(3))
        total = b + c + (u if condition == "ambig" else 0)
        probability = np.prod([by_role[i, k] for i, k in enumerate(outcome)])
        out.append(((b - c) / total if total else np.nan, probability))
    return np.array(out)


@pytest.mark.parametrize("condition", ["ambig", "disambig"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_exact_moments_equal_enumeration(n, condition):
    roles = random_roles(n, seed=n)
    score, p = brute_force(roles, condition).T
    defined = ~np.isnan(score)
    mean = (score * p)[defined].sum() / p[defined].sum()
    variance = ((score - mean) ** 2 * p)[defined].sum() / p[defined].sum()
    got = m.moments(roles, condition)
    assert got.method == "exact"
    assert got.mean == pytest.approx(mean, abs=1e-12)
    assert got.sd == pytest.approx(variance**0.5, abs=1e-12)
    assert got.p_undefined == pytest.approx(p[~defined].sum(), abs=1e-12)


@pytest.mark.parametrize("condition", ["ambig", "disambig"])
def test_distribution_equals_enumeration(condition):
    roles = random_roles(5, seed=9)
    score, p = brute_force(roles, condition).T
    expected = pd.Series(p).groupby(np.round(score, 12)).sum()
    got = m.score_distribution(roles, condition)
    assert np.allclose(got.value, expected.index)
    assert np.allclose(got.probability, expected)


def test_ambiguous_moments_in_closed_form_when_all_is_parsed():
    # with no unparsed answers s_amb is a mean of independent steps in {−1, 0, 1}
    roles = random_roles(40, seed=3)
    roles = np.column_stack([roles[:, :3] / roles[:, :3].sum(axis=1, keepdims=True), np.zeros(40)])
    b, c = roles[:, 0], roles[:, 1]
    got = m.moments(roles, "ambig")
    assert got.mean == pytest.approx((b - c).mean(), abs=1e-12)
    assert got.sd == pytest.approx(np.sqrt((b + c - (b - c) ** 2).sum()) / 40, abs=1e-12)


def test_disambiguated_score_of_equal_prompts_is_binomial():
    # given k people named, the biased ones are binomial: mean 2p − 1 whatever k, variance 4p(1−p)·E[1/k | k ≥ 1]
    n, name, p = 12, 0.6, 0.7
    roles = np.tile([name * p, name * (1 - p), 0.3, 0.1], (n, 1))
    from scipy.stats import binom

    k = np.arange(1, n + 1)
    weight = binom.pmf(k, n, name)
    got = m.moments(roles, "disambig")
    assert got.mean == pytest.approx(2 * p - 1, abs=1e-12)
    assert got.sd**2 == pytest.approx(4 * p * (1 - p) * (weight / k).sum() / weight.sum(), abs=1e-12)
    assert got.p_undefined == pytest.approx((1 - name) ** n)


@pytest.mark.parametrize("condition", ["ambig", "disambig"])
def test_delta_method_against_the_exact_one_and_simulation(condition):
    roles = random_roles(150, seed=4)
    exact, delta = m.moments(roles, condition, "exact"), m.moments(roles, condition, "delta")
    assert delta.mean == pytest.approx(exact.mean, abs=2e-4)
    assert delta.sd == pytest.approx(exact.sd, rel=0.02)
    assert m.moments(random_roles(m.EXACT_LIMIT + 1), condition).method == "delta"
    # 20,000 runs: the mean within 4 of its own standard errors, the sd within 4 of its own (≈ sd/√(2N))
    runs = 20_000
    outcome = _outcomes(roles, runs)
    b, c, u = ((outcome == k).sum(axis=0) for k in range(3))
    score = (b - c) / (b + c + (u if condition == "ambig" else 0))
    assert abs(score.mean() - exact.mean) < 4 * exact.sd / np.sqrt(runs)
    assert abs(score.std() - exact.sd) < 4 * exact.sd / np.sqrt(2 * runs)


def _outcomes(roles, runs):
    u = np.random.default_rng(11).random((len(roles), runs))
    return (u[..., None] >= np.cumsum(roles, axis=1)[:, None, :3]).sum(axis=2)


def probabilities(templates=2, pairs=3, seed=0):
    table = made.prompts(templates, pairs)
    p = np.random.default_rng(seed).dirichlet([1, 1, 1, 0.5], len(table))
    return table.assign(permutation="012", p0=p[:, 0], p1=p[:, 1], p2=p[:, 2], p_neither=p[:, 3])


def test_seed_scores_are_those_of_the_drawn_answers():
    table = probabilities()
    runs = seed_scores(table, seeds=3, first_seed=7)
    for seed in (7, 8, 9):
        want = score_answers(draw_answers(table, seed))
        got = runs[runs["seed"] == seed].reset_index(drop=True)
        for column in ("level", "category", "template", "condition", "n_biased", "n_unparsed", "accuracy", "score"):
            pd.testing.assert_series_equal(got[column], want[column], check_names=False, check_dtype=False)


def test_mean_over_many_seeds_is_the_expectation():
    table, seeds = probabilities(), 4000
    summary = summarise_seeds(seed_scores(table, seeds=seeds))
    expected = expected_scores(table)
    z = (summary["mean_defined"] - expected["expectation"]) / (expected["sd"] / np.sqrt(seeds))
    assert z.abs().max() < 4
    assert np.allclose(summary["sd"], expected["sd"], rtol=4 / np.sqrt(2 * seeds) * 2)
    assert np.allclose(summary["n_undefined"] / seeds, expected["p_undefined"], atol=4 * np.sqrt(0.25 / seeds))
    assert np.allclose(summary["pooled"], expected["pooled"], atol=0.02)
    assert np.allclose(summary["unparsed"], expected["off_option"], atol=0.01)


def test_mean_of_defined_scores_and_pooled_ratio_differ_as_they_must():
    # one prompt names nobody with 0.9; two seeds by hand: one biased answer, and one of each with a third unknown
    runs = pd.DataFrame(
        {
            "level": "template",
            "category": "c",
            "template": "T",
            "condition": "disambig",
            "seed": [0, 1, 2],
            "n": 3,
            "n_biased": [1, 1, 0],
            "n_counter": [0, 1, 0],
            "n_unknown": [2, 1, 3],
            "n_unparsed": 0,
            "accuracy": 0.0,
            "score": [1.0, 0.0, np.nan],
        }
    )
    row = summarise_seeds(runs).iloc[0]
    assert row.mean_defined == 0.5 and row.n_undefined == 1
    assert row.pooled == pytest.approx((2 - 1) / 3)


def test_a_seed_is_a_seed():
    table = probabilities()
    once, again = seed_scores(table, seeds=5), seed_scores(table, seeds=5)
    pd.testing.assert_frame_equal(once, again)
    later = seed_scores(table, seeds=2, first_seed=3)
    same = once[once["seed"].isin([3, 4])].reset_index(drop=True)
    pd.testing.assert_frame_equal(later, same)


def test_certain_answers_leave_nothing_to_seeds():
    table = made.with_probabilities(made.prompts(), biased=1.0, counter=0.0, unknown=0.0)
    assert (seed_scores(table, seeds=4)["score"] == 1).all()
    assert (expected_scores(table)["sd"] == 0).all()
    never = made.with_probabilities(made.prompts(), biased=0.0, counter=0.0, unknown=1.0)
    expected = expected_scores(never).set_index("condition")
    assert (expected.loc["ambig", "expectation"] == 0).all()
    assert expected.loc["disambig", "expectation"].isna().all()
    assert (expected.loc["disambig", "p_undefined"] == 1).all()


def test_roles_are_put_in_their_places():
    table = made.with_probabilities(made.prompts(1, 3), biased=0.5, counter=0.3, unknown=0.15)
    assert np.allclose(by_role(table, option_probabilities(table)), [0.5, 0.3, 0.15, 0.05])


def test_seeds_needed_and_standard_errors():
    assert seeds_needed([0.1, 0.101, 0.0], 0.01).tolist() == [100, 103, 1]
    expected = expected_scores(probabilities())
    table = standard_error_by_seeds(expected, seeds=(1, 50))
    wide = table.pivot_table(index=["level", "template", "condition"], columns="seeds", values="standard_error")
    assert np.allclose(wide[1] / wide[50], np.sqrt(50))
    with pytest.raises(BadValues, match="positive"):
        seeds_needed([0.1], 0)


# ---- temperature and top-p, against the whole vocabulary


FORMS = [(3, 7), (11,), (20, 21, 22)]


@pytest.fixture(scope="module")
def passed():
    """Logits of 6 prompts over 400 tokens, what is kept of them, and the tokens' kinds."""
    logits = torch.from_numpy(np.random.default_rng(2).normal(0, 3, (6, 400))).float()
    kept = summarise_logits(logits, FORMS)
    kinds = np.full(400, 3)
    for k, ids in enumerate(FORMS):
        kinds[list(ids)] = k
    table = pd.DataFrame({c: v if v.ndim == 1 else list(v) for c, v in kept.items()})
    return logits.double().numpy(), kinds, table


def whole_vocabulary(logits, kinds, temperature, top_p):
    """Temperature, then top-p, on all tokens."""
    p = np.exp(logits / temperature - (logits / temperature).max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    for row in p:
        order = np.argsort(-row)
        n = int(np.searchsorted(np.cumsum(row[order]), top_p - 1e-12)) + 1
        row[order[n:]] = 0
    p /= p.sum(axis=1, keepdims=True)
    return np.stack([p[:, kinds == k].sum(axis=1) for k in range(4)], axis=1)


@pytest.mark.parametrize("temperature", [0.1, 0.35, 0.7, 1.0, 1.33, 2.0])
def test_temperature_equals_that_of_the_whole_vocabulary(passed, temperature):
    logits, kinds, table = passed
    want = whole_vocabulary(logits, kinds, temperature, 1.0)
    assert np.allclose(option_probabilities(table, temperature), want, atol=1e-4)


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 0.8), (1.0, 0.5), (0.7, 0.9), (0.5, 0.95)])
def test_top_p_equals_that_of_the_whole_vocabulary(passed, temperature, top_p):
    logits, kinds, table = passed
    assert np.allclose(
        option_probabilities(table, temperature, top_p), whole_vocabulary(logits, kinds, temperature, top_p), atol=1e-5
    )


def test_zero_temperature_takes_the_most_likely_token(passed):
    logits, kinds, table = passed
    assert np.array_equal(option_probabilities(table, 0).argmax(axis=1), kinds[logits.argmax(axis=1)])


def test_top_p_that_reaches_into_the_rest_is_known_to_its_error():
    # 5,000 tokens whose 100 likeliest hold little more than half: top-p 0.9 needs hundreds
    logits = torch.from_numpy(np.random.default_rng(3).normal(0, 2.2, (4, 5000))).float()
    logits[:, 3] = 8.0  # one form of A is likely
    table = pd.DataFrame({c: v if v.ndim == 1 else list(v) for c, v in summarise_logits(logits, FORMS).items()})
    kinds = np.full(5000, 3)
    for k, ids in enumerate(FORMS):
        kinds[list(ids)] = k
    want = whole_vocabulary(logits.double().numpy(), kinds, 1.0, 0.9)
    assert np.abs(option_probabilities(table, top_p=0.9) - want).max() < TOP_P_ERROR / 0.9


def test_top_p_beyond_what_was_kept_is_refused():
    flat = torch.zeros(1, 1000)
    table = pd.DataFrame({c: v if v.ndim == 1 else list(v) for c, v in summarise_logits(flat, FORMS).items()})
    assert TOP + 6 < 900
    with pytest.raises(BadValues, match="more tokens than were kept"):
        option_probabilities(table, top_p=0.9)


def test_renormalising_is_conditioning_on_an_option():
    table = pd.DataFrame(dict(p0=[0.2], p1=[0.1], p2=[0.1], p_neither=[0.6]))
    assert np.allclose(option_probabilities(table, off_option="renormalise"), [[0.5, 0.25, 0.25, 0]])
    with pytest.raises(BadValues, match="no option has any probability"):
        option_probabilities(table.assign(p0=0.0, p1=0.0, p2=0.0), off_option="renormalise")


def test_sweep_meets_its_single_settings():
    table = probabilities()
    swept = sweep(table, temperatures=(0.5, 1.0), top_ps=(1.0, 0.9), levels=["overall"])
    alone = expected_scores(table, temperature=0.5, top_p=0.9, levels=["overall"])
    mine = swept.query("temperature == 0.5 and top_p == 0.9").reset_index(drop=True)
    pd.testing.assert_frame_equal(mine[alone.columns], alone)
    assert (swept["note"] == "").all()


def test_settings_that_a_pass_cannot_tell_are_noted():
    prompts = made.prompts(1, 1).head(4)
    flat = summarise_logits(torch.zeros(4, 1000), FORMS)
    table = prompts.assign(**{c: v if v.ndim == 1 else list(v) for c, v in flat.items()})
    swept = sweep(table, temperatures=(1.0,), top_ps=(0.9, 1.0), levels=["overall"])
    assert swept.query("top_p == 0.9")["expectation"].isna().all()
    assert swept.query("top_p == 0.9")["note"].str.contains("more tokens").all()
    assert (swept.query("top_p == 1.0")["note"] == "").all()


@pytest.mark.parametrize("bad", [dict(p0=[np.nan]), dict(p0=[-0.1]), dict(p0=[0.9])])
def test_what_is_no_probability_is_refused(bad):
    table = pd.DataFrame(dict(p0=[0.2], p1=[0.3], p2=[0.1])).assign(**bad)
    with pytest.raises(BadValues, match="not answer probabilities"):
        option_probabilities(table)


def test_bad_settings_are_named():
    table = probabilities()
    for settings in (dict(temperature=3.0), dict(top_p=0.0), dict(off_option="drop")):
        with pytest.raises(BadValues):
            option_probabilities(table, **settings)
    with pytest.raises(BadTable, match="p2"):
        option_probabilities(table.drop(columns="p2"))
    with pytest.raises(BadValues, match="seeds"):
        seed_scores(table, seeds=0)
    with pytest.raises(BadValues, match="no such prompts"):
        run_distribution(table, "gender_identity", "T9", "ambig")


def test_run_distribution_is_that_of_its_prompts():
    table = probabilities()
    law = run_distribution(table, "gender_identity", "T0", "ambig")
    expected = expected_scores(table).query("level == 'template' and template == 'T0' and condition == 'ambig'").iloc[0]
    mean = (law["value"] * law["probability"]).sum() / law["probability"].sum()
    assert mean == pytest.approx(expected["expectation"], abs=1e-12)
    assert 1 - law["probability"].sum() == pytest.approx(expected["p_undefined"], abs=1e-9)


# ---- the ends of the settings' ranges


def test_the_most_likely_option_is_taken_among_the_options(passed):
    """temperature=0 with off_option="renormalise": the likeliest letter token, by hand from all logits."""
    logits, kinds, table = passed
    letters = np.flatnonzero(kinds < 3)
    want = np.eye(4)[[kinds[letters[np.argmax(row[letters])]] for row in logits]]
    assert (option_probabilities(table, temperature=0, off_option="renormalise") == want).all()
    plain = pd.DataFrame(dict(p0=[0.05], p1=[0.1], p2=[0.02], p_neither=[0.83]))
    assert option_probabilities(plain, temperature=0, off_option="renormalise").tolist() == [[0, 1, 0, 0]]
    assert option_probabilities(plain, temperature=0).tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(("temperature", "top_p"), [(0.7, 1.0), (2.0, 1.0), (1.0, 0.6), (0.5, 0.9), (1.0, 1e-9)])
def test_renormalising_is_sampling_from_a_vocabulary_of_the_letters_alone(passed, temperature, top_p):
    logits, kinds, table = passed
    letters = np.flatnonzero(kinds < 3)
    want = whole_vocabulary(logits[:, letters], kinds[letters], temperature, top_p)
    assert np.allclose(option_probabilities(table, temperature, top_p, "renormalise"), want, atol=1e-6)


def test_options_far_less_likely_than_other_tokens_keep_their_ratio():
    """p = e^-300 and e^-301 beside certainty: among the options 1/(1 + e^-1) at T = 1, 1/(1 + e^-10) at T = 0.1."""
    table = pd.DataFrame(dict(p0=[np.exp(-300)], p1=[np.exp(-301)], p2=[0.0], p_neither=[1.0]))
    for temperature in (1.0, 0.1):
        got = option_probabilities(table, temperature, off_option="renormalise")
        assert got[0, 0] == pytest.approx(1 / (1 + np.exp(-1 / temperature)))


@pytest.mark.parametrize("top_p", [1e-13, 1e-300, 5e-324, 1e-6])
def test_a_tiny_top_p_is_the_most_likely_token(passed, top_p):
    table = passed[2]
    assert (option_probabilities(table, top_p=top_p) == option_probabilities(table, temperature=0)).all()
    plain = pd.DataFrame(dict(p0=[0.2], p1=[0.5], p2=[0.1], p_neither=[0.2]))
    assert option_probabilities(plain, top_p=top_p).tolist() == [[0, 1, 0, 0]]


def test_nothing_is_drawn_from_what_is_no_distribution():
    for row in ([np.nan] * 4, [0.5, 0.2, 0.1, 0.1], [1.2, -0.2, 0, 0]):
        with pytest.raises(BadValues, match="not distributions"):
            draw(np.array([row]), 2)
