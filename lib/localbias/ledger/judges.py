"""The judges: a tidy table and what a claim says of it → a verdict, its figure and what it rests on.

The unit is the language (or whatever ``unit`` names): intervals and tests are over units, so that ten methods of one
language count as one. A claim about named units is worded after its authors saw the results; it therefore counts as
*beyond chance* only where more units pass, named or not, than chance lets pass, whatever the dependence of their cells.
:doc:`benchmarks/ledger_characteristics.py` measures how often each judge errs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.stats import binom, chi2, norm, spearmanr, t

from localbias.errors import BadTable, unknown
from localbias.ledger.settings import Settings

HOLDS, PART, NOT, DEPENDS, UNKNOWN = "holds", "holds in part", "not supported", "depends on the reading", "cannot tell"
VERDICTS = (HOLDS, PART, NOT, DEPENDS, UNKNOWN)
"""The five verdicts."""
BEYOND, COUNT, DESCRIBED = "beyond chance", "count", "as described"
"""What a claim that holds rests on, best first."""

LEAST = 5
"""Fewest units for an interval or a test over them."""

CONDITIONS = {
    "positive": "d > 0",
    "negative": "d < 0",
    "significant": "significant",
    "significant positive": "significant and d > 0",
    "significant negative": "significant and d < 0",
}
"""Conditions with a known rate under chance; any other is an expression over a table's columns."""


@dataclass(frozen=True)
class Finding:
    """What a judge found.

    ``figure`` is the sentence the verdict rests on, ``value`` its number with the interval ``low`` … ``high`` over
    ``n`` units, ``p`` two-sided over units (for named units: that as many pass by chance), ``chance`` what chance
    gives, in words, ``evidence`` the rows behind it (``ok``: as claimed), ``support`` what a verdict "holds" rests on.
    """

    verdict: str
    figure: str
    support: str = ""
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    n: int = 0
    chance: str = ""
    evidence: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)


def meets(table: pd.DataFrame, of: str) -> pd.Series:
    """Whether each row meets a condition: one of :data:`CONDITIONS`, or an expression such as ``abs_d >= 0.8``.

    Raises
    ------
    BadTable
        When the expression names a column that the table lacks, or is none.
    """
    try:
        met = table.eval(CONDITIONS.get(of, of), engine="python")
    except (pd.errors.UndefinedVariableError, SyntaxError, AttributeError) as error:
        where = f"condition {of!r}"
        raise BadTable("a condition cannot be read", expected=", ".join(table), got=str(error), where=where) from None
    return met.astype(bool)


def luck(of: str, settings: Settings) -> float:
    """How often a cell meets a condition by chance alone; NaN where that is not known.

    >>> luck("positive", Settings()), luck("significant negative", Settings(rule="two-sided"))
    (0.5, 0.025)
    """
    if of in ("positive", "negative"):
        return 0.5
    return settings.false_rate * (1.0 if of == "significant" else 0.5) if of in CONDITIONS else np.nan


def over_units(values: Sequence[float], null: float = 0.0, level: float = 0.95) -> tuple[float, float, float, float]:
    """Mean over units, its t interval, and the two-sided p of ``null``; NaN for fewer than :data:`LEAST` units.

    Where all values are equal, p is a sign test's.

    >>> [round(v, 3) for v in over_units([1, 2, 3, 4, 5])]
    [3.0, 1.037, 4.963, 0.013]
    """
    x = np.asarray(values, float)
    mean, n = float(x.mean()) if len(x) else np.nan, len(x)
    if n < LEAST:
        return mean, np.nan, np.nan, np.nan
    error = float(x.std(ddof=1)) / math.sqrt(n)
    if error < 1e-12:
        return mean, mean, mean, 2 * 0.5**n if abs(mean - null) > 1e-12 else 1.0
    half = error * float(t.ppf((1 + level) / 2, n - 1))
    return mean, mean - half, mean + half, float(2 * t.sf(abs(mean - null) / error, n - 1))


def cannot_tell(table: pd.DataFrame | None, settings: Settings, *, reason: str = "") -> Finding:
    """No verdict, and why."""
    evidence = pd.DataFrame() if table is None else table
    return Finding(UNKNOWN, reason, evidence=evidence, n=len(evidence))


def cells(
    table: pd.DataFrame,
    settings: Settings,
    *,
    named: Sequence,
    of: str = "",
    label: str = "",
    need: str | float = "all",
    parts: Sequence[dict] = (),
    unit: str | list[str] = "language",
    only: bool = False,
) -> Finding:
    """Named cells: has each named unit (language, test …) enough cells as claimed?

    Parameters
    ----------
    table : DataFrame
        All units, named or not: the others show how special the named ones are.
    of, label, need
        The condition, its words, and how many of a unit's cells must meet it: "all", "most" (more than half), a
        number, or a share below 1.
    parts : list of dict
        Several such demands instead of one: ``of``, ``label``, ``need`` and ``where`` (which cells).
    only : bool
        Whether the claim also says that no other unit is so.

    Returns
    -------
    Finding
        Holds when every named unit passes (and, with ``only``, no other), in part when at least half of the demands
        are met. Beyond chance when as many of *all* units pass with probability below alpha: a unit passes by
        chance with at most (rate × cells / needed), however dependent its cells are; units of one language (the first
        of several keys) are taken to pass together.
    """
    keys = [unit] if isinstance(unit, str) else list(unit)
    names = [tuple(x) if isinstance(x, (list, tuple)) else (x,) for x in named]
    parts = list(parts) or [{"of": of, "need": need, "label": label}]
    found, rates, shown = [], [], []
    for part in parts:
        chosen = table[meets(table, part["where"])] if part.get("where") else table
        met = meets(chosen, part["of"])
        by = met.groupby([chosen[k] for k in keys]).agg(["sum", "size"])
        by.index = pd.MultiIndex.from_tuples([x if isinstance(x, tuple) else (x,) for x in by.index], names=keys)
        want = by["size"].map(lambda size, part=part: needed(size, part.get("need", "all")))
        if lacking := [x for x in names if x not in by.index or want[x] > by["size"][x]]:
            return cannot_tell(table.head(0), settings, reason=f"too few cells for {', '.join(map(_name, lacking))}")
        found.append(by.assign(ok=by["sum"] >= want))
        rates.append((luck(part["of"], settings) * by["size"] / want.clip(lower=1)).clip(upper=1))
        shown.append(chosen.assign(ok=met, part=part.get("label") or words(part["of"])))
    passed = pd.concat([f.ok for f in found], axis=1).fillna(False).astype(bool)
    whole = passed.all(axis=1)
    rate = pd.concat(rates, axis=1).min(axis=1).max()
    others = int(whole.drop(names).sum())
    clusters = whole.index.get_level_values(0).nunique()
    at_least = math.ceil(whole.sum() * clusters / len(whole) - 1e-9)
    p = float(binom.sf(at_least - 1, clusters, rate)) if np.isfinite(rate) else np.nan
    score = float(passed.loc[names].to_numpy().mean())
    verdict = HOLDS if score == 1 and not (only and others) else PART if score >= 0.5 else NOT
    of_each = [" and ".join(_much(f, c, keys, x) for f, c in zip(found, shown, strict=True)) for x in names]
    marks = [f"{_name(x)} {much} {'✓' if whole[x] else '✗'}" for x, much in zip(names, of_each, strict=True)]
    rest = f"; so are {others} of {len(whole) - len(names)} others" if len(whole) > len(names) else ""
    if only and others:
        more = whole.index[whole & ~whole.index.isin(names)]
        rest += f": {', '.join(f'{_name(x)} {_much(found[0], shown[0], keys, x)}' for x in more)}"
    evidence = pd.concat(shown) if len(parts) > 1 else shown[0].drop(columns="part")
    mine = pd.MultiIndex.from_frame(evidence[keys]).isin(names)
    if only:
        mine |= pd.MultiIndex.from_frame(evidence[keys]).isin(whole.index[whole])
    return Finding(
        verdict,
        f"{' and '.join(_said(part) for part in parts)}: {', '.join(marks)}{rest}",
        _support(verdict, p, settings),
        value=float(whole.loc[names].mean()),
        p=p,
        n=len(names),
        chance=f"at most {rate * len(whole):.1f} of {len(whole)} pass" if rate < 1 else "",
        evidence=evidence[mine],
    )


def _much(by: pd.DataFrame, cells: pd.DataFrame, keys: list[str], name: tuple) -> str:
    """How many of a unit's cells are as claimed; of a single cell its d and p."""
    one = cells[(cells[keys] == list(name)).all(axis=1)]
    if len(one) == 1 and {"d", "p"} <= set(one):
        return f"{one.d.iloc[0]:.2f} ({one.p.iloc[0]:.3f})"
    return f"{by['sum'][name]} of {by['size'][name]}"


def needed(size: int, need: str | float) -> int:
    """How many of ``size`` cells are needed.

    >>> [needed(9, n) for n in ("all", "most", 3, 0.9)]
    [9, 5, 3, 9]
    """
    if need in ("all", "most"):
        return size if need == "all" else size // 2 + 1
    return math.ceil(need * size - 1e-9) if need < 1 else int(need)


def _said(part: dict) -> str:
    need = part.get("need", "all")
    much = "" if need == "all" else f" in at least {need:.0%}" if isinstance(need, float) else f" in at least {need}"
    return (part.get("label") or words(part["of"])) + (" in most" if need == "most" else much)


def words(of: str) -> str:
    """A condition for readers.

    >>> words("abs_d >= 0.8 and left_significant")
    '|d| ≥ 0.8 and left significant'
    """
    for sign, word in (("abs_d ", "|d| "), (">=", "≥"), ("<=", "≤"), ("==", "is"), ("_", " "), ("'", "")):
        of = of.replace(sign, word)
    return of


def _name(key: object) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _support(verdict: str, p: float, settings: Settings) -> str:
    return "" if verdict != HOLDS else BEYOND if p < settings.alpha else DESCRIBED


def share(
    table: pd.DataFrame,
    settings: Settings,
    *,
    of: str,
    label: str = "",
    bound: float | str = 0.5,
    side: str = "above",
    wording: str = "most",
    unit: str | list[str] = "language",
) -> Finding:
    """A share against a bound: which share of the cells is as claimed, mean over units?

    ``bound`` is a number or "chance" (what chance gives), ``side`` where the claim says that the share lies. "most"
    holds when the share lies there and p over units is below alpha, in part when it lies there. "every" holds from
    :attr:`Settings.every`, and in part where "most" would hold. "majority" (of units that the paper counts) holds when
    the share lies there, whatever p. "some" and "not all" need one cell that is so, or is
    not. With fewer than :data:`LEAST` units "most" needs what "every" does.
    """
    known = ("most", "majority", "every", "some", "not all")
    if wording not in known:
        raise unknown("wording", wording, known)
    met = meets(table, of)
    limit = luck(of, settings) if bound == "chance" else float(bound)
    by = met.groupby([table[u] for u in ([unit] if isinstance(unit, str) else unit)]).mean()
    value, low, high, p = over_units(by, limit)
    sign = 1.0 if side == "above" else -1.0
    there = sign * (value - limit) > 1e-12
    sure = there and p < settings.alpha
    nearly = value >= settings.every if side == "above" else value <= 1 - settings.every
    if wording in ("some", "not all"):
        verdict = HOLDS if (met.any() if wording == "some" else not met.all()) else NOT
        p = np.nan
    elif wording == "majority":
        verdict = HOLDS if there else NOT
    elif wording == "every" or len(by) < LEAST:
        verdict = HOLDS if nearly else PART if sure or (len(by) < LEAST and there) else NOT
    else:
        verdict = HOLDS if sure else PART if there else NOT
    expected = luck(of, settings)
    return Finding(
        verdict,
        f"{label or words(of)}: {met.sum()} of {len(met)} in {len(by)} {_units(unit, len(by))}; mean share {value:.0%}",
        _support(verdict, p if sure else np.nan, settings),
        value,
        low,
        high,
        p,
        len(by),
        f"{expected:.0%} of cells" if np.isfinite(expected) else "",
        table.assign(ok=met),
    )


def _units(unit: str | list[str], n: int) -> str:
    name = unit if isinstance(unit, str) else " × ".join(unit)
    return name if n == 1 else f"{name}s"


def paired(
    table: pd.DataFrame, settings: Settings, *, column: str = "abs_difference", unit: str | list[str] = "language"
) -> Finding:
    """A paired comparison: is the left side larger, in the mean over units and in most of them?

    ``table`` is one of :func:`localbias.ledger.tables.sides`; ``column`` its "difference" (of d, sign kept) or
    "abs_difference" (of |d|). Holds when both point that way and p over units is below alpha, in part when both do.
    """
    per = table.groupby(unit)[column].mean()
    value, low, high, p = over_units(per)
    ahead, untied = int((per > 0).sum()), int((per != 0).sum())
    points = value > 0 and ahead > untied / 2
    verdict = HOLDS if points and p < settings.alpha else PART if points else NOT
    if len(per) < LEAST:
        verdict = HOLDS if points and ahead == untied else verdict
    return Finding(
        verdict,
        f"larger in {ahead} of {len(per)} {_units(unit, len(per))}; mean difference {value:+.2f}",
        _support(verdict, p, settings),
        value,
        low,
        high,
        p,
        len(per),
        f"{untied / 2:g} of {untied}",
        table.assign(ok=table[column] > 0),
    )


def order(
    table: pd.DataFrame,
    settings: Settings,
    *,
    by: str,
    column: str,
    first: Sequence[str] = (),
    last: Sequence[str] = (),
    ranked: bool = True,
    unit: str | list[str] = "language",
) -> Finding:
    """An order: are these the ``first`` (``ranked``: in this order), these the ``last``, by the mean over units?

    ``column`` is a column or an expression over columns; what is yes or no counts as 1 or 0.
    The claim is taken apart into pairs, "a before b". It holds when every pair is so in the mean, in part when at least
    half are; beyond chance when p over units is below alpha for each pair.
    """
    values = table.assign(_value=table.eval(column, engine="python").astype(float))
    wide = values.pivot_table(index=unit, columns=by, values="_value")
    if lacking := [n for n in (*first, *last) if n not in wide]:
        return cannot_tell(table, settings, reason=f"no value of {', '.join(lacking)}")
    rest = [n for n in wide if n not in (*first, *last)]
    pairs = [(a, b) for a in first for b in (*rest, *last)] + [(a, b) for a in rest for b in last]
    if ranked:
        pairs += [(a, b) for part in (first, last) for i, a in enumerate(part) for b in part[i + 1 :]]
    if not pairs:
        return cannot_tell(table, settings, reason="nothing to rank")
    rows = []
    for a, b in pairs:
        mean, low, high, p = over_units((wide[a] - wide[b]).dropna())
        rows.append({"before": a, "after": b, "mean difference": mean, "low": low, "high": high, "p": p})
    evidence = pd.DataFrame(rows)
    evidence["ok"] = evidence["mean difference"] > 0
    value = float(evidence.ok.mean())
    verdict = HOLDS if value == 1 else PART if value >= 0.5 else NOT
    p = float(evidence.p.max()) if evidence.p.notna().all() else np.nan
    means = wide.mean().sort_values(ascending=False, kind="stable")
    return Finding(
        verdict,
        f"{evidence.ok.sum()} of {len(pairs)} pairs in order; found: {' > '.join(map(str, means.index))}",
        _support(verdict, p, settings),
        value,
        p=p,
        n=len(wide),
        chance=f"{len(pairs) / 2:g} of {len(pairs)} pairs",
        evidence=evidence,
    )


def correlation(
    table: pd.DataFrame,
    settings: Settings,
    *,
    left: str = "left",
    right: str = "right",
    unit: str = "language",
    within: str = "",
) -> Finding:
    """A correlation: do two columns rank the units alike (Spearman's ρ)?

    With ``within`` ρ is taken over the rows of each of its values, and their mean is judged. Holds when ρ is above 0
    and p below alpha, in part when ρ is above 0.
    """
    if within:
        parts = [(k, p) for k, p in table.groupby(within) if len(p) >= LEAST and p[[left, right]].nunique().min() > 1]
        rhos = {k: spearmanr(part[left], part[right])[0] for k, part in parts}
        evidence = pd.Series(rhos, name="rho", dtype=float).dropna().rename_axis(within).reset_index()
        value, low, high, p = over_units(evidence.rho)
        n, figure = len(evidence), f"mean Spearman's ρ {value:+.2f} within {len(evidence)} {_units(within, 2)}"
        evidence["ok"] = evidence.rho > 0
    else:
        evidence = table.groupby(unit, as_index=False)[[left, right]].mean().dropna()
        n, low, high = len(evidence), np.nan, np.nan
        told = n >= LEAST and evidence[[left, right]].nunique().min() > 1
        value, p = (float(v) for v in spearmanr(evidence[left], evidence[right])) if told else (np.nan, np.nan)
        figure = f"Spearman's ρ {value:+.2f} over {n} {_units(unit, n)}"
        if n > 3 and abs(value) < 1:
            low, high = np.tanh(np.arctanh(value) + np.array([-1, 1]) * norm.ppf(0.975) * math.sqrt(1.06 / (n - 3)))
    if n < LEAST or np.isnan(value):
        return cannot_tell(evidence, settings, reason=f"only {n} {_units(within or unit, n)} to compare")
    verdict = HOLDS if value > 0 and p < settings.alpha else PART if value > 0 else NOT
    support = _support(verdict, p, settings)
    return Finding(verdict, figure, support, value, float(low), float(high), p, n, "ρ about 0", evidence)


def varied(table: pd.DataFrame, settings: Settings, *, unit: str = "language", within: str = "test") -> Finding:
    """Do units differ by more than chance? Cochran's Q of the p-values' normal scores, in each test (``within``).

    Under one common effect each score varies with variance 1 about it; p is printed to three decimals, so that scores
    end at ±3.3 and Q errs on the safe side. Holds when the smallest p, times the number of tests and doubled (the other
    judges' p are two-sided), is below alpha.
    """
    rows = []
    for name, part in table.groupby(within, sort=False):
        z = norm.isf(part.groupby(unit)["p"].mean().clip(0.0005, 0.9995))
        if len(z) >= LEAST:
            q = float(((z - z.mean()) ** 2).sum())
            rows.append((name, len(z), part.d.min(), part.d.max(), q, float(chi2.sf(q, len(z) - 1))))
    if not rows:
        return cannot_tell(table, settings, reason=f"too few {_units(unit, 2)}")
    evidence = pd.DataFrame(rows, columns=[within, "n", "lowest d", "highest d", "Q", "p"])
    evidence["p"] = (2 * len(rows) * evidence.p).clip(upper=1.0)
    evidence["ok"] = evidence.p < settings.alpha
    p = float(evidence.p.min())
    verdict = HOLDS if p < settings.alpha else NOT
    figure = f"{_units(unit, 2)} differ beyond chance in {evidence.ok.sum()} of {len(rows)} {_units(within, len(rows))}"
    chance = f"Q about {evidence.n.max() - 1}"
    value, n = float(evidence.Q.max()), int(evidence.n.max())
    return Finding(verdict, figure, _support(verdict, p, settings), value, p=p, n=n, chance=chance, evidence=evidence)


def count(table: pd.DataFrame, settings: Settings, *, expected: dict[str, Sequence[float]]) -> Finding:
    """A count: are these numbers of the paper (name → lowest, highest) those of the data (``name``, ``value``)?

    Holds when all are, in part when some are; a number that cannot be computed counts as not met.
    """
    have = table.dropna(subset="value").set_index("name")["value"].to_dict()
    rows = [(n, lo, hi, have[n], lo <= have[n] <= hi) for n, (lo, hi) in expected.items() if n in have]
    if not rows:
        return cannot_tell(table, settings, reason="none of the numbers can be computed here")
    evidence = pd.DataFrame(rows, columns=["what", "claimed from", "claimed to", "found", "ok"])
    met = int(evidence.ok.sum())
    verdict = HOLDS if met == len(expected) else PART if met else NOT
    digits = [0 if float(found).is_integer() else 3 for found in evidence.found]
    figure = "; ".join(f"{r.what} {r.found:,.{n}f}" for r, n in zip(evidence.itertuples(), digits, strict=True))
    support = COUNT if verdict == HOLDS else ""
    return Finding(verdict, figure, support, met / len(expected), n=len(rows), evidence=evidence)


def printed(table: pd.DataFrame, settings: Settings) -> Finding:
    """Printed against file: are the printed values (column ``matches``) those of the result files?"""
    same = table["matches"].astype(bool)
    verdict = HOLDS if same.all() else PART if same.mean() > 0.5 else NOT
    figure = f"{same.sum()} of {len(same)} printed values are in the result files"
    support = COUNT if verdict == HOLDS else ""
    return Finding(verdict, figure, support, float(same.mean()), n=len(same), evidence=table.assign(ok=same))


def all_of(findings: dict[str, Finding]) -> Finding:
    """One finding from several that must all hold: in part when at least half hold at least in part."""
    if len(findings) == 1:
        return next(iter(findings.values()))
    held = [f.verdict for f in findings.values()]
    known = [v for v in held if v != UNKNOWN]
    partly = sum(v in (HOLDS, PART) for v in known)
    verdict = HOLDS if all(v == HOLDS for v in held) else PART if partly >= len(held) / 2 else NOT
    supports = [f.support for f in findings.values()]
    return Finding(
        verdict if known else UNKNOWN,
        "; ".join(f"{name}: {f.figure}" for name, f in findings.items()),
        max(supports, key=(BEYOND, COUNT, DESCRIBED).index) if verdict == HOLDS else "",
        value=partly / len(held),
        p=max((f.p for f in findings.values() if np.isfinite(f.p)), default=np.nan),
        n=max(f.n for f in findings.values()),
        chance="; ".join(dict.fromkeys(f.chance for f in findings.values() if f.chance)),
        evidence=_together(findings, "part of the claim"),
    )


def readings(findings: dict[str, Finding]) -> Finding:
    """One finding from several readings: their verdict where they agree, else "depends on the reading"."""
    held = {f.verdict for f in findings.values()} - {UNKNOWN} or {UNKNOWN}
    first = next(f for f in findings.values() if f.verdict in held)
    supports = [f.support for f in findings.values() if f.support]
    agree = len(held) == 1
    return replace(
        first,
        verdict=first.verdict if agree else DEPENDS,
        figure="; ".join(f"{name}: {f.verdict} ({f.figure})" for name, f in findings.items()),
        support=max(supports, key=(BEYOND, COUNT, DESCRIBED).index) if agree and supports else "",
        **({} if agree else {"value": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}),
        evidence=_together(findings, "reading"),
    )


def _together(findings: dict[str, Finding], column: str) -> pd.DataFrame:
    tables = [f.evidence.assign(**{column: name}) for name, f in findings.items() if len(f.evidence)]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


JUDGES: dict[str, Callable[..., Finding]] = {
    judge.__name__: judge for judge in (cannot_tell, cells, correlation, count, order, paired, printed, share, varied)
}
"""The judges by the name that a claim gives."""
