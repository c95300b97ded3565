"""Ranges of parameters: stated once, checked by the command line, by profiles and by functions.

What lies inside and outside a range is written down by hand from the parameters' comments and from arithmetic
(a level is a share; a seed is a whole number); choices are compared with the constants of the code that takes them.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from localbias import ledger
from localbias.book import parameters
from localbias.book.cli import app
from localbias.errors import BadValues, LocalBiasError, UnknownName
from localbias.ledger.settings import RULES
from localbias.measures import intervals
from localbias.models import answer_jobs
from localbias.models.answers import load_answerer
from localbias.prompts import generation, orders
from localbias.prompts.generation import generate_prompts
from localbias.registry import ranges
from localbias.studies.seeds import seed_scores
from localbias.studies.selection import bias_profile
from localbias.studies.sensitivity import run_sensitivity
from localbias.studies.weat import languages_of, run_weat
from localbias.words.lexicon import known_languages
from localbias.words.mistranslations import CONFIDENCE

NOTEBOOKS = {p.stem[:2]: p for p in sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("0*.ipynb"))}
SHARE = [0, 1, 5, 95, -0.05, math.inf, math.nan, True]
WHOLE = [-1, 1.5, 10**12, True]
TEXTS = ["", " zh", "[zh]", '["M5",]', []]
BAD = {
    "alpha": SHARE,
    "level": SHARE,
    "every": SHARE,
    "n_resamples": WHOLE,
    "seed": WHOLE,
    "seeds": [0, *WHOLE],
    "n_prompts": WHOLE,
    "n_templates": WHOLE,
    "n_prompts_orders": WHOLE,
    "n_prompts_written": [0, *WHOLE],
    "temperature": [-1, 0.05, 2.1, math.inf, math.nan],
    "top_p": [0, -0.1, 1.01, math.inf, math.nan],
    "languages": [["zh", "zh"], "zh,th", ["ZH"], ["z"], *TEXTS],
    "protocol_languages": [["zh", "zh"], []],
    "tests": [["weat1", "weat1"], ["WEAT1"], *TEXTS],
    "tests_measured": [["weat1", "weat1"], *TEXTS],
    "methods": [["M5", "M5"], ["M11"], "m5", *TEXTS],
    "monolingual": [["a", "a"], ["-p"], *TEXTS],
    "stereotypes": [["T1", "T1"], *TEXTS],
    "valence_pair": [["weat12"], ["weat12", "weat12"], ["a", "b", "c"]],
    "second_pair": [["weat12"], ["weat12", "weat12"]],
    "model": ["", "-p", "[a]", " a", "a\nb", "x" * 5000],
    "multilingual": ["", "-p", "[a]", "x" * 5000],
    "published_model": ["", "[a]"],
    "dataset": ["", "[a]", "a\x00b"],
    "language_shown": ["", "[zh]", "zh th"],
    "test_shown": ["", "[weat1]", "weat 1"],
    "variant": ["", "[gt]"],
    "form": ["", "mine", "{context} {question}", "{context} {context} {question} {ans0} {ans1} {ans2}"],
    "clean": [1, "yes"],
    "switches": [1, "yes"],
}
"""Name → values that no notebook with this parameter may take; a choice of names refuses any other name."""


def declared():
    return [(path, p) for path in NOTEBOOKS.values() for p in parameters.declared(path).values()]


def identity(value):
    return value.stem[:2] if isinstance(value, Path) else getattr(value, "name", None)


@pytest.mark.parametrize(("path", "parameter"), declared(), ids=identity)
def test_every_parameter_of_every_notebook_has_a_range_that_refuses(path, parameter):
    known = ranges.OF_NOTEBOOK.get(path.stem, ranges.RANGES)
    assert parameter.name in known, "state its range in localbias.registry.ranges"
    assert parameter.check(parameter.default, path.stem) == parameter.default
    bad = BAD.get(parameter.name, ["", "no-such-name", "[a]"] if known[parameter.name].choices else None)
    assert bad, f"say here what {parameter.name} must refuse"
    for value in bad:
        with pytest.raises((BadValues, UnknownName)):
            parameter.check(value, path.stem)


@pytest.mark.parametrize(
    ("number", "text", "told"),
    [
        ("03", "alpha=5", "a number between 0 and 1"),
        ("03", "alpha=NaN", "a number between 0 and 1"),
        ("03", 'methods=["M5",]', 'write methods=["M5"]'),
        ("03", "languages=[zh]", 'write languages=["zh"]'),
        ("03", 'languages=["zh", "zh"]', "twice: zh"),
        ("03", "languages=[]", "not empty"),
        ("07", "temperature=3", "0, or a number from 0.1 to 2"),
        ("07", "dtype=float8", "did you mean float32"),
        ("07", "protocol=in-context", "next-token"),
        ("01", "confidence=sure", "certain, likely, possible"),
        ("03", 'test_shown=weat2 -p tests=["weat6"]', "auto, weat6"),
        ("03", "test_shown=weat11", "auto, weat1, weat2, weat6"),
        ("03", "method_shown=M8", "auto, M5"),
        ("03", "alpha=0.1 -p alpha=0.2", "given twice"),
    ],
)
def test_the_command_line_refuses_before_a_kernel_starts(number, text, told, monkeypatch):
    monkeypatch.setattr("localbias.book.execute._execute", lambda *_: pytest.fail("a kernel was started"))
    arguments = [part for one in text.split(" -p ") for part in ("-p", one)]
    result = CliRunner().invoke(app, ["run", number, *arguments])
    assert result.exit_code == 1 and told in result.output and "Traceback" not in result.output


def test_a_profile_is_held_to_the_same_ranges(tmp_path, monkeypatch):
    from localbias.book.profiles import profile_parameters

    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path))
    (tmp_path / "_config.yml").write_text("title: made\n")
    folder = tmp_path / "notebooks" / "profiles"
    folder.mkdir(parents=True)
    (folder / "mine.yml").write_text("common: {seed: -1}\n")
    with pytest.raises(BadValues, match="(?s)'seed' is out of its range.*profile mine"):
        profile_parameters("mine", NOTEBOOKS["03"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: run_weat(["zh"], ["weat1"], alpha=5),
        lambda: run_weat(["zh"], ["weat1"], level=95),
        lambda: run_weat(["zh", "zh"], ["weat1"]),
        lambda: run_weat(["zh"], []),
        lambda: run_weat(["zh"], ["weat1"], n_resamples=-1),
        lambda: run_weat(["zh"], ["weat1"], seed=-1),
        lambda: run_weat(["zh"], ["weat1"], methods="[M5]"),
        lambda: run_weat(["zh"], ["weat1"], protocol="next-token"),
        lambda: run_weat(["zh"], ["weat1"], interval="bootstrap"),
        lambda: languages_of([], ["weat1"]),
        lambda: run_sensitivity(["zh", "zh"]),
        lambda: known_languages("[zh]", "starter"),
        lambda: generate_prompts(seed=-1, dataset="starter"),
        lambda: generate_prompts(rules="mended", dataset="starter"),
        lambda: seed_scores(None, seeds=0),
        lambda: seed_scores(None, temperature=math.nan),
        lambda: bias_profile(None, alpha=5),
        lambda: load_answerer("smollm2-135m-instruct", dtype="float8"),
        lambda: ledger.Settings(rule="p"),
        lambda: ledger.Settings(alpha=math.inf),
        lambda: ledger.Settings(every=1.5),
        lambda: ledger.Settings(source="machine"),
        lambda: ledger.Settings(multilingual="xlm-roberta-base"),
    ],
)
def test_what_is_typed_in_jupyterlab_is_refused_too(call):
    with pytest.raises(LocalBiasError):
        call()


def test_numbers_of_numpy_and_tuples_are_values_like_others():
    for name, value in {"seed": np.int64(3), "alpha": np.float64(0.1), "languages": ("zh", "th")}.items():
        ranges.check(name, value)


def test_choices_are_those_of_the_code_that_takes_them():
    known = ranges.RANGES
    assert known["confidence"].choices == CONFIDENCE
    assert known["rules"].choices == generation.RULES
    assert set(known["rule"].choices) == set(RULES)
    assert set(ranges.ANSWERS["protocol"].choices) == {"auto", *answer_jobs.PROTOCOLS}
    assert set(known["orders"].choices) == set(orders.ORDERS) - {"published"}
    assert known["interval"].choices == intervals.INTERVALS
