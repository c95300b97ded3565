"""What a verdict is: its four names, the finding behind it, and the statistics all functions share.

The language is the unit: intervals resample languages, pairs are compared with a sign test over
languages. Where there are fewer than three languages no interval is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from localbias.errors import unknown
from localbias.ledger.settings import Settings

HOLDS, PART, NOT, UNKNOWN = "holds", "holds in part", "not supported", "cannot tell"
VERDICTS = (HOLDS, PART, NOT, UNKNOWN)
"""The four verdicts, from the claim's best to no answer."""

LEAST_LANGUAGES = 3

CONDITIONS = {
    "positive": lambda t: t.d > 0,
    "negative": lambda t: t.d < 0,
    "significant": lambda t: t.significant,
    "significant positive": lambda t: t.significant & (t.d > 0),
    "significant negative": lambda t: t.significant & (t.d < 0),
}
"""What can be asked of a cell."""


@dataclass(frozen=True)
class Finding:
    """What a verdict function found.

    ``value`` is the number the verdict rests on, ``low``…``high`` its interval over languages, ``p``
    the sign or permutation test between languages (two-sided unless the figure says otherwise), ``n``
    the number of units, ``chance`` what chance alone would give, ``evidence`` the rows behind it.
    ``over_languages``: whether p has languages as its unit (else tests of one language).
    """

    verdict: str
    figure: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    chance: str = ""
    n: int = 0
    evidence: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)
    over_languages: bool = True


def meets(table: pd.DataFrame, of: str) -> pd.Series:
    """Whether each cell is "positive", "significant negative" …"""
    if of not in CONDITIONS:
        raise unknown("condition", of, CONDITIONS)
    return CONDITIONS[of](table).astype(bool)


def chance_of(of: str, settings: Settings) -> float:
    """How often a cell meets a condition by chance alone.

    >>> chance_of("positive", Settings()), chance_of("significant negative", Settings(rule="two-sided"))
    (0.5, 0.025)
    """
    if not of.startswith("significant"):
        return 0.5
    return settings.false_rate * (1.0 if of == "significant" else 0.5)


def resampled(numerator: Sequence[float], denominator: Sequence[float], settings: Settings) -> tuple[float, float]:
    """Percentile interval of Σ numerator / Σ denominator when languages are drawn anew.

    Parameters
    ----------
    numerator, denominator : (n_languages,)
        One number a language; a denominator of ones gives the interval of the mean.

    Returns
    -------
    (low, high)
        NaN for fewer than three languages.
    """
    top, bottom = np.asarray(numerator, float), np.asarray(denominator, float)
    if len(top) < LEAST_LANGUAGES:
        return np.nan, np.nan
    drawn = np.random.default_rng(settings.seed).integers(0, len(top), (settings.n_resamples, len(top)))
    tail = 50 * (1 - settings.level)
    low, high = np.percentile(top[drawn].sum(1) / bottom[drawn].sum(1), [tail, 100 - tail])
    return float(low), float(high)


def languages(n: int) -> str:
    """A number of languages in words: "1 language", "2 languages"."""
    return f"{n} language{'' if n == 1 else 's'}"


def sign_test(differences: Sequence[float]) -> float:
    """Two-sided sign test; ties are left out, no untied pair gives 1.

    >>> sign_test([1, 2, 3, 1, 1, 1])
    0.03125
    """
    untied = np.asarray(differences, float)
    untied = untied[untied != 0]
    return float(binomtest(int((untied > 0).sum()), len(untied)).pvalue) if len(untied) else 1.0
