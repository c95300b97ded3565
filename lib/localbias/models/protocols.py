"""The two protocols: which token sequences stand for a word, and which positions are read.

``in-context`` sends a word through the model once and pools the positions of its subwords.
``weathub-2023`` does what the authors' code did. It takes the word's tokens without the first and
the last, feeds each token's string back in as a text of its own, and reads position 1. A
continuation piece is thereby taken apart anew: WordPiece's ``##ics`` becomes ``#``, ``#``, ``ics``
and position 1 is ``#``; SentencePiece's lone ``▁`` becomes nothing, and position 1 is ``</s>``.
M7 reads position 0 of the whole text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from localbias.errors import ModelUnavailable, unknown

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Encodings = dict[str, tuple[list[int], list[int]]]
"""Texts → token ids and special-token mask."""

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
    """

    sequences: tuple[tuple[int, ...], ...]
    positions: tuple[tuple[int, ...], ...]
    pieces: tuple[str, ...]
    problem: str = ""


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
    ModelUnavailable
        For ``weathub-2023``, when the tokenizer does not put exactly one special token before and
        one after a text: the authors' code then drops pieces of the word.
    """
    known = {} if known is None else known
    ids, special = _encoded(tokenizer, word, known)
    inside = [i for i, mark in enumerate(special) if not mark]
    pieces = tuple(tokenizer.convert_ids_to_tokens([ids[i] for i in inside]))
    problem, usable = judge(tokenizer, [ids[i] for i in inside], pieces)
    if protocol == "in-context":
        if not usable:
            return Reading((), (), pieces, problem)
        return Reading((tuple(ids),), (tuple(inside),), pieces, problem)
    if inside != list(range(1, len(ids) - 1)):
        raise _not_framed(tokenizer, word, ids)
    fed = tuple(tuple(_encoded(tokenizer, piece, known)[0]) for piece in pieces)
    return Reading(fed, ((1,),) * len(fed), pieces, problem)


def read_text(tokenizer: PreTrainedTokenizerBase, text: str, protocol: str, known: Encodings | None = None) -> Reading:
    """How a whole text is read for M7: the position of [CLS] (``weathub-2023``: position 0).

    Raises
    ------
    ModelUnavailable
        When the tokenizer has no [CLS] or puts none before a text: M7 is undefined.
    """
    ids, special = _encoded(tokenizer, text, {} if known is None else known)
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
    ids, special = _encoded(tokenizer, "a", {})
    cls = tokenizer.cls_token_id
    return cls is not None and any(mark and i == cls for i, mark in zip(ids, special, strict=True))


def encode_all(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> Encodings:
    """Of each text the token ids with the special tokens that the tokenizer adds, and their mask (1 = added)."""
    texts = list(dict.fromkeys(texts))
    if not texts:
        return {}
    encoded = tokenizer(texts, add_special_tokens=True, return_special_tokens_mask=True)
    return dict(zip(texts, zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True), strict=True))


def _encoded(tokenizer: PreTrainedTokenizerBase, text: str, known: Encodings) -> tuple[list[int], list[int]]:
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


def _blank(piece: str) -> bool:
    return not piece.strip() or piece in _MARKS


def _not_framed(tokenizer, word: str, ids: list[int]) -> ModelUnavailable:
    return ModelUnavailable(
        "the protocol weathub-2023 is undefined for this model",
        expected="a tokenizer that puts one special token before a text and one after it",
        got=str(tokenizer.convert_ids_to_tokens(ids)),
        where=f"word {word!r}",
        todo="use the protocol in-context",
    )
