"""Chart functions: what they draw, what they refuse, and that equal charts are equal bytes."""

import json
import math
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

import site_sample
from localbias.book import charts
from localbias.book.charts import explain, theme
from localbias.errors import BadTable, BadValues, LocalBiasError, UnknownName

TABLE = pd.DataFrame({"l": ["a", "b"], "t": ["x", "x"], "d": [0.5, -1.0], "low": [0.0, -1.5], "high": [1.0, 0.0]})
SAY = {"description": "Two made numbers."}


@pytest.fixture(scope="module")
def figures():
    return {name: charts.figure(chart) for name, chart in site_sample.all_charts().items()}


def the_svg(figure: str) -> str:
    return re.search(r"<svg.*?</svg>", figure, re.S).group(0)


def the_spec(figure: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure, re.S).group(1))


def test_equal_charts_are_equal_bytes(figures):
    assert {name: charts.figure(chart) for name, chart in reversed(site_sample.all_charts().items())} == figures


def test_every_picture_is_well_formed_and_named(figures):
    for name, figure in figures.items():
        root = ET.fromstring(the_svg(figure))
        assert root.get("role") == "img" and root.get("aria-label") == site_sample.DESCRIPTION, name
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert f"<figcaption>{site_sample.DESCRIPTION}</figcaption>" in figure


def test_no_two_charts_share_an_id(figures):
    ids = re.findall(r'\bid="([^"]+)"', "".join(figures.values()))
    assert len(ids) == len(set(ids)) > len(figures)
    for figure in figures.values():
        assert set(re.findall(r"url\(#([^)]+)\)", figure)) <= set(re.findall(r'\bid="([^"]+)"', figure))


def test_names_in_any_script_come_out_as_text(figures):
    for name in ("heat_map", "intervals", "dots", "paired"):
        for word in site_sample.NAMES:
            assert word in the_svg(figures[name]), (name, word)


def test_a_picture_has_no_ground_of_its_own(figures):
    for name, figure in figures.items():
        assert the_spec(figure)["config"]["background"] is None
        assert not re.search(r'fill="(white|#fff|#ffffff)"[^>]*role-frame', figure), name


def test_only_swapped_colours_are_used_for_text(figures):
    """Text is one of the colours that the style sheet swaps, or stands on a coloured cell."""
    allowed = {*theme.INKS.values(), theme.ON_LIGHT, theme.ON_DARK}
    for name, figure in figures.items():
        texts = re.findall(r"<text[^>]*>", the_svg(figure))
        assert texts, name
        for text in texts:
            fill = re.search(r'fill="([^"]+)"', text).group(1)
            assert fill in allowed, (name, fill)


def test_the_style_sheet_swaps_exactly_the_inks():
    css = (site_sample.PROJECT / "book/_static/localbias.css").read_text()
    assert set(re.findall(r'\[(?:fill|stroke)="(#[0-9a-f]{6})"\]', css)) == set(theme.INKS.values())


def linear(hexadecimal: str) -> list[float]:
    channels = [int(hexadecimal[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(hexadecimal: str) -> float:
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(hexadecimal), strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG 2.1."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_marks_are_visible_on_light_and_dark():
    for colour in theme.PALETTE:
        assert contrast(colour, "#fefefd") >= 3 and contrast(colour, "#14191e") >= 3, colour


# Colour-vision deficiencies as linear maps of linear RGB (Viénot, Brettel and Mollon 1999, severity 1).
DEFICIENCIES = {
    "protanopia": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "deuteranopia": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
}


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """CIELAB (D65) of linear RGB."""
    m = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = [sum(a * max(0.0, b) for a, b in zip(row, rgb, strict=True)) for row in m]
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_first_colours_stay_apart_for_colour_blind_readers(deficiency):
    """Up to six series: at least ΔE 20 (CIE 1976) between any two; shapes differ besides."""
    seen = []
    for colour in theme.PALETTE[:6]:
        rgb = linear(colour)
        seen.append(lab([sum(a * b for a, b in zip(row, rgb, strict=True)) for row in DEFICIENCIES[deficiency]]))
    for i, one in enumerate(seen):
        for other in seen[i + 1 :]:
            assert math.dist(one, other) >= 20


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_two_ends_of_the_heat_map_stay_apart_for_colour_blind_readers(deficiency):
    ends = [theme.DIVERGING[0], theme.DIVERGING[4], theme.DIVERGING[-1]]
    seen = [
        lab([sum(a * b for a, b in zip(r, linear(c), strict=True)) for r in DEFICIENCIES[deficiency]]) for c in ends
    ]
    assert min(math.dist(seen[0], seen[1]), math.dist(seen[0], seen[2]), math.dist(seen[1], seen[2])) > 40


def test_numbers_on_cells_are_readable():
    """Dark text on the light half of the scale, white on the dark ends: 4.5:1 at the colours between the switch."""
    for i, colour in enumerate(theme.DIVERGING):
        strength = abs(i - 4) / 4
        ink = theme.ON_DARK if strength > 0.62 else theme.ON_LIGHT
        assert contrast(ink, colour) >= 3.5, (colour, ink)


def test_a_heat_map_writes_each_number_once_and_marks_the_significant():
    table = TABLE.assign(significant=[True, False])
    spec = charts.heat_map(table, "t", "l", "d", significant="significant", **SAY).to_dict()
    rows = spec["data"]["values"]
    assert [(r["_shown"], r["_marked"], r["_dark"]) for r in rows] == [("+0.5", True, False), ("−1.0", False, True)]


def test_a_heat_map_leaves_missing_pairs_empty():
    table = pd.DataFrame({"l": ["a", "b"], "t": ["x", "y"], "d": [0.5, 1.0]})
    figure = charts.figure(charts.heat_map(table, "t", "l", "d", **SAY))
    assert the_svg(figure).count("·") == 2  # four cells, two numbers


def test_a_map_too_wide_for_the_page_scrolls_and_a_small_one_fills_it(figures):
    assert "lb-fluid" not in figures["wide"] and "lb-fluid" in figures["heat_map"]
    assert float(ET.fromstring(the_svg(figures["wide"])).get("width")) > theme.WIDTH
    assert float(ET.fromstring(the_svg(figures["heat_map"])).get("width")) == theme.WIDTH


def test_small_multiples_fit_the_page(figures):
    assert float(ET.fromstring(the_svg(figures["faceted"])).get("width")) <= theme.WIDTH


def test_jitter_spreads_within_rows_the_same_every_time():
    draws = pd.DataFrame({"l": ["a"] * 50 + ["b"] * 50, "d": range(100)})
    spec = charts.jitter(draws, "l", "d", **SAY).to_dict()
    rows = [r for layer in spec["layer"] for r in layer["data"]["values"] if "_row" in r]
    places = {name: [r["_row"] for r in rows if r["l"] == name] for name in ("a", "b")}
    assert len(set(places["a"])) == 50 and all(-0.25 <= p <= 0.25 for p in places["a"])
    assert all(0.75 <= p <= 1.25 for p in places["b"])


def test_an_axis_holds_its_data_its_intervals_and_the_reference():
    spec = charts.intervals(TABLE, "l", "d", "low", "high", reference=2.0, **SAY).to_dict()
    domain = next(m["encoding"]["x"]["scale"]["domain"] for m in spec["layer"] if "scale" in m["encoding"].get("x", {}))
    assert domain[0] <= -1.5 and domain[1] >= 2.0


ALL_FORMS = {
    "heat_map": (charts.heat_map, ("t", "l", "d")),
    "intervals": (charts.intervals, ("l", "d", "low", "high")),
    "dots": (charts.dots, ("l", "d")),
    "bars": (charts.bars, ("l", "d")),
    "scatter": (charts.scatter, ("low", "high")),
    "jitter": (charts.jitter, ("l", "d")),
    "lines": (charts.lines, ("l", "d")),
    "paired": (charts.paired, ("t", "d", "l")),
}


@pytest.mark.parametrize("form", ALL_FORMS)
class TestRefusals:
    def test_a_missing_column_is_named_and_the_nearest_offered(self, form):
        draw, columns = ALL_FORMS[form]
        wrong = TABLE.rename(columns={"d": "dd", "low": "lows"})
        with pytest.raises(BadTable, match="no column") as caught:
            draw(wrong, *columns, **SAY)
        assert form in caught.value.where and "did you mean" in caught.value.todo

    def test_a_description_is_required(self, form):
        draw, columns = ALL_FORMS[form]
        with pytest.raises(LocalBiasError, match="description"):
            draw(TABLE, *columns)
        with pytest.raises(UnknownName, match="did you mean subtitle"):
            draw(TABLE, *columns, **SAY, subtile="lists")
        with pytest.raises(LocalBiasError, match="description"):
            draw(TABLE, *columns, description="  ")

    def test_an_empty_table_is_no_chart(self, form):
        draw, columns = ALL_FORMS[form]
        with pytest.raises(BadTable, match="nothing to draw"):
            draw(TABLE.iloc[:0], *columns, **SAY)

    def test_text_and_infinity_are_no_numbers(self, form):
        draw, columns = ALL_FORMS[form]
        for bad in ("n/a", float("inf")):
            wrong = TABLE.astype({"d": object, "low": object}).assign(d=[0.5, bad], low=[0.5, bad])
            with pytest.raises(BadValues, match="must hold numbers") as caught:
                draw(wrong, *columns, **SAY)
            assert "row 1" in caught.value.where


def test_two_values_for_one_cell_bar_or_side_are_refused():
    twice = pd.concat([TABLE, TABLE])
    for draw, columns in (ALL_FORMS["heat_map"], ALL_FORMS["bars"], ALL_FORMS["paired"]):
        with pytest.raises(BadTable, match="two values"):
            draw(twice, *columns, **SAY)


def test_more_series_than_colours_are_refused():
    many = pd.DataFrame({"l": [f"s{i}" for i in range(9)], "d": range(9), "t": "x"})
    with pytest.raises(BadTable, match="too many series"):
        charts.dots(many, "t", "d", colour="l", **SAY)


@pytest.mark.parametrize("n", [8, 9, 41])
def test_more_series_than_colours_stand_side_by_side(n):
    """Up to eight series share a view; of more each has its own, with its rows alone and the axes of all."""
    names = [f"s{i}" for i in range(n)]
    many = pd.DataFrame({"l": names * 2, "t": ["x"] * n + ["y"] * n, "d": range(2 * n), "e": 0.5})
    for chart, axes in (
        (charts.intervals(many, "t", "d", "e", "d", colour="l", **SAY), "x"),
        (charts.scatter(many, "d", "e", colour="l", diagonal=True, **SAY), "xy"),
    ):
        spec = the_spec(charts.figure(chart))
        if n <= 8:
            assert "concat" not in spec
            continue
        assert [view["title"]["text"] for view in spec["concat"]] == names
        domains = set()
        for view, name in zip(spec["concat"], names, strict=True):
            drawn = view["layer"][-1]
            rows = drawn["data"]["values"] if "data" in drawn else spec["datasets"][drawn["data"]["name"]]
            assert [row["l"] for row in rows] == [name] * 2
            domains |= {tuple(drawn["encoding"][a]["scale"]["domain"]) for a in axes}
        assert len(domains) == 1 and min(domains)[0] <= 0.5 and min(domains)[1] >= 2 * n - 1


def test_a_figure_without_description_is_refused():
    with pytest.raises(LocalBiasError, match="description"):
        charts.figure({"mark": "point", "data": {"values": []}})


def test_text_cannot_leave_its_place():
    table = TABLE.assign(l=['</script><script>alert("x")</script>', "<b>"])
    figure = charts.figure(charts.dots(table, "l", "d", title="<i>", description="A & B are <here> and there."))
    assert figure.count("<script") == 1 and figure.count("</script>") == 1
    assert "<b>" not in figure and "<i>" not in figure and "A &amp; B are &lt;here&gt;" in figure
    ET.fromstring(the_svg(figure))


def test_the_explained_effect_sizes_are_those_of_the_definition():
    """d of two equal normal sets at distance D is D / sqrt(1 + D²/4): from the variance of a mixture."""
    for d in explain.EXAMPLES:
        gap = explain.distance(d)
        assert gap / math.sqrt(1 + gap**2 / 4) == pytest.approx(d)
    from scipy.stats import norm

    assert explain.superiority(1.2) == pytest.approx(norm.cdf(1.5 / math.sqrt(2)))


def test_the_explaining_pictures_fit_the_page():
    sizes = pd.DataFrame({"n_x": [8, 8], "n_y": [8, 8], "n_a": [8, 8], "n_b": [8, 8], "true_d": [0.0, 0.9]})
    simulated = sizes.assign(method=["bca", "percentile"], coverage=[0.95, 0.9], level=0.95)
    for chart in (explain.effect_size_picture(), explain.coverage_picture(simulated)):
        assert float(ET.fromstring(the_svg(charts.figure(chart))).get("width")) <= theme.WIDTH


def test_what_the_simulation_says_is_counted_from_its_table():
    """Promised 90 %: at d = 0 BCa (88, 91) is nearer than percentile (99, 95) twice; at d = 1 once each, and tied."""
    sizes = [(8, 8, 8, 8, 0.0), (9, 9, 8, 8, 0.0), (8, 8, 8, 8, 1.0), (9, 9, 8, 8, 1.0), (9, 9, 9, 9, 1.0)]
    rows = [
        (*size, method, c)
        for method, column in (("bca", (0.88, 0.91, 0.7, 0.89, 0.88)), ("percentile", (0.99, 0.95, 0.8, 0.6, 0.92)))
        for size, c in zip(sizes, column, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["n_x", "n_y", "n_a", "n_b", "true_d", "method", "coverage"]).assign(level=0.9)
    text = explain.coverage_facts(table)
    assert "BCa intervals in 70.0 % (8+8 and 8+8 words, true d = 1) to 91.0 % and" in text
    assert "percentile intervals in 60.0 % (9+9 and 8+8 words, true d = 1) to 99.0 %." in text
    assert "at true d = 0, BCa in 2 of 2 settings" in text
    assert "at true d = 1, BCa in 1, percentile in 1, neither in 1 of 3 settings." in text
    spec = str(explain.coverage_picture(table).to_dict())
    domains = re.findall(r"'field': 'share', 'scale': {'domain': \[([^]]*)\]", spec)
    assert set(domains) == {"60, 101"}, "the lowest point is on the axis"
