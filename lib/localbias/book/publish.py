"""From a finished run to a page of the book: nothing volatile, nothing half-written.

Two equal runs give equal bytes: times, random ids and progress bars are left out; what a reader
needs to rerun the page is added to its foot and to a manifest.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import nbformat

import localbias
from localbias.book.execute import Run
from localbias.book.page import code
from localbias.book.site import single_page
from localbias.errors import LocalBiasError
from localbias.files import MANIFEST, PAGE, book_lock, book_results, make_current, project_root, seal


def clean(run: Run, command: str) -> nbformat.NotebookNode:
    """The page of a run: outputs, tags and text; no times, no random ids, no progress bars.

    Parameters
    ----------
    run : Run
        A finished run.
    command : str
        The command that makes this page again, shown at its foot.
    """
    page = nbformat.from_dict(run.executed)
    injected = any("injected-parameters" in c.metadata.get("tags", []) for c in page.cells)
    for position, cell in enumerate(page.cells):
        tags = list(cell.metadata.get("tags", []))
        if injected and "parameters" in tags:
            tags.append("remove-cell")
        elif {"injected-parameters", "parameters"} & set(tags) and "hide-input" not in tags:
            tags.append("hide-input")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        cell.id = f"cell-{position}"
        if cell.cell_type == "code":
            cell.outputs = [_stable(o) for o in cell.outputs if o.get("name") != "stderr"]
    foot = nbformat.v4.new_markdown_cell(_foot(run, command), id=f"cell-{len(page.cells)}")
    page.cells.append(foot)
    kept = {
        name: run.executed.metadata[name] for name in ("kernelspec", "language_info") if name in run.executed.metadata
    }
    page.metadata = nbformat.from_dict(
        {**kept, "localbias": {"notebook": run.notebook.stem, "parameters": run.parameters}}
    )
    return page


def _stable(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    output.pop("transient", None)
    return output


def _foot(run: Run, command: str) -> str:
    rows = "\n".join(
        f"| {code(name)} | {code(json.dumps(value, ensure_ascii=False))} |" for name, value in run.parameters.items()
    )
    return (
        "```{admonition} How this page was made\n:class: dropdown note\n\n"
        f"{code(command)} (localbias {localbias.__version__}) made this page with these parameters:\n\n"
        f"| parameter | value |\n|---|---|\n{rows}\n```"
    )


def command_for(notebook: str, profile: str | None, asked: dict[str, Any]) -> str:
    """The shell command of a run.

    >>> command_for("03-cross-lingual-weat", "quick", {"methods": ["M5"]})
    'localbias run 03-cross-lingual-weat --profile quick -p \\'methods=["M5"]\\''
    """
    parts = ["localbias", "run", notebook, *(["--profile", profile] if profile else [])]
    for name, value in asked.items():
        parts += ["-p", f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"]
    return shlex.join(parts)


def publish(run: Run, profile: str | None, asked: dict[str, Any], site: bool = False) -> Path:
    """Make a finished run the current one: its tables, its page and their manifest take their place at once.

    Parameters
    ----------
    run : Run
        A finished run.
    profile, asked
        What it was run with, for the manifest and the foot of the page.
    site : bool
        Put a small site of this one page into the folder's ``html``.

    Returns
    -------
    Path
        The page in its place, ``<folder>/page.ipynb``.
    """
    stem, command = run.notebook.stem, command_for(run.notebook.stem, profile, asked)
    (run.results / PAGE).write_text(nbformat.writes(clean(run, command)) + "\n", encoding="utf-8")
    seal(
        run.results,
        notebook=stem,
        profile=profile,
        parameters=run.parameters,
        version=localbias.__version__,
        command=command,
    )
    if site:
        single_page(stem, run.results)
    with book_lock():
        make_current(run.results, run.folder)
    return run.folder / PAGE


def check_free(folder: Path) -> None:
    """Refuse a folder for a run that holds anything else than an older run, or belongs to the book.

    Raises
    ------
    LocalBiasError
    """
    root = project_root()
    made = [root / "book", root / "_build", book_results()]
    own = any(folder.is_relative_to(place) for place in made) and not folder.is_relative_to(book_results() / "runs")
    held = {p.name for p in folder.iterdir() if not p.name.startswith(".")} if folder.is_dir() else set()
    foreign = held - _of_a_run(folder)
    if own or foreign or (folder.exists() and not folder.is_dir()):
        raise LocalBiasError(
            "a run does not write here: its folder is replaced as a whole",
            expected="a new or empty folder, or one that an earlier run made, outside the book's own",
            got=", ".join(sorted(foreign)[:5]) or "a file or a folder of the book",
            where=str(folder),
            todo="name another folder after --out",
        )


def _of_a_run(folder: Path) -> set[str]:
    """What a run wrote into a folder, by its manifest; nothing when it has none that can be read."""
    try:
        record = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {MANIFEST, "html", *(name.split("/")[0] for name in record["files"])} if record["notebook"] else set()
    except (OSError, ValueError, TypeError, KeyError):
        return set()
