"""The study of pages 03, 05 and 06: effects of some tests in some languages, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from localbias.errors import BadTable
from localbias.studies import side_by_side, summary
from localbias.studies.weat import run_weat, smallest_p_table


@dataclass(frozen=True)
class Effects:
    """Tables of one study; all but ``results`` are of one embedding method."""

    results: pd.DataFrame
    """Every method's effects: :func:`localbias.studies.weat.run_weat`, labelled."""
    method: str
    """The method of all that follows."""
    shown: pd.DataFrame
    """Its rows of ``results``."""
    ranked: pd.DataFrame
    """Those of them that have an effect size, highest d first."""
    by_test: pd.DataFrame
    """Per test, in the tests' order: :func:`localbias.studies.summary.overview`."""
    cleaned: pd.DataFrame
    """The lists as published and clean, side by side: :func:`localbias.studies.side_by_side.side_by_side`."""
    beside: pd.DataFrame
    """Ours and the authors' numbers: :func:`localbias.studies.side_by_side.beside_published`; empty without them."""
    flags: pd.DataFrame
    """Rows of ``results`` by flag: :func:`localbias.studies.summary.flag_counts`."""
    smallest_p: pd.DataFrame
    """What the set sizes allow: :func:`localbias.studies.weat.smallest_p_table`."""


def effects(
    languages: Sequence[str] | str,
    tests: Sequence[str] | str,
    model: str = "multilingual-e5-small",
    methods: Sequence[str] | str = ("M5",),
    variant: Sequence[str] | str = "all",
    dataset: str = "auto",
    *,
    method_shown: str = "auto",
    published_model: str = "auto",
    clean: bool = False,
    **settings,
) -> Effects:
    """Measure the tests, once more with the other kind of lists (clean, or as published), and compare.

    Parameters
    ----------
    languages, tests, model, methods, variant, dataset, clean, **settings
        As in :func:`localbias.studies.weat.run_weat`.
    method_shown : str
        The method of all tables but the results; "auto": M5 where it is among the methods, else the first.
    published_model : str
        As in :func:`localbias.studies.side_by_side.beside_published`.

    Raises
    ------
    BadTable
        When no effect could be computed.
    """
    labelled = side_by_side.labelled
    results = labelled(run_weat(languages, tests, model, methods, variant, dataset, clean=clean, **settings))
    method = side_by_side.one_of(method_shown, results["method"].unique(), "M5")
    shown = side_by_side.only(results, method=method)
    ranked = shown.dropna(subset="effect_size").sort_values("effect_size", ascending=False, kind="stable")
    if ranked.empty:
        raise BadTable(
            "no effect was computed",
            expected="rows with an effect size",
            got=f"{len(shown)} rows",
            where="; ".join(shown["flags"].unique()[:3]),
        )
    again = labelled(run_weat(languages, tests, model, [method], variant, dataset, clean=not clean, **settings))
    return Effects(
        results=results,
        method=method,
        shown=shown,
        ranked=ranked,
        by_test=summary.overview(side_by_side.in_test_order(shown), ["test_label", "test_title"]),
        cleaned=labelled(side_by_side.side_by_side(side_by_side.together(shown, again), "clean", False, True)),
        beside=side_by_side.beside_published(shown, published_model),
        flags=summary.flag_counts(results),
        smallest_p=smallest_p_table(shown),
    )
