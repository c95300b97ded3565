"""M1–M9 against a plain loop: one word, one forward pass, one method at a time."""

from functools import cache

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import embed_made
from localbias.errors import BadValues, ModelUnavailable, UnknownName
from localbias.models.encoder import Encoder

ALL = ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return embed_made.bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return embed_made.roberta(tmp_path_factory.mktemp("roberta"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return embed_made.llama(tmp_path_factory.mktemp("llama"))


@cache
def loaded(folder):
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def by_hand(folder, word, method, where):
    """A method by its definition; `where` are the positions of the word's subwords, worked out by the test."""
    tokenizer, model = loaded(folder)
    ids = tokenizer(word).input_ids
    if tokenizer.cls_token is None:  # a decoder: <bos>, a blank, the word
        ids = [0, *(i for i in tokenizer(f" {word}").input_ids if i != 0)]
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True)
    states = [state[0].numpy().astype(float) for state in states.hidden_states]
    layer = {
        "M1": states[0],
        "M2": states[0],
        "M3": states[-2],
        "M4": states[-2],
        "M5": sum(states) / len(states),
        "M6": sum(states) / len(states),
        "M7": states[-1],
        "M8": states[-1],
        "M9": states[-1],
    }[method]
    if method == "M7":
        return layer[0]
    return layer[where].mean(0) if method in ("M1", "M3", "M5", "M8") else layer[where[0]]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(("word", "where"), [("flower", [1]), ("older", [1, 2]), ("mathematics", [1, 2, 3])])
def test_wordpiece_encoder(bert, method, word, where):
    found = Encoder(str(bert), cache=False).encode([word], [method])[method]
    np.testing.assert_allclose(found[0], by_hand(bert, word, method, where), atol=1e-5)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(("word", "where"), [("bee", [1]), ("flower", [1, 2]), ("花", [1, 2])])
def test_sentencepiece_encoder(roberta, method, word, where):
    found = Encoder(str(roberta), cache=False).encode([word], [method])[method]
    np.testing.assert_allclose(found[0], by_hand(roberta, word, method, where), atol=1e-5)


@pytest.mark.parametrize("method", [m for m in ALL if m != "M7"])
@pytest.mark.parametrize(("word", "where"), [("flow", [2]), ("flower", [2, 3, 4]), ("ม", [2, 3, 4])])
def test_byte_level_decoder(llama, method, word, where):
    found = Encoder(str(llama), cache=False).encode([word], [method])[method]
    np.testing.assert_allclose(found[0], by_hand(llama, word, method, where), atol=1e-5)


def test_the_encoder_of_an_encoder_decoder_is_taken(tmp_path):
    folder = embed_made.t5(tmp_path)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval().encoder
    with torch.no_grad():
        states = model(torch.tensor([[0, 5, 6, 2]]), output_hidden_states=True).hidden_states  # <s> ▁flow er </s>
    assert tokenizer("flower").input_ids == [0, 5, 6, 2]
    found = Encoder(str(folder), cache=False).encode(["flower"], ["M1", "M8", "M9"])
    np.testing.assert_allclose(found["M1"][0], states[0][0, 1:3].mean(0), atol=1e-5)
    np.testing.assert_allclose(found["M8"][0], states[-1][0, 1:3].mean(0), atol=1e-5)
    np.testing.assert_allclose(found["M9"][0], states[-1][0, 1], atol=1e-5)


@pytest.mark.parametrize(("made", "positions"), [(embed_made.bert, 32), (embed_made.roberta, 40 - 2)])
def test_a_word_longer_than_the_model_takes_has_no_vector(tmp_path, made, positions):
    encoder = Encoder(str(made(tmp_path)), cache=False)
    fits = "a" * (positions - 2) if made is embed_made.roberta else "a" + "b" * (positions - 3)
    if made is embed_made.roberta:  # ▁ a a …
        fits = fits[1:]
    found = encoder.encode([fits, fits + fits[-1]], ["M5", "M7"])
    assert np.isnan(found["M5"]).all(axis=1).tolist() == np.isnan(found["M7"]).all(axis=1).tolist() == [False, True]
    assert encoder.problems([fits, fits + fits[-1]])["problem"].tolist() == [
        f"has {positions + 1} tokens; the model takes {positions}"
    ]


def test_a_first_special_token_of_a_decoder_is_not_part_of_the_word(tmp_path):
    folder = embed_made.llama(tmp_path, bos=True)
    found = Encoder(str(folder), cache=False).encode(["flower"], ["M8", "M9"])
    np.testing.assert_allclose(found["M8"][0], by_hand(folder, "flower", "M8", [2, 3, 4]), atol=1e-5)
    np.testing.assert_allclose(found["M9"][0], by_hand(folder, "flower", "M9", [2]), atol=1e-5)


def test_a_phrase_is_the_mean_of_its_words_but_m7_reads_it_whole(bert):
    found = Encoder(str(bert), cache=False).encode(["older sister", "older", "sister"])
    for method in ALL:
        mean = (found[method][1] + found[method][2]) / 2
        assert np.allclose(found[method][0], mean, atol=1e-5) == (method != "M7")
    np.testing.assert_allclose(found["M7"][0], by_hand(bert, "older sister", "M7", None), atol=1e-5)


def test_order_and_repetition_of_the_words_are_kept(bert):
    encoder = Encoder(str(bert), cache=False)
    found = encoder.encode(["bee", "flower", "bee"], ["M5"])["M5"]
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], encoder.encode(["flower"], ["M5"])["M5"][0])
    assert list(encoder.encode(["bee"], ["M9", "M1"])) == ["M9", "M1"]


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_vectors_do_not_depend_on_the_batch(bert, size):
    words = ["flower", "bee", "older", "sister", "mathematics", "math", "old", "a", "ab", "bb", "older sister"]
    whole = Encoder(str(bert), cache=False).encode(words)
    some = Encoder(str(bert), cache=False, batch_size=size).encode(list(reversed(words)))
    for method in ALL:
        np.testing.assert_allclose(some[method][::-1], whole[method], atol=1e-5)


def test_an_unknown_word_has_no_vector_and_a_reason(bert):
    encoder = Encoder(str(bert), cache=False)
    words = ["flower", "花", "", "bee 花", "\u200d"]
    found = encoder.encode(words)
    for method in ALL:
        missing = np.isnan(found[method]).all(axis=1)
        assert missing.tolist() == [False, True, True, False, True], method
    np.testing.assert_array_equal(found["M5"][3], encoder.encode(["bee"], ["M5"])["M5"][0])
    told = encoder.problems(words).set_index("word")
    assert told["vector"].to_dict() == {"花": False, "": False, "bee 花": True, "\u200d": False}
    assert "[UNK]" in told.loc["花", "problem"] and "花" in told.loc["bee 花", "problem"]


def test_a_lone_word_mark_is_not_a_known_piece(roberta):
    assert np.isnan(Encoder(str(roberta), cache=False).encode(["ж"], ["M5"])["M5"]).all()  # ▁ <unk>
    told = Encoder(str(roberta), cache=False).problems(["花ж", "花"])
    assert told["word"].tolist() == ["花ж"] and told["vector"].tolist() == [True]


def test_words_without_a_letter_in_the_vocabulary_of_a_word_level_decoder(tmp_path):
    folder = embed_made.llama(tmp_path, tokenizer=embed_made.word_level())
    found = Encoder(str(folder), cache=False).encode(["flower", "wasp"], ["M1"])["M1"]
    assert np.isnan(found).all(axis=1).tolist() == [False, True]


@pytest.mark.parametrize("protocol", ["in-context", "weathub-2023"])
def test_m7_is_undefined_without_cls(llama, protocol):
    encoder = Encoder(str(llama), protocol=protocol, cache=False)
    assert encoder.methods == ("M1", "M2", "M3", "M4", "M5", "M6", "M8", "M9")
    with pytest.raises(UnknownName, match=r"M7[\s\S]*CLS"):
        encoder.encode(["flower"], ["M7"])


def test_the_authors_protocol_is_undefined_without_special_tokens_around_a_text(llama):
    with pytest.raises(ModelUnavailable, match=r"weathub-2023 is undefined[\s\S]*flower"):
        Encoder(str(llama), protocol="weathub-2023", cache=False).encode(["flower"], ["M5"])


@pytest.mark.parametrize("method", ["M0", "m5", "M11"])
def test_an_unknown_method_is_named(bert, method):
    with pytest.raises(UnknownName, match=f"unknown method: '{method}'"):
        Encoder(str(bert), cache=False).encode(["bee"], [method])


def test_static_vectors_are_not_a_transformers(bert):
    with pytest.raises(UnknownName, match="cannot give M10"):
        Encoder(str(bert), cache=False).encode(["bee"], ["M10"])


def test_bad_words_are_named(bert):
    encoder = Encoder(str(bert), cache=False)
    with pytest.raises(BadValues, match="no words"):
        encoder.encode([], language="hi")
    with pytest.raises(BadValues, match=r"not a string[\s\S]*language hi, position 1[\s\S]*nan"):
        encoder.encode(["bee", float("nan")], language="hi")
    with pytest.raises(BadValues, match=r"not valid Unicode[\s\S]*position 0"):
        encoder.encode(["bee\ud83d"])
    with pytest.raises(BadValues, match="batch_size"):
        Encoder(str(bert), batch_size=0)
    with pytest.raises(UnknownName, match="in-context"):
        Encoder(str(bert), protocol="in context")


def test_a_model_without_hidden_states_is_named():
    from localbias.models.pooling import pooled_states

    class Blind(torch.nn.Module):
        device = torch.device("cpu")

        class config:
            name_or_path = "blind"

        def forward(self, input_ids, attention_mask, output_hidden_states):
            return object()

    with pytest.raises(ModelUnavailable, match="'blind' gives no hidden states"):
        pooled_states(Blind(), [[1, 2]], [(0, [0])])


def test_what_a_row_must_say(bert):
    encoder = Encoder(str(bert), cache=False)
    assert (encoder.model, encoder.protocol, encoder.weights) == (str(bert), "in-context", "float32")
    assert encoder.revision.startswith("sha256:") and encoder.kind == "encoder"
