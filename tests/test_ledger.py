"""The ledger as a whole: one row a claim, the reviewed verdicts, the files behind them, our run beside, its page."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from ledger_made import cells
from localbias import files, ledger
from localbias.book import page
from localbias.book.charts import ledger as charts
from localbias.errors import BadTable, UnknownName
from localbias.ledger import assembly as b
from localbias.ledger import sections, tables, view
from localbias.ledger.claim import PAGES, read_claims

S = ledger.Settings()
EVERY = [f"W{i}" for i in range(1, 81)] + [f"F{i}" for i in range(1, 32)]


# --- the claims -------------------------------------------------------------------------------


def test_every_claim_of_the_papers_has_exactly_one_row_and_nothing_else_counts():
    """W1–W80 and F1–F31 by number; whatever is besides is a question of ours and in no count."""
    every = ledger.claims()
    mine = [k for k, c in every.items() if c.paper == "our question"]
    assert [k for k in every if k not in mine] == EVERY
    assert mine and all(k.startswith("Q-") for k in mine)
    rows = [yaml.safe_load((files.project_root() / "data/papers" / name).read_text()) for name in b_files()]
    assert sorted(r["id"] for part in rows for r in part) == sorted(every)


def b_files():
    from localbias.ledger.claim import FILES

    return FILES


def test_every_claim_says_where_it_stands_and_what_would_decide_it():
    for claim in ledger.claims().values():
        assert claim.section and claim.topic and claim.claim and claim.page in PAGES, claim.id
        told = [rule["judge"] for rule in claim.rules()]
        assert claim.decides or "cannot_tell" not in told, claim.id
        names = [r["name"] for r in claim.rule.get("readings", [])]
        assert len(set(names)) == len(names) and len(names) != 1, claim.id


def test_conjectures_are_called_conjectures():
    assert {k for k, c in ledger.claims().items() if c.kind == "conjecture"} == {"F26", "F30"}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"judge": "shar"}, UnknownName, "share"),
        ({"table": "result"}, UnknownName, "results"),
        ({"page": "09"}, UnknownName, "page of claim"),
        ({"id": "X1"}, UnknownName, "paper"),
        ({"kind": "guess"}, UnknownName, "conjecture"),
        ({"verdict": "holds"}, BadTable, "unknown field"),
        ({"claim": None}, BadTable, "lacks a field"),
        ({"table": None}, BadTable, "names no table"),
        ({"judge": "cannot_tell"}, BadTable, "what would decide it"),
        ({"readings": [{"name": "a", "judge": "shar"}]}, UnknownName, "share"),
    ],
)
def test_a_claim_that_cannot_be_read_says_which(tmp_path, change, error, says):
    entry = {"id": "W1", "section": "4.1", "topic": "t", "page": "03", "claim": "c", "table": "results"}
    entry |= {"judge": "share", "args": {"of": "positive"}}
    file = tmp_path / "claims.yml"
    file.write_text(yaml.safe_dump([{k: v for k, v in (entry | change).items() if v is not None}]))
    with pytest.raises(error, match=says):
        read_claims(file)
    for held in ([entry, entry], {"a": 1}):
        file.write_text(yaml.safe_dump(held))
        with pytest.raises(BadTable, match="one id|no list"):
            read_claims(file)


def test_readings_and_parts_take_what_they_do_not_say_from_the_claim():
    table = pd.concat([cells([("a", -0.9, 0.99), ("b", 0.2, 0.4)], method=m) for m in ("M1", "M5")])
    rule = {"table": "results", "select": {"method": "$method"}, "judge": "cells", "args": {"named": ["a"]}}
    either = rule | {
        "readings": [{"name": "d", "args": {"of": "d > 0.5"}}, {"name": "|d|", "args": {"of": "abs_d > 0.5"}}]
    }
    finding = b.evaluate(either, {"results": table}, S)
    assert finding.verdict == "depends on the reading" and "d: not supported" in finding.figure
    both = rule | {
        "parts": [
            {"name": "first", "args": {"of": "negative"}},
            {"name": "all", "judge": "share", "args": {"of": "negative"}},
        ]
    }
    assert b.evaluate(both, {"results": table}, S).verdict == "holds in part"
    assert b.evaluate(rule | {"args": {"named": ["a"], "of": "negative"}}, {}, S).verdict == "cannot tell"
    none = rule | {"select": {"method": "M9"}, "args": {"named": ["a"], "of": "negative"}}
    assert b.evaluate(none, {"results": table}, S).verdict == "cannot tell"
    with pytest.raises(BadTable, match="its table lacks"):
        b.evaluate(rule | {"select": {"colour": "red"}}, {"results": table}, S)


def test_each_judges_the_values_one_by_one():
    rows = [(f"l{i}", test, d, 0.4) for i in range(8) for test, d in (("weat2", 0.5), ("weat10", -0.5))]
    rule = {"table": "results", "judge": "share", "each": "test", "args": {"of": "positive"}}
    finding = b.evaluate(rule, {"results": cells(rows)}, S)
    assert finding.verdict == "holds in part" and finding.figure.index("weat2") < finding.figure.index("weat10")


# --- the published files ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def book():
    return ledger.build(run={})


@pytest.mark.slow
@pytest.mark.mirror
def test_no_verdict_changes_without_its_reviewed_row(book):
    """A changed verdict must be looked at: change data/reference/ledger_expected.csv only after reading why."""
    columns = ["verdict", "support", "verdict_unflagged"]
    held = pd.concat([book.table, book.questions]).set_index("id")[columns]
    reviewed = b.expected().set_index("id")[columns]
    assert held.index.tolist() == reviewed.index.tolist() and (b.expected().note != "").all()
    changed = held.ne(reviewed).any(axis=1)
    assert not changed.any(), held[changed].join(reviewed[changed], rsuffix="_reviewed").to_string()


@pytest.mark.slow
@pytest.mark.mirror
def test_the_committed_ledger_is_the_one_that_the_files_give(book, tmp_path):
    file = tmp_path / "ledger.csv"
    both = pd.concat([book.table, book.questions])
    both[list(b.PUBLISHED)].round(6).to_csv(file, index=False, lineterminator="\n")
    assert file.read_bytes() == (files.project_root() / b.REFERENCE).read_bytes()


@pytest.mark.slow
@pytest.mark.mirror
def test_the_counts_are_of_the_papers_claims_alone(book):
    assert sum(book.counts.values()) == len(book.table) == 111
    assert set(book.table.paper) == {"WEATHub", "FilBBQ"} and set(book.questions.paper) == {"our question"}


@pytest.mark.slow
@pytest.mark.mirror
def test_claims_recounted_by_hand(book):
    """Figures of four rows from the published tables by plain counting, without the ledger."""
    from localbias.studies.published import published_results, published_sensitivity, rho

    row = book.table.set_index("id")
    wide = rho(published_sensitivity()).pivot(index="language", columns="method", values="rho")
    wide = wide[["M3", "M4", "M5", "M6", "M7", "M8", "M9"]].dropna()
    first = (wide.idxmax(axis=1) == "M5").sum()
    assert f"M5 first: {first} of {len(wide)}" in row.figure["W17"] and wide.idxmax(axis=1)["ko"] == "M5"

    every = published_results(repeats=False)
    korean = (
        every.query("language == 'ko' and group == 'DistilmBERT' and method == 'M5'").set_index(["source", "test"]).d
    )
    assert (korean["human"].abs() > korean["gt"].abs()).sum() == 6 and "M5 of DistilmBERT: holds" in row.figure["W22"]

    m15 = every.query("test == 'weat15' and group == 'DistilmBERT' and d > 0 and p < 0.05").groupby("language").size()
    for code in ("es", "it", "ku", "tr", "ko", "zh", "bn", "mr", "pa", "ur"):
        assert f"{code} {m15[code]} of 9 ✓" in row.figure["W65"]

    models = every.query("family == 'original' and method == 'M5' and source == 'all'")
    d = models.pivot_table(index=["language", "test"], columns="group", values="d").loc[
        ["bn", "hi", "mr", "pa", "te", "ur"]
    ]
    ahead = (d.monolingual - d[["DistilmBERT", "IndicBERT"]].mean(axis=1)).groupby("language").mean() > 0
    assert f"d, six Indian languages: holds in part (larger in {ahead.sum()} of 6" in row.figure["W54"]


@pytest.mark.slow
@pytest.mark.mirror
def test_one_changed_cell_changes_its_rows(monkeypatch):
    """A published cell on a copy: Thai weat1 of the monolingual model (Table 5) loses its sign."""
    from localbias.studies.published import published_results

    changed = published_results(repeats=False).copy()
    place = changed.eval(
        "language == 'th' and group == 'monolingual' and method == 'M5' and source == 'all' and test == 'weat1'"
    )
    assert place.sum() == 1
    changed.loc[place, ["d", "p"]] = [0.629, 0.004]
    monkeypatch.setattr(tables, "published_results", lambda repeats: changed)
    row = ledger.build(pages=["04"], run={}).table.set_index("id")
    assert row.verdict["W35"] == "holds in part" and "0.63 (0.004) ✗" in row.figure["W35"]
    assert row.verdict["W80"] == "holds in part" and row.figure["W80"].startswith("33 of 34")


@pytest.mark.slow
@pytest.mark.mirror
def test_table_4_leaves_five_significant_cells_out(book):
    """The five by hand from the result files: bn weat24, weat26; pa weat19; te weat16, weat20."""
    figure = book.table.set_index("id").figure["W76"]
    assert figure.count("✓") == 8
    for cell in ("bn weat24 1.14 (0.006)", "bn weat26 -0.86 (0.972)", "pa weat19 0.88 (0.029)"):
        assert cell in figure
    assert "te weat16 0.93 (0.032)" in figure and "te weat20 -0.78 (0.957)" in figure


@pytest.mark.slow
@pytest.mark.mirror
def test_flagged_cells_are_left_out_of_the_second_verdict(book):
    row = book.table.set_index("id").loc["W42"]  # XLM-R's Chinese file is DistilmBERT's
    assert row.flagged_cells > 0 and row.verdict_unflagged == "cannot tell"
    out = ledger.build(pages=["05"], run={}, flagged="exclude").table
    assert (out.verdict == out.verdict_unflagged).all()


@pytest.mark.slow
@pytest.mark.mirror
def test_other_choices_change_some_verdicts_and_not_the_first_column():
    other = ledger.switched(S, {"as set": {}, "two-sided 5 %": {"rule": "two-sided"}})
    assert not other[other.switch == "as set"].changed.any() and other[other.switch != "as set"].changed.any()


def test_without_the_published_files_verdicts_come_from_the_reference(monkeypatch):
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    held = ledger.build(run={})
    reviewed = b.expected().set_index("id").verdict
    both = pd.concat([held.table, held.questions]).set_index("id")
    assert (both.verdict == reviewed).all() and both.claim["W35"] == ledger.claims()["W35"].claim
    assert "W35" in held.missing and "W4" not in held.missing and "F30" not in held.missing
    assert "reference run" in view.ledger_html(held.table, held.evidence)
    assert ledger.switched().empty


# --- our run ----------------------------------------------------------------------------------


def own(model="multilingual-e5-small", languages=("zh", "te"), dataset="weathub", **more):
    base = {"dataset": dataset, "variant": "all", "model": model, "method": "M5", "protocol": "in-context"}
    base |= {"clean": False, "effect_size": 1.0, "p_value": 0.001, "p_strict": 0.001}
    tests = ("weat1", "weat2", "weat6")
    return pd.DataFrame([base | {"language": c, "test": t} | more for c in languages for t in tests])


def spoken(key, *parts):
    our = b.our_tables(tables.ours(S, {str(i): part for i, part in enumerate(parts)}), S)
    return b.on_ours(ledger.claims()[key], our, S)


def test_our_tables_are_found_by_their_columns():
    held = tables.ours(S, {"any-name": own(), "words": pd.DataFrame({"word": ["a"]}), "again": own()})
    assert len(held["results"]) == 6 and set(held) == {"results"}
    assert set(held["results"].group) == {"multilingual E5 small (4-bit)"}
    assert tables.ours(S, {"a": own(clean=True)})["results"].empty
    rho = pd.DataFrame({"language": ["zh", "zh"], "test": ["weat1", "weat2"], "method": "M1", "rho": [1.0, 3.0]})
    assert tables.ours(S, {"r": rho})["sensitivity"].rho.tolist() == [2.0]
    two = pd.concat([rho.assign(model="a"), rho.assign(model="b"), rho.assign(model="b", language="th")])
    assert set(tables.ours(S, {"r": two})["sensitivity"].model) == {"b"}


def test_our_run_says_with_which_model_and_words_it_speaks():
    finding, speaks = spoken("W30", own())
    assert finding.verdict == "holds" and speaks == "other model (multilingual-e5-small); same words; 2 languages"
    finding, speaks = spoken("W30", own(languages=("zh",), dataset="starter"))
    assert finding.verdict == "cannot tell" and "te" in finding.figure and "other words" in speaks
    assert spoken("W30", own("distilbert-base-multilingual-cased"))[1] == "same model; same words; 2 languages"
    assert spoken("W30") == (None, "our run has nothing on this")
    assert spoken("W36", own())[0] is None


def test_our_models_stand_in_the_papers_roles():
    shared, single = "multilingual-e5-small", "all-minilm-l6-v2"
    mixed = [own(shared, ("zh", "te", "ur", "en")), own(single, ("en",))]
    finding, speaks = spoken("W30", *mixed)
    assert "minilm" not in speaks and "e5-small" in speaks
    assert "en" not in set(tables.ours(S, {"a": pd.concat(mixed)})["results"].language)
    toxicity = own(shared, [f"l{i}" for i in range(6)], test="weat11", effect_size=-1.0, p_value=0.999, p_strict=0.999)
    finding, _ = spoken("W70", toxicity)  # the claim names XLM-R; our multilingual model stands for it
    assert "most languages significantly negative with M5: holds" in finding.figure
    assert spoken("W42", own(shared, ("zh",)))[0].verdict == "cannot tell"  # both kinds are needed


# --- the page ---------------------------------------------------------------------------------


def a_ledger():
    columns = dict.fromkeys([*b.PUBLISHED, *b.OURS], "") | dict.fromkeys(("value", "low", "high"), np.nan)
    rows = [
        columns
        | {"id": i, "paper": p, "section": "4.1", "topic": t, "claim": "x < y & z", "page": "03", "verdict": v}
        | {"figure": "d -0.5", "p": 0.01, "n": 3, "flagged_cells": 0, "computed": "here", "verdict_unflagged": v}
        for i, p, t, v in (("W1", "WEATHub", "4.1", "holds"), ("F1", "FilBBQ", "T", "depends on the reading"))
    ]
    evidence = {"W1": pd.DataFrame({"language": [f"l{i}" for i in range(40)], "d": 0.1})}
    return pd.DataFrame(rows), evidence


def test_the_html_filters_without_scripts_and_escapes_text():
    html = view.ledger_html(*a_ledger())
    assert "<script" not in html and "x &lt; y &amp; z" in html and "http" not in html
    assert html.count("<details") == 2 and html.count('type="checkbox" checked') == 2 + 2 + 2
    # Every box has a rule that hides rows, and every row bears the key that the rule names.
    rules = re.findall(r":has\(#(\S+?):not\(:checked\)\) details\[data-(\w+)=\"(\d)\"\]", html)
    assert len(rules) == 6 and all(f'id="{box}"' in html and f'data-{kind}="{i}"' in html for box, kind, i in rules)
    assert "26 of 40 rows" in html and 'href="03-cross-lingual-weat.html"' in html
    assert "<fieldset" not in view.ledger_html(*a_ledger(), filters=False)


def test_named_cells_are_shown_as_a_grid_of_d_and_p():
    table = pd.concat([cells([("de", 0.5, 0.01), ("el", -0.25, 0.9)], method=m) for m in ("M1", "M10", "M2")])
    html = view.evidence_html(table.assign(ok=table.d > 0))
    assert html.count("0.50 (0.010) ✓") == 3 and html.count("−0.25 (0.900) ✗") == 3
    assert html.index(">M2<") < html.index(">M10<") and ">language<" in html


def test_evidence_says_what_its_marks_rest_on_where_numbers_are_missing_or_averaged():
    # By hand: d of 0.5 and −0.4 have mean 0.05 and mean size 0.45; 0.2 and 0.2 have 0.20 and 0.20.
    averaged = {"left": 0.05, "right": 0.2, "abs_left": 0.45, "abs_right": 0.2, "ok": True}
    table = pd.DataFrame([averaged | {"language": "ar"}, {**averaged, "abs_left": 0.05, "ok": False, "language": "bn"}])
    html = view.evidence_html(table)
    assert "0.05 | 0.20 (sizes 0.45 | 0.20) ✓" in html and "0.05 | 0.20 ✗" in html
    missing = pd.DataFrame({"language": ["ar", "bn"], "d": [np.nan, np.nan], "p": [np.nan, 0.01], "ok": [False, True]})
    html = view.evidence_html(missing)
    assert "nan" not in html and ">✗<" in html and ">(0.010) ✓<" in html


@pytest.mark.slow
@pytest.mark.mirror
def test_all_rows_weigh_less_than_half_a_megabyte(book):
    assert len(view.ledger_html(book.table, book.evidence)) < 500_000


def test_a_pages_claims_use_that_pages_tables_only(monkeypatch, tmp_path):
    monkeypatch.setenv("LOCALBIAS_RESULTS", str(tmp_path))
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    shown = []
    monkeypatch.setattr(view, "display", lambda html: shown.append(html.data))
    own().to_parquet(tmp_path / "weat-results.parquet")
    ledger.show_claims("03")
    assert "other model (multilingual-e5-small)" in shown[0] and "reference run" in shown[0] and "W21" in shown[0]
    (tmp_path / "weat-results.parquet").unlink()
    ledger.show_claims("03")
    assert "multilingual-e5-small" not in shown[1]


def test_every_page_ends_with_its_own_claims():
    """Each claim's page is one that shows its claims."""
    pages = {c.page for c in ledger.claims().values()}
    for number in pages:
        text = (files.project_root() / "notebooks" / f"{PAGES[number]}.ipynb").read_text()
        assert any(f'show_claims("{number}")' in "".join(c["source"]) for c in json.loads(text)["cells"]), number


def test_numbers_as_a_table_are_shaded_and_the_significant_bold():
    html = view.heat_html(
        cells([("zh", "weat2", 1.0, 0.01), ("zh", "weat10", -0.5, 0.4), ("th", "weat2", 0.0, 0.5)]), "test"
    )
    assert html.index("WEAT 2") < html.index("WEAT 10") and ">Chinese<" in html
    assert "<td class=lb-up4><b>1.00</b></td>" in html and "<td class=lb-down2>−0.50</td>" in html
    assert html.count("<td></td>") == 1


def test_what_cannot_be_shown_says_so(monkeypatch):
    said = []
    monkeypatch.setattr(page, "say", lambda text, **values: said.append(page.sentence_text(text, **values)))
    monkeypatch.setattr(page, "table", lambda *a, **k: None)
    with pytest.raises(UnknownName, match="main"):
        ledger.show_figures(S, "some")
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    ledger.show_integrity()
    ledger.show_figures(S, "all")
    ledger.show_printed(S)
    assert len(said) == 2 and all("weathub/final_results" in s for s in said)


@pytest.mark.mirror
def test_every_figure_of_the_paper_has_its_table(monkeypatch):
    shown = []
    monkeypatch.setattr(sections, "display", lambda html: shown.append(html.data))
    monkeypatch.setattr(tables, "result_tables", dict)
    ledger.show_figures(S, "all")
    names = re.findall(r"<summary>(.*?):", shown[0])
    numbers = {int(n) for name in names for n in re.findall(r"\d+", name) if "Figure" in name}
    assert numbers == set(range(1, 19)) and names[-1] == "Table 4" and len(shown[0]) < 250_000
    ledger.show_figures(S, "main")
    assert re.findall("<summary>(.*?):", shown[1])[-2:] == ["Figure 5", "Table 4"]
    ledger.show_figures(S, "none")
    assert len(shown) == 2


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.parametrize("key", ["W17", "W21", "W26", "W54", "W70", "W73", "F19"])
def test_each_leading_claim_has_a_picture(book, key):
    row, evidence = book.table.set_index("id").loc[key], book.evidence[key]
    assert row.verdict != "holds"
    spec = charts.picture(evidence, description="the evidence, drawn", title=key)
    assert spec is not None and len(json.dumps(spec.to_dict())) < 60_000


def test_verdicts_are_told_apart_without_colour():
    verdicts = ledger.VERDICTS
    assert len(set(view.MARKS.values())) == len(verdicts) == len(set(charts.VERDICT_SHAPES.values()))
    assert set(view.MEANINGS) == set(charts.VERDICT_COLOURS) == set(verdicts)


def test_the_unit_chart_has_one_mark_a_claim_best_first():
    table = a_ledger()[0].assign(topic="4.1")
    values = charts.verdict_units(table, description="one mark a claim").to_dict()["data"]["values"]
    assert [(v["verdict"], v["_place"]) for v in values] == [("holds", 0), ("depends on the reading", 1)]
    with pytest.raises(BadTable, match="unknown verdicts"):
        charts.verdict_units(table.assign(verdict="maybe"), description="one mark a claim")


def test_nothing_says_that_the_papers_could_not_be_consulted():
    """The papers are at hand: no file of the project says otherwise."""
    root = files.project_root()
    for folder in ("lib", "notebooks", "book", "data"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".py", ".ipynb", ".md", ".yml", ".csv") and "_executed" not in path.parts:
                assert "not be consulted" not in path.read_text(encoding="utf-8"), path
