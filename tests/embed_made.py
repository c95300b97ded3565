"""Tiny models with random weights and tokenizers with known vocabularies, saved as transformers folders."""

from functools import cache
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordPiece
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
)

from localbias.models.encoder import Encoder


@cache
def packaged(name: str, protocol: str = "in-context") -> Encoder:
    """A packaged model's encoder without a vector cache; its weights are read once for all tests."""
    return Encoder(name, protocol, cache=False, progress=False)


WORDPIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "#",
    "flower",
    "bee",
    "math",
    "##ema",
    "##tics",
    "tics",
    "old",
    "##er",
    "er",
    "sister",
    "a",
    "b",
    "##b",
]


def wordpiece() -> PreTrainedTokenizerFast:
    """BERT's tokenizer with 19 pieces: mathematics = math ##ema ##tics, older = old ##er."""
    core = Tokenizer(WordPiece({piece: i for i, piece in enumerate(WORDPIECES)}, unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    core.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


def unigram() -> PreTrainedTokenizerFast:
    """XLM-R's form: ▁ before words, <s> … </s>; flower = ▁flow er, 花 = ▁ 花."""
    pieces = [
        ("<s>", 0.0),
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("▁", -3.0),
        ("▁flow", -4.0),
        ("er", -4.0),
        ("花", -5.0),
        ("▁bee", -4.5),
        ("▁sister", -5.0),
        ("a", -6.0),
    ]
    core = Tokenizer(Unigram(pieces, unk_id=3))
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
    )


def byte_level(bos: bool = False) -> PreTrainedTokenizerFast:
    """GPT-2's form: bytes, a few merges (fl, ow, flow), nothing unknown; with or without a first <bos>."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate(["<bos>", "<eos>", *alphabet, "fl", "ow", "flow"])}
    core = Tokenizer(BPE(vocabulary, [("f", "l"), ("o", "w"), ("fl", "ow")]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    if bos:
        core.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<bos>", eos_token="<eos>")


def byte_level_bert() -> PreTrainedTokenizerFast:
    """RoBERTa's form: bytes, a blank belongs to the piece behind it; mystery = my stery, but Ġmystery after a blank."""
    merges = ["m y", "s t", "e r", "st er", "ster y", "Ġ my", "Ġmy stery", "Ġ s"]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {piece: i for i, piece in enumerate([*pieces, *(merge.replace(" ", "") for merge in merges)])}
    core = Tokenizer(BPE(vocabulary, [tuple(merge.split()) for merge in merges]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>"
    )


def uncased() -> PreTrainedTokenizerFast:
    """BERT's uncased form, which strips accents: súng and sừng are sung; the rest is letters."""
    pieces = [*WORDPIECES[:5], "sung", "papa", "isik", "ano", *"abcdefgh", "##a", "##b", "##c"]
    core = Tokenizer(WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )


def word_level() -> PreTrainedTokenizerFast:
    """Whole words only, every other word unknown, no special token added."""
    core = Tokenizer(models.WordLevel({"[UNK]": 0, "flower": 1, "bee": 2}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]", eos_token="[UNK]")


def bert(folder: Path, head: bool = False, seed: int = 0, tokenizer: PreTrainedTokenizerFast | None = None) -> Path:
    """BERT: 3 layers, 16 dims, the WordPiece tokenizer unless another is given."""
    torch.manual_seed(seed)
    tokenizer = tokenizer or wordpiece()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    return _save(folder, BertForMaskedLM(config) if head else BertModel(config), tokenizer)


def roberta(folder: Path) -> Path:
    """RoBERTa: positions counted from the padding id; the Unigram tokenizer."""
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=11,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        pad_token_id=1,
        initializer_range=0.5,
        type_vocab_size=1,
    )
    return _save(folder, RobertaModel(config), unigram())


def t5(folder: Path) -> Path:
    """An encoder-decoder: 2 + 2 layers, 16 dims, the Unigram tokenizer."""
    torch.manual_seed(4)
    config = T5Config(
        vocab_size=11, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, pad_token_id=1, decoder_start_token_id=1
    )
    return _save(folder, T5Model(config), unigram())


def llama(folder: Path, bos: bool = False, tokenizer: PreTrainedTokenizerFast | None = None) -> Path:
    """A decoder: 2 layers, 16 dims, the byte-level tokenizer."""
    torch.manual_seed(2)
    tokenizer = tokenizer or byte_level(bos)
    return _save(folder, LlamaForCausalLM(llama_config(len(tokenizer))), tokenizer)


def llama_config(n: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=n,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.5,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=1,
    )


def _save(folder: Path, model, tokenizer: PreTrainedTokenizerFast) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def sentencepiece_model(texts: list[str], pieces: int = 64) -> bytes:
    """A SentencePiece model trained on these texts, with ALBERT's special tokens: what `spiece.model` holds."""
    import io

    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=out,
        vocab_size=pieces,
        hard_vocab_limit=False,
        model_type="unigram",
        character_coverage=1.0,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]"],
        user_defined_symbols=["[MASK]"],
        minloglevel=2,
    )
    return out.getvalue()


def albert(folder: Path, texts: list[str], pieces: int = 64) -> Path:
    """IndicBERT's form: ALBERT, 2 layers, and of its tokenizer only `spiece.model`."""
    import json

    from sentencepiece import SentencePieceProcessor
    from transformers import AlbertConfig, AlbertModel

    model = sentencepiece_model(texts, pieces)
    torch.manual_seed(5)
    config = AlbertConfig(
        vocab_size=SentencePieceProcessor(model_proto=model).get_piece_size(),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    AlbertModel(config).save_pretrained(folder)
    (folder / "spiece.model").write_bytes(model)
    settings = {"tokenizer_class": "AlbertTokenizer", "do_lower_case": False, "keep_accents": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
