"""A name → a model: what is found, what is refused, what is said when it cannot be had."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import torch

import embed_made
from localbias.errors import LocalBiasError, ModelUnavailable, UnknownName
from localbias.models import hub
from localbias.models.conversion import converted
from localbias.models.encoder import Encoder
from localbias.models.loading import load_causal, load_tokenizer, resolve


def closed_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_hub_out_of_reach_is_named_soon(tmp_path):
    code = """
        from localbias.models.encoder import Encoder
        from localbias.errors import ModelUnavailable
        try:
            Encoder("bert-base-chinese")
        except ModelUnavailable as problem:
            print(problem)
    """
    start = time.monotonic()
    cut = {"HF_ENDPOINT": f"http://127.0.0.1:{closed_port()}", "HF_HOME": str(tmp_path)}
    said = python(code, **cut, LOCALBIAS_OFFLINE="")
    assert "'bert-base-chinese' is not here" in said and "Connect" in said and "local folder" in said
    said = python(code, **cut, LOCALBIAS_OFFLINE="1")
    assert "LOCALBIAS_OFFLINE" in said
    assert time.monotonic() - start < 120


@pytest.mark.slow
def test_a_cached_hub_model_works_without_the_hub(tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = tmp_path / "hub" / "models--someone--tiny"
    embed_made.bert(repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    code = """
        from localbias.models.encoder import Encoder
        encoder = Encoder("someone/tiny", cache=False)
        print(encoder.revision, encoder.encode(["flower"], ["M5"])["M5"].shape, encoder.methods)
    """
    said = python(code, HF_HOME=str(tmp_path), HF_ENDPOINT=f"http://127.0.0.1:{closed_port()}")
    assert said.split(" ", 1)[0] == f"hub:someone/tiny@{commit[:12]}" and "(1, 16)" in said and "M7" in said


@pytest.mark.parametrize(
    "name", ["no such model", "multilingual-e5-smal", "", "-p", "a..b", "x" * 5000, "x/" + "y" * 5000]
)
def test_a_name_that_cannot_be_a_model(name):
    with pytest.raises(UnknownName, match="unknown model"):
        resolve(name)


def test_the_nearest_name_is_offered():
    with pytest.raises(UnknownName, match="did you mean multilingual-e5-small?"):
        resolve("multilingual-e5-smal")


def test_a_hub_model_without_safetensors_is_refused(monkeypatch):
    class File:
        rfilename = "pytorch_model.bin"

    class Found:
        sha, siblings = "abc", [File]

    monkeypatch.delenv("LOCALBIAS_OFFLINE", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *a, **k: Found)
    with pytest.raises(ModelUnavailable, match=r"no safetensors weights[\s\S]*pytorch_model.bin[\s\S]*refs/pr/1"):
        hub.commit("someone/old")


def test_a_folder_with_pickled_weights_is_refused(tmp_path):
    embed_made.bert(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match=r"not a model[\s\S]*pickled"):
        resolve(str(tmp_path))


def test_code_in_a_model_folder_is_not_run(tmp_path):
    import json

    embed_made.bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        Encoder(str(tmp_path), cache=False).encode(["bee"], ["M5"])
    assert not (tmp_path / "ran").exists()


def test_weights_that_lack_a_layer_are_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    embed_made.bert(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights = {key: value for key, value in weights.items() if "layer.2." not in key}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailable, match=r"not complete[\s\S]*layer.2"):
        Encoder(str(tmp_path), cache=False).encode(["bee"], ["M5"])


def test_a_cut_weights_file_is_refused(tmp_path):
    embed_made.bert(tmp_path)
    content = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        Encoder(str(tmp_path), cache=False).encode(["bee"], ["M5"])


@pytest.mark.parametrize("name", ["vectors.txt", "weights.pt"])
def test_a_file_of_another_form_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(ModelUnavailable, match=f"{name} is not a model"):
        resolve(str(tmp_path / name))


def test_the_revision_of_a_folder_is_its_content(tmp_path):
    one, two = embed_made.bert(tmp_path / "one"), embed_made.bert(tmp_path / "two")
    other = embed_made.bert(tmp_path / "other", seed=1)
    assert resolve(str(one)).revision == resolve(str(two)).revision != resolve(str(other)).revision


def test_language_models_of_both_kinds(tmp_path):
    tokenizer, model, info = load_causal(str(embed_made.llama(tmp_path / "causal")))
    assert info.kind == "causal" and tokenizer.pad_token is not None
    assert model(**tokenizer("flow", return_tensors="pt", return_token_type_ids=False)).logits.shape[-1] == 261
    tokenizer, model, info = load_causal(str(embed_made.bert(tmp_path / "masked", head=True)))
    assert info.kind == "masked" and tokenizer.mask_token == "[MASK]"
    tokenizer.chat_template = "{{ messages[0].content }}"
    folder = embed_made.llama(tmp_path / "chat")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert load_causal(str(folder))[2].kind == "chat"


def test_an_encoder_without_a_head_predicts_nothing(tmp_path):
    with pytest.raises(ModelUnavailable, match="does not predict tokens"):
        load_causal(str(embed_made.bert(tmp_path)))


@pytest.mark.model
def test_static_vectors_predict_nothing():
    with pytest.raises(ModelUnavailable, match="static word vectors"):
        load_causal("glove-6b-50d")


def test_a_masked_models_body_gives_vectors(tmp_path):
    encoder = Encoder(str(embed_made.bert(tmp_path, head=True)), cache=False)
    assert encoder.encode(["bee"]).keys() == dict.fromkeys([f"M{i}" for i in range(1, 10)]).keys()


def test_a_tokenizer_of_a_sentencepiece_file_alone(tmp_path):
    """IndicBERT's form, read through protobuf. The pieces are those of the sentencepiece library itself."""
    from sentencepiece import SentencePieceProcessor

    words = ["फूल", "कीड़ा", "flower", "flowers", "bee", "bees"]
    folder = embed_made.albert(tmp_path, words * 5, 40)
    theirs = SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    tokenizer = load_tokenizer(resolve(str(folder)))
    assert tokenizer.is_fast
    for word in words:
        cls, *ids, sep = tokenizer(word)["input_ids"]
        assert (cls, sep) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
        assert tokenizer.convert_ids_to_tokens(ids) == theirs.encode(word, out_type=str), word
        assert ids == theirs.encode(word)
    vectors = Encoder(str(folder), cache=False).encode(words, ["M5"])["M5"]
    assert vectors.shape == (6, 16) and np.isfinite(vectors).all() and len(np.unique(vectors, axis=0)) == 6


# ------------------------------------------------------------------------------- conversions


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def test_a_conversion_is_done_once(own_cache):
    made = []

    def write(folder):
        made.append(folder)
        (folder / "weights").write_bytes(b"1234")

    one, two = (converted("owner/name", "ab" * 32, write) for _ in range(2))
    assert one == two and (one / "weights").read_bytes() == b"1234" and len(made) == 1
    assert converted("owner/name", "cd" * 32, write) != one
    assert sorted(p.name for p in own_cache.iterdir() if not p.name.startswith(".")) == sorted(
        {one.name, converted("owner/name", "cd" * 32, write).name}
    )


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "manifest"])
def test_a_damaged_conversion_is_noticed_and_made_anew(own_cache, damage):
    def write(folder):
        (folder / "weights").write_bytes(bytes(range(200)))

    folder = converted("name", "ab" * 32, write)
    weights = folder / "weights"
    if damage == "cut":
        weights.write_bytes(bytes(range(100)))
    elif damage == "flipped":
        weights.write_bytes(bytes([1]) + bytes(range(1, 200)))
    elif damage == "gone":
        weights.unlink()
    else:
        (folder / "manifest.json").write_text("{")
    with pytest.warns(UserWarning, match="damaged"):
        converted("name", "ab" * 32, write)
    assert weights.read_bytes() == bytes(range(200))


def test_a_failed_conversion_leaves_nothing(own_cache):
    def fail(folder):
        (folder / "weights").write_bytes(b"half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        converted("name", "ab" * 32, fail)
    assert not [p for p in own_cache.iterdir() if p.is_dir()]


def test_a_full_disk_is_named(own_cache):
    import errno

    def fail(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(LocalBiasError, match=r"no space left[\s\S]*LOCALBIAS_CACHE"):
        converted("name", "ab" * 32, fail)
    assert not [p for p in own_cache.iterdir() if p.is_dir()]


CONVERTING = """
    import sys, time
    from localbias.models.conversion import converted
    def write(folder):
        print("converting", flush=True)
        (folder / "weights").write_bytes(b"1" * 1000)
        time.sleep(float(sys.argv[1]))
    print(converted("name", "ab" * 32, write), flush=True)
"""


def converting(seconds):
    code = textwrap.dedent(CONVERTING)
    return subprocess.Popen([sys.executable, "-c", code, str(seconds)], stdout=subprocess.PIPE, text=True)


def test_two_processes_convert_once(own_cache):
    running = [converting(1) for _ in range(3)]
    said = [process.communicate(timeout=120)[0].split("\n") for process in running]
    assert sum(lines.count("converting") for lines in said) == 1
    assert len({lines[-2] for lines in said}) == 1


def test_a_killed_conversion_is_done_again(own_cache):
    first = converting(1000)
    assert first.stdout.readline() == "converting\n"
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert [p.suffix for p in own_cache.iterdir() if p.is_dir()] == [".part"]
    said = converting(0).communicate(timeout=120)[0].split("\n")
    assert said[0] == "converting" and os.path.isdir(said[1])
    assert [str(p) for p in own_cache.iterdir() if p.is_dir()] == [said[1]]


def test_a_cache_that_cannot_be_written_is_named_once_and_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match=r"not kept[\s\S]*LOCALBIAS_CACHE") as said:
        folder = converted("name", "ab" * 32, lambda folder: (folder / "weights").write_text("x"))
        assert Encoder(str(embed_made.llama(tmp_path / "llama"))).encode(["flow"], ["M5"])["M5"].shape == (1, 16)
    assert (folder / "weights").read_text() == "x" and len([w for w in said if "not kept" in str(w.message)]) == 1


def test_half_precision_can_be_asked_for(tmp_path):
    folder = str(embed_made.llama(tmp_path))
    assert load_causal(folder, dtype="bfloat16")[1].dtype == torch.bfloat16
    whole, half = Encoder(folder, cache=False), Encoder(folder, cache=False, dtype="bfloat16")
    assert half.revision == f"{whole.revision} in bfloat16" and half.weights == "float32 in bfloat16"
    one, other = (e.encode(["flow"], ["M5"])["M5"] for e in (whole, half))
    assert one.dtype == other.dtype == np.float32
    assert not np.array_equal(one, other) and np.allclose(one, other, atol=0.1)


PATHS = ["./here", "../x", "/no/such/model", "~/no-such-model", "a/b/c", "folder/", "weights.gguf", "mymodels/llama"]


@pytest.mark.parametrize("name", [*PATHS, "../" + "x" * 5000, "./nul\0"])
def test_what_looks_like_a_path_and_is_none_is_never_asked_of_the_hub(name, tmp_path, monkeypatch):
    """ "mymodels/llama" could be a hub id, but a folder ``mymodels`` lies where the person stands."""
    monkeypatch.setattr("localbias.models.hub.commit", lambda *_, **__: pytest.fail("the hub was asked"))
    monkeypatch.setenv("LOCALBIAS_CWD", str(tmp_path))
    (tmp_path / "mymodels").mkdir()
    with pytest.raises(ModelUnavailable, match="no model at this path") as caught:
        resolve(name)
    assert len(str(caught.value)) < 2000


def test_a_path_is_relative_to_where_the_person_stands(tmp_path, monkeypatch):
    """As in a notebook that `localbias run` executes in another folder; and with @ the hub can still be meant."""
    embed_made.llama(tmp_path / "stands" / "mymodels" / "llama")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("LOCALBIAS_CWD", str(tmp_path / "stands"))
    assert resolve("mymodels/llama").source == "folder"
    monkeypatch.setattr("localbias.models.hub.commit", lambda repo, *_, **__: "c" * 40)
    assert resolve("mymodels/llama@main").source == resolve("owner/name").source == "hub"


def _damage(folder, kind):
    """One thing wrong with a model's folder."""
    config = json.loads((folder / "config.json").read_text())
    if kind == "shape":
        (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 2 * config["hidden_size"]}))
    elif kind == "no tokenizer":
        for file in folder.glob("*token*"):
            file.unlink()
        (folder / "vocab.txt").unlink(missing_ok=True)
    else:
        texts = {"list": "[]", "text": '"bert"', "no json": "{", "not UTF-8": b"\xff\xfe", "no type": "{}"}
        content = texts[kind] if isinstance(texts[kind], bytes) else texts[kind].encode()
        (folder / "config.json").write_bytes(content)


KINDS = ["shape", "no tokenizer", "list", "text", "no json", "not UTF-8", "no type"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("made", ["bert", "llama"])
def test_a_damaged_folder_is_named(tmp_path, made, kind):
    folder = getattr(embed_made, made)(tmp_path / made)
    _damage(folder, kind)
    with pytest.raises(ModelUnavailable) as caught:
        Encoder(str(folder), cache=False).encode(["flow"])
    assert str(folder) in str(caught.value) and repr(str(folder)) in str(caught.value)
    with pytest.raises(ModelUnavailable):
        load_causal(str(folder))


def test_an_unknown_dtype_is_named(tmp_path):
    folder = str(embed_made.llama(tmp_path))
    for call in (lambda: Encoder(folder, dtype="float8"), lambda: load_causal(folder, dtype="float8")):
        with pytest.raises(UnknownName, match="unknown dtype: 'float8'"):
            call()


def test_arrays_in_arrays_of_a_gguf_header_are_refused_without_recursion(tmp_path):
    """The header's only entry: an array of one array of one array … 100,000 deep (GGUF specification, version 3)."""
    path = tmp_path / "nested.gguf"
    nested = struct.pack("<IQ", 9, 1) * 100_000
    entry = struct.pack("<Q", 1) + b"k" + struct.pack("<I", 9) + nested
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + entry)
    with pytest.raises(ModelUnavailable, match="array of arrays"):
        load_causal(str(path))
