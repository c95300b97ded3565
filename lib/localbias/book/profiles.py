"""Profiles: named sets of parameters for the whole book (``notebooks/profiles/*.yml``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from localbias.book.parameters import declared, validated
from localbias.errors import BadTable, BadValues, UnknownName, unknown
from localbias.files import project_root


def notebooks() -> dict[str, Path]:
    """Stem → path of every notebook of the book, in reading order."""
    return {path.stem: path for path in sorted((project_root() / "notebooks").glob("[0-9][0-9]-*.ipynb"))}


def find_notebook(name: str) -> Path:
    """The notebook of a stem, file name or number: ``03``, ``03-cross-lingual-weat``."""
    known = notebooks()
    stem = Path(name).name.removesuffix(".ipynb")
    near = [s for s in known if s == stem or (stem.isdigit() and s.startswith(f"{int(stem):02d}-"))]
    if not near:
        raise unknown("notebook", name, known)
    return known[near[0]]


def profile_names() -> list[str]:
    """The profiles of the book."""
    return sorted(path.stem for path in (project_root() / "notebooks" / "profiles").glob("*.yml"))


def profile_parameters(profile: str, notebook: Path) -> dict[str, Any]:
    """What a profile sets for one notebook: its common values where the notebook has such a parameter, then its own.

    Raises
    ------
    UnknownName
        When the profile does not exist, or sets a parameter that the notebook (or, for a common
        value, every notebook) lacks.
    BadValues
        When a value is of another type, or outside its range.
    BadTable
        When the file has another form.
    """
    if profile not in profile_names():
        raise unknown("profile", profile, profile_names())
    path = project_root() / "notebooks" / "profiles" / f"{profile}.yml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if not isinstance(settings, dict) or set(settings) - {"description", "common", "notebooks"}:
        raise BadTable(
            "a profile has another form",
            where=path.name,
            expected="description, common, notebooks",
            got=", ".join(map(str, settings)),
            todo="see quick.yml",
        )
    common = {k: v for k, v in (settings.get("common") or {}).items() if k in declared(notebook)}
    try:
        return validated(notebook, common | ((settings.get("notebooks") or {}).get(notebook.stem) or {}))
    except (BadValues, UnknownName) as error:
        raise type(error)(
            error.problem, where=f"profile {profile}", expected=error.expected, got=error.got, todo=error.todo
        ) from error
