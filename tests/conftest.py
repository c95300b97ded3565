"""Shared fixtures, and what every test can rely on.

**Isolation** (tests/isolation.py). The code under test sees a copy of the book's folder (`LOCALBIAS_ROOT`) without
results, an empty cache (`LOCALBIAS_CACHE`; converted models are made once a session and shared by its processes),
no network, no hub and no setting of the person's shell. A test that opens anything in the checkout's results,
pages or site or in the person's caches, asks another machine, or leaves another environment or working folder
behind, fails; child processes are watched as well. For a setting of its own a test takes `monkeypatch`.

**The published files.** Only a test marked `mirror` sees them, through `LOCALBIAS_MIRROR` or the fixture `mirror`.
Without the mark they are forbidden, so that an unmarked test is the same on a machine that lacks them, and a
forgotten mark fails. Where no folder with them is set, marked tests are skipped. In a file they run last.

**Fixtures**: `mirror`, the folder with the published files; `starter_book` and `published_book`, whole books of the
smoke profile; `built_site`, the html folder of one.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import isolation


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


def make_book(root: Path, mirror: bool) -> Book:
    """A copy of the project, built with the smoke profile, with the published files or without them."""
    isolation.copy_project(root)
    environment = os.environ | {"LOCALBIAS_ROOT": str(root)}
    if not mirror:
        environment.pop("LOCALBIAS_MIRROR", None)
    book = Book(root, environment)
    done = book.command("build", "--profile", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    return book


@pytest.fixture(scope="session")
def starter_book(tmp_path_factory) -> Book:
    """The book from the starter lexicon alone: no mirror, no download."""
    return make_book(tmp_path_factory.mktemp("starter"), mirror=False)


@pytest.fixture(scope="session")
def published_book(tmp_path_factory) -> Book:
    """The book from the published files."""
    return make_book(tmp_path_factory.mktemp("published"), mirror=True)


@pytest.fixture(scope="session")
def built_site(starter_book) -> Path:
    """The html folder of a whole book, for the browser."""
    return starter_book.html
