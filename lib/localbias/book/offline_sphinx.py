"""Sphinx extension: everything a reader's browser needs comes from the book itself.

It writes one Vega bundle for the live charts, renders formulas as MathML, copies the results of
the run beside the pages, folds code, and adds the directives through which prose quotes what a run computed:

``{finding} key``
    A sentence that a notebook wrote with :func:`localbias.book.page.finding`.
``{measured} path.csv``
    A table of the repository; option ``caption``.
``{effect-size-picture}``, ``{coverage-picture} path.csv``
    The charts that explain an effect size and what its intervals are worth.
``{rule-levels}``
    How often the papers' significance rule finds something in nothing, by set size.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import vl_convert as vlc
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from latex2mathml.converter import convert as to_mathml
from sphinx.util.docutils import SphinxDirective

from localbias import files
from localbias.book import page
from localbias.book.charts import explain, render

ABSENT = "Not computed in this run."


# --- formulas ---------------------------------------------------------------------------------


def _inline_math(self, node):
    self.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _block_math(self, node):
    self.body.append(f'<div class="lb-math">{to_mathml(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


# --- directives -------------------------------------------------------------------------------


class Finding(SphinxDirective):
    """The sentence of a finding, with a link to its page; a plain note when the run has none."""

    required_arguments = 1

    def run(self):
        path = self.env.app.localbias_files.get(f"findings/{self.arguments[0]}.json")
        if path is None:
            return [_absent()]
        held = json.loads(path.read_text(encoding="utf-8"))
        text = held["sentence"]
        if held.get("page") and f"book/_executed/{held['page']}" in self.env.found_docs:
            text += f" [Shown here](/book/_executed/{held['page']})"
        box = nodes.container(classes=["lb-finding"])
        self.state.nested_parse(StringList([text], source=str(path)), 0, box)
        return [box]


class Measured(SphinxDirective):
    """A CSV file of the repository as a table; a plain note when it is not there."""

    required_arguments = 1
    option_spec = {"caption": directives.unchanged}

    def run(self):
        path = Path(self.env.srcdir, self.arguments[0])
        self.env.note_dependency(str(path))
        if not path.is_file():
            return [_absent()]
        return [
            _raw(_table_figure(page.table_html(files.read_checked(path, pd.read_csv)), self.options.get("caption", "")))
        ]


class EffectSizePicture(SphinxDirective):
    """What an effect size looks like, drawn from its formula."""

    def run(self):
        return [_raw(render.figure(explain.effect_size_picture()))]


class CoveragePicture(SphinxDirective):
    """What share of simulated intervals holds the true value, from a table of the repository."""

    required_arguments = 1

    def run(self):
        path = Path(self.env.srcdir, self.arguments[0])
        self.env.note_dependency(str(path))
        if not path.is_file():
            return [_absent()]
        table = files.read_checked(path, pd.read_csv)
        text = explain.coverage_facts(table)
        return [_raw(render.figure(explain.coverage_picture(table))), nodes.paragraph("", text)]


class RuleLevels(SphinxDirective):
    """The true level of the papers' significance rule and the smallest p, for some set sizes."""

    def run(self):
        from localbias.measures.adjust import paper_rule_level
        from localbias.measures.permutation import smallest_p

        sizes = (3, 4, 5, 6, 8, 10, 25)
        table = pd.DataFrame(
            {
                "words in X and in Y": sizes,
                "called significant when there is nothing": [f"{100 * paper_rule_level(n, n):.1f} %" for n in sizes],
                "smallest two-sided p": [f"{smallest_p(n, n):.2g}" for n in sizes],
            }
        )
        return [_raw(_table_figure(page.table_html(table)))]


def _raw(body: str) -> nodes.raw:
    return nodes.raw("", body, format="html")


def _absent() -> nodes.paragraph:
    return nodes.paragraph("", "", nodes.emphasis(text=ABSENT), classes=["lb-absent"])


def _table_figure(body: str, caption: str = "") -> str:
    title = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure class="lb-table">{title}<div class="lb-table-box" tabindex="0">{body}</div></figure>'


# --- what is copied beside the pages ----------------------------------------------------------


def _find_results(app):
    """The tables and findings of the book's whole pages, by name."""
    app.localbias_files = files.published_files(Path(app.srcdir))


def _write_vega_bundle(app, exception):
    """One script with Vega, Vega-Lite and Vega-Embed, in a function of its own: its names collide otherwise."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", "vega-bundle.js")
    bundle = vlc.javascript_bundle("window.vegaEmbed=vegaEmbed;", vl_version=render.VEGA_LITE)
    with files.replacing(target) as draft:
        draft.write_text("(()=>{" + bundle + "})();", encoding="utf-8")


def _copy_results(app, exception):
    """The tables that the pages link to, and nothing else of the results."""
    if exception is not None or app.builder.format != "html":
        return
    linked = set()
    for written in Path(app.outdir).rglob("*.html"):
        linked |= set(re.findall(r'href="(?:\.\./)+results/([^"/?#]+)"', written.read_text(encoding="utf-8")))
    for name in sorted(linked & set(app.localbias_files)):
        target = Path(app.outdir, "results", name)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(app.localbias_files[name], target)


def _fold_code(app, doctree):
    """Pages are read before they are rerun: code cells open at a click."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and not cell.get("hide_mode"):
            cell["hide_mode"] = "input"
            cell["prompt_show"], cell["prompt_hide"] = app.config.nb_code_prompt_show, app.config.nb_code_prompt_hide


def _without_thebe(app, pagename, templatename, context, doctree):
    """Leave out the script that would start remote kernels: it names a remote address, and is loaded twice."""
    context["script_files"] = [f for f in context.get("script_files", []) if "thebe" not in _script_text(f).lower()]
    context["css_files"] = [f for f in context.get("css_files", []) if "thebe" not in str(f)]


def _script_text(script) -> str:
    return f"{script} {getattr(script, 'attributes', {}).get('body', '')}"


def setup(app):
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.add_directive("finding", Finding)
    app.add_directive("measured", Measured)
    app.add_directive("effect-size-picture", EffectSizePicture)
    app.add_directive("coverage-picture", CoveragePicture)
    app.add_directive("rule-levels", RuleLevels)
    app.add_css_file("localbias.css")
    app.add_js_file("localbias.js", loading_method="defer")
    app.connect("builder-inited", _find_results)
    app.connect("doctree-read", _fold_code)
    app.connect("html-page-context", _without_thebe, priority=900)
    app.connect("build-finished", _write_vega_bundle)
    app.connect("build-finished", _copy_results)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
