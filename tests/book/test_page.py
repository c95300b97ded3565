"""What a page shows besides charts: banners, sentences, tables, closed boxes, words, findings."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import site_sample
from localbias.book import page
from localbias.errors import BadTable, LocalBiasError

TABLE = pd.DataFrame(
    {"language": ["ur", "bn"], "word": ["گلاب", "ফুল"], "d": [-0.5, np.nan], "n": [3, 4], "ok": [True, False]}
)


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """What is displayed, in a book run."""
    held = []
    monkeypatch.setattr(page, "display", lambda content, raw=False: held.append(content if raw else content.data))
    monkeypatch.setattr(page, "_written", {})
    monkeypatch.setenv("LOCALBIAS_RESULTS", str(tmp_path))
    return held


def test_a_sentence_has_its_numbers_and_true_minus_signs(shown):
    page.say("{n:,} words, d = {d:.2f}, {x:.1f}, {name}", n=np.int64(1200), d=np.float32(-0.5), x=np.nan, name="a-b")
    assert shown == ["1,200 words, d = −0.50, undefined, a-b"]


def test_a_sentence_without_its_number_names_it(shown):
    with pytest.raises(LocalBiasError, match="'d'"):
        page.say("d = {d:.2f}", e=1)
    assert shown == []


def test_a_table_is_written_whole_and_shown_in_part(shown, tmp_path):
    page.table(pd.concat([TABLE] * 3), "t-1", caption="A <caption>", head=2, words={"word": "language"})
    [html] = shown
    assert html.count("<tr>") == 3 and "2 of 6 rows shown" in html and "A &lt;caption&gt;" in html
    assert '<bdi lang="ur" dir="rtl">گلاب</bdi>' in html and '<bdi lang="bn" dir="ltr">ফুল</bdi>' in html
    assert 'href="../../results/t-1.csv"' in html and 'href="../../results/t-1.parquet"' in html
    assert len(pd.read_csv(tmp_path / "t-1.csv")) == len(pd.read_parquet(tmp_path / "t-1.parquet")) == 6
    assert (tmp_path / "t-1.csv").read_text(encoding="utf-8").splitlines()[1].startswith("ur,گلاب,-0.5,3,True")


def test_a_long_table_never_floods_the_page(shown):
    page.table(pd.DataFrame({"n": range(5000)}), "long", head=4000)
    assert shown[0].count("<tr>") == 1 + page.MAX_ROWS and "100 of 5,000 rows shown" in shown[0]


def test_cells_are_formatted_escaped_and_aligned():
    html = page.table_html(
        TABLE.assign(t=["<b>", "x"]),
        columns={"d": "effect", "n": "count", "ok": "ok", "t": "text"},
        formats={"d": "{:+.1f}", "n": lambda n: f"{n} words"},
    )
    assert '<td class="lb-num">−0.5</td>' in html and '<span class="lb-none">–</span>' in html
    assert (
        "3 words" in html
        and ">yes<" in html
        and "&lt;b&gt;" in html
        and '<th scope="col" class="lb-num">effect' in html
    )


def test_long_texts_wrap_and_short_ones_do_not():
    html = page.table_html(pd.DataFrame({"short": ["a b"], "long": ["word " * 20]}))
    assert "<td>a b</td>" in html and '<td class="lb-long">word' in html


def test_small_numbers_are_not_shown_as_nought():
    html = page.table_html(pd.DataFrame({"p": [0.00002, 0.25, 0.0]}))
    assert "2.0e−05" in html and "0.250" in html and "0.000" in html


def test_one_name_belongs_to_one_table_in_a_book_run(shown, monkeypatch, tmp_path):
    page.table(TABLE, "once")
    page.table(TABLE, "once")  # the same table again is no clash
    with pytest.raises(BadTable, match="one name"):
        page.table(TABLE.assign(d=1.0), "once")
    monkeypatch.delenv("LOCALBIAS_RESULTS")
    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path))
    page.table(TABLE.assign(d=2.0), "once")  # at the keyboard a cell may be run again with other parameters
    assert pd.read_parquet(tmp_path / "data/results/interactive/once.parquet").d.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["", "A", "a b", "../a", "ä", "a/b"])
def test_a_name_must_be_one_for_a_file(shown, tmp_path, name):
    with pytest.raises(LocalBiasError, match="not a name"):
        page.table(TABLE, name)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_column_is_named(shown):
    with pytest.raises(BadTable, match="'x'"):
        page.table(TABLE, "t-2", columns=["x"])


def test_the_banner_announces_starter_and_approximate_weights(shown):
    page.banner(dataset="starter", model=["multilingual-e5-small", "all-minilm-l6-v2"], notes=["A <note>."], seeds=3)
    assert "no findings" in shown[0] and "Starter lexicon" in shown[0] and "A &lt;note&gt;." in shown[0]
    assert "Approximate weights: multilingual E5 small (4-bit)." in shown[0] and "seeds" in shown[0]
    page.banner(dataset="weathub", model="all-minilm-l6-v2")
    assert "starter" not in shown[1].lower() and "Approximate" not in shown[1]


def test_closed_boxes_warn_and_are_closed(shown):
    page.closed("Insults", TABLE, columns=["n"])
    page.closed("Plain", "<p>text</p>", warning=False)
    assert (
        shown[0].startswith('<details class="lb-closed"><summary>') and page.WARNING in shown[0] and "<td" in shown[0]
    )
    assert page.WARNING not in shown[1] and "<p>text</p>" in shown[1] and " open" not in "".join(shown)


def test_the_words_of_a_test_are_closed_in_four_lists(shown):
    sets = SimpleNamespace(
        x=["گلاب", "نرگس"], y=["مکھی"], a=["خوشی"], b=["غم"], test="weat1", language="ur", variant="all", provenance={}
    )
    page.words(sets)
    assert shown[0].startswith("<details") and shown[0].count("<li>") == 5 and "X: flowers (2)" in shown[0]
    assert shown[0].count('<bdi lang="ur" dir="rtl">') == 5
    sets.test, sets.provenance = "kin", {"categories": {"X": "women", "Y": "men", "A": "home", "B": "work"}}
    page.words(sets)
    assert "Words of kin, Urdu, all" in shown[1] and "X: women (2)" in shown[1] and "B: work (1)" in shown[1]


def test_a_word_cannot_leave_its_element():
    assert page.word('<i>"', 'x" y') == '<bdi lang="x&quot; y" dir="auto">&lt;i&gt;"</bdi>'


def test_a_finding_is_kept_for_the_start_page(shown, tmp_path):
    page.finding("main", "{n} of {m}.", page="03-cross-lingual-weat", n=1, m=2)
    held = json.loads((tmp_path / "findings/main.json").read_text(encoding="utf-8"))
    assert held == {"key": "main", "page": "03-cross-lingual-weat", "sentence": "1 of 2."} and shown == ["1 of 2."]


def test_a_chart_is_a_picture_in_a_book_run_and_live_at_the_keyboard(shown, monkeypatch):
    chart = site_sample.all_charts()["dots"]
    page.show(chart)
    monkeypatch.delenv("LOCALBIAS_RESULTS")
    page.show(chart)
    assert set(shown[0]) == {"text/html", "text/plain"}
    assert set(shown[1]) == {"text/html", "text/plain", "application/vnd.vegalite.v5+json"}


def test_no_two_notebooks_write_one_table_name():
    """page.table names are file names of one folder: once in the whole book."""
    import re

    names = {}
    for path in sorted((site_sample.PROJECT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            for call in re.findall(r"page\.(?:table|finding)\(\s*(.*?)\)", source, re.S):
                for name in re.findall(r"""(?<![\w=])["']([a-z0-9][a-z0-9_.-]*)["']""", call)[:1]:
                    assert names.setdefault(name, path.name) == path.name, f"{name}: {path.name} and {names[name]}"
