"""The tests' own folders: a test that leaves them, or reads the published files unannounced, fails."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from isolation import PROJECT
from localbias.files import cache_dir, project_root, results_dir


def run(tmp_path: Path, body: str, *, mirror: bool = True) -> str:
    """What pytest says of a made file of tests, for a person whose cache and published files are known here."""
    (tmp_path / "published").mkdir()
    (tmp_path / "published/a.txt").write_text("published")
    (tmp_path / "test_made.py").write_text("import os, pathlib, subprocess, sys, pytest\n" + textwrap.dedent(body))
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TESTS_", "PYTEST_"))}
    own |= {"PYTHONPATH": os.pathsep.join([str(PROJECT / "tests"), own.get("PYTHONPATH", "")])}
    own |= {"LOCALBIAS_CACHE": str(tmp_path / "cache"), "LOCALBIAS_MIRROR": str(tmp_path / "published") * mirror}
    command = [sys.executable, "-m", "pytest", "-p", "isolation", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    options = ["-o", "markers=mirror", "-rA", f"--basetemp={tmp_path}/tmp", "test_made.py"]
    return subprocess.run([*command, *options], cwd=tmp_path, env=own, capture_output=True, text=True).stdout


def test_the_code_under_test_sees_folders_of_the_session():
    session = Path(os.environ["TESTS_SESSION"])
    assert {session} <= set(results_dir().parents) & set(cache_dir().parents)
    assert (project_root() / "_config.yml").read_bytes() == (PROJECT / "_config.yml").read_bytes()
    assert not results_dir().exists() and not os.environ["LOCALBIAS_MIRROR"]


LEAVES = {
    "data/results/a.csv": f"open('{PROJECT}/data/results/a.csv')",
    "_build": f"pathlib.Path('{PROJECT}/_build').mkdir(exist_ok=True)",
    "book/_executed": f"list(pathlib.Path('{PROJECT}/book/_executed').glob('*'))",
    "cache/models": "open(pathlib.Path(__file__).parent / 'cache/models')",
    "published/a.txt": "open(pathlib.Path(__file__).parent / 'published/a.txt')",
    "the network (192.0.2.1)": "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
}
CHANGES = {
    "LOCALBIAS_MIRROR was '', is 'here'": "os.environ['LOCALBIAS_MIRROR'] = 'here'",
    "LOCALBIAS_CACHE was": "os.environ.pop('LOCALBIAS_CACHE')",
    "cwd was": "os.chdir('..')",
}


def check_one_error(tmp_path, code, named):
    said = run(tmp_path, f"def test_made():\n{textwrap.indent(code, '    ')}\ndef test_next(): pass")
    assert "ERROR test_made.py::test_made" in said and named in said, said
    assert "PASSED test_made.py::test_next" in said and "2 passed, 1 error" in said, said


@pytest.mark.parametrize("named", [*LEAVES, *CHANGES])
def test_a_test_that_leaves_its_folders_fails_even_where_the_error_is_caught(tmp_path, named):
    check_one_error(tmp_path, f"try:\n    {(LEAVES | CHANGES)[named]}\nexcept OSError:\n    pass", named)


@pytest.mark.parametrize("named", LEAVES)
def test_so_does_one_whose_child_process_leaves_them(tmp_path, named):
    file = str(tmp_path / "test_made.py")
    code = f"import os, pathlib\n__file__ = {file!r}\ntry:\n    {LEAVES[named]}\nexcept OSError:\n    pass"
    check_one_error(tmp_path, f"subprocess.run([sys.executable, '-c', {code!r}], check=True)", named)


READS = """
    import functools

    @pytest.mark.mirror
    def test_marked():
        assert read() == "published"

    def test_unmarked():
        assert read() == ""

    @functools.cache
    def read():
        folder = os.environ.get("LOCALBIAS_MIRROR")
        return pathlib.Path(folder, "a.txt").read_text() if folder else ""

    read.__module__ = "localbias.made"

    class TestNext:
        test_again = staticmethod(test_unmarked)
"""


def test_published_files_are_seen_by_marked_tests_alone_whatever_ran_before(tmp_path):
    said = run(tmp_path, READS)
    assert "3 passed" in said, said


def test_without_published_files_marked_tests_are_skipped_and_nothing_else_differs(tmp_path):
    said = run(tmp_path, READS, mirror=False)
    assert "2 passed, 1 skipped" in said and "set LOCALBIAS_MIRROR" in said, said
