"""What the README, `make help`, the hooks and continuous integration say and run is the same; no test is left out."""

import json
import re
import subprocess
import tomllib

import pytest
import yaml

from isolation import PROJECT

MAKEFILE = (PROJECT / "Makefile").read_text()
HELP = dict(re.findall(r"^([a-z-]+):.*?## *(.+)$", MAKEFILE, re.M))
CI = [line for line in (PROJECT / ".ci/run").read_text().splitlines() if not line.lstrip().startswith("#")]
HOOKS = {h["id"]: h for h in yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]}
PYTEST = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
LEAVES_OUT = r"(?<!\S)(-m|-k|-x|--deselect\S*|--ignore\S*|--maxfail\S*|--lf|--ff|-p no:\S+)(?!\S)"


def recipe(target):
    """The commands of a target, variables put in."""
    (found,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    check = re.search(r"^CHECK := ((?:.*\\\n)*.*)$", MAKEFILE, re.M).group(1)
    return re.sub(r"\\\n\s*", "", found.replace("$(CHECK)", check)).replace("python -m pytest", "pytest")


def test_help_lists_every_target():
    assert set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.M).group(1).split()) == set(HELP)
    shown = subprocess.run(["make", "--no-print-directory", "help"], cwd=PROJECT, capture_output=True, text=True)
    assert dict(re.split(r"\s{2,}", line, maxsplit=1) for line in shown.stdout.splitlines()) == HELP


@pytest.mark.parametrize("name", ["README.md", "book/intro.md", ".ci/run", "CONTRIBUTING.md"])
def test_what_is_said_of_make_is_there(name):
    path = PROJECT / name
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    said = re.findall(r"(?:`|^|&& )make ([a-z][a-z-]*)", text, re.M)
    assert set(said) <= set(HELP), name
    assert name != "README.md" or {"book", "test", "test-fast", "lab", "bench", "help"} <= set(said)


def test_make_test_leaves_nothing_out():
    assert "pytest" in recipe("test") and not re.search(LEAVES_OUT, recipe("test"))
    assert not re.search(LEAVES_OUT, PYTEST["addopts"]) and set(PYTEST["testpaths"]) == {"tests", "lib"}
    assert re.search(LEAVES_OUT, recipe("test-fast")).group() == "-m"


def test_continuous_integration_runs_a_persons_commands_and_nothing_that_make_test_hides():
    run = "\n".join(CI)
    made = re.findall(r"\bmake [a-z-]+(?: [A-Z]+=\w+)?", re.sub(r"apt-get .*", "", run))
    assert made == ["make book PROFILE=smoke", "make test", "make test-fast", "make test-fast"]
    assert not re.search(r"\b(pytest|ruff|localbias|python3?|TESTS)\b(?!-venv)", run)
    assert "|| true" not in run and "set -euo pipefail" in run


def test_the_hooks_are_what_make_test_checks():
    pins = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["test"]
    (ruff,) = [pin for pin in pins if pin.startswith("ruff==")]
    for hook, command in (("ruff", "ruff check"), ("ruff-format", "ruff format")):
        assert HOOKS[hook]["additional_dependencies"] == [ruff] and HOOKS[hook]["entry"].startswith(command)
        assert command in recipe("test")


def test_a_notebook_with_outputs_is_not_committed():
    hook = HOOKS["notebook-outputs"]
    templates = sorted((PROJECT / "notebooks").glob("*.ipynb"))
    assert templates and all(re.search(hook["files"], f"notebooks/{path.name}") for path in templates)
    assert not any(re.search(hook["entry"], path.read_text(encoding="utf-8")) for path in templates)
    cell = {"cell_type": "code", "source": "1", "metadata": {}, "execution_count": None, "outputs": []}
    shown = {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 1}
    for change in ({"execution_count": 1}, {"outputs": [shown]}):
        assert re.search(hook["entry"], json.dumps({"cells": [cell | change]}, indent=1)), change
    assert not re.search(hook["entry"], json.dumps({"cells": [cell]}, indent=1))
