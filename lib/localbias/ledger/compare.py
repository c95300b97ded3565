"""Verdicts that compare: human with machine translation, one model with others, languages with languages.

Each function takes a tidy table of cells (see :func:`localbias.ledger.tables.prepare`) and the
:class:`~localbias.ledger.settings.Settings`, and returns a :class:`~localbias.ledger.finding.Finding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from scipy.stats import binom, spearmanr

from localbias.ledger.counts import cannot_tell
from localbias.ledger.finding import (
    HOLDS,
    LEAST_LANGUAGES,
    NOT,
    PART,
    Finding,
    chance_of,
    languages,
    meets,
    resampled,
    sign_test,
)
from localbias.ledger.settings import Settings


def paired(
    table: pd.DataFrame,
    settings: Settings,
    *,
    by: str,
    left: str,
    right: str | Sequence[str],
    column: str = "abs_d",
    wording: str = "most",
    unit: str | list = "language",
) -> Finding:
    """Is ``column`` larger on the left than on the right side of ``by``, language by language?

    Cells are matched by test, method, source and language (several right sides: their mean); a unit's
    difference is the mean over its cells. "most" holds when the interval of the mean difference lies
    above 0 and the sign test over languages is below alpha, and in part when the mean and most units point
    that way. "every" holds when the share of units with a positive difference reaches
    :attr:`Settings.every`, and in part where "most" would hold (with fewer than three languages: when most
    units point that way). p is the sign test over languages, or over units where there is one language.
    """
    right = [right] if isinstance(right, str) else list(right)
    away = {by, "group"} if by == "kind" else {by}
    keys = [k for k in ("language", "test", "method", "source", "group") if k not in away]
    cells = table.pivot_table(index=keys, columns=by, values=column)
    sides = [c for c in right if c in cells]
    if left not in cells or not sides:
        return cannot_tell(table, settings, reason=f"no cells for {left} beside {' or '.join(right)}")
    cells = pd.DataFrame({"left": cells[left], "right": cells[sides].mean(axis=1)}).dropna()
    if cells.empty:
        return cannot_tell(table, settings, reason=f"no language has both {left} and {' or '.join(right)}")
    cells["difference"] = cells.left - cells.right
    per = cells.groupby(level=unit)["difference"].mean()
    per_language = cells.groupby(level="language")["difference"].mean()
    value, ahead = float(per.mean()), int((per > 0).sum())
    low, high = resampled(per_language, np.ones(len(per_language)), settings)
    if wording != "every" and len(per_language) < LEAST_LANGUAGES:
        return cannot_tell(cells.reset_index(), settings, reason=f"only {languages(len(per_language))} to compare")
    tested, of = (per_language, "language") if len(per_language) > 1 else (per, "test")
    p = sign_test(tested) if len(tested) > 1 else np.nan
    beyond = low > 0 and p < settings.alpha
    if wording == "every":
        partly = beyond if np.isfinite(low) else ahead / len(per) > settings.most
        verdict = HOLDS if ahead / len(per) >= settings.every else PART if partly else NOT
    else:
        verdict = HOLDS if beyond else PART if value > 0 and ahead / len(per) > settings.most else NOT
    units = unit if isinstance(unit, str) else " × ".join(unit)
    cells = cells.rename(columns={"left": left, "right": " / ".join(sides)})
    return Finding(
        verdict,
        f"{ahead} of {len(per)} ({units}); mean difference {value:+.2f}",
        value,
        low,
        high,
        p,
        f"{len(per) / 2:g} of {len(per)}" + (f"; sign test over {len(tested)} {of}s" if len(tested) > 1 else ""),
        len(per),
        cells.reset_index(),
        over_languages=of == "language",
    )


def order(
    table: pd.DataFrame,
    settings: Settings,
    *,
    by: str,
    column: str,
    first: Sequence[str] = (),
    last: Sequence[str] = (),
) -> Finding:
    """A claim about ranks: are these the ``first`` (in this order), these the ``last``, of ``by``?

    The claim is taken apart into pairs, "a before b", judged by the mean over languages. It holds when
    every pair does and each sign test over languages is below alpha; in part when at least half do.
    """
    wide = table.pivot_table(index="language", columns=by, values=column)
    names = [n for n in wide if n not in (*first, *last)]
    chain = [*first, None, *last]
    pairs = [(a, b) for i, a in enumerate(chain) for b in chain[i + 1 :] if a and b]
    pairs += [(a, n) for a in first for n in names] + [(n, b) for b in last for n in names]
    pairs = [(a, b) for a, b in pairs if a in wide and b in wide]
    if not pairs:
        return cannot_tell(table, settings, reason="nothing to rank")
    rows = []
    for a, b in pairs:
        difference = (wide[a] - wide[b]).dropna()
        rows.append(
            {
                "before": a,
                "after": b,
                "mean difference": difference.mean(),
                "languages": len(difference),
                "languages ahead": int((difference > 0).sum()),
                "p": sign_test(difference),
            }
        )
    evidence = pd.DataFrame(rows)
    right = evidence["mean difference"] > 0
    value = float(right.mean())
    sure = (right & (evidence.p < settings.alpha)).all()
    means = wide.mean().sort_values(ascending=False, kind="stable")
    verdict = HOLDS if sure else PART if value >= 0.5 else NOT
    return Finding(
        verdict,
        f"{right.sum()} of {len(pairs)} pairs; order found: {' > '.join(means.index)}",
        value,
        p=float(evidence.p.max()),
        chance=f"{len(pairs) / 2:g} of {len(pairs)} pairs",
        n=len(wide),
        evidence=evidence,
    )


def consistent(table: pd.DataFrame, settings: Settings, *, by: str, column: str) -> Finding:
    """Do languages rank ``by`` alike? Kendall's W of the languages that have every one of them.

    W is 1 when all rank alike and 1/m on average when m languages rank at random. Holds when its
    interval over languages lies above 0.7, in part above 0.5 (both conventional).
    """
    wide = table.pivot_table(index="language", columns=by, values=column).dropna()
    m, n = wide.shape
    if m < LEAST_LANGUAGES or n < 2:
        return cannot_tell(table, settings, reason=f"only {languages(m)} with every {by}")
    ranks = wide.rank(axis=1).to_numpy()

    def agreement(rows):
        sums = rows.sum(axis=-2)
        return 12 * ((sums - sums.mean(-1, keepdims=True)) ** 2).sum(-1) / (m**2 * (n**3 - n))

    drawn = np.random.default_rng(settings.seed).integers(0, m, (settings.n_resamples, m))
    tail = 50 * (1 - settings.level)
    low, high = np.percentile(agreement(ranks[drawn]), [tail, 100 - tail])
    value = float(agreement(ranks))
    top = wide.idxmax(axis=1).value_counts()
    verdict = HOLDS if low > 0.7 else PART if value > 0.5 else NOT
    figure = f"Kendall's W {value:.2f}; {top.index[0]} is first in {top.iloc[0]} of {m} languages"
    return Finding(
        verdict,
        figure,
        value,
        float(low),
        float(high),
        chance=f"W about {1 / m:.2f}",
        n=m,
        evidence=wide.rank(axis=1, ascending=False).reset_index(),
    )


def gap(
    table: pd.DataFrame, settings: Settings, *, members: Sequence[str], column: str = "abs_d", expect: str = "lower"
) -> Finding:
    """Do these languages have lower (higher) values than the others? Exact permutation test over languages.

    p is one-sided, in the claimed direction. Holds below alpha; in part when the difference points the
    claimed way.
    """
    per = table.groupby("language")[column].mean()
    inside = per.index.isin(members)
    if lacking := sorted(set(members) - set(per.index)):
        return cannot_tell(table, settings, reason=f"no cell is left for {', '.join(lacking)}")
    if inside.all():
        return cannot_tell(table, settings, reason="no other languages to compare with")
    sign = -1.0 if expect == "lower" else 1.0
    value = float(per[inside].mean() - per[~inside].mean())
    p = _permuted(per.to_numpy(), inside, sign, settings)
    verdict = HOLDS if sign * value > 0 and p < settings.alpha else PART if sign * value > 0 else NOT
    ranks = per.rank(ascending=expect == "lower").astype(int)
    places = ", ".join(f"{k} {ranks[k]}" for k in sorted(per.index[inside]))
    figure = (
        f"mean {per[inside].mean():.2f} against {per[~inside].mean():.2f} elsewhere; rank among {len(per)}, "
        f"{'lowest' if expect == 'lower' else 'highest'} first: {places}"
    )
    evidence = per.rename("mean").reset_index().assign(named=inside)
    return Finding(verdict, figure, value, p=p, chance="no difference", n=len(per), evidence=evidence)


def _permuted(values, inside, sign, settings):
    k, n = int(inside.sum()), len(values)
    observed = sign * values[inside].sum()
    if comb(n, k) <= 200_000:
        sums = np.array([sign * values[list(c)].sum() for c in combinations(range(n), k)])
    else:
        rng = np.random.default_rng(settings.seed)
        sums = np.array([observed, *(sign * rng.permutation(values)[:k].sum() for _ in range(20_000))])
    return float((sums >= observed - 1e-12).mean())


def extreme(table: pd.DataFrame, settings: Settings, *, language: str) -> Finding:
    """Is this language the highest or lowest of all languages more often than chance gives?"""
    wide = table.pivot_table(index="test", columns="language", values="d")
    if language not in wide:
        return cannot_tell(table, settings, reason=f"no results for {language}")
    top, bottom = wide.idxmax(axis=1) == language, wide.idxmin(axis=1) == language
    hits, n = int((top | bottom).sum()), len(wide)
    rate = 2 / wide.shape[1]
    p = float(binom.sf(hits - 1, n, rate))
    verdict = HOLDS if p < settings.alpha else PART if hits > rate * n else NOT
    ranks = wide.rank(axis=1, ascending=False)[[language]].rename(columns={language: "rank"})
    return Finding(
        verdict,
        f"highest in {top.sum()}, lowest in {bottom.sum()} of {n} tests",
        hits / n,
        p=p,
        n=n,
        chance=f"{rate * n:.1f} of {n} tests",
        evidence=ranks.reset_index(),
    )


def alike(table: pd.DataFrame, settings: Settings, *, left: str, right: str, by: str = "test") -> Finding:
    """Do two tests (models, …) rank languages alike? Spearman's ρ with an interval over languages.

    Holds when the interval lies above 0, in part when ρ does.
    """
    wide = table.pivot_table(index="language", columns=by, values="d")
    if left not in wide or right not in wide:
        return cannot_tell(table, settings, reason=f"no results for {left} beside {right}")
    both = wide[[left, right]].dropna()
    if len(both) < 5:
        return cannot_tell(table, settings, reason=f"only {languages(len(both))} with {left} and {right}")
    value, p = (float(v) for v in spearmanr(both[left], both[right]))
    drawn = np.random.default_rng(settings.seed).integers(0, len(both), (settings.n_resamples, len(both)))
    ranks = [_ranked(both[side].to_numpy()[drawn]) for side in (left, right)]
    x, y = (r - r.mean(1, keepdims=True) for r in ranks)
    tail = 50 * (1 - settings.level)
    spread = np.sqrt((x**2).sum(1) * (y**2).sum(1))
    low, high = np.percentile((x * y).sum(1)[spread > 0] / spread[spread > 0], [tail, 100 - tail])
    verdict = HOLDS if low > 0 else PART if value > 0 else NOT
    return Finding(
        verdict,
        f"Spearman's ρ {value:+.2f} between {left} and {right} over {len(both)} languages",
        value,
        float(low),
        float(high),
        p,
        "ρ about 0",
        len(both),
        both.reset_index(),
    )


def _ranked(rows: np.ndarray) -> np.ndarray:
    return pd.DataFrame(rows.T).rank().to_numpy().T


def opposite(
    table: pd.DataFrame, settings: Settings, *, left: str, right: Sequence[str], by: str = "group", same: bool = False
) -> Finding:
    """Does one model's d have the opposite sign of the others' (``same``: hardly differ), test by test?

    Right sides with the same results as one before them are one result, and count once.
    Opposite holds when signs differ in every test and both sides are significant, in part when any sign
    does. ``same`` holds when every difference is at most :attr:`Settings.same`, in part when most are.
    """
    cells = table.pivot_table(index=["language", "test"], columns=by, values=["d", "significant"], aggfunc="first")
    sides = [r for r in right if ("d", r) in cells]
    copies = [b for i, b in enumerate(sides) if any(cells["d", a].equals(cells["d", b]) for a in sides[:i])]
    sides = [r for r in sides if r not in copies]
    if ("d", left) not in cells or not sides:
        return cannot_tell(table, settings, reason=f"no cells for {left} beside {' or '.join(right)}")
    rows = []
    for place, cell in cells.iterrows():
        for side in sides:
            mine, other = cell["d", left], cell["d", side]
            if pd.notna(mine) and pd.notna(other):
                both = bool(cell["significant", left]) and bool(cell["significant", side])
                rows.append(
                    {
                        "language": place[0],
                        "test": place[1],
                        "left": left,
                        "d left": mine,
                        "right": side,
                        "d right": other,
                        "opposite": mine * other < 0,
                        "both significant": both,
                        "difference": abs(mine - other),
                    }
                )
    if not rows:
        return cannot_tell(table, settings, reason=f"no test has both {left} and {' or '.join(sides)}")
    evidence = pd.DataFrame(rows)
    once = f"; {', '.join(copies)}: the same results again, not counted" if copies else ""
    if same:
        met = evidence.difference <= settings.same
        verdict = HOLDS if met.all() else PART if met.mean() > settings.most else NOT
        figure = (
            f"{met.sum()} of {len(met)} comparisons differ by at most {settings.same:g}; "
            f"largest difference {evidence.difference.max():.2f}{once}"
        )
        return Finding(verdict, figure, float(met.mean()), n=len(met), evidence=evidence)
    sure = (evidence.opposite & evidence["both significant"]).all()
    verdict = HOLDS if sure else PART if evidence.opposite.any() else NOT
    values = "; ".join(f"{r['test']} {left} {r['d left']:+.2f}, {r['right']} {r['d right']:+.2f}" for r in rows[:4])
    return Finding(
        verdict,
        f"opposite sign in {evidence.opposite.sum()} of {len(rows)} ({values}){once}",
        float(evidence.opposite.mean()),
        chance=f"{len(rows) / 2:g} of {len(rows)}",
        n=len(rows),
        evidence=evidence,
    )


def agreeing(table: pd.DataFrame, settings: Settings, *, language: str, by: str = "group") -> Finding:
    """Do all models give this language's tests the same sign, more than in other languages?

    Holds when every test agrees, in part when this language agrees more often than the mean language.
    """
    wide = table.pivot_table(index=["language", "test"], columns=by, values="d").dropna()
    if wide.shape[1] < 2:
        return cannot_tell(table, settings, reason="there is one model, which cannot disagree")
    if language not in wide.index.get_level_values("language"):
        return cannot_tell(table, settings, reason=f"no test of {language} has every model")
    signs = np.sign(wide)
    same = (signs.abs().sum(axis=1) == signs.sum(axis=1).abs()).groupby(level="language").agg(["sum", "size"])
    mine, others = same.loc[language], same.drop(index=language)
    rate, elsewhere = mine["sum"] / mine["size"], others["sum"].sum() / max(others["size"].sum(), 1)
    verdict = HOLDS if rate >= settings.every else PART if rate > elsewhere else NOT
    luck = 2 * 0.5 ** wide.shape[1]
    return Finding(
        verdict,
        f"all {wide.shape[1]} models agree in {mine['sum']} of {mine['size']} tests; elsewhere in "
        f"{others['sum'].sum()} of {others['size'].sum()}",
        float(rate),
        n=int(mine["size"]),
        chance=f"{luck * mine['size']:.1f} of {mine['size']}",
        evidence=wide.reset_index(),
    )


def versus(table: pd.DataFrame, settings: Settings, *, language: str, of: str = "significant") -> Finding:
    """Are the tests that are ``of`` in one language rarer in the others?

    ``value`` is the share of the other languages' cells, in those tests, that are ``of``; its interval is
    over languages. In part when the share lies below :attr:`Settings.every`, never more: tests that were
    chosen because they are ``of`` in one language are so less often elsewhere even where nothing differs.
    """
    met = meets(table, of)
    tests = sorted(table.loc[met & (table.language == language), "test"])
    others = table[table.test.isin(tests) & (table.language != language)]
    if others.empty:
        return cannot_tell(table, settings, reason=f"no test of {language} is {of}")
    same = meets(others, of)
    by = same.groupby(others.language).agg(["sum", "size"])
    value = float(same.mean())
    low, high = resampled(by["sum"], by["size"], settings)
    verdict = PART if value < settings.every else NOT
    figure = f"{', '.join(tests)} in {language}; elsewhere {same.sum()} of {len(same)} such cells"
    return Finding(
        verdict,
        figure,
        value,
        low,
        high,
        n=len(by),
        chance=f"{chance_of(of, settings) * len(same):.1f} of {len(same)} cells; fewer than in {language} in any case, "
        f"because the tests were chosen there",
        evidence=table[table.test.isin(tests)],
    )
