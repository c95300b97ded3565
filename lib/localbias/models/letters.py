"""Which tokens of a vocabulary are an answer letter.

An answer "A" can reach the reader as ``A``, ``␠A``, ``A.``, ``(A``, ``Ａ`` …: different tokens, one
letter. A token counts as a letter when its decoded text, compatibility-normalised (NFKC) and freed
of white space and the marks that surround list letters, is exactly that capital letter. Lower-case
letters are left out: in running text they begin words. Look-alikes of other scripts (Cyrillic А) are
left out too: they are not what was asked for.
"""

from __future__ import annotations

import unicodedata

from localbias.errors import ModelUnavailable

LETTERS = ("A", "B", "C")
MARKS = " \t\r\n\u00a0()[]{}<>\"'“”‘’`*_.:;,-–—#=/|\\\u200b\ufeff"
_WORD_START = "▁Ġ"
_BYTES_END = 0x180
"""Vocabularies of bytes spell them with characters below this."""


def bare(text: str) -> str:
    """A decoded token without compatibility forms, white space and list marks.

    >>> [bare(t) for t in (" A", "(B", "C.", "Ａ", "**A", "Ang")]
    ['A', 'B', 'C', 'A', 'A', 'Ang']
    """
    return unicodedata.normalize("NFKC", text).strip(MARKS)


def _may_be(piece: str, letters: tuple[str, ...]) -> bool:
    """Whether a vocabulary entry is worth decoding: short, and holding a letter or spelt in bytes."""
    if len(piece) > 12:
        return False
    plain = unicodedata.normalize("NFKC", piece)
    in_bytes = piece.startswith("<0x") or (not piece.isascii() and max(map(ord, piece)) < _BYTES_END)
    return in_bytes or any(letter in plain for letter in letters)


def letter_tokens(tokenizer, letters: tuple[str, ...] = LETTERS) -> dict[str, tuple[int, ...]]:
    """The ids of every surface form of every letter, ascending.

    Raises
    ------
    ModelUnavailable
        When a letter has no token of its own in the vocabulary.
    """
    special = set(tokenizer.all_special_ids)
    ids = [i for i in range(len(tokenizer)) if i not in special]
    pieces = tokenizer.convert_ids_to_tokens(ids)
    short = [i for i, piece in zip(ids, pieces, strict=True) if piece is not None and _may_be(piece, letters)]
    forms: dict[str, list[int]] = {letter: [] for letter in letters}
    for i, text in zip(short, tokenizer.batch_decode([[i] for i in short]), strict=True):
        if (letter := bare(text.lstrip(_WORD_START))) in forms:
            forms[letter].append(i)
    if missing := [letter for letter, found in forms.items() if not found]:
        raise ModelUnavailable(
            f"the vocabulary has no token for the answer letter {', '.join(missing)}",
            expected=f"a token each for {', '.join(letters)}",
            got=f"none among {len(ids)} tokens",
            todo="use protocol='option-likelihood' or 'generate', which need no letter tokens",
        )
    return {letter: tuple(sorted(found)) for letter, found in forms.items()}


def check_letters_fit(tokenizer, before: str, forms: dict[str, tuple[int, ...]], spaced: bool = True) -> None:
    """Refuse a vocabulary that spells an answer letter with several tokens at the answer position.

    ``before`` is text that ends where the answer begins. The letter must continue that text by exactly
    one token, and that token must be one of ``forms``. ``spaced``: running text, where a space comes
    before the letter; otherwise (after a chat template's marks) it may come or not.

    Raises
    ------
    ModelUnavailable
        When a letter takes more than one token: its first token's probability is not the letter's.
    """
    start = tokenizer.encode(before, add_special_tokens=False)
    for letter, known in forms.items():
        tails = []
        for answer in (f" {letter}",) if spaced and not before[-1:].isspace() else (letter, f" {letter}"):
            whole = tokenizer.encode(before + answer, add_special_tokens=False)
            tails.append(whole[len(start) :] if whole[: len(start)] == start else whole[-1:])
        if not any(len(tail) == 1 and tail[0] in known for tail in tails):
            raise ModelUnavailable(
                f"the vocabulary splits the answer letter {letter}",
                expected="one token after the prompt",
                got=str([tokenizer.convert_ids_to_tokens(tail) for tail in tails]),
                todo="use protocol='generate' or 'option-likelihood'",
            )
