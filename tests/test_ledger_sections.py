"""The sections of the ledger's page: what they show with the published files, and what they say without."""

import pytest

from localbias import ledger, page
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


def test_printed_tables_say_how_their_values_are_known(shown):
    ledger.show_printed()
    (sentence,) = shown["sentences"]
    assert "from the result file 43" in sentence and shown["tables"][0][0] == "paper-tables"


@pytest.mark.mirror
def test_every_figure_is_drawn_from_the_published_results(shown):
    ledger.show_figures(S)
    titles = [title(c) for c in shown["charts"]]
    for number in (1, 2, 3, 4, 5, 18):
        assert any(t.startswith(f"Figure {number}:") for t in titles), titles
    assert sum("every method" in t for t in titles) == 6 and "Table 4: tests for India" in titles
    assert all(len(c["description"].split()) > 5 for c in shown["charts"])


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
