"""M10: fastText files, the packaged GloVe matrix, and the download of published vectors."""

import base64
import gzip
import http.server
import pickle
import threading
import zlib

import fasttext
import numpy as np
import pandas as pd
import pytest

from localbias.errors import ModelUnavailable, UnknownName
from localbias.models import crawl
from localbias.models.encoder import Encoder
from localbias.studies.weat import run_weat
from localbias.words.lexicon import load_words, word_table


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A fastText model of 8 dims without character n-grams, trained on nine words: others have no vector."""
    folder = tmp_path_factory.mktemp("fasttext")
    (folder / "text.txt").write_text("flower bee sister old math war peace love hate\n" * 20, encoding="utf-8")
    model = fasttext.train_unsupervised(
        str(folder / "text.txt"), dim=8, minn=0, maxn=0, minCount=1, epoch=1, thread=1, verbose=0
    )
    model.save_model(str(folder / "small.bin"))
    return folder / "small.bin"


def test_a_fasttext_file(trained):
    encoder = Encoder(str(trained), cache=False)
    assert (encoder.methods, encoder.kind) == (("M10",), "static") and encoder.revision.startswith("sha256:")
    found = encoder.encode(["flower", "old sister", "wasp", "old wasp"])["M10"]
    model = fasttext.load_model(str(trained))  # without n-grams a word's vector is its row of the input matrix
    flower, old, sister = (model.get_input_matrix()[model.get_word_id(word)] for word in ("flower", "old", "sister"))
    np.testing.assert_array_equal(found[0], flower)
    np.testing.assert_allclose(found[1], (old + sister) / 2, rtol=1e-6)
    assert np.isnan(found[2]).all()  # all zeros in fastText: out of vocabulary, not data
    np.testing.assert_array_equal(found[3], old)
    told = encoder.problems(["flower", "wasp", "old wasp"])
    assert told["word"].tolist() == ["wasp", "old wasp"] and told["vector"].tolist() == [False, True]


@pytest.fixture(scope="module")
def with_ngrams(tmp_path_factory):
    """fastText with n-grams of 3 letters, trained on four words."""
    folder = tmp_path_factory.mktemp("ngrams")
    (folder / "text.txt").write_text("flower bee sister war\n" * 400, encoding="utf-8")
    model = fasttext.train_unsupervised(
        str(folder / "text.txt"), dim=8, minn=3, maxn=3, bucket=500, minCount=1, epoch=5, lr=0.2, thread=1, verbose=0
    )
    model.save_model(str(folder / "ngrams.bin"))
    return folder / "ngrams.bin"


def test_fasttext_vectors_keep_their_length(with_ngrams):
    # Bojanowski et al. 2017: a word is the mean of the rows of the word and its n-grams, <wa war ar> for war
    model = fasttext.load_model(str(with_ngrams))
    matrix = model.get_input_matrix()
    rows = [model.get_word_id("war"), *(model.get_subword_id(gram) for gram in ("<wa", "war", "ar>"))]
    unseen = [model.get_subword_id(gram) for gram in ("<wa", "was", "as>")]
    found = Encoder(str(with_ngrams), cache=False).encode(["war", "was", "war was"])["M10"]
    np.testing.assert_allclose(found[0], matrix[rows].mean(0), rtol=1e-5)
    np.testing.assert_allclose(found[1], matrix[unseen].mean(0), rtol=1e-5)
    np.testing.assert_allclose(found[2], (matrix[rows].mean(0) + matrix[unseen].mean(0)) / 2, rtol=1e-5)
    assert (np.linalg.norm(found, axis=1) < 0.5).all()  # unit vectors have 1


@pytest.mark.parametrize("protocol", ["in-context", "weathub-2023"])
def test_words_made_of_ngrams_are_not_in_the_vocabulary(with_ngrams, protocol):
    encoder = Encoder(str(with_ngrams), protocol, cache=False)
    seen = encoder.look(["war", "was", "war bee", "war was"])
    assert [s.listed for s in seen.values()] == [True, False, True, False]
    told = encoder.problems(list(seen))
    assert told["word"].tolist() == ["was", "war was"] and told["vector"].all()


def test_the_spelling_of_a_list_does_not_matter_but_to_the_authors_protocol(with_ngrams):
    two = ["caf\u00e9", "cafe\u0301"]  # Unicode's composed and decomposed form of one word
    assert len(set(two)) == 2
    one, other = Encoder(str(with_ngrams), cache=False).encode(two)["M10"]
    np.testing.assert_array_equal(one, other)
    one, other = Encoder(str(with_ngrams), "weathub-2023", cache=False).encode(two)["M10"]
    assert not np.allclose(one, other)


@pytest.mark.mirror
@pytest.mark.model
def test_published_words_copied_into_a_csv_give_the_same_result(tmp_path):
    table = word_table("weathub", "pa", "weat9", "all")
    composed = table.assign(word=table["word"].str.normalize("NFC"), dataset="copied", variant="user")
    assert (composed["word"] != table["word"]).any()
    composed[["language", "test", "role", "word"]].to_csv(tmp_path / "copied.csv", index=False)
    settings = {"model": "lid-176", "methods": ["M10"], "n_resamples": 0, "progress": False}
    theirs, copied = (
        run_weat(["pa"], ["weat9"], dataset=d, **settings) for d in ("weathub", str(tmp_path / "copied.csv"))
    )
    assert theirs["effect_size"].item() == pytest.approx(copied["effect_size"].item(), abs=1e-12)
    assert list(load_words("weat9", "pa", dataset="weathub").x) == list(table.loc[table["role"] == "X", "word"])


# gensim 4.4.0: kv = KeyedVectors(3); kv.add_vectors(["rose", "Ant", "花"], [[1, 2, 3], [0, -1, .5], [4, 0, 0]]);
# kv.save(…), kv.save_word2vec_format(…), the same with binary=True; the pickle compressed
GENSIM = (
    b"c-lQuO>fgc5Otb<q#+Wh5*&K+fkP_lmF>7r8zE7Y15yn+AjAb#tBt*hSGCuccO7CRq;TM)XfLSCoxi{@;LmX2U%=R|SXm>znfG>Po_DkT{r8s9"
    b"9Cf&)T(A_SSws_ou4qN06%A!p2(1P|4PW2F8-4Uazt=-`rzK#)-ccQN)qwGcuCdH8$n_;Kwu?+qt-4RSg!t#{Pfb;y)3wA6RR@L|0JoO33Ai@y"
    b"1xCCdbmD%nRjR%JLp<PRnpX&iSwT@+CX$h&AQeo93mRrz$f67-Os94lrdE4AYAH9+=%b!?=K8aKsfR%)=my<SIzCW4k*soBi?$Y?zW&nIyQ=e8"
    b"&t|iWzi^rm7*fx#rw<Kd^91ZVhwr>~Zu1KQ<Tkh1Ff>qMhO9`1o~a&P=Y&U@fZfy}CHaCS6z4?7P`sD01r4hZGIT|`6yRFz?A-+?DaGJz4B7-N"
    b"?1_{l3A$Qo)fY4;1(7s?9k*v0hw?t;aKch1^@U;lFw`zv!UR+gzkxOavScan4qe;zEyuNN=ap?wywSw=kUzF<??kKJ_6>l69`cY4iM*0=#<g-r"
    b"$Z^ov9HxZvWAg>6O!LgF?>aW^@nm!|aZirSH_xV1({YiD>`UmHCqyp51+5-EXS`fnK5|Zx=UI!;T8;fPYklft-?QE_8C%PQ%|jQBeCXa-0o?^z"
    b"F}~C#Q9X>Ce_H!f0}--Y(8svlG-}{|Tt9}g5Nt&;=xLIXrc%z)KPNR0`T"
)
FILES = {
    "made.kv": zlib.decompress(base64.b85decode(GENSIM)),
    "made.vec": "3 3\nrose 1.0 2.0 3.0\nAnt 0.0 -1.0 0.5\n花 4.0 0.0 0.0\n".encode(),
    "made.bin": b"3 3\n"
    + b"".join(
        word.encode() + b" " + np.array(numbers, "<f4").tobytes()
        for word, numbers in (("rose", [1, 2, 3]), ("Ant", [0, -1, 0.5]), ("花", [4, 0, 0]))
    ),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", FILES)
def test_other_files_of_word_vectors(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    encoder = Encoder(str(tmp_path / name), cache=False)
    found = encoder.encode(["Ant", "花", "rose", "ant"])["M10"]  # this vocabulary has capitals: ant is another word
    np.testing.assert_array_equal(found[:3], [[0, -1, 0.5], [4, 0, 0], [1, 2, 3]])
    assert np.isnan(found[3]).all() and encoder.methods == ("M10",) and encoder.revision.startswith("sha256:")
    assert [seen.listed for seen in encoder.look(["rose", "ant"]).values()] == [True, False]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("cut.vec", b"3 3\nrose 1 2 3\nant 1 2 3\n", "2 words; its first line says 3"),
        ("short.vec", b"2 3\nrose 1 2 3\nant 1 2\n", "line 3 has not 3 numbers"),
        ("cut.bin", FILES["made.bin"][:-3], "cannot be read"),
        ("nan.vec", b"1 2\nrose nan 1\n", "all finite: False"),
        ("code.kv", pickle.dumps(threading.Thread), "threading.Thread, which is not of word vectors"),
    ],
)
def test_a_damaged_or_strange_file_of_word_vectors_is_named(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelUnavailable, match=says):
        Encoder(str(tmp_path / name), cache=False).encode(["rose"])


def test_a_transformers_methods_are_not_given(trained):
    with pytest.raises(UnknownName, match="cannot give M5"):
        Encoder(str(trained), cache=False).encode(["flower"], ["M5"])


def test_a_damaged_fasttext_file_is_named(tmp_path, trained):
    (tmp_path / "cut.bin").write_bytes(b"no fastText file, whatever its name says")
    with pytest.raises(ModelUnavailable, match=r"cannot be read[\s\S]*cut.bin"):
        Encoder(str(tmp_path / "cut.bin"), cache=False).encode(["flower"])


@pytest.mark.model
def test_a_quantised_fasttext_file():
    found = Encoder("lid-176", cache=False).encode(["blomma", "цветок"])["M10"]
    assert found.shape == (2, 16) and np.isfinite(found).all() and not np.allclose(found[0], found[1])


@pytest.mark.model
def test_glove_against_its_published_first_numbers():
    # the file glove.6B.50d.txt starts: the 0.418 0.24968 -0.41242 0.1217
    encoder = Encoder("glove-6b-50d", cache=False)
    found = encoder.encode(["the", "The", "qqzzxx"])["M10"]
    np.testing.assert_allclose(found[0, :4], [0.418, 0.24968, -0.41242, 0.1217], atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])  # the vectors are of lower-case text
    assert np.isnan(found[2]).all()
    near = encoder.encode(["king", "queen", "cabbage"])["M10"].astype(float)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    assert near[0] @ near[1] > near[0] @ near[2] + 0.3


def test_an_index_that_does_not_fit_its_matrix(tmp_path):
    from localbias.models.static import Matrix

    np.save(tmp_path / "m.npy", np.ones((3, 2), np.float32))
    pd.DataFrame({"word": ["a", "b"]}).to_parquet(tmp_path / "i.parquet")
    with pytest.raises(ModelUnavailable, match=r"3 rows[\s\S]*2 rows"):
        Matrix(tmp_path / "m.npy", tmp_path / "i.parquet")


# --------------------------------------------------------------------------------- download


class Shelf(http.server.BaseHTTPRequestHandler):
    """Serves the files of a dict, whole or from an offset; can drop the connection half-way."""

    files: dict[str, bytes] = {}
    asked: list[str | None] = []
    drop = False

    def do_GET(self):
        body, wanted = self.files.get(self.path), self.headers.get("Range")
        self.asked.append(wanted)
        if body is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = start + (len(body) - start) // 2 if self.drop else len(body)
        self.wfile.write(body[start:end])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def shelf(trained, monkeypatch):
    monkeypatch.delenv("LOCALBIAS_OFFLINE", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    Shelf.files = {"/cc.xx.300.bin.gz": gzip.compress(trained.read_bytes())}
    Shelf.asked, Shelf.drop = [], False
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_download_is_announced_unpacked_and_kept(shelf, trained, tmp_path, capsys):
    path = crawl.fetch("xx", shelf, tmp_path)
    assert path.name == "cc.xx.300.bin" and path.read_bytes() == trained.read_bytes()
    assert "fetching cc.xx.300.bin.gz: 0.00 GB" in capsys.readouterr().err
    assert crawl.fetch("xx", shelf, tmp_path) == path
    assert Shelf.asked == [None]
    assert {p.name for p in tmp_path.iterdir() if not p.name.startswith(".")} == {"SHA256SUMS", "cc.xx.300.bin"}


def test_a_broken_download_goes_on_where_it_stopped(shelf, tmp_path):
    content = np.random.default_rng(0).bytes(1_000_000)
    Shelf.files = {"/cc.xx.300.bin.gz": gzip.compress(content)}
    whole = len(Shelf.files["/cc.xx.300.bin.gz"])
    Shelf.drop = True
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        crawl.fetch("xx", shelf, tmp_path)
    part = tmp_path / "cc.xx.300.bin.gz.part"
    assert 0 < part.stat().st_size < whole and not (tmp_path / "cc.xx.300.bin").exists()
    Shelf.drop = False
    received = part.stat().st_size
    assert crawl.fetch("xx", shelf, tmp_path).read_bytes() == content
    assert Shelf.asked == [None, f"bytes={received}-"]


def test_a_download_killed_before_its_renaming_is_taken(shelf, trained, tmp_path):
    (tmp_path / "cc.xx.300.bin.gz.part").write_bytes(Shelf.files["/cc.xx.300.bin.gz"])
    assert crawl.fetch("xx", shelf, tmp_path).read_bytes() == trained.read_bytes()


def test_a_damaged_download_is_removed(shelf, tmp_path):
    content = Shelf.files["/cc.xx.300.bin.gz"]
    Shelf.files = {"/cc.xx.300.bin.gz": content[:-4] + b"\0\0\0\0"}
    with pytest.raises(ModelUnavailable, match="damaged"):
        crawl.fetch("xx", shelf, tmp_path)
    assert not [p for p in tmp_path.iterdir() if not p.name.startswith(".")]


def test_a_language_without_a_file(shelf, tmp_path):
    with pytest.raises(ModelUnavailable, match=r"no such file \(language 'yy'\)"):
        crawl.fetch("yy", shelf, tmp_path)


def test_a_disk_too_small_is_named_before_the_download(shelf, tmp_path, monkeypatch):
    class Disk:
        free = 10

    monkeypatch.setattr("localbias.models.crawl.shutil.disk_usage", lambda folder: Disk)
    with pytest.raises(ModelUnavailable, match="no space left"):
        crawl.fetch("xx", shelf, tmp_path)
    assert not (tmp_path / "cc.xx.300.bin.gz.part").exists()


def test_no_download_when_the_network_is_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    with pytest.raises(ModelUnavailable, match="LOCALBIAS_OFFLINE"):
        crawl.fetch("hi", "http://127.0.0.1:1", tmp_path)


def test_each_language_has_its_own_vectors(trained, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path))
    (tmp_path / "fasttext").mkdir()
    (tmp_path / "fasttext" / "cc.da.300.bin").write_bytes(trained.read_bytes())
    encoder = Encoder("fasttext-cc")
    assert encoder.methods == ("M10",) and "Grave" in encoder.revision
    assert np.isfinite(encoder.encode(["flower"], language="da")["M10"]).all()
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    with pytest.raises(ModelUnavailable, match=r"cc.de.300.bin"):
        encoder.encode(["flower"], language="de")
    assert np.isfinite(Encoder("cc.da.300.bin").encode(["bee"], language="und")["M10"]).all()
