"""Nothing lost, nothing stale: kills, full disks, damaged files, two at once. The old page stays or the new one comes.

Made notebooks of two cells go through the real command line, Snakemake, papermill and Jupyter Book. What is right is
known beforehand: a run of `n` writes the table `n = 0 … n-1` and a page that says "n rows".
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import isolation
from localbias import files
from localbias.book.execute import run_notebook
from localbias.book.publish import publish
from localbias.book.site import build_site

PROJECT = isolation.PROJECT
STEM, OTHER = "01-made", "02-other"


def write_notebook(path: Path, table: str, n: int = 3, more: str = "") -> Path:
    """A notebook whose page, table and finding all say `n`."""
    code = (
        "import pandas as pd\nfrom localbias.book import page\n"
        f"page.table(pd.DataFrame({{'n': range(n)}}), '{table}')\n"
        f"page.finding('{table}', '{{n}} rows', page='{path.stem}', n=n)"
    )
    cells = [
        nbformat.v4.new_markdown_cell(f"# {path.stem}", id="title"),
        nbformat.v4.new_code_cell(f"n: int = {n}  # rows", id="parameters", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(more or "pass", id="more"),
        nbformat.v4.new_code_cell(code, id="code"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})) + "\n")
    return path


@pytest.fixture
def book(tmp_path, monkeypatch) -> Path:
    """A whole book of two made notebooks, not yet run."""
    root = tmp_path / "book of 'two'"
    monkeypatch.setenv("LOCALBIAS_ROOT", str(root))
    shutil.copytree(PROJECT / "book/_static", root / "book/_static")
    for name in ("Snakefile", "_config.yml", "book/references.bib", "data/sources.yml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, root / name)
    (root / "book/intro.md").write_text("# Made\n\n```{finding} first\n```\n\n```{finding} second\n```\n")
    chapters = "".join(f"  - file: book/_executed/{stem}\n" for stem in (STEM, OTHER))
    (root / "_toc.yml").write_text(f"format: jb-book\nroot: book/intro\nchapters:\n{chapters}")
    write_notebook(root / "notebooks" / f"{STEM}.ipynb", "first")
    write_notebook(root / "notebooks" / f"{OTHER}.ipynb", "second")
    (root / "notebooks/profiles").mkdir()
    (root / "notebooks/profiles/quick.yml").write_text("common: {}\n")
    return root


def localbias(book: Path, *arguments: str, status: int | None = 0) -> str:
    """Run a command to its end; what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "localbias", *arguments], cwd=book, capture_output=True, text=True, timeout=600
    )
    told = done.stdout + done.stderr
    assert status is None or done.returncode == status, told
    assert "Traceback" not in done.stderr, told
    return told


def rows_of(folder: Path) -> int:
    """The `n` of a run's folder, after checking that page, tables, finding and manifest are all of one run."""
    held = files.sealed(folder)
    n = json.loads((folder / files.MANIFEST).read_text())["parameters"]["n"]
    assert len(pd.read_csv(folder / "first.csv")) == len(pd.read_parquet(folder / "first.parquet")) == n
    assert json.loads((folder / "findings/first.json").read_text())["sentence"] == f"{n} rows"
    assert f"{n} rows" in held[files.PAGE].read_text()
    for name, digest in json.loads((folder / files.MANIFEST).read_text())["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    return n


def contents(folder: Path) -> dict[str, bytes]:
    """Every file, hidden ones that hold no content apart."""
    held = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != ".lock")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in held}


def test_a_build_is_done_once_then_knows_it(book):
    told = localbias(book, "build")
    assert "The book is built" in told
    for stem in (STEM, OTHER):
        assert f"{stem}: page and tables are in the book" in told
    before = contents(book)
    assert "in the book" not in localbias(book, "build")
    after = contents(book)
    assert {k for k in before if before[k] != after.get(k)} <= {k for k in before if k.startswith(".snakemake/")}


# --- kills --------------------------------------------------------------------------------------

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.truncate"}


def in_a_child(act, kill_at: int | None = None) -> int | None:
    """Do something in a forked process, killed just before the n-th time that it changes a folder or opens a file
    to write; its exit status, None when it was killed."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
    seen = 0

    def count(event, args):
        nonlocal seen
        if event in WRITES or (event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)):
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        if kill_at:
            sys.addaudithook(count)
        act()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)


def parts(root: Path) -> list[Path]:
    return [p for p in root.rglob("*") if p.name.endswith(".part")]


@pytest.fixture
def run_quickly(book, monkeypatch):
    """`run(n)` runs and publishes the first notebook; its cells are done here, not by a kernel."""
    from localbias.book import execute, page

    def cells(notebook, parameters, progress):
        shown, n = [], parameters["n"]
        monkeypatch.setattr(page, "_written", {})
        monkeypatch.setattr(page, "display", lambda content: shown.append(content.data))
        page.table(pd.DataFrame({"n": range(n)}), "first")
        page.finding("first", "{n} rows", page=STEM, n=n)
        executed = nbformat.read(notebook, as_version=4)
        executed.cells[-1].outputs = [nbformat.v4.new_output("display_data", data={"text/html": x}) for x in shown]
        return executed

    monkeypatch.setattr(execute, "_execute", cells)

    def run(n: int, site: bool = False, folder: Path | None = None) -> None:
        with run_notebook(book / "notebooks" / f"{STEM}.ipynb", {"n": n}, folder) as finished:
            publish(finished, "quick", {}, site=site)

    return run


def test_a_run_killed_at_any_step_leaves_the_old_page_or_the_new_one(book, run_quickly):
    results = book / "data/results"
    run_quickly(5)
    new = contents(results)
    run_quickly(3)
    old = contents(results)
    assert rows_of(results / STEM) == 3 and old != new
    left = []
    for step in range(1, 200):
        killed = in_a_child(lambda: run_quickly(5), kill_at=step) is None
        left.append(rows_of(results / STEM))  # checks page, tables, finding and manifest against each other
        assert in_a_child(lambda: run_quickly(5)) == 0
        assert contents(results) == new  # the same bytes, and no draft of the killed run
        assert in_a_child(lambda: run_quickly(3)) == 0
        assert contents(results) == old
        if not killed:
            break
    assert step > 20 and not killed
    assert left == sorted(left) and set(left) == {3, 5}  # old up to the rename, new from then on


def test_a_first_run_killed_at_any_step_leaves_nothing_or_the_whole_page(book, run_quickly):
    folder = book / "data/results" / STEM
    for step in range(1, 200):
        killed = in_a_child(lambda: run_quickly(5), kill_at=step) is None
        assert not folder.exists() or rows_of(folder) == 5
        shutil.rmtree(book / "data/results", ignore_errors=True)
        if not killed:
            break
    assert step > 20


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_where_names_cannot_change_places_two_renames_do(book, run_quickly, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    for n in (3, 5, 4):
        run_quickly(n)
        assert rows_of(book / "data/results" / STEM) == n
    assert parts(book) == []


def test_the_system_exchanges_two_folders(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(name)
    assert files._exchange(tmp_path / "a", tmp_path / "b")
    assert [(tmp_path / name / "text").read_text() for name in "ab"] == ["b", "a"]


def test_a_folder_that_cannot_be_written_leaves_the_old_page(book, run_quickly):
    run_quickly(3)
    with pytest.raises(FileNotFoundError):
        files.make_current(book / "not there", book / "nor there")
    assert rows_of(book / "data/results" / STEM) == 3


def test_drafts_of_killed_processes_go_and_those_of_living_ones_stay(tmp_path):
    def leave():
        with files.replacing(tmp_path / "a.csv"), files.draft_folder(tmp_path / "folder"):
            os.kill(os.getpid(), signal.SIGKILL)

    in_a_child(leave)
    assert len(parts(tmp_path)) == 2
    foreign = tmp_path / ".a.csv.0123abcd-1-x1y2z3.part"  # another machine's: nobody here knows whether it lives
    old = tmp_path / ".b.csv.0123abcd-1-x1y2z3.part"
    for path in (foreign, old):
        path.write_text("")
    os.utime(old, (0, 0))
    with files.replacing(tmp_path / "c.csv") as mine:
        assert parts(tmp_path) == sorted([foreign, mine], key=lambda p: parts(tmp_path).index(p))

        def another():
            with files.replacing(tmp_path / "d.csv") as draft:
                draft.write_text("whole")

        assert in_a_child(another) == 0 and mine.exists()
    assert parts(tmp_path) == [foreign]


def fake_jupyter_book(root, folder, flags):
    """A site of two files that say what the pages say."""
    html = folder / "_build/html"
    html.mkdir(parents=True)
    page = (root / f"book/_executed/{STEM}.ipynb").read_text()
    for name in ("index.html", "other.html"):
        (html / name).write_text(page)


def test_a_site_killed_at_any_step_leaves_the_old_site_or_the_new_one(book, run_quickly, monkeypatch):
    from localbias.book import site

    monkeypatch.setattr(site, "_jupyter_book", fake_jupyter_book)
    html = book / "_build/html"
    held = {}
    for n in (5, 3):
        run_quickly(n)
        build_site()
        held[n] = contents(html)
    for step in range(1, 100):
        run_quickly(5)
        killed = in_a_child(build_site, kill_at=step) is None
        assert contents(html) in (held[3], held[5])
        assert in_a_child(build_site) == 0 and contents(html) == held[5]
        assert parts(book) == []
        run_quickly(3)
        assert in_a_child(build_site) == 0 and contents(html) == held[3]
        if not killed:
            break
    assert step > 10


# --- at once ------------------------------------------------------------------------------------


def running(pid: int) -> bool:
    """Whether a child still runs; one that failed is a failure here."""
    done, status = os.waitpid(pid, os.WNOHANG)
    assert not done or os.waitstatus_to_exitcode(status) == 0
    return not done


@pytest.mark.parametrize("processes", [2, 4])
def test_runs_at_once_never_mix(book, run_quickly, processes):
    """Every process runs the notebook with its own n again and again; whoever looks sees one run."""
    folder = book / "data/results" / STEM
    run_quickly(1)
    children = []
    for n in range(2, 2 + processes):
        pid = os.fork()
        if not pid:
            try:
                for _ in range(12):
                    run_quickly(n)
                os._exit(0)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
        children.append(pid)
    seen = set()
    while children:
        with files.book_lock():
            seen.add(rows_of(folder))
        children = [pid for pid in children if running(pid)]
        time.sleep(0.005)
    assert len(seen) > 1 and seen <= set(range(1, 2 + processes))
    assert parts(book) == []
