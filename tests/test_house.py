"""The rules of the house that a machine can check: pins, notebooks, words that do not belong."""

import ast
import hashlib
import json
import re
import subprocess
import tomllib
from importlib import import_module
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from localbias.book import parameters

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]


def cells(path, kind=None):
    return [c for c in json.loads(path.read_text())["cells"] if kind in (None, c["cell_type"])]


def source(cell):
    return "".join(cell["source"])


def test_conda_and_pip_name_the_same_versions():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (pip,) = [entry["pip"] for entry in conda if isinstance(entry, dict)]
    models = [line for line in (ROOT / "models.txt").read_text().splitlines() if not line.startswith("#")]
    assert sorted(p for p in pip if p != "--editable .") == sorted(PINS)
    assert f"python {PROJECT['requires-python']}".replace(" ", "") in [str(e).replace(" ", "") for e in conda]
    assert models and all(re.fullmatch(r"[a-z0-9-]+==[\d.]+( --hash=sha256:[0-9a-f]{64})+", m) for m in models)


def test_constraints_hold_every_pin():
    held = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    held = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in held.items()}
    for pin in PINS:
        name, version = pin.split("==")
        assert held[name] == version, pin


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_constraints_hold_what_a_pin_asks_for_on_every_python(python):
    """As each package's own metadata says: papermill asks for aiohttp on 3.12 alone. Setuptools is there already."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    held = {canonicalize_name(line.split("==")[0]) for line in lines if "==" in line}
    where = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    for name in [canonicalize_name(pin.split("==")[0]) for pin in PROJECT["dependencies"]]:
        asked = [Requirement(text) for text in requires(name) or []]
        asked = [r for r in asked if r.marker is None or r.marker.evaluate(where)]
        assert not {r.name for r in asked if canonicalize_name(r.name) not in held} - {"setuptools"}, name


def test_the_templates_are_there():
    assert [p.stem[:2] for p in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06", "07", "08", "10", "11"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_template_is_clean_typed_and_short(path):
    for cell in cells(path, "code"):
        assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]
        assert not re.search(r"^\s*(def|class|lambda)\b|\bexcept\b|^\s*for .*:$", source(cell), re.M), source(cell)
        assert source(cell).count("\n") < 25, source(cell)
    assert len(cells(path)) <= 50
    assert parameters.declared(path)
    ids = [c["id"] for c in cells(path)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
@pytest.mark.parametrize("profile", ["smoke", "quick", "paper"])
def test_every_profile_sets_only_what_the_template_declares(path, profile):
    from localbias.book.profiles import profile_parameters

    assert isinstance(profile_parameters(profile, path), dict)


STOREYS = [
    {"errors"},
    {"files", "registry", "measures"},
    {"sources"},
    {"words", "prompts"},
    {"audit", "models"},
    {"studies"},
    {"ledger"},
    {"book"},
]
"""From the ground up: a room imports from storeys below its own, and from itself."""


def imported(path):
    """The rooms that a module imports, functions' own imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        yield from (name.split(".")[1] for name in names if name.startswith("localbias."))


def test_imports_point_downwards():
    library = ROOT / "lib/localbias"
    level = {room: i for i, rooms in enumerate(STOREYS) for room in rooms}
    known_upward = {("ledger", "book")}
    for path in library.rglob("*.py"):
        room = path.relative_to(library).parts[0].removesuffix(".py")
        for other in set(imported(path)) - {room} if room in level else ():
            fine = level.get(other, -1) < level[room] or (room, other) in known_upward
            assert fine, f"{path.relative_to(ROOT)} imports {other}, which is not below {room}"


def test_a_measure_is_arrays_in_and_numbers_out():
    """Measures import numpy, scipy, the standard library and the project's errors; no tables, no files."""
    for path in (ROOT / "lib/localbias/measures").glob("*.py"):
        assert set(imported(path)) <= {"measures", "errors"}, path.name
        modules = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.M)
        assert not {"pandas", "torch", "pathlib", "os"} & set(modules), path.name


def test_every_name_of_the_face_is_there():
    import localbias

    assert all(callable(getattr(localbias, name)) or name in ("charts", "page") for name in localbias.__all__)


def test_the_methods_page_names_files_and_functions_that_exist():
    text = (ROOT / "book/methods.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| `([a-z_.]+)\.(\w+)` \| `([a-z_/]+\.py)` \|", text)
    assert len(rows) >= 17
    for module, function, file in rows:
        assert (ROOT / "lib/localbias" / file).is_file() and file == module.replace(".", "/") + ".py", file
        assert (found := getattr(import_module(f"localbias.{module}"), function)).__doc__, function
        assert found.__module__ == f"localbias.{module}", f"{function} is defined in {found.__module__}"


def test_the_api_page_lists_the_face():
    import localbias

    listed = re.findall(r"^   (\w+)$", (ROOT / "book/api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == [name for name in localbias.__all__ if name not in ("charts", "page")]


def test_nothing_of_another_machine_or_of_the_workshop_is_in_the_project():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    forbidden = re.compile(r"/(?:work|tmp|root|home)/\w|pypi\.org|files\.pythonhosted|deb\.debian|registry\.npmjs")
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".yml", ".toml", ".txt", ".ipynb", ".js", ".css", ".csv", ".cff"}
            or not path.suffix
        ):
            if path == Path(__file__).resolve():
                continue
            found = forbidden.search(path.read_text(encoding="utf-8"))
            assert not found, f"{name}: {found.group()}"


@pytest.mark.parametrize(
    ("folder", "by_hand"),
    [
        ("data/reference", {"ledger_expected.csv"}),  # reviewed verdicts for a test; no number rests on them
        ("data/starter", {"README.md", "build.py", "filbbq", "source"}),  # sources, read as they are
    ],
)
def test_every_committed_file_that_was_made_has_its_sha256(folder, by_hand):
    """``sha256sum -c SHA256SUMS`` in the folder says the same."""
    folder = ROOT / folder
    lines = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    names = {p.name for p in folder.iterdir() if not p.name.startswith((".", "__"))}
    assert set(lines) == names - by_hand - {"SHA256SUMS"}
    for name, digits in lines.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digits, f"{name}: run what writes it again"
