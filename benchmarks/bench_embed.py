"""What word vectors cost: one language's six tests by M1–M9 against a plain reference, in one run.

The reference works as the papers' code does: test by test, method by method, set by set, word by
word, each subword's string alone through the model, one forward pass at a time. It is run on a
stated sample of words and scaled to the number of words that it would have to encode; its vectors
are compared with ours. Loading a model is in neither time.

    python benchmarks/bench_embed.py [--language hi] [--model multilingual-e5-small] [--sample 24]

Then: cost and peak memory by number of languages (cost follows unique words, not words × methods ×
tests), and cost by number of models.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import warnings

import numpy as np
import torch

from localbias.models.encoder import Encoder
from localbias.registry import ORIGINAL_TESTS
from localbias.words.lexicon import load_words

METHODS = ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9")
LAYER = {"M1": 0, "M2": 0, "M3": -2, "M4": -2, "M8": -1, "M9": -1}


def plain_state(text, method, tokenizer, model):
    """One text through the model; the state at position 1, at position 0 for M7."""
    with torch.no_grad():
        states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
    if method == "M7":
        return states[-1][0, 0].numpy()
    if method in ("M5", "M6"):
        return torch.stack(states)[:, 0, 1].mean(0).numpy()
    return states[LAYER[method]][0, 1].numpy()


def plain_vector(phrase, method, tokenizer, model):
    """A word or phrase by one method: each piece a text of its own, pieces pooled, words averaged."""
    if method == "M7":
        return plain_state(phrase, method, tokenizer, model)
    words = []
    for word in phrase.split(" "):
        pieces = tokenizer.convert_ids_to_tokens(tokenizer(word).input_ids)[1:-1]
        states = [plain_state(piece, method, tokenizer, model) for piece in pieces]
        words.append(np.mean(states, axis=0) if method in ("M1", "M3", "M5", "M8") else states[0])
    return np.mean(words, axis=0)


def plain_vectors(phrases, tokenizer, model):
    return {m: np.stack([plain_vector(phrase, m, tokenizer, model) for phrase in phrases]) for m in METHODS}


def timed(function, *arguments):
    """The result, and (seconds, seconds of processor)."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, np.array([time.perf_counter() - wall, time.process_time() - processor])


def median_of_three(function, *arguments):
    """As :func:`timed`: a single run of about a second is at the mercy of its neighbours."""
    runs = [timed(function, *arguments) for _ in range(3)]
    return runs[0][0], np.median([cost for _, cost in runs], axis=0)


def words_of(language):
    """The six tests' words as they come, a word as often as the sets hold it."""
    return [word for test in ORIGINAL_TESTS for word in load_words(test, language).words]


def warmed(encoder):
    """The encoder with its weights read."""
    encoder.encode(["a", "b c"])
    return encoder


def bench_ratio(model, language, sample, seed):
    occurrences = words_of(language)
    unique = sorted(set(occurrences))
    theirs = warmed(Encoder(model, "weathub-2023", cache=False, progress=False))
    ours = warmed(Encoder(model, cache=False, progress=False))
    tokenizer, network = theirs._tokenizer, theirs._network
    chosen = random.Random(seed).sample(occurrences, min(sample, len(occurrences)))
    plain_vector(chosen[0], "M5", tokenizer, network)
    reference, plain = timed(plain_vectors, chosen, tokenizer, network)
    plain *= len(occurrences) / len(chosen)
    _, in_context = median_of_three(ours.encode, unique, METHODS, language)
    found, as_theirs = median_of_three(theirs.encode, unique, METHODS, language)
    at = {word: i for i, word in enumerate(unique)}
    rows = [at[word] for word in chosen]
    gap = max(np.abs(found[m][rows] - reference[m]).max() for m in METHODS)
    print(f"{model}, {language}, six tests: {len(occurrences)} words in sets, {len(unique)} unique; nine methods")
    print(f"  {'':44}  seconds   ratio  of processor   ratio")
    plain_label = f"plain reference (run on {len(chosen)} words, scaled)"
    for label, cost in ((plain_label, plain), ("ours, in-context", in_context), ("ours, weathub-2023", as_theirs)):
        (wall, processor), (times, of_processor) = cost, plain / cost
        print(f"  {label:44} {wall:8.1f} {times:6.0f} ×  {processor:12.1f} {of_processor:6.0f} ×")
    print(f"  largest difference of a number in the sample's vectors, weathub-2023: {gap:.1e}")


def bench_models(models, languages):
    print(f"\ncost by number of models ({', '.join(languages)}; what each model gives; no cache)")
    total = 0.0
    for i, name in enumerate(models, 1):
        encoder = Encoder(name, cache=False, progress=False)
        encoder.encode(["a"], language=languages[0])
        start = time.perf_counter()
        for code in languages:
            encoder.encode(sorted(set(words_of(code))), language=code)
        total += time.perf_counter() - start
        print(f"  {i}: + {name:24} {time.perf_counter() - start:6.2f} s, together {total:6.2f} s")


LANGUAGES = """
import json, resource, sys, time
from localbias.words.lexicon import load_words
from localbias.models.encoder import Encoder
from localbias.registry import ORIGINAL_TESTS, WEATHUB_24
encoder = Encoder(sys.argv[1], cache=False, progress=False)
encoder.encode(["a", "b c"])
lists = [sorted({w for t in ORIGINAL_TESTS for w in load_words(t, code).words}) for code in WEATHUB_24]
rows, words, start = [], 0, time.perf_counter()
for code, some in zip(WEATHUB_24, lists):
    encoder.encode(some, language=code)
    words += len(some)
    rows.append((words, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
print(json.dumps(rows))
"""


def bench_languages(model, counts):
    """In a process of its own: one language after the other, what it has cost and held so far."""
    said = subprocess.run([sys.executable, "-c", LANGUAGES, model], capture_output=True, text=True, check=True).stdout
    unit = 1 if sys.platform == "darwin" else 1024  # bytes, or kilobytes
    rows = json.loads(said.splitlines()[-1])
    print(f"\n{model}: cost by number of languages (nine methods, six tests, no cache, one process)")
    print("  languages  unique words  seconds  ms a word  peak memory")
    for n in counts:
        words, seconds, peak = rows[n - 1]
        print(f"  {n:9}  {words:12}  {seconds:7.1f}  {1000 * seconds / words:9.1f}  {peak * unit / 1e9:8.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="multilingual-e5-small")
    parser.add_argument("--language", default="hi")
    parser.add_argument("--sample", type=int, default=24, help="words the reference encodes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(os.cpu_count() or 1)  # both sides on all cores
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}\n")
    bench_ratio(options.model, options.language, options.sample, options.seed)
    bench_languages(options.model, (1, 6, 12, 24))
    bench_models((options.model, "all-minilm-l6-v2", "glove-6b-50d"), ("es", "de"))


if __name__ == "__main__":
    main()
