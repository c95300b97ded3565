"""The vector cache: what survives a kill, a full disk, a damaged file, two processes, a changed list."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

import embed_made
from localbias.models import pooling
from localbias.models.encoder import Encoder
from localbias.models.vector_cache import Entry, VectorCache


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def counted(monkeypatch):
    """How many sequences went through a model."""
    count = []
    real = pooling.pooled_states
    monkeypatch.setattr(pooling, "pooled_states", lambda *a, **k: (count.append(len(a[1])), real(*a, **k))[1])
    return count


def entries(n, value=1.0):
    return {(f"word {i}", "M5"): Entry(np.full(4, value + i, np.float32)) for i in range(n)}


def read(store, units, *codes):
    return store.read([(unit, code) for unit in units for code in codes or ["M5"]])


def cache(language="hi", revision="r1", protocol="in-context"):
    return VectorCache("owner/model", revision, protocol, language)


def test_what_is_written_is_read_back():
    written = entries(3) | {("भूत", "M5"): Entry(None, "tokenizes only to [UNK]")}
    cache().write(written)
    found = read(cache(), ["word 0", "word 2", "भूत", "absent"], "M5", "M1")
    assert set(found) == {("word 0", "M5"), ("word 2", "M5"), ("भूत", "M5")}
    np.testing.assert_array_equal(found["word 2", "M5"].vector, np.full(4, 3, np.float32))
    assert found["भूत", "M5"] == Entry(None, "tokenizes only to [UNK]")


def test_a_file_for_each_model_revision_protocol_and_language():
    paths = {cache().path, cache("mr").path, cache(revision="r2").path, cache(protocol="weathub-2023").path}
    assert len(paths) == 4
    cache().write(entries(1))
    assert read(cache(revision="r2"), ["word 0"]) == {}


def test_only_new_words_are_encoded(tmp_path, counted):
    folder = str(embed_made.bert(tmp_path / "bert"))
    first = Encoder(folder).encode(["flower", "bee", "older sister"], ["M5"])
    again = Encoder(folder).encode(["bee", "flower"], ["M5", "M1", "M9"])
    more = Encoder(folder).encode(["flower", "math", "sister"], ["M5"])
    assert counted == [4, 1]  # flower bee older sister; math; other methods of the same words cost nothing
    np.testing.assert_array_equal(first["M5"][:2], again["M5"][::-1])
    fresh = Encoder(folder, cache=False).encode(["math"], ["M5"])
    np.testing.assert_array_equal(more["M5"][1], fresh["M5"][0])


def test_cached_vectors_need_no_weights(tmp_path, monkeypatch):
    folder = str(embed_made.bert(tmp_path / "bert"))
    before = Encoder(folder).encode(["flower", "花"], ["M5", "M7"], "zh")
    monkeypatch.setattr("localbias.models.encoder._network_of", lambda *a: pytest.fail("the weights were read"))
    after = Encoder(folder).encode(["flower", "花"], ["M5", "M7"], "zh")
    for method in before:
        np.testing.assert_array_equal(before[method], after[method])


def test_other_weights_make_other_vectors(tmp_path):
    one = Encoder(str(embed_made.bert(tmp_path / "bert", seed=0))).encode(["bee"], ["M5"])["M5"]
    two = Encoder(str(embed_made.bert(tmp_path / "bert", seed=5))).encode(["bee"], ["M5"])["M5"]
    assert not np.allclose(one, two)


@pytest.mark.parametrize("damage", ["cut", "noise", "text", "empty tables", "header"])
def test_a_damaged_file_is_noticed_and_made_anew(damage):
    store = cache()
    store.write(entries(400))
    content = store.path.read_bytes()
    if damage == "cut":
        store.path.write_bytes(content[: len(content) // 2])
    elif damage == "noise":
        rng = np.random.default_rng(0)
        store.path.write_bytes(content[:100] + rng.bytes(len(content) - 100))
    elif damage == "header":
        store.path.write_bytes(b"\0" * 100 + content[100:])
    elif damage == "text":
        store.path.write_text("this is no database, and it is longer than a hundred bytes: " + "x" * 4096)
    else:
        database = sqlite3.connect(store.path)
        with database:
            database.execute("UPDATE about SET value = 'another model' WHERE key = 'model'")
        database.close()
    units = [f"word {i}" for i in range(400)]
    with pytest.warns(UserWarning, match="damaged"):
        assert len(read(store, units)) < 400
    store.write(entries(400))
    found = read(store, units)
    assert len(found) == 400
    np.testing.assert_array_equal(found["word 399", "M5"].vector, np.full(4, 400, np.float32))


def test_a_flipped_bit_in_a_vector_is_noticed(tmp_path, counted):
    folder = str(embed_made.bert(tmp_path / "bert"))
    words = ["flower", "mathematics", "math"]
    right = Encoder(folder).encode(words, ["M5"], "en")["M5"]
    encoder = Encoder(folder)
    store = VectorCache(encoder.model, encoder.revision, encoder.protocol, "en")
    needle = np.asarray(right[1], "<f4").tobytes()
    content = store.path.read_bytes()
    assert content.count(needle) == 1
    at = content.index(needle) + 10
    store.path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.warns(UserWarning, match=r"damaged entry of 'mathematics' \(M5\)"):
        found = encoder.encode(words, ["M5"], "en")["M5"]
    np.testing.assert_array_equal(found, right)
    assert counted == [3, 1]


def run(code, *arguments):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *arguments], env=os.environ.copy())


def test_two_processes_at_once_lose_nothing():
    code = """
        import sys, numpy as np
        from localbias.models.vector_cache import Entry, VectorCache
        who = sys.argv[1]
        for i in range(40):
            store = VectorCache("owner/model", "r1", "in-context", "hi")
            store.write({(f"{who} {i}", "M5"): Entry(np.full(8, i, np.float32))})
            assert len(store.read([(f"{who} {j}", "M5") for j in range(i + 1)])) == i + 1
    """
    running = [run(code, who) for who in ("one", "two", "three")]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    units = [f"{who} {i}" for who in ("one", "two", "three") for i in range(40)]
    assert len(read(cache(), units)) == 120


def test_a_killed_writer_leaves_whole_entries(recwarn):
    code = """
        import numpy as np
        from localbias.models.vector_cache import Entry, VectorCache
        store = VectorCache("owner/model", "r1", "in-context", "hi")
        for i in range(10_000):
            store.write({(f"{i} {k}", "M5"): Entry(np.full(64, i, np.float32)) for k in range(50)})
    """
    writer = run(code)
    deadline = time.monotonic() + 100
    while len(read(cache(), [f"3 {k}" for k in range(50)])) < 50:
        assert time.monotonic() < deadline and writer.poll() is None
        time.sleep(0.01)
    time.sleep(0.05)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    for i in range(200):  # every transaction is there whole or not at all
        found = read(cache(), [f"{i} {k}" for k in range(50)])
        assert len(found) in (0, 50)
        assert all((entry.vector == i).all() for entry in found.values())
    cache().write(entries(1))
    assert len(read(cache(), ["word 0"])) == 1
    assert not recwarn.list


def test_a_full_disk_is_announced_and_the_vectors_are_there_all_the_same(tmp_path, monkeypatch):
    folder = str(embed_made.bert(tmp_path / "bert"))
    Encoder(folder).encode(["bee"], ["M5"], "en")
    real = sqlite3.connect

    def small(*arguments, **options):
        database = real(*arguments, **options)
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {max(pages, 1)}")
        return database

    monkeypatch.setattr("localbias.models.vector_cache.sqlite3.connect", small)
    words = ["a" + "".join(tail) for tail in itertools.product("ab", repeat=6)]
    with pytest.warns(UserWarning, match="not kept: database or disk is full"):
        found = Encoder(folder).encode(words, ["M5"], "en")
    monkeypatch.undo()
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    np.testing.assert_array_equal(found["M5"], Encoder(folder, cache=False).encode(words, ["M5"])["M5"])
    again = Encoder(folder).encode(["bee", *words], ["M5"], "en")["M5"]
    np.testing.assert_array_equal(again[1:], found["M5"])


def test_a_cache_that_cannot_be_written_is_announced(tmp_path):
    folder = str(embed_made.bert(tmp_path / "bert"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "vectors").mkdir()
    encoder = Encoder(folder)
    VectorCache(encoder.model, encoder.revision, encoder.protocol, "en").path.mkdir()
    with pytest.warns(UserWarning, match="not kept"):
        assert not np.isnan(encoder.encode(["bee"], ["M5"], "en")["M5"]).any()


@pytest.mark.slow
def test_what_is_no_vector_is_made_anew_and_a_spoilt_schema_too(tmp_path):
    """A row whose vector is a text, with the checksum that its bytes would have; a schema page with a flipped bit."""
    import sqlite3
    import zlib

    key = ("made", "r1", "in-context", "en")
    cache, entry = VectorCache(*key, folder=tmp_path), {("bee", "M5"): Entry(np.ones(4, np.float32))}
    cache.write(entry)
    head = zlib.crc32("\0".join(("bee", "M5", "")).encode())
    for text in ("abcd", "1234" * 4):
        with sqlite3.connect(cache.path) as database:
            database.execute("UPDATE vectors SET vector = ?, checksum = ?", (text, zlib.crc32(text.encode(), head)))
        with pytest.warns(UserWarning, match="damaged entry"):
            assert cache.read(entry) == {}
    at = cache.path.read_bytes().index(b"CREATE TABLE")
    for flipped in range(at - 60, at + 60):
        cache.path.unlink()
        cache.write(entry)
        whole = bytearray(cache.path.read_bytes())
        whole[flipped] ^= 0x80
        cache.path.write_bytes(whole)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = cache.read(entry)
            cache.write(entry)
        held = VectorCache(*key, folder=tmp_path).read(entry)
        assert all(np.array_equal(e.vector, np.ones(4)) for e in [*found.values(), *held.values()]), flipped
        assert held, (flipped, [str(w.message) for w in said])
