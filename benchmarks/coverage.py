"""How often a 95 % interval of d holds the true d: simulation, written to data/reference/coverage.csv.

Words are drawn from four normal populations in DIMENSION dimensions that share a mean (embeddings
are anisotropic), X and A leaning one way by an amount that sets the population's d. The true d is that of
endless sets: s with the populations' mean directions, its difference of means over the pooled standard
deviation. So an interval answers for the choice of words in all four sets, attribute words included.

    python benchmarks/coverage.py [--repeats 500] [--seed 0]
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from tqdm import tqdm

from localbias.files import checked, project_root
from localbias.measures.association import associations, effect_size, unit_vectors
from localbias.measures.intervals import INTERVALS, effect_size_intervals

SIZES = ((6, 6, 7, 7), (8, 8, 8, 8), (10, 10, 10, 10), (10, 10, 33, 33), (25, 25, 25, 25))
LEANS = (0.0, 1.0, 3.0)
DIMENSION, COMMON, ENDLESS = 24, 1.0, 100_000


def drawn(rng, sizes, lean):
    """Four sets; X and A lean along the first axis, Y and B the other way."""
    sets = []
    for n, sign in zip(sizes, (1, -1, 1, -1), strict=True):
        vectors = rng.normal(size=(n, DIMENSION))
        vectors[:, 0] += sign * lean / 2
        vectors[:, 1:3] += COMMON
        sets.append(vectors)
    return sets


def true_d(lean, sizes, seed):
    """d of endless sets, X and Y in the proportion of their sizes (equal here)."""
    x, y, a, b = drawn(np.random.default_rng([seed, 99]), (ENDLESS,) * 4, lean)
    axis_a, axis_b = (unit_vectors(v).mean(axis=0, keepdims=True) for v in (a, b))
    s_x, s_y = (unit_vectors(v) @ (axis_a - axis_b)[0] for v in (x, y))
    return effect_size(s_x, s_y) if lean else 0.0


def simulated(sizes, lean, repeats, n_resamples, level, seed):
    truth, rng = true_d(lean, sizes, seed), np.random.default_rng([seed, *sizes, int(lean * 100)])
    held, widths, estimates = {m: [] for m in INTERVALS}, {m: [] for m in INTERVALS}, []
    for repeat in range(repeats):
        x, y, a, b = drawn(rng, sizes, lean)
        observed = effect_size(associations(x, a, b), associations(y, a, b))
        estimates.append(observed)
        for method, (low, high) in effect_size_intervals(x, y, a, b, level, n_resamples, repeat % 16).items():
            held[method].append(low <= truth <= high)
            widths[method].append(high - low)
    for method in INTERVALS:
        share = np.mean(held[method])
        yield {
            "n_x": sizes[0],
            "n_y": sizes[1],
            "n_a": sizes[2],
            "n_b": sizes[3],
            "true_d": round(truth, 3),
            "mean_d": round(float(np.mean(estimates)), 3),
            "method": method,
            "level": level,
            "coverage": round(float(share), 4),
            "standard_error": round(float(np.sqrt(share * (1 - share) / repeats)), 4),
            "mean_width": round(float(np.mean(widths[method])), 3),
            "repeats": repeats,
            "n_resamples": n_resamples,
            "seed": seed,
        }


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--repeats", type=int, default=500)
    options.add_argument("--resamples", type=int, default=1000)
    options.add_argument("--level", type=float, default=0.95)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    rows = []
    for sizes in tqdm(SIZES, desc="set sizes"):
        for lean in LEANS:
            rows += simulated(sizes, lean, chosen.repeats, chosen.resamples, chosen.level, chosen.seed)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    with checked(project_root() / "data" / "reference" / "coverage.csv") as draft:
        table.to_csv(draft, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
