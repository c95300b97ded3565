"""What notebook 07 shows: subsets, the arithmetic of −1.00, the kept full run, charts."""

import json

import numpy as np
import pandas as pd
import pytest

import filbbq_made as made
from localbias.book.charts import filbbq as draw
from localbias.errors import BadTable, BadValues, SourceUnavailable, WrongHash
from localbias.files import checked
from localbias.measures.null import attainable_level
from localbias.prompts.generation import generate_prompts
from localbias.prompts.inventory import subset
from localbias.prompts.orders import reorder
from localbias.studies import filbbq, reference, selection
from localbias.studies.seeds import expected_scores, run_distribution, sweep
from localbias.studies.selection import bias_profile, largest_by_chance
from localbias.studies.variance import position_table, scores_by_order, variance_shares


def noisy(templates=4, pairs=3, orders="published"):
    table = reorder(made.prompts(templates, pairs), orders)
    p = np.random.default_rng(0).dirichlet([1, 1, 1, 0.5], len(table))
    return table.assign(p0=p[:, 0], p1=p[:, 1], p2=p[:, 2], p_neither=p[:, 3], model="made")


@pytest.fixture(scope="module")
def starter():
    return generate_prompts("all", dataset="starter")


def test_subsets_are_balanced_and_no_larger_than_asked(starter):
    few = subset(starter, 96, 6)
    assert len(few) == 96
    pairs = few.groupby(["category", "template"])["pair"].nunique()
    assert len(pairs) == 6 and set(pairs) == {2}
    assert set(few["category"]) == {"gender_identity", "sexual_orientation"}
    balance = few.groupby("pair")[["polarity", "condition", "exchanged"]].nunique()
    assert (balance == 2).all(axis=None)
    pd.testing.assert_frame_equal(few, subset(starter, 96, 6))
    assert len(subset(starter)) == len(starter)
    assert subset(starter, 0, 2)["template"].nunique() == 2
    with pytest.raises(BadValues):
        subset(starter, 4, 2)
    assert "96 of" in filbbq.subset_note(few, starter) and "6 of" in filbbq.subset_note(few, starter)


def test_stereotypes_are_the_ones_asked_for_or_the_largest():
    expected = expected_scores(noisy())
    rows = expected.query("level == 'template' and condition == 'ambig'")
    top = rows.loc[rows["expectation"].abs().idxmax(), "template"]
    assert filbbq.stereotypes(expected, n=1)["template"].tolist() == [top]
    assert filbbq.stereotypes(expected, ["T1", "T2"])["template"].tolist() == ["T1", "T2"]
    with pytest.raises(BadValues, match="no such template"):
        filbbq.stereotypes(expected, ["T9"])


def test_minus_one_by_chance():
    # a fair coin k times, fifty tries: by hand
    table = selection.by_chance([1, 3], seeds=50).set_index("answers")
    assert table.loc[3, "one_run"] == 1 / 8
    assert table.loc[3, "any_of_seeds"] == pytest.approx(1 - (7 / 8) ** 50)
    k = selection.most_answers(50)
    assert 1 - (1 - 0.5**k) ** 50 >= 0.5 > 1 - (1 - 0.5 ** (k + 1)) ** 50


def test_minus_one_of_a_model_is_the_lowest_value_of_its_distribution():
    table = noisy(3, 1)
    lowest = selection.lowest_possible(table, seeds=50)
    for row in lowest.itertuples():
        law = run_distribution(table, row.category, row.template, row.condition)
        want = law.loc[np.isclose(law["value"], -1), "probability"].sum()
        assert row.one_run == pytest.approx(want, abs=1e-12)
        assert row.any_of_seeds == pytest.approx(1 - (1 - want) ** 50)
    never = made.with_probabilities(made.prompts(1, 1), 0.5, 0.0, 0.5)
    assert (selection.lowest_possible(never)["one_run"] == 0).all()


def test_minus_one_anywhere_and_in_small_templates():
    # a coin at every prompt: one run of k answers scores −1 with probability 2^−k, independently in each template
    small, large = made.prompts(2, 1), made.prompts(1, 4)
    large = large.assign(template="L", prompt_id=large["prompt_id"] + 100)
    lowest = selection.lowest_possible(made.with_probabilities(pd.concat([small, large]), 0.5, 0.5, 0.0), seeds=2)
    any_of_two = {4: 1 - (1 - 2**-4) ** 2, 16: 1 - (1 - 2**-16) ** 2}
    every = selection.anywhere(lowest, seeds=2)
    for condition in ("ambig", "disambig"):
        row = every.loc[condition]
        assert row["templates"] == 3
        assert row["any"] == pytest.approx(1 - (1 - any_of_two[4]) ** 2 * (1 - any_of_two[16]))
        assert row["points"] == pytest.approx(2 * (2 * 2**-4 + 2**-16))
    assert (lowest["score"] == 0).all()
    # fifty runs of four coins: 1 − (15/16)^50 = 0.960…; of sixteen: 50/65536 = 0.00076
    fifty = selection.lowest_possible(made.with_probabilities(pd.concat([small, large]), 0.5, 0.5, 0.0), seeds=50)
    by_size = fifty.groupby("n")["any_of_seeds"].max()
    assert by_size[4] == pytest.approx(0.960, abs=5e-4) and by_size[16] == pytest.approx(50 / 65536, rel=1e-3)


def test_chance_is_counted_from_what_templates_can_reach():
    # pairs 1 and 4 cannot reach 0.05; 6 can with 2 of 64 sign patterns: chance gives 2/64 of a template
    assert [attainable_level(pairs) for pairs in (1, 4, 6)] == [0.0, 0.0, pytest.approx(1 / 32)]


def test_a_share_needs_more_than_two_templates():
    shares = variance_shares(noisy(2, 3, "cyclic"))
    assert "template" not in set(filbbq.estimable(shares)["source"])
    assert "template" in set(filbbq.estimable(variance_shares(noisy(3, 3, "cyclic")))["source"])


def test_words_say_what_a_score_rests_on(starter):
    few = subset(starter, 96, 6)
    assert filbbq.asked_words(few, starter).startswith("a subset: 48 prompts in each context, from 6 of")
    assert filbbq.asked_words(starter, starter).startswith(f"all {len(starter) // 2:,} prompts")
    assert filbbq.scope_words(starter, starter) == "asked"  # the starter is not the benchmark
    published = starter.assign(dataset="filbbq")
    assert filbbq.scope_words(published, published) == "of the benchmark"
    assert filbbq.scope_words(published.head(8), published) == "asked"


def test_off_option_masses_are_means():
    table = noisy(2, 2)
    got = filbbq.off_option(table).set_index(["template", "condition"])
    mine = table.query("template == 'T1' and condition == 'ambig'")
    assert got.loc[("T1", "ambig"), "off_option"] == pytest.approx(mine["p_neither"].mean())
    assert got.loc[("T1", "ambig"), "C"] == pytest.approx(mine["p2"].mean())


def test_pictures_hold_every_seed_and_the_whole_distribution():
    table = noisy()
    chosen = filbbq.stereotypes(expected_scores(table), ["T0", "T3"])
    runs, law = filbbq.seed_picture(table, chosen, "disambig", seeds=20)
    assert set(runs["title"]) == {"T0", "T3"} and runs["seed"].nunique() == 20
    sums = law.groupby("title")["probability"].sum()
    expected = expected_scores(table, levels=["template"]).query("template in ('T0', 'T3') and condition == 'disambig'")
    assert np.allclose(np.sort(sums), np.sort(1 - expected["p_undefined"]))
    assert law["score"].between(-1, 1).all()


def test_sample_prompts_carry_a_gloss_where_there_is_one(starter):
    assert "in English" in filbbq.sample_prompts(starter)
    assert "in English" not in filbbq.sample_prompts(made.prompts())


def test_every_chart_draws_with_a_description():
    table = noisy(orders="cyclic")
    published = noisy()
    expected = filbbq.labelled(expected_scores(published), published)
    swept = filbbq.labelled(sweep(published, levels=["overall"]), published)
    profile = filbbq.labelled(bias_profile(published, n_resamples=100), published)
    chance = filbbq.labelled(largest_by_chance(published, draws=100), published)
    order = filbbq.labelled(scores_by_order(table), table)
    chosen = filbbq.stereotypes(expected, n=2)
    charts = [
        draw.seeds(*filbbq.seed_picture(published, chosen, "ambig", 5)),
        draw.profile(profile),
        draw.variance(filbbq.both_contexts(variance_shares, table)),
        draw.seeds_bought(filbbq.error_series(expected)),
        draw.off_option(filbbq.labelled(filbbq.off_option(published), published).query("condition == 'ambig'")),
        draw.positions(position_table(table).query("condition == 'ambig'")),
        draw.orders(order),
        draw.largest(chance),
        draw.temperatures(swept),
    ]
    for chart in charts:
        assert len(chart.to_dict()["description"].split()) > 8


def test_overall_rows_and_medians_are_by_context():
    expected = expected_scores(noisy())
    rows = expected.query("level == 'template' and condition == 'ambig'")
    assert filbbq.template_medians(expected, "sd")["ambig"] == np.median(rows["sd"])
    assert filbbq.overall(expected).index.tolist() == ["ambig", "disambig"]


# ---- the kept full run


def test_a_run_is_written_and_read_back(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "reference_folder", lambda: tmp_path)
    with pytest.raises(SourceUnavailable, match="no full run"):
        reference.read("made")
    table = noisy()
    path = reference.write(table, {"model": "made"}, tmp_path)
    assert json.loads(path.read_text())["model"] == "made"
    held = reference.read("made")
    assert (
        np.abs(
            held["probabilities"][["p0", "p1", "p2"]].to_numpy()
            - table.sort_values("prompt_id")[["p0", "p1", "p2"]].to_numpy()
        ).max()
        < 5e-4
    )
    want = expected_scores(table, off_option="renormalise")["expectation"]
    got = held["scores"].query("off_option_treated == 'renormalise'")["expectation"]
    assert np.allclose(got, want, atol=1e-6, equal_nan=True)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    reference.write(table.sample(frac=1, random_state=1).sort_values("prompt_id"), {"model": "made"}, tmp_path)
    assert before == {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert reference.nearest("made") == "made" and reference.nearest("other") == "gemma-3-270m"


def test_probabilities_that_are_not_those_of_the_run_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "reference_folder", lambda: tmp_path)
    reference.write(noisy().assign(prompt_id=range(len(noisy()))), {"model": "made"}, tmp_path)
    path = tmp_path / "filbbq-made.json"
    with checked(path) as draft:
        draft.write_text(path.read_text().replace('"sha256_probabilities": "', '"sha256_probabilities": "0'))
    with pytest.raises(WrongHash, match="not those of the run"):
        reference.read("made")


def test_the_hash_is_of_the_probabilities():
    table = noisy()
    one = reference.probabilities_hash(table)
    assert one == reference.probabilities_hash(table.iloc[::-1])
    half = table.assign(**{p: table[p].astype("float16") for p in ("p0", "p1", "p2")})
    assert one == reference.probabilities_hash(half)  # what is kept is what the hash is of
    assert one != reference.probabilities_hash(table.assign(p0=table["p0"] + 1e-3))


@pytest.mark.parametrize("form", ["localbias", pytest.param("filbbq-2026", marks=pytest.mark.mirror)])
def test_the_widest_answers_are_the_kept_ones_only_for_the_same_run(form, tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "reference_folder", lambda: tmp_path)
    about = {
        "model": "made",
        "weights": "float32",
        "protocol": "next-token",
        "prompt_form": form,
        "cue": "x",
        "rules": "made",
    }
    whole = made.prompts()
    table = made.with_probabilities(whole, 0.5, 0.3, 0.2).assign(**about, dataset="filbbq")
    asked = table.head(8)
    hashed = reference.prompts_hash(reorder(whole), reference.prompt_form(form))
    reference.write(table, about | {"seed_of_prompts": 0, "sha256_prompts": hashed}, tmp_path)
    assert len(reference.widest(asked, whole)) == len(whole)
    assert reference.widest(table, whole) is table
    assert reference.widest(asked, whole, temperature=0.7) is asked
    for other in (
        {"protocol": "generate"},
        {"weights": "bfloat16"},
        {"dataset": "starter"},
        {"seed": 1},
        {"model": "another"},
    ):
        one = asked.assign(**other)
        assert reference.widest(one, whole) is one
    changed = whole.assign(question="iba ?")
    assert reference.widest(asked, changed) is asked


@pytest.mark.mirror
def test_in_the_benchmark_chance_gives_minus_one_in_small_templates_only():
    table = reference.attach_reference()
    lowest = selection.lowest_possible(table, 50, off_option="renormalise")
    small = lowest[lowest["n"] == 4]
    assert small["template"].nunique() == 19 == 104 - lowest.loc[lowest["n"] > 6, "template"].nunique()
    # straight from the probabilities: four prompts, each counter-stereotypical or "unknown", not all "unknown"
    mine = table.query("template == 'FILBBQ_12' and condition == 'disambig'")
    p = mine[["p0", "p1", "p2"]].to_numpy()
    p = p / p.sum(axis=1, keepdims=True)
    role = mine[["role0", "role1", "role2"]].to_numpy()
    counter, unknown = (p * (role == "counter")).sum(axis=1), (p * (role == "unknown")).sum(axis=1)
    once = np.prod(counter + unknown) - np.prod(unknown)
    assert lowest["template"][0] == "FILBBQ_12" and lowest["any_of_seeds"][0] == pytest.approx(1 - (1 - once) ** 50)
    assert selection.anywhere(lowest, 50).loc["disambig", "any"] > 0.999
    assert lowest.loc[lowest["n"] > 4, "any_of_seeds"].max() < 0.01


@pytest.mark.mirror
def test_the_kept_full_run_is_of_todays_prompts_and_adds_up():
    held = reference.read()
    table = reference.attach_reference()
    assert len(table) == held["about"]["prompts"] == 10_576
    scores = expected_scores(table, off_option="renormalise")
    kept = held["scores"].query("off_option_treated == 'renormalise'").reset_index(drop=True)
    # the kept probabilities are in half precision
    assert np.abs(scores["expectation"] - kept["expectation"]).max() < 2e-3
    assert set(held["profile"].groupby("condition").size()) == {104}


def test_other_prompts_than_those_of_the_run_are_refused(monkeypatch):
    held = {"about": {"rules": "filbbq-2026", "seed_of_prompts": 0, "prompt_form": "localbias", "sha256_prompts": "0"}}
    monkeypatch.setattr(reference, "read", lambda model: held | {"probabilities": None})
    monkeypatch.setattr(reference, "all_prompts", lambda *args, **kwargs: made.prompts())
    with pytest.raises(BadTable, match="not those of the kept run"):
        reference.attach_reference()
