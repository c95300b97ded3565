"""Words → vectors: the only door to models and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from localbias.embed import methods as pooling
from localbias.embed import protocols
from localbias.embed.cache import Entry, VectorCache
from localbias.embed.models import load_encoder, load_tokenizer, resolve
from localbias.errors import BadValues, UnknownName
from localbias.registry import METHODS, method

_BLOCK = 4096  # units whose hidden states are held at once


class Encoder:
    """Word vectors of one model under one protocol, M1–M9 of a transformer or M10 of static vectors.

    Weights are read only when a vector is asked for that the cache does not hold.

    Parameters
    ----------
    model : str
        A name of :data:`localbias.registry.MODELS`, a local folder, GGUF or fastText file, or a
        Hugging Face id.
    protocol : {"in-context", "weathub-2023"}
        How a word goes through the model; see :mod:`localbias.embed.protocols`.
    cache : bool
        Keep vectors in the user's cache and take them from there.
    device : str, optional
        "cuda", "mps" or "cpu"; the best one there by default.
    batch_size : int
        Words per forward pass; changes the speed, not the vectors.
    progress : bool
        Show a bar when encoding takes longer than a second.

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
        batch_size: int = 64,
        progress: bool = True,
    ):
        if batch_size < 1:
            raise BadValues("batch_size must be at least 1", got=str(batch_size))
        self.protocol = protocols.check(protocol)
        self._info = resolve(model)
        self.model, self.revision, self.weights = self._info.name, self._info.revision, self._info.weights
        self.batch_size, self.progress = batch_size, progress
        self._device, self._cache = device, cache
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
        words = _checked(words, language)
        methods = self._asked(methods)
        result: dict[str, np.ndarray] = {}
        whole = [code for code in methods if code == "M7"]
        by_word = [code for code in methods if code != "M7"]
        if by_word:
            parts = {word: protocols.split(word, self.protocol) for word in dict.fromkeys(words)}
            units = list(dict.fromkeys(unit for some in parts.values() for unit in some))
            entries = self._entries(units, by_word, language)
            for code in by_word:
                means = {word: _mean([entries[unit, code].vector for unit in parts[word]]) for word in parts}
                result[code] = _stack([means[word] for word in words], self._dim(entries, language))
        if whole:
            entries = self._entries(list(dict.fromkeys(words)), whole, language)
            result["M7"] = _stack([entries[word, "M7"].vector for word in words], self._dim(entries, language))
        return {code: result[code] for code in methods}

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
        parts = {word: protocols.split(word, self.protocol) for word in words}
        entries = self._entries(list(dict.fromkeys(u for some in parts.values() for u in some)), [code], language)
        rows = []
        for word in words:
            found = {unit: entries[unit, code] for unit in parts[word]}
            told = [f"{unit}: {e.problem}" if len(found) > 1 else e.problem for unit, e in found.items() if e.problem]
            if not found or told:
                has_vector = any(e.vector is not None for e in found.values())
                rows.append((word, "; ".join(told) or "is empty", has_vector))
        return pd.DataFrame(rows, columns=["word", "problem", "vector"]).astype({"vector": bool})

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

    def _entries(self, units: list[str], methods: list[str], language: str) -> dict[tuple[str, str], Entry]:
        """An entry for every unit and method: from the cache, or computed and then kept."""
        cache = VectorCache(self.model, self.revision, self.protocol, language) if self._cache else None
        found = cache.read(units, methods) if cache else {}
        missing = [unit for unit in units if any((unit, code) not in found for code in methods)]
        for start in range(0, len(missing), _BLOCK):
            fresh = self._compute(missing[start : start + _BLOCK], methods, language)
            if cache:
                cache.write(fresh)
            found.update(fresh)
        return found

    def _compute(self, units: list[str], methods: list[str], language: str) -> dict[tuple[str, str], Entry]:
        if self._info.kind == "static":
            return self._look_up(units, language)
        if methods == ["M7"]:
            return self._read(units, ("M7",), protocols.read_text, language)
        return self._read(units, pooling.WORD_METHODS, protocols.read_word, language)

    def _look_up(self, units: list[str], language: str) -> dict[tuple[str, str], Entry]:
        static = self._static_vectors(language)
        vectors = {unit: static.vector(unit) for unit in units}
        return {
            (unit, "M10"): Entry(vector, "" if vector is not None else "is not in the vocabulary")
            for unit, vector in vectors.items()
        }

    def _read(
        self, units: list[str], codes: tuple[str, ...], read: Callable, language: str
    ) -> dict[tuple[str, str], Entry]:
        """Read units, send each distinct token sequence through the model once, pool."""
        readings = {unit: read(self._tokenizer, unit, self.protocol) for unit in units}
        jobs = [job for r in readings.values() for job in zip(r.sequences, r.positions, strict=True)]
        jobs = list(dict.fromkeys(jobs))
        at = {job: i for i, job in enumerate(jobs)}
        title = f"{self.model} {language}"
        states = pooling.pooled_states(
            self._network, [j[0] for j in jobs], [j[1] for j in jobs], self.batch_size, self.progress, title
        )
        entries = {}
        for unit, r in readings.items():
            rows = [at[job] for job in zip(r.sequences, r.positions, strict=True)]
            for code in codes:
                layer, pool = pooling.place(code)
                vector = None
                if rows:
                    chosen = states[rows, layer, pool] if pool == 0 else states[rows[:1], layer, pool]
                    vector = chosen.mean(0)
                entries[unit, code] = Entry(vector, r.problem)
        return entries

    def _dim(self, entries: dict[tuple[str, str], Entry], language: str) -> int:
        for entry in entries.values():
            if entry.vector is not None:
                return len(entry.vector)
        if self._info.kind == "static":
            return self._static_vectors(language).dim
        return int(self._network.config.hidden_size)

    def _static_vectors(self, language: str):
        from localbias.embed.fasttext import open_static

        if self._static is None or self._static[0] != language:
            self._static = (language, open_static(self._info, language))
        return self._static[1]

    @cached_property
    def _tokenizer(self):
        return load_tokenizer(self._info)

    @cached_property
    def _network(self):
        return load_encoder(self.model, self._device)[1]


def _checked(words: Iterable[str], language: str) -> list[str]:
    words = [words] if isinstance(words, str) else list(words)
    if not words:
        raise BadValues("there are no words to encode", where=f"language {language}")
    for position, word in enumerate(words):
        if not isinstance(word, str):
            raise BadValues("a word is not a string", got=repr(word), where=f"language {language}, position {position}")
    return words


def _mean(vectors: list[np.ndarray | None]) -> np.ndarray | None:
    """The mean of the vectors that are there, None when there are none."""
    there = [vector for vector in vectors if vector is not None]
    if len(there) < 2:
        return there[0] if there else None
    return np.mean(there, axis=0, dtype=np.float64).astype(np.float32)


def _stack(vectors: list[np.ndarray | None], dim: int) -> np.ndarray:
    missing = np.full(dim, np.nan, np.float32)
    return np.stack([missing if vector is None else vector for vector in vectors])
