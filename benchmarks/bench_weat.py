"""What inference costs: exact p and intervals against a plain reference, in one run.

The reference is what a reader of the papers would write: word by word cosines, a permutation test that
walks through splits one at a time, a bootstrap that computes d of each resample from scratch. Where
all splits are too many to walk (25 + 25 words have 1.26e14), it draws 10,000 of them, as the authors'
code does, and its p is good to about 1/√10,000; ours is exact there.

    python benchmarks/bench_weat.py [--tests 4000] [--seed 0]
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from math import comb
from pathlib import Path

import numpy as np

from localbias.measures.association import associations
from localbias.measures.intervals import effect_size_interval
from localbias.measures.permutation import exact_p, smallest_p

SIZES = json.loads((Path(__file__).parent / "set_sizes.json").read_text())
"""How many of the published tests have each (n_x, n_y, n_a, n_b)."""
DIMENSION, SHIFT = 384, 0.12


def cosine(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True)) / (sum(a * a for a in u) ** 0.5 * sum(b * b for b in v) ** 0.5)


def plain_association(w, a, b):
    return sum(cosine(w, v) for v in a) / len(a) - sum(cosine(w, v) for v in b) / len(b)


def plain_p(s_x, s_y, rng, draws=10_000):
    """Splits one at a time: all of them up to ``draws``, else as many drawn ones."""
    values, n = list(s_x) + list(s_y), len(s_x)
    observed, hits = sum(s_x) / n - sum(s_y) / len(s_y), 0
    everything = comb(len(values), n) <= draws
    splits = (
        itertools.combinations(range(len(values)), n)
        if everything
        else (rng.permutation(len(values))[:n] for _ in range(draws))
    )
    total, count = sum(values), 0
    for chosen in splits:
        part = sum(values[i] for i in chosen)
        hits += part / n - (total - part) / len(s_y) >= observed - 1e-12
        count += 1
    return hits / count


def plain_interval(x, y, a, b, rng, n_resamples):
    """numpy per resample: draw, cosines, d."""
    effects = []
    for _ in range(n_resamples):
        sets = [v[rng.integers(len(v), size=len(v))] for v in (x, y, a, b)]
        x_, y_, a_, b_ = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in sets)
        s = [(t @ a_.T).mean(axis=1) - (t @ b_.T).mean(axis=1) for t in (x_, y_)]
        effects.append((s[0].mean() - s[1].mean()) / np.concatenate(s).std(ddof=1))
    return np.quantile(effects, [0.025, 0.975])


def drawn_tests(n, seed):
    """Test-like vectors with the published set sizes in their published shares, effects from none to large."""
    rng = np.random.default_rng(seed)
    weights = np.array([count for *_, count in SIZES], dtype=float)
    for i in rng.choice(len(SIZES), size=n, p=weights / weights.sum()):
        x, y, a, b = (rng.normal(size=(k, DIMENSION)) for k in SIZES[i][:4])
        lean = rng.normal(size=DIMENSION) * SHIFT * rng.uniform(0, 3)
        yield x + lean, y, a + lean, b


def timed(function, *arguments, **keywords):
    start = time.perf_counter()
    return function(*arguments, **keywords), time.perf_counter() - start


def bench_p(n, seed, references):
    rng, times, plain, widths, methods, worst = np.random.default_rng(seed), [], [], [], [], None
    for number, (x, y, a, b) in enumerate(drawn_tests(n, seed)):
        s_x, s_y = associations(x, a, b), associations(y, a, b)
        p, seconds = timed(exact_p, s_x, s_y)
        times.append(seconds)
        methods.append(p.method)
        tail = min(p.at_least.low, 1 - p.above.high)
        width = p.at_least.high - p.at_least.low
        widths.append(width / max(0.01 * tail, 1e-6))
        if worst is None or seconds > worst[0]:
            worst = (seconds, len(x), len(y), p)
        if number < references:
            _, cost = timed(plain_p, s_x, s_y, rng)
            plain.append(cost)
    times = np.array(times)
    print(f"exact p, {n:,} tests with the book's set sizes ({(np.array(methods) == 'shift').mean():.0%} by shift)")
    print(
        f"  ours       mean {times.mean() * 1e3:6.1f} ms   median {np.median(times) * 1e3:.1f} ms   "
        f"largest {times.max() * 1e3:.0f} ms"
    )
    print(f"  reference  mean {np.mean(plain) * 1e3:6.1f} ms   (first {references}; at most 10,000 splits)")
    print(f"  ratio      {np.mean(plain) / times[:references].mean():.0f} × on the same {references} tests")
    print(f"  bounds     width / allowed: mean {np.mean(widths):.2f}, largest {np.max(widths):.2f} (1 is the promise)")
    seconds, n_x, n_y, p = worst
    print(
        f"  slowest    {n_x} + {n_y} words, {p.n_splits:.3g} splits (two-sided p >= {smallest_p(n_x, n_y):.2g}): "
        f"p in [{p.at_least.low:.6g}, {p.at_least.high:.6g}]"
    )
    return times.mean()


def bench_interval(n, seed, references, n_resamples=5000):
    rng, times, plain = np.random.default_rng(seed), [], []
    for number, sets in enumerate(drawn_tests(n, seed + 1)):
        _, seconds = timed(effect_size_interval, *sets, n_resamples=n_resamples)
        times.append(seconds)
        if number < references:
            plain.append(timed(plain_interval, *sets, rng, n_resamples)[1])
    times = np.array(times)
    print(f"interval of {n_resamples:,} resamples (BCa), {n} tests with the book's set sizes")
    print(f"  ours       mean {times.mean() * 1e3:6.1f} ms   largest {times.max() * 1e3:.0f} ms")
    print(f"  reference  mean {np.mean(plain) * 1e3:6.1f} ms   (first {references}; one resample at a time)")
    print(f"  ratio      {np.mean(plain) / times[:references].mean():.0f} × on the same {references} tests")
    return times.mean()


def bench_association(seed):
    x, y, a, b = next(drawn_tests(1, seed))
    ours, fast = timed(associations, np.vstack([x, y]), a, b)
    plain, slow = timed(lambda: [plain_association(w, a, b) for w in np.vstack([x, y])])
    print(
        f"associations of {len(x) + len(y)} words: ours {fast * 1e3:.2f} ms, word by word {slow * 1e3:.0f} ms, "
        f"ratio {slow / fast:.0f} ×, largest difference {np.abs(ours - plain).max():.1e}"
    )


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tests", type=int, default=4000)
    options.add_argument("--intervals", type=int, default=200)
    options.add_argument("--references", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    bench_association(chosen.seed)
    p = bench_p(chosen.tests, chosen.seed, chosen.references)
    interval = bench_interval(chosen.intervals, chosen.seed, max(1, chosen.references // 4))
    print(
        f"goals: exact p mean <= 50 ms: {'met' if p <= 0.05 else 'MISSED'} ({p * 1e3:.1f} ms); "
        f"interval mean <= 20 ms: {'met' if interval <= 0.02 else 'MISSED'} ({interval * 1e3:.1f} ms)"
    )


if __name__ == "__main__":
    main()
