"""The 4-bit file: a hand-made one of a few weights, and the packaged one against known properties."""

import struct
import unicodedata
from functools import cache

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import embed_made
from localbias.errors import ModelUnavailable
from localbias.models import e5, packaged

HIDDEN, FEED_FORWARD, POSITIONS = 32, 64, 8
PIECES = [
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("▁", -3.0),
    ("▁Ab", -2.0),
    ("c", -2.5),
    ("<mask>", 0.0),
]


def packed_row(values, scale):
    """32 whole numbers −8 … 7 as a block: float16 scale, then number i low and number i + 16 high in byte i."""
    halves = [value + 8 for value in values]
    return struct.pack("<e", scale) + bytes(halves[i] | halves[i + 16] << 4 for i in range(16))


def made_file(rng):
    """A whole file with one layer, and the weights it stands for."""
    shapes = {"emb.word": (10, HIDDEN), "emb.pos": (POSITIONS, HIDDEN), "emb.type": (2, HIDDEN)}
    shapes |= {"emb.ln.w": (HIDDEN,), "emb.ln.b": (HIDDEN,)}
    sizes = {
        "q": (HIDDEN, HIDDEN),
        "k": (HIDDEN, HIDDEN),
        "v": (HIDDEN, HIDDEN),
        "ao": (HIDDEN, HIDDEN),
        "fi": (FEED_FORWARD, HIDDEN),
        "fo": (HIDDEN, FEED_FORWARD),
    }
    for part, shape in sizes.items():
        shapes |= {f"l0.{part}.w": shape, f"l0.{part}.b": shape[:1]}
    shapes |= {f"l0.{part}.{kind}": (HIDDEN,) for part in ("aln", "oln") for kind in "wb"}
    weights, blobs = {}, {}
    for name, shape in shapes.items():
        four_bit = len(shape) == 2 and name not in ("emb.pos", "emb.type")
        if four_bit:
            whole = rng.integers(-8, 8, (int(np.prod(shape)) // 32, 32))
            scales = np.float16(rng.uniform(0.01, 0.1, len(whole)))
            blobs[name] = 1, b"".join(packed_row(row.tolist(), s) for row, s in zip(whole, scales, strict=True))
            weights[name] = (whole * scales[:, None].astype(float)).reshape(shape)
        else:
            weights[name] = rng.normal(size=shape).astype("<f4")
            blobs[name] = 0, weights[name].tobytes()
    text = "".join(piece for piece, _ in PIECES).encode()
    ends = np.cumsum([len(piece.encode()) for piece, _ in PIECES])
    head = b"E5S1" + struct.pack("<I7ifi", 1, HIDDEN, 1, 2, FEED_FORWARD, 10, POSITIONS, 2, 1e-5, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text)) + struct.pack("<9I", 0, *ends)
    head += struct.pack("<8f", *(score for _, score in PIECES)) + text
    characters = struct.pack("<IB", 0x200D, 1) + struct.pack("<I", 0x20) + struct.pack("<IB", 0x07, 0)
    head += struct.pack("<iI", 2, len(characters)) + characters
    table_size = sum(2 + len(name) + 21 for name in blobs)
    offset, table, data = len(head) + 4 + table_size, b"", b""
    for name, (kind, blob) in blobs.items():
        table += struct.pack("<H", len(name)) + name.encode()
        table += struct.pack("<BIQQ", kind, weights[name].size, offset + len(data), len(blob))
        data += blob
    return head + struct.pack("<i", len(blobs)) + table + data, weights


@pytest.fixture
def made(tmp_path):
    content, weights = made_file(np.random.default_rng(7))
    (tmp_path / "small.bin").write_bytes(content)
    folder = tmp_path / "folder"
    folder.mkdir()
    e5.convert(tmp_path / "small.bin", folder)
    return folder, weights


def test_a_block_by_hand():
    # scale 0.5; bytes 0x10, 0x32: halves 0, 1, 2, 3 → (0-8)/2, (2-8)/2 first, (1-8)/2, (3-8)/2 sixteen later
    raw = np.frombuffer(struct.pack("<e", 0.5) + bytes([0x10, 0x32] + [0xF8] * 14), np.uint8)
    found = e5.unpack_blocks(raw)
    assert found[:3].tolist() == [-4.0, -3.0, 0.0]
    assert found[16:19].tolist() == [-3.5, -2.5, 3.5]


def test_a_made_file_becomes_the_bert_it_stands_for(made):
    folder, weights = made
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    assert model.config.model_type == "bert" and model.config.layer_norm_eps == pytest.approx(1e-5)
    named = dict(model.named_parameters())
    pairs = {
        "emb.word": "embeddings.word_embeddings.weight",
        "l0.q.w": "encoder.layer.0.attention.self.query.weight",
        "l0.ao.b": "encoder.layer.0.attention.output.dense.bias",
        "l0.fi.w": "encoder.layer.0.intermediate.dense.weight",
        "l0.oln.w": "encoder.layer.0.output.LayerNorm.weight",
    }
    for ours, theirs in pairs.items():
        np.testing.assert_allclose(named[theirs].detach().numpy(), weights[ours], rtol=1e-6)
    assert len(named) == len(weights)


def layer_norm(x, w, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def test_a_made_file_computes_what_a_bert_layer_computes(made):
    from scipy.special import erf, softmax

    folder, w = made
    ids = [0, 5, 6, 2]
    x = layer_norm(w["emb.word"][ids] + w["emb.pos"][:4] + w["emb.type"][0], w["emb.ln.w"], w["emb.ln.b"])
    q, k, v = (x @ w[f"l0.{part}.w"].T + w[f"l0.{part}.b"] for part in "qkv")
    heads = [softmax(q[:, h] @ k[:, h].T / np.sqrt(16), axis=-1) @ v[:, h] for h in (slice(0, 16), slice(16, 32))]
    x = layer_norm(np.hstack(heads) @ w["l0.ao.w"].T + w["l0.ao.b"] + x, w["l0.aln.w"], w["l0.aln.b"])
    inner = x @ w["l0.fi.w"].T + w["l0.fi.b"]
    inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
    x = layer_norm(inner @ w["l0.fo.w"].T + w["l0.fo.b"] + x, w["l0.oln.w"], w["l0.oln.b"])
    model = AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        found = model(torch.tensor([ids])).last_hidden_state[0].numpy()
    np.testing.assert_allclose(found, x, atol=1e-4)


def test_a_made_files_tokenizer(made):
    tokenizer = AutoTokenizer.from_pretrained(made[0])
    assert tokenizer("Abc").input_ids == [0, 5, 6, 2]
    assert tokenizer("  Ａｂ\u200dc ").input_ids == [0, 5, 4, 6, 2]  # full width by NFKC; the joiner is a space here
    assert tokenizer("A\u0007bc").input_ids == [0, 5, 6, 2]  # the bell is dropped
    assert tokenizer.cls_token_id == tokenizer("").input_ids[0] == 0


@pytest.mark.parametrize("cut", [3, 40, 60, 120, 400, 5000])
def test_a_file_cut_short_is_named(tmp_path, cut):
    content, _ = made_file(np.random.default_rng(7))
    (tmp_path / "cut.bin").write_bytes(content[:cut])
    with pytest.raises(ModelUnavailable, match=r"cannot be read[\s\S]*cut.bin"):
        e5.convert(tmp_path / "cut.bin", tmp_path)


@cache
def real():
    return e5.read(packaged.find("multilingual-e5-small").files[0].read_bytes())


def real_tokenizer():
    return embed_made.packaged("multilingual-e5-small")._tokenizer


@pytest.mark.model
def test_the_normaliser_follows_the_files_own_character_map():
    normalise = real_tokenizer().backend_tokenizer.normalizer.normalize_str
    wrong = {char: text for char, text in real().characters.items() if normalise(char) != text}
    assert wrong == {}
    unmapped = [chr(c) for c in range(0x20, 0x2FFF) if chr(c) not in real().characters and chr(c) != "\u061c"]
    assert all(normalise(char) == char for char in unmapped)


def viterbi(text, scores):
    """The segmentation with the highest sum of scores (Kudo 2018), by brute dynamic programming."""
    best = [(0.0, [])] + [(-np.inf, None)] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - 16), end):
            score = scores.get(text[start:end])
            if score is not None and best[start][0] + score > best[end][0]:
                best[end] = best[start][0] + score, best[start][1] + [text[start:end]]
    return best[-1][1]


@pytest.mark.model
@pytest.mark.parametrize(
    "phrase",
    [
        "Hello world",
        "flower",
        "gladiola",
        "kulîlk",
        "ดอกไม้ป่า",
        "कमल का फूल",
        "گل سرخ",
        "می‌خواهم",
        "바이올린 연주",
        "Blumenstrauß",
        "hoa hồng",
        "Ａｂｃ①",
        "ﬁsh",
        "లక్ష్మి",
        "ਗੁਲਾਬ",
        "зверобой",
    ],
)
def test_the_tokenizer_against_a_segmentation_by_hand(phrase):
    special = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    scores = {piece: score for piece, score in real().pieces if piece not in special}
    plain = unicodedata.normalize("NFKC", phrase.replace("\u200c", " "))
    expected = [piece for word in plain.split() for piece in viterbi("▁" + word, scores)]
    tokens = real_tokenizer().convert_ids_to_tokens(real_tokenizer()(phrase).input_ids)
    assert tokens == ["<s>", *expected, "</s>"]


@pytest.mark.model
def test_translations_are_nearer_than_other_words():
    # what the model was trained for: the same meaning in two languages is near, by the mean of its last states
    english = ["flower", "mathematics", "hospital", "sister", "violin", "war"]
    german = ["Blume", "Mathematik", "Krankenhaus", "Schwester", "Geige", "Krieg"]
    thai = ["ดอกไม้", "คณิตศาสตร์", "โรงพยาบาล", "พี่สาว", "ไวโอลิน", "สงคราม"]
    vectors = (
        embed_made.packaged("multilingual-e5-small").encode([*english, *german, *thai], ["M8"])["M8"].astype(float)
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for other in (vectors[6:12], vectors[12:]):
        nearest = (vectors[:6] @ other.T).argmax(1)
        assert (nearest == np.arange(6)).sum() >= 5  # by chance: 1


@pytest.mark.model
def test_a_question_is_nearest_to_its_answer():
    encoder = embed_made.packaged("multilingual-e5-small")
    tokenizer, model = encoder._tokenizer, encoder._network
    texts = [
        "query: how far is the moon",
        "passage: The moon is about 384,000 kilometres away from the Earth.",
        "passage: Bread is baked from flour, water and yeast.",
        "passage: La luna è a 384.000 chilometri.",
    ]
    means = []
    for text in texts:
        with torch.no_grad():
            means.append(model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0))
    near = [float(torch.cosine_similarity(means[0], mean, dim=0)) for mean in means[1:]]
    assert near[0] > near[1] and near[2] > near[1] and 0.85 < near[0] < 0.99
