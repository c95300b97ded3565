"""What a parameter may be: one range a name, for the command line, profiles, notebooks and functions alike.

The notebooks' hints say of what type a value is; its range is stated here and nowhere else. The runner checks it
before a kernel starts (:mod:`localbias.book.parameters`), and functions that take such values check their
arguments (:func:`checked`), so that a value typed in JupyterLab is refused as well.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from localbias.errors import BadValues, unknown
from localbias.registry import METHODS


@dataclass(frozen=True)
class Range:
    """A type that pydantic checks strictly, the range in words, and the names when there are only so many."""

    kind: Any
    words: str
    choices: tuple[str, ...] = ()


def _different(names: list[str]) -> list[str]:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"twice: {', '.join(twice)}")
    return names


def _several(one: Any, least: int = 1, most: int = 1000) -> Any:
    return Annotated[list[one], Field(min_length=least, max_length=most), AfterValidator(_different)]


def _whole_form(form: str) -> str:
    wanted = ["ans0", "ans1", "ans2", "context", "question"]
    if form not in ("auto", "filbbq-2026", "localbias") and sorted(re.findall(r"\{(\w+)\}", form)) != wanted:
        raise ValueError("a pattern uses each part of a prompt once")
    return form


_NAME = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=100)]
_CODE = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
_PLACE = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\[{-][^\x00-\x1f]*$", max_length=1000)]
_TEMPLATE = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\[{][^\x00-\x1f]*$", max_length=200)]
_PAIR = _several(_NAME, 2, 2) | _several(_NAME, 0, 0)
_SEVERAL = "a list of different {0} such as {1}, not empty, or one name: {2}"


def _number(words: str, of: type = float, **limits: float) -> Range:
    return Range(Annotated[of, Field(allow_inf_nan=False, **limits) if of is float else Field(**limits)], words)


def _choice(*names: str) -> Range:
    return Range(Literal[names], "one of " + ", ".join(names), names)


def _choices(*names: str) -> Range:
    words = _SEVERAL.format("names", json.dumps(list(names[-2:])), ", ".join(names))
    return Range(_several(Literal[names]) | Literal[names], words, names)


_BETWEEN = _number("a number between 0 and 1, both left out", gt=0, lt=1)
_MODEL = Range(_PLACE, "a name of `localbias models`, a Hugging Face id, a folder or a GGUF file")
MODELS = Range(_several(_PLACE) | _PLACE, _SEVERAL.format("models", '["all-minilm-l6-v2"]', "a model's"))
_SHOWN = Range(_NAME, 'one of the tests asked for, or "auto"')
_COUNT = _number("a whole number from 0 to 1,000,000; 0: all", int, ge=0, le=1_000_000)
_TESTS = Range(_PAIR, 'two different tests such as ["weat12", "weat12b"], or [] for none')

RANGES: dict[str, Range] = {
    "languages": Range(_several(_CODE) | _CODE, _SEVERAL.format("codes", '["zh", "th"]', '"all", "zh"')),
    "protocol_languages": Range(_several(_CODE), 'a list of different codes such as ["zh", "tr"], not empty'),
    "language_shown": Range(_CODE | Literal["auto"], 'one of the languages asked for, or "auto"'),
    "tests": Range(_several(_NAME) | _NAME, _SEVERAL.format("tests", '["weat1", "weat6"]', '"original", "weat1"')),
    "tests_measured": Range(_several(_NAME) | _NAME, _SEVERAL.format("tests", '["weat1"]', '"original", "weat1"')),
    "test_shown": _SHOWN,
    "valence_pair": _TESTS,
    "second_pair": _TESTS,
    "model": _MODEL,
    "multilingual": _MODEL,
    "monolingual": MODELS,
    "published_model": _MODEL,
    "method": _choice(*METHODS),
    "methods": _choices("all", *METHODS),
    "method_shown": _choice("auto", *METHODS),
    "protocol_method": _choice(*METHODS),
    "variant": Range(_several(_NAME) | _NAME, '"all", "gt", "human", or a variant of your own list'),
    "dataset": Range(_PLACE, '"auto", "weathub", "starter", a list in data/lexicons, or the path of one'),
    "protocol": _choice("in-context", "weathub-2023"),
    "clean": Range(bool, "true or false"),
    "interval": _choice("bca", "percentile"),
    "confidence": _choice("certain", "likely", "possible"),
    "level": _BETWEEN,
    "alpha": _BETWEEN,
    "every": _BETWEEN,
    "n_resamples": _number("a whole number from 0 (no interval) to 100,000", int, ge=0, le=100_000),
    "seed": _number("a whole number from 0 to 4,294,967,295", int, ge=0, lt=2**32),
    "first_seed": _number("a whole number from 0 to 4,294,967,295", int, ge=0, lt=2**32),
    "dtype": _choice("float32", "bfloat16", "float16"),
    "rules": _choice("filbbq-2026", "repaired"),
    "form": Range(
        Annotated[str, AfterValidator(_whole_form)],
        '"auto", "filbbq-2026", "localbias", or a pattern with {context} {question} {ans0} {ans1} {ans2}, each once',
    ),
    "n_prompts": _COUNT,
    "n_templates": _COUNT,
    "n_prompts_orders": _COUNT,
    "n_prompts_written": _number("a whole number from 1 to 10,000", int, ge=1, le=10_000),
    "orders": _choice("all-six", "cyclic"),
    "seeds": _number("a whole number from 1 to 10,000", int, ge=1, le=10_000),
    "temperature": Range(
        Annotated[float, Field(ge=0.1, le=2)] | Annotated[float, Field(ge=0, le=0)], "0, or a number from 0.1 to 2"
    ),
    "top_p": _number("a number above 0, at most 1", gt=0, le=1),
    "off_option": _choice("renormalise", "unparsed"),
    "stereotypes": Range(_several(_TEMPLATE) | _TEMPLATE, _SEVERAL.format("templates", '["T-01"]', '"auto"')),
    "rule": _choice("paper", "two-sided", "q"),
    "flagged": _choice("include", "exclude"),
    "source": _choice("all", "human", "gt"),
    "figures": _choice("all", "main", "none"),
    "switches": Range(bool, "true or false"),
}
"""Name → range of what the notebooks on words and on the ledger take."""

ANSWERS = RANGES | {
    "protocol": _choice("auto", "next-token", "option-likelihood", "generate", "masked", "masked-pseudo"),
    "dataset": Range(_PLACE, '"auto", "filbbq", "starter", or a folder of templates'),
    "n_resamples": _number("a whole number from 1 to 100,000", int, ge=1, le=100_000),
}
"""The same for what is asked of answering models."""

LEDGER = RANGES | {"multilingual": _choice("DistilmBERT", "XLM-R")}
"""The same for the ledger."""

OF_NOTEBOOK = {"07-filbbq-seed-variability": ANSWERS, "08-ledger": LEDGER, "10-filbbq-appendix": ANSWERS}
"""Notebooks whose ranges are others than :data:`RANGES`."""


def check(name: str, value: Any, ranges: Mapping[str, Range] = RANGES, where: str = "", todo: str = "") -> None:
    """Refuse a value outside its parameter's range; a name without a range is not checked.

    Raises
    ------
    UnknownName
        For a name that is none of the choices; the nearest is offered.
    BadValues
        For any other value outside the range; a list that came as text is told how it is spelt.

    Examples
    --------
    >>> check("alpha", 0.05)
    >>> check("languages", "[zh, th]")
    Traceback (most recent call last):
    localbias.errors.BadValues: parameter 'languages' is out of its range
      expected: a list of different codes such as ["zh", "th"], not empty, or one name: "all", "zh"
      got: '[zh, th]'
      to do: write languages=["zh", "th"]
    """
    if name not in ranges:
        return
    try:
        TypeAdapter(ranges[name].kind).validate_python(_plain(value), strict=True)
    except ValidationError as error:
        raise _refused(name, value, ranges[name], error, where, todo) from None


def _plain(value: Any) -> Any:
    """What numpy, pandas, pathlib and tuples hold, in the builtin types that a strict check knows."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Collection) and not isinstance(value, (str, Mapping)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _refused(name: str, value: Any, range_: Range, error: ValidationError, where: str, todo: str) -> Exception:
    text = isinstance(value, str) and value[:1] in "[(" and range_.words.startswith("a list")
    spelt = re.findall(r"[\w./-]+", value) if text else []
    for fault in error.errors():
        wrong = fault["input"]
        if not spelt and range_.choices and isinstance(wrong, str) and wrong not in range_.choices:
            found = unknown(name.replace("_", " "), wrong, range_.choices)
            return type(found)(found.problem, where=where, expected=found.expected, got=found.got, todo=found.todo)
    told = [fault["msg"] for fault in error.errors() if fault["type"] == "value_error"]
    return BadValues(
        f"parameter {name!r} is out of its range" + (f": {told[0].removeprefix('Value error, ')}" if told else ""),
        where=where,
        expected=range_.words,
        got=repr(value)[:200],
        todo=f"write {name}={json.dumps(spelt)}" if spelt else todo,
    )


def checked(function: Callable | None = None, /, **ranges: Range) -> Callable:
    """A function whose arguments are checked before it begins: those that have a range of their name.

    ``ranges`` are the ranges of arguments that differ from :data:`RANGES`. A default is not checked, nor is an
    iterator, which can be read but once.

    Examples
    --------
    >>> @checked
    ... def half(alpha: float = 0.05):
    ...     return alpha / 2
    >>> half(0.1)
    0.05
    >>> half(float("inf"))
    Traceback (most recent call last):
    localbias.errors.BadValues: parameter 'alpha' is out of its range
      where: half
      expected: a number between 0 and 1, both left out
      got: inf
    """
    if function is None:
        return functools.partial(checked, **ranges)
    signature, known = inspect.signature(function), RANGES | ranges

    @functools.wraps(function)
    def begun(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if value is not signature.parameters[name].default and not isinstance(value, Iterator):
                check(name, value, known, function.__name__)
        return function(*args, **kwargs)

    return begun
