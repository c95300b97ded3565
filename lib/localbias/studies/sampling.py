r"""Temperature and top-p after the fact: what sampling settings would have made of one pass.

Sampling at temperature T draws a token with probability :math:`p_v^{1/T}/\sum_w p_w^{1/T}`; top-p then
keeps the smallest set of most likely tokens whose probabilities sum to at least ``top_p``. Both act on
tokens, so the sums over a letter's surface forms and over the rest of the vocabulary have to be taken
after, not before. A pass therefore keeps, per prompt, the log-probabilities of every letter form
(``forms0`` … ``forms2``), of the :data:`TOP` most likely other tokens (``top``), and, for the rest of
the vocabulary, :math:`\log\sum p^{1/T}` at the temperatures of :data:`TEMPERATURES` (``tail``),
interpolated in 1/T between them. Top-p is exact where its set lies within the tokens that were kept.
Where it reaches into the rest, the last token of the set is no likelier than the least likely one kept:
the result is then known up to that token and the letter forms below it, and is refused when these come
to more than :data:`TOP_P_ERROR`.

A table without these columns has one token for each option and one for "neither".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline

from localbias.errors import BadTable, BadValues
from localbias.models.logits import FORMS, TEMPERATURES, TOP

if TYPE_CHECKING:
    pass

OPTIONS = ("p0", "p1", "p2", "p_neither")
TOP_P_ERROR = 0.003


def check_probabilities(table: pd.DataFrame) -> np.ndarray:
    """The option probabilities as they are: (n, 4), rows sum to 1; p_neither is filled in when missing.

    Raises
    ------
    BadTable, BadValues
        Columns missing; values that are no probabilities.
    """
    if missing := {"p0", "p1", "p2"} - set(table.columns):
        raise BadTable(
            "the table has no answer probabilities",
            expected="columns p0, p1, p2, p_neither",
            got=f"without {sorted(missing)}",
            todo="make it with answer_probabilities",
        )
    try:
        p = table[["p0", "p1", "p2"]].to_numpy(float)
    except (TypeError, ValueError, OverflowError) as problem:
        got = " ".join(str(problem).split())[:200]
        raise BadValues("answer probabilities that are no numbers", expected="p0, p1, p2 as numbers", got=got) from None
    total = p.sum(axis=1)
    bad = ~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (total > 1 + 1e-4)
    if bad.any():
        at = int(np.argmax(bad))
        raise BadValues(
            "not answer probabilities",
            expected="non-negative, sum at most 1",
            got=str(p[at]),
            where=f"prompt {table.iloc[at].get('prompt_id', at)} (and {int(bad.sum()) - 1} more)",
        )
    p = p / np.maximum(total, 1.0)[:, None]
    return np.column_stack([p, np.maximum(1.0 - p.sum(axis=1), 0.0)])


def option_probabilities(
    table: pd.DataFrame, temperature: float = 1.0, top_p: float = 1.0, off_option: str = "unparsed"
) -> np.ndarray:
    """Probabilities of the three options and of neither, under given sampling settings.

    Parameters
    ----------
    table : DataFrame from answer_probabilities, or any with p0, p1, p2
    temperature : 0 (the most likely token, always) or 0.1 … 2
    top_p : (0, 1]
    off_option : "unparsed"
        "unparsed" leaves the probability of other tokens as that of no answer; "renormalise" gives
        the distribution among the options, as if only they could be answered: other tokens are left
        out first, then temperature and top-p act on what is left.

    Returns
    -------
    (n, 4) floats, rows sum to 1

    Raises
    ------
    BadValues
        Settings out of range; top_p that would need more tokens than were kept.

    Examples
    --------
    >>> table = pd.DataFrame(dict(p0=[0.6], p1=[0.2], p2=[0.1]))
    >>> option_probabilities(table, off_option="renormalise").round(3).tolist()
    [[0.667, 0.222, 0.111, 0.0]]
    >>> option_probabilities(table, temperature=0.5).round(3).tolist()
    [[0.857, 0.095, 0.024, 0.024]]
    >>> option_probabilities(table, top_p=0.7).round(3).tolist()
    [[0.75, 0.25, 0.0, 0.0]]
    """
    if not (temperature == 0 or TEMPERATURES[-1] <= temperature <= TEMPERATURES[0]) or not 0 < top_p <= 1:
        raise BadValues(
            "sampling settings out of range",
            got=f"temperature={temperature}, top_p={top_p}",
            expected=f"temperature 0 or {TEMPERATURES[-1]} … {TEMPERATURES[0]}, top_p in (0, 1]",
        )
    if off_option not in ("unparsed", "renormalise"):
        raise BadValues(
            "unknown treatment of answers that are no option", expected="unparsed, renormalise", got=repr(off_option)
        )
    p, only = check_probabilities(table), off_option == "renormalise"
    if only:
        p = _renormalised(p, table)
    if (temperature, top_p) != (1.0, 1.0):
        logp, kinds, tail = _tokens(table, p)
        if only:
            logp, kinds, tail = logp[:, kinds < 3], kinds[kinds < 3], None
        p = _resampled(logp, kinds, tail, temperature, top_p)
    return p


def _renormalised(p, table):
    inside = p[:, :3].sum(axis=1)
    if (inside <= 0).any():
        at = int(np.argmax(inside <= 0))
        raise BadValues(
            "no option has any probability",
            where=f"prompt {table.iloc[at].get('prompt_id', at)}",
            todo="use off_option='unparsed', or other sampling settings",
        )
    return np.column_stack([p[:, :3] / inside[:, None], np.zeros(len(p))])


def _tokens(table, p):
    """Log-probabilities of the single tokens, what each is (0, 1, 2 or 3 for no option), and the tail."""
    if not {*FORMS, "top", "tail"} <= set(table.columns) or table["top"].isna().any():
        with np.errstate(divide="ignore"):
            return np.log(p), np.arange(4), None
    blocks = [np.stack(table[c].to_numpy()).astype(float) for c in (*FORMS, "top")]
    kinds = np.concatenate([np.full(b.shape[1], k) for k, b in enumerate(blocks)])
    return np.concatenate(blocks, axis=1), kinds, np.stack(table["tail"].to_numpy()).astype(float)


def _resampled(logp, kinds, tail, temperature, top_p):
    if temperature == 0:
        best = kinds[np.argmax(logp, axis=1)]
        return np.eye(4)[best]
    scaled = logp / temperature
    rest = _tail_at(tail, temperature) if tail is not None else np.full(len(logp), -np.inf)
    log_total = np.logaddexp(np.logaddexp.reduce(scaled, axis=1), rest)
    q, q_rest = np.exp(scaled - log_total[:, None]), np.exp(rest - log_total)
    if top_p < 1:
        q, q_rest = _nucleus(q, kinds, top_p)
    out = np.stack([q[:, kinds == k].sum(axis=1) for k in range(4)], axis=1)
    out[:, 3] += q_rest
    return out / out.sum(axis=1, keepdims=True)


def _tail_at(tail, temperature):
    beta = 1.0 / np.array(TEMPERATURES)
    finite = np.where(np.isfinite(tail), tail, -1e4)
    return CubicSpline(beta, finite, axis=1)(1.0 / temperature)


def _nucleus(q, kinds, top_p):
    """Keep the most likely tokens until they sum to top_p: what is kept of the known tokens, and of the rest."""
    order = np.argsort(-q, axis=1, kind="stable")
    ranked = np.take_along_axis(q, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    kept = np.zeros_like(q)
    within = before < top_p - 1e-12
    within[:, 0] = True  # however small top_p is, the most likely token is in
    np.put_along_axis(kept, order, np.where(within, ranked, 0.0), axis=1)
    reaching = ranked.sum(axis=1) < top_p - 1e-9
    if not reaching.any():
        return kept, np.zeros(len(q))
    least = q[:, kinds == 3].min(axis=1)
    below = (q <= least[:, None]) & (kinds < 3)
    unsure = np.where(reaching, least + (q * below).sum(axis=1), 0.0)
    if unsure.max() > TOP_P_ERROR:
        raise BadValues(
            "top_p needs more tokens than were kept",
            expected=f"a set of tokens known to {TOP_P_ERROR}",
            got=f"top_p={top_p} known to {unsure.max():.3f}",
            todo=f"take a smaller top_p, a lower temperature, or sample with protocol='generate' "
            f"({TOP} tokens besides the letters are kept)",
        )
    kept = np.where(reaching[:, None] & below, 0.0, kept)
    return kept, np.where(reaching, np.maximum(top_p - kept.sum(axis=1), 0.0), 0.0)
