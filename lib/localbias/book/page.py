"""What a page of the book shows besides its charts: banners, computed sentences, tables, word lists.

Every function displays something in the running notebook; nothing here computes. Tables go to
``LOCALBIAS_RESULTS``, the draft of a run, and the site offers them for download. At the keyboard they go to
``data/results/interactive``, which no page of the book reads.

A *book run* is one with ``LOCALBIAS_RESULTS`` set. In it, a table's name belongs to one table; at
the keyboard a cell may be run again with other parameters.
"""

from __future__ import annotations

import hashlib
import html
import json
import math
import os
import re
import string
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import pandas as pd
from IPython.display import HTML, Markdown, display

from localbias import files
from localbias.book.charts import render
from localbias.errors import BadTable, LocalBiasError
from localbias.registry import LANGUAGES, METHODS, MODELS, TESTS, label_of

MAX_ROWS = 100
"""Rows of a table that a page shows at most; the files hold all."""

LONG_TEXT = 36
"""Characters from which a column's cells wrap."""

WARNING = "These words are offensive or hurtful to some readers. They are shown because the measure is made of them."
SOURCE = ("dataset", "model", "revision", "weights", "protocol")
"""Columns that say whose numbers a row holds; every table that is written has them, as far as they apply."""
_written: dict[str, str] = {}
_sources: list[pd.DataFrame] = []


def banner(
    dataset: str | None = None, model: str | Sequence[str] | None = None, notes: Sequence[str] = (), **facts: Any
) -> None:
    """Say at the top of a page what it was computed from, and what a reader must know about it.

    Parameters
    ----------
    dataset : str, optional
        "weathub", "filbbq", "starter" or a lexicon's name. The starter gets a warning of its own.
    model : str or list of str, optional
        Model names; approximate (4-bit, quantised) weights are announced.
    notes : list of str
        Further sentences: subsets, substitutes, what is missing.
    **facts
        Other choices worth a line: ``protocol="in-context"``, ``methods="M5"``.
    """
    models = [model] if isinstance(model, str) else list(model or ())
    if dataset:
        source({"dataset": dataset})
    rows = [("prompts" if dataset == "filbbq" else "words", dataset)] if dataset else []
    rows += [("model" if len(models) == 1 else "models", ", ".join(map(_model_title, models)))] if models else []
    rows += [
        (k.replace("_", " "), ", ".join(map(str, v)) if isinstance(v, (list, tuple)) else v) for k, v in facts.items()
    ]
    warnings = []
    if dataset == "starter":
        warnings.append(
            "The published word lists and templates are not at hand. This page uses the starter lexicon: "
            "machine-written, not validated by native speakers, for trying the book out. Its numbers are no findings."
        )
    light = [m for m in models if m in MODELS and MODELS[m].weights != "float32"]
    if light:
        names = ", ".join(_model_title(m) for m in light)
        warnings.append(f"Approximate weights: {names}. Effects differ somewhat from the full-precision model's.")
    text = "".join(f"<div><dt>{_text(k)}</dt><dd>{_text(v)}</dd></div>" for k, v in rows)
    body = f'<dl class="lb-facts">{text}</dl>' if rows else ""
    body += "".join(f"<p>{_text(w)}</p>" for w in [*warnings, *notes])
    kind = "warning" if dataset == "starter" else "note"
    title = "Starter lexicon" if dataset == "starter" else "This page was computed from"
    _show(f'<div class="admonition {kind} lb-banner"><p class="admonition-title">{title}</p>{body}</div>')


def source(*results: pd.DataFrame | Mapping[str, Any]) -> None:
    """Say whose numbers the tables of this page hold from here on: those of these results (see :func:`attributed`)."""
    _sources[:] = [pd.DataFrame([r]) if isinstance(r, Mapping) else r for r in results]


def attributed(df: pd.DataFrame, *results: pd.DataFrame | Mapping[str, Any]) -> pd.DataFrame:
    """The table with the columns of :data:`SOURCE` that it lacks, from the rows of ``results`` that agree with it.

    A row takes what the results say for its own values of these columns; where they say several things (a
    row sums up two models), it names them all, separated by "; ".

    Raises
    ------
    BadTable
        When a row is of a data set, model or protocol that the results do not have.

    Examples
    --------
    >>> runs = pd.DataFrame({"model": ["a", "b"], "weights": ["float32", "4-bit"]})
    >>> attributed(pd.DataFrame({"model": ["b", "a; b"]}), runs, {"dataset": "mine"})["weights"].tolist()
    ['4-bit', 'float32; 4-bit']
    """
    for result in results or _sources:
        result = pd.DataFrame([result]) if isinstance(result, Mapping) else result
        known = result[[c for c in SOURCE if c in result]].drop_duplicates().astype(str)
        shared, new = [c for c in known if c in df], [c for c in known if c not in df]
        if new:
            keys = _keys(df, shared)
            said = {key: _agreeing(known, dict(zip(shared, key, strict=True)), new) for key in dict.fromkeys(keys)}
            df = df.assign(**{c: [said[key][c] for key in keys] for c in new})
    return df


def _keys(df: pd.DataFrame, columns: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(df[c].astype(str) for c in columns), strict=True)) if columns else [()] * len(df)


def _agreeing(known: pd.DataFrame, values: dict[str, str], new: list[str]) -> dict[str, str]:
    for column, value in values.items():
        agree = known[column].isin([value, *value.split("; ")])
        if not agree.any():
            raise BadTable(
                "a row of a table is not of the results that its page names",
                expected=f"{column}: {', '.join(known[column].unique())}",
                got=value,
                todo="give table() the results it comes from: source=…",
            )
        known = known[agree]
    return {c: "; ".join(known[c].unique()) for c in new}


def say(sentence: str, **values: Any) -> None:
    """A sentence of Markdown whose values are computed: ``say("{n} of {all:,} cells", n=3, all=1200)``.

    The sentence is Markdown, its values are text: what they hold is shown as it stands (:func:`literal`).

    Raises
    ------
    LocalBiasError
        When a value that the sentence names is not given.
    """
    display(Markdown(sentence_text(sentence, **values)))


def sentence_text(sentence: str, **values: Any) -> str:
    """The sentence with its values, texts made literal; missing numbers read "undefined", minus signs are true ones.

    >>> sentence_text("d = {d:.2f}, {n:,} words, {x:.1f}", d=-0.5, n=1200, x=float("nan"))
    'd = −0.50, 1,200 words, undefined'
    >>> print(sentence_text("*{id}*", id="<b>a_b"))
    *\\<b\\>a\\_b*
    """
    try:
        return _Sentence().vformat(sentence, (), values)
    except KeyError as missing:
        raise LocalBiasError(
            f"the sentence names a value that is not given: {missing}",
            expected=", ".join(_fields(sentence)),
            got=", ".join(values) or "none",
            where=sentence,
        ) from None


_MARKUP = re.compile(r"""[\\`*_{}\[\]<>#|~$&^=+:/@!"]|\.(?=[^\W\d])|^[-%.(]|(?<=-)-""")


def literal(value: Any) -> str:
    """A text as Markdown that shows it and does nothing else: no element, link, role, formula or list comes of it.

    >>> print(literal("[a](b) {role}`c` <i>"))
    \\[a\\](b) \\{role\\}\\`c\\` \\<i\\>
    """
    return _MARKUP.sub(r"\\\g<0>", " ".join(str(value).split()))


def code(value: Any) -> str:
    """A text as a Markdown code span, of a table's cell too: fenced by more backticks than it holds in a row.

    >>> code("a|b"), code("x`y")
    ('`a\\\\|b`', '`` x`y ``')
    """
    text = " ".join(str(value).split())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if len(fence) > 1 or not text else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"


def finding(key: str, sentence: str, page: str = "", **values: Any) -> None:
    """A computed sentence that the start page of the book repeats (its ``finding`` directive).

    Parameters
    ----------
    key : str
        Name of the finding: letters, digits and "-".
    page : str
        File name of the page that shows it, for a link: "03-cross-lingual-weat".
    """
    _check_name(key)
    text = sentence_text(sentence, **values)
    with files.replacing(files.results_dir() / "findings" / f"{key}.json") as draft:
        held = {"key": key, "page": page, "sentence": text}
        draft.write_text(json.dumps(held, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    display(Markdown(text))


def show(chart: Any) -> None:
    """Display a chart: its picture, which becomes live where scripts run."""
    display(render.renderer(chart if isinstance(chart, dict) else chart.to_dict()), raw=True)


def table(
    df: pd.DataFrame,
    name: str,
    *,
    caption: str = "",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    formats: Mapping[str, str | Callable[[Any], str]] | None = None,
    head: int | None = None,
    words: Mapping[str, str] | None = None,
    source: pd.DataFrame | Mapping[str, Any] | None = None,
) -> None:
    """Show a table that scrolls in its own box, and write it whole as ``name.csv`` and ``name.parquet``.

    Parameters
    ----------
    df : DataFrame
        The table; all its columns are written.
    name : str
        File name without ending, used once in the whole book.
    columns : list or mapping, optional
        Columns shown, in this order; a mapping also gives their headings.
    formats : mapping, optional
        Column → format ("{:.2f}" or ".2f") or function of the value.
    head : int, optional
        Rows shown; never more than :data:`MAX_ROWS`.
    words : mapping, optional
        Column of words → language code, or the column that holds the code: shown in their own
        script and direction.
    source : DataFrame or mapping, optional
        The results that the table sums up, or what is to be said of them; by default the page's
        (:func:`source`). The files get the columns of :data:`SOURCE` that the table lacks.

    Raises
    ------
    BadTable
        When a named column is missing, or another table already has this name.
    """
    _check_name(name)
    whole = attributed(df) if source is None else attributed(df, source)
    _claim(name, whole)
    files.write_table(whole, files.results_dir() / name)
    rows = min(len(df), head or MAX_ROWS, MAX_ROWS)
    body = table_html(df.head(rows), columns=columns, formats=formats, words=words)
    count = f"{len(df):,} rows" if rows == len(df) else f"{rows:,} of {len(df):,} rows shown"
    base = _link_base()
    links = " · ".join(
        f'<a href="{base}{name}.{end}" download>{title}</a>' for end, title in (("csv", "CSV"), ("parquet", "Parquet"))
    )
    title = f"<figcaption>{_text(caption)}</figcaption>" if caption else ""
    _show(
        f'<figure class="lb-table">{title}<div class="lb-table-box" tabindex="0">{body}</div>'
        f'<p class="lb-download">{count} · whole table: {links}</p></figure>'
    )


def table_html(
    df: pd.DataFrame,
    *,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    formats: Mapping[str, str | Callable[[Any], str]] | None = None,
    words: Mapping[str, str] | None = None,
) -> str:
    """A table as HTML, its text escaped; see :func:`table` for the parameters.

    >>> table_html(pd.DataFrame({"d": [-0.5, None]}), formats={"d": ".1f"}).count("<td")
    2
    """
    headings = (
        dict(columns) if isinstance(columns, Mapping) else {c: str(c).replace("_", " ") for c in columns or df.columns}
    )
    formats, words = dict(formats or {}), dict(words or {})
    for column in [*headings, *formats, *words]:
        if column not in df.columns:
            raise BadTable(
                f"the table has no column {column!r}", expected=", ".join(map(str, df.columns)), got=repr(column)
            )
    kinds = {c: _column_class(df[c]) for c in headings}
    top = "".join(f'<th scope="col"{kinds[c]}>{_text(h)}</th>' for c, h in headings.items())
    tongue = {c: df[w].tolist() if w in df.columns else [w] * len(df) for c, w in words.items()}
    cells = {
        c: [word(v, tongue[c][i]) if c in words else _cell(v, formats.get(c)) for i, v in enumerate(df[c].tolist())]
        for c in headings
    }
    body = "".join(
        "<tr>" + "".join(f"<td{kinds[c]}>{cells[c][i]}</td>" for c in headings) + "</tr>" for i in range(len(df))
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def closed(title: str, content: str | pd.DataFrame, warning: bool | str = True, **table_options: Any) -> None:
    """A dropdown that stays closed until a reader opens it.

    Parameters
    ----------
    content : str or DataFrame
        HTML (made with :func:`word` and the like), or a table.
    warning : bool or str
        A content warning at its top: the usual one, another one, or none.
    """
    body = table_html(content, **table_options) if isinstance(content, pd.DataFrame) else content
    note = f'<p class="lb-warning">{_text(WARNING if warning is True else warning)}</p>' if warning else ""
    mark = '<span class="lb-sensitive">sensitive words</span>' if warning else ""
    _show(
        f'<details class="lb-closed"><summary>{_text(title)}{mark}</summary>{note}'
        f'<div class="lb-table-box">{body}</div></details>'
    )


def word(text: Any, language: str) -> str:
    """A word as HTML that states its language and direction.

    >>> word("گلاب", "ur")
    '<bdi lang="ur" dir="rtl">گلاب</bdi>'
    """
    direction = LANGUAGES[language].direction if language in LANGUAGES else "auto"
    return f'<bdi lang="{html.escape(str(language), quote=True)}" dir="{direction}">{_text(text)}</bdi>'


def words(sets: Any) -> None:
    """The four word lists of a test (a ``WordSets``), closed, with a content warning."""
    spec, columns = TESTS.get(sets.test), []
    own = sets.provenance.get("categories") or {role: f"{sets.test} {role}" for role in "XYAB"}
    for role, title in (spec.sets if spec else own).items():
        held = getattr(sets, role.lower())
        items = "".join(f"<li>{word(w, sets.language)}</li>" for w in held)
        columns.append(f"<div><h5>{role}: {_text(title)} ({len(held)})</h5><ul>{items}</ul></div>")
    tongue = LANGUAGES[sets.language].name if sets.language in LANGUAGES else sets.language
    name = f"{label_of(sets.test)} ({spec.title})" if spec else sets.test
    title = f"Words of {name}, {tongue}, {sets.variant}"
    closed(title, f'<div class="lb-words">{"".join(columns)}</div>')


# --- parts ------------------------------------------------------------------------------------


class _Sentence(string.Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        if _missing(value):
            return "undefined"
        text = super().format_field(value, spec)
        return text.replace("-", "−") if isinstance(value, Real) else literal(text)


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, Real) and math.isnan(value))


def _fields(sentence: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(sentence) if name]


def _show(body: str) -> None:
    display(HTML(body))


def _text(value: Any) -> str:
    return html.escape(str(value), quote=False)


def _column_class(column: pd.Series) -> str:
    """Numbers stand right; long texts get room and wrap, all else stays on one line."""
    if pd.api.types.is_bool_dtype(column):
        return ""
    if pd.api.types.is_numeric_dtype(column):
        return ' class="lb-num"'
    return ' class="lb-long"' if any(len(str(v)) > LONG_TEXT for v in column) else ""


def _cell(value: Any, form: str | Callable[[Any], str] | None) -> str:
    if _missing(value):
        return '<span class="lb-none">–</span>'
    if callable(form):
        return _text(form(value))
    if form:
        text = form.format(value) if "{" in form else format(value, form)
    elif isinstance(value, bool):
        return "yes" if value else "no"
    elif isinstance(value, float):
        text = f"{value:.1e}" if 0 < abs(value) < 5e-4 else f"{value:.3f}"
    else:
        text = str(value)
    return _text(text.replace("-", "−") if isinstance(value, Real) else text)


def _model_title(name: str) -> str:
    if name in MODELS:
        return MODELS[name].title
    return f"{name} ({METHODS[name].title})" if name in METHODS else name


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", name):
        raise LocalBiasError("not a name for a file", expected="small letters, digits, '-', '_'", got=repr(name))


def _claim(name: str, df: pd.DataFrame) -> None:
    """Two different tables may not have one name in a book run."""
    digest = hashlib.sha256(df.to_csv(index=False).encode()).hexdigest()
    if os.environ.get("LOCALBIAS_RESULTS") and _written.get(name, digest) != digest:
        raise BadTable("two different tables have one name", expected="a name used once in the book", got=repr(name))
    _written[name] = digest


def _link_base() -> str:
    """From a page of the built site to its results; at the keyboard, from ``notebooks/``."""
    return "../../results/" if os.environ.get("LOCALBIAS_RESULTS") else "../data/results/interactive/"
