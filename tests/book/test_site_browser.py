"""The site in headless Chromium, network cut: a small book always, the whole one with the marker `book`.

What a page must do is checked in the browser's own terms: computed styles, boxes, requests.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

import site_sample
from localbias.book.site import build_site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1360, "height": 900}
WAIT = 60_000  # ms


@pytest.fixture(scope="session")
def small_site(tmp_path_factory):
    """The html folder of the small book."""
    root = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as monkeypatch:
        site_sample.write_book(root, monkeypatch)
        build_site(root)
    return root / "_build" / "html"


@pytest.fixture(scope="module", params=["small", pytest.param("whole", marks=[pytest.mark.book, pytest.mark.model])])
def site(request):
    return request.getfixturevalue("small_site" if request.param == "small" else "built_site")


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail(
            "the site is tested in Chromium, which is not there: install it (Debian, Ubuntu: apt install chromium)"
        )
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """A page opened from file:// with everything else refused; what it asked for and complained about."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(**({"viewport": DESK} | options))
        self.context.set_default_timeout(120_000)
        self.page = self.context.new_page()
        self.asked, self.complaints = [], []
        self.page.route("**/*", self._only_files)
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _only_files(self, route):
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()

    def open(self, path: Path, query: str = ""):
        self.page.goto(path.as_uri() + query, wait_until="load")
        return self.page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def pages(site: Path) -> list[Path]:
    return sorted((site / "book").rglob("*.html"))


def chart_page(site: Path) -> Path:
    return site / "book/_executed" / f"{site_sample.PAGE}.html"


def wake_all(page) -> int:
    """Scroll every chart into view and wait until it is live; their number. Closed boxes are opened first."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    figures = page.locator("figure.lb-chart")
    for i in range(figures.count()):
        figures.nth(i).scroll_into_view_if_needed()
    page.wait_for_function(
        "[...document.querySelectorAll('figure.lb-chart')].every(f => ['1', 'failed'].includes(f.dataset.live))",
        timeout=WAIT,
    )
    return figures.count()


@dataclass
class Seen:
    """What one page was like: as it opened, with its charts awake, on a phone."""

    path: Path
    closed: list[bool]
    charts: int
    left_static: int
    asked: list[str]
    complaints: list[str]
    wider_than_phone: int


@pytest.fixture(scope="module")
def tour(site, browser) -> list[Seen]:
    """Every page opened once."""
    seen = []
    for path in pages(site):
        with Visit(browser) as visit:
            page = visit.open(path)
            closed = page.eval_on_selector_all(
                "details.lb-closed",
                "all => all.map(d => !d.open && !d.querySelector('.lb-table-box').checkVisibility())",
            )
            charts = wake_all(page)
            left = page.locator(".lb-chart-box > svg, figure.lb-chart[data-live='failed']").count()
            page.set_viewport_size(PHONE)
            wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            seen.append(Seen(path, closed, charts, left, visit.asked, visit.complaints, wider))
    return seen


def test_every_page_loads_and_asks_nothing_of_the_network(tour):
    assert len(tour) >= 6
    assert {seen.path.name: seen.asked for seen in tour if seen.asked} == {}


def test_no_page_complains_in_the_console(tour):
    assert {seen.path.name: seen.complaints for seen in tour if seen.complaints} == {}


def test_every_chart_becomes_live(tour):
    assert sum(seen.charts for seen in tour) > 10
    assert {seen.path.name: seen.left_static for seen in tour if seen.left_static} == {}


def test_no_page_is_wider_than_a_phone(tour):
    assert {seen.path.name: seen.wider_than_phone for seen in tour if seen.wider_than_phone > 0} == {}


def test_sensitive_words_are_closed_when_a_page_opens(tour):
    assert any(seen.closed for seen in tour)
    assert [seen.path.name for seen in tour if not all(seen.closed)] == []


def test_a_live_chart_keeps_name_and_role_and_fits_the_page(site, browser):
    with Visit(browser) as visit:
        page = visit.open(chart_page(site))
        wake_all(page)
        told = page.evaluate("""[...document.querySelectorAll('figure.lb-chart')].map(f => {
            const live = f.querySelector('svg.marks');
            return [live.getAttribute('role'), live.getAttribute('aria-label'),
                f.querySelector('figcaption').textContent, f.classList.contains('lb-fluid'),
                live.getBoundingClientRect().width, f.querySelector('.lb-chart-box').clientWidth];
        })""")
        for role, label, caption, fluid, width, room in told:
            assert role == "img" and label == caption and len(label) > 20
            if fluid:
                assert abs(width - room) <= 2


def test_a_live_chart_keeps_the_room_that_it_needs_on_a_phone(small_site, browser):
    """Narrower, its columns would run together and the marks stand in their neighbours' cells."""
    with Visit(browser, viewport=PHONE) as visit:
        page = visit.open(chart_page(small_site))
        wake_all(page)
        told = page.evaluate("""[...document.querySelectorAll('figure.lb-fluid')].map(f => [
            f.querySelector('svg.marks').getBoundingClientRect().width,
            JSON.parse(f.querySelector('script[type="application/json"]').textContent).usermeta.least])""")
        assert any(least > PHONE["width"] for _, least in told)
        assert [(width, least) for width, least in told if width < least - 2] == []


def test_with_scripts_off_the_pictures_stay(site, browser):
    with Visit(browser, java_script_enabled=False) as visit:
        page = visit.open(chart_page(site))
        pictures = page.locator("figure.lb-chart .lb-chart-box > svg[role=img]")
        assert pictures.count() == page.locator("figure.lb-chart").count() > 0
        for i in range(pictures.count()):
            box = pictures.nth(i).bounding_box()
            assert box is None or (box["width"] > 250 and box["height"] > 40)  # None: in a closed box
        assert page.locator("figure.lb-chart svg title").first.text_content()
        assert visit.complaints == []


def luminance(colour: str) -> float:
    """Relative luminance of an opaque CSS colour (WCAG 2.1)."""
    channels = [float(v) / 255 for v in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(("scheme", "scripts"), [("light", True), ("dark", True), ("light", False)])
def test_text_is_readable_in_light_and_dark(site, browser, scheme, scripts):
    with Visit(browser, color_scheme=scheme, java_script_enabled=scripts) as visit:
        page = visit.open(chart_page(site))
        if scripts:
            wake_all(page)
        ground = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
        assert (luminance(ground) < 0.05) == (scheme == "dark")
        inks = page.evaluate("""[...document.querySelectorAll('figure.lb-chart .role-axis text,'
            + 'figure.lb-chart .role-legend text, figure.lb-chart .role-title text')]
            .map(e => getComputedStyle(e).fill)""")
        inks += page.evaluate("""[...document.querySelectorAll('.bd-article :is(p, td, th, li, figcaption, summary)')]
            .filter(e => e.offsetParent && e.textContent.trim()).map(e => getComputedStyle(e).color)""")
        assert len(inks) > 50
        assert min(contrast(ink, ground) for ink in set(inks)) >= 4.5
        # No chart stands on a ground of its own: a white card on a dark page would swallow light text.
        grounds = page.evaluate("""[...document.querySelectorAll('figure.lb-chart')].map(f => {
            for (let e = f; e !== document.body; e = e.parentElement) {
                const ground = getComputedStyle(e).backgroundColor;
                if (ground !== 'rgba(0, 0, 0, 0)') return ground;
            }
            return null;
        })""")
        assert set(grounds) <= {None, ground}


def test_a_live_chart_follows_the_theme(site, browser):
    with Visit(browser, color_scheme="light") as visit:
        page = visit.open(chart_page(site))
        wake_all(page)
        text = page.locator("figure.lb-chart svg.marks .role-axis-label text").first
        light = text.evaluate("e => getComputedStyle(e).fill")
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        dark = text.evaluate("e => getComputedStyle(e).fill")
        assert luminance(light) < 0.1 < 0.5 < luminance(dark)


def test_search_finds_words_of_pages_and_of_tables(site, browser):
    for word, page_name in [("permutation", "methods"), ("zebrafinches", site_sample.PAGE)]:
        if "zebra" in word and "zebrafinches" not in chart_page(site).read_text(encoding="utf-8"):
            word = "insects"  # of the whole book's page
        with Visit(browser) as visit:
            page = visit.open(site / "search.html", f"?q={word}")
            page.wait_for_selector("#search-results li a", timeout=WAIT)
            found = page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
            assert any(page_name in link for link in found), (word, found)
            assert visit.asked == [] and visit.complaints == []


def test_a_closed_box_opens_at_a_click(small_site, browser):
    with Visit(browser) as visit:
        box = visit.open(chart_page(small_site)).locator("details.lb-closed").first
        assert not box.locator(".lb-words").is_visible() and "hurtful" in box.locator(".lb-warning").text_content()
        box.locator("summary").click()
        assert box.locator(".lb-words").is_visible()


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_words_state_their_language_and_direction(site):
    words = [(path.name, word) for path in pages(site) for word in soup(path).find_all("bdi")]
    assert words
    for name, word in words:
        assert word.get("lang") and word.get("dir") in ("ltr", "rtl", "auto"), (name, word)
        if re.search(r"[\u0600-\u06ff]", word.text):
            assert word["dir"] in ("rtl", "auto"), (name, word)


def test_every_link_inside_the_book_leads_somewhere(site):
    for path in [*pages(site), site / "search.html"]:
        for element in soup(path).find_all(["a", "link", "script", "img"]):
            link = element.get("href") or element.get("src") or ""
            parsed = urlparse(link)
            if parsed.scheme or parsed.netloc:
                assert element.name == "a" or parsed.scheme == "data", f"{path.name} loads {link}"
            elif parsed.path:
                assert (path.parent / unquote(parsed.path)).exists(), f"{path.name}: {link}"


def test_code_is_folded_and_formulas_are_mathml(small_site):
    cell = soup(chart_page(small_site)).select_one("div.cell details.hide")
    assert "show_everything()" in cell.text and not cell.has_attr("open")
    methods = soup(small_site / "book/methods.html")
    assert len(methods.find_all("math")) > 30 and not methods.find("script", src=re.compile("mathjax", re.I))


def test_tables_can_be_downloaded_whole(small_site):
    import pandas as pd

    html = chart_page(small_site).read_text(encoding="utf-8")
    assert "../../results/sample-cells.csv" in html and "7 of 24 rows shown" in html
    for read, end in ((pd.read_csv, "csv"), (pd.read_parquet, "parquet")):
        assert len(read(small_site / "results" / f"sample-cells.{end}")) == 24


def test_the_start_page_quotes_the_run(small_site):
    html = (small_site / "book/intro.html").read_text(encoding="utf-8")
    assert "Of 4 languages, 3 lean one way." in html
    assert html.count("Not computed in this run.") == 2  # the small book has one finding of three
