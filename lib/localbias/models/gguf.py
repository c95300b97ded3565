"""GGUF files → transformers folders (float32 safetensors and a fast tokenizer).

``transformers`` reads the weights and the tokenizer. Two things are done here: the vocabulary is
cut out of the file before the weights are read, because the reader walks its hundreds of
thousands of strings in Python several times over; and the pre-tokenizer that a file only names is
restored where ``transformers`` does not know the name.
"""

from __future__ import annotations

import mmap
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from localbias.errors import reading

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY, _U32 = 8, 9, 4
_VOCABULARY = ("tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type", "tokenizer.ggml.merges")
_DATA_ALIGNMENT = 32


def convert(source: Path, folder: Path) -> None:
    """Write ``config.json``, ``model.safetensors`` and ``tokenizer.json`` of a GGUF file.

    Parameters
    ----------
    source : Path
        The GGUF file.
    folder : Path
        An existing folder, filled here; quantised weights are written as float32.

    Raises
    ------
    ModelUnavailable
        When the file is damaged, or its architecture or tokenizer is one that ``transformers``
        cannot read.
    """
    slim = folder / "weights.gguf"
    expected = "a whole file of an architecture and tokenizer that transformers can load"
    todo = "use the same model as a Hugging Face id or a safetensors folder"
    try:
        with reading("the GGUF file", source, expected, todo):
            header = strip_vocabulary(source, slim)
            tokenizer = _tokenizer(source, header)
            model = _model(slim)
    finally:
        slim.unlink(missing_ok=True)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def _tokenizer(source: Path, header: dict):
    from tokenizers import pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(source.parent, gguf_file=source.name)
    if header.get("tokenizer.ggml.pre") == "smollm":  # llama.cpp's name for: digits one by one, then GPT-2's split
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    if tokenizer.mask_token is None and "<mask>" in tokenizer.get_vocab():
        tokenizer.mask_token = "<mask>"
    return tokenizer


def _model(slim: Path):
    """The model with plain float32 weights (what was loaded is marked as quantised and refuses to be saved)."""
    import torch
    from transformers import AutoModelForCausalLM

    with _one_name_map():
        loaded = AutoModelForCausalLM.from_pretrained(slim.parent, gguf_file=slim.name, dtype=torch.float32)
    config = loaded.config.to_dict()
    for key in ("quantization_config", "_name_or_path"):
        config.pop(key, None)
    config["architectures"] = [type(loaded).__name__]
    with torch.device("meta"):
        plain = type(loaded)(type(loaded.config)(**config))
    weights = {key: value.float() for key, value in loaded.state_dict().items()}
    plain.load_state_dict(weights, strict=True, assign=True)
    plain.tie_weights()
    return plain


@contextmanager
def _one_name_map() -> Iterator[None]:
    """transformers builds the same table of tensor names once for each module: two thirds of a conversion."""
    import gguf

    built = gguf.get_tensor_name_map
    gguf.get_tensor_name_map = cache(built)
    try:
        yield
    finally:
        gguf.get_tensor_name_map = built


def strip_vocabulary(source: Path, target: Path) -> dict:
    """Copy a GGUF file without its vocabulary; returns the header's numbers and strings.

    The vocabulary's size is kept as ``<architecture>.vocab_size``. File format: the ggml project's
    GGUF specification, versions 2 and 3, little endian.

    Raises
    ------
    ValueError
        When the file is not GGUF of these versions.
    """
    with open(source, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
        header, spans, table, end = _header(view)
        kept = [view[start:stop] for key, (start, stop) in spans.items() if key not in _VOCABULARY]
        size_key = f"{header['general.architecture']}.vocab_size"
        if _VOCABULARY[0] in spans and size_key not in header:
            encoded = size_key.encode()
            n_words = struct.unpack_from("<Q", view, spans[_VOCABULARY[0]][0] + 8 + len(_VOCABULARY[0]) + 8)[0]
            kept.append(struct.pack("<Q", len(encoded)) + encoded + struct.pack("<II", _U32, n_words))
        alignment = header.get("general.alignment") or _DATA_ALIGNMENT
        counts = struct.pack("<IQQ", header["GGUF.version"], header["GGUF.tensor_count"], len(kept))
        with open(target, "wb") as out:
            out.write(b"GGUF" + counts + b"".join(kept) + view[table:end])
            out.write(b"\0" * (-out.tell() % alignment))
            stream.seek(end + (-end % alignment))
            shutil.copyfileobj(stream, out, 1 << 22)
    return header


def weights(path: Path) -> str:
    """How a file's weights are stored, e.g. "GGUF Q4_K_M"; "GGUF" when it does not say."""
    from gguf import LlamaFileType

    try:
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
            stored = LlamaFileType(_header(view)[0]["general.file_type"]).name
    except (KeyError, ValueError, struct.error):
        return "GGUF"
    return f"GGUF {stored.removeprefix('MOSTLY_').removeprefix('ALL_')}"


def _header(view) -> tuple[dict, dict[str, tuple[int, int]], int, int]:
    """Values (arrays as None), each entry's span, and where the table of tensors starts and ends."""
    if view[:4] != b"GGUF" or struct.unpack_from("<I", view, 4)[0] not in (2, 3):
        raise ValueError("not a GGUF file of version 2 or 3")
    version, n_tensors, n_entries = struct.unpack_from("<IQQ", view, 4)
    header: dict[str, Any] = {"GGUF.version": version, "GGUF.tensor_count": n_tensors}
    spans, at = {}, 24
    for _ in range(n_entries):
        start, (key, kind, at) = at, _key(view, at)
        header[key], at = _value(view, at, kind)
        spans[key] = start, at
    return header, spans, at, _after_table(view, at, n_tensors)


def _string(view, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", view, at)
    return view[at + 8 : at + 8 + length].decode("utf-8", "replace"), at + 8 + length


def _key(view, at: int) -> tuple[str, int, int]:
    key, at = _string(view, at)
    return key, struct.unpack_from("<I", view, at)[0], at + 4


def _value(view, at: int, kind: int):
    """A value and the position behind it; arrays are passed over (None)."""
    if kind == _STRING:
        return _string(view, at)
    if kind == _ARRAY:
        of, count = struct.unpack_from("<IQ", view, at)
        at += 12
        if of == _ARRAY:
            raise ValueError("an array of arrays, which no model's header holds")
        if of in _SIZES:
            return None, at + _SIZES[of] * count
        for _ in range(count):
            at = at + 8 + struct.unpack_from("<Q", view, at)[0] if of == _STRING else _value(view, at, of)[1]
        return None, at
    if kind not in _SIZES:
        raise ValueError(f"unknown value type {kind}")
    number = view[at : at + _SIZES[kind]]
    value = struct.unpack("<f", number)[0] if kind == 6 else int.from_bytes(number, "little")
    return value, at + _SIZES[kind]


def _after_table(view, at: int, n_tensors: int) -> int:
    for _ in range(n_tensors):
        _, at = _string(view, at)
        (n_dimensions,) = struct.unpack_from("<I", view, at)
        at += 4 + 8 * n_dimensions + 4 + 8
    return at
