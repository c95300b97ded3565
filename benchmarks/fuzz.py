"""Malformed inputs of every kind that the library reads, counted in data/reference/fuzz.csv; shown in book/limits.md.

Each input is a valid one with up to eight things changed: bytes, cells, keys, types, values. It is *accepted*,
*refused by name* (an error of :mod:`localbias.errors`, which says what, where and what to do; for a cache: made
anew with a warning), or it gives a *raw error*. A cache that gives another value than was kept counts as a raw error.

    python benchmarks/fuzz.py [--inputs 10000] [--seed 0] [--kinds lexicons workbooks …] [--out file.csv]
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from localbias import files
from localbias.book import parameters
from localbias.book.profiles import notebooks
from localbias.errors import LocalBiasError, WrongHash
from localbias.models.vector_cache import Entry, VectorCache
from localbias.prompts import bbq, templates
from localbias.prompts.generation import generate_prompts
from localbias.studies.seeds import option_probabilities, seed_scores
from localbias.words.annotations import CATEGORIES
from localbias.words.assemble import load_workbook
from localbias.words.tidy import read_words_csv

PIECES = [
    *["", " ", "\0", "\n", "\r", "\t", "\ufeff", "\u200b", "\u202e", "\u0661", "\ud7ff", "\U0010ffff", "e\u0301"],
    *["नमस्ते", "<script>", "../x", "x" * 5000, *"\"',;|\\/{}[]%#-é", '""', "=1+1"],
    *["nan", "NaN", "None", "null", "true", "0", "-1", "1e308", "1e999", "9" * 400, "X", "A", "{{NAME1}}", "{{NAME9}}"],
    *["{{", "[" * 3000, '{"a":' * 3000, "['a', ", "$HOME", "`x`", "weat1", "en", "neg", "ambig", "__class__", "${x}"],
]
"""What is put into cells and bytes: what means something in CSV, JSON, Markdown, Python, paths, Unicode and numbers."""
VALUES = (
    st.sampled_from(PIECES) | st.text(max_size=12) | st.integers() | st.floats() | st.sampled_from([None, True, False])
)
VALUES |= st.builds(list) | st.builds(dict)
PLACES = st.integers(0, 10**6)


def changed(content: bytes, draw) -> bytes:
    """Bytes with up to eight of them flipped, cut, doubled or put in."""
    content = bytearray(content)
    for _ in range(draw(st.integers(0, 8))):
        at = draw(PLACES) % (len(content) + 1)
        match draw(st.sampled_from(["flip", "cut", "double", "insert", "end"])):
            case "flip" if at < len(content):
                content[at] ^= draw(st.integers(1, 255))
            case "cut":
                del content[at : at + draw(st.integers(1, 40))]
            case "double":
                content[at:at] = content[at : at + draw(st.integers(1, 200))]
            case "insert":
                content[at:at] = draw(st.sampled_from(PIECES)).encode("utf-8", "surrogatepass")
            case "end" if draw(st.integers(0, 9)) == 0:
                del content[at:]
    return bytes(content)


def cells_changed(rows: list[list], draw) -> list[list]:
    """Rows with up to eight cells replaced, rows doubled or left out, columns of another length."""
    rows = [list(row) for row in rows]
    for _ in range(draw(st.integers(0, 8))):
        row = draw(PLACES) % len(rows)
        column = draw(PLACES) % max(1, len(rows[row]))
        match draw(st.sampled_from(["cell", "cell", "cell", "double", "drop", "shorter", "longer"])):
            case "cell" if rows[row]:
                rows[row][column] = draw(VALUES)
            case "double":
                rows.insert(row, list(rows[row]))
            case "drop" if len(rows) > 1:
                del rows[row]
            case "shorter" if rows[row]:
                del rows[row][column]
            case "longer":
                rows[row].append(draw(VALUES))
    return rows


def written(rows: list[list], path: Path, draw) -> Path:
    """Rows as a CSV whose bytes are changed too, now and then."""
    text = pd.DataFrame(rows).to_csv(index=False, header=False).encode("utf-8", "replace")
    path.write_bytes(changed(text, draw) if draw(st.booleans()) else text)
    return path


# --- the kinds: each gives a function of hypothesis' draw that reads one input --------------------------------


def lexicons(folder: Path):
    table = pd.read_csv(files.project_root() / "data/starter/words.csv", dtype=str, keep_default_na=False)
    table = table[(table["language"] == "en") & (table["test"] == "weat1")].groupby("role").head(3)
    rows = [list(table.columns), *table.to_numpy().tolist()]
    return lambda draw: read_words_csv(written(cells_changed(rows, draw), folder / "own.csv", draw), "own")


def workbooks(folder: Path):
    rows = [["english", "human", "category"], *[[f"w{i}", f"v{i}", name] for i, name in enumerate(CATEGORIES[3] * 2)]]

    def read(draw):
        book, path = openpyxl.Workbook(), folder / "en_sheet3.xlsx"
        for row in cells_changed(rows, draw):
            book.active.append([cell if isinstance(cell, str | int | float | None) else str(cell) for cell in row])
        held = io.BytesIO()
        book.save(held)
        path.write_bytes(changed(held.getvalue(), draw) if draw(st.booleans()) else held.getvalue())
        return load_workbook(path)

    def tried(draw):
        try:
            return read(draw)
        except (openpyxl.utils.exceptions.IllegalCharacterError, ValueError, OverflowError) as problem:
            if isinstance(problem, LocalBiasError) or "localbias" in traceback.format_exc():
                raise
            return tried(draw)  # openpyxl does not write such a cell: there is no such file

    return tried


def template_files(folder: Path):
    source = files.project_root() / "data/starter/filbbq"
    vocabulary = templates.read_vocabulary("starter")
    table = pd.read_csv(next(source.glob("gender_identity.csv")), dtype=str, keep_default_na=False).head(6)
    rows = [list(table.columns), *table.to_numpy().tolist()]

    def read(draw):
        file = written(cells_changed(rows, draw), folder / "gender_identity.csv", draw)
        return templates.parse_templates(file, "gender_identity", vocabulary)

    return read


def bbq_files(folder: Path):
    lines = bbq.to_bbq(generate_prompts("gender_identity", dataset="starter").head(6))

    def read(draw):
        records = [nested_changed(line, draw) for line in lines]
        text = "\n".join(json.dumps(record, ensure_ascii=draw(st.booleans())) for record in records)
        content = text.encode("utf-8", "replace")
        path = folder / "own.jsonl"
        path.write_bytes(changed(content, draw) if draw(st.booleans()) else content)
        return bbq.read_bbq(path)

    return read


def nested_changed(value, draw):
    """A JSON value with some of its parts replaced, left out or put in."""
    if draw(st.integers(0, 60)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        kept = {key: nested_changed(one, draw) for key, one in value.items() if draw(st.integers(0, 80))}
        return kept | ({draw(st.sampled_from(PIECES)): draw(VALUES)} if draw(st.integers(0, 80)) == 0 else {})
    return [nested_changed(one, draw) for one in value] if isinstance(value, list) else value


def notebook_parameters(folder: Path):
    declared = {path: parameters.declared(path) for path in notebooks().values()}

    def read(draw):
        path = draw(st.sampled_from(sorted(declared)))
        names = draw(st.lists(st.sampled_from(sorted(declared[path])), min_size=1, max_size=3))
        names = [draw(st.sampled_from(PIECES)) if draw(st.integers(0, 20)) == 0 else name for name in names]
        asked = [f"{name}={value_text(draw)}" for name in names]
        values = parameters.validated(path, parameters.from_text(path, asked))
        parameters.check_choices(path, {n: p.default for n, p in declared[path].items()} | values)

    return read


def value_text(draw) -> str:
    """A value as a person types it on the command line."""
    plain = st.one_of(
        st.integers(-5, 100), st.floats(0, 1), st.sampled_from(["en", "all", "M5", "weat1", True, False, []])
    )
    value = draw(st.one_of(plain, VALUES, st.lists(st.one_of(plain, VALUES), max_size=4)))
    return value if isinstance(value, str) else json.dumps(value)


def probability_tables(folder: Path):
    prompts = generate_prompts("gender_identity", dataset="starter").head(8)
    base = prompts.assign(p0=0.5, p1=0.2, p2=0.1)
    numbers = st.sampled_from([0.0, 1.0, 1e-300, 1e308, -1e-9, np.nan, np.inf, 1.0000001])
    settings_of = st.fixed_dictionaries(
        {},
        optional={
            "temperature": st.one_of(st.sampled_from([0, 0.1, 0.7, 1.0, 2.0]), st.floats()),
            "top_p": st.one_of(st.sampled_from([1e-13, 0.5, 1.0]), st.floats()),
            "off_option": st.sampled_from(["unparsed", "renormalise", "x", ""]),
        },
    )

    def read(draw):
        table = base.copy()
        for _ in range(draw(st.integers(0, 3))):
            column, row = draw(st.sampled_from(["p0", "p1", "p2", *base.columns])), draw(PLACES) % len(base)
            if draw(st.integers(0, 5)) == 0:
                table = table.drop(columns=column, errors="ignore")
            elif column in table:
                value = draw(numbers | VALUES)
                cells = table[column].astype(object)
                cells.iloc[row] = value
                table[column] = cells.infer_objects()
        asked = draw(settings_of)
        p = option_probabilities(table, **asked)
        assert p.shape == (len(table), 4) and np.allclose(p.sum(axis=1), 1) and (p >= 0).all(), "no distribution"
        seed_scores(table, seeds=2, **asked)

    return read


def caches(folder: Path):
    """Kept vectors and kept tables with changed bytes: the value that was kept, or none; never another one."""
    key, words = ("made", "r1", "in-context", "en"), [f"w{i}" for i in range(40)]
    entries = {(w, m): Entry(np.full(16, i, np.float32)) for i, w in enumerate(words) for m in ("M1", "M5")}
    VectorCache(*key, folder=folder).write(entries)
    database = VectorCache(*key, folder=folder).path
    whole, table = database.read_bytes(), pd.DataFrame({"word": words, "p": np.arange(40.0)})
    kept = folder / "kept.parquet"
    with files.checked(kept) as draft:
        table.to_parquet(draft)
    content = kept.read_bytes()

    def read(draw):
        if draw(st.booleans()):
            for leftover in folder.glob(f"{database.name}?*"):
                leftover.unlink()
            database.write_bytes(changed(whole, draw))
            found = VectorCache(*key, folder=folder).read(entries)
            same = all(np.array_equal(found[k].vector, entries[k].vector) for k in found)
            missing = len(found) < len(entries)
        else:
            kept.write_bytes(changed(content, draw))
            found = files.kept(kept, pd.read_parquet)
            missing = found is None
            same = missing or found.equals(table)
        assert same, "another value than was kept"
        if missing:
            raise WrongHash("made anew")

    return read


KINDS = {
    "lexicons": lexicons,
    "workbooks": workbooks,
    "templates": template_files,
    "BBQ files": bbq_files,
    "parameters": notebook_parameters,
    "probability tables": probability_tables,
    "caches": caches,
}


BATCH = 1_000
"""Inputs drawn from one seed; the next batch takes the next seed (hypothesis slows down as it remembers its draws)."""
COLUMNS = ("tried", "accepted", "refused by name", "raw errors", "seed")


def tried(kind: str, n: int, seed_number: int) -> tuple[dict, Counter]:
    """One kind's row of the table, and its raw errors with how often they came."""
    counts, raw = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = KINDS[kind](Path(folder))

        def one(data):
            try:
                read(data.draw)
                counts["accepted"] += 1
            except LocalBiasError:
                counts["refused by name"] += 1
            except Exception as problem:
                raw[described(problem)] += 1

        for batch, start in enumerate(range(0, n, BATCH)):
            limits = settings(
                max_examples=min(BATCH, n - start),
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )
            seed(seed_number + batch)(limits(given(st.data())(one)))()
    n_raw = sum(raw.values())
    counts["tried"] = counts["accepted"] + counts["refused by name"] + n_raw
    counts |= {"raw errors": n_raw, "seed": seed_number}
    return {"kind": kind} | {name: counts[name] for name in COLUMNS}, raw


def described(problem: Exception) -> str:
    """An error and the last line of the library that it passed."""
    frames = traceback.extract_tb(problem.__traceback__)
    at = ([frame for frame in frames if "localbias" in frame.filename] or frames)[-1]
    return f"{type(problem).__name__}: {str(problem)[:120]} ({Path(at.filename).name}:{at.lineno})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--out", type=Path, default=files.project_root() / "data/reference/fuzz.csv")
    chosen = parser.parse_args()
    rows = []
    for kind in chosen.kinds:
        row, raw = tried(kind, chosen.inputs, chosen.seed)
        rows.append(row)
        print(row, *[f"  {n} × {problem}" for problem, n in raw.most_common()], sep="\n", flush=True)
    with files.checked(chosen.out) as draft:
        files.write_csv(pd.DataFrame(rows), draft)
    return sum(row["raw errors"] for row in rows)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
