"""A small book for the site's tests: the real prose, and one page with every chart form and page element."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd

from localbias import files
from localbias.book import charts, page

PROJECT = Path(__file__).resolve().parent.parent
PAGE = "03-cross-lingual-weat"
DESCRIPTION = "Made numbers for a test of the site, in three scripts."
NAMES = ["বাংলা", "ไทย", "العربية", "Tagalog"]


def numbers() -> pd.DataFrame:
    """Made effect sizes, two series, one cell missing."""
    rows = [
        (name, test, kind, round(((3 * i + 5 * j + 7 * k) % 17 - 8) / 6, 3))
        for i, name in enumerate(NAMES)
        for j, test in enumerate(("weat1", "weat2", "weat6"))
        for k, kind in enumerate(("human", "machine"))
    ]
    table = pd.DataFrame(rows, columns=["language", "test", "kind", "d"])
    return table.assign(low=table.d - 0.4, high=table.d + 0.4, significant=table.d.abs() > 0.9)


def all_charts() -> dict:
    """Every chart form once."""
    table = numbers()
    one = table[table.kind == "human"]
    pair = table[table.test == "weat1"]
    spread = pd.DataFrame(
        {"language": NAMES[:1] * 5, "d": [-1, -0.5, 0, 0.5, 1], "probability": [0.1, 0.2, 0.4, 0.2, 0.1]}
    )
    say = {"description": DESCRIPTION}
    ends = {"low": "low", "high": "high", "colour": "kind"} | say
    return {
        "heat_map": charts.heat_map(one.iloc[1:], "test", "language", "d", significant="significant", cell=120, **say),
        "wide": charts.heat_map(
            pd.DataFrame([(n, f"weat{i}", i / 10 - 1.2) for n in NAMES for i in range(26)], columns=["l", "t", "d"]),
            "t",
            "l",
            "d",
            **say,
        ),
        "intervals": charts.intervals(pair, "language", "d", **ends),
        "faceted": charts.intervals(table, "language", "d", facet="test", columns=3, **ends),
        "dots": charts.dots(pair, "language", "d", colour="kind", **say),
        "bars": charts.bars(pair, "language", "d", colour="kind", number=".1f", **say),
        "scatter": charts.scatter(pair, "low", "high", colour="kind", diagonal=True, text="language", **say),
        "jitter": charts.jitter(one, "language", "d", distribution=spread, **say),
        "lines": charts.lines(one, "test", "d", colour="language", low="low", high="high", **say),
        "paired": charts.paired(pair, "language", "d", "kind", **say),
        "slope": charts.paired(pair, "language", "d", "kind", shape="slope", **say),
    }


def _calls():
    page.banner(dataset="starter", model="multilingual-e5-small", methods=["M5"], notes=["A small page."])
    page.say("{n:,} cells reach d = {d:.2f}.", n=1200, d=-0.5)
    page.finding("weat", "Of {n} languages, {k} lean one way.", page=PAGE, n=4, k=3)
    for chart in all_charts().values():
        page.show(chart)
    page.table(numbers(), "sample-cells", caption="Every number", head=7)
    words = pd.DataFrame({"word": ["گلاب", "ফুল", "ดอกไม้"], "language": ["ur", "bn", "th"]})
    page.table(words, "sample-words", words={"word": "language"})
    sets = {"x": ["گلاب"], "y": ["مکھی"], "a": ["خوشی"], "b": ["غم"]}
    page.words(SimpleNamespace(**sets, test="weat1", language="ur", variant="gt", provenance={}))


def outputs(monkeypatch, calls=_calls) -> list:
    """What the calls display, as a notebook keeps it."""
    shown = []

    def display(content, raw=False):
        data = (
            content if raw else {("text/html" if type(content).__name__ == "HTML" else "text/markdown"): content.data}
        )
        shown.append(nbformat.v4.new_output("display_data", data=data))

    monkeypatch.setattr(page, "display", display)
    calls()
    return shown


def write_book(root: Path, monkeypatch, calls=_calls) -> Path:
    """A folder that Jupyter Book can build: prose, static files and the one computed page."""
    folder = files.book_results(root) / PAGE
    monkeypatch.setenv("LOCALBIAS_RESULTS", str(folder))
    shutil.copytree(PROJECT / "book", root / "book", ignore=shutil.ignore_patterns("_executed"))
    (root / "notebooks").mkdir()
    shutil.copy2(PROJECT / "notebooks" / f"{PAGE}.ipynb", root / "notebooks")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy2(PROJECT / name, root / name)
    cell = nbformat.v4.new_code_cell("show_everything()", id="cell-1")
    cell.outputs = outputs(monkeypatch, calls)
    title = nbformat.v4.new_markdown_cell("# Cross-lingual WEAT\n\nA page about zebrafinches.", id="cell-0")
    notebook = nbformat.v4.new_notebook(cells=[title, cell], metadata={"language_info": {"name": "python"}})
    nbformat.write(notebook, folder / files.PAGE)
    files.seal(folder, notebook=PAGE)
    return root
