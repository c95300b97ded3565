"""Word sets × models × methods → one tidy table of WEAT results.

The words of a language are encoded once, all tests and methods read from the same vectors. A row
that cannot be computed stays in the table with NaN and says why in ``flags``; a name that does not
exist is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from tqdm import tqdm

from localbias.errors import BadValues, ProtocolUnfit, unknown
from localbias.measures.adjust import adjust, paper_rule
from localbias.measures.intervals import effect_size_interval
from localbias.measures.permutation import smallest_p
from localbias.measures.weat import WeatResult, weat_test
from localbias.models.encoder import Encoder, Seen
from localbias.registry import DIMENSION_TESTS, INDIA_TESTS, ORIGINAL_TESTS, TESTS, method, ranges
from localbias.words.lexicon import (
    PUBLISHED,
    STARTER,
    WordSets,
    clean_sets,
    dataset_label,
    folded,
    has_words,
    languages_in,
    load_words,
    resolve_dataset,
    tests_in,
    unseen,
)

COLUMNS = (
    "dataset",
    "language",
    "variant",
    "test",
    "model",
    "revision",
    "weights",
    "method",
    "protocol",
    "read_as",
    "clean",
    "n_x",
    "n_y",
    "n_a",
    "n_b",
    "statistic",
    "effect_size",
    "ci_low",
    "ci_high",
    "p_value",
    "p_low",
    "p_high",
    "p_strict",
    "p_two_sided",
    "p_min",
    "q_value",
    "p_holm",
    "significant_paper",
    "significant_q",
    "coverage",
    "in_vocabulary",
    "p_method",
    "family_size",
    "flags",
)
"""Columns of :func:`run_weat`. ``read_as`` says how a word was read, ``coverage`` which share of the words has a
vector, ``in_vocabulary`` which share static vectors list whole, every part of a phrase (NaN for subword models)."""

FAMILY = ("dataset", "variant", "model", "protocol", "method", "clean")
"""Rows that agree in these make one family for q and Holm: one figure, all its languages and tests."""

HALF = 0.5
"""A row is flagged when less than this share of its words is in the vocabulary, or more of them are spelt out."""
FAMILIES = {"original": ORIGINAL_TESTS, "dimension": DIMENSION_TESTS, "india": INDIA_TESTS}
SMALL = 8
"""A set with fewer words is flagged; the smallest sets of Caliskan et al. (2017) have eight."""


@ranges.checked(model=ranges.MODELS)
def run_weat(
    languages: Iterable[str] | str = "all",
    tests: Iterable[str] | str = "original",
    model: Sequence[str] | str = "multilingual-e5-small",
    methods: Sequence[str] | str = ("M5",),
    variant: Sequence[str] | str = "all",
    dataset: str = "auto",
    protocol: str = "in-context",
    clean: bool = False,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    alpha: float = 0.05,
    interval: str = "bca",
    progress: bool = True,
) -> pd.DataFrame:
    """Every test in every language, by every method of every model.

    Parameters
    ----------
    languages : list of codes, or "all"
        "all": every language that the data set has these tests for.
    tests : list of names, or "original", "dimension", "india"
    model : name or list of names
        See ``localbias models``; any Hugging Face id, folder or GGUF file.
    methods : list of codes, or "all"
        Of several models, each gives those of the methods that it has. Of a list, one whose words cannot be read
        under ``protocol`` has rows of NaN with the reason in ``flags``.
    variant : name or list of names
        "all", "gt", "human", …; see :func:`localbias.words.lexicon.load_words`.
    dataset, protocol : str
        Word lists, and how words go through the model (``in-context`` or ``weathub-2023``).
    clean : bool
        Remove repeated words within a set and words in both sets of a pair; words that the model cannot tell apart
        are repeats, too.
    level, n_resamples, seed, interval
        Of the bootstrap interval, see ``measures.intervals.effect_size_interval``; ``n_resamples=0`` leaves it out.
    alpha : float
        Level of ``significant_q`` and of the papers' rule.
    progress : bool
        Show a bar.

    Returns
    -------
    pandas.DataFrame
        Columns ``COLUMNS``, one row a language × variant × test × model × method, in the order asked.
        ``p_value`` is one-sided (S′ᵢ ≥ S′) with certified bounds ``p_low``, ``p_high``; ``p_strict`` is the
        papers' (>); ``q_value`` and ``p_holm`` come from ``p_two_sided`` over the row's family (``FAMILY``).

    Raises
    ------
    UnknownName
        For a language, test, variant, method, protocol or model that does not exist.
    BadValues
        For a value outside its range (:mod:`localbias.registry.ranges`), and for vectors that are infinite or
        all zero; the message names word, set, test and language.
    """
    dataset, models = resolve_dataset(dataset), _listed(model)
    tests = tests_of(tests, dataset)
    variants = _listed(variant)
    languages = languages_of(languages, tests, variants, dataset)
    rows = []
    for name in models:
        encoder = Encoder(name, protocol=protocol, progress=progress)
        wanted = methods_of(methods, encoder.methods, name, alone=len(models) == 1)
        about = {k: getattr(encoder, k) for k in ("model", "revision", "weights", "protocol", "read_as")}
        for language in tqdm(languages, desc=name, unit="language", disable=not progress):
            asked = [load_words(test, language, v, dataset) for v in variants for test in tests]
            seen, unfit = _seen(encoder, asked, language, alone=isinstance(model, str))
            asked = _once([cleaned(sets, seen) if clean else sets for sets in asked])
            words = sorted({word for sets in asked for word in sets.words})
            known = {} if unfit else _encoded(encoder, words, wanted, language) if words else {}
            for sets in asked:
                for code in wanted:
                    vectors = known.get(code) or dict.fromkeys(words, np.array([np.nan]))
                    row = _row(sets, vectors, seen, (code, name), (level, n_resamples, seed, interval))
                    row["flags"] = unfit + encoder.doubts(language) + row["flags"]
                    rows.append({"dataset": dataset_label(dataset), "clean": clean, **about, **row})
    return judged(pd.DataFrame(rows), alpha)


# ------------------------------------------------------------------------------------ what is asked


@ranges.checked
def tests_of(tests: Iterable[str] | str, dataset: str = "auto") -> tuple[str, ...]:
    """Test names of a list, of one name or of a family's name.

    Of a person's own list a family is those of its tests that the list has; where it has none, all that it has.

    >>> tests_of("original"), tests_of(["weat12b"])
    (('weat1', 'weat2', 'weat6', 'weat7', 'weat8', 'weat9'), ('weat12b',))
    """
    if not isinstance(tests, str):
        return tuple(tests)
    if tests not in FAMILIES:
        return (tests,)
    if dataset in ("auto", PUBLISHED, STARTER):
        return FAMILIES[tests]
    have = tests_in(dataset)
    return tuple(test for test in FAMILIES[tests] if test in have) or tuple(have)


@ranges.checked
def languages_of(
    languages: Iterable[str] | str,
    tests: Iterable[str],
    variants: Sequence[str] = ("all",),
    dataset: str = "auto",
    leave_out: Sequence[str] = (),
) -> tuple[str, ...]:
    """Language codes of a list, of one code, or "all": those that the data set has all these tests for.

    ``leave_out`` holds codes that "all" shall not mean unless there is no other. Raises :class:`UnknownName` for a
    test that no language has, as :func:`localbias.words.lexicon.load_words` does for a listed language without words.
    """
    if not isinstance(languages, str):
        return tuple(languages)
    if languages != "all":
        return (languages,)
    dataset = resolve_dataset(dataset)
    has = [c for c in languages_in(dataset) if all(has_words(t, c, v, dataset) for t in tests for v in variants)]
    if not has:
        for test in tests:
            if test not in (known := [*tests_in(dataset), *TESTS]):
                raise unknown("test", test, known)
        raise BadValues(
            "no language has all of these tests",
            where=f"data set {dataset}",
            got=f"tests {', '.join(tests)}; variants {', '.join(variants)}",
            todo="ask for fewer tests, or list the languages",
        )
    return tuple(code for code in has if code not in leave_out) or tuple(has)


def methods_of(methods: Sequence[str] | str, has: Sequence[str], model: str, alone: bool = True) -> tuple[str, ...]:
    """Which methods to take of a model that ``has`` some.

    Raises
    ------
    UnknownName
        For a code outside M1 … M10; for one that the model lacks when the model stands ``alone``; for
        a model that has none of several.
    """
    if methods == "all":
        return tuple(has)
    methods = _listed(methods)
    for code in methods:
        method(code)
    given = tuple(code for code in methods if code in has)
    if not given or (alone and len(given) < len(methods)):
        lacking = next(code for code in methods if code not in has)
        raise unknown(f"method for model {model}", lacking, has, f"{model} gives {', '.join(has)}")
    return given


def _listed(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _once(asked: list[WordSets]) -> list[WordSets]:
    """Each test × variant once: a language with one list gives it for every variant."""
    return list({(sets.variant, sets.test): sets for sets in asked}.values())


# ---------------------------------------------------------------------------------------- one row


def _seen(encoder, asked: list[WordSets], language: str, alone: bool) -> tuple[dict[str, Seen], list[str]]:
    """What a model sees of all words; of one among several that cannot do the protocol, their spelling and the reason.

    Raises ProtocolUnfit for a model that stands ``alone``.
    """
    words = sorted({word for sets in asked for word in sets.words})
    try:
        return encoder.look(words, language), []
    except ProtocolUnfit as problem:
        if alone:
            raise
        return {word: Seen({"": word}) for word in words}, [f"not computed: {problem.problem}"]


def _encoded(encoder, words: list[str], methods: Sequence[str], language: str) -> dict[str, dict]:
    found = encoder.encode(words, methods=methods, language=language)
    return {code: dict(zip(words, found[code], strict=True)) for code in methods}


def _row(sets: WordSets, vectors: Mapping[str, np.ndarray], seen: Mapping[str, Seen], about, resampling) -> dict:
    code, model = about
    where = ", ".join((sets.test, sets.language, f"variant {sets.variant}", code, model))
    known = {r: [w for w in words if not np.isnan(vectors[w]).any()] for r, words in sets.sets.items()}
    sizes = {f"n_{role.lower()}": len(words) for role, words in known.items()}
    total = sum(map(len, sets.sets.values()))
    coverage = sum(sizes.values()) / total if total else 0.0
    row = {
        "language": sets.language,
        "variant": sets.variant,
        "test": sets.test,
        "method": code,
        **sizes,
        "coverage": coverage,
        "in_vocabulary": in_vocabulary(sets, seen),
        "p_min": float("nan"),
        "p_method": "",
    }
    flags = word_flags(sets, known) + _missing_flags(sets, known) + seen_flags(sets, seen, code)
    if min(sizes.values()) < 2:
        few = ", ".join(f"{role} has {len(words)}" for role, words in known.items() if len(words) < 2)
        return row | {"flags": [*flags, f"not computed: fewer than 2 words with a vector ({few})"]}
    arrays = [np.stack([vectors[word] for word in words]) for words in known.values()]
    result = weat_test(*arrays, words=known, where=where)
    low = high = float("nan")
    if resampling[1]:
        low, high = effect_size_interval(*arrays, *resampling)
    return row | _numbers(result) | {"ci_low": low, "ci_high": high, "flags": flags + _result_flags(result)}


def _numbers(result: WeatResult) -> dict:
    low, high = result.p_value_bounds
    return {
        "statistic": result.statistic,
        "effect_size": result.effect_size,
        "p_value": result.p_value,
        "p_low": low,
        "p_high": high,
        "p_strict": result.p_value_strict,
        "p_two_sided": result.p_value_two_sided,
        "p_min": result.p_min,
        "p_method": result.method,
    }


def word_flags(sets: WordSets, known: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """What is odd about the words of a test: repeated or on two sides, unseen characters, small sets; no words.

    ``known`` holds, by role, the words that have a vector, all by default: a set is as small as these are few.

    >>> word_flags(WordSets(["rose", "rose", "ant"], ["ant", "bee"], ["joy"], ["joy"]))[:3]
    ['1 repeated in X', '1 in both X and Y', 'A and B are the same words']
    """
    seen = {role: Counter(folded(word) for word in words) for role, words in sets.sets.items()}
    flags = [f"{n} repeated in {role}" for role, c in seen.items() if (n := c.total() - len(c))]
    for one, other in (("X", "Y"), ("A", "B")):
        both = seen[one].keys() & seen[other].keys()
        if both and seen[one] == seen[other]:
            flags.append(f"{one} and {other} are the same words")
        elif both:
            flags.append(f"{len(both)} in both {one} and {other}")
    if both := (seen["X"].keys() | seen["Y"].keys()) & (seen["A"].keys() | seen["B"].keys()):
        flags.append(f"{len(both)} both target and attribute")
    if hidden := sum(bool(unseen(word, sets.language)) for word in sets.words):
        flags.append(f"{hidden} with an invisible character")
    small = [f"{role} {len(words)}" for role, words in (known or sets.sets).items() if len(words) < SMALL]
    return [*flags, f"small sets ({', '.join(small)})"] if small else flags


def _missing_flags(sets: WordSets, known: Mapping[str, list[str]]) -> list[str]:
    lost = {role: len(words) - len(known[role]) for role, words in sets.sets.items()}
    missing = ", ".join(f"{role} {n}" for role, n in lost.items() if n)
    return [f"words without a vector ({missing})"] if missing else []


def in_vocabulary(sets: WordSets, seen: Mapping[str, Seen]) -> float:
    """Share of a test's words that the vocabulary of static vectors lists; NaN for a model of subwords."""
    listed = [seen[word].listed for words in sets.sets.values() for word in words]
    return float(np.mean(listed)) if listed and None not in listed else float("nan")


def cleaned(sets: WordSets, *seen: Mapping[str, Seen]) -> WordSets:
    """:func:`localbias.words.lexicon.clean_sets`, where words that a model cannot tell apart are repeats, too."""
    sets = clean_sets(sets)
    for look in seen:
        sets = clean_sets(sets, lambda word, look=look: look[word].key())
    return sets


def seen_flags(sets: WordSets, seen: Mapping[str, Seen], code: str = "") -> list[str]:
    """What is odd about how a model reads the words of a test, by a method: counts, no words.

    Words are not told apart when the method reads the same tokens of them, though they are spelled differently.
    """
    keys = {role: {folded(word): seen[word].key(code) for word in words} for role, words in sets.sets.items()}
    flags = []
    for role, of_word in keys.items():
        counts = Counter(key for key in of_word.values() if key is not None)
        flags += [f"{n} in {role} not told apart" for n in [sum(c for c in counts.values() if c > 1)] if n]
    for one, other in (("X", "Y"), ("A", "B"), ("XY", "AB")):
        first, second = ({word: key for role in roles for word, key in keys[role].items()} for roles in (one, other))
        alike = {key for word, key in first.items() if word not in second} & set(second.values()) - {None}
        alike |= {key for word, key in second.items() if word not in first} & set(first.values()) - {None}
        names = (one, other) if len(one) == 1 else ("targets", "attributes")
        flags += [f"{len(alike)} not told apart between {names[0]} and {names[1]}"] * bool(alike)
    unknown_only = [f"{role} {n}" for role, of_word in keys.items() if (n := list(of_word.values()).count(None))]
    flags += [f"only unknown pieces ({', '.join(unknown_only)})"] * bool(unknown_only)
    share, words = in_vocabulary(sets, seen), sets.words
    spelt = sum(seen[word].spelt for word in words) / max(len(words), 1)
    flags += [f"only {share:.0%} of the words in the vocabulary"] * bool(share < HALF)
    return flags + [f"{spelt:.0%} of the words cut into single characters or bytes"] * bool(spelt > HALF)


def _result_flags(result: WeatResult) -> list[str]:
    flags = []
    if result.method == "constant":
        flags.append("no spread: all words associate alike, d is undefined")
    if not result.permutation.converged:
        flags.append("bounds of p wider than 1 %")
    return flags


# --------------------------------------------------------------------------------------- a family


@ranges.checked
def judged(results: pd.DataFrame, alpha: float = 0.05, family: Sequence[str] = FAMILY) -> pd.DataFrame:
    """The table with q, Holm's p, both significances and the flags that depend on the family.

    Rows that agree in the columns of ``family`` make one; other columns of the table stay behind ``COLUMNS``.

    A row whose set sizes cannot give a two-sided p of ``alpha`` is flagged "cannot be significant"; one
    whose smallest p, times the tests of its family, is above ``alpha``: "cannot pass Holm".
    """
    results = results.reindex(columns=list(dict.fromkeys([*results.columns, *COLUMNS])))
    groups = results.groupby(list(family), sort=False, dropna=False)["p_two_sided"]
    results["q_value"] = groups.transform(lambda p: adjust(p.to_numpy()))
    results["p_holm"] = groups.transform(lambda p: adjust(p.to_numpy(), "holm"))
    results["family_size"] = groups.transform("count").astype(int)
    results["significant_paper"] = paper_rule(results["p_strict"], results["effect_size"], alpha)
    results["significant_q"] = results["q_value"].to_numpy() < alpha
    results["flags"] = [
        "; ".join([*_without_size_flags(flags), *_size_flags(p_min, size, alpha)])
        for flags, p_min, size in zip(results["flags"], results["p_min"], results["family_size"], strict=True)
    ]
    return results[[*COLUMNS, *(c for c in results.columns if c not in COLUMNS)]]


def _without_size_flags(flags: Sequence[str] | str) -> list[str]:
    parts = flags.split("; ") if isinstance(flags, str) else flags
    return [flag for flag in parts if flag and not flag.startswith("cannot ")]


def _size_flags(p_min: float, family_size: int, alpha: float) -> list[str]:
    if p_min > alpha:
        return [f"cannot be significant (smallest p {p_min:.2g})"]
    if p_min * family_size > alpha:
        return [f"cannot pass Holm (smallest p {p_min:.2g} × {family_size})"]
    return []


def smallest_p_table(results: pd.DataFrame) -> pd.DataFrame:
    """For each pair of target set sizes in a result table: how many rows have it, and the smallest p it can give."""
    sizes = results.groupby(["n_x", "n_y"], as_index=False).size().rename(columns={"size": "rows"})
    computable = sizes[["n_x", "n_y"]].min(axis=1) >= 2
    sizes["p_min"] = [
        smallest_p(x, y) if ok else np.nan for x, y, ok in zip(sizes["n_x"], sizes["n_y"], computable, strict=True)
    ]
    return sizes.sort_values("p_min", ascending=False, kind="stable").reset_index(drop=True)
