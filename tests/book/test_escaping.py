"""Text from outside reaches the site as text: hostile values in every input, live elements sought in the built HTML."""

import json
import re
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from test_site_browser import Visit, browser  # noqa: F401 (a fixture)

import site_sample
from localbias import files
from localbias.book import charts, page, publish
from localbias.book.execute import Run
from localbias.book.site import build_site
from localbias.ledger.view import ledger_html

pytestmark = pytest.mark.timeout(600)

ATTACKS = [
    "<img src=x onerror=lbx()>",
    "<script>lbx()</script>",
    "</script></style></code></bdi><svg onload=lbx()>",
    '"><a href="javascript:lbx()">lbx</a>',
    "[lbx](javascript:lbx()) ![lbx](https://lbx.example/lbx.png) <https://lbx.example>",
    "[lbx]: https://lbx.example",
    "`lbx` ``lbx <b>lbx</b>`` ```",
    "```{raw} html <b onclick=lbx()>lbx</b>",
    "{raw}`<b>lbx</b>` {download}`lbx.csv` {{ lbx }} {lbx}",
    "a|b **lbx** _lbx_ ~~lbx~~ $lbx$ \\(lbx\\) &lt;b&gt;lbx",
    "(lbx)= ::: +++ % lbx https://lbx.example www.lbx.example",
]
"""Elements, schemes, and what means something in Markdown or MyST; each holds the word lbx."""
PLACES = {}


def hostile(place: str) -> str:
    """All attacks in one value, each marked with the place it is put in, so that a find says where it came from."""
    mark = PLACES.setdefault(place, f"lbx{len(PLACES)}q")
    return " ¶ ".join(ATTACKS).replace("lbx", mark)


def _everything():
    """Every function that shows something, with hostile values in all that it takes."""
    h = hostile
    frame = pd.DataFrame({h("column"): [h("cell")], "language": [h("language")], "d": [0.5], "test": [h("test")]})
    page.banner(h("data set"), [h("model")], notes=[h("note")], **{"fact": h("fact"), "facts": [h("facts")]})
    page.say("{path} is a model", path=h("path"))
    page.say("From {ids}: {cue!r}, {name:s}.", ids=[h("id")], cue=h("cue"), name=h("name"))
    page.finding("weat", "{template} scores most.", page=site_sample.PAGE, template=h("finding"))
    page.table(frame, "hostile", caption=h("caption"), columns={c: c for c in frame} | {"d": h("heading")})
    page.table(frame, "hostile-words", words={h("column"): "language"}, formats={"d": lambda _: h("formatted")})
    page.closed(h("title"), frame, warning=h("warning"))
    words = {side: [h(f"word {side}")] for side in "xyab"}
    told = {"test": "weat1", "language": h("words' language"), "variant": h("variant"), "provenance": {}}
    page.words(SimpleNamespace(**words, **told))
    table = frame.assign(low=0.1, high=0.9, significant=True, name=h("category"), group=h("group"))
    told = {"title": h("chart title"), "description": h("description"), "subtitle": h("subtitle")}
    page.show(charts.heat_map(table, "test", "name", "d", significant="significant", **told))
    page.show(charts.intervals(table, "name", "d", low="low", high="high", colour="group", **told))
    page.show(charts.bars(table, "name", "d", colour="group", tooltip=["language"], **told))
    page.show(charts.scatter(table, "low", "high", colour="group", text="name", x_title=h("axis"), **told))
    page._show(ledger_html(*_ledger()))


def _ledger():
    """A ledger of one claim whose every text is hostile."""
    texts = "paper topic section claim figure published chance data rule figure_ours verdict_ours speaks reading"
    texts += " scope decides otherwise"
    row = {name: hostile(f"ledger {name}") for name in texts.split()}
    row |= {
        "id": "c1",
        "kind": "conjecture",
        "verdict": "holds",
        "support": "count",
        "page": "03",
        "computed": "here",
        "flagged_cells": 1,
    }
    row |= {"verdict_unflagged": hostile("ledger unflagged"), "figure_unflagged": "", "p": 0.5}
    row |= {"low": 0.0, "high": 1.0}
    evidence = pd.DataFrame({"cell": [hostile("evidence")]})
    return pd.DataFrame([row]), {"c1": evidence}


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory):
    """The html folder of the small book whose one page is full of attacks, its foot included."""
    root = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(page, "_written", {})
        site_sample.write_book(root, monkeypatch, _everything)
    folder, notebook = files.book_results(root) / site_sample.PAGE, root / "notebooks" / f"{site_sample.PAGE}.ipynb"
    asked = {"model": hostile("parameter"), "languages": [hostile("parameters")]}
    run = Run(notebook, asked, nbformat.read(folder / files.PAGE, as_version=4), folder, folder)
    command = publish.command_for(notebook.stem, "quick", asked)
    nbformat.write(publish.clean(run, command), folder / files.PAGE)
    files.seal(folder, notebook=notebook.stem)
    build_site(root)
    return root / "_build" / "html"


def documents(site):
    for name in ("intro", f"_executed/{site_sample.PAGE}"):
        path = site / "book" / f"{name}.html"
        yield path, BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


MARK = re.compile(r"lbx\d+q")
LABELS = {"aria-label", "title", "lang", "alt", "content"}
"""Attributes that are read out and never followed or run."""


def live(document) -> list[str]:
    """What an attack has brought to life: an element, an address, a handler, a script, an emphasis."""
    found = []
    for element in document.find_all(True):
        for name, value in element.attrs.items():
            value = " ".join(value) if isinstance(value, list) else str(value)
            if MARK.search(value) and name not in LABELS:
                found.append(f"{element.name}[{name}]: {value[:80]}")
        data = element.name == "script" and element.get("type") == "application/json"
        if element.name in ("script", "style", "iframe", "object", "svg") and not data:
            own = "".join(element.find_all(string=True, recursive=False))
            found += [f"{element.name}: {own[:80]}"] if MARK.search(own) else []
        if element.name in ("strong", "em", "b", "s", "math", "a") and MARK.search(element.get_text()):
            found.append(f"{element.name}: {element.get_text()[:80]}")
    return found


def visible(document) -> str:
    """The text a reader sees; quotation marks straight again, which the site sets as a printer would."""
    for element in document.find_all(["script", "style"]):
        element.decompose()
    return " ".join(document.get_text().translate(str.maketrans("“”‘’", "\"\"''")).split())


@pytest.mark.book
def test_no_hostile_value_comes_to_life_in_the_built_site(hostile_site):
    for path, document in documents(hostile_site):
        assert live(document) == [], path.name


@pytest.mark.book
def test_every_hostile_value_is_shown_as_it_stands(hostile_site):
    """The place's own text, whole, in the page that shows it: nothing was read as markup, nothing was dropped."""
    text = " ".join(visible(document) for _, document in documents(hostile_site))
    spoken = {"chart title", "description", "subtitle", "axis", "group", "category"}
    for place in PLACES.keys() - spoken - {"cue", "parameter", "parameters", "id"}:
        assert hostile(place) in text, place
    for place in ("cue", "id"):  # Python's own writing of a text; smart quotes set its two backslashes as one
        assert repr(hostile(place))[1:-1].replace("\\\\", "\\") in text, place
    for place in ("parameter", "parameters"):  # JSON's
        assert json.dumps(hostile(place), ensure_ascii=False)[1:-1] in text, place


@pytest.mark.book
def test_the_start_page_repeats_the_finding_as_text(hostile_site):
    _, start = next(documents(hostile_site))
    assert hostile("finding") in visible(start)


def test_the_search_for_live_elements_finds_each_attack_when_it_is_not_escaped():
    """Each attack by its own means: HTML as it is, Markdown through a parser that lets HTML pass."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for attack in ATTACKS[:6]:
        assert live(BeautifulSoup(parser.render(attack.replace("lbx", "lbx1q") + "\n\n[lbx1q]"), "html.parser")), attack


@pytest.mark.parametrize(
    "attack", [*ATTACKS, "- a", "---", "1. a", "# a", "> a", "  a\n\n    b", "a\r\nb", "\\", "`", ""]
)
def test_a_literal_is_one_paragraph_of_its_own_text(attack):
    """Read back by the Markdown parser that the book uses: one paragraph, nothing in it but text."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"linkify": True}).enable(["table", "strikethrough", "linkify"])
    tokens = parser.parse(f"a {page.literal(attack)} b")
    assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {t.type for t in tokens[1].children} == {"text"}
    assert "".join(t.content for t in tokens[1].children).split() == ["a", *attack.split(), "b"]
    if attack.strip():
        (span,) = [t for t in parser.parse(f"| a |\n|---|\n| {page.code(attack)} |\n") if t.type == "inline"][1:]
        assert [(t.type, t.content) for t in span.children] == [("code_inline", " ".join(attack.split()))]


@pytest.mark.book
@pytest.mark.browser
def test_nothing_runs_in_a_browser_and_live_charts_stay_text(hostile_site, browser):  # noqa: F811
    """Every script an attack would call is there to be called; the drawn charts and their tooltips are searched too."""
    calls = ";".join(f"window.{mark}=()=>window.called.push('{mark}')" for mark in PLACES.values())
    for path in (hostile_site / "book/intro.html", hostile_site / f"book/_executed/{site_sample.PAGE}.html"):
        with Visit(browser) as visit:
            visit.page.add_init_script(f"window.called=[];{calls}")
            opened = visit.open(path)
            opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            opened.wait_for_function(
                "[...document.querySelectorAll('figure.lb-chart')].every(f => f.dataset.live === '1')"
            )
            for mark in opened.locator("svg.marks path[aria-roledescription]").all()[:12]:
                mark.dispatch_event("mousemove")
            assert live(BeautifulSoup(opened.content(), "html.parser")) == []
            assert opened.evaluate("window.called") == [] and visit.asked == [] and visit.complaints == []


CELLS = ["=1+1", "+1+1", "@SUM(A1)", "-2+3+cmd|' /C calc'!A0", "\t=1", "\r=1", "＝1", '=HYPERLINK("https://lbx","lbx")']


def test_no_cell_of_a_csv_is_a_formula_and_numbers_stay(tmp_path):
    """Read back by pandas: texts that begin as formulas do have an apostrophe before them, all else is as it was."""
    fine = ["rose", "-0.5", "+5 %", "-", "1e-05", "'=1", "a=b", "x\n=1", ""]
    table = pd.DataFrame({"=word": [*CELLS, *fine], "d": -0.5, "kind": pd.Categorical([*CELLS, *fine])})
    parquet, csv = files.write_table(table, tmp_path / "t")
    read = pd.read_csv(csv, dtype=str, keep_default_na=False)
    expected = [f"'{cell}".replace("\r", "\n") for cell in CELLS] + fine
    assert read.columns.tolist() == ["'=word", "d", "kind"] and set(read.d) == {"-0.5"}
    assert read["'=word"].tolist() == read.kind.tolist() == expected
    assert pd.read_parquet(parquet)["=word"].tolist() == [*CELLS, *fine]


def test_every_csv_goes_through_the_one_writer():
    """Elsewhere only lists that are read back as words: a list without doubted words, the starter's own."""
    library = site_sample.PROJECT / "lib/localbias"
    wanted = r"\.to_csv\((?!index=False\)\.encode)|csv\.writer|DictWriter"
    writers = {p.relative_to(library).as_posix() for p in library.rglob("*.py") if re.search(wanted, p.read_text())}
    assert writers <= {"files.py", "audit/words.py"}
