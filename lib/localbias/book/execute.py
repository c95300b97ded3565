"""Run one notebook: a draft first, and into the book only when it succeeded.

papermill executes the template with typed parameters; its tables go to a draft folder of
their own. Only a run that ended well is published (see :mod:`localbias.book.publish`): a failing
one leaves the last good page and its tables as they were.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from localbias.book.parameters import check_choices, declared, validated
from localbias.errors import NotebookFailed
from localbias.files import project_root


@dataclass(frozen=True)
class Run:
    """A finished run: the executed notebook, its tables' folder, and what it was run with."""

    notebook: Path
    parameters: dict[str, Any]
    executed: nbformat.NotebookNode
    results: Path


@contextmanager
def run_notebook(notebook: Path, parameters: dict[str, Any], progress: bool = True) -> Iterator[Run]:
    """Execute a notebook; the draft folder lives as long as the block.

    Parameters
    ----------
    notebook : Path
        The template.
    parameters : dict
        Values that differ from the template's own; checked before the kernel starts.

    Raises
    ------
    NotebookFailed
        With the notebook, the cell and the error, when a cell fails or the kernel dies.
    """
    asked = validated(notebook, parameters)
    effective = {name: p.default for name, p in declared(notebook).items()} | asked
    check_choices(notebook, effective)
    draft = Path(tempfile.mkdtemp(prefix=f"{notebook.stem}-", dir=_drafts()))
    try:
        with _environment(LOCALBIAS_RESULTS=str(draft / "results"), LOCALBIAS_NOTEBOOK=notebook.stem):
            _execute(notebook, draft / notebook.name, asked, progress)
        (draft / "results").mkdir(exist_ok=True)
        yield Run(notebook, effective, nbformat.read(draft / notebook.name, as_version=4), draft / "results")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _drafts() -> Path:
    folder = project_root() / "_build" / "drafts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Settings that the kernel inherits; the old ones are put back."""
    values = {
        "PYTHONHASHSEED": "0",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    } | values
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, old in before.items():
            os.environ.pop(name, None) if old is None else os.environ.__setitem__(name, old)


def _execute(notebook: Path, draft: Path, parameters: dict[str, Any], progress: bool) -> None:
    # Its reader does not know hints such as ``list[str] | str`` and calls such parameters unknown: ours has checked.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        papermill.execute_notebook(
            str(notebook),
            str(draft),
            parameters,
            kernel_name="python3",
            cwd=str(notebook.parent),
            progress_bar=progress and sys.stderr.isatty(),
            request_save_on_cell_execute=False,
            extra_arguments=["--IPKernelApp.log_level=50"],
        )
    except PapermillExecutionError as error:
        # The cell that papermill adds for the parameters is not in the template that a reader opens.
        cell = error.cell_index - bool(parameters)
        raise NotebookFailed(
            f"{notebook.stem} stopped at cell {cell}",
            where=f"{notebook.name}, cell {cell} (the first is 0):\n{_indented(error.source)}",
            got=f"{error.ename}: {error.evalue}",
            todo="run the notebook in JupyterLab (make lab) to see the whole traceback",
        ) from None
    except DeadKernelError as error:
        raise NotebookFailed(
            f"the kernel of {notebook.stem} died",
            where=notebook.name,
            got=str(error),
            todo="the machine may be out of memory: run fewer languages or a smaller model",
        ) from None


def _indented(source: str) -> str:
    return "\n".join(f"      {line}" for line in source.strip().splitlines()[:12])
