"""Flipped bits in everything that is kept: never a changed number, always made again or an error by name."""

import random
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import filbbq_made as made
from localbias import files
from localbias.book import offline_sphinx
from localbias.errors import WrongHash
from localbias.ledger import assembly
from localbias.models.answer_store import AnswerStore
from localbias.models.conversion import converted
from localbias.studies import reference
from localbias.words import lexicon, rebuild
from localbias.words.annotations import Workbook

PROJECT = Path(__file__).resolve().parent.parent
NOT_NUMBERS = (".lock", f".{files.SUMS}.lock", "times.csv")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """A thousand files are written here; none has to outlive a power cut."""
    monkeypatch.setattr(files.os, "fsync", lambda handle: None)


def flips(folder: Path, n: int):
    """Flip one bit after another, n in all, at places spread over every file of a folder; each is undone again."""
    rng, whole = random.Random(0), {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    held = {p: content for p, content in whole.items() if p.name not in NOT_NUMBERS and content}
    for i in range(n):
        path = sorted(held)[i % len(held)]
        bad = bytearray(held[path])
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(bad))
        yield path
        shutil.rmtree(folder)
        for p, content in whole.items():
            p.parent.mkdir(parents=True, exist_ok=True)
            p.write_bytes(content)


def survive(folder: Path, read, same, n: int, remade: bool):
    """Read after each of n flips: what is kept is made again and said; what is committed is equal or refused."""
    refused = 0
    for path in flips(folder, n):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                same(read())
            except WrongHash as error:
                assert not remade, error
                refused += 1
            else:
                told = any("damaged" in str(w.message) for w in said)
                assert not remade or told or path.name == files.SUMS, f"{path} was changed in silence"
    return refused


def equal(want):
    return lambda got: pd.testing.assert_frame_equal(got, want)


@pytest.mark.slow
def test_kept_answers(tmp_path):
    keys = [[f"{i}:012" for i in range(part * 20, part * 20 + 20)] for part in range(3)]

    def answers():
        with AnswerStore(tmp_path / "run", {"model": "m", "prompts": "p"}, keys).working() as store:
            for i in store.missing():
                p = np.random.default_rng(i).random((20, 3))
                store.write(i, pd.DataFrame({"key": keys[i], "p0": p[:, 0], "p1": p[:, 1], "p2": p[:, 2]}))
            return store.table()

    survive(tmp_path / "run", answers, equal(answers()), 400, remade=True)


@pytest.mark.slow
def test_cells_of_workbooks(tmp_path, monkeypatch):
    cells = pd.DataFrame({"tab": [1, 1], "row": [2, 3], "text": ["aster", "rosa"]})
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    monkeypatch.setattr(rebuild.sources, "fetch", lambda path: tmp_path / path)
    monkeypatch.setattr(rebuild.sources, "pinned", lambda path: ("", "ab" * 32))
    monkeypatch.setattr(rebuild, "read_workbook", lambda file: Workbook(file, 1, cells))

    def read():
        return rebuild.published_workbook("is_sheet1.xlsx").cells

    survive(tmp_path / "annotations", read, equal(read()), 250, remade=True)


@pytest.mark.slow
def test_converted_models(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    content = {"config.json": b'{"layers": 12}', "model.safetensors": bytes(range(256)) * 4}

    def write(folder):
        for name, held in content.items():
            (folder / name).write_bytes(held)

    def read():
        folder = converted("name", "ab" * 32, write)
        return {name: (folder / name).read_bytes() for name in content}

    def same(got):
        assert got == content

    same(read())
    survive(tmp_path / "models", read, same, 250, remade=True)


def test_the_reference_run(tmp_path, monkeypatch):
    table = made.with_probabilities(made.prompts(), 0.5, 0.3, 0.15)
    about = {"model": "made", "revision": "r", "weights": "float32", "protocol": "next-token"}
    reference.write(table, about, tmp_path)
    monkeypatch.setattr(reference, "reference_folder", lambda: tmp_path)
    want = reference.read("made")

    def same(got):
        assert got["about"] == want["about"]
        for name in ("scores", "profile", "chance", "probabilities"):
            pd.testing.assert_frame_equal(got[name], want[name])

    assert survive(tmp_path, lambda: reference.read("made"), same, 300, remade=False) > 240


@pytest.mark.parametrize("name", ["ledger.csv", "coverage.csv"])
def test_committed_tables(tmp_path, monkeypatch, name):
    folder = tmp_path / "data/reference"
    folder.mkdir(parents=True)
    for file in (name, files.SUMS):
        shutil.copy(PROJECT / "data/reference" / file, folder)
    monkeypatch.setattr(assembly, "project_root", lambda: tmp_path)

    def read():
        assembly._reference.cache_clear()
        if name == "ledger.csv":
            return assembly._reference()
        return files.read_checked(folder / name, pd.read_csv)

    try:
        assert survive(folder, read, equal(read()), 200, remade=False) >= 100
    finally:
        assembly._reference.cache_clear()


def test_pages_of_prose_read_their_tables_by_the_same_way():
    for kind in (offline_sphinx.Measured, offline_sphinx.CoveragePicture):
        assert "read_checked" in kind.run.__code__.co_names


@pytest.mark.parametrize("step", [1, 2])
def test_a_kill_between_the_file_and_its_line_loses_nothing(tmp_path, monkeypatch, step):
    path, note, steps = tmp_path / "a", files._note, []
    with files.checked(path) as draft:
        draft.write_bytes(b"old")

    def killed(*given):
        steps.append(given)
        if len(steps) == step + 1:
            raise KeyboardInterrupt
        note(*given)

    monkeypatch.setattr(files, "_note", killed)
    with pytest.raises(KeyboardInterrupt):
        for content in (b"new", b"newer"):
            with files.checked(path) as draft:
                draft.write_bytes(content)
    assert files.read_checked(path, lambda stream: stream.read()) in (b"old", b"new", b"newer")
    assert not list(tmp_path.glob(".*.part"))


def test_a_large_file_that_a_person_put_there_is_watched_from_then_on(tmp_path):
    path = tmp_path / "cc.da.300.bin"
    assert not files.intact(path)
    path.write_bytes(b"vectors")
    assert files.intact(path) and files.intact(path)
    path.write_bytes(b"vectorz")
    assert not files.intact(path)


def test_what_is_missing_is_named(tmp_path):
    with files.checked(tmp_path / "a") as draft:
        draft.write_bytes(b"1")
    (tmp_path / "a").unlink()
    with pytest.raises(WrongHash, match="a is not as it was written"):
        files.read_checked(tmp_path / "a", bytes)
    assert files.kept(tmp_path / "a", bytes) is None


def test_the_starter_lexicon(tmp_path, monkeypatch):
    folder = tmp_path / "data/starter"
    folder.mkdir(parents=True)
    lines = (PROJECT / "data/starter/words.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    with files.checked(folder / "words.csv") as draft:
        draft.write_text("".join([lines[0], *(line for line in lines if ",weat1," in line)]), encoding="utf-8")
    monkeypatch.setattr(lexicon, "project_root", lambda: tmp_path)

    def read():
        lexicon._cached_table.cache_clear()
        return lexicon._local_table("starter")

    try:
        assert survive(folder, read, equal(read()), 200, remade=False) >= 100
    finally:
        lexicon._cached_table.cache_clear()
