"""The static site: Jupyter Book over the published pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from localbias.errors import LocalBiasError
from localbias.files import (
    MANIFEST,
    PAGE,
    book_lock,
    book_results,
    draft_folder,
    make_current,
    project_root,
    published,
    replacing,
)

_MISSING = """# {title}

```{{warning}}
This page was not computed: its notebook did not finish in the run that built this site.
`localbias run {stem}` computes it and says what is wrong.
```
"""


def _chapters(node) -> list[str]:
    """Every document of a table of contents."""
    if isinstance(node, list):
        return [name for item in node for name in _chapters(item)]
    found = [node[key] for key in ("root", "file") if key in node]
    return found + [name for key in ("parts", "chapters", "sections") for name in _chapters(node.get(key, []))]


def refresh(root: Path) -> list[str]:
    """Make the documents of ``book/_executed`` from the published pages; call it under the book's lock.

    A page that no run has made, or whose files are not those of its manifest, becomes a note that says so.

    Returns
    -------
    list of str
        What was mended or left out, and why.
    """
    whole, damaged = published(root)
    told = [f"{stem} is left out: {problem}" for stem, problem in damaged.items()]
    named = [root / name for name in _chapters(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))]
    made = {stem: (book_results(root) / stem / MANIFEST).stat().st_mtime for stem in whole}
    wanted = {}
    for page in (p for p in named if p.parent == root / "book" / "_executed"):
        if page.name in whole:
            wanted[page.with_suffix(".ipynb")] = whole[page.name][PAGE].read_bytes()
        else:
            title = page.name[3:].replace("-", " ").capitalize()
            wanted[page.with_suffix(".md")] = _MISSING.format(title=title, stem=page.name).encode()
    for old in set((root / "book" / "_executed").glob("[0-9][0-9]-*.*")) - set(wanted):
        old.unlink()
    for document, content in wanted.items():
        if not document.exists() or document.read_bytes() != content:
            if document.exists() and document.stat().st_mtime >= made.get(document.stem, float("inf")):
                told.append(f"{document.relative_to(root)} was changed after its run; it is the run's page again")
            with replacing(document) as draft:
                draft.write_bytes(content)
    return told


_LEASH = """
import os, signal, subprocess, sys, threading
def follow():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=follow, daemon=True).start()
status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
os._exit(status if status >= 0 else 128 - status)
"""


def leashed(command: list[str], **options: Any) -> int:
    """Run a command that ends, with all that it has started, when this process ends, however it does; its status."""
    start = [sys.executable, "-c", _LEASH, *command]
    with subprocess.Popen(start, stdin=subprocess.PIPE, start_new_session=True, **options) as child:
        try:
            return child.wait()
        finally:
            child.stdin.close()  # the leash: the system closes it when this process is killed


def build_site(root: Path | None = None, strict: bool = True) -> Path:
    """Build the site of a book folder with Jupyter Book; the path of its start page.

    It is built from nothing in a folder of its own, which takes the old one's place when it is whole. Runs
    that end meanwhile publish afterwards, and a second build waits.

    Parameters
    ----------
    root : Path, optional
        A folder with ``_config.yml`` and ``_toc.yml``; this project by default.
    strict : bool
        Treat every warning, broken cross-reference included, as an error (``-W -n``).

    Raises
    ------
    LocalBiasError
        With Jupyter Book's own last words, when the build fails.
    """
    root = root or project_root()
    html = root / "_build" / "html"
    with book_lock(root), draft_folder(html) as draft:
        for line in refresh(root):
            print(line, file=sys.stderr)
        _jupyter_book(root, draft, ["-W", "-n", "--keep-going"] if strict else [])
        make_current(draft / "_build" / "html", html)
    return html / "index.html"


def _jupyter_book(root: Path, folder: Path, flags: list[str]) -> None:
    start = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", str(root), "--path-output", str(folder), *flags]
    log = root / "_build" / "site.log"
    with open(log, "w", encoding="utf-8") as told:
        status = leashed(command, cwd=root, stdout=told, stderr=subprocess.STDOUT)
    if status or not (folder / "_build" / "html" / "index.html").exists():
        lines = log.read_text(encoding="utf-8").splitlines()
        raise LocalBiasError(
            "the site was not built",
            where=str(log),
            got="\n    ".join([x for x in lines if "WARNING" in x or "ERROR" in x][-12:] or lines[-12:]),
            todo="mend the page that is named and build again",
        )


def single_page(stem: str, folder: Path) -> None:
    """Build a run's folder into a small site of one page, the folder's ``html``."""
    project = project_root()
    with draft_folder(folder / "html") as root:
        shutil.copytree(project / "book" / "_static", root / "book" / "_static")
        for name in ("_config.yml", "book/references.bib", f"notebooks/{stem}.ipynb"):
            (root / name).parent.mkdir(exist_ok=True)
            shutil.copy2(project / name, root / name)
        book_results(root).mkdir(parents=True)
        (book_results(root) / stem).symlink_to(folder)
        (root / "_toc.yml").write_text(f"format: jb-book\nroot: book/_executed/{stem}\n")
        build_site(root, strict=False)
        make_current(root / "_build" / "html", folder / "html")
