"""The sections of the ledger's page: what they show with the published files, and what they say without."""

import pandas as pd
import pytest

from localbias import ledger
from localbias.book import page
from localbias.errors import UnknownName
from localbias.ledger import sections, tables

S = ledger.Settings()


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """What a section shows, instead of displaying it."""
    monkeypatch.setenv("LOCALBIAS_RESULTS", str(tmp_path))
    held = {"charts": [], "sentences": [], "tables": []}
    monkeypatch.setattr(page, "show", lambda chart: held["charts"].append(chart.to_dict()))
    monkeypatch.setattr(
        page, "say", lambda text, **values: held["sentences"].append(page.sentence_text(text, **values))
    )
    monkeypatch.setattr(page, "table", lambda df, name, **more: held["tables"].append((name, df)))
    return held


def title(chart):
    held = chart.get("title", "")
    return held if isinstance(held, str) else held["text"]


def test_without_the_published_files_a_section_says_what_it_needs(shown, monkeypatch):
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    ledger.show_integrity()
    ledger.show_figures(S)
    assert ledger.show_switches(S).empty
    assert shown["charts"] == [] and len(shown["sentences"]) == 3
    assert all("weathub/final_results" in s for s in shown["sentences"])


def test_what_is_switched_off_says_so(shown):
    ledger.show_figures(S, "none")
    assert ledger.show_switches(S, run=False).empty
    assert all("switched off" in s for s in shown["sentences"])
    with pytest.raises(UnknownName, match="main"):
        ledger.show_figures(S, "some")


@pytest.mark.mirror
def test_printed_tables_are_held_against_the_files_and_table_4_is_not_complete(shown):
    ledger.show_printed()
    (sentence,) = shown["sentences"]
    assert sentence.startswith("34 of the 34 pairs")
    assert "shows 8 of the 13 India cells" in sentence
    assert "bn weat24 1.144 (0.006); bn weat26 -0.864 (0.972); pa weat19 0.878 (0.029)" in sentence
    assert [name for name, *_ in shown["tables"]] == ["weathub-printed", "filbbq-printed-values"]


@pytest.mark.mirror
def test_every_figure_is_drawn_from_the_published_results(shown):
    ledger.show_figures(S)
    titles = [title(c) for c in shown["charts"]]
    for number in (1, 2, 3, 4, 5):
        assert any(t.startswith(f"Figure {number}:") for t in titles), titles
    assert sum("every method" in t for t in titles) == 6 and "Table 4: tests for India" in titles
    assert all(len(c["description"].split()) > 5 for c in shown["charts"])


def a_run(language, d, variant="all", model="multilingual-e5-small"):
    """One test of ours, as a page writes it."""
    fixed = {
        "test": "weat1",
        "method": "M5",
        "dataset": "weathub",
        "protocol": "in-context",
        "flags": "",
        "clean": False,
        "p_value": 0.01,
        "p_strict": 0.01,
    }
    return fixed | {"language": language, "model": model, "variant": variant, "effect_size": d}


@pytest.mark.mirror
def test_our_run_stands_after_each_figure_it_has_cells_for(shown, tmp_path):
    rows = [a_run("zh", 0.5), a_run("th", 0.25), a_run("th", 0.2, "gt"), a_run("th", -0.4, "human")]
    rows.append(a_run("fr", 0.9, model="other"))
    pd.DataFrame(rows).to_parquet(tmp_path / "weat-results.parquet")
    ledger.show_figures(S, "main")
    drawn = {title(c): c for c in shown["charts"]}
    names = list(drawn)
    assert names.index("Our run beside Figure 3") == names.index("Figure 3: the six original tests") + 1
    cells = drawn["Our run beside Figure 3"]["data"]["values"]
    assert {(c["language"], c["d"]) for c in cells if c["d"] is not None} == {("Chinese", 0.5), ("Thai", 0.25)}
    pairs = drawn["Our run beside Figure 2"]["data"]["values"]
    assert {(c["translation"], c["size"]) for c in pairs} == {("machine", 0.2), ("human", 0.4)}
    (lacking,) = [s for s in shown["sentences"] if "nothing to set beside" in s]
    assert "Figure 1, Figure 4, Models compared, other languages (in no figure), Figure 5, Table 4" in lacking


@pytest.mark.mirror
def test_the_integrity_section_counts_all_cells(shown):
    ledger.show_integrity()
    assert shown["sentences"][0].startswith("18,240 cells in 221 files")
    assert {name for name, _ in shown["tables"]} == {"integrity-checks", "integrity-missing"}


@pytest.mark.mirror
def test_a_choice_that_changes_nothing_changes_no_verdict():
    out = ledger.switched(S, {"as set": {}, "the same": {"rule": "paper"}, "q": {"rule": "q"}})
    assert not out[out.switch != "q"].changed.any() and out[out.switch == "q"].changed.any()


def test_the_summary_is_a_finding_for_the_start_page(shown, monkeypatch, tmp_path):
    monkeypatch.setattr(tables.sources, "available", lambda prefix: False)
    book = ledger.build(run={})
    sections.show_summary(book)
    text = (tmp_path / "findings" / "ledger.json").read_text()
    n = book.counts
    assert f"Of {len(book.table)} empirical claims" in text and f"{n['holds']} hold on" in text
    assert any("reference run" in s for s in shown["sentences"])
    assert sum(n.values()) == len(book.table)
