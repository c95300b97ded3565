"""The whole book, smoke profile, through Snakemake, papermill and Jupyter Book: on the starter and on the mirror."""

import json
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from conftest import make_book

pytestmark = [pytest.mark.book, pytest.mark.model, pytest.mark.timeout(1500)]


def texts(page):
    """Everything a page shows."""
    for cell in nbformat.read(page, as_version=4).cells:
        yield cell.source
        for output in cell.get("outputs", []):
            assert output.output_type != "error", (page, output)
            for content in output.get("data", {}).values():
                yield content if isinstance(content, str) else json.dumps(content)
            yield output.get("text", "")


def check_whole(book, dataset):
    assert [p.stem[:2] for p in book.pages] == ["01", "02", "03", "04", "05", "06", "07", "08", "10", "11"]
    assert (book.html / "index.html").exists()
    for page in book.pages:
        assert (book.html / "book/_executed" / f"{page.stem}.html").exists()
        assert "<svg" in "".join(texts(page)), f"{page.stem} shows no chart"
        assert list(json.loads((book.root / f"data/results/{page.stem}/manifest.json").read_text())["files"])
    for name in book.tables():
        if name.endswith(".csv"):
            assert (book.html / "results" / Path(name).name).exists(), f"{name} cannot be downloaded"
    table = pd.read_parquet(book.root / "data/results/03-cross-lingual-weat/weat-results.parquet")
    assert set(table.dataset) <= {dataset, "starter"} and dataset in set(table.dataset)
    assert {"model", "revision", "method", "protocol", "q_value", "ci_low", "ci_high", "flags"} <= set(table.columns)
    return table


def test_the_starter_alone_makes_the_whole_book_and_says_so(starter_book):
    check_whole(starter_book, "starter")
    for page in starter_book.pages:
        assert "starter" in " ".join(texts(page)).lower(), f"{page.stem} does not announce the starter"


def test_a_second_build_does_nothing(own_book):
    before = {p: p.stat().st_mtime_ns for p in [*own_book.pages, own_book.html / "index.html"]}
    assert own_book.command("build", "--profile", "smoke").returncode == 0
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_a_broken_notebook_fails_the_build_and_keeps_its_old_page(own_book):
    path = own_book.root / "notebooks/04-mono-vs-multilingual.ipynb"
    page = own_book.root / "book/_executed/04-mono-vs-multilingual.ipynb"
    other = own_book.root / "book/_executed/05-indian-languages.ipynb"
    good, old = path.read_text(), page.read_bytes()
    broken = nbformat.reads(good, as_version=4)
    broken.cells.insert(3, nbformat.v4.new_code_cell("raise RuntimeError('broken on purpose')", id="broken"))
    other.unlink()
    path.write_text(nbformat.writes(broken))
    try:
        done = own_book.command("build", "--profile", "smoke")
    finally:
        path.write_text(good)
    told = done.stdout + done.stderr
    assert done.returncode == 1
    assert "04-mono-vs-multilingual" in told and "cell 3" in told and "RuntimeError: broken on purpose" in told
    assert page.read_bytes() == old and other.exists() and (own_book.html / "index.html").exists()
    assert own_book.command("build", "--profile", "smoke").returncode == 0


def test_a_page_that_never_was_computed_is_announced(own_book):
    page = own_book.root / "data/results/05-indian-languages"
    kept = page.rename(own_book.root / "kept")
    try:
        done = own_book.command("site")
        html = (own_book.html / "book/_executed/05-indian-languages.html").read_text()
    finally:
        kept.rename(page)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "This page was not computed" in html
    assert own_book.command("site").returncode == 0


@pytest.mark.mirror
def test_the_published_files_make_the_whole_book(published_book):
    table = check_whole(published_book, "weathub")
    (chinese,) = table.query(
        "language == 'zh' and test == 'weat1' and method == 'M5' and variant == 'all' and not clean"
    ).itertuples()
    assert 1.3 < chinese.effect_size < 1.7 and chinese.p_value < 0.001  # the design's figure: about 1.5


@pytest.mark.mirror
def test_two_runs_give_the_same_bytes(published_book, tmp_path):
    again = make_book(tmp_path, mirror=True)
    assert again.tables() == published_book.tables()
    for first, second in zip(published_book.pages, again.pages, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.stem


@pytest.mark.mirror
def test_one_notebook_on_other_parameters_leaves_the_book_alone(published_book, tmp_path):
    own = published_book.copy(tmp_path / "book")
    before = own.pages[2].read_bytes()
    done = own.command(
        "run", "03-cross-lingual-weat", "--profile", "smoke", "-p", 'languages=["zh","th"]', "-p", 'methods=["M5"]'
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page: " in done.stdout and "weat-results.csv" in done.stdout
    (folder,) = (own.root / "data/results/runs").iterdir()
    table = pd.read_parquet(folder / "weat-results.parquet")
    assert set(table.language) == {"zh", "th"} and set(table.method) == {"M5"}
    assert (folder / "html/book/_executed/03-cross-lingual-weat.html").exists()
    assert own.pages[2].read_bytes() == before


def test_a_persons_list_goes_through_a_notebook_by_name(own_book):
    """A language that the book does not know, from one CSV; its name is in the rows and on the page."""
    sets = {
        "X": ("flowers", ["rosa", "cravo", "margarida", "girassol", "tulipa", "violeta"]),
        "Y": ("insects", ["mosca", "barata", "formiga", "vespa", "pulga", "mosquito"]),
        "A": ("pleasant", ["alegria", "amor", "paz", "beleza", "festa", "sorriso"]),
        "B": ("unpleasant", ["dor", "guerra", "doença", "tristeza", "crime", "veneno"]),
    }
    lines = [f"pt,weat1,{role},{name},{word}" for role, (name, words) in sets.items() for word in words]
    path = own_book.root / "data/lexicons/mine.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["language,test,role,category,word", *lines]) + "\n", encoding="utf-8")
    out = own_book.root / "mine"
    asked = ["-p", "dataset=mine", "-p", 'languages=["pt"]', "-p", 'tests=["weat1"]', "--out", str(out)]
    done = own_book.command("run", "03", "--profile", "smoke", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = pd.read_parquet(out / "weat-results.parquet").itertuples()
    assert (row.dataset, row.language, row.n_x, row.n_b) == ("mine", "pt", 6, 6)
    path.write_text("language,test,role,category,word\npt,weat1,Q,flowers,rosa\n", encoding="utf-8")
    done = own_book.command("run", "03", "--profile", "smoke", *asked)
    path.unlink()
    assert done.returncode == 1 and "mine.csv" in done.stderr and "role" in done.stderr, done.stderr
