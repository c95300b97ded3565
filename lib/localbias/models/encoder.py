"""Words → vectors: the only door to models and their vectors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from localbias.errors import BadValues, UnknownName
from localbias.models import crawl, pooling, protocols
from localbias.models.loading import (
    ModelInfo,
    in_dtype,
    load_network,
    load_tokenizer,
    longest,
    resolve,
    with_start_token,
)
from localbias.models.vector_cache import Entry, VectorCache
from localbias.registry import METHODS, MODELS, method

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_BLOCK = 4096  # units whose hidden states are held at once


@dataclass(frozen=True)
class Seen:
    """What a model sees of a word.

    Attributes
    ----------
    keys : mapping of str to hashable
        Method → what it reads of the word: words with equal keys have equal vectors, whatever their spelling. ``""`` is
        what the model reads, for methods without a key of their own. None when these are only unknown pieces.
    listed : bool or None
        Whether static vectors list the word, every part of a phrase; None for a model of subwords.
    spelt : bool
        Whether it is cut into single characters or bytes (:class:`localbias.models.protocols.Reading`).
    """

    keys: Mapping[str, Hashable]
    listed: bool | None = None
    spelt: bool = False

    def key(self, code: str = "") -> Hashable:
        """What a method reads of the word."""
        return self.keys.get(code, self.keys[""])


class Encoder:
    """Word vectors of one model under one protocol, M1–M9 of a transformer or M10 of static vectors.

    Weights are read only when a vector is asked for that the cache does not hold.

    Parameters
    ----------
    model : str
        A name of :data:`localbias.registry.MODELS`, a local folder, GGUF or fastText file, or a
        Hugging Face id.
    protocol : {"in-context", "weathub-2023"}
        How a word goes through the model; see :mod:`localbias.models.protocols`.
    cache : bool
        Keep vectors in the user's cache and take them from there.
    device : str, optional
        "cuda", "mps" or "cpu"; the best one there by default.
    batch_size : int
        Words per forward pass; changes the speed, not the vectors.
    progress : bool
        Show a bar when encoding takes longer than a second.
    dtype : str
        Weights' type in memory, "float32" unless asked; another one is said in ``revision`` and ``weights``.

    Attributes
    ----------
    model, revision, weights, protocol : str
        What every result row must say about its vectors.

    Raises
    ------
    UnknownName
        When there is no such protocol, or the name cannot be a model's.
    ModelUnavailable
        When the model cannot be had.

    Examples
    --------
    >>> encoder = Encoder("glove-6b-50d", cache=False)
    >>> vectors = encoder.encode(["flower", "qqzzxx"])
    >>> vectors["M10"].shape, bool(np.isnan(vectors["M10"][1]).all())
    ((2, 50), True)
    """

    def __init__(
        self,
        model: str = "multilingual-e5-small",
        protocol: str = "in-context",
        cache: bool = True,
        device: str | None = None,
        batch_size: int = 128,
        progress: bool = True,
        dtype: str = "float32",
    ):
        if batch_size < 1:
            raise BadValues("batch_size must be at least 1", got=str(batch_size))
        self.protocol = protocols.check(protocol)
        self._info = resolve(model)
        said = in_dtype(self._info, dtype)
        self.model, self.revision, self.weights = said.name, said.revision, said.weights
        self.batch_size, self.progress = batch_size, progress
        self._device, self._dtype, self._cache = device, dtype, cache
        self._static: tuple[str, Any] | None = None

    @property
    def kind(self) -> str:
        """ "static" for word vectors; "encoder" or "causal" for transformers, by whether there is a [CLS]."""
        if self._info.kind:
            return self._info.kind
        return "encoder" if protocols.has_cls(self._tokenizer) else "causal"

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Codes of the methods that this model can give, in the registry's order."""
        if self._info.kind == "static":
            return ("M10",)
        given = set(pooling.WORD_METHODS) | ({"M7"} if self.kind in ("encoder", "masked") else set())
        return tuple(code for code in METHODS if code in given)

    def encode(
        self, words: Iterable[str], methods: Sequence[str] | None = None, language: str = "und"
    ) -> dict[str, np.ndarray]:
        """Vectors of words and phrases.

        Parameters
        ----------
        words : iterable of n str
            Words or phrases; repeated ones are computed once. A phrase is the mean of its
            space-separated words' vectors, but M7 reads it whole.
        methods : sequence of str, optional
            Codes M1 … M10; all that the model gives by default.
        language : str
            Names the cache file; chooses the file of ``fasttext-cc``.

        Returns
        -------
        dict of (n, dim) float32 arrays by method
            A row of NaN is a word without a vector; :meth:`problems` says why.

        Raises
        ------
        BadValues
            When there are no words, or one is not a string.
        UnknownName
            When a method does not exist, or this model cannot give it.
        """
        words = [protocols.spelled(word, self.protocol) for word in _checked(words, language)]
        methods = self._asked(methods)
        texts = list(dict.fromkeys(words))
        parts = self._parts(texts)
        by_word = [code for code in methods if code != "M7"]
        asked = [(unit, code) for unit in _units(parts) for code in by_word]
        asked += [(text, "M7") for text in texts if "M7" in methods]
        entries = self._entries(asked, language)
        dim = self._dim(entries, language)
        result = {}
        for code in methods:
            read = {t: [t] if code == "M7" else parts[t] for t in texts}
            vectors = {text: _mean([entries[unit, code].vector for unit in read[text]]) for text in texts}
            result[code] = _stack([vectors[word] for word in words], dim)
        return result

    def problems(self, words: Iterable[str], language: str = "und") -> pd.DataFrame:
        """Words without a vector, or with one that leaves part of the word out.

        Returns
        -------
        DataFrame
            word, problem (which piece or part, and why), vector (False: the row is NaN); one row
            per word concerned, in the order given, each word once.
        """
        words = list(dict.fromkeys(_checked(words, language)))
        code = "M10" if self._info.kind == "static" else "M1"
        parts = self._parts(words)
        entries = self._entries([(unit, code) for unit in _units(parts)], language)
        rows = []
        for word in words:
            found = {unit: entries[unit, code] for unit in parts[word]}
            told = [f"{unit}: {e.problem}" if len(found) > 1 else e.problem for unit, e in found.items() if e.problem]
            if not found or told:
                has_vector = any(e.vector is not None for e in found.values())
                rows.append((word, "; ".join(told) or "is empty", has_vector))
        return pd.DataFrame(rows, columns=["word", "problem", "vector"]).astype({"vector": bool})

    def look(self, words: Iterable[str], language: str = "und") -> dict[str, Seen]:
        """What the model sees of each word; reads no weights of a transformer."""
        parts = self._parts(dict.fromkeys(_checked(words, language)))
        units = _units(parts)
        if self._info.kind == "static":
            entries = self._entries([(unit, "M10") for unit in units], language)
            seen = {unit: _seen_static(unit, entries[unit, "M10"]) for unit in units}
        else:
            sent = [protocols.sent(self._tokenizer, unit, self.protocol) for unit in units]
            known = protocols.encode_all(self._tokenizer, sent)
            readings = {unit: protocols.read_word(self._tokenizer, unit, self.protocol, known) for unit in units}
            causal = self.kind not in ("encoder", "masked")
            seen = {unit: _seen(unit, reading, causal) for unit, reading in readings.items()}
        none = Seen({"": None}, listed=False if self._info.kind == "static" else None)
        return {word: _together([seen[unit] for unit in some] or [none]) for word, some in parts.items()}

    @cached_property
    def read_as(self) -> str:
        """How a word is read; stands in every result row."""
        return "static vector" if self._info.kind == "static" else protocols.read_as(self._tokenizer, self.protocol)

    def doubts(self, language: str) -> list[str]:
        """What every result of this model in a language must be flagged with."""
        in_context = self._info.kind != "static" and self.protocol == "in-context"
        found = list(protocols.form(self._tokenizer).problems) if in_context else []
        made_for = _made_for(self.model)
        return found + [f"model made for {', '.join(made_for)}"] * (bool(made_for) and language not in made_for)

    def _parts(self, words: Iterable[str]) -> dict[str, list[str]]:
        """The units of each word: what stands between its spaces, spelled as the model gets it."""
        return {word: protocols.split(protocols.spelled(word, self.protocol), self.protocol) for word in words}

    def _asked(self, methods: Sequence[str] | None) -> list[str]:
        if methods is None:
            return list(self.methods)
        codes = [method(code).code for code in ([methods] if isinstance(methods, str) else methods)]
        for code in codes:
            if code not in self.methods:
                raise UnknownName(
                    f"the model {self.model!r} cannot give {code} ({METHODS[code].title})",
                    expected=", ".join(self.methods),
                    got=code,
                    todo="M10 needs static vectors, M1 to M9 a transformer, M7 one whose tokenizer adds a [CLS]",
                )
        return list(dict.fromkeys(codes))

    def _entries(self, asked: list[tuple[str, str]], language: str) -> dict[tuple[str, str], Entry]:
        """An entry for every unit and method asked: from the cache, or computed and then kept."""
        cache = self._cache_of(language)
        found = cache.read(asked) if cache else {}
        missing = list(dict.fromkeys((unit, code == "M7") for unit, code in asked if (unit, code) not in found))
        for start in range(0, len(missing), _BLOCK):
            fresh = self._compute(missing[start : start + _BLOCK], language)
            if cache:
                cache.write(fresh)
            found.update(fresh)
        return found

    def _cache_of(self, language: str) -> VectorCache | None:
        return VectorCache(self.model, self.revision, self.protocol, language) if self._cache else None

    def _compute(self, missing: list[tuple[str, bool]], language: str) -> dict[tuple[str, str], Entry]:
        """Entries of units: by all methods of a word, or by M7 where the unit is a whole text."""
        if self._info.kind == "static":
            static = self._static_vectors(language)
            return {(unit, "M10"): Entry(*static.look_up(unit)) for unit, _ in missing}
        sent = [protocols.sent(self._tokenizer, unit, self.protocol) for unit, _ in missing]
        known = protocols.encode_all(self._tokenizer, sent)
        readings = {}
        for unit, whole in missing:
            read = protocols.read_text if whole else protocols.read_word
            readings[unit, whole] = read(self._tokenizer, unit, self.protocol, known)
        readings = {key: protocols.within(reading, self._longest) for key, reading in readings.items()}
        jobs = {job: None for r in readings.values() for job in zip(r.sequences, r.positions, strict=True)}
        sequences = {sequence: i for i, sequence in enumerate(dict.fromkeys(sequence for sequence, _ in jobs))}
        readouts = [(sequences[sequence], positions) for sequence, positions in jobs]
        title = f"{self.model} {language}"
        states = pooling.pooled_states(self._network, list(sequences), readouts, self.batch_size, self.progress, title)
        at = {job: row for row, job in enumerate(jobs)}
        entries = {}
        for (unit, whole), reading in readings.items():
            rows = [at[job] for job in zip(reading.sequences, reading.positions, strict=True)]
            for code in ("M7",) if whole else pooling.WORD_METHODS:
                entries[unit, code] = Entry(_pooled(states, rows, *pooling.place(code)), reading.problem)
        return entries

    def _dim(self, entries: dict[tuple[str, str], Entry], language: str) -> int:
        for entry in entries.values():
            if entry.vector is not None:
                return len(entry.vector)
        if self._info.kind == "static":
            return self._static_vectors(language).dim
        return int(self._network.config.hidden_size)

    def _static_vectors(self, language: str):
        from localbias.models.static import open_static

        if self._static is None or self._static[0] != language:
            self._static = (language, open_static(self._info, language))
        return self._static[1]

    @cached_property
    def _tokenizer(self):
        return _tokenizer_of(self._info)

    @cached_property
    def _longest(self) -> int:
        return longest(self._tokenizer, self._network.config)

    @cached_property
    def _network(self):
        return _network_of(self._info, self._device, self._dtype)


# A page makes many encoders of one model: what was read last is kept.
@lru_cache(maxsize=1)
def _tokenizer_of(info: ModelInfo) -> PreTrainedTokenizerBase:
    return with_start_token(load_tokenizer(info), info)


@lru_cache(maxsize=1)
def _network_of(info: ModelInfo, device: str | None, dtype: str) -> PreTrainedModel:
    return load_network(info, device, dtype)


def _made_for(model: str) -> tuple[str, ...]:
    """The languages that a model is made for, by its name or the registry; () when nothing is said."""
    own, hub = crawl.language_of(model), model.partition("@")[0]
    return (own,) if own else next((m.languages for m in MODELS.values() if hub in (m.name, m.hub)), ())


def _seen(unit: str, reading: protocols.Reading, causal: bool) -> Seen:
    """What the methods read of a unit: all positions, or the first one and what can be seen from there."""
    if not reading.known:  # without a vector, or with that of unknown pieces
        return Seen({"": None if reading.sequences else unit}, spelt=reading.spelt)
    first, at = reading.sequences[0], reading.positions[0][0]
    keys: dict[str, Hashable] = {"": (reading.sequences, reading.positions)}
    for code in pooling.WORD_METHODS:
        if METHODS[code].pooling == "first":
            keys[code] = (at, first[at]) if METHODS[code].layer == "0" else first[: at + 1] if causal else (at, first)
    return Seen(keys, spelt=reading.spelt)


def _seen_static(unit: str, entry: Entry) -> Seen:
    return Seen({"": unit if entry.vector is None else entry.vector.tobytes()}, listed=not entry.problem)


def _together(units: list[Seen]) -> Seen:
    """What is seen of a phrase."""
    known = [unit for unit in units if unit.key() is not None]
    keys = {code: tuple(unit.key(code) for unit in units) for code in units[0].keys} if known else {"": None}
    listed = None if units[0].listed is None else all(unit.listed for unit in units)
    return Seen(keys, listed, any(unit.spelt for unit in units))


def _checked(words: Iterable[str], language: str) -> list[str]:
    words = [words] if isinstance(words, str) else list(words)
    if not words:
        raise BadValues("there are no words to encode", where=f"language {language}")
    for position, word in enumerate(words):
        if not isinstance(word, str):
            raise BadValues("a word is not a string", got=repr(word), where=f"language {language}, position {position}")
        if any("\ud800" <= char <= "\udfff" for char in word):
            where = f"language {language}, position {position}"
            raise BadValues("a word is not valid Unicode", got=ascii(word), where=where)
    return words


def _units(parts: dict[str, list[str]]) -> list[str]:
    return list(dict.fromkeys(unit for some in parts.values() for unit in some))


def _pooled(states: np.ndarray, rows: list[int], layer: int, pool: int) -> np.ndarray | None:
    """A unit's vector from its readouts: their mean, or the first one's; None when there are none."""
    if not rows:
        return None
    if pool == 1 or len(rows) == 1:
        return states[rows[0], layer, pool].copy()
    return states[rows, layer, pool].mean(0)


def _mean(vectors: list[np.ndarray | None]) -> np.ndarray | None:
    """The mean of the vectors that are there, None when there are none."""
    there = [vector for vector in vectors if vector is not None]
    if len(there) < 2:
        return there[0] if there else None
    return np.asarray(np.mean(there, axis=0, dtype=np.float64), np.float32)


def _stack(vectors: list[np.ndarray | None], dim: int) -> np.ndarray:
    missing = np.full(dim, np.nan, np.float32)
    return np.stack([missing if vector is None else vector for vector in vectors])
