"""Verdicts that count: how many cells, languages or prompts are as claimed.

Each function takes a tidy table of cells (see :func:`localbias.ledger.tables.prepare`) and the
:class:`~localbias.ledger.settings.Settings`, and returns a :class:`~localbias.ledger.finding.Finding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binom, hypergeom

from localbias.errors import unknown
from localbias.ledger.finding import HOLDS, NOT, PART, UNKNOWN, Finding, chance_of, meets, resampled
from localbias.ledger.settings import Settings


def cannot_tell(
    table: pd.DataFrame | None, settings: Settings, *, reason: str, chance: str = "", of: str = ""
) -> Finding:
    """No verdict, and why; the cells that are ``of`` are shown all the same."""
    evidence = pd.DataFrame() if table is None else table
    if of and len(evidence):
        met = meets(evidence, of)
        chance = f"{chance_of(of, settings) * len(met):.1f} of {len(met)} cells"
        reason, evidence = f"{met.sum()} of {len(met)} cells are {of} here; {reason}", evidence[met]
    return Finding(UNKNOWN, reason, chance=chance, evidence=evidence, n=len(evidence))


def share(table: pd.DataFrame, settings: Settings, *, of: str, wording: str = "most") -> Finding:
    """A claim about all or most cells: which share of them is ``of``?

    ``wording`` "most" holds when the interval lies above :attr:`Settings.most`, "few" when it lies below;
    both hold in part when the share does. "every" holds from :attr:`Settings.every`, and in part where
    "most" would hold.
    """
    met = meets(table, of)
    by = met.groupby(table.language).agg(["sum", "size"])
    value, n = float(met.mean()), len(met)
    low, high = resampled(by["sum"], by["size"], settings)
    verdict = _of_share(value, low, high, wording, settings)
    chance = chance_of(of, settings)
    return Finding(
        verdict,
        f"{met.sum()} of {n} cells {of} in {len(by)} languages",
        value,
        low,
        high,
        chance=f"{chance * n:.1f} of {n} cells",
        n=len(by),
        evidence=table.assign(met=met),
    )


def _of_share(value, low, high, wording, settings):
    if wording == "few":
        value, low = 1 - value, 1 - high
    elif wording not in ("most", "every"):
        raise unknown("wording", wording, ("every", "most", "few"))
    sure = low > settings.most if np.isfinite(low) else value >= settings.every
    if wording == "every":
        return HOLDS if value >= settings.every else PART if sure else NOT
    return HOLDS if sure else PART if value > settings.most else NOT


def each(
    table: pd.DataFrame, settings: Settings, *, of: str, at_least: int | None = None, unit: str | list = "language"
) -> Finding:
    """A claim about named languages: each must have most (or ``at_least`` so many) of its cells ``of``."""
    met = meets(table, of)
    by = met.groupby([table[u] for u in ([unit] if isinstance(unit, str) else unit)]).agg(["sum", "size"])
    passed = by["sum"] >= at_least if at_least else by["sum"] / by["size"] > settings.most
    rate, need = chance_of(of, settings), by["size"] // 2 + 1 if at_least is None else at_least
    luck = float(np.prod(binom.sf(np.asarray(need) - 1, by["size"], rate)))
    counts = ", ".join(f"{_name(k)} {s} of {n}" for k, s, n in zip(by.index, by["sum"], by["size"], strict=True))
    verdict = HOLDS if passed.all() else PART if passed.any() else NOT
    return Finding(
        verdict,
        f"{of}: {counts}",
        float(passed.mean()),
        n=len(by),
        chance=f"{'each' if len(by) > 1 else 'it'} has so many by luck with probability {luck:.2g} (as if cells were "
        "independent)",
        evidence=table.assign(met=met),
    )


def _name(key) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def listed(
    table: pd.DataFrame, settings: Settings, *, expected: Sequence[str], of: str = "significant", unit: str = "language"
) -> Finding:
    """Is this the list of languages with a cell that is ``of``?

    Holds when both lists are equal, in part when at least half of the named ones are found.
    """
    found = set(table.loc[meets(table, of), unit])
    named, known = set(expected), set(table[unit])
    hits = named & found
    value = len(hits) / len(named)
    verdict = HOLDS if found == named else PART if value >= 0.5 else NOT
    by_luck = chance_of(of, settings)
    figure = (
        f"{len(hits)} of the {len(named)} named are {of}; {len(found - named)} others are too "
        f"(found: {', '.join(sorted(found)) or 'none'})"
    )
    return Finding(
        verdict,
        figure,
        value,
        chance=f"{by_luck * len(named):.1f} of {len(named)}",
        p=float(hypergeom.sf(len(hits) - 1, len(known), len(named & known), len(found))) if found else 1.0,
        n=len(known),
        evidence=table.assign(named=table[unit].isin(named)),
    )


def counted(table: pd.DataFrame, settings: Settings, *, up: int | None = None, down: int | None = None) -> Finding:
    """So many languages significantly ``up``, so many ``down``: is that the count?

    Holds when both numbers are met exactly, in part when each is off by at most half of it (and at
    least one language is found wherever some are claimed).
    """
    ways = {"up": "significant positive", "down": "significant negative"}
    found = {way: int(meets(table, of).sum()) for way, of in ways.items()}
    said = {k: v for k, v in (("up", up), ("down", down)) if v is not None}
    off = {k: abs(found[k] - v) for k, v in said.items()}
    near = all(off[k] <= v / 2 for k, v in said.items())
    verdict = HOLDS if not any(off.values()) else PART if near else NOT
    figure = ", ".join(f"{found[k]} {k} (claimed {v})" for k, v in said.items())
    return Finding(
        verdict,
        figure,
        float(found["up"] - found["down"]),
        n=len(table),
        chance=f"{chance_of('significant positive', settings) * len(table):.1f} each way of {len(table)}",
        evidence=table,
    )


def above_chance(table: pd.DataFrame, settings: Settings, *, of: str = "significant") -> Finding:
    """Are more cells ``of`` than chance gives? The share's interval over languages against the chance rate.

    Holds when the interval lies above chance, in part when the share does.
    """
    met = meets(table, of)
    by = met.groupby(table.language).agg(["sum", "size"])
    value, rate, n = float(met.mean()), chance_of(of, settings), len(met)
    low, high = resampled(by["sum"], by["size"], settings)
    verdict = HOLDS if low > rate else PART if value > rate else NOT
    return Finding(
        verdict,
        f"{met.sum()} of {n} cells {of} in {len(by)} languages",
        value,
        low,
        high,
        chance=f"{rate * n:.1f} of {n} cells",
        n=len(by),
        evidence=table.assign(met=met),
    )


def seed_range(table: pd.DataFrame, settings: Settings) -> Finding:
    """Do scores differ between seeds? The range over seeds of each group's score, in each condition.

    Parameters
    ----------
    table : DataFrame
        A row a group, condition and model: ``low`` and ``high`` (smallest and largest score over seeds),
        ``seeds`` and ``n_undefined`` (those without a score), and what names the group.

    Returns
    -------
    Finding
        Holds when most groups have a range above 0, in part when some have. ``value`` is the median
        range; ``low`` … ``high`` hold the middle of the ranges (:attr:`Settings.level`).
    """
    spread = table[(table.seeds - table.n_undefined > 1) & table.low.notna() & table.high.notna()]
    if spread.empty:
        return cannot_tell(table, settings, reason="no score was drawn with more than one seed")
    width = spread.high - spread.low
    moved = width > 0
    tail = 50 * (1 - settings.level)
    low, high = np.percentile(width, [tail, 100 - tail])
    verdict = HOLDS if moved.mean() > settings.most else PART if moved.any() else NOT
    return Finding(
        verdict,
        f"{moved.sum()} of {len(width)} scores differ between seeds; median range {width.median():.2f}",
        float(width.median()),
        float(low),
        float(high),
        n=len(width),
        chance="any model that does not answer with certainty",
        evidence=spread.assign(range=width),
    )


def numbers(table: pd.DataFrame, settings: Settings, *, expected: dict[str, tuple[float, float]]) -> Finding:
    """Are these numbers of the paper (name → lowest, highest reading) those of the data (``name``, ``value``)?"""
    have = table.set_index("name")["value"].to_dict()
    rows = [
        {"name": n, "claimed from": lo, "claimed to": hi, "found": have[n], "as claimed": lo <= have[n] <= hi}
        for n, (lo, hi) in expected.items()
        if n in have and pd.notna(have[n])
    ]
    if not rows:
        return cannot_tell(table, settings, reason="none of the numbers can be computed here")
    evidence = pd.DataFrame(rows)
    ok = evidence["as claimed"]
    others = table.rename(columns={"value": "found"})
    evidence = pd.concat([evidence, others[~others.name.isin(expected)]], ignore_index=True)
    verdict = HOLDS if ok.all() and len(rows) == len(expected) else PART if ok.any() else NOT
    figure = "; ".join(f"{r['name']} {r['found']:,.{0 if r['found'] >= 1 else 3}f}" for r in rows)
    return Finding(verdict, figure, float(ok.mean()), n=len(rows), chance="not a matter of chance", evidence=evidence)


def beyond_guessing(
    table: pd.DataFrame | None, settings: Settings, *, reason: str, sizes: Sequence[int] = (8, 200), seeds: int = 50
) -> Finding:
    """No verdict; as chance, what an unbiased guesser's mean score over ``seeds`` reaches once in twenty.

    ``sizes`` are the numbers of prompts of a template; half of them are disambiguated.
    """
    reach = ", ".join(f"±{guesser(n // 2, seeds):.2f} on a template of {n} prompts" for n in sizes)
    chance = f"a guesser who picks one of the three options at random reaches {reach}"
    return cannot_tell(table, settings, reason=reason, chance=chance)


def guesser(n: int, seeds: int = 50, options: int = 3) -> float:
    """How far from 0 the mean s_dis of a guesser lies once in twenty, over seeds.

    The guesser picks one of ``options`` at random, one of them "unknown", on each of ``n`` prompts, for each
    seed. With N answers that are not "unknown", the score 2 B / N − 1 has variance 1 / N; N = 0 is undefined
    and drawn again. The mean over ``seeds`` is taken as normal.

    >>> round(guesser(1, 1), 2), round(guesser(4), 3)
    (1.96, 0.182)
    """
    k = np.arange(1, n + 1)
    weight = binom.pmf(k, n, 1 - 1 / options)
    return float(1.96 * np.sqrt((weight / k).sum() / weight.sum() / seeds))


def shared(
    table: pd.DataFrame | None, settings: Settings, *, reason: str, among: Sequence[int] = (58, 46), listed: int = 5
) -> Finding:
    """No verdict; as chance, how many entries two lists of ``listed`` share when drawn from ``among`` templates."""
    luck = "; ".join(
        f"among {n}: {listed**2 / n:.2f}, two or more once in {1 / hypergeom.sf(1, n, listed, listed):.0f}"
        for n in among
    )
    return cannot_tell(table, settings, reason=reason, chance=f"two lists of {listed} share by luck {luck}")


def matching(table: pd.DataFrame, settings: Settings) -> Finding:
    """Are printed values those of the result files?

    Parameters
    ----------
    table : DataFrame
        As :func:`localbias.studies.published.printed_cells` returns.
    """
    same = table.matches
    verdict = HOLDS if same.all() else PART if same.mean() > settings.most else NOT
    return Finding(
        verdict,
        f"{same.sum()} of {len(table)} printed pairs of d and p are in the result files",
        float(same.mean()),
        n=len(table),
        chance="not a matter of chance",
        evidence=table,
    )
