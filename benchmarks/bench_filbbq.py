"""What one shared pass saves over the usual ways of asking FilBBQ, measured in the same run.

    python benchmarks/bench_filbbq.py [--model gemma-3-270m] [--prompts 32] [--passes 50] [--repeated 1]

Three ways of getting the same probabilities:

- *alone*: every prompt in a pass of its own, as a plain loop over prompts does;
- *fifty passes*: every prompt asked again for every seed, as a loop over seeds does (on a few prompts);
- *shared*: this library: common beginnings once, seeds drawn from the stored probabilities.

Ends with status 1 when a target is missed: fifty seeds at most 1.05 times the time of one, at least
twice fewer tokens computed, probabilities equal to 1e-4. Times depend on the machine; ratios hardly.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import torch

from localbias.models import answers as answering
from localbias.models.answers import answer_probabilities
from localbias.models.letters import letter_tokens
from localbias.models.prefix_tree import bundles, plain_logits, saving
from localbias.prompts.generation import generate_prompts
from localbias.prompts.inventory import sample
from localbias.prompts.wording import model_texts, prompt_form, token_ids
from localbias.studies.seeds import seed_scores

TARGETS = {"fifty seeds": 1.05, "tokens": 2.0, "difference": 1e-4}


def timed(work):
    """Result and seconds (wall)."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def letters(model, forms, sequence) -> np.ndarray:
    """Probabilities of A, B, C after one sequence, by a pass of its own."""
    p = plain_logits(model, sequence, [-1])[0].double().softmax(-1)
    return np.array([float(p[list(ids)].sum()) for ids in forms.values()])


def main() -> int:
    """Measure and print; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="gemma-3-270m")
    parser.add_argument("--prompts", type=int, default=32, help="prompts asked alone and shared")
    parser.add_argument("--passes", type=int, default=50, help="seeds")
    parser.add_argument("--repeated", type=int, default=1, help="prompts asked again for every seed")
    given = parser.parse_args()

    ready = answering.load_answerer(given.model)
    whole = generate_prompts("all")
    prompts = sample(whole, given.prompts)
    form, forms = prompt_form(), letter_tokens(ready.tokenizer)

    def sequences(table):
        shown, special = model_texts(ready.tokenizer, form.render(table))
        return token_ids(ready.tokenizer, shown, special, 10**6, table["prompt_id"])

    ids = sequences(prompts)
    plain_logits(ready.model, ids[0], [-1])  # warm up
    alone, alone_s = timed(lambda: np.stack([letters(ready.model, forms, i) for i in ids]))

    def ask(seeds):
        table = answer_probabilities(prompts, ready, folder=None, progress=False)
        return table, seed_scores(table, seeds)

    (table, _), one_s = timed(lambda: ask(1))
    _, fifty_s = timed(lambda: ask(given.passes))
    draws = [timed(lambda n=n: seed_scores(table, n))[1] for n in (1, given.passes)]
    few = ids[: given.repeated]
    _, passes_s = timed(lambda: [letters(ready.model, forms, i) for _ in range(given.passes) for i in few])

    mine = table.set_index("prompt_id").loc[prompts["prompt_id"], ["p0", "p1", "p2"]].to_numpy()
    difference = np.abs(mine - alone).max()
    here, everything = (saving(s, bundles(s)) for s in (ids, sequences(whole)))
    # drawing is all that differs between one seed and fifty: the pass is the same
    ratio = (one_s + draws[1] - draws[0]) / one_s
    print(f"{given.model}: {len(prompts)} prompts, {torch.get_num_threads()} thread(s)")
    for name, seconds, n in (
        ("alone, one pass each", alone_s, len(ids)),
        (f"{given.passes} passes (on {len(few)} prompts)", passes_s, len(few)),
        ("shared, 1 seed", one_s, len(ids)),
        (f"shared, {given.passes} seeds", fifty_s, len(ids)),
    ):
        print(f"  {name:34} {seconds:8.2f} s   {seconds / n:7.3f} s a prompt")
    print(f"  drawing: 1 seed {draws[0]:.3f} s, {given.passes} seeds {draws[1]:.3f} s")
    print(f"  tokens, these prompts: {here['tokens']:,} → {here['computed']:,} ({here['times_fewer']:.2f} times fewer)")
    print(
        f"  tokens, all {len(whole):,} prompts: {everything['tokens']:,} → {everything['computed']:,} "
        f"({everything['times_fewer']:.2f} times fewer)"
    )
    print(f"  speed-up over {given.passes} passes: {passes_s / len(few) * len(ids) / fifty_s:.0f} times")
    results = [
        (f"{given.passes} seeds cost {ratio:.3f} × one", ratio <= TARGETS["fifty seeds"]),
        (f"{everything['times_fewer']:.2f} × fewer tokens", everything["times_fewer"] >= TARGETS["tokens"]),
        (f"largest difference of a probability {difference:.1e}", difference <= TARGETS["difference"]),
    ]
    for text, met in results:
        print(("met     " if met else "MISSED  ") + text)
    return 0 if all(met for _, met in results) else 1


if __name__ == "__main__":
    sys.exit(main())
