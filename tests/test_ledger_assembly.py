"""The ledger as a whole: its claims, the reviewed verdicts, our run beside the published results, its HTML."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ledger_made import cells
from localbias import files, ledger
from localbias.book.charts import ledger as charts
from localbias.errors import BadTable, LocalBiasError, UnknownName
from localbias.ledger import assembly as b
from localbias.ledger import tables, view
from localbias.ledger.claim import read_claims
from localbias.ledger.finding import HOLDS, VERDICTS, Finding

S = ledger.Settings()


def test_every_claim_names_a_page_and_a_function():
    claims = ledger.claims()
    assert len(claims) == 51 and {c.paper for c in claims.values()} == {"WEATHub", "FilBBQ"}
    assert {c.page for c in claims.values()} == {"01", "02", "03", "04", "05", "06", "07"}
    assert {c.section[:3] for c in claims.values() if c.paper == "WEATHub"} == {
        "3.2",
        "3.3",
        "4.1",
        "4.2",
        "4.3",
        "4.4",
    }
    assert all(c.published for c in claims.values())


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"test": "counts.shar"}, UnknownName, "counts.share"),
        ({"page": "09"}, UnknownName, "page of claim"),
        ({"verdict": "holds"}, BadTable, "unknown field"),
        ({"claim": None}, BadTable, "lacks a field"),
    ],
)
def test_a_claim_that_cannot_be_read_says_which(tmp_path, change, error, says):
    import yaml

    entry = {
        "id": "x",
        "paper": "WEATHub",
        "section": "4.1",
        "topic": "t",
        "page": "03",
        "claim": "c",
        "published": "p",
        "table": "results",
        "test": "counts.share",
        "args": {"of": "positive"},
    }
    entry = {k: v for k, v in (entry | change).items() if v is not None}
    file = tmp_path / "claims.yml"
    file.write_text(yaml.safe_dump([entry]))
    with pytest.raises(error, match=says):
        read_claims(file)
    file.write_text(yaml.safe_dump([{**entry} | {"claim": "c"}] * 2 if change == {"claim": None} else {"a": 1}))
    with pytest.raises(BadTable, match="one id|no list"):
        read_claims(file)


def test_choices_reach_the_selection():
    claim = ledger.claims()["ur-ku-negative"]
    table = pd.concat([cells([(c, -0.5, 0.9)], method=m) for c in ("ur", "ku", "ckb") for m in ("M5", "M8")])
    assert len(b.select(table, claim, S)) == 3
    assert set(b.select(table, claim, replace(S, method="M8")).method) == {"M8"}
    assert b.judge(claim, {"results": table}, S).verdict == "holds"
    assert b.judge(claim, {"results": table.iloc[:0]}, S).verdict == "cannot tell"
    assert b.judge(claim, {}, S).verdict == "cannot tell"


def own(model="multilingual-e5-small", languages=("zh", "te"), dataset="weathub", **more):
    rows = [
        {
            "dataset": dataset,
            "language": c,
            "variant": "all",
            "test": t,
            "model": model,
            "method": "M5",
            "protocol": "in-context",
            "clean": False,
            "effect_size": 1.0,
            "p_value": 0.001,
            "p_strict": 0.001,
        }
        | more
        for c in languages
        for t in ("weat1", "weat2", "weat6")
    ]
    return pd.DataFrame(rows)


def test_our_tables_are_found_by_their_columns():
    held = tables.ours(S, {"any-name": own(), "words": pd.DataFrame({"word": ["a"]}), "again": own()})
    assert len(held["results"]) == 6 and set(held) == {"results"}
    assert set(held["results"].group) == {"multilingual E5 small (4-bit)"}
    cleaned = tables.ours(S, {"a": own(clean=True)})
    assert cleaned["results"].empty
    rho = pd.DataFrame({"language": ["zh", "zh"], "test": ["weat1", "weat2"], "method": "M1", "rho": [1.0, 3.0]})
    assert tables.ours(S, {"r": rho})["sensitivity"].rho.tolist() == [2.0]
    two = pd.concat([rho.assign(model="a"), rho.assign(model="b"), rho.assign(model="b", language="th")])
    assert set(tables.ours(S, {"r": two})["sensitivity"].model) == {"b"}


def test_our_run_says_with_which_model_and_words_it_speaks():
    claim = ledger.claims()["te-zh-several"]
    finding, speaks = b.on_ours(claim, tables.ours(S, {"a": own()}), S)
    assert finding.verdict == "holds" and speaks == "other model (multilingual-e5-small); same words; 2 languages"
    finding, speaks = b.on_ours(claim, tables.ours(S, {"a": own(languages=("zh",), dataset="starter")}), S)
    assert "other words" in speaks and "without te" in speaks
    finding, speaks = b.on_ours(claim, tables.ours(S, {"a": own("distilbert-base-multilingual-cased")}), S)
    assert speaks == "same model; same words; 2 languages"
    finding, speaks = b.on_ours(claim, {}, S)
    assert finding is None and "nothing" in speaks


def test_a_stand_in_model_takes_the_multilingual_place():
    shared, single = "multilingual-e5-small", "all-minilm-l6-v2"
    pair = pd.concat([own(shared, ("ko", "de", "th")), own(single, ("ko", "de", "th"), effect_size=1.5)])
    finding, speaks = b.on_ours(ledger.claims()["mono-larger"], tables.ours(S, {"a": pair}), S)
    assert finding.value == pytest.approx(0.5) and "other model" in speaks


def test_one_model_speaks_for_our_run_and_english_is_left_out_of_the_original_tests():
    mixed = pd.concat([own("multilingual-e5-small", ("zh", "te", "ur", "en")), own("all-minilm-l6-v2", ("en",))])
    finding, speaks = b.on_ours(ledger.claims()["te-zh-several"], tables.ours(S, {"a": mixed}), S)
    assert "minilm" not in speaks and "e5-small" in speaks
    assert "en" not in set(tables.ours(S, {"a": mixed})["results"].language)


def test_what_a_claim_that_holds_rests_on():
    held = ledger.claims()
    sure, bare = Finding(HOLDS, "", low=0.1, high=0.2), Finding(HOLDS, "", p=0.03)
    assert b.support(sure, held["mono-larger"], S) == "beyond chance" == b.support(bare, held["sensitivity-last"], S)
    of_one = replace(bare, over_languages=False)  # its tests are the units
    assert b.support(of_one, held["human-larger-korean"], S) == "as described"
    assert b.support(bare, held["prompts-total"], S) == "count"
    assert b.support(Finding("holds in part", "", low=0.1), held["mono-larger"], S) == ""


def test_without_the_published_files_verdicts_come_from_the_reference(monkeypatch):
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    book = ledger.build(run={})
    assert set(book.missing) == {c.id for c in ledger.claims().values() if c.table != "seeds"}
    reference = b.expected().set_index("id").verdict
    assert (book.table.set_index("id").verdict == reference).all()
    assert "reference run" in view.ledger_html(book)
    assert ledger.switched().empty


def test_the_reference_and_the_reviewed_verdicts_name_every_claim():
    reference = pd.read_csv(files.project_root() / b.REFERENCE, dtype={"page": str})
    reviewed = b.expected()
    assert reference.id.tolist() == reviewed.id.tolist() == list(ledger.claims())
    assert set(reviewed.verdict) | set(reviewed.verdict_unflagged) <= set(VERDICTS)
    assert (reviewed.note != "").all()


@pytest.fixture(scope="module")
def book():
    return ledger.build(run={})


@pytest.mark.mirror
def test_no_verdict_changes_without_its_reviewed_row(book):
    """A changed verdict must be looked at: change data/reference/ledger_expected.csv only after reading why."""
    held = book.table.set_index("id")[["verdict", "verdict_unflagged"]]
    reviewed = b.expected().set_index("id")[["verdict", "verdict_unflagged"]]
    changed = held.ne(reviewed).any(axis=1)
    assert not changed.any(), held[changed].join(reviewed[changed], rsuffix="_reviewed").to_string()


@pytest.mark.mirror
def test_the_committed_ledger_is_the_one_that_the_files_give(book, tmp_path):
    file = tmp_path / "ledger.csv"
    book.table[list(b.PUBLISHED)].round(6).to_csv(file, index=False, lineterminator="\n")
    assert file.read_bytes() == (files.project_root() / b.REFERENCE).read_bytes()


@pytest.mark.mirror
def test_flagged_cells_are_left_out_of_the_second_verdict(book):
    row = book.table.set_index("id").loc["zh-same"]
    assert row.flagged_cells == 12 and row.verdict_unflagged == "cannot tell"
    out = ledger.build(pages=["04"], run={}, flagged="exclude").table
    assert (out.verdict == out.verdict_unflagged).all()


@pytest.mark.mirror
def test_claims_recounted_by_hand():
    """Two verdicts' figures from the published table by plain counting, without the ledger."""
    from localbias.studies.published import published_results

    cells = published_results(repeats=False)
    korean = (
        cells.query("language == 'ko' and group == 'DistilmBERT' and method == 'M5'")
        .set_index(["source", "test"])
        .d.abs()
    )
    assert (korean["human"] > korean["gt"]).sum() == 6
    m5 = cells.query("family == 'original' and method == 'M5' and source == 'all'").assign(size=lambda t: t.d.abs())
    by = m5.groupby(["language", "test", "group"])["size"].first().unstack()
    multi = by[["XLM-R", "DistilmBERT"]].mean(axis=1)
    ahead = (by["monolingual"] - multi).dropna().groupby("language").mean() > 0
    book = ledger.build(pages=["04"], run={}).table.set_index("id")
    assert book.loc["mono-larger", "figure"].startswith(f"{ahead.sum()} of {len(ahead)} (language)")


def a_ledger():
    table = pd.DataFrame(
        [
            {
                "id": i,
                "paper": p,
                "section": "4.1, Table 5",
                "topic": s,
                "claim": "x < y & z",
                "page": "03",
                "data": "d",
                "published": "5",
                "reading": "",
                "verdict": v,
                "support": "beyond chance" if v == "holds" else "",
                "figure": "d -0.5",
                "value": 0.1,
                "low": np.nan,
                "high": np.nan,
                "p": 0.01,
                "chance": "1",
                "n": 3,
                "rule": "",
                "flagged_cells": 0,
                "verdict_unflagged": v,
                "figure_unflagged": "",
                "verdict_ours": "",
                "figure_ours": "",
                "value_ours": np.nan,
                "low_ours": np.nan,
                "high_ours": np.nan,
                "speaks": "",
                "computed": "here",
            }
            for i, p, s, v in (("a", "WEATHub", "4.1", "holds"), ("b", "FilBBQ", "T", "not supported"))
        ]
    )
    return ledger.Ledger(table, {"a": pd.DataFrame({"language": [f"l{i}" for i in range(20)], "d": 0.1})}, S)


def test_the_html_filters_without_scripts_and_escapes_text():
    page = view.ledger_html(a_ledger())
    assert "<script" not in page and "x &lt; y &amp; z" in page and "http" not in page
    assert page.count("<details") == 2 and page.count('type="checkbox" checked') == 2 + 2 + 2
    # Every box has a rule that hides rows, and every row bears the key that the rule names.
    rules = re.findall(r":has\(#(\S+?):not\(:checked\)\) details\[data-(\w+)=\"(\d)\"\]", page)
    assert len(rules) == 6 and all(f'id="{box}"' in page and f'data-{kind}="{i}"' in page for box, kind, i in rules)
    assert "12 of 20 rows" in page and 'href="03-cross-lingual-weat.html"' in page
    assert "<fieldset" not in view.ledger_html(a_ledger(), filters=False)


def test_a_pages_claims_use_that_pages_tables_only(monkeypatch, tmp_path):
    monkeypatch.setenv("LOCALBIAS_RESULTS", str(tmp_path))
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    shown = []
    monkeypatch.setattr(view, "display", lambda html: shown.append(html.data))
    own().to_parquet(tmp_path / "weat-results.parquet")
    ledger.show_claims("03")
    assert "other model (multilingual-e5-small)" in shown[0] and "reference run" in shown[0]
    (tmp_path / "weat-results.parquet").unlink()
    ledger.show_claims("03")
    assert "multilingual-e5-small" not in shown[1]


def test_verdicts_are_told_apart_without_colour():
    assert len(set(view.MARKS.values())) == len(VERDICTS) == len(set(charts.VERDICT_SHAPES.values()))
    assert set(view.MEANINGS) == set(view.COLOURS) == set(charts.VERDICT_COLOURS) == set(VERDICTS)


def test_the_unit_chart_has_one_mark_a_claim_best_first():
    book = a_ledger()
    table = book.table.assign(topic="4.1")
    spec = charts.verdict_units(table, row="topic", description="one mark a claim").to_dict()
    values = spec["data"]["values"]
    assert [(v["verdict"], v["_place"]) for v in values] == [("holds", 0), ("not supported", 1)]
    with pytest.raises(BadTable, match="unknown verdicts"):
        charts.verdict_units(table.assign(verdict="maybe"), row="topic", description="one mark a claim")


def test_charts_of_the_published_figures_want_rows_and_a_description():
    table = cells([("zh", "weat1", 0.5, 0.01), ("th", "weat1", -0.5, 0.99)])
    chart = charts.effect_sizes(table.assign(flags=""), description="two effect sizes")
    assert chart.to_dict()["description"] == "two effect sizes"
    with pytest.raises(BadTable, match="nothing to draw"):
        charts.effect_sizes(table.assign(flags="").head(0), description="two effect sizes")
    with pytest.raises(LocalBiasError, match="description"):
        charts.sensitivities(pd.DataFrame({"language": ["zh"], "method": ["M1"], "rho": [0.1]}), description="")
