"""The static site: Jupyter Book over the published pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from localbias.errors import LocalBiasError
from localbias.files import project_root, replacing

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


def stand_ins(root: Path) -> list[str]:
    """Put a page that says so where a notebook's page has never been computed; the stems of these."""
    absent = []
    for name in _chapters(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))):
        if not name.startswith("book/_executed/"):
            continue
        page, note = root / f"{name}.ipynb", root / f"{name}.md"
        if page.exists():
            note.unlink(missing_ok=True)
            continue
        absent.append(page.stem)
        with replacing(note) as draft:
            draft.write_text(_MISSING.format(title=page.stem[3:].replace("-", " ").capitalize(), stem=page.stem))
    return absent


def build_site(root: Path | None = None, strict: bool = True, everything: bool = True) -> Path:
    """Build the site of a book folder with Jupyter Book; the path of its start page.

    Parameters
    ----------
    root : Path, optional
        A folder with ``_config.yml`` and ``_toc.yml``; this project by default.
    strict : bool
        Treat every warning, broken cross-reference included, as an error (``-W -n``).
    everything : bool
        Build all pages anew (a changed style sheet reaches every page).

    Raises
    ------
    LocalBiasError
        With Jupyter Book's own last words, when the build fails.
    """
    root = root or project_root()
    stand_ins(root)
    flags = ["-W", "-n", "--keep-going"] if strict else []
    start = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", str(root), *flags, *(["--all"] if everything else [])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    log = root / "_build" / "site.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    page = root / "_build" / "html" / "index.html"
    if done.returncode or not page.exists():
        told = [line for line in (done.stdout + done.stderr).splitlines() if "WARNING" in line or "ERROR" in line]
        raise LocalBiasError(
            "the site was not built",
            where=str(log),
            got="\n    ".join(told[-12:] or (done.stdout + done.stderr).splitlines()[-12:]),
            todo="mend the page that is named and build again",
        )
    return page


def single_page(folder: Path, page: Path) -> Path:
    """Build a folder that holds one published page into a small site of its own; its start page."""
    root = project_root()
    shutil.copytree(root / "book" / "_static", folder / "book" / "_static", dirs_exist_ok=True)
    for name in ("_config.yml", "book/references.bib"):
        shutil.copy2(root / name, folder / name)
    document = page.relative_to(folder).with_suffix("").as_posix()
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: {document}\n")
    build_site(folder, strict=False)
    return folder / "_build" / "html" / f"{document}.html"
