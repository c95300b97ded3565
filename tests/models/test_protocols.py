"""The authors' protocol against a hand trace: which strings are fed, which position is read.

The strings follow from the protocol's description alone: take a word's tokens, drop the first and
the last, feed each string as a text of its own, read position 1. WordPiece's cutting of the
strings is worked out here from its published rule (longest match first) on the model's vocabulary.
"""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import embed_made
from localbias.errors import UnknownName
from localbias.models import packaged, protocols
from localbias.models.encoder import Encoder

WORDS = {
    # word: the pieces of its tokens, each with the pieces that stand for it when fed back in as a text
    "flower": {"flower": ["flower"]},
    "orchids": {"orchid": ["orchid"], "##s": ["#", "#", "s"]},
    "cockroach": {"cock": ["cock"], "##ro": ["#", "#", "ro"], "##ach": ["#", "#", "ac", "##h"]},
    "gladiola": {"glad": ["glad"], "##iol": ["#", "#", "io", "##l"], "##a": ["#", "#", "a"]},
    "zinnia": {"z": ["z"], "##inn": ["#", "#", "inn"], "##ia": ["#", "#", "ia"]},
}


@pytest.fixture(scope="module")
def minilm():
    folder = packaged.find("all-minilm-l6-v2").files[0].parent
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return vocabulary, tokenizer, model


@pytest.fixture(scope="module")
def authors():
    return embed_made.packaged("all-minilm-l6-v2", "weathub-2023")


def longest_match_first(word, vocabulary):
    """WordPiece (Wu et al. 2016): the longest piece that fits, again and again; "##" marks a continuation."""
    pieces, start = [], 0
    while start < len(word):
        head = "##" if start else ""
        end = next(e for e in range(len(word), start, -1) if head + word[start:e] in vocabulary)
        pieces.append(head + word[start:end])
        start = end
    return pieces


def run(model, vocabulary, pieces):
    """Hidden states of [CLS] pieces [SEP], (layers, positions, dims), through the model directly."""
    ids = torch.tensor([[vocabulary.index(piece) for piece in ["[CLS]", *pieces, "[SEP]"]]])
    with torch.no_grad():
        states = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True).hidden_states
    return np.stack([state[0].numpy() for state in states]).astype(float)


def reading(states, method):
    at_one = states[:, 1]
    return {"M1": at_one[0], "M3": at_one[-2], "M5": at_one.mean(0), "M8": at_one[-1]}[method]


@pytest.mark.model
@pytest.mark.parametrize("word", WORDS)
def test_which_strings_are_fed(minilm, word):
    vocabulary, tokenizer, _ = minilm
    assert longest_match_first(word, vocabulary) == list(WORDS[word])
    for piece, again in WORDS[word].items():
        cut = ["#", "#", *longest_match_first(piece[2:], vocabulary)] if piece.startswith("##") else [piece]
        assert cut == again
    read = protocols.read_word(tokenizer, word, "weathub-2023")
    fed = [[vocabulary[i] for i in sequence] for sequence in read.sequences]
    assert fed == [["[CLS]", *again, "[SEP]"] for again in WORDS[word].values()]
    assert set(read.positions) == {(1,)}


@pytest.mark.model
@pytest.mark.parametrize(("average", "first"), [("M1", "M2"), ("M3", "M4"), ("M5", "M6"), ("M8", "M9")])
def test_which_position_is_read(minilm, authors, average, first):
    vocabulary, _, model = minilm
    found = authors.encode(list(WORDS), [average, first])
    for row, pieces in enumerate(WORDS.values()):
        read = [reading(run(model, vocabulary, again), average) for again in pieces.values()]
        np.testing.assert_allclose(found[average][row], np.mean(read, axis=0), atol=1e-5)
        np.testing.assert_allclose(found[first][row], read[0], atol=1e-5)


@pytest.mark.model
def test_a_phrase_is_cut_at_spaces_and_m7_reads_its_first_position(minilm, authors):
    vocabulary, _, model = minilm
    found = authors.encode(["glad zinnia"], ["M7", "M8"])
    whole = run(model, vocabulary, ["glad", "z", "##inn", "##ia"])
    np.testing.assert_allclose(found["M7"][0], whole[-1, 0], atol=1e-5)
    zinnia = np.mean([run(model, vocabulary, again)[-1, 1] for again in WORDS["zinnia"].values()], axis=0)
    glad = run(model, vocabulary, ["glad"])[-1, 1]
    np.testing.assert_allclose(found["M8"][0], (glad + zinnia) / 2, atol=1e-5)


@pytest.mark.model
def test_single_pieces_are_the_same_in_both_protocols(authors):
    one = embed_made.packaged("all-minilm-l6-v2").encode(["flower", "zinnia"])
    two = authors.encode(["flower", "zinnia"])
    for method in one:
        np.testing.assert_allclose(one[method][0], two[method][0], atol=1e-5)
        # the first piece's own embedding knows no neighbours, and M7 reads the whole text in both
        assert np.allclose(one[method][1], two[method][1], atol=1e-3) == (method in ("M2", "M7")), method


def test_a_lone_word_mark_is_fed_as_an_empty_text(tmp_path):
    # 花 has the tokens ▁ and 花. SentencePiece's normalisation makes a space of ▁, the text is empty,
    # and position 1 of <s> </s> is </s>; this tokenizer's NFKC keeps ▁, which is cut into ▁ itself.
    tokenizer = AutoTokenizer.from_pretrained(embed_made.roberta(tmp_path))
    read = protocols.read_word(tokenizer, "花", "weathub-2023")
    assert read.pieces == ("▁", "花")
    assert read.sequences == ((0, 4, 2), (0, 4, 7, 2))


@pytest.mark.model
def test_a_lone_word_mark_reads_the_end_token_in_xlm_rs_vocabulary():
    tokenizer = embed_made.packaged("multilingual-e5-small")._tokenizer
    read = protocols.read_word(tokenizer, "花", "weathub-2023")
    fed = [tokenizer.convert_ids_to_tokens(list(sequence)) for sequence in read.sequences]
    assert fed == [["<s>", "</s>"], ["<s>", "▁", "花", "</s>"]]
    assert read.positions == ((1,), (1,))


def test_the_authors_protocol_keeps_unknown_pieces(tmp_path):
    # their code feeds the string "[UNK]", which is the unknown token again: a vector, and a problem told
    folder = str(embed_made.bert(tmp_path))
    encoder = Encoder(folder, "weathub-2023", cache=False)
    assert not np.isnan(encoder.encode(["花"], ["M5"])["M5"]).any()
    assert encoder.problems(["花"])[["problem", "vector"]].values.tolist() == [["tokenizes only to [UNK]", True]]


def test_an_unknown_protocol_offers_the_nearest():
    with pytest.raises(UnknownName, match="did you mean weathub-2023"):
        protocols.check("weathub2023")
