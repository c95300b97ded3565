"""Run one notebook: a draft first, and into the book only when it succeeded.

papermill executes the template with typed parameters; its tables go to a draft folder beside the one
that they will be published as. Only a run that ended well is published (see :mod:`localbias.book.publish`):
a failing one leaves the last good page and its tables as they were.
"""

from __future__ import annotations

import logging
import os
import sys
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
from localbias.files import book_results, draft_folder


@dataclass(frozen=True)
class Run:
    """A finished run: the executed notebook, its tables' draft folder, what it was run with, and where it goes."""

    notebook: Path
    parameters: dict[str, Any]
    executed: nbformat.NotebookNode
    results: Path
    folder: Path


@contextmanager
def run_notebook(
    notebook: Path, parameters: dict[str, Any], folder: Path | None = None, progress: bool = True
) -> Iterator[Run]:
    """Execute a notebook; the draft folder lives as long as the block.

    Parameters
    ----------
    notebook : Path
        The template.
    parameters : dict
        Values that differ from the template's own; checked before the kernel starts.
    folder : Path, optional
        What the run's folder will be; by default the page's place in the book.

    Raises
    ------
    NotebookFailed
        With the notebook, the cell and the error, when a cell fails or the kernel dies.
    """
    asked = validated(notebook, parameters)
    effective = {name: p.default for name, p in declared(notebook).items()} | asked
    check_choices(notebook, effective)
    folder = folder or book_results() / notebook.stem
    with draft_folder(folder) as draft:
        with _environment(LOCALBIAS_RESULTS=str(draft), LOCALBIAS_NOTEBOOK=notebook.stem, LOCALBIAS_CWD=os.getcwd()):
            executed = _execute(notebook, asked, progress)
        yield Run(notebook, effective, executed, draft, folder)


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


def _execute(notebook: Path, parameters: dict[str, Any], progress: bool) -> nbformat.NotebookNode:
    # Its reader does not know hints such as ``list[str] | str`` and calls such parameters unknown: ours has checked.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        return papermill.execute_notebook(
            str(notebook),
            None,
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
