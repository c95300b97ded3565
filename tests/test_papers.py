"""What the book says of the papers: its numbers of sections, tables and figures, and the printed values.

The oracles are ``data/papers``, read off the papers' text, and hand calculations; the papers are not in the repository.
"""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from localbias.registry import LANGUAGES, METHODS, TESTS
from localbias.studies import published

ROOT = Path(__file__).resolve().parent.parent
PLACES = pd.read_csv(ROOT / "data/papers/places.csv", dtype=str).set_index(["paper", "place"])
NUMBER = r"\d+(?:\.\d+)*"
MENTION = re.compile(
    rf"\b(Figure|Table|[Ss]ection|Equation)s?\s+({NUMBER}(?:(?:\s*[–-]\s*|,\s+(?:and\s+)?|\s+and\s+){NUMBER}(?![\d.]*\w))*)"
)
PAPERS = {"WEATHub": r"WEATHub|Mukherjee", "FilBBQ": r"FilBBQ|Gamboa"}
OTHERS = re.compile(r"\b[A-Z][a-zé]+\s+(?:et\s+al\.|and\s+[A-Z][a-z]+)|\b[A-Z][a-z]+\s+\(?\d{4}")


def texts():
    """Every text of the repository that may speak of the papers: where, the page's paper (or none), the text."""
    for pattern in ("lib/**/*.py", "benchmarks/*.py", "book/*.md", "README.md", "data/*.md", "data/[lps]*/*.md"):
        for file in sorted(ROOT.glob(pattern)):
            yield str(file.relative_to(ROOT)), "", file.read_text(encoding="utf-8")
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            page = "FilBBQ" if file.stem[:2] in ("07", "10") else "WEATHub"
            yield f"notebooks/{file.stem}#{cell['id']}", page, "".join(cell["source"])


def numbers(said: str) -> list[str]:
    """ "6–8 and 12" → 6, 7, 8, 12; "4.1–4.2" → 4.1, 4.2."""
    found = []
    for first, _, last in re.findall(rf"({NUMBER})(\s*[–-]\s*({NUMBER}))?", said):
        head, _, low = first.rpartition(".")
        high = (last or first).rpartition(".")[2]
        found += [f"{head}.{n}" if head else str(n) for n in range(int(low), int(high) + 1)]
    return found


def paper_of(text: str, start: int, end: int, default: str) -> str:
    """Which paper a mention speaks of: "… of FilBBQ" after it, else the last one named before it; "other" works."""
    for name, pattern in PAPERS.items():
        if re.match(rf" of (?:{pattern})", text[end:]):
            return name
    named = [(m.start(), name) for name, pattern in PAPERS.items() for m in re.finditer(pattern, text[:start])]
    near = [(m.start(), "other") for m in OTHERS.finditer(text[:start]) if start - m.end() < 60]
    return max([*named, *near, (-1, default)])[1]


def mentions():
    for where, page, text in texts():
        for m in MENTION.finditer(text):
            paper = paper_of(text, m.start(), m.end(), page)
            key = text[m.start() - 1 : m.start()] + text[m.end() : m.end() + 1] in ("''", '""')  # "Figure 1" by itself
            if paper != "other" and (not key or text[m.end() + 1 : m.end() + 2] == ":"):
                around = text[max(0, m.start() - 240) : m.end() + 160]
                yield from ((where, paper, f"{m[1]} {n}".replace("Section", "section"), around) for n in numbers(m[2]))


def wrong(where: str, paper: str, place: str, around: str) -> str:
    """What is wrong with a mention: no such place, another page's, or the text speaks of something else."""
    if (paper, place) not in PLACES.index:
        return "the paper has none, or the mention does not say which paper"
    held = PLACES.loc[(paper, place)]
    page = re.match(r"notebooks/(\d\d)", where)
    if page and page[1] != "08" and page[1] not in held["pages"].split():
        return f"belongs on page {held['pages']}"
    return "" if re.search(held["words"], around, re.IGNORECASE) else f"is about {held['what']}"


def test_every_mention_of_a_place_in_the_papers_is_right():
    found = list(mentions())
    assert len(found) > 60  # the scan sees the book
    assert [(w, p, n, fault) for w, p, n, around in found if (fault := wrong(w, p, n, around))] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The ten ways of getting a word's vector (WEATHub, section 3.2 and Table 2).", "is about five dimensions"),
        ("The paper (FilBBQ, section 4.4) prints the wording.", "the paper has none"),
        ("models compared, other languages (WEATHub, Figure 18)", "is about Figure 4 enlarged"),
        ("ten methods (WEATHub, section 4.1)", "is about patterns"),
    ],
)
def test_the_scan_sees_the_mistakes_that_were_made(text, fault):
    faults = [
        wrong("lib/x.py", paper_of(text, m.start(), m.end(), ""), f"{m[1]} {n}", text)
        for m in MENTION.finditer(text)
        for n in numbers(m[2])
    ]
    assert any(found.startswith(fault) for found in faults)


def test_places_are_those_of_the_papers():
    """18 figures and 8 tables, 2 and 5: counted in the papers."""
    count = PLACES.reset_index().assign(kind=lambda t: t.place.str.split().str[0]).groupby(["paper", "kind"]).size()
    assert (count["WEATHub", "Figure"], count["WEATHub", "Table"]) == (18, 8)
    assert (count["FilBBQ", "Figure"], count["FilBBQ", "Table"], count["FilBBQ", "Equation"]) == (2, 5, 2)
    pages = {file.stem[:2] for file in (ROOT / "notebooks").glob("*.ipynb")}
    assert {page for held in PLACES["pages"] for page in held.split()} <= pages


def places_of(section: str) -> list[str]:
    """ "4.2, Tables 3–4" → section 4.2, Table 3, Table 4: how a claim says where it stands."""
    found = []
    for part in re.split(r",\s*", section):
        known = re.match(r"(Figure|Table|Equation)s? (.*)", part)
        kind, said = known.groups() if known else ("section", part)
        found += [f"{kind} {n}" for n in numbers(said)] or [part]
    return found


@pytest.mark.parametrize("file", sorted((ROOT / "data/papers").glob("*_claims.yml")), ids=lambda f: f.stem)
def test_a_claim_stands_where_the_paper_has_a_place_and_on_a_page_of_it(file):
    paper = {"weathub_claims": "WEATHub", "filbbq_claims": "FilBBQ"}[file.stem]
    for claim in yaml.safe_load(file.read_text(encoding="utf-8")):
        held = places_of(str(claim["section"]))
        assert all((paper, place) in PLACES.index for place in held), (claim["id"], held)
        pages = {page for place in held for page in PLACES.loc[(paper, place), "pages"].split()}
        assert claim["page"] in pages, (claim["id"], claim["page"], pages)


def test_nothing_says_that_the_papers_could_not_be_read():
    assert [where for where, _, text in texts() if re.search(r"could not\s+be\s+consulted|second-hand", text)] == []


def test_printed_values_can_be_right():
    weathub, filbbq = published.printed("WEATHub"), published.printed("FilBBQ")
    assert weathub.groupby("table").size().to_dict() == {
        f"Table {n}": k for n, k in zip("45678", (8, 2, 10, 4, 10), strict=True)
    }
    assert set(weathub.language) <= set(LANGUAGES) and set(weathub.test) <= set(TESTS)
    assert weathub[weathub.table == "Table 6"].method.tolist() == list(METHODS)
    assert set(weathub.group) <= set(published.GROUPS.values())
    assert weathub.p.between(0, 1).all() and weathub.d.between(-2, 2).all()
    profiles = filbbq[filbbq["rank"].notna()]
    assert profiles.groupby(["place", "context"]).size().tolist() == [5] * 6
    assert profiles.groupby(["place", "context"])["value"].is_monotonic_decreasing.all()
    table2 = filbbq[filbbq.place == "Table 2"].pivot(index="entry", columns="dimension", values="value")
    assert (table2["gender"] + table2["sexual orientation"] == table2["all"]).all()
    assert table2.loc["templates in all", "all"] == 123 and table2.loc["prompts", "all"] == 10_576
    again = filbbq[filbbq.place.str.startswith("section 5") & filbbq.note.eq("")]
    both = again.merge(profiles, on=["model", "context", "entry"])
    assert len(both) == 6 and (both.value_x == both.value_y).all()  # what the text repeats is what the tables print


@pytest.mark.mirror
def test_all_34_printed_pairs_are_those_of_the_result_files():
    assert published.printed_cells(published.published_results()).matches.tolist() == [True] * 34


@pytest.mark.mirror
@pytest.mark.parametrize("column", ["d", "p"])
def test_one_changed_cell_changes_its_row_and_no_other(column):
    results = published.published_results()
    said = published.printed("WEATHub").iloc[7]
    hit = results.set_index(["language", "group", "method", "source", "test"]).index.get_loc(
        (said.language, said.group, said.method, said.source, said.test)
    )
    results.loc[hit, column] += 0.001
    assert published.printed_cells(results).matches.tolist() == [k != 7 for k in range(34)]


def test_a_printed_cell_that_no_file_has_does_not_match():
    results = pd.DataFrame(columns=["language", "group", "method", "source", "test", "d", "p"])
    checked = published.printed_cells(results)
    assert not checked.matches.any() and checked.file_d.isna().all()
