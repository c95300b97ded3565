"""The whole book through Snakemake: rerun what changed or is not whole, go on past a failed page, build the site."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from filelock import FileLock

from localbias.book.profiles import notebooks, profile_parameters
from localbias.book.site import leashed, refresh
from localbias.errors import NotebookFailed
from localbias.files import book_lock, book_results, project_root, published, sweep


def snakemake(targets: list[str], profile: str, cores: int, *more: str) -> int:
    """Run Snakemake on the book's rules; its exit status (0: everything asked for is up to date)."""
    root = project_root()
    _forget_what_is_not_whole(root)
    command = [
        sys.executable,
        "-m",
        "snakemake",
        *targets,
        "--snakefile",
        str(root / "Snakefile"),
        "--directory",
        str(root),
        "--cores",
        str(cores),
        "--keep-going",
        "--quiet",
        "rules",
        "host",
        "progress",
        "--rerun-incomplete",
        "--nolock",
        "--config",
        f"profile={profile}",
        *more,
    ]
    # Notebooks run side by side: each takes a share of the cores, not all of them.
    share = {"OMP_NUM_THREADS": str(max(1, cores // 2))} | os.environ
    return leashed(command, cwd=root, env=share | {"LOCALBIAS_ROOT": str(root)})


def build_book(profile: str = "quick", cores: int | None = None) -> Path:
    """Run every notebook that is out of date, then build the site.

    The pages come first, then the ledger, which reads their tables, then the site: a page that fails
    keeps its last good version, the others are made all the same, and the command fails at its end.

    Raises
    ------
    NotebookFailed
        When a page failed; the site is built nevertheless.
    """
    for notebook in notebooks().values():
        profile_parameters(profile, notebook)
    cores = cores or os.cpu_count() or 1
    root = project_root()
    (root / "_build").mkdir(exist_ok=True)
    with FileLock(root / "_build" / ".build.lock"):  # a second build waits, then finds everything done
        statuses = [snakemake([target], profile, cores, f"stage={target}") for target in ("pages", "ledger", "site")]
    index = root / "_build" / "html" / "index.html"
    if any(statuses):
        built = f"; the rest is built: {index}" if index.exists() and not statuses[2] else ""
        raise NotebookFailed(
            "the book is not whole",
            got="a step failed (named above); its last good page is kept" + built,
            todo="mend it and run the same command again: what is done is not run again",
        )
    return index


def _forget_what_is_not_whole(root: Path) -> None:
    """Name what is damaged, mend what can be; the rest loses the mark by which Snakemake knows that it is made."""
    for place in ("data/results", "data/results/runs", "data/results/interactive", "book/_executed", "_build"):
        sweep(root / place, os.getpid())
    with book_lock(root):
        whole, damaged = published(root)
        for line in refresh(root) if (root / "_toc.yml").exists() else damaged.values():
            print(line, file=sys.stderr)
    for stem in set(notebooks()) - set(whole):
        (book_results(root) / f".{stem}.made").unlink(missing_ok=True)
    if not (root / "_build" / "html" / "index.html").exists():
        (root / "_build" / ".html.made").unlink(missing_ok=True)
