"""Every test runs in folders of its session, whatever the checkout, the person's caches and the shell hold.

A plugin that tests/conftest.py registers for all tests, the doctests of `lib` among them.
"""

import gc
import os
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path

import pooch
import pytest

PROJECT = Path(__file__).resolve().parent.parent
GUARD = PROJECT / "tests" / "guard"
MADE = ("data/results", "book/_executed", "_build", ".snakemake")
"""What `make book` makes in a checkout."""
BY_IMPORTS = {"PYARROW_IGNORE_TIMEZONE", "SPARK_LOCAL_IP", "PYTEST_CURRENT_TEST"}
"""Set by pandera when it is imported, and by pytest."""
BEFORE = pytest.StashKey[dict]()


def session_folder() -> Path:
    """The folder of this run of the tests, for all its processes; removed at the end."""
    return Path(os.environ["TESTS_SESSION"])


def mirror_settings(shown: bool) -> dict[str, str]:
    """Settings that let a process see the published files (those that the person has set), or forbid it to."""
    folder, places = os.environ["TESTS_MIRROR"], os.environ["TESTS_PLACES"]
    if shown:
        return {"LOCALBIAS_MIRROR": folder, "TESTS_FORBIDDEN": places}
    return {"LOCALBIAS_MIRROR": "", "TESTS_FORBIDDEN": os.pathsep.join(filter(None, [places, folder]))}


def copy_project(root: Path) -> Path:
    """The book's folder again at `root`: no library, no tests, nothing that was made, no lists of the person's own."""
    git = ["git", "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run([*git, "--cached"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    mine = subprocess.run([*git, "data/lexicons"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    for name in sorted(set(listed.splitlines()) - set(mine.splitlines())):
        if not name.startswith(("lib/", "tests/", ".ci/")) and (PROJECT / name).is_file():
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, target)
    return root


def pytest_configure(config) -> None:
    """Before anything is collected: one folder a session, one copy of the book's folder a process."""
    if "TESTS_SESSION" not in os.environ:
        _open_session(config)
    session = session_folder()
    process = os.environ.get("PYTEST_XDIST_WORKER", "main")
    for name in [name for name in os.environ if name.startswith(("LOCALBIAS_", "HF_"))]:
        del os.environ[name]
    os.environ |= {
        "LOCALBIAS_ROOT": str(copy_project(session / process)),
        "LOCALBIAS_CACHE": str(session / "cache"),
        "XDG_CACHE_HOME": str(session / "caches"),
        "IPYTHONDIR": str(session / "ipython"),
        "LOCALBIAS_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONHASHSEED": "0",
        "TESTS_TOUCHED": str(session / f"{process}.touched"),
    }
    _show_mirror(False)
    runpy.run_path(str(GUARD / "sitecustomize.py"))


def _open_session(config) -> None:
    """What the person has set is noted, then hidden; done once, by the process that starts the others."""
    caches = [os.environ.get("LOCALBIAS_CACHE"), pooch.os_cache("localbias"), os.environ.get("HF_HOME")]
    places = [*(PROJECT / made for made in MADE), *(Path(cache).expanduser().resolve() for cache in caches if cache)]
    mirror = os.environ.get("LOCALBIAS_MIRROR", "")
    os.environ |= {
        "TESTS_SESSION": tempfile.mkdtemp(prefix="localbias-tests-"),
        "TESTS_PLACES": os.pathsep.join(map(str, places)),
        "TESTS_MIRROR": str(Path(mirror).expanduser().resolve()) if mirror else "",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(GUARD), os.environ.get("PYTHONPATH")])),
    }
    config.add_cleanup(lambda: shutil.rmtree(session_folder(), ignore_errors=True))


def _show_mirror(shown: bool) -> None:
    before = os.environ.get("LOCALBIAS_MIRROR")
    os.environ |= mirror_settings(shown)
    if os.environ["LOCALBIAS_MIRROR"] != before:
        _forget()


def _forget() -> None:
    """Clear what the library has remembered of files, so that no test sees what another may see."""
    for thing in gc.get_objects():
        if callable(getattr(type(thing), "cache_clear", None)) and str(thing.__module__).startswith("localbias."):
            thing.cache_clear()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items) -> None:
    """Files that build books start first. In a file, what needs the published files comes last, or is skipped."""
    files = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    builders = {item.path for item in items if {"starter_book", "published_book"} & set(item.fixturenames)}
    items.sort(key=lambda item: (item.path not in builders, files[item.path], "mirror" in item.keywords))
    for item in items:
        if "mirror" in item.keywords and not os.environ["TESTS_MIRROR"]:
            item.add_marker(pytest.mark.skip(reason="needs the published files: set LOCALBIAS_MIRROR"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    _show_mirror("mirror" in item.keywords)
    item.stash[BEFORE] = _surroundings()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    done = yield
    faults = []
    notes = Path(os.environ["TESTS_TOUCHED"])
    if notes.exists():
        faults += sorted(set(notes.read_text(encoding="utf-8").splitlines()))
        notes.unlink()
    before, after = item.stash[BEFORE], _surroundings()
    faults += [f"{name} was {before.get(name)!r}, is {after.get(name)!r}" for name, _ in before.items() ^ after.items()]
    if faults:
        _restore(before)
        hint = "tests have folders of their own (tests/conftest.py); what reads the published files is marked `mirror`"
        pytest.fail("\n".join(["a test must leave these alone:", *sorted(set(faults)), hint]), pytrace=False)
    return done


def _surroundings() -> dict[str, str]:
    """The environment and the working folder."""
    return {name: value for name, value in os.environ.items() if name not in BY_IMPORTS} | {"cwd": os.getcwd()}


def _restore(before: dict[str, str]) -> None:
    os.chdir(before["cwd"])
    for name in os.environ.keys() - before.keys() - BY_IMPORTS:
        del os.environ[name]
    os.environ |= {name: value for name, value in before.items() if name != "cwd"}
