"""Suspected misspellings in a small body of Filipino text, found without a dictionary.

Filipino changes words by prefixes, infixes, doubling and the linker -ng, so that most words one letter
apart are both right. What is left when these places are spared is almost always a slip: a letter
missing, added or exchanged deep inside a long word, or consonants that Filipino does not put together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
VOWELS = set("aeiou")
PREFIX = 3
"""Letters at a word's beginning that inflection may change."""
LONG, VERY_LONG = 6, 9


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; slots do not count.

    >>> words_of("Nag-usap ang {{NAME1}}.")
    ['nag-usap', 'ang']
    """
    return [word.casefold() for word in WORD.findall(re.sub(r"\{\{\w+\}\}", " ", text))]


def suspects(texts: Iterable[str]) -> dict[str, str]:
    """Suspected misspellings → why.

    Parameters
    ----------
    texts : iterable of str
        All texts together: a slip is told by the right spelling elsewhere in them.

    Returns
    -------
    dict
        The rarer of two spellings with the other one named (both when they are equally rare), and words
        with impossible consonants.

    Examples
    --------
    >>> suspects(["ang karanasan niya", "mga karanasan", "isang karansan"])
    {'karansan': 'elsewhere karanasan'}
    >>> suspects(["isang papel", "isang papael"])
    {'papael': 'elsewhere papel, as often', 'papel': 'elsewhere papael, as often'}
    >>> suspects(["diskrminasyon"])
    {'diskrminasyon': 'consonants skrm'}
    """
    counts = Counter(word for text in texts for word in words_of(text))
    found = {word: f"consonants {cluster}" for word in counts if (cluster := impossible(word))}
    for pair in sorted(_neighbours(counts)):
        for one, other in (pair, pair[::-1]):
            if counts[one] <= counts[other]:
                found.setdefault(one, f"elsewhere {other}{', as often' * (counts[one] == counts[other])}")
    return dict(sorted(found.items()))


def impossible(word: str) -> str:
    """A run of consonants that Filipino does not have: four, or three stops; "" when there is none.

    ``ng`` and ``ts`` count as one, and so does the ``th`` of English ``rth``; y between consonants is a
    vowel; four may end in a stop with r or l, as in loans (``nstr``).

    >>> impossible("makapgdesisyon"), impossible("eksperto"), impossible("konstruksiyon")
    ('pgd', '', '')
    """
    folded = re.sub(r"(?<![aeiou])y(?![aeiou])", "i", word)
    folded = folded.replace("ng", "Ŋ").replace("ts", "C").replace("rth", "rT")
    for run in re.findall(r"[^aeiou\W\d_]+", folded):
        loan = len(run) == 4 and re.search(r"[pbtdkg][rl]$", run)
        if (len(run) >= 4 and not loan) or re.search(r"[pbtdkg]{3}", run):
            return run.replace("Ŋ", "ng").replace("C", "ts").replace("T", "th")
    return ""


def _neighbours(counts: Counter) -> set[tuple[str, str]]:
    pairs = set()
    for word in counts:
        for other in _slips(word):
            if other in counts and other != word:
                pairs.add(tuple(sorted((word, other))))
    return pairs


def _slips(word: str) -> set[str]:
    """What a word becomes by one slip that no inflection makes."""
    made = set()
    if len(word) < LONG:
        return made
    for i in range(PREFIX, len(word) - 1):
        made.add(word[:i] + word[i + 1 :])
    for i in range(1, len(word) - 2):
        made.add(word[:i] + word[i + 1] + word[i] + word[i + 2 :])
    if word[0] in "ck":
        made.add(("k" if word[0] == "c" else "c") + word[1:])
    if len(word) >= VERY_LONG:
        made |= {
            word[:i] + vowel + word[i + 1 :]
            for i in range(PREFIX, len(word) - 1)
            if word[i] in VOWELS
            for vowel in sorted(VOWELS)
        }
    return made
