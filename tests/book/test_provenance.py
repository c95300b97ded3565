"""Whose numbers: every row of every table that a page writes names its data set, model, revision, weights, protocol."""

import re
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest

import filbbq_made as made
from localbias.book import page
from localbias.errors import BadTable
from localbias.models import answers

NO_MODEL = {
    # words, prompts and workbooks: inventories, rules, audits
    r"data-(?!cleaning|without-doubts).*": "counts and audits of word lists; no model reads them",
    r"filbbq-(table2|templates|published|invariants|audit.*|repairs)": "counts and audits of prompts",
    # arithmetic
    r"filbbq-minus-one": "chances of a respondent without preference",
    # page 08: what others published
    r"ledger.*|paper-tables|integrity-.*|(weathub|filbbq)-printed.*": "claims, and what the authors published",
}
"""Tables without numbers of a model, and why: they say their data set alone. The list is closed."""


def test_a_table_takes_what_it_lacks_from_the_results_it_sums_up():
    runs = pd.DataFrame(
        [("mine", "a", "r1", "float32", "p"), ("mine", "b", "r2", "4-bit", "p"), ("mine", "b", "r2", "4-bit", "q")],
        columns=page.SOURCE,
    )
    got = page.attributed(
        pd.DataFrame({"d": [1, 2, 3], "model": ["b", "a", "a; b"], "protocol": ["q", "p", "p"]}), runs
    )
    assert got[list(page.SOURCE)].values.tolist() == [  # by hand
        ["mine", "b", "r2", "4-bit", "q"],
        ["mine", "a", "r1", "float32", "p"],
        ["mine", "a; b", "r1; r2", "float32; 4-bit", "p"],
    ]
    (whole,) = page.attributed(pd.DataFrame({"d": [1]}), runs)[list(page.SOURCE)].values.tolist()
    assert whole == ["mine", "a; b", "r1; r2", "float32; 4-bit", "p; q"]
    assert list(page.attributed(pd.DataFrame({"model": []}), runs)) == [
        "model",
        "dataset",
        "revision",
        "weights",
        "protocol",
    ]
    with pytest.raises(BadTable, match="not of the results"):
        page.attributed(pd.DataFrame({"model": ["c"]}), runs)


def test_the_files_of_a_table_name_its_source_and_the_page_shows_what_it_showed(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_RESULTS", str(tmp_path))
    shown = []
    monkeypatch.setattr(page, "_show", shown.append)
    page.source({"dataset": "mine", "model": "a", "revision": "r", "weights": "float32", "protocol": "p"})
    table = pd.DataFrame({"d": [0.5]})
    page.table(table, "t")
    page.table(table, "u", source={"dataset": "filbbq", "model": "another"})
    assert pd.read_csv(tmp_path / "t.csv").iloc[0].to_dict() == {
        "d": 0.5,
        "dataset": "mine",
        "model": "a",
        "revision": "r",
        "weights": "float32",
        "protocol": "p",
    }
    assert pd.read_parquet(tmp_path / "u.parquet")[["dataset", "model"]].values.tolist() == [["filbbq", "another"]]
    assert list(table) == ["d"] and all("revision" not in html for html in shown)


def test_a_bfloat16_run_is_labelled(tmp_path):
    tiny = made.tiny()
    tiny.model.save_pretrained(tmp_path)
    tiny.tokenizer.save_pretrained(tmp_path)
    prompts = made.prompts(1, 1)
    rows = {
        dtype: answers.answer_probabilities(
            prompts, answers.load_answerer(str(tmp_path), dtype), folder=None, progress=False
        ).iloc[0]
        for dtype in ("float32", "bfloat16")
    }
    assert rows["float32"]["weights"] == "float32" and "bfloat16" in rows["bfloat16"]["weights"]
    assert rows["bfloat16"]["revision"] == rows["float32"]["revision"] + " in bfloat16"


@pytest.mark.book
@pytest.mark.model
@pytest.mark.mirror
@pytest.mark.timeout(1500)
def test_every_table_of_every_page_says_whose_numbers_it_holds(published_book):
    seen = {Path(p).stem: BytesIO(held) for p, held in published_book.tables().items() if p.endswith(".csv")}
    for name, held in seen.items():
        table = seen[name] = pd.read_csv(held, keep_default_na=False)
        none = [why for pattern, why in NO_MODEL.items() if re.fullmatch(pattern, name)]
        wanted = ["dataset"] if none else list(page.SOURCE)
        assert set(wanted) <= set(table), f"{name} lacks {sorted(set(wanted) - set(table))}"
        assert table[wanted].astype(str).ne("").all(axis=None), f"{name} has empty cells"
    assert len(seen) > 50
    # the smoke profile asks another model than that of the kept run: each table names its own
    assert set(seen["filbbq-expected"]["model"]) == {"smollm2-135m-instruct"}
    for name in ("filbbq-full-scores", "filbbq-full-profile", "filbbq-paper"):
        assert set(seen[name]["model"]) == {"gemma-3-270m"}, name
    for pattern in NO_MODEL:
        assert any(re.fullmatch(pattern, name) for name in seen), f"no table is excused by {pattern!r}"
