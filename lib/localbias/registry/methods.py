"""The ten ways of getting a word's vector, M1–M10 (WEATHub, section 3.2 and Table 2)."""

from __future__ import annotations

from dataclasses import dataclass

from localbias.errors import unknown


@dataclass(frozen=True)
class Method:
    """One embedding method.

    ``layer`` is "0", "L-1", "L", "mean" (of states 0…L) or "static"; ``pooling`` is "average" or
    "first" subword, "cls" or "word". ``published`` ends the method's name in the authors' result
    tables, ``variance`` names it in their sensitivity tables.
    """

    code: str
    title: str
    layer: str
    pooling: str
    published: str
    variance: str


METHODS: dict[str, Method] = {
    m.code: m
    for m in (
        Method("M1", "embedding layer, subword average", "0", "average", "layer-0-subword-avg", "bert_0_sws_avg"),
        Method("M2", "embedding layer, first subword", "0", "first", "layer-0-subword-first", "bert_0_sws_first"),
        Method(
            "M3",
            "second-to-last layer, subword average",
            "L-1",
            "average",
            "2nd-last-layer-subword-avg",
            "bert_2nd_last_sws_avg",
        ),
        Method(
            "M4",
            "second-to-last layer, first subword",
            "L-1",
            "first",
            "2nd-last-layer-subword-first",
            "bert_2nd_last_sws_first",
        ),
        Method(
            "M5",
            "mean of all layers, subword average",
            "mean",
            "average",
            "avg-all-hidden-subword-avg",
            "bert_all_sws_avg",
        ),
        Method(
            "M6",
            "mean of all layers, first subword",
            "mean",
            "first",
            "avg-all-hidden-subword-first",
            "bert_all_sws_first",
        ),
        Method("M7", "CLS position of the last layer", "L", "cls", "CLS", "bert_last_CLS"),
        Method("M8", "last layer, subword average", "L", "average", "last-hidden-subword-avg", "bert_last_sws_avg"),
        Method("M9", "last layer, first subword", "L", "first", "last-hidden-subword-first", "bert_last_sws_first"),
        Method("M10", "fastText word vector", "static", "word", "fasttext", "fasttext"),
    )
}


def method(code: str) -> Method:
    """The method of a code; raises UnknownName.

    >>> method("M5").title
    'mean of all layers, subword average'
    """
    if code not in METHODS:
        raise unknown("method", code, METHODS)
    return METHODS[code]
