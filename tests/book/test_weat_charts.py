"""Charts of results say how many effects they show and hold every row's number."""

import pandas as pd

from localbias.book.charts import weat as draw

SHOWN = pd.DataFrame(
    {
        "language_name": ["Thai", "Thai", "Hindi", "Hindi"],
        "test_label": ["WEAT 1", "WEAT 2"] * 2,
        "method": "M5",
        "test_title": ["Flowers and insects", "Instruments and weapons"] * 2,
        "effect_size": [0.5, -0.1, 1.2, None],
        "ci_low": [0.1, -0.9, 0.8, None],
        "ci_high": [0.9, 0.7, 1.5, None],
        "p_two_sided": [0.01, 0.8, 0.001, None],
        "q_value": [0.02, 0.8, 0.003, None],
        "significant_q": [True, False, True, False],
        "flags": "",
        "n_x": 8,
        "n_y": 8,
        "n_a": 8,
        "n_b": 8,
    }
)


def held(chart):
    """All data values of a chart, layers and facets included."""
    found = []

    def walk(part):
        if isinstance(part, dict):
            found.extend(
                part["data"]["values"] if isinstance(part.get("data"), dict) and "values" in part["data"] else []
            )
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)
        return found

    return walk(chart.to_dict())


def numbers(chart, column):
    return {row[column] for row in held(chart) if row.get(column) is not None}


def test_the_map_counts_effects_and_marks_of_the_table():
    chart = draw.effect_map(SHOWN, title="t", alpha=0.05)
    assert "of 3 tests" in chart.description and "2 cells are marked" in chart.description
    assert numbers(chart, "effect_size") == {0.5, -0.1, 1.2}


def test_intervals_stand_largest_first():
    one = SHOWN[SHOWN["test_label"] == "WEAT 1"]
    chart = draw.effect_intervals(one, level=0.9)
    assert "from Hindi to Thai" in chart.description and "90%" in chart.description
    assert numbers(chart, "ci_low") == {0.1, 0.8}


def test_spread_has_one_point_a_row():
    assert numbers(draw.effect_spread(SHOWN.dropna(), title="t"), "effect_size") >= {0.5, -0.1, 1.2}


def test_moves_join_two_sides():
    sides = SHOWN.dropna().assign(label=["a", "b", "a"], side=["before", "before", "after"]).iloc[[0, 2]]
    chart = draw.effect_moves(sides, title="t", pair_title="lists")
    assert "before and after" in chart.description and numbers(chart, "effect_size") == {0.5, 1.2}


def test_published_stand_across_and_ours_up():
    beside = SHOWN.dropna().assign(
        d_published=[0.4, 0.0, 1.0], p_published=0.1, model_published="m", flags_published=""
    )
    chart = draw.published_scatter(beside, {"n": 3, "pearson": 0.991}, colour="test_label", colour_title="test")
    assert "3 points" in chart.description and "0.99" in chart.description
    assert numbers(chart, "d_published") == {0.4, 0.0, 1.0}
