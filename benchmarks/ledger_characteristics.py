"""How often each judge of the ledger errs: made data in which a claim is true, false or void, some 500 times each.

    python benchmarks/ledger_characteristics.py [--n 500]

Writes ``data/reference/ledger_characteristics.csv``, which the ledger's page draws. Made data have the papers' numbers
of languages, tests and methods and the dependence that the published results show (:data:`METHODS_ALIKE`: mean
correlation of two methods' normal scores over languages and tests; :data:`TESTS_ALIKE` of two tests'). *Void* is chance
alone. Named languages are named after the fact, as a paper names them: those that look most as claimed.

Ends with status 1 when a void claim passes as "holds beyond chance" in more than 5 % (plus two standard errors of the
simulation).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import norm

from localbias.files import checked, project_root, write_csv
from localbias.ledger import filbbq
from localbias.ledger.assembly import evaluate
from localbias.ledger.judges import COUNT, HOLDS
from localbias.ledger.sections import CHARACTERISTICS
from localbias.ledger.settings import Settings
from localbias.ledger.tables import prepare
from localbias.registry import WEATHUB_24

METHODS_ALIKE, TESTS_ALIKE, SD = 0.6, 0.2, 0.45
LANGUAGES = [*WEATHUB_24, "en"]
METHODS = [f"M{i}" for i in range(1, 10)]
S = Settings()


def results(rng, shift, languages=25, tests=1, methods=9, **fixed) -> pd.DataFrame:
    """Cells of one model: normal scores with ``shift`` (a number, or one a language) and the papers' dependence."""
    left = 1 - METHODS_ALIKE - TESTS_ALIKE
    z = np.sqrt(METHODS_ALIKE) * rng.normal(size=(languages, tests, 1))
    z = z + np.sqrt(TESTS_ALIKE) * rng.normal(size=(languages, 1, methods))
    z = z + np.sqrt(left) * rng.normal(size=(languages, tests, methods)) + np.reshape(shift, (-1, 1, 1))
    index = pd.MultiIndex.from_product(
        [LANGUAGES[:languages], [f"weat{i}" for i in range(tests)], METHODS[:methods]],
        names=["language", "test", "method"],
    )
    table = pd.DataFrame({"d": SD * z.ravel(), "p": norm.sf(z.ravel()).round(3)}, index=index).reset_index()
    return prepare(table.assign(**({"source": "all", "group": "DistilmBERT", "family": "original"} | fixed)), S)


def named(rng, world):
    """Five languages named after the fact: significantly positive with at least three of nine methods (as W65)."""
    shift = np.zeros(25)
    shift[:8] = {"true": 2.5, "false": -2.5, "void": 0.0}[world]
    table = results(rng, shift)
    found = (
        (table.significant & (table.d > 0)).groupby(table.language).sum().sort_values(ascending=False, kind="stable")
    )
    named = list(found.index[:5]) if world == "void" else LANGUAGES[:5]
    return {"results": table}, {"judge": "cells", "args": {"named": named, "of": "significant positive", "need": 3}}


def listed(rng, world):
    """A list of significant cells of seven languages by eleven tests, named after the fact (as W76)."""
    table = results(rng, np.array([1.8, 0, 0, 1.8, 0, 1.8, 0]) * (world == "true"), 7, 11, 1)
    cells = [list(c) for c in table.loc[table.significant, ["language", "test"]].to_numpy()] or [["ar", "weat0"]]
    if world == "false":
        cells = [list(c) for c in table.loc[~table.significant, ["language", "test"]].to_numpy()[:8]]
    args = {"unit": ["language", "test"], "named": cells, "of": "significant", "only": True}
    return {"results": table}, {"judge": "cells", "args": args}


def most(rng, world):
    """Most cells are positive: 24 languages, six tests, nine methods."""
    table = results(rng, {"true": 0.5, "false": -0.5, "void": 0.0}[world], 24, 6)
    return {"results": table}, {"judge": "share", "args": {"of": "positive"}}


def existence(rng, world):
    """More is significant than chance gives: 25 languages, nine methods; false: less than chance gives."""
    table = results(rng, rng.normal(0, 1.0 if world == "true" else 0.0, 25))
    if world == "false":
        table = prepare(table.assign(p=norm.sf(0.7 * table.d / SD).round(3)), S)
    return {"results": table}, {"judge": "share", "args": {"of": "significant", "bound": "chance"}}


def sensitivity(rng, world):
    """One of ten methods is first: 23 languages."""
    rho = rng.normal(size=(23, 1)) + rng.normal(size=(23, 10))
    rho[:, 0] += {"true": 1.5, "false": -1.5, "void": 0.0}[world]
    table = pd.DataFrame(rho, columns=[f"M{i}" for i in range(1, 11)], index=LANGUAGES[:23])
    table = table.rename_axis("language").reset_index().melt("language", var_name="method", value_name="rho")
    rule = {"table": "sensitivity", "judge": "order", "args": {"by": "method", "column": "rho", "first": ["M1"]}}
    return {"sensitivity": table}, rule


def translations(rng, world):
    """One side has the larger |d|: 24 languages, six tests, nine methods; void: both sides drawn alike."""
    shift = {"true": (1.3, 0.0), "false": (0.0, 1.3), "void": (0.7, 0.7)}[world]
    both = [results(rng, s, 24, 6, source=name) for s, name in zip(shift, ("human", "gt"), strict=True)]
    rule = {"sides": {"by": "source", "left": "human", "right": "gt"}, "judge": "paired"}
    return {"results": pd.concat(both, ignore_index=True)}, rule


def alike(rng, world):
    """Two tests rank 25 languages alike."""
    common = rng.normal(size=25) * (world != "void")
    both = [results(rng, common, 25, 1, 1, test="weat12")]
    both.append(results(rng, -common if world == "false" else common, 25, 1, 1, test="weat12b"))
    rule = {"sides": {"by": "test", "left": "weat12", "right": "weat12b"}, "judge": "correlation"}
    return {"results": pd.concat(both, ignore_index=True)}, rule


def uniform(rng, world):
    """Languages differ: 24 languages, six tests; false: all have one effect; void: none has any."""
    shift = {"true": rng.normal(0, 1, 24), "false": 1.0, "void": 0.0}[world]
    return {"results": results(rng, shift, 24, 6, 1)}, {"judge": "varied"}


def numbers(rng, world):
    """A number that the paper gives; false: it is another; void: a guess among a hundred."""
    value = float(rng.integers(1, 101))
    said = {"true": value, "false": value + 1, "void": float(rng.integers(1, 101))}[world]
    table = pd.DataFrame({"name": ["n"], "value": [value]})
    return {"words": table}, {"table": "words", "judge": "count", "args": {"expected": {"n": [said, said]}}}


def pairs(rng, world):
    """34 printed values; false: every third another; void: none of them from the files."""
    wrong = {"true": 0.0, "false": 1 / 3, "void": 0.99}[world]
    return {"printed": pd.DataFrame({"matches": rng.random(34) >= wrong})}, {"table": "printed", "judge": "printed"}


def profile_lists(rng, world):
    """A model's list of stereotypes is of one theme (as F22); void: what guessers list."""
    table = filbbq.entries()
    theme = table["emotion_wide"] | table["domesticity_wide"]
    if world == "void":
        guessed = filbbq.guessed("dice")
        chosen = guessed[rng.integers(len(guessed))]
    else:
        weight = np.where(theme == (world == "true"), 20.0, 1.0)
        chosen = rng.choice(len(table), 10, replace=False, p=weight / weight.sum())
    table = table.assign(sea_lion=table.index.isin(chosen))
    return {"filbbq_entries": table}, {
        "table": "filbbq_entries",
        "judge": "listed",
        "args": {"lists": ["sea_lion"], "of": "emotion_wide or domesticity_wide"},
    }


def shared_lists(rng, world):
    """Three models' lists share entries (as F23); true: most, false: hardly any, void: what those of guessers share."""
    if world == "void":
        shared = rng.choice(31, p=filbbq.shared_by_chance("dice"))
    else:
        shared = rng.binomial(30, {"true": 0.6, "false": 0.05}[world])
    table = pd.DataFrame({"shared": [shared]})
    return {"filbbq_overlaps": table}, {"table": "filbbq_overlaps", "judge": "overlap"}


CASES: dict[str, Callable] = {
    "cells: named languages": named,
    "cells: a list": listed,
    "share: most": most,
    "share: more than chance": existence,
    "order": sensitivity,
    "paired": translations,
    "correlation": alike,
    "varied": uniform,
    "count": numbers,
    "printed": pairs,
    "listed": profile_lists,
    "overlap": shared_lists,
}
"""What is judged, by the name that the page shows."""


def outcome(finding) -> str:
    """A verdict with what it rests on: "holds beyond chance", "holds as described", "holds, a count", …"""
    if finding.verdict != HOLDS:
        return finding.verdict
    return "holds, a count" if finding.support == COUNT else f"holds {finding.support}"


def run(n: int, seed: int = 0) -> pd.DataFrame:
    """The table: ``judge``, ``world``, ``outcome``, ``share``, ``n``."""
    rows = []
    for number, (name, make) in enumerate(CASES.items()):
        for place, world in enumerate(("true", "false", "void")):
            rng = np.random.default_rng([seed, number, place])
            made = (make(rng, world) for _ in range(n))
            found = pd.Series([outcome(evaluate({"table": "results"} | rule, tables, S)) for tables, rule in made])
            rows += [(name, world, what, share, n) for what, share in found.value_counts(normalize=True).items()]
    table = pd.DataFrame(rows, columns=["judge", "world", "outcome", "share", "n"])
    return table.sort_values(["judge", "world", "outcome"], kind="stable").reset_index(drop=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--n", type=int, default=500)
    table = run(parser.parse_args().n)
    with checked(project_root() / CHARACTERISTICS) as draft:
        write_csv(table.round(4), draft)
    print(table.pivot_table(index=["judge", "world"], columns="outcome", values="share").round(3).fillna(0).to_string())
    void = table[(table.world == "void") & (table.outcome == "holds beyond chance")]
    return int((void.share > 0.05 + 2 * np.sqrt(0.05 * 0.95 / void.n)).any())


if __name__ == "__main__":
    sys.exit(main())
