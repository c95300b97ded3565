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
import torch

import filbbq_made as made
import isolation
from localbias import files
from localbias.book import publish as publishing
from localbias.book.execute import run_notebook
from localbias.book.publish import publish
from localbias.book.site import build_site, refresh
from localbias.errors import BadTable, LocalBiasError, WrongHash

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


def make_book(root: Path) -> Path:
    """A whole book of two made notebooks, not yet run."""
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


@pytest.fixture
def book(tmp_path, monkeypatch) -> Path:
    """A book that has not been run."""
    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path / "book of 'two'"))
    return make_book(tmp_path / "book of 'two'")


@pytest.fixture(scope="session")
def first_build(tmp_path_factory) -> Path:
    """A book that has been built, once, from nothing."""
    root = make_book(tmp_path_factory.mktemp("first") / "book")
    localbias(root, "build")
    return root


@pytest.fixture
def built(first_build, tmp_path, monkeypatch) -> Path:
    """A copy of the built book."""
    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path / "built"))
    return shutil.copytree(first_build, tmp_path / "built")


def localbias(book: Path, *arguments: str, status: int = 0) -> str:
    """Run a command to its end; what it said."""
    return ended(started(book, *arguments), status)


def started(book: Path, *arguments: str) -> subprocess.Popen:
    """A command of a book that runs; nothing else has the book's path in its environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "localbias", *arguments],
        cwd=book,
        env=os.environ | {"LOCALBIAS_ROOT": str(book)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(command: subprocess.Popen, status: int | None = 0) -> str:
    """What a command has said at its end."""
    told, _ = command.communicate(timeout=600)
    assert status is None or command.returncode == status, told
    assert "Traceback" not in told, told
    return told


def rows_of(folder: Path) -> int:
    """The `n` of a run's folder, after checking that page, tables, finding and manifest are all of one run."""
    held = files.sealed(folder)
    n = json.loads((folder / files.MANIFEST).read_text())["parameters"]["n"]
    assert len(pd.read_csv(folder / "first.csv")) == len(pd.read_parquet(folder / "first.parquet")) == n
    assert json.loads((folder / "findings/first.json").read_text())["sentence"] == f"{n} rows"
    assert f"{n} rows" in held[files.PAGE].read_text()
    for name, stated in json.loads((folder / files.MANIFEST).read_text())["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == stated
    return n


def contents(folder: Path) -> dict[str, bytes]:
    """Every file, hidden ones that hold no content apart."""
    held = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != ".lock")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in held}


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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_book_that_nobody_can_write_is_read_without_a_lock(book, run_quickly, monkeypatch):
    run_quickly(3)
    monkeypatch.setattr(files.FileLock, "acquire", lambda self: (_ for _ in ()).throw(PermissionError("read only")))
    with files.book_lock():
        assert rows_of(book / "data/results" / STEM) == 3


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


@pytest.mark.slow
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


# --- damage -------------------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = [
    (name, harm)
    for name in ("page.ipynb", "first.csv", "first.parquet", "findings/first.json", "manifest.json")
    for harm in (cut, flip, Path.unlink)
]


@pytest.mark.parametrize(("name", "harm"), DAMAGES, ids=[f"{n} {h.__name__}" for n, h in DAMAGES])
def test_what_is_damaged_is_named_and_not_read(book, run_quickly, name, harm):
    from localbias.ledger.tables import result_tables

    run_quickly(3)
    assert result_tables()["first"].n.tolist() == [0, 1, 2]
    harm(book / "data/results" / STEM / name)
    with pytest.raises((WrongHash, BadTable)) as caught:
        files.sealed(book / "data/results" / STEM)
    told = str(caught.value)
    assert (name in told or name == "manifest.json") and STEM in told and f"localbias run {STEM}" in told
    assert files.published_files() == {} and result_tables() == {}
    (line,) = refresh(book)
    assert line == f"{STEM} is left out: {told}"
    assert "This page was not computed" in (book / f"book/_executed/{STEM}.md").read_text()
    run_quickly(3)  # whatever lies there
    assert rows_of(book / "data/results" / STEM) == 3


@pytest.mark.parametrize("share", range(0, 100, 4))
def test_a_manifest_cut_anywhere_does_not_stop_a_run(book, run_quickly, share):
    run_quickly(3)
    manifest = book / "data/results" / STEM / files.MANIFEST
    manifest.write_bytes(manifest.read_bytes()[: manifest.stat().st_size * share // 100])
    assert files.published()[0] == {} and list(files.published()[1]) == [STEM]
    run_quickly(5)
    assert rows_of(manifest.parent) == 5


def test_a_manifest_names_nothing_outside_its_folder(book, run_quickly):
    """It is neither deleted nor read nor published, whether the manifest knows its hash or not."""
    run_quickly(3)
    victim = book / "victim.txt"
    victim.write_text("precious")
    manifest = book / "data/results" / STEM / files.MANIFEST
    record = json.loads(manifest.read_text())
    for name in ("../../../victim.txt", str(victim), f"../{STEM}/../../../victim.txt"):
        forged = {k: v for k, v in record.items() if k != "sha256"}
        forged["files"] = record["files"] | {name: hashlib.sha256(b"precious").hexdigest()}
        manifest.write_text(json.dumps(forged | {"sha256": files.digest(forged)}))
        with pytest.raises(WrongHash, match="no such file"):
            files.sealed(manifest.parent)
        assert files.published_files() == {}
        run_quickly(3)
        assert victim.read_text() == "precious" and rows_of(manifest.parent) == 3


@pytest.mark.parametrize("text", ["[]", "7", '{"files": []}', '{"files": {}}', '{"files": {"page.ipynb": 3}}', "\x00"])
def test_a_manifest_of_another_form_is_named(book, run_quickly, text):
    run_quickly(3)
    manifest = book / "data/results" / STEM / files.MANIFEST
    manifest.write_text(text)
    with pytest.raises((WrongHash, BadTable), match=STEM):
        files.sealed(manifest.parent)
    if text.startswith("{"):
        record = json.loads(text)
        manifest.write_text(json.dumps(record | {"sha256": files.digest(record)}))
        with pytest.raises((WrongHash, BadTable), match=STEM):
            files.sealed(manifest.parent)


def test_stray_files_are_neither_read_nor_published(book, run_quickly):
    from localbias.ledger.tables import result_tables

    run_quickly(3)
    results = book / "data/results"
    for name in (f"{STEM}/note.parquet", "first.parquet", "runs/mine/first.parquet", "interactive/first.parquet"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(results / STEM / "first.parquet", results / name)
    assert sorted(files.published_files()) == ["findings/first.json", "first.csv", "first.parquet"]
    assert list(result_tables()) == ["first"]
    shutil.copytree(results / STEM, results / "03-gone")  # a notebook that the book no longer has
    assert list(files.published()[0]) == [STEM]


def test_a_changed_copy_of_a_page_is_named_and_mended(book, run_quickly):
    run_quickly(3)
    assert refresh(book) == []
    copy = book / f"book/_executed/{STEM}.ipynb"
    whole = copy.read_bytes()
    cut(copy)
    (line,) = refresh(book)
    assert f"book/_executed/{STEM}.ipynb was changed" in line and copy.read_bytes() == whole
    os.utime(copy, (0, 0))
    run_quickly(5)  # a newer run is no damage
    assert refresh(book) == [] and "5 rows" in copy.read_text()


# --- no room ------------------------------------------------------------------------------------


@pytest.fixture(params=["a full disk", "a limit of a file's size"])
def no_room(request, tmp_path):
    """A folder on a disk of 192 KB (where root can mount one), or a process that may write no file beyond 1 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if request.param == "a full disk":
        mount = ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(folder)]
        if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("mounting a small disk needs root")
        yield folder, lambda: (folder / "ballast").write_bytes(bytes(40 * 4096 - 1))
        subprocess.run(["umount", str(folder)], check=True)
    else:
        import resource

        yield folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def test_without_room_the_old_page_stays_and_the_error_has_a_name(book, run_quickly, no_room, capfd):
    folder, fill = no_room
    results = folder / "results"
    results.mkdir()
    (book / "data").mkdir(exist_ok=True)
    (book / "data/results").symlink_to(results)
    run_quickly(3)
    before = contents(results)

    def run():
        fill()
        run_quickly(20_000)

    assert in_a_child(run) == 1
    told = capfd.readouterr().err
    assert "No space left" in told or "File too large" in told
    assert contents(results) == before and parts(results) == [] and rows_of(results / STEM) == 3
    (folder / "ballast").unlink(missing_ok=True)
    run_quickly(5)
    assert rows_of(results / STEM) == 5


# --- folders that are not ours -------------------------------------------------------------------


def test_a_run_does_not_write_over_what_is_not_a_runs(book, run_quickly, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from localbias.book.cli import app

    run_quickly(3)
    monkeypatch.chdir(book)
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("_toc.yml", "_config.yml"):
        (mine / name).write_text("my own\n")
    (tmp_path / "text").write_text("my own\n")
    (book / "data/results/runs").mkdir()
    before = contents(tmp_path)
    places = [".", "..", "data/results", f"data/results/{STEM}", f"data/results/{OTHER}", "data/results/interactive"]
    for place in [*places, "book", "book/_executed", "_build", "_build/html", "notebooks", str(mine), "../text"]:
        told = CliRunner().invoke(app, ["run", "1", "--out", place])
        assert told.exit_code == 1 and "a run does not write here" in told.output, (place, told.output)
        assert contents(tmp_path) == before


def test_a_runs_own_folder_is_replaced_until_something_else_lies_in_it(book, run_quickly, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for n in (3, 5):
        publishing.check_free(out)
        run_quickly(n, folder=out)
        assert rows_of(out) == n
    (out / "html").mkdir()
    (out / ".ipynb_checkpoints").mkdir()
    publishing.check_free(out)
    (out / "notes.txt").write_text("my own")
    with pytest.raises(LocalBiasError, match="notes.txt"):
        publishing.check_free(out)
    (out / "notes.txt").unlink()
    cut(out / files.MANIFEST)
    with pytest.raises(LocalBiasError, match="does not write here"):
        publishing.check_free(out)


# --- the real commands ---------------------------------------------------------------------------


def processes_of(book: Path) -> list[str]:
    """The command lines of all processes that were started for a book."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(book) in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has ended, or is another's
            continue
    return [line for line in found if line]


def until(condition, seconds: float = 120) -> bool:
    """Wait for something; whether it came."""
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(met)


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_build_is_done_once_and_a_second_one_knows_it(built):
    results, html = contents(built / "data/results"), contents(built / "_build/html")
    assert rows_of(built / "data/results" / STEM) == 3
    times = {p: p.stat().st_mtime_ns for p in built.rglob("*") if p.is_file() and ".snakemake" not in str(p)}
    assert "in the book" not in localbias(built, "build")
    assert {p: p.stat().st_mtime_ns for p in times} == times
    assert contents(built / "data/results") == results and contents(built / "_build/html") == html


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_site_that_is_built_again_has_the_same_bytes(built):
    first = contents(built / "_build/html")
    localbias(built, "site")
    assert contents(built / "_build/html") == first


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_build_names_and_repairs_what_is_damaged(built):
    results, pages = contents(built / "data/results"), contents(built / "book/_executed")
    html = contents(built / "_build/html")
    cut(built / "data/results" / STEM / "first.csv")
    told = localbias(built, "build")
    assert f"{STEM}/first.csv" in told and f"{STEM}: page and tables are in the book" in told
    assert f"{OTHER}: page" not in told
    cut(built / "data/results" / OTHER / files.MANIFEST)
    cut(built / "book/_executed" / f"{STEM}.ipynb")
    told = localbias(built, "build")
    assert "the manifest of a run cannot be read" in told and f"{OTHER}: page and tables" in told
    assert f"{STEM}: page" not in told and f"book/_executed/{STEM}.ipynb was changed" in told
    assert contents(built / "data/results") == results and contents(built / "book/_executed") == pages
    assert contents(built / "_build/html") == html


SLEEP = "import pathlib, time\npathlib.Path('running').touch()\ntime.sleep(600)"


@pytest.mark.book
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
@pytest.mark.parametrize("command", [["build"], ["run", "1"]], ids=" ".join)
def test_a_killed_command_takes_what_it_started_with_it_and_the_next_one_goes_on(built, command, how):
    before = contents(built / "data/results")
    notebook = built / "notebooks" / f"{STEM}.ipynb"
    good = notebook.read_bytes()
    write_notebook(notebook, "first", n=5, more=SLEEP)
    running = started(built, *command)
    assert until((built / "notebooks/running").exists) and len(processes_of(built)) > 1
    running.send_signal(how)
    running.communicate(timeout=60)
    assert running.returncode != 0
    assert until(lambda: processes_of(built) == [], 30), processes_of(built)
    assert rows_of(built / "data/results" / STEM) == 3
    (built / "notebooks/running").unlink()
    notebook.write_bytes(good)
    localbias(built, "build")
    assert contents(built / "data/results") == before and parts(built) == []


@pytest.mark.book
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
def test_a_killed_site_is_not_up_to_date(built, how):
    html = contents(built / "_build/html")
    with open(built / "book/intro.md", "a") as prose:
        prose.write("\nNewer prose.\n")
    running = started(built, "site")
    assert until(lambda: list((built / "_build").glob(".html.*.part/_build/html/*")))
    running.send_signal(how)
    running.communicate(timeout=60)
    assert running.returncode != 0 and until(lambda: processes_of(built) == [], 30)
    assert contents(built / "_build/html") == html
    localbias(built, "build")
    assert "Newer prose." in (built / "_build/html/book/intro.html").read_text()
    assert parts(built) == []


@pytest.mark.book
@pytest.mark.timeout(900)
def test_two_sites_and_two_builds_at_once_succeed(built):
    results, html = contents(built / "data/results"), contents(built / "_build/html")
    for command in ("site", "build"):
        if command == "build":
            shutil.rmtree(built / "data/results" / STEM)
        both = [started(built, command) for _ in range(2)]
        for one in both:
            ended(one)
        assert contents(built / "data/results") == results and contents(built / "_build/html") == html
    assert parts(built) == []


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_run_with_other_parameters_has_a_folder_of_its_own(built):
    """The same again gives the same bytes; the book does not change; whoever cuts its manifest does not stop it."""
    book = {name: contents(built / name) for name in ("data/results", "book/_executed", "_build/html")}
    told = localbias(built, "run", "1", "-p", "n=4")
    (own,) = (built / "data/results/runs").iterdir()
    assert rows_of(own) == 4 and f"table:  {own / 'first.csv'}" in told
    page = Path(told.split("page:")[1].split("\n")[0].strip())
    assert page.is_relative_to(own) and "4 rows" in page.read_text()
    assert (page.parent / "../../results/first.csv").read_bytes() == (own / "first.csv").read_bytes()
    first = contents(own)
    cut(own / files.MANIFEST)
    localbias(built, "run", "1", "-p", "n=4")
    assert contents(own) == first
    shutil.rmtree(built / "data/results/runs")
    assert {name: contents(built / name) for name in book} == book


# --- what is shown to the world ------------------------------------------------------------------


@pytest.mark.book
@pytest.mark.timeout(900)
def test_the_site_holds_what_its_pages_link_to_and_nothing_else(built):
    """Private runs, what was tried out, notes and pages of a run that is no more stay at home."""
    from urllib.parse import unquote, urlparse

    from bs4 import BeautifulSoup

    results = built / "data/results"
    for place in (results / "runs/mine", results / "interactive", results, results / STEM, built / "book"):
        place.mkdir(parents=True, exist_ok=True)
        for name in ("secret.csv", "secret.parquet", "secret.md", "secret.json"):
            (place / name).write_text("secret\n")
    (built / "_build/html/results/old.csv").write_text("of an older site\n")
    localbias(built, "site")
    html = built / "_build/html"
    linked = set()
    for page in html.rglob("*.html"):
        for element in BeautifulSoup(page.read_text(), "html.parser").find_all(["a", "link", "script", "img"]):
            parsed = urlparse(element.get("href") or element.get("src") or "")
            if parsed.path and not parsed.netloc:
                linked.add((page.parent / unquote(parsed.path)).resolve())
    there = {p for p in html.rglob("*") if p.is_file()}
    extra = sorted(p.relative_to(html).as_posix() for p in there - linked)
    # The start page, the theme's files and what other books' references read; nothing of ours.
    extra = [name for name in extra if not name.startswith("_static/")]
    assert extra == [".buildinfo", "index.html", "objects.inv"], extra
    held = {p.name for p in (html / "results").iterdir()}
    assert held == {f"{table}.{end}" for table in ("first", "second") for end in ("csv", "parquet")}
    own = {p.name for p in (PROJECT / "book/_static").rglob("*") if p.is_file()}
    assert own <= {p.name for p in linked}, own - {p.name for p in linked}


# --- what is kept in the cache -------------------------------------------------------------------


@pytest.mark.slow
def test_answering_killed_at_any_step_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    """FilBBQ's answers are kept part by part; a part is whole or not there, and a resumed run asks the rest."""
    from localbias.models import answer_jobs
    from localbias.models.answers import answer_probabilities
    from localbias.prompts.wording import OWN

    monkeypatch.setattr(answer_jobs, "PART", 4)
    prompts, model = made.prompts(1, 2), made.tiny()

    def ask(folder):
        torch.set_num_threads(1)  # no pool of threads in the forked process
        answer_probabilities(prompts, model, form=OWN, budget=200, folder=folder, progress=False)

    def answers(folder):
        return {name: content for name, content in contents(folder).items() if name != "times.csv"}

    assert in_a_child(lambda: ask(tmp_path / "whole")) == 0
    whole = answers(tmp_path / "whole")
    assert sum(name.endswith(".parquet") for name in whole) > 1
    for step in range(1, 200):
        folder = tmp_path / f"killed{step}"
        killed = in_a_child(lambda folder=folder: ask(folder), kill_at=step) is None
        if folder.exists():
            held = answers(folder)
            assert all(whole[name] == held[name] for name in held if name.endswith((".parquet", ".json")))
        assert in_a_child(lambda folder=folder: ask(folder)) == 0
        assert answers(folder) == whole and parts(folder) == []
        if not killed:
            break
    assert step > 10 and not killed


@pytest.mark.slow
def test_a_conversion_killed_at_any_step_is_made_anew(tmp_path, monkeypatch):
    from localbias.models.conversion import converted

    def write(folder):
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            (folder / name).write_text(name * 100)

    def convert():
        converted("a/model", "0" * 64, write)

    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "whole"))
    assert in_a_child(convert) == 0
    whole = {name: content for name, content in contents(tmp_path / "whole").items() if not name.endswith(".lock")}
    assert len(whole) == 4
    for step in range(1, 100):
        monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / f"killed{step}"))
        killed = in_a_child(convert, kill_at=step) is None
        assert in_a_child(convert) == 0
        held = contents(tmp_path / f"killed{step}")
        assert {name: content for name, content in held.items() if not name.endswith(".lock")} == whole
        assert parts(tmp_path / f"killed{step}") == []
        if not killed:
            break
    assert step > 5 and not killed
