"""A notebook's parameters: which it declares, of what type, and what a person asked for.

Papermill only warns about an unknown parameter and reads ``no`` as False; here an unknown name, a value of the
wrong type and one outside its range (:mod:`localbias.registry.ranges`) are errors, before anything runs.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from localbias.errors import BadTable, BadValues, unknown
from localbias.registry import ranges


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, type hint, default and comment."""

    name: str
    hint: str
    default: Any
    help: str

    def check(self, value: Any, notebook: str) -> Any:
        """The value, when it has the declared type and lies in its range; raises BadValues or UnknownName otherwise."""
        value = self.typed(value, notebook)
        ranges.check(self.name, value, ranges.OF_NOTEBOOK.get(notebook, ranges.RANGES), notebook, self.help)
        return value

    def typed(self, value: Any, notebook: str) -> Any:
        """The value, when it has the declared type; raises BadValues otherwise."""
        try:
            return TypeAdapter(_resolve(self.hint), config=ConfigDict(strict=True)).validate_python(value)
        except ValidationError as error:
            raise BadValues(
                f"parameter {self.name!r} has a value of the wrong type",
                where=notebook,
                expected=f"{self.hint}, such as {self.default!r}",
                got=f"{value!r} ({type(value).__name__})",
                todo=f"pass {self.name}=… as {self.hint} ({self.help or 'no comment'})",
            ) from error


def _resolve(hint: str) -> Any:
    """The type of a hint made of builtin names: ``list[str] | str``."""
    known = {t.__name__: t for t in (str, int, float, bool, list, dict, tuple)} | {"None": None, "Any": Any}
    return eval(compile(ast.parse(hint, mode="eval"), "<hint>", "eval"), {"__builtins__": {}}, known)


def declared(notebook: Path) -> dict[str, Parameter]:
    """The parameters of a notebook's one cell tagged ``parameters``.

    Raises
    ------
    BadTable
        When the notebook does not have exactly one such cell, or a line of it is no typed assignment.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise BadTable(
            "a notebook must have exactly one cell tagged 'parameters'",
            where=notebook.name,
            expected="1 cell",
            got=f"{len(tagged)} cells",
            todo="tag the cell that sets the parameters, and only that",
        )
    return {p.name: p for p in _read_cell("".join(tagged[0]["source"]), notebook.name)}


def _read_cell(source: str, where: str) -> list[Parameter]:
    """``name: type = value  # comment`` lines (papermill's own reader drops hints such as ``list[str] | str``)."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    found = []
    for node in ast.parse(source).body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value):
            raise BadTable(
                "a parameters cell holds only typed assignments",
                where=f"{where}: {ast.unparse(node)}",
                expected="name: type = value  # comment",
                todo="add the type, or move the line to another cell",
            )
        comment = comments.get(node.end_lineno, "")
        found.append(Parameter(node.target.id, ast.unparse(node.annotation), ast.literal_eval(node.value), comment))
    return found


def validated(notebook: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, checked against what the notebook declares.

    Raises
    ------
    UnknownName
        For a parameter that the notebook does not have; the nearest name is offered.
    BadValues
        For a value of another type than the declared one, or outside its range.
    """
    known = declared(notebook)
    for name in asked:
        if name not in known:
            raise unknown(f"parameter of {notebook.stem}", name, known)
    return {name: known[name].check(value, notebook.stem) for name, value in asked.items()}


def from_text(notebook: Path, assignments: list[str]) -> dict[str, Any]:
    """``name=value`` texts of the command line as typed values.

    A value is read as JSON when that has the declared type, else as the text itself, so ``x=no`` is
    the text "no" for a ``str`` and an error for a ``bool`` (write ``true`` or ``false``).
    """
    known = declared(notebook)
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, sign, text = assignment.partition("=")
        if not sign:
            raise BadValues(
                "a parameter must be given as name=value", got=repr(assignment), todo="-p model=all-minilm-l6-v2"
            )
        if name not in known:
            raise unknown(f"parameter of {notebook.stem}", name, known)
        if name in values:
            raise BadValues(f"parameter {name!r} is given twice", where=notebook.stem, todo="give it once")
        values[name] = _from_json_or_text(known[name], text, notebook.stem)
    return values


def _from_json_or_text(parameter: Parameter, text: str, notebook: str) -> Any:
    try:
        value = parameter.typed(json.loads(text), notebook)
    except (json.JSONDecodeError, RecursionError, BadValues):
        value = text
    return parameter.check(value, notebook)


def check_choices(notebook: Path, effective: dict[str, Any]) -> None:
    """Refuse a ``test_shown`` that is not among ``tests``, and so every ``…_shown`` beside a list; "auto" is never.

    Raises
    ------
    UnknownName
        The nearest of the list is offered.
    """
    for name, value in effective.items():
        among = effective.get(name.removesuffix("_shown") + "s") if name.endswith("_shown") else None
        if name == "test_shown" and isinstance(among, str) and value != "auto":
            from localbias.studies.weat import tests_of

            among = list(tests_of(among, effective.get("dataset", "auto")))
        if isinstance(among, list) and value not in ("auto", *among):
            raise unknown(f"{name} of {notebook.stem}", value, ["auto", *among])
