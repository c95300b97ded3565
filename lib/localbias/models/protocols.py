"""The two protocols: which token sequences stand for a word, and which positions are read.

``in-context`` reads a word as it stands in running text: after the model's start token, in its
word-initial form (:class:`Form`), once, pooling the positions of its own subwords.
``weathub-2023`` does what the authors' code did. It takes the word's tokens without the first and
the last, feeds each token's string back in as a text of its own, and reads position 1. A
continuation piece is thereby taken apart anew: WordPiece's ``##ics`` becomes ``#``, ``#``, ``ics``
and position 1 is ``#``; SentencePiece's lone ``▁`` becomes nothing, and position 1 is ``</s>``.
M7 reads position 0 of the whole text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from localbias.errors import ModelUnavailable, ProtocolUnfit, unknown

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Encodings = dict[str, tuple[list[int], list[int], list[tuple[int, int]]]]
"""Texts → token ids, special-token mask, and the span of the text that each token stands for."""

PROTOCOLS = ("in-context", "weathub-2023")

_MARKS = ("▁", "Ġ", "##", "@@", "</w>")


@dataclass(frozen=True)
class Reading:
    """How a unit (a word, or for M7 a whole text) is read.

    Attributes
    ----------
    sequences : tuple of tuples of int
        The token ids to send through the model, one forward pass each; empty when there is nothing.
    positions : tuple of tuples of int
        The positions read in each.
    pieces : tuple of str
        The unit's subwords.
    problem : str
        Why the unit has no vector, or only part of one; "" when all is well.
    spelt : bool
        Whether the unit is cut into single characters or bytes.
    known : bool
        Whether any of its subwords is known.
    """

    sequences: tuple[tuple[int, ...], ...]
    positions: tuple[tuple[int, ...], ...]
    pieces: tuple[str, ...]
    problem: str = ""
    spelt: bool = False
    known: bool = True


@dataclass(frozen=True)
class Form:
    """How a tokenizer is brought to give a lone word the tokens that it has in running text.

    Attributes
    ----------
    start : tuple of int
        The start token that must be put before a text, because the tokenizer puts none; else empty.
    before : str
        What goes before the word: a blank for tokenizers whose pieces hold the blank before them, else "".
    keeps_blank : bool
        Whether a blank that is a piece of its own counts as a subword. It does where an encoder's tokenizer itself puts
        one, as in the paper; where the blank was added, or where nothing but the start token stands before it (a
        decoder), it is no part of the word: its vector is the same for all.
    said : str
        The same in words, for result rows.
    problems : tuple of str
        What could not be had, for their flags.
    """

    start: tuple[int, ...]
    before: str
    keeps_blank: bool
    said: str
    problems: tuple[str, ...]


@lru_cache(maxsize=2)
def form(tokenizer: PreTrainedTokenizerBase) -> Form:
    """How words are read under ``in-context``, found by trying: a word alone, after a blank, and after another word."""
    ids, special, _ = encode_all(tokenizer, ["a"])["a"]
    adds = bool(special and special[0])
    start = next((i for i in (tokenizer.bos_token_id, tokenizer.cls_token_id) if isinstance(i, int)), None)
    after = ids[0] if adds else start
    before = _before(tokenizer)
    said = [
        "no start token" if after is None else f"after {tokenizer.convert_ids_to_tokens(after)}",
        "not word-initial" if before is None else "word-initial after a blank" if before else "word-initial",
    ]
    problems = ["read without a start token, which the model lacks"] * (after is None)
    problems += ["not read in the word-initial form"] * (before is None)
    added = () if adds or after is None else (after,)
    return Form(added, before or "", not before and has_cls(tokenizer), ", ".join(said), tuple(problems))


def _before(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """What makes a word alone have the tokens that it has after another word; None when a blank does not do it."""
    texts = encode_all(tokenizer, ["a", " a", "a a"])
    alone, blank, both = (
        [i for i, mark in zip(ids, special, strict=True) if not mark]
        for ids, special, _ in (texts[text] for text in ("a", " a", "a a"))
    )
    running = both[len(alone) :]
    return next((text for text, tokens in (("", alone), (" ", blank)) if tokens == running), None)


def read_as(tokenizer: PreTrainedTokenizerBase, protocol: str) -> str:
    """What result rows say about how words are read."""
    return form(tokenizer).said if protocol == "in-context" else "each subword as a text"


def sent(tokenizer: PreTrainedTokenizerBase, text: str, protocol: str) -> str:
    """The text that is tokenized for a unit."""
    return form(tokenizer).before + text if protocol == "in-context" else text


def check(protocol: str) -> str:
    """The protocol's name; raises UnknownName."""
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    return protocol


def spelled(text: str, protocol: str) -> str:
    """A text as it is given to a model: in Unicode's NFC form, whatever list it comes from.

    Lists keep their own spelling. ``weathub-2023`` takes it as it is, as the authors' code does.

    >>> spelled("cafe\u0301", "in-context"), len(spelled("cafe\u0301", "weathub-2023"))
    ('café', 5)
    """
    return unicodedata.normalize("NFC", text) if protocol == "in-context" else text


def split(text: str, protocol: str) -> list[str]:
    """A phrase's space-separated words.

    >>> split("older  sister", "in-context")
    ['older', 'sister']
    """
    return [word for word in (text.split() if protocol == "in-context" else text.split(" ")) if word]


def read_word(tokenizer: PreTrainedTokenizerBase, word: str, protocol: str, known: Encodings | None = None) -> Reading:
    """How a word is read for M1–M6, M8 and M9; ``known`` encodings are used and added to.

    Raises
    ------
    ProtocolUnfit
        For ``weathub-2023``, when the tokenizer does not put exactly one special token before and
        one after a text: the authors' code then drops pieces of the word.
    """
    known, text = {} if known is None else known, sent(tokenizer, word, protocol)
    ids, special, spans = _encoded(tokenizer, text, known)
    inside = [i for i, mark in enumerate(special) if not mark]
    pieces = tuple(tokenizer.convert_ids_to_tokens([ids[i] for i in inside]))
    problem, usable = judge(tokenizer, [ids[i] for i in inside], pieces)
    spelt = _spelt(text, [spans[i] for i, piece in zip(inside, pieces, strict=True) if not _blank(piece)])
    if protocol == "in-context":
        if not usable:
            return Reading((), (), pieces, problem, spelt, usable)
        how = form(tokenizer)
        own = [i for i, piece in zip(inside, pieces, strict=True) if how.keeps_blank or not _blank(piece)]
        at = tuple(i + len(how.start) for i in own)
        return Reading(((*how.start, *ids),), (at,), pieces, problem, spelt)
    if inside != list(range(1, len(ids) - 1)):
        raise _not_framed(tokenizer, word, ids)
    fed = tuple(tuple(_encoded(tokenizer, piece, known)[0]) for piece in pieces)
    return Reading(fed, ((1,),) * len(fed), pieces, problem, spelt, usable)


def read_text(tokenizer: PreTrainedTokenizerBase, text: str, protocol: str, known: Encodings | None = None) -> Reading:
    """How a whole text is read for M7: the position of [CLS] (``weathub-2023``: position 0).

    Raises
    ------
    ModelUnavailable
        When the tokenizer has no [CLS] or puts none before a text: M7 is undefined.
    """
    ids, special, _ = _encoded(tokenizer, sent(tokenizer, text, protocol), {} if known is None else known)
    at = [i for i, mark in enumerate(special) if mark and ids[i] == tokenizer.cls_token_id]
    if tokenizer.cls_token_id is None or not at:
        raise ModelUnavailable(
            "M7 is undefined for this model: its tokenizer adds no [CLS]",
            expected="a classification token among the special tokens of a text",
            got=str(tokenizer.convert_ids_to_tokens(ids)),
            where=f"text {text!r}",
            todo="ask for the other methods",
        )
    inside = [ids[i] for i, mark in enumerate(special) if not mark]
    pieces = tuple(tokenizer.convert_ids_to_tokens(inside))
    problem, usable = judge(tokenizer, inside, pieces)
    if protocol == "in-context" and not usable:
        return Reading((), (), pieces, problem)
    return Reading((tuple(ids),), ((0,) if protocol == "weathub-2023" else (at[0],),), pieces, problem)


def within(reading: Reading, longest: int) -> Reading:
    """The reading, or one without a vector when a sequence is longer than the model can take."""
    length = max(map(len, reading.sequences), default=0)
    if length <= longest:
        return reading
    return replace(reading, sequences=(), positions=(), problem=f"has {length} tokens; the model takes {longest}")


def has_cls(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer adds a [CLS] to a text, so that M7 is defined."""
    ids, special, _ = _encoded(tokenizer, "a", {})
    cls = tokenizer.cls_token_id
    return cls is not None and any(mark and i == cls for i, mark in zip(ids, special, strict=True))


def encode_all(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> Encodings:
    """Of each text the token ids with the special tokens that the tokenizer adds, their mask (1 = added), the spans.

    A tokenizer of Python code knows no spans: each token gets the whole text's.
    """
    texts = list(dict.fromkeys(texts))
    if not texts:
        return {}
    encoded = tokenizer(texts, return_special_tokens_mask=True, return_offsets_mapping=bool(tokenizer.is_fast))
    ids, masks = encoded["input_ids"], encoded["special_tokens_mask"]
    whole = [[(0, len(text))] * len(some) for text, some in zip(texts, ids, strict=True)]
    return dict(zip(texts, zip(ids, masks, encoded.get("offset_mapping", whole), strict=True), strict=True))


def _encoded(tokenizer: PreTrainedTokenizerBase, text: str, known: Encodings):
    if text not in known:
        known |= encode_all(tokenizer, [text])
    return known[text]


def judge(tokenizer: PreTrainedTokenizerBase, ids: list[int], pieces: tuple[str, ...]) -> tuple[str, bool]:
    """What is wrong with a unit's subwords ("" when nothing), and whether any of them is known."""
    solid = [i for i, piece in zip(ids, pieces, strict=True) if not _blank(piece)]
    unknown_id = tokenizer.unk_token_id
    missed = sum(i == unknown_id for i in solid) if unknown_id is not None else 0
    if not solid:
        return "tokenizes to nothing", False
    if missed == len(solid):
        return f"tokenizes only to {tokenizer.unk_token}", False
    if missed:
        return f"{missed} of {len(solid)} pieces are {tokenizer.unk_token}", True
    return "", True


def _spelt(text: str, spans: list[tuple[int, int]]) -> bool:
    """Whether several tokens each stand for one character at most; bytes have their character's span.

    Han and Hangul characters are syllables: one token each is no fault.
    """
    letters = [char for char in text if char.isalpha()]
    syllables = all(unicodedata.name(char, "").startswith(("CJK UNIFIED", "HANGUL SYLLABLE")) for char in letters)
    cut = len(spans) > 1 and all(len(text[start:end].strip()) < 2 for start, end in spans)
    return cut and (not syllables or len(spans) > len(letters))


def _blank(piece: str) -> bool:
    return not piece.strip() or piece in _MARKS


def _not_framed(tokenizer, word: str, ids: list[int]) -> ProtocolUnfit:
    return ProtocolUnfit(
        "the protocol weathub-2023 is undefined for this model",
        expected="a tokenizer that puts one special token before a text and one after it",
        got=str(tokenizer.convert_ids_to_tokens(ids)),
        where=f"word {word!r}",
        todo="use the protocol in-context",
    )
