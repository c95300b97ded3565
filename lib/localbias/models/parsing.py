r"""Reading an answer that a model wrote: strictly, so that nothing is guessed.

An answer counts when it says of exactly one option that it is the answer, by its letter or by its text.
Everything else is *not parsed*, with a reason of :data:`REASONS`. Not parsed is a result, reported beside the
scores; it is never turned into "unknown", which is an option like the others.

The grammar (lists of :class:`Words` in capitals; Filipino and English by default)::

    text        what comes before the first empty line, in compatibility form (NFKC), without marks of Markdown
                and LaTeX: **B**, $B$ and \boxed{B} are B
    L           A, B or C, upper case and standing alone: not in a word (Abc), an abbreviation (A.M., C.E.O.),
                a compound (B-complex), or before & + # % (C++)
    line        ends with a new line or a question mark
    reason      a REASONING word and what follows it in its line; no part of the answer
    bare        a line that is L and punctuation: B  (B)  B.  “B”  B。
    leading     a line that begins with L and a mark of lists (. , : ; ) – =): A. Si Maria
    announced   an ANNOUNCING phrase, LINKING words, L, then the end of the clause or L's own option:
                Ang sagot ay B.  I choose B  Sagot: (B)
    asserted    at the start of a clause or announced, L and an ASSERTING phrase: B ang sagot  B is correct
    named       an option's text as words of their own; one inside a longer option that is named does not count
    answer      one L in one of these forms, no other L anywhere, and not the text of other options only; or one
                option named, and no L but its own
    not parsed  an answer with a DENYING word ("denied"), with a DOUBTING word or as a question ("unsure"),
                outside its reason and the options' texts
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

LETTERS = "ABC"
REASONS = (
    "letter",
    "text",
    "empty",
    "several",
    "disagree",
    "denied",
    "unsure",
    "lower case",
    "other script",
    "refusal",
    "no option",
)
"""How an answer was read ("letter", "text"), or why it was not."""


@dataclass(frozen=True)
class Words:
    """The words by which a language gives an answer: data, in lower case, one phrase an entry.

    Attributes
    ----------
    announcing : what comes before an answer's letter ("sagot", "i choose")
    linking : what may stand between that and the letter ("ay", "is")
    asserting : what makes an answer of a letter before it ("ang sagot", "is correct")
    denying, doubting : what takes an answer back, or leaves it open
    reasoning : what begins a reason ("dahil", "because")
    refusing : what begins a refusal
    spaced : whether the language sets words apart by spaces (Chinese and Thai do not)
    """

    announcing: tuple[str, ...]
    linking: tuple[str, ...] = ()
    asserting: tuple[str, ...] = ()
    denying: tuple[str, ...] = ()
    doubting: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    refusing: tuple[str, ...] = ()
    spaced: bool = True


def _list(text: str) -> tuple[str, ...]:
    return tuple(re.split(r",\s+", text.strip()))


FILIPINO = Words(
    announcing=_list("""
        sagot, kasagutan, pagpipilian, pinipili, pinili, pipiliin, pinipili ko, pinili ko, pipiliin ko, opsyon, opsiyon,
        letra, letrang, titik, kaya, samakatuwid"""),
    linking=_list("ay, na, ko, ko'y, po, ang, namin, nito, rito, dito, sa tanong, letra, letrang, titik, opsyon"),
    asserting=_list("""
        ang sagot, ang tamang sagot, ang wastong sagot, ang aking sagot, ang kasagutan, ang tama, ang pinipili ko,
        ang pinili ko"""),
    denying=_list("hindi, di, huwag, wala, walang, maliban, mali, maling"),
    doubting=_list("kung, baka, siguro, marahil, yata, ewan, maaaring, pwedeng, puwedeng"),
    reasoning=_list("dahil, sapagkat, kasi, pagkat, yamang"),
    refusing=_list("""
        pasensya, paumanhin, hindi ko alam, hindi ko kayang, hindi ko masasagot, hindi ko masagot,
        hindi ako makakasagot, hindi ako makasasagot, di ko alam, bilang ai, bilang isang ai"""),
)
ENGLISH = Words(
    announcing=_list("""
        answer, option, choice, letter, choose, pick, select, i'd go with, i would go with, it is, it's, so,
        therefore, thus"""),
    linking=_list("is, would be, here, to the question, the, letter, option, answer"),
    asserting=_list("""
        is correct, is right, is the answer, is the correct answer, is the right answer, is the best answer,
        is the correct option, is the correct choice, is my answer, is my choice"""),
    denying=_list("not, no, never, neither, nor, none, cannot, without, except, wrong, incorrect, false, unlikely"),
    doubting=_list("if, maybe, perhaps, might, could, possibly, whether, unsure"),
    reasoning=_list("because, since, due to"),
    refusing=_list("sorry, i cannot, i can't, i am unable, i'm unable, i don't know, i do not know, as an ai"),
)
WORDS = (FILIPINO, ENGLISH)

_MARKS = " \t\r\"'“”‘’()[]{}<>.,:;!-–—•#。、，：；！．｡「」『』《》〈〉【】·"
_OPEN, _CLOSE = r"[\s\"'“‘(\[{<「『《【]*", r"[\"'”’)\]}>」』》】]*"
_L = r"(?<![A-Za-z0-9_À-ɏ&+])(?<!\w['’.-])[ABC](?![A-Za-z0-9_À-ɏ&+#%])(?!['’.-]\w)"
_STANDING = re.compile(_L)
_ENDS = re.compile(rf"[)\]]+(?=\s)|{_CLOSE}\s*(?:$|[,;:!。、]|\.(?!\s*[A-Z]\.)|[-–—]\s)")
_LEADING = re.compile(
    rf"{_OPEN}({_L})(?:[\"'”’)\]}}>」』》】]+[.,:;]?|[.,:;。、]{_CLOSE}|\s*[-–—=]+)(?=\s|$)(?!\s*[A-Z]\.)"
)
_LATEX = re.compile(r"\\(?:boxed|fbox|text(?:bf|rm|it)?|math(?:bf|rm|it|sf)?)\s*\{([^{}]*)\}")


@dataclass(frozen=True)
class Parsed:
    """``answer`` is 0, 1, 2 or −1 (not parsed); ``reason`` one of :data:`REASONS`."""

    answer: int
    reason: str


@lru_cache(maxsize=16)
def _patterns(words: tuple[Words, ...]) -> dict[str, re.Pattern]:
    """Each list of these languages as one pattern, and "announced" and "asserted"."""

    def any_of(kind: str) -> str:
        found = sorted(((text, w.spaced) for w in words for text in getattr(w, kind)), key=lambda e: -len(e[0]))
        texts = [(re.escape(t).replace(r"\ ", r"\s+").replace("'", "['’]"), spaced) for t, spaced in found]
        alternatives = "|".join(rf"(?<!\w){t}(?!\w)" if spaced else t for t, spaced in texts)
        return f"(?i:{alternatives or '(?!)'})"

    separated = r"\s*(?:[:=]|->|=>|→|[-–—](?=\s))?"
    return {
        "announced": re.compile(rf"{any_of('announcing')}(?:\s*{any_of('linking')})*{separated}{_OPEN}({_L})"),
        "asserted": re.compile(
            rf"(?:^|[.,;:!]\s+|{any_of('announcing')}\s+){_OPEN}({_L}){_CLOSE}\s+{any_of('asserting')}"
        ),
        "denying": re.compile(rf"{any_of('denying')}|n['’]t(?!\w)"),
        "doubting": re.compile(rf"{any_of('doubting')}|\?"),
        "reasoning": re.compile(rf"{any_of('reasoning')}.*"),
        "refusing": re.compile(any_of("refusing")),
    }


def parse(text: str | None, options: Sequence[str] = ("", "", ""), words: Sequence[Words] = WORDS) -> Parsed:
    r"""What a written answer chose, by the grammar at the top of this module.

    Parameters
    ----------
    text : str
        What the model wrote after the prompt. Only what comes before the first empty line counts.
    options : three str
        The texts of the options, as shown. Without them only letters are read.
    words : Words
        The languages in which answers are understood.

    Returns
    -------
    Parsed

    Examples
    --------
    >>> options = ("Si Maria", "Si Juan", "Di matukoy")
    >>> [parse(t, options).answer for t in ("A.", "**B**", "Sagot: C", "Si Maria", r"\boxed{B}")]
    [0, 1, 2, 0, 1]
    >>> [parse(t, options).reason for t in ("A at B", "", "A. Si Juan", "Hindi A ang sagot.", "I choose a third.")]
    ['several', 'empty', 'disagree', 'denied', 'no option']
    """
    patterns, spaced = _patterns(tuple(words)), all(w.spaced for w in words)
    whole = _normal(text or "").split("\n\n")[0].strip()
    if not whole.strip(_MARKS + "\n"):
        return Parsed(-1, "empty")
    if _foreign(whole, options):
        return Parsed(-1, "other script")
    core = "\n".join(patterns["reasoning"].sub("", line) for line in re.sub(r"\?\s", "?\n", whole).splitlines())
    standing, named = set(_STANDING.findall(whole)), _texts(whole, options, spaced)
    letters = {letter for line in core.splitlines() for letter in _letters(line.strip(), options, patterns)}
    if letters or len(standing) > 1:
        letters |= standing
    if len(letters) > 1:
        return Parsed(-1, "several")
    doubt = _doubt(core, options, patterns, spaced)
    if letters:
        answer, said = LETTERS.index(letters.pop()), _texts(core, options, spaced)
        return Parsed(-1, "disagree") if said and answer not in said else _unless(doubt, answer, "letter")
    if patterns["refusing"].search(whole) and not any(_plain(whole) == _plain(options[k]) for k in named):
        return Parsed(-1, "refusal")
    if len(named) > 1:
        return Parsed(-1, "several")
    if named and {LETTERS[k] for k in named} != (standing or {LETTERS[k] for k in named}):
        return Parsed(-1, "disagree")
    if named:
        return _unless(doubt, named.pop(), "text")
    lower = re.fullmatch("[abc]", whole.strip(_MARKS)) is not None
    return Parsed(-1, doubt if standing and doubt else "lower case" if lower else "no option")


def _unless(doubt: str, answer: int, reason: str) -> Parsed:
    return Parsed(-1, doubt) if doubt else Parsed(answer, reason)


def _normal(text: str) -> str:
    """Compatibility form, without invisible characters and the marks of Markdown and LaTeX."""
    text = re.sub("[\u200b-\u200f\u2060\ufeff]", "", unicodedata.normalize("NFKC", text))
    while (inner := _LATEX.sub(r"\1", text)) != text:
        text = inner
    text = re.sub(r"\\[()\[\]]", " ", re.sub(r"\$+([^$\n]*)\$+", r"\1", text))
    return re.sub(r"[*`]+|(?<!\w)_+|_+(?!\w)", "", text).strip()


def _plain(text: str) -> str:
    """For comparing texts: no case, no punctuation around, single spaces."""
    return re.sub(r"\s+", " ", _normal(text).casefold().strip(_MARKS + "\n"))


def _letters(line: str, options: Sequence[str], patterns: dict[str, re.Pattern]) -> set[str]:
    """The letters that a line answers with."""
    found = {match[1] for match in patterns["asserted"].finditer(line)}
    for match in patterns["announced"].finditer(line):
        rest, own = line[match.end() :], _plain(options[LETTERS.index(match[1])])
        if _ENDS.match(rest) or (own and _plain(rest).startswith(own)):
            found.add(match[1])
    bare, leading = line.strip(_MARKS), _LEADING.match(line)
    found |= {leading[1]} if leading else set()
    return found | ({bare} if bare in tuple(LETTERS) and _STANDING.search(line) else set())


def _options_in(options: Sequence[str], spaced: bool) -> list[re.Pattern]:
    """A pattern for each option's text, as words of their own; of an empty one, a pattern that never matches."""
    bounds = (r"(?<!\w)", r"(?!\w)") if spaced else ("", "")
    return [re.compile(f"{bounds[0]}{re.escape(o)}{bounds[1]}" if (o := _plain(x)) else "(?!)") for x in options]


def _texts(text: str, options: Sequence[str], spaced: bool) -> set[int]:
    """The options whose text is named; an option inside a longer one that is named does not count."""
    plain, wanted = f" {_plain(text)} ", [_plain(o) for o in options]
    hits = {k for k, pattern in enumerate(_options_in(options, spaced)) if pattern.search(plain)}
    return hits - {k for k in hits for other in hits - {k} if wanted[k] != wanted[other] and wanted[k] in wanted[other]}


def _doubt(core: str, options: Sequence[str], patterns: dict[str, re.Pattern], spaced: bool) -> str:
    """What keeps an answer from counting: "denied", "unsure" or ""; a question that names no answer is left out."""

    def answered(match: re.Match) -> str:
        return match[0] if _STANDING.search(match[0]) or _texts(match[0], options, spaced) else " "

    text = re.sub(r"\s+", " ", re.sub(r"[^.!?\n]*\?", answered, core).casefold())
    for option in sorted(_options_in(options, spaced), key=lambda p: -len(p.pattern)):
        text = option.sub(" ", text)
    return "denied" if patterns["denying"].search(text) else "unsure" if patterns["doubting"].search(text) else ""


def _foreign(text: str, options: Sequence[str]) -> bool:
    """Whether no letter is Latin although no option is in another script."""

    def scripts(of: str) -> list[bool]:
        return ["LATIN" in unicodedata.name(c, "") for c in of if c.isalpha()]

    return all(all(scripts(o)) for o in options) and bool(scripts(text)) and not any(scripts(text))
