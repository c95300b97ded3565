"""Reading an answer that a model wrote: strictly, so that nothing is guessed.

An answer counts when it names exactly one option, by its letter or by its text. Everything else is
*not parsed*, with a reason: empty, several options, a letter and a text that disagree, another
script, a refusal, or no option at all. Not parsed is a result, reported beside the scores; it is
never turned into "unknown", which is an option like the others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

LETTERS = "ABC"
REASONS = ("letter", "text", "empty", "several", "disagree", "other script", "refusal", "no option")

_DECORATION = " \t\r*_`\"'“”‘’()[]{}<>.,:;!-–—•#"
_BARE = re.compile(r"([A-Ca-c])")
_LEADING = re.compile(r"[(\[*_\"'“‘ ]*([A-C])[)\]*_\"'”’]*(?:[.,):\]]|\s*[-–—=]|\*\*)[)\]*_\s]*(?P<rest>.*)", re.S)
_ANNOUNCED = re.compile(
    r"\b(?:sagot|kasagutan|pagpipilian|pinipili(?:\s+ko)?|pinili(?:\s+ko)?|opsyon|opsiyon|letra|titik|"
    r"answer|option|choice|choose)\b"
    r"(?:\s+(?:ay|na|ko|is|ang|would be|the|letter|letrang|titik|option|opsyon))*"
    r"\s*[:=\-–—]?\s*[(\[*_\"'“‘]*([A-C])\b(?!['’]\w)",
    re.I,
)
_CODA = re.compile(r"[(\[*_\"'“‘]*\b([A-C])\b[)\]*_\"'”’.]*\s+ang\s+(?:tamang\s+|wastong\s+)?sagot\b", re.I)
_STANDING = re.compile(r"(?<![\w'’])([ABC])(?![\w'’])")
_REFUSAL = re.compile(
    r"\b(?:pasensya|paumanhin|hindi ko (?:alam|kayang|masasagot|masagot)|hindi ako (?:makakasagot|makasasagot)|"
    r"di ko alam|sorry|i (?:cannot|can't|can’t|am unable|don't know)|as an ai|bilang (?:isang )?ai)\b",
    re.I,
)


@dataclass(frozen=True)
class Parsed:
    """``answer`` is 0, 1, 2 or −1 (not parsed); ``reason`` one of :data:`REASONS`."""

    answer: int
    reason: str


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u200b", "").strip()


def _plain(text: str) -> str:
    """For comparing texts: no case, no decoration, single spaces."""
    return re.sub(r"\s+", " ", _normal(text).casefold().strip(_DECORATION))


def _letters(line: str) -> set[str]:
    """The letters a line answers with."""
    found = {m.upper() for m in _ANNOUNCED.findall(line)} | {m.upper() for m in _CODA.findall(line)}
    if (bare := line.strip(_DECORATION)) and _BARE.fullmatch(bare):
        found.add(bare.upper())
    if leading := _LEADING.fullmatch(line):
        found.add(leading[1])
    if found or (len(set(_STANDING.findall(line))) > 1):
        # a letter was given: any other capital letter that stands alone is a second answer
        found |= set(_STANDING.findall(line))
    return found


def _texts(line: str, options: Sequence[str]) -> set[int]:
    """The options whose text a line names; an option inside a longer one that is named does not count."""
    plain, wanted = f" {_plain(line)} ", [_plain(o) for o in options]
    hits = {k for k, o in enumerate(wanted) if o and re.search(rf"(?<!\w){re.escape(o)}(?!\w)", plain)}
    inside = {k for k in hits for other in hits - {k} if wanted[k] != wanted[other] and wanted[k] in wanted[other]}
    return hits - inside


def _foreign(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return bool(letters) and not any("LATIN" in unicodedata.name(c, "") for c in letters)


def parse(text: str | None, options: Sequence[str] = ("", "", "")) -> Parsed:
    """What a written answer chose.

    Parameters
    ----------
    text : str
        What the model wrote after the prompt. Only what comes before the first empty line counts.
    options : three str
        The texts of the options, as shown. Without them only letters are read.

    Returns
    -------
    Parsed

    Examples
    --------
    >>> options = ("Si Maria", "Si Juan", "Di matukoy")
    >>> [parse(t, options).answer for t in ("A.", "**B**", "Sagot: C", "Si Maria", "A at B", "", "A. Si Juan")]
    [0, 1, 2, 0, -1, -1, -1]
    """
    whole = _normal(text or "").split("\n\n")[0].strip()
    if not whole.strip(_DECORATION):
        return Parsed(-1, "empty")
    if _foreign(whole):
        return Parsed(-1, "other script")
    letters: set[str] = set()
    for line in whole.splitlines():
        letters |= _letters(line.strip())
    named = _texts(whole, options)
    if len(letters) > 1:
        return Parsed(-1, "several")
    if letters:
        answer = LETTERS.index(letters.pop())
        return Parsed(-1, "disagree") if named and answer not in named else Parsed(answer, "letter")
    if _REFUSAL.search(whole) and not any(_plain(whole) == _plain(options[k]) for k in named):
        return Parsed(-1, "refusal")
    if len(named) > 1:
        return Parsed(-1, "several")
    return Parsed(named.pop(), "text") if named else Parsed(-1, "no option")
