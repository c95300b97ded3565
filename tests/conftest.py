"""Shared fixtures: the published files, and whole books made from the smoke profile."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(config, items):
    """Where the published files are not at hand, what needs them is skipped, and nothing else."""
    if os.environ.get("LOCALBIAS_MIRROR"):
        return
    skip = pytest.mark.skip(reason="needs the published files: set LOCALBIAS_MIRROR")
    for item in items:
        if "mirror" in item.keywords:
            item.add_marker(skip)


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


def make_book(root: Path, mirror: str | None) -> Book:
    """Copy what git tracks (and what is new) to `root`, build it with the smoke profile."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    for name in filter(None, listed):
        if not name.startswith(("lib/", "tests/", ".ci/")) and (PROJECT / name).is_file():
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, target)
    environment = os.environ | {"LOCALBIAS_ROOT": str(root)}
    environment.pop("LOCALBIAS_RESULTS", None)
    if mirror:
        environment["LOCALBIAS_MIRROR"] = mirror
    else:
        environment.pop("LOCALBIAS_MIRROR", None)
        environment["LOCALBIAS_OFFLINE"] = "1"
    book = Book(root, environment)
    done = book.command("build", "--profile", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    return book


@pytest.fixture(scope="session")
def starter_book(tmp_path_factory) -> Book:
    """The book from the starter lexicon alone: no mirror, no download."""
    return make_book(tmp_path_factory.mktemp("starter"), None)


@pytest.fixture(scope="session")
def published_book(tmp_path_factory) -> Book:
    """The book from the published files."""
    return make_book(tmp_path_factory.mktemp("published"), os.environ["LOCALBIAS_MIRROR"])


@pytest.fixture(scope="session")
def built_site(starter_book) -> Path:
    """The html folder of a whole book, for the browser."""
    return starter_book.html
