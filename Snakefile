# The book's rules. `localbias build` calls them stage by stage (pages, ledger, site), so that one failing
# page keeps its last good version and the rest of the book is made all the same. The pages alone, on a
# cluster: snakemake --config stage=pages --executor slurm --jobs 20

import sys
from glob import glob
from hashlib import sha256
from pathlib import Path

import localbias
from localbias.words.lexicon import resolve_dataset
from localbias.book.profiles import notebooks

PROFILE = config.get("profile", "quick")
STAGE = config.get("stage", "pages")
LEDGER = [stem for stem in notebooks() if stem.endswith("ledger")]
PAGES = [stem for stem in notebooks() if stem not in LEDGER]
PACKAGE = Path(localbias.__file__).parent
LIBRARY = sorted(map(str, [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.csv")]))
DATA = sorted(glob("data/*.*") + glob("data/starter/**/*.*", recursive=True) + glob("data/papers/*") + glob("data/lexicons/*.csv") + glob("data/reference/*.*"))
# A name with braces would be read as wildcards: such a file is followed by its content instead.
BRACED = [sha256(Path(name).read_bytes()).hexdigest() for name in DATA if "{" in name]
DATA = [name for name in DATA if "{" not in name]
RUN = sys.executable + " -m localbias run {wildcards.stem} --profile {params.profile} --quiet"


def made(stem):
    """The mark that a page was made from these inputs; `localbias build` removes it when the page is not whole."""
    return f"data/results/.{stem}.made"


wildcard_constraints:
    stem=r"\d\d-[a-z0-9-]+",


if STAGE == "pages":

    rule pages:
        input:
            [made(stem) for stem in PAGES],

    rule page:
        input:
            notebook="notebooks/{stem}.ipynb",
            profile=f"notebooks/profiles/{PROFILE}.yml",
            library=LIBRARY,
            data=DATA,
        output:
            touch("data/results/.{stem}.made"),
        params:
            profile=PROFILE,
            dataset=resolve_dataset("auto"),
            braced=BRACED,
        shell:
            RUN


elif STAGE == "ledger":

    # Whatever tables the pages have left: a failed page must not keep the ledger from being made.
    rule ledger:
        input:
            [made(stem) for stem in LEDGER],

    rule ledger_page:
        input:
            notebook="notebooks/{stem}.ipynb",
            profile=f"notebooks/profiles/{PROFILE}.yml",
            library=LIBRARY,
            data=DATA,
            manifests=[f for f in sorted(glob("data/results/[0-9][0-9]-*/manifest.json")) if "ledger" not in f],
        output:
            touch("data/results/.{stem}.made"),
        params:
            profile=PROFILE,
            dataset=resolve_dataset("auto"),
            braced=BRACED,
        shell:
            RUN


else:

    rule site:
        input:
            "_build/.html.made",

    rule build_site:
        input:
            pages=sorted(glob("book/_executed/*.ipynb")),
            prose=sorted(glob("book/*.*") + glob("book/_static/**/*.*", recursive=True) + glob("data/reference/*.csv")),
            settings=["_config.yml", "_toc.yml"],
            extension=str(PACKAGE / "book/offline_sphinx.py"),
            manifests=sorted(glob("data/results/[0-9][0-9]-*/manifest.json")),
        output:
            touch("_build/.html.made"),
        shell:
            sys.executable + " -m localbias site"
