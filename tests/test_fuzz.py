"""benchmarks/fuzz.py, shortly: what is malformed is refused by name; the table of the limits page is whole."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from localbias import files
from localbias.errors import BadTable
from localbias.prompts import cells
from localbias.prompts.bbq import read_bbq
from localbias.words.lexicon import read_sets_json

PROJECT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("fuzz", PROJECT / "benchmarks/fuzz.py")
fuzz = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz)


@pytest.mark.slow
@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_malformed_inputs_are_refused_by_name(kind):
    """Another seed than the table's, so that each run adds to what the table says."""
    row, raw = fuzz.tried(kind, 100, 1)
    assert raw == {} and row["raw errors"] == 0
    assert row["accepted"] + row["refused by name"] == row["tried"] >= 90
    assert row["refused by name"] > 0


def test_a_raw_error_and_another_value_are_counted(monkeypatch):
    """A reader that fails in three ways of four: each input is counted once, by what came of it."""
    made = iter(range(10**6))

    def reader(folder):
        def read(draw):
            draw(fuzz.PLACES)
            match next(made) % 4:
                case 0:
                    raise KeyError("raw")
                case 1:
                    raise AssertionError("another value than was kept")
                case 2:
                    raise fuzz.WrongHash("named")

        return read

    monkeypatch.setitem(fuzz.KINDS, "made", reader)
    row, raw = fuzz.tried("made", 40, 0)
    assert row == {"kind": "made", "tried": 40, "accepted": 10, "refused by name": 10, "raw errors": 20, "seed": 0}
    assert sorted(n for n in raw.values()) == [10, 10] and any("KeyError: 'raw'" in problem for problem in raw)


def test_the_table_of_the_limits_page_has_every_kind_and_no_raw_error():
    table = files.read_checked(PROJECT / "data/reference/fuzz.csv", pd.read_csv).set_index("kind")
    assert set(table.index) == set(fuzz.KINDS) and (table["raw errors"] == 0).all()
    assert (table["accepted"] + table["refused by name"] == table["tried"]).all()
    assert "```{measured} data/reference/fuzz.csv" in (PROJECT / "book/limits.md").read_text(encoding="utf-8")


def test_lists_in_lists_without_end_are_named(tmp_path):
    # found by the ten thousand: the JSON reader gives up with a RecursionError
    deep = "[" * 100_000
    with pytest.raises(ValueError, match="not a JSON list"):
        cells.string_list(deep)
    (tmp_path / "deep.jsonl").write_text(deep + "\n")
    with pytest.raises(BadTable, match="not JSON"):
        read_bbq(tmp_path / "deep.jsonl")
    (tmp_path / "deep.json").write_text(deep)
    with pytest.raises(BadTable, match="layout"):
        read_sets_json(tmp_path / "deep.json")
