"""From a finished run to a page of the book: nothing volatile, nothing half-written.

Two equal runs give equal bytes: times, random ids and progress bars are left out; what a reader
needs to rerun the page is added to its foot and to a manifest.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import nbformat

import localbias
from localbias.book.execute import Run
from localbias.book.page import code
from localbias.files import project_root, replacing


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


def publish(run: Run, profile: str | None, asked: dict[str, Any], folder: Path | None = None) -> Path:
    """Put a finished run's tables and page in place; the page comes last.

    Parameters
    ----------
    run : Run
        A finished run.
    profile, asked
        What it was run with, for the manifest and the foot of the page.
    folder : Path, optional
        Another book than this one: a folder that gets ``book/_executed`` and ``data/results``.

    Returns
    -------
    Path
        The page, ``book/_executed/<notebook>.ipynb``.
    """
    root = folder or project_root()
    results = root / "data" / "results"
    stem = run.notebook.stem
    tables = sorted(path.relative_to(run.results) for path in run.results.rglob("*") if path.is_file())
    manifest = results / "manifests" / f"{stem}.json"
    for stale in set(_listed(manifest)) - {str(t) for t in tables}:
        (results / stale).unlink(missing_ok=True)
    hashes = {}
    for table in tables:
        content = (run.results / table).read_bytes()
        hashes[str(table)] = hashlib.sha256(content).hexdigest()
        with replacing(results / table) as draft:
            draft.write_bytes(content)
    record = {
        "notebook": stem,
        "profile": profile,
        "parameters": run.parameters,
        "version": localbias.__version__,
        "command": command_for(stem, profile, asked),
        "tables": hashes,
    }
    with replacing(manifest) as draft:
        draft.write_text(json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    page = root / "book" / "_executed" / f"{stem}.ipynb"
    with replacing(page) as draft:
        draft.write_text(nbformat.writes(clean(run, record["command"])) + "\n", encoding="utf-8")
    return page


def _listed(manifest: Path) -> list[str]:
    return list(json.loads(manifest.read_text(encoding="utf-8"))["tables"]) if manifest.exists() else []
