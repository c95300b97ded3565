"""Whole comparisons of the book: the same tests with other translations, or by other models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from localbias.errors import BadTable
from localbias.measures.association import associations, effect_size
from localbias.measures.intervals import difference_interval
from localbias.models.encoder import Encoder
from localbias.registry import monolingual_models, ranges
from localbias.studies.weat import FAMILY, cleaned, judged, languages_of, methods_of, run_weat, tests_of
from localbias.words.lexicon import dataset_label, has_words, load_words, resolve_dataset

TRANSLATIONS = {"gt": "machine translation", "human": "human translation", "starter": "written by a language model"}
"""Variant → what its words are, in the comparison of WEATHub, section 3.3 and Figure 2."""


@ranges.checked
def run_translations(
    languages: Sequence[str] | str = "all",
    tests: Sequence[str] | str = "original",
    model: str = "multilingual-e5-small",
    methods: Sequence[str] = ("M5",),
    dataset: str = "auto",
    **settings,
) -> pd.DataFrame:
    """The same tests with words translated by machine, by people, and written by a language model.

    Runs the published machine ("gt") and human translations, where they are at hand (or the list that
    ``dataset`` names), and the starter lexicon; languages without one of them miss that arm.

    Returns
    -------
    pandas.DataFrame
        As :func:`localbias.studies.weat.run_weat`, with a column ``arm`` of the names in ``TRANSLATIONS``.
    """
    dataset, parts = resolve_dataset(dataset), []
    tests = tests_of(tests, dataset)
    own = {"weathub": [("weathub", "gt"), ("weathub", "human")], "starter": []}.get(dataset, [(dataset, "all")])
    asked = [*own, ("starter", "starter")]
    for name, variant in asked:
        codes = languages_of(languages, tests, (variant,), name, leave_out=("en",))
        codes = [c for c in codes if all(has_words(t, c, variant, name) for t in tests)]
        if codes:
            part = run_weat(codes, tests, model, methods, variant, name, **settings)
            parts.append(part.assign(arm=TRANSLATIONS.get(variant, dataset_label(name))))
    if not parts:
        raise BadTable(
            "no translation has these tests in these languages",
            expected=", ".join(TRANSLATIONS),
            got=f"languages {languages}, tests {', '.join(tests)}",
        )
    return pd.concat(parts, ignore_index=True)


@ranges.checked
def run_models(
    languages: Sequence[str] | str,
    tests: Sequence[str] | str,
    multilingual: str,
    monolingual: Sequence[str] | str = "registry",
    methods: Sequence[str] = ("M5", "M10"),
    **settings,
) -> pd.DataFrame:
    """A multilingual model and monolingual ones on the same tests (WEATHub, section 4.2).

    Parameters
    ----------
    monolingual : list of models, or "registry"
        Models for the languages asked for, or each language's own model of the paper; then "all"
        languages are those that have one.

    Returns
    -------
    pandas.DataFrame
        As :func:`localbias.studies.weat.run_weat`, with a column ``kind`` ("multilingual", "monolingual"). Each
        language's own models make one family for q together.
    """
    if monolingual != "registry":
        others = [monolingual] if isinstance(monolingual, str) else list(monolingual)
        asked = [(languages, name) for name in others]
    else:
        languages = _with_own_model(languages)
        asked = [([code], monolingual_models()[code]) for code in languages]
    first, *rest = [(languages, multilingual), *asked]
    parts = [_of_model(*first, tests, methods, settings).assign(kind="multilingual")]
    parts += [_of_model(*one, tests, methods, settings).assign(kind="monolingual") for one in rest]
    family = [name for name in FAMILY if name != "model" or monolingual != "registry"]
    return judged(pd.concat(parts, ignore_index=True), settings.get("alpha", 0.05), [*family, "kind"])


@ranges.checked
def paired_differences(
    pairs: pd.DataFrame,
    dataset: str = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    interval: str = "bca",
    progress: bool = False,
) -> pd.DataFrame:
    """How much two models differ in each test, with an interval: both see the same words, drawn anew together.

    Parameters
    ----------
    pairs : DataFrame
        Of ``side_by_side.against``: which test, in which language, by which two models and methods.
    dataset : str
        The word lists of ``pairs``.
    level, n_resamples, seed, interval
        As in :func:`localbias.measures.intervals.effect_size_interval`.

    Returns
    -------
    pandas.DataFrame
        The rows of ``pairs`` with ``effect_shared_one``, ``effect_shared_other`` (d over the words that both models
        have), ``change`` (other − one), its interval ``low``, ``high``, ``apart`` (the interval leaves 0 out),
        ``words`` and ``words_left`` (used, and left out because one model has no vector). NaN where fewer than
        two words of a set remain.
    """
    vectors = _Vectors(pairs, dataset, progress)
    rows = [_paired(vectors, pair, level, n_resamples, seed, interval) for pair in pairs.to_dict("records")]
    return pairs.assign(**pd.DataFrame(rows, index=pairs.index))


class _Vectors:
    """Words and their vectors of every model of some pairs; each model reads a language's words once."""

    def __init__(self, pairs: pd.DataFrame, dataset: str, progress: bool):
        keys = pairs[["test", "language", "variant"]].drop_duplicates().itertuples(index=False, name=None)
        self.sets = {key: load_words(*key, dataset) for key in keys}
        self.clean, self.held, self.progress = bool(pairs["clean"].all()), {}, progress

    def of(self, model: str, method: str, protocol: str, language: str) -> tuple[dict[str, np.ndarray], dict]:
        """The words' vectors, and what the model sees of them."""
        key = (model, method, protocol, language)
        if key not in self.held:
            words = sorted({w for (_, code, _), sets in self.sets.items() if code == language for w in sets.words})
            encoder = Encoder(model, protocol=protocol, progress=self.progress)
            found = encoder.encode(words, methods=[method], language=language)[method]
            self.held[key] = dict(zip(words, found, strict=True)), encoder.look(words, language)
        return self.held[key]


def _paired(vectors: _Vectors, pair: dict, level: float, n_resamples: int, seed: int, interval: str) -> dict:
    where = pair["protocol"], pair["language"]
    one, seen = vectors.of(pair["one"], pair["method_one"], *where)
    other, other_seen = vectors.of(pair["other"], pair["method"], *where)
    sets = vectors.sets[pair["test"], pair["language"], pair["variant"]]
    sets = (cleaned(sets, seen, other_seen) if vectors.clean else sets).sets.values()
    kept = [[w for w in words if not (np.isnan(one[w]).any() or np.isnan(other[w]).any())] for words in sets]
    words = sum(map(len, kept))
    row = {
        "effect_shared_one": np.nan,
        "effect_shared_other": np.nan,
        "low": np.nan,
        "high": np.nan,
        "words": words,
        "words_left": sum(map(len, sets)) - words,
    }
    if min(map(len, kept)) >= 2:
        arrays = [[np.stack([by[w] for w in words]) for words in kept] for by in (one, other)]
        d = [effect_size(associations(x, a, b), associations(y, a, b)) for x, y, a, b in arrays]
        low, high = difference_interval(*arrays, level, n_resamples, seed, interval)
        row |= {"effect_shared_one": d[0], "effect_shared_other": d[1], "low": low, "high": high}
    change = row["effect_shared_other"] - row["effect_shared_one"]
    return row | {"change": change, "apart": bool(row["low"] > 0 or row["high"] < 0)}


def _of_model(languages, model: str, tests, methods: Sequence[str], settings: dict) -> pd.DataFrame:
    """The model's results by those of the methods that it has."""
    has = Encoder(model, progress=False).methods
    return run_weat(languages, tests, model, methods_of(methods, has, model, alone=False), **settings)


def _with_own_model(languages: Sequence[str] | str) -> list[str]:
    own = monolingual_models()
    codes = list(own) if languages == "all" else [languages] if isinstance(languages, str) else list(languages)
    if lacking := [code for code in codes if code not in own]:
        raise BadTable(
            "no monolingual model is registered",
            where=", ".join(lacking),
            expected=", ".join(own),
            todo="name the models: monolingual=[…]",
        )
    return codes
