"""ρ of arrays, and of languages × tests × methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from tqdm import tqdm

from localbias.measures.sensitivity import distance_variance
from localbias.models.encoder import Encoder
from localbias.registry import ranges
from localbias.studies.weat import in_vocabulary, languages_of, methods_of, seen_flags, tests_of
from localbias.words.lexicon import WordSets, dataset_label, load_words, resolve_dataset

COLUMNS = (
    "language",
    "test",
    "method",
    "rho",
    "rho_x",
    "rho_y",
    "rho_a",
    "rho_b",
    "model",
    "revision",
    "weights",
    "protocol",
    "read_as",
    "dataset",
    "variant",
    "coverage",
    "in_vocabulary",
    "flags",
)


@ranges.checked
def run_sensitivity(
    languages: Iterable[str] | str = "all",
    tests: Iterable[str] | str = "original",
    model: str = "multilingual-e5-small",
    methods: Sequence[str] | str = "all",
    variant: str = "all",
    dataset: str = "auto",
    protocol: str = "in-context",
    progress: bool = True,
) -> pd.DataFrame:
    """ρ of every method for every language and test.

    Parameters
    ----------
    languages : list of codes, or "all"
        "all": every language that the data set has all the tests for.
    tests : list of names, or a family: see :func:`localbias.studies.weat.tests_of`
    model, methods, protocol
        As in :class:`localbias.models.encoder.Encoder`; "all" methods are those that the model gives.
    variant, dataset : str
        As in :func:`localbias.words.lexicon.load_words`.

    Returns
    -------
    pandas.DataFrame
        Columns ``COLUMNS``: one row a language × test × method, ``rho`` the mean of the four sets' variances
        ``rho_x`` … ``rho_b``. NaN for a set with fewer than two words that have a vector, and then for
        ``rho`` too; ``coverage`` is the share of words with a vector;
        ``read_as``, ``in_vocabulary`` and ``flags`` say how they were read (:mod:`localbias.studies.weat`).

    Raises
    ------
    UnknownName
        For a language, test, variant, method or model that does not exist.
    """
    dataset = resolve_dataset(dataset)
    tests = tests_of(tests, dataset)
    encoder = Encoder(model, protocol=protocol, progress=progress)
    wanted = methods_of(methods, encoder.methods, model)
    about = {k: getattr(encoder, k) for k in ("model", "revision", "weights", "protocol", "read_as")}
    about["dataset"] = dataset_label(dataset)
    rows = []
    for language in tqdm(languages_of(languages, tests, (variant,), dataset), desc=model, disable=not progress):
        asked = [load_words(test, language, variant, dataset) for test in tests]
        words = sorted({word for sets in asked for word in sets.words})
        seen, found = encoder.look(words, language), encoder.encode(words, methods=wanted, language=language)
        doubts = encoder.doubts(language)
        for code in wanted:
            vectors = dict(zip(words, found[code], strict=True))
            for sets in asked:
                flags = "; ".join([*doubts, *seen_flags(sets, seen, code)])
                read = {"in_vocabulary": in_vocabulary(sets, seen), "flags": flags}
                rows.append({**about, "method": code, **_row(sets, vectors), **read})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(sets: WordSets, vectors: Mapping[str, np.ndarray]) -> dict:
    variances, known, total = {}, 0, 0
    for role, words in sets.sets.items():
        held = [vectors[word] for word in words if not np.isnan(vectors[word]).any()]
        known, total = known + len(held), total + len(words)
        where = f"{sets.test}, {sets.language}, set {role}"
        variances[role] = distance_variance(np.stack(held), where) if len(held) > 1 else float("nan")
    per_set = {f"rho_{role.lower()}": value for role, value in variances.items()}
    return {
        "language": sets.language,
        "test": sets.test,
        "variant": sets.variant,
        **per_set,
        "rho": float(np.mean(list(variances.values()))),
        "coverage": known / total if total else 0.0,
    }


def summary(rows: pd.DataFrame, by: Sequence[str] = ("language", "method")) -> pd.DataFrame:
    """ρ averaged over tests, with the number of tests and the method of largest ρ in each language.

    Returns
    -------
    pandas.DataFrame
        Columns of ``by``, then rho (mean over the tests that have one), tests, best (True for the largest
        ρ within all of ``by`` but the method).
    """
    by = list(by)
    table = rows.groupby(by, sort=False)["rho"].agg(rho="mean", tests="count").reset_index()
    within = [name for name in by if name != "method"]
    top = table.groupby(within)["rho"].transform("max") if within else table["rho"].max()
    return table.assign(best=table["rho"] == top)
