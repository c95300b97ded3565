"""A chart as HTML that needs no network: a static SVG, and the same chart's specification beside it.

The SVG is what a reader without scripts, a printer or a search engine gets. The book's own script
replaces it by the live chart. Title, subtitle and description are HTML, so that they wrap, scale
and can be read aloud.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from typing import Any

import altair as alt
import vl_convert as vlc

from localbias.errors import LocalBiasError

VEGA_LITE = "6.4"
"""Version of Vega-Lite that draws the pictures and the live charts alike."""


def figure(chart: Any) -> str:
    """A chart (Altair object or specification) as an HTML figure; same chart, same bytes.

    Raises
    ------
    LocalBiasError
        When the chart has no description.
    """
    spec = dict(chart) if isinstance(chart, dict) else chart.to_dict()
    description = str(spec.get("description") or "").strip()
    if not description:
        raise LocalBiasError(
            "a chart needs a description",
            expected="a sentence for readers who cannot see the chart",
            got="none",
            todo="pass description='…' to the chart",
        )
    title, subtitle = _pop_title(spec)
    fluid = bool((spec.get("usermeta") or {}).get("fluid"))
    body = json.dumps(spec, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    name = "chart-" + hashlib.sha256((title + subtitle + body).encode()).hexdigest()[:12]
    parts = [f'<figure class="lb-chart{" lb-fluid" if fluid else ""}" id="{name}">']
    if title:
        parts.append(f'<p class="lb-chart-title">{html.escape(title)}</p>')
    if subtitle:
        parts.append(f'<p class="lb-chart-subtitle">{html.escape(subtitle)}</p>')
    parts.append(f'<div class="lb-chart-box" tabindex="0">{svg(spec, name, title or description)}</div>')
    parts.append(f'<script type="application/json">{_in_script(body)}</script>')
    parts.append(f"<figcaption>{html.escape(description)}</figcaption></figure>")
    return "".join(parts)


def svg(spec: dict, name: str, title: str) -> str:
    """The static picture of a specification; its ids begin with ``name``, so that pages can hold many."""
    drawn = vlc.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    drawn = _own_ids(drawn, name)
    label = html.escape(str(spec.get("description", title)), quote=True)
    opening = re.match(r"<svg\b[^>]*>", drawn)
    if opening is None:
        raise LocalBiasError("the drawing program gave no SVG", got=drawn[:80], where=name)
    head = re.sub(r'\s(?:class|role|aria-label|xmlns:xlink)="[^"]*"', "", opening.group(0))[:-1]
    return f'{head} role="img" aria-label="{label}"><title>{html.escape(title)}</title>{drawn[opening.end() :]}'


def _pop_title(spec: dict) -> tuple[str, str]:
    title = spec.pop("title", None) or ""
    if isinstance(title, dict):
        return _text(title.get("text")), _text(title.get("subtitle"))
    return _text(title), ""


def _text(value: Any) -> str:
    return " ".join(value).strip() if isinstance(value, list) else str(value or "").strip()


def _in_script(body: str) -> str:
    """JSON that cannot close the script element that holds it."""
    return body.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _own_ids(drawn: str, name: str) -> str:
    found = list(dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn)))
    for number, old in enumerate(found):
        new = f"{name}-{number}"
        drawn = drawn.replace(f'id="{old}"', f'id="{new}"').replace(f"url(#{old})", f"url(#{new})")
        drawn = drawn.replace(f'href="#{old}"', f'href="#{new}"')
    return drawn


def renderer(spec: dict, **_: Any) -> dict[str, Any]:
    """Altair's renderer for the book and for JupyterLab.

    A book run (``LOCALBIAS_RESULTS`` is set) gets HTML only; a session at the keyboard also gets
    the specification, which JupyterLab draws live.
    """
    bundle: dict[str, Any] = {"text/html": figure(spec), "text/plain": str(spec.get("description", "chart"))}
    if not os.environ.get("LOCALBIAS_RESULTS"):
        bundle["application/vnd.vegalite.v5+json"] = _for_lab(spec)
    return bundle


def _for_lab(spec: dict) -> dict:
    """JupyterLab's drawing program is one major version behind and warns unless the schema says so."""
    return spec | {"$schema": "https://vega.github.io/schema/vega-lite/v5.json"}


def use() -> None:
    """Make this the renderer of the session, for tables of any size."""
    alt.renderers.register("localbias", renderer)
    alt.renderers.enable("localbias")
    alt.data_transformers.disable_max_rows()
