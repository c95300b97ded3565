"""Shared fixtures, and what every test can rely on.

**Isolation** (tests/isolation.py). The code under test sees a copy of the book's folder (`LOCALBIAS_ROOT`) without
results, an empty cache (`LOCALBIAS_CACHE`; converted models are made once a session and shared by its processes),
no network, no hub and no setting of the person's shell. A test that opens anything in the checkout's results,
pages or site or in the person's caches, asks another machine, or leaves another environment or working folder
behind, fails; child processes are watched as well. For a setting of its own a test takes `monkeypatch`.

**The published files.** Only a test marked `mirror` sees them, through `LOCALBIAS_MIRROR` or the fixture `mirror`.
Without the mark they are forbidden, so that an unmarked test is the same on a machine that lacks them, and a
forgotten mark fails. Where no folder with them is set, marked tests are skipped. In a file they run last.

**Books.** `starter_book` and `published_book` are whole books of the smoke profile, each built once a session and
shared by its processes: read them. `own_book` is a copy of the first, for the tests of one file to change.
`built_site` is the html folder of a whole book.

**Marks**: `model` loads a packaged model, `book` runs whole notebooks, `browser` opens Chromium, `slow` takes more
than some five seconds for another reason; `make test-fast` leaves all four out. Files run side by
side, the tests of one file in one process, in their order.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

import isolation

collect_ignore = ["guard"]


def pytest_configure(config):
    """The plugin is registered here because the doctests of `lib` lie outside this folder."""
    config.pluginmanager.register(isolation, "isolation")


@pytest.fixture
def mirror() -> Path:
    """The folder with the published files."""
    return Path(os.environ["LOCALBIAS_MIRROR"])


@dataclass(frozen=True)
class Book:
    """A copy of the project in which the smoke profile was run."""

    root: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        """`localbias …` in this book."""
        return subprocess.run(
            [sys.executable, "-m", "localbias", *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
        )

    def copy(self, root: Path) -> "Book":
        """This book again at `root`, as up to date as it is."""
        shutil.copytree(self.root, root, symlinks=True)
        return Book(root, self.environment | {"LOCALBIAS_ROOT": str(root)})

    @property
    def html(self) -> Path:
        return self.root / "_build" / "html"

    @property
    def pages(self) -> list[Path]:
        return sorted((self.root / "book/_executed").glob("*.ipynb"))

    def tables(self) -> dict[str, bytes]:
        """Every file of the results, by its name."""
        folder = self.root / "data/results"
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def book_environment(root: Path, mirror: bool) -> dict[str, str]:
    """What a command in a book's folder sees: the published files only where they are asked for."""
    return os.environ | {"LOCALBIAS_ROOT": str(root)} | isolation.mirror_settings(mirror)


def make_book(root: Path, mirror: bool) -> Book:
    """A copy of the project, built with the smoke profile, with the published files or without them."""
    book = Book(isolation.copy_project(root), book_environment(root, mirror))
    done = book.command("build", "--profile", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    return book


def shared_book(name: str, mirror: bool) -> Book:
    """The session's book of that name: built by the process that asks first, while the others wait."""
    root = isolation.session_folder() / name
    with FileLock(f"{root}.lock"):
        if not (whole := root.with_suffix(".whole")).exists():
            shutil.rmtree(root, ignore_errors=True)
            make_book(root, mirror)
            whole.touch()
    return Book(root, book_environment(root, mirror))


@pytest.fixture(scope="session")
def starter_book() -> Book:
    """The book from the starter lexicon alone: no published files, no download. To be read only."""
    return shared_book("starter", mirror=False)


@pytest.fixture(scope="session")
def published_book() -> Book:
    """The book from the published files. To be read only."""
    return shared_book("published", mirror=True)


@pytest.fixture(scope="module")
def own_book(starter_book, tmp_path_factory) -> Book:
    """A copy of the starter's book, as up to date as the book itself, for the tests of one file to change."""
    return starter_book.copy(tmp_path_factory.mktemp("own") / "book")


@pytest.fixture(scope="session")
def built_site(starter_book) -> Path:
    """The html folder of a whole book, for the browser."""
    return starter_book.html
